"""``fastbin fit`` for segments and classes: which estimator, and its rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fastbin._base.checks import event_of
from fastbin._base.errors import FastbinWarning, InputError
from fastbin.cli._cells import CellOptions, as_keys, matrix_columns, matrix_of, read_rows
from fastbin.cli._console import note, working
from fastbin.cli._files import TableOptions, errors_in
from fastbin.cli._methods import DEFAULT, make_calibrator
from fastbin.io import Table
from fastbin.tables.table import arrow

if TYPE_CHECKING:
    from fastbin.model_set import ModelSet


@dataclass(frozen=True)
class SetOptions:
    """What the options of ``fit`` say about the models of a set; ``None`` where nothing was said."""

    top_label: bool | None = None
    class_labels: str | None = None
    points_per_bin: int | None = None
    thin: str | None = None
    min_points: int | None = None
    unknown: str | None = None

    def check(self, cells: CellOptions) -> None:
        """Refuse options that the cells have no use for."""
        only = {
            "--classes": (cells.classes, ("top_label", "class_labels", "points_per_bin")),
            "--segment": (cells.segment, ("unknown",)),
            "--segment or --classes": (cells.segment or cells.classes, ("thin", "min_points")),
        }
        for needed, (given, names) in only.items():
            for name in names:
                if getattr(self, name) is not None and given is None:
                    raise click.UsageError(f"{OPTION_OF.get(name, '--' + name.replace('_', '-'))} goes with {needed}")
        if self.top_label is False and (self.thin is not None or self.min_points is not None):
            raise click.UsageError("--thin and --min-points do not go with --class-wise: every class has all rows")

    def parameters(self, *names: str) -> dict[str, Any]:
        """Those of these options that were given."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


OPTION_OF = {"top_label": "--top-label or --class-wise"}


def fit_set(
    table: Table, rows: TableOptions, cells: CellOptions, options: SetOptions, method: str | None, given: dict[str, Any]
) -> tuple[ModelSet, dict[str, str]]:
    """The set of models, and the columns that it was fitted to.

    `method` is ``None`` if it was not given; `given` are the parameters of the calibrator that were. All rows are read into
    memory.
    """
    fit = _fit_segments if cells.segment is not None else _fit_classes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FastbinWarning)
        models, columns = fit(table, rows, cells, options, method, given)
    for text in dict.fromkeys(str(each.message) for each in caught):
        note(text)
    return models, columns


def _fit_segments(
    table: Table, rows: TableOptions, cells: CellOptions, options: SetOptions, method: str | None, given: dict[str, Any]
) -> tuple[ModelSet, dict[str, str]]:
    from fastbin.multi import SegmentedBinning

    calibrator = make_calibrator(method or DEFAULT, given)
    estimator = SegmentedBinning(calibrator, **options.parameters("thin", "min_points", "unknown"))
    columns = rows.columns(table)
    segments = {"segments": str(cells.segment)}
    arrays, texts, _ = read_rows(table, columns, segments, label="labels", positive=rows.positive, whole=("sample_weight",))
    columns |= segments
    estimator._event = event_of(rows.positive)
    with errors_in(table, columns), working("fitting"):
        return estimator.fit(segments=as_keys(texts["segments"]), **arrays).model_, columns


def _fit_classes(
    table: Table, rows: TableOptions, cells: CellOptions, options: SetOptions, method: str | None, given: dict[str, Any]
) -> tuple[ModelSet, dict[str, str]]:
    from fastbin.multi import ClassWiseBinning, TopLabelBinning

    if rows.positive is not None:
        raise click.UsageError("--positive is about outcomes of two kinds; with --classes the --label column holds classes")
    parameters = _how(options, method, given)
    label, names = rows.label_column(table), cells.class_columns
    weights = {} if rows.weights is None else {"sample_weight": table.check_column(rows.weights)}
    columns = {**matrix_columns(table, names), **weights}
    arrays, texts, _ = read_rows(table, columns, {"labels": label}, whole=("sample_weight",))
    columns["labels"] = label
    classes, labels = _classes(table, options, names, texts["labels"])
    estimator: Any = ClassWiseBinning
    if options.top_label is not False:
        estimator, parameters = TopLabelBinning, parameters | options.parameters("thin", "min_points")
    with errors_in(table, columns), working("fitting"):
        made = estimator(classes=classes, inputs=cells.inputs, **parameters)
        return made.fit(matrix_of(arrays), labels, sample_weight=arrays.get("sample_weight")).model_, columns


def _how(options: SetOptions, method: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """How each class is fitted: points per bin, a number of bins, or any calibrator."""
    if options.points_per_bin is not None:
        if method is not None or given:
            raise click.UsageError("--points-per-bin says how many uniform-mass bins each class gets; leave out other methods")
        return {"points_per_bin": options.points_per_bin}
    if method is None and set(given) <= {"n_bins"}:
        return dict(given)
    return {"calibrator": make_calibrator(method or DEFAULT, given)}


def _classes(table: Table, options: SetOptions, names: list[str], text: Any) -> tuple[list[Any], Any]:
    """The class of each column, and the label of each row."""
    if options.class_labels is not None:
        listed = _keys([name.strip() for name in options.class_labels.split(",")])
        if len(listed) != len(names):
            raise click.UsageError(f"--class-labels names {len(listed)} classes for the {len(names)} columns of --classes")
        if set(map(str, listed)) == set(names) and list(map(str, listed)) != list(names):
            raise click.UsageError(
                "--class-labels names the columns of --classes in another order, so that a column would not be the class that "
                "it is called after; leave --class-labels out, or rename the columns"
            )
        return listed, as_keys(text, are_text=isinstance(listed[0], str))
    different = text.unique().to_pylist()
    if set(different) <= set(names):
        listed = _keys(names)
        return listed, as_keys(text, are_text=isinstance(listed[0], str))
    if set(different) <= {str(number) for number in range(len(names))}:
        return list(range(len(names))), as_keys(text)
    strange = next(each for each in different if each not in names)
    raise InputError(
        f"{table.path}: label {strange!r} is neither the name of a column of --classes nor a number from 0 to "
        f"{len(names) - 1}; say --class-labels LIST, the class of each column"
    )


def _keys(texts: list[str]) -> list[Any]:
    """Integers, if all are written as such."""
    keys = as_keys(arrow().array(texts))
    return list(keys.tolist() if hasattr(keys, "dtype") else texts)
