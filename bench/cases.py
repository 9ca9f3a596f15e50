"""The one table of cases: what is measured, on which data, and what is asked of it.

Every bench reads its data from here, so that a case means the same in every place, and none is copied. Data are made by seed.
`TARGETS` at the end holds all that is asked: fits against one ``np.sum`` of the scores, batches against one ``np.copyto`` of
them, single scores against an empty call; and each against what one would do without fastbin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from figures import Asked, Quantity

Float64s = npt.NDArray[np.float64]

# ------------------------------------------------------------------------------------------------- data

SHAPES: dict[str, Callable[[np.random.Generator, int], Float64s]] = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(.5, 5)": lambda rng, n: rng.beta(0.5, 5, n),
    "Beta(.5, .5)": lambda rng, n: rng.beta(0.5, 0.5, n),
    "both ends": lambda rng, n: rng.beta(0.05, 0.05, n),
    "click rates": lambda rng, n: rng.lognormal(-13.0, 1.0, n).clip(0.0, 1.0),
    "click rates 1e-4": lambda rng, n: rng.lognormal(np.log(1e-4), 1.0, n).clip(0.0, 1.0),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "100 values": lambda rng, n: rng.integers(0, 100, n) / 100.0,
    "1,001 values": lambda rng, n: rng.random(n).round(3),
    "constant": lambda rng, n: np.full(n, 0.3),
    "subnormal": lambda rng, n: rng.integers(0, 2**40, n) * 5e-324,
    "all bit patterns": lambda rng, n: rng.integers(0, 0x3FF0000000000000, n).view(np.float64),
    "clusters at all scales": lambda rng, n: np.clip(
        0.5 + 0.5 * np.exp(-40 * rng.random(n)) * rng.choice([-1, 1], n), 0.0, 1.0
    ),
}


@lru_cache(maxsize=2)
def rows(shape: str, n: int) -> tuple[Float64s, npt.NDArray[np.uint8]]:
    """Scores of a shape, and labels whose rate rises with the score."""
    rng = np.random.default_rng(20)
    scores = SHAPES[shape](rng, n)
    labels = (rng.random(n) < 0.1 + 0.5 * scores).astype(np.uint8)
    scores.setflags(write=False)
    labels.setflags(write=False)
    return scores, labels


WEIGHTS: dict[str, Callable[[np.random.Generator, int], npt.NDArray[np.generic]]] = {
    "integer": lambda rng, n: rng.integers(0, 4, n),  # frequencies
    "float": lambda rng, n: rng.exponential(1.0, n),  # importance weights
}


def size(n: int) -> str:
    """10**6 is 1e6, and 4096 is 4096."""
    exponent = len(str(n)) - 1
    return f"1e{exponent}" if exponent > 2 and n == 10**exponent else str(n)


# ------------------------------------------------------------------------------------------------- fit

FIT_NS = Quantity("time a row", "ns")
FIT_US = Quantity("time", "us")
FIT_TO_SUM = Quantity("fit / np.sum")
FIT_TO_SORT = Quantity("fit / np.sort")
SORT_TO_FIT = Quantity("np.sort / fit")
ARGSORT_TO_FIT = Quantity("argsort + reduceat / fit")
FIT_TO_ALLOWANCE = Quantity("fit / (1.5 np.sort + 50 us)")
# Few rows are sorted by NumPy or by digits, as is found out to be faster on this machine.
BY_NUMPY_TO_FIT = Quantity("fit with np.sort / fit")
BY_DIGITS_TO_FIT = Quantity("fit by digits / fit")
FIT_GROWTH = Quantity("fit / np.sum, over the same at n = 1e7")
ONE_TO_TWO_THREADS = Quantity("one thread / two threads")
ISOTONIC_TO_FIT = Quantity("IsotonicRegression.fit / fit")
EXTRA_MEMORY = Quantity("peak extra memory, of the data", "%")


@dataclass(frozen=True)
class FitCase:
    """One fit of uniform-mass binning; `is_short` also in the short form."""

    shape: str
    n: int
    n_bins: int
    asked: Mapping[Quantity, Asked] = field(default_factory=dict, compare=False)
    is_short: bool = False
    scores: str = "float64"
    labels: str = "uint8"
    weights: str | None = None

    @property
    def name(self) -> str:
        kinds = [f"{self.scores} scores"] * (self.scores != "float64") + [f"{self.labels} labels"] * (self.labels != "uint8")
        kinds += [] if self.weights is None else [f"{self.weights} weights"]
        return ", ".join([f"fit {self.shape}", f"n = {size(self.n)}", f"B = {self.n_bins}", *kinds])

    @property
    def targets(self) -> dict[Quantity, Asked]:
        """A large fit needs little memory, whatever the data."""
        return {**self.asked, **({EXTRA_MEMORY: Asked(at_most=10)} if self.n >= 10**6 else {})}

    def rows(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Scores and labels of these types; weights, where it has some."""
        scores, labels = rows(self.shape, self.n)
        columns = scores.astype(self.scores, copy=False), labels.astype(self.labels, copy=False)
        return columns if self.weights is None else (*columns, WEIGHTS[self.weights](np.random.default_rng(21), self.n))


