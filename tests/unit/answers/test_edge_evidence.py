"""Bayes factors of edges against enumeration: every structure, with its evidence by importance sampling."""

import re

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats
from scipy.special import expit

import bayesmrf
from bayesmrf import CompareMRF, SpikeSlabMRF, graphs, plots, results
from bayesmrf.errors import OptionError
from bayesmrf.estimators import edge_evidence
from bayesmrf.priors import Beta, Cauchy, Gamma, Moment, Normal, SpikeSlab
from bayesmrf.results.bayes_factors import BOUND
from bayesmrf.results.categories import DIFFERENCES, WORDS, headline, stability_sentence
from bayesmrf.results.edge_evidence import Evidence, evidence, evidence_columns
from bayesmrf.results.rank_diagnostics import pareto_k
from bayesmrf.results.summary import summarise
from tests.long import LONG
from tests.oracle import groups as groups_oracle
from tests.oracle.bounds import assert_mean
from tests.oracle.edge_evidence import log10_factors, of_groups, of_table
from tests.oracle.spike_slab import _features, posterior
from tests.oracle.states import all_states

CLOSE = 0.1  # of log10
ERRORS = 6.0  # standard errors: one of 5e8 is further away by chance
RUN = {"n_draws": 1500, "n_warmup": 200, "n_chains": 4, "progress": False}


def log10_of_share(share, error, p):
    """Bayes factor of an inclusion under a fixed probability, and its error."""
    return np.log10(share / (1 - share) / (p / (1 - p))), error / (share * (1 - share)) / np.log(10)


def assert_close(found, exact, error):
    """Factors beyond the bounds are on the same side. In the tail of few draws, the error is not known."""
    checked = (np.abs(exact) < BOUND) & np.isfinite(found.error)
    away, error = np.abs(found.log10 - exact)[checked], np.hypot(found.error, error)[checked]
    assert checked.any()
    assert (away < CLOSE).all(), away
    assert (away < ERRORS * error).all(), away / error
    beyond = np.abs(exact) > BOUND
    assert (found.log10 * np.sign(exact) > BOUND - CLOSE)[beyond].all()


def assert_both_close(est, truth, error):
    for kind, *exact in zip(("local", "marginal"), truth, error, strict=True):
        assert_close(evidence(est.posterior_, kind), *exact)


def yes_no(rng, n=150, n_nodes=4, m=2):
    X = rng.integers(0, m, (n, n_nodes))
    X[:, 1] = np.where(rng.random(n) < 0.35, X[:, 0], X[:, 1])
    X[:, 2] = np.where(rng.random(n) < 0.25, X[:, 1], X[:, 2])
    return X


PRIORS = [SpikeSlab(density=Beta(1, 2), slab=Cauchy(1.0)), SpikeSlab(density=0.3, slab=Normal(0.7))]


@pytest.mark.parametrize("prior", PRIORS, ids=["learnt", "fixed"])
def test_both_factors_of_yes_no_columns_are_those_of_enumeration(rng, prior):
    X = yes_no(rng)
    truth, error = log10_factors(of_table(X, 2, graphs.complete(4).edges, prior), prior, rng)
    est = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X)
    assert_both_close(est, truth, error)
    # Controls: the two differ under a learnt density only, the other prior has other factors, and odds averaged over
    # all draws are no Bayes factor.
    differ = np.abs(np.diff([evidence(est.posterior_, kind).log10 for kind in ("local", "marginal")], axis=0))
    assert (differ > CLOSE).any() == isinstance(prior.density, Beta)
    other = PRIORS[prior is PRIORS[0]]
    with pytest.raises(AssertionError):
        assert_both_close(est, *log10_factors(of_table(X, 2, graphs.complete(4).edges, other), other, rng))
    if isinstance(prior.density, Beta):
        log_l = est.posterior_["edge_evidence"]["log_factor"].values.astype(float)
        wrong = Evidence(np.log10(np.exp(log_l).mean(axis=0)), np.zeros(6), np.zeros(6), np.zeros(6))
        with pytest.raises(AssertionError):
            assert_close(wrong, truth[0], error[0])


