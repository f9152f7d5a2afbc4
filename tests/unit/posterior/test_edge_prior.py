"""Warnings about a prior that puts all edges in, or keeps all of them out, in the place of the data."""

import warnings

import numpy as np
import pytest

from bayesmrf import CompareMRF, SpikeSlabMRF, graphs
from bayesmrf.cli.common import spoken
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ApproximatePosteriorWarning, ConvergenceWarning, DivergenceError, PriorWarning, said
from bayesmrf.estimators.edge_prior import log_bayes_factors, warn_of_prior, warn_of_wide_slab
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Boltzmann, Ising
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.spike_slab import check_bounded
from bayesmrf.priors import Beta, Cauchy, Gamma, Moment, Normal, SpikeSlab
from tests.helpers.posterior_tree import columns
from tests.oracle import spike_slab as oracle
from tests.statistical.test_spike_slab_exact import draw

EXACT = {"method": "exact", "n_draws": 300, "n_warmup": 100, "n_chains": 2, "progress": False, "random_state": 0}
PRIORS = {
    "learnt": {"prior": SpikeSlab(slab=Gamma(5, 5))},
    "Cauchy": {"prior": SpikeSlab(0.5)},
    "nearly all": {"prior": SpikeSlab(0.99)},
    "hardly any": {"prior": SpikeSlab(1e-9)},
}


def complete(weights, n_nodes, n, rng):
    """Data from a complete graph, yes about as frequent as no."""
    model = Boltzmann(graphs.complete(n_nodes))
    u, v = model.graph.edges.T
    half = np.bincount(u, weights, n_nodes) + np.bincount(v, weights, n_nodes)
    return Enumeration().sample(model, np.concatenate([weights, -half / 2]), None, n, rng)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_complete_graph_of_strong_edges_is_not_warned_of(prior, rng):
    """All weights are 12 standard deviations from 0 or more; a warning would be an error."""
    X = complete(1.5 * rng.choice([-1, 1], 10), 5, 3000, rng)
    assert (SpikeSlabMRF(**EXACT, **PRIORS[prior]).fit(X).inclusion_.sum(axis=0) > 3.9).all()


def test_independent_nodes_without_edges_are_not_warned_of(rng):
    X = rng.integers(0, 2, (300, 8))
    assert SpikeSlabMRF(**EXACT, **PRIORS["hardly any"]).fit(X).inclusion_.max() < 0.5


def test_edges_that_the_prior_puts_in(rng):
    X = rng.integers(0, 2, (300, 8))
    message = (
        r"^28 of 28 candidate edges .* the data by themselves support only [0-6] of them \(Bayes factor > 3\)\. The "
        r"prior includes the others: the density has a prior mean of 0\.99; use one with a smaller mean, such as the "
        r"default, SpikeSlab\(density=Beta\(1, 1\)\)\.$"
    )
    with pytest.warns(PriorWarning, match=message):
        SpikeSlabMRF(**EXACT, **PRIORS["nearly all"]).fit(X)


