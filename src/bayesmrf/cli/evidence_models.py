"""The models that ``bayesmrf evidence`` compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import OptionError

if TYPE_CHECKING:
    import numpy as np

CODING = "boltzmann"  # of all models here: hidden units are in {0, 1}, and priors must be on the same parameters
_EXACT_NODES = 15  # up to which the exact sampler of edges takes seconds


class Job(NamedTuple):
    """A model by its name in tables, and the function that makes its target and a note for the reader."""

    name: int | str
    make: Callable[[], tuple[Any, str]]


def machines(numbers: Sequence[int], table: Any, weights: Any, prior_scale: float) -> list[Job]:
    """Restricted Boltzmann machines by their numbers of hidden units."""
    from ..estimators import RBM
    from ..estimators.evidence import make_target

    return [
        Job(k, lambda k=k: make_target(RBM(n_hidden=k), table, prior_scale, None, weights))  # type: ignore[misc]
        for k in numbers
    ]


def fields(
    names: Sequence[str],
    table: Any,
    weights: Any,
    prior_scale: float,
    ends: Any,
    holdout: float | None,
    seed: int,
    progress: bool,
) -> list[Job]:
    """Models of edges and a bias for each node, in the coding of the machines, that all priors are the same."""
    import numpy as np

    from ..estimators import BayesianMRF, GroupedMRF, SpikeSlabMRF
    from ..estimators.evidence import make_target

    n_nodes = table.shape[1]
    counts = np.ones(len(table), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    learn, rest = _split(counts, holdout, seed) if holdout is not None else (counts, counts)
    flattered = "" if holdout is not None else "found on the same data, which favours it; see --holdout"

    def fixed(graph: Any) -> Any:
        return make_target(BayesianMRF(graph, model=CODING), table, prior_scale, None, rest)

    def groups() -> tuple[Any, str]:
        graph = "complete" if ends is None else ends
        est = GroupedMRF(graph, random_state=seed, progress=progress)
        est.fit(table, sample_weight=learn)
        target, _ = make_target(est, table, prior_scale, None, rest, CODING)
        return target, f"its groups were {flattered}" if flattered else ""

    def structure() -> tuple[Any, str]:
        if ends is not None:
            return fixed(ends)
        method = "exact" if n_nodes <= _EXACT_NODES else "one-edge"
        est = SpikeSlabMRF(method=method, random_state=seed, progress=progress).fit(table, sample_weight=learn)
        return fixed(est.graph_)[0], f"its edges were {flattered}" if flattered else ""

    made: dict[str, Callable[[], tuple[Any, str]]] = {
        "groups": groups,
        "structure": structure,
        "complete": lambda: fixed("complete"),
        "independent": lambda: fixed([]),
    }
    return [Job(name, made[name]) for name in names]


def _split(counts: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Observations to learn from, and the others, as counts of rows."""
    import numpy as np

    n = int(counts.sum())
    size = round(share * n)
    if not 0 < size < n:
        expected = f"a share that leaves some of the {n} observations on either side"
        raise OptionError(option="--holdout", got=share, expected=expected, remedy="an example is 0.5")
    learn = np.random.default_rng(seed).multivariate_hypergeometric(counts, size)
    return learn, counts - learn
