"""Flips of clusters of nodes of many states: they leave the distribution, and reach modes that single nodes do not."""

import numpy as np
import pytest
from scipy import stats

from bayesmrf import graphs
from bayesmrf.models import Ordinal, Potts, Symmetric
from bayesmrf.models.categorical import NEVER, log_potential, normalised
from bayesmrf.posterior.edges import byte_chains, iteration, reversible_jump
from bayesmrf.states.edge_tables import start_particles, table_graph, unpack
from bayesmrf.states.level_flips import flip_levels
from bayesmrf.states.table_sweeps import sweep
from tests.long import few
from tests.oracle.bounds import Comparison, P
from tests.statistical.test_against_exact import compared, draws_of

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
N_CHAINS = 128  # in which the two chains whose states are exchanged are not few
CASES = {
    "potts": Potts(graphs.cycle(4), 3),
    "ordered": Ordinal(graphs.complete(3), 4),
    "unequal numbers of levels": Ordinal(graphs.complete(4), 5, sizes=(2, 3, 5, 2)),
    "scores": Ordinal(graphs.complete(3), 4, scores=(0, 1, 4, 5)),
    "tables": Symmetric(graphs.cycle(4), 3, True),
}


def exact(model, theta, never=()):
    """All states that the model has and their probabilities; ``never`` are nodes and states that are not used."""
    form = model.categorical(theta)
    for i, k in never:
        form.field[i, k] = NEVER
    states = np.indices((model.n_states,) * model.graph.n_nodes).reshape(model.graph.n_nodes, -1).T
    p, _ = normalised(log_potential(form, states))
    return form.field, states[p > 0].astype(np.int8), p[p > 0]


def chains_of(model, theta, field, rng, n_chains=N_CHAINS):
    """The rows of the graph, and chains at theta."""
    particles, p = start_particles(n_chains, model.graph.n_nodes, model.n_states, rng), model.n_parameters
    gains = model.gains[None] if p == 1 else np.eye(p)
    return table_graph(model), unpack(particles, theta[: model.n_edges * p].reshape(-1, p) @ gains, field)


def fits(x, states, p):
    """Whether counts of states agree with their probabilities, by a chi-square test with the false-alarm rate `P`.

    States of which fewer than ten are expected are one.
    """
    code = (states.max() + 1) ** np.arange(x.shape[1])
    assert np.isin(x @ code, states @ code).all(), "a state that the model does not have"
    order = np.argsort(states @ code)
    counts = np.bincount(np.searchsorted((states @ code)[order], x @ code), minlength=len(p))
    expected = len(x) * p[order]
    seldom = expected < 10
    pooled = [np.append(a[~seldom], a[seldom].sum()) for a in (counts, expected)]
    counts, expected = (a[pooled[1] > 0] for a in pooled)
    return stats.chisquare(counts, expected, sum_check=False).pvalue > P


FIELDLESS, HALVED = "without fields", "with half of the weights"
WIDEST = 2.2  # times the mean deviation of the probability of a mode by exact moments, where theta does not lag


@pytest.mark.parametrize("name", [*CASES, "unused levels"])
@pytest.mark.parametrize("wrong", [None, FIELDLESS, HALVED])
def test_flips_leave_the_distribution(name, wrong, rng):
    """From exact draws; the controls flip by the ratio of another model."""
    never = [(0, 1), (2, 0)] if name == "unused levels" else []
    model = CASES.get(name, CASES["ordered"])
    theta = rng.choice([-1, 1], model.n_features) * rng.uniform(0.5, 1.5, model.n_features)
    theta[: model.n_edges * model.n_parameters] *= 3 / model.score[-1] ** 2 if model.is_product else 1
    field, states, p = exact(model, theta, never)
    graph, unpacked = chains_of(model, theta, field, rng)
    used = unpacked
    if wrong == FIELDLESS:
        used = unpacked._replace(field=np.where(field > NEVER, 0.0, NEVER))
    elif wrong == HALVED:
        used = unpacked._replace(potentials=unpacked.potentials / 2)
    found = []
    for _ in range(1500):
        unpacked.x[...] = states[rng.choice(len(p), N_CHAINS, p=p)].T
        for _ in range(10):
            flip_levels(rng, graph, used)
        found.append(unpacked.x.T.copy())
    assert fits(np.concatenate(found).astype(int), states.astype(int), p) == (wrong is None)


