"""The modules of bench/calarena, and toy data for them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from oracle import REPOSITORY

Draw = Callable[..., tuple[np.ndarray, np.ndarray]]

MODULES = (
    "__main__",
    "cells",
    "coverage",
    "custom_calibrators",
    "measures",
    "methods",
    "peers",
    "picture",
    "ranks",
    "score_sets",
    "summary",
)


@pytest.fixture(scope="package")
def arena() -> Iterator[SimpleNamespace]:
    """The modules of bench/calarena, which import each other from the root of the repository."""
    sys.path.insert(0, str(REPOSITORY))
    known = set(sys.modules)
    try:
        yield SimpleNamespace(**{name: importlib.import_module(f"bench.calarena.{name}") for name in MODULES})
    finally:
        sys.path.remove(str(REPOSITORY))
        for name in set(sys.modules) - known:
            if name.partition(".")[0] == "bench":
                del sys.modules[name]


@pytest.fixture(scope="package")
def calibrated() -> Draw:
    """A function of a number and a seed: so many scores that are the chance of label 1, and labels."""

    def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        scores = rng.random(n)
        return scores, (rng.random(n) < scores).astype(np.uint8)

    return draw


@pytest.fixture(scope="package")
def several() -> Draw:
    """A function of a number: so many rows of the chances of four classes, and classes."""

    def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet([2.0, 2.0, 1.0, 1.0], n)
        return truth, (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :3]).sum(axis=1).astype(np.uint8)

    return draw


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory, calibrated: Draw) -> Path:
    """A data folder with a few rows of each file."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    scores, labels = calibrated(4000)
    rows = [
        f"{('a_game', 'b_vote')[i % 2]},{score},{label}" for i, (score, label) in enumerate(zip(scores, labels, strict=True))
    ]
    (folder / "forecasts.csv").write_text("\n".join(["set,score,label", *rows]) + "\n")
    deciles = rng.integers(1, 11, 300)
    rows = [f"{decile},{int(rng.random() < decile / 12)},Other" for decile in deciles]
    (folder / "compas.csv").write_text("\n".join(["score,label,group", *rows]) + "\n")
    classes = rng.integers(0, 10, 90).astype(np.uint8)
    logits = rng.standard_normal((90, 10)).astype(np.float32) + 3.0 * np.eye(10, dtype=np.float32)[classes]
    np.savez(
        folder / "cifar10_resnet50.npz",
        calibration_logits=logits[:30],
        calibration_labels=classes[:30],
        test_logits=logits[30:],
        test_labels=classes[30:],
    )
    return folder
