"""The pack of figures on given predictions, from their canonical counts alone: is it calibrated, in each grade and segment?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import check_alpha, check_power, check_seed, check_unit_interval
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import named, outwards_as
from fastbin._base.table import Columns, as_records, in_words
from fastbin._core.score import library_version
from fastbin._fit.calibrator import Estimator
from fastbin._model.parts import Parts
from fastbin.assess.bin_tests import chance_at_least, chance_at_most, first_above, reached
from fastbin.assess.calibration_tests import tests_of_cells
from fastbin.assess.cell_tests import vasicek
from fastbin.assess.clusters import ALL
from fastbin.assess.counted import KEYS, CanonicalCounts, NamedColumns, count_arrays
from fastbin.assess.label_sums import tails_of_ones
from fastbin.assess.predictions_check import (
    PredictionVerdict,
    jeffreys_of,
    joint_direction,
    judged_parts,
    of_all_rows,
    of_side,
)
from fastbin.assess.verdict import MOST_NAMED, NEW_ROWS, known, shown_p
from fastbin.guarantees.certificate import sureness
from fastbin.intervals.binomial import check_side, ends_of_rows
from fastbin.vector_model import VectorModel

FORMAT = "fastbin report of predictions, version 1"
# The tables: by which columns, in the order in which they are shown.
TABLES = {"grades": ("grade",), "segments": ("segment",), "cells": ("segment", "grade"), "days": ("day",)}
# Digits of a figure: the last bits of doubles differ between processors and versions of SciPy.
DIGITS = 12
# Counts of more rows are not written into reports, which then have their digest alone.
MOST_ROWS = 10_000
# Different predictions of which the further tests are computed, in two seconds.
MOST_TESTED = 2**18
# How the columns of rates and of p-values are called where they are shown.
RATES = {"mean_prediction": "predicted", "rate": "rate", "interval": "interval", "detectable": "detectable"}
P_VALUES = {
    "p_value": "p value", "p_of_mean": "p value", "jeffreys": "Jeffreys", "vasicek": "Vasicek, too low", "holm": "Holm",
    "holm_of_mean": "Holm",
}  # fmt: skip
# The test of calibration that the mean predictions of grades determine.
OF_GRADES = "hosmer_lemeshow_grades"
# Figures of each row of a table that only the predictions of single samples determine.
OF_SINGLE = ("p_value", "holm", "verdict")


class ValidationOptions(NamedTuple):
    """The questions of a validation; part of its figures."""

    side: str = "both"
    test_level: float = 0.05
    power: float = 0.9
    asset_correlation: float | None = None


@dataclass(frozen=True, eq=False)
class Validation(PredictionVerdict):
    """Are given predictions calibrated, in each grade and segment, and which difference would have been seen?

    Made by `assess` and `assess_counts`; ``str()`` says it in sentences. All figures are functions of the counts: the same
    from arrays, batches, engines and a table of counts.

    Attributes
    ----------
    verdict : {"too low", "too high", "contradicted", "not contradicted"}
        Of all tables together: "too low" if predictions are in some row and too high in none, "contradicted" if both occur.
    options : tuple
        The questions, by name: `side`, `test_level`, `power` and `asset_correlation`.
    side : {"both", "upper", "lower"}
    test_level : float
        The chance that calibrated predictions are contradicted in any row of any table; that of all rows is a test by itself.
    power : float
        The chance with which the differences called detectable would have been seen.
    asset_correlation : float or None
        Of the tests that allow for correlated labels.
    n_samples, n_positive : int
        Rows that were assessed, frequencies counted, and those with label 1.
    portfolio : dict
        The figures of all rows together, as of a row of a table; a test by itself.
    tables : dict of str to list of dict
        "grades", "segments", "cells" (a grade in a segment) and "days", those that there are: the figures of each row.
    tests : dict of str to dict
        Further tests of all rows, as `calibration_tests` names them: statistic, p-value, interval, whether it is exact, a
        warning and its reference. None for a test that the counts do not determine; empty for more than 262,144 different
        predictions, where `calibration_tests` takes minutes.
    curve : list of list
        The isotonic (CORP) reliability curve: prediction, isotonic rate, and its band, as of `calibration_tests`.
    not_determined : tuple of str
        The figures that are None as the counts do not determine them; empty unless only mean predictions are known.
    counts : object
        The canonical counts, with their ``digest``.
    source : dict
        Where the rows come from, such as the file and its SHA-256; it is beside the figures.
    """

    options: ValidationOptions
    counts: CanonicalCounts
    portfolio: dict[str, Any]
    tables: dict[str, list[dict[str, Any]]]
    tests: dict[str, dict[str, Any] | None]
    curve: list[list[float]]
    source: dict[str, Any]

    @property
    def side(self) -> str:  # type: ignore[override]
        """Which frequencies are looked for: above the predictions ("upper"), below them, or both."""
        return self.options.side

    @property
    def test_level(self) -> float:  # type: ignore[override]
        """The chance that calibrated predictions are contradicted in any row of any table."""
        return self.options.test_level

    @property
    def power(self) -> float:
        """The chance with which the differences called detectable would have been seen."""
        return self.options.power

    @property
    def asset_correlation(self) -> float | None:
        """The correlation of the tests that allow for correlated labels."""
        return self.options.asset_correlation

    @property
    def n_samples(self) -> int:
        """Rows that were assessed, frequencies counted."""
        return self.counts.n_samples

    @property
    def n_positive(self) -> int:
        """Rows with label 1."""
        return self.counts.n_ones

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """The verdict of all tables together; by means where only these are known."""
        return joint_direction(row[self.deciding("verdict")] for row in self.deciding_rows)

    def deciding(self, name: str) -> str:
        """The name of this figure for the test that decides: the exact one, or that of the mean where only means are known."""
        if not self.counts.are_means:
            return name
        return {"p_value": "p_of_mean", "holm": "holm_of_mean", "verdict": "verdict_of_mean"}[name]

    @property
    def deciding_rows(self) -> list[dict[str, Any]]:
        """The rows of all tables, which share the level; without tables, that of the portfolio."""
        return [row for rows in self.tables.values() for row in rows] or [self.portfolio]

    @property
    def main_table(self) -> str | None:
        """The finest table but for days."""
        return next((name for name in ("cells", "grades", "segments", "days") if name in self.tables), None)

    def ordered(self, table: str | None) -> list[dict[str, Any]]:
        """The rows of a table as they are shown: grades of a segment by their mean prediction, all else by its key."""
        rows = self.tables[table] if table is not None else []
        if "grade" not in TABLES.get(str(table), ()):
            return rows
        segments = {row.get("segment"): at for at, row in reversed(list(enumerate(rows)))}
        return sorted(rows, key=lambda row: (segments[row.get("segment")], row["mean_prediction"]))

    @property
    def not_determined(self) -> tuple[str, ...]:
        """The figures that are None as the counts do not determine them."""
        if not self.counts.are_means:
            return ()
        places = ["portfolio", *self.tables]
        single = (*OF_SINGLE, *(["vasicek"] if self.asset_correlation is not None else []))
        tests = [f"tests.{name}" for name, test in self.tests.items() if test is None]
        return ("verdict", *(f"{place}.{name}" for place in places for name in single), *tests, "curve")

    # -------------------------------------------------------------------------------------- in words

    def _columns(self) -> Columns:
        return self.columns_of(self.main_table)

    def columns_of(self, table: str | None) -> dict[str, list[Any]]:
        """The columns of one table as they are shown, the portfolio last."""
        by = TABLES[table] if table is not None else ("grade",)
        rows = self.ordered(table)
        whole = {**dict.fromkeys(by, "all"), **self.portfolio}
        shown = [*rows, whole]
        texts = {name: [str(row[name]) for row in shown] for name in by}
        kept = ("n", "ones", "expected", "mean_prediction", "rate", "interval")
        correlated = ["vasicek"] if self.portfolio.get("vasicek") is not None else []
        p_values = (self.deciding("p_value"), "jeffreys", *correlated, self.deciding("holm"), "detectable")
        return {
            **texts, "verdict": [row[self.deciding("verdict")] for row in shown],
            **{name: [row[name] for row in shown] for name in (*kept, *p_values)},
        }  # fmt: skip

    def words_of(self, table: str | None) -> tuple[dict[str, list[str]], int]:
        """The same in words, by title, and how many of the first columns hold text."""
        columns, words = self.columns_of(table), dict[str, list[str]]()
        for name, column in columns.items():
            if name in RATES:
                title = f"{RATES[name]}, %" + (f" ({sureness(self.test_level)} each)" if name == "interval" else "")
                words[title] = [percent(raised(value) if name == "detectable" and value else value) for value in column]
            elif name in P_VALUES:
                words[P_VALUES[name]] = [shown_p(value) for value in column]
            else:
                words[name] = [f"{value:,.1f}" for value in column] if name == "expected" else in_words(column)
        if self.tables:
            words["Holm"][-1] = ""  # all rows together are a test by itself
        else:
            words.pop("Holm")
        return words, 1 + len(TABLES[table] if table is not None else ("grade",))

    def _words(self) -> tuple[dict[str, list[str]], int]:
        return self.words_of(self.main_table)

    def _statement(self) -> str:
        verdict, p_value = self.deciding("verdict"), self.deciding("holm" if self.tables else "p_value")
        deciding = [(name_of(row), row[verdict], row[p_value]) for row in self.deciding_rows]
        family = f"{len(deciding)} {self._what}" if self.tables else ""
        by = ", by Hoeffding's bound" if self.counts.are_means else ""
        told = self._told(self.n_samples, self.counts.clusters, deciding, family, by=by, most=MOST_NAMED)
        return f"{told} {self.on_all_rows}{self.seen}"

    @property
    def on_all_rows(self) -> str:
        """The verdict on all rows together where tables decide, if it contradicts; with a blank behind it."""
        if not self.tables:
            return ""
        test = "by Hoeffding's bound" if self.counts.are_means else "a test by itself"
        return of_all_rows(self.portfolio[self.deciding("verdict")], self.portfolio[self.deciding("p_value")], test)

    @property
    def _what(self) -> str:
        what = next(iter(self.tables)) if len(self.tables) == 1 else "rows of tables"
        return what.removesuffix("s") if len(self.deciding_rows) == 1 else what

    @property
    def seen(self) -> str:
        """Which difference would have been seen, in a sentence."""
        rows = self.tables[self.main_table] if self.main_table is not None else [self.portfolio]
        found = [row["detectable"] for row in rows]
        finite = [each for each in found if each is not None]
        where = {"cells": "a grade of a segment", "grades": "a grade", "segments": "a segment", "days": "a day"}
        place = where[self.main_table] if self.main_table is not None else "all rows together"
        of_all = f"of {len(found):,} {'grades of segments' if self.main_table == 'cells' else self.main_table}"
        unseen = f"In {len(found) - len(finite):,} {of_all} no difference would have been seen. " if finite != found else ""
        if not finite:
            return f"No difference in {place} would have been seen."
        if self._n_blind:
            several = f"In {self._n_blind:,} {of_all} e" if self.main_table is not None else "E"
            unseen += f"{several}ven a frequency of 0 would not have shown that predictions are too high. "
        least, most = percent(raised(min(finite))), percent(raised(max(finite)))
        size = f"{most} percentage points" if least == most else f"{least} to {most} percentage points, depending on its rows,"
        return f"{unseen}A difference of {size} in {place} would have been seen with probability {self.power:g}."

    @cached_property
    def _n_blind(self) -> int:
        """Rows of the finest table that could not have shown predictions that are too high: these are too small."""
        if self.side == "upper":
            return 0
        by = TABLES[self.main_table] if self.main_table is not None else ()
        tail = self.test_level / (2.0 if self.side == "both" else 1.0)
        return sum(_log_chance_of_none(own) > math.log(tail) for _, own in self.counts.groups(*by))

    @property
    def sentence(self) -> str:
        """The verdict, its evidence, what would have been seen, and what the verdict needs."""
        return self._sentence()

    # -------------------------------------------------------------------------------------- as JSON

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All figures as JSON has them, with 12 digits; those that the counts do not determine are None."""
        exact = not self.counts.are_means
        found = {
            "n": self.n_samples, "ones": self.n_positive, "verdict": self.verdict if exact else None,
            "verdict_of_mean": joint_direction(row["verdict_of_mean"] for row in self.deciding_rows),
            "portfolio": self.portfolio, "tables": self.tables, "tests": self.tests, "curve": self.curve if exact else None,
        }  # fmt: skip
        rounded: dict[str, Any] = _rounded(found)
        return rounded

    @property
    def figures_digest(self) -> str:
        """SHA-256 in hexadecimal of the figures as compact JSON, with the options."""
        return figures_digest(self.options._asdict(), self.figures)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers, ready for JSON; without the counts if these have many rows."""
        columns, n_rows = [*self.counts.keys, self.counts.prediction_column, "n", "ones"], len(self.counts.counts)
        clusters = self.counts.clusters
        chosen = {} if clusters is None else {"clusters": _rounded(clusters._asdict())}
        rows = None if n_rows > MOST_ROWS else [list(row) for row in zip(*self.counts.columns().values(), strict=True)]
        return {
            "format": FORMAT, "fastbin": library_version(), "sentence": self.sentence, "requires": NEW_ROWS,
            "options": self.options._asdict(), "figures": self.figures, "not_determined": list(self.not_determined),
            "figures_sha256": self.figures_digest,
            "counts": {"columns": columns, "n_rows": n_rows, "sha256": self.counts.digest, **chosen, "rows": rows},
            **({"source": self.source} if self.source else {}),
        }  # fmt: skip

    def to_json(self) -> str:
        """The report as JSON text, the same for the same rows, whoever held them, and the same options.

        A line for each row of the counts. What is in `source` comes last.
        """
        content = self.to_dict()
        counts, lines = content.pop("counts"), []
        source = {"source": content.pop("source")} if self.source else {}
        rows = counts.pop("rows")
        table = "null" if rows is None else "[\n" + ",\n".join(f"   {_compact(row)}" for row in rows) + "\n  ]"
        for name, value in {**content, "counts": counts, **source}.items():
            text = json.dumps(value, indent=1, allow_nan=False).replace("\n", "\n ")
            if name == "counts":
                text = text[:-2].rstrip() + f',\n  "rows": {table}\n }}'
            lines.append(f' "{name}": {text}')
        return ("{\n" + ",\n".join(lines) + "\n}\n").replace("\x7f", r"\u007f")  # the one that JSON lets stand


def figures_digest(options: dict[str, Any], figures: dict[str, Any]) -> str:
    """SHA-256 in hexadecimal of the options and the figures of a report as compact JSON."""
    return hashlib.sha256(_compact({"options": options, **figures}).encode()).hexdigest()


def raised(value: float) -> float:
    """The number rounded up to three digits, so that it stays a difference that would have been seen."""
    unit: float = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / unit - 1e-9) * unit


def percent(value: Any) -> str:
    """A rate, or an interval of rates, in percent with three digits; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        low, high = value
        return outwards_as(".3g", 100.0 * low, 100.0 * high)
    return f"{100.0 * value:.3g}"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def name_of(row: dict[str, Any]) -> str:
    """The name of a row of a table: its grade, its segment, both, or its day."""
    return " / ".join(names_of(row))


