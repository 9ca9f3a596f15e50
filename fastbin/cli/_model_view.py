"""A model in words, as a table, and as JSON."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import GuaranteeError
from fastbin._schemes import SCHEME_NAMES

if TYPE_CHECKING:
    from fastbin.model import BinnedModel

__all__ = ["as_json", "facts", "number_format", "show", "summary"]

Float64s = npt.NDArray[np.float64]


def summary(model: BinnedModel) -> str:
    """One line: the method, the bins, the samples."""
    size = {"step": f", {_count(model.n_bins, 'bin')}", "linear": f", {_count(model.n_bins, 'knot')}", "smooth": ""}[model.kind]
    samples = ""
    if model.n_samples:
        share = 100.0 * model.n_positive / model.n_samples
        samples = f", from {_count(model.n_samples, 'sample')} of which {model.n_positive:,} ({share:.3g} %) have label 1"
    return SCHEME_NAMES[model.scheme] + size + samples


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def facts(model: BinnedModel) -> list[str]:
    """What else is to be known of a model, one sentence each."""
    told = []
    if model.score_range is None:
        told.append("Scores may be any finite number.")
    elif model.score_range != (0.0, 1.0):
        low, high = model.score_range
        told.append(f"Scores {'must be' if model.out_of_range == 'refuse' else 'are'} in [{low:g}, {high:g}].")
    if model.out_of_range == "clip":
        told.append("Finite scores outside the range are clipped: they get the answer of its nearest end.")
    if 0 < model.n_bins < model.n_bins_asked:
        told.append(f"{model.n_bins_asked} bins were asked for; ties left {model.n_bins}.")
    if model.n_tied and model.ties in ("random", "isolate"):
        told.append(
            f"Ties: {100.0 * model.randomised_mass:.3g} % of the samples share the score of a boundary with others and got "
            f"their bin by a random key (seed {model.seed}); so will such scores at prediction."
        )
    elif model.n_tied:
        told.append(
            f"Ties: {model.n_tied:,} samples share the score of a boundary with others; all of them go to the bin "
            f"{'above' if model.ties == 'upper' else 'below'} it."
        )
    falls = model.falls.tolist()
    if falls:
        places = f"after bin {falls[0]}" if len(falls) == 1 else f"in {len(falls)} places (after bins {_listed(falls)})"
        told.append(f"Values fall {places} though scores rise; monotone=True (--monotone) fits values that do not.")
    empty = _empty_bins(model)
    if empty:
        told.append(f"Empty: {_count(len(empty), 'bin')} without samples ({_listed(empty)}); the value there is no estimate.")
    if model.is_weighted and model.n_bins:
        told.append("Values are weighted means (importance weights).")
    if model.delta > 0.0:
        told.append(f"Values are randomised by delta = {model.delta:g} (Gupta & Ramdas 2021, Algorithm 2).")
    if model.out_of_range == "clip" and model.score_range is not None:
        low, high = model.score_range
        told.append(f"Scores below {low:g} are taken as {low:g}, and those above {high:g} as {high:g}.")
    if model.rates is not None or model.odds_ratio != 1.0:
        from fastbin.guarantees.words import moved_by

        told.append(f"Label shift: {moved_by(model.odds_ratio, model.rates)}.")
    if model.map[0] != "none":
        told.append(f"Map: log-odds = {_log_odds(model)}.")
    if model.note:
        told.append(f"Note: {model.note}")
    return told


def _listed(bins: list[int], limit: int = 10) -> str:
    return ", ".join(map(str, bins[:limit])) + (", ..." if len(bins) > limit else "")


def _log_odds(model: BinnedModel) -> str:
    """The formula of the smooth map, for a score s."""
    name, parameters = model.map
    if name == "logistic":
        return f"{parameters[0]:.6g} s {parameters[1]:+.6g}"
    return f"{parameters[0]:.6g} log(s) {-parameters[1]:+.6g} log(1 - s) {parameters[2]:+.6g}"


def _empty_bins(model: BinnedModel) -> list[int]:
    if model.kind != "step" or model.counts is None:
        return []
    return [int(bin_number) for bin_number in np.flatnonzero(model.counts == 0)]


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


# ---------------------------------------------------------------------- to be looked at


def show(model: BinnedModel, alpha: float, max_rows: int | None = None, *, stderr: bool = False) -> None:
    """Print the facts, the table of bins and the promise."""
    from fastbin.cli._console import console

    out = console(stderr=stderr)
    for sentence in facts(model):
        out.print(sentence)
    if model.kind != "smooth":
        out.print()
        out.print(_table(model, alpha, max_rows))
    out.print()
    certificate, sentence = promise(model, alpha)
    out.print(sentence, style=None if certificate is None else "bold")
    if certificate is not None:
        out.print(certificate.explain())


def _table(model: BinnedModel, alpha: float, max_rows: int | None) -> Any:
    from rich import box
    from rich.table import Table

    from fastbin.guarantees.words import sureness

    ends = intervals(model, alpha)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    titles = ["knot" if model.kind == "linear" else "bin"]
    titles += ["score"] if model.kind == "linear" else ["scores from", "to"]
    if model.counts is not None:
        titles += ["samples", "label 1"]
    titles += ["value"]
    if ends is not None:
        titles += [f"{sureness(alpha)} interval"]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    rows = range(model.n_bins)
    skipped = range(0)
    if max_rows is not None and model.n_bins > max_rows:
        skipped = range(max_rows // 2, model.n_bins - max_rows // 2)
    show_value = number_format(model.values)
    for row in rows:
        if row in skipped:
            if row == skipped.start:
                table.add_row(*["..."] * len(titles))
            continue
        cells = [str(row), *_scores_of(model, row)]
        if model.counts is not None:
            cells += [f"{model.counts[row]:,}", f"{model.label_sums[row]:,}"]
        cells += [show_value(model.values[row])]
        if ends is not None:
            cells += [f"{show_value(ends[row, 0])} to {show_value(ends[row, 1])}"]
        table.add_row(*cells)
    return table


def _scores_of(model: BinnedModel, row: int) -> list[str]:
    """A knot's score, or the least score of a bin and the one at which the next bin begins."""
    if model.kind == "linear":
        return [f"{model.edges[row]:.6g}"]
    low, high = _ends_of(model, row)
    return ["" if end is None else f"{end:.6g}" for end in (low, high)]


