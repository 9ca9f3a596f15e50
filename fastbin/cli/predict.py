"""``fastbin predict``: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

from typing import Any

import click

from fastbin.cli._options import ALPHA, SEED, examples, key_options, score_option, table_options

__all__ = ["command"]


@click.command(
    epilog=examples(
        "fastbin predict credit.fbm new.csv --score p -o out.csv",
        "fastbin predict credit.fbm new.parquet --interval 0.1 -o out.parquet",
        "fastbin predict credit.fbm new.csv --key id --salt-file salt.txt -o out.csv",
        "cat new.csv | fastbin predict credit.fbm - | head",
    )
)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
@score_option
@click.option(
    "-o", "--output", default="-", type=click.Path(), metavar="FILE", help="CSV or Parquet by its name; - (default) prints CSV."
)
@click.option("--column", default="calibrated", show_default=True, metavar="NAME", help="The name of the new column.")
@click.option(
    "--interval", type=ALPHA, metavar="ALPHA",
    help="Add NAME_lower and NAME_upper: intervals that hold for all bins at once with probability 1 - ALPHA.",
)  # fmt: skip
@key_options
@click.option("--seed", type=SEED, metavar="N", help="Break ties by row number and this seed. Default: at random.")
@click.option(
    "--nan",
    type=click.Choice(["error", "propagate"]),
    default="error",
    show_default=True,
    help="Whether a missing score is an error, or gives a missing probability.",
)
@table_options
def command(
    model: str,
    file: str,
    score: str | None,
    output: str,
    column: str,
    interval: float | None,
    nan: str,
    csv_format: dict[str, Any],
    **settings: Any,
) -> None:
    """Score FILE with MODEL.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input. It is read in chunks, so it may be of any size.
    All its columns are kept, the values of CSV to the byte; the new ones stand last.
    """
    from fastbin.cli._console import note
    from fastbin.cli._files import choose_column, open_input
    from fastbin.cli._key_column import KeyOptions
    from fastbin.cli._scoring import Scorer
    from fastbin.cli._streams import check_inputs, check_output, load_model, write_output

    key = KeyOptions.take(settings)
    check_inputs(MODEL=model, FILE=file)
    check_output(output, overwrites=(file, model), is_text=True)
    loaded = load_model(model)
    table = open_input(file, csv_format)
    scorer = Scorer(
        loaded, table, choose_column(table, score, "--score"), key.source(table), column=column, alpha=interval, nan=nan
    )
    write_output(output, lambda out: scorer.write(out, output))
    if scorer.n_by_key and key.column is None and key.seed is None:
        note(f"{scorer.n_by_key:,} rows got their probability by a random key; --seed N or --key COLUMN repeats that")
