"""Convergence: every scalar that is reported is judged, chains that never moved are found, and `fit` warns."""

import re
import time
import warnings
from typing import NamedTuple

import arviz_stats
import numpy as np
import pytest
import xarray as xr

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, graphs, results
from bayesmrf.errors import ConvergenceWarning, OptionError
from bayesmrf.methods import Custom
from bayesmrf.models import Agreement, Boltzmann, Symmetric
from bayesmrf.priors import SpikeSlab
from bayesmrf.results import convergence, marks
from bayesmrf.results.rank_diagnostics import rank_diagnostics
from bayesmrf.results.summary import summarise
from bayesmrf.results.until_good import shortfall
from bayesmrf.runs.run import Draws
from tests.helpers.flat import bayesian, label_field

NODES = ("a", "b", "c", "d")
GRAPH = graphs.complete(4, NODES)
N_CHAINS, N_DRAWS = 4, 1000


def autoregressive(rng, phi, shape):
    """Series along axis 1 with the autocorrelation ``phi``, standard normal."""
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * x[:, t]
    return x


def made_up(values, model, dims, **attrs):
    """The tree of draws that nobody sampled."""
    n_chains = next(iter(values.values())).shape[0]
    draws = Draws(values, dims, "metropolis", 0, 1, tuple(range(n_chains)), True, 1.0, {"entropy": 1})
    tree = results.to_datatree(draws, model, attrs=attrs, observed={"n_samples": 100})
    tree.attrs["kernel"] = attrs.get("kernel", "metropolis")
    return tree


def parameters(rng, n_chains=N_CHAINS, n_draws=N_DRAWS, acceptance=None):
    model = Boltzmann(GRAPH)
    values = {"theta": rng.normal(size=(n_chains, n_draws, model.n_features))}
    dims = {"theta": ("feature",)}
    if acceptance is not None:
        values["acceptance"] = np.broadcast_to(acceptance[:, None], (n_chains, n_draws)).copy()
        dims["acceptance"] = ()
    return made_up(values, model, dims)


def edges_come_and_go(rng, inclusion):
    """Independent draws, weights 0 where an edge is absent."""
    model, shape = Boltzmann(GRAPH), (N_CHAINS, N_DRAWS)
    included = rng.random((*shape, 6)) < inclusion
    theta = rng.normal(size=(*shape, 10))
    theta[..., :6] *= included
    values = {
        "theta": theta,
        "included": included,
        "density": rng.random(shape),
        "slab_scale": rng.gamma(2, size=shape),
    }
    return made_up(
        values,
        model,
        {"theta": ("feature",), "included": ("edge",), "density": (), "slab_scale": ()},
        kernel="spike_slab",
    )


def groups_of_edges(rng):
    model, shape = Agreement(GRAPH, fields=True), (N_CHAINS, N_DRAWS)
    theta = rng.normal(size=(*shape, 10))
    groups = rng.integers(3, size=(*shape, 6)).astype(np.int32)
    values = {"theta": theta, "groups": groups, "n_groups": groups.max(axis=2) + 1}
    return made_up(values, model, {"theta": ("feature",), "groups": ("edge",), "n_groups": ()}, kernel="grouped_exact")


# ---- the numbers


@pytest.mark.parametrize("shape", [(4, 200), (3, 60), (1, 100), (2, 12)])
@pytest.mark.parametrize(
    "kind", ["independent", "slow", "antithetic", "ties", "two values", "rare", "apart", "wide tails", "scales"]
)
def test_numbers_are_those_of_arviz(rng, shape, kind):
    phi = {"slow": 0.9, "antithetic": -0.6, "ties": 0.7, "two values": 0.5, "rare": 0.5}.get(kind, 0)
    x = autoregressive(rng, phi, (*shape, 9))
    x = {
        "ties": np.round(x),
        "two values": (x > 0) * 1.0,
        "rare": (x > 1.5) * 1.0,
        "apart": x + np.arange(shape[0])[:, None, None],
        "wide tails": np.sinh(3 * x),
        "scales": x * (1 + np.arange(shape[0]))[:, None, None],
    }.get(kind, x)
    found = rank_diagnostics(x)
    apart = []
    for i in range(9):
        series = xr.DataArray(x[:, :, i], dims=["chain", "draw"])
        if np.ptp(x[:, :, i]) == 0:
            assert np.isnan([f[i] for f in found]).all()
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            r_hat = float(arviz_stats.rhat(series)) if shape[0] > 1 else np.nan
            bulk = float(arviz_stats.ess(series))
            tail = float(arviz_stats.ess(series, method="tail", prob=(0.05, 0.95)))
        if np.isfinite(r_hat):
            np.testing.assert_allclose(found.r_hat[i], r_hat, rtol=1e-8)
        apart.append([found.ess_bulk[i] / bulk - 1, found.ess_tail[i] / tail - 1])
    # In short series a sum of two autocorrelations may be 0 but for rounding, on which then the sums go on or end.
    assert (np.median(np.abs(apart), axis=0) < 1e-3).all()


