"""Laplace's approximation of the evidence against quadrature, closed forms, differences and closed counts.

Where everything is exact, only the approximation's own error is left, which falls as 1 / N. Where states are drawn,
errors are from ten batches, and have nine degrees of freedom at best.
"""

import re
from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from scipy.special import betaln

from bayesmrf import graphs
from bayesmrf.errors import DataError, OptionError, TooWideError
from bayesmrf.evidence import laplace as laplace_file
from bayesmrf.evidence import mode as mode_file
from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.mode import Mode, ModeSearch, _climb
from bayesmrf.evidence.normality import normality
from bayesmrf.evidence.overlap import groups_of_units, log_equivalent_modes, trapezoid
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.sampled import BATCHES, SHARE, SampledPosterior
from bayesmrf.models import Agreement, Boltzmann, Ising, RestrictedBoltzmann
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.priors import LogisticBeta, Normal
from bayesmrf.published.criteria import BIC, MAP
from tests.oracle.bounds import assert_estimate, assert_mean, assert_other_estimate, assert_other_mean
from tests.oracle.evidence import PRECISION, TINY, log_evidence, rows, target_of

STEPS = 300  # of persistent chains, before the exact climb
GAUSSIAN = np.log(2 * np.sqrt(2 * np.log(2)) / np.sqrt(2 * np.pi))  # -0.0625: trapezoid against normal law


def machine(rng, d=5, k=3, n=80):
    return target_of(RestrictedBoltzmann(d, k), rows(n, d, rng))


def drawn(model, theta, n, rng, prior=None, **options):
    """A target of n rows from the model itself."""
    any_rows = np.zeros(
        (2, getattr(model, "n_visible", 0) or model.graph.n_nodes - options.get("n_hidden", 0)), np.int8
    )
    target = target_of(model, any_rows, prior, **options)
    return target_of(model, target.sample(np.asarray(theta, dtype=float), n, rng), prior, **options)


def log_posterior(target, theta):
    return target.log_likelihood(theta)[0] + target.log_prior(theta)


def second_differences(f, theta, h=1e-3):
    steps = h * np.eye(len(theta))
    return np.array([[f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b) for a in steps]
                     for b in steps]) / (4 * h**2)  # fmt: skip


TARGETS = {
    "rbm": lambda rng: machine(rng, 4, 2),
    "wide rbm": lambda rng: machine(rng, 2, 3),
    **{name: TINY[name] for name in ("hidden node", "tied", "triangle")},
}


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("name", TARGETS)
def test_derivatives_are_those_of_what_states_see(name, penalised, rng):
    target = TARGETS[name](rng)
    f = target.n_features
    start = rng.normal(0, 0.5, f)
    states = SampledPosterior.draw(target, start, 500, rng, penalised)
    assert states.n_states == 500
    assert (states.counts.sum(axis=0) == 50).all()
    assert states.density(start)[1] == pytest.approx(1)
    theta = start + rng.choice([-0.1, 0.1], f)  # weights differ there
    value, slope, share = states.slope(theta)
    assert (value, share) == pytest.approx(states.density(theta))
    assert share < 0.9999
    steps = 1e-5 * np.eye(f)
    differences = [(states.density(theta + s)[0] - states.density(theta - s)[0]) / 2e-5 for s in steps]
    np.testing.assert_allclose(slope, differences, atol=1e-5 * target.n_samples)
    expected = -second_differences(lambda t: states.density(t)[0], theta)
    found = states.hessian(theta)
    tolerance = 1e-4 * abs(expected).max()
    np.testing.assert_allclose(found.without(), expected, atol=tolerance)
    # Eq. 7 as it is printed: the covariances given the states alone.
    given = target.given(theta, target.prepare(states.states))
    rows_of = states.counts.sum(axis=1) * np.exp(given.log_weights - states.log_weights)
    printed = found.fixed + target.n_samples * given.covariance(rows_of / rows_of.sum())
    assert abs(printed - expected).max() > 20 * tolerance
    assert states.slopes(theta).shape == (BATCHES, f)


def test_slopes_of_batches_are_those_of_their_states(rng):
    target = machine(rng)
    theta = rng.normal(0, 0.3, target.n_features)
    states = SampledPosterior.draw(target, theta, 400, rng)
    one = replace(states, counts=states.counts * (np.arange(BATCHES) == 3))
    kept = one.counts.sum(axis=1) > 0
    one = replace(one, states=one.states[kept], counts=one.counts[kept], log_weights=one.log_weights[kept])
    np.testing.assert_allclose(states.slopes(theta)[3], one.slope(theta)[1], atol=1e-9)


