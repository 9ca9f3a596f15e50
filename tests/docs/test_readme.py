"""The README and its first pages: commands, C and CMake run, and the table of losses is what was measured.

Their Python runs in test_public_api.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import click
import numpy as np
import pytest
from commands import command_line, run_lines
from commands import run as run_command
from docs.shell import need, run

import fastbin as fb
from fastbin.vector_model import VectorMap, VectorModel
from fresh_python import run_python

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf8")


PAGES = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("c.md", "command-line.md", "deploy.md"))]


def blocks(language: str) -> list[str]:
    """Those of the README and the pages that took its sections."""
    text = "".join(page.read_text(encoding="utf8") for page in PAGES)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell_block(start: str) -> str:
    (block,) = (block for block in blocks("sh") if block.startswith(start))
    return block


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README names."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(10_000)
    labels = rng.random(10_000) < 0.2 + 0.5 * scores
    fb.UniformMassBinning(n_bins=10).fit(scores, labels).model_.save(tmp_path / "credit.fbm")
    rows = zip(scores.tolist(), labels.tolist(), strict=True)
    lines = [f"{score!r},{label:d}\n" for score, label in rows]
    for name, part in {"scores": lines, "test": lines[:2000], "recent": lines[:200], "outcomes": lines[:100]}.items():
        (tmp_path / f"{name}.csv").write_text("p,y\n" + "".join(part))
    (tmp_path / "new.csv").write_text(
        "id,p\n" + "".join(f"{row},{score!r}\n" for row, score in enumerate(scores[:100].tolist()))
    )
    return tmp_path


def test_the_readme_is_short() -> None:
    """At most 140 lines, and 700 words outside code, tables, and the addresses of links."""
    text = re.sub(r"^```.*?^```|^\|[^\n]*|!\[[^\]]*\]", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(README.splitlines()) <= 140
    assert 300 < len(re.sub(r"\]\([^)]*\)", "]", text).split()) <= 700


def test_the_first_screen_is_in_order() -> None:
    marks = (
        "# fastbin",
        "](docs/before-after.png)",
        "```pycon",
        "## Install",
        "## What the promise",
        "## When not",
        "<!-- bench:start -->",
    )
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)


def test_every_file_tells_the_same_version() -> None:
    """The changelog's newest head, and how to cite this."""
    (newest, *_) = re.findall(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(encoding="utf8"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf8"), re.MULTILINE)
    assert cited is not None
    assert newest == cited[1] == fb.__version__


def test_the_figures_of_its_prose() -> None:
    """The sizes of promises, of the samples of the README and of others."""
    prose = " ".join(README.split())
    rng = np.random.default_rng(0)
    scores = rng.random(10_000)
    cal = fb.UniformMassBinning().fit(scores, rng.random(10_000) < 0.2 + 0.5 * scores)
    found, before, hull = (cal.certificate(alpha=0.1, bound=bound).epsilon for bound in (None, "a-priori", "hull"))
    assert f"{found:.3f} here, and at most {before:.3f}, which is known before a label is seen (`fb.epsilon`)" in prose
    assert fb.epsilon(10_000, n_bins=10, alpha=0.1) == before
    assert f"does without the last, and is larger ({hull:.4f} for {found:.4f} there)" in prose
    assert "`CertifiedCalibration` keeps nearly all of the order" in prose
    served = fb.CertifiedCalibration().fit(scores, scores > rng.random(10_000)).predict(np.sort(scores))
    assert (np.diff(served) >= 0).all()
    _, tied = np.unique(served, return_counts=True)
    assert ((tied / 10_000) ** 2).sum() < 0.002  # the share of pairs whose order is lost
    sizes = 500, 1_000, 10_000
    told = [fb.epsilon(n, n_bins=10, alpha=0.1) for n in sizes]
    assert "in ten bins promises {:.2f}, {:.2f} and {:.2f}, which `fb.epsilon` tells before".format(*told) in prose
    assert "500 promise 0.17 to 0.33, 1,000 0.12 to 0.24, 10,000 0.05 to 0.08." in prose
    for n, least, most in zip(sizes, (0.17, 0.12, 0.05), (0.33, 0.24, 0.08), strict=True):
        for low, high in ((0.2, 0.7), (0.0, 1.0)):
            labels = rng.random(n) < low + (high - low) * scores[:n]
            epsilon = fb.CertifiedCalibration().fit(scores[:n], labels).certificate().epsilon
            assert least - 0.01 < epsilon < most


def test_the_pythons_are_those_that_are_declared() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    declared = re.findall(r"Python :: (3\.\d+)", project)
    assert f"fastbin needs Python {declared[0]} to {declared[-1]}" in README
    assert f'requires-python = ">={declared[0]}"' in project


def test_losses_are_those_of_the_arena() -> None:
    """Each row of the README's table of quality, rounded, in the saved tables of bench/calarena."""
    saved = (ROOT / "bench" / "calarena" / "results" / "table.txt").read_text(encoding="utf8")
    names = {
        "`CertifiedCalibration`": "Certified  ", "temperature (scikit-learn)": "CalibratedClassifierCV temperature",
        "beta calibration (betacal)": "BetaCalibration  ", "Venn-Abers (venn-abers)": "VennAbers  ",
        "isotonic regression (scikit-learn)": "IsotonicRegression  ",
    }  # fmt: skip
    losses, _, promises = saved.partition("eps n=500")
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.-]+) \|$", README, re.MULTILINE)
    assert [name for name, *_ in rows] == list(names)
    for name, *shown, epsilon in rows:
        (line,) = (line for line in losses.splitlines() if line.startswith(names[name]))
        log_loss, brier = re.split(r" \d+/\d+ ", line)[1].split()[:2]
        assert [float(loss) for loss in shown] == [round(float(loss), 3) for loss in (log_loss, brier)]
        promised = [line.split()[4] for line in promises.splitlines() if line.startswith(names[name]) and "fastbin" in line]
        assert ([] if epsilon == "-" else [float(epsilon)]) == [round(float(each) + 1e-9, 3) for each in promised]
    n_sets, n_cells = re.match(r"\d+ score sets", saved), re.search(r"^Certified  .* (\d+)/\1 ", losses, re.MULTILINE)
    assert n_sets is not None
    assert n_cells is not None
    assert f"mean over {n_cells[1]} cells of {n_sets[0]}, n ≥ 1,000" in README


