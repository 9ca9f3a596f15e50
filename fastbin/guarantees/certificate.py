"""The statement of a promise: its kinds and bounds by name, the assumptions, and the certificate of a model or of a set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, NamedTuple

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_choice
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.shown import first_few, how_many, printable, rounded_up
from fastbin._base.table import Columns, Table, as_html, without_middle
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin.guarantees.class_rates import n_cuts_of
from fastbin.guarantees.evidence import Evidence, assumes_no_atoms, has_steps, is_of_batch, is_stratified, steps_told
from fastbin.guarantees.sentence import POOL, SentenceParts, sentence_of
from fastbin.intervals.binomial import check_side

# For each kind of certificate its bounds; the first is the default, but "common" for "conditional" where `bound_for` says so.
# "clopper-pearson", "common", "hull" and "data" depend on the labels.
CERTIFICATE_BOUNDS = {
    "conditional": ("clopper-pearson", "common", "hull", "a-priori", "hoeffding"),
    "marginal": ("clopper-pearson", "hull", "a-priori", "hoeffding"),
    "ece": ("data", "a-priori", "hoeffding"),
    "expected-ece": ("a-priori", "hoeffding"),
    "ratio": ("clopper-pearson", "hull"),
    "mean-error": ("slices",),
    "mean-overestimate": ("slices",),
    "mean-underestimate": ("slices",),
}
# What a promise compares averages of served values with: the true frequencies in the population, or the average true
# probabilities of the rows that calibrated, or the frequencies among the rows of a batch.
ABOUT = ("population", "calibration rows", "batch")
# What can be computed before any label is seen.
PRIOR_BOUNDS = ("a-priori", "hoeffding")

_HINTS = {
    "clopper-pearson": "it is about the interval of each bin, as the kinds 'conditional' and 'marginal' are",
    "hull": "it is about the interval of each bin, as the kinds 'conditional' and 'marginal' are",
    "common": "it is about all bins at once, as the kind 'conditional' is",
    "data": "it is about the kind 'ece' alone, for the labels of a fitted model",
    "slices": "it is about the kinds of mean error, such as 'mean-error'",
}


def check_bound(bound: Any, kind: str, names: tuple[str, ...] | None = None) -> str:
    """The name of a bound for this kind of promise; None stands for the first of `names`."""
    names = CERTIFICATE_BOUNDS[kind] if names is None else names
    if bound is None:
        return names[0]
    word = bound if isinstance(bound, str) else ""
    if word in names:
        return word
    message = f"bound is {bound!r}; for kind={kind!r} choose one of {', '.join(map(repr, names))}"
    if word == "exact":
        message = f"bound is 'exact', which meant several things; here, for kind={kind!r}, it is called {names[0]!r}"
    elif word in _HINTS:
        message = f"{message} ({word!r}: {_HINTS[word]})"
    raise InputError(message)


def check_prior(kind: Any, bound: Any, kinds: tuple[str, ...] = ("conditional", "marginal")) -> tuple[str, str]:
    """The names of a kind of promise, and of a bound for it that is known before any label is seen."""
    kind = check_choice(kind, "kind", kinds)
    return kind, check_bound(bound, kind, PRIOR_BOUNDS)


# ------------------------------------------------------------------------------------------------- the assumptions


class Assumption(NamedTuple):
    """A sentence of a certificate, the certificates that have it, and what helps where it does not hold."""

    sentence: str
    where: str
    otherwise: str


ASSUMPTIONS = {
    "draws": Assumption(
        "the calibration samples are independent draws from the population that will be scored: one row an obligor, no "
        "repeated customers, overlapping windows or common shocks",
        "every one (after label shift: from the source population)",
        "repeated customers, overlapping windows: sample whole clusters, and keep one row of each, chosen at random; common "
        "shocks: a smaller alpha gives wider intervals, as a margin and not as a proof; a population that changes: `fb.online` "
        "detects it, `fb.shift` corrects known kinds",
    ),
    "rises": Assumption(
        "the true frequency of label 1 does not fall as the score rises",
        "the mean errors, as the first",
        'a score that does not rank: `kind="conditional"`; where labels contradict it, no certificate is given',
    ),
    "rises on rows": Assumption(
        "given their scores the labels of the calibration rows are independent, each 1 with a probability that is the same for "
        "equal scores and does not fall as scores rise",
        'the mean errors with `about="calibration rows"`, in place of that and of the next two',
        'a score that does not rank, rows that differ in more than the score: `kind="conditional"`',
    ),
    "labels": Assumption(
        "given their features the labels of the calibration rows are independent, each with a probability of its own",
        '`about="calibration rows"`, in place of the first',
        "labels that decide one another, common shocks: a smaller alpha gives wider intervals, as a margin and not as a proof",
    ),
    "pool": Assumption(
        "the rows that the plan chose among are independent draws from the population that will be scored: one row an obligor, "
        "no repeated customers, overlapping windows or common shocks",
        "models of `fb.decide.plan_labels`, in place of the first",
        "as for the first",
    ),
    "plan": Assumption(
        "all rows that the plan asked for have their labels, and which rows these are did not depend on them",
        "models of `fb.decide.plan_labels`",
        "rows that cannot be labelled: take out, before there is a plan, what a score or a feature tells of them",
    ),
    "batch": Assumption(
        "the labelled rows were drawn from all rows of the batch at random, without replacement: single rows, and no whole "
        "groups of them",
        "`fit(..., population=)`, in place of the first",
        "customers drawn with all their rows: draw rows, or keep one row of each customer in the batch",
    ),
    "clusters": Assumption(
        "one row of each cluster was taken, so that the population is that of a random row of a random cluster",
        "`--cluster` of a fit on the command line",
        "rows of large clusters weigh more where the model is used: `fb.assess.cluster_intervals`",
    ),
    "training": Assumption(
        "the scores were trained and chosen on other data",
        "every one",
        "hold rows out, as `fb.sklearn.CalibratedClassifier` does; rows by which it was tuned or picked are training rows",
    ),
    "no atoms": Assumption(
        "no score at an edge has a positive probability of its own; no two samples share one there",
        "edges at scores that no other sample has (`n_tied` = 0); nothing about ties where the hull is used (`n_tied` > 0, "
        'or `bound="hull"`)',
        '`bound="hull"` holds for any distribution',
    ),
    "keys": Assumption(
        "a score that equals an edge is scored with a key that is uniform and independent of the sample",
        '`ties="random"`',
        '`ties="whole"`, the default, has no keys',
    ),
    "random values": Assumption(
        "values are randomised with keys that are uniform and independent of the sample",
        "`delta` > 0",
        "`delta=0`, the default",
    ),
    "unlabelled": Assumption(
        "the scores without labels are draws of the same population, and labels had no part in who has one",
        "`fit(..., unlabelled=)`, and the mean errors with `unlabelled=`",
        "leave `unlabelled` out",
    ),
    "bins": Assumption(
        "frequencies are taken given the bin where several bins share one value",
        '`kind="marginal"`',
        "",
    ),
}


def sentences(*names: str) -> list[str]:
    """The sentences of these assumptions."""
    return [ASSUMPTIONS[name].sentence for name in names]


def is_of_clusters(evidence: Any) -> bool:
    """Whether the fit took one row of each cluster, as the model's provenance says."""
    return any(step.get("function") == "one_per_cluster" for step in steps_told(evidence))


