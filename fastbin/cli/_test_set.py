"""A file of test samples, read and assessed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastbin._errors import InputError
from fastbin.cli._console import working
from fastbin.cli._files import TableOptions, errors_in, read_all
from fastbin.cli._streams import check_inputs, load_model
from fastbin.io.columns import ColumnReader

if TYPE_CHECKING:
    from fastbin.report import Assessment


def assess_file(
    model: str, file: str, rows: TableOptions, *, against: tuple[str, ...], against_column: tuple[str, ...], **settings: Any
) -> Assessment:
    """Assess a model file on a table; `against` are other model files, `against_column` columns of predictions."""
    from fastbin.report import assess_model

    check_inputs(MODEL=model, FILE=file, __against=against)
    loaded, table = load_model(model), rows.open(file)
    columns = rows.columns(table)
    others: dict[str, Any] = {}
    for path in against:
        name = Path(path).stem
        if name in others:
            raise InputError(f"two models to compare with are called {name!r}; rename a file")
        others[name] = load_model(path)
    for name in against_column:
        if name in others:
            raise InputError(f"two methods to compare with are called {name!r}; rename a file")
        columns[f"others[{name!r}]"] = table.check_column(name)
    # A row without a score is left out and counted; any other missing value is an error.
    reader = ColumnReader(
        table, columns, label="labels", positive=rows.positive, whole=("sample_weight",), propagate=("scores",)
    )
    arrays: dict[str, Any] = read_all(table, reader)
    others |= {name: arrays.pop(f"others[{name!r}]") for name in dict.fromkeys(against_column)}
    with errors_in(table, columns), working("assessing"):
        return assess_model(loaded, others=others, **arrays, **settings)
