"""Sentences that are turned around: `python tests/prose.py [PATH ...]` prints where, and fails if there are any.

The patterns: "is no <noun>" for "is not a <noun>"; a sentence that begins with "Of"; a docstring that begins with "what".
They are sought in comments, docstrings and messages of the code, in the comments of C, and in all pages.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

COMPARED = "longer|more|less|better|worse|larger|smaller|slower|faster|wider|tighter|greater|higher|lower|earlier|later|matter"
TURNED = [
    re.compile(rf"(?<!\bthere )\b(?:is|are|was|were|be) no (?!(?:{COMPARED})\b)\w+", re.IGNORECASE),
    re.compile(r"(?:^|[.!?] |\n\n)Of (?!course\b)\w+"),
]
ABOUT_WHAT = re.compile(r"^What\b")

# Words that stay: models keep this note, and the same fit must give the same bytes.
KEPT = {("fastbin/sklearn/calibrated_classifier.py", "are no draws")}

Text = tuple[int, str, bool]  # the line where it begins, the words, whether it is a docstring


def in_python(source: str) -> Iterator[Text]:
    """Comments, runs of them as one text, and all strings."""
    tree = ast.parse(source)
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    owned = [node for node in ast.walk(tree) if isinstance(node, owners)]
    docs = {id(node.body[0].value) for node in owned if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in docs
    yield from in_comments(
        (token.start[0], token.string.lstrip("#: "))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    )


def in_comments(lines: Iterator[tuple[int, str]]) -> Iterator[Text]:
    """Comments of lines that follow each other are one text."""
    first, last, words = 0, -1, ""
    for line, text in lines:
        if line != last + 1:
            yield first, words, False
            first, words = line, ""
        words, last = f"{words}\n{text}" if words else text, line
    yield first, words, False


def in_c(source: str) -> Iterator[Text]:
    for match in re.finditer(r"/\*(.*?)\*/", source, re.DOTALL):
        yield source.count("\n", 0, match.start()) + 1, re.sub(r"\n\s*\*? ?", "\n", match.group(1)).strip(), False


def in_cython(source: str) -> Iterator[Text]:
    for match in re.finditer(r'"""(.*?)"""', source, re.DOTALL):
        yield source.count("\n", 0, match.start()) + 1, match.group(1), True
    yield from in_comments(
        (number, line.partition("#")[2].strip()) for number, line in enumerate(source.splitlines(), 1) if "#" in line
    )


def texts(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf8")
    if path.suffix in (".py", ".pyi"):
        yield from in_python(source)
    elif path.suffix in (".c", ".h"):
        yield from in_c(source)
    elif path.suffix in (".pyx", ".pxi", ".pxd"):
        yield from in_cython(source)
    else:
        yield 1, re.sub(r"```.*?```", lambda code: "\n" * code.group().count("\n"), source, flags=re.DOTALL), False


def turned(path: Path) -> Iterator[str]:
    """Where in this file, and the words."""
    place = path.relative_to(ROOT)
    for line, text, is_docstring in texts(path):
        found = [match for pattern in TURNED for match in pattern.finditer(text)]
        if is_docstring and (match := ABOUT_WHAT.match(text.strip())):
            found.append(match)
        for match in found:
            if (place.as_posix(), match.group().strip()) in KEPT:
                continue
            yield f"{place}:{line + text.count(chr(10), 0, match.start())}: {match.group().strip()}"


def main() -> None:
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", *sys.argv[1:]]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    suffixes = {".py", ".pyi", ".pyx", ".pxi", ".pxd", ".c", ".h", ".md"}
    skipped = ("bench/", "tests/data", "csrc/fuzz/corpus")
    paths = [ROOT / name for name in listed.splitlines() if Path(name).suffix in suffixes and not name.startswith(skipped)]
    paths = [path for path in paths if path.exists() and path != Path(__file__)]
    found = [sentence for path in paths for sentence in turned(path)]
    print("\n".join(found))
    sys.exit(f"{len(found)} sentences are turned around; write subject, verb, object" if found else 0)


if __name__ == "__main__":
    main()
