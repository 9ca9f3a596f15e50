"""The values of a two-resolution model: each map by its definition, re-centred and pooled, with loops over cells.

Cells are (score, count, ones), ascending; a map gives the logit at each. The minimum of a ridge is found by Newton's method on
sums without rounding; the columns of the spline are the truncated powers of the textbook, monotone steps the max-min formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product

Row = Sequence[float]


def softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def logit(p: float) -> float:
    return math.log(p) - math.log(1.0 - p)


def dot(left: Row, right: Row) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def ridge_loss(rows: Sequence[Row], zeros: Row, ones: Row, ridge: Row, centre: Row, parameters: Row) -> float:
    """sum (zeros log(1 + e^z) + ones log(1 + e^-z)) + sum ridge (p - centre)^2 / 2."""
    terms = [
        z * softplus(dot(row, parameters)) + o * softplus(-dot(row, parameters))
        for row, z, o in zip(rows, zeros, ones, strict=True)
    ]
    return math.fsum(terms) + math.fsum(r * (p - c) ** 2 / 2.0 for r, p, c in zip(ridge, parameters, centre, strict=True))


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss's elimination, in fractions."""
    rows = [[Fraction(x) for x in [*row, r]] for row, r in zip(matrix, right, strict=True)]
    k = len(rows)
    for i in range(k):
        pivot = max(range(i, k), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(k):
            if j != i:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [float(row[k] / row[i]) for i, row in enumerate(rows)]


def least_loss(rows: Sequence[Row], zeros: Row, ones: Row, ridge: Row, centre: Row) -> list[float]:
    """The parameters at which the loss is least."""

    def loss(parameters: Row) -> float:
        return ridge_loss(rows, zeros, ones, ridge, centre, parameters)

    k, parameters = len(ridge), list(centre)
    for _ in range(500):
        probabilities = [(sigmoid(dot(row, parameters)), sigmoid(-dot(row, parameters))) for row in rows]
        slopes = [z * p - o * q for (p, q), z, o in zip(probabilities, zeros, ones, strict=True)]
        bends = [(z + o) * p * q for (p, q), z, o in zip(probabilities, zeros, ones, strict=True)]
        gradient = [dot([row[i] for row in rows], slopes) + ridge[i] * (parameters[i] - centre[i]) for i in range(k)]
        hessian = [
            [math.fsum(row[i] * row[j] * b for row, b in zip(rows, bends, strict=True)) + ridge[i] * (i == j) for j in range(k)]
            for i in range(k)
        ]
        step = solve(hessian, [-g for g in gradient])
        size = 1.0
        while size > 1e-12 and not loss([p + size * s for p, s in zip(parameters, step, strict=True)]) < loss(parameters):
            size /= 2.0
        if size <= 1e-12:
            break
        parameters = [p + size * s for p, s in zip(parameters, step, strict=True)]
    return parameters


# ------------------------------------------------------------------------------------------------- cells


def identity_range(score_range: tuple[float, float] | None) -> bool:
    """Whether scores are probabilities, which there is a map that leaves as they are."""
    return score_range is not None and score_range[0] >= 0.0 and score_range[1] <= 1.0


def standardised(values: Row, counts: Row) -> list[float]:
    total = math.fsum(counts)
    mean = math.fsum(c / total * v for v, c in zip(values, counts, strict=True))
    away = [v - mean for v in values]
    greatest = max(map(abs, away))
    if greatest == 0.0:
        return away
    away = [a / greatest for a in away]
    spread = math.sqrt(math.fsum(c / total * a * a for a, c in zip(away, counts, strict=True)))
    return [a / max(spread, 1e-6) for a in away]


def positions(scores: Row, counts: Row, n: int, probabilities: bool) -> list[float]:
    if not probabilities:
        _, exponent = math.frexp(max(map(abs, scores)))
        return standardised([math.ldexp(s, -exponent) for s in scores], counts)
    half = 0.5 / (n + 1)
    return [logit(min(max(s, half), 1.0 - half)) for s in scores]


# ------------------------------------------------------------------------------------------------- maps


def polynomial(degree: int, z: Row, zeros: Row, ones: Row, probabilities: bool) -> list[float]:
    rows = [[x**power for power in range(degree + 1)] for x in z]
    ridge = [4.0] * (degree + 1) if probabilities else [1e-3] + [0.1] * degree
    centre = [0.0, float(probabilities)] + [0.0] * (degree - 1)
    found = least_loss(rows, zeros, ones, ridge, centre)
    return [dot(row, found) for row in rows]


def beta(z: Row, zeros: Row, ones: Row, probabilities: bool) -> list[float]:
    """The least of the minima with either slope held at 0 or not, among those without a negative slope."""
    if not probabilities:
        return polynomial(1, z, zeros, ones, probabilities)
    rows = [[1.0, -softplus(-x), softplus(x)] for x in z]
    ridge, centre = [4.0] * 3, [0.0, 1.0, 1.0]
    found = []
    for kept in product([True, False], repeat=2):
        taken = [0, *(i + 1 for i in (0, 1) if kept[i])]
        part = [[row[i] for i in taken] for row in rows]
        least = least_loss(part, zeros, ones, [ridge[i] for i in taken], [centre[i] for i in taken])
        parameters = [0.0] * 3
        for i, p in zip(taken, least, strict=True):
            parameters[i] = p
        if min(parameters[1:]) >= 0.0:
            found.append(parameters)
    best = min(found, key=lambda parameters: ridge_loss(rows, zeros, ones, ridge, centre, parameters))
    return [dot(row, best) for row in rows]


def spline(z: Row, zeros: Row, ones: Row, probabilities: bool) -> list[float]:
    counts = [a + b for a, b in zip(zeros, ones, strict=True)]
    x, total = standardised(z, counts), math.fsum(counts)
    knots: list[int] = []
    for fortieths in (2, 11, 20, 29, 38):
        place = next(i for i in range(len(x)) if math.fsum(counts[: i + 1]) * 40.0 >= fortieths * total)
        if not knots or (x[place] - x[knots[-1]] > 1e-3 and z[place] - z[knots[-1]] > 1e-6):
            knots.append(place)
    t = [x[place] for place in knots]
    if len(t) < 3:
        return beta(z, zeros, ones, probabilities)

    def d(j: int, at: Fraction) -> Fraction:
        last = Fraction(t[-1])
        return (max(at - Fraction(t[j]), Fraction(0)) ** 3 - max(at - last, Fraction(0)) ** 3) / (last - Fraction(t[j]))

    bends = [[float(d(j, Fraction(at)) - d(len(t) - 2, Fraction(at))) for j in range(len(t) - 2)] for at in x]
    rows = [[1.0, place, *bend] for place, bend in zip(z, bends, strict=True)]
    ridge = ([4.0, 4.0] if probabilities else [1e-3, 0.1]) + [1.0] * (len(t) - 2)
    centre = [0.0, float(probabilities)] + [0.0] * (len(t) - 2)
    found = least_loss(rows, zeros, ones, ridge, centre)
    if probabilities:
        for i in (0, 1):
            ridge[i] /= 1.0 + ((found[i] - centre[i]) / 0.5) ** 2
        found = least_loss(rows, zeros, ones, ridge, centre)
    return [dot(row, found) for row in rows]


def centred_isotonic(scores: Row, zeros: Row, ones: Row) -> list[float]:
    blocks: list[list[int]] = []

    def total(block: list[int], of: Row) -> Fraction:
        return sum((Fraction(of[i]) for i in block), Fraction(0))

    def mean(block: list[int]) -> Fraction:
        return total(block, ones) / (total(block, ones) + total(block, zeros))

    for i in range(len(scores)):
        if zeros[i] + ones[i] == 0:
            continue
        blocks.append([i])
        while len(blocks) > 1 and mean(blocks[-2]) >= mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] = blocks[-1] + last
    counts = [total(block, ones) + total(block, zeros) for block in blocks]
    values = [(total(block, ones) + Fraction(1, 2)) / (count + 1) for block, count in zip(blocks, counts, strict=True)]
    values = [max(values[: i + 1]) for i in range(len(values))]
    centres = [
        sum((Fraction(scores[i]) * (Fraction(zeros[i]) + Fraction(ones[i])) for i in block), Fraction(0)) / count
        for block, count in zip(blocks, counts, strict=True)
    ]

    def at(score: Fraction) -> Fraction:
        if score <= centres[0]:
            return values[0]
        for i in range(len(centres) - 1):
            if score <= centres[i + 1]:
                return values[i] + (score - centres[i]) / (centres[i + 1] - centres[i]) * (values[i + 1] - values[i])
        return values[-1]

    return [logit(float(at(Fraction(score)))) for score in scores]


