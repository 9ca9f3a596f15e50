"""Vector models on the command line: shown, written as JSON and back, and refused by what needs one value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from commands import run

import fastbin as fb
from fastbin.vector_model import VectorMap, VectorModel

RNG = np.random.default_rng(2)


def model_of(has_evidence: bool = True, second: str = "ant\x1b[31m") -> VectorModel:
    scores = RNG.random(300)
    one = fb.CertifiedCalibration().fit(scores, RNG.random(300) < scores).model_
    counts = np.tile([[200, 40], [100, 60]], (4, 1, 1))
    evidence = (np.full((4, 1), 0.25), counts, np.tile([0.25, 0.5], (4, 1))) if has_evidence else ()
    own = VectorMap(0.5, 0.01, 1e-9, True, np.ones(3), np.zeros(3), np.full(3, 1 / 3), np.eye(3), *evidence)
    return VectorModel._of({"cow": one, second: one, "bee": one}, own, provenance=b"{}")


@pytest.fixture
def path(tmp_path: Path) -> str:
    model_of().save(tmp_path / "animals.fbm")
    return str(tmp_path / "animals.fbm")


def test_inspect(path: str) -> None:
    shown = run("inspect", path).output
    assert "A vector model of 3 classes, 2 bins for each class and the top label, from 300 samples." in shown
    assert "The largest entry of a row stays the largest." in shown
    assert "by a matrix" in shown
    assert "top label" in shown
    assert "0.25" in shown
    assert "\x1b" not in shown
    assert str(fb.load(path).certificate(0.05)) in " ".join(run("inspect", path, "--alpha", "0.05").output.split())


def test_a_name_ends_no_line(tmp_path: Path) -> None:
    path = str(tmp_path / "animals.fbm")
    model_of(second="ant\neater").save(path)
    shown = run("inspect", path).output
    assert "Columns are the classes cow, ant\\neater, bee." in shown
    assert "\neater" not in shown


def test_inspect_as_json(path: str) -> None:
    model = fb.load(path)
    told = json.loads(run("inspect", path, "--json").stdout)
    assert (told["kind"], told["classes"], told["n_samples"]) == ("vector", list(model.classes), 300)
    assert told["map"]["counts"] == model.vector.counts.tolist()
    assert told["map"]["unlabelled"] is None
    assert told["certificate"]["epsilon"] == model.certificate().epsilon
    assert told["why_no_certificate"] is None
    assert [each["cell"] for each in told["models"]] == list(model.classes)
    assert told["models"][0]["n_samples"] == 300


def test_inspect_one_class(path: str) -> None:
    assert "from 300 samples" in run("inspect", path, "--cell", "bee").output
    assert json.loads(run("inspect", path, "--cell", "bee", "--json").stdout)["cell"] == "bee"
    assert "has no cell 'cat'" in run("inspect", path, "--cell", "cat", code=1).output


def test_inspect_without_evidence(tmp_path: Path) -> None:
    path = str(tmp_path / "plain.fbm")
    model_of(has_evidence=False).save(path)
    shown = run("inspect", path).output
    assert "3 classes, no bins of evidence, from 300 samples" in shown
    assert "No certificate: the model has no evidence bins" in shown
    told = json.loads(run("inspect", path, "--json").stdout)
    assert told["certificate"] is None
    assert "evidence bins" in told["why_no_certificate"]


def test_json_and_back(path: str, tmp_path: Path) -> None:
    text, back = str(tmp_path / "animals.json"), str(tmp_path / "back.fbm")
    run("export", path, "-o", text)
    assert run("inspect", text).output.splitlines()[1:] == run("inspect", path).output.splitlines()[1:]
    run("export", text, "-o", back)
    assert Path(back).read_bytes() == Path(path).read_bytes()


def test_commands_that_need_one_value(path: str, tmp_path: Path) -> None:
    table, back = str(tmp_path / "rows.csv"), str(tmp_path / "back.fbm")
    Path(table).write_text("p,y\n0.5,1\n0.25,0\n")
    adapted = ("adapt", path, "--target-rate", "0.2", "-o", back)
    for arguments in (("monitor", path, table), adapted):
        told = " ".join(run(*arguments, code=1).output.split())
        assert "is a vector model, and this command takes models and sets of models; predict, assess, report" in told, told
    Path(tmp_path / "rows.sql").write_text("SELECT 1")
    assert "is a vector model" in " ".join(run("verify", path, "--against", str(tmp_path / "rows.sql"), code=2).output.split())


# ---------------------------------------------------------------------- rows of all classes

CLASSES = ["cat", "dog", "cow"]
P = np.random.default_rng(4).dirichlet([1.0, 1.0, 1.0], 3000)
TRUTH = (((P + 0.1) / 1.3).cumsum(axis=1) > np.random.default_rng(5).random((3000, 1))).argmax(axis=1)
OPTIONS = ("--classes", "cat,dog,cow")


def write_csv(path: Path, rows: slice) -> None:
    lines = (
        ",".join([*map(repr, p.tolist()), CLASSES[column], str(3 + column)])
        for p, column in zip(P[rows], TRUTH[rows].tolist(), strict=True)
    )
    path.write_text("\n".join(["cat,dog,cow,animal,number", *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    for name, rows in (("fit", slice(0, 600)), ("test", slice(600, 1000)), ("more", slice(1000, None))):
        write_csv(folder / f"{name}.csv", rows)
    calibrated = ("fit", f"{folder}/fit.csv", *OPTIONS, "--label", "animal", "--vectors")
    run(*calibrated, "--unlabelled", f"{folder}/more.csv", "-o", f"{folder}/vectors.fbm")
    run(*calibrated, "--keep-top", "--method", "platt", "-o", f"{folder}/kept.fbm")
    return folder


def test_fit(folder: Path) -> None:
    cal = fb.multi.VectorCalibration(classes=CLASSES)
    cal.fit(P[:600], np.array(CLASSES)[TRUTH[:600]], unlabelled=P[1000:])
    assert fb.load(folder / "vectors.fbm") == cal.model_
    kept = fb.multi.VectorCalibration(classes=CLASSES, keep_top=True, calibrator=fb.PlattScaling())
    assert fb.load(folder / "kept.fbm") == kept.fit(P[:600], np.array(CLASSES)[TRUTH[:600]]).model_
    numbered = ("fit", f"{folder}/fit.csv", *OPTIONS, "--label", "number", "--class-labels", "3,4,5", "--vectors")
    shown = run(*numbered, "--n-bins", "2").output
    assert "A vector model of 3 classes, 2 bins for each class and the top label, from 600 samples" in shown
    assert "With probability at least 90 %" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--vectors", "--class-wise"), "--top-label and --class-wise do not go with --vectors"),
        (("--vectors", "--min-points", "9"), "--min-points does not go with --vectors"),
        (("--keep-top",), "--keep-top goes with --vectors"),
        (("--unlabelled", "more.csv"), "--unlabelled goes with --vectors"),
    ],
)
def test_options_of_fit_that_do_not_go_together(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    assert told in run("fit", f"{folder}/fit.csv", *OPTIONS, "--label", "animal", *arguments, code=2).output


def test_columns_that_are_called_as_other_classes_are_refused(folder: Path, tmp_path: Path) -> None:
    rows = (folder / "fit.csv").read_text().split("\n", 1)[1]
    (tmp_path / "p.csv").write_text(f"p_cat,p_dog,p_cow,animal,number\n{rows}")
    moved = ("--classes", "p_cow,p_cat,p_dog")
    refused = run("fit", f"{tmp_path}/p.csv", *moved, "--class-labels", "cat,dog,cow", "--label", "animal", code=2)
    told = "the columns of --classes are p_cow, p_cat, p_dog, and would be the classes cat, dog, cow"
    assert told in " ".join(refused.output.split())
    for command in (("predict",), ("assess", "--label", "animal")):
        told = run(command[0], f"{folder}/vectors.fbm", f"{tmp_path}/p.csv", *moved, *command[1:], code=1).output
        assert "--classes is p_cow, p_cat, p_dog, and the model has the classes cat, dog, cow" in " ".join(told.split())
    in_order = ("--classes", "p_cat,p_dog,p_cow")
    run("fit", f"{tmp_path}/p.csv", *in_order, "--class-labels", "cat,dog,cow", "--label", "animal")
    run("predict", f"{folder}/vectors.fbm", f"{tmp_path}/p.csv", *in_order, "-o", f"{tmp_path}/out.csv")


def test_vectors_need_classes(folder: Path) -> None:
    assert "--vectors goes with --classes" in run("fit", f"{folder}/fit.csv", "--vectors", code=2).output


def predicted(folder: Path, *arguments: str, code: int = 0) -> Result:
    return run("predict", f"{folder}/vectors.fbm", f"{folder}/test.csv", *arguments, code=code)


def test_predict(folder: Path) -> None:
    model = fb.load(folder / "vectors.fbm")
    head, *lines = predicted(folder, *OPTIONS, "--column", "q").output.splitlines()
    assert head == "cat,dog,cow,animal,number,q_cat,q_dog,q_cow"
    values = np.array([line.split(",")[5:] for line in lines], float)
    np.testing.assert_array_equal(values, model.predict(P[600:1000]))
    in_order = predicted(folder, "--classes", "cow,cat,dog", "--column", "q").output.splitlines()
    assert in_order == [head, *lines]


def test_predict_from_logits(folder: Path, tmp_path: Path) -> None:
    rows = "\n".join(",".join(map(repr, row)) for row in np.log(P[600:620]).tolist())
    (tmp_path / "logits.csv").write_text(f"cat,dog,cow\n{rows}\n")
    told = ("predict", f"{folder}/vectors.fbm", f"{tmp_path}/logits.csv", *OPTIONS, "--inputs", "logits")
    values = np.array([line.split(",")[3:] for line in run(*told).output.splitlines()[1:]], float)
    np.testing.assert_allclose(values, fb.load(folder / "vectors.fbm").predict(P[600:620]), rtol=1e-9)


def test_what_predict_refuses(folder: Path, tmp_path: Path) -> None:
    for arguments, told in (
        ((), "is a vector model; say --classes COLUMNS, one for each of its 3 classes"),
        (("--classes", "cat,dog"), "--classes names 2 columns, and the model has 3 classes: cat, dog, cow"),
        ((*OPTIONS, "--interval", "0.1"), "intervals of its single values are not known"),
        ((*OPTIONS, "--nan", "propagate"), "--nan propagate does not go with classes"),
    ):
        assert told in " ".join(predicted(folder, *arguments, code=1).output.split())
    (tmp_path / "bad.csv").write_text("cat,dog,cow\n0.5,0.25,0.25\n0.5,0.5,0.5\n")
    told = run("predict", f"{folder}/vectors.fbm", f"{tmp_path}/bad.csv", *OPTIONS, code=1).output
    assert "line 3" in told
    assert "sums to 1.5, not to 1" in told


def test_export(folder: Path) -> None:
    duckdb, onnx = pytest.importorskip("duckdb"), pytest.importorskip("onnxruntime")
    path, model = f"{folder}/vectors.fbm", fb.load(folder / "vectors.fbm")
    query = run("export", path, "--to", "sql", "--dialect", "duckdb", "--score", "cat, dog,cow", "--source", "rows").output
    assert query.rstrip() == fb.export.sql(model, CLASSES, dialect="duckdb", source="rows")
    with duckdb.connect() as connection:
        connection.sql(f"CREATE TABLE rows AS FROM '{folder}/test.csv'")
        found = connection.sql(f"SELECT fastbin_value_cat, fastbin_value_dog, fastbin_value_cow FROM ({query})").fetchnumpy()
    np.testing.assert_allclose(np.stack(list(found.values()), axis=1), model.predict(P[600:1000]), rtol=1e-12)
    run("export", path, "-o", f"{folder}/vectors.onnx")
    session = onnx.InferenceSession(f"{folder}/vectors.onnx", providers=["CPUExecutionProvider"])
    (values,) = session.run(["probability"], {"score": P[600:1000]})
    np.testing.assert_allclose(values, model.predict(P[600:1000]), rtol=1e-12)
    assert "kind: vector" in run("inspect", f"{folder}/vectors.onnx").output


def test_what_export_refuses(folder: Path) -> None:
    path = f"{folder}/vectors.fbm"
    told = run("export", path, "--to", "sql", "--score", "cat,dog", code=2).output
    assert "say --score with the 3 columns of the classes, separated by commas" in told
    assert "--cell is for sets" in run("export", path, "--to", "sql", "--score", "cat,dog,cow", "--cell", "c", code=2).output
    told = run("export", path, "--to", "java", "--name", "A", code=1).output
    assert "is a vector model, which sql, onnx and json can hold" in " ".join(told.split())


def test_assess(folder: Path) -> None:
    asked = ("assess", f"{folder}/vectors.fbm", f"{folder}/test.csv", *OPTIONS, "--label", "animal")
    shown = run(*asked).output
    assert "400 test samples of 3 classes." in shown
    assert "top-label calibration error" in shown
    assert "Not contradicted by 400 new rows" in shown
    told = json.loads(run(*asked, "--against", f"{folder}/kept.fbm", "--json").stdout)
    model = fb.load(folder / "vectors.fbm")
    found = fb.report.assess_model(model, P[600:1000], np.array(CLASSES)[TRUTH[600:1000]])
    assert told["scorecards"][1] == json.loads(json.dumps(found.to_dict()))["scorecards"][1]
    assert [card["name"] for card in told["scorecards"]] == ["raw", "calibrated", "kept"]
    assert told["check"]["verdict"] == "not contradicted"


def test_exit_code_and_rows_without_a_probability(folder: Path, tmp_path: Path) -> None:
    lines = Path(folder / "test.csv").read_text().splitlines()
    turned = [
        ",".join([*line.split(",")[:3], CLASSES[least], "3"]) for line, least in zip(lines[1:], P[600:].argmin(1), strict=False)
    ]
    (tmp_path / "wrong.csv").write_text("\n".join([lines[0], ",0.5,0.5,cat,3", *turned]) + "\n")
    asked = ("assess", f"{folder}/vectors.fbm", f"{tmp_path}/wrong.csv", *OPTIONS, "--label", "animal", "--exit-code")
    shown = " ".join(run(*asked, code=3).output.split())
    assert "Caution: The certificate is contradicted by the test set." in shown
    assert "1 test row is left out of every number here" in shown


def test_what_assess_refuses(folder: Path, path: str) -> None:
    asked = ("assess", f"{folder}/vectors.fbm", f"{folder}/test.csv", *OPTIONS, "--label", "animal")
    for arguments, told in (
        (("--group", "number"), "--group is about one probability for each row"),
        (("--against-column", "cat"), "--against-column is about one probability for each row"),
        (("--against", path), "is of other classes"),
    ):
        assert told in " ".join(run(*asked, *arguments, code=1).output.split())
    wrong = run("assess", f"{folder}/vectors.fbm", f"{folder}/test.csv", *OPTIONS, "--label", "number", code=1).output
    assert "line 2" in wrong
    fb.UniformMassBinning(2).fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]).model_.save(folder / "one.fbm")
    assert "is not a vector model, and MODEL is one" in run(*asked, "--against", f"{folder}/one.fbm", code=1).output


def test_report(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    told = run(
        "report", f"{folder}/vectors.fbm", f"{folder}/test.csv", *OPTIONS, "--label", "animal", "-o", f"{folder}/page.html",
        "--title", "Animals",
    ).output  # fmt: skip
    assert "400 test samples" in told
    page = (folder / "page.html").read_text()
    assert "<h1>Animals</h1>" in page
    assert "vectors.fbm" in page
