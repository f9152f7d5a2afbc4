"""CompareMRF and ``bayesmrf compare``: what they find, show, keep and refuse."""

import dataclasses
import re
import warnings
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bayesmrf import Cauchy, CompareMRF, SpikeSlab, graphs, methods, plots, write_report
from bayesmrf.answers.registry import table_of as shown_table
from bayesmrf.data.group_labels import read_groups
from bayesmrf.engines import Enumeration
from bayesmrf.errors import BayesMRFError, ConvergenceWarning, LevelsWarning, OptionError
from bayesmrf.models import Boltzmann
from bayesmrf.priors import LogisticBeta
from bayesmrf.results import load
from bayesmrf.results.summary import DifferenceSummary, summarise
from tests.helpers.commands import one_sentence
from tests.helpers.tables_of_others import NotOfPandas
from tests.oracle import groups as groups_oracle

QUICK = {"n_draws": 150, "n_warmup": 50, "n_chains": 2, "progress": False, "random_state": 1}
SMALL = ["--n-draws", "150", "--n-warmup", "50", "--n-chains", "2", "--seed", "1"]
NAMES = ["Ann", "Bob", "Cid"]


def table_of(rng, sizes=(300, 200)):
    """Ann and Bob are linked in the last group only, Bob and Cid in all."""
    model = Boltzmann(graphs.path(3))
    parts = []
    for t, n in enumerate(sizes):
        theta = np.array([3.0 * (t == len(sizes) - 1), 2.0, -0.5, -1.0, 0.2 * t])
        parts.append(
            pd.DataFrame(Enumeration().sample(model, theta, None, n, rng), columns=NAMES).assign(group=f"g{t}")
        )
    return pd.concat(parts, ignore_index=True).sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted(module_rng):
    table = table_of(module_rng)
    return CompareMRF(**QUICK).fit(table[NAMES], groups=table["group"]), table


def test_what_differs(fitted):
    est, _ = fitted
    assert list(est.groups_) == ["g0", "g1"]
    assert est.difference_inclusion_[0, 1] > max(0.5, est.difference_inclusion_[1, 2])
    assert est.weights_.shape == (2, 3, 3)
    assert est.theta_.shape == (2, 6)
    found = est.table("differences")
    first = found.iloc[0]
    assert (first["first"], first["second"]) == ("Ann", "Bob")
    assert first["lower"] < first["difference"] < first["upper"]
    assert first["lower"] > 0
    assert set(zip(found["group"], found["other"], strict=True)) == {("g0", "g1")}  # other minus group
    assert first["bayes_factor"] > 1
    words = est.evidence_table().set_index(["first", "second"])["evidence"]
    assert list(found["evidence"]) == [words[pair] for pair in zip(found["first"], found["second"], strict=True)]
    assert ("Ann", "Bob") in est.graph_.edges
    assert est.graph_.edges["Ann", "Bob"]["difference"] == est.weights_[1, 0, 1] - est.weights_[0, 0, 1]
    assert est.graphs_["g1"].edges["Ann", "Bob"]["weight"] == est.weights_[1, 0, 1]


def test_differences_of_biases(fitted):
    est, table = fitted
    free = est.table("node-differences").set_index("parameter", drop=False).loc[NAMES]
    assert list(free.columns) == ["parameter", "group", "other", "difference", "lower", "upper"]
    assert list(free["parameter"]) == NAMES
    np.testing.assert_allclose(free["difference"], est.theta_[1, 3:] - est.theta_[0, 3:])
    spiked = CompareMRF(biases="spike-slab", **QUICK).fit(table[NAMES], table["group"])
    found = spiked.table("node-differences").set_index("parameter")
    assert found["inclusion"].between(0.001, 0.999).any()
    assert (spiked.theta_.shape, spiked.difference_inclusion_.shape) == ((2, 6), (3, 3))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("biases", ["free", "spike-slab"])
