"""The calibration arena on toy data: its score sets, measures, cells and simulated coverage."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import fastbin as fb

pytest.importorskip("sklearn")
pytest.importorskip("scipy")

Draw = Callable[..., tuple[np.ndarray, np.ndarray]]


# ------------------------------------------------------------------------------------------------- score sets


def test_files_become_score_sets(arena: SimpleNamespace, calibrated: Draw, folder: Path) -> None:
    sets = arena.score_sets.catalogue(folder)
    assert len(sets) - len(arena.score_sets.catalogue(None)) == 2 + 1 + 12
    game = sets["a game"]()
    assert len(game.scores) == 2000
    assert game.family == "forecasts a_game"
    np.testing.assert_array_equal(game.scores, calibrated(4000)[0][::2])
    np.testing.assert_array_equal(game.labels, calibrated(4000)[1][::2])
    compas = sets["compas"]()
    np.testing.assert_allclose(np.unique(compas.scores), np.arange(0.05, 1.0, 0.1))

    with np.load(folder / "cifar10_resnet50.npz") as file:
        logits = np.concatenate([file["calibration_logits"], file["test_logits"]]).astype(np.float64)
        classes = np.concatenate([file["calibration_labels"], file["test_labels"]])
    for row in (0, 45):
        powers = [math.exp(logit) for logit in logits[row]]
        top = max(range(10), key=lambda k: powers[k])
        chances = [power / sum(powers) for power in powers]
        assert sets["cifar10 top"]().scores[row] == pytest.approx(chances[top])
        assert sets["cifar10 top"]().labels[row] == (top == classes[row])
        assert sets["cifar10 cat"]().scores[row] == pytest.approx(chances[3])
        assert sets["cifar10 cat"]().labels[row] == (classes[row] == 3)
        assert sets["cifar10 animal"]().scores[row] == pytest.approx(sum(chances[2:8]))
        assert sets["cifar10 animal"]().labels[row] == (2 <= classes[row] < 8)


def test_classifiers_score_rows_that_they_have_not_seen(arena: SimpleNamespace) -> None:
    sets = arena.score_sets.catalogue(None, ["breast cancer logistic", "wine 1 logistic"])
    assert list(sets) == ["breast cancer logistic", "wine 1 logistic"]
    cancer, wine = (load() for load in sets.values())
    assert len(cancer.scores) == 569 - round(569 / 3)
    assert len(wine.scores) == 178 - round(178 / 3)
    assert wine.labels.sum() in range(20, 72)  # the second of three kinds
    for found in (cancer, wine):
        assert ((found.scores >= 0.0) & (found.scores <= 1.0)).all()
        assert np.mean((found.scores > 0.5) == found.labels) > 0.9


def test_matrices_have_all_classes(arena: SimpleNamespace, folder: Path) -> None:
    sets = arena.score_sets.matrices(folder)
    assert len(sets) == len(arena.score_sets.matrices(None)) + 1 >= 15
    cifar = sets["cifar10 softmax"]()
    assert cifar.scores.shape == (90, 10)
    single = arena.score_sets.catalogue(folder, ["cifar10 cat"])["cifar10 cat"]()
    np.testing.assert_array_equal(cifar.scores[:, 3], single.scores)
    np.testing.assert_array_equal(cifar.labels == 3, single.labels)
    (load,) = arena.score_sets.matrices(None, ["wine naive"]).values()
    wine = load()
    assert wine.scores.shape == (178 - round(178 / 3), 3)
    np.testing.assert_allclose(wine.scores.sum(axis=1), 1.0)
    assert np.mean(wine.scores.argmax(axis=1) == wine.labels) > 0.9
    with pytest.raises(ValueError, match="'animal' in its name; there are digits forest"):
        arena.score_sets.matrices(folder, ["animal"])
    assert arena.score_sets.capped_sizes(1200, (300, 1000, 5000)) == [300, 800]
    assert arena.score_sets.capped_sizes(30_000, (300, arena.score_sets.ALL)) == [300, 20_000]


def test_matrices_are_of_classes_that_are_no_features(arena: SimpleNamespace) -> None:
    """Neither education nor age is among the features that predict it, and the made classes are as many as are asked for."""
    features, ages = arena.score_sets._table("credit age")
    whole, _ = arena.score_sets._table("credit")
    assert features.shape == (30_000, 22)
    np.testing.assert_array_equal(features, np.delete(whole, 4, axis=1))
    assert np.bincount(ages).min() > 30_000 / 6 * 0.75
    assert all(whole[ages == k, 4].max() < whole[ages == k + 1, 4].min() for k in range(5))
    features, education = arena.score_sets._table("credit education")
    np.testing.assert_array_equal(features, np.delete(whole, 2, axis=1))
    assert np.bincount(education).tolist() == [10_585, 14_030, 4917, 468]  # as its publishers count them
    for k in (3, 26):
        features, classes = arena.score_sets._table(f"made {k}")
        assert features.shape == (12_000, 30)
        assert np.bincount(classes).min() > 12_000 / k * 0.8
        assert len(np.unique(classes)) == k


def test_what_is_not_there_is_said(arena: SimpleNamespace, tmp_path: Path, folder: Path) -> None:
    sets = arena.score_sets
    assert "no data folder" in sets.missing_files(None)[0]
    assert len(sets.missing_files(tmp_path)) == 3
    assert sets.missing_files(folder) == []
    assert set(sets.catalogue(tmp_path)) == set(sets.catalogue(None))
    with pytest.raises(ValueError, match="'no such' in its name; there are credit forest"):
        sets.catalogue(None, ["no such"])


def test_draws_share_their_test_rows_and_nothing_else(arena: SimpleNamespace) -> None:
    sets = arena.score_sets
    assert sets.sizes_of(3000) == [60, 100, 200, 500, 1000, 2000]
    assert sets.sizes_of(3001) == [60, 100, 200, 500, 1000, 2000, 2001]
    assert sets.sizes_of(60, (500, sets.ALL)) == [40]
    (few, test), (more, same), (other, _) = (sets.draws(3000, n, repeat) for n, repeat in ((500, 0), (2000, 0), (500, 1)))
    np.testing.assert_array_equal(test, same)
    np.testing.assert_array_equal(few, more[:500])
    assert len(test) == 1000
    assert sorted([*more, *test]) == list(range(3000))
    assert set(few) != set(other)
    with pytest.raises(ValueError, match="n is 2001, and 3000 rows leave 2000"):
        sets.draws(3000, 2001, 0)


# ------------------------------------------------------------------------------------------------- measures


def test_losses_by_hand(arena: SimpleNamespace) -> None:
    predictions, labels = np.array([0.0, 0.05, 0.6, 1.0]), np.array([0, 1, 1, 0], np.uint8)
    found = arena.measures.losses(predictions, labels, np.array([0, 0, 1, 1]))
    assert found.brier == pytest.approx((0.0 + 0.95**2 + 0.4**2 + 1.0) / 4)
    assert found.log_loss == pytest.approx(-(math.log(0.05) + math.log(0.6) + math.log(1e-15)) / 4, rel=1e-3)
    assert found.ece == pytest.approx((abs(0.05 - 1) + abs(0.6 - 1) + 1.0) / 4)  # 0 and .05 share the first of 15 bins
    assert found.binned_ece == pytest.approx((abs(0.05 - 1) + abs(1.6 - 1)) / 4)


def test_losses_of_several_classes_by_hand(arena: SimpleNamespace) -> None:
    predictions = np.array([[0.7, 0.2, 0.1], [0.0, 0.4, 0.6], [0.68, 0.3, 0.02]])
    labels = np.array([0, 0, 1], np.uint8)
    found = arena.measures.losses(predictions, labels, np.array([0, 1, 1]))
    briers = (0.3**2 + 0.2**2 + 0.1**2, 1.0 + 0.4**2 + 0.6**2, 0.68**2 + 0.7**2 + 0.02**2)
    assert found.brier == pytest.approx(sum(briers) / 3)
    assert found.log_loss == pytest.approx(-(math.log(0.7) + math.log(1e-15) + math.log(0.3)) / 3)
    assert found.ece == pytest.approx((abs(0.7 + 0.68 - 1.0) + 0.6) / 3)  # .7 and .68 share a bin of width 1/15
    assert found.binned_ece == pytest.approx((abs(0.7 - 1.0) + 0.6 + 0.68) / 3)


def test_answers_are_checked(arena: SimpleNamespace) -> None:
    inside, n_outside = arena.measures.probabilities([0.5, 1.25], (2,))
    assert (inside.tolist(), n_outside) == ([0.5, 1.0], 1)
    with pytest.raises(ValueError, match="answered nan"):
        arena.measures.probabilities([0.5, math.nan], (2,))
    with pytest.raises(ValueError, match=r"shape \(2,\) for scores of shape \(3,\)"):
        arena.measures.probabilities([0.5, 0.5], (3,))
    inside, n_outside = arena.measures.probabilities([[0.25, 0.75], [-0.5, 1.5]], (2, 2))
    assert (inside.tolist(), n_outside) == ([[0.25, 0.75], [0.0, 1.0]], 2)
    with pytest.raises(ValueError, match=r"a row that sums to 1\.25"):
        arena.measures.probabilities([[0.5, 0.5], [0.5, 0.75]], (2, 2))


@pytest.mark.parametrize("served", ["means", "scores"])
def test_only_false_promises_are_contradicted(arena: SimpleNamespace, served: str) -> None:
    """At the edge of what is promised, wrongly no more often than the level; beyond it, nearly always."""
    found = {0.05: 0, 0.15: 0}
    runs, means = 400, np.array([0.125, 0.375, 0.625, 0.875])
    for shift in found:
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            scores = rng.random(2000)
            bins = np.minimum((4 * scores).astype(int), 3)
            chances = np.clip(means[bins] + np.where(bins < 2, shift, -shift), 0.0, 1.0)
            labels = (rng.random(2000) < chances).astype(np.uint8)
            values = means[bins] if served == "means" else scores
            found[shift] += arena.measures.is_contradicted(values, labels, bins, np.full(4, 0.05))
    level = arena.measures.TEST_LEVEL
    assert found[0.05] / runs <= level + 3 * math.sqrt(level / runs)
    assert found[0.15] / runs > 0.95


# ------------------------------------------------------------------------------------------------- methods and cells


def test_every_method_here_calibrates(arena: SimpleNamespace, calibrated: Draw) -> None:
    """All methods that can be imported, on scores too far from 1/2: the fitted ones come near the truth."""
    scores, labels = calibrated(3000)
    sharpened = scores**2 / (scores**2 + (1.0 - scores) ** 2)
    peers, missing = arena.peers.peer_methods()
    assert {method.library for method in peers} | set(missing) >= {"scikit-learn", "netcal", "probmetrics"}
    methods = {method.name: method for method in [*arena.methods.our_methods(), *peers]}
    assert len(methods) == len(arena.methods.our_methods()) + len(peers)
    truth = np.linspace(0.05, 0.95, 91)
    queries = truth**2 / (truth**2 + (1.0 - truth) ** 2)
    answers = {}
    for name, method in methods.items():
        if method.library in ("none", "fastbin", "scikit-learn", "venn-abers", "betacal"):
            with arena.cells.quiet():
                answers[name] = method.fit(sharpened, labels).predict(queries)
    np.testing.assert_array_equal(answers.pop("raw score"), queries)
    for name, answer in answers.items():
        assert np.abs(answer - truth).mean() < 0.06, name
    twins = [("Platt", "CalibratedClassifierCV sigmoid", 1e-4), ("Venn-Abers", "VennAbers", 1e-9)]
    for ours, theirs, tolerance in twins:
        if theirs in answers:  # scikit-learn before 1.6 cannot calibrate a fitted classifier this way
            np.testing.assert_allclose(answers[ours], answers[theirs], atol=tolerance)


def test_every_method_of_matrices_calibrates(arena: SimpleNamespace, several: Draw) -> None:
    """On rows that are too sure by a factor of 2 the fitted maps come near the truth."""
    truth, labels = several(3000)
    sure = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    peers, missing = arena.peers.peer_methods(arena.peers.LIBRARIES_OF_MATRICES)
    assert {method.library for method in peers} | set(missing) == set(arena.peers.LIBRARIES_OF_MATRICES)
    answers = {}
    for method in [*arena.methods.our_matrix_methods(), *peers]:
        assert method.name not in answers
        with arena.cells.quiet():
            answer = method.fit(sure[:2000], labels[:2000]).predict(sure[2000:])
        answers[method.name], _ = arena.measures.probabilities(answer, (1000, 4))
    assert {"VectorCalibration", "ClassWiseBinning", "TopLabelBinning", "vector scaling"} <= set(answers)
    np.testing.assert_array_equal(answers.pop("raw score"), sure[2000:])
    shares = (np.array([(labels[:2000] == k).sum() for k in range(4)]) + 1.0) / 2004.0
    np.testing.assert_allclose(answers.pop("raw score, no zeros"), (2000.0 * sure[2000:] + shares) / 2001.0)
    for name, answer in answers.items():
        assert np.abs(answer - truth[2000:]).mean() < 0.6 * np.abs(sure[2000:] - truth[2000:]).mean(), name
    for name in ("VectorCalibration", "vector scaling"):  # whose maps have the truth among them, or nearly
        assert np.abs(answers[name] - truth[2000:]).mean() < 0.02, name
    if "VennAbers" in answers:
        columns = [fb.VennAbers().fit(sure[:2000, k], labels[:2000] == k).predict(sure[2000:, k]) for k in range(4)]
        np.testing.assert_allclose(answers["VennAbers"], (np.stack(columns) / np.sum(columns, axis=0)).T, atol=1e-9)


def test_probmetrics_gets_whole_rows(arena: SimpleNamespace, several: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls, on a stand-in that answers the frequencies of the classes."""

    class Frequencies:
        def fit(self, X: np.ndarray, y: np.ndarray) -> None:
            assert (X.ndim, y.dtype) == (2, np.int64)
            self.shares = np.bincount(y, minlength=X.shape[1]) / len(y)

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.tile(self.shares, (len(X), 1))

    names = ("SMSCalibrator", "SVSCalibrator", "TemperatureScalingCalibrator")
    stand_in = ModuleType("probmetrics")
    stand_in.calibrators = SimpleNamespace(**dict.fromkeys(names, Frequencies))
    monkeypatch.setitem(sys.modules, "probmetrics", stand_in)
    methods, missing = arena.peers.peer_methods({"probmetrics": arena.peers.LIBRARIES_OF_MATRICES["probmetrics"]})
    assert missing == {}
    assert [method.name for method in methods] == ["SMS", "SVS", "TS"]
    truth, labels = several(500)
    answer = methods[0].fit(truth, labels).predict(truth[:7])
    np.testing.assert_allclose(answer, np.tile([np.mean(labels == k) for k in range(4)], (7, 1)))


