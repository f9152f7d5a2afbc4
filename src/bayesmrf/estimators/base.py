"""What several estimators do: seeds, runs, graphs, checksums, missing values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from .. import graphs
from ..base import Kernel
from ..data.states import ColumnLevels, States, are_ordered, levels_of
from ..declare.rule import is_count
from ..errors import DataError, FieldsWarning, GraphError, OptionError, argument, renamed
from ..findings import tell
from ..graphs import Graph
from ..likelihood import Hidden, Likelihood, Sample
from ..results.blocks import at_draws
from ..results.until_good import outlook
from ..runs import run
from ..runs.run_options import RunOptions

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_PREDICTED = 1000  # draws over which the probabilities of missing values are averaged
_UNBALANCED = 1e-6  # p-value of a column that is not balanced
_NAMED = 5  # columns that are named
_PARTS = 1024  # of 1, to which sums are rounded in a checksum


def run_seed(estimator: RunOptions) -> np.random.SeedSequence:
    """Return the seed of a run: random_state or, if None, the seed of the checkpoint if there is one."""
    return run.seed_sequence(estimator.random_state, estimator.checkpoint)


def sample_posterior(
    estimator: RunOptions,
    model: Any,
    kernel: Kernel,
    seeds: np.random.SeedSequence,
    tree_of: Callable[[run.Draws], xr.DataTree],
    add_evidence: Callable[[xr.DataTree], None] | None = None,
    **more: int,
) -> run.Draws:
    """Run a kernel from a seed (see `run_seed`) by the options that all estimators of posteriors have.

    ``tree_of`` makes the tree by which a run until good is judged, and ``add_evidence`` adds the Bayes factors of its
    edges; ``more`` are the sizes of other dimensions than those of the model.
    """
    sizes = {"feature": model.n_features, "edge": model.graph.n_edges, "node": model.graph.n_nodes} | more
    options = {f.name: getattr(estimator, f.name) for f in fields(RunOptions)} | {"random_state": seeds}
    return run.sample(kernel, **options, judge=lambda draws: outlook(tree_of(draws), add_evidence), sizes=sizes)


def read_graph(graph: Any, states: States, progress: bool, option: str = "graph") -> Graph:
    """Return the graph of an option: edges, "complete", or "learn:K"."""
    try:
        if not isinstance(graph, str):
            return graphs.from_edges(graph, states.names)
        if graph == "complete":
            return graphs.complete(len(states.names), states.names)
    except GraphError as e:
        raise GraphError(renamed(e.text, "graph", option)) from None
    kind, _, number = graph.partition(":")
    if kind == "learn" and is_count(number):
        if states.n_states > 2 and not isinstance(states.coding, ColumnLevels):
            expected = f"edges or 'complete' for data with {states.n_states} states"
            raise OptionError(option=option, got=graph, expected=expected)
        if not all(are_ordered(states.coding, len(states.names))):
            expected = "edges or 'complete' for columns without order"
            raise OptionError(option=option, got=graph, expected=expected)
        if (states.values < 0).any():
            expected = "edges or 'complete' for a table with missing values"
            raise OptionError(option=option, got=graph, expected=expected, remedy="or drop the rows that have any")
        from ..learning.sparse import learn_graph  # takes half a second

        return learn_graph(states, int(number), progress=progress)
    expected = "pairs of nodes, a networkx graph, 'complete', or 'learn:K' for K edges"
    raise OptionError(option=option, got=graph, expected=expected)


def require_edges(graph: Graph, option: str) -> None:
    """Refuse a single column, and a graph without edges, where edges are estimated."""
    if graph.n_nodes < 2:
        raise DataError("X must have at least two columns, got 1 feature(s).")
    if graph.n_edges == 0:
        raise OptionError(option=option, got="no edges", expected="a graph with at least one edge")


def warn_of_unbalanced(states: States) -> None:
    """Warn about columns that a model without fields cannot describe.

    Without fields all states of a node are equally probable. The warning names columns for which a chi-squared test
    (for two states, a two-sided binomial test) has a p-value below 1e-6.
    """
    values, weights = states.values, states.weights
    m = np.array(states.sizes)
    each = range(states.n_states)
    counts = np.array([(values == k).sum(axis=0) if weights is None else weights @ (values == k) for k in each])
    n = np.maximum(counts.sum(axis=0), 1)  # those that are not missing
    is_level = np.arange(len(counts))[:, None] < m
    statistic = (is_level * (counts - n / m) ** 2).sum(axis=0) * m / n
    far = np.flatnonzero(chdtrc(m - 1, statistic) < _UNBALANCED)
    if len(far):
        named = ", ".join(repr(states.names[i]) for i in far[:_NAMED])
        rest = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
        tell(
            f"in {len(far)} of {len(states.names)} columns some answers dominate ({named}{rest}). Without node "
            f"parameters ({argument('fields', False)}) this shows up as spurious edges; "
            f"set {argument('fields', True)}.",
            FieldsWarning,
        )


def data_hash(graph: Graph, s_bar: np.ndarray, n: float, hidden: Hidden | None = None) -> str:
    """Return a checksum of the edges and the summed statistics, which determine the likelihood.

    Sums are those of counts, scores and weights, which may be halves or quarters: they are rounded to 1/1024, so that
    neither the order of the rows matters nor are different sums taken for the same. With missing values the checksum
    includes the rows.
    """
    digest = hashlib.sha256(np.ascontiguousarray(graph.edges).tobytes())
    digest.update(np.rint(_PARTS * n * np.append(s_bar, 1.0)).astype(np.int64).tobytes())
    if hidden is not None:
        digest.update(np.ascontiguousarray(hidden.model.states).tobytes())
    return digest.hexdigest()


def hash_of_samples(graph: Graph, samples: Sequence[Sample]) -> str:
    """Return `data_hash` of the data, of several samples a checksum of theirs."""
    hashes = [data_hash(graph, s.s_bar, s.n_samples, s.hidden) for s in samples]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def hidden_probabilities(likelihood: Likelihood, theta: xr.Variable, seeds: np.random.SeedSequence) -> np.ndarray:
    """`Likelihood.hidden_probabilities` over evenly spaced draws of theta (n_chains, n_draws, n_features).

    ``seeds`` is the seed of the run, whose chains have children of it: a run that was resumed gives the same.
    """
    numbers = np.unique(np.linspace(0, theta.shape[0] * theta.shape[1] - 1, _PREDICTED).astype(int))
    return likelihood.hidden_probabilities(at_draws(theta, numbers), np.random.default_rng(seeds))


def missing_table(
    likelihood: Likelihood, theta: xr.Variable, parts: Sequence[States], seeds: np.random.SeedSequence
) -> pd.DataFrame:
    """Return row, node and probability of 1 (of each state, if many) of missing values, averaged over draws.

    ``parts`` are the data of each sample of the likelihood; theta has a dimension of samples if they are several.
    """
    import pandas as pd

    tables, samples = [], likelihood.samples
    for t, (sample, states) in enumerate(zip(samples, parts, strict=True)):
        alone, sample_theta = likelihood, theta
        if len(samples) > 1:
            alone = Likelihood(likelihood.model, sample.s_bar, sample.n_samples, likelihood.engine, sample.hidden)
            sample_theta = theta[:, :, t]
        if sample.hidden is not None:
            tables.append(_missing_of_sample(alone, sample_theta, states, seeds))
    if not tables:
        return pd.DataFrame({"row": [], "node": [], "probability": []})
    return tables[0] if len(samples) == 1 else pd.concat(tables).sort_values("row", kind="stable", ignore_index=True)


def _missing_of_sample(
    likelihood: Likelihood, theta: xr.Variable, states: States, seeds: np.random.SeedSequence
) -> pd.DataFrame:
    import pandas as pd

    assert likelihood.hidden is not None
    probability = hidden_probabilities(likelihood, theta, seeds)
    # A row that was observed several times occurs several times.
    row, node = likelihood.hidden.model.cells.T
    keys = {"row": states.given_rows[states.row_numbers[row]], "node": np.array(states.names, dtype=object)[node]}
    if probability.ndim == 2:
        levels = [levels_of(states.coding, i) for i in node]
        sizes = np.array(list(map(len, levels)))
        probability = probability[np.arange(probability.shape[1]) < sizes[:, None]]
        keys = {name: np.repeat(values, sizes) for name, values in keys.items()}
        keys["state"] = np.array([level for each in levels for level in each])
    table = pd.DataFrame(keys | {"probability": probability.ravel()})
    return table.groupby(list(keys), sort=False, as_index=False).mean()


def missing_in(tree: xr.DataTree) -> pd.DataFrame:
    """Return what `missing_table` has computed for a run, from its tree."""
    import pandas as pd

    if "posterior_predictive" not in tree.children:
        return pd.DataFrame({"row": [], "node": [], "probability": []})
    data = tree["posterior_predictive"].dataset
    return pd.DataFrame({n: data[n].values for n in ("row", "node", "state", "probability") if n in data.variables})
