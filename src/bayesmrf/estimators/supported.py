"""Table of supported combinations of model, prior and method, and their exactness: `support`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import OptionError
from ..families import families_of
from ..methods import COMPARISONS, EDGES, GROUPS, KERNELS, parameters
from ..methods.parameters import KernelRow
from ..methods.rows import MethodRow, refusal

if TYPE_CHECKING:
    import pandas as pd

_MISSING = ", missing values"
# Features that a method of groups must support, by the name of prior and data in the table.
_GROUP_PRIORS = {
    "groups": ("groups",),
    "groups, absent edges": ("groups", "spike"),
    "groups, grouped fields": ("groups", "field_groups"),
    f"groups{_MISSING}": ("groups", "missing"),
}


def support() -> pd.DataFrame:
    """Return the supported combinations, and whether the posterior is the stationary distribution of their chains.

    Returns
    -------
    DataFrame
        One row per estimator, model and prior (with and without missing values), one column per method or kernel with
        its default options: "exact", "approximate", or the reason why it is not supported; empty if the estimator has
        no such method. Kernels of `BayesianMRF` are as exact as their engines: "exact" is with an exact engine.
    """
    import pandas as pd

    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for family in families_of("GroupedMRF"):
        for prior, features in _GROUP_PRIORS.items():
            rows["GroupedMRF", family.name, prior] = {
                row.name: _cell(row, refusal(row, GROUPS, features, family.name)) for row in GROUPS
            }
    spiked = ("SpikeSlabMRF", EDGES, "spike and slab"), ("CompareMRF", COMPARISONS, "differences between groups")
    for estimator, methods, name in spiked:
        for prior, features in {name: ("spike",), f"{name}{_MISSING}": ("spike", "missing")}.items():
            for family in families_of(estimator):
                rows[estimator, family.name, prior] = {
                    row.name: _cell(row, refusal(row, methods, features, family.name)) for row in methods
                }
    for family in families_of("BayesianMRF"):
        for prior, missing in {"any density": False, f"any density{_MISSING}": True}.items():
            rows["BayesianMRF", family.name, prior] = {
                row.name: _cell(row, parameters.refusal(row, family.many_states, missing, family.tables))
                for row in KERNELS
            }
    index = pd.MultiIndex.from_tuples(rows, names=["estimator", "model", "prior"])
    return pd.DataFrame(list(rows.values()), index=index).fillna("")


def _cell(row: MethodRow | KernelRow, refused: OptionError | None) -> str:
    """Return whether a method or kernel is exact, or why it is refused."""
    return str(refused) if refused else row.kind.split()[0]
