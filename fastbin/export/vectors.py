"""Vector models as SQL: one query, in which each step of the map is a common table expression.

The value of a class depends on all columns of its row, and several times on each. One expression for a class would repeat the
steps of every class, so each step names its results, and the next one reads them by these names. Some engines put the
expressions of a step back into the next one, which multiplies them with each step, unless they are told to keep a result.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence

from fastbin._base.cells import refuse_names_in_other_order
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.dialects import PART_OF_NAME, Dialect, check_expression, comment, is_answered
from fastbin.export.form import description_of, digest_of
from fastbin.export.lookup import TableNames
from fastbin.model import BinnedModel
from fastbin.vector_model import LEAST_OF_MODELS, VectorModel

# With keep_top the text grows with the square of the classes, and with a matrix too: to 400 kilobytes, besides steps.
MOST_CLASSES = 50

GREATEST_SIZE = 708.0  # as in csrc/src/exponents.h

# A normal double times this is the double before it.
JUST_BELOW = math.nextafter(1.0, 0.0)

# What keeps the result of a step: before its query, and after it.
KEPT = {"sqlite": ("MATERIALIZED ", ""), "postgresql": ("MATERIALIZED ", ""), "mysql": ("", f"\nLIMIT {2**63 - 1}")}

Step = list[tuple[str, str]]  # expressions and their names


def check_columns(model: VectorModel, score: object) -> list[str]:
    """The expressions of the columns, one for each class."""
    k = len(model.classes)
    remedy = f"pass a list of {k} SQL expressions, one for each class in the order of model.classes"
    if k > MOST_CLASSES:
        remedy = "serve its file by fastbin_vector_predict of the C library, or score with predict"
        raise InputError(f"has {k} classes, and SQL is written for at most {MOST_CLASSES}", remedy, argument="model")
    if isinstance(score, str) or not isinstance(score, Sequence):
        raise InputTypeError("is not a list, and the model has a column for each class", remedy, argument="score")
    if len(score) != k:
        raise InputError(f"has {len(score)} expressions, and the model {k} classes", remedy, argument="score")
    expressions = [check_expression(each, f"score[{at}]") for at, each in enumerate(score)]
    refuse_names_in_other_order(list(map(_name_in, score)), model.classes, "score")
    return expressions


def _name_in(expression: str) -> str:
    """The name of a column, without the table before it and without quotes; any other expression as it is."""
    found = re.fullmatch(rf"\s*(?:{PART_OF_NAME}\.)*(?P<name>{PART_OF_NAME})\s*", expression)
    return expression if found is None else found["name"].strip('"`')


def vector_query(
    model: VectorModel, scores: Sequence[str], names: TableNames, dialect: Dialect, value_of: Callable[[BinnedModel, str], str]
) -> str:
    """The query that gives all columns of the rows and the values of the classes.

    `value_of` writes the value that a binary model gives to a score, the name of a column of doubles in [0, 1].
    """
    columns, own = _output_names(model, names.output), _own_prefix(model, scores, names.output)
    steps = _steps(model, scores, own, dialect, value_of)
    *before, last = [*steps, *_values(model, columns, own, dialect)]
    before_query, after_query = KEPT.get(dialect.name, ("", ""))
    texts = []
    rows = f"{names.source} AS s"
    for at, step in enumerate(before, 1):
        texts.append(f"{own}step{at} AS {before_query}({_select(step, rows, 's.*' if at == 1 else '*')}{after_query})")
        rows = f"{own}step{at}"
    tables = ",\n".join(texts)
    return f"{comment(_description(model, columns, dialect))}\nWITH {tables}\n{_select(last, rows, '*')}"


def _select(step: Step, rows: str, others: str) -> str:
    columns = ",\n".join([others, *(f"{expression} AS {name}" for expression, name in step)])
    return f"SELECT {columns}\nFROM {rows}"


def _output_names(model: VectorModel, output: str) -> list[str]:
    """One for each class: by its key, in letters, digits and underscores; by numbers from 1 on, where two would be the same."""
    names = [f"{output}_{re.sub('[^A-Za-z0-9_]', '_', str(key))}" for key in model.classes]
    if len({name.lower() for name in names}) < len(names) or max(map(len, names)) > 63:
        return [f"{output}_{number}" for number in range(1, len(names) + 1)]
    return names


def _own_prefix(model: VectorModel, scores: Sequence[str], output: str) -> str:
    """How the names of this query's results begin: those of another query, over whose answer it may run, begin otherwise."""
    told = "\0".join([digest_of(model), output, *scores])
    return f"fastbin_{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}_"


def _description(model: VectorModel, columns: Iterable[str], dialect: Dialect) -> list[str]:
    version, size, promise, _, *made_by = description_of(model)  # each column has an event of its own
    return [
        *(version, size, promise, *made_by),
        "The values are those of the model but for the last bits, as exp and ln are those of the engine",
        *(f"{name} is the probability of class {key!r}" for name, key in zip(columns, model.classes, strict=True)),
        f"dialect {dialect.name}, gives one column for each class",
    ]


# ------------------------------------------------------------------------------------------------- the map


def _of(own: str, letter: str, k: int) -> list[str]:
    return [f"{own}{letter}{number}" for number in range(1, k + 1)]


