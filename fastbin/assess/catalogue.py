"""The tests of `fastbin.assess.calibration_tests`: what each asks, of what kind it is, what it assumes and where it is from."""

from __future__ import annotations

from typing import NamedTuple

EXACT, APPROXIMATE, ESTIMATE = "exact", "approximate", "estimate"


class Entry(NamedTuple):
    """A row of the catalogue. `instead` names the exact test to read where a warning stands; `whole` whether it needs every
    prediction, and not only the mean of each grade; `side` which rates it is against."""

    asks: str
    kind: str
    assumes: str
    reference: str
    instead: str = ""
    whole: bool = True
    side: str = ""


_INDEPENDENT = "labels are independent given the predictions"
_FEW = _INDEPENDENT + "; counts are large"
_COX, _CORP = "Cox 1958; Miller, Hui & Tierney 1991", "Dimitriadis, Gneiting & Jordan 2021"
_ECCE = "Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu 2022"
_ICI, _SIMULATED = "Austin & Steyerberg 2019", "mcb_brier, ecce_simulated"

CATALOGUE = {
    "binomial": Entry(
        "is the rate the one prediction of the scope?", EXACT, _INDEPENDENT, "Clopper & Pearson 1934", whole=False, side="both"
    ),
    "binomial_upper": Entry(
        "is the rate above the one prediction of the scope?", EXACT, _INDEPENDENT, "Clopper & Pearson 1934", whole=False,
        side="upper",
    ),
    "poisson_binomial": Entry(
        "is the number of ones the sum of the predictions?", EXACT, _INDEPENDENT, "Poisson 1837; Hong 2013", side="both"
    ),
    "poisson_binomial_upper": Entry(
        "is the number of ones above the sum of the predictions?", EXACT, _INDEPENDENT, "Poisson 1837; Hong 2013", side="upper"
    ),
    "mid_p": Entry(
        "as the exact test, with half the chance of the number seen", APPROXIMATE, _FEW, "Lancaster 1961", "binomial",
        whole=False, side="both",
    ),
    "jeffreys": Entry(
        "is the rate above the mean prediction?", APPROXIMATE, _FEW + "; rows of a scope are alike",
        "European Central Bank 2019; Brown, Cai & DasGupta 2001", "binomial_upper", whole=False, side="upper",
    ),
    "vasicek": Entry(
        "is the rate above the predictions, if defaults share a factor?", EXACT,
        "latent variables are normal with one common factor and the given correlation; one prediction in the scope",
        "Vasicek 2002; Pluto & Tasche 2005", whole=False, side="upper",
    ),
    "mean_difference": Entry(
        "is the rate the mean prediction?", APPROXIMATE, _FEW, "Basel Committee 2005", "binomial", side="both"
    ),
    "hosmer_lemeshow_grades": Entry(
        "do the rates of all grades agree with their mean predictions?", APPROXIMATE, _FEW + "; rows of a grade are alike",
        "Hosmer & Lemeshow 1980", _SIMULATED, whole=False,
    ),
    "hosmer_lemeshow_deciles": Entry(
        "do the rates between deciles agree with the mean predictions?", APPROXIMATE, _FEW, "Hosmer & Lemeshow 1980", _SIMULATED
    ),
    "spiegelhalter": Entry(
        "is the Brier score the one to expect?", APPROXIMATE, _FEW, "Spiegelhalter 1986", _SIMULATED, side="both"
    ),
    "calibration_in_the_large": Entry(
        "by how much must all logits be moved?", APPROXIMATE, _FEW, _COX, _SIMULATED, side="both"
    ),
    "calibration_intercept": Entry(
        "intercept of the labels on the logits; 0 if calibrated", APPROXIMATE, _FEW, _COX, _SIMULATED, side="both"
    ),
    "calibration_slope": Entry(
        "slope of the labels on the logits; 1 if calibrated", APPROXIMATE, _FEW, _COX, _SIMULATED, side="both"
    ),
    "cox": Entry("are intercept and slope 0 and 1?", APPROXIMATE, _FEW, _COX, _SIMULATED),
    "ecce": Entry("do sums of labels stray from sums of predictions? Kuiper's range", APPROXIMATE, _FEW, _ECCE, _SIMULATED),
    "ecce_max": Entry(
        "the same; Kolmogorov and Smirnov's largest distance from 0", APPROXIMATE, _FEW, _ECCE, "ecce_simulated"
    ),
    "ecce_simulated": Entry("as ecce, with the p-value by simulation", EXACT, _INDEPENDENT, _ECCE + "; Dwass 1957"),
    "ecce_detectable": Entry(
        "the difference of sums, divided by n, that ecce contradicts with chance 0.8", ESTIMATE, _FEW, _ECCE
    ),
    "mcb_brier": Entry(
        "miscalibration: Brier score minus that of the isotonic curve; p-value by simulation, and where 1 - level of "
        "calibrated labels lie", EXACT, _INDEPENDENT, _CORP + "; Dwass 1957",
    ),
    "dsc_brier": Entry("discrimination: how much the isotonic curve tells apart", ESTIMATE, "none", _CORP),
    "unc_brier": Entry("uncertainty: the Brier score of the rate of all", ESTIMATE, "none", _CORP),
    "mcb_log": Entry("miscalibration of the logarithmic score, in nats", ESTIMATE, "none", _CORP),
    "dsc_log": Entry("discrimination of the logarithmic score", ESTIMATE, "none", _CORP),
    "unc_log": Entry("uncertainty of the logarithmic score", ESTIMATE, "none", _CORP),
    "ici": Entry("mean distance of predictions from the isotonic curve", ESTIMATE, "the true curve rises", _ICI),
    "e50": Entry("median of that distance", ESTIMATE, "the true curve rises", _ICI),
    "e90": Entry("its 90 % point", ESTIMATE, "the true curve rises", _ICI),
    "smooth_ece": Entry("calibration error after smoothing by its own size", ESTIMATE, "none", "Blasiok & Nakkiran 2023"),
    "auc": Entry(
        "are ones ranked above zeros? For context: calibration does not matter", APPROXIMATE,
        "rows are independent; counts are large", "DeLong, DeLong & Clarke-Pearson 1988",
    ),
}  # fmt: skip

_NAMES = ("Hosmer", "Lemeshow", "Poisson", "Cox", "Brier", "AUC", "ICI", "E50", "E90", "ECCE", "ECE", "MCB", "DSC", "UNC")
_AS_WRITTEN = {word.lower(): word for word in _NAMES}


def title_of(name: str) -> str:
    """The name of a test as a page has it: hosmer_lemeshow_grades is Hosmer-Lemeshow grades."""
    words = " ".join(_AS_WRITTEN.get(word, word) for word in name.split("_")).replace("Hosmer Lemeshow", "Hosmer-Lemeshow")
    return words[0].upper() + words[1:]
