"""``fastbin assess``: how good a model is on test samples, and whether they bear its certificate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin.cli._options import assessment_options, examples, json_option, table_options

if TYPE_CHECKING:
    from fastbin.report import Assessment

__all__ = ["command"]

CONTRADICTED = 3


@click.command(
    short_help="Test MODEL on labelled samples that its fit has not seen.",
    epilog=examples(
        "fastbin assess credit.fbm test.csv --score p --label y",
        "fastbin assess credit.fbm test.csv --against isotonic.fbm",
        "fastbin assess credit.fbm test.parquet --json | jq .check.verdict",
        "fastbin assess credit.fbm test.csv --exit-code",
    ),
)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
@assessment_options
@click.option("--exit-code", is_flag=True, help=f"Exit with {CONTRADICTED} if the certificate is contradicted.")
@json_option
@table_options
def command(model: str, file: str, exit_code: bool, as_json: bool, **settings: Any) -> int:
    """Assess MODEL on the test samples in FILE, which must not be those that it was fitted on.

    Tells the calibration error before and after, what the Brier score is made of, and whether the test samples contradict the
    certificate, confirm it, or are too few to tell, and then how many would do. A row without a score, or with one that the
    model refuses, is left out and counted.

    FILE is CSV (with a header) or Parquet; "-" reads CSV from standard input.
    """
    from fastbin.cli._test_set import assess_file

    found = assess_file(model, file, **settings)
    if as_json:
        import json

        from fastbin.cli._console import say

        say(json.dumps({"model": model, "file": file, **found.to_dict()}, indent=2, allow_nan=False))
    else:
        _show(found)
    contradicted = found.check is not None and found.check.verdict == "contradicted"
    return CONTRADICTED if exit_code and contradicted else 0


def _show(found: Assessment) -> None:
    from rich import box
    from rich.table import Table

    from fastbin.cli._console import console

    out = console()
    share = 100.0 * found.n_positive / found.n_samples
    out.print(f"{found.n_samples:,} test samples, {found.n_positive:,} ({share:.3g} %) with label 1.")
    out.print()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for card in found.scorecards:
        table.add_column(card.name, justify="right", no_wrap=True)
    for name in found.after.numbers():
        table.add_row(name, *(card.numbers()[name] for card in found.scorecards))
    out.print(table)
    out.print()
    if found.certificates:
        out.print(str(found.certificates[0]), style="bold")
    if found.check is not None:
        out.print(str(found.check))
    for caution in found.cautions:
        out.print(f"Caution: {caution}")
