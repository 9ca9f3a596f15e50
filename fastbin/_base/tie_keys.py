"""Tie keys from ids: salted hashes that any system can compute again."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import UInt64s
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import has_no_array_type, masked_entries

# The number after the greatest key is reserved: it stands for "above every key".
GREATEST_KEY = 2**64 - 2
ABOVE_EVERY_KEY = GREATEST_KEY + 1

# Keys are uniform up to 2**64: 8 of them are all below 2**32 with a chance of 2**-256.
LEAST_KEYS_TO_JUDGE = 8

CONVERT_IDS = "ids are integers, text or bytes: convert them, the same way wherever they are scored"


def hash_keys(ids: Any, salt: str | bytes) -> UInt64s:
    """Tie keys of entities, from whatever identifies them.

    A key decides on which side of a boundary an entity falls whose score equals it. Made from the entity's id, the same entity
    gets the same answer at every call. If the salt is secret, nobody can choose an id for its answer.

    Parameters
    ----------
    ids : array-like of shape (n,)
        Integers, text or bytes: a NumPy array, a list, a pandas or Polars series, an Arrow array (also chunked, or of a
        dictionary). Kinds may be mixed in a list. The integer 17, the text "17" and the bytes b"17" are one id.
    salt : str or bytes
        The secret, not empty; text stands for its UTF-8 bytes. Keep it: another salt is another key.

    Returns
    -------
    ndarray of uint64 (n,)
        In [0, 2**64 - 2], as good as uniform; equal ids have equal keys.

    Raises
    ------
    InputError
        For an id that is missing, and for an empty salt; the message names the position.
    InputTypeError
        For ids that are floats, bool or anything else: they have no one spelling.

    See Also
    --------
    BinnedModel.predict : takes the keys.

    Notes
    -----
    The key is the first 8 bytes, big-endian, of HMAC-SHA-256 (RFC 2104, FIPS 180-4) of the id's text as UTF-8, integers in
    decimal, with the salt as the secret; 2**64 - 1, which is reserved, becomes 2**64 - 2. The same is `fastbin_hash_key` in C
    and ``--salt-file`` on the command line. Two microseconds an id.

    Hash what identifies the entity, never its score or label. Distinct ids share a key with a chance of n**2 / 2**65.

    Examples
    --------
    >>> import fastbin as fb
    >>> fb.hash_keys([17, "17", "Zoë"], salt="s3cret")
    array([9823648253685256864, 9823648253685256864, 7688058922835040602],
          dtype=uint64)
    """
    secret = check_salt(salt)
    return np.array([hash_key(_message(value, i), secret) for i, value in enumerate(_values(ids))], np.uint64)


def hash_key(message: bytes, secret: bytes) -> int:
    """The key of one id, which is bytes already."""
    import hmac  # which loads OpenSSL, in milliseconds that an import of fastbin need not take

    return min(int.from_bytes(hmac.digest(secret, message, "sha256")[:8], "big"), GREATEST_KEY)


def check_salt(salt: Any, name: str = "salt") -> bytes:
    """The salt as bytes."""
    if not isinstance(salt, (str, bytes, bytearray)):
        raise InputTypeError(f"must be text or bytes, got {type(salt).__name__}", argument=name)
    try:
        secret = salt.encode("utf8", errors="surrogateescape") if isinstance(salt, str) else bytes(salt)
    except UnicodeEncodeError:
        raise InputError("holds half of a surrogate pair, no character", "pass it as bytes", argument=name) from None
    if not secret:
        raise InputError("is empty", "a salt is a secret that others cannot guess", argument=name)
    return secret


def _values(ids: Any) -> list[Any]:
    """The ids one by one, as Python's types where their type has one."""
    if isinstance(ids, (str, bytes, bytearray)):
        raise InputTypeError(f"is one {type(ids).__name__}", "pass a list of ids", argument="ids")
    if hasattr(ids, "to_pylist"):  # PyArrow
        return list(ids.to_pylist())
    if isinstance(ids, (list, tuple)):
        return list(ids)  # NumPy would make text of all if some are
    if has_no_array_type(ids):
        return list(ids.to_list())
    masked = masked_entries(ids)
    if masked is not None:
        _refuse_missing(int(np.argmax(masked)), "masked")
    is_frame = hasattr(ids, "to_numpy") and not isinstance(ids, np.ndarray)
    array = np.asarray(ids.to_numpy() if is_frame else ids)
    if array.ndim != 1:
        raise InputTypeError(f"must be one-dimensional, got shape {array.shape}", "pass one id per row", argument="ids")
    if array.dtype.kind in "mM":  # of nanoseconds NumPy's list is of integers, which would pass
        array = array.astype(f"{array.dtype.kind}8[us]")
    if is_frame and array.dtype.kind == "f":  # integers of which some are missing
        array = np.asarray(ids, dtype=object)
    return list(array.tolist())


def _message(value: Any, position: int) -> bytes:
    """The bytes of an id that are hashed."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        try:
            return value.encode("utf8")
        except UnicodeEncodeError:
            problem = f"is {value!r}, which is not text"
            raise InputError(problem, CONVERT_IDS, argument="ids", at=position, value=value) from None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return b"%d" % int(value)
    is_nan = isinstance(value, (float, np.floating)) and value != value
    if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
        _refuse_missing(position, "missing")
    raise InputTypeError(None, CONVERT_IDS, argument="ids", at=position, value=value)


def _refuse_missing(position: int, how: str) -> NoReturn:
    remedy = "every row needs an id, since rows without one would all share a key"
    raise InputError(f"is {how}", remedy, argument="ids", at=position)


def look_like_ids(keys: UInt64s) -> bool:
    """Whether these cannot be keys, as 8 or more of them are all below 2**32. All zero is a choice, and passes."""
    return keys.size >= LEAST_KEYS_TO_JUDGE and 0 < int(keys.max()) < 2**32
