"""Exports where they run, one score at a time in a loop, beside `predict` on an array, and beside what is written by hand.

A target is a function that builds a program in a folder and returns contestants: calls that score all rows again. It is listed
in `TARGETS` below. Its answers are checked before the clock.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import cases
import export_cases
import numpy as np
import pytest
from cases import rows
from export_cases import EXPORTS, ExportCase
from measure import Contestant, paired

import fastbin as fb

N_FIT, N_ROWS = 200_000, 10**6


class Task(NamedTuple):
    """What a target has to score."""

    folder: Path
    model: fb.BinnedModel
    scores: np.ndarray
    keys: np.ndarray | None


class Built(NamedTuple):
    """A target that is ready: the call that scores all rows, their values after a call, and how others would do it."""

    score: Contestant
    values: Callable[[], np.ndarray]
    by_hand: dict[str, Contestant]


def _need(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


# ------------------------------------------------------------------------------------------------- C

C_LOOPS = """
#include "scored.h"
#include <stddef.h>

static const double by_hand[] = {%(edges)s};
static const int n_edges = %(n_edges)d;

void export_all(const double *scores, const uint64_t *keys, size_t n, double *values) {
  (void)keys;
  for (size_t i = 0; i < n; i++) values[i] = scored(scores[i]%(key)s);
}

void binary_all(const double *scores, const uint64_t *keys, size_t n, double *values) {
  (void)keys;
  for (size_t i = 0; i < n; i++) {
    int low = 0, high = n_edges;
    while (low < high) {
      int middle = low + (high - low) / 2;
      if (by_hand[middle] <= scores[i]) low = middle + 1; else high = middle;
    }
    values[i] = scored_values[low];
  }
}

void linear_all(const double *scores, const uint64_t *keys, size_t n, double *values) {
  (void)keys;
  for (size_t i = 0; i < n; i++) {
    int step = 0;
    while (step < n_edges && by_hand[step] <= scores[i]) step++;
    values[i] = scored_values[step];
  }
}
"""


@contextmanager
def _c(task: Task) -> Iterator[Built]:
    """As a library that is called with whole arrays, so that it can be timed in this process."""
    _need("gcc")
    edges = task.model.edges.tolist()
    loops = C_LOOPS % {
        "edges": ", ".join(map(repr, edges)), "n_edges": len(edges), "key": "" if task.keys is None else ", keys[i]",
    }  # fmt: skip
    (task.folder / "scored.h").write_text(fb.export.c_source(task.model, "scored"))
    (task.folder / "loops.c").write_text(loops)
    library = task.folder / "loops.so"
    command = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "loops.c", "-o", library.name]
    subprocess.run(command, cwd=task.folder, check=True)
    loaded = ctypes.CDLL(str(library))
    values = np.empty(len(task.scores))
    pointers = [None if array is None else ctypes.c_void_p(array.ctypes.data) for array in (task.scores, task.keys)]
    arguments = (*pointers, ctypes.c_size_t(len(values)), ctypes.c_void_p(values.ctypes.data))
    hands = {} if task.keys is not None else {
        search: partial(getattr(loaded, f"{search}_all"), *arguments) for search in export_cases.BY_HAND_TO_EXPORT
    }  # fmt: skip
    yield Built(partial(loaded.export_all, *arguments), values.copy, hands)


# ------------------------------------------------------------------------------------------------- programs that wait

JAVA = """
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;

public final class Loop {
  static ByteBuffer read(String path) throws Exception {
    return ByteBuffer.wrap(Files.readAllBytes(Paths.get(path))).order(ByteOrder.LITTLE_ENDIAN);
  }

  static void score(double[] scores, long[] keys, double[] values) {
    for (int i = 0; i < scores.length; i++) values[i] = Scored.predict(scores[i]%(key)s);
  }

