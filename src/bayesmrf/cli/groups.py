"""The command ``bayesmrf groups``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError
from . import common
from .common import Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight


class Method(StrEnum):
    """Samplers of groups."""

    auto = "auto"
    tree = "tree"
    exact = "exact"
    particle = "particle"
    auxiliary_variable = "auxiliary-variable"
    stripped_beta = "stripped-beta"


class Model(StrEnum):
    """What edges have."""

    agreement = "agreement"
    potts = "potts"
    symmetric = "symmetric"


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
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False, or "
            "any levels with --model potts or symmetric. May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[
        str | None,
        typer.Option(metavar="EDGES.csv|complete|learn:K", help=f"{common.GRAPH_HELP} Required without --spike."),
    ] = None,
    model: Annotated[
        Model,
        typer.Option(
            help="agreement: yes/no answers; potts: many levels, a parameter an edge; symmetric: many levels, a whole "
            "table an edge."
        ),
    ] = Model.agreement,
    prior_scale: Annotated[
        float | None,
        typer.Option(
            help="With --model symmetric, prior standard deviation of the log potentials. [dim]\\[default: 1.0][/dim]"
        ),
    ] = None,
    fields: Annotated[
        bool | None,
        typer.Option(
            "--fields/--no-fields",
            help="Whether each node has a field of its own; without, yes and no must be equally frequent. "
            "[dim]\\[default: fields][/dim]",
            show_default=False,
        ),
    ] = None,
    field_groups: Annotated[
        bool,
        typer.Option("--field-groups", help="Give nodes fields that groups of them share, found as those of edges."),
    ] = False,
    spike: Annotated[
        bool,
        typer.Option(
            "--spike", help="Let edges be absent: find which exist, of all pairs or of --candidate, and their groups."
        ),
    ] = False,
    candidate: Annotated[
        str | None,
        typer.Option(
            metavar="all|EDGES.csv", help="With --spike, edges that may exist. [dim]\\[default: all, or --graph][/dim]"
        ),
    ] = None,
    density: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|P0",
            help="With --spike, Beta prior of the share of candidates that exist, or its fixed value. "
            "[dim]\\[default: 5,5][/dim]",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(help="tree needs a forest, exact a narrow graph; particle and stripped-beta (rough) take any."),
    ] = Method.auto,
    alpha: Annotated[
        str,
        typer.Option(metavar="ALPHA|SHAPE,RATE", help="Concentration of the Dirichlet process, or its Gamma prior."),
    ] = "1.0",
    base: Annotated[str, typer.Option(metavar="A,B", help="Base distribution Beta(A, B) of an agreement.")] = "1,1",
    n_draws: Draws = 3000,
    n_warmup: Warmup = 500,
    n_chains: Chains = 4,
    thin: Thin = 1,
    inner: Annotated[Inner, typer.Option(help="Particles of auxiliary-variable.")] = Inner.gibbs,
    weight: Weight = None,
    drop: Drop = None,
    missing_code: MissingCode = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result, kept as it grows. [dim]\\[default: VOTES.zarr][/dim]"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the groups of edges that share a parameter; with --spike, which edges exist as well.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(votes)}.zarr")
    console = common.new_console(quiet)
    options = common.checked(
        "GroupedMRF",
        n_draws=n_draws,
        n_warmup=n_warmup,
        n_chains=n_chains,
        thin=thin,
        n_jobs=n_jobs,
        alpha=common.numbers("--alpha", alpha, (1, 2), "a number, or SHAPE,RATE, such as 1.0 or 2,4"),
        base=common.numbers("--base", base, (2,), "two numbers A,B, such as 1,1"),
        density=common.numbers("--density", density or "5,5", (1, 2), "a number, or A,B, such as 0.2 or 5,5"),
        prior_scale=1.0 if prior_scale is None else prior_scale,
    )
    _check_edges(graph, candidate, density, spike)
    if field_groups and fields is False:
        raise OptionError("--no-fields: --field-groups was given too; give one of them.")
    if prior_scale is not None and model is not Model.symmetric:
        raise OptionError("--prior-scale: it came without --model symmetric, whose tables it is about")
    common.check_out(out, overwrite)
    table, weights = read_votes(votes, weight, drop or (), missing_code or ())
    names = [str(c) for c in table.columns]
    if graph is not None:
        edges = {"graph": common.edges_of(graph, names, console)}
    else:
        edges = {"candidate": common.edges_of(candidate or "all", names, console, "--candidate")}

    from ..estimators import GroupedMRF
    from ..summary import GroupedSummary
    from .show import show

    estimator = GroupedMRF(
        **edges,
        method=method.value,
        model=model.value,
        fields="grouped" if field_groups else fields is not False,
        spike=spike,
        **options,
        inner=inner.value,
        random_state=seed,
        progress=not quiet,
        checkpoint=out,
        overwrite=overwrite,
    )
    instead = "particle" if spike or field_groups or model is not Model.agreement else "stripped-beta"
    tree = common.sample(estimator, table, weights, votes, out, console, instead=f"--method {instead}")
    asked = {"candidates" if spike else "graph": graph or candidate or "all"}
    common.finish(tree, out, votes, context.obj, **asked)
    show(GroupedSummary(tree), console)
    common.point_to_report(out, console)


def _check_edges(graph: str | None, candidate: str | None, density: str | None, spike: bool) -> None:
    """Refuse options about edges that do not go together."""
    if graph is None and candidate is None and not spike:
        raise OptionError(
            "--graph: nothing came; give EDGES.csv, complete or learn:K, or --spike to find which edges exist"
        )
    if graph is not None and candidate is not None:
        raise OptionError("--candidate: it came beside --graph; give one of them")
    for flag, given in (("--candidate", candidate), ("--density", density)):
        if given is not None and not spike:
            raise OptionError(f"{flag}: it came without --spike, which lets edges be absent; give it too")
