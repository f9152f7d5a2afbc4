"""The evidence of estimators: what they are to the methods, work that methods share, and models compared."""

import re
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln

from bayesmrf import (
    RBM,
    BayesianMRF,
    Cauchy,
    Evidence,
    GroupedMRF,
    MaximumLikelihoodMRF,
    Normal,
    SpikeSlabMRF,
    compare_evidence,
    graphs,
    log_evidence,
    metrics,
    plots,
)
from bayesmrf.engines import Enumeration
from bayesmrf.errors import DataError, OptionError, TooWideError
from bayesmrf.estimators.evidence_targets import hash_of, make_target, prior_name
from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.at_mode import AtMode
from bayesmrf.evidence.conjugate import Conjugate
from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.methods import evaluate, option_names, with_options
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.pairwise_target import PairwiseTarget
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.target import Target
from bayesmrf.methods import EVIDENCE
from bayesmrf.models import Boltzmann, RestrictedBoltzmann
from bayesmrf.priors import LogisticBeta
from tests.helpers.flat import bayesian
from tests.long import LONG
from tests.oracle import evidence as evidence_oracle
from tests.oracle.bounds import assert_estimate, assert_mean, assert_other_estimate

ZERO_ONE = "weights and biases over {0, 1}"
EDGES = [(0, 1), (1, 2), (2, 3), (0, 3)]
GROUPED = {"graph": EDGES, "method": "exact", "n_draws": 20, "n_warmup": 5, "n_chains": 1, "progress": False}


@pytest.fixture
def X(rng):
    """30 observations of four nodes, the second like the first."""
    table = rng.integers(0, 2, (30, 4))
    table[:20, 1] = table[:20, 0]
    # Every pair of neighbours has been seen in all four states, so that no estimate lies at infinity.
    table[0], table[1], table[28], table[29] = 0, 1, [0, 1, 0, 1], [1, 0, 1, 0]
    return table


# ---- what estimators are to the methods


def likelihood(model, X, theta):
    """Of a pairwise model, by enumeration."""
    return metrics.log_likelihood(model, theta, X, Enumeration())


@pytest.mark.parametrize("kind", ["boltzmann", "ising", "agreement"])
def test_fixed_graph(kind, X, rng):
    est = bayesian(graph=EDGES, model=kind, prior_scale=0.5, bias_scale=2.0)
    target, note = make_target(est, X)
    assert note == ""
    assert not hasattr(est, "graph_")  # what came stays as it was
    theta = rng.normal(size=8)
    field = BayesianMRF(graph=EDGES, model=kind, n_draws=2, n_warmup=1, n_chains=1, progress=False).fit(X)._model()
    assert target.log_likelihood(theta)[0] == pytest.approx(likelihood(field, X, theta))
    scales = np.repeat([0.5, 2.0], 4)
    wanted = (-0.5 * (theta / scales) ** 2 - np.log(scales * np.sqrt(2 * np.pi))).sum()
    assert target.log_prior(theta) == pytest.approx(wanted)
    assert make_target(est, X, 1.0)[0].log_prior(theta) == pytest.approx(-0.5 * theta @ theta - 4 * np.log(2 * np.pi))


def test_machine(X, rng):
    target, _ = make_target(RBM(n_hidden=3), X, prior_scale=0.7)
    theta = rng.normal(size=target.n_features)
    assert target.n_features == 3 * 4 + 4 + 3
    assert target.log_likelihood(theta)[0] == pytest.approx(
        evidence_oracle.machine_likelihood(target.model, theta, X)[0]
    )
    assert target.prior.scale == 0.7
    assert make_target(RBM(n_hidden=3), X)[0].prior.scale == 1.0
    assert make_target(RBM(n_hidden=3, prior_scale=2.0), X)[0].prior.scale == 2.0


def test_independent_nodes_are_a_machine_whose_units_do_nothing(X, rng):
    target, _ = make_target("independent", X)
    theta = rng.normal(size=4)
    machine = make_target(RBM(n_hidden=1), X)[0]
    assert target.log_likelihood(theta)[0] == pytest.approx(
        machine.log_likelihood(np.concatenate([np.zeros(4), theta, [0.0]]))[0]
    )


def test_tied_edges(X, rng):
    groups = np.array([7, 3, 7, 7])
    est = MaximumLikelihoodMRF(graph=EDGES, ties=groups, fields=True)
    target, _ = make_target(est, X)
    values = rng.normal(size=6)
    assert target.n_features == 6
    field = est.fit(X)._model()
    full = np.concatenate([values[[0, 1, 0, 0]], values[2:]])
    assert target.log_likelihood(values)[0] == pytest.approx(likelihood(field, X, full))
    free = make_target(MaximumLikelihoodMRF(graph=EDGES, fields=False), X)[0]
    assert free.n_features == 4
    with pytest.raises(OptionError, match="ties must be 4 labels, one for each edge, got '2 labels'"):
        make_target(MaximumLikelihoodMRF(graph=EDGES, ties=[0, 1]), X)


