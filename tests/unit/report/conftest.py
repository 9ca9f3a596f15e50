"""Pages are tested by their words for the most part: the pictures of one assessment are drawn once in each file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fastbin.report import page

DRAW = page.pictures_of


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    drawn: dict[int, tuple[Any, Any]] = {}  # by the identity of an assessment, which is kept, so that no other gets it

    def pictures_of(assessment: Any) -> Any:
        if id(assessment) not in drawn:
            drawn[id(assessment)] = assessment, DRAW(assessment)
        return drawn[id(assessment)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "pictures_of", pictures_of)
        yield


@pytest.fixture
def drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that two pages are the same, pictures and all."""
    monkeypatch.setattr(page, "pictures_of", DRAW)
