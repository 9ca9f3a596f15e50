"""A classifier and its model in one ONNX file: 0 differences on the scores of the runtime, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.version_converter
import pytest
from exported import bits, model_of
from exported_curves import curve_model_of
from onnx import TensorProto, helper
from onnx_graphs import properties, session_of

import fastbin as fb
from fastbin.export import append_onnx, onnx_scores
from fastbin.export.form import OF_STEPS, digest_of
from fastbin.export.onnx import LEAST_OPSET, OUTPUT_KEY, SHA256_KEY

RNG = np.random.default_rng(4)
X = RNG.normal(size=(6000, 4)).astype(np.float32)
LABELS = (RNG.random(len(X)) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0] - X[:, 1]))).astype(np.int64)
TRAIN, FIT, USE = slice(0, 500), slice(500, 3000), slice(3000, None)


def linear(
    *, zipmap: bool = False, labels: Any = (0, 1), opset: int = 18, ir_version: int = 8, name: str = "probabilities",
    shape: Any = ("N", 2), **more: Any,
) -> Any:  # fmt: skip
    """A logistic regression, written as converters write it."""
    texts = isinstance(labels[0], str)
    words = {"classlabels_strings" if texts else "classlabels_ints": list(labels)}
    classifier = helper.make_node(
        "LinearClassifier", ["X"], ["label", "raw" if zipmap else name], domain="ai.onnx.ml", post_transform="LOGISTIC",
        coefficients=[-2.0, -1.0, 0.5, 0.0, 2.0, 1.0, -0.5, 0.0], intercepts=[0.1, -0.1], **words,
    )  # fmt: skip
    nodes = [classifier]
    scores = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    if zipmap:
        words = {"classlabels_strings" if texts else "classlabels_int64s": list(labels)}
        nodes.append(helper.make_node("ZipMap", ["raw"], [name], domain="ai.onnx.ml", **words))
        keys = TensorProto.STRING if texts else TensorProto.INT64
        kind = helper.make_map_type_proto(keys, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        scores = helper.make_value_info(name, helper.make_sequence_type_proto(kind))
    label = helper.make_tensor_value_info("label", TensorProto.STRING if texts else TensorProto.INT64, ["N"])
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 4])]
    graph = helper.make_graph(nodes, "classifier", inputs, [label, scores])
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), *([helper.make_opsetid("", opset)] if opset else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, **more)


def fitted(graph: Any, **options: Any) -> fb.BinnedModel:
    return fb.UniformMassBinning(**{"n_bins": 20, **options}).fit(onnx_scores(session_of(graph), X[FIT]), LABELS[FIT]).model_


def differences(graph: Any, model: fb.BinnedModel, **feeds: Any) -> int:
    """Between the appended model and `predict` on the scores of the same run."""
    both = append_onnx(graph, model)
    onnx.checker.check_model(both, full_check=True)
    session = session_of(both)
    given = session.run(["probability"], {"X": X[USE], **feeds})[0]
    expected = model.predict(onnx_scores(session_of(graph), X[USE]), tie_keys=feeds.get("key"))
    assert given.shape == expected.shape
    return int((bits(given) != bits(expected)).sum())


# ------------------------------------------------------------------------------------------------- libraries


@cache
def trained(name: str) -> Any:
    """A classifier of a library, and how it is written as ONNX; skipped where one of the packages is missing."""
    if name in ("logistic", "forest"):
        ensemble, linear_model = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.linear_model")
        forest = ensemble.RandomForestClassifier(30, max_depth=6, random_state=0)
        classifier = linear_model.LogisticRegression() if name == "logistic" else forest
    elif name == "lightgbm":
        classifier = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=30, verbose=-1)
    else:
        classifier = pytest.importorskip("xgboost").XGBClassifier(n_estimators=30)
    return classifier.fit(X[TRAIN], LABELS[TRAIN])


def converted(name: str, zipmap: bool, opset: int | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the converters
        if name in ("logistic", "forest"):
            skl2onnx = pytest.importorskip("skl2onnx")
            return skl2onnx.to_onnx(trained(name), X[:1], options={"zipmap": zipmap}, target_opset=opset)
        tools = pytest.importorskip("onnxmltools")
        types = [("X", tools.convert.common.data_types.FloatTensorType([None, 4]))]
        if name == "xgboost":
            return tools.convert_xgboost(trained(name), initial_types=types, target_opset=opset)
        return tools.convert_lightgbm(trained(name), initial_types=types, target_opset=opset, zipmap=zipmap)


def with_new_operators(graph: Any) -> Any:
    """As the error about old ones says: converters write some graphs in opset 9, whatever is asked for."""
    if any(each.version < LEAST_OPSET for each in graph.opset_import if each.domain == ""):
        return onnx.version_converter.convert_version(graph, LEAST_OPSET)
    return graph


@pytest.mark.parametrize("opset", [13, 15, None])
@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("name", ["logistic", "forest", "lightgbm", "xgboost"])
def test_no_difference_on_the_scores_of_the_runtime(name: str, zipmap: bool, opset: int | None) -> None:
    graph = with_new_operators(converted(name, zipmap, opset))
    assert differences(graph, fitted(graph)) == 0
    keys = RNG.integers(0, 2**64 - 1, len(X[USE]), dtype=np.uint64)
    assert differences(graph, fitted(graph, ties="random", n_bins=40), key=keys) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "forest", "lightgbm", "xgboost"])
def test_a_million_rows(name: str) -> None:
    graph = with_new_operators(converted(name, False, 15))
    model = fitted(graph, n_bins=50)
    x = np.random.default_rng(6).normal(size=(10**6, 4)).astype(np.float32)
    given = session_of(append_onnx(graph, model)).run(["probability"], {"X": x})[0]
    expected = model.predict(onnx_scores(session_of(graph), x))
    assert int((bits(given) != bits(expected)).sum()) == 0


@pytest.mark.parametrize("name", ["logistic", "forest", "lightgbm", "xgboost"])
def test_scores_of_the_runtime_are_not_those_of_the_library(name: str) -> None:
    """But close to them, and to the second column; so they are what a model must be fitted to."""
    graph, classifier = converted(name, True, 15), trained(name)
    scores = onnx_scores(session_of(graph), X[USE])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of features
        theirs = classifier.predict_proba(X[USE])[:, 1]
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("columns", [["i1"], ["i0"]])
def test_a_column_for_each_class(columns: list[str]) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    graph = skl2onnx.to_onnx(trained("logistic"), X[:1], options={"zipmap": "columns"}, target_opset=18)
    with pytest.raises(
        fb.InputError, match=r"^classifier_graph has 2 outputs of floats among 'output_label', 'i0', 'i1'; name"
    ):
        append_onnx(graph, model_of("100 bins"))
    (name,) = columns
    scores = onnx_scores(session_of(graph), X[USE], output=name)
    given = session_of(append_onnx(graph, model_of("100 bins"), output=name)).run(["probability"], {"X": X[USE]})[0]
    np.testing.assert_array_equal(bits(given), bits(model_of("100 bins").predict(scores)))


def test_one_input_for_each_feature() -> None:
    skl2onnx, pandas = pytest.importorskip("skl2onnx"), pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(make_column_transformer((StandardScaler(), list("abcd"))), LogisticRegression())
    pipeline.fit(frame[TRAIN], LABELS[TRAIN])
    types = [(name, skl2onnx.common.data_types.FloatTensorType([None, 1])) for name in "abcd"]
    graph = with_new_operators(skl2onnx.convert_sklearn(pipeline, initial_types=types, target_opset=18))
    scores = onnx_scores(session_of(graph), frame)
    np.testing.assert_allclose(scores, pipeline.predict_proba(frame)[:, 1], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(scores, onnx_scores(session_of(graph), {name: X[:, [i]] for i, name in enumerate("abcd")}))
    model = fb.UniformMassBinning(20).fit(scores[FIT], LABELS[FIT]).model_
    feeds = {name: X[:, [i]] for i, name in enumerate("abcd")}
    given = session_of(append_onnx(graph, model)).run(["probability"], feeds)[0]
    np.testing.assert_array_equal(bits(given), bits(model.predict(scores)))
    with pytest.raises(
        fb.InputTypeError, match=r"^X is of type ndarray, and the session has the inputs 'a', 'b', 'c', 'd'; pass"
    ):
        onnx_scores(session_of(graph), X)
    with pytest.raises(fb.InputError, match=r"^X has no 'b'; the session has the inputs 'a', 'b', 'c', 'd'$"):
        onnx_scores(session_of(graph), frame[["a", "c", "d"]])


# ------------------------------------------------------------------------------------------------- graphs by hand

GRAPHS: dict[str, Callable[[], Any]] = {
    "tensor": linear,
    "ZipMap": lambda: linear(zipmap=True),
    "ZipMap of texts": lambda: linear(zipmap=True, labels=("no", "yes")),
    "opset 13": lambda: linear(opset=13, ir_version=7),
    "opset 21": lambda: linear(opset=21, ir_version=10),
    "no plain operators": lambda: linear(opset=0),
    "a name that is taken": lambda: linear(name="probability"),
}


@pytest.mark.parametrize("name", list(GRAPHS))
def test_graphs_by_hand(name: str) -> None:
    graph = GRAPHS[name]()
    before = graph.SerializeToString()
    model = fitted(graph)
    scores = onnx_scores(session_of(graph), X[USE])
    both = append_onnx(graph, model, outputs=OF_STEPS, alpha=0.05)
    assert graph.SerializeToString() == before
    onnx.checker.check_model(both, full_check=True)
    said = properties(both)
    tensors = [said[f"{OUTPUT_KEY}{output}"] for output in OF_STEPS]
    assert tensors[0] == ("fastbin_probability" if name == "a name that is taken" else "probability")
    assert said[SHA256_KEY] == digest_of(model)
    value, bin_, lower, upper, *at_scores = session_of(both).run(tensors, {"X": X[USE]})
    np.testing.assert_array_equal(bits(value), bits(model.predict(scores)))
    np.testing.assert_array_equal(bin_, model.assign(scores))
    np.testing.assert_array_equal(np.stack([lower, upper], 1), model.predict_interval(scores, alpha=0.05, at="bin"))
    np.testing.assert_array_equal(np.stack(at_scores, 1), model.predict_interval(scores, alpha=0.05, at="score"))
    theirs, ours = (onnx_scores(session_of(each), X[USE]) for each in (graph, both))
    np.testing.assert_array_equal(theirs, ours)


def test_versions_properties_and_outputs_are_kept() -> None:
    graph = linear(zipmap=True, opset=15, ir_version=8, producer_name="someone", doc_string="theirs")
    graph.metadata_props.add(key="team", value="risk")
    both = append_onnx(graph, model_of("10 bins"))
    assert both.ir_version == graph.ir_version
    assert list(both.opset_import) == list(graph.opset_import)
    assert (both.producer_name, both.doc_string, both.metadata_props[0].value) == ("someone", "theirs", "risk")
    assert [each.name for each in both.graph.output] == ["label", "probabilities", "probability"]
    theirs = session_of(both).run(["label", "probabilities"], {"X": X[USE]})
    assert theirs[1] == session_of(graph).run(["probabilities"], {"X": X[USE]})[0]


def test_a_version_is_added_only_where_there_is_none() -> None:
    both = append_onnx(linear(opset=0), model_of("10 bins"))
    assert {each.domain: each.version for each in both.opset_import} == {"ai.onnx.ml": 1, "": LEAST_OPSET}


@pytest.mark.parametrize("shape", [("N",), ("N", 1)])
def test_scores_alone(shape: tuple[Any, ...]) -> None:
    graph = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g (double[{", ".join(map(str, shape))}] x) => '
        f"(double[{', '.join(map(str, shape))}] score) {{ score = Sigmoid (x) }}"
    )
    x = RNG.normal(size=(500, 1)[: len(shape)])
    scores = onnx_scores(session_of(graph), x)
    given = session_of(append_onnx(graph, model_of("100 bins"))).run(["probability"], {"x": x})[0]
    assert scores.shape == given.shape == (500,)
    np.testing.assert_array_equal(bits(given), bits(model_of("100 bins").predict(scores)))


@pytest.mark.parametrize("kind", ["float", "double"])
def test_probabilities_that_rounding_carried_out_of_their_range(kind: str) -> None:
    near, far = 2.0**-16, 2.0**-15
    given = np.array([0.25, 0.0, -1e-7, -near, -far, 1.0, 1.0 + 2.0**-23, 1.0 + near, 1.0 + far, np.nan, np.inf])
    expected = np.array([0.25, 0.0, 0.0, 0.0, -far, 1.0, 1.0, 1.0, 1.0 + far, np.nan, np.inf])
    rows = np.stack([1.0 - given, given], axis=1).astype(np.float32 if kind == "float" else np.float64)
    graph = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 13]> classifier
        ({kind}[n, 2] x) => ({kind}[n, 2] probabilities) {{ probabilities = Identity (x) }}"""
    )
    scores = onnx_scores(session_of(graph), rows)
    np.testing.assert_array_equal(scores, expected)
    model = fb.UniformMassBinning(n_bins=5).fit(*(np.tile(column, 20) for column in ([0.0, 0.25, 1.0], [0, 1, 1]))).model_
    (served,) = session_of(append_onnx(graph, model)).run(["probability"], {"x": rows})
    inside = (expected >= 0.0) & (expected <= 1.0)
    np.testing.assert_array_equal(bits(served[inside]), bits(model.predict(scores[inside])))
    assert np.isnan(served[~inside]).all()
    # Rows that do not sum to 1 are not probabilities; they are taken as they are, as is what stands alone.
    margins = np.stack([-given, given], axis=1).astype(rows.dtype)
    np.testing.assert_array_equal(onnx_scores(session_of(graph), margins), margins[:, 1])
    any_score = fb.BinnedModel.from_parts(edges=[0.0], values=[0.1, 0.9], score_range=None)
    (served,) = session_of(append_onnx(graph, any_score)).run(["probability"], {"x": margins[:9]})
    np.testing.assert_array_equal(served, any_score.predict(margins[:9, 1].astype(np.float64)))
    one = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 13]> classifier
        ({kind}[n, 1] x) => ({kind}[n, 1] scores) {{ scores = Identity (x) }}"""
    )
    np.testing.assert_array_equal(onnx_scores(session_of(one), rows[:, 1:]), rows[:, 1])


def test_interpolated_models_behind_a_classifier() -> None:
    assert differences(linear(), curve_model_of("interpolated isotonic")) == 0


def test_no_rows() -> None:
    for zipmap in (False, True):
        graph = linear(zipmap=zipmap)
        assert onnx_scores(session_of(graph), X[:0]).shape == (0,)
        assert session_of(append_onnx(graph, model_of("10 bins"))).run(["probability"], {"X": X[:0]})[0].shape == (0,)


def test_bytes_and_paths(tmp_path: Path) -> None:
    graph = linear()
    onnx.save(graph, tmp_path / "classifier.onnx")
    made = append_onnx(graph, model_of("10 bins")).SerializeToString(deterministic=True)
    for given in (graph.SerializeToString(), tmp_path / "classifier.onnx", str(tmp_path / "classifier.onnx")):
        assert append_onnx(given, model_of("10 bins")).SerializeToString(deterministic=True) == made


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("names", [(3, 4), ("north", "süd")])
def test_sets_behind_a_classifier(names: tuple[Any, ...], version: int) -> None:
    graph = linear()
    graph.opset_import[0].version = version
    models = fb.ModelSet(
        {names[0]: model_of("100 bins"), names[1]: model_of("10 bins, keys")}, pool=model_of("1 bins"), unknown="pool"
    )
    both = append_onnx(graph, models)
    onnx.checker.check_model(both, full_check=True)
    known = [*names, "west" if isinstance(names[0], str) else 7]
    at = RNG.integers(0, 3, len(X))
    cells = np.array(known, object if isinstance(names[0], str) else np.int64)[at]
    keys = RNG.integers(0, 2**64 - 1, len(X), dtype=np.uint64)
    given = session_of(both).run(["probability"], {"X": X, "cell": cells, "key": keys})[0]
    scores = onnx_scores(session_of(graph), X)
    np.testing.assert_array_equal(bits(given), bits(models.predict(scores, cells, tie_keys=keys)))


def test_inputs_whose_names_are_taken() -> None:
    graph = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[N, 2] key, float[N, 2] fastbin_key) => (float[N, 2] p) '
        "{ sum = Add (key, fastbin_key)  p = Softmax <axis = 1> (sum) }"
    )
    both = append_onnx(graph, model_of("10 bins, keys"))
    assert [each.name for each in both.graph.input] == ["key", "fastbin_key", "fastbin_key_2"]
    onnx.checker.check_model(both, full_check=True)


# ------------------------------------------------------------------------------------------------- mistakes


def without_scores() -> Any:
    graph = linear()
    del graph.graph.output[1]
    return graph


def three_classes(shape: str = "N, 3") -> Any:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[N, 3] x) => (float[{shape}] p) {{ p = Softmax <axis = 1> (x) }}'
    )


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (without_scores, {}, r"classifier_graph has no output of floats among 'label'; name the one with .*output="),
        (without_scores, {"output": "label"}, r"output is 'label', which does not hold floats; classifier_graph has 'label'$"),
        (without_scores, {"output": "scores"}, r"output is 'scores', which does not exist; classifier_graph has 'label'$"),
        (three_classes, {}, r"output 'p' has 3 classes, and a model calibrates the scores of one label; pass"),
        (
            lambda: three_classes("N, M"), {},
            r"output 'p' of classifier_graph is declared with 2 dimensions, whose sizes are \[None",
        ),
        (lambda: append_onnx(linear(), model_of("10 bins")), {}, r"classifier_graph holds a model of fastbin already"),
        (dict, {}, r"classifier_graph is of type dict; pass an onnx.ModelProto, bytes or a path$"),
        (lambda: b"no graph", {}, r"classifier_graph is not what onnx can read"),
        (lambda: b"", {}, r"classifier_graph is empty, or no ONNX graph: it has no nodes; pass what a conv"),
        (onnx.ModelProto, {}, r"classifier_graph is empty, or no ONNX graph: it has no nodes; pass what a conv"),
        (linear, {"model": None}, r"model is of type NoneType"),
    ],
)  # fmt: skip
def test_graphs_that_are_refused(graph: Callable[[], Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=f"^{message}"):
        append_onnx(graph(), **{"model": model_of("10 bins"), **options})


@pytest.mark.parametrize(
    ("session", "rows", "message"),
    [
        (lambda: session_of(without_scores()), X, r"session has no output of floats among 'label'; name the one .*output=$"),
        (lambda: session_of(three_classes()), X[:5, :3], r"output 'p' has 3 classes, and a model calibrates the scores of one"),
        (lambda: "classifier.onnx", X, r"session is of type str; pass an onnxruntime.InferenceSession$"),
        (
            lambda: session_of(linear()), {"X": X, "Z": X},
            r"X has 'Z', which is not an input; the session has the inputs 'X'$",
        ),
    ],
)  # fmt: skip
def test_sessions_that_are_refused(session: Callable[[], Any], rows: Any, message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=f"^{message}"):
        onnx_scores(session(), rows)


def test_old_operators_and_their_remedy() -> None:
    old = linear(opset=12, ir_version=7)
    with pytest.raises(
        fb.InputError, match=r"^classifier_graph is of opset 12, and its operators .* of 13 or newer; pass onnx"
    ):
        append_onnx(old, model_of("10 bins"))
    assert differences(onnx.version_converter.convert_version(old, 13), model_of("10 bins")) == 0


def test_old_files_and_their_remedy() -> None:
    """Constants of such files are inputs too, and those of a model are not: the checker refuses both together."""
    old = onnx.parser.parse_model(
        '<ir_version: 3, opset_import: ["": 13]> g (float[N, 2] x) => (float[N, 2] p) { p = Softmax <axis = 1> (x) }'
    )
    with pytest.raises(fb.InputError, match=r"has ir_version 3, in which constants .* set classifier_graph.ir_version = 7,"):
        append_onnx(old, model_of("10 bins"))
    old.ir_version = 7
    onnx.checker.check_model(append_onnx(old, model_of("10 bins")), full_check=True)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            [["a", "b"]],
            fb.InputTypeError,
            r"^X is not what the session takes, tensor\(float\): could not convert .*; convert it",
        ),
        (X[0], fb.InputError, r"^X has shape \(\d+,\), and the session takes \(n, \d+\); pass a row for each sample"),
        (X[:, :1], fb.InputError, r"^X has shape \(\d+, 1\), and the session takes \(n, \d+\); .* that the classifier was f"),
    ],
)
def test_rows_that_a_session_does_not_take(rows: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        onnx_scores(session_of(linear()), rows)