@pytest.mark.parametrize("name", TARGETS)
def test_exact_mode_and_its_curvature(name, rng):
    target = TARGETS[name](rng)
    mode = ModeSearch(n_steps=STEPS)(target, rng)
    assert (mode.states, mode.status) == (None, "")
    _, gradient = target.log_likelihood(mode.theta)
    assert abs(gradient + target.prior.gradient(mode.theta)).max() < 0.1
    expected = -second_differences(lambda t: log_posterior(target, t), mode.theta)
    np.testing.assert_allclose(mode.curvature, expected, atol=1e-4 * abs(expected).max())
    value, share = mode.density(mode.theta)
    assert value == pytest.approx(log_posterior(target, mode.theta))
    assert share == 1


@pytest.mark.parametrize("name", TARGETS)
def test_fine_tuning_among_states(name, rng):
    target = TARGETS[name](rng)
    mode = ModeSearch(n_steps=STEPS, n_states=20_000, log_z="ais")(target, rng)
    assert mode.status == ""
    assert mode.n_rounds >= 1
    assert np.linalg.eigvalsh(mode.curvature)[0] > 0
    assert mode.density(mode.theta)[1] >= SHARE
    _, slope, _ = mode.states.slope(mode.theta)
    assert abs(slope).max() < 0.1

    # The rise to the exact mode is F N / 2T nats or less on average, and a sum of squares of normal variables.
    def rise(theta):
        gradient = target.log_likelihood(theta)[1] + target.prior.gradient(theta)
        return gradient @ np.linalg.solve(mode.curvature, gradient) / 2

    noise = target.n_samples / (2 * 20_000)
    assert rise(mode.theta) < (target.n_features + 50) * noise
    assert rise(mode.theta + np.linalg.cholesky(np.linalg.inv(mode.curvature))[:, 0]) > (target.n_features + 50) * noise


def test_a_climb_is_stopped_where_too_few_states_count(rng):
    target = machine(rng, n=300)
    states = SampledPosterior.draw(target, np.zeros(target.n_features), 5000, rng)
    theta, converged = _climb(states.slope, np.zeros(target.n_features), np.full(target.n_features, np.inf))
    assert not converged
    value, share = states.density(theta)
    assert share == pytest.approx(SHARE, abs=1e-3)
    assert value > states.density(np.zeros(target.n_features))[0] + 1
    mode = ModeSearch(n_steps=1, n_states=200, log_z="ais", max_rounds=1)(target, rng)
    assert "has not converged after 1 sets of 200 states; in Python, raise n_steps or n_states" in mode.status
    assert mode.status in Laplace()(target, rng, mode).status


def symmetric(rng, d=4, k=2, n=100):
    """As many ones as zeros in every column, and columns that agree: all parameters 0 are a saddle.

    Biases are best at 0 where no weight is, and a unit without weights and bias is on in half of the states.
    """
    x = rows(n, d, rng)
    return target_of(RestrictedBoltzmann(d, k), np.concatenate([x, 1 - x]))


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("log_z", ["exact", "ais"])
def test_a_saddle_is_left(log_z, penalised, rng, monkeypatch):
    target = symmetric(rng)
    saddle = np.zeros(target.n_features)
    monkeypatch.setattr(RBMTarget, "climb", lambda *_: saddle)
    # States at the saddle are as symmetric as the data: else their noise would push.
    every = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.int8)
    sample = RBMTarget.sample
    monkeypatch.setattr(RBMTarget, "sample", lambda target, theta, n, rng: (
        sample(target, theta, n, rng) if theta.any() else np.resize(every, (n, 4))
    ))  # fmt: skip

    def found():
        return ModeSearch(n_states=1600, penalised=penalised, log_z=log_z)(target, rng)

    mode = found()
    free = abs(mode.theta) < np.inf if penalised else abs(mode.theta) < np.log(2 * target.n_samples - 1)
    assert "converged" not in mode.status
    assert np.linalg.eigvalsh(mode.curvature[np.ix_(free, free)])[0] > (0 if penalised else -1e-3)
    rise = target.log_likelihood(mode.theta)[0] - target.log_likelihood(saddle)[0]
    assert rise + (target.log_prior(mode.theta) - target.log_prior(saddle)) * penalised > 1
    monkeypatch.setattr(mode_file, "_SADDLES", 0)
    mode = found()
    np.testing.assert_array_equal(mode.theta, saddle)
    assert "has not converged after 0 steps away from saddles" in mode.status
    assert np.linalg.eigvalsh(mode.curvature)[0] < -1
    # control: without the step it stays, and says nothing
    monkeypatch.setattr(mode_file, "_beside", lambda *_: None)
    mode = found()
    np.testing.assert_array_equal(mode.theta, saddle)
    assert mode.status == ""


