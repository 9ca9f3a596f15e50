"""How much the tests notice: random single changes of the code, and whether a test fails for each.

    python tests/mutants.py reach OUT             which tests reach which lines, by coverage.py, of the fast tests
    python tests/mutants.py draw OUT --seed 1     120 changes of fastbin/ and 30 of csrc/src, as OUT/mutants.json
    python tests/mutants.py run OUT               each change in a copy of the tree, with the tests that reach its line
    python tests/mutants.py carry OLD OUT         the changes of OLD where their lines stand today; lines that are gone are told

`make mutants` does the first three. A change swaps an operator, moves a constant, or deletes a statement. In C, it is tried
with the tests of the C library. A change that makes a test run out of time has died as well.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600  # of one change
# What pytest ends with where all tests of a line are slow by now, and where one was renamed since `reach`.
NO_TESTS, NO_SUCH_TEST = 5, 4

SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "and": "or", "or": "and", "&&": "||", "||": "&&", "True": "False", "False": "True", "min": "max", "max": "min",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&",
}  # fmt: skip
C_TOKENS = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//.*|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d[\w.]*'
    r"|<<|>>|&&|\|\||[<>=!]=|->|\+\+|--|[-+*/&|]=|."
)
C_STATEMENT = re.compile(r"(\s+)(?!return|const|static|break|continue|[a-z_0-9]+ \*?\w+;)[^{}\s][^{}]*;\s*")

Mutant = dict[str, Any]


# ------------------------------------------------------------------------------------------------- changes


def changed(token: str) -> str | None:
    """The replacement of a token, if it can be changed."""
    if token in SWAPS:
        return SWAPS[token]
    if re.fullmatch(r"\d+", token):
        return str(int(token) + 1)
    if re.fullmatch(r"\d+\.\d*|\d*\.\d+", token):
        return repr(1.5 * float(token) + 0.25)
    return None


def python_changes(path: Path) -> Iterator[Mutant]:
    """The changes of a Python file: not of imports, annotations, docstrings or decorators."""
    text = path.read_text(encoding="utf8")
    tree = ast.parse(text)
    lines = text.splitlines()
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts: list[Any] = [node] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        parts += [node.annotation] if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation else []
        parts += [node.returns, *node.decorator_list] if isinstance(node, ast.FunctionDef) else []
        for part in filter(None, parts):
            skipped.update(range(part.lineno, part.end_lineno + 1))
        is_plain = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Return))
        if is_plain and node.lineno == node.end_lineno and not _is_text(node):
            indent = lines[node.lineno - 1][: node.col_offset]
            if not indent.strip():
                yield _mutant(path, node.lineno, lines, f"{indent}pass", "deleted")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        new = changed(token.string) if token.type in (tokenize.OP, tokenize.NUMBER, tokenize.NAME) else None
        row, column = token.start
        if new is not None and row not in skipped:
            line = lines[row - 1]
            yield _mutant(path, row, lines, line[:column] + new + line[token.end[1] :], f"{token.string} -> {new}")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def c_changes(path: Path) -> Iterator[Mutant]:
    """The changes of a C file: not of comments, includes or the preprocessor."""
    text = path.read_text(encoding="utf8")
    blanked = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL)
    lines = text.splitlines()
    for row, line in enumerate(blanked.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        statement = C_STATEMENT.fullmatch(line)
        if statement is not None:
            yield _mutant(path, row, lines, f"{statement.group(1)};", "deleted")
        for found in C_TOKENS.finditer(line):
            new = changed(found.group())
            is_pointer = found.group() in "*&" and line[found.end() : found.end() + 1] != " "  # or an address
            if new is not None and not is_pointer:
                yield _mutant(path, row, lines, line[: found.start()] + new + line[found.end() :], f"{found.group()} -> {new}")


def _mutant(path: Path, row: int, lines: list[str], new: str, change: str) -> Mutant:
    around = [lines[at].strip() if 0 <= at < len(lines) else "" for at in (row - 2, row)]
    name = path.relative_to(ROOT).as_posix()
    return {"file": name, "row": row, "old": lines[row - 1], "new": new, "change": change, "around": around}


def draw(out: Path, seed: int, n_python: int, n_c: int) -> None:
    rng = random.Random(seed)
    python = [each for path in sorted((ROOT / "fastbin").rglob("*.py")) for each in python_changes(path)]
    c = [each for path in sorted((ROOT / "csrc/src").glob("*.c")) for each in c_changes(path)]
    rng.shuffle(python)
    drawn = list(islice(filter(_is_python, python), n_python)) + rng.sample(c, n_c)
    (out / "mutants.json").write_text(json.dumps(drawn, indent=1), encoding="utf8")
    print(f"{len(drawn)} changes of {len(python)} in Python and {len(c)} in C")


def _is_python(mutant: Mutant) -> bool:
    lines = (ROOT / mutant["file"]).read_text(encoding="utf8").splitlines()
    lines[mutant["row"] - 1] = mutant["new"]
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def carry(old: Path, out: Path) -> None:
    """The same changes, where the line stands today: in another file only beside one of the same lines; of several places the
    likeliest."""
    suffixes = {".py": sorted((ROOT / "fastbin").rglob("*.py")), ".c": sorted((ROOT / "csrc/src").glob("*.c"))}
    lines = {path: path.read_text(encoding="utf8").splitlines() for paths in suffixes.values() for path in paths}
    kept, gone = [], []
    for mutant in json.loads((old / "mutants.json").read_text(encoding="utf8")):
        places = [
            (_likeness(mutant, path, at, text), path, at)
            for path in suffixes[Path(mutant["file"]).suffix]
            for text in [lines[path]]
            for at, line in enumerate(text)
            if line.strip() == mutant["old"].strip()
        ]
        places = [place for place in places if place[0][:2] > (0, False)]
        if not places:
            gone.append(mutant)
            continue
        _, path, at = max(places, key=lambda place: place[0])
        line = lines[path][at]
        indent = line[: len(line) - len(line.lstrip())]
        kept.append(_mutant(path, at + 1, lines[path], indent + mutant["new"].strip(), mutant["change"]))
    (out / "mutants.json").write_text(json.dumps(kept, indent=1), encoding="utf8")
    print(f"{len(kept)} changes stand today, {len(gone)} lines are gone")
    for mutant in gone:
        print(f"gone: {mutant['file']}:{mutant['row']}: {mutant['old'].strip()}")


def _likeness(mutant: Mutant, path: Path, at: int, text: list[str]) -> tuple[int, bool, int]:
    around = [text[i].strip() if 0 <= i < len(text) else "" for i in (at - 1, at + 1)]
    same = sum(map(str.__eq__, around, mutant["around"]))
    return same, path.relative_to(ROOT).as_posix() == mutant["file"], -abs(at + 1 - mutant["row"])


# ------------------------------------------------------------------------------------------------- tests


def reach(out: Path, tests: list[str]) -> None:
    """OUT/reach.json: for each line of each file the tests that run it; tests of a module's own lines are those of its file."""
    import coverage

    data = out / "coverage"
    data.mkdir(parents=True, exist_ok=True)
    settings = out / "coveragerc"
    settings.write_text(f"[run]\nsource = fastbin\ndata_file = {data}/.coverage\nparallel = true\nconcurrency = thread\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--cov-config={settings}", "--cov=fastbin"]
    command += ["-n", str(os.cpu_count()), "--dist", "worksteal"]  # said here: pytest-cov looks before tests/conftest.py does
    subprocess.run([*command, "--cov-context=test", "--cov-report=", *tests], cwd=ROOT, check=False)
    measured = coverage.CoverageData(str(data / ".coverage"))
    measured.read()
    found: dict[str, dict[str, list[str]]] = {}
    for path in measured.measured_files():
        contexts = measured.contexts_by_lineno(path)
        name = Path(path).relative_to(ROOT).as_posix()
        found[name] = {str(row): sorted({test.rpartition("|")[0] for test in tests if test}) for row, tests in contexts.items()}
    (out / "reach.json").write_text(json.dumps(found), encoding="utf8")


