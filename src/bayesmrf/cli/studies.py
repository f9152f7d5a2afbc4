"""The commands ``bayesmrf plan`` and ``bayesmrf calibrate``: studies of simulated tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ..errors import OptionError
from . import common
from .field_flags import flag
from .flags import command

_OUT = "replicates; the same command goes on there."


@dataclass
class Study:
    """Options of every study."""

    seed: int = flag("Seed.", default=0, min=0)
    n_jobs: int | None = flag("Processes; -1: one for each core, -2: leave one free.", shown="one for each core")
    cluster: str | None = flag("Scheduler of a dask cluster.", "ADDRESS")
    quiet: bool = flag("Print nothing but errors.", None, False, "--quiet")

    def simulate(self, function: Callable[..., Any], out: Path, *setting: Any, **options: Any) -> Any:
        """Return the result of a study, whose replicates are kept in a folder."""
        from ..runs.workers import connect

        common.check_folder(out)
        client: Any = connect(self.cluster) if self.cluster else None
        how = {"random_state": self.seed, "n_jobs": self.n_jobs, "executor": client, "progress": not self.quiet}
        try:
            return function(*setting, **options, folder=out, **how)
        finally:
            if client is not None:
                client.close()

    def show(self, table: Any, page: Path) -> None:
        """Print the table of a study, and where its page is."""
        from .show import show_table

        console = common.new_console(self.quiet)
        show_table(table, table.narrow, console)
        console.print(f"The page is {page}", soft_wrap=True)


@command
def plan(
    run: Path | None = typer.Argument(
        None, metavar="[RUN]", help="A result of structure or compare, whose draws are the networks."
    ),
    n: str = flag("Numbers of people, of all groups together.", "N,N,...", "100,250,500,1000"),
    nodes: int = flag("Columns of a random network, if no RUN is given.", default=10),
    levels: int = flag("Its levels: 2 for yes/no, more for ordered answers; if no RUN is given.", default=2),
    density: float = flag("Share of its pairs that have an edge, if no RUN is given.", default=0.2),
    weight: float = flag("Log odds ratio of its edges, if no RUN is given.", default=0.8),
    difference: float | None = flag(
        "If no RUN is given: two groups differ by so much in a fifth of its pairs, which are to be found."
    ),
    replicates: int = flag("Simulated tables of each number of people.", default=50),
    out: Path = flag(f"Folder of the page, the table and the {_OUT}", default=Path("plan")),
    *,
    study: Study,
) -> None:
    """Simulate how many people it takes to find the edges of a network, or the differences between two groups."""
    from ..answers.study.shown import write_plan
    from ..estimators.planning import plan as simulate

    try:
        sizes = [int(part) for part in n.split(",")]
    except ValueError:
        expected = "integers with commas between them, such as 100,250,500"
        raise OptionError(option="--n", got=n, expected=expected) from None
    network = {"nodes": nodes, "levels": levels, "density": density, "weight": weight, "difference": difference}
    source = None if run is None else common.finished(run)
    result = study.simulate(simulate, out, source, sizes, **network, replicates=replicates)
    result.frame.to_csv(out / "plan.csv", index=False)
    study.show(result.table, write_plan(result, out / "plan.html"))


@command
def calibrate(
    run: Path | None = typer.Argument(
        None,
        metavar="[RUN]",
        help="A result, whose model, prior and options are those of the fits; without one, structure's defaults.",
    ),
    n: int = flag("Rows of a table, of all groups together; people of a panel.", default=200),
    nodes: int = flag("Columns.", default=5),
    levels: int = flag("Levels of each column: 2 for yes/no, more for ordered answers.", default=2),
    groups: int = flag("Groups of people, of a result of compare.", default=2),
    waves: int = flag("Waves of each person, of a result of panel.", default=4),
    replicates: int = flag("Simulated tables.", default=200),
    out: Path = flag(f"Folder of the page, the tables and the {_OUT}", default=Path("calibrate")),
    *,
    study: Study,
) -> None:
    """Simulate whether posteriors are calibrated: truths from the prior, tables from these, and where fits put them."""
    from ..answers.study.shown import write_calibration
    from ..estimators import SpikeSlabMRF
    from ..estimators.calibration import calibrate as simulate

    sizes = {"nodes": nodes, "levels": levels, "groups": groups, "waves": waves, "replicates": replicates}
    result = study.simulate(simulate, out, SpikeSlabMRF() if run is None else common.finished(run), n, **sizes)
    result.frame.to_csv(out / "calibration.csv", index=False)
    if len(result.inclusion):
        result.inclusion.to_csv(out / "inclusion.csv", index=False)
    study.show(result.table, write_calibration(result, out / "calibration.html"))
