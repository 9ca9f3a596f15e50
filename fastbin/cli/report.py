"""``fastbin report``: a page on a model and a test set."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fastbin._base.errors import InputError
from fastbin._base.shown import how_many
from fastbin.cli import _options as options
from fastbin.cli._console import console, is_typed, json_text, option_of, say, say_json, working
from fastbin.cli._files import FileDigests, Output, check_one_printed, display_name, without_vectors
from fastbin.cli._predictions import (
    PredictionOptions,
    check_report,
    refuse_options_of_models,
    validate_counts_file,
    validate_file,
)
from fastbin.cli._tables import RowOptions
from fastbin.cli.assess import assess_file
from fastbin.cli.monitor import read_state, state_of

if TYPE_CHECKING:
    from rich.console import Console

DIFFERS = 3  # the exit code where a figure of a report differs


@click.command(
    short_help="The same as an HTML page, with pictures.",
    epilog=options.examples(
        "fastbin report credit.fbm test.csv --score p --label y -o report.html",
        "fastbin report credit.fbm test.csv -o report.html -o report.json",
        "fastbin report credit.fbm test.csv --against isotonic.fbm -o report.html",
        "fastbin report credit.fbm test.parquet --title 'Card 7' -o report.html",
        "fastbin report credit.fbm test.csv --prepared-by 'J. Doe' -o report.html",
        "fastbin report test.csv --predictions pd --by grade -o pack.html -o pack.json",
        "fastbin report credit.fbm test.csv --monitor credit.mon -o report.html",
        "fastbin report --counts counts.csv --before earlier.json -o report.html",
        "fastbin report --check report.json test.csv",
    ),
)
@options.option(
    "-o --output outputs FILE", "The file to write: the page, or every figure as JSON if it ends in .json; - prints the page. "
    "Repeatable.", multiple=True,
)  # fmt: skip
@options.option("--title TEXT", "The heading of the page.", default="Calibration report")
@options.option("--counts FILE", "Without MODEL and FILE: a table of counts of given predictions, by grade, segment or day.")
@options.option(
    "--before REPORT",
    "With predictions: the report before this one, as JSON, which knows of those before it; the page says what changed, and "
    "counts the looks.",
    multiple=True,
)
@options.option(
    "--monitor FILE", "With MODEL: the state of its monitor, as fastbin monitor --state writes it; the page says what it has "
    "seen. Repeatable: of several states the earliest first.", multiple=True,
)  # fmt: skip
@options.option(
    "--check REPORT", "Compute every figure of this report of predictions (JSON) again, from its counts, and from FILE where "
    "that is given; exit with 3 if one differs.", options.PATH,
)  # fmt: skip
@options.filing
@partial(options.model, required=False)
@click.argument("file", type=options.PATH, required=False)
@options.assessment
@options.predictions
@options.as_json
@options.quiet
@options.tables
def command(
    model: str | None, file: str | None, outputs: tuple[str, ...], title: str, counts: str | None, before: tuple[str, ...],
    monitor: tuple[str, ...], check: str | None, prepared_by: str | None, role: str | None, date: datetime.date | None,
    asked: PredictionOptions, as_json: bool, quiet: bool, rows: RowOptions, **settings: Any,
) -> int | None:  # fmt: skip
    """Write a page on MODEL and the test samples in FILE, which must not be those that it was fitted on.

    One HTML file that needs no network: what was checked, with the SHA-256 of the files, what the model promises, what the test
    shows bin by bin, the numbers before and after, pictures, cautions in words, and lines to sign. For a set of models: cell by
    cell. It prints on A4.

    With --predictions there is no MODEL, and the page is about a column of FILE; with --counts it is made from counts alone.
    Its JSON has the counts, and the same bytes for the same rows, but for its member "source"; --check makes it again.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    if check is not None:
        return _check(check, model, file, rows, outputs)
    if not outputs and not as_json:
        remedy = "Name a file, such as report.html or report.json, or give --json."
        raise click.MissingParameter(remedy, param_hint="'-o' / '--output'", param_type="option")
    check_one_printed(as_json, *outputs)
    wanted = Wanted(outputs, as_json, quiet, {"title": title, "prepared_by": prepared_by, "role": role, "date": date})
    if counts is not None or asked.predictions is not None:
        if monitor:
            raise click.UsageError("--monitor is about a MODEL; leave it out")
        if len(before) > 1:
            raise click.UsageError("--before names the report before this one, which knows of those before it; give it once")
        _report_predictions(model, file, counts, before[0] if before else None, asked, rows, settings, wanted)
        return None
    asked.refuse_idle(but=("side",))
    if before:
        raise click.UsageError("--before is about a report of --predictions or --counts; leave it out")
    if model is None or file is None:
        missing = f"Missing argument '{'MODEL' if model is None else 'FILE'}'."
        raise click.UsageError(f"{missing} A page without a MODEL needs --predictions COLUMN, or --counts.")
    _report_model(model, file, monitor, rows, {"side": asked.side or "both", **settings}, wanted)
    return None


class Wanted(NamedTuple):
    """The files that a report is written to, and facts that its page states about itself."""

    outputs: tuple[str, ...]
    as_json: bool
    quiet: bool
    about_page: dict[str, Any]

    def open(self, *reads: str) -> list[tuple[str, Output]]:
        """The files to write, checked before any work is done; none of them is one that is read."""
        opened: list[tuple[str, Output]] = []
        for path in dict.fromkeys(self.outputs):
            opened.append((path, Output(path, reads=reads, is_text=True, beside=[out for _, out in opened])))
        for path, _ in opened:
            if Path(path).suffix.lower() not in ("", ".html", ".htm", ".json"):
                raise InputError(f"{path}: a report is a page, or JSON; name a file that ends in .html or .json")
        return opened

    @staticmethod
    def write(outs: list[tuple[str, Output]], page: Callable[[], str], text: str) -> None:
        """Write the page, or the JSON, to each; the page is drawn before anything is written."""
        texts = [text if path.lower().endswith(".json") else page() for path, _ in outs]
        for (_, out), each in zip(outs, texts, strict=True):
            out.write(each.encode("utf8"))

    def console(self) -> Console:
        """Where the result is told: not where the page is printed."""
        return console(stderr="-" in self.outputs)


