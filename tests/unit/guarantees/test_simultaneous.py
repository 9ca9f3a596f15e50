"""One promise about many models: joint certificates and intervals."""

from __future__ import annotations

import json
import math
import time
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.evidence import Fitted, fitted, uniform_mass
from wordings import refused

import fastbin as fb
from fastbin import BinnedModel, GuaranteeError, InputError, InputTypeError, guarantees, intervals
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin.guarantees.evidence import alpha_of_edges
from fastbin.guarantees.n_bins import interior_counts
from fastbin.guarantees.simultaneous import share_alpha
from reference import joint as reference
from strategies import examples

# ---------------------------------------------------------------------------------------------- one certificate


# The default bounds of several models.
OF_SETS = {"conditional": "clopper-pearson", "marginal": "clopper-pearson", "ece": "data", "expected-ece": "a-priori"}


def some_models() -> list[Fitted]:
    return [uniform_mass(300, 5), uniform_mass(4000, 10), uniform_mass(1001, 7, "ze"), uniform_mass(900, 6, "umb")]


@pytest.mark.parametrize("kind", ["conditional", "marginal", "ece", "expected-ece"])
@pytest.mark.parametrize("bound", [None, "a-priori", "hoeffding"])
@pytest.mark.parametrize("class_wise", [False, True])
def test_one_model_alone_has_its_own_certificate(kind: str, bound: str | None, class_wise: bool) -> None:
    model, empty = uniform_mass(1000, 10), fitted([0, 0], [0, 0], n_samples=0)
    alone = guarantees.certify(model, 0.07, kind, bound)
    for models, names in (([model], ["a"]), ([empty, model], [None, "a"])):
        joint = guarantees.certify_set(models, 0.07, kind, bound, class_wise=class_wise, names=names)
        assert (joint.epsilon, joint.alpha, joint.theorem) == (alone.epsilon, alone.alpha, alone.theorem)
        assert joint.parts == (("a", alone),)
        assert joint.uncovered == (() if len(models) == 1 else ((None, (0, 1)),))


@pytest.mark.parametrize("kind", ["conditional", "ece"])
@pytest.mark.parametrize("bound", [None, "hoeffding"])
def test_the_parts_are_certificates_at_shares_of_alpha(kind: str, bound: str | None) -> None:
    models = some_models()
    joint = guarantees.certify_set(models, 0.1, kind, bound)
    for (name, part), model in zip(joint.parts, models, strict=True):
        assert part.alpha is not None
        assert part == guarantees.certify(model, part.alpha, kind, bound or OF_SETS[kind]), name
    assert joint.epsilon == max(part.epsilon for _, part in joint.parts)
    assert math.prod(1 - part.alpha for _, part in joint.parts) == pytest.approx(0.9, abs=1e-12)  # type: ignore[operator]
    assert (joint.n_models, joint.n_bins, joint.n_samples) == (4, 28, 6201)
    assert "independent" in joint.theorem
    assert any("belongs to one of the cells" in sentence for sentence in joint.assumptions)


def test_class_wise_models_add_up() -> None:
    models = [uniform_mass(1000, 10), uniform_mass(1000, 4)]
    for kind, bound in (("conditional", None), ("conditional", "a-priori"), ("marginal", None), ("ece", None)):
        joint = guarantees.certify_set(models, 0.1, kind, bound, class_wise=True, cells="classes")
        assert [part for _, part in joint.parts] == [
            guarantees.certify(model, 0.05, kind, bound or OF_SETS[kind]) for model in models
        ]
        assert joint.n_samples == 1000
        assert "union bound over the classes" in joint.theorem
        assert not any("belongs to one" in sentence for sentence in joint.assumptions)


def test_marginal_promises_and_means_share_nothing() -> None:
    models = some_models()
    for kind in ("marginal", "expected-ece"):
        joint = guarantees.certify_set(models, 0.1, kind)
        assert [part for _, part in joint.parts] == [guarantees.certify(model, 0.1, kind) for model in models]


