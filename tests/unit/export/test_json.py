"""JSON of models and sets: the same bytes back, one text for one model, and nothing accepted that is not meant."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import MODELS, model_of
from exported_curves import CURVES, curve_model_of
from hypothesis import given
from hypothesis import strategies as st

import fastbin as fb
from fastbin._core.fields import native_parts
from fastbin.export.form import digest_of
from fastbin.export.json import MODEL_MEMBERS, SET_MEMBERS, VECTOR_LIMITS, VECTOR_MEMBERS
from fastbin.vector_model import VectorMap, VectorModel

TESTS = Path(__file__).resolve().parent.parent.parent
GOLDEN = sorted((TESTS / "golden").glob("*/models/*.fbm")) + sorted((TESTS / "golden").glob("*/sets/*.fbm"))


def assert_same(model: fb.BinnedModel | fb.ModelSet | VectorModel) -> None:
    text = fb.export.json(model)
    assert text.isascii()
    document = json.loads(text)
    for changed in (text, text.encode(), json.dumps(document, indent=3, sort_keys=True)):
        again = fb.export.from_json(changed)
        assert type(again) is type(model)
        assert again.to_bytes() == model.to_bytes()
        assert fb.export.json(again) == text
    assert document["sha256"] == digest_of(model)


@pytest.mark.parametrize("name", [*MODELS, *CURVES])
def test_hard_models(name: str) -> None:
    assert_same(model_of(name) if name in MODELS else curve_model_of(name))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_all_releases(path: Path) -> None:
    assert_same(fb.load(path))


def sets_of_the_vectors() -> dict[str, bytes]:
    found: dict[str, str] = {}
    for line in (TESTS / "vectors/sets.txt").read_text(encoding="ascii").splitlines():
        word, _, rest = line.partition(" ")
        if word == "set":
            name = rest
        elif word == "bytes":
            found[name] = found.get(name, "") + rest
    return {name: bytes.fromhex(text) for name, text in found.items()}


@pytest.mark.parametrize("name", sets_of_the_vectors())
def test_sets_of_the_vectors(name: str) -> None:
    data = sets_of_the_vectors()[name]
    models = fb.ModelSet.from_bytes(data)
    assert_same(models)
    assert fb.export.from_json(fb.export.json(models)).to_bytes() == data


def vector_of(keys: tuple[Any, ...], **changed: Any) -> VectorModel:
    """One with a matrix and two bins a group, of which the first has no row with the label."""
    rng = np.random.default_rng(len(keys))
    k = len(keys)
    counts = np.tile([[9, 0], [2**53 + 5, 11]], (k + 1, 1, 1))
    counts[0, 1, 1] = counts[0, :, 0].sum() - 11 * (k - 1)  # each row has a class
    own: dict[str, Any] = {
        "of_models": 0.4, "of_priors": 0.01, "least": 1e-9, "keep_top": True, "slopes": rng.random(k),
        "intercepts": -rng.random(k),
        "priors": np.full(k, 1 / k), "mixing": rng.random((k, k)), "edges": np.full((k + 1, 1), 0.1), "counts": counts,
        "means": rng.random((k + 1, 2)), "unlabelled": np.tile([3.0, 0.5, 0.25], (k + 1, 2, 1)),
    }  # fmt: skip
    models = {key: fb.BinnedModel.from_parts(edges=[0.5], values=[0.125, i / k]) for i, key in enumerate(keys)}
    return VectorModel._of(models, VectorMap(**(own | changed)), provenance=b'{"version":"0.2.0"}')


@pytest.mark.parametrize("keys", [("cow", "ant", "\xe9 \U0001f642"), (5, -7, 2**63 - 1), (1, 2)])
@pytest.mark.parametrize(
    "changed",
    [
        {}, {"mixing": None, "keep_top": False}, {"unlabelled": None},
        dict.fromkeys(("edges", "counts", "means", "unlabelled")),
        "one bin",
    ],
    ids=range(5),
)  # fmt: skip
def test_vector_models(keys: tuple[Any, ...], changed: Any) -> None:
    if changed == "one bin":
        counts = np.tile([[9, 0]], (len(keys) + 1, 1, 1))
        counts[1, 0, 1] = 9
        changed = {"edges": None, "counts": counts, "means": vector_of(keys).vector.means[:, :1].copy(), "unlabelled": None}
    model = vector_of(keys, **changed)
    assert_same(model)
    written = json.loads(fb.export.json(model))["vector"]
    assert list(written) == [name for name in VECTOR_MEMBERS if name in written]
    absent = {name for name, value in changed.items() if value is None}
    assert set(VECTOR_MEMBERS) - set(written) == absent | ({"columns"} if keys == (1, 2) else set())
    P = np.random.default_rng(0).dirichlet(np.ones(len(keys)), 20)
    assert (fb.export.from_json(fb.export.json(model)).predict(P) == model.predict(P)).all()


def test_moved_models_and_fitted_calibrators() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(500)
    labels = rng.random(500) < scores
    calibrator = fb.UniformMassBinning(5).fit(scores, labels)
    assert fb.export.json(calibrator) == fb.export.json(calibrator.model_)
    assert_same(fb.shift.LabelShift(calibrator.model_, method="known", target_rate=0.2).fit().model_)
    assert_same(fb.UniformMassBinning(5).fit(scores, labels, sample_weight=rng.random(500)).model_)
    assert_same(fb.VennAbers().fit(scores, labels).model_)
    assert_same(fb.CertifiedCalibration().fit(scores, labels).model_)


doubles = st.floats(allow_nan=False, allow_infinity=False)
unsigned = st.integers(0, 2**64 - 1)


@st.composite
def models(draw: st.DrawFn) -> fb.BinnedModel:
    edges = sorted(draw(st.lists(doubles, max_size=6)))
    keys = sorted(draw(st.lists(unsigned, min_size=len(edges), max_size=len(edges))))
    chances = st.lists(st.floats(0.0, 1.0), min_size=len(edges) + 1, max_size=len(edges) + 1)
    low, high = draw(st.sampled_from([(-math.inf, math.inf), (-math.inf, 0.5), (-3.25, math.inf), (0.0, 1.0)]))
    parts = native_parts(
        **dict.fromkeys(fb.BinnedModel.from_parts.__kwdefaults__)
        | fb.BinnedModel.from_parts.__kwdefaults__
        | {
            "edges": edges, "edge_keys": np.array(keys, np.uint64), "values": draw(chances), "score_range": (low, high),
            "seed": draw(unsigned), "fingerprint": draw(unsigned), "n_samples": draw(st.integers(0, 2**63 - 1)),
            "out_of_range": draw(st.sampled_from(["refuse", "clip"])), "delta": draw(st.floats(0.0, 0.9)),
        }
    )  # fmt: skip
    return fb.BinnedModel._create(**parts | {"note": draw(st.binary(max_size=12) | st.text(max_size=12).map(str.encode))})


@given(models())
def test_any_model(model: fb.BinnedModel) -> None:
    assert_same(model)


@given(
    st.lists(models(), min_size=1, max_size=3),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=6, unique=True)
    | st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), min_size=3, max_size=6, unique=True),
    st.booleans(),
)
def test_any_set(found: list[fb.BinnedModel], keys: list[Any], pools: bool) -> None:
    own = dict(zip(keys[: len(found)], found, strict=True))
    rest = keys[len(found) :]
    if pools:
        assert_same(fb.ModelSet(own, pool=found[0], pooled_cells=rest, unknown="pool"))
    assert_same(fb.ModelSet(own))


def test_what_numbers_would_lose() -> None:
    model = fb.BinnedModel.from_parts(
        edges=[0.1, 5e-324 + 0.5], edge_keys=np.array([1, 2**64 - 1], np.uint64), values=[0.0, 1e-300, 1.0], seed=2**64 - 1,
        fingerprint=2**63 + 1, n_samples=2**53 + 1, n_positive=2**53, score_range=(0.0, math.inf), note="a\0b \U0001f642",
    )  # fmt: skip
    assert_same(model)
    written = json.loads(fb.export.json(model))["model"]
    assert written["edge_keys"] == ["0000000000000001", "ffffffffffffffff"]
    assert written["fingerprint"] == "8000000000000001"
    assert [written[name] for name in ("seed", "n_samples", "n_positive")] == [str(2**64 - 1), str(2**53 + 1), 2**53]
    assert [written["score_min"], written["score_max"]] == [0.0, None]
    assert written["note"] == "a\0b \U0001f642"
    broken = fb.BinnedModel._create(edges=np.zeros(0), values=np.ones(1), note=b"\xff\0\xc3")
    assert_same(broken)
    assert json.loads(fb.export.json(broken))["model"]["note_bytes"] == "ff00c3"


def test_the_schema_names_all_members_in_their_order() -> None:
    section = (TESTS.parent / "csrc/FORMAT.md").read_text("utf8").partition("## Models as JSON\n")[2].partition("**Writing")[0]
    for title, members in (
        ("### Members of a model\n", MODEL_MEMBERS), ("### Members of a set\n", SET_MEMBERS),
        ("### Members of a vector model\n", VECTOR_MEMBERS),
    ):  # fmt: skip
        table = section.partition(title)[2].partition("###")[0]
        firsts = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
        assert [name for first in firsts for name in re.findall(r"`(\w+)`", first)] == list(members)


# --------------------------------------------------------------------- refusals

Change = Callable[[dict[str, Any]], object]
MODEL = json.loads(fb.export.json(fb.BinnedModel.from_parts(
    edges=[0.25, 0.5], values=[0.25, 0.5, 0.75], counts=[4, 4, 4], label_sums=[1, 2, 3], edge_keys=[0, 7], note="n",
    knots=None, odds_ratio=1.0, fingerprint=5,
)))  # fmt: skip
BOTH = fb.BinnedModel.from_parts(edges=[], values=[0.5])
SET = json.loads(fb.export.json(fb.ModelSet({3: BOTH, 5: BOTH}, pool=BOTH, pooled_cells=[9], unknown="pool")))
VECTOR = json.loads(fb.export.json(vector_of(("b", "a"))))
NO_RATE = {"origin": "none", "rate": 0.5, "count": 0, "ones": 0}


def put(*path: Any) -> Change:
    """Change the member at a path, of which the last word is the new value."""
    *way, name, value = path

    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for step in way:
            place = place[step]
        place[name] = value

    return change


REFUSED: dict[str, tuple[dict[str, Any], Change]] = {
    "it has no member 'fastbin'": (MODEL, lambda document: document.pop("fastbin")),
    "not a model of fastbin": (MODEL, put("fastbin", ["model"])),
    "version is 2, and this fastbin reads versions up to 1; update it": (MODEL, put("version", 2)),
    "version is true; the number of a version is expected": (MODEL, put("version", True)),
    "version is 0;": (MODEL, put("version", 0)),
    "the text has no member 'sha256'": (MODEL, lambda document: document.pop("sha256")),
    "the text has a member 'author'": (MODEL, put("author", "x")),
    "sha256 is 'abc', but the model that stands there has": (MODEL, put("sha256", "abc")),
    "sha256 is '.*'; the text was changed": (MODEL, put("model", "edges", 0, 0.125)),
    "model is a list; an object is expected": (MODEL, put("model", [])),
    "model has a member 'edge'": (MODEL, put("model", "edge", 1)),
    "model has no member 'kind'": (MODEL, lambda document: document["model"].pop("kind")),
    "model.kind is 5; a text is expected": (MODEL, put("model", "kind", 5)),
    "model: kind is 'steps'; choose one of": (MODEL, put("model", "kind", "steps")),
    r"model.edges is '\[\]'; a list is expected": (MODEL, put("model", "edges", "[]")),
    r"model.edges\[1\] is true; a finite number is expected": (MODEL, put("model", "edges", 1, True)),
    r"model.edges\[1\] is null; a finite number": (MODEL, put("model", "edges", 1, None)),
    r"model.edges\[1\] is 9007199254740993; a finite number": (MODEL, put("model", "edges", 1, 2**53 + 1)),
    r"model.edge_keys\[1\] is '7'; a text of 16 lower-case": (MODEL, put("model", "edge_keys", 1, "7")),
    r"model.edge_keys\[0\] is 0; a text of 16": (MODEL, put("model", "edge_keys", 0, 0)),
    r"model.edge_keys\[0\] is '000000000000000A'": (MODEL, put("model", "edge_keys", 0, "000000000000000A")),
    r"model.counts\[2\] is 4.0; an integer": (MODEL, put("model", "counts", 2, 4.0)),
    r"model.counts\[2\] is '4'; an integer": (MODEL, put("model", "counts", 2, "4")),
    r"model.counts\[2\] is 9007199254740993; an integer, as a text": (MODEL, put("model", "counts", 2, 2**53 + 1)),
    r"model.counts has an entry 9223372036854775808, which 64 bits": (MODEL, put("model", "counts", 2, str(2**63))),
    r"model: seed is -1; it must lie between": (MODEL, put("model", "seed", -1)),
    r"model: counts has shape \(2,\)": (MODEL, put("model", "counts", [4, 4])),
    r"model.map_parameters has 3 entries": (MODEL, put("model", "map_parameters", [0.0, 0.0, 0.0])),
    r"^model.edges\[1\] is 0.25; an edge that does not come before 0.5 is": (MODEL, put("model", "edges", [0.5, 0.25])),
    r"^model.edges\[1\] is 0.25; an edge that does not come before 0.25": (
        MODEL, lambda document: document["model"].update(edges=[0.25, 0.25], edge_keys=[16 * "7", 16 * "6"]),
    ),
    r"^model.edges\[2\] is 0.25; an edge that does not come before 0.25": (
        MODEL, lambda document: document["model"].update(
            edges=3 * [0.25], edge_keys=[16 * "6", 16 * "8", 16 * "7"], values=4 * [0.5], counts=4 * [4], label_sums=4 * [2],
        ),
    ),
    r"^model.values\[0\] is 1.5; a number from 0.0 to 1.0 is expected": (MODEL, put("model", "values", 0, 1.5)),
    r"^model.values\[2\] is -1.0; a number from 0.0 to 1.0": (MODEL, put("model", "values", 2, -1)),
    r"^model.pairs\[1\]\[0\] is 2.0; a number from 0.0 to 1.0": (
        MODEL, put("model", "pairs", [[0.0, 1.0], [2.0, 3.0], [2.0, 3.0]]),
    ),
    "^model.n_samples is -5; a number from 0 on is expected": (MODEL, put("model", "n_samples", -5)),
    "^model.n_positive is 13; a number from 0 to 12 is": (
        MODEL, lambda document: document["model"].update(n_samples=12, n_positive=13),
    ),
    "^model.n_tied is -1; a number from 0": (MODEL, put("model", "n_tied", -1)),
    "^model.delta is 2.0; a number from 0.0 to 1.0": (MODEL, put("model", "delta", 2.0)),
    "^model.odds_ratio is 0.0; a number from 5e-324 on": (MODEL, put("model", "odds_ratio", 0.0)),
    "^model.clip is -1.0; a number from 0.0 to 0.5": (MODEL, put("model", "clip", -1.0)),
    r"^model.counts\[1\] is -1; a number from 0 to": (MODEL, put("model", "counts", 1, -1)),
    r"^model.label_sums\[1\] is 5; a number from 0 to 4 is": (MODEL, put("model", "label_sums", 1, 5)),
    r"^model.first_step\[0\] is 1; 0 is expected": (MODEL, put("model", "first_step", [1, 2, 3])),
    r"^model.first_step\[2\] is 1; a step from 2 to 2 is": (MODEL, put("model", "first_step", [0, 1, 1])),
    "^model.score_max is -1.0; a number from 0.0 on": (
        MODEL, lambda document: document["model"].update(score_min=0.0, score_max=-1.0),
    ),
    "fastbin is 'set', but what stands there is called 'model'": (MODEL, put("fastbin", "set")),
    "fastbin is 'model', but what stands there is called 'set'": (SET, put("fastbin", "model")),
    # The same model, and not its text.
    "^model has a member 'knots', which the text of this model leaves out": (MODEL, put("model", "knots", [])),
    "^model has a member 'weights', which the text of": (MODEL, put("model", "weights", "given")),
    "^model has a member 'clip', which the text of this": (MODEL, put("model", "clip", 0.0)),
    "^model has a member 'first_step', which the text": (MODEL, put("model", "first_step", [0, 1, 2])),
    r"^set.models\[1\] has a member 'note', which the text": (SET, put("set", "models", 1, "note", "")),
    "^model has a member 'note_bytes', which the text": (
        MODEL, lambda document: document["model"].update(note_bytes=document["model"].pop("note").encode().hex()),
    ),
    "model.score_max is 'Infinity'; a finite number": (MODEL, put("model", "score_max", "Infinity")),
    "model.fingerprint is 5; a text of 16": (MODEL, put("model", "fingerprint", 5)),
    "model has both note and note_bytes": (MODEL, put("model", "note_bytes", "ff")),
    "model.note_bytes is 'f'; a text of lower-case hexadecimal digits": (MODEL, put("model", "note_bytes", "f")),
    "model.note holds half of a surrogate pair": (MODEL, put("model", "note", "\ud800")),
    r"model.knots\[0\] has 2 entries; 3 are expected": (MODEL, put("model", "knots", [[0.0, 1.0]])),
    r"model.pairs\[0\]\[1\] is 'x'": (MODEL, put("model", "pairs", [[0.0, "x"]])),
    "model.rates is a list": (MODEL, put("model", "rates", [])),
    "model.rates has no member 'source'": (MODEL, put("model", "rates", {})),
    "model.rates.source.origin is 'none'; given, counted or estimated": (
        MODEL, put("model", "rates", {"source": NO_RATE, "target": NO_RATE}),
    ),
    "set.kind is 'cells'; given or segments": (SET, put("set", "kind", "cells")),
    "set.key_type is 'int'": (SET, put("set", "key_type", "int")),
    r"set.keys\[1\] is 5; a text is expected": (SET, put("set", "keys", 1, 5)),
    r"set.keys\[1\] is '05'; a text of the decimal digits": (SET, put("set", "keys", 1, "05")),
    r"set.keys\[0\] is '9223372036854775808'": (SET, put("set", "keys", 0, "9223372036854775808")),
    r"set.keys\[0\] is '٣'": (SET, put("set", "keys", 0, "٣")),
    r"^set.keys\[1\] is '5'; a key that comes after '7' is": (SET, put("set", "keys", 0, "7")),
    r"^set.model_of_key\[1\] is 3; a number from 0 to 2": (SET, put("set", "model_of_key", 1, 3)),
    "set: 2 numbers are given for 3 keys": (SET, put("set", "model_of_key", [0, 1])),
    "set.model_of_key has an entry 4294967296, which 32 bits": (SET, put("set", "model_of_key", [0, 1, 2**32])),
    "set has no member 'models'": (SET, lambda document: document["set"].pop("models")),
    r"set.models\[1\].values\[0\] is '0.5'": (SET, put("set", "models", 1, "values", 0, "0.5")),
    r"^set.models\[1\].values\[0\] is 2.0; a number from 0.0 to 1.0 is": (SET, put("set", "models", 1, "values", 0, 2.0)),
    "^set.models is empty; a set has one model or more": (SET, put("set", "models", [])),
    "that says 'model', 'set' or 'vector'": (VECTOR, put("fastbin", "vectors")),
    "fastbin is 'set', but what stands there is called 'vector'": (VECTOR, put("fastbin", "set")),
    "vector.keep_top is 1; true or false is expected": (VECTOR, put("vector", "keep_top", 1)),
    "vector.key_type is 'int'; integer or text": (VECTOR, put("vector", "key_type", "int")),
    "vector has no member 'slopes'": (VECTOR, lambda document: document["vector"].pop("slopes")),
    "vector has a member 'kind'": (VECTOR, put("vector", "kind", "vector")),
    "^vector has no member 'means'": (VECTOR, lambda document: document["vector"].pop("means")),
    "^vector.edges has 3 entries; 0 are expected": (VECTOR, lambda document: document["vector"].pop("counts")),
    "^vector.slopes has 3 entries; 2 are expected": (VECTOR, put("vector", "slopes", [1.0, 1.0, 1.0])),
    "^vector.mixing has 2 entries; 4 are expected": (VECTOR, put("vector", "mixing", [1.0, 1.0])),
    "^vector.edges has 0 entries; 3 are expected": (VECTOR, put("vector", "edges", [])),
    "^vector.counts has 13 entries; 12 are expected": (VECTOR, lambda document: document["vector"]["counts"].append(1)),
    "^vector.means has 7 entries; 6 are expected": (VECTOR, lambda document: document["vector"]["means"].append(0.5)),
    "^vector.unlabelled has 19 entries; 18": (VECTOR, lambda document: document["vector"]["unlabelled"].append(0.5)),
    "^vector.models has 1 entries; 2 are expected": (VECTOR, lambda document: document["vector"]["models"].pop()),
    r"vector.slopes\[1\] is null; a finite number": (VECTOR, put("vector", "slopes", 1, None)),
    "^vector.of_models is 1.5; a number from 0.0 to 1.0 is": (VECTOR, put("vector", "of_models", 1.5)),
    "^vector.of_priors is 0.0; a number from 5e-324 to 0.99": (VECTOR, put("vector", "of_priors", 0.0)),
    "^vector.of_priors is 1.0; a number from": (VECTOR, put("vector", "of_priors", 1.0)),
    "^vector.least is 0.5; a number from 2.2": (VECTOR, put("vector", "least", 0.5)),
    r"^vector.slopes\[1\] is 2000000000.0; a number from -1000000000.0 to": (VECTOR, put("vector", "slopes", 1, 2e9)),
    r"^vector.intercepts\[0\] is -2000000000.0; a": (VECTOR, put("vector", "intercepts", 0, -2e9)),
    r"^vector.mixing\[3\] is 2000000000.0; a": (VECTOR, put("vector", "mixing", 3, 2e9)),
    r"^vector.priors\[1\] is 0.0; a number from 2.2": (VECTOR, put("vector", "priors", 1, 0.0)),
    "^vector.priors add up to 0.75; 1.0 is expected": (VECTOR, put("vector", "priors", 1, 0.25)),
    r"^vector.edges\[2\] is 1.5; a number from 0.0 to 1.0": (VECTOR, put("vector", "edges", 2, 1.5)),
    r"^vector.counts\[4\] is -1; a number from 0 to": (VECTOR, put("vector", "counts", 4, -1)),
    r"^vector.counts\[1\] is 10; a number from 0 to 9": (VECTOR, put("vector", "counts", 1, 10)),
    "^vector.counts: group 1 has [0-9]+ rows, and group 0": (VECTOR, put("vector", "counts", 6, 5000)),
    "^vector.counts: the classes have [0-9]+ rows in all, and": (VECTOR, put("vector", "counts", 7, 10)),
    r"^vector.means\[5\] is -0.5; a number from 0.0 to 1.0": (VECTOR, put("vector", "means", 5, -0.5)),
    r"^vector.unlabelled\[9\] is -1.0; a number from 0.0 to 9007199254740992.0": (VECTOR, put("vector", "unlabelled", 9, -1.0)),
    r"^vector.unlabelled\[10\] is 1.5; a number from 0.0 to 1.0": (VECTOR, put("vector", "unlabelled", 10, 1.5)),
    r"^vector.unlabelled\[11\] is 0.75; a number from 0.0 to 0.5": (VECTOR, put("vector", "unlabelled", 11, 0.75)),
    r"^vector.edges\[3\] is 0.25; an edge that does not come before 0.5": (
        VECTOR, lambda document: document["vector"].update(
            edges=[0.5, 0.5, 0.5, 0.25, 0.5, 0.5], counts=18 * [0], means=9 * [0.0], unlabelled=27 * [0.0]
        ),
    ),
    r"^vector.keys\[1\] is 'a'; a key that comes after 'b' is": (VECTOR, put("vector", "keys", ["b", "a"])),
    r"^vector.models\[0\].values\[0\] is 2.0; a number": (VECTOR, put("vector", "models", 0, "values", 0, 2.0)),
    r"^vector.models\[1\] refuses scores or uses random keys": (VECTOR, put("vector", "models", 1, "delta", 0.5)),
    r"^vector.models\[0\] refuses scores or uses random keys": (VECTOR, put("vector", "models", 0, "score_min", 0.25)),
    r"^vector.models\[0\] refuses scores or": (VECTOR, put("vector", "models", 0, "edge_keys", ["0000000000000777"])),
    "^vector: ": (VECTOR, put("vector", "columns", [1, 1])),
    "sha256 is .*, but the vector that stands there has": (VECTOR, put("vector", "least", 1e-8)),
}  # fmt: skip


def test_the_limits_of_vector_models_are_those_of_the_library() -> None:
    """A number at either end is taken, and the next double beyond it is not."""
    for name, (low, high) in VECTOR_LIMITS.items():
        if name in ("counts", "unlabelled", "priors"):
            continue
        own = np.asarray(getattr(vector_of(("b", "a")).vector, name))
        for end, beyond in ((low, -math.inf), (high, math.inf)):
            at_end, outside = np.full(own.shape, end), np.full(own.shape, math.nextafter(end, beyond))
            vector_of(("b", "a"), **{name: at_end if own.ndim else end})
            with pytest.raises(fb.InputError):
                vector_of(("b", "a"), **{name: outside if own.ndim else float(outside)})


@pytest.mark.parametrize(
    ("message", "document", "change"), [(key, *value) for key, value in REFUSED.items()], ids=range(len(REFUSED))
)
def test_refusals(message: str, document: dict[str, Any], change: Change) -> None:
    changed = copy.deepcopy(document)
    assert fb.export.from_json(json.dumps(changed))
    change(changed)
    with pytest.raises(fb.FormatError, match=message):
        fb.export.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: Expecting value: line 1 column 1"),
        ('{"fastbin": "model",}', "not JSON: .*line 1 column"),
        (b"\xff{}", "not JSON: .*can't decode byte 0xff"),
        ("[]", "not a model of fastbin"),
        ("null", "not a model of fastbin"),
        ('{"fastbin": "model", "fastbin": "model"}', "member 'fastbin' stands twice in one object"),
        ('{"fastbin": "model", "version": NaN}', "JSON has no number NaN"),
        ('{"fastbin": "model", "version": -Infinity}', "JSON has no number -Infinity"),
        ('{"fastbin": "model", "version": ' + 5000 * "1" + "}", "not JSON|version is"),
        ('{"fastbin": "model", "version": ' + 4000 * "1" + "}", r"^version is 1{57}\.\.\.; the number of a version"),
        ("{" + "".join(f'"{i}": 0, ' for i in range(100_000)) + '"99999": 0}', "member '99999' stands twice"),  # linear time
        (json.dumps(MODEL).replace("0.25,", "1e999,", 1), r"model.edges\[0\] is inf; a finite number"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_of_a_model(text: str | bytes, message: str) -> None:
    with pytest.raises(fb.FormatError, match=message):
        fb.export.from_json(text)


def test_minus_zero_is_refused() -> None:
    """A file holds none, and one model has one text; 1 and 0 stand for 1.0 and 0.0, as some programs write them."""
    text = fb.export.json(BOTH)
    zero = text.replace('"delta": 0.0', '"delta": 0')
    assert zero != text
    assert fb.export.from_json(zero) == BOTH
    for where, old in (("delta", '"delta": 0.0'), (r"map_parameters\[0\]", '"map_parameters": [0.0')):
        assert old in text
        with pytest.raises(fb.FormatError, match=rf"model.{where} is -0.0; 0.0 is expected"):
            fb.export.from_json(text.replace(old, old.replace("0.0", "-0.0")))


def test_names_of_files() -> None:
    with pytest.raises(fb.FormatError, match=r"text is the name of a file; pass what it holds: pathlib.Path\('a/b.json'\)"):
        fb.export.from_json("a/b.json")
    with pytest.raises(fb.InputTypeError, match=r"text is a path; pass what the file holds: pathlib.Path\('b.json'\).read_t"):
        fb.export.from_json(Path("b.json"))  # type: ignore[arg-type]


def test_numbers_that_other_programs_write() -> None:
    """1 for 1.0, and members in another order, are the same text to a reader, and the text comes back as it was."""
    text = fb.export.json(BOTH)
    assert '"odds_ratio": 1.0' in text
    assert fb.export.json(fb.export.from_json(text.replace('"odds_ratio": 1.0', '"odds_ratio": 1'))) == text


def test_arguments() -> None:
    with pytest.raises(fb.InputTypeError, match="text is of type dict"):
        fb.export.from_json({})  # type: ignore[arg-type]
    with pytest.raises(fb.InputTypeError, match="model is of type int"):
        fb.export.json(3)


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


HUGE = 100_000  # characters
BARE = fb.export.json(fb.BinnedModel.from_parts(edges=[], values=[0.5]))


def _with_values(values: str) -> str:
    return BARE.replace("[0.5]", values)


def _with_member(name: str, value: str) -> str:
    return BARE.replace('"values"', f'"{name}": {value}, "values"')


HOSTILE = {
    "a note of bytes that are none": _with_member("note_bytes", f'"{"f" * HUGE}g"'),
    "half a byte": _with_member("note_bytes", f'"{"f" * (HUGE + 1)}"'),
    "a word": BARE.replace('"step"', f'"{"a" * HUGE}"'),
    "a digest": re.sub(r'(?<="sha256": ")\w+', "a" * HUGE, BARE),
    "a name twice": f'{{"{"a" * HUGE}": 0, "{"a" * HUGE}": 0}}',
    "an unknown name": _with_member("a" * HUGE, "0"),
    "a key": _with_member("edge_keys", f'["{"a" * HUGE}"]'),
    "an integer": _with_values(f"[{'1' * 4_000}]"),
    "an integer of too many digits": _with_values(f"[{'1' * HUGE}]"),
    "what is called as a file": "a" * HUGE + ".json",
    "lists": "[" + "[]," * (HUGE // 3) + "0]",
    "lists for numbers": _with_values("[" + "[]," * (HUGE // 3) + "0]"),
    "objects": "[" + '{"":0},' * (HUGE // 7) + "0]",
    "members": "{" + ",".join(f'"{i}":0' for i in range(HUGE // 9)) + "}",
    "texts": "[" + '"aa",' * (HUGE // 5) + "0]",
    "pairs": _with_member("pairs", "[" + "[0,0]," * (HUGE // 6) + "[0,1]]"),
    "values": _with_values("[" + "0.5," * (HUGE // 4) + "0.5]"),
    "lists in lists": _with_values(_nested(HUGE // 2)),
    "lists in lists that a parser takes": _with_values(_nested(900)),
    "lists in lists instead of a text": _with_member("note", _nested(900)),
    "lists in lists instead of a model": f'{{"fastbin": "model", "version": 1, "sha256": "", "model": {_nested(900)}}}',
}


def _peak(text: str) -> int:
    """The most memory that reading takes, the text itself left out."""
    tracemalloc.start()
    try:
        with contextlib.suppress(fb.FormatError):
            fb.export.from_json(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.sampled
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_texts_are_refused_in_few_words(what: str) -> None:
    with pytest.raises(fb.FormatError) as caught:
        fb.export.from_json(HOSTILE[what])
    assert len(str(caught.value)) < 300


# Lists in lists are read as deep as the stack allows: from Python 3.14 on some tens of thousands, however long the text is.
DEEP = 50 * HUGE


def test_hostile_texts_take_little_more_memory_than_valid_ones() -> None:
    n = HUGE // 40
    pairs = np.tile([0.0, 1.0], (n, 1))
    valid = fb.export.json(fb.BinnedModel.from_parts(edges=np.arange(1, n) / 2**20, values=np.full(n, 0.5), pairs=pairs))
    assert 0.8 * HUGE < len(valid) < 1.2 * HUGE
    assert fb.export.json(fb.export.from_json(valid)) == valid
    limit = 3.0 * _peak(valid) / len(valid)
    for what, text in HOSTILE.items():
        if len(text) >= HUGE:
            assert _peak(text) < max(limit * len(text), DEEP if what == "lists in lists" else 0), what
