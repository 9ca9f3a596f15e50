"""``fastbin predict``: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

from typing import Any

import click

from fastbin.cli import _options as options
from fastbin.cli._cells import CLASS_KINDS, CellOptions
from fastbin.cli._console import note
from fastbin.cli._files import TableOptions
from fastbin.cli._key_column import KeyOptions, KeySource
from fastbin.cli._streams import Output, check_inputs, load_any


@click.command(
    epilog=options.examples(
        "fastbin predict credit.fbm new.csv --score p -o out.csv",
        "fastbin predict credit.fbm new.parquet --interval 0.1 -o out.parquet",
        "fastbin predict credit.fbm new.csv --key id --salt-file salt.txt -o out.csv",
        "fastbin predict regions.fbm new.csv --segment region -o out.csv",
        "fastbin predict animals.fbm new.csv --classes cat,dog,cow -o out.csv",
        "cat new.csv | fastbin predict credit.fbm - | head",
    )
)
@options.model
@options.file
@options.score
@options.cells
@options.option("-o --output FILE", "CSV or Parquet by its name; - prints CSV.", options.PATH, "-")
@options.option("--column NAME", "The name of the new column.", default="calibrated")
@options.option(
    "--interval ALPHA",
    "Add NAME_lower and NAME_upper: intervals for the rate of label 1 in the bin of the score, which hold for all bins at once "
    "with probability 1 - ALPHA. Where values are finer than the bins, one may lie outside.",
    options.ALPHA,
)
@options.keys
@options.option("--seed N", "Break ties by row number and this seed. Default: at random.", options.SEED)
@options.choice("--nan", "Whether a missing score is an error, or gives a missing probability.", "error", "propagate")
@options.tables
def command(
    model: str,
    file: str,
    output: str,
    column: str,
    interval: float | None,
    nan: str,
    keys: KeyOptions,
    rows: TableOptions,
    cells: CellOptions,
) -> None:
    """Score FILE with MODEL.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input. It is read in chunks,
    so it may be of any size. All its columns are kept, and the values of CSV to the byte; the new ones are the last.

    MODEL may be a set. Of predicted classes it adds NAME_class, the class of the largest probability, and NAME, how probable
    that one is; class-wise one column NAME_CLASS for each class.
    """
    from fastbin.cli._scorers import ClassScorer, ModelScorer, Scorer, SegmentScorer

    check_inputs(MODEL=model, FILE=file)
    out = Output(output, reads=(file, model, *keys.files), is_text=True)
    loaded, table = load_any(model), rows.open(file)
    cells.check(model, loaded)
    source = KeySource(table, keys)
    settings: dict[str, Any] = {"column": column, "alpha": interval, "nan": nan}
    scorer: Scorer
    if not loaded.is_set:
        scorer = ModelScorer(loaded, table, rows.score_column(table), source, **settings)
    elif loaded.kind in CLASS_KINDS:
        scorer = ClassScorer(loaded, table, cells, source, **settings)
    else:
        scorer = SegmentScorer(loaded, table, rows.score_column(table), str(cells.segment), source, **settings)
    out.write(lambda opened: scorer.write(opened, output))
    if scorer.n_by_key and keys.column is None and keys.seed is None:
        note(f"{scorer.n_by_key:,} rows got their probability by a random key; --seed N or --key COLUMN makes it repeatable")