def _at_least(expression: str, least: str) -> str:
    """The greater of two, NULL where the first is: engines differ in what GREATEST makes of NULL."""
    return f"CASE WHEN {expression} < {least} THEN {least} ELSE {expression} END"


def _greatest(names: Sequence[str], dialect: Dialect) -> str:
    return f"{'max' if dialect.name == 'sqlite' else 'GREATEST'}({', '.join(names)})"


def _steps(
    model: VectorModel, scores: Sequence[str], own: str, dialect: Dialect, value_of: Callable[[BinnedModel, str], str]
) -> list[Step]:
    """From the columns to the exponents u and the greatest of them, as csrc/src/vector.c."""
    vector, number, k = model.vector, dialect.number, len(scores)
    p, z, q, u = (_of(own, letter, k) for letter in "pzqu")
    answered = [is_answered(each, None, 0.0, 1.0, dialect) for each in scores]
    # Polars 1.0 wants an ELSE.
    casts = [dialect.cast(each) for each in scores]
    given = [(f"CASE WHEN {found} THEN {cast} ELSE NULL END") for found, cast in zip(answered, casts, strict=True)]
    logs = [f"ln({_at_least(each, number(vector.least))})" for each in p]
    second = list(zip(logs, z, strict=True))
    exponents = [
        f"{number(slope)} * {each} + {number(intercept)}"
        for each, slope, intercept in zip(z, vector.slopes.tolist(), vector.intercepts.tolist(), strict=True)
    ]
    if vector.of_models > 0.0:
        second += [(value_of(each, name), of) for each, name, of in zip(model.models.values(), p, q, strict=True)]
        share = number(vector.of_models)
        for at, each in enumerate(q):
            exponents[at] += f" + {share} * ln({_at_least(each, number(LEAST_OF_MODELS))})"
    if vector.mixing is not None:
        for at, row in enumerate(vector.mixing.tolist()):
            mixed = [f"{number(weight)} * {each}" for each, weight in zip(z, row, strict=True) if weight != 0.0]
            exponents[at] += f" + ({' + '.join(mixed)})" if mixed else ""
    if vector.keep_top:
        second.append((_greatest(p, dialect), f"{own}largest"))
    third = list(zip(exponents, u, strict=True))
    if vector.keep_top:
        places = (f"WHEN {each} = {own}largest THEN {at}" for at, each in enumerate(p, 1))
        third.append((f"CASE {' '.join(places)} ELSE NULL END", f"{own}top"))
    return [list(zip(given, p, strict=True)), second, third, [(_greatest(u, dialect), f"{own}most")]]


def _values(model: VectorModel, columns: Sequence[str], own: str, dialect: Dialect) -> list[Step]:
    """From the exponents to the values."""
    vector, number, k = model.vector, dialect.number, len(columns)
    u, e, v = (_of(own, letter, k) for letter in "uev")
    least = number(-GREATEST_SIZE)
    powers = [(f"exp({_at_least(f'({each} - {own}most)', least)})", name) for each, name in zip(u, e, strict=True)]
    total = [(f"{number(1.0 - vector.of_priors)} / ({' + '.join(e)})", f"{own}share")]
    priors = (vector.of_priors * vector.priors).tolist()
    values = [f"{own}share * {each} + {number(prior)}" for each, prior in zip(e, priors, strict=True)]
    if not vector.keep_top:
        return [powers, total, list(zip(values, columns, strict=True))]
    return [powers, total, list(zip(values, v, strict=True)), *_keep_top(v, columns, own, dialect)]


def _keep_top(v: Sequence[str], columns: Sequence[str], own: str, dialect: Dialect) -> list[Step]:
    """The level of the top column is the mean of its value and of all that lie above the level.

    All are taken less the value of the top column. The level reaches an entry that is at most the sum of all by which others
    lie above it; the mean is that of the entries above the greatest one that it reaches.
    """
    d, g = _of(own, "d", len(v)), _of(own, "g", len(v))
    top, held, reached, level, below = (f"{own}{word}" for word in ("top", "held", "reached", "level", "below"))
    zero, just_below = dialect.number(0.0), dialect.number(JUST_BELOW)
    found = " ".join(f"WHEN {at} THEN {each}" for at, each in enumerate(v, 1))
    above = [f"CASE WHEN {each} > {held} THEN {each} - {held} ELSE {zero} END" for each in v]
    excess = [f"{each} - ({' + '.join(_greatest([f'{other} - {each}', zero], dialect) for other in d)})" for each in d]
    reaches = [f"CASE WHEN {gap} <= {zero} THEN {each} ELSE {zero} END" for gap, each in zip(g, d, strict=True)]
    sums, counts = (
        " + ".join(f"CASE WHEN {each} > {reached} THEN {each if is_sum else 1} ELSE 0 END" for each in d)
        for is_sum in (True, False)
    )
    values = [
        f"CASE WHEN {top} = {at} THEN {level} WHEN {each} < {below} THEN {each} ELSE {below} END"
        for at, each in enumerate(v, 1)
    ]
    return [
        [(f"CASE {top} {found} ELSE NULL END", held)],
        list(zip(above, d, strict=True)),
        list(zip(excess, g, strict=True)),
        [(_greatest(reaches, dialect), reached)],
        [(f"{held} + ({sums}) / (1 + {counts})", level)],
        [(f"{level} * {just_below}", below)],
        list(zip(values, columns, strict=True)),
    ]
