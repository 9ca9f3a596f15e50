"""Whole ties are the reference, bit for bit, on hard inputs; so are their certificates, and those of fine values."""

from __future__ import annotations

import math
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fastbin as fb
import strategies
from fitting import assert_same_bits, promise_suffers, quietly
from reference import StepModel, uniform_mass
from reference.hull import epsilon
from reference.keys import KEY_ABOVE, KEY_BELOW, draw_labels, fingerprint
from reference.step_model import Tally
from reference.two_resolutions import SHARE, edge_bound, fine_edges, fine_ranks, n_tied, step_counts
from reference.whole_ties import SCHEMES, WholeTies, whole_ties
from strategies import LAYOUTS, CalibrationData, examples

EXAMPLES = examples(60)
RULE_WITHOUT_TIES = {"umd": "upper", "ze": "upper", "umb": "lower"}


def fitted(calibrator: Any, data: CalibrationData, layout: str = "contiguous") -> fb.BinnedModel | None:
    """The model, or ``None`` where the data are refused; where the promise suffers must be said, and only then."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = calibrator.fit(**data.arrays(layout)).model_
        except fb.InputError:
            return None
    assert any("bins" in str(warning.message) for warning in told) == promise_suffers(model)
    return model


def slow(data: CalibrationData, n_bins: int, scheme: str = "umd", seed: int = 0) -> WholeTies | None:
    """The fit of the reference; ``None`` where it refuses the data."""
    low, high = data.score_range if data.score_range is not None else (-math.inf, math.inf)
    weights = data.weights if data.weights is not None and all(isinstance(w, int) for w in data.weights) else None
    try:
        return whole_ties(
            data.scores, data.labels, n_bins, scheme, draw=draw_labels, seed=seed, weights=weights, score_range=(low, high)
        )
    except ValueError:
        return None


def assert_same(model: fb.BinnedModel, expected: WholeTies, data: CalibrationData) -> None:
    assert_same_bits(model.edges, expected.edges)
    assert set(model.edge_keys.tolist()) <= {KEY_BELOW if expected.scheme == "umb" else KEY_ABOVE}
    assert_same_bits(model.values, [float(value) for value in expected.values])
    assert model.counts.tolist() == expected.counts
    assert model.label_sums.tolist() == expected.label_sums
    for name in ("n_samples", "n_positive", "n_tied", "n_bins", "n_bins_asked"):
        assert getattr(model, name) == getattr(expected, name), name
    assert model.ties == ("whole" if expected.n_tied else RULE_WITHOUT_TIES[expected.scheme])
    if expected.n_tied:
        assert list(map(tuple, model.tie_counts.tolist())) == expected.tie_counts
        assert list(map(tuple, model.atom_counts.tolist())) == expected.atom_counts
    else:
        assert model.tie_counts is model.atom_counts is None
    assert model.fingerprint == fingerprint(expected.edges, list(zip(*data.repeated(), strict=True)))


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", ["none", "integer"])
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_fit_and_predict_are_the_reference(scheme: str, weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    most = data.n_samples if scheme == "umb" else (data.n_samples + 1) // 2
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples, most), "n_bins")
    seed = draw.draw(strategies.seeds, "seed")
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, ties="whole", seed=seed, score_range=data.score_range)
    model = fitted(calibrator, data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"))
    expected = slow(data, n_bins, scheme, seed)
    assert (model is None) == (expected is None)
    if model is None or expected is None:
        return
    assert_same(model, expected, data)
    scores = strategies.queries(data, expected.edges, Random(seed))
    bins = [expected.bin_of(score) for score in scores]
    keys = np.arange(len(scores), dtype=np.uint64) << np.uint64(40)
    assert model.assign(np.array(scores)).tolist() == model.assign(np.array(scores), tie_keys=keys).tolist() == bins
    assert_same_bits(model.predict(np.array(scores), seed=seed), [float(expected.values[b]) for b in bins])
    assert not model.needs_key


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_importance_weights_move_no_edge(scheme: str, draw: st.DataObject) -> None:
    """A tied fit averages all rows of a bin by their weights; without ties it is that of the papers."""
    data = draw.draw(strategies.calibration_data(weighting="float"), "data")
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins")
    model = fitted(fb.UniformMassBinning(n_bins, scheme=scheme, ties="whole"), data)
    expected = slow(data, n_bins, scheme)
    if expected is None or not any(data.weights or []):
        assert model is None
        return
    if expected.n_tied == 0:
        rule = RULE_WITHOUT_TIES[scheme]
        try:
            twin: StepModel = uniform_mass(data.scores, data.labels, n_bins, scheme, rule, weights=data.weights)
        except ValueError:  # all that weighs something is a boundary, which no bin averages
            assert model is None
            return
        sums, weighted_sums = twin.weight_sums, twin.weighted_label_sums
    else:
        tally = Tally(expected.n_bins)
        for score, label, weight in zip(data.scores, data.labels, data.weights or [], strict=True):
            tally.add(expected.bin_of(score), label, weight)
        sums = [float(total) for total in tally.weight_sums]
        weighted_sums = [float(total) for total in tally.weighted_label_sums]
    assert model is not None
    assert_same_bits(model.edges, expected.edges)
    assert_same_bits(model.weight_sums, sums or [])
    assert_same_bits(model.weighted_label_sums, weighted_sums or [])


@pytest.mark.parametrize("calibrator", [*(fb.UniformMassBinning(4, scheme=s) for s in SCHEMES), fb.CertifiedCalibration(3)])
@settings(max_examples=20, deadline=None)
@given(draw=st.data())
def test_row_order_and_batches_do_not_change_a_byte(calibrator: Any, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=draw.draw(st.sampled_from(["none", "integer", "float"]))), "data")
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    mixed = CalibrationData(
        *([column[i] for i in order] if column else None for column in (data.scores, data.labels, data.weights))
    )
    model, same = fitted(calibrator, data), fitted(calibrator, mixed)
    assert (model is None) == (same is None)
    if model is None or same is None:
        return
    assert model.to_bytes() == same.to_bytes()
    at = draw.draw(st.integers(0, len(data.scores)))
    arrays = list(mixed.arrays().values())
    quietly(calibrator.fit_batches, [tuple(a[:at] for a in arrays), tuple(a[at:] for a in arrays)])
    assert calibrator.model_.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=examples(25), deadline=None)
@given(draw=st.data())
def test_certificates_are_the_reference(scheme: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(max_size=60), "data")
    n_bins = draw.draw(st.integers(1, 5))
    model, expected = fitted(fb.UniformMassBinning(n_bins, scheme=scheme, ties="whole"), data), slow(data, n_bins, scheme)
    if model is None or expected is None or (scheme != "umd" and expected.n_tied == 0):
        return
    for kind in ("conditional", "marginal"):
        found = model.certificate(0.1, kind, "clopper-pearson").epsilon
        assert found == pytest.approx(epsilon(expected, 0.1, kind), abs=1e-9)
        if expected.n_tied > 0:
            assert model.certificate(0.1, kind, "hoeffding").epsilon == pytest.approx(
                epsilon(expected, 0.1, kind, "hoeffding"), abs=1e-9
            )
    if expected.n_tied > 0:
        assert model.certificate(0.1, "ece").epsilon == pytest.approx(epsilon(expected, 0.1), abs=1e-9)
        assert model.certificate(0.1, bound="a-priori").epsilon == pytest.approx(
            epsilon(expected, 0.1, bound="a-priori"), abs=1e-9
        )


@pytest.fixture
def no_fine_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small samples are fitted as large ones are: the reference of these would take long."""
    monkeypatch.setattr("fastbin.binning.certified.has_fine_steps", lambda n, n_bins: False)


