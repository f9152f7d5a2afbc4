"""Many observations: the climb to the mode, and edges from moments that are extrapolated from there.

Exact moments and modes are sums over all states.
"""

import warnings

import numpy as np
import pytest

from bayesmrf import CompareMRF, SpikeSlabMRF, graphs
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ApproximatePosteriorWarning, OptionError
from bayesmrf.estimators import edge_start
from bayesmrf.learning import persistent_ascent as many_states
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.reference import SpikeSlabReference
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.priors import SpikeSlab
from bayesmrf.states import reference
from tests.oracle import spike_slab as oracle
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.oracle.states import all_states
from tests.statistical.test_spike_slab import draw

D, N = 8, 100_000
MODEL = Boltzmann(graphs.complete(D))
R = MODEL.n_edges
PENALTY = np.repeat([2.0, 0.04], [R, D])
FEATURES = oracle._features(MODEL.graph)


def moments(theta):
    """Exact moments and covariance."""
    p = np.exp(FEATURES @ theta - np.logaddexp.reduce(FEATURES @ theta))
    mean = p @ FEATURES
    return mean, (FEATURES * p[:, None]).T @ FEATURES - np.outer(mean, mean)


def mode(s_bar, n):
    """The mode by Newton's method, and minus the Hessian there."""
    theta = np.zeros(len(s_bar))
    for _ in range(50):
        mean, covariance = moments(theta)
        hessian = n * covariance + np.diag(PENALTY)
        step = np.linalg.solve(hessian, n * (s_bar - mean) - PENALTY * theta)
        theta += step / max(1.0, np.abs(step).max())
    assert np.abs(step).max() < 1e-9
    return theta, hessian


def farthest(theta, s_bar, n):
    """Distance from the mode along the worst axis, in posterior standard deviations."""
    best, hessian = mode(s_bar, n)
    values, axes = np.linalg.eigh(hessian)
    return np.abs(np.sqrt(values) * (axes.T @ (theta - best))).max()


@pytest.fixture(scope="module")
def data(module_rng):
    """Counts of all states of a sparse model, and a reference for them."""
    theta = np.concatenate([module_rng.normal(size=R) * (module_rng.random(R) < 0.5), module_rng.normal(-1, 0.5, D)])
    p = np.exp(FEATURES @ theta - np.logaddexp.reduce(FEATURES @ theta))
    counts = module_rng.multinomial(N, p)
    s_bar = counts @ FEATURES / N
    chains = reference.ReferenceChains(MODEL, s_bar, N, PENALTY, module_rng)
    found, misfit = chains.climb()
    assert misfit < reference._NEAR
    return counts, s_bar, chains.measure(found.theta)


def test_the_climb_ends_near_the_mode(data):
    """The noise of the moments adds less than 1 to the two standard deviations at which it ends."""
    _, s_bar, found = data
    assert found.noise <= reference._NOISE
    assert farthest(found.theta, s_bar, N) < 3
    assert farthest(found.theta + 0.05, s_bar, N) > 3


def test_the_moments_are_those_of_the_model(data):
    """Each within the standard errors that the noise states, and the covariance within 5 %."""
    _, _, found = data
    mean, covariance = moments(found.theta)

    other = moments(found.theta + 0.02)[0]
    assert_estimate(found.moments, mean, np.sqrt(found.noise * mean * (1 - mean) / N))
    assert_other_estimate(found.moments, other, np.sqrt(found.noise * other * (1 - other) / N))
    exact = reference.residual(reference.residual(covariance, MODEL.graph.edges, found.pull).T, MODEL.graph.edges,
                                found.pull)  # fmt: skip
    scale = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert np.abs((found.covariance - exact) / scale).max() < 0.05
    assert np.abs(exact / scale - np.eye(len(exact))).max() > 0.05  # negative control: no correlations
    np.testing.assert_allclose(found.cells.sum(axis=1), 1)
    np.testing.assert_allclose(found.cells[:, 3], found.moments[:R], rtol=1e-6)


