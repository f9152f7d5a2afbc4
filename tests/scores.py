"""Scores of shares of draws that survive events too rare to be seen."""

import numpy as np


def share_error(by_chain, p, n_draws):
    """Standard error of the mean over chains of a share whose exact value is p.

    The spread between chains is nothing where no chain, or every chain, saw the event; it is no error then. Never
    less, therefore, than what as many independent draws have, sqrt(p (1 - p) / n), and one draw more: a single
    visit where few are expected is no alarm either.

    by_chain: (n_chains, ...) shares, each of ``n_draws`` draws.
    """
    n_chains = len(by_chain)
    n = n_chains * n_draws
    spread = by_chain.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return np.maximum(spread, (1 + np.sqrt(n * p * (1 - p))) / n)
