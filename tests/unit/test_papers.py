"""The papers' experiments at a small size and fixed seeds: the protocols are run, and every number and figure is made."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

import oracle
from oracle import CREDIT, REPOSITORY, Case, close, script

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

pytest.importorskip("sklearn")
pytest.importorskip("scipy")

SCRIPTS = REPOSITORY / "bench" / "papers"


@pytest.fixture(scope="module")
def papers() -> Iterator[dict[str, ModuleType]]:
    """The scripts, which import each other by their bare names."""
    sys.path.insert(0, str(SCRIPTS))
    known = set(sys.modules)
    try:
        yield {name: importlib.import_module(name) for name in ("credit", "gr21_credit", "ssh23_risk", "recalibration")}
    finally:
        sys.path.remove(str(SCRIPTS))
        for name in set(sys.modules) - known:
            if Path(getattr(sys.modules[name], "__file__", None) or "").parent == SCRIPTS:
                del sys.modules[name]


def write_credit_like(path: Path, n_rows: int) -> None:
    """A file of CREDIT's form: two lines of headers, a row number, 23 features, the label."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_rows, 23))
    labels = rng.random(n_rows) < 1.0 / (1.0 + np.exp(1.2 - features[:, 0] - 0.5 * features[:, 1]))
    rows = (
        f"{i},{','.join(f'{x:.4f}' for x in row)},{int(y)}" for i, (row, y) in enumerate(zip(features, labels, strict=True))
    )
    path.write_text("\n".join(["first line", "second line", *rows]) + "\n")


def test_credit_protocol(papers: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credit = papers["credit"]
    write_credit_like(tmp_path / "credit.csv", 4000)
    features, labels = credit.read_credit(tmp_path / "credit.csv")
    assert features.shape == (4000, 23)
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1.0)

    scored = credit.score_credit(features, labels, seed=0, sizes=(1500, 500))
    again = credit.score_credit(features, labels, seed=0, sizes=(1500, 500))
    assert len(scored.scores) == 2000
    np.testing.assert_array_equal(scored.scores, again.scores)

    monkeypatch.setattr(credit, "N_TEST", 800)
    results = credit.Results([credit.study(scored, {400: credit.METHODS, 900: ("UMD", "UMS")}, 4, seed=0)])
    assert results.sizes == [400, 900]
    for method in credit.METHODS:
        marginal, conditional = (results.validity(method, 400, np.linspace(0.0, 1.0, 21), conditional=c) for c in (False, True))
        assert (np.diff(marginal) >= 0.0).all()
        assert (conditional <= marginal + 1e-12).all()
        assert marginal[-1] == conditional[-1] == 1.0
    assert results.validity("UMD", 900, 0.1) > results.validity("UMD", 400, 0.1) - 0.05
    low, high = results.span("UMD", 400, 0.1)
    assert low == high == results.validity("UMD", 400, 0.1)
    checks = credit.check_umd(scored, [400], 2, seed=0)
    assert [n for n, _ in checks] == [400, 400]
    assert all(check.n_samples == 800 for _, check in checks)


def test_draws_are_disjoint_and_the_same_for_all_methods(papers: dict[str, ModuleType]) -> None:
    first, again = (list(papers["credit"].draws(15_000, 500, 3, seed=1)) for _ in range(2))
    for (own, test), (own_again, test_again) in zip(first, again, strict=True):
        assert len(own) == 500
        assert len(test) == 5000
        assert not set(own) & set(test)
        np.testing.assert_array_equal(own, own_again)
        np.testing.assert_array_equal(test, test_again)
    assert not np.array_equal(first[0][0], first[1][0])


