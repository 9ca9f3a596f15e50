"""The models of segments and classes are the fits of their own rows, byte for byte, and the reference says which rows."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refuses

import fastbin as fb
import strategies
from fitting import assert_same_model, bare, quietly
from reference.multi import Cells, Part, chosen, class_wise, fewest_per_bin, most_bins, segmented, softmax, top_label
from strategies import LAYOUTS, CalibrationData, examples

EXAMPLES = examples(60)

# Keys of every kind, of which few or many occur.
KEY_SHAPES: dict[str, Any] = {
    "one": lambda rng, n: [7] * n,
    "few": lambda rng, n: [rng.randrange(4) for _ in range(n)],
    "many": lambda rng, n: [rng.randrange(-n, n) for _ in range(n)],
    "all different": lambda rng, n: rng.sample(range(1000, 1000 + n), n),
    "ends": lambda rng, n: [rng.choice([-(2**63), -1, 0, 1, 2**63 - 1]) for _ in range(n)],
    "far apart": lambda rng, n: [rng.choice([1, 1, 1, 5]) * 10 ** rng.randrange(18) for _ in range(n)],
    "texts": lambda rng, n: [rng.choice(["north", "south", "ost", "Öst", "", "日本"]) or "x" for _ in range(n)],
    "one large": lambda rng, n: [rng.choice([3, 3, 3, 3, 3, 9, 1]) for _ in range(n)],
}


def own_fit(part: Part, weighted: bool, **options: Any) -> fb.BinnedModel:
    weights = [np.array(part.weights, np.int64)] if weighted else []
    fit = fb.UniformMassBinning(part.n_bins, **options).fit
    return quietly(fit, np.array(part.scores), np.array(part.labels), *weights).model_


def assert_same_set(models: fb.ModelSet, cells: Cells, *, weighted: bool = False, scheme: str = "umd", seed: int = 0) -> None:
    assert set(models.models) == set(cells.own)
    assert list(models.pooled_cells) == sorted(cells.pooled_cells)
    assert (models.pool is None) == (cells.pool is None)
    parts = [(models[key], part) for key, part in cells.own.items()]
    if cells.pool is not None and cells.pool.n_samples:
        parts.append((models.pool, cells.pool))
    for model, part in parts:
        assert model == bare(own_fit(part, weighted, scheme=scheme, seed=seed))
        assert_same_model(model, part.fit(scheme, seed), "ties", "fingerprint")


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", ["none", "integer"])
@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_segments_are_the_reference(scheme: str, weighting: str, draw: st.DataObject) -> None:
    data: CalibrationData = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    rng = Random(draw.draw(st.integers(0, 2**32 - 1)))
    segments = KEY_SHAPES[draw.draw(st.sampled_from(list(KEY_SHAPES)), "keys")](rng, len(data.scores))
    n_bins, min_points = draw.draw(st.sampled_from([1, 2, 3, 7, 10]), "n_bins"), draw.draw(st.sampled_from([1, 2, 5, 50]))
    seed = draw.draw(strategies.seeds, "seed")
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, seed=seed)
    arrays = data.arrays(draw.draw(st.sampled_from(list(LAYOUTS)), "layout"))
    column = segments if isinstance(segments[0], str) or draw.draw(st.booleans()) else np.array(segments)
    fit = fb.multi.SegmentedBinning(calibrator, min_points=min_points).fit
    fitted = quietly(fit, arrays["scores"], arrays["labels"], column, arrays.get("sample_weight"))
    cells = segmented(
        data.scores, data.labels, segments, n_bins, scheme, min_points=min_points, weights=data.weights
    )  # fmt: skip
    if data.weights is not None and not any(data.weights):
        assert fitted is None
        return
    assert fitted is not None
    assert_same_set(fitted.model_, cells, weighted=data.weights is not None, scheme=scheme, seed=seed)
    seen = np.isin(np.array(segments, object), [*cells.own, *cells.pooled_cells])
    if not seen.all():
        with pytest.raises(fb.InputError, match=r"^segments\["):
            fitted.predict(arrays["scores"], column)
        return
    values = fitted.predict(arrays["scores"], column)
    at = rng.randrange(len(values))
    assert values[at] == fitted.predict_one(data.scores[at], segments[at])


# Options under which all segments are fitted in one call, and the range of their scores.
TOGETHER: dict[str, dict[str, Any]] = {
    "umd": {"seed": 7},
    "ze": {"scheme": "ze", "seed": 2**64 - 1},
    "monotone": {"monotone": True},
    "auto": {"n_bins": "auto"},
    "one bin": {"n_bins": 1},
    "many bins": {"n_bins": 60},
    "wide": {"score_range": (0.0, 1e308), "out_of_range": "clip"},
}


def some_segments(shape: str, sizes: list[int], seed: int) -> tuple[Any, Any, Any]:
    """Scores, labels and keys of segments of these sizes, in random order; each has its own scores of the shape."""
    parts = [strategies.make(shape, "follow the rank", size, seed + i) for i, size in enumerate(sizes)]
    scores, labels = (np.concatenate([np.array(getattr(part, name)) for part in parts]) for name in ("scores", "labels"))
    keys = np.repeat(np.arange(len(sizes)) * 37 - 500, sizes)
    order = np.random.default_rng(seed).permutation(len(scores))
    return scores[order], labels[order].astype(np.uint8), keys[order]


@pytest.mark.sampled
@pytest.mark.parametrize("options", list(TOGETHER.values()), ids=list(TOGETHER))
@pytest.mark.parametrize("shape", sorted(strategies.SCORE_SHAPES))
def test_many_segments_are_the_fits_of_their_rows(shape: str, options: dict[str, Any]) -> None:
    """Byte for byte, in any dtype, order and type of keys."""
    seed = sorted(strategies.SCORE_SHAPES).index(shape)
    scores, labels, keys = some_segments(shape, [*range(1, 140, 3), 900], seed)
    scores = scores * 1e300 if "score_range" in options else scores
    calibrator = fb.UniformMassBinning(**options)
    models = quietly(fb.multi.SegmentedBinning(calibrator, min_points=20).fit, scores, labels, keys.astype(np.int32)).model_
    pooled = np.isin(keys, models.pooled_cells)
    assert len(models.pooled_cells) == (np.bincount(keys + 500)[::37] < max(20, calibrator._least_samples())).sum()
    for key in models.models:
        assert models[key] == bare(quietly(calibrator.fit, scores[keys == key], labels[keys == key]).model_)
    n_bins = calibrator.n_bins if isinstance(calibrator.n_bins, str) else min(calibrator.n_bins, most_bins(int(pooled.sum())))
    pool = fb.UniformMassBinning(**{**options, "n_bins": n_bins})
    assert models.pool == bare(quietly(pool.fit, scores[pooled], labels[pooled]).model_)
    again = fb.multi.SegmentedBinning(calibrator, min_points=20)
    order = np.random.default_rng(1).permutation(len(keys))
    assert quietly(again.fit, scores[order], labels[order] == 1, keys[order].tolist()).model_ == models
    named = quietly(again.fit, scores, labels.astype(float), [f"{key + 500:06}" for key in keys]).model_
    assert [model for _, model in named.numbered] == [model for _, model in models.numbered]


@pytest.mark.parametrize("shape", ["uniform", "hundredths", "constant", "float32", "atom"])
def test_large_segments_are_the_fits_of_their_rows(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which a fit by itself counts in cells and does not sort."""
    monkeypatch.setattr("fastbin._fit.rows.SORT_UP_TO", 2**15)
    scores, labels, keys = some_segments(shape, [40_000, 30, 33_000], 3)
    for column in (scores, scores.astype(np.float32), np.repeat(scores, 2)[::2]):
        models = quietly(fb.multi.SegmentedBinning(fb.UniformMassBinning(20)).fit, column, labels, keys).model_
        for key in (-500, -426):
            rows = keys == key
            assert models[key] == bare(quietly(fb.UniformMassBinning(20).fit, column[rows], labels[rows]).model_)
        assert models.pool.n_samples == 30
        alone = quietly(fb.multi.SegmentedBinning(fb.UniformMassBinning(20)).fit, column, labels, np.zeros(len(keys), np.int32))
        assert alone.model_[0] == bare(quietly(fb.UniformMassBinning(20).fit, column, labels).model_)


