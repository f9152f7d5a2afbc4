"""Sentences and tables about posteriors over parameters."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console

from bayesmrf import BayesianMRF, GroupedMRF, results
from bayesmrf.cli.show import show
from bayesmrf.errors import OptionError
from bayesmrf.models import Ising
from bayesmrf.partitions import canonical, credible_ball, expected_vi, variation_of_information
from bayesmrf.priors import Beta, DirichletProcess, LogisticBeta, Normal, WeightsAndBiases
from bayesmrf.report import write_report
from bayesmrf.results.summary import GroupedSummary, ParameterSummary, summarise
from tests.helpers.posterior_tree import parameter_tree, posterior_tree


def test_the_summary_is_chosen_by_what_the_tree_holds(rng):
    assert isinstance(summarise(posterior_tree(rng)), GroupedSummary)
    found = summarise(parameter_tree(rng))
    assert isinstance(found, ParameterSummary)
    assert summarise(found) is found


def test_table_and_strongest(rng):
    tree = parameter_tree(rng)
    s = ParameterSummary(tree)
    draws = tree["posterior"]["theta"].values.reshape(-1, 10)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(s.table[["mean", "sd", "lower", "upper"]].T, [draws.mean(0), draws.std(0), low, high])
    np.testing.assert_array_equal(s.table["clear"], (low > 0) | (high < 0))
    assert list(s.table["is_edge"]) == [True] * 6 + [False] * 4
    for part in (s.strongest.iloc[:6], s.strongest.iloc[6:]):
        assert part["mean"].abs().is_monotonic_decreasing
    assert s.strongest["is_edge"].is_monotonic_decreasing
    assert s.headline == f"{s.table['clear'][:6].sum()} of 6 edges have a 90 % interval that excludes zero"


def test_ball_is_that_of_the_partition_shown(rng):
    s = GroupedSummary(posterior_tree(rng, n_draws=100))
    draws = s.stacked("groups")
    ball = credible_ball(draws, s.groups)
    table = s.ball_table
    assert list(table.index) == ["point partition", "most distant", "fewest groups", "most groups"]
    assert table["distance"].tolist() == pytest.approx(
        [0, ball.radius, *(variation_of_information(b[0], s.groups) for b in (ball.upper, ball.lower))], abs=1e-9
    )
    assert table["groups"].tolist() == [len(set(p)) for p in (s.groups, *(b[0] for b in ball[3:]))]
    assert [sum(sizes) for sizes in table["sizes"]] == [s.n_edges] * 4
    assert (
        f"the {100 * ball.share:.0f} % credible ball around this partition has radius {ball.radius:.2f} nats"
        in s.ball_sentence
    )
    assert f"; {expected_vi(s.groups, draws):.2f} on average)" in s.ball_sentence


def test_the_stored_point_partition_is_that_of_the_same_draws(rng, tmp_path):
    tree = posterior_tree(rng, n_draws=100)
    half = tree.isel(draw=slice(50))
    found = [GroupedSummary(t).groups.tolist() for t in (tree, half)]
    stored = np.arange(len(found[0])) % 2  # not what would be found
    results.add_partition(tree, "groups", stored)
    results.save(tree, tmp_path / "x_run")
    for t in (tree, results.load(tmp_path / "x_run")):
        assert (
            canonical(GroupedSummary(t).groups).tolist() == canonical(stored).tolist() != canonical(found[0]).tolist()
        )
        assert GroupedSummary(t.isel(draw=slice(50))).groups.tolist() == found[1]


@pytest.mark.parametrize("options", [{}, {"fields": "grouped"}, {"prior": DirichletProcess(density=Beta(5.0, 5.0))}])
def test_a_point_partition_is_found_once(options, rng, monkeypatch):
    x = rng.integers(0, 2, (40, 1)) ^ (rng.random((40, 4)) < 0.2)
    est = GroupedMRF("complete", n_draws=50, n_warmup=5, n_chains=2, progress=False, **options).fit(x)

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("bayesmrf.partitions.point_partition", refuse)
    s = GroupedSummary(est.posterior_)
    np.testing.assert_array_equal(canonical(s.groups), canonical(est.groups_))
    if "fields" in options:
        np.testing.assert_array_equal(canonical(s.field_table["group"]), canonical(est.field_groups_))


def test_groups_of_fields_of_many_states(rng, capsys, tmp_path):
    """A node has a field for each state but the first, and one group."""
    x = rng.integers(0, 3, (60, 4))
    est = GroupedMRF(
        "complete", model="potts", fields="grouped", n_draws=20, n_warmup=5, n_chains=2, progress=False
    ).fit(x)
    s = GroupedSummary(est.posterior_)
    found, draws = s.field_table, est.posterior_["posterior"]["theta"].values[..., 6:].reshape(40, 4, 2)
    assert list(found["node"][:3]) == ["0=1", "0=2", "1=1"]
    np.testing.assert_array_equal(canonical(found["group"][::2]), canonical(est.field_groups_))
    np.testing.assert_array_equal(found["group"][::2], found["group"][1::2])
    table = s.field_group_table
    assert list(table["state"]) == ["1", "2"] * found["group"].nunique()
    for (group, row), k in zip(table.iterrows(), [0, 1] * len(table), strict=False):
        own = found["group"][::2].to_numpy() == group
        assert row["size"] == own.sum()
        assert row["field"] == pytest.approx(draws[:, own, k].mean())
        assert s.field_examples(group, 4) == [str(i) for i in np.flatnonzero(own)]
    show(s, Console(width=120))
    assert "log odds of a state against 0, other things equal" in " ".join(capsys.readouterr().out.split())
    text = write_report(est.posterior_, tmp_path / "r.html").read_text()
    assert "The field h of a state" in text


@pytest.mark.parametrize("ties", [None, "edges"])
def test_strength_is_that_of_the_estimator(ties, rng):
    """Also where edges share a parameter."""
    X = rng.integers(0, 2, (40, 4))
    est = BayesianMRF(graph=[(0, 1), (1, 2)], ties=ties, n_draws=30, n_warmup=5, n_chains=2, progress=False).fit(X)
    draws = est.strength()
    table = ParameterSummary(est.posterior_).strength_table.set_index("node")
    np.testing.assert_allclose(table["strength"][list("0123")], draws.mean(["chain", "draw"]))
    np.testing.assert_allclose(table["upper"][list("0123")], draws.quantile(0.95, ["chain", "draw"]))
    draws_of_theta = est.posterior_["posterior"].to_dataset()
    features = [f"my {name}" for name in est.feature_names_]
    tree = est.posterior_.assign({"posterior": xr.DataTree(draws_of_theta.assign_coords(feature=features))})
    with pytest.raises(OptionError, match="model must be one with a parameter for each edge"):
        _ = ParameterSummary(tree).strength_table


@pytest.mark.parametrize(
    ("kind", "fragment"),
    [
        ("exact", "only Monte Carlo error remains"),
        ("approximate (bethe: approximate)", "multiplied by the number of observations; none on graphs without loops"),
        ("approximate (tree: lower bound)", "errors of log Z enter multiplied by the number of observations"),
        ("approximate (gibbs: approximate)", "finite runs of a Markov chain"),
        ("approximate (brief: random)", "estimates by finite chains"),
        ("approximate (uncorrected Langevin, moments from bethe: approximate)", "there is no accept step"),
        ("approximate (pseudo-likelihood)", "another likelihood"),
        ("approximate (pseudo-likelihood, corrected at the mode)", "shifted and scaled"),
        ("approximate (missing values by bethe: approximate)", "the probabilities of missing values"),
    ],
)
def test_kinds_say_why(kind, fragment, rng):
    sentence = ParameterSummary(parameter_tree(rng, kind=kind)).kind_sentence
    assert sentence.startswith(f"{kind}: ")
    assert fragment in sentence


def test_options_and_prior(rng):
    s = ParameterSummary(parameter_tree(rng))
    assert s.options == {"prior": "normal, scale 1", "step size": "0.1"}
    given = {"method": "langevin", "engine": "brief", "momentum": 0.5, "precondition": True, "adjusted": False}
    s = ParameterSummary(
        parameter_tree(rng, model=Ising, prior_scale=[0.5] * 6 + [2.0] * 4, engine_options={"n_sweeps": 2}, **given)
    )
    assert s.options == {
        "prior": "normal, scale 0.5 (coupling) and 2 (field)",
        "step epsilon": "0.01",
        "share of momentum kept": "0.5",
        "preconditioned": "yes",
        "Gibbs sweeps": "2",
    }
    assert s.data_sentence == "100 observations of 4 nodes, 6 edges, model ising"


class Own:
    """A prior of the user, of which only the density is known."""

    def log_density(self, theta):
        return -(theta**2)

    def gradient(self, theta):
        return -2 * theta


@pytest.mark.parametrize(
    ("prior", "more", "sentence"),
    [
        (LogisticBeta(2.0, 3.0), {}, "logit of Beta(2, 3)"),
        (WeightsAndBiases(0.5, 2.0), {"ties": "all"}, "normal, scale 0.5 (weight) and 2 (bias)"),
        (WeightsAndBiases(0.5, 2.0), {"ties": "edges"}, "normal, scale 0.5 (weight) and 2 (bias)"),
        (Normal(np.arange(1.0, 7.0)), {}, "normal, scales from 1 to 6"),
        (Own(), {}, "Own"),
    ],
    ids=["beta", "tied", "tied edges", "many scales", "no scale"],
)
def test_the_prior_of_parameters_is_said(prior, more, sentence, rng):
    est = BayesianMRF(prior=prior, **more, n_draws=10, n_warmup=10, n_chains=2, random_state=1, progress=False)
    est.fit(rng.integers(0, 2, (40, 3)))
    assert ParameterSummary(est.posterior_).prior_sentence == sentence


def test_every_kernel_and_kind_of_the_estimator_is_known(rng):
    """A new model, kernel or engine is given its words here."""
    from bayesmrf.families import FAMILIES

    assert all(row.edge and row.node and row.meaning for row in FAMILIES)


def test_the_worst_parameter_is_a_parameter(rng):
    tree = parameter_tree(rng)
    alpha = np.arange(100.0).reshape(2, 50)  # mixes worse than all
    tree["posterior"]["alpha"] = xr.DataArray(alpha, dims=["chain", "draw"])
    s = ParameterSummary(tree)
    assert s.diagnostics["r_hat"].idxmax() == "alpha"
    assert s.worst_feature in s.table.index


def test_thinned_draws(rng):
    tree = parameter_tree(rng)
    tree.attrs["thin"] = 3
    assert ", one of 3 steps kept" in ParameterSummary(tree).draws_sentence


def test_nothing_is_missing(rng):
    table = ParameterSummary(parameter_tree(rng)).missing_table
    assert isinstance(table, pd.DataFrame)
    assert table.empty
