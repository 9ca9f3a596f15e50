"""``fastbin fit``: from scores with outcomes to a model file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import click

from fastbin._base.array_types import Array
from fastbin._base.cells import are_in_other_order
from fastbin._base.checks import check_score_range, check_scores, check_seed, event_of
from fastbin._base.errors import FastbinWarning, InputError
from fastbin._base.shown import how_many
from fastbin._base.suspicions import FALLS, HARD_LABELS
from fastbin._model import view
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import counting_passes, is_typed, note, option_of, reading, working
from fastbin.cli._files import Output, is_vector
from fastbin.cli._methods import DEFAULT, METHODS, SCALERS, check_fit, make_calibrator
from fastbin.cli._tables import RowOptions, as_keys, check_held, errors_in, matrix_columns, matrix_of, read_rows
from fastbin.io import Table
from fastbin.tables.files import ColumnReader
from fastbin.tables.replay import Replay
from fastbin.tables.table import arrow, check_apart

if TYPE_CHECKING:
    from fastbin._fit.calibrator import Calibrator
    from fastbin.assess.clusters import Agreement
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel

# Up to this many rows are fitted as arrays. More of them are fitted in passes, if the method can: these need no second copy of
# the rows, and the model is the same, byte for byte.
ROWS_AS_ARRAYS = 2**22

# What `fastbin.CertifiedCalibration` takes; named here, as its module imports NumPy and more.
VALUES = ("mixture", "beta", "isotonic", "logistic", "spline", "quadratic", "mean", "jeffreys")
RECENTRINGS = ("auto", "james-stein", "full", "none", "cap")

METHOD_LINES = "\n".join(f"  {name:16} {method.about}" for name, method in METHODS.items())

# Options about how a table is read.
OF_TEXT = ("delimiter", "decimal", "encoding", "memory_limit")

# The options about the models of a set, by what they go with.
OF_SETS = {
    "--classes": ("top_label", "vectors", "keep_top", "unlabelled", "class_labels", "points_per_bin"),
    "--segment": ("unknown",),
    "--segment or --classes": ("thin", "min_points"),
}


@click.command(
    short_help="Fit a model to scores with outcomes, and show its promise.",
    epilog=options.examples(
        "fastbin fit scores.csv --score p --label y",
        "fastbin fit scores.csv --score p --label y -o credit.fbm",
        "fastbin fit scores.csv --method umd -o credit.fbm",
        "fastbin fit scores.parquet --n-bins auto -o credit.fbm",
        "fastbin fit 'data/*.parquet' --memory-limit 2GB -o credit.fbm",
        "fastbin fit margins.csv --score margin --label y --score-range any -o m.fbm",
        "fastbin fit scores.csv --method isotonic -o credit.fbm",
        "fastbin fit scores.csv --cluster customer -o credit.fbm",
        "fastbin fit scores.csv --segment region -o regions.fbm",
        "fastbin fit labelled.csv --plan plan.json -o credit.fbm",
        "fastbin fit drawn.csv --method umd --population batch.csv -o batch.fbm",
        "fastbin fit animals.csv --classes cat,dog,cow --label animal -o animals.fbm",
        "fastbin fit animals.csv --classes cat,dog,cow --label animal --vectors -o v.fbm",
    )
    + "\n\n\b\nMethods:\n"
    + METHOD_LINES,
)
@options.file
@options.score
@options.label
@options.weights
@options.cells
@options.option(
    "--top-label/--class-wise",
    "--classes: the probability that the predicted class is right (default), or one for every class by itself.",
)
@options.option("--vectors", "--classes: probabilities of all classes that sum to 1, by one map of the whole row.")
@options.option("--keep-top", "--vectors: the largest entry of a row stays the largest.")
@options.option(
    "--unlabelled FILE", "--vectors: more rows of the population, without labels, for a promise about the population."
)
@options.option("--class-labels LIST", "--classes: the class of each column. Default: its name, or 0, 1, ...")
@options.option("--points-per-bin N", "--classes: the samples behind each uniform-mass bin (default: 50).", options.COUNT)
@options.option("--thin pool|refuse", "Small cells share one model (default), or are refused.")
@options.option("--min-points N", "The samples that a cell needs for its own model, at least (default: 50).", options.COUNT)
@options.option(
    "--unknown refuse|pool",
    "--segment: what segments get that FILE does not have: an error (default), or the pool's value without a promise.",
)
@options.option(
    "-o --output MODEL",
    "The model file to write, such as credit.fbm; - prints it. Default: none, the result is only shown.",
)
@options.option(
    "--method NAME",
    "How to calibrate, by a method listed below. Of --classes, without --vectors: umd.",
    click.Choice(list(METHODS)),
    DEFAULT,
)
@options.option("--n-bins N|auto", "The number of bins. Default: 10; of certified n / 200, from 5 to 10.", options.N_BINS)
@options.choice(
    "--ties whole|random|upper",
    "Uniform mass: what happens to equal scores at a boundary: whole groups go to one side and the certificate allows for it; "
    "split by a key; or all above, without a certificate.",
)
@options.option(
    "--edges-share SHARE",
    "--ties whole: the random share of the samples that places the boundaries. 0.25 narrows intervals where many rows "
    "share few scores.",
    click.FLOAT,
    1.0,
)
@click.option("--delta", type=float, default=0.0, help="umd: randomise values by this much (Gupta & Ramdas 2021, Algorithm 2).")
@options.option(
    "--split SHARE",
    "ums: the share of samples that place the boundaries (default 0.5; 0.1 with --cuts expected-positives). scaling-binning: "
    "three parts such as 1,1,1 (default: no split).",
    options.SPLIT,
)
@options.choice(
    "--cuts equal-mass|expected-positives",
    "ums: bins of equally many samples, or of equal sums of scores, which are expected rates: for rare events.",
)
@options.option(f"--scaler {'|'.join(SCALERS)}", "scaling-binning: the map under the bins.")
@options.option(f"--values {'|'.join(VALUES)}", "certified: the map behind the values (default: mixture).")
@options.option(
    f"--recentre {'|'.join(RECENTRINGS)}",
    "certified: how far the values of a bin are moved to its mean label (default: auto).",
)
@options.option(
    "--monotone/--no-monotone",
    "Whether values are moved so that they do not fall (default: yes for certified, else no).",
)
@options.option("--interpolate", "isotonic: straight lines between the steps.")
@options.option("--feature score|logit", "platt: what the map is linear in (default: score).")
@options.option("--parameters abm|am|ab", "beta: which parameters are free (default: abm).")
@options.option(
    "--sampling-rate RATE",
    "The known rate at which rows with label 0 were kept at random; values and promises are those of all rows.",
    click.FLOAT,
    1.0,
)
@options.option("--seed N", "The seed of everything random; kept in the model.", options.SEED, 0)
@options.option("--score-range LOW,HIGH|any", "Where scores must lie.", options.SCORE_RANGE, "0,1")
@options.choice(
    "--out-of-range refuse|clip",
    "What the model does with scores outside the range: an error, or the answer of the nearest end.",
)
@options.option(
    "--population FILE",
    "The scores of all rows of a batch, of which the labelled ones were drawn at random; the promise is about this batch.",
    options.PATH,
)
@options.option(
    "--cluster COLUMN",
    "What rows that belong together share, such as the customer: the fit takes one row of each, chosen by --seed, which is "
    "drawn here where it is not given.",
)
@options.option("--plan PLAN", "FILE holds labels of the rows that this plan of `fastbin plan` asked for.", options.PATH)
@options.option("--id id_column COLUMN", "--plan: what identifies a row, as in `fastbin plan`.")
@options.option("--threads N", "Threads of a fit in memory.", options.COUNT, 1)
@options.alpha
@options.side
@options.quiet
@options.tables
def command(
    file: str, output: str | None, method: str, threads: int, alpha: float, side: str, quiet: bool, rows: RowOptions,
    plan: str | None, id_column: str | None, population: str | None, cluster: str | None, **configuration: Any,
) -> None:  # fmt: skip
    """Fit a calibrator to FILE, show what it promises, and write a model where -o says.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such, or a quoted pattern; "-" reads CSV from standard input.
    Each row is a sample that the classifier was not trained on: its score and its outcome. If the rows do not fit into memory,
    methods with bins of equal mass go over them in passes: Parquet is read again each time, and parsed CSV is kept in a
    temporary file.

    With --segment, each segment gets a model of its own; with --classes, each class: the --label column then holds classes. One
    certificate holds for all of them. Such a FILE is read into memory as a whole.

    Prints the bins and the certificate: what is guaranteed about new samples from the same population. Rows of one customer or
    day are not independent draws: --cluster keeps one of each, and the promise is then about a random row of a random cluster.
    """
    given = _given(configuration)
    if method == "scaling-binning" and "split" in given:
        given["scheme"] = "split"
    of_set = {name: given.pop(name) for names in OF_SETS.values() for name in names if name in given}
    _check_set_options(of_set, rows, side)
    others = (plan, population, of_set.get("unlabelled"))
    out = Output(output, reads=(file, *(other for other in others if other is not None)), is_model=True)
    model: BinnedModel | ModelSet | VectorModel
    agreement = None
    if cluster is not None:
        calibrator = make_calibrator(method, given)
        _check_cluster_options(rows, plan, population, threads, calibrator)
        model, columns, agreement = _fit_clusters(rows.open(file), rows, calibrator, cluster)
    elif plan is not None or id_column is not None:
        model, columns = _fit_plan(file, plan, id_column, rows)
    elif rows.have_cells:
        for option, is_given in (("threads", threads > 1), ("population", population is not None)):
            if is_given:
                raise click.UsageError(f"--{option} does not go with --segment and --classes")
        model, columns = _fit_cells(file, rows, of_set, method if is_typed("method") else None, given)
    else:
        model, columns = _fit_scores(file, rows, method, given, threads, population)
    out.write(model.to_bytes())
    if quiet:
        return
    words = {"sample_weight": "weights", **{argument: "probabilities" for argument in columns if argument.startswith("P[")}}
    named = ", ".join(f"{words.get(argument, argument)} from {column}" for argument, column in columns.items())
    place = "" if output is None else f"{out.name}: "
    shown: Any = (_show.vector_summary, _show.show_vector) if is_vector(model) else (view.summary, _show.show)
    summary, show = shown
    out.messages().print(f"{place}{summary(model)} ({named}).")
    if agreement is not None:
        out.messages().print(f"{agreement}. The promise is about such rows.")
    show(out.messages(), model, alpha, max_rows=30, **({} if side == "both" else {"side": side}))
    if side != "both":
        note("the model does not keep the side: say --side again where its promise is shown, and choose it before the labels")


def _fit_scores(
    file: str, rows: RowOptions, method: str, given: dict[str, Any], threads: int, population: str | None
) -> tuple[BinnedModel, dict[str, str]]:
    """The model of all rows, and the columns that were read."""
    calibrator, more = make_calibrator(method, given), dict[str, Any]()
    if threads > 1:
        check_fit(method, "threads", "n_threads")
        more["n_threads"] = threads
    if population is not None:
        check_fit(method, "population", "population")
        more["population"] = _scores(rows, population, calibrator)
    table = rows.open(file)
    columns = rows.columns(table)
    calibrator._event = event_of(rows.positive)
    return fit_table(table, columns, calibrator, more, rows.positive), columns


def _fit_plan(file: str, plan: str | None, id_column: str | None, rows: RowOptions) -> tuple[BinnedModel, dict[str, str]]:
    """The model of a plan, whose last labels are in this file, and the columns that were read."""
    from fastbin.cli.plan import take_labels
    from fastbin.decide import LabelPlan

    if plan is None:
        raise click.UsageError("--id goes with --plan")
    options_of_plan = {"file", "output", "plan", "id_column", "label", "positive", "alpha", "quiet", *OF_TEXT}
    given = _given(click.get_current_context().params).keys() - options_of_plan
    if given:
        raise click.UsageError(f"{option_of(sorted(given)[0])} does not go with --plan, which has its bins; leave it out")
    begun = LabelPlan.load(plan)
    columns = take_labels(begun, rows.open(file), id_column, rows)
    if not begun.done:
        missing = how_many(len(begun.rows()), "label", "is", "are")
        remedy = f"{missing} still missing; `fastbin plan {plan} --labels {file} --rows FILE` lists them"
        raise InputError(f"{plan} is not done", remedy)
    return begun.model_, columns


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were typed, by their names in Python. Others keep the defaults of the method."""
    return {name: value for name, value in values.items() if is_typed(name)}


