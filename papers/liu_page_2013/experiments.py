"""The eight experiments, in full size and small (``--quick``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from papers.store import Record

from .common import STRUCTURE_METHODS
from .senate import Senate
from .simulations import Simulation
from .structure import Blocks, SenateStructure

_LONG = {"n_draws": 400, "n_warmup": 100}
_FEW = {"n_draws": 40, "n_warmup": 20}
_CHAINS = STRUCTURE_METHODS[:5]
_VOTES: dict[str, dict[str, Any]] = {
    "spike-particle": {"n_draws": 150, "n_warmup": 100},
    "spike-particle-fields": {"n_draws": 300, "n_warmup": 200, "n_chains": 4},
    "stripped-beta-learnt": {"n_draws": 3000, "n_warmup": 0},
    "particle-learnt": {"n_draws": 400, "n_warmup": 100},
    "spike-slab": {"method": "reversible-jump", "n_draws": 150, "n_warmup": 100},
}


def _with(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {m: dict(options) | ({"method": "exact"} if m == "spike-slab" else {}) for m in _CHAINS}


_TREE = Simulation(("binary_tree", 12), 25, {"tree": {"n_draws": 500}}, replicates=500)
_SMALL = Simulation(
    ("grid", 4, 4),
    5,
    {
        "exact": {"n_draws": 100},
        "auxiliary-variable": {"n_draws": 500, "n_proposals": 5, "sigma_q": 0.001, "n_walk": 100, "n_sweeps": 50},
        "stripped-beta": {"n_draws": 100},
        "particle": {"n_draws": 100},
    },
    persistent=True,
)
_CHECKED = {name: _SMALL.bayes[name] for name in ("exact", "stripped-beta")}
_MANY = Simulation(("grid", 4, 4), 5, _CHECKED, (1000, 10_000, 100_000), 20)
_APART = Simulation(("grid", 4, 4), 24, _CHECKED, (100, 300, 1000), 20)
_LARGE = Simulation(
    ("grid", 30, 30), 10, {"stripped-beta": {"n_draws": 100}, "particle": {"n_draws": 100}}, n_sweeps=5000
)
_FEW_STEPS = {"n_draws": 20, "n_proposals": 5, "sigma_q": 0.001, "n_walk": 20, "n_sweeps": 20}
_FEW_POINTS = (100, 400, 1000)

Plan = Simulation | Senate | Blocks | SenateStructure
FULL: dict[str, Plan] = {"tree": _TREE, "small-grid": _SMALL, "large-grid": _LARGE, "senate": Senate()}
FULL |= {"structure": Blocks(options=_with(_LONG)), "structure-senate": SenateStructure(options=_VOTES)}
FULL |= {"consistency": _MANY, "no-groups": _APART}
QUICK: dict[str, Plan] = {
    "tree": replace(
        _TREE,
        graph=("binary_tree", 9),
        bayes={"tree": {"n_draws": 200}},
        points=_FEW_POINTS,
        replicates=4,
    ),
    "small-grid": replace(
        _SMALL,
        bayes=dict(_SMALL.bayes) | {"auxiliary-variable": _FEW_STEPS},
        points=_FEW_POINTS,
        replicates=10,
    ),
    "large-grid": replace(
        _LARGE,
        graph=("grid", 16, 16),
        bayes={"stripped-beta": {"n_draws": 50}, "particle": {"n_draws": 50}},
        points=_FEW_POINTS,
        replicates=3,
        n_sweeps=2000,
    ),
    "senate": Senate(n_draws=200),
    "structure": Blocks(n_nodes=9, options=_with(_FEW), points=(100, 1000), replicates=3),
    "structure-senate": SenateStructure(options={m: o | {"n_draws": 5, "n_warmup": 5} for m, o in _VOTES.items()}),
    "consistency": replace(_MANY, points=(1000, 10_000), replicates=2),
    "no-groups": replace(_APART, points=(100, 1000), replicates=2),
}
MEASURES: dict[str, Callable[[list[Record]], pd.DataFrame]] = {name: plan.rows for name, plan in FULL.items()}
