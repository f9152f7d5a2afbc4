"""A prior of each edge: every kernel against structures by brute force; estimators, files and reports."""

import numpy as np
import pandas as pd
import pytest

import bayesmrf as package
from bayesmrf import CompareMRF, SpikeSlabMRF, graphs, write_report
from bayesmrf.data.pair_probabilities import edge_probabilities
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError
from bayesmrf.estimators.edge_start import find_reference
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import LangevinJumps, ReversibleJump
from bayesmrf.models import Boltzmann, Nominal, Ordinal
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.exact_tables import SpikeSlabTables
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.posterior.edges.reference import SpikeSlabReference
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.priors import Beta, Normal, SpikeSlab
from bayesmrf.published.langevin import SpikeSlabLangevin
from bayesmrf.results.summary import summarise
from bayesmrf.runs import run
from tests.helpers.commands import one_sentence
from tests.oracle import spike_slab as oracle
from tests.statistical import test_differences as differences

N = 40
FOUR = np.array([[0, 0.9, 0.1, 0], [0.9, 0, 0.3, 1], [0.1, 0.3, 0, 0.6], [0, 1, 0.6, 0]])
UNFORCED = np.where(FOUR == 1, 0.7, FOUR)
THREE = np.array([[0, 0.8, 1], [0.8, 0, 0.2], [1, 0.2, 0.0]])
QUICK = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 1}