REGULAR = {  # models without hidden nodes: sizes of the parameters, prior
    "two edges": (Agreement(graphs.path(3)), Normal(1.0)),
    "pair": (Boltzmann(graphs.path(2)), Normal(2.0)),
    "triangle": (Agreement(graphs.complete(3)), LogisticBeta(2.0, 1.0)),
    "frustrated": (Ising(graphs.complete(3), fields=False), Normal(1.0)),
}


def without(found, *parts):
    return found.log_evidence - sum(found.parts[p] for p in parts)


@pytest.mark.parametrize("name", REGULAR)
def test_error_falls_with_the_data(name, rng):
    model, prior = REGULAR[name]
    theta = rng.uniform(-0.8, 0.8, model.n_features)
    for n, most in ((50, 0.3), (800, 0.3 / 8)):
        target = drawn(model, theta, n, rng, prior)
        truth = log_evidence(target, rng)
        found = Laplace(search=ModeSearch(n_steps=STEPS))(target, rng)
        assert abs(found.log_evidence - truth) < most
        assert (found.standard_error, found.status, found.method) == (0.0, "", "laplace")
        assert Laplace(search=ModeSearch(n_steps=STEPS), corrected=False)(target, rng).log_evidence == pytest.approx(
            found.log_evidence, abs=1e-4
        )
        for part in ("dimension", "constant"):
            assert abs(without(found, part) - truth) > most


@pytest.mark.parametrize("name", ["rbm", "hidden node", "tied", "pair"])
def test_states_agree_with_the_exact_sum(name, rng):
    model = REGULAR.get(name)
    target = drawn(model[0], rng.uniform(-1, 1, 3), 60, rng, model[1]) if model else TARGETS[name](rng)
    exact_mode = ModeSearch(n_steps=STEPS)(target, rng)
    exact = Laplace()(target, rng, exact_mode)
    # Started at the same mode: others may be as good.
    start = SampledPosterior.draw(target, exact_mode.theta, 20_000, rng)
    theta, converged = _climb(start.slope, exact_mode.theta, np.full(target.n_features, np.inf))
    assert converged
    found = Laplace(search=ModeSearch(log_z="ais"))(target, rng, Mode(target, theta, True, start, 1, ""))
    assert 0 < found.standard_error < 1
    # Trapezoids at the threshold come and go, each with an error of 0.0625.
    slack = 0.07 * abs(found.parts["n_trapezoids"] - exact.parts["n_trapezoids"]) + 0.02
    allowed = {"bias": slack, "df": BATCHES - 1}
    assert_estimate(found.log_evidence, exact.log_evidence, found.standard_error, **allowed)
    for part in ("dimension", "constant"):
        assert_other_estimate(without(found, part), exact.log_evidence, found.standard_error, **allowed)
    assert found.parts["n_states"] == 20_000
    assert 0.9 * 20_000 <= found.parts["effective_states"] <= 20_000


def test_noise_of_the_determinant_is_known_and_its_bias_taken_away(rng):
    """Without hidden nodes the posterior has no flat directions, and the errors of few states are nearly normal."""
    model = Boltzmann(graphs.complete(4))
    target = drawn(model, rng.uniform(-0.3, 0.3, model.n_features), 100, rng)
    mode = ModeSearch(n_steps=STEPS)(target, rng)
    exact = -0.5 * np.linalg.slogdet(mode.curvature)[1]
    plain, corrected, error = [], [], []
    for _ in range(200):
        hessian = SampledPosterior.draw(target, mode.theta, 150, rng).hessian(mode.theta)
        half = -0.5 * np.linalg.slogdet(hessian.without())[1]
        spread = laplace_file._jackknife(hessian, np.zeros_like(mode.curvature), half)
        plain.append(half - exact)
        corrected.append(half - spread.value - exact)
        error.append(spread.error)
    assert_mean(np.array(corrected)[:, None], 0)
    assert_other_mean(np.array(plain)[:, None], 0)
    z = np.array(corrected) / error
    assert 0.4 < np.median(abs(z)) / 0.703 < 2.5  # 0.703 is the median of |t| of nine degrees of freedom


