"""The scikit-learn face of the package."""

from .bayesian import BayesianMRF
from .grouped import METHODS, GroupedMRF
from .maximum_likelihood import MaximumLikelihoodMRF

__all__ = ["METHODS", "BayesianMRF", "GroupedMRF", "MaximumLikelihoodMRF"]