def _report_model(
    model: str, file: str, states: tuple[str, ...], rows: RowOptions, settings: dict[str, Any], wanted: Wanted
) -> None:  # fmt: skip
    """Write the page, or the JSON, on a model and a test set."""
    from fastbin.report.filing import Filing
    from fastbin.report.page import render_report, report_dict

    twice = [path for number, path in enumerate(states) if path in states[:number]]
    if twice:
        raise click.UsageError(f"--monitor {twice[0]} is given twice; name each state once")
    outs = wanted.open(model, file, *states, *settings["against"])
    contents = [(path, read_state(path)) for path in states]
    assessment, _, columns, n_rows, files = assess_file(model, file, rows, digests=FileDigests(), **settings)
    monitor = [state_of(content, path, model, without_vectors(assessment.model, model)) for path, content in contents] or None
    names = [display_name(path if path == "-" else Path(path).name) for path in (model, file)]
    files = {**files, **{display_name(path): hashlib.sha256(content).hexdigest() for path, content in contents}}
    about_rows = {"files": files, "columns": columns, "n_rows": n_rows}
    filing = Filing.of(**about_rows, **{name: value for name, value in wanted.about_page.items() if name != "title"})
    content = report_dict(assessment, filing, names[0], names[1], monitor)
    shown = {**wanted.about_page, **about_rows, "model_source": names[0], "test_source": names[1], "monitor": monitor}
    with working("drawing"):
        wanted.write(outs, lambda: render_report(assessment, **shown), json_text(content) + "\n")
    if wanted.as_json:
        say_json(content)
    elif not wanted.quiet:
        told = f"{how_many(assessment.n_samples, 'test sample')}, {how_many(len(assessment.cautions), 'caution')}"
        wanted.console().print(f"{', '.join(wanted.outputs)}: {told}.")
        if assessment.check is not None:
            wanted.console().print(str(assessment.check))


def _check(report: str, file: str | None, extra: str | None, rows: RowOptions, outputs: tuple[str, ...]) -> int:
    """Compute a report of predictions again, and say which figure differs first."""
    if extra is not None:
        raise click.UsageError("with --check there is no MODEL: give FILE alone, or nothing")
    if outputs:
        raise click.UsageError("--check writes nothing; leave -o out")
    asked = (*PredictionOptions._fields, "segment", "label", "positive", "weights", "test_level", "alpha", "seed")
    for name in filter(is_typed, asked):
        raise click.UsageError(f"--check takes its questions from the report; leave {option_of(name)} out")
    differences, told = check_report(report, file, rows)
    name = display_name(report)
    if not differences:
        console().print(f"{name}: every figure is the same, computed again from {' and from '.join(told)}.")
        return 0
    others = len(differences) - 1
    more = f"; {others:,} more {'differs' if others == 1 else 'differ'}" if others else ""
    console().print(f"{name}: {differences[0]}{more}.")
    return DIFFERS


def _report_predictions(
    file: str | None, extra: str | None, counts: str | None, before: str | None, asked: PredictionOptions, rows: RowOptions,
    settings: dict[str, Any], wanted: Wanted,
) -> None:  # fmt: skip
    """Write the page, or the JSON, on a column of predictions or on a table of counts."""
    from fastbin.report.page import render_report
    from fastbin.report.recheck import as_written, read_earlier, since

    refuse_options_of_models(settings, rows, but=() if asked.cluster is None else ("seed",))
    if counts is not None:
        if asked.predictions is not None:
            raise click.UsageError("a table of counts has predictions of its own; leave --predictions out, or --counts")
        asked.refuse_idle(but=("side", "asset_correlation"))
        if file is not None:
            raise click.UsageError("with --counts there is no MODEL and no FILE; leave them out")
        for name in filter(is_typed, ("segment", "label", "positive", "weights")):
            raise click.UsageError(f"a table of counts has columns of its own names; leave --{name} out")
        read, validated = counts, validate_counts_file
    else:
        if file is None or extra is not None:
            raise click.UsageError("with --predictions there is no MODEL: give FILE alone")
        read, validated = file, partial(validate_file, seed=settings["seed"] if is_typed("seed") else None)
    outs = wanted.open(read, *([] if before is None else [before]))
    earlier = None if before is None else read_earlier(before)
    found = validated(read, rows, asked, test_level=settings["test_level"])
    name = display_name(read if read == "-" else Path(read).name)
    files = {each["name"]: each["sha256"] for each in found.source["files"]}
    about_rows = {"files": files, "columns": found.source.get("columns"), "test_source": name}
    shown = {**about_rows, "before": earlier, **wanted.about_page}
    with working("drawing"), as_written(name if before is None else display_name(before)):
        found = found if earlier is None else since(earlier, found)
        wanted.write(outs, lambda: render_report(found, **shown), found.to_json())
    if wanted.as_json:
        say(found.to_json().rstrip("\n"))
    elif not wanted.quiet:
        wanted.console().print(f"{', '.join(wanted.outputs)}: {how_many(found.n_samples, 'row')}.")
        wanted.console().print(found.sentence)
