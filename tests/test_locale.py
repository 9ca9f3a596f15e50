"""A decimal comma in the locale of the process changes no byte of models, tables, exports and promises."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fresh_python import environment

PROGRAM = """
import hashlib, locale, sys
import numpy as np
locale.setlocale(locale.LC_ALL, sys.argv[1])
assert locale.localeconv()["decimal_point"] == sys.argv[2]
import fastbin as fb
from fastbin.cli import command_line

rng = np.random.default_rng(0)
scores = rng.random(1000)
labels = (rng.random(1000) < scores).astype(int)
model = fb.CertifiedCalibration().fit(scores, labels).model_
written = [model.to_bytes(), str(model.certificate()).encode(), str(model).encode(), fb.export.json(model).encode()]
written += [fb.export.sql(model, "p", dialect="duckdb").encode(), fb.export.c_source(model, "f").encode()]
written += [fb.export.java(model, "F").encode(), fb.export.javascript(model).encode()]
assert fb.export.from_json(fb.export.json(model)) == model
with open("s.csv", "w") as file:
    file.write("p,y\\n" + "".join(f"{p!r},{y}\\n" for p, y in zip(scores.tolist(), labels.tolist())))
for command in ("fit s.csv -q -o m.fbm", "predict m.fbm s.csv --interval 0.1 -o out.csv"):
    assert command_line.run(command.split()) == 0
for name in ("m.fbm", "out.csv"):
    with open(name, "rb") as file:
        written.append(file.read())
print(*(hashlib.sha256(each).hexdigest() for each in written))
"""


@pytest.mark.skipif(shutil.which("localedef") is None, reason="localedef makes the locale")
def test_a_decimal_comma_changes_nothing(tmp_path: Path) -> None:
    if not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no source of the locale de_DE")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True)
    assert (tmp_path / "de_DE.UTF-8").is_dir(), made.stderr
    found = []
    for name, mark in (("C", "."), ("de_DE.UTF-8", ",")):
        own = environment() | {"LOCPATH": os.fspath(tmp_path)}
        command = [sys.executable, "-c", PROGRAM, name, mark]
        result = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        found.append(result.stdout.split())
    assert len(found[0]) == 10
    assert found[0] == found[1]
