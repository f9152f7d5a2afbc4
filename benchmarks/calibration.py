"""Are posteriors of ordered answers calibrated? The likelihood next to the pseudo-likelihood, with one prior.

    python benchmarks/calibration.py one|groups FILE [TRUTHS]

Truths are drawn from the prior: 6 to 8 nodes of 3 to 5 categories (at most 4^8 states), each edge present with
probability 1/2 and a Cauchy weight of scale 0.1, normal thresholds; or the networks of two groups of 6 nodes of 3 or 4
categories, each weight different with probability 1/2, with a Cauchy difference. Each has data of 300 people in which
every category occurs (in every group). Parameters with their place in the posterior are appended to FILE (truths in it
are not run again), and the table is printed. The pseudo-posterior is sampled by code of its own: birth, death and
change of each weight along with the thresholds that centre it, proposed from a Student t around the mode of its full
conditional.
"""

import itertools
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pandas as pd

from bayesmrf import CompareMRF, SpikeSlabMRF, families
from bayesmrf.errors import BayesMRFWarning
from bayesmrf.priors import Cauchy, SpikeSlab

N, SLAB, BIAS, DRAWS = 300, 0.1, 1.0, 500
PRIOR = SpikeSlab(density=0.5, slab=Cauchy(SLAB), bias_scale=BIAS)
CONTRAST = np.array([-0.5, 0.5])
DF = 4.0
MOST = 4**8  # joint states


