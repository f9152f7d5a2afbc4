"""Where chains of edges start, and from how many states of x their moments come."""

from __future__ import annotations

from typing import Any
from warnings import warn

import numpy as np

from ..errors import ApproximatePosteriorWarning, argument
from ..models.boltzmann import Boltzmann, Coding
from ..particles.reference import MOST_FEATURES, Reference, climb
from ..posterior.conditionals.spike import edge_prior
from ..priors import SpikeSlab

_PARTICLES = 256, 16_384
_MANY = 4096, 20  # observations, and observations for each feature, from which one reference is used
_FEWEST, _FLATTEST = 30, 0.02  # rows in which a node varies, and eigenvalue of correlations, to extrapolate moments
_MISFIT, _NOISE = 4.0, 0.1  # distance from the mode in standard errors, and share of a variance, without a warning


def find_reference(model: Any, s_bar: np.ndarray, n_samples: float, prior: SpikeSlab) -> Reference | None:
    """Climb to the mode with all candidates and measure the moments there, if the observations are many.

    None if they are few, or if moments cannot be extrapolated: nodes are almost equal, or one is 1 (or 0) in few rows.
    Moments are those of the Boltzmann machine, for any model of nodes with two states.

    Warns
    -----
    ApproximatePosteriorWarning
        If the climb does not converge, or the moments are noisy.
    """
    least, each = _MANY
    if n_samples <= least or n_samples < each * model.n_features or model.n_features > MOST_FEATURES:
        return None
    known, code = edge_prior(prior), Coding.of(model)
    precision = known.curvature / code.edge**2, known.bias_precision / code.node**2
    penalty = np.repeat(precision, [model.n_edges, model.graph.n_nodes])
    rng = np.random.default_rng(0)  # the same for the same data, so that a run can be continued
    sums = code.statistics(model, s_bar)[model.n_edges :] * n_samples
    fewest = np.minimum(sums, n_samples - sums)
    if ((fewest > 0.5) & (fewest < _FEWEST)).any():
        return None
    found = climb(Boltzmann(model.graph), code.statistics(model, s_bar), n_samples, penalty, rng)
    if found.flattest < _FLATTEST:
        return None
    if not found.misfit < _MISFIT:
        warn(
            "the search for the mode of the posterior did not converge: the moments of the predictive differ from "
            f"those of the data by up to {found.misfit:.1f} standard errors, so that chains start at a sparse estimate "
            "and draws may be far from the posterior; give fewer candidates",
            ApproximatePosteriorWarning,
            stacklevel=4,
        )
        return None
    if not found.noise < _NOISE:
        warn(
            f"the noise of the moments makes posterior variances {found.noise:.0%} too large, as the chains at the "
            "mode of the posterior mix slowly; give fewer candidates",
            ApproximatePosteriorWarning,
            stacklevel=4,
        )
    return found


def default_particles(n_samples: float) -> int:
    """Return a persistent chain for each observation, within limits.

    Strong edges do not mix with fewer chains than observations; more chains cost time.

    Warns
    -----
    ApproximatePosteriorWarning
        If the upper limit binds.
    """
    least, most = _PARTICLES
    if n_samples > most:
        warn(
            f"{argument('n_particles')} is limited to {most:,}, fewer than the {n_samples:,.0f} observations, so that "
            "births and deaths of strong edges are rarely accepted; give fewer candidates (at most one for each "
            f"{_MANY[1]} observations, and {MOST_FEATURES:,} with the nodes), remove one of two nodes that are almost "
            f"equal and nodes that vary in fewer than {_FEWEST} rows, or give more particles",
            ApproximatePosteriorWarning,
            stacklevel=5,
        )
    return int(np.clip(n_samples, least, most))
