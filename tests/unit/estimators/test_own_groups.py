"""Methods of your own in GroupedMRF."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from bayesmrf import GroupedMRF, families, graphs, methods, write_report
from bayesmrf.base import LOG_Z
from bayesmrf.engines import Bethe, Enumeration
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators import grouped_methods
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups.kernels import exact_groups
from bayesmrf.priors import Beta, DirichletProcess, Gamma, Normal
from bayesmrf.results.summary import summarise
from tests.oracle import grouped as grouped_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.grouped_spike import canonical

QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
LONG = {"n_draws": 100, "n_warmup": 30, "n_chains": 24, "progress": False}
TRIANGLE, N = graphs.complete(3), 40
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


class State(NamedTuple):
    theta: np.ndarray
    groups: np.ndarray


class Info(NamedTuple):
    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    density: float


@dataclass(frozen=True, eq=False)
class Restaurant:
    """Metropolis-Hastings on agreements: a group of each edge is proposed from the prior given the others (Neal 2000,
    Algorithm 5), and values of groups walk. Alpha and p0 are fixed. The control has another alpha.
    """

    likelihood: Any
    prior: Any
    factor: float = 1.0

    name = "restaurant"
    dims = {"theta": ("feature",), "groups": ("edge",), "n_groups": (), "alpha": (), "density": ()}  # noqa: RUF012

    def init(self, rng):
        n = self.likelihood.model.n_features
        return State(np.zeros(n), np.zeros(n, dtype=np.int64))

    def step(self, rng, state):
        theta, groups = state
        a, b = self.prior.base.a, self.prior.base.b
        at = self.fit(theta)
        for i in range(len(groups)):
            others, values = np.delete(groups, i), np.delete(theta, i)
            labels, first, sizes = np.unique(others[others >= 0], return_index=True, return_counts=True)
            alpha, p = self.factor * self.prior.alpha, rng.beta(a, b)
            label, value = len(groups), np.log(p / (1 - p))
            if rng.random() >= self.prior.density_start:
                label, value = -1, 0.0
            elif (c := rng.choice(len(labels) + 1, p=np.append(sizes, alpha) / (sizes.sum() + alpha))) < len(labels):
                label, value = labels[c], values[others >= 0][first[c]]
            theta, groups, at = self.tried(rng, state=(theta, groups, at), where=i, value=value, label=label)
            groups = canonical(groups)
        for label in np.unique(groups[groups >= 0]):
            here = groups == label
            old = theta[here][0]
            new = old + 0.7 * rng.standard_normal()
            ratio = a * (new - old) - (a + b) * (np.logaddexp(0, new) - np.logaddexp(0, old))
            theta, groups, at = self.tried(rng, (theta, groups, at), here, new, label, ratio)
        n_groups = groups.max() + 1
        return State(theta, groups), Info(theta, groups, int(n_groups), self.prior.alpha, self.prior.density_start)

    def tried(self, rng, state, where, value, label, log_ratio=0.0):
        """The old state, or one with another value and label of some edges."""
        theta, groups = state[0].copy(), state[1].copy()
        theta[where], groups[where] = value, label
        there = self.fit(theta)
        return (theta, groups, there) if np.log(1 - rng.random()) < there - state[2] + log_ratio else state

    def fit(self, theta):
        return self.likelihood.evaluate(theta, LOG_Z).log_likelihood


def wrong(likelihood, prior):
    return Restaurant(likelihood, prior, 20.0)


def grouped(make, kind="approximate (few steps)", density=None, **options):
    given = {"fields": False, "prior": DirichletProcess(0.8, Beta(2.0, 1.5), density)} | QUICK | options
    return GroupedMRF(method=methods.Custom(make, kind), **given)


def table(rng, share=0.0):
    """Rows of a triangle with agreements that are nearly equal, of which a share of the values is missing."""
    x = Enumeration().sample(Agreement(TRIANGLE), np.array([0.6, 0.7, 0.8]), None, N, rng).astype(float)
    gone = rng.random(x.shape) < share
    x[gone & ~gone.all(axis=1, keepdims=True)] = np.nan  # a row without values would be left out
    return x


@pytest.fixture
def x(rng):
    return table(rng, 0.1)


@pytest.mark.parametrize(("density", "share"), [(None, 0.0), (0.6, 0.0), (0.6, 0.2)], ids=["all", "spike", "missing"])
def test_groups_of_a_method_of_your_own(density, share, rng):
    """Against the sum over all structures and partitions. The control has twenty times the concentration.

    The error of the oracle's mean of theta, about 0.5 / sqrt(40,000), is within its bias of 0.01.
    """
    x = table(rng, share)
    rows = np.where(np.isnan(x), -1, x).astype(np.int8)
    s_bar = Agreement(TRIANGLE).statistics(np.maximum(rows, 0))  # not used where values are missing
    problem = grouped_oracle.Problem("agreement", 3, TRIANGLE.edges.tolist(), 2, False, 0.8, (2.0, 1.5), density)
    exact = grouped_oracle.posterior(problem, s_bar, N, rng, 40_000, rows if share else None)
    for make, is_right in ((Restaurant, True), (wrong, False)):
        est = grouped(make, "exact", density, random_state=rng, **LONG).fit(x)
        posterior = est.posterior_["posterior"]
        groups = canonical(posterior["groups"].values - (density is not None))
        same = (groups[:, :, None] == exact.edges).all(axis=3)
        found = Comparison().shares(same, exact.p, error=exact.error)
        found = found.means(posterior["theta"].values, exact.means, bias=0.01)
        assert found.holds == is_right, str(found)
    assert est.method_ == est.posterior_.attrs["method"] == "restaurant"
    assert (est.posterior_.attrs["kind"], est.posterior_.attrs["engine"]) == ("exact", "elimination")
    assert len(est.missing_) == np.isnan(x).sum()
    assert ("density" in est.posterior_["constant_data"]) == hasattr(est, "density_") == (density is not None)


SAME = {
    "agreement": ({"fields": True}, 2),
    "alpha and p0": ({"prior": DirichletProcess(Gamma(2.0, 1.0), density=Beta(5.0, 5.0))}, 2),
    "potts": ({"model": "potts"}, 3),
    "symmetric": ({"model": "symmetric", "candidates": "complete"}, 3),
    "ordinal": ({"model": "ordinal"}, 3),
    "own model": ({"model": families.Custom(Agreement, None), "prior": DirichletProcess(base=Normal(1.0))}, 2),
}


@pytest.mark.parametrize("share", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize("name", SAME)
def test_our_exact_kernel_as_a_method_of_your_own(name, share, rng, monkeypatch):
    """Its draws, and all that is computed from them, are those of the method."""
    options, n_states = SAME[name]
    x = rng.integers(0, n_states, (N, 3)).astype(float)
    gone = rng.random(x.shape) < share
    x[gone & ~gone.all(axis=1, keepdims=True)] = np.nan  # a row without values would be left out
    starts, build = [], grouped_methods.exact

    def recorded(method, problem):
        starts.append((problem.start, 10 * problem.model.is_product))
        return build(method, problem)

    def ours(likelihood, prior):
        return exact_groups(likelihood, prior, starts[0][0], n_jumps=starts[0][1])

    monkeypatch.setattr(grouped_methods, "exact", recorded)
    exact = GroupedMRF(method="exact", **QUICK | options).fit(x)
    own = GroupedMRF(method=methods.Custom(ours, "exact"), **QUICK | options).fit(x)
    assert (own.method_, own.posterior_.attrs["kind"]) == ("grouped_exact", "exact")
    for group in ("posterior", "sample_stats", "constant_data"):
        assert own.posterior_[group].equals(exact.posterior_[group]), group
    np.testing.assert_array_equal(own.groups_, exact.groups_)


def test_what_is_said_of_a_method_of_your_own(x, tmp_path):
    """Its name and kind are in summaries and reports, and the rest of the estimator works as with ours."""
    for density in (None, 0.5, Beta(5.0, 5.0)):
        est = grouped(Restaurant, density=density).fit(x)
        summary = summarise(est.posterior_)
        assert (summary.method_sentence, summary.kind_sentence) == ("restaurant", "approximate (few steps)")
        page = write_report(est.posterior_, tmp_path / "page.html", overwrite=True).read_text()
        assert "approximate (few steps)" in page
        assert "<dd>restaurant</dd>" in page
        assert hasattr(est, "mle_") == (density is None)
    assert est.co_clustering([0, 1]).shape == (2, 2)
    assert est.get_params()["method__make"] is Restaurant


def test_engines_of_a_method_of_your_own(x, rng):
    many = rng.integers(0, 2, (60, 40))
    for candidates, engine in (([(i, i + 1) for i in range(39)], "elimination"), ("complete", "persistent")):
        est = grouped(Idle, "exact", 0.5, candidates=candidates).fit(many)
        assert est.posterior_.attrs["engine"] == engine
    assert est.posterior_.attrs["kind"] == "approximate (persistent: random)"
    est = grouped(lambda likelihood, prior: Idle(likelihood.replaced(likelihood.s_bar, Bethe()), prior), "exact").fit(x)
    assert (est.posterior_.attrs["engine"], est.posterior_.attrs["kind"]) == (
        "bethe",
        "approximate (bethe: approximate)",
    )


def test_checkpoints_of_a_method_of_your_own(x, tmp_path):
    def fit(make, n_draws=20, checkpoint=tmp_path / "run"):
        return grouped(make, density=0.5, n_draws=n_draws, checkpoint=checkpoint).fit(x)

    whole = fit(Restaurant, checkpoint=None)
    fit(Restaurant, n_draws=10)
    assert fit(Restaurant).posterior_["posterior"].equals(whole.posterior_["posterior"])
    with pytest.raises(StoreError, match=r"factor is 20\.0, was 1\.0"):
        fit(wrong)


class Idle(Restaurant):
    """It never moves, and needs no engine: all edges are in one group."""

    change: Any = {}  # noqa: RUF012

    def step(self, rng, state):
        model = self.likelihood.model
        theta, groups = np.zeros(model.n_features), np.zeros(model.n_edges, dtype=np.int64)
        return state, Info(theta, groups, 1, 1.0, 0.5)._replace(**self.change)


def idle(**change):
    return type("Changed", (Idle,), {"change": change})


def without(name):
    return type("Changed", (Restaurant,), {"dims": {k: v for k, v in Restaurant.dims.items() if k != name}})


class Named(Restaurant):
    name = "tree"


class Remembering(Restaurant):
    """Its State has the log likelihood, which is not that of other data."""

    class State(NamedTuple):
        theta: np.ndarray
        log_p: float

    def init(self, rng):
        return self.State(np.zeros(3), self.fit(np.zeros(3)))

    def step(self, rng, state):
        new, info = super().step(rng, State(state.theta, np.zeros(3, dtype=np.int64)))
        return self.State(new.theta, self.fit(new.theta)), info


ABSENT = {"groups": np.array([0, -1, 0]), "theta": np.array([1.0, 0.0, 1.0])}
NEEDS = r"a kernel with the draws theta \(feature: 3\), groups \(edge: 3\), n_groups \(a number\), alpha \(a number\), "
REFUSED = {
    "no kernel": (lambda *_: None, None, "a kernel with the attributes of bayesmrf.base.Kernel, got a NoneType"),
    "name": (Named, None, "a kernel with a name that no method of bayesmrf has, got 'tree'"),
    "alpha": (without("alpha"), None, f"{NEEDS}got 'restaurant' without alpha"),
    "density": (without("density"), 0.5, rf"{NEEDS}density \(a number\), got 'restaurant' without density"),
    "shape": (idle(groups=np.zeros(2, int)), None, rf"{NEEDS}got 'restaurant' with groups of shape \(2,\)"),
    "type": (idle(groups=np.zeros(3)), None, "a kernel whose groups are integers from 0, got 'restaurant' with others"),
    "absent": (idle(**ABSENT), None, "a kernel whose groups are integers from 0, got 'restaurant' with others"),
    "label": (
        idle(groups=np.array([0, -2, 0])),
        0.5,
        "a kernel whose groups are integers from 0, or -1 where an edge is absent, got 'restaurant' with others",
    ),
    "number": (
        idle(**ABSENT, n_groups=2),
        0.5,
        "a kernel whose n_groups is the number of its groups, 1, got 'restaurant' with 2",
    ),
    "values": (
        idle(theta=np.array([1.0, 1.0, 2.0])),
        None,
        "a kernel whose parameters in theta are equal for the edges of a group, got 'restaurant' with others",
    ),
    "value of an absent edge": (
        idle(**ABSENT | {"theta": np.ones(3)}),
        0.5,
        "a kernel whose parameters in theta are equal for the edges of a group and 0 where an edge is absent, got 'r",
    ),
    "data in State": (Remembering, None, "a kernel whose State does not depend on the data, .*'restaurant' with log_p"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_methods_of_your_own_that_are_refused(name, x):
    make, density, message = REFUSED[name]
    with pytest.raises(OptionError, match=f"^method.make must be a callable that returns {message}"):
        grouped(make, density=density).fit(x)


def test_tables_of_edges_are_compared_as_a_whole(rng):
    """Fields are not compared; an entry of one table that differs is seen."""
    x, table, fields = rng.integers(0, 3, (N, 3)), np.arange(5.0), np.arange(6.0)
    for model, theta in (("symmetric", np.tile(table, 3)), ("potts", np.append(np.ones(3), fields))):
        given = {"model": model, "fields": model == "potts", "prior": DirichletProcess()}
        assert grouped(idle(theta=theta), **given).fit(x).theta_ == pytest.approx(theta)
    with pytest.raises(OptionError, match="equal for the edges of a group"):
        grouped(idle(theta=np.append(np.tile(table, 2), table[::-1])), **given | {"model": "symmetric"}).fit(x)


def test_grouped_fields_are_refused(x):
    message = "method must be 'exact' or 'particle' for grouped fields with model='agreement', got 'custom'"
    with pytest.raises(OptionError, match=message):
        grouped(Restaurant, fields="grouped").fit(x)


def test_draws_that_were_not_asked_for_are_left_out(x):
    """A kernel may always have p0, as ours."""
    posterior = grouped(Restaurant).fit(x).posterior_
    assert not {"density", "included"} & (posterior["posterior"].keys() | posterior["constant_data"].keys())
