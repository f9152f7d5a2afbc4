"""The registry of engines; engines and models from outside the package in the estimators."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from bayesmrf import (
    BayesianMRF,
    CompareMRF,
    GroupedMRF,
    LabelFieldMRF,
    MaximumLikelihoodMRF,
    SpikeSlabMRF,
    engines,
    families,
    graphs,
    methods,
    report,
)
from bayesmrf.base import BINARY, EVERY_FAMILY, LOG_Z, MOMENTS, SAMPLE, DataEngine, Engine, Inference, Kind
from bayesmrf.engines import Bethe, Elimination, Gibbs
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.inference.registry import NAMES, ROWS, SYNONYMS, engine_of, engines_that_answer, row_of
from bayesmrf.models import Agreement, Ising, ManyStateModel, Ordinal, PairwiseModel, Potts, Symmetric
from bayesmrf.priors import Beta, DirichletProcess
from bayesmrf.results import summary
from tests.helpers.flat import bayesian
from tests.oracle.bounds import assert_mean, assert_other_mean

QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
CHAIN = [(0, 1), (1, 2), (2, 3)]


@pytest.fixture
def X(rng):
    return rng.integers(0, 2, size=(60, 4))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_those_of_the_classes(row):
    engine = engine_of(row.name)
    assert isinstance(engine, Engine)
    assert type(engine) is row.engine_class
    assert engine.name == row.name
    methods = set(dir(engine))
    assert bool({LOG_Z, MOMENTS} & engine.answers) == ("infer" in methods)
    assert (SAMPLE in engine.answers) == ("sample" in methods)
    assert BINARY in engine.families <= EVERY_FAMILY
    assert (row.caveat == "") == (engine.kind is Kind.EXACT)
    assert set(NAMES) == {r.name for r in ROWS} | set(SYNONYMS)


def test_names_and_options():
    assert engine_of("exact") == engine_of("elimination") == Elimination()
    assert engine_of("bethe", damping=0.5, n_sweeps=7) == Bethe(damping=0.5)
    assert engine_of(Gibbs(3), n_sweeps=7) == Gibbs(3)
    assert row_of("gibbs").options == ("n_sweeps", "n_jobs")
    assert engines_that_answer({SAMPLE, LOG_Z}) == ["enumeration", "elimination"]
    assert engines_that_answer({SAMPLE}, Potts(graphs.path(2), 3)) == [
        "enumeration",
        "elimination",
        "gibbs",
        "tempered",
        "swendsen-wang",
    ]
    with pytest.raises(OptionError, match=r"engine must be one of 'exact', .*, got 'magic'"):
        engine_of("magic")
    with pytest.raises(OptionError, match=r"engine must be .*, got the class Bethe; give Bethe\(\)"):
        engine_of(Bethe)
    with pytest.raises(OptionError, match=r"hidden_engine must be .* base\.Engine"):
        engine_of(object(), "hidden_engine")


@dataclass(frozen=True)
class IndependentNodes:
    """An engine from outside: log Z and moments as if all couplings were zero (exact where they are)."""

    name = "independent-nodes"
    answers = frozenset({LOG_Z, MOMENTS})
    families = frozenset({BINARY})
    kind = Kind.APPROXIMATE

    def prepare(self, model):
        return None

    def start(self, model, rng):
        return None

    def infer(self, model, theta, plan, want=MOMENTS, state=None):
        form = model.pairwise(theta)
        mean = np.tanh(form.field)
        u, v = form.edges.T
        log_z = np.log(2 * np.cosh(form.field)).sum() + form.offset
        return Inference(float(log_z), model.moments(mean[u] * mean[v], mean))


class Distance(PairwiseModel):
    """A model from outside: the statistic of an edge is 1 where its ends agree, and -1/2 where they differ."""

    name = "distance"
    edge_features = np.array([[[1.0, -0.5], [-0.5, 1.0]]])
    node_features = np.array([[-1.0, 1.0]])


def test_an_engine_of_your_own(X):
    fit = BayesianMRF(CHAIN, engine=IndependentNodes(), **QUICK).fit(X)
    assert fit.posterior_.attrs["engine"] == "independent-nodes"
    assert fit.posterior_.attrs["kind"] == "approximate (independent-nodes: approximate)"
    # Without edges it is exact, and makes the same draws as enumeration by log Z does.
    options = {"kernel": "metropolis", "step_size": 1.0, **QUICK}
    alone = [bayesian([], engine=e, **options).fit(X).theta_ for e in (IndependentNodes(), "bethe")]
    np.testing.assert_allclose(*alone, atol=1e-9)
    with pytest.raises(OptionError, match="'exchange' needs sample"):
        bayesian(CHAIN, kernel="exchange", engine=IndependentNodes(), **QUICK).fit(X)
    with pytest.raises(OptionError, match="an engine for the model 'potts'"):
        BayesianMRF(CHAIN, model="potts", engine=IndependentNodes(), **QUICK).fit(X)


class WalkState(NamedTuple):
    theta: np.ndarray
    log_p: float


class WalkInfo(NamedTuple):
    theta: np.ndarray
    accepted: bool


@dataclass(frozen=True, eq=False)
class Walk:
    """A kernel from outside: a random walk of all parameters at once."""

    likelihood: Any
    prior: Any
    scale: Any = 0.5
    note: Any = None  # not used

    name = "walk"
    dims = {"theta": ("feature",), "accepted": ()}  # noqa: RUF012

    def __post_init__(self):
        self.likelihood.require(self.name, {LOG_Z})

    def init(self, rng):
        theta = np.zeros(self.likelihood.n_parameters)
        return WalkState(theta, self.log_p(theta))

    def step(self, rng, state):
        theta = state.theta + self.scale * rng.standard_normal(len(state.theta))
        new = WalkState(theta, self.log_p(theta))
        accepted = bool(np.log(1 - rng.random()) < new.log_p - state.log_p)
        new = new if accepted else state
        return new, WalkInfo(new.theta, accepted)

    def log_p(self, theta):
        log_likelihood = self.likelihood.evaluate(theta, LOG_Z).log_likelihood
        return log_likelihood + float(np.sum(self.prior.log_density(theta)))


def wide(likelihood, prior):
    return Walk(likelihood, prior, 1.0)


@dataclass(frozen=True)
class Flat:
    """A prior from outside."""

    def log_density(self, theta):
        return 0 * theta

    def gradient(self, theta):
        return 0 * theta


def test_a_kernel_of_your_own(rng):
    """The posterior of one agreement is known: the control forgets the prior."""
    X = np.repeat([[0, 0], [1, 1], [1, 0], [0, 1]], [4, 3, 2, 1], axis=0)
    theta = np.linspace(-6, 8, 4001)
    p = np.exp(7 * theta - 10 * np.logaddexp(0, theta) - theta**2 / 2)
    exact = theta @ p / p.sum()
    options = {"n_draws": 300, "n_warmup": 100, "n_chains": 40, "random_state": rng, "progress": False}
    for kernel, check in ((Walk, assert_mean), (lambda likelihood, _: Walk(likelihood, Flat()), assert_other_mean)):
        given = methods.Custom(kernel, kind="exact")
        fitted = BayesianMRF([(0, 1)], model=lambda graph: Agreement(graph), kernel=given, **options).fit(X)
        check(fitted.posterior_["posterior"]["theta"].values, exact)
    assert fitted.kernel_ == fitted.posterior_.attrs["method"] == "walk"
    assert fitted.posterior_.attrs["kind"] == "exact"
    assert "accepted" in fitted.posterior_["sample_stats"]


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_what_a_kernel_of_your_own_works_with(X):
    """Ties, missing values, your own engine, and the check of draws that do not claim to be exact."""
    table = X.astype(float)
    table[::7, 1] = np.nan
    own = methods.Custom(Walk)
    tied = BayesianMRF(CHAIN, ties="all", kernel=own, **QUICK).fit(table)
    assert (tied.phi_.shape, tied.theta_.shape) == ((2,), (7,))
    assert tied.posterior_.attrs["kind"] == "approximate (user-defined method)"
    assert summary.ParameterSummary(tied.posterior_).options["prior"].startswith("normal")
    engine = BayesianMRF(CHAIN, kernel=methods.Custom(Walk, "exact"), engine=IndependentNodes(), **QUICK).fit(X)
    assert engine.posterior_.attrs["kind"] == "approximate (independent-nodes: approximate)"
    with pytest.raises(OptionError, match="engine must be one that computes log_z, got 'gibbs'; 'walk' needs log_z"):
        BayesianMRF(CHAIN, kernel=own, engine="gibbs", **QUICK).fit(X)
    for wrong in (lambda *_: None, lambda *_: Ising(graphs.path(2))):
        with pytest.raises(OptionError, match=r"kernel.make must be a callable that returns a kernel .*base\.Kernel"):
            BayesianMRF(CHAIN, kernel=methods.Custom(wrong), **QUICK).fit(X)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_checkpoints_of_a_kernel_of_your_own(X, tmp_path):
    """A run continues with the same kernel only; one whose fields cannot be compared has no checkpoint."""

    def fit(make, n_draws=20, checkpoint=tmp_path / "run"):
        options = QUICK | {"n_draws": n_draws, "checkpoint": checkpoint}
        return BayesianMRF(CHAIN, kernel=methods.Custom(make), **options).fit(X)

    whole = fit(Walk, checkpoint=None)
    fit(Walk, n_draws=10)
    np.testing.assert_array_equal(fit(Walk).theta_, whole.theta_)
    with pytest.raises(StoreError, match=r"scale is 1\.0, was 0\.5"):
        fit(wide)
    with pytest.raises(OptionError, match=r"checkpoint must be None for this run.*note is the function"):
        fit(lambda *given: Walk(*given, note=lambda: 1), checkpoint=tmp_path / "other_run")


def test_an_engine_with_options(X):
    by_name, same, other = (
        bayesian("complete", kernel="langevin", engine=e, **QUICK).fit(X).posterior_
        for e in ("bethe", Bethe(), Bethe(max_iterations=1))
    )
    assert by_name["posterior"].equals(same["posterior"])
    assert other.attrs["engine_options"] == '{"max_iterations": 1}'
    assert not by_name["posterior"].equals(other["posterior"])


def test_an_engine_of_your_own_for_missing_values(X):
    table = X.astype(float)
    table[::7, 1] = np.nan
    exact = bayesian(CHAIN, **QUICK).fit(table)
    given = bayesian(CHAIN, hidden_engine=Elimination(), **QUICK).fit(table)
    assert exact.posterior_["posterior"].equals(given.posterior_["posterior"])
    assert given.posterior_.attrs["hidden_engine"] == "elimination"
    own = bayesian(CHAIN, hidden_engine=IndependentNodes(), **QUICK).fit(table)
    assert own.posterior_.attrs["kind"] == "approximate (missing values by independent-nodes: approximate)"


def test_engines_that_look_at_the_data(X):
    assert {row.name for row in ROWS if isinstance(engine_of(row.name), DataEngine)} == {"brief", "pseudo-likelihood"}


@pytest.mark.parametrize(
    ("estimator", "option", "other"),
    [
        (SpikeSlabMRF, "model", families.Symmetric()),
        (SpikeSlabMRF, "method", methods.Tree()),
        (GroupedMRF, "model", families.Boltzmann()),
        (GroupedMRF, "method", methods.ReversibleJump()),
        (CompareMRF, "model", families.Symmetric()),
        (CompareMRF, "method", methods.LangevinJumps()),
        (BayesianMRF, "model", families.Symmetric()),
        (BayesianMRF, "kernel", engines.Phases()),
        (LabelFieldMRF, "kernel", methods.Gibbs()),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_refusals_name_what_is_taken(estimator, option, other, X):
    """Not every object of a module is taken, only those of the names before."""
    with pytest.raises(OptionError) as caught:
        estimator(**{option: other}).fit(X, X[:, 0])
    module = "bayesmrf." + ("families" if option == "model" else "methods")
    assert str(caught.value).startswith(f"{option} must be one of '")
    assert f", or an object of one of these in {module}" in str(caught.value)
    assert f", got {type(other).__name__}" in str(caught.value)


def test_maximum_likelihood_of_your_own_model(X):
    """The custom model is as the callable, and as the model that it equals."""
    named, called, custom = (
        MaximumLikelihoodMRF(CHAIN, model=m).fit(X) for m in ("ising", Ising, families.Custom(Ising))
    )
    np.testing.assert_array_equal(named.theta_, custom.theta_)
    np.testing.assert_array_equal(called.theta_, custom.theta_)
    assert custom.model_ == "ising"


class Product(PairwiseModel):
    """A model from outside with the statistics of "boltzmann"."""

    name = "product"
    edge_features = np.array([[[0.0, 0.0], [0.0, 1.0]]])
    node_features = np.array([[0.0, 1.0]])


class Alike(Potts):
    """A model from outside with the statistics of "potts"."""

    name = "alike"


@pytest.mark.parametrize(
    ("own", "same", "method"),
    [
        *((Product, "boltzmann", method) for method in ("auto", "exact", "reversible-jump", "langevin")),
        (families.Custom(Product), "boltzmann", "exact"),
        *(
            (families.Custom(lambda graph: Alike(graph, 3), n_states=3), "potts", method)
            for method in ("auto", "exact", "reversible-jump", "langevin")
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_edges_of_your_own_model(own, same, method, rng):
    """They are those of the model that it equals, draw by draw."""
    X = rng.integers(0, 2 if same == "boltzmann" else 3, size=(60, 4))
    X[:30, 1] = X[:30, 0]
    options = QUICK | {"method": methods.LangevinJumps(n_iterations=20) if method == "langevin" else method}
    found, expected = (SpikeSlabMRF(model=m, **options).fit(X) for m in (own, same))
    assert (found.model_, found.method_) == ("product" if same == "boltzmann" else "alike", expected.method_)
    np.testing.assert_array_equal(found.inclusion_, expected.inclusion_)
    np.testing.assert_array_equal(found.theta_, expected.theta_)
    np.testing.assert_array_equal(found.score_samples(X), expected.score_samples(X))


class Scores(Ordinal):
    """A model from outside with the statistics of "ordinal"."""

    name = "scores"


@pytest.mark.parametrize("method", ["exact", "reversible-jump"])
@pytest.mark.parametrize(
    ("own", "same"), [(Product, "boltzmann"), (families.Custom(lambda graph: Scores(graph, 3), n_states=3), "ordinal")]
)
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_differences_of_your_own_model(own, same, method, rng):
    """They are those of the model that it equals, draw by draw."""
    X, groups = rng.integers(0, 2 if same == "boltzmann" else 3, size=(80, 3)), np.arange(80) % 2
    found, expected = (CompareMRF(model=m, method=method, **QUICK).fit(X, groups) for m in (own, same))
    assert found.model_ == ("product" if same == "boltzmann" else "scores")
    np.testing.assert_array_equal(found.theta_, expected.theta_)
    np.testing.assert_array_equal(found.difference_inclusion_, expected.difference_inclusion_)


class OnSigns(PairwiseModel):
    """A model from outside with the edges of "boltzmann" and the fields of "ising"."""

    name = "on signs"
    edge_features = np.array([[[0.0, 0.0], [0.0, 1.0]]])
    node_features = np.array([[-1.0, 1.0]])


def of_features(given):
    """A model from outside, of two states, with features of an edge."""

    class Given(ManyStateModel):
        name = "given"
        edge_features = np.array(given)

    return families.Custom(lambda graph: Given(graph, 2), n_states=2)


class Directed(Scores):
    """A model from outside whose edges have a direction, which states sampled one by one would not know."""

    name = "directed"

    edge_features = np.array([[[0.0, 1.0], [0.0, 0.0]]])


class Tables(ManyStateModel):
    """A model from outside with the statistics of "symmetric"."""

    name = "own tables"

    @property
    def edge_features(self):
        return Symmetric(self.graph, self.n_states, self.fields).edge_features


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (families.Custom(lambda graph: Tables(graph, 3), n_states=3), "symmetric"),
        (families.Custom(lambda graph: Scores(graph, 3), n_states=3), "ordinal"),
        (families.Custom(Product), families.Symmetric(2)),
    ],
    ids=["tables", "scores", "product"],
)
@pytest.mark.parametrize("method", ["exact", "particle"])
@pytest.mark.parametrize("given", [{}, {"candidates": "complete"}, {"fields": "grouped"}], ids=["", "spike", "fields"])
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_groups_of_your_own_model(own, same, method, given, rng, tmp_path):
    """They are those of the model that it equals, draw by draw.

    But for rounding, which is another with two states and with tables: test_grouped_cells.py has the posterior.
    """
    if given == {"fields": "grouped"} and same == "ordinal":
        with pytest.raises(OptionError, match="for grouped fields, got 'scores'"):
            GroupedMRF(model=own, method=method, **given, **QUICK).fit(rng.integers(0, 3, size=(60, 4)))
        return
    X = rng.integers(0, 2 if own.make is Product else 3, size=(60, 4))
    X[:30, 1], X[:20, 3] = X[:30, 0], X[:20, 2]
    found, expected = (GroupedMRF(model=m, method=method, **given, **QUICK).fit(X) for m in (own, same))
    assert (found.model_, found.posterior_.attrs["model"]) == (own.make(graphs.path(2)).name,) * 2
    if own.make is not Product:
        for name in ("theta_", "agreement_", "groups_", *(["mle_"] if not given else [])):
            np.testing.assert_allclose(vars(found)[name], vars(expected)[name], rtol=1e-8)
        np.testing.assert_allclose(found.score_samples(X), expected.score_samples(X))
        tables = [summary.GroupedSummary(est.posterior_).edge_table for est in (found, expected)]
        pd.testing.assert_frame_equal(*tables)
    page = report.write_report(found.posterior_, tmp_path / "report.html").read_text()
    assert f"model {found.model_}" in page


@pytest.mark.parametrize(
    ("own", "given", "message"),
    [
        (Distance, {}, "edges have features that are 0 or 1.*got 'distance'"),
        (Product, {"method": "tree"}, "method must be 'exact' or 'particle' for model='product', got 'tree'"),
        (Product, {"prior": DirichletProcess(base=Beta(2, 1))}, "must be Normal or MultivariateNormal for"),
        (OnSigns, {"method": "particle"}, r"features of nodes are 0 and 1, .* got 'on signs, with \(-1.0, 1.0\)'"),
        (lambda graph: graph, {}, "model must be a callable that returns a model"),
        *(
            (of_features(given), {}, r"edge_features must be a finite array \(parameters, 2, 2\)")
            for given in ([[0, 1], [0, 0]], [[[0.0, np.inf], [np.inf, 0.0]]], [0, 1], np.ones((1, 3, 3)))
        ),
        *(
            (of_features([given]), {}, "edges have features that are 0 or 1.*got 'given'")
            for given in ([[0, 0], [0, 0]], [[0.0, 0.5], [0.5, 0.0]])
        ),
        (
            families.Custom(lambda graph: Directed(graph, 2), n_states=2),
            {},
            "the order of the ends of an edge, got",
        ),
    ],
)
def test_models_that_groups_lack(own, given, message, X):
    with pytest.raises(OptionError, match=message):
        GroupedMRF(model=own, **given, **QUICK).fit(X)


def test_models_that_a_method_of_differences_lacks(X):
    for own, method, message in (
        (
            Distance,
            "reversible-jump",
            "model must be one of many states, or with the features of boltzmann, .*'distance'",
        ),
        (lambda graph: Symmetric(graph, 2), "exact", "model must be a PairwiseModel with fields .*, got 'symmetric'"),
    ):
        with pytest.raises(OptionError, match=message):
            CompareMRF(model=own, method=method, **QUICK).fit(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize(
    ("own", "method", "message"),
    [
        (Product, "particle", "method must be one of 'auto', 'reversible-jump', 'exact', 'langevin', or an object of"),
        (
            lambda graph: Product(graph, fields=False),
            "exact",
            "model must be a PairwiseModel with fields .*'product'",
        ),
        (lambda graph: Symmetric(graph, 2), "exact", "model must be a PairwiseModel with fields .*, got 'symmetric'"),
        (lambda graph: graph, "exact", "model must be a callable that returns a model"),
        (lambda graph: Product, "exact", "model must be a callable that returns a model"),
    ],
)
def test_models_that_a_method_of_edges_lacks(own, method, message, X):
    with pytest.raises(OptionError, match=message):
        SpikeSlabMRF(model=own, method=method, **QUICK).fit(X)


def test_a_model_of_your_own(rng):
    """On an edge without fields the posterior is known: against it, and not against that of another statistic."""
    X = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], [40, 30, 15, 15], axis=0)

    def posterior(low):
        theta = np.linspace(-4, 6, 2001)
        log_p = 70 * theta + 30 * low * theta - 100 * np.logaddexp(theta, low * theta) - theta**2 / 2
        p = np.exp(log_p - log_p.max())
        return theta @ p / p.sum()

    def fit(graph, **options):
        return bayesian(graph, random_state=rng, progress=False, n_chains=8, **options).fit(X)

    fitted = fit([(0, 1)], model=lambda graph: Distance(graph, fields=False))
    draws = fitted.posterior_["posterior"]["theta"].values
    assert fitted.posterior_.attrs["model"] == "distance"
    assert (fitted.score(X), fitted.sample(5).shape) == (pytest.approx(fitted.score(X)), (5, 2))
    assert_mean(draws, posterior(-0.5))
    assert_other_mean(draws, posterior(-1.0))
    named = fit([(0, 1)], model=Ising)
    assert named.posterior_.attrs["model"] == "ising"