def test_a_learnt_density_is_no_fault_of_the_prior(rng):
    """Two strong edges of three: p0 is learnt from them, and the third is in, as it should be under this prior.

    The same edges with a narrow slab, and with a density that favours edges, are warned of.
    """
    model = Boltzmann(graphs.complete(3))
    weights, slab_scale = 2 + 0.1 * rng.standard_normal((400, 3)), np.ones(400)
    weights[:, 1:] = np.where(rng.random((400, 2)) < 0.7, 0.7 * rng.standard_normal((400, 2)), 0)
    s_bar = model.statistics(rng.integers(0, 2, (50, 3)).astype(np.int8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_prior(columns(weights[None]), slab_scale, SpikeSlab(), model, s_bar, 50, True)
    for prior, scale, cause in (
        (SpikeSlab(Beta(9, 1)), 1.0, r"the density has a prior mean of 0\.9; "),
        (
            SpikeSlab(slab=Normal(0.5)),
            0.5,
            r"the slab has a scale of 0\.5 log odds ratios, .* such as SpikeSlab\(slab=",
        ),
    ):
        with pytest.warns(PriorWarning, match=f"^3 of 3 candidate edges .* includes the others: {cause}"):
            warn_of_prior(columns(weights[None]), scale * slab_scale, prior, model, s_bar, 50, True)


def test_a_questionnaire(rng):
    """Ten items, all pairs weakly dependent, 150 rows.

    With a uniform density, a slab that is learnt shrinks until every edge is in, in 23 of 24 data sets: in none of five
    in one of 10^6 runs. Under the default prior 20 are, with a standard deviation of 4: 43 or more in one of 10^8.
    """
    tables = [complete(np.full(45, 0.35), 10, 150, rng) for _ in range(5)]
    with pytest.warns(PriorWarning, match=r"^4[3-5] of 45 candidate edges"):
        [SpikeSlabMRF(**EXACT, **PRIORS["learnt"]).fit(X) for X in tables]
    fitted = SpikeSlabMRF(**EXACT).fit(tables[0])
    assert (fitted.inclusion_[np.triu_indices(10, 1)] > 0.5).sum() < 43


def test_edges_that_the_prior_keeps_out(rng):
    """One pair with a correlation of 0.4 in 300 rows."""
    X = rng.integers(0, 2, (300, 5))
    X[:, 0], X[:, 1] = np.arange(300) < 150, (np.arange(300) % 150 < 105) == (np.arange(300) < 150)
    with pytest.warns(PriorWarning, match=r"^No candidate edge .* the ends of 0-1 have a correlation of 0\.40 \(p = "):
        SpikeSlabMRF(**EXACT, prior=SpikeSlab(1e-20)).fit(X)
    X = X.astype(float)
    X[0, 3] = np.nan  # where values are missing the correlations are not known
    SpikeSlabMRF(**EXACT | {"n_draws": 50}, prior=SpikeSlab(1e-20)).fit(X)


@pytest.mark.parametrize("slab", [Normal(1.5), Cauchy(1.0), Moment(0.7)], ids=str)
def test_bayes_factors(slab, rng):
    """Against brute force at even odds; the draws are made at other odds, of which a Bayes factor does not depend."""
    model = Boltzmann(graphs.complete(2))
    s_bar = np.array([34, 55, 50]) / 100
    exact = oracle.posterior(model.graph, s_bar, 100, SpikeSlab(0.5, slab), rng)[0][0]
    wanted = np.log(exact / (1 - exact))
    kernel = SpikeSlabExact(Likelihood(model, s_bar, 100, Enumeration()), SpikeSlab(0.9, slab), n_scans=3)
    values = draw(kernel, rng, 300)
    found = log_bayes_factors(values["theta"][..., :1].reshape(-1, 1), values["slab_scale"].ravel(), slab)
    assert found[0] == pytest.approx(wanted, abs=0.3)
    other = log_bayes_factors(values["theta"][..., :1].reshape(-1, 1), values["slab_scale"].ravel() * 2, Normal(1.5))
    assert abs(other[0] - wanted) > 0.3
    assert np.isnan(log_bayes_factors(np.zeros((5, 1)), np.ones(5), slab)[0])


@pytest.mark.parametrize(("model", "moderate"), [(Boltzmann, 9.0), (Ising, 2.2)])
def test_a_learnt_slab_that_has_no_bound(model, moderate):
    """At ten times a moderate scale; not of a scale that is given."""
    model, scale, learnt = model(graphs.complete(3)), np.full((2, 5), moderate), SpikeSlab(0.5, Gamma(5, 5))
    with pytest.warns(ApproximatePosteriorWarning, match=r"^The slab's standard deviation, .*: 100 observations are"):
        warn_of_wide_slab(10 * scale, learnt, model, 100.0)
    warn_of_wide_slab(scale, learnt, model, 100.0)
    warn_of_wide_slab(10 * scale, SpikeSlab(0.5, Cauchy(90.0)), model, 100.0)


def test_weights_that_grow_without_end():
    check_bounded(np.full(3, 999.0), 0.2, SpikeSlab(), 1.0)
    with pytest.raises(DivergenceError, match=r"^epsilon must be smaller, as a weight exceeded 1000, got 0\.2\.$"):
        check_bounded(np.full(3, 1001.0), 0.2, SpikeSlab(), 1.0)
    with pytest.raises(DivergenceError, match=r"give the slab a fixed scale, .* which is learnt, is 50\.$"):
        check_bounded(np.array([0.0, np.nan]), 0.2, SpikeSlab(0.5, Gamma(5, 5)), 0.02**2)


def test_a_cauchy_slab_that_is_mostly_its_taper_is_warned_of(rng):
    X = rng.integers(0, 2, (40, 3))
    quick = {"method": "exact", "n_draws": 300, "n_chains": 2, "progress": False}
    for scale, factor in ((12.0, None), (1000.0, "25.1")):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            SpikeSlabMRF(prior=SpikeSlab(0.5, Cauchy(scale)), **quick).fit(X)
            CompareMRF(prior=SpikeSlab(0.5, Cauchy(scale)), **quick).fit(X, np.arange(40) % 2)
        said = [str(w.message) for w in found if w.category is PriorWarning]
        assert len(said) == (0 if factor is None else 2)
        assert all(f"are therefore at least {factor} times as large" in text for text in said)
    with pytest.warns(PriorWarning, match=r"A moment slab .* are therefore at least .* under a moment slab"):
        SpikeSlabMRF(prior=SpikeSlab(0.5, Moment(12.0)), **quick).fit(X)
    # The factor is that of the normalisers.
    x = np.linspace(-400, 400, 400_001)
    normaliser = np.trapezoid(np.exp(-(x**2) / 5000) / (1 + (x / 1000.0) ** 2), x)
    assert np.isclose(np.pi * 1000 / normaliser, 25.1, atol=0.05)


def test_chains_that_find_no_edge_do_not_blame_the_prior(rng):
    """Where they have not converged; Langevin dynamics may start without edges, and not find them."""
    X = rng.integers(0, 2, (300, 5))
    X[:, 1] = np.where(rng.random(300) < 0.9, X[:, 0], X[:, 1])
    model = Boltzmann(graphs.complete(5))
    none = (
        columns(np.zeros((1, 20, model.n_edges))),
        np.ones(20),
        SpikeSlab(0.5),
        model,
        model.statistics(X.astype(np.int8)),
        300,
    )
    for has_converged, category, reason in (
        (False, ConvergenceWarning, r"the chains have not found the edges yet\. Use more draws, or another method\."),
        (True, PriorWarning, r"the prior keeps the edges out\. Use a prior of the density with a larger mean, such as"),
    ):
        with pytest.warns(category, match=f"^No candidate edge .*{reason}") as found:
            warn_of_prior(*none, has_converged)
        assert "SpikeSlab" not in said(found[0].message.text, spoken)  # on the command line
