"""Which rows to label: the plan, its rounds, its state, and the model that comes of it."""

from __future__ import annotations

import json
import math
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin.decide import LabelPlan
from fastbin.guarantees.stopping import Rule, level_after_stopping, looks_of
from fastbin.intervals import clopper_pearson, sidak
from fitting import finished
from reference import plans

RNG = np.random.default_rng(29)
SCORES = RNG.random(6000)
LABELS = (RNG.random(6000) < SCORES).astype(int)
plan_labels = partial(fb.decide.plan_labels, seed=0)  # by default each plan draws one of its own


@pytest.fixture(scope="module")
def plan() -> LabelPlan:
    return finished(plan_labels(SCORES, epsilon=0.1, n_bins=5), LABELS)


# ------------------------------------------------------------------------------------------------- which rows


def test_each_plan_draws_a_seed_of_its_own_and_keeps_it() -> None:
    """Under one seed, files whose scores are alike would be labelled at the same places."""
    plans_of_one_file = [fb.decide.plan_labels(np.full(200, 0.5), budget=20, n_bins=1) for _ in range(3)]
    assert len({tuple(plan.rows().tolist()) for plan in plans_of_one_file}) == 3
    for plan in plans_of_one_file:
        assert LabelPlan.from_bytes(plan.to_bytes()).rows().tolist() == plan.rows().tolist()


