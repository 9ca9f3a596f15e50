"""A set of models in one sentence, its cells as a table for people, and all its bins as one for programs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastbin import _html
from fastbin._errors import GuaranteeError, MissingDependencyError
from fastbin._model_table import bin_columns, counted
from fastbin._shown import View
from fastbin._tables import as_html, as_records, as_text, number_format
from fastbin.guarantees.words import rounded_up

Models = Any  # a ModelSet, which lies above and hands itself down to here

# The cells of a set of each kind: one of them, and several.
CELLS = {
    "given": ("cell", "cells"), "segments": ("segment", "segments"), "top-label": ("predicted class", "predicted classes"),
    "class-wise": ("class", "classes"),
}  # fmt: skip


def set_summary(models: Models) -> str:
    """One line: the cells, the models, the bins, the samples."""
    pooled = f", {len(models.pooled_keys):,} of them in one pool" if models.pooled_keys else ""
    cells = f"{len(models):,} {CELLS[models.kind][len(models) != 1]}{pooled}"
    sizes = [counted(models.n_models, "model"), counted(models.n_bins, "bin"), f"from {counted(models.n_samples, 'sample')}"]
    return ", ".join([cells, *sizes])


def cell_words(models: Models, epsilons: Mapping[Any, float] | None = None) -> dict[str, list[str]]:
    """A row for each model of a set, by title; with `epsilons`, by key, what is promised about it."""
    numbered = models.numbered
    values = [model.values for _, model in numbered]
    form = number_format(np.concatenate([np.zeros(0), *values]).tolist())
    columns = {
        "cell": [f"pool of {len(models.pooled_keys):,}" if key is None else str(key) for key, _ in numbered],
        "samples": [f"{model.n_samples:,}" for _, model in numbered],
        "label 1": [f"{model.n_positive:,}" for _, model in numbered],
        "bins": [f"{model.n_bins:,}" for _, model in numbered],
        "values": [f"{each.min():{form}} to {each.max():{form}}" if len(each) else "" for each in values],
    }
    if epsilons is not None:
        columns["promised within"] = [rounded_up(epsilons[key]) if key in epsilons else "" for key, _ in numbered]
    return columns


def set_columns(models: Models, alpha: float | None) -> dict[str, list[Any]]:
    """The bins of all models in numbers, with the cell of each in front (``None`` for the pool); joint intervals."""
    columns: dict[str, list[Any]] = {}
    for key, model in models.numbered:
        own = {"cell": [key] * model.n_bins, **bin_columns(model, None)}
        above = [None] * len(columns.get("cell", ()))
        for name in {**columns, **own}:
            columns[name] = columns.get(name, above) + own.get(name, [None] * model.n_bins)
    if alpha is not None:
        with contextlib.suppress(GuaranteeError):
            columns["interval"] = np.concatenate(models.interval(alpha)).tolist()
    return columns


def set_as_text(models: Models) -> str:
    """What ``print`` shows: the sentence and the cells."""
    return f"{set_summary(models)}\n\n{as_text(cell_words(models), n_text=1)}"


def set_as_html(models: Models, alpha: float = 0.1) -> str:
    """What a notebook shows: the sentence, the joint promise and the cells."""
    parts, epsilons = [_html.paragraph(f"{set_summary(models)}.")], None
    try:
        certificate: Any = models.certificate(alpha)
        promise, epsilons = str(certificate), {name: part.epsilon for name, part in certificate.parts}
    except GuaranteeError as error:
        promise = f"No certificate: {error}"
    except MissingDependencyError as error:
        promise = f"The certificate is not shown: {error}"
    return _html.notebook(*parts, _html.paragraph(promise), as_html(cell_words(models, epsilons), n_text=1))


def set_as_dict(models: Models, alpha: float | None) -> dict[str, Any]:
    """The set in plain values: what it is about, and the bins of all its models as records."""
    head = {name: getattr(models, name) for name in ("kind", "unknown", "n_models", "n_bins", "n_samples")}
    head |= {"keys": list(models.keys), "pooled_keys": list(models.pooled_keys)}
    return {**head, "alpha": alpha, "bins": as_records(set_columns(models, alpha))}


VIEW = View(set_as_text, set_as_html, set_columns, set_as_dict)
