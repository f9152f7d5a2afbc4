"""Every model x kernel x missing values of `BayesianMRF` that `support` lists, against a posterior by enumeration.

Cells without missing values of yes/no models are in `test_posterior_kernels`, which has several engines for each
kernel. The posterior of the others is that of draws from a Student t distribution around its mode, weighted.
"""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_t

from bayesmrf import BayesianMRF, families, graphs, support
from bayesmrf.methods import AuxiliaryVariable, Exchange, Langevin, Metropolis
from bayesmrf.priors import Normal
from tests.oracle.bounds import Comparison

PAIR, N, DATA, SCALE = graphs.path(2), 60, 5, 1.0
N_CHAINS, N_DRAWS, N_WARMUP = 24, 60, 40
KERNELS = {
    "metropolis": Metropolis(),
    "exchange": Exchange(),
    "langevin": Langevin(epsilon=0.1, momentum=0.9),
    "auxiliary-variable": AuxiliaryVariable(),
}
ELSEWHERE = {(model, False) for model in ("agreement", "boltzmann", "ising")}  # test_posterior_kernels
CELLS = {
    (model, kernel, missing): kind
    for (model, prior), row in support().loc["BayesianMRF"].iterrows()
    for kernel, kind in row.items()
    if kind in ("exact", "approximate") and (model, missing := prior.endswith("missing values")) not in ELSEWHERE
}


@cache
def problem_of(name, missing):
    """Rows of two nodes of which a quarter of the answers may be missing, all states, and their features."""
    rng, sizes = np.random.default_rng(DATA), {"potts": (3, 3), "ordinal": (3, 2), "nominal": (3, 3)}.get(name, (2, 2))
    model = families.FAMILIES.row(name).options().on(PAIR, sizes, True)
    x = rng.integers(0, sizes, size=(N, 2)).astype(float)
    x[: N // 2, 1] = np.minimum(x[: N // 2, 0], sizes[1] - 1)
    gone = rng.random(x.shape) < 0.25 * missing
    x[gone & ~gone.all(axis=1, keepdims=True)] = np.nan  # a row without values would be left out
    states = np.array(list(np.ndindex(sizes)), np.int8)
    return x, states, np.array([model.statistics(s[None]) for s in states])


def posterior(x, states, features, scale, n=40_000):
    """Means of theta and of its square, and their standard errors."""
    rng, seen = np.random.default_rng(1), (np.isnan(x)[:, None] | (x[:, None] == states)).all(axis=2)

    def log_density(theta):
        log_weight = theta @ features.T
        top = log_weight.max(axis=-1, keepdims=True)
        weight = np.exp(log_weight - top)
        log_p = np.log(weight @ seen.T).sum(axis=-1) - len(x) * np.log(weight.sum(axis=-1))
        return log_p - 0.5 * (theta**2).sum(axis=-1) / scale**2

    found = minimize(lambda t: -log_density(t), np.zeros(features.shape[1]))
    q = multivariate_t(found.x, 1.3 * found.hess_inv, df=8)
    theta = q.rvs(n, random_state=rng)
    log_w = log_density(theta) - q.logpdf(theta)
    w = np.exp(log_w - log_w.max())
    values = np.concatenate([theta, theta**2], axis=1)
    mean = w @ values / w.sum()
    return mean, np.sqrt(w**2 @ (values - mean) ** 2) / w.sum()


@cache
def truth_of(name, missing, wrong=False):
    """The posterior; a wrong one is that of zeros in place of missing answers, or of another prior."""
    x, states, features = problem_of(name, missing)
    return posterior(np.nan_to_num(x) if wrong else x, states, features, 3.0 if wrong and not missing else SCALE)


@cache
def draws_of(name, kernel, missing, seed):
    x, _, _ = problem_of(name, missing)
    est = BayesianMRF(
        PAIR, model=name, kernel=KERNELS.get(kernel, kernel), prior=Normal(SCALE), n_draws=N_DRAWS, n_warmup=N_WARMUP,
        n_chains=N_CHAINS, random_state=seed, progress=False, n_jobs=1,
    ).fit(x)  # fmt: skip
    theta = est.posterior_["posterior"]["theta"].values
    return np.concatenate([theta, theta**2], axis=2)


def compared(name, kernel, missing, truth, seed):
    mean, error = truth
    approximate = CELLS[name, kernel, missing] == "approximate"
    bias = np.where(np.arange(len(mean)) < len(mean) // 2, 0.05, 0.15) if approximate else 0.0
    return Comparison().means(draws_of(name, kernel, missing, seed), mean, bias, error)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning", "ignore::bayesmrf.errors.PriorWarning")
@pytest.mark.parametrize(("name", "kernel", "missing"), CELLS)
def test_cells_have_the_posterior(name, kernel, missing, request):
    found = compared(name, kernel, missing, truth_of(name, missing), request.config.seed)
    assert found.holds, found
    if kernel == "gibbs":  # the control
        assert not compared(name, kernel, missing, truth_of(name, missing, wrong=True), request.config.seed).holds