def test_speeds_are_those_of_the_saved_runs(tmp_path: Path) -> None:
    """bench/tables.py writes the tables of the README and of docs/speed.md from bench/results anew, and changes nothing."""
    if not (ROOT / "bench" / "results").is_dir():
        pytest.skip("bench/ is not part of this distribution")
    shutil.copytree(ROOT / "bench", tmp_path / "bench")
    (tmp_path / "docs").mkdir()
    pages = ("README.md", "docs/speed.md")
    for page in pages:
        shown = (ROOT / page).read_text(encoding="utf8")
        emptied = re.sub(r"(?s)(<!-- bench:start -->).*(<!-- bench:end -->)", r"\1\n\2", shown)
        assert emptied != shown
        (tmp_path / page).write_text(emptied, encoding="utf8")
    run_python(str(tmp_path / "bench" / "tables.py"))
    for page in pages:
        assert (tmp_path / page).read_text(encoding="utf8") == (ROOT / page).read_text(encoding="utf8")


def test_a_macro_is_made_of_an_export(folder: Path) -> None:
    export, *lines = shell_block("fastbin export credit.fbm -o calibrated.sql").splitlines()
    run_lines(export)
    run("\n".join(lines), folder)
    macro = (folder / "macros" / "calibrated.sql").read_text()
    assert macro.startswith("{% macro calibrated(p) %}")
    assert macro.endswith("{% endmacro %}\n")
    assert macro.count("{{ p }}") >= 10  # compared with each edge


def test_two_commands_do_all_the_set_up() -> None:
    """With extras that exist; CI runs the second as it stands."""
    setup = shell_block("python -m pip install").splitlines()
    assert setup == ['python -m pip install ".[cli]" && fastbin demo', 'python -m pip install ".[test]" && pytest']
    project = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    section = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", section, re.MULTILINE)
    assert {"cli", "fit"} <= set(re.findall(r"`\[(\w+)\]`", README)) <= set(extras)
    if (ROOT / ".ci").is_dir():  # not in the source distribution
        script = (ROOT / ".ci/run").read_text(encoding="utf8")
        assert all(f"bash -c '{command}'" in script for command in setup)


def test_the_commands_say_how_long_they_take() -> None:
    section = " ".join(README.partition("## Install")[2].partition("```sh")[0].split())
    assert re.search(r"the first command .* in one to three minutes; the second .* minutes on two cores", section)