def test_ties_of_a_bayesian_mrf(X, rng):
    """One coupling and one field: the target's likelihood is that of the whole model."""
    est = bayesian(graph=EDGES, model="ising", ties="all", prior_scale=0.5, bias_scale=2.0)
    target, _ = make_target(est, X)
    assert target.n_features == 2
    assert list(target.prior.scale) == [0.5, 2.0]
    field = MaximumLikelihoodMRF(graph=EDGES, model="ising").fit(X)._model()
    values = rng.normal(size=2)
    full = np.repeat(values, [4, 4])
    assert target.log_likelihood(values)[0] == pytest.approx(likelihood(field, X, full))
    assert target.log_likelihood(values)[0] != pytest.approx(likelihood(field, X, full[::-1]))
    assert make_target(BayesianMRF(graph=EDGES, model="ising", ties="edges"), X)[0].n_features == 5


def test_found_groups_and_whether_the_data_are_the_same(X, rng):
    est = GroupedMRF(**GROUPED, fields=True).fit(X)
    target, note = make_target(est, X[rng.permutation(len(X))])
    assert "groups were found on the same data, which favours the model" in note
    assert target.n_features == len(np.unique(est.groups_)) + 4
    given = make_target(MaximumLikelihoodMRF(graph=EDGES, ties=est.groups_, fields=True), X)[0]
    theta = rng.normal(size=target.n_features)
    assert target.log_likelihood(theta)[0] == pytest.approx(given.log_likelihood(theta)[0])
    assert make_target(est, np.concatenate([X, X]))[1] == ""
    with pytest.raises(OptionError, match=r"model must be a fitted GroupedMRF.*fit it first"):
        make_target(GroupedMRF(graph=EDGES), X)


def test_edges_that_do_not_exist_are_left_out_and_fields_tied_by_their_groups(X, rng):
    est = GroupedMRF(
        candidates="complete", fields="grouped", method="exact", n_draws=60, n_warmup=10, n_chains=2, progress=False
    )
    est.fit(X)
    est.groups_, est.field_groups_ = np.array([1, -1, 0, 1, -1, -1]), np.array([0, 1, 0, 1])  # whatever was found
    target, note = make_target(est, X)
    assert "edges and groups were found on the same data" in note
    assert target.n_features == 4
    kept = est.edges_[est.groups_ >= 0]
    np.testing.assert_array_equal(target.model.graph.edges, kept)
    values = rng.normal(size=4)
    full = values[[0, 1, 0, 2, 3, 2, 3]]
    assert target.log_likelihood(values)[0] == pytest.approx(likelihood(target.model, X, full))
    est.groups_ = np.full(6, -1)
    alone = make_target(est, X)[0]
    assert alone.n_features == 2
    found = log_evidence(est, X, "laplace", progress=False)
    assert found.log_evidence < 0
    est.fit(np.vstack([X, X]))
    assert make_target(est, X)[1] == ""
    est.set_params(fields=False).fit(X)
    est.groups_ = np.zeros(6, dtype=int)
    assert make_target(est, X)[0].n_features == 1
    est.groups_ = np.full(6, -1)
    with pytest.raises(OptionError, match=r"no edge has an inclusion above 0\.5 and there are no node fields"):
        make_target(est, X)


def test_groups_of_many_states_are_refused(rng):
    est = GroupedMRF(model="potts", graph=EDGES, n_draws=5, n_warmup=2, n_chains=1, method="exact", progress=False)
    est.fit(rng.integers(0, 3, (40, 4)))
    with pytest.raises(OptionError, match="model must be ordinal, nominal or a model of yes/no nodes"):
        make_target(est, rng.integers(0, 2, (40, 4)))


def test_learnt_graph_is_said(X):
    _, note = make_target(BayesianMRF(graph="learn:2"), X)
    assert "graph was found on the same data, which favours the model" in note
    assert make_target(BayesianMRF(graph=EDGES), X)[1] == ""


def test_graph_that_was_learnt_with_groups_on_other_data(X):
    est = GroupedMRF(**GROUPED | {"graph": "learn:3"}).fit(X)
    assert make_target(est, X)[1].startswith("the groups were found on the same data")
    assert make_target(est, np.concatenate([X, X]))[1] == ""