def temperature(z: Row, zeros: Row, ones: Row) -> list[float]:
    rows = [[x] for x in z]
    found = least_loss(rows, zeros, ones, [4.0], [1.0])
    return [dot(row, found) for row in rows]


def mixture(scores: Row, z: Row, zeros: Row, ones: Row, probabilities: bool) -> list[float]:
    bound = logit(1.0 - 1e-6)
    few = probabilities and math.fsum(zeros) + math.fsum(ones) < 249.5
    members = [
        (1, beta(z, zeros, ones, probabilities)),
        (2, temperature(z, zeros, ones)) if few else (1, centred_isotonic(scores, zeros, ones)),
        (2, spline(z, zeros, ones, probabilities)),
    ]
    total = sum(weight for weight, _ in members)
    mixed = [math.fsum(weight * min(max(m[i], -bound), bound) for weight, m in members) / total for i in range(len(z))]
    return towards_identity(mixed, scores, zeros, ones) if probabilities else mixed


def towards_identity(mixed: Row, scores: Row, zeros: Row, ones: Row) -> list[float]:
    """(1 - w) map + w identity, w = 480 / (480 + n) min(1, 2 / D), D twice what the map gains.

    The map is inside [h, 1 - h], the identity inside [h / 100, 1 - h / 100]; beyond, its logit goes on at a share of 2**-20.
    """
    n = math.fsum(zeros) + math.fsum(ones)
    half = 0.5 / (n + 1.0)
    bound, least = logit(1.0 - half), half / 100.0
    moved = [min(max(m, -bound), bound) for m in mixed]

    def inside(least: float) -> list[float]:
        return [logit(max(s, least)) if s <= 0.5 else -logit(max(1.0 - s, least)) for s in scores]

    identity = [near + 2.0**-20 * (far - near) for near, far in zip(inside(least), inside(2.0**-1022), strict=True)]

    def loss(exponents: Row) -> float:
        return math.fsum(a * softplus(e) + b * softplus(-e) for e, a, b in zip(exponents, zeros, ones, strict=True))

    gained = 2.0 * (loss(identity) - loss(moved))
    weight = 480.0 / (480.0 + n) * (min(1.0, 2.0 / gained) if gained > 0.0 else 1.0)
    return [(1.0 - weight) * m + weight * i for m, i in zip(moved, identity, strict=True)]


