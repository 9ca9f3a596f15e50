"""Models as SQL: every bit of every hard row in engines that need no server, and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from exported import MODELS, NEED_KEYS, bits, hard_rows, model_of
from exported_curves import CURVES, LINES, curve_model_of
from sql_engines import EMBEDDED, DuckDB, Engine, SQLite, answers_of, as_texts, check_numbers, load_rows, n_differing
from wordings import refuses

import fastbin as fb
import fastbin.export

SIZES = [8_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
WITH_TABLES = tuple(name for name in EMBEDDED if name != "polars")
MANY_KNOTS = "spline with a clip"  # more than the parser of SQLite takes

named = pytest.mark.parametrize("name", MODELS)
dialects = pytest.mark.parametrize("dialect", EMBEDDED)
ways = pytest.mark.parametrize(
    ("dialect", "style"),
    [*((name, "tree") for name in EMBEDDED), ("duckdb", "auto"), *((name, "join") for name in WITH_TABLES)],
)
dialects_with_tables = pytest.mark.parametrize("dialect", WITH_TABLES)


@pytest.fixture(scope="module")
def fitted() -> fb.UniformMassBinning:
    rng = np.random.default_rng(3)
    scores = rng.random(600)
    return fb.UniformMassBinning(4).fit(scores, rng.random(600) < scores)


def even_model(n_bins: int) -> fb.BinnedModel:
    """No two bins next to each other have one value."""
    return fb.BinnedModel.from_parts(
        edges=np.linspace(0.0, 1.0, n_bins + 1)[1:-1], values=np.linspace(0.0, 1.0, n_bins), counts=np.full(n_bins, 9),
        label_sums=np.full(n_bins, 4), scheme="umd", n_samples=10 * n_bins - 1,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- the same bits


@pytest.mark.sampled
@pytest.mark.parametrize("n", SIZES)
@ways
@named
def test_all_bits(engine: Engine, name: str, style: Any, n: int) -> None:
    assert n_differing(engine, model_of(name), n, style=style) == 0


@pytest.mark.sampled
@ways
@pytest.mark.parametrize("name", ["10 bins", "100 bins, keys", "two resolutions", "clips at keys"])
def test_bins_and_intervals(engine: Engine, name: str, style: Any) -> None:
    model = model_of(name)
    rows = hard_rows(model, 5000)
    load_rows(engine, model, rows)
    keys, key = ({}, None) if rows.keys is None else ({"tie_keys": rows.keys}, "k")
    bins = model.assign(rows.scores, **keys)
    ends = model.interval(0.2)[bins]
    for what, expected in (("bin", bins), ("lower", ends[:, 0]), ("upper", ends[:, 1])):
        alpha = None if what == "bin" else 0.2
        made = fb.export.sql(model, "p", tie_key=key, dialect=engine.dialect, what=what, alpha=alpha, style=style)
        answers = answers_of(engine, made, what)
        assert set(answers[5000:]) == {None}
        found = np.array(answers[:5000])
        assert (found.dtype.kind, len(found)) == ("i" if what == "bin" else "f", 5000)
        np.testing.assert_array_equal(bits(found), bits(expected))


@dialects
@pytest.mark.parametrize("name", ["10 bins", "100 bins", "logits", "clips"])
def test_columns_of_floats_and_integers(engine: Engine, name: str) -> None:
    """They are cast to doubles first, as `predict` does; compared in their own type, floats next to an edge would be wrong."""
    model = model_of(name)
    scores = hard_rows(model, 2000).scores
    with np.errstate(over="ignore"):
        floats = scores.astype(np.float32)
    low, high = model.score_range or (-np.inf, np.inf)
    floats = floats[(floats >= low) & (floats <= high) & np.isfinite(floats)]
    assert len(floats) > 500
    expression = fb.export.sql(model, "p", dialect=engine.dialect)
    engine.load({"p": floats})
    np.testing.assert_array_equal(answers_of(engine, expression), model.predict(floats))
    integers = np.arange(-3, 4) if name == "logits" else np.array([0, 1, 1, 0])
    engine.load({"p": integers})
    np.testing.assert_array_equal(answers_of(engine, expression), model.predict(integers.astype(float)))


@dialects
def test_integers_beyond_the_reach_of_doubles_are_rounded_first(engine: Engine) -> None:
    large = 2.0**60
    model = fb.BinnedModel.from_parts(
        edges=[large], values=[0.25, 0.75], counts=[50, 50], label_sums=[12, 37], scheme="umd", n_samples=101, score_range=None
    )
    scores = np.array([2**60 - 65, 2**60 - 1, 2**60, 2**60 + 1])
    expected = model.predict(scores.astype(float))
    assert expected[1] == 0.75  # it is rounded up to the edge
    engine.load({"p": scores})
    assert answers_of(engine, fb.export.sql(model, "p", dialect=engine.dialect)) == expected.tolist()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_texts_in_sqlite_have_no_answer(engine: Engine, fitted: fb.UniformMassBinning) -> None:
    """A column of texts would be compared with numbers as texts: '1e-3' lies above '0.9' then."""
    engine.load({"p": pa.array(["0.5", "1e-3", "abc", "", None])})
    assert answers_of(engine, fb.export.sql(fitted, "p", dialect="sqlite")) == [None] * 5


@dialects
@pytest.mark.parametrize("name", ["keys at zero", "100 bins, keys"])
def test_keys_of_another_form_have_no_answer(engine: Engine, name: str) -> None:
    """Upper case orders otherwise and other widths, too, so they would be wrong where scores are equal to an edge."""
    model = model_of(name)
    keys = [None, "", "0", "000000000000000", "00000000000000000", "00000000000000AB", "0000000000000 ab", "z" * 16, " " * 16]
    keys += ["550e8400-e29b-41", "00000000000000ab"]
    engine.load({"p": [float(model.edges[0])] * len(keys), "k": pa.array(keys)})
    answers = answers_of(engine, fb.export.sql(model, "p", tie_key="k", dialect=engine.dialect))
    assert answers[:-1] == [None] * (len(keys) - 1)
    assert answers[-1] == model.predict([model.edges[0]], tie_keys=np.array([0xAB], np.uint64))[0]


@pytest.mark.parametrize("kind", ["COLLATE NOCASE", "COLLATE RTRIM", ""])
def test_collations_of_columns_change_nothing(kind: str) -> None:
    model = model_of("100 bins, keys")
    rows = hard_rows(model, 2000)
    expression = fb.export.sql(model, "p", tie_key="k", dialect="sqlite")
    expected = model.predict(rows.scores, tie_keys=rows.keys).tolist()
    engine = SQLite()
    engine.connection.execute(f"CREATE TABLE scores (i INTEGER, p REAL, k TEXT {kind})")
    pairs = zip(rows.scores.tolist(), as_texts(rows.keys), strict=True)
    engine.connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", ((i, *pair) for i, pair in enumerate(pairs)))
    assert answers_of(engine, expression) == expected
    if kind != "COLLATE RTRIM":
        other = DuckDB()
        other.load({"p": rows.scores, "k": as_texts(rows.keys)})
        other.connection.execute(f"CREATE TABLE collated (i INTEGER, p DOUBLE, k VARCHAR {kind})")
        other.connection.execute("INSERT INTO collated SELECT * FROM scores")
        other.connection.execute("DROP TABLE scores; ALTER TABLE collated RENAME TO scores")
        assert answers_of(other, fb.export.sql(model, "p", tie_key="k", dialect="duckdb")) == expected
        other.connection.close()
    engine.connection.close()


@dialects
def test_score_may_be_any_expression(engine: Engine, fitted: fb.UniformMassBinning) -> None:
    scores = np.random.default_rng(5).random(500)
    engine.load({"Raw score": scores, "z": scores - 1.0})
    expected = fitted.predict(scores).tolist()
    for score in ('"Raw score"', 'CASE WHEN z < 0 THEN "Raw score" ELSE z END', ' "Raw score" '):
        assert answers_of(engine, fb.export.sql(fitted, score, dialect=engine.dialect)) == expected
    expression = fb.export.sql(fitted, "z + 1.0", dialect=engine.dialect)
    assert answers_of(engine, expression) == fitted.predict((scores - 1.0) + 1.0).tolist()


def test_polars_takes_expressions_of_frames(fitted: fb.UniformMassBinning) -> None:
    import polars as pl

    frame = pl.DataFrame({"p": [0.1, 0.5, None, float("nan"), float("inf"), 0.9]})
    answers = frame.lazy().with_columns(q=pl.sql_expr(fb.export.sql(fitted, dialect="polars"))).collect()["q"].to_list()
    low, middle, high = fitted.predict([0.1, 0.5, 0.9]).tolist()
    assert answers == [low, middle, None, None, None, high]


@dialects_with_tables
def test_each_model_has_a_table_of_its_own(engine: Any, fitted: fb.UniformMassBinning) -> None:
    """Else the query of one would be answered from the table of another, where a script goes on after an error."""
    engine.load({"p": [0.25, 0.75], "value": [7.0, 8.0]})
    for fitted_model in (fitted.model_, model_of("10 bins")):
        made = fb.export.sql(fitted_model, dialect=engine.dialect, style="join")
        engine.run(made.table)
        assert engine.column(made.query, "fastbin_value") == fitted_model.predict([0.25, 0.75]).tolist()
        assert engine.column(made.query, "value") == [7.0, 8.0]
    made = fb.export.sql(fitted, dialect=engine.dialect, style="join", output="probability")
    assert engine.column(made.query, "probability") == fitted.predict([0.25, 0.75]).tolist()


@dialects_with_tables
def test_columns_that_the_table_of_steps_has_as_well(engine: Any, fitted: fb.UniformMassBinning) -> None:
    """SQLite and PostgreSQL took them from the table of steps without a word."""
    for name in ("fastbin_lower", '"fastbin_lower"', "FASTBIN_ANSWER + 0"):
        refuses("InputError score", fb.export.sql, fitted, name, dialect=engine.dialect, style="join")
    for name in (
        "s . fastbin_lower",
        "CASE c WHEN 'fastbin_lower' THEN p END",
        '"a fastbin_lower"',
        "fastbin_lower(p)",
        "fastbin_low",
    ):
        fb.export.sql(fitted, name, dialect=engine.dialect, style="join")
    engine.load({"p": [0.9, 0.1], "fastbin_lower": [0.25, 0.75]})
    made = fb.export.sql(fitted, "s.fastbin_lower", dialect=engine.dialect, style="join")
    engine.run(made.table)
    assert engine.column(made.query, "fastbin_value") == fitted.predict([0.25, 0.75]).tolist()


@dialects
def test_comments_say_what_the_text_gives(engine: Engine, fitted: fb.UniformMassBinning) -> None:
    expression = fb.export.sql(fitted, dialect=engine.dialect, what="lower")
    assert f"\n   dialect {engine.dialect}, gives lower */\n" in expression
    if engine.dialect != "polars":
        query = fb.export.sql(fitted, dialect=engine.dialect, style="join", what="bin", output="number").query
        assert f"\n   dialect {engine.dialect}, gives bin as number */\n" in query


@dialects_with_tables
def test_all_columns_are_kept_and_the_source_may_be_a_query(engine: Any, fitted: fb.UniformMassBinning) -> None:
    engine.load({"p": [0.25, 0.75], "note": ["a", "b"]})
    made = fb.export.sql(fitted, "s.p", dialect=engine.dialect, style="join", table="mine", source="(SELECT * FROM scores)")
    engine.run(made.table)
    rows = engine.connection.execute(f"SELECT * FROM ({made.query}) AS q ORDER BY i").fetchall()
    values = fitted.predict([0.25, 0.75]).tolist()
    assert rows == [(0, 0.25, "a", values[0]), (1, 0.75, "b", values[1])]
    assert "mine_steps" in made.query


# ------------------------------------------------------------------------------------------------- the text


@pytest.mark.parametrize("dialect", sorted(fastbin.export.dialects.DIALECTS))
def test_every_export_tells_its_model(dialect: str, fitted: fb.UniformMassBinning) -> None:
    from fastbin.export.form import description_of

    expression = fb.export.sql(fitted, dialect=dialect)
    told = re.match(r"/\* (.*?) \*/\nCASE WHEN ", expression, re.DOTALL)
    assert told is not None
    digest, size, promise, about_event, made_by, given = (line.strip() for line in told[1].split("\n"))
    assert given == f"dialect {dialect}, gives value"
    version_and_digest, about, promised, *_ = description_of(fitted.model_)
    assert about_event == "p is the probability of label 1"
    assert made_by.startswith("made by UniformMassBinning(")
    assert (digest, size) == (version_and_digest, about)
    assert promise == promised.replace(" %", " percent")
    assert not set(promise) & set("%;'\"`?{}\\/*")
    assert expression.count("*/") == expression.count("/*") == 1


def test_comments_end_where_they_should() -> None:
    from fastbin.export.dialects import comment

    text = comment(["95 % of */ rows; it's :name %(x)s {{y}} -- /*+ HINT(a) */", "second"])
    assert text.startswith("/* 95 percent of")
    assert text.endswith("second */")
    assert text.count("*/") == text.count("/*") == 1
    assert not set("%;'{}") & set(text)


def test_tree_asks_as_few_questions_as_it_can() -> None:
    expression = fb.export.sql(even_model(1000), dialect="duckdb", style="tree")
    assert expression.count("CASE WHEN") == 1 + 999
    deepest = depth = 0
    for word in re.findall(r"\bCASE\b|\bEND\b", expression):
        depth += 1 if word == "CASE" else -1
        deepest = max(deepest, depth)
    assert deepest == 1 + 10  # the guard, and log2 of 1,000


HARD_EDGES: dict[str, Any] = {
    "even": lambda rng: np.linspace(0.001, 0.999, 400),
    "uniform": lambda rng: rng.random(400),
    "crowded": lambda rng: np.quantile(rng.beta(0.5, 5.0, 20_000), np.arange(1, 400) / 400),
    "far away": lambda rng: np.append(np.linspace(0.1, 0.2, 200), [1e12, 1e300]),
    "all magnitudes": lambda rng: rng.integers(0, 0x7FE0000000000000, 400).view(np.float64) * rng.choice([-1.0, 1.0], 400),
    "subnormal": lambda rng: np.arange(1, 400) * 5e-324,
    "neighbours": lambda rng: 0.5 + np.arange(400) * 2.0**-53,
}


@pytest.mark.sampled
@pytest.mark.parametrize("out_of_range", ["refuse", "clip"])
@pytest.mark.parametrize("shape", HARD_EDGES)
def test_cells_of_duckdb_find_every_step(shape: str, out_of_range: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(3)
    edges = np.unique(HARD_EDGES[shape](rng))
    ends = min(0.0, float(edges[0])), max(1.0, float(edges[-1]))
    values = rng.random(len(edges) + 1)
    model = fb.BinnedModel.from_parts(edges=edges, values=values, score_range=ends, out_of_range=out_of_range)
    near = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf), rng.random(500), np.linspace(*ends, 500)]
    scores = np.concatenate([*near, [-1e308, -1.0, 2.0, 1e308]])
    if out_of_range == "refuse":
        scores = np.clip(scores, *ends)
    expression = fb.export.sql(model, dialect="duckdb")
    assert (")[CAST(" in expression) == (shape not in ("all magnitudes", "subnormal"))
    with duckdb.connect() as connection:
        given = pa.table({"i": np.arange(len(scores)), "p": scores})  # noqa: F841 - read by name
        found = connection.execute(f"SELECT {expression} AS v FROM given ORDER BY i").fetchnumpy()["v"]
    assert np.asarray(found).view(np.uint64).tolist() == model.predict(scores).view(np.uint64).tolist()


def test_few_steps_and_keys_are_trees_in_duckdb_too() -> None:
    for n_bins, is_tree in ((32, True), (33, False)):
        automatic, tree = (fb.export.sql(even_model(n_bins), dialect="duckdb", style=style) for style in ("auto", "tree"))
        assert (automatic == tree) == is_tree
    tied = fb.UniformMassBinning(50, ties="random").fit(np.arange(2000) % 100 / 100.0, np.arange(2000) % 3 == 0)
    assert ")[" not in fb.export.sql(tied, tie_key="k", dialect="duckdb")


def test_steps_of_one_answer_are_written_once() -> None:
    model = model_of("two resolutions")
    assert model.n_steps > 10 * model.n_bins
    assert fb.export.sql(model, dialect="duckdb", what="bin").count("CASE WHEN") <= model.n_bins


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -5e-324, 2.0**-1022, 1e-310, 1.7976931348623157e308, 1e300, -3e-9]
)
def test_quotients_of_sqlite_are_exact(value: float) -> None:
    from fastbin.export.dialects import quotient

    engine = SQLite()
    ((found,),) = engine.connection.execute(f"SELECT {quotient(value)}").fetchall()
    engine.connection.close()
    assert (type(found), found) == (float, value)


@pytest.mark.sampled
@dialects
def test_numbers_are_read_back(engine: Engine) -> None:
    check_numbers(engine)


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("10 bins", {"dialect": "oracle"}, r"dialect is 'oracle'; choose one of 'duckdb', 'postgresql', .*'polars'"),
        ("10 bins", {"what": "probability"}, r"what is 'probability'; choose one of 'value', 'bin', 'lower', 'upper'"),
        ("10 bins", {"style": "case"}, r"style is 'case'; choose one of 'auto', 'tree', 'join'"),
        ("10 bins, keys", {}, r'tie_key is missing, and the model splits ties by key: .* or fit with ties="whole"'),
        ("10 bins", {"tie_key": "k"}, r"tie_key is 'k', but the model compares no keys; leave it out"),
        ("10 bins", {"score": " "}, r"score is ' '; pass an SQL expression"),
        ("10 bins, keys", {"tie_key": ""}, r"tie_key is ''; pass an SQL expression"),
        ("10 bins", {"score": 3}, r"score is 3; pass the text of an SQL expression"),
        ("10 bins", {"alpha": 0.1}, r"alpha is 0.1, but no end of an interval is asked for"),
        ("10 bins", {"what": "lower", "alpha": 0.9}, r"alpha is 0.9; alpha is the chance that the promise fails"),
        ("10 bins", {"dialect": "polars", "style": "join"}, r"dialect is 'polars', which has no tables"),
        *(
            ("10 bins", {argument: "mine"}, rf"{argument} is 'mine', and only style='join' makes a table and a query")
            for argument in ("table", "source", "output")
        ),
        *(
            ("10 bins", {"style": "join", "output": output}, r"output is '.*'; pass a name of letters, digits and underscores")
            for output in ("", "a b", 'a"b', "1st")
        ),
        *(
            ("10 bins", {"style": "join", "table": table}, r"table is '.*'; pass a name of letters")
            for table in ("", "a b", "a;b", "a.", 'a"b', "my-app")
        ),
        *(
            ("logistic", {"what": what}, r"model is of kind 'smooth', which has values alone and no bins")
            for what in ("bin", "lower", "upper")
        ),
        ("logistic", {"alpha": 0.1}, r"alpha is 0.1, but no end of an interval is asked for"),
        ("logistic", {"style": "join"}, r"style is 'join', and a model of kind 'smooth' has no steps for a table"),
        ("logistic", {"tie_key": "k"}, r"tie_key is 'k', but the model compares no keys"),
        (MANY_KNOTS, {"dialect": "sqlite"}, r"meet in 14 places, in one expression for sqlite at most 11; fit one"),
    ],
)  # fmt: skip
def test_what_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    model = curve_model_of(name) if name in CURVES else model_of(name)
    with pytest.raises((fb.InputError, fb.InputTypeError), match=message):
        fb.export.sql(model, **{"dialect": "duckdb", **options})


def test_sets_and_long_curves_are_refused() -> None:
    with pytest.raises(fb.InputTypeError, match=r"model is a set of models; use sql_set"):
        fb.export.sql(fb.ModelSet({"a": model_of("10 bins")}), dialect="duckdb")
    knots = np.linspace(0.0, 1.0, 1001)
    long = fb.BinnedModel.from_parts(edges=knots, values=knots, kind="linear")
    with pytest.raises(fb.InputError, match=r"meet in 1001 places, in one expression for duckdb at most 1000; fit one"):
        fb.export.sql(long, dialect="duckdb")


def test_projects_of_bigquery_may_have_dashes() -> None:
    query = fb.export.sql(model_of("10 bins"), dialect="bigquery", style="join", table="my-project.risk_5").query
    assert "my-project.risk_5_steps" in query


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_trees_end_at_a_thousand_steps(engine: Engine) -> None:
    assert n_differing(engine, even_model(1000), 100) == 0
    with pytest.raises(fb.InputError, match=r"model has 1001 steps, and a tree at most 1000; pass style='join'"):
        fb.export.sql(even_model(1001), dialect="sqlite")
    assert n_differing(engine, even_model(1001), 3000, style="join") == 0
    with pytest.raises(fb.InputError, match=r"model has 1001 steps, and a tree at most 1000; score with predict"):
        fb.export.sql(even_model(1001), dialect="polars")
    assert "width_bucket" in fb.export.sql(even_model(1001), dialect="postgresql")


@dialects
@pytest.mark.parametrize("name", [name for name in NEED_KEYS if "clips" in name])
def test_moved_scores_meet_the_keys_of_the_ends(engine: Engine, name: str) -> None:
    """A score below the range is moved to its lower end, where models with many zeros have all their edges."""
    model = model_of(name)
    assert (model.edges == 0.0).sum() > 1
    keys = np.concatenate([model.edge_keys, model.edge_keys - np.uint64(1)])
    expected = model.predict(np.full(len(keys), -3.0), tie_keys=keys).tolist()
    assert len(set(expected)) > 1
    engine.load({"p": np.full(len(keys), -3.0), "k": as_texts(keys)})
    for style in ("auto", "join") if engine.dialect in WITH_TABLES else ("auto",):
        assert answers_of(engine, fb.export.sql(model, tie_key="k", dialect=engine.dialect, style=style)) == expected


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dialect", "name", "n"),
    [
        *((each, name, 3000) for each in EMBEDDED for name in CURVES if (each, name) != ("sqlite", MANY_KNOTS)),
        *(
            pytest.param(each, name, 1_000_000, marks=pytest.mark.slow)
            for each in EMBEDDED
            for name in ("10 knots", "interpolated isotonic", "fitted Platt", "fitted beta")
        ),
    ],
)
def test_curves_are_what_predict_gives(engine: Engine, name: str, n: int) -> None:
    """Interpolated ones to the bit; smooth ones but for the last bits of exp and ln."""
    assert n_differing(engine, curve_model_of(name), n, tolerance=0.0 if name in LINES else 1e-12) == 0


def test_comment_says_how_close_the_value_is() -> None:
    for name, words in (
        ("10 knots", "Interpolated: the bits of the model"),
        ("fitted Platt", "Smooth: .* but for the last bits"),
    ):
        expression = fb.export.sql(curve_model_of(name), dialect="duckdb")
        assert re.search(words, expression.partition("*/")[0])