def test_a_climb_that_was_cut_short_says_so(data, rng, monkeypatch):
    _, s_bar, _ = data
    monkeypatch.setattr(many_states, "_N_STEPS", 2)
    monkeypatch.setattr(reference, "_N_ROUNDS", 1)
    assert reference.ReferenceChains(MODEL, s_bar, N, PENALTY, rng).climb()[1] > edge_start._MISFIT
    with pytest.warns(ApproximatePosteriorWarning, match="did not converge: the moments of the predictive differ from"):
        assert edge_start.find_reference(MODEL, s_bar, N, SpikeSlab()) is None


@pytest.mark.parametrize("case", ["alike", "opposite", "equal", "rare", "ordinary"])
def test_where_moments_cannot_be_extrapolated(case, rng):
    """Two nodes that differ, or agree, in two of 10,000 rows or in none; or a node that is 1 in ten of them.

    With two rows, standard deviations of biases were 0.7 of the right ones.
    """
    x = (rng.random((10_000, 4)) < 0.4).astype(np.int8)
    if case in ("alike", "opposite", "equal"):
        x[:, 3] = x[:, 2]
        x[: 0 if case == "equal" else 2, 3] ^= 1
        x[:, 3] ^= case == "opposite"
    if case == "rare":
        x[:, 3] = np.arange(10_000) < 10
    model = Boltzmann(graphs.complete(4))
    found = edge_start.find_reference(model, model.statistics(x), 10_000, SpikeSlab())
    assert (found is not None) == (case == "ordinary")


def test_draws_are_those_of_the_exact_method(data, rng):
    """Means and standard deviations of weights that surely exist, and inclusions.

    The noise of the moments, 0.07 standard deviations, adds to that of the draws, 0.05; t with 23 degrees of freedom
    passes 6 in 4e-6 of runs.
    """
    _, s_bar, found = data
    exact = draw(SpikeSlabExact(Likelihood(MODEL, s_bar, N, Enumeration()), start=found.theta), rng, 100, 10, 8)
    sure = np.concatenate([exact["included"].mean(axis=(0, 1)) == 1, np.ones(D, bool)])
    assert sure[:R].sum() > 3
    flat = exact["theta"].reshape(-1, R + D)[:, sure]

    def errors(reference):
        values = draw(SpikeSlabReference(MODEL, s_bar, N, reference), rng, 200, 20, 8)
        mine = values["theta"].reshape(-1, R + D)[:, sure]
        shift = (mine.mean(axis=0) - flat.mean(axis=0)) / flat.std(axis=0)
        ratio = np.log(mine.std(axis=0) / flat.std(axis=0))
        away = np.abs(values["included"].mean(axis=(0, 1)) - exact["included"].mean(axis=(0, 1))).max()
        return np.abs(shift).max(), np.abs(ratio).max(), away

    shift, ratio, away = errors(found)
    assert shift < 1
    assert ratio < 0.25
    assert away < 0.25
    wrong = found._replace(covariance=4 * found.covariance)  # negative control: half the standard deviations
    assert max(np.array(errors(wrong)) / (1, 0.25, 0.25)) > 1


def test_the_neglected_part_of_log_z(data, rng):
    """It is that of all states, at draws as far as the posterior is wide; a wrong covariance has no part in it."""
    _, s_bar, found = data
    chains = reference.ReferenceChains(MODEL, s_bar, 2000, PENALTY, rng)
    _, hessian = mode(s_bar, 2000)
    draws = found.theta + rng.multivariate_normal(np.zeros(len(hessian)), np.linalg.inv(hessian), 64)
    mean, covariance = moments(found.theta)
    away = draws - found.theta
    log_z = np.logaddexp.reduce(draws @ FEATURES.T, axis=1)
    errors = log_z - away @ mean - np.einsum("ij,jk,ik->i", away, covariance, away) / 2
    exact = 2000 * errors.std() * np.sqrt(3 / len(found.theta))
    for _ in range(4):
        chains._states(found.theta)  # leave the random start
    normal = found._replace(is_normal=np.ones(R + D, bool))
    assert abs(np.log(chains.neglected(normal, draws) / exact)) < 0.5
    assert chains.neglected(normal, found.theta + 2 * away) > np.exp(0.5) * exact  # negative control


