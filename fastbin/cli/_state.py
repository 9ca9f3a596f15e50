"""The state of a monitor on the disk: one process at a time, and every outcome counted once."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastbin._base.errors import InputError
from fastbin._base.files import TEMPORARIES, is_replaceable, read_saved
from fastbin.cli._streams import display_name

if TYPE_CHECKING:
    from fastbin.online import CalibrationMonitor

PAUSE = 0.02  # seconds between two looks at a lock
READ_BYTES = 2**20


class StateFile:
    """The content of a state file at the start, so that a state which another program wrote later is not replaced."""

    def __init__(self, path: str) -> None:
        if path == "-" or not is_replaceable(path):
            raise InputError(f"{path} cannot hold a state, which is read and written again; name a file")
        self.path = path
        self.content = self._read()

    def _read(self) -> bytes | None:
        from fastbin.online.streaming import is_json

        with suppress(FileNotFoundError):
            return bytes(read_saved(self.path, is_other=is_json))
        return None

    def save(self, monitor: CalibrationMonitor) -> None:
        """Write the new state in place of the old one, if no other program has changed it."""
        if self._read() != self.content:
            raise InputError(f"{self.path} was changed by another program meanwhile and is left as it is; run this again")
        monitor.save(self.path)


@contextmanager
def locked(path: str | None, seconds: float) -> Iterator[None]:
    """Keep other processes from updating a state while the block runs. They wait for `seconds` and are then refused.

    The lock is on a file beside the state, since the state itself is replaced. The file is removed with the lock; one that a
    killed process has left is not locked any more.
    """
    try:
        import fcntl
    except ImportError:  # Windows; `StateFile.save` still notices that another program has written
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
            os.unlink(lock)  # while it is locked, so that a process that waits notices and makes a new file
        TEMPORARIES.discard(str(lock))
        os.close(descriptor)


def _wait_for(fcntl: Any, lock: Path, path: str, seconds: float) -> int:
    """A descriptor of the lock file, which is locked."""
    deadline = time.monotonic() + seconds
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except FileNotFoundError:  # removed by the process that held the lock, between the two calls
            pass
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(
                    f"{path} is still being updated by another process after {seconds:g} seconds; run this again later"
                ) from None
            time.sleep(PAUSE)
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"{path} cannot be locked ({error.strerror}); keep the state on a local disk") from None
        os.close(descriptor)


class CountedFiles:
    """The files that a monitor has counted, by the SHA-256 of their bytes."""

    def __init__(self, monitor: CalibrationMonitor, again: bool) -> None:
        self._monitor, self._again = monitor, again
        self._here: dict[bytes, str] = {}  # those of this call
        self._before: dict[str, os.stat_result] = {}

    def check_file(self, path: str) -> None:
        """Refuse a file that was counted before; otherwise note it as counted."""
        self._before[path] = os.stat(path)
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while data := file.read(READ_BYTES):
                digest.update(data)
        self.check_digest(digest.digest(), path)

    def check_unchanged(self) -> None:
        """Refuse if a file has changed since its digest was computed."""
        for path, before in self._before.items():
            now = os.stat(path)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
                raise InputError(f"{path} was changed while it was read; run this again when it is complete")

    def check_digest(self, digest: bytes, path: str) -> None:
        """The same for a pipe that has been read to its end."""
        here = self._here.get(digest)
        if not self._again and (here is not None or digest in self._monitor.seen):
            why = "was counted before" if here is None else f"holds the same as {display_name(here)}"
            raise InputError(f"{display_name(path)} {why}; outcomes count once, unless --again is given")
        self._here[digest] = path

    def mark(self) -> None:
        """Store the digests of the files of this call in the monitor."""
        for digest in self._here:
            self._monitor.mark_seen(digest)
