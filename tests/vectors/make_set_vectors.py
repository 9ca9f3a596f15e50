"""Write sets.txt: sets of models in the bytes that the reference makes of them, and its answers to the last bit.

    python tests/vectors/make_set_vectors.py        # rewrites the file beside this one

Words and numbers are as in README.md; the first line is `fastbin-set-vectors 1`. A set begins with
`set NAME N_MODELS N_KEYS`. Then:

    bytes HEX                                 the bytes of the set, up to 64 in each line
    create                                    ends them
    find KEY NUMBER                           an integer key, decimal, and the number of its model; -1 is unknown
    find_text HEX NUMBER                      a text key, its UTF-8 in hexadecimal
    query NUMBER SCORE KEY BIN VALUE          of one row by the model of this number
    seeded SEED FIRST_ROW                     the `row` lines that follow are scored in one call without keys
    row NUMBER SCORE BIN VALUE
    refuse NUMBER SCORE STATUS                the status of fastbin.h
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vectors.texts import hexed, write  # noqa: E402

import reference  # noqa: E402
import strategies  # noqa: E402
from reference.containers import model_bytes  # noqa: E402
from reference.model_set import CLASS_WISE, GIVEN, POOL, REFUSE, SEGMENTS, TOP_LABEL, Key, ModelSet  # noqa: E402
from reference.step_model import StepModel  # noqa: E402

FILE = HERE / "sets.txt"

# Pinned by fastbin.h.
SCHEMES = {"umd": 1, "ze": 2, "ums": 3, "umb": 4}
CERTIFIED = 21
ARGUMENT, SCORE_NAN, SCORE_RANGE, CELL = 10, 30, 31, 32

# shape, labels, samples, bins, scheme, ties, and what differs from the defaults
FITS: list[tuple[str, str, int, int, str, str, dict[str, object]]] = [
    ("uniform", "follow the rank", 40, 4, "umd", "random", {}),
    ("tree", "coin", 60, 6, "umd", "whole", {"seed": 5}),
    ("few levels", "follow the rank", 50, 4, "umd", "random", {"seed": 6}),
    ("signed hundredths", "follow the rank", 60, 5, "umd", "random", {"seed": 7}),
    ("ends", "coin", 40, 6, "umd", "upper", {"seed": 8, "delta": 0.125}),
    ("tree", "coin", 50, 6, "umb", "whole", {"seed": 9}),
    ("constant", "coin", 30, 1, "umd", "random", {"seed": 10}),
    ("clusters", "coin", 300, 70, "ums", "random", {"seed": 11}),
]

TEXTS = ["-1", "Zürich", "a", "a b", "ab", "b" * 1024, "é", "ß", "ﬀ", "\U0001f600", "a" * 8, "a" * 9, "17", "\x00", "a\x00"]


def models() -> list[bytes]:
    """One of each kind, the last two of two resolutions."""
    made = []
    for index, (shape, labels, n, n_bins, scheme, ties, options) in enumerate(FITS):
        data = strategies.make(shape, labels, n, 100 + index, "none", keyed=False)
        model = reference.uniform_mass(
            data.scores, data.labels, n_bins, scheme, ties, score_range=data.score_range, **options,  # type: ignore[arg-type]
        )  # fmt: skip
        made.append(model_bytes(model, SCHEMES[scheme], int(str(options.get("seed", 0)))))
    return [*made, *(_two_resolutions(steps) for steps in ([3, 1, 2], [1, 40]))]


def _two_resolutions(steps: list[int]) -> bytes:
    """Bins of these numbers of steps, four samples in each step, two of them of label 1; clips scores to [0, 1]."""
    n = sum(steps)
    edges = [(i + 1) / (n + 1) for i in range(n - 1)]
    values = [i / n for i in range(n)]
    model = StepModel(
        edges=edges, edge_keys=[0] * (n - 1), values=values, exact_values=list(map(Fraction, values)),
        counts=[4 * count for count in steps], label_sums=[2 * count for count in steps], weight_sums=None,
        weighted_label_sums=None, weight_square_sums=None, n_samples=4 * n, n_positive=2 * n, n_tied=0, n_bins_asked=len(steps),
        score_min=0.0, score_max=1.0, ties="upper", out_of_range="clip",
    )  # fmt: skip
    return model_bytes(model, CERTIFIED, 3, [sum(steps[:b]) for b in range(len(steps))], [4] * n)


def sets() -> Iterator[tuple[str, ModelSet]]:
    """Both types of keys, with a pool and without, for unknown keys or not, of every kind."""
    data, rng = models(), Random("sets")
    n = len(data)
    integers: list[Key] = sorted([-(2**63), -5, -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, 7, 8][:n])
    texts: list[Key] = sorted(TEXTS, key=str.encode)
    yield "integers", ModelSet(integers, list(range(n)), data, SEGMENTS)
    yield "texts", ModelSet(texts[:n], list(range(n)), data)
    for name, unknown in (("pool", POOL), ("pool-refuses", REFUSE)):
        numbers = _numbers(len(texts), n, rng)
        yield name, ModelSet(texts, numbers, data, SEGMENTS, unknown, n - 1)
    yield "pool-for-unknown", ModelSet(integers[: n - 1], list(range(n - 1)), data, GIVEN, POOL, n - 1)
    yield "pool-alone", ModelSet([3, 4], [0, 0], data[:1], TOP_LABEL, REFUSE, 0)
    yield "one", ModelSet(["a"], [0], data[-1:])
    columns = rng.sample(range(n), n)
    yield "columns", ModelSet(texts[:n], list(range(n)), data, CLASS_WISE, columns=columns)
    yield "classes", ModelSet([0, 1, 2], [0, 2, 1], data[:3], TOP_LABEL, REFUSE, 2, [2, 0, 1])
    many: list[Key] = sorted(rng.sample(range(-(10**6), 10**6), 300))
    yield "many", ModelSet(many, _numbers(300, 3, rng), data[3:6], SEGMENTS, REFUSE, 2)


def _numbers(n_keys: int, n_models: int, rng: Random) -> list[int]:
    """Models in the order of their keys, the pool between them."""
    own = set(rng.sample(range(n_keys), n_models - 1))
    rank = iter(range(n_models))
    return [next(rank) if i in own else n_models - 1 for i in range(n_keys)]


def set_vectors() -> str:
    """The whole file."""
    lines = ["fastbin-set-vectors 1"]
    for name, models_ in sets():
        lines += _set(name, models_)
    return "\n".join(lines) + "\n"


def _set(name: str, models_: ModelSet) -> Iterator[str]:
    rng, data = Random(name), models_.to_bytes()
    yield ""
    yield f"set {name} {len(models_.models)} {len(models_.cells)}"
    for start in range(0, len(data), 64):
        yield f"bytes {data[start : start + 64].hex()}"
    yield "create"
    others: list[Key] = ["", "zz", "b" * 1025, "A", "é "] if isinstance(models_.cells[0], str) else [5, -(10**9), 2**63 - 2, 6]
    for key in [*models_.cells[:40], *others]:
        number = models_.find(key)
        yield f"find_text {key.encode().hex() or '-'} {number}" if isinstance(key, str) else f"find {key} {number}"
    lowest = -1 if models_.unknown == POOL else 0
    for number in range(lowest, len(models_.models)):
        for score in _scores(models_, number, rng):
            key = rng.randrange(2**64)
            bin_number, value = models_.assign_one(number, score, key), models_.predict_one(number, score, key)
            yield f"query {number} {hexed(score)} {key:#x} {bin_number} {hexed(value)}"
    yield from _rows(models_, lowest, rng)
    yield from _refusals(models_)


def _scores(models_: ModelSet, number: int, rng: Random) -> list[float]:
    """At the edges, and anywhere in the range."""
    model, _ = models_.models[number]
    low, high = max(model.score_min, -2.0), min(model.score_max, 2.0)
    return [*rng.sample(model.edges, min(3, len(model.edges))), low, high, low + (high - low) * rng.randrange(1024) / 1024]


def _rows(models_: ModelSet, lowest: int, rng: Random) -> Iterator[str]:
    """Runs of rows of one model, of all lengths."""
    seed, first_row = rng.randrange(2**64), rng.choice([0, 2**40])
    yield f"seeded {seed:#x} {first_row:#x}"
    row = first_row
    for length in (1, 2, 1, 1, 3, 9, 1, 70, 1, 1, 4, 20):
        number = rng.randrange(lowest, len(models_.models))
        scores = [score for _ in range(length) for score in _scores(models_, number, rng)]
        for score in rng.sample(scores, length):
            key = reference.row_key(seed, row)
            bin_number, value = models_.assign_one(number, score, key), models_.predict_one(number, score, key)
            yield f"row {number} {hexed(score)} {bin_number} {hexed(value)}"
            row += 1


def _refusals(models_: ModelSet) -> Iterator[str]:
    for number, (model, _) in enumerate(models_.models[:8]):
        yield f"refuse {number} nan {SCORE_NAN}"
        yield f"refuse {number} -inf {SCORE_RANGE}"
        if math.isfinite(model.score_max) and model.out_of_range == "refuse":
            yield f"refuse {number} {hexed(math.nextafter(model.score_max, math.inf))} {SCORE_RANGE}"
    yield f"refuse {len(models_.models)} 0x1p-1 {ARGUMENT}"
    yield f"refuse -2 0x1p-1 {ARGUMENT}"
    if models_.unknown == REFUSE:
        yield f"refuse -1 0x1p-1 {CELL}"


if __name__ == "__main__":
    sys.exit(write(FILE, set_vectors()))
