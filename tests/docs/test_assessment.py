"""docs/assessment.md: its examples run, and its numbers are those of the kept results."""

from __future__ import annotations

import doctest
import re

from oracle import REPOSITORY

PAGE = REPOSITORY / "docs" / "assessment.md"
RESULTS = REPOSITORY / "bench" / "papers" / "results"


def test_examples_run() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 15
    assert failed == 0


def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"!\[.*\]\((.*)\)", PAGE.read_text(encoding="utf8"))
    assert len(pictures) == 3
    assert all(0 < (PAGE.parent / picture).stat().st_size < 150_000 for picture in pictures)


def test_the_figures_of_credit_are_those_of_the_results() -> None:
    text, printed = PAGE.read_text(encoding="utf8"), (RESULTS / "gr21_credit.txt").read_text(encoding="utf8")
    computed = re.search(r"UMS (0\.\d+), UMD (0\.\d+)\.", printed)
    documented = re.search(r"\((0\.\d+) and (0\.\d+) against 0\.79 and 0\.63", text)
    assert computed is not None
    assert documented is not None
    assert (float(documented[1]), float(documented[2])) == (round(float(computed[2]), 2), round(float(computed[1]), 2))
    rows = {row[0]: row for row in (line.split() for line in printed.split("The test of UMD")[1].splitlines()) if row}
    assert f"confirm {rows['1000'][2]} of 100 certificates at n = 1000" in text
    assert rows["7000"][2] == "0"
    assert abs(float(rows["7000"][5].replace(",", "")) - 30_000) < 1000
    assert re.search(r"the smallest n is 1510, and 709 by", printed)


def test_the_figures_of_two_gaussians_are_those_of_the_results() -> None:
    text, printed = PAGE.read_text(encoding="utf8"), (RESULTS / "ssh23_risk.txt").read_text(encoding="utf8")
    slopes = re.search(r"risk (0\.\d+), bound 0\.\d+; least risk (-0\.\d+)", printed)
    assert slopes is not None
    assert f"n^{slopes[1]} with a least risk like n^{slopes[2]}" in text
    fits = re.search(r"Exceeded in ([\d,]+) fitted functions: by R_cal 0 times, by R_sha 0 times", printed)
    assert fits is not None
    assert f"exceeded in {fits[1]} fits" in text
    parity = re.search(r"B\^(-1\.\d)\d over even and B\^(-[12]\.\d)\d over odd", printed)
    assert parity is not None
    assert abs(float(parity[1]) + 1.3) < 0.11
    assert abs(float(parity[2]) + 2.0) < 0.11
