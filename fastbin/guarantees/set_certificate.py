"""A promise about many models, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastbin import _html
from fastbin._tables import Columns, Table, as_html, without_middle
from fastbin.guarantees.certificate import Certificate, promise_as_html
from fastbin.guarantees.words import event_words, name_cells, rounded_up, sureness

# For each word for the cells of a set: one of them, and what the values are compared with.
CELLS = {
    "cells": ("cell", "the true frequency of {event}"),
    "segments": ("segment", "the true frequency of {event}"),
    "predicted classes": ("predicted class", "how often the predicted class is the true one"),
    "classes": ("class", "how often the class is the true one"),
}


@dataclass(frozen=True)
class SetCertificate(Table):
    """What the models of a set promise together, with which probability, and on which assumptions.

    ``str()`` gives the promise in one sentence, `explain` the theorem and the assumptions as text, and `to_dict` everything as
    plain values for programs.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance, the largest of all models.
    alpha : float or None
        Failure probability of the promise about all models. None for "expected-ece", which is a statement about a mean.
    kind : {"conditional", "marginal", "expected-ece", "ece"}
        As in `Certificate`, for all models at once; for "marginal" about the next sample, whatever its cell is.
    bound : str
        Which computation gave epsilon; see `fastbin.guarantees.certify`.
    theorem : str
        The results that the promise rests on.
    assumptions : tuple of str
        What must be true, one sentence each.
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

    epsilon: float
    alpha: float | None
    kind: str
    bound: str
    theorem: str
    assumptions: tuple[str, ...]
    cells: str
    n_models: int
    n_bins: int
    n_samples: int
    parts: tuple[tuple[Any, Certificate], ...]
    uncovered: tuple[tuple[Any, tuple[int, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain dicts, lists, strings and numbers, ready for JSON."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        plain["event"] = self.event
        plain["parts"] = [[name, part.to_dict()] for name, part in self.parts]
        plain["uncovered"] = [[name, list(bins)] for name, bins in self.uncovered]
        return plain

    @property
    def event(self) -> str:
        """The event that all values are the probability of; "" where it is not known, or models differ."""
        events = {part.event for _, part in self.parts}
        return events.pop() if len(events) == 1 else ""

    def explain(self) -> str:
        """The theorem and the assumptions: text of several lines, one for each assumption."""
        return "\n- ".join([f"Theorem: {self.theorem}.\nAssumptions:", *self.assumptions])

    def _columns(self) -> Columns:
        columns: dict[str, list[Any]] = {"cell": [name for name, _ in self.parts]}
        for field in ("epsilon", "alpha", "n_samples", "n_bins"):
            columns[field] = [getattr(part, field) for _, part in self.parts]
        return columns

    def _repr_html_(self) -> str:
        words, _ = self._words()
        parts = [part for _, part in without_middle(self.parts)]
        words["epsilon"] = [rounded_up(part.epsilon) for part in parts]
        words["alpha"] = [f"{part.alpha:.4g}" if part.alpha is not None else "" for part in parts]
        return _html.notebook(*promise_as_html(self), as_html(words, n_text=1))

    def __str__(self) -> str:
        samples, distance = f"{self.n_samples:,} calibration samples", rounded_up(self.epsilon)
        models, left_out = self._models(), self._left_out()
        if self.kind == "expected-ece":
            each = f"the expected calibration error of each of {models}"
            return f"Averaged over sets of {samples}, {each} is at most {distance}{left_out}."
        assert self.alpha is not None
        sure = f"With probability at least {sureness(self.alpha)} over the {samples}"
        fine = any(part.n_steps for _, part in self.parts)
        bins, truth = (
            f"{self.n_bins:,} {'evidence bins' if fine else 'bins'}",
            CELLS[self.cells][1].format(event=event_words(self.event)),
        )
        served = "the average of what is served" if fine else "the predicted probability"
        if self.kind == "ece":
            error = f"the binned calibration error on the {bins}" if fine else "the expected calibration error"
            return f"{sure}, {error} of each of {models} at once, and so of all of them, is at most {distance}{left_out}."
        if self.kind == "marginal":
            every = " for every class" if self.cells == "classes" else ""
            return (
                f"{sure} and the next sample, {served} in the bin of that sample is{every} within {distance} of {truth} there "
                f"({bins} of {models}{left_out})."
            )
        return f"{sure}, in each of the {bins} of {models} at once{left_out}, {served} is within {distance} of {truth}."

    def _models(self) -> str:
        """How many cells of which kind, the pool named apart."""
        pooled = any(name is None for name, _ in self.parts)
        n_cells = self.n_models - pooled
        counted = f"{n_cells:,} {CELLS[self.cells][0] if n_cells == 1 else self.cells}"
        if pooled:
            pool = "the pool (as mixed in calibration)"
            return f"{counted} and {pool}" if n_cells else pool
        return counted

    def _left_out(self) -> str:
        """The models without samples by name, and how many single bins."""
        covered = {name for name, _ in self.parts}
        whole = [name for name, _ in self.uncovered if name not in covered]
        n_bins = sum(len(bins) for name, bins in self.uncovered if name in covered)
        parts = [f"{name_cells(whole)} without samples"] if whole else []
        if n_bins:
            parts.append(f"{n_bins:,} {'bin' if n_bins == 1 else 'bins'} without samples of their own")
        left_out = f", leaving out {' and '.join(parts)}" if parts else ""
        for where in dict.fromkeys(part.silent for _, part in self.parts if part.silent):
            silent = [name for name, part in self.parts if part.silent == where]
            left_out += f" (nothing is promised {where} of {name_cells(silent, 3)})"
        return left_out
