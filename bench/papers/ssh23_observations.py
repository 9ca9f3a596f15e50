"""What Sun, Song & Hero 2023 observe in Figures 1, 2 and 4, sentence by sentence, beside what we find."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from observations import Observation, listed
from recalibration import ALPHA, SMOOTHNESS, Risks
from ssh23_table1 import Realisation, label_shift_risks, step_risks

from fastbin.theory import risk_bound, risk_n_bins

__all__ = ["observe", "rates"]

Float64s = npt.NDArray[np.float64]
FROM_1000 = 1000  # exponents are fitted for n from here on, where the paper's grid begins


def observe(grid: Sequence[Risks], around: Sequence[Risks], runs: Sequence[Realisation]) -> list[Observation]:
    """All observations: `grid` as in Figure 1, `around` the best numbers of bins, `runs` those of Table 1."""
    return [*_exponents(grid), *_bounds(grid), *_best_n_bins(around), _curves(runs)]


def rates(grid: Sequence[Risks], part: Callable[[Risks], Float64s], parity: int | None = None) -> Float64s:
    """Exponents of n and of B, by least squares through the logarithms of mean risks."""
    rows, logs = [], []
    for at in grid:
        for b, mean in zip(at.n_bins.tolist(), part(at).mean(axis=0).tolist(), strict=True):
            if at.n >= FROM_1000 and parity in (None, b % 2):
                rows.append((1.0, np.log(at.n), np.log(b)))
                logs.append(np.log(mean))
    return np.asarray(np.linalg.lstsq(np.array(rows), np.array(logs), rcond=None)[0][1:])


PARITY = (
    "An odd B puts a bin astride the centre, where E[Y | score] is steepest, so even and odd B lie on two "
    "curves, and the exponent depends on which are taken."
)


def _exponents(grid: Sequence[Risks]) -> list[Observation]:
    parities = (None, 0, 1)
    (of_n, both), (_, even), (_, odd) = (rates(grid, lambda at: at.calibration, parity) for parity in parities)
    sha_both, sha_even, sha_odd = (float(rates(grid, lambda at: at.sharpness, parity)[1]) for parity in parities)
    return [
        Observation(
            "Figure 1",
            "R_cal = O(n^-0.97 B^0.93), which aligns with the rate O(B / n) of Theorem 1.",
            f"n^{of_n:.2f} from n = 1,000; B^{even:.2f} over even and B^{odd:.2f} over odd B, B^{both:.2f} over both.",
            abs(of_n + 0.97) < 0.06 and abs(even - 0.93) < 0.06,
            PARITY,
        ),
        Observation(
            "Figure 1",
            "R_sha = O(B^-1.7), which aligns with the rate O(B^-2) of Theorem 1.",
            f"B^{sha_even:.2f} over even and B^{sha_odd:.2f} over odd B, B^{sha_both:.2f} over both.",
            sha_odd <= -1.7 <= sha_even,
            PARITY,
        ),
    ]


def _bounds(grid: Sequence[Risks]) -> list[Observation]:
    cells, broken_calibration, broken_sharpness, broken_smooth = 0, 0, 0, 0
    for at in grid:
        for place, b in enumerate(at.n_bins.tolist()):
            bound = risk_bound(at.n, b, ALPHA, SMOOTHNESS)
            cells += at.calibration.shape[0]
            broken_calibration += int((at.calibration[:, place] > bound.calibration).sum())
            broken_sharpness += int((at.sharpness[:, place] > 2.0 / b).sum())
            broken_smooth += int((at.sharpness[:, place] > bound.sharpness).sum())
    at = max(grid, key=lambda at: at.n)
    ratios = [bound_of(at, place) / float(at.mean[place]) for place in (0, -1)]
    return [
        Observation(
            "Figure 1",
            "The bounds (delta = 0.1) follow the same trends as the risks and are valid upper bounds in all cases.",
            f"Exceeded in {cells:,} fitted functions: by R_cal {broken_calibration} times, by R_sha {broken_sharpness} times "
            f"(2 / B) and {broken_smooth} times (8 K^2 / B^2).",
            broken_calibration + broken_sharpness + broken_smooth == 0,
        ),
        Observation(
            "Figure 1(d)",
            "R and its upper bound have similar trends as functions of B.",
            f"The bound with 2 / B is {ratios[0]:,.0f} times the risk at n = {at.n:,} and B = {at.n_bins[0]}, {ratios[1]:,.0f} "
            f"at B = {at.n_bins[-1]}: both fall, the bound as 1 / B and the risk faster.",
            bool(at.mean[-1] < at.mean[0] and bound_of(at, -1) < bound_of(at, 0)),
        ),
    ]


def bound_of(at: Risks, place: int) -> float:
    """Theorem 1 without (A3), at one number of bins."""
    return risk_bound(at.n, int(at.n_bins[place]), ALPHA).total


def _best_n_bins(around: Sequence[Risks]) -> list[Observation]:
    sizes = np.array([at.n for at in around], dtype=np.float64)
    best, least = (np.array(column) for column in zip(*(at.best() for at in around), strict=True))
    bound = np.array([risk_n_bins(int(n), ALPHA, SMOOTHNESS) for n in sizes], dtype=np.float64)
    used = sizes >= FROM_1000

    def slope(values: Float64s) -> float:
        return float(np.polyfit(np.log(sizes[used]), np.log(values[used]), 1)[0])

    slopes = slope(best), slope(least), slope(bound)
    constant = float(np.exp(np.mean(np.log(best[used] / sizes[used] ** (1.0 / 3.0)))))
    # Costs of other numbers of bins, relative to the least risk.
    aside = [cost(at, factor * b, risk) for at, b, risk in zip(around, best, least, strict=True) for factor in (0.5, 2.0)]
    roots = [cost(at, at.n ** (1.0 / 3.0), risk) for at, risk in zip(around, least, strict=True)]
    return [
        Observation(
            "Figure 2",
            "The best number of bins, of the risk and of the bound, scale as O(n^(1/3)).",
            f"Slopes on log n from 1,000: risk {slopes[0]:.3f}, bound {slopes[2]:.3f}; least risk {slopes[1]:.3f} (for -2/3)."
            f" The risk's best is {constant:.2f} n^(1/3), the bound's {np.mean(bound[used] / best[used]):.1f} times that.",
            abs(slopes[0] - 1 / 3) < 0.03 and abs(slopes[2] - 1 / 3) < 0.05,
        ),
        Observation(
            "Figure 2",
            "The risk surface is relatively smooth around its minimum, suggesting that the best B is robust.",
            f"Half or twice the best number of (even) bins costs at most {max(aside):.2f} times the least risk.",
            max(aside) < 2.5,
        ),
        Observation(
            "Appendix E.2",
            "The best B being of order n^(1/3), B = n^(1/3) is used.",
            f"It has {listed(roots, 1)} times the least risk at n = 10^2, 10^2.5, ... (even B).",
            max(roots) < 2.0,
            "The order leaves out a constant of about 5. The paper's (4 K^2 / log(4 B / delta))^(1/3) would be one, but is "
            "twice as large, and K is not known in practice.",
        ),
    ]


def cost(at: Risks, n_bins: float, least: float) -> float:
    """The mean risk at a number of bins, between those fitted, in units of the least risk."""
    return float(np.interp(np.log(n_bins), np.log(at.n_bins), at.mean)) / least


def _curves(runs: Sequence[Realisation]) -> Observation:
    risks = {
        name: float(np.mean(step_risks([getattr(run, name.lower()) for run in runs]).total))
        for name in ("COMPOSITE", "SOURCE", "TARGET")
    }
    risks["LABEL-SHIFT"] = float(np.mean(label_shift_risks([run.rates for run in runs]).total))
    told = ", ".join(f"{name} {risk:.4f}" for name, risk in risks.items())
    return Observation(
        "Figure 4",
        "COMPOSITE best estimates h*, with the highest resolution.",
        f"Mean squared distance from h* on D(0.1), {len(runs)} realisations: {told}. Of the step functions it has 9 steps, as "
        "has SOURCE; TARGET has 4.",
        risks["COMPOSITE"] == min(risks.values()),
    )
