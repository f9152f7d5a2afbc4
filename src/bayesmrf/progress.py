"""Progress bars on standard error: one line a chain for sampling, one line for other long work.

Nothing is shown if standard error is not a terminal. A separate thread reads the progress, so that bars do not slow the
chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

SHOWN = ("n_groups",)  # fields of Info that are shown on the line of a chain


class Watched(Protocol):
    """Progress of running chains: the number of steps and the last Info of each."""

    steps: list[int]
    latest: list[Any]


def chain_bars(
    watched: Watched, chains: Sequence[int], n_warmup: int, n_steps: int, thin: int, progress: bool
) -> AbstractContextManager[Any]:
    """Show a line for each of ``chains`` with draws per second, the time left and `SHOWN` fields, in a context."""
    console = _console() if progress else None
    if console is None:
        return nullcontext()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    class ChainBars(Progress):
        """Lines that show the progress of the chains."""

        def get_renderables(self) -> Iterable[Any]:
            for task in self.tasks:
                chain = task.fields["chain"]
                done, info = watched.steps[chain], watched.latest[chain]
                found = {} if info is None else info._asdict()
                self.update(
                    task.id,
                    completed=done,
                    phase="warm-up" if done < n_warmup else "draws",
                    speed=f"{(task.speed or 0) / (1 if done < n_warmup else thin):.3g}/s",
                    extra=" ".join(f"{k}={v:g}" for k, v in found.items() if k in SHOWN),
                )
            yield from super().get_renderables()

    bars = ChainBars(
        TextColumn("chain {task.fields[chain]} {task.fields[phase]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[extra]}"),
        console=console,
    )
    for chain in chains:
        bars.add_task("", total=n_steps, completed=watched.steps[chain], chain=chain, phase="", speed="", extra="")
    return bars


def track(items: Iterable[T], description: str, total: int | None = None, progress: bool = True) -> Iterator[T]:
    """Iterate over ``items`` with one line of progress.

    Parameters
    ----------
    items : iterable
        The items.
    description : str
        Text before the bar.
    total : int, optional
        Number of items if ``items`` has no length.
    progress : bool
        False shows nothing.
    """
    console = _console() if progress else None
    if console is None:
        yield from items
        return
    from rich.progress import Progress, TimeElapsedColumn

    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console) as bar:
        yield from bar.track(items, total=total, description=description)


def _console() -> Any:
    """Return Rich's console on standard error, None if it is not a terminal (rich treats FORCE_COLOR as one)."""
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal or console.is_jupyter else None