def tests_of(mutant: Mutant, reached: dict[str, dict[str, list[str]]]) -> list[str]:
    rows = reached.get(mutant["file"], {})
    own = rows.get(str(mutant["row"]))
    if own is None:
        return []
    return own or sorted({test for tests in rows.values() for test in tests})


def run(out: Path) -> None:
    """OUT/results.json: what became of each change; those that are there already are not tried again."""
    mutants = json.loads((out / "mutants.json").read_text(encoding="utf8"))
    reached = json.loads((out / "reach.json").read_text(encoding="utf8"))
    results_file = out / "results.json"
    results = json.loads(results_file.read_text(encoding="utf8")) if results_file.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "__pycache__", ".hypothesis", "build"))
        for mutant in mutants[len(results) :]:
            path = tree / mutant["file"]
            text = path.read_text(encoding="utf8")
            lines = text.splitlines(keepends=True)
            lines[mutant["row"] - 1] = mutant["new"] + "\n"
            path.write_text("".join(lines), encoding="utf8")
            is_c = mutant["file"].startswith("csrc/")
            mutant["result"] = _try_c(tree) if is_c else _try_python(tree, tests_of(mutant, reached))
            path.write_text(text, encoding="utf8")
            results.append(mutant)
            results_file.write_text(json.dumps(results, indent=1), encoding="utf8")
            print(f"{mutant['result']}: {mutant['file']}:{mutant['row']}: {mutant['change']}", flush=True)
    counts = Counter(mutant["result"] for mutant in results)
    died = counts["died"] + counts["timed out"] + counts["does not compile"]
    print(f"{died} of {len(results)} died: {dict(counts)}")