def test_differences_of_biases_and_edges_that_exist_are_shown(bayesmrf, rng, folder, biases, n_groups):
    table = table_of(rng, (60,) * n_groups)
    table.to_csv("answers.csv", index=False)
    code, out, err = bayesmrf("compare", "answers.csv", "--by", "group", "--biases", biases, *SMALL, "--baseline",
                              "spike-slab", "--out", "run")  # fmt: skip
    assert code == 0, err
    est = CompareMRF(biases=biases, baseline="spike-slab", **QUICK).fit(table[NAMES], table["group"])
    page, text = write_report(est.posterior_, "r.html").read_text(), " ".join(out.split())
    page = re.sub(r' data-order="[^"]*"', "", page)
    assert "Differences of the parameters of nodes" in page
    for d in est.table("node-differences").itertuples():
        shown = [d.parameter, *([d.group, d.other] if n_groups > 2 else [])]
        numbers = [f"{d.difference:.3f}", f"{d.lower:.3f}", f"{d.upper:.3f}"]
        if biases != "free":
            numbers = [f"{d.inclusion:.3f}", *numbers]
        row = "".join(f"<td>{v}</td>" for v in shown) + "".join(f'<td class="n">{v}</td>' for v in numbers)
        assert row in page
        assert f"{d.lower:.3f} to {d.upper:.3f}" in text
    assert ("They always differ" in text) == ("They always differ" in page) == (biases == "free")
    for e in est.table("differences").itertuples():
        assert f"{e.edge_inclusion:.3f}" in text
        assert f'<td class="n">{e.edge_inclusion:.3f}</td></tr>' in page


def test_edges_that_exist(fitted):
    """An edge exists if it has a weight: in all groups, with a baseline or a difference."""
    est, table = fitted
    assert "edge_inclusion" not in est.table("differences")
    np.testing.assert_array_equal(est.edge_inclusion_, 1 - np.eye(3))
    spiked = CompareMRF(baseline="spike-slab", **QUICK).fit(table[NAMES], table["group"])
    weights = spiked.posterior_["posterior"]["theta"].values[..., :3]
    np.testing.assert_array_equal(weights[:, :, 0] != 0, weights[:, :, 1] != 0)
    share = (weights[:, :, 0] != 0).mean(axis=(0, 1))
    u, v = spiked.edges_.T
    np.testing.assert_allclose(spiked.edge_inclusion_[u, v], share)
    assert (spiked.edge_inclusion_ >= spiked.difference_inclusion_).all()
    assert 0.01 < share.min() < 0.99
    found = spiked.table("differences")
    place = {name: i for i, name in enumerate(NAMES)}
    for e in found.itertuples():
        assert e.edge_inclusion == spiked.edge_inclusion_[place[e.first], place[e.second]]
    # Weights are given that the edge exists, in all that shows them: control, the mean over all draws is another one.
    table = spiked.table("edges").set_index(["first", "second", "group"])
    drawn = summarise(spiked.posterior_).weights_given((0.05, 0.95)).reshape(3, -1, 2)
    for (k, e), g in product(enumerate(spiked.edges_), (0, 1)):
        values = weights[:, :, g, k][weights[:, :, g, k] != 0]
        shown = table.loc[(NAMES[e[0]], NAMES[e[1]], f"g{g}")]
        np.testing.assert_allclose(shown[["weight", "lower", "upper"]].astype(float), [
            values.mean(), *np.quantile(values, [0.05, 0.95])], rtol=1e-9)  # fmt: skip
        np.testing.assert_allclose(drawn[0, k, g], values.mean(), rtol=1e-9)
        np.testing.assert_allclose([spiked.weights_[g, *e], spiked.theta_[g, k]], values.mean(), rtol=1e-9)
        assert shown["inclusion"] == pytest.approx(share[k])
        assert spiked.graphs_[f"g{g}"].has_edge(*(NAMES[i] for i in e)) == (share[k] > 0.5)
        assert (spiked._mixture.components("mean", g)[0][k] != 0) == (share[k] > 0.5)
    assert np.abs(spiked.theta_[:, :3] - weights.mean(axis=(0, 1))).max() > 0.01
    assert "where the edge exists" in shown_table(spiked, "edges", 0.9).note


