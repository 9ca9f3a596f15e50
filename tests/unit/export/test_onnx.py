"""ONNX graphs: the same bits as `predict` in onnxruntime, whatever it optimises, and what the files say about themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from exported import LEAST_NORMAL, MODELS, NEED_KEYS, bits, hard_rows, model_of, rows_without_answer
from exported_curves import CURVES, LINES, curve_model_of, hard_curve_scores
from onnx_graphs import properties, session_of

import fastbin as fb
from fastbin.export import onnx as write
from fastbin.export.form import ENDS, OF_STEPS, digest_of, promise_of
from fastbin.export.onnx import LEAST_OPSET, OUTPUT_KEY, SHA256_KEY, VERSION_KEY

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")

INTEGERS = [-(2**63), -7, 0, 3, 4, 5, 2**63 - 1]
TEXTS = ["North", "Zürich", "a", "b", "c", "北"]


def run(graph: Any, scores: Any, level: str = "ORT_ENABLE_ALL", **more: Any) -> dict[str, Any]:
    """The outputs by name; inputs that are None are left out."""
    session = session_of(graph, level)
    feeds = {"score": scores, **{name: column for name, column in more.items() if column is not None}}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def same(given: Any, expected: Any) -> bool:
    return given.dtype == expected.dtype and given.shape == expected.shape and bool(np.array_equal(bits(given), bits(expected)))


def assert_answers(given: dict[str, Any], model: fb.BinnedModel, scores: Any, keys: Any, alpha: float = 0.1) -> None:
    """All outputs against the model."""
    assert same(given["probability"], model.predict(scores, tie_keys=keys))
    assert same(given["bin"], model.assign(scores, tie_keys=keys))
    for name, (at, end) in ENDS.items():
        assert same(given[name], model.predict_interval(scores, alpha=alpha, at=at, tie_keys=keys)[:, end].copy())


def newest_opset() -> int:
    """The newest that this onnx writes and this onnxruntime reads."""
    for opset in range(onnx.defs.onnx_opset_version(), LEAST_OPSET, -1):
        try:
            session_of(write(model_of("10 bins"), opset=opset))
        except Exception:
            continue
        return opset
    raise AssertionError("onnxruntime reads no graph at all")


# ------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(("n", "seed"), [(20_000, 0), pytest.param(10**6, 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", list(MODELS))
def test_the_runtime_gives_the_bits_of_predict(name: str, n: int, seed: int) -> None:
    model = model_of(name)
    graph = write(model, outputs=OF_STEPS)
    onnx.checker.check_model(graph, full_check=True)
    scores, keys = hard_rows(model, n, seed)
    assert_answers(run(graph, scores, key=keys), model, scores, keys)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["1 bins", "100 bins", "subnormal edges, keys", "clips at keys"])
def test_no_optimisation_changes_a_bit(name: str, level: str) -> None:
    model = model_of(name)
    scores, keys = hard_rows(model, 5_000, seed=2)
    assert_answers(run(write(model, outputs=OF_STEPS), scores, level, key=keys), model, scores, keys)


@pytest.mark.parametrize("opset", [13, 15, 18, 21, None])
@pytest.mark.parametrize("name", ["100 bins", "100 bins, keys", "clips"])
def test_opsets(name: str, opset: int | None) -> None:
    model, opset = model_of(name), opset or newest_opset()
    graph = write(model, outputs=OF_STEPS, opset=opset)
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", opset)]
    onnx.checker.check_model(graph, full_check=True)
    scores, keys = hard_rows(model, 5_000, seed=3)
    assert_answers(run(graph, scores, key=keys), model, scores, keys)


def test_the_newest_opset_of_the_onnx_package_is_written() -> None:
    onnx.checker.check_model(write(model_of("10 bins"), opset=onnx.defs.onnx_opset_version()), full_check=True)


@pytest.mark.parametrize("name", list(MODELS))
def test_rows_without_an_answer(name: str) -> None:
    model = model_of(name)
    scores = np.append(rows_without_answer(model), model.edges[:1])
    keys = np.arange(len(scores), dtype=np.uint64) if model.needs_key else None
    given = run(write(model, outputs=OF_STEPS), scores, key=keys)
    n = len(rows_without_answer(model))
    for output in ("probability", *ENDS):
        assert np.isnan(given[output][:n]).all(), output
    assert (given["bin"][:n] == -1).all()
    if len(model.edges):
        assert same(given["probability"][n:], model.predict(scores[n:], tie_keys=None if keys is None else keys[n:]))


@pytest.mark.parametrize("n_bins", [3, 8, 65])
def test_many_edges_of_one_score(n_bins: int) -> None:
    rng = np.random.default_rng(n_bins)
    scores = np.where(rng.random(20_000) < 0.45, 0.5, np.where(rng.random(20_000) < 0.8, 0.0, rng.random(20_000)))
    model = fb.UniformMassBinning(n_bins, ties="random").fit(scores, rng.random(20_000) < 0.3).model_
    assert np.unique(model.edges, return_counts=True)[1].max() >= n_bins // 3
    scores, keys = hard_rows(model, 20_000)
    at = rng.random(20_000) < 0.8
    scores[at] = rng.choice(model.edges, at.sum())
    assert_answers(run(write(model, outputs=OF_STEPS), scores, key=keys), model, scores, keys)


@pytest.mark.parametrize("name", ["1 bins", "10 bins", "10 bins, keys"])
@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        (("n",), (0,)), (("n",), (7,)), (("n", 1), (0, 1)), (("n", 1), (1, 1)), (["n", 1], (7, 1)), ((1, "n"), (1, 7)),
        ((), ()), ((1,), (1,)), ((2, 3), (2, 3)), (("batch", "row", 2), (3, 5, 2)), (("batch", "row", 2), (3, 0, 2)),
    ],
)  # fmt: skip
def test_shapes(name: str, shape: Any, sizes: tuple[int, ...]) -> None:
    model = model_of(name)
    graph = write(model, outputs=OF_STEPS, shape=shape)
    onnx.checker.check_model(graph, full_check=True)
    scores, keys = hard_rows(model, int(np.prod(sizes)))
    given = run(graph, scores.reshape(sizes), key=None if keys is None else keys.reshape(sizes))
    assert {output: answers.shape for output, answers in given.items()} == dict.fromkeys(given, sizes)
    assert_answers({output: answers.reshape(-1) for output, answers in given.items()}, model, scores, keys)


@pytest.mark.sampled
@pytest.mark.parametrize("level", [LEVELS[0], LEVELS[-1]])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", list(MODELS))
def test_scores_of_fewer_digits(name: str, dtype: str, level: str) -> None:
    """The numbers of this type at and beside each edge, and what has no answer."""
    model, narrow = model_of(name), np.dtype(dtype).type
    graph = write(model, outputs=OF_STEPS, dtype=dtype)
    onnx.checker.check_model(graph, full_check=True)
    hard, keys = hard_rows(model, 5_000)
    keys = None if keys is None else np.minimum(keys, np.uint64(2**64 - 2))  # the greatest is refused where it is compared
    with np.errstate(over="ignore"):
        scores = hard.astype(dtype)
    at = np.arange(len(scores)) % 3
    scores[at == 1] = np.nextafter(scores[at == 1], narrow(-np.inf))
    scores[at == 2] = np.nextafter(scores[at == 2], narrow(np.inf))
    low, high = (-np.inf, np.inf) if model.score_range is None or model.out_of_range == "clip" else model.score_range
    answered = np.isfinite(scores) & (scores >= low) & (scores <= high)
    assert answered.mean() > 0.3
    given = run(graph, scores, level, key=keys)
    own_keys = None if keys is None else keys[answered]
    assert_answers({output: column[answered] for output, column in given.items()}, model, scores[answered], own_keys)
    assert np.isnan(given["probability"][~answered]).all()
    without = np.array([np.nan, np.inf, -np.inf], dtype)
    nothing = run(graph, without, level, key=None if keys is None else keys[:3])
    assert np.isnan(nothing["probability"]).all()


@pytest.mark.parametrize("name", ["integers, keys", "pool, texts, keys"])
def test_sets_in_batches_of_columns(name: str) -> None:
    models = SETS[name]()
    scores, cells, keys = cells_and_rows(models, 2_000)
    with np.errstate(over="ignore"):
        scores = scores.astype(np.float32)
    known = np.isfinite(scores) & (scores >= 0.0) & (scores <= 1.0)
    assert known.mean() > 0.3
    columns = [None if column is None else column[known][:, np.newaxis] for column in (scores, cells, keys)]
    given = run(write(models, shape=("n", 1), dtype="float32"), columns[0], cell=columns[1], key=columns[2])["probability"]
    expected = models.predict(scores[known], cells[known], tie_keys=None if keys is None else keys[known])
    assert same(given, expected[:, np.newaxis])


@pytest.mark.parametrize("name", list(CURVES))
def test_curves_of_scores_of_32_bits(name: str) -> None:
    model = curve_model_of(name)
    graph = write(model, shape=("n", 1), dtype="float32")
    with np.errstate(over="ignore"):
        scores = hard_curve_scores(model, 2_000).astype(np.float32)
    scores = scores[np.isfinite(scores)]
    given = run(graph, scores[:, np.newaxis])["probability"][:, 0]
    if name in LINES:
        assert same(given, model.predict(scores))
    else:
        np.testing.assert_allclose(given, model.predict(scores), rtol=0.0, atol=1e-14)


def test_outputs_in_the_order_that_is_asked_for() -> None:
    model = model_of("10 bins")
    scores, _ = hard_rows(model, 100)
    graph = write(model, outputs=["upper", "value"], alpha=0.01)
    assert [output.name for output in graph.graph.output] == ["upper", "probability"]
    given = run(graph, scores)
    assert same(given["upper"], model.predict_interval(scores, alpha=0.01)[:, 1].copy())
    assert same(given["probability"], model.predict(scores))


# ------------------------------------------------------------------------------------------------- sets


def set_of(keys: list[Any], names: tuple[str, ...], **options: Any) -> fb.ModelSet:
    """Models of these names in turn; without the fingerprints of samples, which models of one set must not share."""
    return fb.ModelSet({key: model_of(names[i % len(names)])._replace(fingerprint=0) for i, key in enumerate(keys)}, **options)


NO_KEYS = ("1 bins", "100 bins", "clips", "logits", "two resolutions")
WITH_KEYS = ("10 bins, keys", "edges from above", "clips at keys", "whole ties", "subnormal edges, keys")
SETS = {
    "integers": lambda: set_of(INTEGERS, NO_KEYS),
    "integers, keys": lambda: set_of(INTEGERS, WITH_KEYS),
    "texts": lambda: set_of(TEXTS, NO_KEYS),
    "texts, keys": lambda: set_of(TEXTS, WITH_KEYS),
    "one key": lambda: set_of([5], NO_KEYS),
    "one text": lambda: set_of(["only"], ("1 bins",)),
    "one bin each": lambda: set_of([10, 20, 30], ("1 bins",)),
    "pool": lambda: set_of(INTEGERS[:-1], NO_KEYS, pool=model_of("10 bins"), pooled_cells=[17, -1], unknown="pool"),
    "pool, texts, keys": lambda: set_of(TEXTS, WITH_KEYS, pool=model_of("100 bins, keys"), unknown="pool"),
}


def cells_and_rows(models: fb.ModelSet, n: int) -> tuple[Any, Any, Any]:
    """Hard scores of each model in its cells, shuffled; cells in the type that onnxruntime takes."""
    each = -(-n // len(models.cells))
    rows = [hard_rows(models[key], each, seed=i) for i, key in enumerate(models.cells)]
    scores = np.concatenate([row.scores for row in rows])
    none = np.full(each, 12345, np.uint64)
    keys = np.concatenate([none if row.keys is None else row.keys for row in rows])
    cells = np.repeat(np.array(models.cells, object if isinstance(models.cells[0], str) else np.int64), each)
    order = np.random.default_rng(9).permutation(len(scores))
    needs_key = any(model.needs_key for _, model in models.numbered)
    return scores[order], cells[order], keys[order] if needs_key else None


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("name", list(SETS))
def test_sets_give_the_bits_of_predict(name: str, opset: int) -> None:
    models = SETS[name]()
    graph = write(models, outputs=OF_STEPS, opset=opset)
    onnx.checker.check_model(graph, full_check=True)
    scores, cells, keys = cells_and_rows(models, 20_000)
    given = run(graph, scores, cell=cells, key=keys)
    assert same(given["probability"], models.predict(scores, cells, tie_keys=keys))
    assert same(given["bin"], models.assign(scores, cells, tie_keys=keys))
    for output, (at, end) in ENDS.items():
        assert same(given[output], models.predict_interval(scores, cells, at=at, tie_keys=keys)[:, end].copy())


@pytest.mark.parametrize("name", list(SETS))
@pytest.mark.parametrize("is_column", [False, True])
def test_unknown_cells(name: str, is_column: bool) -> None:
    """No answer, or the value of the pool, an interval of all chances, and no bin; never for a score that has no answer, nor
    for the empty text, which is not a cell."""
    models = SETS[name]()
    unknown = ["zzz", "", "norTh", "zz\0", "北北"] if isinstance(models.cells[0], str) else [-8, 1, 6, 2**63 - 2, -(2**63) + 1]
    unknown += [] if isinstance(models.cells[0], str) or 2**63 - 1 in models.cells else [2**63 - 1]
    cells = np.array(unknown, object if isinstance(models.cells[0], str) else np.int64)
    cells, scores = np.repeat(cells, 4), np.tile([0.25, 0.75, np.nan, np.inf], len(cells))
    cells = cells[:, None] if is_column else cells
    keys = fb.hash_keys(range(len(scores)), "s") if any(model.needs_key for _, model in models.numbered) else None
    given = run(
        write(models, outputs=OF_STEPS, shape=("n", 1) if is_column else ("n",)), scores.reshape(cells.shape), cell=cells,
        key=None if keys is None else keys.reshape(cells.shape),
    )  # fmt: skip
    given = {output: answers.reshape(-1) for output, answers in given.items()}
    answered = np.isfinite(scores) & [cell != "" for cell in cells.reshape(-1).tolist()]
    if models.unknown == "refuse":
        answered[:] = False
    else:
        at = None if keys is None else keys[answered]
        assert models.pool is not None
        assert same(given["probability"][answered], models.pool.predict(scores[answered], tie_keys=at))
        for output, (_, end) in ENDS.items():
            assert (given[output][answered] == end).all()
    assert (given["bin"] == -1).all()
    for output in ("probability", *ENDS):
        assert np.isnan(given[output][~answered]).all()


def test_rows_without_an_answer_in_sets() -> None:
    """The range of each row's own model."""
    models = set_of([1, 2, 3], ("10 bins", "clips", "logits"))
    scores = np.repeat([-0.5, 1.5, np.nan, -np.inf, -0.0], 3)
    cells = np.tile([1, 2, 3], 5)
    given = run(write(models, outputs=OF_STEPS), scores, cell=cells)["probability"]
    answered = np.isfinite(scores) & ((cells != 1) | (scores == 0.0))
    assert np.isnan(given[~answered]).all()
    assert same(given[answered], models.predict(scores[answered], cells[answered]))


