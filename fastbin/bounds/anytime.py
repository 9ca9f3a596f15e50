"""Intervals that hold at every count of a growing bin at once, so that one may look as often as one likes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._errors import InputError
from fastbin._validation import check_alpha, check_labels
from fastbin.bounds._tally import Float64Array, around, as_tally

__all__ = ["beta_binomial", "running_variance", "stitched", "theorem6"]

# Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 1, with eta = e, s = 1.4, m = 1, c = 1. Gupta, Podkopaev & Ramdas 2020
# divide by sqrt(2) where the source divides by 2; theirs is safe but loose.
_K1 = (math.exp(0.25) + math.exp(-0.25)) / math.sqrt(2.0)
_K2 = (math.sqrt(math.e) + 1.0) / 2.0
_ZETA_1_4 = 3.105547219721788
