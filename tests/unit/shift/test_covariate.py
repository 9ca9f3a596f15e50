"""Importance-weighted binning: exact cases, its twin in fastbin.binning, intervals, files, and what it refuses."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from drawn import for_target

import fastbin as fb
import oracle
from fastbin import intervals, shift, theory
from fastbin.shift import ImportanceWeightedBinning
from oracle import Case, close

ONE_BIN: list[float] = []  # no inner edge


# ------------------------------------------------------------------ exact cases


def one_bin(case: Case, **settings: object) -> ImportanceWeightedBinning:
    labels = case.inputs["labels"]
    fitted = {name: settings.pop(name) for name in ("relative_mass", "source_scores", "target_scores") if name in settings}
    cal = ImportanceWeightedBinning(partition=ONE_BIN, **settings)  # type: ignore[arg-type]
    return cal.fit([0.5] * len(labels), labels, case.inputs["w"], **fitted)  # type: ignore[arg-type]


@oracle.cases("weighted_bin")
def test_equations_22_and_42_are_the_oracles(case: Case) -> None:
    cal = one_bin(case)
    assert close(cal.model_.values[0], case.expected["pi_check"], case.tolerance)
    assert close(cal.relative_mass_[0], case.expected["m_hat"], case.tolerance)


@oracle.cases("weighted_bin_47")
def test_equation_47_is_the_oracles(case: Case) -> None:
    told = case.inputs
    cal = ImportanceWeightedBinning(partition=[0.5], estimator="counted-mass").fit(
        [0.2] * len(told["labels"]), told["labels"], told["w"],
        source_scores=np.repeat([0.2, 0.7], [told["ns_b"], told["ns"] - told["ns_b"]]),
        target_scores=np.repeat([0.2, 0.7], [told["nt_b"], told["nt"] - told["nt_b"]]),
    )  # fmt: skip
    assert close(cal.relative_mass_[0], case.expected["m_hat"], case.tolerance)
    assert close(cal.estimates_[0], case.expected["pi_tilde"], case.tolerance)


@oracle.cases("thm10")
def test_equation_40_and_theorem_10_are_the_oracles(case: Case) -> None:
    told = case.inputs
    cal = one_bin(case, estimator="known-mass", relative_mass=[told["m_b"]])
    assert close(cal.model_.values[0], case.expected["estimate"], case.tolerance)
    # The radius is above 1 here, so it is seen on the same samples many times over.
    weights, labels = np.tile(told["w"], 2000), np.tile(told["labels"], 2000)
    cal = ImportanceWeightedBinning(partition=ONE_BIN, estimator="known-mass")
    cal.fit(np.full(weights.size, 0.5), labels, weights, relative_mass=[told["m_b"]])
    lower, upper = cal.interval(told["alpha"] / told["B"], "theorem10", weight_bound=told["U"])[0]
    log_term, mean = np.log(3 * told["B"] / told["alpha"]), case.expected["estimate"]
    products = told["m_b"] * weights * labels
    radius = np.sqrt(2 * products.var() * log_term / weights.size) + 3 * told["m_b"] * told["U"] * log_term / weights.size
    assert (lower + upper) / 2 == pytest.approx(mean, rel=1e-12)
    assert (upper - lower) / 2 == pytest.approx(radius, rel=1e-12)


@oracle.cases("thm7")
def test_theorem_7_is_the_oracles(case: Case) -> None:
    told = case.inputs
    n = told["Nb"]
    cal = ImportanceWeightedBinning(partition=ONE_BIN).fit(np.full(n, 0.5), np.arange(n) % 2, np.ones(n))
    level = told["alpha"] / told["B"]
    lower, upper = cal.interval(level, "theorem7", weight_bound=told["U"], weight_min=told["L"])[0]
    expected = case.expected["explicit"] if case.expected["condition_holds"] else 0.5
    assert close((upper - lower) / 2, min(expected, 0.5), case.tolerance)


@oracle.cases("weighted_ci_hoeffding")
def test_self_normalised_hoeffding_is_the_oracles(case: Case) -> None:
    told = case.inputs
    cal = one_bin(case)
    for ends in (
        cal.interval(told["alpha"], "self-normalised-hoeffding", weight_bound=told["U"]),
        shift.weighted_interval(cal.model_, told["U"], alpha=told["alpha"]),
    ):
        assert close(ends[0].tolist(), [case.expected["lo"], case.expected["hi"]], case.tolerance)


# ------------------------------------------------------------------ the same model as fastbin.binning makes


@pytest.mark.parametrize("scheme", ["umd", "ums"])
@pytest.mark.parametrize("decimals", [None, 2, 1])
@pytest.mark.parametrize("ties", ["whole", "random"])
@pytest.mark.filterwarnings("ignore:ties='whole' left")
def test_it_is_uniform_mass_binning_with_weights(scheme: str, decimals: int | None, ties: str) -> None:
    scores, labels, weights = for_target(decimals=decimals)
    weights[::7] = 0.5
    settings = {"n_bins": 7, "scheme": scheme, "ties": ties, "seed": 5}
    ours = ImportanceWeightedBinning(**settings).fit(scores, labels, weights).model_
    theirs = fb.UniformMassBinning(**settings).fit(scores, labels, sample_weight=weights).model_
    for name in (
        "edges", "edge_keys", "values", "counts", "label_sums", "weight_sums", "weighted_label_sums", "weight_square_sums",
        "n_samples", "n_positive", "n_tied", "n_bins_asked", "scheme", "ties", "seed", "tie_counts",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert ours.needs_key == theirs.needs_key
    assert not (ties == "whole" and ours.needs_key)


@pytest.mark.parametrize("scheme", ["umd", "ums"])
def test_row_order_does_not_matter(scheme: str) -> None:
    scores, labels, weights = for_target(decimals=1)
    order = np.random.default_rng(1).permutation(scores.size)
    one = ImportanceWeightedBinning(5, scheme=scheme, ties="random").fit(scores, labels, weights)
    two = ImportanceWeightedBinning(5, scheme=scheme, ties="random").fit(scores[order], labels[order], weights[order])
    assert one.model_ == two.model_
    for method in ("betting", "empirical-bernstein"):
        ends = [cal.interval(0.1, method, weight_bound=2.0) for cal in (one, two)]
        np.testing.assert_allclose(*ends, atol=1e-12)


def test_equal_weights_are_no_weights() -> None:
    scores, labels, _ = for_target()
    weighted = ImportanceWeightedBinning(6).fit(scores, labels, np.full(scores.size, 0.25)).model_
    plain = fb.UniformMassBinning(6).fit(scores, labels).model_
    np.testing.assert_array_equal(weighted.values, plain.values)
    np.testing.assert_allclose(shift.effective_sample_sizes(weighted), plain.counts, rtol=1e-15)


# ------------------------------------------------------------------ partitions


def test_edges_given() -> None:
    scores, labels, weights = for_target()
    cal = ImportanceWeightedBinning(partition=[0.2, 0.9]).fit(scores, labels, weights)
    bins = np.searchsorted([0.2, 0.9], scores, side="right")
    for b in range(3):
        mine = bins == b
        assert cal.model_.values[b] == pytest.approx((weights * labels)[mine].sum() / weights[mine].sum(), rel=1e-14)
        assert cal.effective_sample_sizes_[b] == pytest.approx(weights[mine].sum() ** 2 / (weights[mine] ** 2).sum())
    np.testing.assert_array_equal(cal.model_.counts, np.bincount(bins))
    assert cal.model_.scheme == "explicit"


def test_bins_of_another_model() -> None:
    scores, labels, weights = for_target(decimals=1)
    other = fb.UniformMassBinning(5, ties="random", seed=2).fit(*for_target(300, seed=9, decimals=1)[:2]).model_
    keys = np.arange(scores.size, dtype=np.uint64) * np.uint64(2**54)
    cal = ImportanceWeightedBinning(partition=other).fit(scores, labels, weights, tie_keys=keys)
    np.testing.assert_array_equal(cal.model_.edges, other.edges)
    np.testing.assert_array_equal(cal.model_.counts, np.bincount(other.assign(scores, tie_keys=keys), minlength=5))
    assert cal.model_.n_tied == np.isin(scores, other.edges).sum()
    assert cal.model_.ties == "random"


def test_a_fitted_calibrator_brings_its_range_of_scores_too() -> None:
    scores, labels, weights = for_target()
    other = fb.UniformMassBinning(4, score_range=(-1.0, 2.0)).fit(scores, labels)
    fits = [ImportanceWeightedBinning(partition=given).fit(scores, labels, weights) for given in (other, other.model_)]
    by_fit, by_model = (fit.model_._replace(provenance=None) for fit in fits)  # which names what the bins are of
    assert by_fit == by_model
    assert by_fit.score_range == (-1.0, 2.0)


def test_a_bin_without_samples_is_left_open() -> None:
    cal = ImportanceWeightedBinning(partition=[0.5, 0.9]).fit([0.1, 0.2, 0.95], [0, 1, 1], [1.0, 2.0, 1.0])
    assert cal.model_.values[1] == 0.5
    assert np.isnan(cal.relative_mass_[1])
    for method in ("betting", "self-normalised-hoeffding", "empirical-bernstein"):
        np.testing.assert_array_equal(cal.interval(0.1, method, weight_bound=2.0)[1], [0, 1])
    assert cal.certificate(0.1, weight_bound=2.0).uncovered_bins == (1,)


def test_scores_that_are_no_probabilities() -> None:
    scores, labels, weights = for_target()
    cal = ImportanceWeightedBinning(4, score_range=None).fit(10 * scores - 5, labels, weights)
    assert cal.predict([-4.9, 4.9]).shape == (2,)
    assert cal.model_.score_range is None


# ------------------------------------------------------------------ estimates that can pass 1


def test_a_value_above_one_is_cut_and_said() -> None:
    cal = ImportanceWeightedBinning(partition=[0.5], estimator="known-mass")
    with pytest.warns(UserWarning, match=r"estimate of bin 1 \(from 0.5 to the highest score\) is 1.5, above 1"):
        cal.fit([0.1, 0.6, 0.7], [0, 1, 1], [1.0, 1.0, 2.0], relative_mass=[1.0, 1.0])
    assert cal.estimates_.tolist() == [0.0, 1.5]
    assert cal.model_.values.tolist() == [0.0, 1.0]


# ------------------------------------------------------------------ intervals


def test_intervals_are_those_of_bounds_at_sidaks_level() -> None:
    scores, labels, weights = for_target()
    cal = ImportanceWeightedBinning(partition=[0.25, 0.5, 0.75]).fit(
        scores, labels, weights, relative_mass=[4, 4 / 3, 4 / 5, 4 / 7]
    )
    told = {"bins": np.searchsorted([0.25, 0.5, 0.75], scores, side="right"), "n_bins": 4}
    sidak, union = intervals.sidak(0.1, 4), 0.025
    limits = np.array([0.5, 1.0, 1.5, 2.0])
    expected = {
        "betting": intervals.betting(weights, labels, sidak, limits, **told),
        "empirical-bernstein": intervals.weighted_empirical_bernstein(weights, labels, sidak, limits, **told),
        "theorem10": theory.theorem10(weights, labels, union, limits, [4, 4 / 3, 4 / 5, 4 / 7], **told),
    }
    for method, ends in expected.items():
        np.testing.assert_array_equal(cal.interval(0.1, method, weight_bound=limits), ends, err_msg=method)
    alone = intervals.betting(weights, labels, 0.1, limits, **told)
    np.testing.assert_array_equal(cal.interval(0.1, simultaneous=False, weight_bound=limits), alone)
    np.testing.assert_array_equal(cal.predict_interval([0.9], weight_bound=limits), expected["betting"][[3]])


def test_the_file_knows_what_hoeffding_needs(tmp_path: Path) -> None:
    scores, labels, weights = for_target()
    cal = ImportanceWeightedBinning(4).fit(scores, labels, weights)
    cal.model_.save(tmp_path / "target.fbm")
    again = fb.load(tmp_path / "target.fbm")
    expected = cal.interval(0.1, "self-normalised-hoeffding", weight_bound=2.0)
    np.testing.assert_array_equal(shift.weighted_interval(again, 2.0, alpha=0.1), expected)
    np.testing.assert_array_equal(shift.effective_sample_sizes(again), cal.effective_sample_sizes_)
    assert json.loads(again.note) == {"shift": "covariate", "estimator": "self-normalised", "weights": "known"}


@pytest.mark.parametrize("note", ["[" * 50_000, "9" * 5000, "{", "[]"])
def test_notes_from_elsewhere_say_nothing_of_weights(note: str) -> None:
    model = ImportanceWeightedBinning(4).fit(*for_target()).model_
    expected = shift.weighted_interval(model, 2.0, alpha=0.1)
    np.testing.assert_array_equal(shift.weighted_interval(model._replace(note=note), 2.0, alpha=0.1), expected)


def test_a_bound_that_the_tally_refutes_is_refused() -> None:
    rng = np.random.default_rng(3)
    weights = np.where(rng.random(500) < 0.02, 20.0, 0.3)
    model = ImportanceWeightedBinning(1).fit(rng.random(500), rng.random(500) < 0.5, weights).model_
    least = float((weights**2).sum() / weights.sum())  # some weight is no less than the mean by weight
    with pytest.raises(fb.InputError, match=rf"weight_bound is 0.3, and some weight in bin 0 is at least {least:g}; the bound"):
        shift.weighted_interval(model, 0.3)
    with pytest.raises(fb.InputError, match="some weight in bin 0"):
        shift.weighted_interval(model, 0.999 * least / 2.0, weight_error=2.0)
    assert shift.weighted_interval(model, 1.001 * least / 2.0, weight_error=2.0).shape == (1, 2)
    alike = ImportanceWeightedBinning(1).fit(rng.random(499), rng.random(499) < 0.5, np.full(499, 1.0 / 3.0))
    assert shift.weighted_interval(alike, 1.0 / 3.0).shape == (1, 2)  # rounding of the sums refutes nothing


def test_moved_values_have_no_interval_of_before() -> None:
    weighted = fb.UniformMassBinning(3).fit(*for_target(600))
    moved = shift.LabelShift(weighted, source_rate=0.4).fit(labels=[1, 0, 0, 0])
    with pytest.raises(fb.GuaranteeError, match="the values were moved to other class rates"):
        shift.weighted_interval(moved, 3.0)


def test_weights_off_by_a_factor_widen_the_interval() -> None:
    scores, labels, weights = for_target(2000)
    cal = ImportanceWeightedBinning(4).fit(scores, labels, weights)
    for method in ("betting", "self-normalised-hoeffding"):
        exact, one, two = (cal.interval(0.1, method, weight_bound=3.0, weight_error=error) for error in (None, 1.0, 1.3))
        np.testing.assert_array_equal(exact, one)
        assert (two[:, 0] <= one[:, 0]).all()
        assert (two[:, 1] >= one[:, 1]).all()
        assert (two[-1, 1] - two[-1, 0]) > (one[-1, 1] - one[-1, 0])
        # It holds all that other weights in the range would have given.
        rng = np.random.default_rng(0)
        for _ in range(5):
            other = weights * 1.3 ** rng.uniform(-1, 1, weights.size)
            ends = ImportanceWeightedBinning(4).fit(scores, labels, other).interval(0.1, method, weight_bound=3.0)
            assert (ends[:, 0] > two[:, 0] - 1e-9).all()
            assert (ends[:, 1] < two[:, 1] + 1e-9).all()


def test_no_weight_is_taken_for_more_than_the_bound() -> None:
    labels, weights = np.tile([0, 1, 1, 0, 1], 20), np.tile([1.0, 2.0], 50)
    cal = ImportanceWeightedBinning(partition=ONE_BIN).fit(np.full(100, 0.5), labels, weights)
    light, heavy = weights / 2.0, np.full(100, 2.0)
    ends = [np.where(labels == one, light, heavy) for one in (1, 0)]
    lower, upper = (intervals.betting(given, labels, 0.1, 2.0)[0] for given in ends)
    assert cal.interval(0.1, "betting", weight_bound=2.0, weight_error=2.0)[0].tolist() == [lower[0], upper[1]]


def test_estimated_weights_must_be_owned_up_to() -> None:
    scores, labels, weights = for_target()
    cal = ImportanceWeightedBinning(4).fit(scores, labels, weights, estimated=True)
    for call in (
        lambda: cal.interval(weight_bound=2.0),
        lambda: cal.certificate(weight_bound=2.0),
        lambda: shift.weighted_interval(fb.BinnedModel.from_bytes(cal.model_.to_bytes()), 2.0),
    ):
        with pytest.raises(fb.GuaranteeError, match=r"Proposition 2 is asymptotic.*give weight_error"):
            call()
    known = ImportanceWeightedBinning(4).fit(scores, labels, weights)
    np.testing.assert_array_equal(cal.interval(weight_bound=2.0, weight_error=1), known.interval(weight_bound=2.0))


def test_certificate() -> None:
    cal = ImportanceWeightedBinning(4).fit(*for_target(3000))
    ends, values = cal.interval(0.1, weight_bound=2.0), cal.model_.values
    certificate = cal.certificate(0.1, weight_bound=2.0)
    assert certificate.epsilon == np.maximum(ends[:, 1] - values, values - ends[:, 0]).max()
    assert cal.certificate(0.1, "marginal", weight_bound=2.0).epsilon < certificate.epsilon
    assert "P(Y | features) is the same" in certificate.explain()
    assert str(certificate).endswith("of the true frequency of label 1 in the target population.")
    with pytest.raises(fb.GuaranteeError, match="weights"):
        cal.model_.certificate()


def test_a_calibrator_survives_pickling() -> None:
    cal = ImportanceWeightedBinning(4).fit(*for_target())
    again = pickle.loads(pickle.dumps(cal))
    assert again.model_ == cal.model_
    np.testing.assert_array_equal(again.interval(weight_bound=2.0), cal.interval(weight_bound=2.0))


@pytest.mark.parametrize("estimator", ["self-normalised", "known-mass"])
def test_a_refused_fit_leaves_the_rows_of_the_model_behind_its_intervals(estimator: str) -> None:
    cal = ImportanceWeightedBinning(4).fit(*for_target())
    before, estimates = cal.interval(weight_bound=2.0), cal.estimates_
    scores = np.linspace(0.0, 1.0, 60)
    with pytest.raises(fb.InputError, match=r"weights in bin 0|relative_mass is None"):  # after the rows were divided
        cal.set_params(estimator=estimator).fit(scores, scores > 0.5, (scores > 0.4) * 1.0)
    np.testing.assert_array_equal(cal.interval(weight_bound=2.0), before)
    assert cal.estimates_ is estimates


# ------------------------------------------------------------------ weights from features


def test_the_whole_procedure_in_one_call() -> None:
    rng = np.random.default_rng(0)
    features, target = rng.random((800, 2)), rng.beta(2, 1, (400, 2))
    scores, labels = features[:, 0], (rng.random(800) < features[:, 0]).astype(int)
    ulsif = shift.ULSIF(sigmas=[0.2, 0.5], lambdas=[0.01, 0.1], n_centers=30)
    shares: list[float] = []
    cal = ImportanceWeightedBinning(4, scheme="ums", split=0.3).fit_to_target(
        scores, labels, features, target, importance=ulsif, progress=shares.append
    )
    assert shares[-1] == 1.0
    by_hand = ImportanceWeightedBinning(4, scheme="ums", split=0.3).fit(
        scores, labels, ulsif.fit(features, target).weights(features), estimated=True
    )
    assert cal.model_ == by_hand.model_
    assert cal.importance_ is ulsif


# ------------------------------------------------------------------ refusals

SCORES, LABELS, WEIGHTS = [0.1, 0.2, 0.6, 0.7], [0, 1, 0, 1], [1.0, 2.0, 1.0, 1.0]


def fit(
    weights: object = WEIGHTS, scores: object = SCORES, labels: object = LABELS, **options: object
) -> ImportanceWeightedBinning:
    settings = {name: options.pop(name) for name in ("n_bins", "partition", "scheme", "split", "estimator") if name in options}
    settings.setdefault("partition", [0.5])
    return ImportanceWeightedBinning(**settings).fit(scores, labels, weights, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(None), "sample_weight is None; give the density ratio"),
        (lambda: fit([1, 2, -1, 1]), r"sample_weight\[2\] is -1; weights must be finite and not negative"),
        (lambda: fit([1, 2, np.inf, 1]), r"sample_weight\[2\] is inf"),
        (lambda: fit([1, np.nan, 1, 1]), r"sample_weight\[1\] is nan"),
        (lambda: fit([1, 1, 0, 0]), r"all 2 weights in bin 1 \(from 0.5 to the highest score\) are 0"),
        (lambda: fit([1e200, 1, 1, 1]), "whose square overflows"),
        (lambda: fit([1, 1]), "sample_weight has 2"),
        (lambda: fit([], [], []), "scores is empty"),
        (lambda: fit(scores=[0.1, 0.2, 1.6, 0.7]), r"scores\[2\] is 1.6"),
        (lambda: fit(labels=[0, 1, 2, 1]), r"labels\[2\] is 2"),
        (lambda: fit(partition=[0.5, 0.4]), r"partition\[1\] is 0.4, not above partition\[0\].*edges must rise strictly"),
        (lambda: fit(partition=[np.nan]), r"partition\[0\] is NaN"),
        (lambda: fit(partition=[1.5]), r"partition\[0\] is 1.5, outside \[0, 1\]"),
        (lambda: fit(partition=None, n_bins=3), "4 samples are too few for n_bins=3"),
        (lambda: fit(partition=None, n_bins=3, scheme="ums"), "puts 2 of 4 samples"),
        (lambda: fit(partition=None, n_bins=1, scheme="ze"), "choose one of 'umd', 'ums'"),
        (lambda: fit(partition=None, n_bins=1, tie_keys=[1, 2, 3, 4]), "tie_keys is given without a partition"),
        (lambda: fit(estimator="hajek"), "choose one of 'self-normalised'"),
        (lambda: fit(estimator="known-mass"), "relative_mass is None"),
        (lambda: fit(estimator="known-mass", relative_mass=[1.0]), r"relative_mass has shape \(1,\)"),
        (lambda: fit(estimator="known-mass", relative_mass=[1.0, 0.0]), r"relative_mass\[1\] is 0.0"),
        (lambda: fit(estimator="counted-mass", source_scores=[0.1]), "needs source_scores and target_scores"),
        (lambda: fit(estimator="counted-mass", source_scores=[0.1], target_scores=[0.2]), "no target score is in bin 1"),
        (lambda: fit(estimator="counted-mass", source_scores=[], target_scores=[0.2]), "source_scores is empty"),
        (lambda: fit(estimator="known-mass", relative_mass=["a", 1.0]), "relative_mass must be numbers, one per bin"),
        (
            lambda: fit(estimator="counted-mass", source_scores=[0.1, np.nan], target_scores=[0.2]),
            r"source_scores\[1\] is NaN; remove such rows",
        ),
        (
            lambda: fit(estimator="counted-mass", source_scores=[0.1, 0.7], target_scores=[2.0, 0.2]),
            r"target_scores\[0\] is 2.0, outside \[0, 1\]; pass probabilities",
        ),
        (lambda: fit().interval(weight_bound={}), "weight_bound must be one number, or one per bin"),
        (lambda: fit().interval(weight_bound=2.0, weight_error="a"), "weight_error must be a real number"),
        (lambda: fit(target_scores=[0.2]), "for estimator='counted-mass', not 'self-normalised'"),
        (lambda: fit().interval(), "weight_bound is None.*among the samples, 2, is only a lower bound"),
        (lambda: fit().interval(weight_bound=1.5), "a weight in bin 0 is 2, above the weight_bound 1.5"),
        (lambda: fit().interval(0.1, "self-normalised-hoeffding", weight_bound=1.5), "above the weight_bound 1.5"),
        (lambda: fit().interval(weight_bound=[2.0, 2.0, 2.0]), "one for each of the 2 bins"),
        (lambda: fit().interval(weight_bound=2.0, weight_error=0.9), "weight_error is 0.9"),
        (lambda: fit().interval(0.1, "theorem7", weight_bound=9.0, weight_error=1.1), "cannot allow for weight_error"),
        (lambda: fit().interval(0.1, "theorem7", weight_bound=2.0), "weight_min is None"),
        (lambda: fit().interval(0.1, "theorem10", weight_bound=2.0), "Theorem 10 needs relative_mass"),
        (lambda: fit().interval(0.1, "clopper-pearson", weight_bound=2.0), "choose one of 'betting'"),
        (lambda: fit().certificate(0.1, "ece", weight_bound=2.0), "kind is 'ece'"),
        (lambda: ImportanceWeightedBinning().predict([0.1]), "not fitted"),
        (lambda: shift.effective_sample_sizes(fb.UniformMassBinning(2).fit(SCORES, LABELS).model_), "without importance"),
        (lambda: ImportanceWeightedBinning().fit_to_target(SCORES, LABELS, [[0.1]], [[0.1]]), "lengths differ"),
    ],
)  # fmt: skip
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(fb.FastbinError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(("scheme", "ties"), [("ze", "random"), ("umb", "random"), ("umd", "upper")])
def test_tallies_that_no_weighted_bound_covers(scheme: str, ties: str) -> None:
    scores, labels, weights = for_target(decimals=1)
    model = fb.UniformMassBinning(4, scheme=scheme, ties=ties).fit(scores, labels, sample_weight=weights).model_
    with pytest.raises(fb.GuaranteeError, match=re.escape("Gupta & Ramdas 2021")):
        shift.weighted_interval(model, 2.0)
