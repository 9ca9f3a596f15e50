"""Fitting what does not fit into memory: the passes of the fold over chunks that come again for each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError, InputTypeError
from fastbin._fit.cuts import Cuts, order_cuts
from fastbin._fit.exact_sums import WeightTally
from fastbin._fit.order import FitOrder, boundary_ranks, weigh_rows
from fastbin._fit.partition import Partition
from fastbin._fit.quantiles import Fold
from fastbin._fit.recipe import Recipe
from fastbin._fit.rows import Rows, check_rows
from fastbin.model import BinnedModel

__all__ = ["fit_chunks"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]
Chunks = Iterable[tuple[Any, ...]]

# The fold allows itself a share of the rows it is told of, and it is told of these: 2**22 gathered rows, 32 MB, whatever the
# true number, which nobody knows before the first pass.
ROWS_TO_PLAN_FOR = 2**26

SAMPLE_SIZE = 8192

# Without a number of bins from the caller, the fold prepares for so many.
BINS_TO_PLAN_FOR = 256

IMPORTANCE = "importance weights (floats)"


def fit_chunks(
    factory: Callable[[], Chunks],
    *,
    n_bins: int | str = 10,
    scheme: str = "umd",
    ties: str = "random",
    delta: float = 0.0,
    seed: int | None = 0,
    score_range: tuple[float, float] | None = (0.0, 1.0),
    monotone: bool = False,
    out_of_range: str = "refuse",
    progress: Callable[[int, int], object] | None = None,
) -> BinnedModel:
    """Fit uniform-mass binning to rows that come in chunks, over and over.

    The model is that of ``UniformMassBinning(...).fit`` on all rows at once, byte for byte, however they are divided.

    Parameters
    ----------
    factory : callable
        Called without arguments before each pass, it returns an iterable of chunks ``(scores, labels)`` or ``(scores, labels,
        sample_weight)``: array-likes of one length, as `UniformMassBinning.fit` takes them. The rows must be the same each
        time; their order and division need not.
    n_bins, scheme, ties, delta, seed, score_range, monotone, out_of_range
        As in `UniformMassBinning`. Scheme "ums" is refused: to split samples it needs them all at once.
    progress : callable, optional
        Called after each chunk with the number of the pass, from 1, and the rows seen in it.

    Returns
    -------
    BinnedModel

    Raises
    ------
    InputError
        For whatever `UniformMassBinning.fit` refuses, with positions that count from the first row of the first chunk; and
        where a pass sees other rows than the one before.

    Notes
    -----
    Two passes on scores that are neither bunched nor tied, a few more on any others, one more for importance weights. Memory:
    a chunk, the tables of the fold (a few MB), at most 2**22 gathered scores, and with importance weights the rows whose score
    is that of a boundary.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> from fastbin._fit.batches import fit_chunks
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(1000)
    >>> labels = rng.random(1000) < scores
    >>> model = fit_chunks(lambda: ((scores[i : i + 100], labels[i : i + 100]) for i in range(0, 1000, 100)))
    >>> model == fb.UniformMassBinning().fit(scores, labels).model_
    True
    """
    recipe = Recipe.check(
        n_bins=n_bins,
        scheme=scheme,
        ties=ties,
        delta=delta,
        split=0.5,
        seed=seed,
        score_range=score_range,
        monotone=monotone,
        out_of_range=out_of_range,
    )
    if recipe.scheme == "ums":
        raise InputError(
            "scheme 'ums' splits the samples at random and needs them all at once; use UniformMassBinning, or scheme 'umd', "
            "which needs no split (Gupta & Ramdas 2021)"
        )
    return _ChunkFit(factory, recipe, progress).model()


class _ChunkFit:
    """One fit. Knows what a pass must look like: how many rows, and which kind of weights."""

    def __init__(self, factory: Callable[[], Chunks], recipe: Recipe, progress: Callable[[int, int], object] | None) -> None:
        self._factory = factory
        self._recipe = recipe
        self._progress = progress
        self._n_passes = 0
        self._n_rows: int | None = None
        self._weight_kind: str | None = None

    def model(self) -> BinnedModel:
        """The fitted model."""
        wanted: list[Int64s] = []

        def ranks_of(n_samples: int) -> Int64s:
            wanted.append(boundary_ranks(n_samples, self._recipe.n_bins_for(n_samples), self._recipe.scheme))
            return wanted[-1]

        fold, limits = self._plan()
        while not fold.settled:
            for rows, _ in self._pass():
                fold.take(rows.chunks())
                if fold.bad_rows:
                    rows.refuse(bad_scores=bool(fold.bad_rows & 1))
            fold.end_pass(ranks_of)
        cuts = order_cuts(fold.groups(), wanted[-1], self._recipe.seed)
        partition = self._recipe.divide(cuts, limits)
        weighted = self._weigh(partition, cuts) if self._weight_kind == IMPORTANCE else None
        return self._recipe.model(partition, cuts, len(wanted[-1]) + 1, weighted)

    def _plan(self) -> tuple[Fold, tuple[float, float]]:
        """A fold laid out by a look at the first chunk, which decides about its speed alone, and the limits of the scores."""
        for chunk in self._factory():
            if len(_parts(chunk)[0]) > 0:
                rows, _ = self._check(chunk, 0)
                n_bins = BINS_TO_PLAN_FOR if isinstance(self._recipe.n_bins, str) else self._recipe.n_bins
                sample = rows.sample(SAMPLE_SIZE)
                return Fold(sample, ROWS_TO_PLAN_FOR, n_bins - 1, rows.limits, weighted=rows.weighted), rows.limits
        raise InputError("factory() gave no rows; a calibrator needs samples")

    def _pass(self) -> Iterator[tuple[Rows, Float64s | None]]:
        """All rows, chunk by chunk, and their importance weights."""
        self._n_passes += 1
        n_rows = 0
        for chunk in self._factory():
            if len(_parts(chunk)[0]) == 0:
                continue
            rows, weights = self._check(chunk, n_rows)
            n_rows += len(rows)
            yield rows, weights
            if self._progress is not None:
                self._progress(self._n_passes, n_rows)
        if n_rows != (self._n_rows or n_rows) or n_rows == 0:
            raise InputError(
                f"pass {self._n_passes} saw {n_rows} rows, the one before it {self._n_rows or 'some'}; factory() must give the "
                "same rows each time: return a fresh iterator from it, and leave the source alone meanwhile"
            )
        self._n_rows = n_rows

    def _check(self, chunk: tuple[Any, ...], first_row: int) -> tuple[Rows, Float64s | None]:
        scores, labels, *weight = chunk
        rows, weights = check_rows(scores, labels, weight[0] if weight else None, self._recipe.score_range, first_row)
        kind = IMPORTANCE if weights is not None else "frequencies (integers)" if rows.weighted else "nothing"
        if self._weight_kind is None:
            self._weight_kind = kind
        if kind != self._weight_kind:
            raise InputError(
                f"sample_weight holds {kind} from row {first_row} on and {self._weight_kind} before; give every chunk weights "
                "of one dtype, or none"
            )
        return rows, weights

    def _weigh(self, partition: Partition, cuts: Cuts) -> WeightTally:
        """The exact weight sums of the bins, by one pass more."""
        parts = ((rows, FitOrder(self._recipe.seed, weights, None)) for rows, weights in self._pass())
        return weigh_rows(parts, partition, cuts, self._recipe.scheme, self._recipe.ties)


def _parts(chunk: Any) -> tuple[Any, ...]:
    """The parts of a chunk, of which there must be two or three."""
    if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
        told = f"{len(chunk)} parts" if isinstance(chunk, (tuple, list)) else f"a {type(chunk).__name__}"
        raise InputTypeError(f"factory() gave {told}; a chunk is (scores, labels) or (scores, labels, sample_weight)")
    return tuple(chunk)