def test_the_a_priori_certificate_has_the_common_radius() -> None:
    models = [*some_models(), uniform_mass(500, 5, delta=0.01)]
    counts = [model.counts - (model.scheme != "umd") * (np.arange(model.n_bins) < model.n_bins - 1) for model in models]
    shifts = [
        np.where(own < model.counts, 1.0 / (own + 1), 0.0) + model.delta for own, model in zip(counts, models, strict=True)
    ]
    joint = guarantees.certify_set(models, 0.1, bound="a-priori")
    assert joint.epsilon == guarantees.common_radius(np.concatenate(counts), 0.1, shifts=np.concatenate(shifts))
    level = intervals.sidak(0.1, sum(model.n_bins for model in models))
    assert joint.epsilon < max(
        guarantees.exact_radius(int(n), level) + shift
        for own, shift_of in zip(counts, shifts, strict=True)
        for n, shift in zip(own, shift_of, strict=True)
    )
    assert {part.epsilon for _, part in joint.parts} == {joint.epsilon}
    assert math.prod(1 - part.alpha for _, part in joint.parts) >= 0.9 - 1e-9  # type: ignore[operator]
    # The label sums have no part in it.
    relabelled = [fitted(m.counts // 3, m.counts, scheme=m.scheme, n_samples=m.n_samples, delta=m.delta) for m in models]
    again = guarantees.certify_set(relabelled, 0.1, bound="a-priori")
    assert again.epsilon == joint.epsilon
    for kind, bound in (("conditional", None), ("ece", None), ("conditional", "hoeffding")):
        first, second = (guarantees.certify_set(of, 0.1, kind, bound) for of in (models, relabelled))
        assert [part.alpha for _, part in first.parts] == [part.alpha for _, part in second.parts]


def test_shares_for_the_ece_know_the_sizes_alone() -> None:
    # The masses in its bound are random given the sizes, and known given the counts: shares must not depend on these.
    def model(counts: list[int]) -> Fitted:
        return fitted(np.array(counts) // 2, counts, scheme="fixed-width", ties="none", n_samples=sum(counts))

    other = uniform_mass(500, 5)
    first, second = (guarantees.certify_set([model(of), other], kind="ece") for of in ([500, 400, 100], [980, 10, 10]))
    assert [part.alpha for _, part in first.parts] == [part.alpha for _, part in second.parts]
    first, second = (guarantees.certify_set([model(of), other]) for of in ([500, 400, 100], [980, 10, 10]))
    assert first.parts[0][1].alpha < second.parts[0][1].alpha  # type: ignore[operator]


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.sampled_from([None, "a-priori"]))
def test_the_order_of_models_does_not_matter(order: list[int], bound: str | None) -> None:
    models = some_models()
    plain = guarantees.certify_set(models, bound=bound, names="abcd")
    moved = guarantees.certify_set([models[i] for i in order], bound=bound, names=["abcd"[i] for i in order])
    assert moved.epsilon == pytest.approx(plain.epsilon, rel=1e-12)
    levels, of_moved = ({name: part.alpha for name, part in joint.parts} for joint in (plain, moved))
    assert of_moved == pytest.approx(levels, rel=1e-12)


def test_small_models_decide_less_than_at_equal_shares() -> None:
    models = [uniform_mass(200, 5), *[uniform_mass(n, 10) for n in (4000, 4001, 20_000)]]
    joint = guarantees.certify_set(models)
    equal = guarantees.certify(models[0], intervals.sidak(0.1, 4)).epsilon
    assert joint.epsilon < equal
    assert joint.parts[0][1].alpha > 0.09  # type: ignore[operator]


def test_what_a_set_certificate_says() -> None:
    models = [uniform_mass(), fitted([], [], n_bins=0, n_samples=0), fitted([3, 0], [9, 0], n_samples=9), uniform_mass(500)]
    models[1] = fitted([0], [0], n_samples=0)
    joint = guarantees.certify_set(models, 0.05, names=["north", "x", "it's", None], cells="segments")
    assert str(joint).startswith(
        "With probability at least 95 % over the 1,509 calibration samples, in each of the 22 bins of 2 segments and the pool "
        "(as mixed in calibration) at once, leaving out 'x' without samples and 1 bin without samples of their own, the "
        "predicted probability is within"
    )
    assert joint.uncovered == (("x", (0,)), ("it's", (1,)))
    assert joint.explain().count("\n- ") == len(joint.assumptions)
    assert any("segments of the pool have the shares of its population" in sentence for sentence in joint.assumptions)
    plain = json.loads(json.dumps(joint.to_dict()))
    assert plain["parts"][2] == [None, joint.parts[2][1].to_dict()]
    assert plain["uncovered"] == [["x", [0]], ["it's", [1]]]
    with pytest.raises(FrozenInstanceError):
        joint.epsilon = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kind", "cells", "said"),
    [
        (
            "conditional",
            "predicted classes",
            "in each of the 20 bins of 2 predicted classes at once, the predicted probability is ",
        ),
        ("conditional", "classes", "of how often the class is the true one."),
        ("marginal", "classes", "in the bin of that sample is for every class within"),
        ("marginal", "segments", "of the true frequency of label 1 there (20 bins of 2 segments)."),
        ("ece", "segments", "the expected calibration error of each of 2 segments at once, and so of all of them, is at most"),
        (
            "expected-ece",
            "cells",
            "same counts in the bins, the expected calibration error of each of 2 cells is at most",
        ),
    ],
)
def test_the_sentences(kind: str, cells: str, said: str) -> None:
    models = [uniform_mass(1000), uniform_mass(1001)]
    assert said in str(guarantees.certify_set(models, kind=kind, cells=cells, class_wise=cells == "classes"))


# ---------------------------------------------------------------------------------------------- fitted models


def fit(n: int, seed: int, decimals: int | None = None, **options: Any) -> BinnedModel:
    rng = np.random.default_rng(seed)
    scores = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    calibrator = options.pop("calibrator", fb.UniformMassBinning)
    return calibrator(**options).fit(scores, rng.random(n) < scores).model_  # type: ignore[no-any-return]


def test_mixed_schemes() -> None:
    models = [
        fit(1000, 1, n_bins=10),
        fit(600, 2, 2, n_bins=5),  # whole ties
        fit(800, 3, calibrator=fb.CertifiedCalibration, n_bins=8),
        fit(700, 4, calibrator=fb.FixedWidthBinning, n_bins=6),
        fit(900, 5, calibrator=fb.ScalingBinning, n_bins=6),
        fit(900, 6, n_bins=6, delta=0.001),
    ]
    assert models[1].ties == "whole"
    for kind in ("conditional", "marginal", "ece"):
        joint = guarantees.certify_set(models, 0.1, kind)
        for (_, part), model in zip(joint.parts, models, strict=True):
            assert part == guarantees.certify(model, part.alpha, kind, OF_SETS[kind])  # type: ignore[arg-type]
    assert "what is served" in str(guarantees.certify_set(models))
    without_maps = [models[0], models[1], models[3], models[5]]
    joint = guarantees.certify_set(without_maps, bound="a-priori")  # by shares: where ties lie at edges, tails count apart
    assert [part.alpha for _, part in joint.parts] == [part.alpha for _, part in guarantees.certify_set(without_maps).parts]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"calibrator": fb.IsotonicCalibration}, "segment 'south': isotonic regression has no certificate"),
        ({"calibrator": fb.PlattScaling}, "segment 'south': platt scaling has no distribution-free guarantee"),
    ],
)
def test_a_model_without_a_guarantee_is_named(bad: dict[str, Any], reason: str) -> None:
    models = [fit(500, 1, n_bins=5), fit(500, 2, **bad)]
    for certify in (guarantees.certify_set, guarantees.set_intervals):
        refused(GuaranteeError, reason, certify, models, names=["north", "south"], cells="segments")
    for model, kind, bound, reason in (
        (fit(500, 2, calibrator=fb.CertifiedCalibration, n_bins=4), "conditional", "a-priori", "cell 1: .*fitted by a map"),
        (fit(500, 2, calibrator=fb.ScalingBinning, n_bins=4), "conditional", "a-priori", "cell 1: the a-priori bound is about"),
        (fit(500, 2, 2, n_bins=4), "expected-ece", None, "cell 1: the mean error of a bin"),
    ):
        refused(GuaranteeError, reason, guarantees.certify_set, [models[0], model], 0.1, kind, bound)
    weighted = fitted([3.0], [9], is_weighted=True)
    with pytest.raises(GuaranteeError, match="the pool: samples with real weights"):
        guarantees.certify_set([models[0], weighted], names=["north", None])


