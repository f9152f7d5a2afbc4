"""Groups of weights between ordered answers, against the exact posterior over all partitions of a few edges.

The draws of a control with another prior are those of the test, which are compared with that prior's posterior.
"""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import GroupedMRF, graphs, partitions
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Ordinal
from bayesmrf.posterior.groups.exact import ExactMarginals
from bayesmrf.posterior.groups.items import Products
from bayesmrf.posterior.groups.kernels import exact_groups, particle_groups
from bayesmrf.priors import FIELD_SCALE, DirichletProcess, Normal
from bayesmrf.results import load
from bayesmrf.results.summary import GroupedSummary
from bayesmrf.runs import run
from tests.helpers.commands import one_sentence
from tests.oracle.bounds import Comparison
from tests.oracle.grouped_spike import canonical, log_prior, structures
from tests.oracle.grouped_states import log_crp, tied_posterior

ENGINE = Elimination()
SIZES = (2, 3, 3)
MODEL = Ordinal(graphs.Graph(3, np.array([[0, 1], [2, 1], [0, 2]])), 3, True, SIZES)
STATES = np.array(list(np.ndindex(SIZES)))
FEATURES = np.array([[a * b, c * b, a * c, a == 1, b == 1, b == 2, c == 1, c == 2] for a, b, c in STATES], float)
SCALE, N = 0.7, 60
SHORT = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 1}


# Nodes with two, four and three categories, of which the second has the neutral category 3, with scores.
SCORES = np.array([0, 1, 3, 4])
NEUTRAL = Ordinal(MODEL.graph, 4, True, (2, 4, 3), (None, 3, None), tuple(SCORES.tolist()))


def neutral_features(r, score=SCORES):
    a, b, c = score[np.array(list(np.ndindex(2, 4, 3)))].T
    return np.stack([a * b, c * b, a * c, a, b, (b - r) ** 2 - r**2, c == score[1], c == score[2]], axis=1)


@pytest.fixture
def seen(rng):
    """Mean statistics of states in which two edges have equal weights, and every level occurs.

    Chains take long through the wide prior of a level that does not.
    """
    theta, x = np.array([1.2, 1.2, -0.4, 0.3, 0.2, -0.8, 0.0, -0.5]), np.zeros((N, 3), np.int8)
    while min(np.bincount(x[:, i], minlength=m).min() for i, m in enumerate(MODEL.sizes)) < 3:
        x = ENGINE.sample(MODEL, theta, ENGINE.prepare(MODEL), N, rng)
    return MODEL.statistics(x)


def process(alpha, density=None):
    return DirichletProcess(alpha, Normal(SCALE), density)


def kernel(method, s_bar, prior, model=MODEL):
    start = np.zeros(model.n_features)
    if method == "exact":
        return exact_groups(Likelihood(model, s_bar, N, ENGINE), prior, start, n_jumps=4)
    return particle_groups(model, s_bar, N, prior, start, n_particles=4096)


def exact(s_bar, labels, log_p, rng, features=FEATURES):
    return tied_posterior(features, labels, log_p, s_bar, N, np.eye(1) * SCALE**2, FIELD_SCALE, rng)


def draws_of(sampler, rng):
    return run.sample(sampler, n_draws=40, n_warmup=40, n_chains=24, random_state=rng, progress=False).values


def compared(draws, labels, truth, bias):
    """Compare labels that are not rare, and the means of theta; a bias is allowed."""
    common = truth.p > 0.02
    there = (canonical(draws["groups"])[:, :, None] == np.array(labels)[common]).all(axis=-1)
    found = Comparison().shares(there, truth.p[common], bias, truth.error[common])
    return found.means(draws["theta"], truth.means, bias)


# Particles may be off by 0.03.
METHODS = pytest.mark.parametrize(("method", "bias"), [("exact", 0.0), ("particle", 0.03)])


@METHODS
def test_partitions(method, bias, seen, rng):
    labels = list(partitions.set_partitions(3))
    draws = draws_of(kernel(method, seen, process(0.8)), rng)
    for alpha in (0.8, 8.0):
        truth = exact(seen, labels, [log_crp(row, alpha) for row in labels], rng)
        assert compared(draws, labels, truth, bias).holds == (alpha == 0.8)


@METHODS
def test_splits_that_are_accepted_too_often_are_caught(method, bias, seen, rng, monkeypatch):
    labels, propose = list(partitions.set_partitions(3)), Products.propose
    truth = exact(seen, labels, [log_crp(row, 0.8) for row in labels], rng)

    def wrong(*given):
        tried = propose(*given)
        return tried._replace(log_ratio=tried.log_ratio + 5.0 * tried.kind)

    monkeypatch.setattr(Products, "propose", wrong)
    draws = draws_of(kernel(method, seen, process(0.8)), rng)
    assert min(draws["n_splits"].sum(), draws["n_merges"].sum()) > 0
    assert not compared(draws, labels, truth, bias).holds


@METHODS
def test_partitions_with_a_neutral_category_and_scores(method, bias, rng):
    """Controls: another neutral category, or the numbers of categories for scores."""
    right, labels = neutral_features(3), list(partitions.set_partitions(3))
    wrong = neutral_features(1) if method == "exact" else neutral_features(3, np.arange(4))
    p = np.exp(right @ [0.2, 0.2, -0.1, 0.3, -0.6, -0.3, 0.1, -0.2])
    counts = rng.multinomial(N, p / p.sum())
    draws = draws_of(kernel(method, counts @ right / N, process(0.8), NEUTRAL), rng)
    log_p = [log_crp(row, 0.8) for row in labels]
    for features in (right, wrong):
        truth = exact(counts @ features / N, labels, log_p, rng, features.astype(float))
        assert compared(draws, labels, truth, bias).holds == (features is right)