def test_credit_study_on_the_data(
    papers: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One base split and three draws: near the paper's numbers as far as these go, and all is printed and drawn."""
    pytest.importorskip("matplotlib").use("Agg")
    script = papers["gr21_credit"]
    arguments = ["--data", str(CREDIT), "--splits", "1", "--draws", "3", "--workers", "1", "--figures", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["gr21_credit.py", *arguments])
    script.main()
    printed = capsys.readouterr().out
    for told in ("Figure 1(b)", "Figures 3 to 5", "Figure 6", "Theorem 4", "The test of UMD's own certificates"):
        assert told in printed
    assert printed.count("\n  paper  ") == printed.count("\n  ours   ") == 29
    (umd,) = (line for line in printed.splitlines() if line.split()[:2] == ["1000", "UMD"] and " 0.79 " in line)
    assert abs(float(umd.split()[2]) - 0.79) < 0.12
    assert sorted(figure.name for figure in tmp_path.iterdir()) == [
        "gr21_figure1.png", "gr21_figure3.png", "gr21_figure6.png", "gr21_figures45.png",
    ]  # fmt: skip


def test_best_number_of_bins_of_a_parabola(papers: dict[str, ModuleType]) -> None:
    n_bins = np.array([10, 14, 20, 28, 40, 56, 80])
    risk = 1e-3 * np.exp(0.3 * np.log(n_bins / 30.0) ** 2)
    at = papers["recalibration"].Risks(1000, n_bins, risk[None, :] / 4, 3 * risk[None, :] / 4)
    best, least = at.best()
    assert math.isclose(best, 30.0, rel_tol=1e-9)
    assert math.isclose(least, 1e-3, rel_tol=1e-9)


def test_exponents_of_a_power_law(papers: dict[str, ModuleType]) -> None:
    observations = importlib.import_module("ssh23_observations")
    n_bins = np.array([6, 7, 10, 20, 31])
    grid = [
        papers["recalibration"].Risks(n, n_bins, np.tile(3.0 * n_bins**0.9 / n, (2, 1)), np.tile(n_bins**-1.7, (2, 1)))
        for n in (1000, 5000, 20000)
    ]
    np.testing.assert_allclose(observations.rates(grid, lambda at: at.calibration), [-1.0, 0.9], rtol=1e-9)
    np.testing.assert_allclose(observations.rates(grid, lambda at: at.sharpness, parity=1), [0.0, -1.7], atol=1e-9)


def test_recalibration_study(papers: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    script, protocol = papers["ssh23_risk"], papers["recalibration"]
    sizes = (300, 1000, 4000)
    grid, around = script.run(20_000, sizes)
    assert [at.n for at in grid] == list(sizes)
    assert all((2 * at.n_bins <= at.n).all() for at in grid)
    for at in grid:
        assert (at.calibration > 0.0).all()
        assert (at.sharpness > 0.0).all()
    # The calibration risk falls like 1 / n, the best number of bins rises like 5 n^(1/3).
    assert 2.0 < grid[1].calibration.mean() / grid[2].calibration.mean() < 8.0
    for at in around[1:]:
        assert 3.0 < at.best()[0] / at.n ** (1.0 / 3.0) < 8.0
    script.print_figure_1(grid)
    script.print_figure_2(around)
    runs = [script.realise(seed, 9, 4) for seed in range(5)]
    told = [str(observation) for observation in script.observe(grid, around, runs)]
    assert len(told) == 8
    assert all("  paper  " in text and "  ours   " in text for text in told)
    assert "Figure 2" in capsys.readouterr().out
    script.draw_figure_2(around, tmp_path / "figure2.png")
    script.draw_figure_4(runs[0], tmp_path / "figure4.png")
    assert all(figure.stat().st_size > 5000 for figure in tmp_path.iterdir())
    assert protocol.draws_for(100, 10**9, least=2) == 200
    assert protocol.draws_for(10**7, 10, least=2) == 2


@pytest.mark.parametrize("name", ["gr21_credit", "ssh23_risk"])
def test_printed_results_are_kept_and_complete(name: str) -> None:
    text = (SCRIPTS / "results" / f"{name}.txt").read_text(encoding="utf8")
    claims, findings = text.count("\n  paper  "), text.count("\n  ours   ")
    assert claims == findings == {"gr21_credit": 29, "ssh23_risk": 8}[name]
    for paragraph in text.split("What the paper observes")[1].split("\n\n"):
        if ": does not hold" in paragraph:
            assert "\n  why    " in paragraph, paragraph


# ------------------------------------------------------------------------------------------------- the two-Gaussian family

TwoGaussians = script(SCRIPTS / "gaussians.py").TwoGaussians


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


# ------------------------------------------------------------------------------------------------- top labels

TOP_LABEL = SCRIPTS / "cifar10_top_label.py"


@pytest.fixture
def top_label() -> ModuleType:
    return script(TOP_LABEL)


def write_logits(folder: Path) -> None:
    """Overconfident logits of four classes: the truth is drawn at half of them."""
    rng = np.random.default_rng(1)
    columns = {}
    for part, n in (("calibration", 2000), ("test", 4000)):
        logits = rng.normal(0.0, 3.0, (n, 4)).astype(np.float32)
        chances = np.exp(logits / 2.0)
        labels = (rng.random((n, 1)) > np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
        columns |= {f"{part}_logits": logits, f"{part}_labels": np.minimum(labels, 3).astype(np.uint8)}
    np.savez(folder / "cifar10_resnet50.npz", **columns)


def test_every_method_is_measured(
    top_label: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logits(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(TOP_LABEL), "--data", str(tmp_path), "--bootstrap", "2"])
    top_label.main()
    printed = capsys.readouterr().out
    table = {line[:28].strip(): line[28:].split() for line in printed.split("\n\n")[1].splitlines()[1:]}
    assert {"softmax", "temperature scaling", *top_label.OURS} <= set(table)
    errors = {name: float(row[0]) for name, row in table.items()}
    for name in ("TopLabelBinning", "TopLabelBinning, certified", "temperature scaling"):
        assert errors[name] < 0.7 * errors["softmax"], name
    assert float(table["softmax"][1]) > 0.0
    assert {len(row) for row in table.values()} <= {7, 9, 10}
    assert printed.count("With probability at least 90 % over the 2,000 calibration samples") == 6
    assert "normalized probabilities have no certificate" in printed


def test_temperature_scaling_finds_the_temperature(top_label: ModuleType, tmp_path: Path) -> None:
    write_logits(tmp_path)
    calibration, test = top_label.read_rows(tmp_path / top_label.FILE)
    truth = np.exp(test.logits / 2.0)
    truth /= truth.sum(axis=1, keepdims=True)
    assert np.abs(top_label.temperature(calibration, test).matrix - truth).max() < 0.05


def test_without_data_it_says_so(
    top_label: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(top_label.DATA_VARIABLE, raising=False)
    for arguments, said in (
        ([], "skipped: no data folder"),
        (["--data", str(tmp_path)], "skipped: cifar10_resnet50.npz is not in"),
    ):
        monkeypatch.setattr(sys, "argv", [str(TOP_LABEL), *arguments])
        top_label.main()
        assert said in capsys.readouterr().out
