"""Write the golden files of a release: saved models, sets, streams, monitors and pickles, and what they answer.

    python tests/golden/make_golden.py             # of the version that is installed, into tests/golden/VERSION/
    python tests/golden/make_golden.py 08191bb     # of a commit whose files are in use, into tests/golden/08191bb/

Run once, when a release is tagged, in an environment that has that release; tests/golden/README.md says what is kept. What a
release does not offer any more is left out and named.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastbin as fb

HERE = Path(__file__).resolve().parent
MAX_KEY = 2**64 - 1
ALPHAS = (0.1, 1e-3)

rng = np.random.default_rng(20260)
N = 400
DISTINCT = rng.random(N)
TIED = rng.integers(0, 13, N) / 12
MARGINS = rng.normal(0.0, 2.0, N)
LABELS = (rng.random(N) < 0.15 + 0.6 * DISTINCT).astype(int)
TIED_LABELS = (rng.random(N) < 0.1 + 0.7 * TIED).astype(int)
MARGIN_LABELS = (rng.random(N) < 1.0 / (1.0 + np.exp(-MARGINS))).astype(int)
FREQUENCIES = rng.integers(1, 4, N)
IMPORTANCE = rng.exponential(1.0, N) + 0.05


def uniform_mass() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every scheme with every rule for ties that its fit takes; weights, randomised values, margins, monotone values."""
    rules = dict.fromkeys(("umd", "ze", "ums"), ("whole", "random", "upper")) | {"umb": ("whole", "random")}
    for scheme, ties in ((scheme, ties) for scheme, several in rules.items() for ties in several):
        for shape, scores, labels in (("distinct", DISTINCT, LABELS), ("tied", TIED, TIED_LABELS)):
            options = {"scheme": scheme, "ties": ties, "seed": len(ties)}
            yield f"{scheme}-{ties}-{shape}", lambda s=scores, y=labels, o=options: fb.UniformMassBinning(6, **o).fit(s, y)
    for name, weights in (("frequencies", FREQUENCIES), ("importance", IMPORTANCE)):
        for ties in ("whole", "random"):
            options = {"ties": ties, "seed": 7}
            yield f"umd-{ties}-{name}", lambda w=weights, o=options: fb.UniformMassBinning(5, **o).fit(TIED, TIED_LABELS, w)
    yield "umd-share", lambda: fb.UniformMassBinning(4, edges_share=0.25).fit(TIED, TIED_LABELS)
    yield "umd-delta", lambda: fb.UniformMassBinning(5, delta=0.125).fit(DISTINCT, LABELS)
    yield "umd-delta-tied", lambda: fb.UniformMassBinning(5, ties="random", delta=1e-3).fit(TIED, TIED_LABELS)
    yield "umd-monotone", lambda: fb.UniformMassBinning(20, monotone=True).fit(DISTINCT, LABELS)
    yield "umd-margins", lambda: fb.UniformMassBinning(5, score_range=None).fit(MARGINS, MARGIN_LABELS)
    yield "umd-one-bin", lambda: fb.UniformMassBinning(1).fit(DISTINCT, LABELS)
    yield "umd-many-bins", lambda: fb.UniformMassBinning(150).fit(DISTINCT, LABELS)
    yield "umd-greatest-seed", lambda: fb.UniformMassBinning(4, ties="random", seed=MAX_KEY).fit(TIED, TIED_LABELS)