def test_a_cell_of_a_matrix(arena: SimpleNamespace, several: Draw) -> None:
    truth, labels = several(900)
    fitted = arena.methods.Fitted
    raw, wide = arena.cells.run(
        arena.score_sets.ScoreSet("toy", "toy", truth, labels), 500,
        [arena.methods.Method("raw", "x", lambda s, y: fitted(lambda q: q)),
         arena.methods.Method("wide", "x", lambda s, y: fitted(lambda q: 2.0 * q))], 2,
    )  # fmt: skip
    tests = [arena.score_sets.draws(900, 500, repeat)[1] for repeat in (0, 1)]
    expected = [np.mean([(np.eye(4)[labels[row]] - truth[row]) ** 2 for row in test]) * 4 for test in tests]
    assert raw.brier == pytest.approx(np.mean(expected))
    assert (raw.n, raw.n_test, raw.epsilon, raw.n_outside) == (500, 300, None, 0)
    assert 0.0 < raw.binned_ece < 0.15
    assert wide.failure == "ValueError: answered a row that sums to 2"


def test_a_cell_holds_means_or_says_why_not(arena: SimpleNamespace, calibrated: Draw) -> None:
    scores, labels = calibrated(900)
    score_set = arena.score_sets.ScoreSet("toy", "toy", scores, labels)
    fitted = arena.methods.Fitted

    def refuses(scores: np.ndarray, labels: np.ndarray) -> object:
        raise RuntimeError("it cannot")

    methods = [
        arena.methods.Method("umd", "fastbin", lambda s, y: fitted(lambda q: q, fb.UniformMassBinning(5).fit(s, y).model_)),
        arena.methods.Method("high", "x", lambda s, y: fitted(lambda q: q + 0.5)),
        arena.methods.Method("refuses", "x", refuses),
        arena.methods.Method("slow", "x", lambda s, y: fitted(lambda q: q), 499),
    ]
    umd, high, refusing, slow = arena.cells.run(score_set, 500, methods, 2)
    expected = [
        np.mean((scores[test] - labels[test]) ** 2) for _, test in (arena.score_sets.draws(900, 500, r) for r in (0, 1))
    ]
    assert umd.brier == pytest.approx(np.mean(expected))
    assert (umd.n, umd.n_test, umd.n_promises, umd.n_contradicted, umd.n_outside) == (500, 300, 2, 0, 0)
    assert 0.05 < umd.epsilon < 0.3
    assert high.n_outside == sum((scores[arena.score_sets.draws(900, 500, r)[1]] > 0.5).sum() for r in (0, 1))
    assert refusing.failure == "RuntimeError: it cannot"
    assert slow.failure == "not run on more than 499 rows: too slow"
    assert refusing.brier is slow.log_loss is high.epsilon is None


