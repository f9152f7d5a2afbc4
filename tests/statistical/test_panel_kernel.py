"""The kernel of panels: it leaves the posterior invariant, and its structures are those of an enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, expit, logsumexp

from bayesmrf.models.panel import Panel
from bayesmrf.posterior.conditionals.panel_hidden import PanelHidden
from bayesmrf.posterior.edges.panel_edges import PanelKernel, PanelState
from bayesmrf.priors import Beta, Cauchy, Gamma, LogisticBeta, Moment, Normal, SpikeSlab
from bayesmrf.states.panel_tables import panel_tables
from tests.helpers.own_slab import Laplace
from tests.long import few

ALPHA = 1e-6  # false-alarm rate of each test
N_PEOPLE, N_WAVES = 60, 3
CASES = {
    "yes/no": ((2, 2), False, False, SpikeSlab(Beta(2, 2), Normal(1.0), 1.0)),
    "ordered": ((3, 2), False, False, SpikeSlab(Beta(2, 2), Cauchy(0.5), biases=LogisticBeta(2, 2))),
    "within": ((2, 3), True, False, SpikeSlab(0.4, Gamma(4, 4), 1.0)),
    "own": ((2, 2), False, True, SpikeSlab(0.5, Normal(1.0), 1.0)),
    "away from 0": ((2, 2), False, False, SpikeSlab(0.5, Moment(0.5), 1.0)),
    "learnt scale": ((2, 2), True, False, SpikeSlab(0.5, Cauchy(Gamma(3, 4)), 1.0)),
    "missing": ((3, 2), False, False, SpikeSlab(Beta(2, 2), Normal(1.0), 1.0)),
    "missing within": ((3, 2), True, False, SpikeSlab(0.5, Normal(1.0), 1.0)),
    "missing own": ((2, 2), False, True, SpikeSlab(0.5, Normal(1.0), 1.0)),
    "own within": ((3, 2), True, True, SpikeSlab(Beta(1, 1), Normal(0.7), 1.0)),
}


def from_prior(rng, model, prior, own):
    """Draw all that is unknown from the prior, in the words of the documentation."""
    d, e = model.n_nodes, model.n_edges
    kind = np.append(1 - np.eye(d, dtype=int).ravel(), np.full(e - d * d, 2))
    density = prior.density
    p0 = rng.beta(density.a, density.b, 3) if isinstance(density, Beta) else np.full(3, float(density))
    slab = prior.slab
    learnt = slab if isinstance(slab, Gamma) else slab.scale if isinstance(slab.scale, Gamma) else None
    drawn = None if learnt is None else rng.gamma(learnt.shape, 1 / learnt.rate)
    precision = slab.scale**-2.0 if drawn is None else drawn if slab is learnt else drawn**-2.0
    weights = rng.standard_normal(e) * precision**-0.5
    if isinstance(slab, Cauchy | Moment):  # by the inverse of the distribution function; the taper of learnt scales
        a = 0.0005 * np.sinh(np.linspace(-14, 14, 20_001))  # is relative to them
        density = np.exp(-0.5 * (a / 50 * (1 if learnt else precision**-0.5)) ** 2)
        density *= a**2 / (1 + a**2) ** 2 if isinstance(slab, Moment) else 1 / (1 + a**2)
        mass = (density * np.gradient(a)).cumsum()
        weights = np.interp(rng.random(e), mass / mass[-1], a) * precision**-0.5
    weights *= rng.random(e) < p0[kind]
    n = model.n_features - e
    biases = rng.standard_normal(n) * prior.bias_scale
    if prior.biases is not None:
        share = rng.beta(prior.biases.a, prior.biases.b, n)
        biases = np.log(share / (1 - share))
    theta = np.concatenate([weights, biases])
    if not own:
        return PanelState(theta, p0, precision, np.zeros((0, d)), np.zeros((0, 0)), np.zeros((0, 0)))
    scales = 1 / rng.gamma(0.5, 1.0, d)  # Huang and Wand: alpha ~ InverseGamma(1/2, 1)
    covariance = stats.invwishart.rvs(2 + d - 1, np.diag(4 / scales), random_state=rng)
    slope = rng.standard_normal((d, d)) @ np.linalg.cholesky(covariance).T
    return PanelState(theta, p0, precision, np.zeros((N_PEOPLE, d)), slope, covariance)


def log_weights(model, theta, before, own):
    """Return log weights of all states (..., n_states) after rows ``before`` (n, d), and the states.

    ``theta`` (..., n_features) has other dimensions before that of rows.
    """
    d = model.n_nodes
    states = np.array(list(itertools.product(*map(range, model.sizes))))
    lagged = theta[..., : d * d].reshape(*theta.shape[:-1], d, d)
    out = (before @ lagged + own) @ states.T
    at = d * d
    for u, v in itertools.combinations(range(d), 2) if model.within else ():
        out = out + theta[..., at, None, None] * states[:, u] * states[:, v]
        at += 1
    for i, m in enumerate(model.sizes):
        for k in range(1, m):
            out = out + theta[..., at, None, None] * (states[:, i] == k)
            at += 1
    return out, states


def simulate(rng, model, state, first):
    rows = [first]
    own = state.own if len(state.own) else 0.0
    for _ in range(N_WAVES - 1):
        w, states = log_weights(model, state.theta, rows[-1], own)
        p = np.exp(w - logsumexp(w, axis=-1, keepdims=True)).cumsum(axis=-1)
        rows.append(states[np.minimum((p < rng.random((len(p), 1))).sum(axis=-1), len(states) - 1)])
    return rows


def stationary(rng, case, n, wrong=False):
    """Return functions of the state before and after steps from truths of the prior, on data of these: (2, n, k)."""
    sizes, within, own, prior = CASES[case]
    model = Panel(("a", "b"), sizes, within)
    first = np.array([rng.integers(0, m, N_PEOPLE) for m in sizes]).T
    centred = first - first.mean(axis=0) if own else np.zeros((0, 2))
    person = np.repeat(np.arange(N_PEOPLE), N_WAVES - 1)
    found = np.empty((2, n), object)
    for t in range(n):
        state = from_prior(rng, model, prior, own)
        if own:
            noise = rng.standard_normal((N_PEOPLE, 2)) @ np.linalg.cholesky(state.covariance).T
            state = state._replace(own=centred @ state.slope + noise)
        if case.startswith("missing") and not own:  # missing answers of first waves have this prior
            first = np.array([rng.integers(0, m, N_PEOPLE) for m in sizes]).T
        rows = np.stack(simulate(rng, model, state, first), axis=1)  # (person, wave, item)
        if case.startswith("missing"):
            found[:, t] = with_missing(rng, model, state, rows, centred, prior, wrong)
            continue
        before, after = rows[:, :-1].reshape(-1, 2), rows[:, 1:].reshape(-1, 2)
        if wrong:  # the row before is that of another person
            before = np.roll(before, N_WAVES - 1, axis=0)
        kernel = PanelKernel(panel_tables(model, before, after, person if own else None), centred, prior)
        found[0, t] = quantities(state)
        for _ in range(3):
            state, _ = kernel.step(rng, state)
        found[1, t] = quantities(state)
    return np.array(found.tolist(), dtype=float)


def with_missing(rng, model, state, rows, centred, prior, wrong):
    """Return quantities before and after steps in which three of ten answers are missing, at random.

    First waves are uniform. Those of people with own intercepts are not missing, as these are given the first wave.
    """
    x, at = rows.reshape(-1, 2), np.arange(len(rows) * N_WAVES).reshape(-1, N_WAVES)
    gone = rng.random(x.shape) < 0.3
    gone[at[:, 0]] &= not len(centred)
    cells = np.argwhere(gone)
    most = max(model.sizes)
    share = np.array([[-np.log(m) if k < m else -np.inf for k in range(most)] for m in model.sizes])
    person = np.repeat(np.arange(len(rows)), N_WAVES)
    before, after = at[:, :-1].ravel(), at[:, 1:].ravel()
    given = np.where(gone, 0, x)
    if wrong:  # an observed answer is exchanged with that of another person
        given[~gone[:, 0], 0] = np.roll(given[~gone[:, 0], 0], 3)
    hidden = PanelHidden(given, cells, before, after, person, share)
    person_of = person[after] if len(centred) else None
    tables = panel_tables(model, given[before], given[after], person_of)
    kernel = PanelKernel(tables, centred, prior, hidden=hidden, model=model)
    now = state._replace(missing=x[tuple(cells.T)].astype(np.int8))
    out = [np.append(quantities(state), summed(x, gone, at))]
    for _ in range(3):
        now, _ = kernel.step(rng, now)
    x = x.copy()
    x[tuple(cells.T)] = now.missing
    return [*out, np.append(quantities(now), summed(x, gone, at))]


def summed(x, gone, at):
    """Sums of missing answers, and of products with the answers before and after."""
    y, row = np.where(gone, x, 0), x[at]
    return [
        *y.sum(axis=0),
        (y[at[:, 1:]] * row[:, :-1]).sum(),
        (y[at[:, :-1]] * row[:, 1:]).sum(),
        (y[:, 0] * x[:, 1]).sum(),
    ]


def quantities(state):
    parts = [
        state.theta,
        np.abs(state.theta),
        (state.theta[:-2] != 0).astype(float),
        state.densities,
        [state.precision],
    ]
    if len(state.own):
        spread = np.log(np.diag(state.covariance))
        parts += [spread, [state.covariance[0, 1] / np.sqrt(np.exp(spread.sum()))], state.slope.ravel(), state.own[0]]
    return np.concatenate(parts)


def p_values(found):
    """Return p-values that the states before and after have one distribution, of means and of ranks."""
    out = []
    for before, after in zip(found[0].T, found[1].T, strict=True):
        if np.ptp(before) == 0 or np.array_equal(before, after):
            continue
        out.append(stats.ks_2samp(before, after, method="asymp").pvalue)
        moved = np.arctan(after) - np.arctan(before)
        out.append(stats.ttest_1samp(moved, 0).pvalue)
    return np.array(out)


@pytest.mark.parametrize("case", few(CASES, "away from 0", "learnt scale", "own within", "missing own"))
def test_steps_leave_prior_times_likelihood_invariant(case, module_rng):
    """Truths of the prior, and states after steps on data drawn given these, have one distribution (Geweke)."""
    p = p_values(stationary(module_rng, case, 700))
    assert p.min() > ALPHA / len(p)


@pytest.mark.parametrize("case", ["yes/no", "missing"])
def test_control_other_rows_change_the_distribution(case, module_rng):
    p = p_values(stationary(module_rng, case, 700, wrong=True))
    assert p.min() < ALPHA / len(p)


# Structures by enumeration.

ENUMERATED = {
    "lagged": (False, SpikeSlab(0.3, Normal(0.8), 2.0)),
    "lagged, Cauchy, learnt": (False, SpikeSlab(Beta(1, 1), Cauchy(1.0), 3.0)),
    "within": (True, SpikeSlab(0.5, Cauchy(1.0), 2.0)),
    "lagged, from outside": (False, SpikeSlab(0.4, Laplace(0.8), 2.0)),
}

GRID = np.linspace(-300, 300, 60_001)
TOP = np.trapezoid(np.exp(-0.5 * (GRID / 50) ** 2) / (1 + GRID**2), GRID)  # of a Cauchy slab of scale 1, tapered


def log_prior(prior, weights, biases):
    """Return the log density of the parameters that are not 0, the taper of a Cauchy slab and its constant included."""
    out = stats.norm.logpdf(biases, scale=prior.bias_scale).sum(axis=-1)
    if isinstance(prior.slab, Normal):
        return out + stats.norm.logpdf(weights, scale=prior.slab.scale).sum(axis=-1)
    if isinstance(prior.slab, Laplace):
        return out + stats.laplace.logpdf(weights, scale=prior.slab.scale).sum(axis=-1)
    return out + (-0.5 * (weights / 50) ** 2 - np.log1p(weights**2) - np.log(TOP)).sum(axis=-1)


def log_evidence(rng, model, prior, there, before, after, n=8000):
    """Return the log evidence of a structure by importance sampling around its mode, from a multivariate t."""
    from scipy.optimize import minimize

    d, e = model.n_nodes, model.n_edges
    free = np.append(np.flatnonzero(there), np.arange(e, model.n_features))
    rows, times = np.unique(np.hstack([before, after]), axis=0, return_counts=True)

    def log_density(x, prior=prior):
        theta = np.zeros((*x.shape[:-1], model.n_features))
        theta[..., free] = x
        w, states = log_weights(model, theta, rows[:, :d], 0.0)
        at = (states == rows[:, None, d:]).all(axis=2).argmax(axis=1)
        own = np.take_along_axis(w, np.broadcast_to(at[:, None], (*w.shape[:-1], 1)), -1)[..., 0]
        return log_prior(prior, x[..., : there.sum()], x[..., there.sum() :]) + (
            (own - logsumexp(w, axis=-1)) * times
        ).sum(axis=-1)

    guide = replace(prior, slab=Cauchy(1.0)) if isinstance(prior.slab, Laplace) else prior  # it has a kink at 0
    mode = minimize(lambda x: -log_density(x, guide), np.zeros(len(free)))
    q = stats.multivariate_t(mode.x, 1.3 * mode.hess_inv, df=6, seed=rng)
    x = q.rvs(n).reshape(n, len(free))
    return logsumexp(log_density(x) - q.logpdf(x)) - np.log(n)


@pytest.fixture(scope="module", params=ENUMERATED)
def enumerated(request, module_rng):
    """Draws of chains, inclusion and log10 Bayes factors by enumeration of all structures, and the prior."""
    within, prior = ENUMERATED[request.param]
    model = Panel(("a", "b"), (2, 2), within)
    before = module_rng.integers(0, 2, (60, 2))
    truth = np.array([0.9, 0.8, 0.0, 0.3, *([0.8] if within else []), -0.5, -0.4])
    w, states = log_weights(model, truth, before, 0.0)
    p = np.exp(w - logsumexp(w, axis=1, keepdims=True)).cumsum(axis=1)
    after = states[(p < module_rng.random((60, 1))).sum(axis=1)]
    e, kind = model.n_edges, np.array([0, 1, 1, 0, 2])[: model.n_edges]
    structures = np.array(list(itertools.product([False, True], repeat=e)))
    found = np.array([log_evidence(module_rng, model, prior, there, before, after) for there in structures])
    for k in range(3):
        n, most = structures[:, kind == k].sum(axis=1), (kind == k).sum()
        if isinstance(prior.density, Beta):
            found += betaln(prior.density.a + n, prior.density.b + most - n) - betaln(prior.density.a, prior.density.b)
        else:
            found += n * np.log(prior.density) + (most - n) * np.log(1 - prior.density)
    share = np.exp(found - logsumexp(found))
    inclusion = share @ structures
    kernel = PanelKernel(panel_tables(model, before, after), np.zeros((0, 2)), prior)
    draws = []
    for _ in range(10):
        state = kernel.init(module_rng)
        infos = []
        for t in range(1100):
            state, info = kernel.step(module_rng, state)
            infos += [info] if t >= 100 else []
        draws.append(infos)
    return draws, structures, share, inclusion, prior


def z_of(values, truth):
    """Return how many standard errors chains (n_chains, n) are from the truth; with Student's quantile."""
    error = np.maximum(values.std(axis=0, ddof=1) / np.sqrt(len(values)), 2e-3)  # importance sampling has one, too
    return np.abs(values.mean(axis=0) - truth) / error, stats.t.isf(ALPHA / (2 * values.shape[1]), len(values) - 1)


