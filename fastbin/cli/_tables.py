"""Tables named on the command line: how they are opened, which columns are read and as what, and where an error is in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click
import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt64s
from fastbin._base.cells import are_in_other_order
from fastbin._base.checks import check_same_event, check_seed
from fastbin._base.errors import ArgumentError, InputError, InputTypeError
from fastbin._base.shown import how_many
from fastbin._base.tie_keys import GREATEST_KEY, check_salt, hash_key, look_like_ids
from fastbin._core.fit import row_keys
from fastbin.cli._console import reading
from fastbin.cli._files import display_name, is_vector
from fastbin.io import Table, open_table
from fastbin.tables.columns import column_of, first_true, is_integer, read_text, without_missing
from fastbin.tables.files import ColumnReader
from fastbin.tables.table import arrow, check_roles

if TYPE_CHECKING:
    from fastbin._base.cells import Key
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel

CLASS_KINDS = ("top-label", "class-wise")

# Usual names of the two columns, in lower case.
SCORE_NAMES = (
    "score", "scores", "p", "prob", "proba", "probability", "pred", "prediction", "predicted", "phat", "p_hat", "y_prob",
    "y_proba", "y_score", "y_pred", "yhat", "y_hat", "predict_proba",
)  # fmt: skip
LABEL_NAMES = ("label", "labels", "y", "y_true", "target", "outcome", "truth", "class", "actual")
# Names of columns that say which row it is, and so hold neither, though the other of two columns is known.
NAME_OF_ROWS = re.compile(r"|id|ids|index|row|rows|row[_ ]?n(r|o|um|umber)|key|uuid|unnamed: 0|.*[_ ]id", re.IGNORECASE)

SALT_VARIABLE = "FASTBIN_SALT"  # of the environment

# Keys as exported SQL compares them.
HEXADECIMAL = re.compile(r"[0-9a-f]{16}")

# Arguments whose options are called otherwise.
CALLED = {"sample_weight": "weights", "classes": "class_labels"}


@dataclass(frozen=True)
class RowOptions:
    """The options of a command about its rows: the columns that are read, the cells of a set, and how text is understood."""

    score: str | None = None
    label: str | None = None
    positive: str | None = None
    weights: str | None = None
    segment: str | None = None
    classes: str | None = None
    inputs: str = "probabilities"
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.segment is not None and self.classes is not None:
            raise click.UsageError("--segment and --classes exclude each other: a set has cells of one kind")
        if self.score is not None and self.classes is not None:
            raise click.UsageError("--score and --classes exclude each other: those of several classes are all in --classes")
        if self.inputs != "probabilities" and self.classes is None:
            raise click.UsageError("--inputs is about the columns of --classes; give these too")
        if self.delimiter == self.decimal:
            raise click.UsageError(f"--delimiter and --decimal are both {self.decimal!r}; one character cannot be both")

    def open(self, path: str, watch: Callable[[bytes], object] | None = None) -> Table:
        """The table of this name; `watch` as in `open_table`."""
        if os.name == "posix":
            # Signals end the process at once; PyArrow would handle them itself while it reads.
            arrow().enable_signal_handlers(False)
        text = {"decimal": self.decimal, "encoding": self.encoding}
        return open_table(path, self.delimiter, **text, watch=watch, memory_limit=self.memory_limit)

    def columns(self, table: Table) -> dict[str, str]:
        """The columns of scores, labels and weights, by the argument of a fit that each becomes."""
        score, label = self._scores_and_labels(table)
        check_roles(score, label, self.weights, self.segment)
        return {"scores": score, "labels": label, **self.weight_column(table)}

    def weight_column(self, table: Table) -> dict[str, str]:
        """The column of weights by its argument, if there is one."""
        return {} if self.weights is None else {"sample_weight": table.check_column(self.weights)}

    def _scores_and_labels(self, table: Table) -> tuple[str, str]:
        if self.score is None and self.label is None and len(table.names) == 2:
            # Two columns: knowing one of them is enough.
            for usual, is_score in ((SCORE_NAMES, True), (LABEL_NAMES, False)):
                known = _with_usual_name(table, usual)
                other = next((name for name in table.names if name not in known), "")
                if len(known) == 1 and not NAME_OF_ROWS.fullmatch(other.strip()):
                    return (known[0], other) if is_score else (other, known[0])
        return self.score_column(table), self.label_column(table)

    def score_column(self, table: Table) -> str:
        """The column of scores: the one that is named, or the only one with a usual name."""
        return _choose(table, self.score, "--score", SCORE_NAMES)

    def label_column(self, table: Table) -> str:
        """The same for labels."""
        return _choose(table, self.label, "--label", LABEL_NAMES)

    @property
    def have_cells(self) -> bool:
        """Whether the rows belong to the models of a set."""
        return self.segment is not None or self.classes is not None

    @property
    def class_columns(self) -> list[str]:
        """The names in --classes, one or more of them."""
        names = [name.strip() for name in (self.classes or "").split(",")]
        if len(names) < 2 or not all(names) or len(set(names)) < len(names):
            raise click.UsageError(f"--classes is {self.classes!r}; give two or more different columns, separated by commas")
        return names

    def check_cells(self, path: str, model: BinnedModel | ModelSet | VectorModel) -> None:
        """Refuse options about cells that do not go with a model or a set."""
        name = display_name(path)
        if is_vector(model):
            if self.classes is None:
                k = len(classes_of(model))
                raise InputError(f"{name} is a vector model; say --classes COLUMNS, one for each of its {k} classes")
        elif not model.is_set:
            if self.have_cells:
                raise InputError(f"{name} is one model and no set; leave out --segment and --classes")
        elif model.kind in CLASS_KINDS:
            if self.classes is None:
                raise InputError(
                    f"{name} is a {model.kind} set; say --classes COLUMNS, one for each of its {len(model)} classes"
                )
        elif self.segment is None:
            models = how_many(len(model), "model")
            raise InputError(f"{name} is a set of {models}; say --segment COLUMN, which has the key of each row")


def _choose(table: Table, name: str | None, option: str, usual: tuple[str, ...]) -> str:
    if name is not None:
        return table.check_column(name)
    possible = _with_usual_name(table, usual)
    if len(possible) == 1:
        return possible[0]
    why = f"both {' and '.join(possible)} could be meant" if possible else "no column has a usual name"
    has = f"it has {table.list_names()}"
    if len(table.names) == 1 and any(mark in table.names[0] for mark in ",;\t|"):
        has = f"it has one column, {table.names[0]!r}; say what is between columns by --delimiter"
    raise InputError(f"{table.path}: say {option} COLUMN; {why}; {has}")


def _with_usual_name(table: Table, usual: tuple[str, ...]) -> list[str]:
    return [name for name in table.names if name.strip().lower() in usual]


# ---------------------------------------------------------------------- errors


class TooManyRows(InputError):
    """All rows are needed at once, and they take more than the memory that a user allows."""


def check_held(table: Table, n_bytes: int) -> None:
    """Refuse so many bytes of rows, all of which a command needs at once, if there is a limit: joined, they take them twice."""
    if table.memory_limit is not None and 2 * n_bytes > table.memory_limit:
        raise TooManyRows(
            f"{table.path}: its rows take more than --memory-limit allows, and here all of them are needed at once; raise it"
        )


@contextmanager
def errors_in(table: Table, columns: Mapping[str, str], first_row: int = 0, kept: Int64s | None = None) -> Iterator[None]:
    """Errors about arrays, raised inside, as errors about a file; those about other options of the command name the option.

    `columns` has the column behind each argument, {"scores": "p", ...}; the arrays start at `first_row` of the table, and have
    these of the rows from there on, all if none are named.
    """
    try:
        yield
    except (InputError, InputTypeError) as error:
        place, subject = table.path, subject_of(error)
        row, number = error.at if isinstance(error.at, tuple) else (error.at, None)
        if row is not None and kept is not None:
            row = int(kept[row])
        column = columns.get(f"{error.argument}" if number is None else f"{error.argument}[{number}]")
        if row is not None and column is not None:
            place, subject = f"{table.place(first_row + row)}, column {column}", "the value"
        elif row is not None and isinstance(error.at, tuple):
            place, subject = table.place(first_row + row), "it"
        told = error.rendered(subject, in_shell=True)
        is_of_file = error.argument in columns or not subject.startswith("--")
        raise InputError(f"{place}: {told}" if is_of_file else told) from error


def subject_of(error: ArgumentError) -> str:
    """The option of the command that is running that an error is about, if its argument has one, or else the argument."""
    context = click.get_current_context(silent=True)
    name = CALLED.get(error.argument or "", error.argument)
    # A position is one of rows, but in an option that holds several numbers.
    if context is None or not (error.at is None or isinstance(context.params.get(name or ""), tuple)):
        return error.place
    for parameter in context.command.params:
        if parameter.name == name and isinstance(parameter, click.Option):
            return error.about(parameter.opts[-1]).place
    return error.place


# ---------------------------------------------------------------------- keys


def as_keys(text: Any, *, are_text: bool | None = None, argument: str = "cells") -> Any:
    """Text (an Arrow array without missing values) as keys of cells that fastbin takes.

    All integers become int64, if they are written as Python writes them, so that 007 stays text; unless `are_text` says which
    type the keys of a set have. An error is about the argument that the keys become.
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
        keys = "the classes" if argument == "labels" else "the keys of the set"
        raise InputError(f"is {wrong!r}, and {keys} are integers", argument=argument, at=at, value=wrong)
    numbers = np.array([int(each) for each in different], np.int64)
    return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(numbers) else np.empty(0, np.int64)


