"""The command ``bayesmrf calibrate``: whether intervals and inclusions hold what they claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import common


def calibrate(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="A result, whose model, prior and options are those of the fits; without one, structure's defaults.",
        ),
    ] = None,
    n: Annotated[int, typer.Option(help="Rows of a table, of all groups together; people of a panel.")] = 200,
    nodes: Annotated[int, typer.Option(help="Columns.")] = 5,
    levels: Annotated[int, typer.Option(help="Levels of each column: 2 for yes/no, more for ordered answers.")] = 2,
    groups: Annotated[int, typer.Option(help="Groups of people, of a result of compare.")] = 2,
    waves: Annotated[int, typer.Option(help="Waves of each person, of a result of panel.")] = 4,
    replicates: Annotated[int, typer.Option(help="Simulated tables.")] = 200,
    out: Annotated[
        Path, typer.Option(help="Folder of the page, the tables and the replicates; the same command goes on there.")
    ] = Path("calibrate"),
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    n_jobs: Annotated[
        int | None,
        typer.Option(help="Processes; -1: one for each core, -2: leave one free.", show_default="one for each core"),
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a dask cluster.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Simulate whether posteriors are calibrated: truths from the prior, tables from these, and where fits put them."""
    from ..estimators.calibration import calibrate as simulate
    from ..estimators.spike_slab import SpikeSlabMRF
    from ..report.planning import write_calibration

    common.check_folder(out)
    with common.scheduler(cluster) as client:
        found = simulate(
            SpikeSlabMRF() if run is None else common.finished(run),
            n,
            nodes=nodes,
            levels=levels,
            groups=groups,
            waves=waves,
            replicates=replicates,
            folder=out,
            random_state=seed,
            n_jobs=n_jobs,
            executor=client,
            progress=not quiet,
        )
    found.frame.to_csv(out / "calibration.csv", index=False)
    if len(found.inclusion):
        found.inclusion.to_csv(out / "inclusion.csv", index=False)
    common.show_study(found.table, write_calibration(found, out / "calibration.html"), quiet)
