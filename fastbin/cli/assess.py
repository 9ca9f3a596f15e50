"""``fastbin assess``: how good a model is on test samples, and whether they bear its certificate out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from fastbin._base.cells import softmax
from fastbin._base.errors import InputError, without_warnings
from fastbin._base.shown import how_many, rounded_up
from fastbin._model.view import title_of_cell
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import console, is_typed, note, say, say_json, show, working
from fastbin.cli._files import FileDigests, check_inputs, display_name, is_vector, load_any, load_with_vectors
from fastbin.cli._predictions import PredictionOptions, refuse_options_of_models, validate_file
from fastbin.cli._tables import (
    CLASS_KINDS,
    LabelledColumns,
    RowOptions,
    TooManyRows,
    as_keys,
    class_columns,
    classes_of,
    errors_in,
    keys_like,
    matrix_of,
    read_rows,
)
from fastbin.guarantees.certificate import label_words
from fastbin.io import Table
from fastbin.tables.table import arrow, check_apart

if TYPE_CHECKING:
    from fastbin.assess import GroupAudit
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.report import Assessment
    from fastbin.report.vectors import VectorAssessment
    from fastbin.vector_model import VectorModel

CONTRADICTED, NOT_CONTRADICTED = 3, "not contradicted"


@click.command(
    short_help="Test MODEL on labelled samples that its fit has not seen.",
    epilog=options.examples(
        "fastbin assess credit.fbm test.csv --score p --label y",
        "fastbin assess credit.fbm test.csv --against isotonic.fbm",
        "fastbin assess credit.fbm test.parquet --json | jq .check.verdict",
        "fastbin assess credit.fbm test.csv --exit-code",
        "fastbin assess regions.fbm test.csv --segment region",
        "fastbin assess credit.fbm test.csv --group sex --group region",
        "fastbin assess test.csv --predictions pd --label y --by grade",
        "fastbin assess test.csv --predictions pd --label y --by grade --cluster obligor",
    ),
)
@options.model
@click.argument("file", type=options.PATH, required=False)
@options.assessment
@options.predictions
@options.option(
    "--group COLUMN",
    "Also: is the certificate kept in each group of this column? Repeatable; several share the level.",
    multiple=True,
)
@options.exit_code(CONTRADICTED, "the certificate, or the predictions, are contradicted, or in a group")
@options.as_json
@options.tables
def command(
    model: str, file: str | None, asked: PredictionOptions, group: tuple[str, ...], exit_code: bool, as_json: bool,
    rows: RowOptions, **settings: Any,
) -> int:  # fmt: skip
    """Assess MODEL on the test samples in FILE, which must not be those that it was fitted on.

    Shows the calibration error before and after, the parts of the Brier score, and whether the test samples contradict the
    certificate, confirm it, or neither, and which difference they would have shown. A row that has no score, or one that the
    model refuses, is left out and counted.

    For a set of models also every cell. In a set for predicted classes the outcome is whether the prediction is right; of a
    class-wise set every row counts once for each class. A vector model is assessed class by class, by its top label, and by
    predicted class; what it promises about the population is tested.

    A certificate is about the population that the model was fitted to, and not about each group of it: --group compares it with
    the test samples of each group, and shows which distance these certify there by themselves.

    With --predictions there is no MODEL: the probabilities in a column of FILE are tested as they are, in each grade of --by,
    in each segment of --segment and in all, at --test-level. The rows must be new here too. Rows of one obligor or customer are
    not independent: --cluster tells them, and then one row of each is tested, chosen by --seed, and intervals that allow for
    clusters are shown.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    if asked.predictions is not None:
        if file is not None:
            raise click.UsageError("with --predictions there is no MODEL: give FILE alone")
        refuse_options_of_models({**settings, "group": group}, rows, but=() if asked.cluster is None else ("alpha", "seed"))
        if asked.cluster is not None:
            verdict = _assess_clusters(model, rows, asked, as_json=as_json, **settings)
        else:
            found = validate_file(model, rows, asked, test_level=settings["test_level"])
            say(found.to_json().rstrip("\n") if as_json else str(found))
            verdict = found.verdict
        return CONTRADICTED if exit_code and verdict != NOT_CONTRADICTED else 0
    asked.refuse_idle(but=("side",))
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    assessment, audit, *_ = assess_file(model, file, rows, groups=group, side=asked.side or "both", **settings)
    if as_json:
        audited = {} if audit is None else {"audit": {"sentence": str(audit), **audit.to_dict()}}
        say_json({"model": model, "file": file, **assessment.to_dict(), **audited})
    else:
        show_all: Any = _show_vectors if is_vector(assessment.model) else _show_assessment
        show_all(assessment)
        if audit is not None:
            _show_audit(audit)
    contradicted = any(each is not None and each.verdict == "contradicted" for each in (assessment.check, audit))
    return CONTRADICTED if exit_code and contradicted else 0


