"""A file of test samples, read and assessed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.errors import InputError
from fastbin.cli._by_counts import assess_by_counts, can_be_counted
from fastbin.cli._cells import CellOptions, LabelledColumns
from fastbin.cli._console import note, working
from fastbin.cli._files import TableOptions, TooManyRows, errors_in
from fastbin.cli._streams import check_inputs, load_any

if TYPE_CHECKING:
    from fastbin.assess import GroupAudit
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.report import Assessment


class Assessed(NamedTuple):
    """What was found on a table, and for an audit of groups whether the promise is kept in each."""

    assessment: Assessment
    audit: GroupAudit | None


def assess_file(
    model: str,
    file: str,
    rows: TableOptions,
    cells: CellOptions,
    *,
    against: tuple[str, ...],
    against_column: tuple[str, ...],
    groups: tuple[str, ...] = (),
    **settings: Any,
) -> Assessed:
    """Assess a model file on a table; `against` are other model files, `against_column` columns of predictions."""
    from fastbin.report import assess_model

    check_inputs(MODEL=model, FILE=file, __against=against)
    loaded, table = load_any(model), rows.open(file)
    cells.check(model, loaded)
    others: dict[str, Any] = {}
    for path in against:
        name = Path(path).stem
        if name in others:
            raise InputError(f"two models to compare with are called {name!r}; rename a file")
        others[name] = load_any(path)
        _check_other(path, others[name], loaded)
    compared = {}
    for name in against_column:
        if name in others:
            raise InputError(f"two methods to compare with are called {name!r}; rename a file")
        compared[f"others[{name!r}]"] = table.check_column(name)
    try:
        # A row without a score is left out and counted; any other missing value is an error.
        named = {name: name for name in groups}
        read = LabelledColumns(loaded, table, rows, cells, more=compared, texts=named, propagate=("scores",)).all_rows()
    except TooManyRows:
        if others or compared or groups or not can_be_counted(loaded, table, rows):
            raise
        note(f"{file}: its rows take more than --memory-limit allows; they are assessed by their counts in bins")
        return Assessed(assess_by_counts(loaded, table, rows, cells, alpha=settings["alpha"], level=settings["level"]), None)
    arrays: Any = read.arrays
    others |= {name: arrays.pop(f"others[{name!r}]") for name in dict.fromkeys(against_column)}
    with errors_in(table, read.columns), working("assessing"):
        assessment: Any = assess_model(loaded, others=others, **arrays, **settings)
        return Assessed(assessment, _audit(loaded, arrays, read.texts, **settings) if groups else None)


def _audit(
    loaded: BinnedModel | ModelSet, arrays: dict[str, Any], groups: dict[str, Any], *, alpha: float, level: float, seed: int
) -> GroupAudit:
    """The promise in groups, of the rows that have a score."""
    from fastbin.assess import audit_groups

    kept = np.isfinite(arrays["scores"])
    given = {name: np.asarray(column)[kept] for name, column in {**arrays, **groups}.items()}
    columns: Any = {name: given.pop(name) for name in groups}
    if len(columns) == 1:  # one column of disjoint groups is known as such by its name alone
        columns = next(iter(columns.values()))
    return audit_groups(loaded, given.pop("scores"), given.pop("labels"), columns, certificate=loaded.certificate(alpha),
                        alpha=level, seed=seed, **given)  # fmt: skip


def _check_other(path: str, other: BinnedModel | ModelSet, loaded: BinnedModel | ModelSet) -> None:
    """Refuse to compare one model with a set, or sets of different kinds: their rows are not the same."""
    if other.is_set and (not loaded.is_set or other.kind != loaded.kind):
        what = f"a {loaded.kind} set" if loaded.is_set else "one model"
        raise InputError(f"{path} is a {other.kind} set and MODEL is {what}; compare with another of its kind")
