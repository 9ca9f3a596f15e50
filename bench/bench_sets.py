"""Sets of models: reading them, finding models by keys, and scoring rows by the models of their cells, against one model."""

from __future__ import annotations

from functools import partial

import cases
import numpy as np
import pytest
from cases import SETS, SetCase, rows
from measure import paired, processor_seconds

import fastbin as fb

N_ROWS = 10**6


def _models(case: SetCase) -> fb.ModelSet:
    """Models of a few different fits, under the keys 3, 6, 9, ..."""
    method = fb.CertifiedCalibration(n_bins=case.n_bins) if case.has_steps else fb.UniformMassBinning(case.n_bins)
    fitted = [method.fit(*(column[i::50] for column in rows(case.shape, 50 * case.n_fit))).model_ for i in range(50)]
    return fb.ModelSet({3 * i: fitted[i % 50] for i in range(1, case.n_models + 1)})


def _check(models: fb.ModelSet, scores: np.ndarray, cells: np.ndarray, values: np.ndarray) -> None:
    """The answer before the clock: some of the cells by their models alone."""
    for key in models.cells[:: len(models) // 20]:
        mine = cells == key
        assert np.array_equal(values[mine], models[key].predict(scores[mine]))


@pytest.mark.parametrize("case", SETS, ids=lambda case: case.name)
def bench_sets(case: SetCase, is_long: bool, benchmark, report) -> None:
    models = _models(case)
    data = models.to_bytes()
    read = partial(fb.ModelSet.from_bytes, data)
    assert read().to_bytes() == data
    rng = np.random.default_rng(8)
    scores, mixed = rng.random(N_ROWS), 3 * rng.integers(1, case.n_models + 1, N_ROWS)
    ordered, out = np.sort(mixed), np.empty(N_ROWS)
    numbers = {name: models.find(cells) for name, cells in (("sorted", ordered), ("random", mixed))}
    for name, cells in (("sorted", ordered), ("random", mixed)):
        _check(models, scores, cells, models._predict(numbers[name], scores, None, 1, None, "error").copy())
    alone = fb.BinnedModel.from_bytes(models[3].to_bytes())  # as a model that is read by itself
    contestants = {
        "one model": partial(alone.predict, scores, seed=1, out=out),
        "sorted": lambda: models._predict(numbers["sorted"], scores, None, 1, out, "error"),
        "random": lambda: models._predict(numbers["random"], scores, None, 1, out, "error"),
        "find sorted": partial(models.find, ordered),
        "find random": partial(models.find, mixed),
    }
    timed = paired(contestants, seconds=10 if is_long else 3)
    seconds = processor_seconds(read, 30 if is_long else 10)
    report(case.name, cases.READ_MS, 1e3 * seconds)
    report(case.name, cases.READ_NS_A_BYTE, 1e9 * seconds / len(data))
    report(case.name, cases.SORTED_TO_ONE, timed.ratio("sorted", to="one model"))
    report(case.name, cases.RANDOM_TO_ONE, timed.ratio("random", to="one model"))
    report(case.name, cases.RANDOM_NS, 1e9 * timed.seconds("random") / N_ROWS)
    report(case.name, cases.FIND_SORTED_NS, 1e9 * timed.seconds("find sorted") / N_ROWS)
    report(case.name, cases.FIND_RANDOM_NS, 1e9 * timed.seconds("find random") / N_ROWS)
    benchmark.pedantic(contestants["sorted"], rounds=5)


def bench_set_predict_one(benchmark, report) -> None:
    """One row: a key that is looked up, and a score, beside the score alone."""
    models = _models(SETS[0])
    texts = fb.ModelSet({f"segment {key}": model for key, model in models.models.items()})
    key, model = models.cells[4321], fb.BinnedModel.from_bytes(models[models.cells[4321]].to_bytes())
    name = f"segment {key}"
    assert models.predict_one(0.3, key) == texts.predict_one(0.3, name) == model.predict_one(0.3)
    contestants = {
        "model": partial(model.predict_one, 0.3),
        "integer": partial(models.predict_one, 0.3, key),
        "text": partial(texts.predict_one, 0.3, name),
    }
    timed = paired(contestants, seconds=1)
    report(cases.SET_OF_ONE_ROW, cases.INT_CELL_TO_MODEL, timed.ratio("integer", to="model"))
    report(cases.SET_OF_ONE_ROW, cases.TEXT_CELL_TO_MODEL, timed.ratio("text", to="model"))
    benchmark.pedantic(contestants["integer"], rounds=20)


def bench_find_texts(benchmark, report) -> None:
    """Columns of texts as users have them."""
    models = _models(SETS[0])
    texts = fb.ModelSet({f"segment {key}": model for key, model in models.models.items()})
    cells = np.array(list(texts))[np.random.default_rng(9).integers(0, len(texts), N_ROWS)]
    columns = {"array": cells, "sorted array": np.sort(cells), "objects": cells.astype(object)}
    expected = np.searchsorted(np.array(list(texts)), cells)
    assert np.array_equal(texts.find(columns["array"]), expected)
    assert np.array_equal(texts.find(columns["objects"]), expected)
    timed = paired({name: partial(texts.find, column) for name, column in columns.items()}, seconds=1)
    for name in columns:
        report(cases.FIND_TEXTS, cases.FIND_TEXT_NS[name], 1e9 * timed.seconds(name) / N_ROWS)
    benchmark.pedantic(partial(texts.find, cells), rounds=3)
