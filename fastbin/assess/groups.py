"""How good are predictions in each group of a population? Groups by one column, or several overlapping ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import Key, as_cells, in_one_code
from fastbin._base.checks import check_alpha, check_same_length
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.frames import check_same_index
from fastbin._base.shown import first_few, how_many, printable, rounded_up
from fastbin._base.table import Columns, Table, as_records
from fastbin._fit.calibrator import Calibrator
from fastbin.assess.bin_tests import BinSums
from fastbin.assess.certificate_check import Part, TestedParts, check_certificate, served_ends, tested_parts
from fastbin.assess.metrics import brier_score, log_loss
from fastbin.assess.reliability import reliability_table
from fastbin.assess.samples import N_BINS, Samples, check_samples, rows_of_each
from fastbin.assess.verdict import CONFIRMED, CONTRADICTED, NEW_ROWS, NO_CLAIM, Judged, joint_verdict, judged, p_is
from fastbin.guarantees import Certificate, SetCertificate
from fastbin.guarantees.certificate import name_bins, name_cell, sureness
from fastbin.intervals import bonferroni, sidak
from fastbin.intervals.binomial import ends_of_rows
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet


class Group(NamedTuple):
    """A group, and its rows."""

    name: str
    rows: Int64s


def check_groups(groups: Any, kept: Array, **beside: Any) -> list[list[Group]]:
    """Lists of disjoint groups, one list for each grouping.

    Parameters
    ----------
    groups : array-like of shape (n,), or mapping of names to array-likes of shape (n,)
        A column that names the group of each row, by integers, text or bool; groups are disjoint then. Or several by name,
        which may overlap: a bool array is the group of the rows where it is True, any other column a grouping of its own.
    kept : bool array of shape (n,)
        Which rows count; these are numbered from 0.
    beside : array-like of shape (n,)
        The arguments that these rows come from, by their names.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy.
    """
    if isinstance(groups, Mapping):
        if not groups:
            raise InputError("groups is an empty mapping; give at least one column or mask, by name")
        columns = [(column, f"groups[{name!r}]", str(name)) for name, column in groups.items()]
    else:
        columns = [(groups, "groups", "")]
    found = []
    for column, place, name in columns:
        check_same_index(**beside, **{place: column})
        keys, codes = _codes_of(column, place)
        check_same_length(**{next(iter(beside)): kept, place: codes})
        found.append(_groups_of(keys, codes[kept], name))
    if not any(found):
        raise InputError("groups holds no row; give at least one group a row")
    names = Counter(group.name for grouping in found for group in grouping)
    for name, times in names.items():
        if times > 1:
            raise InputError(f"groups has {times} groups that are called {name!r}; give the columns other names")
    return [grouping for grouping in found if grouping]


def _codes_of(column: Any, place: str) -> tuple[list[Any], Int64s]:
    """The different entries of a column, and which of them each row has."""
    with suppress(ValueError):  # lists of different lengths: `as_cells` refuses them
        mask = np.asarray(column)
        if mask.dtype == np.bool_ and mask.ndim > 0:
            return [False, True], mask.astype(np.int64)
    keys, (codes,) = in_one_code(**{place: as_cells(column, place)})
    return keys, codes


def _groups_of(keys: list[Any], codes: Int64s, name: str) -> list[Group]:
    """The groups of a column, without those that hold no row."""
    found = [(keys[codes[rows[0]]], rows) for rows in rows_of_each(codes)]
    if name and keys[0] is False:
        return [Group(name, rows) for key, rows in found if key]
    return [Group(f"{name}={key}" if name else str(key), rows) for key, rows in found]


@dataclass(frozen=True, eq=False)
class GroupTable(Table):
    """How good predictions are in each group; made by `group_table`.

    Attributes
    ----------
    names : tuple of str
        Of the groups; those of the column with this name are called "column=value".
    counts, label_sums : int64 (n_groups,)
        Samples, and samples with label 1. Frequencies count, importance weights do not.
    mean_predictions, positive_rates : float64 (n_groups,)
        Weighted means.
    intervals : float64 (n_groups, 2) or None
        For the positive rate of each group, all at once. None where none were asked for, and for importance weights.
    gaps : float64 (n_groups,)
        \\|positive rate - mean prediction\\|: right on average is the least that a group can ask.
    ece, brier_scores, log_losses : float64 (n_groups,)
        As `ece`, `brier_score` and `log_loss` give them for the group alone.
    alpha : float or None
        Failure probability of all intervals together.
    """

    names: tuple[str, ...]
    counts: Int64s
    label_sums: Int64s
    mean_predictions: Float64s
    positive_rates: Float64s
    intervals: Float64s | None
    gaps: Float64s
    ece: Float64s
    brier_scores: Float64s
    log_losses: Float64s
    alpha: float | None

    def _columns(self) -> Columns:
        columns = {
            "group": list(self.names), "count": self.counts.tolist(), "label_sum": self.label_sums.tolist(),
            "mean_prediction": self.mean_predictions.tolist(), "positive_rate": self.positive_rates.tolist(),
            "gap": self.gaps.tolist(), "ece": self.ece.tolist(), "brier_score": self.brier_scores.tolist(),
            "log_loss": [loss if np.isfinite(loss) else None for loss in self.log_losses.tolist()],
        }  # fmt: skip
        if self.intervals is not None:
            columns["interval"] = self.intervals.tolist()
        return columns

    def _about(self) -> str:
        about = f"{how_many(len(self.names), 'group')} of test samples"
        if self.intervals is None:
            return about
        return f"{about}; {sureness(self.alpha or 1.0)} intervals of the positive rates, all at once"

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts, lists, strings and numbers, ready for JSON; an infinite log loss is None."""
        return {"alpha": self.alpha, "groups": as_records(self._columns())}