@pytest.mark.parametrize(("n_nodes", "n_draws"), [(5, 400), pytest.param(6, 100, marks=[LONG])])
def test_factors_of_more_yes_no_columns_are_those_of_enumeration(rng, n_nodes, n_draws):
    """1,024 and 32,768 structures."""
    X, prior = yes_no(rng, 200, n_nodes), PRIORS[0]
    truth, error = log10_factors(of_table(X, 2, graphs.complete(n_nodes).edges, prior), prior, rng, n_draws)
    est = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X)
    assert_both_close(est, truth, error)


@pytest.mark.parametrize(("n_nodes", "m"), [(4, 3), (3, 4)])
def test_factors_of_ordered_answers_are_those_of_enumeration(rng, n_nodes, m):
    X, prior = yes_no(rng, 120, n_nodes, m), SpikeSlab(density=Beta(1, 1), slab=Cauchy(0.5), bias_scale=2.0)
    truth, error = log10_factors(of_table(X, m, graphs.complete(n_nodes).edges, prior), prior, rng)
    est = SpikeSlabMRF(prior=prior, model="ordinal", random_state=int(rng.integers(2**31)), **RUN).fit(X)
    assert_both_close(est, truth, error)


@pytest.mark.parametrize("slab", [Cauchy(1.0), Moment(0.6)], ids=str)
def test_factors_of_tables_of_log_odds_are_those_of_enumeration(rng, slab):
    """An edge between columns without order has four parameters: their integral is an estimate by points of a t."""
    X, prior = yes_no(rng, 120, 3, 3), SpikeSlab(density=Beta(1, 1), slab=slab, bias_scale=2.0)
    words = pd.DataFrame({f"v{i}": pd.Categorical.from_codes(x, list("abc")) for i, x in enumerate(X.T)})
    truth, error = log10_factors(of_table(X, 3, graphs.complete(3).edges, prior, nominal=True), prior, rng, 20_000)
    few = RUN | {"n_draws": 500}
    est = SpikeSlabMRF(prior=prior, model="nominal", random_state=int(rng.integers(2**31)), **few).fit(words)
    assert_both_close(est, truth, error)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")
@pytest.mark.parametrize("slab", [Moment(0.6), Cauchy(Gamma(8.0, 10.0)), Gamma(2.0, 2.0)], ids=str)
def test_factors_under_other_slabs_are_those_of_enumeration(rng, slab):
    """One is 0 at 0; scales of the others are learnt, and a factor given the scale is averaged over it."""
    X, prior = yes_no(rng, 150, 3), SpikeSlab(density=Beta(1, 1), slab=slab, bias_scale=2.0)
    truth, error = log10_factors(of_table(X, 2, graphs.complete(3).edges, prior), prior, rng)
    est = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X)
    assert_both_close(est, truth, error)
    wide = SpikeSlab(density=Beta(1, 1), slab=Cauchy(3.0), bias_scale=2.0)  # the control
    other = log10_factors(of_table(X, 2, graphs.complete(3).edges, wide), prior, rng)
    with pytest.raises(AssertionError):
        assert_both_close(est, *other)


def test_chains_have_the_factors_of_tables(rng, monkeypatch):
    """Where not all states can be summed over, chains are: noise adds to the error, and no bias, also of strong edges.

    The draws are the same, so that differences are noise. States follow from one draw to the next, so the standard
    error is that of batches of 20 successive draws.
    """
    n, options = 400, RUN | {"n_draws": 100, "random_state": int(rng.integers(2**31)), "prior": PRIORS[0]}
    X = yes_no(rng, n)
    X[:, 3] = np.where(rng.random(n) < 0.5, X[:, 0], X[:, 3])
    exact = SpikeSlabMRF(method="reversible-jump", **options).fit(X).posterior_
    monkeypatch.setattr(edge_evidence, "TABLE", 1)
    chains = SpikeSlabMRF(method="reversible-jump", **options).fit(X).posterior_
    np.testing.assert_array_equal(*(np.asarray(tree["posterior"]["theta"]) for tree in (exact, chains)))
    at = np.isin(*(draw_numbers(tree) for tree in (exact, chains)))
    log_l = [tree["edge_evidence"]["log_factor"].values.astype(float) for tree in (exact, chains)]
    log_o = chains["edge_evidence"]["prior_log_odds"].values[:, None]
    for sign in (1, -1):  # of the probability of the edge, and of its absence, relative to their means
        one, two = (expit(sign * (log_o + some)) for some in (log_l[0][at], log_l[1]))
        away = (two - one) / one.mean(axis=0)
        assert_mean(away.reshape(-1, 20, 1, away.shape[1]).mean(axis=1), 0.0)
    found, truth = evidence(chains), evidence(exact)
    assert (np.abs(found.log10 - truth.log10) < CLOSE)[np.abs(truth.log10) < 3].all()
    assert (truth.log10 > 3).any()