def test_the_folded_draws_find_chains_that_differ_in_scale(rng):
    """The plain split R-hat does not."""
    x = rng.normal(size=(4, 500, 1)) * np.array([1, 1, 1, 3.0])[:, None, None]
    halves = x[..., 0].reshape(8, 250)
    plain = np.sqrt(249 / 250 + halves.mean(axis=1).var(ddof=1) / halves.var(axis=1, ddof=1).mean())
    assert plain < 1.02
    assert rank_diagnostics(x).r_hat[0] > 1.05


def test_a_block_is_as_its_columns(rng):
    x = autoregressive(rng, 0.5, (3, 70, 500))
    x[:, :, 7] = 2
    whole = rank_diagnostics(x)
    for i in (0, 7, 250, 499):
        np.testing.assert_allclose([f[0] for f in rank_diagnostics(x[:, :, [i]])], [f[i] for f in whole], rtol=1e-4)


def test_thousands_of_edges_take_seconds(rng):
    x = rng.normal(size=(4, 250, 4851))
    rank_diagnostics(x[:, :, :10])
    start = time.process_time()
    rank_diagnostics(x)
    assert time.process_time() - start < 5  # 0.6 s on an idle core


# ---- what is judged


def test_all_weights_biases_and_inclusions_are_judged(rng):
    tree = edges_come_and_go(rng, [0.5, 0.95, 1.0, 0.3, 0.01, 0.0])
    assert convergence.verdict(tree).grade in ("good", "fair")
    rows = set(results.diagnostics(tree, None).index)
    edges, doubt = tree["posterior"]["edge"].values, (0, 3)
    assert rows == {
        "density", "slab_scale", "n_edges",
        *(f"included[{edges[i]}]" for i in doubt),
        *(f"theta[{edges[i]}]" for i in range(4)),
        *(f"theta[{node}]" for node in NODES),
    }  # fmt: skip


@pytest.mark.parametrize("feature", [0, 2, 8])
def test_a_bias_or_weight_that_does_not_mix_is_found_where_edges_come_and_go(rng, feature):
    """A weight is judged by the draws in which its edge exists; the inclusions are as they should be."""
    tree = edges_come_and_go(rng, [0.6, 0.95, 1.0, 0.3, 0.01, 0.0])
    theta = tree["posterior"]["theta"].values
    theta[1, :, feature] += 0.8 * (theta[1, :, feature] != 0)
    found = convergence.verdict(tree)
    name = f"theta[{tree['posterior']['feature'].values[feature]}]"
    assert found.grade == "bad"
    assert name in found.sentence
    assert results.diagnostics(tree, 1).index[3] == name


def test_an_edge_that_one_of_many_chains_never_has_is_found(rng):
    """Its share of all draws is above that of an uncertain edge, and without it the chain has no weight to judge."""
    tree = edges_come_and_go(rng, [1.0] * 6)
    tree = tree.map_over_datasets(lambda d: d.isel(chain=np.arange(16) % 4) if "chain" in d.dims else d)
    included = tree["posterior"]["included"].values.copy()
    included[3, :, 1] = 0
    tree["posterior"]["included"].values = included
    assert convergence.verdict(tree).grade == "bad"
    assert results.diagnostics(tree, None).loc["included[a-c]", "r_hat"] == np.inf


