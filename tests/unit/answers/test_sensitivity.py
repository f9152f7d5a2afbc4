"""Sensitivity to the prior of edges: posteriors that are known in closed form, enumeration, refits."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats
from scipy.special import gammaln, logsumexp

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, graphs, plots
from bayesmrf.answers.sensitivity.compute import _FACTORS, _next, _paths
from bayesmrf.errors import DataError, OptionError
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.differences import contrasts
from bayesmrf.priors import CAUCHY_TAPER, Beta, Blocks, Cauchy, Fixed, Gamma, Normal, SpikeSlab, inclusion_of
from bayesmrf.results.categories import WORDS
from bayesmrf.results.edge_evidence import evidence
from bayesmrf.results.log_prior import Present, edge_terms, log_slab
from bayesmrf.results.reweighting import effective, log_constants, log_mixture, log_weights
from bayesmrf.results.sensitivity import ENOUGH, Joined, PriorRun, Setting
from tests.oracle import spike_slab as spike_slab_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.states import all_states

QUICK = {"n_warmup": 50, "progress": False, "n_jobs": 1}
BATCHES = 19  # degrees of freedom of an error


# Sampled distributions and targets that are normal: constants and means are known.
MEANS, SCALES = np.array([0.0, 1.5, 3.0, 5.0]), np.array([1.0, 0.7, 1.2, 0.8])


def normals(rng, n=4000):
    x = np.concatenate([rng.normal(m, s, n) for m, s in zip(MEANS, SCALES, strict=True)])
    log_q = -0.5 * ((x - MEANS[:, None]) / SCALES[:, None]) ** 2
    return x, log_q, np.full(len(MEANS), n)


def test_constants_are_those_of_normal_densities(rng):
    found = np.array([log_constants(normals(rng)[1], np.full(4, 4000)) for _ in range(20)])
    assert Comparison().means(found[:, None, 1:], np.log(SCALES[1:] / SCALES[0])).holds
    assert not Comparison().means(found[:, None, 1:], np.log(SCALES[1:] / SCALES[0]) + 0.15).holds


def test_constants_solve_their_equations(rng):
    _, log_q, n = normals(rng)
    log_p = log_q + (np.log(n) - log_constants(log_q, n))[:, None]
    np.testing.assert_allclose(np.exp(log_p - logsumexp(log_p, axis=0)).sum(axis=1), n, rtol=1e-5)
    shifted = log_q + np.array([[0.0], [700.0], [-300.0], [40.0]])  # unnormalised densities of any size
    np.testing.assert_allclose(
        log_constants(shifted, n) - log_constants(log_q, n), [0.0, 700.0, -300.0, 40.0], atol=1e-4
    )


def test_weights_make_draws_of_another_normal(rng):
    def mean(means):
        found = []
        for _ in range(20):
            x, log_q, n = normals(rng)
            weights = np.exp(log_weights(-0.5 * ((x - means[:, None]) / 0.9) ** 2, log_mixture(log_q, n)))
            found.append(weights @ x)
        return np.array(found)[:, None]

    between = np.array([0.7, 2.2, 4.0])
    assert Comparison().means(mean(between), between).holds
    assert not Comparison().means(mean(between), between + 0.1).holds
    x, log_q, n = normals(rng)
    weights = np.exp(log_weights(-0.5 * (x - np.array([[1.0], [30.0]])) ** 2, log_mixture(log_q, n)))
    near, far = effective(weights, np.ones(len(x)))
    assert near > 3000 > 30 > far


# Edges whose weights are independent: x_e ~ N(w_e, 1 / n). L is the same whatever the rest.
X, N_OBSERVATIONS = np.linspace(0.02, 0.5, 40), 60
SLABS = [Normal(float(s)) for s in 2.0 ** np.arange(-2, 3)]


def log_factor(scale):
    variance = 1 / N_OBSERVATIONS
    return stats.norm.logpdf(X, scale=np.sqrt(variance + scale**2)) - stats.norm.logpdf(X, scale=np.sqrt(variance))


def draws_of(setting, rng, n=3000):
    """Independent draws of edges and weights; p0 by its posterior on a grid, if it has a prior."""
    scale = SLABS[setting.slab].scale
    factor = np.exp(log_factor(scale))
    inclusion = setting.inclusion
    density = None if inclusion.p0 is None else np.full((n, 1), inclusion.p0)
    if density is None:
        grid = np.linspace(0.0005, 0.9995, 1000)
        log_p = stats.beta.logpdf(grid, inclusion.a, inclusion.b)
        log_p = log_p + np.log(1 - grid + grid * factor[:, None]).sum(axis=0)
        density = rng.choice(grid, n, p=np.exp(log_p - logsumexp(log_p)))[:, None]
    there = rng.random((n, len(X))) < density * factor / (1 - density + density * factor)
    precision = N_OBSERVATIONS + scale**-2
    weights = N_OBSERVATIONS * X / precision + rng.standard_normal((n, len(X))) / np.sqrt(precision)
    posterior = xr.Dataset(
        {
            "included": (("chain", "draw", "edge"), there.reshape(4, -1, len(X)).astype(np.int8)),
            "theta": (("chain", "draw", "feature"), (there * weights).reshape(4, -1, len(X))),
        }
    )
    constant = xr.Dataset({"edges": (("edge", "end"), np.zeros((len(X), 2), dtype=int))})
    return xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})


def joined(settings, rng, slabs=SLABS):
    return Joined([PriorRun(draws_of(s, rng), s, slabs) for s in settings])


DENSITY_RUNS = [Setting(Fixed(p), 2) for p in (0.1, 0.3, 0.5, 0.7, 0.9)]
BETA_RUNS = [Setting(Beta(2.0, 3.0), k) for k in range(5)]


def test_bayes_factors_along_prior_inclusion(rng):
    path = [Setting(Fixed(float(p)), 2) for p in np.linspace(0.1, 0.9, 17)]
    curve = joined([*DENSITY_RUNS, Setting(Beta(2.0, 3.0), 2)], rng).curve(path)
    known = ~np.isnan(curve.log10_bf_error)
    exact = np.broadcast_to(log_factor(1.0) / np.log(10), known.shape)
    found, error = curve.log10_bayes_factor[known], curve.log10_bf_error[known]
    assert known.mean() > 0.9
    assert curve.n_effective.min() > ENOUGH
    assert Comparison().estimates(found, exact[known], error, df=BATCHES).holds
    assert not Comparison().estimates(found, exact[known] + 0.1, error, df=BATCHES).holds
    odds = np.array([s.inclusion.p0 / (1 - s.inclusion.p0) for s in path])[:, None] * np.exp(log_factor(1.0))
    np.testing.assert_allclose(curve.inclusion, odds / (1 + odds), atol=0.06)


def test_local_bayes_factors_along_the_scale_under_a_learnt_density(rng):
    path = [Setting(Beta(2.0, 3.0), k) for k in range(5)]
    between = joined([BETA_RUNS[0], BETA_RUNS[2], BETA_RUNS[4]], rng).curve(path)
    exact = np.array([log_factor(s.scale) for s in SLABS]) / np.log(10)
    known = ~np.isnan(between.log10_bf_error)
    found, error = between.log10_bayes_factor[known], between.log10_bf_error[known]
    assert known.mean() > 0.9
    assert Comparison().estimates(found, exact[known], error, df=BATCHES).holds
    odds = between.inclusion / (1 - between.inclusion)
    marginal = np.log10(odds[known] / (2 / 3))
    assert not Comparison().estimates(marginal, exact[known], error, df=BATCHES).holds


def test_a_slab_that_is_not_normalised_is_caught(rng):
    """As a power of a slab that is not, it changes the prior odds of each edge."""
    runs = joined([BETA_RUNS[0], BETA_RUNS[4]], rng)
    runs.slab = runs.slab + np.log([s.scale for s in SLABS])[:, None] * runs.n_present
    runs.log_q = runs.log_priors([run.prior for run in runs.runs])
    curve = runs.curve([Setting(Beta(2.0, 3.0), 2)])
    known = ~np.isnan(curve.log10_bf_error)
    exact = log_factor(1.0)[None] / np.log(10)
    wrong = Comparison().estimates(
        curve.log10_bayes_factor[known], exact[known], curve.log10_bf_error[known], df=BATCHES
    )
    assert not wrong.holds


def test_one_run_does_not_reach(rng):
    """Where a single run says nothing, its effective size says so; and where it is large, the run is right."""
    path = [Setting(Fixed(float(p)), 2) for p in np.linspace(0.1, 0.9, 17)]
    one, five = joined([Setting(Fixed(0.5), 2)], rng), joined(DENSITY_RUNS, rng)
    far, near = one.n_effective(path), five.n_effective(path)
    assert near.min() > ENOUGH
    assert far[0] < ENOUGH / 10
    assert far[-1] < ENOUGH / 10 < 2900 < far[8]
    odds = np.array([s.inclusion.p0 / (1 - s.inclusion.p0) for s in path])[:, None] * np.exp(log_factor(1.0))
    off = np.abs(one.curve(path).inclusion - odds / (1 + odds)).max(axis=1)
    assert off[far > ENOUGH].max() < 0.08 < off[[0, -1]].max()


def test_errors_are_those_of_repeated_runs(rng):
    target = [Setting(Fixed(0.4), 1)]
    runs = [Setting(Fixed(0.3), 2), Setting(Fixed(0.6), 0)]
    curves = [Joined([PriorRun(draws_of(s, rng, 800), s, SLABS) for s in runs]).curve(target) for _ in range(40)]
    found = np.array([c.log10_bayes_factor[0] for c in curves])
    claimed = np.sqrt(np.mean([c.log10_bf_error[0] ** 2 for c in curves], axis=0))
    middle = ~np.isnan(claimed)
    ratio = found.std(axis=0, ddof=1)[middle] / claimed[middle]
    # 40 runs: the sd of a ratio is a ninth, and five of it are a rate of 1e-6; about 30 edges are nearly independent.
    assert ratio.min() > 0.45
    assert ratio.max() < 1.7
    assert 0.85 < np.median(ratio) < 1.15


# Terms of the prior.


@pytest.mark.parametrize("slab", [Normal(0.7), Cauchy(1.3), Gamma(2.0, 3.0)])
def test_terms_of_one_network(slab, rng):
    tree = draws_of(Setting(Fixed(0.4), 2), rng, 40)
    terms = edge_terms(tree, np.arange(5, 40, 3), [slab])
    theta = tree["posterior"]["theta"].values.reshape(-1, len(X))[5:40:3]
    np.testing.assert_array_equal(terms.n_present, (theta != 0).sum(axis=1))
    prior = SpikeSlab(density=0.4, slab=slab)
    exact = [spike_slab_oracle.log_weights_prior(t[t != 0], prior) for t in theta]
    np.testing.assert_allclose(terms.slab[0], exact, rtol=1e-9)
    assert terms.n_candidates == len(X)


@pytest.mark.parametrize("density", [0.3, Beta(2.0, 5.0)])
def test_probabilities_of_graphs_have_the_sum_one(density):
    k = np.arange(8)
    number = np.exp(gammaln(8) - gammaln(k + 1) - gammaln(8 - k))
    assert np.exp(inclusion_of(density).log_graph(k, 7)) @ number == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("slab", [Normal(0.7), Cauchy(1.3), Gamma(2.0, 3.0)])
def test_slabs_are_normalised_densities_in_any_dimension(slab, size):
    """Integrals over spheres: of a table of weights, or the coordinates of a difference."""
    area = 2 * np.pi ** (size / 2) / np.exp(gammaln(size / 2))

    def shell_of(r):
        present = Present(np.zeros(1, dtype=int), np.array([r**2]), np.array([size]))
        return area * r ** (size - 1) * float(np.exp(log_slab(slab, present, 1)[0]))

    total = sum(integrate.quad(shell_of, a, b, limit=200)[0] for a, b in ((0, 1), (1, 10), (10, 20 * CAUCHY_TAPER)))
    assert total == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("biases", ["free", "slab", "spike-slab"])
def test_terms_of_differences_are_those_of_their_coordinates(biases, rng):
    """From phi: coordinates of differences times contrasts, and a baseline, are the weights of the groups."""
    model, contrast = Boltzmann(graphs.complete(3)), contrasts([30, 50, 20])
    n_spiked = 3 if biases == "free" else 6
    there = rng.random((20, n_spiked)) < 0.5
    if biases == "slab":
        there[:, 3:] = True
    delta = rng.normal(size=(20, 2, n_spiked)) * there[:, None]
    theta = rng.normal(size=(20, 1, 6)) * np.ones((1, 3, 1))
    theta[:, :, :n_spiked] += np.einsum("tk,nkf->ntf", contrast, delta)
    same = np.flatnonzero(~there.ravel())
    for row, item in zip(*np.divmod(same, n_spiked), strict=True):
        theta[row, :, item] = theta[row, 0, item]
    if biases == "free":
        theta[:, :, 3:] = rng.normal(size=(20, 3, 3))
    posterior = xr.Dataset(
        {
            "included": (("chain", "draw", "edge"), there[None, :, :3].astype(np.int8)),
            "theta": (("chain", "draw", "group", "feature"), theta[None]),
        }
    )
    constant = xr.Dataset({"edges": (("edge", "end"), model.graph.edges)})
    tree = xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})
    tree.attrs["biases"] = biases
    terms = edge_terms(tree, np.arange(20), [Normal(0.8)])
    exact = [stats.norm.logpdf(d[:, t], scale=0.8).sum() for d, t in zip(delta, there, strict=True)]
    np.testing.assert_allclose(terms.slab[0], exact, rtol=1e-9)
    counted = there if biases == "spike-slab" else there[:, :3]
    np.testing.assert_array_equal(terms.n_present, counted.sum(axis=1))
    assert terms.n_candidates == counted.shape[1]


def test_terms_of_pairs_with_probabilities_of_their_own(rng):
    own = np.concatenate([[0.0, 1.0], np.linspace(0.1, 0.9, len(X) - 2)])
    tree = draws_of(Setting(Fixed(0.4), 2), rng, 40)
    tree["posterior"]["included"].values[..., :2] = 0, 1
    there = tree["posterior"]["included"].values.reshape(40, -1) == 1
    terms = edge_terms(tree, np.arange(40), [], own)
    exact = np.log(np.where(there, own, 1 - own))
    np.testing.assert_allclose(terms.pairs, exact.sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(terms.n_present, there[:, 2:].sum(axis=1))
    assert terms.n_candidates == len(X) - 2


# From data.


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(5)
    states = all_states(4)
    weights = 0.9 * states[:, 0] * states[:, 1] - 0.7 * states[:, 1] * states[:, 2] + 0.4 * states[:, 2] * states[:, 3]
    p = np.exp(weights - 0.3 * states.sum(axis=1))
    return pd.DataFrame(states[rng.choice(16, 150, p=p / p.sum())].astype(int), columns=list("abcd"))


@pytest.fixture(scope="module")
def fitted(answers, request):
    prior = SpikeSlab(density=Beta(1.0, 2.0), slab=Cauchy(0.8), bias_scale=2.0)
    est = SpikeSlabMRF(prior=prior, method="exact", n_draws=2500, random_state=request.config.seed, **QUICK)
    est.fit(answers)
    est.sensitivity(answers)
    return est


def test_the_posterior_under_other_priors_is_that_of_enumeration(fitted, answers, rng):
    graph, states = graphs.complete(4), answers.to_numpy(float)
    u, v = graph.edges.T
    s_bar = np.concatenate([(states[:, u] * states[:, v]).mean(axis=0), states.mean(axis=0)])
    found, n = fitted.posterior_["sensitivity"].dataset, 150
    inclusion, n_effective = found["inclusion"].values, found["n_effective"].values
    value, path = found["value"].values, found["prior"].values.astype(str)
    compared, other = Comparison(), Comparison()
    for name, at in (("inclusion", 0.1), ("inclusion", 0.35), ("inclusion", 0.9), ("scale", 0.25), ("scale", 4.0)):
        density = at if name == "inclusion" else Beta(1.0, 2.0)
        slab = Cauchy(0.8 if name == "inclusion" else 0.8 * at)
        means, error = spike_slab_oracle.posterior(graph, s_bar, n, SpikeSlab(density, slab, 2.0), rng, 4000)
        (k,) = np.flatnonzero((path == name) & np.isclose(value, at))
        p = means[:6].clip(0, 1)
        spread = np.hypot(np.sqrt((p * (1 - p) + 1 / n_effective[k]) / n_effective[k]), error[:6])
        assert n_effective[k] > ENOUGH
        compared.estimates(inclusion[k], p, spread)
        other.estimates(inclusion[(k + 4) % len(value)], p, spread)
    assert compared.holds, str(compared)
    assert not other.holds


def test_blocks_have_the_path_of_the_scale(answers, rng, request):
    """Inclusions by enumeration over graphs x partitions; Bayes factors are those of the full conditionals."""
    graph, states = graphs.complete(4), answers.to_numpy(float)
    u, v = graph.edges.T
    s_bar = np.concatenate([(states[:, u] * states[:, v]).mean(axis=0), states.mean(axis=0)])
    prior = SpikeSlab(Blocks(within=Beta(3.0, 1.0), between=Beta(1.0, 4.0)), Cauchy(0.8), 2.0)
    est = SpikeSlabMRF(prior=prior, method="exact", n_draws=2500, random_state=request.config.seed, **QUICK)
    shares = est.fit(answers).sensitivity(answers)
    found = est.posterior_["sensitivity"].dataset
    assert set(shares["prior"]) == {"scale"}
    assert shares["trusted"].all()
    compared, other = Comparison(), Comparison()
    for factor in (0.25, 4.0):
        here = SpikeSlab(prior.density, Cauchy(0.8 * factor), 2.0)
        means, error = spike_slab_oracle.posterior(graph, s_bar, 150, here, rng, 4000)
        (k,) = np.flatnonzero(np.isclose(shares["value"], factor))
        p, n = means[:6].clip(0, 1), shares["n_effective"][k]
        spread = np.hypot(np.sqrt((p * (1 - p) + 1 / n) / n), error[:6])
        compared.estimates(found["inclusion"].values[k], p, spread)
        other.estimates(found["inclusion"].values[(k + 8) % len(shares)], p, spread)
    assert compared.holds, str(compared)
    assert not other.holds
    (own,) = np.flatnonzero(shares["value"] == 1)
    logs, error = (found[name].values[own] for name in ("log10_bayes_factor", "log10_bf_error"))
    drawn = evidence(est.posterior_)
    known = ~np.isnan(error + drawn.error)
    both = np.hypot(error, drawn.error)[known]
    assert known.sum() >= 4
    assert Comparison().estimates(logs[known], drawn.log10[known], both, df=BATCHES).holds
    odds = drawn.log_odds / np.log(10)  # as if the prior odds were those before the data
    assert (
        not Comparison()
        .estimates((logit10(found["inclusion"].values[own]) - odds)[known], drawn.log10[known], both)
        .holds
    )


SHARES = [word.replace(" ", "_") for word in WORDS]


def logit10(p):
    return np.log10(p / (1 - p))


def test_tables_and_storage(fitted, tmp_path):
    shares = fitted.table("sensitivity")
    assert list(shares.columns) == ["prior", "value", *SHARES, "n_effective", "trusted"]
    np.testing.assert_allclose(shares[SHARES].sum(axis=1), 1)
    edges = fitted.table("sensitivity-edges", edge=("b", "a"))
    assert len(edges) == len(shares)
    assert (edges["bayes_factor"] > 0).all()
    bayesmrf.results.save(fitted, tmp_path / "run")
    again = bayesmrf.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.table("sensitivity"), shares)
    assert "Sensitivity to the prior" in again.report(tmp_path / "r.html").read_text()
    panels = plots.plot_sensitivity(again).child_axes
    assert len(panels) == 4
    heights = [np.ptp(c.get_paths()[0].get_extents().intervaly) for c in panels[0].collections[:3]]
    assert len(panels[1].lines) >= 6
    assert max(heights) <= 1
    del again.posterior_["sensitivity"]
    with pytest.raises(OptionError, match="sensitivity"):
        plots.plot_sensitivity(again)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_runs_continue_from_their_folder(answers, tmp_path, monkeypatch):
    prior = SpikeSlab(density=0.35, slab=Normal(1.0), bias_scale=2.0)
    est = SpikeSlabMRF(prior=prior, method="exact", n_draws=60, n_chains=2, random_state=3, **QUICK).fit(answers)
    first = est.sensitivity(answers, checkpoint=tmp_path / "runs")
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(names) == 8
    assert "inclusion-0.8" in names
    assert "scale-0.5" in names
    assert 0.35 in set(first["value"])

    def no_step(self, rng, state):
        raise AssertionError

    monkeypatch.setattr("bayesmrf.posterior.edges.exact.SpikeSlabExact.step", no_step)
    pd.testing.assert_frame_equal(est.sensitivity(answers, checkpoint=tmp_path / "runs"), first)


def test_runs_are_where_too_little_is_known():
    """The core 2 to 6 of a path of nine before its ends; the middle of the longest stretch, or an end of it."""
    few, many = 0.0, 2.0 * ENOUGH
    for known, made, where in (
        ("....x....", [4], 2),
        ("..x.x....", [2, 4], 6),
        ("....xxxxx", [4], 2),
        ("..x...xxx", [2, 6], 4),
        ("xxxxxxx..", [2, 6], 8),
        ("..xxxxxxx", [2, 6], 0),
        ("x..xxxxxx", [0], 2),
        (".xxxxxxxx", [0], None),
    ):
        n_effective = np.array([many if c == "x" else few for c in known])
        assert _next(n_effective, made, slice(2, 7)) == where, known
    densities, scales = _paths(Beta(1.0, 1.0), [Cauchy(1.0).scaled(f) for f in _FACTORS])[0]
    np.testing.assert_allclose(densities.values[densities.core][[0, -1]], [0.2, 0.8])
    np.testing.assert_allclose(scales.values[scales.core][[0, -1]], [0.5, 2.0])


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_other_runs_are_as_long_as_the_fit(answers, monkeypatch):
    """Not until good."""
    est = SpikeSlabMRF(method="exact", n_draws=50, n_chains=2, random_state=3, **QUICK).fit(answers)

    def fit(self, X, **more):
        raise RuntimeError(f"{self.n_draws} draws")

    monkeypatch.setattr(SpikeSlabMRF, "fit", fit)
    with pytest.raises(RuntimeError, match=r"^50 draws"):
        est.set_params(n_draws=None).sensitivity(answers)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_other_estimators(answers):
    options = {"n_draws": 300, "n_chains": 2, "random_state": 3, **QUICK}
    groups = np.repeat(["g", "h"], 75)
    compared = CompareMRF(**options).fit(answers, groups)
    shares = compared.sensitivity(answers, groups)
    assert set(shares["prior"]) == {"inclusion", "scale"}
    own = compared.posterior_["sensitivity"].dataset.isel(prior=np.flatnonzero(shares["value"] == 0.5)[0])
    u, v = compared.edges_.T
    np.testing.assert_allclose(own["inclusion"], compared.difference_inclusion_[u, v], atol=0.15)
    own = pd.DataFrame([("a", "b", 1.0), ("a", "c", 0.0), ("a", "d", 0.8), ("*", "*", 0.3)])
    paired = SpikeSlabMRF(prior=SpikeSlab(density=own, slab=Cauchy(1.0)), method="exact", **options).fit(answers)
    found = paired.sensitivity(answers)
    edges = paired.table("sensitivity-edges").set_index(["prior", "value", "first", "second"])
    at = edges.loc["scale", 1.0]
    assert len(at) == 5
    assert np.isnan(at.loc["a", "b"]["bayes_factor"])
    assert (found[SHARES].sum(axis=1) - 1).abs().max() < 1e-12
    p = at.loc["a", "d"]["inclusion"]
    assert at.loc["a", "d"]["bayes_factor"] == pytest.approx(p / (1 - p) / 4)
    assert edges.loc["inclusion", 0.1].loc["a", "d"]["inclusion"] < p
    grouped = GroupedMRF(candidates="complete", method="exact", **options).fit(answers)
    assert set(grouped.sensitivity(answers)["prior"]) == {"inclusion"}
    with pytest.raises(OptionError, match="may be absent"):
        BayesianMRF(**options).fit(answers).sensitivity(answers)
    with pytest.raises(DataError, match="data of the fit"):
        grouped.sensitivity(answers.iloc[:100])
