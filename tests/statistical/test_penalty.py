"""Births at 0 and deaths at ``a`` by estimated ratios, each with chains of its own, balance as the exact ratio says.

A pair is in its rare state with probability p; the edge multiplies the weight of this state by exp(a). The number of
chains in it is binomial, so that the mean acceptance is a sum over two numbers of chains, and nothing is random.
"""

import numpy as np
import pytest
from scipy.stats import binom

from bayesmrf.posterior.conditionals.penalty import penalty
from bayesmrf.states.chain_pairs import counted_spread

SHIFTS = -2.0, 0.0, 2.0  # exact log ratios


def plain(n, own, others, n_chains):
    """Known of old: normal errors, and the variance by the chains that decide."""
    return 0.5 * n * (n + 1) * own[0] / n_chains


def acceptance(subtract, n, c, p, a, shift):
    """Mean acceptance of a change by a, where the exact log ratio is ``shift``."""
    share = np.maximum(np.arange(c + 1), 0.5) / c
    law, weight = binom.pmf(np.arange(c + 1), c, p), np.exp(a)
    some = np.flatnonzero(law > 1e-9)
    share, law = share[some], law[some]
    moments = np.array([counted_spread((1 - q, 0.0, 0.0, q), (1.0, 1.0, 1.0, weight)) for q in share])
    log_ratio = shift + n * (np.log1p(p * (weight - 1)) - np.log1p(share * (weight - 1)))
    less = np.array([[subtract(n, own, others, c) for own in moments] for others in moments])
    return law @ np.minimum(1.0, np.exp(log_ratio - less)) @ law


def imbalance(subtract, n, c, p, a):
    """How far the log ratio of births to deaths is from the exact one, at worst."""
    tilted = p * np.exp(a) / (1 + p * np.expm1(a))
    births = [acceptance(subtract, n, c, p, a, shift) for shift in SHIFTS]
    deaths = [acceptance(subtract, n, c, tilted, -a, -shift) for shift in SHIFTS]
    return np.abs(np.log(births) - np.log(deaths) - SHIFTS).max()


# Errors of the log ratio have a variance between 2 and 5.
CASES = [(1000, 512, 0.1, 0.1), (1000, 512, 0.3, 0.1), (1000, 512, 0.02, 0.3), (1000, 2048, 0.1, 0.3)]


@pytest.mark.parametrize("case", CASES)
def test_detailed_balance_to_third_order(case):
    found = imbalance(penalty, *case)
    assert found < 0.07
    assert imbalance(plain, *case) > 1.8 * found
    assert imbalance(lambda *_: 0.0, *case) > 0.6


def test_no_observations():
    assert penalty(0.0, (0.5, 0.1), (0.4, 0.2), 128) == 0.0
