"""Thresholds with a promise, how they were found, and the decisions that they make."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Int8s
from fastbin._base.checks import check_number, check_scores
from fastbin._base.errors import FormatError, InputError, InputTypeError
from fastbin._base.json_kinds import FLAG, INTEGER, NUMBER, TEXT, JsonKind, list_of, read_object, record_of, unbounded
from fastbin._base.shown import outwards, rounded_down
from fastbin._base.table import Columns, Table, as_html, as_records
from fastbin.guarantees.certificate import label_words, sureness

VERSION = 1
ACCEPT, REJECT = "accept", "reject"


class CutTest(NamedTuple):
    """One test of the sequence: rows on the far side of a threshold, how many were decided rightly, and the bound."""

    band: str
    threshold: float
    n: int
    n_right: int
    bound: float
    passed: bool


@dataclass(frozen=True)
class Decision(Table):
    """Thresholds with a promise; made by `accept_threshold`. ``str()`` states it in a sentence.

    A score above `accept_above` is accepted, one below `reject_below` is rejected, and any other abstains. No score is both.

    Attributes
    ----------
    accept_above : float
        Infinity where nothing is accepted.
    reject_below : float
        At most `accept_above`; minus infinity where nothing is rejected.
    precision, npv : float or None
        The targets: the least frequency of label 1 among accepted, and of label 0 among rejected scores.
    cost : (float, float) or None
        The costs of a false positive and of a false negative, which stand for targets.
    delta : float
        The probability that the promise fails, of both bands together.
    sequence : tuple of (band, threshold, n, n_right, bound, passed)
        The tests in their order, "accept" before "reject". `n` rows lie beyond the threshold (with `cost`: between it and the
        one before), `n_right` of them have label 1 ("reject": label 0), and `bound` is the lower end for their frequency.
    recall : (float, float)
        Interval of the share of label 1 that is accepted, at level `delta` by itself.
    coverage : (float, float)
        Interval of the share of scores that is decided, accepted or rejected, at level `delta` by itself.
    n_samples, n_positive : int
        Rows in all, and those with label 1.
    n_pilot : int
        Of these, the random rows that chose where the tests stand and start, and that no test counts.
    event : str
        What `positive=` named; "" for label 1.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> decision = fb.decide.accept_threshold(scores, [score > 0.6 for score in scores], precision=0.9)
    >>> decision.decide([0.3, 0.99]).tolist(), decision.decide_one(0.99)
    ([0, 1], 1)
    >>> fb.decide.Decision.from_json(decision.to_json()) == decision
    True
    """

    accept_above: float
    reject_below: float
    precision: float | None
    npv: float | None
    cost: tuple[float, float] | None
    delta: float
    sequence: tuple[CutTest, ...]
    recall: tuple[float, float]
    coverage: tuple[float, float]
    n_samples: int
    n_positive: int
    n_pilot: int
    event: str = ""

    @property
    def assumption(self) -> str:
        """The assumptions of the promise, as a text; none is about how the truth depends on the scores."""
        return (
            "the rows are independent draws from the population that will be scored, the scores were trained, calibrated and "
            "chosen on other data, and these rows had no part in thresholds that were given"
        )

    def decide(self, scores: Any) -> Int8s:
        """Decisions on scores: 1 where accepted, 0 where abstained, -1 where rejected.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Finite numbers of the same scale as those of the fit; NaN is refused.

        Returns
        -------
        ndarray of int8 (n,)

        Raises
        ------
        InputError, InputTypeError
            For a score that is not a finite number; the message names the first.

        Notes
        -----
        ``score > accept_above`` and ``score < reject_below`` as doubles; a score that equals a threshold abstains. O(n).
        """
        given = check_scores(scores, None).astype(np.float64, copy=False)
        return (given > self.accept_above).astype(np.int8) - (given < self.reject_below).astype(np.int8)

    def decide_one(self, score: float) -> int:
        """The decision on one score, as by `decide`.

        Parameters
        ----------
        score : float
            A finite number.

        Returns
        -------
        int
            1, 0 or -1.

        Raises
        ------
        InputError, InputTypeError
            For anything but a finite number.
        """
        given = check_number(score, "score")
        if not math.isfinite(given):
            raise InputError(None, "a score is a finite number", argument="score", value=given)
        return int(given > self.accept_above) - int(given < self.reject_below)

    # ------------------------------------------------------------------ in words

    def _columns(self) -> Columns:
        return {name: [getattr(test, name) for test in self.sequence] for name in CutTest._fields}

    def _promise(self) -> str:
        """The promise about both bands."""
        if self.cost is not None:
            return (
                f"each part of what is accepted costs no more than if it were rejected, and the reverse, at {self.cost[0]:g} a "
                f"false positive and {self.cost[1]:g} a false negative"
            )
        promised = []
        if self.precision is not None and self.accept_above < math.inf:
            promised.append(f"at least {_percent(self.precision)} of the accepted have {label_words(self.event)}")
        if self.npv is not None and self.reject_below > -math.inf:
            promised.append(f"at least {_percent(self.npv)} of the rejected do not have {label_words(self.event)}")
        return " and ".join(promised)

    def _about(self) -> str:
        accepts, rejects = self.accept_above < math.inf, self.reject_below > -math.inf
        if not accepts and not rejects:
            return (
                f"Every score abstains: the {self.n_samples:,} rows bear out no threshold with {sureness(self.delta)} "
                "probability; more rows, a lower target or a larger delta may, and where scores repeat so may thresholds= "
                "beyond them, as cuts lie between scores"
            )
        # All digits: a rounded threshold may lie on the other side of many scores.
        bands = [f"accept scores above {self.accept_above!r}"] * accepts
        bands += [f"reject scores below {self.reject_below!r}"] * rejects
        rest = "abstain between" if accepts and rejects else "abstain otherwise"
        shares = f"that decides {_range(self.coverage)} of all scores"
        if accepts:
            shares += f" and accepts {_range(self.recall)} of {label_words(self.event)}"
        what = f"{', '.join([*bands, rest])}: with {sureness(self.delta)} probability {self._promise()}"
        return f"{what[0].upper()}{what[1:]} ({shares})"

    def __str__(self) -> str:
        return f"{self._about()}."

    def _repr_html_(self) -> str:
        needs = html.paragraph(f"Needs: {self.assumption}. fastbin, Theorem F21.", "small")
        words, _ = self._words()
        tests = html.folded(f"the {len(self.sequence)} tests", as_html(words, n_text=1)) if self.sequence else ""
        return html.notebook(html.paragraph(str(self)), needs, tests)

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain dicts, lists, strings and numbers, ready for JSON; None stands for an infinite threshold."""
        members = {name: kind.write(getattr(self, name)) for name, kind in _MEMBERS.items()}
        return {"sentence": str(self), "assumption": self.assumption, **members, "sequence": as_records(self._columns())}

    def to_json(self) -> str:
        """The decision as canonical text: equal decisions have equal texts, and every number keeps all its digits."""
        members = {name: kind.write(getattr(self, name)) for name, kind in _MEMBERS.items()}
        return json.dumps({"fastbin": "decision", "version": VERSION, **members}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Decision:
        """The decision of a text that `to_json` made.

        Parameters
        ----------
        text : str or bytes
            The text, as UTF-8 where it is bytes; a file of it may end with a line break.

        Returns
        -------
        Decision

        Raises
        ------
        FormatError
            For text that `to_json` does not write: other members, types or layouts, thresholds in the wrong order.
        InputTypeError
            For anything but text.
        """
        if not isinstance(text, (str, bytes)):
            raise InputTypeError(f"must be text, got {type(text).__name__}", "pass what to_json gave", argument="text")
        try:
            decoded = text.decode("utf8") if isinstance(text, bytes) else text
            document = json.loads(decoded)
        except RecursionError:
            raise FormatError("not a decision in JSON: it is nested too deeply") from None
        except ValueError as error:
            raise FormatError(f"not JSON: {error}") from None
        if not isinstance(document, dict) or document.pop("fastbin", None) != "decision":
            raise FormatError("not a decision of fastbin: it has no member 'fastbin' that says 'decision'")
        version = document.pop("version", None)
        if type(version) is not int or version < 1:
            raise FormatError("version is not the number of a version")
        if version > VERSION:
            raise FormatError(f"version is {version}, and this fastbin reads decisions up to version {VERSION}; update it")
        made = cls(**read_object(document, "", _MEMBERS))
        if not made.reject_below <= made.accept_above:
            raise FormatError("reject_below is above accept_above; a score would be both")
        _check_numbers(made)
        if made.to_json() != decoded.removesuffix("\n"):
            raise FormatError("the text is not how to_json says this decision; write it by to_json")
        return made


def _check_numbers(decision: Decision) -> None:
    """Refuse what no sequence of tests can come to: texts may have been written by anyone."""
    for name in ("precision", "npv", "delta"):
        value = getattr(decision, name)
        if value is not None and not 0.0 < value < 1.0:
            raise FormatError(f"{name} is {value:g}, and not in (0, 1)")
    for name in ("recall", "coverage"):
        low, high = getattr(decision, name)
        if not 0.0 <= low <= high <= 1.0:
            raise FormatError(f"{name} is from {low:g} to {high:g}, and not an interval in [0, 1]")
    if all(goal is None for goal in (decision.precision, decision.npv, decision.cost)):
        raise FormatError("precision, npv and cost are all null; a decision has one of them")
    for name in ("n_positive", "n_pilot"):
        if not 0 <= getattr(decision, name) <= decision.n_samples:
            raise FormatError(f"{name} is {getattr(decision, name)}, and not from 0 to n_samples, {decision.n_samples}")
    most_right = {"accept": decision.n_positive, "reject": decision.n_samples - decision.n_positive}
    for test in decision.sequence:
        if not test.n <= decision.n_samples - decision.n_pilot:
            raise FormatError(f"a test of the sequence has {test.n} rows, more than there are besides the pilot")
        if not 0 <= test.n_right <= min(test.n, most_right.get(test.band, 0)):
            raise FormatError(f"a test of the sequence has {test.n_right} right decisions, more than rows with that label")
        if test.passed and not test.bound * test.n <= test.n_right:
            raise FormatError(f"a test of the sequence has the bound {test.bound:g}, above the frequency of right decisions")
    for band, threshold, nothing in (("accept", "accept_above", math.inf), ("reject", "reject_below", -math.inf)):
        stated, passed = getattr(decision, threshold), [test for test in decision.sequence if test.passed and test.band == band]
        if stated != nothing and stated not in [test.threshold for test in passed]:
            raise FormatError(f"{threshold} is {stated:g}, for which the sequence has no test that passed")


def _optional(kind: JsonKind) -> JsonKind:
    """A value, or null for None."""
    return JsonKind(
        lambda value: None if value is None else kind.write(value),
        lambda value, place: None if value is None else kind.read(value, place),
    )


def _tuple_of(kind: JsonKind, length: int | None = None) -> JsonKind:
    """A list of values of a kind as a tuple, of a length where one is given."""
    listed = list_of(kind)

    def read(value: Any, place: str) -> tuple[Any, ...]:
        entries = listed.read(value, place)
        if length is not None and len(entries) != length:
            raise FormatError(f"{place} has {len(entries)} entries; {length} are expected")
        return tuple(entries)

    return JsonKind(listed.write, read)


_TEST = {"band": TEXT, "threshold": NUMBER, "n": INTEGER, "n_right": INTEGER, "bound": NUMBER, "passed": FLAG}
_MEMBERS: dict[str, JsonKind] = {
    "accept_above": unbounded(math.inf), "reject_below": unbounded(-math.inf), "precision": _optional(NUMBER),
    "npv": _optional(NUMBER), "cost": _optional(_tuple_of(NUMBER, 2)), "delta": NUMBER,
    "sequence": _tuple_of(record_of(CutTest, _TEST)), "recall": _tuple_of(NUMBER, 2), "coverage": _tuple_of(NUMBER, 2),
    "n_samples": INTEGER, "n_positive": INTEGER, "n_pilot": INTEGER, "event": TEXT,
}  # fmt: skip


def _percent(share: float) -> str:
    return f"{float(rounded_down(100.0 * share)):g} %"


def _range(ends: tuple[float, float]) -> str:
    low, high = (100.0 * end for end in ends)
    return f"{outwards(low, high, 1)} %"
