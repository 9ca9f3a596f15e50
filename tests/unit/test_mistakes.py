"""Mistakes that others have made are answered in words that say what was meant."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._core.schemes import ClassRates

RNG = np.random.default_rng(1)
SCORES = RNG.random(300)
LABELS = (RNG.random(300) < SCORES).astype(int)
CELLS = np.arange(300) % 2
P = np.column_stack([1 - SCORES, SCORES])
CAL = fb.UniformMassBinning(3).fit(SCORES, LABELS)
SEGMENTED = fb.multi.SegmentedBinning(fb.UniformMassBinning(2)).fit(SCORES, LABELS, CELLS)
VECTORS = fb.multi.VectorCalibration().fit(P, LABELS).model_
TABLE = pd.DataFrame({"p": SCORES, "y": LABELS})
ASSESSMENT = fb.report.assess_model(CAL, SCORES, LABELS)
WORDS = np.array(["upper", "lower"])
DECISION = fb.decide.accept_threshold(SCORES, SCORES > 0.6, precision=0.8)


def checked(model: Any, certificate: Any, **options: Any) -> Any:
    return fb.assess.check_certificate(model, SCORES, LABELS, certificate=certificate, **options)


@pytest.mark.parametrize(
    ("call", "columns", "n"),
    [
        (CAL.predict_interval, (SCORES,), "1 argument"),
        (CAL.model_.predict_interval, (SCORES,), "1 argument"),
        (SEGMENTED.predict_interval, (SCORES, CELLS), "2 arguments"),
        (SEGMENTED.model_.predict_interval, (SCORES, CELLS), "2 arguments"),
        (fb.multi.TopLabelBinning(n_bins=1).fit(P, LABELS).predict_interval, (P,), "1 argument"),
        (fb.multi.ClassWiseBinning(n_bins=1).fit(P, LABELS).predict_interval, (P,), "1 argument"),
    ],
)
def test_alpha_is_named(call: Any, columns: Any, n: str) -> None:
    told = f"predict_interval takes {n} by position, and 0.9 comes after; name it: alpha= is the chance to miss, .1 for 90 %"
    refuses(f"InputTypeError: {told}", call, *columns, 0.9)
    assert np.shape(call(*columns, alpha=0.1))[0] == 300


def test_another_spelling_of_a_label_is_proposed() -> None:
    words = np.where(LABELS == 1, "bad", "good")
    for positive, told in (
        ("Bad", "did you mean 'bad'?"), (" bad ", "did you mean 'bad'?"), ("good1", "pass positive="), ("ba", "pass positive="),
    ):  # fmt: skip
        problem = f"is {positive!r}, which is none of the labels"
        seen = " and ".join(map(repr, dict.fromkeys(words.tolist())))
        refuses(f"InputError positive: {problem}: they are {seen}; {told}", CAL.fit, SCORES, words, positive=positive)
        told = f"InputError positive: {problem} in y: they are *; {told}"
        refuses(told, fb.engines.fit, pl.DataFrame({"p": SCORES, "y": words}), score="p", label="y", positive=positive)
    refuses("InputError positive: *; did you mean 1?", CAL.fit, SCORES, LABELS, positive="1")
    place = f"labels[{int(np.argmax(words != words[0]))}]"
    told = f"InputError {place}: *, neither 'Bad' nor *; labels have two values; did you mean 'bad'?"
    refuses(told, fb.online.StreamingBinning([0.5]).update, SCORES, words, positive="Bad")


def test_what_can_be_done_about_a_score_when_it_is_served() -> None:
    nan = 'is NaN; impute such scores, leave them out, or pass nan="propagate" to predict'
    clip = "is 1.5, outside [0, 1]; pass scores of the kind that was fitted; where others should get the nearest end's answer, "
    model, models, taken = CAL.model_, SEGMENTED.model_, 'take model.with_out_of_range("clip")'
    for call, place, columns, remedy in (
        (model.predict, "scores[0]", (), taken), (model.predict_one, "score", (), taken), (CAL.predict, "scores[0]", (), taken),
        (models.predict, "scores[0]", ([0],), 'fit with out_of_range="clip"'),
        (models.predict_one, "score", (0,), 'fit with out_of_range="clip"'),
    ):  # fmt: skip
        for score, told in ((np.nan, nan), (1.5, clip + remedy)):
            refuses(f"InputError {place}: {told}", call, score if place == "score" else [score], *columns)
    assert model.with_out_of_range("clip").predict([1.5]) == model.predict([1.0])
    assert np.isnan(model.predict([np.nan], nan="propagate")).all()


TEXTS = ["0.1", "0.9"]


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (TEXTS, "InputTypeError"), (np.array(TEXTS), "InputTypeError"), (np.array(TEXTS, object), "InputError"),
        (pd.Series(TEXTS), "InputError"), (pl.Series(TEXTS), "InputError"),
    ],
    ids=["list", "array", "objects", "pandas", "polars"],
)  # fmt: skip
def test_texts_are_told_what_they_are(texts: Any, error: str) -> None:
    for call in (lambda: CAL.predict(texts), lambda: fb.UniformMassBinning(1).fit(texts, [0, 1])):
        refuses(f"{error} scores[0]: is '0.1', a text; scores are numbers: convert", call)


def test_a_text_among_labels_is_named_as_it_is() -> None:
    labels = LABELS.tolist()
    labels[7] = "x"
    refuses("InputTypeError labels[7]: is 'x'; labels are 0 and 1, or False and True", CAL.fit, SCORES, labels)
    refuses("InputError labels[7]: is 'x', neither 1 nor 0; labels have two values", CAL.fit, SCORES, labels, positive=1)
    two = [1 if each else "no" for each in LABELS]
    at, seen = two.index("no"), " and ".join(map(repr, dict.fromkeys(two)))
    told = f"InputTypeError labels[{at}]: is 'no'; labels are 0 and 1, or False and True, and these are {seen}; pass positive="
    refuses(told, CAL.fit, SCORES, two)
    three = list(np.array(["a", "b", "c"] * 100))
    refuses("InputError labels[2]: is 'c', neither 'a' nor 'b'", CAL.fit, SCORES, three, positive="a")
    told = "InputTypeError labels[0]: is 'a'; labels are 0 and 1, or False and True, and these are 'a', 'b', 'c', ...; pass"
    for given in (three, np.array(three, object)):
        refuses(told, CAL.fit, SCORES, given)


def test_rows_of_different_lengths_are_no_column() -> None:
    ragged = [[1], [1, 2]]
    refuses("InputError groups[0]: is [1]; a key is", fb.assess.group_table, SCORES[:2], [0, 1], ragged)
    refuses("InputError cells[0]: is [1, 2]; a key is", SEGMENTED.model_.predict, SCORES[:2], [[1, 2], [3, 4]])
    refuses("InputTypeError reference: is not an array of numbers", fb.assess.population_stability, ragged, SCORES)
    refuses("InputTypeError new: is not an array of numbers", fb.assess.population_stability, SCORES, ragged)


def test_what_doubles_do_not_reach_gives_no_warning() -> None:
    huge = np.array(["0.5", "1e4000"], np.longdouble)
    if np.isinf(huge[1]):
        pytest.skip("a long double is a double here")
    refuses("InputError scores: has dtype *, whose digits float64 does not hold", CAL.predict, huge)
    refuses("InputError sample_weight[1]: is inf, whose square overflows", CAL.fit, [0.1, 0.9], [0, 1], sample_weight=huge)
    refuses("InputError P[0, 1]: is inf", fb.multi.TopLabelBinning(n_bins=1).fit, np.stack([huge, huge]), [0, 1])


def test_a_text_among_numbers_and_what_is_missing() -> None:
    refuses("InputError scores[1]: is 'n/a', a text", CAL.predict, [0.5, "n/a"])
    refuses("InputError scores[1]: is None, not a number", CAL.predict, [0.5, None])


def test_percentages_are_told_what_they_are() -> None:
    message = "InputError scores[0]: is *, outside [0, 1]; these look like percentages: divide by 100"
    for call in (
        lambda: fb.CertifiedCalibration().fit(100 * SCORES, LABELS),
        lambda: fb.PlattScaling().fit(100 * SCORES, LABELS),
        lambda: CAL.predict(100 * SCORES),
    ):
        refuses(message, call)
    refuses("InputError score: is 45.0, outside [0, 1]; these look like percentages: divide", CAL.model_.predict_one, 45.0)
    fb.CertifiedCalibration(score_range=(0, 100)).fit(100 * SCORES, LABELS)
    for others in (8 * SCORES - 4, 9 * SCORES, 150 * SCORES, -100 * SCORES):
        at = int(np.argmax((others < 0) | (others > 1)))
        told = f"InputError scores[{at}]: is *; pass probabilities, or score_range=None at fit"
        refuses(told, fb.CertifiedCalibration().fit, others, LABELS)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("isotonic", "calibrator=fastbin.IsotonicCalibration(interpolate=True)"),
        ("sigmoid", "calibrator=fastbin.PlattScaling()"),
        ("temperature", "calibrator=fastbin.TemperatureScaling()"),
    ],
)
def test_a_method_of_scikit_learn_is_a_calibrator(method: str, said: str) -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    classifier: Any = fb.sklearn.CalibratedClassifier
    refuses(f"InputTypeError method: is '{method}'; a calibrator is an object here: pass {said}", classifier, method=method)
    with pytest.raises(TypeError, match="unexpected keyword argument 'methods'"):
        classifier(methods=method)


@pytest.mark.parametrize("value", ["no", "true", 1, 0, None, float("nan")])
def test_what_is_neither_true_nor_false_is_refused(value: Any) -> None:
    """A text such as "no" would count as true, and stand in the provenance."""
    calibrators: list[tuple[Any, str]] = [
        (fb.CertifiedCalibration, "monotone"), (fb.UniformMassBinning, "monotone"), (fb.FixedWidthBinning, "monotone"),
        (fb.IsotonicCalibration, "interpolate"), (fb.PlattScaling, "smooth_labels"),
    ]  # fmt: skip
    for calibrator, name in calibrators:
        refuses(f"InputTypeError {name}: must be True or False", calibrator(**{name: value}).fit, SCORES, LABELS)
        calibrator(**{name: np.True_}).fit(SCORES, LABELS)
    for multi, name in ((fb.multi.ClassWiseBinning, "normalize"), (fb.multi.VectorCalibration, "keep_top")):
        refuses(f"InputTypeError {name}: must be True or False", multi(**{name: value}).fit, P, LABELS)
    stream = fb.online.StreamingBinning([0.5])
    stream.update(SCORES, LABELS)
    for call in (CAL.model_.interval, SEGMENTED.model_.interval, stream.interval):
        refuses("InputTypeError simultaneous: must be True or False", call, simultaneous=value)


def test_a_descriptor_is_no_path() -> None:
    """An integer would be read as an open file, and closed."""
    for source in (1, True, None, 2.5, [1]):
        refuses("InputTypeError source", fb.load, source)
        for online in (fb.online.StreamingBinning(CAL), fb.online.CalibrationMonitor(CAL)):
            refuses("InputTypeError path: is *; pass a path", online.save, source)
        for model in (CAL.model_, SEGMENTED.model_, VECTORS):
            refuses("InputTypeError path: is *; pass a path", model.save, source)


def test_rows_are_no_batches() -> None:
    told = "InputTypeError: batches gave lists such as [0.1, 0], which are rows; a batch is (scores, labels)"
    refuses(told, CAL.fit_batches, [[0.1, 0], [0.2, 1]])


def test_a_file_is_no_batches() -> None:
    told = "InputTypeError batches: is *; pass a function that gives batches *; engines.fit takes the path of a file"
    for path in ("d.csv", Path("d.csv"), b"d.csv"):
        refuses(told, CAL.fit_batches, path)


def test_one_score_and_many_are_told_apart() -> None:
    stream = fb.online.StreamingBinning([0.5])
    refuses("InputTypeError score", stream.update_one, "0.5", 1)
    assert stream.n_samples == 0
    for call in (CAL.predict_one, CAL.model_.predict_one, CAL.model_.assign_one):
        refuses("InputError score: is beyond the greatest double", call, 10**400)
        refuses("InputError score: is beyond the greatest double", call, Fraction(10**400))
    refuses("InputError scores[1]: is beyond the greatest double", CAL.predict, [0.5, 10**400])
    refuses("InputTypeError sample_weight: must be one-dimensional", CAL.fit, SCORES, LABELS, sample_weight=1.0)


def test_a_set_calls_things_as_the_caller_does() -> None:
    for which in ("zz", 17):
        refuses("InputError which: is *, which is none of the 2 keys", SEGMENTED.certificate, which=which)
        refuses("InputError which: is *, which is none of the 2 keys", SEGMENTED.model_.interval, which=which)
    for call in (SEGMENTED.predict, SEGMENTED.predict_interval, SEGMENTED.predict_set):
        refuses("InputError segments[1]: is 7, which is none of the 2 keys", call, SCORES[:2], [0, 7])
    refuses("InputError cells[1]: is 7, which is none of the 2 keys", SEGMENTED.model_.predict, SCORES[:2], [0, 7])
    mixed = [1, np.str_("a"), 2]
    told = "InputError segments[1]: is 'a', and segments[0] is 1"
    refuses(told, fb.multi.SegmentedBinning().fit, SCORES[:3], LABELS[:3], mixed)


def test_an_array_of_one_integer_is_a_number_of_bins() -> None:
    assert fb.UniformMassBinning(np.array(3)).fit(SCORES, LABELS).model_ == CAL.model_


def test_a_number_of_bins_is_an_integer() -> None:
    for calibrator in (fb.CertifiedCalibration, fb.UniformMassBinning, fb.FixedWidthBinning):
        refuses("InputError n_bins: is '10'; pass an integer, or 'auto'", calibrator("10").fit, SCORES, LABELS)


@pytest.mark.parametrize(
    ("told", "call"),
    [
        ("InputTypeError source", lambda: fb.load(CAL.model_.to_bytes())),
        ("InputTypeError source", lambda: fb.load(bytearray(CAL.model_.to_bytes()))),
        ("InputTypeError data", lambda: fb.online.StreamingBinning.from_bytes("abc")),
        ("InputTypeError data", lambda: fb.online.StreamingBinning.from_bytes(None)),
        ("InputTypeError data", lambda: fb.online.CalibrationMonitor.from_bytes(3)),
        ("InputTypeError data", lambda: fb.BinnedModel.from_bytes("abc")),
        ("InputTypeError data", lambda: fb.ModelSet.from_bytes(np.zeros(10)[::2])),
        ("InputTypeError prior", lambda: fb.intervals.beta_binomial([1], [3], 0.1, prior=5)),
        ("InputTypeError prior", lambda: fb.intervals.beta_binomial([1], [3], 0.1, prior=("a", 1))),
        ("InputTypeError certificate", lambda: checked(CAL, "x")),
        ("InputTypeError certificate", lambda: checked(SEGMENTED, "x", cells=CELLS)),
        ("InputError: the certificate is that of a set", lambda: checked(CAL, SEGMENTED.certificate())),
        ("InputError: the certificate is that of one", lambda: checked(SEGMENTED, CAL.certificate(), cells=CELLS)),
        ("InputTypeError certificate", lambda: fb.assess.samples_to_check(CAL, certificate="x")),
        ("InputError: the cert", lambda: fb.assess.samples_to_check(CAL, certificate=SEGMENTED.certificate())),
        ("InputError sigmas[0]", lambda: fb.shift.ULSIF(sigmas=[1e200]).fit(P, P)),
        ("InputTypeError positive", lambda: fb.CertifiedCalibration().fit(SCORES, LABELS, positive=LABELS)),
        ("InputTypeError positive", lambda: fb.assess.reliability_table(SCORES, LABELS, positive=[1])),
        ("InputTypeError class_wise", lambda: fb.guarantees.certify_set([CAL], class_wise="x")),
        ("InputTypeError class_wise", lambda: fb.guarantees.set_intervals([CAL], class_wise=np.nan)),
        ("InputTypeError models", lambda: fb.guarantees.certify_set(CAL.model_)),
        ("InputTypeError names", lambda: fb.guarantees.certify_set([CAL], names=5)),
        ("InputTypeError run_code", lambda: fb.export.verify(CAL, fb.export.javascript(CAL), target="js", run_code="no")),
        ("InputTypeError intervals", lambda: fb.plots.step_plot(CAL, intervals="x")),
        ("InputTypeError non_atomic", lambda: fb.theory.sets_from_intervals([[0, 1]], non_atomic="x")),
        ("InputTypeError class_conditional", lambda: fb.theory.conformal_sets([0.5], SCORES, LABELS, class_conditional="x")),
        ("InputTypeError uniforms", lambda: fb.theory.conformal_sets([0.5], SCORES, LABELS, uniforms="x")),
        ("InputTypeError estimated", lambda: fb.shift.ImportanceWeightedBinning(2).fit(SCORES, LABELS, SCORES, estimated="x")),
        ("InputError mean_eta_squared", lambda: fb.theory.population_risk([0.5], [1.0], [0.5], 5.0)),
        ("InputTypeError split", lambda: fb.UniformMassBinning(3, split="a half").fit(SCORES, LABELS)),
        ("InputTypeError n", lambda: fb.guarantees.auto_n_bins([1])),
        ("InputError chunk_rows", lambda: next(fb.io.read_columns("absent.csv", ["p"], chunk_rows=-1))),
        ("InputError label", lambda: next(fb.io.read_columns("absent.csv", ["p"], label="y"))),
        ("InputTypeError path", lambda: fb.io.open_table(None)),
        ("InputTypeError columns", lambda: next(fb.io.read_columns("absent.csv", "score"))),
        ("InputTypeError columns", lambda: next(fb.io.read_columns("absent.csv", np.array("score")))),
        ("InputError: decimal", lambda: fb.io.open_table("/dev/null", decimal=WORDS)),
        ("InputError memory_limit", lambda: fb.io.open_table("absent.csv", memory_limit=-1)),
        ("InputError seed", lambda: fb.assess.assess(CAL, TABLE, score="p", label="y", seed=0)),
        ("InputError cells", lambda: fb.assess.assess(SEGMENTED, (SCORES, LABELS), segment=CELLS, cells=CELLS)),
        ("InputTypeError calibrator", lambda: fb.engines.fit(TABLE, calibrator=fb.shift.LabelShift(CAL), score="p", label="y")),
        ("InputTypeError calibrator", lambda: fb.multi.TopLabelBinning(calibrator=fb.shift.LabelShift(CAL)).fit(P, LABELS)),
        ("InputError P[1, 0]", lambda: fb.multi.VectorCalibration().fit(np.ma.array(P, mask=P[1, 0] == P), LABELS)),
        ("InputError P[1]", lambda: VECTORS.predict(np.ma.array(SCORES, mask=SCORES[1] == SCORES))),
        ("InputError score", lambda: DECISION.decide_one(10**400)),
        ("InputError alpha", lambda: CAL.certificate(alpha=10**400)),
        ("InputError: bound", lambda: CAL.certificate(bound=WORDS)),
        ("InputError: nan", lambda: CAL.predict(SCORES, nan=WORDS)),
        ("InputTypeError groups", lambda: fb.assess.audit_groups(CAL, SCORES, LABELS, True)),
        ("InputTypeError cost", lambda: fb.decide.performance(CAL, SCORES, 0.5, cost=np.array(3))),
        ("InputTypeError decision", lambda: fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], decision=())),
        ("InputTypeError decision", lambda: CAL.model_.with_decision((0.5, 0.2, b"{}"))),
        ("InputTypeError rates", lambda: fb.BinnedModel.from_parts(edges=[], values=[0.2], rates=ClassRates(0.1, 0.2))),
        ("InputError kind", lambda: fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], kind=WORDS)),
        ("InputError: delimiter", lambda: fb.io.open_table("/dev/null", delimiter="")),
        ("InputTypeError columns", lambda: next(fb.io.read_columns("absent.csv", [["p"]]))),
        ("InputTypeError cell", lambda: SEGMENTED.model_.predict_one(0.5, np.array([1, 0], object))),
        ("InputError scheme", lambda: fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], scheme=WORDS)),
        ("InputError out_of_range", lambda: CAL.model_.with_out_of_range(WORDS)),
        ("InputError unknown", lambda: fb.ModelSet({1: CAL}, unknown=WORDS)),
        ("InputTypeError names", lambda: fb.guarantees.certify_set([CAL], names=np.array(5))),
        ("InputTypeError classes", lambda: fb.multi.VectorCalibration(classes=np.array(2)).fit(P, LABELS)),
        ("InputTypeError labels", lambda: fb.multi.VectorCalibration().fit(P, np.float64(1.0))),
        ("InputError min_points", lambda: fb.multi.SegmentedBinning(min_points=10**30).fit(SCORES, LABELS, CELLS)),
        ("InputTypeError: batches", lambda: fb.UniformMassBinning(3).fit_batches(np.array(3))),
        ("InputError salt", lambda: fb.hash_keys([1], salt="\ud800")),
        ("InputTypeError data", lambda: fb.BinnedModel.from_bytes(np.array(["2026-01-01"], dtype="M8[D]"))),
        ("InputTypeError: array", lambda: fb.engines.fit(TABLE, score=WORDS, label="y")),
        ("InputTypeError title", lambda: fb.report.render_report(ASSESSMENT, title=None)),
        ("InputTypeError model_source", lambda: fb.report.render_report(ASSESSMENT, model_source=Path("a.fbm"))),
        ("InputTypeError others", lambda: fb.report.assess_model(CAL, SCORES, LABELS, others=[SCORES])),
        *(
            ("InputTypeError progress: must be a function, got True", call)
            for call in (
                lambda: fb.engines.fit(TABLE, score="p", label="y", progress=True),
                lambda: fb.engines.count(TABLE, CAL, score="p", progress=True),
                lambda: fb.UniformMassBinning(3).fit_batches([(SCORES, LABELS)], progress=True),
                lambda: fb.shift.ULSIF().fit(P, P, progress=True),
                lambda: next(fb.io.read_columns("absent.csv", ["p"], progress=True)),
            )
        ),
        *(
            (told, partial(fb.online.CalibrationMonitor, CAL, tolerance=tolerance))
            for told, tolerance in (
                ("InputTypeError tolerance: must be a real number, got '0.1'", "0.1"),
                ("InputTypeError tolerance: must be a real number, got None", None),
                ("InputTypeError tolerance: must be a real number, got True", True),
                ("InputTypeError tolerance[1]: is None", [0.1, None, 0.1]),
                ("InputTypeError tolerance[0]: is 'a'", ["a", "b", "c"]),
                ("InputTypeError tolerance", [[0.1], [0.1, 0.2]]),
                ("InputError tolerance: is nan", float("nan")),
            )
        ),
    ],
)
def test_what_is_something_else_is_named(told: str, call: Any) -> None:
    refuses(told, call)


def test_a_path_may_be_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "model.fbm")
    CAL.model_.save(path)
    assert fb.load(path.encode()) == CAL.model_


def test_a_fitted_calibrator_has_a_source_rate_and_a_set_has_none() -> None:
    assert fb.shift.source_rate_of(CAL) == fb.shift.source_rate_of(CAL.model_) == LABELS.mean()
    with pytest.raises(fb.InputTypeError, match="pass a BinnedModel"):
        fb.shift.source_rate_of(SEGMENTED)


def test_a_tolerance_is_any_kind_of_number() -> None:
    expected = fb.online.CalibrationMonitor(CAL, tolerance=0.25).tolerated.tolist()
    for tolerance in (np.float32(0.25), np.array(0.25), Fraction(1, 4), [Fraction(1, 4)] * 3, pd.Series([0.25] * 3)):
        assert fb.online.CalibrationMonitor(CAL, tolerance=tolerance).tolerated.tolist() == expected


def test_a_monitor_belongs_to_the_calibrator_of_its_model() -> None:
    other = fb.UniformMassBinning(2).fit(SCORES, LABELS)
    for own in (CAL, SEGMENTED):
        monitor = fb.online.CalibrationMonitor(own)
        assert [monitor.belongs_to(each) for each in (own, own.model_, other)] == [True, True, False]
    refuses("InputTypeError: model is of type int", fb.online.CalibrationMonitor(CAL).belongs_to, 3)


@pytest.mark.parametrize("name", ["predict", "predict_interval", "predict_set"])
def test_lengths_of_segments_are_told_as_such(name: str) -> None:
    call = getattr(SEGMENTED, name)
    refuses("InputError: lengths differ: scores has 2, segments has 1", call, [0.5, 0.6], [0])
    refuses("InputError tie_keys", call, [0.5, 0.6], [0, 1], tie_keys=[1])


def test_no_cells_have_the_radius_0() -> None:
    for counts in ([], (), np.empty(0, int)):
        assert fb.guarantees.common_radius(counts, 0.1) == 0.0
        assert fb.guarantees.common_radius(counts, 0.1, label_sums=[]) == 0.0
        assert fb.guarantees.common_radius(counts, 0.1, shifts=[]) == 0.0
    refuses("InputError: lengths differ: counts has 0, label_sums has 1", fb.guarantees.common_radius, [], label_sums=[1])
