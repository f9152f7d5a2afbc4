"""Bad values of every option: one sentence each, at once, before anything is written; legal ends of ranges run."""

import contextlib
import importlib
import inspect
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from inspect import signature

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import cli, families, graphs, priors
from bayesmrf.answers.predictions.mixture import AVERAGE
from bayesmrf.cli.app import whole
from bayesmrf.declare.option import Checked, options_of, rule_of
from bayesmrf.declare.rule import PRIOR, PROBABILITY, SCALE, SEED, integer, optional
from bayesmrf.engines import Phases
from bayesmrf.errors import BayesMRFError, BayesMRFWarning
from bayesmrf.estimators.grouped import EDGES as EDGES_RULE
from bayesmrf.evidence import methods
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.pairwise_target import PairwiseTarget
from bayesmrf.evidence.posterior_draws import PosteriorSampler
from bayesmrf.families import FAMILIES
from bayesmrf.inference.registry import ROWS
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.learning.rbm_brief import BriefRBM
from bayesmrf.learning.rbm_persistent import PersistentRBM
from bayesmrf.methods import COMPARISONS, EDGES, EVIDENCE, GROUPS, KERNELS, Custom
from bayesmrf.models import Agreement, Boltzmann, Nominal, Ordinal, PairwiseModel, Potts, RestrictedBoltzmann, Symmetric
from bayesmrf.posterior.groups.gibbs import GroupedGibbs
from bayesmrf.runs import run
from bayesmrf.runs.run_options import RunOptions
from bayesmrf.runs.store import Checkpoint
from bayesmrf.show.figures import Figure
from tests import tables

SECONDS = 2.0  # of processor time for a refusal
SMALL = {"n_draws": 3, "n_warmup": 1, "n_chains": 1, "progress": False, "random_state": 0}
X = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, 0], [1, 1, 0]])
COMPARED = np.tile(X, (3, 1)), np.arange(24) % 2  # twelve rows in each of two groups
FOREIGN = [
    *(np.nan, np.inf, -np.inf, "x", "", b"x", -1, 0, 1.5, -1e308, 1e308, 5e-324, None, True, 1j, 10**20, -(10**400)),
    *([], [1], (1, 2, 3), (0, -1), ("a", "b"), {}, {"a": 1}, {1}, [[]], object(), int, print),
    *(np.float64("nan"), np.int64(-1), np.bool_(True), np.array(2), np.zeros(2), np.zeros((2, 2)), np.array(["x"])),
    *(pd.DataFrame({"a": [1.0]}), pd.Series([1]), nx.path_graph(2), pd.NA, pd.NaT, np.datetime64("NaT")),
]


@contextmanager
def brief(seconds=SECONDS):
    """Fail what takes longer, and stop what does not end."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60)
    began = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < seconds


def refuses(call, option, value, rule=None):
    """One sentence about the option, and soon."""
    with brief(), warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        try:
            call()
        except BayesMRFError as e:
            text = str(e)
            assert "\n" not in text, text
            assert len(text) < 500, text
            assert rule is None or text.startswith(f"{option} must be"), (option, value, text)
        except Exception as e:
            raise AssertionError(f"{option} = {value!r}: {type(e).__name__}: {e}") from e
        else:
            raise AssertionError(f"{option} = {value!r} was accepted")


def bad(rng, rule, k):
    """Values that a rule does not allow."""
    values = [v for v in FOREIGN if not rule.allows(v)]
    return [values[i] for i in rng.choice(len(values), min(k, len(values)), replace=False)]


def accepts(call, option, value):
    """A legal value runs, or does not go together with other options; then the sentence is not about its range."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except BayesMRFError as e:
            if str(e).startswith(f"{option} must be"):
                raise


