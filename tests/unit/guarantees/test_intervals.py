"""Intervals for the bins of a fitted model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulation.evidence import fitted, uniform_mass

from fastbin import GuaranteeError, InputError, guarantees
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin.guarantees.intervals import move_odds
from fastbin.intervals import bonferroni, clopper_pearson, empirical_bernstein, hoeffding, sidak, wilson
from reference import bounds as reference


@pytest.mark.parametrize("simultaneous", [True, False])
def test_intervals_share_alpha_among_the_bins_that_hold_samples(simultaneous: bool) -> None:
    model = fitted([3, 0, 40], [50, 0, 80], scheme="fixed-width", ties="none", n_samples=130)
    for method, bound, share in (
        ("clopper-pearson", clopper_pearson, sidak),
        ("hoeffding", hoeffding, bonferroni),
        ("empirical-bernstein", empirical_bernstein, bonferroni),
        ("wilson", wilson, sidak),
    ):
        level = share(0.1, 2) if simultaneous else 0.1
        found = guarantees.interval(model, 0.1, method, simultaneous)
        assert found.tolist() == bound(model.label_sums, model.counts, level).tolist()
        assert found[1].tolist() == [0.0, 1.0]


def test_intervals_move_with_the_class_rates() -> None:
    """Rates that were given are exact; those that were counted take half of alpha and widen the intervals."""
    model, given = uniform_mass(), ClassRates(ClassRate("given", 0.25), ClassRate("given", 0.5))  # odds 1/3 and 1: times 3
    source, moved = guarantees.interval(model), guarantees.interval(replace(model, odds_ratio=3.0, rates=given))
    odds = source / (1 - source)
    np.testing.assert_allclose(moved, 3 * odds / (1 + 3 * odds))
    ends = guarantees.interval(fitted([0, 5], [5, 5], odds_ratio=3.0, rates=given))
    assert ends[0, 0] == 0.0
    assert ends[1, 1] == 1.0
    counted = given._replace(target=ClassRate("counted", 0.5, 200, 100))
    wider = guarantees.interval(replace(model, odds_ratio=3.0, rates=counted), 0.1)
    low, high = clopper_pearson([100], [200], 0.05)[0]
    at_half = guarantees.interval(model, 0.05)
    np.testing.assert_allclose(wider[:, 0], move_odds(at_half[:, 0], 0.25, low))
    np.testing.assert_allclose(wider[:, 1], move_odds(at_half[:, 1], 0.25, high))


def test_intervals_that_would_not_count_the_rates_in_are_refused() -> None:
    model, given = uniform_mass(), ClassRate("given", 0.5)
    with pytest.raises(GuaranteeError, match=r"does not say how these are known \(files of fastbin 0\.1\.0"):
        guarantees.interval(replace(model, odds_ratio=3.0))
    estimated = ClassRates(given, ClassRate("estimated", 0.5, 77))
    for method in ("clopper-pearson", "wilson"):
        with pytest.raises(GuaranteeError, match="the target rate was estimated from 77 scores without labels"):
            guarantees.interval(replace(model, rates=estimated), 0.1, method)
    for kind, bound in (("marginal", None), ("ece", None), ("conditional", "hoeffding")):
        with pytest.raises(
            GuaranteeError, match="after label shift only kind='conditional' with bound='clopper-pearson' has a certificate"
        ):
            guarantees.certify(replace(model, rates=ClassRates(given, given)), 0.1, kind, bound)


def test_intervals_refuse_what_certificates_refuse_except_the_approximate_one() -> None:
    isotonic = replace(uniform_mass(), scheme="isotonic")
    with pytest.raises(GuaranteeError, match="isotonic regression has no certificate"):
        guarantees.interval(isotonic)
    assert guarantees.interval(isotonic, method="wilson").shape == (10, 2)
    weighted = replace(uniform_mass(), is_weighted=True)
    for method in ("clopper-pearson", "wilson"):
        with pytest.raises(GuaranteeError, match=r"fb\.shift\.weighted_interval"):
            guarantees.interval(weighted, method=method)
    with pytest.raises(GuaranteeError, match="carries no tally"):
        guarantees.interval(replace(uniform_mass(), counts=None), method="wilson")
    with pytest.raises(InputError, match="method is 'bayes'"):
        guarantees.interval(uniform_mass(), method="bayes")


@pytest.mark.parametrize("scheme", ["ze", "umb"])
def test_a_boundary_label_may_have_been_either(scheme: str) -> None:
    # The first bin's 12 of 40 hold one boundary label: 12 of 39 or 11 of 39 are its own. The last bin has none.
    model = fitted([12, 30], [40, 41], scheme=scheme, n_samples=81)
    level = sidak(0.1, 2)
    low, high = reference.clopper_pearson(11, 39, level)[0], reference.clopper_pearson(12, 39, level)[1]
    intervals = guarantees.interval(model, 0.1)
    np.testing.assert_allclose(intervals[0], [low, high], atol=1e-12)
    np.testing.assert_allclose(intervals[1], reference.clopper_pearson(30, 41, level), atol=1e-12)
    certificate = guarantees.certify(model, 0.1)
    assert certificate.radii is not None
    assert certificate.radii[0] == pytest.approx(max(high - 0.3, 0.3 - low), abs=1e-12)


@pytest.mark.parametrize(("label_sum", "count"), [(0, 1), (1, 1), (0, 5), (5, 5)])
def test_boundary_labels_at_the_ends(label_sum: int, count: int) -> None:
    model = fitted([label_sum, 1], [count, 3], scheme="ze", n_samples=count + 3)
    first = guarantees.interval(model, 0.1)[0]
    if count == 1:
        assert first.tolist() == [0.0, 1.0]
        assert guarantees.certify(model).uncovered_bins == (0,)
    else:
        own = count - 1
        level = sidak(0.1, 2)
        feasible = [reference.clopper_pearson(x, own, level) for x in (label_sum, label_sum - 1) if 0 <= x <= own]
        np.testing.assert_allclose(first, [min(i[0] for i in feasible), max(i[1] for i in feasible)], atol=1e-12)