@pytest.mark.parametrize("estimator", [BayesianMRF, MaximumLikelihoodMRF])
def test_options_of_estimators_are_checked(estimator, X):
    with pytest.raises(OptionError, match="random_state must be an integer >= 0"):
        make_target(estimator(random_state="yes"), X)


def test_rows_are_counted(X, rng):
    counts = rng.integers(0, 4, len(X)) + (np.arange(len(X)) < 2)
    a = make_target(RBM(n_hidden=2), X, sample_weight=counts)[0]
    b = make_target(RBM(n_hidden=2), np.repeat(X, counts, axis=0))[0]
    np.testing.assert_array_equal(a.states, b.states)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert len(np.unique(a.states, axis=0)) == len(a.states)
    assert a.n_samples == counts.sum()


def test_hash_is_of_the_observations_alone(X, rng):
    one = hash_of(make_target(RBM(n_hidden=2), X)[0])
    for same in (X[rng.permutation(30)], 2 * X - 1, X.astype(bool), pd.DataFrame(X)):
        assert hash_of(make_target("independent", same)[0]) == one
    other = X.copy()
    other[5, 2] ^= 1
    for different in (other, X[:-1], np.concatenate([X, X])):
        assert hash_of(make_target("independent", different)[0]) != one


# ---- methods


def test_evidence_of_independent_nodes_with_beta_priors(X):
    """By the formula: each node's share of ones integrated out."""
    found = log_evidence("independent", X, "conjugate", prior=LogisticBeta(2.0, 3.0))
    ones = X.sum(axis=0)
    assert found.log_evidence == pytest.approx((betaln(2 + ones, 3 + 30 - ones) - betaln(2, 3)).sum())
    assert (found.method, found.n_samples, found.n_features) == ("conjugate", 30, 4)
    assert found.prior == "logistic Beta(2, 3), on weights and biases over {0, 1}"


def test_a_beta_prior_of_small_constants_has_finite_draws(X, rng):
    prior = LogisticBeta(1e-3, 1e-3)
    draws = prior.sample(2000, 1, rng)
    assert np.isfinite(draws).all()
    # |theta| is nearly exponential of rate a, as a Beta variable is nearly 0 or 1.
    assert np.mean(np.abs(draws) < 1000) == pytest.approx(1 - np.exp(-1), abs=0.06)
    exact = log_evidence("independent", X, "conjugate", prior=prior).log_evidence
    found = log_evidence("independent", X, AIS(temperatures=4000), prior=prior, random_state=0, progress=False)
    assert_mean(np.exp(found.arrays["log_weights"] - exact)[:, None], 1)


@LONG  # tests/unit/evidence/test_evidence_ais.py has quadratures
def test_evidence_is_that_of_the_model_and_the_data(rng):
    """Two units and a hidden one, against quadrature: and not that of other data."""
    first, est = np.arange(60)[:, None] < 30, RBM(n_hidden=1)
    near = np.hstack([first, first ^ (np.arange(60)[:, None] % 15 == 0)])
    other = np.hstack([first, np.arange(60)[:, None] % 2 == 0])
    truth = evidence_oracle.log_evidence(make_target(est, near)[0], rng)
    found, wrong = (log_evidence(est, X, AIS(temperatures=100), progress=False) for X in (near, other))
    assert_estimate(found.log_evidence, truth, found.standard_error)
    assert_other_estimate(wrong.log_evidence, truth, wrong.standard_error)
    assert (found.method, found.prior, found.n_features) == ("ais", f"normal, scale 1, on {ZERO_ONE}", 5)


SHORT = {"n_draws": 50, "temperatures": 50, "n_steps": 500, "n_states": 2000, "n_warmup": 50}


def short(name):
    return with_options(EVIDENCE.row(name).method, **SHORT)


@pytest.mark.parametrize("name", EVIDENCE.names)
def test_every_method_answers_and_repeats_itself(name, X):
    """Whatever else is asked for, and whatever is shared."""
    model = "independent" if name == "conjugate" else RBM(n_hidden=2)
    found = log_evidence(model, X[:, :3], short(name), random_state=3, progress=False)
    target = make_target(model, X[:, :3])[0]
    assert (found.method, found.n_features, found.n_samples) == (name, target.n_features, 30)
    assert np.isfinite(found.log_evidence)
    assert name in str(found)
    *_, again = evaluate(target, [short(m) for m in ("map", "dic") if m != name] + [short(name)], 3)
    assert again.log_evidence == found.log_evidence


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant(AtMode):
    """A method of a user's own, with an option, that shares the mode."""

    value: float = -1.0

    name = "constant"

    def _estimate(self, target, rng, work, progress):
        return target.evidence(self.name, self.value + work, rng.random())


