"""Shared by the assessments of a model and of a set: their fields, and what they say in words and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fastbin._base import html
from fastbin._base.shown import printable
from fastbin._base.table import Columns, Table, as_html, as_text
from fastbin.assess.reliability import by_chance
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.cautions import cautions_of
from fastbin.report.scorecard import LeftOut, Scorecard


@dataclass(frozen=True, eq=False)
class Findings(Table):
    """Shared by both assessments. ``str()`` is the short of it; as a data frame, there is a row for each predictor."""

    alpha: float
    n_samples: int
    n_positive: int
    is_weighted: bool
    left_out: LeftOut
    after: Scorecard
    before: Scorecard | None
    others: tuple[Scorecard, ...]
    certificates: tuple[Any, ...]
    why_no_certificate: str | None
    check: Any

    @property
    def fitted(self) -> BinnedModel | ModelSet:
        """The model or the set that is assessed."""
        raise NotImplementedError

    @property
    def event(self) -> str:
        """The event that the values are the probability of; "" where it is not known."""
        return str(self.fitted.event)

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What a reader should know before relying on the model, a sentence or two each; empty if all is well."""
        return tuple(cautions_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        own = self._of_cells()
        names = ("event", "alpha", "n_samples", "n_positive", "is_weighted", *(["n_unknown"] if own else []))
        return {
            **{name: getattr(self, name) for name in names},
            "left_out": self.left_out._asdict(),
            "certificates": [{"sentence": str(promise), **promise.to_dict()} for promise in self.certificates],
            "why_no_certificate": self.why_no_certificate,
            "check": None if self.check is None else {"sentence": str(self.check), **self.check.to_dict()},
            "scorecards": [scorecard.to_dict() for scorecard in self.scorecards],
            **own,
            "cautions": list(self.cautions),
        }

    def _of_cells(self) -> dict[str, Any]:
        """The cells of a set, ready for JSON."""
        return {}

    @property
    def scorecards(self) -> tuple[Scorecard, ...]:
        """Before, after, and the others."""
        return (*(() if self.before is None else (self.before,)), self.after, *self.others)

    @property
    def verdict(self) -> str:
        """What the test set says of the certificate; "no certificate" or "not tested" where there is nothing to say."""
        if self.check is None:
            return "not tested" if self.certificates else "no certificate"
        return str(self.check.verdict)

    @property
    def in_short(self) -> tuple[str, ...]:
        """What is promised, what the test set says of it, and the calibration error; a sentence or two each."""
        promise = str(next(iter(self.certificates), "This model carries no finite-sample guarantee."))
        by_bin = self.after.ece_by_bin is not None
        errors = [(card.ece_by_bin if by_bin else card.ece) for card in (self.after, self.before) if card is not None]
        what = "expected calibration error by evidence bin" if by_bin else "expected calibration error"
        ece = f"On {self.n_samples:,} test samples the {what} is {errors[0]:.4f}"
        if self.before is not None:
            ece += f", and that of the scores themselves {errors[1]:.4f}"
        level = self.after.chance_by_bin if by_bin else self.after.chance_level
        ece += "" if level is None else f"; {by_chance(level.ece, level.ece_95)}"
        ece += "."
        return (promise, *(() if self.check is None else (str(self.check),)), ece)

    def score_words(self) -> dict[str, list[str]]:
        """The numbers to show, rounded: their names under the empty title, and a column for each predictor."""
        names = list(self.scorecards[0].numbers())
        return {"": names, **{card.name: [card.numbers().get(name, "") for name in names] for card in self.scorecards}}

    def _columns(self) -> Columns:
        entries = [scorecard.to_dict() for scorecard in self.scorecards]
        names = [name for name in entries[0] if name != "reliability"]
        return {name: [entry.get(name) for entry in entries] for name in names}

    def __str__(self) -> str:
        return printable("\n\n".join([*self.in_short, as_text(self.score_words(), n_text=1), *self.cautions]), keep="\n")

    def _repr_html_(self) -> str:
        badge = f"<p>{html.badge(self.verdict)}</p>"
        cautions = html.bullets(map(html.escape, self.cautions)) if self.cautions else ""
        return html.notebook(badge, *map(html.paragraph, self.in_short), as_html(self.score_words(), n_text=1), cautions)
