"""Columns without order in the estimators: known truths, and numbers that do not depend on names or order of levels."""

import itertools
import logging
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from bayesmrf import BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, families, log_evidence, priors
from bayesmrf.errors import BoundaryWarning, DataError, LevelsWarning, OptionError
from bayesmrf.models import Potts
from tests.oracle.bounds import Comparison

TINY = {"n_draws": 20, "n_warmup": 20, "n_chains": 1, "progress": False, "random_state": 1}
QUIET = {"progress": False, "random_state": 1}


@pytest.fixture
def people(rng):
    """300 people: yes/no, two columns without order of three and four levels, and an ordered one of three."""
    mood = rng.normal(size=(300, 1))
    cut = np.digitize(mood + rng.normal(size=(300, 3)), [-0.7, 0.6])
    region = np.array(["north", "south", "east", "west"])[np.where(rng.random(300) < 0.3, 3, cut[:, 0])]
    return pd.DataFrame({
        "owner": rng.integers(0, 2, 300),
        "region": pd.Categorical(region),
        "party": pd.Categorical(np.array(["red", "blue", "green"])[cut[:, 1]]),
        "happy": pd.Categorical(cut[:, 2], ordered=True),
    })  # fmt: skip


def renamed(people):
    """The same answers: levels without order have other names, in another order."""
    names = {"north": "c", "south": "a", "east": "d", "west": "b"} | {"red": "x", "blue": "z", "green": "y"}
    found = people.copy()
    for c in ("region", "party"):
        new = people[c].astype(str).map(names)
        found[c] = pd.Categorical(new, sorted(set(new), reverse=True))
    return found


def test_names_and_order_of_levels_change_no_number(people):
    """Of the estimate, its density, its predictions and the evidence."""
    found = []
    for X in (people, renamed(people)):
        est = MaximumLikelihoodMRF().fit(X)
        assert est.model_ == "nominal"
        region = est.predict_conditional(X[:20], ["region"])
        levels = list(X["region"].cat.categories)
        actual = region[np.arange(20), [levels.index(v) for v in X["region"][:20]]]
        evidence = log_evidence(BayesianMRF(), X, **QUIET).log_evidence
        strength = est._model().strength(est.theta_)
        found.append(np.concatenate([est.score_samples(X[:20]), actual, [evidence], strength]))
        assert abs(log_evidence(BayesianMRF(prior=priors.Normal(2.0)), X, **QUIET).log_evidence - evidence) > 0.1
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_a_prior_on_coordinates_would_change_them(people):
    """So that the test above can fail: scales that differ between the contrasts of an edge."""
    thetas = [MaximumLikelihoodMRF().fit(X).theta_ for X in (people, renamed(people))]
    scale = np.geomspace(1, 30, len(thetas[0]))
    assert (thetas[0] ** 2).sum() == pytest.approx((thetas[1] ** 2).sum(), rel=1e-5)
    assert np.abs(thetas[0] ** 2 - thetas[1] ** 2).max() > 0.01  # what such a prior weighs differently
    with pytest.raises(OptionError, match=r"prior must be of 25 scales, which are equal within an edge or node"):
        BayesianMRF(prior=priors.Normal(scale), **TINY).fit(people)


def test_two_levels_are_a_yes_no_node(rng):
    """The same likelihood, whose log odds ratio is the parameter and has the same prior."""
    X = pd.DataFrame(rng.integers(0, 2, (80, 3)), columns=list("abc"))
    X.loc[:40, "b"] = X.loc[:40, "a"]
    words = X.apply(lambda column: pd.Categorical(np.array(["no", "yes"])[column]))
    yes_no, nominal = MaximumLikelihoodMRF(model="boltzmann").fit(X), MaximumLikelihoodMRF(model="nominal").fit(words)
    np.testing.assert_allclose(nominal.theta_[:3], yes_no.theta_[:3], atol=1e-5)
    assert nominal.score(words) == pytest.approx(yes_no.score(X), abs=1e-9)


def test_the_edges_of_a_known_table(rng):
    """Six columns of a joint distribution without triples, as a table of counts: its edges and log odds are found."""
    sizes, edges = (3, 2, 4, 3, 2, 3), [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)]
    states = np.array(list(itertools.product(*map(range, sizes))))
    tables = {e: rng.normal(size=(sizes[e[0]], sizes[e[1]])) for e in edges}
    log_p = sum(table[states[:, u], states[:, v]] for (u, v), table in tables.items())
    log_p += sum(rng.normal(size=m)[states[:, i]] for i, m in enumerate(sizes))
    counts = 1e7 * np.exp(log_p) / np.exp(log_p).sum()
    words = pd.DataFrame({f"c{i}": np.array(list("qwer"))[states[:, i]] for i in range(6)})
    est = MaximumLikelihoodMRF(model="nominal").fit(words, sample_weight=np.rint(counts).astype(int))
    model = est._model()
    found = dict(zip(map(tuple, est.edges_.tolist()), model.strength(est.theta_), strict=True))
    strong, weak = [found[e] for e in edges], [v for e, v in found.items() if e not in edges]
    assert max(weak) < 0.05 < 0.3 < min(strong)
    order = [list("qwer"[:m]) for m in sizes]
    for (u, v), table in tables.items():
        log_odds = model.table(est.theta_)[list(found).index((u, v))]
        rows, columns = ([sorted(order[i]).index(level) for level in order[i]] for i in (u, v))
        centred = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
        np.testing.assert_allclose(log_odds[np.ix_(rows, columns)], centred, atol=0.05)


