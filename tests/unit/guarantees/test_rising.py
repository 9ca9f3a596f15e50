"""The mean error where the truth rises: slices of a fit, the bound and its certificate (fastbin, Theorem F17)."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import calibrated
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused, refuses

import fastbin as fb
import strategies
from fastbin import GuaranteeError, guarantees
from fastbin._base.ranks import n_slices
from fastbin.guarantees import rising
from fitting import FEWER_BINS
from reference import rising as reference
from strategies import examples

rows = partial(calibrated, seed=3)


def ranks_of(n: int, size: int) -> list[int]:
    """Those at which samples in the order of their scores are cut into so many slices, and one before and behind all."""
    return [0, *(math.ceil(b * (n + 1) / size) for b in range(1, size)), n + 1]


def counts_between(ranks: list[int]) -> list[int]:
    return [high - low - 1 for low, high in pairwise(ranks)]


def slices_like(each: list[reference.Slice], n: int, *, is_average: bool = True) -> rising.Slices:
    """The same slices, of which one-sided promises are not asked."""
    counts, ones, served, rises = (np.array(column) for column in zip(*each, strict=True))
    return rising.Slices(counts, ones, served, rises, is_average, n, int(ones.sum()), (0.5, 0.5), 1.0)


# ------------------------------------------------------------------------------------------------- the slices of a fit


SIZES = [
    (0, 0),
    (19, 0),
    (20, 7),
    (100, 12),
    (1000, 24),
    (10_000, 52),
    (100_000, 112),
    (10**6, 240),
    (10**9, 1000),
    (10**12, 0),
]


@pytest.mark.parametrize(("n", "expected"), SIZES)
def test_the_number_of_slices(n: int, expected: int) -> None:
    assert n_slices(n) == reference.n_slices(n) == expected
    for near in (n + 1, 1728 * 7**3, 1728 * 7**3 + 1):
        assert n_slices(near) == reference.n_slices(near)
    for exact in (125 * 8, 125 * 27 * 64):  # 2.4 times the cube root is an integer
        assert 125 * n_slices(exact) ** 3 == 1728 * exact


@pytest.mark.filterwarnings(FEWER_BINS, "ignore:ties left")
@settings(max_examples=examples(60), deadline=None)
@given(data=strategies.calibration_data(max_size=400, weighting="none"), seed=strategies.seeds)
def test_fits_keep_the_slices_of_the_reference(data: Any, seed: int) -> None:
    options = {"seed": seed, "score_range": data.score_range}
    samples = list(zip(data.scores, data.labels, strict=True))
    models = [
        fb.UniformMassBinning(min(5, (len(samples) + 1) // 2), **options).fit(data.scores, data.labels).model_,
        fb.CertifiedCalibration(**options).fit(data.scores, data.labels).model_,
    ]
    for model in models:
        if len(samples) < 20:
            assert model.slice_cuts is model.slice_label_sums is None
        else:
            assert model.slice_label_sums.tolist() == reference.label_sums(samples, seed)
            _, *ranks, _ = ranks_of(len(samples), len(model.slice_label_sums))
            assert model.slice_cuts.tolist() == [sorted(data.scores)[rank - 1] + 0.0 for rank in ranks]


@pytest.mark.parametrize("n", [150, 3000, 200_000])
@pytest.mark.filterwarnings(FEWER_BINS, "ignore:ties left")
def test_the_slices_do_not_depend_on_how_the_rows_come(n: int) -> None:
    scores, labels = rows(n, decimals=2)
    for calibrator in (fb.UniformMassBinning(5), fb.UniformMassBinning(5, scheme="umb"), fb.CertifiedCalibration()):
        model = calibrator.fit(scores, labels).model_
        mixed = np.random.default_rng(1).permutation(n)
        assert calibrator.fit(scores[mixed], labels[mixed]).model_ == model
        batches = [(scores[i::7], labels[i::7]) for i in range(7)]
        assert calibrator.fit_batches(lambda batches=batches: iter(batches)).model_ == model
        distinct, at = np.unique(np.stack([scores, labels]), axis=1, return_inverse=True)
        counted = calibrator.fit(distinct[0], distinct[1].astype(np.uint8), sample_weight=np.bincount(at.ravel())).model_
        assert (counted.slice_label_sums == model.slice_label_sums).all()


def test_a_segment_keeps_the_slices_of_its_own_fit() -> None:
    scores, labels = rows(5000, decimals=3)
    segments = np.arange(5000) % 11 // 3
    models = fb.multi.SegmentedBinning(fb.UniformMassBinning(5), min_points=1).fit(scores, labels, segments).model_
    for key in range(4):
        alone = fb.UniformMassBinning(5).fit(scores[segments == key], labels[segments == key]).model_
        assert (models[key].slice_label_sums == alone.slice_label_sums).all()
        assert (models[key].slice_cuts == alone.slice_cuts).all()


def test_slices_that_cannot_be() -> None:
    model = fb.UniformMassBinning(5).fit(*rows(200)).model_
    sums, cuts = model.slice_label_sums, model.slice_cuts
    for changes in (
        {"slice_label_sums": sums + 100}, {"slice_label_sums": sums - 1000}, {"slice_label_sums": 0 * sums},
        {"slice_cuts": cuts[::-1]}, {"slice_cuts": np.where(cuts > 0, np.nan, cuts)}, {"slice_cuts": cuts[:-1]},
        {"slice_cuts": cuts + 1.0}, {"slice_cuts": None}, {"slice_label_sums": None},
        {"slice_cuts": cuts[:0], "slice_label_sums": sums[:1]},
        {"n_samples": 12, "n_positive": 6, "counts": None, "label_sums": None},
    ):  # fmt: skip
        with pytest.raises(fb.InputError):
            model._replace(**changes)
    assert model._replace(slice_cuts=None, slice_label_sums=None).slice_cuts is None


# ------------------------------------------------------------------------------------------------- what is served there


@pytest.mark.filterwarnings(FEWER_BINS, "ignore:ties left")
@pytest.mark.parametrize("decimals", [9, 2])
@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_the_averages_are_those_of_the_rows_between_cuts(n: int, decimals: int) -> None:
    scores, labels = rows(n, decimals=decimals)
    for calibrator in (fb.CertifiedCalibration(), fb.UniformMassBinning(7, monotone=True)):
        model = calibrator.fit(scores, labels).model_
        slices = rising.slices_of(model)
        values = np.sort(model.predict(scores))  # in the order of scores
        size = len(slices.counts)
        for b, (low, high) in enumerate(pairwise(ranks_of(n, size))):
            assert slices.counts[b] == high - low - 1
            assert slices.served[b] == pytest.approx(values[low : high - 1].mean(), abs=1e-12)
            start = values[low - 1] if b else model.values[0]
            end = values[high - 1] if b < size - 1 else model.values[-1]
            assert slices.rises[b] == pytest.approx(end - start, abs=1e-12)
        assert slices.mean == pytest.approx((values.mean(), values.mean()))
        other = rising.slices_of(model, model)
        assert not other.is_average
        assert (np.abs(other.served - slices.served) <= other.rises / 2 + 1e-12).all()
        assert other.rises == pytest.approx(slices.rises)
        assert other.mean[0] <= slices.mean[0] + 1e-12
        assert other.mean[1] >= slices.mean[1] - 1e-12


# ------------------------------------------------------------------------------------------------- the bound

VECTOR = [reference.Slice(19, *each) for each in ((3, 0.2, 0.3), (9, 0.5, 0.3), (16, 0.8, 0.3))]


def test_known_bounds() -> None:
    """The reference takes the greater moment at the ends of an interval, the package a bound for all that lies between."""
    assert reference.population_bound(VECTOR, 59, 0.1) == pytest.approx(0.6630176356, abs=5e-11)
    assert reference.within_slices(reference.of_population(VECTOR, 59, 0.1)) == pytest.approx(0.2601068307, abs=5e-11)
    assert reference.rows_bound(VECTOR, 59, 0.1) == pytest.approx(0.4087285587, abs=5e-11)
    assert reference.log_moment(19, 0.76, reference.places(59)[39]) == pytest.approx(0.7750982112, abs=1e-10)
    slices = slices_like(VECTOR, 59)
    of_population = rising.greatest_mean_error(slices, rising.known_of_population(slices, 0.1))
    of_rows = rising.greatest_mean_error(slices, rising.known_of_rows(slices, 0.1), of_rows=True)
    assert 0.6630176356 < of_population < 0.66304
    assert 0.4087285587 < of_rows < 0.40874


@pytest.mark.sampled
@pytest.mark.parametrize(("count", "share", "n"), [(4, 0.3, 100), (19, 0.76, 59), (40, 0.45, 1000), (900, 0.25, 100_000)])
def test_the_moment_of_an_interval_bounds_all_inside(count: int, share: float, n: int) -> None:
    grid, bounds = np.array(reference.places(n)), rising._moments(count, share, n)
    assert len(bounds) == len(grid) - 1
    for i in sorted({0, 1, 2, len(bounds) // 3, len(bounds) // 2, len(bounds) - 2, len(bounds) - 1}):
        inside = [reference.log_moment(count, share, p) for p in np.linspace(grid[i], grid[i + 1], 12)]
        assert max(inside) - 1e-11 <= bounds[i] <= max(inside) + 3e-3


drawn_slices = st.lists(
    st.tuples(st.integers(3, 12), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.6)), min_size=2, max_size=5
)


@settings(max_examples=8, deadline=None)
@given(drawn_slices, st.sampled_from([0.05, 0.1, 0.4]))
def test_the_bound_is_that_of_the_reference(drawn: list[tuple[int, float, float, float]], alpha: float) -> None:
    each = [reference.Slice(count, round(part * count), served, rise) for count, part, served, rise in drawn]
    n = sum(one.count for one in each) + len(each) - 1
    slices = slices_like(each, n)
    for of_rows, known, expected in (
        (False, rising.known_of_population(slices, alpha), reference.population_bound(each, n, alpha)),
        (True, rising.known_of_rows(slices, alpha), reference.rows_bound(each, n, alpha)),
    ):
        try:
            bound = rising.greatest_mean_error(slices, known, of_rows=of_rows)
        except GuaranteeError:
            continue
        assert min(1.0, expected) - 1e-9 <= bound <= 1.02 * expected + 0.002


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=5), st.data())
def test_no_law_on_an_interval_has_a_greater_mean_distance(low: float, width: float, parts: list[float], data: Any) -> None:
    places = np.array([low - 0.5 + width * part for part in parts])
    chances = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(parts), max_size=len(parts))))
    chances = chances / chances.sum()
    mean = abs(float(chances @ places))
    widest = float(rising._widest(np.array([mean]), np.array([width]))[0])
    assert float(chances @ np.abs(places)) <= widest + 1e-12
    assert widest == pytest.approx(reference.widest(mean, width))


def test_a_truth_that_falls_is_refuted() -> None:
    scores, _ = rows(4000)
    labels = np.random.default_rng(0).random(4000) < 0.5 + 0.45 * np.sin(7.0 * scores)
    model = fb.CertifiedCalibration().fit(scores, labels).model_
    refused(GuaranteeError, "probability at most 0.075", model.certificate, kind="mean-error")
    refused(GuaranteeError, "probability at most 0.093", model.certificate, kind="mean-error", about="calibration rows")
    assert "mean-error" not in {each.kind for each in model.certificates().certificates}
    refused(GuaranteeError, "at='bin'", model.predict_interval, [0.1, 0.3])
    assert model.predict_interval([0.1, 0.3], at="bin").shape == (2, 2)


# ------------------------------------------------------------------------------------------------- the certificate


def test_the_certificate_of_the_default() -> None:
    model = fb.CertifiedCalibration().fit(*rows(10_000)).model_
    certificate = model.certificate(kind="mean-error")
    assert 0.055 < certificate.epsilon < 0.067
    assert "does not fall as the score rises" in certificate.assumptions[0]
    assert str(certificate).startswith(
        "With probability at least 90 % over the 10,000 calibration samples, if the true frequency of label 1 does not fall as "
        "the score rises, the predicted probability is on average within 0.0"
    )
    assert (certificate.bound, certificate.radii) == ("slices", None)
    of_rows = model.certificate(kind="mean-error", about="calibration rows")
    assert 0.04 < of_rows.epsilon < certificate.epsilon
    assert (of_rows.n_samples, certificate.n_samples) == (10_000 - 51, 10_000)
    sides = [model.certificate(kind=kind).epsilon for kind in ("mean-overestimate", "mean-underestimate")]
    assert max(sides) < certificate.epsilon
    listed = [(each.kind, each.about) for each in model.certificates().certificates]
    assert ("mean-error", "population") in listed
    assert ("mean-error", "calibration rows") in listed


def test_a_side_is_half_of_the_whole_and_of_the_difference_of_means() -> None:
    slices = slices_like(VECTOR, 59)._replace(mean=(0.4, 0.45), rise=0.7, n_positive=30)
    slack = 0.7 * math.sqrt(math.log(1 / 0.005) / 118)
    low, high = reference.clopper_pearson(30, 59, 0.01)
    assert rising._excess(slices, 0.005, of_rows=False, above=True) == pytest.approx(0.45 + slack - low)
    assert rising._excess(slices, 0.005, of_rows=False, above=False) == pytest.approx(high - 0.4 + slack)
    low, high = reference.clopper_pearson(28, 57, 0.01)
    assert rising._excess(slices, 0.005, of_rows=True, above=True) == pytest.approx(0.5 - low)
    assert rising._excess(slices, 0.005, of_rows=True, above=False) == pytest.approx(high - 0.5)


def test_any_rising_map_can_be_certified() -> None:
    scores, labels = rows(10_000)
    model = fb.CertifiedCalibration().fit(scores, labels).model_
    own = model.certificate(kind="mean-error").epsilon
    isotonic = fb.IsotonicCalibration().fit(scores, labels)
    lines = fb.IsotonicCalibration(interpolate=True).fit(scores, labels)
    for other in (isotonic, lines, fb.BetaScaling().fit(scores, labels), fb.PlattScaling().fit(scores, labels), model):
        certificate = model.certificate(kind="mean-error", of=other)
        assert own < certificate.epsilon < 0.12
        assert "another map" in certificate.theorem
    constant = fb.FixedWidthBinning(1).fit(scores, labels).model_
    # The mean distance of a rate of .5 from one that is uniform.
    assert 0.25 < model.certificate(kind="mean-error", of=constant).epsilon < 0.36
    refuses("InputError of", model.certificate, of=isotonic)
    refused(fb.InputTypeError, "of is of type int", model.certificate, kind="mean-error", of=3)


def test_scores_without_labels_tell_the_masses() -> None:
    scores, labels = rows(1000)
    model = fb.CertifiedCalibration().fit(scores, labels).model_
    alone = model.certificate(kind="mean-error")
    assert model.certificate(kind="mean-error", unlabelled=scores) == alone  # not more than the samples
    more = np.random.default_rng(8).random(10**6)
    known = model.certificate(kind="mean-error", unlabelled=more)
    assert known.epsilon < 0.8 * alone.epsilon
    assert known.epsilon > model.certificate(kind="mean-error", about="calibration rows").epsilon
    assert len(known.assumptions) == len(alone.assumptions) + 1
    cuts = model.slice_cuts
    seen = rising.Unlabelled.of([*np.repeat(cuts[[0, 3]], 2), 0.999, 0.0001], model)
    size = len(cuts) + 1
    inside, within = np.zeros(size, int), np.zeros(size, int)
    inside[[0, -1]] = 1
    within[[0, -1]] = 1
    within[[0, 1, 3, 4]] += 2
    np.testing.assert_array_equal(seen.inside, inside)
    np.testing.assert_array_equal(seen.within, within)
    assert seen.n_scores == 6
    slices = rising.slices_of(model)._replace(unlabelled=rising.Unlabelled.of(more, model))
    edges = np.concatenate([[0.0], cuts, [1.0]])
    masses = rising.known_of_population(slices, 0.1)
    assert ((masses.low <= np.diff(edges)) & (np.diff(edges) <= masses.high)).all()
    assert (masses.high - masses.low).max() < 0.002
    refuses("InputError unlabelled", model.certificate, kind="mean-error", about="calibration rows", unlabelled=more)
    refuses("InputError unlabelled", model.certificate, unlabelled=more)
    refuses("InputError unlabelled[1]", model.certificate, kind="mean-error", unlabelled=[0.5, 2.0])
    refuses("InputError unlabelled", model.certificate, kind="mean-error", unlabelled=[])


def test_where_there_is_no_such_promise() -> None:
    scores, labels = rows(1000)
    model = fb.CertifiedCalibration().fit(scores, labels).model_

    def no_promise(words: str, of: Any) -> None:
        refused(GuaranteeError, words, model.certificate, kind="mean-error", of=of)

    no_promise("fall after bin 1", fb.ExplicitBinning([0.2, 0.6]).fit(scores, scores < 0.6))
    no_promise("a key decides", fb.UniformMassBinning(5, ties="random", delta=0.1).fit(scores, labels))
    no_promise("'quadratic' rises everywhere", fb.QuadraticScaling().fit(scores, labels))
    no_promise("'logistic' rises everywhere", fb.PlattScaling().fit(scores, 1 - labels))
    for falls in ((-0.5, 1.0, 0.0), (1.0, -0.5, 0.0)):
        of = fb.BinnedModel.from_parts(edges=[], values=[], kind="smooth", map="beta", map_parameters=falls)
        no_promise("'beta' rises everywhere", of)
    for other in (
        fb.FixedWidthBinning(3).fit(scores, labels), fb.CertifiedCalibration().fit(scores[:19], labels[:19]),
        fb.CertifiedCalibration().fit(scores, labels, sample_weight=scores + 0.5),
        fb.UniformMassBinning(3, scheme="ums").fit(scores, labels),
    ):  # fmt: skip
        refused(GuaranteeError, "keeps no slices", other.certificate, kind="mean-error")


def test_moved_maps_are_certified_by_the_slices_of_the_source() -> None:
    model = fb.CertifiedCalibration().fit(*rows(2000)).model_
    moved = fb.shift.LabelShift(model, method="known", target_rate=0.1).fit().model_
    assert 0.2 < model.certificate(kind="mean-error", of=moved).epsilon < 0.6
    for of in (None, model):
        refused(GuaranteeError, "certify the source model", moved.certificate, kind="mean-error", of=of)


def test_odd_models() -> None:
    scores, labels = rows(2000)
    model = fb.CertifiedCalibration().fit(scores, labels).model_
    few = fb.CertifiedCalibration().fit(scores[:20], labels[:20]).model_
    for kind in ("mean-error", "mean-overestimate", "mean-underestimate"):
        certificate = few.certificate(1e-100, kind)
        assert certificate.epsilon == 1.0
        assert type(certificate.epsilon) is float
    narrow = fb.ExplicitBinning([0.5], score_range=(0.4, 0.6)).fit([0.45, 0.55], [0, 1])
    refuses("InputError of", model.certificate, kind="mean-error", of=narrow)
    for ends in ((0.0, 0.6), (0.4, 1.0)):
        half = fb.ExplicitBinning([0.5], score_range=ends).fit([0.45, 0.55], [0, 1])
        refuses("InputError of", model.certificate, kind="mean-error", of=half)
    parts: Any = {"edges": [0.5], "values": [0.2, 0.8], "n_positive": 50, "scheme": "umd", "slice_cuts": [0.5]}
    other = fb.BinnedModel.from_parts(**parts, n_samples=100, slice_label_sums=[10, 39])
    refused(GuaranteeError, "has 2 slices", other.certificate, kind="mean-error")
    # Whatever serves them, rows of a known number keep their slices.
    without_tally = model._replace(counts=None, label_sums=None, tie_counts=None, first_step=None, step_counts=None)
    slices = rising.slices_of(without_tally)
    assert not slices.is_average
    for smooth in (fb.PlattScaling(), fb.IsotonicCalibration(), fb.FixedWidthBinning(3)):
        refused(GuaranteeError, "keeps no slices", smooth.fit(scores[:15], labels[:15]).model_.interval, at="score")


def test_sets_have_the_promise_of_each_of_their_models() -> None:
    scores, labels = rows(6000)
    models = fb.multi.SegmentedBinning(min_points=1).fit(scores, labels, np.arange(6000) % 2).model_
    certificate = models.certificate(kind="mean-error")
    assert certificate.epsilon == max(part.epsilon for _, part in certificate.parts)
    shares = [part.alpha for _, part in certificate.parts]
    assert math.prod(1.0 - share for share in shares) == pytest.approx(0.9)
    assert str(certificate).endswith("of it, in each of 2 segments at once.")
    for (key, part), share in zip(certificate.parts, shares, strict=True):
        assert part == models[key].certificate(share, kind="mean-error")
    assert models.certificate(kind="mean-error", about="calibration rows").epsilon < certificate.epsilon


def test_the_promise_travels_with_the_file() -> None:
    model = fb.UniformMassBinning(8, monotone=True).fit(*rows(2000, decimals=2)).model_
    for again in (fb.BinnedModel.from_bytes(model.to_bytes()), fb.export.from_json(fb.export.json(model))):
        assert again == model
        assert again.certificate(kind="mean-error") == model.certificate(kind="mean-error")
    assert guarantees.certify(model, 0.1, "mean-error") == model.certificate(kind="mean-error")


# ------------------------------------------------------------------------------------------------- the band


@pytest.mark.filterwarnings(FEWER_BINS, "ignore:ties left")
@pytest.mark.parametrize(("n", "decimals"), [(20, 9), (150, 9), (150, 1), (800, 2)])
def test_the_band_is_that_of_the_reference(n: int, decimals: int) -> None:
    scores, labels = rows(n, decimals=decimals)
    for calibrator in (fb.CertifiedCalibration(), fb.UniformMassBinning(4), fb.UniformMassBinning(4, scheme="umb")):
        model = calibrator.fit(scores, labels).model_
        counts = counts_between(ranks_of(n, len(model.slice_label_sums)))
        each = zip(counts, model.slice_label_sums.tolist(), strict=True)
        slices = [reference.Slice(count, ones, 0.0, 0.0) for count, ones in each]
        expected = reference.band(model.slice_cuts.tolist(), slices, model.edges.tolist(), 0.2)
        band = rising.band(model, 0.2)
        np.testing.assert_allclose(band, expected, atol=1e-12)
        ends = model.interval(0.2, at="score")
        np.testing.assert_array_equal(ends[:, 0], np.minimum(band[:, 0], model.values))
        np.testing.assert_array_equal(ends[:, 1], np.maximum(band[:, 1], model.values))


def test_lengths_of_blocks_grow_where_slices_are_many() -> None:
    firsts, ends = rising._blocks_of(70)
    assert sorted(set((ends - firsts).tolist())) == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]
    assert len(firsts) == sum(71 - length for length in set((ends - firsts).tolist()))
    assert len(rising._blocks_of(60)[0]) == 60 * 61 // 2
    n = 24_700  # keeps 70 slices
    slices = [reference.Slice(count, count * b // 100, 0.0, 0.0) for b, count in enumerate(counts_between(ranks_of(n, 70)))]
    cuts = np.arange(1, 70) / 70
    model = fb.BinnedModel.from_parts(
        edges=cuts[::3], values=np.full(24, 0.5), slice_cuts=cuts, slice_label_sums=[each.ones for each in slices],
        n_samples=n, n_positive=sum(each.ones for each in slices),
    )  # fmt: skip
    expected = reference.band(cuts.tolist(), slices, cuts[::3].tolist(), 0.1)
    np.testing.assert_allclose(rising.band(model, 0.1), expected, atol=1e-12)


def test_predict_interval_says_what_it_is_about() -> None:
    scores, labels = rows(5000)
    fine, plain = fb.CertifiedCalibration().fit(scores, labels), fb.UniformMassBinning(5).fit(scores, labels)
    asked = pd.Series(scores[:50])
    at_scores, at_bins = fine.predict_interval(asked), fine.predict_interval(asked, at="bin")
    assert list(at_scores.columns) == ["lower_if_rising", "upper_if_rising"]
    assert list(at_bins.columns) == list(plain.predict_interval(asked).columns) == ["lower", "upper"]
    served = fine.predict(scores[:50])
    assert ((at_scores["lower_if_rising"] <= served) & (served <= at_scores["upper_if_rising"])).all()
    steps = np.searchsorted(fine.model_.edges, scores[:50], "right")
    np.testing.assert_array_equal(at_scores, fine.model_.interval(at="score")[steps])
    np.testing.assert_array_equal(at_bins, fine.model_.interval()[fine.model_.assign(scores[:50])])
    assert plain.predict_interval(scores[:50], at="score").shape == (50, 2)
    assert np.isnan(fine.predict_interval([np.nan, 0.5], nan="propagate")).tolist() == [[True, True], [False, False]]
    clipped = fine.model_.with_out_of_range("clip")
    np.testing.assert_array_equal(clipped.predict_interval([-3.0, 3.0]), fine.model_.interval(at="score")[[0, -1]])
    refuses("InputError at", fine.predict_interval, [0.5], at="bins")
    refuses("InputError bound", fine.predict_interval, [0.5], bound="wilson")
    refuses("InputError simultaneous", fine.predict_interval, [0.5], simultaneous=False)
    few = fb.CertifiedCalibration().fit(scores[:19], labels[:19])
    assert few.predict_interval([0.5]).tolist() == [[0.0, 1.0]]
    weighted = fb.CertifiedCalibration().fit(scores, labels, sample_weight=scores + 0.5)
    refused(GuaranteeError, "at='bin'", weighted.predict_interval, [0.5])


def test_scores_without_labels_leave_the_slices_of_the_labelled_ones() -> None:
    scores, labels = rows(3000)
    more = np.random.default_rng(5).random(9000)
    alone, pooled = (fb.CertifiedCalibration().fit(scores, labels, unlabelled=given).model_ for given in (None, more))
    np.testing.assert_array_equal(pooled.slice_label_sums, alone.slice_label_sums)
    np.testing.assert_array_equal(pooled.slice_cuts, alone.slice_cuts)
    values = np.sort(pooled.predict(scores))
    slices = rising.slices_of(pooled)
    for b, (low, high) in enumerate(pairwise(ranks_of(3000, len(slices.counts)))):
        assert slices.served[b] == pytest.approx(values[low : high - 1].mean(), abs=1e-12)
    assert 0.05 < pooled.certificate(kind="mean-error").epsilon < 0.13


def test_sets_share_alpha_among_their_models() -> None:
    scores, labels = rows(6000)
    segments = np.arange(6000) % 3
    fitted = fb.multi.SegmentedBinning(min_points=1).fit(scores, labels, segments)
    models = fitted.model_
    level = 1.0 - 0.9 ** (1 / 3)
    for key in range(3):
        np.testing.assert_allclose(models.interval(at="score")[key], models[key].interval(level, at="score"), atol=1e-12)
        found = models.predict_interval(scores[:20], np.full(20, key))
        np.testing.assert_allclose(found, models[key].predict_interval(scores[:20], alpha=level), atol=1e-12)
    few = scores[:20], segments[:20]
    np.testing.assert_array_equal(fitted.predict_interval(*few), models.predict_interval(*few))
    rows_of = [models.interval()[key][models[key].assign([score])[0]] for score, key in zip(*few, strict=True)]
    np.testing.assert_array_equal(models.predict_interval(*few, at="bin"), rows_of)
    matrix = np.random.default_rng(0).dirichlet((1.0, 2.0, 1.5), 3000)
    classes = np.array([np.random.default_rng(i).choice(3, p=row) for i, row in enumerate(matrix)])
    wise = fb.multi.ClassWiseBinning(calibrator=fb.CertifiedCalibration()).fit(matrix, classes)
    ends, values = wise.predict_interval(matrix), wise.predict(matrix)
    assert ((ends[..., 0] <= values) & (values <= ends[..., 1])).all()
    np.testing.assert_allclose(wise.model_.interval(0.09, at="score")[0], wise.model_[0].interval(0.03, at="score"), atol=1e-12)


def test_label_shift_moves_the_band() -> None:
    model = fb.CertifiedCalibration().fit(*rows(3000)).model_
    given = fb.shift.LabelShift(model, method="known", target_rate=0.2, source_rate=0.5).fit().model_
    band = rising.band(model, 0.1)
    expected = band * 0.2 / (band * 0.2 + (1 - band) * 0.8)  # the odds of the source are those of equal rates
    np.testing.assert_allclose(given.interval(at="score")[:, 0], np.minimum(expected[:, 0], given.values), atol=1e-12)
    np.testing.assert_allclose(given.interval(at="score")[:, 1], np.maximum(expected[:, 1], given.values), atol=1e-12)
    counted = fb.shift.LabelShift(model).fit(labels=[1] * 30 + [0] * 170).model_
    assert (np.diff(counted.interval(at="score")) > 0).all()