@shared_docs(check_samples.__doc__, check_groups.__doc__)
def group_table(
    predictions: Any,
    labels: Any,
    groups: Any,
    *,
    grouping: str = "auto",
    n_bins: int = N_BINS,
    sample_weight: Any = None,
    positive: Any = None,
    alpha: float | None = 0.1,
) -> GroupTable:
    """Mean prediction, positive rate with an exact interval, calibration error and proper scores of each group.

    Parameters
    ----------
    {predictions}
    {labels}
    {groups}
    grouping, n_bins
        Of the calibration errors, as in `ece`.
    {sample_weight}
    {positive}
    alpha : float or None
        The chance that any interval misses, from 1e-100 to 1/2. None computes none.

    Returns
    -------
    GroupTable
        Groups in ascending order of their values; those without a sample have no row.

    {Raises}

    Notes
    -----
    The intervals are Clopper & Pearson's (1934), with the ends of docs/guarantees.md, F11, where one label differs from the
    others: so they hold for the average true probability of the rows of a group, too. They are at Sidak's level over the
    disjoint groups of one column, and Bonferroni's over several columns. Calibration errors are biased upwards by noise, those
    of small groups most: compare groups of one size, or see `audit_groups`. O(n log n) time.

    Examples
    --------
    >>> table = group_table([0.5] * 8 + [0.25] * 4, [0, 1] * 4 + [0, 0, 0, 1], ["a"] * 4 + ["b"] * 8)
    >>> table.names, table.mean_predictions, table.positive_rates
    (('a', 'b'), array([0.5  , 0.375]), array([0.5  , 0.375]))
    >>> table.ece
    array([0., 0.])
    """
    alpha = None if alpha is None else check_alpha(alpha)
    samples = check_samples(predictions, labels, sample_weight, positive=positive)
    kept = np.ones(len(samples.labels), bool) if sample_weight is None else np.asarray(sample_weight) > 0
    groupings = check_groups(groups, kept, predictions=predictions, labels=labels)
    rows, intervals = [], []
    for found in groupings:
        own = [_row(samples.take(group.rows), grouping, n_bins) for group in found]
        if alpha is not None and not samples.is_weighted:
            level = sidak(bonferroni(alpha, len(groupings)), len(found))
            ones, counts = (np.array([row[name] for row in own]) for name in ("label_sums", "counts"))
            intervals.append(ends_of_rows(ones, counts, level))
        rows += own
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    ends = np.concatenate(intervals) if intervals else None
    names = tuple(group.name for found in groupings for group in found)
    return GroupTable(names=names, intervals=ends, alpha=alpha, **columns)


