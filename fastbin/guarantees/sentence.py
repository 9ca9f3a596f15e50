"""The sentence of a certificate: with which probability what is served is how near to the truth, and where."""

from __future__ import annotations

from typing import NamedTuple

from fastbin._base.shown import how_many

# For each kind about a mean over what is served, what it says of the probability beside the truth.
MEAN_ERRORS = {
    "mean-error": "is on average within {distance} of it",
    "mean-overestimate": "exceeds it on average by at most {distance}, a shortfall counted as 0",
    "mean-underestimate": "falls short of it on average by at most {distance}, an excess counted as 0",
}

# What a promise is about where the cells of a set share one model.
POOL = "the pool (as mixed in calibration)"

# What a promise about bins says of what is served: whether it is one of ratios, and its side.
_IN_BINS = {
    (False, "both"): "is within {distance} of {truth}",
    (False, "upper"): "falls short of {truth} by at most {distance}",
    (False, "lower"): "exceeds {truth} by at most {distance}",
    (True, "both"): "is within a factor of {distance} of {truth}",
    (True, "upper"): "times {distance} is at least {truth}",
    (True, "lower"): "is at most {distance} times {truth}",
}


class SentenceParts(NamedTuple):
    """The parts of the sentence that a model and a set fill differently."""

    models: str  # how many of which kind, in a set; of a model alone "", or the pool
    n_samples: int
    n_bins: int
    fine: bool  # whether values are finer than the bins
    left_out: str
    truth: str  # what values are compared with
    side: str
    every: str = ""  # for what the next sample counts
    of_rows: bool = False  # whether the promise is about the calibration rows alone
    n_target: int = 0  # rows of the target population whose draw matters, too

    @property
    def samples(self) -> str:
        return how_many(self.n_samples, "calibration sample")

    @property
    def bins(self) -> str:
        return f"{self.n_bins:{',' if self.models else ''}} {'evidence ' * self.fine}bin{'s' * (self.n_bins != 1)}"


def sentence_of(kind: str, level: str, distance: str, parts: SentenceParts) -> str:
    """The promise as one sentence; `level` is its probability, and `distance` epsilon, as they are shown."""
    if kind == "expected-ece":
        over = f"Averaged over sets of {parts.samples} with the same counts in the bins"
        of_each = f" of {_each(parts)}" if parts.models else ""
        return f"{over}, the expected calibration error{of_each} is at most {distance}{parts.left_out}."
    if kind in MEAN_ERRORS:
        promised = _of_means(MEAN_ERRORS[kind].format(distance=distance), parts)
    elif kind == "ece":
        promised = _of_ece(distance, parts)
    else:
        within = _IN_BINS[kind == "ratio", parts.side].format(truth=parts.truth, distance=distance)
        promised = _of_next_sample(within, parts) if kind == "marginal" else _of_all_bins(within, parts)
    return f"With probability at least {level} over {_drawn(kind, parts)}, {promised}."


def _drawn(kind: str, parts: SentenceParts) -> str:
    """The draws that may be unlucky."""
    if parts.of_rows:
        return f"the labels of the {parts.samples}{' between cuts' * (kind in MEAN_ERRORS)}"
    n = parts.n_target
    target = f" and {how_many(n, 'row')} of the target population" if n else ""
    return f"the {parts.samples}{target}{' and the next sample' * (kind == 'marginal')}"


def _of_means(error: str, parts: SentenceParts) -> str:
    truth, served = parts.truth, "the predicted probability"
    if parts.of_rows:
        truth, served = "the true probability at a score", "the probability that they are served"
    at_once = f", in {_each(parts, ' at once')}" if parts.models else ""
    return f"if {truth} does not fall as the score rises, {served} {error}{at_once}{parts.left_out}"


def _of_ece(distance: str, parts: SentenceParts) -> str:
    bins = parts.bins if parts.models in ("", POOL) else "evidence bins"  # those of all models, of which each has some
    error = f"the binned calibration error on the {bins}" if parts.fine else "the expected calibration error"
    at_once = f" of {_each(parts, ' at once, and so of all of them,')}" if parts.models else ""
    return f"{error}{at_once} is at most {distance}{parts.left_out}"


def _each(parts: SentenceParts, together: str = "") -> str:
    """Each of several models, with what is said of them together; or the pool, which is one."""
    return parts.models if parts.models == POOL else f"each of {parts.models}{together}"


def _served(parts: SentenceParts) -> str:
    """The probabilities that are compared with the truth of a bin."""
    if parts.fine:
        return "the average of what is served" + " to its samples" * parts.of_rows
    return "the probability that its samples are served" if parts.of_rows else "the predicted probability"


def _of_next_sample(within: str, parts: SentenceParts) -> str:
    if not parts.models and not parts.fine:
        return f"{_served(parts)} of that sample {within} in its bin ({parts.bins}{parts.left_out})"
    verb, _, rest = within.partition(" ")
    of_models = f" of {parts.models}" if parts.models else ""
    where = f"({parts.bins}{of_models}{parts.left_out})"
    return f"{_served(parts)} in the bin of that sample {verb}{parts.every} {rest} there {where}"


def _of_all_bins(within: str, parts: SentenceParts) -> str:
    of_models = f" of {parts.models}" if parts.models else ""
    is_only = parts.n_bins == 1 and parts.models in ("", POOL)
    each = f"the only bin{of_models}" if is_only else f"each of the {parts.bins}{of_models} at once"
    return f"in {each}{parts.left_out}, {_served(parts)} {within}"