@pytest.mark.parametrize("at", [0, 65_537, 99_999])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bad_rows_of_many_segments_are_refused_by_position(at: int, dtype: type) -> None:
    scores, labels, keys = some_segments("uniform", [1000] * 100, 1)
    scores = scores.astype(dtype)
    fit = fb.multi.SegmentedBinning().fit
    for value, told in ((np.nan, "is NaN"), (-0.5, "is -0.5, outside"), (np.inf, "is inf"), (1.5, "is 1.5, outside")):
        bad = scores.copy()
        bad[at:] = np.where(np.arange(len(bad) - at) % 7 == 0, value, bad[at:])
        refuses(f"InputError scores[{at}]: {told}", fit, bad, labels, keys)
    for dtype_of_labels in (np.uint8, np.int64, np.float64):
        wrong = labels.astype(dtype_of_labels)
        wrong[at] = 3
        refuses(f"InputError labels[{at}]", fit, scores, wrong, keys)


def matrices(rng: Random, n: int, k: int, shape: str) -> list[list[float]]:
    """Rows that sum to 1, in doubles."""
    rows = []
    for _ in range(n):
        counts = [rng.choice([0, 1, 2]) if shape == "ties" else rng.expovariate(1.0) for _ in range(k)]
        total = sum(counts) or 1.0
        rows.append([count / total for count in counts] if sum(counts) else [1.0, *[0.0] * (k - 1)])
    return rows


