"""Thresholds with a promise: as the slow twin finds them, what they decide, what they say, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from wordings import refused, refuses

import fastbin as fb
import reference.decide as slow
from fastbin._model import decision as module
from fastbin.decide import Decision, accept_threshold

N = 700


def rows(kind: str, n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels: calibrated, of few values, raw with a wave that rises and falls, piled up at zero."""
    rng = np.random.default_rng([seed, n])
    scores = rng.random(n)
    truth = scores
    if kind == "few":
        scores = truth = np.round(scores, 1)
    elif kind == "wave":
        truth = 0.5 + 0.45 * np.sin(12.0 * scores)
        scores = 40.0 * scores - 17.0
    elif kind == "zeros":
        scores = np.where(scores < 0.6, 0.0, scores)
        truth = 0.02 + 0.95 * (scores > 0.0)
    return scores, (rng.random(n) < truth).astype(np.uint8)


@pytest.fixture(scope="module")
def decision() -> Decision:
    return accept_threshold(*rows("calibrated", 4000), precision=0.8, npv=0.75)


GOALS: dict[str, dict[str, Any]] = {
    "precision": {"precision": 0.8}, "npv": {"npv": 0.8}, "both": {"precision": 0.7, "npv": 0.75},
    "overlapping": {"precision": 0.5, "npv": 0.5}, "cost": {"cost": (2.0, 1.0)}, "cheap": {"cost": (1.0, 9.0)},
}  # fmt: skip


def bands_of(goal: dict[str, Any], delta: float) -> list[tuple[str, float, float]]:
    targets = {"accept": goal.get("precision"), "reject": goal.get("npv")}
    if "cost" in goal:
        false_positive, false_negative = goal["cost"]
        total = false_positive + false_negative
        targets = {"accept": false_positive / total, "reject": false_negative / total}
    named = [(name, target) for name, target in targets.items() if target is not None]
    return [(name, target, delta / len(named)) for name, target in named]


# ------------------------------------------------------------------------------------------------- the twin


@pytest.mark.parametrize("kind", ["calibrated", "few", "wave", "zeros"])
@pytest.mark.parametrize("name", GOALS)
def test_thresholds_are_those_of_the_reference(name: str, kind: str) -> None:
    scores, labels = rows(kind)
    for seed, delta, thresholds in ((0, 0.1, None), (3, 0.02, None), (0, 0.1, [0.2, 0.75, 0.5, 0.5]), (1, 0.3, [0.61])):
        goal = GOALS[name]
        made = accept_threshold(scores, labels, **goal, delta=delta, seed=seed, thresholds=thresholds)
        above, below, tests = slow.accept_threshold(
            scores.tolist(), labels.tolist(), bands_of(goal, delta), seed=seed, thresholds=thresholds, in_slices="cost" in goal
        )
        own = [(test.band, test.threshold, test.n, test.n_right, test.passed) for test in made.sequence]
        assert (own, made.accept_above, made.reject_below) == (tests, above, below)
        kept = scores[labels == 1]
        accepts, rejects = above < math.inf, below > -math.inf
        shares = (scores > above).mean() + (scores < below).mean()
        assert made.coverage == pytest.approx(slow.massart(shares, N, delta, accepts + rejects))
        assert made.recall == pytest.approx(slow.massart((kept > above).mean(), len(kept), delta, accepts))


def test_bounds_are_clopper_and_pearson() -> None:
    """At a precision of .9 and delta .1, 95 of 100 rows must be right; the bound of a test is the end of the interval."""
    scores = np.ones(100)
    for x in range(85, 101):
        labels = np.arange(100) < x
        made = accept_threshold(scores, labels, precision=0.9, thresholds=[0.5])
        assert (made.accept_above == 0.5) == (x >= 95) == slow.passes(x, 100, 0.9, 0.1)
        (test,) = made.sequence
        assert (test.n, test.n_right) == (100, x)
        assert test.bound == pytest.approx(fb.intervals.clopper_pearson([x], [100], 0.2)[0, 0], rel=1e-9)


