"""Write vectors.txt: models, scores and the answers of the reference, to the last bit, for every implementation to meet.

    python tests/vectors/make_vectors.py        # rewrites the file beside this one
    python tests/vectors/make_vectors.py --check    # fails if the file is not what would be written

README.md describes the format. Only draws that are integers or plain arithmetic go in, so that the file is the same on every
machine.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vectors.texts import hexed, write  # noqa: E402

import reference  # noqa: E402
import strategies  # noqa: E402
from reference import StepModel, uniform_mass  # noqa: E402
from reference.keys import KEY_ABOVE, KEY_BELOW, MAX_KEY  # noqa: E402
from strategies import CalibrationData  # noqa: E402

FILE = HERE / "vectors.txt"

# Pinned by fastbin.h.
SCORE_NAN, SCORE_RANGE = 30, 31

# name, shape, labels, n, n_bins, scheme, ties, and what differs from the defaults
FITS: list[tuple[str, str, str, int, int, str, str, dict[str, object]]] = [
    ("umd-distinct", "uniform", "follow the rank", 31, 4, "umd", "random", {}),
    ("umd-one-bin", "uniform", "coin", 5, 1, "umd", "random", {}),
    ("umd-fewest-samples", "uniform", "coin", 9, 5, "umd", "random", {}),
    ("umd-twice-the-bins", "few levels", "coin", 10, 5, "umd", "random", {"seed": 2**64 - 1}),
    ("umd-tree", "tree", "follow the rank", 60, 7, "umd", "random", {"seed": 1}),
    ("umd-constant", "constant", "coin", 24, 4, "umd", "random", {"seed": 2}),
    ("umd-signed-zeros", "signed zeros", "coin", 40, 5, "umd", "random", {"seed": 3}),
    ("umd-ends", "ends", "follow the rank", 40, 6, "umd", "random", {"seed": 4}),
    ("umd-subnormals", "subnormals", "coin", 30, 4, "umd", "random", {"seed": 5}),
    ("umd-neighbours", "neighbours", "coin", 40, 8, "umd", "random", {"seed": 6}),
    ("umd-clusters", "clusters", "coin", 60, 6, "umd", "random", {"seed": 7}),
    ("umd-one-class", "hundredths", "all 1", 30, 4, "umd", "random", {"seed": 8}),
    ("umd-delta", "few levels", "follow the rank", 30, 4, "umd", "random", {"seed": 9, "delta": 0.125}),
    ("umd-small-delta", "uniform", "follow the rank", 20, 3, "umd", "random", {"seed": 10, "delta": 1e-3}),
    ("umd-own-keys", "few levels", "coin", 30, 4, "umd", "random", {"keyed": True}),
    ("umd-frequencies", "tree", "coin", 30, 4, "umd", "random", {"seed": 11, "weighting": "integer"}),
    ("umd-importance", "tree", "coin", 40, 4, "umd", "random", {"seed": 12, "weighting": "float"}),
    ("umd-margins", "signed hundredths", "follow the rank", 40, 5, "umd", "random", {"seed": 13}),
    ("umd-upper", "tree", "follow the rank", 40, 6, "umd", "upper", {"seed": 14}),
    ("umd-upper-zero", "signed zeros", "coin", 40, 5, "umd", "upper", {"seed": 15}),
    ("umd-isolate", "tree", "follow the rank", 60, 9, "umd", "isolate", {"seed": 16}),
    ("umd-isolate-ends", "ends", "coin", 40, 9, "umd", "isolate", {"seed": 17}),
    ("umd-isolate-greatest", "greatest", "coin", 40, 8, "umd", "isolate", {"seed": 18}),
    ("ze-tree", "tree", "follow the rank", 50, 6, "ze", "random", {"seed": 19}),
    ("ze-upper", "ends", "coin", 40, 6, "ze", "upper", {"seed": 20}),
    ("ums-tree", "tree", "follow the rank", 60, 5, "ums", "random", {"seed": 21}),
    ("ums-third", "uniform", "follow the rank", 60, 5, "ums", "random", {"seed": 22, "split": 0.3}),
    ("ums-upper", "few levels", "coin", 60, 5, "ums", "upper", {"seed": 23}),
    ("ums-frequencies", "few levels", "coin", 30, 4, "ums", "random", {"seed": 24, "weighting": "integer"}),
    ("umb-tree", "tree", "follow the rank", 50, 6, "umb", "random", {"seed": 25}),
    ("umb-lower", "tree", "follow the rank", 50, 6, "umb", "lower", {"seed": 26}),
    ("umb-lower-ends", "ends", "coin", 40, 8, "umb", "lower", {"seed": 27}),
    ("umd-many-bins", "clusters", "coin", 500, 200, "umd", "random", {"seed": 28}),
    ("umd-whole", "tree", "follow the rank", 60, 6, "umd", "whole", {"seed": 29}),
    ("umd-whole-distinct", "uniform", "follow the rank", 31, 4, "umd", "whole", {"seed": 30}),
    ("umd-whole-no-edge", "constant", "coin", 24, 4, "umd", "whole", {"seed": 31}),
    ("umd-whole-zero", "signed zeros", "coin", 40, 5, "umd", "whole", {"seed": 32}),
    ("umd-whole-frequencies", "tree", "coin", 40, 4, "umd", "whole", {"seed": 33, "weighting": "integer"}),
    ("umd-whole-importance", "hundredths", "coin", 60, 4, "umd", "whole", {"seed": 34, "weighting": "float"}),
    ("umd-whole-share", "hundredths", "follow the rank", 120, 4, "umd", "whole", {"seed": 35, "edges_share": 0.25}),
    ("umd-whole-margins", "signed hundredths", "follow the rank", 90, 8, "umd", "whole", {"seed": 36, "delta": 0.125}),
    ("ze-whole", "few levels", "follow the rank", 90, 3, "ze", "whole", {"seed": 37}),
    ("ze-whole-distinct", "uniform", "coin", 30, 4, "ze", "whole", {"seed": 38}),
    ("ums-whole", "tree", "follow the rank", 60, 7, "ums", "whole", {"seed": 39}),
    ("umb-whole", "tree", "follow the rank", 60, 6, "umb", "whole", {"seed": 40}),
    ("umb-whole-ends", "ends", "coin", 40, 8, "umb", "whole", {"seed": 41}),
    ("umb-whole-share", "few levels", "coin", 60, 3, "umb", "whole", {"seed": 42, "edges_share": 0.5}),
    ("umb-whole-distinct", "uniform", "coin", 30, 4, "umb", "whole", {"seed": 43}),
]  # fmt: skip


def vectors() -> str:
    """The whole file."""
    lines = ["fastbin-vectors 1"]
    lines += _keys()
    lines += _draws()
    for index, fit in enumerate(FITS):
        lines += _fitted(index, *fit)
    lines += _fixed_width()
    lines += _explicit()
    return "\n".join(lines) + "\n"


def _keys() -> Iterator[str]:
    rng = Random("keys")
    for seed in (0, 1, 2**63, 2**64 - 1, rng.randrange(2**64)):
        for row in (0, 1, 65535, 2**32, 2**63):
            yield f"row_key {seed:#x} {row:#x} {reference.row_key(seed, row):#x}"
        for score in (0.0, -0.0, 0.5, 5e-324, 1.0, -1.5, 0.1, float.fromhex("0x1.99999ap-4")):
            j = rng.randrange(1000)
            yield f"group_key {seed:#x} {hexed(score)} {j:#x} {reference.group_key(seed, score, j):#x}"
            yield f"split_key {seed:#x} {hexed(score)} {j:#x} {reference.split_key(seed, score, j):#x}"
        yield from _digests(seed, rng)


def _digests(seed: int, rng: Random) -> Iterator[str]:
    """The seeds of the keys of fits: of groups that hold a boundary, in ascending order, and of rows, in any order."""
    for n_groups in (0, 1, 3):
        groups = []
        for score in sorted(rng.sample([-1.5, -0.0, 5e-324, 0.1, 0.5, 1.0], n_groups)):
            below, count = rng.randrange(2**53), rng.randrange(1, 2**53)
            groups.append((score, below, rng.randrange(below + 1), count, rng.randrange(count + 1)))
        words = [word for score, *counts in groups for word in (hexed(score), *map(str, counts))]
        yield " ".join([f"group_digest {seed:#x} {reference.group_digest(seed, groups):#x}", *words])
    for n_rows in (1, 4):
        rows = [(rng.choice([-0.0, 0.5, 0.1, -1.5]), rng.randrange(2), rng.choice([1.0, 0.5, 0.0])) for _ in range(n_rows)]
        words = [word for score, label, weight in rows for word in (hexed(score), str(label), hexed(weight))]
        yield " ".join([f"rows_digest {seed:#x} {reference.rows_digest(seed, rows):#x}", *words])


def _draws() -> Iterator[str]:
    """Labels drawn for whole ties: every kind of group, up to counts whose sums of ones pass 2**53 when multiplied."""
    rng = Random("draws")
    for count in (1, 2, 3, 10, 100, 1000, 10**6, 10**9, 2**53):
        for ones in sorted({0, 1, count // 3, count - 1, count}):
            few = [0, 1, count] if count < 2**53 or ones in (0, 1, count - 1, count) else [1, 40]
            for chosen in sorted({*few, *([rng.randint(0, count)] if count < 10**7 else [])}):
                digest, score = rng.randrange(2**64), rng.choice([0.0, -0.0, 0.5, 5e-324, -1.5, 0.1])
                f, y = reference.keys.draw_labels(digest, score, count, ones, chosen)
                yield f"draw_labels {digest:#x} {hexed(score)} {count} {ones} {chosen} {f} {y}"


def _fitted(
    index: int, name: str, shape: str, labels: str, n: int, n_bins: int, scheme: str, ties: str, options: dict[str, object]
) -> Iterator[str]:
    """One model of uniform-mass binning: its samples, its parts, its answers."""
    rest = dict(options)
    weighting, keyed = str(rest.pop("weighting", "none")), bool(rest.pop("keyed", False))
    data = strategies.make(shape, labels, n, index, weighting, keyed=keyed)
    model = uniform_mass(
        data.scores, data.labels, n_bins, scheme, ties, weights=data.weights, keys=data.keys,
        score_range=data.score_range, **rest,  # type: ignore[arg-type]
    )  # fmt: skip
    yield from _parts(name, scheme, model.ties, model, int(rest.get("seed", 0)))  # type: ignore[call-overload]
    if ties in reference.TIES_OF_SCHEME[scheme]:
        yield from _samples(data, n_bins, ties, weighting, rest)
    yield "create"
    yield from _answers(model, data, Random(name), n_others=200 if n_bins >= 100 else 12)


def _samples(data: CalibrationData, n_bins: int, ties: str, weighting: str, options: dict[str, object]) -> Iterator[str]:
    """How a fit makes the model."""
    split, share = (hexed(float(options.get(name, default))) for name, default in (("split", 0.5), ("edges_share", 1.0)))  # type: ignore[arg-type]
    yield f"fit {n_bins} {split} {weighting} {'-' if data.keys is None else 'keyed'} {ties} {share}"
    for i, score in enumerate(data.scores):
        weight = "-" if data.weights is None else data.weights[i]
        weight = hexed(weight) if isinstance(weight, float) else weight
        key = "-" if data.keys is None else f"{data.keys[i]:#x}"
        yield f"sample {hexed(score)} {data.labels[i]} {weight} {key}"


def _fixed_width() -> Iterator[str]:
    """Edges are quotients: 0.29, 0.57 and 0.58 are where score * 100 goes wrong."""
    scores = [i / 100 for i in range(101)]
    model = reference.fixed_width(scores, [i % 2 for i in range(101)], 100)
    yield from _parts("fixed-width", "fixed-width", "none", model, 0)
    yield "create"
    yield from _answers(model, CalibrationData(scores, [0] * 101), Random("fixed width"))


def _explicit() -> Iterator[str]:
    """Edges of any kind, in one model: every tie rule at one score, neighbours, infinities for a range."""
    edges = [
        (-1e300, KEY_ABOVE), (-5e-324, KEY_BELOW), (0.0, 1), (0.0, 2**63), (0.0, MAX_KEY), (5e-324, KEY_ABOVE),
        (0.5, KEY_ABOVE), (0.5, 1), (0.5, 2**32), (0.5, 2**64 - 2), (0.5, KEY_BELOW), (math.nextafter(0.5, 1.0), KEY_ABOVE),
        (1e300, 12345),
    ]  # fmt: skip
    n_bins = len(edges) + 1
    model = StepModel(
        edges=[edge for edge, _ in edges], edge_keys=[key for _, key in edges],
        values=[b / (n_bins - 1) for b in range(n_bins)], exact_values=[], counts=[n_bins - 1] * n_bins,
        label_sums=list(range(n_bins)), weight_sums=None, weighted_label_sums=None, weight_square_sums=None,
        n_samples=n_bins * (n_bins - 1), n_positive=n_bins * (n_bins - 1) // 2, n_tied=0, n_bins_asked=n_bins,
        score_min=-math.inf, score_max=math.inf,
    )  # fmt: skip
    yield from _parts("explicit", "explicit", "none", model, 0)
    yield "create"
    scores = [0.0, -0.0, 0.25, 0.5, 1.0, -1.0, 1e308, -1e308]
    yield from _answers(model, CalibrationData(scores, [0] * len(scores), score_range=None), Random("explicit"))


def _parts(name: str, scheme: str, ties: str, model: StepModel, seed: int) -> Iterator[str]:
    yield ""
    yield f"model {name}"
    yield f"scheme {scheme}"
    yield f"ties {ties}"
    yield f"range {hexed(model.score_min)} {hexed(model.score_max)}"
    yield f"delta {hexed(model.delta)}"
    yield f"origin {seed:#x} {model.n_bins_asked} {model.n_samples} {model.n_positive} {model.n_tied}"
    if model.fingerprint:
        yield f"fingerprint {model.fingerprint:#x}"
    for edge, key in model.edge_pairs:
        yield f"edge {hexed(edge)} {key:#x}"
    for b in range(model.n_bins):
        line = f"bin {hexed(model.values[b])} {model.counts[b]} {model.label_sums[b]}"
        if model.weight_sums is not None and model.weighted_label_sums is not None and model.weight_square_sums is not None:
            sums = (model.weight_sums[b], model.weighted_label_sums[b], model.weight_square_sums[b])
            line += "".join(f" {hexed(total)}" for total in sums)
        yield line
    for counts in model.tie_counts or ():
        yield "tie {} {} {}".format(*counts)
    if model.tie_counts is not None:
        yield f"edges_share {hexed(model.edges_share)}"


def _answers(model: StepModel, data: CalibrationData, rng: Random, n_others: int = 12) -> Iterator[str]:
    """Scores as doubles, as floats, without keys, and those to refuse."""
    scores = strategies.queries(data, model.edges, rng)
    rng.shuffle(scores)
    at_edges = [score for score in scores if score in model.edges]
    for score in at_edges[:16] + scores[: 8 + n_others]:
        yield _query("query", model, score, rng.randrange(2**64))
    for edge, edge_key in rng.sample(model.edge_pairs, min(5, len(model.edges))):
        for key in (0, max(0, edge_key - 1), edge_key, min(2**64 - 1, edge_key + 1), 2**64 - 1):
            yield _query("query", model, edge, key)
    for score in scores[: 6 + n_others]:
        as_float = _float32(score)
        if math.isfinite(as_float) and model.score_min <= as_float <= model.score_max:
            yield _query("query32", model, as_float, rng.randrange(2**64))
    seed, first_row = rng.randrange(2**64), rng.choice([0, 1, 65536, 2**40])
    yield f"seeded {seed:#x} {first_row:#x}"
    for i, score in enumerate(at_edges[:6] + scores[:6]):
        key = reference.row_key(seed, first_row + i)
        yield f"row {hexed(score)} {model.assign_one(score, key)} {hexed(model.predict_one(score, key))}"
    yield f"refuse nan {SCORE_NAN}"
    for score in (math.inf, -math.inf):
        yield f"refuse {hexed(score)} {SCORE_RANGE}"
    if math.isfinite(model.score_max):
        for score in (math.nextafter(model.score_min, -math.inf), math.nextafter(model.score_max, math.inf)):
            yield f"refuse {hexed(score)} {SCORE_RANGE}"


def _query(keyword: str, model: StepModel, score: float, key: int) -> str:
    bin_number, value = model.assign_one(score, key), model.predict_one(score, key)
    return f"{keyword} {hexed(score)} {key:#x} {bin_number} {hexed(value)} {int(model.needs_key(score))}"


def _float32(score: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        return math.inf


if __name__ == "__main__":
    sys.exit(write(FILE, vectors()))
