"""The study of groups and structure at once: its command, its truth, and what methods say of a small model."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import metrics
from bayesmrf.learning.sparse_path import log_conditionals
from papers.liu_page_2013.__main__ import main
from papers.liu_page_2013.experiments import Cell, Settings
from papers.liu_page_2013.findings import EXPECTED
from papers.liu_page_2013.store import read
from papers.liu_page_2013.structure import METHODS, estimate

PAIRS = list(combinations(range(6), 2))


@pytest.fixture(scope="module")
def squares(module_rng):
    """Six nodes in two triangles, each with an agreement of its own: 3,000 states, and labels of all pairs."""
    states = np.array(np.unravel_index(np.arange(64), (2,) * 6)).T
    groups = np.array([0 if v < 3 else 1 if u >= 3 else -1 for u, v in PAIRS])
    theta = np.array([1.0, -0.8, 0.0])[groups]
    agrees = np.array([states[:, u] == states[:, v] for u, v in PAIRS], float).T
    p = np.exp(agrees @ theta)
    return states[module_rng.choice(64, size=3000, p=p / p.sum())], groups, expit(theta)


OPTIONS = {"n_draws": 60, "n_warmup": 30}


@pytest.mark.parametrize("method", METHODS)
def test_methods_find_two_triangles(method, squares, rng):
    states, groups, agreement = squares
    options = OPTIONS | ({"method": "exact"} if method == "spike-slab" else {})
    found = estimate(method, states, 6, options, rng)
    assert ((found.groups >= 0) == found.included).all()
    assert (found.included | (groups < 0)).all()  # no edge is missed
    # Edges have standard errors of 0.01; L1 with as many edges as there are shrinks them.
    assert np.abs(found.agreement - agreement).max() < (0.25 if method == "l1-size" else 0.06)
    # The parameters are those of the model: the pseudo-likelihood sees the same agreements.
    weights = np.zeros((6, 6))
    weights[tuple(np.array(PAIRS).T)] = np.log(found.agreement) - np.log1p(-found.agreement)
    theta = np.concatenate([2 * weights[np.triu_indices(6, 1)], -(weights + weights.T).sum(axis=0)])
    by_hand = log_conditionals(theta, states).sum()
    assert metrics.log_pseudo_likelihood(found.model, found.theta, states) == pytest.approx(by_hand, abs=40)
    if method in (*METHODS[:4], "spike-particle-fields"):
        assert found.n_groups < 4
        assert metrics.variation_of_information(found.groups, groups) < 0.5
    else:
        assert len(np.unique(found.groups[found.included])) == found.included.sum() == found.n_groups


def test_command(rng, tmp_path, capsys):
    seed = int(rng.integers(2**31))
    shown = ["spike-exact", "stripped-beta-learnt", "spike-slab", "l1-cv"]
    arguments = ["structure", "--quick", "--jobs", "1", "--out", str(tmp_path), "--seed", str(seed)]
    assert main([*arguments, "--replicates", "1", "--points", "1000", "--methods", *shown]) == 0
    rows = read(tmp_path / "results" / "structure-quick.csv").set_index("method")
    assert set(rows.index) == set(shown)
    assert np.isfinite(rows).all(axis=None)
    assert rows["f1"].between(0, 1).all()
    assert (rows["lpl_test"] < 25).all()  # the truth cannot be beaten by much
    assert (rows.loc[shown[:2], "n_groups"] < 8).all()
    out = capsys.readouterr().out
    assert sum(out.count(w) for w in ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")) == len(
        EXPECTED["structure"]["findings"]
    )
    assert (tmp_path / "figures" / "structure-quick.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:fields=False:bayesmrf.errors.FieldsWarning")  # as the command does
def test_senate(data_folder, rng):
    settings = Settings("structure-senate", int(rng.integers(2**31)), quick=True)
    row = settings.plan.run(settings, Cell(0, 2, "stripped-beta-learnt"))
    assert set(row) == set(settings.plan.measures)
    assert row["n_edges"] == settings.plan.n_edges
    assert row["lpl_test"] < row["lpl_train"] < 0
    assert 1 <= row["n_groups"] < 40