def _try_python(tree: Path, tests: list[str]) -> str:
    if not tests:
        return "not reached"
    listed = tree.parent / "tests.txt"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"@{listed}"]
    for some in (tests, sorted({test.partition("::")[0] for test in tests})):  # the files, where a test has another name by now
        listed.write_text("\n".join(some), encoding="utf8")
        outcome = _outcome(command, tree, {"PYTHONPATH": str(tree)}, {NO_TESTS: "not reached", NO_SUCH_TEST: "no such test"})
        if outcome != "no such test":
            return outcome
    return "died"  # the files are there, so their modules fail where they are imported


def _try_c(tree: Path) -> str:
    build = tree.parent / "c"
    shutil.rmtree(build, ignore_errors=True)
    library = ["make", "-s", "-C", "csrc", f"BUILD={build}"]
    if _outcome([*library, "all"], tree, {}) != "survived":
        return "does not compile"
    return _outcome([*library, "test"], tree, {})


def _outcome(command: list[str], tree: Path, more: dict[str, str], other: dict[int, str] | None = None) -> str:
    """Dead where the command fails, but for what `other` says of its exit status."""
    try:
        done = subprocess.run(command, cwd=tree, env=os.environ | more, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "timed out"
    return (other or {}).get(done.returncode, "died" if done.returncode else "survived")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["reach", "draw", "run", "carry"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", type=int, default=120)
    parser.add_argument("--c", type=int, default=30)
    parser.add_argument("--tests", nargs="*", default=["tests"])
    given = parser.parse_args()
    *_, out = given.folders
    out.mkdir(parents=True, exist_ok=True)
    if given.verb == "carry":
        carry(*given.folders)
    elif given.verb == "draw":
        draw(out, given.seed, given.python, given.c)
    elif given.verb == "reach":
        reach(out.resolve(), given.tests)
    else:
        run(out)


if __name__ == "__main__":
    main()
