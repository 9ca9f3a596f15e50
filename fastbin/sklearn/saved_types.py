"""The types that skops meets in what fastbin fits.

skops loads types of others only where they are named. Those here load from numbers, texts and the bytes of models, which are
checked as those of files are; none of them runs what it loads.
"""

from __future__ import annotations

from fastbin.binning.certified import CertifiedCalibration
from fastbin.binning.fixed import ExplicitBinning, FixedWidthBinning
from fastbin.binning.isotonic import IsotonicCalibration
from fastbin.binning.scaling_binning import ScalingBinning
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.binning.venn import VennAbers
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi import ClassWiseBinning, SegmentedBinning, TopLabelBinning
from fastbin.scaling.maps import BetaScaling, PlattScaling, QuadraticScaling, SplineScaling, TemperatureScaling
from fastbin.shift import ULSIF, ImportanceWeightedBinning, LabelShift, RateEstimate
from fastbin.shift.weighted import WeightedRows
from fastbin.sklearn.calibrated_classifier import CalibratedClassifier
from fastbin.sklearn.onnx import OnnxClassifier

TYPES = (
    BinnedModel, ModelSet, CertifiedCalibration, UniformMassBinning, ScalingBinning, FixedWidthBinning, ExplicitBinning,
    IsotonicCalibration, VennAbers, PlattScaling, TemperatureScaling, BetaScaling, QuadraticScaling, SplineScaling,
    ClassWiseBinning, SegmentedBinning, TopLabelBinning, ImportanceWeightedBinning, WeightedRows, ULSIF, LabelShift,
    RateEstimate, CalibratedClassifier, OnnxClassifier,
)  # fmt: skip
