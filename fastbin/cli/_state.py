"""The state of a monitor on the disk: one process at a time, and every outcome counted once."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastbin._errors import InputError
from fastbin._files import TEMPORARIES, is_replaceable
from fastbin.cli._streams import told_name

if TYPE_CHECKING:
    from fastbin.online import CalibrationMonitor

__all__ = ["CountedFiles", "StateFile", "locked"]

PAUSE = 0.02  # seconds between two looks at a lock
READ_BYTES = 2**20


class StateFile:
    """The bytes of a state as they were found, so that nobody else's are replaced."""

    def __init__(self, path: str) -> None:
        if path == "-" or not is_replaceable(path):
            raise InputError(f"{path} cannot hold a state, which is read and written again; name a file")
        self.path = path
        self.found = self._read()

    def _read(self) -> bytes | None:
        try:
            return Path(self.path).read_bytes()
        except FileNotFoundError:
            return None

    def save(self, monitor: CalibrationMonitor) -> None:
        """Write the new state in place of the one that was found, and of no other."""
        if self._read() != self.found:
            raise InputError(f"{self.path} was changed by another program meanwhile and stays as that left it; run this again")
        monitor.save(self.path)


@contextmanager
def locked(path: str | None, seconds: float) -> Iterator[None]:
    """Let nobody else update a state while the block runs; whoever else wants to waits so long and is then refused.

    The lock is on a file beside the state, since the state itself is replaced; it is removed with the lock, and one that a
    killed process left holds nobody up.
    """
    try:
        import fcntl
    except ImportError:  # Windows; that another program's state is not replaced is looked at all the same
        fcntl = None  # type: ignore[assignment]
    if path is None or fcntl is None:
        yield
        return
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    descriptor = _wait_for(fcntl, lock, path, seconds)
    TEMPORARIES.add(str(lock))
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock)  # while it is held, so that who waits sees that it is gone, and makes a new one
        TEMPORARIES.discard(str(lock))
        os.close(descriptor)


def _wait_for(fcntl: Any, lock: Path, path: str, seconds: float) -> int:
    """A descriptor of the lock, which is held."""
    deadline = time.monotonic() + seconds
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except FileNotFoundError:  # removed by who held it, between the two calls
            pass
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(
                    f"{path} is being updated by another process, also after {seconds:g} seconds; run this again later"
                ) from None
            time.sleep(PAUSE)
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"{path} cannot be locked ({error.strerror}); keep the state on a local disk") from None
        os.close(descriptor)


class CountedFiles:
    """Which files a monitor has counted, by the SHA-256 of their bytes."""

    def __init__(self, monitor: CalibrationMonitor, again: bool) -> None:
        self._monitor, self._again = monitor, again
        self._here: dict[bytes, str] = {}  # those of this call
        self._before: dict[str, os.stat_result] = {}

    def check_file(self, path: str) -> None:
        """Refuse a file that was counted before; else it counts as counted."""
        self._before[path] = os.stat(path)
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while data := file.read(READ_BYTES):
                digest.update(data)
        self.check_digest(digest.digest(), path)

    def check_unchanged(self) -> None:
        """Refuse if a file is not the one any more whose digest was taken."""
        for path, before in self._before.items():
            now = os.stat(path)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
                raise InputError(f"{path} was changed while it was read; run this again when it is complete")

    def check_digest(self, digest: bytes, path: str) -> None:
        """The same for what came from a pipe and has been read."""
        if not self._again:
            name = told_name(path)
            if digest in self._here:
                raise InputError(
                    f"{name} holds the same as {told_name(self._here[digest])}; outcomes count once, unless --again is given"
                )
            if digest in self._monitor.seen:
                raise InputError(f"{name} was counted before; outcomes count once, unless --again is given")
        self._here[digest] = path

    def mark(self) -> None:
        """Let the monitor keep the digests of what it has counted now."""
        for digest in self._here:
            self._monitor.mark_seen(digest)
