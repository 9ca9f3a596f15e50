"""``fastbin adapt``: a fitted model moved to a population with other class rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin._base.checks import check_same_event, check_scores, clip_scores
from fastbin._base.shown import outwards_as
from fastbin._model import view
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import is_typed, option_of, working
from fastbin.cli._files import Output, check_inputs, load_model
from fastbin.cli._tables import RowOptions, errors_in, read_rows
from fastbin.guarantees.certificate import sureness

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.shift import LabelShift


@click.command(
    short_help="Move MODEL to where label 1 is more or less frequent.",
    epilog=options.examples(
        "fastbin adapt credit.fbm --target-labels t.csv --label y -o new.fbm",
        "fastbin adapt credit.fbm --target-scores t.csv --score p -o new.fbm",
        "fastbin adapt credit.fbm --target-scores t.csv --source-rows s.csv -o new.fbm",
        "fastbin adapt credit.fbm --target-rate 0.02 -o new.fbm",
    ),
)
@options.model
@options.option("--target-labels FILE", "Outcomes from the new population; a hundred may do.")
@options.option("--target-scores FILE", "Scores from the new population, without outcomes.")
@options.option(
    "--source-rows FILE",
    "With --target-scores: scores and outcomes of the source, those of the fit or others, which give the rate an exact "
    "interval. Models with fixed edges, and of scheme ums, do not need them.",
)
@options.option(
    "--cuts C,...", "With --source-rows: the scores at which shares are compared, not chosen by these rows.", options.CUTS
)
@options.option("--target-rate Q", "The known share of label 1 in the new population.")
@options.option("-o --output MODEL", "The model file to write; - prints it.", required=True)
@options.label
@options.score
@options.choice(
    "--method likelihood|confusion",
    "How the rate is estimated from scores: maximum likelihood over bins, or the confusion matrix of a hard classifier.",
)
@options.option("--source-rate P", "The share of label 1 at the source. Default: what the model saw.")
@options.choice(
    "--smoothing refuse|add-half",
    "What to do with a rate of exactly 0 or 1: stop, or count half a sample more of either label.",
)
@options.option("--n-bootstrap N", "Resamples.", options.COUNT, 1000)
@options.option("--seed N", "The seed of the resamples and of ties.", options.SEED, 0)
@options.alpha
@options.quiet
@options.tables
def command(
    model: str, target_labels: str | None, target_scores: str | None, source_rows: str | None, target_rate: float | None,
    output: str, method: str, cuts: tuple[float, ...] | None, rows: RowOptions, quiet: bool, **settings: Any,
) -> None:  # fmt: skip
    """Move MODEL to a population in which label 1 is more or less frequent.

    Valid under label shift: samples of either label have the same distribution of scores as before, and only the frequency of
    the labels has changed. The rate of label 1 is estimated from outcomes or from scores alone, or it is given. The source data
    are not needed.

    Files are CSV (with a header), Parquet or Arrow, or folders of such.
    """
    from fastbin.shift import LabelShift

    files = [path for path in (target_labels, target_scores) if path is not None]
    if len(files) + (target_rate is not None) != 1:
        raise click.UsageError("give one of --target-labels, --target-scores and --target-rate")
    if source_rows is not None and target_scores is None:
        raise click.UsageError("--source-rows are for the interval of a rate from --target-scores; give these, or leave it out")
    if cuts is not None and source_rows is None:
        raise click.UsageError("--cuts are scores at which --source-rows are compared; give these, or leave it out")
    of_labels, of_scores = ("label", "positive"), ("score", "method", "n_bootstrap", "seed")
    idle = of_labels * (target_labels is None and source_rows is None) + of_scores * (target_scores is None)
    for option in filter(is_typed, idle):
        raise click.UsageError(f"{option_of(option)} is about rows that are not read here; leave it out")
    check_inputs(MODEL=model, __target_labels=target_labels, __target_scores=target_scores, __source_rows=source_rows)
    out = Output(output, reads=(model, *files, *filter(None, [source_rows])), is_model=True)
    loaded = load_model(model)
    check_same_event(loaded.event, rows.positive)
    if target_labels is not None:
        shift = _fit(LabelShift(loaded, method="labels", **settings), "labels", rows, target_labels)
    elif target_scores is not None:
        source = {} if source_rows is None else _source(loaded, rows, source_rows)
        shift = _fit(LabelShift(loaded, method=method, cuts=cuts, **settings), "scores", rows, target_scores, **source)
    else:
        shift = LabelShift(loaded, method="known", target_rate=target_rate, **settings).fit()
    out.write(shift.model_.to_bytes())
    if not quiet:
        _print(shift, out, settings["alpha"])


def _source(model: BinnedModel, rows: RowOptions, file: str) -> dict[str, Any]:
    """Scores and outcomes of the source; a score that the model refuses is an error of this file."""
    table = rows.open(file)
    read = rows.columns(table)
    columns = {"source_scores": read["scores"], "source_labels": read["labels"]}
    arrays = read_rows(table, columns, {}, label="source_labels", positive=rows.positive).arrays
    with errors_in(table, columns):
        check_scores(clip_scores(arrays["source_scores"], model), model.score_range, "source_scores")
    return arrays


def _fit(shift: LabelShift, argument: str, rows: RowOptions, file: str, **source: Any) -> LabelShift:
    """Fit to one column of a file: the one that is named, the only one, or the only one with a usual name."""
    table = rows.open(file)
    named, choose = (rows.label, rows.label_column) if argument == "labels" else (rows.score, rows.score_column)
    column = table.names[0] if named is None and len(table.names) == 1 else choose(table)
    label, positive = ("labels", rows.positive) if argument == "labels" else (None, None)
    arrays = read_rows(table, {argument: column}, {}, label=label, positive=positive).arrays
    with errors_in(table, {argument: column}), working("estimating the rate"):
        return shift.fit(**arrays, **source)


def _print(shift: LabelShift, target: Output, alpha: float) -> None:
    out, rate = target.messages(), shift.rate_
    out.print(f"{target.name}: {view.summary(shift.model_)}.")
    out.print(f"Moved from {shift.source_rate_:.6g} to {shift.target_rate_:.6g} as the rate of label 1{_origin(shift, alpha)}.")
    if rate.method != "known" and shift.target_rate_ != rate.rate:
        out.print(f"Smoothing moved the estimate {rate.rate:.6g} away from 0 and 1 by half a sample of either label.")
    for sentence in _show.facts(shift.model_):
        out.print(sentence)
    certificate, sentence = _show.promise(shift.model_, alpha)
    ends = None if certificate is None else view.intervals_of(shift.model_, alpha)
    title = "average before" if shift.model_.has_steps else "value before"
    before = {title: shift.source_model_.bin_values}
    _show.print_bins(out, shift.model_, ends, alpha, before, max_rows=30)
    _show.print_promise(out, certificate, sentence)


def _origin(shift: LabelShift, alpha: float) -> str:
    """Where the target rate came from."""
    rate = shift.rate_
    if rate.method == "known":
        return ", as given"
    source = {
        "labels": "outcomes", "likelihood": "scores by maximum likelihood", "confusion": "scores by a confusion matrix",
    }[rate.method]  # fmt: skip
    kind = "exact" if rate.is_exact else "bootstrap"
    ends = outwards_as(".4g", rate.lower, rate.upper)
    return f", from {rate.n_samples:,} {source}; {kind} {sureness(alpha)} interval {ends}"
