"""The answers of a model to columns of Arrow: wherever rows come to the model, and the model does not go to them as SQL.

One rule for all engines: a row that has no answer kills no query. It gets none, and whoever counts rows is told why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Array, Bools, Float64s, Int32s, Int64s, UInt8s, UInt64s
from fastbin._base.errors import InputError, InputTypeError
from fastbin.engines.arrow_columns import decoded, is_text, scores_of
from fastbin.engines.tables import pyarrow
from fastbin.export.form import limits_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# Why a row has no answer; 0 where it has one.
NO_SCORE, OUTSIDE, UNKNOWN, NO_KEY = 1, 2, 3, 4
N_REASONS = 5

KEY_DIGITS = 16

_DIGITS = np.full(256, 16, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


class CheckedRows(NamedTuple):
    """Rows as a model takes them. Where one has no answer, its score and key are any that have."""

    scores: Float64s
    keys: UInt64s | None
    numbers: Int32s | None  # of the model of each row of a set; -1 is the pool
    reasons: UInt8s

    @property
    def answered(self) -> Bools:
        return self.reasons == 0

    def predict(self, model: BinnedModel | ModelSet) -> Float64s:
        """float64 (n,): the values, NaN for rows without an answer."""
        if isinstance(model, ModelSet):
            assert self.numbers is not None
            values = model._predict(self.numbers, self.scores, self.keys, None, None, "error")
        else:
            values = model.predict(self.scores, keys=self.keys)
        values = np.asarray(values, np.float64)
        values[~self.answered] = np.nan
        return values

    def assign(self, model: BinnedModel | ModelSet) -> Int64s:
        """int64 (n,): the bins, those of a set counted on over its models; -1 for rows of a pool that no bin is told of.

        Rows without an answer have the bin of the score that stands for theirs; look at `reasons` first.
        """
        if isinstance(model, ModelSet):
            assert self.numbers is not None
            own = model._assign(self.numbers, self.scores, self.keys, None, "error")
            return np.where(self.numbers < 0, -1, model.first_bin[self.numbers] + own)
        return np.asarray(model.assign(self.scores, keys=self.keys), np.int64)


def check_rows(model: BinnedModel | ModelSet, scores: Any, cells: Any = None, keys: Any = None) -> CheckedRows:
    """Columns of Arrow as a model takes them.

    Parameters
    ----------
    model : BinnedModel or ModelSet
    scores : Arrow array (n,)
        Numbers; nulls are scores that are missing.
    cells : Arrow array (n,)
        Of a set: integers, texts or a dictionary of these.
    keys : Arrow array (n,)
        Of a model that splits ties: unsigned integers, or texts of 16 lower-case hexadecimal digits.

    Raises
    ------
    InputError, InputTypeError
        For columns of other types, and keys that are plainly ids.

    Notes
    -----
    O(n); a text of a dictionary is looked at once.
    """
    column = _floats(scores)
    with np.errstate(invalid="ignore"):
        missing = np.isnan(column)
        numbers, known = (None, None) if cells is None else _find_models(model, cells)
        low, high, fallback = _ranges(model, numbers)
        inside = (column >= low) & (column <= high)
    reasons = np.where(missing, NO_SCORE, np.where(inside, 0, OUTSIDE)).astype(np.uint8)
    if known is not None:
        reasons[~known] = UNKNOWN
    key_array = None
    if keys is not None:
        key_array, has_key = _key_array(keys)
        reasons[(reasons == 0) & ~has_key] = NO_KEY
    return CheckedRows(np.where(reasons == 0, column, fallback), key_array, numbers, reasons)


def models_of(model: BinnedModel | ModelSet) -> list[BinnedModel]:
    """One model, or those of a set."""
    return [model] if isinstance(model, BinnedModel) else [own for _, own in model.numbered]


def _ranges(model: BinnedModel | ModelSet, numbers: Int32s | None) -> tuple[Any, Any, Any]:
    """Where the scores of rows must lie, and a score for each that does."""
    if isinstance(model, BinnedModel):
        low, high, _ = limits_of(model)
        return low, high, min(max(low, 0.0), high)
    ends = np.array([limits_of(own)[:2] for own in models_of(model)])
    low, high = ends[numbers].T  # the pool is number -1, and the last
    return low, high, np.minimum(np.maximum(low, 0.0), high)


def as_arrow(column: Any) -> Any:
    """A column of pandas, Polars or Arrow as one Arrow array; NaN of pandas stays NaN or becomes null, which are one here."""
    pa = pyarrow()
    if hasattr(column, "to_arrow"):  # Polars
        column = column.to_arrow()
    elif not isinstance(column, (pa.Array, pa.ChunkedArray)):
        try:
            column = pa.Array.from_pandas(column)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"the column {column.name!r} holds values of several types: {error}") from error
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _floats(column: Any) -> Float64s:
    """Scores as float64, NaN for nulls."""
    return scores_of(decoded(column), "score").astype(np.float64, copy=False)


def _find_models(models: Any, cells: Any) -> tuple[Int32s, Bools]:
    """The number of the model of each row (-1: the pool), and whether it has one."""
    pa, kind = pyarrow(), cells.type
    coded = cells if pa.types.is_dictionary(kind) else cells.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    wanted = int if isinstance(models.keys[0], int) else str
    found = np.full(len(texts) + 1, -1, np.int32)
    for at, text in enumerate(texts):
        if text is not None and (not isinstance(text, wanted) or isinstance(text, bool)):
            raise InputError(
                f"cell is a column of type {kind}, and the keys of this set are "
                f"{'integers' if wanted is int else 'texts'}, such as {models.keys[0]!r}; give a column of such keys"
            )
        found[at] = models._find_one(text) if text in models else -1
    codes = np.asarray(coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False))
    numbers = found[codes]
    is_null = np.array([*(text is None for text in texts), True])[codes]
    if models.unknown == "pool":
        return numbers, ~is_null
    known = numbers >= 0
    return np.where(known, numbers, 0).astype(np.int32), known


def _key_array(keys: Any) -> tuple[UInt64s, Bools]:
    """Tie keys, and whether each row has one."""
    pa, kind = pyarrow(), keys.type
    present = np.asarray(keys.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if is_text(kind):
        numbers, valid = keys_of_digits(keys.fill_null("").to_numpy(zero_copy_only=False))
        present &= valid
    elif pa.types.is_unsigned_integer(kind):
        numbers = np.asarray(keys.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.uint64)
    else:
        raise InputTypeError(
            f"key is a column of type {kind}; keys are unsigned integers below 2**64 - 1, or texts of {KEY_DIGITS} lower-case "
            "hexadecimal digits: format(key, '016x')"
        )
    return np.where(present, numbers, np.uint64(0)), present


def keys_of_digits(texts: Array) -> tuple[UInt64s, Bools]:
    """The numbers that texts of 16 lower-case hexadecimal digits stand for, and which texts are so."""
    wide = np.array(texts, dtype=f"U{KEY_DIGITS + 1}") if len(texts) else np.empty(0, f"U{KEY_DIGITS + 1}")
    points: npt.NDArray[np.uint32] = wide.view(np.uint32).reshape(-1, KEY_DIGITS + 1)
    digits = _DIGITS[np.minimum(points[:, :KEY_DIGITS], 255)]
    valid = (digits < 16).all(axis=1) & (points[:, KEY_DIGITS] == 0)
    packed = np.ascontiguousarray((digits[:, ::2] << 4) | (digits[:, 1::2] & 15), np.uint8)
    return packed.view(">u8").ravel().astype(np.uint64), np.asarray(valid, np.bool_)
