"""Engines: how the normaliser, moments and states of a model at one theta are computed or approximated.

BayesianMRF(engine=engines.Elimination(max_bytes=2**33))
BayesianMRF(kernel=methods.Langevin(), engine=engines.Phases("brief", hidden="persistent"))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .declare.option import Checked, option
from .declare.rule import ENGINE, optional
from .inference.bethe.engine import Bethe
from .inference.chains import Brief, FromExact, Persistent
from .inference.elimination.engine import Elimination
from .inference.enumeration import Enumeration
from .inference.mean_field import MeanField
from .inference.pseudo_likelihood import PseudoLikelihood
from .inference.tree import Tree
from .samplers.cftp import CouplingFromThePast
from .samplers.gibbs import Gibbs
from .samplers.swendsen_wang import SwendsenWang
from .samplers.tempered import Tempered

__all__ = [
    "Bethe", "Brief", "CouplingFromThePast", "Elimination", "Enumeration", "FromExact", "Gibbs", "MeanField",
    "Persistent", "Phases", "PseudoLikelihood", "SwendsenWang", "Tempered", "Tree",
]  # fmt: skip


@dataclass(frozen=True)
class Phases(Checked):
    """Engines of the two phases, if values are missing.

    Parameters
    ----------
    model
        As ``engine`` of the estimator, whose default "auto" is.
    hidden
        None selects the exact engine if it is cheap, else (and always with brief chains, which start from their states)
        64 persistent chains. `BayesianMRF` refuses another where no value is missing.
    """

    model: Any = option("auto", ENGINE, "Engine of the negative phase, the model itself.")
    hidden: Any = option(
        None, optional(ENGINE), "Engine of the positive phase, the model clamped to the observed values."
    )
