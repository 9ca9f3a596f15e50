"""Are given predictions calibrated, grade by grade? Exact tests that need no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_alpha, check_seed
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.frames import check_same_index
from fastbin._base.shown import first_few, how_many
from fastbin._base.table import Columns, Table, as_records, without_middle
from fastbin.assess.clusters import ALL, Agreement, agreement_of, cluster_intervals, one_per_cluster, rows_of_grades
from fastbin.assess.label_sums import tails_of_ones
from fastbin.assess.prediction_cells import CellCounts
from fastbin.assess.samples import COUNTS_ONLY, Samples, check_samples
from fastbin.assess.verdict import NEW_ROWS, NOT_CONTRADICTED, Judged, new_rows, not_shown, p_is, shown_p
from fastbin.intervals.binomial import check_side, special_functions

TOO_LOW, TOO_HIGH = "too low", "too high"


class PredictionVerdict(Judged):
    """Shared by the verdicts on given predictions: the statement is above a table."""

    side: str
    test_level: float

    def _told(
        self, n: int, clusters: Agreement | None, deciding: Sequence[tuple[Any, str, float]], family: str, *, by: str = "",
        most: int = 8,
    ) -> str:  # fmt: skip
        """The verdict and its evidence in a sentence, with the names of so many rows at most.

        `deciding` are names, verdicts and p-values of the family that shares the level; where that is "", of all rows.
        """
        rows = new_rows(n)
        if clusters is not None:
            rows += f", one of each cluster of {how_many(clusters.n_rows, 'row')}"
        holm_over = f", Holm over {family}" if family else ""
        smallest = f"smallest {'adjusted p' if family else 'p'} {p_is(min(p_value for *_, p_value in deciding))}"
        evidence = f"({smallest}{by}, level {self.test_level:g}{holm_over})."
        wrong = {word: [name for name, verdict, _ in deciding if verdict == word] for word in (TOO_LOW, TOO_HIGH)}
        told = [f"{word} in {first_few(names, most)}" if family else word for word, names in wrong.items() if names]
        if not told:
            return f"{not_shown(self.side, rows)} {evidence}"
        return f"Calibration is contradicted by {rows}: predictions are {' and '.join(told)} {evidence}"

    def _about(self) -> str:
        return self._sentence().rstrip(".")

    def _sentence(self) -> str:
        return f"{self._statement()} {NEW_ROWS}"

    def __str__(self) -> str:
        return Table.__str__(self)


@dataclass(frozen=True, eq=False)
class PredictionCheck(PredictionVerdict):
    """Are predictions calibrated in each grade, and in all together? Made by `check_predictions`; ``str()`` says it.

    Attributes
    ----------
    verdict : {"too low", "too high", "contradicted", "not contradicted"}
        Of all grades together: "too low" if predictions are in some grade and too high in none, "contradicted" if both occur.
        Without grades, of all samples.
    side : {"both", "upper", "lower"}
    test_level : float
        The chance that calibrated predictions are contradicted in any grade.
    names : tuple of str, int or bool
        Of the grades, ascending; the last entry is "all", about all samples.
    counts, label_sums : int64 (n_rows,)
        Samples, and those with label 1.
    mean_predictions, rates : float64 (n_rows,)
    p_values : float64 (n_rows,)
        Exact: the predictions are the frequencies of the labels.
    jeffreys : float64 (n_rows,)
        The p-values of Jeffreys' test of the mean prediction.
    adjusted : float64 (n_rows,)
        `p_values` by Holm over the grades; that of "all" is its own.
    verdicts : tuple of str
        "too low", "too high" or "not contradicted": whether the adjusted p-value is at most the level, and the side. That of
        "all" is a test by itself.
    clusters : object or None
        With `cluster`: how many rows and clusters there were, and how much rows of a cluster agree (`n_rows`, `n_clusters`,
        `correlation`, `design_effect`), and the seed. Everything above is about one row of each.
    """

    verdict: str
    side: str
    test_level: float
    names: tuple[Any, ...]
    counts: Int64s
    label_sums: Int64s
    mean_predictions: Float64s
    rates: Float64s
    p_values: Float64s
    jeffreys: Float64s
    adjusted: Float64s
    verdicts: tuple[str, ...]
    clusters: Agreement | None = None

    def _columns(self) -> Columns:
        return {
            "grade": [str(name) for name in self.names], "verdict": list(self.verdicts), "n": self.counts.tolist(),
            "ones": self.label_sums.tolist(), "mean_prediction": self.mean_predictions.tolist(), "rate": self.rates.tolist(),
            "p_value": self.p_values.tolist(), "jeffreys": self.jeffreys.tolist(), "holm": self.adjusted.tolist(),
        }  # fmt: skip

    def _words(self) -> tuple[dict[str, list[str]], int]:
        words, n_text = super()._words()
        for title, column in (("p value", self.p_values), ("jeffreys", self.jeffreys), ("holm", self.adjusted)):
            words[title] = [shown_p(p_value) for p_value in without_middle(column.tolist())]
        if len(self.names) > 1:
            words["holm"][-1] = ""  # a test by itself
        return words, n_text

    def _statement(self) -> str:
        rows = list(zip(self.names, self.verdicts, self.adjusted.tolist(), strict=True))
        grades = rows[:-1]
        family = how_many(len(grades), "grade") if grades else ""
        told = self._told(int(self.counts[-1]), self.clusters, grades or rows, family)
        by_itself = of_all_rows(self.verdicts[-1], float(self.p_values[-1])) if grades else ""
        return f"{told} {by_itself}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON."""
        head = {name: getattr(self, name) for name in ("verdict", "side", "test_level")}
        clusters = {} if self.clusters is None else {"clusters": self.clusters._asdict()}
        grades = as_records(self._columns())
        return {**head, "sentence": self._sentence(), "requires": NEW_ROWS, **clusters, "grades": grades}


