"""A file of test samples, read and assessed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastbin._errors import InputError
from fastbin.cli._cells import CellOptions, labelled_rows
from fastbin.cli._console import working
from fastbin.cli._files import TableOptions, errors_in, read_all
from fastbin.cli._streams import check_inputs, load_any
from fastbin.io.columns import ColumnReader

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.report import Assessment, SetAssessment


def assess_file(
    model: str,
    file: str,
    rows: TableOptions,
    cells: CellOptions,
    *,
    against: tuple[str, ...],
    against_column: tuple[str, ...],
    **settings: Any,
) -> Assessment | SetAssessment:
    """Assess a model file on a table; `against` are other model files, `against_column` columns of predictions."""
    from fastbin.model_set import ModelSet
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
    # A row without a score is left out and counted; any other missing value is an error.
    rules: dict[str, Any] = {"whole": ("sample_weight",), "propagate": ("scores",)}
    if isinstance(loaded, ModelSet):
        arrays, columns = labelled_rows(loaded, table, rows, cells, more=compared, **rules)
    else:
        columns = {**rows.columns(table), **compared}
        arrays = read_all(table, ColumnReader(table, columns, label="labels", positive=rows.positive, **rules))
    others |= {name: arrays.pop(f"others[{name!r}]") for name in dict.fromkeys(against_column)}
    with errors_in(table, columns), working("assessing"):
        return assess_model(loaded, others=others, **arrays, **settings)


def _check_other(path: str, other: BinnedModel | ModelSet, loaded: BinnedModel | ModelSet) -> None:
    """Refuse to compare one model with a set, or sets of different kinds: their rows are not the same."""
    from fastbin.model_set import ModelSet

    if isinstance(other, ModelSet) and (not isinstance(loaded, ModelSet) or other.kind != loaded.kind):
        what = f"a {loaded.kind} set" if isinstance(loaded, ModelSet) else "one model"
        raise InputError(f"{path} is a {other.kind} set and MODEL is {what}; compare with another of its kind")