def test_the_posterior_with_missing_answers(rng):
    """Against weighted draws from a normal density, in coordinates of their own: centred tables of free entries."""
    X = rng.integers(0, [3, 2, 3], (40, 3)).astype(float)
    X[:20, 1] = X[:20, 0] > 0
    X[20:30, 2] = X[20:30, 0]
    X[rng.random(X.shape) < 0.15] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    states = np.array(list(itertools.product(range(3), range(2), range(3))))
    fits = np.array([((states == x) | np.isnan(x)).all(axis=1) for x in X])
    c3 = np.eye(3) - 1 / 3

    def parts(z):
        # a: nominal, b: yes/no, c: ordered; priors of the issue: sd s of tables, s sqrt(2) where a score is an end
        ab, ac, bc, a, b, c = np.split(z, [3, 6, 7, 10, 11])
        return (c3 @ ab) / np.sqrt(2), (c3 @ ac) / np.sqrt(2), bc[0], (c3 @ a) / np.sqrt(2), b[0], np.append(0, c)

    def log_posterior(z):
        ab, ac, bc, a, b, c = parts(z)
        x, y, w = states.T
        log_p = ab[x] * y + ac[x] * w + bc * y * w + a[x] + b * y + c[w]
        top = log_p.max()
        p = np.exp(log_p - top)
        return np.log(fits @ p).sum() - len(X) * np.log(p.sum()) - z @ z / 2

    mode = minimize(lambda z: -log_posterior(z), np.zeros(13), method="BFGS")
    root = np.linalg.cholesky(mode.hess_inv + 0.02 * np.eye(13))
    u = rng.standard_t(8, (20_000, 13))
    z = mode.x + u @ root.T
    log_weight = np.array([log_posterior(row) for row in z]) + 4.5 * np.log1p(u**2 / 8).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 2000
    truth = np.array([np.concatenate([p[0] - p[0][:1], p[1] - p[1][:1], [p[2]]]) for p in map(parts, z)])
    mean = weight @ truth
    error = np.sqrt(weight**2 @ (truth - mean) ** 2)

    names = ["a", "b", "c"]
    table = pd.DataFrame(X, columns=names)
    table["a"] = pd.Categorical(table["a"].map({0: "p", 1: "q", 2: "r"}), ["r", "p", "q"])
    est = BayesianMRF(n_draws=400, n_warmup=300, n_chains=4, **QUIET).fit(table)
    assert est.kernel_ == "hamiltonian"
    model, theta = est._model(), est.posterior_["posterior"]["theta"].values
    tables = model.table(theta)[..., [1, 2, 0], :]  # p, q, r
    ab, ac = (np.moveaxis(tables, -3, 0)[i] for i in range(2))
    ab, ac = ab[..., 1] - ab[..., 0], ac[..., 1] - ac[..., 0]
    found = np.concatenate([ab - ab[..., :1], ac - ac[..., :1], theta[..., 4:5]], axis=-1)
    free = [1, 2, 4, 5, 6]
    assert Comparison().means(found[..., free], mean[free], error=error[free]).holds
    assert not Comparison().means(found[..., free[::-1]], mean[free], error=error[free]).holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": priors.Cauchy(1.0)}, r"prior must be priors.Normal or priors.WeightsAndBiases for columns without"),
        ({"prior": priors.LogisticBeta()}, r"prior must be priors.Normal or .*; any other density depends on"),
        ({"kernel": "gibbs"}, "kernel must be 'hamiltonian', 'metropolis', .* for edges with a table of parameters"),
        ({"kernel": "pseudo-posterior"}, "kernel must be .* for nodes with more than two states"),
        ({"engine": "bethe"}, "engine must be an engine for the model 'nominal'"),
        ({"ties": "edges"}, "ties must be None, or labels of ordered and yes/no columns and of their edges"),
        ({"ties": "all"}, "ties must be None, or labels of ordered and yes/no columns .*no counterparts"),
        ({"ties": {"party": 1, "region": 1}}, "ties must be None, or labels of ordered and yes/no columns"),
        ({"graph": "learn:3"}, "graph must be edges or 'complete' for columns without order"),
    ],
    ids=lambda v: "-".join(map(str, v.values())) if isinstance(v, dict) else "",
)  # fmt: skip
def test_what_depends_on_the_order_of_levels_is_refused(people, options, message):
    with pytest.raises(OptionError, match=message):
        BayesianMRF(**options, **TINY).fit(people)
    if set(options) == {"ties"}:
        with pytest.raises(OptionError, match=message):
            MaximumLikelihoodMRF(**options).fit(people)