def test_work_is_shared_and_streams_are_apart(X, monkeypatch):
    calls = []

    def search(self, target, rng, *, progress=False):
        calls.append((self.n_steps, self.log_z, progress))
        return rng.random()

    monkeypatch.setattr(ModeSearch, "__call__", search)
    target = make_target("independent", X)[0]
    asked = ModeSearch(n_steps=7, log_z="exact")
    methods = [Constant(search=asked), Constant(search=ModeSearch(n_steps=7, log_z="exact"), value=-2.0)]
    both = list(evaluate(target, methods, 5, True))
    assert calls == [(7, "exact", True)]
    assert both[1].log_evidence == both[0].log_evidence - 1
    assert next(evaluate(target, methods[1:], 5)) == both[1]
    assert next(evaluate(target, methods[1:], 6)) != both[1]
    other = list(evaluate(target, [methods[0], Constant()], 5))
    assert len(calls) == 5
    assert other[0] == both[0]
    names = {"search", "n_steps", "n_states", "penalised", "log_z", "max_rounds", "n_chains", "temperatures", "value"}
    assert option_names(methods[0]) == names - {"search"}
    changed = with_options(methods[0], value=3.0, max_rounds=2, n_draws=9)
    assert (changed.value, changed.search.max_rounds, changed.search.n_steps) == (3.0, 2, 7)


def test_functions_and_objects_of_a_user_work_where_a_name_does(X):
    """As the first of several methods, with the seed of the call, and in comparisons."""

    def shifted(target, rng):
        return target.evidence("shifted", Conjugate()(target, rng).log_evidence + 2, 0.5, {"drawn": rng.random()})

    found = log_evidence("independent", X, shifted, random_state=1, progress=False)
    right = log_evidence("independent", X, "conjugate", progress=False)
    assert found.log_evidence == pytest.approx(right.log_evidence + 2)
    assert (found.method, found.standard_error, found.n_samples, found.n_features) == ("shifted", 0.5, 30, 4)
    np.testing.assert_allclose(compare_evidence([found, right])["difference"], [0, -2])
    target = make_target("independent", X)[0]
    again = [e for e in evaluate(target, ["conjugate", shifted, AIS(n_chains=2, temperatures=2)], 1)]
    assert [e.method for e in again] == ["conjugate", "shifted", "ais"]
    assert again[1].parts == found.parts  # whatever else is asked for
    assert log_evidence("independent", X, shifted, random_state=2, progress=False).parts != found.parts
    with pytest.raises(OptionError, match=r"method must be a function that returns an Evidence, got 3.0; make it with"):
        log_evidence("independent", X, lambda target, rng: 3.0)
    for wrong in (AIS, None, 3):
        with pytest.raises(OptionError, match=r"method must be one of 'laplace', .*, an object such as AIS"):
            log_evidence("independent", X, wrong)


def test_refused_before_any_work(X):
    def never(target, rng):
        raise AssertionError

    target = make_target(RBM(n_hidden=2), X)[0]
    with pytest.raises(OptionError, match="method='conjugate' needs parameters that are independent"):
        next(evaluate(target, [never, "conjugate"]))
    with pytest.raises(OptionError, match=r"method must be one of 'laplace', .*, got 'magic'"):
        next(evaluate(target, [never, "magic"]))


def test_rows_of_the_registry(X):
    """Each says what its method is; scores are those that rank models only; all have documented options."""
    assert {row.name for row in EVIDENCE if row.kind == "score"} == {"map", "dic", "cross-validation"}
    for name, row in ((row.name, row) for row in EVIDENCE):
        assert row.method.name == name
        assert row.sentence.endswith(".")
        assert row.needs
        assert f'"{name}"' in log_evidence.__doc__
        for f in fields(row.method):
            assert re.search(rf"^ *(\w+, )*{f.name}\b", type(row.method).__doc__, re.M), (name, f.name)


def test_status_tells_of_the_model_too(X):
    def bic(target, rng):
        return target.evidence("bic", np.nan, status=["nothing found", ""])

    found = log_evidence(GroupedMRF(**GROUPED).fit(X), X, bic)
    assert re.fullmatch("nothing found; the groups were found on the same data, .*", found.status)
    assert found.status in str(found)