def test_statistics_of_the_groups(fitted):
    est, _ = fitted
    theta = est.posterior_["posterior"]["theta"]
    strength = est.strength()
    assert strength.dims == ("chain", "draw", "group", "node")
    np.testing.assert_allclose(strength.sel(node="Ann"), np.abs(theta[..., :2]).sum("feature"))
    by_graph = est.statistic(lambda g: sum(abs(w) for *_, w in g.edges("Ann", data="weight")), "graph")
    np.testing.assert_allclose(by_graph, strength.sel(node="Ann"))
    found = est.compare(strength, 0.8)
    np.testing.assert_allclose(
        found.loc[("g1 - g0", "Ann"), "mean"], found.loc[("g1", "Ann"), "mean"] - found.loc[("g0", "Ann"), "mean"]
    )
    assert list(est.compare(by_graph).index) == ["g0", "g1", "g1 - g0"]
    products = est.compare(est.statistic(lambda t: np.outer(t[:2], t[:3])))
    assert products.index.names == ["group", "statistic_dim_0", "statistic_dim_1"]
    mean = float((theta[:, :, 1, 1] * theta[:, :, 1, 2]).mean())
    np.testing.assert_allclose(products.loc[("g1", 1, 2), "mean"], mean)
    for wrong in (np.zeros(3), est.posterior_["posterior"]["included"], None):
        with pytest.raises(OptionError, match=r"draws must be draws of each group, .*; take `statistic` or `strength`"):
            est.compare(wrong)


def test_labels_in_other_forms_and_weighted_rows(fitted):
    """The draws do not depend on how rows and labels are given."""
    est, table = fitted
    again = [(table[NAMES].to_numpy(), list(table["group"]), None)]
    again.append((table[NAMES], table["group"].astype("category"), None))
    counts = table.value_counts().reset_index()
    again.append((counts[NAMES], counts["group"], counts["count"]))
    for x, groups, weights in again:
        other = CompareMRF(**QUICK).fit(x, groups, weights)
        np.testing.assert_array_equal(other.posterior_["posterior"]["theta"], est.posterior_["posterior"]["theta"])
    swapped = CompareMRF(**QUICK).fit(table[NAMES], pd.Categorical(table["group"], ["g1", "g0", "none"]))
    assert list(swapped.groups_) == ["g1", "g0"]


