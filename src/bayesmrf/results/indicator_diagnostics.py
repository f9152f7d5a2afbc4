r"""Do chains agree about 0/1 quantities, such as the existence of an edge, and about the weights of rare edges?

R-hat of a 0/1 quantity hardly sees one that is rare, and that a chain never has. Here the share p_c of a chain of T
draws is compared with that of the others, p. With tau the autocorrelation time of the indicator, the chain has about
T / tau independent draws, and the others (C - 1) T / tau. The log likelihood ratio of two shares against one,

.. math:: D = n_c KL(p_c, q) + n KL(p, q), \qquad n_c = T / tau, n = (C - 1) T / tau,

where q is the share of all and KL the divergence of two Bernoulli variables, has P(D > d) <= 2 exp(-d), about, at any
q, so that rare edges need no normal approximation. tau is that of the other chains, as a chain of zeros has none.

Given that an edge exists, its weights are compared by a rank test (Mann and Whitney) of the means of visits, the runs
of draws in which a chain has the edge: these are nearly independent, whatever the autocorrelation within.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from .blocks import Columns
from .rank_diagnostics import effective_size, effective_sizes

FALSE_ALARMS = 0.01  # largest probability that a run whose chains agree has any such finding, of each kind
_CLOSE = 3.0  # standard errors of a mean rank


class Disagreement(NamedTuple):
    """A quantity about which one chain disagrees with the others."""

    item: int
    chain: int
    chance: float  # bound of the probability of a difference like this in any item and chain


def shares_that_differ(indicators: Columns) -> list[Disagreement]:
    """Find the indicators of which one chain has a different share from the others, the least probable first.

    Parameters
    ----------
    indicators : (n_chains, n_draws, n) Columns
        Of booleans.

    Returns
    -------
    list of Disagreement
        One for each item at most. If chains agree, the list is empty with a probability of at least 1 - FALSE_ALARMS.
    """
    n_chains, n_draws, n = indicators.shape
    if n_chains < 2 or n_draws < 4 or n == 0:
        return []
    *means, times = indicators.map(lambda part: np.array([*part.mean(axis=1), _markov_times(part)]))
    shares = np.array(means)
    disagreements = []
    # The times of a Markov chain of two states are the least: most items need no others.
    for c, item in np.argwhere(n * _chance(shares, times, n_draws) < FALSE_ALARMS):
        draws = indicators[:, :, item]
        parts = np.delete(draws, c, axis=0), draws[[c]]
        tau = max([times[item], *(x.size / effective_size(x) for x in parts if 0 < x.mean() < 1)])
        chance = n * _chance(shares[:, [item]], np.array([tau]), n_draws)[c, 0]
        if chance < FALSE_ALARMS:
            disagreements.append(Disagreement(int(item), int(c), float(chance)))
    return _one_each(disagreements)


def weights_that_differ(values: Columns | np.ndarray, items: Sequence[int] | np.ndarray) -> list[Disagreement]:
    """Find the edges whose weights, where the edge exists, differ between a chain and the others.

    Parameters
    ----------
    values : (n_chains, n_draws, n) Columns or array
        Weights, 0 where an edge is absent.
    items : (m,) array of int
        The edges to compare.

    Returns
    -------
    list of Disagreement
        As by `shares_that_differ`.
    """
    from scipy.stats import mannwhitneyu, rankdata  # take half a second

    n_chains, disagreements = values.shape[0], []
    family = n_chains * len(items)
    for item in items if n_chains > 1 else ():
        visits = [_means_of_visits(chain) for chain in values[:, :, item]]
        every = np.concatenate(visits)
        ranks = np.split(rankdata(every), np.cumsum([len(v) for v in visits])[:-1])
        for c, means in enumerate(visits):
            n, m = len(means), len(every) - len(means)
            # An estimate spares most tests.
            if min(n, m) == 0 or abs(ranks[c].mean() - (n + m + 1) / 2) < _CLOSE * sqrt(m * (n + m + 1) / 12 / n):
                continue
            chance = family * mannwhitneyu(means, np.concatenate(visits[:c] + visits[c + 1 :])).pvalue
            if chance < FALSE_ALARMS:
                disagreements.append(Disagreement(int(item), c, float(chance)))
    return _one_each(disagreements)


def _one_each(disagreements: list[Disagreement]) -> list[Disagreement]:
    """Keep the least probable disagreement of each item."""
    first: dict[int, Disagreement] = {}
    for one in sorted(disagreements, key=lambda one: one.chance):
        first.setdefault(one.item, one)
    return list(first.values())


def _markov_times(indicators: np.ndarray) -> np.ndarray:
    """Estimate the autocorrelation time of each indicator in all chains, as of a Markov chain.

    With the probabilities a and b of 0 -> 1 and 1 -> 0 it is 2 / (a + b) - 1. Half a transition is added to each count.
    """
    ups, downs, ones = np.zeros((3, indicators.shape[2]))
    for chain in indicators:
        before, after = chain[:-1], chain[1:]
        ups += (after & ~before).sum(axis=0)
        downs += (before & ~after).sum(axis=0)
        ones += before.sum(axis=0)
    size = len(indicators) * (indicators.shape[1] - 1)
    rate = (ups + 0.5) / (size - ones + 1) + (downs + 0.5) / (ones + 1)
    return np.maximum(2 / np.minimum(rate, 2) - 1, 1.0)


def _chance(shares: np.ndarray, times: np.ndarray, n_draws: int) -> np.ndarray:
    """Bound the probability of shares (n_chains, n) as far from those of the others, in any chain."""
    n_chains = len(shares)
    n_effective, rest = n_draws / times, (n_chains - 1) * n_draws / times
    others = (shares.sum(axis=0) - shares) / (n_chains - 1)
    every = shares.mean(axis=0)
    ratio = n_effective * _divergence(shares, every) + rest * _divergence(others, every)
    return 2 * n_chains * np.exp(-ratio)


def _divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Compute the Kullback-Leibler divergence of Bernoulli variables."""
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def _means_of_visits(values: np.ndarray) -> np.ndarray:
    """Average each run of values that are not zero."""
    exists = values != 0
    starts = np.flatnonzero(np.diff(exists, prepend=False) & exists)
    if not len(starts):
        return np.empty(0)
    at = np.flatnonzero(exists)
    visit = np.searchsorted(starts, at, side="right") - 1
    return np.bincount(visit, values[at]) / np.bincount(visit)


def errors_of_shares(held: np.ndarray) -> np.ndarray:
    """Return the Monte Carlo standard errors of shares of draws, NaN of those that are 0 or 1.

    Parameters
    ----------
    held : (n_chains, n_draws, n) array of bool
    """
    p = held.mean(axis=(0, 1))
    errors: np.ndarray = np.sqrt(p * (1 - p) / effective_sizes(held))
    errors[(p == 0) | (p == 1)] = np.nan
    return errors
