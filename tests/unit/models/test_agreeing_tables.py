"""A user's own model whose tables disagree is refused; one with a compiled form of its own is sampled by its engine."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from bayesmrf import BayesianMRF, MaximumLikelihoodMRF, SpikeSlabMRF, families, graphs
from bayesmrf.base import LOG_Z, MOMENTS, SAMPLE, Inference, Kind
from bayesmrf.errors import OptionError
from bayesmrf.estimators.stein_check import gaps
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Boltzmann, Ising, ManyStateModel, Ordinal, PairwiseModel, Potts, Symmetric
from bayesmrf.models.agreeing_tables import disagreeing
from bayesmrf.models.categorical import categorical
from bayesmrf.models.pairwise import Pairwise
from bayesmrf.priors import Normal

GRID = graphs.grid(2, 3)
SIZES = (2, 3, 4, 4, 2, 3)
CONSISTENT = [
    *(model(GRID, fields=fields) for model in (Boltzmann, Ising, Agreement) for fields in (True, False)),
    *(model(GRID, 4, fields) for model in (Potts, Symmetric, Ordinal) for fields in (True, False)),
    Ordinal(GRID, 4, sizes=SIZES, neutral=(None, 1, 1.5, None, None, 1)),
    Ordinal(GRID, 4, sizes=SIZES, scores=(0, 1, 3, 7)),
    Boltzmann(graphs.path(1)),
]


class CategoriesOfSpins(ManyStateModel):
    """Edges reward products of spins -1, 0 and 1, but statistics count agreements."""

    name = "spins"
    edge_features = np.outer([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])[None]

    def statistics(self, states, weights=None):
        return Potts(self.graph, 3).statistics(states, weights)


class RareState(Ordinal):
    """Statistics that are others in one of the pairs of states of one edge."""

    name = "rare state"

    def statistics(self, states, weights=None):
        share = ((states[:, 1] == 2) & (states[:, 4] == 1)) @ (np.ones(len(states)) if weights is None else weights)
        found = super().statistics(states, weights)
        found[self.graph.edge_names.index("1-4")] += share / (len(states) if weights is None else weights.sum())
        return found


class RareNode(Potts):
    """A compiled form with another field of one state of one node."""

    name = "rare node"

    def categorical(self, theta):
        form = super().categorical(theta)
        field = form.field.copy()
        field[5, 2] *= 1.01
        return form._replace(field=field)


class Shifted(Boltzmann):
    """Statistics of nodes that are shifted by a constant, which log Z does not know."""

    name = "shifted"

    def statistics(self, states, weights=None):
        return super().statistics(states, weights) - np.repeat([0.0, 0.5], [self.n_edges, self.graph.n_nodes])


class Moments(Boltzmann):
    name = "other moments"

    def moments(self, pair, node):
        return super().moments(pair, node) * np.repeat([2.0, 1.0], [self.n_edges, self.graph.n_nodes])


class Scored(ManyStateModel):
    """Scores whose products are not the feature of an edge."""

    name = "scored"
    edge_features = np.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])[None]
    score = np.array([0.0, 1.0, 5.0])


class Length(Boltzmann):
    name = "other length"

    def statistics(self, states, weights=None):
        return super().statistics(states, weights)[:-1]


DISAGREE = {
    "spins": (lambda graph: CategoriesOfSpins(graph, 3), {"statistics"}),
    "rare state": (lambda graph: RareState(graph, 3), {"statistics"}),
    "rare node": (lambda graph: RareNode(graph, 3), {"statistics", "moments", "edge_features, node_features"}),
    "shifted": (Shifted, {"statistics"}),
    "moments": (Moments, {"moments"}),
    "score": (lambda graph: Scored(graph, 3), {"statistics", "score"}),
    "length": (Length, {"statistics"}),
}


@pytest.mark.parametrize("model", CONSISTENT, ids=lambda m: f"{m.name}-{m.fields}")
def test_models_of_the_package_agree(model):
    assert disagreeing(model) == []


@pytest.mark.parametrize("case", DISAGREE)
def test_tables_that_disagree(case):
    make, wrong = DISAGREE[case]
    model = make(GRID)
    assert set(disagreeing(model)) == wrong
    with pytest.raises(OptionError, match=r"model must be one whose .*; define edge_features") as caught:
        families.Custom(make, None if model.n_states == 2 else 3).on(GRID, (3,) * 6, True)
    message = str(caught.value)
    assert f"got '{model.name}'" in message
    assert all(name in message for name in wrong)
    assert "\n" not in message


@pytest.mark.parametrize(
    "name", ["edge_values", "gains", "category", "feature_high", "node_states", "from_field_table"]
)
def test_what_follows_from_the_arrays_cannot_be_given(name):
    with pytest.raises(OptionError, match=f"Own must not define {name}, which follow from edge_features"):
        type("Own", (Ordinal,), {"name": "own", name: np.eye(3)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edge_features": np.eye(3)}, r"edge_features must be a finite array \(parameters, 3, 3\)"),
        ({"edge_features": np.arange(9.0).reshape(1, 3, 3)}, "do not depend on the order of the ends"),
        ({"node_features": np.ones((1, 3))}, "node_features must be an array .* a constant one are independent"),
        ({"node_features": np.ones((1, 2))}, r"node_features must be an array \(parameters of a node, 3 states\)"),
    ],
)
def test_arrays_that_are_no_features(given, message):
    own = type(
        "Own", (PairwiseModel,), {"name": "own", "edge_features": np.eye(3)[None], "node_features": np.eye(3)[1:]}
    )
    assert own(GRID).n_features == 7 + 12
    with pytest.raises(OptionError, match=message):
        type("Wrong", (own,), given)(GRID)


def test_estimators_refuse_them(rng):
    X = rng.integers(0, 3, (60, 3))
    own = families.Custom(lambda graph: CategoriesOfSpins(graph, 3), n_states=3)
    for estimator in (BayesianMRF, SpikeSlabMRF, MaximumLikelihoodMRF):
        with pytest.raises(OptionError, match=r"model must be one whose statistics .* categorical"):
            estimator(model=own).fit(X)


@dataclass(frozen=True, eq=False)
class Offsets:
    """A model without a base class of the package, with log weights of states that theta does not change."""

    graph: graphs.Graph
    name = "offsets"
    family = "tables"
    fields = True
    n_states = 3
    n_parameters = 1

    @property
    def n_edges(self):
        return self.graph.n_edges

    @property
    def n_features(self):
        return self.graph.n_edges + self.graph.n_nodes

    def statistics(self, states, weights=None):
        x, (u, v) = np.asarray(states, float), self.graph.edges.T
        return np.average(np.hstack([x[:, u] * x[:, v], x]), axis=0, weights=weights)

    def categorical(self, theta):
        k, r = np.arange(3.0), self.n_edges
        field = theta[r:, None] * k + [0.0, 0.7, 0.0]
        return categorical(self.graph, theta[:r, None, None] * np.outer(k, k), field, 1.0)

    def moments(self, pair, node):
        k = np.arange(3.0)
        return np.concatenate([(pair * np.outer(k, k)).sum(axis=(1, 2)), node @ k])


def test_a_model_with_weights_of_states_that_are_known():
    assert disagreeing(Offsets(GRID)) == []


@dataclass(frozen=True, eq=False)
class OwnForm(Agreement):
    """The model of agreements, of a family that the package does not have."""

    name = "own form"
    family = "own"

    def pairwise(self, theta) -> Pairwise:
        raise NotImplementedError


@dataclass(frozen=True)
class OwnEngine:
    """A sum over all states of the family "own"."""

    answers: frozenset = frozenset({LOG_Z, MOMENTS})
    kind: Kind = Kind.EXACT

    name = "own engine"
    families = frozenset({"own"})

    def prepare(self, model):
        states = np.array(list(product([0, 1], repeat=model.graph.n_nodes)))
        return np.array([model.statistics(x[None]) for x in states])

    def start(self, model, rng):
        return None

    def infer(self, model, theta, plan, want=MOMENTS, state=None):
        log_weight = plan @ theta
        log_z = np.logaddexp.reduce(log_weight)
        return Inference(float(log_z), np.exp(log_weight - log_z) @ plan)


RUN = {"n_draws": 200, "n_chains": 2, "random_state": 1, "progress": False}


@pytest.mark.parametrize("kind", [Kind.EXACT, Kind.APPROXIMATE])
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_form_of_your_own_is_sampled_by_your_engine(kind, rng):
    """Draws are those of the model with the form of the package, by enumeration, up to rounding."""
    X = rng.integers(0, 2, (60, 3))
    options = {"graph": graphs.path(3), "kernel": "metropolis", **RUN}
    own = BayesianMRF(model=OwnForm, engine=OwnEngine(kind=kind), **options).fit(X)
    named = BayesianMRF(model=Agreement, engine="enumeration", **options).fit(X)
    np.testing.assert_allclose(own.theta_, named.theta_, rtol=1e-6)
    assert own.posterior_.attrs["engine"] == "own engine"
    assert own.score(X) == pytest.approx(named.score(X), rel=1e-6)
    np.testing.assert_allclose(own.score_samples(X, average="mean"), named.score_samples(X, average="mean"), rtol=1e-6)
    assert own.score_kind_ == "log predictive" + ("" if kind is Kind.EXACT else ", log Z by own engine: approximate")
    with pytest.raises(OptionError, match="no engine of the package supports its family 'own'"):
        own.sample(3)
    without = replace(own._engine, answers=frozenset({MOMENTS}))
    own._engine, own._log_z = without, {}
    with pytest.raises(OptionError, match="one that computes log_z"):
        own.score(X)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_an_exact_engine_of_your_own_checks_draws(rng):
    """Those of another posterior are found to be far from it, and those of the posterior are not."""
    X = rng.integers(0, 2, (60, 3))
    fit = BayesianMRF(graphs.path(3), model=OwnForm, engine=OwnEngine(), **RUN | {"n_draws": 400}).fit(X)
    model, draws = OwnForm(graphs.path(3)), np.asarray(fit.posterior_["posterior"]["theta"])
    likelihood = Likelihood(model, model.statistics(X), len(X), OwnEngine())
    for shift, far in ((0.0, False), (2.0, True)):
        found = gaps(likelihood, Normal(1.0), draws + shift, np.random.SeedSequence(1))
        assert found.is_exact
        assert (np.abs(found.shift).max() > 1) == far


def test_engines_that_the_package_chooses_for_a_form_of_your_own(rng):
    X = rng.integers(0, 2, (60, 3)).astype(float)
    sentence = "no engine of the package supports its family 'own': BayesianMRF can draw by an engine of yours"
    with pytest.raises(OptionError, match=sentence):
        BayesianMRF(graphs.path(3), model=OwnForm).fit(X)
    with pytest.raises(OptionError, match=f"needs log_z, moments, {sentence}"):
        BayesianMRF(graphs.path(3), model=OwnForm, engine=OwnEngine(frozenset({SAMPLE}))).fit(X)
    for estimator in (MaximumLikelihoodMRF, SpikeSlabMRF):
        with pytest.raises(OptionError, match=sentence):
            estimator(model=lambda graph: OwnForm(graph, fields=True)).fit(X)
    X[0, 0] = np.nan
    with pytest.raises(OptionError, match=sentence):
        BayesianMRF(graphs.path(3), model=OwnForm, engine=OwnEngine()).fit(X)