def test_models_of_the_same_rows_are_refused() -> None:
    model = fit(500, 1, n_bins=5)
    copy = BinnedModel.from_bytes(model.to_bytes())
    for models in ([model, fit(400, 2, n_bins=4), model], [model, fit(400, 2, n_bins=4), copy]):
        for certify in (guarantees.certify_set, guarantees.set_intervals):
            refused(GuaranteeError, "'a' and 'c' have models of the same samples", certify, models, names="abc")
        # One class against the rest is another matter, and so is what does not need independence.
        assert guarantees.certify_set(models, class_wise=True).n_models == 3
        assert len(guarantees.set_intervals(models, simultaneous=False)) == 3
    refused(GuaranteeError, "same samples", guarantees.certify_set, [fit(500, 1, 2, n_bins=8), fit(500, 1, 2, n_bins=8)])


def test_few_distinct_rows_may_well_be_equal() -> None:
    # Scores of one decimal, label 1 is rare: two honest cells of 40 rows can have the same counts.
    scores, labels = np.repeat([0.1, 0.2, 0.3, 0.4], 10), np.zeros(40)
    models = [fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_ for _ in range(2)]
    assert models[0].fingerprint == models[1].fingerprint != 0
    assert guarantees.certify_set(models).n_models == 2


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (ClassRate("counted", 0.5, 200, 100), ClassRate("given", 0.1)),
        (ClassRate("given", 0.5), ClassRate("counted", 0.1, 50, 5)),
    ],
)
def test_models_moved_to_counted_rates_are_refused(source: ClassRate, target: ClassRate) -> None:
    moved = uniform_mass(500, 5, odds_ratio=1 / 9, rates=ClassRates(source, target))
    other = uniform_mass(1000)
    for certify in (guarantees.certify_set, guarantees.set_intervals):
        refused(GuaranteeError, "cell 1: its values were moved to class rates that were counted", certify, [other, moved])
    joint = guarantees.certify_set([other, moved], class_wise=True)
    assert joint.parts[1][1] == guarantees.certify(moved, 0.05)
    assert guarantees.certify_set([moved]).epsilon == guarantees.certify(moved).epsilon


