"""What is computed after a fit is that of the fit: no parameter that is set, or changed in place, later has a say."""

import ast
import inspect
import pickle
import textwrap
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.base import clone

from bayesmrf import (
    RBM,
    BayesianMRF,
    CompareMRF,
    GroupedMRF,
    LabelFieldMRF,
    MaximumLikelihoodMRF,
    PanelMRF,
    SpikeSlabMRF,
)
from bayesmrf.answers.registry import names_of
from bayesmrf.data import read_columns
from bayesmrf.declare.option import rule_of
from bayesmrf.errors import BayesMRFError
from bayesmrf.estimators.estimator import STEERING, Estimator
from bayesmrf.priors import Beta, Cauchy, DirichletProcess, Normal, SpikeSlab

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 1, "n_jobs": 1}
KINDS = {
    "parameters": BayesianMRF(prior=Normal(0.7), **QUICK),
    "groups": GroupedMRF(candidates="complete", fields=False, **QUICK),
    "edges": SpikeSlabMRF(**QUICK),
    "differences": CompareMRF(baseline="spike-slab", **QUICK),
    "panel": PanelMRF(within=True, **QUICK),
    "panel, own intercepts": PanelMRF(intercepts="own", **QUICK),
    "labels": LabelFieldMRF(kernel="metropolis", engine="exact", **QUICK),
    "likelihood": MaximumLikelihoodMRF(random_state=1),
    "machine": RBM(n_hidden=2, n_steps=20, random_state=1, prior_scale=2.0),
}
STARTS = {
    "fit",
    "fit_transform",
    "partial_fit",
    "check",
    "get_params",
    "set_params",
    "load",
    "set_output",
}  # a fit, or none
METADATA = {"get_metadata_routing", "set_fit_request", "set_score_request"}
SLAB = SpikeSlab(density=0.01, slab=Cauchy(0.1))
PRIORS = {"parameters": Normal(0.1), "labels": Normal(0.1), "groups": DirichletProcess(density=Beta(9, 1))}
REFUSED = {
    "groups": {"add_log_prior"},
    "panel, own intercepts": {"add_log_likelihood", "evidence_table"},
    "parameters": {"matrix", "sensitivity"},
}
OTHERS = {  # legal values of what no rule declares values of
    "graph": nx.path_graph(2),
    "candidates": [("a", "b")],
    "ties": "all",
    "baseline": SLAB,
    "executor": ThreadPoolExecutor(1),
    "thin": 3,
}


@pytest.fixture(scope="module")
def table(module_rng):
    latent = module_rng.standard_normal((60, 1)) + module_rng.standard_normal((60, 3))
    return pd.DataFrame((latent > 0).astype(int), columns=list("abc"))


def more_of(kind, table):
    """The arguments of a method after the table."""
    people = np.arange(len(table))
    return {
        "differences": {"groups": people % 2},
        "panel": {"person": people // 5},
        "panel, own intercepts": {"person": people // 5},
        "labels": {"y": people % 3 - 1},
    }.get(kind, {})


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, table):
    kind = request.param
    points = table + np.arange(180).reshape(60, 3) / 50 if kind == "labels" else table
    data = {"X": points[:9] if kind == "labels" else points}
    data |= {name: v[: len(data["X"])] for name, v in more_of(kind, table).items()}
    est = deepcopy(KINDS[kind])
    return kind, (est.fit(**data)), data


def other_values(kind, est, table, folder):
    """Another legal value of every parameter."""
    found = {}
    for name, now in est.get_params(deep=False).items():
        rule = rule_of(type(est), name)
        values = [] if rule is None else [v for v in rule.good if repr(v) != repr(now)]
        if name == "prior":
            values = [PRIORS.get(kind, SLAB)]
        if name == "columns":
            values = [read_columns(table.astype(str))]
        if name == "checkpoint":
            values = [folder / "elsewhere"]
        found[name] = values[-1] if values and name != "baseline" else OTHERS[name]
        if rule is not None:
            rule.check(name, found[name])
        assert repr(found[name]) != repr(now), name
    return found


def arguments(name, data, kind):
    """Keyword arguments of a method of a fitted estimator, of each call."""
    X, more = data["X"], {k: v for k, v in data.items() if k != "X"}
    own = {
        "sample": [{"n_samples": 5, "random_state": 3}],
        "gibbs": [{"X": X, "n_sweeps": 2, "random_state": 3}],
        "interval": [{}],
        "statistic": [{"function": lambda theta: theta.sum()}],
        "predictive_checks": [{"X": X, "random_state": 3} | more],
        "predict_conditional": [{"X": X, "nodes": ["a"]} | more],
        "conditional_log_likelihood": [{"X": X, "nodes": ["a", "b"]} | more],
        "transform": [{"X": X}],
        "predict_next": [{"X": X}],
        "probability": [
            {"statement": text, "n_prior": 500}
            for text in (["a--b [0] > b--c [1]"] if kind == "differences" else ["a--b = 0", "a--b > 0.1 & b--c > 0"])
        ] + [{"statement": lambda *graphs: nx.is_connected(graphs[0]), "n_prior": 50}],
        "co_clustering": [{"edges": [0, 1]}],
    }  # fmt: skip
    if name == "sample" and kind == "differences":
        own["sample"][0]["group"] = 1
    return own.get(
        name, [{"X": X} | more if name in {"score", "score_samples", "add_log_likelihood", "sensitivity"} else {}]
    )


def plain(value):
    """A value as what can be compared."""
    if isinstance(value, xr.DataTree):
        return {path: plain(node) for path, node in value.to_dict().items()} | {"": str(value.attrs)}
    if isinstance(value, xr.Dataset):
        return {str(name): value[name].values.tolist() for name in value.variables}
    if isinstance(value, xr.DataArray):
        return value.values.tolist()
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.to_csv()
    if isinstance(value, nx.Graph):
        return repr(list(value.nodes(data=True))), repr(list(value.edges(data=True)))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)