def names_of(row: dict[str, Any]) -> tuple[str, ...]:
    """The keys of a row of a table, which tell it from others of the same name."""
    return tuple(named(row[name]) for name in KEYS if name in row)


# ------------------------------------------------------------------------------------------------- the figures


def validate(counts: CanonicalCounts, options: ValidationOptions, source: dict[str, Any] | None = None) -> Validation:
    """All figures of canonical counts. O(rows of the counts) for each table."""
    names, groups = list[tuple[str, dict[str, Key]]](), list[CanonicalCounts]()
    for table, by in TABLES.items():
        if all(name in counts.keys for name in by):
            for found, own in counts.groups(*by):
                names.append((table, dict(zip(by, found, strict=True))))
                groups.append(own)
    figures = _figures([*groups, counts], options)
    tables: dict[str, list[dict[str, Any]]] = {}
    for (table, keys), row in zip(names, figures[:-1], strict=True):
        tables.setdefault(table, []).append({**keys, **row})
    grades = [(next(iter(keys.values())), own) for (table, keys), own in zip(names, groups, strict=False) if table == "grades"]
    tests, curve = _tests(counts, grades, options)
    return Validation(
        options=options, counts=counts, portfolio=figures[-1], tables=tables, tests=tests, curve=curve, source=source or {}
    )  # fmt: skip


