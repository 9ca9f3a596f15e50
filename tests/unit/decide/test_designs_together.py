"""Designs of samples, decisions and moved values where they meet: no promise is taken over by what it was not made for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import fastbin as fb
from fastbin.online import CalibrationMonitor
from fastbin.shift import LabelShift
from fitting import finished

Float64s = npt.NDArray[np.float64]


def rows(n: int, seed: int = 0) -> tuple[Float64s, npt.NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < 0.005 + 0.9 * scores**3


def of_plan() -> fb.BinnedModel:
    scores, labels = rows(4000)
    return finished(fb.decide.plan_labels(scores, epsilon=0.1, edges=[0.5]), labels).model_


def of_batch() -> fb.BinnedModel:
    scores, labels = rows(1000)
    return fb.UniformMassBinning(n_bins=5).fit(scores[:800], labels[:800], population=scores).model_


@pytest.mark.parametrize("method", ["likelihood", "confusion"])
def test_counts_of_a_plan_are_not_the_shares_of_bins(method: str) -> None:
    target, _ = rows(2000, 1)
    with pytest.raises(fb.InputError, match="of a plan"):
        LabelShift(of_plan(), method=method, source_rate=0.2).fit(target)


def test_edges_of_a_batch_and_of_a_stream_that_goes_on_are_not_fixed() -> None:
    scores, labels = rows(3000)
    target, _ = rows(2000, 1)
    model = fb.UniformMassBinning(n_bins=5).fit(scores, labels).model_
    stream = fb.online.StreamingBinning(model, continue_fit=True)
    stream.update(*rows(500, 2))
    for source in (of_batch(), stream.model()):
        assert not LabelShift(source, method="likelihood").fit(target).rate_.is_exact


def test_new_rows_say_nothing_of_a_batch() -> None:
    with pytest.raises(fb.GuaranteeError, match="one batch of known size"):
        CalibrationMonitor(of_batch(), interval_alpha=0.05)
    with pytest.raises(fb.InputError, match="for a batch fit without population="):
        fb.assess.check_certificate(of_batch(), *rows(500, 3))
    report = fb.report.assess_model(of_batch(), *rows(500, 3))
    assert (report.verdict, report.certificates[0].about) == ("not tested", "batch")
    assert "not tested" in fb.report.render_report(report)


def test_a_batch_takes_no_sampling_rate() -> None:
    scores, labels = rows(1000)
    with pytest.raises(fb.InputError, match="promise about a batch"):
        fb.UniformMassBinning(n_bins=5, sampling_rate=0.1).fit(scores[:800], labels[:800], population=scores)


def test_classes_take_no_sampling_rate() -> None:
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    with pytest.raises(fb.InputError, match="sampling_rate"):
        fb.multi.VectorCalibration(calibrator=fb.CertifiedCalibration(sampling_rate=0.1)).fit(P, P.argmax(1))


def test_moved_models_carry_no_decision_of_their_source() -> None:
    scores, labels = rows(4000)
    decision = fb.decide.accept_threshold(scores, labels, precision=0.6)
    model = fb.CertifiedCalibration().fit(scores, labels).model_.with_decision(decision)
    moved = LabelShift(model).fit(labels=[1] * 10 + [0] * 90).model_
    assert model.decision == decision
    assert moved.decision is None
    sampled = fb.CertifiedCalibration(sampling_rate=0.1).fit(scores, labels).model_
    for other in (moved, sampled):
        with pytest.raises(fb.GuaranteeError, match="another population"):
            other.with_decision(decision)


def test_reports_show_the_certificates_that_there_are() -> None:
    scores, labels = rows(2000, 5)
    for model in (of_plan(), fb.CertifiedCalibration(sampling_rate=0.1).fit(*rows(4000)).model_):
        report = fb.report.assess_model(model, scores, labels)
        assert [each.kind for each in report.certificates] == ["conditional"]
        assert report.why_no_certificate is None


def test_decisions_with_many_tests_fit_into_a_model() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(60_000)
    labels = rng.random(60_000) < scores
    decision = fb.decide.accept_threshold(scores, labels, precision=0.55, npv=0.55)
    assert len(decision.to_json()) > 65_536
    model = fb.UniformMassBinning(n_bins=10).fit(scores, labels).model_.with_decision(decision)
    assert fb.BinnedModel.from_bytes(model.to_bytes()).decision == decision


def test_odd_input_of_decisions() -> None:
    with pytest.raises(fb.InputError, match="cost"):
        fb.decide.accept_threshold(*rows(100), cost=(1.0, 1e17))
    assert fb.decide.accept_threshold([0.5], [1], precision=0.01).accept_above == np.inf
    text = fb.decide.accept_threshold(*rows(2000), precision=0.5).to_json()
    with pytest.raises(fb.FormatError, match="precision is 5"):
        fb.decide.Decision.from_json(text.replace('"precision": 0.5', '"precision": 5.0'))


def test_ids_of_plans() -> None:
    scores, _ = rows(200)
    mixed = [str(i) if i % 2 else i for i in range(200)]
    asked = fb.decide.plan_labels(scores, epsilon=0.3, n_bins=2, ids=mixed).rows()
    assert set(asked.tolist()) <= set(mixed)
    assert {type(row) for row in asked.tolist()} == {int, str}
    with pytest.raises(fb.InputError, match="64 bits"):
        fb.decide.plan_labels(scores, epsilon=0.3, ids=[2**70, *range(199)])
    with pytest.raises(fb.InputTypeError, match="rows"):
        fb.decide.plan_labels(scores, epsilon=0.3).update(5, 1)


def test_cuts_of_class_rates_are_few() -> None:
    scores, labels = rows(2000)
    shift = LabelShift(fb.CertifiedCalibration().fit(scores, labels), method="likelihood", cuts=np.linspace(0.01, 0.99, 600))
    with pytest.raises(fb.InputError, match="cuts"):
        shift.fit(rows(500, 1)[0], source_scores=scores, source_labels=labels)
