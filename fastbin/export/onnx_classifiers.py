"""A classifier's ONNX graph and the model that calibrates its scores in one file, and the scores to fit such a model to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.form import as_exported, form_of
from fastbin.export.onnx import (
    LEAST_OPSET,
    OUTPUT_KEY,
    SHA256_KEY,
    TENSORS,
    Nodes,
    TensorNames,
    add_answers,
    inputs_of,
    metadata_of,
    outputs_of,
    package,
)
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

ML = "ai.onnx.ml"

# The version of the file from which on constants need not be inputs too, and the one that came with the least opset.
LEAST_IR, USUAL_IR = 4, 7

# What onnxruntime calls the types of tensors.
DTYPES = {
    "tensor(float16)": np.float16, "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int8)": np.int8,
    "tensor(int16)": np.int16, "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_, "tensor(string)": np.object_,
}  # fmt: skip
FLOATS = ("tensor(float16)", "tensor(float)", "tensor(double)")

# A runtime adds the votes of a forest in float32, and comes to 1.0000001 where all agree. In rows that sum to 1, but for so
# much, entries are moved into [0, 1] from so far outside; other rows are not probabilities. It is a number that float32 has.
ROUNDING = 2.0**-16


class ScoreOutput(NamedTuple):
    """Where a graph has its scores."""

    tensor: str
    column: int | None  # None for a tensor that holds nothing but scores


def append_onnx(
    classifier_graph: Any, model: BinnedModel | ModelSet | Any, *, output: str | None = None,
    outputs: Sequence[str] = ("value",), alpha: float | None = None,
) -> Any:  # fmt: skip
    """The ONNX graph of a binary classifier, with calibrated probabilities as further outputs.

    Parameters
    ----------
    classifier_graph : onnx.ModelProto, bytes or path
        As skl2onnx and onnxmltools write them, with ZipMap (the tensor before it is read) or without, or any other graph with
        an output of floats: of shape (n, 2), whose second column is read, or (n, 1) or (n,). It is not changed.
    model : BinnedModel, ModelSet or fitted calibrator
        Fitted to scores that this graph gives: see `onnx_scores`.
    output : str, optional
        The output of the graph that holds the scores. Needed where it has several outputs of floats.
    outputs, alpha
        As for `onnx`.

    Returns
    -------
    onnx.ModelProto
        The graph, with its inputs, outputs, versions and properties, and new outputs of shape (n,), as `onnx` has them. Models
        that split ties add the input ``key``, sets the input ``cell``. Where one of these names is taken, ``fastbin_`` goes
        before it; ``metadata_props`` tell the names of the outputs, that of the probability under ``fastbin.output.value``.

    Raises
    ------
    InputError, InputTypeError
        If the scores cannot be told from other outputs, for more than two classes, a graph without nodes, of an opset below 13
        or an ir_version below 4, one that has a model already, ...
    MissingDependencyError
        If the onnx package is missing.

    Notes
    -----
    Scores go from float32 to float64, where nothing is lost, and from there on the bits are those of
    ``model.predict(scores)`` for the scores of the same run, but for the last bits of smooth models, as for `onnx`. The
    scores of a run are a matter of the runtime: their last digits differ from those of scikit-learn, LightGBM or XGBoost, and
    may differ between a run of one row and one of many, as sums are taken in another order. So fit to the scores of the runtime
    that serves. O(size of both graphs).

    No version is rewritten. Some converters write old operators: ``onnx.version_converter.convert_version(graph, 13)`` makes
    them new ones before.

    Examples
    --------
    >>> import fastbin as fb
    >>> import numpy as np
    >>> import onnx.parser
    >>> from onnxruntime import InferenceSession
    >>> classifier = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 18]> classifier
    ...     (float[n, 2] x) => (float[n, 2] probabilities) { probabilities = Softmax <axis = 1> (x) }''')
    >>> session = InferenceSession(classifier.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(1000, 2)), rng.random(1000) < 0.3
    >>> scores = fb.export.onnx_scores(session, X)
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores, y).model_
    >>> both = fb.export.append_onnx(classifier, model)
    >>> served = InferenceSession(both.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> (probabilities,) = served.run(["probability"], {"x": X.astype(np.float32)})
    >>> int((probabilities != model.predict(scores)).sum())
    0
    """
    package()
    checked = as_exported(model)
    parts = form_of(checked, outputs, alpha)
    made = _read(classifier_graph)
    graph = made.graph
    if any(each.key == SHA256_KEY for each in made.metadata_props):
        raise InputError("holds a model of fastbin already", "pass the classifier's own graph", argument="classifier_graph")
    versions = _versions(made)
    source = _score_output(graph, output)
    taken = set(_names_in(graph))
    prefix = next(each for each in _numbered("fastbin") if not any(name.startswith(f"{each}/") for name in taken))
    nodes = Nodes(prefix, versions[ML])
    inputs = inputs_of(parts, (None,), **{name: _free(name, taken) for name in ("key", "cell")})
    given = {name: value.name for name, value in inputs.items()}
    names = {name: _free(TENSORS[name], taken) for name in outputs}
    add_answers(nodes, parts, TensorNames(add_scores(nodes, source), **given), names)
    graph.node.extend(nodes.nodes)
    graph.initializer.extend(nodes.constants.values())
    graph.input.extend(inputs.values())
    graph.output.extend(outputs_of(names, (None,)))
    known = {each.domain for each in made.opset_import}
    used = {"" if node.domain == "ai.onnx" else node.domain for node in nodes.nodes}
    made.opset_import.extend(package().helper.make_opsetid(domain, versions[domain]) for domain in sorted(used - known))
    for key, value in metadata_of(checked, names, alpha).items():
        made.metadata_props.add(key=key, value=value)
    return made


def onnx_scores(session: Any, X: Any, *, output: str | None = None) -> Float64s:
    """The scores of label 1 that an onnxruntime session gives, to fit a model to.

    A classifier that is served by onnxruntime scores in float32, and not quite as in Python. Whoever fits to scores from Python
    gets some rows on the other side of an edge when they are served; whoever fits to these scores does not::

        scores = fb.export.onnx_scores(session, X)
        model = fb.UniformMassBinning(n_bins=20).fit(scores, y)
        onnx.save(fb.export.append_onnx("classifier.onnx", model), "calibrated.onnx")

    Parameters
    ----------
    session : onnxruntime.InferenceSession
        The classifier's; also that of a graph from `append_onnx`, whose new outputs do not count as scores.
    X : array-like of shape (n, n_features), data frame, or mapping of the session's inputs to arrays
        Converted to the type of the input, as it is when rows are served. For a graph with an input for each feature, a data
        frame with columns of these names.
    output : str, optional
        As for `append_onnx`.

    Returns
    -------
    float64 (n,)
        What the runtime gives: float32 loses nothing here. With two classes, the score of the greater label, which has the
        second column. In rows that sum to 1 a probability that rounding has carried out of [0, 1], by 2**-16 at most, as sums
        of the votes of a forest are, is moved to the end of it, here and in the graph.

    Raises
    ------
    InputError, InputTypeError
        If the scores cannot be told from other outputs, for more than two classes, for missing inputs, and for an `X` of
        another type or shape than the session takes.

    Notes
    -----
    O(n) besides the run. A graph with ZipMap gives a dictionary for each row, which takes a microsecond or so; without it
    (``zipmap=False``) the scores come as they are.

    Examples
    --------
    >>> import fastbin as fb
    >>> import onnx.parser
    >>> from onnxruntime import InferenceSession
    >>> classifier = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 18]> classifier
    ...     (float[n, 2] x) => (float[n, 2] probabilities) { probabilities = Softmax <axis = 1> (x) }''')
    >>> session = InferenceSession(classifier.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> fb.export.onnx_scores(session, [[0.5, 0.5], [3.0, 0.0]])
    array([0.5       , 0.04742587])
    """
    if not all(callable(getattr(session, name, None)) for name in ("get_inputs", "get_outputs", "run")):
        raise InputTypeError(f"is of type {type(session).__name__}", "pass an onnxruntime.InferenceSession", argument="session")
    ours = _outputs_of_ours(session)
    types = {each.name: each.type for each in session.get_outputs() if each.name not in ours}
    floats = [name for name, kind in types.items() if kind in FLOATS or kind.startswith("seq(map(")]
    name = _the_score_output(types, floats, output, "session")
    feeds = _feeds(session, X)
    try:
        (given,) = session.run([name], feeds)
    except Exception as error:  # onnxruntime's own, which have no common base
        remedy = "pass rows as the classifier was fitted to"
        raise InputError(f"cannot be scored, onnxruntime says: {error}", remedy, argument="X") from error
    return _of_label_1(given, name)


# ------------------------------------------------------------------------------------------------- the classifier's graph


def _read(classifier_graph: Any) -> Any:
    """A copy of the graph."""
    onnx = package()
    from google.protobuf.message import DecodeError

    try:
        if isinstance(classifier_graph, (str, os.PathLike)):
            classifier_graph = onnx.load(os.fspath(classifier_graph))
        elif isinstance(classifier_graph, (bytes, bytearray)):
            classifier_graph = onnx.load_model_from_string(bytes(classifier_graph))
    except DecodeError as reason:
        remedy = "pass a file that a converter wrote"
        raise InputError(f"is not what onnx can read ({reason})", remedy, argument="classifier_graph") from reason
    if not isinstance(classifier_graph, onnx.ModelProto):
        remedy = "pass an onnx.ModelProto, bytes or a path"
        raise InputTypeError(f"is of type {type(classifier_graph).__name__}", remedy, argument="classifier_graph")
    if not classifier_graph.graph.node:
        remedy = "pass what a converter wrote"
        raise InputError("is empty, or no ONNX graph: it has no nodes", remedy, argument="classifier_graph")
    copy = onnx.ModelProto()
    copy.CopyFrom(classifier_graph)
    return copy


def _versions(made: Any) -> dict[str, int]:
    """The versions of the operators that new nodes have: those of the graph, and where it has none, old ones."""
    versions = {"": LEAST_OPSET, ML: 2, **{each.domain: each.version for each in made.opset_import}}
    version = versions.pop("ai.onnx", versions[""])
    if version < LEAST_OPSET:
        problem = f"is of opset {version}, and its operators are to be of {LEAST_OPSET} or newer"
        remedy = f"pass onnx.version_converter.convert_version(classifier_graph, {LEAST_OPSET})"
        raise InputError(problem, remedy, argument="classifier_graph")
    if made.ir_version < LEAST_IR:
        raise InputError(
            f"has ir_version {made.ir_version}, in which constants have to be inputs",
            f"set classifier_graph.ir_version = {USUAL_IR}, which is that of opset {LEAST_OPSET} and leaves all else as it is",
            argument="classifier_graph",
        )
    return {**versions, "": version}


def _score_output(graph: Any, output: str | None) -> ScoreOutput:
    """The tensor with the scores, and its column."""
    outputs = {each.name: each for each in graph.output}
    zipped = {node.output[0]: node for node in graph.node if node.op_type == "ZipMap"}
    types = package().TensorProto
    floats = (types.FLOAT16, types.FLOAT, types.DOUBLE)
    candidates = [name for name, each in outputs.items() if name in zipped or each.type.tensor_type.elem_type in floats]
    name = _the_score_output(outputs, candidates, output, "classifier_graph")
    if name in zipped:
        labels = [label for each in zipped[name].attribute for label in (*each.ints, *each.strings)]
        _require_two(len(labels), name)
        return ScoreOutput(zipped[name].input[0], labels.index(max(labels)))
    kind = outputs[name].type.tensor_type
    sizes = [each.dim_value if each.HasField("dim_value") else None for each in kind.shape.dim]
    if len(sizes) == 1:
        return ScoreOutput(name, None)
    if len(sizes) != 2 or sizes[1] is None:
        problem = f"output {name!r} of classifier_graph is declared with {len(sizes)} dimensions, whose sizes are {sizes}"
        raise InputError(problem, "its shape is to be (n, 2), (n, 1) or (n,)")
    if sizes[1] != 1:
        _require_two(sizes[1], name)
    return ScoreOutput(name, None if sizes[1] == 1 else 1)


def _the_score_output(outputs: Iterable[str], candidates: Sequence[str], output: str | None, place: str) -> str:
    """The output that is asked for, or the only one that can be meant."""
    listed = ", ".join(map(repr, outputs)) or "none"
    if output is None:
        if len(candidates) == 1:
            return candidates[0]
        found = f"{len(candidates)} outputs of floats" if candidates else "no output of floats"
        raise InputError(f"{place} has {found} among {listed}", "name the one with the scores as output=")
    if not isinstance(output, str):
        raise InputTypeError(f"is {output!r}", f"name an output; {place} has {listed}", argument="output", value=output)
    if output not in candidates:
        what = "which does not hold floats" if output in outputs else "which does not exist"
        raise InputError(f"is {output!r}, {what}", f"{place} has {listed}", argument="output", value=output)
    return output


def _require_two(n_classes: int, name: str) -> None:
    if n_classes != 2:
        remedy = "pass a graph of two classes, or one with an output of its own for the class"
        raise InputError(f"output {name!r} has {n_classes} classes, and a model calibrates the scores of one label", remedy)


def add_scores(nodes: Nodes, source: ScoreOutput) -> str:
    """The tensor float64 (n,) that new nodes read from an output."""
    scores = nodes.cast(source.tensor, "DOUBLE")
    if source.column is not None:
        scores = nodes.add("Gather", add_probabilities(nodes, scores), nodes.constant(source.column, np.int64), axis=1)
    return nodes.add("Reshape", scores, nodes.constant([-1], np.int64))


def add_probabilities(nodes: Nodes, given: str) -> str:
    """`probabilities_of` as nodes, for a tensor of float64."""
    one, rounding = nodes.constant(1.0, np.float64), nodes.constant(ROUNDING, np.float64)
    inside = nodes.add("Clip", given, nodes.constant(0.0, np.float64), one)
    beyond = nodes.add("Abs", nodes.add("Sub", given, inside))
    off = nodes.add("Abs", nodes.add("Sub", nodes.add("ReduceSum", given, nodes.constant([1], np.int64), keepdims=1), one))
    near = nodes.add("And", *(nodes.add("LessOrEqual", distance, rounding) for distance in (beyond, off)))
    return nodes.add("Where", near, inside, given)


def probabilities_of(given: Array) -> Array:
    """The probabilities of a runtime (n, k): what rounding has carried out of [0, 1] is moved to its end, all else stays."""
    inside = np.clip(given, 0.0, 1.0)
    with np.errstate(invalid="ignore"):  # infinities of both signs
        off = np.abs(given.sum(axis=1, dtype=np.float64, keepdims=True) - 1.0)
    return np.where((np.abs(given - inside) <= ROUNDING) & (off <= ROUNDING), inside, given)


def _names_in(graph: Any) -> Iterator[str]:
    """Every name in a graph and in the graphs within."""
    for values in (graph.input, graph.output, graph.initializer, graph.value_info):
        yield from (each.name for each in values)
    for node in graph.node:
        yield from (node.name, *node.input, *node.output)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _names_in(inner)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _free(name: str, taken: set[str]) -> str:
    """This name, or one like it that the graph does not have."""
    free = next(each for each in chain((name,), _numbered(f"fastbin_{name}")) if each not in taken)
    taken.add(free)
    return free


# ------------------------------------------------------------------------------------------------- the session


def _outputs_of_ours(session: Any) -> set[str]:
    """The outputs that `append_onnx` has added."""
    properties = session.get_modelmeta().custom_metadata_map if hasattr(session, "get_modelmeta") else {}
    return {name for key, name in properties.items() if key.startswith(OUTPUT_KEY)}


def _feeds(session: Any, X: Any) -> dict[str, Array]:
    """The array that each input gets."""
    inputs = {each.name: each for each in session.get_inputs()}
    listed = ", ".join(map(repr, inputs))
    if isinstance(X, Mapping):
        given = dict(X)
    elif len(inputs) == 1:
        given = dict.fromkeys(inputs, X)
    elif hasattr(X, "columns"):
        given = {name: np.asarray(X[name])[:, None] for name in inputs if name in X.columns}
    else:
        remedy = "pass a mapping of these"
        raise InputTypeError(f"is of type {type(X).__name__}, and the session has the inputs {listed}", remedy, argument="X")
    if missing := [name for name in inputs if name not in given]:
        raise InputError(f"has no {missing[0]!r}", f"the session has the inputs {listed}", argument="X")
    if unknown := [name for name in given if name not in inputs]:
        raise InputError(f"has {unknown[0]!r}, which is not an input", f"the session has the inputs {listed}", argument="X")
    many = len(inputs) > 1
    return {name: _feed(given[name], each, f"X[{name!r}]" if many else "X") for name, each in inputs.items()}


def _feed(values: Any, described: Any, place: str) -> Array:
    """The array for one input, in its type and with its dimensions."""
    try:
        array = np.asarray(values, DTYPES.get(described.type))
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{place} is not what the session takes, {described.type}: {error}", "convert it before") from None
    sizes = list(described.shape)  # numbers, and names of those that may be any
    if sizes and (
        len(sizes) != array.ndim
        or any(isinstance(size, int) and size != own for size, own in zip(sizes, array.shape, strict=True))
    ):
        shown = ", ".join(str(size) if isinstance(size, int) else "n" for size in sizes) + "," * (len(sizes) == 1)
        remedy = "pass a row for each sample, and in it the features that the classifier was fitted to"
        raise InputError(f"{place} has shape {array.shape}, and the session takes ({shown})", remedy)
    return array


def _of_label_1(given: Any, name: str) -> Float64s:
    """The scores out of what a run gives: an array, or a dictionary for each row."""
    if isinstance(given, list):
        if not given:
            return np.zeros(0)
        _require_two(len(given[0]), name)
        label, other = max(given[0]), min(given[0])
        return probabilities_of(np.array([(row[other], row[label]) for row in given], np.float64))[:, 1].copy()
    scores = np.asarray(given)
    if scores.ndim == 2 and scores.shape[1] != 1:
        _require_two(scores.shape[1], name)
        scores = probabilities_of(scores.astype(np.float64))[:, 1]
    if scores.ndim > 2:
        raise InputError(f"output {name!r} has shape {scores.shape}", "it is to be (n, 2), (n, 1) or (n,)")
    return np.ascontiguousarray(scores.reshape(-1), np.float64)
