"""The two-Gaussian family of the experiments: its risks against exact cases, quadrature and simulation."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

import oracle
from oracle import REPOSITORY, Case, close


def _load(name: str) -> ModuleType:
    """A script of bench/papers, loaded by its path."""
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "bench" / "papers" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


TwoGaussians = _load("gaussians").TwoGaussians


@oracle.cases("gauss_step_risk")
def test_step_risk_is_the_oracles(case: Case) -> None:
    risk = TwoGaussians(case.inputs["pi"]).step_risk(case.inputs["cuts_z"], case.inputs["values"])
    for name, value in zip(("Rcal", "Rsha", "R", "MSE"), risk, strict=True):
        assert close(value, case.expected[name], case.tolerance)


@oracle.cases("gauss_injective_risk")
def test_smooth_risk_is_the_oracles(case: Case) -> None:
    w0, w1 = case.inputs["w0"], case.inputs["w1"]
    risk = TwoGaussians(case.inputs["pi"]).smooth_risk(lambda z: w1 * z / (w1 * z + w0 * (1 - z)))
    for name, value in zip(("Rcal", "Rsha", "R", "MSE"), risk, strict=True):
        assert close(value, case.expected[name], case.tolerance)


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.01])
def test_integrals_meet_adaptive_quadrature(rate: float) -> None:
    family = TwoGaussians(rate)

    def density(x: float) -> float:
        return float(rate * norm.pdf(x, 2) + (1 - rate) * norm.pdf(x, -2))

    def eta(x: float) -> float:
        return float(expit(4 * x + logit(rate)))

    squared, _ = quad(lambda x: eta(x) ** 2 * density(x), -13, 13, epsabs=1e-13, limit=400)
    left, _ = quad(lambda x: eta(x) * (1 - eta(x)) * density(x), -13, 13, epsabs=1e-13, limit=400)
    assert abs(family.mean_eta_squared() - squared) < 1e-12
    assert abs(family.irreducible() - left) < 1e-12


def test_many_step_functions_at_once_are_each_alone() -> None:
    rng = np.random.default_rng(0)
    family = TwoGaussians(0.3)
    edges = np.sort(rng.random((6, 4)), axis=1)
    values = rng.integers(0, 3, (6, 5)) / 2.0  # levels repeat
    together = family.step_risk(edges.reshape(2, 3, 4), values.reshape(2, 3, 5))
    for position in range(6):
        alone = family.step_risk(edges[position], values[position])
        for whole, single in zip(together, alone, strict=True):
            assert abs(whole.ravel()[position] - single) < 1e-15


def test_equal_values_are_one_level() -> None:
    family = TwoGaussians(0.5)
    split, merged = family.step_risk([0.2, 0.6], [0.1, 0.7, 0.7]), family.step_risk([0.2], [0.1, 0.7])
    assert split == pytest.approx(merged, abs=1e-15)


def test_samples_follow_the_family() -> None:
    family = TwoGaussians(0.2)
    scores, labels = family.sample(200_000, np.random.default_rng(1))
    assert abs(labels.mean() - 0.2) < 0.005
    masses, positive = family.bins([0.1, 0.5, 0.9])
    bins = np.searchsorted([0.1, 0.5, 0.9], scores)
    assert np.abs(np.bincount(bins) / scores.size - masses).max() < 0.005
    assert np.abs(np.bincount(bins, labels) / scores.size - positive).max() < 0.005
    assert abs(((labels - family.eta(scores)) ** 2).mean() - family.irreducible()) < 0.001


def test_far_bins_keep_their_digits() -> None:
    masses, positive = TwoGaussians(0.5).bins(expit(np.array([-30.0, 9.0, 10.0])))
    exact = 0.5 * (norm.sf(7) - norm.sf(8))
    assert positive[2] == pytest.approx(exact, rel=1e-10)
    assert masses.sum() == pytest.approx(1.0, abs=1e-15)
