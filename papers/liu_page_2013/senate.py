"""Section 5: votes of the Senate, trained on one session and tested on the other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bayesmrf import Graph, GroupedMRF, MaximumLikelihoodMRF, datasets, metrics
from bayesmrf.data.states import check_states
from bayesmrf.engines import Elimination
from bayesmrf.inference.auto import is_cheap
from bayesmrf.learning.sparse import learn_graph
from bayesmrf.models import Agreement
from papers.cells import Cell
from papers.store import Record

from .common import METHODS, N_EDGES, Points, Settings


@dataclass(frozen=True)
class Senate(Points):
    """Votes of the 109th Congress (section 5): train on one session, test on the other.

    The paper's graph is read off a figure of Banerjee et al. (2008); here one with as many edges is learnt on the
    training session. Such graphs are narrow, so that the exact log likelihood is reported in addition to the log
    pseudo-likelihood. Methods ending in "-fields" are ours: each senator has a field, or ("-grouped-fields") groups of
    senators share one. Their chains start far from the posterior, so that the first ``n_warmup_fields`` steps are
    dropped.
    """

    n_draws: int = 3000
    n_edges: int = N_EDGES
    n_warmup_fields: int = 300
    points: tuple[int, ...] = (1, 2)
    replicates: int = 1

    axis = "session"
    measures = ("n_train", "lpl_train", "lpl_test", "ll_train", "ll_test", "n_groups", "seconds")
    methods = (
        "mle",
        "stripped-beta",
        "particle",
        "mle-fields",
        "stripped-beta-fields",
        "particle-fields",
        "particle-grouped-fields",
    )

    def describe(self) -> dict[str, Any]:
        """Return plain values."""
        return {"n_draws": self.n_draws, "n_edges": self.n_edges, "n_warmup_fields": self.n_warmup_fields}

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit and measure one cell; ``seconds`` is processor time of one thread."""
        replicate, session, name = cell
        votes = datasets.senate109(session)
        train, test = check_states(votes), check_states(datasets.senate109(3 - session))
        graph = _senate_graph(session, self.n_edges)
        method = name.removesuffix("-fields").removesuffix("-grouped")
        rng = settings.rng(replicate, 2, session, METHODS.index(name))
        model = Agreement(graph, fields=name.endswith("-fields"))
        if method == "mle":
            estimator: Any = MaximumLikelihoodMRF(graph, fields=model.fields, random_state=rng)
        else:
            estimator = GroupedMRF(
                graph,
                method=method,
                fields="grouped" if "-grouped" in name else model.fields,
                n_draws=self.n_draws,
                n_warmup=self.n_warmup_fields if model.fields else 0,
                n_chains=1,
                n_jobs=1,
                progress=False,
                random_state=rng,
            )
        began = time.process_time()
        estimator.fit(votes)
        found = {
            "seconds": time.process_time() - began,
            "n_train": train.n_samples,
            "lpl_train": metrics.log_pseudo_likelihood(model, estimator.theta_, train.values),
            "lpl_test": metrics.log_pseudo_likelihood(model, estimator.theta_, test.values),
        }
        if is_cheap(graph):
            found["ll_train"] = metrics.log_likelihood(model, estimator.theta_, train.values, Elimination())
            found["ll_test"] = metrics.log_likelihood(model, estimator.theta_, test.values, Elimination())
        if method != "mle":
            found["n_groups"] = float(estimator.posterior_["posterior"]["n_groups"].mean())
        return found


@lru_cache(maxsize=2)
def _senate_graph(session: int, n_edges: int) -> Graph:
    return learn_graph(check_states(datasets.senate109(session)), n_edges, n_jobs=1)
