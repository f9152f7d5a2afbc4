"""Statements about networks, and structures, against sums over all structures and quadrature."""

import itertools
import pickle
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, graphs, load, save
from bayesmrf.answers.registry import table_of
from bayesmrf.answers.statements.compute import language_of, prior_draws
from bayesmrf.answers.statements.language import Language, edges_of, holds
from bayesmrf.answers.statements.probability import probability_of
from bayesmrf.errors import OptionError
from bayesmrf.estimators.prior_draws import EdgesPrior, draw_edges, draw_groups
from bayesmrf.priors import Beta, Blocks, Cauchy, Fixed, Gamma, Moment, Normal, SpikeSlab, inclusion_of
from tests.helpers.posterior_tree import structure_tree
from tests.oracle import blocks as blocks_oracle
from tests.oracle import spike_slab as oracle

Z = 5.2  # of a normal variable: two-sided, 2e-7 for each of the 30 comparisons here, 1e-5 together
TRIANGLE, PAIR = np.array([[0, 1], [0, 2], [1, 2]]), np.array([[0, 1], [1, 2]])
PRIOR = SpikeSlab(Beta(1.5, 2.0), Normal(0.8), bias_scale=2.0)
ROWS = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
TABLE = pd.DataFrame(np.tile(ROWS, (3, 1)), columns=["A", "B", "a long name"])
STATEMENTS = {
    "A--B > A--a long name": lambda w: w[:, 0] > w[:, 1],
    "A--B = 0": lambda w: w[:, 0] == 0,
    "B--A > 0": lambda w: w[:, 0] > 0,
    "A--B >= 0.5 & B--'a long name' != 0": lambda w: (w[:, 0] >= 0.5) & (w[:, 2] != 0),
    "A--B>0 & A--a long name=0 & B--a long name<0.3": lambda w: (w[:, 0] > 0) & (w[:, 1] == 0) & (w[:, 2] < 0.3),
}


def two_edges(graph):
    return graph.number_of_edges() == 2


@pytest.fixture(scope="module")
def est():
    run = {"n_draws": 4000, "n_warmup": 200, "n_chains": 2, "random_state": 0, "progress": False}
    return SpikeSlabMRF(prior=PRIOR, **run).fit(TABLE)


pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


def prior_by_enumeration(statement):
    """The prior probability on a grid of quantiles of the slab for each edge that a statement compares by size."""
    total = 0.0
    u = (np.arange(400) + 0.5) / 400
    a = stats.norm.ppf(u, scale=PRIOR.slab.scale)
    for there in itertools.product((0, 1), repeat=3):
        log_p = oracle.log_structure(there, PRIOR)
        grid = np.meshgrid(*[a[k::4] if y else np.zeros(1) for k, y in enumerate(there)], indexing="ij")
        w = np.stack([g.ravel() for g in grid], axis=1)
        total += np.exp(log_p) * STATEMENTS[statement](w).mean()
    return total


def test_probabilities_and_bayes_factors_are_those_of_enumeration(est, rng):
    model = est._model()

    def also(theta):
        w = theta[:, :3]
        return np.stack([*(f(w) for f in STATEMENTS.values()), (w != 0).sum(axis=1) == 2], axis=1)

    s_bar = model.statistics(TABLE.to_numpy(np.int8))
    truth, error = oracle.posterior(model.graph, s_bar, len(TABLE), PRIOR, rng, also=also)
    truth, error = truth[-len(STATEMENTS) - 1 :], error[-len(STATEMENTS) - 1 :]
    for name, p, e in zip([*STATEMENTS, two_edges], truth, error, strict=True):
        found = est.probability(name)
        assert abs(found.probability - p) < Z * np.hypot(found.error, e), name
        if name is two_edges:
            p0 = 3 * np.exp(oracle.log_structure((1, 1, 0), PRIOR))
            assert abs(found.prior - p0) < Z * found.prior_error
        else:
            p0 = prior_by_enumeration(name)
            assert abs(found.prior - p0) < Z * found.prior_error + 0.005  # of the grid
        factor = p / (1 - p) / (p0 / (1 - p0))
        assert abs(np.log10(found.bayes_factor / factor)) < Z * found.log10_bf_error + 0.02
        assert found.log10_bf_error < 0.1
    # The control: a statement and its complement are not taken for each other.
    other = est.probability("A--B != 0")
    assert abs(other.probability - truth[1]) > Z * other.error
    assert est.probability("A--B = 0").prior_error == 0  # exact
    assert other.bayes_factor == pytest.approx(1 / est.probability("A--B = 0").bayes_factor)


