"""Models as ONNX graphs, and what such a file says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastbin._base.checks import check_count
from fastbin._base.dependencies import needed_for
from fastbin._core.score import library_version
from fastbin._fit.calibrator import as_model_or_set
from fastbin._model.provenance import in_words
from fastbin.export.curves import Curve, form_of
from fastbin.export.onnx_nodes import PURPOSE, Nodes, TensorNames, add_answers
from fastbin.export.steps import (
    ALPHA,
    ENDS,
    SetSteps,
    Steps,
    digest_of,
    promise_of,
)
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# The first with all the operators in their present form.
LEAST_OPSET = 13

# Keys of metadata_props. OUTPUT_KEY and the name of an output ("value") give the name of its tensor ("probability").
VERSION_KEY = "fastbin.version"
SHA256_KEY = "fastbin.sha256"
KIND_KEY = "fastbin.kind"
SCHEME_KEY = "fastbin.scheme"
BINS_KEY = "fastbin.n_bins"
SAMPLES_KEY = "fastbin.n_samples"
PROMISE_KEY = "fastbin.promise"
EVENT_KEY, PROVENANCE_KEY = "fastbin.event", "fastbin.provenance"
ALPHA_KEY = "fastbin.alpha"
OUTPUT_KEY = "fastbin.output."

TENSORS = {"value": "probability", "bin": "bin", "lower": "lower", "upper": "upper"}


def onnx(
    model: BinnedModel | ModelSet | Any, *, outputs: Sequence[str] = ("value",), alpha: float | None = None, opset: int = 18,
    column: bool = False,
) -> Any:  # fmt: skip
    """A model or a set of models as an ONNX graph, which gives the bits of `predict`.

    Parameters
    ----------
    model : BinnedModel, ModelSet or fitted calibrator
    outputs : list of names out of "value", "bin", "lower" and "upper"
        What the graph gives for each row: "value" is the tensor ``probability`` (float64), the others have their own names:
        ``bin`` (int32), and ``lower`` and ``upper`` (float64), the ends of `interval`.
    alpha : float in (0, 1/2], optional
        Of the intervals, which hold in all bins at once; 0.1 where it is left out. Refused without "lower" and "upper".
    opset : int, from 13 on
        The version of the operators; the graph is the same in all.
    column : bool
        Whether tensors have shape (n, 1) in place of (n,). An ONNX input has one number of dimensions.

    Returns
    -------
    onnx.ModelProto
        Its inputs are ``score`` (float64), for models that split ties ``key`` (uint64), and for sets ``cell`` (int64, or text).
        ``SerializeToString()`` gives its bytes. An ONNX input has one type, so float32 scores are to be cast before, by which
        nothing is lost; `append_onnx` does so in the graph.

    Raises
    ------
    InputError, InputTypeError
        For an unknown output, an opset below 13 or beyond what the onnx package knows, a model that randomises its values, ...
    MissingDependencyError
        If the onnx package is missing.

    Notes
    -----
    A score that is NaN, infinite or outside the range of the model has no answer: NaN, and bin -1; nothing raises. So has a
    row of an unknown cell, unless the set scores it by its pool: then bin is -1 and the interval [0, 1]. The empty text is no
    cell, and has no answer.

    Equal scores and keys give equal answers in all rows: models that were fitted with ``ties="whole"`` need no key at all.

    Models without steps are computed in double, operation by operation, and have the output "value" alone. Those that are
    interpolated give the bits of `predict`. Smooth ones differ in the last bits, also between one place in a batch and another,
    as the runtime has its own exponential and logarithm: by less than 1e-12 of the value, and by 1e-14 for subnormal scores.

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
    """
    with needed_for(PURPOSE, extra="onnx"):
        from onnx import defs, helper

    check_count(opset, "opset", LEAST_OPSET, defs.onnx_opset_version())
    checked = as_model_or_set(model)
    parts = form_of(checked, outputs, alpha)
    shape = ("n", 1) if column else ("n",)
    inputs = inputs_of(parts, shape, score="score")
    names = {name: TENSORS[name] for name in outputs}
    nodes = Nodes()
    add_answers(nodes, parts, TensorNames(**{name: name for name in inputs}), names)
    graph = helper.make_graph(
        nodes.nodes, "fastbin", list(inputs.values()), outputs_of(names, shape), list(nodes.constants.values())
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset)]
    if any(node.domain for node in nodes.nodes):
        opsets.append(helper.make_opsetid("ai.onnx.ml", nodes.ml_version))
    # Of all that the opset allows the oldest version of the file, as runtimes refuse newer ones than they know.
    made = helper.make_model(
        graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets), producer_name="fastbin",
        producer_version=library_version(),
    )  # fmt: skip
    helper.set_model_props(made, metadata_of(checked, names, alpha))
    return made


def inputs_of(parts: Steps | SetSteps | Curve, shape: Sequence[int | str | None], **names: str) -> dict[str, Any]:
    """The inputs of a graph by what they are ("score", "key", "cell"), under these names; the score only if it is named."""
    with needed_for(PURPOSE, extra="onnx"):
        from onnx import TensorProto, helper

    types = {"score": TensorProto.DOUBLE} if "score" in names else {}
    if not isinstance(parts, Curve) and parts.needs_key:
        types["key"] = TensorProto.UINT64
    if isinstance(parts, SetSteps):
        types["cell"] = TensorProto.STRING if isinstance(parts.keys[0], str) else TensorProto.INT64
    return {what: helper.make_tensor_value_info(names.get(what, what), kind, shape) for what, kind in types.items()}


def outputs_of(names: Mapping[str, str], shape: Sequence[int | str | None]) -> list[Any]:
    """The outputs of a graph: `names` maps what they are ("value") to the names of their tensors."""
    with needed_for(PURPOSE, extra="onnx"):
        from onnx import TensorProto, helper

    return [
        helper.make_tensor_value_info(tensor, TensorProto.INT32 if name == "bin" else TensorProto.DOUBLE, shape)
        for name, tensor in names.items()
    ]


def metadata_of(model: BinnedModel | ModelSet, names: Mapping[str, str], alpha: float | None) -> dict[str, str]:
    """What the file says about the model, as metadata_props."""
    ends = {ALPHA_KEY: repr(float(ALPHA if alpha is None else alpha))} if set(ENDS) & set(names) else {}
    return {
        VERSION_KEY: library_version(),
        SHA256_KEY: digest_of(model),
        KIND_KEY: "set" if model.is_set else model.kind,
        SCHEME_KEY: model.kind if model.is_set else model.scheme,
        BINS_KEY: str(model.n_bins),
        SAMPLES_KEY: str(model.n_samples),
        PROMISE_KEY: promise_of(model),
        EVENT_KEY: model.event,
        PROVENANCE_KEY: in_words(model),
        **ends,
        **{f"{OUTPUT_KEY}{name}": tensor for name, tensor in names.items()},
    }
