"""Tie keys on the command line: from a column of keys, from ids and a secret, or from row numbers and a seed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from fastbin._base.array_types import Bools, UInt64s
from fastbin._base.checks import look_like_ids
from fastbin._base.errors import InputError
from fastbin._base.tie_keys import GREATEST_KEY, check_salt, hash_key
from fastbin._core.fit import row_keys
from fastbin.tables.columns import first_true, without_missing
from fastbin.tables.table import arrow, as_plain

if TYPE_CHECKING:
    from fastbin.io import Table

ENVIRONMENT = "FASTBIN_SALT"


class KeyOptions(NamedTuple):
    """What the options of `key_options` say, and --seed."""

    column: str | None
    salt: bytes | None
    seed: int | None
    files: tuple[str, ...] = ()  # that of the salt

    @classmethod
    def take(cls, *, key: str | None, salt: str | None, salt_file: str | None, seed: int | None) -> KeyOptions:
        """The options of a command, which must go together."""
        for name, value in (("--salt", salt), ("--salt-file", salt_file)):
            if value is not None and key is None:
                raise click.UsageError(f"{name} is for the ids in --key COLUMN; give that too")
        if salt is not None and salt_file is not None:
            raise click.UsageError("--salt and --salt-file exclude each other: both say what ids are hashed with")
        if seed is not None and key is not None:
            raise click.UsageError("--seed and --key exclude each other: both say how ties are broken")
        secret: str | bytes | None = salt
        origin = "--salt"
        if salt_file is not None:
            # The line break that an editor leaves at the end is not part of the secret.
            secret, origin = Path(salt_file).read_bytes().removesuffix(b"\n").removesuffix(b"\r"), salt_file
        elif salt is None and key is not None:
            secret, origin = os.environ.get(ENVIRONMENT), ENVIRONMENT
        files = () if salt_file is None else (salt_file,)
        return cls(key, None if secret is None else check_salt(secret, origin), seed, files)


class KeySource:
    """Where the tie keys of a file's rows come from: a column of keys, of ids to be hashed, or row numbers and a seed."""

    def __init__(self, table: Table, options: KeyOptions) -> None:
        self._column = None if options.column is None else table.check_column(options.column)
        self._table, self._salt = table, options.salt
        self._seed = secrets.randbits(64) if options.seed is None else options.seed

    def keys(self, batch: Any, first_row: int, needed: Bools) -> UInt64s:
        """A key for each row of a batch; where it is not needed, its value does not matter."""
        if self._column is None:
            return row_keys(self._seed, len(batch), first_row)
        column = self._text(as_plain(batch.column(batch.schema.get_field_index(self._column))), first_row)
        if self._salt is None:
            return self._parse(column, first_row)
        keys = np.zeros(len(batch), np.uint64)
        for row in np.flatnonzero(needed).tolist():
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
            self._refuse(first_row + first_true(column.is_null()), "the value is missing")
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
            self._refuse(first_row + int(keys.argmax()), "2**64 - 1 is reserved")
        return keys

    def _refuse(self, row: int, complaint: str) -> None:
        raise InputError(f"{self._table.place(row)}, column {self._column}: {complaint}")