def test_models_moved_by_given_rates_share_as_others() -> None:
    moved = uniform_mass(500, 5, odds_ratio=1 / 9, rates=ClassRates(ClassRate("given", 0.5), ClassRate("given", 0.1)))
    other = uniform_mass(1000)
    joint = guarantees.certify_set([other, moved])
    assert joint.parts[1][1] == guarantees.certify(moved, joint.parts[1][1].alpha)  # type: ignore[arg-type]
    first, second = guarantees.set_intervals([other, moved])
    assert first == pytest.approx(guarantees.interval(other, 1 - 0.9 ** (10 / 15)), abs=1e-9)
    assert second == pytest.approx(guarantees.interval(moved, 1 - 0.9 ** (5 / 15)), abs=1e-9)


@pytest.mark.parametrize(
    ("models", "names", "error", "message"),
    [
        ([], None, InputError, "there are 0 models"),
        ([uniform_mass()], ["a", "b"], InputError, "1 models and 2 names"),
        ([uniform_mass(), 3], None, InputTypeError, r"models\[1\] is of type int"),
        ([fitted([0], [0]), fitted([0], [0])], None, GuaranteeError, "none of the 2 cells holds a sample"),
    ],
)
def test_what_is_no_set_of_models(models: list[Any], names: Any, error: type[Exception], message: str) -> None:
    refused(error, message, guarantees.certify_set, models, names=names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.9}, "did you mean 0.1"),
        ({"kind": "joint"}, "kind is 'joint'"),
        ({"bound": "data"}, "bound is 'data'"),
        ({"cells": "groups"}, "cells is 'groups'"),
        ({"alpha": 1e-100}, "the smallest accepted is 2e-100"),
    ],
)
def test_arguments_out_of_range(options: dict[str, Any], message: str) -> None:
    refused(InputError, message, guarantees.certify_set, [uniform_mass(), uniform_mass(999)], **options)