def _fits(shapes: tuple[str, ...], n_bins: int, asked: Mapping[Quantity, Asked]) -> list[FitCase]:
    """Cases of 1e7 rows."""
    return [FitCase(shape, 10**7, n_bins, asked) for shape in shapes]


def _passes(most: float) -> dict[Quantity, Asked]:
    return {FIT_TO_SUM: Asked(at_most=most)}


FITS = [
    *_fits(
        ("uniform", "Beta(.5, 5)", "click rates", "sorted"),
        100,
        {**_passes(7), SORT_TO_FIT: Asked(at_least=2.5), ARGSORT_TO_FIT: Asked(at_least=20)},
    ),
    *(case for n_bins in (1000, round(10 ** (7 / 3))) for case in _fits(("uniform", "Beta(.5, 5)"), n_bins, _passes(10))),
    *_fits(("100 values", "constant"), 100, _passes(7)),
    *_fits(("subnormal", "all bit patterns", "clusters at all scales"), 100, {**_passes(20), SORT_TO_FIT: Asked(at_least=1)}),
    FitCase("uniform", 100, 10, {FIT_US: Asked(at_most=35)}, is_short=True),
    FitCase("uniform", 1000, 10, {FIT_US: Asked(at_most=40)}, is_short=True),
    FitCase("uniform", 10**4, 100, {FIT_TO_ALLOWANCE: Asked(at_most=1), FIT_TO_SORT: Asked(at_most=1.7)}, is_short=True),
    *(
        FitCase(shape, n, 100, {FIT_TO_SORT: Asked(at_most=1.5)}, is_short=shape in ("uniform", "100 values"))
        for n in (33_000, 2**17)
        for shape in ("uniform", "Beta(.5, 5)", "Beta(.5, .5)", "both ends", "click rates", "100 values")
    ),
    FitCase("uniform", 10**6, 100, {ISOTONIC_TO_FIT: Asked(at_least=40), **_passes(12)}, is_short=True),
    *(FitCase(shape, 10**6, 100, is_short=shape in ("Beta(.5, 5)", "100 values")) for shape in SHAPES if shape != "uniform"),
    *(FitCase("uniform", 10**6, n_bins) for n_bins in (10, 1000)),
    *_fits(("uniform",), 10, {}),
    FitCase("uniform", 10**7, 100, scores="float32"),
    *(FitCase("uniform", 10**7, 100, labels=labels) for labels in ("bool", "int64", "float64")),
    *(FitCase("uniform", 10**7, 100, weights=weights) for weights in WEIGHTS),
]

# Those of few rows whose sorts are compared.
SORTED_FITS = [case for case in FITS if case.shape == "uniform" and 1000 <= case.n <= 2**17]

LARGEST_FIT = FitCase("uniform", 10**8, 100, {FIT_GROWTH: Asked(at_most=1.2), ONE_TO_TWO_THREADS: Asked(at_least=1.6)})

# Uniform-mass binning with whole ties against ties="random", and certified calibration against it, on the same rows.
WHOLE_TO_RANDOM = Quantity("whole ties / ties by key")
CERTIFIED_TO_BINS = Quantity("CertifiedCalibration.fit / UniformMassBinning.fit")
CERTIFIED_US = Quantity("CertifiedCalibration.fit", "us")
CERTIFIED_TO_SORT = Quantity("CertifiedCalibration.fit / np.sort")
CERTIFIED_TO_ISOTONIC = Quantity("CertifiedCalibration.fit / IsotonicRegression.fit")


def fine_fit(shape: str, n: int) -> str:
    return f"fit {shape}, n = {size(n)}, B = 10, whole"