def test_cells_are_saved_as_they_are(arena: SimpleNamespace, tmp_path: Path) -> None:
    cells = [
        arena.cells.Cell("a, b", "f", 500, 10, 2, "m", "l", 0.125, 0.5, 0.25, 0.0625, 1.5, 2.0, None, 0, 0),
        arena.cells.Cell("a", "f", 500, 10, 2, "m", "l", failure='Error: "no",\tnever'),
    ]
    path = tmp_path / "new" / "cells.csv.gz"
    arena.cells.save_cells(path, cells)
    assert arena.cells.load_cells(path) == cells


# ------------------------------------------------------------------------------------------------- coverage


def test_populations_have_the_ties_of_their_scores(arena: SimpleNamespace) -> None:
    scores = np.concatenate([np.full(5000, 0.25), np.linspace(0.5, 1.0, 5001)])
    labels = np.concatenate([np.arange(5000) % 10 == 0, np.arange(5001) % 2 == 0]).astype(np.uint8)
    population = arena.coverage.Population(arena.score_sets.ScoreSet("toy", "toy", scores, labels))
    drawn, ones = population.draw(40_000, np.random.default_rng(0))
    tied = drawn == 0.25
    assert tied.mean() == pytest.approx(0.5, abs=0.01)
    assert len(np.unique(drawn[drawn > 0.5])) > 19_000
    assert ones[tied].mean() == pytest.approx(0.1, abs=0.01)
    assert ones[drawn > 0.5].mean() == pytest.approx(0.5, abs=0.015)

    model = fb.ExplicitBinning([0.4]).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1]).model_  # serves .5 in both bins; truth .1 and .5
    assert population.keeps(model, np.array([0.41, 0.01]))
    assert not population.keeps(model, np.array([0.39, 0.01]))


