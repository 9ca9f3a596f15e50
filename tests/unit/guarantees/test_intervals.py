"""Intervals for the bins of a fitted model."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom
from simulation.evidence import fitted, uniform_mass
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees, shift, theory
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin._fit.tally import linf_isotonic
from fastbin.guarantees.evidence import Atoms, Interior, Reading, alpha_of_edges, place_of_rest
from fastbin.guarantees.intervals import interval_of_interior, move_odds
from fastbin.intervals import bonferroni, clopper_pearson, empirical_bernstein, hoeffding, sidak, wilson
from fastbin.intervals.binomial import exact_ends, truncated_ends
from fitting import as_loaded, quietly
from oracle import REPOSITORY, Case, cases
from reference import bounds as reference
from reference import sets as exact_sets
from reference import uniform_mass as reference_fit
from reference.class_rates import parts
from reference.hull import bin_interval, truncated
from reference.whole_ties import WholeBin


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
    """Rates that were given are exact; those that were counted share alpha with the bins by their standard errors."""
    model, given = uniform_mass(), ClassRates(ClassRate("given", 0.25), ClassRate("given", 0.5))  # odds 1/3 and 1: times 3
    source, moved = guarantees.interval(model), guarantees.interval(replace(model, odds_ratio=3.0, rates=given))
    odds = source / (1 - source)
    np.testing.assert_allclose(moved, 3 * odds / (1 + 3 * odds))
    ends = guarantees.interval(fitted([0, 5], [5, 5], odds_ratio=3.0, rates=given))
    assert ends[0, 0] == 0.0
    assert ends[1, 1] == 1.0
    counted = given._replace(target=ClassRate("counted", 0.5, 200, 100))
    wider = guarantees.interval(replace(model, odds_ratio=3.0, rates=counted), 0.1)
    of_bins, of_rate = parts(0.1, [10 / model.n_samples, 1 / 200])
    low, high = clopper_pearson([100], [200], of_rate)[0]
    at_part = guarantees.interval(model, of_bins)
    np.testing.assert_allclose(wider[:, 0], move_odds(at_part[:, 0], 0.25, low))
    np.testing.assert_allclose(wider[:, 1], move_odds(at_part[:, 1], 0.25, high))


def test_intervals_that_would_not_count_the_rates_in_are_refused() -> None:
    model, given = uniform_mass(), ClassRate("given", 0.5)
    with pytest.raises(GuaranteeError, match=r"does not say how these are known \(files of fastbin 0\.1\.0"):
        guarantees.interval(replace(model, odds_ratio=3.0))
    estimated = ClassRates(given, ClassRate("estimated", 0.5, 77))
    for method in ("clopper-pearson", "wilson"):
        with pytest.raises(GuaranteeError, match="the target rate was estimated from 77 scores without labels"):
            guarantees.interval(replace(model, rates=estimated), 0.1, method)
    for kind, bound in (("marginal", None), ("ece", None), ("conditional", "hoeffding")):
        with pytest.raises(GuaranteeError, match="after label shift only kind='conditional' and kind='ratio' with"):
            guarantees.certify(replace(model, rates=ClassRates(given, given)), 0.1, kind, bound)


def test_intervals_refuse_what_certificates_refuse_except_the_approximate_one() -> None:
    isotonic = replace(uniform_mass(), scheme="isotonic")
    refused(GuaranteeError, "isotonic regression has no certificate", guarantees.interval, isotonic)
    assert guarantees.interval(isotonic, bound="wilson").shape == (10, 2)
    weighted = replace(uniform_mass(), is_weighted=True)
    for method in ("clopper-pearson", "wilson"):
        refused(GuaranteeError, r"fb\.shift\.weighted_interval", guarantees.interval, weighted, bound=method)
    refused(GuaranteeError, "carries no tally", guarantees.interval, replace(uniform_mass(), counts=None), bound="wilson")
    refused(InputError, "bound is 'bayes'", guarantees.interval, uniform_mass(), bound="bayes")


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


# ------------------------------------------------------------------------------------------------- prediction sets


grid_scores = st.sampled_from([0.0, 5e-324, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1 - 2**-53, 1.0])
scores_and_labels = st.lists(st.tuples(st.one_of(grid_scores, st.floats(0, 1)), st.integers(0, 1)), max_size=25)
levels = st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=200)


def _as_lists(sets: Any) -> list[list[int]]:
    return [[label for label in (0, 1) if row[label]] for row in sets]


@cases("split_conformal")
def test_split_conformal_oracle(case: Case) -> None:
    inputs = case.inputs
    assert theory.conformal_rank(len(inputs["scores"]), inputs["alpha"]) == case.expected["rank"]
    found = theory.conformal_sets(inputs["queries"], inputs["scores"], inputs["labels"], inputs["alpha"])
    assert _as_lists(found) == case.expected["sets"]


@settings(deadline=None)
@given(scores_and_labels, st.lists(st.one_of(grid_scores, st.floats(0, 1)), max_size=6), levels)
def test_conformal_sets_equal_the_reference(sample: list[tuple[float, int]], queries: list[float], alpha: Fraction) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    _, threshold = exact_sets.conformal_threshold(scores, labels, alpha)
    expected = [sorted(exact_sets.conformal_set(query, threshold)) for query in queries]
    assert _as_lists(theory.conformal_sets(queries, scores, labels, alpha)) == expected


@settings(deadline=None)
@given(scores_and_labels, st.lists(st.floats(0, 1), max_size=6), levels)
def test_class_conditional_sets_compare_within_the_class(
    sample: list[tuple[float, int]], queries: list[float], alpha: Fraction
) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    found = theory.conformal_sets(queries, scores, labels, alpha, class_conditional=True)
    for query, row in zip(queries, found, strict=True):
        for label in (0, 1):
            of_class = [score for score, y in sample if y == label]
            _, threshold = exact_sets.conformal_threshold(of_class, [label] * len(of_class), alpha)
            assert row[label] == (label in exact_sets.conformal_set(query, threshold))


@settings(deadline=None)
@given(scores_and_labels, st.floats(0, 1), levels, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1 - 2**-53]))
def test_randomised_sets_compare_the_smoothed_p_value(
    sample: list[tuple[float, int]], query: float, alpha: Fraction, draw: float
) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    row = theory.conformal_sets([query], scores, labels, alpha, uniforms=[draw])[0]
    conservative = theory.conformal_sets([query], scores, labels, alpha)[0]
    seen = [1 - Fraction(score) if label else Fraction(score) for score, label in sample]
    for label in (0, 1):
        own = 1 - Fraction(query) if label else Fraction(query)
        greater, alike = sum(a > own for a in seen), sum(a == own for a in seen)
        p = (greater + Fraction(draw) * (alike + 1)) / (len(seen) + 1)
        if abs(p - alpha) > Fraction(1, 10**12):
            assert row[label] == (p > alpha)
        assert row[label] <= conservative[label]


def test_ranks_are_rational() -> None:
    assert theory.conformal_rank(9, 0.7) == 3
    assert math.ceil((9 + 1) * (1 - 0.7)) == 4
    for alpha in (Fraction(1, 3), "1/3"):
        assert theory.conformal_rank(11, alpha) == 8
    assert theory.conformal_rank(0, 0.5) == 1
    assert theory.conformal_rank(10**12, 0.1) == 9 * 10**11 + 1


def test_nonconformities_one_rounding_apart_are_told_apart() -> None:
    # 1 - 2^-60 and 1 - 2^-61 both round to 1; exactly, the second is the larger.
    scores, labels = [2.0**-60], [1]
    assert _as_lists(theory.conformal_sets([2.0**-61, 2.0**-60, 2.0**-59], scores, labels, 0.5)) == [[0], [0, 1], [0, 1]]


def test_without_calibration_samples_every_label_is_possible() -> None:
    assert theory.conformal_sets([0.0, 1.0], [], [], 0.1).all()
    assert theory.conformal_sets([], [0.5], [1], 0.1).shape == (0, 2)


def test_conformal_bad_input_is_named() -> None:
    refused(InputError, r"calibration_scores\[1\] is 2\.0", theory.conformal_sets, [0.5], [0.5, 2.0], [0, 1], 0.1)
    refused(InputError, r"calibration_labels\[0\] is 3", theory.conformal_sets, [0.5], [0.5], [3], 0.1)
    with pytest.raises(InputError, match="calibration_scores has 2, calibration_labels has 1"):
        theory.conformal_sets([0.5], [0.5, 0.5], [1], 0.1)
    with pytest.raises(InputError, match=r"uniforms\[0\] is 1\.0; uniform numbers are in"):
        theory.conformal_sets([0.5], [0.5], [1], 0.1, uniforms=[1.0])
    with pytest.raises(InputError, match=r"uniforms has shape \(2,\) for 1 scores"):
        theory.conformal_sets([0.5], [0.5], [1], 0.1, uniforms=[0.1, 0.2])
    refused(InputError, r"did you mean 0.015", theory.conformal_sets, [0.5], [0.5], [1], "3/2")


# ---------------------------------------------------------------------------------------------- sets of bins


def _p_value(ones: int, count: int, label: int, draw: Fraction) -> Fraction:
    """The smoothed conformal p-value of `label` in a bag: the rarer a label in the bag with it in, the less it conforms."""
    bag = [1] * ones + [0] * (count - ones) + [label]
    nonconformity = [-bag.count(y) for y in bag]
    greater = sum(a > nonconformity[-1] for a in nonconformity)
    alike = sum(a == nonconformity[-1] for a in nonconformity)
    return (greater + draw * alike) / Fraction(len(bag))


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), levels)
def test_bin_sets_are_conformal_prediction_within_the_bin(ones: int, zeros: int, alpha: Fraction) -> None:
    count = ones + zeros
    row = guarantees.bin_sets(fitted([ones, 1], [count, 2]), alpha)[0]
    chances = theory.bin_set_chances(fitted([ones, 1], [count, 2]), alpha)[0]
    for label in (0, 1):
        assert row[label] == (_p_value(ones, count, label, Fraction(1)) > alpha)
        # In the set iff the p-value at 1 - u exceeds alpha iff u < chance: at the chance it is alpha, or it never reaches it.
        at_chance = _p_value(ones, count, label, 1 - Fraction(float(chances[label])))
        if 0 < chances[label] < 1:
            assert abs(at_chance - alpha) < Fraction(1, 10**12)
        else:
            assert chances[label] == (1.0 if _p_value(ones, count, label, Fraction(0)) >= alpha else 0.0)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 10), levels)
def test_randomised_bin_sets_cover_exactly(count: int, tenths: int, alpha: Fraction) -> None:
    # Over all label sums of a bin with frequency p, the next label is in the set with probability 1 - alpha, to the last digit.
    p = Fraction(tenths, 10)
    coverage = Fraction(0)
    for ones in range(count + 1):
        weight = math.comb(count, ones) * p**ones * (1 - p) ** (count - ones)
        chances = theory.bin_set_chances(fitted([ones], [count]), alpha)[0]
        coverage += weight * (p * Fraction(float(chances[1])) + (1 - p) * Fraction(float(chances[0])))
    assert float(coverage) == pytest.approx(float(1 - alpha), abs=1e-12)


def test_boundary_labels_widen_the_sets() -> None:
    # Own labels are 1 of 9 or 0 of 9: label 1 is rare, and in the set for the first only.
    plain = guarantees.bin_sets(fitted([0, 5], [9, 9]), "3/20")
    widened = guarantees.bin_sets(fitted([1, 5], [10, 9], scheme="ze", n_samples=19), "3/20")
    assert plain[0].tolist() == [True, False]
    assert widened[0].tolist() == [True, True]
    assert theory.bin_set_chances(fitted([0, 5], [9, 9]), "3/20")[0, 1] == 0.0
    # With 1 of 9 the p-value is 2 u / 10, above 3/20 for a quarter of the draws.
    chances = theory.bin_set_chances(fitted([1, 5], [10, 9], scheme="ze", n_samples=19), "3/20")
    assert chances[0, 1] == pytest.approx(0.25)


def test_a_bin_without_samples_excludes_nothing() -> None:
    model = fitted([0, 3], [0, 3], scheme="fixed-width", ties="none")
    assert guarantees.bin_sets(model, 0.3)[0].tolist() == [True, True]


def test_bin_sets_refuse_models_without_exchangeable_labels() -> None:
    for options in ({"scheme": "isotonic"}, {"is_weighted": True}, {"ties": "upper", "n_tied": 2}, {"odds_ratio": 2.0}):
        for function in (guarantees.bin_sets, theory.bin_set_chances):
            with pytest.raises(GuaranteeError):
                function(fitted([1], [3], **options), 0.1)


# ---------------------------------------------------------------------------------------------- monotone values


@given(st.lists(st.floats(0, 1), max_size=12))
def test_linf_isotonic_is_the_least_shift(values: list[float]) -> None:
    found = linf_isotonic(np.asarray(values))
    assert (np.diff(found) >= 0).all()
    shift = max((abs(a - b) for a, b in zip(found, values, strict=True)), default=0.0)
    # No non-decreasing sequence is nearer than half of the largest fall.
    largest_fall = max((a - b for i, a in enumerate(values) for b in values[i:]), default=0.0)
    assert shift <= largest_fall / 2 + 1e-15
    if largest_fall == 0:
        assert found.tolist() == values


# ------------------------------------------------------------------------------------------------- as served


SOURCE_RNG = np.random.default_rng(5)
SCORES = np.round(SOURCE_RNG.random(900), 2)  # ties at every boundary
LABELS = (SOURCE_RNG.random(900) < SCORES).astype(int)
DISTINCT = (np.argsort(np.argsort(SCORES + SOURCE_RNG.random(900) / 100)) + 0.5) / 900  # in the same order
FREQUENCIES = np.arange(900) % 3
IMPORTANCE = 0.5 + DISTINCT
NEW = np.linspace(0.0, 1.0, 101)
KEYS = np.arange(101, dtype=np.uint64) * np.uint64(2**57)
TARGET_LABELS = np.arange(100) < 10

SCHEMES_AND_TIES = [
    *((scheme, ties) for scheme in ("umd", "ze", "ums") for ties in ("whole", "random", "upper")),
    *(("umb", ties) for ties in ("whole", "random")),
]
EARLIER = [("umd", "isolate"), ("umb", "lower")]  # models that come from files alone
# Ties that all went to one side have no theorem.
REFUSED = {f"{scheme}-{ties}" for scheme, ties in SCHEMES_AND_TIES + EARLIER if ties in ("upper", "lower")} - {"ums-upper"}
METHODS = ("clopper-pearson", "hoeffding", "empirical-bernstein", "wilson")


def moved(source: Any = None, **options: Any) -> shift.LabelShift:
    told = {} if options.get("method") else {"labels": TARGET_LABELS}
    return shift.LabelShift(fb.UniformMassBinning(6).fit(SCORES, LABELS) if source is None else source, **options).fit(**told)


def with_a_gap() -> fb.FixedWidthBinning:
    with pytest.warns(fb.FastbinWarning, match="bins 2, 3 of 4"):
        return fb.FixedWidthBinning(4).fit(SCORES / 2.5, LABELS)


def streamed(*arguments: Any, **options: Any) -> fb.BinnedModel:
    stream = fb.online.StreamingBinning(*arguments, **options)
    stream.update(DISTINCT, LABELS)
    return stream.model()


def of_uniform_mass(**options: Any) -> Callable[[], Any]:
    return lambda: fb.UniformMassBinning(6, **options).fit(SCORES, LABELS)


def earlier(scheme: str, ties: str) -> fb.BinnedModel:
    return as_loaded(reference_fit(SCORES.tolist(), LABELS.tolist(), 6, scheme, ties), scheme)


CARRIED: dict[str, Callable[[], Any]] = {
    **{f"{scheme}-{ties}": of_uniform_mass(scheme=scheme, ties=ties) for scheme, ties in SCHEMES_AND_TIES},
    **{f"{scheme}-{ties}": lambda scheme=scheme, ties=ties: earlier(scheme, ties) for scheme, ties in EARLIER},
    **{f"{s}-distinct": lambda s=s: fb.UniformMassBinning(6, scheme=s).fit(DISTINCT, LABELS) for s in ("umd", "ze", "umb")},
    "edges of a share": of_uniform_mass(edges_share=0.5),
    "monotone": of_uniform_mass(monotone=True),
    "delta": of_uniform_mass(delta=0.01),
    "frequencies": lambda: fb.UniformMassBinning(6).fit(SCORES, LABELS, sample_weight=FREQUENCIES),
    "fixed-width": lambda: fb.FixedWidthBinning(7).fit(SCORES, LABELS),
    "fixed-width, an empty bin": with_a_gap,
    "explicit": lambda: fb.ExplicitBinning([0.1, 0.5, 0.52]).fit(SCORES, LABELS),
    "scaling-binning": lambda: fb.ScalingBinning(6).fit(SCORES, LABELS),
    "stream": lambda: streamed([0.2, 0.6]),
    "stream of a model's bins": lambda: streamed(fb.UniformMassBinning(5).fit(SCORES, LABELS)),
    "stream that goes on": lambda: streamed(fb.UniformMassBinning(5, ties="random").fit(SCORES, LABELS), continue_fit=True),
    "moved by labels": moved,
    "moved by labels, smoothed": lambda: moved(smoothing="add-half"),
    "moved by labels, source rate given": lambda: moved(source_rate=0.4),
    "moved to a known rate": lambda: moved(method="known", target_rate=0.02),
    "moved between known rates": lambda: moved(method="known", target_rate=0.02, source_rate=0.4),
    "moved, delta": lambda: moved(of_uniform_mass(delta=0.01)()),
    "moved, ze": lambda: moved(fb.UniformMassBinning(6, scheme="ze").fit(DISTINCT, LABELS)),
    "moved, ums": lambda: moved(of_uniform_mass(scheme="ums")()),
    "moved, an empty bin": lambda: moved(with_a_gap()),
    "moved, monotone": lambda: moved(of_uniform_mass(monotone=True)()),
    "moved, out of range": lambda: moved(of_uniform_mass()().model_.with_out_of_range("clip")),
}


def as_model(made: Any) -> fb.BinnedModel:
    model: fb.BinnedModel = made if isinstance(made, fb.BinnedModel) else made.model_
    return model


def served(made: Any, folder: Path) -> dict[str, Any]:
    """The calibrator, its model, and each way in which that comes to where it is served."""
    model = as_model(made)
    model.save(folder / "model.fbm")
    ways: dict[str, Any] = {
        "file": fb.load(folder / "model.fbm"),
        "bytes": fb.BinnedModel.from_bytes(model.to_bytes()),
        "pickle": pickle.loads(pickle.dumps(model)),
        "parts": model._replace(),
    }
    if not isinstance(made, fb.BinnedModel):
        ways |= {"model_": model, "pickled calibrator": pickle.loads(pickle.dumps(made))}
    return ways


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the words with which it refused."""
    try:
        answer = call()
    except fb.GuaranteeError as error:
        return f"refused: {error}"
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def promises(holder: Any, alpha: float) -> dict[str, Any]:
    """Everything that a calibrator or a model says of its truth; for a calibrator by its own methods where it has them."""
    model = as_model(holder)
    calls: dict[str, Callable[[], Any]] = {}
    for method in METHODS:
        for simultaneous in (True, False):
            arguments = (alpha, method, simultaneous)
            of_holder = getattr(holder, "interval", model.interval)
            calls[f"interval {arguments}"] = lambda arguments=arguments, of_holder=of_holder: of_holder(*arguments)
    for kind in ("conditional", "marginal", "ece", "expected-ece"):
        for bound in (None, "a-priori"):
            calls[f"certificate {kind} {bound}"] = lambda kind=kind, bound=bound: holder.certificate(alpha, kind, bound)
    calls["predict_interval"] = lambda: getattr(holder, "predict_interval", model.predict_interval)(
        NEW, alpha=alpha, tie_keys=KEYS
    )
    calls["predict_set"] = lambda: getattr(holder, "predict_set", model.predict_set)(NEW, alpha=alpha, tie_keys=KEYS)
    calls["monitor"] = lambda: fb.online.CalibrationMonitor(holder, interval_alpha=alpha).tolerated
    return {name: outcome(call) for name, call in calls.items()}


