"""The table, the picture and the command of the calibration arena, and its calibrators for CalArena itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fastbin as fb

pytest.importorskip("sklearn")
pytest.importorskip("scipy")

Draw = Callable[..., tuple[np.ndarray, np.ndarray]]


def toy_cells(arena: SimpleNamespace) -> list[object]:
    """Two sets and the one apart; `good` halves the log loss of the first, and cannot do one cell of the second."""

    def cell(place: str, n: int, method: str, brier: float | None, log_loss: float | None, **more: object) -> object:
        library = {"raw score": "none", "good": "x"}.get(method, "fastbin")
        if brier is not None:
            more |= {"ece": 0.1, "binned_ece": 0.1, "fit_ms": 1.0, "predict_ns": 2.0}
        return arena.cells.Cell(place, place, n, 100, 2, method, library, brier, log_loss, **more)

    cells = []
    for place, n in (("a", 500), ("a", 1000), ("b", 2000), ("cifar10 animal", 1000)):
        cells += [
            cell(place, n, "raw score", 0.2, 0.8),
            cell(place, n, "UMD 10", 0.1, 0.6, epsilon=0.1, n_promises=2, n_contradicted=int(n == 1000)),
            cell(place, n, "good", 0.15, 0.4) if place != "b" else cell(place, n, "good", None, None, failure="no"),
        ]
    return cells


def test_lines_are_means_of_ratios(arena: SimpleNamespace) -> None:
    coverages = [
        arena.coverage.Coverage("a", 500, "UMD 10", 100, 95, 0.1),
        arena.coverage.Coverage("b", 500, "UMD 10", 100, 91, 0.1),
    ]
    umd, raw, good = arena.summary.summarise(toy_cells(arena), coverages)
    assert [line.method for line in (umd, raw, good)] == ["UMD 10", "raw score", "good"]  # a method with a gap comes last
    assert (raw.log_loss, raw.brier, raw.failures, raw.n_promises) == (1.0, 1.0, "2/2", 0)
    assert (umd.log_loss, umd.brier, umd.apart_brier) == (pytest.approx(0.75), pytest.approx(0.5), pytest.approx(0.5))
    assert (umd.n_promises, umd.n_contradicted, umd.coverage, umd.worst_coverage) == (8, 2, 0.93, 0.91)
    assert umd.family_log_loss == pytest.approx(0.75)
    assert umd.epsilons == {500: 0.1, 1000: 0.1, 2000: 0.1}
    assert (good.log_loss, good.failures, good.few_brier) == (pytest.approx(0.5), "1/2", pytest.approx(0.75))
    assert (good.n_duels, good.wins_log_loss, good.wins_brier) == (3, 3, 0)
    table = arena.summary.losses_table([umd, raw, good]).splitlines()
    assert "not in every cell" in table[3]
    assert table[4].startswith("good")
    assert len(arena.summary.promises_table([umd, raw, good]).splitlines()) == 2


def test_win_rates_are_shares_of_the_others_beaten(arena: SimpleNamespace) -> None:
    """Ties are losses, who could not do a cell loses to all, families count alike; other libraries meet the default alone."""
    cells = toy_cells(arena)
    brier, log_loss = (arena.summary.winrates(cells, loss) for loss in ("brier", "log_loss"))
    assert brier[500] == {"raw score": 0.0, "UMD 10": 1.0, "good": 1.0}
    assert log_loss[500] == {"raw score": 0.0, "UMD 10": 0.5, "good": 1.0}
    assert brier[2000] == {"raw score": 1.0, "UMD 10": 1.0, "good": 0.0}
    certified = [replace(cell, method="Certified") for cell in cells if cell.method == "UMD 10"]
    brier = arena.summary.winrates([*cells, *certified], "brier")
    assert brier[500] == {"raw score": 0.0, "UMD 10": 1.0, "good": 0.5, "Certified": 1.0}
    shown = arena.summary.few_table([*cells, *certified], "Certified").splitlines()
    assert shown[0].split() == ["Certified,", "over", "raw", "sets", "B", "n=500", "ll", "n=500"]
    assert sorted(line.split()[-3:] for line in shown[1:]) == [
        ["0", "-", "-"],
        ["1", "0.500", "0.750"],
        ["1", "0.500", "0.750"],
    ]
    losses = {("s", "a"): (0.2, 0.2), ("t", "b"): (0.1, 0.2), ("u", "b"): (0.2, 0.2)}
    few = [
        arena.cells.Cell(place, family, 60, 9, 1, method, "x", brier, 0.3)
        for (place, family), own in losses.items()
        for method, brier in zip("mn", own, strict=True)
    ]
    assert arena.summary.winrates(few, "brier") == {60: {"m": 0.25, "n": 0.0}}
    table = arena.summary.winrates_table(cells).splitlines()
    assert table[0].split()[:4] == ["win", "rate", "B", "n=500"]
    assert table[1].startswith("UMD 10")


def test_families_count_alike(arena: SimpleNamespace) -> None:
    """Three cells of one family and one of another: ratios .5, .5, .5 and 1."""
    cells = []
    for place, family, loss in (("a", "x", 0.1), ("b", "x", 0.1), ("c", "x", 0.1), ("d", "y", 0.2)):
        for method, own in (("raw score", 0.2), ("good", loss)):
            cells.append(arena.cells.Cell(place, family, 1000, 9, 1, method, "z", own, own, 0.1, 0.1, 1.0, 1.0))
    good, _ = arena.summary.summarise(cells)
    assert (good.brier, good.family_brier) == (pytest.approx(0.625), pytest.approx(0.75))


def test_claims_are_judged(arena: SimpleNamespace) -> None:
    lines = arena.summary.summarise(toy_cells(arena))
    assert arena.summary.claims(lines, "no such method") == []
    log_loss, brier, wins, contradicted = arena.summary.claims(lines, "UMD 10")
    assert log_loss == ("log loss 0.7500 is the smallest; the smallest is 0.7500 (UMD 10)", True)
    assert brier[1]
    assert not wins[1]  # nothing beats itself
    assert contradicted == ("held-out rows contradict 0.2500 of its promises, at most 0.4282", True)
    assert arena.summary.claims(lines, "good") == [("good did 1/2 cells", False)]


def test_the_command(
    arena: SimpleNamespace, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    main = arena.__dict__["__main__"]
    monkeypatch.setattr(main, "POPULATIONS", ("a game",))
    monkeypatch.setattr(main, "COVERAGE_SIZES", (500,))
    places = ["--data", str(folder), "--sets", "a game", "compas", "--out", str(tmp_path), "--repeats", "2"]
    main.main([*places, "--sizes", "500", "all", "--methods", "UMD 10", "venn-abers", "--coverage", "10"])
    out = capsys.readouterr().out
    assert "2 score sets, 2 draws each" in out
    assert {line.split("  ")[0] for line in out.splitlines() if " fastbin " in line} == {"UMD 10"}
    cells = arena.cells.load_cells(tmp_path / "cells.csv.gz")
    assert {(cell.set, cell.n) for cell in cells} == {("a game", 500), ("a game", 1334), ("compas", 200)}
    assert {cell.method for cell in cells} >= {"raw score", "UMD 10"}
    assert "no cell has 1,000 rows" not in out
    assert (tmp_path / "calarena.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table.txt").read_text() == out

    main.main([*places, "--sizes", "500", "--methods", "Platt", "--coverage", "0"])  # is added
    capsys.readouterr()
    main.main(["--show", "--out", str(tmp_path)])
    assert "Platt" in capsys.readouterr().out
    main.main(
        [*places[:-3], str(tmp_path / "few"), "--sizes", "500", "--repeats", "2", "--methods", "UMD 10", "--coverage", "0"]
    )
    assert "no cell has 1,000 rows" in capsys.readouterr().out
    assert not (tmp_path / "few" / "calarena.png").exists()
    with pytest.raises(SystemExit, match="cells of 2 repeats, not 3"):
        main.main([*places[:-1], "3"])


def test_matrices_are_means_over_cells_of_a_group(arena: SimpleNamespace) -> None:
    """Ratios to the raw score; both sizes of one set count, and a method with a gap comes last."""
    cells = []
    for place, n, raw in (("a", 80, 0.8), ("a", 300, 0.4), ("b", 300, 0.2)):
        for method, library, share in (("raw score", "none", 1.0), ("ours", "fastbin", 0.5), ("x", "y", 0.25)):
            gap = method == "x" and place == "b"
            cells.append(
                arena.cells.Cell(place, place, n, 9, 1, method, library, failure="no") if gap
                else arena.cells.Cell(place, place, n, 9, 1, method, library, raw * share, raw * share**2, 0.1, 0.1, 2.0, 1.0)
            )  # fmt: skip
    table = [line.split() for line in arena.summary.matrices_table(cells, 300, "ours").splitlines()]
    assert table[0][:4] == ["n", "=", "300", "library"]
    # Against the others: x is ahead in the one family, and absent from the other.
    assert table[1] == ["ours", "fastbin", "3/3", "0.2500", "0.5000", "0.25", "0.50", "0.1000", "0.750", "0.750", "2.0"]
    assert table[2] == ["raw", "score", "none", "3/3", "1.0000", "1.0000", "1.00", "1.00", "0.1000", "0.250", "0.250", "2.0"]
    assert table[3] == ["x", "y", "2/3", "0.0625", "0.2500", "0.06", "0.25", "0.1000", "0.500", "0.500", "2.0"]


def test_the_command_for_matrices(
    arena: SimpleNamespace, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = arena.__dict__["__main__"].main
    places = ["--matrices", "--data", str(folder), "--sets", "wine naive", "--out", str(tmp_path), "--repeats", "2"]
    main([*places, "--methods", "VectorCalibration"])
    out = capsys.readouterr().out
    assert "1 matrices, 2 draws each" in out
    assert "every method could do every cell" in out
    cells = arena.cells.load_cells(tmp_path / "matrices" / "cells.csv.gz")
    assert {(cell.set, cell.n, cell.method) for cell in cells} == {
        ("wine naive Bayes", 80, "raw score"),
        ("wine naive Bayes", 80, "VectorCalibration"),
    }
    main(["--matrices", "--show", "--out", str(tmp_path)])
    assert capsys.readouterr().out == out == (tmp_path / "matrices" / "table.txt").read_text()


def test_custom_calibrators(arena: SimpleNamespace, calibrated: Draw) -> None:
    scores, labels = calibrated(1000)
    assert list(arena.custom_calibrators.CUSTOM_CALIBRATORS) == ["fastbin-Certified", "fastbin-Vector", "fastbin-UMD"]
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    several = arena.custom_calibrators.CUSTOM_CALIBRATORS["fastbin-Vector"]().fit(rows, np.arange(60) % 3)
    expected = fb.multi.VectorCalibration(classes=range(3)).fit(rows, np.arange(60) % 3).predict(rows)
    np.testing.assert_array_equal(several.predict_proba(rows), expected)
    for make in arena.custom_calibrators.CUSTOM_CALIBRATORS.values():
        one = make().fit(scores, labels.astype(np.int64))
        both = make().fit(np.column_stack((1.0 - scores, scores)), labels)
        answer = one.predict_proba(scores)
        assert answer.shape == (1000, 2)
        np.testing.assert_allclose(answer.sum(axis=1), 1.0)
        np.testing.assert_allclose(answer, both.predict_proba(np.column_stack((1.0 - scores, scores))))
        single = make().fit(scores.astype(np.float32)[:, None], labels).predict_proba(scores.astype(np.float32)[:, None])
        assert np.abs(answer - single).mean() < 0.01
        assert np.mean((answer[:, 1] - scores) ** 2) < 0.01
        assert 0.0 < one.model_.certificate().epsilon < 0.3
        make().fit(scores[:7], labels[:7]).predict_proba(scores)
    with pytest.raises(ValueError, match=r"shape \(10, 2, 1\)"):
        make().fit(np.ones((10, 2, 1)), labels[:10])


def test_custom_calibrators_of_a_file(arena: SimpleNamespace, tmp_path: Path) -> None:
    """As the public benchmark keeps its data and calls calibrators: float32, a group for each data set and model."""
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    truths = {
        "adult/XGBoost": (scores := rng.random((900, 1), np.float32), scores),
        "covid/CatBoost": (scores[:, 0], scores[:, 0] ** 2),
        "cars/RealMLP": (classes := rng.dirichlet(np.ones(4), 900).astype(np.float32), classes),
    }
    with h5py.File(tmp_path / "made-binary.h5", "w") as file:
        for name, (probabilities, truth) in truths.items():
            chances = truth if probabilities.shape[1:] == (4,) else np.column_stack((1.0 - truth.ravel(), truth.ravel()))
            labels = (rng.random((900, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
            group = file.create_group(name)
            for part, rows in (("cal", slice(0, 600)), ("test", slice(600, 900))):
                group[f"probas_{part}"], group[f"labels_{part}"] = probabilities[rows], labels[rows]
    with h5py.File(tmp_path / "made-binary.h5") as file:
        for name, (probabilities, _) in truths.items():
            given = {key: column[:] for key, column in file[name].items()}
            for make in arena.custom_calibrators.CUSTOM_CALIBRATORS.values():
                calibrator = make()
                calibrator.fit(given["probas_cal"], given["labels_cal"])
                answer = calibrator.predict_proba(given["probas_test"])
                assert answer.shape == (300, 4 if probabilities.shape[1:] == (4,) else 2)
                assert answer.dtype == np.float64
                np.testing.assert_allclose(answer.sum(axis=1), 1.0)
                at_label = answer[np.arange(300), given["labels_test"]]
                assert -np.log(np.maximum(at_label, 1e-3)).mean() < (1.3 if answer.shape[1] == 4 else 0.68)
