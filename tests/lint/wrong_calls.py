"""Wrong values of every argument of every public function and method, which are listed from the package itself."""

import inspect
import types
import warnings
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone

import bayesmrf
from bayesmrf import graphs, models
from bayesmrf.errors import BayesMRFError

RUN = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 0}
SMALL = {"progress": False, "replicates": 1, "n_jobs": 1, "nodes": 3}
X = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, 0], [1, 1, 0]] * 3)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
GROUPS, WAVES = np.arange(24) % 2, {"person": np.arange(24) // 4, "wave": np.arange(24) % 4}
WRONG = {
    "None": None, "[]": [], "{}": {}, "0": 0, "-1": -1, "10**9": 10**9, "nan": np.nan, "''": "", "'x'": "x",
    "object()": object(), "b''": b"", "a function": lambda *_: None, "a DataFrame": pd.DataFrame({"z": [[1], [2]]}),
}  # fmt: skip
OF_SCIKIT_LEARN = {"get_metadata_routing", "set_fit_request", "set_score_request", "set_output", "get_params"}
OF_SCIKIT_LEARN |= {"set_params", "fit_transform", "get_feature_names_out"}
CHANGING = {"fit", "partial_fit", "check"}  # methods that may change an estimator
ARRAYS = ("metrics.", "partitions.", "models.", "graphs.edge_", "results.")  # for those who have arrays and models
# What is public for those who add a model or a kernel, and takes arrays that the package makes
INTERNAL = {"Evidence", "families.FamilyRow", "families.families_of", "families.model_rule", "graphs.Adjacency"}


def functions(module=bayesmrf, prefix=""):
    """Every public function and class of the package and its public modules, by name."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    names = [name for name in names if not hasattr(getattr(module, name), "py_func")]  # compiled leaves
    for name in names:
        value = getattr(module, name)
        if f"{prefix}{name}" in INTERNAL:
            continue
        if isinstance(value, types.ModuleType):
            yield from functions(value, f"{prefix}{name}.")
        elif callable(value):
            yield f"{prefix}{name}", value


def fitted():
    """An estimator of every class, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "BayesianMRF": bayesmrf.BayesianMRF(**RUN).fit(TABLE),
            "GroupedMRF": bayesmrf.GroupedMRF(**RUN, candidates="complete").fit(TABLE),
            "SpikeSlabMRF": bayesmrf.SpikeSlabMRF(**RUN).fit(TABLE),
            "CompareMRF": bayesmrf.CompareMRF(**RUN).fit(TABLE, GROUPS),
            "PanelMRF": bayesmrf.PanelMRF(**RUN).fit(TABLE, **WAVES),
            "LabelFieldMRF": bayesmrf.LabelFieldMRF(**RUN, kernel="metropolis", engine="exact").fit(
                np.eye(3)[:, :2], [0, 1, -1]
            ),
            "MaximumLikelihoodMRF": bayesmrf.MaximumLikelihoodMRF().fit(TABLE),
            "RBM": bayesmrf.RBM(n_steps=3, n_hidden=2, random_state=0).fit(X),
        }


@dataclass
class Call:
    """A call that is right, but for one argument."""

    name: str
    function: Any
    given: dict[str, Any]  # what must be given
    arguments: tuple[str, ...]  # all


def calls(estimators, folder):
    """Every public function and method, with right values of the arguments that must be given."""
    est = estimators["SpikeSlabMRF"]
    right = {
        "X": TABLE, "groups": GROUPS, "nodes": ["a"], "y": [0, 1, -1], "out": folder / "new", "path": folder / "new",
        "to": "json", "statement": "a--b", "function": np.sum, "tree": est, "trees": [est], "result": est, "edges": [0],
        "name": "edges", "n_nodes": 3, "names": ["a", "b", "c"], "estimator": est, "n": 30, "evidences": {"one": {}},
        "model": models.Boltzmann(graphs.complete(3)), "states": X, "theta": np.zeros(6), "thetas": np.zeros((2, 6)),
        "engine": "exact", "graph": graphs.complete(3),
        "n_states": 3, "n_rows": 2, "n_columns": 2, "height": 2, "n_visible": 3, "n_hidden": 2, "n_items": 3,
        "n_groups": 2, "rng": np.random.default_rng(0), "alpha": 1.0, "a": np.array([0, 1, 1]),
        "b": np.array([0, 0, 1]),
        "candidate": np.array([0, 1, 1]), "draws": np.array([[0, 1, 1], [0, 0, 1]]), "make": models.Boltzmann,
        "covariance": np.eye(2), "items": [0, 1], "rows": np.array([0]), "u": 0, "v": 1, "weights": np.ones((2, 3)),
        "groups_draws": np.array([[0, 1, 1], [0, 0, 1]]), "truth": np.array([0, 1, 1]), "group": 0, "levels": 2,
    }  # fmt: skip
    every = [(name, value) for name, value in functions()]
    for name, one in estimators.items():
        methods = [m for m in dir(type(one)) if not m.startswith("_") and m not in OF_SCIKIT_LEARN]
        for method in (m for m in methods if callable(getattr(type(one), m))):
            of = clone(one) if method in CHANGING else one
            every.append((f"{name}.{method}", getattr(of, method)))
    for name, function in every:
        parameters = inspect.signature(function).parameters.values()
        parameters = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        needed = [p.name for p in parameters if p.default is p.empty]
        if name.split(".")[0] == "LabelFieldMRF" and "X" in needed:
            given = {"X": np.eye(3)[:, :2]} | {n: right[n] for n in needed if n != "X"}
        elif not set(needed) <= right.keys():
            continue
        else:
            given = {n: right[n] for n in needed}
        small = {n: value for n, value in SMALL.items() if any(p.name == n for p in parameters)}
        yield Call(name, function, given | small, tuple(p.name for p in parameters))


def outcome(call, argument, value):
    """What a wrong call raises: None, or the text of an exception that is not of the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.function(**call.given | {argument: value})
        except BayesMRFError as e:
            text = str(e)
            return f"{len(text)} letters" if len(text) > 600 or "\n" in text else None
        except Exception as e:
            return f"{type(e).__name__}: {str(e)[:150]}"
        finally:
            plt.close("all")
    return None
