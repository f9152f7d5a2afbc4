r"""Statistics of a table and of those that a posterior predicts, and which of them differ by more than chance.

Every replicate is a table of the size of the data from one draw. Five families of statistics are compared: how often
each answer is given, two answers together given each, three together given each two, the distribution of the sum of the
answers given its mean and variance, and how improbable the rows are. "Given" is linear regression over the replicates,

.. math:: r_j = s_j - \beta_j \cdot l_j,

of a statistic s on the lower-order ones l, which the posterior has fitted (the six means and products of a triple). It
takes out what the uncertainty of the parameters adds to replicates, and what fitting takes from the data, so that
p-values of triples are nearly uniform, and not near 1/2 (Bayarri and Berger 2000).

Within a family the largest deviation in standard errors is compared with those of the replicates (Westfall and Young
1993), and the families with each other by Holm (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import argument, data_row, in_python

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

LEVEL = 0.02  # of all checks together
FAMILIES = ("answers", "pairs", "triples", "sums", "rows")
OF_PANELS = ("answers", "lags", "waves", "sums", "earlier")
GROUP = "predictive_checks"  # of the tree
_PAIRED, _TRIPLED = 50, 25  # nodes whose pairs, and whose triples, are compared
_BINS = 12  # of the sum, at most
_ROWS = 20  # that are kept
_FLOOR = 1.0  # of the variance of a count, below which it is not approximately normal
_ENDS = 0.025, 0.975
_COLUMNS = (
    "family", "people", "what", "observed", "expected", "lower", "upper", "p_value", "p_adjusted", "outside"
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Quantities:
    """What is computed of every table.

    Parameters
    ----------
    scores : (n_nodes, n_states) array
        The score of each state of each node: 0 and 1 of yes/no answers, and of columns without order (1 is their most
        frequent one); others are standardised.
    answers : (n, 2) int array
        Node and state whose shares are compared.
    central : sequence of int
        Nodes, the most connected first: pairs and triples are those of the first.
    bounds : array
        Upper ends of the bins of the sum, but of the last.
    summed : (n,) int array
        Nodes with an order, whose states are added up.
    """

    scores: np.ndarray
    answers: np.ndarray
    central: np.ndarray
    bounds: np.ndarray
    summed: np.ndarray

    def __post_init__(self) -> None:
        paired, tripled = np.sort(self.central[:_PAIRED]), np.sort(self.central[:_TRIPLED])
        set_ = object.__setattr__
        set_(self, "pairs", np.array(list(combinations(paired, 2)), dtype=int).reshape(-1, 2))
        set_(self, "triples", np.array(list(combinations(tripled, 3)), dtype=int).reshape(-1, 3))
        n_nodes = len(self.scores)
        at = np.zeros((n_nodes, n_nodes), dtype=int)
        at[tuple(self.pairs.T)] = np.arange(len(self.pairs))
        set_(self, "_pair_at", at)
        set_(self, "_paired", paired)
        set_(self, "_tripled", tripled)
        first, second = np.triu_indices(len(tripled), 1)
        set_(self, "_first", first)
        set_(self, "_second", second)
        places = np.array(list(combinations(range(len(tripled)), 3)), dtype=int).reshape(-1, 3)
        of_pair = np.zeros((len(tripled), len(tripled)), dtype=int)
        of_pair[first, second] = np.arange(len(first))
        set_(self, "_three_at", (of_pair[places[:, 0], places[:, 1]], places[:, 2]))

    pairs: np.ndarray = None  # type: ignore[assignment]
    triples: np.ndarray = None  # type: ignore[assignment]
    _pair_at: np.ndarray = None  # type: ignore[assignment]
    _paired: np.ndarray = None  # type: ignore[assignment]
    _tripled: np.ndarray = None  # type: ignore[assignment]
    _first: np.ndarray = None  # type: ignore[assignment]
    _second: np.ndarray = None  # type: ignore[assignment]
    _three_at: tuple[np.ndarray, np.ndarray] = None  # type: ignore[assignment]

    def of(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the sums over the rows of a table of states (n, n_nodes), by family; and what is given."""
        y = self.scores[np.arange(x.shape[1]), x]
        y1, y2 = y[:, self._paired], y[:, self._tripled]
        products = y1.T.astype(float) @ y1
        threes = ((y2[:, self._first] * y2[:, self._second]).T @ y2)[self._three_at]
        total = x[:, self.summed].sum(axis=1, dtype=np.int64)
        bins = np.bincount(np.searchsorted(self.bounds, total), minlength=len(self.bounds) + 1)
        nodes, states = self.answers.T
        pairs = products[np.triu_indices(len(products), 1)]
        return {
            "answers": (x[:, nodes] == states).sum(axis=0).astype(float),
            "pairs": pairs,
            "triples": threes.astype(float),
            "sums": bins.astype(float) if len(self.summed) > 1 else np.empty(0),
            "given": np.concatenate([y.sum(axis=0, dtype=float), pairs, [total.sum(), (total**2).sum()]]),
        }

    def given(self, family: str) -> np.ndarray:
        """Return, for each statistic of a family, the places of what is given among means, products and moments."""
        n_nodes, n_pairs = len(self.scores), len(self.pairs)
        if family == "pairs":
            return self.pairs
        if family == "triples":
            i, j, k = self.triples.T
            products = [n_nodes + self._pair_at[u, v] for u, v in ((i, j), (i, k), (j, k))]
            return np.stack([i, j, k, *products], axis=1)
        if family == "sums":
            n = len(self.bounds) + 1 if len(self.summed) > 1 else 0
            return np.tile(n_nodes + n_pairs + np.arange(2), (n, 1))
        return np.empty((len(self.answers), 0), dtype=int)


