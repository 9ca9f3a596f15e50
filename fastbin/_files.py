"""Output that is whole or not there: the one way in which files are written.

A regular file is replaced whole: a reader sees the old one or the new one, whatever happens meanwhile. What is no regular file
(a device, a pipe, a descriptor) cannot be replaced without destroying it, and is opened and written through.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["TEMPORARIES", "descriptor_of", "is_replaceable", "replace_file"]

TEMPORARIES: set[str] = set()
"""The temporary files that have a name just now. The command line removes them when a signal ends it."""

# Links to follow before it must be a loop, as Linux does.
MAX_LINKS = 40
NAME_BYTES = 100  # of the target's name in that of a temporary file, which may have 255 in all

# What an open without a name fails with where the file system, or the kernel, cannot do it.
NOT_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTSUP)


def replace_file(path: str | os.PathLike[str], write: Callable[[Any], object]) -> None:
    """Let `write` fill a binary file that then takes the place of `path`, all at once.

    A regular file keeps its mode, its extended attributes and, where permitted, its owner; a new one gets 0o666 less the umask.
    Symbolic links are followed: what they point at is replaced or made, and the link stays. Another hard link to the old file
    keeps the old content. If `write` raises, or the process dies, the old file stays as it was. The data are on the disk before
    the name changes.

    A device, a pipe, a socket or a descriptor (``/dev/stdout``, ``/dev/fd/3``, a shell's ``>(command)``) is written through.

    Parameters
    ----------
    path : str or path-like
    write : callable
        Called once with a binary file that is open for writing; it must leave it open.

    Raises
    ------
    OSError
        If the file cannot be written, and whatever `write` raises.
    """
    path = os.fspath(path)
    descriptor = descriptor_of(path)
    if descriptor is not None:
        with os.fdopen(_duplicate(descriptor, path), "wb") as file:
            write(file)
        return
    target = Path(os.path.realpath(path))
    old = _status(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as file:  # a folder raises here, in the words of the system
            write(file)
        return
    if not hasattr(os, "fchown"):  # Windows, where rights are those of the folder
        old = None
    with _unnamed(target) as file:
        if file is not None:
            _fill(file, write, target, old)
            _name(file, target, old)
            return
    _replace_by_name(target, write, old)


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether `replace_file` would make or replace a regular file, and not write through something else."""
    if descriptor_of(os.fspath(path)) is not None:
        return False
    old = _status(Path(os.path.realpath(path)))
    return old is None or stat.S_ISREG(old.st_mode)


def descriptor_of(path: str) -> int | None:
    """The open descriptor of this process that a path such as ``/dev/stdout`` or ``/dev/fd/3`` means, if it means one.

    To open such a path anew would lose its place in the file (after ``>>``), and fails for sockets.
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


def _fill(file: BinaryIO, write: Callable[[Any], object], target: Path, old: os.stat_result | None) -> None:
    """Content, rights and attributes of the new file, all of it on the disk."""
    if old is not None:
        # Before the content, which nobody must see who could not see the old one; and the owner before the mode, since a change
        # of owner takes bits from it.
        os.fchmod(file.fileno(), 0o600)
        _copy_owner(file.fileno(), old)
        _copy_attributes(file.fileno(), target)
    write(file)
    file.flush()
    if old is not None:
        os.fchmod(file.fileno(), _mode(file.fileno(), old))
    os.fsync(file.fileno())


def _copy_owner(descriptor: int, old: os.stat_result) -> None:
    """The owner and the group of the old file, as far as the process may give them."""
    new = os.fstat(descriptor)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        if owner not in (-1, new.st_uid) or group not in (-1, new.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, owner, group)


def _copy_attributes(descriptor: int, old: Path) -> None:
    """Extended attributes; among them the access list, without which the mode alone might open the file to more people."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):  # one of the system's, or a file system without
                os.setxattr(descriptor, name, os.getxattr(old, name))


def _mode(descriptor: int, old: os.stat_result) -> int:
    """The old file's mode; where its owner or group could not be kept, without the rights that were meant for them alone."""
    new, mode = os.fstat(descriptor), stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid:
        mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        for_anybody = (mode & stat.S_IRWXO) << 3
        mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXG & for_anybody)
    return mode


# ---------------------------------------------------------------------- without a name while it is written


@contextlib.contextmanager
def _unnamed(target: Path) -> Iterator[BinaryIO | None]:
    """A file in the target's folder that has no name, so that nothing of it is left if the process dies; or ``None``."""
    file = None
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        try:
            file = os.fdopen(os.open(target.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666), "w+b")
        except OSError as error:
            if error.errno not in NOT_UNNAMED or not target.parent.is_dir():
                raise
    if file is None:
        yield None
        return
    with file:
        yield file


def _name(file: BinaryIO, target: Path, old: os.stat_result | None) -> None:
    """Give a file its name: at once where nobody has it, else by way of another, since a link replaces nothing."""
    folder = os.open(target.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _link(file, target.name, folder):
            with _temporary_name(target) as temporary:
                _link(file, temporary.name, folder)
                os.replace(temporary.name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        _keep_names(target.parent)
    except _NoLinksError:
        file.seek(0)
        _replace_by_name(target, lambda named: shutil.copyfileobj(file, named), old)
    finally:
        os.close(folder)


class _NoLinksError(Exception):
    """The file system makes files without a name, and gives them none."""


def _link(file: BinaryIO, name: str, folder: int) -> bool:
    """Whether the file has this name now; not if another one has it."""
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
        # The system takes the umask from the mode; to ask for the umask one has to change it, under other threads' feet.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            _fill(file, write, target, old)
        os.replace(temporary, target)
        _keep_names(target.parent)


@contextlib.contextmanager
def _temporary_name(target: Path) -> Iterator[Path]:
    """A name beside the target that nobody has; a file of that name is removed unless it was renamed."""
    stem = os.fsdecode(os.fsencode(target.name)[:NAME_BYTES])
    temporary = target.with_name(f".{stem}.{secrets.token_hex(8)}.tmp")
    TEMPORARIES.add(str(temporary))
    try:
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        TEMPORARIES.discard(str(temporary))


def _keep_names(folder: Path) -> None:
    """Have the names in a folder on the disk, too, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