def test_the_order_of_rows_is_not_looked_at() -> None:
    scores, labels = rows("few")
    order = np.random.default_rng(1).permutation(N)
    made = accept_threshold(scores, labels, precision=0.7, npv=0.7)
    assert accept_threshold(scores[order], labels[order], precision=0.7, npv=0.7) == made
    assert accept_threshold(scores, labels, precision=0.7, npv=0.7, seed=1) != made


def test_the_mirror_of_a_sample_has_the_mirrored_bands() -> None:
    scores, labels = rows("calibrated", 2000)
    one = accept_threshold(scores, labels, precision=0.8, npv=0.7, thresholds=[0.64])
    other = accept_threshold(-scores, 1 - labels, precision=0.7, npv=0.8, thresholds=[-0.64])
    assert (one.accept_above, one.reject_below) == (-other.reject_below, -other.accept_above)


# ------------------------------------------------------------------------------------------------- decisions


def test_decisions_are_two_comparisons(decision: Decision) -> None:
    above, below = decision.accept_above, decision.reject_below
    assert below < above
    scores = [0.0, *np.nextafter(below, [-1, below, 2]), *np.nextafter(above, [-1, above, 2]), 1.0]
    expected = [-1, -1, 0, 0, 0, 0, 1, 1]
    made = decision.decide(scores)
    assert (made.dtype, made.tolist()) == (np.int8, expected)
    assert [decision.decide_one(float(score)) for score in scores] == expected
    assert decision.decide(np.array([0.9, 0.1], np.float32)).tolist() == [1, -1]
    assert decision.decide([]).shape == (0,)


def test_where_nothing_is_certain_every_score_abstains() -> None:
    scores, labels = rows("calibrated")
    made = accept_threshold(scores, labels, precision=0.95, npv=0.95, delta=1e-6)
    assert (made.accept_above, made.reject_below, made.recall, made.coverage) == (math.inf, -math.inf, (0.0, 0.0), (0.0, 0.0))
    assert made.decide([-1e308, 1e308]).tolist() == [0, 0]
    assert str(made).startswith("Every score abstains: the 700 rows bear out no threshold")
    assert Decision.from_json(made.to_json()) == made


def test_one_label_alone() -> None:
    scores, _ = rows("calibrated")
    accepted = accept_threshold(scores, np.ones(N), precision=0.95)
    assert accepted.decide_one(1.0) == 1
    assert accepted.recall == accepted.coverage
    none = accept_threshold(scores, np.zeros(N), precision=0.95, npv=0.95)
    assert (none.accept_above, none.recall, none.n_positive) == (math.inf, (0.0, 0.0), 0)
    assert none.decide_one(0.0) == -1


def test_equal_scores_leave_no_place_for_a_cut() -> None:
    assert accept_threshold(np.ones(N), np.ones(N), precision=0.9).sequence == ()


def test_no_score_is_accepted_and_rejected() -> None:
    for kind in ("calibrated", "few", "zeros", "wave"):
        for target in (0.3, 0.5, 0.6):
            made = accept_threshold(*rows(kind), precision=target, npv=target)
            assert made.reject_below <= made.accept_above
            passed = {(test.band, test.threshold) for test in made.sequence if test.passed}
            assert {("accept", made.accept_above), ("reject", made.reject_below)} <= passed | {
                ("accept", math.inf), ("reject", -math.inf)
            }  # fmt: skip


def test_labels_by_name_and_event() -> None:
    scores, labels = rows("calibrated")
    made = accept_threshold(scores, np.where(labels, "yes", "no"), precision=0.8, positive="yes")
    assert made == replace(accept_threshold(scores, labels, precision=0.8), event="yes")
    assert "of the accepted have the label 'yes'" in str(made)


# ------------------------------------------------------------------------------------------------- shown and kept


