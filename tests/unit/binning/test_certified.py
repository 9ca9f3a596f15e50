"""Certified calibration: fine values inside evidence bins, one model however the rows come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin._base.ranks import boundary_ranks
from fastbin._core.fit import pool_steps, step_ranks
from fastbin.guarantees.step_masses import StepMasses
from fastbin.intervals import clopper_pearson, sidak
from fitting import quietly
from reference import two_resolutions

RNG = np.random.default_rng(20)


def sample(n: int, kind: str = "continuous") -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    scores = {
        "continuous": rng.random(n),
        "crowded": rng.beta(0.3, 4.0, n),
        "decimals": rng.random(n).round(2),
        "forest": rng.integers(0, 21, n) / 20.0,
        "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.random(n)),
        "one": np.full(n, 0.25),
        "float32": rng.random(n).astype(np.float32),
    }[kind]
    return scores, (rng.random(n) < 0.1 + 0.8 * scores).astype(np.uint8)


KINDS = ("continuous", "crowded", "decimals", "forest", "zeros", "one", "float32")


def fitted(*arguments: Any, **options: Any) -> fb.BinnedModel:
    return quietly(fb.CertifiedCalibration(**options).fit, *arguments).model_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [60, 1500, 70_000])
def test_order_batches_and_threads_do_not_matter(kind: str, n: int) -> None:
    scores, labels = sample(n, kind)
    model = fitted(scores, labels)
    order = RNG.permutation(n)
    assert fitted(scores[order], labels[order]) == model
    batches = [(scores[part], labels[part]) for part in np.array_split(order, 3)]
    assert quietly(fb.CertifiedCalibration().fit_batches, batches).model_ == model
    assert quietly(fb.CertifiedCalibration().fit, scores, labels, n_threads=3).model_ == model


@pytest.mark.parametrize("kind", KINDS)
def test_steps_lie_inside_evidence_bins_and_add_up(kind: str) -> None:
    scores, labels = sample(3000, kind)
    model = fitted(scores, labels)
    steps, bins = model.step(scores), model.assign(scores)
    np.testing.assert_array_equal(np.searchsorted(model.first_step, steps, "right") - 1, bins)
    if model.has_steps:
        np.testing.assert_array_equal(np.bincount(steps, minlength=model.n_steps), model.step_counts)
    np.testing.assert_array_equal(model.predict(scores), model.values[steps])
    assert (np.diff(model.values) >= 0.0).all()
    assert not model.needs_key
    assert model.randomised_mass == 0.0
    left_out = np.bincount(bins, minlength=model.n_bins) - model.counts
    np.testing.assert_array_equal(left_out[1:], 1)  # the cut sample of each bin but the lowest
    assert fb.BinnedModel.from_bytes(model.to_bytes()) == model


def test_evidence_is_that_of_uniform_mass_binning() -> None:
    scores, labels = sample(2345)
    model, bins = fitted(scores, labels), fb.UniformMassBinning(10).fit(scores, labels).model_
    np.testing.assert_array_equal(model.bin_edges, bins.edges)
    np.testing.assert_array_equal(model.counts, bins.counts)
    np.testing.assert_array_equal(model.label_sums, bins.label_sums)
    np.testing.assert_array_equal(model.interval(), bins.interval())
    assert model.fingerprint == bins.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_means_with_full_recentring_are_those_of_uniform_mass_binning(kind: str) -> None:
    scores, labels = sample(2000, kind)
    model = fitted(scores, labels, n_bins=10, values="mean", recentre="full", monotone=False)
    bins = quietly(fb.UniformMassBinning(10).fit, scores, labels)
    if bins.model_.n_bins == model.n_bins:
        np.testing.assert_array_equal(model.values, bins.model_.values)
    assert not model.has_steps


def test_jeffreys_values_are_never_0_or_1() -> None:
    model = fitted(np.arange(100) / 100.0, np.zeros(100), n_bins=5, values="jeffreys")
    assert model.values.min() > 0.0
    np.testing.assert_allclose(model.values, 0.5 / np.append(model.counts[0] + 1, model.counts[1:] + 1), rtol=0.1)


def test_the_vector_of_the_edge_bound() -> None:
    """n = 39, two bins of three cells: the masses and epsilons, worked out by hand."""

    class Model:
        step_counts = np.diff([0, 6, 12, 19, 25, 32, 39])
        unlabelled_counts = tie_counts = None
        first_step, values = np.array([0, 3]), np.array([0.1, 0.2, 0.35, 0.55, 0.7, 0.8])
        scheme, ties, n_bins_asked = "certified", "upper", 2

    level = sidak(0.1, 2)
    low, high = StepMasses(Model(), np.array([7, 13, 20, 26, 33])).average_ends(0.1 * level)
    np.testing.assert_allclose(np.stack([low, high], 1), [[0.146448, 0.292249], [0.615061, 0.757586]], atol=5e-7)
    rates = clopper_pearson([4, 13], [19, 19], 0.9 * level)
    np.testing.assert_allclose(np.maximum(rates[:, 1] - low, high - rates[:, 0]), [0.313128, 0.326859], atol=5e-7)


@pytest.mark.parametrize(
    ("n", "n_bins"), [(1, 1), (9, 5), (39, 2), (999, 5), (1000, 10), (12_345, 20), (10**7, 10), (5000, 1000)]
)
def test_step_ranks(n: int, n_bins: int) -> None:
    ranks = step_ranks(n, n_bins)
    assert n > 10**6 or ranks.tolist() == two_resolutions.fine_ranks(n, n_bins)
    assert set(boundary_ranks(n, n_bins, "umd")) <= set(ranks)
    assert (np.diff(ranks) >= 1).all()
    assert len(ranks) < max(1000, n_bins)
    sizes = np.diff(np.concatenate([[0], ranks - 1, [n]]))
    assert sizes.min() >= min(1, n // n_bins - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 20])
@pytest.mark.parametrize("label", [0, 1, None])
def test_any_sample_fits(n: int, label: int | None) -> None:
    rng = np.random.default_rng(n)
    labels = rng.integers(0, 2, n) if label is None else np.full(n, label)
    for scores in (rng.random(n), np.full(n, 0.5), rng.integers(0, 2, n).astype(float)):
        model = fitted(scores, labels)
        assert ((model.values > 0.0) & (model.values < 1.0)).all()
        assert 0.0 < model.certificate().epsilon <= 1.0


def test_the_promise_is_about_averages() -> None:
    scores, labels = sample(4000)
    model = fitted(scores, labels)
    certificate = model.certificate()
    assert certificate.n_steps == model.n_steps == 1000
    assert "in each of the 10 evidence bins at once, the average of what is served is within" in str(certificate)
    assert certificate.epsilon == max(certificate.radii)
    assert 0.4 < model.certificate(kind="ece").epsilon / certificate.epsilon < 0.8
    assert "binned calibration error on the 10 evidence bins" in str(model.certificate(kind="ece"))
    assert model.certificate(kind="marginal").epsilon < certificate.epsilon
    for kind, bound in (
        ("conditional", "a-priori"),
        ("conditional", "hoeffding"),
        ("ece", "a-priori"),
        ("expected-ece", "a-priori"),
    ):
        with pytest.raises(fb.GuaranteeError, match="values that are the means of their bins"):
            model.certificate(kind=kind, bound=bound)


def test_adversarial_values_widen_the_certificate() -> None:
    scores, labels = sample(4000)
    model = fitted(scores, labels)
    steep = model._replace(values=np.where(np.arange(1000) % 100 < 50, 0.0, 1.0))
    assert steep.certificate().epsilon > model.certificate().epsilon + 0.2


def test_unlabelled_scores_narrow_the_certificate() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(1000) ** 3
    labels = rng.random(1000) < scores
    alone, pooled = (
        fitted(scores, labels),
        fb.CertifiedCalibration().fit(scores, labels, unlabelled=rng.random(20_000) ** 3).model_,
    )
    assert pooled.certificate().epsilon < alone.certificate().epsilon
    assert pooled.step_counts.sum() == 1000
    assert pooled.unlabelled_counts.sum() == 20_000
    assert pooled.n_samples == 1000
    assert "without labels" in pooled.certificate().explain()


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"values": "best"}, {}, "values is 'best'"),
        ({"recentre": "half"}, {}, "recentre is 'half'"),
        ({"n_bins": 2000}, {}, "n_bins is 2000; a certified calibration has at most 1000"),
        ({"n_bins": 60}, {}, "100 samples are too few for n_bins=60"),
        ({}, {"unlabelled": [0.5, np.nan]}, r"unlabelled\[1\] is NaN"),
        ({}, {"unlabelled": [0.5, 2.0]}, r"unlabelled\[1\] is 2.0"),
        ({}, {"unlabelled": [0.5], "sample_weight": np.full(100, 0.5)}, "unlabelled and importance weights exclude each other"),
        ({}, {"unlabelled": np.full(90, 0.25)}, "shared by several samples"),
    ],
)
def test_what_is_refused(options: dict[str, Any], more: dict[str, Any], message: str) -> None:
    scores, labels = sample(100)
    with pytest.raises(fb.InputError, match=message):
        fb.CertifiedCalibration(**options).fit(scores, labels, **more)


def test_weights_move_values_and_void_the_certificate() -> None:
    scores, labels = sample(2000)
    weights = np.where(labels == 1, 2.0, 1.0)
    model = fitted(scores, labels, weights)
    assert (model.predict([0.3, 0.6]) > fitted(scores, labels).predict([0.3, 0.6])).all()
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        model.certificate()
    repeated = fitted(np.repeat(scores, 2), np.repeat(labels, 2))
    assert fitted(scores, labels, np.full(2000, 2)) == repeated


@pytest.mark.parametrize("n", [60, 1500, 2000, 20_000])
def test_the_default_recentres_from_2000_samples(n: int) -> None:
    scores, labels = sample(n)
    model = fitted(scores, labels)
    expected = "none" if n < 2000 else "james-stein"
    np.testing.assert_array_equal(model.values, fitted(scores, labels, recentre=expected).values)


@pytest.mark.parametrize(
    ("n", "n_bins", "n_steps"),
    [(803, 5, 1000), (804, 5, 800), (999, 5, 995), (1000, 5, 996), (1200, 6, 996), (1999, 9, 999), (2000, 10, 1000)],
)
def test_the_table_of_sizes_in_the_docs(n: int, n_bins: int, n_steps: int) -> None:
    model = fitted(*sample(n))
    assert (model.n_bins, model.n_steps) == (n_bins, n_steps)


def test_a_cap_narrows_the_certificate_by_the_bins_that_strayed() -> None:
    scores, labels = sample(4000)
    before, model = fitted(scores, labels), fitted(scores, labels, recentre="cap")
    assert model.certificate().epsilon < before.certificate().epsilon
    moved = np.add.reduceat(np.abs(model.values - before.values), model.first_step) > 0.0
    assert 0 < moved.sum() < model.n_bins
    with pytest.raises(fb.InputError, match="recentre is 'cap'; leave importance weights out"):
        fb.CertifiedCalibration(recentre="cap").fit(scores, labels, np.full(4000, 0.5))


def test_a_cap_is_on_values_before_they_are_pooled() -> None:
    rng = np.random.default_rng(400)
    scores = rng.random(400)
    labels = rng.random(400) < np.where(scores < 0.5, 0.7 - scores, 0.1 + 0.8 * scores)
    model, falling = (fitted(scores, labels, recentre="cap", monotone=monotone) for monotone in (True, False))
    assert (np.diff(falling.values) < 0.0).any()
    assert model.values.tolist() == pool_steps(falling.values, model.step_counts.astype(np.float64)).tolist()


def test_scores_that_labels_do_not_contradict_are_mixed_in() -> None:
    """The identity has most weight where scores are calibrated, and little where they are far from it."""
    rng = np.random.default_rng(11)
    scores = rng.random(100)
    calibrated, shifted = rng.random(100) < scores, rng.random(100) < scores**6
    at = np.linspace(0.05, 0.95, 19)
    mixed = np.abs(fitted(scores, calibrated).predict(at) - at).mean()
    spline = np.abs(fitted(scores, calibrated, values="spline").predict(at) - at).mean()
    assert mixed < spline
    assert np.abs(fitted(scores, shifted).predict(at) - at**6).mean() < 0.4 * np.abs(at - at**6).mean()


def test_fewer_bins_are_announced() -> None:
    with pytest.warns(fb.FastbinWarning, match="ties left 1 of the 5 evidence bins"):
        fb.CertifiedCalibration().fit(*sample(100, "one"))
