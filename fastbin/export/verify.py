"""Whether an export says what its model says: it is run where it can be run, and all bits are compared.

An export says of which model it is, and SQL what it gives. It is compared on the rows of the user and on hard ones, and with
what the model says to each: nothing where an export gives nothing.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt64s
from fastbin._base.cells import TextCells, as_cells
from fastbin._base.checks import as_key_array, as_scores, check_alpha, check_choice, check_flag
from fastbin._base.errors import FormatError, InputError, InputTypeError, MissingDependencyError, Wording
from fastbin._base.shown import how_many, printable
from fastbin._base.tie_keys import GREATEST_KEY
from fastbin._fit.calibrator import as_model_or_set
from fastbin._fit.rows import GREATEST
from fastbin.export.dialects import DIALECTS
from fastbin.export.form import ALPHA, ENDS, INTEGERS, OUTPUTS, answered_range, digest_of, needs_keys
from fastbin.export.json import from_json
from fastbin.export.lookup import SqlTables
from fastbin.export.runners import (
    CannotRun,
    Failed,
    Ran,
    Refused,
    RowsToScore,
    SqlNames,
    cells_of,
    run_c,
    run_java,
    run_javascript,
    run_onnx,
    run_sql,
    stated_alpha,
)
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# For models with exponentials, whose last bits are those of the C library that works them out, where the terms of the logit are
# at most so large; beyond that the last bits of the terms alone are more, as of a map of labels that scores separate.
SMOOTH_TOLERANCE = 1e-12
LARGE_TERMS = 1000.0

# Scores that no edge is near, of all models of a set together.
MOST_SPREAD = 1000

ZEROS = (0.0, 5e-324, 1e-310, float(np.finfo(np.float64).tiny), GREATEST)

# ------------------------------------------------------------------------------------------------- what an export says

SUFFIXES = {
    ".sql": "sql", ".onnx": "onnx", ".h": "c", ".hpp": "c", ".java": "java", ".js": "js", ".mjs": "js", ".json": "json",
}  # fmt: skip
SIGNS = {
    "json": r"\s*\{", "c": r"(?s).*^#ifndef FASTBIN_EXPORT_", "java": r"(?s).*^public final class ", "js": r"(?s).*^export ",
    "sql": r"\s*/\* fastbin ",
}  # fmt: skip
DIGEST = re.compile(r"\bsha256 ([0-9a-f]{64})\b")
SAID_ALPHA = re.compile(r"\bintervals at alpha ([0-9.e-]+)$", re.MULTILINE)

# The first bytes of a graph in protobuf: the version of its format, and the field after it.
GRAPH = re.compile(rb"\x08[\x01-\x7f][\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2\xca]")

# The last line of the comment of SQL. A query has the answers in a column of its own, which is named.
GIVES = re.compile(r"^ *dialect (?P<dialect>\w+), gives (?P<what>\w+)(?: as (?P<answer>\w+))?$", re.MULTILINE)


class Gives(NamedTuple):
    """The dialect, the output and its column that a text of SQL states."""

    dialect: str
    what: str
    answer: str  # the name of the column; "" for an expression


def target_of(text: str | bytes, path: str = "") -> str | None:
    """The kind of an export, by the suffix of its file or by its content; None where neither tells."""
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if isinstance(text, bytes):
        try:
            text = text.decode("utf8")
        except UnicodeDecodeError:
            return "onnx"
        if "\0" in text:
            return "onnx"
    return next((target for target, sign in SIGNS.items() if re.match(sign, text, re.MULTILINE)), None)


def is_export(start: bytes) -> bool:
    """Whether a file that begins so may be an export, and is worth reading: JSON, a text that names its maker, or a graph."""
    return start.lstrip()[:1] == b"{" or b"fastbin" in start.lower() or GRAPH.match(start) is not None


def digest_in(content: str | bytes, target: str) -> str:
    """The digest that an export has, or ""."""
    if target == "json":
        found = re.search(r'"sha256": *"([0-9a-f]{64})"', str(content))
    elif isinstance(content, str):
        found = DIGEST.search(content)
    else:  # in the bytes of a graph: key and value of an entry of metadata_props, each with its length before it; or described
        at = re.search(rb"(?:fastbin\.sha256\x12\x40|fastbin [0-9.]+, model sha256 )([0-9a-f]{64})", content)
        return "" if at is None else at[1].decode()
    return "" if found is None else found[1]


def alpha_in(content: str | bytes) -> float | None:
    """The alpha that the comment of an export says its intervals have."""
    found = SAID_ALPHA.search(content) if isinstance(content, str) else None
    return None if found is None else stated_alpha(found[1])


def gives_in(text: str) -> Gives | None:
    """The same, as the comment at the top of a text states it."""
    top = re.match(r"\s*/\*(.*?)\s*\*/", text, re.DOTALL)
    found = None if top is None else GIVES.search(top[1])
    return None if found is None else Gives(found["dialect"], found["what"], found["answer"] or "")


# ------------------------------------------------------------------------------------------------- verification


class Mismatch(NamedTuple):
    """The rows in which one output differs.

    Attributes
    ----------
    output : str
    n_rows : int
    row, score, key, cell
        The first of them; row -1 where it is not one of the rows that were given.
    expected, found : float or int
        NaN, or -1 as a bin, for no answer.
    """

    output: str
    n_rows: int
    row: int
    score: float
    key: int | None
    cell: int | str | None
    expected: float
    found: float

    def __str__(self) -> str:
        more = "" if self.key is None else f", key {self.key:016x}"
        more += "" if self.cell is None else f", cell {self.cell!r}"
        where = f"row {self.row}" if self.row >= 0 else "a hard score"
        return (
            f"{self.output}: {how_many(self.n_rows, 'row', 'differs', 'differ')}; the first is {where}: score {self.score!r}"
            f"{more} gives {self.found!r}, and {self.expected!r} by the model"
        )


class Verification(NamedTuple):
    """The result of `verify`.

    Attributes
    ----------
    target : str
        "sql", "onnx", "c", "java", "js" or "json".
    sha256, found_sha256 : str
        The digest of the model, and that in the export; "" where it has none.
    engine : str
        What ran the export, with its version; "" where nothing could.
    why_not : str
        Why it was not run, or why it failed; "" where it ran.
    is_broken : bool
        Whether it could have been run here, and failed.
    n_rows : int
        The rows compared, of which `n_given` were given.
    n_given : int
    outputs : tuple of str
        What was compared.
    mismatches : tuple of Mismatch
        One for each output that differs.
    """

    target: str
    sha256: str
    found_sha256: str
    engine: str = ""
    why_not: str = ""
    is_broken: bool = False
    n_rows: int = 0
    n_given: int = 0
    outputs: tuple[str, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether it ran, has the model's digest and gave answers, all of them the model's."""
        return bool(self.engine and self.outputs) and self.sha256 == self.found_sha256 and not self.mismatches

    @property
    def is_wrong(self) -> bool:
        """Whether anything speaks against it; not the same as not `is_same` where it could not be run."""
        return self.sha256 != self.found_sha256 or self.is_broken or bool(self.mismatches)

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON has: a NaN is ``None``, a key 16 hexadecimal digits."""
        found = []
        for each in self.mismatches:
            numbers = {name: _or_none(getattr(each, name)) for name in ("score", "expected", "found")}
            key = None if each.key is None else f"{each.key:016x}"
            found.append({**each._asdict(), **numbers, "key": key})
        return {**self._asdict(), "outputs": list(self.outputs), "mismatches": found, "is_same": self.is_same}

    def __str__(self) -> str:
        lines = []
        if not self.found_sha256:
            lines.append("The export does not say which model it is of: it has no digest.")
        elif self.found_sha256 != self.sha256:
            lines.append(f"It is of another model: its digest is {self.found_sha256}, and that of the model {self.sha256}.")
        else:
            lines.append(f"The digest is that of the model: {self.sha256}.")
        if self.why_not:
            lines.append(f"{'It fails' if self.is_broken else 'Not run'}: {self.why_not}.")
        else:
            origin = f"{self.n_given:,} given, {self.n_rows - self.n_given:,} at and beside the edges"
            rows = f"{how_many(self.n_rows, 'row')} ({origin})"
            compared = f"{rows}, {', '.join(self.outputs)}, run by {self.engine}"
            lines += [f"{compared}: {'differences.' if self.mismatches else '0 differ.'}", *map(str, self.mismatches)]
        return printable("\n".join(lines), keep="\n")


def verify(
    model: Any, export: Any, scores: Any = (), *, tie_keys: Any = None, cells: Any = None, target: str | None = None,
    dialect: str | None = None, what: str | None = None, alpha: float | None = None, score: str = "p",
    tie_key: str | None = None, cell: str | None = None, source: str = "scores", run_code: bool = False,
) -> Verification:  # fmt: skip
    """Run an export and compare its answers with those of its model, bit for bit.

    Parameters
    ----------
    model : BinnedModel, ModelSet, or fitted calibrator
    export : str, bytes, path-like, SqlTables or onnx.ModelProto
        The text of an export, the tables and the query of SQL, a graph or its bytes, or as a `pathlib.Path` a file of these.
    scores : array-like of shape (n,)
        Scores to compare on, NaN and scores out of range among them if you like. Always added are the hard ones: every edge,
        the four doubles and the float32 on both sides, zeros, subnormals, infinities, NaN, scores out of range, keys of the
        edges and beside them, unknown cells. An ONNX graph of fewer digits gets all of them rounded, and so does the model.
    tie_keys : array-like of shape (n,), optional
        Their keys, for models that split ties; by default drawn.
    cells : array-like of shape (n,), optional
        Their cells, for a set; by default its keys in turn.
    target : {"sql", "onnx", "c", "java", "js", "json"}, optional
        By default told from the file's suffix, or from the text.
    dialect : str, optional
        The engine of SQL, as for `sql`; by default that which the comment of the text says. "duckdb", "sqlite", "polars" and,
        in DuckDB, "ansi" are run.
    what : {"value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising", "decision"}, optional
        What SQL gives; by default what its comment says, or "value". Other targets say themselves what they give, and all of it
        is compared.
    alpha : float in (0, 1/2], optional
        That of the ends of the intervals; by default that which the export says.
    score, tie_key, cell, source : str
        How the SQL calls its columns, and the table of scores. Names in quotes are taken as SQL takes them.
    run_code : bool
        Whether C, Java and JavaScript may be compiled and run: the program can do all that this process can. Without it they
        are refused. SQL runs in a database in memory that opens no other file, and ONNX and JSON are data.

    Returns
    -------
    Verification
        ``print`` shows it; ``is_same`` tells whether the digest and every bit of every answer agree, NaN in SQL being NULL.
        C is compiled by cc, gcc or clang, Java by javac, JavaScript is run by node, SQL by DuckDB, SQLite and Polars, ONNX by
        onnxruntime, and JSON is read. Where such a program is missing, `why_not` says so; it also says why an export does not
        run, or gives nothing that could be compared. Values of smooth models are compared to a relative 1e-12, since the
        logarithm and the exponential differ between systems in the last bits; where the terms of the log odds are above 1,000
        in size, to 1e-15 of that size.

    Raises
    ------
    InputError, InputTypeError
        If it cannot be told what the export is, or it is empty; for a program without `run_code`; for a `dialect` or a `what`
        that is not what the text says, and an `alpha` where nothing is an end of an interval; for scores that are not numbers,
        and keys and cells as `predict` refuses them; for a `score` that SQL which an engine refuses does not have.

    Notes
    -----
    A program is run with the rights of this process: verify what you trust. DuckDB is told to open no files and to load no
    extensions, SQLite to attach no database; the SQL of Polars can read files, and write none. O(n) time beside what the
    export takes.

    Examples
    --------
    >>> import fastbin as fb
    >>> calibrator = fb.UniformMassBinning(2).fit([0.1, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 1, 1])
    >>> text = fb.export.sql(calibrator, "p", dialect="sqlite")
    >>> result = fb.export.verify(calibrator, text, [0.2, 0.5, 0.8])
    >>> result.is_same, result.n_given
    (True, 3)
    """
    fitted = as_model_or_set(model)
    content, target = _content(export, target)
    if target in PROGRAMS and not check_flag(run_code, "run_code"):
        raise InputError(
            f"is a program in {PROGRAMS[target]}, which would be run with all rights of this process",
            (Wording("pass run_code=True", "give --run"), " if you trust it"),
            argument="export",
        )
    names = _names(content if target == "sql" else "", dialect, what, score=score, key=tie_key, cell=cell, source=source)
    if alpha is not None:
        check_alpha(alpha)
    said = Verification(target, digest_of(fitted), digest_in(content, target))
    given = given_rows(fitted, scores, tie_keys, cells)
    rows = joined([given, hard_rows(fitted)])
    if _decides_alone(content, target, names.what):
        rows = RowsToScore(rows.scores, None, rows.cells)
    try:
        ran = RUNNERS[target](content, rows, names) if target != "json" else _read_json(content, fitted, rows)
        _check_columns(ran, len(rows))
        outputs = tuple(name for name in OUTPUTS if name in ran.columns)
        if alpha is None and ran.alpha is None and set(ENDS) & set(outputs):
            ran = ran._replace(alpha=alpha_in(content))
    except (CannotRun, MissingDependencyError) as reason:
        return said._replace(why_not=str(reason))
    except (Failed, FormatError) as reason:
        if isinstance(reason, Refused) and not said.is_wrong and not _is_named(names.score, content):
            raise _no_such_column(names.score) from None
        return said._replace(why_not=str(reason), is_broken=True)
    if ran.scores is not None:
        rows = RowsToScore(ran.scores, rows.keys, rows.cells)
    if alpha is not None and not set(ENDS) & set(outputs):
        remedy = "leave it out"
        raise InputError(f"is {alpha!r}, but the export gives no end of an interval", remedy, argument="alpha", value=alpha)
    expected = answers(fitted, rows, outputs, ran.alpha if alpha is None else alpha)
    tolerance = _tolerance(fitted, rows.scores)
    found = [_mismatch(name, rows, expected[name], ran.columns[name], len(given), tolerance) for name in outputs]
    return said._replace(
        engine=ran.engine, n_rows=len(rows), n_given=len(given), outputs=outputs,
        mismatches=tuple(each for each in found if each is not None),
    )  # fmt: skip


PROGRAMS = {"c": "C", "java": "Java", "js": "JavaScript"}
TAKES_KEY = re.compile(r"score, (?:uint64_t |long )?key\)")
DECIDES = re.compile(r"(?:_decision|\bdecide)\((?:double )?score\)")
RUNNERS: Mapping[str, Callable[[Any, RowsToScore, SqlNames], Ran]] = {
    "sql": run_sql, "onnx": run_onnx, "c": run_c, "java": run_java, "js": run_javascript,
}  # fmt: skip


def _content(export: Any, target: str | None) -> tuple[Any, str]:
    """The text or the bytes, and what they are."""
    path = ""
    if isinstance(export, os.PathLike):
        path = os.fspath(export)
        export = Path(path).read_bytes()
    elif hasattr(export, "SerializeToString"):
        export, target = export.SerializeToString(), "onnx" if target is None else target
    elif isinstance(export, SqlTables):
        export, target = export.script, "sql"
    if not isinstance(export, (str, bytes)):
        remedy = "pass a text, bytes, a graph, or a pathlib.Path"
        raise InputTypeError(f"is of type {type(export).__name__}", remedy, argument="export")
    if not export.strip():
        in_python = "pass what a function of fastbin.export gives, or a pathlib.Path of such a file"
        raise InputError("is empty", Wording(in_python, "give what `fastbin export` wrote"), argument="export")
    if target is None:
        target = target_of(export, path)
        if target is None:
            remedy = "say target, or pass a pathlib.Path for a file"
            raise InputError("is not a text of fastbin that is known", remedy, argument="export")
    check_choice(target, "target", (*RUNNERS, "json"))
    if target == "onnx":
        if isinstance(export, str):
            raise InputTypeError("is a text", "an ONNX graph is passed as bytes, or as a pathlib.Path", argument="export")
        return export, target
    try:
        return (export.decode("utf8") if isinstance(export, bytes) else export), target
    except UnicodeDecodeError as error:
        raise InputError(f"is not text in UTF-8: {error}", argument="export") from None


def _names(
    text: str, dialect: str | None, what: str | None, *, score: str, key: str | None, cell: str | None, source: str
) -> SqlNames:
    """The names that SQL is run with: those that its text says, which are not contradicted, and those that are given."""
    said, own = gives_in(text), {"dialect": dialect, "what": what}
    for argument, choices in (("dialect", tuple(DIALECTS)), ("what", OUTPUTS)):
        if own[argument] is None:
            continue
        given, found = check_choice(own[argument], argument, choices), None if said is None else getattr(said, argument)
        if found is not None and given != found:
            problem = f"is {given!r}, and the export says that its own is {found!r}"
            raise InputError(problem, f"leave {argument} out", argument=argument, value=given)
    for argument, name in (("score", score), ("tie_key", key), ("cell", cell), ("source", source)):
        if name is None and argument in ("tie_key", "cell"):
            continue
        if not isinstance(name, str):
            raise InputTypeError(None, "pass the name as text, as the SQL has it", argument=argument, value=name)
        if not name.strip():
            raise InputError(None, "pass the name, as the SQL has it", argument=argument, value=name)
    if said is None:
        return SqlNames(dialect, "value" if what is None else what, score, key, cell, source)
    return SqlNames(said.dialect, said.what, score, key, cell, source, said.answer)


QUOTES = '"`'  # of names in SQL


def _is_named(column: str, text: str) -> bool:
    """Whether SQL has this name anywhere, comments at its beginning aside."""
    body = text.partition("*/")[2] or text
    return re.search(rf"(?<!\w){re.escape(column.strip(QUOTES))}(?!\w)", body, re.IGNORECASE) is not None


def _no_such_column(score: str) -> InputError:
    remedy = Wording(
        "pass score= with the name that the SQL has for the column",
        "file and SQL call it alike: name it by --score, rename the column of the file, or export with --score and its name",
    )
    return InputError(f"is {score!r}, and the SQL reads no such column", remedy, argument="score", value=score)


def _decides_alone(content: Any, target: str, what: str) -> bool:
    """Whether an export gives the decision and nothing that a key decides about, so that it takes none."""
    if target == "sql":
        return what == "decision"
    return target in PROGRAMS and not TAKES_KEY.search(content) and bool(DECIDES.search(content))


def _or_none(number: float) -> float | None:
    """JSON has neither NaN nor infinities."""
    return number if math.isfinite(number) else None


def _tolerance(model: BinnedModel | ModelSet, scores: Float64s) -> Float64s:
    """How far values may be apart, as a share of them: what is lost of a term of the log odds moves a value by its share."""
    if not any(each.kind == "smooth" for _, each in model.numbered):
        return np.zeros(len(scores))
    sizes = _size_of_terms(model, scores) if isinstance(model, BinnedModel) else np.zeros(len(scores))
    return SMOOTH_TOLERANCE * np.maximum(1.0, np.where(np.isfinite(sizes), sizes, 0.0) / LARGE_TERMS)


def _size_of_terms(model: BinnedModel, scores: Float64s) -> Float64s:
    """The terms of the log odds of a smooth model, added up without their signs; of a spline at least as much."""
    name, (p0, p1, p2, _) = model.map
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if name == "logistic":
            return np.abs(p0 * scores) + abs(p1)
        kept = np.clip(scores, model.clip, 1.0 - model.clip)
        log_a, log_b = np.abs(np.log(kept)), np.abs(np.log1p(-kept))
        if name == "beta":
            return abs(p0) * log_a + abs(p1) * log_b + abs(p2)
        z = log_a + log_b
        if name == "quadratic":
            return abs(p0) + z * (abs(p1) + z * abs(p2))
        at, values, bends = np.asarray(model.knots, np.float64).T
        gaps = np.diff(at)
        slopes = np.abs(np.diff(values)) / gaps + gaps * np.maximum(np.abs(bends[1:]), np.abs(bends[:-1]))
        return np.abs(values).max() + slopes.max() * (z + np.abs(at).max())


def _read_json(text: str, model: BinnedModel | ModelSet, rows: RowsToScore) -> Ran:
    again = from_json(text)
    if type(again) is not type(model) or needs_keys(again) != needs_keys(model):
        raise Failed("it is another model, for which a row is not what it is for this one")
    return Ran("fastbin.export.from_json", answers(again, rows, ("value",), None))


def _check_columns(ran: Ran, n_rows: int) -> None:
    """That an export gives what can be compared: what comes back from elsewhere may be anything."""
    if not ran.columns:
        raise Failed(f"it gives none of {', '.join(OUTPUTS)}, so there is nothing to compare")
    for name, column in ran.columns.items():
        if name not in OUTPUTS:
            raise Failed(f"it says that it gives {name!r}, which is none of {', '.join(OUTPUTS)}")
        if len(column) != n_rows:
            raise Failed(f"it gives {len(column):,} times {name} for {how_many(n_rows, 'row')}")
        is_right = column.dtype.kind in "iu" if name in INTEGERS else column.dtype == np.float64
        if not is_right:
            raise Failed(f"its {name} is {column.dtype}, and {'integers are' if name in INTEGERS else 'float64 is'} expected")


def _mismatch(
    name: str, rows: RowsToScore, expected: Array, found: Array, n_given: int, tolerance: Float64s
) -> Mismatch | None:
    if name in INTEGERS:
        differ = found != expected
    else:
        nothing = np.isnan(expected) | np.isnan(found)
        differ = np.where(nothing, np.isnan(expected) != np.isnan(found), found.view(np.uint64) != expected.view(np.uint64))
        if tolerance.any():
            with np.errstate(invalid="ignore"):
                differ &= ~(np.abs(found - expected) <= tolerance * np.abs(expected))
    at = np.flatnonzero(differ)
    if not len(at):
        return None
    first = int(at[0])
    return Mismatch(
        name, len(at), first if first < n_given else -1, float(rows.scores[first]),
        None if rows.keys is None else int(rows.keys[first]), None if rows.cells is None else rows.cells.item(first),
        expected[first].item(), found[first].item(),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- rows


def given_rows(model: BinnedModel | ModelSet, scores: Any, keys: Any, cells: Any) -> RowsToScore:
    """Columns of a user: keys that are missing are drawn, and cells that are missing are those of the set in turn."""
    if isinstance(scores, Number):
        raise InputTypeError(None, "pass a list or an array of numbers", argument="scores", value=scores)
    column = as_scores(scores).astype(np.float64)
    n = len(column)
    if keys is not None and not needs_keys(model):
        raise InputError("are given, and the model compares none", "leave them out", argument="tie_keys")
    own_keys = None
    if needs_keys(model):
        own_keys = random_keys(n) if keys is None else as_key_array(keys, n)
    if not model.is_set:
        if cells is not None:
            raise InputError("are given, and the model is not a set", "leave them out", argument="cells")
        return RowsToScore(column, own_keys)
    if cells is None:
        cells = [model.cells[i % len(model)] for i in range(n)]
    own = as_cells(cells)
    own_cells = np.array(own.texts, object)[own.codes] if isinstance(own, TextCells) else own
    if n and (own_cells.dtype == object) != isinstance(model.cells[0], str):
        problem = f"is {own_cells[:1].tolist()[0]!r}, and the keys of the set are such as {model.cells[0]!r}"
        raise InputError(problem, argument="cells", at=0)
    if len(own_cells) != n:
        raise InputError(f"has {len(own_cells)} rows for {n} scores", "every row needs one cell", argument="cells")
    return RowsToScore(column, own_keys, own_cells if n else cells_of(model.cells[0], 0))


def joined(parts: Sequence[RowsToScore]) -> RowsToScore:
    """All rows, one part after another."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return RowsToScore(*(None if column[0] is None else np.concatenate(column) for column in columns))  # type: ignore[arg-type]


