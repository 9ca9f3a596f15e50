"""Pages are tested by their words for the most part: a picture of each shape is drawn once in each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pictures import PAGES, one_of_each_shape

from fastbin.report.drawing import svg_of


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    with one_of_each_shape():
        yield


@pytest.fixture
def drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that two pages are the same, pictures and all, and of words in pictures."""
    for page in PAGES:
        monkeypatch.setattr(page, "svg_of", svg_of)
