"""``fastbin inspect``: what a model file holds, and what it promises."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from fastbin._base.errors import InputError
from fastbin._model import view
from fastbin._model.provenance import in_words
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import console, is_typed, option_of, say_json
from fastbin.cli._files import WORDS, Exported, display_name, is_vector, load_or_describe

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel


@click.command(
    short_help="Show MODEL: its bins, intervals and certificate.",
    epilog=options.examples(
        "fastbin inspect credit.fbm",
        "fastbin inspect credit.fbm --alpha 0.05 --json | jq .certificate",
        "fastbin inspect regions.fbm --cell north",
    ),
)
@options.model
@options.option("--cell KEY", "Show the model of this cell of a set.")
@options.alpha
@options.side
@options.as_json
def command(model: str, cell: str | None, alpha: float, side: str, as_json: bool) -> None:
    """Show a MODEL ("-": from standard input): its bins with intervals, and its certificate.

    The intervals hold for all bins at once with probability 1 - alpha. A model with steps serves finer values inside its
    evidence bins: the table has the average of what is served in each bin, and --json every step too. If the method has no
    finite-sample guarantee, the reason is given instead.

    Of a set of models: its cells, and the certificate of all models together. --cell shows one of them, with its own
    certificate at its own alpha.

    A vector model shows its classes, the bins of the raw scores of each, and the certificate of all classes and the top label
    together; --cell shows the binary model of a class.

    MODEL may be what fastbin export wrote: of JSON the whole model is shown, of others the digest of the model, and what an
    ONNX graph says of it.
    """
    loaded, name, certify = load_or_describe(model), display_name(model), None
    if isinstance(loaded, Exported):
        _show_export(loaded, model, name, as_json)
        return
    if cell is not None:
        if not (is_vector(loaded) or loaded.is_set):
            raise InputError(f"{name} is one model and no set; leave out --cell")
        key, own = _model_of_cell(loaded, cell)
        if own is None:
            raise InputError(f"{name} has no cell {cell!r}; inspect it without --cell to see them")
        if not is_vector(loaded) and key in loaded.pooled_cells:
            certify = partial(loaded.certificate, which=key)
        loaded, name = own, f"{name}, {cell}"
    _show.refuse_side(loaded, name, side)
    if as_json:
        say_json({"path": model, **({} if cell is None else {"cell": cell}), **_show.as_json(loaded, alpha, side, certify)})
        return
    if is_vector(loaded):
        console().print(f"{name}: {_show.vector_summary(loaded)}.")
        _show.show_vector(console(), loaded, alpha)
    else:
        console().print(f"{name}: {view.summary(loaded)}.")
        _show.show(console(), loaded, alpha, side=side, certify=certify)
    if made_by := in_words(loaded):
        console().print(f"Made by {made_by}.")


def _model_of_cell(models: ModelSet | VectorModel, cell: str) -> tuple[int | str, BinnedModel | None]:
    """A key that is given as it is typed, and its model, if there is one."""
    key: int | str = cell
    keys, of_key = (models.classes, models.models) if is_vector(models) else (models.cells, models)
    if not isinstance(keys[0], str):
        digits = cell.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            return cell, None
        key = int(cell)
    return key, of_key.get(key)


def _show_export(export: Exported, path: str, name: str, as_json: bool) -> None:
    for option in filter(is_typed, ("cell", "alpha", "side")):
        raise InputError(f"{name} is a {WORDS[export.target]}, of which the digest is shown; leave out {option_of(option)}")
    if as_json:
        say_json({"path": path, **export._asdict()})
        return
    console().print(f"{name}: a {WORDS[export.target]}, exported from the model whose file has the SHA-256 {export.sha256}.")
    for key, value in export.facts.items():
        console().print(f"{key.removeprefix('fastbin.')}: {value}")
