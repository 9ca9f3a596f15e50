"""Verdicts are what the shown interval says, and say what would have been seen and that rows must be new."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fastbin as fb
from fastbin import assess
from fastbin.assess.bin_tests import chance_at_least, chance_at_most
from fastbin.assess.verdict import NEW_ROWS
from fastbin.cli import command_line
from fastbin.report import assess_model, render_report

DOCS = Path(__file__).parents[3] / "docs" / "assessment.md"


def model_of(values: list[float], count: int = 1000) -> fb.BinnedModel:
    edges = [b / len(values) for b in range(1, len(values))]
    counts, sums = [count] * len(values), [round(count * value) for value in values]
    return fb.BinnedModel.from_parts(edges=edges, values=values, counts=counts, label_sums=sums, scheme="fixed-width")


def rows_of(rates: list[float], counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """So many samples in each of the equal bins, with these rates."""
    scores = np.repeat([(b + 0.5) / len(rates) for b in range(len(rates))], counts)
    labels = np.concatenate([np.arange(n) < round(n * rate) for rate, n in zip(rates, counts, strict=True)])
    return scores, labels


def test_the_interval_that_is_shown_decides() -> None:
    rng, seen = np.random.default_rng(0), set()
    models = [model_of([0.02, 0.3, 0.5, 0.97]), fb.CertifiedCalibration(4).fit(*_drawn(2000, 1)).model_]
    for model in models:
        for _ in range(60):
            scores = rng.random(3000)
            labels = rng.random(3000) < np.clip(model.predict(scores) + rng.normal(0.0, 0.05), 0.0, 1.0)
            check = assess.check_certificate(model, scores, labels, epsilon=0.1)
            frame = check.to_pandas()
            misses = (frame.interval_lower > frame.claim_upper) | (frame.interval_upper < frame.claim_lower)
            inside = (frame.interval_lower >= frame.claim_lower) & (frame.interval_upper <= frame.claim_upper)
            expected = np.select([misses, inside], ["contradicted", "confirmed"], "not contradicted")
            assert frame.verdict.tolist() == expected.tolist()
            assert (check.verdict == "confirmed") == bool(inside.all())
            assert (check.verdict == "contradicted") == bool(misses.any())
            assert (check.p_value <= check.alpha) == bool(misses.any())
            seen |= set(expected)
    assert seen == {"contradicted", "confirmed", "not contradicted"}


def _drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores


def test_a_group_is_judged_by_its_interval_too() -> None:
    scores, labels = _drawn(20_000, 3)
    model = fb.UniformMassBinning(4).fit(*_drawn(2000, 2)).model_
    audit = assess.audit_groups(model, scores, labels, np.arange(20_000) % 3)
    assert {verdict for group in audit.groups for verdict in group.verdicts} >= {"confirmed", "not contradicted"}
    for group in audit.groups:
        inside = (group.intervals[:, 0] >= group.claims[:, 0]) & (group.intervals[:, 1] <= group.claims[:, 1])
        assert [verdict == "confirmed" for verdict in group.verdicts] == inside.tolist()


def seen_with(check: assess.CertificateCheck, bin_: int, frequency: float) -> float:
    """The chance that the bin is contradicted on this side of its value, by adding up the binomial law."""
    n, tail = int(check.counts[bin_]), check.interval_alpha / 2.0
    value, (low, high) = float(check.claims[bin_].mean()), check.claims[bin_].tolist()
    law = [math.comb(n, x) * frequency**x * (1.0 - frequency) ** (n - x) for x in range(n + 1)]
    if frequency > value:
        return sum(chance for x, chance in enumerate(law) if chance_at_least(x, n, high) <= tail)
    return sum(chance for x, chance in enumerate(law) if chance_at_most(x, n, low) <= tail)


@pytest.mark.parametrize("power", [0.5, 0.9, 0.99])
def test_what_would_have_been_seen_is_exact(power: float) -> None:
    values, counts = [0.2, 0.5, 0.8], [40, 150, 300]
    check = assess.check_certificate(model_of(values), *rows_of(values, counts), epsilon=0.1, power=power)
    for b, (value, difference) in enumerate(zip(values, check.detectable.tolist(), strict=True)):
        sides = [side for side in (value - difference, value + difference) if 0.0 <= side <= 1.0]
        assert sides
        chances = [seen_with(check, b, side) for side in sides]
        assert min(chances) >= power - 1e-9
        if len(sides) == 2:  # a little less is not always seen
            less = [seen_with(check, b, value + sign * (difference - 1e-3)) for sign in (-1.0, 1.0)]
            assert min(less) < power
    largest = f"{math.ceil(check.detectable.max() * 1e4) / 1e4:.4f}"
    assert f"a difference of {largest} in one bin would have been seen with probability {power:g}" in str(check)


def test_a_difference_of_averages_is_seen_at_least_so_often() -> None:
    """Whatever the mix: the rates of the steps differ by more or less, and by the difference on average."""
    model = fb.CertifiedCalibration(3).fit(*_drawn(3000, 4)).model_
    rng = np.random.default_rng(5)
    scores = rng.random(1500)
    check = assess.check_certificate(model, scores, rng.random(1500) < scores)
    bins, served = model.assign(scores), model.predict(scores)
    for b in range(3):
        own, difference = bins == b, float(check.detectable[b])
        sign = 1.0 if served[own].mean() < 0.5 else -1.0
        shifted = served + np.where(own, sign * difference, 0.0)
        assert ((shifted >= 0.0) & (shifted <= 1.0)).all()
        seen = [
            assess.check_certificate(model, scores, rng.random(1500) < shifted).verdicts[b] == "contradicted"
            for _ in range(200)
        ]
        assert np.mean(seen) >= 0.9 - 3 * math.sqrt(0.09 / 200)


def test_bins_that_show_nothing_are_named() -> None:
    model = model_of([0.2, 0.5, 0.8])
    check = assess.check_certificate(model, *rows_of([0.2, 0.5, 0.8], [500, 2, 0]), epsilon=0.1)
    assert np.isinf(check.detectable).tolist() == [False, True, True]
    assert "in bins 1, 2 no difference would have been seen; a difference of" in str(check)
    assert json.loads(json.dumps(check.to_dict(), allow_nan=False))["bins"][1]["detectable"] is None


def test_the_level_stands_in_the_header() -> None:
    model, (scores, labels) = model_of([0.2, 0.5, 0.6, 0.8]), rows_of([0.2, 0.5, 0.6, 0.8], [500] * 4)
    check = assess.check_certificate(model, scores, labels)
    assert check.interval_alpha == float(Fraction(5, 100) / 4)
    assert "<th>interval (98.75 % each)</th>" in check._repr_html_()
    page = render_report(assess_model(model, scores, labels))
    assert "test interval (98.75 % each)" in page
    assert "<th>promised</th>" in page
    low, high = check.intervals[0]
    assert f"{low:.4f} to {high:.4f}" in page


def test_sample_sizes_are_computed_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for name in ("samples_to_confirm", "samples_to_contradict", "counts_to_confirm"):
        own = getattr(assess.bin_tests.Sizes, name)
        monkeypatch.setattr(assess.bin_tests.Sizes, name, lambda self, own=own, name=name: asked.append(name) or own(self))
    check = assess.check_certificate(model_of([0.2, 0.5]), *rows_of([0.2, 0.5], [300, 300]))
    assert str(check)
    assert check._repr_html_()
    assert asked == []
    assert check.samples_to_confirm > 600
    assert asked


def test_every_verdict_says_that_rows_must_be_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores, labels = _drawn(2000, 6)
    model = fb.UniformMassBinning(4).fit(scores[:1000], labels[:1000]).model_
    # A part of the calibration rows is not recognised.
    for rows in (slice(1000, None), slice(0, 900), slice(0, 1000)):
        check = assess.check_certificate(model, scores[rows], labels[rows])
        assert str(check).endswith(NEW_ROWS)
        assert NEW_ROWS in check._repr_html_()
        assert check.to_dict()["requires"] == NEW_ROWS
    assert str(assess.check_certificate(model, 1.0 - scores, labels)).endswith(NEW_ROWS)
    audit = assess.audit_groups(model, scores[1000:], labels[1000:], np.arange(1000) % 2)
    assert str(audit).endswith(NEW_ROWS)
    assert audit.to_dict()["requires"] == NEW_ROWS
    models = fb.ModelSet({"a": model})
    of_set = assess.check_certificate(models, scores[1000:], labels[1000:], cells=np.full(1000, "a"))
    assert str(of_set).endswith(NEW_ROWS)
    assert of_set.to_dict()["requires"] == NEW_ROWS
    found = assess_model(model, scores[1000:], labels[1000:])
    assert NEW_ROWS in str(found)
    assert NEW_ROWS in found._repr_html_()
    assert render_report(found).count(NEW_ROWS) >= 2
    model.save("m.fbm")
    rows = [f"{score!r},{int(label)}" for score, label in zip(scores[1000:].tolist(), labels[1000:], strict=True)]
    Path("t.csv").write_text("\n".join(["score,label", *rows]) + "\n")
    shown = CliRunner().invoke(command_line, ["assess", "m.fbm", "t.csv"])
    assert NEW_ROWS in " ".join(shown.output.split())
    assert NEW_ROWS in CliRunner().invoke(command_line, ["assess", "m.fbm", "t.csv", "--json"]).output
    assert NEW_ROWS in " ".join(DOCS.read_text(encoding="utf8").split())
    assert NEW_ROWS in str(assess.check_certificate.__doc__)
