"""Reading and writing CSV and Parquet: nothing is lost or guessed, and an error names the place in the file."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
from fastbin.io import open_table, read_columns
from fastbin.tables.columns import MISSING_WORDS
from fastbin.tables.text import BLOCK_BYTES
from fastbin.tables.writing import open_writer, schema_of


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def columns_of(path: Path, names: tuple[str, ...] = ("p", "y"), **options: Any) -> list[list[Any]]:
    chunks = list(read_columns(path, names, **options))
    return [np.concatenate(column).tolist() for column in zip(*chunks, strict=True)]


def error_of(path: Path, content: str | bytes, names: tuple[str, ...] = ("p", "y"), **options: Any) -> str:
    with pytest.raises(fb.InputError) as caught:
        columns_of(written(path, content), names, **options)
    return str(caught.value).removeprefix(str(path))


# ---------------------------------------------------------------------- what can be read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "p,y\n0.1,1\n0.2,0\n"),
        ("a.csv", "p,y\r\n0.1,1\r\n0.2,0"),
        ("a.csv", "\ufeffp,y\n0.1,1\n0.2,0\n"),
        ("a.csv", '"p","y"\n"0.1","1"\n"0.2","0"\n'),
        ("a.csv", 't,p,y\n"line\nbreak, and comma",0.1,1\nx,0.2,0\n'),
        ("a.csv", "p,y\n\n0.1, 1\n 0.2 ,0 \n\n"),
        ("a.csv", "p;y\n0.1;1\n0.2;0\n"),
        ("a.csv", "p|y\n0.1|1\n0.2|0\n"),
        ("a.tsv", "p\ty\n0.1\t1\n0.2\t0\n"),
        ("a.txt", "p\ty\n0.1\t1\n0.2\t0\n"),
        ("without_suffix", "p,y\n0.1,1\n0.2,0\n"),
        ("a.csv", "y,other,p\n1,ü,1e-1\n0,,.2\n"),
        ("a.csv.gz", gzip.compress(b"p,y\n0.1,1\n0.2,0\n", mtime=0)),
        ("a.csv.bz2", bz2.compress(b"p,y\n0.1,1\n0.2,0\n")),
        ("A.CSV", "p,y\n0.1,1\n0.2,0\n"),
    ],
)
def test_csv_of_many_kinds(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert columns_of(written(tmp_path / name, content)) == [[0.1, 0.2], [1.0, 0.0]]


def test_a_delimiter_of_ones_own(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "p:y,z\n0.1:1\n")
    assert columns_of(path, ("p", "y,z"), delimiter=":") == [[0.1], [1.0]]


def test_labels_may_be_true_and_false(tmp_path: Path) -> None:
    assert columns_of(written(tmp_path / "a.csv", "p,y\n0.1,true\n0.2, False\n"))[1] == [True, False]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_doubles_are_read_exactly(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.getbasetemp() / "doubles.csv"
    written(path, "p,y\n" + "".join(f"{value!r},{value:.17g}\n" for value in values))
    for column in columns_of(path):
        assert struct.pack(f"{len(values)}d", *column) == struct.pack(f"{len(values)}d", *values)


def test_chunks_are_of_at_most_so_many_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "p,y\n" + "0.5,1\n" * 1000)
    assert [len(p) for p, _ in read_columns(path, ("p", "y"), chunk_rows=300)] == [300, 300, 300, 100]
    pq.write_table(pa.table({"p": [0.5] * 1000, "y": [1] * 1000}), tmp_path / "a.parquet")
    assert [len(p) for p, _ in read_columns(tmp_path / "a.parquet", ("p", "y"), chunk_rows=300)] == [300, 300, 300, 100]


def test_a_file_of_many_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.random(200_000)
    path = written(tmp_path / "a.csv", "p,y\n" + "".join(f"{value!r},1\n" for value in values.tolist()))
    assert path.stat().st_size > 3 * BLOCK_BYTES
    told = []
    read = np.concatenate([p for p, _ in read_columns(path, ("p", "y"), progress=lambda table: told.append(table.done))])
    assert np.array_equal(read, values)
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pa.array([0.1, 0.2], pa.float32()), np.float32),
        (pa.array([0.1, 0.2], pa.float64()), np.float64),
        (pa.array([0, 1], pa.int8()), np.int8),
        (pa.array([0, 1], pa.uint64()), np.uint64),
        (pa.array([True, False]), np.bool_),
        (pa.array([0.5, 0.25, 0.5]).dictionary_encode(), np.float64),
        (pa.array([1, 2], pa.decimal128(5, 2)), np.float64),
    ],
)
def test_parquet_columns_keep_their_type(tmp_path: Path, column: Any, dtype: Any) -> None:
    pq.write_table(pa.table({"p": column}), tmp_path / "a.parquet")
    ((read,),) = list(read_columns(tmp_path / "a.parquet", ("p",)))
    assert read.dtype == dtype
    assert read.tolist() == [float(value) if dtype is np.float64 else value for value in column.to_pylist()]


def test_decimals_are_the_nearest_doubles(tmp_path: Path) -> None:
    """Arrow's own cast of them is not."""
    texts = [f"{number / 1000:.3f}" for number in range(1000)]
    column = pa.array(texts).cast(pa.decimal128(9, 3))
    pq.write_table(pa.table({"p": column, "y": column}), tmp_path / "a.parquet")
    ((read,),) = read_columns(tmp_path / "a.parquet", ("p",))
    assert read.tolist() == list(map(float, texts))
    for text in texts[5::50]:
        pq.write_table(pa.table({"y": pa.array([text, "0.004"]).cast(pa.decimal128(9, 3))}), tmp_path / "b.parquet")
        ((labels,),) = read_columns(tmp_path / "b.parquet", ("y",), label="y", positive=text)
        assert labels.tolist() == [True, False]


