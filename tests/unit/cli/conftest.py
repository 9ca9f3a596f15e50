"""Commands that write reports draw one picture of each shape, in each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pictures import one_of_each_shape


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    with one_of_each_shape():
        yield