MAPS: dict[str, Callable[[Row, Row, Row, Row, bool], list[float]]] = {
    "mixture": mixture,
    "beta": lambda _, z, zeros, ones, probabilities: beta(z, zeros, ones, probabilities),
    "isotonic": lambda scores, _, zeros, ones, __: centred_isotonic(scores, zeros, ones),
    "logistic": lambda _, z, zeros, ones, probabilities: polynomial(1, z, zeros, ones, probabilities),
    "quadratic": lambda _, z, zeros, ones, probabilities: polynomial(2, z, zeros, ones, probabilities),
    "spline": lambda _, z, zeros, ones, probabilities: spline(z, zeros, ones, probabilities),
}


# ------------------------------------------------------------------------------------------------- steps


def pooled_steps(steps: Row, counts: Row) -> list[float]:
    """Weighted isotonic regression by its max-min formula. A step without rows weighs next to nothing."""
    if all(before <= after for before, after in pairwise(steps)):
        return list(steps)
    weights = [Fraction(max(c, 2.0**-40)) for c in counts]

    def mean(a: int, b: int) -> Fraction:
        total = sum(weights[a : b + 1], Fraction(0))
        return sum((w * Fraction(s) for w, s in zip(weights[a : b + 1], steps[a : b + 1], strict=True)), Fraction(0)) / total

    last = len(steps) - 1
    means = {(a, b): mean(a, b) for a in range(last + 1) for b in range(a, last + 1)}
    return [
        float(max(min(means[a, b] for b in range(j, last + 1)) for a in range(j + 1)))
        for j in range(last + 1)
    ]  # fmt: skip


def value_steps(
    scores: Row,
    counts: Row,
    ones: Row,
    first_step: Sequence[int],
    bin_counts: Row,
    bin_label_sums: Row,
    n: int,
    *,
    values: str = "mixture",
    recentre: str = "james-stein",
    monotone: bool = True,
    score_range: tuple[float, float] | None = (0.0, 1.0),
) -> list[float]:
    """The promise of `fastbin.scaling.value_maps.value_steps`."""
    ends = [*first_step[1:], len(scores)]
    spans = [range(start, end) for start, end in zip(first_step, ends, strict=True)]
    evidence = list(zip(bin_counts, bin_label_sums, strict=True))
    steps: list[float] = [0.0] * len(scores)
    if values in ("mean", "jeffreys"):
        half = 0.5 * (values == "jeffreys")
        for span, (count, label_sum) in zip(spans, evidence, strict=True):
            for j in span:
                steps[j] = (label_sum + half) / (count + 2 * half) if count + half > 0 else 0.5
        return pooled_steps(steps, counts) if monotone else steps
    probabilities = identity_range(score_range)
    zeros = [float(c - o) for c, o in zip(counts, ones, strict=True)]
    z = positions(scores, counts, n, probabilities)
    g = [sigmoid(min(max(at, -700.0), 700.0)) for at in MAPS[values](scores, z, zeros, list(map(float, ones)), probabilities)]
    away, chi2 = [], 0.0
    for span, (count, label_sum) in zip(spans, evidence, strict=True):
        rows = [counts[j] if any(counts[i] for i in span) else 1.0 for j in span]
        mean = math.fsum(r * g[j] for r, j in zip(rows, span, strict=True)) / math.fsum(rows)
        away.append(label_sum / count - mean if count else 0.0)
        if count:
            q = min(max(mean, 1.0 / (count + 1.0)), 1.0 - 1.0 / (count + 1.0))
            chi2 += away[-1] ** 2 * count / (q * (1.0 - q))
    b = len(spans)
    kappa = {"full": 1.0, "none": 0.0}.get(recentre)
    if kappa is None:
        kappa = 1.0 if b <= 2 else max(1.0 - (b - 2) / chi2, 0.0) if chi2 > 0.0 else 0.0
    half, has_identity = 0.5 / (n + 1), values == "mixture" and probabilities
    for span, distance in zip(spans, away, strict=True):
        for j in span:
            least, greatest = (min(half, g[j]), max(1.0 - half, g[j])) if has_identity else (half, 1.0 - half)
            steps[j] = min(max(g[j] + kappa * distance, least), greatest)
    return pooled_steps(steps, counts) if monotone else steps