SLABS = {
    "normal": Normal(0.7),
    "cauchy": Cauchy(1.5),
    "gamma": Gamma(3.0, 2.0),
    "moment": Moment(0.6),
    "learnt": Cauchy(Gamma(3.0, 2.0)),
}
DENSITIES = {
    "fixed": 0.3,
    "beta": Beta(2.0, 3.0),
    "mixture": Blocks(concentration=1.5, rate=2.0, within=Beta(2.0, 1.0), between=Beta(1.0, 4.0)),
    "process": Blocks("process", 0.7, within=Beta(2.0, 1.0)),
}


@pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)
def test_structures_of_the_prior(density, rng):
    """Shares of the eight structures of 40,000 draws, and the exact probability that all edges are absent."""
    n, prior = 40_000, EdgesPrior(inclusion_of(density), Normal(1.0), TRIANGLE)
    there = draw_edges(prior, np.ones(3, int), n, rng)[:, 0] != 0
    for included in itertools.product((False, True), repeat=3):
        if isinstance(density, Blocks):
            p = np.exp(blocks_oracle.log_joint(included, TRIANGLE, density)[0]).sum()
        else:
            p = np.exp(oracle.log_structure(included, SpikeSlab(density)))
        assert abs((there == included).all(axis=1).mean() - p) < Z * np.sqrt(p * (1 - p) / n)
        if not any(included) and not isinstance(density, Blocks):
            assert prior.all_absent == pytest.approx(p)
    share = there[:, 1].mean()
    assert abs(1 - share - prior._replace(ends=TRIANGLE[:1]).all_absent) < Z * np.sqrt(share * (1 - share) / n)
    independent = np.prod(np.where([True, True, False], there.mean(axis=0), 1 - there.mean(axis=0)))
    if density != 0.3:  # the control: edges depend on each other
        assert abs((there == [True, True, False]).all(axis=1).mean() - independent) > Z * np.sqrt(0.1 / n)


@pytest.mark.parametrize("slab", SLABS.values(), ids=SLABS)
def test_weights_of_the_prior(slab, rng):
    """Shares below quantiles of the density of the oracle, on a fine grid, of 40,000 draws."""
    n = 40_000
    w = draw_edges(EdgesPrior(Fixed(1.0), slab, PAIR), np.ones(2, int), n, rng)[:, 0, 1]
    at = np.sinh(np.linspace(-9, 9, 20_000)) / 20  # without 0
    density = np.exp(oracle.log_weights_prior(at[:, None], SpikeSlab(slab=slab)))
    cumulated = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(at)))
    assert cumulated[-1] == pytest.approx(1, abs=2e-3)  # a learnt scale has heavier tails
    for q in (0.1, 0.4, 0.5, 0.8):
        share = (w < np.interp(q * cumulated[-1], cumulated, at)).mean()
        assert abs(share - q) < Z * np.sqrt(q * (1 - q) / n) + 1e-3
    assert abs((w < np.interp(0.8, cumulated, at) * 2).mean() - 0.8) > 0.01  # the control