def test_rise_to_the_mode(rng):
    target = machine(rng, n=400)
    mode = ModeSearch(n_steps=STEPS)(target, rng)
    root = np.linalg.inv(np.linalg.cholesky(mode.curvature)).T
    theta = mode.theta + root @ rng.choice([-1.0, 1.0], target.n_features)
    gradient = target.log_likelihood(theta)[1] + target.prior.gradient(theta)
    truth = gradient @ root @ root.T @ gradient / 2
    states = SampledPosterior.draw(target, theta, 200_000, rng)
    found = laplace_file._rise(states, theta, root, rng)
    assert_estimate(found.value, truth, found.error, df=BATCHES - 1)
    assert_other_estimate(found.value, 0, found.error, df=BATCHES - 1)


def normal(theta):
    return -0.5 * float(theta @ theta), 1.0


@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("step", [0.01, 1.0, 1.1774100225, 40.0])
def test_trapezoid_of_a_normal_density(scale, step, rng):
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    found = trapezoid(lambda t: normal(t / scale), np.zeros(3), direction, step * scale)
    error = np.log((found.right - found.left) / (np.sqrt(2 * np.pi) * scale))
    assert error == pytest.approx(GAUSSIAN, abs=2e-3)
    assert abs(error) < 0.0625 + 2e-3
    assert not found.by_states
    np.testing.assert_allclose((found.left, found.right), np.sqrt(2 * np.log(2)) * scale * np.array([-1, 1]), rtol=2e-3)


def test_trapezoids_of_other_densities():
    def plateau(t):
        return (0.0 if -1 < t[0] < 3 else -np.inf), 1.0

    one = np.ones(1)
    found = trapezoid(plateau, np.zeros(1), one, 0.1)
    assert (found.left, found.right) == pytest.approx((-1, 3), rel=2e-3)

    def bumps(t):  # two equal bumps, where the normal law at 0 has a negative curvature
        return float(np.logaddexp(-0.5 * (t[0] - 2) ** 2, -0.5 * (t[0] + 2) ** 2)), 1.0

    found = trapezoid(bumps, np.zeros(1), one, 0.5)
    integral = 2 * np.sqrt(2 * np.pi) / np.exp(bumps(np.zeros(1))[0])
    assert np.log(found.right - found.left) < np.log(integral)  # higher than at 0 on the way

    def few(t):
        return -0.5 * float(t @ t), float(np.exp(-abs(t[0]) if t[0] > 0 else 0))

    found = trapezoid(few, np.zeros(1), one, 1.0)
    assert found.right == pytest.approx(-np.log(SHARE), rel=2e-3)
    assert found.left == pytest.approx(-np.sqrt(2 * np.log(2)), rel=2e-3)
    assert found.by_states


@pytest.mark.parametrize("k", [1, 2, 4])
def test_equivalent_modes_of_distinct_units_and_of_copies(k, rng):
    target = machine(rng, 4, k)
    hessian = 50 * np.eye(target.n_features)
    theta = rng.normal(0, 3, target.n_features)
    distinct = groups_of_units(theta, hessian, target.units)
    assert np.exp(log_equivalent_modes(distinct)) == pytest.approx(factorial(k))
    theta[target.units] = theta[target.units[0]] + rng.normal(0, 1e-3, target.units.shape)
    copies = groups_of_units(theta, hessian, target.units)
    assert np.exp(log_equivalent_modes(copies)) == pytest.approx(1)


def test_groups_are_closed_transitively(rng):
    target = machine(rng, 2, 4)
    theta, hessian = np.zeros(target.n_features), np.eye(target.n_features)
    # Two units a apart, half way: a^2 / 8 from each of the two, against log 2.
    near = 0.9 * np.sqrt(4 * np.log(2))
    theta[target.units[:, 0]] = [0, near, 2 * near, 10]
    groups = groups_of_units(theta, hessian, target.units)
    assert len(set(groups[:3])) == 1
    assert groups[3] != groups[0]
    assert np.exp(log_equivalent_modes(groups)) == pytest.approx(4)
    theta[target.units[:, 0]] = [0, near / 0.9 * 1.1, 2 * near / 0.9 * 1.1, 10]
    assert np.exp(log_equivalent_modes(groups_of_units(theta, hessian, target.units))) == pytest.approx(24)
    assert log_equivalent_modes(groups_of_units(theta, hessian, np.zeros((0, 0), int))) == 0