def test_the_sentence_and_the_views(decision: Decision) -> None:
    text = str(decision)
    assert text.startswith(f"Accept scores above {decision.accept_above}, reject scores below {decision.reject_below}, abstain")
    assert "with 90 % probability at least 80 % of the accepted have label 1 and at least 75 % of the rejected do not" in text
    assert "\n" not in text
    page = decision._repr_html_()
    assert "Theorem F21" in page
    assert page.count("<tr>") == 26  # the head, and of 39 tests the first and the last twelve
    scores, labels = rows("calibrated")
    near_one = accept_threshold(1.0 - 1e-7 * (1.0 - scores), labels, precision=0.8)
    told = float(str(near_one).split("above ")[1].split(",")[0])
    assert told == near_one.accept_above < 1.0  # a rounded one would accept nothing
    costs = accept_threshold(*rows("calibrated"), cost=(3, 1))
    assert "at 3 a false positive and 1 a false negative" in str(costs)
    assert "at least 99.9999 % of the accepted" in str(replace(decision, precision=1.0 - 1e-8))  # and not 100 %


def test_the_sequence_as_a_frame(decision: Decision) -> None:
    pytest.importorskip("pandas")
    frame = decision.to_pandas()
    assert list(frame.columns) == ["band", "threshold", "n", "n_right", "bound", "passed"]
    assert frame.bound.tolist() == [test.bound for test in decision.sequence]


def test_json_keeps_every_digit_and_has_one_text(decision: Decision) -> None:
    text = decision.to_json()
    assert Decision.from_json(text) == Decision.from_json(text.encode()) == decision
    assert list(module._MEMBERS) == [field.name for field in fields(Decision)]
    assert decision.to_dict()["sentence"] == str(decision)
    json.dumps(decision.to_dict(), allow_nan=False)


def test_a_negative_zero_is_zero() -> None:
    scores, labels = rows("wave")
    made = accept_threshold(scores, labels, precision=0.1, npv=0.1, thresholds=[-0.0])
    assert math.copysign(1.0, made.accept_above) == 1.0
    assert Decision.from_json(made.to_json()) == made


def changed(text: str, **members: Any) -> str:
    return json.dumps({**json.loads(text), **members})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"accept_above": "0.5"}, "accept_above is '0.5'"),
        ({"accept_above": 0.1}, "reject_below is above accept_above"),
        ({"delta": None}, "delta is null"),
        ({"version": 2}, "version is 2, and this fastbin reads decisions up to version 1"),
        ({"version": True}, "version is not the number of a version"),
        ({"fastbin": "model"}, "has no member 'fastbin' that says 'decision'"),
        ({"sequence": [1]}, "an object is expected"),
        ({"recall": [0.1]}, "recall has 1 entries; 2 are expected"),
        ({"more": 1}, "has a member 'more'"),
        ({"n_pilot": 1.5}, "n_pilot is 1.5"),
        ({"n_pilot": -1}, "n_pilot is -1, and not from 0 to n_samples"),
        ({"n_samples": 1}, "n_positive is "),
        ({"n_pilot": 4000, "n_samples": 4000}, "rows, more than there are besides the pilot"),
        ({"n_positive": 0}, "right decisions, more than rows with that label"),
        ({"precision": None, "npv": None}, "precision, npv and cost are all null"),
        ({"n_positive": 10**9}, "n_positive is 1000000000, and not from 0 to n_samples"),
        ({"sequence": []}, "for which the sequence has no test that passed"),
        ({"accept_above": 0.987654321}, "accept_above is 0.987654, for which the sequence has no test that passed"),
    ],
)
def test_json_that_is_no_decision_is_refused(decision: Decision, change: dict[str, Any], told: str) -> None:
    refused(fb.FormatError, told, Decision.from_json, changed(decision.to_json(), **change))


def test_other_texts_are_refused(decision: Decision) -> None:
    text = decision.to_json()
    for other, told in (
        ("", "not JSON"), (b"\xff", "not JSON"), ("[" * 100_000, "nested too deeply"), ("[]", "not a decision"),
        (text.replace(": ", ":"), "not how to_json says"),
        (text.replace('"npv"', '"delta": 0.1, "npv"'), "not how to_json says"),
        (text.replace('"delta": 0.1', '"delta": 1e999'), "delta"),
    ):  # fmt: skip
        refused(fb.FormatError, told, Decision.from_json, other)
    refuses("InputTypeError text", Decision.from_json, 3)


