"""The site: `make site`. Pages are Markdown, the reference is written from the docstrings, one page a public name."""

from __future__ import annotations

import html
import importlib
import inspect
import os
import re
import types
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import fastbin as fb

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

project = "fastbin"
author = "The fastbin authors"
version = release = fb.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_typehints = "none"  # types stand in the docstrings
autodoc_member_order = "bysource"
default_role = "py:obj"
nitpicky = True
toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = f"fastbin {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
}

# The reference by task: a heading, and the modules whose public names stand below it. "" is fastbin itself.
TASKS = {
    "Fit, score and promise": ("",),
    "Classes and segments": ("multi",),
    "From bins to a promise": ("guarantees", "intervals"),
    "Assess": ("assess", "report", "plots"),
    "Serve elsewhere": ("export",),
    "Where the data are": ("engines", "polars", "io"),
    "Decide, watch and move": ("decide", "online", "shift"),
    "In scikit-learn": ("sklearn",),
    "Reproduce the papers": ("theory",),
}


def public_names(module: str) -> list[str]:
    """The public names of a module, but for modules, dotted."""
    if module:
        return [f"fastbin.{module}.{name}" for name in sorted(importlib.import_module(f"fastbin.{module}").__all__)]
    names = (name for name in dir(fb) if not name.startswith("_"))
    return [f"fastbin.{name}" for name in names if not isinstance(getattr(fb, name), types.ModuleType)]


def value_of(dotted: str) -> Any:
    value: Any = fb
    for part in dotted.split(".")[1:]:
        value = getattr(value, part)
    return value


def summary_of(value: Any) -> str:
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def page_of(dotted: str) -> str:
    value, name = value_of(dotted), dotted.removeprefix("fastbin.")
    lines = [name, "=" * len(name), ""]
    if isinstance(value, type):
        lines += [
            f".. autoclass:: {dotted}",
            "   :members:",
            "   :inherited-members: BaseException, tuple, BaseEstimator, dict",
        ]
    elif callable(value):
        lines += [f".. autofunction:: {dotted}"]
    else:
        lines += [f".. autodata:: {dotted}"]
    return "\n".join(lines) + "\n"


def write_reference() -> None:
    """reference/index.rst and a page for each public name. Unchanged files keep their times: a second build is short."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    index = ["Reference", "=========", ""]
    wanted = set()
    for task, modules in TASKS.items():
        names = [name for module in modules for name in public_names(module)]
        index += [task, "-" * len(task), "", ".. list-table::", "   :widths: 35 65", ""]
        for name in names:
            index += [f"   * - :doc:`{name.removeprefix('fastbin.')} <{name}>`", f"     - {summary_of(value_of(name))}"]
            wanted.add(write(folder / f"{name}.rst", page_of(name)))
        index += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    wanted.add(write(folder / "index.rst", "\n".join(index) + "\n"))
    for path in set(folder.glob("*.rst")) - wanted:
        path.unlink()


# Pages of the repository that are pages of the site too; links from any page to them lead there.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "SECURITY.md": "about/security.md",
    "csrc/FORMAT.md": "about/format.md",
    "bench/README.md": "about/measuring.md",
    "bench/calarena/README.md": "about/arena.md",
}
DOWNLOADS = [ROOT / "tests/data/credit.csv.gz", ROOT / "examples/service.py", ROOT / "examples/credit.py"]
LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def within_site(text: str, folder: Path, page: Path) -> str:
    """Markdown of this folder of the repository as `page` of the site; a link to anything else becomes its text."""

    def link(match: re.Match[str]) -> str:
        mark, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = (folder / target).resolve()
        if mark or path in DOWNLOADS or (HERE in path.parents and "about" not in path.parts):
            return f"{mark}[{words}]({os.path.relpath(path, page.parent)}{anchor})"
        inside = PAGES.get(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else None
        return words if inside is None else f"[{words}]({os.path.relpath(HERE / inside, page.parent)}{anchor})"

    return LINK.sub(link, text)


def write_pages() -> None:
    (HERE / "about").mkdir(exist_ok=True)
    for source, page in PAGES.items():
        if page != "index.md":
            path = ROOT / source
            write(HERE / page, within_site(path.read_text(encoding="utf8"), path.parent, HERE / page))


def keep_inside(app: Any, name: str, source: list[str]) -> None:
    if not name.startswith(("about/", "reference/")):
        page = HERE / f"{name}.md"
        source[0] = within_site(source[0], page.parent, page).replace("\n\n```\n", "\n```\n")  # the end of a doctest


def write(path: Path, text: str) -> Path:
    if not path.exists() or path.read_text(encoding="utf8") != text:
        path.write_text(text, encoding="utf8")
    return path


# Single backticks in docstrings name parameters, attributes and code more often than public names: what is not one is code.
def as_code(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    from docutils import nodes

    return nodes.literal("", contnode.astext(), classes=["code"])


def escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """In docstrings bars mean absolute values, and names that end in an underscore are attributes: neither is markup."""
    for at, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [re.sub(r"(?<![\w`])([a-z]\w*)_(?![\w`])", r"\1\\_", part.replace("|", "\\|")) for part in parts[::2]]
        lines[at] = "``".join(parts)


def check_links(app: Any, exception: Exception | None) -> None:
    """Every link and anchor of the pages leads to a file and a place that were built, and every public name has its page."""
    if exception is not None or app.builder.format != "html":
        return
    from sphinx.errors import SphinxError

    out = Path(app.outdir)
    files = (path for path in out.rglob("*.html") if "_static" not in path.parts)  # there the theme keeps templates
    pages = {path: path.read_text(encoding="utf8") for path in files}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    faults = []
    for path, text in pages.items():
        for link in sorted({html.unescape(link) for link in re.findall(r'\b(?:href|src)="([^"]*)"', text)}):
            address, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:|//", link):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.exists() or (anchor and unquote(anchor) not in places.get(target, ())):
                faults.append(f"{path.relative_to(out)}: {link}")
    for module in sorted({module for modules in TASKS.values() for module in modules}):
        pages_of = {name: out / "reference" / f"{name}.html" for name in public_names(module)}
        faults += [f"{name} has no page" for name, page in pages_of.items() if name not in places.get(page, ())]
    if faults:
        raise SphinxError("links that lead nowhere:\n" + "\n".join(faults))


def setup(app: Any) -> None:
    write_reference()
    write_pages()
    app.connect("source-read", keep_inside)
    app.connect("autodoc-process-docstring", escape)
    app.connect("missing-reference", as_code)
    app.connect("build-finished", check_links)
