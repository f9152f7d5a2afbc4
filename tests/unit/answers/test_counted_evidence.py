"""Bayes factors from how many draws have an edge: the same numbers as those of full conditionals, and their errors."""

import numpy as np
import pytest
import xarray as xr

from bayesmrf import SpikeSlabMRF, graphs
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results import edge_evidence
from bayesmrf.results.edge_evidence import counted_evidence
from tests.oracle.edge_evidence import log10_factors, of_table

RUN = {"n_draws": 1500, "n_warmup": 200, "n_chains": 4, "progress": False}
ERRORS = 6.0  # standard errors: one of 5e8 is further away by chance


def yes_no(rng, n=150):
    X = rng.integers(0, 2, (n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.3, X[:, 0], X[:, 1])
    return X


def counted(tree, is_local, log_odds):
    n = tree["constant_data"].sizes["edge"]
    return counted_evidence(tree, np.full(n, log_odds), np.zeros(n, bool), is_local)


def test_both_factors_are_those_of_enumeration(rng):
    X, prior = yes_no(rng), SpikeSlab(density=Beta(1, 2), slab=Cauchy(1.0))
    truth, error = log10_factors(of_table(X, 2, graphs.complete(4).edges, prior), prior, rng)
    tree = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X).posterior_
    found = [counted(tree, is_local, np.log(0.5)) for is_local in (True, False)]
    for each, exact, noise in zip(found, truth, error, strict=True):
        known = np.isfinite(each.error)
        assert known.sum() >= 2
        assert (np.abs(each.log10 - exact) < ERRORS * np.hypot(each.error, noise))[known].all()
    # Control: by prior odds of 1, and not of 1/2, the marginal factor is half as large, and errors are small enough.
    wrong = counted(tree, False, 0.0)
    assert np.nanmax(np.abs(wrong.log10 - truth[1]) / np.hypot(wrong.error, error[1])) > ERRORS


def test_errors_are_the_spread_over_repetitions(rng):
    """Parts of a run have factors of their own: standardised by their errors, they vary with a variance of 1."""
    X, prior = yes_no(rng), SpikeSlab(density=Beta(1, 1), slab=Cauchy(1.0))
    options = RUN | {"n_draws": 6000, "random_state": int(rng.integers(2**31))}
    tree = SpikeSlabMRF(prior=prior, **options).fit(X).posterior_
    draws = tree["posterior"].to_dataset()
    parts = []
    for start in range(0, 6000, 250):
        part = tree.copy()
        part["posterior"] = xr.DataTree(draws.isel(draw=slice(start, start + 250)))
        parts.append(part)
    found = [counted(part, True, 0.0) for part in parts]
    log10, error = (np.array([getattr(part, name) for part in found]) for name in ("log10", "error"))
    known = np.isfinite(error).all(axis=0)
    log10, error = log10[:, known], error[:, known]
    assert known.sum() >= 2
    spread = (((log10 - log10.mean(axis=0)) / error) ** 2).sum() / (known.sum() * 23)
    assert 0.55 < spread < 1.7, spread
    assert (((log10 - log10.mean(axis=0)) / (0.5 * error)) ** 2).sum() / (known.sum() * 23) > 1.7  # the control


@pytest.mark.parametrize("n_with", [0, 5, 200])
def test_edges_that_few_draws_have_are_left_to_full_conditionals(rng, n_with):
    """Their error would be that of the few; the stored evidence is then that of evaluated draws."""
    tree = SpikeSlabMRF(random_state=1, **RUN).fit(yes_no(rng)).posterior_
    included = tree["posterior"]["included"].values.copy()
    included[:, :, 0] = 0
    included.reshape(-1, 6)[rng.choice(6000, n_with, replace=False), 0] = 1
    tree["posterior"]["included"].values = included
    assert np.isfinite(counted(tree, False, 0.0).error[0]) == (n_with == 200)
    both = edge_evidence.evidence(tree)
    assert np.isfinite(both.log10).all()
