"""``fastbin plan``: which rows to label, and when that is enough."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._base.errors import FormatError, InputError
from fastbin._base.shown import how_many
from fastbin.cli import _options as options
from fastbin.cli._console import is_typed, option_of, say, show
from fastbin.cli._files import Output, check_inputs, check_one_printed, display_name, load_model
from fastbin.cli._tables import RowOptions, as_keys, errors_in, read_rows, row_batches

if TYPE_CHECKING:
    from fastbin.decide import LabelPlan
    from fastbin.io import Table

# How a plan begins, which is told from a table of scores by it.
START = b'{"format": "fastbin label plan'
OF_A_NEW_PLAN = ("score", "epsilon", "n_bins", "budget", "bins_of", "alpha", "seed", "score_range")


@click.command(
    short_help="Say which rows to label, until every bin is known well enough.",
    epilog=options.examples(
        "fastbin plan scores.csv --epsilon 0.05 -o plan.json --rows label-these.csv",
        "fastbin plan scores.parquet --id customer --epsilon 0.05 -o plan.json",
        "fastbin plan scores.csv --budget 2000 -o plan.json --rows label-these.csv",
        "fastbin plan plan.json --labels labelled.csv --rows label-these.csv",
        "fastbin fit labelled.csv --plan plan.json -o credit.fbm",
    ),
)
@options.file
@options.score
@options.option("--epsilon E", "How near every bin's rate shall be known, such as 0.05.", float)
@options.option("--n-bins B", "The number of bins.", options.COUNT, 10)
@options.option("--budget N", "In place of --epsilon: so many labels, in equal parts for all bins.", options.COUNT)
@options.option("--bins-of MODEL", "Take the bins of this model.")
@options.option(
    "--id id_column COLUMN", "What identifies a row. Default: row, its number from 0, or the only column beside the labels."
)
@options.option("--labels FILE", "FILE is a plan: take in the labels of this table, of any rows asked for so far.")
@options.label
@options.option("-o --output PLAN", "The plan to write. Default with --labels: FILE itself.")
@options.option("--rows rows_to FILE", "The rows to label next, as CSV, bin by bin; - prints them.", options.PATH)
@options.alpha
@options.option("--seed N", "Decides the random order of rows. Default: one that is drawn; the plan keeps it.", options.SEED)
@options.option("--score-range LOW,HIGH|any", "Where scores must lie.", options.SCORE_RANGE, "0,1")
@options.as_json
@options.collected("new", dict, "epsilon", "n_bins", "budget", "bins_of", "seed", "score_range")
@options.tables
def command(
    file: str, id_column: str | None, labels: str | None, output: str | None, rows_to: str | None, alpha: float, as_json: bool,
    new: dict[str, Any], rows: RowOptions,
) -> None:  # fmt: skip
    """Choose rows of FILE to label, bin by bin, and stop where a bin is known well enough.

    FILE is a table of scores without labels: CSV, Parquet or Arrow, or a folder of such. Rows are asked for in rounds: label
    those of --rows, hand the labels back by --labels, and label the next ones, until all bins are done. Rows with nearly equal
    labels are soon enough, so that a third of the labels of a random sample is saved. Then `fastbin fit --plan` fits the model,
    whose certificate is exact.

    Every row that is asked for needs its label; no others are taken.
    """
    check_one_printed(as_json, output, rows_to)
    check_inputs(FILE=file, labels=labels)
    if _is_plan(file):
        plan, named = _begun(file, labels, id_column, rows)
        target = output or (file if labels is not None else None)
        reads: tuple[str, ...] = (labels,) if labels is not None else ()
    else:
        if labels is not None:
            raise InputError(f"{display_name(file)} holds no plan of labels, which --labels goes with; write one by -o first")
        _keep_labels_of(output)
        plan, target, reads = _planned(file, id_column, alpha, new, rows), output, (file,)
        named = id_column or "row"
    out = Output(target, reads=reads, is_text=True)
    list_out = Output(rows_to, reads=(file, *reads), is_text=True, beside=[out])
    out.write(plan.to_bytes())
    list_out.write(_listed(plan, named))
    if "-" not in (target, rows_to):
        show(plan, as_json, lambda plan: say(str(plan)))


def _is_plan(path: str) -> bool:
    if not os.path.isfile(path):  # what is read of a pipe is lost to the table
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(START)) == START
    except OSError:  # told when it is opened as a table
        return False


def _keep_labels_of(target: str | None) -> None:
    """Refuse to write a new plan over one that holds labels, which rest on the random order in it."""
    if target is None or not _is_plan(target):
        return
    from fastbin.decide import LabelPlan

    name, remedy = display_name(target), "write the new plan to another file, or remove this one"
    try:
        n_labels = int(LabelPlan.load(target).counts.sum())
    except FormatError as error:
        raise InputError(f"{name} is a plan that cannot be read ({error}), and a new plan would destroy it", remedy) from error
    if n_labels:
        remedy = f"go on with it (fastbin plan {name} --labels), {remedy}"
        raise InputError(f"{name} is a plan with {how_many(n_labels, 'label')}, which a new plan would destroy", remedy)


def _planned(file: str, name: str | None, alpha: float, new: dict[str, Any], rows: RowOptions) -> LabelPlan:
    from fastbin.decide import plan_labels

    bins_of = new.pop("bins_of")
    if bins_of is not None and is_typed("n_bins"):
        raise click.UsageError("--n-bins and --bins-of exclude each other: the model has its bins")
    if bins_of is not None:
        new["n_bins"] = None
    table = rows.open(file)
    columns, texts = {"scores": rows.score_column(table)}, {} if name is None else {"ids": table.check_column(name)}
    read = read_rows(table, columns, texts)
    ids = None if name is None else as_keys(read.texts["ids"])
    with errors_in(table, read.columns):
        edges = None if bins_of is None else load_model(bins_of)
        return plan_labels(read.arrays["scores"], ids=ids, edges=edges, alpha=alpha, **new)


def _begun(file: str, labels: str | None, name: str | None, rows: RowOptions) -> tuple[LabelPlan, str]:
    """A plan from its file with these labels, and what its rows are called."""
    from fastbin.decide import LabelPlan

    for option in OF_A_NEW_PLAN:
        if is_typed(option):
            raise click.UsageError(f"{option_of(option)} is for a new plan, and FILE is one; leave it out")
    plan = LabelPlan.load(file)
    if labels is not None:
        name = take_labels(plan, rows.open(labels), name, rows)["rows"]
    return plan, name or "row"


def take_labels(plan: LabelPlan, table: Table, name: str | None, rows: RowOptions) -> dict[str, str]:
    """Hand the labels of a table to a plan; returns the columns that they and their rows are in."""
    label = rows.label_column(table)
    columns = {"labels": label, "rows": _id_column(table, name, label)}
    numbers, texts = {"labels": label}, {"rows": columns["rows"]}
    for read in row_batches(table, numbers, texts, "reading", is_part=True, label="labels", positive=rows.positive):
        labels: Any = read.arrays["labels"]
        if rows.positive is not None:  # so that the plan keeps the name of the event
            labels = np.where(np.asarray(labels) == 1, rows.positive, f"not {rows.positive}").tolist()
        with errors_in(table, columns, read.first_row):
            plan.update(read.texts["rows"].to_pylist(), labels, positive=rows.positive)
    return columns


def _id_column(table: Table, name: str | None, label: str) -> str:
    others = [each for each in table.names if each != label]
    if name is not None:
        return table.check_column(name)
    if "row" in others or len(others) == 1:
        return "row" if "row" in others else others[0]
    raise InputError(f"{table.path}: say --id COLUMN, which tells the rows; it has {table.list_names()}")


def _listed(plan: LabelPlan, name: str) -> bytes:
    """The rows to label next as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name])
    writer.writerows([row] for row in plan.rows().tolist())
    return text.getvalue().encode()
