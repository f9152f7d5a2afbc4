"""A stored run comes back as its estimator, which gives the same numbers; what a tree lacks is said in one sentence."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

import bayesmrf
from bayesmrf import (
    RBM,
    BayesianMRF,
    CompareMRF,
    GroupedMRF,
    MaximumLikelihoodMRF,
    SpikeSlabMRF,
    engines,
    families,
    graphs,
    methods,
    priors,
    save,
)
from bayesmrf.answers.registry import names_of
from bayesmrf.engines import Bethe, Brief
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.results import load as load_tree
from bayesmrf.results.stored import NotKept, _read, _written
from bayesmrf.results.summary import summarise

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
NAMES = ["a", "b", "c", "d"]


def answers(n_levels, missing=False):
    rng = np.random.default_rng(5)
    latent = rng.standard_normal((80, 1)) + rng.standard_normal((80, 4))
    table = pd.DataFrame(np.digitize(latent, np.linspace(-1, 1, n_levels - 1)), columns=NAMES)
    return table.mask(rng.random(table.shape) < 0.05) if missing else table


def in_words(table):
    """Ordered categories with names, of another number in the first column."""
    kinds = {name: pd.CategoricalDtype(["no", "perhaps", "yes"], True) for name in NAMES}
    found = table.apply(lambda column: column.map({0: "no", 1: "perhaps", 2: "yes"})).astype(kinds)
    found["a"] = (
        found["a"].map({"no": "no", "perhaps": "yes", "yes": "yes"}).astype(pd.CategoricalDtype(["no", "yes"], True))
    )
    return found


GROUPS = np.where(np.arange(80) % 2, "left", "right")
RUNS = {
    "parameters": (BayesianMRF([("a", "b"), ("b", "c")]), answers(2)),
    "parameters, tied": (
        BayesianMRF(ties="edges", model="ising", prior=priors.Normal(np.array([0.5] * 5))),
        answers(2),
    ),
    "parameters, levels": (BayesianMRF(kernel=methods.Langevin(adjusted=True), engine="exact"), answers(3, True)),
    "parameters, Bethe": (BayesianMRF(kernel="metropolis", engine=Bethe(damping=0.5)), answers(2)),
    "edges": (SpikeSlabMRF(), answers(2, True)),
    "edges, words": (SpikeSlabMRF(graphs.cycle(4), priors.SpikeSlab(0.5, priors.Normal(1.0))), in_words(answers(3))),
    "edges, potts": (SpikeSlabMRF(model="potts", method=methods.ReversibleJump(256)), answers(3)),
    "edges, array": (SpikeSlabMRF(method="langevin"), 2 * answers(2).to_numpy() - 1),
    "edges, neutral": (SpikeSlabMRF(model=families.Ordinal(neutral={"b": 1})), answers(3)),
    "groups": (GroupedMRF(), answers(2)),
    "groups, fields": (GroupedMRF(fields="grouped", candidates=[("a", "b"), ("c", "d")]), answers(2)),
    "groups, tables": (GroupedMRF(model=families.Symmetric(3)), answers(3)),
    "differences": (CompareMRF(baseline="spike-slab"), answers(2, True)),
    "differences, levels": (CompareMRF(), answers(3)),
}


def fitted(name):
    est, table = RUNS[name]
    est = est.set_params(**QUICK)
    return (est.fit(table, GROUPS) if isinstance(est, CompareMRF) else est.fit(table)), table


def same(one, other):
    """Whether two attributes are equal."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if hasattr(one, "edges"):
        return same(dict(one.nodes(data=True)), dict(other.nodes(data=True))) and sorted(one.edges) == sorted(
            other.edges
        )
    if isinstance(one, pd.DataFrame | pd.Series):
        return len(one) == len(other) == 0 or one.astype(object).equals(other.astype(object))
    return np.array_equal(np.asarray(one), np.asarray(other))