def test_target_brings_its_data(X):
    target = make_target("independent", X, prior=LogisticBeta(1.0, 1.0))[0]
    assert isinstance(target, Target)
    found = log_evidence(target, method="conjugate")
    assert found.log_evidence == log_evidence("independent", X, "conjugate", prior=LogisticBeta()).log_evidence
    assert found.data_hash == hash_of(target)
    for given in ({"X": X}, {"prior_scale": 1.0}, {"prior": Normal()}, {"sample_weight": np.ones(30)},
                  {"coding": "ising"}):  # fmt: skip
        with pytest.raises(OptionError, match=f"{next(iter(given))} must be None with a Target"):
            log_evidence(target, **given)


def test_a_callable_must_return_a_model(X):
    """An RBM as the model of a BayesianMRF ended in an AttributeError."""
    with pytest.raises(OptionError, match=r"model must be a callable that returns a model .*, got 'RBM'; return"):
        log_evidence(BayesianMRF(model=RBM), X)


@pytest.mark.parametrize("hidden", [0, 1])
def test_data_of_a_target_are_checked(hidden, X):
    """Missing values (-1) and other codings gave numbers, a log evidence of +143 of 30 observations among them."""
    machine = RBMTarget(RestrictedBoltzmann(4, 1), X, np.ones(30), Normal())
    nodes = PairwiseTarget(Boltzmann(graphs.path(4 + hidden)), X, np.ones(30), Normal(), n_hidden=hidden)
    missing = np.where(np.arange(4) == np.where(np.arange(30) == 3, 1, -1)[:, None], -1, X)
    for target in (machine, nodes):
        assert np.isfinite(log_evidence(target, method=AIS(n_chains=20, temperatures=20)).log_evidence)
        for bad, message in [
            ({"states": missing}, "states must be 0 or 1 in each cell, got -1"),
            ({"states": 2 * X - 1}, "states must be 0 or 1 in each cell, got -1"),
            ({"states": X[:, :3]}, r"states must be of shape \(n, 4\), a row of the visible nodes each, got"),
            ({"weights": np.ones(29)}, "weights must be a count >= 0 for each of 30 rows, got"),
            ({"weights": -np.ones(30)}, "weights must be a count >= 0 for each of 30 rows, got"),
        ]:
            with pytest.raises(DataError, match=message):
                log_evidence(replace(target, **bad), method=AIS(n_chains=20, temperatures=20))


# ---- models compared

A = Evidence(-100.0, 0.1, "laplace", 30, 5, data_hash="x", prior="normal, scale 1")


def test_models_are_compared():
    given = {
        "a": A,
        "b": replace(A, log_evidence=-98.0, method="ais", status="few"),
        "c": replace(A, log_evidence=-101),
    }
    table = compare_evidence(given)
    assert list(table.index) == ["a", "b", "c"]
    np.testing.assert_allclose(table["difference"], [-2, 0, -3])
    weight = np.exp([-2, 0, -3])
    np.testing.assert_allclose(table["probability"], weight / weight.sum())
    assert list(table["method"]) == ["laplace", "ais", "laplace"]
    assert list(table["status"]) == ["", "few", ""]
    pd.testing.assert_frame_equal(compare_evidence(list(given.values())).reset_index(drop=True),
                                  table.reset_index(drop=True))  # fmt: skip
    with_none = compare_evidence([A, replace(A, log_evidence=np.nan)])
    assert with_none["probability"][0] == 1
    assert with_none.loc[1, ["log_evidence", "difference", "probability"]].isna().all()
    assert compare_evidence([replace(A, log_evidence=np.nan)])["probability"].isna().all()
    scores = compare_evidence([replace(A, method="map"), replace(A, method="map", log_evidence=-90)])
    np.testing.assert_allclose(scores["difference"], [-10, 0])
    assert scores["probability"].isna().all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"data_hash": "y", "n_samples": 31}, r"the same data, but 'b' \(31 observations\) and 'a' \(30\)"),
        ({"prior": "normal, scale 2"}, r"the same prior, but 'b' has normal, scale 2 and 'a' has normal, scale 1"),
        ({"method": "map"}, "those by 'map' and 'laplace' are different quantities"),
    ],
)
def test_what_cannot_be_compared(other, message):
    with pytest.raises(OptionError, match=message):
        compare_evidence({"a": A, "b": replace(A, **other)})
    with pytest.raises(OptionError, match="evidences must contain"):
        compare_evidence([])
    for wrong in (None, 1.0, A.log_evidence, "ab", [A, 3], {"a": A, "b": None}):
        with pytest.raises(OptionError, match=r"evidences must be a dict or a list of results of log_evidence, got "):
            compare_evidence(wrong)
    assert len(compare_evidence(A)) == 1


