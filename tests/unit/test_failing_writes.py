"""Full, read-only and broken disks, quotas, folders without rights, links that change: the old file stays, or the new one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fastbin as fb
from fastbin._base import files
from fastbin._base.files import replace_file
from fresh_python import environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="errors, rights and links of POSIX")

SCORES = [at / 100 for at in range(100)]
LABELS = [int(at % 3 == 0) for at in range(100)]
OLD = fb.UniformMassBinning(2).fit(SCORES, LABELS).model_
NEW = fb.UniformMassBinning(5).fit(SCORES, LABELS).model_
ERRORS = {name: getattr(errno, name) for name in ("EDQUOT", "EROFS", "EIO", "ENOSPC") if hasattr(errno, name)}
STEPS = ("open", "write", "fsync", "replace")


def let_fail(monkeypatch: pytest.MonkeyPatch, step: str, number: int) -> list[str]:
    """From now on this call fails as on such a disk; the steps that did are listed."""
    failed: list[str] = []

    def fail(*given: Any, **_: Any) -> Any:
        failed.append(step)
        raise OSError(number, os.strerror(number))

    if step == "open":
        true_open = os.open

        def refuse(path: Any, flags: int, *given: Any, **named: Any) -> int:
            return fail() if flags & os.O_ACCMODE != os.O_RDONLY else true_open(path, flags, *given, **named)

        monkeypatch.setattr(os, "open", refuse)
    else:
        monkeypatch.setattr(os, step, fail)
    return failed


@pytest.fixture(params=["without a name", "with a name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", ERRORS)
def test_the_old_file_stays_and_the_error_names_it(
    step: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.fbm"
    OLD.save(path)
    with monkeypatch.context() as patch:
        failed = let_fail(patch, step, ERRORS[error])
        with pytest.raises(OSError, match=r"m\.fbm") as told:
            NEW.save(path)
    assert failed
    assert told.value.errno == ERRORS[error]
    assert told.value.filename == os.path.realpath(path)
    assert fb.load(path) == OLD
    assert os.listdir(tmp_path) == ["m.fbm"]
    assert not files.TEMPORARIES
    NEW.save(path)
    assert fb.load(path) == NEW


COMMAND = """
import errno, os, sys
def fail(*_, **__):
    raise OSError(errno.{error}, os.strerror(errno.{error}))
import fastbin.__main__
os.{step} = fail
sys.argv = ["fastbin", *sys.argv[1:]]
sys.exit(fastbin.__main__.main())
"""


@pytest.mark.parametrize(("step", "error"), [("fsync", "EDQUOT"), ("replace", "ENOSPC")])
def test_a_command_says_it_in_a_line(step: str, error: str, tmp_path: Path) -> None:
    path, rows = tmp_path / "m.fbm", tmp_path / "rows.csv"
    OLD.save(path)
    rows.write_text("p,y\n" + "".join(f"{score},{label}\n" for score, label in zip(SCORES, LABELS, strict=True)))
    ran = subprocess.run(
        [sys.executable, "-c", COMMAND.format(step=step, error=error), "fit", str(rows), "--score", "p", "--label", "y",
         "-o", str(path)], env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert str(path) in line
    assert os.strerror(ERRORS[error]) in line
    assert "Traceback" not in ran.stderr
    assert fb.load(path) == OLD
    assert sorted(os.listdir(tmp_path)) == ["m.fbm", "rows.csv"]


AS_NOBODY = """
import os, sys
import fastbin as fb
import fastbin.__main__
path = sys.argv[1]
model = fb.load(path)
sys.argv = ["fastbin", "export", path, "--to", "json", "-o", os.devnull]
fastbin.__main__.main()  # imports what the command needs: its libraries may be another user's
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name in (path, os.path.join(os.path.dirname(path), "new.fbm")):
    try:
        model.save(name)
    except PermissionError as error:
        print(error.filename)
if os.access(fastbin.__main__.__file__, os.R_OK):  # where another user can read the installation, too
    sys.argv = ["fastbin", "export", path, "-o", os.path.join(os.path.dirname(path), "m.json")]
    print(fastbin.__main__.main())
"""


def test_a_folder_that_may_be_read_alone(tmp_path: Path) -> None:
    """By an ordinary user: root may write everywhere."""
    folder = tmp_path / "kept"
    folder.mkdir()
    path = folder / "m.fbm"
    OLD.save(path)
    before = path.read_bytes()
    for each in (folder, *tmp_path.parents):
        if os.stat(each).st_uid == os.geteuid() and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o555 if each != folder else 0o555)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(path)], env=environment(), cwd=tmp_path, capture_output=True, text=True,
            timeout=100,
        )  # fmt: skip
        *refused, last = ran.stdout.splitlines()
        if last == "1":
            assert ran.stderr == f"error: {folder / 'm.json'}: Permission denied\n"
        else:
            refused, last = [*refused, last], ""
        assert refused == [str(path), str(folder / "new.fbm")], ran.stderr
        assert os.listdir(folder) == ["m.fbm"]
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o755)


@pytest.mark.usefixtures("way")
def test_a_link_that_is_put_in_the_place_of_the_output_is_replaced(tmp_path: Path) -> None:
    """The name is renamed over, and a link that came to it after it was looked at is not followed."""
    source, target = tmp_path / "input.csv", tmp_path / "out.csv"
    source.write_text("rows that are read")
    for existed in (False, True):
        if existed:
            target.unlink()
            target.write_text("old")

        def swap(file: Any) -> None:
            file.write(b"new")
            target.unlink(missing_ok=True)
            target.symlink_to(source)

        replace_file(target, swap)
        assert source.read_text() == "rows that are read"
        assert not target.is_symlink()
        assert target.read_text() == "new"


@pytest.mark.usefixtures("way")
def test_a_link_that_changes_where_it_leads_changes_nothing(tmp_path: Path) -> None:
    """Where a link leads is looked up once, before anything is written."""
    source, target, link = tmp_path / "input.csv", tmp_path / "real.csv", tmp_path / "out.csv"
    source.write_text("rows that are read")
    link.symlink_to(target)

    def swap(file: Any) -> None:
        file.write(b"new")
        link.unlink()
        link.symlink_to(source)

    replace_file(link, swap)
    assert source.read_text() == "rows that are read"
    assert target.read_text() == "new"