def rows_of(model, rng, n=N):
    """Two nodes of which are alike."""
    x = rng.integers(0, model.n_states, size=(n, model.graph.n_nodes))
    x[: n // 2, 1] = x[: n // 2, 0]
    x[: model.n_states] = np.arange(model.n_states)[:, None]
    return x.astype(np.int8)


def exact(model, s_bar, n, given, prior):
    return SpikeSlabExact(Likelihood(model, s_bar, n, Elimination()), prior, n_scans=2)


def tables(model, s_bar, n, given, prior):
    return SpikeSlabTables(Likelihood(model, s_bar, n, Elimination()), prior, n_scans=2)


def two_states(model, s_bar, n, given, prior):
    return SpikeSlabTwoStates(model, s_bar, n, prior, options=ReversibleJump(512, epsilon=0.1, n_iterations=10))


def many_states(model, s_bar, n, given, prior):
    return SpikeSlabManyStates(model, s_bar, n, prior, options=ReversibleJump(512, epsilon=0.1, n_iterations=10))


def langevin(model, s_bar, n, given, prior):
    options = LangevinJumps(n_particles=256, epsilon=0.1, width=0.3, n_iterations=50)
    return SpikeSlabLangevin(model, s_bar, n, prior, options=options)


def reference(model, s_bar, n, given, prior):
    return SpikeSlabReference(model, s_bar, n, find_reference(model, s_bar, n, prior), prior, n_scans=2)


@pytest.mark.parametrize(
    ("make", "model", "p", "n"),
    [
        (exact, Boltzmann(graphs.complete(4)), FOUR, N),
        (two_states, Boltzmann(graphs.complete(4)), FOUR, N),
        (many_states, Ordinal(graphs.complete(3), 3), THREE, N),
        (tables, Nominal(graphs.complete(3), 2, True), THREE, N),
        (langevin, Boltzmann(graphs.complete(3)), THREE, N),
        (reference, Boltzmann(graphs.complete(3)), THREE, 6000),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_every_structure(make, model, p, n, rng):
    """Edges that are forced are in each draw, those that are forbidden in none; the control has the others reversed."""
    slab, x = Normal(1.0), rows_of(model, rng, n)
    states = np.array(list(np.ndindex((model.n_states,) * model.graph.n_nodes)), np.int8)
    features, s_bar = np.array([model.statistics(s[None]) for s in states]), model.statistics(x)
    if n > N:  # weak dependence
        s_bar = features.mean(axis=0) + 0.01 * (s_bar - features.mean(axis=0))
    prior = SpikeSlab(p, slab, 2.0)
    draws = run.sample(
        make(model, s_bar, n, x, prior), n_draws=30, n_warmup=30, n_chains=24, random_state=rng, progress=False
    ).values
    u, v = model.graph.edges.T
    assert draws["included"][..., p[u, v] == 1].all()
    assert not draws["included"][..., p[u, v] == 0].any()
    truth = oracle.posterior(model.graph, s_bar, n, prior, rng, features=features)
    found = oracle.compared(draws, *truth)
    assert found.holds, found
    other = SpikeSlab(np.where((p > 0) & (p < 1), 1 - p, p), slab, 2.0)
    assert not oracle.compared(draws, *oracle.posterior(model.graph, s_bar, n, other, rng, features=features)).holds


@pytest.mark.parametrize("chains", [False, True], ids=["exact", "chains"])
def test_differences_and_baselines(chains, rng):
    """Each of which has probabilities of its own; the control has those of the other."""
    model, slab = Boltzmann(graphs.complete(3)), Normal(1.0)
    prior, spike = SpikeSlab(THREE, slab, 1.5), SpikeSlab(np.flipud(np.fliplr(THREE)), slab, 1.5)
    data = differences.rows(model, [25, 60], rng)
    draws = differences.draws_of(differences.kernel(model, data, prior, baseline=spike, chains=chains), rng, 40)
    assert draws["included"][..., 1].all()
    options = {"always": False}
    found = differences.compared(draws, differences.exact(model, data, rng, prior, spike=spike, **options))
    assert found.holds, found
    assert not differences.compared(draws, differences.exact(model, data, rng, spike, spike=prior, **options)).holds


def test_forms_of_a_table():
    """A matrix by place or by name, pairs by name or number, and a rest."""
    graph = graphs.from_edges([("a", "b"), ("b", "c"), ("c", "d")], tuple("abcd"))
    names, expected = list("abcd"), [0.9, 0.3, 0.6]
    frame = pd.DataFrame(UNFORCED, names, names)
    pairs = [("a", "b", 0.9), ("c", "b", 0.3), ("d", "c", 0.6)]
    numbers = [(0, 1, 0.9), (2, 1, 0.3), (2, 3, 0.6)]
    for given in (
        UNFORCED, frame, frame.loc[list("dbac"), list("bcda")], pairs, numbers, pd.DataFrame(pairs),
        pd.DataFrame(numbers), np.array(numbers), [("b", "a", 0.9), *pairs[1:]], UNFORCED + np.diag([np.nan] * 4),
    ):  # fmt: skip
        np.testing.assert_array_equal(edge_probabilities(given, graph), expected)
    np.testing.assert_array_equal(edge_probabilities([pairs[0], ("*", "*", 0.2)], graph), [0.9, 0.2, 0.2])
    np.testing.assert_array_equal(edge_probabilities([("*", "*", 1.0)], graph), [1, 1, 1])  # of candidates
    dotted = graphs.from_edges([(0, 1), (1, 2)], ("a.0", "a", "b"))
    table = pd.DataFrame([("a.0", "a", 0.3), ("a", "b", 0.4), ("a.0", "b", 0.5)])  # as many rows as columns
    np.testing.assert_array_equal(edge_probabilities(table, dotted), [0.3, 0.4])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FOUR + np.eye(4)[[1, 0]].T @ np.eye(4)[:2] * 0.2, r"\[0, 1\], got 1.1 of 'a' - 'b'; 0 forbids"),
        (FOUR * [[1], [0.5], [1], [1]], "a symmetric matrix, got 0.9 and 0.45 of 'a' - 'b'"),
        (THREE[:2, :2], r"a matrix \(4, 4\), a row and a column for each node, got shape \(2, 2\)"),
        ([("a", "x", 0.5)], "columns of the data, got 'x'; the columns are 'a', 'b', 'c', 'd'"),
        ([("a", "b", 0.5)], "got without 2 of 3 pairs, such as 'b' - 'c'; add them, or a row"),
        ([("a", "b", 0.5), ("b", "a", 0.5)], "got two rows for 'b' - 'a'; remove one"),
        ([("*", "*", 0.5), ("*", "*", 0.4)], r"got two rows for '\*' - '\*'"),
        ([("*", "*", 0.5), ("a", "d", 1.0)], "below 1 for pairs that are no candidates, got 1 of 'a' - 'd'"),
        (FOUR, "got 1 of 'b' - 'd'; give 0, or add the pair to candidates"),
        (UNFORCED + np.diag([0, 0, 0.5, 0]), "a matrix whose diagonal is 0, got 0.5 of 'c' - 'c'"),
        (pd.DataFrame(UNFORCED, list("aabc"), list("aabc")), "got 'a' twice; remove one"),
        ([("a", "a", 0.5)], "got 'a' - 'a', which joins a node to itself"),
        ([("a", "b", np.nan)], "got nan of 'a' - 'b'"),
        ([("a", "b", "much")], "got entries that are no numbers"),
        ([("a", "b", 0.5, 1)], "got a row of 4 entries"),
        (pd.DataFrame(FOUR, list("abcx"), list("abcx")), "got 'x'"),
        (pd.DataFrame(FOUR, None, list("bacd")), "got columns in another order than the rows"),
    ],
)
def test_tables_that_are_refused(given, message):
    graph = graphs.from_edges([("a", "b"), ("b", "c"), ("c", "d")], tuple("abcd"))
    with pytest.raises(OptionError, match=message):
        edge_probabilities(given, graph)


