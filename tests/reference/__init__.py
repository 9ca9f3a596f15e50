"""The slow, obvious twin of fastbin: what every method computes, in lists, loops and fractions.

This package is the specification in code. It imports nothing of fastbin and no NumPy, uses the standard library alone, and
prefers the line that can be read beside the paper to the line that is fast. Numbers that a paper defines over the reals are
`fractions.Fraction` here; floats appear where a result is defined as a double.

Bins are numbered from 0. Papers, cited by these names throughout:

* Gupta & Ramdas 2021, "Distribution-free calibration guarantees for histogram binning without sample splitting"
* Gupta, Podkopaev & Ramdas 2020, "Distribution-free binary classification: prediction sets, confidence intervals and
  calibration"
* Sun, Song & Hero 2023, "Minimum-risk recalibration of classifiers"
* Kumar, Liang & Ma 2019, "Verified uncertainty calibration"
"""

from reference.keys import group_digest, group_key, key_from_float, row_key, rows_digest, split_key, value_randomiser
from reference.partitions import explicit_edges, fixed_width, scaling_binning, scaling_binning_split
from reference.step_model import StepModel
from reference.uniform_mass import EARLIER_TIES, SCHEMES, TIES_OF_SCHEME, uniform_mass

__all__ = [
    "EARLIER_TIES", "SCHEMES", "TIES_OF_SCHEME", "StepModel", "explicit_edges", "fixed_width", "group_digest", "group_key",
    "key_from_float", "row_key", "rows_digest", "scaling_binning", "scaling_binning_split", "split_key", "uniform_mass",
    "value_randomiser",
]  # fmt: skip
