"""Rows in clusters: one of each, how much they agree, and intervals that allow for clusters."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
from wordings import refuses

import fastbin as fb
from fastbin.assess import check_predictions, cluster_intervals, one_per_cluster
from fastbin.assess.clusters import Agreement, agreement_of
from fastbin.intervals.weighted import ends_of_mean
from reference import clusters as reference


def rows(n_clusters: int = 300, size: int = 4, strength: float = 2.0) -> tuple[Any, Any, Any]:
    """Labels at a rate of 0.2, whose clusters have rates by a beta law."""
    rng = np.random.default_rng(3)
    rates = rng.beta(0.2 * strength, 0.8 * strength, n_clusters)
    return (
        np.full(n_clusters * size, 0.2),
        rng.random(n_clusters * size) < np.repeat(rates, size),
        np.repeat(np.arange(n_clusters), size),
    )


# ------------------------------------------------------------------------------------------------- one row of each


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_the_rows_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(0)
    names = rng.choice(["ann", "bob", "cyd", "dan"], 40).tolist()
    expected = reference.one_per_cluster(names, seed)
    assert one_per_cluster(names, seed).tolist() == expected
    numbers = [{"ann": -7, "bob": 0, "cyd": 2**40, "dan": 3}[name] for name in names]
    assert one_per_cluster(np.array(numbers), seed).tolist() == expected


def test_each_row_is_chosen_as_often_as_the_others_of_its_cluster() -> None:
    names = ["a", "b", "a", "a", "b", "c"]
    chosen = np.bincount(np.concatenate([one_per_cluster(names, seed) for seed in range(6000)]), minlength=6)
    assert chosen[[0, 2, 3]] == pytest.approx(2000, abs=5 * math.sqrt(6000 * 2 / 9))
    assert chosen[[1, 4]] == pytest.approx(3000, abs=5 * math.sqrt(6000 / 4))
    assert chosen[5] == 6000


def test_wrong_clusters_are_refused() -> None:
    p, y, cluster = rows(5)
    refuses("InputError cluster[1]", one_per_cluster, ["a", None])
    refuses("InputError cluster", one_per_cluster, np.empty(0, np.int64))
    refuses("InputError cluster", cluster_intervals, p, y, np.zeros(len(p), np.int64))
    refuses("InputError", cluster_intervals, p, y, cluster[:-1])
    refuses("InputError cluster[3]", check_predictions, p, y, cluster=[*cluster[:3].tolist(), 0.5, *cluster[4:].tolist()])
    refuses("InputError sample_weight", check_predictions, p, y, cluster=cluster, sample_weight=np.ones(len(p), np.int64))
    refuses("InputError side", cluster_intervals, p, y, cluster, side="left")
    refuses("InputError p[0]", cluster_intervals, [1.5, *p[1:]], y, cluster)


# ------------------------------------------------------------------------------------------------- how much rows agree


@pytest.mark.parametrize("seed", range(4))
def test_the_design_effect_is_that_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, values = rng.integers(0, 6, 30).tolist(), rng.integers(0, 2, 30).tolist()
    expected = reference.design_effect([Fraction(value) for value in values], names)
    assert agreement_of(np.array(values, np.float64), names).design_effect == pytest.approx(float(expected), rel=1e-12)


def test_clusters_of_equal_labels_have_their_size_as_design_effect() -> None:
    labels = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0], 8)
    found = Agreement.of(labels, np.repeat(np.arange(5), 8))
    assert (found.correlation, found.design_effect, found.p_value) == (pytest.approx(1.0), pytest.approx(8.0), 0.0)
    assert "about as much as 5 independent rows" in str(found)
    alone = str(Agreement.of(np.ones(1), np.zeros(1, int)))
    assert alone.startswith("1 row of 1 cluster, whose")
    assert alone.endswith("about as much as 1 independent row")
    assert Agreement.of(np.array([0.0, 1.0]), np.array([0, 1])) == (2, 2, 0.0, 1.0, 1.0, None)
    assert Agreement.of(np.zeros(4), np.array([0, 0, 1, 1])) == (4, 2, 0.0, 1.0, 1.0, None)


def test_a_known_correlation() -> None:
    """Beta rates of sum s have the correlation 1 / (s + 1)."""
    p, y, cluster = rows(20_000, 5, strength=3.0)
    found = agreement_of(y - p, cluster)
    assert found.correlation == pytest.approx(0.25, abs=0.01)
    assert found.design_effect == pytest.approx(2.0, abs=0.05)
    found._replace(design_effect=1.01).warn(1)  # rows that agree a little need no warning, however sure that is
    with pytest.warns(fb.FastbinWarning, match="rows of a cluster agree"):
        found.warn(1)


# ------------------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("tail", [0.05, 0.001, 0.5])
def test_ends_of_means_are_those_of_the_reference(tail: float) -> None:
    values = [0.0, 0.25, 0.25, 0.5, 1.0, 0.0, 0.75, 0.3]
    low = reference.lower_end_of_mean(values, tail)
    high = 1.0 - reference.lower_end_of_mean([1.0 - value for value in values], tail)
    np.testing.assert_allclose(
        ends_of_mean(np.array(values), min(0.5, 2 * tail)), [low, high], atol=1e-12
    ) if tail < 0.5 else None
    np.testing.assert_allclose(ends_of_mean(np.array(values), tail, "upper"), [0.0, high], atol=1e-12)
    np.testing.assert_allclose(ends_of_mean(np.array(values), tail, "lower"), [low, 1.0], atol=1e-12)


def test_ends_of_means_at_the_ends_of_the_scale() -> None:
    assert ends_of_mean(np.empty(0), 0.1).tolist() == [0.0, 1.0]
    assert ends_of_mean(np.zeros(50), 0.1)[0] == 0.0
    assert ends_of_mean(np.ones(50), 0.1)[1] == 1.0
    assert ends_of_mean(np.zeros(50), 0.1)[1] < 0.11
    np.testing.assert_allclose(ends_of_mean(np.full(4000, 0.3), 0.1), 0.3, atol=0.01)


def test_labels_have_the_interval_of_betting() -> None:
    labels = (np.arange(60) % 3 == 0).astype(np.float64)
    expected = fb.intervals.betting(np.ones(60), labels, 0.1, 1.0)[0]
    np.testing.assert_allclose(ends_of_mean(labels, 0.1), expected, atol=1e-12)


def test_the_row_of_a_cluster_is_drawn_afresh() -> None:
    """Two rows each in the order of time, of which the last has label 1: so has a random row half the time."""
    customer, missed = np.repeat(np.arange(100), 2), 0
    labels = np.arange(200) % 2
    for _ in range(100):
        rows_taken = fb.assess.one_per_cluster(customer)
        model = fb.UniformMassBinning(1).fit(np.full(100, 0.5), labels[rows_taken]).model_
        missed += abs(model.values[0] - 0.5) > model.certificate(0.1).epsilon
    assert missed <= 25  # 10 on average at most: more with a chance of 1e-5


@pytest.mark.parametrize("side", ["both", "upper", "lower"])
@pytest.mark.parametrize("n", [20, 50])
def test_clusters_of_one_row_are_missed_at_most_as_often_as_alpha_says(n: int, side: str) -> None:
    """Exactly, by the binomial probabilities of all counts, at the seed that everybody leaves as it is."""
    found = [cluster_intervals(np.full(n, 0.5), np.arange(n) < k, np.arange(n), side=side).intervals[-1] for k in range(n + 1)]
    low, high = np.array(found).T
    rates = np.linspace(0.01, 0.99, 99)[:, None]
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, rates)
    assert np.where((low > rates) | (high < rates), chances, 0.0).sum(axis=1).max() <= 0.1


def test_intervals_of_grades() -> None:
    p, y, cluster = rows()
    grade = np.where(np.arange(len(p)) % 4 < 2, "A", "B")
    found = cluster_intervals(p, y, cluster, grade, alpha=0.05)
    assert found.names == ("A", "B", "all")
    assert found.counts.tolist() == [600, 600, 1200]
    assert found.n_clusters.tolist() == [300, 300, 300]
    for at, own in enumerate((grade == "A", grade == "B", grade != "")):
        means = np.array([y[own & (cluster == each)].mean() for each in range(300)])
        assert found.rates[at] == pytest.approx(means.mean())
        np.testing.assert_allclose(found.intervals[at], ends_of_mean(means, 0.05), atol=1e-9)
        np.testing.assert_allclose(found.gap_intervals[at], 2.0 * ends_of_mean((means + 0.8) / 2.0, 0.05) - 1.0, atol=1e-9)
        assert found.row_rates[at] == pytest.approx(y[own].mean())
        assert found.design_effects[at] == pytest.approx(agreement_of((y - p)[own], cluster[own]).design_effect)
    # The normal law with the variance of clusters.
    deviation = np.array([y[cluster == each].mean() for each in range(300)]).std() / math.sqrt(300)
    np.testing.assert_allclose(found.bootstrap[2], found.row_rates[2] + np.array([-1.96, 1.96]) * deviation, atol=0.004)
    np.testing.assert_allclose(found.gap_bootstrap, found.bootstrap - 0.2, atol=1e-12)


def test_one_side_has_all_of_alpha() -> None:
    p, y, cluster = rows()
    both, upper, lower = (
        cluster_intervals(p, y, cluster, alpha=a, side=s) for a, s in ((0.1, "both"), (0.05, "upper"), (0.05, "lower"))
    )
    for column, least in (("intervals", 0.0), ("gap_intervals", -1.0), ("bootstrap", 0.0), ("gap_bootstrap", -1.0)):
        assert getattr(upper, column)[0].tolist() == [least, pytest.approx(getattr(both, column)[0, 1])]
        assert getattr(lower, column)[0].tolist() == [pytest.approx(getattr(both, column)[0, 0]), 1.0]
    assert f"has label 1 at a rate of at most {upper.intervals[0, 1]:.4f} (probability at least 95 %; 1,200 rows" in str(upper)


def test_sizes_of_clusters_tell_rows_from_clusters() -> None:
    """One cluster of 100 rows of label 1, and 99 of one row of label 0."""
    cluster = np.concatenate([np.zeros(100, np.int64), np.arange(1, 100)])
    found = cluster_intervals(np.full(199, 0.5), cluster == 0, cluster)
    assert (found.rates[0], found.row_rates[0]) == (pytest.approx(0.01), pytest.approx(100 / 199))
    assert found.intervals[0, 1] < 0.1
    assert found.bootstrap[0, 1] > 0.7


def test_labels_that_are_all_alike_have_no_bootstrap() -> None:
    found = cluster_intervals(np.full(40, 0.1), np.zeros(40), np.arange(40) // 2)
    assert np.isnan(found.bootstrap).all()
    assert found.intervals[0, 0] == 0.0 < found.intervals[0, 1] < 0.3
    assert found.to_dict()["grades"][0]["bootstrap_lower"] is None
    json.dumps(found.to_dict(), allow_nan=False)
    of_grades = cluster_intervals(np.full(6, 0.1), [0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2], by=[1, 1, 2, 2, 2, 2])
    assert np.isnan(of_grades.bootstrap[0]).all(), "one cluster alone"
    assert not np.isnan(of_grades.bootstrap[1]).any()


def test_results_are_shown_in_every_way() -> None:
    p, y, cluster = rows()
    found = cluster_intervals(p, y, cluster, by=cluster % 2)
    assert str(found).startswith("A random row of a random cluster has label 1 at a rate from 0.")
    assert "random row of a random cluster" in found._repr_html_()
    assert len(found.to_dict()["grades"]) == 3
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert {"interval_lower", "gap_bootstrap_upper", "design_effect"} <= set(frame.columns)


def test_results_depend_on_rows_and_seed_alone() -> None:
    p, y, cluster = rows()
    order = np.random.default_rng(1).permutation(len(p))
    first, second = (
        cluster_intervals(p, y, cluster),
        cluster_intervals(p[order], y[order], [f"c{c}" for c in cluster[order].tolist()]),
    )
    np.testing.assert_array_equal(first.bootstrap, second.bootstrap)
    np.testing.assert_allclose(first.intervals, second.intervals, atol=1e-12)
    assert (cluster_intervals(p, y, cluster, seed=1).bootstrap != first.bootstrap).any()


# ------------------------------------------------------------------------------------------------- checks


def test_one_row_of_each_cluster_is_tested() -> None:
    p, y, cluster = rows()
    grade = np.where(np.arange(len(p)) % 3 == 0, "A", "B")
    with pytest.warns(fb.FastbinWarning, match=r"rows of a cluster agree: 1,200 rows of 300 clusters.*one row of each"):
        check = check_predictions(p, y, grade, cluster=cluster, seed=4)
    kept = one_per_cluster(cluster, 4)
    expected = check_predictions(p[kept], y[kept], grade[kept])
    np.testing.assert_array_equal(check.p_values, expected.p_values)
    assert check.names == expected.names
    assert check.clusters is not None
    assert check.clusters.n_rows == 1200
    assert "300 new rows, one of each cluster of 1,200 rows" in str(check)
    assert check.to_dict()["clusters"]["design_effect"] == check.clusters.design_effect > 1.5
    assert "clusters" not in expected.to_dict()


def test_rows_that_do_not_agree_are_tested_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    check = check_predictions(np.full(900, 0.3), rng.random(900) < 0.3, cluster=np.arange(900) // 3)
    assert check.clusters is not None
    assert check.clusters.design_effect < 1.1
    assert check.counts.tolist() == [300]