def test_draws_of_the_prior_of_groups(rng):
    """Differences of any two groups have the scale of the slab, and are 0 together."""
    n, prior, baseline = 40_000, EdgesPrior(Fixed(0.4), Normal(0.5), PAIR), EdgesPrior(Fixed(0.7), Normal(2.0), PAIR)
    w = draw_groups(prior, baseline, 3, np.ones(2, int), n, rng)
    for a, b in itertools.combinations(range(3), 2):
        difference = w[:, b, 0] - w[:, a, 0]
        differs = np.abs(difference) > 1e-12
        assert abs(differs.mean() - 0.4) < Z * np.sqrt(0.24 / n)
        variance = (difference[differs] ** 2).mean()
        assert abs(variance / 0.25 - 1) < Z * np.sqrt(2 / differs.sum())
    assert abs((w[:, 1, 1] == 0).mean() - 0.6 * 0.3) < Z * np.sqrt(0.18 * 0.82 / n)
    mean = w.mean(axis=1)[:, 0]
    assert abs((mean[mean != 0] ** 2).mean()) > 1


def test_probabilities_of_single_edges(rng):
    density = [("a", "b", 0.9), ("a", "c", 0.2), ("b", "c", 1.0)]
    run = {"n_draws": 100, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 3}
    X = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=list("abc"))
    est = SpikeSlabMRF(prior=SpikeSlab(density, Normal(1.0)), **run).fit(X)
    assert est.probability("a--b = 0").prior == pytest.approx(0.1)
    assert est.probability("a--b > a--c").prior == pytest.approx((1 - 0.1 * 0.8) / 2)
    both = est.probability("a--b > 0 & a--c = 0 & b--c != 0")
    assert (both.prior, both.prior_error) == (pytest.approx(0.45 * 0.8), 0)
    assert np.isnan(est.probability("b--c = 0").bayes_factor)  # it is forced


def test_groups_of_people(rng):
    X = rng.integers(0, 2, (120, 3))
    est = CompareMRF(prior=SpikeSlab(0.5, Cauchy(1.0)), n_draws=300, n_warmup=50, n_chains=2, random_state=1,
                     progress=False).fit(pd.DataFrame(X, columns=list("abc")), np.repeat(["g", "h h"], 60))  # fmt: skip
    theta = est.posterior_["posterior"]["theta"].values.reshape(600, 2, -1)
    found = est.probability("a--b [g] > a--b [h h]")
    assert found.probability == pytest.approx((theta[:, 0, 0] > theta[:, 1, 0]).mean())
    assert (found.prior, found.prior_error) == (0.25, 0)
    same = est.probability("a--b [g] = a--b [h h]")
    assert (same.prior, same.prior_error) == (0.5, 0)
    included = est.posterior_["posterior"]["included"].values.reshape(600, -1)
    assert same.probability == pytest.approx(1 - included[:, 0].mean())
    graph = est.probability(lambda g, h: g["a"]["b"]["weight"] > h["a"]["b"]["weight"], n_prior=100)
    assert graph.probability == found.probability
    with pytest.raises(OptionError, match=r"with their group of people, got 'a--b > 0'; .* groups are 'g', 'h h'"):
        est.probability("a--b > 0")
    structures = est.table("structures")
    assert structures["probability"].iloc[0] == max(Counter(map(tuple, included)).values()) / 600


MATRIX = np.array([[0, 0.2, 0.9], [0.2, 0, 0.5], [0.9, 0.5, 0]])
PRIORS_OF_GROUPS = {
    "fixed": (SpikeSlab(0.3, Cauchy(1.0)), "slab", 0.7),
    "Beta": (SpikeSlab(Beta(2, 6), Normal(1.0)), SpikeSlab(0.4, Gamma(2, 2)), 0.75),
    "matrix": (SpikeSlab(MATRIX, Cauchy(1.0)), SpikeSlab(Beta(1, 2), Normal(2.0)), 0.8),
}
OF_GROUPS = (
    "{0} [g] = {0} [h]", "{0} [g] != {0} [h]", "{0} [g] > {0} [h]", "{0} [h] <= {0} [g]", "{0} [g] = {1} [h]",
    "{0} [g] >= {1} [h]", "{0} [g] < {1} [g]", "{0} [g] = 0", "0 < {0} [h]", "{0} [g] != 0 & {1} [h] >= 0",
    "{0} [g] = 0 & {1} [g] = 0 & {2} [h] != 0", "{0} [g] > 0 & {0} [h] > 0", "{0} [g] > 0.5",
)  # fmt: skip
SIMULATED = {"{0} [g] > 0 & {0} [h] > 0", "{0} [g] > 0.5"}


