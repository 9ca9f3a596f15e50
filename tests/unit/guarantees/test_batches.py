"""A batch of known size, of which a part is labelled (docs/guarantees.md, Theorem F25)."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb
from fastbin.intervals import sidak
from reference.plans import ones_of_batch

RNG = np.random.default_rng(7)
SCORES = np.round(RNG.random(400), 2)
LABELS = (RNG.random(400) < SCORES).astype(int)
DRAWN = RNG.permutation(400)[:160]


@pytest.fixture(scope="module")
def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=4).fit(SCORES[DRAWN], LABELS[DRAWN], population=SCORES).model_


def test_bins_hold_whole_groups_of_the_batch_and_no_row_is_left_out(model: fb.BinnedModel) -> None:
    cuts = sorted(SCORES)[99::100][:3]
    assert model.edges.tolist() == cuts
    bins = np.searchsorted(cuts, SCORES, side="right")
    assert model.population_counts.tolist() == np.bincount(bins).tolist()
    assert model.counts.tolist() == np.bincount(bins[DRAWN]).tolist()
    assert model.label_sums.tolist() == np.bincount(bins[DRAWN], LABELS[DRAWN]).tolist()
    assert (model.n_samples, model.n_positive) == (160, LABELS[DRAWN].sum())


@pytest.mark.parametrize(("alpha", "simultaneous"), [(0.1, True), (0.1, False), (1e-6, True)])
def test_intervals_are_those_of_the_reference(model: fb.BinnedModel, alpha: float, simultaneous: bool) -> None:
    level = sidak(alpha, 4) if simultaneous else alpha
    found = model.interval(alpha, simultaneous=simultaneous)
    unlabelled = model.interval(alpha, simultaneous=simultaneous, at="unlabelled")
    columns = zip(model.label_sums.tolist(), model.counts.tolist(), model.population_counts.tolist(), strict=True)
    for b, (ones, count, size) in enumerate(columns):
        possible = ones_of_batch(ones, count, size, level)
        assert found[b].tolist() == [possible[0] / size, possible[-1] / size]
        assert unlabelled[b].tolist() == [(total - ones) / (size - count) for total in (possible[0], possible[-1])]


def test_the_certificate_speaks_of_the_batch(model: fb.BinnedModel) -> None:
    certificate = model.certificate()
    assert certificate == model.certificate(about="batch")
    assert (certificate.about, certificate.bound) == ("batch", "clopper-pearson")
    assert certificate.epsilon == np.max(np.abs(model.interval() - model.values[:, None]))
    assert "of the frequency of label 1 among all rows of the batch there." in str(certificate)
    assert "Theorem F25" in certificate.theorem
    assert certificate.assumptions[0].startswith("the labelled rows were drawn from all rows of the batch at random")
    assert [each.kind for each in model.certificates().certificates] == ["conditional", "ratio"]
    assert fb.BinnedModel.from_bytes(model.to_bytes()).certificate() == certificate


def test_it_is_narrower_than_that_of_a_population_and_a_batch_that_is_labelled_is_known() -> None:
    scores = RNG.random(2000)
    labels = (RNG.random(2000) < scores).astype(int)
    own, of_draws = (
        fb.UniformMassBinning(n_bins=4).fit(scores[:1600], labels[:1600], **more).certificate(bound="clopper-pearson").epsilon
        for more in ({"population": scores}, {})
    )
    assert own < 0.5 * of_draws
    whole = fb.UniformMassBinning(n_bins=4).fit(scores, labels, population=scores)
    assert whole.certificate().epsilon == 0.0
    assert (whole.model_.interval(at="unlabelled") == [0.0, 1.0]).all()


def test_values_that_may_not_fall_are_certified_as_they_are() -> None:
    fitted = fb.UniformMassBinning(n_bins=10, monotone=True).fit(SCORES[DRAWN], LABELS[DRAWN], population=SCORES)
    assert (np.diff(fitted.model_.values) >= 0.0).all()
    covered = fitted.model_.counts > 0
    radii = np.max(np.abs(fitted.model_.interval() - fitted.model_.values[:, None]), axis=1)
    assert fitted.certificate().epsilon == radii[covered].max()


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.certificate(kind="ece"),
        lambda m: m.certificate(kind="marginal"),
        lambda m: m.certificate(kind="mean-error"),
        lambda m: m.certificate(bound="common"),
        lambda m: m.certificate(about="calibration rows"),
        lambda m: m.interval(bound="empirical-bernstein"),
        lambda m: m.interval(at="score"),
        lambda m: m.predict_set([0.5]),
        lambda m: fb.guarantees.certify_set([m, m]),
    ],
)
def test_what_is_about_a_population_is_refused(model: fb.BinnedModel, ask: object) -> None:
    with pytest.raises(fb.GuaranteeError, match="the model is about one batch of known size"):
        ask(model)  # type: ignore[operator]


def test_other_models_have_no_batch() -> None:
    model = fb.UniformMassBinning(n_bins=4).fit(SCORES, LABELS).model_
    with pytest.raises(fb.GuaranteeError, match="at='unlabelled' is about a batch of known size"):
        model.interval(at="unlabelled")
    with pytest.raises(fb.GuaranteeError, match=r"nothing is proved of several models at once.*which="):
        fb.ModelSet({1: model}).interval(at="unlabelled")
    for kind in ("conditional", "mean-error", "mean-overestimate", "mean-underestimate"):
        with pytest.raises(fb.GuaranteeError, match="about='batch' needs a batch of known size"):
            model.certificate(kind=kind, about="batch")


def test_fits_that_are_refused() -> None:
    drawn, labels = SCORES[DRAWN], LABELS[DRAWN]
    strange = drawn.copy()
    strange[3] = 0.123456
    often = np.append(drawn, [drawn[0]] * 30)
    wrong = [
        (
            fb.UniformMassBinning(),
            (strange, labels),
            SCORES,
            r"scores\[3\] is 0.123456, which population holds not at all; pass",
        ),
        (fb.UniformMassBinning(), (often, np.zeros(190)), SCORES, r"which population holds only \d+ times"),
        (fb.UniformMassBinning(), (drawn, labels, np.ones(160)), SCORES, "sample_weight is given; rows of a batch count once"),
        (fb.UniformMassBinning(), (drawn, labels), [0.5, np.nan], r"population\[1\] is NaN"),
        (fb.UniformMassBinning(n_bins=500), (drawn, labels), SCORES, "population has 400 scores for 500 bins"),
        (
            fb.UniformMassBinning(scheme="ze"),
            (drawn, labels),
            SCORES,
            "scheme is 'ze'; the promise about a batch is of scheme=",
        ),
        (fb.UniformMassBinning(delta=0.1), (drawn, labels), SCORES, "delta is 0.1; the promise about a batch is of delta=0.0"),
        (fb.UniformMassBinning(ties="random"), (drawn, labels), SCORES, "ties is 'random'; the promise about a batch is of"),
    ]
    for calibrator, rows, population, message in wrong:
        with pytest.raises(fb.InputError, match=message):
            calibrator.fit(*rows, population=population)


def test_a_batch_may_have_as_many_rows_as_bins() -> None:
    model = fb.UniformMassBinning(2).fit([0.2, 0.7], [0, 1], population=[0.2, 0.7]).model_
    assert (model.n_bins_asked, model.population_counts.sum()) == (2, 2)
    with pytest.raises(fb.InputError, match=r"scores\[1\] is NaN"):
        fb.UniformMassBinning(2).fit([0.2, np.nan], [0, 1], population=[0.2, 0.7])
