"""The pictures of docs/ and the results of bench/papers/ were made by this version: bench/remake.py."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import fastbin as fb

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "bench" / "papers" / "results"
PICTURES = sorted(path for path in DOCS.glob("*") if path.suffix in (".png", ".svg", ".jpg", ".gif"))
SOFTWARE = f"fastbin {fb.__version__}"


def notes(path: Path) -> dict[str, str]:
    """The texts that a PNG holds, by their names."""
    data, at, found = path.read_bytes(), 8, {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"tEXt":
            name, _, text = data[at + 8 : at + 8 + length].partition(b"\x00")
            found[name.decode("latin-1")] = text.decode("latin-1")
        at += 12 + length
    return found


def test_there_are_pictures_and_results() -> None:
    if not DOCS.is_dir():
        pytest.skip("docs/ is not part of this distribution")
    assert {path.name for path in PICTURES} == {
        "before-after.png",
        "continuous.png",
        "gr21_figure3.png",
        "online-delay.svg",
        "report.png",
        "ssh23_figure2.png",
    }
    assert {path.stem for path in RESULTS.glob("*.txt")} == {path.stem for path in RESULTS.parent.glob("*.py")} & {
        "cifar10_top_label", "gpr20_figures23", "gr21_credit", "ssh23_risk", "ssh23_table1",
    }  # fmt: skip


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_of_this_version(picture: Path) -> None:
    if picture.suffix == ".png":
        assert notes(picture)["Software"] == SOFTWARE
    else:
        creators = re.search(r"<dc:creator>(.*?)</dc:creator>", picture.read_text(encoding="utf8"), re.DOTALL)
        assert creators is not None
        assert f"<dc:title>{SOFTWARE}</dc:title>" in creators[1]


@pytest.mark.parametrize("result", sorted(RESULTS.glob("*.txt")), ids=lambda path: path.name)
def test_results_are_of_this_version(result: Path) -> None:
    first = " ".join(result.read_text(encoding="utf8").splitlines()[:2])
    assert re.findall(r"fastbin (\d[\w.]*)", first) == [fb.__version__]
