"""Predictions in a column, without a model: their options, and what `assess` and `report` do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fastbin._base.checks import check_seed
from fastbin._base.errors import InputError, without_warnings
from fastbin.cli._console import is_typed, option_of, working
from fastbin.cli._files import FileDigests, display_name
from fastbin.cli._tables import RowOptions, subject_of
from fastbin.tables.table import check_apart

if TYPE_CHECKING:
    from fastbin.assess import Validation
    from fastbin.assess.validation import ValidationOptions


class PredictionOptions(NamedTuple):
    """The options of a command about a column of predictions."""

    predictions: str | None = None
    by: str | None = None
    day: str | None = None
    cluster: str | None = None
    side: str | None = None
    asset_correlation: float | None = None

    def refuse_idle(self, *, but: tuple[str, ...] = ()) -> None:
        """Refuse options of --predictions without it."""
        for name, value in self._asdict().items():
            if value is not None and name not in but:
                option = option_of(name)
                raise click.UsageError(f"{option} is about the column of --predictions; give that, or leave {option} out")


def refuse_options_of_models(given: dict[str, Any], rows: RowOptions, *, but: tuple[str, ...] = ()) -> None:
    """Refuse options about a MODEL with --predictions."""
    if "alpha" not in but and is_typed("alpha"):
        raise click.UsageError("--alpha is about a MODEL; predictions are tested at --test-level")
    if "seed" not in but and is_typed("seed"):
        raise click.UsageError("--seed is about a MODEL, or about --cluster; leave it out")
    idle = [name for name in ("score", "group", "against", "against_column") if given.get(name)]
    if rows.score is not None:
        idle = ["score", *idle]
    if idle or rows.classes is not None:
        option = option_of(idle[0]) if idle else "--classes"
        raise click.UsageError(f"{option} is about a MODEL, and --predictions is tested without one; leave it out")


def _checked(asked: PredictionOptions, test_level: float) -> ValidationOptions:
    from fastbin.assess.validation import ValidationOptions, check_options

    usual = ValidationOptions()
    try:
        return check_options(asked.side or usual.side, test_level, usual.power, asked.asset_correlation)
    except InputError as error:
        raise InputError(error.rendered(subject_of(error), in_shell=True)) from error


def validate_file(
    file: str, rows: RowOptions, asked: PredictionOptions, *, test_level: float, seed: int | None = None
) -> Validation:
    """Validate the predictions in a column of a file; its source has the files, their SHA-256 and the columns."""
    from fastbin.assess.counted import NamedColumns
    from fastbin.assess.counted_tables import count_table
    from fastbin.assess.validation import validate

    options = _checked(asked, test_level)
    digests = FileDigests()
    table = rows.open(file, watch=digests.watch)
    for role, column in (("grade", asked.by), ("day", asked.day), ("cluster", asked.cluster)):
        check_apart(role, column, label=rows.label_column(table))
    names = NamedColumns(
        table.check_column(str(asked.predictions)), rows.label_column(table),
        **{name: None if column is None else table.check_column(column) for name, column in
           (("segment", rows.segment), ("grade", asked.by), ("day", asked.day), ("weight", rows.weights),
            ("cluster", asked.cluster))},
    )  # fmt: skip
    digests.begin(table)
    with working("testing"), without_warnings():  # what is shown says how rows of a cluster agree
        counts = count_table(table, names, positive=rows.positive, seed=check_seed(seed))
        columns = {name: column for name, column in names._asdict().items() if column is not None}
        event = {} if rows.positive is None else {"positive": rows.positive}
        return validate(counts, options, {"files": digests.end_listed(file), "columns": columns, **event})


def validate_counts_file(file: str, rows: RowOptions, asked: PredictionOptions, *, test_level: float) -> Validation:
    """The same from a file of counts."""
    from fastbin.assess.counted_tables import read_counts
    from fastbin.assess.validation import validate

    options = _checked(asked, test_level)
    digests = FileDigests()
    table = rows.open(file, watch=digests.watch)
    digests.begin(table)
    counts = read_counts(table)
    return validate(counts, options, {"files": digests.end_listed(file), "is_of_counts": True})


def check_report(report: str, file: str | None, rows: RowOptions) -> tuple[list[Any], list[str]]:
    """The differences of a report and what is computed again, and from what it was computed."""
    from fastbin.report.recheck import as_written, differences, from_counts, from_rows, has_rows, read_report

    content = read_report(report)
    again, told = [], []
    with as_written(display_name(report)):
        if has_rows(content):
            again.append(from_counts(content))
            told.append("the counts in it")
    if file is not None:
        digests = FileDigests()
        table = rows.open(file, watch=digests.watch)
        found = digests.begin(table)
        again.append(from_rows(content, table))
        with as_written(display_name(report)):
            stated = sorted(entry["sha256"] for entry in content.get("source", {}).get("files", []))
        other = found and stated and sorted(found.values()) != stated
        what = "the table of counts" if content.get("source", {}).get("is_of_counts") else "the rows"
        told.append(f"{what} of {display_name(file)}{' (another file than that of the report)' if other else ''}")
    if not again:
        raise click.UsageError("the report has the digest of its counts alone; give FILE, whose rows it is about")
    with working("computing"), as_written(display_name(report)):
        return [each for found in again for each in differences(content, found)], told