def test_whole_numbers_are_told_from_others(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "i,f,b\n1,1,true\n2,2.0,false\n")
    (read,) = read_columns(path, ("i", "f", "b"), whole=("i", "f", "b"))
    assert [column.dtype for column in read] == [np.int64, np.float64, np.bool_]
    assert read[0].tolist() == [1, 2]
    pq.write_table(pa.table({"i": [1, 2], "f": [1.0, 2.0]}), tmp_path / "a.parquet")
    (read,) = read_columns(tmp_path / "a.parquet", ("i", "f"), whole=("i", "f"))
    assert [column.dtype for column in read] == [np.int64, np.float64]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, np.bool_])
def test_labels_of_0_and_1_are_bool(tmp_path: Path, dtype: Any) -> None:
    pq.write_table(pa.table({"y": np.array([0, 1, 1]).astype(dtype)}), tmp_path / "a.parquet")
    ((labels,),) = read_columns(tmp_path / "a.parquet", ("y",), label="y")
    assert labels.dtype == np.bool_
    assert labels.tolist() == [False, True, True]
    ((others,),) = read_columns(written(tmp_path / "a.csv", "y\n0\n2\n"), ("y",), label="y")
    assert others.tolist() == [0.0, 2.0]  # for the message of the fit


# ---------------------------------------------------------------------- what is refused


def test_errors_in_csv_name_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "0.5,1\n" * 3
    assert error_of(path, f"p,y\n{rows}0.5,abc\n{rows}") == ", line 5, column y: 'abc' is neither a number nor true or false"
    assert (
        error_of(path, f"p,y\n{rows},1\n{rows}") == ", line 5, column p: the value is missing; remove or fill such rows first"
    )
    assert error_of(path, f"p,y\n{rows}0.5\n") == ", line 5: expected 2 columns, got 1: 0.5"
    assert error_of(path, f"p,y\n{rows}0.5,1,1\n") == ", line 5: expected 2 columns, got 3: 0.5,1,1"
    assert error_of(path, 'p,t,y\n0.5,"a\nb\nc",1\n\n0.5,x,yes\n').startswith(", line 6, column y: 'yes'")
    assert error_of(path, "p,y\n1,1\n?,2\n", whole=("p",)) == ", line 3, column p: '?' is neither a number nor true or false"
    told = ", line 3, column p: 'True' is not a number, and other values are not true or false"
    assert error_of(path, "p,y\n0.5,1\nTrue,0\n") == told
    assert error_of(path, "p,y\n" + "0.5,1\n" * 300_000 + "?,1\n").startswith(", line 300002, column p: '?'")
    assert error_of(tmp_path / "a.csv.gz", gzip.compress(b"p,y\n1,1\n1,x\n")).startswith(", line 3, column y: 'x'")