def draw_numbers(tree):
    group = tree["edge_evidence"].to_dataset()
    return group["chain_number"].values * 10**6 + group["draw_number"].values


def test_pairs_with_probabilities_of_their_own(rng):
    """A forced edge has no factor; the local and the marginal ones of others are the same numbers."""
    X, p = yes_no(rng)[:, :3], np.array([[0, 0.2, 1], [0.2, 0, 0.6], [1, 0.6, 0]])
    prior = SpikeSlab(density=p, slab=Cauchy(1.0))
    est = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X)
    table = est.evidence_table().set_index(["first", "second"])
    np.testing.assert_allclose(table["prior"], [p[int(u), int(v)] for u, v in table.index])
    forced = table.loc[("0", "2")]
    assert forced["evidence"] == "forced"
    assert np.isnan(forced["bayes_factor"])
    rest = table.drop(index=("0", "2"))
    marginal = est.evidence_table("marginal").set_index(["first", "second"]).loc[rest.index]
    np.testing.assert_allclose(rest["bayes_factor"], marginal["bayes_factor"], rtol=1e-6)
    share = est.inclusion_
    for (u, v), row in rest.iterrows():
        found, prior_odds = share[int(u), int(v)], row["prior"] / (1 - row["prior"])
        odds = row["bayes_factor"] * prior_odds
        assert abs(found - odds / (1 + odds)) < 0.05


@pytest.mark.parametrize(("n_groups", "baseline"), [(2, "slab"), (3, "slab"), (2, "spike-slab")])
def test_factors_of_differences_are_those_of_enumeration(rng, n_groups, baseline):
    """With three groups a difference has two coordinates, and its integral is an estimate."""
    prior = SpikeSlab(density=0.4, slab=Cauchy(1.0), bias_scale=1.5)
    edges, labels = graphs.complete(3).edges, np.repeat(np.arange(n_groups), 90)
    X = rng.integers(0, 2, (len(labels), 3))
    X[:, 1] = np.where((labels == 1) & (rng.random(len(X)) < 0.6), X[:, 0], X[:, 1])
    X[:, 2] = np.where(rng.random(len(X)) < 0.3, X[:, 1], X[:, 2])
    groups = [(90, None, (X[labels == g, None] == all_states(3)).all(axis=2).astype(float)) for g in range(n_groups)]
    means, errors = groups_oracle.posterior(edges, 3, groups, prior, rng, 4000, always=baseline == "slab")
    spike = {"baseline": SpikeSlab(density=0.4, slab=Cauchy(1.0))} if baseline == "spike-slab" else {}
    est = CompareMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN, **spike).fit(X, labels)
    assert_close(evidence(est.posterior_), *log10_of_share(means[:3], errors[:3], 0.4))
    np.testing.assert_allclose(evidence(est.posterior_).log10, evidence(est.posterior_, "marginal").log10, atol=1e-12)
    other = log10_of_share(means[:3], errors[:3], 0.5)[0]  # control: the odds of another prior
    with pytest.raises(AssertionError):
        assert_close(evidence(est.posterior_), other, 0.0)


def test_factors_of_differences_on_four_nodes_are_those_of_enumeration(rng):
    prior, edges = SpikeSlab(density=Beta(1, 1), slab=Cauchy(1.0), bias_scale=1.5), graphs.complete(4).edges
    X, labels = yes_no(rng, 300), np.repeat([0, 1], 150)
    X[:, 3] = np.where((labels == 1) & (rng.random(300) < 0.5), X[:, 0], X[:, 3])
    truth, error = log10_factors(of_groups([X[labels == t] for t in (0, 1)], edges, prior), prior, rng)
    est = CompareMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X, labels)
    assert_both_close(est, truth, error)


