"""A vector model on a test set: what a report shows, and ``fastbin assess`` prints, class by class and of the top label."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from fastbin import assess
from fastbin._base import html
from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.cells import Key, check_matrix, find_columns, refuse_other_order
from fastbin._base.checks import check_alpha, check_same_length, check_sample_weight
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.frames import check_same_index
from fastbin._base.shown import first_few, how_many, printable, rounded
from fastbin._base.table import Columns, Table, as_html, as_records, as_text
from fastbin.assess.reliability import by_chance
from fastbin.assess.samples import N_BINS, ChanceLevel
from fastbin.assess.verdict import CONFIRMED, CONTRADICTED, MOST_NAMED, NOT_CONTRADICTED, Judged, joint_verdict, judged
from fastbin.guarantees.certificate import name_bins, name_cell, name_cells, sureness
from fastbin.guarantees.vectors import SHARE_OF_MEANS, TOP, VectorCertificate, served_elsewhere
from fastbin.intervals.binomial import exact_ends
from fastbin.multi.vectors import ServedRows, labels_in, served_in
from fastbin.report.assessment import CALIBRATED, CHANCE, both_of, titled
from fastbin.report.cautions import SURPRISING, about_few_samples, about_the_certificate, better_before, p_homogeneous
from fastbin.vector_model import VectorModel, as_vector_model

# A confusion of more classes is a table of a million rows, which nobody reads.
MOST_CONFUSED = 100
NAMES = {
    "class_wise": "class-wise calibration error", "top_label": "top-label calibration error", "confusion": "confusion error",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class VectorScorecard:
    """How good vectors are on test samples; part of a `VectorAssessment`.

    Attributes
    ----------
    name : str
    class_wise, top_label : ReliabilityTable
    confusion : ReliabilityTable or None
        Predicted against true rates of the classes, by predicted class; None for more than 100 classes.
    brier, log_loss, accuracy : float
    """

    name: str
    class_wise: assess.ReliabilityTable
    top_label: assess.ReliabilityTable
    confusion: assess.ReliabilityTable | None
    brier: float
    log_loss: float
    accuracy: float

    @classmethod
    def of(
        cls, name: str, values: Float64s, *, test: _TestRows, classes: tuple[Key, ...], n_bins: int, alpha: float
    ) -> VectorScorecard:
        """The numbers on one predictor."""
        names: Any = list(classes)
        labels, weights = np.array(names)[test.truth], {"sample_weight": test.weights}

        def table(multiclass: str) -> assess.ReliabilityTable:
            options: dict[str, Any] = {"alpha": None if test.is_weighted else alpha, "n_bins": n_bins, **weights}
            return assess.reliability_table(values, labels, multiclass=multiclass, classes=names, **options)

        return cls(
            name=name, class_wise=table("class-wise"), top_label=table("top-label"),
            confusion=table("confusion") if len(classes) <= MOST_CONFUSED else None,
            brier=assess.multiclass_brier(values, labels, names, **weights),
            log_loss=assess.multiclass_log_loss(values, labels, names, **weights),
            accuracy=float(np.average(values.argmax(axis=1) == test.truth, weights=test.weights)),
        )  # fmt: skip

    @property
    def tables(self) -> dict[str, assess.ReliabilityTable]:
        """The tables by the names of their attributes."""
        given = {name: getattr(self, name) for name in NAMES}
        return {name: table for name, table in given.items() if table is not None}

    def numbers(self) -> dict[str, str]:
        """The numbers that matter, by name, rounded, to be printed."""
        errors = {}
        for name, table in self.tables.items():
            level = table.chance_level
            errors[NAMES[name]] = rounded(table.ece())
            chance = CHANCE if name == "top_label" else CHANCE.partition(" (")[0]  # if classes share rows, it has no such point
            errors[f"- {NAMES[name].split()[0]}, {chance}"] = both_of(level and (level.ece, level.ece_95))
        return {
            **errors,
            "Brier score": rounded(self.brier),
            "log loss": "infinite" if math.isinf(self.log_loss) else rounded(self.log_loss),
            "accuracy": rounded(self.accuracy),
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON; what is not finite is None."""
        errors = {f"{name}_ece": table.ece() for name, table in self.tables.items()}
        finite = {"log_loss": self.log_loss if math.isfinite(self.log_loss) else None}
        numbers = {**errors, "brier_score": self.brier, **finite, "accuracy": self.accuracy}
        return {"name": self.name, **numbers, **{name: table.to_dict() for name, table in self.tables.items()}}


