"""How models and sets become bytes and files and come back: what the two have in common.

Pickle takes `__reduce__`. skops, and what is built on it, takes `__getstate__`, makes an object by `__new__` and gives it that
state: without these methods it would save nothing and load an empty object, both without an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fastbin._base.errors import FormatError
from fastbin._base.files import SupportsRead, SupportsWrite, read_saved, write_bytes

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R")


def read_file(
    path: str | os.PathLike[str] | SupportsRead, read: Callable[[bytes | bytearray], R], **options: Callable[[bytes], bool]
) -> R:
    """What `read` makes of the bytes of a file, which `read_saved` gets by these options; a FormatError names the path."""
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
        """
        made = cls.__new__(cls)
        made._read_into(memoryview(data).cast("B") if len(data) else b"")
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