def test_the_order_of_the_labels():
    """Sorted, but categories in their order, in whatever form they are; spaces around texts are left out."""
    labels = ["post", "pre ", "post"]
    assert list(read_groups(labels, None, 3)[0]) == ["post", "pre"]
    ordered = pd.Categorical(["post", "pre", "post"], ["pre", "post"])
    table = NotOfPandas(pd.DataFrame({"when": ordered}))
    for given in (ordered, pd.Series(ordered), pd.CategoricalIndex(ordered), table["when"]):
        found, code = read_groups(given, None, 3)
        assert list(found) == ["pre", "post"]
        np.testing.assert_array_equal(code, [1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 2, -9], "-9, of 20 rows next to 1, 2, looks like a code of missing values; leave out these rows"),
        ([1.0, 2.0, 99.0], "99.0, of 20 rows next to 1.0, 2.0, looks like a code"),
        (["f", "m", "-9"], "-9, of 20 rows next to f, m, looks like a code"),
        (["f", "m", "M"], "'M' and 'm' of groups differ in upper and lower case or in spaces only"),
    ],
)
def test_labels_that_may_be_mistakes(labels, message):
    with pytest.warns(LevelsWarning, match=re.escape(message)):
        read_groups(np.array([*labels[:2] * 100, *labels[2:] * 20], dtype=object), None, 220)
    for fine in ([1, 2, 3], [-1, 1], [2019, 2020, 2021], ["a", "b", "9b"]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_groups(fine * 3, None, 3 * len(fine))


def test_three_groups_and_missing_values(rng):
    table = table_of(rng, (150, 150, 150))
    table.loc[[3, 17], "Ann"] = np.nan
    est = CompareMRF(baseline="spike-slab", **QUICK | {"n_draws": 400}).fit(table[NAMES], table["group"])
    assert list(est.missing_["row"]) == [3, 17]
    assert est.missing_["probability"].between(0, 1).all()
    found = est.table("differences")
    assert len(found) == 9
    assert list(found.columns[:4]) == ["first", "second", "group", "other"]
    of = found.set_index(["first", "second", "group", "other"])["difference"]
    np.testing.assert_allclose(
        of["Ann", "Bob", "g0", "g2"], of["Ann", "Bob", "g0", "g1"] + of["Ann", "Bob", "g1", "g2"]
    )
    assert all(d["difference"].shape == (2,) for *_, d in est.graph_.edges(data=True))
    weights = est.posterior_["posterior"]["theta"][..., :3]
    n_edges = est.statistic(nx.number_of_edges, of="graph")
    np.testing.assert_array_equal(n_edges, (weights != 0).sum("feature"))
    assert n_edges.min() < 3


def test_biases_have_the_prior_of_differences_also_where_baselines_may_be_absent(fitted):
    _, table = fitted
    prior, own = SpikeSlab(bias_scale=2.0), SpikeSlab(density=0.3, biases=LogisticBeta(2, 1))
    est = CompareMRF(prior=prior, baseline=own, **QUICK | {"n_draws": 4}).fit(table[NAMES], table["group"])
    options = summarise(est.posterior_).options
    assert options["scale of the biases"] == "2"
    assert options["baseline"] == "SpikeSlab(density=0.3, slab=Cauchy(scale=1.0), bias_scale=2.0, biases=None)"


def test_a_stopped_run_continues(fitted, folder):
    est, table = fitted
    few = CompareMRF(**QUICK, checkpoint=folder / "run").set_params(n_draws=QUICK["n_draws"])
    few.fit(table[NAMES], table["group"])
    again = CompareMRF(**QUICK, checkpoint=folder / "run").fit(table[NAMES], table["group"])
    np.testing.assert_array_equal(again.posterior_["posterior"]["theta"], est.posterior_["posterior"]["theta"])
    with pytest.raises(BayesMRFError, match=r"run .*differ|another run|is .*, was"):
        CompareMRF(**QUICK, prior=SpikeSlab(0.3), checkpoint=folder / "run").fit(table[NAMES], table["group"])


def test_few_draws_have_not_converged(rng):
    table = table_of(rng)
    with pytest.warns(ConvergenceWarning, match="Not converged"):
        CompareMRF(**QUICK | {"n_draws": 8, "n_warmup": 0}).fit(table[NAMES], table["group"])


def bad(table, groups=None, **change):
    return table.assign(**change)[NAMES], table["group"] if groups is None else groups


BAD = {
    "no labels": (lambda t: (t[NAMES], None), "groups must be 500 labels, one for each row of the data, got None"),
    "length": (lambda t: (t[NAMES], ["a", "b"]), "groups must be 500 labels, one for each row"),
    "missing": (lambda t: (t[NAMES], t["group"].where(t.index > 1)), r"missing labels, but 2 row\(s\) .* row 0"),
    "one group": (lambda t: (t[NAMES], ["a"] * 500), "groups must have at least two different labels, but all are 'a'"),
    "few rows": (lambda t: (t[NAMES], np.where(t.index < 3, "x", "y")), "at least 10 rows each, but 'x' has 3"),
    "constant": (
        lambda t: (t[NAMES].assign(Bob=(t["group"] == "g0").astype(int)), t["group"]),
        "X: column 'Bob' is constant in every group, so that the groups cannot be compared there; leave out the column",
    ),
    "no answer": (
        lambda t: (t[NAMES].assign(Bob=t["Bob"].where(t["group"] == "g0")), t["group"]),
        "X: column 'Bob' has no answer in group 'g1'",
    ),
    "NaN in a list": (lambda t: (t[NAMES], [*t["group"][1:], np.nan]), r"missing labels, but 1 row\(s\) .* row 499"),
    "blank": (lambda t: (t[NAMES], t["group"].replace("g1", " ")), r"missing labels, but 200 row\(s\)"),
    "NA": (
        lambda t: (t[NAMES], t["group"].replace("g1", "NA").astype("category")),
        r"missing labels, but 200 row\(s\)",
    ),
    "same text": (
        lambda t: (t[NAMES], t["group"].map({"g0": 1, "g1": "1"})),
        "groups must have labels that differ as texts, got '?1'? and '?1'?; make them one label, or rename one of them",
    ),
    "spaces": (
        lambda t: (t[NAMES], pd.Categorical(t["group"].map({"g0": "a", "g1": "a "}))),
        "labels that differ as texts, got 'a' and 'a '",
    ),
    "ragged": (lambda t: (t[NAMES], [[1], [1, 2]] * 250), "groups must be texts, numbers or categories, got "),
    "index": (lambda t: (t[NAMES], t["group"].rename(lambda i: i + 1)), "groups must have the index of X"),
}


@pytest.mark.filterwarnings("ignore:combinations that never occur")
def test_persistent_chains(bayesmrf, fitted, folder):
    """Where there are too many states for a table they are chosen; otherwise they find the same."""
    est, table = fitted
    wide = pd.DataFrame(np.eye(500, dtype=int)[:, :24] ^ (np.arange(500) % 2)[:, None])
    with pytest.raises(BayesMRFError, match=r"at most 8,388,608 joint states, .*; use method='reversible-jump'"):
        CompareMRF(method="exact", **QUICK).check(wide, table["group"])
    chosen = CompareMRF(**QUICK)
    chosen.check(wide, table["group"])
    assert (chosen.method_, est.method_) == ("reversible-jump", "exact")
    given = CompareMRF(method=methods.ReversibleJump(n_particles=512), **QUICK).fit(table[NAMES], table["group"])
    np.testing.assert_allclose(given.difference_inclusion_, est.difference_inclusion_, atol=0.2)
    assert given.posterior_.attrs["kind"] == "approximate (moments from persistent chains)"
    assert "moments from persistent chains" in summarise(given.posterior_).method_sentence
    assert "expectations are estimated from simulated states" in summarise(given.posterior_).kind_sentence
    table.to_csv("answers.csv", index=False)
    code, _, err = bayesmrf(
        "compare", "answers.csv", "--by", "group", "--method", "reversible-jump", "--n-particles", "512", *SMALL
    )
    assert code == 0, err
    np.testing.assert_array_equal(load("answers_run")["posterior"]["theta"], given.posterior_["posterior"]["theta"])


@pytest.mark.parametrize("name", BAD)
def test_bad_input(fitted, name):
    make, message = BAD[name]
    with pytest.raises(BayesMRFError, match=message) as e:
        CompareMRF(**QUICK).fit(*make(fitted[1]))
    assert "\n" not in str(e.value)


def test_labels_that_are_one_number(bayesmrf, rng, folder):
    """Such as versions of a questionnaire; numbers that are written in one way are labels."""
    table = table_of(rng, (200, 200, 200))  # no column is constant in a group
    versions = {"g0": "1.1", "g1": "1.10", "g2": "2"}
    table.assign(group=table["group"].map(versions)).to_csv("answers.csv", index=False)
    given = bayesmrf("compare", "answers.csv", "--by", "group", *SMALL)
    one_sentence(
        given, r"--by: labels '1.10?' and '1.10?' of column 'group' are the same number; write a letter before"
    )
    table.assign(group="v" + table["group"].map(versions)).to_csv("letters.csv", index=False)
    assert bayesmrf("compare", "letters.csv", "--by", "group", *SMALL)[0] == 0
    assert list(load("letters_run")["posterior"]["group"].values) == ["v1.1", "v1.10", "v2"]
    table.assign(group=table["group"].map({"g0": "-9", "g1": "10", "g2": "2.0"})).to_csv("codes.csv", index=False)
    one_sentence(bayesmrf("compare", "codes.csv", "--by", "group", "--missing-code", "-9", *SMALL), "missing labels")
    assert bayesmrf("compare", "codes.csv", "--by", "group", *SMALL)[0] == 0


def test_edges_are_needed(fitted):
    _, table = fitted
    with pytest.raises(OptionError, match="candidates must be a graph with at least one edge, got 'no edges'"):
        CompareMRF(candidates=[], **QUICK).fit(table[NAMES], table["group"])


def test_what_is_shown(fitted, tmp_path):
    est, _ = fitted
    summary = summarise(est.posterior_)
    assert isinstance(summary, DifferenceSummary)
    assert summary.data_sentence == "300 rows of g0, 200 rows of g1: 3 nodes, 3 edges, model boltzmann"
    page = write_report(est.posterior_, tmp_path / "r.html").read_text()
    for wanted in (
        "Differences between groups",
        "Do the groups differ?",
        "g1 minus g0",
        "evidence for a difference over none",
    ):
        assert wanted in page
    assert plots.plot_networks(est.posterior_).figure
    assert plots.plot_network(est.posterior_).figure
    found = dataclasses.replace(summary)
    object.__setattr__(found, "edge_table", summary.edge_table.assign(inclusion=0.9, weight=-1.0))
    ax = plots.plot_inclusion(found)
    assert ax.get_xlabel() == "−: negative difference (g1 minus g0)"
    assert ax.figure.axes[-1].get_ylabel() == "inclusion:\nprobability of a difference"
    object.__setattr__(found, "groups", ["g0", "g1", "g2"])
    told = plots.plot_inclusion(found).get_xlabel().replace("\n", " ")
    assert told == "−: the largest difference of two groups is negative (the later minus the earlier of g0, g1, g2)"
    for use in (plots.plot_inclusion, plots.plot_network, plots.plot_trace):
        assert use(est).figure
    with pytest.raises(NotFittedError, match="This CompareMRF instance is not fitted yet"):
        summarise(CompareMRF())
    with pytest.raises(BayesMRFError, match="this one is over differences, use plot_inclusion"):
        plots.plot_parameters(est.posterior_)
    with pytest.raises(OptionError, match=r"feature must be None for a posterior of CompareMRF, got '0-1'"):
        plots.plot_trace(est.posterior_, feature="0-1")


def test_the_command(bayesmrf, fitted, folder):
    est, table = fitted
    table.to_csv("answers.csv", index=False)
    code, out, err = bayesmrf("compare", "answers.csv", "--by", "group", *SMALL)
    assert code == 0, err
    text = " ".join(out.split())
    for wanted in ("300 rows of g0, 200 rows of g1", "Ann – Bob", "Bayes factor", "Difference: g1 minus g0"):
        assert wanted in text
    found = load("answers_run")
    np.testing.assert_array_equal(found["posterior"]["theta"], est.posterior_["posterior"]["theta"])
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "<h1>Differences between groups" in (folder / "answers_run.html").read_text()


def test_ordered_answers(bayesmrf, rng, folder):
    """Categories of each column; one that a group has one of has a finding, and one without an answer is refused."""
    table = pd.DataFrame({"a": rng.integers(1, 4, 200), "b": rng.integers(0, 2, 200), "by": np.arange(200) % 2})
    table["a"] = np.where((table["by"] == 1) & (table["b"] == 1), 3, table["a"])
    table.to_csv("ordered.csv", index=False)
    code, _, err = bayesmrf("compare", "ordered.csv", "--by", "by", "--model", "ordinal", *SMALL)
    assert code == 0, err
    est = CompareMRF(model="ordinal", **QUICK).fit(table[["a", "b"]], table["by"])
    found = load("ordered_run")["posterior"]
    np.testing.assert_array_equal(found["theta"], est.posterior_["posterior"]["theta"])
    assert list(found["feature"]) == ["a-b", "a=2", "a=3", "b=1"]
    assert est.table("differences")["lower"].item() > 0
    assert list(est.missing_.columns) == ["row", "node", "probability"]
    with pytest.warns(LevelsWarning, match="stays in the model: 'a' is never 2 in '1'. Its threshold"):
        CompareMRF(model="ordinal", **QUICK).check(table[["a", "b"]].assign(a=table["a"].where(table["by"] == 0, 3)
                                                   .where(np.arange(200) != 1, 1)), table["by"])  # fmt: skip
    with pytest.warns(LevelsWarning, match="single answer in a group stays in the model: 'a' is always 3 in '1'. Its"):
        CompareMRF(model="ordinal", **QUICK).check(table[["a", "b"]].assign(a=table["a"].where(table["by"] == 0, 3)),
                                                   table["by"])  # fmt: skip
    with pytest.raises(BayesMRFError, match=r"'a' has no answer in group '1'.*; leave out the column or the group"):
        CompareMRF(model="ordinal", **QUICK).fit(table[["a", "b"]].assign(a=table["a"].where(table["by"] == 0)),
                                                 table["by"])  # fmt: skip


@pytest.mark.parametrize("method", ["exact", "reversible-jump"])
def test_a_yes_no_column_that_is_constant_in_a_group(method, bayesmrf, rng, folder):
    """A finding names it, in the shell, too; its differences are hardly known, and others are as without it."""
    table = table_of(rng)
    X, group = table[NAMES].assign(Bob=table["Bob"].where(table["group"] == "g0", 0)), table["group"]
    told = "A column with a single answer in a group stays in the model: 'Bob' is always 0 in 'g1'. Its node parameters"
    with pytest.warns(LevelsWarning, match=told):
        est = CompareMRF(method=method, **QUICK).fit(X, group)
    assert est.table("findings")["text"].str.contains(told).sum() == 1
    found = est.table("differences")
    of_bob = found[["first", "second"]].eq("Bob").any(axis=1)
    assert ((found["upper"] - found["lower"])[of_bob] > (found["upper"] - found["lower"])[~of_bob].max()).all()
    assert pd.DataFrame(est.theta_, est.groups_, est.feature_names_).loc["g1", "Bob"] < -4
    if method == "exact":
        X.assign(group=group).to_csv("answers.csv", index=False)
        code, out, _ = bayesmrf("compare", "answers.csv", "--by", "group", *SMALL)
        assert code == 0
        assert told in " ".join(out.split())


def test_levels_that_a_group_never_has(bayesmrf, rng, folder):
    """A finding names them, on the command line, too; one that no group has is no matter of groups."""
    table, group = pd.DataFrame(rng.integers(0, 4, (200, 3)), columns=["a", "b", "c"]), np.arange(200) % 2
    table["c"] = table["c"].mask((group == 1) & (table["c"] == 1), 2)
    gap = table.assign(c=table["c"].replace(1, 0))
    table["a"] = table["a"].mask((group == 0) & (table["a"] == 0), 3)
    told = "stays in the model: 'a' is never 0 in '0', and 1 more. .*'reversible-jump' moves"
    with pytest.warns(LevelsWarning, match=told):
        est = CompareMRF(**QUICK).fit(table, group)
    findings = est.table("findings")["text"]
    assert findings.str.contains(told).sum() == 1
    found = pd.DataFrame(est.theta_, est.groups_, est.feature_names_)
    assert found.loc[1, "c=1"] < -4 < found.loc[0, "c=1"]
    assert found.loc[0, ["a=1", "a=2", "a=3"]].min() > 3 > found.loc[1, ["a=1", "a=2", "a=3"]].max()
    table.assign(by=group).to_csv("gap.csv", index=False)
    code, out, _ = bayesmrf("compare", "gap.csv", "--by", "by", *SMALL)
    assert code == 0
    assert "'a' is never 0 in '0'" in " ".join(out.split())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="A level that a group never has")
        warnings.filterwarnings("ignore", r"1 level\(s\) of column 'c' never occur")
        CompareMRF(**QUICK).check(gap, group)  # control


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "grp"], "--by: there is no column 'grp' in answers.csv; its columns are"),
        (["--by", "group", "--drop", "group"], "--by: column 'group' is also named by --drop"),
        (["--by", "Ann", "--drop", "group"], "column 'Bob' is constant in every group"),
        (["--by", "one", "--drop", "group"], "--by must have at least two different labels"),
        (["--by", "group", "--missing-code", "g1"], r"--by must not have missing labels, but 40 row\(s\) have none"),
        (["--by", "group", "--baseline", "none"], "--baseline must be"),
    ],
)
def test_bad_commands(bayesmrf, rng, arguments, message):
    table = table_of(rng, (40, 40)).assign(one="x")
    (table.assign(Bob=table["Ann"]) if "Ann" in arguments else table).to_csv("answers.csv", index=False)
    more = [] if "one" in arguments else ["--drop", "one"]
    one_sentence(bayesmrf("compare", "answers.csv", *arguments, *more), message)


@pytest.mark.calibration
def test_children_with_and_without_adhd(data_folder, rng):
    """Four symptoms of 355 children: inclusion of all differences within 0.02 of brute force."""
    table = pd.read_csv(data_folder / "adhd.csv")
    items, group = table.iloc[:, 1:5], table["group"]
    prior = SpikeSlab(0.5, Cauchy(1.0), 10.0)
    est = CompareMRF(prior=prior, **QUICK | {"n_draws": 10_000}).fit(items, group)
    u, v = est.edges_.T
    data = [x.to_numpy(float) for _, x in items.groupby(group)]
    groups = [(len(x), np.concatenate([(x[:, u] * x[:, v]).mean(0), x.mean(0)]), None) for x in data]
    means, error = groups_oracle.posterior(est.edges_, 4, groups, prior, rng)
    assert error[:6].max() < 0.004
    np.testing.assert_allclose(est.difference_inclusion_[u, v], means[:6], atol=0.02)