def hard_rows(model: BinnedModel | ModelSet) -> RowsToScore:
    """Rows where a wrong export shows: at each edge, the four doubles and the float32 on both sides, with the key of the edge
    and those next to it, at zeros, subnormals, infinities and NaN, beyond the range, and in cells that a set does not know."""
    if not model.is_set:
        return _hard_rows_of(model, model.needs_key, MOST_SPREAD)
    n_spread, needs_key = MOST_SPREAD // model.n_models, needs_keys(model)
    of_models = [_hard_rows_of(each, needs_key, n_spread) for _, each in model.numbered]
    key_of_model = dict(zip(numbers_of(model, model.cells), model.cells, strict=True))  # none for a pool of unknown cells alone
    parts = [of_models[number].within(key) for number, key in key_of_model.items()]
    few = of_models[-1].take(slice(0, 40))
    strangers: list[int | str] = (
        ["no such cell", " ", "\ufeff", "\U0001f642"] if isinstance(model.cells[0], str) else [-(2**63), 2**63 - 1, 0]
    )
    strangers += [key[:200] + "!" if isinstance(key, str) else max(key - 1, -(2**63)) for key in model.cells[-2:]]
    return joined([*parts, *(few.within(key) for key in [*strangers, *model.cells[:1000]])])


def _hard_rows_of(model: BinnedModel, needs_key: bool, n_spread: int) -> RowsToScore:
    """With so many scores between the hard ones; of large sets, without zeros and subnormals in each model."""
    low, high = (-1.0, 1.0) if model.score_range is None else model.score_range
    knots = np.zeros(0) if model.knots is None else model.knots[:, 0]
    zeros = ZEROS if n_spread else ZEROS[:1]
    thresholds = [each for each in model._decision[:2] if np.isfinite(each)]
    places = [model.edges, zeros, np.negative(zeros), [low, high, 0.5, 1.0, model.clip, 1.0 - model.clip, *thresholds]]
    with np.errstate(over="ignore"):
        centres = np.unique(np.concatenate([*places, 1.0 / (1.0 + np.exp(-knots))]))
        beside = [centres]
        for end in (-np.inf, np.inf):
            moved = centres
            for _ in range(4):
                moved = np.nextafter(moved, end)
                beside.append(moved)
        singles = centres.astype(np.float32)
        beside += [np.nextafter(singles, np.float32(end)).astype(np.float64) for end in (-np.inf, np.inf)]
    rng = np.random.default_rng(0)
    spread = rng.uniform(max(low, -1e300), min(high, 1e300), n_spread)
    scores = np.concatenate([*beside, spread, [-0.0, np.nan, np.inf, -np.inf]])
    if not needs_key:
        return RowsToScore(scores)
    rows = RowsToScore(scores, random_keys(len(scores)))
    one = np.uint64(1)
    keys = model.edge_keys
    near = [keys, keys - one, keys + one, np.zeros_like(keys), np.full_like(keys, GREATEST_KEY)]
    at_edges = [RowsToScore(model.edges, np.minimum(each, np.uint64(GREATEST_KEY))) for each in near]
    # An edge above all keys of its score may be written as one below all of the next.
    return joined([rows, *at_edges, RowsToScore(np.nextafter(model.edges, np.inf), np.zeros_like(keys))])