@pytest.mark.parametrize("spelling", [spelling.decode() for spelling in MISSING_WORDS])
def test_missing_values_by_any_usual_name(tmp_path: Path, spelling: str) -> None:
    assert "line 3, column p: the value is missing" in error_of(tmp_path / "a.csv", f"p,y\n0.5,1\n{spelling},1\n")


@pytest.mark.parametrize(
    "text", ["p\n0.1\n\n0.2\n\n", "p\r\n0.1\r\n\r\n0.2\r\n\r\n", "\n\np\n0.1\n\n0.2\n\n", '\ufeffp\n0.1\n""\n0.2\n""']
)
def test_an_empty_line_of_one_column_is_a_row(tmp_path: Path, text: str) -> None:
    """So DuckDB, Polars and PyArrow write what is missing there. The rows were left out."""
    path = tmp_path / "one.csv"
    path.write_text(text, newline="")
    table = open_table(str(path))
    (batch,) = table.batches(["p"])
    assert batch.column("p").to_pylist() == [b"0.1", b"", b"0.2", b""]
    missing = 5 if text.startswith("\n") else 3
    wide = tmp_path / "wide.csv"
    wide.write_text(text.replace("0.2", "1,2"), newline="")
    with pytest.raises(fb.InputError, match=f"wide.csv, line {missing + 1}: expected 1 columns, got 2"):
        list(open_table(str(wide)).batches(["p"]))
    with pytest.raises(fb.InputError, match=f"one.csv, line {missing}, column p: the value is missing"):
        columns_of(path, ("p",))
    path.write_text(text.replace("p", "p,q").replace("0.1", "0.1,a").replace("0.2", "0.2,b").replace('""', ""), newline="")
    assert sum(len(batch) for batch in open_table(str(path)).batches(["p"])) == 2


@pytest.mark.parametrize("text", ["p", "\np", "p,q", "\x0cp", "\u2028p\n", "\n\x0bp\n"])
def test_a_header_alone(tmp_path: Path, text: str) -> None:
    """PyArrow refused one without a line end, and did not always return. Other characters than CR and LF end no line."""
    path = tmp_path / "header.csv"
    path.write_text(text, newline="")
    table = open_table(str(path))
    assert table.names[0].endswith("p")
    assert sum(len(batch) for batch in table.batches()) == 0


def test_errors_in_parquet_name_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"p": [0.1, None], "s": ["a", "b"]}), path)
    with pytest.raises(fb.InputError, match="row 2, column p: the value is missing"):
        columns_of(path, ("p",))
    with pytest.raises(fb.InputError, match="column s: holds string, not numbers"):
        columns_of(path, ("s",))


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    assert error_of(path, "p,z\n1,1\n") == " has no column 'y'; it has p, z"
    assert error_of(path, "p,y,y\n1,1,1\n") == " has 2 columns named 'y'; rename them"
    assert "and 70 more" in error_of(path, ",".join(f"c{i}" for i in range(100)) + "\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "  \n\n", "is empty"),
        ("a.csv", b"\xef\xbb\xbf", "is empty"),
        ("a.csv", b"\xef\xbb\xbf\n", "is empty"),
        ("a.csv", "p,y," + ",".join(map(str, range(200_000))) + "\n1,1\n", "a header of more than 1,048,576 bytes"),
        ("a.csv", "0.1,1\n0.2,0\n", "its first line must name the columns"),
        ("a.csv", b"p,\0y\n", "is not text"),
        ("a.csv", b"p" * 200_000 + b",y\n", "no readable header"),
        ("a.csv", b"p,\xfcber\n1,1\n", "is not UTF-8"),
        ("a.xlsx", b"PK\x03\x04" + bytes(100), "neither CSV nor Parquet"),
        ("a.csv", b"p,y\n1,1\n" + b'1,"' + b"x" * 3_000_000, "quotation mark left open"),
        ("a.csv.gz", b"p,y\n1,1\n", "is damaged"),
        ("a.csv.gz", gzip.compress(b"p,y\n" + b"0.123,1\n" * 10_000, mtime=0)[:-20], "is damaged"),
        ("a.parquet", b"PAR1 and then something else", "is not a Parquet file, or it is damaged"),
        ("a.parquet", b"", "is not a Parquet file, or it is damaged"),
    ],
)
def test_other_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    assert message in error_of(tmp_path / name, content)


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"p": np.random.default_rng(0).random(10_000)}), path)
    data = bytearray(path.read_bytes())
    data[4:40] = bytes(36)
    path.write_bytes(data)
    with pytest.raises(fb.InputError, match="is damaged"):
        columns_of(path, ("p",))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_table(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError):
        open_table(tmp_path / "absent.parquet")
    with pytest.raises(fb.InputError, match="is a folder"):
        open_table(tmp_path)


