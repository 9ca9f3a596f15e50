"""A model or a set of models in one sentence, and its bins or cells as a table: numbers for programs, words for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.errors import FormatError, GuaranteeError, MissingDependencyError
from fastbin._base.shown import how_many, outwards_as, rounded_up
from fastbin._base.table import MOST_ROWS, as_html, as_records, as_text, number_format
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._core.schemes import SCHEMES
from fastbin.guarantees.certificate import event_words, label_words, moved_words, sureness
from fastbin.guarantees.evidence import steps_told

Model = Any  # a BinnedModel, which lies above and hands itself down to here
Models = Any  # a ModelSet, likewise
Fitted = Any  # either, as `fastbin._model.parts.Parts`

# The attributes that are told as they are, in this order: those of a model, and those of a set.
FIELDS = (
    "kind", "scheme", "ties", "n_bins", "n_bins_asked", "n_steps", "n_samples", "n_positive", "n_tied", "randomised_mass",
    "edges_share", "score_range", "delta", "odds_ratio", "sampling_rate", "seed", "event", "note", "out_of_range",
)  # fmt: skip
SET_FIELDS = ("kind", "unknown", "event", "n_models", "n_bins", "n_samples")

# What one cell of a set is, and more of them.
KIND_WORDS = {
    "given": ("model", "models"), "segments": ("segment", "segments"), "top-label": ("predicted class", "predicted classes"),
    "class-wise": ("class, against the rest", "classes, each against the rest"),
}  # fmt: skip


def summary(fitted: Fitted) -> str:
    """One line: the method, the bins, the samples; of a set its kind, the models and the samples."""
    if fitted.is_set:
        methods = {SCHEMES[model.scheme].title for _, model in fitted.numbered}
        # Two where some cells of certified models are small.
        how = f" by {' and '.join(sorted(methods))}" if len(methods) <= 2 else ""
        models = f"{how_many(fitted.n_models, 'model')}, {how_many(fitted.n_bins, 'bin')} in all"
        cells = f"{len(fitted):,} {KIND_WORDS[fitted.kind][len(fitted) != 1]}"
        return f"A set of {cells}{how}, {models}, from {how_many(fitted.n_samples, 'sample')}"
    samples = ""
    if fitted.n_samples:
        share = 100.0 * fitted.n_positive / fitted.n_samples
        have = f"{fitted.n_positive:,} ({share:.3g} %) have {label_words(fitted.event)}"
        samples = f", from {how_many(fitted.n_samples, 'sample')} of which {have}"
    return _method_and_size(fitted) + samples


def _method_and_size(model: Model) -> str:
    bins = how_many(model.n_bins, "bin")
    if model.has_steps:
        bins = f"{how_many(model.n_bins, 'evidence bin')}, {how_many(model.n_steps, 'step')}"
    size = {"step": f", {bins}", "linear": f", {how_many(model.n_bins, 'knot')}", "smooth": ""}[model.kind]
    return SCHEMES[model.scheme].title + size


def intervals_of(fitted: Fitted, alpha: float | None, side: str = "both") -> Float64s | None:
    """The simultaneous intervals of all bins, or ``None`` where there are none, or none are asked for."""
    if alpha is None or (not fitted.is_set and fitted.kind != "step"):
        return None
    try:
        intervals = fitted.interval(alpha, side=side)
    except GuaranteeError:
        return None
    return np.concatenate(intervals) if fitted.is_set else intervals


def promise(fitted: Fitted, alpha: float, side: str = "both", certify: Callable[..., Any] | None = None) -> tuple[Any, str]:
    """The certificate and its sentence; or ``None`` and why there is none. Those of vector models have no side.

    `certify` makes it in place of the method, for the model of a key of a set, which knows whether that is pooled.
    """
    try:
        certificate = (certify or fitted.certificate)(alpha, **({} if side == "both" else {"side": side}))
    except GuaranteeError as error:
        return None, f"No certificate: {error}"
    return certificate, str(certificate)


# ---------------------------------------------------------------------- facts


def facts(fitted: Fitted) -> dict[str, str]:
    """Facts about a model or a set by name, those that say nothing empty."""
    return _set_facts(fitted) if fitted.is_set else _model_facts(fitted)


def _model_facts(model: Model) -> dict[str, str]:
    accepted = "any finite number" if model.score_range is None else "{:g} to {:g}".format(*model.score_range)
    if model.out_of_range == "clip":
        accepted += "; others are clipped to its ends"
    samples = f"{model.n_samples:,}, {model.n_positive:,} of them with {label_words(model.event)}"
    return {
        "Method": _method_and_size(model),
        "Values are the probability of": event_words(model.event),
        "Calibration samples": samples if model.n_samples else "",
        "Scores accepted": accepted,
        "Ties at boundaries": "" if model.ties == "none" else f"{model.ties}; {how_many(model.n_tied, 'sample')} tied",
        "Seed": str(model.seed),
        "Sampling": moved_words(model) if model.sampling_rate else "",
        "Decision": decision_words(model),
        "Note": model.note,
    }


def _set_facts(models: Models) -> dict[str, str]:
    methods = Counter(SCHEMES[model.scheme].title for _, model in models.numbered)
    pooled = f"{len(models.pooled_cells):,} of the cells share one model, the pool"
    return {
        "Cells": f"{len(models):,} ({models.kind})",
        "Models": f"{models.n_models:,}, {how_many(models.n_bins, 'bin')} in all",
        "Methods": "; ".join(f"{title} ({count:,})" if len(methods) > 1 else title for title, count in methods.items()),
        "Values are the probability of": event_words(models.event) if models.event else "",
        "Calibration samples": f"{models.n_samples:,}",
        "The pool": pooled + why_pooled(models) if models.pool is not None else "",
        "Unknown cells": "are refused" if models.unknown == "refuse" else "get the value of the pool, without a promise",
    }


def why_pooled(models: Models) -> str:
    """How many samples per_class="auto" asked of a model, as the provenance says it, and why; to be put behind other words."""
    told = next(iter(steps_told(models)), {}).get("configuration")
    if not isinstance(told, dict) or told.get("per_class") != "auto" or not isinstance(told.get("min_points"), int):
        return ""
    return f"; a model has at least {told['min_points']:,} samples, for a small epsilon in all bins together (per_class='auto')"


def caveats(model: Model) -> Iterator[str]:
    """Reservations about the fit of a model, a sentence or two each; none if all is well."""
    if 0 < model.n_bins < model.n_bins_asked:
        yield f"{model.n_bins_asked} bins were asked for, and ties left {model.n_bins}."
    if model.n_tied:
        percentage = f"{100.0 * model.n_tied / max(1, model.n_samples):.3g} %"
        share = f"{percentage} of the calibration samples share the score of a boundary"
        if model.ties in ("random", "isolate"):
            yield f"{share} and go to one side of it by a random key: such a score can be given either of two probabilities."
        elif model.ties == "whole":
            yield (
                f"{share}. Each group of equal scores lies in one bin: a score is always given the same probability, and the "
                "bins are not of equal mass."
            )
        else:
            side = "above" if model.ties == "upper" else "below"
            yield f"{share} and were all put {side} it, so the bins are not of equal mass."
    if model.is_weighted:
        yield "The values are weighted means; guarantees for unweighted samples do not apply to them."
    if moved := moved_words(model):
        yield moved
    if model.delta > 0.0:
        yield f"Predictions are randomised by up to delta = {model.delta:g}: one score can be given different probabilities."


def decision_words(model: Model) -> str:
    """The decision that a model carries in a sentence; "" without one. A record of another version tells its thresholds."""
    above, below, record = model._decision
    if not record:
        return ""
    try:
        return str(model.decision)
    except FormatError as error:
        return f"accepts scores above {above!r} and rejects scores below {below!r}; its record cannot be read ({error})."


# ---------------------------------------------------------------------- the bins of a model


def ends_of(model: Model, row: int, *, steps: bool = False) -> tuple[float | None, float | None]:
    """The least score of a bin (or step) and the one at which the next begins; ``None`` for an end without limit."""
    edges = model.edges if steps else model.bin_edges
    low, high = model.score_range if model.score_range is not None else (None, None)
    if row > 0:
        low = float(edges[row - 1])
    if row < len(edges):
        high = float(edges[row])
    return low, high


def columns_of(fitted: Fitted, alpha: float | None) -> dict[str, list[Any]]:
    """The bins of all models in numbers, one entry for each; intervals where `alpha` is given and they are supported.

    The bins of a set begin with their cell, ``None`` for the pool.
    """
    columns: dict[str, list[Any]] = {}
    n_above = 0
    for key, model in fitted.numbered:
        own = {**({"cell": [key] * model.n_bins} if fitted.is_set else {}), **_bin_columns(model)}
        for name in {**columns, **own}:
            columns.setdefault(name, [None] * n_above).extend(own.get(name, [None] * model.n_bins))
        n_above += model.n_bins
    intervals = intervals_of(fitted, alpha)
    if intervals is not None:
        columns["interval"] = [[None if math.isnan(end) else end for end in ends] for ends in intervals.tolist()]
    return columns


def _bin_columns(model: Model) -> dict[str, list[Any]]:
    if model.kind == "linear":
        return {"knot": list(range(model.n_bins)), "score": model.edges.tolist(), "value": model.values.tolist()}
    if model.kind == "smooth":
        return {"bin": [], "lower": [], "upper": [], "value": []}
    lower, upper = map(list, zip(*(ends_of(model, row) for row in range(model.n_bins)), strict=True))
    columns: dict[str, list[Any]] = {"bin": list(range(model.n_bins)), "lower": lower, "upper": upper}
    if model.has_steps:
        columns["n_steps"] = steps_in_bins(model)
    columns["value"] = model.bin_values.tolist()
    if model.counts is not None:
        columns |= {"count": model.counts.tolist(), "label_sum": model.label_sums.tolist()}
    if model.is_weighted:
        columns |= {"weight_sum": model.weight_sums.tolist(), "weighted_label_sum": model.weighted_label_sums.tolist()}
    return columns


def steps_in_bins(model: Model) -> list[int]:
    """The number of values in each bin."""
    return np.diff(model.first_step, append=model.n_steps).tolist()


def rows_shown(model: Model, most: int | None = MOST_ROWS) -> Int64s:
    """The bins of which a table shows at most so many: all, or the first and the last ones; one more of each, so that it is
    seen that some are left out."""
    n_bins = model.n_bins
    if most is None or n_bins <= most + 2:
        return np.arange(n_bins)
    half = most // 2 + 1
    return np.concatenate([np.arange(half), np.arange(n_bins - half, n_bins)])


def is_shared(model: Model) -> Bools:
    """Whether a random key decides about the scores that equal each edge; a lone edge of the last key lies behind it."""
    keys, edges = model.bin_edge_keys, model.bin_edges
    if keys is None or not len(edges):
        return np.zeros(len(edges), np.bool_)
    differs = edges[1:] != edges[:-1]
    is_alone = np.append(True, differs) & np.append(differs, True)
    return (keys > 0) & ((keys < ABOVE_EVERY_KEY) | ~is_alone)


def edge_words(model: Model, rows: Int64s) -> list[str]:
    """Edges of the bins by their numbers, each told apart from the others.

    Where a random key decides about the scores that equal an edge, the share of them that falls below it is added: several
    edges may lie at one score.
    """
    edges = model.bin_edges[rows].tolist()
    keys = [0] * len(edges) if model.bin_edge_keys is None else model.bin_edge_keys[rows].tolist()
    n_different, shared, words = len(set(zip(edges, keys, strict=True))), is_shared(model)[rows].tolist(), []
    for digits in range(6, 18):
        words = [f"{edge:.{digits}g}" for edge in edges]
        for at, key in enumerate(keys):
            if shared[at]:
                words[at] += f" ({100 * key / 2**64:.{digits - 4}g} %)"
        if len(set(words)) == n_different:
            break
    return words


def bin_words(
    model: Model,
    intervals: Float64s | None,
    interval_title: str,
    more: Mapping[str, Array] | None = None,
    *,
    rows: Int64s | None = None,
) -> dict[str, list[str]]:
    """The bins or knots in words, by title: scores, `more` counts or probabilities, values, and ends if known.

    A model of two resolutions has the number of steps of each evidence bin, and the average of what is served. With `rows`,
    these alone.
    """  # fmt: skip
    rows = np.arange(model.n_bins) if rows is None else rows
    values = (model.bin_values if model.kind == "step" else model.values)[rows]
    form = number_format(values.tolist())
    columns = {"bin" if model.kind == "step" else "knot": [str(row) for row in rows.tolist()]}
    if model.kind == "linear":
        columns["score"] = [f"{edge:.6g}" for edge in model.edges[rows].tolist()]
    else:
        ends = ("", "") if model.score_range is None else [f"{end:.6g}" for end in model.score_range]
        last = model.n_bins - 1
        inner = np.setdiff1d(np.concatenate([rows - 1, rows]), [-1, last])
        words = {-1: ends[0], **dict(zip(inner.tolist(), edge_words(model, inner), strict=True)), last: ends[1]}
        columns |= {title: [words[row] for row in (rows + at).tolist()] for title, at in (("scores from", -1), ("to", 0))}
    counted = {**(more or {}), **({"steps": np.asarray(steps_in_bins(model))} if model.has_steps else {})}
    for title, column in counted.items():
        columns[title] = [f"{number:,}" if isinstance(number, int) else f"{number:.4f}" for number in column[rows].tolist()]
    columns["average served" if model.has_steps else "value"] = [f"{value:{form}}" for value in values.tolist()]
    if intervals is not None:
        columns[interval_title] = [outwards_as(form, low, high) for low, high in intervals[rows].tolist()]
    return columns


def samples_of(model: Model) -> dict[str, Int64s]:
    """The samples of each bin by title, where the model has a tally."""
    return {} if model.counts is None else {"samples": model.counts, event_words(model.event): model.label_sums}


def title_of_cell(key: Any) -> str:
    """A cell of a set as it is, beside which there may be the pool."""
    return "the pool" if key is None else str(key)


def cell_words(
    models: Models, parts: Mapping[Any, Any] | None = None, epsilon_title: str = "promised within"
) -> dict[str, list[str]]:
    """A row for each model of a set, by title; with the `parts` of a joint certificate, by key, what each promises."""
    numbered = models.numbered
    values = [model.bin_values if model.kind == "step" else model.values for _, model in numbered]
    form = number_format(np.concatenate([np.zeros(0), *values]).tolist())
    columns = {
        "cell": [title_of_cell(key) for key, _ in numbered],
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


def words_of(fitted: Fitted, intervals: Float64s | None, title: str, certificate: Any) -> dict[str, list[str]]:
    """The table of a model, a row for each bin; of a set, a row for each cell, with what a joint certificate promises there."""
    if fitted.is_set:
        return cell_words(fitted, None if certificate is None else dict(certificate.parts))
    return bin_words(fitted, intervals, title, samples_of(fitted), rows=rows_shown(fitted))


def sentence(fitted: Fitted) -> str:
    """The summary with a capital and a full stop, and what the shares beside edges are."""
    text = summary(fitted)
    shares = "(n %): of the scores that equal this edge, n % fall below it, by a random key."
    is_random = not fitted.is_set and fitted.kind == "step" and bool(is_shared(fitted).any())
    return f"{text[0].upper()}{text[1:]}.{f' {shares}' if is_random else ''}"


def in_text(fitted: Fitted) -> str:
    """The text that ``print`` shows: the sentence and the bins or cells, without anything that needs more than NumPy."""
    if fitted.kind == "smooth":
        return f"{sentence(fitted)} Log-odds = {log_odds(fitted)}."
    return f"{sentence(fitted)}\n\n{as_text(words_of(fitted, None, '', None), n_text=int(fitted.is_set))}"


def in_html(fitted: Fitted, alpha: float = 0.1) -> str:
    """The HTML that a notebook shows: the sentence, the promise, and the bins with their intervals or the cells."""
    certificate = intervals = None
    try:
        certificate, words = promise(fitted, alpha)
        intervals = None if certificate is None or fitted.is_set else intervals_of(fitted, alpha)
    except MissingDependencyError as error:
        words = f"The certificate is not shown: {error}"
    if fitted.kind == "smooth":
        table = html.paragraph(f"Log-odds = {log_odds(fitted)}.")
    else:
        table = as_html(words_of(fitted, intervals, f"{sureness(alpha)} interval", certificate), n_text=int(fitted.is_set))
    return html.notebook(html.paragraph(sentence(fitted)), html.paragraph(words), table)


def as_dict(fitted: Fitted, alpha: float | None) -> dict[str, Any]:
    """The model or the set in plain values, the bins of all models as records."""
    head = {name: getattr(fitted, name) for name in (SET_FIELDS if fitted.is_set else FIELDS)}
    names = ("cells", "pooled_cells") if fitted.is_set else ("score_range",)
    for name in names:
        head[name] = None if getattr(fitted, name) is None else list(getattr(fitted, name))
    return {**head, "alpha": alpha, "bins": as_records(columns_of(fitted, alpha))}


def log_odds(model: Model) -> str:
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