def two_hidden(rng, n=60):
    """Four visible nodes, and two hidden ones that each favour two of them: exchanging these gives the same model."""
    model = Agreement(graphs.Graph(6, np.array([(i, 4 + k) for k in range(2) for i in range(4)])))
    tie = np.array([2 * (k - 4) + (i >= 2) for i, k in model.graph.edges])
    options = {"n_hidden": 2, "linear": LinearMap.tied(tie, "abcd"), "exchangeable": np.array([[0, 1], [2, 3]])}
    return drawn(model, [3.0, 0.3, 0.3, 3.0], n, rng, LogisticBeta(6.0, 1.0), **options)


def test_exchanged_hidden_nodes_are_counted(rng):
    target = two_hidden(rng)
    truth = log_evidence(target, rng)
    mode = max((ModeSearch(n_steps=STEPS)(target, rng) for _ in range(5)), key=lambda m: m.density(m.theta)[0])
    found, plain = Laplace()(target, rng, mode), Laplace(corrected=False)(target, rng, mode)
    assert found.parts["equivalent_modes"] == pytest.approx(np.log(2))
    assert abs(found.log_evidence - truth) < 0.4
    assert abs(plain.log_evidence - truth) > 0.4


@pytest.mark.parametrize("name", ["rbm 2x1", "rbm 3x1"])
def test_machines_with_a_hidden_unit(name, rng):
    """One unit too many for so few nodes: the posterior is far from normal, and trapezoids stand in."""
    target = TINY[name](rng)
    truth = log_evidence(target, rng)
    found = Laplace(search=ModeSearch(n_steps=STEPS))(target, rng)
    assert abs(found.log_evidence - truth) < 1.2
    for part in ("dimension", "constant"):
        assert abs(without(found, part) - truth) > 1.2


def test_conjugate_tree(rng):
    """Edges of a tree agree independently: B(a + S, b + N - S) / B(a, b) each, and 1/2 for the root of each row."""
    model, prior = Agreement(graphs.path(5)), LogisticBeta(2.0, 3.0)
    # Edges that agree: the wrong prior's error, twice its share in the odds of each, is about the sum of these.
    target = drawn(model, rng.uniform(0.5, 1.5, 4), 400, rng, prior)
    u, v = model.graph.edges.T
    agree = target.weights @ (target.states[:, u] == target.states[:, v])
    truth = (betaln(2 + agree, 3 + 400 - agree) - betaln(2, 3)).sum() - 400 * np.log(2)
    found = Laplace(search=ModeSearch(n_steps=STEPS))(target, rng)
    assert abs(found.log_evidence - truth) < 0.1
    assert abs(without(found, "constant") - truth) > 0.1
    wrong = Laplace(search=ModeSearch(n_steps=STEPS))(replace(target, prior=LogisticBeta(3.0, 2.0)), rng)
    assert abs(wrong.log_evidence - truth) > 0.1


def test_a_saddle_gives_no_number_without_trapezoids(rng):
    x = rng.integers(0, 2, (200, 1), dtype=np.int8)
    target = target_of(RestrictedBoltzmann(3, 2), np.repeat(x, 3, axis=1))  # three copies of a column
    saddle = Mode(target, np.zeros(target.n_features), True, None, 0, "")
    values = np.linalg.eigvalsh(saddle.curvature)
    assert values[0] < 0
    found = Laplace(corrected=False)(target, rng, saddle)
    assert np.isnan(found.log_evidence)
    assert np.isnan(found.standard_error)
    assert (
        f"not positive definite: {(values <= 0).sum()} of 11 directions have eigenvalues <= 0 ({values[0]:.3g}"
        in found.status
    )
    assert found.parts["n_negative"] == (values <= 0).sum()
    corrected = Laplace()(target, rng, saddle)
    assert np.isfinite(corrected.log_evidence)
    assert corrected.parts["n_trapezoids"] >= (values <= 0).sum()
    assert corrected.arrays["trapezoids"].shape == (corrected.parts["n_trapezoids"], 3)


