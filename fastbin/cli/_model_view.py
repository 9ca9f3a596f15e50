"""A model in words and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._errors import GuaranteeError
from fastbin._schemes import SCHEMES
from fastbin._typing import Float64s
from fastbin.cli._console import text_table
from fastbin.guarantees.words import moved_by, number_format, sureness

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.guarantees import Certificate, SetCertificate
    from fastbin.model import BinnedModel


def summary(model: BinnedModel) -> str:
    """One line: the method, the bins, the samples."""
    bins = (
        f"{_count(model.n_bins, 'evidence bin')}, {model.n_steps:,} steps" if model.has_steps else _count(model.n_bins, "bin")
    )
    size = {"step": f", {bins}", "linear": f", {_count(model.n_bins, 'knot')}", "smooth": ""}[model.kind]
    samples = ""
    if model.n_samples:
        share = 100.0 * model.n_positive / model.n_samples
        samples = f", from {_count(model.n_samples, 'sample')} of which {model.n_positive:,} ({share:.3g} %) have label 1"
    return SCHEMES[model.scheme].title + size + samples


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def facts(model: BinnedModel) -> Iterator[str]:
    """What else a user must know about a model, one sentence each."""
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
        yield f"Empty: {_count(len(empty), 'bin')} without samples ({_listed(empty)}); the value there is not an estimate."
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


def log_odds(model: BinnedModel) -> str:
    """The formula of the smooth map, for a score s and its logit z."""
    name, parameters = model.map
    if name == "logistic":
        return f"{parameters[0]:.6g} s {parameters[1]:+.6g}"
    if name == "spline":
        formula = f"the natural spline of z = log(s) - log(1 - s) through {len(np.asarray(model.knots))} knots"
    elif name == "quadratic":
        formula = f"{parameters[0]:.6g} {parameters[1]:+.6g} z {parameters[2]:+.6g} z^2, z = log(s) - log(1 - s)"
    else:
        formula = f"{parameters[0]:.6g} log(s) {-parameters[1]:+.6g} log(1 - s) {parameters[2]:+.6g}"
    return formula + (f", s kept in [{model.clip:.6g}, 1 - {model.clip:.6g}]" if model.clip else "")


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


def intervals(model: BinnedModel, alpha: float) -> Float64s | None:
    """The simultaneous intervals of the bins, or ``None`` where the model supports none."""
    if model.kind != "step":
        return None
    try:
        return model.interval(alpha)
    except GuaranteeError:
        return None


def show(out: Console, model: BinnedModel, alpha: float, max_rows: int | None = None) -> None:
    """Print the facts, the table of bins and the certificate."""
    for sentence in facts(model):
        out.print(sentence)
    if model.kind != "smooth":
        samples: dict[str, Iterable[str]] = {}
        if model.counts is not None:
            columns = {"samples": model.counts, "label 1": model.label_sums}
            samples = {title: [f"{number:,}" for number in column] for title, column in columns.items()}
        print_bins(out, model, intervals(model, alpha), alpha, samples, max_rows)
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
    more: Mapping[str, Iterable[str]],
    max_rows: int | None,
) -> None:
    """Print the table of bins or knots: the scores, more columns by title, the value and, where they are known, its ends.

    Of a model of two resolutions: for each evidence bin the number of its steps, and the average of what is served.
    """
    values = model.bin_values if model.kind == "step" else model.values
    form = number_format(values.tolist())
    bins = range(model.n_bins)
    if model.kind == "linear":
        columns: dict[str, Iterable[str]] = {"knot": map(str, bins), "score": [f"{edge:.6g}" for edge in model.edges]}
    else:
        lows, highs = zip(*(["" if end is None else f"{end:.6g}" for end in ends_of(model, row)] for row in bins), strict=True)
        columns = {"bin": map(str, bins), "scores from": lows, "to": highs}
    columns |= more
    if model.has_steps:
        columns["steps"] = [f"{steps:,}" for steps in steps_in_bins(model)]
    columns["average served" if model.has_steps else "value"] = [f"{value:{form}}" for value in values]
    if ends is not None:
        columns[f"{sureness(alpha)} interval"] = [f"{low:{form}} to {high:{form}}" for low, high in ends]
    out.print()
    out.print(text_table(list(columns), list(zip(*columns.values(), strict=True)), max_rows))


def steps_in_bins(model: BinnedModel) -> list[int]:
    """The number of values in each bin."""
    return np.diff(model.first_step, append=model.n_steps).tolist()


def ends_of(model: BinnedModel, row: int, *, steps: bool = False) -> tuple[float | None, float | None]:
    """The least score of a bin (or step) and the one at which the next begins; ``None`` where there is no limit."""
    edges = model.edges if steps else model.bin_edges
    low, high = model.score_range if model.score_range is not None else (None, None)
    if row > 0:
        low = float(edges[row - 1])
    if row < len(edges):
        high = float(edges[row])
    return low, high
