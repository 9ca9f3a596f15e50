"""Python meets the shared vectors, which C meets too: fitting, models from their parts, scoring in every way."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from vectors.texts import doubles, read
from wordings import refuses

import fastbin as fb
import reference
from fastbin._core import fit as native
from fastbin._core.fit import draw_labels
from fitting import FEWER_BINS, bare

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


class Query(NamedTuple):
    score: float
    key: int
    bin: int
    value: float
    needs_key: bool

    @classmethod
    def of(cls, words: list[str]) -> Query:
        score, key, bin_number, value, needs_key = words
        # The reserved key is read as the greatest key; from Python it is refused, so the greatest key is asked for.
        of_key = min(int(key, 16), 2**64 - 2)
        return cls(float.fromhex(score), of_key, int(bin_number), float.fromhex(value), needs_key == "1")


class Vector:
    """One model of the file with what belongs to it."""

    def __init__(self, name: str, lines: dict[str, list[list[str]]]) -> None:
        self.name = name
        (low, high), (seed, *counts) = doubles(lines["range"][0]), lines["origin"][0]
        names = ("n_bins_asked", "n_samples", "n_positive", "n_tied")
        self.tie_counts = [list(map(int, words)) for words in lines.get("tie", [])]
        self.parts: dict[str, Any] = {
            "scheme": lines["scheme"][0][0], "ties": lines["ties"][0][0], "delta": float.fromhex(lines["delta"][0][0]),
            "score_range": None if math.isinf(low) else (low, high), "seed": int(seed, 16),
            **dict(zip(names, map(int, counts), strict=True)), "fingerprint": int(lines.get("fingerprint", [["0"]])[0][0], 16),
            "edges_share": float.fromhex(lines.get("edges_share", [["0"]])[0][0]),
        }  # fmt: skip
        self.edges = [(float.fromhex(edge), int(key, 16)) for edge, key in lines.get("edge", [])]
        self.bins = lines["bin"]
        self.fit = lines["fit"][0] if "fit" in lines else None
        self.samples = lines.get("sample", [])
        self.queries, self.queries32 = (list(map(Query.of, lines[keyword])) for keyword in ("query", "query32"))
        self.seeded = [int(word, 16) for word in lines["seeded"][0]]
        self.rows = [(float.fromhex(score), int(b), float.fromhex(value)) for score, b, value in lines["row"]]
        self.refusals = [float.fromhex(score) for score, _ in lines["refuse"]]

    @property
    def model(self) -> fb.BinnedModel:
        names = ("weight_sums", "weighted_label_sums", "weight_square_sums")
        weights = zip(*(doubles(line[3:]) for line in self.bins), strict=True)
        return fb.BinnedModel.from_parts(
            edges=[edge for edge, _ in self.edges], edge_keys=np.array([key for _, key in self.edges], np.uint64),
            values=[float.fromhex(line[0]) for line in self.bins], counts=[int(line[1]) for line in self.bins],
            label_sums=[int(line[2]) for line in self.bins], tie_counts=self.tie_counts or None,
            **dict(zip(names, weights, strict=False)), **self.parts,
        )  # fmt: skip

    @property
    def calibrator(self) -> fb.UniformMassBinning:
        assert self.fit is not None
        configuration = {name: self.parts[name] for name in ("scheme", "delta", "seed", "score_range")}
        n_bins, split, _, _, ties, share = self.fit
        own = {"split": float.fromhex(split), "ties": ties, "edges_share": float.fromhex(share)}
        return fb.UniformMassBinning(int(n_bins), **own, **configuration)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `fit`."""
        assert self.fit is not None
        scores, labels, weights, keys = zip(*self.samples, strict=True)
        arguments: dict[str, Any] = {"scores": np.array(doubles(scores)), "labels": np.array(list(map(int, labels)))}
        if self.fit[2] != "none":
            arguments["sample_weight"] = np.array(list(map(int if self.fit[2] == "integer" else float.fromhex, weights)))
        if self.fit[3] == "keyed":
            arguments["tie_keys"] = np.array([int(key, 16) for key in keys], np.uint64)
        return arguments


FILE = read(VECTORS / "vectors.txt", "fastbin-vectors 1", "model")
KEYS = FILE.pop("")
MODELS = [Vector(name, lines) for name, lines in FILE.items()]
every_model = pytest.mark.parametrize("vector", MODELS, ids=lambda vector: vector.name)


def bits(values: Any) -> list[int]:
    return [int(word) for word in np.ascontiguousarray(values, np.float64).view(np.uint64)]


@pytest.mark.parametrize("program", ["make_vectors", "make_set_vectors", "make_stream_vectors"])
def test_the_files_are_what_the_reference_says(program: str) -> None:
    made = subprocess.run([sys.executable, VECTORS / f"{program}.py", "--check"], capture_output=True, text=True, check=False)
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
    for seed, row, expected in ([int(word, 16) for word in words] for words in KEYS["row_key"]):
        if row < 2**17:  # Python makes them for whole columns
            assert int(native.row_keys(seed, row + 1)[row]) == expected
    for keyword, keys_of in (("group_key", native.group_keys), ("split_key", native.split_keys)):
        for seed, score, j, expected in KEYS[keyword]:
            made = keys_of(int(seed, 16), np.array([float.fromhex(score)]), np.array([int(j, 16)]))
            assert int(made[0]) == int(expected, 16)


def test_digests() -> None:
    digests = [(keyword, words) for keyword in ("group_digest", "rows_digest") for words in KEYS[keyword]]
    assert len(digests) == 25
    for keyword, words in digests:
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


def test_draws() -> None:
    assert len(KEYS["draw_labels"]) > 100
    for digest, score, *numbers in KEYS["draw_labels"]:
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
    # The vectors are about values and tallies: the reference that wrote them counts no slices and no atoms.
    own = bare(fitted)._replace(slice_cuts=None, slice_label_sums=None, atom_counts=None)
    assert own.to_bytes() == vector.model.to_bytes()


@every_model
def test_queries(vector: Vector) -> None:
    for queries, dtype in ((vector.queries, np.float64), (vector.queries32, np.float32)):
        scores = np.array([query.score for query in queries], dtype)
        keys = np.array([query.key for query in queries], np.uint64)
        model = fb.BinnedModel.from_bytes(vector.model.to_bytes())
        assert bits(model.predict(scores, tie_keys=keys)) == bits([query.value for query in queries])
        assert model.assign(scores, tie_keys=keys).tolist() == [query.bin for query in queries]
        assert bits(model.predict(scores[::-1], tie_keys=keys[::-1])) == bits([query.value for query in queries[::-1]])
        table = np.arange(2.0 * model.n_bins).reshape(-1, 2)
        assert model.lookup(scores, table, tie_keys=keys).tolist() == [
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
    choice = {"seed": seed} if first_row == 0 else {"tie_keys": keys}
    answers = vector.model.predict(scores, **choice), vector.model.assign(scores, **choice)
    assert bits(answers[0]) == bits([value for _, _, value in vector.rows])
    assert answers[1].tolist() == [bin_number for _, bin_number, _ in vector.rows]


@every_model
def test_refusals(vector: Vector) -> None:
    for score in vector.refusals:
        refuses("InputError scores[1]", vector.model.predict, np.array([0.5, score]))
        refuses("InputError score", vector.model.predict_one, score)


@every_model
def test_models_as_json(vector: Vector) -> None:
    assert fb.export.from_json(fb.export.json(vector.model)).to_bytes() == vector.model.to_bytes()
