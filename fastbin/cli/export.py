"""``fastbin export``: a model as what the place of scoring runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastbin._base.errors import InputError
from fastbin.cli import _options as options
from fastbin.cli._console import note, option_of
from fastbin.cli._files import WORDS, Output, display_name, is_vector, load_whole
from fastbin.export import dialects
from fastbin.export.onnx import DTYPES, LEAST_OPSET

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel

# The options of each target.
TARGETS = {
    "sql": ("dialect", "score", "tie_key", "cell", "style", "table", "source", "column", "outputs", "alpha"),
    "onnx": ("outputs", "alpha", "opset", "shape", "dtype"),
    "c": ("outputs", "alpha", "name"),
    "java": ("outputs", "alpha", "name", "package"),
    "js": ("outputs", "alpha"),
    "json": (),
}
WRITERS = {"c": "c_source", "java": "java", "js": "javascript", "json": "json"}  # functions of fastbin.export that give texts
OF_VECTORS = ("sql", "onnx", "json")  # the targets that write vector models
MODEL_FILE = "fbm"  # the way back from JSON
DIALECTS = tuple(dialects.DIALECTS)
DEFAULT_DIALECT = "duckdb"  # it comes with the command line, so that `fastbin verify` can run what was written

# The options of SQL that makes tables, and what the functions call them.
OF_TABLES = {"table": "table", "source": "source", "column": "output"}


def choose_target(target: str | None, path: str) -> str:
    """The target that is named, or that the suffix of a file means."""
    from fastbin.export.verify import SUFFIXES

    suffix = Path(path).suffix.lower()
    if target is None and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if target is None:
        where = "standard output" if path == "-" else path
        raise click.UsageError(f"say --to; the name of {where} does not tell ({', '.join(SUFFIXES)} do)")
    return target


@click.command(
    short_help="Write MODEL as SQL, ONNX, C, Java, JavaScript or JSON.",
    epilog=options.examples(
        "fastbin export credit.fbm --to sql --dialect postgresql --score p",
        "fastbin export credit.fbm -o credit.onnx --shape n,1 --dtype float32",
        "fastbin export credit.fbm -o credit.h --outputs value,lower,upper --alpha 0.05",
        "fastbin export credit.fbm -o Credit.java --package org.example.scores",
        "fastbin export regions.fbm -o regions.mjs",
        "fastbin export vectors.fbm --to sql --score p_cat,p_dog,p_cow --source rows",
        "fastbin export credit.fbm -o credit.json",
        "fastbin export credit.json -o credit.fbm",
    ),
)
@options.model
@options.option(f"--to target {'|'.join([*TARGETS, MODEL_FILE])}", "What to write. Default: by the suffix of -o FILE.")
@options.option("-o --output FILE", "Where to write it; - prints it.", default="-")
@options.option(
    "--dialect NAME", f"For SQL: the engine: {', '.join(DIALECTS)}. Default: {DEFAULT_DIALECT}.", click.Choice(DIALECTS)
)
@options.option(
    "--score EXPRESSION",
    "For SQL: the score, most often the name of a column; for a vector model those of all classes, separated by commas. "
    "Default: p.",
)
@options.option(
    "--tie-key EXPRESSION",
    "For SQL: the key as 16 lower-case hexadecimal digits, for models that split ties by key; other targets have an argument.",
)
@options.option("--cell EXPRESSION", "For SQL, for a set of models: the key of the cell.")
@options.option("--style NAME", "For SQL: how the step of a score is found; see fb.export.sql. Default: auto.")
@options.option(
    "--table NAME",
    "For SQL that makes tables: what their names begin with. Default: fastbin_ and digits of the model's digest.",
)
@options.option("--source NAME", "For SQL that makes tables: the table that holds the scores. Default: scores.")
@options.option(
    "--column NAME",
    "For SQL that makes tables: the column with the answers. Default: fastbin_ and the output, such as fastbin_value.",
)
@options.option(
    "--outputs NAMES",
    "What it is to give, separated by commas: value, bin, lower, upper, lower_if_rising, upper_if_rising, decision. SQL gives "
    "one of them. Default: value.",
)
@options.option("--alpha A", "With lower and upper: the probability that the intervals fail. Default: 0.1.")
@options.option("--name NAME", "The name of the C function, or the Java class. Default: the name of the file.")
@options.option("--package NAME", "For Java: the package of the class.")
@options.option("--opset N", "For ONNX: the version of the operators. Default: 18.", click.IntRange(LEAST_OPSET))
@options.option("--shape SIZES", "For ONNX: the shape of its tensors, such as n,1; a name stands for any size. Default: n.")
@options.option(f"--dtype {'|'.join(DTYPES)}", f"For ONNX: the type of the scores. Default: {next(iter(DTYPES))}.")
def command(model: str, target: str | None, output: str, outputs: str | None, **values: Any) -> None:
    """Write MODEL ("-": from standard input) for another place to score with, with the same bits.

    sql is one expression, onnx a graph, c a header, java a class, js a module, and json the model itself, from which fastbin
    makes the same file again (-o FILE.fbm). MODEL may be a set, and may be JSON. Vector models are written as sql (a query over
    --source), onnx and json; their values are those of the model but for the last bits. Each says the digest of the model;
    fastbin verify compares those of models and sets with the model.
    """
    chosen = MODEL_FILE if target is None and output.lower().endswith(f".{MODEL_FILE}") else choose_target(target, output)
    given = {name: value for name, value in values.items() if value is not None}
    if outputs is not None:
        given["outputs"] = [name.strip() for name in outputs.split(",")]
    if "shape" in given:
        sizes = [size.strip() for size in given["shape"].split(",")]
        given["shape"] = [int(size) if size.isdecimal() else size for size in sizes]
    own = TARGETS.get(chosen, ())
    for name in given:
        if name not in own:
            takers = ", ".join(target for target, names in TARGETS.items() if name in names)
            raise click.UsageError(f"{option_of(name)} is not for {chosen}; it is for {takers}")
    out = Output(output, reads=(model,), is_text=chosen not in ("onnx", MODEL_FILE))
    if "name" in own and "name" not in given:
        given["name"] = _name_of(output, chosen)
    if chosen == "java" and Path(output).suffix == ".java" and Path(output).stem != given["name"]:
        name = given["name"]
        raise click.UsageError(f"--name is {name}, and javac wants this class in {name}.java: write to it, or leave out --name")
    out.write(_written(load_whole(model, "export from"), chosen, given, display_name(model)))


def _name_of(output: str, target: str) -> str:
    """The name of a function or a class by that of its file."""
    if output == "-":
        raise click.UsageError(f"say --name NAME of the {WORDS[target]}, or -o FILE, which it is called by")
    name = Path(output).stem
    if not name.isidentifier():
        raise click.UsageError(f"{output} is not a valid name of a {WORDS[target]}; pass --name NAME")
    return name


def _written(model: BinnedModel | ModelSet | VectorModel, target: str, given: dict[str, Any], name: str) -> bytes:
    """The export as bytes."""
    from fastbin import export

    if target == MODEL_FILE:
        return model.to_bytes()
    if is_vector(model) and target not in OF_VECTORS:
        raise InputError(
            f"{name} is a vector model, which sql, onnx and json can hold; fastbin_vector_predict serves its file from C"
        )
    if target == "onnx":
        graph: bytes = export.onnx(model, **given).SerializeToString()
        return graph
    if target == "sql":
        return (_sql_of_vectors(model, given) if is_vector(model) else _sql(model, given, name)).encode()
    text: str = getattr(export, WRITERS[target])(model, **given)
    return text.encode()


def _of_sql(given: dict[str, Any]) -> str:
    """The output that SQL is written for; the dialect is filled in."""
    if "dialect" not in given:
        given["dialect"] = DEFAULT_DIALECT
        note(f"this SQL is for {DEFAULT_DIALECT}; --dialect names another engine: {', '.join(DIALECTS)}")
    what, *more = given.pop("outputs", ["value"])
    if more:
        raise click.UsageError(f"--outputs names {1 + len(more)} outputs; SQL is written for one")
    return str(what)


def _of_tables(given: dict[str, Any]) -> dict[str, Any]:
    return {OF_TABLES[name]: given.pop(name) for name in OF_TABLES if name in given}


def _sql_of_vectors(model: VectorModel, given: dict[str, Any]) -> str:
    """A query that gives all columns of its source and one for each class."""
    from fastbin import export

    names = [name.strip() for name in given.pop("score", "").split(",")]
    if len(names) != len(model.classes):
        k = len(model.classes)
        raise click.UsageError(f"say --score with the {k} columns of the classes, separated by commas, in the order of the fit")
    if "cell" in given:
        raise click.UsageError("--cell is for sets of models; leave it out")
    what, tables = _of_sql(given), _of_tables(given)
    return export.sql(model, names, what=what, **given, **tables) + "\n"


def _sql(model: BinnedModel | ModelSet, given: dict[str, Any], name: str) -> str:
    """An expression in a line of its own; of a set, or with --style join, statements that make tables and then a query."""
    from fastbin import export

    score, what, tables = given.pop("score", "p"), _of_sql(given), _of_tables(given)
    if model.is_set:
        if "cell" not in given:
            raise click.UsageError(f"{name} is a set of models; say --cell EXPRESSION, the key of the cell of a row")
        if "style" in given:
            raise click.UsageError("--style is for one model; a set is always written as tables")
        return export.sql_set(model, score, what=what, **given, **tables).script
    if "cell" in given:
        raise click.UsageError(f"{name} is one model and no set; leave out --cell")
    for option, argument in OF_TABLES.items():
        if argument in tables and given.get("style") != "join":
            raise click.UsageError(f"--{option} is for SQL that makes tables; give --style join, or leave out --{option}")
    made = export.sql(model, score, what=what, **given, **tables)
    return made + "\n" if isinstance(made, str) else made.script
