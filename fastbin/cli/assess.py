"""``fastbin assess``: how good a model is on test samples, and whether they bear its certificate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastbin.cli import _options as options
from fastbin.cli._cells import CellOptions
from fastbin.cli._console import console, say_json, text_table
from fastbin.cli._files import TableOptions
from fastbin.cli._model_view import print_certificate
from fastbin.cli._test_set import assess_file
from fastbin.guarantees.words import label_words

if TYPE_CHECKING:
    from fastbin.assess import GroupAudit
    from fastbin.report import Assessment, SetAssessment

CONTRADICTED = 3


@click.command(
    short_help="Test MODEL on labelled samples that its fit has not seen.",
    epilog=options.examples(
        "fastbin assess credit.fbm test.csv --score p --label y",
        "fastbin assess credit.fbm test.csv --against isotonic.fbm",
        "fastbin assess credit.fbm test.parquet --json | jq .check.verdict",
        "fastbin assess credit.fbm test.csv --exit-code",
        "fastbin assess regions.fbm test.csv --segment region",
        "fastbin assess credit.fbm test.csv --group sex --group region",
    ),
)
@options.assessment
@options.option(
    "--group COLUMN",
    "Also: is the certificate kept in each group of this column? Repeatable; several share the level.",
    multiple=True,
)
@options.exit_code(CONTRADICTED, "the certificate is contradicted, or in a group")
@options.as_json
@options.tables
def command(
    model: str,
    file: str,
    group: tuple[str, ...],
    exit_code: bool,
    as_json: bool,
    rows: TableOptions,
    cells: CellOptions,
    **settings: Any,
) -> int:
    """Assess MODEL on the test samples in FILE, which must not be those that it was fitted on.

    Shows the calibration error before and after, the parts of the Brier score, and whether the test samples contradict the
    certificate, confirm it, or are too few to decide, and how many are enough. A row without a score, or with a score that the
    model refuses, is left out and counted.

    Of a set of models also every cell. Of a set for predicted classes the outcome is whether the prediction is right; of a
    class-wise set every row counts once for each class.

    A certificate is about the population that the model was fitted to, and not about each group of it: --group compares it with
    the test samples of each group, and shows which distance these certify there by themselves.

    FILE is CSV (with a header), Parquet or Arrow, or a folder of such; "-" reads CSV from standard input.
    """
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


def _show(assessment: Assessment | SetAssessment) -> None:
    from fastbin.report import SetAssessment

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
    if isinstance(assessment, SetAssessment):
        _show_cells(assessment)
    if assessment.certificates:
        print_certificate(out, assessment.certificates[0], with_reasons=False)
    if assessment.check is not None:
        out.print(str(assessment.check))
    for caution in assessment.cautions:
        out.print(f"Caution: {caution}")


def _show_cells(assessment: SetAssessment) -> None:
    from fastbin.report.tables import cell_columns

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
