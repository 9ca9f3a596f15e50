"""BinnedModel: what it is made of, what it refuses to be made of, how it is saved, copied, compared and printed."""

from __future__ import annotations

import copy
import gc
import math
import os
import stat
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._core.schemes import SCHEMES, TIES
from fresh_python import run_python

PARTS: dict[str, Any] = {
    "edges": [0.25, 0.25, 0.5],
    "edge_keys": [2**63, 2**64 - 1, 0],
    "values": [0.0, 0.125, 0.5, 1.0],
    "counts": [4, 8, 2, 3],
    "label_sums": [0, 1, 1, 3],
    "scheme": "umd",
    "ties": "random",
    "n_bins_asked": 5,
    "n_samples": 20,
    "n_positive": 6,
    "n_tied": 7,
    "seed": 2**64 - 1,
    "note": "Grüße, {}",
}


def model(**changes: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(**{**PARTS, **changes})


# ------------------------------------------------------------------------------------------------- parts


def test_parts_come_back() -> None:
    made = model()
    for name, value in PARTS.items():
        seen = getattr(made, name)
        assert (seen.tolist() if isinstance(seen, np.ndarray) else seen) == value, name
    assert (made.kind, made.map, made.delta, made.odds_ratio) == ("step", ("none", (0.0,) * 4), 0.0, 1.0)
    assert made.score_range == (0.0, 1.0)
    assert (made.n_bins, made.is_weighted, made.needs_key) == (4, False, True)
    assert made.randomised_mass == 7 / 20
    assert made.weight_sums is made.weighted_label_sums is made.weight_square_sums is None


def test_the_least_model() -> None:
    made = fb.BinnedModel.from_parts(edges=[], values=[0.25])
    assert made.edges.shape == made.edge_keys.shape == (0,)
    assert made.counts is None
    assert made.label_sums is None
    assert (made.scheme, made.ties, made.n_samples, made.needs_key) == ("other", "none", 0, False)
    assert made.predict([0.0, 0.5, 1.0]).tolist() == [0.25] * 3
    assert made.randomised_mass == 0.0


def test_totals_default_to_the_tally() -> None:
    made = fb.BinnedModel.from_parts(edges=[0.5], values=[0.5, 0.5], counts=[3, 4], label_sums=[1, 2])
    assert (made.n_samples, made.n_positive) == (7, 3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_comes_back(scheme: str) -> None:
    assert model(scheme=scheme).scheme == scheme
    assert SCHEMES[scheme].title


@pytest.mark.parametrize("ties", TIES.values())
def test_every_tie_rule_comes_back(ties: str) -> None:
    whole = {"tie_counts": [[0, 0, 0]] * 4, "edges_share": 1.0, "edge_keys": [0, 2**64 - 1, 0]} if ties == "whole" else {}
    assert model(ties=ties, **whole).ties == ties
    assert (model(ties=ties, **whole).randomised_mass > 0) == (ties in ("random", "isolate"))


def test_weighted_models_say_so() -> None:
    weights = {"weight_sums": [1.0] * 4, "weighted_label_sums": [0.5] * 4, "weight_square_sums": [0.5] * 4}
    made = model(**weights)
    assert made.is_weighted
    assert all(getattr(made, name).tolist() == values for name, values in weights.items())


def test_an_interpolated_model() -> None:
    made = fb.BinnedModel.from_parts(edges=[0.2, 0.6], values=[0.1, 0.9], kind="linear", scheme="isotonic")
    assert made.kind == "linear"
    assert made.predict([0.0, 0.2, 0.3, 0.6, 1.0]) == pytest.approx([0.1, 0.1, 0.3, 0.9, 0.9], abs=1e-15)
    assert repr(made) == "BinnedModel(scheme='isotonic', 2 knots, 0 samples)"
    for call, given in ((made.assign, [0.3]), (made.step, [0.3]), (made.assign_one, 0.3), (made.step_one, 0.3)):
        refuses("InputError: the model has no bins", call, given)
    mixed = fb.ModelSet({0: fb.BinnedModel.from_parts(edges=[0.5], values=[0.1, 0.4]), 1: made})
    refuses("InputError: some models of the set have no bins", mixed.assign, [0.3, 0.3], [0, 1])


def test_a_smooth_model() -> None:
    made = fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="platt", map="logistic", map_parameters=(2.0, -1.0), score_range=None
    )
    assert (made.kind, made.n_bins, made.map) == ("smooth", 0, ("logistic", (2.0, -1.0, 0.0, 0.0)))
    scores = [-3.0, 0.0, 0.5, 4.0]
    assert made.predict(scores) == pytest.approx([1 / (1 + math.exp(1 - 2 * score)) for score in scores], rel=1e-15)


# The beginnings of three sentences of C.
EDGES, TALLY = "InputError: the edges are not finite", "InputError: a count is negative"
ORIGIN = "InputError: n_samples, n_positive, n_tied, n_bins_asked, delta, odds_ratio"
BAD_PARTS = [
    ({"edges": [0.25, 0.5]}, "InputError edges: has shape (2,); a step model with 4 values needs (3,)"),
    ({"edges": None}, "InputError edges: is None; a step model with 4 values needs 3"),
    ({"edge_keys": [1]}, "InputError edge_keys: has shape (1,); a step model with 4 values needs (3,)"),
    ({"counts": [1]}, "InputError counts: has shape (1,); a step model with 4 values needs (4,)"),
    ({"label_sums": None}, "InputError: counts and label_sums come together or not at all"),
    ({"weight_sums": [1.0] * 4}, "InputError: weight_sums, weighted_label_sums and weight_square_sums come together"),
    ({"scheme": "histogram"}, "InputError scheme: is 'histogram'; choose one of 'other', 'umd',"),
    ({"ties": "best"}, "InputError ties: is 'best'; choose one of 'none', 'random', 'upper', 'lower', 'isolate', 'whole'"),
    ({"kind": "tree"}, "InputError kind: is 'tree'; choose one of 'step', 'linear', 'smooth'"),
    ({"map": "cubic"}, "InputError map: is 'cubic'; choose one of 'none', 'logistic', 'beta', 'quadratic', 'spline'"),
    ({"edges": [0.5, 0.25, 0.6]}, EDGES),
    ({"edges": [0.1, 0.2, math.nan]}, EDGES),
    ({"edge_keys": [5, 4, 0]}, EDGES),
    ({"values": [0.0, 0.5, 0.5, 1.0000001]}, "InputError: a value is not in [0, 1]"),
    ({"values": [0.0, 0.5, math.nan, 1.0]}, "InputError: a value is not in [0, 1]"),
    ({"counts": [4, -8, 2, 3]}, TALLY),
    ({"label_sums": [0, 1, 3, 3]}, TALLY),
    ({"n_samples": 10}, ORIGIN),
    ({"n_samples": 10**15}, ORIGIN),
    ({"n_positive": 21}, ORIGIN),
    ({"n_tied": 21}, ORIGIN),
    ({"delta": 1.0}, ORIGIN),
    ({"odds_ratio": 0.0}, ORIGIN),
    ({"score_range": (1.0, 0.0)}, "InputError: the score range is empty or NaN"),
    ({"map_parameters": (1.0,)}, "InputError: the map parameters, clip or knots are not finite"),
]


@pytest.mark.parametrize(("changes", "told"), BAD_PARTS)
def test_impossible_parts_are_refused(changes: dict[str, Any], told: str) -> None:
    refuses(told, model, **changes)


def test_a_model_is_not_made_by_calling_its_class() -> None:
    """In a process of its own: a model without memory behind it must not be had, as touching it could crash."""
    program = "import fastbin as fb\ntry:\n    fb.BinnedModel().predict([0.5])\nexcept TypeError as error:\n    print(error)"
    result = run_python("-c", program)
    assert result.returncode == 0, result.stderr or f"died of signal {-result.returncode}"
    assert "from_parts" in result.stdout


# ------------------------------------------------------------------------------------------------- immutable


@pytest.mark.parametrize("name", ["edges", "edge_keys", "values", "counts", "label_sums"])
def test_views_are_read_only_and_keep_the_model_alive(name: str) -> None:
    made = model()
    view = getattr(made, name)
    expected = PARTS[name]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    alive = weakref.ref(made)
    del made
    gc.collect(1)  # the young objects, as all that a test run holds are many
    assert alive() is not None
    assert view.tolist() == expected
    del view
    gc.collect(1)
    assert alive() is None


@pytest.mark.parametrize("name", ["edges", "values", "n_bins", "seed", "scheme", "note", "score_range"])
def test_attributes_cannot_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(model(), name, getattr(model(), name))


# ------------------------------------------------------------------------------------------------- equality, printing


def test_equality_is_that_of_the_bytes() -> None:
    assert model() == model()
    assert hash(model()) == hash(model())
    assert model() != model(seed=1)
    assert model() != model(note="")
    assert model() != "a model"
    assert len({model(), model(), model(seed=1)}) == 2
    assert copy.copy(model()) == copy.deepcopy(model()) == model()


def test_repr() -> None:
    assert repr(model()) == "BinnedModel(scheme='umd', 4 bins, 20 samples)"
    assert repr(fb.UniformMassBinning(1).fit([0.5], [1]).model_) == "BinnedModel(scheme='umd', 1 bin, 1 sample)"
    one = fb.multi.SegmentedBinning(fb.UniformMassBinning(1), min_points=1).fit([0.5], [1], ["a"]).model_
    assert repr(one) == "ModelSet(kind='segments', 1 key, 1 bin, 1 sample)"


def test_predict_one_and_predict_agree() -> None:
    made = model()
    scores = [0.0, -0.0, 0.1, 0.25, math.nextafter(0.25, 1), 0.5, math.nextafter(0.5, 0), 1.0]
    for key in (0, 2**63 - 1, 2**63, 2**64 - 2):
        keys = np.full(len(scores), key, np.uint64)
        assert [made.predict_one(score, key) for score in scores] == made.predict(scores, tie_keys=keys).tolist()
        assert [made.assign_one(score, key) for score in scores] == made.assign(scores, tie_keys=keys).tolist()


def test_lookup_gives_rows_of_a_table() -> None:
    made = model()
    table = np.arange(12.0).reshape(4, 3)
    scores, keys = [0.9, 0.1, 0.25], np.array([0, 0, 2**63], np.uint64)
    assert made.lookup(scores, table, tie_keys=keys).tolist() == table[made.assign(scores, tie_keys=keys)].tolist()
    for wrong in (table[:3], np.empty((5, 3)), np.empty((4, 0))):
        refuses("InputError: table must have one row per bin (4), got shape", made.lookup, scores, wrong)


# ------------------------------------------------------------------------------------------------- evidence


def test_interval_is_one_row_a_bin() -> None:
    intervals = model().interval(alpha=0.2)
    assert intervals.shape == (4, 2)
    assert ((intervals[:, 0] <= model().values) & (model().values <= intervals[:, 1])).all()
    assert intervals[0, 0] == 0.0
    assert intervals[3, 1] == 1.0
    each = model().interval(alpha=0.2, simultaneous=False)
    assert (each[:, 1] - each[:, 0] < intervals[:, 1] - intervals[:, 0]).all()
    keys = np.array([2**64 - 2, 0], np.uint64)
    assert model().predict_interval([0.25, 0.7], alpha=0.2, tie_keys=keys).tolist() == intervals[[1, 3]].tolist()


def test_no_tally_no_promise() -> None:
    bare = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.8])
    for ask in (bare.certificate, bare.interval):
        with pytest.raises(fb.GuaranteeError, match="carries no tally"):
            ask()


