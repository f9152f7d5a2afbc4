"""The scikit-learn face of the package."""

from .bayesian import BayesianMRF
from .grouped import METHODS, GroupedMRF
from .label_field import LabelFieldMRF
from .maximum_likelihood import MaximumLikelihoodMRF
from .rbm import RBM
from .spike_slab import SpikeSlabMRF

__all__ = ["METHODS", "RBM", "BayesianMRF", "GroupedMRF", "LabelFieldMRF", "MaximumLikelihoodMRF", "SpikeSlabMRF"]