def draws_from(population: str) -> str:
    """The first assumption about another population than the one that will be scored."""
    return ASSUMPTIONS["draws"].sentence.replace("the population that will be scored", population)


def about_ties(evidence: Evidence, bound: str = "") -> list[str]:
    """The assumptions about scores at edges."""
    if evidence.ties in ("random", "isolate"):
        return sentences("keys")
    return sentences("no atoms") if assumes_no_atoms(evidence) and bound != "hull" else []


def assumptions_of(evidence: Evidence, kind: str, bound: str = "") -> tuple[str, ...]:
    """The assumptions of a promise of this kind about the bins of this model."""
    if is_of_batch(evidence):
        return tuple(sentences("batch", "training"))
    if is_stratified(evidence):
        return (*sentences("pool", "plan", "training"), *about_ties(evidence, bound))
    has_unlabelled = getattr(evidence, "unlabelled_counts", None) is not None
    of_clusters = ["clusters"] * is_of_clusters(evidence)
    found = sentences("draws", *of_clusters, "training", *["unlabelled"] * has_unlabelled) + about_ties(evidence, bound)
    return (*found, *sentences(*["random values"] * (evidence.delta > 0.0), *["bins"] * (kind == "marginal")))


# ------------------------------------------------------------------------------------------------- the certificates


