"""The entry point of ``fastbin`` and of ``python -m fastbin``."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from fastbin._base.dependencies import install_command
from fastbin._base.files import TEMPORARIES

SHOW_CURSOR = b"\x1b[?25h"  # a spinner may have hidden it


class _WithoutPandas:
    """An import hook for a process without objects of pandas.

    PyArrow imports pandas, if it is installed, to recognise them: 0.3 s and 57 MB, and if memory is limited the import fails in
    ways that cannot be caught.
    """

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=name)


def build_flags(names: Sequence[str]) -> str:
    """The compiler flags (``--cflags``) and linker flags (``--libs``) for C programs that use the library in this package."""
    root = Path(__file__).resolve().parent / "_c"
    flags = {
        "--cflags": ["-I" + str(root / "include")],
        "--libs": ["-L" + str(root / "lib"), "-lfastbin", *([] if sys.platform == "win32" else ["-lm"])],
    }
    return shlex.join(flag for name in flags if name in names for flag in flags[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code.

    ``fastbin --cflags --libs`` needs NumPy alone, everything else the extra "cli".
    """
    if arguments is None:  # as a process of its own
        arguments = sys.argv[1:]
        _complete_streams()
        _end_cleanly_on_signals()
        sys.meta_path.insert(0, _WithoutPandas())
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: its threads spin for half of a short command
    if arguments and {"--cflags", "--libs"}.issuperset(arguments):
        with contextlib.suppress(BrokenPipeError):
            print(build_flags(arguments), flush=True)
        return 0
    try:
        import click
        import rich
    except ImportError as error:
        print(f"error: the command line needs {error.name}, which is not installed; {install_command('cli')}", file=sys.stderr)
        return 1
    del click, rich
    from fastbin.cli import command_line

    return command_line.run(list(arguments))


def entry() -> NoReturn:
    """The process ``fastbin``: the command line, then the end of the process without that of the interpreter.

    A thread of PyArrow may still wait for standard input, or just be letting go of it, in Python code. A normal exit of the
    interpreter ends such a thread in the middle of C++, which aborts the process.
    """
    code = main()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _complete_streams() -> None:
    """Prevent that a file which is opened gets the descriptor of a standard stream that was closed (``<&-``, ``>&-``).

    A closed standard output then fails with EBADF at the first write, which is reported. Messages for a closed standard error
    are dropped. A closed standard input stays ``None``.
    """
    for descriptor, access in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest free descriptor, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # for names that are not text, or not in the encoding of the terminal
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _end_cleanly_on_signals() -> None:
    """End the process at once on SIGINT, SIGTERM and SIGHUP, with one line and without files left behind.

    A thread that waits on a descriptor does it: the main thread may be in C for a long time, and a KeyboardInterrupt that is
    raised in an import or in a callback from C would be a traceback, or lost.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
    threading.Thread(target=_wait_for_the_end, args=(source,), daemon=True).start()


def _wait_for_the_end(source: int) -> None:
    number = os.read(source, 1)[0]
    for path in list(TEMPORARIES):
        with contextlib.suppress(OSError):
            os.unlink(path)
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, SHOW_CURSOR)
        if number == signal.SIGINT:
            os.write(2, b"error: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    entry()
