"""``fastbin inspect``: what a model file holds, and what it promises."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fastbin._base.array_types import Float64s
from fastbin._base.errors import InputError
from fastbin._model import view
from fastbin._model.provenance import in_words
from fastbin.cli import _model_view
from fastbin.cli import _options as options
from fastbin.cli._console import console, say_json
from fastbin.cli._exports import WORDS, Exported, load_or_describe
from fastbin.cli._streams import display_name

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet


@click.command(
    short_help="Show MODEL: its bins, intervals and certificate.",
    epilog=options.examples(
        "fastbin inspect credit.fbm",
        "fastbin inspect credit.fbm --alpha 0.05 --json | jq .certificate",
        "fastbin inspect regions.fbm --cell north",
    ),
)
@options.model
@options.option("--cell KEY", "Of a set: show the model of this cell.")
@options.alpha
@options.as_json
def command(model: str, cell: str | None, alpha: float, as_json: bool) -> None:
    """Show a MODEL ("-": from standard input): its bins with intervals, and its certificate.

    The intervals hold for all bins at once with probability 1 - alpha. A model with steps serves finer values inside its
    evidence bins: the table has the average of what is served in each bin, and --json every step too. If the method has no
    finite-sample guarantee, the reason is given instead.

    Of a set of models: its cells, and the certificate of all models together. --cell shows one of them, with its own
    certificate at its own alpha.

    MODEL may be what fastbin export wrote: of JSON the whole model is shown, of others the digest of the model, and what an
    ONNX graph says of it.
    """
    loaded, name = load_or_describe(model), display_name(model)
    if isinstance(loaded, Exported):
        _check_options(loaded, name, cell)
        _show_export(loaded, model, name, as_json)
        return
    if cell is not None:
        if not loaded.is_set:
            raise InputError(f"{name} is one model and no set; leave out --cell")
        own = _model_of_cell(loaded, cell)
        if own is None:
            raise InputError(f"{name} has no cell {cell!r}; inspect it without --cell to see them")
        loaded, name = own, f"{name}, {cell}"
    if as_json:
        content = _set_as_json(loaded, alpha) if loaded.is_set else model_as_json(loaded, alpha)
        say_json({"path": model, **({} if cell is None else {"cell": cell}), **content})
        return
    console().print(f"{name}: {view.summary(loaded)}.")
    _model_view.show(console(), loaded, alpha)
    if made_by := in_words(loaded):
        console().print(f"Made by {made_by}.")


def _model_of_cell(models: ModelSet, cell: str) -> BinnedModel | None:
    """The model of a key as it is typed."""
    key: int | str = cell
    if not isinstance(models.keys[0], str):
        digits = cell.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            return None
        key = int(cell)
    model: BinnedModel | None = models.get(key)
    return model


def _check_options(export: Exported, name: str, cell: str | None) -> None:
    """Of an export there is nothing that these options could say."""
    has_alpha = click.get_current_context().get_parameter_source("alpha") is not ParameterSource.DEFAULT
    for option, is_given in (("--cell", cell is not None), ("--alpha", has_alpha)):
        if is_given:
            raise InputError(f"{name} is a {WORDS[export.target]}, of which the digest is shown; leave out {option}")


def _show_export(export: Exported, path: str, name: str, as_json: bool) -> None:
    if as_json:
        say_json({"path": path, **export._asdict()})
        return
    console().print(f"{name}: a {WORDS[export.target]}, exported from the model whose file has the SHA-256 {export.sha256}.")
    for key, value in export.facts.items():
        console().print(f"{key.removeprefix('fastbin.')}: {value}")


def _promise_as_json(fitted: BinnedModel | ModelSet, alpha: float) -> dict[str, Any]:
    certificate, sentence = _model_view.promise(fitted, alpha)
    return {
        "alpha": alpha,
        "certificate": None if certificate is None else {"sentence": sentence, **certificate.to_dict()},
        "why_no_certificate": sentence if certificate is None else None,
    }


def _set_as_json(models: ModelSet, alpha: float) -> dict[str, Any]:
    """Everything that `_model_view.show` prints, unrounded, and every model."""
    return {
        **{field: getattr(models, field) for field in (*view.SET_FIELDS, "provenance")},
        "keys": list(models.keys),
        "pooled_keys": list(models.pooled_keys),
        "columns": None if models.columns is None else list(models.columns),
        "sha256": hashlib.sha256(models.to_bytes()).hexdigest(),
        "models": [{"cell": name, **model_as_json(model, alpha)} for name, model in models.numbered],
        **_promise_as_json(models, alpha),
    }


def model_as_json(model: BinnedModel, alpha: float) -> dict[str, Any]:
    """Everything that `_model_view.show` prints, unrounded."""
    ends = view.intervals_of(model, alpha)
    content = {field: getattr(model, field) for field in (*view.FIELDS, "provenance")}
    rates = model.rates
    content["rates"] = None if rates is None else {name: rate._asdict() for name, rate in rates._asdict().items()}
    content["fingerprint"] = f"{model.fingerprint:016x}" if model.fingerprint else None  # 64 bits, beyond JSON's doubles
    content["sha256"] = hashlib.sha256(model.to_bytes()).hexdigest()
    name, parameters = model.map
    content["map"] = (
        None
        if name == "none"
        else {
            "name": name,
            "parameters": list(parameters),
            "knots": None if model.knots is None else model.knots.tolist(),
            "clip": model.clip,
            "log_odds": view.log_odds(model),
        }
    )
    content["bins"] = [_bin_as_json(model, row, ends) for row in range(model.n_bins)]
    content["steps"] = _steps_as_json(model) if model.has_steps else None
    content["empty_bins"] = _model_view.empty_bins(model)
    content["falls_after_steps" if model.has_steps else "falls_after_bins"] = model.falls.tolist()
    return {**content, **_promise_as_json(model, alpha)}


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