@pytest.fixture(scope="module", params=RUNS)
def pair(request, tmp_path_factory):
    """An estimator, its data, and what comes back of it from disk."""
    est, table = fitted(request.param)
    path = tmp_path_factory.mktemp("runs") / "run"
    save(est, path)
    return est, table, bayesmrf.load(path)


def test_parameters_and_attributes_come_back(pair):
    est, _, found = pair
    assert type(found) is type(est)
    edges = est._edges_option
    given, back = (e.get_params(deep=False) for e in (est, found))
    assert {k: repr(v) for k, v in given.items() if k != edges} == {k: repr(v) for k, v in back.items() if k != edges}
    np.testing.assert_array_equal(found.edges_, est.edges_)
    names = {name for name in dir(est) if name.endswith("_") and not name.startswith("_")} - {"posterior_"}
    assert names == {name for name in dir(found) if name.endswith("_") and not name.startswith("_")} - {"posterior_"}
    assert [name for name in names if not same(getattr(est, name), getattr(found, name))] == []
    assert found.posterior_["posterior"].equals(est.posterior_["posterior"])


def test_tables_reports_and_statistics_are_the_same(pair, tmp_path):
    est, _, found = pair
    assert names_of(found) == names_of(est)
    for name in names_of(est):
        pd.testing.assert_frame_equal(found.table(name, 0.5), est.table(name, 0.5), check_dtype=False)
    pages = [e.report(tmp_path / f"{i}.html").read_text() for i, e in enumerate((est, found))]
    assert len({re.sub(r"data:image[^\"]*", "", page) for page in pages}) == 1
    pd.testing.assert_frame_equal(found.interval(), est.interval())
    np.testing.assert_array_equal(found.statistic(np.sum), est.statistic(np.sum))


def test_predictions_are_the_same(pair):
    est, table, found = pair
    more = (GROUPS,) if isinstance(est, CompareMRF) else ()
    complete = ~pd.DataFrame(table).isna().any(axis=1).to_numpy()
    table, more = table[complete], [m[complete] for m in more]
    assert found.score(table, *more) == est.score(table, *more)
    np.testing.assert_array_equal(found.score_samples(table, *more), est.score_samples(table, *more))
    asked = {"group": "left"} if more else {}
    np.testing.assert_array_equal(found.sample(9, random_state=3, **asked), est.sample(9, random_state=3, **asked))


def test_it_can_be_fitted_again(pair):
    est, table, found = pair
    again = found.fit(table, GROUPS) if isinstance(est, CompareMRF) else found.fit(table)
    np.testing.assert_array_equal(again.theta_, est.theta_)


def test_control_other_levels_are_noticed(tmp_path):
    tree = fitted("edges")[0].posterior_.copy()
    record = json.loads(tree.attrs["estimator"])
    assert record[2] == "01"
    record[2] = "pm1"
    tree.attrs["estimator"] = json.dumps(record)
    save(tree, tmp_path / "run")
    assert set(np.unique(bayesmrf.load(tmp_path / "run").sample(99, random_state=1))) == {-1, 1}


def test_a_class_loads_its_own_runs(tmp_path):
    est, table = fitted("differences, levels")
    save(est, tmp_path / "run")
    found = CompareMRF.load(tmp_path / "run")
    assert found.groups_.tolist() == ["left", "right"]
    assert found.score(table, GROUPS) == est.score(table, GROUPS)


def test_a_run_stores_no_answers(tmp_path):
    """Also not where an engine was given with them."""
    table = answers(2)
    est = BayesianMRF(kernel="langevin", engine=Brief(table.to_numpy()), **QUICK).fit(table)
    save(est, tmp_path / "run")
    found = bayesmrf.load(tmp_path / "run")
    assert isinstance(found.engine, NotKept)
    assert found.checkpoint is None
    assert "states" not in est.posterior_.attrs["estimator"]


# ---- objects of users


def own(likelihood, prior):
    return Own(SpikeSlabExact(likelihood, prior))


class Own:
    """The kernel of the package under another name."""

    name = "own"

    def __init__(self, kernel):
        self.kernel, self.dims = kernel, kernel.dims

    def init(self, rng):
        return self.kernel.init(rng)

    def step(self, rng, state):
        return self.kernel.step(rng, state)


