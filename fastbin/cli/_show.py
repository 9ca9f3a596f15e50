"""A model or a set of models in words, as a table, and as JSON."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import InputError
from fastbin._base.shown import first_few, how_many
from fastbin._base.table import LONG
from fastbin._model import view
from fastbin._model.view import bin_words, cell_words, intervals_of, log_odds, rows_shown, samples_of, why_pooled
from fastbin.cli._console import text_table
from fastbin.cli._files import is_vector
from fastbin.guarantees.certificate import event_words, moved_words, sureness

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.guarantees import Certificate, SetCertificate
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel


def facts(fitted: BinnedModel | ModelSet) -> Iterator[str]:
    """Further facts that a user must know about a model or a set, one sentence each."""
    if fitted.event:
        yield f"Values are the probability of {event_words(fitted.event)}."
    yield from _about_cells(fitted) if fitted.is_set else _about_bins(fitted)


def _about_cells(models: ModelSet) -> Iterator[str]:
    pooled = models.pooled_cells
    if pooled:
        cells, which = how_many(len(pooled), "cell"), first_few(pooled)
        yield f"The pool is the model of {cells} with too few samples for a model of their own: {which}{why_pooled(models)}."
    if models.unknown == "pool":
        yield "Rows of other cells get the value of the pool, without an interval and without a promise."
    else:
        yield "Rows of other cells are refused."


def _about_bins(model: BinnedModel) -> Iterator[str]:
    if model.score_range is None:
        yield "Scores may be any finite number."
    else:
        low, high = model.score_range
        is_clipped = model.out_of_range == "clip"
        if (low, high) != (0.0, 1.0):
            yield f"Scores {'are' if is_clipped else 'must be'} in [{low:g}, {high:g}]."
        if is_clipped:
            beyond = f"those below {low:g} are taken as {low:g}, and those above {high:g} as {high:g}"
            yield f"Finite scores outside the range are clipped: {beyond}."
    if 0 < model.n_bins < model.n_bins_asked:
        yield f"{model.n_bins_asked} bins were asked for; ties left {model.n_bins}."
    if model.has_steps:
        yield (
            "Values are finer than the bins: intervals and certificate are about the average of what is served in an evidence "
            "bin, not about single values (inspect --json lists the steps)."
        )
    if model.ties == "whole":
        yield (
            f"Same score, same {'bin' if model.delta else 'probability'}, always. {model.n_tied:,} samples share the score of "
            "an edge; each group lies in one bin."
        )
        if model.edges_share < 1.0:
            yield f"A random {100.0 * model.edges_share:.3g} % of the samples placed the edges; all of them are counted."
    elif model.n_tied and model.ties in ("random", "isolate"):
        yield (
            f"Ties: {100.0 * model.randomised_mass:.3g} % of the samples share the score of a boundary with others and got "
            f"their bin by a random key (seed {model.seed}); so will such scores at prediction."
        )
    elif model.n_tied:
        side = "above" if model.ties == "upper" else "below"
        yield f"Ties: {model.n_tied:,} samples share the score of a boundary with others; all of them go to the bin {side} it."
    if falls := model.falls.tolist():
        noun = "step" if model.has_steps else "bin"
        places = f"after {noun} {falls[0]}" if len(falls) == 1 else f"in {len(falls)} places (after {noun}s {_listed(falls)})"
        yield f"Values fall {places} though scores rise; monotone=True (--monotone) fits values that do not."
    if empty := _empty_bins(model):
        yield f"Empty: {how_many(len(empty), 'bin')} without samples ({_listed(empty)}); the value there is not an estimate."
    if model.is_weighted and model.n_bins:
        yield "Values are weighted means (importance weights)."
    if model.delta > 0.0:
        yield f"Values are randomised by delta = {model.delta:g} (Gupta & Ramdas 2021, Algorithm 2)."
    if moved := moved_words(model):
        yield moved
    if decided := view.decision_words(model):
        yield f"Decision: {decided}"
    if model.map[0] != "none":
        yield f"Map: log-odds = {log_odds(model)}."
    if model.note:
        yield f"Note: {model.note}"


def _listed(bins: list[int], limit: int = 10) -> str:
    return ", ".join(map(str, bins[:limit])) + (", ..." if len(bins) > limit else "")


def _empty_bins(model: BinnedModel) -> list[int]:
    """The bins without samples."""
    if model.kind != "step" or model.counts is None:
        return []
    return np.flatnonzero(model.counts == 0).tolist()


def promise(
    fitted: BinnedModel | ModelSet, alpha: float, side: str = "both", certify: Callable[..., Any] | None = None
) -> tuple[Any, str]:
    """The certificate, of a set the joint one, and its sentence; or ``None`` and why there is none."""
    certificate, sentence = view.promise(fitted, alpha, side, certify)
    return certificate, sentence + "." if certificate is None and fitted.is_set else sentence


def show(
    out: Console, fitted: BinnedModel | ModelSet, alpha: float, max_rows: int | None = None, *, side: str = "both",
    certify: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Print the facts, the table of bins or cells, and the certificate."""
    for sentence in facts(fitted):
        out.print(sentence)
    certificate, sentence = promise(fitted, alpha, side, certify)
    if fitted.is_set:
        parts = None if certificate is None else dict(certificate.parts)
        print_table(out, cell_words(fitted, parts, f"epsilon ({sureness(alpha)} joint)"), max_rows)
    elif fitted.kind != "smooth":
        print_bins(out, fitted, intervals_of(fitted, alpha, side), alpha, samples_of(fitted), max_rows)
    print_promise(out, certificate, sentence)


