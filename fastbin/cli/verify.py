"""``fastbin verify``: whether an exported file says what its model says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._base.errors import InputError
from fastbin.cli import _options as options
from fastbin.cli._console import option_of, say, show, working
from fastbin.cli._files import check_inputs, display_name, load_whole, without_vectors
from fastbin.cli._tables import KeyOptions, KeySource, RowOptions, errors_in, keys_like, row_batches
from fastbin.cli.export import DIALECTS, TARGETS, choose_target
from fastbin.export.form import OUTPUTS, needs_keys
from fastbin.export.verify import gives_in

if TYPE_CHECKING:
    from fastbin.io import Table
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet

DIFFERS, NOT_RUN = 1, 4


@click.command(
    short_help="Run an export of MODEL, and compare its answers.",
    epilog=options.examples(
        "fastbin verify credit.fbm --against credit.onnx",
        "fastbin verify credit.json --against credit.sql --score p",
        "fastbin verify set.fbm --against set.h --run --scores new.parquet --cell region",
    ),
)
@options.model
@options.option("--against FILE", "What was exported.", required=True)
@options.option(f"--to target {'|'.join(TARGETS)}", "What FILE is. Default: by its suffix.")
@options.option("--scores FILE", "Scores to compare on too: CSV or Parquet.")
@options.option(
    "--score COLUMN",
    "The column of scores, which SQL calls so too. Default: the only one with a usual name; without --scores, p.",
)
@options.option("--cell COLUMN", "For a set of models: the column of the keys of cells, which SQL calls so too.")
@options.keys
@options.option("--seed N", "Without --tie-key, ties are broken by row number and this seed.", options.SEED)
@options.option("--dialect NAME", "For SQL: the engine it is for. Default: what FILE says.", click.Choice(DIALECTS))
@options.option(f"--outputs {'|'.join(OUTPUTS)}", "For SQL: what it gives. Default: what FILE says, or value.")
@options.option("--source NAME", "For SQL that makes tables: how it calls the table of scores. Default: scores.")
@options.option("--alpha A", "With intervals: their alpha. Default: what FILE says.")
@options.option("--run", "Compile and run C, Java and JavaScript, with all your rights: only what you trust.")
@options.tables
@options.as_json
def command(
    model: str, against: str, target: str | None, scores: str | None, cell: str | None, keys: KeyOptions,
    dialect: str | None, outputs: str | None, source: str | None, alpha: float | None, rows: RowOptions, run: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Run what was exported from MODEL (a file, also of JSON), and compare all bits of its answers.

    It is compared on the scores in --scores, and always on the hard ones: every edge and the doubles beside it, zeros,
    infinities, scores out of range, unknown cells. SQL is run by DuckDB, SQLite or Polars, in memory, ONNX by onnxruntime. With
    --run, C is compiled by cc, gcc or clang and run, Java by javac, JavaScript is run by node: such a program can do all that
    you can, so run what you trust.

    Exit codes: 0 if the digest and all answers are those of MODEL, 1 if not, 2 if an option or a file is refused, 4 if FILE
    cannot be run here.
    """
    from fastbin.export import verify

    check_inputs(MODEL=model, __against=against, __scores=scores)
    loaded, chosen = without_vectors(load_whole(model, "compare with"), model), choose_target(target, against)
    for reason in _misfits(
        loaded, chosen, has_scores=scores is not None, cell=cell, keys=keys, rows=rows,
        of_sql={"dialect": dialect, "outputs": outputs, "source": source}, alpha=alpha,
    ):  # fmt: skip
        raise click.UsageError(reason)
    exported = Path(against).read_bytes()  # once, as it may be a pipe
    if chosen == "sql" and dialect is None and exported.strip() and gives_in(exported.decode("utf8", "replace")) is None:
        raise click.UsageError("say --dialect of the SQL: " + ", ".join(DIALECTS))
    given: dict[str, Any] = {"score": rows.score or "p"}
    if scores is not None:
        table = rows.open(scores)
        given = {"score": rows.score_column(table), **_columns(table, loaded, rows, cell, keys)}
    with working("comparing"):
        result = verify(
            loaded, exported, target=chosen, dialect=dialect, what=outputs, alpha=alpha, tie_key=keys.column, cell=cell,
            source=source or "scores", run_code=run, **given,
        )  # fmt: skip
    words = f"{display_name(against)}, of {display_name(model)}:\n{result}"
    show(result, as_json, lambda _: say(words), path=against)
    return DIFFERS if result.is_wrong else 0 if result.is_same else NOT_RUN


def _misfits(
    model: BinnedModel | ModelSet, target: str, *, has_scores: bool, cell: str | None, keys: KeyOptions, rows: RowOptions,
    of_sql: dict[str, str | None], alpha: float | None,
) -> Iterator[str]:  # fmt: skip
    """Options that do not apply to this model and file, and would be ignored."""
    for name, value in of_sql.items():
        if value is not None and target != "sql":
            yield f"{option_of(name)} is not for {target}; it is for sql"
    if alpha is not None and target == "json":
        yield "--alpha is not for json, which has no intervals of its own"
    if cell is not None and not model.is_set:
        yield "--cell is for a set of models, and MODEL is one; leave it out"
    if keys.column is not None and not needs_keys(model):
        yield "--tie-key is for models that split ties by key, and MODEL compares none; leave it out"
    if has_scores:
        return
    for name, value in (("score", rows.score), ("cell", cell), ("tie_key", keys.column)):
        if value is not None and target != "sql":
            yield f"{option_of(name)} names a column; give --scores FILE too"
    if keys.seed is not None:
        yield "--seed breaks the ties of --scores FILE; give that too"
    if replace(rows, score=None) != RowOptions():
        yield "--delimiter, --decimal, --encoding and --memory-limit are for --scores FILE; give that too"


def _columns(
    table: Table, model: BinnedModel | ModelSet, rows: RowOptions, cell: str | None, options: KeyOptions
) -> dict[str, Any]:
    """The scores of a file, and where the model asks for them the keys and the cells."""
    score, is_keyed = rows.score_column(table), needs_keys(model)
    if model.is_set and cell is None:
        raise click.UsageError("say --cell COLUMN, as the model is a set")
    source = KeySource(table, options, hexadecimal=True)
    columns = {"cells": str(cell)} if model.is_set else {}
    batches = row_batches(
        table, {"scores": score}, columns, "reading", keys=source if is_keyed else None, is_part=True, propagate=["scores"]
    )
    found: dict[str, list[Any]] = {}
    for arrays, texts, _, first_row in batches:
        if model.is_set:
            with errors_in(table, columns, first_row):
                keys = keys_like(model, texts["cells"])
            arrays["cells"] = keys if isinstance(keys, np.ndarray) else np.array(texts["cells"].to_pylist(), object)
        for name, column in arrays.items():
            found.setdefault(name, []).append(column)
    if not found:
        raise InputError(f"{table.path} has no rows")
    return {name: np.concatenate(parts) for name, parts in found.items()}
