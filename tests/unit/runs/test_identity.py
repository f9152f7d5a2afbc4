"""A stored run is continued with the same kernel only: every field of every kernel, changed in turn, is refused."""

import copy
import dataclasses
import functools
import importlib
import inspect
import json
import pkgutil
from collections import namedtuple

import numpy as np
import pytest
from sklearn.base import clone

import bayesmrf.posterior
import bayesmrf.published
from bayesmrf import BayesianMRF, LabelFieldMRF, SpikeSlabMRF
from bayesmrf.engines import Elimination, Enumeration, FromExact
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.methods import Metropolis
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import (
    Cauchy,
    LogisticBeta,
    Normal,
)
from bayesmrf.runs import run
from bayesmrf.runs.identity import NOT_PART, describe, difference
from tests.helpers.flat import bayesian
from tests.tables import AGREEMENT, BINARY, KERNELS, likelihood, start


def test_the_table_has_every_kernel():
    """Classes that define a step, their own or that of a parent, and are complete."""
    found = set()
    for room in (bayesmrf.posterior, bayesmrf.published):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                complete = {"init", "step"} <= set(dir(kind)) and not inspect.isabstract(kind)
                if complete and kind.__module__ == module.name and not getattr(kind, "_is_protocol", False):
                    found.add(kind)
    assert found == {type(build()) for build in KERNELS.values()}


def record_of(kernel):
    return describe(kernel)[0]


