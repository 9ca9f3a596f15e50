"""``fastbin report``: a page on a model and a test set, to be filed."""

from __future__ import annotations

from typing import Any

import click

from fastbin.cli._options import assessment_options, examples, quiet_option, table_options

__all__ = ["command"]


@click.command(
    short_help="The same as an HTML page, with pictures.",
    epilog=examples(
        "fastbin report credit.fbm test.csv --score p --label y -o report.html",
        "fastbin report credit.fbm test.csv --against isotonic.fbm -o report.html",
        "fastbin report credit.fbm test.parquet --title 'Card 7' -o report.html",
    ),
)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), metavar="PAGE", help="The HTML file to write; - prints it.")
@click.option("--title", default="Calibration report", show_default=True, metavar="TEXT", help="The heading of the page.")
@assessment_options
@quiet_option
@table_options
def command(model: str, file: str, output: str, title: str, quiet: bool, **settings: Any) -> None:
    """Write a page on MODEL and the test samples in FILE, which must not be those that it was fitted on.

    One HTML file that needs no network: what the model is, what it promises, what the test shows bin by bin, the numbers before
    and after, pictures, and cautions in words.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input.
    """
    from pathlib import Path

    from fastbin.cli._console import console, working
    from fastbin.cli._streams import check_output, told_name, write_output
    from fastbin.cli._test_set import assess_file
    from fastbin.report import render_report

    check_output(output, overwrites=(model, file), is_text=True)
    found = assess_file(model, file, **settings)
    with working("drawing"):
        sources = {
            name: told_name(path if path == "-" else Path(path).name) for name, path in (("model", model), ("test", file))
        }
        page = render_report(found, title=title, model_source=sources["model"], test_source=sources["test"])
        write_output(output, lambda out: out.write(page.encode("utf8")))
    if not quiet:
        out = console(stderr=output == "-")
        out.print(f"{output}: {found.n_samples:,} test samples, {len(found.cautions)} cautions.")
        if found.check is not None:
            out.print(str(found.check))
