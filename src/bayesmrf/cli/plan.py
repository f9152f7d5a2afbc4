"""The command ``bayesmrf plan``: how many people a study needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError
from . import common


def plan(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A result of structure or compare, whose draws are the networks."),
    ] = None,
    n: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of people, of all groups together.")
    ] = "100,250,500,1000",
    nodes: Annotated[int, typer.Option(help="Columns of a random network, if no RUN is given.")] = 10,
    levels: Annotated[
        int, typer.Option(help="Its levels: 2 for yes/no, more for ordered answers; if no RUN is given.")
    ] = 2,
    density: Annotated[float, typer.Option(help="Share of its pairs that have an edge, if no RUN is given.")] = 0.2,
    weight: Annotated[float, typer.Option(help="Log odds ratio of its edges, if no RUN is given.")] = 0.8,
    difference: Annotated[
        float | None,
        typer.Option(
            help="If no RUN is given: two groups differ by so much in a fifth of its pairs, which are to be found."
        ),
    ] = None,
    replicates: Annotated[int, typer.Option(help="Simulated tables of each number of people.")] = 50,
    out: Annotated[
        Path, typer.Option(help="Folder of the page, the table and the replicates; the same command goes on there.")
    ] = Path("plan"),
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    n_jobs: Annotated[
        int | None,
        typer.Option(help="Processes; -1: one for each core, -2: leave one free.", show_default="one for each core"),
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a dask cluster.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Simulate how many people it takes to find the edges of a network, or the differences between two groups."""
    from ..estimators.planning import plan as simulate
    from ..report.planning import write_plan

    try:
        sizes = [int(part) for part in n.split(",")]
    except ValueError:
        expected = "integers with commas between them, such as 100,250,500"
        raise OptionError(option="--n", got=n, expected=expected) from None
    common.check_folder(out)
    with common.scheduler(cluster) as client:
        found = simulate(
            None if run is None else common.finished(run),
            sizes,
            nodes=nodes,
            levels=levels,
            density=density,
            weight=weight,
            difference=difference,
            replicates=replicates,
            folder=out,
            random_state=seed,
            n_jobs=n_jobs,
            executor=client,
            progress=not quiet,
        )
    found.frame.to_csv(out / "plan.csv", index=False)
    common.show_study(found.table, write_plan(found, out / "plan.html"), quiet)
