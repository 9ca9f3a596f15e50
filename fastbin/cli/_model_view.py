"""A model in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._errors import GuaranteeError
from fastbin._model_table import bin_words, counted, intervals_of, log_odds, rows_shown, samples_of
from fastbin._model_table import summary as summary
from fastbin._tables import LONG
from fastbin._typing import Array, Float64s
from fastbin.cli._console import text_table
from fastbin.guarantees.words import event_words, moved_by, sureness

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.guarantees import Certificate, SetCertificate
    from fastbin.model import BinnedModel


def facts(model: BinnedModel) -> Iterator[str]:
    """What else a user must know about a model, one sentence each."""
    if model.event:
        yield f"Values are the probability of {event_words(model.event)}."
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


def promise(model: BinnedModel, alpha: float) -> tuple[Any, str]:
    """The certificate and its sentence; or ``None`` and why there is none."""
    try:
        certificate = model.certificate(alpha)
    except GuaranteeError as error:
        return None, f"No certificate: {error}"
    return certificate, str(certificate)


def show(out: Console, model: BinnedModel, alpha: float, max_rows: int | None = None) -> None:
    """Print the facts, the table of bins and the certificate."""
    for sentence in facts(model):
        out.print(sentence)
    if model.kind != "smooth":
        print_bins(out, model, intervals_of(model, alpha), alpha, samples_of(model), max_rows)
    out.print()
    print_promise(out, *promise(model, alpha))


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
    out.print()
    out.print(text_table(list(columns), list(zip(*columns.values(), strict=True)), most))
    if max_rows is None and model.n_bins > most + 2:
        out.print(f"The first {most // 2} and the last {most // 2} of {model.n_bins:,} are shown; inspect --json has all.")