def fit_table(
    table: Table, columns: dict[str, str], calibrator: Calibrator, options: dict[str, Any], positive: str | None
) -> BinnedModel:
    """Fit all rows as arrays, or in passes if there are too many and the method can; the calibrator knows its event."""
    in_passes = hasattr(calibrator, "fit_batches") and calibrator._why_all_rows() is None and "population" not in options

    def read() -> Generator[tuple[Array, ...], None, None]:
        reader, held = ColumnReader(table, columns, label="labels", positive=positive, whole=("sample_weight",)), 0
        for batch in watched(table.batches(reader.names)):
            arrays = tuple(reader.read(batch).values())
            held += sum(column.nbytes for column in arrays)
            if not in_passes:
                check_held(table, held)
            yield arrays
        reader.finish()

    n_rows = None if table.is_text else table.total
    with reading(table, "reading") as watched:
        stored = Replay(read, limit=table.most_kept if in_passes else math.inf, spill=table.is_text, n_rows=n_rows)
    if stored.n_rows == 0:
        raise InputError(f"{table.path} has no rows; a calibrator needs samples")
    with stored, errors_in(table, columns), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FastbinWarning)
        if in_passes and (stored.n_rows or math.inf) > ROWS_AS_ARRAYS:
            with counting_passes("fitting", stored.n_rows or n_rows) as progress:
                fitted = calibrator.fit_batches(stored, progress=progress)
        else:
            with working("fitting"):
                fitted = calibrator.fit(**dict(zip(columns, stored.columns(), strict=True)), **options)
    # Empty and lost bins are among the facts that are printed.
    _note_suspicions(caught)
    model: BinnedModel = fitted.model_
    return model


