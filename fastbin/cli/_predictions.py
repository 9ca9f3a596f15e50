"""Predictions in a column of a table, tested without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin.cli._cells import CellOptions, as_keys, read_rows
from fastbin.cli._console import console, say_json, working
from fastbin.cli._files import TableOptions, errors_in
from fastbin.cli._streams import display_name

if TYPE_CHECKING:
    from fastbin.assess import PredictionCheck


def check_column(
    file: str, rows: TableOptions, predictions: str, by: str | None, side: str, *, alpha: float, as_json: bool
) -> PredictionCheck:
    """Test the predictions in a column, by the grades in another, and print the answer."""
    from fastbin.assess import check_predictions

    table = rows.open(file)
    columns = {"p": table.check_column(predictions), "labels": rows.label_column(table)}
    if rows.weights is not None:
        columns["sample_weight"] = table.check_column(rows.weights)
    texts = {} if by is None else {"by": table.check_column(by)}
    read = read_rows(table, columns, texts, label="labels", positive=rows.positive, whole=("sample_weight",))
    arrays: Any = read.arrays
    with errors_in(table, columns), working("testing"):
        grades = None if by is None else as_keys(read.texts["by"])
        check = check_predictions(
            arrays["p"], arrays["labels"], grades, side, alpha=alpha, sample_weight=arrays.get("sample_weight")
        )
    if as_json:
        say_json({"file": display_name(file), "predictions": predictions, "by": by, **check.to_dict()})
    else:
        console().print(str(check))
    return check


def check_options(model: str, file: str | None, predictions: str | None, given: dict[str, Any], cells: CellOptions) -> str:
    """The file to read; refuses what does not go together with --predictions, or without."""
    if predictions is None:
        for name in ("by", "side"):
            if given[name] is not None:
                raise click.UsageError(f"--{name} is about the column of --predictions; give that, or leave --{name} out")
        if file is None:
            raise click.UsageError("Missing argument 'FILE'.")
        return file
    if file is not None:
        raise click.UsageError("with --predictions there is no MODEL: give FILE alone")
    idle = [name for name in ("score", "group", "against", "against_column") if given[name]]
    if idle or cells.are_given:
        option = f"--{idle[0].replace('_', '-')}" if idle else "--segment or --classes"
        raise click.UsageError(f"{option} is about a MODEL, and --predictions is tested without one; leave it out")
    return model
