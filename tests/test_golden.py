"""Files of every release are read for ever, and answer as on the day that they were written: tests/golden/README.md."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from oracle import script

GOLDEN = Path(__file__).resolve().parent / "golden"
SUFFIXES = {"models": ".fbm", "sets": ".fbm", "streams": ".fbs", "monitors": ".mon"}
READERS: dict[str, Callable[[bytes], Any]] = {
    "models": fb.BinnedModel.from_bytes,
    "sets": fb.ModelSet.from_bytes,
    "streams": fb.online.StreamingBinning.from_bytes,
    "monitors": fb.online.CalibrationMonitor.from_bytes,
}

# Intervals that are served otherwise today than by the release that wrote the file, with the reason.
OTHER_INTERVALS = {
    "0.1.0/models/label-shift": "the file does not say how the target rate was estimated, and 0.1.0 took it as exact",
    "0.1.0/models/label-shift-known": "the file does not say that the target rate was known",
    "08191bb/models/label-shift": "alpha is divided among bins and rates by their standard errors, and no longer in halves",
    "08191bb/models/label-shift-known": "the same",
    "08191bb/models/umb-whole": "the edge of its highest bin is not written, and it does not say of how many bins that is one",
}


def alpha_of_today(model: fb.BinnedModel, version: str, alpha: float) -> float:
    """At which alpha the bins with edges have today the level that they had at `alpha`: .95 of it, in the logarithm.

    Since then fits with whole ties leave a share of alpha for a bin whose edge is not written (fastbin, Theorem F14).
    """
    return -math.expm1(math.log1p(-alpha) / 0.95) if version == "08191bb" and model.ties == "whole" else alpha


@cache
def expected(version: str) -> dict[str, Any]:
    text = gzip.decompress((GOLDEN / version / "expected.json.gz").read_bytes())
    return json.loads(text)  # type: ignore[no-any-return]


def files(kind: str) -> pytest.MarkDecorator:
    """All files of a kind, of all releases."""
    versions = sorted(path.name for path in GOLDEN.iterdir() if (path / "expected.json.gz").is_file())
    assert versions
    found = [(version, name) for version in versions for name in expected(version).get(kind, ())]  # sets: since 0.2.0
    return pytest.mark.parametrize(("version", "name"), found, ids=[f"{version}-{name}" for version, name in found])


def read(kind: str, version: str, name: str) -> Any:
    return READERS[kind]((GOLDEN / version / kind / (name + SUFFIXES[kind])).read_bytes())


def doubles(texts: list[str]) -> np.ndarray:
    return np.array([float.fromhex(text) for text in texts], dtype=np.float64)


def keys_of(numbers: list[int]) -> np.ndarray:
    """The keys of some rows. Releases that took the reserved one read it as the key below."""
    return np.minimum(np.array(numbers, dtype=np.uint64), np.uint64(2**64 - 2))


def assert_same_bits(actual: Any, texts: list[str] | None) -> None:
    if texts is None:
        assert actual is None
    else:
        assert np.array_equal(np.asarray(actual, np.float64).ravel().view(np.uint64), doubles(texts).view(np.uint64))


def check_parts(model: fb.BinnedModel, told: dict[str, Any]) -> None:
    """Everything that the release could tell about the model."""
    for name in ("kind", "scheme", "ties", "n_bins", "n_bins_asked", "n_samples", "n_positive", "n_tied", "seed", "note"):
        assert getattr(model, name) == told[name], name
    assert model.is_weighted == told["is_weighted"]
    assert model.map[0] == told["map"][0]
    assert_same_bits(model.map[1], told["map"][1])
    assert_same_bits(model.score_range, told["score_range"])
    assert [model.delta, model.odds_ratio] == [float.fromhex(told[name]) for name in ("delta", "odds_ratio")]
    for name in ("edges", "values", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        assert_same_bits(getattr(model, name), told[name])
    assert np.asarray(model.edge_keys).tolist() == told["edge_keys"]
    columns = ("counts", "label_sums", "first_step", "step_counts", "unlabelled_counts", "tie_counts")
    for name in (name for name in columns if name in told):
        column = getattr(model, name)
        assert (None if column is None else np.asarray(column).tolist()) == told[name], name
    if "n_steps" in told:  # since 0.2.0
        assert (model.n_steps, model.has_steps, model.needs_key) == (told["n_steps"], told["has_steps"], told["needs_key"])
        assert [model.edges_share, model.clip] == [float.fromhex(told[name]) for name in ("edges_share", "clip")]
        assert_same_bits(model.knots, told["knots"])
    else:
        assert (model.n_steps, model.has_steps, model.edges_share, model.clip) == (model.n_bins, False, 0.0, 0.0)
        assert model.tie_counts is model.step_counts is model.unlabelled_counts is model.knots is None


def check_answers(model: fb.BinnedModel, told: dict[str, Any]) -> None:
    scores, keys = doubles(told["scores"]), keys_of(told["keys"])
    assert len(scores) > 300
    predicted = model.predict(scores, tie_keys=keys)
    if told["kind"] == "smooth":  # exp and log are those of the system
        assert np.allclose(predicted, doubles(told["predicted"]), rtol=1e-14, atol=0.0)
    else:
        assert_same_bits(predicted, told["predicted"])
    if told["bins"] is not None:
        assert model.assign(scores, tie_keys=keys).tolist() == told["bins"]
        assert model.step(scores, tie_keys=keys).tolist() == told.get("steps", told["bins"])


def check_intervals(model: fb.BinnedModel, told: dict[str, Any], version: str) -> None:
    for text, ends in told["intervals"].items():
        alpha = alpha_of_today(model, version, float(text))
        if ends is None:
            with pytest.raises(fb.GuaranteeError):
                model.interval(alpha)
        else:
            assert np.allclose(model.interval(alpha).ravel(), doubles(ends), rtol=1e-9, atol=1e-300)


@files("models")
def test_models(version: str, name: str) -> None:
    model, told = read("models", version, name), expected(version)["models"][name]
    check_parts(model, told)
    check_answers(model, told)
    if f"{version}/models/{name}" not in OTHER_INTERVALS:
        check_intervals(model, told, version)
    again = fb.BinnedModel.from_bytes(model.to_bytes())
    check_parts(again, told)
    check_answers(again, told)


@files("models")
def test_models_can_be_loaded_by_path(version: str, name: str, tmp_path: Path) -> None:
    """As `load` and `save` do, so that a service may go on with the files that it has."""
    model = fb.load(GOLDEN / version / "models" / f"{name}.fbm")
    model.save(tmp_path / "again.fbm")
    check_answers(fb.load(tmp_path / "again.fbm"), expected(version)["models"][name])


def check_set(models: fb.ModelSet, told: dict[str, Any]) -> None:
    for name in ("kind", "unknown", "n_models", "n_bins", "n_samples"):
        assert getattr(models, name) == told[name], name
    assert [list(models.cells), list(models.pooled_cells)] == [told["keys"], told["pooled_keys"]]
    scores, keys = doubles(told["scores"]), keys_of(told["tie_keys"])
    assert len(scores) > 300
    assert_same_bits(models.predict(scores, told["cells"], tie_keys=keys), told["predicted"])
    assert models.assign_all(scores, told["cells"], tie_keys=keys).tolist() == told["bins"]


@files("sets")
def test_sets(version: str, name: str) -> None:
    models = read("sets", version, name)
    check_set(models, expected(version)["sets"][name])
    check_set(fb.ModelSet.from_bytes(models.to_bytes()), expected(version)["sets"][name])


def check_held(holder: Any, told: dict[str, Any]) -> None:
    """Counts and numbers of a stream or a monitor; its evidence is made of logarithms, which differ in their last bits."""
    for name, value in told.items():
        actual = getattr(holder, name)
        if name in ("e_value", "max_e_value", "alpha", "tolerated"):
            texts = value if isinstance(value, list) else [value]
            assert np.allclose(np.asarray(actual).ravel(), doubles(texts), rtol=1e-9, atol=1e-300), name
        elif name == "running_variances":
            assert_same_bits(actual, value)
        elif name in ("counts", "label_sums"):
            assert np.asarray(actual).tolist() == value, name
        else:
            assert actual == value, name


def check_going_on(holder: Any, told: dict[str, Any], version: str) -> None:
    check_held(holder, told["before"])
    scores, labels, seed = expected(version)["more"]
    holder.update(doubles(scores), np.array(labels), seed=seed)
    check_held(holder, told["after"])


@files("streams")
def test_streams(version: str, name: str) -> None:
    told = expected(version)["streams"][name]
    stream = read("streams", version, name)
    check_parts(stream.model(), told["model"])
    check_answers(stream.model(), told["model"])
    check_going_on(stream, told, version)
    check_going_on(fb.online.StreamingBinning.from_bytes(read("streams", version, name).to_bytes()), told, version)


@files("monitors")
def test_monitors(version: str, name: str) -> None:
    told = expected(version)["monitors"][name]
    monitor = read("monitors", version, name)
    check_answers(monitor.model, told["model"])
    check_going_on(monitor, told, version)
    check_going_on(fb.online.CalibrationMonitor.from_bytes(read("monitors", version, name).to_bytes()), told, version)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*/*.pickle")), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_pickles(path: Path) -> None:
    version, kind, name = *path.parts[-3:-1], path.stem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unpickled = pickle.loads(path.read_bytes())
    assert unpickled.to_bytes() == read(kind, version, name).to_bytes()


def test_every_file_is_looked_at() -> None:
    for version in (path for path in GOLDEN.iterdir() if path.is_dir() and path.name != "__pycache__"):
        for kind, suffix in SUFFIXES.items():
            assert {path.stem for path in (version / kind).glob("*" + suffix)} == set(expected(version.name).get(kind, ()))


def test_what_the_next_release_will_write_is_read() -> None:
    """The file that makes the golden files goes through, leaves nothing out, and what it writes is compared as they are."""
    make_golden: Any = script(GOLDEN / "make_golden.py")
    left_out = []
    for kind, (_, cases, answers) in make_golden.KINDS.items():
        for name, make in cases():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fb.FastbinWarning)
                try:
                    made = make()
                except fb.FastbinError as error:
                    left_out.append(f"{kind}/{name}: {error}")
                    continue
            made = getattr(made, "model_", made)
            data = made.to_bytes()
            told = json.loads(json.dumps(answers(type(made).from_bytes(data))))
            if kind == "sets":
                check_set(READERS[kind](data), told)
                continue
            model = {"streams": lambda made: made.model(), "monitors": lambda made: made.model}.get(kind, lambda made: made)
            check_parts(model(READERS[kind](data)), told.get("model", told))
            check_answers(model(READERS[kind](data)), told.get("model", told))
    assert left_out == []