def others() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every other method: steps, lines and smooth maps, those that moved, and a model made by hand."""
    yield "fixed-width", lambda: fb.FixedWidthBinning(8).fit(TIED, TIED_LABELS)
    yield (
        "fixed-width-platt",
        lambda: fb.FixedWidthBinning(5, scaler=fb.PlattScaling().fit(DISTINCT, LABELS)).fit(TIED, TIED_LABELS),
    )
    yield "explicit", lambda: fb.ExplicitBinning([0.1, 0.25, 0.5, 0.75]).fit(DISTINCT, LABELS)
    for scheme in ("double-dipped", "split"):
        for scaler in ("platt", "beta", "temperature", "none"):
            options = {"scheme": scheme, "scaler": scaler}
            yield f"scaling-binning-{scheme}-{scaler}", lambda o=options: fb.ScalingBinning(4, **o).fit(DISTINCT, LABELS)
    yield "scaling-binning-whole", lambda: fb.ScalingBinning(4, scaler="beta").fit(TIED, TIED_LABELS)
    yield "scaling-binning-spline", lambda: fb.ScalingBinning(4, scaler=fb.SplineScaling()).fit(TIED, TIED_LABELS)
    for shape, scores, labels in (("distinct", DISTINCT, LABELS), ("tied", TIED, TIED_LABELS)):
        yield f"certified-{shape}", lambda s=scores, y=labels: fb.CertifiedCalibration().fit(s, y)
    yield "certified-bin-means", lambda: fb.CertifiedCalibration(values="mean").fit(DISTINCT, LABELS)
    yield "certified-frequencies", lambda: fb.CertifiedCalibration(4).fit(TIED, TIED_LABELS, FREQUENCIES)
    yield "certified-importance", lambda: fb.CertifiedCalibration(4, values="beta").fit(DISTINCT, LABELS, IMPORTANCE)
    yield (
        "certified-unlabelled",
        lambda: fb.CertifiedCalibration(4).fit(DISTINCT[:300], LABELS[:300], unlabelled=DISTINCT[300:]),
    )
    yield "isotonic", lambda: fb.IsotonicCalibration().fit(TIED, TIED_LABELS)
    yield "isotonic-lines", lambda: fb.IsotonicCalibration(interpolate=True).fit(DISTINCT, LABELS)
    yield "isotonic-importance", lambda: fb.IsotonicCalibration().fit(DISTINCT, LABELS, sample_weight=IMPORTANCE)
    yield "platt", lambda: fb.PlattScaling().fit(DISTINCT, LABELS)
    yield "platt-margins", lambda: fb.PlattScaling(score_range=None).fit(MARGINS, MARGIN_LABELS)
    yield "platt-logits", lambda: fb.PlattScaling(feature="logit").fit(DISTINCT, LABELS)
    yield "temperature", lambda: fb.TemperatureScaling().fit(DISTINCT, LABELS)
    yield "beta", lambda: fb.BetaScaling().fit(DISTINCT, LABELS)
    yield "quadratic-fitted", lambda: fb.QuadraticScaling().fit(DISTINCT, LABELS)
    yield "spline-fitted", lambda: fb.SplineScaling().fit(DISTINCT, LABELS)
    source = fb.UniformMassBinning(5).fit(DISTINCT, LABELS).model_
    yield "label-shift", lambda: fb.shift.LabelShift(source).fit(labels=[1] * 20 + [0] * 80)
    yield "label-shift-known", lambda: fb.shift.LabelShift(source, method="known", target_rate=0.05).fit()
    yield "monotone-model", lambda: fb.monotone_model(fb.UniformMassBinning(20).fit(DISTINCT, LABELS).model_)
    yield "noted", lambda: fb.BinnedModel.from_parts(
        edges=[-0.5, 0.0, 0.0, 3.5], edge_keys=[0, 1000, MAX_KEY, 2**63], values=[0.0, 0.125, 1.0, 1 / 3, 0.7], scheme="other",
        ties="random", counts=[3, 8, 0, 3, 10], label_sums=[0, 1, 0, 1, 7], score_range=None, n_bins_asked=9, n_tied=4,
        n_samples=30, n_positive=12, seed=3, note='{"by": "Zoë", "for": "✓"}',
    )  # fmt: skip
    yield "untallied", lambda: fb.BinnedModel.from_parts(edges=[0.25, 0.5], values=[0.75, 0.5, 0.0], score_range=(-1.0, 2.0))


def resolutions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Values finer than the evidence, whole ties, and smooth maps of a logit that is clipped: made of parts."""
    steps = {
        "edges": [0.125, 0.25, 0.25, 0.5, 0.75, 0.875], "values": [0.0, 0.125, 1 / 3, 0.25, 0.5, 0.75, 1.0],
        "first_step": [0, 2, 5], "step_counts": [4, 2, 3, 3, 2, 1, 5], "counts": [6, 7, 5], "label_sums": [1, 3, 4],
        "scheme": "certified", "n_bins_asked": 3, "n_samples": 20, "n_positive": 9, "seed": 11,
    }  # fmt: skip
    whole = {"ties": "whole", "tie_counts": [[0, 0, 0], [3, 1, 0], [2, 2, 1]], "n_tied": 5, "edges_share": 0.25}
    make = fb.BinnedModel.from_parts
    yield "steps", lambda: make(**steps, ties="upper")
    yield "steps-whole", lambda: make(**steps, **whole, edge_keys=[0, MAX_KEY, MAX_KEY, 0, 0, MAX_KEY])
    yield "steps-unlabelled", lambda: make(**steps, **whole, unlabelled_counts=[40, 0, 7, 2**53, 0, 1, 3])
    yield "steps-random", lambda: make(**{**steps, "edge_keys": [1, 1000, 2**63, 7, MAX_KEY, 5]}, ties="random", n_tied=4)
    yield "steps-untallied", lambda: make(**{**steps, "counts": None, "label_sums": None})
    for scheme, left_out in (("umd", 1), ("ze", 0), ("umb", 0), ("ums", 0)):
        ties = [[0, 0, 0]] * 3 if scheme == "ums" else [[0, 0, 0], [3, 1, 0], [1, 1, 1]]
        yield f"{scheme}-whole", lambda s=scheme, k=left_out, t=ties: make(
            edges=[0.25, 0.5], values=[0.125, 0.25, 0.75], counts=[8, 8, 4], label_sums=[1, 2, 3], scheme=s, ties="whole",
            tie_counts=t, edges_share=1.0, n_samples=20 + 2 * k, n_positive=6 + k, n_tied=9,
        )  # fmt: skip
    smooth = {"edges": [], "values": [], "kind": "smooth"}
    yield "quadratic", lambda: make(**smooth, scheme="quadratic", map="quadratic", map_parameters=(0.1, 1.2, -0.05), clip=1e-3)
    yield "spline", lambda: make(**smooth, scheme="spline", map="spline", clip=0.5 / 401, knots=KNOTS)
    yield "spline-unclipped", lambda: make(**smooth, scheme="spline", map="spline", knots=KNOTS)
    yield "beta-clipped", lambda: make(**smooth, scheme="beta", map="beta", map_parameters=(0.9, 1.1, 0.2), clip=1e-4)