def keys_like(models: ModelSet | VectorModel, text: Any, argument: str = "cells") -> Any:
    """The same as keys of a set, or as classes."""
    keys = models.classes if is_vector(models) else models.cells
    return as_keys(text, are_text=isinstance(keys[0], str), argument=argument)


class KeyOptions(NamedTuple):
    """The options about the keys that break ties, --seed among them."""

    column: str | None
    salt: bytes | None
    seed: int | None
    files: tuple[str, ...] = ()  # that of the salt

    @classmethod
    def take(cls, *, tie_key: str | None, salt: str | None, salt_file: str | None, seed: int | None) -> KeyOptions:
        """The options of a command, which must go together."""
        for name, value in (("--salt", salt), ("--salt-file", salt_file)):
            if value is not None and tie_key is None:
                raise click.UsageError(f"{name} is for the ids in --tie-key COLUMN; give that too")
        if salt is not None and salt_file is not None:
            raise click.UsageError("--salt and --salt-file exclude each other: both say what ids are hashed with")
        if seed is not None and tie_key is not None:
            raise click.UsageError("--seed and --tie-key exclude each other: both say how ties are broken")
        secret: str | bytes | None = salt
        origin = "--salt"
        if salt_file is not None:
            # The line break that an editor leaves at the end is not part of the secret.
            secret, origin = Path(salt_file).read_bytes().removesuffix(b"\n").removesuffix(b"\r"), salt_file
        elif salt is None and tie_key is not None:
            secret, origin = os.environ.get(SALT_VARIABLE), SALT_VARIABLE
        files = () if salt_file is None else (salt_file,)
        return cls(tie_key, None if secret is None else check_salt(secret, origin), seed, files)


