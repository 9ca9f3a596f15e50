"""Values made non-decreasing, with the certificate that says what that costs."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin.binning.isotonic import monotone_model
from fitting import bare
from oracle import Case, close, number


def step(values: list[float], counts: list[int], **parts) -> fb.BinnedModel:
    n_bins = len(values)
    label_sums = [round(value * count) for value, count in zip(values, counts, strict=True)]
    return fb.BinnedModel.from_parts(
        edges=np.arange(1, n_bins) / n_bins, values=values, counts=counts, label_sums=label_sums, scheme="fixed-width", **parts
    )


@oracle.cases("linf_isotonic")
def test_exact_cases(case: Case) -> None:
    values = [float(number(value)) for value in case.inputs["values"]]
    assert close(monotone_model(step(values, [10] * len(values))).values.tolist(), case.expected["values"], case.tolerance)


def test_bins_without_samples_stand_between_their_neighbours() -> None:
    # The first and the last empty bin have one neighbour each; 0.5, their value before, would have moved the others.
    model = step([0.5, 0.1, 0.5, 0.5, 0.3, 0.2, 0.5], [0, 10, 0, 0, 10, 10, 0])
    assert np.allclose(monotone_model(model).values, [0.1, 0.1, 0.175, 0.175, 0.25, 0.25, 0.25], rtol=0, atol=1e-16)
    nothing = step([0.5, 0.5], [0, 0])
    assert monotone_model(nothing).values.tolist() == [0.5, 0.5]


def test_what_else_the_model_says_stays() -> None:
    scores, labels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.7, 0.8], [1, 1, 0, 1, 0, 1, 0, 1]
    model = fb.UniformMassBinning(3, ties="random", seed=11).fit(scores, labels).model_
    risen = monotone_model(model)
    facts = (
        "scheme",
        "ties",
        "n_bins_asked",
        "n_samples",
        "n_positive",
        "n_tied",
        "odds_ratio",
        "seed",
        "score_range",
        "note",
        "map",
    )
    for name in facts:
        assert getattr(risen, name) == getattr(model, name), name
    assert (risen.edge_keys == model.edge_keys).all()
    assert bare(monotone_model(risen)) == bare(risen)


def test_the_certificate_is_about_the_values_as_they_are() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(5000)
    rising = rng.random(5000) < scores
    plain, risen = (fb.FixedWidthBinning(10, monotone=monotone).fit(scores, rising) for monotone in (False, True))
    moved = np.abs(risen.model_.values - plain.model_.values).max()
    assert plain.certificate().epsilon <= risen.certificate().epsilon <= plain.certificate().epsilon + moved
    # The truth falls: the values are far from it, and the certificate says so.
    falling = rng.random(5000) < 1.0 - scores
    plain, risen = (fb.FixedWidthBinning(10, monotone=monotone).fit(scores, falling) for monotone in (False, True))
    assert plain.certificate().epsilon < 0.1
    assert risen.certificate().epsilon > 0.4
    with pytest.raises(fb.GuaranteeError, match="not its mean"):
        risen.certificate(bound="a-priori")


def test_explicit_edges_too() -> None:
    cal = fb.ExplicitBinning([0.25, 0.5], monotone=True).fit([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1, 0, 1, 1, 1])
    assert cal.predict([0.0, 0.3, 1.0]).tolist() == [0.5, 0.875, 0.875]


def test_refused() -> None:
    scores, labels = [0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 0, 1]
    with pytest.raises(fb.InputError, match="kind 'smooth', without bins"):
        monotone_model(fb.PlattScaling().fit(scores, labels).model_)
    with pytest.raises(fb.InputError, match="randomised values do not rise"):
        monotone_model(fb.UniformMassBinning(2, delta=0.1).fit(scores, labels).model_)


def test_steps_of_two_resolutions_rise() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(600)
    labels = rng.random(600) < 0.5 + 0.4 * np.sin(9.0 * scores)
    model = fb.CertifiedCalibration(5, values="isotonic", recentre="full", monotone=False).fit(scores, labels).model_
    assert model.falls.size
    risen = fb.monotone_model(model)
    assert risen.falls.size == 0
    np.testing.assert_array_equal(
        risen.values, (np.maximum.accumulate(model.values) + np.minimum.accumulate(model.values[::-1])[::-1]) / 2.0
    )
    for name in ("counts", "label_sums", "step_counts", "first_step", "edges"):
        np.testing.assert_array_equal(getattr(risen, name), getattr(model, name))
    np.testing.assert_array_equal(risen.interval(), model.interval())
    assert fb.BinnedModel.from_bytes(risen.to_bytes()) == risen
    assert risen.certificate().n_steps == model.n_steps
