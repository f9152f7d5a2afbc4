"""Five symptoms of post-traumatic stress: the posterior of the R package bgms, that of its model, and an enumeration.

    python examples/bgms.py [IMPORTANCE_DRAWS] [DRAWS]

The data are `bayesmrf.datasets.wenchuan`; the figures of bgms 0.2.0 are those of its own documentation. The enumeration
is independent of the package: every graph that contains the three edges that no graph of the posterior lacks, with the
parameters of each by importance sampling around their mode.
"""

import itertools
import sys
from math import lgamma, log, pi

import numpy as np

from bayesmrf import SpikeSlabMRF, datasets
from bayesmrf.priors import Cauchy, LogisticBeta, SpikeSlab

BGMS = [1.0, 1.0, 0.958, 0.911, 1.0, 0.986, 0.102, 0.084, 1.0, 1.0]
SURE = [0, 4, 9]
PAIRS = list(itertools.combinations(range(5), 2))


def features(x):
    """Statistics of each row: products of the ends of each pair, and each category but the lowest."""
    edges = [x[:, i] * x[:, j] for i, j in PAIRS]
    return np.stack(edges + [x[:, i] == k for i in range(5) for k in range(1, 5)], axis=1).astype(float)


def log_posterior(theta, k, f, sums, n):
    """Log likelihood and log prior of k weights, Cauchy of scale 2, and of thresholds, logits of Beta(1/2, 1/2)."""
    energy, w, own = theta @ f.T, theta[..., :k], theta[..., k:]
    top = energy.max(axis=-1)
    log_z = top + np.log(np.exp(energy - top[..., None]).sum(axis=-1))
    slab = -np.log(2 * pi * (1 + (w / 2) ** 2)) - (w / 50) ** 2 / 2
    return theta @ sums - n * log_z + slab.sum(axis=-1) + (0.5 * own - np.logaddexp(0, own)).sum(axis=-1)


def newton(theta, k, f, sums, n):
    """The mode, and minus the Hessian there (without what would make it indefinite)."""
    for _ in range(40):
        energy = f @ theta
        p = np.exp(energy - energy.max())
        p /= p.sum()
        mean, w, q = p @ f, theta[:k], 1 / (1 + np.exp(-theta[k:]))
        slope = sums - n * mean + np.append(-2 * w / (4 + w**2), 0.5 - q)
        hessian = n * ((f * p[:, None]).T @ f - np.outer(mean, mean))
        hessian += np.diag(np.append(np.maximum((8 - 2 * w**2) / (4 + w**2) ** 2, 0), q * (1 - q)))
        step = np.linalg.solve(hessian, slope)
        theta = theta + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return theta, hessian


def enumerated(x, n_draws, rng, df=6):
    """Inclusion of each pair."""
    states = np.array(list(itertools.product(range(5), repeat=5)))
    f, sums, n = features(states), features(x).sum(axis=0), len(x)
    evidence, graphs, start = [], [], np.zeros(30)
    for free in itertools.product((True, False), repeat=7):
        there = np.isin(range(10), SURE)
        there[[e for e in range(10) if e not in SURE]] = free
        kept, k = np.append(np.flatnonzero(there), np.arange(10, 30)), int(there.sum())
        mode, hessian = newton(start[kept], k, f[:, kept], sums[kept], n)
        start[kept] = mode
        root, d = np.linalg.cholesky(np.linalg.inv(hessian)), len(kept)
        z = rng.standard_normal((n_draws, d)) / np.sqrt(rng.chisquare(df, (n_draws, 1)) / df)
        log_t = lgamma((df + d) / 2) - lgamma(df / 2) - d / 2 * log(df * pi) - np.log(np.diag(root)).sum()
        log_t = log_t - (df + d) / 2 * np.log1p((z**2).sum(axis=1) / df)
        weights = log_posterior(mode + z @ root.T, k, f[:, kept], sums[kept], n) - log_t
        evidence.append(weights.max() + np.log(np.exp(weights - weights.max()).mean()))
        graphs.append(there)
    p = np.exp(np.array(evidence) - max(evidence))
    return p @ np.array(graphs) / p.sum()


n_importance, n_draws = (int(a) for a in (*sys.argv[1:], *["600", "1000"][len(sys.argv) - 1 :]))
table = datasets.wenchuan().iloc[:, :5].dropna()
prior = SpikeSlab(density=0.5, slab=Cauchy(2.0), biases=LogisticBeta(0.5, 0.5))
est = SpikeSlabMRF(model="ordinal", method="exact", prior=prior, n_draws=n_draws, random_state=1, progress=False)
est.fit(table)
exact = enumerated(table.to_numpy(int) - 1, n_importance, np.random.default_rng(1))
print("pair                    bgms   true likelihood   enumeration   weight / 2   sd / 2")
theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 30)[:, :10] / 2
for e, (i, j) in enumerate(PAIRS):
    pair = f"{table.columns[i]} - {table.columns[j]}"
    inclusion = est.inclusion_[i, j]
    print(f"{pair:22} {BGMS[e]:5.3f}   {inclusion:15.3f}   {exact[e]:11.3f}   {theta[:, e].mean():10.3f}   "
          f"{theta[:, e].std():6.3f}")  # fmt: skip
