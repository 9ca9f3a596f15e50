"""The tests of given predictions that validators name, each exact or approximate, with its reference, from cells of counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_alpha, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.shown import first_few, how_many, printable
from fastbin._base.table import Columns, Table, as_html, as_records, as_text
from fastbin.assess.catalogue import APPROXIMATE, CATALOGUE
from fastbin.assess.cell_curves import Blocks, brier_parts, cumulative, distances, draw, log_parts, smooth_ece
from fastbin.assess.cell_tests import (
    Value,
    auc,
    count_tests,
    deciles,
    group_columns,
    hosmer_lemeshow,
    jeffreys,
    mean_difference,
    recalibration,
    spiegelhalter,
    vasicek,
)
from fastbin.assess.clusters import ALL
from fastbin.assess.prediction_cells import CellCounts
from fastbin.assess.predictions_check import check_predictions, graded_samples, holm
from fastbin.assess.verdict import CONTRADICTED, NEW_ROWS, NOT_CONTRADICTED, p_is, shown_p

MOST_SHOWN, MOST_NAMED = 400, 12  # rows of a table that is printed, grades in a sentence
LEAST_GROUPS = 2  # of the chi-square test between deciles; with one it is that of the mean


class FigureRow(NamedTuple):
    """A figure of one test and scope; part of `CalibrationTests`."""

    scope: Any
    test: str
    value: Value
    kind: str
    holm: float | None = None


@dataclass(frozen=True, eq=False)
class CalibrationTests(Table):
    """The tests of given predictions, one row a test and scope; made by `calibration_tests`. ``str()`` says and lists them.

    Iterating gives a dict per row: scope, test, side, statistic, p_value, holm, low, high, df, kind, warning, undefined and
    reference. ``tests["spiegelhalter"]`` is the row of a test of all samples, ``tests["jeffreys", "B"]`` that of a grade. None
    stands where a test has no such figure, and where `undefined` says why it could not be computed.

    Attributes
    ----------
    verdict : {"contradicted", "not contradicted"}
        By the exact tests of the number of ones: of the grades after Holm; without grades, of all samples.
    test_level : float
        The chance that calibrated predictions are contradicted; intervals have 1 - test_level.
    asset_correlation : float or None
    n_samples, label_sum : int
        Samples, and those with label 1.
    mean_prediction : float
    n_grades : int
    n_draws : int
        From which the p-values of "mcb_brier" and "ecce_simulated" are made; 0 where they were left out, or made from the law
        of all tallies.
    left_out : tuple of str
        Tests that need every prediction, where only the mean of each grade was known.
    curve : float64 (n_points, 4)
        The isotonic (CORP) reliability curve at all predictions, or 100 of them: prediction, isotonic rate, and the band in
        which that rate lies at this prediction with chance 1 - test_level if the predictions are calibrated.
    figures : tuple
        The rows, as the package keeps them.
    """

    verdict: str
    test_level: float
    asset_correlation: float | None
    n_samples: int
    label_sum: int
    mean_prediction: float
    n_grades: int
    n_draws: int
    left_out: tuple[str, ...]
    curve: Float64s
    figures: tuple[FigureRow, ...]

    def __getitem__(self, key: str | tuple[str, Any]) -> dict[str, Any]:
        """The row of a test of all samples, or of a pair (test, grade); KeyError if there is none."""
        test, scope = key if isinstance(key, tuple) else (key, None)
        scopes = [row.scope for row in self.figures]
        scope = None if scope == ALL and ALL not in scopes else scope
        records = [
            record
            for record, row in zip(as_records(self._columns()), self.figures, strict=True)
            if row.test == test and (row.scope == scope)
        ]
        if not records:
            names = ", ".join(dict.fromkeys(row.test for row in self.figures if row.scope == scope))
            names = names or f"tests of {', '.join(map(repr, dict.fromkeys(filter(None, scopes))))}, and of all samples"
            raise KeyError(f"no test {test!r} of {'all samples' if scope is None else repr(scope)}; there are: {names}")
        return records[0]

    def _columns(self) -> Columns:
        rows, entries = self.figures, [CATALOGUE[row.test] for row in self.figures]
        values = [row.value for row in rows]
        return {
            "scope": [ALL if row.scope is None else str(row.scope) for row in rows],
            "test": [row.test for row in rows],
            "side": [entry.side for entry in entries],
            "statistic": [value.statistic for value in values],
            "p_value": [value.p_value for value in values],
            "holm": [row.holm for row in rows],
            "low": [value.low for value in values],
            "high": [value.high for value in values],
            "df": [value.df for value in values],
            "kind": [row.kind for row in rows],
            "warning": self._warnings(),
            "undefined": [value.reason for value in values],
            "reference": [entry.reference for entry in entries],
        }

    def _warnings(self) -> list[str]:
        """The warning of each row, and which exact test of its scope to read instead."""
        present, told = {(row.scope, row.test) for row in self.figures}, []
        for row in self.figures:
            instead = CATALOGUE[row.test].instead
            if (row.scope, f"poisson_{instead}") in present:
                instead = f"poisson_{instead}"
            told.append(f"{row.value.warning}; exact: {instead}" if row.value.warning and instead else row.value.warning)
        return told

    def _notes(self) -> list[str]:
        """The warning of each row, or the reason why it is not defined."""
        return [row.value.reason or warning for row, warning in zip(self.figures, self._warnings(), strict=True)]

    def _words(self) -> tuple[dict[str, list[str]], int]:
        columns, notes, numbers = self._columns(), self._notes(), self._numbered()
        words = {name: list(columns[name]) for name in ("scope", "test", "side", "kind")}
        for name in ("statistic", "p_value", "holm", "low", "high"):
            form = shown_p if name in ("p_value", "holm") else "{:.4g}".format
            words[name.replace("_", " ")] = ["" if number is None else form(number) for number in columns[name]]
        words["df"] = ["" if df is None else str(df) for df in columns["df"]]
        words["note"] = [f"({numbers[note]})" if note else "" for note in notes]
        return words, 4

    def _numbered(self) -> dict[str, int]:
        """The notes, each once, with its number."""
        return {note: number for number, note in enumerate(dict.fromkeys(filter(None, self._notes())), 1)}

    def _about(self) -> str:
        mean = self.mean_prediction * self.n_samples
        expected = f"{mean:,.1f}" if mean >= 0.1 or mean == 0.0 else f"{mean:.2g}"
        rows = f"{how_many(self.n_samples, 'new row')}, with {how_many(self.label_sum, 'one')} where {expected} are expected"
        exact = next((row for row in self.figures if row.scope is None and row.test in _EXACT), None)
        by_itself = " of all rows together" if self.n_grades else ""
        tested = "" if exact is None else f", exact p{by_itself} {p_is(exact.value.p_value or 0.0)}"
        parts = [f"Calibration is {self.verdict} by {rows} (level {self.test_level:g}{tested})"]
        if self.n_grades:
            names = [row.scope for row in self._wrong_grades()]
            where = f"in {first_few(names, MOST_NAMED)}" if names else "in none"
            parts.append(f"of {how_many(self.n_grades, 'grade')} {where} after Holm's adjustment")
        others = [row.test for row in self.figures if row.scope is None and row.test not in _EXACT and self._is_small(row)]
        if others:
            parts.append(
                f"other tests of all rows at or below the level, without those that have a warning and not adjusted for their "
                f"number: {', '.join(others)}"
            )
        return f"{'; '.join(parts)}. {NEW_ROWS.rstrip('.')}"

    def _is_small(self, row: FigureRow) -> bool:
        """Whether the p-value is small, and nothing warns of it."""
        return not row.value.warning and row.value.p_value is not None and row.value.p_value <= self.test_level

    def _wrong_grades(self) -> Iterator[FigureRow]:
        for row in self.figures:
            if row.scope is not None and row.test in _EXACT and row.holm is not None and row.holm <= self.test_level:
                yield row

    def __str__(self) -> str:
        words, n_text = self._words()
        notes = "".join(f"\n({number}) {note}" for note, number in self._numbered().items())
        table = as_text(words, n_text=n_text, most=MOST_SHOWN)
        return f"{printable(self._about())}.\n\n{table}" + (f"\n{notes}" if notes else "")

    def _repr_html_(self) -> str:
        words, n_text = self._words()
        badge = f"<p>{html.badge(self.verdict)}</p>"
        notes = html.bullets([html.escape(f"({number}) {note}") for note, number in self._numbered().items()])
        return html.notebook(badge, html.paragraph(f"{self._about()}."), as_html(words, n_text=n_text, most=MOST_SHOWN), notes)

    def to_dict(self) -> dict[str, Any]:
        """The tests as plain dicts, lists, strings and numbers, ready for JSON; None where nothing is defined."""
        names = ("verdict", "test_level", "asset_correlation", "n_samples", "label_sum", "mean_prediction", "n_grades")
        head = {name: getattr(self, name) for name in (*names, "n_draws")}
        points = ("prediction", "isotonic", "low", "high")
        curve = [dict(zip(points, row, strict=True)) for row in self.curve.tolist()]
        about = {"sentence": f"{self._about()}.", "requires": NEW_ROWS, "left_out": list(self.left_out)}
        return {**head, **about, "tests": as_records(self._columns()), "curve": curve}


_EXACT = ("binomial", "poisson_binomial")  # on either side


@shared_docs(check_predictions.__doc__)
def calibration_tests(
    p: Any,
    y: Any,
    by: Any = None,
    *,
    asset_correlation: float | None = None,
    test_level: float = 0.05,
    sample_weight: Any = None,
    positive: Any = None,
) -> CalibrationTests:
    """The tests of calibration that validators name, in each grade and in all; no model is needed.

    Parameters
    ----------
    {p}
    {y}
    {by}
    asset_correlation : float in [0, 1), optional
        The correlation of the latent variables of two obligors; then "vasicek" is among the tests.
    test_level : float
        The chance that calibrated predictions are contradicted, from 1e-100 to 1/2; intervals have 1 - test_level.
    {sample_weight}
    {positive}

    Returns
    -------
    CalibrationTests
        A row for each test and scope: each grade, and all.

    {Raises}

    Notes
    -----
    The rows must be new: nothing may have been fitted to them, and degrees of freedom are those of such rows.

    Each row says whether its p-value is exact or approximate. A warning stands where an approximate one is wrong for such
    counts, and names the exact test. docs/validation.md lists what each test asks and assumes, its reference and a published
    number that it reproduces, and how far the levels of approximate tests are off. Holm's adjustment is over the grades, for
    each test by itself; nothing is adjusted for the number of tests.

    Figures are functions of the distinct predictions with their counts, so the order of rows does not matter. Predictions of
    exactly 0 or 1, a single label, a single row and ties are accepted: figures that they leave without meaning are None, with
    the reason beside them.

    O(n log n) time, and 99 to 999 times O(n) for the p-values by simulation, whose seed is a digest of the cells: together some
    seconds for a million different predictions.

    Examples
    --------
    >>> tests = calibration_tests([0.02] * 400, [1] * 12 + [0] * 388)
    >>> round(tests["jeffreys"]["p_value"], 5), round(tests["binomial"]["p_value"], 4), tests.verdict
    (0.08307, 0.2195, 'not contradicted')
    >>> tests["calibration_slope"]["undefined"]
    'all predictions are the same, and have no slope'
    """
    test_level = check_alpha(test_level, "test_level")
    if asset_correlation is not None:
        asset_correlation = check_unit_interval(asset_correlation, "asset_correlation", open_right=True)
    names, parts, samples = graded_samples(p, y, by, sample_weight, positive)
    grades = [(name, CellCounts.of_samples(part)) for name, part in zip(names, parts, strict=True)]
    cells = CellCounts.of_samples(samples)
    return tests_of_cells(cells, grades, whole=True, asset_correlation=asset_correlation, test_level=test_level)


def tests_of_cells(
    cells: CellCounts,
    grades: Sequence[tuple[Any, CellCounts]],
    *,
    whole: bool,
    asset_correlation: float | None,
    test_level: float,
) -> CalibrationTests:
    """All tests from cells: those of all rows, and the name and the cells of each grade, with checked arguments.

    Nothing else of the rows matters, so tables of counts give the same bits: `cells` are ``CellCounts.pooled`` of the cells of
    the grades. With ``whole=False`` the one cell of each grade holds the mean prediction of rows that may differ, and tests
    that need more are left out and listed. Names of grades are keys, none of them None, which stands for all.
    """
    rows = _adjusted([row for name, own in grades for row in _tests_of_counts(name, own, whole, asset_correlation, test_level)])
    rows += _tests_of_counts(None, cells, whole, asset_correlation, test_level)
    if grades:
        rows.append(_row("hosmer_lemeshow_grades", hosmer_lemeshow(*group_columns([own for _, own in grades]))))
    n_draws, curve = 0, np.empty((0, 4))
    if whole:
        found, n_draws, curve = _tests_of_all(cells, test_level)
        rows += found
    decisive = [row for row in rows if row.test in _EXACT and (row.scope is not None or not grades)]
    p_values = [row.value.p_value if row.holm is None else row.holm for row in decisive]
    is_wrong = any(p_value is not None and p_value <= test_level for p_value in p_values)
    return CalibrationTests(
        verdict=CONTRADICTED if is_wrong else NOT_CONTRADICTED,
        test_level=test_level,
        asset_correlation=asset_correlation,
        n_samples=cells.n,
        label_sum=cells.n_ones,
        mean_prediction=cells.mean,
        n_grades=len(grades),
        n_draws=n_draws,
        left_out=() if whole else tuple(name for name, entry in CATALOGUE.items() if entry.whole),
        curve=curve,
        figures=tuple(rows),
    )


def _row(test: str, value: Value, scope: Any = None, kind: str = "") -> FigureRow:
    return FigureRow(scope, test, value, kind or CATALOGUE[test].kind)


def _tests_of_counts(
    scope: Any, cells: CellCounts, whole: bool, correlation: float | None, level: float
) -> Iterator[FigureRow]:
    """The tests of the number of ones in a scope; that of several grades has a law where every prediction is known."""
    one_value = len(cells.predictions) == 1
    if whole or scope is not None:
        found, exact = count_tests(cells, level), "binomial" if one_value else "poisson_binomial"
        warning = "" if whole else "exact if all rows of the grade have its mean prediction"
        kind = "" if whole else APPROXIMATE
        yield _row(exact, found.exact._replace(warning=warning), scope, kind)
        yield _row(f"{exact}_upper", found.upper._replace(warning=warning), scope, kind)
        yield _row("mid_p", found.mid_p, scope)
    yield _row("jeffreys", jeffreys(cells, level), scope)
    if correlation is not None:
        yield _row("vasicek", vasicek(cells, correlation), scope, "" if one_value and whole else APPROXIMATE)


def _tests_of_all(cells: CellCounts, level: float) -> tuple[list[FigureRow], int, Float64s]:
    """The tests of all rows that need every prediction; how often labels were drawn, and the curve."""
    blocks = Blocks.of(cells.counts, cells.ones)
    drawn = draw(cells, blocks, level)
    fitted, strays = recalibration(cells, level), cumulative(cells, level)
    brier, logarithmic, gaps = brier_parts(cells, blocks), log_parts(cells, blocks), distances(cells, blocks)
    range_known = strays.kuiper.statistic is not None
    found = {
        "mean_difference": mean_difference(cells, level),
        "hosmer_lemeshow_deciles": hosmer_lemeshow(*deciles(cells), LEAST_GROUPS),
        "spiegelhalter": spiegelhalter(cells),
        "calibration_in_the_large": fitted.in_the_large,
        "calibration_intercept": fitted.intercept,
        "calibration_slope": fitted.slope,
        "cox": fitted.cox,
        "ecce": strays.kuiper,
        "ecce_max": strays.largest,
        "ecce_simulated": strays.kuiper._replace(p_value=drawn.kuiper, warning="") if range_known else strays.kuiper,
        "ecce_detectable": strays.detectable,
        "mcb_brier": brier.miscalibration._replace(p_value=drawn.miscalibration, low=drawn.low, high=drawn.high),
        "dsc_brier": brier.discrimination,
        "unc_brier": brier.uncertainty,
        "mcb_log": logarithmic.miscalibration,
        "dsc_log": logarithmic.discrimination,
        "unc_log": logarithmic.uncertainty,
        "ici": gaps.ici,
        "e50": gaps.e50,
        "e90": gaps.e90,
        "smooth_ece": smooth_ece(cells),
        "auc": auc(cells, level),
    }
    return [_row(test, value) for test, value in found.items()], drawn.n_draws, drawn.curve


def _adjusted(rows: list[FigureRow]) -> list[FigureRow]:
    """The rows of grades with p-values by Holm over the grades, for each test; laws of one or more predictions are one test."""
    families: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        families.setdefault(row.test.removeprefix("poisson_"), []).append(at)
    for places in families.values():
        p_values = [p_value for at in places if (p_value := rows[at].value.p_value) is not None]
        for at, p_value in zip(places, holm(np.array(p_values)).tolist(), strict=True):
            rows[at] = rows[at]._replace(holm=p_value)
    return rows
