"""`GroupedMRF` where nodes have many states, and the estimates from which it starts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from bayesmrf import GroupedMRF, families, graphs, results
from bayesmrf.engines import Elimination, Gibbs
from bayesmrf.errors import OptionError
from bayesmrf.graphs import Graph
from bayesmrf.learning.maximum_likelihood import maximum_likelihood
from bayesmrf.learning.persistent_ascent import persistent_ascent, potential_mode
from bayesmrf.models import Potts, Symmetric
from bayesmrf.priors import Beta, DirichletProcess, MultivariateNormal, Normal
from bayesmrf.results.summary import GroupedSummary
from tests.helpers.commands import one_sentence
from tests.statistical.test_grouped_states import ENGINE, drawn

GRID = graphs.grid(2, 3)
SHORT = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False}
EDGES = [(f"n{u}", f"n{v}") for u, v in GRID.edges]


def base(given):
    return DirichletProcess(base=given)


def table(model, theta, n, rng):
    states = ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng)
    return pd.DataFrame(np.array(["low", "mid", "top"], object)[states], columns=[f"n{i}" for i in range(6)])


def problem(name, fields, rng, n=400):
    model = (Potts if name == "potts" else Symmetric)(GRID, 3, fields)
    # Two groups whose potentials are opposite and none near 0: others may rightly be one group to the posterior.
    first = rng.uniform(0.5, 1.2, model.n_parameters) * rng.choice([-1.0, 1.0], model.n_parameters)
    edge = np.array([first, -first])[np.arange(GRID.n_edges) % 2].ravel()
    theta = np.append(edge, rng.normal(0, 0.4, model.n_features - len(edge)))
    return model, theta, table(model, theta, n, rng)


@pytest.mark.parametrize("method", ["exact", "particle"])
@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("name", ["potts", "symmetric"])
def test_fit(name, fields, method, rng):
    model, theta, X = problem(name, fields, rng)
    levels = pd.CategoricalDtype(["low", "mid", "top"], ordered=True)
    est = GroupedMRF(EDGES, method=method, model=name, fields=fields, random_state=1, **SHORT).fit(X.astype(levels))
    posterior, attrs = est.posterior_["posterior"], est.posterior_.attrs
    named = type(model)(Graph(6, GRID.edges, tuple(X.columns)), 3, fields, state_names=[levels.categories] * 6)
    assert list(posterior["feature"].values) == named.feature_names
    assert posterior["theta"].shape == (2, 30, model.n_features)
    assert posterior["groups"].shape == posterior["agreement"].shape == (2, 30, GRID.n_edges)
    assert est.agreement_.shape == est.mle_.shape == est.groups_.shape == (GRID.n_edges,)
    assert est.theta_.shape == (model.n_features,)
    # Each row is likelier than under independent uniform states.
    assert est.score(X.astype(levels)) > -6 * np.log(3)
    assert set(est.sample(20, 1).ravel()) <= {"low", "mid", "top"}
    assert (attrs["model"], attrs["method"]) == (name, method)
    assert attrs["kind"] == ("exact" if method == "exact" else "approximate (moments from particles)")
    # The truth is not likelier than the estimate, but by what a second group costs: 5 / 2 log(400) = 15 nats, and
    # 10 for bad luck, at odds of exp(-10). Than the groups exchanged it is.
    codes = X.astype(levels).apply(lambda column: column.cat.codes).to_numpy()
    s_bar, exchanged = model.statistics(codes), theta.copy()
    exchanged[: GRID.n_edges * model.n_parameters] *= -1
    at_truth = fit(model, theta, s_bar, 400)
    assert at_truth - fit(model, est.theta_, s_bar, 400) < 25 < at_truth - fit(model, exchanged, s_bar, 400)
    truth = expit(theta[: GRID.n_edges]) if name == "potts" else model.agreement(theta)
    assert np.abs(est.agreement_ - truth).mean() < 0.15
    if name == "symmetric":
        assert est.potential_.shape == (GRID.n_edges, 3, 3)
        np.testing.assert_allclose(est.potential_, model.table(est.theta_))
    again = GroupedMRF(EDGES, method=method, model=name, fields=fields, random_state=1, **SHORT).fit(X.astype(levels))
    np.testing.assert_array_equal(again.posterior_["posterior"]["theta"], posterior["theta"])


def test_auto_takes_what_reaches(rng):
    _, _, X = problem("potts", False, rng)
    assert GroupedMRF(EDGES, model=families.Potts(3), **SHORT).fit(X).method_ == "exact"
    path = [(f"n{i}", f"n{i + 1}") for i in range(5)]  # a forest has no conjugate form here
    assert GroupedMRF(path, model="potts", **SHORT).fit(X).method_ == "exact"
    wide = pd.DataFrame(rng.integers(0, 4, (60, 24)))
    tiny = {"n_draws": 2, "n_warmup": 0, "n_chains": 1, "progress": False}
    est = GroupedMRF("complete", model="potts", fields=False, **tiny)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert est.fit(wide).method_ == "particle"


def test_checkpoint_goes_on(rng, tmp_path):
    _, _, X = problem("symmetric", True, rng)
    for method in ("exact", "particle"):
        run = {"model": "symmetric", "fields": True, "method": method, "random_state": 3, **SHORT}
        whole = GroupedMRF(EDGES, **run).fit(X).posterior_["posterior"]["theta"]
        path = tmp_path / method
        GroupedMRF(EDGES, **(run | {"n_draws": 12}), checkpoint=path).fit(X)
        est = GroupedMRF(EDGES, **run, checkpoint=path).fit(X)
        np.testing.assert_array_equal(est.posterior_["posterior"]["theta"], whole)
        results.finish(est.posterior_, path)
        assert results.load(path)["posterior"]["theta"].shape == whole.shape


def test_base_of_tables(rng):
    _, _, X = problem("symmetric", True, rng, n=30)
    tight = GroupedMRF(EDGES, model="symmetric", fields=True, prior=base(Normal(0.01)), **SHORT).fit(X)
    assert np.abs(tight.potential_).max() < 0.05
    matrix = GroupedMRF(
        EDGES, model="symmetric", fields=True, prior=base(MultivariateNormal(1e-4 * np.eye(3))), **SHORT
    ).fit(X)
    assert np.abs(matrix.potential_).max() < 0.05
    each = GroupedMRF(EDGES, model="symmetric", fields=True, prior=base(Normal((0.01, 2.0, 2.0))), **SHORT).fit(X)
    assert np.abs(each.potential_[:, 1, 1]).max() < 0.05 < np.abs(each.potential_).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "ising"}, "model must be .*, got 'ising'"),
        ({"model": "potts", "method": "tree"}, "method must be 'exact' or 'particle' for model='potts', got 'tree'"),
        ({"model": "potts", "prior": base(Normal())}, "prior.base must be a Beta distribution .*, got Normal"),
        ({"model": "symmetric", "prior": base(Beta(2.0, 1.0))}, "prior.base must be Normal or .*, got Beta"),
        (
            {"model": "symmetric", "fields": False, "prior": base(Normal(np.ones(4)))},
            "4 .* one for all or one for each of 5|base must be .*",
        ),
        (
            {"model": "potts", "graph": "learn:4"},
            "graph must be edges or 'complete' for data with 3 states, got 'learn:4'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options, message, rng):
    X = pd.DataFrame(rng.integers(0, 3, (20, 6)))
    with pytest.raises(OptionError, match=message):
        GroupedMRF(**({"graph": "complete"} | options), **SHORT).fit(X)


def test_agreement_of_a_table(rng):
    model = Symmetric(GRID, 3)
    f, j, w = rng.normal(size=3), rng.normal(size=GRID.n_edges), rng.normal()
    tables = j[:, None, None] * np.eye(3) + f[:, None] + f + w
    tables -= tables[:, :1, :1]
    theta = np.array([[t[k, y] for k, y in model.pairs] for t in tables]).ravel()
    np.testing.assert_allclose(model.agreement(theta), expit(j))
    np.testing.assert_allclose(model.table(theta), tables, atol=1e-14)


def fit(model, theta, s_bar, n):
    """Log likelihood."""
    return n * (theta @ s_bar - ENGINE.infer(model, theta, ENGINE.prepare(model)).log_z)


def test_estimates_of_both_ways_agree(rng):
    """The top of the likelihood, and of the posterior, by elimination and by persistent chains."""
    potts, n = Potts(GRID, 3), 500
    s_bar = drawn(potts, rng.normal(0, 0.5, potts.n_features), n, rng)
    exact = maximum_likelihood(potts, s_bar, n, ENGINE, rng)
    np.testing.assert_allclose(ENGINE.infer(potts, exact.theta, ENGINE.prepare(potts)).moments, s_bar, atol=1e-5)
    chains = maximum_likelihood(potts, s_bar, n, Gibbs(), rng)
    assert (exact.method, chains.method) == ("exact", "persistent")
    # In nats: a state that is rare leaves directions in which the likelihood is flat.
    assert fit(potts, exact.theta, s_bar, n) - fit(potts, chains.theta, s_bar, n) < 0.5
    assert fit(potts, exact.theta, s_bar, n) - fit(potts, 1.3 * exact.theta, s_bar, n) > 0.5
    symmetric, base = Symmetric(GRID, 3, True), np.diag([1.0, 2.0, 0.5])
    s_bar = drawn(symmetric, rng.normal(0, 0.5, symmetric.n_features), n, rng)
    mode = potential_mode(symmetric, s_bar, n, ENGINE, rng, base)
    held = np.concatenate([(mode[:21].reshape(7, 3) @ base).ravel(), 0.01 * mode[21:]])
    moments = ENGINE.infer(symmetric, mode, ENGINE.prepare(symmetric)).moments
    np.testing.assert_allclose(n * (s_bar - moments), held, atol=1e-3)
    found = potential_mode(symmetric, s_bar, n, Gibbs(), rng, base)
    change = found - mode
    prior = held @ change  # the posterior is flat where the likelihood is, as the prior is wide
    assert fit(symmetric, mode, s_bar, n) - fit(symmetric, found, s_bar, n) + prior < 0.5
    box = np.full(symmetric.n_features, 0.2)
    assert np.abs(persistent_ascent(symmetric, s_bar, n, rng, 0 * box, box)).max() < 0.2 + 1e-9


def test_closed_form_on_a_forest(rng):
    model, n = Potts(graphs.path(4), 3, fields=False), 200
    s_bar = drawn(model, np.array([1.0, -0.5, 0.3]), n, rng)
    found = maximum_likelihood(model, s_bar, n, Elimination(), rng)
    assert found.method == "closed form"
    np.testing.assert_allclose(ENGINE.infer(model, found.theta, ENGINE.prepare(model)).moments, s_bar, atol=1e-12)


def test_command_and_page_of_tables_with_grouped_fields(rng, bayesmrf, folder):
    _, _, X = problem("symmetric", True, rng)
    X.to_csv("answers.csv", index=False)
    short = ["--n-draws", 20, "--n-warmup", 5, "--n-chains", 2, "--seed", 1]
    code, out, err = bayesmrf(
        "groups", "answers.csv", "--graph", "complete", "--model", "symmetric", "--field-groups", *short
    )
    assert (code, err) == (0, "")
    assert "relative to all pairs with low" in " ".join(out.split())
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "n0=mid" in (folder / "answers_run.html").read_text()


@pytest.mark.parametrize("name", ["potts", "symmetric"])
def test_command_and_page(name, rng, bayesmrf, folder):
    _, _, X = problem(name, True, rng)
    X.to_csv("answers.csv", index=False)
    pd.DataFrame(EDGES).to_csv("edges.csv", index=False, header=False)
    short = ["--n-draws", 30, "--n-warmup", 10, "--n-chains", 2, "--seed", 1]
    given = ["groups", "answers.csv", "--graph", "edges.csv", "--model", name, "--fields", *short]
    code, out, err = bayesmrf(*given)
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "400 observations of 6 nodes with 3 states, 7 edges, with node fields" in said
    assert ("Log potentials of the groups" in said) == (name == "symmetric")
    assert ("mid, top" in said) == (name == "symmetric")
    assert bayesmrf("report", "answers_run")[0] == 0
    page = (folder / "answers_run.html").read_text()
    assert ("relative to all pairs with low, which have log potential 0" in page) == (name == "symmetric")
    assert "n0=mid" in page
    assert "is its log odds against low" in page


def test_summary_of_tables(rng):
    _, _, X = problem("symmetric", False, rng)
    est = GroupedMRF(EDGES, model="symmetric", fields=False, **SHORT).fit(X)
    summary = GroupedSummary(est.posterior_)
    groups = np.zeros(GRID.n_edges, int)
    groups[3] = 1
    found = summary.potential_table(groups).set_index(["group", "entry"])
    assert len(found) == 10
    assert found.loc[(2, "mid, top"), "potential"] == pytest.approx(est.potential_[3, 1, 2])
    assert found.loc[(1, "low, top"), "potential"] == pytest.approx(est.potential_[groups == 0, 0, 2].mean())
    assert (found["lower"] <= found["potential"]).all()
    np.testing.assert_allclose(summary.edge_table["mle"], est.mle_)
    assert len(summary.field_table) == 0
    assert summary.reference_sentence.endswith("relative to the pair low, low, which has log potential 0.")


def test_summary_of_tables_and_grouped_fields(rng):
    _, _, X = problem("symmetric", True, rng)
    summary = GroupedSummary(GroupedMRF(EDGES, model="symmetric", fields="grouped", **SHORT).fit(X).posterior_)
    assert summary.entries == ["mid, mid", "mid, top", "top, top"]
    np.testing.assert_allclose(summary.agreement_at(summary.stacked("theta")), summary.stacked("agreement"))
    assert list(summary.field_table["node"]) == [f"n{i}={level}" for i in range(6) for level in ("mid", "top")]
    assert len(summary.field_group_table) == 2 * summary.field_table["group"].max()


def test_tables_of_edges_that_exist(rng):
    _, _, X = problem("symmetric", True, rng, n=60)
    summary = GroupedSummary(GroupedMRF(candidates=EDGES, model="symmetric", **SHORT).fit(X).posterior_)
    groups = np.array([0, 0, 0, -1, 1, 1, -1])
    theta, there = summary.stacked("theta")[:, :21].reshape(-1, 7, 3), summary.stacked("included") != 0
    assert not there[:, groups >= 0].all()
    found = summary.potential_table(groups)
    for g in (0, 1):
        own = [
            t[i & (groups == g)].mean(axis=0) for t, i in zip(theta, there, strict=True) if (i & (groups == g)).any()
        ]
        part = found[found["group"] == g + 1]
        np.testing.assert_allclose(part["potential"], np.mean(own, axis=0))
        np.testing.assert_allclose(part[["lower", "upper"]].T, np.quantile(own, [0.05, 0.95], axis=0))


def test_scale_without_tables_is_refused(bayesmrf, votes):
    given = bayesmrf("groups", "votes.csv", "--graph", "complete", "--prior-scale", 2)
    one_sentence(given, "--prior-scale must be omitted without --model ordinal or symmetric, got 2.0")
