"""``fastbin monitor``: is a deployed model still calibrated?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastbin.cli._options import ALPHA, SEED, delimiter_option, examples, json_option, label_option, score_option

if TYPE_CHECKING:
    from fastbin.cli._scoring import KeySource
    from fastbin.online import CalibrationMonitor, MonitorReport
    from fastbin.scale import Table

__all__ = ["command"]

ALARM = 3


@click.command(
    short_help="Is what MODEL serves still true? Look at new outcomes.",
    epilog=examples(
        "fastbin monitor credit.fbm outcomes.csv --score p --label y --tolerance 0.03",
        "fastbin monitor credit.fbm mon.csv --tolerance 0.03 --state credit.mon",
        "fastbin monitor credit.fbm tue.csv --state credit.mon --exit-code",
        "fastbin monitor credit.fbm outcomes.parquet --interval-alpha 0.05 --json",
    ),
)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
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
@click.option("--key", metavar="COLUMN", help="The keys, or ids, that the rows were scored with; see predict.")
@click.option("--salt", metavar="TEXT", help="The secret that they were hashed with.")
@click.option("--seed", type=SEED, metavar="N", help="Break ties by row number and this seed. Default: that of the model.")
@click.option("--exit-code", is_flag=True, help=f"Exit with {ALARM} if the alarm is on.")
@json_option
@delimiter_option
def command(
    model: str,
    file: str,
    score: str | None,
    label: str | None,
    state: str | None,
    key: str | None,
    salt: str | None,
    seed: int | None,
    exit_code: bool,
    as_json: bool,
    delimiter: str | None,
    **settings: Any,
) -> int:
    """Look at the outcomes in FILE of scores that MODEL was used on.

    The alarm is raised when the outcomes show that some bin's true rate of label 1 has not always been within the tolerance of
    the value that is served. It may be looked for as often as one likes: the chance of ever raising a false alarm stays below
    --alpha. Rates and intervals in the table are averages since the monitor began: where a rate has changed, what it is now
    may lie outside. "found at" is the outcome at which a bin's drift was established.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input. Its rows are outcomes not looked at before, in
    any order that does not depend on them.
    """
    from fastbin.cli._files import check_output, choose_columns
    from fastbin.cli._scoring import KeySource
    from fastbin.scale import open_table

    if salt is not None and key is None:
        raise click.UsageError("--salt is for the ids in --key COLUMN; give that too")
    if seed is not None and key is not None:
        raise click.UsageError("--seed and --key exclude each other: both say how ties are broken")
    monitor = _begin(model, state, settings)
    if state is not None:
        check_output(state, overwrites=(model, file))
    table = open_table(file, delimiter)
    keys = None if key is None else KeySource(table, table.check_column(key), salt, None)
    _look(monitor, table, choose_columns(table, score, label), keys, seed)
    if state is not None:
        monitor.save(state)
    _tell(monitor.report(), as_json)
    return ALARM if exit_code and monitor.alarm else 0


def _begin(model: str, state: str | None, settings: dict[str, Any]) -> CalibrationMonitor:
    """A new monitor, or that of the state file, which must be of this model and of these settings."""
    from fastbin._errors import InputError
    from fastbin._load import load
    from fastbin.online import CalibrationMonitor

    loaded, given = load(model), {name: value for name, value in settings.items() if value is not None}
    if state is None or not Path(state).exists():
        return CalibrationMonitor(loaded, **given)
    monitor = CalibrationMonitor.load(state)
    if monitor.model != loaded:
        raise InputError(f"{state} watches another model than {model}; name another state file")
    if given:
        as_given = CalibrationMonitor(loaded, **{"alpha": monitor.alpha, "interval_alpha": monitor.interval_alpha, **given})
        same = as_given.alpha == monitor.alpha and as_given.interval_alpha == monitor.interval_alpha
        if not same or ("tolerance" in given and (as_given.tolerated != monitor.tolerated).any()):
            raise InputError(f"{state} was begun with other settings; leave out --alpha, --tolerance and --interval-alpha")
    return monitor


def _look(
    monitor: CalibrationMonitor, table: Table, columns: tuple[str, str], keys: KeySource | None, seed: int | None
) -> None:
    """Feed the monitor all rows of the file."""
    import numpy as np

    from fastbin.cli._console import reading
    from fastbin.cli._files import in_words_of
    from fastbin.scale.columns import read_numbers

    first_row = 0
    with reading(table, "looking at outcomes") as update:
        for batch in table.batches():
            scores, labels = (read_numbers(table, name, batch.column(table.names.index(name)), first_row) for name in columns)
            needed = np.full(len(scores), True)
            batch_keys = None if keys is None or not monitor.model.needs_key else keys.keys(batch, first_row, needed)
            with in_words_of(table, {"scores": columns[0], "labels": columns[1]}, first_row):
                monitor.update(scores, labels, keys=batch_keys, seed=seed)
            first_row += len(batch)
            update()


def _tell(report: MonitorReport, as_json: bool) -> None:
    from fastbin.cli._console import console

    if as_json:
        import json

        click.echo(json.dumps(report.to_dict(), indent=2, allow_nan=False))
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
