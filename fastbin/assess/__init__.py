"""How calibrated is a predictor on test samples, and how certain is that?

=========================================================  ===============================================================
`reliability_table`                                        prediction, positive rate, count and interval, bin by bin, also of
                                                           several classes, and as confusion matrices
`ece`, `squared_ece`                                       calibration errors: plug-in of any order, and debiased
`brier_score`, `brier_decomposition`, `log_loss`,          proper scores and their parts
`sharpness`, `roc_auc`
`top_label_ece`, `class_wise_ece`,                         of several classes, as Gupta & Ramdas 2022 define them
`multiclass_brier`, `multiclass_log_loss`
`validity_curve`, `promised_validity`                      Gupta & Ramdas 2021: the share of samples by the error of their
                                                           prediction; exact step functions
`group_table`, `audit_groups`                              in each group of a population: numbers, and is the promise kept?
`check_certificate`, `samples_to_check`                    does a test set contradict or confirm a certificate?
`check_predictions`                                        are given predictions calibrated, grade by grade? No model
`cluster_intervals`, `one_per_cluster`                     rows of one obligor, customer or day are not independent
`assess`, `assess_counts`                                  the whole pack of given predictions, from rows, tables and counts
`calibration_tests`                                        the tests that validators name, each with its reference
`population_stability`                                     have the scores moved? The population stability index
=========================================================  ===============================================================

Everything takes predictions in [0, 1] of any predictor, and test samples that it was not fitted on. Integer weights are
frequencies, real weights importance weights.
"""

from __future__ import annotations

from fastbin.assess.calibration_tests import CalibrationTests, calibration_tests
from fastbin.assess.certificate_check import check_certificate, samples_to_check
from fastbin.assess.clusters import cluster_intervals, one_per_cluster
from fastbin.assess.groups import AuditedGroup, GroupAudit, GroupTable, audit_groups, group_table
from fastbin.assess.metrics import (
    BrierDecomposition,
    SquaredEce,
    brier_decomposition,
    brier_score,
    ece,
    log_loss,
    roc_auc,
    sharpness,
    squared_ece,
)
from fastbin.assess.multiclass import class_wise_ece, multiclass_brier, multiclass_log_loss, top_label_ece
from fastbin.assess.predictions_check import PredictionCheck, check_predictions
from fastbin.assess.reliability import ReliabilityTable, reliability_table
from fastbin.assess.stability import PopulationStability, population_stability
from fastbin.assess.validation import Validation, assess, assess_counts
from fastbin.assess.validity import ValidityCurve, promised_validity, validity_curve
from fastbin.assess.verdict import CertificateCheck, SetCheck

__all__ = [
    "AuditedGroup",
    "BrierDecomposition",
    "CalibrationTests",
    "CertificateCheck",
    "GroupAudit",
    "GroupTable",
    "PopulationStability",
    "PredictionCheck",
    "ReliabilityTable",
    "SetCheck",
    "SquaredEce",
    "Validation",
    "ValidityCurve",
    "assess",
    "assess_counts",
    "audit_groups",
    "brier_decomposition",
    "brier_score",
    "calibration_tests",
    "check_certificate",
    "check_predictions",
    "class_wise_ece",
    "cluster_intervals",
    "ece",
    "group_table",
    "log_loss",
    "multiclass_brier",
    "multiclass_log_loss",
    "one_per_cluster",
    "population_stability",
    "promised_validity",
    "reliability_table",
    "roc_auc",
    "samples_to_check",
    "sharpness",
    "squared_ece",
    "top_label_ece",
    "validity_curve",
]
__dir__ = __all__.copy  # completion lists the public names