FINE_FITS = {
    fine_fit(shape, n): (shape, n, asked)
    for shape, n, asked in (
        ("uniform", 100, {CERTIFIED_US: Asked(at_most=200), CERTIFIED_TO_ISOTONIC: Asked(at_most=0.25)}),
        ("uniform", 1000, {CERTIFIED_US: Asked(at_most=350), CERTIFIED_TO_ISOTONIC: Asked(at_most=0.25)}),
        ("uniform", 10**4, {CERTIFIED_US: Asked(at_most=500), CERTIFIED_TO_ISOTONIC: Asked(at_most=0.25)}),
        ("uniform", 10**5, {WHOLE_TO_RANDOM: Asked(at_most=1.1), CERTIFIED_TO_SORT: Asked(at_most=1.5)}),
        ("uniform", 10**6, {WHOLE_TO_RANDOM: Asked(at_most=1.1), CERTIFIED_TO_SORT: Asked(at_most=0.9)}),
        ("100 values", 10**6, {}),
        ("1,001 values", 10**6, {}),
        ("both ends", 10**6, {}),
        ("uniform", 10**7, {WHOLE_TO_RANDOM: Asked(at_most=1.1), CERTIFIED_TO_BINS: Asked(at_most=2)}),
        ("Beta(.5, 5)", 10**7, {CERTIFIED_TO_BINS: Asked(at_most=2)}),
    )
}

# A monitor, whose evidence is a mean of some hundred exponentials after each outcome.
LABEL_US = Quantity("update, an outcome", "us")
UPDATE_TO_EXP = Quantity("update / np.exp of as many numbers")
COUNTS_MS = Quantity("update by counts, a batch", "ms")

# Segments, whose rows come in random order, with keys of 20 bits; every fifth score is rounded to hundredths.
SEGMENTS_TO_SORT = Quantity("fit of all segments / np.sort of all scores")
ONE_BY_ONE_TO_SEGMENTS = Quantity("a fit of each segment / fit of all")


