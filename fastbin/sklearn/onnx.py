"""A classifier that scores as it will be served, by ONNX Runtime, and `CalibratedClassifier` in sklearn-onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from fastbin._base.array_types import Array
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.form import Curve, description_of, form_of
from fastbin.export.onnx import LEAST_OPSET, Nodes, TensorNames, add_answers, add_vectors
from fastbin.export.onnx_classifiers import ScoreOutput, add_probabilities, add_scores, probabilities_of
from fastbin.sklearn.calibrated_classifier import CalibratedClassifier, estimator_of
from fastbin.vector_model import VectorModel

if TYPE_CHECKING:
    from typing_extensions import Self

ALIAS = "FastbinCalibratedClassifier"

NO_LABEL = np.iinfo(np.int64).min  # of a row without an answer in a graph; of classes that are texts it is empty


class OnnxClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that scikit-learn trains, and that scores as it will be served: by ONNX Runtime, from float32.

    The scores of a runtime differ from those of Python in the last digits of float32, which carries rows across the edges of
    bins. A `CalibratedClassifier` of this estimator is fitted to the scores of the runtime, so its certificate is about what
    is served; `register_onnx` lets sklearn-onnx convert the whole.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``, of features that are numbers, and of a type that sklearn-onnx converts; pipelines, too.
        ``None``: ``LogisticRegression()``. A copy is trained; one in a ``sklearn.frozen.FrozenEstimator`` is taken as it is.

    Attributes
    ----------
    estimator_ : classifier
        The trained one.
    classes_ : array of shape (n_classes,)
    graph_ : bytes
        The trained classifier as an ONNX graph, with the input ``X`` (float32).
    n_features_in_ : int

    Notes
    -----
    It needs skl2onnx and onnxruntime. Where a runtime takes sums in another order for one row than for many, scores of the
    same row still differ in the last digits. A copy by pickle or skops keeps the graph.

    Examples
    --------
    >>> import fastbin as fb
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> fb.sklearn.CalibratedClassifier(fb.sklearn.OnnxClassifier(RandomForestClassifier()))
    CalibratedClassifier(estimator=OnnxClassifier(estimator=RandomForestClassifier()))
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Train the estimator, and convert it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            For the fit of the estimator, which must take them.
        **fit_params
            For the fit of the estimator.

        Returns
        -------
        self

        Raises
        ------
        InputTypeError
            For an estimator without ``predict_proba``.
        MissingDependencyError
            If skl2onnx is missing.
        """
        with needed_for("classifiers in ONNX Runtime", package="skl2onnx"):
            from skl2onnx import to_onnx
            from skl2onnx.common.data_types import FloatTensorType
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        fitted = clone(estimator_of(self.estimator)).fit(X, y, **fit_params)
        if not hasattr(fitted, "predict_proba"):
            problem = f"is a {type(fitted).__name__}, which has no predict_proba"
            raise InputTypeError(problem, "pass a classifier that has it", argument="estimator")
        types = [("X", FloatTensorType([None, np.shape(X)[1]]))]
        inner = _thawed(fitted)
        graph = to_onnx(inner, initial_types=types, options={id(inner): {"zipmap": False}})
        self.estimator_, self.classes_, self.n_features_in_ = fitted, fitted.classes_, np.shape(X)[1]
        self.graph_: bytes = graph.SerializeToString()
        self._session: Any = None
        return self

    def predict_proba(self, X: Any) -> Array:
        """The probabilities that the runtime gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Converted to float32, as it is when rows are served; finite.

        Returns
        -------
        float32 (n_samples, n_classes)
            In the order of `classes_`. A probability that rounding has carried out of [0, 1], by 2**-16 at most, is moved to
            the end of it: runtimes add the votes of a forest in float32.
        """
        check_is_fitted(self)
        rows = check_array(X, dtype=np.float32, input_name="X")
        if self._session is None:
            with needed_for("classifiers in ONNX Runtime", extra="onnx"):
                from onnxruntime import InferenceSession
            self._session = InferenceSession(self.graph_, providers=["CPUExecutionProvider"])
        (probabilities,) = self._session.run([self._session.get_outputs()[1].name], {"X": rows})
        return probabilities_of(np.asarray(probabilities))

    def predict(self, X: Any) -> Array:
        """The class of the largest probability; of equal ones, the first in `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {**state, "_session": None} if "_session" in state else state


def _thawed(estimator: Any) -> Any:
    """The classifier itself, also of a frozen one."""
    return _thawed(estimator.estimator) if isinstance(estimator, FrozenEstimator) else estimator


# ------------------------------------------------------------------------------------------------- sklearn-onnx


def register_onnx() -> None:
    """Let sklearn-onnx convert a `CalibratedClassifier` of an `OnnxClassifier`: ``skl2onnx.to_onnx(clf, X[:1])``.

    The graph takes ``X`` (float32) and gives ``label`` and ``probabilities`` (float64, of shape (n, n_classes)): to the bit
    what `predict` and `predict_proba` give for two classes; for smooth calibrators, such as `PlattScaling`, and for more
    classes, of a fit with ``multiclass="vector"``, what they give but for a relative error of 1e-12. A row without an answer,
    where Python raises, has the probabilities NaN and the label -2**63, or "" of classes that are texts. The description of the
    second names the digest of ``clf.model_``, its promise and its event, and `fastbin inspect` shows it.

    Raises
    ------
    MissingDependencyError
        If skl2onnx is missing.

    Notes
    -----
    ``to_onnx`` raises an InputError for a classifier that scores in Python (the bins of its calibrator were placed and counted
    on other scores than the runtime gives), for features that are not float32, after other steps of a pipeline (which belong
    inside), for more than two classes but by vectors, for a calibrator that compares keys, and for operators older than opset
    13. There is no ZipMap, which has single precision. Once in a process is enough; again changes nothing.

    Examples
    --------
    >>> import fastbin as fb
    >>> fb.sklearn.register_onnx()  # doctest: +SKIP
    """
    with needed_for("conversions by sklearn-onnx", package="skl2onnx"):
        from skl2onnx import update_registered_converter
    update_registered_converter(
        CalibratedClassifier, ALIAS, _declare_shapes, _convert, parser=_parse, options={"zipmap": [False]}
    )  # fmt: skip


def _parse(scope: Any, classifier: CalibratedClassifier, inputs: Any, custom_parsers: Any = None) -> Any:
    """The operators of the classifier within, and one behind it, which gets its probabilities."""
    from skl2onnx._parse import parse_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

    check_is_fitted(classifier)
    runtime = _thawed(classifier.estimator_)
    if not isinstance(runtime, OnnxClassifier):
        raise InputError(
            f"scores by {type(runtime).__name__} in Python, and its bins are not those of the scores of a runtime",
            "fit CalibratedClassifier(OnnxClassifier(estimator)), and convert that", argument="model",
        )  # fmt: skip
    if len(classifier.classes_) != 2 and not isinstance(classifier.model_, VectorModel):
        problem = f"has {len(classifier.classes_)} classes and multiclass={classifier.multiclass!r}"
        raise InputError(problem, "fit with multiclass='vector', whose graph takes any number of classes", argument="model")
    if [each.raw_name for each in inputs] != [each.raw_name for each in scope.input_variables]:
        remedy = "put the pipeline into the OnnxClassifier, so that all of it runs where the calibrator was fitted"
        raise InputError("stands behind other steps", remedy, argument="model")
    if len(inputs) != 1 or not isinstance(inputs[0].type, FloatTensorType):
        remedy = "pass X[:1].astype(numpy.float32), which is what the calibrator was fitted to"
        raise InputError(f"takes {inputs[0].type!r} as input", remedy, argument="model")
    names = _labels_of(classifier)
    inner = _thawed(runtime.estimator_)
    scope.add_options(id(inner), {"zipmap": False})
    within = parse_sklearn(scope, inner, inputs, custom_parsers=custom_parsers)
    for each in within:
        each.init_status(is_leaf=False)
    operator = scope.declare_local_operator(ALIAS, classifier)
    operator.inputs = within[1:]
    label_type = Int64TensorType if names.dtype == np.int64 else StringTensorType
    operator.outputs.append(scope.declare_local_variable("label", label_type()))
    operator.outputs.append(scope.declare_local_variable("probabilities", DoubleTensorType()))
    return operator.outputs


def _labels_of(classifier: CalibratedClassifier) -> Array:
    """The classes as ONNX has them: int64, or texts."""
    classes = classifier.classes_
    return np.asarray(classes.astype(np.int64 if classes.dtype.kind in "biuf" else object))


def _declare_shapes(operator: Any) -> None:
    """One label and the probabilities of each row; the facts of the model stand with the latter."""
    label, probabilities = (each.type for each in operator.outputs)
    label.shape, probabilities.shape = [None], [None, len(operator.raw_operator.classes_)]
    probabilities.doc_string = "\n".join(description_of(operator.raw_operator.model_))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes behind the probabilities of the classifier."""
    classifier = operator.raw_operator
    opset = container.target_opset_any_domain("")
    if opset < LEAST_OPSET:
        raise InputError(f"is {opset}", f"pass {LEAST_OPSET} or newer", argument="target_opset", value=opset)
    label, probabilities = (each.full_name for each in operator.outputs)
    nodes = Nodes(scope.get_unique_operator_name("fastbin"))
    if isinstance(classifier.model_, VectorModel):
        scores = add_probabilities(nodes, nodes.cast(operator.inputs[0].full_name, "DOUBLE"))
        add_vectors(nodes, classifier.model_, scores, probabilities)
        number = nodes.add("ArgMax", probabilities, axis=-1, keepdims=0)
    else:
        number = _add_columns_of_two(nodes, classifier, operator.inputs[0].full_name, probabilities)
    names = _labels_of(classifier)
    last = nodes.constant(len(names), np.int64)
    has_none = nodes.add("IsNaN", nodes.add("Gather", probabilities, nodes.constant(0, np.int64), axis=-1))
    names = np.append(names, NO_LABEL if names.dtype == np.int64 else "")
    nodes.add("Gather", nodes.constant(names, names.dtype), nodes.add("Where", has_none, last, number), output=label)
    container.nodes.extend(nodes.nodes)
    container.initializers.extend(nodes.constants.values())
    container.node_domain_version_pair_sets.add(("", opset))


def _add_columns_of_two(nodes: Nodes, classifier: CalibratedClassifier, scores: str, probabilities: str) -> str:
    """The probabilities of two classes from the scores of both; the number of the larger one, of equal ones the first."""
    form = form_of(classifier.model_, ("value",), None)
    if not isinstance(form, Curve) and form.needs_key:
        raise InputError("compares a key for each row", "fit a calibrator with ties='whole'", argument="model")
    score = add_scores(nodes, ScoreOutput(scores, classifier._column))
    positive = f"{nodes.prefix}/positive"
    add_answers(nodes, form, TensorNames(score), {"value": positive})
    columns = [nodes.add("Sub", nodes.constant(1.0, np.float64), positive), positive][:: 1 if classifier._column else -1]
    axis = nodes.constant([1], np.int64)
    nodes.add("Concat", *(nodes.add("Unsqueeze", column, axis) for column in columns), axis=1, output=probabilities)
    return nodes.cast(nodes.add("Greater", *columns[::-1]), "INT64")
