"""How sure a promise is, in words that never say more than is so."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal

__all__ = ["sureness"]

# Of a percentage; from an alpha below 1e-6 on more would be needed to tell it from 100.
_DIGITS = 6


def sureness(alpha: float) -> str:
    """The probability 1 - alpha, rounded down: "90 %", and "1 - 1e-20" where a percentage would read as 100.

    Parameters
    ----------
    alpha : float
        A failure probability, strictly between 0 and 1.

    Returns
    -------
    str

    Examples
    --------
    >>> sureness(0.1), sureness(1e-5), sureness(1e-20)
    ('90 %', '99.999 %', '1 - 1e-20')
    """
    if alpha < 1e-6:
        return f"1 - {alpha:.6g}"
    percent = 100 * (1 - Decimal(repr(float(alpha))))
    return f"{Context(prec=_DIGITS, rounding=ROUND_FLOOR).plus(percent).normalize():f} %"
