"""From the evidence of a vector model to a promise about its vectors: class by class, and for the top label.

The rows of a class lie in bins of its raw score, whose edges never looked at a label; so do the rows of the top label, in bins
of the largest raw entry, which need not be the largest that is served. What is served may depend on all labels in any way: no
event below mentions it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_alpha, check_choice
from fastbin._base.errors import GuaranteeError
from fastbin._base.shown import how_many, rounded_up
from fastbin._base.table import Columns, Table, as_html
from fastbin.guarantees.certificate import ABOUT, Stated, name_cells, sentences, sureness
from fastbin.intervals import sidak
from fastbin.intervals.binomial import ends_of_rows, exact_ends

# The share of a bin's failure probability that goes to what is served on average, where other rows estimate it.
SHARE_OF_MEANS = 0.1
TOP = "top label"

_OF_ROWS = (
    "Clopper & Pearson 1934 with ends for independent labels, by Hoeffding 1956 (fastbin, Theorem F11); Sidak's level over the "
    "bins of a class, an equal share of alpha for each class and the top label"
)
_OF_POPULATION = (
    "Clopper & Pearson 1934 for the rates of the bins, and the empirical Bernstein inequality (Maurer & Pontil 2009) for what "
    "is served on average in them (fastbin, Theorem F20); Sidak's level over the bins of a class, an equal share of alpha for "
    "each class and the top label"
)


@dataclass(frozen=True)
class VectorCertificate(Stated, Table):
    """The promise of a vector model, for all classes and the top label, that of the largest raw score, at once.

    ``str()`` gives it in one sentence, `explain` the theorem and the assumptions, `to_dict` everything as plain values, and
    `to_pandas` a row for each bin of each class.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance: the largest of all classes that take part, and of the top label.
    alpha : float
        Failure probability of all of it together.
    kind, bound : str
        "conditional" and "clopper-pearson": in every bin, by exact intervals.
    theorem : str
    assumptions : tuple of str
    about : {"population", "calibration rows"}
        Whose true frequencies the average served values are compared with.
    n_samples : int
        The rows of the fit.
    radii : tuple of (class, float)
        The largest distance of each class, and last that of the top label, called "top label", without those of `left_out`.
    left_out : tuple of classes
        No row of the fit has these classes, and nothing is promised about them.
    bins : tuple of tuples
        Class, lower and upper end of the raw scores, rows, rows with the label, their average served value, the two ends of
        the interval for the truth, and the distance: for each bin with rows.
    uncovered : tuple of tuples
        Class, lower and upper end of the raw scores: bins between whose edges no row of the fit lies, of which nothing is
        known. With ``unlabelled=``, whose rows give the edges, there may be some.
    """

    about: str
    n_samples: int
    radii: tuple[tuple[Any, float], ...]
    left_out: tuple[Any, ...]
    bins: tuple[tuple[Any, ...], ...]
    uncovered: tuple[tuple[Any, float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        nested = {name: [list(entry) for entry in getattr(self, name)] for name in ("radii", "bins", "uncovered")}
        return super().to_dict() | nested

    def _columns(self) -> Columns:
        of_each = list(zip(*self.bins, strict=True))
        names = ("cell", "lower", "upper", "count", "label_sum", "served")
        columns = {name: list(column) for name, column in zip(names, of_each[:6], strict=True)}
        return {**columns, "interval": list(zip(of_each[6], of_each[7], strict=True)), "epsilon": list(of_each[8])}

    def _tables(self) -> tuple[str, ...]:
        return (
            as_html(
                {"class": [str(name) for name, _ in self.radii], "epsilon": [rounded_up(e) for _, e in self.radii]}, n_text=1
            ),
        )

    def _about(self) -> str:
        return str(self).removesuffix(".")

    def __str__(self) -> str:
        assert self.alpha is not None
        n_classes = len(self.radii) - 1
        mean = rounded_up(float(np.mean([radius for _, radius in self.radii[:-1]])))
        of_rows = self.about == ABOUT[1]
        over = f"the {'labels of the ' * of_rows}{how_many(self.n_samples, 'calibration sample')}"
        served = "the average served to its samples" if of_rows else "the average of what is served"
        truth = "the average of their true probabilities" if of_rows else "the true frequency"
        left_out = f" (left out: {name_cells(list(self.left_out))}, as no sample has it)" if self.left_out else ""
        n_bins = len(self.uncovered)
        bins = f", leaving out {how_many(n_bins, 'bin')} without samples," if n_bins else ","
        return (
            f"With probability at least {sureness(self.alpha)} over {over}, in every bin of the raw score of each of "
            f"{n_classes:,} classes{left_out}, and of the class with the largest{bins} {served} is within "
            f"{rounded_up(self.epsilon)} of {truth} (on average over classes within {mean})."
        )


def certify_vector(
    vector: Any, classes: tuple[Any, ...], n_samples: int, alpha: float, about: str, note: str = ""
) -> VectorCertificate:
    """The certificate of a `fastbin.multi.VectorModel`, whose maps have this note; errors as its `certificate`."""
    alpha, about = check_alpha(alpha), check_choice(about, "about", ABOUT[:2])
    if vector.counts is None:
        why = f" (the model's note: {note})" if note else ", as after a fit with importance weights"
        raise GuaranteeError(f"the model has no evidence bins{why}; nothing is known of its vectors")
    is_population = about == ABOUT[0]
    if is_population and vector.unlabelled is None:
        raise GuaranteeError(
            "nothing is known of what the map serves to rows that it was not fitted to; fit with unlabelled=, rows of the "
            "same population without labels, or ask for about='calibration rows'"
        )
    counts, ones, means = vector.counts[..., 0], vector.counts[..., 1], vector.means
    covered = counts > 0
    shares = np.array([sidak(alpha / len(counts), max(1, int(row.sum()))) for row in covered])
    levels = np.repeat(shares, counts.shape[1])
    slack = np.zeros(counts.shape)
    if is_population:
        means, slack = served_elsewhere(vector.unlabelled, SHARE_OF_MEANS * shares)
        ends = exact_ends(ones.ravel(), counts.ravel(), (1.0 - SHARE_OF_MEANS) * levels)
    else:
        ends = ends_of_rows(ones.ravel(), counts.ravel(), levels)  # type: ignore[arg-type]
    lower, upper = ends[:, 0].reshape(counts.shape), ends[:, 1].reshape(counts.shape)
    radii = np.minimum(np.maximum(upper - means, means - lower) + slack, 1.0)
    return _stated(vector, classes, n_samples, (means, lower, upper, radii), covered, alpha=alpha, about=about)


def served_elsewhere(unlabelled: Float64s, levels: Float64s) -> tuple[Float64s, Float64s]:
    """The average that other rows are served in each bin, and how far it may be from its expectation: 1 for fewer than two.

    `levels` are the failure probabilities of a bin, one for each group of bins.
    """
    n, means, variances = np.moveaxis(unlabelled, 2, 0)
    logarithm = np.log(4.0 / levels)[:, None]
    at_least_two = np.maximum(n, 2.0)
    slack = np.sqrt(2.0 * variances * logarithm / at_least_two) + 7.0 * logarithm / (3.0 * (at_least_two - 1.0))
    return means, np.where(n < 2.0, 1.0, slack)


def _stated(
    vector: Any,
    classes: tuple[Any, ...],
    n_samples: int,
    found: tuple[Float64s, ...],
    covered: Bools,
    *,
    alpha: float,
    about: str,
) -> VectorCertificate:
    """The certificate of these averages, interval ends and distances, (groups, bins) each."""
    means, lower, upper, radii = found
    names = (*classes, TOP)
    has_label = vector.counts[..., 1].sum(axis=1) > 0
    takes_part = has_label | (np.arange(len(names)) == len(classes))
    edges = np.zeros((len(names), 0)) if vector.edges is None else vector.edges
    least, most = np.insert(edges, 0, 0.0, axis=1), np.append(edges, np.ones((len(names), 1)), axis=1)
    # A bin between equal edges holds no score, but for the last one, which holds its upper end. Other bins that are not covered
    # may hold rows of a population, though none of the fit.
    is_population = about == ABOUT[0]
    holds_scores = (least < most) | (np.arange(least.shape[1]) == least.shape[1] - 1)
    missed = np.argwhere(is_population & ~covered & holds_scores & takes_part[:, None])
    shown = np.argwhere(covered & takes_part[:, None])
    bins = tuple(
        (
            names[g], float(least[g, b]), float(most[g, b]), int(vector.counts[g, b, 0]), int(vector.counts[g, b, 1]),
            float(means[g, b]), float(lower[g, b]), float(upper[g, b]), float(radii[g, b]),
        )
        for g, b in shown.tolist()
    )  # fmt: skip
    of_groups = np.max(np.where(covered, radii, 0.0), axis=1)
    kept = [(name, float(radius)) for name, radius, kept in zip(names, of_groups, takes_part, strict=True) if kept]
    return VectorCertificate(
        epsilon=max(radius for _, radius in kept), alpha=alpha, kind="conditional", bound="clopper-pearson",
        theorem=_OF_POPULATION if is_population else _OF_ROWS,
        assumptions=tuple(sentences("draws", "training", "unlabelled") if is_population else sentences("labels", "training")),
        about=about, n_samples=n_samples, radii=tuple(kept), bins=bins,
        left_out=tuple(name for name, kept in zip(names, takes_part, strict=True) if not kept),
        uncovered=tuple((names[g], float(least[g, b]), float(most[g, b])) for g, b in missed.tolist()),
    )  # fmt: skip
