"""Cells on the command line: a column of segments, or a column of probabilities for each class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import InputError
from fastbin.cli._console import reading
from fastbin.cli._files import TableOptions, check_held, errors_in
from fastbin.cli._streams import display_name
from fastbin.io import Table
from fastbin.tables.columns import as_text, first_true, is_integer
from fastbin.tables.files import ColumnReader
from fastbin.tables.table import arrow, as_plain

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
        name = display_name(path)
        if not model.is_set:
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
        raise InputError(f"is {wrong!r}, and the keys of the set are integers", argument="cells", at=at, value=wrong)
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


class ReadRows(NamedTuple):
    """Rows of a table by argument: columns as arrays, and columns as text."""

    arrays: dict[str, Array]
    texts: dict[str, Any]
    first_row: int = 0


def row_batches(
    table: Table, numbers: Mapping[str, str], texts: Mapping[str, str], what: str, **options: Any
) -> Iterator[ReadRows]:
    """These columns, batch by batch; `what` is done is shown. `options` are those of `ColumnReader`."""
    reader = ColumnReader(table, numbers, **options)
    names = dict.fromkeys([*reader.names, *(table.check_column(name) for name in texts.values())])
    with reading(table, what) as watched:
        for batch in watched(table.batches(list(names))):
            first_row = reader.first_row
            read = {argument: read_text(table, name, batch, first_row) for argument, name in texts.items()}
            yield ReadRows(reader.read(batch), read, first_row)
    if reader.first_row == 0:
        raise InputError(f"{table.path} has no rows")
    reader.finish()


def read_rows(table: Table, numbers: Mapping[str, str], texts: Mapping[str, str], **options: Any) -> ReadRows:
    """All rows of a table at once."""
    batches, held = list[ReadRows](), 0
    for batch in row_batches(table, numbers, texts, "reading", **options):
        batches.append(batch)
        held += sum(column.nbytes for column in (*batch.arrays.values(), *batch.texts.values()))
        check_held(table, held)
    pa = arrow()
    return ReadRows(
        {argument: np.concatenate([each.arrays[argument] for each in batches]) for argument in numbers},
        {argument: pa.chunked_array([each.texts[argument] for each in batches]).combine_chunks() for argument in texts},
    )


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
    from fastbin._base.cells import check_matrix

    return check_matrix(matrix_of(arrays), inputs, len(models.columns or ()))


class TestRows(NamedTuple):
    """Rows as the functions of `fastbin.assess` take them.

    Of a set for predicted classes: the largest probability, whether its class is the true one, and the class. Of a class-wise
    set, a row for each sample and class.
    """

    arrays: dict[str, Any]  # scores, labels, and where there are any cells, sample_weight and further columns
    texts: dict[str, Any]
    columns: dict[str, str]  # of the table, that they come from
    first_row: int


class LabelledColumns:
    """The columns of a table that say scores and labels for a model or a set.

    `more` are further columns of numbers, `texts` of text, one for each sample.
    """

    def __init__(
        self,
        model: BinnedModel | ModelSet,
        table: Table,
        rows: TableOptions,
        cells: CellOptions,
        *,
        more: Mapping[str, str] = MappingProxyType({}),
        texts: Mapping[str, str] = MappingProxyType({}),
        propagate: Collection[str] = (),
    ) -> None:
        self._models = model if model.is_set else None
        self._of_classes = self._models is not None and self._models.kind in CLASS_KINDS
        self._table, self._inputs = table, cells.inputs
        self._options: dict[str, Any] = {"whole": ("sample_weight",)}
        if self._models is not None and self._of_classes:
            label = rows.label_column(table)
            weights = {} if rows.weights is None else {"sample_weight": table.check_column(rows.weights)}
            self._numbers = {**matrix_columns(table, in_order_of(self._models, cells.class_columns)), **weights, **more}
            self._texts = {"labels": label, **texts}
            self._columns = {**self._numbers, "labels": label, "cells": label}
            return
        own = {} if self._models is None else {"cells": str(cells.segment)}
        self._numbers, self._texts = {**rows.columns(table), **more}, {**own, **texts}
        self._columns = {**self._numbers, **own}
        self._options |= {"label": "labels", "positive": rows.positive, "propagate": propagate}

    def all_rows(self) -> TestRows:
        """All rows at once."""
        return self._labelled(read_rows(self._table, self._numbers, self._texts, **self._options))

    def batches(self, what: str) -> Iterator[TestRows]:
        """The same batch by batch; `what` is done is shown."""
        yield from map(self._labelled, row_batches(self._table, self._numbers, self._texts, what, **self._options))

    def _labelled(self, read: ReadRows) -> TestRows:
        arrays, texts = dict[str, Any](read.arrays), dict(read.texts)
        with errors_in(self._table, self._columns, read.first_row):
            if self._models is not None and self._of_classes:
                arrays, texts = _of_classes(self._models, read, self._inputs)
            elif self._models is not None:
                arrays["cells"] = as_keys(texts.pop("cells"), are_text=isinstance(self._models.keys[0], str))
        return TestRows(arrays, texts, self._columns, read.first_row)


def _of_classes(models: ModelSet, read: ReadRows, inputs: str) -> tuple[dict[str, Any], dict[str, Any]]:
    from fastbin._base.cells import find_columns
    from fastbin.multi.classes import top_of

    texts, classes = dict(read.texts), np.array(models.columns)
    matrix = checked_matrix(models, read.arrays, inputs)
    truth = find_columns(as_keys(texts.pop("labels"), are_text=isinstance(models.keys[0], str)), classes.tolist(), "labels")
    others = {argument: column for argument, column in read.arrays.items() if not argument.startswith("P[")}
    if models.kind == "top-label":
        predicted, scores = top_of(matrix)
        return {"scores": scores, "labels": predicted == truth, "cells": classes[predicted], **others}, texts
    n, k = matrix.shape
    is_own = (truth[:, np.newaxis] == np.arange(k)).ravel()
    repeated = {argument: np.repeat(column, k) for argument, column in others.items()}
    at = arrow().array(np.repeat(np.arange(n), k))
    own = {"scores": matrix.ravel(), "labels": is_own, "cells": np.tile(classes, n)}
    return {**own, **repeated}, {argument: column.take(at) for argument, column in texts.items()}
