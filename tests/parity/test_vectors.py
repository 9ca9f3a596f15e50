"""Python meets the shared vectors, which C meets too: fitting, models from their parts, scoring in every way."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
import reference
from fastbin._core import fit as native
from fastbin._core.fit import draw_labels
from fitting import FEWER_BINS, bare

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


@dataclass
class Query:
    score: float
    key: int
    bin: int
    value: float
    needs_key: bool


@dataclass
class Vector:
    """One model of the file with what belongs to it."""

    name: str
    parts: dict[str, Any] = field(default_factory=dict)
    edges: list[tuple[float, int]] = field(default_factory=list)
    bins: list[list[str]] = field(default_factory=list)
    tie_counts: list[list[int]] = field(default_factory=list)
    fit: list[str] | None = None
    samples: list[list[str]] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    queries32: list[Query] = field(default_factory=list)
    seeded: tuple[int, int] = (0, 0)
    rows: list[tuple[float, int, float]] = field(default_factory=list)
    refusals: list[tuple[float, int]] = field(default_factory=list)

    @property
    def model(self) -> fb.BinnedModel:
        weight_sums = [[float.fromhex(word) for word in line[3:]] for line in self.bins]
        weights: dict[str, Any] = {}
        if weight_sums[0]:
            names = ("weight_sums", "weighted_label_sums", "weight_square_sums")
            weights = dict(zip(names, zip(*weight_sums, strict=True), strict=True))
        return fb.BinnedModel.from_parts(
            edges=[edge for edge, _ in self.edges],
            edge_keys=np.array([key for _, key in self.edges], np.uint64),
            values=[float.fromhex(line[0]) for line in self.bins],
            counts=[int(line[1]) for line in self.bins],
            label_sums=[int(line[2]) for line in self.bins],
            tie_counts=self.tie_counts or None,
            **weights,
            **self.parts,
        )

    @property
    def calibrator(self) -> fb.UniformMassBinning:
        assert self.fit is not None
        configuration = {name: self.parts[name] for name in ("scheme", "delta", "seed", "score_range")}
        n_bins, split, share = int(self.fit[0]), float.fromhex(self.fit[1]), float.fromhex(self.fit[5])
        return fb.UniformMassBinning(n_bins, split=split, ties=self.fit[4], edges_share=share, **configuration)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `fit`."""
        assert self.fit is not None
        weighting, keyed = self.fit[2], self.fit[3] == "keyed"
        arguments: dict[str, Any] = {
            "scores": np.array([float.fromhex(line[0]) for line in self.samples]),
            "labels": np.array([int(line[1]) for line in self.samples]),
        }
        if weighting == "integer":
            arguments["sample_weight"] = np.array([int(line[2]) for line in self.samples])
        if weighting == "float":
            arguments["sample_weight"] = np.array([float.fromhex(line[2]) for line in self.samples])
        if keyed:
            arguments["keys"] = np.array([int(line[3], 16) for line in self.samples], np.uint64)
        return arguments


def _query(words: list[str]) -> Query:
    score, key, bin_number, value, needs_key = words
    # The reserved key is read as the greatest key; from Python it is refused, so the greatest key is asked for.
    return Query(float.fromhex(score), min(int(key, 16), 2**64 - 2), int(bin_number), float.fromhex(value), needs_key == "1")


def _origin(words: list[str]) -> dict[str, int]:
    names = ("n_bins_asked", "n_samples", "n_positive", "n_tied")
    return {"seed": int(words[0], 16), **{name: int(word) for name, word in zip(names, words[1:], strict=True)}}


def _range(words: list[str]) -> dict[str, Any]:
    low, high = (float.fromhex(word) for word in words)
    return {"score_range": None if math.isinf(low) else (low, high)}


