"""The models that ``bayesmrf evidence`` compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import OptionError

if TYPE_CHECKING:
    import numpy as np

CODING = "boltzmann"  # of all models here: hidden units are in {0, 1}, and the models need the same prior
_EXACT_NODES = 15  # up to this number the exact sampler of edges takes seconds


class Job(NamedTuple):
    """The name of a model in tables, and the function that makes its target and a remark."""

    name: int | str
    make: Callable[[], tuple[Any, str]]


def machines(numbers: Sequence[int], table: Any, weights: Any, prior_scale: float) -> list[Job]:
    """Return jobs for restricted Boltzmann machines with these numbers of hidden units."""
    from ..estimators import RBM
    from ..estimators.evidence_targets import make_target

    return [
        Job(k, lambda k=k: make_target(RBM(n_hidden=k), table, prior_scale, None, weights))  # type: ignore[misc]
        for k in numbers
    ]


def fields(
    names: Sequence[str],
    model: Any,
    table: Any,
    weights: Any,
    prior_scale: float,
    ends: Any,
    holdout: float | None,
    seed: int,
    progress: bool,
) -> list[Job]:
    """Return jobs for models without hidden units, in the coding of the machines so that all have the same prior.

    ``model`` is that coding, or the model of levels, ordered or not.
    """
    import numpy as np

    from ..estimators import BayesianMRF, GroupedMRF, SpikeSlabMRF
    from ..estimators.evidence_targets import make_target

    n_nodes = table.shape[1]
    counts = np.ones(len(table), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    learn, rest = _split(counts, holdout, seed) if holdout is not None else (counts, counts)
    flattered = "" if holdout is not None else "learnt from the same data, which favours the model; see --holdout"

    def fixed(graph: Any) -> Any:
        return make_target(BayesianMRF(graph, model=model), table, prior_scale, None, rest)

    def groups() -> tuple[Any, str]:
        graph = "complete" if ends is None else ends
        est = GroupedMRF(graph, model="agreement" if model == CODING else model, random_state=seed, progress=progress)
        est.fit(table, sample_weight=learn)
        target, _ = make_target(est, table, prior_scale, None, rest, CODING)
        return target, f"its groups were {flattered}" if flattered else ""

    def structure() -> tuple[Any, str]:
        if ends is not None:
            return fixed(ends)
        method = "auto" if model != CODING else "exact" if n_nodes <= _EXACT_NODES else "reversible-jump"
        est = SpikeSlabMRF(method=method, model=model, random_state=seed, progress=progress).fit(
            table, sample_weight=learn
        )
        return fixed(est.graph_)[0], f"its edges were {flattered}" if flattered else ""

    made: dict[str, Callable[[], tuple[Any, str]]] = {
        "groups": groups,
        "structure": structure,
        "complete": lambda: fixed("complete"),
        "independent": lambda: fixed([]),
    }
    return [Job(name, made[name]) for name in names]


def _split(counts: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the observations at random into those to learn from and the others, as counts of rows."""
    import numpy as np

    n = int(counts.sum())
    size = round(share * n)
    if not 0 < size < n:
        expected = f"a share that leaves some of the {n} observations on either side"
        remedy = "an example is 0.5" if n > 1 else "remove it"
        raise OptionError(option="--holdout", got=share, expected=expected, remedy=remedy)
    learn = np.random.default_rng(seed).multivariate_hypergeometric(counts, size)
    return learn, counts - learn