# What the values of a model are compared with.
TRUTHS = {
    "population": "the true frequency of {event}",
    "calibration rows": "the average of their true probabilities of {event}",
    "batch": "the frequency of {event} among all rows of the batch there",
}
OF_SETS = tuple(TRUTHS[about] for about in ABOUT[:2])
_OF_CLASSES = "the average of their true probabilities that the {} is the true one"
# For each word for the cells of a set: one of them, and what the values are compared with, of a population and of rows.
CELLS = {
    "cells": ("cell", *OF_SETS),
    "segments": ("segment", *OF_SETS),
    "predicted classes": (
        "predicted class", "how often the predicted class is the true one", _OF_CLASSES.format("predicted class"),
    ),
    "classes": ("class", "how often the class is the true one", _OF_CLASSES.format("class")),
}  # fmt: skip


# Fields of a certificate that are not told where they have these values.
UNSAID = (("side", "both"), ("n_target", None), ("pooled", ""))


@dataclass(frozen=True)
class Stated:
    """Shared by the certificates of a model and of a set: the sentence, what it rests on, and how both are shown."""

    epsilon: float
    alpha: float | None
    kind: str
    bound: str
    theorem: str
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain dicts, lists, strings and numbers, ready for JSON; `side` where it is one of them."""
        kept = {name: value for name, value in vars(self).items() if (name, value) not in UNSAID}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}

    def explain(self) -> str:
        """The theorem, what epsilon consists of where that is known, and the assumptions: a line for each."""
        return "\n- ".join([f"Theorem: {self.theorem}.\n{self._sum_of_terms()}Assumptions:", *self.assumptions])

    def _sum_of_terms(self) -> str:
        return ""

    def _parts_of_sentence(self) -> SentenceParts:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        reasons = html.paragraph(f"{self.theorem}.") + html.bullets(map(html.escape, self.assumptions))
        sentence = f"<p><strong>{html.escape(str(self))}</strong></p>"
        return html.notebook(sentence, html.folded("theorem and assumptions", reasons), *self._tables())

    def _tables(self) -> tuple[str, ...]:
        return ()

    def __str__(self) -> str:
        level = "" if self.alpha is None else sureness(self.alpha)
        return sentence_of(self.kind, level, rounded_up(self.epsilon), self._parts_of_sentence())


@dataclass(frozen=True)
class Certificate(Stated):
    """The promise of a fitted model: a distance, its probability, and the assumptions.

    ``str()`` gives the promise in one sentence, `explain` the theorem and the assumptions as text, and `to_dict` everything as
    plain values for programs.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance. `kind` says between what. For "ratio" it is a factor, at least 1.
    alpha : float or None
        Failure probability of the promise over the draw of the calibration samples (for "marginal": of these and of the
        next sample). None for "expected-ece", which is a statement about a mean.
    kind : {"conditional", "marginal", "expected-ece", "ece", "ratio", "mean-error", "mean-overestimate", \
"mean-underestimate"}
        conditional: in all bins at once, |true frequency of label 1 - value| <= epsilon (Gupta & Ramdas 2021, Definition 2).
        marginal: the same for the bin of the next sample (Definition 1). ece: the expected calibration error is at most epsilon
        (Definition 3). expected-ece: its mean over calibration sets is. ratio: in all bins at once, the true frequency of label
        1 is at most epsilon times the value, and at least the value divided by it. (The value of a bin with steps is the
        average served.) mean-error, if the truth rises with the score: the mean of |true probability at the score - value| over
        what is served is at most epsilon; mean-overestimate and -underestimate: of the value's excess, and of what it lacks.
    bound : str
        Which computation gave epsilon: "common", "clopper-pearson", "hull", "data", "slices", "a-priori" or "hoeffding" as
        `certify` explains them; for a stream, where the promise holds at every number of samples at once, the method of its
        intervals: "beta-binomial", "stitched" or "theorem6" (`fastbin.online.StreamingBinning.certificate`); under covariate
        shift the method of the weighted intervals, such as "betting" (`fastbin.shift.ImportanceWeightedBinning.certificate`).
    theorem : str
        The results that the promise rests on.
    assumptions : tuple of str
        What must be true, one sentence each.
    scheme : str
        How the bins were chosen.
    n_samples, n_bins : int
        Of the fit; of a mean error about the calibration rows the samples between the cuts of slices.
    radii : tuple of float or None
        The distance guaranteed for each bin where it depends on the labels; 1.0 for uncovered bins (of "ratio" the factor, and
        infinity; None in `to_dict`). Else None.
    uncovered_bins : tuple of int
        Bins (from 0) that hold no sample. The promise leaves them out.
    n_steps : int
        Of a model of two resolutions the number of its values, which are more than its bins: the promise is about the average
        of what is served in a bin. Else 0.
    terms : tuple of (str, float)
        Of a model of two resolutions the terms that add up to epsilon, in the bin where it is largest: from the mean label to
        the end of its interval, from the mean served to the mean label (below 0 where they offset the first), and from what
        is served on average in the population to that mean. Else empty.
    event : str
        What the values are the probability of; "" where it is not known: label 1.
    about : {"population", "calibration rows", "batch"}
        Whose true frequency the values are compared with: that of the bin in the population, or in the batch of a fit with
        `population=`, or the average true probability of the calibration rows in the bin.
    side : {"both", "upper", "lower"}
        "upper": no true frequency is above its value by more than epsilon, and nothing is said of those below; "lower": none is
        below it by more. Of "ratio" none is above epsilon times its value, or below the value divided by epsilon.
    n_target : int or None
        Where the values are those of another population than the one that was sampled: the rows of it that gave its rate of
        label 1, 0 where weights or a known rate did. Else None, and not in `to_dict`.
    pooled : str
        Of a key of a set that has no model of its own the word for such keys, such as "segments": the promise is about the
        pool, in which they were mixed. Else "", and not in `to_dict`.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1])
    >>> certificate = cal.certificate(kind="marginal")
    >>> print(certificate)
    With probability at least 90 % over the 6 calibration samples and the next sample, the predicted probability of ...
    >>> print(certificate.explain())
    Theorem: Clopper & Pearson 1934 at level alpha for each bin; label sums are binomial given the scores: ...
    Assumptions:
    - the calibration samples are independent draws from the population that will be scored: one row an obligor, no ...
    - the scores were trained and chosen on other data
    - frequencies are taken given the bin where several bins share one value
    """

    scheme: str
    n_samples: int
    n_bins: int
    radii: tuple[float, ...] | None = None
    uncovered_bins: tuple[int, ...] = ()
    n_steps: int = 0
    terms: tuple[tuple[str, float], ...] = ()
    event: str = ""
    about: str = ABOUT[0]
    side: str = "both"
    n_target: int | None = None
    pooled: str = ""

    def to_dict(self) -> dict[str, Any]:
        radii = self.radii and [radius if math.isfinite(radius) else None for radius in self.radii]  # JSON has no infinity
        return super().to_dict() | {"terms": [list(term) for term in self.terms], "radii": radii}

    def _sum_of_terms(self) -> str:
        if not self.terms:
            return ""
        terms = " ".join(f"{'-' if size < 0 else '+'} {abs(size):.5f} ({name})" for name, size in self.terms)
        return f"Epsilon: {rounded_up(self.epsilon, 5)} = {terms.removeprefix('+ ')}.\n"

    def _parts_of_sentence(self) -> SentenceParts:
        left_out = ""
        if self.uncovered_bins:
            holds = "holds no sample of its own" if len(self.uncovered_bins) == 1 else "hold no samples of their own"
            left_out = f", leaving out {name_bins(self.uncovered_bins)}, which {holds}"
        truth = TRUTHS[self.about].format(event=event_words(self.event))
        truth += "" if self.n_target is None else " in the target population"
        return SentenceParts(
            POOL if self.pooled else "", self.n_samples, self.n_bins, bool(self.n_steps), left_out, truth, self.side,
            of_rows=self.about == "calibration rows", n_target=self.n_target or 0,
        )  # fmt: skip


@shared_docs(Certificate.__doc__)
@dataclass(frozen=True)
class SetCertificate(Stated, Table):
    """The promise of all models of a set together; ``str()``, `explain` and `to_dict` give it as for a `Certificate`.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance, the largest of all models.
    alpha : float or None
        Failure probability of the promise about all models. None for "expected-ece", which is a statement about a mean.
    kind : str
        As in `Certificate`, for all models at once; for "marginal" about the next sample, whatever its cell is.
    {bound}
    {theorem}
    {assumptions}
    cells : {"cells", "segments", "predicted classes", "classes"}
        What the models are about. "classes" share their rows; the others are disjoint.
    n_models, n_bins : int
        Models with samples of their own, and all their bins.
    n_samples : int
        Of all fits; of one of them, where the same rows serve all.
    parts : tuple of (name, Certificate)
        What each model promises at its share of alpha, in the order of the models. The name is the key of the model, None for
        the pool.
    uncovered : tuple of (name, tuple of int)
        The bins of each model that hold no sample of their own and are left out. A model without samples is not in `parts`.
    {about}
    {side}

    Examples
    --------
    >>> import fastbin as fb
    >>> from fastbin.guarantees import certify_set
    >>> scores = [i / 1000 for i in range(1000)]
    >>> few, many = ([int(i % 10 < tenths) for i in range(1000)] for tenths in (2, 5))
    >>> models = [fb.FixedWidthBinning(n_bins=4).fit(scores, labels).model_ for labels in (few, many)]
    >>> certificate = certify_set(models, names=["north", "south"], cells="segments")
    >>> print(certificate)
    With probability at least 90 % over the 2,000 calibration samples, in each of the 8 bins of 2 segments at once, the ...
    >>> [(name, round(part.epsilon, 3), round(part.alpha, 3)) for name, part in certificate.parts]
    [('north', 0.07, 0.051), ('south', 0.08, 0.051)]
    """

    cells: str
    n_models: int
    n_bins: int
    n_samples: int
    parts: tuple[tuple[Any, Certificate], ...]
    uncovered: tuple[tuple[Any, tuple[int, ...]], ...] = ()
    about: str = ABOUT[0]
    side: str = "both"

    def to_dict(self) -> dict[str, Any]:
        parts = [[name, part.to_dict()] for name, part in self.parts]
        uncovered = [[name, list(bins)] for name, bins in self.uncovered]
        return super().to_dict() | {"event": self.event, "parts": parts, "uncovered": uncovered}

    @property
    def event(self) -> str:
        """The event that all values are the probability of; "" where it is not known, or models differ."""
        events = {part.event for _, part in self.parts}
        return events.pop() if len(events) == 1 else ""

    def _columns(self) -> Columns:
        columns: dict[str, list[Any]] = {"cell": [name for name, _ in self.parts]}
        for field in ("epsilon", "alpha", "n_samples", "n_bins"):
            columns[field] = [getattr(part, field) for _, part in self.parts]
        return columns

    def _tables(self) -> tuple[str, ...]:
        words, _ = self._words()
        parts = [part for _, part in without_middle(self.parts)]
        words["epsilon"] = [rounded_up(part.epsilon) for part in parts]
        words["alpha"] = [f"{part.alpha:.4g}" if part.alpha is not None else "" for part in parts]
        return (as_html(words, n_text=1),)

    def _parts_of_sentence(self) -> SentenceParts:
        of_rows = self.about == "calibration rows"
        truth = CELLS[self.cells][1 + of_rows].format(event=event_words(self.event))
        moved = [part.n_target is not None for _, part in self.parts]
        truth += " in the target population" * all(moved) or " in the population that each model is about" * any(moved)
        every = " for every class" if self.cells == "classes" else ""
        fine = any(part.n_steps for _, part in self.parts)
        return SentenceParts(
            self._models(), self.n_samples, self.n_bins, fine, self._left_out(), truth, self.side, every, of_rows
        )

    def _models(self) -> str:
        """How many cells of which kind, the pool named apart."""
        pooled = any(name is None for name, _ in self.parts)
        n_cells = self.n_models - pooled
        counted = f"{n_cells:,} {CELLS[self.cells][0] if n_cells == 1 else self.cells}"
        if pooled:
            return f"{counted} and {POOL}" if n_cells else POOL
        return counted

    def _left_out(self) -> str:
        """The models without samples by name, and how many single bins."""
        covered = {name for name, _ in self.parts}
        whole = [name for name, _ in self.uncovered if name not in covered]
        n_bins = sum(len(bins) for name, bins in self.uncovered if name in covered)
        parts = [f"{name_cells(whole)} without samples"] if whole else []
        if n_bins:
            parts.append(f"{n_bins:,} {'bin' if n_bins == 1 else 'bins'} without samples of their own")
        return f", leaving out {' and '.join(parts)}" if parts else ""


class Certificates(Table):
    """Every kind of promise that a model supports, by its default bound: a row, and a sentence, for each.

    Each holds by itself: choose one before looking at the numbers, as the best of several does not hold at its alpha.
    """

    def __init__(self, certificates: Sequence[Stated]) -> None:
        self.certificates = tuple(certificates)

    @classmethod
    def of(cls, certify: Callable[..., Stated]) -> Certificates:
        """Those that `certify` gives for a kind and what it is about; what does not exist, or is not taken, is left out.

        Raises
        ------
        GuaranteeError
            Where there is none at all: that of the conditional one.
        """
        found, missing = [], []
        of_rows = [(kind, ABOUT[1]) for kind in ("conditional", "mean-error")]
        for kind, about in [*((kind, ABOUT[0]) for kind in CERTIFICATE_BOUNDS), *of_rows]:
            try:
                found.append(certify(kind=kind, about=about))
            except GuaranteeError as error:
                missing.append(error)
            except InputError as error:
                if error.argument not in ("kind", "about"):
                    raise
        if not found:
            raise missing[0]
        return cls(found)

    def __len__(self) -> int:
        return len(self.certificates)

    def _columns(self) -> Columns:
        columns = {name: [getattr(each, name) for each in self.certificates] for name in ("kind", "about", "bound", "epsilon")}
        return {**columns, "promise": list(map(str, self.certificates))}

    def _about(self) -> str:
        return f"{len(self)} promises, each of which holds by itself; choose one before you look"

    def __str__(self) -> str:
        columns = self._columns()
        of_each = zip(columns["kind"], columns["about"], columns["bound"], self.certificates, strict=True)
        lines = [f"{kind}, {about} ({bound}): {each}" for kind, about, bound, each in of_each]
        return "\n- ".join([f"{self._about()}:", *lines])


def certificate_of(
    evidence: Evidence, epsilon: float, covered: Bools, *, assumptions: Sequence[str], **statement: Any
) -> Certificate:
    """A certificate with the scheme and the sizes of the evidence; `statement` holds the other fields."""
    return Certificate(
        epsilon=epsilon,
        scheme=evidence.scheme,
        event=getattr(evidence, "event", ""),
        n_samples=int(evidence.n_samples),
        n_bins=int(evidence.n_bins),
        uncovered_bins=() if covered.all() else tuple(np.flatnonzero(~covered).tolist()),
        assumptions=tuple(assumptions),
        **statement,
    )


def require_samples(covered: Bools) -> None:
    """Raise where no bin holds a sample."""
    if not covered.any():
        raise GuaranteeError("no bin holds a sample of its own, so there is nothing to certify; calibrate on more samples")


def certificate_from_intervals(
    evidence: Evidence, intervals: Float64s, covered: Bools | None = None, *, served: tuple[Float64s, Float64s] | None = None,
    alpha: float, **statement: Any,
) -> Certificate:  # fmt: skip
    """The largest distance from a value to an end of its bin's interval, plus that of value randomisation.

    `served`: the least and the greatest average that may be served in each bin, where values are finer than bins. Bins that are
    not `covered`, by default those without samples, are left out and named. A statement of one side has the distance to
    the end of that side. O(n_bins).
    """
    low = high = np.asarray(evidence.values, dtype=np.float64)
    delta = evidence.delta
    if served is not None:
        (low, high), delta = served, 0.0
    if covered is None:
        covered = np.asarray(evidence.counts) > 0
    require_samples(covered)
    radii = radii_of(intervals, low, high, delta, covered, statement["kind"], statement.get("side", "both"))
    if statement["kind"] == "ratio":
        require_factor(radii, covered)
    n_steps = int(evidence.n_steps) if served is not None and has_steps(evidence) else 0  # type: ignore[attr-defined]
    epsilon, alpha = float(radii[covered].max()), float(alpha)
    return certificate_of(evidence, epsilon, covered, radii=tuple(radii.tolist()), alpha=alpha, n_steps=n_steps, **statement)


def require_factor(radii: Float64s, covered: Bools) -> None:
    """Raise where a bin with samples has no factor."""
    bins = tuple(np.flatnonzero(covered & ~np.isfinite(radii)).tolist())
    if bins:
        raise GuaranteeError(
            f"no factor is known for {name_bins(bins)}: without a sample of label 1, or with values of 0, the ratio of the "
            "frequency to the value has no limit; take fewer bins or more samples, or kind='conditional'"
        )


def radii_of(
    intervals: Float64s, low: Float64s, high: Float64s, delta: Float64s | float, covered: Bools, kind: str = "conditional",
    side: str = "both",
) -> Float64s:  # fmt: skip
    """The distance of what is served in each bin, from low to high, to the far end of its interval; 1 where not `covered`.

    For "ratio" the factor, which is infinite where not `covered`. One `side` has the distance or factor to its own end, and
    0 or 1 where what is served lies beyond that.
    """
    if kind == "ratio":
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            above, below = intervals[:, 1] / np.maximum(low - delta, 0.0), np.minimum(high + delta, 1.0) / intervals[:, 0]
        return np.where(covered, _of_side(above, below, side, 1.0), np.inf)
    radii = _of_side(intervals[:, 1] - low, high - intervals[:, 0], side, 0.0) + delta
    return np.where(covered, np.minimum(radii, 1.0), 1.0)


def _of_side(above: Float64s, below: Float64s, side: str, least: float) -> Float64s:
    """The larger of both, or that of one side, which is `least` at least."""
    return np.maximum(above, below) if side == "both" else np.maximum(above if side == "upper" else below, least)


# By what a promise of one side is given in place of another; "" for those that have a side.
_WITHOUT_SIDE = {
    "ece": "side='both', whose bound is one of either side, too, or kind='conditional'",
    "expected-ece": "side='both', whose bound is one of either side, too",
    "mean-error": "kind='mean-underestimate' for side='upper', and kind='mean-overestimate' for side='lower'",
    "mean-overestimate": "it without side: it is about what is served above the truth",
    "mean-underestimate": "it without side: it is about what is served below the truth",
}
SIDED_BOUNDS = ("clopper-pearson", "hull", "a-priori")


def check_side_of(side: Any, kind: str, bound: str | None) -> str:
    """The side of a promise of this kind by this bound, if it can be of one side (docs/guarantees.md, Theorem F28)."""
    side = check_side(side)
    if side == "both":
        return side
    if kind in _WITHOUT_SIDE:
        remedy = _WITHOUT_SIDE[kind]
        raise GuaranteeError(f"kind={kind!r} has no side, and side is {side!r} (fastbin, Theorem F28); take {remedy}")
    if bound is not None and bound not in SIDED_BOUNDS:
        raise GuaranteeError(
            f"bound={bound!r} is about both sides at once, and side is {side!r} (fastbin, Theorem F28); take one of "
            f"{', '.join(map(repr, SIDED_BOUNDS))}"
        )
    return side


# ------------------------------------------------------------------------------------------------- words


# Significant digits of a percentage; below an alpha of 1e-6 more would be needed to tell it from 100.
_DIGITS = 6


def sureness(alpha: float) -> str:
    """The probability 1 - alpha, rounded down: "90 %", and "1 - 1e-20" where a percentage would read as 100.

    >>> sureness(0.1), sureness(1e-5), sureness(1e-20)
    ('90 %', '99.999 %', '1 - 1e-20')
    """
    if alpha < 1e-6:
        return f"1 - {alpha:.6g}"
    percent = 100 * (1 - Decimal(repr(float(alpha))))
    return f"{Context(prec=_DIGITS, rounding=ROUND_FLOOR).plus(percent).normalize():f} %"


def event_words(event: str) -> str:
    """The event that values are the probability of, as texts name it.

    >>> event_words("default"), event_words("")
    ("'default'", 'label 1')
    """
    return f"'{printable(event)}'" if event else "label 1"


def label_words(event: str) -> str:
    """The label of the samples that show the event.

    >>> label_words("default"), label_words("")
    ("the label 'default'", 'label 1')
    """
    return f"the label {event_words(event)}" if event else event_words(event)


def moved_words(model: Any) -> str:
    """How the values of a model were moved to another population, as a sentence; "" where they were not."""
    if model.sampling_rate:
        kept = f"rows with label 0 were kept at the known rate {model.sampling_rate:.6g}"
        return f"Known sampling: {kept}, by which the odds of every value were multiplied; values are those of all rows."
    if model.rates is None and model.odds_ratio == 1.0:
        return ""
    return f"Label shift: {moved_by(model.odds_ratio, model.rates, n_cuts_of(model))}."


def moved_by(odds_ratio: float, rates: ClassRates | None, n_cuts: int = 0) -> str:
    """How label shift moved a model, and how the class rates are known: the middle of a sentence.

    Files of fastbin 0.1.0 do not hold the rates: then they are None. `n_cuts`: at how many cuts the model keeps shares of
    scores, which bound a rate that was estimated without labels.

    >>> from fastbin._core.schemes import ClassRate, ClassRates
    >>> rates = ClassRates(ClassRate("counted", 0.5, 2000, 1000), ClassRate("given", 0.1))
    >>> for part in moved_by(1 / 9, rates).split("; "):
    ...     print(part)
    the odds of every value were multiplied by 0.111111
    the source rate 0.5 was counted on 2,000 labels, 1,000 of them 1
    the target rate 0.1 was given, and is taken as exact
    """
    odds = f"the odds of every value were multiplied by {odds_ratio:.6g}"
    if rates is None:
        return f"{odds}; the file does not say how the class rates are known (fastbin 0.1.0), so intervals do not exist"
    return f"{odds}; the source rate {_known(rates.source)}; the target rate {_known(rates.target, n_cuts)}"


def _known(rate: ClassRate, n_cuts: int = 0) -> str:
    value = f"{rate.rate:.6g} was"
    if rate.origin == "given":
        return f"{value} given, and is taken as exact"
    if rate.origin == "estimated":
        bounded = f"and is bounded by their shares above {n_cuts} cuts" if n_cuts else "so intervals do not exist"
        return f"{value} estimated from {how_many(rate.n_samples, 'score')} without labels, {bounded}"
    labels = how_many(rate.n_samples, "label")
    is_smoothed = abs(rate.rate - rate.n_positive / rate.n_samples) > 1e-12
    smoothed = ", with half a sample more of either label" if is_smoothed else ""
    return f"{value} counted on {labels}, {rate.n_positive:,} of them 1{smoothed}"


def name_bins(bins: Sequence[int]) -> str:
    """The bins in words: "bin 3", "bins 0, 1, 2", the first few of many."""
    return f"{'bin' if len(bins) == 1 else 'bins'} {first_few(bins)}"


def name_cell(name: Any) -> str:
    """A cell of a set in words: its key, or "the pool" for the one that has none."""
    return "the pool" if name is None else repr(name)


def name_cells(names: Sequence[Any], limit: int = 8) -> str:
    """Cells of a set in words, the first few of many.

    >>> name_cells(["north", 3, None])
    "'north', 3, the pool"
    """
    return first_few(names, limit, name_cell)
