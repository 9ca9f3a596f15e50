"""Uniform-mass binning on the exact cases computed elsewhere, without the reference in between."""

from __future__ import annotations

import math

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
import oracle
import reference
from fitting import FEWER_BINS, as_loaded
from oracle import Case, close
from reference import key_from_float

GREATEST_KEY = math.nextafter(1.0, 0.0)


@oracle.cases("umd", "umd_original")
def test_umd_and_ze(case: Case) -> None:
    given = case.inputs
    scheme = "umd" if case.method == "umd" else "ze"
    # Without keys the scores are distinct, where the tie rules are one.
    for ties in ("random", "whole", "upper") if given["keys"] is None else ("random",):
        check_fit(case, fb.UniformMassBinning(given["B"], scheme=scheme, ties=ties))


def check_fit(case: Case, calibrator: fb.UniformMassBinning) -> None:
    given, expected = case.inputs, case.expected
    model = calibrator.fit(given["scores"], given["labels"], tie_keys=given["keys"]).model_
    assert model.edges.tolist() == [score for score, _ in expected["cuts"]]
    if given["keys"] is not None:
        assert model.edge_keys.tolist() == [int(math.ldexp(key, 64)) for _, key in expected["cuts"]]
    assert model.counts.tolist() == expected["counts"]
    assert model.label_sums.tolist() == expected["sums"]
    assert close(model.values.tolist(), expected["means"], case.tolerance)
    # Without keys the queries that equal a boundary belong above it.
    query_keys = given["query_keys"] or [GREATEST_KEY] * len(given["queries"])
    keys = np.array(query_keys, np.float64)
    assert (model.assign(given["queries"], tie_keys=keys) + 1).tolist() == expected["query_bins"]
    assert close(model.predict(given["queries"], tie_keys=keys).tolist(), expected["query_values"], case.tolerance)


@oracle.cases("umd_error")
def test_too_few_samples(case: Case) -> None:
    n = case.inputs["n"]
    refuses(
        f"InputError: {n} samples are too few for n_bins={case.inputs['B']}",
        fb.UniformMassBinning(case.inputs["B"]).fit,
        np.linspace(0.0, 1.0, n),
        np.arange(n) % 2,
    )


@oracle.cases("umd_tieaware")
def test_isolated_ties(case: Case) -> None:
    """A rule of earlier versions: the reference makes such models, and they score as they did."""
    given, keys = case.inputs, [key_from_float(key) for key in case.inputs["keys"]]
    made = reference.uniform_mass(given["scores"], given["labels"], given["B"], ties="isolate", keys=keys)
    model = as_loaded(made, "umd")
    # Bins that no score can fall into are not bins of a model.
    expected = [(row["sum"], row["count"]) for row in case.expected["bins"] if row["count"] > 0]
    tallied = zip(model.label_sums.tolist(), model.counts.tolist(), strict=True)
    assert [(label_sum, count) for label_sum, count in tallied if count > 0] == expected
    for score in case.expected["heavy"]:
        own_bin = {model.assign_one(score, key) for key in (0, 2**63, 2**64 - 2)}
        assert len(own_bin) == 1
        assert model.assign_one(math.nextafter(score, 1.0)) == own_bin.pop() + 1


@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("ties", ["whole", "lower"])
@oracle.cases("umb")
def test_umb(case: Case, ties: str) -> None:
    """With whole ties as the fit has them, or as earlier versions had them."""
    given, u = case.inputs, case.expected["u"]
    if ties == "whole":
        model = fb.UniformMassBinning(given["B"], scheme="umb").fit(given["scores"], given["labels"]).model_
    else:
        model = as_loaded(reference.uniform_mass(given["scores"], given["labels"], given["B"], "umb", "lower"), "umb")
    # Equal boundaries enclose an empty bin, which the model does not carry.
    kept = [b for b in range(len(u) + 1) if b == 0 or b == len(u) or u[b] != u[b - 1]]
    assert model.edges.tolist() == sorted(set(u))
    assert model.counts.tolist() == [case.expected["counts"][b] for b in kept]
    assert close(model.values.tolist(), [case.expected["means"][b] for b in kept], case.tolerance)
    assert [kept[b] + 1 for b in model.assign(given["queries"])] == case.expected["query_bins"]
