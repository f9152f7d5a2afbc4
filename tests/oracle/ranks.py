"""Simulation-based calibration (Talts et al. 2018): ranks of the truth among nearly independent draws are uniform."""

import numpy as np
from scipy import stats

from bayesmrf.runs import run

N_RANKS = 10  # possible ranks of the truth among 9 draws


def few_draws(kernel, rng, thin=1, warmup=None, n_ranks=N_RANKS):
    """Values of ``n_ranks - 1`` draws of one chain, by name, ``thin`` steps apart."""
    options = {"n_chains": 1, "n_jobs": 1, "progress": False, "random_state": rng}
    warmup = 2 * thin if warmup is None else warmup
    draws = run.sample(kernel, n_draws=n_ranks - 1, n_warmup=warmup, thin=thin, **options)
    return {name: values[0] for name, values in draws.values.items()}


def rank(drawn, truth, rng):
    """Ranks of true values among draws (one row each); ties at random."""
    below, equal = ((compare(drawn, truth)).sum(axis=0) for compare in (np.less, np.equal))
    return below + rng.integers(0, equal + 1)


def p_value(ranks, n_ranks=N_RANKS):
    """The smallest p-value of chi-squared tests that each column of ranks is uniform."""
    return min(stats.chisquare(np.bincount(column, minlength=n_ranks)).pvalue for column in np.transpose(ranks))