def simulated(est, statement, rng, n=40_000):
    """The share of draws of the prior in which a statement holds, and its standard error."""
    clauses = language_of(est._result).read(statement)
    edges = edges_of(clauses)
    held = np.concatenate([holds(clauses, w, edges) for w in prior_draws(est._result, edges, n, rng)])
    return held.mean(), np.sqrt(max(held.mean() * (1 - held.mean()), 1 / n) / n)


@pytest.mark.parametrize("name", PRIORS_OF_GROUPS)
@pytest.mark.parametrize("n_groups", [2, 3])
def test_prior_probabilities_of_statements_about_groups_are_exact(name, n_groups, rng):
    """They are those of draws from the prior, of all statements; Z of 78 comparisons here, 2e-5 together.

    Control: that of another edge.
    """
    prior, baseline, equal = PRIORS_OF_GROUPS[name]
    X = pd.DataFrame(rng.integers(0, 2, (90, 3)), columns=list("abc"))
    run = {"n_draws": 4, "n_warmup": 1, "n_chains": 1, "random_state": 1, "progress": False}
    est = CompareMRF(prior=prior, baseline=baseline, **run).fit(X, np.array(["g", "h", "i"])[np.arange(90) % n_groups])
    assert est.probability(OF_GROUPS[0].format("a--b")).prior == pytest.approx(equal)
    assert est.probability(OF_GROUPS[2].format("a--b")).prior == pytest.approx((1 - equal) / 2)
    for text in OF_GROUPS:
        statement = text.format("a--b", "a--c", "b--c")
        found, (p, error) = est.probability(statement, n_prior=2000), simulated(est, statement, rng)
        assert (found.prior_error > 0) == (text in SIMULATED), text
        assert abs(found.prior - p) < Z * np.hypot(error, found.prior_error), text
    if name == "matrix":
        p, error = simulated(est, OF_GROUPS[0].format("a--c"), rng)
        assert abs(equal - p) > Z * error


