"""Rows that give a model, rows that do not, and models whose fit cannot be repeated: `fastbin.engines.verify_data`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run

import fastbin as fb
from fastbin.cli._methods import METHODS
from fastbin.engines import verify_data
from fastbin.engines.verifying import CALIBRATORS, DataCheck
from fastbin.scaling import BetaScaling, PlattScaling, QuadraticScaling, SplineScaling, TemperatureScaling

N = 600
RNG = np.random.default_rng(11)
SCORES = RNG.random(N).round(3)
LABELS = (RNG.random(N) < SCORES**2).astype(int)
SEGMENTS = np.array(["north", "south", "west"])[RNG.integers(0, 3, N)]
P = RNG.dirichlet([1.0, 1.0, 1.0], N)
KEYS = ["ant", "bee", "cow"]
CLASSES = np.array(KEYS)[np.array([RNG.choice(3, p=p) for p in P])]

EVERY: dict[str, Any] = {
    "certified": fb.CertifiedCalibration(),
    "certified-beta": fb.CertifiedCalibration(n_bins=4, values="beta", monotone=False),
    "umd": fb.UniformMassBinning(4),
    "umb": fb.UniformMassBinning(4, scheme="umb"),
    "ums": fb.UniformMassBinning(3, scheme="ums"),
    "ums-drawn": fb.UniformMassBinning(3, scheme="ums", seed=None),
    "ze": fb.UniformMassBinning(4, scheme="ze"),
    "by-key": fb.UniformMassBinning(4, ties="random", seed=5),
    "share": fb.UniformMassBinning(3, edges_share=0.5),
    "margins": fb.UniformMassBinning(4, score_range=None),
    "sampled": fb.UniformMassBinning(4, sampling_rate=0.5),
    "wide": fb.UniformMassBinning(4, score_range=(-1.0, 2.0)),
    "fixed-width": fb.FixedWidthBinning(4),
    "explicit": fb.ExplicitBinning(edges=[0.2, 0.5]),
    "scaling-binning": fb.ScalingBinning(4),
    "scaled": fb.ScalingBinning(4, scaler=BetaScaling()),
    "split": fb.ScalingBinning(3, scheme="split", split=(1, 1, 1)),
    "isotonic": fb.IsotonicCalibration(interpolate=True),
    "venn": fb.VennAbers(),
    "platt": PlattScaling(feature="logit"),
    "temperature": TemperatureScaling(),
    "beta": BetaScaling(),
    "quadratic": QuadraticScaling(),
    "spline": SplineScaling(),
}
SETS: dict[str, Any] = {
    "segments": fb.multi.SegmentedBinning(fb.UniformMassBinning(3), unknown="pool", min_points=200),
    "segments-default": fb.multi.SegmentedBinning(),
    "top-label": fb.multi.TopLabelBinning(classes=KEYS),
    "top-label-auto": fb.multi.TopLabelBinning(classes=KEYS, per_class="auto"),
    "class-wise": fb.multi.ClassWiseBinning(classes=KEYS, calibrator=fb.IsotonicCalibration()),
    "vectors": fb.multi.VectorCalibration(classes=KEYS),
}


def test_every_calibrator_is_here() -> None:
    seen = {type(each).__name__ for each in (*EVERY.values(), *SETS.values())}
    assert seen == set(CALIBRATORS)
    assert {method.class_name for method in METHODS.values()} < seen


@pytest.mark.parametrize("name", [name for name in EVERY if name != "ums-drawn"])
def test_every_fit_has_one_provenance_wherever_the_rows_are(name: str) -> None:
    pa, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    table = pa.table({"p": SCORES, "y": LABELS})
    cal = EVERY[name]
    model = cal.fit(SCORES, LABELS).model_
    for rows in (table, duckdb.cursor().from_arrow(table)):
        again = fb.engines.fit(rows, score="p", label="y", calibrator=cal)
        assert again._provenance == model._provenance
        assert again.to_bytes() == model.to_bytes()
        assert verify_data(model, rows, score="p", label="y").is_same
    if hasattr(cal, "fit_batches") and cal._why_all_rows() is None:
        assert cal.fit_batches([(SCORES[:250], LABELS[:250]), (SCORES[250:], LABELS[250:])]).model_ == model


@pytest.mark.parametrize("name", EVERY)
def test_the_rows_of_a_fit_give_its_bytes(name: str) -> None:
    model = EVERY[name].fit(SCORES, LABELS).model_
    found = verify_data(fb.BinnedModel.from_bytes(model.to_bytes()), score=SCORES, label=LABELS)
    assert found.is_same, found
    assert found.differences == ()
    assert found.sha256 == found.sha256_of_rows
    assert str(found) == f"The same bytes: the {N:,} samples give the model with the SHA-256 {found.sha256}."


@pytest.mark.parametrize("name", EVERY)
def test_other_rows_do_not(name: str) -> None:
    model = EVERY[name].fit(SCORES, LABELS).model_
    turned = LABELS.copy()
    turned[7] = 1 - turned[7]
    found = verify_data(model, score=SCORES, label=turned)
    assert not found.is_same
    assert found.differences[0].what == "the number with label 1"
    found = verify_data(model, score=SCORES[:-1], label=LABELS[:-1])
    assert found.differences[0] == ("the number of samples", "600", "599")
    doubled = verify_data(model, score=SCORES, label=LABELS, weight=np.full(N, 2)) if name != "sampled" else found
    assert not doubled.is_same


@pytest.mark.parametrize("name", SETS)
def test_sets_and_vector_models(name: str) -> None:
    rows: dict[str, Any] = {"score": P, "label": CLASSES}
    own: tuple[Any, ...] = ()
    if name.startswith("segments"):
        rows, own = {"score": SCORES, "label": LABELS, "segment": SEGMENTS}, (SEGMENTS,)
    model = SETS[name].fit(rows["score"], rows["label"], *own).model_
    assert verify_data(model, **rows).is_same
    last = {argument: column[:-1] for argument, column in rows.items()}
    found = verify_data(model, **last)
    assert not found.is_same
    assert found.differences[0].what == "the number of samples"
    if name == "segments":
        moved = np.where(np.arange(N) == 0, "south" if SEGMENTS[0] != "south" else "north", SEGMENTS)
        (first, *_) = verify_data(model, **{**rows, "segment": moved}).differences
        assert " of 'north'" in first.what or " of 'south'" in first.what or " of the pool" in first.what


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    order = RNG.permutation(N)
    assert verify_data(EVERY[name].fit(SCORES, LABELS), score=SCORES[order], label=LABELS[order]).is_same


def test_the_order_of_rows_moves_a_map_of_vectors_by_its_last_bits_at_most() -> None:
    order = RNG.permutation(N)
    found = verify_data(SETS["vectors"].fit(P, CLASSES), score=P[order], label=CLASSES[order])
    assert all(
        re.search(r"of the map \(entry \d+; the largest distance of all is \S+e-1[3-7]\)", what)
        for what, *_ in found.differences
    )


def test_weights_are_part_of_the_rows() -> None:
    counts, real = 1 + np.arange(N) % 3, 0.5 + RNG.random(N)
    for weight in (counts, real):
        model = fb.UniformMassBinning(4).fit(SCORES, LABELS, sample_weight=weight).model_
        assert verify_data(model, score=SCORES, label=LABELS, weight=weight).is_same
        assert not verify_data(model, score=SCORES, label=LABELS).is_same
        assert not verify_data(model, score=SCORES, label=LABELS, weight=2 * weight).is_same
    repeated = verify_data(
        fb.UniformMassBinning(4).fit(SCORES, LABELS, sample_weight=counts), score=np.repeat(SCORES, counts),
        label=np.repeat(LABELS, counts),
    )  # fmt: skip
    assert repeated.is_same


@pytest.mark.parametrize("places", [0, 2])
def test_decimals_are_weights_of_one_kind_wherever_they_are(places: int, tmp_path: Path) -> None:
    """Counts where the type has no places, and importance weights where it has."""
    rng = np.random.default_rng(2)
    scores, weights = rng.random(200), rng.integers(1, 4, 200)
    labels = rng.random(200) < scores
    decimals = pa.array(weights).cast(pa.decimal128(30, places))
    table, method = pa.table({"p": scores, "y": labels, "w": decimals}), fb.UniformMassBinning(4)
    expected = method.fit(scores, labels, weights if places == 0 else weights.astype(np.float64)).model_
    assert expected.is_weighted == (places > 0)
    of_pandas = pd.Series(decimals, dtype=pd.ArrowDtype(decimals.type))
    for given in (table["w"], of_pandas, pl.from_arrow(decimals), decimals.to_pylist(), np.array(decimals.to_pylist(), object)):
        assert method.fit(scores, labels, given).model_ == expected
        assert method.fit_batches([(scores, labels, given)]).model_ == expected
        assert fb.assess.ece(scores, labels, sample_weight=given) == fb.assess.ece(
            scores, labels, sample_weight=weights if places == 0 else weights.astype(np.float64)
        )
    arrays = {"score": table["p"], "label": table["y"], "weight": table["w"]}
    assert verify_data(expected, **arrays, calibrator=method).is_same
    pq.write_table(table, tmp_path / "w.parquet")
    options = ["--score", "p", "--label", "y", "--weights", "w", "--method", "umd", "--n-bins", "4", "-o"]
    run("fit", str(tmp_path / "w.parquet"), *options, str(tmp_path / "w.fbm"))
    assert fb.load(tmp_path / "w.fbm") == expected
    if places == 0:
        named = {"score": "p", "label": "y", "weight": "w", "calibrator": method}
        assert fb.engines.fit(table, **named) == expected
        assert verify_data(expected, table, **named).is_same


def test_tables_arrays_and_batches_give_the_same_bytes() -> None:
    pa, pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars", "duckdb"))
    frame = pandas.DataFrame({"p": SCORES, "y": np.where(LABELS, "bad", "good"), "seg": SEGMENTS, "w": 1 + np.arange(N) % 3})
    relation = duckdb.cursor().from_df(frame)
    tables = [frame, polars.from_pandas(frame), pa.Table.from_pandas(frame), relation]
    batches = [(SCORES[at : at + 100], LABELS[at : at + 100] == 1) for at in range(0, N, 100)]
    by_batches = fb.CertifiedCalibration()
    by_batches._event = "bad"
    fits = [
        fb.CertifiedCalibration().fit(SCORES, frame["y"].to_numpy(), positive="bad"), by_batches.fit_batches(batches),
        *(fb.engines.fit(table, score="p", label="y", positive="bad") for table in tables),
        fb.engines.fit(relation, score="p", label="y", positive="bad", engine="group-by"),
    ]  # fmt: skip
    models = [getattr(each, "model_", each) for each in fits]
    assert len({model.to_bytes() for model in models}) == 1
    assert len({model._provenance for model in models}) == 1
    columns: dict[str, Any] = {"score": "p", "label": "y", "positive": "bad"}
    for table in tables:
        assert verify_data(models[0], table, **columns).is_same
        assert not verify_data(models[0], table, **columns, weight="w").is_same
    assert verify_data(models[0], relation, **columns, engine="group-by").is_same
    assert verify_data(models[0], score=SCORES, label=LABELS).is_same  # where 1 means the event
    by_segment = fb.engines.fit(frame, score="p", label="y", positive="bad", segment="seg", weight="w")
    assert verify_data(by_segment, relation, **columns, segment="seg", weight="w").is_same
    assert not verify_data(by_segment, relation, **columns, segment="seg").is_same


def test_changes_after_the_fit_are_made_again() -> None:
    cal = fb.UniformMassBinning(4).fit(SCORES, LABELS)
    decision = fb.decide.accept_threshold(SCORES, LABELS, precision=0.6)
    model = cal.model_.with_out_of_range("clip").with_decision(decision)
    assert verify_data(model, score=SCORES, label=LABELS).is_same
    assert verify_data(cal.model_.with_out_of_range("clip").with_out_of_range("refuse"), score=SCORES, label=LABELS).is_same


def test_another_configuration_and_version_are_told() -> None:
    model = fb.UniformMassBinning(4, seed=3, scheme="ums").fit(SCORES, LABELS).model_
    other = fb.UniformMassBinning(4, seed=4, scheme="ums")
    found = verify_data(model, score=SCORES, label=LABELS, calibrator=other)
    assert ("the configuration (seed)", "3", "4") in found.differences
    older = model._replace(provenance=model._provenance.replace(fb.__version__.encode(), b"0.1.0"))
    found = verify_data(older, score=SCORES, label=LABELS)
    assert found.differences == (("the version of fastbin", "0.1.0", fb.__version__),)
    stated = json.loads(older._provenance)
    del stated["made_by"][0]["configuration"]["cuts"]
    found = verify_data(model._replace(provenance=stated), score=SCORES, label=LABELS)
    assert [what for what, *_ in found.differences] == [
        "the version of fastbin", "a parameter that the model does not state (cuts)",
    ]  # fmt: skip


def test_what_cannot_be_rebuilt_is_refused_by_name() -> None:
    scaler = PlattScaling().fit(SCORES[:100], LABELS[:100])
    edges = np.linspace(0.01, 0.99, 80)
    for cal, told in (
        (fb.FixedWidthBinning(4, scaler=scaler), "scaler = a fitted PlattScaling"),
        (fb.ExplicitBinning(edges=edges), "edges = an array of 80 entries"),
    ):
        model = cal.fit(SCORES, LABELS).model_
        message = (
            f"model was fitted with {told}, of which it does not keep more than that; pass calibrator=, configured as it was"
        )
        with pytest.raises(fb.InputError, match=re.escape(message)):
            verify_data(model, score=SCORES, label=LABELS)
        assert verify_data(model, score=SCORES, label=LABELS, calibrator=cal).is_same
        assert not verify_data(model, score=SCORES[1:], label=LABELS[1:], calibrator=cal).is_same
    with pytest.warns(fb.FastbinWarning, match="hold no sample"):
        inner = fb.multi.SegmentedBinning(fb.ExplicitBinning(edges=edges)).fit(SCORES, LABELS, SEGMENTS)
    with pytest.raises(fb.InputError, match=re.escape("calibrator.edges = an array of 80 entries")):
        verify_data(inner, score=SCORES, label=LABELS, segment=SEGMENTS)


MODEL = fb.UniformMassBinning(4).fit(SCORES, LABELS).model_
STRANGE = {"made_by": [{"calibrator": "UniformMassBinning", "configuration": {"n_bins": 4, "newer": 1}}], "version": "9.0"}


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (fb.BinnedModel.from_parts(edges=[], values=[0.5]), {}, "model does not say how it came about"),
        (MODEL._replace(provenance=b"{}"), {}, "model does not say how it came about"),
        (MODEL._replace(provenance=STRANGE), {}, "model has the parameter 'newer' of UniformMassBinning, which this version"),
        (
            MODEL._replace(provenance={"made_by": [{"calibrator": "LabelPlan", "configuration": {}}]}), {},
            "model was made by LabelPlan, whose fit takes more than rows",
        ),
        (MODEL._derived("moved"), {}, "model was changed after its fit by moved"),
        (MODEL, {"calibrator": 3}, "calibrator is of type int; pass a calibrator"),
        (MODEL._replace(event="late"), {"positive": "bad"}, "positive is 'bad', and the model gives the probability of 'late'"),
    ],
)  # fmt: skip
def test_models_whose_fit_cannot_be_repeated(model: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=re.escape(message)):
        verify_data(model, score=SCORES, label=LABELS, **given)


def test_fits_of_more_than_their_rows_are_refused() -> None:
    scores, others = RNG.random(N), RNG.random(N)
    fits: dict[str, Any] = {
        "fitted with population=": fb.UniformMassBinning(4).fit(SCORES, LABELS, population=np.append(SCORES, SCORES)),
        "fitted with unlabelled=": fb.CertifiedCalibration().fit(scores, LABELS, unlabelled=others),
        "changed after its fit by LabelShift": fb.shift.LabelShift(MODEL, method="known", target_rate=0.1).fit(),
    }
    for message, cal in fits.items():
        with pytest.raises(fb.InputError, match=f"model was {message}"):
            verify_data(cal, score=SCORES, label=LABELS)
    vectors = fb.multi.VectorCalibration(classes=KEYS).fit(P, CLASSES, unlabelled=RNG.dirichlet([1.0, 1.0, 1.0], N))
    with pytest.raises(fb.InputError, match="model was fitted with unlabelled="):
        verify_data(vectors, score=P, label=CLASSES)


def test_a_set_needs_its_segments_and_classes_a_matrix() -> None:
    segments = SETS["segments"].fit(SCORES, LABELS, SEGMENTS)
    with pytest.raises(fb.InputError, match="segment is None, and the model is a set of segments; give the keys of the rows"):
        verify_data(segments, score=SCORES, label=LABELS)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": SCORES, "y": LABELS})
    with pytest.raises(fb.InputError, match="table is given, and TopLabelBinning takes a column for each class; read them"):
        verify_data(SETS["top-label"].fit(P, CLASSES), frame, score="p", label="y")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"segment": SEGMENTS}, "segment is given, and the model is not a set of segments; leave it out"),
        ({"engine": "stream"}, "engine is 'stream', and table is None; leave it out"),
        ({"engine": "fast"}, "engine is 'fast'"),
        ({"score": "p"}, "score is the text 'p', and table is None; pass the table too, or an array"),
        ({"table": {"p": 1}, "label": "y"}, "score is not the name of a column, and table is given"),
        ({"weight": "w"}, "weight is the text 'w', and table is None"),
        ({"score": SCORES[1:]}, "lengths differ: scores has 599, labels has 600"),
        ({"score": np.append(SCORES[1:], np.nan)}, "scores[599] is NaN; remove such rows"),
    ],
)
def test_arguments_that_do_not_go_together(given: dict[str, Any], message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=re.escape(message)):
        verify_data(MODEL, **{"score": SCORES, "label": LABELS, **given})


def test_classes_have_no_positive_label() -> None:
    top = SETS["top-label"].fit(P, CLASSES)
    with pytest.raises(fb.InputError, match="positive is given, and labels are classes; leave it out"):
        verify_data(top, score=P, label=CLASSES, positive="ant")


def test_the_check_is_shown_in_every_way() -> None:
    found = verify_data(MODEL, score=SCORES[:300], label=LABELS[:300])
    assert isinstance(found, DataCheck)
    assert found.sentence.startswith("Other bytes: the first difference is in the number of samples, 600 in the model and 300")
    assert "the fingerprint of the data" in str(found)
    assert "the fingerprint of the data" in found._repr_html_()
    assert "The same bytes" in verify_data(MODEL, score=SCORES, label=LABELS)._repr_html_()
    content = found.to_dict()
    assert content["differences"][0] == {"what": "the number of samples", "of_model": "600", "of_rows": "300"}
    assert (content["is_same"], content["n_samples"]) == (False, 300)
    pytest.importorskip("pandas")
    assert found.to_pandas()["what"].iloc[0] == "the number of samples"
