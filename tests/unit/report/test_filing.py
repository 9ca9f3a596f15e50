"""A page says which rows it is about and who files it, and prints on paper: the parts of fastbin/report/filing.py."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.report import assess_model, render_report
from fastbin.report.filing import (
    MOST_FILES,
    SIGNERS,
    UNFOLDED,
    Filing,
    digest_of_counts,
    digest_of_files,
    document,
    signatures,
    unless_long,
)
from fastbin.report.page import counts_digest, report_dict

pytest.importorskip("matplotlib")

DIGEST = "0123456789abcdef" * 4
FILED: dict[str, Any] = {
    "files": {"test.csv": DIGEST}, "columns": {"scores": "p", "labels": "y", "P[0]": "a", "P[1]": "b"}, "n_rows": 1234,
    "prepared_by": "J. <Doe>", "role": "Validation", "date": datetime.date(2026, 1, 2),
}  # fmt: skip


def test_long_tables_are_folded() -> None:
    assert unless_long(UNFOLDED, "bins", "<table>") == "<table>"
    assert "41 bins" in unless_long(UNFOLDED + 1, "bins", "<table>")


@pytest.fixture(scope="module")
def found() -> Any:
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    labels = np.where(rng.random(3000) < scores**2, "default", "paid")
    model = fb.UniformMassBinning(n_bins=4).fit(scores[:2000], labels[:2000], positive="default").model_
    return assess_model(model, scores[2000:], labels[2000:], positive="default")


def facts_of(page: str) -> dict[str, str]:
    first = page.partition("<section id='what-was-checked'>")[2].partition("</section>")[0]
    return dict(re.findall(r"<tr><th>(.*?)</th><td>(.*?)</td></tr>", first))


def test_the_first_section_says_what_was_checked(found: Any) -> None:
    told = facts_of(render_report(found, model_source="credit.fbm", test_source="test.csv", **FILED))
    assert told["Model"] == "credit.fbm"
    assert told["SHA-256 of the model file"] == hashlib.sha256(found.model.to_bytes()).hexdigest()
    assert told["Made by"].startswith("UniformMassBinning(")
    assert told["Event"] == "&#x27;default&#x27;"
    assert (told["Test set"], told["Rows read"], told["Test samples"]) == ("test.csv", "1,234", "1,000")
    assert told["SHA-256 of test.csv"] == DIGEST
    assert told["Columns"] == "scores: p; labels: y; probabilities: a, b"
    assert told["SHA-256 of their counts"] == counts_digest(found)
    assert told["Verdict"].startswith("Not contradicted: ")
    assert told["Verdict"].endswith("The chance of a wrong verdict is at most 0.05.")
    assert re.fullmatch(
        r"a difference of 0\.\d+ in one bin would have been seen with probability 0\.9", told["Would have been seen"]
    )


def test_the_column_of_classes_is_no_column_of_segments() -> None:
    of_classes = Filing.of(columns={"P[0]": "cat", "P[1]": "dog", "labels": "animal", "cells": "animal"})
    assert of_classes.facts()["Columns"] == "probabilities: cat, dog; labels: animal"
    of_segments = Filing.of(columns={"scores": "p", "labels": "y", "cells": "region"})
    assert of_segments.facts()["Columns"] == "scores: p; labels: y; segments: region"


def test_lines_to_sign_have_what_was_given_and_nothing_else() -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", signatures(Filing.of(**FILED)))[1:]
    cells = [re.findall(r"<td class='text'>(.*?)</td>", row) for row in rows]
    assert cells[0] == ["Prepared by", "J. &lt;Doe&gt;", "Validation", "2026-01-02", ""]
    assert cells[1:] == [[signer, "", "", "", ""] for signer in SIGNERS[1:]]


@pytest.mark.usefixtures("drawn_anew")
def test_no_clock_is_read(found: Any) -> None:
    page = render_report(found)
    assert page == render_report(found)
    assert datetime.date.today().isoformat() not in page
    assert f"Made with fastbin {fb.__version__}.</p>" in page
    assert f"Made with fastbin {fb.__version__} on 2026-01-02.</p>" in render_report(found, **FILED)


def test_many_files_have_one_digest_of_the_lines_of_sha256sum() -> None:
    files = {f"day{i}.csv": hashlib.sha256(bytes([i])).hexdigest() for i in range(MOST_FILES + 1)}
    (name, told), *_ = [pair for pair in Filing.of(files=files).facts().items() if "SHA-256" in pair[0]]
    lines = "".join(f"{digest}  {path}\n" for path, digest in files.items())
    assert name == "SHA-256 of 13 files"
    assert told.split()[0] == digest_of_files(files) == hashlib.sha256(lines.encode()).hexdigest()
    assert len(Filing.of(files=dict(list(files.items())[:MOST_FILES])).facts()) == MOST_FILES + 2


def test_paper_has_a_size_numbers_and_light_colours(found: Any) -> None:
    style = render_report(found, title='A "title" </style>').partition("<style>")[2].partition("</style>")[0]
    paper = style.partition("@page{")[2]
    assert "size:A4" in paper
    assert 'counter(page) " / " counter(pages)' in paper
    assert r'content:"A\20 \22 title\22 \20 \3c \2f style\3e "' in paper
    printed = style.partition("@media print {")[2].partition("@page{")[0]
    assert "color-scheme:light" in printed
    for rule in ("table-header-group", "break-inside: avoid", "details::details-content { content-visibility: visible"):
        assert rule in printed


def test_another_page_can_be_made_of_the_same_pieces() -> None:
    page = document("Grades", "<p>lead</p>", {"Tests": "<p>all</p>", "Nothing": ""}, Filing.of(), {"Portfolio": "a < b"})
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["What was checked", "Tests", "Signatures"]
    assert facts_of(page) == {"Portfolio": "a &lt; b"}


def test_every_figure_is_in_the_json(found: Any) -> None:
    content = json.loads(json.dumps(report_dict(found, Filing.of(**FILED), "credit.fbm", "test.csv"), allow_nan=False))
    checked = content.pop("checked")
    assert content == json.loads(json.dumps(found.to_dict()))
    assert checked["provenance"] == json.loads(json.dumps(found.model.provenance))
    assert checked["model_sha256"] == hashlib.sha256(found.model.to_bytes()).hexdigest()
    bins = content["scorecards"][1]["reliability"]["bins"]
    again = digest_of_counts([each["count"] for each in bins], [each["label_sum"] for each in bins])
    assert checked["counts_sha256"] == again
    assert (
        again
        == hashlib.sha256(
            f'{{"counts":{[each["count"] for each in bins]},"label_sums":{[each["label_sum"] for each in bins]}}}'.replace(
                " ", ""
            ).encode()
        ).hexdigest()
    )
    assert (checked["prepared_by"], checked["date"], checked["n_rows"]) == ("J. <Doe>", "2026-01-02", 1234)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prepared_by": 1}, "prepared_by is of type int; pass a text"),
        ({"role": b"x"}, "role is of type bytes; pass a text"),
        ({"date": "2026-01-02"}, "date is of type str; pass a datetime.date"),
        ({"n_rows": "many"}, "n_rows must be an integer, got 'many'"),
        ({"files": ["test.csv"]}, "files is not a mapping from texts to texts; pass a dict"),
        ({"columns": {"scores": 1}}, "columns is not a mapping from texts to texts; pass a dict"),
    ],
)
def test_what_cannot_be_filed_is_refused(found: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.InputTypeError, match=re.escape(message)):
        render_report(found, **given)
