"""``fastbin fit``: from scores with outcomes to a model file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fastbin._errors import FastbinWarning, InputError
from fastbin.cli._methods import METHODS, SCALERS, check_threads, make_calibrator
from fastbin.cli._options import (
    SCORE_RANGE,
    SEED,
    SPLIT,
    alpha_option,
    examples,
    label_option,
    n_bins_option,
    quiet_option,
    score_option,
    table_options,
    weights_option,
)

if TYPE_CHECKING:
    from fastbin._calibrator import Calibrator
    from fastbin.io import Table
    from fastbin.model import BinnedModel

__all__ = ["command"]

# Up to this many rows are held in memory (16 bytes each, and some); beyond, the file is read once for every pass of the fit.
# The model is the same, byte for byte.
ROWS_IN_MEMORY = 2**22

METHOD_LINES = "\n".join(f"  {name:16} {method.about}" for name, method in METHODS.items())


@click.command(
    epilog=examples(
        "fastbin fit scores.csv --score p --label y",
        "fastbin fit scores.csv --score p --label y -o credit.fbm",
        "fastbin fit scores.parquet --n-bins auto -o credit.fbm",
        "fastbin fit margins.csv --score margin --label y --score-range any -o m.fbm",
        "fastbin fit scores.csv --method isotonic -o credit.fbm",
    )
    + "\n\n\b\nMethods:\n"
    + METHOD_LINES
)
@click.argument("file", type=click.Path())
@score_option
@label_option
@weights_option
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="MODEL",
    help="The model file to write, such as credit.fbm; - prints it. Default: none, the result is only shown.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="umd",
    show_default=True,
    metavar="NAME",
    help="How to calibrate; the methods are listed below.",
)
@n_bins_option
@click.option(
    "--ties",
    type=click.Choice(["random", "upper", "lower", "isolate"]),
    default="random",
    show_default=True,
    help="What happens to scores that equal a boundary: split by a key, all above, all below, or (isolate) a bin of their own "
    "for those that hold two boundaries or more.",
)
@click.option("--delta", type=float, default=0.0, help="Randomise values by this much (Gupta & Ramdas 2021, Algorithm 2).")
@click.option(
    "--split",
    type=SPLIT,
    metavar="SHARE",
    help="ums: the share of samples that place the boundaries (default 0.5). "
    "scaling-binning: three parts such as 1,1,1 (default: no split).",
)
@click.option("--scaler", type=click.Choice(SCALERS), help="scaling-binning: the map under the bins.")
@click.option("--monotone", is_flag=True, help="Move the values, as little as possible, so that they do not fall.")
@click.option("--interpolate", is_flag=True, help="isotonic: straight lines between the steps.")
@click.option("--feature", type=click.Choice(["score", "logit"]), help="platt: what the map is linear in (default: score).")
@click.option("--parameters", type=click.Choice(["abm", "am", "ab"]), help="beta: which parameters are free (default: abm).")
@click.option("--seed", type=SEED, default=0, show_default=True, metavar="N", help="Of everything random; kept in the model.")
@click.option(
    "--score-range", type=SCORE_RANGE, default="0,1", show_default=True, metavar="LOW,HIGH|any", help="Where scores must lie."
)
@click.option(
    "--out-of-range",
    type=click.Choice(["refuse", "clip"]),
    default="refuse",
    show_default=True,
    help="What the model does about scores outside the range: an error, or the answer of the nearest end.",
)
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Threads of a fit in memory."
)
@alpha_option
@quiet_option
@table_options
def command(
    file: str,
    score: str | None,
    label: str | None,
    weights: str | None,
    output: str | None,
    method: str,
    threads: int,
    alpha: float,
    csv_format: dict[str, Any],
    positive: str | None,
    quiet: bool,
    **configuration: Any,
) -> None:
    """Fit a calibrator to FILE, show what it promises, and write a model where -o says.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input. Each row is a sample that the classifier was not
    trained on: its score and its outcome. A file that does not fit into memory is read in passes.

    Prints the bins and the certificate: what is guaranteed about new samples from the same population.
    """
    from fastbin.cli import _model_view
    from fastbin.cli._console import console
    from fastbin.cli._files import choose_columns, open_input
    from fastbin.cli._streams import check_output, told_output, write_output

    calibrator = make_calibrator(method, _given(click.get_current_context(), configuration, method))
    if threads > 1:
        check_threads(method)
    table = open_input(file, csv_format)
    if output is not None:
        check_output(output, overwrites=(file,))
    columns = dict(zip(("scores", "labels"), choose_columns(table, score, label), strict=True))
    if weights is not None:
        columns["sample_weight"] = table.check_column(weights)
    model = _fit(table, columns, calibrator, threads, positive)
    if output is not None:
        write_output(output, lambda out: out.write(model.to_bytes()))
    if quiet:
        return
    out = console(stderr=output == "-")
    named = ", ".join(f"{argument} from {column}" for argument, column in columns.items()).replace("sample_weight", "weights")
    place = "" if output is None else f"{told_output(output)}: "
    out.print(f"{place}{_model_view.summary(model)} ({named}).")
    _model_view.show(model, alpha, max_rows=30, stderr=output == "-")


def _given(ctx: click.Context, configuration: dict[str, Any], method: str) -> dict[str, Any]:
    """The parameters that were typed, by their names in Python. Others keep the defaults of the method."""
    given = {
        name: value for name, value in configuration.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if method == "scaling-binning" and "split" in given:
        given["scheme"] = "split"
    return given


def _fit(
    table: Table, columns: dict[str, str], calibrator: Calibrator, threads: int, positive: str | None = None
) -> BinnedModel:
    """Fit rows in memory while they are few, else by passes over the file."""
    import numpy as np

    from fastbin.cli._console import working
    from fastbin.cli._files import in_words_of
    from fastbin.io import read_columns

    whole = _whole_columns(table, columns)

    def read(progress: Callable[..., Any]) -> Generator[tuple[Any, ...], None, None]:
        return read_columns(
            table, list(columns.values()), whole=whole, label=columns["labels"], positive=positive, progress=progress
        )

    chunks = _hold(table, read, None if not _can_be_folded(calibrator, table) else ROWS_IN_MEMORY)
    if chunks is None:
        return _fit_in_passes(table, columns, calibrator, read)
    if not chunks:
        raise InputError(f"{table.path} has no rows; a calibrator needs samples")
    arrays = (np.concatenate(column) for column in zip(*chunks, strict=True))
    options = {} if threads == 1 else {"n_threads": threads}
    with in_words_of(table, columns), working("fitting"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FastbinWarning)  # empty bins are among the facts that are printed
        return calibrator.fit(**dict(zip(columns, arrays, strict=True)), **options).model_


def _whole_columns(table: Table, columns: dict[str, str]) -> list[str]:
    """The weights, if they are whole numbers throughout: then they are frequencies."""
    from fastbin.io.columns import holds_whole_numbers

    weights = columns.get("sample_weight")
    if weights is None:
        return []
    if not table.can_be_read_again:
        raise InputError("--weights needs a file: whether they are whole numbers shows only when all are read")
    return [weights] if holds_whole_numbers(table, weights) else []


def _can_be_folded(calibrator: Calibrator, table: Table) -> bool:
    from fastbin.binning.uniform_mass import UniformMassBinning

    return isinstance(calibrator, UniformMassBinning) and calibrator.scheme != "ums" and table.can_be_read_again


def _hold(table: Table, read: Callable[..., Generator[Any, None, None]], most_rows: int | None) -> list[tuple[Any, ...]] | None:
    """All chunks, or ``None`` as soon as there are more rows than that."""
    from fastbin.cli._console import reading

    chunks, n_rows = [], 0
    with reading(table, "reading") as update, closing(read(lambda _: update())) as source:
        for chunk in source:
            chunks.append(chunk)
            n_rows += len(chunk[0])
            if most_rows is not None and n_rows > most_rows:
                return None
    return chunks


def _fit_in_passes(
    table: Table, columns: dict[str, str], calibrator: Calibrator, read: Callable[..., Generator[Any, None, None]]
) -> BinnedModel:
    from fastbin.cli._console import reading, working
    from fastbin.cli._files import in_words_of

    with working("preparing"):  # the first fit ever compiles its kernels
        import_module("fastbin._kernels.quantiles")
    with in_words_of(table, columns), reading(table, "pass 1") as update:
        batches = partial(read, lambda _: None)
        return calibrator.fit_batches(batches, progress=lambda n_passes, _: update(f"pass {n_passes}")).model_
