"""Methods of your own in SpikeSlabMRF and CompareMRF, and kernels of your own in LabelFieldMRF."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from bayesmrf import (
    CompareMRF,
    GroupedMRF,
    LabelFieldMRF,
    SpikeSlabMRF,
    graphs,
    log_evidence,
    methods,
    write_report,
)
from bayesmrf.base import LOG_Z
from bayesmrf.engines import Bethe
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.differences import Differences
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import Beta, LogisticBeta, Normal, SpikeSlab
from bayesmrf.results.summary import summarise
from tests.oracle import groups as groups_oracle
from tests.oracle import spike_slab as spike_slab_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.states import all_states
from tests.statistical.test_differences import rows
from tests.unit.engines.test_registry import Walk, wide
from tests.unit.estimators.test_label_field import LABELS, grid_posterior, points  # noqa: F401

PRIOR = SpikeSlab(0.4, Normal(1.0), 1.5)
QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
LONG = {"n_draws": 100, "n_warmup": 30, "n_chains": 24, "progress": False, "prior": PRIOR}
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


class OwnState(NamedTuple):
    theta: np.ndarray


class OwnInfo(NamedTuple):
    theta: np.ndarray
    included: np.ndarray
    density: float
    slab_scale: float


@dataclass(frozen=True, eq=False)
class Switches:
    """Metropolis-Hastings: an absent weight is proposed from the slab, and what is there walks. p0 and slab are fixed.

    The control has other odds of presence.
    """

    likelihood: Any
    prior: Any
    odds: Any = 1.0

    name = "switches"
    dims = {"theta": ("feature",), "included": ("edge",), "density": (), "slab_scale": ()}  # noqa: RUF012

    @property
    def spiked(self):
        return self.prior, 0  # the prior of what may be absent, and its first parameter

    def init(self, rng):
        return OwnState(np.zeros(self.likelihood.n_parameters))

    def step(self, rng, state):
        (prior, first), r = self.spiked, self.likelihood.model.n_edges
        theta, odds = state.theta, self.odds * prior.density / (1 - prior.density)
        scale = np.full(len(theta), prior.bias_scale)
        scale[: first + r] = prior.slab.scale
        at = self.fit(theta)
        for j in range(len(theta)):
            new, may_be_absent = theta.copy(), first <= j < first + r
            if may_be_absent and rng.random() < 0.5:
                new[j] = 0.0 if theta[j] else scale[j] * rng.standard_normal()
                ratio = -np.log(odds) if theta[j] else np.log(odds)
            elif may_be_absent and theta[j] == 0:
                continue
            else:
                new[j] += 0.7 * rng.standard_normal()
                ratio = (theta[j] ** 2 - new[j] ** 2) / (2 * scale[j] ** 2)
            there = self.fit(new)
            if np.log(1 - rng.random()) < ratio + there - at:
                theta, at = new, there
        draw = self.draw(theta), theta[first : first + r] != 0, float(prior.density), float(prior.slab.scale)
        return OwnState(theta), OwnInfo(*draw)

    def fit(self, theta):
        return self.likelihood.evaluate(theta, LOG_Z).log_likelihood

    def draw(self, theta):
        return theta


@dataclass(frozen=True, eq=False)
class GroupSwitches(Switches):
    """The same of the differences of two groups, which come after the baselines."""

    dims = Switches.dims | {"theta": ("group", "feature")}

    @property
    def spiked(self):
        return self.prior.prior, self.likelihood.model.n_edges

    def draw(self, theta):
        return np.array([s.curve.natural(theta) for s in self.likelihood.samples])


def wrong(likelihood, prior):
    return Switches(likelihood, prior, 20.0)


def wrong_groups(likelihood, prior):
    return GroupSwitches(likelihood, prior, 20.0)


@dataclass(frozen=True, eq=False)
class Remembering(Switches):
    """Its State has the log likelihood, which is not that of other data."""

    class State(NamedTuple):
        theta: np.ndarray
        log_p: float

    def init(self, rng):
        theta = np.zeros(self.likelihood.n_parameters)
        return self.State(theta, self.fit(theta))

    def step(self, rng, state):
        new, info = super().step(rng, state)
        return self.State(new.theta, self.fit(new.theta)), info


@dataclass(frozen=True, eq=False)
class Ours:
    """A kernel of this package under a name of your own: its State and its draws have more fields."""

    likelihood: Any
    prior: Any

    name = "ours"
    dims = SpikeSlabExact.dims

    @property
    def kernel(self):
        return SpikeSlabExact(self.likelihood, self.prior)

    def init(self, rng):
        return self.kernel.init(rng)

    def step(self, rng, state):
        return self.kernel.step(rng, state)


def differences(likelihood, prior):
    return Differences(likelihood, *prior)


def seen(x):
    """States that each row may be in."""
    return (np.isnan(x)[:, None] | (x[:, None] == all_states(x.shape[1]))).all(axis=2).astype(float)


def compared(values, means, error, functionals):
    r = values["included"].shape[-1]
    found = Comparison().shares(values["included"], means[:r], error=error[:r])
    return found.means(functionals, means[r:], error=error[r:])


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "missing"])
def test_edges_of_a_method_of_your_own(share, rng):
    """Against the sum over all structures. The control gives present edges twenty times their odds."""
    model = Boltzmann(graphs.complete(3))
    (x,) = rows(model, [40], rng, share)
    means, error = spike_slab_oracle.posterior(model.graph, np.zeros(6), 40, PRIOR, rng, seen=seen(x))
    for make, is_right in ((Switches, True), (wrong, False)):
        est = SpikeSlabMRF(method=methods.Custom(make, kind="exact"), random_state=rng, **LONG).fit(x)
        values = {name: v.values for name, v in est.posterior_["posterior"].data_vars.items()}
        theta = values["theta"]
        found = compared(values, means[:15], error[:15], np.concatenate([theta, theta**2], axis=2))
        assert found.holds == is_right, str(found)
    assert est.method_ == est.posterior_.attrs["method"] == "switches"
    assert est.posterior_.attrs["kind"] == "exact"
    assert len(est.missing_) == np.isnan(x).sum()


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "missing"])
def test_differences_of_a_method_of_your_own(share, rng):
    model = Boltzmann(graphs.path(2))
    data = rows(model, [25, 60], rng, share)
    groups = [(len(x), None, seen(x)) for x in data]
    means, error = groups_oracle.posterior(model.graph.edges, 2, groups, PRIOR, rng)
    x, label = np.concatenate(data), np.repeat(["a", "b"], [25, 60])
    for make, is_right in ((GroupSwitches, True), (wrong_groups, False)):
        est = CompareMRF(method=methods.Custom(make, kind="exact"), random_state=rng, **LONG).fit(x, label)
        values = {name: v.values for name, v in est.posterior_["posterior"].data_vars.items()}
        theta = values["theta"].reshape(*values["theta"].shape[:2], -1)
        bounded = np.concatenate(groups_oracle.bounded(theta), axis=2)
        found = compared(values, np.delete(means, 1), np.delete(error, 1), bounded)
        assert found.holds == is_right, str(found)
    assert est.method_ == est.posterior_.attrs["method"] == "switches"
    assert est.posterior_.attrs["kind"] == "exact"
    assert len(est.missing_) == np.isnan(x).sum()


@pytest.fixture
def x(rng):
    return np.concatenate(rows(Boltzmann(graphs.complete(3)), [20, 20], rng, 0.1))


@pytest.fixture
def label():
    return np.repeat(["a", "b"], 20)


def edges(make, kind="approximate (few steps)", **options):
    return SpikeSlabMRF(method=methods.Custom(make, kind), **{"prior": PRIOR} | QUICK | options)


def groups(make, kind="approximate (few steps)", **options):
    return CompareMRF(method=methods.Custom(make, kind), **{"prior": PRIOR} | QUICK | options)


def test_what_is_said_of_a_method_of_your_own(x, label, tmp_path):
    """Its name and kind are in summaries and reports, and the rest of an estimator works as with ours."""
    for est in (edges(Switches).fit(x), groups(GroupSwitches).fit(x, label)):
        summary = summarise(est.posterior_)
        assert (summary.method_sentence, summary.kind_sentence) == ("switches", "approximate (few steps)")
        page = write_report(est.posterior_, tmp_path / "page.html", overwrite=True).read_text()
        assert "approximate (few steps)" in page
        assert "<dd>switches</dd>" in page
        with pytest.raises(OptionError, match="model must be an RBM, a BayesianMRF"):
            log_evidence(est, np.nan_to_num(x))
    assert len(edges(Switches).fit(x).predict_conditional(np.nan_to_num(x), [0])) == 40
    assert methods.Custom(Switches).kind == "approximate (user-defined method)"
    assert est.get_params()["method__make"] is GroupSwitches


def test_kernels_of_this_package_as_methods_of_your_own(x, label, rng):
    """With our exact kernels: a logistic-beta prior of biases, other models, and a graph of wide treewidth."""
    tilted = SpikeSlab(Beta(1, 1), Normal(1.0), biases=LogisticBeta(1, 1))
    for model, table in (("ising", x), ("ordinal", rng.integers(0, 3, (40, 3)))):
        assert edges(Ours, "exact", model=model, prior=tilted).fit(table).posterior_.attrs["kind"] == "exact"
    own = groups(differences, "exact", baseline="spike-slab", biases="spike-slab", prior=tilted).fit(x, label)
    assert own.posterior_["sample_stats"].data_vars.keys() >= {"n_edges"}
    many = rng.integers(0, 2, (60, 40))
    for table, candidates in ((many, "complete"), (many, [(i, i + 1) for i in range(39)])):
        est = edges(Idle, "exact", candidates=candidates).fit(table)
        kind = "exact" if candidates != "complete" else "approximate (persistent: random)"
        assert est.posterior_.attrs["kind"] == kind
    est = edges(lambda likelihood, prior: Idle(likelihood.replaced(likelihood.s_bar, Bethe()), prior), "exact")
    assert est.fit(many).posterior_.attrs["kind"] == "approximate (bethe: approximate)"
    message = r"computes log_z, got 'persistent'; 'demanding' needs .*, make the kernel with likelihood.replaced"
    with pytest.raises(OptionError, match=message):
        edges(Demanding).fit(many)


class Idle(Switches):
    """It never moves, and needs no engine."""

    def step(self, rng, state):
        return state, OwnInfo(state.theta, state.theta[: self.likelihood.model.n_edges] != 0, 0.4, 1.0)


@dataclass(frozen=True, eq=False)
class Demanding(Idle):
    """It needs log Z."""

    def __post_init__(self):
        self.likelihood.require("demanding", {LOG_Z})


@pytest.mark.parametrize("estimator", ["edges", "groups"])
def test_checkpoints_of_a_method_of_your_own(estimator, x, label, tmp_path):
    def fit(make, n_draws=20, checkpoint=tmp_path / "run"):
        options = {"n_draws": n_draws, "checkpoint": checkpoint}
        return edges(make, **options).fit(x) if estimator == "edges" else groups(make, **options).fit(x, label)

    right, other = (Switches, wrong) if estimator == "edges" else (GroupSwitches, wrong_groups)
    whole = fit(right, checkpoint=None)
    fit(right, n_draws=10)
    assert fit(right).posterior_["posterior"].equals(whole.posterior_["posterior"])
    with pytest.raises(StoreError, match=r"odds is 20\.0, was 1\.0"):
        fit(other)
    with pytest.raises(OptionError, match=r"checkpoint must be None for this run.*odds is the function"):
        fit(lambda *given: Unclear(*given, lambda: 1), checkpoint=tmp_path / "other_run")


class Unclear(Idle):
    """Of theta in groups, too."""

    @property
    def dims(self):
        return GroupSwitches.dims if len(self.likelihood.samples) > 1 else Switches.dims

    def step(self, rng, state):
        theta, r = state.theta, self.likelihood.model.n_edges
        groups = [s.curve.natural(theta) for s in self.likelihood.samples if s.curve]
        return state, OwnInfo(np.array(groups) if groups else theta, np.zeros(r, bool), 0.4, 1.0)


def with_dims(base=Switches, **dims):
    kept = {name: d for name, d in (base.dims | dims).items() if d is not None}
    return type("Changed", (base,), {"dims": kept})


class Short(Switches):
    def draw(self, theta):
        return theta[:-1]


class Present(Switches):
    def draw(self, theta):
        return theta + 1


class Apart(GroupSwitches):
    def draw(self, theta):
        return super().draw(theta) * [[1], [2]]

    def init(self, rng):
        return OwnState(np.repeat([1.0, 0.0], [3, 9]))


class Named(Switches):
    name = "exact"


class Bare(NamedTuple):
    likelihood: Any
    prior: Any
    name: Any = "bare"
    dims: Any = Switches.dims

    init, step, spiked, fit, draw, odds = (
        *(Switches.init, Switches.step, Switches.spiked, Switches.fit, Switches.draw),
        1.0,
    )


class Renamed(Switches):
    def init(self, rng):
        return Phi(np.zeros(6))

    def step(self, rng, state):
        return state, super().step(rng, OwnState(state.phi))[1]


class Phi(NamedTuple):
    phi: np.ndarray


NEEDS = r"a kernel with the draws theta \(feature: 6\), included \(edge: 3\), density \(a number\), slab_scale \(a"
REFUSED = {
    "no kernel": (lambda *_: None, "a kernel with the attributes of bayesmrf.base.Kernel, got a NoneType"),
    "model": (lambda *_: Boltzmann(graphs.path(2)), "a kernel with the attributes of .*, got a Boltzmann"),
    "name": (Named, "a kernel with a name that no method of bayesmrf has, got 'exact'"),
    "field": (with_dims(included=None), rf"{NEEDS} number\), got 'switches' without included"),
    "dimensions": (with_dims(density=("edge",)), rf"{NEEDS} number\), got 'switches' with density \(edge\)"),
    "no dimension": (with_dims(theta=()), rf"{NEEDS} number\), got 'switches' with theta \(a number\)"),
    "groups": (
        GroupSwitches,
        r"a kernel with .* theta \(feature: 6\), .*, got 'switches' with theta \(group, feature\)",
    ),
    "shape": (Short, rf"{NEEDS} number\), got 'switches' with theta of shape \(5,\)"),
    "weight": (Present, "a kernel whose weights in theta are 0 where an edge is not included, got 'switches' with"),
    "no dataclass": (Bare, "a dataclass with a field likelihood where values are missing, got 'bare' without one"),
    "State": (Renamed, "a kernel whose State has 6 parameters as theta where values are missing, got 'switches'"),
    "data in State": (Remembering, "a kernel whose State does not depend on the data, .*, got 'switches' with log_p"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_methods_of_your_own_that_are_refused(name, x, label):
    make, message = REFUSED[name]
    if name == "groups":
        with pytest.raises(OptionError, match=r"theta \(group: 2, feature: 6\), .*got 'switches' with theta \(feat"):
            groups(Switches).fit(x, label)
        with pytest.raises(OptionError, match=r"are equal in all groups where an edge is not included, got 'switch"):
            groups(Apart).fit(x, label)
    with pytest.raises(OptionError, match=f"^method.make must be a callable that returns {message}"):
        edges(make).fit(x)


def test_what_missing_values_need_is_not_needed_without(x):
    for make in (Bare, Remembering):
        edges(make).fit(np.nan_to_num(x))


@pytest.mark.parametrize(
    ("estimator", "option"),
    [(GroupedMRF, "method"), (SpikeSlabMRF, "method"), (CompareMRF, "method"), (LabelFieldMRF, "kernel")],
)
def test_messages_name_what_is_taken(estimator, option, x):
    expected = "or an object of one of these in bayesmrf.methods, or a methods.Custom, got 'magic'"
    with pytest.raises(OptionError, match=expected):
        estimator(**{option: "magic"}).fit(x, [0, 1] * 20)


def narrow(likelihood, _):
    return Walk(likelihood, Normal(0.3))


def test_a_kernel_of_your_own_for_labels(points, rng, tmp_path):  # noqa: F811
    """Against a grid; the control has another prior."""
    exact, _ = grid_posterior(points, LABELS)
    options = {"n_draws": 150, "n_warmup": 50, "n_chains": 24, "random_state": rng, "progress": False}
    for make, is_right in ((wide, True), (narrow, False)):
        est = LabelFieldMRF(kernel=methods.Custom(make, "exact"), engine="exact", **options).fit(points, LABELS)
        theta = est.posterior_["posterior"]["theta"].values
        assert Comparison().means(np.concatenate([theta, theta**2], axis=2), exact).holds == is_right
        assert (est.posterior_.attrs["method"], est.posterior_.attrs["kind"]) == ("walk", "exact")
    assert "accepted" in est.posterior_["sample_stats"]

    def fit(make, n_draws=20, checkpoint=tmp_path / "run", **more):
        given = QUICK | {"n_draws": n_draws, "checkpoint": checkpoint} | {"engine": "exact"} | more
        return LabelFieldMRF(kernel=methods.Custom(make), **given).fit(points, LABELS)

    whole = fit(wide, checkpoint=None)
    assert whole.posterior_.attrs["kind"] == "approximate (user-defined method)"
    fit(wide, n_draws=10)
    np.testing.assert_array_equal(fit(wide).theta_, whole.theta_)
    with pytest.raises(StoreError, match=r"scale is 0\.5, was 1\.0"):
        fit(Walk)
    bethe = LabelFieldMRF(kernel=methods.Custom(Walk, "exact"), engine="bethe", **QUICK).fit(points, LABELS)
    assert bethe.posterior_.attrs["kind"] == "approximate (bethe: approximate)"
    with pytest.raises(OptionError, match="engine must be one that computes log_z, got 'swendsen-wang'; 'walk' needs"):
        fit(Walk, engine="swendsen-wang")
    with pytest.raises(OptionError, match=r"kernel.make must be a callable that returns a kernel with the attributes"):
        fit(print)
    with pytest.raises(OptionError, match=r"theta \(feature: 2\), got 'walk' with theta \(edge\)"):
        fit(with_dims(Walk, theta=("edge",)))
