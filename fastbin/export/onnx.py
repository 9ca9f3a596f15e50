"""Models as ONNX graphs: a guard, a binary search that is written out, and a look into a table.

A round of the search compares the scores with one edge each. Its edges come by Gather from one table, where NaN stands behind
the last edge of a model, which no score lies above: so no round needs to know how many edges there are. Keys are compared after
that, among the edges that equal the score. Scores and edges stay doubles, and nothing is computed with them: they are compared,
and the answers are copied. Curves are computed, in double and each operation by a node of its own.

All operators are of the versions that opset 13 has, and of those alone for whose types onnxruntime has kernels: it compares no
unsigned integers before its version 1.21.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt64s
from fastbin._base.checks import check_choice, check_count
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._core.score import library_version
from fastbin._fit.calibrator import as_model_or_set
from fastbin._fit.rows import GREATEST
from fastbin._model.provenance import in_words
from fastbin.export.form import (
    ALPHA,
    ENDS,
    INTEGERS,
    OF_UNKNOWN,
    Curve,
    Expression,
    Name,
    Number,
    PartSteps,
    Steps,
    check_outputs,
    curve_of,
    digest_of,
    form_of,
    promise_of,
    steps_of,
)
from fastbin.export.vectors import GREATEST_SIZE, JUST_BELOW
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.vector_model import LEAST_OF_MODELS, VectorModel, as_vector_model

# The first with all the operators in their present form.
LEAST_OPSET = 13

# Keys of metadata_props. OUTPUT_KEY and the name of an output ("value") give the name of its tensor ("probability").
VERSION_KEY = "fastbin.version"
SHA256_KEY = "fastbin.sha256"
KIND_KEY = "fastbin.kind"
SCHEME_KEY = "fastbin.scheme"
BINS_KEY = "fastbin.n_bins"
CLASSES_KEY = "fastbin.classes"  # of a vector model, in the order of the columns: a list of JSON
SAMPLES_KEY = "fastbin.n_samples"
PROMISE_KEY = "fastbin.promise"
EVENT_KEY, PROVENANCE_KEY = "fastbin.event", "fastbin.provenance"
ALPHA_KEY = "fastbin.alpha"
OUTPUT_KEY = "fastbin.output."

TENSORS = {"value": "probability", "bin": "bin", **{name: name for name in ENDS}, "decision": "decision"}

LEAST_INT64, GREATEST_INT64 = -(2**63), 2**63 - 1

# What the types of scores are called in Python and here.
DTYPES = {"float64": "DOUBLE", "float32": "FLOAT", "float16": "FLOAT16"}

# What a row without an answer gets, and one of an unknown cell that the pool scores.
NOTHING = {"value": np.nan, **dict.fromkeys(ENDS, np.nan), **INTEGERS}

# The operations of curves.
OPERATORS = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "least": "Min", "greatest": "Max", "exp": "Exp", "log": "Log", "<": "Less",
    "=": "Equal", "choose": "Where",
}  # fmt: skip


def package() -> Any:
    """The onnx package."""
    with needed_for("ONNX graphs", extra="onnx"):
        import onnx as installed
    return installed


def onnx(
    model: BinnedModel | ModelSet | Any, *, outputs: Sequence[str] = ("value",), alpha: float | None = None, opset: int = 18,
    shape: Sequence[int | str] = ("n",), dtype: str = "float64",
) -> Any:  # fmt: skip
    """A model or a set of models as an ONNX graph, which gives the bits of `predict`.

    Parameters
    ----------
    model : BinnedModel, ModelSet, VectorModel or fitted calibrator
    outputs : list of names out of "value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising" and "decision"
        What the graph gives for each row: "value" is the tensor ``probability`` (float64), the others have their own names:
        ``bin`` (int32), and ``lower`` and ``upper`` (float64), the ends of `interval`.
    alpha : float in (0, 1/2], optional
        Of the intervals, which hold in all bins at once; 0.1 where it is left out. Refused where no end of one is asked for.
    opset : int, from 13 on
        The version of the operators; the graph is the same in all.
    shape : list of integers from 1 on and names
        The shape of all inputs and outputs; a name stands for any size. Servers of batches send ("n", 1). For a vector model of
        k classes k is the last size, and this is the shape before it.
    dtype : {"float64", "float32", "float16"}
        The type of the scores that come in. The graph widens them, by which nothing is lost; the outputs keep their types.

    Returns
    -------
    onnx.ModelProto
        Its inputs are ``score`` (`dtype`), for models that split ties ``key`` (uint64), and for sets ``cell`` (int64, or text).
        ``SerializeToString()`` gives its bytes. An ONNX input has one type and one number of dimensions.

    Raises
    ------
    InputError, InputTypeError
        For an unknown output, an opset below 13 or beyond what the onnx package knows, a size or a type that is not named
        above, a model that randomises its values, ...
    MissingDependencyError
        If the onnx package is missing.

    Notes
    -----
    A score that is NaN, infinite or outside the range of the model has no answer: NaN, and bin -1; nothing raises. So has a
    row of an unknown cell, unless the set scores it by its pool: then bin is -1 and the interval [0, 1]. The empty text is
    not a cell, and has no answer.

    Equal scores and keys give equal answers in all rows: models that were fitted with ``ties="whole"`` need no key at all.

    Models without steps are computed in double, operation by operation, and have the output "value" alone. Those that are
    interpolated give the bits of `predict`. Smooth ones differ in the last bits, also between one place in a batch and another,
    as the runtime has its own exponential and logarithm: by less than 1e-12 of the value, and by 1e-14 for subnormal scores,
    where the terms of the log odds are at most 1,000 in size.

    Vector models have values alone, which are those of `predict` but for the last bits. A row with an entry that is NaN or
    outside [0, 1] has NaN for all classes, and sums of rows are not checked.

    Denormal numbers count: leave ``session.set_denormal_as_zero`` off, which is the default of onnxruntime.

    The graph consists of plain operators of the domain ai.onnx (and LabelEncoder of ai.onnx.ml for cells that are texts): the
    search is written out, about 6 nodes for each doubling of the number of steps. ``metadata_props`` hold the version, the
    SHA-256 of the model's file under ``fastbin.sha256``, its promise, its event and how it came about. O(steps) memory;
    O(log steps) time for a row.

    Examples
    --------
    >>> import fastbin as fb
    >>> import numpy as np
    >>> model = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 1, 1]).model_
    >>> graph = fb.export.onnx(model)
    >>> from onnxruntime import InferenceSession
    >>> session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> (probabilities,) = session.run(["probability"], {"score": np.array([0.3, 0.8, np.nan])})
    >>> probabilities[:2] == model.predict([0.3, 0.8])
    array([ True,  True])
    >>> batches = fb.export.onnx(model, shape=("n", 1), dtype="float32")
    >>> session = InferenceSession(batches.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> scores = np.array([[0.3], [0.8]], np.float32)
    >>> session.run(["probability"], {"score": scores})[0][:, 0] == model.predict(scores[:, 0])
    array([ True,  True])
    """
    installed = package()
    helper = installed.helper
    check_count(opset, "opset", LEAST_OPSET, installed.defs.onnx_opset_version())
    sizes, kind = _check_shape(shape), DTYPES[check_choice(dtype, "dtype", tuple(DTYPES))]
    nodes = Nodes()
    names = {name: TENSORS[name] for name in check_outputs(outputs, alpha)}
    score = "score" if kind == "DOUBLE" else nodes.cast("score", "DOUBLE")
    vector = as_vector_model(model)
    if vector is not None:
        checked: BinnedModel | ModelSet | VectorModel = vector
        _refuse_outputs_of_vectors(outputs, alpha)
        sizes = (*sizes, len(vector.classes))
        inputs = {"score": tensor_info("score", kind, sizes)}
        add_vectors(nodes, vector, score, TENSORS["value"])
    else:
        checked = fitted = as_model_or_set(model)
        parts = form_of(fitted, outputs, alpha)
        inputs = inputs_of(parts, sizes, kind, score="score")
        add_answers(nodes, parts, TensorNames(**{name: name for name in inputs} | {"score": score}), names)
    graph = helper.make_graph(
        nodes.nodes, "fastbin", list(inputs.values()), outputs_of(names, sizes), list(nodes.constants.values())
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset)]
    if any(node.domain for node in nodes.nodes):
        opsets.append(helper.make_opsetid("ai.onnx.ml", nodes.ml_version))
    # The oldest version of the file that the opset allows, as runtimes refuse newer ones than they know.
    made = helper.make_model(
        graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets), producer_name="fastbin",
        producer_version=library_version(),
    )  # fmt: skip
    helper.set_model_props(made, metadata_of(checked, names, alpha))
    return made


def _check_shape(shape: Any) -> tuple[int | str, ...]:
    """Sizes of tensors, and names of those that may be any."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise InputTypeError(None, "pass sizes and names, such as ('n', 1)", argument="shape", value=shape)
    for at, size in enumerate(shape):
        if isinstance(size, str):
            if not size.isidentifier() or size in shape[:at]:
                problem = "stands there twice" if size.isidentifier() else "is not a name"
                remedy = "pass another name for each size that may be any"
                raise InputError(f"{problem}: {size!r}", remedy, argument="shape", at=at, value=size)
        else:
            check_count(size, f"shape[{at}]", 1, GREATEST_INT64)
    return tuple(shape)


def inputs_of(
    parts: PartSteps | Curve, shape: Sequence[int | str | None], score_type: str = "DOUBLE", **names: str
) -> dict[str, Any]:
    """The inputs of a graph by what they are ("score", "key", "cell"), under these names; the score only if it is named."""
    types = {"score": score_type} if "score" in names else {}
    if not isinstance(parts, Curve) and parts.needs_key:
        types["key"] = "UINT64"
    if not isinstance(parts, Curve) and parts.keys:
        types["cell"] = "STRING" if parts.has_texts else "INT64"
    return {what: tensor_info(names.get(what, what), kind, shape) for what, kind in types.items()}


def outputs_of(names: Mapping[str, str], shape: Sequence[int | str | None]) -> list[Any]:
    """The outputs of a graph: `names` maps what they are ("value") to the names of their tensors."""
    return [tensor_info(tensor, "INT32" if name in INTEGERS else "DOUBLE", shape) for name, tensor in names.items()]


def tensor_info(name: str, kind: str, shape: Sequence[int | str | None]) -> Any:
    """The name, type and shape of a tensor."""
    installed = package()
    return installed.helper.make_tensor_value_info(name, getattr(installed.TensorProto, kind), shape)


def metadata_of(model: BinnedModel | ModelSet | VectorModel, names: Mapping[str, str], alpha: float | None) -> dict[str, str]:
    """The facts of the model that the file states, as metadata_props."""
    ends = {ALPHA_KEY: repr(float(ALPHA if alpha is None else alpha))} if set(ENDS) & set(names) else {}
    if isinstance(model, VectorModel):
        kinds = {KIND_KEY: "vector", CLASSES_KEY: json.dumps(model.classes)}
    else:
        kinds = {
            KIND_KEY: "set" if model.is_set else model.kind,
            SCHEME_KEY: model.kind if model.is_set else model.scheme,
            BINS_KEY: str(model.n_bins),
        }
    return {
        VERSION_KEY: library_version(),
        SHA256_KEY: digest_of(model),
        **kinds,
        SAMPLES_KEY: str(model.n_samples),
        PROMISE_KEY: promise_of(model),
        EVENT_KEY: model.event,
        PROVENANCE_KEY: in_words(model),
        **ends,
        **{f"{OUTPUT_KEY}{name}": tensor for name, tensor in names.items()},
    }


# ------------------------------------------------------------------------------------------------- nodes


class TensorNames(NamedTuple):
    """Names of the tensors that come in, all of one shape: float64 scores, uint64 keys for ties, keys of cells."""

    score: str
    key: str | None = None
    cell: str | None = None


class Nodes:
    """Nodes and constants, under names that begin with `prefix`."""

    def __init__(self, prefix: str = "fastbin", ml_version: int = 2) -> None:
        self.prefix = prefix
        self.ml_version = ml_version  # of the operators of ai.onnx.ml, which cells with texts need
        self.nodes: list[Any] = []
        self.constants: dict[tuple[Any, ...], Any] = {}

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """The name of the output of a new node."""
        name = f"{self.prefix}/{operator}_{len(self.nodes)}"
        self.nodes.append(
            package().helper.make_node(operator, inputs, [output or name], name=name, domain=domain, **attributes)
        )
        return output or name

    def constant(self, values: Any, dtype: Any) -> str:
        """The name of a constant; equal ones are kept once."""
        array = np.asarray(values, dtype)
        same = (array.dtype.str, array.shape, array.tobytes())
        if same not in self.constants:
            name = f"{self.prefix}/constant_{len(self.constants)}"
            self.constants[same] = package().numpy_helper.from_array(array, name)
        return str(self.constants[same].name)

    def cast(self, tensor: str, type_name: str) -> str:
        return self.add("Cast", tensor, to=getattr(package().TensorProto, type_name))


def add_answers(nodes: Nodes, form: PartSteps | Curve, given: TensorNames, names: Mapping[str, str]) -> None:
    """Nodes that write the answers of a model or a set into the tensors `names[output]`."""
    if isinstance(form, Curve):
        _compute(nodes, form, given.score, names["value"])
        return
    shape = nodes.add("Shape", given.score)
    # Columns of different lengths fail here, where comparing them might stretch one.
    key = None if given.key is None else nodes.add("Reshape", given.key, shape)
    number = known = scored = None
    if given.cell is not None:
        number, known, scored = _model_of_cell(nodes, form, nodes.add("Reshape", given.cell, shape))
    at = _find(nodes, _Models(nodes, form.models, number), given.score, key, scored)
    _look_up(nodes, form.models, at, None if form.unknown is None else known, names)


# ------------------------------------------------------------------------------------------------- the search


def _search(nodes: Nodes, n: int, first: str, is_above: Callable[[str], str], last: str | None = None) -> str:
    """`first` and the number of entries from there on that a row lies above: at most `n`, and these come before all others.

    Where rows have different ends, `last` is an entry that no row of its kind lies above. Else there are 2^k - 1 >= n entries.
    """
    n_rounds = n.bit_length()
    if n_rounds == 0:
        return first
    index = nodes.add("Add", first, nodes.constant(2 ** (n_rounds - 1) - 1, np.int32)) if n_rounds > 1 else first
    for power in reversed(range(n_rounds)):
        above = nodes.cast(is_above(index if last is None else nodes.add("Min", index, last)), "INT32")
        index = nodes.add("Add", index, nodes.add("Mul", above, nodes.constant(2**power, np.int32)) if power else above)
        if power:
            index = nodes.add("Add", index, nodes.constant(-(2 ** (power - 1)), np.int32))
    return index


class _Models:
    """The models that may score a row, and what differs between them, row by row: of one model, constants."""

    def __init__(self, nodes: Nodes, models: Sequence[Steps], number: str | None) -> None:
        self.nodes = nodes
        self.models = models
        self.number = number  # of the model of each row; None for one model

    def each(self, values: Any, dtype: Any) -> str:
        """The entry of the model of each row."""
        if self.number is None:
            return self.nodes.constant(np.asarray(values)[0], dtype)
        return self.nodes.add("Gather", self.nodes.constant(values, dtype), self.number)


def _edges(models: Sequence[Steps]) -> tuple[Float64s, UInt64s]:
    """The edges of all models and their keys, each model's followed by NaN: so an edge has the place of the step below it."""
    edges = [np.append(model.edges, np.nan) for model in models]
    keys = [np.append(model.edge_keys, np.uint64(0)) for model in models]
    return np.concatenate(edges), np.concatenate(keys)


def _find(nodes: Nodes, rows: _Models, score: str, key: str | None, scored: str | None = None) -> str:
    """int32: the place of each row's step among the steps of all models; the number of these for rows without an answer."""
    models = rows.models
    low, high = rows.each([m.low for m in models], np.float64), rows.each([m.high for m in models], np.float64)
    answered = nodes.add("And", nodes.add("GreaterOrEqual", score, low), nodes.add("LessOrEqual", score, high))
    if scored is not None:
        answered = nodes.add("And", answered, scored)
    if any(model.clip for model in models):
        clips = [model.clip or (-GREATEST, GREATEST) for model in models]
        score = nodes.add("Max", score, rows.each([clip[0] for clip in clips], np.float64))
        score = nodes.add("Min", score, rows.each([clip[1] for clip in clips], np.float64))
    edges, keys = _edges(models)
    most = max(len(model.edges) for model in models)
    ends = np.cumsum([len(model.edges) + 1 for model in models])
    if rows.number is None:
        first, last = nodes.constant(0, np.int32), None
        table = np.append(edges, np.full(2 ** most.bit_length() - len(edges), np.nan))
    else:
        first, last = rows.each(np.append(0, ends[:-1]), np.int32), rows.each(ends - 1, np.int32)
        table = edges
    step = _search(
        nodes, most, first,
        lambda index: nodes.add("GreaterOrEqual", score, nodes.add("Gather", nodes.constant(table, np.float64), index)), last,
    )  # fmt: skip
    if key is not None:
        step = _split_ties(nodes, _ties(edges, keys), step, score, key)
    return nodes.add("Where", answered, step, nodes.constant(ends[-1], np.int32))


# ------------------------------------------------------------------------------------------------- ties


class _TiedEdges(NamedTuple):
    """The edges that are told from others of the same score by keys, or from the scores that equal them."""

    # For each place of a step: the edge below it, NaN if no key is compared there; where the keys of this and of all edges of
    # the same score begin and end among `keys`; the place of the step below them, less this beginning.
    edges: Float64s
    first: Int64s
    last: Int64s
    shift: Int64s
    keys: UInt64s  # those of equal edges ascending, and after them one that no key of a row reaches
    most: int  # equal edges


def _ties(edges: Float64s, keys: UInt64s) -> _TiedEdges:
    """The ties among the edges of `_edges`; between models stands NaN, which nothing equals."""
    number = np.arange(len(edges))
    begins = np.append(True, edges[1:] != edges[:-1])
    start = np.maximum.accumulate(np.where(begins, number, 0))
    place = number + np.cumsum(begins) - 1  # among keys
    listed = np.full(place[-1] + 2, ABOVE_EVERY_KEY, np.uint64)
    listed[place] = keys
    compared = keys != 0

    def below(entries: Array, none: float) -> Array:
        """The entry of the edge below each place."""
        return np.append(np.array([none], entries.dtype), entries[:-1])

    return _TiedEdges(
        below(np.where(compared, edges, np.nan), np.nan), below(place[start], 0), below(place + 1, 0),
        below(start - place[start], 0), listed, int((number - start + 1)[compared].max(initial=1)),
    )  # fmt: skip


def _split_ties(nodes: Nodes, ties: _TiedEdges, step: str, score: str, key: str) -> str:
    """The step of each row, given the one that it had if no key were smaller than that of an edge of the same score."""
    first, last, shift = (
        nodes.add("Gather", nodes.constant(column, np.int32), step) for column in (ties.first, ties.last, ties.shift)
    )
    is_tied = nodes.add("Equal", score, nodes.add("Gather", nodes.constant(ties.edges, np.float64), step))
    signed = _in_order(nodes, key)
    keys = nodes.constant((ties.keys ^ np.uint64(2**63)).view(np.int64), np.int64)
    found = _search(
        nodes, ties.most, first,
        lambda index: nodes.add("GreaterOrEqual", signed, nodes.add("Gather", keys, index)), last,
    )  # fmt: skip
    return nodes.add("Where", is_tied, nodes.add("Add", found, shift), step)


def _in_order(nodes: Nodes, key: str) -> str:
    """Keys as signed integers in the same order: 2^63 less, without a step that overflows.

    The greatest key is taken as the one before it, as by `predict`.
    """
    signed = nodes.cast(key, "INT64")  # which is defined to keep the bits
    is_large = nodes.add("Less", signed, nodes.constant(0, np.int64))
    greatest, least = nodes.constant(GREATEST_INT64, np.int64), nodes.constant(LEAST_INT64, np.int64)
    moved = nodes.add("Add", signed, nodes.add("Where", is_large, greatest, least))
    moved = nodes.add("Add", moved, nodes.cast(is_large, "INT64"))
    return nodes.add("Min", moved, nodes.constant(GREATEST_INT64 - 1, np.int64))


# ------------------------------------------------------------------------------------------------- tables


def _look_up(nodes: Nodes, models: Sequence[Steps], at: str, known: str | None, names: Mapping[str, str]) -> None:
    """The columns at these places. `known` is given where the pool scores unknown cells, of which it tells values alone."""
    n_steps = sum(len(model.edges) + 1 for model in models)
    at_known = at
    if known is not None and any(name in OF_UNKNOWN for name in names):
        nothing = nodes.constant(n_steps, np.int32)
        is_pooled = nodes.add("And", nodes.add("Not", known), nodes.add("Less", at, nothing))
        at_known = nodes.add("Where", is_pooled, nodes.constant(n_steps + 1, np.int32), at)
    for name, tensor in names.items():
        more = [NOTHING[name]] + ([OF_UNKNOWN[name]] if known is not None and name in OF_UNKNOWN else [])
        column: Array = np.concatenate([model.columns[name] for model in models])
        table = nodes.constant(np.append(column, np.array(more, column.dtype)), column.dtype)
        nodes.add("Gather", table, at_known if name in OF_UNKNOWN else at, output=tensor)


# ------------------------------------------------------------------------------------------------- curves


def _compute(nodes: Nodes, curve: Curve, score: str, output: str) -> None:
    """The value of a model that has no steps."""
    tensors = {"score": score}
    low, high = nodes.constant(curve.low, np.float64), nodes.constant(curve.high, np.float64)
    answered = nodes.add("And", nodes.add("GreaterOrEqual", score, low), nodes.add("LessOrEqual", score, high))
    if curve.clip:
        least, most = (nodes.constant(end, np.float64) for end in curve.clip)
        tensors["score"] = nodes.add("Min", nodes.add("Max", score, least), most)

    def tensor_of(expression: Expression) -> str:
        if isinstance(expression, Number):
            return nodes.constant(expression.number, np.float64)
        if isinstance(expression, Name):
            return tensors[expression.name]
        return nodes.add(OPERATORS[expression.word], *map(tensor_of, expression.arguments))

    for name, expression in curve.before:
        tensors[name] = tensor_of(expression)
    if curve.pieces is not None:
        at, edges = tensor_of(curve.pieces.at), curve.pieces.edges
        padded = np.append(edges, np.full(2 ** len(edges).bit_length() - 1 - len(edges), np.nan))
        piece = _search(
            nodes, len(edges), nodes.constant(0, np.int32),
            lambda index: nodes.add("GreaterOrEqual", at, nodes.add("Gather", nodes.constant(padded, np.float64), index)),
        )  # fmt: skip
        for name, column in curve.pieces.columns.items():
            tensors[name] = nodes.add("Gather", nodes.constant(column, np.float64), piece)
    for name, expression in curve.after:
        tensors[name] = tensor_of(expression)
    nodes.add("Where", answered, tensor_of(curve.value), nodes.constant(np.nan, np.float64), output=output)


# ------------------------------------------------------------------------------------------------- cells


def _model_of_cell(nodes: Nodes, form: PartSteps, cell: str) -> tuple[str, str, str | None]:
    """int32 number of the model of each row, whether its cell is known, and whether a model scores it; None where one always
    does. The empty text is not a cell; it has a place behind all keys, as the pool would score others."""
    is_named = None
    if form.has_texts:
        position = nodes.cast(_place_of_text(nodes, [*form.keys, ""], cell), "INT32")
        is_named = nodes.add("Less", position, nodes.constant(len(form.keys), np.int32))
        known = nodes.add("And", is_named, nodes.add("GreaterOrEqual", position, nodes.constant(0, np.int32)))
    else:
        position, known = _place_of_integer(nodes, np.array(form.keys, np.int64), cell)
    number = nodes.add("Gather", nodes.constant(np.append(form.model_of_key, 0), np.int32), position)
    if form.unknown is None:
        return number, known, known
    return nodes.add("Where", known, number, nodes.constant(form.unknown, np.int32)), known, is_named


def _place_of_text(nodes: Nodes, keys: Sequence[int | str], cell: str) -> str:
    """int64, -1 for unknown texts, which Gather takes as the last. Plain operators have no order of texts."""
    if nodes.ml_version == 1:
        form: dict[str, Any] = {"classes_strings": list(keys)}
    else:
        form = {"keys_strings": list(keys), "values_int64s": list(range(len(keys)))}
    return nodes.add("LabelEncoder", cell, domain="ai.onnx.ml", default_int64=-1, **form)


def _place_of_integer(nodes: Nodes, keys: Int64s, cell: str) -> tuple[str, str]:
    """The greatest key up to the cell, or the first; the cell is known if it equals it."""
    last = len(keys) - 1
    padded = np.append(keys[1:], np.full(2 ** last.bit_length() - 1 - last, GREATEST_INT64))
    place = _search(
        nodes, last, nodes.constant(0, np.int32),
        lambda index: nodes.add("GreaterOrEqual", cell, nodes.add("Gather", nodes.constant(padded, np.int64), index)),
    )  # fmt: skip
    place = nodes.add("Min", place, nodes.constant(last, np.int32))  # the greatest integer lies above the padding too
    return place, nodes.add("Equal", cell, nodes.add("Gather", nodes.constant(keys, np.int64), place))


# ------------------------------------------------------------------------------------------------- vectors


def _refuse_outputs_of_vectors(outputs: Sequence[str], alpha: float | None) -> None:
    if check_outputs(outputs, alpha) != ("value",):
        at = next(at for at, name in enumerate(outputs) if name != "value")
        problem = f"is {outputs[at]!r}, and a vector model has values alone"
        raise InputError(problem, "ask for 'value'", argument="outputs", at=at, value=outputs[at])


class _Rows:
    """Operations on the last axis of tensors of doubles: that of the classes."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.last = nodes.constant([-1], np.int64)

    def __call__(self, operator: str, *arguments: str | float | Float64s, output: str = "") -> str:
        """A node; numbers become constants."""
        names = (each if isinstance(each, str) else self.nodes.constant(each, np.float64) for each in arguments)
        return self.nodes.add(operator, *names, output=output)

    def total(self, tensor: str) -> str:
        return self.nodes.add("ReduceSum", tensor, self.last, keepdims=1)

    def greatest(self, tensor: str, count: int = 1) -> tuple[str, str]:
        """The greatest entries of a row, falling, and their places; the lowest place of equal ones.

        ReduceMax is another operator from opset 18 on.
        """
        values = self.nodes.add("TopK", tensor, self.nodes.constant([count], np.int64), axis=-1)
        places = f"{values}/places"
        self.nodes.nodes[-1].output.append(places)
        return values, places


def add_vectors(nodes: Nodes, model: VectorModel, score: str, output: str) -> None:
    """The map of csrc/src/vector.c; rows with an entry outside [0, 1] have NaN in all columns."""
    vector, rows, k = model.vector, _Rows(nodes), len(model.classes)
    is_chance = nodes.add("And", rows("GreaterOrEqual", score, 0.0), rows("LessOrEqual", score, 1.0))
    answered = rows("Equal", rows.total(nodes.cast(is_chance, "DOUBLE")), float(k))
    given = rows("Where", is_chance, score, 1.0)
    z = rows("Log", rows("Max", given, vector.least))
    u = rows("Add", rows("Mul", z, vector.slopes), vector.intercepts)
    if vector.of_models > 0.0:
        logs = rows("Log", rows("Max", _of_models(nodes, model, given), LEAST_OF_MODELS))
        u = rows("Add", u, rows("Mul", logs, vector.of_models))
    if vector.mixing is not None:
        u = rows("Add", u, rows("MatMul", z, np.ascontiguousarray(vector.mixing.T)))
    powers = rows("Exp", rows("Max", rows("Sub", u, rows.greatest(u)[0]), -GREATEST_SIZE))
    share = rows("Div", 1.0 - vector.of_priors, rows.total(powers))
    values = rows("Add", rows("Mul", powers, share), vector.of_priors * vector.priors)
    if vector.keep_top:
        values = _keep_top(rows, values, rows.greatest(given)[1], k)
    rows("Where", answered, values, np.nan, output=output)


def _of_models(nodes: Nodes, model: VectorModel, score: str) -> str:
    """The values that the models of the classes give to their columns: of steps, all columns by one search."""
    models = list(model.models.values())
    if all(each.kind == "step" for each in models):
        forms = [steps_of(each).models[0] for each in models]
        numbers = _Models(nodes, forms, nodes.constant(np.arange(len(forms)), np.int32))
        values = f"{nodes.prefix}/of_models"
        _look_up(nodes, forms, _find(nodes, numbers, score, None), None, {"value": values})
        return values
    columns = []
    for at, each in enumerate(models):
        column = nodes.add("Gather", score, nodes.constant([at], np.int64), axis=-1)
        columns.append(f"{nodes.prefix}/of_model_{at}")
        form = steps_of(each) if each.kind == "step" else curve_of(each)
        add_answers(nodes, form, TensorNames(column), {"value": columns[-1]})
    return nodes.add("Concat", *columns, axis=-1)


def _keep_top(rows: _Rows, values: str, top: str, k: int) -> str:
    """The level of the top column is the greatest mean of its value and of some others, of the greatest ones first.

    All are taken less the value of the top column.
    """
    held = rows.nodes.add("GatherElements", values, top, axis=-1)
    above = rows("Max", rows("Sub", values, held), 0.0)
    sums = rows.nodes.add("CumSum", rows.greatest(above, k)[0], rows.nodes.constant(-1, np.int64))
    level = rows("Add", held, rows.greatest(rows("Div", sums, np.arange(2.0, k + 2.0)))[0])
    is_top = rows.nodes.add("Equal", rows.nodes.constant(np.arange(k), np.int64), top)
    # The double before the level. By a factor that is 1 in single precision onnxruntime does not multiply.
    below = rows("Sub", level, rows("Mul", level, 1.0 - JUST_BELOW))
    return rows("Where", is_top, level, rows("Min", values, below))
