"""``python -m bench.calarena``: run, print the tables, draw the picture, save the rows. README.md says what is measured."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import fastbin as fb
from bench.calarena import picture
from bench.calarena.cells import Cell, load_cells, run, save_cells, warm_up
from bench.calarena.coverage import Coverage, promising, simulate
from bench.calarena.methods import DEFAULT, DEFAULT_OF_MATRICES, RAW, Method, our_matrix_methods, our_methods
from bench.calarena.peers import LIBRARIES, LIBRARIES_OF_MATRICES, peer_methods, versions
from bench.calarena.score_sets import (
    ALL,
    DATA_VARIABLE,
    MATRIX_SIZES,
    SIZES,
    Loader,
    capped_sizes,
    catalogue,
    default_folder,
    matrices,
    missing_files,
    sizes_of,
)
from bench.calarena.summary import (
    FROM,
    claims,
    few_table,
    losses_table,
    matrices_table,
    promises_table,
    summarise,
    winrates_table,
)
from bench.machine import machine

RESULTS = Path(__file__).resolve().parent / "results"
CELLS, COVERAGES, ABOUT = "cells.csv.gz", "coverage.json", "about.json"
TABLE, PICTURE = "table.txt", "calarena.png"
MATRICES = "matrices"  # the folder of their results in that of all

# Populations of the simulation: many ties, few, none, ten scores, scores at 0 and 1.
POPULATIONS = ("credit forest", "credit boosting", "compas", "mlb games", "us senate election night", "cifar10 top")
COVERAGE_SIZES = (500, 1000, 2000)


def say(text: str) -> None:
    """Progress, beside the tables."""
    print(text, file=sys.stderr, flush=True)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.calarena", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = lambda text: ALL if text == "all" else int(text)  # noqa: E731
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", default=default_folder(),
        help=f"the folder of forecasts.csv, compas.csv and cifar10_resnet50.npz (default: {DATA_VARIABLE} of the environment)",
    )  # fmt: skip
    parser.add_argument("--sets", nargs="+", metavar="PART", help="score sets with one of these in their names (default: all)")
    parser.add_argument("--matrices", action="store_true", help="probabilities of several classes in place of score sets")
    parser.add_argument("--sizes", nargs="+", type=size, metavar="N", help="calibration rows, or all")
    parser.add_argument("--repeats", type=int, default=5, metavar="R", help="draws of every cell (default: 5)")
    parser.add_argument(
        "--methods", nargs="+", metavar="PART", help="methods with one of these in name or library (default: all)"
    )
    parser.add_argument("--coverage", type=int, default=500, metavar="R", help="simulated repetitions (default: 500; 0: none)")
    parser.add_argument("--slow", action="store_true", help="also fit slow methods to many rows; takes gigabytes and hours")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="rows are added to what is there already")
    parser.add_argument("--show", action="store_true", help="run nothing; tables and picture of what is in the folder")
    return parser.parse_args(argv)


def _chosen(wanted: Sequence[str] | None, is_slow: bool, of_matrices: bool) -> list[Method]:
    """The methods that can be run; what is missing is said."""
    peers, missing = peer_methods(LIBRARIES_OF_MATRICES if of_matrices else LIBRARIES)
    for library, why in missing.items():
        say(f"left out: {library} ({why})")
    methods = (our_matrix_methods() if of_matrices else our_methods()) + peers
    if is_slow:
        methods = [Method(method.name, method.library, method.fit) for method in methods]
    if wanted is None:
        return methods
    return [method for method in methods if method.name == RAW or any(part in (method.name, method.library) for part in wanted)]


def _run(
    out: Path, sets: dict[str, Loader], methods: list[Method], sizes: Sequence[int], repeats: int, *, of_matrices: bool
) -> None:
    """All cells; saved after every score set, so that a long run may be stopped."""
    path = out / CELLS
    found = versions(LIBRARIES_OF_MATRICES if of_matrices else LIBRARIES)
    about = _about(out) | {"machine": machine(), "fastbin": fb.__version__, **found}
    cells = {cell.key: cell for cell in load_cells(path)} if path.is_file() else {}
    other = {cell.repeats for cell in cells.values()} - {repeats}
    if other:
        raise SystemExit(f"{path} holds cells of {other.pop()} repeats, not {repeats}; give another --out or --repeats")
    warm_up(methods, of_matrices=of_matrices)
    for number, (name, load) in enumerate(sets.items(), 1):
        score_set = load()
        for n in (capped_sizes if of_matrices else sizes_of)(len(score_set.labels), sizes):
            say(f"{number}/{len(sets)} {name}, n = {n:,}")
            cells.update({cell.key: cell for cell in run(score_set, n, methods, repeats)})
        save_cells(path, list(cells.values()))
        (out / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf8")


def _simulate(out: Path, sets: dict[str, Loader], methods: list[Method], sizes: Sequence[int], repetitions: int) -> None:
    """Coverage on the populations that are there."""
    path = out / COVERAGES
    found = {(one.set, one.n, one.method): one for one in _coverages(out)}
    able = promising(methods)
    for name in POPULATIONS:
        for n in COVERAGE_SIZES if name in sets else ():
            if n in sizes:
                say(f"coverage on {name}, n = {n:,}")
                found.update({(one.set, one.n, one.method): one for one in simulate(sets[name](), n, able, repetitions)})
                rows = ",\n".join(json.dumps(asdict(one)) for one in found.values())
                path.write_text(f"[\n{rows}\n]\n", encoding="utf8")


def _about(out: Path) -> dict[str, str]:
    """The machine and the versions of the last run that had them."""
    path = out / ABOUT
    return dict(json.loads(path.read_text(encoding="utf8"))) if path.is_file() else {}


def _coverages(out: Path) -> list[Coverage]:
    path = out / COVERAGES
    return [Coverage(**row) for row in json.loads(path.read_text(encoding="utf8"))] if path.is_file() else []


def _failures(cells: Sequence[Cell]) -> list[str]:
    """Which methods could not do how many cells, each with the first as an example."""
    failed: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.failure:
            failed.setdefault(cell.method, []).append(cell)
    sentences = [
        f"{method} ({first.library}) could not do {len(found)} cells, such as {first.set}, n = {first.n}: {first.failure}"
        for method, found in failed.items()
        for first in found[:1]
    ]
    return sentences or ["every method could do every cell"]


def report(out: Path) -> str:
    """The tables of a folder, also written there, with the picture."""
    cells: list[Cell] = load_cells(out / CELLS)
    lines = summarise(cells, _coverages(out))
    sets = {cell.set for cell in cells}
    about = _about(out)
    subtitle = f"{len(sets)} score sets, {cells[0].repeats} draws each"
    outside = dict.fromkeys(cell.method for cell in cells if cell.n_outside)
    parts = [
        f"{subtitle}; {about.pop('machine', 'on an unknown machine')}",
        "; ".join(f"{library} {version}" for library, version in about.items()),
        losses_table(lines),
        promises_table(lines),
        winrates_table(cells),
        few_table(cells, DEFAULT),
        *[f"{'yes' if holds else 'NO '}  {claim}" for claim, holds in claims(lines, DEFAULT)],
        *_failures(cells),
        *[f"answers outside [0, 1] were moved there: {method}" for method in outside],
    ]
    if any(line.log_loss is not None for line in lines):
        picture.draw(out / PICTURE, lines, subtitle)
    else:
        parts.append(f"no cell has {FROM:,} rows or more: no picture")
    text = "\n\n".join(parts[:6]) + "\n\n" + "\n".join(parts[6:])
    (out / TABLE).write_text(text + "\n", encoding="utf8")
    return text


def report_matrices(out: Path) -> str:
    """The tables of the matrices of a folder, one for each number of rows, also written there."""
    cells = load_cells(out / CELLS)
    about = _about(out)
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(min((size for size in MATRIX_SIZES if size >= cell.n), default=cell.n), []).append(cell)
    n_matrices = len({cell.set for cell in cells})
    parts = [
        f"{n_matrices} matrices, {cells[0].repeats} draws each; {about.pop('machine', 'on an unknown machine')}",
        "; ".join(f"{library} {version}" for library, version in about.items()),
        *[matrices_table(group, size, DEFAULT_OF_MATRICES) for size, group in sorted(groups.items())],
        "\n".join(_failures(cells)),
    ]
    text = "\n\n".join(parts)
    (out / TABLE).write_text(text + "\n", encoding="utf8")
    return text


def main(argv: Sequence[str] | None = None) -> None:
    given = _arguments(argv)
    of_matrices = given.matrices
    out = given.out / MATRICES if of_matrices else given.out
    if not given.show:
        from threadpoolctl import threadpool_limits

        for sentence in missing_files(given.data):
            say(sentence)
        sets = (matrices if of_matrices else catalogue)(given.data, given.sets)
        methods = _chosen(given.methods, given.slow, of_matrices)
        sizes = given.sizes or (MATRIX_SIZES if of_matrices else SIZES)
        with threadpool_limits(1):
            _run(out, sets, methods, sizes, given.repeats, of_matrices=of_matrices)
            if given.coverage and not of_matrices:
                _simulate(out, sets, methods, sizes, given.coverage)
    print((report_matrices if of_matrices else report)(out))


if __name__ == "__main__":
    main()
