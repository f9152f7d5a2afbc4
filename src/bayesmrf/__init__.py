"""Bayesian learning in Markov random fields.

Names are imported when first used, so that ``import bayesmrf`` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, engines, families, graphs, methods, metrics, models, partitions, plots, priors, results
    from .estimators import (
        RBM,
        BayesianMRF,
        CompareMRF,
        GroupedMRF,
        LabelFieldMRF,
        MaximumLikelihoodMRF,
        PanelMRF,
        SpikeSlabMRF,
        calibrate,
        compare_evidence,
        load,
        log_evidence,
        plan,
        support,
    )
    from .evidence.target import Evidence
    from .graphs import Graph
    from .priors import Beta, Cauchy, DirichletProcess, Gamma, Moment, Normal, SpikeSlab
    from .report import write_report
    from .report.export import export
    from .results import save
    from .runs.store import Checkpoint

__version__ = "0.2.0"

_HOMES = {
    "BayesianMRF": "estimators",
    "CompareMRF": "estimators",
    "GroupedMRF": "estimators",
    "LabelFieldMRF": "estimators",
    "MaximumLikelihoodMRF": "estimators",
    "calibrate": "estimators",
    "PanelMRF": "estimators",
    "compare_evidence": "estimators",
    "log_evidence": "estimators",
    "plan": "estimators",
    "support": "estimators",
    "Checkpoint": "runs.store",
    "DirichletProcess": "priors",
    "SpikeSlab": "priors",
    "Evidence": "evidence.target",
    "Graph": "graphs",
    "Beta": "priors",
    "Cauchy": "priors",
    "Gamma": "priors",
    "Moment": "priors",
    "Normal": "priors",
    "RBM": "estimators",
    "SpikeSlabMRF": "estimators",
    "export": "report.export",
    "load": "estimators",
    "save": "results",
    "write_report": "report",
}

__all__ = [
    "RBM",
    "BayesianMRF",
    "Beta",
    "Cauchy",
    "Checkpoint",
    "CompareMRF",
    "DirichletProcess",
    "Evidence",
    "Gamma",
    "Graph",
    "GroupedMRF",
    "LabelFieldMRF",
    "MaximumLikelihoodMRF",
    "Moment",
    "Normal",
    "PanelMRF",
    "SpikeSlab",
    "SpikeSlabMRF",
    "calibrate",
    "compare_evidence",
    "datasets",
    "engines",
    "export",
    "families",
    "graphs",
    "load",
    "log_evidence",
    "methods",
    "metrics",
    "models",
    "partitions",
    "plan",
    "plots",
    "priors",
    "results",
    "save",
    "support",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in __all__:  # a module
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
