"""Commands of the command line, run in this process: their exit code, and what they print and leave behind."""

from __future__ import annotations

import os
import shlex
from typing import Any

from click.testing import CliRunner, Result

from fastbin.cli import command_line


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


def refusal(*arguments: str, code: int = 1, **options: Any) -> str:
    """The one line that tells why a command was refused, which printed nothing else and left no file behind."""
    before = sorted(os.listdir())
    result = run(*arguments, code=code, **options)
    assert sorted(os.listdir()) == before, "a file was left behind"
    assert result.stdout == ""
    return result.stderr.splitlines()[0].removeprefix("error: ")