def test_the_command_line_section_runs(folder: Path) -> None:
    (folder / "credit.fbm").unlink()
    printed = run_lines(shell_block("fastbin bins"))
    assert "With probability at least 90 %" in " ".join(printed.split())
    heading, *lines = (folder / "out.csv").read_text().splitlines()
    assert len(heading.split(",")) == 2 + 3
    assert len(lines) == 100
    assert "<svg" in (folder / "report.html").read_text(encoding="utf8")
    assert fb.load(folder / "now.fbm").odds_ratio != 1.0
    given = {"scores.csv", "test.csv", "recent.csv", "outcomes.csv", "new.csv"}
    made = {"credit.fbm", "credit.onnx", "now.fbm", "now.mon", "out.csv", "report.html", "report.json", "pack.json"}
    decided = {"decision.json", "label-these.csv", "plan.json"}
    assert {path.name for path in folder.iterdir()} == given | made | decided


def test_every_command_of_the_readme_exists() -> None:
    in_blocks = re.findall(r"^fastbin ([a-z][a-z-]*)", "".join(blocks("sh")), re.MULTILINE)
    in_prose = (name for page in PAGES for name in re.findall(r"`fastbin ([a-z][a-z-]*)", page.read_text("utf8")))
    commands = {*in_blocks, *in_prose}
    assert len(commands) >= 4
    for command in commands:
        assert f"Usage: fastbin {command}" in run_command(command, "--help", prog_name="fastbin").output


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name)
def test_commands_in_prose_are_understood(path: Path) -> None:
    """Every ``fastbin COMMAND ...`` of a page, in blocks and in the text: the command is there, and takes these options."""
    text = path.read_text(encoding="utf8")
    typed = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    typed += re.findall(r"^    (fastbin .*)", text, re.MULTILINE) + re.findall(r"`(fastbin [^`]*)`", text)
    commands = re.findall(r"^fastbin ([a-z][a-z-]*)([^#\n]*)", "\n".join(typed).replace(" | ", "\n"), re.MULTILINE)
    assert bool(commands) == bool(re.search(r"^fastbin [a-z]", "\n".join(typed), re.MULTILINE))
    for name, arguments in commands:
        command = command_line.get_command(click.Context(command_line), name)
        assert command is not None, f"{path.name}: fastbin has no command {name}"
        if arguments.strip():
            command.make_context(name, shlex.split(arguments))


@pytest.mark.sampled
@pytest.mark.parametrize("way", range(4), ids=["package", "sources", "make", "cmake"])
def test_the_c_program_links_in_each_way(folder: Path, way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And prints what Python predicts. Compilers do not optimise here, which takes most of their time and changes no answer."""
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("CMAKE_BUILD_TYPE", "Debug")
    need("cc", *(["make", "pkg-config"] if way == 2 else ["cmake"] if way == 3 else []))
    program, _ = blocks("c")
    (folder / "main.c").write_text(program)
    shutil.copytree(ROOT / "csrc", folder / "csrc", ignore=shutil.ignore_patterns("build"))
    lines = shell_block("cc main.c").splitlines()
    run("\n".join((lines[:1], lines[1:2], lines[2:5], lines[5:])[way]), folder)
    if way == 3:
        find, link = blocks("cmake")[0].splitlines()
        lines = ["cmake_minimum_required(VERSION 3.15)", "project(score C)", find, "add_executable(score main.c)", link, ""]
        (folder / "CMakeLists.txt").write_text("\n".join(lines))
        run('cmake -S . -B o -DCMAKE_PREFIX_PATH="$HOME/.local" && cmake --build o && cp o/score .', folder)
    model = fb.load(folder / "credit.fbm")
    assert not model.needs_key  # so that the key in the program decides nothing
    assert "fastbin_predict_one(model, 0.98, 0, &probability)" in program
    assert run("./score", folder) == f"{model.predict_one(0.98):.4f}\n"


@pytest.mark.sampled
def test_the_c_program_of_vector_models(folder: Path) -> None:
    """It prints the rows that Python predicts."""
    need("cc")
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1, 1, 1], 500)
    models = {c: fb.CertifiedCalibration().fit(P[:, c], rng.random(500) < P[:, c] ** 2).model_ for c in range(3)}
    own = VectorMap(0.5, 0.01, 1e-9, False, np.array([0.8, 1.0, 1.2]), np.zeros(3), np.full(3, 1 / 3), None)
    model = VectorModel._of(models, own)
    model.save(folder / "animals.fbm")
    (folder / "main.c").write_text(blocks("c")[1])
    run("cc -O0 -Wall -Wextra -Werror main.c $(fastbin --cflags --libs) -lm -o score", folder)
    expected = model.predict([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])
    assert run("./score", folder) == "".join("{:.4f} {:.4f} {:.4f}\n".format(*row) for row in expected)
