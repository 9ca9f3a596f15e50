"""Vector models: what they serve against a plain reference, their files, and what is refused."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.vector_model import VectorMap, VectorModel
from reference.vectors import lowered, predict

RNG = np.random.default_rng(5)


def binary_models(keys: list[Any], n: int = 400) -> dict[Any, fb.BinnedModel]:
    made = {}
    for key in keys:
        scores = RNG.random(n)
        made[key] = fb.CertifiedCalibration().fit(scores, RNG.random(n) < scores**2).model_
    return made


def vector_map(k: int, **changed: Any) -> VectorMap:
    """A map with everything in it, of three bins a group."""
    classes, tops = RNG.integers(0, k, 90), RNG.integers(0, 2, 90)
    counts = np.zeros((k + 1, 3, 2), np.int64)
    for group in range(k + 1):
        has_label = tops if group == k else (classes == group).astype(np.int64)
        np.add.at(counts[group], RNG.integers(0, 3, 90), np.stack([np.ones(90, np.int64), has_label], axis=1))
    own: dict[str, Any] = {
        "of_models": 0.375, "of_priors": 2.0**-7, "least": 1e-9, "keep_top": False, "slopes": RNG.normal(0.8, 0.2, k),
        "intercepts": RNG.normal(0.0, 0.3, k), "priors": np.full(k, 1 / k), "mixing": RNG.normal(0.0, 0.2, (k, k)),
        "edges": np.sort(RNG.random((k + 1, 2)), axis=1), "counts": counts, "means": RNG.random((k + 1, 3)),
        "unlabelled": np.stack([np.full((k + 1, 3), 9.0), RNG.random((k + 1, 3)), np.full((k + 1, 3), 0.01)], axis=2),
    }  # fmt: skip
    return VectorMap(**(own | changed))


def rows_of(k: int, n: int = 300) -> np.ndarray:
    """With zeros, ties and entries near 1 among them."""
    P = RNG.dirichlet(np.full(k, 0.3), n)
    P[:k] = np.eye(k)
    P[k] = 1 / k
    P[k + 1, 0], P[k + 1, 1:] = 1 - 1e-12, 1e-12 / (k - 1)
    return P


MODEL = VectorModel._of(binary_models(["cow", "ant", "bee"]), vector_map(3), provenance=b'{"version":"0.2.0"}')


@pytest.mark.parametrize("keep_top", [False, True])
@pytest.mark.parametrize("without", [(), ("mixing",), ("of_models",), ("mixing", "of_models")])
@pytest.mark.parametrize("k", [2, 3, 7, 64])
def test_rows_are_those_of_the_definition(k: int, without: tuple[str, ...], keep_top: bool) -> None:
    own = vector_map(k, keep_top=keep_top, **{name: None if name == "mixing" else 0.0 for name in without})
    one = binary_models([0])[0]
    models = binary_models(list(range(k))) if k < 10 else dict.fromkeys(range(k), one)
    model, P = VectorModel._of(models, own), rows_of(k)
    of_models = np.stack([models[c].predict(P[:, c]) for c in range(k)], axis=1)
    found = model.predict(P)
    np.testing.assert_allclose(found, predict(own, of_models, P), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0.0, atol=1e-13)
    assert ((found > 0.0) & (found < 1.0)).all()
    if keep_top:
        assert (found.argmax(axis=1) == P.argmax(axis=1)).all()
    for at in (slice(0, 1), slice(17, 18), slice(5, 200)):
        assert (model.predict(P[at]) == found[at]).all()


def test_more_classes_than_a_block() -> None:
    k = 150
    own, one = vector_map(k, mixing=None, keep_top=True), binary_models([0])[0]
    model, P = VectorModel._of(dict.fromkeys(range(k), one), own), rows_of(k, 200)
    of_models = one.predict(P.ravel()).reshape(P.shape)
    np.testing.assert_allclose(model.predict(P), predict(own, of_models, P), rtol=0.0, atol=1e-13)


def test_the_reference_of_lowered_entries_by_hand() -> None:
    """.2 and two entries above it: .5 and .3 come down to 1/3 only for the first, as .3 is below (.2 + .5) / 2 = .35."""
    np.testing.assert_allclose(lowered(np.array([0.2, 0.5, 0.3]), 0), [0.35, 0.35, 0.3], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(lowered(np.array([0.1, 0.45, 0.45]), 0), [1 / 3, 1 / 3, 1 / 3], rtol=0.0, atol=1e-15)
    assert lowered(np.array([0.6, 0.4]), 0).tolist() == [0.6, 0.4]


def test_classes_are_in_the_order_of_columns() -> None:
    """The file keeps keys in their own order; arrays and answers follow the columns."""
    assert MODEL.classes == ("cow", "ant", "bee")
    assert list(MODEL.models) == ["cow", "ant", "bee"]
    P = rows_of(3)
    of_models = np.stack([MODEL.models[name].predict(P[:, c]) for c, name in enumerate(MODEL.classes)], axis=1)
    np.testing.assert_allclose(MODEL.predict(P), predict(MODEL.vector, of_models, P), rtol=0.0, atol=1e-13)
    assert MODEL.n_samples == 400
    assert not MODEL.keep_top
    assert repr(MODEL) == "VectorModel(3 classes, 400 samples)"


@pytest.mark.parametrize("keys", [["cow", "ant", "bee"], [7, -5, 2**62]])
@pytest.mark.parametrize(
    "changed",
    [{}, {"unlabelled": None}, {"mixing": None, "keep_top": True}, dict.fromkeys(("edges", "counts", "means", "unlabelled"))],
)
def test_files(keys: list[Any], changed: dict[str, Any], tmp_path: Path) -> None:
    own = vector_map(3, **changed)
    model = VectorModel._of(binary_models(keys), own, provenance=b"{}")
    data, path, file = model.to_bytes(), tmp_path / "animals.fbm", io.BytesIO()
    model.save(path)
    model.save(file)
    file.seek(0)
    assert data[:4] == b"\x89FBV"
    for again in (
        VectorModel.from_bytes(data), fb.load(path), VectorModel.load(path), fb.load(file), pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):  # fmt: skip
        assert type(again) is VectorModel
        assert again == model
        assert hash(again) == hash(model)
        assert again.to_bytes() == data
        assert again.classes == tuple(keys)
        P = rows_of(3)
        assert (again.predict(P) == model.predict(P)).all()
        for name, value in own._asdict().items():
            found = getattr(again.vector, name)
            assert found is None if value is None else np.array_equal(found, value), name
    assert model != VectorModel._of(model.models, own)


def test_arrays_are_read_only_and_outlive_their_model() -> None:
    vector = VectorModel.from_bytes(MODEL.to_bytes()).vector
    assert np.array_equal(vector.slopes, MODEL.vector.slopes)
    with pytest.raises(ValueError, match="read-only"):
        vector.slopes[0] = 2.0


def test_files_of_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    one = MODEL.models["ant"]
    several = fb.ModelSet({"a": one, "b": one})
    with pytest.raises(fb.FormatError, match="a vector model, and not a set of models"):
        fb.ModelSet.from_bytes(MODEL.to_bytes())
    with pytest.raises(fb.FormatError, match="a vector model, and not a single model"):
        fb.BinnedModel.from_bytes(MODEL.to_bytes())
    for other, kind in ((one, "a single model"), (several, "a set of models")):
        with pytest.raises(fb.FormatError, match=f"{kind}, and not a vector model"):
            VectorModel.from_bytes(other.to_bytes())
    path = tmp_path / "damaged.fbm"
    path.write_bytes(MODEL.to_bytes()[:-8])
    with pytest.raises(fb.FormatError, match=r"damaged\.fbm: "):
        fb.load(path)


def test_no_part_of_a_file_can_be_missing_or_damaged() -> None:
    data = MODEL.to_bytes()
    for size in range(0, len(data), 97):
        with pytest.raises(fb.FormatError):
            VectorModel.from_bytes(data[:size])
        damaged = bytearray(data)
        damaged[size] ^= 16
        with pytest.raises(fb.FormatError):
            VectorModel.from_bytes(bytes(damaged))


@pytest.mark.parametrize(
    "changed",
    [
        {"of_models": 1.5}, {"of_priors": 0.0}, {"of_priors": 1.0}, {"least": 0.0}, {"least": 0.2},
        {"slopes": np.full(3, np.nan)}, {"intercepts": np.full(3, 2e9)}, {"priors": np.full(3, 0.3)},
        {"priors": np.array([1.0, 0.0, 0.0])}, {"mixing": np.full((3, 3), np.inf)}, {"edges": np.array(4 * [[0.5, 0.25]])},
        {"edges": np.full((4, 2), 1.5)},
        {"counts": np.full((4, 3, 2), -1)}, {"means": np.full((4, 3), 1.5)}, {"unlabelled": np.full((4, 3, 3), -1.0)},
        {"slopes": np.ones(2)}, {"edges": np.zeros((4, 1))}, {"means": None}, {"edges": None},
        {"counts": np.tile([[30, 30], [30, 30], [30, 0]], (4, 1, 1))},  # each row has two classes
        {"counts": np.array([[[30, 30]] * 3, *[[[30 + group, 0]] * 3 for group in range(3)]])},  # groups of other sizes
    ],
    ids=range(21),
)  # fmt: skip
def test_maps_that_cannot_be(changed: dict[str, Any]) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError)):
        VectorModel._of(MODEL.models, MODEL.vector._replace(**changed))


def test_models_that_cannot_take_part() -> None:
    """A refused score, or a value that a random key decides, would leave a row without values or give it two."""
    scores = np.repeat([0.1, 0.5, 0.9], 20)
    narrow = fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75], score_range=(0.25, 1.0))
    keyed = fb.UniformMassBinning(2, ties="random").fit(scores, scores > 0.4).model_
    assert keyed.needs_key
    for other in (narrow, keyed):
        with pytest.raises(fb.InputError):
            VectorModel._of({**MODEL.models, "bee": other}, MODEL.vector)
    clipped = fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75], score_range=(0.25, 1.0), out_of_range="clip")
    smooth = fb.PlattScaling().fit(scores, RNG.random(60) < scores).model_
    for other in (clipped, smooth):
        VectorModel._of({**MODEL.models, "bee": other}, MODEL.vector).predict(rows_of(3))


def test_rows_that_are_refused() -> None:
    for bad in (np.nan, -0.25, 1.25):
        P = rows_of(3)
        P[77, 1] = bad
        with pytest.raises(fb.InputError, match=r"77"):
            MODEL.predict(P)
    with pytest.raises(fb.InputError):
        MODEL.predict(rows_of(4))
    with pytest.raises(fb.InputError, match="sum"):
        MODEL.predict([[0.5, 0.25, 0.125]])
    assert MODEL.predict(np.zeros((0, 3))).shape == (0, 3)


def test_a_model_whose_map_was_looked_at_is_freed() -> None:
    model = VectorModel.from_bytes(MODEL.to_bytes())
    assert model.vector.slopes.tolist() == MODEL.vector.slopes.tolist()
    is_there = weakref.ref(model)
    del model
    gc.collect()
    assert is_there() is None