def test_many_models() -> None:
    """300 models of 1 to 100 bins, and keys that are far apart."""
    rng = np.random.default_rng(3)
    names = tuple(name for name in MODELS if name not in NEED_KEYS and name != "1000 bins")
    keys = sorted({int(key) for key in rng.integers(-(2**62), 2**62, 300)})
    models = set_of(keys, names)
    cells, scores = rng.choice(keys, 20_000), rng.random(20_000)
    assert same(run(write(models), scores, cell=cells)["probability"], models.predict(scores, cells))


# ------------------------------------------------------------------------------------------------- without steps


@pytest.mark.parametrize("level", [LEVELS[0], LEVELS[-1]])
@pytest.mark.parametrize("name", list(CURVES))
def test_models_without_steps(name: str, level: str) -> None:
    """Interpolated ones to the bit; smooth ones as the exponential and the logarithm of the runtime allow.

    Older ones take the logarithm of a subnormal number as that of the smallest normal one.
    """
    model = curve_model_of(name)
    graph = write(model, opset=13 if level == LEVELS[0] else 18)
    onnx.checker.check_model(graph, full_check=True)
    assert properties(graph)["fastbin.kind"] == model.kind
    scores = hard_curve_scores(model, 5_000)
    given, expected = run(graph, scores, level)["probability"], model.predict(scores)
    if name in LINES:
        assert same(given, expected)
    else:
        np.testing.assert_allclose(given, expected, rtol=0.0, atol=1e-14)
        usual = (scores > LEAST_NORMAL) & (scores < 1.0)
        np.testing.assert_allclose(given[usual], expected[usual], rtol=1e-12, atol=0.0)
    assert np.isnan(run(graph, rows_without_answer(model), level)["probability"]).all()
    assert run(graph, scores[:0], level)["probability"].shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LINES))
