"""Where chains of edges start, and from how many states of x their moments come."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ApproximatePosteriorWarning, argument
from ..families import AUTO
from ..findings import BAD, NOTE, tell
from ..models.boltzmann import Boltzmann, Coding
from ..posterior.conditionals.spike import edge_prior
from ..posterior.edges.reference import SpikeSlabReference
from ..priors import SpikeSlab
from ..states.reference import MOST_FEATURES, Reference, ReferenceChains

_PARTICLES = 256, 16_384
_MANY = 4096, 20  # observations, and observations for each feature, from which one reference is used
_FEWEST = 30  # rows in which a node varies, and in which two nodes differ, to extrapolate moments
EXTRAPOLATES = (
    f"yes/no columns without missing values, with more than {_MANY[0]:,} observations and {_MANY[1]} for each weight "
    f"and bias, in which each node varies, and each two nodes differ, in at least {_FEWEST} rows"
)
_MISFIT, _NOISE = 4.0, 0.1  # distance from the mode in standard errors, and share of a variance, without a warning
_PILOT, _KEPT = 256, 64  # scans that find the mean of the posterior, of which the last are kept as draws
_NEGLECTED = 0.12  # nats in the log odds of an edge, by which the extrapolation may be off
_WRONG = 0.05  # the same for inclusions near 0.5, where there are too many observations for a chain for each


def find_reference(
    model: Any, s_bar: np.ndarray, n_samples: float, prior: SpikeSlab, moments: str | None = AUTO
) -> Reference | None:
    """Measure the moments at the mean of the posterior, if the observations are many.

    Chains climb to the mode with all candidates, and a pilot run with the moments there finds the mean: draws are
    nearer to it, as they lack edges. A second pilot run tests the extrapolation. None if the observations are few, or
    if moments cannot be extrapolated: a node is 1 (or 0) in few rows, two nodes differ (or agree) in few, or the test
    fails. Moments are those of the Boltzmann machine, for any model of nodes with two states.

    Parameters
    ----------
    model, s_bar, n_samples, prior
        As of `SpikeSlabReference`.
    moments : {"auto", "extrapolated"} or None
        What a test that fails means. "auto" takes chains, unless there are too many observations for a chain for each
        and inclusions are wrong by little; "extrapolated" takes the reference, and says how wrong inclusions are. None
        only starts at the reference, and says nothing.

    Warns
    -----
    ApproximatePosteriorWarning
        If the climb does not converge, the moments are noisy, or the test fails: only a note where chains are taken.
    """
    least, each = _MANY
    if n_samples <= least or n_samples < each * model.n_features or model.n_features > MOST_FEATURES:
        return None
    known, code = edge_prior(prior), Coding.of(model)
    precision = known.stiffness / code.edge**2, known.bias_precision / code.node**2
    penalty = np.repeat(precision, [model.n_edges, model.graph.n_nodes])
    rng = np.random.default_rng(0)  # the same for the same data, so that a run can be continued
    both, sums = np.split(code.statistics(model, s_bar) * n_samples, [model.n_edges])
    fewest, (u, v) = np.minimum(sums, n_samples - sums), model.graph.edges.T
    differ = sums[u] + sums[v] - 2 * both
    # A node that never varies is no trouble: its parameters have their prior.
    of_pairs = np.minimum(differ, n_samples - differ)[(fewest[u] > 0.5) & (fewest[v] > 0.5)]
    if ((fewest > 0.5) & (fewest < _FEWEST)).any() or (of_pairs < _FEWEST).any():
        return None
    chains = ReferenceChains(Boltzmann(model.graph), code.statistics(model, s_bar), n_samples, penalty, rng)
    reference, misfit = chains.climb()
    if not misfit < _MISFIT:
        tell(
            "the search for the mode of the posterior did not converge: the moments of the predictive differ from "
            f"those of the data by up to {misfit:.1f} standard errors, so that chains start at a sparse estimate "
            "and draws may be far from the posterior; give fewer candidates",
            ApproximatePosteriorWarning,
            BAD,
        )
        return None
    reference = chains.measure(_pilot(model, s_bar, n_samples, prior, reference, rng).mean(axis=0))
    if not reference.noise < _NOISE:
        tell(
            f"the noise of the moments makes posterior variances {reference.noise:.0%} too large, as the chains at the "
            "mean of the posterior mix slowly; give fewer candidates",
            ApproximatePosteriorWarning,
        )
        return None
    neglected = chains.neglected(reference, _pilot(model, s_bar, n_samples, prior, reference, rng)[-_KEPT:])
    if neglected < _NEGLECTED:
        return reference
    wrong, is_small = np.tanh(neglected / 4) / 2, n_samples <= _PARTICLES[1]
    if moments is None:
        return None if is_small else reference
    if moments == AUTO and (is_small or wrong > _WRONG):
        tell(
            "moments are those of persistent chains that follow the weights: with moments extrapolated over the "
            f"posterior, which is too wide for them, inclusions near 0.5 would be uncertain by {wrong:.2f}; "
            f"{argument('moments', 'extrapolated')} takes these all the same",
            ApproximatePosteriorWarning,
            NOTE,
        )
        return None
    tell(
        "the large-sample approximation is unreliable for these data: inclusion probabilities near 0.5 may be wrong by "
        f"up to {wrong:.2f} (log odds by {neglected:.1f}); give fewer candidates, or {argument('moments', 'chains')}",
        ApproximatePosteriorWarning,
    )
    return reference


def _pilot(
    model: Any, s_bar: np.ndarray, n_samples: float, prior: SpikeSlab, reference: Reference, rng: np.random.Generator
) -> np.ndarray:
    """Draw weights and biases of the Boltzmann machine in a short run, without its first quarter."""
    kernel, code = SpikeSlabReference(model, s_bar, n_samples, reference, prior), Coding.of(model)
    state, draws = kernel.init(rng), []
    for _ in range(_PILOT):
        state, draw = kernel.step(rng, state)
        draws.append(code.weights(model, draw.theta))
    return np.array(draws[_PILOT // 4 :])


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
        tell(
            f"{argument('n_particles')} is limited to {most:,}, fewer than the {n_samples:,.0f} observations, so that "
            "births and deaths of strong edges are rarely accepted; give fewer candidates (at most one for each "
            f"{_MANY[1]} observations, and {MOST_FEATURES:,} with the nodes), remove one of two nodes that are almost "
            f"equal and nodes that vary in fewer than {_FEWEST} rows, or give more particles",
            ApproximatePosteriorWarning,
        )
    return int(np.clip(n_samples, least, most))
