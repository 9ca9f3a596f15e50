"""Uniform-mass binning on the exact cases computed elsewhere, without the reference in between."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastbin as fb
import oracle
from oracle import Case, close

GREATEST_KEY = math.nextafter(1.0, 0.0)


@oracle.cases("umd", "umd_original")
def test_umd_and_ze(case: Case) -> None:
    given, expected = case.inputs, case.expected
    scheme = "umd" if case.method == "umd" else "ze"
    model = fb.UniformMassBinning(given["B"], scheme=scheme).fit(given["scores"], given["labels"], keys=given["keys"]).model_
    assert model.edges.tolist() == [score for score, _ in expected["cuts"]]
    if given["keys"] is not None:
        assert model.edge_keys.tolist() == [int(math.ldexp(key, 64)) for _, key in expected["cuts"]]
    assert model.counts.tolist() == expected["counts"]
    assert model.label_sums.tolist() == expected["sums"]
    assert close(model.values.tolist(), expected["means"], case.tolerance)
    # Without keys the queries that equal a boundary belong above it.
    query_keys = given["query_keys"] or [GREATEST_KEY] * len(given["queries"])
    keys = np.array(query_keys, np.float64)
    assert (model.assign(given["queries"], keys=keys) + 1).tolist() == expected["query_bins"]
    assert close(model.predict(given["queries"], keys=keys).tolist(), expected["query_values"], case.tolerance)


@oracle.cases("umd_error")
def test_too_few_samples(case: Case) -> None:
    n = case.inputs["n"]
    with pytest.raises(fb.InputError, match=f"{n} samples are too few for n_bins={case.inputs['B']}"):
        fb.UniformMassBinning(case.inputs["B"]).fit(np.linspace(0.0, 1.0, n), np.arange(n) % 2)


@oracle.cases("umd_tieaware")
def test_isolated_ties(case: Case) -> None:
    given = case.inputs
    calibrator = fb.UniformMassBinning(given["B"], ties="isolate")
    model = calibrator.fit(given["scores"], given["labels"], keys=given["keys"]).model_
    # Bins that no score can fall into are not bins of a model.
    expected = [(row["sum"], row["count"]) for row in case.expected["bins"] if row["count"] > 0]
    tallied = zip(model.label_sums.tolist(), model.counts.tolist(), strict=True)
    assert [(label_sum, count) for label_sum, count in tallied if count > 0] == expected
    for score in case.expected["heavy"]:
        own_bin = {model.assign_one(score, key) for key in (0, 2**63, 2**64 - 2)}
        assert len(own_bin) == 1
        assert model.assign_one(math.nextafter(score, 1.0)) == own_bin.pop() + 1


@oracle.cases("umb")
def test_umb(case: Case) -> None:
    given, u = case.inputs, case.expected["u"]
    model = fb.UniformMassBinning(given["B"], scheme="umb", ties="lower").fit(given["scores"], given["labels"]).model_
    # Equal boundaries enclose an empty bin, which the model does not carry.
    kept = [b for b in range(len(u) + 1) if b == 0 or b == len(u) or u[b] != u[b - 1]]
    assert model.edges.tolist() == sorted(set(u))
    assert model.counts.tolist() == [case.expected["counts"][b] for b in kept]
    assert close(model.values.tolist(), [case.expected["means"][b] for b in kept], case.tolerance)
    assert [kept[b] + 1 for b in model.assign(given["queries"])] == case.expected["query_bins"]
