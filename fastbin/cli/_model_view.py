"""A model or a set of models in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.table import LONG
from fastbin._model import view
from fastbin._model.view import bin_words, cell_words, counted, intervals_of, log_odds, rows_shown, samples_of
from fastbin.cli._console import text_table
from fastbin.guarantees.certificate import event_words, moved_by, sureness

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.guarantees import Certificate, SetCertificate
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet


def facts(fitted: BinnedModel | ModelSet) -> Iterator[str]:
    """Further facts that a user must know about a model or a set, one sentence each."""
    if fitted.event:
        yield f"Values are the probability of {event_words(fitted.event)}."
    yield from _about_cells(fitted) if fitted.is_set else _about_bins(fitted)


def _about_cells(models: ModelSet) -> Iterator[str]:
    pooled = models.pooled_keys
    if pooled:
        named = ", ".join(map(str, pooled[:8])) + (f" and {len(pooled) - 8:,} more" if len(pooled) > 8 else "")
        cells = f"{len(pooled):,} cell{'s' * (len(pooled) != 1)}"
        yield f"The pool is the model of {cells} with too few samples for a model of their own: {named}."
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
            f"Same score, same probability, always. {model.n_tied:,} samples share the score of an edge; each group lies in "
            "one bin."
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
    if empty := empty_bins(model):
        yield f"Empty: {counted(len(empty), 'bin')} without samples ({_listed(empty)}); the value there is not an estimate."
    if model.is_weighted and model.n_bins:
        yield "Values are weighted means (importance weights)."
    if model.delta > 0.0:
        yield f"Values are randomised by delta = {model.delta:g} (Gupta & Ramdas 2021, Algorithm 2)."
    if model.rates is not None or model.odds_ratio != 1.0:
        yield f"Label shift: {moved_by(model.odds_ratio, model.rates)}."
    if model.map[0] != "none":
        yield f"Map: log-odds = {log_odds(model)}."
    if model.note:
        yield f"Note: {model.note}"


def _listed(bins: list[int], limit: int = 10) -> str:
    return ", ".join(map(str, bins[:limit])) + (", ..." if len(bins) > limit else "")


def empty_bins(model: BinnedModel) -> list[int]:
    """The bins without samples."""
    if model.kind != "step" or model.counts is None:
        return []
    return np.flatnonzero(model.counts == 0).tolist()


def promise(fitted: BinnedModel | ModelSet, alpha: float) -> tuple[Any, str]:
    """The certificate, of a set the joint one, and its sentence; or ``None`` and why there is none."""
    certificate, sentence = view.promise(fitted, alpha)
    return certificate, sentence + "." if certificate is None and fitted.is_set else sentence


def show(out: Console, fitted: BinnedModel | ModelSet, alpha: float, max_rows: int | None = None) -> None:
    """Print the facts, the table of bins or cells, and the certificate."""
    for sentence in facts(fitted):
        out.print(sentence)
    certificate, sentence = promise(fitted, alpha)
    if fitted.is_set:
        parts = None if certificate is None else dict(certificate.parts)
        _print_table(out, cell_words(fitted, parts, f"epsilon ({sureness(alpha)} joint)"), max_rows)
    elif fitted.kind != "smooth":
        print_bins(out, fitted, intervals_of(fitted, alpha), alpha, samples_of(fitted), max_rows)
    out.print()
    print_promise(out, certificate, sentence)


def _print_table(out: Console, words: Mapping[str, list[str]], max_rows: int | None) -> None:
    out.print()
    out.print(text_table(list(words), list(zip(*words.values(), strict=True)), max_rows))


def print_promise(out: Console, certificate: Certificate | SetCertificate | None, sentence: str) -> None:
    """Print the two answers of `promise`."""
    if certificate is None:
        out.print(sentence)
    else:
        print_certificate(out, certificate)


def print_certificate(out: Console, certificate: Certificate | SetCertificate, *, with_reasons: bool = True) -> None:
    """Print what a certificate promises in bold, and on request the theorem and its assumptions."""
    out.print(str(certificate), style="bold")
    if with_reasons:
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
    _print_table(out, columns, most)
    if max_rows is None and model.n_bins > most + 2:
        out.print(f"The first {most // 2} and the last {most // 2} of {model.n_bins:,} are shown; inspect --json has all.")
