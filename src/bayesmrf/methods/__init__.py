"""Methods: the options of the samplers of each estimator. A name, such as "exact", stands for the default options.

GroupedMRF(method=methods.Particle(n_particles=4096))
SpikeSlabMRF(method=methods.ReversibleJump(n_iterations=50))
BayesianMRF(kernel=methods.Langevin(adjusted=True))
SpikeSlabMRF(method=methods.Custom(make))

The options of a plug-in (`bayesmrf.plugins`) are names of this module, too: `methods.StrippedBeta`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .edges import COMPARISONS, EDGES, ReversibleJump
from .evidence import EVIDENCE
from .groups import GROUPS, Exact, Particle
from .parameters import KERNELS, LABEL_KERNELS, Gibbs, Hamiltonian, Langevin, Metropolis, PseudoPosterior
from .rows import Custom

__all__ = [
    "COMPARISONS",
    "EDGES",
    "EVIDENCE",
    "GROUPS",
    "KERNELS",
    "LABEL_KERNELS",
    "Custom",
    "Exact",
    "Gibbs",
    "Hamiltonian",
    "Langevin",
    "Metropolis",
    "Particle",
    "PseudoPosterior",
    "ReversibleJump",
]  # fmt: skip


def every_row() -> Iterator[Any]:
    """Iterate over the rows of all registries."""
    for rows in (EDGES, COMPARISONS, GROUPS, KERNELS, LABEL_KERNELS):
        yield from rows


def __getattr__(name: str) -> Any:
    """Return the options of a plug-in by the name of their class."""
    if not name.startswith("_"):
        for row in every_row():
            if row.options.__name__ == name:
                return row.options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
