"""Speed of learning which edges exist: cost of an iteration, and effective samples of inclusions per second.

Run ``python benchmarks/edges.py [NAME ...] [--seed N]`` with names among:

* ``iteration``: Algorithm 1 of Chen and Welling (2012) with 100 particles, processor time of an iteration at 12 nodes
  (66 candidates, target 5 us) and at 100 (4,950 candidates, target 60 us), on data of a sparse model.
* ``inclusion``: the three methods on one block model (Chen and Welling 2012, section 5) at n = 100, 1000 and 5000:
  effective samples per second of the uncertain indicators (inclusion in 0.05..0.95; the median edge), and the mean
  difference of inclusions from those of a long exact run.
* ``rare``: inclusion of an edge between two nodes that are 1 in few of 1,000 rows, by single-edge birth and death and
  by the exact method, on 20 data sets.
* ``alike``: R-hat and effective samples of the exact method and of single-edge birth and death, at the default number
  of draws, on seven data sets of five nodes, two of which differ in 2 to 4 of 2,000 rows, and the largest difference of
  their inclusions.
* ``extrapolated``: `reversible-jump` with moments extrapolated from one point against the exact method, on ten data
  sets of ``block_data`` and on 12 cells of `bayesmrf.datasets.retina50`.
* ``modes``: `reversible-jump` against the exact method on 1,000 rows of 12 nodes whose model has modes: rows follow one
  of two or three patterns but for 5 % of the entries, a complete graph, and a ring of strong edges.
* ``small``: default runs of the exact method and of `reversible-jump` on 500 rows of 10, 12, 14 and 16 nodes in two
  camps: effective samples per second of the uncertain edges, by which "auto" chooses the method.
* ``potts``: `reversible-jump` against the exact method, on six nodes of three states.
* ``lattice``: a default run on 1,000 rows of a 10x10 lattice: R-hat of edges, effective samples per second of those in
  doubt, and false edges.
* ``retina``: a default run on all rows of `bayesmrf.datasets.retina50` (which needs ``BAYESMRF_DATA``): minutes, R-hat
  of edges, and, of the predictive of 20 draws and of the maximum likelihood estimate, pair correlations, rows without a
  spike and rows with more than 15, from chains that start empty, full, or at rows of the data.
* ``senate``: groups of edges that may be absent, with groups of fields, on the votes of each session of
  `bayesmrf.datasets.senate109` (which needs ``BAYESMRF_DATA``), two chains: minutes, R-hat of the number of edges and
  of groups, and the log pseudo-likelihood of the votes of the other session.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
from arviz_stats.base import array_stats
from timing import arguments, duration, machine, table

from bayesmrf import datasets, graphs
from bayesmrf.engines import Elimination, Gibbs
from bayesmrf.estimators import GroupedMRF, SpikeSlabMRF
from bayesmrf.metrics import log_pseudo_likelihood
from bayesmrf.models import Agreement, Boltzmann, Ising
from bayesmrf.priors import Beta, Gamma, SpikeSlab
from bayesmrf.results.rank_diagnostics import rank_diagnostics
from bayesmrf.states.chain_flips import flip_clusters
from bayesmrf.states.persistent_chains import start_chains, start_rows, sweep, unpack
from bayesmrf.states.reference import ReferenceChains

# The prior of the paper.
QUIET = {"progress": False, "n_jobs": 1, "n_chains": 1, "prior": SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0))}


def block_data(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw states of 12 nodes in 3 groups: edges within with probability 0.8, positive; across 0.1."""
    graph = graphs.complete(12)
    u, v = graph.edges.T
    within = u // 4 == v // 4
    coupling = rng.normal(0, 0.5, 66) * (rng.random(66) < np.where(within, 0.8, 0.1))
    coupling[within] = np.abs(coupling[within])
    model, engine = Ising(graph), Elimination()
    return engine.sample(model, np.concatenate([coupling, rng.normal(0, 0.1, 12)]), engine.prepare(model), n, rng)


