"""How exact the sampler with a bank of states is: against the exact method, against longer banks, and by calibration.

Run ``python benchmarks/bank_of_states.py [NAME ...] [--draws N] [--tables N] [--folder FOLDER]`` with names among:

* ``exact``: inclusions, means and standard deviations of parameters on small tables (with ``BAYESMRF_DATA``), against
  ``method="exact"``, two chains of ``--draws`` draws each.
* ``banks``: inclusions of all 17 items of Wenchuan from two banks with other random numbers, and from chains.
* ``reference``: the same inclusions from two banks of 204,800 states and 6,000 draws of each of two chains, from chains
  that follow the weights, 30,000 draws of each, and from a fit of each kind as it is by default, 3,000 draws of each;
  differences from the mean of the first three. Runs in ``--folder`` are not made again.
* ``ordered``, ``groups``, ``nominal``, ``missing``: `bayesmrf.calibrate` with runs until draws are good, ``--tables``
  tables of five items with three levels: 300 rows (``ordered-exact``: the same by the exact method), two groups of 300,
  300 rows of levels without an order, and 300 rows in which a fifth of the answers is missing. Those in ``--folder``
  are not made again.
"""

import time
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from timing import arguments, duration, machine, table

from bayesmrf import CompareMRF, SpikeSlabMRF, calibrate, datasets
from bayesmrf.estimators import bank_start
from bayesmrf.estimators import calibration as studies
from bayesmrf.estimators.planning import Truth
from bayesmrf.estimators.prior_truths import FromPrior
from bayesmrf.methods import ReversibleJump
from bayesmrf.priors import Blocks, Cauchy, Gamma, Moment, SpikeSlab

QUIET = {"progress": False, "n_jobs": 1, "n_chains": 2, "random_state": 1}


def levels(rng: np.random.Generator) -> pd.DataFrame:
    """Columns of 2, 3, 4, 7 and 3 levels that depend on one factor."""
    z = rng.normal(size=(500, 1)) * [1, 0.8, 0.6, 0.9, 0.7] + rng.normal(size=(500, 5))
    cuts = [[0], [-0.5, 0.7], [-1, 0, 1], [-1.5, -1, -0.3, 0.3, 1, 1.6], [0, 1.9]]
    return pd.DataFrame({f"q{i}": np.digitize(z[:, i], cut) for i, cut in enumerate(cuts)})


