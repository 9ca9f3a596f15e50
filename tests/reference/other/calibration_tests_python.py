"""Independent figures for tests/data/calibration_tests_python.json, by statsmodels, scikit-learn, SciPy and relplot.

    python tests/reference/other/calibration_tests_python.py tests/data/calibration_tests.json OUT.json

reads the cases that the script of R wrote. tests/unit/assess/test_calibration_tests.py compares fastbin with it.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import relplot
import statsmodels.api as sm
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score


def figures(p: Any, y: Any) -> dict[str, Any]:
    x, k = np.log(p / (1 - p)), int(y.sum())
    large = sm.GLM(y, np.ones(len(y)), family=sm.families.Binomial(), offset=x).fit(tol=1e-14, maxiter=200)
    fit = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200)
    isotonic = IsotonicRegression().fit(p, y).predict(p)
    law = stats.poisson_binom(p)
    base = np.full(len(y), y.mean())
    return {
        "exact": float(min(1.0, 2 * min(law.sf(k - 1), law.cdf(k)))),
        "exact_upper": float(law.sf(k - 1)),
        "calibration_in_the_large": {"statistic": float(large.params[0]), "ends": large.conf_int()[0].tolist()},
        "calibration_intercept": {"statistic": float(fit.params[0]), "ends": fit.conf_int()[0].tolist()},
        "calibration_slope": {"statistic": float(fit.params[1]), "ends": fit.conf_int()[1].tolist()},
        "auc": float(roc_auc_score(y, p)),
        "mcb_brier": float(brier_score_loss(y, p) - brier_score_loss(y, isotonic)),
        "dsc_brier": float(brier_score_loss(y, base) - brier_score_loss(y, isotonic)),
        "mcb_log": float(log_loss(y, p) - log_loss(y, isotonic)),
        "dsc_log": float(log_loss(y, base) - log_loss(y, isotonic)),
        "ici": float(np.abs(p - isotonic).mean()),
        "smooth_ece_to_3_places": float(relplot.smECE(f=p, y=y)),
    }


def main() -> None:
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf8"))["cases"]
    packages = ("statsmodels", "scikit-learn", "scipy", "numpy", "relplot")
    result = {
        "source": "tests/reference/other/calibration_tests_python.py",
        "versions": {name: version(name) for name in packages},
        "cases": [{"name": case["name"], **figures(np.array(case["p"]), np.array(case["y"], float))} for case in cases],
    }
    Path(sys.argv[2]).write_text(json.dumps(result, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