def _row(samples: Samples, grouping: str, n_bins: int) -> dict[str, Any]:
    """The entries of a group in the columns."""
    predictions, labels, weights = samples.predictions, samples.labels, samples.weights
    mean, rate = samples.mean(predictions), samples.mean(labels.astype(np.float64))
    table = reliability_table(predictions, labels, grouping=grouping, n_bins=n_bins, sample_weight=weights, alpha=None)
    return {
        "counts": samples.n_samples,
        "label_sums": int(labels.sum() if samples.frequencies is None else np.dot(labels, samples.frequencies)),
        "mean_predictions": mean,
        "positive_rates": rate,
        "gaps": abs(rate - mean),
        "ece": table.ece(),
        "brier_scores": brier_score(predictions, labels, sample_weight=weights),
        "log_losses": log_loss(predictions, labels, sample_weight=weights),
    }


# ------------------------------------------------------------------------------------------------- the promise in every group


MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class AuditedGroup(Table):
    """One group of a `GroupAudit`, bin by bin; bins without a test sample of the group are left out.

    Attributes
    ----------
    name : str
    verdict : {"contradicted", "confirmed", "not contradicted", "no claim"}
        Whether the promise holds in this group. "no claim" where it leaves out all bins that the group has samples in.
    p_value : float
        Of the promise in this group, adjusted for all cells of the audit.
    epsilon : float
        The distance that these samples certify by themselves: in every bin, what is served is within it of the group's true
        frequency (in a model of two resolutions, the average of what is served).
    n_samples : int
        Test samples of the group.
    cells : tuple of int, str or None; or None
        Of a set, the key of each entry's model, None for the pool. None for one model.
    bins : int64 (n_entries,)
        The bins that hold samples of the group, ascending within each model.
    counts, label_sums : int64 (n_entries,)
        Of the test samples.
    mean_served : float64 (n_entries,)
        What was served on average: the value of the bin, unless the model has two resolutions.
    claims : float64 (n_entries, 2)
        Where the promise puts the true frequency; of a model of two resolutions the mean of label - served value.
    intervals : float64 (n_entries, 2)
        Where these samples put it.
    radii : float64 (n_entries,)
        The largest distance of what is served from an end of the interval.
    p_values : float64 (n_entries,)
        Of each claim, not adjusted.
    verdicts : tuple of str
    """

    name: str
    verdict: str
    p_value: float
    epsilon: float
    n_samples: int
    cells: tuple[Key | None, ...] | None
    bins: Int64s
    counts: Int64s
    label_sums: Int64s
    mean_served: Float64s
    claims: Float64s
    intervals: Float64s
    radii: Float64s
    p_values: Float64s
    verdicts: tuple[str, ...]

    def _columns(self) -> Columns:
        cells = {} if self.cells is None else {"cell": self.cells}
        return {**cells, **{word: getattr(self, name).tolist() for word, name in COLUMNS.items()}, "verdict": self.verdicts}

    def _about(self) -> str:
        return f"{printable(self.name)}: {self.verdict}, {how_many(self.n_samples, 'test sample')}"

    def to_dict(self) -> dict[str, Any]:
        """The group as plain dicts, lists, strings and numbers, ready for JSON."""
        head = {name: getattr(self, name) for name in ("name", "verdict", "p_value", "epsilon", "n_samples")}
        return {**head, "bins": as_records(self._columns())}

    def _where(self, verdict: str) -> str:
        """The bins with this verdict, in words."""
        bins = [b for b, own in zip(self.bins.tolist(), self.verdicts, strict=True) if own == verdict]
        if self.cells is None:
            return name_bins(bins)
        cells = [cell for cell, own in zip(self.cells, self.verdicts, strict=True) if own == verdict]
        shown = [f"bin {b} of {name_cell(cell)}" for cell, b in zip(cells, bins, strict=True)]
        return first_few(shown, MOST_NAMED)


