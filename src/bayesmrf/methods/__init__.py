"""Methods: the options of the samplers of each estimator. A name, such as "exact", stands for the default options.

GroupedMRF(method=methods.Particle(n_particles=4096))
SpikeSlabMRF(method=methods.ReversibleJump(n_iterations=50))
BayesianMRF(kernel=methods.Langevin(adjusted=True))
SpikeSlabMRF(method=methods.Custom(make))
"""

from __future__ import annotations

from .edges import COMPARISONS, EDGES, LangevinJumps, ReversibleJump
from .groups import GROUPS, AuxiliaryParticles, Exact, Particle, StrippedBeta, Tree
from .parameters import (
    KERNELS,
    AuxiliaryVariable,
    Exchange,
    Gibbs,
    Hamiltonian,
    Langevin,
    Metropolis,
    PseudoPosterior,
)
from .rows import Custom

__all__ = [
    "COMPARISONS",
    "EDGES",
    "GROUPS",
    "KERNELS",
    "AuxiliaryParticles",
    "AuxiliaryVariable",
    "Custom",
    "Exact",
    "Exchange",
    "Gibbs",
    "Hamiltonian",
    "Langevin",
    "LangevinJumps",
    "Metropolis",
    "Particle",
    "PseudoPosterior",
    "ReversibleJump",
    "StrippedBeta",
    "Tree",
]  # fmt: skip