@pytest.mark.sampled
@pytest.mark.parametrize("alpha", [0.1, 1e-6])
@pytest.mark.parametrize("name", CARRIED)
def test_every_way_gives_the_same_intervals(name: str, alpha: float, tmp_path: Path) -> None:
    made = CARRIED[name]()
    expected = promises(made, alpha)
    for way, holder in served(made, tmp_path).items():
        assert promises(holder, alpha) == expected, way


@pytest.mark.parametrize("name", CARRIED)
def test_monitors_tolerate_the_intervals(name: str, tmp_path: Path) -> None:
    made = CARRIED[name]()
    loaded = served(made, tmp_path)["file"]
    if name in REFUSED:
        refused(fb.GuaranteeError, "sends them all to one side", loaded.interval, 0.05)
        refused(fb.GuaranteeError, "sends them all to one side", fb.online.CalibrationMonitor, made, interval_alpha=0.05)
        return
    ends = loaded.interval(0.05)
    monitor = fb.online.CalibrationMonitor(made, interval_alpha=0.05)
    wide = np.stack([np.maximum(ends[:, 0] - loaded.delta, 0.0), np.minimum(ends[:, 1] + loaded.delta, 1.0)], axis=1)
    np.testing.assert_array_equal(monitor.tolerated, wide)
    again = fb.online.CalibrationMonitor.from_bytes(monitor.to_bytes())
    np.testing.assert_array_equal(again.tolerated, wide)


