"""Differences between groups of people: the exact kernel against enumeration of all structures.

In most controls the draws are compared with the posterior of other data or under another prior.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bayesmrf import CompareMRF, graphs, support
from bayesmrf.engines import Elimination, Enumeration, Persistent
from bayesmrf.errors import DataError
from bayesmrf.likelihood import Hidden, Sample
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann, Ordinal, Potts
from bayesmrf.models.categorical import is_categorical
from bayesmrf.models.clamped_categorical import clamp
from bayesmrf.posterior.edges.differences import Differences, contrasts, group_likelihood
from bayesmrf.posterior.edges.group_chains import GroupChains
from bayesmrf.posterior.hidden_entries import DrawHiddenEntries
from bayesmrf.priors import Beta, Cauchy, LogisticBeta, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.long import few
from tests.oracle import groups as oracle
from tests.oracle.bounds import Comparison, assert_estimate, assert_other_estimate
from tests.unit.engines.test_registry import Distance

PRIOR = SpikeSlab(0.4, Cauchy(1.0), 1.5)
PATH = graphs.path(3)
N_CHAINS = 32
CHAINS = ReversibleJump(n_particles=512)


def rows(model, sizes, rng, share=0.0):
    """Observations of groups that differ in all edges and biases; a ``share`` is missing."""
    found = []
    for n in sizes:
        theta = np.concatenate([1.5 * rng.standard_normal(model.n_edges), rng.standard_normal(model.graph.n_nodes)])
        x = np.zeros((n, model.graph.n_nodes))
        while (np.nanmin(x, axis=0) == np.nanmax(x, axis=0)).any():  # a constant column has a warning of its own
            x = Enumeration().sample(model, theta, None, n, rng).astype(float)
            gone = rng.random(x.shape) < share
            x[gone & ~gone.all(axis=1, keepdims=True)] = np.nan  # a row without values would be left out
        found.append(x)
    return found


def kernel(model, data, prior=PRIOR, scale=1.0, baseline=None, biases="free", chains=False):
    samples = []
    for x in data:
        hidden = None
        if np.isnan(x).any():
            clamped = clamp(model, np.where(np.isnan(x), -1, x).astype(np.int8))
            hidden, s_bar = Hidden(clamped, Elimination()), clamped.seen_statistics()
        else:
            s_bar = model.statistics(x.astype(np.int8))
        samples.append(Sample(s_bar, len(x), hidden))
    contrast = scale * contrasts([len(x) for x in data])
    likelihood = group_likelihood(model, samples, contrast, Persistent(), biases)
    given = likelihood, contrast, prior, prior.slab if baseline is None else baseline, biases
    found = Differences(*given, 10) if not chains else GroupChains(*given, options=CHAINS)
    return found if all(s.hidden is None for s in samples) else DrawHiddenEntries(found, likelihood)


def exact(model, data, rng, prior=PRIOR, states=None, **options):
    if states is None:
        states = np.array(list(product([0, 1], repeat=model.graph.n_nodes)))
    groups = []
    for x in data:
        seen = (np.isnan(x)[:, None] | (x[:, None] == states)).all(axis=2).astype(float)
        groups.append((len(x), None, seen))
    return oracle.posterior(model.graph.edges, model.graph.n_nodes, groups, prior, rng, **options)


def draws_of(kernel, rng, n_draws=60, n_warmup=20):
    options = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": N_CHAINS, "progress": False}
    return run.sample(kernel, random_state=rng, **options).values


def compare(kernel, truth, rng, n_draws=60):
    return compared(draws_of(kernel, rng, n_draws), truth)


def compared(values, truth):
    (means, error), r = truth, values["included"].shape[2]
    found, least = Comparison().shares(values["included"], means[:r], error=error[:r]), np.zeros(len(means) - r)
    least[0] = r / values["n_edges"].size  # the number of differences may be the same in every draw
    return found.means(oracle.functionals(values), means[r:], error=error[r:], least=least)


def test_two_groups(rng):
    model = Boltzmann(PATH)
    data = rows(model, [25, 60], rng)
    truth, draws = exact(model, data, rng), draws_of(kernel(model, data), rng)
    found = compared(draws, truth)
    assert found.holds, found
    assert not compared(draws, exact(model, data, rng, shared=True)).holds
    assert not compared(draws, exact(model, data, rng, replace(PRIOR, density=Beta(9.0, 1.0)))).holds
    assert not compare(kernel(model, data, scale=8.0), truth, rng).holds
    other = replace(PRIOR, slab=Normal(0.1))
    assert not compare(kernel(model, data, other, baseline=Cauchy(1.0)), truth, rng).holds


def test_two_groups_by_chains(rng):
    """Yes/no answers of which some are missing, baselines and biases that may be absent; the rest of the moves."""
    model = Boltzmann(graphs.path(2))
    data = rows(model, [25, 60], rng, 0.2)
    options = {"always": False, "biases": "spike-slab"}
    draws = draws_of(kernel(model, data, baseline=PRIOR, biases="spike-slab", chains=True), rng, 40)
    found = compared(draws, exact(model, data, rng, **options))
    assert found.holds, found
    filled = [np.nan_to_num(x) for x in data]
    assert not compared(draws, exact(model, filled, rng, **options)).holds


@pytest.mark.parametrize("prior", [SpikeSlab(Beta(2.0, 1.0), Normal(0.8), 1.5), PRIOR], ids=["normal", "cauchy"])
def test_three_groups(prior, rng):
    """An edge that does or does not differ between any of them."""
    model = Boltzmann(graphs.path(2))
    data = rows(model, [20, 30, 60], rng)
    found = compare(kernel(model, data, prior), exact(model, data, rng, prior), rng)
    assert found.holds, found


def test_baselines_that_may_be_absent(rng):
    """Answers are independent, as the control needs data in which baselines are absent."""
    model = Boltzmann(PATH)
    data = [rng.integers(0, 2, (n, 3)).astype(float) for n in (40, 30)]
    draws = draws_of(kernel(model, data, baseline=PRIOR), rng)
    found = compared(draws, exact(model, data, rng, always=False))
    assert found.holds, found
    assert not compared(draws, exact(model, data, rng)).holds


def test_baselines_with_a_spike_have_the_slab_of_the_prior_and_a_density_of_their_own(rng):
    """Under Cauchy baselines of scale 1, the control, the weight is several times as large."""
    model, prior = Boltzmann(graphs.path(2)), SpikeSlab(0.5, Normal(0.2), 1.5)
    data = [Enumeration().sample(model, np.array([2.5, -1.0, -1.0]), None, n, rng) for n in (60, 25)]
    given = np.vstack(data), None, np.repeat([0, 1], [60, 25])
    truth = exact(model, data, rng, prior, always=False, spike=SpikeSlab(Beta(1.0, 1.0)))
    est = CompareMRF(prior=prior, baseline="spike-slab", model="boltzmann", progress=False)
    found = compare(est._prepare(*given)[2], truth, rng)
    assert found.holds, found
    assert not compare(est.set_params(baseline=SpikeSlab())._prepare(*given)[2], truth, rng).holds
    for name, slab in (("slab", prior.slab), ("spike-slab", replace(prior, density=Beta(1.0, 1.0)))):
        again = CompareMRF(prior=prior, baseline=name, model="boltzmann")
        assert str(again._object("baseline")) == str(slab)


@pytest.mark.parametrize("sizes", [(25, 60), (20, 30, 60)], ids=len)
def test_biases_that_may_differ_or_not(sizes, rng):
    model = Boltzmann(graphs.path(2))
    data = rows(model, sizes, rng)
    draws = draws_of(kernel(model, data, biases="spike-slab"), rng)
    found = compared(draws, exact(model, data, rng, biases="spike-slab"))
    assert found.holds, found
    theta = draws["theta"]
    assert 0 < (theta[..., 0, 1:] == theta[..., 1, 1:]).mean() < 1  # equal to the last bit, or different
    if len(sizes) == 2:
        assert not compared(draws, exact(model, data, rng)).holds


def test_missing_values(rng):
    model = Boltzmann(graphs.path(2))
    data = rows(model, [20, 40], rng, 0.2)
    draws = draws_of(kernel(model, data), rng)
    found = compared(draws, exact(model, data, rng))
    assert found.holds, found
    assert not compared(draws, exact(model, [np.nan_to_num(x) for x in data], rng)).holds


def pair_of(size, neutral, own):
    """A node with ``size`` categories and one with two, and the features of their states; of the first, ``own``."""
    x, y = np.array([(x, y) for x in range(size) for y in range(2)]).T
    features = np.stack([x * y, *own(x), y], axis=1).astype(float)
    return Ordinal(graphs.path(2), size, sizes=(size, 2), neutral=neutral), features


FREE = pair_of(3, None, lambda x: [x == 1, x == 2])
FORGOTTEN = FREE[0], FREE[1] * [1, 1, 0, 1]  # a threshold
AROUND_1 = pair_of(4, (1, None), lambda x: [x, (x - 1) ** 2 - 1])
AROUND_2 = pair_of(4, (2, None), lambda x: [x, (x - 2) ** 2 - 4])

X, Y = np.array(list(product(range(3), repeat=2))).T
ALIKE = Potts(graphs.path(2), 3), np.stack([X == Y, X == 1, X == 2, Y == 1, Y == 2], axis=1).astype(float)
APART = ALIKE[0], ALIKE[1] * [-1, 1, 1, 1, 1]

OWN = Distance(graphs.path(2)), np.array([[1, -1, -1], [-0.5, -1, 1], [-0.5, 1, -1], [1, 1, 1]])
FLATTER = OWN[0], OWN[1] * [1, 0.5, 1]


@pytest.mark.parametrize(
    ("right", "wrong", "biases", "prior"),
    [
        (FREE, FORGOTTEN, "free", PRIOR),
        (FREE, FORGOTTEN, "slab", replace(PRIOR, biases=LogisticBeta(0.5, 0.5))),  # as in bgmCompare
        (AROUND_1, AROUND_2, "free", PRIOR),
        (AROUND_1, AROUND_2, "spike-slab", PRIOR),
        (ALIKE, APART, "free", PRIOR),
        (OWN, FLATTER, "free", PRIOR),
        (OWN, FLATTER, "spike-slab", PRIOR),
    ],
    ids=["free", "slab", "neutral", "neutral-spiked", "potts", "own", "own-spiked"],
)
def test_other_features(right, wrong, biases, prior, rng):
    """Ordered answers by the exact sampler and by persistent chains, and a user's own model by the exact one."""
    model, features = right
    samples, groups, others = [], [], []
    for n in (25, 60):
        p = np.exp(0.5 * features @ rng.standard_normal(features.shape[1]))
        counts = rng.multinomial(n, p / p.sum())
        samples.append(Sample(counts @ features / n, n))
        groups.append((n, samples[-1].s_bar, None))
        others.append((n, counts @ wrong[1] / n, None))
    contrast, options = contrasts([25, 60]), {"biases": biases, "n_samples": 4000}
    truth = oracle.posterior(model.graph.edges, 2, groups, prior, rng, features=features, **options)
    given = group_likelihood(model, samples, contrast, Persistent(), biases), contrast, prior, prior.slab, biases
    by_chains = [GroupChains(*given, options=CHAINS)] if is_categorical(model) else []
    for of in (Differences(*given, 10), *by_chains):
        draws = draws_of(of, rng)
        found = compared(draws, truth)
        assert found.holds, found
    other = oracle.posterior(model.graph.edges, 2, others, prior, rng, features=wrong[1], **options)
    assert not compared(draws, other).holds