def test_candidates_are_a_short_way_to_write_zeros(rng):
    x = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("abcd"))
    some = [("a", "b"), ("b", "c"), ("c", "d")]
    by_candidates = SpikeSlabMRF(candidates=some, prior=SpikeSlab(0.3, bias_scale=2.0), **QUICK).fit(x)
    pairs = [*((u, v, 0.3) for u, v in some), ("*", "*", 0.0)]
    by_zeros = SpikeSlabMRF(prior=SpikeSlab(pairs, bias_scale=2.0), **QUICK).fit(x)
    both = SpikeSlabMRF(candidates=[*some, ("a", "d")], prior=SpikeSlab(pairs, bias_scale=2.0), **QUICK).fit(x)
    for est in (by_zeros, both):
        np.testing.assert_array_equal(est.edges_, by_candidates.edges_)
        for name in ("theta", "included"):
            found = est.posterior_["posterior"][name].values
            np.testing.assert_array_equal(found, by_candidates.posterior_["posterior"][name].values)
    assert by_zeros.density_ == pytest.approx(0.3)
    with pytest.raises(OptionError, match="density must be above 0 for at least one pair, got 0 for all pairs"):
        SpikeSlabMRF(prior=SpikeSlab([("*", "*", 0.0)]), **QUICK).fit(x)


def test_a_stored_run(rng, tmp_path):
    x = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("dcba"))
    given = pd.DataFrame(FOUR, list("abcd"), list("abcd"))
    est = SpikeSlabMRF(prior=SpikeSlab(given), **QUICK).fit(x)
    assert len(est.edges_) == 5  # that of a and d is forbidden
    p = est.posterior_["constant_data"]["edge_probability"].values
    names = np.array(list("dcba"))[est.edges_]
    np.testing.assert_array_equal(p, [given.loc[u, v] for u, v in names])
    forced = {"b", "d"}
    assert est.inclusion_[tuple(est.edges_[[set(pair) == forced for pair in names.tolist()]].T)] == 1
    package.results.save(est, tmp_path / "run")
    back = package.load(tmp_path / "run")
    np.testing.assert_array_equal(
        back.prior.density, [[0, 0.6, 1, 0], [0.6, 0, 0.3, 0.1], [1, 0.3, 0, 0.9], [0, 0.1, 0.9, 0]]
    )
    np.testing.assert_array_equal(back.inclusion_, est.inclusion_)
    words = "probabilities from 0.1 to 1, 0.58 on average, 1 forced"
    assert summarise(back).prior_options["prior of each edge"] == words
    assert f"Prior of each edge: {words}" in write_report(back, tmp_path / "report.html").read_text()


