"""Annealed importance sampling of log Z from both sides, of restricted Boltzmann machines and pairwise models.

Chains are independent, and the mean of their weights over Z is 1.
"""

import numpy as np
import pytest
from scipy.stats import norm

from bayesmrf import graphs
from bayesmrf.base import MOMENTS
from bayesmrf.engines import Enumeration
from bayesmrf.errors import DataError, OptionError
from bayesmrf.inference import annealed
from bayesmrf.inference.annealed import forward, reverse
from bayesmrf.models import Agreement, Boltzmann, Ising, Nominal, Potts, RestrictedBoltzmann, Symmetric
from tests.oracle.bounds import Comparison, P, assert_mean, assert_other_mean

GRID, SQUARE = graphs.grid(3, 3), graphs.grid(2, 3)
MODELS = {
    "rbm": RestrictedBoltzmann(8, 4),
    "wide rbm": RestrictedBoltzmann(4, 9),
    "ising": Ising(GRID),
    "boltzmann": Boltzmann(graphs.complete(6)),
    "agreement": Agreement(GRID),  # without fields
    "potts": Potts(SQUARE, 3),
    "symmetric": Symmetric(SQUARE, 3),
    "nominal": Nominal(SQUARE, 3, True, (3, 2, 3, 3, 2, 3), (False, False, True, False, True, False)),
}


def truth(model, theta):
    is_rbm = isinstance(model, RestrictedBoltzmann)
    return (model.exact(theta) if is_rbm else Enumeration().infer(model, theta, None)).log_z


def samples(model, theta, n, rng):
    is_rbm = isinstance(model, RestrictedBoltzmann)
    return model.sample(theta, n, rng) if is_rbm else Enumeration().sample(model, theta, None, n, rng)


def problem(name, rng, scale=0.8):
    model = MODELS[name]
    theta = rng.normal(0, scale, model.n_features)
    n = model.n_visible if isinstance(model, RestrictedBoltzmann) else model.graph.n_nodes
    margins = rng.uniform(0.2, 0.8, n)
    if name in ("potts", "symmetric", "nominal"):
        margins = rng.dirichlet([5.0, 5.0, 5.0], n) * model.used
        margins /= margins.sum(axis=1, keepdims=True)
    return model, theta, margins


def positive(theta):
    """Parameters with which the end of the path is surely steep: log Z falls short where the ladder does."""
    return np.abs(theta) + 0.3


def short(temperatures):
    """The negative control: weights of a ladder that ends at 0.5."""
    return np.linspace(0, 0.5, temperatures + 1)


def both_ways(model, theta, n, temperatures, margins, rng):
    return {
        1: forward(model, theta, rng, n, temperatures, margins),
        -1: reverse(model, theta, samples(model, theta, n, rng), rng, temperatures, margins),
    }


