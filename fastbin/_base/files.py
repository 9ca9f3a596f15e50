"""Atomic output, the only place where files are written; and input that reads no more than a file of ours would have.

A regular file is replaced as a whole: a reader sees the old content or the new content, even after a crash. A device, a pipe or
a descriptor would be destroyed by that; it is opened and written to.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from fastbin._base.errors import InputError, InputTypeError

TEMPORARIES: set[str] = set()
"""The named temporary files that exist now. The command line removes them when a signal ends it."""

# What files of models, sets, streams and monitors begin with, and where their header has their length (csrc/FORMAT.md).
MAGIC = b"\x89FB"
LENGTH_AT = slice(16, 24)

START_BYTES = 2**16  # enough to tell the format of any file
PIECE_BYTES = 2**20

MAX_LINKS = 40  # as on Linux; more must be a loop
NAME_BYTES = 100  # of the target's name in a temporary file's name, which may have 255 bytes

# The errors of O_TMPFILE on a file system or a kernel without it.
NOT_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTSUP)


class SupportsWrite(Protocol):
    """A file object that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Write these bytes."""


class SupportsRead(Protocol):
    """A file object that gives bytes."""

    def read(self, size: int, /) -> bytes | None:
        """At most so many bytes; none at its end."""


def replace_file(path: str | os.PathLike[str], write: Callable[[Any], object]) -> None:
    """Let `write` fill a binary file, then put it in the place of `path` atomically.

    A regular file keeps its mode, its extended attributes and, where permitted, its owner; a new one gets 0o666 less the umask.
    Symbolic links are followed: their target is replaced or created, and the link stays. Another hard link to the old file
    keeps the old content. If `write` raises, or the process dies, the old file stays as it was. The data are on the disk before
    the name changes.

    Where links lead is looked up once, before `write` is called, and the new file is renamed to that name: a link that somebody
    puts there meanwhile is replaced and not followed, so that no file that is read is overwritten by it. Only folders on the
    way could lead elsewhere.

    A device, a pipe, a socket or a descriptor (``/dev/stdout``, ``/dev/fd/3``, a shell's ``>(command)``) is written to.

    `write` is called once with a binary file open for writing, which it must not close. An OSError names the file to be
    replaced.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InputTypeError(f"is {path!r:.100}", "pass a path", argument="path")
    path = os.fsdecode(path)
    if not path:
        raise InputError(None, "name a file", argument="path", value=path)
    descriptor = descriptor_of(path)
    if descriptor is not None:
        with io.BufferedWriter(_Output(_duplicate(descriptor, path), Path(path), "w")) as file:
            write(file)
        return
    target = Path(os.path.realpath(path))
    old = _status(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with io.BufferedWriter(_Output(target, target, "w")) as file:  # a folder raises the system's own error here
            write(file)
        return
    if not hasattr(os, "fchown"):  # Windows: a new file takes the rights of its folder
        old = None
    with _naming(target):
        unnamed = _open_unnamed(target)
    if unnamed is None:
        _replace_by_name(target, write, old)
        return
    with unnamed as file:
        _fill(file, write, target, old)
        with _naming(target):
            _name(file, target, old)


def write_bytes(target: str | os.PathLike[str] | SupportsWrite, content: bytes) -> None:
    """Write these bytes to a path, as `replace_file` does, or to a file object that is open for writing bytes."""
    if not hasattr(target, "write"):
        replace_file(target, lambda file: file.write(content))
        return
    if isinstance(target, io.TextIOBase):
        raise InputTypeError('the file is open for text; open it for bytes, with mode "wb"')
    target.write(content)


def read_saved(
    source: str | os.PathLike[str] | SupportsRead, *, is_other: Callable[[bytes], bool] = lambda _: False
) -> bytes | bytearray:
    """The bytes of a saved model, set, stream or monitor, from a path or a file object that is open for reading bytes.

    The header comes first and has the length: of a file that has another length no more is read than the beginning, and of a
    pipe or a file object at most one byte beyond that length. What does not begin as our files do is not read on either, unless
    it is another known format. The reader that gets such a beginning refuses it. Memory grows with what was really read,
    whatever a header says. `is_other` tells by the beginning, up to 64 KiB, whether a file of another format is to be read as a
    whole.
    """
    if hasattr(source, "read"):
        return _read_saved(cast(SupportsRead, source), None, is_other)
    if isinstance(source, (bytearray, memoryview)) or (isinstance(source, bytes) and (source.startswith(MAGIC) or 0 in source)):
        remedy = "pass a path, or give the bytes to from_bytes of their class, such as BinnedModel.from_bytes"
        raise InputTypeError("is what a file holds, and not a path", remedy, argument="source")
    if not isinstance(source, (str, bytes, os.PathLike)):  # an integer would be an open descriptor, and be closed
        raise InputTypeError(f"is {source!r:.100}", "pass a path, or a file object that is open for bytes", argument="source")
    with open(source, "rb") as file:
        status = os.fstat(file.fileno())
        return _read_saved(file, status.st_size if stat.S_ISREG(status.st_mode) else None, is_other)


def as_bytes(data: Any) -> bytes | memoryview:
    """The bytes that `from_bytes` of a class was given, without a copy; nothing where there are none."""
    try:
        view = memoryview(data)
        return view.cast("B") if view.nbytes else b""
    except (TypeError, ValueError) as error:  # also where they are not one behind the other
        problem, remedy = f"is of type {type(data).__name__}", "pass bytes, as to_bytes gives them, or a path to load"
        raise InputTypeError(problem, remedy, argument="data") from error


def _read_saved(file: SupportsRead, size: int | None, is_other: Callable[[bytes], bool]) -> bytes | bytearray:
    """The same of an open file; `size` is how long it is, where that is known."""
    content = _read_on(file, bytearray(), START_BYTES)
    if not content.startswith(MAGIC):
        return _read_on(file, content, None) if is_other(bytes(content)) else content
    if len(content) < START_BYTES:  # all of it
        return content
    length = int.from_bytes(content[LENGTH_AT], "little")
    is_cut = size is not None and size != length and length != len(content)
    return content if is_cut else _read_on(file, content, length + 1)


def _read_on(file: SupportsRead, content: bytearray, limit: int | None) -> bytearray:
    """Append what follows until there are `limit` bytes. Memory grows with what was really read."""
    while limit is None or len(content) < limit:
        piece = file.read(PIECE_BYTES if limit is None else min(PIECE_BYTES, limit - len(content)))
        if piece is None:
            raise BlockingIOError(errno.EAGAIN, "the file has no bytes yet, and is open for reading without waiting")
        if not isinstance(piece, bytes):
            raise InputTypeError('the file is open for text; open it for bytes, with mode "rb"')
        if not piece:
            break
        content += piece
    return content


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether `replace_file` would create or replace a regular file, rather than write to a device, pipe or descriptor."""
    if descriptor_of(os.fspath(path)) is not None:
        return False
    old = _status(Path(os.path.realpath(path)))
    return old is None or stat.S_ISREG(old.st_mode)


def descriptor_of(path: str) -> int | None:
    """The open descriptor that a path such as ``/dev/stdout`` or ``/dev/fd/3`` stands for, if it does.

    Opening such a path again would lose its position in the file (after ``>>``), and fails for sockets.
    """
    own = {"/dev/fd", f"/proc/{os.getpid()}/fd"}
    for _ in range(MAX_LINKS):
        folder, name = os.path.split(path)
        if name.isdigit() and (folder in own or os.path.realpath(folder) in own):
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError:
            return None
    return None


def _duplicate(descriptor: int, path: str) -> int:
    try:
        return os.dup(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Errors of the system name the file that was to be replaced: in place of nothing, its folder, or a temporary name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error


class _Output(io.FileIO):
    """A descriptor whose errors name the file that is written; those of files that are read meanwhile do not."""

    def __init__(self, file: int | Path, target: Path, mode: str) -> None:
        super().__init__(file, mode)
        self._target = target

    def write(self, data: Any, /) -> int:
        with _naming(self._target):
            return os.write(self.fileno(), data)


def _fill(file: BinaryIO, write: Callable[[Any], object], target: Path, old: os.stat_result | None) -> None:
    """Write content, rights and attributes of the new file to the disk."""
    with _naming(target):
        if old is not None:
            # Rights come before the content, which must stay hidden from whoever could not read the old file. The owner comes
            # before the mode, because a change of owner clears some of its bits.
            os.fchmod(file.fileno(), 0o600)
            _copy_owner(file.fileno(), old)
            _copy_attributes(file.fileno(), target)
    write(file)
    with _naming(target):
        file.flush()
        if old is not None:
            os.fchmod(file.fileno(), _mode(file.fileno(), old))
        os.fsync(file.fileno())


def _copy_owner(descriptor: int, old: os.stat_result) -> None:
    """Give the new file the owner and the group of the old one, where permitted."""
    new = os.fstat(descriptor)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        if owner not in (-1, new.st_uid) or group not in (-1, new.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, owner, group)


def _copy_attributes(descriptor: int, old: Path) -> None:
    """Copy extended attributes. Without the access list among them, the mode could give more people access."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):  # a system attribute, or a file system without attributes
                os.setxattr(descriptor, name, os.getxattr(old, name))


def _mode(descriptor: int, old: os.stat_result) -> int:
    """The mode of the old file, without the special rights of an owner or a group that could not be kept."""
    new, mode = os.fstat(descriptor), stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid:
        mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        of_others = (mode & stat.S_IRWXO) << 3
        mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXG & of_others)
    return mode


# ---------------------------------------------------------------------- without a name while it is written


def _open_unnamed(target: Path) -> BinaryIO | None:
    """A file without a name in the target's folder, which vanishes if the process dies; ``None`` where that is not possible."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        descriptor = os.open(target.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in NOT_UNNAMED or not target.parent.is_dir():
            raise
        return None
    return cast(BinaryIO, io.BufferedRandom(_Output(descriptor, target, "w+")))


def _name(file: BinaryIO, target: Path, old: os.stat_result | None) -> None:
    """Link a file to its name: directly if the name is free, else by a temporary name, because links replace nothing."""
    folder = os.open(target.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _link(file, target.name, folder):
            with _temporary_name(target) as temporary:
                _link(file, temporary.name, folder)
                os.replace(temporary.name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        _sync_names(target.parent)
    except _NoLinksError:
        file.seek(0)
        _replace_by_name(target, lambda named: shutil.copyfileobj(file, named), old)
    finally:
        os.close(folder)


class _NoLinksError(Exception):
    """The file system creates files without a name, but does not link them."""


def _link(file: BinaryIO, name: str, folder: int) -> bool:
    """Link the file to a name; False if the name is taken."""
    try:
        os.link(f"/proc/self/fd/{file.fileno()}", name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise _NoLinksError from error
    return True


# ---------------------------------------------------------------------- with a name while it is written


def _replace_by_name(target: Path, write: Callable[[Any], object], old: os.stat_result | None) -> None:
    with _temporary_name(target) as temporary:
        # The system applies the umask to the mode. Reading the umask would mean setting it, for all threads.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        with _naming(target):
            descriptor = os.open(temporary, flags, 0o666)
        with io.BufferedWriter(_Output(descriptor, target, "w")) as file:
            _fill(cast(BinaryIO, file), write, target, old)
        with _naming(target):
            os.replace(temporary, target)
        _sync_names(target.parent)


@contextlib.contextmanager
def _temporary_name(target: Path) -> Iterator[Path]:
    """A free name beside the target; on an error the file of that name is removed."""
    stem = os.fsdecode(os.fsencode(target.name)[:NAME_BYTES])
    temporary = target.with_name(f".{stem}.{os.urandom(8).hex()}.tmp")
    TEMPORARIES.add(str(temporary))
    try:
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        TEMPORARIES.discard(str(temporary))


def _sync_names(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