def test_most_have_intervals_to_compare(tmp_path: Path) -> None:
    """Refusing on both sides counts as agreement: that must not be all there is."""
    refused = {name for name, make in CARRIED.items() if isinstance(promises(make(), 0.1)["monitor"], str)}
    assert refused == REFUSED


def test_counted_rates_widen_what_is_served(tmp_path: Path) -> None:
    """The error of a hundred labels is more than that of a known rate, after the file as before."""
    counted = served(moved(source_rate=0.4), tmp_path)["file"]
    known = served(moved(method="known", target_rate=0.1, source_rate=0.4), tmp_path)["file"]
    np.testing.assert_array_equal(counted.values, known.values)
    wide, narrow = counted.interval(0.1), known.interval(0.1)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    assert counted.certificate(0.1).epsilon > 2 * known.certificate(0.1).epsilon


# ------------------------------------------------------------------ what a model cannot carry


def weighted() -> shift.ImportanceWeightedBinning:
    return shift.ImportanceWeightedBinning(5).fit(DISTINCT, LABELS, IMPORTANCE)


def by_scores(method: str) -> shift.LabelShift:
    source = fb.UniformMassBinning(6).fit(SCORES, LABELS)
    return shift.LabelShift(source, method=method, n_bootstrap=5).fit(DISTINCT)