@shared_docs(check_samples.__doc__, cluster_intervals.__doc__)
def check_predictions(
    p: Any,
    y: Any,
    by: Any = None,
    side: str = "both",
    *,
    test_level: float = 0.05,
    sample_weight: Any = None,
    positive: Any = None,
    cluster: Any = None,
    seed: int | None = None,
) -> PredictionCheck:
    """Are these predictions calibrated, in each grade and in all? Exact tests; no model is needed.

    Parameters
    ----------
    {p}
    {y}
    by : array-like of shape (n,), optional
        The grade of each row, integers or text; a missing one is refused.
    side : {"both", "upper", "lower"}
        What is looked for: frequencies above the predictions ("upper": predictions that are too low), below them, or both.
    test_level : float
        The chance that calibrated predictions are contradicted in any grade, from 1e-100 to 1/2.
    sample_weight : array-like of int, shape (n,), optional
        Frequencies, the same as repeating the row. Importance weights are refused: the tests are of counts.
    {positive}
    cluster : array-like of shape (n,), optional
        What rows that belong together share, such as the obligor, integers or text: then one row of each cluster is tested
        (`one_per_cluster`), and calibration is that of a random row of a random cluster. Not with `sample_weight`.
    seed : int or None
        Of the choice of these rows, in [0, 2**64), as in `one_per_cluster`; the check keeps it.

    Returns
    -------
    PredictionCheck
        A row for each grade, and one for all.

    Warns
    -----
    FastbinWarning
        Where rows of a cluster agree, with the design effect.

    Raises
    ------
    GuaranteeError
        For importance weights.
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy.

    Notes
    -----
    The rows must be new: a verdict on rows that the classifier or its calibration has seen says nothing.

    Labels are independent, each 1 with its prediction as probability, if predictions are calibrated: one row for each obligor,
    and no common shock. The number of ones in a grade is then binomial where its predictions are the same, else a sum of
    independent Bernoulli variables (Poisson's binomial law), which is computed within 1e-9 by convolution, at any n, and small
    chances within a millionth of themselves (up to a variance of 1e9; beyond, by the normal law with its skewness). The p-value
    is the chance of so many ones or more (side "upper"), so many or fewer, or twice the smaller, at most 1. Holm's adjustment
    (1979) holds over the grades whatever their dependence; the row "all" is a test by itself.

    Jeffreys' test, as the European Central Bank defines it for probabilities of default: the chance that a frequency with the
    law Beta(ones + 1/2, n - ones + 1/2) is at most the mean prediction; for the side "lower" at least, for both twice the
    smaller. It is not exact, and takes the mean for the prediction of every row.

    O(n log n) time.

    Examples
    --------
    >>> check = check_predictions([0.02] * 400, [1] * 12 + [0] * 388, side="upper")
    >>> check.verdict, round(float(check.p_values[0]), 4), round(float(check.jeffreys[0]), 5)
    ('not contradicted', 0.1097, 0.08307)
    """
    test_level, side = check_alpha(test_level, "test_level"), check_side(side)
    samples = _checked(p, y, sample_weight, positive, by=by, cluster=cluster)
    kept, agreement = None, None
    if cluster is not None:
        kept, agreement = _one_of_each(samples, cluster, sample_weight, check_seed(seed))
    names, groups = _grades(samples, p, by, sample_weight, kept)
    samples = samples if kept is None else samples.take(kept)
    parts = [*groups, samples]
    counts = np.array([part.n_samples for part in parts])
    ones = np.array([int(np.bincount(part.labels, part.frequencies, 2)[1]) for part in parts])
    means = np.array([part.mean(part.predictions) for part in parts])
    laws = [tails_of_ones(CellCounts.of_samples(part)) for part in parts]
    tails = np.array([(law.at_least, law.at_most) for law in laws])
    p_values = of_side(tails, side)
    adjusted, verdicts = judged_parts(p_values, ones - counts * means, test_level)
    return PredictionCheck(
        verdict=joint_direction(verdicts[:-1] or verdicts),
        side=side,
        test_level=test_level,
        names=(*names, ALL),
        counts=counts,
        label_sums=ones,
        mean_predictions=means,
        rates=ones / counts,
        p_values=p_values,
        jeffreys=jeffreys_of(ones, counts, means, side),
        adjusted=adjusted,
        verdicts=tuple(verdicts),
        clusters=agreement,
    )