# ---------------------------------------------------------------------- predictions with rows that belong together


def _assess_clusters(
    file: str, rows: RowOptions, asked: PredictionOptions, *, as_json: bool, alpha: float, test_level: float, seed: int,
    **_: Any,
) -> str:  # fmt: skip
    """Test one row of each cluster, show intervals that allow for clusters, and return the verdict."""
    from fastbin.assess import check_predictions, cluster_intervals

    for option, value in (("segment", rows.segment), ("day", asked.day), ("asset-correlation", asked.asset_correlation)):
        if value is not None:
            raise click.UsageError(f"--cluster does not go with --{option}")
    names, side, table = {"by": asked.by, "cluster": asked.cluster}, asked.side or "both", rows.open(file)
    columns = {"p": table.check_column(str(asked.predictions)), "labels": rows.label_column(table), **rows.weight_column(table)}
    texts = {argument: table.check_column(name) for argument, name in names.items() if name is not None}
    for argument, name in names.items():
        check_apart("grade" if argument == "by" else argument, name, label=columns["labels"])
    read = read_rows(table, columns, texts, label="labels", positive=rows.positive)
    arrays, keys = read.arrays, {argument: as_keys(text) for argument, text in read.texts.items()}
    with errors_in(table, read.columns), working("testing"), without_warnings():  # what is printed says it
        check = check_predictions(
            arrays["p"], arrays["labels"], keys.get("by"), side, test_level=test_level,
            sample_weight=arrays.get("sample_weight"), cluster=keys.get("cluster"),
            seed=seed if is_typed("seed") else None,
        )  # fmt: skip
        intervals = cluster_intervals(arrays["p"], arrays["labels"], **keys, alpha=alpha, side=side, seed=seed)
    about = {"file": display_name(file), "predictions": asked.predictions, **names, "intervals": intervals.to_dict()}
    show(check, as_json, lambda _: console().print(f"{check}\n\n{check.clusters}.\n\n{intervals}"), **about)
    return check.verdict


# ---------------------------------------------------------------------- a model on a table


class Assessed(NamedTuple):
    """The assessment of a table, and for an audit of groups whether the promise is kept in each."""

    assessment: Assessment | VectorAssessment
    audit: GroupAudit | None
    columns: Mapping[str, str]  # of the table, by the argument that each became
    n_rows: int
    files: Mapping[str, str]  # their digests, where these were asked for


def assess_file(
    model: str, file: str, rows: RowOptions, *, against: tuple[str, ...], against_column: tuple[str, ...],
    groups: tuple[str, ...] = (), side: str = "both", digests: FileDigests | None = None, **settings: Any,
) -> Assessed:  # fmt: skip
    """Assess a model file on a table; `against` are other model files, `against_column` columns of predictions.

    With `digests` also those of the files that are read, or of the pipe.
    """
    check_inputs(MODEL=model, FILE=file, __against=against)
    loaded, table = load_with_vectors(model), rows.open(file, watch=None if digests is None else digests.watch)
    rows.check_cells(model, loaded)
    _show.refuse_side(loaded, display_name(model), side)
    if digests is not None:
        digests.begin(table)
    if is_vector(loaded):
        assessed = _assess_vectors(loaded, table, rows, against, against_column, groups, **settings)
    else:
        assessed = _assess_scores(loaded, table, rows, against, against_column, groups, side=side, **settings)
    return assessed if digests is None else assessed._replace(files=digests.end(file))


def _by_name(against: tuple[str, ...]) -> dict[str, str]:
    """The files of models to compare with by what they are called, each by a name of its own."""
    paths: dict[str, str] = {}
    for path in against:
        if Path(path).stem in paths:
            raise InputError(f"two models to compare with are called {Path(path).stem!r}; rename a file")
        paths[Path(path).stem] = path
    return paths


