"""The table of docs/speed.md, and its first rows in the README, from saved runs: ``python bench/tables.py FILE ...``.

Each number is the median over the runs. Nothing is typed by hand, so the table says what was measured, losses too.
``--growth FILE`` also measures and plots how cost grows; see growth.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import cases
from figures import Figure, Quantity, Results

HERE = Path(__file__).parent
START, END = "<!-- bench:start -->", "<!-- bench:end -->"

Phrase = Callable[[float], str]


def _round(value: float) -> str:
    """Two digits say what a ratio of times is worth."""
    return f"{float(f'{value:.2g}'):g}"


def times(what: str) -> Phrase:
    """For our time divided by that of the cheapest thing that could be done with the data."""
    return lambda ratio: f"{_round(ratio)} times {what}"


def rival(who: str) -> Phrase:
    """For their time divided by ours; where they win, in bold."""
    return lambda ratio: (
        f"{who} takes {_round(ratio)} times as long" if ratio >= 1 else f"**{who} is {_round(1 / ratio)} times as fast**"
    )


def said(words: str) -> Phrase:
    """For a number of its own."""
    return lambda value: words.format(_round(value))


@dataclass(frozen=True)
class Row:
    """One line: a task, what it costs (`cost`, told by `unit`), and what stands beside it."""

    task: str
    case: str
    cost: Quantity
    unit: str
    beside: dict[Quantity, Phrase]

    def show(self, results: Results) -> str | None:
        """None where the case was not measured."""
        cost = results.value(self.case, self.cost)
        if cost is None:
            return None
        known = ((phrase, results.value(self.case, quantity)) for quantity, phrase in self.beside.items())
        beside = [phrase(value) for phrase, value in known if value is not None]
        return f"| {self.task} | {_round(cost)} {self.unit} | {'; '.join(beside)} |"


PASSES = {
    cases.FIT_TO_SUM: times("`np.sum` of the scores"),
    cases.SORT_TO_FIT: rival("`np.sort` of them"),
    cases.ARGSORT_TO_FIT: rival("argsort + reduceat"),
}
COPIES = {
    cases.PREDICT_TO_COPY["best"]: times("`np.copyto`"),
    cases.SEARCH_TO_PREDICT: rival("`np.searchsorted` + take"),
}


def _fit(task: str, shape: str, n: int, beside: dict[Quantity, Phrase], n_bins: int = 100) -> Row:
    return Row(f"fit {task}, {n_bins} bins", cases.FitCase(shape, n, n_bins).name, cases.FIT_NS, "ns a row", beside)


def _default(task: str, name: str) -> Row:
    beside = {
        cases.CERTIFIED_TO_SORT: times("`np.sort` of the scores"),
        cases.CERTIFIED_TO_ISOTONIC: lambda ratio: rival("scikit-learn's isotonic regression")(1.0 / ratio),
    }
    return Row(f"fit {task} by `CertifiedCalibration`", name, cases.CERTIFIED_US, "µs", beside)


def _set(case: cases.SetCase) -> Row:
    what = f"score 10⁶ rows of {case.n_models:,} models{' of steps' * case.has_steps}, in random order"
    beside = {
        cases.RANDOM_TO_ONE: times("rows of one model"),
        cases.SORTED_TO_ONE: said("{} times where rows are sorted by cell"),
    }
    return Row(what, case.name, cases.RANDOM_NS, "ns a row", beside)


def _score(task: str, shape: str, n_bins: int = 100, **kind: str | bool) -> Row:
    case = cases.ScoreCase(shape, 10**6, n_bins, **kind).name
    return Row(f"score 10⁶ {task}, {n_bins} bins", case, cases.SCORE_NS, "ns a score", COPIES)


ROWS = [
    _fit("10⁷ uniform scores", "uniform", 10**7, PASSES),
    _fit("10⁷ scores crowded at 0 (Beta(.5, 5))", "Beta(.5, 5)", 10**7, PASSES),
    _fit("10⁷ scores of 100 distinct values", "100 values", 10**7, PASSES),
    _fit("10⁷ doubles of all magnitudes", "all bit patterns", 10**7, PASSES),
    _fit("10⁷ uniform scores", "uniform", 10**7, PASSES, n_bins=1000),
    _fit("10⁸ uniform scores", "uniform", 10**8, {cases.ONE_TO_TWO_THREADS: said("with two threads {} times as fast")}),
    _fit("10⁴ uniform scores", "uniform", 10**4, PASSES),
    _fit(
        "10⁶ uniform scores", "uniform", 10**6, {**PASSES, cases.ISOTONIC_TO_FIT: rival("scikit-learn's isotonic regression")}
    ),
    *(
        _default(f"{task} uniform scores", cases.fine_fit("uniform", n))
        for task, n in (("100", 100), ("10³", 1000), ("10⁴", 10**4), ("10⁵", 10**5), ("10⁶", 10**6))
    ),
    Row(
        "first fit of a process, imports included",
        cases.FIRST_FIT,
        cases.CPU_WARM,
        "s of CPU",
        {cases.CPU_COLD: said("{} s where nothing is compiled yet")},
    ),
    Row(
        "fit 10⁵ into 10 bins and score them",
        cases.FIT_AND_SCORE,
        cases.FIT_AND_SCORE_MS,
        "ms",
        {quantity: rival(peer) for peer, quantity in cases.PEER_TO_OURS.items()},
    ),
    _score("uniform", "uniform"),
    _score("crowded at 0", "Beta(.5, 5)"),
    _score("uniform", "uniform", n_bins=10),
    _score("uniform", "uniform", n_bins=1000),
    _score("float32", "uniform", scores="float32"),
    _score("tied scores, by keys", "100 values", has_keys=True),
    *map(_set, cases.SETS),
    Row(
        "score 16",
        cases.SMALL_BATCHES[16],
        cases.CALL_NS,
        "ns a call",
        {cases.PREDICT_TO_ADD: times("`np.add(x, y, out=z)`")},
    ),
    Row(
        "score one from Python, 100 bins",
        cases.one_score(100),
        cases.SCORE_NS,
        "ns",
        {
            cases.ONE_TO_EMPTY: times("an empty call"),
            cases.BISECT_TO_ONE: rival("`bisect` on a list"),
            cases.ISOTONIC_TO_ONE: rival("scikit-learn's isotonic regression"),
        },
    ),
    Row(
        "score one from C, 100 bins",
        cases.one_score_in_c("uniform", 100),
        cases.C_THROUGHPUT,
        "ns",
        {
            cases.C_EMPTY: said("an empty call: {} ns"),
            cases.C_LATENCY: said("{} ns where each waits for the one before"),
        },
    ),
]


# The rows of the README.
FIRST = ("score one from Python, 100 bins", "score 10⁶ uniform, 100 bins", "score one from C, 100 bins")
FIRST += ("fit 10⁷ uniform scores, 100 bins", "fit 10⁴ uniform scores, 100 bins")


def medians(runs: list[Results]) -> Results:
    """One run whose figures are the medians of these."""
    together = Results("; ".join(dict.fromkeys(run.machine for run in runs)))
    for key, figure in ((key, figure) for run in runs for key, figure in run.figures.items()):
        values = [value for run in runs if (value := run.value(*key)) is not None]
        together.add([Figure(*key, median(values), figure.asked)])
    return together


def table(runs: list[Results], rows: list[Row]) -> str:
    results = medians(runs)
    told = "one run" if len(runs) == 1 else f"{len(runs)} runs"
    shown = [line for row in rows if (line := row.show(results)) is not None]
    heading = f"{results.machine}; medians of {told} of interleaved rounds, one thread."
    return "\n".join([heading, "", "| what | fastbin | beside it |", "|---|---|---|", *shown])


def write(lines: str, page: Path) -> None:
    """Put these lines between the markers of a page."""
    text = page.read_text(encoding="utf8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{page} has no lines {START} and {END}")
    page.write_text(f"{before}{START}\n{lines}\n{END}{after}", encoding="utf8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "saved", type=Path, nargs="*", metavar="FILE", help="written by pytest bench --save FILE (bench/results/run-*.json)"
    )
    parser.add_argument("--growth", type=Path, metavar="FILE", help="also measure and plot how cost grows, into this picture")
    options = parser.parse_args()
    saved = options.saved or sorted((HERE / "results").glob("run-*.json"))
    if not saved:
        raise SystemExit("no run is saved; pytest bench --long --save bench/results/run-1.json")
    runs = [Results.load(path) for path in saved]
    write(table(runs, ROWS), HERE.parent / "docs" / "speed.md")
    write(table(runs, [row for task in FIRST for row in ROWS if row.task == task]), HERE.parent / "README.md")
    if options.growth:
        from growth import plot_growth

        plot_growth(options.growth)


if __name__ == "__main__":
    main()
