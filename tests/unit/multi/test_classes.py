"""Top-label, class-wise and confidence calibration: classes, matrices, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base.checks import MOST_EVENT_BYTES
from fastbin._model.view import facts
from fastbin.cli._show import facts as sentences
from fastbin.multi import ClassWiseBinning, TopLabelBinning, classes
from fastbin.multi.cells import binary_method
from fitting import bare

RNG = np.random.default_rng(20)
N = 900
P = RNG.dirichlet([2, 1, 1], N)
Y = np.array([RNG.choice(3, p=(row + 1) / 4) for row in P])
NAMES = np.array(["cat", "dog", "ant"])
BOTH = pytest.mark.parametrize("estimator", [TopLabelBinning, ClassWiseBinning])


def test_bins_follow_from_the_points_of_a_class() -> None:
    models = TopLabelBinning(50, per_class=True).fit(P, Y).model_
    predicted = P.argmax(axis=1)
    counts = np.bincount(predicted)
    assert [models[c].n_bins_asked for c in range(3)] == (counts // 50).tolist()
    assert models.n_samples == N
    assert [TopLabelBinning(n_bins=4, per_class=True).fit(P, Y).model_[c].n_bins for c in range(3)] == [4, 4, 4]
    most = TopLabelBinning(1, per_class=True).fit(P, Y).model_
    assert [most[c].n_bins_asked for c in range(3)] == ((counts + 1) // 2).tolist()
    assert [model.n_bins_asked for _, model in ClassWiseBinning(100).fit(P, Y).model_.numbered] == [9, 9, 9]


def test_a_model_of_a_class_is_the_fit_of_its_predictions() -> None:
    predicted, tops = P.argmax(axis=1), P.max(axis=1)
    for calibrator in (fb.CertifiedCalibration(3, values="isotonic"), fb.ScalingBinning(3, scaler="none")):
        cal = TopLabelBinning(calibrator=calibrator, per_class=True).fit(P, Y)
        for c in range(3):
            rows = predicted == c
            assert cal.model_[c] == bare(type(calibrator)(**calibrator.get_params()).fit(tops[rows], Y[rows] == c).model_)
        wise = ClassWiseBinning(calibrator=calibrator).fit(P, Y).model_
        assert bare(wise[1]) == bare(type(calibrator)(**calibrator.get_params()).fit(P[:, 1], Y == 1).model_)


def test_names_of_classes_stay_with_their_columns() -> None:
    plain, named = TopLabelBinning().fit(P, Y), TopLabelBinning(classes=NAMES).fit(P, NAMES[Y])
    assert named.model_.columns == ("cat", "dog", "ant")
    assert named.model_.cells == ("ant", "cat", "dog")
    assert named.classes_.tolist() == NAMES.tolist()
    classes, values = named.predict(P)
    assert classes.tolist() == NAMES[plain.predict(P)[0]].tolist()
    assert np.array_equal(values, plain.predict(P)[1])
    tops = P.max(axis=1)
    assert np.array_equal(named.predict_top(tops, classes), values)
    assert fb.multi.TopLabelBinning(classes=NAMES).fit_top(tops, classes, NAMES[Y]).model_ == named.model_
    wise = ClassWiseBinning(classes=[7, -1, 3]).fit(P, np.array([7, -1, 3])[Y])
    assert np.array_equal(wise.predict(P), ClassWiseBinning().fit(P, Y).predict(P))
    assert wise.model_.columns == (7, -1, 3)


def test_the_lowest_column_wins_ties() -> None:
    tied = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.25, 0.25, 0.5]])
    assert TopLabelBinning().fit(P, Y).predict(tied)[0].tolist() == [0, 1, 2]
    third = np.full((60, 3), 1 / 3)
    models = TopLabelBinning(100, per_class=True).fit(third, np.arange(60) % 3).model_
    assert list(models.models) == [0]
    assert models[0].n_samples == 60


def test_classes_that_are_never_predicted() -> None:
    rows = P[(P.argmax(axis=1) != 2)]
    labels = Y[P.argmax(axis=1) != 2]
    models = TopLabelBinning().fit(rows, labels).model_
    assert models.pooled_cells == (2,)
    assert models.pool.n_samples == 0
    assert models.pool.values.tolist() == [0.5]
    assert models.predict([0.9], [2]).tolist() == [0.5]
    with pytest.raises(fb.InputError, match="class 2 has 0 samples, and a model of its own needs 50"):
        TopLabelBinning(thin="refuse").fit(rows, labels)
    some = np.concatenate([rows, P[P.argmax(axis=1) == 2][:7]])
    with_some = TopLabelBinning(per_class=True).fit(some, np.append(labels, [2] * 7)).model_
    assert with_some.pool.n_samples == 7
    absent = ClassWiseBinning().fit(P, np.where(Y == 2, 0, Y))
    assert absent.model_[2].n_positive == 0
    assert absent.predict(P)[:, 2].max() == 0.0


def test_confidence_calibration_is_one_model() -> None:
    cal = TopLabelBinning(per_class=False).fit(P, Y)
    assert cal.model_.n_models == 1
    assert cal.model_.pooled_cells == (0, 1, 2)
    assert cal.model_.pool == bare(fb.UniformMassBinning(18).fit(P.max(axis=1), P.argmax(axis=1) == Y).model_)
    classes, values = cal.predict(P)
    assert classes.tolist() == P.argmax(axis=1).tolist()
    assert np.array_equal(values, cal.model_.pool.predict(P.max(axis=1)))


def test_logits_are_never_guessed() -> None:
    logits = np.log(P) + 3.0
    cal = TopLabelBinning(inputs="logits").fit(logits, Y)
    assert np.allclose(cal.predict(logits)[1], TopLabelBinning().fit(P, Y).predict(P)[1], atol=0.05)
    assert np.isfinite(cal.predict([[1000.0, -1000.0, 0.0]])[1]).all()
    for estimator in (TopLabelBinning(), ClassWiseBinning()):
        with pytest.raises(fb.InputError, match=r"^P\[0, \d\] is .*, outside \[0, 1\]; .* logits with inputs='logits'"):
            estimator.fit(logits, Y)
    with pytest.raises(fb.InputError, match=r"P\[1, 2\] is inf"):
        cal.predict([[0.0, 1.0, 2.0], [0.0, 1.0, np.inf]])


def test_normalised_values_sum_to_one_and_are_not_certified() -> None:
    plain, cal = ClassWiseBinning().fit(P, Y), ClassWiseBinning(normalize=True).fit(P, Y)
    values = plain.predict(P)
    assert np.allclose(cal.predict(P), values / values.sum(axis=1, keepdims=True))
    assert bare(cal.model_) == bare(plain.model_)
    for name in ("certificate", "predict_interval"):
        arguments = [P] * (name == "predict_interval")
        with pytest.raises(fb.GuaranteeError, match=r"normalize=True divides .* those of model_: ask model_\."):
            getattr(cal, name)(*arguments)
    nothing = ClassWiseBinning(n_bins=1, normalize=True, classes=[0, 1, 2]).fit(P, np.zeros(N, int))
    assert nothing.predict(P[:1]).tolist() == [[1.0, 0.0, 0.0]]
    zeros = ClassWiseBinning(calibrator=fb.ExplicitBinning(edges=[0.5]), normalize=True)
    small = np.array([[0.4, 0.3, 0.3], [0.0, 0.6, 0.4], [0.6, 0.0, 0.4], [0.2, 0.2, 0.6]])
    with pytest.raises(fb.GuaranteeError, match="certificate"):
        zeros.fit(small, [1, 1, 0, 2]).certificate()
    rows = zeros.set_params(classes=["a", "b", "c", "d"], calibrator=fb.ExplicitBinning(edges=[0.9], monotone=False))
    four = np.array(
        [[0.95, 0.05, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.05, 0.95], [0.0, 0.95, 0.05, 0.0], [0, 0, 0.95, 0.05]]
    )
    assert rows.fit(four, ["a", "a", "d", "b", "c"]).predict(four).sum(axis=1) == pytest.approx(1.0)


def test_rows_of_zeros_get_equal_shares() -> None:
    rows = np.array([[0.9, 0.1], [0.8, 0.2]] * 4)
    cal = ClassWiseBinning(calibrator=fb.ExplicitBinning(edges=[0.5]), normalize=True, classes=[0, 1, 2])
    three = np.c_[rows, np.zeros(len(rows))]
    with pytest.warns(fb.FastbinWarning, match="^3 of 3 models"):
        cal.fit(three, np.full(8, 2))
    assert cal.predict([[0.6, 0.4, 0.0]]).tolist() == [[0.0, 0.0, 1.0]]
    with pytest.warns(fb.FastbinWarning):
        cal.fit(three[:, [2, 0, 1]], np.full(8, 0))
    assert cal.predict([[0.6, 0.4, 0.0]])[0].sum() == 1.0


BAD: dict[str, tuple[Any, str]] = {
    "sum": (
        lambda: (np.r_[P[:5], P[5:6] * 0.9, P[6:]], Y),
        r"row 5 of P sums to 0\.9.*, not to 1; pass the probabilities of all",
    ),
    "negative": (lambda: (np.r_[P[:5], [[-0.1, 0.6, 0.5]], P[6:]], Y), r"P\[5, 0\] is -0.1, outside \[0, 1\]"),
    "above one": (lambda: (np.r_[P[:5], [[0.0, 0.0, 1.5]], P[6:]], Y), r"P\[5, 2\] is 1.5, outside \[0, 1\]"),
    "NaN": (lambda: (np.r_[P[:5], [[0.0, np.nan, 0.5]], P[6:]], Y), r"P\[5, 1\] is NaN; remove such rows"),
    "label outside": (lambda: (P, np.r_[Y[:8], 3, Y[9:]]), r"labels\[8\] is 3, and without classes the 3 columns of P are the"),
    "negative label": (lambda: (P, np.r_[Y[:8], -1, Y[9:]]), r"labels\[8\] is -1"),
    "float labels": (lambda: (P, Y * 1.0), r"labels\[0\] is \d.0, a float; classes are integers or texts: pass labels.astype"),
    "texts": (lambda: (P, NAMES[Y]), r"labels are texts, such as '\w+', and classes is not given; pass classes"),
    "one column": (
        lambda: (P[:, :1], Y),
        "P has 1 column, and there are two classes at the least; scores of one class go to a",
    ),
    "one dimension": (
        lambda: (P[:, 0], Y),
        r"P must have a row for each sample and a column for each class, got shape \(900,\)",
    ),
    "length": (lambda: (P, Y[:-1]), "lengths differ: P has 900, labels has 899"),
    "words": (lambda: (P.astype(str)[:, :2].astype(object) + "x", Y), r"P\[0, 0\] is '0.*x', not a number"),
    "missing": (lambda: (with_one(pd.NA), Y), r"P\[5, 1\] is NaN; remove such rows, or impute them first"),
    "a word": (lambda: (with_one("x"), Y), r"P\[5, 1\] is 'x', not a number"),
    "beyond doubles": (lambda: (with_one(10**400), Y), r"P\[5, 1\] is beyond the greatest double"),
    "ragged": (lambda: ([[0.5, 0.5], [1.0]], [0, 1]), "P is not a matrix of numbers"),
    "empty": (lambda: (np.empty((0, 3)), []), "scores is empty"),
}


def with_one(item: object) -> pd.DataFrame:
    """The matrix as a frame of objects, with something else in one place."""
    frame = pd.DataFrame(P).astype(object)
    frame.iloc[5, 1] = item
    return frame


@BOTH
@pytest.mark.parametrize(("rows", "told"), list(BAD.values()), ids=list(BAD))
def test_bad_rows_are_refused_by_position(estimator: Any, rows: Any, told: str) -> None:
    with pytest.raises(fb.FastbinError, match="^" + told):
        estimator().fit(*rows())


BAD_CONFIGURATIONS = [
    ({"classes": ["a", "b"]}, "classes has 2 entries, and P has 3 columns"),
    ({"classes": ["a", "b", "b"]}, "classes holds 'b' twice"),
    ({"classes": ["a", "b", 3]}, r"classes\[2\] is 3"),
    ({"classes": [0.0, 1.0, 2.0]}, r"classes\[0\] is 0.0; a key is an integer or a text"),
    ({"classes": "abc"}, "classes is 'abc'; pass the class of each column"),
    ({"classes": ["cat", "dog", "cow"]}, r"labels\[\d+\] is '?\d'?, which is none of the 3 classes: 'cat', 'dog', 'cow'"),
    ({"inputs": "odds"}, "inputs is 'odds'; choose one of 'probabilities', 'logits'"),
    ({"points_per_bin": 0}, "points_per_bin is 0; it must be at least 1"),
    ({"n_bins": 0}, "n_bins is 0; it must be at least 1"),
    ({"n_bins": 4, "calibrator": fb.UniformMassBinning()}, "n_bins is 4, and calibrator has its own; give one of the two"),
    ({"calibrator": "umd"}, "calibrator is of type str; pass a binary calibrator"),
]


@BOTH
@pytest.mark.parametrize(("options", "told"), BAD_CONFIGURATIONS, ids=[told[:30] for _, told in BAD_CONFIGURATIONS])
def test_bad_configurations_are_refused(estimator: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(fb.FastbinError, match="^" + told):
        estimator(**options).fit(P, Y)


def test_unseen_classes_and_columns_are_refused_when_scored() -> None:
    cal = TopLabelBinning().fit(P, Y)
    with pytest.raises(fb.InputError, match=r"predicted\[1\] is 5, which is none of the 3 classes: 0, 1, 2; remove such rows"):
        cal.predict_top([0.5, 0.5], [0, 5])
    with pytest.raises(fb.InputError, match=r"predicted\[0\] is 'dog', which is none of the 3 classes"):
        cal.predict_top([0.5], ["dog"])
    with pytest.raises(fb.InputError, match=r"predicted\[0\] is 0, which is none of the 3 classes: 'cat'"):
        TopLabelBinning(classes=NAMES).fit(P, NAMES[Y]).predict_top([0.5], [0])
    with pytest.raises(fb.InputError, match="P has 2 columns, and there are 3 classes; give one column for each class"):
        cal.predict([[0.5, 0.5]])
    with pytest.raises(fb.InputError, match=r"predicted\[2\] is 9, which is none"):
        TopLabelBinning(classes=[0, 1, 2]).fit_top([0.5] * 3, [0, 1, 9], [0, 1, 2])
    with pytest.raises(fb.InputError, match=r"scores\[1\] is 1.5, outside"):
        TopLabelBinning().fit_top([0.5, 1.5], [0, 1], [0, 1])
    assert TopLabelBinning().fit_top(P.max(axis=1), P.argmax(axis=1), Y).model_ == cal.model_


def test_float32_rows_may_be_off_by_more() -> None:
    single = P.astype(np.float32)
    off = single * np.float32(1.00005)
    TopLabelBinning().fit(off, Y)
    with pytest.raises(fb.InputError, match=r"row 0 of P sums to 1\.0000"):
        TopLabelBinning().fit(off.astype(np.float64), Y)
    half = P.astype(np.float16)
    with pytest.raises(fb.InputError, match=r"P.astype\(float\) / P.astype\(float\).sum\(axis=1, keepdims=True\) scales"):
        TopLabelBinning().fit(half / half.sum(axis=1, keepdims=True), Y)
    TopLabelBinning().fit(half.astype(float) / half.astype(float).sum(axis=1, keepdims=True), Y)
    assert TopLabelBinning().fit(single, Y).model_ == TopLabelBinning().fit(single.tolist() and single, Y.tolist()).model_


def test_weights_are_those_of_the_binary_fits() -> None:
    frequencies = RNG.integers(0, 3, N)
    repeated = np.repeat(np.arange(N), frequencies)
    for estimator in (TopLabelBinning(), ClassWiseBinning()):
        weighted = estimator.fit(P, Y, frequencies).model_
        assert estimator.fit(P[repeated], Y[repeated]).model_ == weighted
        with pytest.raises(fb.InputError, match=r"sample_weight\[3\] is -1"):
            estimator.fit(P, Y, np.r_[frequencies[:3], -1, frequencies[4:]])


@BOTH
def test_they_are_estimators_like_others(estimator: Any) -> None:
    cal = estimator(30, classes=[0, 1, 2])
    assert repr(cal) == f"{estimator.__name__}(points_per_bin=30, classes=[0, 1, 2])"
    with pytest.raises(fb.NotFittedError, match=r"is not fitted yet; call fit\(P, labels\) first"):
        cal.predict(P)
    cal.fit(P, Y)
    again = pickle.loads(pickle.dumps(cal))
    assert again.model_ == cal.model_
    assert again.predict_one(0.7, 1) == cal.model_.predict_one(0.7, 1)
    assert cal.model_.kind == ("top-label" if estimator is TopLabelBinning else "class-wise")


# ------------------------------------------------------------------------------------------------- per_class="auto"


@pytest.mark.sampled
@pytest.mark.parametrize("calibrator", [None, fb.CertifiedCalibration()])
@pytest.mark.parametrize("shares", ["equal", "zipf"])
@pytest.mark.parametrize("k", [3, 10, 26, 100])
def test_many_classes_have_a_joint_epsilon_that_says_something(k: int, shares: str, calibrator: Any) -> None:
    sizes = np.ones(k) if shares == "equal" else 1.0 / np.arange(1, k + 1)
    for n in (3000, 10_000):
        rng = np.random.default_rng([k, n])
        predicted, scores = rng.choice(k, n, p=sizes / sizes.sum()), rng.beta(2.0, 1.2, n)
        rates = 1.0 / (1.0 + np.exp(-0.8 * np.log(scores / (1.0 - scores)) - rng.normal(0.0, 0.6, k)[predicted]))
        labels = np.where(rng.random(n) < rates, predicted, (predicted + 1) % k)
        cal = TopLabelBinning(calibrator=calibrator, classes=range(k)).fit_top(scores, predicted, labels)
        assert cal.certificate().epsilon <= 0.15
        if calibrator is None:
            assert cal.certificate(bound="a-priori").epsilon <= 0.15
        all_own = TopLabelBinning(calibrator=calibrator, classes=range(k), per_class=True).fit_top(scores, predicted, labels)
        assert all_own.certificate().epsilon > cal.certificate().epsilon


def test_auto_says_how_many_samples_a_model_took() -> None:
    scores, predicted = RNG.random(3000), np.repeat([0, 1, 2, 3], [2000, 700, 200, 100])
    cal = TopLabelBinning(classes=range(4)).fit_top(scores, predicted, np.zeros(3000, int))
    (step,) = cal.model_.provenance["made_by"]  # type: ignore[index]
    least = step["configuration"]["min_points"]
    assert step["configuration"]["per_class"] == "auto"
    assert 200 < least < 300
    assert cal.model_.pooled_cells == (2, 3)
    assert cal.get_params()["min_points"] == 50
    for told in (facts(cal.model_)["The pool"], " ".join(sentences(cal.model_))):
        assert f"a model has at least {least} samples" in told
    assert "at least" not in facts(TopLabelBinning(min_points=900, per_class=True).fit(P, Y).model_)["The pool"]
    again = TopLabelBinning(min_points=least, classes=range(4)).fit_top(scores, predicted, np.zeros(3000, int))
    assert bare(again.model_) == bare(cal.model_)


def test_a_pool_of_few_rows_gets_the_class_that_is_predicted_least() -> None:
    predicted = np.repeat([0, 1, 2, 3], [1000, 600, 600, 9])
    labels, scores = np.zeros(2209, int), RNG.random(2209)
    assert TopLabelBinning(per_class=True).fit_top(scores, predicted, labels).model_.pooled_cells == (3,)
    assert TopLabelBinning().fit_top(scores, predicted, labels).model_.pooled_cells == (1, 3)
    none_left = TopLabelBinning(classes=range(4)).fit_top(scores[:2200], predicted[:2200], labels[:2200]).model_
    assert none_left.pooled_cells == (3,)
    assert none_left.pool.n_samples == 0
    assert TopLabelBinning().fit_top(scores[-609:], predicted[-609:], labels[-609:]).model_.n_models == 1


@pytest.mark.parametrize(
    "options",
    [
        {"thin": "refuse", "min_points": 1},
        {"calibrator": fb.PlattScaling()},
        {"calibrator": fb.FixedWidthBinning(1)},
        {"calibrator": fb.UniformMassBinning(3, scheme="ums")},
    ],
)
def test_auto_is_true_where_bins_have_no_known_size_and_where_no_class_may_be_pooled(options: dict[str, Any]) -> None:
    assert TopLabelBinning(**options).fit(P, Y).model_ == TopLabelBinning(**options, per_class=True).fit(P, Y).model_


@pytest.mark.parametrize("value", ["yes", 2, None, np.ones(2)])
def test_per_class_is_one_of_three(value: Any) -> None:
    refuses("InputError per_class", TopLabelBinning(per_class=value).fit, P, Y)
    assert TopLabelBinning(per_class=np.bool_(False)).fit(P, Y).model_.n_models == 1  # type: ignore[arg-type]


def test_every_class_has_its_share_of_the_level_of_falling_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    levels, own = [], classes.fit_named

    def spy(calibrator: Any, rows: Any, name: str, told: Any, level: float, event: str) -> Any:
        levels.append(level)
        return own(calibrator, rows, name, told, level, event)

    monkeypatch.setattr(classes, "fit_named", spy)
    ClassWiseBinning(n_bins=2).fit(np.random.default_rng(0).dirichlet([1] * 4, 40), np.arange(40) % 4)
    assert levels == [classes.LEVEL / 4] * 4


def test_the_longest_name_of_a_class_is_an_event() -> None:
    longest = "a" * MOST_EVENT_BYTES
    assert [classes._event_of_class(key) for key in (longest, f"{longest}a", 7)] == [longest, "", "7"]


def test_a_class_of_its_own_has_one_and_a_half_times_the_samples_of_a_bin() -> None:
    """Rounded up."""
    method, needed = binary_method(None).within_epsilon(5000)
    assert (method.fewest_per_bin, needed) == (385, 578)