def _note_suspicions(caught: list[warnings.WarningMessage]) -> None:
    for warning in dict.fromkeys(each.message for each in caught):
        text = str(warning)
        if getattr(warning, "of_convergence", False) or text.startswith((FALLS, HARD_LABELS)):
            note(text)


# ---------------------------------------------------------------------- clusters


def _check_cluster_options(
    rows: RowOptions, plan: str | None, population: str | None, threads: int, calibrator: Calibrator
) -> None:
    """Refuse what does not go together with one row of each cluster."""
    given = {
        "--segment and --classes": rows.have_cells, "--plan": plan, "--population": population, "--weights": rows.weights,
        "--threads": threads > 1,
        # Where rows with label 0 were left out, clusters with many of them have fewer rows to choose from.
        "--sampling-rate": getattr(calibrator, "sampling_rate", 1.0) != 1.0,
    }  # fmt: skip
    for names, is_given in given.items():
        if is_given:
            raise click.UsageError(f"--cluster does not go with {names}")


def _fit_clusters(
    table: Table, rows: RowOptions, calibrator: Calibrator, cluster: str
) -> tuple[BinnedModel, dict[str, str], Agreement]:
    """The model of one row of each cluster, the columns that were read, and how much rows of a cluster agree."""
    from fastbin.assess import one_per_cluster
    from fastbin.assess.clusters import agreement_of

    columns, keys = rows.columns(table), {"cluster": table.check_column(cluster)}
    check_apart("cluster", cluster, label=columns["labels"])
    read = read_rows(table, columns, keys, label="labels", positive=rows.positive)
    calibrator._event = event_of(rows.positive)
    with errors_in(table, read.columns), working("fitting"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FastbinWarning)
        of_rows = as_keys(read.texts["cluster"])
        seed = check_seed(calibrator.get_params().get("seed") if is_typed("seed") else None)
        kept = one_per_cluster(of_rows, seed)
        fitted = calibrator.fit(**{argument: column[kept] for argument, column in read.arrays.items()})
        agreement = agreement_of(read.arrays["labels"] - fitted.predict(read.arrays["scores"]), of_rows, seed)
    _note_suspicions(caught)
    return fitted.model_._derived("one_per_cluster", {"seed": seed}), read.columns, agreement


