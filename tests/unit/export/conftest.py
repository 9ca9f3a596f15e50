"""The engines that SQL is tried in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sql_engines import EMBEDDED, Engine


@pytest.fixture
def engine(dialect: str) -> Iterator[Engine]:
    """An engine without tables; the tests that take it are parametrized by its dialect."""
    made = EMBEDDED[dialect]()
    yield made
    if hasattr(made, "connection"):
        made.connection.close()
