"""Simulation-based calibration (Talts et al. 2018) of the exact samplers of theta, on a model of four nodes.

Truth from the prior, data from the truth, a chain that knows only the data: the rank of each true parameter, and of the
likelihood at the truth, among nearly independent draws must be uniform. The default run is of two kernels
and short (other tests compare all kernels with a grid); ``pytest -m calibration`` runs all, 14 times as many.
"""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import CouplingFromThePast, Elimination, Persistent
from bayesmrf.likelihood import Hidden, Likelihood
from bayesmrf.methods import AuxiliaryVariable, Exchange, Langevin, Metropolis
from bayesmrf.models import Ising
from bayesmrf.models.clamped import Clamped
from bayesmrf.posterior.parameters.hamiltonian import HamiltonianKernel
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.posterior.parameters.pseudo_posterior import posterior_mode
from bayesmrf.priors import Normal
from bayesmrf.published.auxiliary_variable import AuxiliaryVariableKernel
from bayesmrf.published.exchange import ExchangeKernel
from tests.oracle.ranks import few_draws, p_value

N_RANKS, N = 8, 12
MODEL = Ising(graphs.cycle(4))
EXACT = Elimination()
PLAN = EXACT.prepare(MODEL)


def reference(likelihood, prior):
    """Where the posterior is: the auxiliary variable's chain sticks elsewhere."""
    known = Likelihood(MODEL, likelihood.s_bar, N, EXACT)
    return posterior_mode(known, prior, np.zeros(MODEL.n_features)).theta


# Kernel, steps between draws, and the engine of its likelihood.
CASES = {
    "metropolis": (lambda lik, prior: MetropolisKernel(lik, prior, np.zeros(8), Metropolis(0.8)), 25, EXACT),
    "adjusted Langevin": (
        lambda lik, prior: LangevinKernel(lik, prior, np.zeros(8), Langevin(0.8, adjusted=True), np.full(8, 0.3)),
        40,
        EXACT,
    ),
    "hamiltonian": (lambda lik, prior: HamiltonianKernel(lik, prior, np.zeros(8), scale=np.full(8, 0.4)), 2, EXACT),
    "exchange": (lambda lik, prior: ExchangeKernel(lik, prior, np.zeros(8), Exchange(0.8)), 12, EXACT),
    "exchange, coupling from the past": (
        lambda lik, prior: ExchangeKernel(lik, prior, np.zeros(8), Exchange(0.8)),
        12,
        CouplingFromThePast(),
    ),
    "auxiliary variable": (
        lambda lik, prior: AuxiliaryVariableKernel(lik, prior, reference(lik, prior), AuxiliaryVariable(0.5)),
        25,
        EXACT,
    ),
    "metropolis, missing values": (
        lambda lik, prior: MetropolisKernel(lik, prior, np.zeros(8), Metropolis(0.8)),
        15,
        EXACT,
    ),
    "exchange, missing values": (lambda lik, prior: ExchangeKernel(lik, prior, np.zeros(8), Exchange(0.8)), 15, EXACT),
}


def ranks(case, true_prior, prior, n_simulations, rng, spread=1):
    """Ranks (n_simulations, 9) of the true parameters and of the log likelihood at the truth."""
    build, thin, engine = CASES[case]
    thin *= spread
    out = []
    for _ in range(n_simulations):
        theta = true_prior.scale * rng.standard_normal(MODEL.n_features)
        states = EXACT.sample(MODEL, theta, PLAN, N, rng)
        s_bar, hidden = MODEL.statistics(states), None
        if case.endswith("missing values"):
            states[rng.random(states.shape) < 0.2] = -1
            other = EXACT if case.startswith("metropolis") else Persistent(n_chains=1)
            hidden = Hidden(Clamped(MODEL, states), other)
        kernel = build(Likelihood(MODEL, s_bar, N, engine, hidden), prior)
        draws = few_draws(kernel, rng, thin, n_ranks=N_RANKS)["theta"]
        known = Likelihood(MODEL, s_bar, N, EXACT, hidden and hidden._replace(engine=EXACT))
        value = [known.evaluate(t).log_likelihood for t in (theta, *draws)]
        out.append([*(draws < theta).sum(axis=0), np.sum(np.array(value[1:]) < value[0])])
    return np.array(out)


LONG = pytest.mark.calibration
SHORT = ["metropolis", "hamiltonian"]


@pytest.mark.parametrize(
    ("case", "n_simulations", "spread"),
    [(case, 56, 1) for case in SHORT] + [pytest.param(case, 800, 3, marks=[LONG]) for case in CASES],
)
def test_ranks_are_uniform(case, n_simulations, spread, rng):
    """More simulations see more of what draws have in common: those of the long run are 3 times as far apart."""
    assert p_value(ranks(case, Normal(0.5), Normal(0.5), n_simulations, rng, spread), N_RANKS) > 1e-7


@pytest.mark.parametrize(
    "case", ["metropolis", pytest.param("adjusted Langevin", marks=[LONG]), pytest.param("exchange", marks=[LONG])]
)
def test_a_wrong_prior_is_caught(case, rng):
    assert p_value(ranks(case, Normal(1.0), Normal(0.2), 56, rng), N_RANKS) < 1e-7
