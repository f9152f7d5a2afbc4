"""Do intervals with weights of a survey hold the parameters of the population as often as they say?

Run ``python benchmarks/survey_weights.py [NAME ...] [--tables N] [--seed N]`` with names among `DESIGNS`. Networks of
four yes/no items are drawn, with weights N(0.5, 0.5) and biases N(-0.8, 0.3). From each, 300 people are sampled in
strata that their answers define, with unequal rates; the weight of a person is the size of the stratum over that of its
sample. Reported are the coverage of 90 % intervals of the six edges with ``survey_weight`` and, of every tenth sample, that with
the weights as counts of a population of a million, and the effective sample size as a share of the rows.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesmrf import BayesianMRF
from bayesmrf.errors import BayesMRFWarning
from bayesmrf.priors import Normal

D, N, POPULATION = 4, 300, 10**6
STATES = np.array(list(product([0, 1], repeat=D)), dtype=np.int8)
EDGES = np.triu_indices(D, 1)
FEATURES = np.hstack([STATES[:, EDGES[0]] * STATES[:, EDGES[1]], STATES]).astype(float)
_SUM = STATES.sum(axis=1)
# By name: the stratum of each state, and how often people of each stratum are sampled, relative to each other.
DESIGNS = {
    "item": (STATES[:, 0], (1, 3)),
    "sum": (np.clip(_SUM - 1, 0, 2), (1, 2, 4)),
    "high": ((_SUM >= 3).astype(int), (1, 4)),
    "mixed": (2 * STATES[:, 0] + (_SUM >= 2), (1, 2, 2, 4)),
}


class Sample(NamedTuple):
    """A stratified sample, and the parameters of its population: those of edges, then those of nodes."""

    X: np.ndarray
    weight: np.ndarray
    theta: np.ndarray


def draw(design: str, rng: np.random.Generator) -> Sample:
    """Draw a population, and a sample of it with weights."""
    stratum, rates = DESIGNS[design]
    theta = np.append(rng.normal(0.5, 0.5, len(EDGES[0])), rng.normal(-0.8, 0.3, D))
    p = np.exp(FEATURES @ theta)
    p /= p.sum()
    share = np.bincount(stratum, p)
    sizes = np.maximum(np.rint(N * share * rates / (share @ rates)).astype(int), 2)
    rows = [rng.choice(len(p), n, p=p * (stratum == h) / share[h]) for h, n in enumerate(sizes)]
    return Sample(STATES[np.concatenate(rows)], POPULATION * np.repeat(share / sizes, sizes), theta)


def covered(sample: Sample, n_draws: int, **weights: np.ndarray) -> np.ndarray:
    """Return which 90 % intervals of edges hold the parameter of the population."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        est = BayesianMRF(
            prior=Normal(2.5), kernel="gibbs", n_draws=n_draws, n_chains=2, n_warmup=50, random_state=1, progress=False
        ).fit(sample.X, **weights)
    draws = est.posterior_["posterior"]["theta"].values.reshape(-1, FEATURES.shape[1])[:, : len(EDGES[0])]
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    truth = sample.theta[: len(EDGES[0])]
    return np.asarray((low <= truth) & (truth <= high))


def study(design: str, n_tables: int, rng: np.random.Generator, n_draws: int = 500) -> np.ndarray:
    """Return coverage with weights of a survey, that with these as counts (of every tenth table), and n_eff / n."""
    survey, counts, share = [], [], []
    for t in range(n_tables):
        sample = draw(design, rng)
        w = sample.weight
        survey.append(covered(sample, n_draws, survey_weight=w))
        if t % 10 == 0:
            counts.append(covered(sample, n_draws, sample_weight=np.rint(w)))
        share.append(w.sum() ** 2 / (w @ w) / len(w))
    return np.array([np.mean(survey), np.mean(counts), np.mean(share)])


def main() -> None:
    """Print a row for each design."""
    sys.path.insert(0, str(Path(__file__).parent))
    from timing import arguments, machine, table

    given = arguments(__doc__, DESIGNS, tables=100, seed=0)
    print(machine(), flush=True)
    rows = []
    for design in given.names:
        found = study(design, given.tables, np.random.default_rng(given.seed))
        rows.append((design, *(f"{value:.1%}" for value in found)))
        print(*rows[-1], flush=True)
    print(table(("strata", "survey weights", "as counts", "n_eff / n"), *rows))


if __name__ == "__main__":
    main()
