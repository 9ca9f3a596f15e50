"""A model and a set of models, as far as they are alike: models in a row, how they are shown, and bytes and files.

Pickle takes `__reduce__`. skops, and what is built on it, takes `__getstate__`, makes an object by `__new__` and gives it that
state: without these methods it would save nothing and load an empty object, both without an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fastbin._base.checks import check_choice
from fastbin._base.errors import FormatError
from fastbin._base.files import SupportsRead, SupportsWrite, as_bytes, read_saved, write_bytes
from fastbin._base.shown import printable

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin._base.cells import Key
    from fastbin.guarantees.certificate import Certificates


# What an interval is about, and the columns of such intervals: those at scores name what they assume.
At = Literal["bin", "score"]
NAMES_OF_ENDS: dict[At, tuple[str, str]] = {"bin": ("lower", "upper"), "score": ("lower_if_rising", "upper_if_rising")}


class Parts:
    """A model or a set, as models in a row; scoring imports nothing for it."""

    is_set: bool
    """Whether the models have cells, so that rows come with keys and results say which cell they are about."""

    @property
    def numbered(self) -> list[tuple[Key | None, Any]]:
        """Every model with its key, in the order of their numbers. The pool of a set is the last and has none."""
        raise NotImplementedError

    def _interval_at(self, at: Any) -> Any:
        """Bins or scores: which of them intervals of rows are about. By default scores, where values are finer than bins."""
        if at is not None:
            return check_choice(at, "at", tuple(NAMES_OF_ENDS))
        return "score" if any(model.n_steps > model.n_bins for _, model in self.numbered) else "bin"

    def certificates(self: Any, alpha: float = 0.1) -> Certificates:
        """Every kind of promise that is supported, by its default bound; ``print`` shows them.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that a promise fails, each by itself. Choose one before looking at the numbers.

        Returns
        -------
        Certificates
            A table with a row for each kind, and its sentence; ``.certificates`` are what `certificate` gives for each.

        Raises
        ------
        GuaranteeError
            If none is supported.
        """
        from fastbin.guarantees.certificate import Certificates

        return Certificates.of(partial(self.certificate, alpha))

    def to_pandas(self, alpha: float | None = 0.1) -> Any:
        """One row per bin, of a set for all its models: scores, value, counts and the simultaneous interval.

        Parameters
        ----------
        alpha : float or None
            Of the intervals, which a set shares between all its models; ``None`` leaves them out.

        Returns
        -------
        pandas DataFrame
            A bin begins at ``lower``, itself included, and ends before ``upper``; of equal edges a random key decides. Without
            ``interval_lower`` and ``interval_upper`` where the method supports no interval.

        Raises
        ------
        MissingDependencyError
            Without pandas, or without SciPy for intervals.

        Examples
        --------
        >>> import fastbin as fb
        >>> model = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]).model_
        >>> model.to_pandas()[["lower", "upper", "count", "interval_upper"]].round(3)
           lower  upper  count  interval_upper
        0    0.0    0.5      3           0.904
        1    0.5    1.0      3           0.991
        """
        from fastbin._base import table
        from fastbin._model import view

        return table.to_pandas(view.columns_of(self, alpha))

    def to_polars(self, alpha: float | None = 0.1) -> Any:
        """As `to_pandas`, as a Polars DataFrame; MissingDependencyError without Polars."""
        from fastbin._base import table
        from fastbin._model import view

        return table.to_polars(view.columns_of(self, alpha))

    def to_dict(self, alpha: float | None = 0.1) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, ready for JSON: the facts, and one dict per bin under "bins".

        Parameters
        ----------
        alpha : float or None
            Of the intervals; ``None`` leaves them out, and needs NumPy alone.
        """
        from fastbin._model import view

        return view.as_dict(self, alpha)

    def __str__(self) -> str:
        from fastbin._model import view

        return printable(view.in_text(self), keep="\n")

    def _repr_html_(self) -> str:
        from fastbin._model import view

        return view.in_html(self)


# ------------------------------------------------------------------ bytes and files


R = TypeVar("R")


def read_file(
    path: str | os.PathLike[str] | SupportsRead, read: Callable[[bytes | bytearray], R], **options: Callable[[bytes], bool]
) -> R:
    """The model or set that `read` makes of a file, which `read_saved` reads by these options; a FormatError names the path."""
    data = read_saved(path, **options)
    try:
        return read(data)
    except FormatError as error:
        if hasattr(path, "read"):
            raise
        raise FormatError(f"{os.fspath(path)}: {error}") from None


class Saved:
    """Bytes and files of an object of C that is immutable once it is made. Comes before the native class in the bases."""

    if TYPE_CHECKING:

        def to_bytes(self) -> bytes: ...

        def _read_into(self, data: bytes | memoryview) -> None: ...

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The model, or the set, in these bytes, as `to_bytes` made them.

        Raises
        ------
        FormatError
            If they are foreign, damaged, truncated, of a newer format or of the other kind; the message says which.
        InputTypeError
            For what is not bytes.
        """
        made = cls.__new__(cls)
        made._read_into(as_bytes(data))
        return made

    @classmethod
    def load(cls, path: str | os.PathLike[str] | SupportsRead) -> Self:
        """Read a file of this class; `fastbin.load` reads whichever a file holds, and its type is that of either.

        Parameters
        ----------
        path : str, path-like, or binary file object

        Raises
        ------
        OSError
            If the file cannot be read.
        FormatError
            If it is not a model (a set, if asked of one), is damaged, or comes from a newer fastbin.
        """
        return read_file(path, cls.from_bytes)

    def save(self, path: str | os.PathLike[str] | SupportsWrite) -> None:
        """Write to a path, under a temporary name that is renamed when all is written, or to a binary file object."""
        write_bytes(path, self.to_bytes())

    @property
    def provenance(self) -> dict[str, Any] | None:
        """How it came about, or ``None`` where that is not known.

        "made_by" lists the steps, each with its whole configuration, and "version" is the fastbin that took the last one; the
        rest is what the object says itself: "event", "n_samples" and "n_positive", and of a model "seed" and "fingerprint".
        """
        from fastbin._model.provenance import OF_MODEL, stated_by

        stated = stated_by(self._provenance)  # type: ignore[attr-defined]
        return None if stated is None else {**stated, **{name: getattr(self, name) for name in OF_MODEL if hasattr(self, name)}}

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __getstate__(self) -> dict[str, bytes]:
        return {"bytes": self.to_bytes()}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self._read_into(state["bytes"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Saved) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())