@dataclass(frozen=True)
class SegmentCase:
    """Segments of equal size, fitted at once."""

    n_segments: int
    size: int
    n_bins: int
    targets: Mapping[Quantity, Asked] = field(default_factory=dict, compare=False)
    method: str = ""

    @property
    def n(self) -> int:
        return self.n_segments * self.size

    @property
    def name(self) -> str:
        kinds = " ".join([str(self.n_segments), *[self.method] * bool(self.method), "segments"])
        return f"fit {kinds} of {self.size} rows, B = {self.n_bins}"

    def rows(self) -> tuple[Float64s, npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """Scores, labels and keys."""
        rng = np.random.default_rng(23)
        scores, labels = rows("uniform", self.n)
        keys = rng.choice(2**20, self.n_segments, replace=False).astype(np.int32)
        tied = rng.random(self.n) < 0.2
        return np.where(tied, scores.round(2), scores), labels, rng.permutation(np.repeat(keys, self.size))


SEGMENT_FITS = [
    SegmentCase(1000, 1000, 10),
    SegmentCase(10_000, 100, 5),
    SegmentCase(10_000, 1000, 10, {SEGMENTS_TO_SORT: Asked(at_most=3)}),
]
# The default of segments against plain bins, on the same rows.
CERTIFIED_SEGMENTS = [
    SegmentCase(n_segments, size, 10, {CERTIFIED_TO_BINS: Asked(at_most=6)}, method="certified")
    for n_segments, size in ((100, 1000), (1000, 100), (10_000, 1000))
]
A_SEGMENT_US = Quantity("CPU, a segment", "us")

# ------------------------------------------------------------------------------------------------- files

READER_TO_DUCKDB = {
    reader: Quantity(f"fit, read by {reader} / fit") for reader in ("PyArrow's ParquetFile", "a PyArrow dataset's scanner")
}
MANY_FILES_TO_ONE = Quantity("fit to 100 files / to one")
FILE_MS = Quantity("fit, two threads", "ms")
PEAK_MB = Quantity("peak memory of the process", "MB")


def parquet_fit(n: int) -> str:
    return f"fit Parquet, uniform, n = {size(n)}, B = 100"


# 0.1.0 read Parquet by ParquetFile.
PARQUET_FITS = {10**6: {}, 10**7: {READER_TO_DUCKDB["PyArrow's ParquetFile"]: Asked(at_least=1)}}
LARGEST_FILE = "fastbin fit of Parquet, n = 1e8"

# ------------------------------------------------------------------------------------------------- engines

ENGINE_MS = Quantity("fit to a DuckDB relation on Parquet, streamed", "ms")
WAY_TO_STREAM = {
    way: Quantity(f"{way} / that")
    for way in ("arrays", "Parquet as 0.1.0", "DuckDB table", "Polars", "DuckDB GROUP BY", "Polars GROUP BY")
}


@dataclass(frozen=True)
class EngineCase:
    """One fit where the data are."""

    shape: str
    n: int
    n_bins: int = 100

    @property
    def name(self) -> str:
        return f"fit in engines, {self.shape}, n = {size(self.n)}, B = {self.n_bins}"

    @property
    def targets(self) -> dict[Quantity, Asked]:
        return {WAY_TO_STREAM["Parquet as 0.1.0"]: Asked(at_least=1)} if self.n >= 10**7 else {}

    def rows(self) -> tuple[Float64s, npt.NDArray[np.uint8]]:
        return rows(self.shape, self.n)


ENGINE_FITS = [EngineCase("uniform", 10**6), EngineCase("uniform", 10**7), EngineCase("Beta(.5, 5)", 10**7)]

# ------------------------------------------------------------------------------------------------- score

SCORE_NS = Quantity("time a score", "ns")
PREDICT_TO_COPY = {build: Quantity(f"predict / np.copyto, {build} build") for build in ("best", "AVX-512", "baseline")}
SEARCH_TO_PREDICT = Quantity("np.searchsorted + take / predict")
KEYS_TO_NONE = Quantity("keys / no keys")
CALL_NS = Quantity("time a call", "ns")
PREDICT_TO_ADD = Quantity("predict / np.add")
ONE_TO_EMPTY = Quantity("predict_one / empty call")
BISECT_TO_ONE = Quantity("bisect / predict_one")
ISOTONIC_TO_ONE = Quantity("IsotonicRegression.predict / predict_one")
KEY_TO_NO_KEY = Quantity("predict_one with a key / without")
KEY_OF_SET_TO_NO_KEY = Quantity("predict_one of a set with a key / without")
CHUNKS_TO_ARRAY = {library: Quantity(f"{library} in ten chunks / NumPy") for library in ("Arrow", "Polars")}
STEPS_TO_BINS = Quantity("predict of 1,000 steps / of 10")
ASSIGN_TO_PREDICT = Quantity("assign / predict, both of 1,000 steps")
C_THROUGHPUT, C_LATENCY = Quantity("throughput", "ns"), Quantity("latency", "ns")  # as csrc/bench/bench_score.c prints them
C_EMPTY = Quantity("throughput of an empty call", "ns")


@dataclass(frozen=True)
class ScoreCase:
    """One batch prediction; `has_keys`: the caller gives tie keys. `is_short`: also in the short form."""

    shape: str
    m: int
    n_bins: int
    targets: Mapping[Quantity, Asked] = field(default_factory=dict, compare=False)
    is_short: bool = True
    scores: str = "float64"
    has_keys: bool = False

    @property
    def name(self) -> str:
        kinds = ["float32 scores"] * (self.scores != "float64") + ["keys"] * self.has_keys
        return ", ".join([f"predict {self.shape}", f"m = {size(self.m)}", f"B = {self.n_bins}", *kinds])


def _to_copy(**bounds: float) -> dict[Quantity, Asked]:
    return {PREDICT_TO_COPY[build.replace("_", "-")]: Asked(at_most=bound) for build, bound in bounds.items()}


SCORES = [
    ScoreCase("uniform", 10**6, 100, {**_to_copy(best=1.6, baseline=2), SEARCH_TO_PREDICT: Asked(at_least=20)}),
    ScoreCase("Beta(.5, 5)", 10**6, 100, _to_copy(best=2.5, baseline=4)),
    ScoreCase("click rates 1e-4", 10**6, 100, _to_copy(best=2.5, baseline=4)),
    ScoreCase("uniform", 10**6, 10, _to_copy(AVX_512=1.2)),
    ScoreCase("uniform", 10**6, 1000),
    *(
        ScoreCase(shape, 10**6, n_bins, is_short=False)
        for shape in ("Beta(.5, 5)", "click rates 1e-4")
        for n_bins in (10, 1000)
    ),
    ScoreCase("uniform", 10**6, 100, scores="float32"),
    ScoreCase("100 values", 10**6, 100, has_keys=True),
    ScoreCase("uniform", 4096, 100, is_short=False),
    ScoreCase("uniform", 10**7, 100, is_short=False),
]

SMALL_BATCHES = {m: f"predict uniform, m = {m}, B = 100" for m in (1, 16)}
TWO_RESOLUTIONS = {
    (m, scores): f"1,000 steps in 10 bins, m = {size(m)}, {scores} scores"
    for m in (4096, 10**6)
    for scores in ("float64", "float32")
}
IN_CHUNKS = "predict uniform, m = 1e6, B = 100, of a column"
HEAVY_TIES = "predict 50 values, each an edge, m = 1e6"


def one_score(n_bins: int) -> str:
    return f"predict_one uniform, B = {n_bins}"


def one_score_in_c(shape: str, n_bins: int) -> str:
    return f"C predict_one {shape}, B = {n_bins}"


# ------------------------------------------------------------------------------------------------- sets of models

READ_MS, READ_NS_A_BYTE = Quantity("CPU, reading the set", "ms"), Quantity("CPU, reading a byte", "ns")
SORTED_TO_ONE = Quantity("rows sorted by cell / rows of one model")
RANDOM_TO_ONE = Quantity("rows in random order of cells / rows of one model")
RANDOM_NS = Quantity("rows in random order of cells", "ns")
FIND_SORTED_NS, FIND_RANDOM_NS = Quantity("find, sorted", "ns"), Quantity("find, in random order", "ns")
FIND_TEXT_NS = {name: Quantity(f"find, {name}", "ns") for name in ("array", "sorted array", "objects")}
FIND_TEXTS = "10,000 texts, m = 1e6"
SET_OF_ONE_ROW = "predict_one by a set of 10,000 models"
INT_CELL_TO_MODEL = Quantity("predict_one by an integer key / of one model")
TEXT_CELL_TO_MODEL = Quantity("predict_one by a text / of one model")


@dataclass(frozen=True)
class SetCase:
    """A set of models, each of a fit of n_fit rows, and 1e6 rows; `has_steps`: of two resolutions, about a row to a step."""

    shape: str
    n_models: int
    n_bins: int
    n_fit: int
    has_steps: bool = False
    targets: Mapping[Quantity, Asked] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        return f"{self.n_models:,} models of {self.n_bins} bins{' of steps' * self.has_steps}, m = 1e6"


SETS = [
    SetCase(
        "uniform",
        10_000,
        10,
        1000,
        targets={READ_MS: Asked(at_most=25), SORTED_TO_ONE: Asked(at_most=3), RANDOM_TO_ONE: Asked(at_most=9)},
    ),
    SetCase(
        "Beta(.5, 5)",
        1000,
        10,
        1000,
        has_steps=True,
        targets={READ_NS_A_BYTE: Asked(at_most=4), RANDOM_TO_ONE: Asked(at_most=20)},
    ),
]

# ------------------------------------------------------------------------------------------------- certificates

CERTIFICATE_TO_BINS = Quantity("certificate of steps / of bins")
CPU_MS, CPU_MS_A_MODEL = Quantity("CPU", "ms"), Quantity("CPU, a model", "ms")
CERTIFY_SET = "certify_set, 999 models of 10 bins"
COMMON_RADIUS = "common radius, 300 counts of 100 to 1,000"
CERTIFICATE_OF_BINS = "certificate of 10 bins of 1,000 rows, by one radius"
BAND = "intervals at scores of CertifiedCalibration, n = 1e6"
HTML = "HTML of a model of 1e6 bins"


def check_of_a_set(method: str) -> str:
    return f"check_certificate of 100 segments, {method}"


def mean_error(n: int, *, first: bool) -> str:
    return f"mean error of CertifiedCalibration, n = {size(n)}, {'with' if first else 'after'} its table of moments"


def certificate(n: int) -> str:
    return f"certificate of CertifiedCalibration, n = {size(n)}"


# ------------------------------------------------------------------------------------------------- other packages

PEERS = (
    "scikit-learn IsotonicRegression", "netcal HistogramBinning", "uncertainty-calibration HistogramCalibrator",
    "venn-abers VennAbers",
)  # fmt: skip
FIT_AND_SCORE = "fit and score uniform, n = m = 1e5, B = 10"
FIT_AND_SCORE_MS = Quantity("time", "ms")
PEER_TO_OURS = {peer: Quantity(f"{peer} / fastbin") for peer in PEERS}

# ------------------------------------------------------------------------------------------------- threads and start-up

MANY_THREADS = "8 threads, predict and predict_one on one model"
GAIN = Quantity("gain in throughput over one thread")
GAIN_WITHOUT_LOCKS = Quantity("gain of a loop without locks")
GAIN_TO_GAIN = Quantity("gain / gain of a loop without locks")
OTHER_THREADS = "another Python thread while predict scores m = 1e7"
EXTRA_WAIT = Quantity("longest wait beyond idle", "ms")

FIRST_FIT = "first fit of a process, import of Numba included"
CPU_WARM, CPU_COLD = Quantity("CPU, compiled code cached", "s"), Quantity("CPU, nothing cached", "s")

PREDICT_COMMAND = "fastbin predict, 1,000 rows of CSV"
CPU_ADDED = Quantity("CPU, added to import numpy", "s")
FIRST_SMALL_FIT = "first fit of a process, n = 1e3, CPU above NumPy's import"
CPU_BINS, CPU_CERTIFIED = Quantity("UniformMassBinning", "s"), Quantity("CertifiedCalibration", "s")

# ------------------------------------------------------------------------------------------------- what is asked

_BY_CASE: dict[str, Mapping[Quantity, Asked]] = {
    **{case.name: case.targets for case in [*FITS, LARGEST_FIT, *SETS]},
    PREDICT_COMMAND: {CPU_ADDED: Asked(at_most=0.12)},
    FIRST_FIT: {CPU_WARM: Asked(at_most=1.0)},
    FIRST_SMALL_FIT: {CPU_CERTIFIED: Asked(at_most=0.2), CERTIFIED_TO_BINS: Asked(at_most=1.1)},
    one_score(100): {
        ONE_TO_EMPTY: Asked(at_most=1.6), BISECT_TO_ONE: Asked(at_least=4), ISOTONIC_TO_ONE: Asked(at_least=1000),
        KEY_TO_NO_KEY: Asked(at_most=1.5), KEY_OF_SET_TO_NO_KEY: Asked(at_most=1.5),
    },
    **{
        one_score_in_c(shape, 100): {C_THROUGHPUT: Asked(at_most=throughput), C_LATENCY: Asked(at_most=latency)}
        for shape, throughput, latency in (("uniform", 5, 14), ("Beta(.5, 5)", 9, 18), ("click rates 1e-4", 9, 18))
    },
    SMALL_BATCHES[1]: {CALL_NS: Asked(at_most=250)},
    SMALL_BATCHES[16]: {CALL_NS: Asked(at_most=400)},
    **{case.name: case.targets for case in SCORES},
    **{case: {STEPS_TO_BINS: Asked(at_most=1.6)} for case in TWO_RESOLUTIONS.values()},
    IN_CHUNKS: {quantity: Asked(at_most=1.3) for quantity in CHUNKS_TO_ARRAY.values()},
    HEAVY_TIES: {KEYS_TO_NONE: Asked(at_most=1.3)},
    MANY_THREADS: {GAIN_TO_GAIN: Asked(at_least=0.9)},
    OTHER_THREADS: {EXTRA_WAIT: Asked(at_most=5)},
    **{name: asked for name, (_, _, asked) in FINE_FITS.items()},
    **{case.name: case.targets for case in [*SEGMENT_FITS, *CERTIFIED_SEGMENTS]},
    **{certificate(n): {CERTIFICATE_TO_BINS: Asked(at_most=most)} for n, most in ((10**4, 7), (10**6, 20))},
    CERTIFY_SET: {CPU_MS: Asked(at_most=100)},
    **{check_of_a_set(method): {CPU_MS_A_MODEL: Asked(at_most=3)} for method in ("UniformMassBinning", "CertifiedCalibration")},
    SET_OF_ONE_ROW: {INT_CELL_TO_MODEL: Asked(at_most=1.8), TEXT_CELL_TO_MODEL: Asked(at_most=1.8)},
    COMMON_RADIUS: {CPU_MS: Asked(at_most=50)},
    CERTIFICATE_OF_BINS: {CPU_MS: Asked(at_most=25)},
    mean_error(10**6, first=True): {CPU_MS: Asked(at_most=500)},
    BAND: {CPU_MS: Asked(at_most=50)},
    HTML: {CPU_MS: Asked(at_most=1000)},
    **{parquet_fit(n): asked for n, asked in PARQUET_FITS.items()},
    LARGEST_FILE: {PEAK_MB: Asked(at_most=500)},
    **{case.name: case.targets for case in ENGINE_FITS},
}  # fmt: skip

TARGETS: dict[tuple[str, Quantity], Asked] = {
    (case, quantity): asked for case, targets in _BY_CASE.items() for quantity, asked in targets.items()
}