def lattice_data(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw states of a 10x10 lattice, after 1,000 Gibbs sweeps."""
    model = Ising(graphs.grid(10, 10))
    theta = np.concatenate([rng.normal(0, 0.5, 180), rng.normal(0, 0.1, 100)])
    return Gibbs(n_sweeps=1000).sample(model, theta, None, n, rng)


def iteration(rng: np.random.Generator) -> None:
    rows = [("nodes", "candidates", "edges", "an iteration", "target")]
    cases = ((12, block_data(100, rng), 200, "5 us"), (100, lattice_data(1000, rng), 30, "60 us"))
    for d, X, n_draws, target in cases:
        options = QUIET | {"method": "langevin"}
        SpikeSlabMRF(**options, n_draws=1, n_warmup=0).fit(X)
        cost, edges = [], 0.0
        for draws in (n_draws, 2 * n_draws):  # their difference excludes the start
            begin = time.process_time()
            est = SpikeSlabMRF(**options, n_draws=draws, n_warmup=0, random_state=0).fit(X)
            cost.append(time.process_time() - begin)
            edges = float(est.posterior_["posterior"]["included"].sum("edge").mean())
        each = (cost[1] - cost[0]) / (1000 * n_draws)
        rows.append((f"{d}", f"{d * (d - 1) // 2:,}", f"{edges:.0f}", duration(each), f"< {target}"))
    print(table(*rows))


def inclusion(rng: np.random.Generator) -> None:
    rows = [("n", "method", "time", "uncertain edges", "ESS/s, median", "mean |difference|")]
    for n in (100, 1000, 5000):
        X = block_data(n, rng)
        long = SpikeSlabMRF(method="exact", **QUIET | {"n_draws": 20_000}).fit(X)
        u, v = np.triu_indices(12, 1)
        known = long.inclusion_[u, v]
        doubt = np.flatnonzero((known > 0.05) & (known < 0.95))
        for method, n_draws in (("exact", 20_000), ("reversible-jump", 5000), ("langevin", 2000)):
            begin = time.process_time()
            est = SpikeSlabMRF(method=method, **QUIET | {"n_draws": n_draws}).fit(X)
            spent = time.process_time() - begin
            included = est.posterior_["posterior"]["included"].values
            ess = [array_stats.ess(included[:, :, e].astype(float), method="mean") for e in doubt]
            ess = np.where(np.isfinite(ess), ess, 0.0)  # a constant indicator has no effective sample size
            difference = np.abs(est.inclusion_[u, v] - known).mean()
            found = f"{np.median(ess) / spent:.3g}" if len(doubt) else ""
            rows.append((f"{n:,}", method, duration(spent), f"{len(doubt)}", found, f"{difference:.4f}"))
    print(table(*rows))


def rare_data(seed: int, one: int, other: int, common: int) -> np.ndarray:
    """Return 1,000 rows of four nodes: two correlated ones, and two with few ones, some of them in common."""
    rng = np.random.default_rng([33, seed])
    x = np.zeros((1000, 4), np.int8)
    x[:, 0] = rng.random(1000) < 0.5
    x[:, 1] = x[:, 0] ^ (rng.random(1000) < 0.3)
    x[:one, 2] = x[one - common : one - common + other, 3] = 1
    return x


def rare(_: np.random.Generator) -> None:
    rows = [("ones (in common)", "exact", "reversible-jump", "difference", "largest", "with a frequent node")]
    u, v = np.triu_indices(4, 1)
    for one, other, common in ((10, 10, 1), (4, 6, 2)):
        found = []
        for seed in range(20):
            X = rare_data(seed, one, other, common)
            found.append([SpikeSlabMRF(method=method, random_state=seed, progress=False).fit(X).inclusion_[u, v]
                          for method in ("exact", "reversible-jump")])  # fmt: skip
        exact, one_edge = np.array(found).transpose(1, 0, 2)
        away = one_edge - exact
        mean, error = away.mean(axis=0), away.std(axis=0, ddof=1) / 20**0.5
        worst = 1 + int(np.argmax(np.abs(mean[1:5])))  # pairs of a rare and a frequent node
        rows.append((f"{one} and {other} ({common})", f"{exact[:, 5].mean():.3f}", f"{one_edge[:, 5].mean():.3f}",
                     f"{mean[5]:.4f} +- {error[5]:.4f}", f"{np.abs(away[:, 5]).max():.3f}",
                     f"{mean[worst]:.4f} +- {error[worst]:.4f}"))  # fmt: skip
    print(table(*rows))


def alike_data(differ: int, noise: float, seed: int) -> np.ndarray:
    """Return 2,000 rows of five nodes in a chain of correlated ones; the last two differ in a few rows."""
    rng = np.random.default_rng([45, seed])
    x = rng.random((2000, 5)) < 0.5
    for i, share in ((1, 0.3), (2, 0.3), (3, noise)):
        x[:, i] = x[:, i - 1] ^ (rng.random(2000) < share)
    x[:, 4] = x[:, 3]
    x[rng.choice(2000, differ, replace=False), 4] ^= True
    return x.astype(np.int8)


def alike(_: np.random.Generator) -> None:
    rows = [("rows that differ", "noise", "method", "largest R-hat", "least ESS", "of draws", "largest difference")]
    for seed, (differ, noise) in enumerate(((2, 0.1), (3, 0.1), (4, 0.1), (2, 0.02), (4, 0.02), (3, 0.3), (4, 0.3))):
        X, known = alike_data(differ, noise, seed), None
        for method in ("exact", "reversible-jump"):
            est = SpikeSlabMRF(method=method, random_state=seed, progress=False).fit(X)
            theta = est.posterior_["posterior"]["theta"].values
            found = rank_diagnostics(theta)
            known = est.inclusion_ if known is None else known
            away = "" if method == "exact" else f"{np.abs(est.inclusion_ - known).max():.3f}"
            rows.append((f"{differ}", f"{noise}", method, f"{np.nanmax(found.r_hat):.3f}",
                         f"{np.nanmin(found.ess_bulk):,.0f}", f"{theta[..., 0].size:,}", away))  # fmt: skip
    print(table(*rows))


_AWAY = "method", "largest R-hat", "mean |difference|", "largest"


def away_from_exact(X: np.ndarray, seed: int, method: str = "reversible-jump", model: str = "boltzmann") -> list[str]:
    """Return method, R-hat, and how far its inclusions are from those of the exact method: on average, and at most."""
    options = {"n_draws": 5000, "random_state": seed, "progress": False, "model": model}
    exact, est = (SpikeSlabMRF(method=m, **options).fit(X) for m in ("exact", method))
    away = np.abs(est.inclusion_ - exact.inclusion_)[np.triu_indices(X.shape[1], 1)]
    kind = "extrapolated" if "extrapolated" in est.posterior_.attrs["kind"] else method
    r_hat = np.nanmax(rank_diagnostics(est.posterior_["posterior"]["theta"].values).r_hat)
    return [kind, f"{r_hat:.3f}", f"{away.mean():.4f}", f"{away.max():.3f}"]


def extrapolated(_: np.random.Generator) -> None:
    rows = [("data", "n", "seed", *_AWAY)]
    for n in (5000, 20_000):
        for seed in range(3, 8):
            X = block_data(n, np.random.default_rng(seed))
            rows.append(("block", f"{n:,}", f"{seed}", *away_from_exact(X, seed)))
    X = datasets.retina50()
    busy = np.argsort(-X.sum(axis=0), kind="stable")[:12]
    rows.append(("retina", f"{len(X):,}", "", *away_from_exact(X[:, busy], 1)))
    print(table(*rows))


def pattern_data(shares: list[float], rng: np.random.Generator) -> np.ndarray:
    """Draw rows that follow one of several random patterns, of these shares, but for 5 % of their entries."""
    patterns = rng.random((len(shares), 12)) < 0.5
    return patterns[rng.choice(len(shares), 1000, p=shares)] ^ (rng.random((1000, 12)) < 0.05)


def coupled_data(graph: graphs.Graph, coupling: float, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of an Ising model with equal couplings."""
    model, engine = Ising(graph), Elimination()
    theta = np.repeat([coupling, 0.0], [model.n_edges, graph.n_nodes])
    return engine.sample(model, theta, engine.prepare(model), 1000, rng)


def modes(rng: np.random.Generator) -> None:
    """Show a table of differences from the exact method, and of what R-hat says of them."""
    data = {
        "two patterns, 90:10": pattern_data([0.9, 0.1], rng),
        "two patterns, 50:50": pattern_data([0.5, 0.5], rng),
        "three patterns": pattern_data([0.5, 0.3, 0.2], rng),
        "complete, coupling 0.3": coupled_data(graphs.complete(12), 0.3, rng),
        "ring, coupling 1.5": coupled_data(graphs.cycle(12), 1.5, rng),
    }
    rows = [("data", "seed", *_AWAY)]
    rows += [(name, f"{seed}", *away_from_exact(X, seed)) for name, X in data.items() for seed in (1, 2)]
    print(table(*rows))


def small(_: np.random.Generator) -> None:
    rows = [("nodes", "method", "processor time", "uncertain", "median ESS a second")]
    for d in (10, 12, 14, 16):
        rng = np.random.default_rng(d)
        X = ((rng.random((500, 2)) < 0.5)[:, np.arange(d) % 2] ^ (rng.random((500, d)) < 0.3)).astype(np.int8)
        for method in ("exact", "reversible-jump"):
            options = {"method": method, "random_state": 1, "progress": False}
            SpikeSlabMRF(**options, n_draws=20, n_chains=1).fit(X)  # compiles
            begin = time.process_time()
            included = SpikeSlabMRF(**options).fit(X).posterior_["posterior"]["included"].values.astype(float)
            spent, share = time.process_time() - begin, included.mean(axis=(0, 1))
            doubt = (share > 0.05) & (share < 0.95)
            ess = np.median(rank_diagnostics(included).ess_bulk[doubt])
            rows.append((f"{d}", method, duration(spent), f"{doubt.sum()}", f"{ess / spent:,.0f}"))
    print(table(*rows))


def potts(_: np.random.Generator) -> None:
    rows = [("n", *_AWAY)]
    for n in (300, 2000):
        rng = np.random.default_rng(n)
        X = rng.integers(0, 3, (n, 6))
        for i in range(1, 6):  # a chain, of which each node copies the one before in a third of the rows
            X[:, i] = np.where(rng.random(n) < 1 / 3, X[:, i - 1], X[:, i])
        rows.append((f"{n:,}", *away_from_exact(X, 1, "reversible-jump", "potts")))
    print(table(*rows))


def lattice(rng: np.random.Generator) -> None:
    begin = time.process_time()
    est = SpikeSlabMRF(random_state=1, progress=False).fit(lattice_data(1000, rng))
    spent, draws = time.process_time() - begin, est.posterior_["posterior"]
    included, found = draws["included"].values, est.inclusion_[*est.edges_.T]
    edges, weights = rank_diagnostics(included.astype(float)), rank_diagnostics(draws["theta"].values)
    doubt = (found > 0.05) & (found < 0.95)
    ess = np.median(edges.ess_bulk[doubt])
    true = (np.abs(np.diff(est.edges_, axis=1))[:, 0] == 10) | (
        (np.diff(est.edges_, axis=1)[:, 0] == 1) & (est.edges_.max(axis=1) % 10 > 0)
    )
    rows = [("processor time", "largest R-hat of an edge", "of a parameter", "uncertain", "median ESS", "a second",
             "edges", "false")]  # fmt: skip
    rows.append((duration(spent), f"{np.nanmax(edges.r_hat):.3f}", f"{np.nanmax(weights.r_hat):.3f}",
                 f"{doubt.sum()}", f"{ess:,.0f}", f"{ess / spent:.3g}", f"{(found > 0.5).sum()}",
                 f"{((found > 0.5) & ~true).sum()}"))  # fmt: skip
    print(table(*rows))


def correlations(products: np.ndarray) -> np.ndarray:
    """Return the correlations of all pairs, given the means of products of nodes."""
    mean = products.diagonal()
    covariance = products - np.outer(mean, mean)
    scale = np.sqrt(covariance.diagonal())
    return (covariance / np.outer(scale, scale))[np.triu_indices(len(mean), 1)]


def retina(rng: np.random.Generator) -> None:
    X = datasets.retina50()
    begin = time.perf_counter()
    est = SpikeSlabMRF(random_state=1, progress=False).fit(X)
    spent, draws = time.perf_counter() - begin, est.posterior_["posterior"]
    theta, included = draws["theta"].values, draws["included"].values
    r, doubt = included.shape[-1], (est.inclusion_ > 0.05) & (est.inclusion_ < 0.95)
    weights, edges = rank_diagnostics(theta[..., :r]), rank_diagnostics(included.astype(float))
    rows = [("minutes", "edges", "uncertain", "R-hat of weights", "of edges", "least ESS")]
    rows.append((f"{spent / 60:.2f}", f"{included.sum(axis=-1).mean():.0f}", f"{doubt.sum() // 2}",
                 f"{np.nanmax(weights.r_hat):.4f}", f"{np.nanmax(edges.r_hat):.4f}",
                 f"{np.nanmin(weights.ess_bulk):,.0f}"))  # fmt: skip
    print(table(*rows))
    thetas = theta.reshape(-1, theta.shape[-1])
    some = thetas[np.linspace(0, len(thetas) - 1, 20).astype(int)]
    predictive(X, {"20 draws": some, "maximum likelihood": most_likely(X, rng)[None]}, rng)


def senate(_: np.random.Generator) -> None:
    rows = [("trained on", "minutes", "processor time", "edges", "R-hat", "ESS", "groups", "R-hat", "ESS",
             "test log pseudo-likelihood")]  # fmt: skip
    votes = {session: datasets.senate109(session) for session in (1, 2)}
    for session, train in votes.items():
        wall, spent = time.perf_counter(), time.process_time()
        est = GroupedMRF(candidates="complete", fields="grouped", n_draws=2400, n_warmup=400, n_chains=2,
                         random_state=1, progress=False).fit(train)  # fmt: skip
        wall, spent = time.perf_counter() - wall, time.process_time() - spent
        draws = est.posterior_["posterior"]
        numbers = np.stack([draws["included"].values.sum(axis=-1), draws["n_groups"].values], axis=-1)
        found, mean = rank_diagnostics(numbers.astype(float)), numbers.mean(axis=(0, 1))
        shown = [f"{wall / 60:.1f}", duration(spent)]
        for k in range(2):
            shown += [f"{mean[k]:.1f}", f"{found.r_hat[k]:.3f}", f"{found.ess_bulk[k]:,.0f}"]
        model = Agreement(graphs.Graph(train.shape[1], est.edges_), fields=True)
        test = (votes[3 - session].to_numpy() + 1) // 2  # votes are -1 and 1
        rows.append((f"session {session}", *shown, f"{log_pseudo_likelihood(model, est.theta_, test):,.0f}"))
    print(table(*rows))


def most_likely(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the maximum likelihood estimate of all pairs, with a prior so wide that it is bounded."""
    model = Boltzmann(graphs.complete(X.shape[1]))
    chains = ReferenceChains(model, model.statistics(X), len(X), np.full(model.n_features, 1e-4), rng)
    found, misfit = chains.climb()
    print(f"maximum likelihood within {misfit:.1f} standard deviations along the worst axis")
    return found.theta


def predictive(X: np.ndarray, models: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """Show how far models are from the data, by chains that start empty, full, or at rows of the data."""
    n_chains, n_nodes, graph = 4096, X.shape[1], graphs.complete(X.shape[1])
    x, active = X.astype(np.float32), X.sum(axis=1)
    known = correlations((x.T @ x).astype(float) / len(x))
    rows = [("model", "start", "correlations, rmse", "r", "no spike", "more than 15 (largest)"),
            ("data", "", "", "", f"{(active == 0).mean():.4f}", f"{(active > 15).mean():.5f}")]  # fmt: skip
    for (name, thetas), start in product(models.items(), ("empty", "full", "data")):
        products, few, many = np.zeros((n_nodes, n_nodes)), [], []
        for point in thetas:
            blocks = unpack(start_chains(n_chains, n_nodes, rng), n_chains)
            blocks.states[:] = start == "full"
            if start == "data":
                some = X[rng.choice(len(X), n_chains)].T
                blocks.states[:] = some.reshape(n_nodes, -1, blocks.states.shape[2]).transpose(1, 0, 2)
            present, found = start_rows(graph, point[: graph.n_edges] != 0), []
            for j in range(200 + 500):
                flip_clusters(rng, blocks, present, point)
                sweep(blocks, present, point)
                if j >= 200 and j % 5 == 0:
                    x = blocks.states.transpose(1, 0, 2).reshape(n_nodes, -1).astype(np.float32)
                    active = x.sum(axis=0)
                    products += x @ x.T / n_chains / 100 / len(thetas)
                    found.append(((active == 0).mean(), (active > 15).mean()))
            few.append(np.mean(found, axis=0)[0])
            many.append(np.mean(found, axis=0)[1])
        mine = correlations(products)
        rows.append((name, start, f"{np.sqrt(np.mean((mine - known) ** 2)):.4f}",
                     f"{np.corrcoef(mine, known)[0, 1]:.4f}", f"{np.mean(few):.4f}",
                     f"{np.mean(many):.5f} ({max(many):.5f})"))  # fmt: skip
    print(table(*rows))


PARTS: dict[str, Callable[[np.random.Generator], None]] = {
    "iteration": iteration,
    "inclusion": inclusion,
    "rare": rare,
    "alike": alike,
    "extrapolated": extrapolated,
    "modes": modes,
    "small": small,
    "potts": potts,
    "lattice": lattice,
    "retina": retina,
    "senate": senate,
}


def main() -> None:
    args = arguments(__doc__, PARTS, seed=0)
    print(machine())
    for name in args.names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PARTS[name](np.random.default_rng(args.seed))
        print(flush=True)


if __name__ == "__main__":
    main()