def test_a_users_method_is_not_kept_and_not_needed(tmp_path):
    table = answers(2)
    est = SpikeSlabMRF(method=methods.Custom(own, "exact"), **QUICK).fit(table)
    save(est, tmp_path / "run")
    found = SpikeSlabMRF.load(tmp_path / "run")
    assert found.method_ == "own"
    assert found.score(table) == est.score(table)
    with pytest.raises(OptionError, match=r"^method must be .*, got the Custom of the run, which is not stored\.$"):
        found.fit(table)
    assert found.set_params(method="exact").fit(table).method_ == "exact"


@pytest.mark.parametrize("kind", [BayesianMRF, SpikeSlabMRF, GroupedMRF])
def test_a_users_model_is_not_kept(tmp_path, kind):
    """Tables, intervals and statistics of theta do without it; one sentence says what does not."""
    table = answers(2)
    make = Boltzmann if kind is not GroupedMRF else (lambda graph: bayesmrf.models.symmetric.Symmetric(graph, 2))
    est = kind(model=make, **QUICK).fit(table)
    save(est, tmp_path / "run")
    found = kind.load(tmp_path / "run")
    np.testing.assert_array_equal(found.theta_, est.theta_)
    pd.testing.assert_frame_equal(found.table("edges"), est.table("edges"), check_dtype=False)
    pd.testing.assert_frame_equal(found.interval(), est.interval())
    np.testing.assert_array_equal(found.statistic(np.sum), est.statistic(np.sum))
    for call in (lambda: found.score(table), lambda: found.sample(2), lambda: found.graph_):
        with pytest.raises(
            OptionError,
            match=r"^model must be a model of the package in a stored run, got the .* of the run, which is not stored",
        ):
            call()


# ---- what is no stored estimator


def test_another_class_has_its_own_load(tmp_path):
    save(fitted("edges")[0], tmp_path / "run")
    with pytest.raises(StoreError, match=r"contains a run of SpikeSlabMRF; use SpikeSlabMRF\.load, or bayesmrf\.load$"):
        BayesianMRF.load(tmp_path / "run")

    class Mine(SpikeSlabMRF):
        pass

    save(Mine(**QUICK).fit(answers(2)), tmp_path / "mine")
    with pytest.raises(StoreError, match=r"contains a run of Mine; use the method load of this class$"):
        bayesmrf.load(tmp_path / "mine")
    assert type(Mine.load(tmp_path / "mine")) is Mine


