"""The command ``bayesmrf structure``: which edges exist."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import common
from .common import Binarize, Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight


class Method(StrEnum):
    """Samplers of edges."""

    one_edge = "one-edge"
    exact = "exact"
    langevin = "langevin"


def structure(
    context: typer.Context,
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False, or "
            "ordered levels with --binarize; empty where a value is missing. May be compressed (.csv.gz).",
        ),
    ],
    candidates: Annotated[
        str,
        typer.Option(
            metavar="complete|EDGES.csv",
            help="Edges that may exist: all pairs, or two columns, the ends of each (column names, or numbers from 0).",
        ),
    ] = "complete",
    method: Annotated[
        Method,
        typer.Option(
            help="one-edge lets edges of any strength come and go; exact does so without error, for some twenty nodes, "
            "or few candidates; langevin is the published algorithm, in which weak edges alone come and go."
        ),
    ] = Method.one_edge,
    density: Annotated[
        str,
        typer.Option(metavar="A,B|P0", help="Beta prior of the share of candidates that exist, or its fixed value."),
    ] = "1,1",
    slab: Annotated[
        str,
        typer.Option(
            metavar="cauchy:SCALE|normal:SCALE|SHAPE,RATE",
            help="Prior of the weights of edges that exist: Cauchy or normal with a fixed scale, or normal with a "
            "Gamma prior of the precision.",
        ),
    ] = "cauchy:1",
    bias_scale: Annotated[float, typer.Option(help="Standard deviation of the normal prior of a bias.")] = 10.0,
    binarize: Binarize = None,
    particles: Annotated[
        int | None, typer.Option(help="Persistent chains behind each moment. [dim]\\[default: the method's][/dim]")
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Gibbs sweeps between two uses of them. [dim]\\[default: the method's][/dim]")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Step of Langevin dynamics, in posterior sds. [dim]\\[default: the method's][/dim]"),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Share of its momentum that is kept. [dim]\\[default: the method's][/dim]"),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(help="Half width of langevin's jumps, in sds of a weight. [dim]\\[default: the method's][/dim]"),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Iterations in a step. [dim]\\[default: the method's][/dim]")
    ] = None,
    draws: Draws = 3000,
    warmup: Warmup = 500,
    chains: Chains = 4,
    thin: Thin = 1,
    weight: Weight = None,
    drop: Drop = None,
    missing_code: MissingCode = None,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result, kept as it grows. [dim]\\[default: ANSWERS.zarr][/dim]"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find out which edges exist, and how strong they are.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..answers import to_binary
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(answers)}.zarr")
    console = common.new_console(quiet)
    options = common.checked(
        "SpikeSlabMRF",
        density=common.numbers("--density", density, (1, 2), "a number, or A,B, such as 0.2 or 5,5"),
        slab=slab,
        bias_scale=bias_scale,
        n_particles=particles,
        n_sweeps=sweeps,
        epsilon=epsilon,
        alpha=alpha,
        width=width,
        n_iterations=iterations,
        n_draws=draws,
        n_warmup=warmup,
        n_chains=chains,
        thin=thin,
        n_jobs=jobs,
    )
    common.check_out(out, overwrite)
    table, weights = read_votes(answers, weight, drop or (), missing_code or ())
    table = to_binary(answers, table, binarize)
    edges = common.edges_of(candidates, [str(c) for c in table.columns], console, "--candidates")

    from ..estimators import SpikeSlabMRF
    from ..summary import StructureSummary
    from .show import show

    estimator = SpikeSlabMRF(
        candidates=edges,
        method=method.value,
        **options,
        random_state=seed,
        progress=not quiet,
        checkpoint=out,
        overwrite=overwrite,
    )
    tree = common.sample(estimator, table, weights, answers, out, console, instead="--method one-edge")
    asked = {"candidates": candidates} | ({"binarize": binarize.strip()} if binarize else {})
    common.finish(tree, out, answers, context.obj, **asked)
    show(StructureSummary(tree), console)
    common.point_to_report(out, console)