# The word of each column in a record.
COLUMNS = {
    "bin": "bins", "count": "counts", "label_sum": "label_sums", "mean_served": "mean_served", "claim": "claims",
    "interval": "intervals", "radius": "radii", "p_value": "p_values",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroupAudit(Judged):
    """The promise of a model in each group of a population; made by `audit_groups`. ``str()`` states it in sentences.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "not contradicted", "no claim"}
        "contradicted" if it is in one group, "confirmed" if it is in all that it makes a claim about.
    test_level : float
        The chance of any wrong "contradicted" or "confirmed", and that any of the groups' own distances,
        `AuditedGroup.epsilon`, is too small.
    p_value : float
        Of "the promise holds in every group".
    n_samples : int
        Test samples that are in a group, each once.
    n_unknown : int
        Samples of cells that the set does not know, about which nothing is promised; they are left out.
    groups : tuple of AuditedGroup
    """

    verdict: str
    test_level: float
    p_value: float
    n_samples: int
    n_unknown: int
    groups: tuple[AuditedGroup, ...]

    def __getitem__(self, name: str) -> AuditedGroup:
        """The group of this name."""
        return {group.name: group for group in self.groups}[name]

    def _columns(self) -> Columns:
        fields = {"group": "name", "verdict": "verdict", "n_samples": "n_samples", "p_value": "p_value", "epsilon": "epsilon"}
        return {word: [getattr(group, field) for group in self.groups] for word, field in fields.items()}

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain dicts, lists, strings and numbers, ready for JSON."""
        head = {name: getattr(self, name) for name in ("verdict", "test_level", "p_value", "n_samples", "n_unknown")}
        return {**head, "requires": NEW_ROWS, "groups": [group.to_dict() for group in self.groups]}

    def _statement(self) -> str:
        found = [group for group in self.groups if group.verdict == CONTRADICTED]
        p_value = p_is(self.p_value)
        worst = max(self.groups, key=lambda group: group.epsilon)
        certify = how_many(self.n_samples, "test sample", "itself certifies", "themselves certify")
        certified = (
            f"The {certify} a distance of {rounded_up(worst.epsilon)} in every group (the largest is that of "
            f"{printable(worst.name)}), with probability at least {sureness(self.test_level)}."
        )
        groups = how_many(len(self.groups), "group")
        if found:
            where = "; ".join(f"{printable(group.name)} ({group._where(CONTRADICTED)})" for group in found[:MOST_NAMED])
            more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            of_all = f"{len(found)} of {groups}"
            return f"Contradicted in {of_all}: {where}{more} (p {p_value}, level {self.test_level:g}). {certified}"
        if self.verdict == CONFIRMED:
            return f"Confirmed in {'all ' * (len(self.groups) > 1)}{groups} (level {self.test_level:g}). {certified}"
        if self.verdict == NO_CLAIM:
            return f"No claim: the promise leaves out every bin that holds test samples. {certified}"
        n_confirmed = sum(group.verdict == CONFIRMED for group in self.groups)
        return (
            f"Not contradicted in any of {groups} (p {p_value}, level {self.test_level:g}), and confirmed "
            f"in {n_confirmed} of them. {certified}"
        )


@shared_docs(check_certificate.__doc__, check_groups.__doc__)
def audit_groups(
    model: BinnedModel | Calibrator | ModelSet,
    scores: Any,
    labels: Any,
    groups: Any,
    *,
    cells: Any = None,
    certificate: Certificate | SetCertificate | None = None,
    epsilon: float | None = None,
    test_level: float = 0.05,
    sample_weight: Any = None,
    positive: Any = None,
    tie_keys: Any = None,
    seed: int | None = 0,
) -> GroupAudit:
    """Does what a model promises on the whole hold in every group, and which distance do test samples certify there?

    A certificate is about the population that the model was fitted to. To read it as a promise about each group is wrong: a
    group whose frequencies differ is served the same values, and simulated groups broke such a reading in every run. So the
    promise is compared, bin by bin in each group, with test samples that were not used in the fit.

    Parameters
    ----------
    {model}
    {scores}
    {labels}
    {groups}
    {cells}
    {certificate}
    {epsilon}
    test_level : float
        The chance of any wrong "contradicted", and of any interval that misses, from 1e-100 to 1/2.
    {sample_weight}
    {positive}
    tie_keys, seed
        For scores that tie with an edge, as in `BinnedModel.assign`.

    Returns
    -------
    GroupAudit

    {Raises}

    Notes
    -----
    Given the scores and the groups of the test samples, the label sums of all (group, bin) cells of disjoint groups are
    independent and binomial. Each cell that holds samples is tested at Sidak's level over all of them, and gets a
    Clopper-Pearson interval at that level; several groupings, which may overlap, share test_level by Bonferroni, and so do the
    classes of a class-wise set. A cell is "contradicted" where its interval misses the claim and "confirmed" where it lies
    within it; a group is confirmed if all its cells are. In a model of two resolutions what is tested is the mean of
    label - served value, by Hoeffding's inequality, as in `check_certificate`.

    Groups are part of the question: choose them before looking at the labels. O(n log n + n_groups n_bins) time.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores, group = rng.random(12000), rng.choice(["east", "west"], 12000)
    >>> labels = rng.random(12000) < np.where(group == "east", 1.3, 0.7) * scores / 1.3
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:6000], labels[:6000]).model_
    >>> audit = fb.assess.audit_groups(model, scores[6000:], labels[6000:], group[6000:])
    >>> audit.verdict, [(part.name, part.verdict, round(part.epsilon, 2)) for part in audit.groups]
    ('contradicted', [('east', 'contradicted', 0.28), ('west', 'contradicted', 0.25)])
    """
    test_level = check_alpha(test_level, "test_level")
    parts = tested_parts(
        model, scores, labels, cells, certificate=certificate, epsilon=epsilon, test_level=test_level, power=0.5,
        sample_weight=sample_weight, positive=positive, tie_keys=tie_keys, seed=seed, side="both",
    )  # fmt: skip
    part_of, at = np.full(parts.n_rows, -1), np.zeros(parts.n_rows, np.int64)  # of each row, and its place in the part
    for number, part in enumerate(parts.parts):
        part_of[part.numbers], at[part.numbers] = number, np.arange(len(part.numbers))
    groupings = check_groups(groups, np.ones(parts.n_rows, bool), scores=scores, labels=labels)
    if any(part.rows.are_calibration_set_of(part.promise.model) for part in parts.parts):
        raise GuaranteeError(
            "scores and labels are the calibration set (they have its fingerprint); a promise is not audited on what it was "
            "made from: take samples that had no part in the fit"
        )
    found, in_a_group = [], np.zeros(parts.n_rows, bool)
    for number, grouping in enumerate(groupings):
        for group in grouping:
            in_a_group[group.rows] = True
            found.append((group.name, list(_entries(parts, part_of[group.rows], at[group.rows], number))))
    audited = _judge([group for group in found if group[1]], test_level, is_set=parts.is_set)
    return GroupAudit(
        verdict=joint_verdict([group.verdict for group in audited], NO_CLAIM),
        test_level=test_level,
        p_value=min(group.p_value for group in audited),
        n_samples=sum(part.rows.take(in_a_group[part.numbers]).n_samples for part in parts.parts),
        n_unknown=parts.n_unknown,
        groups=tuple(audited),
    )


class _Entries(NamedTuple):
    """The bins of one model that hold samples of a group."""

    part: Part
    seen: BinSums
    bins: Int64s
    family: tuple[int, int]  # cells of one family are independent


def _entries(parts: TestedParts, part_of: Int64s, at: Int64s, grouping: int) -> Iterator[_Entries]:
    """The sums over the rows of a group in the bins of each model: their parts, and their places in these."""
    for own in rows_of_each(part_of):
        number = int(part_of[own[0]])
        if number < 0:
            continue
        part = parts.parts[number]
        seen = part.rows.take(at[own]).sums(part.promise.model)
        if (bins := np.flatnonzero(seen.counts)).size:
            yield _Entries(part, seen, bins, (grouping, number if parts.share_rows else 0))


def _judge(found: Sequence[tuple[str, list[_Entries]]], test_level: float, *, is_set: bool) -> list[AuditedGroup]:
    """Every group at its level: Sidak over the cells of a family, Bonferroni over families."""
    if not found:
        raise InputError("groups holds no row of a cell that the set knows; there is nothing to audit")
    sizes = Counter[tuple[int, int]]()
    for _, entries in found:
        for own in entries:
            sizes[own.family] += len(own.bins)
    audited = []
    for name, entries in found:
        columns = [_columns(own, sizes, test_level) for own in entries]
        joined = {column: np.concatenate([each[column] for each in columns]) for column in columns[0]}
        adjusted, verdicts = joined.pop("adjusted"), tuple(joined.pop("verdicts").tolist())
        cells = tuple(own.part.name for own in entries for _ in own.bins)
        audited.append(
            AuditedGroup(
                name=name,
                verdict=joint_verdict(verdicts, NO_CLAIM),
                p_value=float(adjusted.min()),
                epsilon=float(joined["radii"].max()),
                n_samples=sum(int(own.seen.counts.sum()) for own in entries),
                cells=cells if is_set else None,
                verdicts=verdicts,
                **joined,
            )
        )
    return audited


def _columns(own: _Entries, sizes: Mapping[tuple[int, int], int], test_level: float) -> dict[str, Any]:
    """The columns of an `AuditedGroup` for the bins of one model, and the p-values adjusted for all cells."""
    promise, bins, n_cells = own.part.promise, own.bins, sizes[own.family]
    has_steps, claimed = promise.model.has_steps, promise.is_claimed[bins]
    counts, totals = own.seen.counts[bins], own.seen.totals(promise.tests)[bins]
    rows = zip(bins.tolist(), totals.tolist(), counts.tolist(), strict=True)
    inside = np.array([promise.tests[b].p_value(total, count) for b, total, count in rows])
    with np.errstate(divide="ignore"):
        adjusted = np.minimum(1.0, -len(sizes) * np.expm1(n_cells * np.log1p(-inside)))
    intervals = own.seen.intervals(promise.tests, has_steps, sidak(bonferroni(test_level, len(sizes)), n_cells))[bins]
    served = own.seen.mean_served[bins] if has_steps else promise.model.values[bins]
    low, high = (0.0, 0.0) if has_steps else served_ends(promise.model)[bins].T
    return {
        "bins": bins, "counts": counts, "label_sums": own.seen.label_sums[bins], "mean_served": served,
        "claims": promise.claims[bins], "intervals": intervals, "p_values": inside, "adjusted": adjusted,
        "radii": np.maximum(intervals[:, 1] - low, high - intervals[:, 0]),
        "verdicts": judged(promise.claims[bins], intervals, claimed),
    }  # fmt: skip
