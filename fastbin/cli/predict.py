"""``fastbin predict``: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s
from fastbin._validation import clip_scores
from fastbin.cli import _options as options
from fastbin.cli._console import note, reading
from fastbin.cli._files import TableOptions, errors_in
from fastbin.cli._key_column import KeyOptions, KeySource
from fastbin.cli._streams import Output, check_inputs, load_model
from fastbin.io import Table
from fastbin.io.base import PARQUET_SUFFIXES, arrow
from fastbin.io.parsing import read_numbers
from fastbin.io.writing import format_of, open_writer, schema_of

if TYPE_CHECKING:
    from fastbin.model import BinnedModel


@click.command(
    epilog=options.examples(
        "fastbin predict credit.fbm new.csv --score p -o out.csv",
        "fastbin predict credit.fbm new.parquet --interval 0.1 -o out.parquet",
        "fastbin predict credit.fbm new.csv --key id --salt-file salt.txt -o out.csv",
        "cat new.csv | fastbin predict credit.fbm - | head",
    )
)
@options.model
@options.file
@options.score
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
    model: str, file: str, output: str, column: str, interval: float | None, nan: str, keys: KeyOptions, rows: TableOptions
) -> None:
    """Score FILE with MODEL.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input. It is read in chunks, so it may be of any size.
    All its columns are kept, and the values of CSV to the byte; the new ones are the last.
    """
    check_inputs(MODEL=model, FILE=file)
    out = Output(output, reads=(file, model), is_text=True)
    loaded, table = load_model(model), rows.open(file)
    scorer = Scorer(loaded, table, rows.score_column(table), KeySource(table, keys), column=column, alpha=interval, nan=nan)
    out.write(lambda opened: scorer.write(opened, output))
    if scorer.n_by_key and keys.column is None and keys.seed is None:
        note(f"{scorer.n_by_key:,} rows got their probability by a random key; --seed N or --key COLUMN makes it repeatable")


class Scorer:
    """Writes a table with calibrated probabilities as further columns, batch by batch.

    Attributes
    ----------
    n_by_key : int
        Rows so far whose probability was decided by their key.
    """

    def __init__(
        self, model: BinnedModel, table: Table, score: str, keys: KeySource, *, column: str, alpha: float | None, nan: str
    ) -> None:
        self._model, self._table, self._score, self._keys, self._nan = model, table, score, keys, nan
        self._ends = None if alpha is None else np.ascontiguousarray(model.interval(alpha))
        self._new = [column] if alpha is None else [column, f"{column}_lower", f"{column}_upper"]
        for name in self._new:
            if name in table.names:
                raise InputError(f"{table.path} has a column {name!r} already; name the new one by --column NAME")
        if model.needs_key:
            self._split_edges = model.edges[(model.edge_keys > 0) & (model.edge_keys < 2**64 - 1)]
        self.n_by_key = 0

    def write(self, file: Any, path: str) -> None:
        """Score all rows into a binary file, in the format of its path."""
        pa = arrow()
        position = self._table.names.index(self._score)
        to_parquet = format_of(path, self._table) in PARQUET_SUFFIXES
        schema = schema_of(self._table, [self._score] if to_parquet else [])
        for name in self._new:
            schema = schema.append(pa.field(name, pa.float64()))
        writer = open_writer(file, path, self._table, schema)
        first_row = 0
        with reading(self._table, "scoring") as watched:
            for batch in watched(self._table.batches()):
                columns = list(batch.columns)
                scores = read_numbers(
                    self._table, self._score, columns[position], first_row, propagate=self._nan == "propagate"
                )
                if to_parquet and self._table.is_text:
                    columns[position] = pa.array(scores, from_pandas=True)
                columns += [pa.array(column, from_pandas=True) for column in self._results(batch, scores, first_row)]
                writer.write(pa.record_batch(columns, schema=schema))
                first_row += len(batch)
        writer.close()

    def _results(self, batch: Any, scores: Array, first_row: int) -> list[Float64s]:
        """The new columns for the rows of a batch; a missing score gives NaN."""
        keys = None
        if self._model.needs_key:
            # A score that the model clips may come to lie on an edge.
            inside = clip_scores(scores, self._model.score_range, self._model.out_of_range)
            needed = np.full(len(scores), True) if self._model.delta > 0.0 else np.isin(inside, self._split_edges)
            keys = self._keys.keys(batch, first_row, needed)
            self.n_by_key += int(needed.sum())
        with errors_in(self._table, {"scores": self._score}, first_row):
            results = [self._model.predict(scores, keys=keys, nan=self._nan)]
            if self._ends is not None:
                ends = self._model.lookup(scores, self._ends, keys=keys, nan=self._nan)
                results += [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]
        return results