def test_other_data_and_other_priors_are_known(X):
    conjugate = {"method": "conjugate", "progress": False}
    one = log_evidence("independent", X, **conjugate)
    assert len(compare_evidence([one, log_evidence("independent", 2 * X - 1, **conjugate)])) == 2
    with pytest.raises(OptionError, match="of the same data"):
        compare_evidence([one, log_evidence("independent", X[:-1], **conjugate)])
    with pytest.raises(OptionError, match="the same prior"):
        compare_evidence([one, log_evidence("independent", X, prior_scale=2.0, **conjugate)])


# ---- scales of the prior


def test_a_choice_that_depends_on_the_scale_of_the_prior_is_shown():
    """The reproduction: of two hidden units with weights near 2.4 a prior scale of 1 makes four, a scale of 2 two.

    The data are fixed, as the choice is theirs: in other draws two units may be ahead at either scale, and searches may
    end at mirrored modes whose values are some nats apart. Here, the differences are 10 nats at scale 1, 40 at a half
    and 13 at 2, and modes agree within 0.2 nats for any ``random_state`` tried.
    """
    rng = np.random.default_rng(1)
    machine = RestrictedBoltzmann(8, 2)
    weights = 2.4 * rng.choice([-1, 1], (2, 8)) * rng.uniform(0.8, 1.2, (2, 8))
    theta = machine.join(weights, -weights.sum(axis=0) / 2, -weights.sum(axis=1) / 2)
    states = machine.sample(theta, 1000, rng)
    found = {k: log_evidence(RBM(n_hidden=k), states, random_state=1, progress=False) for k in (2, 4)}
    table = compare_evidence(found)
    assert table["difference"].idxmax() == 4
    assert table["at_double_prior_scale"].idxmax() == 2
    assert table["at_half_prior_scale"].idxmax() == 4
    direct = log_evidence(RBM(n_hidden=2), states, prior_scale=2.0, random_state=2, progress=False)
    assert found[2].parts["at_double_prior_scale"] == pytest.approx(direct.log_evidence, abs=0.5)


def test_scales_are_shown_where_all_have_them():
    parts = {"at_half_prior_scale": -105.0, "at_double_prior_scale": -99.0}
    other = {"at_half_prior_scale": -104.0, "at_double_prior_scale": -101.0}
    table = compare_evidence({"a": replace(A, parts=parts), "b": replace(A, parts=other)})
    np.testing.assert_allclose(table["at_half_prior_scale"], [-1, 0])
    np.testing.assert_allclose(table["at_double_prior_scale"], [0, -2])
    assert "at_half_prior_scale" not in compare_evidence({"a": replace(A, parts=parts), "b": A}).columns


# ---- codings of the prior

CODINGS = ("boltzmann", "ising", "agreement")


@pytest.mark.parametrize("coding", CODINGS)
def test_one_model_has_one_evidence_in_one_coding(coding, X, rng):
    """Nodes without edges in closed form, a triangle by Laplace; the prior on other parameters gives other values."""
    options = {"method": "conjugate", "progress": False}
    named = {"independent": "independent"} | {m: BayesianMRF([], model=m) for m in CODINGS}
    found = {name: log_evidence(m, X, coding=coding, **options) for name, m in named.items()}
    truth = evidence_oracle.log_evidence(make_target("independent", X, coding=coding)[0], rng)
    for e in found.values():
        assert e.log_evidence == pytest.approx(truth, abs=evidence_oracle.PRECISION)
        assert e.log_evidence == pytest.approx(found["independent"].log_evidence, abs=1e-9)
    np.testing.assert_allclose(compare_evidence(found)["probability"], 0.25)
    full = {m: log_evidence(BayesianMRF("complete", model=m), X[:, :3], coding=coding, random_state=1, progress=False)
            for m in CODINGS}  # fmt: skip
    np.testing.assert_allclose([e.log_evidence for e in full.values()], full["ising"].log_evidence, atol=1e-3)
    compare_evidence(full)
    # control: each model in its own coding has a prior of its own
    own = {m: log_evidence(BayesianMRF("complete", model=m), X[:, :3], random_state=1, progress=False)
           for m in CODINGS}  # fmt: skip
    assert np.ptp([e.log_evidence for e in own.values()]) > 2e-3
    assert own[coding].log_evidence == pytest.approx(full[coding].log_evidence, abs=1e-6)
    assert len({e.prior for e in own.values()}) == 3


