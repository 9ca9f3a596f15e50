"""Reports of predictions as files of JSON: read, made again from the counts in them or from rows, and compared."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from fastbin._base.checks import check_seed
from fastbin._base.errors import FastbinError, FormatError, without_warnings
from fastbin._base.json_kinds import refused
from fastbin.assess.clusters import Agreement
from fastbin.assess.counted import CanonicalCounts, NamedColumns
from fastbin.assess.counted_tables import count_table, read_counts
from fastbin.assess.validation import (
    FORMAT,
    Validation,
    ValidationOptions,
    check_options,
    figures_digest,
    name_of,
    names_of,
    validate,
)

# Figures agree up to this, relative to the larger, or to this times a thousandth: p-values are computed within 1e-12.
AGREES, NEXT_TO_NOTHING = 1e-9, 1e-12
MEMBERS = ("format", "options", "figures", "figures_sha256", "counts")


class FigureDifference(NamedTuple):
    """A member of a report that is not what was computed again."""

    place: str
    stored: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.place} is {_shown(self.stored)} in the report, and {_shown(self.found)} was computed"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A report of predictions that was written as JSON; FormatError for anything else."""
    name = os.fspath(path)
    with open(path, encoding="utf8") as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{name} is not JSON: {error}; name the .json file of a report") from error
    if isinstance(content, dict) and "checked" in content:
        told = "is a report on a model; `fastbin verify-data` makes the model again, `fastbin report` the figures"
        raise FormatError(f"{name} {told}")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        stored = content.get("format") if isinstance(content, dict) else content
        raise refused(f"{name}: format", stored, f"{FORMAT!r}, as `fastbin report --predictions` writes")
    for member in MEMBERS:
        if member not in content:
            raise FormatError(f"{name} has no member {member!r}, which every report has")
    for member in ("counts", "figures", "options", "source"):
        if not isinstance(content.get(member, {}), dict):
            raise refused(f"{name}: {member}", content[member], "an object of JSON")
    return content


def _options_of(content: Mapping[str, Any]) -> ValidationOptions:
    given = content["options"]
    if not isinstance(given, dict) or set(given) != set(ValidationOptions._fields):
        raise refused("options", given, f"an object with {', '.join(ValidationOptions._fields)}")
    return check_options(**given)


def has_rows(content: Mapping[str, Any]) -> bool:
    """Whether the report has its counts, and not their digest alone."""
    return content["counts"].get("rows") is not None


def from_counts(content: Mapping[str, Any]) -> Validation:
    """The validation of the counts in a report."""
    return validate(replace(_counts_in(content), clusters=_clusters_of(content)), _options_of(content))


def _counts_in(content: Mapping[str, Any]) -> CanonicalCounts:
    stated = content["counts"]
    columns, rows = stated.get("columns"), stated.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list) or any(len(row) != len(columns) for row in rows):
        raise FormatError("counts.rows is not a list of rows with an entry for each of counts.columns")
    return read_counts(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))


def _clusters_of(content: Mapping[str, Any]) -> Agreement | None:
    """How the rows of a report were chosen, as far as they are one of each cluster."""
    stated = content["counts"].get("clusters")
    return None if stated is None else Agreement(*(stated[name] for name in Agreement._fields))


def from_rows(content: Mapping[str, Any], table: Any) -> Validation:
    """The validation of the rows of a table, by the columns that the report names, or of a table of counts."""
    source = content.get("source", {})
    if source.get("is_of_counts"):
        return validate(read_counts(table), _options_of(content))
    columns = source.get("columns")
    if not isinstance(columns, dict) or not set(columns) <= set(NamedColumns._fields):
        raise FormatError("the report does not name the columns of its rows; make it anew from the file")
    with as_written("the report"):
        clusters, names = _clusters_of(content), NamedColumns(**columns)
    seed = 0 if clusters is None else check_seed(clusters.seed)
    with without_warnings():  # the report says it
        counts = count_table(table, names, positive=source.get("positive"), seed=seed)
    return validate(counts, _options_of(content))


def differences(content: Mapping[str, Any], again: Validation) -> Iterator[FigureDifference]:
    """Every member of the figures and digests of a report that differs from what was computed again, figures first."""
    yield from _compared("figures", content["figures"], again.figures)
    computed = again.to_dict()
    for name in ("sentence", "requires", "not_determined"):
        if content.get(name) != computed[name]:
            yield FigureDifference(name, content.get(name), computed[name])
    if content["counts"].get("n_rows") != computed["counts"]["n_rows"]:
        yield FigureDifference("counts.n_rows", content["counts"].get("n_rows"), computed["counts"]["n_rows"])
    yield from _compared("counts.clusters", content["counts"].get("clusters"), computed["counts"].get("clusters"))
    if content["counts"].get("sha256") != again.counts.digest:
        yield FigureDifference("counts.sha256", content["counts"].get("sha256"), again.counts.digest)
    stated = content["figures_sha256"], figures_digest(content["options"], content["figures"])
    if stated[0] != stated[1]:
        yield FigureDifference("figures_sha256", *stated)


