"""The Ising model: couplings and fields over {-1, +1}."""

from __future__ import annotations

from dataclasses import dataclass

from .pairwise import FeatureForm, PairwiseModel


@dataclass(frozen=True, eq=False)
class Ising(PairwiseModel):
    r"""Binary field over x in {-1, +1}.

    .. math:: p(x \mid \theta) \propto \exp\Big(\sum_{(u,v)} J_{uv} x_u x_v + \sum_u h_u x_u\Big)

    with theta = (J of each edge[, h of each node]). Parameters are those of `PairwiseModel`.
    """

    name = "ising"
    form = FeatureForm(a=0.0, b=1.0, c=0.0, p=0.0, q=1.0)
