"""Simulation-based calibration (Talts et al. 2018) of the exact samplers of groups.

Truth from the prior, data from the truth, a chain that knows only the data: the rank of the truth among the draws
must be uniform. Draws are thinned until they are nearly independent. The default run is of one model and
short (other tests compare all with enumeration); ``pytest -m calibration`` runs four, 13 times as many.
"""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups.kernels import exact_groups
from bayesmrf.priors import FIELD_SCALE, Beta, DirichletProcess, Gamma
from bayesmrf.published.tree import GroupedTree
from tests.oracle.ranks import few_draws, p_value, rank

ENGINE = Elimination()


def prior_draw(model, prior, rng):
    """Groups by the Chinese restaurant process, their values from the base distribution, fields from their normal."""
    alpha = prior.alpha_start
    if isinstance(prior.alpha, Gamma):
        alpha = rng.gamma(prior.alpha.shape) / prior.alpha.rate
    groups = []
    for i in range(model.n_edges):
        k = max(groups, default=-1) + 1
        weights = np.append(np.bincount(groups, minlength=k)[:k], alpha) if i else np.ones(1)
        groups.append(rng.choice(len(weights), p=weights / weights.sum()))
    groups = np.array(groups)
    values = rng.beta(prior.base.a, prior.base.b, size=groups.max() + 1)
    logits = np.log(values) - np.log1p(-values)
    fields = FIELD_SCALE * rng.standard_normal(model.n_features - model.n_edges)
    return groups, np.concatenate([logits[groups], fields]), alpha


def ranks(method, model, prior, assumed, n, n_simulations, thin, rng):
    """Ranks of the first edge's value, the number of groups (ties at random) and of alpha or the last feature."""
    out = []
    for _ in range(n_simulations):
        groups, theta, alpha = prior_draw(model, prior, rng)
        states = ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng)
        s_bar = model.statistics(states)
        if method == "tree":
            kernel = GroupedTree(model.graph, np.rint(n * s_bar), n, assumed)
        else:
            kernel = exact_groups(Likelihood(model, s_bar, n, ENGINE), assumed, np.zeros(model.n_features))
        draws = few_draws(kernel, rng, thin)
        truth = [theta[0], groups.max() + 1, theta[-1], alpha]
        drawn = [draws["theta"][:, 0], draws["n_groups"], draws["theta"][:, -1], draws["alpha"]]
        kept = slice(None) if isinstance(prior.alpha, Gamma) else slice(3)
        out.append(rank(np.transpose(drawn[kept]), truth[kept], rng))
    return np.array(out)


CASES = {
    "tree": ("tree", graphs.path(7), False, DirichletProcess(1.0), 30),
    "tree, alpha sampled": (
        "tree",
        graphs.binary_tree(2),
        False,
        DirichletProcess(Gamma(3.0, 2.0), Beta(2.0, 1.0)),
        30,
    ),
    "exact, loop": ("exact", graphs.cycle(5), False, DirichletProcess(1.0), 30),
    "exact, fields": ("exact", graphs.complete(3), True, DirichletProcess(Gamma(3.0, 2.0)), 50),
}


SHORT = ["tree"]  # a loop: tests/statistical/test_partition_posterior.py


@pytest.mark.parametrize(
    ("case", "n_simulations"),
    [(case, 75) for case in SHORT] + [pytest.param(case, 1000, marks=[pytest.mark.calibration]) for case in CASES],
)
def test_ranks_are_uniform(case, n_simulations, rng):
    method, graph, fields, prior, thin = CASES[case]
    found = ranks(method, Agreement(graph, fields), prior, prior, 8, n_simulations, thin, rng)
    assert p_value(found) > 1e-6


@pytest.mark.parametrize("case", SHORT)
def test_a_wrong_base_distribution_is_caught(case, rng):
    method, graph, fields, prior, thin = CASES[case]
    found = ranks(method, Agreement(graph, fields), prior, DirichletProcess(1.0, Beta(12.0, 1.0)), 8, 40, thin, rng)
    assert p_value(found) < 1e-6