# ------------------------------------------------------------------------------------------------- what is refused


def test_goals_that_are_none() -> None:
    data = rows("calibrated")
    refuses("InputError: no target is given", accept_threshold, *data)
    refuses("InputError cost", accept_threshold, *data, precision=0.9, cost=(1, 1))
    for wrong in (0.0, 1.0, 95, -0.1, math.nan):
        refuses("InputError precision", accept_threshold, *data, precision=wrong)
        refuses("InputError npv", accept_threshold, *data, npv=wrong)
    refuses("InputTypeError precision", accept_threshold, *data, precision="0.9")
    for cost in (1.0, (1.0,), "12", (1, 2, 3)):
        refuses("InputTypeError cost", accept_threshold, *data, cost=cost)
    refuses("InputError cost[1]", accept_threshold, *data, cost=(1.0, 0.0))
    refuses("InputError cost[0]", accept_threshold, *data, cost=(math.inf, 1.0))
    refuses("InputError cost", accept_threshold, *data, cost=(1e300, 1e-300))
    refuses("InputError cost", accept_threshold, *data, cost=(1.7e308, 1.7e308))
    refuses("InputError delta", accept_threshold, *data, precision=0.9, delta=0.95)
    refuses("InputError seed", accept_threshold, *data, precision=0.9, seed=-1)


def test_rows_that_are_none() -> None:
    scores, labels = rows("calibrated")
    refuses("InputError scores[3]", accept_threshold, np.where(np.arange(N) == 3, np.nan, scores), labels, precision=0.9)
    refuses("InputError labels[2]", accept_threshold, scores, np.where(np.arange(N) == 2, 2, labels), precision=0.9)
    refuses("InputError: lengths differ", accept_threshold, scores, labels[1:], precision=0.9)
    refuses("InputError scores", accept_threshold, [], [], precision=0.9)
    refuses("InputError thresholds[1]", accept_threshold, scores, labels, precision=0.9, thresholds=[0.1, math.inf])
    with pytest.raises(fb.InputError, match=r"^thresholds\[0\] is nan; thresholds are finite numbers$"):
        accept_threshold(scores, labels, precision=0.9, thresholds=[math.nan])
    refuses("InputError thresholds", accept_threshold, scores, labels, precision=0.9, thresholds=[])
    refuses("InputTypeError thresholds", accept_threshold, scores, labels, precision=0.9, thresholds=0.5)


def test_too_few_rows_for_any_threshold_are_refused_with_the_number_needed() -> None:
    """22 rows of label 1 alone bear out .9 at level .1, and 21 do not."""
    refused(
        fb.GuaranteeError, r"0\.9 at level 0\.1 takes 22 rows .* and 21 are tested", accept_threshold,
        np.arange(21.0), np.ones(21), precision=0.9, thresholds=[-1.0],
    )  # fmt: skip
    assert accept_threshold(np.arange(22.0), np.ones(22), precision=0.9, thresholds=[-1.0]).accept_above == -1.0


def test_decisions_refuse_what_is_no_score(decision: Decision) -> None:
    refuses("InputError scores[1]", decision.decide, [0.5, math.nan])
    refuses("InputError score", decision.decide_one, math.nan)
    refuses("InputTypeError score", decision.decide_one, "0.5")


def test_a_model_carries_no_decision_about_another_event() -> None:
    scores = np.arange(400) / 400.0
    labels = scores > 0.6
    words = np.where(labels, "good", "bad")
    model = fb.UniformMassBinning(2).fit(scores, words, positive="good").model_
    bare = fb.UniformMassBinning(2).fit(scores, labels).model_
    decision = accept_threshold(scores, labels, precision=0.8)
    refuses("InputError decision", model.with_decision, replace(decision, event="bad"))
    for of, event in ((model, "good"), (model, ""), (bare, "bad"), (bare, "")):
        assert of.with_decision(replace(decision, event=event)).decision.event == event
