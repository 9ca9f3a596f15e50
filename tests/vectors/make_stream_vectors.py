"""Write streams.txt: samples in the order in which they arrive, and what the reference has counted after the last of them.

    python tests/vectors/make_stream_vectors.py        # rewrites the file beside this one

Lines, words and numbers are as in README.md; the first line is `fastbin-stream-vectors 1`. A stream begins with
`stream NAME`; its parts follow, until `create`:

    range MIN MAX                             scores outside are refused
    seed SEED                                 of the partition: samples without a key get one from it and their row
    edge EDGE EDGE_KEY                        ascending
    begin empty                               at zero samples, or
    begin tally N_SAMPLES N_POSITIVE N_TIED   at a tally, which has no running variance, with one `bin` line for each bin:
    bin COUNT LABEL_SUM

Then come the samples, and what was counted:

    sample SCORE LABEL KEY BIN                - for no key; BIN is where it was counted
    totals N_SAMPLES N_POSITIVE N_TIED
    state COUNT LABEL_SUM VARIANCE            for each bin; - for no running variance
    end
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vectors.texts import hexed, write  # noqa: E402

import strategies  # noqa: E402
from reference.keys import KEY_ABOVE, KEY_BELOW, MAX_KEY  # noqa: E402
from reference.step_model import Edge  # noqa: E402
from reference.stream import Stream, uniform_mass_edges  # noqa: E402

FILE = HERE / "streams.txt"

# name, shape, labels, samples, bins; the edges are those of a first block of as many samples
STREAMS = [
    ("uniform", "uniform", "follow the rank", 120, 5),
    ("one-bin", "uniform", "coin", 40, 1),
    ("tree", "tree", "follow the rank", 150, 6),
    ("constant", "constant", "coin", 60, 4),
    ("ends", "ends", "rare", 80, 5),
    ("signed-zeros", "signed zeros", "coin", 80, 4),
    ("subnormals", "subnormals", "alternating", 60, 4),
    ("one-class", "hundredths", "all 1", 50, 4),
    ("other-class", "few levels", "all 0", 50, 3),
    ("margins", "signed hundredths", "follow the rank", 80, 5),
    ("clusters", "clusters", "coin", 400, 40),
    ("long", "uniform", "coin", 1500, 2),
]

# Every tie rule at one score.
TIES: list[Edge] = [
    (0.25, KEY_BELOW), (0.5, KEY_ABOVE), (0.5, 1), (0.5, 2**63), (0.5, MAX_KEY), (0.5, KEY_BELOW), (0.75, KEY_ABOVE),
]  # fmt: skip


def _key(rng: Random) -> int:
    return rng.choice([0, 1, 2**63 - 1, 2**63, MAX_KEY, rng.randrange(2**64 - 1)])


def _lines(
    name: str, stream: Stream, scores: list[float], labels: list[int], keys: list[int] | None, seed: int
) -> Iterator[str]:
    yield ""
    yield f"stream {name}"
    yield f"range {hexed(stream.score_min)} {hexed(stream.score_max)}"
    yield f"seed {seed:#x}"
    for edge, key in stream.edges:
        yield f"edge {hexed(edge)} {key:#x}"
    if stream.running_variances is None:
        yield f"begin tally {stream.n_samples} {stream.n_positive} {stream.n_tied}"
        yield from (f"bin {count} {total}" for count, total in zip(stream.counts, stream.label_sums, strict=True))
    else:
        yield "begin empty"
    yield "create"
    bins = stream.update(scores, labels, keys, seed)
    for i, (score, label, b) in enumerate(zip(scores, labels, bins, strict=True)):
        key = "-" if keys is None else f"{keys[i]:#x}"
        yield f"sample {hexed(score)} {label} {key} {b}"
    yield f"totals {stream.n_samples} {stream.n_positive} {stream.n_tied}"
    for b, (count, total) in enumerate(zip(stream.counts, stream.label_sums, strict=True)):
        variance = "-" if stream.running_variances is None else hexed(stream.running_variances[b])
        yield f"state {count} {total} {variance}"
    yield "end"


def stream_vectors() -> str:
    """The whole file."""
    lines = ["fastbin-stream-vectors 1"]
    for index, (name, shape, label_shape, n, n_bins) in enumerate(STREAMS):
        first = strategies.make(shape, label_shape, n, 1000 + index)
        data = strategies.make(shape, label_shape, n, index)
        low, high = data.score_range or (-math.inf, math.inf)
        rng, seed = Random(name), Random(name).randrange(2**64)
        for variant, ties in (("keyed", "random"), ("seeded", "random"), ("upper", "upper")):
            stream = Stream(uniform_mass_edges(first.scores, n_bins, seed, ties, data.score_range), low, high)
            keys = [_key(rng) for _ in data.scores] if variant == "keyed" else None
            lines += _lines(f"{name}-{variant}", stream, data.scores, data.labels, keys, seed)
    rng = Random("ties")
    scores = [rng.choice([0.25, 0.5, 0.75, rng.random()]) for _ in range(200)]
    labels = [rng.randrange(2) for _ in scores]
    keys = [_key(rng) for _ in scores]
    lines += _lines("ties", Stream(TIES), scores, labels, keys, 0)
    counts = [rng.randrange(50) for _ in range(len(TIES) + 1)]
    begun = Stream(
        TIES, counts=counts, label_sums=[rng.randrange(count + 1) for count in counts], running_variances=None,
        n_samples=sum(counts) + 7, n_positive=0, n_tied=3,
    )  # fmt: skip
    begun.n_positive = sum(begun.label_sums) + 4
    lines += _lines("tally", begun, scores, labels, None, 2**64 - 1)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write(FILE, stream_vectors()))
