"""The two examples of the R package bgms: its posterior, that of its models, and an enumeration.

    python examples/bgms.py [IMPORTANCE_DRAWS] [DRAWS]

Five symptoms of post-traumatic stress (`bayesmrf.datasets.wenchuan`), and five of ADHD in children with and without a
diagnosis (`bayesmrf.datasets.adhd`). The figures of bgms 0.2.0 are those of its own documentation. The enumeration is
independent of the package: every set of edges, or of edges that differ, with the parameters of each by importance
sampling around their mode. (Of the first example, every set with the three edges that no graph of the posterior lacks.)
Then two whole scales, for which an enumeration is not feasible: all 17 symptoms, and boredom in two languages
(`bayesmrf.datasets.boredom`).
"""

import itertools
import sys
from math import lgamma, log, pi
from typing import NamedTuple

import numpy as np

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets
from bayesmrf.priors import Cauchy, LogisticBeta, SpikeSlab

WENCHUAN = [1.0, 1.0, 0.958, 0.911, 1.0, 0.986, 0.102, 0.084, 1.0, 1.0]
ADHD = [0.713, 0.400, 0.828, 0.997]  # of the others bgms does not print it
PAIRS = list(itertools.combinations(range(5), 2))
EDGES = SpikeSlab(density=0.5, slab=Cauchy(2.0), biases=LogisticBeta(0.5, 0.5))  # as in bgm
DIFFERENCES = SpikeSlab(density=0.5, slab=Cauchy(1.0), biases=LogisticBeta(0.5, 0.5))  # as in bgmCompare
DF = 6  # of the t distribution that parameters are drawn from


class Group(NamedTuple):
    """Statistics (n_states, n_parameters) of each joint state, their sums over the rows, and the number of rows."""

    f: np.ndarray
    sums: np.ndarray
    n: int


class CauchyPrior(NamedTuple):
    """Of some parameters."""

    scale: float

    def log(self, x):
        return -np.log(pi * self.scale * (1 + (x / self.scale) ** 2))

    def slope(self, x):
        return -2 * x / (self.scale**2 + x**2)

    def curvature(self, x):
        return np.maximum(2 * (self.scale**2 - x**2) / (self.scale**2 + x**2) ** 2, 0)


class LogitPrior(NamedTuple):
    """Of some parameters: that of a logit of Beta(1/2, 1/2), but for a constant."""

    def log(self, x):
        return 0.5 * x - np.logaddexp(0, x)

    def slope(self, x):
        return 0.5 - 1 / (1 + np.exp(-x))

    def curvature(self, x):
        return 1 / (4 * np.cosh(x / 2) ** 2)


