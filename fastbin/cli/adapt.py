"""``fastbin adapt``: a fitted model moved to a population with other class rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin.cli._options import SEED, alpha_option, examples, label_option, quiet_option, score_option, table_options

if TYPE_CHECKING:
    from fastbin.io import Table
    from fastbin.shift import LabelShift

__all__ = ["command"]


class _Rate(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A class rate, strictly between 0 and 1."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            rate = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not 0.0 < rate < 1.0:
            self.fail(f"{value} is not strictly between 0 and 1", param, ctx)
        return rate


@click.command(
    short_help="Move MODEL to where label 1 is more or less frequent.",
    epilog=examples(
        "fastbin adapt credit.fbm --target-labels t.csv --label y -o new.fbm",
        "fastbin adapt credit.fbm --target-scores t.csv --score p -o new.fbm",
        "fastbin adapt credit.fbm --target-rate 0.02 -o new.fbm",
    ),
)
@click.argument("model", type=click.Path())
@click.option("--target-labels", type=click.Path(), metavar="FILE", help="Outcomes from the new population; a hundred may do.")
@click.option("--target-scores", type=click.Path(), metavar="FILE", help="Scores from the new population, without outcomes.")
@click.option("--target-rate", type=_Rate(), metavar="Q", help="The known share of label 1 in the new population.")
@click.option("-o", "--output", required=True, type=click.Path(), metavar="MODEL", help="The model file to write; - prints it.")
@label_option
@score_option
@click.option(
    "--method",
    type=click.Choice(["likelihood", "confusion"]),
    default="likelihood",
    show_default=True,
    help="How scores tell the rate: maximum likelihood over bins, or the confusion matrix of a hard classifier.",
)
@click.option(
    "--source-rate", type=_Rate(), metavar="P", help="The share of label 1 at the source. Default: what the model saw."
)
@click.option(
    "--smoothing",
    type=click.Choice(["refuse", "add-half"]),
    default="refuse",
    show_default=True,
    help="What to do about a rate of exactly 0 or 1: stop, or count half a sample more of either label.",
)
@click.option("--n-bootstrap", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Resamples.")
@click.option("--seed", type=SEED, default=0, show_default=True, metavar="N", help="Of the resamples and of ties.")
@alpha_option
@quiet_option
@table_options
def command(
    model: str,
    target_labels: str | None,
    target_scores: str | None,
    target_rate: float | None,
    output: str,
    label: str | None,
    score: str | None,
    method: str,
    csv_format: dict[str, Any],
    positive: str | None,
    quiet: bool,
    alpha: float,
    **settings: Any,
) -> None:
    """Move MODEL to a population in which label 1 is more or less frequent.

    Right under label shift: samples of either label have the scores that they had before, and only how frequent the labels are
    has changed. The rate of label 1 comes from outcomes, from scores alone, or is given. The source data are not needed.

    Files are CSV (with a header) or Parquet.
    """
    from fastbin.cli._files import LABEL_NAMES, SCORE_NAMES, open_input
    from fastbin.cli._streams import check_inputs, check_output, load_model, write_output
    from fastbin.shift import LabelShift

    files = [path for path in (target_labels, target_scores) if path is not None]
    if len(files) + (target_rate is not None) != 1:
        raise click.UsageError("say one of --target-labels, --target-scores and --target-rate")
    check_inputs(MODEL=model, __target_labels=target_labels, __target_scores=target_scores)
    check_output(output, overwrites=(model, *files))
    loaded = load_model(model)
    settings["alpha"] = alpha
    if target_labels is not None:
        shift = LabelShift(loaded, method="labels", **settings)
        table = open_input(target_labels, csv_format)
        _fit(shift, "labels", table, _choose(table, label, "--label", LABEL_NAMES), positive)
    elif target_scores is not None:
        shift = LabelShift(loaded, method=method, **settings)
        table = open_input(target_scores, csv_format)
        _fit(shift, "scores", table, _choose(table, score, "--score", SCORE_NAMES))
    else:
        shift = LabelShift(loaded, method="known", target_rate=target_rate, **settings).fit()
    write_output(output, lambda out: out.write(shift.model_.to_bytes()))
    if not quiet:
        _show(shift, output, alpha)


def _choose(table: Table, name: str | None, option: str, usual: tuple[str, ...]) -> str:
    """The column named, the only one there is, or the only one with a usual name."""
    from fastbin.cli._files import choose_column

    return choose_column(table, table.names[0] if name is None and len(table.names) == 1 else name, option, usual)


def _fit(shift: LabelShift, argument: str, table: Table, column: str, positive: str | None = None) -> None:
    """Fit to one column of a table."""
    import numpy as np

    from fastbin._errors import InputError
    from fastbin.cli._console import reading, working
    from fastbin.cli._files import in_words_of
    from fastbin.io import read_columns

    label = column if argument == "labels" else None
    with reading(table, "reading") as update:
        chunks = [
            chunk[0] for chunk in read_columns(table, [column], label=label, positive=positive, progress=lambda _: update())
        ]
    if not chunks:
        raise InputError(f"{table.path} has no rows")
    rows = np.concatenate(chunks)
    try:
        with in_words_of(table, {argument: column}), working("estimating the rate"):
            shift.fit(**{argument: rows})
    except InputError as error:
        message = (
            str(error).replace("smoothing='add-half'", "--smoothing add-half").replace("pass the rate", "give --target-rate")
        )
        raise InputError(message) from error


def _show(shift: LabelShift, output: str, alpha: float) -> None:
    from fastbin._errors import GuaranteeError
    from fastbin.cli import _model_view
    from fastbin.cli._console import console
    from fastbin.cli._streams import told_output

    out, rate = console(stderr=output == "-"), shift.rate_
    out.print(f"{told_output(output)}: {_model_view.summary(shift.model_)}.")
    out.print(f"Moved from {shift.source_rate_:.6g} to {shift.target_rate_:.6g} as the rate of label 1{_origin(shift, alpha)}.")
    if rate.method != "known" and shift.target_rate_ != rate.rate:
        out.print(f"Smoothing moved the estimate {rate.rate:.6g} away from 0 and 1 by half a sample of either label.")
    for sentence in _model_view.facts(shift.model_):
        out.print(sentence)
    out.print()
    try:
        ends, certificate = shift.interval(alpha), shift.certificate(alpha)
        promise, reasons = str(certificate), certificate.explain()
    except GuaranteeError as error:
        ends, promise, reasons = None, f"No certificate: {error}", ""
    out.print(_table(shift, ends, alpha))
    out.print()
    out.print(promise, style="bold" if ends is not None else None)
    if reasons:
        out.print(reasons)


def _table(shift: LabelShift, ends: Any, alpha: float, max_rows: int = 30) -> Any:
    """What every bin served before and serves now."""
    from rich import box
    from rich.table import Table

    from fastbin.cli._model_view import number_format
    from fastbin.guarantees.words import sureness

    model = shift.model_
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    titles = ["bin", "scores from", "to", "value before", "value"]
    for title in titles if ends is None else [*titles, f"{sureness(alpha)} interval"]:
        table.add_column(title, justify="right", no_wrap=True)
    low, high = model.score_range or (None, None)
    edges = [low, *model.edges.tolist(), high]
    skipped = range(max_rows // 2, model.n_bins - max_rows // 2) if model.n_bins > max_rows else range(0)
    before, show_value = shift.source_model_.values, number_format(model.values)
    for b in range(model.n_bins):
        if b in skipped:
            if b == skipped.start:
                table.add_row(*["..."] * len(table.columns))
            continue
        cells = [str(b), *(f"{end:.6g}" if end is not None else "" for end in edges[b : b + 2])]
        cells += [f"{before[b]:.4f}", show_value(model.values[b])]
        table.add_row(*cells, *([] if ends is None else [f"{show_value(ends[b, 0])} to {show_value(ends[b, 1])}"]))
    return table


def _origin(shift: LabelShift, alpha: float) -> str:
    """Where the target rate came from."""
    from fastbin.guarantees.words import sureness

    rate = shift.rate_
    if rate.method == "known":
        return ", as given"
    source = {
        "labels": f"{rate.n_samples:,} outcomes",
        "likelihood": f"{rate.n_samples:,} scores by maximum likelihood",
        "confusion": f"{rate.n_samples:,} scores by a confusion matrix",
    }[rate.method]
    kind = "exact" if rate.method == "labels" else "bootstrap"
    return f", from {source}; {kind} {sureness(alpha)} interval {rate.lower:.4g} to {rate.upper:.4g}"
