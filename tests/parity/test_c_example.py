"""The example program in C, Python, the command line and the reference score the same file: the same bits on every row.

The program is compiled twice: against the sources, as who adds them to a project does, and against the header and the
archive that come with the Python package, found by ``python -m fastbin --cflags --libs``.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
import reference
import strategies
from fitting import FEWER_BINS, as_loaded
from fresh_python import run_python
from oracle import CREDIT

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "csrc/examples/score_csv.c"
SEED = 2**64 - 3


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The compiled example, from the sources, which takes less time without optimisation, and from what is in the package."""
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler on the path")
    flags = run_python("-m", "fastbin", "--cflags", "--libs")
    assert flags.returncode == 0, flags.stderr
    of_sources = [f"-I{ROOT / 'csrc/include'}", *map(str, sorted((ROOT / "csrc/src").glob("*.c"))), "-lm"]
    found = []
    for name, parts in (("sources", of_sources), ("package", shlex.split(flags.stdout))):
        found.append(tmp_path_factory.mktemp(name) / "score_csv")
        command = [compiler, "-std=c11", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", EXAMPLE, *parts, "-o", found[-1]]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    return found


def write_scores(path: Path, scores: Sequence[float]) -> None:
    """A CSV with a column before and one behind the scores; ``repr`` gives digits that come back as the same double."""
    lines = [f"{row},{score!r},x" for row, score in enumerate(scores)]
    path.write_text("\n".join(["id,p,note", *lines]) + "\n", encoding="utf8")


def score_in_c(program: Path, model: Path, scores: Path, seed: int) -> list[float]:
    result = subprocess.run([program, model, scores, "p", str(seed)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    heading, *rows = result.stdout.splitlines()
    assert heading == "probability"
    return [float(row) for row in rows]


def assert_same_bits(actual: Sequence[float], expected: Sequence[float]) -> None:
    assert [value.hex() for value in actual] == [value.hex() for value in expected]


def check_all_agree(
    programs: list[Path], folder: Path, calibration: strategies.CalibrationData, scores: list[float], **configuration: object
) -> fb.BinnedModel:
    """Fit by the reference, and by fastbin where it has the tie rule; score by both, by C, and by Python one by one."""
    expected = reference.uniform_mass(
        calibration.scores,
        calibration.labels,
        **configuration,
        weights=calibration.weights,
        score_range=calibration.score_range,
    )
    scheme = str(configuration.get("scheme", "umd"))
    if configuration["ties"] in reference.EARLIER_TIES.get(scheme, ()):
        model = as_loaded(expected, scheme)
    else:
        calibrator = fb.UniformMassBinning(**configuration, score_range=calibration.score_range)
        model = calibrator.fit(**calibration.arrays()).model_
    model.save(folder / "model.fbm")
    write_scores(folder / "scores.csv", scores)
    in_reference = expected.predict(scores, seed=SEED)
    for program in programs:
        assert_same_bits(score_in_c(program, folder / "model.fbm", folder / "scores.csv", SEED), in_reference)
    assert_same_bits(model.predict(scores, seed=SEED).tolist(), in_reference)
    keys = [reference.row_key(SEED, row) for row in range(len(scores))]
    assert_same_bits([model.predict_one(score, key) for score, key in zip(scores, keys, strict=True)], in_reference)
    return model


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("ties", ["whole", "random"])
@pytest.mark.parametrize("scheme", reference.SCHEMES)
@pytest.mark.parametrize("shape", ["uniform", "hundredths", "tree", "subnormals", "float32 ties", "margins"])
@pytest.mark.parametrize("weighting", ["none", "float"])
def test_generated_data(programs: list[Path], tmp_path: Path, shape: str, scheme: str, weighting: str, ties: str) -> None:
    calibration = strategies.make(shape, "follow the rank", 400, 1, weighting)
    scores = strategies.make(shape, "coin", 1000, 2).scores + calibration.scores
    check_all_agree(programs, tmp_path, calibration, scores, n_bins=12, scheme=scheme, ties=ties, seed=17)


@pytest.mark.parametrize("ties", ["upper", "isolate"])
def test_tie_rules_and_value_randomisation(programs: list[Path], tmp_path: Path, ties: str) -> None:
    calibration = strategies.make("few levels", "coin", 500, 3)
    model = check_all_agree(programs, tmp_path, calibration, calibration.scores * 3, n_bins=9, ties=ties, delta=0.25)
    assert model.needs_key


def test_bad_scores_end_the_program(programs: list[Path], tmp_path: Path) -> None:
    """With the line in the file, a message on the error stream, and status 1."""
    fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 0, 1, 1]).model_.save(tmp_path / "model.fbm")
    for program, bad in product(programs, ("1.5", "nan", "-0.1", "high", "")):
        (tmp_path / "scores.csv").write_text(f"p\n0.5\n{bad}\n0.5\n" if bad else "p,q\n0.5,1\n,1\n")
        command = [program, tmp_path / "model.fbm", tmp_path / "scores.csv", "p"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 1
        assert "scores.csv, line 3:" in result.stderr


@pytest.fixture(scope="module")
def credit() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores of a classifier of credit defaults, as in section 2.2 of Gupta & Ramdas 2021, in disjoint parts of the data.

    Logistic regression on 10,000 rows, Platt scaling of its scores on 5,000; of what is left, 10,000 rows to calibrate on and
    5,000 to test on.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = np.loadtxt(CREDIT, delimiter=",", skiprows=2)
    table = table[np.random.default_rng(2021).permutation(len(table))]
    features, labels = table[:, 1:24], table[:, 24].astype(np.uint8)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features[:10_000], labels[:10_000])
    raw = classifier.predict_proba(features)[:, 1]
    platt = LogisticRegression().fit(raw[10_000:15_000, None], labels[10_000:15_000])
    scores = platt.predict_proba(raw[:, None])[:, 1]
    return {"calibration": (scores[15_000:25_000], labels[15_000:25_000]), "test": (scores[25_000:], labels[25_000:])}


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("rounded", [False, True], ids=["as they are", "rounded to hundredths"])
@pytest.mark.parametrize("ties", ["whole", "random"])
def test_credit_defaults(
    programs: list[Path], tmp_path: Path, credit: dict[str, tuple[np.ndarray, np.ndarray]], ties: str, rounded: bool
) -> None:
    """All 5,000 test rows, also with scores so coarse that most of them tie with an edge."""
    (fit_scores, fit_labels), (scores, labels) = credit["calibration"], credit["test"]
    if rounded:
        fit_scores, scores = fit_scores.round(2), scores.round(2)
    calibration = strategies.CalibrationData(fit_scores.tolist(), fit_labels.tolist())
    model = check_all_agree(programs, tmp_path, calibration, scores.tolist(), n_bins=10, scheme="umd", ties=ties, seed=0)
    assert (model.randomised_mass > 0.2) == (rounded and ties == "random")

    # And the promise is kept on the test part, within what 5,000 rows can tell: six standard deviations beside epsilon.
    epsilon = model.certificate(alpha=0.001).epsilon
    bins = model.assign(scores, seed=SEED)
    for b in range(model.n_bins):
        here = labels[bins == b]
        assert abs(here.mean() - model.values[b]) <= epsilon + 3.0 / np.sqrt(len(here))


def test_credit_defaults_by_the_command_line(
    programs: list[Path], tmp_path: Path, credit: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """`fastbin fit`, `predict` and `inspect` on the files, and C on the model that the command line wrote."""
    (fit_scores, fit_labels), (scores, _) = credit["calibration"], credit["test"]
    rows = zip(fit_scores.tolist(), fit_labels.tolist(), strict=True)
    (tmp_path / "fit.csv").write_text("p,y\n" + "".join(f"{score!r},{label}\n" for score, label in rows))
    write_scores(tmp_path / "new.csv", scores.tolist())
    columns = ("--score", "p", "--label", "y")
    model, out = str(tmp_path / "credit.fbm"), str(tmp_path / "out.csv")
    run("fit", str(tmp_path / "fit.csv"), *columns, "--method", "umd", "--n-bins", "10", "-o", model)
    run("predict", model, str(tmp_path / "new.csv"), "--score", "p", "--seed", str(SEED), "-o", out)
    assert "10,000" in run("inspect", model).stdout

    python = fb.UniformMassBinning(n_bins=10).fit(fit_scores, fit_labels).model_
    assert fb.load(model).values.tolist() == python.values.tolist()
    expected = python.predict(scores, seed=SEED).tolist()
    for program in programs:
        assert_same_bits(score_in_c(program, Path(model), tmp_path / "new.csv", SEED), expected)
    heading, *lines = Path(out).read_text().splitlines()
    place = next(place for place, name in enumerate(heading.replace('"', "").split(",")) if name not in ("id", "p", "note"))
    assert_same_bits([float(line.split(",")[place]) for line in lines], expected)