def test_promises_hold_in_simulations(arena: SimpleNamespace, calibrated: Draw) -> None:
    scores, labels = calibrated(3000)
    score_set = arena.score_sets.ScoreSet("toy", "toy", np.round(scores, 2), labels)
    able = arena.coverage.promising(arena.methods.our_methods())
    names = [method.name for method in able]
    assert "UMD 10" in names
    assert not {"raw score", "isotonic", "Platt", "Venn-Abers"} & set(names)

    fails_on_odd = iter(range(10**6))

    def fit(scores: np.ndarray, labels: np.ndarray) -> object:
        if next(fails_on_odd) % 2:
            raise RuntimeError("it cannot")
        return able[names.index("UMD 10")].fit(scores, labels)

    (half,) = arena.coverage.simulate(score_set, 500, [arena.methods.Method("half", "x", fit)], 6)
    assert (half.repetitions, half.raised) == (3, 3)
    chosen = [method for method in able if method.name in ("UMD 10", "UMS 10", "Certified")]
    found = arena.coverage.simulate(score_set, 500, chosen, 60)
    assert [one.method for one in found] == [method.name for method in chosen]
    for one in found:
        assert one.share >= 0.9 - 3 * math.sqrt(0.09 / 60), one


def test_what_the_order_of_scores_loses(arena: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    name, n = "wine 1 adaboost", 60
    score_set, lost = arena.score_sets.catalogue(None)[name](), []
    for repeat in range(arena.ranks.REPEATS):
        own, test = arena.score_sets.draws(len(score_set.labels), n, repeat)
        model = fb.CertifiedCalibration(seed=repeat).fit(score_set.scores[own], score_set.labels[own]).model_
        labels, columns = score_set.labels[test], (score_set.scores[test], model.predict(score_set.scores[test]))
        wins = [np.sign(column[labels == 1][:, None] - column[labels == 0]).mean() for column in columns]
        lost.append((wins[0] - wins[1]) / 2.0)  # by its definition, ties counting half
    arena.ranks.main(["--sets", name])
    mean = np.mean(lost)
    assert mean > 0.0001
    expected = f"n = {n}: 1 sets lose {mean:.5f} of AUC on average, {name} most: {mean:.5f}"
    assert expected in capsys.readouterr().out.splitlines()