def _compared(place: str, stored: Any, found: Any) -> Iterator[FigureDifference]:
    if isinstance(stored, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*found, *stored]):
            if name not in stored or name not in found:
                yield FigureDifference(f"{place}.{name}", stored.get(name, "absent"), found.get(name, "absent"))
            else:
                yield from _compared(f"{place}.{name}", stored[name], found[name])
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for at, (one, other) in enumerate(zip(stored, found, strict=True)):
            called = name_of(one) if isinstance(one, dict) else ""
            yield from _compared(f"{place}[{called or at}]", one, other)
    elif not _agree(stored, found):
        yield FigureDifference(place, stored, found)


def _agree(stored: Any, found: Any) -> bool:
    if isinstance(stored, float) or isinstance(found, float):
        are_numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (stored, found))
        return are_numbers and abs(stored - found) <= max(AGREES * max(abs(stored), abs(found)), NEXT_TO_NOTHING)
    return type(stored) is type(found) and bool(stored == found)


# ------------------------------------------------------------------------------------------------- since last time


def read_earlier(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A report to compare with, whose figures have the digest that it states; FormatError for one that was changed."""
    content = read_report(path)
    with as_written(os.fspath(path)):
        digest = figures_digest(content["options"], content["figures"])
        if digest != content["figures_sha256"]:
            raise FormatError(f"its figures have the digest {digest[:12]}..., and it states another: it was changed")
        if has_rows(content) and _counts_in(content).digest != content["counts"]["sha256"]:
            raise FormatError("its counts have another digest than it states: it was changed")
    return content


class Looks(NamedTuple):
    """How often a question was asked up to a report, as far as reports name the one before, and the sum of the levels."""

    n: int
    level: float

    @classmethod
    def at(cls, content: Mapping[str, Any]) -> Looks:
        """Those up to this report: itself, and those before it. The same rows and question again do not count."""
        before, level = content.get("source", {}).get("before"), content["options"]["test_level"]
        if before is None:
            return cls(1, level)
        earlier = cls(before["looks"], before["level"])
        if not isinstance(earlier.n, int) or earlier.n < 1:
            raise refused("source.before.looks", earlier.n, "a number of reports")
        if not isinstance(earlier.level, (int, float)) or not earlier.level > 0.0:
            raise refused("source.before.level", earlier.level, "a sum of levels")
        return earlier if before["is_same"] else cls(1 + earlier.n, level + earlier.level)


def since(before: Mapping[str, Any], found: Validation) -> Validation:
    """The validation that says in its source which report came before, and the looks up to that one."""
    told = _naming(before, found.counts.digest, found.options._asdict())
    return replace(found, source={**found.source, "before": told})


def _naming(before: Mapping[str, Any], digest: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """How a report with these counts and options names the one before."""
    looks = Looks.at(before)
    is_same = before["counts"]["sha256"] == digest and before["options"] == options
    return {"figures_sha256": before["figures_sha256"], "looks": looks.n, "level": looks.level, "is_same": is_same}


def as_one(earlier: Sequence[Validation | Mapping[str, Any]]) -> dict[str, Any]:
    """The last of earlier reports in the order of time, which knows of those before it."""
    made: dict[str, Any] | None = None
    for each in earlier:
        content = each.to_dict() if isinstance(each, Validation) else dict(each)
        if made is not None and "before" not in content.get("source", {}):
            told = _naming(made, content["counts"]["sha256"], content["options"])
            content["source"] = {**content.get("source", {}), "before": told}
        made = content
    assert made is not None
    return made


@contextmanager
def as_written(name: str) -> Iterator[None]:
    """Errors about members of other kinds than a report has as FormatError about the file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        told = str(error) if isinstance(error, FastbinError) else f"{type(error).__name__}: {error}"
        raise FormatError(f"{name} is not a report as `fastbin report --predictions` writes: {told}") from error


def changes(before: Mapping[str, Any], after: Validation, table: str | None) -> dict[str, list[Any]]:
    """The differences to an earlier report, row by row of a table: rows, rates, mean predictions and verdicts."""
    now = {names_of(row): row for row in (after.ordered(table) if table in after.tables else [])}
    then = {names_of(row): row for row in before["figures"].get("tables", {}).get(table, [])}
    names = [*now, *(each for each in then if each not in now)]
    columns: dict[str, list[Any]] = {"": [*map(" / ".join, names), "all"]}
    pairs = [*((then.get(each), now.get(each)) for each in names), (before["figures"]["portfolio"], after.portfolio)]
    for title, figure in (("n", "n"), ("predicted", "mean_prediction"), ("rate", "rate"), ("verdict", "verdict")):
        for when, at in (("before", 0), ("now", 1)):
            columns[f"{title} {when}"] = [_figure(pair[at], figure) for pair in pairs]
    return columns


def _figure(row: Mapping[str, Any] | None, name: str) -> Any:
    """A figure of a row; None where the row is missing."""
    if row is None:
        return "" if name == "verdict" else None
    if name == "verdict":
        return row.get("verdict") or row.get("verdict_of_mean") or ""
    return row.get(name)
