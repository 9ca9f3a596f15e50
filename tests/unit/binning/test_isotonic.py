"""Isotonic calibration: exact cases, both predictions, exact arithmetic, and no certificate."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin._core.kernels import isotonic as kernels
from oracle import Case, close


@oracle.cases("isotonic")
def test_exact_cases(case: Case) -> None:
    given, expected = case.inputs, case.expected
    weights = None if given["weights"] is None else np.array(given["weights"])
    cal = fb.IsotonicCalibration().fit(given["scores"], given["labels"], sample_weight=weights)
    assert close(cal.predict(expected["knots"]).tolist(), expected["values"], case.tolerance)
    assert close(cal.predict(given["queries"]).tolist(), expected["query_values"], case.tolerance)
    lines = fb.IsotonicCalibration(interpolate=True).fit(given["scores"], given["labels"], sample_weight=weights)
    assert close(lines.predict(expected["knots"]).tolist(), expected["values"], case.tolerance)


def test_one_bin_per_block_with_its_tally() -> None:
    cal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 0, 1, 1])
    model = cal.model_
    assert (model.kind, model.scheme, model.ties) == ("step", "isotonic", "none")
    assert model.edges.tolist() == [0.2, 0.5]
    assert (model.edge_keys == 0).all()
    assert model.counts.tolist() == [1, 3, 2]
    assert model.label_sums.tolist() == [0, 1, 2]
    assert cal.predict([0.0, 0.2, np.nextafter(0.5, 0.0), 0.5, 1.0]).tolist() == [0.0, 1 / 3, 1 / 3, 1.0, 1.0]
    assert cal.predict_one(0.45) == 1 / 3


def test_interpolation() -> None:
    cal = fb.IsotonicCalibration(interpolate=True).fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 0, 1, 1])
    model = cal.model_
    assert (model.kind, model.n_samples, model.n_positive) == ("linear", 6, 3)
    # Knots inside a block change nothing.
    assert model.edges.tolist() == [0.1, 0.2, 0.4, 0.5, 0.6]
    assert close(cal.predict([0.0, 0.15, 0.3, 0.45, 0.9]).tolist(), [0.0, 1 / 6, 1 / 3, 2 / 3, 1.0], 1e-15)


@pytest.mark.parametrize("interpolate", [False, True])
def test_no_certificate(interpolate: bool) -> None:
    cal = fb.IsotonicCalibration(interpolate=interpolate).fit([0.1, 0.2, 0.3], [0, 1, 1])
    for ask in (cal.certificate, lambda: cal.predict_interval([0.5])):
        with pytest.raises(fb.GuaranteeError, match=r"isotonic regression has no certificate.*Theorem 4"):
            ask()


@pytest.mark.parametrize("interpolate", [False, True])
def test_files(interpolate: bool, tmp_path) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(500)
    cal = fb.IsotonicCalibration(interpolate=interpolate).fit(scores, rng.random(500) < scores)
    cal.model_.save(tmp_path / "isotonic.fbm")
    loaded = fb.load(tmp_path / "isotonic.fbm")
    assert loaded == cal.model_
    assert loaded.predict(scores).tolist() == cal.predict(scores).tolist()
    assert (np.diff(loaded.predict(np.sort(scores))) >= 0).all()


def test_means_are_compared_exactly() -> None:
    """Means that agree to 15 digits and differ are two blocks; equal ones are one."""
    large = 2**51
    counts = np.array([large, large + 1, 1])
    cal = fb.IsotonicCalibration(score_range=None).fit(
        [0, 0, 1, 1, 2], [1, 0, 1, 0, 1], sample_weight=np.array([large // 2, large // 2, large // 2 + 1, large // 2, 0])
    )
    assert cal.model_.counts.tolist() == counts[:2].tolist()
    assert cal.model_.values.tolist() == [0.5, (large // 2 + 1) / (large + 1)]
    assert kernels.at_least(2**62 - 1, 2**62, 2**62 - 2, 2**62 - 1)
    assert not kernels.at_least(2**62 - 2, 2**62 - 1, 2**62 - 1, 2**62)
    equal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.3], [0, 1, 0, 1], sample_weight=[3, 3, 7, 7])
    assert equal.model_.n_bins == 2


def test_weights_of_zero_make_no_knot() -> None:
    cal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3], [0, 1, 1], sample_weight=[1.0, 0.0, 2.0])
    assert cal.model_.edges.tolist() == [0.3]
    assert cal.model_.counts.tolist() == [2, 1]
    assert cal.model_.weight_sums.tolist() == [1.0, 2.0]
    for weight in ([0, 0, 0], [0.0, 0.0, 0.0]):
        with pytest.raises(fb.InputError, match="sample_weight is 0 for every row"):
            fb.IsotonicCalibration().fit([0.1, 0.2, 0.3], [0, 1, 1], sample_weight=weight)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([], [], "scores is empty"),
        ([0.1, np.nan], [0, 1], "scores[1] is NaN"),
        ([0.1, 1.5], [0, 1], "scores[1] is 1.5, outside [0, 1]"),
        ([0.1, 0.2], [0, -1], "labels[1] is -1"),
        ([0.1, 0.2], [0], "lengths differ"),
    ],
)
def test_refused(scores, labels, message: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(message)):
        fb.IsotonicCalibration().fit(scores, labels)
