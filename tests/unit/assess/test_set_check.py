"""The check of a set: each model at its share of alpha, the joint verdict, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess


def model_of(values: list[float], count: int = 1000) -> fb.BinnedModel:
    edges = [b / len(values) for b in range(1, len(values))]
    counts, sums = [count] * len(values), [round(count * value) for value in values]
    return fb.BinnedModel.from_parts(edges=edges, values=values, counts=counts, label_sums=sums, scheme="fixed-width")


SET = fb.ModelSet(
    {"north": model_of([0.2, 0.5]), "south": model_of([0.1, 0.4, 0.7], 2000)}, pool=model_of([0.5], 500), pooled_keys=["isle"]
)
VALUES: dict[str, list[float]] = {"north": [0.2, 0.5], "south": [0.1, 0.4, 0.7], "isle": [0.5]}


def rows_of(rates: dict[str, list[float]], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and cells: `count` samples in each bin, with exactly these rates."""
    parts = [(name, (b + 0.5) / len(own), rate) for name, own in rates.items() for b, rate in enumerate(own)]
    scores = np.concatenate([np.full(count, score) for _, score, _ in parts])
    labels = np.concatenate([np.arange(count) < round(count * rate) for *_, rate in parts])
    return scores, labels, np.repeat([name for name, *_ in parts], count)


def test_every_model_is_checked_at_its_share() -> None:
    scores, labels, cells = rows_of(VALUES | {"south": [0.1, 0.48, 0.7]}, 3000)
    check = assess.check_certificate(SET, scores, labels, cells=cells, alpha=0.06)
    joint = SET.certificate()
    assert [name for name, _ in check.parts] == ["north", "south", None]
    for (name, part), (named, promise) in zip(check.parts, joint.parts, strict=True):
        assert name == named
        own = cells == (name or "isle")
        model = SET.pool if name is None else SET[name]
        alone = assess.check_certificate(model, scores[own], labels[own], certificate=promise, alpha=0.02, power=0.9 ** (1 / 3))
        assert part.to_dict() == alone.to_dict()
    assert check.verdict == "contradicted"
    assert check.names_with("contradicted") == ["south"]
    assert math.isclose(check.p_value, min(1.0, 3 * min(part.p_value for _, part in check.parts)))
    assert str(check).startswith(
        "Contradicted by 18,000 new rows: of 3 models, the frequencies lie outside the promised range for "
    )
    assert "'south' (bin 1)" in str(check)


def test_joint_verdicts() -> None:
    def verdict(rates: dict[str, list[float]], count: int) -> assess.SetCheck:
        scores, labels, cells = rows_of(rates, count)
        return assess.check_certificate(SET, scores, labels, cells=cells)

    assert verdict(VALUES, 30000).verdict == "confirmed"
    few = verdict(VALUES, 100)
    assert few.verdict == "not contradicted"
    assert few.samples_to_confirm > few.n_samples
    assert str(few).startswith("Not contradicted by 600 new rows (a difference of ")
    enough = verdict(VALUES, math.ceil(few.samples_to_confirm / 6))
    assert enough.verdict == "confirmed"
    some = verdict(VALUES | {"north": [0.29, 0.5]}, 100)
    assert (some.verdict, math.isfinite(some.samples_to_contradict)) == ("not contradicted", True)
    missing = verdict({"north": [0.2, 0.5], "south": [0.1, 0.4, 0.7]}, 30000)
    assert missing.verdict == "not contradicted"
    assert missing.names_with("not contradicted") == [None]
    assert json.loads(json.dumps(few.to_dict()))["parts"][2]["cell"] is None


def test_models_without_samples_and_unknown_cells_have_no_claim() -> None:
    models = fb.ModelSet(
        {"a": model_of([0.2, 0.6]), "b": model_of([0.5], 0)}, pool=model_of([0.5]), pooled_keys=["c"], unknown="pool"
    )
    scores, labels, cells = rows_of({"a": [0.2, 0.6], "b": [0.9], "c": [0.5], "z": [0.0]}, 20000)
    check = assess.check_certificate(models, scores, labels, cells=cells)
    assert (check.verdict, check.n_samples, check.n_unknown) == ("confirmed", 80000, 20000)
    assert check["b"].verdicts == ("no claim",)
    audit = assess.audit_groups(models, scores, labels, np.arange(len(cells)) % 2, cells=cells)
    assert (audit.verdict, audit.n_unknown) == ("confirmed", 20000)
    assert audit["0"].cells == ("a", "a", "b", None)
    assert audit["0"].verdicts == ("confirmed", "confirmed", "no claim", "confirmed")


