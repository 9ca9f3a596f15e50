"""The intervals that were printed or returned are those of the model that is served: after a file, bytes, a pickle."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
import reference
from fastbin import shift
from fitting import as_loaded
from oracle import REPOSITORY

SOURCE_RNG = np.random.default_rng(5)
SCORES = np.round(SOURCE_RNG.random(900), 2)  # ties at every boundary
LABELS = (SOURCE_RNG.random(900) < SCORES).astype(int)
DISTINCT = (np.argsort(np.argsort(SCORES + SOURCE_RNG.random(900) / 100)) + 0.5) / 900  # in the same order
FREQUENCIES = np.arange(900) % 3
IMPORTANCE = 0.5 + DISTINCT
NEW = np.linspace(0.0, 1.0, 101)
KEYS = np.arange(101, dtype=np.uint64) * np.uint64(2**57)
TARGET_LABELS = np.arange(100) < 10

SCHEMES_AND_TIES = [
    *((scheme, ties) for scheme in ("umd", "ze", "ums") for ties in ("whole", "random", "upper")),
    *(("umb", ties) for ties in ("whole", "random")),
]
EARLIER = [("umd", "isolate"), ("umb", "lower")]  # models that come from files alone
# Ties that all went to one side have no theorem.
REFUSED = {f"{scheme}-{ties}" for scheme, ties in SCHEMES_AND_TIES + EARLIER if ties in ("upper", "lower")} - {"ums-upper"}
METHODS = ("clopper-pearson", "hoeffding", "empirical-bernstein", "wilson")


def moved(source: Any = None, **options: Any) -> shift.LabelShift:
    told = {} if options.get("method") else {"labels": TARGET_LABELS}
    return shift.LabelShift(fb.UniformMassBinning(6).fit(SCORES, LABELS) if source is None else source, **options).fit(**told)


def with_a_gap() -> fb.FixedWidthBinning:
    with pytest.warns(fb.FastbinWarning, match="bins 2, 3 of 4"):
        return fb.FixedWidthBinning(4).fit(SCORES / 2.5, LABELS)


def streamed(*arguments: Any, **options: Any) -> fb.BinnedModel:
    stream = fb.online.StreamingBinning(*arguments, **options)
    stream.update(DISTINCT, LABELS)
    return stream.model()


def uniform_mass(**options: Any) -> Callable[[], Any]:
    return lambda: fb.UniformMassBinning(6, **options).fit(SCORES, LABELS)


def earlier(scheme: str, ties: str) -> fb.BinnedModel:
    return as_loaded(reference.uniform_mass(SCORES.tolist(), LABELS.tolist(), 6, scheme, ties), scheme)


CARRIED: dict[str, Callable[[], Any]] = {
    **{f"{scheme}-{ties}": uniform_mass(scheme=scheme, ties=ties) for scheme, ties in SCHEMES_AND_TIES},
    **{f"{scheme}-{ties}": lambda scheme=scheme, ties=ties: earlier(scheme, ties) for scheme, ties in EARLIER},
    **{f"{s}-distinct": lambda s=s: fb.UniformMassBinning(6, scheme=s).fit(DISTINCT, LABELS) for s in ("umd", "ze", "umb")},
    "edges of a share": uniform_mass(edges_share=0.5),
    "monotone": uniform_mass(monotone=True),
    "delta": uniform_mass(delta=0.01),
    "frequencies": lambda: fb.UniformMassBinning(6).fit(SCORES, LABELS, sample_weight=FREQUENCIES),
    "fixed-width": lambda: fb.FixedWidthBinning(7).fit(SCORES, LABELS),
    "fixed-width, an empty bin": with_a_gap,
    "explicit": lambda: fb.ExplicitBinning([0.1, 0.5, 0.52]).fit(SCORES, LABELS),
    "scaling-binning": lambda: fb.ScalingBinning(6).fit(SCORES, LABELS),
    "stream": lambda: streamed([0.2, 0.6]),
    "stream of a model's bins": lambda: streamed(fb.UniformMassBinning(5).fit(SCORES, LABELS)),
    "stream that goes on": lambda: streamed(fb.UniformMassBinning(5, ties="random").fit(SCORES, LABELS), continue_fit=True),
    "moved by labels": moved,
    "moved by labels, smoothed": lambda: moved(smoothing="add-half"),
    "moved by labels, source rate given": lambda: moved(source_rate=0.4),
    "moved to a known rate": lambda: moved(method="known", target_rate=0.02),
    "moved between known rates": lambda: moved(method="known", target_rate=0.02, source_rate=0.4),
    "moved, delta": lambda: moved(uniform_mass(delta=0.01)()),
    "moved, ze": lambda: moved(fb.UniformMassBinning(6, scheme="ze").fit(DISTINCT, LABELS)),
    "moved, ums": lambda: moved(uniform_mass(scheme="ums")()),
    "moved, an empty bin": lambda: moved(with_a_gap()),
    "moved, monotone": lambda: moved(uniform_mass(monotone=True)()),
    "moved, out of range": lambda: moved(uniform_mass()().model_.with_out_of_range("clip")),
}


def as_model(made: Any) -> fb.BinnedModel:
    model: fb.BinnedModel = made if isinstance(made, fb.BinnedModel) else made.model_
    return model


def served(made: Any, folder: Path) -> dict[str, Any]:
    """The calibrator, its model, and each way in which that comes to where it is served."""
    model = as_model(made)
    model.save(folder / "model.fbm")
    ways: dict[str, Any] = {
        "file": fb.load(folder / "model.fbm"),
        "bytes": fb.BinnedModel.from_bytes(model.to_bytes()),
        "pickle": pickle.loads(pickle.dumps(model)),
        "parts": model._replace(),
    }
    if not isinstance(made, fb.BinnedModel):
        ways |= {"model_": model, "pickled calibrator": pickle.loads(pickle.dumps(made))}
    return ways


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the words with which it refused."""
    try:
        answer = call()
    except fb.GuaranteeError as error:
        return f"refused: {error}"
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def promises(holder: Any, alpha: float) -> dict[str, Any]:
    """Everything that a calibrator or a model says of its truth; for a calibrator by its own methods where it has them."""
    model = as_model(holder)
    calls: dict[str, Callable[[], Any]] = {}
    for method in METHODS:
        for simultaneous in (True, False):
            arguments = (alpha, method, simultaneous)
            of_holder = getattr(holder, "interval", model.interval)
            calls[f"interval {arguments}"] = lambda arguments=arguments, of_holder=of_holder: of_holder(*arguments)
    for kind in ("conditional", "marginal", "ece", "expected-ece"):
        for bound in (None, "a-priori"):
            calls[f"certificate {kind} {bound}"] = lambda kind=kind, bound=bound: holder.certificate(alpha, kind, bound)
    calls["predict_interval"] = lambda: getattr(holder, "predict_interval", model.predict_interval)(NEW, alpha=alpha, keys=KEYS)
    calls["predict_set"] = lambda: getattr(holder, "predict_set", model.predict_set)(NEW, alpha=alpha, keys=KEYS)
    calls["monitor"] = lambda: fb.online.CalibrationMonitor(holder, interval_alpha=alpha).tolerated
    return {name: outcome(call) for name, call in calls.items()}


