"""What promises assume: one table, word for word in certificates, README.md and docs/guarantees.md."""

from __future__ import annotations

from typing import NamedTuple

from fastbin.guarantees.evidence import Evidence, assumes_no_atoms


class Assumption(NamedTuple):
    """A sentence of a certificate, the certificates that have it, and what helps where it does not hold."""

    sentence: str
    where: str
    otherwise: str


ASSUMPTIONS = {
    "draws": Assumption(
        "the calibration samples are independent draws from the population that will be scored: one row an obligor, no "
        "repeated customers, overlapping windows or common shocks",
        "every one (after label shift: from the source population)",
        "repeated customers, overlapping windows: sample whole clusters, and keep one row of each, chosen at random; common "
        "shocks: a smaller alpha gives wider intervals, as a margin and not as a proof; a population that changes: `fb.online` "
        "detects it, `fb.shift` corrects known kinds",
    ),
    "training": Assumption(
        "the scores were trained on other data",
        "every one",
        "hold rows out, as `fb.sklearn.CalibratedClassifier` does",
    ),
    "no atoms": Assumption(
        "no score at an edge has a positive probability of its own; no two samples share one there",
        "edges at scores that no other sample has (`n_tied` = 0); nothing about ties where the hull is used (`n_tied` > 0, "
        'or `bound="hull"`)',
        '`bound="hull"` holds for any distribution',
    ),
    "keys": Assumption(
        "a score that equals an edge is scored with a key that is uniform and independent of the sample",
        '`ties="random"`',
        '`ties="whole"`, the default, has no keys',
    ),
    "random values": Assumption(
        "values are randomised with keys that are uniform and independent of the sample",
        "`delta` > 0",
        "`delta=0`, the default",
    ),
    "unlabelled": Assumption(
        "the scores without labels are draws of the same population, and labels had no part in who has one",
        "`fit(..., unlabelled=)`",
        "fit to the labelled samples alone",
    ),
    "bins": Assumption(
        "frequencies are taken given the bin where several bins share one value",
        '`kind="marginal"`',
        "",
    ),
}


def sentences(*names: str) -> list[str]:
    """The sentences of these assumptions."""
    return [ASSUMPTIONS[name].sentence for name in names]


def draws_from(population: str) -> str:
    """The first assumption about another population than the one that will be scored."""
    return ASSUMPTIONS["draws"].sentence.replace("the population that will be scored", population)


def about_ties(evidence: Evidence, bound: str = "") -> list[str]:
    """What is assumed about scores at edges."""
    if evidence.ties in ("random", "isolate"):
        return sentences("keys")
    return sentences("no atoms") if assumes_no_atoms(evidence) and bound != "hull" else []


def assumptions_of(evidence: Evidence, kind: str, bound: str = "") -> tuple[str, ...]:
    """What must be true for a promise of this kind about the bins of this model."""
    has_unlabelled = getattr(evidence, "unlabelled_counts", None) is not None
    found = sentences("draws", "training", *["unlabelled"] * has_unlabelled) + about_ties(evidence, bound)
    return (*found, *sentences(*["random values"] * (evidence.delta > 0.0), *["bins"] * (kind == "marginal")))