@pytest.mark.parametrize("log_z", ["exact", "ais"])
def test_parts_add_up(log_z, rng):
    target = machine(rng)
    mode = ModeSearch(n_steps=STEPS, log_z=log_z)(target, rng)
    terms = ["data", "log_z", "log_prior", "dimension", "constant", "determinant"]
    more = ["bias", "first_order"] if log_z == "ais" else []
    for found, names in [
        (Laplace(search=ModeSearch(log_z=log_z))(target, rng, mode), [*terms, *more, "trapezoids", "equivalent_modes"]),
        (Laplace(search=ModeSearch(log_z=log_z), corrected=False)(target, rng, mode), terms + more),
        (MAP(search=ModeSearch(log_z=log_z))(target, rng, mode), terms[:3]),
        (BIC(search=ModeSearch(penalised=False, log_z=log_z, n_steps=STEPS))(target, rng), terms[:4]),
    ]:
        assert found.log_evidence == pytest.approx(sum(found.parts[n] for n in names))
        assert (found.n_samples, found.n_features) == (80, 23)
        assert (found.standard_error > 0) == (log_z == "ais")
        assert found.arrays["theta"].shape == (23,)


def test_scores_at_one_point(rng):
    target = drawn(Boltzmann(graphs.path(2)), [0.5, -0.3, 0.2], 100, rng)
    found = MAP(search=ModeSearch(n_steps=STEPS))(target, rng)
    theta = found.arrays["theta"]
    assert found.log_evidence == pytest.approx(log_posterior(target, theta))
    assert all(log_posterior(target, theta + d) < found.log_evidence for d in rng.normal(0, 0.1, (50, 3)))
    score = BIC(search=ModeSearch(penalised=False, n_steps=STEPS))(target, rng)
    theta = score.arrays["theta"]
    likelihood = score.parts["data"] + score.parts["log_z"]
    cells = np.bincount(target.states @ [2, 1], target.weights, 4)  # three parameters for four cells: saturated
    assert likelihood == pytest.approx(cells @ np.log(cells / 100), abs=1e-3)
    assert score.log_evidence == pytest.approx(likelihood + target.log_prior(theta) - 1.5 * np.log(100))
    assert score.status == ""


def test_a_maximum_at_infinity_is_bounded_and_told(rng):
    target = target_of(Boltzmann(graphs.path(2)), rows(50, 2, rng)[:, [0, 0]])
    found = BIC(search=ModeSearch(penalised=False, n_steps=STEPS))(target, rng)
    assert "the maximum of the likelihood is at infinity" in found.status
    assert f"of 3 parameters were bounded at +-{np.log(99):.3g}" in found.status
    assert abs(found.arrays["theta"]).max() == pytest.approx(np.log(99))


@pytest.mark.parametrize("name", ["rbm 2x1", "hidden node"])
def test_chains_refuse_fractions_of_observations(name, rng):
    """A machine's climb truncated them: 1.9 observations were one."""
    target = TINY[name](rng)
    half = replace(target, weights=target.weights + 0.5)
    with pytest.raises(DataError, match="sample_weight must contain integers, as chains start from each observation"):
        half.brief(1)
    if name == "rbm 2x1":
        with pytest.raises(DataError, match="sample_weight must contain integers"):
            Laplace(search=ModeSearch(n_steps=STEPS))(half, rng)
    assert np.isfinite(Laplace(search=ModeSearch(n_steps=STEPS))(target, rng).log_evidence)


def test_bad_input(rng):
    target = machine(rng)
    for option, message in [
        ({"log_z": "bethe"}, "log_z must be .*, got 'bethe'"),
        ({"n_steps": 0}, "n_steps must be .*, got 0"),
        ({"n_states": 2.5}, "n_states must be .*, got 2.5"),
    ]:
        with pytest.raises(OptionError, match=message):
            ModeSearch(**option)
    with pytest.raises(OptionError, match=r"max_rounds must be .*, got 0"):
        ModeSearch(max_rounds=0)
    with pytest.raises(OptionError, match=r"n_chains must be .*, got 1"):
        Laplace(n_chains=1)
    with pytest.raises(OptionError, match=r"search must be .*ModeSearch, got 'exact'"):
        MAP(search="exact")
    top = ModeSearch(n_steps=STEPS, penalised=False)(target, rng)
    for method in (Laplace(), MAP()):
        with pytest.raises(OptionError, match=r"work must be a mode of the posterior .*, not of the likelihood"):
            method(target, rng, top)
    with pytest.raises(OptionError, match="work must be a mode of the likelihood for method 'bic', not of the post"):
        BIC()(target, rng, ModeSearch(n_steps=STEPS)(target, rng))
    wide = machine(rng, 20, 20)
    with pytest.raises(TooWideError, match="2\\^20"):
        ModeSearch(log_z="exact")(wide, rng)
    assert ModeSearch(n_steps=STEPS, n_states=500, max_rounds=1)(wide, rng).states is not None