  public static void main(String[] arguments) throws Exception {
    ByteBuffer data = read("scores"), out = ByteBuffer.allocate(data.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    int n = data.remaining() / 8;
    double[] scores = new double[n], values = new double[n];
    long[] keys = new long[n];
    data.asDoubleBuffer().get(scores);
    read("keys").asLongBuffer().get(keys);
    for (int command; (command = System.in.read()) >= 0; System.out.println()) {
      if (command == 's') {
        score(scores, keys, values);
      } else {
        out.asDoubleBuffer().put(values);
        Files.write(Paths.get("values"), out.array());
      }
    }
  }
}
"""

JAVASCRIPT = """
import { readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
import { predict } from "./scored.mjs";

const scores = new Float64Array(new Uint8Array(readFileSync("scores")).buffer);
const keys = new BigUint64Array(new Uint8Array(readFileSync("keys")).buffer);
const values = new Float64Array(scores.length);

function score() {
  for (let i = 0; i < scores.length; i++) values[i] = predict(scores[i]%(key)s);
}

const command = new Uint8Array(1);
while (readSync(0, command, 0, 1, null) === 1) {
  if (command[0] === 115) score(); else writeFileSync("values", values);
  writeSync(1, "\\n");
}
"""


@contextmanager
def _waiting(task: Task, *command: str) -> Iterator[Built]:
    """A program that scores its rows at each "s", writes the values at a "w", and answers with a line when it is done."""
    task.scores.tofile(task.folder / "scores")
    (np.zeros(len(task.scores), np.uint64) if task.keys is None else task.keys).tofile(task.folder / "keys")
    with subprocess.Popen(command, cwd=task.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def tell(letter: bytes) -> None:
            process.stdin.write(letter)
            process.stdin.flush()
            assert process.stdout.readline() == b"\n"

        def values() -> np.ndarray:
            tell(b"w")
            return np.fromfile(task.folder / "values")

        for _ in range(10):  # until it is compiled
            tell(b"s")
        try:
            yield Built(partial(tell, b"s"), values, {})
        finally:
            process.stdin.close()


@contextmanager
def _java(task: Task) -> Iterator[Built]:
    _need("javac", "java")
    (task.folder / "Scored.java").write_text(fb.export.java(task.model, "Scored"))
    (task.folder / "Loop.java").write_text(JAVA % {"key": "" if task.keys is None else ", keys[i]"})
    subprocess.run(["javac", "Loop.java"], cwd=task.folder, check=True)
    with _waiting(task, "java", "-XX:+UseSerialGC", "-cp", ".", "Loop") as built:
        yield built


@contextmanager
def _javascript(task: Task) -> Iterator[Built]:
    _need("node")
    (task.folder / "scored.mjs").write_text(fb.export.javascript(task.model))
    (task.folder / "loop.mjs").write_text(JAVASCRIPT % {"key": "" if task.keys is None else ", keys[i]"})
    with _waiting(task, "node", "loop.mjs") as built:
        yield built


# ------------------------------------------------------------------------------------------------- all targets

TARGETS: dict[str, Callable[[Task], AbstractContextManager[Built]]] = {
    "C header": _c,
    "Java class": _java,
    "JavaScript module": _javascript,
}


def _task(case: ExportCase, folder: Path) -> Task:
    rng = np.random.default_rng(12)
    if not case.has_keys:
        model = fb.UniformMassBinning(case.n_bins).fit(*rows("uniform", N_FIT)).model_
        return Task(folder, model, rng.random(N_ROWS), None)
    model = fb.UniformMassBinning(case.n_bins, ties="random").fit(*rows("100 values", N_FIT)).model_
    return Task(folder, model, rng.choice(model.edges, N_ROWS), rng.integers(0, 2**64 - 1, N_ROWS, dtype=np.uint64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", EXPORTS, ids=lambda case: case.name("B")[3:])
def bench_exports(case: ExportCase, target: str, is_long: bool, tmp_path: Path, benchmark, report) -> None:
    if not is_long and not case.is_short:
        pytest.skip("only with --long")
    task = _task(case, tmp_path)
    expected, out = task.model.predict(task.scores, tie_keys=task.keys), np.empty(N_ROWS)
    with TARGETS[target](task) as built:
        for call in (built.score, *built.by_hand.values()):
            call()
            assert np.array_equal(built.values().view(np.uint64), expected.view(np.uint64))
        predict = partial(task.model.predict, task.scores, tie_keys=task.keys, out=out)
        timed = paired({"predict": predict, "export": built.score, **built.by_hand}, seconds=4 if is_long else 1.5)
        name = case.name(target)
        report(name, cases.SCORE_NS, 1e9 * timed.seconds("export") / N_ROWS)
        report(name, export_cases.EXPORT_TO_PREDICT, timed.ratio("export", to="predict"))
        for search in built.by_hand:
            report(name, export_cases.BY_HAND_TO_EXPORT[search], timed.ratio(search, to="export"))
        benchmark.pedantic(built.score, rounds=5)
