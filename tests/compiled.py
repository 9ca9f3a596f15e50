"""The input of programs made from exports: models and sets, hard rows, the answers, and the files between program and test.

A program is called in the folder of the files with the names of cases. For each it reads NAME.scores (float64), NAME.keys
(uint64), and NAME.cells (int64, or the bytes of texts, which end at the int64 NAME.ends), and writes NAME.value, NAME.lower,
NAME.upper (float64) and NAME.bin (int32).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from exported import MODELS, bits, hard_rows, model_of, rows_without_answer
from exported_curves import CURVES, LINES, curve_model_of, hard_curve_scores

import fastbin as fb
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

Array = npt.NDArray[np.generic]
OUTPUTS = ("value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising")

# Texts that a language might misread, or order by its own units instead of bytes, and one of the greatest size.
TEXTS = (
    "a", "aa", "A", "a\0b", "a\0", "\0", 'quote " and \\', "\\u0041", "??/", "%s", "line\nfeed\r", "\x7f\x01", "*/ //",
    "$x ${y}", "</script>", "\u00fc", "\u2028", "\ue000", "\uffff", "\U0001f600", "\U0010ffff", " ", "x" * 1024,
)  # fmt: skip
INTEGERS = (-(2**63), -(2**53) - 1, -3, 0, 5, 2**53 - 1, 2**53 + 1, 2**63 - 1)


def _fit(kind: str, seed: int) -> BinnedModel:
    """Models of a set share no rows, as its intervals are about all of them at once."""
    rng = np.random.default_rng([11, seed])
    scores = rng.integers(0, 40, 1000) / 40.0 if "ties" in kind else rng.random(1000)
    labels = rng.random(1000) < scores
    if "logits" in kind:
        scores = 8.0 * (scores - 0.5)
    if "zeros" in kind:
        scores[scores < 0.4] = 0.0
    return METHODS[kind].fit(scores, labels).model_


METHODS = {
    "bins": fb.UniformMassBinning(10), "one bin": fb.UniformMassBinning(1),
    "two resolutions": fb.CertifiedCalibration(n_bins=5), "logits": fb.UniformMassBinning(20, score_range=None),
    "clips": fb.UniformMassBinning(7, out_of_range="clip"), "from above, ties": fb.UniformMassBinning(6, scheme="umb"),
    "keys, zeros": fb.UniformMassBinning(8, ties="random"),
    "keys, ties": fb.UniformMassBinning(9, ties="random", out_of_range="clip"),
}  # fmt: skip
WITHOUT_KEYS = tuple(kind for kind in METHODS if "keys" not in kind)


def _set(keys: Iterable[int | str], kinds: Iterable[str], pool: str | None = None) -> ModelSet:
    """Models of these kinds in turn; with a pool, it has the key in the middle, and all that are unknown."""
    keys, kinds = list(keys), list(kinds)
    models = {key: _fit(kinds[i % len(kinds)], i) for i, key in enumerate(keys)}
    if pool is None:
        return fb.ModelSet(models)
    pooled = keys[len(keys) // 2]
    del models[pooled]
    return fb.ModelSet(models, unknown="pool", pool=_fit(pool, len(keys)), pooled_cells=[pooled])


SETS: dict[str, Callable[[], ModelSet]] = {
    "integers": lambda: _set(INTEGERS, WITHOUT_KEYS),
    "integers, keys, pool": lambda: _set(INTEGERS, METHODS, "keys, ties"),
    "texts": lambda: _set(TEXTS, ["bins", "one bin"]),
    "texts, keys, pool": lambda: _set(TEXTS, METHODS, "clips"),
    "one bin each": lambda: _set(("x", "y"), ["one bin"]),
    "many texts": lambda: _set([f"segment \u00e9 {i}" for i in range(300)], ["bins"], "logits"),
}


class Case(NamedTuple):
    """An export that is asked for all that it can give."""

    name: str
    about: str
    alpha: float | None
    outputs: tuple[str, ...] = OUTPUTS

    @property
    def model(self) -> BinnedModel | ModelSet:
        return _made(self.about)

    @property
    def is_set(self) -> bool:
        return self.about in SETS

    @property
    def has_texts(self) -> bool:
        return self.is_set and isinstance(self.model.cells[0], str)

    @property
    def needs_key(self) -> bool:
        models = [model for _, model in self.model.numbered] if self.is_set else [self.model]
        return any(model.needs_key for model in models)


@cache
def _made(about: str) -> BinnedModel | ModelSet:
    if about in CURVES:
        return curve_model_of(about)
    return SETS[about]() if about in SETS else model_of(about)


CASES = [Case(f"case_{i}", about, (None, 0.03)[i % 2]) for i, about in enumerate([*MODELS, *SETS])]
CURVE_CASES = [Case(f"curve_{i}", about, None, ("value",)) for i, about in enumerate(CURVES)]


def case_of(about: str) -> Case:
    return next(case for case in CASES if case.about == about)


class Rows(NamedTuple):
    """Rows, and what they are answered; NaN, and bin -1, in the rows that have no answer."""

    scores: Array
    keys: Array | None
    cells: list[int | str] | None
    answers: dict[str, Array]
    is_answered: Array


def rows_of(case: Case, n: int) -> Rows:
    """`n` hard rows, and all that have no answer."""
    if case.is_set:
        return _rows_of_set(case, n)
    model = case.model
    beyond = rows_without_answer(model)
    if case.about in CURVES:
        scores = hard_curve_scores(model, n)
        answers = {"value": _then_nothing(model.predict(scores), len(beyond))}
        return Rows(np.concatenate([scores, beyond]), None, None, answers, np.arange(len(scores) + len(beyond)) < len(scores))
    hard = hard_rows(model, n)
    bins = model.assign(hard.scores, tie_keys=hard.keys)
    alpha = case.alpha or 0.1
    ends = model.interval(alpha)[bins]
    # Where values are finer than bins, no edge has a key of its own, and a step begins at its edge.
    steps = np.searchsorted(model.edges, np.clip(hard.scores, *(model.score_range or (-np.inf, np.inf))), "right")
    at_scores = model.interval(alpha, at="score")[steps if model.n_steps > model.n_bins else bins]
    answers = {
        "value": model.predict(hard.scores, tie_keys=hard.keys), "bin": bins, "lower": ends[:, 0], "upper": ends[:, 1],
        "lower_if_rising": at_scores[:, 0], "upper_if_rising": at_scores[:, 1],
    }  # fmt: skip
    return Rows(
        np.concatenate([hard.scores, beyond]),
        None if hard.keys is None else np.concatenate([hard.keys, np.arange(len(beyond), dtype=np.uint64)]),
        None,
        {name: _then_nothing(column, len(beyond)) for name, column in answers.items()},
        np.arange(n + len(beyond)) < n,
    )


@cache
def few_rows_of(case: Case) -> Rows:
    """8,000 of them, which programs in all languages are asked for."""
    return rows_of(case, 8_000)


def _rows_of_set(case: Case, n: int) -> Rows:
    models = case.model
    known = list(models.cells) if len(models.cells) < 100 else list(models.cells[:: len(models.cells) // 50])
    unknown = ["", "aaa", "B", "a\0b\0", "\U0001f601", "y" * 1024] if case.has_texts else [-(2**63) + 1, 1, 2**53, 2**63 - 2]
    of_unknown = models.pool if models.unknown == "pool" else model_of("10 bins")
    scores, keys, cells, is_answered = [], [], [], []
    for number, cell in enumerate([*known, *unknown]):
        model = models.get(cell, of_unknown) if cell != "" else of_unknown
        hard, beyond = hard_rows(model, n // len(known), seed=number), rows_without_answer(model)
        scores += [hard.scores, beyond]
        keys += [np.arange(len(hard.scores), dtype=np.uint64) if hard.keys is None else hard.keys, beyond.view(np.uint64)]
        cells += [cell] * (len(hard.scores) + len(beyond))
        has_model = cell != "" and (cell in models or models.unknown == "pool")
        is_answered += [np.full(len(hard.scores), has_model), np.zeros(len(beyond), bool)]
    answered = np.concatenate(is_answered)
    asked = np.flatnonzero(answered)
    row_scores, row_keys = np.concatenate(scores), np.concatenate(keys) if case.needs_key else None
    arguments = row_scores[asked], [cells[at] for at in asked]
    given = {"tie_keys": None if row_keys is None else row_keys[asked]}
    ends, at_scores = (models.predict_interval(*arguments, alpha=case.alpha or 0.1, at=at, **given) for at in ("bin", "score"))
    columns = {
        "value": models.predict(*arguments, **given), "bin": models.assign(*arguments, **given),
        "lower": ends[:, 0], "upper": ends[:, 1], "lower_if_rising": at_scores[:, 0], "upper_if_rising": at_scores[:, 1],
    }  # fmt: skip
    answers = {}
    for name, column in columns.items():
        answers[name] = _then_nothing(column[:0], len(answered))
        answers[name][asked] = column
    return Rows(row_scores, row_keys, cells, answers, answered)


def _then_nothing(column: Array, n: int) -> Array:
    return np.concatenate([column, np.full(n, -1 if column.dtype.kind == "i" else np.nan, column.dtype)])


def write_rows(folder: Path, case: Case, rows: Rows) -> None:
    """The files that the program reads."""
    rows.scores.tofile(folder / f"{case.name}.scores")
    if rows.keys is not None:
        rows.keys.tofile(folder / f"{case.name}.keys")
    if case.has_texts:
        texts = [cell.encode() for cell in rows.cells]
        (folder / f"{case.name}.cells").write_bytes(b"".join(texts))
        np.cumsum([len(text) for text in texts], dtype=np.int64).tofile(folder / f"{case.name}.ends")
    elif rows.cells is not None:
        np.array(rows.cells, np.int64).tofile(folder / f"{case.name}.cells")


def check_answers(folder: Path, case: Case, rows: Rows, nothing: float) -> None:
    """The program wrote the bits of the answers, and `nothing` where a row has none.

    Smooth models, whose functions are those of another library, need 40 bits: small errors of a logarithm grow with the slope.
    """
    for output in case.outputs:
        expected = rows.answers[output]
        got = np.fromfile(folder / f"{case.name}.{output}", np.int32 if output == "bin" else np.float64)
        assert got.shape == expected.shape, f"{case.about}, {output}"
        if case.about in CURVES and case.about not in LINES:
            differs = ~(np.abs(got - expected) <= 2.0**-40 * expected)
        else:
            differs = bits(got) != bits(expected)
        wrong = np.flatnonzero(differs & rows.is_answered)
        shown = [(rows.scores[at], got[at], expected[at]) for at in wrong[:3]]
        assert not len(wrong), f"{case.about}, {output}: {len(wrong)} of {len(got)} differ; score, got, expected: {shown}"
        rest = got[~rows.is_answered]
        is_nothing = rest == -1 if output == "bin" or nothing == -1.0 else np.isnan(rest)
        assert is_nothing.all(), f"{case.about}, {output}: an answer to a row that has none"


def remove_files(folder: Path, case: Case) -> None:
    """Those of a case that is done: a million rows of each case would take gigabytes."""
    for path in folder.glob(f"{case.name}.*"):
        if path.suffix.strip(".") in (*OUTPUTS, "scores", "keys", "cells", "ends"):
            path.unlink()
