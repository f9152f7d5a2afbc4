"""Draws by approximate engines: those that are not of the posterior are told, by how much and where."""

import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, write_report
from bayesmrf.errors import ApproximatePosteriorWarning
from bayesmrf.estimators import stein_check
from bayesmrf.estimators.stein_check import remark_on_draws
from bayesmrf.priors import Cauchy
from bayesmrf.results.convergence import verdict

SEEDS = np.random.SeedSequence(0)
SHORT = {"n_draws": 300, "n_warmup": 200, "n_chains": 2, "random_state": 0, "progress": False}
LONG = SHORT | {"n_draws": 3000, "n_warmup": 1000}  # bounds have kinks, and a random walk is slow


def rows(n: int, d: int, rng: np.random.Generator, n_states: int = 2) -> pd.DataFrame:
    """Answers to related items."""
    x = rng.normal(size=(n, 1)) + 1.5 * rng.normal(size=(n, d))
    cuts = np.linspace(-0.6, 0.6, n_states + 1)[1:-1]
    return pd.DataFrame((x[..., None] > cuts).sum(axis=2), columns=list("abcdefghij"[:d]))


def cycle(names: pd.Index) -> nx.Graph:
    return nx.cycle_graph(list(names))


CASES = {
    "boltzmann": ({}, 2, 0.0),
    "tied": ({"ties": "all"}, 2, 0.0),
    "missing values": ({}, 2, 0.1),
    "potts": ({"model": "potts"}, 3, 0.0),
    "ordinal": ({"model": "ordinal"}, 3, 0.0),
    "cauchy": ({"prior": Cauchy(1.0), "kernel": "hamiltonian"}, 2, 0.0),
}


@pytest.mark.parametrize(("case", "cheap"), [*((case, True) for case in CASES), ("boltzmann", False), ("potts", False)])
def test_exact_draws_are_left_alone_and_others_told(case, cheap, rng, monkeypatch):
    """The check takes a right parameter for a wrong one with a probability below 1e-8 (t of 7 or more, 63 degrees)."""
    monkeypatch.setattr(stein_check, "is_cheap", lambda *_: cheap)  # else moments are by parallel tempering
    options, n_states, gaps = CASES[case]
    x = rows(300, 5, rng, n_states)
    x = x.mask(rng.random(x.shape) < gaps)
    est = BayesianMRF(cycle(x.columns), **options, **SHORT).fit(x)
    draws, names = est.posterior_["posterior"]["phi" if "ties" in options else "theta"].values, est.parameter_names_
    setup = est._prepare(x)
    likelihood, prior = setup.likelihood, setup.own[1]

    def told(draws: np.ndarray) -> str:
        return remark_on_draws(likelihood, prior, draws, names, SEEDS)

    mean, covariance = draws.mean(axis=(0, 1)), np.cov(draws.reshape(-1, draws.shape[2]).T)
    away = 4 * covariance[0] / covariance[0, 0] ** 0.5  # the first parameter and, as far as correlated, the others
    assert told(draws) == ""
    assert "the mean of " in told(draws + away)
    assert re.search(
        r"deviations are too large by a factor of about (2\.[5-9]|3\.[0-5]);", told(mean + 3 * (draws - mean))
    )
    if cheap:
        assert "the mean of " in told(draws - away)
        narrow = told(mean + (draws - mean) / 3)
        assert re.search(r"deviations are too small by a factor of about (2\.[5-9]|3\.[0-5]);", narrow)


def test_shifts_are_those_from_the_exact_mean(rng):
    """One coupling on a grid by bounds: the shift that is told is the true one within a tenth."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    x = rows(500, 10, rng)
    x = pd.concat([x, x.iloc[::-1, :6].set_axis(list("klmnop"), axis=1)], axis=1).set_axis(range(16), axis=1)

    def fit(engine: str) -> np.ndarray:
        est = BayesianMRF(graph, model="ising", ties="all", engine=engine, **LONG).fit(x)
        return est.posterior_["posterior"]["phi"].values.reshape(-1, 2)

    exact = fit("exact")
    with pytest.warns(ApproximatePosteriorWarning, match="the mean of edges is too large by about") as caught:
        found = fit("tree")
    (warned,) = (w.message for w in caught if w.category is ApproximatePosteriorWarning)
    told = float(str(warned).split("about ")[1].split()[0])
    true = (found.mean(axis=0) - exact.mean(axis=0))[0] / found.std(axis=0)[0]
    assert told == pytest.approx(true, rel=0.1)


def test_fit_verdict_and_report_tell_and_good_approximations_pass(rng, tmp_path):
    x = rows(400, 8, rng)
    est = BayesianMRF(cycle(x.columns), model="ising", ties="all", engine="mean-field", **LONG)
    with pytest.warns(ApproximatePosteriorWarning, match=r"^Approximate posterior \(mean-field\): the mean of edges"):
        est.fit(x)
    found = verdict(est.posterior_)
    assert found.grade == "bad"
    assert found.sentence.startswith("Approximate posterior (mean-field)")
    assert "Approximate posterior (mean-field)" in write_report(est.posterior_, tmp_path / "a.html").read_text()
    BayesianMRF(nx.path_graph(list(x.columns)), engine="bethe", **SHORT).fit(x)  # exact on forests
