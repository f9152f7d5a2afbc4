"""The command ``bayesmrf groups``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from ..families import families_of
from ..methods import GROUPS
from . import common
from .common import Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight


def groups(
    context: typer.Context,
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES.csv",
            help="Table with one row per observation and one column per node, named in the first line; 0/1, -1/+1 or "
            "True/False, or any levels with --model potts or symmetric. May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[
        str | None,
        typer.Option(metavar="EDGES.csv|complete|learn:K", help=f"{common.GRAPH_HELP} Or give --candidates."),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="EDGES.csv|complete", help="Instead of --graph: edges that may exist or be absent."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="|".join(families_of("GroupedMRF").names),
            help="agreement: yes/no answers; potts: many levels, one parameter per edge; symmetric: many levels, one "
            "table per edge.",
        ),
    ] = "agreement",
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
            help="Whether each node has its own field; without fields, yes and no must be equally frequent. "
            "[dim]\\[default: fields][/dim]",
            show_default=False,
        ),
    ] = None,
    field_groups: Annotated[
        bool,
        typer.Option("--field-groups", help="Find groups of nodes that share a field, as for edges."),
    ] = False,
    density: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|P0",
            help="Beta prior of the share of candidates that exist, or its fixed value; with --graph, its edges may be "
            "absent. [dim]\\[default: 5,5 with --candidates][/dim]",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="|".join(["auto", *GROUPS.names]),
            help="tree needs a forest, exact a narrow graph; particle and stripped-beta (rough) take any graph.",
        ),
    ] = "auto",
    n_particles: Annotated[
        int | None, typer.Option(help="Particles of particle. [dim]\\[default: depends on the data][/dim]")
    ] = None,
    inner: Annotated[
        str | None,
        typer.Option(metavar="gibbs|exact", help="State sampler of auxiliary-variable. [dim]\\[default: gibbs][/dim]"),
    ] = None,
    n_sweeps: Annotated[
        int | None, typer.Option(help="Gibbs sweeps of auxiliary-variable per state. [dim]\\[default: 50][/dim]")
    ] = None,
    n_proposals: Annotated[
        int | None, typer.Option(help="Proposals of auxiliary-variable per edge. [dim]\\[default: 5][/dim]")
    ] = None,
    n_walk: Annotated[
        int | None, typer.Option(help="Random walk steps of auxiliary-variable. [dim]\\[default: 100][/dim]")
    ] = None,
    sigma_q: Annotated[
        float | None, typer.Option(help="Standard deviation of this random walk. [dim]\\[default: 0.001][/dim]")
    ] = None,
    restart: Annotated[
        bool | None,
        typer.Option(
            "--restart/--no-restart",
            help="Whether this random walk restarts at the tied estimate. [dim]\\[default: restart][/dim]",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        str,
        typer.Option(metavar="ALPHA|SHAPE,RATE", help="Concentration of the Dirichlet process, or its Gamma prior."),
    ] = "1.0",
    base: Annotated[str, typer.Option(metavar="A,B", help="Base distribution Beta(A, B) of an agreement.")] = "1,1",
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
        typer.Option(help="Folder for the result, written during the run. [dim]\\[default: VOTES.zarr][/dim]"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the groups of edges that share a parameter; with --candidates, also which edges exist.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..priors import Beta, DirichletProcess, Gamma, Normal
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(votes)}.zarr")
    console = common.new_console(quiet)
    run = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": n_chains, "thin": thin, "n_jobs": n_jobs}
    common.checked("GroupedMRF", **run)
    common.checked("GroupedMRF", model=model)
    spike = candidates is not None or density is not None
    p0 = common.number_or_prior("--density", density or "5,5", Beta, "a number, or A,B, such as 0.2 or 5,5")
    concentration = common.number_or_prior("--alpha", alpha, Gamma, "a number, or SHAPE,RATE, such as 1.0 or 2,4")
    found = common.beta("--base", base)
    if prior_scale is not None and model != "symmetric":
        expected = "omitted without --model symmetric"
        raise OptionError(option="prior_scale", got=prior_scale, expected=expected)
    if model == "symmetric":
        common.check({"prior_scale": 1.0 if prior_scale is None else prior_scale})
        found = Normal(1.0 if prior_scale is None else prior_scale)
    own: dict[str, Any] = {"n_particles": n_particles, "inner": inner, "n_sweeps": n_sweeps, "n_proposals": n_proposals}
    own |= {"n_walk": n_walk, "sigma_q": sigma_q, "restart": restart}
    options = {
        "prior": DirichletProcess(concentration, found, p0 if spike else None),
        "method": _method(method, own),
        **run,
    }
    if graph is None and candidates is None:
        remedy = "--candidates complete finds which edges exist"
        raise OptionError(option="graph", expected="given unless --candidates is", remedy=remedy)
    if graph is not None and candidates is not None:
        raise OptionError(option="graph", got=graph, expected="omitted with --candidates")
    if field_groups and fields is False:
        raise OptionError(option="--no-fields", got=True, expected="omitted with --field-groups")
    common.check_out(out, overwrite)
    table, weights = read_votes(votes, weight, drop or (), missing_code or ())
    names = [str(c) for c in table.columns]
    if graph is not None:
        edges = {"graph": common.edges_of(graph, names, console)}
    else:
        edges = {"candidates": common.edges_of(str(candidates), names, console, "--candidates")}

    from ..estimators import GroupedMRF
    from ..store import Checkpoint
    from ..summary import GroupedSummary
    from .show import show

    estimator = GroupedMRF(
        **edges,
        model=model,
        fields="grouped" if field_groups else fields is not False,
        **options,
        random_state=seed,
        progress=not quiet,
        checkpoint=Checkpoint(out, overwrite),
    )
    instead = "particle" if spike or field_groups or model != "agreement" else "stripped-beta"
    tree = common.sample(estimator, table, weights, votes, out, console, instead=f"--method {instead}")
    common.finish(tree, out, votes, context.obj, **{"candidates" if spike else "graph": graph or candidates})
    show(GroupedSummary(tree), console)
    common.point_to_report(out, console)


def _method(name: str, own: dict[str, Any]) -> Any:
    """Return the options of a method; for "auto", which has none, its name."""
    if name != "auto":
        return common.own_options(GROUPS, name, **own)
    for option, value in own.items():
        if value is not None:
            raise OptionError(option=option, got=value, expected="omitted with --method auto", remedy="give a method")
    return name
