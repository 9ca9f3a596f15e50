"""``fastbin predict``: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

import sys

import click

from fastbin.cli._options import ALPHA, SEED, delimiter_option, examples, score_option

__all__ = ["command"]


@click.command(
    epilog=examples(
        "fastbin predict credit.fbm new.csv --score p -o out.csv",
        "fastbin predict credit.fbm new.parquet --interval 0.1 -o out.parquet",
        "fastbin predict credit.fbm new.csv --key customer --salt s3cret -o out.csv",
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
@click.option(
    "--key",
    metavar="COLUMN",
    help="What identifies a row, so that its ties are broken the same way each time: 64-bit keys, or with --salt any ids.",
)
@click.option("--salt", metavar="TEXT", help="A secret; keys are hashes of the salt and the text of the --key column.")
@click.option("--seed", type=SEED, metavar="N", help="Break ties by row number and this seed. Default: at random.")
@click.option(
    "--nan",
    type=click.Choice(["error", "propagate"]),
    default="error",
    show_default=True,
    help="Whether a missing score is an error, or gives a missing probability.",
)
@delimiter_option
def command(
    model: str,
    file: str,
    score: str | None,
    output: str,
    column: str,
    interval: float | None,
    key: str | None,
    salt: str | None,
    seed: int | None,
    nan: str,
    delimiter: str | None,
) -> None:
    """Score FILE with MODEL.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input. It is read in chunks, so it may be of any size.
    All its columns are kept, the values of CSV to the byte; the new ones stand last.
    """
    from fastbin._files import replace_file
    from fastbin._load import load
    from fastbin.cli._console import note
    from fastbin.cli._files import check_output, choose_column
    from fastbin.cli._scoring import KeySource, Scorer
    from fastbin.scale import open_table

    if salt is not None and key is None:
        raise click.UsageError("--salt is for the ids in --key COLUMN; give that too")
    if seed is not None and key is not None:
        raise click.UsageError("--seed and --key exclude each other: both say how ties are broken")
    loaded = load(model)
    check_output(output, overwrites=(file, model))
    table = open_table(file, delimiter)
    keys = KeySource(table, None if key is None else table.check_column(key), salt, seed)
    scorer = Scorer(loaded, table, choose_column(table, score, "--score"), keys, column=column, alpha=interval, nan=nan)
    if output == "-":
        scorer.write(sys.stdout.buffer, output)
    else:
        replace_file(output, lambda out: scorer.write(out, output))
    if scorer.n_by_key and key is None and seed is None:
        note(f"{scorer.n_by_key:,} rows got their probability by a random key; --seed N or --key COLUMN repeats that")