def results_of(est, data, kind, folder):
    """Everything that a fitted estimator tells, by name."""
    found = {}

    def call(label, function, /, **given):
        try:
            found[label] = repr(plain(function(**given)))
        except BayesMRFError as e:
            found[label] = repr(e)

    call("repr", est.__repr__)
    set_before = {
        *est.get_params(deep=False),
        *STARTS,
        *METADATA,
        "fields",
        "ties",
        "table",
        "posterior_",
        "report",
    }  # a page is made of the tree alone
    for name in sorted(({n for n in dir(type(est)) if n[0] != "_"} | {*est._of_fit}) - set_before):
        if not callable(inspect.getattr_static(est, name)):
            call(name, lambda name=name: getattr(est, name))
        elif name == "compare":
            call(name, est.compare, draws=est.strength())
        elif name == "export":
            call(name, lambda: [p.read_text() for p in sorted(est.export(folder / "tables", "csv").iterdir())])
        else:
            for i, given in enumerate(arguments(name, data, kind)):
                call(f"{name} {i}", getattr(est, name), **given)
    for name in names_of(est) if hasattr(est, "table") else ():
        call(f"table {name}", est.table, name=name)
    call("posterior_", lambda: getattr(est, "posterior_", None))
    return found


def test_results_are_those_of_the_fit(fitted, table, tmp_path, monkeypatch):
    """Every parameter is set to another value; control: a method that reads what is set."""
    kind, est, data = fitted
    folders = [tmp_path / name for name in ("before", "after")]
    for folder in folders:
        folder.mkdir()
    changed = deepcopy(est)
    changed.set_params(**other_values(kind, est, table, tmp_path))
    before, after = (results_of(one, data, kind, f) for one, f in zip((deepcopy(est), changed), folders, strict=True))
    refused = {name.split()[0] for name, text in before.items() if text.endswith("Error") or "Error(" in text[:20]}
    assert refused <= REFUSED.get(kind, set())
    assert [name for name in before if before[name] != after[name]] == []
    if kind == "edges":
        monkeypatch.setattr(Estimator, "_settings", property(lambda est: est))
        given = arguments("probability", data, kind)[0]
        assert plain(changed.probability(**given)) not in before["probability 0"]
        assert plain(est.probability(**given)) in before["probability 0"]


def test_the_prior_of_a_statement_is_that_of_the_fit(table):
    """Also where its arrays are changed in place, or the estimator is a copy; the next fit has the new one."""
    p = np.where(np.eye(3), 0, 0.5)
    est = SpikeSlabMRF(prior=SpikeSlab(density=p), **QUICK).fit(table)
    before = est.probability("a--b = 0")
    assert before.prior == 0.5
    p[:] = 0.01
    assert repr(est.probability("a--b = 0")) == repr(before)
    est.set_params(prior=SpikeSlab(density=0.01), random_state=2)
    for one in (est, deepcopy(est), pickle.loads(pickle.dumps(est))):
        assert repr(one.probability("a--b = 0")) == repr(before)
    assert "0.01" in repr(clone(est).get_params()["prior"])
    assert est.set_params(prior__density=0.25).prior.density == 0.25
    assert est.fit(table).probability("a--b = 0").prior == 0.75


def reads(cls, names):
    """Return the parameters that the methods of a class read from the estimator itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    return {n.attr for n in found if n.value.id == "self" and n.attr in names and isinstance(n.ctx, ast.Load)}


def test_no_method_reads_a_parameter_that_was_set():
    """Whatever the model and the data: they read ``_settings``. Control: one that does."""
    found = {}
    for est in KINDS.values():
        names = {*est.get_params(deep=False)} - {*STEERING}
        ours = [cls for cls in type(est).__mro__ if cls.__module__.startswith("bayesmrf.")]
        found |= {cls.__name__: read for cls in ours if (read := reads(cls, names))}
    assert found == {}

    class Reader:
        def summary(self):
            return self.prior

    assert reads(Reader, {"prior"}) == {"prior"}
