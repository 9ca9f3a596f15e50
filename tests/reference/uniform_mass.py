"""Uniform-mass binning: bins that hold equal numbers of calibration samples.

Four schemes, which differ in the ranks of the boundary samples, in the side to which a boundary belongs, and in which labels
are averaged:

=====  ==========================================  =================================  ==============================
umd    Gupta & Ramdas 2021, Algorithm 1            ranks ceil(b (n + 1) / B)          all samples but the boundaries
ze     ibid., Corollary 1 (Zadrozny & Elkan 2001)  the same                           boundaries too, in the lower bin
ums    Gupta, Podkopaev & Ramdas 2020, sec. 4.2    ranks ceil(j n1 / B) of part 1,    all samples of part 2
                                                   or where its sum of scores reaches
                                                   j / B (cuts "expected-positives")
umb    Sun, Song & Hero 2023, Definition 6         ranks floor(n b / B)               all samples
=====  ==========================================  =================================  ==============================

Where equal scores meet a boundary the tie rule decides. "random": samples of one score are ordered by keys. "upper": the edge
loses its key. "whole": edges lie between whole groups of equal scores (`reference.whole_ties`). Two rules are those of models
that were fitted earlier: "isolate", which gave a score with two or more boundaries a bin of its own, and "lower" of "umb".
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference.keys import KEY_ABOVE, KEY_BELOW, draw_labels, fingerprint
from reference.ranks import boundary_ranks
from reference.samples import Sample, check, in_fit_order
from reference.step_model import Edge, StepModel, Tally, bin_of, keep_edges_with_two_sides
from reference.whole_ties import WholeBin, whole_ties

TIES_OF_SCHEME = {
    "umd": ("whole", "random", "upper"),
    "ze": ("whole", "random", "upper"),
    "ums": ("whole", "random", "upper"),
    "umb": ("whole", "random"),
}
SCHEMES = tuple(TIES_OF_SCHEME)

# Which share of the samples places the edges of "ums" by default.
SHARES = {"equal-mass": 0.5, "expected-positives": 0.1}

# Rules of models that are only loaded today.
EARLIER_TIES = {"umd": ("isolate",), "umb": ("lower",)}


@dataclass
class Placed:
    """Where a scheme put its boundaries, and what it counts."""

    boundaries: list[Sample]
    edges: list[Edge]
    counted: list[Sample]  # where predict puts them
    counted_below: list[tuple[Sample, Edge]]  # in the bin that ends at this edge
    ties: str  # as the model records the rule
    whole: list[WholeBin] = field(default_factory=list)  # the bins, where whole groups of equal scores lie at edges


def uniform_mass(
    scores: Sequence[float],
    labels: Sequence[int],
    n_bins: int,
    scheme: str = "umd",
    ties: str = "random",
    *,
    seed: int = 0,
    split: float | None = None,
    edges_share: float = 1.0,
    cuts: str = "equal-mass",
    delta: float = 0.0,
    weights: Sequence[int] | Sequence[float] | None = None,
    keys: Sequence[int] | None = None,
    score_range: tuple[float, float] | None = (0.0, 1.0),
) -> StepModel:
    """Fit one of the four schemes.

    `weights` that are all int are frequencies (a sample is repeated), floats are importance weights: the boundaries ignore
    them and a bin's value is sum(w y) / sum(w).
    """
    _check_choice(scores, scheme, ties, edges_share, cuts, keyed=keys is not None)
    score_min, score_max = score_range if score_range is not None else (-math.inf, math.inf)
    check(scores, labels, score_min, score_max)
    ranks_of = {"umd": _umd_ranks, "ze": _umd_ranks, "umb": _umb_ranks}.get(scheme)
    at_ranks = None if ranks_of is None or edges_share < 1.0 else lambda n: ranks_of(n, n_bins)
    samples = in_fit_order(scores, labels, seed, weights, keys, at_ranks)
    weighted = weights is not None and not all(isinstance(weight, int) for weight in weights)

    if scheme == "ums":
        placed = _place_ums(samples, n_bins, ties, SHARES[cuts] if split is None else split, cuts)
    elif ties == "whole":
        placed = _place_whole(samples, n_bins, scheme, seed, edges_share, weighted=weighted)
    else:
        placed = {"umd": _place_umd, "ze": _place_ze, "umb": _place_umb}[scheme](samples, n_bins, ties)
    if keys is not None:
        _refuse_repeated_boundary_keys(samples, placed.boundaries)

    edges = keep_edges_with_two_sides(placed.edges, score_min, score_max)
    if scheme == "ums" and ties == "whole":
        edges = _without_empty_bins(edges, placed.counted)
    tally = _tally(placed, edges)
    _leave_out_cuts(tally, placed.whole, scheme)

    return StepModel.from_tally(
        edges,
        tally,
        weighted=weighted,
        n_samples=len(samples),
        n_positive=sum(sample.label for sample in samples),
        n_tied=_n_tied(samples, placed.boundaries, isolated=ties == "isolate"),
        n_bins_asked=n_bins,
        score_min=score_min,
        score_max=score_max,
        delta=delta,
        fingerprint=_fingerprint(samples, edges, ties, score_min),
        ties=placed.ties,
        tie_counts=[(b.r, b.f, b.y) for b in placed.whole] or None,
        edges_share=edges_share if placed.whole else 0.0,
    )


def _check_choice(scores: Sequence[float], scheme: str, ties: str, edges_share: float, cuts: str, *, keyed: bool) -> None:
    """Refuse what does not go together."""
    if ties not in (*TIES_OF_SCHEME[scheme], *EARLIER_TIES.get(scheme, ())):
        raise ValueError(f"scheme {scheme!r} has no ties={ties!r}")
    if edges_share < 1.0 and (ties != "whole" or scheme == "ums"):
        raise ValueError(f"edges_share={edges_share} goes with ties='whole' and no split")
    if keyed and ties == "whole":
        raise ValueError("nothing is ordered by keys")
    if cuts == "expected-positives" and (scheme != "ums" or min(scores, default=0.0) < 0.0):
        raise ValueError("sums of scores that are not negative, in one part of two")


def _tally(placed: Placed, edges: list[Edge]) -> Tally:
    tally = Tally(len(edges) + 1)
    for sample in placed.counted:
        tally.add(bin_of(edges, sample.score, sample.key), sample.label, sample.weight)
    for sample, upper_edge in placed.counted_below:
        tally.add(sum(edge < upper_edge for edge in edges), sample.label, sample.weight)
    return tally


def _place_umd(samples: list[Sample], n_bins: int, ties: str) -> Placed:
    """Gupta & Ramdas 2021, Algorithm 1: the boundary samples' labels are left out of the means.

    Bin b is [S_(k_(b-1)), S_(k_b)), a boundary score belongs to the bin above it. The last bin is unbounded: as printed
    (line 15, with S_(n+1) = 1 and a strict inequality), a score of exactly 1.0 would fall into no bin and get the value 0.

    Given the boundary samples, those strictly inside a bin are independent draws from the bin (Lemma 2), also across bins;
    this is what leaving the boundaries out buys.
    """
    boundaries = [samples[k - 1] for k in _umd_ranks(len(samples), n_bins)]
    chosen = {id(sample) for sample in boundaries}
    inside = [sample for sample in samples if id(sample) not in chosen]
    if ties != "isolate":
        edges = [(cut.score, KEY_ABOVE if ties == "upper" else cut.key) for cut in boundaries]
        return Placed(boundaries, edges, inside, [], ties)

    # A score that holds two or more boundaries becomes a bin of its own, [v, next double after v). Which scores these are
    # depends on the boundaries alone and not on labels, so the samples inside stay independent draws, and all samples with
    # that score may be used, boundaries included.
    isolated = _isolated_scores(boundaries)
    edges = []
    for cut in boundaries:
        if cut.score in isolated:
            next_score = math.nextafter(cut.score, math.inf) + 0.0  # which turns the -0.0 above -5e-324 into 0.0
            edges += [(cut.score, KEY_ABOVE), (next_score, KEY_ABOVE)]
        else:
            edges.append((cut.score, cut.key))
    freed = [cut for cut in boundaries if cut.score in isolated]
    return Placed(boundaries, edges, inside + freed, [], ties)


def _place_ze(samples: list[Sample], n_bins: int, ties: str) -> Placed:
    """Gupta & Ramdas 2021, Corollary 1: the same bins, and each boundary label is averaged in the bin below its boundary.

    A test score equal to the boundary still goes to the bin above: the two sides of Corollary 1 differ on purpose.
    """
    umd = _place_umd(samples, n_bins, ties)
    return Placed(umd.boundaries, umd.edges, umd.counted, list(zip(umd.boundaries, umd.edges, strict=True)), ties)


def _place_umb(samples: list[Sample], n_bins: int, ties: str) -> Placed:
    """Sun, Song & Hero 2023, Definition 6, equations (8) and (9): u_b = z_(floor(n b / B)), bins (u_(b-1), u_b].

    A sample is above u_b when (score, key) > u_b: the first key above is that of u_b plus one. Under ties="lower" every score
    equal to u_b is below it. (The index function printed in Definition 9 counts bins from the right; this one from the left.)
    """
    boundaries = [samples[k - 1] for k in _umb_ranks(len(samples), n_bins)]
    edges = [(cut.score, KEY_BELOW if ties == "lower" else cut.key + 1) for cut in boundaries]
    return Placed(boundaries, edges, samples, [], ties)


def _place_ums(samples: list[Sample], n_bins: int, ties: str, split: float, cuts: str) -> Placed:
    """Gupta, Podkopaev & Ramdas 2020, section 4.2: boundaries from one random part of the sample, means from the other.

    The paper's intervals are closed on both sides and overlap, and it does not say which empirical quantile it takes. Here
    q_j is the sample of rank ceil(j n1 / B) of part 1, and a boundary belongs to the bin above it, as in Algorithm 1 of
    Gupta & Ramdas 2021. A bin that part 2 leaves empty has the value 1/2.

    Bins of equal expected positives end where the scores of part 1, in their order, add up to j / B of their sum.
    """
    n1 = math.floor(split * len(samples))
    if n1 < n_bins or n1 == len(samples):
        raise ValueError(f"{n1} of {len(samples)} samples to place {n_bins} bins")
    chosen = {id(sample) for sample in _least_split_keys(samples, n1)}
    part1 = [sample for sample in samples if id(sample) in chosen]
    part2 = [sample for sample in samples if id(sample) not in chosen]
    boundaries = [part1[-((-j * n1) // n_bins) - 1] for j in range(1, n_bins)]
    if cuts == "expected-positives":
        boundaries = _cuts_of_equal_sums(part1, n_bins)
    edges = [(cut.score, cut.key if ties == "random" else KEY_ABOVE) for cut in boundaries]
    return Placed(boundaries, edges, part2, [], "upper" if ties == "whole" else ties)


def _cuts_of_equal_sums(samples: list[Sample], n_bins: int) -> list[Sample]:
    """The first sample at which the running sum of scores reaches 1 / B of the whole, 2 / B, ..."""
    running, total = [], 0.0
    for sample in samples:
        total += sample.score
        running.append(total)
    if not 0.0 < total < math.inf:
        raise ValueError(f"scores add up to {total}")
    return [next(s for s, r in zip(samples, running, strict=True) if r >= j / n_bins * total) for j in range(1, n_bins)]


def _without_empty_bins(edges: list[Edge], counted: list[Sample]) -> list[Edge]:
    """Whole ties of "ums": an edge goes if the bin above it is empty, or if nothing lies below it."""
    filled = sorted({bin_of(edges, sample.score, sample.key) for sample in counted})
    return [edges[b - 1] for b in filled[1:]]


def _place_whole(samples: list[Sample], n_bins: int, scheme: str, seed: int, edges_share: float, *, weighted: bool) -> Placed:
    """Edges between whole groups, from all samples or from a random share of them.

    If no boundary shares its score with another sample these are the bins of the paper. Otherwise all samples of a bin are
    counted; with importance weights they are all averaged, too, and nothing is drawn.
    """
    placing, ranks_of = samples, _umb_ranks if scheme == "umb" else _umd_ranks
    if edges_share < 1.0:
        placing = _least_split_keys(samples, math.floor(edges_share * len(samples)))
        _umd_ranks(len(placing), n_bins)  # refuses too few, also for "umb"
    placing = sorted(placing, key=lambda sample: (sample.score, sample.key, sample.j))
    boundaries = [placing[k - 1] for k in ranks_of(len(placing), n_bins)]
    if _n_tied(samples, boundaries, isolated=False) == 0:
        return _place_untied(samples, boundaries, scheme)
    # Labels of "ze" are counted with their own scores where there are ties, as those of "umd".
    fit = whole_ties(
        [sample.score for sample in placing], [sample.label for sample in placing], n_bins,
        "umb" if scheme == "umb" else "umd", draw=draw_labels, seed=seed, score_range=(-math.inf, math.inf),
    )  # fmt: skip
    edges = [(score, KEY_BELOW if scheme == "umb" else KEY_ABOVE) for score in fit.edges]
    if weighted:
        return Placed(boundaries, edges, samples, [], "whole", [WholeBin(0, 0, None) for _ in fit.bins])
    return Placed(boundaries, edges, _within_the_cuts(samples, fit.bins, scheme), [], "whole", fit.bins)


def _place_untied(samples: list[Sample], boundaries: list[Sample], scheme: str) -> Placed:
    edges = [(cut.score, KEY_BELOW if scheme == "umb" else KEY_ABOVE) for cut in boundaries]
    if scheme == "umb":
        return Placed(boundaries, edges, samples, [], "lower")
    chosen = {id(cut) for cut in boundaries}
    inside = [sample for sample in samples if id(sample) not in chosen]
    return Placed(boundaries, edges, inside, list(zip(boundaries, edges, strict=True)) if scheme == "ze" else [], "upper")


def _within_the_cuts(samples: list[Sample], bins: list[WholeBin], scheme: str) -> list[Sample]:
    """Without those beyond the last group that holds a cut, where the last bin ends with that group.

    Among the samples that placed the edges there are none. The bin serves such scores, but promises nothing about them.
    """
    last = bins[-1 if scheme == "umb" else 0].cut
    if last is None:
        return samples
    return [sample for sample in samples if (sample.score <= last.score if scheme == "umb" else sample.score >= last.score)]


def _leave_out_cuts(tally: Tally, bins: list[WholeBin], scheme: str) -> None:
    """Whole ties of "umd": one sample at the edge of each bin, with the label that was drawn, is not averaged."""
    for b, whole in enumerate(bins):
        if scheme == "umd" and whole.r > 0:
            tally.take_out(b, whole.y)


def _least_split_keys(samples: list[Sample], n: int) -> list[Sample]:
    """A random part of this size."""
    return sorted(samples, key=lambda sample: (sample.split_key, sample.score, sample.j))[:n]


def _umd_ranks(n: int, n_bins: int) -> list[int]:
    if n < 2 * n_bins - 1:
        raise ValueError(f"{n} samples for {n_bins} bins: fewer than 2 B - 1 leave a bin without samples")
    return boundary_ranks(n, n_bins)


def _umb_ranks(n: int, n_bins: int) -> list[int]:
    if n < n_bins:
        raise ValueError(f"{n} samples for {n_bins} bins")
    return [n * b // n_bins for b in range(1, n_bins)]


def _isolated_scores(boundaries: list[Sample]) -> set[float]:
    held = Counter(cut.score for cut in boundaries)
    return {score for score, cuts in held.items() if cuts >= 2}


def _n_tied(samples: list[Sample], boundaries: list[Sample], *, isolated: bool) -> int:
    """Samples in groups of two or more equal scores that hold a boundary, where the tie rule has to decide."""
    group_sizes = Counter(sample.score for sample in samples)
    scores = {cut.score for cut in boundaries}
    if isolated:
        scores -= _isolated_scores(boundaries)
    return sum(group_sizes[score] for score in scores if group_sizes[score] >= 2)


def _fingerprint(samples: list[Sample], edges: list[Edge], ties: str, score_min: float) -> int:
    """Counts all samples at the distinct scores of the edges, but for the double that closes the bin of an isolated score."""
    scores = {edge for edge, _ in edges}
    if ties == "isolate":
        least = max(score_min, -sys.float_info.max)
        scores -= {math.nextafter(score, math.inf) + 0.0 for score in {*scores, least}}
    return fingerprint(scores, [(sample.score, sample.label) for sample in samples])


def _refuse_repeated_boundary_keys(samples: list[Sample], boundaries: list[Sample]) -> None:
    """Two samples with one score and one key cannot be told apart by an edge that stands on them."""
    pairs = Counter((sample.score, sample.key) for sample in samples)
    for cut in boundaries:
        if pairs[cut.score, cut.key] > 1:
            raise ValueError(f"tie key {cut.key} occurs more than once at score {cut.score!r}")
