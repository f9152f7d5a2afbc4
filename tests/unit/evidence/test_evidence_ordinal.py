"""The evidence of models of ordered answers: every method against quadrature, estimators, and the command."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, compare_evidence, families, log_evidence
from bayesmrf.errors import ConstantColumnWarning, OptionError
from bayesmrf.estimators.evidence_targets import make_target
from bayesmrf.evidence.methods import evaluate
from bayesmrf.evidence.ordinal_target import OrdinalTarget
from bayesmrf.evidence.sampled import SampledPosterior
from bayesmrf.methods import EVIDENCE
from tests.helpers.commands import one_sentence
from tests.oracle import evidence as evidence_oracle
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.oracle.evidence import PRECISION, TINY

ANSWERS = {"progress": False, "random_state": 1}


@pytest.fixture
def answers(rng):
    """60 answers to three items, of three, four and two levels."""
    mood = rng.normal(size=(60, 1))
    levels = np.clip(np.round(mood + rng.normal(size=(60, 3)) + 1), 0, [2, 3, 1]).astype(int)
    levels[:4] = [[0, 0, 0], [1, 1, 1], [2, 2, 0], [0, 3, 1]]
    return pd.DataFrame(levels, columns=list("abc"))


@pytest.mark.parametrize("model", ["ordinal", "nominal"])
def test_methods_against_quadrature(model, rng):
    """Laplace within what is known of it; draws within their error; the score of the mode is that of the target."""
    target = TINY[model](rng)
    truth = evidence_oracle.log_evidence(target, rng)
    names = [name for name in EVIDENCE.names if name != "conjugate"]
    found = dict(zip(names, evaluate(target, names, rng), strict=True))
    laplace = found["laplace"]
    assert_estimate(laplace.parts["importance_sampling"], truth, laplace.parts["importance_error"], bias=PRECISION)
    assert abs(laplace.log_evidence - truth) < 0.5
    for name in ("ais", "bridge-optimal", "bridge-geometric"):
        estimate, error = found[name].log_evidence, found[name].standard_error
        assert_estimate(estimate, truth, error, bias=0.05)
        assert_other_estimate(estimate, truth + 2, error, bias=0.05)
    theta = found["map"].arrays["theta"]
    assert found["map"].log_evidence == pytest.approx(evidence_oracle.log_posteriors(target, theta[None])[0])
    assert all(np.isfinite(e.log_evidence) for e in found.values())


def test_estimators_have_the_target_of_their_model(answers):
    free, note = make_target(BayesianMRF(), answers)
    assert isinstance(free, OrdinalTarget)
    assert (free.n_features, note) == (3 + 2 + 3 + 1, "")
    neutral, _ = make_target(BayesianMRF(model=families.Ordinal(neutral={"b": 1})), answers)
    assert neutral.n_features == 3 + 2 + 2 + 1
    assert make_target("independent", answers)[0].n_features == 6
    assert make_target(MaximumLikelihoodMRF(ties="all"), answers)[0].n_features == 1 + 3  # thresholds by category
    fit = GroupedMRF(method="exact", n_draws=20, n_warmup=10, n_chains=2, **ANSWERS).fit(answers)
    target, note = make_target(fit, answers)
    assert target.n_features == fit.groups_.max() + 1 + 6
    assert "the groups were found on the same data" in note
    with pytest.raises(OptionError, match=r"coding must be 'boltzmann' for ordered levels, .*, got 'ising'"):
        make_target(BayesianMRF(), answers, coding="ising")
    with pytest.raises(OptionError, match="model must be ordinal, nominal or a model of yes/no nodes for the evidence"):
        make_target(BayesianMRF(model="potts"), answers)


def test_spread_of_features_with_more_than_two_values(answers):
    """The variance over the rows, which sets the steps of the search for the mode."""
    target, _ = make_target(BayesianMRF(), answers)
    features = np.array([target.model.statistics(x[None]) for x in target.states.astype(np.int8)])
    mean, square = (np.average(f, axis=0, weights=target.weights) for f in (features, features**2))
    np.testing.assert_allclose(target._spread(), square - mean**2, atol=1e-9)


def test_states_of_many_levels_are_counted_apart(answers, rng):
    """Levels 1 and 2 of a node were taken for one state, where Z is not summed."""
    target, _ = make_target(BayesianMRF(), answers)
    at = np.linspace(-1, 1, target.n_features)
    drawn = SampledPosterior.draw(target, at, 500, np.random.default_rng(3))
    every, counts = np.unique(target.sample(at, 500, np.random.default_rng(3)), axis=0, return_counts=True)
    assert every.max() == 3
    np.testing.assert_array_equal(drawn.states, every)
    np.testing.assert_array_equal(drawn.counts.sum(axis=1), counts)


def test_models_compared(answers):
    found = {name: log_evidence(m, answers, prior_scale=1.0, **ANSWERS)
             for name, m in {"all": BayesianMRF(prior="normal"), "none": "independent"}.items()}  # fmt: skip
    table = compare_evidence(found)
    assert table.loc["all", "probability"] + table.loc["none", "probability"] == pytest.approx(1)
    assert found["all"].prior == "normal, scale 1, on weights and thresholds over the scores 0, 1, ..."
    same = log_evidence(BayesianMRF(), answers - 1 + 1, coding="boltzmann", prior_scale=1.0, **ANSWERS)
    assert same.log_evidence == found["all"].log_evidence


def test_scores_are_part_of_the_prior(answers):
    model = families.Ordinal(scores=(0, 1, 2, 4))
    other = log_evidence(BayesianMRF(model=model), answers, prior_scale=1.0, **ANSWERS)
    assert other.prior == "normal, scale 1, on weights and thresholds over the scores 0, 1, 2, 4"
    same = log_evidence(BayesianMRF(), answers, prior_scale=1.0, **ANSWERS)
    with pytest.raises(OptionError, match=r"the same prior, but 'steps' has .* scores 0, 1, \.\.\. and 'jump'"):
        compare_evidence({"jump": other, "steps": same})


def test_command(bayesmrf, answers, folder):
    answers.to_csv("answers.csv", index=False)
    given = ["evidence", "answers.csv", "--compare", "complete,independent", "--seed", 1]
    code, out, err = bayesmrf(*given)
    assert (code, err) == (0, "")
    assert "The model is ordinal" in out
    direct = log_evidence(BayesianMRF(), answers, prior_scale=1.0, progress=False, random_state=1)
    assert f"complete, laplace: {direct.log_evidence:,.2f}" in out
    one_sentence(
        bayesmrf("evidence", "answers.csv", "--hidden", 1), r"the table has the levels 0, 1, 2, 3 .*--binarize"
    )


def test_two_categories_have_the_evidence_of_the_boltzmann_machine(rng):
    X = rng.integers(0, 2, (50, 3))
    X[:30, 1] = X[:30, 0]
    found = [log_evidence(BayesianMRF(model=m), X, prior_scale=1.0, **ANSWERS) for m in ("ordinal", "boltzmann")]
    assert found[0].log_evidence == pytest.approx(found[1].log_evidence, abs=1e-6)


def test_the_maximum_likelihood_of_bic_has_thresholds_beyond_the_bound_of_edges():
    """It was bounded at 4.8, 8 nats too low, and said to be at infinity."""
    rng = np.random.default_rng(63)
    X = np.where(rng.random((60, 3)) < 0.9, rng.integers(0, 5, (60, 1)), rng.integers(0, 5, (60, 3)))
    found = log_evidence(BayesianMRF(), X, "bic", random_state=1, progress=False)
    right = 60 * MaximumLikelihoodMRF(model="ordinal").fit(X).score(X)
    assert found.parts["data"] + found.parts["log_z"] == pytest.approx(right, abs=1e-3)
    assert found.status == ""
    X[:, 2] = X[:, 2] > 1
    X[:, 1] = 1
    with pytest.warns(ConstantColumnWarning):
        constant = log_evidence(BayesianMRF(model="boltzmann"), np.minimum(X, 1), "bic", progress=False)
    assert "the maximum of the likelihood is at infinity" in constant.status