# ---------------------------------------------------------------------------------------------- intervals

tallies = st.lists(st.integers(0, 25), min_size=1, max_size=4).flatmap(
    lambda counts: st.tuples(st.tuples(*(st.integers(0, count) for count in counts)), st.just(counts))
)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(tallies, min_size=1, max_size=4).filter(lambda models: any(n for _, c in models for n in c)), st.floats(0.01, 0.5)
)
def test_intervals_have_one_level(models: list[tuple[tuple[int, ...], list[int]]], alpha: float) -> None:
    found = guarantees.set_intervals([fitted(*model, scheme="explicit", ties="none") for model in models], alpha)
    for ends, expected in zip(found, reference.equal_intervals(models, alpha), strict=True):
        assert ends == pytest.approx(np.array(expected), abs=1e-11)


@pytest.mark.parametrize("method", ["clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"])
def test_intervals_of_each_method(method: str) -> None:
    models = [*some_models(), fitted([0, 2], [0, 9])]
    n_bins = sum(model.n_bins for model in models) - 1
    one_bin = {"clopper-pearson": intervals.sidak, "wilson": intervals.sidak}.get(method, intervals.bonferroni)(0.1, n_bins)
    for ends, model in zip(guarantees.set_intervals(models, 0.1, method), models, strict=True):
        assert np.array_equal(ends, guarantees.interval(model, one_bin, method, simultaneous=False))
    for ends, model in zip(guarantees.set_intervals(models, 0.1, method, simultaneous=False), models, strict=True):
        assert np.array_equal(ends, guarantees.interval(model, 0.1, method, simultaneous=False))
    for ends, model in zip(guarantees.set_intervals(models, 0.1, method, class_wise=True), models, strict=True):
        assert np.array_equal(ends, guarantees.interval(model, 0.02, method))


@pytest.mark.parametrize("class_wise", [False, True])
def test_intervals_of_one_model_are_its_own(class_wise: bool) -> None:
    for model in (uniform_mass(), uniform_mass(scheme="ze"), fit(600, 2, 2, n_bins=5)):
        empty = fitted([0], [0])
        for simultaneous in (True, False):
            own, nothing = guarantees.set_intervals([model, empty], 0.1, simultaneous=simultaneous, class_wise=class_wise)
            assert np.array_equal(own, guarantees.interval(model, 0.1, simultaneous=simultaneous))
            assert nothing.tolist() == [[0.0, 1.0]]


def test_intervals_where_whole_groups_lie_at_edges() -> None:
    models = [fit(600, 2, 2, n_bins=5), fit(1000, 1, n_bins=10)]
    level = intervals.sidak(0.1, models[0].n_bins + 10)
    # Models of distinct scores have what those with ties leave for a bin without an edge.
    for ends, model, own in zip(guarantees.set_intervals(models), models, (level, alpha_of_edges(level)), strict=True):
        np.testing.assert_allclose(ends, guarantees.interval(model, own, simultaneous=False), rtol=1e-12)
    for ends, model in zip(guarantees.set_intervals(models, simultaneous=False), models, strict=True):
        assert np.array_equal(ends, guarantees.interval(model, simultaneous=False))
    refused(GuaranteeError, "cell 0: whole groups", guarantees.set_intervals, models, bound="empirical-bernstein")