# Natural splines have second derivatives of 0 at their ends; those between need not make the slopes agree.
KNOTS = [[-3.0, -2.5, 0.0], [-0.5, -0.25, 0.125], [0.75, 1.0, -0.25], [4.0, 2.0, 0.0]]


def streams() -> Iterator[tuple[str, Callable[[], Any]]]:
    """With variances and without, going on from a fit and from nothing, over bins of their own and merged."""
    model = fb.UniformMassBinning(5, ties="random").fit(TIED, TIED_LABELS).model_
    online = fb.online.StreamingBinning

    def counted(stream: Any, start: int = 0, stop: int = 300) -> Any:
        stream.update(TIED[start:stop], TIED_LABELS[start:stop], seed=5)
        return stream

    yield "empty", lambda: online(model)
    yield "counted", lambda: counted(online(model))
    yield "continued", lambda: counted(online(model, continue_fit=True))
    yield "continued-untouched", lambda: online(model, continue_fit=True)
    yield "merged", lambda: counted(online(model), 0, 100).merge(counted(online(model), 100, 300))
    yield "by-edges", lambda: counted(online([0.2, 0.5, 0.9]))
    yield "by-scores", lambda: counted(online.from_scores(DISTINCT, n_bins=4, ties="upper"))
    yield "by-tied-scores", lambda: counted(online.from_scores(TIED, n_bins=4, ties="random", seed=9))
    yield "by-whole-scores", lambda: counted(online.from_scores(TIED, n_bins=4))
    yield "over-certified", lambda: counted(online(fb.CertifiedCalibration(4).fit(TIED, TIED_LABELS)))
    by_name = dict(resolutions())
    for name in ("steps", "steps-whole", "steps-random"):
        yield f"over-{name}", lambda n=name: counted(online(by_name[n]()))