@pytest.mark.parametrize("alpha", [0.1, 1e-6])
@pytest.mark.parametrize("name", CARRIED)
def test_every_way_gives_the_same_intervals(name: str, alpha: float, tmp_path: Path) -> None:
    made = CARRIED[name]()
    expected = promises(made, alpha)
    for way, holder in served(made, tmp_path).items():
        assert promises(holder, alpha) == expected, way


@pytest.mark.parametrize("name", CARRIED)
def test_monitors_tolerate_the_intervals(name: str, tmp_path: Path) -> None:
    made = CARRIED[name]()
    loaded = served(made, tmp_path)["file"]
    if name in REFUSED:
        with pytest.raises(fb.GuaranteeError, match="sends them all to one side"):
            loaded.interval(0.05)
        with pytest.raises(fb.GuaranteeError, match="sends them all to one side"):
            fb.online.CalibrationMonitor(made, interval_alpha=0.05)
        return
    ends = loaded.interval(0.05)
    monitor = fb.online.CalibrationMonitor(made, interval_alpha=0.05)
    wide = np.stack([np.maximum(ends[:, 0] - loaded.delta, 0.0), np.minimum(ends[:, 1] + loaded.delta, 1.0)], axis=1)
    np.testing.assert_array_equal(monitor.tolerated, wide)
    again = fb.online.CalibrationMonitor.from_bytes(monitor.to_bytes())
    np.testing.assert_array_equal(again.tolerated, wide)