def test_what_does_not_depend_on_it_is_taken(people):
    """Scales of edges and nodes, ties of what has an order, and any prior without columns of several contrasts."""
    BayesianMRF(prior=priors.WeightsAndBiases(1.0, 3.0), **TINY).fit(people)
    more = people.assign(calm=pd.Categorical(np.roll(people["happy"], 3), ordered=True))
    ties = {"owner-happy": "o", "owner-calm": "o", "happy": "x", "calm": "x"}
    est = MaximumLikelihoodMRF(ties=ties).fit(more)
    weight = {(u, v): w for u, v, w in est.graph_.edges(data="weight")}
    assert weight["owner", "happy"] == weight["owner", "calm"]
    assert list(est.graph_.nodes["happy"]["bias"]) == list(est.graph_.nodes["calm"]["bias"])
    BayesianMRF(model="nominal", prior=priors.Cauchy(1.0), **TINY).fit(people[["owner", "happy"]])
    with pytest.raises(OptionError, match=r"priors.Normal or priors.WeightsAndBiases for columns without order"):
        log_evidence(BayesianMRF(), people, prior=priors.LogisticBeta(), **QUIET)
    ranks = pd.DataFrame(np.indices((3, 3)).reshape(2, -1).T.repeat(10, axis=0), columns=["u", "v"])
    with pytest.raises(OptionError, match=r"priors.Normal or priors.WeightsAndBiases for columns without order"):
        BayesianMRF(model="potts", prior=priors.LogisticBeta()).check(ranks)
    agreement = families.Custom(lambda graph: Potts(graph, 3, False), 3)
    BayesianMRF(model=agreement, prior=priors.LogisticBeta()).check(ranks)  # no node has parameters
    with pytest.raises(OptionError, match="coding must be 'boltzmann' for columns without order"):
        log_evidence(BayesianMRF(), people, coding="ising", **QUIET)


def test_the_model_is_chosen_by_categories_without_order(people, caplog):
    X = people.assign(often=np.tile([0, 1, 2, 3], 75))
    with caplog.at_level(logging.INFO, "bayesmrf"):
        est = MaximumLikelihoodMRF().fit(X)
    assert "The model is nominal, as column 'region' has categories without order." in caplog.text
    assert est._coding.nominal == {1, 2}  # numbers have an order, as where "auto" is ordinal
    assert MaximumLikelihoodMRF(model="nominal").fit(X)._coding.nominal == {1, 2, 4}
    ordered = families.Nominal(numbers="ordered")
    np.testing.assert_array_equal(MaximumLikelihoodMRF(model=ordered).fit(X).theta_, est.theta_)
    assert MaximumLikelihoodMRF().fit(people[["owner", "happy"]]).model_ == "ordinal"
    assert log_evidence("independent", people, **QUIET).n_features == 1 + 3 + 2 + 2
    with pytest.raises(DataError, match="column 'id' looks like an identifier; drop columns"):
        MaximumLikelihoodMRF().fit(people.assign(id=np.arange(300)))
    words = people.assign(party=people["party"].astype(str))
    with pytest.raises(DataError, match="values without a natural order: 'party'"):
        MaximumLikelihoodMRF().fit(words)
    np.testing.assert_array_equal(
        MaximumLikelihoodMRF(model=ordered).fit(words).theta_, MaximumLikelihoodMRF().fit(people).theta_
    )
    with pytest.raises(DataError, match="'region' must have ordered categories"):
        GroupedMRF(**TINY).fit(people)


def test_a_level_that_never_occurs_stays_and_is_told_of(people):
    for name in ("aa", "zz"):  # wherever it stands
        X = people.assign(region=people["region"].cat.set_categories(sorted([*people["region"].cat.categories, name])))
        with pytest.warns(LevelsWarning, match=rf"'region' never occur \({name}\), so that the prior alone determines"):
            assert BayesianMRF(**TINY).fit(X)._model().sizes == (2, 5, 3, 3)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            MaximumLikelihoodMRF().fit(X)
        said = [str(w.message) for w in found if w.category is BoundaryWarning]
        assert f"infinite, as a state occurs never or always, and was bounded: region={name}" in said[-1]