@dataclass(frozen=True, eq=False)
class VectorCheck(Judged):
    """The verdict of a test set on what a vector model promises about the population; part of a `VectorAssessment`.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "not contradicted"}
        "contradicted" if one bin is, "confirmed" if all are.
    test_level : float
        The chance that any verdict on a bin, or that on the whole, is wrong.
    n_samples : int
    is_calibration_set : bool
        Whether these are the samples of the fit, which confirm nothing.
    bins : tuple of tuples
        Class, lower and upper end of the raw scores, test samples, their rate of the class, what they are served on average,
        the promised distance of the two in the population, the interval of rate - served there, and the verdict.
    """

    verdict: str
    test_level: float
    n_samples: int
    is_calibration_set: bool
    bins: tuple[tuple[Any, ...], ...]

    @property
    def verdicts(self) -> dict[Key, str]:
        """The verdict on each class, and on the top label."""
        names = dict.fromkeys(row[0] for row in self.bins)
        return {name: joint_verdict([row[-1] for row in self.bins if row[0] == name]) for name in names}

    def _columns(self) -> Columns:
        names = ("class", "lower", "upper", "count", "positive_rate", "mean_served", "promised", "interval", "verdict")
        return {name: list(column) for name, column in zip(names, zip(*self.bins, strict=True), strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON."""
        head = {name: getattr(self, name) for name in ("verdict", "test_level", "n_samples", "is_calibration_set")}
        return {**head, "bins": as_records(self._columns())}

    def _statement(self) -> str:
        rows, level = how_many(self.n_samples, "new row"), f"{sureness(self.test_level)} for all at once"
        if self.verdict == CONTRADICTED:
            places = [(name, self._bins_with(name)) for name, word in self.verdicts.items() if word == CONTRADICTED]
            where = first_few(places, MOST_NAMED, lambda place: f"{name_cell(place[0])} ({name_bins(place[1])})")
            return f"Contradicted by {rows}: averages are farther from the truth than promised for {where} ({level})."
        if self.verdict == CONFIRMED:
            return f"Confirmed by {rows}: in every bin of every class the interval lies within what was promised ({level})."
        if self.is_calibration_set:
            return (
                f"Not contradicted, and not confirmed: the {self.n_samples:,} rows are those that the model was fitted to, and "
                "a promise is not confirmed by what it was made from."
            )
        confirmed = [name for name, word in self.verdicts.items() if word == CONFIRMED]
        return f"Not contradicted by {rows} ({level})" + (
            f"; confirmed for {name_cells(confirmed, MOST_NAMED)}." if confirmed else "."
        )

    def _bins_with(self, name: Key) -> list[int]:
        own = [row[-1] for row in self.bins if row[0] == name]
        return [at for at, word in enumerate(own) if word == CONTRADICTED]


@dataclass(frozen=True, eq=False)
class VectorAssessment(Table):
    """How good a vector model is on a test set; made by `assess_model`.

    ``str()`` is the short of it; as a data frame, there is a row for each predictor.

    Attributes
    ----------
    model : VectorModel
    alpha : float
        Of the certificates and of all intervals.
    n_samples : int
        Test samples assessed, frequencies counted.
    class_counts : tuple of int
        Test samples of each class.
    is_weighted : bool
        Whether the test samples have importance weights.
    n_left_out : int
        Rows with a missing probability; no number here counts them.
    after, before : VectorScorecard
        Of the model, and of the raw probabilities.
    others : tuple of VectorScorecard
        Of the methods to compare with.
    certificates : tuple of VectorCertificate
        About the population, if the fit had rows without labels, and about the calibration rows.
    why_no_certificate : str or None
    check : VectorCheck or None
        The test of the certificate about the population; None where there is none, or the weights do not allow it.
    """

    model: VectorModel
    alpha: float
    n_samples: int
    class_counts: tuple[int, ...]
    is_weighted: bool
    n_left_out: int
    after: VectorScorecard
    before: VectorScorecard
    others: tuple[VectorScorecard, ...]
    certificates: tuple[VectorCertificate, ...]
    why_no_certificate: str | None
    check: VectorCheck | None

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Warnings to a reader before relying on the model, a sentence or two each; empty if all is well."""
        return tuple(_cautions_of(self))

    @property
    def scorecards(self) -> tuple[VectorScorecard, ...]:
        """Before, after, and the others."""
        return (self.before, self.after, *self.others)

    @property
    def verdict(self) -> str:
        """The outcome of the test of the certificate; "no certificate" or "not tested" where there is nothing to say."""
        if self.check is None:
            return "not tested" if self.certificates else "no certificate"
        return self.check.verdict

    @property
    def in_short(self) -> tuple[str, ...]:
        """The promise, its test, and the calibration errors; a sentence or two each."""
        promise = str(next(iter(self.certificates), "This model carries no finite-sample guarantee."))
        errors = []
        for name in ("class_wise", "top_label"):
            after, before = (getattr(card, name) for card in (self.after, self.before))
            level: ChanceLevel | None = after.chance_level
            said = "" if level is None else f"; {by_chance(level.ece, level.ece_95)}"
            errors.append(
                f"On {how_many(self.n_samples, 'test sample')} the {NAMES[name]} is {rounded(after.ece())}, and that of the "
                f"raw probabilities {rounded(before.ece())}{said}."
            )
        return (promise, *(() if self.check is None else (str(self.check),)), *errors)

    def score_words(self) -> dict[str, list[str]]:
        """The numbers to show, rounded: their names under the empty title, and a column for each predictor."""
        names = list(self.after.numbers())
        return {"": names, **{card.name: list(card.numbers().values()) for card in self.scorecards}}

    def class_words(self) -> dict[str, list[str]]:
        """A row for each class, as text by title: how often it is, is said to be, and is predicted, and its errors."""
        after, before, classes = self.after, self.before, self.model.classes
        keys, named = list(map(str, self.model.classes)), after.top_label.parts or {}
        parts = list(zip((before.class_wise.parts or {}).values(), (after.class_wise.parts or {}).values(), strict=True))

        def means(table: assess.ReliabilityTable) -> str:
            return rounded(float(np.dot(table.masses, table.mean_predictions)))

        return {
            "class": keys,
            "test samples": [f"{count:,}" for count in self.class_counts],
            "rate": [rounded(float(np.dot(own.masses, own.positive_rates))) for _, own in parts],
            "served, raw": [means(own) for own, _ in parts],
            "served": [means(own) for _, own in parts],
            "predicted": [f"{named[key].n_samples if key in named else 0:,}" for key in classes],
            "error, raw": [rounded(own.ece()) for own, _ in parts],
            "error": [rounded(own.ece()) for _, own in parts],
            "by chance": ["" if own.chance_level is None else rounded(own.chance_level.ece) for _, own in parts],
            "top-label error": [rounded(named[key].ece()) if key in named else "" for key in classes],
            **({} if self.check is None else {"promise": [self.check.verdicts.get(key, "no claim") for key in classes]}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        names = ("alpha", "n_samples", "is_weighted", "n_left_out")
        return {
            "kind": "vector",
            "classes": list(self.model.classes),
            "class_counts": list(self.class_counts),
            **{name: getattr(self, name) for name in names},
            "certificates": [{"sentence": str(promise), **promise.to_dict()} for promise in self.certificates],
            "why_no_certificate": self.why_no_certificate,
            "check": None if self.check is None else {"sentence": str(self.check), **self.check.to_dict()},
            "scorecards": [scorecard.to_dict() for scorecard in self.scorecards],
            "cautions": list(self.cautions),
        }

    def _columns(self) -> Columns:
        entries = [scorecard.to_dict() for scorecard in self.scorecards]
        return {name: [entry[name] for entry in entries] for name in entries[0] if name not in NAMES}

    def __str__(self) -> str:
        numbers, classes = as_text(self.score_words(), n_text=1), as_text(self.class_words(), n_text=1)
        return printable("\n\n".join([*self.in_short, numbers, classes, *self.cautions]), keep="\n")

    def _repr_html_(self) -> str:
        badge = f"<p>{html.badge(self.verdict)}</p>"
        cautions = html.bullets(map(html.escape, self.cautions)) if self.cautions else ""
        tables = (as_html(words, n_text=1) for words in (self.score_words(), self.class_words()))
        return html.notebook(badge, *map(html.paragraph, self.in_short), *tables, cautions)


# ------------------------------------------------------------------------------------------------- test rows


class _TestRows(NamedTuple):
    """The test rows whose probabilities are there, checked."""

    matrix: Float64s
    truth: Int64s  # the column of the class of each row
    weights: Array | None
    kept: Bools  # of the rows given
    n_missing: int

    @classmethod
    def of(cls, model: VectorModel, P: Any, labels: Any, sample_weight: Any) -> _TestRows:
        check_same_index(scores=P, labels=labels, sample_weight=sample_weight)
        refuse_other_order(P, list(model.classes))
        k = len(model.classes)
        given, is_missing = _without_missing(P, k)
        matrix = check_matrix(given, n_columns=k, name="scores")
        missing = np.zeros(len(matrix), np.bool_) if is_missing is None else is_missing
        truth, weights = find_columns(labels, list(model.classes), "labels"), check_sample_weight(sample_weight)
        check_same_length(scores=matrix, labels=truth, sample_weight=weights)
        is_counted = np.ones(len(matrix), np.bool_) if weights is None else weights > 0
        kept, missing = ~missing & is_counted, missing & is_counted
        if not kept.any():
            raise InputError("no row is left to assess: all have a missing probability, or weight 0")
        return cls(matrix[kept], truth[kept], None if weights is None else weights[kept], kept, int(missing.sum()))

    @property
    def is_weighted(self) -> bool:
        return self.weights is not None and self.weights.dtype.kind == "f"

    @property
    def frequencies(self) -> Array | None:
        return None if self.is_weighted else self.weights

    def repeated(self) -> tuple[Float64s, Int64s]:
        """The rows and their classes, as often as frequencies say."""
        if self.frequencies is None:
            return self.matrix, self.truth
        return np.repeat(self.matrix, self.frequencies, axis=0), np.repeat(self.truth, self.frequencies)

    def vectors_of(self, other: Any, name: str, classes: tuple[Key, ...]) -> Float64s:
        """The vectors of another method for these rows: of a vector model, or as given for all rows."""
        model, place = as_vector_model(other), f"others[{name!r}]"
        if model is None:
            matrix = check_matrix(other, n_columns=len(classes), name=place)
            if len(matrix) != len(self.kept):
                raise InputError(f"{place} has {len(matrix)} rows; it must hold one for each of {len(self.kept)} rows")
            return matrix[self.kept]
        if model.classes != classes:
            raise InputError(f"{place} is of other classes, or in another order; compare with a model of the same columns")
        return model._vectors(self.matrix)


def _without_missing(P: Any, k: int) -> tuple[Any, Bools | None]:
    """Rows in which nothing is missing, and which had to be filled; other things than matrices of numbers stay as they are."""
    try:
        array = np.asarray(P)
        values = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError):
        return P, None
    if values.ndim != 2 or not np.isnan(values).any():
        return P, None
    missing = np.isnan(values).any(axis=1)
    return np.where(missing[:, np.newaxis], values.dtype.type(1.0 / k), values), missing


# ------------------------------------------------------------------------------------------------- the assessment


def assess_vectors(
    model: VectorModel, P: Any, labels: Any, *, others: Mapping[str, Any] | None, weights: Any, alpha: float,
    test_level: float, n_bins: int | None,
) -> VectorAssessment:  # fmt: skip
    """The assessment of a vector model, as by `assess_model`, whose arguments these are."""
    alpha, test_level = check_alpha(alpha), check_alpha(test_level, "test_level")
    test = _TestRows.of(model, P, labels, weights)
    classes, asked, own = model.classes, N_BINS if n_bins is None else n_bins, (CALIBRATED, "raw")
    scored = partial(VectorScorecard.of, test=test, classes=classes, n_bins=asked, alpha=alpha)
    promises, why = _promises(model, alpha)
    frequencies = test.frequencies
    of_population = [promise for promise in promises if promise.about == "population"]
    return VectorAssessment(
        model=model, alpha=alpha, n_samples=len(test.truth) if frequencies is None else int(frequencies.sum()),
        class_counts=tuple(np.bincount(test.truth, frequencies, len(classes)).astype(np.int64).tolist()),
        is_weighted=test.is_weighted, n_left_out=test.n_missing,
        after=scored(own[0], model._vectors(test.matrix)), before=scored(own[1], test.matrix),
        others=tuple(scored(title, test.vectors_of(other, name, classes)) for title, name, other in titled(others, own)),
        certificates=promises, why_no_certificate=why,
        check=check_vectors(model, of_population[0], test, test_level) if of_population and not test.is_weighted else None,
    )  # fmt: skip


def _promises(model: VectorModel, alpha: float) -> tuple[tuple[VectorCertificate, ...], str | None]:
    """About the population, if it can be, and about the calibration rows; or why there are none."""
    if model.vector.counts is None:
        try:
            model.certificate(alpha)
        except GuaranteeError as error:
            return (), str(error)
    about = ("calibration rows",) if model.vector.unlabelled is None else ("population", "calibration rows")
    return tuple(model.certificate(alpha, about=each) for each in about), None


def check_vectors(model: VectorModel, promise: VectorCertificate, test: _TestRows, test_level: float) -> VectorCheck:
    """Whether test rows bear out a promise about the population, bin by bin.

    In a bin the labels of the test rows are independent with the rate of the population, and what is served to them is a sample
    of what is served there: the two intervals of Theorem F20, made of the test rows. Each bin has an equal share of the level
    (Bonferroni), a tenth of which is for the average that is served.
    """
    edges = model.vector.edges
    assert edges is not None
    matrix, truth = test.repeated()
    rows = ServedRows.of(matrix, model, None)
    counts, served = labels_in(edges, rows, truth), served_in(edges, rows)
    reused = _are_of_the_fit(model, test)
    radii = {(name, low): radius for name, low, *_, radius in promise.bins}
    share = test_level / len(radii)
    n, ones = counts[..., 0], counts[..., 1]
    means, slack = served_elsewhere(served, np.full(len(edges), SHARE_OF_MEANS * share))
    ends = exact_ends(ones.ravel(), n.ravel(), np.full(n.size, (1.0 - SHARE_OF_MEANS) * share)).reshape(*n.shape, 2)
    ends = ends - means[..., np.newaxis] + slack[..., np.newaxis] * np.array([-1.0, 1.0])
    least, most = np.insert(edges, 0, 0.0, axis=1), np.append(edges, np.ones((len(edges), 1)), axis=1)
    found = []
    for group, name in enumerate((*model.classes, TOP)):
        for b, (low, high) in enumerate(zip(least[group].tolist(), most[group].tolist(), strict=True)):
            if (name, low) not in radii or n[group, b] == 0:
                continue
            radius, interval = radii[name, low], np.clip(ends[group, b], -1.0, 1.0)
            (word,) = judged(np.array([[-radius, radius]]), interval[np.newaxis], np.array([True]), reused=reused)
            rate = float(ones[group, b] / n[group, b])
            numbers = low, high, int(n[group, b]), rate, float(means[group, b]), radius
            found.append((name, *numbers, tuple(interval.tolist()), word))
    unseen = [NOT_CONTRADICTED] * (len(radii) - len(found))
    verdict = joint_verdict([*(row[-1] for row in found), *unseen])
    return VectorCheck(verdict, test_level, len(truth), reused, tuple(found))


def _are_of_the_fit(model: VectorModel, test: _TestRows) -> bool:
    """Whether these are the rows of the fit, by the fingerprint of the binary model of the first class."""
    first = model.models[model.classes[0]]
    if first.kind != "step":
        return False
    scores, labels = test.matrix[:, 0], test.truth == 0
    return assess.check_certificate(first, scores, labels, epsilon=1.0, sample_weight=test.weights).is_calibration_set


# ------------------------------------------------------------------------------------------------- cautions


def _cautions_of(found: VectorAssessment) -> Iterator[str]:
    """Warnings to a reader before relying on the model, a sentence or two each; none if all is well."""
    yield from about_the_certificate(found)
    if len(found.certificates) == 1:
        yield (
            "The promise is about the calibration rows, and no test set can contradict it; a fit with unlabelled= gives one "
            "about the population."
        )
    if found.n_left_out:
        rows = how_many(found.n_left_out, "test row", "is", "are")
        yield f"{rows} left out of every number here, as a probability is missing. The model refuses to score them."
    yield from _about_the_classes(found)
    if math.isinf(found.before.log_loss):
        yield "The log loss of the raw probabilities is infinite: a class of probability 0 occurred."
    if told := better_before("the raw probabilities", found.before.brier, found.after.brier):
        yield f"{told}."


def _about_the_classes(found: VectorAssessment) -> Iterator[str]:
    yield from about_few_samples(zip(found.model.classes, found.class_counts, strict=True))
    if found.certificates and found.certificates[0].left_out:
        left_out = list(found.certificates[0].left_out)
        them = "it" if len(left_out) == 1 else "them"
        yield f"No calibration sample is of {name_cells(left_out)}: nothing is promised about {them}."
    fitted = found.model.vector.counts
    if fitted is not None and not found.is_weighted:
        table = np.stack([fitted[:-1, :, 1].sum(axis=1), np.array(found.class_counts)])
        if p_homogeneous(table) < SURPRISING:
            yield (
                "The classes have other shares of the test samples than of the calibration samples, more than chance explains: "
                "the populations differ."
            )
