"""Between ModelSet and C: finding columns of keys of every kind, making many models at once, lending models."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base import cells

RNG = np.random.default_rng(5)
ENDS_OF_UTF8 = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"  # of one byte, of two, three and four
TEXTS = sorted(["", *"aZz", "ab", "é", "\U0001f600", "Zürich", "b" * 1024, "é" * 512, "x" * 8, *ENDS_OF_UTF8])[1:]


def flat(n_bins: Any, keys: Any, **options: Any) -> fb.ModelSet:
    """A set of models of these numbers of bins; every other one has whole ties, and every third one two slices."""
    n_bins = np.asarray(n_bins, np.int64)
    m, total = len(n_bins), int(n_bins.sum())
    ties = np.where(np.arange(m) % 2, 5, 2).astype(np.int32)
    of_ties = int(n_bins[ties == 5].sum())
    label_sums = RNG.integers(0, 10, total)
    first = np.cumsum(n_bins) - n_bins
    arguments: dict[str, Any] = {
        "edges": np.concatenate([np.sort(RNG.random(n - 1)) for n in n_bins]),
        "edge_keys": np.zeros(total - m, np.uint64),
        "values": RNG.random(total),
        "counts": np.full(total, 10),
        "label_sums": label_sums,
        "tie_counts": np.tile([1, 0, 0], (of_ties, 1)),
        "atom_counts": np.stack([1 + np.arange(of_ties) % 2, np.zeros(of_ties, np.int64)], axis=1),  # all of label 0
        "ties": ties,
        "n_bins_asked": n_bins + 1,
        "n_samples": 11 * n_bins,
        "n_positive": np.add.reduceat(label_sums, first),
        "n_tied": np.full(m, 3),
        "fingerprints": np.arange(1, m + 1, dtype=np.uint64),
        "scheme": 1, "seed": 42, "score_min": 0.0, "score_max": 1.0, "out_of_range": 1, "edges_share": 0.5, "kind": 1,
    }  # fmt: skip
    n_slices = np.where(np.arange(m) % 3, 0, 2)
    n, ones = ((arguments | options)[name][n_slices > 0] for name in ("n_samples", "n_positive"))
    lower = np.minimum(n // 2, ones)  # of n // 2 samples and the cut above them
    arguments |= {
        "n_slices_each": n_slices, "slice_cuts": RNG.random(len(n)),
        "slice_label_sums": np.stack([lower, np.minimum(ones - lower, n - n // 2 - 1)], axis=1).ravel(),
    }  # fmt: skip
    arguments |= options
    made = fb.ModelSet._create_flat(keys, arguments.pop("model_of_key", None), n_bins, **arguments)
    made.given = arguments | {"first": first}
    return made


# ------------------------------------------------------------------------------------------------- many models at once


def test_models_of_flat_arrays_are_those_of_their_parts() -> None:
    n_bins = [3, 1, 7, 2, 5]
    models = flat(n_bins, np.array([-4, 0, 3, 9, 11]))
    given, tie, sliced = models.given, 0, 0
    assert (models.kind, models.n_models, models.cells) == ("segments", 5, (-4, 0, 3, 9, 11))
    for i, (n, key) in enumerate(zip(n_bins, models.cells, strict=True)):
        bins = slice(given["first"][i], given["first"][i] + n)
        edges = slice(given["first"][i] - i, given["first"][i] - i + n - 1)
        is_whole = given["ties"][i] == 5
        part = fb.BinnedModel.from_parts(
            edges=given["edges"][edges], values=given["values"][bins], counts=given["counts"][bins],
            label_sums=given["label_sums"][bins], edge_keys=given["edge_keys"][edges], scheme="umd",
            ties="whole" if is_whole else "upper", n_bins_asked=n + 1, n_samples=11 * n, n_positive=int(given["n_positive"][i]),
            n_tied=3, seed=42, out_of_range="clip", fingerprint=i + 1, edges_share=0.5 if is_whole else 0.0,
            tie_counts=given["tie_counts"][tie : tie + n] if is_whole else None,
            atom_counts=given["atom_counts"][tie : tie + n] if is_whole else None,
            slice_cuts=given["slice_cuts"][sliced : sliced + 1] if i % 3 == 0 else None,
            slice_label_sums=given["slice_label_sums"][2 * sliced : 2 * sliced + 2] if i % 3 == 0 else None,
        )  # fmt: skip
        tie += n if is_whole else 0
        sliced += i % 3 == 0
        assert models[key] == part


def test_a_pool_and_texts_of_flat_arrays() -> None:
    models = flat([2, 3, 4], ["a", "b", "c", "d"], model_of_key=np.array([2, 0, 2, 1], np.int32), pool=2, unknown=1)
    assert models.pooled_cells == ("a", "c")
    assert (models.n_bins, models.unknown) == (9, "pool")
    assert models["d"].n_bins == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": np.ones(4)}, "InputError: values has 4 entries; these models have 5"),
        ({"edges": np.ones(4) / 2}, "InputError: edges has 4 entries; these models have 3"),
        ({"edge_keys": np.zeros(2, np.uint64)}, "InputError: edge_keys has 2 entries;"),
        ({"counts": np.ones(6, np.int64)}, "InputError: counts has 6 entries;"),
        ({"label_sums": np.ones(0, np.int64)}, "InputError: label_sums has 0"),
        ({"tie_counts": None}, "InputError: tie_counts has 0 entries; these models have 3"),
        ({"tie_counts": np.zeros((5, 3), np.int64)}, "InputError: tie_counts has 5"),
        ({"atom_counts": None}, "InputError: atom_counts has 0 entries; these models have 3"),
        ({"slice_cuts": np.ones(2)}, "InputError: slice_cuts has 2 entries; these models have 1"),
        ({"slice_label_sums": np.ones(1, np.int64)}, "InputError: slice_label_sums has 1"),
        ({"n_slices_each": np.array([-1, 3])}, "InputError: n_slices_each must be"),
        ({"n_tied": np.ones(3, np.int64)}, "InputError: lengths differ: *, n_tied has 3"),
        ({"values": np.full(5, 2.0)}, "InputError: model 0: a value"),
        ({"n_positive": np.array([20, 50])}, "InputError: model 1: n_samples,"),
        ({"model_of_key": np.zeros(2, np.int32)}, "InputError: the keys of a set"),
        ({"model_of_key": np.zeros(1, np.int32)}, "InputError: 1 numbers are given for 2 keys"),
        ({"kind": 7}, "InputError: an argument is NULL,"),
    ],
)
def test_flat_arrays_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    if "n_positive" in options:
        options = {**options, "label_sums": np.full(5, 10), "n_samples": np.array([22, 33])}
    refuses(message, flat, [2, 3], np.array([1, 2]), **options)


def test_no_models_at_all() -> None:
    for n_bins in ([], [0], [2, -1]):
        none, each = np.zeros(0, np.int64), np.zeros(len(n_bins), np.int64)
        parts = {"edges": np.zeros(0), "edge_keys": none.astype(np.uint64), "values": np.zeros(0)}
        parts |= {"tie_counts": None, "atom_counts": None}
        parts |= {"counts": none, "label_sums": none, "ties": each.astype(np.int32), "fingerprints": each.astype(np.uint64)}
        parts |= dict.fromkeys(("n_bins_asked", "n_samples", "n_positive", "n_tied", "n_slices_each"), each)
        parts |= {"slice_cuts": np.zeros(0), "slice_label_sums": none}
        parts |= {"scheme": 1, "seed": 0, "score_min": 0.0, "score_max": 1.0, "out_of_range": 0, "edges_share": 0.0}
        refuses("InputError: n_bins_each must be", fb.ModelSet._create_flat, np.array([1]), None, np.array(n_bins), **parts)


def test_a_set_is_filled_once() -> None:
    models = flat([2], np.array([1]))
    with pytest.raises(TypeError, match="once"):
        models._fill([models[1]], np.array([1]))
    with pytest.raises(TypeError, match="an empty set"):
        fb.ModelSet.__new__(fb.ModelSet)._find([1])
    with pytest.raises(TypeError, match="an empty set"):
        fb.ModelSet.__new__(fb.ModelSet).to_bytes()
    refuses("InputError: an argument is NULL,", fb.ModelSet.__new__(fb.ModelSet)._fill, [], np.zeros(0, np.int64))


# ------------------------------------------------------------------------------------------------- lending


def test_lent_models_keep_the_set_and_free_nothing() -> None:
    models = flat([2, 3], np.array([1, 2]))
    set_is_there, model = weakref.ref(models), models[2]
    data, values = model.to_bytes(), model.values
    del models, model
    gc.collect(1)
    assert set_is_there() is not None
    assert len(values) == 3
    again = set_is_there()
    assert again is not None
    assert again[2].to_bytes() == data
    del again, values
    gc.collect(1)
    assert set_is_there() is None


def test_a_set_takes_over_models_that_were_made_for_one() -> None:
    fitted = fb.UniformMassBinning(3).fit(np.arange(20) / 20, np.arange(20) % 2).model_
    made = fitted._with_texts(b"sale", b"", for_set=True)
    with pytest.raises(fb.InputError):  # it stays whose it was
        fb.ModelSet({1: made}, pool=made, pooled_cells=["two"])
    with pytest.raises(fb.InputError):
        fb.ModelSet._of({1: made}, kind="class-wise", columns=[1, 1])
    data, scores = made.to_bytes(), np.linspace(0.0, 1.0, 9)
    models = fb.ModelSet({1: made, 2: made, 3: fitted})  # one taken over, two copied
    other = fitted._with_texts(b"", b"", for_set=True)
    with pytest.raises(TypeError, match="filled once"):
        models.__init__({1: other})  # type: ignore[misc]
    with pytest.raises(TypeError, match="a model is missing"):
        fb.ModelSet.__new__(fb.ModelSet)._fill([None], np.array([1]))
    assert fb.ModelSet({1: other})[1] == other
    again = fb.ModelSet({1: made, 2: models[2]})  # lent by now, so it is copied
    del models
    gc.collect()
    assert made.to_bytes() == data == again[1].to_bytes() == again[2].to_bytes()
    del made
    gc.collect()
    assert again.predict(scores, np.full(9, 2)).tolist() == fitted.predict(scores).tolist()


def test_models_in_cycles_with_their_set() -> None:
    for _ in range(50):
        models = flat([2, 3], np.array([1, 2]))
        models.kept = [models[1], models[2], models]
        del models
    gc.collect(1)


def test_numbers_of_models() -> None:
    models = flat([2, 3], np.array([1, 2]))
    assert models._model(1, fb.BinnedModel).n_bins == 3
    for number in (-1, 2):
        with pytest.raises(IndexError):
            models._model(number, fb.BinnedModel)
    assert not models._model_of_key.flags.writeable


# ------------------------------------------------------------------------------------------------- finding


TEXT_SET = flat(np.ones(len(TEXTS), int) * 2, TEXTS)
INT_KEYS = np.array([-(2**63), -300, -1, 0, 1, 7, 200, 2**31, 2**53 + 1, 2**63 - 1])
INT_SET = flat(np.ones(10, int), INT_KEYS)


def texts(n: int = 500) -> list[str]:
    """Keys, in runs, some of them unknown."""
    return [text for text in RNG.choice([*TEXTS, "east", "A", "zz"], n).tolist() for _ in range(RNG.integers(1, 4))]


def text_columns() -> list[Any]:
    import pandas as pd

    cells = texts()
    short = [cell if len(cell) < 50 else "a" for cell in cells]
    wide = np.array(short)
    return [
        cells, tuple(cells), np.array(cells, object), np.array(cells), wide, wide[::3], wide[::-1], np.asfortranarray(wide),
        wide.astype(wide.dtype.newbyteorder()), np.array(cells, object)[::2], [np.str_(cell) for cell in cells],
        pd.Series(cells), pd.Series(cells, dtype="string"), pd.Categorical(cells), pd.Series(cells, dtype="category"),
        pd.Index(cells), wide.reshape(-1), [], np.array([], "U3"), np.array([], object), pd.Categorical([]),
    ]  # fmt: skip


@pytest.mark.parametrize("column", range(len(text_columns())))
def test_texts_of_all_kinds(column: int) -> None:
    cells = text_columns()[column]
    numbers = TEXT_SET._find(cells)
    places = {text: number for number, text in enumerate(TEXTS)}
    assert numbers.dtype == np.int32
    assert numbers.tolist() == [places.get(str(cell), -1) for cell in cells]


def test_texts_of_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    cells = texts()
    plain = pa.array(cells)
    for column in (plain, plain.dictionary_encode(), pa.chunked_array([plain, plain[:0]])):
        assert np.array_equal(TEXT_SET._find(column), TEXT_SET._find(cells))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", object, list, tuple])
def test_integers_of_all_kinds(dtype: Any) -> None:
    fitting = [key for key in [*INT_KEYS.tolist(), 5, 100] if dtype in (object, list, tuple) or _fits(key, dtype)]
    plain = [key for key in RNG.choice(len(fitting), 400).tolist() for _ in range(RNG.integers(1, 4))]
    plain = [fitting[i] for i in plain]
    cells = dtype(plain) if dtype in (list, tuple) else np.array(plain, dtype)
    places = {key: number for number, key in enumerate(INT_KEYS.tolist())}
    expected = [places.get(key, -1) for key in plain]
    assert INT_SET._find(cells).tolist() == expected
    assert INT_SET._find(cells[::-1]).tolist() == expected[::-1]
    assert [INT_SET._find_one(key) for key in cells[:50]] == expected[:50]


def _fits(key: int, dtype: str) -> bool:
    info = np.iinfo(dtype)
    return bool(info.min <= key <= info.max)


@pytest.mark.parametrize(
    ("models", "cells", "message"),
    [
        (TEXT_SET, ["a", 3], "InputError cells[1]: is 3,"),
        (TEXT_SET, ["a", None], "InputError cells[1]: is missing;"),
        (TEXT_SET, ["a", ""], "InputError cells[1]: is '',"),
        (TEXT_SET, np.array(["a", ""]), "InputError cells[1]: is '',"),
        (TEXT_SET, np.array(["a", "\ud800"]), "InputError cells[1]: is '\\ud800',"),
        (TEXT_SET, ["a", "\ud800"], "InputError cells[1]: is '\\ud800',"),
        (TEXT_SET, np.array(["a", "x" * 1025]), "InputError cells[1]: begins with '"),
        (TEXT_SET, ["a", "é" * 513], "InputError cells[1]: begins with '"),
        (TEXT_SET, [3, 4], "InputError: cells[0] is 3, and the keys of this set are texts"),
        (TEXT_SET, np.array([3, 4]), "InputError: cells[0] is 3, and the keys of this set are texts"),
        (INT_SET, ["a"], "InputError: cells[0] is 'a', and the keys of this set are integers"),
        (INT_SET, np.array(["a"]), "InputError: cells[0] is 'a', and the keys of this set are integers"),
        (INT_SET, [1, True], "InputError cells[1]: is True;"),
        (INT_SET, np.array([1.0]), "InputError cells[0]"),
        (INT_SET, [1, 2**63], "InputError cells[1]: is 9223372036854775808;"),
        (INT_SET, np.array([[1]]), "InputTypeError cells"),
    ],
)
def test_what_cannot_be_found(models: fb.ModelSet, cells: Any, message: str) -> None:
    refuses(message, models.find, cells)


def test_one_key_of_the_other_type() -> None:
    assert TEXT_SET._find_one(3) == INT_SET._find_one("a") == -1
    refuses("InputError: cell is 3, and the keys of this set are texts", TEXT_SET.predict_one, 0.5, 3)
    pooled = flat([1, 1], np.array([1]), model_of_key=np.zeros(1, np.int32), pool=1, unknown=1)
    assert pooled.predict_one(0.5, 99) == pooled.pool.predict_one(0.5)
    refuses("InputError: cell is 'a', and the keys of this set are integers", pooled.predict_one, 0.5, "a")
    for cell in (True, 1.0, None):
        refuses("InputTypeError cell", pooled.predict_one, 0.5, cell)


def test_columns_of_texts_need_no_python_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not even looked at by what reads all others."""

    def never(cells: Any) -> Any:
        raise AssertionError(cells)

    monkeypatch.setattr("fastbin._core.score.as_cells", never)
    for column in (texts(), np.array(texts()), np.array(texts(), object)):
        TEXT_SET._find(column)
    with pytest.raises(AssertionError):
        TEXT_SET._find(["a", ""])