@pytest.mark.parametrize("feature", [1, 7])
def test_fields_and_agreements_of_groups_are_judged(rng, feature):
    tree = groups_of_edges(rng)
    assert convergence.verdict(tree).grade == "good"
    tree["posterior"]["theta"].values[2, :, feature] += 1
    tree["posterior"]["agreement"].values[2] = 1 / (1 + np.exp(-tree["posterior"]["theta"].values[2, :, :6]))
    name = "agreement[a-c]" if feature == 1 else "theta[b]"
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert name in found.sentence


@pytest.mark.parametrize("fields", [True, False])
def test_tables_of_edges_that_come_and_go_are_judged_where_they_exist(rng, fields):
    """Each entry of a table goes with its own edge; an edge that one chain never has is no chain that never moved."""
    model, shape = Symmetric(GRAPH, 3, fields), (N_CHAINS, N_DRAWS)
    included = rng.random((*shape, 6)) < [0.6, 0.95, 1.0, 0.3, 0.003, 0.0]
    included[0, :, 4] = False
    theta = rng.normal(size=(*shape, model.n_features))
    theta[..., : 6 * model.n_parameters] *= np.repeat(included, model.n_parameters, axis=2)
    values = {"theta": theta, "groups": np.where(included, 0, -1), "density": rng.random(shape)}
    values |= {"n_groups": rng.integers(1, 3, shape), "agreement": model.agreement(theta)}
    dims = {"theta": ("feature",), "groups": ("edge",), "agreement": ("edge",), "density": (), "n_groups": ()}
    tree = made_up(values, model, dims)
    tree.attrs |= {"model": "symmetric", "fields": fields}
    assert convergence.verdict(tree).grade == "good"
    judged = results.diagnostics(tree, None).index
    own = [f"theta[{f}]" for f in model.feature_names]
    likely = [f for f in own if f.split("=")[0] not in ("theta[b-d", "theta[c-d")]
    assert [f for f in own if f in judged] == likely
    for edge, is_named in ((3, False), (0, True)):  # with inclusions of 0.3, whose weight tables mark, and 0.6
        feature = edge * model.n_parameters + 1
        tree["posterior"]["theta"].values[1, :, feature] += 0.8 * included[1, :, edge]
        assert (own[feature] in convergence.verdict(tree).sentence) == is_named
        found = marks.few_draws(convergence.of_edges(tree, None), included.mean(axis=(0, 1)), 4)
        assert found.tolist() == [is_named, False, False, True, True, False]


def test_a_baseline_that_one_chain_never_has_is_no_chain_that_never_moved(rng):
    X, groups = rng.integers(0, 2, (4000, 5)), np.arange(4000) % 2
    X[:, 1] = np.where(rng.random(4000) < 0.1, X[:, 0], X[:, 1])
    prior = SpikeSlab(density=0.02)
    for seed in range(10):
        est = CompareMRF(prior=prior, baseline=prior, n_draws=400, random_state=seed, progress=False).fit(X, groups)
        theta = est.posterior_["posterior"]["theta"].values
        absent = (theta[..., :10] == 0).all(axis=(1, 2))
        if (absent.any(axis=0) & ~absent.all(axis=0)).any():
            break
    assert (absent.any(axis=0) & ~absent.all(axis=0)).any()
    assert convergence.verdict(est.posterior_).grade != "bad"
    theta[1, :, 0, 0] += 3 * theta[1, :, 0, 0].std()
    est.posterior_["posterior"]["theta"].values = theta
    assert "theta[0-1 in 0]" in convergence.verdict(est.posterior_).sentence


@pytest.mark.parametrize("kind", ["included[3]", "exists[3-4]"])
def test_differences_of_biases_and_edges_of_groups_are_judged(rng, kind):
    """Whether they are there depends on the chain; the weights and biases themselves do not show it."""
    X, groups = rng.integers(0, 2, (200, 5)), np.arange(200) % 2
    est = CompareMRF(baseline="spike-slab", biases="spike-slab", n_draws=200, random_state=1, progress=False)
    tree = est.fit(X, groups).posterior_
    names, theta = list(tree["posterior"]["feature"].values), tree["posterior"]["theta"].values
    j = names.index(kind.split("[")[1][:-1])
    assert kind in convergence.diagnostics(tree, None).index
    assert convergence.verdict(tree).grade != "bad"
    noise, there = 1e-6 * rng.standard_normal(theta.shape[:3]), np.arange(200) % 10 < np.array([[2], [8], [2], [8]])
    theta[..., j] = 1e-6 + noise * there[..., None] if kind.startswith("included") else noise * there[..., None]
    tree["posterior"]["theta"].values = theta
    assert f"{kind} has R-hat" in convergence.verdict(tree).sentence