def quantities(x: np.ndarray, sizes: Sequence[int], ordered: Sequence[bool], central: np.ndarray) -> Quantities:
    """Return what is computed of tables like the states ``x`` (n, n_nodes) without missing values."""
    n_nodes, m = len(sizes), max(sizes)
    scores = np.zeros((n_nodes, m), dtype=np.float32)
    for i, (size, has_order) in enumerate(zip(sizes, ordered, strict=True)):
        counts = np.bincount(x[:, i], minlength=m)
        if not has_order:
            scores[i, counts.argmax()] = 1
        elif size == 2:
            scores[i, 1] = 1
        else:
            mean, sd = x[:, i].mean(), x[:, i].std()
            scores[i, :size] = (np.arange(size) - mean) / (sd or 1.0)
    answers = [(i, k) for i, size in enumerate(sizes) for k in range(1 if size == 2 else 0, size)]
    summed = np.flatnonzero(ordered)
    total = x[:, summed].sum(axis=1, dtype=np.int64)
    most = sum(sizes[i] - 1 for i in summed.tolist())
    shares = np.arange(1, _BINS) / _BINS
    bounds = np.arange(most) if most < _BINS else np.unique(np.quantile(total, shares, method="lower"))
    return Quantities(scores, np.array(answers), central, bounds[bounds < most], summed)


class Name(NamedTuple):
    """What a check is called, and the unit in which its numbers are shown."""

    group: str  # of people; empty if there is one
    what: str
    unit: float


