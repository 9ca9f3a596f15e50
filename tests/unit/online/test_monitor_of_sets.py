"""The monitor of a set: the monitor of one model over all its bins, tied to its set."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.online import CalibrationMonitor

RNG = np.random.default_rng(3)


def fitted(n: int = 600, **options: Any) -> fb.BinnedModel:
    scores = RNG.random(n)
    return fb.UniformMassBinning(**{"n_bins": 4, **options}).fit(scores, RNG.random(n) < scores).model_


SET = fb.ModelSet({"north": fitted(), "south": fitted(n_bins=3)}, pool=fitted(n_bins=2), pooled_keys=["isle", "rock"])
N = 4000
SCORES, CELLS = RNG.random(N), RNG.choice(["north", "south", "isle", "rock"], N)
LABELS = RNG.random(N) < SCORES
DRIFTED = RNG.random(N) < np.where(CELLS == "south", 0.5 * SCORES, SCORES)


def monitor_of(labels: Any = LABELS, **options: Any) -> CalibrationMonitor:
    monitor = CalibrationMonitor(SET, **{"tolerance": 0.06, **options})
    monitor.update(SCORES, labels, cells=CELLS)
    return monitor


def test_it_is_the_monitor_of_the_running_bins() -> None:
    """The same evidence, number by number, as for one model whose bins are all bins of the set."""
    bins = SET.assign_all(SCORES, CELLS, seed=0)
    values = np.concatenate([model.bin_values for _, model in SET.numbered])
    flat = fb.BinnedModel.from_parts(edges=np.arange(1.0, 9.0), values=values, score_range=(0.0, 9.0))
    alone = CalibrationMonitor(flat, tolerance=0.06)
    alone.update(bins + 0.25, DRIFTED)
    monitor = monitor_of(DRIFTED)
    mine, theirs = monitor.report(), alone.report()
    assert monitor.alarm
    assert (mine.alarm_at, mine.e_value, mine.max_e_value) == (theirs.alarm_at, theirs.e_value, theirs.max_e_value)
    assert [b.named_at for b in mine.bins] == [b.named_at for b in theirs.bins]
    assert [b.count for b in mine.bins] == np.bincount(bins, minlength=9).tolist()
    assert [(b.cell, b.bin) for b in mine.bins] == [
        *(("north", b) for b in range(4)), *(("south", b) for b in range(3)), *((None, b) for b in range(2)),
    ]  # fmt: skip


def test_reports_name_cell_and_bin() -> None:
    monitor = monitor_of(DRIFTED)
    report = monitor.report()
    assert {b.cell for b in report.named} == {"south"}
    assert "Drifted: bin 2 of 'south' serves" in str(monitor)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["named"][0] == {"cell": "south", "bin": 2}
    assert content["bins"][-1]["cell"] is None
    quiet = monitor_of()
    assert not quiet.alarm
    assert str(quiet).startswith("No alarm after 4,000 outcomes")
    lone = CalibrationMonitor(SET["north"], tolerance=0.06)
    lone.update([0.5], [1])
    assert "cell" not in lone.report().to_dict()["bins"][0]


def test_batches_and_states_do_not_matter(tmp_path: Path) -> None:
    whole, path = monitor_of(DRIFTED), tmp_path / "set.mon"
    parts = CalibrationMonitor(SET, tolerance=0.06)
    for rows in np.array_split(np.arange(N), [1, 7, 1000, 1001]):
        parts.update(SCORES[rows], DRIFTED[rows], cells=CELLS[rows])
        parts.save(path)
        parts = CalibrationMonitor.load(path).attach(SET)
    assert parts == whole
    assert parts.to_bytes() == whole.to_bytes()
    assert str(parts) == str(whole)
    copied = pickle.loads(pickle.dumps(whole))
    assert copied.model == SET
    assert copied.report() == whole.report()


def test_tied_scores_get_the_keys_of_their_outcome() -> None:
    tied = RNG.integers(0, 4, 900) / 4
    model = fb.UniformMassBinning(n_bins=5, ties="random").fit(tied, RNG.random(900) < tied).model_
    models = fb.ModelSet({1: model, 2: model})
    scores, cells, labels = RNG.integers(0, 4, 500) / 4, RNG.integers(1, 3, 500), RNG.integers(0, 2, 500)
    whole, parts = (CalibrationMonitor(models) for _ in range(2))
    whole.update(scores, labels, cells=cells, seed=5)
    for rows in np.array_split(np.arange(500), 7):
        parts.update(scores[rows], labels[rows], cells=cells[rows], seed=5)
    assert parts == whole
    bins = models.assign_all(scores, cells, seed=5)
    assert [b.count for b in whole.report().bins] == np.bincount(bins, minlength=models.n_bins).tolist()


def test_intervals_of_the_set_are_tolerated() -> None:
    monitor = CalibrationMonitor(SET, interval_alpha=0.1)
    assert np.array_equal(monitor.tolerated, np.concatenate(SET.interval(0.1)))
    assert CalibrationMonitor(SET, tolerance=np.full(9, 0.2)).tolerated.shape == (9, 2)


def test_evidence_bins_of_two_resolutions_are_watched() -> None:
    scores = RNG.random(2000)
    fine = fb.CertifiedCalibration(n_bins=3).fit(scores, RNG.random(2000) < scores).model_
    monitor = CalibrationMonitor(fb.ModelSet({"fine": fine, "coarse": SET["north"]}), tolerance=0.05)
    monitor.update([0.5, 0.5], [1, 0], cells=["fine", "coarse"])
    report = monitor.report()
    assert len(report.bins) == 7
    assert report.n_steps == fine.n_steps + 4
    assert [b.value for b in report.bins if b.cell == "fine"] == fine.bin_values.tolist()


def test_a_state_goes_on_with_its_own_set_alone() -> None:
    state = CalibrationMonitor.from_bytes(monitor_of().to_bytes())
    for use in (state.report, lambda: state.model, lambda: state.update([0.5], [1], cells=["north"])):
        with pytest.raises(fb.InputError, match=r"give the set to attach\(\) first"):
            use()
    assert "9 bins" in repr(state)
    other = fb.ModelSet({"north": SET["north"]})
    with pytest.raises(fb.InputError, match="is not what this monitor was begun with"):
        state.attach(other)
    with pytest.raises(fb.InputError, match="is not what this monitor was begun with"):
        CalibrationMonitor(SET["north"]).attach(SET)
    assert state.attach(SET).report() == monitor_of().report()


def test_what_cannot_be_watched_is_refused() -> None:
    monitor = CalibrationMonitor(SET)
    before = monitor.to_bytes()
    bad: list[tuple[Any, Any, Any, str]] = [
        ([0.5], [1], None, "cells is missing"),
        ([0.5, 0.5], [1, 0], ["north"], "cells has 1"),
        ([0.5], [1, 0], ["north"], "scores has 1, labels has 2"),
        ([0.5, 2.0], [1, 0], ["north", "north"], r"scores\[1\] is 2.0"),
        ([0.5, 0.5], [1, 2], ["north", "north"], r"labels\[1\] is 2"),
        ([0.5, 0.5], [1, 0], ["north", "west"], r"cells\[1\] is 'west'"),
    ]
    for scores, labels, cells, message in bad:
        with pytest.raises(fb.InputError, match=message):
            monitor.update(scores, labels, cells=cells)
    assert monitor.to_bytes() == before
    with pytest.raises(fb.InputError, match="watches one model and no set"):
        CalibrationMonitor(SET["north"]).update([0.5], [1], cells=["north"])
    pooled = fb.ModelSet({"a": SET["north"]}, pool=SET["south"], unknown="pool")
    with pytest.raises(fb.InputError, match=r"cells\[0\] is 'b', which is none of the 1 keys .* leave them out"):
        CalibrationMonitor(pooled).update([0.5], [1], cells=["b"])
    with pytest.raises(fb.InputError, match="class-wise"):
        CalibrationMonitor(fb.ModelSet._of({0: SET["north"], 1: SET["south"]}, kind="class-wise", columns=[0, 1]))
    smooth = fb.BinnedModel.from_parts(
        edges=[], values=[], scheme="platt", kind="smooth", map="logistic", map_parameters=(1.0, 0.0)
    )
    with pytest.raises(fb.InputError, match="the model of 'b' is a 'smooth' model"):
        CalibrationMonitor(fb.ModelSet({"a": SET["north"], "b": smooth}))
    with pytest.raises(fb.InputError, match="one for each of the 9 bins"):
        CalibrationMonitor(SET, tolerance=[0.1, 0.2])
