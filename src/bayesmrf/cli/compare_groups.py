"""The command ``bayesmrf compare``: do the networks of several groups of people differ?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..methods import COMPARISONS
from . import common
from .flags import BINARIZE, CANDIDATES, SENSITIVITY, SLAB, Run, command, method_flag, model_flag, observations
from .method_flags import flag
from .pair_table import read_pairs


@command
def compare(
    table: Path = observations(
        "ANSWERS.csv",
        "0/1, -1/+1 or True/False, or ordered levels; empty where a value is missing",
    ),
    by: str = flag("Column with the label of each row's group.", "COLUMN", ...),
    candidates: str = flag(f"Edges that may have a weight: {CANDIDATES}", "complete|EDGES.csv", "complete"),
    method: str = method_flag(COMPARISONS, "exact if that is cheap, else reversible-jump"),
    model: str = model_flag("CompareMRF", "boltzmann"),
    density: str = flag(
        "Beta prior of the share of edges that differ, or its fixed value; or a file with the probability of each "
        "pair, as a square matrix or as lines of two columns and a number: 0 forbids, and 1 forces.",
        "A,B|P0|FILE.csv",
        "0.5",
    ),
    slab: str = flag(
        "Prior of the differences that are not 0: Cauchy, moment (which is 0 at 0) or normal with a fixed scale, "
        "Cauchy with a Gamma prior of the scale, or normal with one of the precision.",
        SLAB,
        "cauchy:1",
    ),
    baseline: str = flag(
        "Prior of the weight of an edge, averaged over groups: --slab for every edge; or --slab and a spike, so that "
        "edges may be absent, with a share of its own that is uniform.",
        "slab|spike-slab",
        "slab",
    ),
    biases: str = flag(
        "Whether the parameters of nodes are free in each group; or have differences, with the prior --slab; or may "
        "differ or not, as edges.",
        "free|slab|spike-slab",
        "free",
    ),
    bias_scale: float = flag(
        "Standard deviation of the normal prior of a node's parameter in each group.", default=10.0
    ),
    binarize: str | None = BINARIZE,
    sensitivity: bool = SENSITIVITY,
    *,
    own: Annotated[dict[str, Any], COMPARISONS],
    run: Run,
) -> None:
    """Find out in which edges the networks of two or more groups of people differ, and by how much."""
    from ..estimators import CompareMRF
    from ..priors import SpikeSlab, read_slab
    from ..results.summary import DifferenceSummary

    out = run.path(run.out, "_run")
    options = common.checked(CompareMRF, baseline=baseline, biases=biases)
    common.checked(CompareMRF, model=model, **run.options)
    p0, prior = common.density(density), replace(SpikeSlab(), slab=read_slab(slab), bias_scale=bias_scale)
    options["method"] = common.own_options(COMPARISONS, method, own)
    common.check_out(out, run.overwrite)
    data, family = run.read_coded(model, binarize, "CompareMRF", by)
    prior = replace(prior, density=read_pairs(p0, data[0].columns))
    edges = run.edges(data[0], candidates, "--candidates")

    asked = {"candidates": candidates, "by": by} | ({"binarize": binarize.strip()} if binarize else {})
    estimator = run.estimator(CompareMRF, out, model=family.name, candidates=edges, prior=prior, **options)
    run.show(DifferenceSummary(run.sample(estimator, out, data, sensitivity, **asked)), out)