def compared(found, sign, log_z):
    """Compare the mean weight, or in reverse (sign = -1) that of the inverse weights."""
    return Comparison().means(np.exp(sign * (found.log_weights - log_z))[:, None], 1.0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("has_margins", [False, True])
def test_log_z_within_its_error(name, has_margins, rng, monkeypatch):
    model, theta, margins = problem(name, rng)
    margins = margins if has_margins else None
    for sign, found in both_ways(model, theta, 512, 200, margins, rng).items():
        assert compared(found, sign, truth(model, theta)).holds
        weights = np.exp(sign * (found.log_weights - found.log_z))
        assert weights.mean() == pytest.approx(1)
        assert 0.1 > found.standard_error == pytest.approx(weights.std() / np.sqrt(512), rel=0.01)
        assert found.n_effective > 200
        assert found.status == ""
        assert found.log_weights.shape == (512,)
    theta = positive(theta)
    monkeypatch.setattr(annealed, "ladder_of", short)
    for sign, found in both_ways(model, theta, 512, 200, None, rng).items():
        assert not compared(found, sign, truth(model, theta)).holds


@pytest.mark.parametrize("name", MODELS)
def test_mean_of_z_has_no_bias(name, rng, monkeypatch):
    """On a ladder of four steps, on which a chain is off by far: E[w] Z_0 = Z, and E[1 / w] / Z_0 = 1 / Z."""

    model, theta, margins = problem(name, rng, 0.5)
    for sign, found in both_ways(model, theta, 20_000, 4, margins, rng).items():
        assert compared(found, sign, truth(model, theta)).holds
        assert found.log_weights.std() > 0.05
    monkeypatch.setattr(annealed, "ladder_of", short)
    theta = positive(theta)
    for sign, found in both_ways(model, theta, 20_000, 4, None, rng).items():
        assert not compared(found, sign, truth(model, theta)).holds


def test_fifty_machines_are_bracketed(rng, monkeypatch):
    """The mean log weight of single chains is below log Z forward and above it in reverse, for each of 50 machines.

    One-sided z-scores, whose largest of a hundred passes the normal limit at the rate P. The gaps are wide
    enough that a wrong sign would show.
    """
    limit = norm.isf(P / 100)

    def scores():
        found = []
        for _ in range(50):
            model = RestrictedBoltzmann(int(rng.integers(2, 9)), int(rng.integers(2, 9)))
            theta = rng.normal(0, 1, model.n_features)
            log_z = model.exact(theta).log_z
            gaps = [s * (f.log_weights - log_z) for s, f in both_ways(model, theta, 400, 10, None, rng).items()]
            found.append([gap.mean() / gap.std() * 20 for gap in gaps])
        return np.array(found)

    right = scores()
    assert (right < limit).all()
    assert (right.mean(axis=0) < -1).all()
    # Weights of a ladder that ends beyond the model are caught forward, and of one that ends before it in reverse.
    monkeypatch.setattr(annealed, "ladder_of", lambda temperatures: np.linspace(0, 1.5, temperatures + 1))
    assert (scores()[:, 0] > limit).any()
    monkeypatch.setattr(annealed, "ladder_of", short)
    assert (scores()[:, 1] > limit).any()


@pytest.mark.parametrize("name", ["rbm", "ising"])
def test_no_step_is_needed_where_units_are_independent(name, rng):
    model, theta, _ = problem(name, rng)
    n = theta.size - (model.n_visible + model.n_hidden if name == "rbm" else model.graph.n_nodes)
    theta[:n] = 0
    theta = np.clip(theta, -1, 1)  # margins well inside 0.01 and 0.99, at which those of the path are cut
    alpha = model.split(theta).visible if name == "rbm" else 2 * theta[n:]
    margins = 1 / (1 + np.exp(-alpha))
    found = forward(model, theta, rng, 2, 1, margins)
    assert found.log_z == pytest.approx(truth(model, theta), abs=1e-9)
    assert found.standard_error == pytest.approx(0, abs=1e-9)


def test_compiled_is_python(rng):
    model, theta, margins = problem("rbm", rng)
    path, ladder, found = annealed._path(model, theta, margins), np.linspace(0, 1, 6), []
    states, lanes = rng.integers(0, 2, (3, 8)).astype(float), annealed.generators(rng)
    for function in (annealed._anneal_rbm, annealed._anneal_rbm.py_func):
        log_weights, x, own = np.zeros(3), states.copy(), lanes.copy()
        function(path.weights, path._base, ladder, x, own, log_weights)
        found.append(np.append(log_weights, x))
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize("name", ["ising", "potts", "symmetric"])
def test_last_states_with_their_weights_are_the_model(name, rng, monkeypatch):
    """Moments by importance sampling against enumeration; unweighted ones are off, as the ladder is short.

    Ising fields have half the parameters: otherwise few chains, of large weights, reach the state opposite to the most
    likely one, and means are not normal.
    """
    model, theta, margins = problem(name, rng)
    theta = positive(theta) * (0.5 if name == "ising" else 1.0)
    wanted = Enumeration().infer(model, theta, None, want=MOMENTS).moments

    found = forward(model, theta, rng, 4000, 4 if name == "ising" else 2, margins)
    away = np.array([model.statistics(row[None]) for row in found.states])[:, None] - wanted
    assert_mean(np.exp(found.log_weights - found.log_z)[:, None, None] * away, 0)
    assert_other_mean(away, 0)


def test_few_effective_chains_are_told(rng):
    model = RestrictedBoltzmann(20, 5)
    found = forward(model, rng.normal(0, 4, model.n_features), rng, 20, 1)
    assert found.n_effective < 10
    assert "of 20 chains count: give more temperatures" in found.status


def test_bad_input(rng):
    model, theta, margins = problem("rbm", rng)
    for call, message in [
        (lambda: forward(model, theta, rng, 1), "n_chains must be an integer from 2 .*, got 1;"),
        (lambda: forward(model, theta, rng, 2.5), "n_chains must be .*, got 2.5"),
        (lambda: forward(model, theta, rng, temperatures=0), "temperatures must be .*, got 0"),
        (lambda: forward(model, theta, rng, temperatures=[0, 0.5]), "rise from 0 to 1, got"),
        (lambda: forward(model, theta, rng, temperatures=[0, 0.5, 0.5, 1]), "rise from 0 to 1, got"),
        (lambda: forward(model, theta, rng, margins=margins[1:]), r"margins must be .* \(8,\) .*, got .*shape \(7,\)"),
        (lambda: forward(model, theta, rng, margins=margins + 1), "margins must be .* of probabilities"),
        (lambda: forward(model, np.where(theta == theta[0], np.inf, theta), rng), "theta must be finite, got inf"),
        (lambda: forward(Potts(GRID, 3), np.zeros(30), rng, margins=np.full(9, 0.5)), r"margins must be .* \(9, 3\)"),
    ]:  # fmt: skip
        with pytest.raises(OptionError, match=message):
            call()
    for states in (np.zeros((4, 7)), np.full((4, 8), 2), np.zeros(8)):
        with pytest.raises(DataError, match="sample the model"):
            reverse(model, theta, states, rng)
    with pytest.raises(OptionError, match=r"states must be .*, got 1"):
        reverse(model, theta, np.zeros((1, 8)), rng)
