"""Promises of one side: no truth above its value by more than epsilon, or none below it (fastbin, Theorem F28)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from drawn import calibrated
from scipy.stats import binom
from simulation.evidence import fitted

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees, intervals
from fastbin.intervals.binomial import ends_of_rows
from fastbin.intervals.finite import label_sums_of_batch, rates_of_batch
from fitting import finished
from hard_sets import CALIBRATORS
from reference import sides as reference

OTHERS = pytest.mark.parametrize("side", ["upper", "lower"])
FUNCTIONS = (intervals.clopper_pearson, intervals.hoeffding, intervals.empirical_bernstein, intervals.wilson)


@cache
def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=5).fit(*calibrated()).model_


def only(side: str, ends: Any) -> Any:
    """The end of one side, and that of the scale."""
    opened = np.array(ends, copy=True)
    opened[:, 0 if side == "upper" else 1] = 0.0 if side == "upper" else 1.0
    return opened


# ------------------------------------------------------------------------------------------------- one bin


@pytest.mark.parametrize("tail", [0.5, 0.2, 0.01, 1e-6])
@pytest.mark.parametrize(("ones", "count"), [(0, 1), (1, 1), (0, 20), (3, 20), (19, 20), (20, 20), (33, 70)])
def test_ends_are_those_of_the_reference(ones: int, count: int, tail: float) -> None:
    upper, lower = (intervals.clopper_pearson([ones], [count], tail, side=side)[0].tolist() for side in ("upper", "lower"))
    assert upper == [0.0, pytest.approx(reference.upper_end(ones, count, tail), abs=2e-14)]
    assert lower == [pytest.approx(reference.lower_end(ones, count, tail), abs=2e-14), 1.0]
    of_rows = ends_of_rows(np.array([ones]), np.array([count]), tail, "upper")[0]
    assert of_rows.tolist() == [0.0, pytest.approx(reference.upper_end_of_rows(ones, count, tail), abs=2e-14)]


def test_published_ends() -> None:
    """The rule of three: nothing among n, and at 0.95 a rate below 3 / n; and 1 - 0.05^(1 / n) exactly."""
    for n in (30, 300, 3000):
        found = float(intervals.clopper_pearson([0], [n], 0.05, side="upper")[0, 1])
        assert found == pytest.approx(1.0 - 0.05 ** (1.0 / n), rel=1e-12)
        assert found < 3.0 / n


@OTHERS
@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_side_is_narrower_and_that_of_twice_the_level_at_the_least(function: Any, side: str) -> None:
    sums, counts, at = [0, 1, 30, 99, 100, 0], [100, 100, 100, 100, 100, 0], 1 if side == "upper" else 0
    both, twice, one = function(sums, counts, 0.05), function(sums, counts, 0.1), function(sums, counts, 0.05, side=side)
    np.testing.assert_array_equal(one, only(side, one))
    outwards = 1.0 if side == "upper" else -1.0
    assert (outwards * (both[:, at] - one[:, at]) >= 0.0).all()
    assert outwards * (both[2, at] - one[2, at]) > 1e-3
    if function is intervals.empirical_bernstein:  # its third event is of both sides
        assert (outwards * (one[:, at] - twice[:, at]) >= 0.0).all()
    else:
        np.testing.assert_allclose(one[:, at], twice[:, at], rtol=1e-12)
    assert one[-1].tolist() == [0.0, 1.0]


def test_formulas_of_one_side() -> None:
    (_, high), (low, _) = (intervals.hoeffding([30], [100], 0.1, side=side)[0] for side in ("upper", "lower"))
    assert (high - 0.3, 0.3 - low) == pytest.approx((np.sqrt(np.log(10.0) / 200.0),) * 2)
    (_, high) = intervals.empirical_bernstein([30], [1000], 0.1, side="upper")[0]
    assert high - 0.03 == pytest.approx(np.sqrt(2 * 0.03 * 0.97 * np.log(20.0) / 1000) + 3 * np.log(20.0) / 1000)


@OTHERS
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("function", [intervals.clopper_pearson, intervals.hoeffding, intervals.empirical_bernstein])
def test_no_rate_is_beyond_an_end_more_often_than_promised(function: Any, alpha: float, side: str) -> None:
    """By all sums and their exact chances, at rates just beyond each end, where most sums miss."""
    largest = 0.0
    for count in (1, 7, 40, 300):
        sums = np.arange(count + 1)
        ends = function(sums, np.full(count + 1, count), alpha, side=side)[:, 1 if side == "upper" else 0]
        for end in ends:
            rate = np.nextafter(end, 1.0 if side == "upper" else 0.0)
            missed = ends < rate if side == "upper" else ends > rate
            largest = max(largest, float(binom.pmf(sums[missed], count, rate).sum()))
    assert largest <= alpha * (1.0 + 1e-6)
    if function is intervals.clopper_pearson:
        assert largest > 0.999 * alpha


@pytest.mark.parametrize("tail", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize(("ones", "count", "size"), [(0, 5, 20), (3, 5, 20), (5, 5, 20), (13, 40, 100), (7, 50, 50)])
def test_batches_have_the_ends_of_the_reference(ones: int, count: int, size: int, tail: float) -> None:
    most = reference.most_ones_of_batch(ones, count, size, tail)
    assert rates_of_batch([ones], [count], [size], tail, side="upper").tolist() == [[0.0, pytest.approx(most / size)]]
    mirrored = reference.most_ones_of_batch(count - ones, count, size, tail)
    assert rates_of_batch([ones], [count], [size], tail, side="lower").tolist() == [[pytest.approx(1 - mirrored / size), 1.0]]
    assert label_sums_of_batch([ones], [count], [size], 2 * tail).tolist() == [[size - mirrored, most]]


def test_wrong_sides_are_refused() -> None:
    with pytest.raises(InputError, match="side is 'above'; choose one of 'both', 'upper', 'lower'"):
        intervals.clopper_pearson([1], [2], 0.1, side="above")
    with pytest.raises(InputError, match="side is None; choose one of"):
        model().certificate(side=None)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- all bins of a model


@pytest.mark.parametrize("name", list(CALIBRATORS))
def test_the_ends_of_a_model_are_those_of_both_sides_at_twice_the_level(name: str) -> None:
    """Whatever its ties: each end of an interval misses with half of its level."""
    for decimals in (9, 1):
        try:
            fit = CALIBRATORS[name]((0.0, 1.0)).fit(*calibrated(decimals=decimals)).model_
            both = fit.interval(0.1, simultaneous=False)
        except GuaranteeError:
            with pytest.raises(GuaranteeError):
                fit.interval(0.05, simultaneous=False, side="upper")
            continue
        for side in ("upper", "lower"):
            # The mass of a heavy score keeps both its ends, at a tenth of its share of the level.
            slack = 2e-3 if fit.atom_counts is not None else 1e-12
            one = fit.interval(0.05, simultaneous=False, side=side)
            np.testing.assert_allclose(one, only(side, both), atol=slack)
            at = 1 if side == "upper" else 0
            assert ((1.0 if at else -1.0) * (one[:, at] - both[:, at]) >= -1e-12).all()


@OTHERS
def test_a_certificate_is_that_of_the_reference(side: str) -> None:
    ones, counts, values = np.array([20, 60, 1, 59]), np.array([99, 120, 50, 60]), np.array([0.3, 0.5, 0.04, 0.95])
    certificate = guarantees.certify(fitted(ones, counts, values=values), 0.2, side=side)
    expected = reference.epsilon_above(ones.tolist(), counts.tolist(), values.tolist(), 0.2)
    if side == "lower":
        expected = reference.epsilon_above((counts - ones).tolist(), counts.tolist(), (1.0 - values).tolist(), 0.2)
    assert certificate.epsilon == pytest.approx(expected, abs=1e-12)
    assert certificate.epsilon < guarantees.certify(fitted(ones, counts, values=values), 0.2, bound="clopper-pearson").epsilon
    assert (certificate.side, certificate.bound, certificate.to_dict()["side"]) == (side, "clopper-pearson", side)
    assert "Theorem F28" in certificate.theorem


@OTHERS
def test_before_labels_a_side_is_the_same_distance(side: str) -> None:
    level = intervals.sidak(0.1, 10)
    expected = reference.radius_before(99, level)
    assert fb.epsilon(999, 10, 0.1, side=side) == pytest.approx(expected, abs=1e-12)
    assert guarantees.certify(fitted([40] * 10, [99] * 10), 0.1, bound="a-priori", side=side).epsilon == pytest.approx(expected)
    assert fb.epsilon(999, 10, 0.1, "marginal", side=side) == pytest.approx(reference.radius_before(99, 0.1), abs=1e-12)
    assert expected < fb.epsilon(999, 10, 0.1)


def test_what_both_sides_say_is_what_it_was() -> None:
    certificate, own = model().certificate(), model().certificate(side="both")
    assert certificate == own
    assert "side" not in certificate.to_dict()
    np.testing.assert_array_equal(model().interval(side="both"), model().interval())


@OTHERS
def test_ratios_are_of_one_side(side: str) -> None:
    both, one = (model().certificate(kind="ratio", side=each) for each in ("both", side))
    ends, values = model().interval(0.1, side=side), model().values
    factors = ends[:, 1] / values if side == "upper" else values / ends[:, 0]
    assert one.epsilon == pytest.approx(factors.max())
    assert 1.0 < one.epsilon < both.epsilon
    none = guarantees.certify(fitted([0, 40], [100, 100], values=[0.2, 0.4]), kind="ratio", side="upper")
    assert none.radii is not None
    assert none.radii[0] == 1.0
    with pytest.raises(GuaranteeError, match="no factor is known for bin 0"):
        guarantees.certify(fitted([0, 40], [100, 100], values=[0.2, 0.4]), kind="ratio", side="lower")


def test_values_beyond_the_end_need_no_distance() -> None:
    certificate = guarantees.certify(fitted([10, 40], [100, 100], values=[0.9, 0.95]), side="upper")
    assert certificate.epsilon == 0.0
    assert "by at most 0.0000" in str(certificate)


@OTHERS
@pytest.mark.parametrize("about", ["population", "calibration rows"])
def test_two_resolutions(side: str, about: str) -> None:
    """Above, the least that may be served decides, and below, the most."""
    fit = fb.CertifiedCalibration(n_bins=5).fit(*calibrated())
    both, one = fit.certificate(about=about), fit.certificate(about=about, side=side)
    assert one.epsilon < both.epsilon
    assert (one.side, one.n_steps) == (side, both.n_steps)
    if about == "population":
        assert sum(size for _, size in one.terms) == pytest.approx(one.epsilon)
        opposite = fit.certificate(0.05, side=side)  # the masses have both of their ends at either level
        assert opposite.epsilon == pytest.approx(both.epsilon, abs=0.02)


def test_the_sentences_say_the_side() -> None:
    said = {side: str(model().certificate(side=side)) for side in ("upper", "lower")}
    assert "the predicted probability falls short of the true frequency of label 1 by at most 0." in said["upper"]
    assert "the predicted probability exceeds the true frequency of label 1 by at most 0." in said["lower"]
    marginal = str(model().certificate(kind="marginal", side="upper"))
    assert "the predicted probability of that sample falls short of the true frequency of label 1 by at most" in marginal
    assert marginal.endswith("in its bin (5 bins).")
    ratios = [str(model().certificate(kind="ratio", side=side)) for side in ("upper", "lower")]
    assert "the predicted probability times 1." in ratios[0]
    assert "is at least the true frequency" in ratios[0]
    assert "the predicted probability is at most 1." in ratios[1]
    assert "times the true frequency" in ratios[1]
    assert "falls short of the average of their true" in str(model().certificate(about="calibration rows", side="upper"))
    assert "falls short of" in model().certificate(side="upper")._repr_html_()
    json.dumps(model().certificate(side="upper").to_dict())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "ece"}, "kind='ece' has no side, and side is 'upper'"),
        ({"kind": "expected-ece"}, "take side='both', whose bound is one of either side, too"),
        ({"kind": "mean-error"}, "kind='mean-underestimate' for side='upper'"),
        ({"kind": "mean-overestimate"}, "take it without side"),
        ({"bound": "common"}, "bound='common' is about both sides at once"),
        ({"bound": "hoeffding"}, "take one of 'clopper-pearson', 'hull', 'a-priori'"),
    ],
)
def test_what_has_no_side_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(GuaranteeError, match=said):
        model().certificate(side="upper", **options)


def test_intervals_at_scores_have_both_sides() -> None:
    with pytest.raises(InputError, match="side is 'upper'; intervals at scores have side='both'"):
        model().interval(at="score", side="upper")


def test_a_plan_keeps_the_level_of_both_ends() -> None:
    """After stopping, the misses of both ends together are known."""
    scores, labels = calibrated(400)
    goals = ({"epsilon": 0.2}, {"budget": 90})
    stopped, counted = (finished(fb.decide.plan_labels(scores, n_bins=2, **goal), labels) for goal in goals)
    for side in ("upper", "lower"):
        np.testing.assert_array_equal(stopped.model_.interval(side=side), only(side, stopped.model_.interval()))
        assert stopped.model_.certificate(side=side).epsilon <= stopped.model_.certificate().epsilon
        twice = counted.model_.interval(0.1, simultaneous=False)  # numbers of labels were fixed: each end by itself
        np.testing.assert_array_equal(counted.model_.interval(0.05, simultaneous=False, side=side), only(side, twice))


def test_values_that_label_shift_moved() -> None:
    scores, labels = calibrated(3000)
    source = fb.UniformMassBinning(n_bins=4).fit(scores, labels)
    moved = fb.shift.LabelShift(source, method="labels").fit(labels=np.arange(500) % 5 == 0).model_
    both = moved.interval(0.1, simultaneous=False)
    for side in ("upper", "lower"):
        np.testing.assert_allclose(moved.interval(0.05, simultaneous=False, side=side), only(side, both), atol=1e-12)
    assert "falls short of" in str(moved.certificate(side="upper"))
    kept = fb.UniformMassBinning(n_bins=4, sampling_rate=0.2).fit(scores, labels).model_
    np.testing.assert_allclose(
        kept.interval(0.05, simultaneous=False, side="upper"), only("upper", kept.interval(0.1, simultaneous=False)), atol=1e-12
    )


# ------------------------------------------------------------------------------------------------- sets, and test sets


@OTHERS
def test_sets(side: str) -> None:
    scores, labels = calibrated()
    cells = np.where(np.arange(len(scores)) % 3 == 0, "north", "south")
    made = fb.multi.SegmentedBinning(fb.UniformMassBinning(n_bins=4)).fit(scores, labels, cells).model_
    both, one = made.certificate(), made.certificate(side=side)
    assert one.epsilon < both.epsilon
    assert one.side == side == one.to_dict()["side"]
    assert {part.side for _, part in one.parts} == {side}
    assert ("falls short of" if side == "upper" else "exceeds") in str(one)
    assert made.certificate(side=side, which="north").side == side
    assert made.certificate(bound="a-priori", side=side).epsilon < made.certificate(bound="a-priori").epsilon + 0.01
    for own, ends in zip(made.interval(side=side), made.interval(), strict=True):
        np.testing.assert_array_equal(own, only(side, own))
        assert (own[:, 1] - own[:, 0]).max() <= 1.0
        assert (np.abs(own - ends).max(axis=1) > 1e-4).all()
    with pytest.raises(GuaranteeError, match="has no side"):
        made.certificate(kind="ece", side=side)


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(n_bins=4), fb.CertifiedCalibration(n_bins=4)])
def test_a_test_set_contradicts_the_side_that_it_is_on(calibrator: Any) -> None:
    fit = calibrator.fit(*calibrated())
    rng = np.random.default_rng(5)
    scores = rng.random(20_000)
    worse, better = rng.random(20_000) < np.minimum(scores + 0.2, 1.0), rng.random(20_000) < np.maximum(scores - 0.2, 0.0)
    verdicts = {
        side: [fb.assess.check_certificate(fit, scores, y, side=side).verdict for y in (worse, better)]
        for side in ("upper", "lower")
    }
    assert verdicts["upper"][0] == "contradicted"
    assert verdicts["upper"][1] == "confirmed"
    assert verdicts["lower"][1] == "contradicted"
    assert verdicts["lower"][0] == "confirmed"
    check = fb.assess.check_certificate(fit, scores, worse, certificate=fit.certificate(side="upper"))
    assert check.verdict == "contradicted"
    assert (check.detectable < 0.4).all()
    assert (check.claims[:, 0] <= -0.0 if fit.model_.has_steps else check.claims[:, 0] == 0.0).all()
    assert fb.assess.check_certificate(fit, scores, better, epsilon=0.0, side="upper").verdict != "contradicted"
    with pytest.raises(InputError, match="leave side out: the certificate is of side 'upper'"):
        fb.assess.check_certificate(fit, scores, worse, certificate=fit.certificate(side="upper"), side="lower")


def test_a_report_is_of_one_side() -> None:
    scores, labels = calibrated(4000)
    fit = fb.UniformMassBinning(n_bins=4).fit(scores[:2000], labels[:2000])
    found = fb.report.assess_model(fit, scores[2000:], labels[2000:], side="upper")
    assert [each.side for each in found.certificates] == ["upper", "upper"]
    assert [each.kind for each in found.certificates] == ["conditional", "marginal"]
    assert found.check.claims[:, 0].tolist() == [0.0] * 4