def test_a_million_hard_scores_on_lines(name: str) -> None:
    model = curve_model_of(name)
    scores = hard_curve_scores(model, 10**6, seed=1)
    assert same(run(write(model), scores)["probability"], model.predict(scores))


# ------------------------------------------------------------------------------------------------- the file


def test_what_the_file_says() -> None:
    model = model_of("10 bins")
    found = properties(write(model, outputs=("value", "lower")))
    assert found[SHA256_KEY] == digest_of(model)
    assert found[VERSION_KEY] == fb.__version__
    assert found[f"{OUTPUT_KEY}value"] == "probability"
    assert found["fastbin.promise"] == promise_of(model)
    assert (found["fastbin.kind"], found["fastbin.scheme"], found["fastbin.alpha"]) == ("step", "umd", "0.1")
    assert (found["fastbin.n_bins"], found["fastbin.n_samples"]) == ("10", str(model.n_samples))
    assert "fastbin.alpha" not in properties(write(model))


def test_what_the_file_of_a_set_says() -> None:
    models = SETS["integers"]()
    graph = write(models)
    assert properties(graph)[SHA256_KEY] == digest_of(models)
    assert (properties(graph)["fastbin.kind"], properties(graph)["fastbin.scheme"]) == ("set", "given")


def test_no_operator_but_plain_ones() -> None:
    for model in (model_of("1000 bins, keys"), SETS["pool"]()):
        assert {node.domain for node in write(model, outputs=OF_STEPS).graph.node} == {""}
    graph = write(SETS["texts"](), outputs=OF_STEPS)
    assert [node.op_type for node in graph.graph.node if node.domain] == ["LabelEncoder"]


