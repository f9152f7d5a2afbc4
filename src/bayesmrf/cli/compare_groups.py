"""The command ``bayesmrf compare``: do the networks of several groups of people differ?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..families import families_of
from . import common
from .common import Binarize, Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight


def compare(
    context: typer.Context,
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False, or "
            "ordered levels with --binarize or --model ordinal; empty where a value is missing. May be compressed "
            "(.csv.gz).",
        ),
    ],
    by: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the label of each row's group.")],
    candidates: Annotated[
        str,
        typer.Option(
            metavar="complete|EDGES.csv",
            help="Edges that may have a weight: all pairs, or two columns, the ends of each (column names, or numbers "
            "from 0).",
        ),
    ] = "complete",
    model: Annotated[
        str,
        typer.Option(
            metavar="|".join(families_of("CompareMRF").names),
            help="Weights and biases of yes/no columns; or weights and thresholds of ordered levels.",
        ),
    ] = "boltzmann",
    density: Annotated[
        str,
        typer.Option(metavar="A,B|P0", help="Beta prior of the share of edges that differ, or its fixed value."),
    ] = "0.5",
    slab: Annotated[
        str,
        typer.Option(
            metavar="cauchy:SCALE|normal:SCALE|SHAPE,RATE",
            help="Prior of the differences that are not 0: Cauchy or normal with a fixed scale, or normal with a Gamma "
            "prior of the precision.",
        ),
    ] = "cauchy:1",
    baseline: Annotated[
        str,
        typer.Option(
            metavar="slab|spike-slab",
            help="Whether every edge has a weight, averaged over groups, with the prior --slab; or may have none.",
        ),
    ] = "slab",
    biases: Annotated[
        str,
        typer.Option(
            metavar="free|spike-slab",
            help="Whether the parameters of nodes are free in each group, or may differ or not, as edges.",
        ),
    ] = "free",
    bias_scale: Annotated[
        float, typer.Option(help="Standard deviation of the normal prior of a node's parameter in each group.")
    ] = 10.0,
    binarize: Binarize = None,
    n_draws: Draws = 1000,
    n_warmup: Warmup = 500,
    n_chains: Chains = 4,
    thin: Thin = 1,
    weight: Weight = None,
    drop: Drop = None,
    missing_code: MissingCode = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result, kept as it grows. [dim]\\[default: ANSWERS.zarr][/dim]"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find out in which edges the networks of two or more groups of people differ, and by how much.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..answers import to_binary
    from ..priors import Beta, SpikeSlab, read_slab
    from ..tables import read_by_group

    out = out or Path(f"{common.stem_of(answers)}.zarr")
    console = common.new_console(quiet)
    p0 = common.number_or_prior("--density", density, Beta, "a number, or A,B, such as 0.2 or 5,5")
    run: dict[str, Any] = {
        "n_draws": n_draws,
        "n_warmup": n_warmup,
        "n_chains": n_chains,
        "thin": thin,
        "n_jobs": n_jobs,
    }
    common.checked("CompareMRF", model=model, baseline=baseline, biases=biases, **run)
    prior = replace(SpikeSlab(), density=p0, slab=read_slab(slab), bias_scale=bias_scale)
    common.check_out(out, overwrite)
    table, weights, groups = read_by_group(answers, by, weight, drop or (), missing_code or ())
    if model == "boltzmann" or binarize is not None:
        table = to_binary(answers, table, binarize, "--model ordinal")
    edges = common.edges_of(candidates, [str(c) for c in table.columns], console, "--candidates")

    from ..estimators import CompareMRF
    from ..store import Checkpoint
    from ..summary import DifferenceSummary
    from .show import show

    estimator = CompareMRF(
        candidates=edges,
        model=model,
        prior=prior,
        baseline=baseline,
        biases=biases,
        **run,
        random_state=seed,
        progress=not quiet,
        checkpoint=Checkpoint(out, overwrite),
    )
    tree = common.sample(estimator, table, weights, answers, out, console, instead="fewer columns", groups=groups)
    asked = {"candidates": candidates, "by": by} | ({"binarize": binarize.strip()} if binarize else {})
    common.finish(tree, out, answers, context.obj, **asked)
    show(DifferenceSummary(tree), console)
    common.point_to_report(out, console)
