"""``fastbin monitor``: is a deployed model still calibrated?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._base.errors import FormatError, InputError
from fastbin.cli import _options as options
from fastbin.cli._cells import CellOptions, LabelledColumns
from fastbin.cli._console import console, note, reading, say_json, text_table
from fastbin.cli._files import TableOptions, errors_in
from fastbin.cli._key_column import KeyOptions, KeySource
from fastbin.cli._state import CountedFiles, StateFile, locked
from fastbin.cli._streams import Output, check_inputs, load_any
from fastbin.guarantees.certificate import sureness
from fastbin.io import Table
from fastbin.tables.files import ColumnReader

if TYPE_CHECKING:
    from fastbin.online import CalibrationMonitor, MonitorReport

ALARM = 3


@click.command(
    short_help="Check on new outcomes whether MODEL is still calibrated.",
    epilog=options.examples(
        "fastbin monitor credit.fbm outcomes.csv --score p --label y --tolerance 0.03",
        "fastbin monitor credit.fbm mon.csv --tolerance 0.03 --state credit.mon",
        "fastbin monitor credit.fbm tue.csv wed.csv --state credit.mon --exit-code",
        "fastbin monitor credit.fbm outcomes.parquet --interval-alpha 0.05 --json",
    ),
)
@options.model
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@options.score
@options.label
@options.cells
@options.option("--alpha A", "The probability of ever raising a false alarm.  [default: 0.05]", options.ALPHA)
@options.option(
    "--tolerance T",
    "How far a true rate may be from the value served before it counts as drift. With 0, any difference is detected in the "
    "end, even the error of the estimate.  [default: 0]",
    click.FloatRange(0.0, 1.0),
)
@options.option(
    "--interval-alpha A",
    "Tolerate the model's own intervals at this level, widened by --tolerance; adds A to the chance of a false alarm.",
    options.ALPHA,
)
@options.option(
    "--state FILE",
    "Continue from this file if it exists, and write it again, so that outcomes can be checked day by day.",
    options.PATH,
)
@click.option("--again", is_flag=True, help="Count files even if they were counted before.")
@options.option("--wait SECONDS", "How long to wait while another process updates the state.", click.FloatRange(0.0), 60.0)
@options.keys
@options.option("--seed N", "Break ties by row number and this seed. Default: that of the model.", options.SEED)
@options.exit_code(ALARM, "the alarm is on")
@options.as_json
@options.tables
def command(
    model: str,
    files: tuple[str, ...],
    state: str | None,
    again: bool,
    wait: float,
    keys: KeyOptions,
    exit_code: bool,
    as_json: bool,
    rows: TableOptions,
    cells: CellOptions,
    **settings: Any,
) -> int:
    """Check the outcomes in FILE of scores that MODEL was used on.

    The alarm is raised when the outcomes show that the true rate of label 1 in some bin has not always been within the
    tolerance of the value that is served (of a model with steps: of the average of what it served in the bin at its fit). It
    may be checked as often as one likes: the probability of ever raising a false alarm stays below --alpha. Rates and intervals
    in the table are averages since the monitor began: if a rate has changed, its present value may lie outside. "found at" is
    the outcome at which the drift of a bin was established.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input. Its rows are outcomes
    that were not counted before, in any order that does not depend on them. A file that was counted before is refused; it is
    recognised by its content, not by its name. The state is written after the report is printed: after a failure, run the same
    command again.

    MODEL may be a set: all bins of all its models are watched together. Outcomes of segments that it does not know are left
    out. A set for predicted classes is watched by whether its predictions are right; a class-wise set cannot be.
    """
    check_inputs(MODEL=model, FILE=files)
    with locked(state, wait):
        state_file = None if state is None else StateFile(state)
        monitor = _begin(model, state_file, settings, cells)
        Output(state, reads=(model, *files))  # refuses a state that could not be written at the end
        _count(monitor, files, rows, keys, again, cells)
        _print(monitor.report(), as_json)
        if state_file is not None:
            state_file.save(monitor)
    return ALARM if exit_code and monitor.alarm else 0


def _begin(model: str, file: StateFile | None, settings: dict[str, Any], cells: CellOptions) -> CalibrationMonitor:
    """A new monitor, or that of the state file, which must be of this model and of these settings."""
    from fastbin.online import CalibrationMonitor

    loaded, given = load_any(model), {name: value for name, value in settings.items() if value is not None}
    cells.check(model, loaded)
    if file is None or file.content is None:
        return CalibrationMonitor(loaded, **given)
    state = file.path
    try:
        monitor = CalibrationMonitor.from_bytes(file.content)
    except FormatError as error:
        raise FormatError(f"{state}: {error}") from None
    if not monitor.belongs_to(loaded):
        raise InputError(f"{state} monitors another model than {model}; name another state file")
    if given:
        as_given = CalibrationMonitor(loaded, **{"alpha": monitor.alpha, "interval_alpha": monitor.interval_alpha, **given})
        same = as_given.alpha == monitor.alpha and as_given.interval_alpha == monitor.interval_alpha
        if not same or ("tolerance" in given and (as_given.tolerated != monitor.tolerated).any()):
            raise InputError(f"{state} was begun with other settings; leave out --alpha, --tolerance and --interval-alpha")
    return monitor


def _count(
    monitor: CalibrationMonitor, files: tuple[str, ...], rows: TableOptions, keys: KeyOptions, again: bool, cells: CellOptions
) -> None:
    """Give the monitor all rows of all files, each file once."""
    counted = CountedFiles(monitor, again)
    for file in files:
        digest = hashlib.sha256()
        table = rows.open(file, watch=digest.update)
        if table.can_be_read_again:
            for part in table.files:
                counted.check_file(part)
        if cells.are_given:
            _count_cells(monitor, table, rows, keys, cells)
        else:
            _count_rows(monitor, table, rows, keys)
        if not table.can_be_read_again:
            counted.check_digest(digest.digest(), file)
    counted.check_unchanged()
    counted.mark()


def _count_rows(monitor: CalibrationMonitor, table: Table, rows: TableOptions, keys: KeyOptions) -> None:
    """Give the monitor all rows of a table."""
    columns = rows.columns(table)
    source = KeySource(table, keys) if keys.column is not None else None
    reader = ColumnReader(table, columns, label="labels", positive=rows.positive)
    needs_key = not monitor.model.is_set and monitor.model.needs_key
    names = list(dict.fromkeys([*reader.names, *([keys.column] if needs_key and keys.column is not None else [])]))
    with reading(table, "counting outcomes") as watched:
        for batch in watched(table.batches(names)):
            first_row, needed = reader.first_row, np.full(len(batch), True)
            arrays = reader.read(batch)
            batch_keys = None if source is None or not needs_key else source.keys(batch, first_row, needed)
            with errors_in(table, columns, first_row):
                monitor.update(arrays["scores"], arrays["labels"], keys=batch_keys, seed=keys.seed)


def _count_cells(monitor: CalibrationMonitor, table: Table, rows: TableOptions, keys: KeyOptions, cells: CellOptions) -> None:
    """Give the monitor of a set all rows of a table."""
    models = monitor.model
    assert models.is_set
    if keys.column is not None:
        raise InputError("--key does not go with a set in this command; ties are broken by row number and --seed")
    n_unknown = 0
    for batch in LabelledColumns(models, table, rows, cells).batches("counting outcomes"):
        arrays = batch.arrays
        with errors_in(table, batch.columns, batch.first_row):
            known = models.find(arrays["cells"]) >= 0
            if not known.all():
                n_unknown += int((~known).sum())
                arrays = {
                    name: np.asarray(column, dtype=object if name == "cells" else None)[known]
                    for name, column in arrays.items()
                }
            monitor.update(**arrays, seed=keys.seed)
    if n_unknown:
        note(f"{n_unknown:,} outcomes are of cells that the set does not know, and are left out")


def _print(report: MonitorReport, as_json: bool) -> None:
    """Print the value served in every bin, and the outcomes."""
    if as_json:
        say_json(report.to_dict())
        return
    served = "served on average" if report.n_steps else "served"
    titles = [
        *(["cell"] if report.is_set else []),
        "bin",
        served,
        "tolerated",
        "outcomes",
        "rate",
        f"{sureness(report.alpha)} interval",
        "evidence",
        "found at",
    ]
    rows = []
    for b in report.bins:
        rate = f"{b.label_sum / b.count:.4f}" if b.count else ""
        tolerated, interval = (f"{low:.4f} to {high:.4f}" for low, high in (b.tolerated, b.interval))
        since = "" if b.named_at is None else f"{b.named_at:,}"
        place = ["the pool" if b.cell is None else str(b.cell)] if report.is_set else []
        rows.append(
            [*place, str(b.bin), f"{b.value:.4f}", tolerated, f"{b.count:,}", rate, interval, f"{b.max_e_value:.3g}", since]
        )
    out = console()
    out.print(str(report), style="bold" if report.alarm else None)
    out.print()
    out.print(text_table(titles, rows, max_rows=30))
