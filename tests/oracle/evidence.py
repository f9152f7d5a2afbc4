r"""Evidence of tiny models by quadrature, without the package: of a target, sizes, graph, data and prior are read.

The likelihood is a sum over all joint states. The integral is a trapezoid sum over a lattice in coordinates in which
the posterior has about unit variance: of smooth integrands that fall off on all sides it converges geometrically, for
the normal density with an error of 2 F exp(-2 pi^2 / h^2) at spacing h. Lattices shifted at random have different
errors, and must agree.
"""

import itertools

import numpy as np
from scipy.special import betaln, log_expit, logsumexp

from bayesmrf import graphs
from bayesmrf.evidence.ordinal_target import OrdinalTarget
from bayesmrf.evidence.pairwise_target import PairwiseTarget
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.models import Agreement, Boltzmann, Nominal, Ordinal, RestrictedBoltzmann
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.priors import LogisticBeta, Normal

PRECISION = 1e-3  # nats by which shifted lattices may differ
DEPTH = 18.0  # nats below the best point seen, where the integrand is nothing


def features(target):
    """s(x, z) of all joint states, (2^n_visible, 2^n_hidden, n_features); the first unit changes last."""
    found = []
    if isinstance(target, RBMTarget):
        d, k = target.model.n_visible, target.model.n_hidden
        for x in itertools.product((0, 1), repeat=d):
            for z in itertools.product((0, 1), repeat=k):
                found.append([b * a for b in z for a in x] + list(x) + list(z))
        return np.array(found, dtype=float).reshape(2**d, 2**k, -1)
    if isinstance(target, OrdinalTarget):
        nominal = target.model.name == "nominal"
        return (nominal_features if nominal else ordinal_features)(target.model)[:, None]
    model, k = target.model, target.n_hidden
    d = model.graph.n_nodes - k
    for x in itertools.product((0, 1), repeat=d + k):
        s = [2 * a - 1 for a in x]
        if model.name == "agreement":
            row = [x[u] == x[v] for u, v in model.graph.edges] + (s if model.fields else [])
        elif model.name == "ising":
            row = [s[u] * s[v] for u, v in model.graph.edges] + (s if model.fields else [])
        else:
            row = [x[u] * x[v] for u, v in model.graph.edges] + (list(x) if model.fields else [])
        if target.linear is not None:
            row = row @ target.linear.matrix.toarray()
        found.append(row)
    return np.array(found, dtype=float).reshape(2**d, 2**k, -1)


def sizes_of(target):
    """Number of states of each visible unit."""
    return target.model.sizes if isinstance(target, OrdinalTarget) else (2,) * target.states.shape[1]


def ordinal_features(model):
    """s(x) of all states, the last node changing first."""
    nodes = [(i, k) for i, m in enumerate(model.sizes) for k in range(1, m)]
    states = itertools.product(*map(range, model.sizes))
    return np.array(
        [[x[u] * x[v] for u, v in model.graph.edges] + [x[i] == k for i, k in nodes] for x in states], float
    )


def nominal_features(model):
    """s(x) of all states of nodes without order: the mean of the first j categories, against the next one."""
    seen = []
    for m in model.sizes:
        j = np.arange(1, m)
        seen.append(np.array([(x < j) - j * (x == j) for x in range(m)]) / np.sqrt(2 * j * (j + 1)))
    states = list(itertools.product(*map(range, model.sizes)))
    edges = [[np.outer(seen[u][x[u]], seen[v][x[v]]).ravel() for x in states] for u, v in model.graph.edges]
    return np.hstack([*edges, *([own[x[i]] for x in states] for i, own in enumerate(seen))])


def log_likelihoods(target, thetas):
    """Log p(X | theta) of each row of ``thetas``."""
    s = features(target)
    by_x = np.exp(thetas @ s.reshape(-1, s.shape[2]).T)  # tiny models: nothing overflows
    by_x = by_x.reshape(len(thetas), *s.shape[:2]).sum(axis=2)
    counts = np.zeros(len(s))
    for row, weight in zip(target.states, target.weights, strict=True):
        counts[np.ravel_multi_index(row, sizes_of(target))] += weight
    return np.log(by_x) @ counts - counts.sum() * np.log(by_x.sum(axis=1))


def log_priors(target, thetas):
    """Log density of the prior of each row of ``thetas``."""
    prior = target.prior
    if isinstance(prior, Normal):
        each = np.log(prior.scale) + 0.5 * np.log(2 * np.pi) + 0.5 * (thetas / prior.scale) ** 2
        return -each.sum(axis=1)
    assert isinstance(prior, LogisticBeta)
    each = prior.a * log_expit(thetas) + prior.b * log_expit(-thetas) - betaln(prior.a, prior.b)
    return each.sum(axis=1)


