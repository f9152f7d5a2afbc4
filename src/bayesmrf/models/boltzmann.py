"""The Boltzmann machine: weights and biases over {0, 1}."""

from __future__ import annotations

from dataclasses import dataclass

from .pairwise import FeatureForm, PairwiseModel


@dataclass(frozen=True, eq=False)
class Boltzmann(PairwiseModel):
    r"""Binary field over s in {0, 1} (Murray and Ghahramani 2004, eq. 3, with biases).

    .. math:: p(s \mid W, b) \propto \exp\Big(\sum_{(i,j)} W_{ij} s_i s_j + \sum_i b_i s_i\Big)

    (Chen and Welling 2012 structure, eq. 1) with theta = (W of each edge[, b of each node]). By s = (1 + x) / 2 it is
    the Ising model with J = W / 4 and h_i = b_i / 2 + sum_j W_ij / 4.

    Parameters
    ----------
    graph : Graph
    fields : bool
        Whether nodes have biases b_i.
    """

    name = "boltzmann"
    form = FeatureForm(a=0.25, b=0.25, c=0.25, p=0.5, q=0.5)
