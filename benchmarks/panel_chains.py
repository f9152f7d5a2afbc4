"""Panels with edges within a wave: chains of each row before next to tables of all states, and what a step takes.

    python benchmarks/panel_chains.py [n_steps]

Prints, for common and own intercepts, the largest differences of inclusions, of means and of standard deviations, the
last two in posterior standard deviations, with the standard errors over runs; then milliseconds of processor time.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
from scipy.special import logsumexp

from bayesmrf.models.panel import Panel
from bayesmrf.posterior.edges.panel_edges import PanelKernel
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.states.panel_tables import panel_tables

N_PEOPLE, N_WAVES, SIZES, N_RUNS = 80, 4, (3, 2, 2, 2), 4
LAGGED = np.array([[0.8, 0.6, 0, 0], [0, 0.9, 0, 0], [0, 0, 1, -0.7], [0, 0, 0.3, 0.8]])
WITHIN = np.array([0.8, 0, 0, 0.9, 0, 0.4])
PRIOR = SpikeSlab(Beta(1, 1), Cauchy(1.0))


def waves(rng, own):
    """Simulate waves from the probabilities of all states."""
    states = np.indices(SIZES).reshape(4, -1).T
    pairs = np.array([(u, v) for u in range(4) for v in range(u + 1, 4)]).T
    joined = (states[:, pairs[0]] * states[:, pairs[1]]) @ WITHIN - 0.7 * (states > 0).sum(axis=1)
    a = 0.8 * own * rng.standard_normal((N_PEOPLE, 1))
    found = [np.array([rng.integers(0, m, N_PEOPLE) for m in SIZES]).T]
    for _ in range(N_WAVES - 1):
        w = (found[-1] @ LAGGED + a) @ states.T + joined
        p = np.exp(w - logsumexp(w, axis=1, keepdims=True)).cumsum(axis=1)
        found.append(states[(p < rng.random((N_PEOPLE, 1))).sum(axis=1).clip(0, len(states) - 1)])
    return np.stack(found, axis=1)


def kernel_of(x, own, n_chains):
    """Return the kernel of waves (n_people, n_waves, d)."""
    n, w, d = x.shape
    model = Panel(tuple(f"x{i}" for i in range(d)), tuple(int(m) + 1 for m in x.max(axis=(0, 1))), True)
    person = np.repeat(np.arange(n), w - 1) if own else None
    first = x[:, 0] - x[:, 0].mean(axis=0) if own else np.zeros((0, d))
    before, after = x[:, :-1].reshape(-1, d), x[:, 1:].reshape(-1, d)
    return PanelKernel(panel_tables(model, before, after, person, with_states=not n_chains), first, PRIOR, n_chains)


def moments(kernel, n_steps, seed):
    """Return means of parameters, of their squares, and inclusions."""
    rng, total = np.random.default_rng(seed), 0.0
    state = kernel.init(rng)
    for t in range(n_steps + n_steps // 10):
        state, info = kernel.step(rng, state)
        if t >= n_steps // 10:
            total = total + np.concatenate([info.theta, info.theta**2, info.included])
    return total / n_steps


def main() -> None:
    """Compare, and measure."""
    n_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for own in (False, True):
        x = waves(np.random.default_rng(1), own)
        runs = [[moments(kernel_of(x, own, n), n_steps, seed) for seed in range(N_RUNS)] for n in (0, 32)]
        exact, chains = (np.array(one) for one in runs)
        f = (exact.shape[1] - 22) // 2
        sd_of = [np.sqrt(a[:, f : 2 * f] - a[:, :f] ** 2) for a in (exact, chains)]
        sd = sd_of[0].mean(axis=0)
        compared = {
            "inclusions": (exact[:, 2 * f :], chains[:, 2 * f :], 1.0),
            "means": (exact[:, :f], chains[:, :f], sd),
            "standard deviations": (*sd_of, sd),
        }
        print("own intercepts" if own else "common intercepts")
        for name, (a, b, scale) in compared.items():
            away = np.abs(a.mean(axis=0) - b.mean(axis=0)) / scale
            error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / N_RUNS) / scale
            k = away.argmax()
            least, whole = np.sqrt((error**2).mean()), np.sqrt((away**2).mean())
            largest = f"largest difference {away[k]:.3f} (standard error {error[k]:.3f})"
            print(f"  {name}: {largest}, root mean square {whole:.3f} (of errors {least:.3f})")
    for d, n_chains, own in (
        (8, 0, False),
        (10, 0, False),
        (10, 32, False),
        (15, 32, False),
        (20, 32, False),
        (10, 32, True),
    ):
        x = np.random.default_rng(1).integers(0, 2, (300, 4, d))
        kernel, rng = kernel_of(x, own, n_chains), np.random.default_rng(1)
        state = kernel.init(rng)
        for _ in range(5):
            state, _ = kernel.step(rng, state)
        start = process_time()
        for _ in range(20):
            state, _ = kernel.step(rng, state)
        how = f"{n_chains} chains a transition" if n_chains else "tables"
        took = 1e3 * (process_time() - start) / 20
        print(f"{d} items, 300 people, 4 waves{', own intercepts' if own else ''}, {how}: {took:.1f} ms a step")


if __name__ == "__main__":
    main()