def declared(value):
    """Names of the fields of an object of the package; none where it is a value of its own."""
    if dataclasses.is_dataclass(value):
        return [f.name for f in dataclasses.fields(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(value._fields)
    if type(value).__module__.startswith("bayesmrf"):
        return list(inspect.signature(type(value)).parameters)
    return []


def other(value):
    """Another value in the place of one that has no fields."""
    if dataclasses.is_dataclass(value):  # in a tuple
        return next(changes(value))[1]
    if value is None:
        return 1.25
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, tuple | list):
        return type(value)([other(value[0]), *value[1:]] if value else [1.25])
    if not value.size:
        return np.ones((1, *value.shape[1:]))
    changed = value.copy()
    changed.flat[-1] += 1
    return changed


def changes(value, path=""):
    """Each field of an object, at any depth, with a copy of the object in which it alone differs."""
    for name in declared(value):
        inner = getattr(value, name)
        here = f"{path}.{name}" if path else name
        inside = changes(inner, here) if declared(inner) else [(here, other(inner))]
        if declared(inner) and name in NOT_PART:
            inside = [(here, None)]
        for where, new in inside:
            if isinstance(value, tuple):
                yield where, value._replace(**{name: new})
            else:
                changed = copy.copy(value)
                object.__setattr__(changed, name, new)
                yield where, changed


@pytest.fixture
def idle(monkeypatch):
    """Kernels that make no effort, so that no run takes time."""

    def idle(kernel):
        info = namedtuple("Info", kernel.dims)(*(np.zeros((2,) * len(d)) for d in kernel.dims.values()))
        monkeypatch.setattr(type(kernel), "init", lambda self, rng: 0.0)
        monkeypatch.setattr(type(kernel), "step", lambda self, rng, state: (state, info))
        return kernel

    return idle


@pytest.mark.parametrize("form", KERNELS)
def test_each_field_changed_in_turn_is_refused(form, idle, tmp_path):
    options = {"n_draws": 2, "n_chains": 1, "progress": False, "checkpoint": tmp_path / "run"}
    run.sample(idle(KERNELS[form]()), **options)
    run.sample(idle(KERNELS[form]()), **options)  # an equal one, built again, goes on
    n = 0
    for where, changed in changes(KERNELS[form]()):
        name = where.rpartition(".")[2]
        if name in NOT_PART:
            run.sample(idle(changed), **options)
            continue
        inside = rf"{where.replace('.', '[.]')}(\[0\]\S*)?"
        data = rf"the data differ from those of the stored run \({inside}\)"
        with pytest.raises(StoreError, match=rf"another run: ({inside} is .*, was .* in the stored|{data})"):
            run.sample(changed, **options)
        n += 1
    assert n >= len(dataclasses.fields(KERNELS[form]()))


def test_another_class_is_refused_too(idle, tmp_path):
    """Priors, engines and models of the same fields."""
    options = {"n_draws": 2, "n_chains": 1, "progress": False, "checkpoint": tmp_path / "run"}
    run.sample(
        idle(MetropolisKernel(likelihood(BINARY, Elimination()), Normal(1.0), start(BINARY), Metropolis(0.1))),
        **options,
    )
    for other_kernel, named in [
        (
            MetropolisKernel(likelihood(BINARY, Elimination()), Cauchy(1.0), start(BINARY), Metropolis(0.1)),
            r"prior is 'bayesmrf\.priors\.slab_kinds\.C",
        ),
        (
            MetropolisKernel(likelihood(BINARY, Enumeration()), Normal(1.0), start(BINARY), Metropolis(0.1)),
            r"likelihood\.engine is",
        ),
        (
            MetropolisKernel(likelihood(AGREEMENT, Elimination()), Normal(1.0), start(BINARY), Metropolis(0.1)),
            r"likelihood\.model is",
        ),
    ]:
        with pytest.raises(StoreError, match=named):
            run.sample(other_kernel, **options)


def test_other_data_are_called_so(rng, tmp_path):
    options = {"n_draws": 5, "n_warmup": 0, "n_chains": 1, "random_state": 1, "progress": False}
    X = rng.integers(0, 2, size=(60, 3))
    BayesianMRF(checkpoint=tmp_path / "run", **options).fit(X)
    with pytest.raises(StoreError, match="another run: the data differ from those of the stored run"):
        BayesianMRF(checkpoint=tmp_path / "run", **options).fit(1 - X)


def test_options_of_engines_are_no_data():
    one, two = (FromExact(Elimination(), n) for n in (9, 8))
    kernels = [LangevinKernel(likelihood(BINARY, engine), Normal(), start(BINARY)) for engine in (one, two)]
    assert difference(*map(record_of, kernels)) == "likelihood.engine.n_samples is 9, was 8 in the stored run"


def test_the_prior_of_the_issue(rng, tmp_path):
    """A stopped run went on with another prior object: one posterior from two priors."""
    X = rng.integers(0, 2, size=(60, 3))
    options = {"model": "agreement", "n_warmup": 0, "n_chains": 1, "random_state": 1, "progress": False}
    options["checkpoint"] = tmp_path / "run"
    BayesianMRF(prior=LogisticBeta(1, 1), n_draws=5, **options).fit(X)
    with pytest.raises(StoreError, match=r"prior\.a is 500, was 1 in the stored run"):
        BayesianMRF(prior=LogisticBeta(500, 1), n_draws=10, **options).fit(X)
    assert BayesianMRF(prior=LogisticBeta(1, 1), n_draws=10, **options).fit(X).posterior_.attrs["complete"]


def test_a_start_counts_to_nine_decimals():
    """It comes out of an optimiser, whose last bits depend on threads and machine."""
    one, near, far = (
        record_of(MetropolisKernel(likelihood(BINARY, Elimination()), Normal(), start(BINARY) + shift, Metropolis(0.1)))
        for shift in (0.0, 1e-14, 1e-7)
    )
    assert one == near
    assert difference(far, one).startswith("start is")


class Mine:
    """A prior of one's own, whose constants are no arguments."""

    def __init__(self):
        self.scale = [1.0, 2.0]
        self.table = {"a": 1, "b": np.ones(20)}

    @functools.cached_property
    def derived(self):
        return object()


class Slots:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Stateless:
    pass


def test_objects_of_ones_own_are_what_they_hold():
    mine, same, wider = Mine(), Mine(), Mine()
    assert mine.derived
    wider.table["b"][3] = 2
    assert record_of(mine) == record_of(same)
    assert difference(record_of(wider), record_of(mine)).startswith("table['b'] is 'float64 array (20,), checksum")
    assert difference(record_of(Slots(1)), record_of(Slots(2))) == "x is 1, was 2 in the stored run"
    assert record_of(Stateless()) == {"class": "tests.unit.runs.test_identity.Stateless"}
    for value in (
        np.nan,
        10**30,
        2 + 1j,
        np.float32(0.1),
        Mine,
        np.exp.__class__,
        {1, 2},
        ("a", None),
        inspect.signature,
    ):
        assert record_of(Slots(value)) == record_of(Slots(copy.deepcopy(value)))


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        functools.partial(max, 1),
        np.random.default_rng(1),
        np.array([object()]),
        np.ma.masked_array([1, 2], [True, False]),
        {(1, 2): 3},
        "itself",
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_checkpoint_only(value, tmp_path, idle):
    class Odd:
        name = "odd"
        dims = {"x": ()}  # noqa: RUF012

        def __init__(self):
            self.prior = Slots(self if isinstance(value, str) else value)

    Odd.init, Odd.step = (lambda self, rng: 0.0), None
    options = {"n_draws": 1, "n_chains": 1, "progress": False}
    with pytest.raises(OptionError, match=r"checkpoint must be None for this run.*: prior\.(x|.*holds itself)"):
        run.sample(idle(Odd()), checkpoint=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
    assert run.sample(idle(Odd()), **options).complete


@pytest.mark.parametrize(
    "estimator",
    [
        bayesian(kernel="langevin", hidden_engine="persistent"),
        SpikeSlabMRF(method="exact"),
        LabelFieldMRF(kernel="exchange"),
    ],
)
def test_missing_values_are_the_same_after_a_resume(estimator, rng, tmp_path):
    """Their probabilities come from the seed of the run, which the store keeps where none was given."""
    X = rng.integers(0, 2, size=(12, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:2] = [[0, 0, 0], [1, 1, 1]]
    data = (X,)
    if isinstance(estimator, LabelFieldMRF):
        data = rng.normal(size=(6, 2)), np.array([0, 1, -1, -1, 1, -1])
    estimator.set_params(n_warmup=1, n_chains=1, progress=False, checkpoint=tmp_path / "run")

    def found(n_draws):
        est = clone(estimator).set_params(n_draws=n_draws).fit(*data)
        return est.label_distributions_ if isinstance(est, LabelFieldMRF) else est.missing_["probability"].to_numpy()

    found(3)
    first, again = found(6), found(6)  # one of a run that was resumed, one of a run that was finished
    assert first.size
    np.testing.assert_array_equal(first, again)
    seed = json.loads((tmp_path / "run" / "record.json").read_text())["settings"]["seed"]
    estimator.set_params(checkpoint=None, random_state=seed["entropy"])
    np.testing.assert_array_equal(first, found(6))
