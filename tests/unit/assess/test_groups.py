"""Tables of groups, and the audit of a promise in groups: its verdicts, its levels, and what it certifies."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from checked import cells_of, model_of
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused

import fastbin as fb
from fastbin import assess
from fastbin.assess.label_sums import law_of_labels
from fastbin.assess.verdict import NEW_ROWS
from fastbin.intervals import clopper_pearson, sidak
from reference import assess as laws
from reference import multiclass as exact
from reference.label_sums import poisson_binomial
from strategies import examples


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 1 / 3, 0.9, 1.0]), st.integers(0, 1), st.integers(-1, 2)), min_size=1))
def test_tables_are_the_reference(rows: list[tuple[float, int, int]]) -> None:
    predictions, labels, groups = (list(column) for column in zip(*rows, strict=True))
    expected = exact.group_rows(predictions, labels, groups)
    table = assess.group_table(predictions, labels, groups)
    assert table.names == tuple(map(str, sorted(set(groups))))
    for at, name in enumerate(sorted(set(groups))):
        n, mean, rate, squares = expected[name]
        assert table.counts[at] == n
        assert Fraction(int(table.label_sums[at]), n) == rate
        assert math.isclose(table.mean_predictions[at], mean, abs_tol=1e-12)
        assert math.isclose(table.positive_rates[at], rate, abs_tol=1e-15)
        assert math.isclose(table.gaps[at], abs(rate - mean), abs_tol=1e-12)
        assert math.isclose(table.brier_scores[at], squares, abs_tol=1e-12)
        own = [group == name for group in groups]
        kept = np.array(predictions)[own], np.array(labels)[own]
        assert table.ece[at] == assess.ece(*kept)
        assert table.log_losses[at] == assess.log_loss(*kept)
    level = sidak(0.1, len(expected))
    assert table.intervals is not None
    assert np.array_equal(table.intervals, ends_by_hand(table.label_sums, table.counts, level))


def ends_by_hand(ones: np.ndarray, counts: np.ndarray, level: float) -> np.ndarray:
    """Those of Clopper and Pearson, but beside a single label 1 or 0 (docs/guarantees.md, F11)."""
    ends = clopper_pearson(ones, counts, level)
    for at, (x, n) in enumerate(zip(ones.tolist(), counts.tolist(), strict=True)):
        if x == 1:
            ends[at, 0] = min(ends[at, 0], level / 2 / n)
        if x == n - 1:
            ends[at, 1] = max(ends[at, 1], 1 - level / 2 / n)
    return ends


def test_frequencies_are_repetitions_and_importance_weights_have_no_intervals() -> None:
    rng = np.random.default_rng(1)
    predictions, labels, groups = rng.choice([0.2, 0.5], 60), rng.integers(0, 2, 60), rng.choice(["a", "b", "c"], 60)
    weights = rng.integers(0, 3, 60)
    weighted = assess.group_table(predictions, labels, groups, sample_weight=weights)
    plain = assess.group_table(*(np.repeat(column, weights) for column in (predictions, labels, groups)))
    for name in ("counts", "label_sums", "mean_predictions", "ece", "intervals", "brier_scores", "log_losses"):
        np.testing.assert_allclose(getattr(plain, name), getattr(weighted, name), rtol=1e-12)
    assert assess.group_table(predictions, labels, groups, sample_weight=weights + 0.5).intervals is None
    assert "interval" not in assess.group_table(predictions, labels, groups, alpha=None).to_dict()["groups"][0]


def test_masks_and_columns_by_name() -> None:
    predictions, labels = [0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]
    groups = {"old": np.array([True, True, False, False]), "site": ["x", "y", "x", "y"], "none": np.zeros(4, bool)}
    table = assess.group_table(predictions, labels, groups)
    assert table.names == ("old", "site=x", "site=y")
    assert table.mean_predictions.tolist() == pytest.approx([0.3, 0.4, 0.6])
    assert table.intervals is not None
    # Two groupings hold rows: half of alpha each; the two sites share theirs by Sidak.
    assert np.allclose(table.intervals[0], [0.025 / 2, 1 - 0.025 / 2], rtol=1e-12)
    assert np.array_equal(table.intervals[1:], clopper_pearson([0, 2], [2, 2], sidak(0.05, 2)))
    assert assess.group_table(predictions, labels, np.array([True, False] * 2)).names == ("False", "True")
    assert assess.group_table(predictions, labels, {"flag": [0, 1, 0, 1]}).names == ("flag=0", "flag=1")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "predictions has 3, groups has 2"),
        ([1.0, 2.0, 3.0], r"groups\[0\] is 1.0"),
        (["a", None, "b"], r"groups\[1\] is missing"),
        ({"a": [1, 2]}, r"predictions has 3, groups\['a'\] has 2"),
        ({}, "groups is an empty mapping"),
        ({"a": np.zeros(3, bool)}, "groups holds no row"),
    ],
)
def test_groups_that_cannot_be_told_apart_are_refused(groups: Any, message: str) -> None:
    refused((fb.InputError, fb.InputTypeError), message, assess.group_table, [0.1, 0.2, 0.3], [0, 1, 0], groups)


# ------------------------------------------------------------------------------------------------- the audit


def test_verdicts_of_groups() -> None:
    model = model_of([0.2, 0.5, 0.8])
    audit = assess.audit_groups(model, *cells_of({"a": [0.2, 0.5, 0.8], "b": [0.2, 0.7, 0.8]}, 20000))
    assert (audit.verdict, audit["a"].verdict, audit["b"].verdict) == ("contradicted", "confirmed", "contradicted")
    assert audit["b"].verdicts == ("confirmed", "contradicted", "confirmed")
    assert str(audit).startswith("Contradicted in 1 of 2 groups: b (bin 1) (p below 0.0001, level 0.05). The 120,000 test")
    kept = assess.audit_groups(model, *cells_of({"a": [0.2, 0.5, 0.8], "b": [0.21, 0.5, 0.79]}, 20000))
    assert kept.verdict == "confirmed"
    assert str(kept).startswith("Confirmed in all 2 groups")
    few = assess.audit_groups(model, *cells_of({"a": [0.2, 0.5, 0.8], "b": [0.2, 0.5, 0.8]}, 50))
    assert few.verdict == "not contradicted"
    assert "Not contradicted in any of 2 groups" in str(few)
    alone = str(assess.audit_groups(model, [0.5], [1], {"g": ["a"]}))
    assert "Not contradicted in any of 1 group (p" in alone
    assert "The 1 test sample itself certifies a distance" in alone
    assert json.loads(json.dumps(few.to_dict()))["groups"][1]["bins"][2]["count"] == 50


def test_p_values_and_intervals_by_hand() -> None:
    stats = pytest.importorskip("scipy.stats")
    model = model_of([0.3, 0.6])
    scores, labels, groups = cells_of({"a": [0.5, 0.6], "b": [0.3, 0.6]}, 40)
    scores, labels, groups = scores[:-40], labels[:-40], groups[:-40]  # three cells hold rows
    audit = assess.audit_groups(model, scores, labels, groups, epsilon=0.1)
    assert audit["b"].bins.tolist() == [0]
    upper = float(audit["a"].claims[0, 1])
    p_value = 2 * stats.binom.sf(19, 40, upper)
    assert math.isclose(audit["a"].p_values[0], p_value)
    assert math.isclose(audit.p_value, 1.0 - (1.0 - p_value) ** 3)
    expected = clopper_pearson([20, 24], [40, 40], sidak(0.05, 3))
    assert np.array_equal(audit["a"].intervals, expected)
    assert math.isclose(audit["a"].epsilon, max(expected[0, 1] - 0.3, 0.6 - expected[1, 0], expected[1, 1] - 0.6))
    # As two overlapping groupings of half the level each.
    masks = {"a": groups == "a", "b": groups == "b"}
    halved = assess.audit_groups(model, scores, labels, masks, epsilon=0.1)
    assert math.isclose(halved.p_value, 2.0 * (1.0 - (1.0 - p_value) ** 2))
    assert np.array_equal(halved["b"].intervals, clopper_pearson([12], [40], 0.025))


def test_one_group_is_the_check_of_the_whole() -> None:
    model = model_of([0.2, 0.5, 0.8])
    for rates in ([0.2, 0.5, 0.8], [0.2, 0.6, 0.8]):
        scores, labels, groups = cells_of({"all": rates}, 2000)
        check = assess.check_certificate(model, scores, labels)
        audit = assess.audit_groups(model, scores, labels, groups)
        assert audit.verdict == check.verdict
        assert np.array_equal(audit["all"].claims, check.claims)
        assert np.array_equal(audit["all"].p_values, check.p_values)
        assert audit["all"].verdicts == check.verdicts


def test_a_small_level_is_not_rounded_to_certainty() -> None:
    model = fb.UniformMassBinning(2).fit(np.arange(200) / 200, np.arange(200) % 2).model_
    audit = assess.audit_groups(model, np.arange(100) / 100, np.arange(100) % 2, ["a"] * 100, test_level=1e-8)
    assert "with probability at least 1 - 1e-08." in str(audit)
    words, _ = assess.assess([0.5] * 100, np.arange(100) % 2, test_level=1e-8).words_of(None)
    assert "interval, % (1 - 1e-08 each)" in words


def test_overlapping_groups_and_rows_in_none() -> None:
    model, (scores, labels, _) = model_of([0.2, 0.8]), cells_of({"a": [0.2, 0.8]}, 500)
    low = scores < 0.5
    some = np.arange(1000) % 2 == 0
    audit = assess.audit_groups(model, scores, labels, {"low": low, "some": some})
    assert audit.n_samples == int((low | some).sum())
    assert [group.n_samples for group in audit.groups] == [500, 500]
    assert audit["low"].bins.tolist() == [0]


def test_bins_without_a_claim() -> None:
    model = fb.BinnedModel.from_parts(
        edges=[0.5], values=[0.2, 0.5], counts=[1000, 0], label_sums=[200, 0], scheme="fixed-width"
    )
    scores, labels, groups = cells_of({"a": [0.2, 0.9]}, 4000)
    audit = assess.audit_groups(model, scores, labels, groups)
    assert audit["a"].verdicts == ("confirmed", "no claim")
    assert audit["a"].epsilon > 0.4  # of what was seen there, the samples tell all the same
    alone = assess.audit_groups(model, scores[4000:], labels[4000:], groups[4000:])
    assert (alone.verdict, alone.p_value) == ("no claim", 1.0)
    assert str(alone).startswith("No claim")


def test_two_resolutions_are_audited_on_average() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(20000)
    labels = rng.random(20000) < scores**2
    model = fb.CertifiedCalibration(n_bins=5).fit(scores[:5000], labels[:5000]).model_
    groups = np.where(rng.random(20000) < 0.5, "x", "y")[5000:]
    audit = assess.audit_groups(model, scores[5000:], labels[5000:], groups, epsilon=0.15)
    assert audit.verdict == "confirmed"
    assert (np.abs(audit["x"].intervals) <= audit["x"].radii.max()).all()
    served = model.predict(scores[5000:])[groups == "x"]
    assert math.isclose(np.dot(audit["x"].mean_served, audit["x"].counts), served.sum())
    moved = assess.audit_groups(model, scores[5000:], labels[5000:] ^ (groups == "y"), groups, epsilon=0.15)
    assert (moved["x"].verdict, moved["y"].verdict) == ("confirmed", "contradicted")


def test_what_cannot_be_audited_is_refused() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(2000)
    labels, groups = rng.random(2000) < scores, rng.integers(0, 2, 2000)
    model = fb.UniformMassBinning(n_bins=5).fit(scores, labels).model_
    refused(fb.GuaranteeError, "are the calibration set", assess.audit_groups, model, scores, labels, groups)
    refused(fb.InputError, "scores has 2000, groups has 1999", assess.audit_groups, model, scores, labels, groups[1:])
    with pytest.raises(fb.InputError, match="cells is given, and model is one model"):
        assess.audit_groups(model, scores, labels, groups, cells=groups)
    refused(fb.GuaranteeError, "real weights", assess.audit_groups, model, scores, labels, groups, sample_weight=np.ones(2000))
    with pytest.raises(fb.InputError, match="sample_weight is 0 for every row; a check needs test samples"):
        assess.audit_groups(model, scores[::-1], labels, groups, sample_weight=np.zeros(2000, int))
    other = fb.UniformMassBinning(n_bins=2).fit(scores[:500], labels[:500]).model_
    pooled = fb.ModelSet({"north": model}, pool=other, unknown="pool")
    with pytest.raises(fb.InputError, match="groups holds no row of a cell that the set knows"):
        assess.audit_groups(pooled, scores[::-1], labels, groups, cells=["elsewhere"] * 2000)


# ------------------------------------------------------------------------------------------------- given predictions


def test_twelve_of_four_hundred_at_two_percent() -> None:
    stats = pytest.importorskip("scipy.stats")
    check = assess.check_predictions([0.02] * 400, [1] * 12 + [0] * 388, side="upper")
    assert round(float(check.jeffreys[0]), 5) == 0.08307
    assert np.isclose(check.p_values[0], stats.binomtest(12, 400, 0.02, alternative="greater").pvalue, rtol=1e-12)
    lower = assess.check_predictions([0.02] * 400, [1] * 12 + [0] * 388, side="lower")
    assert np.isclose(lower.p_values[0], stats.binomtest(12, 400, 0.02, alternative="less").pvalue, rtol=1e-12)
    both = assess.check_predictions([0.02] * 400, [1] * 12 + [0] * 388)
    assert both.p_values[0] == 2 * check.p_values[0]
    assert np.isclose(both.jeffreys[0], 2 * 0.0830668, atol=1e-6)
    assert (check.names, check.counts.tolist(), check.label_sums.tolist()) == (("all",), [400], [12])
    assert (check.rates[0], check.verdict) == (0.03, "not contradicted")


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_p_values_are_those_of_the_reference(drawn: Any) -> None:
    values = st.sampled_from([0.0, 1e-9, 0.01, 0.02, 0.3, 0.5, 0.9, 1.0])
    grades = drawn.draw(st.dictionaries(st.sampled_from("abcd"), st.lists(values, min_size=1, max_size=12), min_size=1))
    p = [value for own in grades.values() for value in own]
    by = [name for name, own in grades.items() for _ in own]
    y = drawn.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p)))
    side = drawn.draw(st.sampled_from(["both", "upper", "lower"]))
    check = assess.check_predictions(p, y, by, side)
    expected = laws.check_of_grades(p, y, by, side)
    assert list(check.names) == [*sorted(grades), "all"]
    for at, name in enumerate(check.names):
        p_value, adjusted = expected[name]
        assert check.p_values[at] == pytest.approx(float(p_value), rel=1e-9, abs=1e-13)
        assert check.adjusted[at] == pytest.approx(float(adjusted), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000])
def test_the_law_of_a_sum(n: int) -> None:
    frequencies = np.sort(np.random.default_rng(n).beta(0.2, 0.8, n))
    first, law = law_of_labels(frequencies, np.ones(n, np.int64))
    expected = laws.law_of_sum(frequencies.tolist())
    at = np.arange(len(law)) + first
    inside = (at >= 0) & (at <= n)
    np.testing.assert_allclose(law[inside], np.array(expected, dtype=float)[at[inside]], atol=1e-13)
    assert law[~inside].sum() < 1e-13
    assert law.sum() == pytest.approx(1.0, abs=1e-11)
    start, twin = poisson_binomial(frequencies)  # which other tests take for more labels
    np.testing.assert_allclose(twin[: n + 1 - start], np.array(expected, dtype=float)[start : start + len(twin)], atol=1e-13)


def test_the_level_is_kept() -> None:
    """10,000 sets of calibrated labels in three small grades, one of equal and two of different predictions."""
    rng, runs, alpha = np.random.default_rng(0), 10_000, 0.1
    parts = [np.full(30, 0.1), rng.random(25), rng.random(40) ** 3]
    sums = np.stack([(rng.random((runs, len(own))) < own).sum(axis=1) for own in parts], axis=1)
    p, by = np.concatenate(parts), np.repeat([0, 1, 2], [len(own) for own in parts])
    # The label sums of the grades are all that the tests see: each set of them is tested once.
    by_side = {}
    for side in ("both", "upper", "lower"):
        p_of = []
        for own, column in zip(parts, sums.T, strict=True):
            table = {}
            for x in np.unique(column).tolist():
                check = assess.check_predictions(own, np.arange(len(own)) < x, side=side)
                table[x] = check.p_values[0]
            p_of.append(np.array([table[x] for x in column.tolist()]))
        for p_values in p_of:
            assert np.mean(p_values <= alpha) <= alpha + 3 * np.sqrt(alpha * 0.9 / runs)
        by_side[side] = np.mean(3.0 * np.min(p_of, axis=0) <= alpha)
        assert by_side[side] <= alpha + 3 * np.sqrt(alpha * 0.9 / runs)
    assert max(by_side.values()) > 0.02
    one = [np.arange(len(own)) < x for own, x in zip(parts, sums[0].tolist(), strict=True)]
    joint = assess.check_predictions(p, np.concatenate(one), by, test_level=alpha)
    assert (joint.verdict == "not contradicted") == bool(joint.adjusted[:-1].min() > alpha)


def test_verdicts_in_words() -> None:
    grades = np.repeat(["A", "B", "C"], 500)
    p = np.repeat([0.02, 0.1, 0.3], 500)
    y = np.concatenate([np.arange(500) < ones for ones in (10, 90, 150)])
    check = assess.check_predictions(p, y, grades)
    assert check.verdicts[:3] == ("not contradicted", "too low", "not contradicted")
    assert check.verdict == "too low"
    assert "predictions are too low in B" in str(check)
    assert NEW_ROWS.rstrip(".") in str(check)
    assert NEW_ROWS in check._repr_html_()
    content = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert [row["grade"] for row in content["grades"]] == ["A", "B", "C", "all"]
    assert content["requires"] == NEW_ROWS
    assert check.to_pandas().columns.tolist() == [
        "grade", "verdict", "n", "ones", "mean_prediction", "rate", "p_value", "jeffreys", "holm",
    ]  # fmt: skip
    mixed = assess.check_predictions(p, np.concatenate([np.arange(500) < ones for ones in (10, 90, 80)]), grades)
    assert mixed.verdict == "contradicted"
    assert "too low in B and too high in C" in str(mixed)
    assert assess.check_predictions(p, np.roll(y, 1), grades, "lower").verdict == "not contradicted"
    fine = assess.check_predictions(p, np.concatenate([np.arange(500) < ones for ones in (10, 50, 150)]), grades)
    assert str(fine).startswith("Calibration is not contradicted by 1,500 new rows (smallest adjusted p = ")


def test_frequencies_positive_and_series() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    p, by, times = rng.choice([0.1, 0.2, 0.25], 200), rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    y = rng.random(200) < p
    weighted = assess.check_predictions(p, y, by, sample_weight=times)
    repeated = assess.check_predictions(np.repeat(p, times), np.repeat(y, times), np.repeat(by, times))
    assert weighted.counts.tolist() == repeated.counts.tolist()
    np.testing.assert_allclose(weighted.p_values, repeated.p_values, rtol=1e-9)
    words = assess.check_predictions(p, np.where(y, "default", "paid"), by, positive="default")
    np.testing.assert_array_equal(words.p_values, assess.check_predictions(p, y, by).p_values)
    frame = pandas.DataFrame({"p": p, "y": y, "by": by}, index=np.arange(200)[::-1] + 7)
    of_frame = assess.check_predictions(frame.p, frame.y, frame.by)
    np.testing.assert_array_equal(of_frame.p_values, words.p_values)
    refused(fb.InputError, "index", assess.check_predictions, frame.p, frame.y, frame.by.sort_index())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"p": [0.1, 1.5], "y": [0, 1]}, r"p\[1\] is 1.5"),
        ({"p": [0.1, float("nan")], "y": [0, 1]}, r"p\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 2]}, r"^y\[1\] is 2"),
        ({"p": [0.1, 0.2], "y": ["a", "b"], "positive": "c"}, "none of the labels in y: they are 'a' and 'b'"),
        ({"p": [0.1, 0.2], "y": [0]}, "p has 2, y has 1"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a", None]}, r"by\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a", "all"]}, r"by\[1\] is 'all', as the row of all samples is called; give"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a"]}, "by"),
        ({"p": [0.1, 0.2], "y": [0, 1], "side": "two-sided"}, "side is 'two-sided'"),
        ({"p": [0.1, 0.2], "y": [0, 1], "test_level": 0.9}, "test_level"),
        ({"p": [], "y": []}, "no sample"),
    ],
)
def test_bad_input_is_named(call: dict[str, Any], message: str) -> None:
    refused((fb.InputError, fb.InputTypeError), message, assess.check_predictions, **call)
    refused(fb.GuaranteeError, "real weights", assess.check_predictions, [0.1], [0], sample_weight=[0.5])