@METHODS
def test_partitions_of_edges_that_may_be_absent(method, bias, seen, rng):
    labels = structures(3)
    draws = draws_of(kernel(method, seen, process(0.8, 0.5)), rng)
    for density in (0.5, 0.97):
        truth = exact(seen, labels, log_prior(labels, 0.8, density), rng)
        assert compared(draws, labels, truth, bias).holds == (density == 0.5)


def test_two_categories_have_the_likelihood_of_agreements(rng):
    """With weights twice the logits of agreements, ends of edges agree as often in both models."""
    graph = graphs.cycle(4)
    ordinal, agreement, theta = Ordinal(graph, 2), Agreement(graph, True), rng.normal(size=8)
    (u, v), weights = graph.edges.T, 2 * theta[:4]
    biases = 2 * theta[4:] - np.bincount(u, weights / 2, 4) - np.bincount(v, weights / 2, 4)
    cells, agree = (
        ExactMarginals(model, ENGINE).solve(at).moments
        for model, at in ((ordinal, np.concatenate([weights, biases])), (agreement, theta))
    )
    cells = cells[:16].reshape(4, 4)  # of the states 00, 01, 10, 11 of the ends
    np.testing.assert_allclose(cells[:, 0] + cells[:, 3], agree[:4], atol=1e-9)


# `GroupedMRF` and the command


@pytest.fixture
def answers(rng):
    mood = rng.normal(size=(200, 1))
    table = np.clip(np.round(mood + rng.normal(size=(200, 4)) + 1), 0, 3)
    return pd.DataFrame(table, columns=list("abcd")).assign(e=rng.integers(0, 2, 200))


@pytest.mark.parametrize("method", ["exact", "particle"])
@pytest.mark.parametrize("more", [{}, {"candidates": "complete"}], ids=["groups", "absent edges"])
def test_fit(method, more, answers):
    est = GroupedMRF(method=method, **SHORT, **more).fit(answers)
    posterior = est.posterior_["posterior"]
    assert est.model_ == est.posterior_.attrs["model"] == "ordinal"
    assert posterior["theta"].shape == (2, 30, 10 + 4 * 3 + 1)
    np.testing.assert_allclose(est.theta_, posterior["theta"].mean(("chain", "draw")))
    np.testing.assert_allclose(posterior["agreement"], 1 / (1 + np.exp(-posterior["theta"].values[..., :10] / 2)))
    assert est.score(answers) > -np.log([4, 4, 4, 4, 2]).sum()
    assert set(est.sample(50, 1)[:, 4]) <= {0, 1}
    assert len(est.graph_.nodes["a"]["bias"]) == 3
    again = GroupedMRF(model="ordinal", method=method, **SHORT, **more).fit(answers)
    np.testing.assert_array_equal(again.posterior_["posterior"]["theta"], posterior["theta"])


def test_missing_values_have_probabilities(answers):
    answers.iloc[3, 0] = np.nan
    est = GroupedMRF(**SHORT).fit(answers)
    assert est.method_ == "exact"
    assert est.missing_["state"].tolist() == [0, 1, 2, 3]
    assert est.missing_["probability"].sum() == pytest.approx(1)


def test_what_is_refused(answers):
    with pytest.raises(OptionError, match=r"^method must be .*, got 'tree'"):
        GroupedMRF(model="ordinal", method="tree").fit(answers)
    with pytest.raises(OptionError, match="model must be 'agreement', 'potts' or 'symmetric' for grouped fields"):
        GroupedMRF(fields="grouped").fit(answers)


def test_command(bayesmrf, answers, folder):
    answers.to_csv("answers.csv", index=False)
    given = ["groups", "answers.csv", "--graph", "complete", "--prior-scale", 0.5, "--seed", 1]
    code, out, _ = bayesmrf(*given, "--n-draws", 30, "--n-warmup", 10, "--n-chains", 2)
    assert code == 0
    assert "The model is ordinal, as column 'a' has more than two ordered levels." in out
    tree = load("answers_run")
    assert "model ordinal (chosen by the ordered levels)" in GroupedSummary(tree).data_sentence
    direct = GroupedMRF(prior=DirichletProcess(base=Normal(0.5)), **SHORT).fit(answers)
    np.testing.assert_array_equal(tree["posterior"]["theta"], direct.posterior_["posterior"]["theta"])
    assert bayesmrf("report", "answers_run")[0] == 0
    page = (folder / "answers_run.html").read_text()
    assert "The agreement of ordered categories is" in page
    assert "A threshold is the log odds of its category against the lowest" in page
    assert "field h" not in page
    given = ["groups", "answers.csv", "--graph", "complete", "--model", "potts", "--prior-scale", 0.5, "--out", "x"]
    one_sentence(bayesmrf(*given), "--prior-scale must be omitted without --model ordinal or symmetric, got 0.5")
    given = ["groups", "answers.csv", "--graph", "complete", "--base", "5,1", "--out", "x"]
    one_sentence(bayesmrf(*given), "--base must be omitted with --model ordinal, got '5,1'; give --prior-scale")