def test_the_oldest_version_of_the_file_that_the_opset_allows() -> None:
    assert [write(model_of("10 bins"), opset=opset).ir_version for opset in (13, 15, 18, 21)] == [7, 8, 8, 10]


def test_the_same_bytes_again() -> None:
    models = SETS["pool, texts, keys"]()
    first, again = (write(models, outputs=OF_STEPS).SerializeToString(deterministic=True) for _ in range(2))
    assert first == again


# ------------------------------------------------------------------------------------------------- mistakes


def test_mistakes() -> None:
    model = model_of("10 bins")
    newest = onnx.defs.onnx_opset_version()
    for opset in (12, newest + 1, -1):
        with pytest.raises(fb.InputError, match=rf"^opset is {opset}; it must be at least 13 and at most {newest}$"):
            write(model, opset=opset)
    with pytest.raises(fb.InputTypeError, match=r"^opset must be an integer, got '18'"):
        write(model, opset="18")
    for shape, message in (
        ("n", r"^shape must be sizes and names, such as .*, got 'n'|^shape is 'n'; pass sizes and names"),
        ((0,), r"^shape\[0\] is 0; it must be at least 1"),
        (("n", "n"), r"^shape\[1\] stands there twice: 'n'; pass another name for each size that may be any$"),
        (("n", ""), r"^shape\[1\] is not a name: ''; pass another name"),
        ((None, 1), r"^shape\[0\] must be an integer, got None"),
    ):
        with pytest.raises((fb.InputError, fb.InputTypeError), match=message):
            write(model, shape=shape)
    with pytest.raises(fb.InputError, match=r"^dtype is 'int64'.*'float64', 'float32'.*'float16'"):
        write(model, dtype="int64")


def test_a_key_that_is_missing_or_not_needed() -> None:
    keyed, plain = session_of(write(model_of("10 bins, keys"))), session_of(write(model_of("10 bins")))
    assert [each.name for each in plain.get_inputs()] == ["score"]
    with pytest.raises(Exception, match="key"):
        keyed.run(None, {"score": np.zeros(2)})
    with pytest.raises(Exception, match="key"):
        plain.run(None, {"score": np.zeros(2), "key": np.zeros(2, np.uint64)})


def test_columns_of_different_lengths_are_no_rows() -> None:
    session = session_of(write(model_of("10 bins, keys")))
    for n_scores, n_keys in ((3, 1), (1, 3), (3, 2)):
        with pytest.raises(Exception, match="Reshape"):
            session.run(None, {"score": np.zeros(n_scores), "key": np.zeros(n_keys, np.uint64)})


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(
        fb.MissingDependencyError,
        match=r'^ONNX graphs need .*; extra "onnx" of fastbin-calibration: pip install .*"onnx>=1.16" "onnxruntime>=1.18"$',
    ):
        write(model_of("10 bins"))