def _assess_scores(
    loaded: BinnedModel | ModelSet, table: Table, rows: RowOptions, against: tuple[str, ...], columns: tuple[str, ...],
    groups: tuple[str, ...], *, side: str, **settings: Any,
) -> Assessed:  # fmt: skip
    """The assessment of a model or a set."""
    from fastbin.report import assess_model

    others = {name: load_any(path) for name, path in _by_name(against).items()}
    for path, other in zip(against, others.values(), strict=True):
        _check_other(path, other, loaded)
    compared = {}
    for name in columns:
        if name in others:
            raise InputError(f"two methods to compare with are called {name!r}; rename a file")
        compared[f"others[{name!r}]"] = table.check_column(name)
    try:
        # A row without a score is left out and counted; any other missing value is an error.
        named = {name: name for name in groups}
        read = LabelledColumns(loaded, table, rows, more=compared, texts=named, propagate=("scores",)).all_rows()
    except TooManyRows:
        if others or compared or groups or side != "both" or not _can_be_counted(loaded, table, rows):
            raise
        limit = "its rows take more than --memory-limit allows"
        note(f"{table.path}: {limit}; they are assessed by their counts in bins")
        found = _assess_by_counts(loaded, table, rows, alpha=settings["alpha"], test_level=settings["test_level"])
        read_as = LabelledColumns(loaded, table, rows).columns
        return Assessed(found, None, read_as, found.n_samples + found.left_out.total, {})
    arrays = read.arrays
    others |= {name: arrays.pop(f"others[{name!r}]") for name in dict.fromkeys(columns)}
    n_rows = len(arrays["labels"]) // (len(classes_of(loaded)) if loaded.is_set and loaded.kind == "class-wise" else 1)
    with errors_in(table, read.columns), working("assessing"):
        assessment: Any = assess_model(loaded, others=others, side=side, **arrays, **settings)
        audit = _audit(loaded, arrays, read.texts, side=side, **settings) if groups else None
        return Assessed(assessment, audit, read.columns, n_rows, {})


def _assess_vectors(
    model: VectorModel, table: Table, rows: RowOptions, against: tuple[str, ...], columns: tuple[str, ...],
    groups: tuple[str, ...], *, seed: int, **settings: Any,
) -> Assessed:  # fmt: skip
    """The same of a vector model; `seed` has nothing to break."""
    from fastbin.report import assess_model

    for option, values in (("--group", groups), ("--against-column", columns)):
        if values:
            raise InputError(f"{option} is about one probability for each row, and MODEL is a vector model; leave it out")
    others = {name: load_with_vectors(path) for name, path in _by_name(against).items()}
    for path, other in zip(against, others.values(), strict=True):
        if not is_vector(other):
            raise InputError(f"{display_name(path)} is not a vector model, and MODEL is one; compare with another of its kind")
    label, weights = rows.label_column(table), rows.weight_column(table)
    of_classes = class_columns(table, model, rows.class_columns)
    read = read_rows(table, {**of_classes, **weights}, {"labels": label}, propagate=tuple(of_classes))
    P = matrix_of(read.arrays)
    if rows.inputs == "logits":
        P = softmax(P)
    with errors_in(table, read.columns), working("assessing"):
        given = {"others": others, "sample_weight": read.arrays.get("sample_weight"), **settings}
        found = assess_model(model, P, keys_like(model, read.texts["labels"], "labels"), **given)
        return Assessed(found, None, read.columns, len(P), {})


def _check_other(path: str, other: BinnedModel | ModelSet, loaded: BinnedModel | ModelSet) -> None:
    """Refuse to compare one model with a set, or sets of different kinds: their rows are not the same."""
    if other.is_set and (not loaded.is_set or other.kind != loaded.kind):
        what = f"a {loaded.kind} set" if loaded.is_set else "one model"
        raise InputError(f"{path} is a {other.kind} set and MODEL is {what}; compare with another of its kind")