# ---------------------------------------------------------------------- segments and classes


def _check_set_options(of_set: dict[str, Any], rows: RowOptions, side: str) -> None:
    """Refuse options that the cells have no use for."""
    if "vectors" in of_set and side != "both":
        raise click.UsageError("--side does not go with --vectors, whose promise is about both sides")
    has = {"--classes": rows.classes, "--segment": rows.segment, "--segment or --classes": rows.segment or rows.classes}
    for needed, names in OF_SETS.items():
        for name in names:
            if name in of_set and has[needed] is None:
                option = "--top-label or --class-wise" if name == "top_label" else option_of(name)
                raise click.UsageError(f"{option} goes with {needed}")
    if of_set.get("top_label") is False and ("thin" in of_set or "min_points" in of_set):
        raise click.UsageError("--thin and --min-points do not go with --class-wise: every class has all rows")
    if "vectors" in of_set:
        for name in ("top_label", "points_per_bin", "thin", "min_points"):
            if name in of_set:
                option = "--top-label and --class-wise do" if name == "top_label" else f"{option_of(name)} does"
                raise click.UsageError(f"{option} not go with --vectors: one map of whole rows has no models to choose from")
    for name in ("keep_top", "unlabelled"):
        if name in of_set and "vectors" not in of_set:
            raise click.UsageError(f"{option_of(name)} goes with --vectors")


