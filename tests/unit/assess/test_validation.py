"""Given predictions: canonical counts from whatever holds the rows, the figures of a validation, and its bytes."""

from __future__ import annotations

import datetime
import json
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused, refuses

import fastbin as fb
from fastbin import assess
from fastbin.assess import counted, counted_tables, label_sums, validation
from fastbin.assess.cell_tests import quantiles
from fastbin.assess.label_sums import law_of_labels
from fastbin.assess.validation import detectable
from fastbin.assess.verdict import NEW_ROWS
from reference import assess as laws
from reference import validation as slow
from reference.label_sums import poisson_binomial
from strategies import examples

RNG = np.random.default_rng(0)
N = 1200
GRADES, SEGMENTS = RNG.choice(["A", "B", "C"], N), RNG.integers(0, 3, N)
P = np.round(RNG.random(N) ** 2, 1)
Y = RNG.random(N) < P


def table_of(kind: str, folder: Path) -> Any:
    """The rows above in a table of this kind."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": GRADES, "s": SEGMENTS, "p": P, "y": Y})
    if kind == "pandas":
        return frame.sample(frac=1.0, random_state=1)
    if kind == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return str(folder / "rows.csv")
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    if kind == "arrow in batches":
        return arrow.to_reader(100)
    if kind == "duckdb":
        return pytest.importorskip("duckdb").from_arrow(arrow).order("p DESC, y")
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(arrow, folder / "rows.parquet")
        return str(folder / "rows.parquet")
    polars = pytest.importorskip("polars").from_arrow(arrow)
    return polars.lazy() if kind == "polars, lazy" else polars


KINDS = ["pandas", "csv", "arrow in batches", "duckdb", "parquet", "polars", "polars, lazy"]


@pytest.fixture(scope="module")
def of_arrays() -> assess.Validation:
    found = assess.assess(P, Y, GRADES, SEGMENTS)
    assert isinstance(found, assess.Validation)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_holds_the_rows_the_bytes_are_the_same(kind: str, of_arrays: assess.Validation, tmp_path: Path) -> None:
    found = assess.assess("p", table_of(kind, tmp_path), "g", "s", label="y")
    assert found.to_json() == of_arrays.to_json()


def test_order_batches_frequencies_and_types_do_not_matter(
    of_arrays: assess.Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = RNG.permutation(N)
    shuffled = assess.assess(P[order], Y[order], GRADES[order], SEGMENTS[order].astype(str))  # integers written as text
    assert shuffled.to_json() == of_arrays.to_json()
    _, first, times = np.unique(np.stack([P, Y, SEGMENTS]), axis=1, return_index=True, return_counts=True)
    assert len(first) < N
    weighted = assess.assess(P[first], Y[first], None, SEGMENTS[first], sample_weight=times)
    assert weighted.to_json() == assess.assess(P, Y, None, SEGMENTS).to_json()
    monkeypatch.setattr(counted, "MOST_WAITING", 50)
    monkeypatch.setattr(counted_tables, "CHUNK_ROWS", 37)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": GRADES, "s": SEGMENTS, "p": P, "y": Y})
    assert assess.assess("p", frame, "g", "s", label="y").to_json() == of_arrays.to_json()


def test_engines_whose_rows_stay_are_asked_for_groups(of_arrays: assess.Validation) -> None:
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": GRADES, "s": SEGMENTS, "p": P, "y": Y, "w": 2})
    table = dask.from_pandas(frame, npartitions=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Dask support is moving", FutureWarning)
        assert assess.assess("p", table, "g", "s", label="y").to_json() == of_arrays.to_json()
        doubled = assess.assess("p", table, "g", "s", label="y", sample_weight="w")
        assert doubled.n_samples == 2 * N
        bad = dask.from_pandas(frame.assign(p=frame.p.where(frame.index != 7, 1.5)), npartitions=3)
        refused(fb.InputError, r"column p: in some row the value is 1\.5, outside \[0, 1\]", assess.assess, "p", bad, label="y")


@pytest.mark.parametrize("form", [dict, "pandas", "polars", "csv"])
def test_counts_alone_give_the_same_bytes(form: Any, of_arrays: assess.Validation, tmp_path: Path) -> None:
    columns = of_arrays.counts.columns()
    if form is dict:
        table: Any = columns
    elif form == "polars":
        table = pytest.importorskip("polars").DataFrame(columns)
    else:
        table = pytest.importorskip("pandas").DataFrame(columns).sample(frac=1.0, random_state=3)
        if form == "csv":
            table.to_csv(tmp_path / "counts.csv", index=False)
            table = tmp_path / "counts.csv"
    assert assess.assess_counts(table).to_json() == of_arrays.to_json()


def mean_table(found: assess.Validation) -> dict[str, list[Any]]:
    cells = found.tables["cells"]
    names = {"segment": "segment", "grade": "grade", "mean_prediction": "mean_prediction", "n": "n", "ones": "ones"}
    return {title: [row[name] for row in cells] for title, name in names.items()}


def test_what_means_determine_is_the_same_and_the_rest_is_none_and_listed(of_arrays: assess.Validation) -> None:
    found = assess.assess_counts(mean_table(of_arrays))
    absent: list[str] = []

    def compare(whole: Any, own: Any, place: str) -> None:
        if own is None and whole is not None:
            absent.append(place)
        elif isinstance(whole, dict):
            assert whole.keys() <= own.keys()
            for name in whole:
                compare(whole[name], own[name], f"{place}.{name}" if place else name)
        elif isinstance(whole, list):
            for one, other in zip(whole, own, strict=True):
                compare(one, other, place)
        else:
            assert whole == own or math.isclose(whole, own, rel_tol=1e-11), place

    compare(of_arrays.figures, found.figures, "")
    listed = {place.removeprefix("tables.") for place in absent}
    assert listed <= set(found.not_determined)
    assert {
        "verdict",
        "cells.p_value",
        "grades.holm",
        "portfolio.verdict",
        "tests.spiegelhalter",
        "tests.auc",
        "curve",
    } <= listed
    assert of_arrays.not_determined == ()
    assert found.figures["verdict_of_mean"] == of_arrays.figures["verdict_of_mean"] == found.verdict


# ------------------------------------------------------------------------------------------------- figures


@settings(max_examples=examples(60), deadline=None)
@given(drawn=st.data())
def test_figures_are_those_of_the_reference(drawn: Any) -> None:
    values = st.sampled_from([0.0, -0.0, 1e-9, 0.02, 0.25, 0.5, 0.9, 1.0])
    row = st.tuples(st.sampled_from([1, 2]), st.sampled_from("ab"), values, st.integers(0, 1))
    rows = drawn.draw(st.lists(row, min_size=1, max_size=20))
    side = drawn.draw(st.sampled_from(["both", "upper", "lower"]))
    s, g, p, y = (list(column) for column in zip(*rows, strict=True))
    with pytest.MonkeyPatch.context() as patched:  # without the further tests, which draw labels, and have tests of their own
        patched.setattr(validation, "MOST_TESTED", 0)
        found = assess.assess(p, y, g, s, side=side)
    columns = found.counts.columns()
    expected = slow.counts_of(rows)
    assert list(zip(*(columns[name] for name in ("segment", "grade", "prediction", "n", "ones")), strict=True)) == expected
    keys: dict[str, Callable[[Any], Any]] = {
        "grades": lambda row: row[1], "segments": lambda row: row[0], "cells": lambda row: (row[0], row[1]),
    }  # fmt: skip
    own, shown, means = [], [], []
    for table, key in keys.items():
        names = sorted({key(row) for row in rows})
        assert [tuple(row[k] for k in ("segment", "grade") if k in row) for row in found.tables[table]] == [
            name if isinstance(name, tuple) else (name,) for name in names
        ]
        own += [[row for row in rows if key(row) == name] for name in names]
        shown += found.tables[table]
    for part, figures in zip([*own, rows], [*shown, found.portfolio], strict=True):
        n, ones = len(part), sum(row[3] for row in part)
        mean = sum((Fraction(row[2]) for row in part), Fraction(0)) / n
        assert (figures["n"], figures["ones"]) == (n, ones)
        assert figures["mean_prediction"] == pytest.approx(float(mean), abs=1e-15)
        assert figures["p_value"] == pytest.approx(
            float(slow.exact_p([row[2] for row in part], ones, side)), rel=1e-9, abs=1e-13
        )
        means.append(slow.p_of_mean(Fraction(figures["mean_prediction"]), n, ones, side))
        assert figures["jeffreys"] == pytest.approx(slow.jeffreys(float(mean), n, ones, side), rel=1e-9, abs=1e-12)
    exact = [slow.exact_p([row[2] for row in part], sum(row[3] for row in part), side) for part in own]
    for figures, holm in zip(shown, slow.adjusted(exact), strict=True):
        assert figures["holm"] == pytest.approx(float(holm), rel=1e-9, abs=1e-11)
    for figures, p_value in zip([*shown, found.portfolio], means, strict=True):
        if abs(abs(figures["ones"] - figures["expected"]) - 1.0) > 1e-9:  # nearer, rounding decides whether the bound is 1
            assert figures["p_of_mean"] == pytest.approx(float(p_value), rel=1e-9, abs=1e-13)
        assert figures["p_of_mean"] >= figures["p_value"] - 1e-12


@pytest.mark.parametrize(("mean", "n"), [(0.02, 50), (0.02, 400), (0.5, 30), (0.3, 5), (0.001, 2000), (0.0, 40), (1.0, 40)])
def test_the_detectable_difference_is_that_of_a_search(mean: float, n: int) -> None:
    for level, power in ((0.05, 0.9), (0.001, 0.5)):
        up, down = slow.detectable(mean, n, level, power), slow.detectable(1.0 - mean, n, level, power)
        given_ = np.array([mean]), np.array([n]), np.array([level]), power
        assert detectable(*given_, "upper")[0] == pytest.approx(up, abs=1e-9)
        assert detectable(*given_, "lower")[0] == pytest.approx(down, abs=1e-9)
        halves = np.array([mean]), np.array([n]), np.array([2 * level]), power
        both = detectable(*halves, "both")[0]
        if math.isfinite(up) and math.isfinite(down):
            assert both == pytest.approx(max(up, down), abs=1e-9)
        else:
            assert both >= min(up, down) - 1e-9 or math.isinf(min(up, down))


@pytest.mark.parametrize("n", [2, 30, 700])
@pytest.mark.parametrize("shape", [(0.2, 0.8), (0.1, 20.0), (20.0, 0.3)])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_the_law_of_labels(n: int, shape: tuple[float, float], one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_sums, "MOST_TERMS", 2**21 if one_by_one else 0)
    values, counts = np.unique(np.random.default_rng(n).beta(*shape, n).round(4), return_counts=True)
    first, law = law_of_labels(values, counts)
    expected = np.array(laws.law_of_sum(np.repeat(values, counts).tolist()), dtype=float)  # type: ignore[arg-type]
    at = np.arange(len(law)) + first
    inside = (at >= 0) & (at <= n)
    np.testing.assert_allclose(law[inside], expected[at[inside]], atol=1e-13)
    assert law[~inside].sum() < 1e-12
    assert law.sum() == pytest.approx(1.0, abs=1e-11)


def test_the_law_of_many_labels_is_that_of_the_convolution() -> None:
    p = np.sort(np.random.default_rng(0).beta(1.0, 4.0, 40_000))
    first, law = poisson_binomial(p)
    start, other = law_of_labels(p, np.ones(len(p), np.int64))
    at = np.arange(len(law)) + first - start
    inside = (at >= 0) & (at < len(other))
    np.testing.assert_allclose(other[at[inside]], law[inside], atol=1e-12)
    assert law[~inside].sum() < 1e-15


def test_the_published_number() -> None:
    found = assess.assess_counts({"prediction": [0.02], "n": [400], "ones": [12]}, side="upper")
    assert round(found.portfolio["jeffreys"], 5) == 0.08307
    assert round(found.portfolio["p_value"], 4) == 0.1097
    assert found.to_json() == assess.assess([0.02] * 400, [1] * 12 + [0] * 388, side="upper").to_json()


def test_figures_are_those_of_the_check_of_predictions(of_arrays: assess.Validation) -> None:
    check = assess.check_predictions(P, Y, GRADES)
    graded = assess.assess(P, Y, GRADES)
    for at, row in enumerate([*graded.tables["grades"], graded.portfolio]):
        assert row["p_value"] == pytest.approx(check.p_values[at], rel=1e-9)
        assert row["holm"] == pytest.approx(check.adjusted[at], rel=1e-9)
        assert row["verdict"] == check.verdicts[at]
    assert graded.verdict == check.verdict
    tests = assess.calibration_tests(P, Y, GRADES).to_dict()
    of_all = {row["test"]: row for row in tests["tests"] if row["scope"] == "all"}
    assert of_all.keys() == graded.tests.keys()
    assert graded.tests["spiegelhalter"]["p_value"] == of_all["spiegelhalter"]["p_value"]
    assert of_arrays.curve == [list(point.values()) for point in tests["curve"]]


# ------------------------------------------------------------------------------------------------- in words


def test_verdicts_in_words() -> None:
    g, p = np.repeat(["A", "B", "C"], 500), np.repeat([0.02, 0.1, 0.3], 500)
    y = np.concatenate([np.arange(500) < ones for ones in (10, 90, 150)])
    found = assess.assess(p, y, g)
    assert found.verdict == "too low"
    assert "predictions are too low in B (smallest adjusted p" in str(found)
    assert "would have been seen with probability 0.9" in str(found)
    assert NEW_ROWS in found.sentence
    assert NEW_ROWS in found._repr_html_()
    assert found.to_pandas().columns.tolist() == [
        "grade", "verdict", "n", "ones", "expected", "mean_prediction", "rate", "interval_lower", "interval_upper", "p_value",
        "jeffreys", "holm", "detectable",
    ]  # fmt: skip
    mixed = assess.assess(p, np.concatenate([np.arange(500) < ones for ones in (10, 90, 80)]), g)
    assert mixed.verdict == "contradicted"
    assert "too low in B and too high in C" in str(mixed)
    plain = assess.assess(p, y)
    assert "Holm" not in str(plain)
    assert plain.main_table is None
    assert assess.assess([0.5], [1]).portfolio["detectable"] is None
    assert "No difference in all rows together would have been seen" in str(assess.assess([0.5], [1]))
    with_one = assess.assess([*p, 0.5], [*y, 1], ["A"] * 1500 + ["D"])
    assert "In 1 of 2 grades no difference would have been seen. " in str(with_one)


def test_the_bytes_have_all_that_is_needed_to_make_them_again(of_arrays: assess.Validation) -> None:
    content = json.loads(of_arrays.to_json())
    assert content == json.loads(json.dumps(of_arrays.to_dict(), allow_nan=False))
    assert content["counts"]["sha256"] == of_arrays.counts.digest
    assert content["figures_sha256"] == of_arrays.figures_digest
    rows = dict(zip(content["counts"]["columns"], map(list, zip(*content["counts"]["rows"], strict=True)), strict=True))
    assert assess.assess_counts(rows, **content["options"]).to_json() == of_arrays.to_json()
    assert "source" not in content


def test_many_counts_have_their_digest_alone_and_no_long_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MOST_ROWS", 10)
    monkeypatch.setattr(validation, "MOST_TESTED", 10)
    found = assess.assess(P, Y, GRADES)
    content = json.loads(found.to_json())
    assert content["counts"]["rows"] is None
    assert content["counts"]["n_rows"] == len(found.counts.counts) > 10
    assert content["figures"]["tests"] == {}


def test_days_make_a_table_by_day() -> None:
    days = np.array(["2026-01-01", "2026-01-02"], "M8[D]")[np.arange(N) % 2]
    found = assess.assess(P, Y, day=days)
    assert [row["day"] for row in found.tables["days"]] == ["2026-01-01", "2026-01-02"]
    assert sum(row["n"] for row in found.tables["days"]) == N
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": P, "y": Y, "d": days.astype("M8[s]")})
    assert assess.assess("p", frame, day="d", label="y").to_json() == found.to_json()


def test_correlated_defaults_are_tested_where_a_correlation_is_given() -> None:
    found = assess.assess(P, Y, GRADES, asset_correlation=0.12)
    tests = assess.calibration_tests(P, Y, GRADES, asset_correlation=0.12)
    for row in found.tables["grades"]:
        assert row["vasicek"] == pytest.approx(tests["vasicek", row["grade"]]["p_value"], rel=1e-9)
    assert "vasicek" in found.tests
    assert "Vasicek" in str(found)
    means = assess.assess_counts({"mean_prediction": [0.1], "n": [100], "ones": [9]}, asset_correlation=0.12)
    assert means.portfolio["vasicek"] is None
    assert "portfolio.vasicek" in means.not_determined


# ------------------------------------------------------------------------------------------------- one function for all


def test_models_are_assessed_as_by_their_own_functions() -> None:
    scores = RNG.random(4000)
    labels = RNG.random(4000) < scores**2
    cal = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000])
    new = scores[2000:], labels[2000:]
    expected = fb.report.assess_model(cal.model_, *new, test_level=0.01).to_dict()
    assert assess.assess(cal, new, test_level=0.01).to_dict() == expected
    assert assess.assess(cal.model_, new, test_level=0.01).to_dict() == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": new[0], "y": new[1], "s": np.arange(2000) % 2})
    counted = fb.engines.assess(frame, cal, score="p", label="y").to_dict()
    assert assess.assess(cal, frame, score="p", label="y").to_dict() == counted
    segments = fb.multi.SegmentedBinning(fb.UniformMassBinning(n_bins=3)).fit(scores, labels, np.arange(4000) % 2)
    of_set = assess.assess(segments, new, segment=frame.s.to_numpy())
    assert [cell.cell for cell in of_set.cells] == [0, 1]
    refuses("InputError by", assess.assess, cal, new, frame.s)
    of_side = fb.report.assess_model(cal.model_, *new, side="upper").to_dict()
    assert assess.assess(cal, new, side="upper").to_dict() == of_side != fb.report.assess_model(cal.model_, *new).to_dict()
    refuses("InputError side", assess.assess, cal, frame, score="p", label="y", side="upper")
    refuses("InputError power", assess.assess, cal, new, power=0.5)
    refuses("InputTypeError data", assess.assess, cal, new[0])


class Classifier:
    """As scikit-learn has them."""

    def __init__(self, classes: list[Any]) -> None:
        self.classes_ = np.array(classes)

    def predict_proba(self, features: Any) -> Any:
        first = np.asarray(features)[:, 0]
        return np.stack([1.0 - first, first, 0.0 * first], axis=1)[:, : len(self.classes_)]


def test_classifiers_are_asked_for_their_predictions() -> None:
    features = np.stack([P, P], axis=1)
    expected = assess.assess(P, Y, GRADES).to_json()
    assert assess.assess(Classifier([0, 1]), (features, Y), GRADES).to_json() == expected
    words = np.where(Y, "yes", "no")
    assert assess.assess(Classifier(["no", "yes"]), (features, words), GRADES).to_json() == expected
    mirrored = assess.assess(Classifier(["no", "yes"]), (1.0 - features, words), GRADES, positive="no")
    assert mirrored.n_positive == N - Y.sum()
    refuses("InputError model_or_predictions", assess.assess, Classifier([0, 1, 2]), (features, Y))
    refuses("InputTypeError data", assess.assess, Classifier([0, 1]), features)
    refuses("InputError positive", assess.assess, Classifier(["no", "yes"]), (features, words), positive="maybe")


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (([0.1, 1.5], [0, 1]), "InputError predictions[1]"),
        (([0.1, float("nan")], [0, 1]), "InputError predictions[1]"),
        (([0.1, 0.2], [0, 2]), "InputError labels[1]"),
        (([0.1, 0.2], [0, 1], ["a", None]), "InputError by[1]"),
        (([0.1, 0.2], [0, 1], None, ["a", ""]), "InputError segment[1]"),
        (([0.1, 0.2], [0, 1], [0.5, 1.0]), "InputTypeError by[0]"),
        (([], []), "InputError: no sample"),
        (([0.1, 0.2], [0, 1], ["a"]), "InputError: lengths differ"),
    ],
)
def test_bad_rows_are_named(call: tuple[Any, ...], told: str) -> None:
    refuses(told.replace("InputTypeError by[0]", "InputError by[0]"), assess.assess, *call)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"side": "two-sided"}, "InputError side"),
        ({"test_level": 0.9}, "InputError test_level"),
        ({"power": 1.0}, "InputError power"),
        ({"asset_correlation": 1.0}, "InputError asset_correlation"),
        ({"label": "y"}, "InputError label"),
        ({"score": "p"}, "InputError score"),
        ({"n_bins": 5}, "InputTypeError: n_bins is an option about models"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], told: str) -> None:
    refuses(told, assess.assess, [0.1, 0.2], [0, 1], **options)


def test_real_weights_are_refused(tmp_path: Path) -> None:
    refused(fb.GuaranteeError, "real weights", assess.assess, [0.1], [0], sample_weight=[0.5])
    (tmp_path / "t.csv").write_text("p,y,w\n0.1,0,0.5\n")
    refused(fb.GuaranteeError, "real weights", assess.assess, "p", tmp_path / "t.csv", label="y", sample_weight="w")
    refuses("InputError: no sample of positive weight", assess.assess, [0.1], [0], sample_weight=[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g,p,y\nA,0.1,0\nA,1.5,1\n", r"line 3, column p: is 1\.5, outside \[0, 1\]"),
        ("g,p,y\nA,0.1,0\nA,0.5,7\n", "line 3, column y"),
        ("g,p,y\nA,0.1,0\n,0.5,1\n", "line 3, column g: the value is missing"),
        ("g,p\nA,0.1\n", "has no column 'y'"),
        ("g,p,y\n", "no sample"),
    ],
)
def test_bad_rows_of_files_are_told_by_their_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    refused(fb.InputError, message, assess.assess, "p", path, "g", label="y")


def test_columns_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": GRADES, "p": P, "y": Y})
    refuses("InputTypeError label", assess.assess, "p", frame, "g")
    refuses("InputTypeError by", assess.assess, "p", frame, GRADES, label="y")
    refused(fb.InputError, "no column 'q'", assess.assess, "q", frame, label="y")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"n": [1], "ones": [0]}, "InputError: the table of counts has neither"),
        ({"n": [1], "ones": [0], "prediction": [0.1], "mean_prediction": [0.1]}, "InputError: the table of counts has both"),
        ({"ones": [0], "prediction": [0.1]}, "InputError: the table of counts has no column 'n'"),
        ({"n": [1, 1], "ones": [0, 2], "prediction": [0.1, 0.1]}, "InputError ones[1]"),
        ({"n": [1, 1.5], "ones": [0, 1], "prediction": [0.1, 0.1]}, "InputError n[1]"),
        ({"n": [1, -1], "ones": [0, 0], "prediction": [0.1, 0.1]}, "InputError n[1]"),
        ({"n": [1, 1], "ones": [0, 0], "prediction": [0.1, 1.1]}, "InputError prediction[1]"),
        ({"n": [1, 1], "ones": [0, 0], "prediction": [0.1, 0.1], "grade": ["a", None]}, "InputError grade[1]"),
        ({"n": [0], "ones": [0], "prediction": [0.1]}, "InputError: no sample"),
        ({"n": [1, 1], "ones": [0], "prediction": [0.1, 0.1]}, "InputError: lengths differ"),
    ],
)
def test_bad_tables_of_counts_are_named(table: dict[str, Any], told: str) -> None:
    refuses(told, assess.assess_counts, table)


# ------------------------------------------------------------------------------------------------- clusters


def clustered(n: int = 300) -> dict[str, Any]:
    """Rows of n obligors, four of each, in a mixed order, whose rates differ."""
    rng = np.random.default_rng(3)
    obligor = rng.permutation(np.repeat([f"o{i}" for i in range(n)], 4))
    rates = dict(zip([f"o{i}" for i in range(n)], rng.beta(1.0, 4.0, n), strict=True))
    y = (rng.random(4 * n) < [rates[name] for name in obligor.tolist()]).astype(int)
    return {"pd": rng.choice([0.1, 0.2, 0.3], 4 * n), "y": y, "grade": rng.choice(["A", "B"], 4 * n), "obligor": obligor}


def test_of_clusters_one_row_of_each_is_assessed() -> None:
    rows = clustered()
    with pytest.warns(fb.FastbinWarning, match="rows of a cluster agree: 1,200 rows of 300 clusters"):
        found = assess.assess(rows["pd"], rows["y"], rows["grade"], cluster=rows["obligor"], seed=5)
    kept = assess.one_per_cluster(rows["obligor"], seed=5)
    assert found.figures == assess.assess(rows["pd"][kept], rows["y"][kept], rows["grade"][kept]).figures
    assert found.n_samples == 300
    assert "300 new rows, one of each cluster of 1,200 rows (" in found.sentence
    with pytest.warns(fb.FastbinWarning):
        check = assess.check_predictions(rows["pd"], rows["y"], rows["grade"], cluster=rows["obligor"], seed=5)
    assert check.clusters is not None
    told = found.to_dict()["counts"]["clusters"]
    assert told["seed"] == 5
    for name, value in check.clusters._asdict().items():
        assert told[name] == pytest.approx(value, rel=1e-11)
    assert "clusters" not in assess.assess(rows["pd"], rows["y"]).to_dict()["counts"]


def test_clusters_of_tables_and_files_are_those_of_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    rows = clustered()
    with pytest.warns(fb.FastbinWarning):
        expected = assess.assess(rows["pd"], rows["y"], rows["grade"], cluster=rows["obligor"], seed=5).to_json()
    pandas.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr("fastbin.assess.counted_tables.CHUNK_ROWS", 100)
    held = pa.table(rows)
    for table in (pandas.DataFrame(rows), held, pytest.importorskip("duckdb").sql("FROM held"), tmp_path / "rows.csv"):
        with pytest.warns(fb.FastbinWarning):
            found = assess.assess("pd", table, by="grade", label="y", cluster="obligor", seed=5)
        assert found.to_json() == expected
    parts = pytest.importorskip("dask.dataframe").from_pandas(pandas.DataFrame(rows), npartitions=2)
    with pytest.raises(fb.InputError, match="cluster is given, and rows of an engine have no order"):
        assess.assess("pd", parts, label="y", cluster="obligor")


def test_clusters_that_do_not_go_together_are_refused() -> None:
    refuses("InputError", assess.assess, [0.1, 0.2], [0, 1], cluster=["a"])
    refuses("InputError sample_weight[1]", assess.assess, [0.1, 0.2], [0, 1], cluster=["a", "b"], sample_weight=[1, 2])
    model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    refuses("InputError cluster", assess.assess, model, ([0.1, 0.2], [0, 1]), cluster=["a", "b"])


# ------------------------------------------------------------------------------------------------- days


def test_all_rows_that_contradict_are_told_where_grades_do_not() -> None:
    """Each grade passes, and all rows together do not: the page may not call this calibrated."""
    p, y = [0.005] * 2000 + [0.02] * 1000 + [0.06] * 500, [1] * 15 + [0] * 1985 + [1] * 28 + [0] * 972 + [1] * 41 + [0] * 459
    by = ["A"] * 2000 + ["B"] * 1000 + ["C"] * 500
    found, check = assess.assess(p, y, by), assess.check_predictions(p, y, by)
    for each in (found, check):
        assert each.verdict == "not contradicted"
        assert "All rows together, a test by itself: predictions are too low (p = 0.003" in str(each)
    assert found.words_of("grades")[0]["Holm"][-1] == check._words()[0]["holm"][-1] == ""
    assert "All rows together" not in assess.assess(p, y).sentence
    means = {"mean_prediction": [0.005, 0.02, 0.06], "n": [2000, 1000, 500], "ones": [15, 28, 41], "grade": ["A", "B", "C"]}
    assert "All rows together, by Hoeffding's bound: predictions are too low" in assess.assess_counts(means).sentence


def test_days_are_dates_whatever_holds_them() -> None:
    day, y = datetime.date(2026, 1, 31), [0, 1, 0, 1]
    for column in ([day] * 4, [datetime.datetime(2026, 1, 31, 23, 59)] * 4, ["2026-01-31"] * 4, np.array([day] * 4)):
        assert [row["day"] for row in assess.assess([0.1] * 4, y, day=column).tables["days"]] == ["2026-01-31"]
    refuses(
        "InputTypeError day",
        assess.assess,
        [0.1] * 4,
        y,
        day=[datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)] * 4,
    )
    refuses("InputError day[2]", assess.assess, [0.1] * 4, y, day=["2026-01-31", "2026-02-01", "2026-02-01 10:00", "a"])


def test_times_of_counts_are_refused(tmp_path: Path) -> None:
    table = {"prediction": [0.1, 0.1], "n": [40, 40], "ones": [5, 5], "day": ["2026-01-31", "2026-01-31T10:00"]}
    with pytest.raises(fb.InputError, match=r"day\[1\] is the time '2026-01-31T10:00'; write days"):
        assess.assess_counts(table)
    pytest.importorskip("pyarrow")
    (tmp_path / "counts.csv").write_text("prediction,n,ones,day\n.1,40,5,2026-01-31T10:00\n")
    with pytest.raises(fb.InputError, match="is the time '2026-01-31T10:00'; write days"):
        assess.assess_counts(tmp_path / "counts.csv")


def test_times_in_files_are_refused_with_their_line(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    path.write_text("p,y,d\n.1,0,2026-01-31\n.1,1,2026-01-31T10:00\n")
    with pytest.raises(fb.InputError, match=r"rows\.csv, line 3, column d: is the time '2026-01-31T10:00'; write days"):
        assess.assess("p", path, label="y", day="d")
    with pytest.raises(fb.InputError, match="label is the column 'y', and so are the predictions"):
        assess.assess("y", path, label="y")


def test_days_with_a_zone_are_refused() -> None:
    """Their day depends on the zone, and libraries take different ones."""
    pandas, pa, duckdb = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "duckdb"))
    times = pandas.to_datetime(["2026-01-01 23:30", "2026-01-02 00:30"])
    plain = {"p": [0.1, 0.2], "y": [0, 1], "day": times}
    arrow = pa.Table.from_pandas(pandas.DataFrame(plain))
    expected = ["2026-01-01", "2026-01-02"]
    for rows in (pandas.DataFrame(plain), arrow, duckdb.sql("SELECT * FROM arrow")):
        assert [row["day"] for row in assess.assess("p", rows, label="y", day="day").tables["days"]] == expected
    zoned = {**plain, "day": times.tz_localize("Europe/Berlin")}
    arrow = pa.Table.from_pandas(pandas.DataFrame(zoned))
    for rows in (pandas.DataFrame(zoned), arrow, duckdb.sql("SELECT * FROM arrow")):
        with pytest.raises((fb.InputError, fb.InputTypeError), match="depends on the zone"):
            assess.assess("p", rows, label="y", day="day")
    with pytest.raises(fb.InputTypeError, match="depends on the zone"):
        assess.assess(zoned["p"], zoned["y"], day=pandas.Series(zoned["day"]))
    later = [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)]
    with pytest.raises(fb.InputTypeError, match="depends on the zone"):
        assess.assess(zoned["p"], zoned["y"], day=later)


@pytest.mark.parametrize("day", [5, "x", None])
def test_days_are_dates_throughout(day: Any) -> None:
    with pytest.raises(fb.InputTypeError, match=rf"day\[1\] is {day!r}, and day\[0\] is a date; give dates throughout"):
        assess.assess([0.1, 0.2], [0, 1], day=[datetime.date(2026, 1, 1), day])


@pytest.mark.parametrize("name", ["by", "segment", "cluster"])
def test_times_are_days_alone(name: str) -> None:
    """Grades of the hours of one day would be one grade."""
    times = np.array(["2026-01-01T10", "2026-01-01T22"], "M8[h]")
    with pytest.raises((fb.InputError, fb.InputTypeError), match=r"integer|text"):
        assess.assess([0.1, 0.2], [0, 1], **{name: times})


def test_many_grades_are_printed() -> None:
    check = assess.check_predictions([0.2] * 1500, [0] * 1500, by=list(range(1500)))
    assert "by 1,500 new rows" in str(check)
    assert ">1499<" in check._repr_html_()


def test_both_tails_of_jeffreys_are_exact() -> None:
    beta = pytest.importorskip("scipy.stats").beta
    found = assess.assess_counts({"n": [1000], "ones": [400], "prediction": [0.6]}, side="lower").portfolio["jeffreys"]
    assert found == pytest.approx(beta.sf(0.6, 400.5, 600.5), rel=1e-9)
    assert found > 0.0


@pytest.mark.parametrize("n", [91, 171, 181, 331])
def test_deciles_are_whole_ranks_where_they_are(n: int) -> None:
    """.7 times n - 1 is rounded below a whole rank here; NumPy's quantile of 7/10 is not."""
    p = np.sort(np.random.default_rng(n).random(n))
    inner = quantiles(p, np.ones(n, np.int64), np.arange(1, 10) / 10)
    assert inner.tolist() == p[np.arange(1, 10) * (n - 1) // 10].tolist()


def test_predictions_too_small_to_be_shown_too_high_are_told() -> None:
    """400 rows of 0.001 have no label 1 with chance 0.67, so that nothing shows them to be too high."""
    p, y = [0.001] * 400 + [0.1] * 200, [0] * 400 + [1] * 24 + [0] * 176
    by = ["A"] * 400 + ["B"] * 200
    told = "even a frequency of 0 would not have shown that predictions are too high"
    assert f"In 1 of 2 grades {told}" in assess.assess(p, y, by).sentence
    assert f"E{told[1:]}" in assess.assess(p[:400], y[:400]).sentence
    assert told not in assess.assess(p, y, by, side="upper").sentence
    counts = {"mean_prediction": [0.001, 0.1], "n": [400, 200], "ones": [0, 24], "grade": ["A", "B"]}
    assert f"In 1 of 2 grades {told}" in assess.assess_counts(counts).sentence
    for n, is_told in ((3687, True), (3688, False)):  # 0.999^n passes 0.025 between them
        found = assess.assess([0.001] * n, [0] * n)
        assert (f"E{told[1:]}" in found.sentence) == is_told
        assert (found.verdict == "not contradicted") == is_told
