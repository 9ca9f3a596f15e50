"""Venn prediction by bins and by isotonic regression: exact cases, validity refused where there is none, files."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
import oracle
from fastbin.binning.venn import VennAbers, merge_venn, predict_venn, venn_pairs
from fastbin.shift import LabelShift
from oracle import Case, close

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

SCORES = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
LABELS = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]


@oracle.cases("venn_binned")
def test_pairs_of_bins(case: Case) -> None:
    count, ones = case.inputs["count"], case.inputs["ones"]
    scores = [0.25] * count + [0.75]
    model = fb.FixedWidthBinning(2).fit(scores, [1] * ones + [0] * (count - ones) + [1]).model_
    assert close(venn_pairs(model)[0].tolist(), [case.expected["p0"], case.expected["p1"]], case.tolerance)
    assert predict_venn(model, [0.1, 0.2]).tolist() == [venn_pairs(model)[0].tolist()] * 2


@oracle.cases("ivap")
def test_ivap(case: Case) -> None:
    cal = VennAbers().fit(case.inputs["scores"], case.inputs["labels"])
    expected = case.expected
    pair = cal.predict_venn([case.inputs["query"]])
    assert close(pair[0].tolist(), [expected["p0"], expected["p1"]], case.tolerance)
    assert close(cal.predict_one(case.inputs["query"]), expected["merged"], case.tolerance)
    assert merge_venn(pair)[0] == cal.predict_one(case.inputs["query"])


def test_uniform_mass_leaves_boundary_samples_out() -> None:
    model = fb.UniformMassBinning(3).fit(SCORES, LABELS).model_
    assert venn_pairs(model).tolist() == [[1 / 4, 2 / 4], [2 / 4, 3 / 4], [2 / 3, 3 / 3]]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([[0.1, 0.2, 0.3]], "InputError pairs"),
        ([], "InputError pairs"),
        ([["a", "b"]], "InputTypeError pairs"),
        ([[0.1, 0.2], [0.5, 1.5]], "InputError pairs[1, 1]"),
        ([[0.1, 0.2], [0.5, 0.25]], "InputError pairs[1]"),
        ([[1, 0]], "InputError pairs[0]"),
    ],
)
def test_what_is_no_pair_is_not_merged(pairs: Any, told: str) -> None:
    refuses(told, merge_venn, pairs)


def test_no_pairs_and_equal_ones_are_merged() -> None:
    assert merge_venn(np.empty((0, 2))).shape == (0,)
    assert merge_venn([[1, 1], [0, 0], [0, 1]]).tolist() == [1.0, 0.0, 0.5]


def test_nan_goes_through_where_asked() -> None:
    model = fb.UniformMassBinning(3).fit(SCORES, LABELS).model_
    assert np.isnan(predict_venn(model, [np.nan], nan="propagate")).all()
    assert np.isnan(merge_venn(predict_venn(model, [np.nan, 0.5], nan="propagate"))).tolist() == [True, False]
    assert np.isnan(VennAbers().fit(SCORES, LABELS).predict_venn([0.5, np.nan], nan="propagate")[1]).all()
    with pytest.raises(fb.InputError, match=re.escape("scores[1] is NaN")):
        predict_venn(model, [0.5, np.nan])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: fb.IsotonicCalibration().fit(SCORES, LABELS), "fit VennAbers, the isotonic Venn predictor"),
        (lambda: fb.PlattScaling().fit(SCORES, LABELS), "Theorem 3"),
        (lambda: fb.UniformMassBinning(3, scheme="ze").fit(SCORES, LABELS), "scheme 'ze' averages the label of a boundary"),
        (lambda: fb.UniformMassBinning(3, scheme="umb").fit(SCORES, LABELS), "scheme 'umb' averages the label of a boundary"),
        (lambda: fb.UniformMassBinning(2, ties="upper").fit([0.5] * 8, [0, 1] * 4), "ties='upper' sends them all to one side"),
        (lambda: fb.FixedWidthBinning(2).fit(SCORES, LABELS, sample_weight=np.ones(10)), "real weights"),
        (lambda: LabelShift(VennAbers().fit(SCORES, LABELS)).fit(labels=LABELS), "values were moved to other class rates"),
        (lambda: LabelShift(fb.FixedWidthBinning(2).fit(SCORES, LABELS)).fit(labels=[1, 1, 0]), "moved to other class rates"),
    ],
)
def test_pairs_that_would_not_be_valid_are_refused(model, message: str) -> None:
    with pytest.raises(fb.GuaranteeError, match=message):
        predict_venn(model().model_, [0.5])


# ------------------------------------------------------------------------------------------------- Venn-Abers


def test_ivap_between_knots_and_beyond() -> None:
    cal = VennAbers().fit([0.3, 0.5, 0.5, 0.7], [0, 1, 0, 1])
    pairs = cal.predict_venn([0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9])
    assert close(
        pairs.tolist(), [[0, 1 / 2], [0, 1 / 2], [0, 2 / 3], [1 / 3, 2 / 3], [1 / 3, 1], [1 / 2, 1], [1 / 2, 1]], 1e-15
    )
    assert (pairs[:, 0] <= pairs[:, 1]).all()


def test_ivap_steps_that_no_score_can_reach_are_left_out() -> None:
    cal = VennAbers().fit([0.0, 1.0], [0, 1])
    assert len(cal.pairs_) == cal.model_.n_bins <= 3
    assert close(cal.predict_venn([0.0, 0.5, 1.0]).tolist(), [[0, 1 / 2], [0, 1], [1 / 2, 1]], 1e-15)
    top = VennAbers().fit([0.1, 0.4, 0.6, 1.0], [0, 1, 1, 0])
    assert top.model_.edges.tolist() == [0.1, 0.4]
    assert len(top.pairs_) == 3
    single = VennAbers(score_range=None).fit([3.0], [1])
    assert close(single.predict_venn([2.0, 3.0, 4.0]).tolist(), [[0, 1], [1 / 2, 1], [1 / 2, 1]], 1e-15)


def test_frequencies_are_repetition() -> None:
    counted = VennAbers().fit([0.2, 0.4, 0.6], [1, 0, 1], sample_weight=[2, 3, 0])
    repeated = VennAbers().fit([0.2, 0.2, 0.4, 0.4, 0.4], [1, 1, 0, 0, 0])
    assert counted.model_ == repeated.model_
    assert counted.pairs_.tolist() == repeated.pairs_.tolist()
    assert (counted.model_.n_samples, counted.model_.n_positive) == (5, 2)
    with pytest.raises(fb.InputError, match=r"sample_weight is real.*exchangeable"):
        VennAbers().fit([0.2, 0.4], [1, 0], sample_weight=[1.0, 1.0])


def test_ivap_has_no_certificate() -> None:
    cal = VennAbers().fit(SCORES, LABELS)
    of_model = (cal.model_.certificate, cal.model_.interval)
    for ask in (cal.certificate, lambda: cal.predict_interval([0.5]), lambda: cal.predict_set([0.5]), *of_model):
        with pytest.raises(fb.GuaranteeError, match="Vovk & Petej 2014, Theorem 1"):
            ask()


def test_ivap_files_and_pickles(tmp_path: Path) -> None:
    """The pairs are in the file."""
    cal = VennAbers().fit(SCORES, LABELS)
    cal.model_.save(tmp_path / "ivap.fbm")
    queries, loaded = np.linspace(0, 1, 101), fb.load(tmp_path / "ivap.fbm")
    assert loaded.predict(queries).tolist() == cal.predict(queries).tolist()
    np.testing.assert_array_equal(predict_venn(loaded, queries), cal.predict_venn(queries))
    np.testing.assert_array_equal(loaded.pairs, cal.pairs_)
    with pytest.raises(fb.GuaranteeError):
        loaded.interval()
    again = pickle.loads(pickle.dumps(cal))
    assert again.predict_venn(queries).tolist() == cal.predict_venn(queries).tolist()


def test_many_samples() -> None:
    """The brute force on 200,000 samples would be 200,000 isotonic regressions: it is checked at a few scores."""
    rng = np.random.default_rng(8)
    scores = rng.random(200_000)
    labels = (rng.random(200_000) < scores).astype(np.uint8)
    cal = VennAbers().fit(scores, labels)
    queries = rng.random(5)
    for query, (p0, p1) in zip(queries, cal.predict_venn(queries), strict=True):
        for label, expected in ((0, p0), (1, p1)):
            joined = fb.IsotonicCalibration().fit(np.append(scores, query), np.append(labels, label))
            assert joined.predict_one(query) == expected


def test_not_fitted() -> None:
    with pytest.raises(fb.NotFittedError):
        VennAbers().predict([0.5])
    with pytest.raises(fb.NotFittedError):
        VennAbers().predict_venn([0.5])


def test_pairs_of_two_resolutions_are_those_of_the_evidence_bins() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(600)
    labels = rng.random(600) < scores
    model, plain = fb.CertifiedCalibration(5).fit(scores, labels).model_, fb.UniformMassBinning(5).fit(scores, labels).model_
    assert model.has_steps
    np.testing.assert_array_equal(venn_pairs(model), venn_pairs(plain))
    new = rng.random(50)
    np.testing.assert_array_equal(fb.predict_venn(model, new), fb.predict_venn(plain, new))
    np.testing.assert_array_equal(model.predict_set(new), plain.predict_set(new))


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(4), fb.CertifiedCalibration(4)])
def test_whole_groups_at_edges_have_no_pairs_but_sets(calibrator: Any) -> None:
    scores = np.repeat(np.arange(10) / 10, 40)
    labels = np.random.default_rng(0).random(400) < scores
    model = calibrator.fit(scores, labels).model_
    assert model.ties == "whole"
    with pytest.raises(fb.GuaranteeError, match="fit with scheme='ums' or ties='random'"):
        fb.predict_venn(model, [0.5])
    sets = model.predict_set(scores, alpha=0.1)
    assert sets.any(axis=1).all()
    np.testing.assert_array_equal(sets, fb.BinnedModel.from_bytes(model.to_bytes()).predict_set(scores, alpha=0.1))