def test_the_reference_is_where_less_is_neglected(rng, monkeypatch):
    """Of two groups of strongly connected nodes, edges were up to 0.2 off with the mode as the reference."""
    u, v = MODEL.graph.edges.T
    weights = np.where(u // 4 == v // 4, rng.uniform(1, 2, R), 0)
    theta = np.concatenate([weights, -np.bincount(np.r_[u, v], np.r_[weights, weights], D) / 2])
    p = np.exp(FEATURES @ theta - np.logaddexp.reduce(FEATURES @ theta))
    s_bar, n = rng.multinomial(4200, p) @ FEATURES / 4200, 4200
    found = edge_start.find_reference(MODEL, s_bar, n, SpikeSlab())
    chains = reference.ReferenceChains(MODEL, s_bar, n, PENALTY, rng)
    at_mode, _ = chains.climb()
    draws = edge_start._pilot(MODEL, s_bar, n, SpikeSlab(), found, rng)[-64:]
    most = chains.neglected(at_mode, draws)
    for _ in range(4):
        chains._states(found.theta)
    assert chains.neglected(found, draws) < 0.8 * most
    monkeypatch.setattr(edge_start, "_NEGLECTED", 0.0)
    with pytest.warns(ApproximatePosteriorWarning, match="moments are those of persistent chains"):
        assert edge_start.find_reference(MODEL, s_bar, n, SpikeSlab()) is None


@pytest.fixture
def few(monkeypatch):
    """Numbers of observations that are few enough for wide posteriors of few nodes: 300 are too many for chains."""
    monkeypatch.setattr(edge_start, "_MANY", (100, 2))
    monkeypatch.setattr(edge_start, "_FEWEST", 3)
    monkeypatch.setattr(edge_start, "_PARTICLES", (256, 256))


def test_chains_are_taken_where_extrapolated_inclusions_would_be_wrong(few):
    """Of seven nodes in two groups with strong edges, which a wide posterior of 300 rows has; against exact draws.

    A run that extrapolates all the same is the negative control, and says how uncertain it is.
    """
    rng, nodes = np.random.default_rng(0), all_states(7)
    u, v = np.triu_indices(7, 1)
    weights = np.where(u // 4 == v // 4, 1.5 * rng.uniform(1, 2.5, len(u)), 0)
    log_p = (nodes[:, u] * nodes[:, v]) @ weights - nodes @ np.bincount(np.r_[u, v], np.r_[weights, weights], 7) / 2
    counts = rng.multinomial(300, np.exp(log_p - np.logaddexp.reduce(log_p)))
    run = {"n_draws": 1000, "n_warmup": 200, "n_chains": 2, "random_state": 1, "progress": False}

    def fit(method):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = SpikeSlabMRF(method=method, **run).fit(nodes, sample_weight=counts)
        return est.inclusion_[u, v], est.posterior_.attrs

    exact = fit("exact")[0]
    chains, stored = fit("reversible-jump")
    assert stored["moments"] == "chains"
    assert "moments are those of persistent chains that follow the weights" in stored["findings"]
    assert "inclusions near 0.5 would be uncertain by 0." in stored["findings"]
    assert np.abs(chains - exact).max() < 0.1
    extrapolated, stored = fit(ReversibleJump(moments="extrapolated"))
    assert stored["moments"] == "extrapolated"
    assert "inclusion probabilities near 0.5 may be wrong by up to 0." in stored["findings"]
    assert np.abs(extrapolated - exact).max() > 0.15


@pytest.mark.parametrize("n", [250, 300])
@pytest.mark.parametrize("neglected", [0.1, 0.3, 0.5])  # nats: inclusions are off by 0.012, 0.037 and 0.062
@pytest.mark.parametrize("moments", ["auto", "extrapolated", None])
def test_what_a_failed_test_means(n, neglected, moments, few, data, monkeypatch):
    monkeypatch.setattr(reference.ReferenceChains, "neglected", lambda *_: neglected)
    monkeypatch.setattr(reference.ReferenceChains, "climb", lambda _: (data[2], 0.0))
    monkeypatch.setattr(reference.ReferenceChains, "measure", lambda *_: data[2])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = edge_start.find_reference(MODEL, data[1], n, SpikeSlab(), moments)
    fails, is_small = neglected > edge_start._NEGLECTED, n <= edge_start._PARTICLES[1]
    follows = fails and (is_small or (moments == "auto" and neglected > 0.4)) and moments != "extrapolated"
    assert (found is None) == follows
    texts = " ".join(str(w.message) for w in told)
    assert ("approximation is unreliable" in texts) == (fails and moments is not None and not follows)
    assert ("moments are those of persistent chains" in texts) == (follows and moments == "auto")


@pytest.mark.parametrize("given", [{"epsilon": 0.1}, {"momentum": 0.9}])
def test_options_of_dynamics_are_refused_where_moments_are_extrapolated(given, data):
    counts = data[0]
    est = SpikeSlabMRF(
        method=ReversibleJump(**given), n_draws=2, n_warmup=0, n_chains=1, random_state=1, progress=False
    )
    (name,) = given
    with pytest.raises(
        OptionError, match=f"{name} must be omitted where moments are extrapolated .* give moments='chains'"
    ):
        est.fit(all_states(D), sample_weight=counts)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ApproximatePosteriorWarning")
def test_moments_that_are_extrapolated_or_not_as_is_asked(data):
    """Chains where "auto" extrapolates; to extrapolate is refused where it does not, and with a number of chains."""
    counts, run = data[0], {"n_draws": 2, "n_warmup": 1, "n_chains": 1, "random_state": 1, "progress": False}
    kernels = {}
    for moments in ("auto", "chains", "extrapolated"):
        est = SpikeSlabMRF(method=ReversibleJump(moments=moments), **run)
        kernels[moments] = type(est._prepare(all_states(D), counts)[2])
    assert kernels == {
        "auto": SpikeSlabReference, "extrapolated": SpikeSlabReference, "chains": SpikeSlabTwoStates
    }  # fmt: skip
    asked = ReversibleJump(moments="extrapolated")
    few, levels = all_states(D), np.random.default_rng(0).integers(0, 3, (5000, 3))
    for est, given in (
        (SpikeSlabMRF(method=asked, **run), (few,)),
        (SpikeSlabMRF(method=asked, **run), (levels,)),
        (CompareMRF(method=asked, **run), (few, np.arange(len(few)) % 3)),
    ):
        with pytest.raises(OptionError, match=r"moments must be 'auto'.* or 'chains' .*, got 'extrapolated'"):
            est.fit(*given)
    with pytest.raises(OptionError, match="n_particles must be omitted for moments='extrapolated', got 512"):
        ReversibleJump(512, moments="extrapolated")


def test_repeated_rows_and_the_number_of_particles(data, recwarn):
    """A table of counts takes the moments of one reference; few observations, or given particles, take chains."""
    counts, s_bar, _ = data
    est = SpikeSlabMRF(method="reversible-jump", n_draws=20, n_warmup=5, n_chains=2, random_state=1, progress=False)
    est.fit(all_states(D), sample_weight=counts)
    assert est.posterior_.attrs["n_particles"] == reference.CHAINS
    assert (
        np.abs(est.theta_ - mode(s_bar, N)[0])[np.r_[est.inclusion_[tuple(MODEL.graph.edges.T)] == 1, [True] * D]].max()
        < 0.3
    )
    assert edge_start.find_reference(MODEL, s_bar, 4096, SpikeSlab()) is None
    wide = Boltzmann(graphs.complete(30))
    assert edge_start.find_reference(wide, np.zeros(465), 9000, SpikeSlab()) is None
    assert [edge_start.default_particles(n) for n in (3, 1000, 10_000)] == [256, 1000, 10_000]
    with pytest.warns(
        ApproximatePosteriorWarning, match="n_particles is limited to 16,384, fewer than the 300,000 obs"
    ):
        assert edge_start.default_particles(300_000) == 16_384
