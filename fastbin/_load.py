"""Reading what was saved."""

from __future__ import annotations

import os
from typing import Any

from fastbin._files import SupportsRead
from fastbin._saved import read_file
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# How the file of a set begins; that of a model, or anything else, is left to its reader.
SET_MAGIC = b"\x89FBT"


def load(path: str | os.PathLike[str] | SupportsRead) -> BinnedModel | Any:
    """Read a file of a model, or of a set of models.

    Parameters
    ----------
    path : str, path-like, or binary file object

    Returns
    -------
    BinnedModel or ModelSet
        Whichever the file holds. To type checkers, a model, or anything: `ModelSet.load` and `BinnedModel.load` are typed.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If it is not a model, is damaged, or comes from a newer fastbin.

    Examples
    --------
    >>> import os, tempfile
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "credit.fbm")
    ...     model.save(path)
    ...     fb.load(path) == model
    True
    """
    return read_file(path, read)


def read(data: bytes | bytearray) -> BinnedModel | ModelSet:
    """The model or the set in these bytes; FormatError as in `load`."""
    return ModelSet.from_bytes(data) if data[:4] == SET_MAGIC else BinnedModel.from_bytes(data)
