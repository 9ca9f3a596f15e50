"""Reading what was saved, by path."""

from __future__ import annotations

import os
from pathlib import Path

from fastbin._errors import FormatError
from fastbin.model import BinnedModel


def load(path: str | os.PathLike[str]) -> BinnedModel:
    """Read a model file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    BinnedModel

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
    data = Path(path).read_bytes()
    try:
        return BinnedModel.from_bytes(data)
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None