class Family(NamedTuple):
    """Statistics of one family: of the data, completed once or by each draw, and of the replicates."""

    name: str
    observed: np.ndarray  # (n_replicates or 1, n)
    replicated: np.ndarray  # (n_replicates, n); of rows (1, n), the share of simulated rows that are less probable
    expected: np.ndarray  # (n,) of the data given what is given
    largest: np.ndarray | None = None  # (n_replicates,) of each replicate, of rows, which have no partners in the data

    @property
    def p_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Two-sided p-value of each statistic alone, and of it as the largest of the family."""
        if self.largest is not None:
            return self.replicated[0], _share(self.largest[:, None] >= self.observed)
        scale = np.sqrt(self.replicated.var(axis=0) + _FLOOR)
        mean = self.replicated.mean(axis=0)
        deviation, others = np.abs(self.observed - mean) / scale, np.abs(self.replicated - mean) / scale
        return _share(others >= deviation), _share(others.max(axis=1, keepdims=True, initial=0) >= deviation)

    @property
    def largest_p(self) -> float:
        """The p-value of the family: of its largest deviation."""
        if self.largest is not None:
            return float(_share(self.largest >= self.observed.max(axis=1)))
        scale, mean = np.sqrt(self.replicated.var(axis=0) + _FLOOR), self.replicated.mean(axis=0)
        deviation = (np.abs(self.observed - mean) / scale).max(axis=1)
        return float(_share((np.abs(self.replicated - mean) / scale).max(axis=1) >= deviation))


def _share(beyond: np.ndarray) -> np.ndarray:
    p: np.ndarray = (1 + beyond.sum(axis=0)) / (1 + len(beyond))
    return p


def less_given(
    observed: np.ndarray, replicated: np.ndarray, given: np.ndarray, others: np.ndarray, at: np.ndarray
) -> Any:
    """Take what is given out of statistics, by regression over replicates.

    Parameters
    ----------
    observed, replicated : (n_observed, n), (n_replicates, n) arrays
    given, others : (n_observed, n_given), (n_replicates, n_given) arrays
        The lower-order statistics of the same tables.
    at : (n, k) int array
        Which of them are given for each statistic.

    Returns
    -------
    (n_observed, n), (n_replicates, n), (n,) arrays
        Residuals, and the mean of the replicates given what the data have, to which those of the data are compared.
    """
    mean, given_mean = replicated.mean(axis=0), others.mean(axis=0)
    observed, replicated = observed - mean, replicated - mean
    given, others = given - given_mean, others - given_mean
    shift = np.zeros(observed.shape)
    if at.shape[1]:
        inner, k = others.T @ others / len(others), at.shape[1]
        cross = np.stack([(others[:, column] * replicated).mean(axis=0) for column in at.T], axis=1)
        matrix = inner[at[:, :, None], at[:, None, :]]
        matrix += 1e-9 * np.trace(matrix, axis1=1, axis2=2)[:, None, None] * np.eye(k) + 1e-12 * np.eye(k)
        slope = np.linalg.solve(matrix, cross[..., None])[..., 0]
        for j in range(k):
            shift += given[:, at[:, j]] * slope[:, j]
            replicated -= others[:, at[:, j]] * slope[:, j]
    return observed - shift, replicated, mean + shift.mean(axis=0)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values that are adjusted for their number by Holm's method."""
    order, adjusted, least = np.argsort(p, kind="stable"), [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = least
    return adjusted


def judged(families: Sequence[Family], names: Mapping[str, Sequence[Name]]) -> pd.DataFrame:
    """Return one row for each check, the least expected first.

    Parameters
    ----------
    families : sequence of Family
    names : dict of str to sequence of Name
        Those of each family.
    """
    import pandas as pd

    families = [family for family in families if family.observed.shape[1]]
    whole = [family.largest_p for family in families]
    adjusted = holm(whole)
    parts = []
    for family, p, least in zip(families, whole, adjusted, strict=True):
        alone, largest = family.p_values
        groups, what, unit = zip(*names[family.name], strict=True)
        observed = family.observed.mean(axis=0)
        if family.largest is None:
            low, high = np.quantile(family.replicated, _ENDS, axis=0)
        else:  # of the least probable row of a table
            low, high = np.full(len(observed), np.nan), np.full(len(observed), np.quantile(family.largest, _ENDS[1]))
        numbers = {
            "observed": family.expected + observed,
            "expected": family.expected,
            "lower": family.expected + low,
            "upper": family.expected + high,
        }
        frame = pd.DataFrame({name: value / np.array(unit) for name, value in numbers.items()})
        frame.insert(0, "family", family.name)
        frame.insert(1, "group", groups)
        frame.insert(2, "what", what)
        frame["p_value"], frame["p_adjusted"] = alone, np.maximum(least, np.minimum(1, largest * (least / p)))
        if family.name == "rows":
            frame = frame.nlargest(_ROWS, "observed", keep="first")
        parts.append(frame)
    checks = pd.concat(parts, ignore_index=True)
    checks["outside"] = checks["p_adjusted"] < LEVEL
    return checks.sort_values(["p_adjusted", "p_value"], kind="stable", ignore_index=True)


def add_checks(tree: xr.DataTree, frame: pd.DataFrame, n_replicates: int, n_rows: int, is_counted: bool) -> None:
    """Add the checks of a run as group ``predictive_checks``, in place."""
    import xarray as xr

    frame = frame.rename(columns={"group": "people"})
    texts = {name: ("check", np.asarray(frame[name].astype(str), dtype=object)) for name in _COLUMNS[:3]}
    numbers = {name: ("check", frame[name].to_numpy()) for name in _COLUMNS[3:-1]}
    numbers["outside"] = "check", frame["outside"].to_numpy().astype(np.int8)
    about = {"n_replicates": n_replicates, "n_rows": n_rows, "level": LEVEL, "counted": int(is_counted)}
    tree[GROUP] = xr.DataTree(xr.Dataset(numbers, coords=texts, attrs=about))


def checks_in(tree: xr.DataTree) -> pd.DataFrame | None:
    """Return the checks that a run has; None if it was not checked."""
    import pandas as pd

    if GROUP not in tree.children:
        return None
    data = tree[GROUP].dataset
    texts = {name: data[name].values.astype(object) for name in _COLUMNS[:3]}
    frame = pd.DataFrame(texts | {name: data[name].values for name in _COLUMNS[3:]})
    frame["outside"] = frame["outside"].astype(bool)
    return frame.rename(columns={"people": "group"})


_SAYS = {
    "answers": (
        "the answer {what} is given {observed} times{group}",
        "The parameter of this node cannot follow: check its prior, and that the model has fields.",
    ),
    "pairs": (
        "{product}{group}",
        "The weight of this pair cannot follow: it may not be a candidate, or the prior may be too narrow.",
    ),
    "triples": (
        "{product}{group}",
        "No network of pairs describes an interaction of three: read the edges among them with care, or drop or join "
        "one of the three.",
    ),
    "sums": (
        "the sum of the answers is {what} in {observed} rows{group}",
        "The sample may mix groups of people (if they are known, compare them "
        f"{in_python('with CompareMRF', 'by bayesmrf compare')}), or some answers may be invalid.",
    ),
    "lags": (
        "{product}",
        "The weight of this lagged edge cannot follow: the prior may be too narrow.",
    ),
    "waves": (
        "{product} in one wave",
        f"Items of a wave are joined: take {argument('within', True)}.",
    ),
    "earlier": (
        "{what} depends on waves before the last (their mean product with the mean of earlier waves is {observed})",
        f"People may differ for good, which {argument('intercepts', 'own')} is for, or earlier waves may matter.",
    ),
    "rows": (
        "{what}{group} is an outlier, whose log probability is {observed} below average",
        "Check it for data-entry errors.",
    ),
}
_IN_GROUP = "The group may mix several ones, or some answers may be invalid."  # of sums, where groups are known


def first_row(attrs: Mapping[str, Any]) -> int:
    """Return the number of the first row as users see it: 1 of the file of a command, else 0 as in Python."""
    return int("command" in attrs)


def things(frame: pd.DataFrame, first: int) -> list[str]:
    """Return what each check is of, where rows are counted from ``first``."""
    pairs = zip(frame["family"], frame["what"], strict=True)
    return [f"row {int(what.split()[1]) + first}" if family == "rows" else str(what) for family, what in pairs]


def sentences(frame: pd.DataFrame, is_counted: bool) -> list[str]:
    """Return a sentence for each family with checks that are outside: the clearest, by how much, and what to do.

    ``is_counted`` says whether products of answers are counts of rows, as of yes/no answers.
    """
    texts = []
    for family in dict.fromkeys((*FAMILIES, *OF_PANELS)):
        outside = frame[(frame["family"] == family) & frame["outside"]]
        if outside.empty:
            continue
        one: Any = next(outside.itertuples(index=False))
        says, remedy = _SAYS[family]
        remedy = _IN_GROUP if family == "sums" and one.group else remedy
        whole = family in ("answers", "sums") or (is_counted and family != "rows")
        each = ("{:,.0f}" if whole else "{:.2f}").format
        observed = each(one.observed)
        counted = f"{one.what} are {'all' if family == 'triples' else 'both'} yes in {observed} rows"
        product = counted if is_counted else f"the mean product of the standardised {one.what} is {observed}"
        text = says.format(
            what=data_row(int(one.what.split()[1])) if family == "rows" else one.what,
            observed=observed,
            group=f" in group {one.group}" if one.group else "",
            product=product,
        )
        within = f"{each(one.expected)} ({each(one.lower)} to {each(one.upper)})"
        against = f"{each(one.upper)} at most" if family == "rows" else within
        more = f"; {len(outside) - 1} more of this kind" if len(outside) > 1 else ""
        texts.append(f"Misfit: {text}; the model predicts {against}{more}. {remedy}")
    return texts
