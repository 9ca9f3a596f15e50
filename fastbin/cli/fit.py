"""``fastbin fit``: from scores with outcomes to a model file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fastbin._base.array_types import Array
from fastbin._base.checks import event_of
from fastbin._base.errors import FastbinWarning, InputError
from fastbin._model import view
from fastbin.cli import _model_view
from fastbin.cli import _options as options
from fastbin.cli._cells import CellOptions
from fastbin.cli._console import counting_passes, note, reading, working
from fastbin.cli._files import TableOptions, check_held, errors_in
from fastbin.cli._fit_sets import SetOptions, fit_set
from fastbin.cli._methods import DEFAULT, METHODS, SCALERS, check_threads, make_calibrator
from fastbin.cli._streams import Output
from fastbin.io import Table
from fastbin.tables.files import ColumnReader
from fastbin.tables.replay import Replay

if TYPE_CHECKING:
    from fastbin._fit.calibrator import Calibrator
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet

# Up to this many rows are fitted as arrays. More of them are fitted in passes, if the method can: these need no second copy of
# the rows, and the model is the same, byte for byte.
ROWS_AS_ARRAYS = 2**22

# What `fastbin.CertifiedCalibration` takes; named here, as its module imports NumPy and more.
VALUES = ("mixture", "beta", "isotonic", "logistic", "spline", "quadratic", "mean", "jeffreys")
RECENTRINGS = ("james-stein", "full", "none")

METHOD_LINES = "\n".join(f"  {name:16} {method.about}" for name, method in METHODS.items())


@click.command(
    short_help="Fit a model to scores with outcomes, and show its promise.",
    epilog=options.examples(
        "fastbin fit scores.csv --score p --label y",
        "fastbin fit scores.csv --score p --label y -o credit.fbm",
        "fastbin fit scores.csv --method umd -o credit.fbm",
        "fastbin fit scores.parquet --n-bins auto -o credit.fbm",
        "fastbin fit 'data/*.parquet' --memory-limit 2GB -o credit.fbm",
        "fastbin fit margins.csv --score margin --label y --score-range any -o m.fbm",
        "fastbin fit scores.csv --method isotonic -o credit.fbm",
        "fastbin fit scores.csv --segment region -o regions.fbm",
        "fastbin fit animals.csv --classes cat,dog,cow --label animal -o animals.fbm",
    )
    + "\n\n\b\nMethods:\n"
    + METHOD_LINES,
)
@options.file
@options.score
@options.label
@options.weights
@options.cells
@click.option(
    "--top-label/--class-wise",
    default=None,
    help="--classes: the probability that the predicted class is right (default), or one for every class.",
)
@options.option("--class-labels LIST", "--classes: the class of each column. Default: its name, or 0, 1, ...")
@options.option("--points-per-bin N", "--classes: the samples behind each uniform-mass bin (default: 50).", click.IntRange(1))
@click.option("--thin", type=click.Choice(["pool", "refuse"]), help="Small cells share one model (default), or are refused.")
@options.option("--min-points N", "The samples that a cell needs for its own model (default: 50).", click.IntRange(1))
@click.option(
    "--unknown",
    type=click.Choice(["refuse", "pool"]),
    help="--segment: what segments get that FILE does not have: an error (default), or the pool's value without a promise.",
)
@options.option(
    "-o --output MODEL",
    "The model file to write, such as credit.fbm; - prints it. Default: none, the result is only shown.",
    options.PATH,
)
@options.option("--method NAME", "How to calibrate; the methods are listed below.", click.Choice(list(METHODS)), DEFAULT)
@options.option("--n-bins N|auto", "The number of bins. Default: 10; of certified 5 below 1,000 samples.", options.N_BINS)
@options.choice(
    "--ties",
    "Uniform mass: what happens to equal scores at a boundary: whole groups go to one side and the certificate allows for it; "
    "split by a key; or all above, without a certificate.",
    *("whole", "random", "upper"),
)
@click.option(
    "--edges-share",
    type=float,
    metavar="SHARE",
    default=1.0,
    show_default=True,
    help="--ties whole: the random share of the samples that places the boundaries. 0.25 narrows intervals where many rows "
    "share few scores.",
)
@click.option("--delta", type=float, default=0.0, help="umd: randomise values by this much (Gupta & Ramdas 2021, Algorithm 2).")
@options.option(
    "--split SHARE",
    "ums: the share of samples that place the boundaries (default 0.5). scaling-binning: three parts such as 1,1,1 (default: "
    "no split).",
    options.SPLIT,
)
@click.option("--scaler", type=click.Choice(SCALERS), help="scaling-binning: the map under the bins.")
@click.option("--values", type=click.Choice(VALUES), help="certified: the map behind the values (default: mixture).")
@click.option(
    "--recentre",
    type=click.Choice(RECENTRINGS),
    help="certified: how far the values of a bin are moved to its mean label (default: james-stein).",
)
@click.option(
    "--monotone/--no-monotone",
    default=None,
    help="Whether values are moved so that they do not fall (default: yes for certified, else no).",
)
@click.option("--interpolate", is_flag=True, help="isotonic: straight lines between the steps.")
@click.option("--feature", type=click.Choice(["score", "logit"]), help="platt: what the map is linear in (default: score).")
@click.option("--parameters", type=click.Choice(["abm", "am", "ab"]), help="beta: which parameters are free (default: abm).")
@options.option("--seed N", "Of everything random; kept in the model.", options.SEED, 0)
@options.option("--score-range LOW,HIGH|any", "Where scores must lie.", options.SCORE_RANGE, "0,1")
@options.choice(
    "--out-of-range",
    "What the model does with scores outside the range: an error, or the answer of the nearest end.",
    *("refuse", "clip"),
)
@options.option("--threads N", "Threads of a fit in memory.", click.IntRange(1), 1)
@options.alpha
@options.quiet
@options.tables
@options.collected("of_set", SetOptions, *SetOptions.__dataclass_fields__)
def command(
    file: str,
    output: str | None,
    method: str,
    threads: int,
    alpha: float,
    quiet: bool,
    rows: TableOptions,
    cells: CellOptions,
    of_set: SetOptions,
    **configuration: Any,
) -> None:
    """Fit a calibrator to FILE, show what it promises, and write a model where -o says.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such, or a quoted pattern; "-" reads CSV from standard input.
    Each row is a sample that the classifier was not trained on: its score and its outcome. If the rows do not fit into memory,
    methods with bins of equal mass go over them in passes: Parquet is read again each time, and parsed CSV is kept in a
    temporary file.

    With --segment, each segment gets a model of its own; with --classes, each class: the --label column then holds classes. One
    certificate holds for all of them. Such a FILE is read into memory as a whole.

    Prints the bins and the certificate: what is guaranteed about new samples from the same population.
    """
    context = click.get_current_context()
    given = _given(context, configuration, method)
    of_set.check(cells)
    out = Output(output, reads=(file,))
    model: BinnedModel | ModelSet
    if cells.are_given:
        if threads > 1:
            raise click.UsageError("--threads does not go with --segment and --classes")
        chosen = None if context.get_parameter_source("method") is ParameterSource.DEFAULT else method
        model, columns = fit_set(rows.open(file), rows, cells, of_set, chosen, given)
    else:
        calibrator = make_calibrator(method, given)
        if threads > 1:
            check_threads(method)
        table = rows.open(file)
        columns = rows.columns(table)
        model = _fit(table, columns, calibrator, {} if threads == 1 else {"n_threads": threads}, rows.positive)
    out.write(model.to_bytes())
    if quiet:
        return
    words = {"sample_weight": "weights", **{argument: "probabilities" for argument in columns if argument.startswith("P[")}}
    named = ", ".join(f"{words.get(argument, argument)} from {column}" for argument, column in columns.items())
    place = "" if output is None else f"{out.name}: "
    out.messages().print(f"{place}{view.summary(model)} ({named}).")
    _model_view.show(out.messages(), model, alpha, max_rows=30)


def _given(ctx: click.Context, configuration: dict[str, Any], method: str) -> dict[str, Any]:
    """The parameters that were typed, by their names in Python. Others keep the defaults of the method."""
    given = {
        name: value for name, value in configuration.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if method == "scaling-binning" and "split" in given:
        given["scheme"] = "split"
    return given


def _fit(
    table: Table, columns: dict[str, str], calibrator: Calibrator, options: dict[str, Any], positive: str | None
) -> BinnedModel:
    """Fit all rows as arrays, or in passes if there are too many and the method can."""
    in_passes = hasattr(calibrator, "fit_batches") and calibrator._why_all_rows() is None

    def read() -> Generator[tuple[Array, ...], None, None]:
        reader, held = ColumnReader(table, columns, label="labels", positive=positive, whole=("sample_weight",)), 0
        for batch in watched(table.batches(reader.names)):
            arrays = tuple(reader.read(batch).values())
            held += sum(column.nbytes for column in arrays)
            if not in_passes:
                check_held(table, held)
            yield arrays
        reader.finish()

    n_rows = None if table.is_text else table.total
    with reading(table, "reading") as watched:
        stored = Replay(read, limit=table.most_kept if in_passes else math.inf, spill=table.is_text, n_rows=n_rows)
    if stored.n_rows == 0:
        raise InputError(f"{table.path} has no rows; a calibrator needs samples")
    calibrator._event = event_of(positive)
    with stored, errors_in(table, columns), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FastbinWarning)
        if in_passes and (stored.n_rows or math.inf) > ROWS_AS_ARRAYS:
            with counting_passes("fitting", stored.n_rows or n_rows) as progress:
                fitted = calibrator.fit_batches(stored, progress=progress)
        else:
            with working("fitting"):
                fitted = calibrator.fit(**dict(zip(columns, stored.columns(), strict=True)), **options)
    # Empty and lost bins are among the facts that are printed.
    for text in {str(each.message) for each in caught if getattr(each.message, "of_convergence", False)}:
        note(text)
    model: BinnedModel = fitted.model_
    return model
