"""Certificates: of one model in those of plain bins, of sets, before labels, and their checks on test rows."""

from __future__ import annotations

import time
from functools import partial

import cases
import numpy as np
import pytest
from cases import rows
from measure import Contestant, paired, processor_seconds

import fastbin as fb
from fastbin.guarantees import certify_set, common_radius, exact_radius, rising
from fastbin.intervals import sidak

ROUNDS = 9


def _ms(call: Contestant, is_long: bool) -> float:
    return 1e3 * processor_seconds(call, 4 * ROUNDS if is_long else ROUNDS)


@pytest.mark.parametrize("n", [10**4, 10**6])
def bench_certificate(n: int, is_long: bool, benchmark, report) -> None:
    """That of steps, against that of ten bins on the same rows."""
    data = rows("uniform", n)
    fine, bins = (method.fit(*data).model_ for method in (fb.CertifiedCalibration(10), fb.UniformMassBinning(10)))
    assert certify_set([fine]).epsilon == fine.certificate().epsilon >= 0.5 * bins.certificate().epsilon > 0.0
    ways = {"fine": fine.certificate, "bins": partial(bins.certificate, bound="clopper-pearson")}
    timed = paired(ways, seconds=4 if is_long else 1, clock=time.process_time)
    report(cases.certificate(n), cases.CERTIFICATE_TO_BINS, timed.ratio("fine", to="bins"))
    benchmark.pedantic(fine.certificate, rounds=5)


def bench_certify_set(is_long: bool, benchmark, report) -> None:
    """A thousand models of different sizes, at once and one by one."""
    rng = np.random.default_rng(30)
    scores, labels = rows("uniform", 10**6)
    starts = np.cumsum(rng.integers(200, 1000, 1000))
    parts = zip(np.split(scores, starts)[1:], np.split(labels, starts)[1:], strict=True)
    models = [fb.UniformMassBinning(10).fit(*part).model_ for part in list(parts)[:999]]
    joint = certify_set(models)
    parts = zip(models, joint.parts, strict=True)
    alone = [model.certificate(part.alpha, bound="clopper-pearson") for model, (_, part) in parts]
    assert alone == [part for _, part in joint.parts]
    report(cases.CERTIFY_SET, cases.CPU_MS, _ms(partial(certify_set, models), is_long))
    benchmark.pedantic(certify_set, args=(models,), rounds=1)


def bench_common_radius(is_long: bool, benchmark, report) -> None:
    """Three hundred counts, none much smaller than the others."""
    counts = np.random.default_rng(31).integers(100, 1000, 300)
    largest = exact_radius(int(counts.min()), sidak(0.1, 300))
    assert 0.5 * largest < common_radius(counts) <= largest
    report(cases.COMMON_RADIUS, cases.CPU_MS, _ms(partial(common_radius, counts), is_long))
    benchmark.pedantic(common_radius, args=(counts,), rounds=1)


def bench_certificate_of_bins(is_long: bool, benchmark, report) -> None:
    """One radius for all bins, from their labels: the default certificate of plain bins."""
    model = fb.UniformMassBinning(10).fit(*rows("uniform", 10**4)).model_
    assert model.certificate().epsilon == common_radius(model.counts, label_sums=model.label_sums)
    report(cases.CERTIFICATE_OF_BINS, cases.CPU_MS, _ms(model.certificate, is_long))
    benchmark.pedantic(model.certificate, rounds=3)


@pytest.mark.parametrize("n", [10**4, 10**6])
def bench_mean_error(n: int, is_long: bool, benchmark, report) -> None:
    """That of the default, the first of its size in a process and any other, which finds the table of moments."""
    model = fb.CertifiedCalibration().fit(*rows("uniform", n)).model_
    certify = partial(model.certificate, kind="mean-error")
    assert 0.0 < certify().epsilon < 3.0 * n ** (-1 / 3)

    def first_of_its_size() -> None:
        rising._moments.cache_clear()
        certify()

    for is_first, call in ((True, first_of_its_size), (False, certify)):
        report(cases.mean_error(n, first=is_first), cases.CPU_MS, _ms(call, is_long))
    benchmark.pedantic(certify, rounds=3)


def bench_band(is_long: bool, benchmark, report) -> None:
    """Intervals for the truth at all scores: blocks of 240 slices."""
    model = fb.CertifiedCalibration().fit(*rows("uniform", 10**6)).model_
    intervals = partial(model.interval, at="score")
    assert ((intervals()[:, 0] <= model.values) & (model.values <= intervals()[:, 1])).all()
    report(cases.BAND, cases.CPU_MS, _ms(intervals, is_long))
    benchmark.pedantic(intervals, rounds=3)


@pytest.mark.parametrize("method", [fb.UniformMassBinning(10), fb.CertifiedCalibration(10)], ids=["bins", "steps"])
def bench_check_of_a_set(method, is_long: bool, benchmark, report) -> None:
    """A hundred segments of 1,000 rows each, checked on as many new rows."""
    rng = np.random.default_rng(33)
    scores, labels = rows("uniform", 2 * 10**5)
    segments = rng.integers(0, 100, len(scores))
    models = fb.multi.SegmentedBinning(method).fit(scores[::2], labels[::2], segments[::2]).model_
    check = partial(fb.assess.check_certificate, models, scores[1::2], labels[1::2], cells=segments[1::2])
    checked = check()
    assert sum(part.counts.sum() for _, part in checked.parts) == 10**5
    report(cases.check_of_a_set(type(method).__name__), cases.CPU_MS_A_MODEL, _ms(check, is_long) / 100)
    benchmark.pedantic(check, rounds=1)


def bench_html(is_long: bool, benchmark, report) -> None:
    """A model of a million bins in a notebook: the first and the last rows, and a promise about all bins."""
    n, rng = 10**6, np.random.default_rng(32)
    counts = rng.integers(5, 40, n)
    sums = rng.binomial(counts, np.linspace(0.0, 1.0, n))
    model = fb.BinnedModel.from_parts(
        edges=np.arange(1, n) / n, values=sums / counts, counts=counts, label_sums=sums, scheme="fixed-width",
        n_samples=int(counts.sum()),
    )  # fmt: skip
    assert model._repr_html_().count("<tr") < 100
    report(cases.HTML, cases.CPU_MS, 1e3 * processor_seconds(model._repr_html_, ROUNDS if is_long else 2))
    benchmark.pedantic(model._repr_html_, rounds=1)