@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_classes_are_the_reference(draw: st.DataObject) -> None:
    n, k = draw.draw(st.integers(1, 120)), draw.draw(st.integers(2, 5))
    rng = Random(draw.draw(st.integers(0, 2**32 - 1)))
    matrix = matrices(rng, n, k, draw.draw(st.sampled_from(["ties", "continuous"])))
    labels = [rng.randrange(k) for _ in range(n)]
    points, min_points = draw.draw(st.sampled_from([1, 3, 10, 50])), draw.draw(st.sampled_from([1, 10, 50]))
    per_class = draw.draw(st.sampled_from([True, False, "auto"]))
    top = fb.multi.TopLabelBinning(points, min_points=min_points, per_class=per_class)
    models = quietly(top.fit, np.array(matrix), labels).model_
    cells = top_label(matrix, labels, points, min_points=min_points, per_class=per_class)
    assert models.columns == tuple(range(k))
    assert_same_set(models, cells)
    predicted, values = top.predict(matrix)
    assert predicted.tolist() == [row.index(max(row)) for row in matrix]
    assert values.tolist() == models.predict([max(row) for row in matrix], predicted).tolist()
    same = fb.multi.TopLabelBinning(**{**top.get_params(), "classes": range(k)})
    assert quietly(same.fit_top, [max(row) for row in matrix], predicted, labels).model_.same_map(models)
    wise = fb.multi.ClassWiseBinning(points)
    quietly(wise.fit, matrix, labels)
    for column, part in enumerate(class_wise(matrix, labels, points)):
        assert bare(wise.model_[column]) == bare(own_fit(part, weighted=False))
        assert wise.predict(matrix)[:, column].tolist() == wise.model_[column].predict(part.scores).tolist()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.lists(st.floats(-800, 800), min_size=3, max_size=3), min_size=1, max_size=20))
def test_logits_are_their_softmax(rows: list[list[float]]) -> None:
    labels = [at % 3 for at in range(len(rows))]
    of_logits, of_rows = (fb.multi.TopLabelBinning(5, inputs=inputs) for inputs in ("logits", "probabilities"))
    quietly(of_logits.fit, rows, labels)
    matrix = [softmax(row) for row in rows]
    quietly(of_rows.fit, matrix, labels)
    # The sums may differ in the last place, and with them which scores are equal.
    assert of_logits.model_.n_samples == of_rows.model_.n_samples == len(rows)
    for mine, expected in zip(of_logits.model_.numbered, of_rows.model_.numbered, strict=True):
        assert mine[0] == expected[0]
        assert mine[1].n_samples == expected[1].n_samples


