"""ONNX graphs in onnxruntime, one thread: a million scores and one score, beside what others write there."""

from __future__ import annotations

from functools import partial
from typing import Any

import cases
import export_cases
import numpy as np
import pytest
from cases import rows
from export_cases import EXPORTS, ExportCase
from measure import Contestant, paired
from sklearn.isotonic import IsotonicRegression

import fastbin as fb

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

N_FIT, N_ROWS = 200_000, 10**6

# A graph that compares each row with each knot needs memory for both at once.
CHUNK = 10_000


def _session(graph: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _graph(nodes: str, constants: dict[str, Any] | None = None, kind: str = "double") -> Any:
    """A graph of a score and a probability, by the nodes as onnx writes them as text."""
    graph = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18, "ai.onnx.ml": 3]> g (double[n] score) => ({kind}[n] probability) {{ {nodes} }}'
    )
    for name, values in (constants or {}).items():
        graph.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(values), name))
    return graph


def _tree(model: fb.BinnedModel) -> Any:
    """The steps as a balanced tree of the tree operator, with edges in double; its values are float32."""
    nodes: list[tuple[float, int, int]] = []  # edge, the node at or above it, the node below it
    leaves: dict[int, float] = {}

    def grow(first: int, last: int) -> int:
        number = len(nodes)
        nodes.append((0.0, 0, 0))
        if first == last:
            leaves[number] = float(model.values[first])
            return number
        middle = (first + last) // 2
        below, above = grow(first, middle), grow(middle + 1, last)
        nodes[number] = (float(model.edges[middle]), above, below)
        return number

    grow(0, len(model.edges))
    n = len(nodes)
    tensor = partial(onnx.helper.make_tensor, data_type=onnx.TensorProto.DOUBLE)
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor", ["column"], ["trees"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0] * n,
        nodes_nodeids=list(range(n)), nodes_featureids=[0] * n,
        nodes_modes=["LEAF" if i in leaves else "BRANCH_GTE" for i in range(n)],
        nodes_values_as_tensor=tensor("edges", dims=[n], vals=[edge for edge, _, _ in nodes]),
        nodes_truenodeids=[above for _, above, _ in nodes], nodes_falsenodeids=[below for _, _, below in nodes],
        target_treeids=[0] * len(leaves), target_nodeids=list(leaves), target_ids=[0] * len(leaves),
        target_weights_as_tensor=tensor("values", dims=[len(leaves)], vals=list(leaves.values())),
    )  # fmt: skip
    graph = _graph("column = Reshape (score, column_shape) probability = Reshape (trees, shape)", kind="float")
    graph.graph.node.insert(1, node)
    for name, values in (("column_shape", [-1, 1]), ("shape", [-1])):
        graph.graph.initializer.append(onnx.numpy_helper.from_array(np.array(values), name))
    return graph


def _knots(model: fb.BinnedModel) -> np.ndarray:
    """One for each value: the centres of the bins."""
    ends = np.concatenate([[0.0], model.edges, [1.0]])
    return (ends[1:] + ends[:-1]) / 2.0


def _nearest(model: fb.BinnedModel) -> Any:
    """The value at the nearest of all knots."""
    return _graph(
        "column = Unsqueeze (score, one) distance = Sub (column, knots) size = Abs (distance)"
        " step = ArgMin <axis = 1, keepdims = 0> (size) probability = Gather (values, step)",
        {"one": [1], "knots": _knots(model), "values": model.values},
    )


def _in_chunks(session: Any, scores: np.ndarray) -> np.ndarray:
    parts = [session.run(None, {"score": scores[at : at + CHUNK]})[0] for at in range(0, len(scores), CHUNK)]
    return np.concatenate(parts)


def _model(case: ExportCase) -> fb.BinnedModel:
    if case.has_keys:
        return fb.UniformMassBinning(case.n_bins, ties="random").fit(*rows("100 values", N_FIT)).model_
    return fb.UniformMassBinning(case.n_bins).fit(*rows("uniform", N_FIT)).model_


def _rows(case: ExportCase, model: fb.BinnedModel) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(12)
    if not case.has_keys:
        return {"score": rng.random(N_ROWS)}
    return {"score": rng.choice(model.edges, N_ROWS), "key": rng.integers(0, 2**64 - 1, N_ROWS, dtype=np.uint64)}


def _others(model: fb.BinnedModel, scores: np.ndarray, expected: np.ndarray) -> dict[str, Contestant]:
    """Graphs that others write, which give nearly the same; that they do what they are told is checked before the clock."""
    tree, nearest = _session(_tree(model)), _session(_nearest(model))
    assert np.array_equal(tree.run(None, {"score": scores})[0], expected.astype(np.float32))
    knots = _knots(model)
    at_nearest = model.values[np.searchsorted((knots[1:] + knots[:-1]) / 2.0, scores)]
    assert np.mean(_in_chunks(nearest, scores) != at_nearest) < 1e-5
    return {"tree operator": partial(tree.run, None, {"score": scores}), "nearest knot": partial(_in_chunks, nearest, scores)}


@pytest.mark.parametrize("case", EXPORTS, ids=lambda case: case.name("B")[3:])
def bench_onnx(case: ExportCase, is_long: bool, benchmark, report) -> None:
    if not is_long and not case.is_short:
        pytest.skip("only with --long")
    model = _model(case)
    feeds = _rows(case, model)
    scores, keys = feeds["score"], feeds.get("key")
    session = _session(fb.export.onnx(model))
    expected, out = model.predict(scores, tie_keys=keys), np.empty(N_ROWS)
    assert np.array_equal(session.run(None, feeds)[0].view(np.uint64), expected.view(np.uint64))
    others = {} if case.has_keys else _others(model, scores, expected)
    predict, export = partial(model.predict, scores, tie_keys=keys, out=out), partial(session.run, None, feeds)
    timed = paired({"predict": predict, "export": export, **others}, seconds=6 if is_long else 1.5)
    name = case.name("ONNX graph")
    report(name, cases.SCORE_NS, 1e9 * timed.seconds("export") / N_ROWS)
    report(name, export_cases.EXPORT_TO_PREDICT, timed.ratio("export", to="predict"))
    for form in others:
        report(name, export_cases.ONNX_TO_EXPORT[form], timed.ratio(form, to="export"))
    _one_row(case, model, session, feeds, report)
    benchmark.pedantic(export, rounds=5)


def _one_row(case: ExportCase, model: fb.BinnedModel, session: Any, feeds: dict[str, np.ndarray], report) -> None:
    """A request: what a run costs in any case is shown by a graph that does nothing."""
    one = {name: column[:1].copy() for name, column in feeds.items()}
    assert session.run(None, one)[0] == model.predict(one["score"], tie_keys=one.get("key"))
    scores, labels = rows("uniform", N_FIT)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    contestants = {
        "export": partial(session.run, None, one),
        "empty": partial(_session(_graph("probability = Identity (score)")).run, None, {"score": one["score"]}),
        "isotonic": partial(isotonic.predict, one["score"]),
    }
    timed = paired(contestants, seconds=1)
    name = case.name("ONNX graph")
    report(name, export_cases.ONE_ROW_US, 1e6 * timed.seconds("export"))
    report(name, export_cases.ONE_ROW_TO_EMPTY, timed.ratio("export", to="empty"))
    report(name, export_cases.ISOTONIC_TO_ONE_ROW, timed.ratio("isotonic", to="export"))
