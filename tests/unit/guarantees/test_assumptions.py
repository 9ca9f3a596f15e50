"""The assumptions of a promise, which theorem it rests on, and what it is about, in certificates and on pages."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from wordings import refused, refuses

import fastbin as fb
from fastbin.guarantees.certificate import ASSUMPTIONS, sentences
from fastbin.guarantees.law import one_sided_radius
from fastbin.intervals import clopper_pearson, sidak
from fastbin.shift import ImportanceWeightedBinning, LabelShift
from fitting import quietly
from oracle import REPOSITORY

pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

PAGE = REPOSITORY / "docs" / "guarantees.md"
DRAWS, TRAINING, NO_ATOMS, KEYS, BINS = sentences("draws", "training", "no atoms", "keys", "bins")


def rows(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < 0.2 + 0.5 * scores


# ------------------------------------------------------------------------------------------------- one table


def test_the_readme_has_the_sentences_of_the_table() -> None:
    text = " ".join((REPOSITORY / "README.md").read_text(encoding="utf8").split())
    for sentence in (DRAWS, TRAINING, NO_ATOMS):
        assert f"- {sentence}" in text
    assert "one assumption" not in text
    assert "any classifier and any distribution" not in text


def test_every_promise_about_one_row_of_each_cluster_says_so() -> None:
    scores, labels = rows(600, 1)
    model = fb.UniformMassBinning(4, monotone=True).fit(scores, labels).model_._derived("one_per_cluster", {"seed": 1})
    moved = LabelShift(model, method="known", target_rate=0.3).fit()
    said = ASSUMPTIONS["clusters"].sentence
    for certificate in (model.certificate(), model.certificate(kind="mean-error"), moved.certificate()):
        assert said in certificate.assumptions


def test_another_map_is_of_the_same_event() -> None:
    scores, labels = rows(600, 1)
    words = np.where(labels, "paid", "default")
    one, other = (fb.UniformMassBinning(4, monotone=True).fit(scores, words, positive=event) for event in ("paid", "default"))
    refuses("InputError of: is about 'default', and the model about 'paid'", one.certificate, kind="mean-error", of=other)


def test_a_set_of_moved_models_is_about_the_target() -> None:
    rates = {"method": "known", "target_rate": 0.3, "source_rate": 0.5}
    models = [LabelShift(fb.UniformMassBinning(4).fit(*rows(600, seed)), **rates).fit().model_ for seed in (1, 2)]
    both = fb.ModelSet({"a": models[0], "b": models[1]}).certificate()
    assert "of the true frequency of label 1 in the target population" in str(both)
    mixed = fb.ModelSet({"a": models[0], "b": fb.UniformMassBinning(4).fit(*rows(600, 3)).model_}).certificate()
    assert "in the population that each model is about" in str(mixed)


def test_dependence_is_named() -> None:
    for word in ("one row an obligor", "repeated customers", "overlapping windows", "common shocks"):
        assert word in DRAWS
    for remedy in ("clusters", "one row of each", "smaller alpha"):
        assert remedy in ASSUMPTIONS["draws"].otherwise


@pytest.mark.parametrize(
    ("fit", "assumed"),
    [
        (lambda s, y: fb.UniformMassBinning(5).fit(s, y), [DRAWS, TRAINING, NO_ATOMS]),
        (lambda s, y: fb.UniformMassBinning(5).fit(np.round(s, 1), y), [DRAWS, TRAINING]),
        (lambda s, y: fb.UniformMassBinning(5, scheme="ums").fit(s, y), [DRAWS, TRAINING]),
        (lambda s, y: fb.UniformMassBinning(5, ties="random").fit(s, y), [DRAWS, TRAINING, KEYS]),
        (lambda s, y: fb.FixedWidthBinning(5).fit(s, y), [DRAWS, TRAINING]),
        (lambda s, y: fb.CertifiedCalibration(5).fit(s, y), [DRAWS, TRAINING, NO_ATOMS]),
        (lambda s, y: fb.CertifiedCalibration(5).fit(np.round(s, 1), y), [DRAWS, TRAINING]),
        (
            lambda s, y: fb.CertifiedCalibration(5).fit(s, y, unlabelled=rows(500, 1)[0]),
            [DRAWS, TRAINING, *sentences("unlabelled"), NO_ATOMS],
        ),
    ],
)
def test_each_certificate_has_the_sentences_that_it_needs(fit, assumed: list[str]) -> None:
    fitted = fit(*rows())
    assert list(fitted.certificate().assumptions) == assumed
    assert list(fitted.certificate(kind="marginal").assumptions) == [*assumed, BINS]


def test_promises_about_other_populations_assume_no_less() -> None:
    scores, labels = rows()
    shifted = LabelShift(fb.UniformMassBinning(5).fit(scores, labels).model_, method="known", target_rate=0.3).fit()
    weighted = ImportanceWeightedBinning(5).fit(scores, labels, np.ones(2000))
    for certificate in (shifted.certificate(), weighted.certificate(weight_bound=2.0)):
        assert DRAWS.replace("the population that will be scored", "the source population") == certificate.assumptions[0]
        assert NO_ATOMS in certificate.assumptions


# ------------------------------------------------------------------------------------------------- any distribution


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("kind", ["conditional", "marginal"])
def test_the_hull_drops_the_assumption_at_little_cost(scheme: str, kind: str) -> None:
    cal = fb.UniformMassBinning(10, scheme=scheme).fit(*rows())
    plain, hull = cal.certificate(kind=kind), cal.certificate(kind=kind, bound="hull")
    assert plain.epsilon < hull.epsilon < plain.epsilon + 2.0 / 199
    assert NO_ATOMS in plain.assumptions
    assert NO_ATOMS not in hull.assumptions
    assert "fastbin, Theorem F2" in hull.theorem


def test_with_ties_at_edges_or_edges_of_others_the_hull_is_nothing_new() -> None:
    scores, labels = rows()
    for fitted in (
        fb.UniformMassBinning(5).fit(np.round(scores, 1), labels),
        fb.UniformMassBinning(5, scheme="ums").fit(scores, labels),
        fb.UniformMassBinning(5, ties="random").fit(np.round(scores, 1), labels),
        fb.CertifiedCalibration(5).fit(np.round(scores, 1), labels),
    ):
        plain, hull = (fitted.certificate(bound=bound) for bound in ("clopper-pearson", "hull"))
        assert (hull.radii, hull.theorem) == (plain.radii, plain.theorem)


def test_the_hull_is_that_of_both_labels() -> None:
    """The interval of Theorem F2 holds those of a whole group of one sample, whatever its label: Theorem F1."""
    model = fb.UniformMassBinning(4).fit(*rows(60)).model_
    level, hull = sidak(0.1, 4), model.certificate(bound="hull").radii
    for b in range(1, 4):
        z, interior = int(model.label_sums[b]), int(model.counts[b])
        for label in (0, 1):
            for ends in (clopper_pearson([z + label], [interior + 1], level)[0], clopper_pearson([z], [interior], level)[0]):
                assert max(ends[1] - model.values[b], model.values[b] - ends[0]) <= hull[b]


def test_certified_models_have_the_hull_too_but_not_with_unlabelled_scores() -> None:
    scores, labels = rows(10_000)
    fine = fb.CertifiedCalibration().fit(scores, labels)
    plain, hull = fine.certificate(), fine.certificate(bound="hull")
    assert plain.epsilon < hull.epsilon < 1.02 * plain.epsilon
    assert "Theorems F2 and F4" in hull.theorem
    assert "Theorem F3" in plain.theorem
    few = quietly(fb.CertifiedCalibration().fit, scores[:500].round(1), labels[:500])
    assert "Theorems F1, F4, F9 and F19)" in few.certificate().theorem
    assert NO_ATOMS not in hull.assumptions
    pooled = fb.CertifiedCalibration(5).fit(*rows(), unlabelled=rows(500, 1)[0])
    assert "Theorems F3 and F5" in pooled.certificate().theorem
    refused(fb.GuaranteeError, "'hull' is not proved for a fit with unlabelled=", pooled.certificate, bound="hull")


def test_sets_have_the_hull() -> None:
    scores, labels = rows()
    cells = np.where(np.arange(2000) % 3, "a", "b")
    cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(5)).fit(scores, labels, cells)
    assert cal.certificate().epsilon < cal.certificate(bound="hull").epsilon
    assert NO_ATOMS in cal.certificate().assumptions
    assert NO_ATOMS not in cal.certificate(bound="hull").assumptions


# ------------------------------------------------------------------------------------------------- the terms of epsilon


@pytest.mark.parametrize("bound", ["clopper-pearson", "hull"])
@pytest.mark.parametrize("decimals", [2, 17])
@pytest.mark.parametrize("n", [60, 1000, 10_000])
def test_the_terms_add_up_to_epsilon(n: int, decimals: int, bound: str) -> None:
    scores, labels = rows(n)
    certificate = fb.CertifiedCalibration().fit(np.round(scores, decimals), labels).certificate(bound=bound)
    assert [name for name, _ in certificate.terms] == [
        "Clopper-Pearson",
        "mean label against mean served",
        "masses of the steps",
    ]
    sizes = [size for _, size in certificate.terms]
    assert sum(sizes) == pytest.approx(certificate.epsilon, abs=1e-12)
    assert sizes[0] > 0 <= sizes[2]
    line = next(line for line in certificate.explain().splitlines() if line.startswith("Epsilon: "))
    total, *printed = (float(number.replace(" ", "")) for number in re.findall(r"-? ?\d\.\d+", line))
    assert total == pytest.approx(sum(printed), abs=2.1e-5)
    assert json.loads(json.dumps(certificate.to_dict())) == certificate.to_dict()


def test_the_middle_term_is_known_before() -> None:
    """In the bin that decides: the mean label of its samples less the mean of what was served to them, or the reverse."""
    model = fb.CertifiedCalibration().fit(*rows(10_000)).model_
    certificate = model.certificate()
    widest = int(np.argmax(certificate.radii))
    offset = model.label_sums[widest] / model.counts[widest] - model.bin_values[widest]
    assert abs(certificate.terms[1][1]) == pytest.approx(abs(offset), abs=1e-12)


def test_models_whose_values_are_bin_means_have_no_terms() -> None:
    certificate = fb.UniformMassBinning(5).fit(*rows()).certificate()
    assert certificate.terms == ()
    assert "Epsilon:" not in certificate.explain()


@pytest.mark.parametrize("truth", ["linear", "sharp"])
def test_the_masses_are_the_small_part(truth: str) -> None:
    """docs/guarantees.md says of the shares: 0 to 29 % on average."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 10_000])
        scores = rng.random(10_000)
        labels = rng.random(10_000) < (scores if truth == "linear" else 1 / (1 + np.exp(-12 * (scores - 0.5))))
        certificate = fb.CertifiedCalibration(10).fit(scores, labels).certificate()
        shares.append(certificate.terms[2][1] / certificate.epsilon)
    assert 0.05 < np.mean(shares) < 0.29


