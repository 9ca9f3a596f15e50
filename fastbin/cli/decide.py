"""``fastbin decide``: thresholds on a score whose precision is certain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fastbin._base.checks import event_of
from fastbin._base.table import in_words
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import say_json, working
from fastbin.cli._files import Output, check_inputs, check_one_printed, display_name
from fastbin.cli._tables import RowOptions, errors_in, read_rows

if TYPE_CHECKING:
    from fastbin.decide import Decision


@click.command(
    short_help="Find thresholds that accept and reject with a certain precision.",
    epilog=options.examples(
        "fastbin decide scores.csv --precision 0.95 --delta 0.1",
        "fastbin decide scores.csv --precision 0.95 --npv 0.99 -o decision.json",
        "fastbin decide scores.parquet --score p --label y --cost 5,1",
        "fastbin decide scores.csv --precision 0.9 --thresholds 0.5,0.6,0.7,0.8",
    ),
)
@options.file
@options.score
@options.label
@options.option("--precision P", "Accept where at least this share has label 1.")
@options.option("--npv P", "Reject where at least this share has label 0.")
@options.option("--cost FP,FN", "The costs of a false positive and of a false negative, in place of both.", options.COSTS)
@options.option("--delta A", "The probability that the promise fails.", options.DELTA, 0.1)
@options.option("--thresholds LIST", "The only thresholds to choose from; these rows had no part in them.", options.CUTS)
@options.option("--seed N", "The seed of the random tenth of the rows that places the tests.", options.SEED, 0)
@options.option("-o --output FILE", "The JSON file to write, as Decision.from_json reads it; - prints it.")
@options.as_json
@options.tables
def command(file: str, output: str | None, as_json: bool, rows: RowOptions, **settings: Any) -> None:
    """Find thresholds on the score in FILE: accept above one, reject below another, abstain between.

    With probability 1 - delta at least a share --precision of what is accepted has label 1, and at least a share --npv of
    what is rejected has label 0. Nothing is assumed of the score. The rows must be draws from the population that will be
    decided on, and new to the classifier.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    check_one_printed(as_json, output)
    check_inputs(FILE=file)
    target = Output(output, reads=(file,), is_text=True)
    decision = _decide(file, rows, **settings)
    target.write(decision.to_json().encode() + b"\n")
    if as_json:
        say_json({"file": display_name(file), **decision.to_dict()})
        return
    out = target.messages()
    out.print(str(decision), style="bold")
    out.print(f"It needs that {decision.assumption}. fastbin, Theorem F21.")
    records = list(decision)
    if records:
        _show.print_table(out, {name.replace("_", " "): in_words([row[name] for row in records]) for name in records[0]}, 40)


def _decide(file: str, rows: RowOptions, **settings: Any) -> Decision:
    from fastbin.decide import accept_threshold

    table = rows.open(file)
    columns = rows.columns(table)
    arrays = read_rows(table, columns, {}, label="labels", positive=rows.positive).arrays
    with errors_in(table, columns), working("testing"):
        decision = accept_threshold(arrays["scores"], arrays["labels"], **settings)
    return replace(decision, event=event_of(rows.positive))
