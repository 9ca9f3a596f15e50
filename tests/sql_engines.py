"""Engines that run SQL, behind one face: load a table named scores, run statements, read one column in the order of its rows.

DuckDB, SQLite, Polars, DataFusion and ClickHouse run in the process; PostgreSQL and MariaDB through their clients, on a server
that is started on a socket of its own; Spark in a local session.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from exported import HardRows, bits, hard_rows, rows_without_answer
from exported_curves import hard_curve_scores

import fastbin as fb
from fastbin._fit.calibrator import Calibrator
from fastbin.export import SqlTables
from fastbin.export.dialects import DIALECTS
from fastbin.model import BinnedModel

Array = npt.NDArray[Any]


class Engine(Protocol):
    """The methods of an engine that the tests call."""

    dialect: str

    def load(self, columns: Mapping[str, Any]) -> None:
        """Make the table anew, from columns without or with None."""

    def run(self, statements: Iterable[str]) -> None:
        """Run statements that make tables; those of the same names are dropped before."""

    def column(self, query: str, name: str) -> list[Any]:
        """One column of a query over the table, with None for NULL, in the order of its column i."""


def as_arrow(columns: Mapping[str, Any]) -> pa.Table:
    arrays = {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
    return pa.table({"i": pa.array(range(len(next(iter(arrays.values()))))), **arrays})


def tables_in(statements: Iterable[str]) -> list[str]:
    """The names after CREATE TABLE."""
    return [text.partition("CREATE TABLE ")[2].split()[0] for text in statements if "CREATE TABLE " in text]


class OneByOne:
    """An engine that takes one statement at a time."""

    execute: Callable[[str], Any]

    def run(self, statements: Iterable[str]) -> None:
        statements = list(statements)
        for statement in [*(f"DROP TABLE IF EXISTS {name}" for name in tables_in(statements)), *statements]:
            self.execute(statement)


class DuckDB(OneByOne):
    """A catalog of its own in the one database of the process: a database for each costs more than most tests."""

    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.cursor()
        self.execute = self.connection.execute
        self.execute("USE memory; DETACH DATABASE IF EXISTS tried; ATTACH ':memory:' AS tried; USE tried")

    def load(self, columns: Mapping[str, Any]) -> None:
        self.connection.register("given", as_arrow(columns))
        self.connection.execute("CREATE OR REPLACE TABLE scores AS SELECT * FROM given")

    def column(self, query: str, name: str) -> list[Any]:
        return [row[0] for row in self.connection.execute(f"SELECT {name} FROM ({query}) ORDER BY i").fetchall()]


class Standard(DuckDB):
    """The text of the standard, as DuckDB reads it."""

    dialect = "ansi"


class SQLite(OneByOne):
    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.execute = self.connection.execute

    def load(self, columns: Mapping[str, Any]) -> None:
        table = as_arrow(columns)
        described = ", ".join(f'"{field.name}" {"TEXT" if pa.types.is_string(field.type) else ""}' for field in table.schema)
        self.connection.execute("DROP TABLE IF EXISTS scores")
        self.connection.execute(f"CREATE TABLE scores ({described})")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        self.connection.executemany(f"INSERT INTO scores VALUES ({', '.join('?' * table.num_columns)})", rows)

    def column(self, query: str, name: str) -> list[Any]:
        return [row[0] for row in self.connection.execute(f"SELECT {name} FROM ({query}) ORDER BY i")]


class Polars:
    """Expressions alone: it has no tables that last."""

    dialect = "polars"

    def load(self, columns: Mapping[str, Any]) -> None:
        import polars as pl

        self.context = pl.SQLContext(scores=pl.from_arrow(as_arrow(columns)), eager=True)

    def run(self, statements: Iterable[str]) -> None:
        raise NotImplementedError

    def column(self, query: str, name: str) -> list[Any]:
        return self.context.execute(query).sort("i")[name].to_list()


# The engines that need no server.
EMBEDDED: dict[str, Any] = {"duckdb": DuckDB, "ansi": Standard, "sqlite": SQLite, "polars": Polars}


class DataFusion(OneByOne):
    dialect = "datafusion"

    def __init__(self) -> None:
        import datafusion

        self.context = datafusion.SessionContext()

    def execute(self, statement: str) -> list[pa.RecordBatch]:
        return self.context.sql(statement).collect()

    def load(self, columns: Mapping[str, Any]) -> None:
        self.execute("DROP TABLE IF EXISTS scores")
        self.context.register_record_batches("scores", [as_arrow(columns).to_batches()])

    def column(self, query: str, name: str) -> list[Any]:
        batches = self.execute(f"SELECT {name} FROM ({query}) ORDER BY i")
        return [answer for batch in batches for answer in batch[0].to_pylist()]


class ClickHouse(OneByOne):
    """A process has one session of chDB; tables of tests lie in a folder, as those of a server do."""

    dialect = "clickhouse"

    def __init__(self, folder: Path) -> None:
        from chdb.session import Session

        self.session, self.folder, self.execute = Session(str(folder / "database")), folder, self._ask

    def _ask(self, statement: str, form: str = "CSV") -> bytes:
        return self.session.query(statement, form).bytes()

    def load(self, columns: Mapping[str, Any]) -> None:
        import pyarrow.parquet as pq

        path = self.folder / "scores.parquet"
        pq.write_table(as_arrow(columns), path)
        self.execute("DROP TABLE IF EXISTS scores")
        self.execute(f"CREATE TABLE scores ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)")

    def column(self, query: str, name: str) -> list[Any]:
        answers = self._ask(f"SELECT {name} FROM ({query}) ORDER BY i", "Arrow")
        return pa.ipc.open_file(answers).read_all()[name].to_pylist()


# ------------------------------------------------------------------------------------------------- servers


def find_postgresql() -> Path | None:
    """The folder with the programs of the server, which Debian does not put on the path."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "psql").exists()), None)