def random_keys(n: int) -> UInt64s:
    """The same keys each time."""
    return np.random.default_rng(0).integers(0, GREATEST_KEY, n, dtype=np.uint64, endpoint=True)


def numbers_of(models: ModelSet, cells: Any) -> list[int]:
    """The number of the model of each cell; -1 for one that the set does not know, also where its pool scores it."""
    known = dict(zip(models.cells, models.find(list(models.cells)).tolist(), strict=True))
    return [known.get(cell, -1) for cell in cells]


def answers(model: BinnedModel | ModelSet, rows: RowsToScore, outputs: Sequence[str], alpha: float | None) -> dict[str, Array]:
    """The answers of the model to each row: NaN, and of integers those of `INTEGERS`, where it has none."""
    alpha = ALPHA if alpha is None else alpha
    has_answer = _have_answers(model, rows)
    asked = rows.take(has_answer)
    found: dict[str, Array] = {}
    for name in outputs:
        filled = np.full(len(rows), INTEGERS.get(name, np.nan), np.int32 if name in INTEGERS else np.float64)
        filled[has_answer] = _answer(model, asked, name, alpha)
        found[name] = filled
    return found


def _have_answers(model: BinnedModel | ModelSet, rows: RowsToScore) -> Bools:
    if not model.is_set:
        low, high, _ = answered_range(model)
        return (rows.scores >= low) & (rows.scores <= high)
    assert rows.cells is not None
    limits = np.array([answered_range(each)[:2] for _, each in model.numbered])
    numbers: Int64s = np.array(numbers_of(model, rows.cells.tolist()), np.int64)
    low, high = limits[numbers].T  # -1: of the last model, which is the pool where unknown cells have an answer
    return (rows.scores >= low) & (rows.scores <= high) & ((numbers >= 0) | (model.unknown == "pool"))


def _answer(model: BinnedModel | ModelSet, rows: RowsToScore, name: str, alpha: float) -> Array:
    of_row: tuple[Any, ...] = (rows.scores, rows.cells) if model.is_set else (rows.scores,)
    if name in ENDS:
        at, end = ENDS[name]
        return np.asarray(model.predict_interval(*of_row, alpha=alpha, at=at, tie_keys=rows.keys))[:, end]
    if name == "decision" and isinstance(model, BinnedModel):
        return np.asarray(model.decide(rows.scores))
    return np.asarray((model.assign if name == "bin" else model.predict)(*of_row, tie_keys=rows.keys))