def test_an_edge_without_sign_is_compared_with_the_size_of_another(rng, tmp_path):
    """Strength on both sides, of one network and of groups; control: the signed weight gives another share."""
    a = rng.integers(0, 3, 160)
    X = pd.DataFrame({"a": pd.Categorical(a), "b": rng.integers(0, 2, 160), "c": rng.integers(0, 2, 160)})
    X["c"] = np.where(rng.random(160) < 0.4, 1 - X["b"], X["c"])  # the weight is negative
    run = {"n_draws": 200, "n_warmup": 50, "n_chains": 2, "progress": False, "random_state": 3, "model": "nominal"}
    est = SpikeSlabMRF(prior=SpikeSlab(0.4, Cauchy(1.0)), **run).fit(X)
    strength = est._model().strength(est.posterior_["posterior"]["theta"].values.reshape(400, -1))
    signed = est._model().shown(est.posterior_["posterior"]["theta"].values.reshape(400, -1))
    share = (strength[:, 0] > strength[:, 2]).mean()
    assert abs((signed[:, 0] > signed[:, 2]).mean() - share) > 0.1
    for statement in ("a--b > b--c", "b--c < a--b"):
        assert est.probability(statement).probability == pytest.approx(share)
    for statement, exact in (("a--b > b--c", False), ("a--b > a--c", True), ("a--b = b--c", True)):
        found, (p, error) = est.probability(statement, n_prior=40_000), simulated(est, statement, rng)
        assert (found.prior_error == 0) == exact
        assert abs(found.prior - p) < Z * np.hypot(error, found.prior_error), statement
    negative = est.probability("b--c < 0").probability
    assert negative == pytest.approx((signed[:, 2] < 0).mean())  # with 0 it has its sign
    run |= {"n_draws": 30, "n_warmup": 5}
    groups = CompareMRF(prior=SpikeSlab(0.3, Cauchy(1.0)), baseline=SpikeSlab(0.6), **run).fit(X, np.arange(160) % 2)
    theta = groups.posterior_["posterior"]["theta"].values.reshape(60, 2, -1)
    strength = groups._model().strength(theta)
    found = groups.probability("b--c [0] >= a--b [1]")
    assert found.probability == pytest.approx((strength[:, 0, 2] >= strength[:, 1, 0]).mean())
    for text in ("a--b [0] = a--b [1]", "a--b [0] > a--b [1]", "b--c [0] >= a--b [1]", "a--c [1] > a--b [1]"):
        found, (p, error) = groups.probability(text, n_prior=40_000), simulated(groups, text, rng)
        assert abs(found.prior - p) < Z * np.hypot(error, found.prior_error), text
    # Without a baseline, tables of two groups that differ are opposite: their strengths are equal.
    assert groups.probability("a--b [0] = a--b [1]").prior == pytest.approx(0.7 + 0.3 * 0.4)


def test_priors_that_are_not_known(rng):
    X = rng.integers(0, 2, (60, 4))
    quick = {"n_draws": 50, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 3}
    found = GroupedMRF(method="exact", **quick).fit(X).probability("0--1 > 0--2")
    assert np.isnan([found.prior, found.bayes_factor]).all()
    assert str(found).endswith("the prior probability is not known")
    est = BayesianMRF(**quick).fit(X)
    assert est.probability("0--1 > 0").prior == 0.5
    size = est.probability("0--1 > 1")
    assert abs(size.prior - stats.norm.sf(1)) < Z * size.prior_error
    assert np.isnan(est.probability("0--1 = 0").bayes_factor)  # all edges exist


def test_bounds():
    """A statement that holds in no draw, or in all, has a bound, as if one draw were another."""
    held = np.zeros((2, 500), bool)
    none, every = probability_of("s", held, 0.5), probability_of("s", ~held, 0.2)
    assert (none.bayes_factor, none.bound) == (pytest.approx(1 / 1000), "<")
    assert (every.bayes_factor, every.bound) == (pytest.approx(4000), ">")
    assert str(every).endswith("Bayes factor > 4,000")
    never = np.zeros(50, bool)
    assert probability_of("s", ~held, never).bound == ">"
    assert np.isnan(probability_of("s", held, never).bayes_factor)
    held[:, ::2] = True
    assert (probability_of("s", held, never).bound, probability_of("s", held, ~never).bound) == (">", "<")
    far = probability_of("s", held, 1e-6)
    assert (far.bayes_factor, far.bound) == (1e4, ">")


def test_categories_without_order_and_stored_runs(rng, tmp_path):
    a = rng.integers(0, 3, 150)
    b = np.where(rng.random(150) < 0.6, a, rng.integers(0, 3, 150))
    X = pd.DataFrame({"a": pd.Categorical(a), "b": pd.Categorical(b), "c": rng.integers(0, 2, 150)})
    prior = SpikeSlab(0.4, Cauchy(1.0))
    run = {"n_draws": 200, "n_warmup": 50, "n_chains": 2, "progress": False, "random_state": 3}
    est = SpikeSlabMRF(prior=prior, model="nominal", **run).fit(X)
    found = est.probability("a--b > a--c")
    strength = est._model().strength(est.posterior_["posterior"]["theta"].values.reshape(400, -1))
    assert found.probability == pytest.approx((strength[:, 0] > strength[:, 1]).mean())
    assert 0.4 * 0.6 + 0.16 / 2 - 0.06 < found.prior < 0.4 * 0.6 + 0.16 / 2 + 0.06  # four parameters, and two
    assert est.probability("a--b = 0").prior == 0.6
    with pytest.raises(OptionError, match="no sign"):
        est.probability("a--b < 0")
    save(est, tmp_path / "run")
    assert load(tmp_path / "run").probability("a--b > a--c") == found