class Client:
    """The program that talks to a server: scripts in, answers out."""

    def __init__(self, command: list[str]) -> None:
        self.command = command

    def ask(self, script: str) -> str:
        done = subprocess.run(self.command, input=script, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        return done.stdout


def numbers_in(answers: str, null: str) -> list[Any]:
    """The numbers that a client prints, one a line."""
    return [
        None if text == null else float(text) if set(text) - set("-0123456789") else int(text) for text in answers.splitlines()
    ]


class PostgreSQL(Client):
    dialect = "postgresql"

    def load(self, columns: Mapping[str, Any]) -> None:
        table = as_arrow(columns)
        kinds = {"double": "float8", "float": "float4", "int64": "bigint", "string": "text"}
        described = ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in table.schema)
        rows = zip(*(map(_copied, column.to_pylist()) for column in table.columns), strict=True)
        lines = "\n".join("\t".join(row) for row in rows)
        self.ask(
            f"SET client_min_messages = warning; DROP TABLE IF EXISTS scores; CREATE TABLE scores ({described});\n"
            f"COPY scores FROM STDIN;\n{lines}\n\\.\n"
        )

    def run(self, statements: Iterable[str]) -> None:
        statements = list(statements)
        dropped = "".join(f"DROP TABLE IF EXISTS {name};\n" for name in tables_in(statements))
        self.ask(f"SET client_min_messages = warning;\n{dropped}" + "".join(f"{statement};\n" for statement in statements))

    def column(self, query: str, name: str) -> list[Any]:
        copied = f"COPY (SELECT {name} FROM ({query}) AS q ORDER BY i) TO STDOUT WITH (NULL 'null');"
        return numbers_in(self.ask(copied), "null")


def _copied(entry: Any) -> str:
    """One entry as COPY reads it."""
    if entry is None:
        return "\\N"
    if isinstance(entry, str):
        return entry.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return repr(entry)


