"""``fastbin report``: a page on a model and a test set."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import click

from fastbin._model.view import counted
from fastbin.cli import _options as options
from fastbin.cli._console import console, json_text, say_json, working
from fastbin.cli._files import FileDigests, Output, display_name
from fastbin.cli._tables import RowOptions
from fastbin.cli.assess import assess_file


@click.command(
    short_help="The same as an HTML page, with pictures.",
    epilog=options.examples(
        "fastbin report credit.fbm test.csv --score p --label y -o report.html",
        "fastbin report credit.fbm test.csv -o report.html -o report.json",
        "fastbin report credit.fbm test.csv --against isotonic.fbm -o report.html",
        "fastbin report credit.fbm test.parquet --title 'Card 7' -o report.html",
        "fastbin report credit.fbm test.csv --prepared-by 'J. Doe' -o report.html",
    ),
)
@options.option(
    "-o --output outputs FILE", "The file to write: the page, or every figure as JSON if it ends in .json; - prints the page. "
    "Repeatable.", multiple=True,
)  # fmt: skip
@options.option("--title TEXT", "The heading of the page.", default="Calibration report")
@options.filing
@options.model
@options.file
@options.assessment
@options.as_json
@options.quiet
@options.tables
def command(
    model: str, file: str, outputs: tuple[str, ...], title: str, prepared_by: str | None, role: str | None,
    date: datetime.date | None, as_json: bool, quiet: bool, rows: RowOptions, **settings: Any,
) -> None:  # fmt: skip
    """Write a page on MODEL and the test samples in FILE, which must not be those that it was fitted on.

    One HTML file that needs no network: what was checked, with the SHA-256 of the files, what the model promises, what the test
    shows bin by bin, the numbers before and after, pictures, cautions in words, and lines to sign. For a set of models: cell by
    cell. It prints on A4.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    from fastbin.report.filing import Filing
    from fastbin.report.page import render_report, report_dict

    if not outputs and not as_json:
        raise click.UsageError("say -o FILE, such as report.html or report.json, or --json")
    if as_json and "-" in outputs:
        raise click.UsageError("-o - and --json would both write to standard output; name a file")
    reads = (model, file, *settings["against"])
    outs = [(path, Output(path, reads=reads, is_text=True)) for path in dict.fromkeys(outputs)]
    assessment, _, columns, n_rows, files = assess_file(model, file, rows, digests=FileDigests(), **settings)
    filed: dict[str, Any] = {
        "files": files, "columns": columns, "n_rows": n_rows, "prepared_by": prepared_by, "role": role, "date": date,
    }  # fmt: skip
    names = [display_name(path if path == "-" else Path(path).name) for path in (model, file)]
    content = report_dict(assessment, Filing.of(**filed), *names)
    filed |= {"model_source": names[0], "test_source": names[1]}
    with working("drawing"):
        for path, out in outs:
            is_page = not path.lower().endswith(".json")
            text = render_report(assessment, title=title, **filed) if is_page else json_text(content) + "\n"
            out.write(text.encode("utf8"))
    if as_json:
        say_json(content)
    elif not quiet:
        shown, n = console(stderr="-" in outputs), assessment.n_samples
        told = f"{counted(n, 'test sample')}, {counted(len(assessment.cautions), 'caution')}"
        shown.print(f"{', '.join(outputs)}: {told}.")
        if assessment.check is not None:
            shown.print(str(assessment.check))