def _tests(
    counts: CanonicalCounts, grades: list[tuple[Key, CanonicalCounts]], options: ValidationOptions
) -> tuple[dict[str, dict[str, Any] | None], list[list[float]]]:
    """The further tests of all rows, by name, and the isotonic curve."""
    cells = counts.cells()
    if len(cells.predictions) > MOST_TESTED:
        return {}, []
    parts = [(name, own.cells()) for name, own in grades]
    found = tests_of_cells(
        cells, parts, whole=not counts.are_means, asset_correlation=options.asset_correlation, test_level=options.test_level
    )
    of_all = {
        row.pop("test"): row for row in found.to_dict()["tests"] if row.pop("scope") == ALL and row.pop("holm", True) is None
    }
    if not counts.are_means:
        return of_all, found.curve.tolist()
    # The remarks on Jeffreys' test and on correlated labels depend on single predictions, too.
    return {name: of_all[name] if name == OF_GRADES else None for name in (*of_all, *found.left_out, "mid_p")}, []


def _log_chance_of_none(own: CanonicalCounts) -> float:
    """The logarithm of the chance that no row has label 1, or of its bound where only means are known."""
    cells = own.cells()
    with np.errstate(divide="ignore"):
        return float(np.dot(cells.counts, np.log1p(-cells.predictions)))


