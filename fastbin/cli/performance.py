"""``fastbin performance``: how well decisions do, before there are outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin._base.shown import how_many, rounded, rounded_down, rounded_up
from fastbin.cli import _options as options
from fastbin.cli._console import console, show, text_table, working
from fastbin.cli._files import check_inputs, display_name, load_model
from fastbin.cli._tables import KeyOptions, KeySource, RowOptions, errors_in, read_rows
from fastbin.tables.table import check_apart

if TYPE_CHECKING:
    from fastbin.decide import Performance


@click.command(
    short_help="How well decisions by MODEL do on FILE, which has no outcomes yet.",
    epilog=options.examples(
        "fastbin performance credit.fbm batch.csv --threshold 0.5",
        "fastbin performance credit.fbm batch.csv --threshold 0.2 --cost 1,5",
        "fastbin performance credit.fbm batch.csv --json | jq .metrics.precision",
    ),
)
@options.model
@options.file
@options.score
@options.option("--threshold T", "A row counts as positive if it is served this probability or more.", float, 0.5)
@options.choice(
    "--about rates|labels", "Intervals for rates in the long run, or for the outcomes that these very rows will show."
)
@options.option("--cost FP,FN", "Also the mean cost of a row: of a false positive, of a false negative.", options.COSTS)
@options.alpha
@options.keys
@options.option("--seed N", "Break ties by row number and this seed. Default: at random.", options.SEED)
@options.as_json
@options.tables
def command(
    model: str, file: str, threshold: float, about: str, cost: tuple[float, float] | None, alpha: float, keys: KeyOptions,
    as_json: bool, rows: RowOptions,
) -> None:  # fmt: skip
    """Precision, recall and others of decisions by MODEL on the rows of FILE, without their outcomes.

    The intervals hold all at once, at every threshold, if the rate of label 1 in each bin, or slice of a bin where MODEL has
    them, is that of the samples that MODEL was fitted to; scores may be distributed otherwise. Nothing in FILE can show whether
    it is: `fastbin monitor` does, when outcomes come.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    from fastbin.decide import performance

    check_inputs(MODEL=model, FILE=file)
    loaded, table = load_model(model), rows.open(file)
    columns = {"scores": rows.score_column(table)}
    check_apart("tie key", keys.column, score=columns["scores"])
    arrays = read_rows(table, columns, {}, keys=KeySource(table, keys)).arrays
    with errors_in(table, columns), working("counting"):
        found = performance(loaded, threshold=threshold, alpha=alpha, about=about, cost=cost, **arrays)
    show(found, as_json, _print, model=display_name(model), file=display_name(file))


def _print(found: Performance) -> None:
    out, told = console(), found.to_dict()
    out.print(told["sentence"], soft_wrap=True)
    out.print()
    out.print(
        text_table(["metric", "estimate", "lower", "upper"], [_row(name, ends) for name, ends in told["metrics"].items()])
    )
    if found.n_divided:
        rows = how_many(found.n_divided, "row")
        out.print(f"The threshold divides {found.evidence} with {rows}, which widens the intervals.")
    if found.n_unknown:
        rows = how_many(found.n_unknown, "row", "lies", "lie")
        out.print(f"{rows} where no calibration sample tells anything; any outcomes are allowed for.")


def _row(name: str, ends: dict[str, Any]) -> list[str]:
    forms = {"estimate": rounded, "lower": rounded_down, "upper": rounded_up}
    return [name, *("not defined" if ends[end] is None else form(ends[end]) for end, form in forms.items())]