def _fit_cells(
    file: str, rows: RowOptions, of_set: dict[str, Any], method: str | None, given: dict[str, Any]
) -> tuple[ModelSet | VectorModel, dict[str, str]]:
    """The set of models, and the columns that it was fitted to; `method` is ``None`` if it was not given."""
    fit: Any = _fit_segments if rows.segment is not None else _fit_classes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FastbinWarning)
        found: tuple[ModelSet | VectorModel, dict[str, str]] = fit(rows.open(file), rows, of_set, method, given)
    for text in dict.fromkeys(str(each.message) for each in caught):
        note(text)
    return found


def _fit_segments(
    table: Table, rows: RowOptions, of_set: dict[str, Any], method: str | None, given: dict[str, Any]
) -> tuple[ModelSet, dict[str, str]]:
    from fastbin.multi import SegmentedBinning

    estimator = SegmentedBinning(make_calibrator(method or DEFAULT, given), **of_set)
    segments = {"segments": str(rows.segment)}
    read = read_rows(table, rows.columns(table), segments, label="labels", positive=rows.positive)
    estimator._event = event_of(rows.positive)
    with errors_in(table, read.columns), working("fitting"):
        return estimator.fit(segments=as_keys(read.texts["segments"]), **read.arrays).model_, read.columns