@contextmanager
def postgresql(folder: Path, programs: Path) -> Iterator[PostgreSQL]:
    """A server on a socket in the folder, under another user than root, whom it refuses; stopped and gone afterwards."""
    as_server: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = str(folder / "data")

    def call(*words: str) -> None:
        log = folder / "told"
        with log.open("ab") as told:
            done = subprocess.run([*as_server, *words], cwd=folder, stdout=told, stderr=told)
        assert done.returncode == 0, log.read_text()

    call(str(programs / "initdb"), "-D", data, "-U", "fastbin", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    call(str(programs / "pg_ctl"), "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        arguments = ["-h", str(folder), "-U", "fastbin", "-d", "postgres", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        yield PostgreSQL([str(programs / "psql"), *arguments])
    finally:
        call(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")


def find_mariadb() -> dict[str, Path] | None:
    """The server, what makes its folder, and its client, by their names; Debian does not put the server on every path."""
    names = ("mariadbd", "mariadb-install-db", "mariadb")
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    found = {name: Path(program) for name in names if (program := shutil.which(name, path=path))}
    return found if len(found) == len(names) else None


class MariaDB(Client, OneByOne):
    """Its doubles are finite: what is not is loaded as NULL."""

    dialect = "mysql"

    def __init__(self, command: list[str], folder: Path) -> None:
        super().__init__(command)
        self.folder, self.execute = folder, self.ask

    def load(self, columns: Mapping[str, Any]) -> None:
        table = as_arrow(columns)
        kinds = {"double": "DOUBLE", "float": "FLOAT", "int64": "BIGINT", "string": "TEXT CHARACTER SET utf8mb4"}
        described = ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in table.schema)
        rows = zip(*(map(_copied, map(_finite, column.to_pylist())) for column in table.columns), strict=True)
        path = self.folder / "rows"
        path.write_text("".join("\t".join(row) + "\n" for row in rows), newline="")
        self.ask(
            f"DROP TABLE IF EXISTS scores; CREATE TABLE scores ({described});\n"
            f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE scores CHARACTER SET utf8mb4;"
        )

    def column(self, query: str, name: str) -> list[Any]:
        return numbers_in(self.ask(f"SELECT {name} FROM ({query}) AS q ORDER BY i"), "NULL")


def _finite(entry: Any) -> Any:
    return None if isinstance(entry, float) and not np.isfinite(entry) else entry


@contextmanager
def mariadb(folder: Path, programs: Mapping[str, Path]) -> Iterator[MariaDB]:
    """A server on a socket in the folder, stopped and gone afterwards."""
    base, data, socket = programs["mariadbd"].parents[1], folder / "data", folder / "socket"
    user = ["--user=root"] if os.geteuid() == 0 else []
    common = ["--no-defaults", f"--basedir={base}", f"--datadir={data}", *user]
    made = [programs["mariadb-install-db"], *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
    done = subprocess.run(made, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "log").open("wb") as log:
        started = [programs["mariadbd"], *common, f"--socket={socket}", "--skip-networking", "--max-allowed-packet=64M"]
        server = subprocess.Popen(started, stdout=log, stderr=log)
    client = [str(programs["mariadb"]), "--no-defaults", f"--socket={socket}", "--user=root"]
    client += ["--batch", "--raw", "--skip-column-names", "--local-infile=1", "--default-character-set=utf8mb4"]
    try:
        engine, until = MariaDB([*client, "--database=tried"], folder), time.monotonic() + 60.0
        while subprocess.run([*client, "-e", "CREATE DATABASE IF NOT EXISTS tried"], capture_output=True).returncode:
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        yield engine
    finally:
        server.terminate()
        server.wait(60.0)


class Spark(OneByOne):
    dialect = "spark"

    def __init__(self, session: Any, folder: Path) -> None:
        self.session, self.folder, self.loaded, self.execute = session, folder, 0, session.sql

    def load(self, columns: Mapping[str, Any]) -> None:
        import pyarrow.parquet as pq

        self.loaded += 1
        path = self.folder / f"scores-{self.loaded}.parquet"
        pq.write_table(as_arrow(columns), path, compression="none")  # Java's snappy fails beside an installed musl
        self.session.read.parquet(str(path)).createOrReplaceTempView("scores")

    def column(self, query: str, name: str) -> list[Any]:
        return self.session.sql(query).select("i", name).orderBy("i").toArrow()[name].to_pylist()


@contextmanager
def spark(folder: Path) -> Iterator[Spark]:
    """A session of two threads; what it says about code that it cannot compile, and interprets then, is not shown."""
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.parquet.compression.codec": "none",  # as in `load`
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield Spark(session, folder)
    finally:
        session.stop()


# ------------------------------------------------------------------------------------------------- what all must do


def as_texts(keys: Array) -> list[str]:
    """Keys as their 16 digits."""
    return [f"{key:016x}" for key in keys.tolist()]


def load_rows(engine: Engine, model: BinnedModel, rows: HardRows) -> None:
    """The rows, then one for each score without an answer, then one whose score is NULL."""
    refused = rows_without_answer(model)
    columns: dict[str, Any] = {"p": pa.array([*rows.scores.tolist(), *refused.tolist(), None], pa.float64())}
    if rows.keys is not None:
        columns["k"] = as_texts(rows.keys) + ["0" * 16] * (len(refused) + 1)
    engine.load(columns)


def answers_of(engine: Engine, made: str | SqlTables, what: str = "value") -> list[Any]:
    """The answers to all rows, by an expression or by a table."""
    name = f"fastbin_{what}"
    if isinstance(made, str):
        return engine.column(f"SELECT i, {made} AS {name} FROM scores", name)
    engine.run(made.table)
    return engine.column(made.query, name)


def n_differing(engine: Engine, model: BinnedModel, n: int, *, tolerance: float | None = None, **options: Any) -> int:
    """How many of `n` hard rows get other bits than from `predict`; rows without an answer must get NULL.

    With a tolerance, which is for models without steps, it is how many differ by a larger share of the value; 0.0 means by
    one bit.
    """
    rows = hard_rows(model, n) if model.kind == "step" else HardRows(hard_curve_scores(model, n), None)
    load_rows(engine, model, rows)
    key = None if rows.keys is None else "k"
    answers = answers_of(engine, fb.export.sql(model, "p", tie_key=key, dialect=engine.dialect, **options))
    n_rows = len(rows.scores)
    assert len(answers) > n_rows
    assert answers[n_rows:] == [None] * (len(answers) - n_rows)
    assert None not in answers[:n_rows]
    found = np.array(answers[:n_rows], np.float64)
    expected = model.predict(rows.scores) if rows.keys is None else model.predict(rows.scores, tie_keys=rows.keys)
    if tolerance:
        return int(np.count_nonzero(~(np.abs(found - expected) <= tolerance * expected)))
    return int(np.count_nonzero(bits(found) != bits(expected)))


# ------------------------------------------------------------------------------------------------- sets of models


def check_columns_of_floats_and_integers(engine: Engine, model: BinnedModel, made: str | SqlTables) -> None:
    floats = np.concatenate([model.edges, np.random.default_rng(1).random(1000)]).astype(np.float32)
    for column in (floats, np.array([0, 1, 1])):
        engine.load({"p": column})
        assert answers_of(engine, made) == model.predict(column.astype(np.float64)).tolist()


def check_numbers(engine: Engine) -> None:
    """Doubles of all magnitudes are read back, each by its 64 bits."""
    rng = np.random.default_rng(11)
    doubles = rng.integers(-(2**63), 2**63 - 1, 3000).view(np.float64)
    tiny, even = np.ldexp(rng.random(500), -1040), rng.random(500)
    doubles = np.concatenate([doubles[np.isfinite(doubles)], tiny, even, 10.0 ** rng.uniform(-330, 308, 500)])
    number = DIALECTS[engine.dialect].number
    found: list[float] = []
    for part in np.array_split(doubles, 45):
        expression = " ".join(f"WHEN i = {at} THEN {number(float(double))}" for at, double in enumerate(part))
        engine.load({"p": [0.0] * len(part)})
        found += answers_of(engine, f"CASE {expression} ELSE NULL END")
    np.testing.assert_array_equal(bits(np.array(found) + 0.0), bits(doubles + 0.0))


# What a literal, a pattern or a collation could take for something else.
AWKWARD = (
    "it's", '"quoted"', "back\\slash", "\\", "'", "''", "a\\'b", "line\nbreak", "tab\t", "\r", " space ", "space", "%s", "?",
    ":name", "$1", "${spark.master}", "&{x} <% x %>", "--", "/* */", ";", "é", "e\u0301", "É", "Straße", "STRASSE", "日本",
    "😀", "\U0010ffff", "\ufeff", "a", "A", "NULL", "null", "1", "01", "1.0", "\\N", "\\u0041", "x" * 1024,
)  # fmt: skip
WITH_NUL = ("a\0b", "\0", "a\0")
INTEGERS = (-(2**63), -(2**31) - 1, -1, 0, 1, 2, 2**31, 2**53 + 1, 2**63 - 1)


def own_model(number: int, *, keyed: bool) -> BinnedModel:
    """A model of its own samples, of one of five kinds, or of seven with those that compare keys."""
    kinds: list[tuple[Calibrator, str]] = [
        (fb.UniformMassBinning(10), "uniform"),
        (fb.UniformMassBinning(20, score_range=None), "logits"),
        (fb.UniformMassBinning(5, out_of_range="clip"), "tied"),
        (fb.UniformMassBinning(4, scheme="umb"), "tied"),
        (fb.UniformMassBinning(1), "uniform"),
        (fb.UniformMassBinning(8, ties="random", out_of_range="clip"), "zeros"),
        (fb.UniformMassBinning(8, ties="random"), "zeros"),
    ]
    calibrator, shape = kinds[number % (7 if keyed else 5)]
    rng = np.random.default_rng(number)
    scores = rng.normal(0.0, 3.0, 400) if shape == "logits" else rng.random(400)
    if shape == "tied":
        scores = np.floor(scores * 40.0) / 40.0
    if shape == "zeros":
        scores[rng.random(400) < 0.4] = 0.0
    return calibrator.fit(scores, rng.random(400) < np.clip(scores, 0.1, 0.9)).model_


def mixed_set(keys: Sequence[int | str], *, keyed: bool, unknown: str) -> fb.ModelSet:
    """Models of all kinds in turn, the last two keys pooled."""
    models = {key: own_model(number, keyed=keyed) for number, key in enumerate(keys[:-2])}
    pool = own_model(5 + 7 * len(keys) if keyed else 2 + 5 * len(keys), keyed=keyed)  # it moves scores
    return fb.ModelSet(models, unknown=unknown, pool=pool, pooled_cells=keys[-2:])


def set_rows(models: fb.ModelSet, n: int) -> tuple[list[Any], Array, Array]:
    """Cells, scores and keys: hard rows of the model of each key, and, where they get the pool, of unknown cells."""
    others = [] if models.unknown == "refuse" else ["unknown", "IT'S", "a "] if isinstance(models.cells[0], str) else [3, -7]
    of_key = [(key, models[key]) for key in models.cells] + [(key, models.pool) for key in others]
    cells: list[Any] = []
    scores, keys = [], []
    for seed, (key, model) in enumerate(of_key):
        rows = hard_rows(model, max(1, n // len(of_key)), seed)
        cells += [key] * len(rows.scores)
        scores.append(rows.scores)
        random = np.random.default_rng(seed).integers(0, 2**63, len(rows.scores), dtype=np.uint64)
        keys.append(random if rows.keys is None else rows.keys)
    return cells, np.concatenate(scores), np.concatenate(keys)


def check_set(engine: Engine, models: fb.ModelSet, n: int) -> None:
    """The set by its table: all bits of values, bins and intervals, and NULL for rows without an answer."""
    cells, scores, keys = set_rows(models, n)
    needs_key = any(model.needs_key for _, model in models.numbered)
    # No score, no number, out of range, no cell, an unknown one.
    is_text = isinstance(models.cells[0], str)
    first = next(key for key in models.cells if models[key].score_range and models[key].out_of_range == "refuse")
    refused = [(first, None), (first, np.nan), (first, np.inf), (first, -np.inf), (first, 1.5), (None, 0.5)]
    refused += [("", 0.5)] if is_text else []
    refused += [("nobody" if is_text else 12345, 0.5)] if models.unknown == "refuse" else []
    columns = {
        "p": pa.array([*scores.tolist(), *(score for _, score in refused)], pa.float64()),
        "cell": pa.array([*cells, *(cell for cell, _ in refused)], pa.string() if is_text else pa.int64()),
        "k": as_texts(keys) + ["0" * 16] * len(refused),
    }
    engine.load(columns)
    given = {"tie_keys": keys} if needs_key else {}
    bins = models.assign(scores, cells, **given)
    ends = models.predict_interval(scores, cells, alpha=0.2, **given)
    expected = {"value": models.predict(scores, cells, **given), "bin": bins, "lower": ends[:, 0], "upper": ends[:, 1]}
    for what, answers in expected.items():
        made = fb.export.sql_set(
            models, "p", cell="cell", tie_key="k" if needs_key else None, dialect=engine.dialect, what=what,
            alpha=0.2 if what in ("lower", "upper") else None,
        )  # fmt: skip
        found = answers_of(engine, made, what)
        assert found[len(scores) :] == [None] * len(refused), what
        assert None not in found[: len(scores)], what
        differs = bits(np.array(found[: len(scores)], answers.dtype)) != bits(answers)
        assert not differs.any(), (what, cells[int(np.argmax(differs))], scores[int(np.argmax(differs))])