WALK = {"kernel": "metropolis", "engine": "exact"}
ESTIMATORS = {
    "BayesianMRF": (lambda **o: bayesmrf.BayesianMRF(**SMALL | o).fit(X), {}),
    "GroupedMRF": (lambda **o: bayesmrf.GroupedMRF(**SMALL | o).fit(X), {}),
    "SpikeSlabMRF": (lambda **o: bayesmrf.SpikeSlabMRF(**SMALL | o).fit(X), {}),
    "CompareMRF": (lambda **o: bayesmrf.CompareMRF(**SMALL | o).fit(*COMPARED), {}),
    "PanelMRF": (lambda **o: bayesmrf.PanelMRF(**SMALL | o).fit(X, person=[0, 0, 0, 0, 1, 1, 1, 1]), {}),
    "LabelFieldMRF": (lambda **o: bayesmrf.LabelFieldMRF(**WALK | SMALL | o).fit(np.eye(3)[:, :2], [0, 1, -1]), {}),
    "MaximumLikelihoodMRF": (lambda **o: bayesmrf.MaximumLikelihoodMRF(**o).fit(X), {}),
    "RBM": (lambda **o: bayesmrf.RBM(**{"n_steps": 3, "n_hidden": 2, "random_state": 0} | o).fit(X), {}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, rng):
    fit = ESTIMATORS[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        fit()  # what is imported and compiled once
    for option in signature(getattr(bayesmrf, name)).parameters:
        rule = rule_of(getattr(bayesmrf, name), option)
        if rule is not None:
            for value in bad(rng, rule, 6):
                refuses(lambda option=option, value=value: fit(**{option: value}), option, value, rule)


EMPTY = (list, dict, set, pd.DataFrame)
GRAPHS = [v for v in FOREIGN if not isinstance(v, nx.Graph) and not (isinstance(v, EMPTY) and not len(v))]
MORE_GRAPHS = [
    "learn:",
    "learn:-1",
    "learn:1.5",
    "learn:x",
    "Complete",
    [(0, 0)],
    [(0, 9)],
    [(0, 1), (1, 0)],
    [(0, 1, 2)],
]
MORE_GRAPHS += [
    [("x0", None)],
    [(0.0, 1.0)],
    nx.complete_graph(5),
    "learn:99999999999999999999999",
    "learn:²",
    "learn:" + "9" * 5000,
]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("BayesianMRF", "graph"),
        ("GroupedMRF", "candidates"),
        ("SpikeSlabMRF", "candidates"),
        ("CompareMRF", "candidates"),
        ("GroupedMRF", "graph"),
    ],
)
def test_graphs(name, option):
    fit = ESTIMATORS[name][0]
    for value in [*GRAPHS, *MORE_GRAPHS]:
        if not (value is None and name == "GroupedMRF" and option == "candidates"):
            refuses(lambda value=value: fit(**{option: value}), option, value)