@pytest.mark.parametrize("min_points", [1, 45, 100])
def test_a_pool_of_few_rows_has_bins_in_proportion(min_points: int) -> None:
    for scheme, needed in (("umd", 39), ("ze", 39), ("umb", 20), ("ums", 40)):
        for n in range(2, 3 * 16):
            cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(20, scheme=scheme), min_points=min_points)
            if min(np.bincount(np.arange(n) % 3)) >= max(min_points, needed):
                continue
            scores = (np.arange(n) + 0.5) / n
            pool = quietly(cal.fit, scores, np.arange(n) % 2, np.arange(n) % 3).model_.pool
            share = 20 * min(n, max(min_points, needed)) // max(min_points, needed)
            assert pool.n_bins_asked == min(max(1, share), n // 2 if scheme == "ums" else most_bins(n, scheme))


# ------------------------------------------------------------------------------------------------- per_class="auto"


def some_predictions(rng: Random, n: int, k: int) -> tuple[list[int], list[float], list[int]]:
    """Predicted classes of unequal shares, their scores, and labels."""
    shares = [rng.choice([0.0, 0.3, 1.0, 3.0, 10.0]) for _ in range(k)]
    predicted = rng.choices(range(k), shares if sum(shares) else None, k=n)
    return predicted, [rng.random() for _ in range(n)], [rng.randrange(k) for _ in range(n)]


@pytest.mark.sampled
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(60, 4000), k=st.integers(2, 30), certified=st.booleans())
def test_counts_alone_say_which_classes_are_pooled(seed: int, n: int, k: int, certified: bool) -> None:
    rng = Random(seed)
    predicted, scores, labels = some_predictions(rng, n, k)
    options: dict[str, Any] = {"calibrator": fb.CertifiedCalibration()} if certified else {}
    fit = fb.multi.TopLabelBinning(classes=range(k), **options).fit_top
    models = quietly(fit, scores, predicted, labels).model_
    fewest = fewest_per_bin(n, 0.07 if certified else 0.145)
    least = math.ceil((1.5 if certified else 2.0) * fewest)
    counts = [predicted.count(c) for c in range(k)]
    assert set(models.models) == chosen(counts, max(50, least), least)
    for _, model in models.numbered:
        if model.n_samples:
            asked = (5 if model.n_samples < 1000 else 10) if certified else model.n_samples // 50
            assert model.n_bins_asked == max(1, min(asked, model.n_samples // fewest))
    order = rng.sample(range(n), n)
    columns = ([column[at] for at in order] for column in (scores, predicted, labels))
    assert quietly(fit, *columns).model_ == models
    other = quietly(fit, scores, predicted, rng.sample(labels, n)).model_
    assert other.pooled_cells == models.pooled_cells
    assert [each.n_bins_asked for _, each in other.numbered] == [each.n_bins_asked for _, each in models.numbered]


@pytest.mark.parametrize("n_bins", [None, 1, 3, 40, "auto"])
def test_frequencies_are_rows_where_counts_say_which_classes_are_pooled(n_bins: Any) -> None:
    rng = Random(3)
    predicted, scores, labels = some_predictions(rng, 700, 6)
    weights = [rng.randrange(5) for _ in range(700)]
    fit = fb.multi.TopLabelBinning(n_bins=n_bins, classes=range(6)).fit_top
    rows = [at for at in range(700) for _ in range(weights[at])]
    repeated = quietly(fit, *([column[at] for at in rows] for column in (scores, predicted, labels))).model_
    assert 0 < len(repeated.pooled_cells) < 6
    assert quietly(fit, scores, predicted, labels, np.array(weights)).model_.same_map(repeated)
