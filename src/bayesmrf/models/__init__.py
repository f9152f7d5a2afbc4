"""Models: the distributions p(x | theta) on a graph.

Names are imported when first used, as the files of this folder import each other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement import Agreement
    from .bases import ManyStateModel, PairwiseModel
    from .boltzmann import Boltzmann
    from .ising import Ising
    from .nominal import Nominal
    from .ordinal import Ordinal
    from .potts import Potts
    from .rbm import RestrictedBoltzmann
    from .symmetric import Symmetric

__all__ = [
    "Agreement", "Boltzmann", "Ising", "ManyStateModel", "Nominal", "Ordinal", "PairwiseModel", "Potts",
    "RestrictedBoltzmann", "Symmetric",
]  # fmt: skip
_FILES = {"ManyStateModel": "bases", "PairwiseModel": "bases", "RestrictedBoltzmann": "rbm"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_FILES.get(name, name.lower())}", __name__), name)