def test_factors_with_missing_answers_are_those_of_enumeration(rng):
    prior, graph = SpikeSlab(density=0.4, slab=Cauchy(1.0), bias_scale=2.0), graphs.complete(3)
    X = yes_no(rng, 120)[:, :3].astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    seen = (np.isnan(X)[:, None] | (X[:, None] == all_states(3))).all(axis=2).astype(float)
    means, errors = posterior(graph, np.zeros(6), len(X), prior, rng, 4000, features=_features(graph), seen=seen)
    est = SpikeSlabMRF(prior=prior, random_state=int(rng.integers(2**31)), **RUN).fit(X)
    assert_close(evidence(est.posterior_), *log10_of_share(means[:3], errors[:3], 0.4))


def test_words_and_bounds():
    size, error = np.array([9.0, 1.2, 0.6, 0.0, -0.6, -1.2, -9.0, np.nan, np.nan]), np.full(9, 0.01)
    odds = np.array([0.0] * 7 + [np.inf, -np.inf])
    columns = evidence_columns(Evidence(size, error, error, odds))
    assert columns["evidence"].tolist() == [
        "included", "included", "weakly included", "inconclusive", "weakly excluded", "excluded", "excluded",
        "forced", "forbidden",
    ]  # fmt: skip
    assert columns["bayes_factor"][0] == 1e4
    assert columns["bayes_factor"][6] == 1e-4
    assert not columns["near_limit"].any()
    counts = "1 weakly included, 1 inconclusive, 1 weakly excluded, 2 excluded, 1 forced, 1 forbidden"
    assert headline(columns["evidence"], "pairs") == f"2 of 9 pairs are included, {counts}"
    assert (
        headline(columns["evidence"], "pairs", n_others=6) == f"2 of 15 pairs are included, {counts}, 6 no candidates"
    )
    unknown = evidence_columns(Evidence(size, np.full(9, np.nan), error, odds))
    assert unknown["near_limit"].tolist() == [False, *[True] * 5, False, False, False]
    parts = np.tile(size, (4, 1))
    parts[2, 2], parts[1, 3] = 1.1, 0.2  # another category, and the same
    of_parts = evidence_columns(Evidence(size, np.full(9, np.nan), error, odds, False, parts))
    assert np.flatnonzero(of_parts["near_limit"]).tolist() == [2]
    known = "1 Bayes factor is within two Monte Carlo standard errors of a cut-off"
    assert stability_sentence(unknown) == (
        "The evidence category of 5 pairs is not yet stable: for 5 the error could not be estimated."
    )
    one = {"near_limit": np.array([True, True]), "log10_bf_error": np.array([0.1, np.nan])}
    assert stability_sentence(one).endswith(f"{known} and for 1 the error could not be estimated.")
    assert stability_sentence({name: values[:1] for name, values in one.items()}) == (
        f"The evidence category of 1 pair is not yet stable: {known}."
    )
    assert evidence_columns(Evidence(size, np.full(9, 0.15), error, odds))["near_limit"].tolist()[1:4] == [
        True,
        True,
        False,
    ]
    other = evidence_columns(Evidence(size, error, error, odds), (2, 20))["evidence"]
    assert other[1] == "weakly included"
    for bad in ((10, 3), 3, (0.5, 2), ("a", "b"), (3, 1e6)):
        with pytest.raises(OptionError, match="limits"):
            evidence_columns(Evidence(size, error, error, odds), bad)


def counts_of(est, words):
    """Number of edges in each category: by the headline, the table, and the legend of the picture."""
    head = re.sub(r"(\d+) of \d+ \w+ (is|are) ", r"\1 ", summarise(est.posterior_).headline)
    legend = (
        plots.plot_evidence_network(est).get_legend() or plots.plot_evidence_network(est).child_axes[0].get_legend()
    )
    drawn = (re.fullmatch(r"([a-z ]+) \((\d+)\)", text.get_text()).groups() for text in legend.get_texts())
    table = est.evidence_table()["evidence"].value_counts()
    return (
        {word: int(n) for n, word in re.findall(r"(\d+) ([a-z ]+)", head)},
        {word: int(table.get(word, 0)) for word in words},
        {word: int(n) for word, n in drawn},
    )


