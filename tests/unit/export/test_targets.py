"""Facts that hold for all targets: calibrators stand for their models, texts name their model, mistakes are refused."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exported import model_of
from exported_curves import curve_model_of

import fastbin as fb
from fastbin._model.provenance import in_words
from fastbin.export.form import OUTPUTS, digest_of

# The targets that take outputs and alpha, and all of them.
WITH_OUTPUTS: dict[str, Callable[..., Any]] = {
    "c": lambda model, **options: fb.export.c_source(model, "p", **options),
    "java": lambda model, **options: fb.export.java(model, "P", **options),
    "js": fb.export.javascript,
    "onnx": lambda model, **options: fb.export.onnx(model, **options).SerializeToString(deterministic=True),
}
TARGETS: dict[str, Callable[..., Any]] = {
    **WITH_OUTPUTS, "json": fb.export.json, "sql": lambda model: fb.export.sql(model, dialect="duckdb"),
}  # fmt: skip
programs = pytest.mark.parametrize("name", ["c", "java", "js"])
with_outputs = pytest.mark.parametrize("name", WITH_OUTPUTS)
targets = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture(scope="module")
def fitted() -> fb.UniformMassBinning:
    rng = np.random.default_rng(1)
    scores = rng.random(500)
    return fb.UniformMassBinning(5).fit(scores, rng.random(500) < scores)


@targets
def test_a_fitted_calibrator_stands_for_its_model(name: str, fitted: fb.UniformMassBinning) -> None:
    assert TARGETS[name](fitted) == TARGETS[name](fitted.model_)


@programs
def test_what_a_program_says(name: str) -> None:
    model = model_of("two resolutions")
    text = WITH_OUTPUTS[name](model, outputs=("upper", "value"))
    value, upper, others = {
        "c": ("double p(double score)        the calibrated probability", "p_upper(double score)", ("p_lower", "p_bin")),
        "java": ("double predict(double score)", "double predictUpper(double score)", ("predictLower", "predictBin")),
        "js": ("predict(score)", "predictUpper(score)", ("predictLower", "predictBin")),
    }[name]  # fmt: skip
    assert text.startswith("/*\n * fastbin ")
    assert f"model sha256 {digest_of(model)}" in text.splitlines()[1]
    comment = " ".join(line.removeprefix(" * ") for line in text[: text.index("*/")].splitlines())
    assert str(model.certificate(0.1)) in comment
    assert "outside [0.0, 1.0]" in comment
    assert value in text
    assert upper in text
    assert not any(other in text for other in others)
    assert text.isascii()
    (made_by,) = [line for line in text.splitlines() if line.startswith(" * made by ")]  # on one line, to be found by programs
    assert made_by.removeprefix(" * made by ") == in_words(model)
    assert max(len(line) for line in text.splitlines() if line != made_by) <= 128


@with_outputs
@pytest.mark.parametrize("alpha", [0.01, np.float64(0.01)])
def test_alpha_is_said_where_an_end_of_an_interval_is(name: str, alpha: float) -> None:
    model = model_of("10 bins")
    said, usual, none = (
        WITH_OUTPUTS[name](model, outputs=("lower", "bin"), alpha=alpha), WITH_OUTPUTS[name](model, outputs=("upper",)),
        WITH_OUTPUTS[name](model, outputs=("value", "bin")),
    )  # fmt: skip
    if name == "onnx":
        assert b"fastbin.alpha\x12\x040.01" in said
        assert b"fastbin.alpha\x12\x030.1" in usual
        assert b"alpha" not in none
    else:
        assert "intervals at alpha 0.01\n" in said
        assert "intervals at alpha 0.1\n" in usual
        assert "alpha" not in none


@with_outputs
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"outputs": "value"}, fb.InputTypeError, "^outputs is 'value'"),
        ({"outputs": ()}, fb.InputError, f"^outputs is empty; choose out of {', '.join(OUTPUTS)}$"),
        ({"outputs": ("value", "value")}, fb.InputError, r"^outputs\[1\] is 'value' for the second time"),
        ({"outputs": ("value", "p")}, fb.InputError, rf"^outputs\[1\] is 'p'; choose out of {', '.join(OUTPUTS)}$"),
        ({"alpha": 0.1}, fb.InputError, "^alpha is 0.1, but no end of an interval is asked for"),
        ({"outputs": ("lower",), "alpha": 1.5}, fb.InputError, "^alpha is 1.5"),
    ],
)
def test_outputs_and_alpha(name: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        WITH_OUTPUTS[name](model_of("10 bins"), **options)


@targets
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ([model_of("10 bins")], fb.InputTypeError, "^model is of type list; pass a BinnedModel"),
        (None, fb.InputTypeError, "^model is of type NoneType"),
        ("model.fbm", fb.InputTypeError, "^model is the path 'model.fbm'; pass a BinnedModel"),
        (fb.UniformMassBinning(3), fb.NotFittedError, "is not fitted yet"),
    ],
    ids=["list", "None", "path", "unfitted"],
)
def test_objects_that_are_not_models(name: str, model: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TARGETS[name](model)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "json"])
def test_models_that_randomise_are_refused(name: str) -> None:
    model = fb.UniformMassBinning(4, delta=0.01).fit(np.linspace(0, 1, 99), np.arange(99) > 50).model_
    with pytest.raises(fb.InputError, match=r"^model randomises its values \(delta=0.01\), which no .* fit with delta=0$"):
        TARGETS[name](model)


@with_outputs
@pytest.mark.parametrize("about", ["10 knots", "beta"])
def test_curves_have_their_value_alone(name: str, about: str) -> None:
    model = curve_model_of(about)
    message = f"^model is of kind '{model.kind}', which has values alone and no bins$"
    for output in ("bin", "lower", "upper"):
        with pytest.raises(fb.InputError, match=message):
            WITH_OUTPUTS[name](model, outputs=("value", output))
    with pytest.raises(fb.InputError, match=message):
        WITH_OUTPUTS[name](fb.ModelSet({1: model}))


@pytest.mark.parametrize("downsampled", [False, True])
def test_the_ends_give_the_factor_of_a_ratio(downsampled: bool) -> None:
    """One event of the same Clopper-Pearson ends of all bins at once, there and in the certificate; odds may be multiplied."""
    rng = np.random.default_rng(2)
    scores = 0.02 * rng.lognormal(-0.5, 1.0, 20_000).clip(max=50.0)
    rows = scores, rng.random(20_000) < scores
    model = fb.UniformMassBinning(6, scheme="ums", cuts="expected-positives").fit(*rows).model_
    if downsampled:
        model = fb.shift.LabelShift(model, method="known", source_rate=0.5, target_rate=0.1 / 1.1).fit().model_
    certificate = model.certificate(0.05, "ratio")
    outputs = ("value", "lower", "upper")
    columns = [fb.export.sql(model, dialect="sqlite", what=what, alpha=None if what == "value" else 0.05) for what in outputs]
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE scores (p REAL)")
        connection.executemany("INSERT INTO scores VALUES (?)", [(score,) for score in scores.tolist()])
        table = np.array(connection.execute(f"SELECT {', '.join(columns)} FROM scores").fetchall())
    value, lower, upper = table.T
    assert np.array_equal(np.maximum(value / lower, upper / value), np.array(certificate.radii)[model.assign(scores)])
    assert np.array_equal(table[:, 1:], model.predict_interval(scores, alpha=0.05))
    centred = np.sqrt(lower * upper)
    assert (upper / centred).max() < certificate.epsilon
    assert (upper / centred).max() == pytest.approx((centred / lower).max())
