"""``fastbin monitor``: is a deployed model still calibrated?"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.errors import FormatError, InputError
from fastbin._base.files import TEMPORARIES, is_replaceable, read_saved
from fastbin._base.shown import how_many
from fastbin.cli import _options as options
from fastbin.cli._console import console, note, show
from fastbin.cli._files import FileDigests, Output, check_inputs, check_target, display_name, load_any
from fastbin.cli._show import print_table
from fastbin.cli._tables import KeyOptions, KeySource, LabelledColumns, RowOptions, errors_in
from fastbin.io import Table
from fastbin.tables.table import check_apart

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.online import CalibrationMonitor, MonitorReport

PAUSE = 0.02  # seconds between two looks at a lock
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
@options.option("--alpha A", "The probability of ever raising a false alarm.  [default: 0.05]")
@options.option(
    "--tolerance T",
    "How far a true rate may be from the value served before it counts as drift. With 0, any difference is detected in the "
    "end, even the error of the estimate.  [default: 0]",
    click.FloatRange(0.0, 1.0),
)
@options.option(
    "--interval-alpha A",
    "Tolerate the model's own intervals at this level, widened by --tolerance; adds A to the chance of a false alarm.",
)
@options.option(
    "--state FILE",
    "Continue from this file if it exists, and write it again, so that outcomes can be checked day by day.",
)
@options.option("--again", "Count files even if they were counted before.")
@options.option("--wait SECONDS", "How long to wait while another process updates the state.", click.FloatRange(0.0), 60.0)
@options.keys
@options.option("--seed N", "Break ties by row number and this seed. Default: that of the model.", options.SEED)
@options.exit_code(ALARM, "the alarm is on")
@options.as_json
@options.tables
def command(
    model: str, files: tuple[str, ...], state: str | None, again: bool, wait: float, keys: KeyOptions, exit_code: bool,
    as_json: bool, rows: RowOptions, **settings: Any,
) -> int:  # fmt: skip
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
    out where it serves these by its pool, and refused where it refuses them. A set for predicted classes is watched by whether
    its predictions are right, a class-wise set by the class of each outcome.
    """
    check_inputs(MODEL=model, FILE=files)
    with locked(state, wait):
        state_file = None if state is None else StateFile(state)
        monitor = _begin(model, state_file, settings, rows)
        Output(state, reads=(model, *files))  # refuses a state that could not be written at the end
        _count(monitor, files, rows, keys, again)
        show(monitor.report(), as_json, _print)
        if state_file is not None:
            state_file.save(monitor)
    return ALARM if exit_code and monitor.alarm else 0


def _begin(model: str, file: StateFile | None, settings: dict[str, Any], rows: RowOptions) -> CalibrationMonitor:
    """A new monitor, or that of the state file, which must be of this model and of these settings."""
    from fastbin.online import CalibrationMonitor

    loaded, given = load_any(model), {name: value for name, value in settings.items() if value is not None}
    rows.check_cells(model, loaded)
    if file is None or file.content is None:
        return CalibrationMonitor(loaded, **given)
    state, monitor = file.path, state_of(file.content, file.path, model, loaded)
    if given:
        as_given = CalibrationMonitor(loaded, **{"alpha": monitor.alpha, "interval_alpha": monitor.interval_alpha, **given})
        same = as_given.alpha == monitor.alpha and as_given.interval_alpha == monitor.interval_alpha
        if not same or ("tolerance" in given and (as_given.tolerated != monitor.tolerated).any()):
            raise InputError(f"{state} was begun with other settings; leave out --alpha, --tolerance and --interval-alpha")
    return monitor


def state_of(content: bytes, path: str, model: str, loaded: BinnedModel | ModelSet) -> CalibrationMonitor:
    """The monitor in the bytes of a state file, which must be one of this model."""
    from fastbin.online import CalibrationMonitor

    try:
        monitor = CalibrationMonitor.from_bytes(content)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    if not monitor.belongs_to(loaded):
        raise InputError(f"{path} monitors another model than {model}; name another state file")
    return monitor