def test_tied_edges_in_another_coding(X, rng):
    """The likelihoods are the same set: W = 4 J, and fields that make up for the difference."""
    est = MaximumLikelihoodMRF(graph=EDGES, ties=[0, 1, 0, 0], fields=True)
    ising, boltzmann = (make_target(est, X, coding=c)[0] for c in ("ising", "boltzmann"))
    theta = rng.normal(size=6)
    weights = 4 * theta[:2]
    biases = 2 * (theta[2:] - np.bincount(np.ravel(EDGES), np.repeat(weights[[0, 1, 0, 0]] / 4, 2)))
    assert boltzmann.log_likelihood(np.concatenate([weights, biases]))[0] == pytest.approx(
        ising.log_likelihood(theta)[0]
    )
    assert boltzmann.log_likelihood(theta)[0] != pytest.approx(ising.log_likelihood(theta)[0])


def test_priors_on_other_parameters_are_not_compared(X):
    """The reproduction: one model, 0.995 to 0.005."""
    one = log_evidence("independent", X, "conjugate", progress=False)
    other = log_evidence(BayesianMRF([], model="agreement"), X, progress=False)
    assert one.prior == f"normal, scale 1, on {ZERO_ONE}"
    assert other.prior == "normal, scale 1, on log odds of agreement and fields over {-1, +1}"
    with pytest.raises(OptionError, match=r"the same prior, .*give all the same prior_scale and coding"):
        compare_evidence([one, other])
    for e in (one, other):
        assert e.prior in str(e)


def test_scales_of_edges_and_nodes_are_told_apart(X):
    def name(*scales, **options):
        return make_name(bayesian(EDGES, prior_scale=scales[0], bias_scale=scales[1], **options), X)

    assert name(1.0, 1.0) == f"normal, scale 1, on {ZERO_ONE}"
    assert name(1.0, 10.0) == f"normal, scale 1 of edges and 10 of nodes, on {ZERO_ONE}"
    assert name(10.0, 1.0) != name(1.0, 10.0)
    many = [make_name("independent", X, prior=Normal(s)) for s in ([1, 2, 3, 4.0], [1, 3, 2, 4.0], [2.0] * 4)]
    assert len(set(many)) == 3
    assert "scales from 1 to 4" in many[0]
    assert many[2] == f"normal, scale 2, on {ZERO_ONE}"


def make_name(model, X, **options):
    return prior_name(make_target(model, X, **options)[0])


def test_codings_that_a_model_cannot_have(X):
    with pytest.raises(OptionError, match=r"coding must be 'boltzmann' for an RBM, .*, got 'ising'"):
        log_evidence(RBM(n_hidden=1), X, coding="ising")
    free = MaximumLikelihoodMRF(graph=EDGES, fields=False)
    with pytest.raises(OptionError, match=r"coding must be 'agreement' for a model without a free field for each node"):
        log_evidence(free, X, coding="boltzmann")
    assert make_target(free, X, coding="ising")[0].model.name == "ising"
    with pytest.raises(OptionError, match="coding must be one of None, 'boltzmann'"):
        log_evidence("independent", X, coding="potts")


def test_weights_of_any_size_are_hashed(X):
    """Fractional weights were rounded, so that other data had the same checksum."""
    target = make_target("independent", X)[0]
    more = replace(target, weights=target.weights + 0.3)
    assert hash_of(more) != hash_of(target)
    assert hash_of(replace(more, weights=target.weights.copy())) == hash_of(target)


# ---- the picture


def test_picture_shows_values_and_errors():
    values = {1: -100.0, 2: -98.0, 4: -99.0}
    found = {"laplace": {k: replace(A, log_evidence=v) for k, v in values.items()},
             "ais": {k: replace(A, log_evidence=np.nan if k == 2 else v - 1) for k, v in values.items()}}  # fmt: skip
    ax = plots.plot_evidence(found)
    lines = [c.lines for c in ax.containers]
    np.testing.assert_array_equal(lines[0][0].get_xydata(), [[1, -100], [2, -98], [4, -99]])
    np.testing.assert_array_equal(lines[1][0].get_xydata(), [[1, -101], [4, -100]])
    low, high = (cap.get_ydata() for cap in lines[0][1])
    np.testing.assert_allclose(high - low, 0.4)
    rings = [line.get_xydata()[0].tolist() for line in ax.lines if line.get_markersize() == 11]
    assert rings == [[2, -98], [4, -100]]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["laplace", "ais"]


def test_picture_is_cut_where_one_method_of_three_is_far_below():
    found = {m: {k: replace(A, log_evidence=v - k) for k in (1, 2)} for m, v in (("a", -90), ("b", -95), ("c", -900))}
    ax = plots.plot_evidence(found)
    assert -100 < ax.get_ylim()[0] < -97
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c (below)"]
    found["c"][2] = replace(A, log_evidence=-93)
    ax = plots.plot_evidence(found)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c (some below)"]
    assert plots.plot_evidence({m: found[m] for m in "ac"}).get_ylim()[0] < -900