# ---- how far the approximation is off


def test_importance_sampling_around_the_mode_is_quadrature(rng):
    """To within its error; a Gaussian of another place and half the width gives the same with more of it."""
    for name in ("triangle", "pair", "tied"):
        target = TINY[name](rng)
        truth = log_evidence(target, rng)
        mode = ModeSearch(n_steps=STEPS)(target, rng)
        root = np.linalg.inv(np.linalg.cholesky(mode.curvature)).T
        for theta, wide in ((mode.theta, 1.0), (mode.theta + 0.3 * root[:, 0], 0.8)):
            found = normality(target, theta, wide * root, rng, 20_000)
            assert_estimate(found.log_integral, truth, found.standard_error, bias=PRECISION)
            assert found.standard_error < 0.02
        more = replace(target, weights=target.weights + (np.arange(len(target.weights)) == 0))
        assert abs(normality(more, mode.theta, root, rng, 20_000).log_integral - truth) > 0.1


@pytest.mark.parametrize("copies", [False, True])
def test_parts_of_the_space_that_stand_for_equivalent_modes(copies, rng):
    """K! times the part of one mode is the whole, however near the others are: the prior integrates to 1."""
    target = machine(rng, 2, 3)
    nothing = replace(target, weights=0.0 * target.weights)  # no data: the posterior is the prior
    theta = np.zeros(target.n_features) if copies else rng.normal(0, 0.3, target.n_features)
    found = normality(nothing, theta, 1.2 * np.eye(target.n_features), rng, 20_000)
    assert_estimate(found.log_integral, 0, found.standard_error)
    assert found.standard_error < 0.2
    # control: without the parts every draw would count, and K! of them
    alone = replace(nothing, model=RestrictedBoltzmann(2, 1))
    single = normality(alone, theta[:5], 1.2 * np.eye(5), rng, 20_000)
    assert_estimate(single.log_integral, 0, single.standard_error)
    assert_other_estimate(found.log_integral, -np.log(6), found.standard_error)


def test_draws_without_weight_are_no_number(rng):
    """Six hidden units without weights: no one of five draws has them in order, but once in a hundred seeds."""
    target = target_of(RestrictedBoltzmann(2, 6), rows(20, 2, rng), Normal(1.0))
    f = target.n_features
    found = normality(target, np.zeros(f), np.eye(f), rng, 5)
    assert (found.log_integral, found.standard_error, found.n_effective) == (-np.inf, np.inf, 0.0)


def test_few_observations_are_told(rng):
    """The status says by how much, where that is more than 0.25 nats; a false alarm needs five standard errors."""
    model = Boltzmann(graphs.complete(8))
    weights = rng.normal(0, 0.7, model.n_features)
    few = Laplace(search=ModeSearch(n_steps=STEPS))(drawn(model, weights, 12, rng, Normal(2.0)), rng)
    said = re.search(r"approximation is (\d+\.\d\d) nats too low \(12 observations for 36 parameters\)", few.status)
    if said:
        gap = few.parts["importance_sampling"] - few.log_evidence
        assert float(said[1]) == pytest.approx(gap, abs=0.01)
        assert gap > 0.25
    else:
        assert "far from normal (12 observations for 36 parameters)" in few.status
        assert few.parts["importance_draws"] < 100
    many = Laplace(search=ModeSearch(n_steps=STEPS))(drawn(model, weights, 4000, rng, Normal(2.0)), rng)
    assert many.status == ""
    assert abs(many.parts["importance_sampling"] - many.log_evidence) < 0.25
    unchecked = Laplace(search=ModeSearch(n_steps=STEPS), n_checks=0)(drawn(model, weights, 12, rng, Normal(2.0)), rng)
    assert unchecked.status == ""
    assert "importance_sampling" not in unchecked.parts


@pytest.mark.parametrize("seed", range(8))
def test_an_error_is_told_whatever_the_draws_of_the_check(seed):
    """The evidence is -11.006 ± 0.013 by draws from the prior, 0.44 nats above the approximation."""
    target = target_of(Boltzmann(graphs.complete(3)), np.repeat([[1, 0, 1], [0, 0, 0]], [6, 2], axis=0), Normal(10.0))
    found = Laplace()(target, np.random.default_rng(seed))
    assert found.log_evidence == pytest.approx(-11.45, abs=0.01)
    assert re.search(r"nats too low|far from normal", found.status)