def test_a_sorted_file_of_one_score_keeps_the_promise() -> None:
    """Accepted files first, then rejected ones: at one seed the same places would be labelled each time."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(100):
        labels = np.sort((rng.random(800) < 0.5).astype(int))
        made = finished(fb.decide.plan_labels(np.full(800, 0.5), budget=100, n_bins=1), labels).model_
        missed += abs(made.values[0] - 0.5) > made.certificate(0.1).epsilon
    assert missed <= 25  # 10 on average at most: more with a chance of 1e-5


@pytest.mark.parametrize(("n", "n_bins", "seed"), [(60, 3, 0), (61, 4, 7), (200, 1, 2**64 - 1)])
def test_rows_come_in_the_order_of_the_reference(n: int, n_bins: int, seed: int) -> None:
    made = plan_labels(SCORES[:n], budget=10**6, n_bins=n_bins, seed=seed)
    assert made._rows == plans.plan(SCORES[:n].tolist(), n_bins, seed)
    assert made.pool_counts.tolist() == [len(rows) for rows in made._rows]
    tied = np.floor(4.0 * SCORES[:n]) / 4.0
    assert plan_labels(tied, budget=10**6, n_bins=1, seed=seed)._rows == plans.plan(tied.tolist(), 1, seed)


def test_the_order_of_rows_does_not_matter_where_scores_differ() -> None:
    order = RNG.permutation(len(SCORES))
    one, other = plan_labels(SCORES, epsilon=0.1), plan_labels(SCORES[order], epsilon=0.1)
    assert one.rows().tolist() == order[other.rows()].tolist()
    assert plan_labels(SCORES, epsilon=0.1, seed=1).rows().tolist() != one.rows().tolist()


def test_ids_name_rows_and_make_the_order_of_tied_rows_theirs() -> None:
    ids = np.array([f"c{i}" for i in range(len(SCORES))])
    tied, order = np.round(SCORES, 2), RNG.permutation(len(SCORES))
    one, other = plan_labels(tied, epsilon=0.1, ids=ids), plan_labels(tied[order], epsilon=0.1, ids=ids[order].tolist())
    assert one.rows().tolist() == other.rows().tolist()
    assert one.rows()[0].startswith("c")
    numbers = plan_labels(SCORES, epsilon=0.1, ids=list(range(len(SCORES))))
    assert numbers.rows().tolist() == plan_labels(SCORES, epsilon=0.1).rows().tolist()


def test_tied_rows_are_taken_at_random_though_the_file_is_sorted_by_label() -> None:
    labels = np.repeat([0, 1], 5000)
    made = plan_labels(np.full(10_000, 0.5), budget=2000, n_bins=1)
    assert abs(labels[made.rows()].mean() - 0.5) < 0.05


def test_where_scores_tie_other_rows_place_the_edges() -> None:
    made = plan_labels(np.round(SCORES, 2), epsilon=0.1, n_bins=5)
    assert int(made.pool_counts.sum()) == 5400
    assert not set(made.edges.tolist()) - set(np.round(SCORES, 2).tolist())
    model = finished(made, LABELS).model_
    assert (model.scheme, model.ties) == ("ums", "upper")
    assert not any("probability of its own" in each for each in model.certificate().assumptions)
    assert plan_labels(np.full(100, 0.5), budget=20, n_bins=5).n_bins == 1


@pytest.mark.parametrize("tie", [[0.49, 0.49, 0.5], [0.49, 0.5, 0.5]], ids=["below", "above"])
def test_a_tie_on_either_side_of_a_boundary_sample_is_one(tie: list[float]) -> None:
    scores = np.array([*np.linspace(0.0, 0.4, 20), *tie, *np.linspace(0.6, 1.0, 20)])
    made = plan_labels(scores, budget=43, n_bins=2)
    assert made._design.scheme == "ums"
    assert made.pool_counts.sum() == 22  # no more than half of the rows place the edges


def test_bins_that_were_fixed_before() -> None:
    assert plan_labels([0.25, 0.5, 0.5, 0.75], budget=4, edges=[0.5]).pool_counts.tolist() == [1, 3]
    made = plan_labels(SCORES, epsilon=0.1, edges=[0.2, 0.9])
    assert made.pool_counts.tolist() == np.diff([0, *np.searchsorted(np.sort(SCORES), [0.2, 0.9]), 6000]).tolist()
    model = fb.UniformMassBinning(n_bins=4).fit(SCORES, LABELS)
    for bins in (model, model.model_):
        np.testing.assert_array_equal(plan_labels(SCORES, epsilon=0.1, edges=bins).edges, model.model_.edges)


def test_a_budget_is_shared_and_what_a_bin_lacks_goes_to_others() -> None:
    made = plan_labels(SCORES, budget=103, n_bins=5)
    assert [len(rows) for rows in made._rows] == [21, 21, 21, 20, 20]
    rare = plan_labels(SCORES, budget=100, edges=[SCORES.min() + 1e-9, 0.5])
    assert [len(rows) for rows in rare._rows] == [1, 50, 49]
    assert made.epsilon is None
    assert made.forecast == (103, 103, 103)
    done = finished(made, LABELS)
    assert done.model_.counts.tolist() == [21, 21, 21, 20, 20]
    assert done.model_.certificate().epsilon == pytest.approx(
        np.max(np.abs(done.model_.interval() - done.model_.values[:, None]))
    )
    expected = clopper_pearson(done.model_.label_sums, done.model_.counts, sidak(0.1, 5))
    np.testing.assert_allclose(done.model_.interval(), expected, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- rounds


def test_bins_stop_at_the_first_look_that_is_near_enough(plan: LabelPlan) -> None:
    level = sidak(0.1, 5)
    rule = Rule(0.1, 0.85 * level)
    for b, rows in enumerate(plan._rows):
        stopped = False
        for look in looks_of(rule):
            ones = int(LABELS[rows[:look]].sum())
            if plans.radius(ones, look, rule.level) <= 0.1:
                assert (plan.counts[b], plan.label_sums[b]) == (look, ones)
                stopped = True
                break
        assert stopped
    assert level_after_stopping(rule, level) == rule.level
    np.testing.assert_allclose(plan.model_.interval(), clopper_pearson(plan.label_sums, plan.counts, rule.level), rtol=1e-12)
    assert plan.model_.certificate().epsilon <= 0.1


def test_labels_may_come_in_parts_in_any_order_and_again() -> None:
    whole, parts = plan_labels(SCORES, epsilon=0.1, n_bins=5), plan_labels(SCORES, epsilon=0.1, n_bins=5)
    rows = whole.rows()
    whole.update(rows, LABELS[rows])
    some = rows[::-1][:50]
    parts.update(some.tolist(), LABELS[some].astype(bool))
    assert len(parts.rows()) >= len(rows) - 50
    parts.update(rows, LABELS[rows])
    assert parts == whole
    assert whole.counts.sum() == len(rows)


def test_a_bin_with_too_few_rows_is_labelled_to_its_end() -> None:
    few = SCORES[:150]
    done = finished(plan_labels(few, epsilon=0.1, n_bins=3), LABELS)
    assert done.counts.tolist() == done.pool_counts.tolist()
    assert done.model_.certificate().epsilon > 0.1
    assert f"within {np.ceil(done.model_.certificate().epsilon * 1e4) / 1e4:.4f}" in str(done)


def test_the_forecast_comes_down_and_ends_at_nothing() -> None:
    made, seen = plan_labels(SCORES, epsilon=0.1, n_bins=5), []
    known: list[int] = []
    while not made.done:
        seen.append(made.forecast)
        known.append(int(made.counts.sum()))
        assert seen[-1].least <= seen[-1].expected <= seen[-1].most
        rows = made.rows()
        made.update(rows, LABELS[rows])
    assert made.forecast == (0, 0, 0)
    assert seen[0].least <= made.counts.sum() <= seen[0].most
    assert abs(known[1] + seen[1].expected - made.counts.sum()) < 100


# ------------------------------------------------------------------------------------------------- its model


def test_the_model_says_that_the_sample_was_stratified(plan: LabelPlan) -> None:
    model = plan.model_
    np.testing.assert_array_equal(model.pool_counts, plan.pool_counts)
    np.testing.assert_array_equal(model.values, plan.label_sums / plan.counts)
    certificate = model.certificate()
    assert certificate.bound == "clopper-pearson"
    assert "Theorem F24" in certificate.theorem
    assert "all rows that the plan asked for have their labels" in certificate.explain()
    assert len(model.certificates()) == 2
    assert fb.BinnedModel.from_bytes(model.to_bytes()).certificate() == certificate


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.certificate(kind="ece"),
        lambda m: m.certificate(kind="marginal"),
        lambda m: m.certificate(kind="expected-ece"),
        lambda m: m.certificate(kind="mean-error"),
        lambda m: m.certificate(bound="common"),
        lambda m: m.certificate(bound="hull"),
        lambda m: m.certificate(about="calibration rows"),
        lambda m: m.interval(bound="hoeffding"),
        lambda m: m.interval(at="score"),
        lambda m: m.predict_set([0.5]),
        lambda m: fb.predict_venn(m, [0.5]),
        lambda m: fb.guarantees.certify_set([m, m]),
    ],
)
def test_what_would_take_it_for_a_random_sample_is_refused(plan: LabelPlan, ask: object) -> None:
    with pytest.raises(fb.GuaranteeError, match="a plan chose the labelled rows bin by bin"):
        ask(plan.model_)  # type: ignore[operator]


def test_class_rates_of_a_plan_are_its_own(plan: LabelPlan) -> None:
    with pytest.raises(fb.InputError, match=r"a plan chose the labelled rows bin by bin.*give source_rate"):
        fb.shift.LabelShift(plan.model_, method="known", target_rate=0.3).fit()


def test_other_levels_are_paid_for_and_a_model_without_its_rule_is_refused(plan: LabelPlan) -> None:
    model, rule = plan.model_, Rule(0.1, 0.85 * sidak(0.1, 5))
    level = level_after_stopping(rule, sidak(0.02, 5))
    np.testing.assert_allclose(model.interval(0.02), clopper_pearson(model.label_sums, model.counts, level), rtol=1e-12)
    parts = {
        name: getattr(model, name) for name in ("edges", "values", "counts", "label_sums", "pool_counts", "scheme", "ties")
    }
    with pytest.raises(fb.GuaranteeError, match="its provenance does not say by which plan labelling stopped"):
        fb.BinnedModel.from_parts(**parts).certificate()


def test_what_takes_a_calibrator_takes_a_plan(plan: LabelPlan) -> None:
    assert "CASE" in fb.export.sql(plan, "p", dialect="duckdb")
    assert fb.assess.check_certificate(plan, SCORES, LABELS).verdict != "contradicted"


# ------------------------------------------------------------------------------------------------- state, and what is shown


def test_the_state_goes_to_a_file_and_comes_back(plan: LabelPlan, tmp_path: Path) -> None:
    made = plan_labels(SCORES, epsilon=0.1, n_bins=5)
    rows = made.rows()[:100]
    made.update(rows, np.where(LABELS[rows] == 1, "yes", "no"), positive="yes")
    made.save(tmp_path / "plan.json")
    loaded = LabelPlan.load(tmp_path / "plan.json")
    assert loaded == made == pickle.loads(pickle.dumps(made))
    assert (loaded.event, loaded.rows().tolist()) == ("yes", made.rows().tolist())
    assert finished(loaded, LABELS).model_.label_sums.tolist() == plan.label_sums.tolist()
    assert loaded.model_.event == "yes"
    content = json.loads((tmp_path / "plan.json").read_text())
    assert content["format"] == "fastbin label plan 1"


@pytest.mark.parametrize("scores", [SCORES, np.round(SCORES, 2), np.full(6000, 0.5)], ids=["untied", "tied", "constant"])
@pytest.mark.parametrize("options", [{"epsilon": 0.1}, {"budget": 500}, {"epsilon": 0.1, "edges": [0.2, 0.7]}], ids=repr)
def test_every_plan_is_read_again(scores: np.ndarray, options: dict[str, Any]) -> None:
    made = plan_labels(scores, **options)
    while True:
        assert LabelPlan.from_bytes(made.to_bytes()) == made
        if made.done:
            break
        rows = made.rows()
        made.update(rows, LABELS[rows])


@pytest.mark.parametrize("change", [lambda s: s[:-20], lambda s: s.replace("[-1,", "[1,", 1), lambda s: "{}", lambda s: "\x00"])
def test_a_state_that_was_changed_is_refused(change: object) -> None:
    text = plan_labels(SCORES, epsilon=0.1, n_bins=5).to_bytes().decode()
    with pytest.raises(fb.FormatError, match="no plan of labels as plan_labels writes it, or were changed"):
        LabelPlan.from_bytes(change(text).encode())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *(({name: ...}, name) for name in ("n_bins_asked", "edges", "rule", "labels", "rows", "event", "alpha", "seed")),
        ({"edges": ["x", "0.4", 0.6, 0.8]}, "edges or guesses cannot be so"),
        ({"edges": [0.2, 0.4, 0.6, 1.5]}, "edges cannot be so"),
        ({"seed": None}, "event, scheme or seed cannot be so"),
        ({"labels": [[0.9]] * 5}, "labels cannot be so"),
        ({"labels": [[]] * 5, "rows": [[]] * 5}, "rows cannot be so"),
        ({"rule": [0.1, 0.999]}, "rule cannot be so"),
        ({"rule": [0.1, 0.0]}, "rule cannot be so"),
        ({"edges": [0.8, 0.6, 0.4, 0.2]}, "edges cannot be so"),
        ({"edges": [0.2, 0.4, 0.6, math.nan]}, "edges cannot be so"),
        ({"edges": [0.5]}, "lengths cannot be so"),
        ({"rule": 5}, "TypeError"),
        ({"rule": [0.9, 0.1]}, "epsilon is 0.9"),
        ({"rule": [0.1, 2.0]}, "rule cannot be so"),
        ({"labels": [[5]] * 5}, "rows cannot be so"),
        ({"labels": [[]] * 5}, "rows cannot be so"),
        ({"rows": [[1], [1], [], [], []]}, "rows cannot be so"),
        ({"rows": [[0.5], [], [], [], []]}, "rows cannot be so"),
        ({"pool_counts": [-5] * 5}, "pool_counts cannot be so"),
        ({"pool_counts": [10**30] * 5}, "OverflowError"),
        ({"pool_counts": [1080.7] * 5}, "pool_counts cannot be so"),
        ({"guesses": [2.0] * 5}, "guesses cannot be so"),
        ({"scheme": "certified"}, "scheme cannot be so"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"event": 7}, "event, scheme or seed cannot be so"),
        ({"score_range": [1, 0]}, "score_range"),
    ],
    ids=repr,
)
def test_a_plan_that_contradicts_itself_is_refused(change: dict[str, Any], told: str) -> None:
    from fastbin.decide.plans import _with_digest

    state = {**json.loads(plan_labels(SCORES, epsilon=0.1, n_bins=5).to_bytes()), **change}
    state = {name: value for name, value in state.items() if value is not ...}
    with pytest.raises(fb.FormatError, match=f"this plan contradicts itself: .*{told}"):
        LabelPlan.from_bytes(_with_digest(state))


def test_a_plan_of_a_newer_version_is_refused() -> None:
    from fastbin.decide.plans import _with_digest

    state = json.loads(plan_labels(SCORES, epsilon=0.1, n_bins=5).to_bytes())
    with pytest.raises(fb.FormatError, match="'fastbin label plan 2' of a newer fastbin"):
        LabelPlan.from_bytes(_with_digest({**state, "format": "fastbin label plan 2"}))


def test_what_is_shown(plan: LabelPlan) -> None:
    begun = plan_labels(SCORES, epsilon=0.1, n_bins=5)
    assert str(begun).startswith("0 labels are known, and 0 of 5 bins are done; about ")
    assert " to  " not in str(begun)  # of an interval that is not known
    with_gap = finished(plan_labels([0.1, 0.2, 0.8], budget=3, edges=[0.5, 0.6]), np.array([0, 1, 1]))
    assert [ends is None for ends in with_gap._intervals()] == [False, True, False]
    assert f"All 5 bins are done, with {plan.counts.sum():,} labels: with probability at least 90 %" in str(plan)
    one = plan_labels(SCORES, epsilon=0.1, n_bins=1)
    assert ", and 0 of 1 bin is done; " in str(one)
    assert str(finished(one, LABELS)).startswith("The bin is done, with ")
    assert "<table" in begun._repr_html_()
    frame = plan.to_pandas()
    assert frame["labels"].tolist() == plan.counts.tolist()
    assert frame["state"].tolist() == ["done"] * 5
    assert begun.to_pandas()["interval_lower"].isna().all()
    said = json.loads(json.dumps(begun.to_dict(), allow_nan=False))
    assert said["rows"] == begun.rows().tolist()
    assert said["forecast"]["expected"] == begun.forecast.expected


# ------------------------------------------------------------------------------------------------- a stranger's mistakes


def test_arguments_that_are_refused() -> None:
    with pytest.raises(fb.InputTypeError, match="a LabelPlan is made by plan_labels"):
        LabelPlan()
    wrong = [
        ({}, "epsilon and budget are both missing"),
        ({"epsilon": 0.1, "budget": 5}, "epsilon and budget are both given"),
        ({"epsilon": 0.001}, r"epsilon is 0.001; it must be in \[0.005, 0.5\]"),
        ({"budget": 3}, "budget is 3; it must be at least 10"),
        ({"epsilon": 0.1, "n_bins": 4000}, "too few for n_bins=4000"),
        ({"epsilon": 0.1, "ids": [1, 2]}, "lengths differ: scores has 6000, ids has 2"),
        (
            {"epsilon": 0.1, "ids": ["a", "a", *range(5998)]},
            r"ids\[1\] is 'a', which an earlier row has, too; every row needs",
        ),
        ({"epsilon": 0.1, "edges": [0.5, 0.2]}, "edges"),
        ({"epsilon": 0.1, "edges": fb.PlattScaling().fit(SCORES, LABELS)}, "edges are of a model without bins"),
    ]
    for options, message in wrong:
        with pytest.raises(fb.InputError, match=message):
            plan_labels(SCORES, **options)  # type: ignore[arg-type]
    with pytest.raises(fb.InputError, match="scores is empty; a plan chooses among rows without labels"):
        plan_labels([], epsilon=0.1)
    for ids, first in (([b"a", b"b", b"c"], "b'a'"), ([1.0, 2.0, 3.0], "1.0")):
        with pytest.raises(fb.InputTypeError, match=rf"ids\[0\] is {first}; ids are integers or text$"):
            plan_labels([0.1, 0.2, 0.3], budget=3, n_bins=1, ids=ids)
    with pytest.raises(fb.InputError, match=r"ids\[1\] is 'a\\x00'; a text must not end with NUL"):
        plan_labels([0.1, 0.2, 0.3], budget=3, n_bins=1, ids=["b", "a\0", "c"])


def test_labels_that_are_refused_change_nothing() -> None:
    made = plan_labels(SCORES, epsilon=0.1, n_bins=5)
    before, rows = made.to_bytes(), made.rows()
    stranger = next(row for row in range(6000) if row not in set(rows.tolist()))
    next_row = made._rows[0][made._asked[0]]  # of the first bin, after those that are asked for
    wrong = [
        ([next_row], [0], rf"rows\[0\] is {next_row}, which the plan has not asked for"),
        ([*rows[:3], stranger], [0, 1, 0, 1], rf"rows\[3\] is {stranger}, which the plan has not asked for; label the rows"),
        (rows[:2], [0], "lengths differ"),
        (rows[:2], [0, np.nan], r"labels\[1\] is nan; remove rows without a label"),
        (rows[:2], [0, -1], r"labels\[1\] is -1"),
        ([rows[0], rows[0]], [0, 1], rf"labels\[1\] is 1 for row {rows[0]}, whose label was 0 before"),
    ]
    for given, labels, message in wrong:
        with pytest.raises(fb.InputError, match=message):
            made.update(given, labels)
        assert made.to_bytes() == before
    with pytest.raises(fb.NotFittedError, match=f"{len(rows)} labels are still missing, of the rows that rows\\(\\) names"):
        made.model_  # noqa: B018
    made.update(rows[:2], ["yes", "no"], positive="yes")
    with pytest.raises(fb.InputError, match="positive is 'bad', and was 'yes' before"):
        made.update(rows[2:4], ["bad", "good"], positive="bad")


def test_a_number_of_bins_and_edges_exclude_each_other() -> None:
    for n_bins in (7, 10):
        refuses("InputError n_bins: is given, and edges too", plan_labels, SCORES, epsilon=0.2, edges=[0.5], n_bins=n_bins)
    assert plan_labels(SCORES, epsilon=0.2, edges=[0.5]).n_bins == 2
    assert plan_labels(SCORES, epsilon=0.2) == plan_labels(SCORES, epsilon=0.2, n_bins=10)


def test_rows_that_are_no_integers_are_named_as_such() -> None:
    made = plan_labels(SCORES, epsilon=0.2)
    rows = made.rows()
    refuses("InputTypeError rows[0]", made.update, rows.astype(float), LABELS[rows])
    refuses("InputTypeError rows[1]", made.update, [int(rows[0]), True], [0, 1])
    assert made == plan_labels(SCORES, epsilon=0.2)
    refuses("InputTypeError data", LabelPlan.from_bytes, 3)
    refuses("InputTypeError data", LabelPlan.from_bytes, made.to_bytes().decode())
