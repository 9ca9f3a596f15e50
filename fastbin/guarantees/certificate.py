"""A promise about a fitted model, with what it rests on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from fastbin.guarantees.words import sureness

__all__ = ["Certificate"]


def _up(value: float, digits: int) -> str:
    """A bound rounded to `digits` places, upwards, so that what is printed is still true."""
    scale = 10.0**digits
    return f"{math.ceil(value * scale - 1e-9) / scale:.{digits}f}"


def _listed(items: tuple[int, ...], limit: int = 8) -> str:
    shown = ", ".join(str(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


@dataclass(frozen=True)
class Certificate:
    """What a fitted model promises, how sure the promise is, and what it assumes.

    ``str()`` gives one sentence; `to_dict` a machine-readable form.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance. What it is a distance of, `kind` says.
    alpha : float or None
        Failure probability of the promise over the draw of the calibration samples (for "marginal": of these and of the
        next sample). None for "expected-ece", which is a statement about a mean.
    kind : {"conditional", "marginal", "expected-ece", "ece"}
        conditional: in all bins at once, |true frequency of label 1 - value| <= epsilon (Gupta & Ramdas 2021,
        Definition 2). marginal: the same for the bin of the next sample (Definition 1). ece: the expected calibration
        error is at most epsilon (Definition 3). expected-ece: its mean over calibration sets is.
    bound : str
        Which computation gave epsilon: "clopper-pearson", "data", "a-priori" or "hoeffding" as `certify` explains them; for a
        stream, where the promise holds at every number of samples at once, the method of its intervals: "beta-binomial",
        "stitched" or "theorem6" (`fastbin.online.StreamingBinning.certificate`); under covariate shift the method of the
        weighted intervals, such as "betting" (`fastbin.shift.ImportanceWeightedBinning.certificate`).
    theorem : str
        The result that the promise rests on.
    assumptions : tuple of str
        What must be true, one sentence each.
    scheme : str
        How the bins were chosen.
    n_samples, n_bins : int
        Of the fit.
    radii : tuple of float or None
        The distance guaranteed for each bin where it depends on the labels seen; 1.0 for uncovered bins. Else None.
    uncovered_bins : tuple of int
        Bins (from 0) that hold no sample. The promise leaves them out.
    """

    epsilon: float
    alpha: float | None
    kind: str
    bound: str
    theorem: str
    assumptions: tuple[str, ...]
    scheme: str
    n_samples: int
    n_bins: int
    radii: tuple[float, ...] | None = None
    uncovered_bins: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain dicts, lists, strings and numbers, ready for JSON."""
        content = asdict(self)
        for name in ("assumptions", "radii", "uncovered_bins"):
            content[name] = None if content[name] is None else list(content[name])
        return content

    def __str__(self) -> str:
        return f"{self._promise()} ({self.theorem}; assuming that {'; that '.join(self.assumptions)})."

    def _promise(self) -> str:
        samples, distance = f"{self.n_samples:,} calibration samples", _up(self.epsilon, 4)
        left_out = ""
        if len(self.uncovered_bins) == 1:
            left_out = f", leaving out bin {self.uncovered_bins[0]}, which holds no sample of its own"
        elif self.uncovered_bins:
            left_out = f", leaving out bins {_listed(self.uncovered_bins)}, which hold no samples of their own"
        if self.kind == "expected-ece":
            return f"Averaged over sets of {samples}, the expected calibration error is at most {distance}{left_out}"
        assert self.alpha is not None
        sure = f"With probability at least {sureness(self.alpha)}"
        if self.kind == "ece":
            return f"{sure} over the {samples}, the expected calibration error is at most {distance}{left_out}"
        if self.kind == "marginal":
            return (
                f"{sure} over the {samples} and the next sample, the predicted probability of that sample is within {distance} "
                f"of the true frequency of label 1 in its bin ({self.n_bins} bins{left_out})"
            )
        bins = "the only bin" if self.n_bins == 1 else f"each of the {self.n_bins} bins at once"
        return (
            f"{sure} over the {samples}, in {bins}{left_out}, the predicted probability is within {distance} of the true "
            "frequency of label 1"
        )
