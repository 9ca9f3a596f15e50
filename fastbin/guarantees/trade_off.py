"""What several numbers of bins promise for the same samples: the table of ``fastbin bins``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._docstrings import shared_docs
from fastbin._scalars import check_alpha, check_count
from fastbin.guarantees.apriori import epsilon
from fastbin.guarantees.n_bins import auto_n_bins, choose_n_bins


class TradeOff(NamedTuple):
    """What one number of bins promises; see `trade_off`.

    Attributes
    ----------
    n_bins : int
    samples_per_bin : int
        Of the smallest bin.
    conditional : float
        The exact radius for all bins at once.
    marginal : float
        The exact radius for the bin of the next sample.
    conditional_hoeffding : float
        Gupta & Ramdas 2021, equation (8).
    expected_ece : float
        The bound on the mean of the expected calibration error.
    """

    n_bins: int
    samples_per_bin: int
    conditional: float
    marginal: float
    conditional_hoeffding: float
    expected_ece: float


@shared_docs(choose_n_bins.__doc__)
def trade_off(n: int, alpha: float = 0.1, n_bins: list[int] | None = None) -> list[TradeOff]:
    """What n samples promise for several numbers of bins: the table behind ``fastbin bins``.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 2.
    {alpha}
    n_bins : list of int, optional
        The numbers of bins, each at most n // 2. By default 1, 2, 5, 10, 15, 20, 25, 50 and so on, with the choice of
        `auto_n_bins` among them, until the exact conditional promise is above 0.25 or the bins are ten times as many as
        `auto_n_bins` takes.

    Returns
    -------
    list of TradeOff
        One row per number of bins, in ascending order: the smallest count of a bin, the exact conditional and marginal radius,
        Gupta & Ramdas 2021, equation (8), and the bound on the mean of the ECE.

    Raises
    ------
    GuaranteeError
        When a number of bins is above n // 2.
    {InputError, InputTypeError}

    Examples
    --------
    >>> for row in trade_off(1000, n_bins=[5, 10]):
    ...     print(row.n_bins, row.samples_per_bin, round(row.conditional, 3), round(row.conditional_hoeffding, 3))
    5 199 0.083 0.108
    10 99 0.131 0.164
    """
    n, alpha = check_count(n, "n", minimum=2), check_alpha(alpha)
    if n_bins is not None:
        return [_row(n, b, alpha) for b in sorted({check_count(b, "n_bins") for b in n_bins})]
    usual = [step * scale for scale in 10 ** np.arange(8) for step in (1, 2, 5)] + [15, 25]
    rows: list[TradeOff] = []
    chosen = min(auto_n_bins(n), n // 2)
    for b in sorted({int(b) for b in usual if b <= min(n // 2, 10 * chosen)} | {chosen}):
        rows.append(_row(n, b, alpha))
        if rows[-1].conditional > 0.25 and len(rows) > 1:
            break
    return rows


def _row(n: int, n_bins: int, alpha: float) -> TradeOff:
    hoeffding = epsilon(n, n_bins, alpha, "conditional", "hoeffding")
    return TradeOff(
        n_bins=n_bins,
        samples_per_bin=(n + 1) // n_bins - 1,
        conditional=epsilon(n, n_bins, alpha),
        marginal=epsilon(n, n_bins, alpha, "marginal"),
        conditional_hoeffding=hoeffding,
        expected_ece=epsilon(n, n_bins, alpha, "expected-ece"),
    )
