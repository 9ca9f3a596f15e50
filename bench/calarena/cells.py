"""Running: a cell is one score set, one number of calibration rows and one method, averaged over the same draws for all."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb
from bench.calarena.measures import Losses, is_contradicted, losses, of_top, probabilities
from bench.calarena.methods import Method, certificate_of, radii_of, seed_of
from bench.calarena.score_sets import ScoreSet, draws

__all__ = ["Cell", "load_cells", "quiet", "run", "save_cells", "warm_up"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]

EVIDENCE_BINS, EVIDENCE_BINS_OF_FEW, FEW = 10, 5, 1000


@dataclass(frozen=True)
class Cell:
    """What one method reached on one score set at one number of calibration rows.

    Means over the draws, medians of the times. `failure` says what it raised, or answered, on the first draw that it could not
    do; there are no losses then, as means over other draws than those of the rest would compare nothing.
    """

    set: str
    family: str
    n: int
    n_test: int
    repeats: int
    method: str
    library: str
    brier: float | None = None
    log_loss: float | None = None
    ece: float | None = None
    binned_ece: float | None = None
    fit_ms: float | None = None
    predict_ns: float | None = None  # per score
    epsilon: float | None = None  # what its certificate promises at 90 %, on average; None without one
    n_promises: int = 0
    n_contradicted: int = 0
    n_outside: int = 0  # answers below 0 or above 1, which were moved there
    failure: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        return self.set, self.n, self.method


@dataclass(frozen=True)
class _Draw:
    """One draw: calibration rows, test rows, and the evidence bins of the latter."""

    scores: Float64s
    labels: UInt8s
    test_scores: Float64s
    test_labels: UInt8s
    test_bins: Int64s

    @classmethod
    def of(cls, score_set: ScoreSet, n: int, repeat: int) -> _Draw:
        own, test = draws(len(score_set.labels), n, repeat)
        scores, labels = score_set.scores[own], score_set.labels[own]
        n_bins = EVIDENCE_BINS if n >= FEW else EVIDENCE_BINS_OF_FEW
        test_scores, test_labels = score_set.scores[test], score_set.labels[test]
        evidence = fb.UniformMassBinning(n_bins, ties="upper").fit(*of_top(scores, labels)).model_
        bins = evidence.assign(of_top(test_scores, test_labels)[0])
        return cls(scores, labels, test_scores, test_labels, bins.astype(np.int64))


@dataclass(frozen=True)
class _Outcome:
    """One method on one draw."""

    losses: Losses
    fit_seconds: float
    predict_seconds: float
    epsilon: float | None
    contradicted: bool | None
    n_outside: int


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Some libraries print while they fit."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def _outcome(method: Method, draw: _Draw) -> _Outcome:
    """Fit, predict, and compare with the test labels; its certificate, if there is one, too."""
    start = time.perf_counter()
    fitted = method.fit(draw.scores, draw.labels)
    middle = time.perf_counter()
    answer = fitted.predict(draw.test_scores)
    end = time.perf_counter()
    predictions, n_outside = probabilities(answer, draw.test_scores.shape)
    certificate, contradicted = certificate_of(fitted.model), None
    if certificate is not None and fitted.model is not None:
        bins = fitted.model.assign(draw.test_scores, seed=seed_of(fitted.model))
        contradicted = is_contradicted(predictions, draw.test_labels, bins.astype(np.int64), radii_of(certificate))
    return _Outcome(
        losses=losses(predictions, draw.test_labels, draw.test_bins),
        fit_seconds=middle - start,
        predict_seconds=end - middle,
        epsilon=None if certificate is None else certificate.epsilon,
        contradicted=contradicted,
        n_outside=n_outside,
    )


def _cell(score_set: ScoreSet, method: Method, drawn: Sequence[_Draw]) -> Cell:
    first = drawn[0]
    n, n_test = len(first.labels), len(first.test_labels)
    place = (score_set.name, score_set.family, n, n_test, len(drawn), method.name, method.library)
    if method.max_rows is not None and n > method.max_rows:
        return Cell(*place, failure=f"not run on more than {method.max_rows} rows: too slow")
    try:
        with quiet():
            outcomes = [_outcome(method, draw) for draw in drawn]
    except Exception as error:  # whatever a library raises is its answer here
        return Cell(*place, failure=f"{type(error).__name__}: {error}".splitlines()[0][:200])
    epsilons = [outcome.epsilon for outcome in outcomes if outcome.epsilon is not None]
    means = {name: float(np.mean([asdict(outcome.losses)[name] for outcome in outcomes])) for name in Losses.__annotations__}
    return Cell(
        *place,
        **means,
        fit_ms=1e3 * float(np.median([outcome.fit_seconds for outcome in outcomes])),
        predict_ns=1e9 * float(np.median([outcome.predict_seconds for outcome in outcomes])) / n_test,
        epsilon=float(np.mean(epsilons)) if epsilons else None,
        n_promises=sum(outcome.contradicted is not None for outcome in outcomes),
        n_contradicted=sum(outcome.contradicted is True for outcome in outcomes),
        n_outside=sum(outcome.n_outside for outcome in outcomes),
    )


def warm_up(methods: Sequence[Method], *, of_matrices: bool = False) -> None:
    """Fit and score a few rows, so that no time holds the compilation or the import of something."""
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    labels = (rng.random(400) < scores).astype(np.uint8)
    if of_matrices:
        scores = rng.dirichlet(np.ones(3), 400)
        labels = (rng.random((400, 1)) > scores.cumsum(axis=1)[:, :2]).sum(axis=1).astype(np.uint8)
    for method in methods:
        with quiet(), contextlib.suppress(Exception):  # a real cell will say it
            method.fit(scores, labels).predict(scores)


def run(score_set: ScoreSet, n: int, methods: Sequence[Method], repeats: int) -> list[Cell]:
    """The cells of one score set at one number of calibration rows."""
    with quiet():
        drawn = [_Draw.of(score_set, n, repeat) for repeat in range(repeats)]
    return [_cell(score_set, method, drawn) for method in methods]


def load_cells(path: Path) -> list[Cell]:
    """The cells of a file that `save_cells` wrote."""
    types = {name: str(annotation) for name, annotation in Cell.__annotations__.items()}
    with gzip.open(path, "rt", encoding="utf8", newline="") as file:
        return [Cell(**{name: _parsed(text, types[name]) for name, text in row.items()}) for row in csv.DictReader(file)]


def _parsed(text: str, annotation: str) -> Any:
    if annotation.startswith("float"):
        return float(text) if text else None
    return int(text) if annotation == "int" else text


def save_cells(path: Path, cells: Sequence[Cell]) -> None:
    """As compressed CSV with a line of names, one cell a line; equal cells give equal bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Cell.__annotations__)
    writer.writerows([_rounded(value) for value in asdict(cell).values()] for cell in cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode("utf8"), mtime=0))


def _rounded(value: object) -> object:
    """Seven digits are more than the draws tell."""
    return float(f"{value:.7g}") if isinstance(value, float) else value