READ: dict[str, Callable[[Vector, list[str]], object]] = {
    "scheme": lambda vector, words: vector.parts.update(scheme=words[0]),
    "ties": lambda vector, words: vector.parts.update(ties=words[0]),
    "range": lambda vector, words: vector.parts.update(_range(words)),
    "delta": lambda vector, words: vector.parts.update(delta=float.fromhex(words[0])),
    "origin": lambda vector, words: vector.parts.update(_origin(words)),
    "fingerprint": lambda vector, words: vector.parts.update(fingerprint=int(words[0], 16)),
    "edge": lambda vector, words: vector.edges.append((float.fromhex(words[0]), int(words[1], 16))),
    "edges_share": lambda vector, words: vector.parts.update(edges_share=float.fromhex(words[0])),
    "tie": lambda vector, words: vector.tie_counts.append(list(map(int, words))),
    "bin": lambda vector, words: vector.bins.append(words),
    "fit": lambda vector, words: setattr(vector, "fit", words),
    "sample": lambda vector, words: vector.samples.append(words),
    "create": lambda vector, words: None,
    "query": lambda vector, words: vector.queries.append(_query(words)),
    "query32": lambda vector, words: vector.queries32.append(_query(words)),
    "seeded": lambda vector, words: setattr(vector, "seeded", (int(words[0], 16), int(words[1], 16))),
    "row": lambda vector, words: vector.rows.append((float.fromhex(words[0]), int(words[1]), float.fromhex(words[2]))),
    "refuse": lambda vector, words: vector.refusals.append((float.fromhex(words[0]), int(words[1]))),
}


def read_vectors() -> tuple[list[Vector], list[list[str]]]:
    """(models, key lines) of the file."""
    lines = [line.split(" ") for line in (VECTORS / "vectors.txt").read_text(encoding="ascii").splitlines() if line]
    assert lines.pop(0) == ["fastbin-vectors", "1"]
    models: list[Vector] = []
    keys: list[list[str]] = []
    for keyword, *words in lines:
        if keyword.endswith(("_key", "_digest", "draw_labels")):
            keys.append([keyword, *words])
        elif keyword == "model":
            models.append(Vector(words[0]))
        else:
            READ[keyword](models[-1], words)
    return models, keys


MODELS, KEYS = read_vectors()
every_model = pytest.mark.parametrize("vector", MODELS, ids=lambda vector: vector.name)


def bits(values: Any) -> list[int]:
    return [int(word) for word in np.ascontiguousarray(values, np.float64).view(np.uint64)]


