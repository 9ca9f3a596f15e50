"""A set of models in one sentence, its cells as a table for people, and all its bins as one for programs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastbin import _html
from fastbin._errors import GuaranteeError, MissingDependencyError
from fastbin._model_table import bin_columns, counted
from fastbin._schemes import SCHEMES
from fastbin._tables import as_html, as_records, as_text, number_format
from fastbin._view import View
from fastbin.guarantees.words import event_words, rounded_up

Models = Any  # a ModelSet, which lies above and hands itself down to here

KIND_WORDS = {
    "given": "models", "segments": "segments", "top-label": "predicted classes", "class-wise": "classes, each against the rest",
}  # fmt: skip


def set_summary(models: Models) -> str:
    """One line: the kind of the set, its models, the samples."""
    methods = {SCHEMES[model.scheme].title for _, model in models.numbered}
    how = f" by {next(iter(methods))}" if len(methods) == 1 else ""
    size = f"{counted(models.n_models, 'model')}, {models.n_bins:,} bins in all"
    return f"A set of {len(models):,} {KIND_WORDS[models.kind]}{how}, {size}, from {counted(models.n_samples, 'sample')}"


def cell_words(
    models: Models, parts: Mapping[Any, Any] | None = None, epsilon_title: str = "promised within"
) -> dict[str, list[str]]:
    """A row for each model of a set, by title; with the `parts` of a joint certificate, by key, what each promises."""
    numbered = models.numbered
    values = [model.bin_values if model.kind == "step" else model.values for _, model in numbered]
    form = number_format(np.concatenate([np.zeros(0), *values]).tolist())
    columns = {
        "cell": ["the pool" if key is None else str(key) for key, _ in numbered],
        "samples": [f"{model.n_samples:,}" for _, model in numbered],
        event_words(models.event): [
            f"{100.0 * model.n_positive / model.n_samples:.3g} %" if model.n_samples else "" for _, model in numbered
        ],
        "bins": [f"{model.n_bins:,}" for _, model in numbered],
        "lowest value": [f"{each.min():{form}}" if len(each) else "" for each in values],
        "highest": [f"{each.max():{form}}" if len(each) else "" for each in values],
    }
    if parts is not None:
        columns[epsilon_title] = [rounded_up(parts[key].epsilon) if key in parts else "" for key, _ in numbered]
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
    return f"{set_summary(models)}.\n\n{as_text(cell_words(models), n_text=1)}"


def set_as_html(models: Models, alpha: float = 0.1) -> str:
    """What a notebook shows: the sentence, the joint promise and the cells."""
    parts = None
    try:
        certificate: Any = models.certificate(alpha)
        promise, parts = str(certificate), dict(certificate.parts)
    except GuaranteeError as error:
        promise = f"No certificate: {error}"
    except MissingDependencyError as error:
        promise = f"The certificate is not shown: {error}"
    sentences = map(_html.paragraph, (f"{set_summary(models)}.", promise))
    return _html.notebook(*sentences, as_html(cell_words(models, parts), n_text=1))


def set_as_dict(models: Models, alpha: float | None) -> dict[str, Any]:
    """The set in plain values: what it is about, and the bins of all its models as records."""
    head = {name: getattr(models, name) for name in ("kind", "unknown", "event", "n_models", "n_bins", "n_samples")}
    head |= {"keys": list(models.keys), "pooled_keys": list(models.pooled_keys)}
    return {**head, "alpha": alpha, "bins": as_records(set_columns(models, alpha))}


VIEW = View(set_as_text, set_as_html, set_columns, set_as_dict)