def with_rest(n: int, seed: int, n_bins: int) -> BinnedModel:
    """A model of scores of which 70 % are 0."""
    rng = np.random.default_rng(seed)
    uniform = rng.random(n)
    model = fb.UniformMassBinning(n_bins).fit(np.where(uniform < 0.7, 0.0, uniform), rng.random(n) < uniform).model_
    assert model.tie_counts[0, 0] > 0
    return model  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
def test_the_levels_of_rests_are_known_before_the_scores() -> None:
    """A rest has its part of what rests have of alpha by the numbers of rows and of bins alone; edges have the usual shares."""
    models = [with_rest(600, 3, 5), with_rest(3000, 4, 10), fit(600, 2, 2, n_bins=5), fit(1000, 1, n_bins=10)]
    of_edges = 1.0 - 0.9**0.95
    before = reference.shares([m.n_samples // m.n_bins_asked for m in models], [m.n_bins_asked for m in models], 0.1)
    joint = guarantees.certify_set(models, 0.1, "conditional", "clopper-pearson")
    for model, share, (_, part) in zip(models, before, joint.parts, strict=True):
        at_edges = 1.0 - (1.0 - part.alpha) ** 0.95 if model.n_tied else part.alpha  # type: ignore[operator]
        sure, sure_ones, left_out = np.array(model.tie_counts).T if model.n_tied else np.zeros((3, model.n_bins), np.int64)
        rest = np.flatnonzero(sure[:1] > 0)
        levels = np.full(model.n_bins, 1.0 - (1.0 - at_edges) ** (1.0 / (model.n_bins - len(rest))))
        levels[rest] = (0.1 - of_edges) * share / sum(before) / (model.n_bins_asked - 1)
        counts, ones = model.counts + (sure > 0), model.label_sums + left_out
        sure[rest], sure_ones[rest] = 0, 0
        for value, level, radius, *tally in zip(
            model.values, levels, part.radii, ones, counts, ones - sure_ones, counts - sure, strict=True
        ):  # fmt: skip
            ends = intervals.clopper_pearson(tally[::2], tally[1::2], float(level))
            assert radius == pytest.approx(np.abs(ends - value).max(), abs=1e-12)
    chances = [1.0 - part.alpha for _, part in joint.parts[:3]]
    assert math.prod(chances) ** 0.95 * (1.0 - joint.parts[3][1].alpha) == pytest.approx(1.0 - of_edges, abs=1e-12)


@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
def test_a_rest_of_steps_has_its_part_in_sets_too() -> None:
    scores = np.arange(1, 900) / 900
    fine = fb.CertifiedCalibration(5).fit(np.where(scores < 0.7, 0.0, scores), scores > 0.5).model_
    assert guarantees.certify_set([fine]).parts[0][1] == guarantees.certify(fine)
    part = guarantees.certify_set([fine, with_rest(3000, 4, 10)]).parts[0][1]
    alone = guarantees.certify(fine, part.alpha)
    assert part.radii[1:] == alone.radii[1:]
    assert part.radii[0] != alone.radii[0]


@pytest.mark.parametrize(("n_models", "seconds"), [(3000, 4.5), pytest.param(10_000, 15.0, marks=pytest.mark.slow)])
def test_ten_thousand_models_take_seconds(n_models: int, seconds: float) -> None:
    models = [uniform_mass(1000 + i % 50) for i in range(n_models)]
    for compute in (guarantees.certify_set, guarantees.set_intervals):
        started = time.perf_counter()
        compute(models)  # type: ignore[operator]
        assert time.perf_counter() - started < seconds


# ---------------------------------------------------------------------------------------------- the common radius


def counts_of(sizes: list[int], n_bins: int) -> list[int]:
    return [
        count for n in sizes for (count, _), repeats in interior_counts(n, n_bins, "umd").items() for count in [count] * repeats
    ]


@pytest.mark.parametrize(
    ("sizes", "n_bins", "hoeffding", "largest", "common"),
    [
        ([1000] * 5, 10, 0.187, 0.157, 0.157),
        ([200, 200, 5000, 5000, 20_000], 5, 0.282, 0.231, 0.206),
        ([400, 4000], 10, 0.277, 0.231, 0.206),
    ],
)
def test_known_common_radii(sizes: list[int], n_bins: int, hoeffding: float, largest: float, common: float) -> None:
    counts = counts_of(sizes, n_bins)
    level = intervals.sidak(0.1, len(counts))
    assert math.sqrt(math.log(2 * len(counts) / 0.1) / (2 * min(counts))) == pytest.approx(hoeffding, abs=5e-4)
    assert max(guarantees.exact_radius(count, level) for count in set(counts)) == pytest.approx(largest, abs=5e-4)
    assert guarantees.common_radius(counts, 0.1) == pytest.approx(common, abs=5e-4)


# ---------------------------------------------------------------------------------------------- shares of alpha

sizes_of_models = st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 50)), min_size=1, max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(sizes_of_models, st.floats(1e-9, 0.5))
def test_shares_multiply_to_alpha(models: list[tuple[int, int]], alpha: float) -> None:
    counts, bins = np.array(models).T
    levels = share_alpha(counts, bins, alpha)
    product = math.exp(np.log1p(-levels).sum())
    assert 1 - alpha - 1e-12 <= product <= 1 - alpha + 1e-9
    assert (levels >= 1e-3 * alpha / len(models) * (1 - 1e-12)).all()
    assert (levels <= alpha).all()
    # More samples in the smallest bin never get more of alpha, in as many bins.
    order = np.lexsort((counts, bins))
    same = np.diff(bins[order]) == 0
    assert (np.diff(levels[order])[same] <= 1e-15).all()


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 20)), min_size=2, max_size=6), st.floats(0.001, 0.5))
def test_shares_equal_the_reference(models: list[tuple[int, int]], alpha: float) -> None:
    counts, bins = (list(column) for column in zip(*models, strict=True))
    assert share_alpha(counts, bins, alpha) == pytest.approx(reference.shares(counts, bins, alpha), rel=1e-7, abs=1e-12)


