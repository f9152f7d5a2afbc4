"""The command ``bayesmrf structure``: which edges exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..errors import OptionError
from ..methods import EDGES
from ..parameters import SpikeSlabParameters
from . import common
from .field_flags import flag
from .flags import BINARIZE, SENSITIVITY, command, density_flag, observations, slab_flag
from .pair_table import read_pairs
from .records import Run


@command
def structure(
    table: Path = observations(
        "ANSWERS.csv",
        "0/1, -1/+1 or True/False, or ordered levels; any levels with --model potts; empty where a value is missing",
    ),
    *,
    flags: Annotated[dict[str, Any], SpikeSlabParameters],
    density: str | None = density_flag("candidates that exist", None, shown="1,1"),
    blocks: str | None = flag(
        "In place of --density: blocks of nodes, which are learnt, each pair of which has its own share of edges; the "
        "prior of the blocks is a mixture of finite mixtures, or a Dirichlet process.",
        "mixture|process",
    ),
    slab: str | None = slab_flag(
        "weights of edges that exist", None, shown="cauchy:1; ising: cauchy:0.25; agreement, potts: cauchy:0.5"
    ),
    bias_scale: float | None = flag(
        "Standard deviation of the normal prior of a node's parameter.", shown="10; ising, agreement: 5"
    ),
    binarize: str | None = BINARIZE,
    sensitivity: bool = SENSITIVITY,
    of_method: Annotated[dict[str, Any], EDGES],
    run: Run,
) -> None:
    """Find out which edges exist, and how strong they are."""
    from ..estimators.edge_prior import default_prior
    from ..priors import Blocks, read_slab

    if blocks is not None and density is not None:
        expected = "omitted with --blocks"
        raise OptionError(option="density", got=density, expected=expected, remedy="blocks have densities of their own")
    p0 = common.density(density or "1,1") if blocks is None else Blocks(blocks)
    changed: dict[str, Any] = {} if slab is None else {"slab": read_slab(slab)}
    changed |= {} if bias_scale is None else {"bias_scale": bias_scale}
    options = run.settle(SpikeSlabParameters, flags | {"method": common.own_options(EDGES, flags["method"], of_method)})
    data, family = run.read_coded(flags["model"], binarize, "SpikeSlabMRF")
    prior = replace(default_prior(family.options()), density=read_pairs(p0, data[0].columns), **changed)
    asked = {"candidates": flags["candidates"], "binarize": binarize and binarize.strip()}
    run.fit("SpikeSlabMRF", options | {"model": family.name, "prior": prior}, data, sensitivity, **asked)
