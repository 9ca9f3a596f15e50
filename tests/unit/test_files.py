"""Output: regular files are replaced whole and keep their rights, everything else is written through."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base import files
from fastbin._base.files import descriptor_of, is_replaceable, replace_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights, links and devices of POSIX")


@pytest.fixture(autouse=True, params=["without a name", "with a name", "no links"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """All ways to write a file; of none anything is left in the folder."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse_links)
    yield request.param
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"]
    assert not files.TEMPORARIES


def refuse_links(*_: Any, **__: Any) -> None:
    raise OSError(95, "Operation not supported")


def write(path: os.PathLike[str] | str, content: bytes = b"new") -> None:
    replace_file(path, lambda file: file.write(content))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_content_of_any_size(tmp_path: Path) -> None:
    for content in (b"", b"x", bytes(range(256)) * 10_000):
        write(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content


@pytest.mark.parametrize("rights", [0o600, 0o640, 0o444, 0o755, 0o2755])
def test_the_mode_of_the_old_file_is_kept(tmp_path: Path, rights: int) -> None:
    path = tmp_path / "m.fbm"
    path.write_text("old")
    path.chmod(rights)
    write(path)
    assert (mode(path), path.read_bytes()) == (rights, b"new")


def test_nobody_sees_more_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "m.fbm"
    path.write_text("old")
    path.chmod(0o600)
    rights: list[int] = []
    replace_file(path, lambda file: rights.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert rights == [0o600]


def test_a_new_file_has_the_umask_taken_off_and_the_umask_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = os.umask(0o027)
    with monkeypatch.context() as patch:
        patch.setattr(os, "umask", lambda _: pytest.fail("the umask belongs to all threads"))
        write(tmp_path / "new")
    os.umask(old)
    assert mode(tmp_path / "new") == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept_where_that_is_permitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.fbm"
    for owner, group in ((1234, os.getegid()), (os.geteuid(), 5678), (1234, 5678)):
        path.write_text("old")
        os.chown(path, owner, group)
        path.chmod(0o4660)
        write(path)
        assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (owner, group, 0o4660)

    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    write(path)
    # Another group must not get the rights of the old one, nor whoever runs it those of another owner.
    assert (path.stat().st_uid, mode(path)) == (os.geteuid(), 0o600)


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.fbm"
    path.write_text("old")
    try:
        os.setxattr(path, "user.fastbin", b"kept")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    write(path)
    assert os.getxattr(path, "user.fastbin") == b"kept"


# ---------------------------------------------------------------------- links


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "m.fbm"
    target.write_text("old")
    link, second = tmp_path / "link.fbm", tmp_path / "second.fbm"
    link.symlink_to("real/m.fbm")  # relative to the folder of the link
    second.symlink_to("link.fbm")
    write(second)
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("later")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_bytes() == b"new"


def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic link"):
        write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


# ---------------------------------------------------------------------- pipes, devices, descriptors


def test_a_pipe_with_a_name_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    assert not is_replaceable(path)
    write(path, b"through")
    reader.join(30)
    assert got == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_is_written_through(tmp_path: Path) -> None:
    outer, inner = os.openpty()
    try:
        path = os.ttyname(inner)
        (tmp_path / "link").symlink_to(path)
        for name in (path, tmp_path / "link"):
            assert not is_replaceable(name)
            write(name, b"through\n")
            assert os.read(outer, 100) == b"through\r\n"
        assert stat.S_ISCHR(os.stat(path).st_mode)
        assert (tmp_path / "link").is_symlink()
    finally:
        os.close(outer)
        os.close(inner)


def test_descriptors_are_written_through(tmp_path: Path) -> None:
    """As ``>(command)`` of a shell, whose path is that of a descriptor."""
    if not os.path.isdir("/dev/fd"):
        pytest.skip("no /dev/fd")
    source, sink = os.pipe()
    assert descriptor_of(f"/dev/fd/{sink}") == descriptor_of(f"/proc/self/fd/{sink}") == sink
    write(f"/dev/fd/{sink}", b"through")
    os.write(sink, b", and still open")
    os.close(sink)
    assert os.read(source, 100) == b"through, and still open"
    os.close(source)
    left, right = socket.socketpair()
    with left, right:
        write(f"/dev/fd/{left.fileno()}", b"through")
        assert right.recv(100) == b"through"
    with pytest.raises(OSError, match="/dev/fd/987654"):
        write("/dev/fd/987654")


def test_a_descriptor_keeps_its_place_in_a_file(tmp_path: Path) -> None:
    """As /dev/stdout after ``>>``."""
    if not os.path.isdir("/dev/fd"):
        pytest.skip("no /dev/fd")
    (tmp_path / "log").write_bytes(b"before ")
    with open(tmp_path / "log", "ab") as log:
        (tmp_path / "link").symlink_to(f"/dev/fd/{log.fileno()}")
        write(f"/dev/fd/{log.fileno()}", b"new")
        write(tmp_path / "link", b" and more")
    assert (tmp_path / "log").read_bytes() == b"before new and more"


def test_names_that_only_look_like_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert descriptor_of("1") is None
    assert descriptor_of("-") is None
    write("1")
    assert Path("1").read_bytes() == b"new"


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "old").write_text("old")

    def fail(file: Any) -> None:
        file.write(b"half")
        raise error

    for name in ("old", "new"):
        with pytest.raises(type(error)):
            replace_file(tmp_path / name, fail)
    assert (tmp_path / "old").read_text() == "old"
    assert os.listdir(tmp_path) == ["old"]


def test_errors_name_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        write(tmp_path / "absent" / "file")
    with pytest.raises(IsADirectoryError):
        write(tmp_path)


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    for content in (b"old", b"new"):
        write(path, content)
    assert path.read_bytes() == b"new"


def test_who_comes_first_with_a_new_name_is_replaced(tmp_path: Path) -> None:
    def race(file: Any) -> None:
        (tmp_path / "file").write_text("another's")
        file.write(b"ours")

    replace_file(tmp_path / "file", race)
    assert (tmp_path / "file").read_bytes() == b"ours"


def test_an_empty_path_is_named() -> None:
    model = fb.BinnedModel.from_parts(edges=[], values=[0.5])
    for save in (model.save, fb.ModelSet({1: model}).save, fb.online.CalibrationMonitor(model).save):
        refuses("InputError path", save, "")
