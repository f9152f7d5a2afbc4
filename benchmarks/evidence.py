"""Speed of the evidence on newsgroup postings, the workloads of Chen and Welling (2012).

Run ``python benchmarks/evidence.py [NAME ...]``; it needs the environment variable ``BAYESMRF_DATA``. Every workload
runs once in a separate process, so that peak memory is its own, with one thread (also for BLAS), after a small one of
the same kind that compiles.

laplace: 100 words, 100 postings, 9 hidden units, log Z by annealed importance sampling, and by the exact sum, which is
feasible. ais: the evidence by annealing parameters, 5 words, 3 hidden units, 100 postings, 100 chains. large: Laplace
with 29 hidden units, 3,029 parameters, where the exact sum is not feasible.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from timing import Seconds, arguments, clock, duration, machine, peak

from bayesmrf import datasets
from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.models import RestrictedBoltzmann
from bayesmrf.priors import Normal

N_DOCUMENTS, N_CHAINS, TEMPERATURES = 100, 100, 1000


def target_of(n_words: int, n_hidden: int, rng: np.random.Generator) -> RBMTarget:
    """Return the most frequent words in random postings."""
    words = datasets.news20()[0]
    words = words[words.sum().nlargest(n_words).index].to_numpy(dtype=np.int8)
    rows = words[:0]
    while not rows.any(axis=0).all():
        rows = words[rng.choice(len(words), N_DOCUMENTS, replace=False)]
        if n_words > 5:
            break
    rows, counts = np.unique(rows, axis=0, return_counts=True)
    return RBMTarget(RestrictedBoltzmann(n_words, n_hidden), rows, counts.astype(np.float64), Normal(1.0))


def timed(call: Any) -> tuple[Any, Seconds]:
    """What a call returns, and its times."""
    kept = []
    spent = clock(lambda: kept.append(call()))
    return kept[0], spent


def show(name: str, spent: Seconds, wanted: str = "") -> None:
    print(f"  {name}: wall {duration(spent.wall)}, CPU {duration(spent.cpu)}{f' ({wanted})' if wanted else ''}")


def steps(target: RBMTarget, log_z: str, rng: np.random.Generator) -> None:
    """Time the mode, log Z at the mode, and the total."""
    mode, first = timed(lambda: ModeSearch(log_z=log_z)(target, rng))
    found, rest = timed(lambda: Laplace(search=ModeSearch(log_z=log_z), scales=False)(target, rng, mode))
    whole = Seconds(first.wall + rest.wall, first.cpu + rest.cpu)
    print(f"F = {target.n_features}, log Z by {log_z}: log evidence {found.log_evidence:.1f} "
          f"± {found.standard_error:.1g} {found.status}")  # fmt: skip
    show("mode", first)
    if log_z == "ais":
        show("annealing for log Z alone", timed(lambda: target.anneal(mode.theta, rng, N_CHAINS, TEMPERATURES))[1],
             "target 10 s")  # fmt: skip
    show("all", whole, "target 60 s" if target.n_features < 3000 else "target 5 min")


def laplace(rng: np.random.Generator) -> None:
    target = target_of(100, 9, rng)
    for log_z in ("ais", "exact"):
        steps(target, log_z, rng)


def large(rng: np.random.Generator) -> None:
    steps(target_of(100, 29, rng), "ais", rng)


def ais(rng: np.random.Generator) -> None:
    target = target_of(5, 3, rng)
    AIS(n_chains=2, temperatures=2)(target, rng)
    for name, ladder in (("equal steps", "linear"), ("cubed", "cubic")):
        found, spent = timed(
            lambda ladder=ladder: AIS(n_chains=N_CHAINS, temperatures=TEMPERATURES, ladder=ladder)(target, rng)
        )
        print(f"{name}: log evidence {found.log_evidence:.2f} ± {found.standard_error:.2g}, "
              f"{found.parts['effective_chains']:.0f} effective chains")  # fmt: skip
        show("all", spent, "target 60 s")


WORKLOADS = {"laplace": laplace, "ais": ais, "large": large}


def main() -> None:
    args = arguments(__doc__, WORKLOADS)
    if args.one:
        rng = np.random.default_rng()
        small = target_of(5, 2, rng)
        Laplace(search=ModeSearch(log_z="ais", n_steps=10, n_states=1000), n_chains=2, temperatures=2)(small, rng)
        WORKLOADS[args.one](rng)
        print(f"  peak {peak():.2f} GiB")
        return
    print(machine(), flush=True)
    for name in args.names:
        print(f"\n{name}", flush=True)
        subprocess.run([sys.executable, __file__, "--one", name], check=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
