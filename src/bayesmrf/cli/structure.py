"""The command ``bayesmrf structure``: which edges exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..errors import OptionError
from ..methods import EDGES
from . import common
from .flags import BINARIZE, CANDIDATES, SENSITIVITY, SLAB, Run, command, method_flag, model_flag, observations
from .method_flags import flag
from .pair_table import read_pairs


@command
def structure(
    table: Path = observations(
        "ANSWERS.csv",
        "0/1, -1/+1 or True/False, or ordered levels; any levels with --model potts; empty where a value is missing",
    ),
    candidates: str = flag(f"Edges that may exist: {CANDIDATES}", "complete|EDGES.csv", "complete"),
    method: str = method_flag(
        EDGES,
        "exact for up to 16 yes/no columns or eight of five levels, else reversible-jump",
    ),
    model: str = model_flag("SpikeSlabMRF", "boltzmann"),
    density: str | None = flag(
        "Beta prior of the share of candidates that exist, or its fixed value; or a file with the probability of "
        "each pair, as a square matrix or as lines of two columns and a number: 0 forbids, and 1 forces.",
        "A,B|P0|FILE.csv",
        shown="1,1",
    ),
    blocks: str | None = flag(
        "In place of --density: blocks of nodes, which are learnt, each pair of which has its own share of edges; the "
        "prior of the blocks is a mixture of finite mixtures, or a Dirichlet process.",
        "mixture|process",
    ),
    slab: str | None = flag(
        "Prior of the weights of edges that exist: Cauchy, moment (which is 0 at 0) or normal with a fixed scale, "
        "Cauchy with a Gamma prior of the scale, or normal with one of the precision.",
        SLAB,
        shown="cauchy:1; ising: cauchy:0.25; agreement, potts: cauchy:0.5",
    ),
    bias_scale: float | None = flag(
        "Standard deviation of the normal prior of a node's parameter.", shown="10; ising, agreement: 5"
    ),
    binarize: str | None = BINARIZE,
    sensitivity: bool = SENSITIVITY,
    *,
    own: Annotated[dict[str, Any], EDGES],
    run: Run,
) -> None:
    """Find out which edges exist, and how strong they are."""
    from ..estimators import SpikeSlabMRF
    from ..estimators.edge_prior import default_prior
    from ..priors import Blocks, read_slab
    from ..results.summary import StructureSummary

    out = run.path(run.out, "_run")
    common.checked(SpikeSlabMRF, model=model, **run.options)
    if blocks is not None and density is not None:
        expected = "omitted with --blocks"
        raise OptionError(option="density", got=density, expected=expected, remedy="blocks have densities of their own")
    p0 = common.density(density or "1,1") if blocks is None else Blocks(blocks)
    changed: dict[str, Any] = {} if slab is None else {"slab": read_slab(slab)}
    changed |= {} if bias_scale is None else {"bias_scale": bias_scale}
    chosen = common.own_options(EDGES, method, own)
    common.check_out(out, run.overwrite)
    data, family = run.read_coded(model, binarize, "SpikeSlabMRF")
    changed["density"] = read_pairs(p0, data[0].columns)
    options = {"model": family.name, "prior": replace(default_prior(family.options()), **changed), "method": chosen}
    edges = run.edges(data[0], candidates, "--candidates")

    asked = {"candidates": candidates} | ({"binarize": binarize.strip()} if binarize else {})
    tree = run.sample(run.estimator(SpikeSlabMRF, out, candidates=edges, **options), out, data, sensitivity, **asked)
    run.show(StructureSummary(tree), out)