class KeySource:
    """Where the tie keys of a table's rows come from: a column of keys, of ids to be hashed, or row numbers and a seed.

    With `hexadecimal`, a column of keys may be as exported SQL takes them: 16 hexadecimal digits.
    """

    def __init__(self, table: Table, options: KeyOptions, *, hexadecimal: bool = False) -> None:
        self.column = None if options.column is None else table.check_column(options.column)
        self._table, self._salt, self._hexadecimal = table, options.salt, hexadecimal
        self._seed = check_seed(options.seed)

    def keys(self, batch: Any, first_row: int, needed: Bools | None = None) -> UInt64s:
        """A key for each row of a batch; where it is not needed, its value does not matter."""
        if self.column is None:
            return row_keys(self._seed, len(batch), first_row)
        if self._salt is None and self._hexadecimal:
            texts = read_text(self._table, self.column, batch, first_row).to_pylist()
            if all(map(HEXADECIMAL.fullmatch, texts)) and not all(map(str.isdigit, texts)):
                return np.array([int(text, 16) for text in texts], np.uint64)
        column = self._text(column_of(batch, self.column), first_row)
        if self._salt is None:
            return self._parse(column, first_row)
        keys = np.zeros(len(batch), np.uint64)
        for row in range(len(batch)) if needed is None else np.flatnonzero(needed).tolist():
            keys[row] = hash_key(column[row].as_py(), self._salt)
        return keys

    def _text(self, column: Any, first_row: int) -> Any:
        """The column as text without missing values."""
        pa = arrow()
        if pa.types.is_integer(column.type):
            column = column.cast(pa.string())
        elif column.type not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            self._refuse(0, f"holds {column.type}; keys are integers, ids are integers or text")
        column = without_missing(column.cast(pa.binary()))
        if column.null_count:
            self._refuse(first_row + first_true(column.is_null()), "the value is missing; give every row an id or a key")
        return column

    def _parse(self, column: Any, first_row: int) -> UInt64s:
        pa = arrow()
        try:
            keys: UInt64s = column.cast(pa.string()).cast(pa.uint64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            values = [value.as_py() for value in column]
            row = next(row for row, value in enumerate(values) if not (value.isdigit() and int(value) < 2**64))
            text = values[row].decode("utf8", errors="replace")[:60]
            self._refuse(first_row + row, f"{text!r} is not an integer from 0 to 2**64 - 2; give --salt-file FILE to hash ids")
        if first_row == 0 and look_like_ids(keys):
            self._refuse(
                int(keys.argmax()),
                f"{int(keys.max())} and all before are below 2**32, so these are ids; keys are uniform from 0 to 2**64 - 2; "
                "give --salt-file FILE to hash ids",
            )
        if keys.size and int(keys.max()) > GREATEST_KEY:
            self._refuse(first_row + int(keys.argmax()), "2**64 - 1 is reserved; keys are from 0 to 2**64 - 2")
        return keys

    def _refuse(self, row: int, complaint: str) -> NoReturn:
        raise InputError(f"{self._table.place(row)}, column {self.column}: {complaint}")


# ---------------------------------------------------------------------- rows


class Read(NamedTuple):
    """Rows of a table by argument: columns as arrays, columns as text, and the columns of the table that they come from."""

    arrays: dict[str, Any]
    texts: dict[str, Any]
    columns: dict[str, str]
    first_row: int = 0


def row_batches(
    table: Table, numbers: Mapping[str, str], texts: Mapping[str, str], doing: str, *, keys: KeySource | None = None,
    is_part: bool = False, **options: Any,
) -> Iterator[Read]:  # fmt: skip
    """These columns, and the tie keys of a source as ``keys``, batch by batch; `doing` is shown meanwhile.

    A part of all rows may be empty, or without a positive label. `options` are those of `ColumnReader`; weights are `whole`.
    """
    reader, columns = ColumnReader(table, numbers, whole=("sample_weight",), **options), {**numbers, **texts}
    own = [] if keys is None or keys.column is None else [keys.column]
    names = dict.fromkeys([*reader.names, *(table.check_column(name) for name in texts.values()), *own])
    with reading(table, doing) as watched:
        for batch in watched(table.batches(list(names))):
            first_row = reader.first_row
            read = {argument: read_text(table, name, batch, first_row) for argument, name in texts.items()}
            arrays: dict[str, Any] = reader.read(batch)
            if keys is not None:
                arrays["tie_keys"] = keys.keys(batch, first_row)
            yield Read(arrays, read, columns, first_row)
    if is_part:
        return
    if reader.first_row == 0:
        raise InputError(f"{table.path} has no rows")
    reader.finish()


def read_rows(table: Table, numbers: Mapping[str, str], texts: Mapping[str, str], **options: Any) -> Read:
    """All rows of a table at once, and their tie keys, if a source of these is among the options."""
    batches, held = list[Read](), 0
    for batch in row_batches(table, numbers, texts, "reading", **options):
        batches.append(batch)
        held += sum(column.nbytes for column in (*batch.arrays.values(), *batch.texts.values()))
        check_held(table, held)
    pa = arrow()
    return Read(
        {argument: np.concatenate([each.arrays[argument] for each in batches]) for argument in batches[0].arrays},
        {argument: pa.chunked_array([each.texts[argument] for each in batches]).combine_chunks() for argument in texts},
        batches[0].columns,
    )


def matrix_columns(table: Table, names: Sequence[str]) -> dict[str, str]:
    """The columns of a matrix, by the argument that each becomes."""
    return {f"P[{number}]": table.check_column(name) for number, name in enumerate(names)}


def classes_of(model: ModelSet | VectorModel) -> list[Key]:
    """The classes of a set, or of a vector model, in the order of the columns."""
    return list(model.classes if is_vector(model) else model.columns or ())


def class_columns(table: Table, model: ModelSet | VectorModel, names: Sequence[str]) -> dict[str, str]:
    """The same in the order of a model's classes: by name where the classes are called so, else as given."""
    classes, what = list(map(str, classes_of(model))), "model" if is_vector(model) else "set"
    if len(names) != len(classes):
        listed = ", ".join(classes)
        raise InputError(f"--classes names {len(names)} columns, and the {what} has {len(classes)} classes: {listed}")
    if set(names) == set(classes):
        return matrix_columns(table, classes)
    if are_in_other_order(names, classes):
        problem = f"--classes is {', '.join(names)}, and the {what} has the classes {', '.join(classes)}"
        raise InputError(f"{problem}; give the columns in their order")
    return matrix_columns(table, names)


def matrix_of(arrays: Mapping[str, Array]) -> Array:
    """The matrix whose columns `matrix_columns` has named; float32 where all of them are."""
    return np.stack([column for argument, column in arrays.items() if argument.startswith("P[")], axis=1)


def checked_matrix(model: ModelSet | VectorModel, arrays: Mapping[str, Array], inputs: str) -> Float64s:
    """Probabilities of all classes of a set, or of a vector model, checked."""
    from fastbin._base.cells import check_matrix

    return check_matrix(matrix_of(arrays), inputs, len(classes_of(model)))


class LabelledColumns:
    """The columns of a table that say scores and labels for a model or a set, as the functions of `fastbin.assess` take them.

    For a set for predicted classes: the largest probability, whether its class is the true one, and the class. For a class-wise
    set, a row for each sample and class. `more` are further columns of numbers, `texts` of text, one for each sample.
    """

    def __init__(
        self, model: BinnedModel | ModelSet, table: Table, rows: RowOptions, *, more: Mapping[str, str] = MappingProxyType({}),
        texts: Mapping[str, str] = MappingProxyType({}), propagate: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._models = model if model.is_set else None
        self._of_classes = model.kind in CLASS_KINDS
        self._table, self._inputs = table, rows.inputs
        self._options: dict[str, Any] = {}
        if self._models is not None and self._of_classes:
            label, weights = rows.label_column(table), rows.weight_column(table)
            self._numbers = {**class_columns(table, self._models, rows.class_columns), **weights, **more}
            self._texts = {"labels": label, **texts}
            self.columns = {**self._numbers, "labels": label, "cells": label}
            return
        own = {} if self._models is None else {"cells": str(rows.segment)}
        self._numbers, self._texts = {**rows.columns(table), **more}, {**own, **texts}
        self.columns = {**self._numbers, **own}
        check_same_event(model.event, rows.positive)
        self._options = {"label": "labels", "positive": rows.positive, "event": model.event, "propagate": propagate}

    def all_rows(self) -> Read:
        """All rows at once."""
        return self._labelled(read_rows(self._table, self._numbers, self._texts, **self._options))

    def batches(self, doing: str, **options: Any) -> Iterator[Read]:
        """The same batch by batch, as `row_batches`."""
        batches = row_batches(self._table, self._numbers, self._texts, doing, **self._options, **options)
        yield from map(self._labelled, batches)

    def _labelled(self, read: Read) -> Read:
        arrays, texts = dict(read.arrays), dict(read.texts)
        with errors_in(self._table, self.columns, read.first_row):
            if self._models is not None and self._of_classes:
                arrays, texts = _of_classes(self._models, read, self._inputs)
            elif self._models is not None:
                arrays["cells"] = keys_like(self._models, texts.pop("cells"))
        return Read(arrays, texts, self.columns, read.first_row)


def _of_classes(models: ModelSet, read: Read, inputs: str) -> tuple[dict[str, Any], dict[str, Any]]:
    from fastbin._base.cells import find_columns
    from fastbin.multi.classes import top_of

    texts, classes = dict(read.texts), np.array(models.columns)
    matrix = checked_matrix(models, read.arrays, inputs)
    truth = find_columns(keys_like(models, texts.pop("labels"), "labels"), classes.tolist(), "labels")
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
