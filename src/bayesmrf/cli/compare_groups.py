"""The command ``bayesmrf compare``: do the networks of several groups of people differ?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..methods import COMPARISONS
from ..parameters import CompareParameters
from . import common
from .field_flags import flag
from .flags import BINARIZE, SENSITIVITY, command, density_flag, observations, slab_flag
from .pair_table import read_pairs
from .records import Run


@command
def compare(
    table: Path = observations(
        "ANSWERS.csv",
        "0/1, -1/+1 or True/False, or ordered levels; empty where a value is missing",
    ),
    by: str = flag("Column with the label of each row's group.", "COLUMN", ...),
    *,
    flags: Annotated[dict[str, Any], CompareParameters],
    density: str = density_flag("edges that differ", "0.5"),
    slab: str = slab_flag("differences that are not 0", "cauchy:1"),
    bias_scale: float = flag(
        "Standard deviation of the normal prior of a node's parameter in each group.", default=10.0
    ),
    binarize: str | None = BINARIZE,
    sensitivity: bool = SENSITIVITY,
    of_method: Annotated[dict[str, Any], COMPARISONS],
    run: Run,
) -> None:
    """Find out in which edges the networks of two or more groups of people differ, and by how much."""
    from ..priors import SpikeSlab, read_slab

    p0, prior = common.density(density), replace(SpikeSlab(), slab=read_slab(slab), bias_scale=bias_scale)
    options = run.settle(
        CompareParameters, flags | {"method": common.own_options(COMPARISONS, flags["method"], of_method)}
    )
    data, family = run.read_coded(flags["model"], binarize, "CompareMRF", by)
    options |= {"model": family.name, "prior": replace(prior, density=read_pairs(p0, data[0].columns))}
    asked = {"candidates": flags["candidates"], "by": by, "binarize": binarize and binarize.strip()}
    run.fit("CompareMRF", options, data, sensitivity, **asked)
