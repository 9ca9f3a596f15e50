"""The bins of calibration errors, the same for all that are compared, and what a calibrated predictor would show in them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess
from fastbin.assess.samples import LARGEST_EXACT, law_of_sum
from fastbin.report import assess_model
from reference import assess as exact


def certified(n: int = 10_000) -> tuple[fb.BinnedModel, np.ndarray, np.ndarray]:
    """A model fitted to `n` uniform scores that are the truth, and as many test samples."""
    rng = np.random.default_rng(0)
    scores = rng.random(2 * n)
    labels = rng.random(2 * n) < scores
    return fb.CertifiedCalibration().fit(scores[:n], labels[:n]).model_, scores[n:], labels[n:]


# ------------------------------------------------------------------------------------------------- the one rule


@pytest.mark.parametrize(
    ("n_values", "rows", "grouping"), [(100, 50, "values"), (100, 49, "uniform-mass"), (101, 50, "uniform-mass")]
)
def test_values_are_bins_where_they_are_few_with_many_rows(n_values: int, rows: int, grouping: str) -> None:
    predictions = np.repeat((np.arange(n_values) + 0.5) / n_values, rows)
    labels = np.arange(len(predictions)) % 2
    table = assess.reliability_table(predictions, labels)
    assert table.grouping == grouping
    assert len(table.counts) == (n_values if grouping == "values" else 15)
    frequencies = np.full(n_values, rows)
    by_frequency = assess.reliability_table(predictions[::rows], labels[::rows], sample_weight=frequencies)
    assert by_frequency.counts.tolist() == table.counts.tolist()


def test_one_rule_for_all_errors() -> None:
    rng = np.random.default_rng(1)
    predictions = rng.integers(1, 1000, 10_000) / 1000
    labels = rng.random(10_000) < predictions
    error = assess.ece(predictions, labels, grouping="uniform-mass", n_bins=15)
    assert assess.ece(predictions, labels) == error
    assert assess.reliability_table(predictions, labels).ece() == error
    assert assess.top_label_ece(predictions, np.full(10_000, 3), np.where(labels, 3, 4)) == pytest.approx(error, abs=1e-15)
    columns = np.column_stack([predictions, 1.0 - predictions])
    both = (error + assess.ece(1.0 - predictions, ~labels)) / 2.0
    assert assess.class_wise_ece(columns, np.where(labels, 0, 1)) == pytest.approx(both, abs=1e-15)


def test_a_hundred_rows_more_change_little() -> None:
    """On these data single values would be bins from 10 rows a value on: .011 at 9,900 rows and .097 at 10,000."""
    model, scores, labels = certified()
    served = model.predict(scores)
    assert len(np.unique(served)) > 900
    assert abs(assess.ece(served, labels) - assess.ece(served[:9900], labels[:9900])) < 0.003
    whole, part = (assess_model(model, scores[:n], labels[:n]) for n in (10_000, 9900))
    for name in ("ece", "max_gap", "gap_90"):
        assert abs(getattr(whole.after, name) - getattr(part.after, name)) < 0.01, name
    assert abs(whole.after.ece - part.after.ece) < 0.003
    assert abs(whole.after.brier.calibration - part.after.brier.calibration) < 0.0003


@pytest.mark.parametrize("n", [9900, 10_000])
def test_all_columns_of_a_comparison_have_the_same_bins(n: int) -> None:
    model, scores, labels = certified()
    other = np.sqrt(scores)
    found = assess_model(model, scores[:n], labels[:n], others={"root": other[:n]})
    assert found.before is not None
    tables = [card.table for card in found.scorecards]
    served = model.predict(scores[:n])
    edges = found.after.table.lower[1:]
    bins = np.searchsorted(edges, served, side="right")
    for table, predictions in zip(tables, (scores[:n], served, other[:n]), strict=True):
        assert table.counts.tolist() == np.bincount(bins).tolist()
        assert table.label_sums.tolist() == np.bincount(bins, labels[:n]).astype(int).tolist()
        np.testing.assert_allclose(table.mean_predictions, np.bincount(bins, predictions) / np.bincount(bins), rtol=1e-12)
    assert [table.grouping for table in tables] == ["shared", "uniform-mass", "shared"]
    assert tables[0].lower[0] == scores[:n][bins == 0].min()
    assert tables[0].upper[-1] == scores[:n][bins == 14].max()


def test_cells_of_a_set_have_the_same_bins_before_and_after() -> None:
    rng = np.random.default_rng(3)
    scores, cells = rng.random(8000), np.repeat(["a", "b"], 4000)
    labels = rng.random(8000) < scores
    models = fb.multi.SegmentedBinning(fb.CertifiedCalibration(5)).fit(scores[::2], labels[::2], cells[::2]).model_
    found = assess_model(models, scores[1::2], labels[1::2], cells=cells[1::2])
    for cell in found.cells:
        assert cell.before is not None
        assert cell.after is not None
        assert cell.before.counts.tolist() == cell.after.counts.tolist()
        assert cell.chance_level is not None
        assert cell.to_dict()["ece_by_chance"] == cell.chance_level.ece


# ------------------------------------------------------------------------------------------------- the chance level


def test_the_law_of_a_sum_is_the_exact_one() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        counts, frequencies = rng.integers(1, 6, 5), rng.choice([0.0, 1e-6, 0.1, 0.5, 0.77, 1.0], 5)
        expected = exact.law_of_sum([Fraction(p) for p, n in zip(frequencies.tolist(), counts, strict=True) for _ in range(n)])
        chances, deviations = law_of_sum(counts.astype(float), frequencies)
        values = np.rint(deviations + np.dot(counts, frequencies)).astype(int)
        found = {x: chance for x, chance in zip(values.tolist(), chances.tolist(), strict=True) if chance > 1e-13}
        for x, chance in enumerate(expected):
            assert found.get(x, 0.0) == pytest.approx(float(chance), abs=1e-13)
        assert all(0 <= x < len(expected) for x in found)


def exact_level(bins: list[list[float]]) -> tuple[float, float, float, float]:
    """The chance level by all outcomes."""
    outcomes = exact.errors_by_chance([[Fraction(p) for p in own] for own in bins])

    def mean_and_point(at: int) -> tuple[float, float]:
        mean, reached = sum(row[at] * row[2] for row in outcomes), Fraction(0)
        for row in sorted(outcomes, key=lambda row: row[at]):
            reached += row[2]
            if reached >= Fraction(95, 100):
                return float(mean), float(row[at])
        raise AssertionError

    return (*mean_and_point(0), *mean_and_point(1))


def test_few_rows_have_the_exact_level() -> None:
    bins = [[0.01, 0.02, 0.02, 0.04], [0.3, 0.4, 0.4, 0.7], [0.9, 0.9, 0.95]]
    predictions = np.concatenate(bins)
    table = assess.reliability_table(predictions, np.arange(11) % 2, n_bins=3)
    assert table.counts.tolist() == [4, 4, 3]
    ece, _, gap, _ = exact_level(bins)
    level = table.chance_level
    assert level is not None
    assert level.ece == pytest.approx(ece, rel=1e-5)
    assert level.max_gap == pytest.approx(gap, rel=0.02)  # by 10,000 draws


def test_frequencies_are_repetitions_and_the_level_is_the_same_each_time() -> None:
    rng = np.random.default_rng(4)
    predictions, labels, frequencies = rng.random(300) ** 3, rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    weighted = assess.reliability_table(predictions, labels, sample_weight=frequencies)
    repeated = assess.reliability_table(np.repeat(predictions, frequencies), np.repeat(labels, frequencies))
    assert weighted.chance_level is not None
    assert repeated.chance_level is not None
    np.testing.assert_allclose(weighted.chance_level, repeated.chance_level, rtol=1e-9)
    again = assess.reliability_table(np.repeat(predictions, frequencies), np.repeat(labels, frequencies))
    assert again.chance_level == repeated.chance_level


def test_importance_weights_enter_the_variance() -> None:
    rng = np.random.default_rng(5)
    predictions, weights = rng.random(4000), rng.choice([0.5, 4.0], 4000)
    labels = rng.random(4000) < predictions
    level = assess.reliability_table(predictions, labels, sample_weight=weights).chance_level
    assert level is not None
    drawn = [assess.ece(predictions, rng.random(4000) < predictions, sample_weight=weights) for _ in range(400)]
    assert level.ece == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20)


def test_tables_of_very_many_bins_have_none() -> None:
    predictions = np.arange(1001) / 1001
    table = assess.reliability_table(predictions, predictions > 0.5, grouping="values")
    assert table.chance_level is None
    assert "by chance" not in str(table)
    assert table.to_dict()["chance_level"] is None


def test_the_level_stands_beside_every_error() -> None:
    model, scores, labels = certified(3000)
    found = assess_model(model, scores, labels)
    level = found.after.chance_level
    assert level is not None
    assert 0.01 < level.ece < found.after.chance_level.ece_95 < 0.05  # type: ignore[union-attr]
    told: dict[str, Any] = found.to_dict()["scorecards"][1]
    assert (told["ece_by_chance"], told["ece_by_chance_95"]) == (level.ece, level.ece_95)
    assert (told["max_gap_by_chance"], told["max_gap_by_chance_95"]) == (level.max_gap, level.max_gap_95)
    assert told["ece_by_bin_by_chance"] == found.after.chance_by_bin.ece  # type: ignore[union-attr]
    numbers = found.after.numbers()
    beside = [name for name in numbers if "by chance" in name]
    assert [name.split("by chance")[0] for name in beside] == ["- by evidence bin, ", "- ", "- largest gap, "]
    assert f"{level.ece:.4f} ({level.ece_95:.4f})" in numbers.values()
    assert "a perfectly calibrated predictor would show" in found.in_short[-1]
    assert "a perfectly calibrated predictor would show" in str(found.after.table)


def test_the_normal_law_is_near_where_it_takes_over() -> None:
    counts = np.array([LARGEST_EXACT / 0.09, LARGEST_EXACT / 0.25 / 2]).astype(int).astype(float)
    for n, p in zip(counts, (0.1, 0.5), strict=True):
        chances, deviations = law_of_sum(np.array([n]), np.array([p]))
        normal = np.sqrt(2.0 * n * p * (1.0 - p) / np.pi)
        assert np.dot(chances, np.abs(deviations)) == pytest.approx(normal, rel=0.003)