def test_every_place_has_the_same_counts(rng):
    """Of edges, one of which is forced and one no candidate, and of differences; all pairs are counted."""
    X, options = yes_no(rng, 300), RUN | {"n_draws": 200, "random_state": int(rng.integers(2**31))}
    density = np.full((4, 4), 0.5) * (1 - np.eye(4))
    density[0, 3] = density[3, 0] = 1.0
    candidates = [("0", "1"), ("0", "2"), ("0", "3"), ("1", "3"), ("2", "3")]
    est = SpikeSlabMRF(candidates, prior=SpikeSlab(density=density, slab=Cauchy(1.0)), **options).fit(X)
    head, table, drawn = counts_of(est, WORDS)
    assert head == table | {"forced": 1, "no candidates": 1}
    assert sum(head.values()) == 6
    assert drawn == table | {"forced": 1}
    both = CompareMRF(prior=SpikeSlab(density=0.5), **options).fit(X, np.arange(300) % 2)
    head, table, drawn = counts_of(both, DIFFERENCES)
    assert head == table == drawn
    assert sum(head.values()) == 6
    assert set(both.table("differences")["evidence"]) <= set(DIFFERENCES)


def test_the_evidence_of_a_stored_run(rng, tmp_path):
    """Words and numbers are those of the run; a strong edge has a bounded factor, and few draws have no error."""
    X = yes_no(rng, 800)
    X[:, 3] = np.where(rng.random(800) < 0.9, X[:, 0], X[:, 3])
    few = RUN | {"n_draws": 100}
    est = SpikeSlabMRF(prior=PRIORS[0], random_state=1, **few).fit(X)
    table = est.evidence_table()
    strong = table.iloc[0]
    assert (strong["first"], strong["second"]) == ("0", "3")
    assert (strong["bayes_factor"], strong["evidence"], strong["near_limit"]) == (1e4, "included", False)
    results.save(est, tmp_path / "run")
    again = bayesmrf.load(tmp_path / "run")
    assert again.evidence_table(kind="marginal").equals(est.evidence_table("marginal"))
    assert again.table("evidence").equals(table)
    edges = est.table("edges").set_index(["first", "second"])["evidence"]
    assert all(edges[row.first, row.second] == row.evidence for row in table.itertuples())
    assert set(table["evidence"]) <= set(WORDS)
    page = est.report(tmp_path / "r.html").read_text()
    assert "&gt; 10^4" in page
    two = SpikeSlabMRF(random_state=1, **few, n_jobs=2, prior=PRIORS[0]).fit(X)
    assert two.evidence_table().equals(table)
    short = SpikeSlabMRF(random_state=1, **(RUN | {"n_draws": 5}), prior=PRIORS[0]).fit(X)
    assert short.evidence_table()["log10_bf_error"].isna().all()
    with pytest.raises(OptionError, match="kind"):
        est.evidence_table("global")
    del est.posterior_["edge_evidence"]
    with pytest.raises(OptionError, match="fit again"):
        est.evidence_table()


def test_pareto_k_is_the_index_of_the_tail_of_the_largest_terms(rng):
    """Standard errors of k from 4,000 terms are about 0.1."""
    logs = rng.exponential(size=(4000, 1)) * np.array([0.5, 1.0])
    np.testing.assert_allclose(pareto_k(logs), [0.5, 1.0], atol=0.4)
    assert (pareto_k(-logs) < -0.5).all()  # the control: bounded terms


def test_pareto_k_of_many_columns_is_that_of_arviz(rng):
    logs = rng.exponential(size=(300, 12)) * np.linspace(0.1, 2, 12) - rng.normal(size=(300, 12)) ** 2
    for n in (40, 300):
        np.testing.assert_allclose(pareto_k(logs[:n]), [array_stats.psislw(-x)[1] for x in logs[:n].T], atol=1e-9)
    assert np.isnan(pareto_k(logs[:20])).all()
