"""The command line: one module per command, imported when it is needed.

A module whose name does not start with an underscore and that holds a click command named ``command`` is a command of that
name; nothing has to be registered. Modules import nothing slow at their top, so that ``fastbin --help`` answers at once.
"""

from __future__ import annotations

from fastbin.cli._group import CommandLine

command_line = CommandLine()