def monitors() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Untouched, quiet, alarmed; with a tolerance for all bins, for each, and with the model's own intervals."""
    cal = fb.UniformMassBinning(5, ties="random").fit(TIED, TIED_LABELS)
    watch = fb.online.CalibrationMonitor

    def told(monitor: Any, labels: Any) -> Any:
        monitor.update(TIED[:250], labels[:250], seed=6)
        return monitor

    yield "untouched", lambda: watch(cal)
    yield "quiet", lambda: told(watch(cal, 0.01, 0.3), TIED_LABELS)
    yield "alarmed", lambda: told(watch(cal, 0.05, 0.02), 1 - TIED_LABELS)
    yield "each-its-own", lambda: told(watch(cal, 0.05, [0.1, 0.2, 0.0, 0.05, 1.0]), TIED_LABELS)
    yield "over-certified", lambda: told(watch(fb.CertifiedCalibration(4).fit(TIED, TIED_LABELS), 0.05, 0.1), TIED_LABELS)
    yield "by-intervals", lambda: told(watch(cal, 0.05, 0.01, interval_alpha=0.05), TIED_LABELS)


def sets() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Both types of keys, with a pool and without."""

    def fitted() -> list[Any]:
        return [make().model_ for name, make in uniform_mass() if name in ("umd-whole-tied", "umd-random-tied", "umd-delta")]

    yield "integers", lambda: fb.ModelSet(dict(zip((-(2**63), 5, 2**63 - 1), fitted(), strict=True)))
    yield "texts", lambda: fb.ModelSet(dict(zip(("z", "é", "\U0001f600"), fitted(), strict=True)))
    for unknown in ("pool", "refuse"):
        yield (
            f"pool-{unknown}",
            lambda u=unknown: fb.ModelSet(
                dict(zip("ab", fitted(), strict=False)), pool=fitted()[2], pooled_cells=["A", "c", "d"], unknown=u
            ),
        )
    segments = np.where(DISTINCT < 0.5, "low", "high")
    yield "segments", lambda: fb.multi.SegmentedBinning(fb.UniformMassBinning(3)).fit(TIED, TIED_LABELS, segments)
    yield "segments-certified", lambda: fb.multi.SegmentedBinning(fb.CertifiedCalibration(2)).fit(TIED, TIED_LABELS, segments)
    rows = np.stack([DISTINCT, (1.0 - DISTINCT) * TIED, (1.0 - DISTINCT) * (1.0 - TIED)], axis=1)
    classes = np.where(LABELS == 1, 0, 1 + TIED_LABELS)
    yield "top-label", lambda: fb.multi.TopLabelBinning(n_bins=2).fit(rows, classes)
    yield "class-wise", lambda: fb.multi.ClassWiseBinning(n_bins=3).fit(rows, classes)


# ------------------------------------------------------------------------------------------------- what they answer


def hexed(numbers: Any) -> list[str]:
    return [float(number).hex() for number in np.asarray(numbers, dtype=np.float64).ravel()]


def questions(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and keys: every knot and its neighbours with the least, a middle and the greatest key, and scores anywhere."""
    low, high = model.score_range or (-5.0, 5.0)
    edges = np.asarray(model.edges)
    scores = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), np.linspace(low, high, 41), [low, high, -0.0]]
    scores = np.concatenate([np.asarray(part, dtype=np.float64) for part in scores])
    scores = scores[(scores >= low) & (scores <= high)]
    keys = np.array([0, 1, 999, 1000, 2**62 + 17, 2**63, MAX_KEY - 1], dtype=np.uint64)
    return np.repeat(scores, len(keys)), np.tile(keys, len(scores))


def of_model(model: Any) -> dict[str, Any]:
    names = (
        "kind", "scheme", "ties", "n_bins", "n_bins_asked", "n_samples", "n_positive", "n_tied", "seed", "note", "is_weighted",
    )  # fmt: skip
    told: dict[str, Any] = {name: getattr(model, name) for name in names}
    told["map"] = [model.map[0], hexed(model.map[1])]
    told["score_range"] = None if model.score_range is None else hexed(model.score_range)
    told |= {name: float(getattr(model, name)).hex() for name in ("delta", "odds_ratio")}
    told |= {name: hexed(getattr(model, name)) for name in ("edges", "values")}
    told["edge_keys"] = np.asarray(model.edge_keys).tolist()
    for name in ("counts", "label_sums"):
        told[name] = None if getattr(model, name) is None else np.asarray(getattr(model, name)).tolist()
    for name in ("weight_sums", "weighted_label_sums", "weight_square_sums"):
        told[name] = None if getattr(model, name) is None else hexed(getattr(model, name))
    scores, keys = questions(model)
    told["scores"], told["keys"] = hexed(scores), keys.tolist()
    told["predicted"] = hexed(model.predict(scores, tie_keys=keys))
    told["bins"] = model.assign(scores, tie_keys=keys).tolist() if model.kind == "step" else None
    if hasattr(model, "n_steps"):  # since 0.2.0
        told["steps"] = model.step(scores, tie_keys=keys).tolist() if model.kind == "step" else None
        told |= {name: getattr(model, name) for name in ("n_steps", "has_steps", "needs_key")}
        told |= {name: float(getattr(model, name)).hex() for name in ("edges_share", "clip")}
        for name in ("first_step", "step_counts", "unlabelled_counts", "tie_counts"):
            told[name] = None if getattr(model, name) is None else np.asarray(getattr(model, name)).tolist()
        told["knots"] = None if model.knots is None else hexed(model.knots)
    told["intervals"] = {}
    for alpha in ALPHAS:
        try:
            told["intervals"][repr(alpha)] = hexed(model.interval(alpha))
        except fb.GuaranteeError:
            told["intervals"][repr(alpha)] = None
    return told


