"""The command ``bayesmrf structure``: which edges exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..families import families_of
from ..methods import EDGES
from . import common
from .common import Binarize, Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight


def structure(
    context: typer.Context,
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False, "
            "ordered levels with --model ordinal or --binarize, any levels with --model potts; empty where a value is "
            "missing. May be compressed (.csv.gz).",
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
        str,
        typer.Option(
            metavar="|".join(EDGES.names),
            help="one-edge lets edges of any strength come and go; exact does so without error, for some twenty nodes, "
            "or few candidates; particle is for --model ordinal and potts on any graph; langevin is the published "
            "algorithm, in which weak edges alone come and go.",
        ),
    ] = "one-edge",
    model: Annotated[
        str,
        typer.Option(
            metavar="|".join(families_of("SpikeSlabMRF").names),
            help="Coding of the parameters: weights and biases over 0/1; couplings and fields over -1/+1; logits of "
            "agreements, and fields; nodes with many states, in order (ordinal) or not (potts), with --method exact or "
            "particle.",
        ),
    ] = "boltzmann",
    density: Annotated[
        str,
        typer.Option(metavar="A,B|P0", help="Beta prior of the share of candidates that exist, or its fixed value."),
    ] = "1,1",
    slab: Annotated[
        str | None,
        typer.Option(
            metavar="cauchy:SCALE|normal:SCALE|SHAPE,RATE",
            help="Prior of the weights of edges that exist: Cauchy or normal with a fixed scale, or normal with a "
            "Gamma prior of the precision. [dim]\\[default: cauchy:1; ising: cauchy:0.25; agreement, potts: cauchy:0.5]"
            "[/dim]",
        ),
    ] = None,
    bias_scale: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of the normal prior of a node's parameter. "
            "[dim]\\[default: 10; ising, agreement: 5][/dim]"
        ),
    ] = None,
    binarize: Binarize = None,
    n_particles: Annotated[
        int | None, typer.Option(help="Persistent chains behind each moment. [dim]\\[default: the method's][/dim]")
    ] = None,
    n_sweeps: Annotated[
        int | None, typer.Option(help="Gibbs sweeps between two uses of them. [dim]\\[default: the method's][/dim]")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Step of Langevin dynamics, in posterior sds. [dim]\\[default: the method's][/dim]"),
    ] = None,
    momentum: Annotated[
        float | None,
        typer.Option(help="Share of the momentum that is kept. [dim]\\[default: the method's][/dim]"),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(help="Half width of langevin's jumps, in sds of a weight. [dim]\\[default: the method's][/dim]"),
    ] = None,
    n_iterations: Annotated[
        int | None, typer.Option(help="Iterations in a step. [dim]\\[default: the method's][/dim]")
    ] = None,
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
    """Find out which edges exist, and how strong they are.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..answers import to_binary
    from ..estimators.edge_prior import default_prior
    from ..priors import Beta, read_slab
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(answers)}.zarr")
    console = common.new_console(quiet)
    p0 = common.number_or_prior("--density", density, Beta, "a number, or A,B, such as 0.2 or 5,5")
    run = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": n_chains, "thin": thin, "n_jobs": n_jobs}
    common.checked("SpikeSlabMRF", model=model, **run)
    own = {"n_particles": n_particles, "n_sweeps": n_sweeps, "epsilon": epsilon, "momentum": momentum, "width": width}
    changed = {"density": p0} | ({} if slab is None else {"slab": read_slab(slab)})
    changed |= {} if bias_scale is None else {"bias_scale": bias_scale}
    prior = replace(default_prior(families_of("SpikeSlabMRF").read(model)), **changed)
    chosen = common.own_options(EDGES, method, n_iterations=n_iterations, **own)
    options = {"model": model, "prior": prior, "method": chosen, **run}
    common.check_out(out, overwrite)
    table, weights = read_votes(answers, weight, drop or (), missing_code or ())
    many = families_of("SpikeSlabMRF").row(model).many_states
    if not many or binarize is not None:
        table = to_binary(answers, table, binarize, "--model ordinal --method particle")
    edges = common.edges_of(candidates, [str(c) for c in table.columns], console, "--candidates")

    from ..estimators import SpikeSlabMRF
    from ..store import Checkpoint
    from ..summary import StructureSummary
    from .show import show

    estimator = SpikeSlabMRF(
        candidates=edges,
        **options,
        random_state=seed,
        progress=not quiet,
        checkpoint=Checkpoint(out, overwrite),
    )
    instead = f"--method {'particle' if many else 'one-edge'}"
    tree = common.sample(estimator, table, weights, answers, out, console, instead=instead)
    asked = {"candidates": candidates} | ({"binarize": binarize.strip()} if binarize else {})
    common.finish(tree, out, answers, context.obj, **asked)
    show(StructureSummary(tree), console)
    common.point_to_report(out, console)
