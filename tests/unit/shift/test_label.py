"""Label shift: rates, the map g, the composite model, and the bounds of Sun, Song & Hero 2023."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import two_normals

import fastbin as fb
import oracle
from fastbin import shift, theory
from fastbin._core.fields import DecisionParts
from fastbin.shift import LabelShift, rate_by_confusion, rate_by_likelihood
from oracle import Case, close, number


def make_model(**changes: object) -> fb.BinnedModel:
    parts: dict[str, object] = {
        "edges": [0.3, 0.7], "values": [0.1, 0.5, 0.9], "counts": [100, 100, 100], "label_sums": [10, 50, 90],
        "scheme": "explicit", "n_samples": 300, "n_positive": 150,
    }  # fmt: skip
    return fb.BinnedModel.from_parts(**{**parts, **changes})  # type: ignore[arg-type]


ONE_LABEL = {"label_sums": [0, 0, 0], "values": [0, 0, 0], "n_positive": 0}
BARE = {"counts": None, "label_sums": None}

# ------------------------------------------------------------------ exact cases


@oracle.cases("g_shift")
def test_g_is_the_oracles(case: Case) -> None:
    # Weights come as (w0, w1); any rates with these ratios will do: w1 p + w0 (1 - p) = 1.
    w1, w0 = (float(number(case.inputs[name])) for name in ("w1", "w0"))
    p = (1.0 - w0) / (w1 - w0) if w1 != w0 else 0.5
    moved = theory.shift_probabilities([float(number(case.inputs["z"]))], source_rate=p, target_rate=w1 * p)
    assert close(moved[0], case.expected["g"], case.tolerance)


@oracle.cases("label_shift_weights")
def test_composite_weights_are_the_oracles(case: Case) -> None:
    source = fb.BinnedModel.from_parts(
        edges=[], values=[0.5], n_samples=len(case.inputs["yP"]), n_positive=sum(case.inputs["yP"])
    )
    cal = shift.LabelShift(source).fit(labels=case.inputs["yQ"])
    for name, weight in zip(("w0", "w1"), cal.weights_, strict=True):
        assert close(weight, case.expected[name], case.tolerance)
    assert close(cal.predict_one(0.3), case.expected["composite_of_half"], case.tolerance)


@oracle.cases("mlls")
def test_likelihood_is_the_oracles(case: Case) -> None:
    rate = shift.maximum_likelihood_rate(case.inputs["post"], case.inputs["p1"])
    assert close(rate, case.expected["q1"], case.tolerance)


@oracle.cases("bbse")
def test_confusion_weights_are_the_oracles(case: Case) -> None:
    confusion = [[float(number(entry)) for entry in row] for row in case.inputs["C"]]
    w0, w1 = shift.confusion_weights(confusion, [float(number(entry)) for entry in case.inputs["mu"]])
    assert close([w0, w1], [case.expected["w0"], case.expected["w1"]], case.tolerance)


@oracle.cases("sun_eq18")
def test_equation_18_is_the_oracles(case: Case) -> None:
    rho0, rho1 = case.inputs["rho0"], case.inputs["rho1"]
    p, q = 0.5, 0.3
    w0, w1 = (1 - q) / (1 - p), q / p
    p_used = (rho0 * w0 - 1) / (rho0 * w0 - rho1 * w1)  # so that the estimated weights are rho times the true ones
    risk = theory.label_shift_risk(
        0.0, source_rate=p, target_rate=q, estimated_source_rate=p_used, estimated_target_rate=rho1 * w1 * p_used
    )
    assert close(risk.rates / 2, case.expected["value"], case.tolerance)  # the oracle leaves out the factor 2
    assert risk.recalibration == 0.0


@oracle.cases("sun_thm2")
def test_theorem_2_is_the_oracles(case: Case) -> None:
    told = case.inputs
    bound = theory.label_shift_risk_bound(
        told["nP"], told["nQ"], told["B"], source_rate=told["p1"], target_rate=told["q1"], alpha=told["delta"],
        smoothness=told["K"],
    )  # fmt: skip
    assert close(bound.total, case.expected["total"], case.tolerance)
    assert close(bound.recalibration, case.expected["recal_term"], case.tolerance)
    assert close(bound.rates, case.expected["shift_term"], case.tolerance)


# ------------------------------------------------------------------ maximum likelihood


def saerens_em(posteriors: np.ndarray, p: float, start: float, rounds: int) -> float:
    """The iteration as Saerens, Latinne & Decaestecker print it."""
    q = start
    for _ in range(rounds):
        ones, zeros = q / p * posteriors, (1 - q) / (1 - p) * (1 - posteriors)
        q = float((ones / (ones + zeros)).mean())
    return q


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(6))
def test_em_climbs_to_the_same_maximum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    posteriors, p = rng.beta(2, 2, 40), 0.2 + 0.6 * rng.random()
    rate = shift.maximum_likelihood_rate(posteriors, p)
    assert rate == pytest.approx(saerens_em(posteriors, p, 0.5, 20_000), abs=1e-4)
    if 0 < rate < 1:  # a fixed point of EM
        assert saerens_em(posteriors, p, rate, 1) == pytest.approx(rate, abs=1e-12)


def test_counts_are_repetitions() -> None:
    posteriors, counts = [0.05, 0.4, 0.9], [70, 20, 10]
    rate = shift.maximum_likelihood_rate(posteriors, 0.3, counts=counts)
    assert rate == shift.maximum_likelihood_rate(np.repeat(posteriors, counts), 0.3)


def test_certain_posteriors_give_their_share() -> None:
    assert shift.maximum_likelihood_rate([0.0] * 30 + [1.0] * 10, 0.5) == pytest.approx(0.25, abs=1e-15)
    assert shift.maximum_likelihood_rate([0.0, 0.0], 0.5) == 0.0
    assert shift.maximum_likelihood_rate([1.0, 0.2], 0.9) > 0.0


def test_a_likelihood_that_is_level_at_an_end_has_its_maximum_there() -> None:
    assert shift.maximum_likelihood_rate([0.75, 0.0, 0.0], 0.5) == 0.0
    assert shift.maximum_likelihood_rate([0.25, 1.0, 1.0], 0.5) == 1.0


def test_posteriors_without_news_keep_the_source_rate() -> None:
    assert shift.maximum_likelihood_rate([0.3] * 5, 0.3) == 0.3


# ------------------------------------------------------------------ rates from scores


@pytest.mark.parametrize("estimate", [shift.rate_by_likelihood, shift.rate_by_confusion])
def test_exact_mixture_gives_back_its_rate(estimate: object) -> None:
    # Shares at rate 0.2 of P(bin | 1) = (10, 50, 90) / 150 and P(bin | 0) = (90, 50, 10) / 150.
    counts = 0.2 * np.array([10, 50, 90]) / 150 + 0.8 * np.array([90, 50, 10]) / 150
    scores = np.repeat([0.1, 0.5, 0.9], np.round(counts * 15000).astype(int))
    told = estimate(make_model(), scores, n_bootstrap=200)  # type: ignore[operator]
    assert told.rate == pytest.approx(0.2, abs=1e-9)
    assert told.lower < 0.2 < told.upper
    assert told.n_samples == 15000


@pytest.mark.parametrize("estimate", [shift.rate_by_likelihood, shift.rate_by_confusion])
def test_bootstrap_is_seeded(estimate: object) -> None:
    scores = np.random.default_rng(0).random(200)
    one, two, other = (estimate(make_model(), scores, n_bootstrap=50, seed=seed) for seed in (1, 1, 2))  # type: ignore[operator]
    assert one == two
    assert one[:3] != other[:3]


def test_tally_and_values_agree_where_both_are_there() -> None:
    scores = np.random.default_rng(0).random(300)
    with_tally = shift.rate_by_likelihood(make_model(), scores, n_bootstrap=1)
    bare = make_model(**BARE)
    without = shift.rate_by_likelihood(bare, scores, source_rate=0.5, n_bootstrap=1)
    assert with_tally.rate == pytest.approx(without.rate, abs=1e-12)


def test_bins_without_source_samples_say_nothing() -> None:
    model = make_model(counts=[100, 0, 100], label_sums=[10, 0, 90], values=[0.1, 0.5, 0.9], n_samples=200, n_positive=100)
    clear = np.repeat([0.1, 0.9], [70, 30])
    told = shift.rate_by_likelihood(model, np.concatenate([clear, np.full(500, 0.5)]), n_bootstrap=10)
    assert told.rate == pytest.approx(shift.rate_by_likelihood(model, clear, n_bootstrap=10).rate, abs=1e-12)


def test_rates_outside_the_unit_interval_are_its_ends() -> None:
    scores = np.full(50, 0.1)  # fewer predicted 1 than even label 0 alone would give
    assert shift.rate_by_confusion(make_model(), scores, n_bootstrap=10).rate == 0.0
    assert shift.rate_by_likelihood(make_model(), scores, n_bootstrap=10).rate == 0.0
    assert shift.rate_by_likelihood(make_model(), np.full(50, 0.9), n_bootstrap=10).rate == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shift.rate_by_likelihood(make_model(), []), "scores is empty"),
        (lambda: shift.rate_by_likelihood(make_model(), [0.5, 0.5]), "say nothing about the label"),
        (lambda: shift.rate_by_likelihood(make_model(**ONE_LABEL), [0.5]), "label 0 alone"),
        (lambda: shift.rate_by_likelihood(make_model(**BARE), [0.5]), "source_rate"),
        (lambda: shift.rate_by_likelihood(make_model(), [0.5], alpha=5), "did you mean 0.05"),
        (lambda: shift.rate_by_confusion(make_model(), [0.5], threshold=0.95), "below it, so one class is never predicted"),
        (lambda: shift.rate_by_confusion(make_model(), [0.5], threshold=0.05), "choose one between 0.1 and 0.9"),
        (lambda: shift.confusion_weights([[0.25, 0.25], [0.25, 0.25]], [0.5, 0.5]), "singular"),
        (lambda: shift.confusion_weights([[1.0]], [0.5]), r"confusion has shape \(1, 1\); it must be \(2, 2\)"),
        (lambda: shift.confusion_weights([[0.4, -0.1], [0.1, 0.6]], [0.5, 0.5]), r"confusion\[0, 1\] is -0.1; it must be a"),
        (lambda: shift.confusion_weights([[0.4, 0.1], [0.1, 0.4]], [0.5, np.nan]), r"shares\[1\] is nan; it must be a prob"),
        (lambda: shift.confusion_weights("a", [0.5, 0.5]), "confusion must be probabilities"),
        (lambda: shift.maximum_likelihood_rate([0.5], 1.0), r"source_rate is 1.0; it must be in \(0, 1\)"),
        (lambda: shift.maximum_likelihood_rate([], 0.5), "posteriors is empty"),
        (lambda: shift.maximum_likelihood_rate([0.2, 1.5], 0.5), r"posteriors\[1\] is 1.5"),
        (lambda: shift.rate_from_labels([]), "labels is empty"),
        (lambda: shift.rate_from_labels([0, 2]), r"labels\[1\] is 2"),
        (lambda: theory.label_shift_risk_bound(1000, 10_000, 46, source_rate=0.5, target_rate=0.1), "n_source is 1000"),
        (lambda: theory.label_shift_risk_bound(10**6, 100, 46, source_rate=0.5, target_rate=0.1), "n_target is 100"),
        (lambda: theory.label_shift_risk(-1.0, source_rate=0.5, target_rate=0.1), "source_risk is -1.0"),
    ],
)  # fmt: skip
def test_refusals_of_rates(call: object, message: str) -> None:
    with pytest.raises(fb.FastbinError, match=message):
        call()  # type: ignore[operator]


# ------------------------------------------------------------------ the composite


def test_the_model_is_moved_and_nothing_else() -> None:
    source = fb.UniformMassBinning(n_bins=5, seed=3).fit(*two_normals(500)).model_
    moved = shift.LabelShift(source).fit(labels=[1] * 10 + [0] * 90).model_
    p, q = source.n_positive / source.n_samples, 0.1
    assert moved.odds_ratio == pytest.approx((q / (1 - q)) / (p / (1 - p)), rel=1e-14)
    expected = [q / p * v / (q / p * v + (1 - q) / (1 - p) * (1 - v)) for v in source.values]
    np.testing.assert_allclose(moved.values, expected, rtol=1e-14)
    for name in ("edges", "edge_keys", "counts", "label_sums"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(source, name))
    for name in ("scheme", "ties", "n_bins_asked", "n_samples", "n_positive", "n_tied", "seed", "delta", "score_range", "note"):
        assert getattr(moved, name) == getattr(source, name)
    beside = source._replace(decision=DecisionParts(0.75, 0.25, b"{}"), pairs=np.stack([source.values] * 2, axis=1))
    of_target = shift.LabelShift(beside).fit(labels=[1] * 10 + [0] * 90).model_
    assert beside._decision[:2] == (0.75, 0.25)
    assert of_target._decision == moved._decision == (0.0, 0.0, b"")
    assert beside.pairs is not None
    assert of_target.pairs is None
    back = fb.theory.shift_probabilities(moved.values, source_rate=q, target_rate=p)
    np.testing.assert_allclose(back, source.values, atol=1e-14)


def test_equal_rates_move_nothing() -> None:
    source = make_model()
    moved = shift.LabelShift(source, method="known", target_rate=0.5).fit().model_
    assert moved._replace(rates=None) == source
    assert moved.rates is not None
    assert moved.rates.source.origin == "counted"  # whose error is in the intervals all the same
    assert (moved.interval()[:, 1] > source.interval()[:, 1]).all()


def test_weighted_source_keeps_its_weight_tally() -> None:
    scores, labels = two_normals(400)
    source = fb.UniformMassBinning(n_bins=3).fit(scores, labels, sample_weight=0.5 + scores).model_
    moved = shift.LabelShift(source, method="known", target_rate=0.3, source_rate=0.4).fit().model_
    np.testing.assert_array_equal(moved.weight_sums, source.weight_sums)
    with pytest.raises(fb.InputError, match=r"importance weights.*give source_rate"):
        shift.LabelShift(source, method="known", target_rate=0.3).fit()


def test_a_model_file_is_enough(tmp_path: Path) -> None:
    source = fb.UniformMassBinning(n_bins=8).fit(*two_normals(800))
    source.model_.save(tmp_path / "source.fbm")
    target, _ = two_normals(300, 0.1, seed=1)
    cal = shift.LabelShift(fb.load(tmp_path / "source.fbm"), method="likelihood", n_bootstrap=20).fit(target)
    cal.model_.save(tmp_path / "target.fbm")
    assert fb.load(tmp_path / "target.fbm") == cal.model_
    assert shift.LabelShift(source, method="likelihood", n_bootstrap=20).fit(target).model_ == cal.model_


def test_a_calibrator_survives_pickling() -> None:
    cal = shift.LabelShift(make_model()).fit(labels=[1, 0, 0, 0])
    again = pickle.loads(pickle.dumps(cal))
    assert again.model_ == cal.model_
    assert again.predict_one(0.2) == cal.predict_one(0.2)
    np.testing.assert_array_equal(again.interval(0.2), cal.interval(0.2))


def test_a_refused_fit_leaves_the_rates_of_the_model() -> None:
    cal = shift.LabelShift(make_model()).fit(labels=[1, 0, 0, 0])
    before = cal.rate_
    with pytest.raises(fb.InputError, match="rate"):
        cal.fit(labels=[0] * 99)
    assert cal.rate_ is before
    assert cal.target_rate_ == before.rate


def test_add_half_smoothing() -> None:
    cal = shift.LabelShift(make_model(), smoothing="add-half").fit(labels=[0] * 99)
    assert cal.rate_.rate == 0.0
    assert cal.target_rate_ == pytest.approx(0.5 / 100)
    assert cal.source_rate_ == pytest.approx(150.5 / 301)


def test_intervals_include_the_rates() -> None:
    source = fb.UniformMassBinning(n_bins=4).fit(*two_normals(2000)).model_
    cal = shift.LabelShift(source).fit(labels=[1] * 10 + [0] * 90)
    with_rates = cal.interval(0.1)
    given = shift.LabelShift(source, method="known", source_rate=cal.source_rate_, target_rate=0.1).fit()
    np.testing.assert_array_equal(given.model_.values, cal.model_.values)
    assert (with_rates[:, 0] < given.interval(0.1)[:, 0]).all()
    assert (with_rates[:, 1] > given.interval(0.1)[:, 1]).all()
    np.testing.assert_array_equal(cal.predict_interval([0.01, 0.99], alpha=0.1), with_rates[[0, -1]])


def test_a_rate_that_may_be_zero_reaches_zero() -> None:
    cal = shift.LabelShift(make_model(), smoothing="add-half").fit(labels=[0] * 20)
    assert (cal.interval()[:, 0] == 0.0).all()


def test_certificate_says_what_it_assumes() -> None:
    source = fb.UniformMassBinning(n_bins=4).fit(*two_normals(4000)).model_
    cal = shift.LabelShift(source, source_rate=0.5).fit(labels=[1] * 40 + [0] * 60)
    certificate = cal.certificate(0.1)
    ends, values = cal.interval(0.1), cal.model_.values
    assert certificate.epsilon == pytest.approx(np.maximum(ends[:, 1] - values, values - ends[:, 0]).max())
    assert "P(score | label) is the same" in certificate.explain()
    assert "P(Y = 1) at the source is as given" in certificate.explain()
    assert "over the 4,000 calibration samples and 100 rows of the target population, in" in str(certificate)
    assert str(certificate).endswith("of the true frequency of label 1 in the target population.")
    given = shift.LabelShift(source, method="known", target_rate=0.4).fit().certificate(0.1)
    assert "over the 4,000 calibration samples, in" in str(given)
    assert str(given).endswith(" in the target population.")
    assert given.to_dict()["n_target"] == 0
    assert "n_target" not in source.certificate(0.1).to_dict()
    assert cal.model_.certificate(0.1) == certificate == fb.BinnedModel.from_bytes(cal.model_.to_bytes()).certificate(0.1)
    with pytest.raises(fb.GuaranteeError, match="label shift"):
        cal.model_.certificate(kind="marginal")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shift.LabelShift(make_model()).fit(), "labels is None; give target labels"),
        (lambda: shift.LabelShift(make_model()).fit(labels=[0, 0, 0]), "target rate is 0 among 3 samples"),
        (lambda: shift.LabelShift(make_model()).fit(labels=[1, 1]), "smoothing='add-half'"),
        (lambda: shift.LabelShift(make_model(**ONE_LABEL)).fit(labels=[0, 1]), "source rate is 0"),
        (lambda: shift.LabelShift(make_model()).fit([0.5], [0, 1]), "lengths differ"),
        (lambda: shift.LabelShift(make_model(), method="likelihood").fit([0.5], [1]), "uses scores alone"),
        (lambda: shift.LabelShift(make_model(), method="confusion").fit(), "needs target scores"),
        (lambda: shift.LabelShift(make_model(), method="known").fit(), "target_rate is None"),
        (lambda: shift.LabelShift(make_model(), target_rate=0.2).fit(labels=[0, 1]), "pass method='known'"),
        (lambda: shift.LabelShift(make_model(), method="em").fit(), "choose one of 'labels'"),
        (lambda: shift.LabelShift(make_model(), smoothing="clip").fit(labels=[0, 1]), "smoothing is 'clip'"),
        (lambda: shift.LabelShift("source.fbm").fit(labels=[0, 1]), "source is the path 'source.fbm'; pass a BinnedModel"),  # type: ignore[arg-type]
        (lambda: shift.LabelShift(make_model(odds_ratio=0.5)).fit(labels=[0, 1]), "moved already"),
        (lambda: shift.LabelShift(make_model(n_samples=0, n_positive=0, **BARE)).fit(labels=[0, 1]), "give source_rate"),
        (lambda: shift.LabelShift(fb.UniformMassBinning()).fit(labels=[0, 1]), "not fitted"),
        (lambda: shift.LabelShift(make_model()).predict([0.5]), "not fitted"),
    ],
)  # fmt: skip
def test_refusals_of_the_composite(call: object, message: str) -> None:
    with pytest.raises(fb.FastbinError, match=message):
        call()  # type: ignore[operator]


def test_no_finite_sample_interval_without_target_labels_and_fixed_cuts() -> None:
    cal = shift.LabelShift(make_model(scheme="umd"), method="likelihood", n_bootstrap=10).fit([0.1, 0.2, 0.9])
    with pytest.raises(fb.GuaranteeError, match=r"needs cuts that were fixed before.*method='labels'"):
        cal.interval()
    with pytest.raises(fb.GuaranteeError, match="estimated from 3 scores without labels"):
        cal.model_.interval()


def test_theorem_2_needs_so_many_samples_of_either_population() -> None:
    n_source, n_target = math.ceil(27 / 0.25 * 10 * math.log(4 * 10 / 0.1)), math.ceil(27 / 0.1 * math.log(16 / 0.1))
    rates = {"source_rate": 0.25, "target_rate": 0.9}
    assert theory.label_shift_risk_bound(n_source, n_target, 10, **rates).total > 0.0
    for fewer, name in (((n_source - 1, n_target), "n_source"), ((n_source, n_target - 1), "n_target")):
        with pytest.raises(fb.GuaranteeError, match=f"{name} is .*, Theorem 2 needs at least"):
            theory.label_shift_risk_bound(*fewer, 10, **rates)
    with pytest.raises(fb.InputError, match="a risk is finite and not negative"):
        theory.label_shift_risk(math.inf, source_rate=0.25, target_rate=0.9)


def test_risk_without_rate_errors_is_the_recalibration_alone() -> None:
    risk = theory.label_shift_risk(0.01, source_rate=0.5, target_rate=0.25)
    assert risk.rates == 0.0
    assert risk.recalibration == pytest.approx(2 * 1.5**3 / 0.5**2 * 0.01)
    assert math.isclose(risk.total, risk.recalibration)


# ------------------------------------------------------------------------------------------------- from counts


def populations(calibrator: Any) -> tuple[fb.BinnedModel, np.ndarray, np.ndarray]:
    """A source model, and scores and labels of a target where label 1 is rarer."""
    target, target_labels = two_normals(2000, 0.15, seed=1)
    return calibrator.fit(*two_normals(3000)).model_, target, target_labels == 1


SOURCES = [fb.UniformMassBinning(8), fb.CertifiedCalibration(), fb.FixedWidthBinning(8)]


def test_the_default_threshold_lies_among_values_that_were_moved() -> None:
    """As the same labels without sampling have it: sampling moves the values and the source rate alike."""
    rng = np.random.default_rng(3)
    scores = rng.random(40000)
    labels = rng.random(40000) < 0.3 * scores**3
    kept = labels | (rng.random(40000) < 0.1)
    sampled = fb.FixedWidthBinning(10, sampling_rate=0.1).fit(scores[kept], labels[kept])
    plain = fb.FixedWidthBinning(10).fit(scores[kept], labels[kept])
    target = rng.random(500)
    assert rate_by_confusion(sampled, target, n_bootstrap=10).rate == rate_by_confusion(plain, target, n_bootstrap=10).rate


@pytest.mark.parametrize("calibrator", SOURCES)
@pytest.mark.parametrize("estimate", [rate_by_likelihood, rate_by_confusion])
def test_rates_from_counts_are_those_from_scores(calibrator: Any, estimate: Any) -> None:
    model, target, _ = populations(calibrator)
    counts = np.bincount(model.assign(target), minlength=model.n_bins)
    assert estimate(model, counts=counts, seed=3) == estimate(model, target, seed=3)


@pytest.mark.parametrize("calibrator", SOURCES)
@pytest.mark.parametrize("method", ["labels", "likelihood", "confusion"])
def test_a_model_moved_by_counts_is_that_moved_by_rows(calibrator: Any, method: str) -> None:
    model, target, labels = populations(calibrator)
    bins = model.assign(target)
    counts, ones = (np.bincount(rows, minlength=model.n_bins) for rows in (bins, bins[labels]))
    by_counts = LabelShift(model, method=method).fit_counts(counts, ones if method == "labels" else None)
    rows = {"labels": labels} if method == "labels" else {"scores": target}
    by_rows = LabelShift(model, method=method).fit(**rows)
    assert by_counts.model_.to_bytes() == by_rows.model_.to_bytes()
    assert by_counts.rate_ == by_rows.rate_


FOUR = populations(fb.UniformMassBinning(4))[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LabelShift(FOUR).fit_counts([1, 2, 3, 4]), "label_sums is missing, and method is 'labels'"),
        (lambda: LabelShift(FOUR, method="likelihood").fit_counts([1] * 4, [0] * 4), "is given, and method is 'likelihood'"),
        (lambda: LabelShift(FOUR, method="known", target_rate=0.2).fit_counts([1] * 4), "is 'known', which counts no rows"),
        (lambda: LabelShift(FOUR, method="likelihood", cuts=[0.5]).fit_counts([1] * 4), "cuts is given without source rows"),
        (lambda: LabelShift(FOUR, method="known", target_rate=0.2).fit([0.5]), "scores is given, and method='known' counts no"),
        (lambda: LabelShift(FOUR, method="known", target_rate=0.2).fit(labels=[1]), "labels is given, and method='known'"),
        (lambda: LabelShift(FOUR).fit_counts([0] * 4, [0] * 4), "counts are all 0"),
        (lambda: rate_by_likelihood(FOUR, counts=[0] * 4), "counts are all 0"),
        (lambda: rate_by_likelihood(FOUR, counts=[1, 2]), "counts has shape"),
        (lambda: rate_by_likelihood(FOUR, [0.5], counts=[1, 2, 3, 4]), "counts is given, and scores too"),
        (lambda: rate_by_likelihood(FOUR, counts=[1, 2, 3, 4], tie_keys=[1]), "counts is given, and keys too"),
    ],
)  # fmt: skip
def test_counts_that_tell_nothing_are_refused(call: Any, message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        call()