def test_groups_of_people(rng, tmp_path):
    """Differences that are forbidden leave the edge where it is; those of certain edges have no Bayes factor."""
    x, groups = pd.DataFrame(rng.integers(0, 2, (80, 3)), columns=list("abc")), np.repeat([0, 1], 40)
    prior = SpikeSlab([("a", "b", 0.0), ("a", "c", 1.0), ("b", "c", 0.3)])
    est = CompareMRF(prior=prior, baseline=SpikeSlab([("*", "*", 0.5)]), **QUICK).fit(x, groups=groups)
    assert len(est.edges_) == 3
    assert (est.difference_inclusion_[0, 1], est.difference_inclusion_[0, 2]) == (0, 1)
    assert 0 < est.edge_inclusion_[0, 1] < 1
    table = est.table("differences").set_index(["first", "second"]).loc[[("a", "b"), ("a", "c"), ("b", "c")]]
    assert table["evidence"].tolist()[:2] == ["forbidden", "forced"]
    assert np.isfinite(table["bayes_factor"]).tolist() == [False, False, True]
    package.results.save(est, tmp_path / "run")
    back = package.load(tmp_path / "run")
    np.testing.assert_array_equal(back.baseline.density, 0.5 * (1 - np.eye(3)))
    assert len(est.posterior_.attrs["baseline"]) < 200
    summary = summarise(back)
    assert summary.may_be_absent
    assert summary.density_sentence.startswith("Prior of each difference: probabilities from 0 to 1")
    with pytest.raises(OptionError, match="biases must be 'free' or 'slab' where each edge has a probability"):
        CompareMRF(prior=prior, biases="spike-slab", **QUICK).fit(x, groups=groups)
    with pytest.raises(OptionError, match="density must be above 0 for at least one pair"):
        CompareMRF(prior=SpikeSlab([("*", "*", 0.0)]), **QUICK).fit(x, groups=groups)


FILES = {
    "matrix": "0,.5,.2\n.5,0,1\n.2,1,0\n",
    "header": "a,b,c\n0,.5,.2\n.5,0,1\n.2,1,0\n",
    "labels": ";c;b;a\nc;0;1;0,2\nb;1;0;0,5\na;0,2;0,5;0\n",
    "pairs": "a,b,.5\na,c,.2\nc,b,1\n",
    "pairs below a header": "one,other,probability\na,b,.5\nb,c,1\n*,*,.2\n",
    "numbers": "0,1,.5\n0,2,.2\n1,2,1\n1,3,.1\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, bayesmrf, folder, rng):
    columns = list("abcd" if name == "numbers" else "abc")
    pd.DataFrame(rng.integers(0, 2, (50, len(columns))), columns=columns).to_csv("answers.csv", index=False)
    text = FILES[name] + ("0,3,0\n2,3,0\n" if name == "numbers" else "")
    (folder / "p.csv").write_text(text)
    small = ["--n-draws", "20", "--n-warmup", "5", "--n-chains", "2"]
    code, out, err = bayesmrf("structure", "answers.csv", "--density", "p.csv", "--out", "run", *small)
    assert code == 0, err
    assert "Prior of each edge: probabilities from" in " ".join(out.split())
    tree = package.results.load("run")
    found = tree["constant_data"]["edge_probability"].values
    np.testing.assert_array_equal(found, [0.5, 0.2, 1.0] if name != "numbers" else [0.5, 0.2, 1.0, 0.1])


def test_files_that_are_refused(bayesmrf, folder, rng):
    table = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=list("abc"))
    table.assign(group=np.arange(50) % 2).to_csv("answers.csv", index=False)
    for text, words in (
        ("a,b\n", "got 1 lines of 2 entries"),
        ("a,b,x\n", "numbers as probabilities, got 'x'"),
        ("a,b,.5\na,c\n", "lines of different numbers of entries"),
        ("", "the file is empty|got no line"),
        ("a,b,.5\n", "density must be a probability of each pair"),
        ("a,b,.5\nb,a,.5\n*,*,.5\n", "got two rows for 'b' - 'a'"),
        (".5,.5,.2\n.5,.5,1\n.2,1,.5\n", "a matrix whose diagonal is 0, got 0.5 of 'a' - 'a'"),
        ("a,b,2\n*,*,.5\n", r"--density must be probabilities in \[0, 1\], got 2"),
    ):
        (folder / "p.csv").write_text(text)
        one_sentence(bayesmrf("compare", "answers.csv", "--by", "group", "--density", "p.csv"), words)
    one_sentence(bayesmrf("groups", "answers.csv", "--graph", "complete", "--density", "p.csv"), "--density")
    one_sentence(bayesmrf("structure", "answers.csv", "--density", "absent.csv"), "or a file of probabilities")


def test_priors_of_pairs_are_recognised():
    for given in (FOUR, pd.DataFrame(FOUR), [("a", "b", 0.1)], Beta(), 0.3):
        SpikeSlab(given)
    for given in ([0.1, 0.2], np.ones(3), 1.0, 0, "x", [], None, [("a", "b")]):
        with pytest.raises(OptionError, match="density must be a number in"):
            SpikeSlab(given)
