"""The reference of uniform-mass binning: cases computed elsewhere, worked examples, and the invariants that define it."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

import oracle
import reference
from oracle import Case, close
from reference import uniform_mass
from reference.keys import KEY_ABOVE, KEY_BELOW, MAX_KEY, draw_labels, key_from_float
from reference.samples import in_fit_order
from reference.uniform_mass import boundary_ranks
from reference.whole_ties import whole_ties

EXAMPLE_SCORES = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
EXAMPLE_LABELS = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]

SCHEME_AND_TIES = [
    (scheme, ties) for rules in (reference.TIES_OF_SCHEME, reference.EARLIER_TIES) for scheme in rules for ties in rules[scheme]
]
WITH_KEYS = [(scheme, ties) for scheme, ties in SCHEME_AND_TIES if ties != "whole"]


def means_or_none(model: reference.StepModel) -> list[Fraction | None]:
    return [value if count else None for value, count in zip(model.exact_values, model.counts, strict=True)]


# ------------------------------------------------------------------------------------------------- cases


def float_keys(floats: list[float] | None) -> list[int] | None:
    return None if floats is None else [key_from_float(u) for u in floats]


@oracle.cases("umd_cuts")
def test_boundary_ranks(case: Case) -> None:
    n, n_bins = case.inputs["n"], case.inputs["B"]
    ranks = [0, *boundary_ranks(n, n_bins), n + 1]
    assert ranks == case.expected["k"]
    assert [high - low - 1 for low, high in itertools.pairwise(ranks)] == case.expected["interior"]


@oracle.cases("umd", "umd_original")
def test_umd_and_ze(case: Case) -> None:
    given = case.inputs
    scheme = "umd" if case.method == "umd" else "ze"
    model = uniform_mass(given["scores"], given["labels"], given["B"], scheme, keys=float_keys(given["keys"]))
    assert model.edges == [score for score, _ in case.expected["cuts"]]
    if given["keys"] is not None:
        assert model.edge_keys == [key_from_float(key) for _, key in case.expected["cuts"]]
    assert model.counts == case.expected["counts"]
    assert model.label_sums == case.expected["sums"]
    assert close(model.exact_values, case.expected["means"], case.tolerance)
    # Without keys the queries that equal a boundary belong above it.
    query_keys = float_keys(given["query_keys"]) or [MAX_KEY] * len(given["queries"])
    assert [b + 1 for b in model.assign(given["queries"], query_keys)] == case.expected["query_bins"]
    assert close(model.predict(given["queries"], query_keys), case.expected["query_values"], case.tolerance)


@oracle.cases("umd_error")
def test_umd_refuses_bins_that_would_be_empty(case: Case) -> None:
    n = case.inputs["n"]
    for scheme in ("umd", "ze"):
        with pytest.raises(ValueError, match="2 B - 1"):
            uniform_mass([i / n for i in range(n)], [i % 2 for i in range(n)], case.inputs["B"], scheme)


@oracle.cases("umd_tieaware")
def test_isolated_ties(case: Case) -> None:
    given = case.inputs
    model = uniform_mass(given["scores"], given["labels"], given["B"], ties="isolate", keys=float_keys(given["keys"]))
    # Bins that no score can fall into, below the least score or above the greatest, are not bins of a model.
    expected = [(row["sum"], row["count"]) for row in case.expected["bins"] if row["count"] > 0]
    tallied = zip(model.label_sums, model.counts, strict=True)
    assert [(label_sum, count) for label_sum, count in tallied if count > 0] == expected
    for score in case.expected["heavy"]:
        own_bin = {model.assign_one(score, key) for key in (0, 2**63, MAX_KEY)}
        assert len(own_bin) == 1
        assert not model.needs_key(score)
        assert model.assign_one(math.nextafter(score, 1.0), 0) == own_bin.pop() + 1


@oracle.cases("umb")
def test_umb(case: Case) -> None:
    given, u = case.inputs, case.expected["u"]
    model = uniform_mass(given["scores"], given["labels"], given["B"], "umb", "lower")
    assert model.edges == sorted(set(u))
    # Equal boundaries enclose an empty bin, which the model does not carry.
    kept = [b for b in range(len(u) + 1) if b == 0 or b == len(u) or u[b] != u[b - 1]]
    assert model.counts == [case.expected["counts"][b] for b in kept]
    assert close(means_or_none(model), [case.expected["means"][b] for b in kept], case.tolerance)
    assert [kept[b] + 1 for b in model.assign(given["queries"])] == case.expected["query_bins"]


@oracle.cases("ums")
def test_ums(case: Case) -> None:
    """The scheme draws its own parts and the case gives them: so part 2 is binned on edges taken from part 1 by hand."""
    given = case.inputs
    part1 = sorted(given["scores1"])
    n1, n_bins = len(part1), given["B"]
    assert [part1[math.ceil(Fraction(j * n1, n_bins)) - 1] for j in range(1, n_bins)] == case.expected["q"]
    model = reference.explicit_edges(given["scores2"], given["labels2"], case.expected["q"])
    assert model.counts == case.expected["counts"]
    assert close(means_or_none(model), case.expected["means"], case.tolerance)


@pytest.mark.parametrize("seed", range(5))
def test_ums_takes_edges_and_means_from_the_parts_of_its_split(seed: int) -> None:
    rng = random.Random(seed)
    scores = [rng.random() for _ in range(40)]
    labels = [int(rng.random() < score) for score in scores]
    model = uniform_mass(scores, labels, 4, "ums", seed=seed, split=0.3)
    digest = reference.keys.rows_digest(seed, [(score, label, 1.0) for score, label in zip(scores, labels, strict=True)])
    by_split_key = sorted(zip(scores, labels, strict=True), key=lambda pair: reference.split_key(digest, pair[0], 0))
    part1, part2 = sorted(score for score, _ in by_split_key[:12]), by_split_key[12:]
    assert model.edges == [part1[2], part1[5], part1[8]]
    assert sum(model.counts) == 28
    again = reference.explicit_edges([score for score, _ in part2], [label for _, label in part2], model.edges)
    assert (model.counts, model.label_sums) == (again.counts, again.label_sums)


# ------------------------------------------------------------------------------------------------- examples


def test_worked_example() -> None:
    umd = uniform_mass(EXAMPLE_SCORES, EXAMPLE_LABELS, 3)
    assert umd.edges == [0.33, 0.74]
    assert umd.exact_values == [Fraction(1, 3), Fraction(2, 3), 1]
    assert umd.counts == [3, 3, 2]
    assert umd.predict([0.33, 1.0], tie_keys=[MAX_KEY, 0]) == [2 / 3, 1.0]
    assert uniform_mass(EXAMPLE_SCORES, EXAMPLE_LABELS, 3, "ze").exact_values == [Fraction(1, 4), Fraction(3, 4), 1]

    umb = uniform_mass(EXAMPLE_SCORES, EXAMPLE_LABELS, 3, "umb")
    assert umb.edges == [0.2, 0.58]
    assert umb.exact_values == [Fraction(1, 3), Fraction(1, 3), 1]
    assert umb.counts == [3, 3, 4]


def test_the_key_decides_at_an_edge() -> None:
    model = uniform_mass(EXAMPLE_SCORES, EXAMPLE_LABELS, 3, seed=11)
    (edge, edge_key) = model.edge_pairs[0]
    assert [model.assign_one(edge, key) for key in (0, edge_key - 1, edge_key, MAX_KEY)] == [0, 0, 1, 1]
    assert model.assign_one(math.nextafter(edge, 0.0), MAX_KEY) == 0
    assert model.assign_one(math.nextafter(edge, 1.0), 0) == 1
    assert model.needs_key(edge)
    assert not model.needs_key(0.5)


def test_the_key_reserved_for_edges_counts_as_the_greatest_key() -> None:
    model = uniform_mass([0.5] * 6, [0, 1, 0, 1, 0, 1], 2, "umb", "lower")
    assert model.edge_pairs == [(0.5, 2**64 - 1)]
    assert model.assign([0.5, 0.5], tie_keys=[0, 2**64 - 1]) == [0, 0]


def test_ties_upper_and_lower_need_no_key() -> None:
    scores, labels = [0.2] * 4 + [0.4] * 8 + [0.8] * 4, [0, 1] * 8
    upper = uniform_mass(scores, labels, 4, ties="upper")  # ranks 5, 9, 13
    assert upper.edge_pairs == [(0.4, KEY_ABOVE), (0.8, KEY_ABOVE)]
    assert (upper.n_bins, upper.n_bins_asked) == (3, 4)
    assert upper.counts == [4, 6, 3]  # two boundaries at 0.4, one at 0.8
    assert upper.n_tied == 12
    lower = uniform_mass(scores, labels, 4, "umb", "lower")  # ranks 4, 8, 12
    assert lower.edge_pairs == [(0.2, KEY_BELOW), (0.4, KEY_BELOW)]
    assert lower.counts == [4, 8, 4]
    assert lower.n_tied == 12
    assert not any(model.needs_key(score) for model in (upper, lower) for score in scores)


def test_ze_counts_each_boundary_once_below_its_edge() -> None:
    scores, labels = [0.1, 0.1, 0.4, 0.4, 0.4, 0.9, 0.9], [1, 0, 1, 1, 0, 1, 0]
    random_ties = uniform_mass(scores, labels, 3, "ze", seed=5)
    assert random_ties.counts == [3, 3, 1]
    upper = uniform_mass(scores, labels, 3, "ze", "upper", seed=5)
    assert upper.edge_pairs == [(0.4, KEY_ABOVE), (0.9, KEY_ABOVE)]
    assert upper.counts == [3, 3, 1]  # the boundary at 0.4 below 0.4, the one at 0.9 below 0.9


def test_edges_with_an_empty_side_are_dropped() -> None:
    lowest = uniform_mass([0.0] * 9, [0, 1, 1] * 3, 3, ties="upper")
    assert (lowest.edges, lowest.counts) == ([], [7])
    assert uniform_mass([0.0] * 9, [0, 1, 1] * 3, 3, "ze", "upper").counts == [9]
    isolated = uniform_mass([1.0] * 9, [0, 1, 1] * 3, 3, ties="isolate")
    assert (isolated.edge_pairs, isolated.counts, isolated.label_sums) == ([(1.0, KEY_ABOVE)], [0, 9], [0, 6])
    assert isolated.values == [0.5, 6 / 9]
    assert uniform_mass([1.0] * 4, [0, 1, 1, 1], 2, "umb", "lower").edges == []
    unbounded = uniform_mass([0.0] * 9, [0, 1, 1] * 3, 3, ties="upper", score_range=None)
    assert (unbounded.edges, unbounded.counts) == ([0.0], [0, 7])
    greatest = math.nextafter(math.inf, 0.0)
    for score, edges in ((greatest, [greatest]), (-greatest, [math.nextafter(-greatest, 0.0)])):
        assert uniform_mass([score] * 9, [0, 1, 1] * 3, 3, ties="isolate", score_range=None).edges == edges


def test_isolated_neighbours() -> None:
    """Scores one step apart, each a bin of its own: the upper end of one is the lower end of the next."""
    below, above = 0.5, math.nextafter(0.5, 1.0)
    model = uniform_mass([below] * 10 + [above] * 10, [0] * 10 + [1] * 10, 5, ties="isolate")
    assert model.edge_pairs == [(below, KEY_ABOVE), (above, KEY_ABOVE), (math.nextafter(above, 1.0), KEY_ABOVE)]
    assert model.counts == [0, 10, 10, 0]
    assert model.values == [0.5, 0.0, 1.0, 0.5]
    assert model.n_tied == 0


def test_no_edge_is_negative_zero() -> None:
    for scores in ([-0.0] * 5 + [0.5] * 5, [-5e-324] * 8 + [0.5] * 2):
        model = uniform_mass(scores, [0, 1] * 5, 4, ties="isolate", score_range=None)
        assert 0.0 in model.edges
        assert all(math.copysign(1.0, edge) == 1.0 for edge in model.edges if edge == 0.0)


def test_a_constant_score_keeps_its_mean() -> None:
    """However ties fall, the values average to the share of label 1: peers give .343, .313 and .197 here."""
    labels = ([1] * 3 + [0] * 7) * 30
    for ties in ("random", "upper", "isolate"):
        model = uniform_mass([0.3] * 300, labels, 3, ties=ties)
        mean = sum(Fraction(label_sum) for label_sum in model.label_sums) / sum(model.counts)
        assert abs(mean - Fraction(3, 10)) < Fraction(1, 100)


def test_float_weights_average_exactly() -> None:
    # 1e16 + 1 + 1 + ... is lost in a running sum of doubles.
    scores = [0.1] * 5 + [0.9] * 5
    weights = [1e16, 1.0, 1.0, 1.0, 3.0] * 2
    labels = [1, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    model = uniform_mass(scores, labels, 1, weights=weights)
    assert model.weight_sums == [2e16 + 12.0]
    assert model.weighted_label_sums == [1e16 + 6.0]
    assert model.weight_square_sums == [2e32]
    assert model.values == [(1e16 + 6.0) / (2e16 + 12.0)]
    assert (model.counts, model.label_sums) == ([10], [5])


def test_a_bin_without_weight_has_no_mean() -> None:
    model = uniform_mass([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [1] * 6, 2, weights=[0.0, 0.0, 0.0, 0.0, 2.0, 1.0])
    assert model.values == [0.5, 1.0]
    assert model.counts == [3, 2]


def test_delta_randomises_values() -> None:
    model = uniform_mass(EXAMPLE_SCORES, EXAMPLE_LABELS, 3, delta=0.25)
    predictions = model.predict([0.5] * 200, tie_keys=[reference.row_key(9, row) for row in range(200)])
    assert len(set(predictions)) == 200
    assert all(2 / 3 / 1.25 <= value < (2 / 3 + 0.25) / 1.25 for value in predictions)
    assert model.predict([0.5] * 200, seed=9) == predictions
    assert model.needs_key(0.5)


@pytest.mark.parametrize(("scheme", "ties"), WITH_KEYS)
def test_repeated_tie_keys_at_a_boundary_are_refused(scheme: str, ties: str) -> None:
    with pytest.raises(ValueError, match="more than once"):
        uniform_mass([0.5] * 12, [0, 1] * 6, 2, scheme, ties, keys=[7] * 12)
    # Away from the boundaries a repeated key does no harm.
    model = uniform_mass([0.1] * 6 + [0.5] * 6, [0, 1] * 6, 1, scheme, ties, keys=[7] * 12)
    assert model.n_bins == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.0000001])
def test_bad_scores_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"scores\[1\]"):
        uniform_mass([0.1, bad, 0.3], [0, 1, 1], 1)
    model = uniform_mass([0.1, 0.2, 0.3], [0, 1, 1], 1)
    with pytest.raises(ValueError, match="outside"):
        model.predict([bad])


# ------------------------------------------------------------------------------------------------- invariants


def tied_sample(seed: int, n: int, n_levels: int) -> tuple[list[float], list[int]]:
    rng = random.Random(seed)
    scores = [rng.randrange(n_levels) / n_levels for _ in range(n)]
    return scores, [int(rng.random() < score) for score in scores]


@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
def test_row_order_does_not_matter(scheme: str, ties: str, weighting: str) -> None:
    for seed in range(10):
        rng = random.Random(seed)
        scores, labels = tied_sample(seed, 30, 4)
        weights = {
            "none": None,
            "integer": [rng.randrange(4) for _ in scores],
            "float": [rng.choice([0.1, 0.7, 3.0]) for _ in scores],
        }[weighting]
        if weighting == "integer":
            weights[0] = 20  # enough samples, however many weights are 0
        expected = uniform_mass(scores, labels, 4, scheme, ties, seed=seed, weights=weights)
        order = rng.sample(range(30), 30)
        moved = [weights[i] for i in order] if weights is not None else None
        again = uniform_mass([scores[i] for i in order], [labels[i] for i in order], 4, scheme, ties, seed=seed, weights=moved)
        assert again == expected


@pytest.mark.parametrize(("scheme", "ties"), WITH_KEYS)
def test_row_order_does_not_matter_with_the_callers_keys(scheme: str, ties: str) -> None:
    scores, labels = tied_sample(1, 30, 4)
    keys = random.Random(2).sample(range(10**6), 30)
    expected = uniform_mass(scores, labels, 4, scheme, ties, keys=keys)
    order = random.Random(3).sample(range(30), 30)
    moved = [[column[i] for i in order] for column in (scores, labels, keys)]
    again = uniform_mass(moved[0], moved[1], 4, scheme, ties, keys=moved[2])
    assert again == expected


@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
def test_integer_weights_are_repetition(scheme: str, ties: str) -> None:
    for seed in range(10):
        rng = random.Random(seed)
        scores, labels = tied_sample(seed, 20, 5)
        weights = [rng.randrange(4) for _ in scores]
        repeated = [i for i, weight in enumerate(weights) for _ in range(weight)]
        expected = uniform_mass([scores[i] for i in repeated], [labels[i] for i in repeated], 3, scheme, ties, seed=seed)
        assert uniform_mass(scores, labels, 3, scheme, ties, seed=seed, weights=weights) == expected


@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
def test_equal_float_weights_change_nothing(scheme: str, ties: str) -> None:
    scores, labels = tied_sample(5, 40, 6)
    plain = uniform_mass(scores, labels, 4, scheme, ties, seed=5)
    weight = 1.0 if scheme == "ums" else 0.5  # a split is seeded by a digest of the rows, weights included
    weighted = uniform_mass(scores, labels, 4, scheme, ties, seed=5, weights=[weight] * 40)
    assert weighted.edge_pairs == plain.edge_pairs
    if plain.ties == "whole":  # without weights a boundary may be left out, with weights none is
        left_out = [int(r > 0 and scheme == "umd") for r, _, _ in plain.tie_counts]
        assert weighted.counts == [count + one for count, one in zip(plain.counts, left_out, strict=True)]
        assert weighted.values == [x / n for x, n in zip(weighted.label_sums, weighted.counts, strict=True)]
        assert weighted.tie_counts == [(0, 0, 0)] * plain.n_bins
        assert weighted.n_tied == plain.n_tied
        return
    assert weighted.values == plain.values
    assert (weighted.counts, weighted.label_sums, weighted.n_tied) == (plain.counts, plain.label_sums, plain.n_tied)


@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
@pytest.mark.parametrize("n", [9, 10, 33])
def test_counts_add_up(scheme: str, ties: str, n: int) -> None:
    """Every scheme averages what it says it averages, once each."""
    for seed in range(20):
        scores, labels = tied_sample(seed, n, 3 + seed)
        model = uniform_mass(scores, labels, 4 if n == 33 else 2, scheme, ties, seed=seed)
        n_boundaries = model.n_bins_asked - 1
        if scheme == "ums":
            assert sum(model.counts) == n - n // 2
        elif scheme == "umd" and model.ties == "whole":
            assert sum(model.counts) == n - sum(r > 0 for r, _, _ in model.tie_counts)
        elif scheme == "umd" and ties != "isolate":
            assert sum(model.counts) == n - n_boundaries
        elif scheme == "umd":
            assert n - n_boundaries <= sum(model.counts) <= n
        else:
            assert (sum(model.counts), sum(model.label_sums)) == (n, sum(labels))
        assert (model.n_samples, model.n_positive) == (n, sum(labels))
        assert model.edge_pairs == sorted(model.edge_pairs)


@pytest.mark.parametrize("n_bins", range(1, 9))
def test_bins_hold_at_least_what_the_proof_needs(n_bins: int) -> None:
    for n in range(2 * n_bins - 1, 70):
        scores = [i / n for i in range(n)]
        model = uniform_mass(scores, [0] * n, n_bins)
        assert model.n_bins == n_bins
        assert min(model.counts) >= (n + 1) // n_bins - 1 >= 1
        assert len(set(model.counts)) <= 2
        assert sum(model.counts) == n - n_bins + 1


def test_predict_puts_the_samples_where_the_fit_counted_them() -> None:
    """With the keys of the fit, predict gives each counted sample its bin, and each boundary the bin above it."""
    for seed in range(20):
        scores, labels = tied_sample(seed, 25, 3)
        model = uniform_mass(scores, labels, 4, seed=seed)
        samples = in_fit_order(scores, labels, seed, ranks_of=lambda n: boundary_ranks(n, 4))
        bins = [model.assign_one(sample.score, sample.key) for sample in samples]
        assert bins == sorted(bins)
        held = [bins.count(b) for b in range(4)]
        assert [held[0], *(count - 1 for count in held[1:])] == model.counts


def test_labels_do_not_move_random_boundaries_when_scores_are_distinct() -> None:
    scores = [i / 31 for i in range(31)]
    assert uniform_mass(scores, [0] * 31, 5).edges == uniform_mass(scores, [1] * 31, 5).edges


# ------------------------------------------------------------------------------------------------- whole ties


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_whole_ties_are_those_of_the_theorem(scheme: str) -> None:
    """The model says what `reference.whole_ties` says, which works on counts alone."""
    n_tied = 0
    for seed in range(30):
        scores, labels = tied_sample(seed, 60, 5 + 10 * seed)
        model = uniform_mass(scores, labels, 4, scheme, "whole", seed=seed)
        expected = whole_ties(scores, labels, 4, scheme, draw=draw_labels, seed=seed)
        assert (model.edges, model.counts, model.label_sums) == (expected.edges, expected.counts, expected.label_sums)
        assert (model.exact_values, model.n_tied) == (expected.values, expected.n_tied)
        assert model.tie_counts == (expected.tie_counts if expected.n_tied else None)
        assert model.ties == ("whole" if expected.n_tied else "lower" if scheme == "umb" else "upper")
        queries = [i / 400 for i in range(401)]
        assert model.assign(queries) == [expected.bin_of(score) for score in queries]
        n_tied += expected.n_tied > 0
    assert 10 < n_tied < 30


def test_edges_of_a_share_by_hand() -> None:
    """Nine samples of two scores. Which five place the edge is drawn; all nine are averaged."""
    scores, labels = [0.25] * 5 + [0.75] * 4, [1, 0, 0, 0, 0, 1, 1, 1, 0]
    seen = set()
    for seed in range(60):
        model = uniform_mass(scores, labels, 2, "umd", "whole", seed=seed, edges_share=5 / 9)
        chosen = sorted(in_fit_order(scores, labels, seed), key=lambda sample: sample.split_key)[:5]
        low = sum(sample.score == 0.25 for sample in chosen)
        # The boundary has the rank 3 of 5, of which at least one is low.
        at = [sample.label for sample in chosen if sample.score == (0.25 if low >= 3 else 0.75)]
        r = 3 if low >= 3 else 3 - low
        (_, f, y) = model.tie_counts[-1]
        assert model.tie_counts[-1][0] == r
        assert max(0, r - at.count(0)) <= f <= min(r, sum(at))
        assert y == 0 or f > 0
        assert y == 1 or f < r
        if low >= 3:
            assert model.edges == []
            assert (model.counts, model.label_sums) == ([8], [4 - y])
        else:
            assert model.edges == [0.75]
            assert (model.counts, model.label_sums) == ([5, 3], [1, 3 - y])
        seen.add(low)
    assert seen == {1, 2, 3, 4}


def test_whole_ties_of_a_split_have_no_empty_bin() -> None:
    n_merged = 0
    for seed in range(40):
        scores, labels = tied_sample(seed, 12, 8)
        model, upper = (uniform_mass(scores, labels, 5, "ums", ties, seed=seed) for ties in ("whole", "upper"))
        assert model.ties == "upper"
        assert min(model.counts) > 0
        assert model.counts == [count for count in upper.counts if count]
        assert model.label_sums == [ones for ones, count in zip(upper.label_sums, upper.counts, strict=True) if count]
        assert set(model.edges) <= set(upper.edges)
        n_merged += model.n_bins < upper.n_bins
    assert n_merged > 10