def test_picture_of_named_models():
    ax = plots.plot_evidence({"laplace": {"groups": A, "independent": replace(A, log_evidence=-120)}})
    assert [t.get_text() for t in ax.get_xticklabels()] == ["groups", "independent"]
    assert ax.containers[0].lines[0].get_linestyle() == "None"
    with pytest.raises(OptionError, match="evidences must be a dict"):
        plots.plot_evidence({})
    for wrong in ({"laplace": A}, {"laplace": {"groups": -100.0}}, [A], None):
        with pytest.raises(
            OptionError, match="evidences must be a dict with the Evidence of each model by each method"
        ):
            plots.plot_evidence(wrong)


# ---- bad input

BAD = {
    "no hidden units": (RBM(n_hidden=0), {}, "n_hidden must be .*, got 0"),
    "half a unit": (RBM(n_hidden=1.5), {}, "n_hidden must be .*, got 1.5"),
    "method": (RBM(n_hidden=1), {"method": "magic"}, "method must be .*, got 'magic'"),
    "scale": (RBM(n_hidden=1), {"prior_scale": -1.0}, "prior_scale must be .*, got -1.0"),
    "scale of the machine": (RBM(n_hidden=1, prior_scale=0), {}, "prior_scale must be .*, got 0"),
    "two priors": (
        RBM(n_hidden=1),
        {"prior_scale": 1.0, "prior": Normal()},
        "prior_scale must be None where a",
    ),
    "improper": (RBM(n_hidden=1), {"prior": Cauchy()}, "prior must be a proper prior .*priors.Normal or"),
    "scales of a machine": (
        RBM(n_hidden=1),
        {"prior": Normal([1.0, 2.0])},
        "prior must be of one scale for all",
    ),
    "scales": (
        "independent",
        {"prior": Normal([1.0, 2.0])},
        "prior must be of one scale or 4",
    ),
    "potts": (
        BayesianMRF(model="potts"),
        {},
        "model must be ordinal, nominal or a model of yes/no nodes for the evidence, got 'potts'",
    ),
    "kind": (BayesianMRF(model="magic"), {}, "model must be .*, got 'magic'"),
    "edges": (SpikeSlabMRF(), {}, "model must be .*, got SpikeSlabMRF"),
    "text": ("dependent", {}, "model must be .*, got 'dependent'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, X):
    model, options, message = BAD[case]
    with pytest.raises(OptionError, match=message):
        log_evidence(model, X, **options)


def test_bad_data(X):
    with pytest.raises(DataError, match=r"must be binary, .* the first is 2"):
        log_evidence(RBM(n_hidden=1), X + 1)
    with pytest.raises(DataError, match=r"1 are missing"):
        log_evidence("independent", np.where(np.arange(120).reshape(30, 4) == 7, np.nan, X))
    with pytest.raises(DataError, match="sample_weight must have shape"):
        log_evidence("independent", X, sample_weight=[1, 2])


def test_exact_z_out_of_reach(rng):
    wide = rng.integers(0, 2, (20, 20))
    with pytest.raises(TooWideError, match=r"method='ais' needs the exact Z.* 2\^16 = 65536 .*use method='laplace'"):
        log_evidence(RBM(n_hidden=16), wide, "ais")
    dense = rng.integers(0, 2, (20, 40))
    with pytest.raises(TooWideError, match=r"method='ais' needs the exact Z.* 40 nodes and 780 edges"):
        log_evidence(BayesianMRF(graph=graphs.complete(40)), dense, "ais")


def test_the_status_says_if_the_values_at_other_scales_are_off():
    """At twice the scale a machine has modes with exchanged values of its hidden unit, which are not counted."""
    rng = np.random.default_rng(71)
    X = (rng.random((40, 1)) < 0.5) ^ (rng.random((40, 4)) < 0.2)
    near = log_evidence(RBM(n_hidden=1), X, prior_scale=0.4, random_state=2, progress=False)
    assert near.status.startswith("at twice the prior scale: modes with exchanged values")
    there = log_evidence(RBM(n_hidden=1), X, prior_scale=0.8, random_state=2, progress=False)
    assert there.log_evidence == pytest.approx(near.parts["at_double_prior_scale"], abs=0.01)
    assert there.status.startswith("modes with exchanged values")
    plain = log_evidence(RBM(n_hidden=1), X, Laplace(n_checks=0, scales=False), prior_scale=0.4, random_state=2)
    assert (plain.log_evidence, plain.status) == (near.log_evidence, "")