def ordered_modes(sizes, low, high, weight, odds):
    """Ordered items that are mostly all at ``low`` or all at ``high``, which has ``odds``; theta."""
    model, pairs = Ordinal(graphs.complete(len(sizes)), max(sizes), sizes=sizes), len(sizes) * (len(sizes) - 1) // 2
    both = (low + high) / 2
    fields = [-12.0 * ~np.isin(np.arange(n), (a, b)) for n, a, b in zip(sizes, low, high, strict=True)]
    for i, n in enumerate(sizes):
        share = (np.arange(n) - low[i]) / (high[i] - low[i])
        fields[i] += share * (np.log(odds) / len(sizes) - weight * (high[i] - low[i]) * (both.sum() - both[i]))
        fields[i] -= fields[i][0]
    return model, np.concatenate([np.full(pairs, weight), *(f[1:] for f in fields)])


def potts_modes(odds):
    """Five nodes that are mostly all in one of four states, of which the last has ``odds``; theta."""
    model = Potts(graphs.complete(5), 4)
    return model, np.concatenate([np.full(10, 3.0), np.tile([0, 0, np.log(odds) / 5], 5)])


SIZES, ENDS = (5, 3, 4, 5, 2), np.array([4, 2, 3, 4, 1])
MODES = {
    "reversed levels": (*ordered_modes((5,) * 5, np.zeros(5), np.full(5, 4.0), 0.4, 1.0), [np.zeros(5)]),
    "unequal numbers of levels": (*ordered_modes(SIZES, 0 * ENDS, ENDS, 0.8, 2.0), [0 * ENDS]),
    "levels of each node": (
        *ordered_modes((5,) * 5, np.array([0, 1, 0, 2, 1]), np.array([3, 2, 4, 4, 3]), 1.5, 3.0),
        [np.array([0, 1, 0, 2, 1]), np.array([3, 2, 4, 4, 3])],
    ),
    "states of Potts": (*potts_modes(2.0), [np.zeros(5)]),
}


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("flips", [True, False])
def test_modes_that_single_nodes_do_not_reach(name, flips, rng):
    """From one mode, or from both in equal shares; without flips (the control) chains stay in them."""
    model, theta, starts = MODES[name]
    field, states, p = exact(model, theta)
    graph, unpacked = chains_of(model, theta, field, rng, 2048)
    for k, start in enumerate(starts):
        unpacked.x[:, k :: len(starts)] = start[:, None]
    for _ in range(200):
        if flips:
            flip_levels(rng, graph, unpacked)
        sweep(graph, unpacked)
    assert fits(unpacked.x.T.astype(int), states.astype(int), p) == flips


def far_modes(rng, share=0.01, n=400):
    """Rows of four items that are all at the first level, or all at the last of four, but for a share of answers."""
    x = np.where(rng.random((n, 1)) < 0.4, 3, 0) * np.ones((1, 4), int)
    x = np.where(rng.random(x.shape) < share, rng.integers(0, 4, x.shape), x)
    x[:4] = np.arange(4)[:, None]
    return (x,)


def mode_probability(draws):
    """P(the sum of the four items is above its middle) at each draw."""
    model = Ordinal(graphs.complete(4), 4)
    states = np.indices((4,) * 4).reshape(4, -1).T
    features = np.hstack([states[:, [u]] * states[:, [v]] for u, v in model.graph.edges])
    features = np.hstack([features, (states[:, :, None] == np.arange(1, 4)).reshape(len(states), -1)])
    log_p = draws["theta"] @ features.T
    p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    return p[..., states.sum(axis=1) > 6].sum(axis=-1) / p.sum(axis=-1)


@pytest.mark.parametrize("flips", few([True, False], False))
def test_edges_and_shares_of_far_modes(flips, rng, monkeypatch):
    """Against the exact sampler: without flips (the control) theta runs ahead of the shares of chains in the modes."""
    given = far_modes(rng)
    exact = draws_of(given, "exact", rng, 100)
    if not flips:
        monkeypatch.setattr(byte_chains, "flip_levels", lambda *_: None)
        monkeypatch.setattr(iteration, "refresh", byte_chains.refresh_bytes.py_func)
        monkeypatch.setattr(reversible_jump, "iterate", iteration.iterate.py_func)
    size = (100, 32, 100) if flips else (15, 48, 15)  # in plain Python
    found = draws_of(given, "reversible-jump", rng, *size)
    p, there = mode_probability(found), mode_probability(exact)
    spread = np.abs(p - there.mean()) / np.abs(there - there.mean()).mean()
    spread = Comparison().means(spread, 1.0, bias=WIDEST - 1)
    if flips:  # edges of so strong modes exchange slowly, those of milder ones do not
        milder = far_modes(rng, 0.1)
        milder, exact = (draws_of(milder, method, rng, 100, 32, 100) for method in ("reversible-jump", "exact"))
        assert compared(milder, exact).holds
    assert spread.holds == flips, spread
