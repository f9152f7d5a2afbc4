"""How often does `SpikeSlabMRF` warn that the prior decides which edges exist, of tables drawn from this prior?

The priors are the default and the learnt slab, both with p0 ~ Beta(1, 1), and node parameters N(0, 1) or N(0, 10).

    python benchmarks/prior_warnings.py [tables for each number of nodes]
"""

import sys
import warnings
from itertools import combinations, product

import numpy as np

from bayesmrf import SpikeSlabMRF
from bayesmrf.errors import BayesMRFWarning, PriorWarning
from bayesmrf.priors import Cauchy, Gamma, SpikeSlab

NODES, ROWS = (4, 5, 6, 7, 8), (100, 1000)


def table(n_nodes, n_rows, slab, bias_scale, rng):
    """Draw a table from the prior."""
    pairs = list(combinations(range(n_nodes), 2))
    of_slab = rng.standard_cauchy if isinstance(slab, Cauchy) else rng.standard_normal
    scale = 1.0 if isinstance(slab, Cauchy) else rng.gamma(slab.shape, 1 / slab.rate) ** -0.5
    weights = np.where(rng.random(len(pairs)) < rng.random(), scale * of_slab(len(pairs)), 0)
    states = (np.arange(2**n_nodes)[:, None] >> np.arange(n_nodes)) & 1
    both = np.array([states[:, u] & states[:, v] for u, v in pairs]).T
    energy = both @ weights + states @ rng.normal(0, bias_scale, n_nodes)
    p = np.exp(energy - energy.max())
    return states[rng.choice(len(states), n_rows, p=p / p.sum())]


def said(n_nodes, n_rows, slab, bias_scale, rng):
    """Return whether `fit` warns of all edges, of no edge."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", BayesMRFWarning)
        prior = SpikeSlab(slab=slab, bias_scale=float(bias_scale))
        run = {"method": "exact", "n_draws": 500, "n_chains": 2, "n_jobs": 1, "random_state": 1, "progress": False}
        SpikeSlabMRF(prior=prior, **run).fit(table(n_nodes, n_rows, slab, bias_scale, rng))
    texts = [str(w.message) for w in found if w.category is PriorWarning]
    return any("candidate edges have" in text for text in texts), any(text.startswith("No cand") for text in texts)


def main():
    each = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = np.random.default_rng(1)
    print(f"{each} tables for each number of nodes ({NODES[0]} to {NODES[-1]}); share with a PriorWarning")
    for slab, bias_scale, n_rows in product((Cauchy(1.0), Gamma(5.0, 5.0)), (1, 10), ROWS):
        found = np.array([[said(n, n_rows, slab, bias_scale, rng) for _ in range(each)] for n in NODES])
        every, none = found.mean(axis=(0, 1))
        print(f"{slab}, node parameters N(0, {bias_scale}), {n_rows:5} rows: all edges {every:.1%}, no edge {none:.1%}")


if __name__ == "__main__":
    main()
