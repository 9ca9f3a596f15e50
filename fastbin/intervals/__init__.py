"""One interval for one bin at failure probability alpha, vectorised over bins.

Every function takes the tally of the bins and a failure probability *per bin*, and returns an array of shape (n_bins, 2)
with the lower and upper end of an interval for the bin's true frequency of label 1. To cover all bins at once, pass
``sidak(alpha, n_bins)`` (independent bins) or ``bonferroni(alpha, n_bins)`` (any bins) instead of alpha.

`alpha` is from 1e-110 (1e-100 where it is of all bins, as in `fastbin.BinnedModel.interval`) to 1/2: it is the chance of a
miss, not the level of confidence. Counts are at most 2**53. Outside these ranges every function raises an error.

==========================================  ===================================================================
`clopper_pearson`                           exact for any count; the default everywhere
`hoeffding`                                 the papers' closed form; width depends on the count alone
`empirical_bernstein`                       Gupta, Podkopaev & Ramdas 2020, Theorem 4
`wilson`                                    approximate: no guarantee
`stitched`, `beta_binomial`                 valid at every count of a growing bin at once
`self_normalised_hoeffding`,                for importance-weighted samples with a known bound on the weight
`weighted_empirical_bernstein`,
`betting`
==========================================  ===================================================================
"""

from __future__ import annotations

from fastbin.intervals.anytime import beta_binomial, stitched
from fastbin.intervals.binomial import bonferroni, clopper_pearson, empirical_bernstein, hoeffding, sidak, wilson
from fastbin.intervals.weighted import betting, self_normalised_hoeffding, weighted_empirical_bernstein

__all__ = [
    "beta_binomial",
    "betting",
    "bonferroni",
    "clopper_pearson",
    "empirical_bernstein",
    "hoeffding",
    "self_normalised_hoeffding",
    "sidak",
    "stitched",
    "weighted_empirical_bernstein",
    "wilson",
]
__dir__ = __all__.copy  # completion lists the public names