def log_posterior(theta, groups, priors):
    """Log likelihood and log prior of rows of parameters."""
    if len(theta) > 1000:  # for memory
        return np.concatenate(
            [log_posterior(part, groups, priors) for part in np.array_split(theta, len(theta) // 500)]
        )
    found = sum(prior.log(theta[:, i]) for i, prior in enumerate(priors))
    for f, sums, n in groups:
        energy = theta @ f.T
        top = energy.max(axis=1)
        found = found + theta @ sums - n * (top + np.log(np.exp(energy - top[:, None]).sum(axis=1)))
    return found


def newton(theta, groups, priors):
    """The mode, and minus the Hessian there (without what would make it indefinite)."""
    for _ in range(40):
        slope = np.array([prior.slope(t) for prior, t in zip(priors, theta, strict=True)])
        hessian = np.diag([float(prior.curvature(np.asarray(t))) for prior, t in zip(priors, theta, strict=True)])
        for f, sums, n in groups:
            energy = f @ theta
            p = np.exp(energy - energy.max())
            p /= p.sum()
            mean = p @ f
            slope += sums - n * mean
            hessian += n * ((f * p[:, None]).T @ f - np.outer(mean, mean))
        step = np.linalg.solve(hessian, slope)
        theta = theta + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return theta, hessian


def enumerated(groups, priors, spikes, sure, n_draws, rng):
    """Probability that each of the parameters ``spikes`` is not 0 (certain for those in ``sure``), and their sd."""
    evidence, found, start, unsure = [], [], np.zeros(len(priors)), [k for k in spikes if k not in sure]
    for free in itertools.product((True, False), repeat=len(unsure)):
        there = np.ones(len(priors), bool)
        there[unsure] = free
        kept = np.flatnonzero(there)
        some = [Group(f[:, kept], sums[kept], n) for f, sums, n in groups], [priors[k] for k in kept]
        mode, hessian = newton(start[kept], *some)
        start[kept] = mode
        root, d = np.linalg.cholesky(np.linalg.inv(hessian)), len(kept)
        z = rng.standard_normal((n_draws, d)) / np.sqrt(rng.chisquare(DF, (n_draws, 1)) / DF)
        log_t = lgamma((DF + d) / 2) - lgamma(DF / 2) - d / 2 * log(DF * pi) - np.log(np.diag(root)).sum()
        log_t = log_t - (DF + d) / 2 * np.log1p((z**2).sum(axis=1) / DF)
        draws = np.zeros((n_draws, len(priors)))
        draws[:, kept] = mode + z @ root.T
        weights = log_posterior(draws[:, kept], *some) - log_t
        share = np.exp(weights - weights.max())
        evidence.append(weights.max() + np.log(share.mean()))
        share /= share.sum()
        found.append([there[spikes], share @ draws[:, spikes], share @ draws[:, spikes] ** 2])
    p = np.exp(np.array(evidence) - max(evidence))
    inclusion, mean, square = np.tensordot(p / p.sum(), np.array(found), 1)
    return inclusion, np.sqrt(square - mean**2)


def statistics(x, n_levels):
    """Products of the ends of each pair, and each category but the lowest."""
    edges = [x[:, i] * x[:, j] for i, j in PAIRS]
    return np.stack(edges + [x[:, i] == k for i in range(5) for k in range(1, n_levels)], axis=1).astype(float)


def all_states(n_levels):
    """Joint states of five nodes."""
    return np.array(list(itertools.product(range(n_levels), repeat=5)))


def wenchuan(n_importance, n_draws):
    """Which edges exist."""
    table = datasets.wenchuan().iloc[:, :5].dropna()
    est = SpikeSlabMRF(model="ordinal", method="exact", prior=EDGES, n_draws=n_draws, random_state=1, progress=False)
    est.fit(table)
    x = table.to_numpy(int) - 1
    group = Group(statistics(all_states(5), 5), statistics(x, 5).sum(axis=0), len(x))
    priors = [CauchyPrior(2.0)] * 10 + [LogitPrior()] * 20
    exact, sd = enumerated([group], priors, range(10), [0, 4, 9], n_importance, np.random.default_rng(1))
    print(
        "pair                    bgms   true likelihood   enumeration   weight / 2   sd / 2   sd / that of enumeration"
    )
    theta, sd = est.posterior_["posterior"]["theta"].values.reshape(-1, 30)[:, :10] / 2, sd / 2
    for e, (i, j) in enumerate(PAIRS):
        pair = f"{table.columns[i]} - {table.columns[j]}"
        print(f"{pair:22} {WENCHUAN[e]:5.3f}   {est.inclusion_[i, j]:15.3f}   {exact[e]:11.3f}   "
              f"{theta[:, e].mean():10.3f}   {theta[:, e].std():6.3f}   {theta[:, e].std() / sd[e]:24.3f}")  # fmt: skip


def adhd(n_importance, n_draws):
    """Which edges differ between children with a diagnosis and without."""
    table = datasets.adhd()
    labels, items = table["group"], table.iloc[:, 1:6]
    est = CompareMRF(prior=DIFFERENCES, biases="slab", n_draws=n_draws, random_state=1, progress=False)
    est.fit(items, groups=labels)
    groups, f = [], statistics(all_states(2), 2)
    for g, sign in enumerate((-0.5, 0.5)):  # parameters: baselines and differences of weights, and of biases
        x = items.to_numpy(int)[labels.to_numpy() == g]

        def design(s, sign=sign):
            return np.hstack([s[:, :10], sign * s[:, :10], s[:, 10:], sign * s[:, 10:]])

        groups.append(Group(design(f), design(statistics(x, 2)).sum(axis=0), len(x)))
    priors = [CauchyPrior(1.0)] * 20 + [LogitPrior()] * 5 + [CauchyPrior(1.0)] * 5
    exact, sd = enumerated(groups, priors, range(10, 20), [], n_importance, np.random.default_rng(1))
    theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 2, 15)[:, :, :10]
    own = (theta[:, 1] - theta[:, 0]).std(axis=0)
    print("difference of           bgms   true likelihood   enumeration       sd   sd / that of enumeration")
    for e, (i, j) in enumerate(PAIRS):
        pair, bgms = f"{items.columns[i]} - {items.columns[j]}", f"{ADHD[e]:5.3f}" if e < len(ADHD) else "     "
        print(f"{pair:22} {bgms}   {est.difference_inclusion_[i, j]:15.3f}   {exact[e]:11.3f}   {own[e]:6.3f}   "
              f"{own[e] / sd[e]:24.3f}")  # fmt: skip


def whole_scales(n_draws):
    """All items of a scale, and a scale in two languages, in which edges are differences."""
    items, answers = datasets.wenchuan(), datasets.boredom()
    language = answers.pop("language")
    options = {"n_draws": n_draws, "n_warmup": n_draws // 2, "random_state": 1, "progress": False}
    p = SpikeSlabMRF(prior=EDGES, **options).fit(items).table("edges")["inclusion"]
    bounds = 0.0, 0.1, 0.5, 0.9, 0.99, 1.0
    number, _ = np.histogram(p, bounds)
    print(f"pairs of {items.shape[1]} symptoms by inclusion:")
    print("  ".join(f"{low:g} to {high:g}: {k}" for low, high, k in zip(bounds, bounds[1:], number, strict=False)))
    differences = CompareMRF(**options).fit(answers, groups=language)  # thresholds differ freely
    table = differences.table("differences").sort_values("inclusion", ascending=False)
    print(table.head(6).round(2).to_string(index=False))


n_importance, n_draws = (int(a) for a in (*sys.argv[1:], *["3000", "4000"][len(sys.argv) - 1 :]))
wenchuan(n_importance, n_draws)
print()
adhd(n_importance, n_draws)
print()
whole_scales(n_draws // 4)
