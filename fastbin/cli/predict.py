"""``fastbin predict``: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._base.array_types import Array, Bools, UInt64s
from fastbin._base.checks import IMPUTE, clip_scores
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.shown import how_many
from fastbin._base.tie_keys import GREATEST_KEY
from fastbin._model.parts import NAMES_OF_ENDS
from fastbin.cli import _options as options
from fastbin.cli._console import note, reading
from fastbin.cli._files import Output, check_inputs, display_name, is_vector, load_with_vectors
from fastbin.cli._tables import (
    CLASS_KINDS,
    KeyOptions,
    KeySource,
    RowOptions,
    checked_matrix,
    class_columns,
    errors_in,
    keys_like,
)
from fastbin.io import Table
from fastbin.tables.columns import read_numbers, read_text
from fastbin.tables.table import PARQUET_SUFFIXES, arrow, check_apart

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.vector_model import VectorModel


@click.command(
    epilog=options.examples(
        "fastbin predict credit.fbm new.csv --score p -o out.csv",
        "fastbin predict credit.fbm new.parquet --interval 0.1 -o out.parquet",
        "fastbin predict credit.fbm new.csv --tie-key id --salt-file salt.txt -o out.csv",
        "fastbin predict regions.fbm new.csv --segment region -o out.csv",
        "fastbin predict animals.fbm new.csv --classes cat,dog,cow -o out.csv",
        "cat new.csv | fastbin predict credit.fbm - | head",
    )
)
@options.model
@options.file
@options.score
@options.cells
@options.option("-o --output FILE", "CSV or Parquet by its name; - prints CSV.", default="-")
@options.option("--column NAME", "The name of the new column.", default="calibrated")
@options.option(
    "--interval ALPHA",
    "Add intervals that hold all at once with probability 1 - ALPHA: NAME_lower and NAME_upper for the rate of label 1 in the "
    "bin of the score, or, where values are finer than the bins, NAME_lower_if_rising and NAME_upper_if_rising.",
)
@options.option(
    "--at bin|score",
    "With --interval: bin, or score, for the truth at the score, and what is served there, if the truth rises with the score.",
)
@options.keys
@options.option("--seed N", "Break ties by row number and this seed. Default: at random.", options.SEED)
@options.choice("--nan error|propagate", "Whether a missing score is an error, or gives a missing probability.")
@options.tables
def command(
    model: str, file: str, output: str, column: str, interval: float | None, at: str | None, nan: str, keys: KeyOptions,
    rows: RowOptions,
) -> None:  # fmt: skip
    """Score FILE with MODEL.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input. It is read in chunks,
    so it may be of any size. All its columns are kept, and the values of CSV to the byte; the new ones are the last.

    MODEL may be a set. For predicted classes it adds NAME_class, the class of the largest probability, and NAME, how probable
    that one is; class-wise one column NAME_CLASS for each class. So does a vector model, whose rows sum to 1.
    """
    check_inputs(MODEL=model, FILE=file)
    out = Output(output, reads=(file, model, *keys.files), is_text=True)
    loaded, table = load_with_vectors(model), rows.open(file)
    rows.check_cells(model, loaded)
    if not column:
        raise InputError("--column is ''; name the new column")
    if at is not None and interval is None:
        raise InputError("--at says what intervals are about; add --interval 0.1, or leave it out")
    scorer: Writer
    if is_vector(loaded):
        if interval is not None:
            raise GuaranteeError(
                f"{display_name(model)} is a vector model, and intervals of its single values are not known; leave out "
                "--interval, and see what is certain of their averages by fastbin inspect"
            )
        scorer = VectorWriter(loaded, table, rows, column=column, nan=nan)
    else:
        if keys.column is not None and rows.classes is None:
            check_apart("tie key", keys.column, score=rows.score_column(table))
        scorer = Scorer(loaded, table, rows, KeySource(table, keys), column=column, alpha=interval, at=at, nan=nan)
    out.write(lambda opened: scorer.write(opened, output))
    if interval is not None:
        _note_batch(loaded)
    if scorer.n_by_key and keys.column is None and keys.seed is None:
        note(
            f"{how_many(scorer.n_by_key, 'row', 'got its', 'got their')} probability by a random key; "
            "--seed N or --tie-key COLUMN makes it repeatable"
        )


def _note_batch(model: Any) -> None:
    """Say whose frequencies intervals are about, where not those of any rows that are drawn alike."""
    from fastbin.guarantees.evidence import is_of_batch

    if is_of_batch(model):
        n = int(model.population_counts.sum())
        note(f"the intervals are about the {n:,} rows of the batch that MODEL was fitted to, and say nothing of other rows")


class Writer:
    """Writes a table with further columns, which the subclasses compute.

    Attributes
    ----------
    n_by_key : int
        Rows so far whose probability was decided by their key.
    """

    # The columns that are read as numbers, by argument, and the types of the new ones, by name.
    _columns: dict[str, str]
    _new: dict[str, Any]
    n_by_key = 0

    def __init__(self, table: Table, inputs: str, nan: str) -> None:
        self._table, self._inputs, self._nan = table, inputs, nan

    def _take(self, columns: dict[str, str], new: dict[str, Any]) -> None:
        self._columns, self._numbers, self._new = columns, list(columns.values()), new
        for name in new:
            if name in self._table.names:
                raise InputError(f"{self._table.path} has a column {name!r} already; name the new one by --column NAME")

    def _results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        """The new columns for the rows of a batch."""
        raise NotImplementedError

    def write(self, file: Any, path: str) -> None:
        """Score all rows into a binary file, in the format of its path."""
        from fastbin.tables.writing import format_of, open_writer, schema_of

        pa, table = arrow(), self._table
        positions = [table.names.index(name) for name in self._numbers]
        to_parquet = format_of(path, table) in PARQUET_SUFFIXES
        schema = schema_of(table, self._numbers if to_parquet else [])
        for name, kind in self._new.items():
            schema = schema.append(pa.field(name, kind))
        first_row = 0
        with open_writer(file, path, table, schema) as writer, reading(table, "scoring") as watched:
            for batch in watched(table.batches()):
                columns = list(batch.columns)
                numbers = [
                    read_numbers(table, name, columns[position], first_row, propagate=self._nan == "propagate", fill=IMPUTE)
                    for name, position in zip(self._numbers, positions, strict=True)
                ]
                if to_parquet and table.is_text:
                    for position, column in zip(positions, numbers, strict=True):
                        columns[position] = pa.array(column, from_pandas=True)
                columns += [pa.array(column, from_pandas=True) for column in self._results(batch, numbers, first_row)]
                writer.write(pa.record_batch(columns, schema=schema))
                first_row += len(batch)


class VectorWriter(Writer):
    """Writes a column for each class of a vector model."""

    def __init__(self, model: VectorModel, table: Table, rows: RowOptions, *, column: str, nan: str) -> None:
        super().__init__(table, rows.inputs, nan)
        _refuse_missing(nan)
        self._model, kind = model, arrow().float64()
        self._take(class_columns(table, model, rows.class_columns), {f"{column}_{each}": kind for each in model.classes})

    def _results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        with errors_in(self._table, self._columns, first_row):
            matrix = checked_matrix(self._model, dict(zip(self._columns, numbers, strict=True)), self._inputs)
            return list(np.ascontiguousarray(self._model._vectors(matrix).T))


def _refuse_missing(nan: str) -> None:
    if nan != "error":
        raise InputError("--nan propagate does not go with classes; remove rows without a probability")


class Scorer(Writer):
    """Writes them by one model, by that of each row's segment, or by those of its classes."""

    def __init__(
        self, model: Any, table: Table, rows: RowOptions, keys: KeySource, *, column: str, alpha: float | None, at: str | None,
        nan: str,
    ) -> None:  # fmt: skip
        super().__init__(table, rows.inputs, nan)
        self._model, self._keys, self._alpha = model, keys, alpha
        self._at = model._interval_at(at)
        self._is_top = model.kind == "top-label"
        self._classes: Array | None = None
        if model.kind in CLASS_KINDS:
            _refuse_missing(nan)
            columns = class_columns(table, model, rows.class_columns)
            self._classes = np.array(model.columns)
        else:
            columns = {"scores": rows.score_column(table)}
        self._take(columns, self._new_columns(column))
        if model.is_set and self._classes is None:
            self._columns["cells"] = table.check_column(str(rows.segment))
        self._ends = None if alpha is None or model.is_set else np.ascontiguousarray(model.interval(alpha, at=self._at))
        self._served = model._as_steps() if self._ends is not None and self._at == "score" else model
        self._parts = [own for _, own in model.numbered]  # the pool, which scores unknown cells, is the last one
        self._split_edges = [_split_edges(own) for own in self._parts]

    def _new_columns(self, column: str) -> dict[str, Any]:
        pa, ends = arrow(), ("",) if self._alpha is None else ("", *(f"_{end}" for end in NAMES_OF_ENDS[self._at]))
        names = [column] if self._classes is None or self._is_top else [f"{column}_{each}" for each in self._classes]
        new = {f"{name}{end}": pa.float64() for name in names for end in ends}
        if self._is_top:
            return {f"{column}_class": pa.string() if isinstance(self._model.cells[0], str) else pa.int64(), **new}
        return new

    def _results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        """The new columns for the rows of a batch; a missing score gives NaN."""
        if not self._model.is_set:
            keys = self._tie_keys(batch, numbers[0], None, first_row)
            with errors_in(self._table, self._columns, first_row):
                return self._values(numbers[0], None, keys)
        text = None if self._classes is not None else read_text(self._table, self._columns["cells"], batch, first_row)
        with errors_in(self._table, self._columns, first_row):
            if self._classes is None:
                return self._values_in(keys_like(self._model, text), batch, numbers[0], first_row)
            matrix = checked_matrix(self._model, dict(zip(self._columns, numbers, strict=True)), self._inputs)
            if self._is_top:
                from fastbin.multi.classes import top_of

                predicted, scores = top_of(matrix)
                cells = self._classes[predicted]
                return [cells, *self._values_in(cells, batch, scores, first_row)]
            return [
                result
                for each, column in zip(self._classes, matrix.T, strict=True)
                for result in self._values_in(np.full(len(column), each), batch, np.ascontiguousarray(column), first_row)
            ]

    def _values_in(self, cells: Any, batch: Any, scores: Array, first_row: int) -> list[Any]:
        return self._values(scores, cells, self._tie_keys(batch, scores, cells, first_row))

    def _values(self, scores: Array, cells: Any, keys: UInt64s | None) -> list[Any]:
        """The probability of each row, and the ends of its interval where they are wanted."""
        model, by, how = self._model, () if cells is None else (cells,), {"tie_keys": keys, "nan": self._nan}
        results = [model.predict(scores, *by, **how)]
        if self._alpha is None:
            return results
        if cells is None:
            ends = self._served.lookup(scores, self._ends, **how)
        else:
            ends = model.predict_interval(scores, cells, alpha=self._alpha, at=self._at, **how)
        return results + [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]

    def _tie_keys(self, batch: Any, scores: Array, cells: Any, first_row: int) -> UInt64s | None:
        """A key for each row, if any model splits ties."""
        if not any(own.needs_key for own in self._parts):
            return None
        needed = np.full(len(scores), False)
        numbers = None if cells is None else self._model.find(cells)
        for number in [0] if numbers is None else np.unique(numbers).tolist():
            rows = slice(None) if numbers is None else numbers == number
            needed[rows] = _need_keys(self._parts[number], self._split_edges[number], scores[rows])
        self.n_by_key += int(needed.sum())
        return self._keys.keys(batch, first_row, needed)


def _split_edges(model: BinnedModel) -> Array | None:
    """The edges at which keys decide."""
    return model.edges[(model.edge_keys > 0) & (model.edge_keys <= GREATEST_KEY)] if model.needs_key else None


def _need_keys(model: BinnedModel, split_edges: Array | None, scores: Array) -> Bools:
    """Which scores need a key."""
    if split_edges is None or model.delta > 0.0:
        return np.full(len(scores), split_edges is not None)
    # A score that the model clips may come to lie on an edge.
    return np.isin(clip_scores(scores, model), split_edges)
