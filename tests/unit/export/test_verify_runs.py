"""What `verify` lets an export do that somebody else wrote: SQL computes and opens nothing, and programs are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from exported import model_of

import fastbin as fb
from fastbin.cli import command_line

MODEL = model_of("2 bins")
PROGRAMS = {
    "m.h": fb.export.c_source(MODEL, "calibrated"), "M.java": fb.export.java(MODEL, "M"), "m.mjs": fb.export.javascript(MODEL),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_run_only_if_that_is_asked_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr("subprocess.run", never)
    monkeypatch.setattr("subprocess.Popen", never)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fb.InputError, match=r"export is a program in \w+, which .* pass run_code=True if you trust it"):
        fb.export.verify(MODEL, PROGRAMS[name])
    MODEL.save("m.fbm")
    Path(name).write_text(PROGRAMS[name], "utf8")
    told = CliRunner().invoke(command_line, ["verify", "m.fbm", "--against", name])
    assert told.exit_code == 2
    assert "give --run if you trust it" in told.stderr


HOSTILE = {
    "duckdb": [
        "COPY (SELECT 'owned') TO '{file}'", "ATTACH '{file}' AS other", "INSTALL httpfs", "LOAD httpfs",
        "SET lock_configuration = false",
        "SET enable_external_access = true", "CREATE TABLE t AS SELECT * FROM read_text('{secret}')",
        "EXPORT DATABASE '{file}'", "CREATE TABLE t AS SELECT * FROM '{secret}'",
    ],
    "sqlite": ["ATTACH '{file}' AS other", "VACUUM INTO '{file}'", "PRAGMA temp_store_directory = '{folder}'"],
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "statement"), [(dialect, each) for dialect, all_ in HOSTILE.items() for each in all_])
def test_sql_opens_nothing(dialect: str, statement: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    secret, file = tmp_path / "secret.csv", tmp_path / "written"
    secret.write_text("a\n1\n", "ascii")
    made = fb.export.sql(MODEL, dialect=dialect, style="join")
    hostile = statement.format(file=file, secret=secret, folder=tmp_path)
    assert fb.export.verify(MODEL, made.script).is_same
    result = fb.export.verify(MODEL, made.script.replace(";\n", f";\n{hostile};\n", 1))
    assert result.is_broken, result
    assert sorted(tmp_path.iterdir()) == [secret]