def vector_summary(model: VectorModel) -> str:
    """One line: the classes, the rows, the bins."""
    counts = model.vector.counts
    bins = "no bins of evidence" if counts is None else f"{how_many(counts.shape[1], 'bin')} for each class and the top label"
    return f"A vector model of {len(model.classes):,} classes, {bins}, from {how_many(model.n_samples, 'sample')}"


def show_vector(out: Console, model: VectorModel, alpha: float, max_rows: int | None = LONG) -> None:
    """The same of a vector model: a line for each bin of each class that has rows."""
    for sentence in _about_vectors(model):
        out.print(sentence)
    certificate, sentence = view.promise(model, alpha)
    if certificate is not None:
        columns = {"class": 0, "from": 1, "to": 2, "samples": 3, "with the label": 4, "served": 5, "lower": 6, "upper": 7}
        words = {title: [_word(row[at]) for row in certificate.bins] for title, at in columns.items()}
        print_table(out, words, max_rows)
    print_promise(out, certificate, sentence)


def _word(entry: Any) -> str:
    if isinstance(entry, float):
        return f"{entry:.4g}"
    return f"{entry:,}" if isinstance(entry, int) else str(entry)


def _about_vectors(model: VectorModel) -> Iterator[str]:
    yield f"Columns are the classes {first_few(model.classes)}."
    if model.keep_top:
        yield "The largest entry of a row stays the largest."
    if model.vector.mixing is not None:
        yield "Every entry of a row takes part in every value, by a matrix."


def print_table(out: Console, words: Mapping[str, list[str]], max_rows: int | None, *, names_rows: bool = False) -> None:
    """Print columns of words by title, after an empty line; where the first column names the rows, it stands to the left."""
    table = text_table(list(words), list(zip(*words.values(), strict=True)), max_rows)
    if names_rows:
        table.columns[0].justify = "left"
    out.print()
    out.print(table)


def print_promise(out: Console, certificate: Certificate | SetCertificate | None, sentence: str) -> None:
    """Print the two answers of `promise`: the statement in bold, the theorem and its assumptions; or why there is none."""
    out.print()
    out.print(sentence, style=None if certificate is None else "bold")
    if certificate is not None:
        out.print(certificate.explain())


def print_bins(
    out: Console,
    model: BinnedModel,
    ends: Float64s | None,
    alpha: float,
    more: Mapping[str, Array],
    max_rows: int | None,
) -> None:
    """Print the table of bins or knots: the scores, more columns by title, the value and, where they are known, its ends.

    Of a model of two resolutions: for each evidence bin the number of its steps, and the average of what is served.
    """
    most = LONG if max_rows is None else max_rows
    columns = bin_words(model, ends, f"{sureness(alpha)} interval", more, rows=rows_shown(model, most))
    print_table(out, columns, most)
    if max_rows is None and model.n_bins > most + 2:
        out.print(f"The first {most // 2} and the last {most // 2} of {model.n_bins:,} are shown; inspect --json has all.")


# ---------------------------------------------------------------------- for programs


def refuse_side(model: Any, name: str, side: str) -> None:
    """Refuse a side of the promise of a vector model, which has both."""
    if side != "both" and is_vector(model):
        raise InputError(f"{name} is a vector model, whose promise is about both sides; leave out --side")


