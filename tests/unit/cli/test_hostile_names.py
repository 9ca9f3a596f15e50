"""Names from files, tables and models reach no terminal, page or log as they are: every command, every way to be shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from commands import IN_TURN

import fastbin as fb
from fastbin.cli import command_line
from fastbin.report import assess_model, render_report

OWNED = "\x1b]0;owned\x07\x9b31m\x7f\x08\u202e\u200b\u2028[red]x[/red]"
RNG = np.random.default_rng(5)
N = 1200
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(int)
MODEL = fb.UniformMassBinning(4).fit(SCORES, LABELS).model_
PARTS = {name: getattr(MODEL, name) for name in ("edges", "values", "counts", "label_sums", "n_bins_asked")}
HOSTILE = fb.BinnedModel.from_parts(
    **PARTS, scheme="explicit", n_samples=int(MODEL.counts.sum()), n_positive=int(MODEL.label_sums.sum()),
    note=OWNED, event=OWNED, provenance={"made_by": [{"calibrator": OWNED, "configuration": {OWNED: OWNED}}], "version": OWNED},
)  # fmt: skip
CELLS = [f"{OWNED}{i % 2}" for i in range(N)]
SET = fb.ModelSet({f"{OWNED}{i}": HOSTILE for i in range(2)})
BAD = ("Cc", "Cf", "Cs", "Zl", "Zp")

# What the console writes of its own on a terminal: colours, the cursor, erased lines.
STYLES = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|\r")


def commands_in(text: str) -> set[str]:
    return {each for each in text if unicodedata.category(each) in BAD} - {"\n", "\t"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = {
        f"p{OWNED}": SCORES,
        f"y{OWNED}": LABELS,
        f"c{OWNED}": CELLS,
        f"t{OWNED}": np.where(LABELS, "a" + OWNED, "b" + OWNED),
    }
    pq.write_table(pa.table(table), f"t{OWNED.replace('/', '')}.parquet")
    HOSTILE.save(f"m{OWNED.replace('/', '')}.fbm")
    SET.save("set.fbm")
    for name, model in (("m", HOSTILE), ("s", SET)):
        Path(f"{name}.json").write_text(fb.export.json(model), "ascii")
        Path(f"{name}.onnx").write_bytes(fb.export.onnx(model).SerializeToString())


NAME = OWNED.replace("/", "")
M, T = f"m{NAME}.fbm", f"t{NAME}.parquet"
ROWS = [T, "--score", f"p{OWNED}", "--label", f"y{OWNED}"]
COMMANDS: list[list[str]] = [
    ["inspect", M], ["inspect", M, "--json"], ["inspect", "set.fbm"], ["inspect", "set.fbm", "--json"], ["inspect", "m.onnx"],
    ["inspect", "m.onnx", "--json"], ["inspect", "m.json"], ["inspect", "s.json"],
    ["inspect", "set.fbm", "--cell", f"{OWNED}0"], ["inspect", "set.fbm", "--cell", OWNED], ["inspect", f"none{NAME}"],
    ["inspect", T], ["fit", *ROWS, "-o", f"o{NAME}.fbm"], ["fit", *ROWS[:3], "--label", OWNED, "-o", "o.fbm"],
    ["fit", *ROWS, "-o", f"no{NAME}/o.fbm"], ["fit", *ROWS[:3], "--label", f"t{OWNED}", "-o", "o.fbm"],
    ["fit", *ROWS[:3], "--label", f"t{OWNED}", "--positive", OWNED, "-o", "o.fbm"],
    ["fit", *ROWS[:3], "--label", f"t{OWNED}", "--positive", f"a{OWNED}", "-o", "o.fbm"], ["fit", T, "-o", "o.fbm"],
    ["fit", *ROWS, "--segment", f"c{OWNED}", "-o", "o.fbm"], ["fit", *ROWS, OWNED, "-o", "o.fbm"], [OWNED],
    ["fit", f"--{OWNED}"], ["assess", M, *ROWS], ["assess", M, *ROWS, "--json"],
    ["assess", "set.fbm", *ROWS, "--cell", f"c{OWNED}"], ["assess", M, *ROWS, "--group", f"c{OWNED}"],
    ["assess", "set.fbm", *ROWS, "--cell", f"t{OWNED}"], ["report", M, *ROWS, "-o", f"r{NAME}.html"],
    ["report", "set.fbm", *ROWS, "--cell", f"c{OWNED}", "-o", "r.html"],
    ["predict", M, T, "--score", f"t{OWNED}", "-o", "o.csv"], ["predict", M, T, "--score", OWNED, "-o", "o.csv"],
    ["predict", "set.fbm", T, "--score", f"p{OWNED}", "--cell", f"t{OWNED}", "-o", "o.csv"],
    ["adapt", M, *ROWS[:1], "--label", f"y{OWNED}", "-o", "a.fbm"],
    ["adapt", M, "--target-rate", "0.2", "-o", f"a{NAME}.fbm"], ["verify", M, "--against", "m.onnx"],
    ["verify", "set.fbm", "--against", "m.json"], ["verify", M, "--against", f"x{NAME}.sql"],
    ["export", M, "-o", f"x{NAME}.{OWNED}"], ["export", M, "-o", f"x{NAME}.sql"],
    ["monitor", M, *ROWS, "--state", f"s{NAME}"], ["monitor", "set.fbm", *ROWS, "--cell", f"c{OWNED}", "--state", f"u{NAME}"],
    ["monitor", M, *ROWS[:3], "--label", f"t{OWNED}", "--state", "v"],
]  # fmt: skip
ON_A_TERMINAL = [["inspect", "set.fbm"], ["fit", *ROWS, "-o", f"o{NAME}.fbm"], ["inspect", OWNED]]


@pytest.mark.sampled
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("arguments", COMMANDS, ids=range(len(COMMANDS)))
def test_no_command_prints_what_a_terminal_obeys(arguments: list[str]) -> None:
    result = CliRunner().invoke(command_line, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.output
    assert not commands_in(result.output)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
@pytest.mark.usefixtures("files")
def test_a_terminal_gets_no_commands_but_styles() -> None:
    screen, end = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    words = [word for arguments in ON_A_TERMINAL for word in (*arguments, ";")]
    child = subprocess.Popen([sys.executable, "-c", IN_TURN, "", *words], stdin=end, stdout=end, stderr=end, env=environment)
    os.close(end)
    seen = b""
    while True:
        try:
            block = os.read(screen, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(screen)
    child.wait(60)
    *told, end_of_all = seen.decode().split("\0")  # what a command told, the mark of one stream, and the code
    assert (told[2::3], end_of_all) == (["0", "0", "1"], "")
    for text in told[::3]:
        assert r"\x1b]0;owned\x07\x9b31m\x7f\x08\u202e\u200b\u2028" in text.replace("\r\n", "")
        assert "[red]x[/red]" in text.replace("\r\n", "")  # no markup either
        assert not commands_in(STYLES.sub("", text))


def shown() -> dict[str, Any]:
    """Everything that is printed, by name."""
    certificate, audit = SET.certificate(), fb.assess.audit_groups(HOSTILE, SCORES, LABELS, groups=CELLS)
    found = assess_model(SET, SCORES, LABELS, cells=CELLS)
    return {
        "model": HOSTILE, "set": SET, "certificate": HOSTILE.certificate(), "certificate of a set": certificate, "audit": audit,
        "group": audit.groups[0], "table": fb.assess.group_table(SCORES, LABELS, groups=CELLS), "assessment": found,
        "check": fb.assess.check_certificate(SET, SCORES, LABELS, cells=CELLS),
        "monitor": fb.online.CalibrationMonitor(SET), "verification": fb.export.verify(SET, fb.export.json(SET)),
        "error": fb.InputError(OWNED), "warning": fb.FastbinWarning(OWNED),
    }  # fmt: skip


def test_nothing_is_printed_as_commands() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        things = shown()
    for name, thing in things.items():
        for way in (str, repr, lambda each: each._repr_html_() if hasattr(each, "_repr_html_") else "", lambda each: f"{each}"):
            assert not commands_in(way(thing)), name
    page = render_report(things["assessment"], title=OWNED, model_source=OWNED, test_source=OWNED)
    assert not commands_in(page)
    assert r"\x1b]0;owned" in page
    assert not commands_in(fb.export.c_source(SET, "p") + fb.export.java(SET, "P") + fb.export.javascript(SET))