def _fit_classes(
    table: Table, rows: RowOptions, of_set: dict[str, Any], method: str | None, given: dict[str, Any]
) -> tuple[ModelSet | VectorModel, dict[str, str]]:
    from fastbin.multi import ClassWiseBinning, TopLabelBinning, VectorCalibration

    if rows.positive is not None:
        raise click.UsageError("--positive is about outcomes of two kinds; with --classes the --label column holds classes")
    is_top, listed, as_vectors = of_set.pop("top_label", True), of_set.pop("class_labels", None), of_set.pop("vectors", False)
    other = of_set.pop("unlabelled", None)
    parameters = _how(of_set.pop("points_per_bin", None), method, given)
    label, names = rows.label_column(table), rows.class_columns
    numbers = {**matrix_columns(table, names), **rows.weight_column(table)}
    arrays, texts, columns, _ = read_rows(table, numbers, {"labels": label})
    more = {} if other is None else {"unlabelled": _unlabelled(rows, other)}
    with errors_in(table, columns):
        classes, labels = _classes(listed, names, texts["labels"])
    estimator: Any = VectorCalibration if as_vectors else TopLabelBinning if is_top else ClassWiseBinning
    with errors_in(table, columns), working("fitting"):
        made = estimator(classes=classes, inputs=rows.inputs, **parameters, **of_set)
        return made.fit(matrix_of(arrays), labels, sample_weight=arrays.get("sample_weight"), **more).model_, columns


def _scores(rows: RowOptions, path: str, calibrator: Calibrator) -> Array:
    """The scores of another file, whose column is called as that of the first, or as usual."""
    table = rows.open(path)
    columns = {"population": rows.score_column(table)}
    scores = read_rows(table, columns, {}).arrays["population"]
    with errors_in(table, columns):  # the fit would speak of the file of samples
        return check_scores(scores, check_score_range(calibrator.score_range), "population")


def _unlabelled(rows: RowOptions, path: str) -> Array:
    """The rows of another file, whose columns are called as those of the first."""
    table = rows.open(path)
    return matrix_of(read_rows(table, matrix_columns(table, rows.class_columns), {}).arrays)


def _how(points_per_bin: int | None, method: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """How each class is fitted: points per bin, a number of bins, or any calibrator."""
    if points_per_bin is not None:
        if method is not None or given:
            raise click.UsageError("--points-per-bin says how many uniform-mass bins each class gets; leave out other methods")
        return {"points_per_bin": points_per_bin}
    if method is None and set(given) <= {"n_bins"}:
        return dict(given)
    return {"calibrator": make_calibrator(method or DEFAULT, given)}


def _classes(class_labels: str | None, names: list[str], text: Any) -> tuple[list[Any], Any]:
    """The class of each column, and the label of each row."""
    if class_labels is not None:
        listed = _keys([name.strip() for name in class_labels.split(",")])
        if len(listed) != len(names):
            raise click.UsageError(f"--class-labels names {len(listed)} classes for the {len(names)} columns of --classes")
    else:
        different, numbers = text.unique().to_pylist(), list(range(len(names)))
        strange = next((each for each in different if each not in names), None)
        if strange is None:
            listed = _keys(names)
        elif set(different) <= set(map(str, numbers)):
            listed = numbers
        else:
            raise InputError(
                f"label {strange!r} is neither the name of a column of --classes nor a number from 0 to "
                f"{len(names) - 1}; say --class-labels LIST, the class of each column"
            )
    if are_in_other_order(names, listed):
        raise click.UsageError(
            f"the columns of --classes are {', '.join(names)}, and would be the classes {', '.join(map(str, listed))}, so "
            "that a column would not be the class that it is called after; give both in one order, or rename the columns"
        )
    return listed, as_keys(text, are_text=isinstance(listed[0], str), argument="labels")


def _keys(texts: list[str]) -> list[Any]:
    """Integers, if all are written as such."""
    keys = as_keys(arrow().array(texts))
    return list(keys.tolist() if hasattr(keys, "dtype") else texts)