def as_json(
    fitted: BinnedModel | ModelSet | VectorModel, alpha: float, side: str = "both", certify: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Everything that `show` prints, unrounded; of a set and of a vector model, every model."""
    sha256 = hashlib.sha256(fitted.to_bytes()).hexdigest()
    if is_vector(fitted):
        certificate, sentence = view.promise(fitted, alpha)
        content = _vector_as_json(fitted, sha256, alpha)
    else:
        certificate, sentence = promise(fitted, alpha, side, certify)
        how = sha256, alpha, side
        content = _set_as_json(fitted, *how) if fitted.is_set else _model_as_json(fitted, *how)
    return {
        **content,
        "alpha": alpha,
        "certificate": None if certificate is None else {"sentence": sentence, **certificate.to_dict()},
        "why_no_certificate": sentence if certificate is None else None,
    }


def _set_as_json(models: ModelSet, sha256: str, alpha: float, side: str) -> dict[str, Any]:
    return {
        **{field: getattr(models, field) for field in (*view.SET_FIELDS, "provenance")},
        "cells": list(models.cells),
        "pooled_cells": list(models.pooled_cells),
        "columns": None if models.columns is None else list(models.columns),
        "sha256": sha256,
        "models": [{"cell": name, **as_json(model, alpha, side)} for name, model in models.numbered],
    }


def _vector_as_json(model: VectorModel, sha256: str, alpha: float) -> dict[str, Any]:
    of_map = model.vector._asdict()
    return {
        "kind": "vector", "classes": list(model.classes), "n_samples": model.n_samples, "provenance": model.provenance,
        "map": {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in of_map.items()},
        "sha256": sha256, "models": [{"cell": name, **as_json(each, alpha)} for name, each in model.models.items()],
    }  # fmt: skip


def _model_as_json(model: BinnedModel, sha256: str, alpha: float, side: str) -> dict[str, Any]:
    ends = intervals_of(model, alpha, side)
    content = {field: getattr(model, field) for field in (*view.FIELDS, "provenance")}
    rates = model.rates
    above, below, record = model._decision
    ends_of_bands = {"accept_above": above if above < math.inf else None, "reject_below": below if below > -math.inf else None}
    content["decision"] = {**ends_of_bands, "record": record.decode()} if record else None
    content["rates"] = None if rates is None else {name: rate._asdict() for name, rate in rates._asdict().items()}
    content["fingerprint"] = f"{model.fingerprint:016x}" if model.fingerprint else None  # 64 bits, beyond JSON's doubles
    content["sha256"] = sha256
    content["map"] = None
    name, parameters = model.map
    if name != "none":
        content["map"] = {
            "name": name,
            "parameters": list(parameters),
            "knots": None if model.knots is None else model.knots.tolist(),
            "clip": model.clip,
            "log_odds": log_odds(model),
        }
    content["bins"] = [_bin_as_json(model, row, ends) for row in range(model.n_bins)]
    content["steps"] = _steps_as_json(model) if model.has_steps else None
    content["empty_bins"] = _empty_bins(model)
    content["falls_after_steps" if model.has_steps else "falls_after_bins"] = model.falls.tolist()
    return content


def _bin_as_json(model: BinnedModel, row: int, ends: Float64s | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"bin": row}
    if model.kind == "linear":
        entry = {"knot": row, "score": float(model.edges[row])}
    else:
        entry["from"], entry["to"] = view.ends_of(model, row)
        if row > 0:  # which of the scores that equal `from` belong here
            entry["from_key"] = int(model.bin_edge_keys[row - 1]) if model.bin_edge_keys is not None else 0
    entry["value"] = float(model.values[row] if model.kind == "linear" else model.bin_values[row])  # the average served
    if model.has_steps:
        entry["first_step"], entry["n_steps"] = int(model.first_step[row]), view.steps_in_bins(model)[row]
    if model.tie_counts is not None:  # of the samples at the lower edge: placed there by ranks, of these label 1, and left out
        entry |= dict(zip(("r", "f", "y"), model.tie_counts[row].tolist(), strict=True))
    for field in ("counts", "label_sums", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        column = getattr(model, field)
        if column is not None:
            entry[field.removesuffix("s")] = column[row].item()
    if ends is not None:
        entry["lower"], entry["upper"] = (None if math.isnan(end) else float(end) for end in ends[row])
    return entry


def _steps_as_json(model: BinnedModel) -> list[dict[str, Any]]:
    """The values of a model of two resolutions, each with the scores that it is given to and the samples of the fit there."""
    columns = {"value": model.values, "count": model.step_counts, "unlabelled_count": model.unlabelled_counts}
    known = {name: column.tolist() for name, column in columns.items() if column is not None}
    ends = [view.ends_of(model, step, steps=True) for step in range(model.n_steps)]
    return [
        {"from": low, "to": high, **{name: column[step] for name, column in known.items()}}
        for step, (low, high) in enumerate(ends)
    ]