@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("name", ["ordinal", "potts"])
def test_answers_of_which_some_are_missing(name, chains, rng):
    """A fifth of the answers; taking them for the first category is noticed."""
    model, features = FREE if name == "ordinal" else ALIKE
    states, data = np.array([(x, y) for x in range(3) for y in range(2 if name == "ordinal" else 3)]), []
    for n, slope in ((30, 2.0), (60, -1.0)):
        p = np.exp(features[:, :4] @ [slope, 0.3, -0.5, 0.2])
        x = states[rng.choice(len(p), n, p=p / p.sum())].astype(float)
        gone = rng.random(x.shape) < 0.2
        x[gone & ~gone.all(axis=1, keepdims=True)] = np.nan  # a row without values would be left out
        data.append(x)
    draws = draws_of(kernel(model, data, chains=chains), rng, 40)
    assert (found := compared(draws, exact(model, data, rng, features=features, states=states))).holds, found
    filled = [np.nan_to_num(x) for x in data]
    assert not compared(draws, exact(model, filled, rng, features=features, states=states)).holds


@pytest.mark.parametrize(
    ("name", "level"), few([("ordinal", 0), ("potts", 2), ("ordinal", 2), ("potts", 0)], ("ordinal", 2), ("potts", 0))
)
def test_a_level_that_one_group_never_has(name, level, rng):
    """It stays, with its prior, with exact moments and by chains. Control: it is merged with its neighbour."""
    model, features = FREE if name == "ordinal" else ALIKE
    states, data = np.array([(x, y) for x in range(3) for y in range(2 if name == "ordinal" else 3)]), []
    for n, slope in ((60, 1.0), (90, -1.0)):
        p = np.exp(slope * features[:, 0]) * ((states[:, 0] != level) | (n == 90))
        data.append(states[rng.choice(len(p), n, p=p / p.sum())].astype(float))
    truth = exact(model, data, rng, features=features, states=states)
    merged = exact(model, [np.where(x == level, 1.0, x) for x in data], rng, features=features, states=states)
    for chains in (False, True):
        draws = draws_of(kernel(model, data, chains=chains), rng, n_warmup=400)  # from far away
        assert (found := compared(draws, truth)).holds, (chains, found)
        assert not compared(draws, merged).holds


