"""Estimators with the scikit-learn API."""

from .bayesian import BayesianMRF
from .calibration import calibrate
from .compare import CompareMRF
from .evidence import compare_evidence, log_evidence
from .grouped import GroupedMRF
from .label_field import LabelFieldMRF
from .loaded import load
from .maximum_likelihood import MaximumLikelihoodMRF
from .panel import PanelMRF
from .planning import plan
from .rbm import RBM
from .spike_slab import SpikeSlabMRF
from .supported import support

__all__ = [
    "RBM",
    "BayesianMRF",
    "CompareMRF",
    "GroupedMRF",
    "LabelFieldMRF",
    "MaximumLikelihoodMRF",
    "PanelMRF",
    "SpikeSlabMRF",
    "calibrate",
    "compare_evidence",
    "load",
    "log_evidence",
    "plan",
    "support",
]
