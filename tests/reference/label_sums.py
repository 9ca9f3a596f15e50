"""The law of a sum of independent labels by convolution: the twin of fastbin.assess.label_sums, for many labels, too."""

from __future__ import annotations

import numpy as np

# A sum of independent labels is within this of its mean, in labels, but for a chance below 1e-18.
DEVIATIONS, ROOM = 10.0, 30.0


def poisson_binomial(frequencies: np.ndarray) -> tuple[int, np.ndarray]:
    """The law of a sum of independent labels: its first value, and the chances from there on. O(n log n).

    Neighbours are convolved in pairs, round by round, each law in a window around its mean outside of which less than 1e-18
    lies (Bernstein's inequality). `frequencies` ascend, so that windows of a round are of one width.
    """
    n_rounds = max(0, int(len(frequencies) - 1).bit_length())
    p = np.append(frequencies, np.zeros(2**n_rounds - len(frequencies)))  # labels that are never 1
    laws, first = np.stack([1.0 - p, p], axis=1), np.zeros(len(p), np.int64)
    means, variances = p.copy(), p * (1.0 - p)
    for _ in range(n_rounds):
        size = 2 * laws.shape[1] - 1
        left, right = (np.fft.rfft(laws[half::2], size, axis=1) for half in (0, 1))
        laws, first = np.maximum(np.fft.irfft(left * right, size, axis=1), 0.0), first[0::2] + first[1::2]
        means, variances = means[0::2] + means[1::2], variances[0::2] + variances[1::2]
        reach = int(DEVIATIONS * np.sqrt(variances.max()) + ROOM)
        if 2 * reach + 1 < size:
            starts = np.clip(np.rint(means).astype(np.int64) - reach - first, 0, size - 2 * reach - 1)
            laws = np.take_along_axis(laws, starts[:, np.newaxis] + np.arange(2 * reach + 1), axis=1)
            first = first + starts
    return int(first[0]), laws[0]
