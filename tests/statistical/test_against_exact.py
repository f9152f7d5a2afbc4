"""Reversible jumps on persistent chains next to the exact sampler, on the tables that people have.

Inclusions must be within 0.02 of those of the exact sampler, but for Monte Carlo errors, and standard deviations of
parameters that always exist within 3 %.
"""

import os

import numpy as np
import pytest

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets, graphs
from bayesmrf.engines import Elimination
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Ordinal
from bayesmrf.posterior.edges import byte_chains, chain_jumps, iteration, reversible_jump
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.priors import Cauchy, SpikeSlab
from bayesmrf.runs import run
from tests.oracle.bounds import Comparison, units

AWAY, WIDER = 0.02, 0.03  # of an inclusion, and of a standard deviation
ERROR = 0.004  # of an inclusion, in a long run
LENGTH = {"alike": 20_000}  # draws of each long chain
needs_data = pytest.mark.skipif("BAYESMRF_DATA" not in os.environ, reason="needs the folder BAYESMRF_DATA")
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


def chain_of(n, sizes, rng):
    """Answers of a chain of items, of which each follows the one before in a third of the rows."""
    x = (rng.random((n, len(sizes))) * sizes).astype(int)
    for i in range(1, len(sizes)):
        scaled = x[:, i - 1] * (sizes[i] - 1) // max(sizes[i - 1] - 1, 1)
        x[:, i] = np.where(rng.random(n) < 1 / 3, scaled, x[:, i])
    x[: max(sizes)] = np.minimum(np.arange(max(sizes))[:, None], np.array(sizes) - 1)
    return x


def wenchuan(rng):
    return (datasets.wenchuan().iloc[:, :5],)


def adhd(rng):
    table = datasets.adhd()
    return table.drop(columns="group").iloc[:, :5], table["group"]


def three_groups(rng):
    group = np.repeat([0, 1, 2], [120, 200, 150])
    x = chain_of(len(group), (3, 3, 3, 3), rng)
    x[:, 0] = np.where((group == 2) & (rng.random(len(group)) < 0.5), x[:, 3], x[:, 0])
    return x, group


def unequal(rng):
    return (chain_of(400, (2, 3, 5, 7), rng),)


def unused(rng):
    """No row has the third level of the second item, which the others have."""
    x = chain_of(300, (4, 4, 4, 4), rng)
    x[x[:, 1] == 2, 1] = 3
    return (x,)


def rare(rng):
    """Three of 500 rows have the last level of the first item."""
    x = chain_of(500, (3, 3, 3, 3), rng)
    x[:, 0] = np.minimum(x[:, 0], 1)
    x[rng.choice(500, 3, replace=False), 0] = 2
    return (x,)


def alike(rng):
    """The last two items differ in a tenth of the rows."""
    x = chain_of(300, (3, 3, 3, 3), rng)
    x[:, 3] = np.where(rng.random(300) < 0.9, x[:, 2], x[:, 3])
    return (x,)


SETS = {f.__name__: f for f in (wenchuan, adhd, three_groups, unequal, unused, rare, alike)}
REAL = "wenchuan", "adhd"


def draws_of(given, method, rng, n_draws, n_chains=16, n_warmup=100, density=0.5):
    """By the kernel of the estimator."""
    options = {"method": method, "n_warmup": n_warmup, "progress": False}
    prior = SpikeSlab(density, Cauchy(0.5))
    if len(given) > 1:
        est, parts = CompareMRF(prior=prior, **options), (given[0], None, given[1])
    else:
        est, parts = SpikeSlabMRF(model="ordinal", prior=prior, **options), given
    kernel = est._prepare(*parts)[2]
    options = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": n_chains, "progress": False}
    return run.sample(kernel, random_state=rng, **options).values


def compared(found, exact):
    """Inclusions, which may be off by `AWAY` beyond their Monte Carlo errors."""
    by_batch = units(exact["included"].astype(float))
    error = by_batch.std(axis=0, ddof=1) / np.sqrt(len(by_batch))
    return Comparison().shares(found["included"], by_batch.mean(axis=0), bias=AWAY, error=error)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_data) if name in REAL else name for name in SETS])
def test_inclusions(name, rng):
    """The control is another prior of the density, by which nearly all edges exist."""
    given = SETS[name](rng)
    exact = draws_of(given, "exact", rng, 150)
    found = compared(draws_of(given, "reversible-jump", rng, 150), exact)
    assert found.holds, found
    assert not compared(draws_of(given, "reversible-jump", rng, 150, density=0.99), exact).holds