def test_tied_scores_follow_the_keys_of_their_rows() -> None:
    """Row i gets the key of (seed, i), whatever the other rows are: as the set itself scores them."""
    rng = np.random.default_rng(5)

    def fit() -> fb.BinnedModel:
        tied = rng.integers(0, 4, 1000) / 4
        return fb.UniformMassBinning(n_bins=5, ties="random").fit(tied, rng.random(1000) < tied).model_

    models = fb.ModelSet({0: fit(), 1: fit()})
    scores, cells = rng.integers(0, 4, 2000) / 4, rng.integers(0, 2, 2000)
    labels = rng.random(2000) < scores
    for keys, seed in ((None, 7), (rng.random(2000), 0)):
        check = assess.check_certificate(models, scores, labels, cells=cells, keys=keys, seed=seed)
        bins = models.assign_all(scores, cells, keys=keys, seed=None if keys is not None else seed)
        expected = np.bincount(bins, minlength=models.n_bins)
        assert np.concatenate([part.counts for _, part in check.parts]).tolist() == expected.tolist()


def test_the_calibration_set_confirms_nothing() -> None:
    rng = np.random.default_rng(0)
    scores, cells = rng.random(4000), rng.integers(0, 2, 4000)
    labels = rng.random(4000) < scores
    models = fb.ModelSet(
        {key: fb.UniformMassBinning(n_bins=3).fit(scores[cells == key], labels[cells == key]) for key in (0, 1)}
    )
    check = assess.check_certificate(models, scores, labels, cells=cells, epsilon=0.3)
    assert (check.verdict, check.is_calibration_set) == ("not contradicted", True)
    assert "are those that a model was fitted to" in str(check)
    with pytest.raises(fb.GuaranteeError, match="calibration set"):
        assess.audit_groups(models, scores, labels, cells, cells=cells)


def test_joint_errors_are_as_rare_as_stated() -> None:
    """400 test sets at the ends of what is promised, alpha .2: the joint verdict is seldom wrong."""
    rng, runs, contradicted = np.random.default_rng(1), 400, 0
    scores, _, cells = rows_of({name: [0.0] * len(own) for name, own in VALUES.items()}, 200)
    ends = {"north": [0.3, 0.4], "south": [0.0, 0.5, 0.6], "isle": [0.6]}
    truth = np.repeat([rate for own in ends.values() for rate in own], 200)
    for _ in range(runs):
        check = assess.check_certificate(SET, scores, rng.random(len(truth)) < truth, cells=cells, epsilon=0.1, alpha=0.2)
        contradicted += check.verdict == "contradicted"
    assert 0.02 * runs < contradicted <= runs * 0.2 + 3 * math.sqrt(runs * 0.2 * 0.8)


SCORES, LABELS, CELLS = rows_of(VALUES, 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({}, "cells is missing; a set scores each row"),
        ({"cells": CELLS[1:]}, "cells has 59"),
        ({"cells": ["nowhere", *CELLS[1:]]}, r"cells\[0\] is 'nowhere'"),
        ({"cells": CELLS, "certificate": model_of([0.5]).certificate()}, "is that of one model"),
        ({"cells": CELLS, "epsilon": 0.1, "certificate": SET.certificate()}, "give the promise to check once"),
        ({"cells": CELLS, "certificate": SET.certificate(kind="ece")}, "kind 'ece'"),
        ({"cells": CELLS, "alpha": 0.9}, "alpha"),
    ],
)
def test_what_cannot_be_checked_is_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        assess.check_certificate(SET, SCORES, LABELS, **call)


def test_scores_and_labels_are_refused_by_their_row() -> None:
    scores = SCORES.copy()
    scores[37] = 1.5
    with pytest.raises(fb.InputError, match=r"scores\[37\] is 1.5"):
        assess.check_certificate(SET, scores, LABELS, cells=CELLS)
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        assess.check_certificate(SET, SCORES, LABELS, cells=CELLS, sample_weight=np.ones(60))
    with pytest.raises(fb.InputError, match="model is one model and no set"):
        assess.check_certificate(SET["north"], SCORES, LABELS, cells=CELLS)
    with pytest.raises(fb.InputError, match="that of a set of models, and model is one model"):
        assess.check_certificate(SET["north"], SCORES, LABELS, certificate=SET.certificate())
    smooth = fb.ModelSet({"east": fb.PlattScaling().fit(SCORES, LABELS)})
    with pytest.raises(fb.InputError, match="the model is of kind 'smooth'"):
        assess.check_certificate(smooth, SCORES, LABELS, cells=np.full(60, "east"), epsilon=0.1)
    with pytest.raises(fb.GuaranteeError, match="cell 'east': platt scaling has no"):
        assess.check_certificate(smooth, SCORES, LABELS, cells=np.full(60, "east"))
    other = fb.ModelSet({"east": model_of([0.2, 0.5])})
    with pytest.raises(fb.InputError, match="the certificate is about 'north', 'south', the pool, which"):
        assess.check_certificate(other, SCORES, LABELS, cells=np.full(60, "east"), certificate=SET.certificate())