def test_models_without_bins_get_nothing() -> None:
    levels = share_alpha([0, 50, 0, 50], [0, 4, 0, 4], 0.1)
    assert levels.tolist() == [0.0, pytest.approx(intervals.sidak(0.1, 2)), 0.0, pytest.approx(intervals.sidak(0.1, 2))]
    assert share_alpha([7, 0], [3, 0], 0.1).tolist() == [0.1, 0.0]
    assert share_alpha([7, 0, 9], [3, 0, 1], 0.1, class_wise=True).tolist() == [0.05, 0.0, 0.05]


def test_the_smallest_alphas() -> None:
    assert share_alpha([5] * 3, [4] * 3, 3e-100) == pytest.approx([1e-100] * 3)
    assert (share_alpha([5, 9], [4, 2], 1e-98) >= 1e-100).all()
    refused(InputError, "the smallest accepted is 3e-100", share_alpha, [5] * 3, [4] * 3, 2e-100)


@pytest.mark.parametrize(
    ("counts", "bins", "message"),
    [
        ([5], [1, 2], "counts has 1, bins has 2"),
        ([5, 5], [1, -2], r"bins\[1\] is -2"),
        ([5, 0], [1, 2], r"counts\[1\] is 0; leave the model out"),
    ],
)
def test_shares_refuse(counts: list[int], bins: list[int], message: str) -> None:
    refused(InputError, message, share_alpha, counts, bins, 0.1)
