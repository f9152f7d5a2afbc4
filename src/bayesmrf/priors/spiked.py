"""The prior of networks whose edges may be absent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..declare.option import Checked, option
from ..declare.rule import BETA, BLOCKS, PAIRS, PROBABILITY, SCALE, SLAB, either, instance, optional
from .densities import LogisticBeta
from .inclusion import Beta, Inclusion, inclusion_of
from .slab import Slab, require_registered
from .slab_kinds import Cauchy


@dataclass(frozen=True)
class SpikeSlab(Checked):
    r"""Prior of a network whose edges may be absent (Chen and Welling 2012 structure, eq. 2 and 3).

    .. math:: \theta_a = Y_a A_a, \quad Y_a \sim \mathrm{Bern}(p_0), \quad p_0 \sim \mathrm{Beta}(a, b), \quad
              b_i \sim N(0, \sigma_b^2)

    The weight A of a present edge (the slab) is Cauchy, normal with :math:`A_a \sim N(0, \sigma_0^2)`, or away from 0
    (`Moment`). The paper has Beta(5, 5) and a normal slab with Gamma(5, 5); docs/edge_priors.md compares these with the
    defaults.

    Parameters
    ----------
    density
        Where pairs have probabilities of their own, 0 forbids an edge, and 1 forces it. They are a symmetric matrix
        (n_nodes, n_nodes), in the order of the columns of the data or with their names as index and columns of a
        DataFrame; or a table, or list, of pairs: two nodes and a probability. All pairs must then be named; the pair
        ("*", "*") stands for all others.
    slab
        Gamma: the weights are normal, and this is the prior of their precision :math:`\sigma_0^{-2}`, as in the paper.
        Normal: the weights are normal with a fixed standard deviation. Cauchy: the weights are Cauchy with a fixed
        scale s; the density is proportional to :math:`e^{-a^2 / 2 \tau^2} / (1 + a^2 / s^2)` with tau = 50
        (`CAUCHY_TAPER`), which differs from the Cauchy density only at weights that no data can distinguish, and by its
        constant: Bayes factors for edges are 2 % larger at scale 1, and 16 % at 10. `fit` warns above 20 %. Of an edge
        with several parameters tau is larger, so that these figures are the same to within 1 %. Moment: the same, with
        that density. Cauchy(Gamma(shape, rate)): the scale s has this prior, and tau is relative to it. A class of
        your own, registered by `bayesmrf.slabs.register`: docs/add_a_slab.md.
    biases
        None for the normal one.
    """

    density: Any = option(
        Beta(1.0, 1.0),
        either(PROBABILITY, BETA, PAIRS, BLOCKS),
        "Prior of p_0, or its fixed value in (0, 1); or the probability of each pair of nodes, in [0, 1]; or blocks of "
        "nodes, in place of a density.",
    )
    slab: Slab = option(Cauchy(1.0), SLAB, "Prior of the weights of edges that exist.")
    bias_scale: float = option(10.0, SCALE, "sigma_b; of no effect with ``biases``.")
    biases: LogisticBeta | None = option(
        None,
        optional(instance("priors", "LogisticBeta")),
        "Another prior of the biases (thresholds of ordered categories): that of the logit of a Beta variable.",
    )

    has_spike: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_registered(self.slab)

    @property
    def inclusion(self) -> Inclusion:
        """The prior of which edges exist."""
        return inclusion_of(self.density)

    def with_biases_of(self, prior: SpikeSlab) -> SpikeSlab:
        """Return the prior with that of the biases of another one."""
        return replace(self, bias_scale=prior.bias_scale, biases=prior.biases)
