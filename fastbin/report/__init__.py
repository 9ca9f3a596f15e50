"""One page on a fitted model and a test set, to keep on file: what the model is, what it promises, and what the test shows.

>>> import fastbin as fb, numpy as np
>>> rng = np.random.default_rng(0)
>>> scores = rng.random(4000)
>>> labels = rng.random(4000) < scores**2
>>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000]).model_
>>> assessment = fb.report.assess_model(model, scores[2000:], labels[2000:])
>>> fb.report.write_report("report.html", assessment, title="Scorecard 7")

The page needs no network and no scripts. matplotlib draws its pictures (the extra "plots").
"""

from __future__ import annotations

from fastbin.report.assessment import Assessment, CellResult, Scorecard, assess_model
from fastbin.report.page import render_report, write_report

__all__ = ["Assessment", "CellResult", "Scorecard", "assess_model", "render_report", "write_report"]
__dir__ = __all__.copy  # completion lists the public names
