"""A test set by the models that score it: one model, or those of a set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._calibrator import as_model_or_set
from fastbin._cells import Key
from fastbin._errors import InputError
from fastbin._frames import check_same_index
from fastbin._native.fit import row_keys
from fastbin._scalars import check_alpha, check_power, check_seed
from fastbin._typing import Int64s
from fastbin._validation import as_key_array, as_scores
from fastbin.assess.promise import LabelledRows, Promise, check_outcomes, check_rows
from fastbin.guarantees import Certificate, SetCertificate
from fastbin.guarantees.words import name_cells
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet


class Part(NamedTuple):
    """A model, what it promises, and the test rows that it scores."""

    name: Key | None  # of its cell; None for the pool, and for a lone model
    promise: Promise
    rows: LabelledRows
    numbers: Int64s  # of these rows in the test set


class Parts(NamedTuple):
    """The models that a test set is about, each with its own rows."""

    parts: list[Part]
    of_set: bool
    n_rows: int
    n_samples: int  # frequencies counted, those of unknown cells included
    n_unknown: int  # samples of unknown cells, about which nothing is promised
    share_rows: bool  # whether the same samples are in several parts, so that these are not independent


def check_cells_given(model: BinnedModel | ModelSet, cells: Any) -> None:
    """Refuse a set without cells, and cells beside a lone model."""
    if isinstance(model, ModelSet) and cells is None:
        raise InputError("cells is missing; a set scores each row by the model of its cell, so give the key of every row")
    if not isinstance(model, ModelSet) and cells is not None:
        raise InputError("cells is given, and model is one model and no set; leave cells out, or pass the set")


def parts_of(
    model: Any, scores: Any, labels: Any, cells: Any, *, certificate: Any, epsilon: float | None, alpha: float, power: float,
    sample_weight: Any, positive: Any, keys: Any, seed: int | None,
) -> Parts:  # fmt: skip
    """The promise and the test rows of one model, or of every model of a set. O(n log n).

    `alpha` and `power` are those of all together; each of M models that promise something is tested at alpha / M.
    """
    fitted, alpha, power = as_model_or_set(model), check_alpha(alpha), check_power(power)
    check_cells_given(fitted, cells)
    if isinstance(fitted, BinnedModel):
        promise = Promise.of(fitted, _of_one_model(certificate), epsilon, alpha, power)
        rows = LabelledRows.of(fitted, scores, labels, sample_weight, positive, keys, seed)
        return Parts(
            [Part(None, promise, rows, np.arange(len(rows.labels)))], False, len(rows.labels), rows.n_samples, 0, False
        )
    check_same_index(scores=scores, labels=labels, cells=cells, sample_weight=sample_weight, keys=keys)
    ones, frequencies = check_outcomes(labels, sample_weight, positive)
    column, numbers = as_scores(scores), fitted.find(cells)
    check_rows(scores=column, labels=ones, cells=numbers, sample_weight=frequencies)
    tie_keys = row_keys(check_seed(seed), len(column)) if keys is None else as_key_array(keys, len(column))
    fitted.assign(column, cells, keys=tie_keys)  # names the first bad score by its row
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(fitted.n_models + 1))
    parts, unknown = [], order[: bounds[0]]
    for (name, own), promise, first, end in zip(
        fitted.numbered, promises_of(fitted, certificate, epsilon, alpha, power), bounds[:-1], bounds[1:], strict=True
    ):
        at = order[first:end]
        weights = None if frequencies is None else frequencies[at]
        steps = own.step(column[at], keys=tie_keys[at])
        parts.append(Part(name, promise, LabelledRows(column[at], steps, ones[at], weights), at))
    n_samples, n_unknown = (len(rows) if frequencies is None else int(frequencies[rows].sum()) for rows in (order, unknown))
    return Parts(parts, True, len(column), n_samples, n_unknown, fitted.kind == "class-wise")


def _of_one_model(certificate: Any) -> Certificate | None:
    if isinstance(certificate, SetCertificate):
        raise InputError("the certificate is that of a set of models, and model is one model; take its own certificate()")
    return certificate


def promises_of(models: ModelSet, certificate: Any, epsilon: float | None, alpha: float, power: float) -> list[Promise]:
    """What each model of a set promises, each tested at its share of alpha and of the power."""
    if epsilon is not None:
        if certificate is not None:
            raise InputError("certificate and epsilon are both given; give the promise to check once")
        share = _Share.of(alpha, power, models.n_models)
        return [Promise.of(model, None, epsilon, *share) for _, model in models.numbered]
    promise = models.certificate() if certificate is None else certificate
    if not isinstance(promise, SetCertificate):
        raise InputError("the certificate is that of one model; take certificate() of the set")
    own, known = dict(promise.parts), {name for name, _ in models.numbered}
    strange = [name for name in own if name not in known]
    if strange:
        raise InputError(f"the certificate is about {name_cells(strange)}, which the set does not have")
    share = _Share.of(alpha, power, len(own))
    return [
        Promise.of(model, own[name], None, *share) if name in own else Promise.about_nothing(model, *share)
        for name, model in models.numbered
    ]


class _Share(NamedTuple):
    alpha: float
    power: float

    @classmethod
    def of(cls, alpha: float, power: float, n_models: int) -> _Share:
        """Of each of several models, so that all tests err with chance alpha together, and all succeed with this power."""
        return cls(alpha / max(1, n_models), power ** (1.0 / max(1, n_models)))