# ------------------------------------------------------------------------------------------------- bins without an edge


@pytest.mark.parametrize("make", [fb.UniformMassBinning, fb.CertifiedCalibration])
def test_a_bin_without_an_edge_is_promised_whole(make) -> None:
    scores, labels = rows()
    heavy, light = (make(5).fit(np.where(scores < at, 0.0, scores.round(2)), labels) for at in (0.7, 0.1))
    assert heavy.model_.tie_counts[0, 0] > 0
    assert light.model_.tie_counts[0, 0] == 0
    for kind in ("conditional", "marginal", "ece"):
        assert "promised" not in str(heavy.certificate(kind=kind))
        assert "F14" in heavy.certificate(kind=kind).theorem
        assert "F14" not in light.certificate(kind=kind).theorem


OF_EDGES = 1.0 - 0.9**0.95  # what a rest leaves of alpha = .1


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_the_rest_is_all_samples_beyond_the_next_edge(scheme: str) -> None:
    scores, labels = rows()
    scores = np.where(scores < 0.7, 0.0, scores)
    model = fb.UniformMassBinning(10, scheme=scheme).fit(1.0 - scores if scheme == "umb" else scores, labels).model_
    place = model.n_bins - 1 if scheme == "umb" else 0
    inside = scores < (1.0 - model.edges[-1] if scheme == "umb" else model.edges[0])
    x, T = int(labels[inside].sum()), int(inside.sum())
    for simultaneous, n_edges in ((True, model.n_bins - 1), (False, 1)):
        found = model.interval(0.1, simultaneous=simultaneous)
        np.testing.assert_allclose(found[place], clopper_pearson([x], [T], (0.1 - OF_EDGES) / 9)[0], rtol=1e-12)
        sure, sure_ones, left_out = model.tie_counts.T
        counts, ones = model.counts + (scheme == "umd"), model.label_sums + (left_out if scheme == "umd" else 0)
        level = 1.0 - (1.0 - OF_EDGES) ** (1.0 / n_edges)
        whole, without = clopper_pearson(ones, counts, level), clopper_pearson(ones - sure_ones, counts - sure, level)
        hull = np.stack([np.minimum(whole, without)[:, 0], np.maximum(whole, without)[:, 1]], axis=1)
        others = np.arange(model.n_bins) != place
        np.testing.assert_allclose(found[others], hull[others], rtol=1e-12)