# ---------------------------------------------------------------------- writing


def copied(source: Path, target: Path, delimiter: str | None = None) -> bytes:
    """A table written again, through the writer."""
    table = open_table(source, delimiter)
    out = io.BytesIO()
    writer = open_writer(out, str(target), table, schema_of(table))
    for batch in table.batches():
        writer.write(batch)
    writer.close()
    return out.getvalue()


CSV_VALUES = st.lists(
    st.lists(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")), min_size=3, max_size=3),
    min_size=1,
)


@settings(deadline=None)
@given(rows=CSV_VALUES, delimiter=st.sampled_from([",", ";", "\t", "|", "^", "]"]))
def test_csv_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str) -> None:
    """Any text, quoted where it must be, survives reading and writing."""
    import csv

    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.getvalue().encode())
    back = csv.reader(io.StringIO(copied(path, Path("out.csv"), delimiter).decode(), newline=""), delimiter=delimiter)
    assert list(back) == [["a", "b", "c"], *rows]


def test_text_that_is_no_utf8_is_kept(tmp_path: Path) -> None:
    content = b"p,t\n0.5,\xff\xfe\n"
    assert copied(written(tmp_path / "a.csv", content), tmp_path / "b.csv") == content


def test_parquet_as_csv(tmp_path: Path) -> None:
    table = pa.table(
        {
            "f": [0.1, None, 5e-324],
            "g": pa.array([0.1, 1.0, 1e30], pa.float32()),
            "i": [1, None, -3],
            "b": [True, None, False],
            "s": ['say "x"', "a,b", None],
            "d": pa.array(["u", "v,w", "u"]).dictionary_encode(),
            "t": pa.array([0, 1, None], pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    lines = copied(tmp_path / "a.parquet", tmp_path / "a.csv").decode().splitlines()
    assert lines == [
        "f,g,i,b,s,d,t",
        '0.1,0.1,1,true,"say ""x""",u,1970-01-01 00:00:00.000',
        ',1,,,"a,b","v,w",1970-01-01 00:00:01.000',
        "5e-324,1e+30,-3,false,,u,",
    ]


def test_lists_do_not_go_into_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"l": [[1, 2]]}), tmp_path / "a.parquet")
    with pytest.raises(fb.InputError, match="column l holds list<"):
        copied(tmp_path / "a.parquet", tmp_path / "a.csv")


def test_a_format_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match="unknown format; end its name in one of"):
        copied(written(tmp_path / "a.csv", "p,y\n"), tmp_path / "a.docx")


def test_a_table_without_rows(tmp_path: Path) -> None:
    assert copied(written(tmp_path / "a.csv", "p,y\n"), tmp_path / "b.csv") == b"p,y\n"
    back = pq.read_table(io.BytesIO(copied(tmp_path / "a.csv", tmp_path / "b.parquet")))
    assert (back.num_rows, back.column_names) == (0, ["p", "y"])


def test_compressed_csv(tmp_path: Path) -> None:
    content = copied(written(tmp_path / "a.csv", "p,y\n1,2\n"), tmp_path / "b.csv.gz")
    assert gzip.decompress(content) == b"p,y\n1,2\n"
