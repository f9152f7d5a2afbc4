"""Simulation-based calibration (Talts et al. 2018) of reversible jumps on persistent chains.

Truth from the prior, data from the truth, a chain that knows only the data: the rank of the truth among nearly
independent draws must be uniform. Edges of ordered answers, and differences between two and three groups. The default
run is short (other tests compare with the exact sampler); ``pytest -m calibration`` has 12 times as many truths.
"""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination, Persistent
from bayesmrf.likelihood import Sample
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Ordinal
from bayesmrf.posterior.edges.differences import contrasts, group_likelihood
from bayesmrf.posterior.edges.group_chains import GroupChains
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.priors import Normal, SpikeSlab
from tests.oracle.ranks import few_draws, p_value, rank

MODEL, ENGINE = Ordinal(graphs.complete(3), 3), Elimination()
PLAN, R = ENGINE.prepare(MODEL), MODEL.n_edges
PRIOR, WRONG = SpikeSlab(0.5, Normal(0.5), 1.0), SpikeSlab(0.9, Normal(0.1), 1.0)
OPTIONS, WARMUP, THIN = ReversibleJump(256), 60, 10
SIZES = {"edges": (100,), "two groups": (100, 150), "three groups": (100, 150, 120)}


def statistics(theta, n, rng):
    """Mean statistics of rows from the model."""
    return MODEL.statistics(ENGINE.sample(MODEL, theta, PLAN, n, rng))


def truth(sizes, rng):
    """Parameters of each group, and which edges exist, or differ."""
    there = rng.random(R) < 0.5
    if len(sizes) == 1:
        weights = (there * 0.5 * rng.standard_normal(R))[None]
    else:
        contrast = contrasts(sizes)
        weights = 0.5 * rng.standard_normal(R) + contrast @ (there * 0.5 * rng.standard_normal((contrast.shape[1], R)))
    return np.hstack([weights, rng.standard_normal((len(sizes), MODEL.n_features - R))]), there


def kernel_of(sizes, s_bars, prior):
    if len(sizes) == 1:
        return SpikeSlabManyStates(MODEL, s_bars[0], sizes[0], prior, options=OPTIONS, n_adapt=WARMUP)
    contrast = contrasts(sizes)
    samples = [Sample(s, n) for s, n in zip(s_bars, sizes, strict=True)]
    likelihood = group_likelihood(MODEL, samples, contrast, Persistent())
    return GroupChains(likelihood, contrast, prior, PRIOR.slab, options=OPTIONS, n_adapt=WARMUP)


def ranks(sizes, prior, n_simulations, rng):
    """Ranks of the weight of an edge in the last group, or its difference, of the number of edges and a threshold."""
    out = []
    for _ in range(n_simulations):
        theta, there = truth(sizes, rng)
        s_bars = [statistics(t, n, rng) for t, n in zip(theta, sizes, strict=True)]
        draws = few_draws(kernel_of(sizes, s_bars, prior), rng, THIN, WARMUP)
        drawn = draws["theta"].reshape(len(draws["theta"]), *theta.shape)
        first = np.zeros(()) if len(sizes) == 1 else theta[0, 0]
        firsts = 0.0 if len(sizes) == 1 else drawn[:, 0, 0]
        # The same difference of two groups may round to 0 or not: it is 0 where the edge does not differ.
        of_edge = np.where(draws["included"][:, 0], drawn[:, -1, 0] - firsts, 0.0)
        own = (theta[-1, 0] - first) * there[0]
        out.append(rank(np.transpose([of_edge, draws["n_edges"], drawn[:, -1, -1]]),
                        np.array([own, there.sum(), theta[-1, -1]]), rng))  # fmt: skip
    return np.array(out)


@pytest.mark.parametrize(
    ("case", "n_simulations"),
    [("edges", 50), ("two groups", 50)] + [pytest.param(case, 600, marks=[pytest.mark.calibration]) for case in SIZES],
)
def test_ranks_are_uniform(case, n_simulations, rng):
    found = p_value(ranks(SIZES[case], PRIOR, n_simulations, rng))
    print(f"{case}: smallest p-value {found:.3g} of {n_simulations} truths")
    assert found > 1e-6


@pytest.mark.parametrize("case", ["edges", "two groups"])
def test_a_wrong_prior_is_caught(case, rng):
    assert p_value(ranks(SIZES[case], WRONG, 50, rng)) < 1e-6
