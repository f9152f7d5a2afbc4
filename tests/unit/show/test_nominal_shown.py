"""What is shown of edges that have tables: their strengths and their log odds, in every kind of result."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesmrf import BayesianMRF, graphs, log_evidence, plots, results
from bayesmrf.answers.registry import names_of, table_of
from bayesmrf.errors import OptionError
from bayesmrf.models import Nominal
from bayesmrf.report import write_report
from bayesmrf.results.convergence import diagnostics
from bayesmrf.results.intervals import excluding_zero
from bayesmrf.results.summary import DifferenceSummary, ParameterSummary, StructureSummary
from bayesmrf.runs.run import Draws
from tests.helpers.commands import one_sentence
from tests.helpers.posterior_tree import parameter_tree, structure_tree

NAMES = ("sex", "region", "happy", "party")
SIZES, ORDERED = (2, 4, 3, 3), (True, False, True, False)
LEVELS = (("0", "1"), ("N", "S", "E", "W"), ("1", "2", "3"), ("r", "b", "g"))
GRAPH = graphs.complete(4, NAMES)


def model_on(graph):
    return Nominal(graph, 4, True, SIZES, ORDERED, state_names=LEVELS)


@pytest.fixture
def tree(rng):
    return parameter_tree(rng, GRAPH, model_on)


def log_odds_ratios(table):
    """Of all pairs of categories of both ends."""
    pairs = [itertools.combinations(range(n), 2) for n in table.shape]
    return np.array([
        table[a, c] - table[b, c] - table[a, d] + table[b, d] for (a, b), (c, d) in itertools.product(*pairs)
    ])  # fmt: skip


def test_edges_have_the_root_mean_square_of_their_log_odds_ratios(tree):
    model, theta = model_on(GRAPH), tree["posterior"]["theta"].values.reshape(100, -1)
    tables = np.array([model.table(draw) for draw in theta])
    frame = table_of(tree, "edges").frame.set_index(["first", "second"])
    of_table = [np.sqrt((log_odds_ratios(t[4]) ** 2).mean()) for t in tables[:, :, :, :3]]
    assert frame.loc[("region", "party"), "weight"] == pytest.approx(np.mean(of_table))
    low, high = np.quantile(of_table, [0.05, 0.95])
    assert list(frame.loc[("region", "party"), ["lower", "upper"]]) == pytest.approx([low, high])
    weight = [model.feature_names.index("sex-happy")]
    assert frame.loc[("sex", "happy"), "weight"] == pytest.approx(theta[:, weight].mean())  # with its sign
    strength = table_of(tree, "strength").frame.set_index("node")["strength"]
    ends = frame["weight"].abs().groupby("first").sum() + frame["weight"].abs().groupby("second").sum()
    assert strength["region"] == pytest.approx(ends["region"])


def test_nodes_have_log_weights_of_all_categories(tree):
    frame = table_of(tree, "nodes").frame.set_index("node")["mean"]
    theta = tree["posterior"]["theta"].values.reshape(100, -1).mean(axis=0)
    field = model_on(GRAPH).field_table(theta[model_on(GRAPH).edge_starts[-1] :])
    np.testing.assert_allclose(frame[[f"region={k}" for k in "NSEW"]], field[1])
    np.testing.assert_allclose(frame[["happy=2", "happy=3"]], field[2, 1:3])
    assert "happy=1" not in frame


def test_log_odds_are_those_of_the_table(tree):
    model, theta = model_on(GRAPH), tree["posterior"]["theta"].values.reshape(100, -1).mean(axis=0)
    frame = table_of(tree, "log_odds").frame
    for e, (u, v) in enumerate(GRAPH.edges):
        mine = frame[(frame["first"] == NAMES[u]) & (frame["second"] == NAMES[v])]
        found = mine.pivot(index="first_level", columns="second_level", values="log_odds")
        found = found.loc[list(LEVELS[u]), list(LEVELS[v])].to_numpy()
        np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-9)
        whole = model.table(theta)[e, : SIZES[u], : SIZES[v]]
        np.testing.assert_allclose(log_odds_ratios(found), log_odds_ratios(whole))
    assert (frame["lower"] <= frame["upper"]).all()


def test_an_ellipsoid_excludes_zero_as_often_as_it_should(rng):
    """Whatever the coordinates; of normal draws it is the probability of a chi-square."""
    draws = rng.normal(size=(200_000, 3)) @ rng.normal(size=(3, 3)) + [0.5, 0.0, 0.0]
    mean, covariance = draws.mean(axis=0), np.cov(draws.T)
    right = stats.chi2.cdf(mean @ np.linalg.solve(covariance, mean), 3)
    assert abs(excluding_zero(draws) - right) < 5 * np.sqrt(0.25 / 200_000)
    turned = draws @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert excluding_zero(turned) == pytest.approx(excluding_zero(draws), abs=1e-9)
    assert excluding_zero(draws - mean) < 1e-3 < 0.999 < excluding_zero(draws + 100 * mean)


def test_edges_that_may_be_absent(rng):
    tree = structure_tree(rng, GRAPH, model_on, inclusion=[0.9, 0.9, 0.9, 0.9, 0.6, 0.0])
    theta = tree["posterior"]["theta"].values.reshape(100, -1)
    strength, there = model_on(GRAPH).strength(theta), tree["posterior"]["included"].values.reshape(100, -1) != 0
    frame = StructureSummary(tree).edge_table
    np.testing.assert_allclose(frame["weight"].abs()[:5], [strength[there[:, e], e].mean() for e in range(5)])
    assert np.isnan(frame["weight"][5])
    frame = table_of(tree, "log_odds").frame
    assert frame[(frame["first"] == "happy") & (frame["second"] == "party")]["log_odds"].isna().all()
    found = diagnostics(tree, None).index
    assert {"theta[region-party=3,2]", "theta[party:2]", "theta[sex-happy]"} <= set(found)
    assert "theta[happy-party=1,2]" not in found


def test_differences_between_groups_of_people(rng):
    model = model_on(GRAPH)
    starts, (n_chains, n_draws) = model.edge_starts, (2, 50)
    edge_of = np.repeat(np.arange(6), np.diff(starts))
    included = rng.random((n_chains, n_draws, 6)) < [0.9, 0.1, 0.5, 0.9, 0.9, 0.1]
    theta = np.repeat(rng.normal(size=(n_chains, n_draws, 1, model.n_features)), 2, axis=2)
    theta[:, :, 1, : starts[-1]] += included[..., edge_of] * (1 + rng.normal(size=(n_chains, n_draws, starts[-1])))
    theta[:, :, 1, starts[-1] :] += 1.0
    values = {"theta": theta, "included": included, "density": rng.beta(5, 5, (n_chains, n_draws))}
    dims = {"theta": ("group", "feature"), "included": ("edge",), "density": ()}
    draws = Draws(values, dims, "made up", 10, 1, (0, 1), True, 1.5, {"entropy": 7, "spawn_key": [], "spawned": 0})
    prior = {"density": {"a": 5.0, "b": 5.0}, "bias_scale": 10.0, "slab": {"family": "Cauchy", "scale": 1.0}}
    about = {"method": "exact", "kind": "exact", "model": "nominal", "prior": prior, "biases": "normal"}
    tree = results.to_datatree(
        draws, model, attrs=about | {"baseline": "Normal", "data_hash": "abc"}, groups=["x", "y"],
        observed={"statistics": np.zeros((2, model.n_features)), "n_samples": 100.0, "group_sizes": [50.0, 50.0]},
    )  # fmt: skip
    frame = DifferenceSummary(tree).differences
    apart = model.strength((theta[:, :, 1] - theta[:, :, 0]).reshape(100, -1))
    there = included.reshape(100, 6)
    np.testing.assert_allclose(frame["difference"].abs()[[0, 4]], [apart[there[:, e], e].mean() for e in (0, 4)])
    weights = DifferenceSummary(tree).weight_table.set_index(["first", "second", "group"])["weight"]
    strength = model.strength(theta).mean(axis=(0, 1))
    np.testing.assert_allclose(weights[[("region", "party", g) for g in "xy"]], strength[:, 4])
    assert {"node-differences", "nodes", "log_odds"} <= set(names_of(tree))
    assert list(table_of(tree, "log_odds").frame["group"].unique()) == ["x", "y"]
    nodes = table_of(tree, "node-differences").frame
    means = table_of(tree, "nodes").frame.pivot(index="node", columns="group")
    assert sorted(nodes["parameter"]) == sorted(model.shown_names[6:])
    apart = means["mean"]["y"] - means["mean"]["x"]
    np.testing.assert_allclose(nodes["difference"], apart[nodes["parameter"]], atol=1e-12)
    assert "exists[region-party]" not in diagnostics(tree, None).index  # always
    plots.plot_networks(tree)


def test_pictures_and_pages(tree, rng, tmp_path):
    for made in (tree, structure_tree(rng, GRAPH, model_on)):
        labels = [text.get_text() for text in plots.plot_network(made).get_legend().get_texts()]
        assert any(label.endswith("of a table") for label in labels)
        page = write_report(made, tmp_path / "report.html", overwrite=True).read_text()
        assert "Log odds of categories" in page
        assert "root mean square" in page
    plots.plot_parameters(tree)
    plots.plot_strength(tree)
    assert len(plots.plot_marginals(tree, ["region-party", "region=N", "sex-happy"])) == 3
    assert "log_odds" in names_of(tree)
    assert "theta[sex-region=1,1]" in diagnostics(tree, None).index


@pytest.fixture(scope="module")
def fitted(module_rng):
    z = module_rng.normal(size=200)
    cut = np.digitize(z[:, None] + module_rng.normal(size=(200, 2)), [-0.7, 0.6])
    region, party = (pd.Categorical(np.array(list(words))[x]) for words, x in zip(("NSE", "rbg"), cut.T, strict=True))
    X = pd.DataFrame({"owner": module_rng.integers(0, 2, 200), "region": region, "party": party})
    return X, BayesianMRF(n_draws=100, n_warmup=100, n_chains=2, random_state=1, progress=False).fit(X)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_tables_of_one_edge_and_of_a_stored_run(fitted, tmp_path):
    X, est = fitted
    frame = est.table("log_odds", edge=("party", "region"))
    assert len(frame) == 9
    assert list(est.table("edges", edge=("region", "party"))["first"]) == ["region"]
    for edge in (("party", "sex"), "party", 3):
        with pytest.raises(
            OptionError, match="edge must be None, or the names of the two ends of an edge of the table"
        ):
            est.table("log_odds", edge=edge)
    with pytest.raises(OptionError, match="edge must be None"):
        est.table("nodes", edge=("region", "party"))
    strength = est.strength().sel(node="party").values
    weights = est._model().strength(est.posterior_["posterior"]["theta"].values)
    np.testing.assert_allclose(strength, weights[..., 1:].sum(axis=-1))
    assert est.graph_.edges["region", "party"]["strength"] == pytest.approx(est._model().strength(est.theta_)[2])
    results.save(est, tmp_path / "run")
    found = BayesianMRF.load(tmp_path / "run")
    pd.testing.assert_frame_equal(found.table("log_odds"), est.table("log_odds"))
    pd.testing.assert_frame_equal(found.table("parameters"), est.table("parameters"))
    np.testing.assert_array_equal(
        found.predict_conditional(X[:5], ["region"]), est.predict_conditional(X[:5], ["region"])
    )
    assert found.sample(3, random_state=1).tolist() == est.sample(3, random_state=1).tolist()


def test_the_summary_says_what_is_shown(tree):
    s = ParameterSummary(tree)
    assert s.n_weights == 6
    assert list(s.table.index[:6]) == model_on(GRAPH).graph.edge_names
    assert "excludes zero if the ellipsoid" in table_of(tree, "parameters").note
    assert set(table_of(tree, "parameters").frame["kind"]) == {"strength", "log weight"}


def test_the_command(bayesmrf, folder, fitted):
    fitted[0].to_csv("words.csv", index=False)
    code, out, err = bayesmrf(
        "posterior", "words.csv", "--model", "nominal", "--seed", 1, "--n-draws", 50, "--out", "a_run"
    )
    assert (code, err) == (0, "")
    assert "model nominal" in out
    assert "│ region –" in out
    assert "│ region=N" in out
    assert bayesmrf("report", "a_run", "--out", "a.html")[0] == 0


def test_commands_on_a_file_with_categories(bayesmrf, folder, fitted):
    pytest.importorskip("pyarrow")
    fitted[0].to_feather("typed.feather")
    code, out, _ = bayesmrf("posterior", "typed.feather", "--seed", 1, "--n-draws", 50, "--out", "b_run")
    assert (code, "model nominal (chosen by categories without order)" in " ".join(out.split())) == (0, True)
    given = ["evidence", "typed.feather", "--seed", 1, "--compare"]
    code, out, _ = bayesmrf(*given, "complete,independent")
    assert (code, "The model is nominal, as column 'region' has categories without order." in out) == (0, True)
    direct = log_evidence(BayesianMRF(), fitted[0], prior_scale=1.0, progress=False, random_state=1)
    assert f"complete, laplace: {direct.log_evidence:,.2f}" in out
    one_sentence(bayesmrf(*given, "groups", "--out", "g"), "--compare groups does not support columns without order")
    one_sentence(
        bayesmrf("groups", "typed.feather", "--graph", "complete"), "'region' must have two ordered categories"
    )
