"""A set of models in words and as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastbin._errors import GuaranteeError
from fastbin._set_table import cell_words, set_summary
from fastbin.cli._console import text_table
from fastbin.cli._model_view import print_promise
from fastbin.guarantees.words import event_words, sureness

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.guarantees import SetCertificate
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet


summary = set_summary  # as for one model


def facts(models: ModelSet) -> Iterator[str]:
    """What else a user must know about a set, one sentence each."""
    if models.event:
        yield f"Values are the probability of {event_words(models.event)}."
    pooled = models.pooled_keys
    if pooled:
        named = ", ".join(map(str, pooled[:8])) + (f" and {len(pooled) - 8:,} more" if len(pooled) > 8 else "")
        cells = f"{len(pooled):,} cell{'s' * (len(pooled) != 1)}"
        yield f"The pool is the model of {cells} with too few samples for a model of their own: {named}."
    if models.unknown == "pool":
        yield "Rows of other cells get the value of the pool, without an interval and without a promise."
    else:
        yield "Rows of other cells are refused."


def promise(models: ModelSet, alpha: float) -> tuple[SetCertificate | None, str]:
    """The joint certificate and its sentence, or none and the reason."""
    from fastbin.guarantees import SetCertificate

    try:
        certificate = models.certificate(alpha)
    except GuaranteeError as error:
        return None, f"No certificate: {error}."
    assert isinstance(certificate, SetCertificate)
    return certificate, str(certificate)


def show(out: Console, models: ModelSet, alpha: float, max_rows: int | None = None) -> None:
    """Print the facts, the table of cells, and the joint certificate."""
    for fact in facts(models):
        out.print(fact)
    certificate, sentence = promise(models, alpha)
    parts = None if certificate is None else dict(certificate.parts)
    words = cell_words(models, parts, f"epsilon ({sureness(alpha)} joint)")
    out.print()
    out.print(text_table(list(words), list(zip(*words.values(), strict=True)), max_rows))
    out.print()
    print_promise(out, certificate, sentence)


def set_as_json(models: ModelSet, alpha: float) -> dict[str, Any]:
    """Everything that `show` prints, unrounded, and every model."""
    from fastbin.cli.inspect import model_as_json

    certificate, sentence = promise(models, alpha)
    fields = ("kind", "unknown", "event", "n_models", "n_bins", "n_samples", "provenance")
    return {
        **{field: getattr(models, field) for field in fields},
        "keys": list(models.keys),
        "pooled_keys": list(models.pooled_keys),
        "columns": None if models.columns is None else list(models.columns),
        "sha256": hashlib.sha256(models.to_bytes()).hexdigest(),
        "models": [{"cell": name, **model_as_json(model, alpha)} for name, model in models.numbered],
        "alpha": alpha,
        "certificate": None if certificate is None else {"sentence": sentence, **certificate.to_dict()},
        "why_no_certificate": sentence if certificate is None else None,
    }


def model_of_cell(models: ModelSet, cell: str) -> BinnedModel | None:
    """The model of a key as it is typed."""
    key: int | str = cell
    if not isinstance(models.keys[0], str):
        digits = cell.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            return None
        key = int(cell)
    model: BinnedModel | None = models.get(key)
    return model