def test_a_fit_that_might_have_left_a_rest_spares_its_share() -> None:
    scores, labels = rows()
    model = fb.UniformMassBinning(5).fit(scores.round(2), labels).model_
    assert model.tie_counts[0, 0] == 0
    low, high = model.interval(0.1)[0]
    level = 1.0 - 0.9 ** (0.95 / model.n_bins)
    np.testing.assert_allclose([low, high], clopper_pearson(model.label_sums[:1], model.counts[:1], level)[0], rtol=1e-12)


def test_rows_below_all_that_placed_edges_are_in_the_rest() -> None:
    scores, labels = rows()
    scores = np.where(scores < 0.7, 0.3, scores)
    scores[:3], labels[:3] = 0.1, True
    model = fb.UniformMassBinning(10, edges_share=0.25, seed=2).fit(scores, labels).model_
    counted = int(model.counts.sum()) + model.n_bins
    assert counted == 1997  # none of the three placed an edge
    inside = scores < model.edges[0]
    expected = clopper_pearson([int(labels[inside].sum())], [int(inside.sum())], (0.1 - OF_EDGES) / 9)[0]
    np.testing.assert_allclose(model.interval(0.1)[0], expected, rtol=1e-12)
    # The mean of the counted rows is off that of all by their share at most.
    before = model.certificate(bound="a-priori")
    assert before.epsilon > one_sided_radius(int(inside.sum()), (0.1 - OF_EDGES) / 9) + 3 / inside.sum()