RECORDS = {
    "no text": 5,
    "another list": "[1, 2]",
    "another class of objects": ["SpikeSlabMRF", {"mapping": [["method", {"os.system": {}}]]}, "01", [], True],
    "another parameter": ["SpikeSlabMRF", {"mapping": [["madness", 1]]}, "01", [], True],
    "parameters of another type": ["SpikeSlabMRF", [1], "01", [], True],
    "levels of another number": ["SpikeSlabMRF", {"mapping": []}, [{"tuple": [0, 1]}], [], True],
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_of_another_program(tmp_path, case):
    tree = fitted("edges")[0].posterior_.copy()
    record = RECORDS[case]
    tree.attrs["estimator"] = json.dumps(record) if isinstance(record, list) else record
    save(tree, tmp_path / "run")
    with pytest.raises(StoreError, match=r"is damaged.*restore|damaged"):
        bayesmrf.load(tmp_path / "run")
    assert load_tree(tmp_path / "run").equals(tree)


def test_parameters_that_are_too_long_are_not_kept(tmp_path, monkeypatch):
    """Of a run of many candidates, or with large arrays; the rest comes back."""
    table = answers(2)
    scale = priors.Normal(np.linspace(1.0, 2.0, 10))
    for limit, value, given, name in (
        ("bayesmrf.runs.sealed.MOST_VALUES", 20, {"graph": [("a", "b"), ("b", "c"), ("c", "d")]}, "graph"),
        ("bayesmrf.results.stored._MOST_BYTES", 40, {"graph": "complete", "prior": scale}, "prior"),
    ):
        est = BayesianMRF(**given, **QUICK)
        with monkeypatch.context() as patch:
            patch.setattr(limit, value)
            est.fit(table)
        save(est, tmp_path / name)
        found = bayesmrf.load(tmp_path / name)
        assert isinstance(getattr(found, name), NotKept)
        assert found.n_draws == est.n_draws
        assert found.table("parameters").equals(est.table("parameters"))


def test_a_tree_without_its_estimator(tmp_path):
    tree = fitted("edges")[0].posterior_.copy()
    del tree.attrs["estimator"]
    save(tree, tmp_path / "run")
    with pytest.raises(StoreError, match=r"contains draws without the estimator that made them; use bayesmrf\.results"):
        bayesmrf.load(tmp_path / "run")
    with pytest.raises(StoreError, match="does not exist"):
        bayesmrf.load(tmp_path / "nothing")


VALUES = [
    *(None, True, 3, 0.5, "x", [1, "a"], (1, 2), {"a": (1,)}, {("a", "b"): 1}, float("inf")),
    *(priors.SpikeSlab(priors.Beta(2, 3), priors.Cauchy(0.5)), priors.DirichletProcess(priors.Gamma(2, 1))),
    *(
        methods.ReversibleJump(n_iterations=3),
        engines.Phases("brief", Bethe(damping=0.2)),
        families.Ordinal(scores=(0, 1, 3)),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    assert repr(_read(json.loads(json.dumps(_written(value))), graphs.path(2))) == repr(value)


@pytest.mark.parametrize(
    "value",
    [print, object(), methods.Custom(own), priors.Normal, {"a": print}],
    ids=["function", "object", "method", "class", "mapping"],
)
def test_objects_of_users_do_not(value):
    found = _read(json.loads(json.dumps(_written(value))), graphs.path(2))
    assert isinstance(found["a"] if isinstance(found, dict) else found, NotKept)


def test_what_is_printed_is_the_same(pair):
    est, _, found = pair
    first, method, *answer, verdict = repr(est).splitlines()
    assert repr(found) == repr(est)
    assert answer == ([f"{summarise(est).headline}."] if summarise(est).headline else [])
    assert first.startswith(f"{type(est).__name__}, fitted: ")
    assert re.search(r"\b4 nodes", first)
    assert f"Method {est.posterior_.attrs['method']}" in method
    assert "prior" in method or "base distribution" in method
    assert verdict.startswith(est.table("findings")["text"][0])
    shown = est._repr_mimebundle_()
    assert shown.keys() == {"text/plain", "text/html"}
    assert shown["text/plain"] == repr(est)
    assert shown["text/html"] == found._repr_mimebundle_()["text/html"] == est._repr_html_()
    assert repr(clone(est)) == BaseEstimator.__repr__(est)  # not fitted: the parameters


def test_printing_an_estimator_never_fails(rng):
    est = SpikeSlabMRF(**QUICK).fit(answers(2))
    assert "text/html" in clone(est)._repr_mimebundle_()
    est.posterior_["posterior"]["density"].values[0, 0] = np.nan
    assert repr(est) == BaseEstimator.__repr__(est)
    assert est._repr_mimebundle_() == {"text/plain": repr(est)}


def test_estimators_without_a_posterior_are_printed():
    table = answers(2)
    found = {repr(est.fit(table)) for est in (MaximumLikelihoodMRF(), RBM(2, n_steps=20), RBM(1, prior_scale=2.0))}
    assert found == {
        "MaximumLikelihoodMRF, fitted: 4 nodes, 6 edges, model agreement\nMaximum of the likelihood, method exact",
        "RBM, fitted: 4 visible units, 2 hidden units\nMaximum of the likelihood, by persistent contrastive divergence",
        "RBM, fitted: 4 visible units, 1 hidden unit\nMaximum of the posterior, by persistent contrastive divergence, "
        "prior of each parameter normal, scale 2",
    }
