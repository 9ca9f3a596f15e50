"""Given predictions, grade by grade: exact p-values against fractions, the published Jeffreys example, and the level."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
from fastbin import assess
from fastbin.assess.predictions_check import poisson_binomial
from fastbin.assess.verdict import NEW_ROWS
from reference import assess as exact


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


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_p_values_are_those_of_the_reference(drawn: Any) -> None:
    values = st.sampled_from([0.0, 1e-9, 0.01, 0.02, 0.3, 0.5, 0.9, 1.0])
    grades = drawn.draw(st.dictionaries(st.sampled_from("abcd"), st.lists(values, min_size=1, max_size=12), min_size=1))
    p = [value for own in grades.values() for value in own]
    by = [name for name, own in grades.items() for _ in own]
    y = drawn.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p)))
    side = drawn.draw(st.sampled_from(["both", "upper", "lower"]))
    check = assess.check_predictions(p, y, by, side)
    expected = exact.check_of_grades(p, y, by, side)
    assert list(check.names) == [*sorted(grades), "all"]
    for at, name in enumerate(check.names):
        p_value, adjusted = expected[name]
        assert check.p_values[at] == pytest.approx(float(p_value), rel=1e-9, abs=1e-13)
        assert check.adjusted[at] == pytest.approx(float(adjusted), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000])
def test_the_law_of_a_sum(n: int) -> None:
    frequencies = np.sort(np.random.default_rng(n).beta(0.2, 0.8, n))
    first, law = poisson_binomial(frequencies)
    expected = exact.law_of_sum(frequencies.tolist())
    at = np.arange(len(law)) + first
    inside = at <= n
    np.testing.assert_allclose(law[inside], np.array(expected, dtype=float)[at[inside]], atol=1e-13)
    assert law[~inside].sum() < 1e-13
    assert law.sum() == pytest.approx(1.0, abs=1e-11)


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
    joint = assess.check_predictions(p, np.concatenate(one), by, alpha=alpha)
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
    assert str(fine).startswith("Calibration is not contradicted by 1,500 new rows (smallest p = ")


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
    with pytest.raises(fb.InputError, match="index"):
        assess.check_predictions(frame.p, frame.y, frame.by.sort_index())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"p": [0.1, 1.5], "y": [0, 1]}, r"p\[1\] is 1.5"),
        ({"p": [0.1, float("nan")], "y": [0, 1]}, r"p\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 2]}, r"labels\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a", None]}, r"by\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a"]}, "by"),
        ({"p": [0.1, 0.2], "y": [0, 1], "side": "two-sided"}, "side is 'two-sided'"),
        ({"p": [0.1, 0.2], "y": [0, 1], "alpha": 0.9}, "alpha"),
        ({"p": [], "y": []}, "no sample"),
    ],
)
def test_bad_input_is_named(call: dict[str, Any], message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=message):
        assess.check_predictions(**call)
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        assess.check_predictions([0.1], [0], sample_weight=[0.5])
