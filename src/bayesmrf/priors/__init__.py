"""Prior distributions, as small frozen records of their constants.

scipy is imported at first use: `bayesmrf --help` reads this package.
"""

from .block_model import Blocks
from .densities import FIELD_SCALE as FIELD_SCALE
from .densities import DirichletProcess, LogisticBeta, MultivariateNormal, WeightsAndBiases
from .inclusion import Beta
from .inclusion import Fixed as Fixed
from .inclusion import Inclusion as Inclusion
from .inclusion import inclusion_of as inclusion_of
from .of_parameters import OfParameters as OfParameters
from .of_parameters import Prior, ProperPrior
from .of_parameters import of_parameters as of_parameters
from .slab import Present as Present
from .slab import Slab
from .slab import read_slab as read_slab
from .slab import slab_of_record as slab_of_record
from .slab_kinds import CAUCHY_TAPER as CAUCHY_TAPER
from .slab_kinds import Cauchy, Gamma, Moment, Normal
from .slab_kinds import taper_precision as taper_precision
from .spiked import SpikeSlab

__all__ = [
    "Beta", "Blocks", "Cauchy", "DirichletProcess", "Gamma", "LogisticBeta", "Moment", "MultivariateNormal", "Normal",
    "Prior",
    "ProperPrior", "Slab", "SpikeSlab", "WeightsAndBiases",
]  # fmt: skip