@pytest.mark.usefixtures("no_fine_steps")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_the_certificate_of_fine_values_is_the_reference(draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(max_size=100), "data")
    n_bins = draw.draw(st.integers(1, 4))
    values = draw.draw(st.sampled_from(["mixture", "isotonic", "beta"]))
    calibrator = fb.CertifiedCalibration(n_bins, values=values, monotone=draw.draw(st.booleans()))
    model, fit = fitted(calibrator, data), slow(data, n_bins)
    assert (model is None) == (fit is None)
    if model is None or fit is None:
        return
    ranks = fine_ranks(fit.n_samples, n_bins)
    edges = [fine_edges(fit, b, ranks) for b in range(fit.n_bins)]
    assert_same_bits(model.bin_edges, fit.edges)
    assert model.first_step.tolist() == np.cumsum([0, *(len(of_bin) + 1 for of_bin in edges[:-1])]).tolist()
    inner = [edge.score for of_bin in edges for edge in of_bin]
    assert_same_bits(model.edges, sorted([*inner, *fit.edges]))
    assert model.n_tied == n_tied(fit, ranks)
    assert model.counts.tolist() == fit.counts
    assert model.label_sums.tolist() == fit.label_sums
    if model.has_steps:
        assert model.step_counts.tolist() == [count for b in range(fit.n_bins) for count in step_counts(fit, b, edges[b])]
    if draw.draw(st.booleans(), "any values"):
        rng = Random(draw.draw(st.integers(0, 2**32 - 1)))
        model = model._replace(values=np.array([rng.random() for _ in model.values]))
    served = np.split(model.values, model.first_step[1:])
    for kind in ("conditional", "marginal"):
        # A model without tied samples and without steps was meant to have none, and the rates get the whole level.
        share = SHARE if model.has_steps or fit.n_tied > 0 or model.ties == "whole" else 0.0
        bounds = edge_bound(fit, [part.tolist() for part in served], ranks, 0.1, kind, share=share)
        found = model.certificate(0.1, kind)
        assert found.epsilon == pytest.approx(min(1.0, max(bound.epsilon for bound in bounds)), abs=1e-9)
