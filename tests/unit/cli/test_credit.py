"""Real data from end to end (Gupta & Ramdas 2021, section 2.2): the command line, Python and the reference agree bit for bit.

Logistic regression on 10,000 rows of the credit data, Platt scaling on 5,000, calibration on 10,000, test on 5,000.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import run

import fastbin as fb
import reference
from oracle import CREDIT


class Scored(NamedTuple):
    """Scores and outcomes for calibration and for test."""

    scores: np.ndarray
    labels: np.ndarray
    test_scores: np.ndarray
    test_labels: np.ndarray


@pytest.fixture(scope="module")
def scored() -> Scored:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import scale

    table = np.loadtxt(CREDIT, delimiter=",", skiprows=2)
    features, labels = scale(table[:, 1:-1]), table[:, -1].astype(int)
    parts = np.split(np.random.default_rng(0).permutation(len(labels)), [10_000, 15_000, 25_000])
    train, platt, calibration, test = parts
    classifier = LogisticRegression(max_iter=1000).fit(features[train], labels[train])
    raw = classifier.predict_proba(features)[:, 1]
    scaled = fb.PlattScaling().fit(raw[platt], labels[platt]).predict(raw)
    return Scored(scaled[calibration], labels[calibration], scaled[test], labels[test])


@pytest.fixture
def files(scored: Scored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for suffix, write in (("csv", pa.csv.write_csv), ("parquet", pq.write_table)):
        write(pa.table({"p": scored.scores, "default": scored.labels}), f"calibration.{suffix}")
        write(pa.table({"client": range(5000), "p": scored.test_scores, "default": scored.test_labels}), f"test.{suffix}")


@pytest.mark.sampled
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("method", "suffix"), [("umd", "csv"), ("ze", "parquet"), ("ums", "csv"), ("umb", "parquet")])
def test_the_command_line_is_python_is_the_reference(scored: Scored, method: str, suffix: str) -> None:
    run("fit", f"calibration.{suffix}", "--label", "default", "--method", method, "-o", "credit.fbm")
    model = fb.UniformMassBinning(scheme=method).fit(scored.scores, scored.labels).model_
    assert Path("credit.fbm").read_bytes() == model.to_bytes()

    run("predict", "credit.fbm", f"test.{suffix}", "--seed", "1", "--interval", "0.1", "-o", f"out.{suffix}")
    out = pq.read_table("out.parquet") if suffix == "parquet" else pa.csv.read_csv("out.csv")
    values = out["calibrated"].to_numpy()
    expected = reference.uniform_mass(scored.scores.tolist(), scored.labels.tolist(), 10, method)
    assert np.array_equal(out["p"].to_numpy().view(np.uint64), scored.test_scores.view(np.uint64))
    assert np.array_equal(values, model.predict(scored.test_scores, seed=1))
    assert values.tolist() == expected.predict(scored.test_scores.tolist(), seed=1)
    ends = np.column_stack([out["calibrated_lower"].to_numpy(), out["calibrated_upper"].to_numpy()])
    assert np.array_equal(ends, model.predict_interval(scored.test_scores, seed=1))

    told = json.loads(run("inspect", "credit.fbm", "--json").stdout)
    assert [entry["value"] for entry in told["bins"]] == expected.values
    assert told["certificate"]["epsilon"] == model.certificate().epsilon


@pytest.mark.usefixtures("files")
def test_the_promise_holds_on_the_test_set(scored: Scored) -> None:
    """No bin of the test set contradicts its interval: the test set's own interval meets it."""
    run("fit", "calibration.csv", "--method", "umd", "--label", "default", "-o", "credit.fbm")
    run("predict", "credit.fbm", "test.csv", "--seed", "1", "-o", "out.csv")
    model = fb.load("credit.fbm")
    bins = model.assign(scored.test_scores, seed=1)
    tested = fb.BinnedModel.from_parts(
        edges=model.edges,
        edge_keys=model.edge_keys,
        values=model.values,
        counts=np.bincount(bins, minlength=10),
        label_sums=np.bincount(bins, weights=scored.test_labels, minlength=10).astype(int),
        scheme="explicit",
    )
    promised, seen = model.interval(0.05), tested.interval(0.05)
    assert ((promised[:, 0] <= seen[:, 1]) & (seen[:, 0] <= promised[:, 1])).all()
    assert model.certificate().epsilon < 0.05
