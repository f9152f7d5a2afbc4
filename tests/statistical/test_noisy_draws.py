"""Draws with moments in error have, on average over the errors, the law of draws with exact moments.

Errors are those of particles, for n observations: c of a posterior variance. What is left is of second order in c.
"""

import numpy as np
import pytest

from bayesmrf.posterior.conditionals.line import Line, LineSample
from bayesmrf.posterior.conditionals.log_concave import draw_exactly
from bayesmrf.posterior.conditionals.noisy_draws import coordinate_with
from bayesmrf.posterior.conditionals.one_coordinate import OneCoordinate
from bayesmrf.posterior.conditionals.one_potential import OnePotential
from bayesmrf.posterior.groups.dirichlet_process import Urn, open_urn
from bayesmrf.posterior.groups.moves import pairs
from bayesmrf.posterior.groups.prior import (
    GroupPrior,
    PotentialPrior,
    reassign,
    reassign_line,
    reassign_potential,
)
from tests.oracle.bounds import Comparison

N = 200.0
C = 0.15  # share of a posterior variance that the errors add
LEFT = 0.022  # of a probability, allowed for what is of second order
AT = 0.4  # estimate of all parameters
SIZES = np.array([8.0, 3.0, 5.0])
NORMAL = GroupPrior(1.0, 0.6, 0.0, 0.0, 1.0, 0.5 * np.log(1 / (2 * np.pi)))


def drawn(redraw, values, prior):
    """Label after a redraw of item 0, which was absent (3 if it is in a group of its own), and its value."""
    others = np.repeat(np.arange(3), SIZES.astype(int))
    urn = open_urn(np.append(-1, others).astype(np.int32), values, prior)
    redraw(urn)
    return urn.groups[0], urn.value(0)


class Logit:
    """Agreement of two nodes, with groups one, two and three standard deviations from the estimate."""

    n_draws, values = 40_000, AT + np.array([0.14, -0.28, 0.42])

    def redraw(self, rng, noise, exact):
        nu = np.log(0.6 / 0.4) - AT + (0.0 if exact else np.sqrt(C / (N * 0.24)) * rng.standard_normal())
        return drawn(lambda urn: reassign(rng, 0, 0.6 * N, N, nu, noise, urn), self.values, NORMAL)


class Product:
    """Weight of a product of centred scores."""

    p, g = np.array([0.4, 0.2, 0.1, 0.3]), np.array([0.6, -0.4, -0.6, 0.4])
    n_draws, values = 40_000, AT + np.array([0.14, -0.28, 0.42])

    def redraw(self, rng, noise, exact):
        mean = self.p @ self.g
        variance = self.p @ (self.g - mean) ** 2
        p = self.p * np.exp(0.0 if exact else np.sqrt(C / (N * variance)) * rng.standard_normal() * self.g)
        line = Line((LineSample(p / p.sum(), self.g, AT, N),), N * mean, 1.0, 0.0)
        return drawn(lambda urn: reassign_line(rng, 0, line, noise, urn), self.values, NORMAL)


class Table:
    """Potential with two parameters."""

    q = np.array([0.3, 0.25])
    n_draws, values = 12_000, AT + np.array([[0.2, 0.1], [-0.3, 0.1], [0.0, -0.4]])
    prior = PotentialPrior(1.0, 0.6, np.eye(2), -np.log(2 * np.pi))

    def redraw(self, rng, noise, exact):
        information = N * (np.diag(self.q) - np.outer(self.q, self.q))
        nu = np.log(self.q / (1 - self.q.sum())) - AT
        if not exact:
            nu = nu + np.sqrt(C) * np.linalg.solve(np.linalg.cholesky(information).T, rng.standard_normal(2))
        p = OnePotential(N * self.q, N, nu, self.prior.precision, self.prior.log_constant)
        return drawn(lambda urn: reassign_potential(rng, 0, p, noise, urn), self.values, self.prior)


