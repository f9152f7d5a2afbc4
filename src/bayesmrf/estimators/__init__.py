"""The scikit-learn face of the package."""

from .grouped import METHODS, GroupedMRF
from .maximum_likelihood import MaximumLikelihoodMRF

__all__ = ["METHODS", "GroupedMRF", "MaximumLikelihoodMRF"]