def test_the_file_is_what_the_reference_says() -> None:
    made = subprocess.run(
        [sys.executable, str(VECTORS / "make_vectors.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


def test_the_file_covers_the_schemes_and_tie_rules() -> None:
    covered = {(vector.parts["scheme"], vector.parts["ties"]) for vector in MODELS}
    assert covered >= {
        ("umd", "random"), ("umd", "upper"), ("umd", "isolate"), ("umd", "whole"), ("ze", "random"), ("ze", "upper"),
        ("ze", "whole"), ("ums", "random"), ("ums", "upper"), ("umb", "random"), ("umb", "lower"), ("umb", "whole"),
        ("fixed-width", "none"), ("explicit", "none"),
    }  # fmt: skip
    rules = {(scheme, ties) for scheme, rules in reference.TIES_OF_SCHEME.items() for ties in rules}
    assert {(vector.parts["scheme"], vector.fit[4]) for vector in MODELS if vector.fit} == rules
    assert any(r > 1 and 0 < f < r for vector in MODELS for r, f, _ in vector.tie_counts)
    assert any(vector.parts["delta"] > 0 for vector in MODELS)
    assert all(vector.queries and vector.queries32 and vector.rows and vector.refusals for vector in MODELS)


def test_keys() -> None:
    for keyword, *words in KEYS:
        if keyword.endswith("_digest") or keyword == "draw_labels":
            continue
        if keyword == "row_key":
            seed, row, expected = (int(word, 16) for word in words)
            if row < 2**17:  # Python makes them for whole columns
                assert int(native.row_keys(seed, row + 1)[row]) == expected
            continue
        seed, score, j, expected = int(words[0], 16), float.fromhex(words[1]), int(words[2], 16), int(words[3], 16)
        keys_of = native.group_keys if keyword == "group_key" else native.split_keys
        assert int(keys_of(seed, np.array([score]), np.array([j]))[0]) == expected


def test_digests() -> None:
    checked = 0
    for keyword, *words in KEYS:
        if not keyword.endswith("_digest"):
            continue
        seed, expected, width = int(words[0], 16), int(words[1], 16), 5 if keyword == "group_digest" else 3
        columns = [words[2 + column :: width] for column in range(width)]
        scores = np.array([float.fromhex(word) for word in columns[0]])
        if keyword == "group_digest":
            counts = [np.array(list(map(int, column)), np.int64) for column in columns[1:]]
            assert native.group_digest(seed, scores, *counts) == expected
            # Several boundaries within one group are one group.
            assert native.group_digest(seed, scores.repeat(2), *(column.repeat(2) for column in counts)) == expected
        else:
            labels, weights = np.array(list(map(int, columns[1])), np.uint8), np.array(list(map(float.fromhex, columns[2])))
            assert native.rows_digest(seed, scores, labels, weights) == expected
            backwards = (column[::-1].copy() for column in (scores, labels, weights))
            assert native.rows_digest(seed, *backwards) == expected
            if (weights == 1.0).all():
                assert native.rows_digest(seed, scores, labels) == expected
        checked += 1
    assert checked == 25


def test_draws() -> None:
    draws = [words for keyword, *words in KEYS if keyword == "draw_labels"]
    assert len(draws) > 100
    for digest, score, *numbers in draws:
        count, ones, chosen, f, y = map(int, numbers)
        drawn = draw_labels(int(digest, 16), [float.fromhex(score)], [count], [ones], [chosen])
        assert [column.tolist() for column in drawn] == [[f], [y]]


@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("vector", [vector for vector in MODELS if vector.fit], ids=lambda vector: vector.name)
def test_the_fit_makes_the_model(vector: Vector) -> None:
    fitted = vector.calibrator.fit(**vector.arguments).model_
    assert bits(fitted.edges) == bits(vector.model.edges)
    assert fitted.edge_keys.tolist() == vector.model.edge_keys.tolist()
    assert bits(fitted.values) == bits(vector.model.values)
    assert bare(fitted).to_bytes() == vector.model.to_bytes()


@every_model
def test_queries(vector: Vector) -> None:
    for queries, dtype in ((vector.queries, np.float64), (vector.queries32, np.float32)):
        scores = np.array([query.score for query in queries], dtype)
        keys = np.array([query.key for query in queries], np.uint64)
        model = fb.BinnedModel.from_bytes(vector.model.to_bytes())
        assert bits(model.predict(scores, keys=keys)) == bits([query.value for query in queries])
        assert model.assign(scores, keys=keys).tolist() == [query.bin for query in queries]
        assert bits(model.predict(scores[::-1], keys=keys[::-1])) == bits([query.value for query in queries[::-1]])
        table = np.arange(2.0 * model.n_bins).reshape(-1, 2)
        assert model.lookup(scores, table, keys=keys).tolist() == [
            [2.0 * query.bin, 2.0 * query.bin + 1.0] for query in queries
        ]


@every_model
def test_queries_one_by_one(vector: Vector) -> None:
    model = vector.model
    for query in vector.queries + vector.queries32:
        assert bits([model.predict_one(query.score, query.key)]) == bits([query.value])
        assert model.assign_one(query.score, query.key) == query.bin
        if not query.needs_key:
            assert bits([model.predict_one(query.score)]) == bits([query.value])


@every_model
def test_rows_without_keys(vector: Vector) -> None:
    """Python counts rows from 0 in every call, so a block that starts further on brings the keys of its rows."""
    seed, first_row = vector.seeded
    scores = np.array([score for score, _, _ in vector.rows])
    keys = np.array([reference.row_key(seed, first_row + i) for i in range(len(scores))], np.uint64)
    choice = {"seed": seed} if first_row == 0 else {"keys": keys}
    answers = vector.model.predict(scores, **choice), vector.model.assign(scores, **choice)
    assert bits(answers[0]) == bits([value for _, _, value in vector.rows])
    assert answers[1].tolist() == [bin_number for _, bin_number, _ in vector.rows]


@every_model
def test_refusals(vector: Vector) -> None:
    for score, _ in vector.refusals:
        refuses("InputError scores[1]", vector.model.predict, np.array([0.5, score]))
        refuses("InputError score", vector.model.predict_one, score)


@every_model
def test_models_as_json(vector: Vector) -> None:
    assert fb.export.from_json(fb.export.json(vector.model)).to_bytes() == vector.model.to_bytes()