def _audit(
    loaded: BinnedModel | ModelSet, arrays: dict[str, Any], groups: dict[str, Any], *,
    alpha: float, test_level: float, seed: int, side: str,
) -> GroupAudit:  # fmt: skip
    """The promise in groups, of the rows that are assessed."""
    from fastbin.assess import audit_groups
    from fastbin.report.assessment import rows_taken

    kept = rows_taken(loaded, arrays["scores"], loaded.find(arrays["cells"]) if loaded.is_set else None)
    given: dict[str, Any] = {name: np.asarray(column)[kept] for name, column in {**arrays, **groups}.items()}
    columns: Any = {name: given.pop(name) for name in groups}
    if len(columns) == 1:  # one column of disjoint groups is known as such by its name alone
        columns = next(iter(columns.values()))
    return audit_groups(loaded, given.pop("scores"), given.pop("labels"), columns,
                        certificate=loaded.certificate(alpha, side=side), test_level=test_level, seed=seed,
                        **given)  # fmt: skip


def _can_be_counted(model: BinnedModel | ModelSet, table: Table, rows: RowOptions) -> bool:
    """Whether counts say enough: of a step model or a set of them, whose bins need no key, and of rows without weights."""
    if not table.can_be_read_again or rows.weights is not None or model.kind in CLASS_KINDS:
        return False
    return all(own.kind == "step" and not own.needs_key for _, own in model.numbered)


def _assess_by_counts(
    model: BinnedModel | ModelSet, table: Table, rows: RowOptions, *, alpha: float, test_level: float
) -> Assessment:
    """The same from the counts of rows by bin and label, in one pass over rows that do not fit into memory."""
    from fastbin.engines import assess

    pa = arrow()
    labelled = LabelledColumns(model, table, rows, propagate=("scores",))
    kinds = {"scores": pa.float64(), "labels": pa.float64()}
    if model.is_set:
        kinds["cells"] = pa.string() if isinstance(model.cells[0], str) else pa.int64()
    schema = pa.schema(kinds)

    def batches() -> Iterator[Any]:
        for read in labelled.batches("assessing"):
            columns = [pa.array(read.arrays[name]).cast(kind) for name, kind in kinds.items()]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    with errors_in(table, labelled.columns):
        stream = pa.RecordBatchReader.from_batches(schema, batches())
        cell = "cells" if model.is_set else None
        return assess(stream, model, score="scores", label="labels", cell=cell, alpha=alpha, test_level=test_level)


# ---------------------------------------------------------------------- in words


def _show_assessment(assessment: Assessment) -> None:
    out = console()
    share = 100.0 * assessment.n_positive / assessment.n_samples
    positive = f"{assessment.n_positive:,} ({share:.3g} %) with {label_words(assessment.event)}"
    out.print(f"{assessment.sample_words}, {positive}.")
    _show.print_table(out, assessment.score_words(), None, names_rows=True)
    if assessment.is_set:
        from fastbin.report.page import cell_columns

        names = [title_of_cell(cell.cell) for cell in assessment.cells]
        _show.print_table(out, {"cell": names, **cell_columns(assessment)}, 40)
    out.print()
    if assessment.certificates:
        out.print(str(assessment.certificates[0]), style="bold")
    if assessment.check is not None:
        out.print(str(assessment.check))
    for caution in assessment.cautions:
        out.print(f"Caution: {caution}")


def _show_vectors(assessment: VectorAssessment) -> None:
    out, k = console(), len(assessment.class_counts)
    out.print(f"{how_many(assessment.n_samples, 'test sample')} of {k:,} classes.")
    for words in (assessment.score_words(), assessment.class_words()):
        _show.print_table(out, words, 40, names_rows=True)
    out.print()
    for at, sentence in enumerate(assessment.in_short):
        out.print(sentence, style="bold" if at == 0 else None)
    for caution in assessment.cautions:
        out.print(f"Caution: {caution}")


def _show_audit(audit: GroupAudit) -> None:
    columns = {
        "group": [group.name for group in audit.groups],
        "test samples": [f"{group.n_samples:,}" for group in audit.groups],
        "bins": [f"{len(group.bins):,}" for group in audit.groups],
        "p": [f"{group.p_value:.3g}" for group in audit.groups],
        "certified distance": [rounded_up(group.epsilon) for group in audit.groups],
        "promise": [group.verdict for group in audit.groups],
    }
    _show.print_table(console(), columns, 40)
    console().print()
    console().print(f"By group: {audit}")
