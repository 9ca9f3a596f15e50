"""``fastbin assess``: how good a model is on test samples, and whether they bear its certificate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin.cli import _options as options
from fastbin.cli._cells import CellOptions
from fastbin.cli._console import console, say_json, text_table
from fastbin.cli._files import TableOptions
from fastbin.cli._model_view import print_certificate
from fastbin.cli._predictions import check_column, check_options
from fastbin.cli._test_set import assess_file
from fastbin.guarantees.certificate import label_words

if TYPE_CHECKING:
    from fastbin.assess import GroupAudit
    from fastbin.report import Assessment

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
    ),
)
@options.model
@click.argument("file", type=options.PATH, required=False)
@options.assessment
@options.option("--predictions COLUMN", "Without MODEL: are the probabilities in this column of FILE calibrated? Exact tests.")
@options.option("--by COLUMN", "Of --predictions: the column of grades, which share the level by Holm.")
@click.option(
    "--side",
    type=click.Choice(("both", "upper", "lower")),
    help="Of --predictions: look for frequencies above them (upper), below them, or both. Default: both.",
)
@options.option(
    "--group COLUMN",
    "Also: is the certificate kept in each group of this column? Repeatable; several share the level.",
    multiple=True,
)
@options.exit_code(CONTRADICTED, "the certificate, or the predictions, are contradicted, or in a group")
@options.as_json
@options.tables
def command(
    model: str,
    file: str | None,
    predictions: str | None,
    by: str | None,
    side: str | None,
    group: tuple[str, ...],
    exit_code: bool,
    as_json: bool,
    rows: TableOptions,
    cells: CellOptions,
    **settings: Any,
) -> int:
    """Assess MODEL on the test samples in FILE, which must not be those that it was fitted on.

    Shows the calibration error before and after, the parts of the Brier score, and whether the test samples contradict the
    certificate, confirm it, or neither, and which difference they would have shown. A row that has no score, or one that the
    model refuses, is left out and counted.

    Of a set of models also every cell. Of a set for predicted classes the outcome is whether the prediction is right; of a
    class-wise set every row counts once for each class.

    A certificate is about the population that the model was fitted to, and not about each group of it: --group compares it with
    the test samples of each group, and shows which distance these certify there by themselves.

    With --predictions there is no MODEL: the probabilities in a column of FILE are tested as they are, in each grade of --by
    and in all, at --level. The rows must be new here too.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
    given = {**settings, "score": rows.score, "group": group, "by": by, "side": side}
    file = check_options(model, file, predictions, given, cells)
    if predictions is not None:
        check = check_column(file, rows, predictions, by, side or "both", alpha=settings["level"], as_json=as_json)
        return CONTRADICTED if exit_code and check.verdict != NOT_CONTRADICTED else 0
    assessment, audit = assess_file(model, file, rows, cells, groups=group, **settings)
    if as_json:
        audited = {} if audit is None else {"audit": {"sentence": str(audit), **audit.to_dict()}}
        say_json({"model": model, "file": file, **assessment.to_dict(), **audited})
    else:
        _show(assessment)
        if audit is not None:
            _show_audit(audit)
    contradicted = any(each is not None and each.verdict == "contradicted" for each in (assessment.check, audit))
    return CONTRADICTED if exit_code and contradicted else 0


def _show(assessment: Assessment) -> None:
    out = console()
    share = 100.0 * assessment.n_positive / assessment.n_samples
    positive = f"{assessment.n_positive:,} ({share:.3g} %) with {label_words(assessment.event)}"
    out.print(f"{assessment.n_samples:,} test samples, {positive}.")
    out.print()
    cards = [(card.name, card.numbers()) for card in assessment.scorecards]
    rows = [[number, *(numbers[number] for _, numbers in cards)] for number in assessment.after.numbers()]
    table = text_table(["", *(name for name, _ in cards)], rows)
    table.columns[0].justify = "left"
    out.print(table)
    out.print()
    if assessment.is_set:
        _show_cells(assessment)
    if assessment.certificates:
        print_certificate(out, assessment.certificates[0], with_reasons=False)
    if assessment.check is not None:
        out.print(str(assessment.check))
    for caution in assessment.cautions:
        out.print(f"Caution: {caution}")


def _show_cells(assessment: Assessment) -> None:
    from fastbin.report.page import cell_columns

    names = ["the pool" if cell.cell is None else str(cell.cell) for cell in assessment.cells]
    columns = {"cell": names, **cell_columns(assessment)}
    out = console()
    out.print(text_table(list(columns), list(zip(*columns.values(), strict=True)), max_rows=40))
    out.print()


def _show_audit(audit: GroupAudit) -> None:
    out = console()
    titles = ["group", "test samples", "bins", "p", "certified distance", "promise"]
    rows = [
        [
            group.name,
            f"{group.n_samples:,}",
            f"{len(group.bins):,}",
            f"{group.p_value:.3g}",
            f"{group.epsilon:.4f}",
            group.verdict,
        ]
        for group in audit.groups
    ]
    out.print()
    out.print(text_table(titles, rows, max_rows=40))
    out.print()
    out.print(f"By group: {audit}")