def _figures(groups: Sequence[CanonicalCounts], options: ValidationOptions) -> list[dict[str, Any]]:
    """The figures of each of these, the last of which is all rows; the others share the level by Holm's adjustment."""
    n, ones = (np.array([getattr(own, name) for own in groups]) for name in ("n_samples", "n_ones"))
    means = np.array([own.mean for own in groups])
    of_mean = of_side(_tails_of_means(means, n, ones), options.side)
    p_values, whole = [of_mean], [None if own.are_means else own.cells() for own in groups]
    if not groups[-1].are_means:
        tails = [(law.at_least, law.at_most) for law in (tails_of_ones(cells) for cells in whole if cells is not None)]
        p_values.append(of_side(np.array(tails), options.side))
    adjusted, verdicts = zip(*(judged_parts(each, ones - n * means, options.test_level) for each in p_values), strict=True)
    intervals = ends_of_rows(ones, n, options.test_level).tolist()
    n_tests = np.append(np.full(len(n) - 1, max(1, len(n) - 1)), 1)
    differences = detectable(means, n, options.test_level / n_tests, options.power, options.side).tolist()
    nothing = [None] * len(n)
    columns = {
        "n": n.tolist(), "ones": ones.tolist(), "expected": (n * means).tolist(), "mean_prediction": means.tolist(),
        "rate": (ones / n).tolist(), "interval": intervals,
        **{name: column[1] if len(column) > 1 else nothing for name, column in
           (("p_value", p_values), ("holm", adjusted), ("verdict", verdicts))},
        "p_of_mean": of_mean.tolist(), "holm_of_mean": adjusted[0].tolist(), "verdict_of_mean": verdicts[0],
        "jeffreys": jeffreys_of(ones, n, means, options.side).tolist(), "detectable": [known(each) for each in differences],
    }  # fmt: skip
    if options.asset_correlation is not None:
        columns["vasicek"] = [None if cells is None else vasicek(cells, options.asset_correlation).p_value for cells in whole]
    columns = {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    return as_records(columns)


def _tails_of_means(means: Float64s, n: Int64s, ones: Int64s) -> Float64s:
    """Bounds on P(X >= ones) and P(X <= ones), whatever the predictions are that have these means: (n_groups, 2).

    From one label beyond the mean on, the tail of a sum of independent labels is at most the binomial one (Hoeffding 1956,
    Theorem 5); nearer to the mean the bound is 1.
    """
    found = []
    for mean, count, x in zip(means.tolist(), n.tolist(), ones.tolist(), strict=True):
        above = chance_at_least(x, count, mean) if x >= count * mean + 1.0 else 1.0
        below = chance_at_most(x, count, mean) if x <= count * mean - 1.0 else 1.0
        found.append((above, below))
    return np.array(found)


def detectable(means: Float64s, counts: Int64s, levels: Float64s, power: float, side: str) -> Float64s:
    """The least difference of mean prediction and mean frequency that a test at this level shows with chance `power`.

    Every difference of at least this size, whatever mix of frequencies makes it, is seen with that chance by the exact test of
    whatever predictions have the mean (Hoeffding 1956, Theorem 5, for both); infinity where none is.
    """
    tails = levels / (2.0 if side == "both" else 1.0)
    mixed = np.ones(len(counts), np.bool_)
    found = []
    for centres in (means,) if side == "upper" else (1.0 - means,) if side == "lower" else (means, 1.0 - means):
        first = np.maximum(first_above(centres, counts, tails), np.ceil(counts * centres + 1.0).astype(np.int64))
        found.append(reached(first, counts, power, mixed) - centres)
    if len(found) == 1:
        return found[0]
    up, down = found
    unseen = np.isinf(up) & np.isinf(down)
    both = np.maximum(np.where(np.isinf(up), 1.0 - means, up), np.where(np.isinf(down), means, down))
    return np.where(unseen, math.inf, both)


# ------------------------------------------------------------------------------------------------- for users


def check_options(side: str, test_level: float, power: float, asset_correlation: float | None) -> ValidationOptions:
    """The questions of a validation, checked."""
    if asset_correlation is not None:
        asset_correlation = check_unit_interval(asset_correlation, "asset_correlation", open_right=True)
    return ValidationOptions(check_side(side), check_alpha(test_level, "test_level"), check_power(power), asset_correlation)


def assess(
    model_or_predictions: Any,
    data: Any,
    by: Any = None,
    segment: Any = None,
    *,
    score: str | None = None,
    label: str | None = None,
    day: Any = None,
    cluster: Any = None,
    seed: int | None = None,
    sample_weight: Any = None,
    positive: Any = None,
    side: str = "both",
    test_level: float = 0.05,
    power: float = 0.9,
    asset_correlation: float | None = None,
    **options: Any,
) -> Any:
    """Are given predictions, a classifier or a fitted model calibrated, in each grade and segment?

    Parameters
    ----------
    model_or_predictions : array-like of shape (n,), str, classifier, or model
        Predictions in [0, 1], such as probabilities of default, NaN refused; or the name of the column of `data` that holds
        them; or a classifier with ``predict_proba`` for two classes, whose second is the event; or a model, a set or a fitted
        calibrator of fastbin.
    data : array-like of shape (n,), table, or pair
        For given predictions, what happened: bool or numbers that equal 0 or 1. For a column: a table of any library that
        `fastbin.engines.fit` takes, or the path of a file. For a classifier: ``(X, y)``. For a model: ``(scores, labels)``, or
        a table with the columns `score` and `label`.
    by, segment : array-like of shape (n,), or str, optional
        The grade and the segment of each row, integers or text, a missing one refused; of a table the names of the columns. Of
        a set of models, `segment` is the key of each row.
    score, label : str, optional
        Columns of a table: scores of a model, and what happened.
    day : array-like of shape (n,), or str, optional
        The day of each row: dates, integers or text. Adds a table by day.
    cluster : array-like of shape (n,), or str, optional
        What rows of given predictions that belong together share, such as the obligor. One row of each is assessed, as
        `one_per_cluster` chooses it, and a warning says so where rows of a cluster agree.
    seed : int or None
        Chooses the row of each cluster, as in `one_per_cluster`, and breaks ties of a model (0 by default); in [0, 2**64).
    sample_weight : array-like of int, shape (n,), or str, optional
        Frequencies, the same as repeating the row. Importance weights of given predictions are refused.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    side : {"both", "upper", "lower"}
        What is looked for: frequencies above the predictions ("upper": predictions that are too low), below them, or both. Of
        a model, the side of its promise.
    test_level : float
        The chance that calibrated predictions are contradicted in any row of any table, from 1e-100 to 1/2; that of all rows
        is a test by itself.
    power : float
        The chance with which the differences called detectable would have been seen.
    asset_correlation : float in [0, 1), optional
        For the tests of correlated labels (Vasicek's model with one factor).
    **options
        Of a model: those of `fastbin.report.assess_model`, or of `fastbin.engines.assess` for a table.

    Returns
    -------
    Validation or fastbin.report.Assessment
        An `Assessment` for models of fastbin, as these functions give it; else a `Validation`.

    Raises
    ------
    GuaranteeError
        For importance weights of given predictions.
    InputError, InputTypeError
        Naming the argument or the column, the first bad position, its value and the remedy.

    Notes
    -----
    The rows must be new: a verdict on rows that the classifier or its calibration has seen says nothing. Labels are
    independent, each 1 with its prediction as probability, if predictions are calibrated: one row for each obligor, and no
    common shock. The p-values of grades, segments and their combinations are exact, as those of `check_predictions`, and share
    the level by Holm's adjustment (1979), all rows of all tables together; the row of all samples is a test by itself.

    The rows become counts by grade, segment, day and prediction, by one GROUP BY where an engine holds them, and all else is
    computed from these: the result has the same bytes whoever held the rows, in whichever order.

    O(n log n) time and O(different rows) memory.

    Examples
    --------
    >>> found = assess([0.02] * 400 + [0.1] * 200, [1] * 12 + [0] * 388 + [1] * 34 + [0] * 166, by=["A"] * 400 + ["B"] * 200)
    >>> found.verdict, [(row["grade"], row["verdict"]) for row in found.tables["grades"]]
    ('too low', [('A', 'not contradicted'), ('B', 'too low')])
    """
    given = model_or_predictions
    if isinstance(given, (Parts, Estimator, VectorModel)):
        asked_for = {"by": by, "day": day, "cluster": cluster, "asset_correlation": asset_correlation}
        asked_for |= {"power": None if power == ValidationOptions().power else power}
        for name, value in asked_for.items():
            if value is not None:
                remedy = "pass what model.predict gives as predictions, or use fastbin.assess.audit_groups"
                raise InputError("is about given predictions, and a model is assessed bin by bin", remedy, argument=name)
        if "cells" in options:
            raise InputError("is called segment here", "pass segment=", argument="cells")
        options |= {} if seed is None else {"seed": seed}
        options |= {"sample_weight": sample_weight, "positive": positive, "test_level": test_level, "side": side}
        return _assess_model(given, data, segment, {"score": score, "label": label}, options)
    if options:
        raise InputTypeError(f"{next(iter(options))} is an option about models, and predictions are given; leave it out")
    asked = check_options(side, test_level, power, asset_correlation)
    if isinstance(given, str):
        names = _names(
            prediction=given, label=label, segment=segment, grade=by, day=day, weight=sample_weight, cluster=cluster
        )  # fmt: skip
        from fastbin.assess.counted_tables import count_table

        return validate(count_table(data, names, positive=positive, seed=check_seed(seed)), asked)
    for name, value in (("score", score), ("label", label)):
        if value is not None:
            remedy = "name the column of predictions too, as a text, or pass the labels as data"
            raise InputError("names a column, and the predictions are given themselves", remedy, argument=name)
    if hasattr(given, "predict_proba"):
        given, data, positive = _of_classifier(given, data, positive)
    keys = {"segment": segment, "grade": by, "day": day, "cluster": cluster}
    return validate(
        count_arrays(given, data, keys, sample_weight=sample_weight, positive=positive, seed=check_seed(seed)), asked
    )


def _names(**columns: Any) -> NamedColumns:
    for name, column in columns.items():
        if column is not None and not isinstance(column, str):
            called = {"grade": "by", "weight": "sample_weight"}.get(name, name)
            raise InputTypeError("is not the name of a column", "predictions are a column of a table; name this one too",
                                 argument=called)  # fmt: skip
    if columns["label"] is None:
        raise InputTypeError("is None", "name the column of the labels", argument="label")
    return NamedColumns(**columns)


def _of_classifier(classifier: Any, data: Any, positive: Any) -> tuple[Any, Any, Any]:
    """Predictions and labels of a classifier on (X, y), and the event."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputTypeError("must be (X, y) for a classifier", "pass features and labels as a pair", argument="data")
    classes = np.asarray(getattr(classifier, "classes_", [0, 1]))
    if len(classes) != 2:
        remedy = "use fastbin.assess.reliability_table(multiclass=...)"
        raise InputError(f"has {len(classes)} classes, and two are assessed", remedy, argument="model_or_predictions")
    features, labels = data
    event = classes[1].item() if positive is None else positive
    if not (classes == event).any():
        problem = f"is {event!r}, and the classes are {', '.join(map(repr, classes.tolist()))}"
        raise InputError(problem, "name one of them, or leave it out for the second", argument="positive")
    at = int(np.argmax(classes == event))
    plain = classes.dtype.kind in "biuf" and set(classes.tolist()) == {0, 1} and event == 1
    return classifier.predict_proba(features)[:, at], labels, None if plain else event


def _assess_model(model: Any, data: Any, segment: Any, columns: dict[str, Any], options: dict[str, Any]) -> Any:
    """The result of the packages above for models; they are found by their names, as imports go down."""
    if columns["score"] is None and columns["label"] is None:
        if not isinstance(data, tuple) or len(data) != 2:
            remedy = "pass (scores, labels), or a table with score= and label=, the names of its columns"
            raise InputTypeError("is neither a pair nor a table with named columns", remedy, argument="data")
        return import_module("fastbin.report").assess_model(model, *data, cells=segment, **options)
    weight = options.pop("sample_weight")
    for name, idle in (("side", "both"), ("seed", None)):
        if options.pop(name, idle) != idle:
            remedy = f"pass (scores, labels), or leave {name} out"
            raise InputError("goes with scores and labels, and a table is given", remedy, argument=name)
    return import_module("fastbin.engines").assess(data, model, **columns, weight=weight, cell=segment, **options)


def assess_counts(
    table: Any,
    *,
    side: str = "both",
    test_level: float = 0.05,
    power: float = 0.9,
    asset_correlation: float | None = None,
) -> Validation:
    """The same as `assess` of given predictions, from a table of counts: a report can be made again without its rows.

    Parameters
    ----------
    table : mapping of columns, frame, table of an engine, or path of a file
        The columns ``n``, the samples, and ``ones``, those with label 1, whole numbers; ``prediction``, which all samples of a
        row have, or ``mean_prediction``, their mean, in [0, 1]; and those that there are of ``grade``, ``segment`` and ``day``,
        integers or text. Rows may repeat and come in any order; other columns are not read. NaN is refused.
    side, test_level, power, asset_correlation
        As of `assess`.

    Returns
    -------
    Validation
        With predictions, what `assess` gives for the rows, to the bit. With mean predictions, what depends on single
        predictions is None and listed in `not_determined`; the verdict is that of Hoeffding's bound (1956), which holds
        whatever the predictions are that have these means.

    Raises
    ------
    InputError, InputTypeError
        Naming the column, the first bad position, its value and the remedy.

    Notes
    -----
    O(rows log rows) time.

    Examples
    --------
    >>> found = assess_counts({"grade": ["A", "B"], "prediction": [0.02, 0.1], "n": [400, 200], "ones": [12, 34]}, side="upper")
    >>> found.verdict, round(found.tables["grades"][0]["jeffreys"], 5)
    ('too low', 0.08307)
    """
    from fastbin.assess.counted_tables import read_counts

    asked = check_options(side, test_level, power, asset_correlation)
    return validate(read_counts(table), asked)