def _ends_of(model: BinnedModel, row: int) -> tuple[float | None, float | None]:
    low, high = model.score_range if model.score_range is not None else (None, None)
    if row > 0:
        low = float(model.edges[row - 1])
    if row < model.n_bins - 1:
        high = float(model.edges[row])
    return low, high


def number_format(values: Float64s) -> Any:
    """Four places, or for tiny probabilities four digits."""
    smallest = min((float(value) for value in values if value > 0.0), default=1.0)
    return (lambda value: f"{value:.4f}") if smallest >= 1e-3 else (lambda value: f"{value:.3e}")


# ---------------------------------------------------------------------- to be read by programs


def as_json(model: BinnedModel, alpha: float) -> dict[str, Any]:
    """Everything that `show` tells, unrounded."""
    certificate, sentence = promise(model, alpha)
    ends = intervals(model, alpha)
    content = {field: getattr(model, field) for field in ("kind", "scheme", "ties", "n_bins", "n_bins_asked", "n_samples")}
    content |= {field: getattr(model, field) for field in ("n_positive", "n_tied", "randomised_mass", "score_range")}
    content |= {field: getattr(model, field) for field in ("delta", "odds_ratio", "seed", "note", "out_of_range")}
    rates = model.rates
    content["rates"] = None if rates is None else {name: rate._asdict() for name, rate in rates._asdict().items()}
    content["fingerprint"] = f"{model.fingerprint:016x}" if model.fingerprint else None  # 64 bits, beyond JSON's doubles
    content["sha256"] = hashlib.sha256(model.to_bytes()).hexdigest()
    name, parameters = model.map
    content["map"] = None if name == "none" else {"name": name, "parameters": list(parameters), "log_odds": _log_odds(model)}
    content["bins"] = [_bin_as_json(model, row, ends) for row in range(model.n_bins)]
    content["empty_bins"] = _empty_bins(model)
    content["falls_after_bins"] = model.falls.tolist()
    content["alpha"] = alpha
    content["certificate"] = None if certificate is None else {"sentence": sentence, **certificate.to_dict()}
    content["why_no_certificate"] = sentence if certificate is None else None
    return content


def _bin_as_json(model: BinnedModel, row: int, ends: Float64s | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"bin": row}
    if model.kind == "linear":
        entry = {"knot": row, "score": float(model.edges[row])}
    else:
        entry["from"], entry["to"] = _ends_of(model, row)
        if row > 0:  # which of the scores that equal `from` belong here
            entry["from_key"] = int(model.edge_keys[row - 1]) if model.edge_keys is not None else 0
    entry["value"] = float(model.values[row])
    for field in ("counts", "label_sums", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        column = getattr(model, field)
        if column is not None:
            entry[field.removesuffix("s")] = column[row].item()
    if ends is not None:
        entry["lower"], entry["upper"] = (None if math.isnan(end) else float(end) for end in ends[row])
    return entry
