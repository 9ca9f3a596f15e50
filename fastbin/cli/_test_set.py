"""A file of test samples, read for an assessment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastbin._errors import InputError
from fastbin.cli._console import reading, working
from fastbin.cli._files import choose_columns, in_words_of, open_input
from fastbin.cli._streams import check_inputs, load_model
from fastbin.io.columns import holds_whole_numbers, read_numbers
from fastbin.io.labels import Labels

if TYPE_CHECKING:
    from fastbin.io import Table
    from fastbin.model import BinnedModel
    from fastbin.report import Assessment

__all__ = ["assess_file"]


def assess_file(
    model: str,
    file: str,
    *,
    score: str | None,
    label: str | None,
    weights: str | None,
    against: tuple[str, ...],
    against_column: tuple[str, ...],
    csv_format: dict[str, Any],
    positive: str | None,
    **settings: Any,
) -> Assessment:
    """Assess a model file on a table; `against` are other model files, `against_column` columns of predictions."""
    from fastbin.report import assess_model

    check_inputs(MODEL=model, FILE=file, __against=against)
    loaded = load_model(model)
    table = open_input(file, csv_format)
    score, label = choose_columns(table, score, label)
    others: dict[str, Any] = _others(against)
    columns = {"scores": score, "labels": label}
    if weights is not None:
        columns["sample_weight"] = table.check_column(weights)
    for name in against_column:
        if name in others:
            raise InputError(f"two methods to compare with are called {name!r}; rename a file")
        columns[f"others[{name!r}]"] = table.check_column(name)
    arrays = _read(table, columns, positive)
    if not len(arrays["labels"]):
        raise InputError(f"{file} has no rows")
    others |= {name: arrays.pop(f"others[{name!r}]") for name in against_column}
    with in_words_of(table, columns), working("assessing"):
        return assess_model(loaded, others=others, **arrays, **settings)


def _others(paths: tuple[str, ...]) -> dict[str, BinnedModel]:
    """Other models by the names of their files."""
    others: dict[str, BinnedModel] = {}
    for path in paths:
        name = Path(path).stem
        if name in others:
            raise InputError(f"two models to compare with are called {name!r}; rename a file")
        others[name] = load_model(path)
    return others


def _read(table: Table, columns: dict[str, str], positive: str | None) -> dict[str, Any]:
    """The columns as arrays; a missing score is NaN, anything else that is missing an error."""
    import numpy as np

    weights = columns.get("sample_weight")
    whole = weights is not None and holds_whole_numbers(table, weights)
    wanted = list(dict.fromkeys(columns.values()))
    chunks: dict[str, list[Any]] = {argument: [] for argument in columns}
    first_row, labels = 0, Labels(table, columns["labels"], positive)
    with reading(table, "reading") as update:
        for batch in table.batches(wanted):
            for argument, name in columns.items():
                column = batch.column(batch.schema.get_field_index(name))
                if argument == "labels":
                    chunks[argument].append(labels.read(column, first_row))
                    continue
                numbers = read_numbers(
                    table, name, column, first_row, whole=whole and argument == "sample_weight", propagate=argument == "scores"
                )
                chunks[argument].append(numbers)
            first_row += len(batch)
            update()
    return {argument: np.concatenate(parts) if parts else np.empty(0) for argument, parts in chunks.items()}
