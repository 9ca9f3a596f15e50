"""Parts of the rows of a fit: what is held out, and folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from fastbin._base.array_types import Array, Int64s
from fastbin._base.errors import InputError, InputTypeError

DEFAULT_SHARE = 0.25

# numpy.random draws without replacement from populations of this size and no larger.
MOST_REPETITIONS = 10**9 - 1


class Subset(NamedTuple):
    """Some of the rows, by their positions, ascending, with the weights that they have in it; ``None`` where all are 1."""

    at: Int64s
    weights: Array | None

    @classmethod
    def of_all(cls, weights: Array | None, n_rows: int) -> Subset:
        """All rows but those of weight 0, which are as if they were not there."""
        if weights is None:
            return cls(np.arange(n_rows), None)
        at = np.flatnonzero(weights)
        left = weights[at]
        return cls(at, None if (left == 1).all() else left)

    def take(self, at: Int64s) -> Subset:
        """Those of its rows that are at these positions."""
        return Subset(at, None if self.weights is None else self.weights[np.searchsorted(self.at, at)])


def draw_held_out(
    whole: Subset, holdout: float | int, draws: np.random.RandomState, frequencies: bool
) -> tuple[Subset, Subset]:
    """A training part and a part held out, drawn without looking at anything but the number of samples.

    Parameters
    ----------
    whole : Subset
    holdout : float or int
        The share of the samples that is held out, or their number.
    draws : RandomState
    frequencies : bool
        Whether weights are repetitions: these are drawn one by one, so that a row may have some in both parts. To draw rows
        would hold out all of a repeated row or none, and what is held out were no sample of the population.

    Returns
    -------
    train, held : Subset
    """
    if not frequencies or whole.weights is None:
        n_held = _n_held(holdout, len(whole.at), "rows")
        order = draws.permutation(len(whole.at))
        train, held = np.sort(order[n_held:]), np.sort(order[:n_held])
        return whole.take(whole.at[train]), whole.take(whole.at[held])
    n_samples = int(whole.weights.sum())
    if n_samples > MOST_REPETITIONS:
        problem = f"has a sum of {n_samples}, and at most {MOST_REPETITIONS} repetitions can be divided by a draw"
        remedy = "fit the classifier to a part of them, and pass FrozenEstimator(classifier) with the others"
        raise InputError(problem, remedy, argument="sample_weight")
    generator = np.random.default_rng(draws.randint(2**31 - 1))
    n_held = _n_held(holdout, n_samples, "samples")
    held_weights = generator.multivariate_hypergeometric(whole.weights, n_held, method="marginals")
    return _repeated(whole.at, whole.weights - held_weights), _repeated(whole.at, held_weights)


def _repeated(at: Int64s, weights: Array) -> Subset:
    return Subset(at[weights > 0], weights[weights > 0])


def _n_held(holdout: float | int, n_samples: int, word: str) -> int:
    n_held = int(holdout) if isinstance(holdout, Integral) else max(1, round(float(holdout) * n_samples))
    if n_held >= n_samples:
        remedy = "leave some to train the classifier"
        raise InputError(f"is {holdout}, and there are {n_samples} {word}", remedy, argument="holdout", value=holdout)
    return n_held


def check_holdout(holdout: Any) -> float | int:
    """A share of the rows, or their number; a quarter by default."""
    if holdout is None:
        return DEFAULT_SHARE
    if isinstance(holdout, bool) or not isinstance(holdout, (Integral, float, np.floating)):
        remedy = "pass a share such as 0.25, or the number of rows to hold out"
        raise InputTypeError(None, remedy, argument="holdout", value=holdout)
    if isinstance(holdout, Integral):
        if holdout < 1:
            remedy = "pass a share such as 0.25, or a number of rows from 1 on"
            raise InputError(f"is {holdout}", remedy, argument="holdout", value=holdout)
        return int(holdout)
    if not 0.0 < float(holdout) < 1.0:
        raise InputError(f"is {holdout}", "as a share it is between 0 and 1, such as 0.25", argument="holdout", value=holdout)
    return float(holdout)


def folds_of(rows: Any, y: Array, at: Int64s, cv: Any, **params: Any) -> Iterator[tuple[Int64s, Int64s]]:
    """The training and the test part of each fold, as ascending positions.

    Parameters
    ----------
    rows : (n_rows, ...)
        What a splitter is shown: those at `at`.
    y : (n,)
        The classes of all rows that were given.
    at : int64 (n_rows,)
        The positions of the rows that count.
    cv : int, splitter, or list of pairs of positions among all that were given
    **params
        What a splitter gets besides.
    """
    if isinstance(cv, list):
        for pair in cv:
            train, test = (np.arange(len(y))[part] for part in pair)
            yield at[np.isin(at, train)], at[np.isin(at, test)]
        return
    for train, test in check_cv(cv, y[at], classifier=True).split(rows, y[at], **params):
        yield at[np.sort(train)], at[np.sort(test)]


def check_cv_argument(cv: Any) -> Any:
    """A number of folds, a splitter, or the parts themselves; what other libraries mean by other values is said by name."""
    if isinstance(cv, str) and cv == "prefit":
        remedy = "pass FrozenEstimator(classifier) (sklearn.frozen) for a trained classifier"
        raise InputError("cv='prefit' is not known", remedy)
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        remedy = f"one part that is held out is holdout={cv}, which keeps the certificate"
        raise InputError(f"is {cv}, a share", remedy, argument="cv", value=cv)
    if isinstance(cv, Integral) and (isinstance(cv, bool) or cv < 2):
        raise InputError(f"is {cv}", "pass the number of folds, from 2 on, or a splitter", argument="cv", value=cv)
    if isinstance(cv, Integral) or (hasattr(cv, "split") and not isinstance(cv, str)):
        return cv
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        remedy = "pass the number of folds, a splitter of scikit-learn, or pairs of positions"
        raise InputTypeError(None, remedy, argument="cv", value=cv)
    return list(cv)
