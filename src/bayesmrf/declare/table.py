"""The legal values of the parameters of estimators and of runs, by the estimator and by name.

All other options are declared at their fields (`bayesmrf.declare.option`).
"""

from __future__ import annotations

from ..errors import in_python
from .rule import (
    ENGINE,
    EXECUTOR,
    FLAG,
    MOST_CHAINS,
    MOST_DRAWS,
    PATH,
    SCALE,
    SEED,
    Rule,
    choice,
    either,
    instance,
    integer,
    is_integer,
    is_list,
    optional,
)

OPTIONS: dict[str, Rule] = {
    # Runs
    "n_draws": integer(1, MOST_DRAWS),
    "n_warmup": integer(0, MOST_DRAWS),
    "n_chains": integer(1, MOST_CHAINS),
    "thin": integer(1, MOST_DRAWS),
    "random_state": SEED,
    "n_jobs": Rule(
        f"an integer other than 0{in_python(', or None')}",
        lambda v: v is None or (is_integer(v) and v != 0 and abs(v) <= 2**20),
        (None, 1, -1),
        "-1 is one job for each core",
    ),
    "executor": EXECUTOR,
    "progress": FLAG,
    "overwrite": FLAG,
    "checkpoint": optional(either(PATH, instance("runs.store", "Checkpoint"), expected="a path or a Checkpoint")),
    # Estimators
    "engine": ENGINE,
    "fields": FLAG,
    "n_hidden": integer(1, 10**5, "without hidden units the model is 'independent'"),
    "evidence.prior_scale": optional(SCALE),
    # Use of what was fitted
    "draw.n_samples": integer(1, 10**9),
    "average": choice("bayes", "mean"),
    "edges": Rule("a list of edges, by name or by number", is_list, ([0],)),
    "nodes": Rule("a list of nodes, by name or by number", is_list, ([0],)),
}