# ------------------------------------------------------------------------------------------------- scoring


def test_errors_say_the_range_of_the_row_s_own_model() -> None:
    narrow = fb.BinnedModel.from_parts(edges=[], values=[0.5], score_range=(2.0, 3.0))
    wide = fb.BinnedModel.from_parts(edges=[], values=[0.25], score_range=(-5.0, 9.0))
    models = fb.ModelSet({1: narrow, 2: wide}, pool=narrow, unknown="pool")
    assert models.predict([2.5, 8.0, 2.0], [1, 2, 99]).tolist() == [0.5, 0.25, 0.5]
    refuses("InputError scores[1]: is 8.0, outside [2, 3]", models.predict, [8.0, 8.0], [2, 1])
    refuses("InputError scores[1]: is 10.0, outside [-5, 9]", models.predict, [8.0, 10.0], [2, 2])
    refuses("InputError scores[0]: is 8.0, outside [2, 3]", models.assign, [8.0], [99])
    refuses("InputError score: is 8.0, outside [2, 3]", models.predict_one, 8.0, 99)


def test_numbers_that_no_model_has() -> None:
    for number, message in ((-1, "row 1: a key is not in the set"), (-2, "an argument"), (2, "an argument")):
        with pytest.raises(fb.FastbinError, match=message):
            flat([1, 1], np.array([1, 2]))._predict(np.array([0, number], np.int32), [0.5, 0.5], None, None, None, "error")


def test_large_columns_of_every_layout() -> None:
    n = 5000
    models = flat([3, 9, 2], np.array([1, 5, 8]))
    cells, scores = RNG.choice([1, 5, 8], n), RNG.random(n).astype(np.float32)
    for order in (np.arange(n), np.argsort(cells, kind="stable")):
        expected = np.empty(n)
        for key in models.cells:
            expected[cells[order] == key] = models[key].predict(scores[order][cells[order] == key])
        assert np.array_equal(models.predict(scores[order], cells[order]), expected)
        assert np.array_equal(models.predict(scores[order].astype(np.float64).tolist(), cells[order].tolist()), expected)
    refuses("InputError: out must be a writeable,", models.predict, scores, cells, out=np.empty(n, np.float32))
    refuses("InputError: nan is 'drop'; choose one", models.predict, scores, cells, nan="drop")


def test_the_reading_of_keys_is_that_of_cells() -> None:
    """Where both can read a column, they say the same."""
    known = cells.as_cells(texts(50))
    assert isinstance(known, cells.TextCells)
    assert [TEXT_SET._find_one(text) for text in known.texts] == TEXT_SET._find(known.texts).tolist()
