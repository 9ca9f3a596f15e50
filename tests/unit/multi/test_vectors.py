"""Vector calibration: what it fits, what it serves, what is certain about it, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from wordings import refused

import fastbin as fb
from fastbin.multi import VectorCalibration, VectorModel
from fastbin.scaling import vectors
from reference.vector_fit import fit_affine_map
from reference.vectors import predict

RNG = np.random.default_rng(28)
N, K = 900, 4
LOGITS = RNG.normal(0.0, 2.0, (N, K))
TRUTHS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
P = TRUTHS**2 / (TRUTHS**2).sum(axis=1, keepdims=True)
Y = (TRUTHS.cumsum(axis=1) > RNG.random((N, 1))).argmax(axis=1)
NAMES = np.array(["cat", "dog", "ant", "bee"])


def log_loss(values: Any, labels: Any) -> float:
    return float(-np.log(values[np.arange(len(labels)), labels]).mean())


def test_rows_sum_to_1_and_no_entry_is_0_or_1() -> None:
    zeros = P * (P > 0.05)
    zeros /= zeros.sum(axis=1, keepdims=True)
    cal = VectorCalibration().fit(zeros, Y)
    certain = np.vstack([zeros, np.eye(K)])
    values = cal.predict(certain)
    np.testing.assert_allclose(values.sum(axis=1), 1.0, atol=1e-12)
    assert values.min() > 0.0
    assert values.max() < 1.0
    assert log_loss(values[:N], Y) < log_loss(np.maximum(zeros, 1e-9), Y)


def test_it_is_closer_to_the_truth_than_the_scores() -> None:
    values = VectorCalibration().fit(P[:600], Y[:600]).predict(P[600:])
    assert np.abs(values - TRUTHS[600:]).mean() < 0.6 * np.abs(P[600:] - TRUTHS[600:]).mean()


@pytest.mark.parametrize("k", [2, 3, 60])
def test_the_fit_is_that_of_the_reference(k: int) -> None:
    rng = np.random.default_rng(k)
    rows = rng.dirichlet([0.5] * k, 500)
    labels = (rows.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    of_models = np.clip(rows**0.8, 1e-3, 0.99)
    found = vectors.fit_affine_map(rows, labels, None, of_models)
    expected = fit_affine_map(rows, labels, np.ones(500), of_models)
    assert found.least == expected.least
    np.testing.assert_allclose(found.slopes, expected.slopes, atol=3e-4)
    np.testing.assert_allclose(found.intercepts, expected.intercepts, atol=3e-3)
    assert (found.mixing is None) == (k > 50)
    if found.mixing is not None:
        np.testing.assert_allclose(found.mixing, expected.mixing, atol=3e-4)


def test_what_is_served_is_the_formula() -> None:
    model = VectorCalibration().fit(P, Y).model_
    of_models = np.column_stack([each.predict(P[:, column]) for column, each in enumerate(model.models.values())])
    np.testing.assert_allclose(model.predict(P), predict(model.vector, of_models, P), rtol=1e-12)
    assert np.array_equal(model.predict_one(P[5]), model.predict(P)[5])


def test_orders_do_not_matter() -> None:
    values = VectorCalibration().fit(P, Y).predict(P)
    rng = np.random.default_rng(1)  # its own, as no other test may move what is drawn
    rows, columns = rng.permutation(N), rng.permutation(K)
    np.testing.assert_allclose(VectorCalibration().fit(P[rows], Y[rows]).predict(P), values, rtol=1e-6)
    other = VectorCalibration().fit(P[:, columns], np.argsort(columns)[Y])
    np.testing.assert_allclose(other.predict(P[:, columns]), values[:, columns], rtol=1e-6)


def test_frequencies_repeat_rows_and_floats_weigh_them() -> None:
    # Mostly within 1e-13; in one draw of thirty rounding decides whether a last step follows, and it is 1e-6.
    weights = np.random.default_rng(0).integers(0, 4, N)
    repeated = VectorCalibration().fit(np.repeat(P, weights, axis=0), np.repeat(Y, weights))
    counted = VectorCalibration().fit(P, Y, weights)
    np.testing.assert_allclose(counted.predict(P), repeated.predict(P), rtol=1e-6)
    ours, theirs = counted.model_.vector, repeated.model_.vector
    assert np.array_equal(ours.counts, theirs.counts)
    assert np.array_equal(ours.edges, theirs.edges)
    weighted = VectorCalibration().fit(P, Y, weights * 0.5)
    np.testing.assert_allclose(weighted.predict(P), counted.predict(P), atol=0.02)
    with pytest.raises(fb.GuaranteeError, match="has no evidence bins, as after a fit with importance weights"):
        weighted.certificate()


def test_the_largest_entry_can_stay_the_largest() -> None:
    tilted = P * [1.0, 1.0, 1.0, 3.0]
    tilted /= tilted.sum(axis=1, keepdims=True)
    free, kept = (VectorCalibration(keep_top=keep).fit(tilted, Y) for keep in (False, True))
    assert (free.predict(tilted).argmax(axis=1) != tilted.argmax(axis=1)).any()
    values = kept.predict(tilted)
    assert np.array_equal(values.argmax(axis=1), tilted.argmax(axis=1))
    np.testing.assert_allclose(values.sum(axis=1), 1.0, atol=1e-12)
    unmoved = free.predict(tilted).argmax(axis=1) == tilted.argmax(axis=1)
    np.testing.assert_allclose(values[unmoved], free.predict(tilted)[unmoved], rtol=1e-12)


def test_names_of_classes_stay_with_their_columns() -> None:
    plain, named = VectorCalibration().fit(P, Y), VectorCalibration(classes=NAMES).fit(P, NAMES[Y])
    assert named.classes_.tolist() == NAMES.tolist()
    assert list(named.model_.models) == NAMES.tolist()
    assert np.array_equal(named.predict(P), plain.predict(P))
    logits = VectorCalibration(inputs="logits").fit(np.log(P), Y)
    np.testing.assert_allclose(logits.predict(np.log(P)), plain.predict(P), rtol=1e-4)


def test_a_file_serves_the_same(tmp_path: Any) -> None:
    model = VectorCalibration(classes=NAMES).fit(P, NAMES[Y]).model_
    path = tmp_path / "animals.fbm"
    model.save(path)
    for read in (
        fb.load(path),
        VectorModel.load(path),
        VectorModel.from_bytes(model.to_bytes()),
        pickle.loads(pickle.dumps(model)),
    ):
        assert read == model
        assert np.array_equal(read.predict(P), model.predict(P))
        assert str(read.certificate()) == str(model.certificate())
    assert model.provenance is not None
    with pytest.raises(fb.FormatError, match="a vector model, and not a set of models"):
        fb.ModelSet.load(path)


@pytest.mark.parametrize("k", [2, 70])
def test_hard_rows_have_a_fit(k: int) -> None:
    """A class without a row, separable rows, one class alone."""
    rng = np.random.default_rng(k)
    rows = rng.dirichlet([0.3] * k, 200)
    for labels in (rows.argmax(axis=1), np.minimum(rows.argmax(axis=1), k - 2), np.zeros(200, int)):
        values = VectorCalibration().fit(rows, labels).predict(rows)
        assert np.isfinite(values).all()
        assert values.min() > 0.0


# ------------------------------------------------------------------------------------------------- what is certain


def test_the_certificate_of_rows_by_hand() -> None:
    cal = VectorCalibration(n_bins=3).fit(P, Y)
    certificate = cal.certificate(alpha=0.1)
    served, edges = cal.predict(P), cal.model_.vector.edges
    assert edges is not None
    level = 1.0 - (1.0 - 0.1 / (K + 1)) ** (1 / 3)
    for group, (_, radius) in enumerate(certificate.radii):
        top = P.argmax(axis=1)
        of_top = group == K
        scores = P.max(axis=1) if of_top else P[:, group]
        labels = top == Y if of_top else group == Y
        values = served[np.arange(N), top] if of_top else served[:, group]
        bins = np.searchsorted(edges[group], scores, "right")
        assert np.bincount(bins).tolist() == [N // 3] * 3
        distances = []
        for b in range(3):
            x, n, mean = int(labels[bins == b].sum()), N // 3, values[bins == b].mean()
            low = beta.ppf(level / 2, x, n - x + 1) if x > 1 else level / (2 * n) if x else 0.0
            high = beta.ppf(1 - level / 2, x + 1, n - x) if x < n - 1 else 1.0 if x == n else 1.0 - level / (2 * n)
            distances.append(max(high - mean, mean - min(low, beta.ppf(level / 2, max(x, 1), n - x + 1) if x else 0.0)))
        assert radius == pytest.approx(max(distances), rel=1e-9)
    assert certificate.epsilon == max(radius for _, radius in certificate.radii)
    table = certificate.to_pandas()
    assert len(table) == 3 * (K + 1)
    assert table["count"].sum() == N * (K + 1)
    assert "of each of 4 classes, and of the class with the largest" in str(certificate)
    assert certificate.to_dict()["about"] == "calibration rows"


def test_the_certificate_of_the_population_needs_other_rows() -> None:
    refused(fb.GuaranteeError, "fit with unlabelled=", VectorCalibration().fit(P, Y).certificate, about="population")
    other = RNG.dirichlet([0.5] * K, 3000)
    cal = VectorCalibration(n_bins=3).fit(P, Y, unlabelled=other)
    vector = cal.model_.vector
    rest = other[np.arange(3000) % 5 != 0]
    again = np.where(np.arange(3000)[:, None] % 5 == 0, other, other[::-1])
    same_edges = VectorCalibration(n_bins=3).fit(P, Y, unlabelled=again).model_.vector
    np.testing.assert_array_equal(same_edges.edges, vector.edges)
    assert (same_edges.unlabelled != vector.unlabelled).any()
    served = cal.predict(rest)
    bins = np.searchsorted(vector.edges[0], rest[:, 0], "right")
    for b in range(3):
        own = served[bins == b, 0]
        np.testing.assert_allclose(vector.unlabelled[0, b], [len(own), own.mean(), own.var(ddof=1)], rtol=1e-9)
    certificate = cal.certificate(about="population")
    assert certificate.epsilon > cal.certificate().epsilon
    assert "empirical Bernstein" in certificate.explain()
    share = 0.1 * (1.0 - (1.0 - 0.1 / (K + 1)) ** (1 / 3))
    n, mean, variance = vector.unlabelled[1, 2]
    x, rows = vector.counts[1, 2, 1], vector.counts[1, 2, 0]
    high = beta.ppf(1 - 9 * share / 2, x + 1, rows - x)
    low = beta.ppf(9 * share / 2, x, rows - x + 1)
    slack = np.sqrt(2 * variance * np.log(4 / share) / n) + 7 * np.log(4 / share) / (3 * (n - 1))
    row = next(each for each in certificate.bins if each[0] == 1 and each[1] == vector.edges[1, 1])
    assert row[-1] == pytest.approx(max(high - mean, mean - low) + slack, rel=1e-9)


def test_bins_without_a_labelled_row_are_left_out_and_told() -> None:
    """Edges come from rows without labels: a score that no labelled row has may have a bin of its own."""
    support, masses = np.array([[0.98, 0.02], [0.6, 0.4], [0.1, 0.9]]), [0.01, 0.59, 0.4]
    rng = np.random.default_rng(0)
    rows, other = support[rng.choice([1, 2], 600)], support[rng.choice(3, 20000, p=masses)]
    cal = VectorCalibration(calibrator=fb.UniformMassBinning(n_bins=2)).fit(
        rows, (rng.random(600) < 0.6).astype(int), unlabelled=other
    )
    certificate = cal.certificate(about="population")
    assert (1, 0.0, 0.4) in certificate.uncovered  # where 0.02 is
    assert not {(name, low) for name, low, *_ in certificate.bins} & {(name, low) for name, low, _ in certificate.uncovered}
    n = len(certificate.uncovered)
    assert f", leaving out {n} bin{'s' * (n != 1)} without samples, the average of what is served" in str(certificate)
    assert certificate.to_dict()["uncovered"] == [list(each) for each in certificate.uncovered]
    assert cal.certificate().uncovered == ()


def test_classes_without_a_row_are_named_and_left_out() -> None:
    certificate = VectorCalibration(classes=NAMES).fit(P, NAMES[np.minimum(Y, 2)]).certificate()
    assert certificate.left_out == ("bee",)
    assert [name for name, _ in certificate.radii] == ["cat", "dog", "ant", "top label"]
    assert "(left out: 'bee', as no sample has it)" in str(certificate)


def test_edges_look_at_no_label() -> None:
    one, other = (VectorCalibration().fit(P, labels).model_.vector for labels in (Y, RNG.permutation(Y)))
    assert np.array_equal(one.edges, other.edges)
    assert np.array_equal(one.counts[..., 0], other.counts[..., 0])


# ------------------------------------------------------------------------------------------------- refusals


def test_refusals() -> None:
    cal = VectorCalibration().fit(P, Y)
    refused(fb.InputError, "row 1 of P sums to 2.0", cal.predict, [[0.25] * 4, [0.5, 0.5, 0.5, 0.5]])
    refused(fb.InputError, "has 3 columns", cal.predict, [[0.2, 0.3, 0.5]])
    refused(
        fb.InputError, "calibrator", VectorCalibration(calibrator=fb.UniformMassBinning(5, ties="random")).fit, P[:60], Y[:60]
    )
    refused(fb.InputError, "n_bins", VectorCalibration(n_bins=0).fit, P, Y)
    refused(fb.InputError, "unlabelled is empty", VectorCalibration().fit, P, Y, unlabelled=P[:0])
    with pytest.raises(fb.NotFittedError):
        VectorCalibration().predict(P)
    with pytest.raises(fb.InputTypeError, match="VectorModel"):
        fb.ModelSet({"a": cal.model_})
