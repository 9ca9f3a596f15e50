"""Commands of the command line, run in this process or all in one other: their exit codes, what they print and leave behind."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from fastbin.cli import command_line
from fresh_python import environment

# Runs commands, each of which ends with the argument ";", with the standard streams that the process has found. Modules whose
# names are the first argument cannot be imported.
IN_TURN = """
import contextlib, fcntl, os, sys
found, left = {}, []
for number in (0, 1):
    with contextlib.suppress(OSError):
        found[number] = fcntl.fcntl(number, fcntl.F_DUPFD, 10)
class Block:
    names = sys.argv[1].split()
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
from fastbin.__main__ import main
words = sys.argv[2:]
while words:
    end = words.index(";")
    sys.argv[1:], words = words[:end], words[end + 1 :]
    for number, name in enumerate(("stdin", "stdout")):
        if number in found:
            os.dup2(found[number], number)
        else:  # as a new interpreter has it
            os.closerange(number, number + 1)
            left.append(getattr(sys, name))
            setattr(sys, name, None)
    code = main()
    for number, mark in ((1, b"\\0"), (2, b"\\0%d\\0" % code)):
        with contextlib.suppress(OSError):
            os.write(number, mark)
os._exit(0)
"""


class Ended(NamedTuple):
    """How a command ended, and what it wrote to streams that were not given."""

    code: int
    stdout: str
    stderr: str


def run(*arguments: str, code: int = 0, **options: Any) -> Result:
    """The command that these arguments say, which ends with this code; options are those of click, such as input."""
    result = CliRunner().invoke(command_line, arguments, **options)
    assert result.exit_code == code, result.output
    return result


def run_lines(script: str) -> str:
    """The output of the commands of a page, one in each line."""
    printed = ""
    for line in script.splitlines():
        name, *arguments = shlex.split(line, comments=True)
        assert name == "fastbin", line
        printed += run(*arguments).output
    return printed


def in_a_process(*commands: Sequence[str | bytes], without: Collection[str] = (), **options: Any) -> list[Ended]:
    """Commands one after another in one process, as nearly all of the time of most is that of imports.

    Options are those of `subprocess.run`, such as a stream; ``without`` names modules that it finds missing.
    """
    words = [word for command in commands for word in (*command, ";")]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment(), "timeout": 120}
    result = subprocess.run([sys.executable, "-c", IN_TURN, " ".join(without), *words], check=False, **settings | options)
    assert result.returncode == 0, result.stderr
    *told, _ = result.stderr.split("\0")
    printed = [""] * len(commands) if result.stdout is None else result.stdout.split("\0")[:-1]
    ended = [Ended(int(code), *streams) for code, *streams in zip(told[1::2], printed, told[::2], strict=True)]
    assert len(ended) == len(commands)
    return ended


def refusal(*arguments: str, code: int = 1, **options: Any) -> str:
    """The one line that tells why a command was refused, which printed nothing else and left no file behind."""
    before = sorted(os.listdir())
    result = run(*arguments, code=code, **options)
    assert sorted(os.listdir()) == before, "a file was left behind"
    assert result.stdout == ""
    return result.stderr.splitlines()[0].removeprefix("error: ")
