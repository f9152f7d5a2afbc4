"""Shares of pairs of states over chains, and chains that visit only the edges that exist."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.inference.chains import Persistent
from bayesmrf.models import categorical as many
from bayesmrf.models import pairwise as two
from bayesmrf.models.categorical import Categorical, compiled_form, without_absent
from bayesmrf.models.ising import Ising
from bayesmrf.models.ordinal import Ordinal
from bayesmrf.samplers import gibbs
from bayesmrf.samplers.pair_counts import pair_shares


@pytest.mark.parametrize("n_states", [None, 2, 5])
def test_shares_are_those_of_a_loop(rng, n_states):
    chains, m = gibbs.start(150, 7, rng, n_states=n_states), n_states or 2
    x, edges = gibbs.to_states(chains, 150, n_states), np.array([[0, 3], [5, 1]])
    found = pair_shares(chains, 150, edges, (-1, 1) if n_states is None else range(m))
    expected = [[((x[:, u] == a) & (x[:, v] == b)).mean() for a in range(m) for b in range(m)] for u, v in edges]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("make", [Ising, lambda graph: Ordinal(graph, 4)], ids=["ising", "ordinal"])
def test_edges_that_do_not_exist_need_no_visit(rng, make):
    model = make(graphs.complete(8))
    theta = rng.normal(scale=0.3, size=model.n_features)
    theta[: model.graph.n_edges] *= rng.random(model.graph.n_edges) < 0.4
    form = compiled_form(model, theta)
    few = without_absent(form)
    assert len(few.edges) == len(few.coupling) == (theta[: model.graph.n_edges] != 0).sum()
    n_states = many.states_of(model)
    chains = [gibbs.start(128, 8, np.random.default_rng(1), n_states=n_states) for _ in range(2)]
    for one, at in zip(chains, (form, few), strict=True):
        gibbs.sweep(at, one, 5)
    x, y = (gibbs.to_states(one, 128, n_states) for one in chains)
    assert (x == y).mean() > 0.99  # sums of fields are rounded in another order
    potential = many.log_potential if isinstance(form, Categorical) else two.log_potential
    np.testing.assert_allclose(potential(form, x), potential(few, x))
    assert without_absent(few) is few
    none = without_absent(form._replace(coupling=0 * form.coupling))
    assert len(none.edges) == 0
    assert without_absent(none) is none
    gibbs.sweep(none, chains[0], 1)


def test_chains_without_moments_are_those_with_them(rng):
    model = Ising(graphs.complete(6))
    theta = rng.normal(scale=0.3, size=model.n_features)
    engine = Persistent(n_chains=64, n_sweeps=3)
    memory = [engine.start(model, np.random.default_rng(1)) for _ in range(2)]
    followed = engine.follow(model, theta, memory[0])
    np.testing.assert_array_equal(followed.chains.states, engine.infer(model, theta, None, state=memory[1]).state[0][0])
