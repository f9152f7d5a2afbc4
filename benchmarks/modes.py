"""Probabilities of the modes of a model, over draws of its posterior.

Run ``python benchmarks/modes.py [NAME ...]`` with names among:

* ``equal``: 500 rows of 12 nodes with equal weights b, a mode with many ones of probability 0.3, and rarer states
  between the modes the larger b is. The standard deviation of the probability of that mode over draws, by Langevin
  dynamics with persistent chains, divided by that with exact moments; and the same of single parameters.
* ``camps``: 500 rows of 40 nodes that follow two patterns, 74:26; the probability of more than half of the ones over 20
  draws, each from 1,024 states by parallel tempering, by every sampler that has particles or chains.
* ``levels``: 400 rows of 4 ordered items of 4 levels that are all at the first level, or (4 of 10) all at the last, but
  for a share of answers; the probability of a sum above the middle over draws, by exact moments and by chains.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from timing import arguments, clock, duration, machine, table

from bayesmrf import BayesianMRF, GroupedMRF, SpikeSlabMRF, graphs
from bayesmrf.engines import Persistent, Tempered
from bayesmrf.results import convergence

_D, _ROWS, _MASS = 12, 500, 0.3
_STATES = np.unpackbits(np.arange(2**_D, dtype=">u2")[:, None].view(np.uint8), axis=1)[:, -_D:].astype(float)
_MANY = _STATES.sum(axis=1) > _D / 2


def equal(rng: np.random.Generator) -> None:
    rows = [_equal(b, rng) for b in (0.3, 0.5, 0.6, 0.7, 0.8, 1.0)]
    print(f"{_D} nodes, {_ROWS} rows: sd of the probability of a mode, over that with exact moments\n")
    print(table(("b", "between", "exact sd", "persistent", "without a ladder", "parameters", "time"), *rows))


def _counts(a: float, b: float) -> np.ndarray:
    """Probability of each number of ones."""
    k = np.arange(_D + 1)
    each = gammaln(_D + 1) - gammaln(k + 1) - gammaln(_D - k + 1) + a * k + b * k * (k - 1) / 2
    found: np.ndarray = np.exp(each - logsumexp(each))
    return found


def _equal(b: float, rng: np.random.Generator) -> tuple[str, ...]:
    a = brentq(lambda a: _counts(a, b)[_D // 2 + 1 :].sum() - _MASS, -20, 0)
    p = _counts(a, b)
    number = rng.choice(_D + 1, _ROWS, p=p / p.sum())
    X = (rng.random((_ROWS, _D)).argsort(axis=1) < number[:, None]).astype(int)
    masses, spreads, times = [], [], []
    for engine in ("enumeration", Persistent(), Persistent(tempered=False)):
        graph = graphs.complete(_D)
        est = BayesianMRF(graph, kernel="langevin", engine=engine, n_draws=3000, n_warmup=1000, n_chains=2,
                          random_state=0, progress=False)  # fmt: skip
        times.append(clock(lambda est=est: est.fit(X)).cpu)
        theta = est.posterior_["posterior"]["theta"].values.reshape(6000, -1)
        log_p = (
            np.column_stack([_STATES[:, graph.edges[:, 0]] * _STATES[:, graph.edges[:, 1]], _STATES]) @ theta[::10].T
        )
        masses.append(np.std(np.exp(logsumexp(log_p[_MANY], axis=0) - logsumexp(log_p, axis=0))))
        spreads.append(theta.std(axis=0))
    ratio = [f"{m / masses[0]:.1f}" for m in masses[1:]]
    own = f"{np.median(spreads[1] / spreads[0]):.2f}"
    return f"{b}", f"{p[_D // 2]:.1g}", f"{masses[0]:.3f}", *ratio, own, f"{times[1] / times[2]:.1f}"


def camps(rng: np.random.Generator) -> None:
    one = rng.random(_ROWS) < 0.26
    X = (rng.random((_ROWS, 40)) < np.where(one, 0.9, 0.1)[:, None]).astype(int)
    graph, few = graphs.complete(40), {"random_state": 0, "progress": False}
    samplers = {
        "langevin, persistent": BayesianMRF(graph, kernel="langevin", engine="persistent", **few),
        "the same, without a ladder": BayesianMRF(graph, kernel="langevin", engine=Persistent(tempered=False), **few),
        "edges, reversible-jump": SpikeSlabMRF(method="reversible-jump", **few),
        "edges, langevin": SpikeSlabMRF(method="langevin", **few),
        "groups, particle": GroupedMRF(graph, method="particle", **few),
    }
    rows = [(name, *_camps(est, X, rng)) for name, est in samplers.items()]
    share = (X.sum(axis=1) > 20).mean()
    print(f"P(more than 20 of 40 ones), {share:.3f} of the rows\n")
    print(table(("sampler", "mean", "sd", "verdict", "processor time"), *rows))


def _camps(est: BayesianMRF | SpikeSlabMRF | GroupedMRF, X: np.ndarray, rng: np.random.Generator) -> tuple[str, ...]:
    took = clock(lambda: est.fit(X)).cpu
    theta = est.posterior_["posterior"]["theta"].values
    shares = []
    for chain in theta:
        for draw in chain[np.linspace(len(chain) // 5, len(chain) - 1, 20 // len(theta)).astype(int)]:
            model, at = est._mixture.present(draw)
            states = Tempered().draw(model, at, 1024, rng)[0]
            shares.append((states.sum(axis=1) > 20).mean())
    grade = convergence.verdict(est.posterior_).grade
    return f"{np.mean(shares):.3f}", f"{np.std(shares):.3f}", grade, duration(took)


def levels(rng: np.random.Generator) -> None:
    states = np.indices((4,) * 4).reshape(4, -1).T
    rows = []
    for share in (0.02, 0.1):
        x = np.where(rng.random((400, 1)) < 0.4, 3, 0) * np.ones((1, 4), int)
        x = np.where(rng.random(x.shape) < share, rng.integers(0, 4, x.shape), x)
        for method in ("exact", "reversible-jump"):
            est = SpikeSlabMRF(model="ordinal", method=method, n_draws=500, n_chains=4, random_state=0, progress=False)
            took = clock(lambda est=est, x=x: est.fit(x)).cpu
            log_p = est.posterior_["posterior"]["theta"].values @ est._model().features(states).T
            p = np.exp(logsumexp(log_p[..., states.sum(axis=1) > 6], axis=-1) - logsumexp(log_p, axis=-1))
            upper = (x.sum(axis=1) > 6).mean()
            rows.append((f"{share:.0%}", f"{upper:.3f}", method, f"{p.mean():.3f}", f"{p.std():.3f}", duration(took)))
    print("P(sum above the middle)\n")
    print(table(("answers at random", "of the rows", "method", "mean", "sd", "processor time"), *rows))


PARTS: dict[str, Callable[[np.random.Generator], None]] = {"equal": equal, "camps": camps, "levels": levels}


def main() -> None:
    args = arguments(__doc__, PARTS)
    print(machine())
    for name in args.names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            took = clock(lambda part=PARTS[name]: part(np.random.default_rng(0)))
        print(f"[{name}: {duration(took.wall)} in all]\n", flush=True)


if __name__ == "__main__":
    main()
