"""uLSIF against exact cases, against leaving out by brute force, and in what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin.shift import ULSIF, importance
from oracle import Case, close


@oracle.cases("ulsif")
def test_ulsif_is_the_oracles(case: Case) -> None:
    told, expected = case.inputs, case.expected
    ulsif = ULSIF(sigmas=told["sigma"], lambdas=told["lam"]).fit(told["Xs"], told["Xt"], centers=told["centers"])
    assert close(ulsif.coefficients_.tolist(), expected["beta"], case.tolerance)
    assert close(ulsif.scores_[0, 0], expected["loocv"], case.tolerance)
    assert close(ulsif.weights(told["Xs"]).tolist(), expected["w_at_sources"], case.tolerance)


def kernel(rows: np.ndarray, centers: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-((rows[:, None, :] - centers[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def left_out_error(source: np.ndarray, target: np.ndarray, centers: np.ndarray, sigma: float, penalty: float) -> float:
    """Refit without pair i, for every i."""
    total, n = 0.0, min(len(source), len(target))
    for i in range(n):
        phi, phi_target = (kernel(np.delete(rows, i, axis=0), centers, sigma) for rows in (source, target))
        second, first = phi.T @ phi / len(phi), phi_target.mean(axis=0)
        beta = np.maximum(np.linalg.solve(second + penalty * np.eye(len(centers)), first), 0)
        at_source, at_target = (float((kernel(rows[[i]], centers, sigma) @ beta)[0]) for rows in (source, target))
        total += at_source**2 / 2 - at_target
    return total / n


@pytest.mark.parametrize("sizes", [(12, 9), (9, 12), (10, 10)])
def test_closed_form_is_leaving_out(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    source, target = rng.random((sizes[0], 2)), rng.beta(2, 1, (sizes[1], 2))
    sigmas, lambdas = [0.1, 0.4, 3.0], [0.001, 0.1, 10.0]
    ulsif = ULSIF(sigmas=sigmas, lambdas=lambdas, n_centers=5).fit(source, target)
    brute = [[left_out_error(source, target, ulsif.centers_, sigma, penalty) for penalty in lambdas] for sigma in sigmas]
    np.testing.assert_allclose(ulsif.scores_, brute, rtol=1e-9, atol=1e-12)
    best = np.unravel_index(np.argmin(brute), (3, 3))
    assert (ulsif.sigma_, ulsif.lambda_) == (sigmas[best[0]], lambdas[best[1]])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.random((200, 3)), rng.beta(2, 1, (150, 3))
    settings = {"sigmas": [0.2, 0.5], "lambdas": [0.01, 0.1], "n_centers": 20}
    whole = ULSIF(**settings).fit(source, target)
    monkeypatch.setattr(importance, "BLOCK_ENTRIES", 20 * 7)
    parts = ULSIF(**settings).fit(source, target)
    np.testing.assert_allclose(parts.scores_, whole.scores_, rtol=1e-12)
    np.testing.assert_allclose(parts.weights(source), whole.weights(source), rtol=1e-9)


def test_it_finds_the_density_ratio() -> None:
    rng = np.random.default_rng(0)
    source, target, new = rng.random((3000, 1)), rng.beta(2, 1, (3000, 1)), rng.random((500, 1))
    ulsif = ULSIF(sigmas=np.logspace(-1, 1, 5), lambdas=np.logspace(-3, 1, 5)).fit(source, target)
    weights = ulsif.weights(new)
    assert np.abs(weights - 2 * new[:, 0]).mean() < 0.1
    assert abs(weights.mean() - 2 * new.mean()) < 0.1
    assert (weights >= 0).all()


def test_no_shift_gives_weights_of_about_one() -> None:
    rng = np.random.default_rng(1)
    source, target = rng.random((1000, 2)), rng.random((1000, 2))
    weights = ULSIF(sigmas=[0.3, 1.0, 3.0], lambdas=[0.01, 0.1]).fit(source, target).weights(source)
    assert np.abs(weights - 1).max() < 0.35


def test_seed_chooses_the_centers_and_one_column_may_be_flat() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.random(60), rng.beta(2, 1, 80)
    settings = {"sigmas": 0.3, "lambdas": 0.1, "n_centers": 10}
    one, two, other = (ULSIF(**settings, seed=seed).fit(source, target) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.centers_, two.centers_)
    assert not np.array_equal(one.centers_, other.centers_)
    np.testing.assert_array_equal(one.weights(source), one.weights(source[:, None]))
    assert set(one.centers_[:, 0]) <= set(target)


def test_progress_rises_to_one() -> None:
    rng = np.random.default_rng(0)
    shares: list[float] = []
    ULSIF(sigmas=[0.2, 0.4], lambdas=[0.1]).fit(rng.random((30, 2)), rng.random((40, 2)), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1.0


def test_a_refused_fit_gives_weights_no_answer() -> None:
    ulsif = ULSIF(sigmas=0.01, lambdas=1)
    with pytest.raises(fb.InputError, match="all weights would be 0"):
        ulsif.fit([0.0, 1.0], [1e6, 2e6], centers=[9e9])
    with pytest.raises(fb.NotFittedError):
        ulsif.weights([0.0])


def test_nothing_is_written_to_the_input() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.random((30, 2)), rng.random((30, 2))
    for rows in (source, target):
        rows.flags.writeable = False
    ULSIF(sigmas=0.3, lambdas=0.1).fit(source, target).weights(source)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ULSIF().fit([[0.0]], [[1.0], [2.0]]), fb.InputError, "source has 1 rows"),
        (lambda: ULSIF().fit([[0.0], [np.nan]], [[1.0], [2.0]]), fb.InputError, r"source\[1, 0\] is nan"),
        (lambda: ULSIF().fit([[0.0], [1.0]], [[1.0, 1.0], [2.0, 2.0]]), fb.InputError, "source has 1 columns and target has 2"),
        (lambda: ULSIF().fit([["a"], ["b"]], [[1.0], [2.0]]), fb.InputTypeError, "source is not an array of numbers"),
        (lambda: ULSIF().fit(np.zeros((2, 2, 2)), [[1.0], [2.0]]), fb.InputTypeError, r"got shape \(2, 2, 2\)"),
        (lambda: ULSIF(sigmas=[0.1, -1]).fit([0.0, 1.0], [1.0, 2.0]), fb.InputError, r"sigmas\[1\] is -1.0"),
        (lambda: ULSIF(lambdas=[]).fit([0.0, 1.0], [1.0, 2.0]), fb.InputTypeError, "lambdas must be a number"),
        (lambda: ULSIF(n_centers=0).fit([0.0, 1.0], [1.0, 2.0]), fb.InputError, "n_centers is 0"),
        (lambda: ULSIF(n_pairs=0).fit([0.0, 1.0], [1.0, 2.0]), fb.InputError, "n_pairs is 0"),
        (lambda: ULSIF().fit([0.0, 1.0], [1.0, 2.0], centers=np.empty((0, 1))), fb.InputError, "centers is empty"),
        (lambda: ULSIF(lambdas=1e-17).fit(np.ones((50, 1)), np.ones((50, 1))), fb.InputError, "lambdas has 1e-17, the best"),
        (lambda: ULSIF().fit([1j, 0.0], [1.0, 2.0]), fb.InputTypeError, "source has complex numbers"),
        (lambda: ULSIF(sigmas="a").fit([0.0, 1.0], [1.0, 2.0]), fb.InputTypeError, "sigmas must be a number"),
        (lambda: ULSIF().weights([0.0]), fb.NotFittedError, "not fitted yet"),
        (lambda: ULSIF(sigmas=1, lambdas=1).fit([0, 1], [1, 2]).weights([[1, 2]]), fb.InputError, "features has 2 columns"),
        (lambda: ULSIF(sigmas=0.01, lambdas=1).fit([0.0, 1.0], [1e6, 2e6], centers=[9e9]), fb.InputError, "scale the features"),
    ],
)  # fmt: skip
def test_refusals(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]