# ---- the language

NAMES = ("A", "b c", "x-1", 'say "hi"', "1")
LANGUAGE = Language(graphs.from_edges([(0, 1), (1, 2), (0, 3), (3, 4), (2, 4)], NAMES), None, np.ones(5, bool))
REFUSED = {
    "A--b c is 0": "'b c is 0' is none of",
    "0": "edges, or comparisons of edges by",
    "A--b c >": "finite numbers on both sides",
    "": "finite numbers on both sides",
    "A--Z > 0": "about nodes of the data, .* 'Z' is none of 'A', 'b c'",
    "A--1 > 0": "about pairs that are candidates, .* 'A' and '1' are no candidate",
    "A--A > 0": "about pairs that are candidates",
    "A-b c > 0": "finite numbers on both sides",
    "A--b c > 0 &": "finite numbers on both sides",
    "A--b c > 0 and A--b c < 1": "'0 and A' is none of",
    "0 < A--b c < 1": "joined by &",
    "A--b c = 0.5": "with 0 or with another edge",
    "1 < 2": "with an edge on one side",
    "A--b c > nan": "finite numbers",
    "A--b c [g] > 0": "about edges without a group, .* one network",
    "'A--b c > 0": "finite numbers on both sides",
}


def test_an_edge_alone_stands_for_its_existence():
    assert LANGUAGE.read("A--b c") == LANGUAGE.read("A--b c != 0")
    assert LANGUAGE.read("A--b c & 1--x-1 = 0") == LANGUAGE.read("A--b c != 0 & 1--x-1 = 0")


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(text):
    with pytest.raises(OptionError, match=REFUSED[text]) as said:
        LANGUAGE.read(text)
    assert str(said.value).startswith("statement must be ")
    assert str(said.value).count("\n") == 0


def test_names_and_signs(rng):
    w = rng.normal(size=(50, 1, 5)) * (rng.random((50, 1, 5)) < 0.7)
    a = w[:, 0]
    for text, expected in {
        "A--b c>=-0.5": a[:, 0] >= -0.5,
        " 'b c' -- \"x-1\" == 0": a[:, 1] == 0,
        "x-1--b c <= A -- 'say \"hi\"'": a[:, 1] <= a[:, 2],
        "1--'say \"hi\"' != 1--x-1": a[:, 3] != a[:, 4],
        "0 < A--b c & 1e-1 > A--b c": (a[:, 0] > 0) & (a[:, 0] < 0.1),
    }.items():
        clauses = LANGUAGE.read(text)
        edges = edges_of(clauses)
        np.testing.assert_array_equal(holds(clauses, w[..., edges], edges), expected)


def test_tables_of_log_odds_have_no_sign():
    language = LANGUAGE._replace(signed=np.array([False, True, True, True, True]))
    for text in ("A--b c = 0", "A--b c != 0", "A--b c > b c--x-1", "A--b c > 0.5"):
        assert language.read(text)
    with pytest.raises(OptionError, match=r"by = 0 or != 0, .* no sign"):
        language.read("A--b c > 0")