# Other options without which a value is refused.
NEEDS = {
    ("GroupedMRF", "tree"): {"fields": False, "graph": [(0, 1), (1, 2)]},
    ("PanelMRF", "chains"): {"within": True},
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_at_the_ends_of_ranges_are_accepted(name):
    fit = ESTIMATORS[name][0]
    for option in signature(getattr(bayesmrf, name)).parameters:
        rule = rule_of(getattr(bayesmrf, name), option)
        for value in () if rule is None else rule.good:
            if option not in ("random_state", "n_jobs") or value is not None:
                more = NEEDS.get((name, str(value)), {})
                accepts(lambda option=option, value=value, more=more: fit(**{option: value} | more), option, value)


class Spins(PairwiseModel):
    """A model of a user's own."""

    name = "spins"
    edge_features = np.outer([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])[None]
    node_features = np.array([[-1.0, 0.0, 1.0]])


def records():
    """An object of every class that declares options."""
    for build in tables.KERNELS.values():
        kernel = build()
        yield kernel
        yield from [kernel.marginals] if isinstance(kernel, GroupedGibbs) else []
    agreement, machine = Agreement(graphs.complete(3)), RestrictedBoltzmann(3, 2)
    yield from (PersistentMLE(agreement, agreement.statistics(X), 3.0), PersistentRBM(machine), BriefRBM(machine, X))
    pairs = graphs.complete(3)
    yield from (Potts(pairs, 2), Ordinal(pairs, 2, True, (2, 2, 2)), Symmetric(pairs, 2), Nominal(pairs, 2))
    yield from (Spins(pairs), machine)
    yield PairwiseTarget(Boltzmann(pairs), X, np.ones(len(X)), priors.Normal())
    for registry in (GROUPS, EDGES, COMPARISONS, FAMILIES, KERNELS):
        yield from (each.options() for each in registry)
    for kind in (each.engine_class for each in ROWS):
        yield kind(X) if "states" in signature(kind).parameters else kind()
    yield from (priors.Beta(), priors.Gamma(), priors.Normal(), priors.LogisticBeta(), priors.Cauchy(), priors.Moment())
    yield from (priors.SpikeSlab(), priors.MultivariateNormal(np.eye(2)), priors.WeightsAndBiases())
    yield from (priors.DirichletProcess(), priors.Blocks(), Checkpoint("run"), Figure())
    yield from (ModeSearch(), PosteriorSampler(), Phases())
    yield from (each.method for each in EVIDENCE)
    yield from (Custom(print), families.Custom(Boltzmann))


RECORDS = {
    f"{type(record).__module__}.{type(record).__name__}".removeprefix("bayesmrf."): record for record in records()
}


def test_every_class_that_declares_options_is_here():
    for module in pkgutil.walk_packages(bayesmrf.__path__, "bayesmrf."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(kind):
        return {kind}.union(*map(below, kind.__subclasses__()))

    declaring = {kind for kind in below(Checked) if options_of(kind).keys() & inspect.get_annotations(kind).keys()}
    declaring = {kind for kind in declaring if kind.__module__.startswith("bayesmrf.")}
    known = {base for record in RECORDS.values() for base in type(record).__mro__}
    assert {kind.__name__ for kind in declaring - known} == set()
    assert len(declaring) > 50


@pytest.mark.parametrize("name", RECORDS)
def test_kernels_engines_models_and_priors(name, rng):
    record = RECORDS[name]
    assert is_dataclass(record)
    for option, declared in options_of(record).items():
        for value in bad(rng, declared.rule, 12):
            refuses(lambda option=option, value=value: replace(record, **{option: value}), option, value, declared.rule)
        for value in declared.rule.good:
            accepts(lambda option=option, value=value: replace(record, **{option: value}), option, value)


def test_functions(rng):
    kernel = tables.KERNELS["metropolis"]()
    for option, declared in options_of(RunOptions).items():
        for value in bad(rng, declared.rule, 12):
            call = {"n_draws": 2, "progress": False} | {option: value}
            refuses(lambda call=call: run.sample(kernel, **call), option, value, declared.rule)
    for option in ("prior_scale", "prior", "random_state", "method", "model"):
        rule = {"prior_scale": SCALE, "prior": PRIOR, "random_state": SEED}.get(option)
        for value in FOREIGN if rule is None else bad(rng, optional(rule), 12):
            given = {"model": "independent", option: value}
            refuses(lambda given=given: bayesmrf.log_evidence(X=X, progress=False, **given), option, value, rule)


def test_what_is_asked_of_a_fitted_estimator(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        fitted = [
            ESTIMATORS[name][0]() for name in ("BayesianMRF", "GroupedMRF", "SpikeSlabMRF", "MaximumLikelihoodMRF")
        ]
    for est in fitted:
        for value in bad(rng, integer(1, 10**9), 12):
            refuses(lambda est=est, value=value: est.sample(value), "n_samples", value, True)
        for value in bad(rng, SEED, 12):
            refuses(lambda est=est, value=value: est.sample(1, value), "random_state", value, True)
    bayesian, grouped, edges, _ = fitted
    for value in bad(rng, PROBABILITY, 20):
        refuses(lambda value=value: bayesian.interval(value), "probability", value, True)
        refuses(lambda value=value: edges.table("edges", value), "probability", value, True)
    for value in bad(rng, AVERAGE, 20):
        refuses(lambda value=value: edges.score(X, average=value), "average", value, True)
    for value in bad(rng, EDGES_RULE, 40):
        refuses(lambda value=value: grouped.co_clustering(value), "edges", value, True)
        refuses(lambda value=value: edges.predict_conditional(X, value), "nodes", value, True)
        if value is not None:
            refuses(lambda value=value: edges.score(X, clamped=value), "clamped", value, True)
        if str(value) not in "012":  # nodes and edges
            refuses(lambda value=value: grouped.co_clustering([value]), "edges", value)
            refuses(lambda value=value: edges.predict_conditional(X, [value]), "nodes", value)
            refuses(lambda value=value: edges.score(X, clamped=[value]), "clamped", value)
    for value in FOREIGN:
        refuses(lambda value=value: bayesian.score(value), "X", value)
        if not isinstance(value, type(None) | pd.Series | dict):
            refuses(lambda value=value: bayesian.sample(clamped=value), "X", value)


# The command line

WORDS = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1.5",
    "x",
    "",
    "1e999",
    "9" * 30,
    "-" + "9" * 30,
    ",",
    "1,2,3",
    "0,-1",
    "a,b",
]
WORDS += [
    "nan,1",
    "1e-400",
    "0x10",
    "١",
    "\x1b[31m",
    "a" * 5000,
    "learn:",
    "learn:-1",
    "learn:x",
    "cftp,zz",
    "-",
    "--",
    "1:",
]
NEEDED = {
    "groups": ["--graph", "complete"],
    "posterior": [],
    "structure": [],
    "compare": ["--by", "c"],
    "panel": [],
    "evidence": ["--compare", "independent"],
}


def lines(command):
    """Each option that takes a value, with each word."""
    for option in whole(command).params:
        if option.param_type_name == "option" and not option.is_flag and option.name not in ("help",):
            for word in WORDS:
                yield option.opts[0], word


class AcceptedError(Exception):
    """The options are legal: a run would begin."""


@pytest.mark.parametrize("command", NEEDED)
def test_command_lines(command, folder, capsys, rng, monkeypatch):
    def begin(*_, **__):
        raise AcceptedError

    monkeypatch.setattr(run, "sample", begin)
    monkeypatch.setattr(methods, "evaluate", begin)
    pd.DataFrame(COMPARED[0], columns=["a", "b", "c"]).to_csv("t.csv", index=False)
    before = {p.name for p in folder.iterdir()}
    every, basics = [*lines(command)], NEEDED[command]
    with contextlib.suppress(AcceptedError):
        cli.run([command, "t.csv", *basics, "--n-draws", "0"])  # what is imported and compiled once
    capsys.readouterr()
    n_refused = 0
    for i in rng.choice(len(every), 80, replace=False):
        flag, word = every[i]
        line = [command, "t.csv", *(basics if flag not in basics else []), f"{flag}={word}", "-q"]
        try:
            with brief():
                assert cli.run(line) == 2, line
        except AcceptedError:
            for new in {p for p in folder.iterdir() if p.name not in before}:
                shutil.rmtree(new) if new.is_dir() else new.unlink()  # files if --out is this folder
            continue
        except Exception as e:
            raise AssertionError(f"{line}: {type(e).__name__}: {e}") from e
        n_refused += 1
        out, err = capsys.readouterr()
        assert re.fullmatch(r"(warning: .*\n)*error: .*\n", err), (line, err)
        assert not out, line
        assert not {"\x1b", "Traceback"} & {*err, *err.split()}, line
        assert len(err) < 1000, (line, err)
        assert {p.name for p in folder.iterdir()} == before, line
    assert n_refused > 40


def test_nothing_crashes_in_a_process_of_its_own(folder):
    """Segmentation faults in the past, which would end these tests too."""
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv("t.csv", index=False)
    code = """
import sys
from bayesmrf.cli import run
for line in (["--epsilon=inf"], ["--method", "langevin", "--width=inf"], ["--method", "langevin", "--width=1e300"]):
    assert run(["structure", "t.csv", *line]) == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 3