# ------------------------------------------------------------------------------------------------- bytes and files


def test_bytes_round_trip() -> None:
    data = model().to_bytes()
    for same in (data, bytearray(data), memoryview(data), memoryview(np.frombuffer(data, np.uint8))):
        again = fb.BinnedModel.from_bytes(same)
        assert again == model()
        assert again.to_bytes() == data


def patched(data: bytes, position: int, value: int) -> bytes:
    return data[:position] + bytes([value]) + data[position + 1 :]


AGAIN = "; copy it again from where it was written, and compare the SHA-256 of both; if that one is damaged too, make a new one"
EMPTY = f"no bytes: an empty file is not a model{AGAIN}"
FOREIGN = "not a fastbin model, or damaged by a text-mode transfer; name a file that fastbin wrote, or copy it again as bytes"
LENGTH = f"the model is truncated, or has bytes behind its end{AGAIN}"
NEWER = "the model was written by a newer version of fastbin than this one can read; update fastbin"

DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", EMPTY),
    "text": (lambda data: b"score,label\n0.5,1\n" * 20, FOREIGN),
    "line ends": (lambda data: data.replace(b"\r\n", b"\n"), FOREIGN),
    "short": (lambda data: data[:-1], LENGTH),
    "head only": (lambda data: data[:40], LENGTH),
    "long": (lambda data: data + b"\0", LENGTH),
    "twice": (lambda data: data + data, LENGTH),
    "newer": (lambda data: patched(data, 8, 2), NEWER),
    "flipped": (
        lambda data: patched(data, 100, data[100] ^ 1),
        f"the checksum of the model does not match: it is damaged{AGAIN}",
    ),
}


