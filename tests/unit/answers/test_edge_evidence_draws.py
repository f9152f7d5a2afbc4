"""Evidence for edges from as many draws as it needs: evaluated draws, and errors of few of them."""

import numpy as np
import pytest
import xarray as xr

from bayesmrf import SpikeSlabMRF
from bayesmrf.estimators import edge_evidence, pipeline
from bayesmrf.estimators.edge_evidence import add_edge_evidence, is_precise
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results import edge_evidence as of_results
from bayesmrf.results.edge_evidence import FEWEST, NEAR, evidence

N_CHAINS, N_DRAWS, N_PARTS = 4, 1200, 24
CLOSE = 0.004  # error of log10


@pytest.fixture(scope="module")
def run(module_rng):
    """A run on four yes/no columns, without evidence, and what is needed for it."""
    X = module_rng.integers(0, 2, (150, 4))
    X[:, 1] = np.where(module_rng.random(150) < 0.3, X[:, 0], X[:, 1])
    given = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "add_edge_evidence", lambda *args: given.extend(args))
        prior = SpikeSlab(density=Beta(1, 1), slab=Cauchy(1.0))
        options = {"n_draws": N_DRAWS, "n_warmup": 100, "n_chains": N_CHAINS, "random_state": 1, "progress": False}
        SpikeSlabMRF(prior=prior, **options).fit(X)
    return given


def part_of(tree, draws):
    """Return a tree with some of the draws of each chain."""
    part = tree.copy()
    part["posterior"] = xr.DataTree(tree["posterior"].to_dataset().isel(draw=draws))
    return part


def evaluated(run, draws=slice(None)):
    """Return the tree of some draws with its evidence."""
    tree, *rest = run
    tree = part_of(tree, draws)
    add_edge_evidence(tree, *rest)
    return tree


def numbers(tree):
    group = tree["edge_evidence"].to_dataset()
    return list(zip(group["chain_number"].values.tolist(), group["draw_number"].values.tolist(), strict=True))


def test_draws_are_doubled_until_errors_are_small(run, monkeypatch):
    monkeypatch.setattr(edge_evidence, "_FIRST", 1)
    monkeypatch.setattr(of_results, "ERROR", CLOSE)
    enough = evaluated(run)
    assert is_precise(enough)
    found = evidence(enough)
    assert (found.error[np.abs(found.log10) <= NEAR] <= CLOSE).all()
    monkeypatch.setattr(of_results, "ERROR", np.inf)
    few = evaluated(run)
    monkeypatch.setattr(of_results, "ERROR", 0.0)
    every = evaluated(run)
    assert not is_precise(every)
    n_few, n_enough, n_every = (len(numbers(tree)) for tree in (few, enough, every))
    assert (n_few, n_every) == (FEWEST, N_CHAINS * N_DRAWS)
    assert n_few < n_enough < n_every
    assert set(numbers(few)) < set(numbers(enough)) < set(numbers(every))
    assert numbers(every) == sorted(numbers(every))
    # The same draws have the same factors, in whichever round.
    at = [numbers(every).index(one) for one in numbers(enough)]
    values = [tree["edge_evidence"]["log_factor"].values for tree in (enough, every)]
    np.testing.assert_allclose(values[0], values[1][at], rtol=1e-5)
    whole = evidence(every)
    away = np.abs(found.log10 - whole.log10) / np.hypot(found.error, whole.error)
    assert np.isfinite(away).sum() >= 4
    assert np.nanmax(away) < 5, away  # of an edge that nearly always exists the error may be unknown
    monkeypatch.setattr(edge_evidence, "_MOST", 1)  # and no more than can be afforded
    assert numbers(evaluated(run)) == numbers(few)


def test_evidence_that_a_tree_has_is_kept(run):
    tree = evaluated(run, slice(0, 100))
    before = tree["edge_evidence"]
    add_edge_evidence(tree, *run[1:])
    assert tree["edge_evidence"] is before


def test_errors_of_few_draws_are_those_of_repetitions(run, monkeypatch):
    """Each part of the run has its own factors: standardised by their errors, they vary with a variance of 1."""
    monkeypatch.setattr(edge_evidence, "_FIRST", 1)
    monkeypatch.setattr(of_results, "ERROR", np.inf)
    size = N_DRAWS // N_PARTS
    parts = [evidence(evaluated(run, slice(i * size, (i + 1) * size))) for i in range(N_PARTS)]
    log10, error = (np.array([getattr(part, name) for part in parts]) for name in ("log10", "error"))
    known = np.isfinite(error).all(axis=0)  # errors of edges that nearly always exist are not, in some parts
    assert known.sum() >= 2
    log10, error = log10[:, known], error[:, known]
    centre = (log10 / error**2).sum(axis=0) / (1 / error**2).sum(axis=0)
    spread = (((log10 - centre) / error) ** 2).sum() / (log10.shape[1] * (N_PARTS - 1))
    # The smaller of two estimated errors is taken, of 40 evaluations or 200 draws: up to 1.4 times too small.
    assert 0.5 < spread < 2.0, spread
    small = (((log10 - centre) / (0.5 * error)) ** 2).sum() / (log10.shape[1] * (N_PARTS - 1))
    assert small > 2.0  # the control: errors of half the size
