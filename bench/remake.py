"""The pictures of docs/ and the results of bench/papers/, made anew at fixed seeds; each holds the version that made it.

    python bench/remake.py                          all of them: half an hour, most of it for gpr20_figures23
    python bench/remake.py report ssh23_table1      these alone
    python bench/remake.py --data FOLDER cifar10_top_label

The script of a paper prints what bench/papers/results/ holds, and draws the figures that docs/ shows. cifar10_top_label needs
logits that are not part of this repository, and is left out without --data. The report is a screenshot by chromium.
tests/docs/test_remade.py compares the versions.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import fastbin as fb

ROOT = Path(__file__).resolve().parents[1]
DOCS, PAPERS = ROOT / "docs", ROOT / "bench" / "papers"
RESULTS = PAPERS / "results"

# For each script what it is asked for, and which of its figures docs/ shows.
SCRIPTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ssh23_table1": ((), ()),
    "gr21_credit": (("--figures", "."), ("gr21_figure3.png",)),
    "ssh23_risk": (("--figures", "."), ("ssh23_figure2.png",)),
    "gpr20_figures23": (("--seeds", "20"), ()),
    "cifar10_top_label": ((), ()),
}
NEEDS_DATA = "cifar10_top_label"
OTHERS = ("first", "continuous", "online", "report")
SOFTWARE = f"fastbin {fb.__version__}"


def run_script(name: str, options: tuple[str, ...], figures: tuple[str, ...], folder: Path) -> None:
    """The output of one script, and its figures, where it succeeds."""
    script = [sys.executable, str(PAPERS / f"{name}.py"), *options]
    output = subprocess.run(script, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    (RESULTS / f"{name}.txt").write_bytes(output)
    for figure in figures:
        shutil.copy(folder / figure, DOCS / figure)


def draw_first() -> None:
    """docs/before-after.png: the README's example on new samples. The band is the certificate."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    scores = rng.random(10_000)
    cal = fb.CertifiedCalibration().fit(scores, rng.random(10_000) < 0.2 + 0.5 * scores)
    epsilon = cal.certificate(alpha=0.1).epsilon
    new_scores = rng.random(200_000)
    labels = rng.random(200_000) < 0.2 + 0.5 * new_scores
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.9), sharey=True, layout="constrained")
    for ax, served, title in zip(axes, (new_scores, cal.predict(new_scores)), ("Before", "After"), strict=True):
        fb.plots.reliability_diagram(served, labels, n_bins=20, alpha=None, limit=1.0, ax=ax)
        ax.set_title(title)
    ends = np.array([0.0, 1.0])
    axes[1].fill_between(ends, ends - epsilon, ends + epsilon, alpha=0.2, color="#0072b2", linewidth=0)
    axes[1].text(0.03, 0.88, f"certificate: within {epsilon:.3f} in each\nbin at once, with probability 90 %", fontsize=8)
    figure.savefig(DOCS / "before-after.png", dpi=150, metadata={"Software": SOFTWARE})
    plt.close(figure)


def draw_continuous(folder: Path) -> None:
    """docs/continuous.png, by the session of its page."""
    page = (DOCS / "certificates.md").read_text(encoding="utf8")
    blocks = re.findall(r"^```pycon\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_examples("\n".join(blocks))
    script = "".join(example.source for example in session)
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    shutil.copy(folder / "continuous.png", DOCS)


def draw_online() -> None:
    """docs/online-delay.svg, and the tables of docs/online.md."""
    subprocess.run([sys.executable, "-m", "simulation.monitoring", "--write"], cwd=ROOT / "tests", check=True)


def draw_report(folder: Path) -> None:
    """docs/report.png: the page on CREDIT, 5,000 rows to calibrate on and 10,000 to test on."""
    sys.path.insert(0, str(PAPERS))
    from credit import default_path, read_credit, score_credit

    scored = score_credit(*read_credit(default_path()), seed=0)
    for name, rows in (("credit", slice(5000)), ("credit_test", slice(5000, None))):
        columns = np.column_stack([scored.scores[rows], scored.labels[rows]])
        np.savetxt(folder / f"{name}.csv", columns, delimiter=",", header="p,label", comments="", fmt=("%.17g", "%d"))
    title = "Credit default: calibration report"
    for command in (
        ["fit", "credit.csv", "-o", "credit.fbm"],
        ["fit", "credit.csv", "--method", "isotonic", "-o", "isotonic.fbm"],
        ["report", "credit.fbm", "credit_test.csv", "--against", "isotonic.fbm", "--title", title, "-o", "report.html"],
    ):
        subprocess.run([sys.executable, "-m", "fastbin", *command, "-q"], cwd=folder, check=True)
    photograph(folder / "report.html", folder / "page.png")
    sign(folder / "page.png", DOCS / "report.png")


def photograph(page: Path, picture: Path) -> None:
    """A page in full, by chromium without a window; wider than on screens, so that no column of a table is cut."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("the report is a picture of a page: install chromium, or name what else is to be made")
    text = page.read_text(encoding="utf8")
    page.write_text(text.replace("</head>", "<style>main { max-width: none; }</style></head>", 1), encoding="utf8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,7000"]
    options += ["--force-device-scale-factor=0.7"]  # the page is long, and the picture is looked at in a document
    subprocess.run([browser, *options, f"--screenshot={picture}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)


def sign(picture: Path, target: Path) -> None:
    """The picture without the empty rows below, in few colours, and with the version that made it."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    image = Image.open(picture).convert("RGB")
    pixels = np.asarray(image)
    used = np.flatnonzero((pixels != pixels[-1, -1]).any(axis=(1, 2)))
    if len(used) == 0 or used[-1] > image.height - 20:
        sys.exit(f"the page does not end within {image.height} pixels; make the window higher")
    note = PngInfo()
    note.add_text("Software", SOFTWARE)
    shown = image.crop((0, 0, image.width, int(used[-1]) + 20))
    shown.quantize(32, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(target, pnginfo=note, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join([*SCRIPTS, *OTHERS])}; by default all")
    parser.add_argument("--data", type=Path, help=f"the folder with the logits of {NEEDS_DATA}")
    options = parser.parse_args()
    names = options.names or [name for name in (*SCRIPTS, *OTHERS) if name != NEEDS_DATA or options.data]
    unknown = sorted(set(names) - {*SCRIPTS, *OTHERS})
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join([*SCRIPTS, *OTHERS])}")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for name in names:
        print(name, file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            if name in SCRIPTS:
                asked, figures = SCRIPTS[name]
                if name == NEEDS_DATA:
                    asked = ("--data", str(options.data.resolve())) if options.data else ()
                run_script(name, asked, figures, Path(folder))
            elif name == "first":
                draw_first()
            elif name == "continuous":
                draw_continuous(Path(folder))
            elif name == "online":
                draw_online()
            else:
                draw_report(Path(folder))


if __name__ == "__main__":
    main()
