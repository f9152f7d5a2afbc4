"""Blocks of nodes: their prior, and every kernel against graphs x partitions by brute force."""

import numpy as np
import pytest
from scipy import stats

from bayesmrf import graphs
from bayesmrf.models import Boltzmann, Nominal, Ordinal
from bayesmrf.posterior.conditionals.node_blocks import block_prior, draw_blocks
from bayesmrf.priors import Beta, Blocks, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.long import LONG
from tests.oracle import blocks as blocks_oracle
from tests.oracle import spike_slab as oracle
from tests.oracle.bounds import Comparison
from tests.statistical.test_edge_table import N, exact, langevin, many_states, reference, rows_of, tables, two_states

BLOCKS = Blocks(within=Beta(3.0, 1.0), between=Beta(1.0, 4.0))
PRIORS = {
    "mixture": BLOCKS,
    "other mixture": Blocks(concentration=2.5, rate=0.4),
    "process": Blocks("process", 0.7, within=Beta(2.0, 1.0)),
}


@pytest.mark.parametrize("name", PRIORS)
def test_prior_of_partitions(name):
    """Of each, and of their numbers; both sum up to 1."""
    prior, n = PRIORS[name], 6
    log_v, log_size = prior.log_weights(n)
    partitions = blocks_oracle.partitions(n)
    found = [log_v[max(z) + 1] + log_size[np.bincount(z)].sum() for z in partitions]
    np.testing.assert_allclose(found, [blocks_oracle.log_prior(z, prior) for z in partitions], rtol=1e-9)
    numbers = np.bincount([max(z) for z in partitions], np.exp(found))
    np.testing.assert_allclose(np.exp(prior.log_prior_of_numbers(n)), numbers, rtol=1e-9)
    assert np.exp(prior.log_prior_of_numbers(60)).sum() == pytest.approx(1)


def test_prior_is_that_of_components(rng):
    """Draws of the number of components, of their shares and of the nodes' ones have the prior of partitions."""
    n, size = 4, 40_000
    partitions = blocks_oracle.partitions(n)
    counts = dict.fromkeys(partitions, 0)
    for k in 1 + rng.poisson(0.4, size):
        z = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.5)))
        names = {c: i for i, c in enumerate(dict.fromkeys(z.tolist()))}
        counts[tuple(names[c] for c in z.tolist())] += 1
    for prior, holds in ((PRIORS["other mixture"], True), (BLOCKS, False)):
        expected = size * np.exp([blocks_oracle.log_prior(z, prior) for z in partitions])
        assert (
            stats.chisquare([counts[z] for z in partitions], expected * size / expected.sum()).pvalue > 1e-6
        ) == holds


@pytest.mark.parametrize("name", PRIORS)
def test_without_data_blocks_have_their_prior(name, rng):
    """Edges are drawn given their log odds, and blocks given the edges, of five nodes with seven candidates."""
    prior, graph = PRIORS[name], graphs.from_edges([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 4), (1, 4)], range(5))
    partitions = blocks_oracle.partitions(5)
    p = np.exp([blocks_oracle.log_prior(z, prior) for z in partitions])
    blocks, log_odds, draws = block_prior(prior, graph), np.zeros(7), np.empty((24, 1500, 15))
    for chain in draws:
        for k in range(-50, len(chain)):
            for _ in range(2):
                has = rng.random(7) < 1 / (1 + np.exp(-log_odds))
                draw_blocks(rng, blocks, has, log_odds)
            if k >= 0:
                chain[k] = blocks_oracle.together(blocks.labels)
    assert Comparison().shares(draws, p @ blocks_oracle.together(partitions)).holds
    other = np.exp(
        [blocks_oracle.log_prior(z, Blocks(concentration=prior.concentration, rate=3.0)) for z in partitions]
    )
    assert not Comparison().shares(draws, other @ blocks_oracle.together(partitions)).holds


@pytest.mark.parametrize(
    ("make", "model", "prior", "n"),
    [
        (exact, Boltzmann(graphs.complete(4)), "mixture", N),
        (exact, Boltzmann(graphs.complete(4)), "process", N),
        (two_states, Boltzmann(graphs.complete(4)), "mixture", N),
        (many_states, Ordinal(graphs.complete(3), 3), "mixture", N),
        pytest.param(tables, Nominal(graphs.complete(3), 2, True), "mixture", N, marks=LONG),
        pytest.param(langevin, Boltzmann(graphs.complete(3)), "mixture", N, marks=LONG),
        pytest.param(reference, Boltzmann(graphs.complete(3)), "mixture", 6000, marks=LONG),
    ],
    ids=lambda v: getattr(v, "__name__", v if isinstance(v, str) else ""),
)
def test_every_structure_and_partition(make, model, prior, n, rng):
    """Inclusion, weights, mean probability, co-clustering and numbers of blocks; the control has other Beta priors."""
    x = rows_of(model, rng, n)
    states = np.array(list(np.ndindex((model.n_states,) * model.graph.n_nodes)), np.int8)
    features, s_bar = np.array([model.statistics(s[None]) for s in states]), model.statistics(x)
    if n > N:  # weak dependence
        s_bar = features.mean(axis=0) + 0.01 * (s_bar - features.mean(axis=0))

    def truth(blocks):
        def more(included):
            every = blocks_oracle.together(blocks_oracle.partitions(model.graph.n_nodes))
            return blocks_oracle.given(included, model.graph.edges, blocks) @ every

        of = SpikeSlab(blocks, Normal(1.0), 2.0)
        return oracle.posterior(model.graph, s_bar, n, of, rng, features=features, more=more)

    kernel = make(model, s_bar, n, x, SpikeSlab(PRIORS[prior], Normal(1.0), 2.0))
    draws = run.sample(kernel, n_draws=60, n_warmup=30, n_chains=24, random_state=rng, progress=False).values
    np.testing.assert_array_equal(draws["n_blocks"], draws["blocks"].max(axis=-1) + 1)

    def holds(means, errors):
        k = len(blocks_oracle.together(np.zeros(model.graph.n_nodes, int)))
        found = oracle.compared(draws, means[:-k], errors[:-k])
        return found.shares(blocks_oracle.together(draws["blocks"]), means[-k:], error=errors[-k:]).holds

    assert holds(*truth(PRIORS[prior]))
    assert not holds(*truth(Blocks(within=Beta(1.0, 3.0), between=Beta(4.0, 1.0))))
