"""Statistics of nodes and networks by name: of the network of each draw, with means and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declare.rule import NONE, PROBABILITY, Rule, are_texts, either
from ..errors import OptionError
from ..graphs import Graph
from ..models.bases import present
from ..models.display import ParameterDisplay
from ..names import listed, quoted
from .blocks import at_draws, in_turn, variable
from .display import display_in
from .predictability import predictability, time_of
from .shortest_paths import clustering, path_measures

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

INTERVAL = 0.95  # probability of the intervals of highest density
_SUMS = ("strength", "expected influence")
_BRIDGES = ("bridge strength", "bridge expected influence")
_OF_PATHS = ("closeness", "betweenness", "average path", "largest component", "small-worldness")
_OF_MODEL = ("predictability", "correct classification", "base rate")
OF_LAGS = ("in-strength", "out-strength", "in-expected influence", "out-expected influence", "autoregression")
OF_NODES = (*OF_LAGS, *_SUMS, "closeness", "betweenness", *_BRIDGES, *_OF_MODEL)
OF_NETWORKS = ("density", "global clustering", "average path", "largest component", "small-worldness")
NAMES = either(NONE, Rule("a name, or a list of names of statistics", are_texts))
_EULER = 0.5772156649  # of the mean path of a random graph
_MOST_SECONDS = {"paths": 1.0, "model": 5.0}  # about as many draws as these take
_FEWEST = {"paths": 100, "model": 25}  # draws
_OF_PREDICTIONS = 100  # draws of predictability at most, as of `Predictive`
_LONGEST = 10.0  # seconds for the fewest draws, beyond which statistics are left out unless they are asked for
_PATHS = 3e-9  # seconds of shortest paths for each pair of nodes of each start
_SOME = 20  # draws from which the number of edges is known


@dataclass(frozen=True, eq=False)
class NetworkStatistics:
    """Draws of all statistics of the networks of a posterior, which are computed when they are asked for.

    Parameters
    ----------
    tree : xarray.DataTree
    communities : mapping of node to label, sequence of labels, or None
        Of which statistics of bridges are.
    n_draws : int or None
        Number of draws, evenly spaced over all; None for all of them where that takes a second, and for 100 of
        predictability at most.
    fitted : (Graph, callable) or None
        The graph, and what makes the model of the draws on a graph; None where it is not known.
    """

    tree: xr.DataTree
    communities: Any = None
    n_draws: int | None = None
    fitted: tuple[Graph, Callable[[Graph], Any]] | None = None
    _found: dict[str, np.ndarray] = field(default_factory=dict)

    def with_communities(self, communities: Any) -> NetworkStatistics:
        """Return the same statistics and those of bridges; what is known is not computed again."""
        return replace(self, communities=communities, _found=dict(self._found))

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes."""
        return [str(name) for name in self.tree["constant_data"].dataset["node"].values]

    @cached_property
    def edges(self) -> np.ndarray:
        """Ends of the edges, (n_edges, 2)."""
        return np.asarray(self.tree["constant_data"].dataset["edges"].values)

    @cached_property
    def groups(self) -> list[str] | None:
        """Labels of the groups of people; None of one network."""
        posterior = self.tree["posterior"].dataset
        return [str(g) for g in posterior["group"].values] if "group" in posterior.dims else None

    @cached_property
    def _display(self) -> ParameterDisplay:
        return display_in(self.tree)

    @property
    def _is_signed(self) -> bool:
        return bool(self._display.signed.all())

    @cached_property
    def _total(self) -> int:
        sizes = self.tree["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    @cached_property
    def _codes(self) -> np.ndarray | None:
        return None if self.communities is None else read_communities(self.communities, self.nodes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics that this posterior has, in the order of tables; see `shown`."""
        missing = set(OF_LAGS) if self._is_signed else {*OF_LAGS, "expected influence", "bridge expected influence"}
        missing |= set(_BRIDGES) if self.communities is None else set()
        missing |= set(_OF_MODEL) if self.fitted is None else set()
        return tuple(name for name in (*OF_NODES, *OF_NETWORKS) if name not in missing)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Those of tables: without what takes more than 10 seconds for the fewest draws."""
        kinds = {"paths": _OF_PATHS, "model": _OF_MODEL}
        slow = [kind for kind in kinds if self.n_draws is None and _FEWEST[kind] * self._seconds[kind] > _LONGEST]
        return tuple(name for name in self.names if not any(name in kinds[kind] for kind in slow))

    @cached_property
    def _seconds(self) -> dict[str, float]:
        """What a draw takes, roughly: shortest paths, and predictability."""
        d, n_groups = len(self.nodes), len(self.groups or "1")
        r = np.concatenate([(w != 0).sum(axis=1) for w in self._weights(self._spaced(_SOME))]).mean()
        paths, model = _PATHS * d * (d * d + 4 * r), 0.0
        if self.fitted is not None:
            model = time_of(self.fitted[1](self.fitted[0]), float(r))
        return {"edges": 0.0, "paths": n_groups * paths, "model": n_groups * model}

    def _numbers(self, kind: str) -> np.ndarray | None:
        """Choose which draws are used; None for all."""
        n, seconds = self.n_draws, self._seconds[kind]
        if n is None and seconds > 0:
            n = max(_FEWEST[kind], int(_MOST_SECONDS[kind] / seconds))
            n = min(n, _OF_PREDICTIONS) if kind == "model" else n
        return None if n is None or n >= self._total else self._spaced(n)

    def _spaced(self, n: int) -> np.ndarray:
        return np.unique(np.linspace(0, self._total - 1, n).astype(int))

    def _blocks(self, numbers: np.ndarray | None) -> Iterator[np.ndarray]:
        theta = variable(self.tree, "theta")
        return in_turn(theta) if numbers is None else iter([at_draws(theta, numbers)])

    def _weights(self, numbers: np.ndarray | None) -> Iterator[np.ndarray]:
        """Read one number of each edge in each draw, of one group after the other, (n_draws * n_groups, n_edges)."""
        for theta in self._blocks(numbers):
            yield self._display.numbers(theta).reshape(-1, len(self.edges))

    def draws(self, name: str) -> np.ndarray:
        """Return the draws of a statistic: (n_draws, [n_groups,] n_nodes) of nodes, without nodes of networks.

        Raises
        ------
        OptionError
            If the posterior has no such statistic.
        """
        if name not in self.names:
            raise self._refusal(name)
        if name not in self._found:
            kind = "paths" if name in _OF_PATHS else "model" if name in _OF_MODEL else "edges"
            numbers = self._numbers(kind)
            by_name = {"paths": self._of_paths, "model": self._of_model, "edges": self._of_edges}[kind](numbers)
            n = self._total if numbers is None else len(numbers)
            shape = (n,) if self.groups is None else (n, len(self.groups))
            self._found.update({key: value.reshape(*shape, *value.shape[1:]) for key, value in by_name.items()})
        return self._found[name]

    def _refusal(self, name: str) -> OptionError:
        if name in _BRIDGES and self.communities is None:
            return OptionError(option="names", got=name, expected="a statistic without communities",
                               remedy="give communities, such as {'a': 1, 'b': 1, 'c': 2}")  # fmt: skip
        if "influence" in name and not self._is_signed:
            return OptionError(option="names", got=name, expected="a statistic of edges without a sign",
                               remedy="take 'strength'")  # fmt: skip
        return OptionError(
            option="names", got=name, expected=f"names of statistics: {listed([*map(quoted, self.names)], 20)}"
        )

    def _of_edges(self, numbers: np.ndarray | None) -> dict[str, np.ndarray]:
        from scipy.sparse import coo_array

        r, d, across = len(self.edges), len(self.nodes), np.ones(len(self.edges))
        ends, of = self.edges.ravel(), np.repeat(np.arange(r), 2)
        incidence = {_SUMS: coo_array((np.ones(2 * r), (of, ends)), (r, d)).tocsr()}
        if self._codes is not None:
            across = (self._codes[self.edges[:, 0]] != self._codes[self.edges[:, 1]]) * 1.0
            incidence[_BRIDGES] = coo_array((np.repeat(across, 2), (of, ends)), (r, d)).tocsr()
        draws: dict[str, list[np.ndarray]] = {}
        for w in self._weights(numbers):
            each = {"density": (w != 0).mean(axis=1), "global clustering": clustering(w, self.edges, d)}
            for (absolute, signed), ends_of in incidence.items():
                each |= {absolute: np.abs(w) @ ends_of, signed: w @ ends_of}
            for key, value in each.items():
                draws.setdefault(key, []).append(value)
        return {key: np.concatenate(parts) for key, parts in draws.items()}

    def _of_paths(self, numbers: np.ndarray | None) -> dict[str, np.ndarray]:
        parts = [path_measures(w, self.edges, len(self.nodes)) for w in self._weights(numbers)]
        closeness, betweenness, network = (np.concatenate(each) for each in zip(*parts, strict=True))
        size, mean, steps, degree, closed = network.T
        degree = np.where(degree > 1, degree, np.nan)
        usual = (np.log(size) - _EULER) / np.log(degree) + 0.5
        small = closed * (size - 1) / degree / (steps / usual)
        return dict(zip(_OF_PATHS, (closeness, betweenness, mean, size, small), strict=True))

    def _of_model(self, numbers: np.ndarray | None) -> dict[str, np.ndarray]:
        assert self.fitted is not None
        graph, on = self.fitted
        whole, rng = on(graph), np.random.default_rng(0)
        each = [
            predictability(*present(whole, theta, on), rng)
            for block in self._blocks(numbers)
            for theta in block.reshape(-1, block.shape[-1])
        ]
        return dict(zip(_OF_MODEL, np.stack(each, axis=1), strict=True))

    def table(self, names: Sequence[str] | None = None, probability: float = INTERVAL) -> pd.DataFrame:
        """Return mean and interval of highest density of statistics, those of networks with an empty node.

        Columns are group (where there are several), node, statistic, mean, lower, upper, and n_draws: the number of
        draws in which it is defined.
        """
        import pandas as pd

        return pd.concat([self._rows(name, self.draws(name), probability) for name in self._wanted(names)],
                         ignore_index=True)  # fmt: skip

    def _wanted(self, names: Sequence[str] | None) -> Sequence[str]:
        NAMES.check("names", names)
        return self.shown if names is None else [names] if isinstance(names, str) else names

    def _rows(self, name: str, draws: np.ndarray, probability: float) -> pd.DataFrame:
        import pandas as pd

        nodes = self.nodes if name in OF_NODES else [""]
        groups = {} if self.groups is None else {"group": np.repeat(np.array(self.groups, object), len(nodes))}
        node = np.tile(np.array(nodes, object), len(self.groups or "1"))
        values = summed_up(draws.reshape(len(draws), -1), probability)
        return pd.DataFrame(groups | {"node": node, "statistic": name} | values)

    def between_nodes(self, names: Sequence[str] | None = None, probability: float = INTERVAL) -> pd.DataFrame:
        """Return the differences of statistics between two nodes, the first minus the other.

        Columns are group (where there are several), node, other, statistic, mean, lower, upper, n_draws, and
        probability: that the first is larger.
        """
        import pandas as pd

        parts = []
        pairs = np.array(list(combinations(range(len(self.nodes)), 2))).reshape(-1, 2).T
        for name in [name for name in self._wanted(names) if name in OF_NODES]:
            draws = self.draws(name)
            for g, label in enumerate(self.groups or [""]):
                of_group = draws if self.groups is None else draws[:, g]
                ends = {k: np.array(self.nodes, object)[i] for k, i in zip(("node", "other"), pairs, strict=True)}
                group = {} if self.groups is None else {"group": label}
                values = compared(of_group[:, pairs[0]] - of_group[:, pairs[1]], probability)
                parts.append(pd.DataFrame(group | ends | {"statistic": name} | values))
        return pd.concat(parts, ignore_index=True)

    def between_groups(self, names: Sequence[str] | None = None, probability: float = INTERVAL) -> pd.DataFrame:
        """Return the differences of statistics between two groups of people, the other minus the group.

        Columns are group, other, node, statistic, mean, lower, upper, n_draws, and probability: that it is larger in
        the other group.
        """
        import pandas as pd

        if self.groups is None:
            raise OptionError(option="between", got="groups", expected="'nodes' of a posterior of one network")
        parts = []
        for name in self._wanted(names):
            draws = self.draws(name)
            for a, b in combinations(range(len(self.groups)), 2):
                nodes = self.nodes if name in OF_NODES else [""]
                pair = {"group": self.groups[a], "other": self.groups[b]}
                values = compared((draws[:, b] - draws[:, a]).reshape(len(draws), -1), probability)
                parts.append(pd.DataFrame(pair | {"node": nodes, "statistic": name} | values))
        return pd.concat(parts, ignore_index=True)


def summed_up(draws: np.ndarray, probability: float) -> dict[str, np.ndarray]:
    """Return mean, ends of the interval of highest density, and number of the draws (n_draws, n) that are not NaN."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    PROBABILITY.check("probability", probability)
    n, known = (~np.isnan(draws)).sum(axis=0), ~np.isnan(draws).all(axis=0)
    mean, ends = np.full(draws.shape[1], np.nan), np.full((draws.shape[1], 2), np.nan)
    if known.any():
        mean[known] = np.nanmean(draws[:, known], axis=0)
        skip = bool((n < len(draws)).any())
        ends[known] = array_stats.hdi(draws[:, known], prob=probability, axis=0, skipna=skip)
    return {"mean": mean, "lower": ends[:, 0], "upper": ends[:, 1], "n_draws": n}


def compared(differences: np.ndarray, probability: float) -> dict[str, np.ndarray]:
    """Return what `summed_up` does of differences (n_draws, n), and the probability that they are above 0."""
    moments = summed_up(differences, probability)
    above, n = (differences > 0).sum(axis=0), moments["n_draws"]
    return moments | {"probability": np.where(n > 0, above / np.maximum(n, 1), np.nan)}


def read_communities(given: Any, nodes: Sequence[str]) -> np.ndarray:
    """Return a number of the community of each node, (n_nodes,).

    Raises
    ------
    OptionError
        If there is not one label for each node.
    """
    import pandas as pd

    if isinstance(given, Mapping | pd.Series):
        labels = {str(node): label for node, label in dict(given).items()}
        if missing := [node for node in nodes if node not in labels]:
            raise OptionError(option="communities", got=given, expected="a label for each node",
                              remedy=f"there is none for {listed([*map(quoted, missing)])}")  # fmt: skip
        return np.unique([str(labels[node]) for node in nodes], return_inverse=True)[1]
    if isinstance(given, str) or np.ndim(given) != 1 or len(given) != len(nodes):
        expected = f"a label for each of the {len(nodes)} nodes, or a mapping of nodes to labels"
        raise OptionError(option="communities", got=given, expected=expected)
    return np.unique([str(label) for label in given], return_inverse=True)[1]


def has_weights(tree: xr.DataTree) -> bool:
    """Return whether theta begins with one parameter for each edge, or edges have tables, which have a strength."""
    constant = tree["constant_data"].dataset
    if not {"edges", "node"} <= set(constant.variables):
        return False
    names = [str(name) for name in constant["edge"].values]
    return len(names) > 0 and display_in(tree).shown_names[: len(names)] == names


def require_weights(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree whose edges have weights or strengths, or refuse it."""
    if not has_weights(tree):
        expected = "one with a single parameter for each edge, or columns without order"
        raise OptionError(option="model", got=tree.attrs["model"], expected=expected, remedy="take `statistic`")
    return tree
