"""Parquet by DuckDB: the rows and types that PyArrow reads, in the order of the files, and errors that name one of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin._base.dependencies import install_command
from fastbin.io import open_table, read_columns
from fastbin.tables.parquet import ParquetRows
from fresh_python import run_python

duckdb = pytest.importorskip("duckdb")

N = 6000
RNG = np.random.default_rng(11)
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(np.int8)
REGIONS = np.repeat(["north", "south", "west"], N // 3)
MODEL = fb.UniformMassBinning().fit(SCORES, LABELS).model_


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def arrow_reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The readings that PyArrow did."""
    readings: list[Any] = []
    read = ParquetRows._by_pyarrow
    monkeypatch.setattr(ParquetRows, "_by_pyarrow", lambda self, *rest: readings.append(self.path) or read(self, *rest))
    return readings


def write(path: str, rows: slice = slice(None), **more: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"p": SCORES[rows], "y": LABELS[rows], **more}), path, row_group_size=700)


def write_parts(folder: str = "data", pattern: str = "part-{}.parquet") -> list[str]:
    """The rows in three files."""
    files = [str(Path(folder, pattern.format(number))) for number in range(3)]
    for number, file in enumerate(files):
        write(file, slice(number * N // 3, (number + 1) * N // 3))
    return files


def fitted(*arguments: str) -> bytes:
    run("fit", *arguments, "--method", "umd", "-q", "-o", "m.fbm")
    return Path("m.fbm").read_bytes()


def column_of(path: str, name: str, **options: Any) -> Any:
    return np.concatenate([column for (column,) in read_columns(path, [name], **options)])


# ---------------------------------------------------------------------- the same rows


@pytest.mark.parametrize("passes", [False, True])
def test_one_file_a_pattern_and_a_folder_give_the_bytes_of_arrays(passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if passes:
        monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 100)
        monkeypatch.setattr("fastbin.tables.replay.MEMORY_BYTES", 100)
    write("one.parquet")
    write_parts()
    write_parts("hive", "region={}/x.parquet")
    for name in ("one.parquet", "data", "data/*.parquet", "**/part*", "hive", "hive/*/x.parquet"):
        assert fitted(name) == MODEL.to_bytes(), name


def test_every_bit_of_a_score_is_kept(arrow_reads: list[Any]) -> None:
    rare = np.array([0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, np.inf, -np.inf, np.nan])
    rare = np.concatenate([rare, np.array([0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0001], np.uint64).view(np.float64)])
    scores = np.tile(np.concatenate([rare, RNG.random(7)]), 20_000)
    single = scores.view(np.uint32).view(np.float32)  # among them the halves of these
    pq.write_table(pa.table({"p": np.repeat(scores, 2), "f": single}), "a.parquet", row_group_size=77_777)
    assert column_of("a.parquet", "p").tobytes() == np.repeat(scores, 2).tobytes()
    assert column_of("a.parquet", "f").tobytes() == single.tobytes()
    assert arrow_reads == []


def test_rows_come_in_the_order_of_the_files() -> None:
    """Also from row groups that several threads decode."""
    n = 400_000
    for number in range(3):
        columns = {"i": np.arange(number * n, (number + 1) * n), "t": pa.array(["x", None] * (n // 2))}
        pq.write_table(pa.table(columns), f"{number}.parquet", row_group_size=[50_000, 1000, n][number])
    table = open_table("*.parquet")
    for columns in (["i"], ["t", "i"], None):
        for chunk_rows in (2**16, 999):
            batches = list(table.batches(columns, chunk_rows))
            assert max(map(len, batches)) <= chunk_rows
            np.testing.assert_array_equal(pa.Table.from_batches(batches)["i"].to_numpy(), np.arange(3 * n))
            assert table.done == table.total == 3 * n
            assert {tuple(batch.schema.names) for batch in batches} == {tuple(columns or ["i", "t"])}


def test_a_reading_may_be_left_and_begun_again() -> None:
    write_parts()
    table = open_table("data")
    first, second = table.batches(["p"], 500), table.batches(["p"], 500)
    for _ in range(3):
        assert next(first).equals(next(second))
    first.close()
    assert pa.Table.from_batches(list(table.batches(["p"])))["p"].to_numpy().tobytes() == SCORES.tobytes()


TYPES = {
    "int": pa.array([1, None], pa.int16()),
    "unsigned": pa.array([2**64 - 1, 0], pa.uint64()),
    "text": ["a", None],
    "bytes": [b"\xff", b""],
    "decimal": pa.array([1, 2], pa.decimal128(9, 2)),
    "day": pa.array([1, 2], pa.date32()),
    "list": [[1.5], None],
    "milliseconds": pa.array([1, 2], pa.timestamp("ms")),
    "zone": pa.array([1, 2], pa.timestamp("us", "Europe/Berlin")),
    "nanoseconds": pa.array([1, 2], pa.timestamp("ns", "UTC")),
    "category": pa.array(["u", "v"]).dictionary_encode(),
    "half": pa.array(np.array([0.5, 0.25], np.float16)),
    "large": pa.array(["a", "b"], pa.large_string()),
    "pairs": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)),
    "duration": pa.array([1, 2], pa.duration("us")),
    "nothing": pa.nulls(2),
}


@pytest.mark.parametrize("name", TYPES)
def test_no_type_is_changed(name: str) -> None:
    written = pa.table({"p": [0.25, 0.75], "x": TYPES[name]}).replace_schema_metadata({"pandas": "{}"})
    pq.write_table(written, "a.parquet")
    expected = pq.read_table("a.parquet")
    (batch,) = open_table("a.parquet").batches()
    assert pa.Table.from_batches([batch]).equals(expected, check_metadata=True)
    MODEL.save("m.fbm")
    run("predict", "m.fbm", "a.parquet", "--seed", "1", "-o", "out.parquet")
    assert pq.read_table("out.parquet").drop_columns("calibrated").equals(expected, check_metadata=True)


def test_what_duckdb_would_change_is_read_by_pyarrow(arrow_reads: list[Any]) -> None:
    """Columns that differ in capital letters alone are one to it."""
    pq.write_table(pa.table({"p": [0.25], "P": [0.75], "p_1": [0.5], "ns": TYPES["nanoseconds"][:1]}), "a.parquet")
    for name, value in (("p", 0.25), ("P", 0.75), ("p_1", 0.5)):
        assert column_of("a.parquet", name).tolist() == [value]
    assert arrow_reads == ["a.parquet"] * 3
    pq.write_table(pa.table({"p": [0.25], "ns": TYPES["nanoseconds"][:1]}), "b.parquet")
    assert column_of("b.parquet", "p").tolist() == [0.25]
    assert len(arrow_reads) == 3
    list(open_table("b.parquet").batches())
    assert len(arrow_reads) == 4


@pytest.mark.parametrize("name", ['say "p"', "it's", "a,b", "select", "a.b", "filename", "file_row_number", "ü", " p "])
def test_names_of_columns_are_quoted(name: str) -> None:
    pq.write_table(pa.table({"q": [1.0], name: [0.5]}), "a.parquet")
    assert column_of("a.parquet", name).tolist() == [0.5]


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not allow")
def test_names_of_files_are_no_patterns_and_no_addresses(arrow_reads: list[Any]) -> None:
    names = ["a b", "it's", 'say "x"', "a[1]", "a1", "a*", "a?", "[*]", "a[!b]", "{a,b}", "a\\b", "a\\[b]", "~", "~x", "x=1",
             "a\nb", "ü", "s3:x", "%41", "--"]  # fmt: skip
    for number, name in enumerate(names):
        pq.write_table(pa.table({"p": [float(number)]}), Path(f"{name}.parquet").absolute())
    for number, name in enumerate(names):
        table = open_table(f"{name}.parquet")
        assert table.names == ["p"]  # x=1 is not a column of one file
        assert column_of(f"{name}.parquet", "p").tolist() == [float(number)], name
    assert arrow_reads == ["a\\[b].parquet"]
    Path("other").symlink_to("a[1].parquet")
    assert column_of("other", "p").tolist() == [3.0]
    Path("other").unlink()
    assert sorted(column_of(".", "p").tolist()) == list(range(len(names)))


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not text, as Linux alone allows")
def test_names_that_are_not_text() -> None:
    name = os.fsdecode(b"\xff.parquet")
    write("a.parquet")
    os.rename("a.parquet", name)
    assert fitted(name) == MODEL.to_bytes()
    Path("sub").mkdir()
    os.rename(name, Path("sub", name))
    assert fitted("sub") == MODEL.to_bytes()


def test_files_without_rows() -> None:
    write("data/a.parquet", slice(0, 0))
    assert refusal("fit", "data") == "data has no rows; a calibrator needs samples"
    write("data/b.parquet")
    write("data/c.parquet", slice(0, 0))
    assert fitted("data") == MODEL.to_bytes()
    pq.write_table(pa.table({}), "none.parquet")
    assert refusal("fit", "none.parquet", "--score", "p", "--label", "y").startswith("none.parquet has no column 'p'")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that are copies")
@pytest.mark.skipif(duckdb.__version__.startswith("1."), reason="threads of this DuckDB start when it is imported")
def test_a_copy_of_the_process_reads_and_ends() -> None:
    """It has none of the threads of DuckDB, which would be waited for without end."""
    write("a.parquet")
    code = (
        "import os, sys\nfrom fastbin.io import read_columns\n"
        "def count(): return sum(len(p) for (p,) in read_columns(sys.argv[1], ['p']))\n"
        "count()\nif os.fork() == 0:\n    sys.exit(count() % 256)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]), count())"
    )
    result = run_python("-W", "ignore", "-c", code, str(Path("a.parquet").absolute()), timeout=60)
    assert result.stdout.split() == [str(N % 256), str(N)], result.stderr


# ---------------------------------------------------------------------- folders whose names are values


def write_hive(suffix: str = ".parquet", folders: tuple[str, ...] = ("north", "south", "west")) -> None:
    for number, folder in enumerate(folders):
        rows = slice(number * N // 3, (number + 1) * N // 3)
        path = Path("hive", f"region={folder}", f"part{suffix}")
        write(str(path), rows)
        if suffix == ".csv":
            path.write_text("p,y\n" + "".join(f"{p!r},{y}\n" for p, y in zip(SCORES[rows].tolist(), LABELS[rows], strict=True)))
        elif suffix == ".arrow":
            pa.feather.write_feather(pq.read_table(path), path)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_folders_called_as_values_are_a_column(suffix: str) -> None:
    write_hive(suffix)
    pq.write_table(pa.table({"p": SCORES, "y": LABELS, "region": REGIONS}), "flat.parquet")
    for name in ("hive", f"hive/*/part{suffix}", f"hive/**/*{suffix}"):
        table = open_table(name)
        assert table.names == ["p", "y", "region"]
        for columns in (["region", "p"], ["region"], None):
            read = pa.Table.from_batches(list(table.batches(columns, 999)))
            assert read.column_names == (columns or ["p", "y", "region"])
            assert read["region"].cast(pa.string()).to_pylist() == REGIONS.tolist()
        assert fitted(name, "--segment", "region") == fitted("flat.parquet", "--segment", "region")
    assert open_table(f"hive/region=north/*{suffix}").names == ["p", "y"]
    MODEL.save("m.fbm")
    run("predict", "m.fbm", "hive", "--seed", "1", "-o", "out.parquet")
    out = pq.read_table("out.parquet")
    assert out.column_names == ["p", "y", "region", "calibrated"]
    assert out["region"].to_pylist() == REGIONS.tolist()


def values_of(name: str) -> list[Any]:
    return list(pa.Table.from_batches(list(open_table(name).batches(["region"])))["region"].to_pylist())


def test_values_that_are_integers_and_values_that_are_missing() -> None:
    write_hive(folders=("1", "-2", "__HIVE_DEFAULT_PARTITION__"))
    assert open_table("hive").schema.field("region").type == pa.int64()
    assert values_of("hive") == [-2] * 2000 + [1] * 2000 + [None] * 2000
    for old, new, kind in (("1", 2**63 - 1, pa.int64()), (2**63 - 1, 2**63, pa.string()), (2**63, "007", pa.string())):
        Path(f"hive/region={old}").rename(f"hive/region={new}")
        assert open_table("hive").schema.field("region").type == kind
    Path("hive/region=007").rename("hive/region=a%2Fb%3Dc")
    assert values_of("hive") == ["-2"] * 2000 + [None] * 2000 + ["a/b=c"] * 2000
    message = refusal("fit", "hive", "--segment", "region")
    place = "hive/region=__HIVE_DEFAULT_PARTITION__/part.parquet, row 1, column region"
    assert message == f"{place}: the value is missing; remove such rows, or give them a value"


@pytest.mark.parametrize("name", [b"region=%FF", b"region=\xff", b"%FF=1"])
def test_folders_whose_names_are_not_utf8(name: bytes) -> None:
    """Two such values would be one where bytes that are not text are replaced."""
    write_hive(folders=("north",))
    os.rename(b"hive/region=north", b"hive/" + name)
    with pytest.raises(fb.InputError, match="lies in a folder whose name is not UTF-8; rename the folder"):
        open_table("hive")


def test_a_column_of_the_files_is_theirs() -> None:
    for region in "ab":
        write(f"hive/region={region}/x.parquet", region=np.full(N, 7))
    table = open_table("hive")
    assert table.names == ["p", "y", "region"]
    assert set(column_of("hive", "region").tolist()) == {7}


def test_folders_that_do_not_go_together() -> None:
    write_hive()
    write("hive/day=1/x.parquet")
    assert refusal("fit", "hive") == (
        "hive/region=north/part.parquet: its folders are values of region, but those of hive/day=1/x.parquet of day"
    )
    os.unlink("hive/day=1/x.parquet")
    os.rmdir("hive/day=1")
    write("hive/x.parquet")
    assert refusal("fit", "hive").startswith("hive holds a folder, region=north; name the files by a pattern such as")
    assert "its folders are values of none" in refusal("fit", "hive/**/*.parquet")
    message = "no file is called hive/reg*; hive/region=north is a folder: end the pattern in '/*.parquet' or '/*.csv'"
    assert refusal("fit", "hive/reg*") == message


@pytest.mark.parametrize(("log", "program"), [("_delta_log", "Delta Lake"), (".hoodie", "Hudi")])
def test_tables_with_a_log_are_not_read_as_folders(log: str, program: str) -> None:
    """Files of rows that were deleted are still there."""
    write_parts()
    Path("data", log).mkdir()
    assert refusal("fit", "data").startswith(f"data is a table of {program}, and may hold rows that were deleted")


# ---------------------------------------------------------------------- what is wrong


def test_errors_name_the_file_and_its_row() -> None:
    files = write_parts()
    scores = SCORES[:2000].copy()
    scores[1234] = 7.0
    pq.write_table(pa.table({"p": scores, "y": LABELS[:2000]}), files[1], row_group_size=300)
    assert refusal("fit", "data").startswith(f"{files[1]}, row 1235, column p: the value is 7.0, outside [0, 1]")
    write(files[1], slice(2000, 4000))
    pq.write_table(pa.table({"p": [0.5, None], "y": pa.array([0, 1], pa.int8())}), files[2])
    assert refusal("fit", "data").startswith(f"{files[2]}, row 2, column p: the value is missing")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_damaged_one_of_several_is_named(number: int) -> None:
    files = write_parts()
    path = Path(files[number])
    data = bytearray(path.read_bytes())
    data[4:40] = bytes(36)
    path.write_bytes(data)
    assert refusal("fit", "data").startswith(f"{path} is damaged: ")
    assert refusal("fit", str(path)).startswith(f"{path} is damaged: ")
    path.write_bytes(data[: len(data) // 2])
    assert refusal("fit", "data").startswith(f"{path} is not a Parquet file, or it is damaged: ")
    path.unlink()
    path.mkdir()
    assert refusal("fit", "data").startswith(f"data holds a folder, {path.name}")


@pytest.mark.parametrize("name", ["data", "data/part-1.parquet"])
def test_files_that_change_between_their_opening_and_their_reading(name: str) -> None:
    files = write_parts()
    table = open_table(name)
    write(files[1], slice(0, 10))
    with pytest.raises(fb.InputError, match=f"{name} was changed while it was read"):
        list(table.batches())
    os.unlink(files[1])
    with pytest.raises(FileNotFoundError, match=r"part-1\.parquet"):
        list(table.batches())


def test_text_that_is_not_utf8_is_damage() -> None:
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    pq.write_table(pa.table({"p": [0.5], "t": text}), "a.parquet")
    with pytest.raises(fb.InputError, match=r"a\.parquet is damaged: .*not valid UTF8"):
        list(open_table("a.parquet").batches())
    assert column_of("a.parquet", "p").tolist() == [0.5]


def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    message = refusal("fit", "a.parquet")
    assert message.startswith(f"Parquet files need duckdb, which is not installed; {install_command('cli')}")


# ---------------------------------------------------------------------- little memory


def test_a_memory_limit_that_is_too_small() -> None:
    pq.write_table(pa.table({"p": RNG.random(200_000), "y": np.zeros(200_000)}), "a.parquet")
    with pytest.raises(MemoryError, match=r"the memory limit of 200,000 bytes leaves too little to read a\.parquet"):
        list(open_table("a.parquet", memory_limit=200_000).batches())
    assert sum(map(len, open_table("a.parquet", memory_limit=50_000_000).batches())) == 200_000