@pytest.mark.parametrize(("damage", "told"), list(DAMAGE.values()), ids=list(DAMAGE))
def test_damaged_files_are_refused_by_name(damage: Callable[[bytes], bytes], told: str, tmp_path: Path) -> None:
    damaged = damage(model().to_bytes())
    with pytest.raises(fb.FormatError) as caught:
        fb.BinnedModel.from_bytes(damaged)
    assert str(caught.value) == told
    path = tmp_path / "damaged.fbm"
    path.write_bytes(damaged)
    with pytest.raises(fb.FormatError) as caught:
        fb.load(path)
    assert str(caught.value) == f"{path}: {told}"


def test_every_truncation_and_every_changed_byte_is_refused() -> None:
    data = model().to_bytes()
    for size in range(len(data)):
        with pytest.raises(fb.FormatError):
            fb.BinnedModel.from_bytes(data[:size])
    for position in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            with pytest.raises(fb.FormatError):
                fb.BinnedModel.from_bytes(patched(data, position, data[position] ^ flip))


def test_save_and_load(tmp_path: Path) -> None:
    for path in (tmp_path / "model.fbm", str(tmp_path / "ünïcode name.fbm")):
        model().save(path)
        assert fb.load(path) == model()
        assert fb.load(path).note == "Grüße, {}"
    with pytest.raises(FileNotFoundError, match=r"absent\.fbm"):
        fb.load(tmp_path / "absent.fbm")


def test_save_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "model.fbm"
    path.write_text("old")
    held = path.open("rb")
    model().save(path)
    with held:
        assert held.read() == b"old", "who had the old file open reads the old file"
    assert fb.load(path) == model()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.fbm"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