def log_posteriors(target, thetas):
    """The integrand: log p(X | theta) p(theta) of each row, a few rows at a time."""
    parts = np.array_split(thetas, len(thetas) // 50_000 + 1)
    return np.concatenate([log_likelihoods(target, part) + log_priors(target, part) for part in parts])


def log_evidence(target, rng):
    """Log p(X), to `PRECISION`, of a model with up to 7 parameters."""
    centre, root = _coordinates(target, rng)
    spacing = 0.6 if len(centre) < 4 else 1.0 if len(centre) < 6 else 1.25
    while True:
        found = [_lattice_sum(target, centre, root, spacing, rng) for _ in range(3)]
        if np.ptp(found) < PRECISION:
            return float(np.mean(found))
        spacing *= 0.85


def _coordinates(target, rng, n=20_000):
    """Mean of the posterior and a root of its covariance, roughly: importance sampling, repeated."""
    f = features(target).shape[2]
    centre, root = np.zeros(f), 1.5 * np.eye(f)
    for _ in range(8):
        u = rng.standard_t(5, (n, f))
        theta = centre + u @ root.T
        log_weight = log_posteriors(target, theta) + 3 * np.log1p(u**2 / 5).sum(axis=1)
        # Flattened until a twentieth of the draws count: the next round starts nearer.
        power = 1.0
        while True:
            weight = np.exp(power * (log_weight - log_weight.max()))
            weight /= weight.sum()
            if (weight**2).sum() * n < 20:
                break
            power *= 0.8
        centre = weight @ theta
        root = np.linalg.cholesky((theta - centre).T @ ((theta - centre) * weight[:, None]))
    return centre, root


def _lattice_sum(target, centre, root, spacing, rng):
    """Trapezoid sum over the points around the centre at which the integrand is not nothing, grown point by point."""
    f = len(centre)
    bits = 62 // f
    shift, one = rng.uniform(-0.5, 0.5, f), 1 << (bits * np.arange(f))
    low = 2 ** (bits - 1)
    new, seen, best, values = np.array([(low * one).sum()]), np.zeros(0, np.int64), -np.inf, []
    while len(new):
        index = (new[:, None] // one & (2**bits - 1)) - low
        assert (abs(index) < low - 1).all()
        value = log_posteriors(target, centre + spacing * (index + shift) @ root.T)
        values.append(value)
        best = max(best, value.max())
        grown = new[value > best - DEPTH]
        around = np.unique(np.concatenate([grown[:, None] + one, grown[:, None] - one], axis=1))
        seen = np.sort(np.concatenate([seen, new]))
        new = around[seen[np.minimum(np.searchsorted(seen, around), len(seen) - 1)] != around]
    return logsumexp(np.concatenate(values)) + f * np.log(spacing) + np.linalg.slogdet(root)[1]


def target_of(model, states, prior=None, **options):
    """A target of rows ``states`` (n_samples, n_visible), equal rows counted."""
    rows, counts = np.unique(np.asarray(states, dtype=np.int8), axis=0, return_counts=True)
    kinds = {RestrictedBoltzmann: RBMTarget, Ordinal: OrdinalTarget, Nominal: OrdinalTarget}
    kind = kinds.get(type(model), PairwiseTarget)
    return kind(model, rows, counts.astype(float), prior or Normal(1.0), **options)


def rows(n, d, rng):
    """Rows of correlated columns, a copy of the first column now and then."""
    x = rng.random((n, d)) < rng.uniform(0.25, 0.75, d)
    return np.where(rng.random((n, d)) < 0.4, x[:, :1], x).astype(np.int8)


TINY = {  # targets of random data, of 2 to 7 parameters
    "rbm 2x1": lambda rng: target_of(RestrictedBoltzmann(2, 1), rows(30, 2, rng)),
    "rbm 3x1": lambda rng: target_of(RestrictedBoltzmann(3, 1), rows(20, 3, rng)),
    "two edges": lambda rng: target_of(Agreement(graphs.path(3)), rows(25, 3, rng)),
    "pair": lambda rng: target_of(Boltzmann(graphs.path(2)), rows(40, 2, rng), Normal(2.0)),
    "triangle": lambda rng: target_of(Agreement(graphs.complete(3)), rows(25, 3, rng), LogisticBeta(2.0, 1.0)),
    "hidden node": lambda rng: target_of(Boltzmann(graphs.path(3)), rows(30, 2, rng), n_hidden=1),
    "ordinal": lambda rng: target_of(
        Ordinal(graphs.complete(2), 3, True, (3, 2)), np.column_stack([rows(40, 2, rng).sum(axis=1), rows(40, 1, rng)])
    ),
    "nominal": lambda rng: target_of(
        Nominal(graphs.complete(2), 3, True, (3, 2)), np.column_stack([rows(40, 2, rng).sum(axis=1), rows(40, 1, rng)])
    ),
    "tied": lambda rng: target_of(
        Agreement(graphs.grid(2, 2), fields=True),
        rows(25, 4, rng),
        linear=LinearMap.tied([0, 0, 1, 1, 2, 2, 2, 2], "abc"),
    ),
}


def machine_likelihood(model, theta, states, weights=None):
    """Exact log likelihood of a restricted Boltzmann machine, and its gradient N (E_data[s] - E_theta[s])."""
    w = np.ones(len(states)) if weights is None else weights
    found, given = model.exact(theta), model.given(theta, states)
    return w @ given.log_weights - w.sum() * found.log_z, given.sum(w) - w.sum() * found.moments
