"""Nodes that hardly any row shows: the signs of their edges are uncertain, which every fit says."""

import warnings

import numpy as np
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF
from bayesmrf.engines import Persistent, Phases
from bayesmrf.errors import BayesMRFWarning, ConvergenceWarning, UnobservedPairsWarning
from bayesmrf.results import convergence

STAR = [("a", "d"), ("b", "d"), ("c", "d")]


def answers(n=100, seed=1):
    """Three columns that agree, and a fourth with a yes and a no, both where all others are yes.

    To exchange yes and no of the fourth column changes nothing: each sign of its edges has the probability 1/2.
    """
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, 4)) < 0.85, rng.random((n, 1)) < 0.5, rng.random((n, 4)) < 0.5).astype(float)
    x[:, 3] = np.nan
    x[:2] = 1
    x[1, 3] = 0
    return x


def named(x):
    import pandas as pd

    return pd.DataFrame(x, columns=list("abcd"))


def fitted(estimator, x, **options):
    estimator.set_params(random_state=0, progress=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        return estimator.fit(named(x))


SHORT = {"n_draws": 30, "n_warmup": 10, "n_chains": 2}


@pytest.mark.parametrize(
    "estimator",
    [
        GroupedMRF(STAR),
        BayesianMRF(STAR, model="ising", kernel="gibbs"),
        BayesianMRF(STAR, kernel="hamiltonian"),
        BayesianMRF(STAR, kernel="langevin"),
        BayesianMRF(STAR, ties="edges"),
        SpikeSlabMRF(STAR, method="reversible-jump"),
        SpikeSlabMRF(STAR, method="exact"),
    ],
    ids=["groups", "gibbs", "hamiltonian", "langevin", "ties", "reversible-jump", "exact"],
)
def test_signs_in_doubt_are_said(estimator):
    est = fitted(estimator, answers(), **SHORT)
    found = convergence.verdict(est.posterior_)
    assert found.grade == "bad"
    assert found.sentence.startswith("Missing values: fewer than 30 rows have a value of d, which may be too few for")
    x = answers()
    x[:60, 3] = x[:60, 0]
    assert "Missing" not in convergence.verdict(fitted(estimator, x, **SHORT).posterior_).sentence


@pytest.mark.parametrize("engine", [None, Persistent(64), "persistent"])
def test_chains_of_hidden_entries_have_no_ladder(engine):
    """Its weights follow theta, and hidden entries are drawn at theta."""
    est = BayesianMRF(STAR, kernel="exchange", engine=Phases("exact", hidden=engine))
    with pytest.warns(UnobservedPairsWarning, match="constant in all rows that show the other end of 3 pairs"):
        found = est._prepare(named(answers()), None).likelihood.hidden.engine
    assert not isinstance(found, Persistent) or not found.tempered
    wide = SpikeSlabMRF("complete", method="reversible-jump")
    x = np.where(np.random.default_rng(0).random((40, 24)) < 0.7, np.nan, np.arange(40)[:, None] % 2)
    with pytest.warns(UnobservedPairsWarning, match=r"no row shows both ends of 1 pair \(8 – 10\). The data"):
        assert not wide._prepare(x)[1].hidden.engine.tempered


def test_fit_of_groups_of_people_warns():
    x = named(answers())
    x.loc[2:3, "d"] = [1, 0]
    est = CompareMRF(random_state=0, progress=False, **SHORT)
    with (
        pytest.warns(ConvergenceWarning, match="^Missing values: fewer than 30 rows have a value of d, which may be"),
        pytest.warns(UnobservedPairsWarning, match="in the group 0. The differences between groups in them"),
    ):
        est.fit(x, np.arange(100) // 2 % 2)
