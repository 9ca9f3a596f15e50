"""The scores that a classifier gives: its probabilities, or else its decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.classes import check_matrix
from fastbin._base.errors import InputError, InputTypeError


def has_probabilities(estimator: Any) -> bool:
    """Whether the scores of a fitted classifier are probabilities; else they are decisions, of any size."""
    if hasattr(estimator, "predict_proba"):
        return True
    if hasattr(estimator, "decision_function"):
        return False
    problem = f"is a {type(estimator).__name__}, which has neither predict_proba nor decision_function"
    raise InputTypeError(problem, "pass a classifier that has one of them", argument="estimator")


def scores_of(estimator: Any, X: Any, n_classes: int, column: int = 1) -> Array:
    """What a fitted classifier says about rows.

    Parameters
    ----------
    estimator : fitted classifier
    X : rows, as it takes them
    n_classes : int
    column : int
        Of two classes, the one whose scores these are.

    Returns
    -------
    (n,) for two classes, of one of them, its probability or its decision; else (n, n_classes), probabilities
        Decisions about more than two classes become probabilities by a softmax.
    """
    is_probability = has_probabilities(estimator)
    scores = np.asarray(estimator.predict_proba(X) if is_probability else estimator.decision_function(X))
    if n_classes == 2 and scores.ndim == 1:
        return scores if column == 1 else -scores
    if scores.ndim != 2 or scores.shape[1] != n_classes:
        name = "predict_proba" if is_probability else "decision_function"
        remedy = "it must give one column for each"
        raise InputError(f"{name} of the estimator has shape {scores.shape}, and there are {n_classes} classes", remedy)
    if n_classes == 2:
        return scores[:, column]
    matrix = check_matrix(scores, "probabilities" if is_probability else "logits")
    return scores if scores.dtype == np.float32 and is_probability else matrix


def floors_of(columns: Int64s, weights: Array | None, n_classes: int) -> Float64s:
    """float64 (n_classes,): what each class is sure to have of its n calibration rows, its smoothed share divided by n.

    The share of a class with c of the n rows is (c + 1) / (n + n_classes), so that no floor is 0.
    """
    counts = np.bincount(columns, weights, n_classes)
    n = len(columns) if weights is None or weights.dtype.kind == "f" else counts.sum()  # integers repeat rows
    return (counts * (n / counts.sum()) + 1.0) / (n + n_classes) / n


def fill_up(probabilities: Float64s, columns: Array, scores: Array, floors: Float64s) -> Float64s:
    """Rows that sum to 1, from the probability of one class each: the others share the rest in proportion to score and floor.

    Parameters
    ----------
    probabilities : float64 (n,)
    columns : int (n,)
        The class of each.
    scores : float (n, k)
        Not negative.
    floors : float64 (k,)
        Positive: a class of score 0 is rarely true, and not never.

    Returns
    -------
    float64 (n, k)
        No entry is 0, unless a probability that is given is 0 or 1.
    """
    rows = np.arange(len(columns))
    shares = scores + floors
    shares[rows, columns] = 0.0
    shares *= ((1.0 - probabilities) / shares.sum(axis=1))[:, np.newaxis]
    shares[rows, columns] = probabilities
    return shares
