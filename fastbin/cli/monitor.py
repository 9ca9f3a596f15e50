"""``fastbin monitor``: is a deployed model still calibrated?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fastbin.cli._options import ALPHA, SEED, examples, json_option, key_options, label_option, score_option, table_options

if TYPE_CHECKING:
    from fastbin.cli._key_column import KeyOptions
    from fastbin.cli._state import StateFile
    from fastbin.io import Table
    from fastbin.online import CalibrationMonitor, MonitorReport

__all__ = ["command"]

ALARM = 3


@click.command(
    short_help="Is what MODEL serves still true? Look at new outcomes.",
    epilog=examples(
        "fastbin monitor credit.fbm outcomes.csv --score p --label y --tolerance 0.03",
        "fastbin monitor credit.fbm mon.csv --tolerance 0.03 --state credit.mon",
        "fastbin monitor credit.fbm tue.csv wed.csv --state credit.mon --exit-code",
        "fastbin monitor credit.fbm outcomes.parquet --interval-alpha 0.05 --json",
    ),
)
@click.argument("model", type=click.Path())
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@score_option
@label_option
@click.option("--alpha", type=ALPHA, metavar="A", help="The chance of ever raising a false alarm.  [default: 0.05]")
@click.option(
    "--tolerance",
    type=click.FloatRange(0.0, 1.0),
    metavar="T",
    help="How far a true rate may be from the value served before it counts as drift. 0 finds any difference in the end, also "
    "that of an estimate from the truth.  [default: 0]",
)
@click.option(
    "--interval-alpha",
    type=ALPHA,
    metavar="A",
    help="Tolerate the model's own intervals at this level, widened by --tolerance; adds A to the chance of a false alarm.",
)
@click.option(
    "--state",
    type=click.Path(),
    metavar="FILE",
    help="Go on from this file if it is there, and write it again: so that outcomes can be looked at day by day.",
)
@click.option("--again", is_flag=True, help="Count files also that were counted before.")
@click.option(
    "--wait",
    type=click.FloatRange(0.0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait while another process updates the state.",
)
@key_options
@click.option("--seed", type=SEED, metavar="N", help="Break ties by row number and this seed. Default: that of the model.")
@click.option("--exit-code", is_flag=True, help=f"Exit with {ALARM} if the alarm is on.")
@json_option
@table_options
def command(
    model: str,
    files: tuple[str, ...],
    score: str | None,
    label: str | None,
    positive: str | None,
    state: str | None,
    again: bool,
    wait: float,
    exit_code: bool,
    as_json: bool,
    csv_format: dict[str, Any],
    **settings: Any,
) -> int:
    """Look at the outcomes in FILE of scores that MODEL was used on.

    The alarm is raised when the outcomes show that some bin's true rate of label 1 has not always been within the tolerance of
    the value that is served. It may be looked for as often as one likes: the chance of ever raising a false alarm stays below
    --alpha. Rates and intervals in the table are averages since the monitor began: where a rate has changed, what it is now
    may lie outside. "found at" is the outcome at which a bin's drift was established.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input. Its rows are outcomes
    not looked at before, in any order that does not depend on them. A file that was counted before, by what it holds and not
    by its name, is refused. The state is written when the report is out: after a failure, run the same again.
    """
    from fastbin.cli._key_column import KeyOptions
    from fastbin.cli._state import StateFile, locked
    from fastbin.cli._streams import check_inputs, check_output

    key = KeyOptions.take(settings)
    check_inputs(MODEL=model, FILE=files)
    with locked(state, wait):
        held = None if state is None else StateFile(state)
        monitor = _begin(model, held, settings)
        if state is not None:
            check_output(state, overwrites=(model, *files))
        _count(monitor, files, _Columns(score, label, positive, key, csv_format), again)
        _tell(monitor.report(), as_json)
        if held is not None:
            held.save(monitor)
    return ALARM if exit_code and monitor.alarm else 0


class _Columns(NamedTuple):
    """What is read of every file."""

    score: str | None
    label: str | None
    positive: str | None
    key: KeyOptions
    csv_format: dict[str, Any]


def _begin(model: str, held: StateFile | None, settings: dict[str, Any]) -> CalibrationMonitor:
    """A new monitor, or that of the state file, which must be of this model and of these settings."""
    from fastbin._errors import FormatError, InputError
    from fastbin.cli._streams import load_model
    from fastbin.online import CalibrationMonitor

    loaded, given = load_model(model), {name: value for name, value in settings.items() if value is not None}
    if held is None or held.found is None:
        return CalibrationMonitor(loaded, **given)
    state = held.path
    try:
        monitor = CalibrationMonitor.from_bytes(held.found)
    except FormatError as error:
        raise FormatError(f"{state}: {error}") from None
    if monitor.model != loaded:
        raise InputError(f"{state} watches another model than {model}; name another state file")
    if given:
        as_given = CalibrationMonitor(loaded, **{"alpha": monitor.alpha, "interval_alpha": monitor.interval_alpha, **given})
        same = as_given.alpha == monitor.alpha and as_given.interval_alpha == monitor.interval_alpha
        if not same or ("tolerance" in given and (as_given.tolerated != monitor.tolerated).any()):
            raise InputError(f"{state} was begun with other settings; leave out --alpha, --tolerance and --interval-alpha")
    return monitor


def _count(monitor: CalibrationMonitor, files: tuple[str, ...], columns: _Columns, again: bool) -> None:
    """Feed the monitor all rows of all files, each file once."""
    import hashlib

    from fastbin.cli._files import open_input
    from fastbin.cli._state import CountedFiles

    counted = CountedFiles(monitor, again)
    for file in files:
        digest = hashlib.sha256()
        table = open_input(file, columns.csv_format, watch=digest.update)
        if table.can_be_read_again:
            for part in table.files:
                counted.check_file(part)
        _look(monitor, table, columns)
        if not table.can_be_read_again:
            counted.check_digest(digest.digest(), file)
    counted.check_unchanged()
    counted.mark()


def _look(monitor: CalibrationMonitor, table: Table, columns: _Columns) -> None:
    """Feed the monitor all rows of a table."""
    import numpy as np

    from fastbin.cli._console import reading
    from fastbin.cli._files import choose_columns, in_words_of
    from fastbin.io.columns import read_numbers
    from fastbin.io.labels import Labels

    score, label = choose_columns(table, columns.score, columns.label)
    keys = columns.key.source(table) if columns.key.column is not None else None
    first_row, labels = 0, Labels(table, label, columns.positive)
    with reading(table, "looking at outcomes") as update:
        for batch in table.batches():
            column = {name: batch.column(table.names.index(name)) for name in (score, label)}
            scores, ones = read_numbers(table, score, column[score], first_row), labels.read(column[label], first_row)
            needed = np.full(len(scores), True)
            batch_keys = None if keys is None or not monitor.model.needs_key else keys.keys(batch, first_row, needed)
            with in_words_of(table, {"scores": score, "labels": label}, first_row):
                monitor.update(scores, ones, keys=batch_keys, seed=columns.key.seed)
            first_row += len(batch)
            update()


def _tell(report: MonitorReport, as_json: bool) -> None:
    from fastbin.cli._console import console, say

    if as_json:
        import json

        say(json.dumps(report.to_dict(), indent=2, allow_nan=False))
        return
    out = console()
    out.print(str(report), style="bold" if report.alarm else None)
    out.print()
    out.print(_table(report))


def _table(report: MonitorReport, max_rows: int = 30) -> Any:
    """What was served in every bin, and what happened."""
    from rich import box
    from rich.table import Table

    from fastbin.guarantees.words import sureness

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    interval = f"{sureness(report.alpha)} interval"
    for title in ("bin", "served", "tolerated", "outcomes", "rate", interval, "evidence", "found at"):
        table.add_column(title, justify="right", no_wrap=True)
    n_bins = len(report.bins)
    skipped = range(max_rows // 2, n_bins - max_rows // 2) if n_bins > max_rows else range(0)
    for b in report.bins:
        if b.bin in skipped:
            if b.bin == skipped.start:
                table.add_row(*["..."] * len(table.columns))
            continue
        rate = f"{b.label_sum / b.count:.4f}" if b.count else ""
        ends = [f"{low:.4f} to {high:.4f}" for low, high in (b.tolerated, b.interval)]
        since = "" if b.named_at is None else f"{b.named_at:,}"
        table.add_row(str(b.bin), f"{b.value:.4f}", ends[0], f"{b.count:,}", rate, ends[1], f"{b.max_e_value:.3g}", since)
    return table