def cases(rng: np.random.Generator) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return estimators, data and options."""
    five, adhd, items = datasets.wenchuan().iloc[:, :5].dropna(), datasets.adhd(), datasets.boredom()
    missing = five.mask(rng.random(five.shape) < 0.1)
    unequal = levels(rng)
    nominal = unequal.assign(q2=pd.Categorical(np.array(list("abcd"))[unequal["q2"]]))
    six = adhd.iloc[:, :6]
    duplicate = six.iloc[:, :4].assign(copy=np.where(rng.random(len(six)) < 0.03, 1 - six.iloc[:, 0], six.iloc[:, 0]))
    four = items.drop(columns="language").iloc[:, :4], items["language"]
    one: Any = SpikeSlabMRF
    return {
        "5 items": (one, (five,), {}),
        "a tenth missing": (one, (missing,), {}),
        "moment slab": (one, (five,), {"prior": SpikeSlab(slab=Moment(1.0))}),
        "gamma slab": (one, (five,), {"prior": SpikeSlab(slab=Gamma(2.0, 2.0))}),
        "learnt Cauchy slab": (one, (five,), {"prior": SpikeSlab(slab=Cauchy(Gamma(2.0, 2.0)))}),
        "6 yes/no": (one, (six,), {}),
        "6 yes/no, Ising": (one, (six,), {"model": "ising"}),
        "stochastic blocks": (one, (six,), {"prior": SpikeSlab(density=Blocks())}),
        "near-duplicates": (one, (duplicate,), {}),
        "2 to 7 levels": (one, (unequal,), {}),
        "nominal": (one, (nominal[["q0", "q1", "q2", "q4"]],), {}),
        "two languages": (CompareMRF, four, {}),
        "baselines absent": (CompareMRF, four, {"baseline": "spike-slab"}),
        "slab of thresholds": (CompareMRF, four, {"biases": "slab"}),
    }


def ess(x: np.ndarray) -> float:
    """Return the effective draws of x (n_chains, n_draws)."""
    return float(array_stats.ess(x, chain_axis=0, draw_axis=1))


def exact(n_draws: int) -> None:
    rows = []
    for name, (estimator, data, options) in cases(np.random.default_rng(5)).items():
        runs = []
        for method in (ReversibleJump(moments="bank"), "exact"):
            begin = time.process_time()
            fit = estimator(method=method, n_draws=n_draws, n_warmup=500, **QUIET, **options).fit(*data)
            posterior = fit.posterior_["posterior"]
            theta = posterior["theta"].values
            share = posterior["included"].values.mean(axis=(0, 1))
            runs.append((time.process_time() - begin, share, theta.reshape(2 * n_draws, -1)))
        (spent, share, theta), (spent_exactly, truth, other) = runs
        apart, sd = np.abs(share - truth), other.std(axis=0)
        shift = (np.abs(theta.mean(axis=0) - other.mean(axis=0))[sd > 0] / sd[sd > 0]).max()
        ratio = theta.std(axis=0)[sd > 0] / sd[sd > 0]
        rows.append((name, duration(spent), duration(spent_exactly), f"{apart.mean():.4f}", f"{apart.max():.4f}",
                     f"{shift:.2f}", f"{ratio.min():.2f} to {ratio.max():.2f}"))  # fmt: skip
    head = "", "bank", "exact", "mean", "largest", "shift, sd", "sd ratios"
    print(table(head, *rows))


def banks(n_draws: int) -> None:
    shares, items = {}, datasets.wenchuan()
    for name, moments, seed in (("bank", "bank", 0), ("another bank", "bank", 7), ("chains", "chains", 0)):
        bank_start.SEED = seed
        method = ReversibleJump(moments=moments)
        fit = SpikeSlabMRF(method=method, n_draws=n_draws, n_warmup=n_draws // 4, **QUIET).fit(items)
        shares[name] = fit.posterior_["posterior"]["included"].values.mean(axis=(0, 1))
    names = list(shares)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    apart = {pair: np.abs(shares[pair[0]] - shares[pair[1]]) for pair in pairs}
    print(table(("", "and", "mean", "largest"),
                *((a, b, f"{x.mean():.4f}", f"{x.max():.3f}") for (a, b), x in apart.items())))  # fmt: skip


def reference(folder: str) -> None:
    place, items, shares, errors = Path(folder or "."), datasets.wenchuan(), dict[str, Any](), dict[str, Any]()
    exact = {"large bank": ("bank", 1, 6000), "another large bank": ("bank", 2, 6000),
             "long chains": ("chains", 0, 30000)}  # fmt: skip
    runs = exact | {"bank": ("bank", 0, 3000), "chains": ("chains", 0, 3000)}
    usual = bank_start._LEAST, bank_start.MOST, bank_start._TIMES
    for name, (moments, seed, n_draws) in runs.items():
        file = place / f"reference-{name.replace(' ', '-')}.npz"
        if not file.exists():
            size = 100 * bank_start._CHAINS
            bank_start._LEAST, bank_start.MOST, bank_start._TIMES = (size, size, 100) if "large" in name else usual
            bank_start.SEED, fit_seed = seed, len(name)
            method = ReversibleJump(moments=moments)
            options = {**QUIET, "random_state": fit_seed}
            fit = SpikeSlabMRF(method=method, n_draws=n_draws, n_warmup=500, **options).fit(items)
            x = fit.posterior_["posterior"]["included"].values.astype(float)
            n_effective = np.array(
                [ess(x[:, :, e]) if x[:, :, e].std() > 0 else x[..., e].size for e in range(x.shape[2])]
            )
            np.savez(file, share=x.mean(axis=(0, 1)), n_effective=n_effective)
        with np.load(file) as kept:
            shares[name] = kept["share"]
            errors[name] = np.sqrt(shares[name] * (1 - shares[name]) / kept["n_effective"])
            clear = (shares[name] > 0.05) & (shares[name] < 0.95)
            print(f"{name}: {kept['n_effective'][clear].min():.0f} effective draws of the slowest inclusion")
    mean = np.mean([shares[name] for name in exact], axis=0)
    spread = np.sqrt(sum(errors[name] ** 2 for name in exact)) / len(exact)
    print(f"Monte Carlo standard errors of the mean: {spread.mean():.4f} on average, {spread.max():.4f} at most")
    apart = {name: np.abs(share - mean) for name, share in shares.items()}
    sizes = {name: (x / np.hypot(errors[name], spread).clip(1e-4)).max() for name, x in apart.items()}
    print(
        table(
            ("", "mean", "largest", "in its standard errors"),
            *((name, f"{x.mean():.4f}", f"{x.max():.3f}", f"{sizes[name]:.1f}") for name, x in apart.items()),
        )
    )


class Incomplete(Truth):
    """A network whose tables lack a fifth of the answers."""

    def table(self, n: int, rng: np.random.Generator) -> tuple[Any, tuple[np.ndarray, ...]]:
        X, groups = super().table(n, rng)
        return X.mask(rng.random(X.shape) < 0.2), groups


class FromPriorIncomplete(FromPrior):
    """Networks from the prior whose tables lack a fifth of the answers."""

    def truth(self, rng: np.random.Generator) -> Truth:
        truth = super().truth(rng)
        return Incomplete(*(getattr(truth, part.name) for part in fields(truth)))


def calibration(name: str, n_tables: int, folder: str) -> None:
    prior = SpikeSlab(density=0.5, slab=Cauchy(0.3), bias_scale=1.0)
    estimator: Any = CompareMRF if name == "groups" else SpikeSlabMRF
    fit = estimator(prior=prior, method="reversible-jump", n_chains=2, progress=False)
    if name == "ordered-exact":
        fit.set_params(method="exact", n_draws=1000, n_warmup=200)
    if name == "nominal":
        fit.set_params(model="nominal")
    if name == "missing":
        studies.FromPrior = FromPriorIncomplete
    n = 600 if name == "groups" else 300
    place = Path(folder or ".") / f"calibration-{name}"
    result = calibrate(fit, n=n, nodes=5, levels=3, replicates=n_tables, folder=place, progress=False)
    print(name, result.sentence)
    print(result.frame[["quantity", "p_adjusted", "coverage_90"]].describe().to_string())
    print(result.inclusion.to_string())


PARTS = ["exact", "banks", "reference", "ordered", "ordered-exact", "groups", "nominal", "missing"]


if __name__ == "__main__":
    args = arguments(__doc__ or "", PARTS, draws=4000, tables=100, folder="")
    print(machine())
    warnings.simplefilter("ignore")
    for each in args.names:
        if each == "reference":
            reference(args.folder)
        elif each in ("exact", "banks"):
            {"exact": exact, "banks": banks}[each](args.draws)
        else:
            calibration(each, args.tables, args.folder)
