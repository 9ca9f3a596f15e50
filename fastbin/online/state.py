"""What is kept between two looks: files, pickles and equality, by the bytes of a state."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastbin._base.files import replace_file
from fastbin._model.parts import read_file

if TYPE_CHECKING:
    from typing_extensions import Self


def is_json(start: bytes | bytearray) -> bool:
    """Whether a file that begins so may be the state of a monitor of 0.1.0."""
    return start.lstrip()[:1] == b"{"


class State:
    """A state that `to_bytes` writes completely and `from_bytes` reads. Not hashable, as it changes."""

    if TYPE_CHECKING:

        def to_bytes(self) -> bytes: ...

        @classmethod
        def from_bytes(cls, data: bytes | bytearray) -> Self: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, under a temporary name that is renamed when all is written."""
        replace_file(path, lambda file: file.write(self.to_bytes()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Go on from a file that `save` wrote; errors as in `from_bytes`, and OSError if it cannot be read."""
        return read_file(path, cls.from_bytes, is_other=is_json)

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]