NOT_CARRIED: dict[str, tuple[Callable[[], Any], str]] = {
    "importance weights": (weighted, "use fb.shift.weighted_interval"),
    "weighted fit": (
        lambda: fb.UniformMassBinning(5).fit(SCORES, LABELS, sample_weight=IMPORTANCE), "use fb.shift.weighted_interval",
    ),
    "likelihood": (lambda: by_scores("likelihood"), r"count labels with method='labels' \(--target-labels\)"),
    "confusion": (lambda: by_scores("confusion"), r"count labels with method='labels' \(--target-labels\)"),
    "isotonic": (lambda: fb.IsotonicCalibration().fit(SCORES, LABELS), "use UniformMassBinning with monotone values"),
    "platt": (lambda: fb.PlattScaling().fit(SCORES, LABELS), "put bins behind it"),
    "temperature": (lambda: fb.TemperatureScaling().fit(SCORES, LABELS), "put bins behind it"),
    "beta": (lambda: fb.BetaScaling().fit(DISTINCT, LABELS), "put bins behind it"),
    "of 0.1.0": (
        lambda: fb.load(REPOSITORY / "tests/golden/0.1.0/models/label-shift.fbm"), "move the source model again with fb.shift",
    ),
    "of 0.1.0, known": (
        lambda: fb.load(REPOSITORY / "tests/golden/0.1.0/models/label-shift-known.fbm"), "move the source model again with",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CARRIED)
def test_what_cannot_be_carried_is_refused_with_the_remedy(name: str, tmp_path: Path) -> None:
    make, remedy = NOT_CARRIED[name]
    made = make()
    for holder in served(made, tmp_path).values():
        if isinstance(holder, fb.BinnedModel):
            for call in (holder.interval, holder.certificate, lambda model=holder: model.predict_interval(NEW, tie_keys=KEYS)):
                refused(fb.GuaranteeError, remedy, call)
            if holder.kind == "step":
                refused(fb.GuaranteeError, remedy, fb.online.CalibrationMonitor, holder, interval_alpha=0.1)


def test_counting_does_not_go_on_from_a_moved_tally() -> None:
    """Not even where the two rates are equal, so that no value moved."""
    source = fb.UniformMassBinning(6, ties="random").fit(SCORES, LABELS)
    rate = shift.source_rate_of(source.model_)
    cal = shift.LabelShift(source, method="known", target_rate=rate).fit()
    assert cal.model_.odds_ratio == 1.0
    refused(fb.GuaranteeError, "moved to other class rates", fb.online.StreamingBinning, cal, continue_fit=True)


# ------------------------------------------------------------------------------------------------- heavy scores at edges


def heavy(n: int = 400, scores: int = 5, **options: Any) -> fb.BinnedModel:
    """A fit to few scores, whose rates are 0.05 and 0.95 in turn."""
    rng = np.random.default_rng(n)
    places = rng.integers(0, scores, n)
    labels = rng.random(n) < np.where(places % 2, 0.95, 0.05)
    return quietly(fb.UniformMassBinning(4, **options).fit, places / scores, labels).model_


def ends_of(model: Any, level: float) -> list[tuple[float, float]]:
    return [tuple(ends) for ends in guarantees.interval(model, level, simultaneous=False).tolist()]


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_samples_at_heavy_edges_are_counted_apart(scheme: str) -> None:
    model = heavy(200, scheme=scheme)
    plain = model._replace(atom_counts=None)
    rest, parted = place_of_rest(model), 0
    of_edges, of_rest = alpha_of_edges(0.1), (0.1 - alpha_of_edges(0.1)) / 3
    for b, found in enumerate(ends_of(model, 0.1)):
        (r, f, y), (C, k) = model.tie_counts[b].tolist(), model.atom_counts[b].tolist()
        left_out = int(scheme == "umd" and r > 0)
        whole = WholeBin(int(model.counts[b]) + left_out, int(model.label_sums[b]) + left_out * y, None, C, r, f, y, k)
        slow = bin_interval(whole, of_rest if b == rest else of_edges, is_rest=b == rest)
        assert found == pytest.approx(slow, abs=1e-9)
        parted += found != ends_of(plain, 0.1)[b]
    assert parted >= 2
    assert "Theorem F19" in model.certificate().theorem
    assert "Theorem F19" in model.certificate(kind="ece").theorem
    assert "Theorem F19" not in plain.certificate().theorem
    assert model.certificate().epsilon < plain.certificate().epsilon


def test_what_keeps_the_hull() -> None:
    """Bounds known before labels, sets of labels, Hoeffding's intervals, and edges that a share of the samples placed."""
    model = heavy()
    plain = model._replace(atom_counts=None)
    for bound in ("a-priori", "hoeffding"):
        assert model.certificate(bound=bound) == plain.certificate(bound=bound)
    assert np.array_equal(guarantees.bin_sets(model), guarantees.bin_sets(plain))
    for bound in ("hoeffding", "wilson"):
        assert np.array_equal(guarantees.interval(model, bound=bound), guarantees.interval(plain, bound=bound))
    shared = heavy(edges_share=0.5)
    assert (shared.atom_counts[1:, 0] > shared.tie_counts[1:, 0]).all()
    assert shared.certificate() == shared._replace(atom_counts=None).certificate()


@pytest.mark.parametrize("alpha", ["1/20", "1/8", "1/5"])
@pytest.mark.parametrize(("scores", "rest"), [(3, None), (4, 0), (5, None)])
def test_sets_with_heavy_edges_are_those_of_either_reading(scores: int, rest: int | None, alpha: str) -> None:
    """At alpha / 2, with the samples that were sure to be at the edge, and without (Theorem F8)."""
    model, expected = heavy(400, scores), []
    assert place_of_rest(model) == rest
    for (r, f, y), count, ones in zip(model.tie_counts.tolist(), model.counts.tolist(), model.label_sums.tolist(), strict=True):
        x, n = ones + y, count + (r > 0)
        p_values = [[_p_value(x, n, label, Fraction(1)), _p_value(x - f, n - r, label, Fraction(1))] for label in (0, 1)]
        expected.append([max(of_label) > Fraction(alpha) / 2 for of_label in p_values])
    assert guarantees.bin_sets(model, alpha).tolist() == expected


def test_sets_of_a_bin_whose_edge_is_not_written_are_about_scores_from_the_edge_up() -> None:
    """Label 1 has 20 of 201 samples from the edge up, and 20 of the 100 that were not sure to be there."""
    scores, row = np.repeat(np.arange(4) / 4, [101, 100, 100, 99]), np.arange(400)
    model = quietly(
        fb.UniformMassBinning(4).fit, scores, np.where(scores == 0.25, row % 5 == 0, (scores > 0.3) & (row % 2 == 0))
    ).model_
    assert place_of_rest(model) == 0
    assert [bool(guarantees.bin_sets(model, alpha)[0, 1]) for alpha in (0.3, 0.45)] == [True, False]


def test_samples_at_heavy_edges_travel_and_are_promised_in_sets() -> None:
    model = heavy()
    for copy in (pickle.loads(pickle.dumps(model)), fb.BinnedModel.from_bytes(model.to_bytes())):
        assert np.array_equal(copy.atom_counts, model.atom_counts)
    rng, segments = np.random.default_rng(200), np.arange(600) % 3
    places = rng.integers(0, 5, 600)
    labels = rng.random(600) < np.where(places % 2, 0.95, 0.05)
    scores = np.where(segments == 2, np.arange(600) / 600, places / 5)  # no ties in the last segment
    models = quietly(fb.multi.SegmentedBinning(fb.UniformMassBinning(4)).fit, scores, labels, segments).model_
    assert models[2].atom_counts is None
    hulls = {key: model._replace(atom_counts=None) for key, model in models.models.items()}
    plain = fb.ModelSet._of(hulls, kind=models.kind)
    narrow, wide = (dict(each.certificate(0.1, bound="clopper-pearson").parts) for each in (models, plain))
    assert narrow[2].radii == wide[2].radii
    assert narrow[1].epsilon < wide[1].epsilon
    assert models.interval(0.1)[1][1, 0] > plain.interval(0.1)[1][1, 0] + 0.05


@pytest.mark.parametrize("level", [0.3, 1e-3, 1e-8])
def test_ends_of_truncated_laws_are_the_reference(level: float) -> None:
    parts = [(n, least, step) for n, step in ((2, 1), (7, 1), (40, 3)) for least in (1, 2, n // 2, n)]
    cases = [(c, n, least) for n, least, step in parts for c in range(max(least, 1), n + 1, step) if least]
    found = truncated_ends(*np.array(cases).T, level)
    np.testing.assert_allclose(found, [truncated(*case, level) for case in cases], atol=1e-9)


def test_ends_of_truncated_laws_lie_outside_where_tails_are_tiny() -> None:
    found = truncated_ends(np.array([102, 112, 160]), np.array([200] * 3), np.array([100] * 3), 1e-4)
    for ends, c in zip(found, (102, 112, 160), strict=True):
        low, high = truncated(c, 200, 100, 1e-4)
        assert low - 1e-3 < ends[0] <= low + 1e-12
        assert ends[1] == pytest.approx(high, abs=1e-9)
    million = truncated_ends(np.array([500_001, 500_100, 500_000]), np.array([10**6] * 3), np.array([500_000] * 3), 1e-3)
    assert (million[:, 0] > [4e-4, 0.48, -1.0]).all()
    assert (million[:, 0] < [6e-4, 0.482, 1e-300]).all()
    assert (million[:, 1] < 0.502).all()


@pytest.mark.parametrize(("counts", "least"), [(14, 2), (14, 4), (14, 9), (14, 14)])
def test_a_heavy_edge_misses_no_more_often_than_it_says(counts: int, least: int) -> None:
    """Exactly: over all samples at the edge, labels there and above, and labels among those that the rank placed."""
    level, rows = 0.2, []
    for c in range(least, counts + 1):
        rows += [(c, k, x, f) for k in range(c + 1) for x in range(counts - c + 1) for f in range(min(k, least) + 1)]
    c, k, others, f = np.array(rows).T
    sizes, sure = np.full(len(c), counts), np.full(len(c), least)
    first, second = Reading(sizes, k + others), Reading(sizes - least, k + others - f)
    interior = Interior(first, second, np.zeros(len(c), bool), atoms=Atoms(sure, c, k))
    low, high = interval_of_interior(interior, exact_ends, level).T
    assert (low <= high).all()
    for mass, at_edge, above in product([0.02, 0.2, 0.5, 0.8, 0.97], [0.0, 0.03, 0.4, 1.0], [0.0, 0.3, 0.6, 0.98]):
        chances = binom.pmf(c, counts, mass) / binom.sf(least - 1, counts, mass)
        chances *= binom.pmf(k, c, at_edge) * binom.pmf(others, counts - c, above) * hypergeom.pmf(f, c, k, least)
        rate = mass * at_edge + (1.0 - mass) * above
        assert chances.sum() == pytest.approx(1.0)
        assert chances[(rate < low - 1e-12) | (rate > high + 1e-12)].sum() <= level


def test_no_promise_is_made_beyond_what_doubles_count() -> None:
    """A stream counts up to 2**61 samples."""
    stream = fb.online.StreamingBinning([0.5])
    for _ in range(2):
        stream.update_counts([2**52 + 1, 1000], [2**51, 400])
    model = stream.model()
    promises: list[Callable[[], Any]] = [model.interval, lambda: model.interval(bound="hoeffding")]
    promises += [lambda kind=kind: model.certificate(kind=kind) for kind in ("conditional", "marginal", "ece", "ratio")]
    for promise in promises:
        with pytest.raises(fb.GuaranteeError, match=r"a bin holds 9,007,199,254,740,994 samples, and above 2\*\*53"):
            promise()
    assert "9,007,199,254,740,994" in str(model)
    assert "too coarse" in model._repr_html_()
