"""Cells on the command line: a column of segments, or a column of probabilities for each class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s, Int64s
from fastbin.cli._console import reading
from fastbin.cli._files import TableOptions, errors_in
from fastbin.cli._streams import display_name
from fastbin.io import Table
from fastbin.io.base import arrow, as_plain
from fastbin.io.columns import ColumnReader
from fastbin.io.parsing import first_true

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet

CLASS_KINDS = ("top-label", "class-wise")


@dataclass(frozen=True)
class CellOptions:
    """What the options of a command say about cells; nothing, for one model."""

    segment: str | None = None
    classes: str | None = None
    inputs: str = "probabilities"

    def __post_init__(self) -> None:
        if self.segment is not None and self.classes is not None:
            raise click.UsageError("--segment and --classes exclude each other: a set has cells of one kind")
        if self.inputs != "probabilities" and self.classes is None:
            raise click.UsageError("--inputs is about the columns of --classes; give these too")

    @property
    def are_given(self) -> bool:
        """Whether there are any."""
        return self.segment is not None or self.classes is not None

    @property
    def class_columns(self) -> list[str]:
        """The names in --classes, one or more of them."""
        names = [name.strip() for name in (self.classes or "").split(",")]
        if len(names) < 2 or not all(names) or len(set(names)) < len(names):
            raise click.UsageError(f"--classes is {self.classes!r}; give two or more different columns, separated by commas")
        return names

    def check(self, path: str, model: BinnedModel | ModelSet) -> None:
        """Refuse options that do not go with a model or a set."""
        from fastbin.model_set import ModelSet

        name = display_name(path)
        if not isinstance(model, ModelSet):
            if self.are_given:
                raise InputError(f"{name} is one model and no set; leave out --segment and --classes")
        elif model.kind in CLASS_KINDS:
            if self.classes is None:
                raise InputError(
                    f"{name} is a {model.kind} set; say --classes COLUMNS, one for each of its {len(model)} classes"
                )
        elif self.segment is None:
            raise InputError(f"{name} is a set of {len(model):,} models; say --segment COLUMN, which has the key of each row")


def as_keys(text: Any, *, are_text: bool | None = None) -> Any:
    """Text (an Arrow array without missing values) as keys that fastbin takes.

    All integers become int64, if they are written as Python writes them, so that 007 stays text; unless `are_text` says which
    type the keys of a set have.
    """
    pa = arrow()
    coded = text.dictionary_encode()
    different = coded.dictionary.to_pylist()
    are_integers = all(_is_integer(each) for each in different)
    if are_text or (are_text is None and not are_integers):
        return coded
    if not are_integers:
        wrong = next(each for each in different if not _is_integer(each))
        at = first_true(pa.compute.equal(text, wrong))
        raise InputError(f"cells[{at}] is {wrong!r}, and the keys of the set are integers")
    numbers = np.array([int(each) for each in different], np.int64)
    return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(numbers) else np.empty(0, np.int64)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text and -(2**63) <= int(text) < 2**63


def read_text(table: Table, name: str, batch: Any, first_row: int) -> Any:
    """A column of a batch as text; integers as they are written. A missing value is refused."""
    pa = arrow()
    column = as_plain(batch.column(batch.schema.get_field_index(name)))
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    elif not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_binary(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}; integers or text are needed")
    column = column.cast(pa.string())
    missing = pa.compute.fill_null(pa.compute.equal(column, ""), True)
    if pa.compute.any(missing).as_py():
        raise InputError(f"{table.place(first_row + first_true(missing))}, column {name}: the value is missing")
    return column


def read_rows(table: Table, numbers: Mapping[str, str], keys: str | None, **options: Any) -> tuple[dict[str, Array], Any]:
    """All rows of a table: an array for each argument, and a column of text. `options` are those of `ColumnReader`."""
    reader, arrays, texts = ColumnReader(table, numbers, **options), [], []
    names = list(dict.fromkeys([*reader.names, *([] if keys is None else [table.check_column(keys)])]))
    with reading(table, "reading") as watched:
        for batch in watched(table.batches(names)):
            if keys is not None:
                texts.append(read_text(table, keys, batch, reader.first_row))
            arrays.append(reader.read(batch))
    if reader.first_row == 0:
        raise InputError(f"{table.path} has no rows")
    reader.finish()
    pa = arrow()
    joined = {argument: np.concatenate([each[argument] for each in arrays]) for argument in arrays[0]}
    return joined, None if keys is None else pa.chunked_array(texts).combine_chunks()


def matrix_columns(table: Table, names: Sequence[str]) -> dict[str, str]:
    """The columns of a matrix, by the argument that each becomes."""
    return {f"P[{number}]": table.check_column(name) for number, name in enumerate(names)}


def in_order_of(models: ModelSet, names: Sequence[str]) -> list[str]:
    """The names of columns in the order of the set's classes: by name where the classes are called so, else as given."""
    classes = list(map(str, models.columns or ()))
    if len(names) != len(classes):
        raise InputError(f"--classes names {len(names)} columns, and the set has {len(classes)} classes: {', '.join(classes)}")
    return classes if set(names) == set(classes) else list(names)


