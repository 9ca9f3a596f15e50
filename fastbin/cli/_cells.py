"""Cells on the command line: a column of segments, or a column of probabilities for each class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s
from fastbin.cli._console import reading
from fastbin.cli._files import TableOptions, check_held, errors_in
from fastbin.cli._streams import display_name
from fastbin.io import Table
from fastbin.io.base import arrow, as_plain
from fastbin.io.columns import ColumnReader
from fastbin.io.parsing import as_text, first_true, is_integer

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
    are_integers = all(is_integer(each) for each in different)
    if are_text or (are_text is None and not are_integers):
        return coded
    if not are_integers:
        wrong = next(each for each in different if not is_integer(each))
        at = first_true(pa.compute.equal(text, wrong))
        raise InputError(f"cells[{at}] is {wrong!r}, and the keys of the set are integers")
    numbers = np.array([int(each) for each in different], np.int64)
    return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(numbers) else np.empty(0, np.int64)


def read_text(table: Table, name: str, batch: Any, first_row: int) -> Any:
    """A column of a batch as text; integers as they are written. A missing value is refused."""
    pa = arrow()
    column = as_plain(batch.column(batch.schema.get_field_index(name)))
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    elif not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_binary(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}; integers or text are needed")
    column = as_text(table, name, column, first_row)
    missing = pa.compute.fill_null(pa.compute.equal(column, ""), True)
    if pa.compute.any(missing).as_py():
        raise InputError(f"{table.place(first_row + first_true(missing))}, column {name}: the value is missing")
    return column


def read_rows(
    table: Table, numbers: Mapping[str, str], texts: Mapping[str, str], **options: Any
) -> tuple[dict[str, Array], dict[str, Any]]:
    """All rows of a table, by argument: columns as arrays, and columns as text. `options` are those of `ColumnReader`."""
    reader, arrays, read = ColumnReader(table, numbers, **options), [], []
    names = dict.fromkeys([*reader.names, *(table.check_column(name) for name in texts.values())])
    held = 0
    with reading(table, "reading") as watched:
        for batch in watched(table.batches(list(names))):
            read.append([read_text(table, name, batch, reader.first_row) for name in texts.values()])
            arrays.append(reader.read(batch))
            held += sum(column.nbytes for column in (*read[-1], *arrays[-1].values()))
            check_held(table, held)
    if reader.first_row == 0:
        raise InputError(f"{table.path} has no rows")
    reader.finish()
    pa = arrow()
    joined = {argument: np.concatenate([each[argument] for each in arrays]) for argument in arrays[0]}
    columns = zip(*read, strict=True)
    return joined, {
        argument: pa.chunked_array(column).combine_chunks() for argument, column in zip(texts, columns, strict=True)
    }


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
    from fastbin._classes import check_matrix

    return check_matrix(matrix_of(arrays), inputs, len(models.columns or ()))


class LabelledRows(NamedTuple):
    """Rows as the functions of `fastbin.assess` take them, and the columns of the table that they come from.

    Of a set for predicted classes: the largest probability, whether its class is the true one, and the class. Of a class-wise
    set, a row for each sample and class.
    """

    arrays: dict[str, Any]  # scores, labels, and where there are any cells, sample_weight and further columns
    texts: dict[str, Any]
    columns: dict[str, str]


def labelled_rows(
    model: BinnedModel | ModelSet,
    table: Table,
    rows: TableOptions,
    cells: CellOptions,
    *,
    more: Mapping[str, str],
    texts: Mapping[str, str],
    propagate: Collection[str] = (),
) -> LabelledRows:
    """All rows of a table for a model or a set. `more` are further columns of numbers, `texts` of text, one for each sample."""
    from fastbin.model_set import ModelSet

    whole = ("sample_weight",)
    if isinstance(model, ModelSet) and model.kind in CLASS_KINDS:
        return _rows_of_classes(model, table, rows, cells, more, texts)
    columns = {**rows.columns(table), **more}
    of_cell = {"cells": str(cells.segment)} if isinstance(model, ModelSet) else {}
    arrays, read = read_rows(
        table, columns, {**of_cell, **texts}, label="labels", positive=rows.positive, whole=whole, propagate=propagate
    )
    columns |= of_cell
    found: dict[str, Any] = dict(arrays)
    if isinstance(model, ModelSet):
        with errors_in(table, columns):
            found["cells"] = as_keys(read.pop("cells"), are_text=isinstance(model.keys[0], str))
    return LabelledRows(found, read, columns)


def _rows_of_classes(
    models: ModelSet, table: Table, rows: TableOptions, cells: CellOptions, more: Mapping[str, str], texts: Mapping[str, str]
) -> LabelledRows:
    from fastbin._classes import find_columns
    from fastbin.multi.top_label import top_of

    label = rows.label_column(table)
    weights = {} if rows.weights is None else {"sample_weight": table.check_column(rows.weights)}
    columns = {**matrix_columns(table, in_order_of(models, cells.class_columns)), **weights, **more}
    arrays, read = read_rows(table, columns, {"labels": label, **texts}, whole=("sample_weight",))
    columns["labels"] = columns["cells"] = label
    classes = np.array(models.columns)
    with errors_in(table, columns):
        matrix = checked_matrix(models, arrays, cells.inputs)
        truth = find_columns(as_keys(read.pop("labels"), are_text=isinstance(models.keys[0], str)), classes.tolist(), "labels")
    others = {argument: column for argument, column in arrays.items() if not argument.startswith("P[")}
    if models.kind == "top-label":
        predicted, scores = top_of(matrix)
        own = {"scores": scores, "labels": predicted == truth, "cells": classes[predicted]}
        return LabelledRows({**own, **others}, read, columns)
    n, k = matrix.shape
    is_own = (truth[:, np.newaxis] == np.arange(k)).ravel()
    repeated = {argument: np.repeat(column, k) for argument, column in others.items()}
    at = arrow().array(np.repeat(np.arange(n), k))
    own = {"scores": matrix.ravel(), "labels": is_own, "cells": np.tile(classes, n)}
    return LabelledRows({**own, **repeated}, {argument: column.take(at) for argument, column in read.items()}, columns)