def test_most_have_intervals_to_compare(tmp_path: Path) -> None:
    """Refusing on both sides counts as agreement: that must not be all there is."""
    refused = {name for name, make in CARRIED.items() if isinstance(promises(make(), 0.1)["monitor"], str)}
    assert refused == REFUSED


def test_counted_rates_widen_what_is_served(tmp_path: Path) -> None:
    """The error of a hundred labels is more than that of a known rate, after the file as before."""
    counted = served(moved(source_rate=0.4), tmp_path)["file"]
    known = served(moved(method="known", target_rate=0.1, source_rate=0.4), tmp_path)["file"]
    np.testing.assert_array_equal(counted.values, known.values)
    wide, narrow = counted.interval(0.1), known.interval(0.1)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    assert counted.certificate(0.1).epsilon > 2 * known.certificate(0.1).epsilon


# ------------------------------------------------------------------ what a model cannot carry


def weighted() -> shift.ImportanceWeightedBinning:
    return shift.ImportanceWeightedBinning(5).fit(DISTINCT, LABELS, IMPORTANCE)


def by_scores(method: str) -> shift.LabelShift:
    source = fb.UniformMassBinning(6).fit(SCORES, LABELS)
    return shift.LabelShift(source, method=method, n_bootstrap=5).fit(DISTINCT)


NOT_CARRIED: dict[str, tuple[Callable[[], Any], str]] = {
    "importance weights": (weighted, "use fb.shift.weighted_interval"),
    "weighted fit": (
        lambda: fb.UniformMassBinning(5).fit(SCORES, LABELS, sample_weight=IMPORTANCE), "use fb.shift.weighted_interval",
    ),
    "likelihood": (lambda: by_scores("likelihood"), r"count labels with method='labels' \(--target-labels\)"),
    "confusion": (lambda: by_scores("confusion"), r"count labels with method='labels' \(--target-labels\)"),
    "isotonic": (lambda: fb.IsotonicCalibration().fit(SCORES, LABELS), "use UniformMassBinning with monotone values"),
    "platt": (lambda: fb.PlattScaling().fit(SCORES, LABELS), "put bins behind it"),
    "temperature": (lambda: fb.TemperatureScaling().fit(SCORES, LABELS), "put bins behind it"),
    "beta": (lambda: fb.BetaScaling().fit(DISTINCT, LABELS), "put bins behind it"),
    "of 0.1.0": (
        lambda: fb.load(REPOSITORY / "tests/golden/0.1.0/models/label-shift.fbm"), "move the source model again with fb.shift",
    ),
    "of 0.1.0, known": (
        lambda: fb.load(REPOSITORY / "tests/golden/0.1.0/models/label-shift-known.fbm"), "move the source model again with",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CARRIED)
def test_what_cannot_be_carried_is_refused_with_the_remedy(name: str, tmp_path: Path) -> None:
    make, remedy = NOT_CARRIED[name]
    made = make()
    for holder in served(made, tmp_path).values():
        if isinstance(holder, fb.BinnedModel):
            for call in (holder.interval, holder.certificate, lambda model=holder: model.predict_interval(NEW, keys=KEYS)):
                with pytest.raises(fb.GuaranteeError, match=remedy):
                    call()
            if holder.kind == "step":
                with pytest.raises(fb.GuaranteeError, match=remedy):
                    fb.online.CalibrationMonitor(holder, interval_alpha=0.1)


def test_counting_does_not_go_on_from_a_moved_tally() -> None:
    """Not even where the two rates are equal, so that no value moved."""
    source = fb.UniformMassBinning(6, ties="random").fit(SCORES, LABELS)
    rate = shift.source_rate_of(source.model_)
    cal = shift.LabelShift(source, method="known", target_rate=rate).fit()
    assert cal.model_.odds_ratio == 1.0
    with pytest.raises(fb.GuaranteeError, match="moved to other class rates"):
        fb.online.StreamingBinning(cal, continue_fit=True)