def test_any_text_is_read_or_refused(rng):
    """Texts of the pieces of statements, and of any letters: never another error."""
    whole = ["A--b c", "b c--x-1", ">", "=", "&", "0", "-1e3"]
    pieces = ["A", "b c", "--", "-", "!", "[", "]", "'", '"', " ", "x-1", "<=", "é", "\n", "nan", *whole]
    said = []
    for some in (whole, pieces):
        for _ in range(2000):
            try:
                said.append(LANGUAGE.read("".join(rng.choice(some, rng.integers(0, 8)))))
            except OptionError as refused:
                said.append(str(refused))
    assert all(s.startswith("statement must be") for s in said if isinstance(s, str))
    assert sum(isinstance(s, list) for s in said) > 5  # of 2,000 texts of whole pieces, more than 20 are expected
    for clause in itertools.product(["A--b c", "3", "x-1 -- 'b c'"], [">", "=", "!="], ["0", "1--x-1"]):
        if clause[0] != "3":
            assert LANGUAGE.read(" ".join(clause))


# ---- structures


def test_structures_are_counted(rng):
    tree = structure_tree(rng, inclusion=np.full(10, 0.15), n_draws=200)
    there = tree["posterior"]["included"].values.reshape(400, 10).astype(bool)
    ends = tree["constant_data"]["edges"].values
    expected = Counter("; ".join(f"{'abcde'[u]}--{'abcde'[v]}" for u, v in ends[row]) for row in there)
    found = table_of(tree, "structures")
    assert (
        dict(zip(found.frame["edges"], (400 * found.frame["probability"]).round().astype(int), strict=True)) == expected
    )
    assert (found.frame["probability"].diff().dropna() <= 1e-12).all()
    assert found.frame["cumulative"].iloc[-1] == pytest.approx(1)
    few = next(k for k in range(1, 400) if sum(n for _, n in expected.most_common(k)) >= 360)
    assert f"400 draws visited {len(expected)} structures; {few} of them carry 90 %" in found.note
    numbers = table_of(tree, "n-edges").frame
    counts = Counter(there.sum(axis=1).tolist())
    assert dict(zip(numbers["n_edges"], (400 * numbers["probability"]).round().astype(int), strict=True)) == counts


def test_many_structures_say_that_none_is_known(rng):
    tree = structure_tree(rng, inclusion=np.full(10, 0.5))
    assert "were visited once" in table_of(tree, "structures").note
    assert "were visited once" not in table_of(structure_tree(rng, inclusion=[0.5, *[0] * 9]), "structures").note


def test_a_function_of_the_graph(est):
    found = est.probability(nx.is_connected)
    weights = est.posterior_["posterior"]["theta"].values[..., :3]
    assert found.statement == "is_connected"
    assert found.probability == pytest.approx(((weights != 0).sum(axis=-1) >= 2).mean())
    assert (
        est.probability("A--B > 0", n_prior=10, random_state=np.random.default_rng(1)).prior
        == est.probability("A--B > 0").prior
    )


def test_the_prior_is_that_of_the_fit(rng):
    """Whatever is set later, also after a run is copied; control: a fit under the other prior has another factor."""
    X = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["A", "B", "C"])
    quick = {"method": "exact", "n_draws": 200, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 1}
    est = SpikeSlabMRF(prior=SpikeSlab(density=0.5), **quick).fit(X)
    once = est.probability("A--B = 0"), est.sensitivity(X)
    other = SpikeSlab(density=0.01)
    copy = pickle.loads(pickle.dumps(est))
    assert copy._result.tree is copy.posterior_
    for later in (est, copy):
        later.set_params(prior=other)
        assert later._result.priors.of_edges.density == 0.5
        assert later.probability("A--B = 0") == once[0]
        pd.testing.assert_frame_equal(later.sensitivity(X), once[1])
    assert clone(est).prior.density == 0.01
    assert not clone(est).__sklearn_is_fitted__()
    assert once[0].prior == 0.5
    assert SpikeSlabMRF(prior=other, **quick).fit(X).probability("A--B = 0").prior == pytest.approx(0.99)
