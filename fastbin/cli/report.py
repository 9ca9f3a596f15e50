"""``fastbin report``: a page on a model and a test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fastbin._model.view import counted
from fastbin.cli import _options as options
from fastbin.cli._console import working
from fastbin.cli._files import Output, display_name
from fastbin.cli._tables import RowOptions
from fastbin.cli.assess import assess_file


@click.command(
    short_help="The same as an HTML page, with pictures.",
    epilog=options.examples(
        "fastbin report credit.fbm test.csv --score p --label y -o report.html",
        "fastbin report credit.fbm test.csv --against isotonic.fbm -o report.html",
        "fastbin report credit.fbm test.parquet --title 'Card 7' -o report.html",
    ),
)
@options.option("-o --output PAGE", "The HTML file to write; - prints it.", required=True)
@options.option("--title TEXT", "The heading of the page.", default="Calibration report")
@options.model
@options.file
@options.assessment
@options.quiet
@options.tables
def command(model: str, file: str, output: str, title: str, quiet: bool, rows: RowOptions, **settings: Any) -> None:
    """Write a page on MODEL and the test samples in FILE, which must not be those that it was fitted on.

    One HTML file that needs no network: what the model is, what it promises, what the test shows bin by bin, the numbers before
    and after, pictures, and cautions in words. For a set of models: cell by cell.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    from fastbin.report import render_report

    out = Output(output, reads=(model, file, *settings["against"]), is_text=True)
    assessment = assess_file(model, file, rows, **settings).assessment
    with working("drawing"):
        model_name, file_name = (display_name(path if path == "-" else Path(path).name) for path in (model, file))
        page = render_report(assessment, title=title, model_source=model_name, test_source=file_name)
        out.write(page.encode("utf8"))
    if not quiet:
        n = assessment.n_samples
        out.messages().print(f"{output}: {counted(n, 'test sample')}, {counted(len(assessment.cautions), 'caution')}.")
        if assessment.check is not None:
            out.messages().print(str(assessment.check))