def matrix_of(arrays: Mapping[str, Array]) -> Array:
    """The matrix whose columns `matrix_columns` has named; float32 where all of them are."""
    return np.stack([column for argument, column in arrays.items() if argument.startswith("P[")], axis=1)


def checked_matrix(models: ModelSet, arrays: Mapping[str, Array], inputs: str) -> Float64s:
    """Probabilities of all classes of a set, checked."""
    from fastbin.multi.columns import check_matrix

    return check_matrix(matrix_of(arrays), inputs, len(models.columns or ()))


def labelled_rows(
    models: ModelSet,
    table: Table,
    rows: TableOptions,
    cells: CellOptions,
    *,
    more: Mapping[str, str],
    whole: Collection[str] = (),
    propagate: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, str]]:
    """Scores, labels and cells of all rows of a table, as `fastbin.assess` takes them, and the columns that they come from.

    Of a set for predicted classes: the largest probability, whether its class is the true one, and the class. Of a class-wise
    set, a row for each sample and class. `more` are further columns of numbers, one for each sample.
    """
    if models.kind not in CLASS_KINDS:
        columns = {**rows.columns(table), **more}
        arrays, text = read_rows(
            table, columns, cells.segment, label="labels", positive=rows.positive, whole=whole, propagate=propagate
        )
        columns["cells"] = str(cells.segment)
        with errors_in(table, columns):
            return {**arrays, "cells": as_keys(text, are_text=isinstance(models.keys[0], str))}, columns
    label = rows.label_column(table)
    weights = {} if rows.weights is None else {"sample_weight": table.check_column(rows.weights)}
    columns = {**matrix_columns(table, in_order_of(models, cells.class_columns)), **weights, **more}
    arrays, text = read_rows(table, columns, label, whole=whole)
    columns["labels"] = columns["cells"] = label
    with errors_in(table, columns):
        matrix, truth = checked_matrix(models, arrays, cells.inputs), _columns_of_labels(models, text)
    others = {argument: column for argument, column in arrays.items() if not argument.startswith("P[")}
    return _as_cells(models, matrix, truth, others), columns


def _columns_of_labels(models: ModelSet, text: Any) -> Int64s:
    from fastbin.multi.columns import find_columns

    keys = as_keys(text, are_text=isinstance(models.keys[0], str))
    return find_columns(keys, list(models.columns or ()), "labels")


def _as_cells(models: ModelSet, matrix: Float64s, truth: Int64s, others: Mapping[str, Array]) -> dict[str, Any]:
    from fastbin.multi.top_label import top_of

    classes = np.array(models.columns)
    if models.kind == "top-label":
        predicted, scores = top_of(matrix)
        return {"scores": scores, "labels": predicted == truth, "cells": classes[predicted], **others}
    n, k = matrix.shape
    repeated = {argument: np.repeat(column, k) for argument, column in others.items()}
    is_own = (truth[:, np.newaxis] == np.arange(k)).ravel()
    return {"scores": matrix.ravel(), "labels": is_own, "cells": np.tile(classes, n), **repeated}