@pytest.mark.parametrize("answer", few([0, 1], 0))
def test_a_yes_no_column_that_is_constant_in_one_group(answer, rng):
    """It stays, with its prior, with exact moments and by chains. Control: a group in which both answers are given."""
    model = Boltzmann(graphs.path(2))
    both, other = rows(model, (50, 80), rng)
    constant = both.copy()
    constant[:, 1] = answer
    truth, control = (exact(model, data, rng) for data in ([constant, other], [both, other]))
    for chains in (False, True):
        draws = draws_of(kernel(model, [constant, other], chains=chains), rng, n_warmup=20 + 180 * chains)
        assert (found := compared(draws, truth)).holds, (chains, found)
        assert not compared(draws, control).holds


@pytest.mark.parametrize("make", few([Ordinal, Potts], Potts))
def test_the_inclusion_by_chains_is_exact_where_a_group_never_has_a_level(make, rng):
    """On three nodes. Control: the first node is independent of the others in both groups."""
    model, n = make(graphs.complete(3), 3), 80
    data = [rng.integers(0, 3, (n, 3)) for _ in range(2)]
    data[0][:, 1] = np.where(rng.random(n) < 0.4, data[0][:, 0], data[0][:, 1])
    data[1][:, 0] %= 2
    included = {c: draws_of(kernel(model, data, chains=c), rng, 100, 20 + 180 * c)["included"] for c in (False, True)}
    by_chain = included[False].mean(axis=1)
    error = by_chain.std(axis=0, ddof=1) / np.sqrt(N_CHAINS)
    found = Comparison().shares(included[True], by_chain.mean(axis=0), error=error)
    assert found.holds, found
    other = [np.column_stack([rng.permutation(x[:, 0]), x[:, 1:]]) for x in data]
    others = draws_of(kernel(model, other, chains=True), rng, 100)["included"]
    assert not Comparison().shares(others, by_chain.mean(axis=0), error=error).holds