def _one_of_each(samples: Samples, cluster: Any, sample_weight: Any, seed: int) -> tuple[Int64s, Agreement]:
    """The row of each cluster that is tested, and how much rows of a cluster agree; a warning where they do."""
    if sample_weight is not None:
        raise InputError("is given beside cluster", "repeat such rows in their cluster", argument="sample_weight")
    rows, agreement = one_per_cluster(cluster, seed), agreement_of(samples.labels - samples.predictions, cluster, seed)
    agreement.warn(stacklevel=3)
    return rows, agreement


def graded_samples(p: Any, y: Any, by: Any, sample_weight: Any, positive: Any) -> tuple[list[Any], list[Samples], Samples]:
    """The names of the grades, ascending, the rows of each, and all rows, checked; GuaranteeError for importance weights."""
    samples = _checked(p, y, sample_weight, positive, by=by)
    return *_grades(samples, p, by, sample_weight), samples


def _checked(p: Any, y: Any, sample_weight: Any, positive: Any, **of_rows: Any) -> Samples:
    check_same_index(p=p, y=y, sample_weight=sample_weight, **of_rows)
    samples = check_samples(p, y, sample_weight, positive=positive, name="p", labels_name="y")
    if samples.is_weighted:
        raise GuaranteeError(COUNTS_ONLY)
    return samples


def _grades(
    samples: Samples, p: Any, by: Any, sample_weight: Any, kept: Int64s | None = None
) -> tuple[list[Any], list[Samples]]:
    """The names of the grades and the samples of each: of the rows that are kept, where not all are."""
    counted: Any = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    names, groups = rows_of_grades(by, len(np.asarray(p)), counted if kept is None else kept)
    samples = samples if kept is None else samples.take(kept)
    return names, [samples.take(rows) for rows in groups]


def jeffreys_of(ones: Int64s, counts: Int64s, means: Float64s, side: str) -> Float64s:
    """The p-values of Jeffreys' test of mean predictions."""
    law = ones + 0.5, counts - ones + 0.5, means
    return of_side(np.stack([special_functions().betainc(*law), special_functions().betaincc(*law)], axis=1), side)


def judged_parts(p_values: Float64s, excess: Float64s, level: float) -> tuple[Float64s, list[str]]:
    """P-values by Holm over all parts but the last, all rows, and the verdicts; `excess`: ones beyond the expected."""
    adjusted = np.append(holm(p_values[:-1]), p_values[-1])
    return adjusted, np.where(adjusted <= level, np.where(excess > 0.0, TOO_LOW, TOO_HIGH), NOT_CONTRADICTED).tolist()


def of_all_rows(verdict: str, p_value: float, test: str = "a test by itself") -> str:
    """The verdict on all rows together beside one on parts of them, where it contradicts; with a blank behind it."""
    return "" if verdict == NOT_CONTRADICTED else f"All rows together, {test}: predictions are {verdict} (p {p_is(p_value)}). "


def joint_direction(verdicts: Iterable[str]) -> str:
    """The verdict on all of these together."""
    found = set(verdicts) - {NOT_CONTRADICTED}
    return NOT_CONTRADICTED if not found else found.pop() if len(found) == 1 else "contradicted"


def of_side(tails: Float64s, side: str) -> Float64s:
    """The p-values of a side from those of (upper, lower)."""
    if side == "both":
        return np.minimum(1.0, 2.0 * tails.min(axis=1))
    return np.asarray(tails[:, 0] if side == "upper" else tails[:, 1])


def holm(p_values: Float64s) -> Float64s:
    """Holm's step-down adjustment."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted
