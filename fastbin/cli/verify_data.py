"""``fastbin verify-data``: whether the rows of a file give a model, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin._base.checks import check_same_event
from fastbin._base.errors import without_warnings
from fastbin.cli import _options as options
from fastbin.cli._console import console, say_json, working
from fastbin.cli._files import FileDigests, check_inputs, display_name, is_vector, load_whole
from fastbin.cli._show import print_table
from fastbin.cli._tables import RowOptions, class_columns, errors_in, keys_like, matrix_of, read_rows
from fastbin.cli.fit import fit_table

if TYPE_CHECKING:
    from fastbin.engines.verifying import AnyModel, DataCheck
    from fastbin.io import Table

DIFFERS = 3


@click.command(
    "verify-data",
    short_help="Fit FILE again as MODEL says, and compare the bytes.",
    epilog=options.examples(
        "fastbin verify-data credit.fbm scores.csv --score p --label y",
        "fastbin verify-data credit.fbm scores.parquet --positive default",
        "fastbin verify-data regions.fbm scores.csv --segment region",
        "fastbin verify-data animals.fbm animals.csv --classes cat,dog,cow",
    ),
)
@options.model
@options.file
@options.score
@options.label
@options.weights
@options.cell_columns
@options.as_json
@options.quiet
@options.tables
def command(model: str, file: str, as_json: bool, quiet: bool, rows: RowOptions) -> int:
    """Fit the rows of FILE again by the configuration and the seed that MODEL states, and compare the bytes.

    The options say which columns the fit was given: scores, outcomes, weights, segments or classes. How the rows were fitted
    stands in MODEL (inspect shows it).

    The same bytes mean that these rows give this model. Otherwise the first difference is told: the number of samples, of those
    with label 1, the fingerprint of the data, the configuration, the version of fastbin, then the edges and values.

    Exit codes: 0 if the bytes are the same, 3 if not, 1 if the rows or the model are refused, such as one whose configuration
    held a fitted calibrator or a long array.
    """
    from fastbin.engines.verifying import compare, estimator_of

    check_inputs(MODEL=model, FILE=file)
    loaded, digests = load_whole(model, "verify"), FileDigests()
    rows.check_cells(model, loaded)
    if not is_vector(loaded):
        check_same_event(loaded.event, rows.positive)
    estimator = estimator_of(loaded)
    table = rows.open(file, watch=digests.watch)
    digests.begin(table)
    with without_warnings():  # of which the first fit has told
        found = compare(loaded, _fit_again(loaded, estimator, table, rows))
    files = digests.end_listed(file)
    if as_json:
        say_json({"model": model, "file": file, "files": files, **found.to_dict()})
    elif not quiet:
        _show(found, files)
    return 0 if found.is_same else DIFFERS


def _fit_again(model: AnyModel, estimator: Any, table: Table, rows: RowOptions) -> AnyModel:
    """The fit of a table by the estimator of a model."""
    if is_vector(model) or (model.is_set and model.kind != "segments"):
        names, label = class_columns(table, model, rows.class_columns), rows.label_column(table)
        read = read_rows(table, {**names, **rows.weight_column(table)}, {"labels": label})
        with errors_in(table, read.columns), working("fitting"):
            truth, weights = keys_like(model, read.texts["labels"], "labels"), read.arrays.get("sample_weight")
            again: AnyModel = estimator.fit(matrix_of(read.arrays), truth, sample_weight=weights).model_
        return again
    columns = rows.columns(table)
    if not model.is_set:
        return fit_table(table, columns, estimator, {}, rows.positive)
    read = read_rows(table, columns, {"segments": str(rows.segment)}, label="labels", positive=rows.positive)
    with errors_in(table, read.columns), working("fitting"):
        refitted: AnyModel = estimator.fit(segments=keys_like(model, read.texts["segments"], "segments"), **read.arrays).model_
    return refitted


def _show(found: DataCheck, files: list[dict[str, str]]) -> None:
    out = console()
    for each in files:
        out.print(f"{display_name(each['name'])}: SHA-256 {each['sha256']}.")
    out.print(f"{found.sentence}.", style="bold")
    if found.differences:
        titles = ("difference in", "model", "these rows")
        columns = dict(zip(titles, map(list, zip(*found.differences, strict=True)), strict=True))
        print_table(out, columns, len(found.differences))
    out.print(f"Made by {found.made_by}.")
