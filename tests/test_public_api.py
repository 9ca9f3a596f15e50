"""Every public name is listed, exists, is documented as it is, and its examples run, those of the README included."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import pydoc
import re
import shutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbin as fb

ROOT = Path(__file__).resolve().parent.parent

# What `import fastbin` gives, and the documentation explains: no more, no less.
NAMESPACES = (
    "assess", "decide", "engines", "export", "guarantees", "intervals", "io", "multi", "online", "plots", "polars", "report",
    "shift", "sklearn", "theory",
)  # fmt: skip
CALIBRATORS = (
    "VennAbers", "BetaScaling", "CertifiedCalibration", "ExplicitBinning", "FixedWidthBinning", "IsotonicCalibration",
    "PlattScaling", "QuadraticScaling", "ScalingBinning", "SplineScaling", "TemperatureScaling", "UniformMassBinning",
)  # fmt: skip
ERRORS = (
    "FastbinError", "FastbinWarning",
    "FormatError", "GuaranteeError", "InputError", "InputTypeError", "MissingDependencyError", "NotFittedError",
)  # fmt: skip
FUNCTIONS = {"choose_n_bins", "epsilon", "hash_keys", "load", "merge_venn", "monotone_model", "predict_venn"}
EXPORTED = {*NAMESPACES, *CALIBRATORS, *ERRORS, *FUNCTIONS, "BinnedModel", "ModelSet"}
PUBLIC_MODULES = ("fastbin", *(f"fastbin.{name}" for name in NAMESPACES if importlib.util.find_spec(f"fastbin.{name}")))


def module_names() -> list[str]:
    """Every module of the package but ``__main__``, whose import runs the command line."""
    found = pkgutil.walk_packages(fb.__path__, "fastbin.")
    return ["fastbin", *(module.name for module in found if not module.name.endswith("__main__"))]


MODULES = module_names()
modules = pytest.mark.parametrize("name", MODULES)


# ------------------------------------------------------------------------------------------------- what is public


def test_fastbin_shows_exactly_what_is_told() -> None:
    assert {name for name in dir(fb) if not name.startswith("_")} == EXPORTED
    for name in EXPORTED:
        assert getattr(fb, name) is getattr(fb, name)
    with pytest.raises(AttributeError, match="module 'fastbin' has no attribute 'histogram'"):
        fb.histogram  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC_MODULES[1:])
def test_completion_shows_the_public_names_of_a_module_and_no_others(name: str) -> None:
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)


def test_help_is_a_page_that_names_everything() -> None:
    page = pydoc.render_doc(fb, renderer=pydoc.plaintext)
    assert len(page.splitlines()) < 120
    assert not {name for name in EXPORTED - set(ERRORS) if name not in page}


def test_the_public_names_are_few() -> None:
    """Users meet few names; theory, which reproduces papers, has its own room."""
    listed = {
        name for module in PUBLIC_MODULES[1:] if module != "fastbin.theory" for name in importlib.import_module(module).__all__
    }
    assert len(listed | EXPORTED - set(NAMESPACES)) <= 167


@modules
def test_a_name_is_declared_public_in_one_place(name: str) -> None:
    """The ``__init__`` of a public package lists its names, and no other file lists any."""
    listed = vars(importlib.import_module(name)).get("__all__")
    assert (listed is not None) == (name in PUBLIC_MODULES[1:] or name == "fastbin.scaling"), name
    for entry in listed or ():
        assert hasattr(importlib.import_module(name), entry), f"{name}.__all__ lists {entry}, which does not exist"
        assert not entry.startswith("_")
    assert len(set(listed or ())) == len(listed or ())


# ------------------------------------------------------------------------------------------------- docstrings

SECTIONS = {
    "Parameters", "Returns", "Yields", "Raises", "Attributes", "Notes", "References", "Examples", "See Also", "Warns",
    "Other Parameters", "Methods",
}  # fmt: skip


def sections(docstring: str) -> dict[str, str]:
    """A numpydoc docstring by its sections; what comes first is under the empty name."""
    parts = re.split(r"^([A-Z]\w*(?: [A-Z]\w*)?)\n-{3,}\n", inspect.cleandoc(docstring) + "\n", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> list[str]:
    """The names that a Parameters or Attributes section explains: ``a, b : int`` gives a and b."""
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line.strip() and not line.startswith((" ", ".."))]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def arguments_of(value: Any) -> list[str]:
    """The names of a callable's arguments; [] where Python cannot know them."""
    try:
        return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]
    except (TypeError, ValueError):
        return []


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every function and class that a user is told of, by its dotted name."""
    seen: set[int] = set()
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        for name in sorted(EXPORTED - set(NAMESPACES) if module is fb else module.__all__):
            value = getattr(module, name)
            if callable(value) and id(value) not in seen:
                seen.add(id(value))
                yield f"{module_name}.{name}", value


PUBLIC = dict(public_objects())
public = pytest.mark.parametrize("name", list(PUBLIC))


def methods_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class has of its own or of a base within fastbin."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        owner = next((base for base in cls.__mro__ if name in base.__dict__), cls)
        if not name.startswith("_") and owner.__module__.startswith("fastbin"):
            callable_value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if callable(callable_value) or isinstance(value, property) or inspect.isdatadescriptor(value):
                yield name, callable_value


@modules
def test_modules_are_introduced(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    assert len(module.__doc__.strip().splitlines()[0]) <= 128


def is_record(value: Any) -> bool:
    """Whether a class is a named tuple or a dataclass: its fields are what has to be explained."""
    return isinstance(value, type) and (dataclasses.is_dataclass(value) or hasattr(value, "_fields"))


def is_protocol(value: Any) -> bool:
    return bool(getattr(value, "_is_protocol", False))


@public
def test_public_names_are_documented_as_they_are(name: str) -> None:
    value = PUBLIC[name]
    assert value.__doc__, f"{name} has no docstring"
    found = sections(value.__doc__)
    assert set(found) - {""} <= SECTIONS, f"{name}: {sorted(set(found) - SECTIONS)}"
    assert found[""].strip().splitlines()[0].endswith((".", ":", "?")), f"{name}: the summary is one sentence on one line"
    if is_protocol(value) or value is fb.BinnedModel or (isinstance(value, type) and issubclass(value, BaseException)):
        return
    documented = entries(found.get("Parameters", "")) + (entries(found.get("Attributes", "")) if is_record(value) else [])
    assert len(set(documented)) == len(documented)
    missing, unknown = set(arguments_of(value)) - set(documented), set(documented) - set(arguments_of(value))
    assert not missing, f"{name} does not explain {sorted(missing)}"
    assert not unknown or is_record(value), f"{name} explains {sorted(unknown)}, which it does not have"
    if isinstance(value, types.FunctionType):
        returns = inspect.signature(value).return_annotation
        assert returns in (None, "None", "NoReturn") or {"Returns", "Yields"} & set(found), (
            f"{name} does not say what it returns"
        )


@public
def test_public_names_have_an_example(name: str) -> None:
    """Functions and calibrators. Records show themselves where they are returned, errors where they are raised."""
    value = PUBLIC[name]
    if isinstance(value, types.FunctionType) or (isinstance(value, type) and hasattr(value, "fit") and not is_protocol(value)):
        assert ">>>" in value.__doc__, f"{name} has no example"


@public
def test_methods_are_documented_as_they_are(name: str) -> None:
    value = PUBLIC[name]
    if not isinstance(value, type) or is_protocol(value):
        return
    for method_name, method in methods_of(value):
        docstring = inspect.getdoc(method)
        assert docstring, f"{name}.{method_name} has no docstring"
        if "Parameters" in (found := sections(docstring)) and (arguments := arguments_of(method)):
            assert sorted(entries(found["Parameters"])) == sorted(arguments), f"{name}.{method_name}"


# ------------------------------------------------------------------------------------------------- prose


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]  # below are copies that `make site` leaves


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_names_in_prose_exist(path: Path) -> None:
    """Every ``fb.name`` in prose and examples, and every ``fastbin.module.name``; not the namespace of Polars expressions."""
    text = path.read_text(encoding="utf8")
    dotted = set(re.findall(r"(?<!\)\.)\b(?:fb|fastbin)((?:\.[A-Za-z_]\w*)+)", text))
    for name in sorted(dotted):
        value: Any = fb
        parts = name.strip(".").split(".")
        if parts[-1] in ("h", "pc", "c", "md", "fbm", "org", "a", "so"):  # a file
            continue
        for part in parts:
            value = getattr(value, part)


def pages() -> list[Path]:
    """Every page of the repository."""
    folders = (ROOT / name for name in ("docs", "csrc", "tests"))
    return [
        *ROOT.glob("*.md"),
        *(path for folder in folders for path in sorted(folder.rglob("*.md")) if not {"build", "about"} & set(path.parts)),
    ]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf8")):
        if not target.startswith(("http://", "https://")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


# ------------------------------------------------------------------------------------------------- examples

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def examples_of(module: types.ModuleType) -> Iterator[doctest.DocTest]:
    """The examples of a module. Compiled classes are looked through here, as doctest's finder passes them over."""
    yield from doctest.DocTestFinder(exclude_empty=True).find(module)
    if not str(module.__file__).endswith(".py"):
        for cls in (value for value in vars(module).values() if isinstance(value, type)):
            for name, value in vars(cls).items():
                docstring = getattr(value, "__doc__", None)
                if isinstance(docstring, str) and ">>>" in docstring:
                    title = f"{module.__name__}.{cls.__name__}.{name}"
                    yield doctest.DocTestParser().get_doctest(docstring, {}, title, module.__file__, 0)


def run(test: doctest.DocTest, options: int = OPTIONS) -> None:
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=options).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@modules
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples may write files
    for test in examples_of(importlib.import_module(name)):
        if test.examples:
            run(test)


def test_examples_of_compiled_code_are_found() -> None:
    titles = [test.name for test in examples_of(importlib.import_module("fastbin._core.score")) if test.examples]
    assert any(title.endswith("NativeModel.predict") for title in titles)


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_examples_in_prose_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fenced Python of a document is one session, from top to bottom, beside the data that it links to."""
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf8")
    if "(../tests/data/credit.csv.gz)" in text:
        shutil.copy(ROOT / "tests" / "data" / "credit.csv.gz", tmp_path)
    blocks = re.findall(r"^```(?:python|pycon)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, str(path), 0)
    assert session.examples or not blocks, f"{path.name} has Python without prompts, which nobody runs"
    assert len(session.examples) == len(re.findall("^ *>>> ", text, re.MULTILINE)), "prompts that are in no block"
    run(session, OPTIONS & ~doctest.IGNORE_EXCEPTION_DETAIL)  # errors are worded as a page says