def of_set(models: Any) -> dict[str, Any]:
    told = {name: getattr(models, name) for name in ("kind", "unknown", "n_models", "n_bins", "n_samples")}
    told |= {"keys": list(models.cells), "pooled_keys": list(models.pooled_cells)}  # as the saved answers say
    scores, keys = questions(models[models.cells[0]])
    cells = [models.cells[i % len(models.cells)] for i in range(len(scores))]
    told["scores"], told["tie_keys"], told["cells"] = hexed(scores), keys.tolist(), cells
    told["predicted"] = hexed(models.predict(scores, cells, tie_keys=keys))
    told["bins"] = models.assign_all(scores, cells, tie_keys=keys).tolist()
    return told


def of_stream(stream: Any) -> dict[str, Any]:
    """Its content, the model it makes, and its content after fifty samples more."""

    def held() -> dict[str, Any]:
        variances = stream.running_variances
        return {
            "n_samples": stream.n_samples,
            "counts": np.asarray(stream.counts).tolist(),
            "label_sums": np.asarray(stream.label_sums).tolist(),
            "running_variances": None if variances is None else hexed(variances),
        }

    before, model = held(), of_model(stream.model())
    stream.update(TIED[300:350], TIED_LABELS[300:350], seed=8)
    return {"before": before, "model": model, "after": held()}


def of_monitor(monitor: Any) -> dict[str, Any]:
    def held() -> dict[str, Any]:
        told = {name: getattr(monitor, name) for name in ("n_samples", "alarm", "alarm_at")}
        told |= {name: float(getattr(monitor, name)).hex() for name in ("alpha", "e_value", "max_e_value")}
        return told | {"tolerated": hexed(monitor.tolerated)}

    before, model = held(), of_model(monitor.model)
    monitor.update(TIED[300:350], TIED_LABELS[300:350], seed=8)
    return {"before": before, "model": model, "after": held()}


KINDS = {
    "models": (".fbm", lambda: [*uniform_mass(), *others(), *resolutions()], of_model),
    "sets": (".fbm", sets, of_set),
    "streams": (".fbs", streams, of_stream),
    "monitors": (".mon", monitors, of_monitor),
}


def main() -> int:
    folder = HERE / (sys.argv[1] if len(sys.argv) > 1 else fb.__version__)
    expected: dict[str, Any] = {"more": [hexed(TIED[300:350]), TIED_LABELS[300:350].tolist(), 8]}
    for kind, (suffix, cases, answers) in KINDS.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        expected[kind] = {}
        for name, make in cases():
            try:
                made = make()
            except (fb.FastbinError, TypeError) as error:
                print(f"left out: {kind}/{name}: {error}", file=sys.stderr)
                continue
            made = getattr(made, "model_", made)
            data = made.to_bytes()
            (folder / kind / (name + suffix)).write_bytes(data)
            if name in ("umd-random-tied", "texts", "counted", "quiet"):
                (folder / kind / (name + ".pickle")).write_bytes(pickle.dumps(made, protocol=4))
            expected[kind][name] = answers(type(made).from_bytes(data))
    text = json.dumps(expected, separators=(",", ":"), ensure_ascii=False)
    (folder / "expected.json.gz").write_bytes(gzip.compress(text.encode("utf8"), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