def test_the_number_of_ranks_must_be_known() -> None:
    scores, labels = rows()
    model = fb.UniformMassBinning(5).fit(np.where(scores < 0.7, 0.0, scores), labels).model_
    for unknown in (0, 1):
        refused(fb.GuaranteeError, "give n_bins_asked", model._replace(n_bins_asked=unknown).certificate)


def test_the_value_of_a_bin_whose_edge_is_not_written_leaves_a_sample_out() -> None:
    """As docs/guarantees.md says; x / T is that of a lowest bin below a written edge."""
    scores, labels = rows()
    heavy = fb.UniformMassBinning(5).fit(np.where(scores < 0.7, 0.0, scores), labels).model_
    light = fb.UniformMassBinning(5).fit(np.where(scores < 0.1, 0.0, scores), labels).model_
    assert heavy.counts[0] == np.count_nonzero(scores < heavy.edges[0]) - 1
    assert light.counts[0] == np.count_nonzero(scores < light.edges[0])


def test_a_pool_is_promised_as_it_was_mixed() -> None:
    scores, labels = rows(4000)
    cells = np.random.default_rng(1).choice(["large", "zeros", "s", "t"], 4000, p=[0.6, 0.37, 0.02, 0.01])
    scores = np.where((cells == "zeros") & (scores < 0.8), 0.0, scores)
    cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(5), min_points=200).fit(scores, labels, cells)
    for kind in ("conditional", "marginal", "ece"):
        assert "2 segments and the pool (as mixed in calibration)" in str(cal.certificate(kind=kind))


# ------------------------------------------------------------------------------------------------- own theorems


def test_the_theorems_that_certificates_cite_are_on_the_page_with_proofs() -> None:
    if not PAGE.is_file():
        pytest.skip(f"{PAGE} is not part of this distribution")
    text = PAGE.read_text(encoding="utf8")
    for number in range(1, 9):
        _, after = text.split(f"**Theorem F{number} (")
        assert "*Proof.*" in after.split("**Theorem F")[0], number
    cited = set()
    scores, labels = rows()
    for fitted in (
        fb.UniformMassBinning(5).fit(scores, labels),
        fb.UniformMassBinning(5).fit(np.round(scores, 1), labels),
        fb.CertifiedCalibration(5).fit(scores, labels),
        fb.CertifiedCalibration(5).fit(np.round(scores, 1), labels),
    ):
        for bound in ("clopper-pearson", "hull"):
            cited |= set(re.findall(r"\bF\d", fitted.certificate(bound=bound).theorem))
    assert cited == {"F1", "F2", "F3", "F4"}
