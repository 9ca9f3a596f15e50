"""Pictures of reports: pages are tested by their words for the most part, so that one picture does for all of its shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import fastbin as fb
from fastbin.report import monitor_page, page, predictions_page, vector_page
from fastbin.report.drawing import svg_of

PAGES = (monitor_page, page, predictions_page, vector_page)


def shape_of(thing: Any) -> object:
    """That by which a drawing takes one way or another, without the numbers."""
    if isinstance(thing, dict):
        return [(name, shape_of(each)) for name, each in thing.items()]
    if isinstance(thing, (list, tuple)):
        return [shape_of(each) for each in thing]
    if isinstance(thing, fb.BinnedModel):
        return thing.scheme, thing.kind, thing.has_steps, thing.ties
    if isinstance(thing, fb.assess.ReliabilityTable):
        return thing.multiclass, thing.intervals is None, shape_of(thing.parts)
    return type(thing)


@contextmanager
def one_of_each_shape() -> Iterator[None]:
    """While it lasts, the pages of reports have the first picture of each shape and size in place of their own."""
    drawn: dict[str, str] = {}

    def svg(size: tuple[float, float], draw: Callable[..., object]) -> str:
        assert isinstance(draw, partial)
        shape = repr((size, draw.func, shape_of(draw.args), shape_of(draw.keywords)))
        if shape not in drawn:  # without the words that it shows, which stand in comments
            drawn[shape] = re.sub("<!--.*?-->", "", svg_of(size, draw), flags=re.DOTALL)
        return drawn[shape]

    with pytest.MonkeyPatch.context() as patch:
        for each in PAGES:
            patch.setattr(each, "svg_of", svg)
        yield