def _count(monitor: CalibrationMonitor, files: tuple[str, ...], rows: RowOptions, keys: KeyOptions, again: bool) -> None:
    """Give the monitor all rows of all files, each file once, by the SHA-256 of its bytes."""
    digests, here = FileDigests(), dict[bytes, str]()  # those of this call

    def note_file(digest: bytes, path: str) -> None:
        before = here.get(digest)
        if not again and (before is not None or digest in monitor.seen):
            why = "was counted before" if before is None else f"holds the same as {display_name(before)}"
            raise InputError(f"{display_name(path)} {why}; outcomes count once, unless --again is given")
        here[digest] = path

    for file in files:
        piped = hashlib.sha256()
        table = rows.open(file, watch=piped.update)
        for part in table.files if table.can_be_read_again else ():
            note_file(digests.of_file(part), part)
        _count_rows(monitor, table, rows, keys)
        if not table.can_be_read_again:
            note_file(piped.digest(), file)
    digests.check_unchanged()
    for digest in here:
        monitor.mark_seen(digest)


def _count_rows(monitor: CalibrationMonitor, table: Table, rows: RowOptions, keys: KeyOptions) -> None:
    """Give the monitor all rows of a table."""
    model, n_unknown = monitor.model, 0
    if model.is_set and keys.column is not None:
        raise InputError("--tie-key does not go with a set in this command; ties are broken by row number and --seed")
    labelled = LabelledColumns(model, table, rows)
    source = None
    if keys.column is not None:
        source, others = KeySource(table, keys), rows.columns(table)
        check_apart("tie key", keys.column, score=others["scores"], label=others["labels"])
    needs_key = not model.is_set and model.needs_key
    batches = labelled.batches("counting outcomes", keys=source if needs_key else None, is_part=not model.is_set)
    for arrays, _, columns, first_row in batches:
        known: Int64s | None = None
        if model.is_set:
            with errors_in(table, columns, first_row):
                known = np.flatnonzero(model.find(arrays["cells"]) >= 0)
            if (n_left_out := len(arrays["cells"]) - len(known)) > 0:
                n_unknown += n_left_out
                arrays = {
                    name: np.asarray(column, dtype=object if name == "cells" else None)[known]
                    for name, column in arrays.items()
                }
        with errors_in(table, columns, first_row, known):
            monitor.update(**arrays, seed=keys.seed)
    if n_unknown:
        note(f"{how_many(n_unknown, 'outcome', 'is', 'are')} of cells that the set does not know, and left out")


def _print(report: MonitorReport) -> None:
    """Print the value served in every bin, and the outcomes."""
    console().print(str(report), style="bold" if report.alarm else None)
    print_table(console(), report.words(), 30)


# ---------------------------------------------------------------------- the state on the disk: every outcome is counted once


def read_state(path: str) -> bytes:
    """The bytes of a state file."""
    from fastbin.online.streaming import is_json

    return bytes(read_saved(path, is_other=is_json))


class StateFile:
    """The content of a state file at the start, so that a state which another program wrote later is not replaced."""

    def __init__(self, path: str) -> None:
        if path == "-" or not is_replaceable(path):
            raise InputError(f"{path} cannot hold a state, which is read and written again; name a file")
        self.path = path
        self.content = self._read()

    def _read(self) -> bytes | None:
        with suppress(FileNotFoundError):
            return read_state(self.path)
        return None

    def save(self, monitor: CalibrationMonitor) -> None:
        """Write the new state in place of the old one, if no other program has changed it."""
        if self._read() != self.content:
            raise InputError(f"{self.path} was changed by another program meanwhile and is left as it is; run this again")
        monitor.save(self.path)


@contextmanager
def locked(path: str | None, seconds: float) -> Iterator[None]:
    """Keep other processes from updating a state while the block runs. They wait for `seconds` and are then refused.

    The lock is on a file beside the state, since the state itself is replaced. The file is removed with the lock; one that a
    killed process has left is not locked any more.
    """
    try:
        import fcntl
    except ImportError:  # Windows; `StateFile.save` still notices that another program has written
        fcntl = None  # type: ignore[assignment]
    if path is None or fcntl is None:
        yield
        return
    check_target(path)
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    descriptor = _wait_for(fcntl, lock, path, seconds)
    TEMPORARIES.add(str(lock))
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock)  # while it is locked, so that a process that waits notices and makes a new file
        TEMPORARIES.discard(str(lock))
        os.close(descriptor)


def _wait_for(fcntl: Any, lock: Path, path: str, seconds: float) -> int:
    """A descriptor of the lock file, which is locked."""
    deadline = time.monotonic() + seconds
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except FileNotFoundError:  # removed by the process that held the lock, between the two calls
            pass
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(
                    f"{path} is still being updated by another process after {seconds:g} seconds; run this again later"
                ) from None
            time.sleep(PAUSE)
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"{path} cannot be locked ({error.strerror}); keep the state on a local disk") from None
        os.close(descriptor)
