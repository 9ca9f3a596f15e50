"""Performance without labels, beside NannyML's CBPE on the same batches: python bench/without_labels.py [repetitions]

Both see the same calibration rows and the same unlabelled batch, and are compared with the labels of the batch, which neither
saw. CBPE gives an estimate and a band of three standard errors of sampling; it is asked with the calibrated probabilities that
the model serves, so that its error is that of its own method. Where NannyML is not installed, its estimate is computed here
(sums of calibrated probabilities above and below the threshold), without a band. "Covers" counts batches in which accuracy,
precision, recall and F1 of the labels all lie inside.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import fastbin as fb

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # it reports each call to its makers
try:
    import nannyml
except ImportError:
    nannyml = None

Array = npt.NDArray[np.float64]

METRICS = ("accuracy", "precision", "recall", "f1")
THRESHOLD, N, N_BATCH = 0.5, 3000, 2000
TRUTHS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda s: s,
    "sharp": lambda s: 1.0 / (1.0 + np.exp(-12.0 * (s - 0.5))),
    "credit": lambda s: 0.08 + 0.6 * s**4,
}


def of_labels(positive: npt.NDArray[np.bool_], labels: npt.NDArray[np.bool_]) -> dict[str, float]:
    hits, misses = int((positive & labels).sum()), int((~positive & labels).sum())
    n_positive = int(positive.sum())
    return {
        "accuracy": float((positive == labels).mean()), "precision": hits / n_positive, "recall": hits / (hits + misses),
        "f1": 2 * hits / (n_positive + hits + misses),
    }  # fmt: skip


def by_cbpe(served: Array, labels: npt.NDArray[np.bool_], batch: Array) -> dict[str, tuple[float, float, float]]:
    """The estimate of each metric and the ends of its band; NaN for ends without NannyML."""
    positive = batch >= THRESHOLD
    if nannyml is None:
        hits, misses, n_positive = float(batch[positive].sum()), float(batch[~positive].sum()), int(positive.sum())
        told = {
            "accuracy": (hits + float((1.0 - batch[~positive]).sum())) / len(batch), "precision": hits / n_positive,
            "recall": hits / (hits + misses), "f1": 2 * hits / (n_positive + hits + misses),
        }  # fmt: skip
        return {name: (value, np.nan, np.nan) for name, value in told.items()}
    import pandas as pd

    reference = pd.DataFrame({"p": served, "d": (served >= THRESHOLD).astype(int), "y": labels.astype(int)})
    estimator = nannyml.CBPE(
        metrics=list(METRICS),
        y_pred_proba="p",
        y_pred="d",
        y_true="y",
        problem_type="classification_binary",
        chunk_size=len(batch),
    )
    estimator.fit(reference)
    found = estimator.estimate(pd.DataFrame({"p": batch, "d": positive.astype(int)})).filter(period="analysis").to_df()
    ends = ("value", "lower_confidence_boundary", "upper_confidence_boundary")
    return {name: tuple(float(found[name, end].iloc[-1]) for end in ends) for name in METRICS}  # type: ignore[misc]


def compare(name: str, shifted: bool, repetitions: int) -> str:
    rate, covers, widths, errors = TRUTHS[name], [0, 0], [], []
    for repetition in range(repetitions):
        rng = np.random.default_rng([70, int(shifted), repetition])
        scores, rows = rng.random(N), rng.random(N_BATCH) ** (0.5 if shifted else 1.0)
        labels, seen = rng.random(N) < rate(scores), rng.random(N_BATCH) < rate(rows)
        model = fb.UniformMassBinning(10, monotone=True).fit(scores, labels).model_
        served, batch = model.predict(scores), model.predict(rows)
        ours = fb.decide.performance(model, rows, THRESHOLD, about="labels")
        theirs, true = by_cbpe(served, labels, batch), of_labels(batch >= THRESHOLD, seen)
        covers[0] += all(low <= true[metric] <= high for metric, (low, high) in ours.intervals.items() if metric in METRICS)
        covers[1] += all(low <= true[metric] <= high for metric, (_, low, high) in theirs.items())
        widths.append([(high - low) / 2 for low, high in (ours.intervals["precision"], theirs["precision"][1:])])
        errors.append([abs(each - true["precision"]) for each in (ours.estimates["precision"], theirs["precision"][0])])
    half, error = np.mean(widths, axis=0), np.mean(errors, axis=0)
    cells = [f"{covers[at] / repetitions:.2f} | {half[at]:.3f} | {error[at]:.4f}" for at in (0, 1)]
    return f"| {name} | {'shifted' if shifted else 'same'} | {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"NannyML {nannyml.__version__}" if nannyml else "without NannyML: its estimate computed here, and no band")
    print("| truth | batch | fastbin covers | half-width of precision | mean error | CBPE covers | half-width | mean error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in TRUTHS:
        for shifted in (False, True):
            print(compare(name, shifted, repetitions), flush=True)


if __name__ == "__main__":
    main()