def test_structures_are_those_of_an_enumeration(enumerated):
    draws, structures, share, *_ = enumerated
    code = 2 ** np.arange(structures.shape[1])
    order = np.argsort(structures @ code)
    each = [[np.bincount([i.included @ code for i in chain], minlength=len(share)) / len(chain)] for chain in draws]
    z, bound = z_of(np.concatenate(each), share[order])
    assert z.max() < bound


def test_control_other_prior_odds_are_seen(enumerated):
    draws, structures, share, *_ = enumerated
    other = share * np.exp(0.5 * structures.sum(axis=1))
    included = np.array([np.mean([i.included for i in chain], axis=0) for chain in draws])
    z, bound = z_of(included, other @ structures / other.sum())
    assert z.max() > bound


def test_factors_are_those_of_an_enumeration(enumerated):
    """Averages of full conditionals are inclusions, and Bayes factors with a fixed density have an error below 0.1."""
    draws, structures, _, inclusion, prior = enumerated
    known = [[i for i in chain if np.isfinite(i.log_factor).all()] for chain in draws]
    assert all(20 < len(chain) < 90 for chain in known)
    p1 = np.array([np.mean([expit(i.log_factor + i.prior_log_odds) for i in chain], axis=0) for chain in known])
    z, bound = z_of(p1, inclusion)
    assert z.max() < bound
    if not isinstance(prior.density, Beta):
        p0, e = p1.mean(axis=0), structures.shape[1]
        odds = np.log10(p0 / (1 - p0)) - np.log10(inclusion / (1 - inclusion))
        assert np.abs(odds).max() < 0.1, e