def law(item, rng, noise, exact=False):
    """Indicators of the labels, and values and their squares in posterior standard deviations of one item."""
    out = []
    for _ in range(item.n_draws):
        label, value = item.redraw(rng, noise, exact)
        value = np.ravel(value) * np.sqrt(0.24 * N)
        out.append([*(label == np.arange(-1, 4)), *value / 4, *value**2 / 16])
    return np.array(out, dtype=float)


def agrees(found, exact, left=LEFT):
    error = exact.std(axis=0) / np.sqrt(len(exact))
    return Comparison().means(found[:, None], exact.mean(axis=0), bias=left, error=error)


@pytest.mark.parametrize("item", [Logit(), Product(), Table()], ids=lambda item: type(item).__name__)
def test_groups(item, rng):
    exact = law(item, rng, 0.0, exact=True)
    found = agrees(law(item, rng, C), exact)
    assert found.holds, str(found)
    assert not agrees(law(item, rng, 0.0), exact).holds


def alone(rng, noise, exact):
    """Value of an item in a group of its own, in standard deviations, and its square."""
    sd, out = 1 / np.sqrt(N * 0.24), []
    for _ in range(20_000):
        nu = np.log(0.6 / 0.4) - AT + (0.0 if exact else np.sqrt(C) * sd * rng.standard_normal())
        p = OneCoordinate(0.6 * N, N, nu, 0.0, 0.0, 1.0)
        out.append((draw_exactly(rng, coordinate_with(p, noise, 0.6 * N)) - nu - AT) / sd)
    return np.stack([out, np.square(out)], axis=1)


def test_values(rng):
    exact = alone(rng, 0.0, exact=True)
    found = agrees(alone(rng, C, False), exact)
    assert found.holds, str(found)
    assert not agrees(alone(rng, 0.0, False), exact).holds


def states_of(rng, counts):
    """States of three nodes: numbers in which both edges agree, the first, the second, and neither."""
    kinds = rng.permutation(np.repeat(np.arange(4), counts))  # the first are looked at alone
    return np.stack([np.ones(len(kinds)), np.where(kinds < 2, 1, -1), np.where(kinds % 2 == 0, 1, -1)]).astype(np.int8)


def of_pairs(rng, m, exact, draw_pair=pairs.draw_pair):
    """Groups of two edges of three nodes, whose agreements are correlated, drawn from the counts of m particles."""
    p, edges = np.array([0.55, 0.1, 0.1, 0.25]), np.array([[0, 1], [0, 2]], np.int32)
    base = GroupPrior(1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
    values, at, s = np.array([0.15, -0.3, 0.4]), (0.0, 0.0), N * np.array([0.65, 0.65])
    out, x = [], states_of(rng, np.rint(m * p).astype(int))
    for _ in range(40_000):
        if not exact:
            x = states_of(rng, rng.multinomial(m, p))
        sizes = np.append(SIZES + np.array([2.0, 0.0, 0.0]), np.zeros(2))
        urn = Urn(np.zeros(2, np.int32), np.append(values, np.zeros(2)), sizes, np.full(1, 3), base)
        draw_pair(rng, edges, x, np.ones(m, np.float32), at, s, N, 0, 1, urn)
        out.append([g == h for g in urn.groups for h in range(3)])
    return np.array(out, dtype=float)


def test_pairs(rng, monkeypatch):
    exact = of_pairs(rng, 64_000, True)
    m = 640  # 0.3 of a posterior variance
    found = agrees(of_pairs(rng, m, False), exact, 0.014)
    assert found.holds, str(found)
    monkeypatch.setattr(pairs, "more", lambda noise: 0.0)
    monkeypatch.setattr(pairs, "_draw_pair", pairs._draw_pair.py_func)
    assert not agrees(of_pairs(rng, m, False, pairs.draw_pair.py_func), exact, 0.014).holds
