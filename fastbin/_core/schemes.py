"""The table of schemes, the words for the other enumerators, and class rates."""

from __future__ import annotations

from typing import NamedTuple

from fastbin._base.checks import check_choice


class Scheme(NamedTuple):
    """All that is known of one way to a model."""

    code: int  # its enumerator in fastbin.h
    title: str
    ties: tuple[str, ...] = ("none",)  # the rules for ties that its fit has
    label_free: bool = False  # its edges never looked at a label: given them, label sums of bins are binomial
    averages_boundary: bool = False  # a boundary sample, which is not a draw from its bin, is averaged there
    continuable: bool = False  # its tally holds independent draws from its bins, and nothing else


# Rules for equal scores at a boundary among the samples.
DIVIDING = ("whole", "random", "upper")

SCHEMES = {
    "other": Scheme(0, "step function of unknown origin"),
    "umd": Scheme(1, "uniform-mass binning without sample splitting (umd)", DIVIDING, True, continuable=True),
    "ze": Scheme(2, "uniform-mass binning, boundary labels averaged (ze)", DIVIDING, True, averages_boundary=True),
    "ums": Scheme(3, "uniform-mass binning with sample splitting (ums)", DIVIDING, True, continuable=True),
    "umb": Scheme(4, "uniform-mass binning, bins closed on the right (umb)", ("whole", "random"), True, averages_boundary=True),
    "fixed-width": Scheme(10, "fixed-width binning", label_free=True, continuable=True),
    "explicit": Scheme(11, "binning at edges given in advance", label_free=True, continuable=True),
    "scaling-binning": Scheme(20, "scaling-binning", DIVIDING, label_free=True),
    "certified": Scheme(
        21, "evidence bins of uniform mass with finer values inside (certified)", ("whole",), True, continuable=True
    ),
    "certified-fine": Scheme(
        22, "evidence bins of uniform mass with a step around every score (certified-fine)", ("whole",), True, continuable=True
    ),
    "isotonic": Scheme(30, "isotonic regression"),
    "platt": Scheme(40, "Platt scaling"),
    "temperature": Scheme(41, "temperature scaling"),
    "beta": Scheme(42, "beta calibration"),
    "quadratic": Scheme(43, "quadratic map of the logit"),
    "spline": Scheme(44, "natural spline of the logit"),
}

# Schemes of `CertifiedCalibration`: their certificate is about averages in bins. The second has a step around every score.
CERTIFIED = ("certified", "certified-fine")

# Words for the enumerators of fastbin.h; tests/test_header.py compares the two.
SCHEME_WORDS = {scheme.code: word for word, scheme in SCHEMES.items()}
KINDS = {0: "step", 1: "linear", 2: "smooth"}
MAPS = {0: "none", 1: "logistic", 2: "beta", 3: "quadratic", 4: "spline"}
TIES = {0: "none", 1: "random", 2: "upper", 3: "lower", 4: "isolate", 5: "whole"}
TIES_CODES = {word: code for code, word in TIES.items()}
RATE_ORIGINS = {0: "none", 1: "given", 2: "counted", 3: "estimated"}
OUT_OF_RANGE = {0: "refuse", 1: "clip"}
OUT_OF_RANGE_CODES = {word: code for code, word in OUT_OF_RANGE.items()}
WEIGHTS = {0: "given", 1: "estimated"}

WORDS = {
    "kind": KINDS, "map": MAPS, "ties": TIES, "scheme": SCHEME_WORDS, "origin": RATE_ORIGINS, "out_of_range": OUT_OF_RANGE,
    "weights": WEIGHTS,
}  # fmt: skip


class ClassRate(NamedTuple):
    """P(Y = 1) in one population, and how it is known.

    Attributes
    ----------
    origin : {"given", "counted", "estimated"}
        Taken as exact; the share of label 1 among labels that were counted; or estimated from scores without labels.
    rate : float in (0, 1)
        The rate that the values were moved by.
    n_samples, n_positive : int
        "counted": the labels counted, and how many of them are 1. "estimated": the scores looked at, and 0. "given": 0 and 0.
    """

    origin: str
    rate: float
    n_samples: int = 0
    n_positive: int = 0


class ClassRates(NamedTuple):
    """The class rates by which label shift moved the values of a model."""

    source: ClassRate
    target: ClassRate


def rates_of_parts(parts: tuple[tuple[int, float, int, int], ...]) -> ClassRates | None:
    """The class rates as C has them; ``None`` for a model that was not moved."""
    if parts[0][0] == 0:
        return None
    return ClassRates(*(ClassRate(RATE_ORIGINS[origin], *rest) for origin, *rest in parts))  # type: ignore[arg-type]


def code_of(name: str, word: str) -> int:
    """The number of a word: code_of("ties", "upper") is 2."""
    words = WORDS[name]
    check_choice(word, name, tuple(words.values()))
    return next(code for code, known in words.items() if known == word)