# ---- the verdict


def test_good_fair_and_bad(rng):
    tree = parameters(rng)
    good = convergence.verdict(tree)
    assert good.grade == "good"
    assert good.sentence.startswith("Converged: largest R-hat 1.00")
    shape = tree["posterior"]["theta"].shape
    tree["posterior"]["theta"].values[:] = autoregressive(rng, 0.85, shape)  # some 320 effective draws
    fair = convergence.verdict(tree)
    assert fair.grade == "fair"
    assert fair.sentence.startswith("Posterior means have converged (largest R-hat 1.0")
    assert "Other quantities are still noisy: " in fair.sentence
    assert ", recommended 400." in fair.sentence
    tree["posterior"]["theta"].values[:] = autoregressive(rng, 0.99, shape)  # some 20
    bad = convergence.verdict(tree)
    assert bad.grade == "bad"
    assert bad.sentence.startswith("Not converged: theta[")
    assert "times as many draws, a longer warm-up or another step" in bad.sentence
    assert summarise(tree).verdict == bad


def test_almost_equal_nodes_need_a_smaller_r_hat(rng):
    """Edges between them move slowly: R-hat of 1.03 went with inclusions that were wrong by 0.08."""
    tree = parameters(rng)
    tree["posterior"]["theta"] = tree["posterior"]["theta"] + 0.25 * (np.arange(N_CHAINS) % 2)[:, None, None]
    assert convergence.verdict(tree).grade == "fair"
    tree.attrs["camp"] = "a, b, c, d"
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert "Nodes that are almost equal to three others (a, b, c, d) need R-hat of 1.01 at most" in found.sentence


def test_one_chain_cannot_show_convergence(rng):
    found = convergence.verdict(parameters(rng, n_chains=1))
    assert found.grade == "fair"
    assert "One chain cannot show convergence" in found.sentence
    tree = parameters(rng, n_chains=1)
    tree["posterior"]["theta"].values[:] = autoregressive(rng, 0.999, tree["posterior"]["theta"].shape)
    assert convergence.verdict(tree).grade == "bad"


def test_too_few_draws_are_not_judged(rng):
    sentence = "Not judged: convergence needs 4 draws of a chain at least, there are 3; use more."
    found = convergence.verdict(parameters(rng, n_draws=3))
    assert (found.grade, found.sentence) == ("bad", sentence)
    with pytest.warns(ConvergenceWarning, match=sentence):
        convergence.warn_unless_converged(parameters(rng, n_draws=3))
    assert convergence.verdict(parameters(rng, n_draws=4)).sentence != sentence


def test_chains_that_never_moved_are_bad(rng):
    """Frozen at one value, all chains agree; by R-hat they are as good as can be."""
    tree = parameters(rng, acceptance=np.array([0.3, 0.2, 0.0, 0.4]))
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert found.sentence.startswith("Not converged: chain 2 never moved (acceptance 0); use a shorter step")
    tree = parameters(rng, acceptance=np.zeros(4))
    tree["posterior"]["theta"].values[:] = 0.0
    assert "chains 0, 1, 2 and 3 never moved (acceptance 0)" in convergence.verdict(tree).sentence
    # without an acceptance, and with what a linear map leaves of equal numbers
    tree = parameters(rng)
    tree["posterior"]["theta"].values[:] = 3.3 * (1 + 1e-15 * rng.normal(size=(4, 1000, 10)))
    assert "never moved (its draws are all equal)" in convergence.verdict(tree).sentence


def test_a_parameter_that_never_moved_in_a_chain_is_bad(rng):
    """In every chain alike it was given, or estimated once."""
    tree = parameters(rng)
    tree["posterior"]["theta"].values[:, :, 4] = 0.7
    assert convergence.verdict(tree).grade == "good"
    tree = parameters(rng)
    tree["posterior"]["theta"].values[1, :, 4] = 0.7
    assert convergence.verdict(tree).sentence.startswith("Not converged: theta[b-d] in chain 1 never moved")