def truth(groups, rng):
    """Draw a truth and its data: numbers of categories, edges, values, presence and thresholds, and rows."""
    while True:
        sizes = rng.integers(3, 5, 6) if groups else rng.integers(3, 6, rng.integers(6, 9))
        if max(sizes) ** len(sizes) > MOST:
            continue
        d, m = len(sizes), max(sizes)
        edges = np.array(list(itertools.combinations(range(d), 2)))
        present = rng.random(len(edges)) < 0.5
        value = np.where(present, SLAB * rng.standard_cauchy(len(edges)), 0.0)
        base = SLAB * rng.standard_cauchy(len(edges))
        weights = [base + c * value for c in CONTRAST] if groups else [value]
        thresholds = BIAS * rng.standard_normal((len(weights), d, m))
        thresholds[:, :, 0] = 0
        rows = [draw(edges, sizes, w, t, N // len(weights), rng) for w, t in zip(weights, thresholds, strict=True)]
        if all(len(np.unique(x[:, i])) == sizes[i] for x in rows for i in range(d)):
            return sizes, edges, value, present, thresholds, rows


def draw(edges, sizes, weights, thresholds, n, rng):
    """Draw from the definition, by a sum over all states."""
    states = np.array(np.unravel_index(np.arange(np.prod(sizes)), sizes)).T
    energy = sum(w * states[:, u] * states[:, v] for w, (u, v) in zip(weights, edges, strict=True))
    energy += thresholds[np.arange(len(sizes)), states].sum(axis=1)
    p = np.exp(energy - energy.max())
    return states[rng.choice(len(p), n, p=p / p.sum())]


def by_likelihood(rows, sizes, seed):
    """Draws (n_draws, n_edges) of the weights or their differences, and of all thresholds."""
    options = dict(n_draws=DRAWS, n_warmup=DRAWS // 4, n_chains=1, thin=2, random_state=seed, progress=False)
    table = pd.DataFrame(np.concatenate(rows), columns=[f"n{i}" for i in range(len(sizes))])
    r = len(sizes) * (len(sizes) - 1) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        if len(rows) == 1:
            est = SpikeSlabMRF(model=families.Ordinal(), method="exact", prior=PRIOR, **options).fit(table)
        else:
            est = CompareMRF(model="ordinal", prior=PRIOR, **options).fit(table, np.repeat([0, 1], N // 2))
    theta = est.posterior_["posterior"]["theta"].values[0]
    if len(rows) == 1:
        return theta[:, :r], theta[:, r:]
    return theta[:, 1, :r] - theta[:, 0, :r], theta[:, :, r:].reshape(len(theta), -1)


def by_pseudo_likelihood(rows, sizes, seed):
    """The same."""
    groups, d, m = len(rows), len(sizes), max(sizes)
    edges = np.array(list(itertools.combinations(range(d), 2)))
    x, group = np.concatenate(rows), np.repeat(np.arange(groups), N // groups)
    kinds = [(np.ones(1), True)] if groups == 1 else [(np.ones(2), False), (CONTRAST, True)]
    u, v = np.tile(edges, (len(kinds), 1)).T
    contrast = np.repeat([c for c, _ in kinds], len(edges), axis=0)
    spiked = np.repeat([s for _, s in kinds], len(edges))
    values, thresholds = sampled(
        x, group, np.asarray(sizes), u, v, contrast, spiked, DRAWS, DRAWS // 4, m, np.random.default_rng(seed)
    )
    kept = np.arange(m)[None, :] < np.asarray(sizes)[:, None]
    kept[:, 0] = False
    return values[:, -len(edges) :], thresholds[:, :, kept].reshape(DRAWS, -1)


@numba.njit(cache=True)
def along(x, group, sizes, field, mean, own, shift, u, v, contrast, t):
    """Value and two derivatives of the log conditionals of u and v, and of the prior of thresholds, at a value t."""
    value = slope = curve = 0.0
    for node, other in ((u, v), (v, u)):
        m, factor = sizes[node], np.exp(own[:, node])
        for s in range(len(x)):
            g = group[s]
            step = contrast[g] * (x[s, other] - mean[g, other])
            at = field[s, node] + t * step
            total, first, second, growth, power = 0.0, 0.0, 0.0, np.exp(at), 1.0
            for k in range(m):
                p = power * factor[g, k]
                power *= growth
                total += p
                first += k * p
                second += k * k * p
            first /= total
            value += x[s, node] * at + own[g, node, x[s, node]] - np.log(total)
            slope += step * (x[s, node] - first)
            curve += step * step * (second / total - first * first)
        for g in range(len(contrast)):
            step = contrast[g] * mean[g, other]
            for k in range(1, m):
                mu = own[g, node, k] - k * (shift[g, node] + t * step)
                value -= mu * mu / (2 * BIAS**2)
                slope += mu * k * step / BIAS**2
                curve += (k * step / BIAS) ** 2
    return value, slope, curve


@numba.njit(cache=True)
def log_t(z, scale):
    return -np.log(scale) - (DF + 1) / 2 * np.log1p((z / scale) ** 2 / DF) - 0.980829253011726  # log of its constant


@numba.njit(cache=True)
def log_slab(value):
    return -np.log(np.pi * SLAB * (1 + (value / SLAB) ** 2))


@numba.njit(cache=True)
def add(x, group, mean, field, shift, u, v, contrast, value):
    for node, other in ((u, v), (v, u)):
        for s in range(len(x)):
            field[s, node] += value * contrast[group[s]] * (x[s, other] - mean[group[s], other])
        for g in range(len(contrast)):
            shift[g, node] += value * contrast[g] * mean[g, other]


@numba.njit(cache=True)
def sampled(x, group, sizes, us, vs, contrasts, spiked, n_draws, n_warmup, m, rng):
    n, d = x.shape
    n_groups = contrasts.shape[1]
    mean, counts = np.zeros((n_groups, d)), np.zeros((n_groups, d, m))
    for s in range(n):
        for i in range(d):
            counts[group[s], i, x[s, i]] += 1
            mean[group[s], i] += x[s, i]
    for g in range(n_groups):
        mean[g] /= counts[g, 0].sum()
    own, shift, field, value = np.zeros((n_groups, d, m)), np.zeros((n_groups, d)), np.zeros((n, d)), np.zeros(len(us))
    values, thresholds = np.zeros((n_draws, len(us))), np.zeros((n_draws, n_groups, d, m))
    for draw in range(-n_warmup, n_draws):
        for j in range(len(us)):
            u, v, c, old = us[j], vs[j], contrasts[j], value[j]
            add(x, group, mean, field, shift, u, v, c, -old)
            mode = 0.0
            zero, slope, curve = along(x, group, sizes, field, mean, own, shift, u, v, c, 0.0)
            for _ in range(3):
                mode += min(max(slope / (curve + 1e-3), -1.0), 1.0)
                top, slope, curve = along(x, group, sizes, field, mean, own, shift, u, v, c, mode)
            scale = 1.1 / np.sqrt(curve + 1e-3)
            odds = top - zero + log_slab(mode) + np.log(scale * np.sqrt(2 * np.pi))
            birth = min(max(1 / (1 + np.exp(-odds)), 0.02), 0.98) if spiked[j] else 1.0
            new = mode + scale * rng.standard_t(DF) if rng.random() < birth else 0.0
            ratio = 0.0  # of the target over the proposal
            for sign, t in ((1.0, new), (-1.0, old)):
                if spiked[j] and t == 0:
                    ratio += sign * (zero - np.log(1 - birth))
                else:
                    at = along(x, group, sizes, field, mean, own, shift, u, v, c, t)[0]
                    ratio += sign * (at + log_slab(t) - np.log(birth) - log_t(t - mode, scale))
            if np.log(rng.random()) < ratio:
                value[j] = new
            add(x, group, mean, field, shift, u, v, c, value[j])
        for i in range(d):
            for g in range(n_groups):
                for k in range(1, sizes[i]):
                    step = 1.7 * np.sqrt(1 / counts[g, i, k] + 1 / counts[g, i].sum()) * rng.standard_normal()
                    factor, change = np.exp(own[g, i]), step * counts[g, i, k]
                    for s in range(n):
                        if group[s] == g:
                            total, part, growth, power = 0.0, 0.0, np.exp(field[s, i]), 1.0
                            for other in range(sizes[i]):
                                p = power * factor[other]
                                power *= growth
                                total += p
                                part += p * (other == k)
                            change -= np.log1p(part * (np.exp(step) - 1) / total)
                    mu = own[g, i, k] - k * shift[g, i]
                    change += (mu * mu - (mu + step) ** 2) / (2 * BIAS**2)
                    if np.log(rng.random()) < change:
                        own[g, i, k] += step
        if draw >= 0:
            values[draw] = value
            for g in range(n_groups):
                for i in range(d):
                    for k in range(m):
                        thresholds[draw, g, i, k] = own[g, i, k] - k * shift[g, i]
    return values, thresholds


def places(number, groups):
    """Return a row for each parameter of a truth: its place among the draws of either posterior, and its inclusion."""
    rng = np.random.default_rng(number)
    sizes, edges, value, present, thresholds, rows = truth(groups, rng)
    kept = np.arange(max(sizes))[None, :] < sizes[:, None]
    kept[:, 0] = False
    found = []
    for name, sample in (("likelihood", by_likelihood), ("pseudo-likelihood", by_pseudo_likelihood)):
        edge, own = sample(rows, sizes, number)
        for e in range(len(edges)):
            there = edge[edge[:, e] != 0, e]
            place = (there < value[e]).mean() if len(there) else np.nan
            found.append((number, name, "edge", present[e], len(there) / len(edge), place))
        for mu, draws in zip(thresholds[:, kept].ravel(), own.T, strict=True):
            found.append((number, name, "threshold", True, 1.0, (draws < mu).mean()))
    return found


def shown(table):
    """Print expected and observed shares of edges by their inclusion, and of 90 % intervals that hold the truth."""
    bins = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0001]
    for name, part in table.groupby("posterior"):
        edges = part[part.kind == "edge"]
        print(f"\n{name}: {part.truth.nunique()} truths, {len(edges)} edges")
        for low, high in itertools.pairwise(bins):
            some = edges[(edges.inclusion >= low) & (edges.inclusion < high)]
            print(f"  {low:.1f} to {min(high, 1):.1f}: {len(some):5d} edges, expected {some.inclusion.mean():.3f}, "
                  f"observed {some.present.mean():.3f}")  # fmt: skip
        for kind, some in part[part.present & (part.inclusion >= 0.05)].groupby("kind"):
            inside = some.place.between(0.05, 0.95)
            each = inside.groupby(some.truth).mean()
            print(f"  90 % intervals of {kind}s: {inside.mean():.3f} (standard error "
                  f"{each.std() / np.sqrt(len(each)):.3f})")  # fmt: skip


if __name__ == "__main__":
    groups, file, n_truths = sys.argv[1] == "groups", Path(sys.argv[2]), int([*sys.argv, 100][3])
    names = ["truth", "posterior", "kind", "present", "inclusion", "place"]
    done = set(pd.read_csv(file).truth) if file.exists() else set()
    for number in set(range(n_truths)) - done:
        rows = pd.DataFrame(places(number, groups), columns=names)
        rows.to_csv(file, mode="a", header=not file.exists(), index=False)
    shown(pd.read_csv(file))