def test_all_cells_that_run_are_tested():
    """With both methods, by tests of this module: yes/no, ordered and unordered answers, all seen or not."""
    found = support().loc["CompareMRF"]
    assert {model for model, _ in found.index} == {"boltzmann", "potts", "ordinal", "nominal"}  # test_nominal_edges
    assert set(found.columns[found.isin(["exact", "approximate"]).any()]) == {"exact", "reversible-jump"}


def test_contrasts():
    np.testing.assert_array_equal(contrasts([10, 30]).round(12), [[-0.5], [0.5]])
    c = contrasts([5, 10, 40])
    np.testing.assert_allclose(c.T @ c, np.eye(2) / 2, atol=1e-12)
    np.testing.assert_allclose(c.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("biases", ["free", "slab"])
def test_logits_of_beta_variables(biases, rng):
    """A prior of biases, or of their baselines, which have differences in all groups."""
    model, prior = Boltzmann(graphs.path(2)), replace(PRIOR, biases=LogisticBeta(0.5, 3.0))
    data = rows(model, [10, 90], rng)  # baselines move with differences where groups are of different sizes
    truth, other = exact(model, data, rng, prior, biases=biases), exact(model, data, rng, biases=biases)
    for chains in (False, True):
        draws = draws_of(kernel(model, data, prior, biases=biases, chains=chains), rng)
        found = compared(draws, truth)
        assert found.holds, found
        assert not compared(draws, other).holds


def test_too_many_states():
    model = Boltzmann(graphs.path(24))
    samples = [Sample(np.full(model.n_features, 0.5), 10)] * 2
    likelihood = group_likelihood(model, samples, contrasts([10, 10]), Persistent())
    with pytest.raises(
        DataError,
        match=r"at most 8,388,608 joint .* got 16,777,216 of 24 columns; use method='reversible-jump'",
    ):
        Differences(likelihood, contrasts([10, 10]))


@pytest.mark.calibration
def test_calibration(rng):
    """Truths from the prior: means of indicators are probabilities, and ranks of weights are uniform."""
    model, prior, contrast = Boltzmann(graphs.complete(4)), SpikeSlab(0.5, Cauchy(1.0), 1.0), contrasts([150, 100])
    differs, share, ranks = [], [], []
    for _ in range(100):
        there = rng.random(6) < 0.5
        difference = there * rng.standard_cauchy(6)
        baseline, biases = rng.standard_cauchy(6), rng.standard_normal((2, 4))
        theta = np.column_stack([baseline + contrast * difference, biases])
        data = [
            Enumeration().sample(model, t, None, n, rng).astype(float) for t, n in zip(theta, (150, 100), strict=True)
        ]
        draws = run.sample(kernel(model, data, prior), n_draws=500, n_warmup=50, n_chains=1, random_state=rng,
                           progress=False).values  # fmt: skip
        differs.append(there)
        share.append(draws["included"][0].mean(axis=0))
        ranks.append((draws["theta"][0] < theta).mean(axis=0).ravel())
    differs, share, ranks = np.array(differs), np.array(share), np.array(ranks)
    for low, high in ((0, 1), (0, 0.3), (0.3, 0.6), (0.6, 1.01)):
        some = (share >= low) & (share < high)
        error = np.sqrt((share[some] * (1 - share[some])).sum() + 1)
        assert_estimate(differs[some].sum(), share[some].sum(), error)
    inside = ((ranks > 0.05) & (ranks < 0.95)).mean()
    print(f"{differs.mean():.3f} differ, {share.mean():.3f} expected; 90 % intervals hold {inside:.3f}")
    # As many as 800 independent ones: those of one data set are correlated.
    assert_estimate(inside, 0.9, np.sqrt(0.09 / 800))
    overconfident = 1 / (1 + np.exp(-3 * np.log((share + 1e-3) / (1 - share + 1e-3))))
    some = overconfident > 0.9
    error = np.sqrt((overconfident * (1 - overconfident))[some].sum())
    assert_other_estimate(differs[some].sum(), overconfident[some].sum(), error)