def test_six_of_forty_items(rng):
    """Candidates are among six items; the other items, without edges, change nothing. The control has six others."""
    x, pairs = chain_of(300, (3,) * 40, rng), graphs.complete(6).edges
    options = {"model": "ordinal", "prior": SpikeSlab(0.5, Cauchy(0.5)), "n_warmup": 100, "progress": False}
    given = {"n_draws": 100, "n_warmup": 100, "n_chains": 16, "random_state": rng, "progress": False}

    def draws(columns, **more):
        return run.sample(SpikeSlabMRF(**options, **more)._prepare(columns)[2], **given).values

    found = draws(x, candidates=pairs, method="reversible-jump")
    assert compared(found, draws(x[:, :6], method="exact")).holds
    assert not compared(found, draws(x[:, [0, 20, 3, 30, 4, 10]], method="exact")).holds


@pytest.mark.calibration
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_data) if name in REAL else name for name in SETS])
def test_inclusions_and_spreads_of_long_runs(name, rng):
    """Monte Carlo errors are below `ERROR` on both sides; standard deviations are within `WIDER`.

    Those are of parameters that always exist: of nodes, and of edges with an inclusion above 0.99.
    """
    given, found, errors = SETS[name](rng), {}, {}
    for method, n_draws in (("exact", 3000), ("reversible-jump", LENGTH.get(name, 6000))):
        draws = found[method] = draws_of(given, method, rng, n_draws, 32, 300)
        by_chain = draws["included"].mean(axis=1)
        errors[method] = by_chain.std(axis=0, ddof=1).max() / np.sqrt(len(by_chain))
    exact, jumps = found["exact"], found["reversible-jump"]
    share, r = exact["included"].mean(axis=(0, 1)), exact["included"].shape[2]
    always = np.append(share > 0.99, np.ones(exact["theta"].shape[-1] - r, bool)) if len(given) == 1 else slice(None)
    here, there = (d["theta"][..., always].reshape(*d["theta"].shape[:2], -1) for d in (jumps, exact))
    mean, sd = there.mean(axis=(0, 1)), there.std(axis=(0, 1))
    away, ratio = jumps["included"].mean(axis=(0, 1)) - share, here.std(axis=(0, 1)) / sd
    print(f"{name}: off by {np.abs(away).max():.4f}, {errors}, ratios {ratio.min():.3f} to {ratio.max():.3f}")
    assert max(errors.values()) < ERROR, errors
    wide = Comparison().means(((here - mean) / sd) ** 2, 1.0, bias=2 * WIDER)
    assert compared(jumps, exact).holds
    assert wide.holds, wide
    assert not Comparison().means(((here - mean) / sd) ** 2, 1.2, bias=2 * WIDER).holds  # the control


def three_items(rng, n=300):
    """The kernel of three unrelated items, and draws of the exact sampler."""
    x, model = rng.integers(0, 3, (n, 3)), Ordinal(graphs.complete(3), 3)
    prior, s_bar = SpikeSlab(0.5, Cauchy(0.5)), model.statistics(x.astype(np.int8))
    exact = SpikeSlabExact(Likelihood(model, s_bar, n, Elimination()), prior)
    options = ReversibleJump(256, n_iterations=10)
    kernel = SpikeSlabManyStates(model, s_bar, n, prior, options=options, n_adapt=60)
    given = {"n_draws": 80, "n_warmup": 60, "n_chains": 40, "random_state": rng, "progress": False}
    return kernel, given, run.sample(exact, **given).values


CONTROLS = {
    "right": (),
    "visits that the ratio does not allow for": ("log",),
    "chains that do not follow": ("follow_weights", "follow_edge", "redraw_ends", "resample", "sweep"),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_parts_of_an_iteration_that_are_left_out(name, rng, monkeypatch):
    """The iteration in plain Python, with functions that do nothing; the first has all."""
    kernel, given, exact = three_items(rng)
    monkeypatch.setattr(chain_jumps, "_jump", chain_jumps._jump.py_func)
    monkeypatch.setattr(byte_chains, "visit_all", chain_jumps.visit_all.py_func)
    monkeypatch.setattr(iteration, "visit", byte_chains.visit_in_bytes.py_func)
    monkeypatch.setattr(iteration, "refresh", byte_chains.refresh_bytes.py_func)
    monkeypatch.setattr(reversible_jump, "iterate", iteration.iterate.py_func)
    for part in CONTROLS[name]:
        monkeypatch.setattr(byte_chains if part in ("resample", "sweep") else chain_jumps, part, lambda *_: 0.0)
    found = compared(run.sample(kernel, **given).values, exact)
    assert found.holds == (name == "right"), found
