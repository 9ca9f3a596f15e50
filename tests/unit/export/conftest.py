"""The engines that SQL is tried in, and promises of models, each worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from sql_engines import EMBEDDED, Engine

from fastbin._model.view import promise

known_promise = cache(promise)


@pytest.fixture(autouse=True, scope="module")
def promises_are_worked_out_once() -> Iterator[None]:
    """Each text and graph states the promise of its model, and hundreds are written of equal models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbin.export.form.promise", known_promise)
        yield


@pytest.fixture
def engine(dialect: str) -> Iterator[Engine]:
    """An engine without tables; the tests that take it are parametrized by its dialect."""
    made = EMBEDDED[dialect]()
    yield made
    if hasattr(made, "connection"):
        made.connection.close()
