"""The command ``bayesmrf groups``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import common
from .common import Chains, Draws, Drop, Jobs, Overwrite, Quiet, Seed, Thin, Warmup, Weight


class Method(StrEnum):
    """Samplers of groups."""

    auto = "auto"
    tree = "tree"
    exact = "exact"
    particle = "particle"
    auxiliary_variable = "auxiliary-variable"
    stripped_beta = "stripped-beta"


class Inner(StrEnum):
    """How auxiliary-variable draws its particles."""

    gibbs = "gibbs"
    exact = "exact"


def groups(
    context: typer.Context,
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False. "
            "May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[str, typer.Option(metavar="EDGES.csv|complete|learn:K", help=common.GRAPH_HELP)],
    fields: Annotated[
        bool,
        typer.Option("--fields", help="Give each node a field of its own: wanted where yes and no differ in number."),
    ] = False,
    method: Annotated[
        Method,
        typer.Option(help="tree needs a forest, exact a narrow graph; particle and stripped-beta (rough) take any."),
    ] = Method.auto,
    alpha: Annotated[
        str,
        typer.Option(metavar="ALPHA|SHAPE,RATE", help="Concentration of the Dirichlet process, or its Gamma prior."),
    ] = "1.0",
    base: Annotated[str, typer.Option(metavar="A,B", help="Base distribution Beta(A, B) of an agreement.")] = "1,1",
    draws: Draws = 3000,
    warmup: Warmup = 500,
    chains: Chains = 4,
    thin: Thin = 1,
    inner: Annotated[Inner, typer.Option(help="Particles of auxiliary-variable.")] = Inner.gibbs,
    weight: Weight = None,
    drop: Drop = None,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result, kept as it grows. [dim]\\[default: VOTES.zarr][/dim]"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the groups of edges that share a parameter.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(votes)}.zarr")
    console = common.new_console(quiet)
    sizes = common.check_sizes(draws, warmup, chains, thin)
    prior = {
        "alpha": common.numbers("--alpha", alpha, (1, 2), "a number, or SHAPE,RATE, is wanted, such as 1.0 or 2,4"),
        "base": common.numbers("--base", base, (2,), "two numbers A,B are wanted, such as 1,1"),
    }
    common.announce(out, overwrite, console)
    table, weights = read_votes(votes, weight, drop or ())
    edges = common.edges_of(graph, [str(c) for c in table.columns], console)

    from ..estimators import GroupedMRF
    from ..summary import GroupedSummary
    from .show import show

    estimator = GroupedMRF(
        graph=edges,
        method=method.value,
        alpha=prior["alpha"] if len(prior["alpha"]) == 2 else prior["alpha"][0],
        base=prior["base"],
        fields=fields,
        **sizes,
        inner=inner.value,
        random_state=seed,
        n_jobs=jobs,
        progress=not quiet,
        checkpoint=out,
        overwrite=overwrite,
    )
    tree = common.sample(estimator, table, weights, votes, out, instead="--method stripped-beta")
    common.finish(tree, out, votes, context.obj, graph=graph)
    show(GroupedSummary(tree), console)
    common.point_to_report(out, console)
