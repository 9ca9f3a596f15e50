"""Fits as the property tests make them: of any data set, with refusal as an outcome."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import fastbin as fb
from reference import StepModel
from strategies import CalibrationData

# The warning of fits whose bins cannot be as many as was asked for, one probability for each score.
FEWER_BINS = "ignore:ties='whole' left:fastbin.FastbinWarning"


def bare(model: Any) -> Any:
    """The same model, or set, without event and provenance: to compare fits that differ in these alone."""
    if isinstance(model, fb.ModelSet):
        return fb.ModelSet._of(
            {key: bare(own) for key, own in model.models.items()}, kind=model.kind, unknown=model.unknown,
            pool=None if model.pool is None else bare(model.pool), pooled_cells=model.pooled_cells, columns=model.columns,
        )  # fmt: skip
    return model._with_texts(b"", b"")


def as_loaded(model: StepModel, scheme: str, seed: int = 0) -> fb.BinnedModel:
    """A model of the reference, by its parts: as those with a tie rule that only earlier versions fitted come, from files."""
    names = ("weight_sums", "weighted_label_sums", "weight_square_sums", "tie_counts")
    given = {name: getattr(model, name) for name in names if getattr(model, name) is not None}
    same = ("edges", "values", "counts", "label_sums", "n_samples", "n_positive", "n_tied", "n_bins_asked", "delta", "ties")
    score_range = None if model.score_max == float("inf") else (model.score_min, model.score_max)
    return fb.BinnedModel.from_parts(
        **given, **{name: getattr(model, name) for name in same}, edge_keys=np.array(model.edge_keys, np.uint64), scheme=scheme,
        seed=seed, score_range=score_range, fingerprint=model.fingerprint, edges_share=model.edges_share,
    )  # fmt: skip


def assert_same_bits(actual: Any, expected: Sequence[float] | None, what: str = "") -> None:
    """Doubles that differ in the sign of a zero, or in the last bit, differ."""
    assert (actual is None) == (expected is None), what
    if expected is not None:
        assert actual.dtype == np.float64, what
        assert np.array_equal(actual.view(np.uint64), np.array(expected, np.float64).view(np.uint64)), what


def assert_same_model(model: fb.BinnedModel, expected: StepModel, *others: str) -> None:
    """All bits of edges, values and weights, all counts, and what is named beside them."""
    for name in ("edges", "values", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        assert_same_bits(getattr(model, name), getattr(expected, name), name)
    for name in ("edge_keys", "counts", "label_sums"):
        assert getattr(model, name).tolist() == getattr(expected, name), name
    for name in ("n_samples", "n_positive", "n_tied", "n_bins", "n_bins_asked", *others):
        assert getattr(model, name) == getattr(expected, name), name


def fit(calibrator: Any, data: CalibrationData, layout: str = "contiguous") -> Any:
    """The fitted calibrator; ``None`` where it refused, or warned that a maximum is missing. Any other error goes through."""
    try:
        return calibrator.fit(**data.arrays(layout))
    except fb.InputError:
        return None
    except fb.FastbinWarning as warning:
        if "temperatures are ever more likely" in str(warning):
            return None
        raise


def quietly(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result, whatever is warned of; ``None`` for a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.FastbinWarning)
        try:
            return call(*arguments, **options)
        except fb.InputError:
            return None


def finished(plan: Any, labels: Any) -> Any:
    """The plan of labels, when it has those of all rows that it asked for."""
    while not plan.done:
        rows = plan.rows()
        plan.update(rows, labels[rows])
    return plan


@cache
def some_map(word: str) -> fb.BinnedModel | None:
    """An increasing smooth map that came from other samples; ``None`` for "none"."""
    scores, labels = [0.1, 0.3, 0.35, 0.6, 0.8, 0.85, 0.9], [0, 1, 0, 0, 1, 1, 1]
    scalers = {"platt": fb.PlattScaling(), "temperature": fb.TemperatureScaling(), "beta": fb.BetaScaling()}
    return None if word == "none" else scalers[word].fit(scores, labels).model_


def promise_suffers(model: fb.BinnedModel) -> bool:
    """Whether ties took so many bins, or are so heavy at an edge, that a fit warns; by the definition, bin by bin."""
    if model.n_bins >= model.n_bins_asked:
        return False
    placed = [0] * model.n_bins if model.tie_counts is None else model.tie_counts[:, 0].tolist()
    placed[-1 if model.scheme == "umb" else 0] = 0  # no edge is written there, and all samples count (Theorem F14)
    counts = model.counts.tolist()
    return model.n_bins <= model.n_bins_asked / 2 or any(
        count - r < count / 2 or (count - r) * model.n_bins_asked < sum(counts) / 2
        for count, r in zip(counts, placed, strict=True)
    )