def test_a_rare_acceptance_gets_a_sentence(rng):
    found = convergence.verdict(parameters(rng, acceptance=np.array([0.3, 0.2, 0.004, 0.4])))
    assert found.grade == "good"
    assert found.sentence.endswith("Only 0.4% of the proposals of a chain are accepted: use a shorter step.")
    assert "accepted" not in convergence.verdict(parameters(rng, acceptance=np.full(4, 0.02))).sentence


# ---- fit warns


def table(rng, n=60, p=3):
    x = rng.integers(0, 2, (n, p))
    x[0], x[1] = 0, 1
    return x


TINY = {"n_draws": 12, "n_warmup": 0, "n_chains": 2, "random_state": 0, "progress": False}
ESTIMATORS = {
    "BayesianMRF": lambda: bayesian(kernel="metropolis", step_size=0.001, **TINY),
    "GroupedMRF": lambda: GroupedMRF(method="exact", **TINY),
    "SpikeSlabMRF": lambda: SpikeSlabMRF(method="exact", **TINY),
    "LabelFieldMRF": lambda: label_field(step_size=0.001, **TINY),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_warns(rng, name):
    estimator = ESTIMATORS[name]()
    data = (rng.normal(size=(12, 2)), np.arange(12) % 2) if name == "LabelFieldMRF" else (table(rng),)
    with pytest.warns(ConvergenceWarning, match="Not converged: .* draws; use "):
        estimator.fit(*data)


def test_fit_does_not_warn_of_chains_that_converged(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        est = GroupedMRF(method="exact", n_draws=400, progress=False).fit(table(rng, 200))
    assert convergence.verdict(est.posterior_).grade != "bad"


def test_the_verdict_of_a_small_fit_takes_no_time(rng):
    tree = parameters(rng)
    convergence.verdict(tree)
    start = time.process_time()
    convergence.verdict(tree)
    assert time.process_time() - start < 0.5  # 0.02 s on an idle core


def test_the_command_says_it_once(bayesmrf, votes):
    options = ["--kernel", "metropolis", "--step-size", 0.001, "--n-draws", 8, "--n-warmup", 0]
    code, out, err = bayesmrf("posterior", "votes.csv", *options, "--seed", 1)
    assert code == 0
    assert " ".join(out.split()).count("Not converged: ") == 1
    assert "Not converged" not in err
    code, out, err = bayesmrf("posterior", "votes.csv", *options, "--quiet", "--out", "b_run")
    assert code == 0
    assert not out
    assert err.count("Not converged: ") == 1


@pytest.mark.filterwarnings("ignore:columns '0' and '1' of X determine each other")
def test_two_equal_columns_are_not_called_converged():
    """The density mixes there; the biases, far out, do not."""
    draw = np.random.default_rng([5, 3000, 2])
    X = np.repeat((draw.random(3000) < 0.5)[:, None], 2, axis=1).astype(int)
    with pytest.warns(ConvergenceWarning, match=r"^Not converged: theta\["):
        est = SpikeSlabMRF(n_draws=300, random_state=0, progress=False).fit(X)
    assert convergence.diagnostics(est.posterior_).loc["density", "r_hat"] < 1.05


# ---- draws that no sampler makes


def edges(rng):
    return edges_come_and_go(rng, np.array([0.5, 0.5, 0.02, 1.0, 0.3, 0.9]))


PLANTED = {
    "nan": (parameters, "theta", (2, 17, 3), np.nan, r"theta\[b-c\] is nan and must be finite, in draw 17 of chain 2"),
    "inf": (parameters, "theta", (0, 0, 9), -np.inf, r"theta\[d\] is -inf and must be finite, in draw 0 of chain 0\."),
    "nan of an edge": (edges, "theta", (3, slice(7, 10), 0), np.nan, r"theta\[a-b\] is nan .* 3 and in 2 more draws\."),
    "nan of p0": (edges, "density", (1, 5), np.nan, "density is nan and must be from 0 to 1, in draw 5"),
    "p0": (edges, "density", (1, 5), 1.5, "density is 1.5 and must be from 0 to 1, in draw 5 of chain 1"),
    "indicator": (edges, "included", (0, 2, 1), 2.0, r"included\[a-c\] is 2 and must be from 0 to 1, in draw 2"),
    "scale": (edges, "slab_scale", (0, 999), -1.0, "slab_scale is -1 and must be 0 or more, in draw 999 of chain 0"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("is_stored", [False, True])
def test_numbers_that_no_sampler_draws_are_bad(kind, is_stored, rng, tmp_path):
    """Wherever it is judged; control: the same run without them is good or fair."""
    make, name, at, value, words = PLANTED[kind]
    tree = make(rng)
    shape = tree["posterior"]["theta"].shape[:2]
    for own in {"density", "slab_scale"} - set(tree["posterior"].data_vars):
        tree["posterior"][own] = xr.DataArray(rng.uniform(0.1, 0.9, shape), dims=("chain", "draw"))
    if name == "included":
        tree["posterior"]["included"] = tree["posterior"]["included"].astype(float)
    assert convergence.verdict(tree).grade in ("good", "fair")
    tree["posterior"][name].values[at] = value
    if is_stored:
        results.save(tree, tmp_path / "run")
        tree = results.load(tmp_path / "run")
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert re.search(f"^Invalid draws: {words}", found.sentence), found.sentence
    with pytest.warns(ConvergenceWarning, match="Invalid draws"):
        assert not convergence.warn_unless_converged(tree)
    assert shortfall(tree).startswith("Invalid draws")


@pytest.mark.parametrize("make", [parameters, edges])
def test_a_chain_that_is_a_copy_of_another_is_bad(make, rng):
    """Control: chains that have all but a draw in common are no copies."""
    tree = make(rng)
    assert convergence.verdict(tree).grade in ("good", "fair")
    theta = tree["posterior"]["theta"].values
    theta[2] = theta[0]
    if make is edges:
        tree["posterior"]["included"].values[2] = tree["posterior"]["included"].values[0]
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert found.sentence.startswith("Copied chains: chain 2 is a copy of chain 0. Copies agree whether")
    theta[3] = theta[0]
    assert "chain 2 is a copy of chain 0, chain 3 is a copy of chain 0." in convergence.verdict(tree).sentence
    theta[2:] = rng.normal(size=theta[2:].shape)
    theta[2, 1:] = theta[0, 1:]
    assert "Copied" not in convergence.verdict(tree).sentence


def test_what_may_be_equal_in_chains_is_no_copy(rng):
    """Which edges exist, in all draws; a parameter that was given; chains of two states."""
    tree = edges_come_and_go(rng, np.ones(6))
    tree["posterior"]["theta"].values[..., 7] = 0.3
    assert convergence.verdict(tree).grade == "good"
    two_states = parameters(rng, n_draws=8)
    two_states["posterior"]["theta"].values[:] = (np.arange(8) % 2)[None, :, None] + 0.5
    assert "Copied" not in convergence.verdict(two_states).sentence


class Drawn(NamedTuple):
    theta: np.ndarray


class Broken:
    """A kernel of independent draws, of which some are NaN."""

    name, needs, particle_sweeps = "broken", frozenset(), 0
    dims = {"theta": ("feature",)}  # noqa: RUF012

    def __init__(self, share):
        self.share = share

    def init(self, rng):
        return Drawn(np.zeros(6))

    def step(self, rng, state):
        theta = rng.standard_normal(6)
        theta[4] = np.nan if rng.random() < self.share else theta[4]
        return Drawn(theta), Drawn(theta)


def test_fit_warns_of_draws_that_are_no_numbers(rng):
    X = rng.integers(0, 2, (50, 3))
    with pytest.warns(
        ConvergenceWarning, match=r"Invalid draws: theta\[1\] is nan .* in draw \d+ of chain \d and in \d+ more draw"
    ):
        est = BayesianMRF(
            kernel=Custom(lambda *_: Broken(0.1)), n_draws=150, n_warmup=1, n_chains=2, random_state=1, progress=False
        ).fit(X)
    with pytest.raises(OptionError, match=r"must have finite draws, .* Invalid draws: "):
        est.table("parameters")