@pytest.mark.parametrize("value", [-0.1, 0.1])
def test_no_alarm_where_the_approximation_is_right(value, rng):
    """A hundred checks of a normal posterior, each off by a tenth of a nat at most, say nothing."""
    target = target_of(Boltzmann(graphs.complete(4)), rows(40, 4, rng), Normal(1.0))
    nothing = replace(target, weights=0.0 * target.weights)
    for _ in range(100):
        _, remark = laplace_file._check(nothing, np.zeros(10), np.eye(10), value, 500, rng)
        assert remark == ""
    _, remark = laplace_file._check(nothing, np.zeros(10), np.eye(10), 10 * value, 500, rng)
    assert f"nats too {'high' if value > 0 else 'low'}" in remark


def test_wide_models_say_that_the_error_is_not_known(rng):
    target = machine(rng, 16, 15, 60)
    theta = 0.1 * rng.standard_normal(target.n_features)
    states = SampledPosterior.draw(target, theta, 3000, rng)
    found = Laplace(n_chains=10, temperatures=20)(target, rng, Mode(target, theta, True, states, 1, ""))
    assert "the posterior may be far from normal with 60 observations for 271 parameters" in found.status
    regular = drawn(Boltzmann(graphs.path(2)), [0.5, -0.3, 0.2], 100, rng)
    assert (
        Laplace(search=ModeSearch(n_steps=STEPS, n_states=5000, log_z="ais"), temperatures=200)(regular, rng).status
        == ""
    )


def test_evidence_at_other_scales_of_the_prior(rng):
    """From the mode at one scale, as from nothing; the scale is that of the prior of all parameters."""
    target = drawn(Boltzmann(graphs.complete(3)), rng.uniform(-1, 1, 6), 80, rng, Normal([1.0] * 3 + [2.0] * 3))
    found = Laplace(search=ModeSearch(n_steps=STEPS))(target, rng)
    for name, factor in (("at_half_prior_scale", 0.5), ("at_double_prior_scale", 2.0)):
        other = replace(target, prior=Normal(np.multiply(factor, target.prior.scale)))
        assert found.parts[name] == pytest.approx(
            Laplace(search=ModeSearch(n_steps=STEPS))(other, rng).log_evidence, abs=1e-3
        )
    assert max(abs(found.parts[f"at_{name}_prior_scale"] - found.log_evidence) for name in ("half", "double")) > 0.05
    beta = Laplace(search=ModeSearch(n_steps=STEPS))(replace(target, prior=LogisticBeta(1.0, 1.0)), rng)
    assert "at_half_prior_scale" not in beta.parts


def test_mirrored_parameters_are_those_of_the_same_model(rng):
    target = machine(rng, 4, 3)
    theta = rng.normal(0, 1, target.n_features)
    swapped = (np.arange(8)[:, None] >> np.arange(3) & 1).astype(bool)
    values, _ = target.log_likelihoods(target.mirrored(theta, swapped))
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert abs(target.log_likelihoods(-target.mirrored(theta, swapped))[0] - values[0]).min() > 1e-3


@pytest.mark.parametrize("symmetric", [True, False])
def test_modes_in_which_values_trade_places_are_told(symmetric, rng):
    """Biases against the weights make the mirrored mode as high as the first, and log 2 nats are left out."""
    model = RestrictedBoltzmann(3, 1)
    weights = 2.0 * rng.choice([-1, 1], (1, 3))
    visible, hidden = (-weights[0] / 2, [-weights.sum() / 2]) if symmetric else (-weights[0] / 4 - 1.2, [2.0])
    target = drawn(model, model.join(weights, visible, hidden), 500, rng)
    mode = max((ModeSearch(n_steps=STEPS)(target, rng) for _ in range(3)), key=lambda m: m.density(m.theta)[0])
    found = Laplace()(target, rng, mode)
    added = found.parts["mirrored_modes"]
    at_the_scale = (
        "exchanged values of hidden units are not included" in re.split("at (?:half|twice) the prior", found.status)[0]
    )
    assert at_the_scale == (added > 0.25)
    mirror = target.mirrored(mode.theta, np.ones((1, 1), dtype=bool))[0]
    if added:
        assert added == pytest.approx(np.log1p(np.exp(target.log_prior(mirror) - target.log_prior(mode.theta))))
    truth = AIS(temperatures=200)(target, rng)
    df = truth.parts["effective_chains"] - 1
    assert_estimate(found.log_evidence + added, truth.log_evidence, truth.standard_error, bias=1, df=df)
    if symmetric:
        assert added > 0.25
