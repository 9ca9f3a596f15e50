"""From which number of samples on a promise is kept: not the first that keeps it, since promises are not monotone."""

from __future__ import annotations

import pytest

import fastbin as fb
from fastbin import theory
from fastbin.guarantees import samples_needed


def test_both_numbers_of_the_documentation() -> None:
    for kind, first, last_failing in (("conditional", 1659, 1708), ("marginal", 709, 758)):
        kept = {n: fb.epsilon(n, 10, 0.1, kind) <= 0.1 for n in range(first - 60, 2700)}
        assert min(n for n in kept if kept[n]) == first
        assert max(n for n in kept if not kept[n]) == last_failing
        assert samples_needed(0.1, 10, kind=kind) == last_failing + 1
    assert samples_needed(0.1, 10, bound="hoeffding") == 2660
    assert samples_needed(0.1, 10, kind="marginal", bound="hoeffding") == 1510


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("kind", ["conditional", "marginal"])
@pytest.mark.parametrize(("epsilon", "n_bins", "alpha"), [(0.3, 3, 0.2), (0.15, 1, 0.1), (0.2, 7, 0.05), (0.12, 2, 0.5)])
def test_it_is_the_last_failure_and_one(epsilon: float, n_bins: int, alpha: float, kind: str, scheme: str) -> None:
    enough = samples_needed(epsilon, n_bins, alpha, kind, "hoeffding", scheme=scheme)
    sizes = range(2 * n_bins, enough + 3 * n_bins)
    failing = [n for n in sizes if fb.epsilon(n, n_bins, alpha, kind, scheme=scheme) > epsilon]
    assert samples_needed(epsilon, n_bins, alpha, kind, scheme=scheme) == max(failing, default=2 * n_bins - 1) + 1
    smaller = fb.epsilon(enough - 1, n_bins, alpha, kind, "hoeffding", scheme=scheme) if enough > 2 * n_bins else 1.0
    assert smaller > epsilon >= fb.epsilon(enough, n_bins, alpha, kind, "hoeffding", scheme=scheme)


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.0151, 0.1), (0.02, 0.01), (0.011, 0.3)])
def test_large_counts_by_runs(epsilon: float, alpha: float) -> None:
    needed = samples_needed(epsilon, 1, alpha)
    assert needed > 2000
    assert theory.worst_failure(needed - 1, epsilon) > alpha
    for count in [*range(needed, needed + 300), *range(needed + 300, 2 * needed, 97)]:
        assert theory.worst_failure(count, epsilon) <= alpha


def test_choose_n_bins_says_from_where_on() -> None:
    with pytest.raises(fb.GuaranteeError, match="one bin keeps it from 75 samples on"):
        fb.choose_n_bins(50)
    assert samples_needed(0.1, 1) == 75
    assert fb.choose_n_bins(75) >= 1


def test_bad_input_is_named() -> None:
    for call, told in (
        (lambda: samples_needed(0.0, 1), "epsilon is 0.0"),
        (lambda: samples_needed(0.1, 0), "n_bins is 0"),
        (lambda: samples_needed(0.1, 1, 0.9), "did you mean 0.1"),
        (lambda: samples_needed(0.1, 1, kind="ece"), "kind is 'ece'"),
        (lambda: samples_needed(0.1, 1, bound="exact"), "it is called 'a-priori'"),
        (lambda: samples_needed(0.1, 1, scheme="ums"), "scheme is 'ums'"),
        (lambda: samples_needed(1e-9, 10), "takes more than 2\\*\\*53 samples"),
    ):
        with pytest.raises(fb.InputError, match=told):
            call()
