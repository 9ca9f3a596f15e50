"""csrc/FORMAT.md is right to the byte: its examples are models, and its tables are what the library computes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fastbin as fb
from fastbin._core.fit import draw_labels
from reference.keys import draw_labels as drawn_by_reference
from reference.keys import group_digest

TEXT = (Path(__file__).resolve().parent.parent.parent / "csrc/FORMAT.md").read_text(encoding="utf8")


def examples() -> list[bytes]:
    """The bytes of each dump: an offset, and up to 16 bytes in two groups."""
    found: list[bytearray] = []
    for offset, dump in re.findall(r"^    ([0-9a-f]{3})  ((?:[0-9a-f]{2} {1,2}){7,15}[0-9a-f]{2})", TEXT, re.MULTILINE):
        if int(offset, 16) == 0:
            found.append(bytearray())
        assert int(offset, 16) == len(found[-1])
        found[-1] += bytes.fromhex(dump)
    return [bytes(example) for example in found]


def test_the_examples_are_models() -> None:
    halves, stepped = (fb.BinnedModel.from_bytes(example) for example in examples())
    assert [model.to_bytes() for model in (halves, stepped)] == examples()
    assert halves == fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75])
    assert stepped == fb.BinnedModel.from_parts(
        edges=[0.25, 0.5], values=[0.125, 0.25, 0.75], first_step=[0, 2], step_counts=[1, 2, 3], counts=[3, 2],
        label_sums=[1, 1], tie_counts=[[0, 0, 0], [2, 1, 1]], edges_share=1.0, scheme="certified", ties="whole", n_bins_asked=2,
        n_samples=6, n_positive=3, n_tied=2,
    )  # fmt: skip


def test_the_table_of_drawn_labels() -> None:
    rows = re.findall(r"^\| `([0-9A-F]{16})` \| (\S+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d) \|$", TEXT, re.MULTILINE)
    assert len(rows) >= 6
    for digest, score, *numbers in rows:
        count, ones, chosen, f, y = map(int, numbers)
        drawn = draw_labels(int(digest, 16), [float(score)], [count], [ones], [chosen])
        assert [column.tolist() for column in drawn] == [[f], [y]]
        assert drawn_by_reference(int(digest, 16), float(score), count, ones, chosen) == (f, y)


def test_the_example_of_drawn_labels() -> None:
    stated = re.search(r"draw\(D, 0\.5, 400, 200, 100\) with D = `([0-9A-F]{16})` gives\nf = (\d+), y = (\d)", TEXT)
    assert stated is not None
    digest = group_digest(42, [(0.25, 0, 0, 600, 30), (0.5, 600, 30, 400, 200)])
    assert digest == int(stated[1], 16)
    f, y = draw_labels(digest, [0.5], [400], [200], [100])
    assert (int(f[0]), int(y[0])) == (int(stated[2]), int(stated[3]))


@pytest.mark.parametrize(
    ("name", "square"), [("FIT", 2), ("PREDICT", 3), ("SPLIT", 5), ("VALUE", 7), ("ROWS", 11), ("DRAW", 13)]
)
def test_the_streams_are_roots(name: str, square: int) -> None:
    """The first 64 bits after the point."""
    stated = re.search(rf"^    {name} += 0x([0-9A-F]{{16}}) ", TEXT, re.MULTILINE)
    assert stated is not None
    bits = int(stated[1], 16)
    whole = int(np.sqrt(square))
    assert (whole * 2**64 + bits) ** 2 <= square * 2**128 < (whole * 2**64 + bits + 1) ** 2
