"""Progress of chains: on a terminal a bar for each, or one for all that run until their draws are good."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from ..names import shown
from ..progress import TICK, Lines, compilation, meanwhile, terminal

SHOWN = ("n_groups",)  # fields of Info that are shown on the line of a chain


class Watched(Protocol):
    """Progress of running chains: the number of steps and the last Info of each, by name if it is of a worker."""

    steps: list[int]
    latest: list[Any]
    plan: Any  # with n_steps, n_warmup and thin; its steps are more after a look at the draws
    outlook: Any  # `bayesmrf.runs.stopping.Expected`, after the first look at the draws of a run until good


def chain_bars(
    watched: Watched, chains: Sequence[int], progress: bool, is_stored: bool = False, looks: Sequence[int] = ()
) -> AbstractContextManager[Any]:
    """Show the progress of ``chains`` in a context.

    On a terminal each has a bar with draws per second, the time left and `SHOWN` fields. ``is_stored`` says whether the
    run has a checkpoint. Chains that run until their draws are good, which ``looks`` at numbers of draws tell, have one
    bar: the share of quantities that are good, what is waited for, and between which times the run is likely to end.
    """
    if not progress or not chains:
        return nullcontext()
    console, plan = terminal(), watched.plan
    what = f"{len(chains)} chain{'s' if len(chains) > 1 else ''}"
    what += f" until good, at most {looks[-1]:,} draws each" if looks else f" of {plan.n_steps:,} steps"
    ends = [_steps_of(watched, chains, n) for n in [*looks[1:2], *looks[-1:]]]
    total = None if looks else len(chains) * plan.n_steps
    lines = Lines(what, total, _done(watched, chains), _remedy(is_stored), ends, console=console)
    if console is None:
        return _ticking(lines, watched, chains)
    return _bar_until_good(lines, watched, chains, console) if looks else _bars(lines, watched, chains, console)


def _bars(lines: Lines, watched: Watched, chains: Sequence[int], console: Any) -> Any:
    """Return a bar for each chain."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    plan = watched.plan

    class ChainBars(Progress):
        """Lines that show the progress of the chains."""

        def get_renderables(self) -> Iterable[Any]:
            for task in self.tasks:
                chain = task.fields["chain"]
                done, info = watched.steps[chain], watched.latest[chain]
                values = info if isinstance(info, dict) else {} if info is None else info._asdict()
                self.update(
                    task.id,
                    completed=done,
                    phase=(info is None and compilation()) or ("warm-up" if done < plan.n_warmup else "draws"),
                    speed=f"{(task.speed or 0) / (1 if done < plan.n_warmup else plan.thin):.3g}/s",
                    extra=" ".join(f"{k}={v:g}" for k, v in values.items() if k in SHOWN),
                )
            _tick(lines, watched, chains)
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
        bars.add_task("", total=plan.n_steps, completed=watched.steps[chain], chain=chain, phase="", speed="", extra="")
    return bars


def _bar_until_good(lines: Lines, watched: Watched, chains: Sequence[int], console: Any) -> Any:
    """Return the bar of a run until good."""
    from rich.progress import BarColumn, Progress, TextColumn

    class Bar(Progress):
        """One line: how much is good, what is waited for, how many draws there are, and the time left."""

        def get_renderables(self) -> Iterable[Any]:
            _tick(lines, watched, chains)
            done = min(watched.steps[chain] for chain in chains)
            draws, expected = max(0, done - watched.plan.n_warmup) // watched.plan.thin, watched.outlook
            is_compiling = all(watched.latest[chain] is None for chain in chains) and compilation()
            phase = is_compiling or ("warm-up" if not draws else "draws")
            state = f"{draws:,} draws of {len(chains)} chain{'s' if len(chains) > 1 else ''}"
            if expected is not None:
                phase = f"{int(100 * expected.outlook.share)} % of the quantities are good"
                wait = expected.outlook.waits_for if expected.outlook.short else "a second look"
                state += f"; waiting for {shown(wait)}" if wait else ""
            left = lines.left(_done(watched, chains))
            share = None if expected is None else expected.outlook.share
            for task in self.tasks:
                self.update(
                    task.id,
                    completed=share or 0.0,
                    total=None if share is None else 1.0,
                    phase=phase,
                    state="; ".join(filter(None, (state, left))),
                )
            yield from super().get_renderables()

    phase, state = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("phase", "state"))
    bar = Bar(phase, BarColumn(), state, console=console)
    bar.add_task("", total=None, phase="", state="")
    return bar


@contextmanager
def _ticking(lines: Lines, watched: Watched, chains: Sequence[int]) -> Iterator[None]:
    """Look at the chains from a thread."""

    def look(ended: threading.Event) -> None:
        while not ended.wait(TICK):
            _tick(lines, watched, chains)

    with meanwhile(look):
        yield


def _tick(lines: Lines, watched: Watched, chains: Sequence[int]) -> None:
    is_warm = min(watched.steps[chain] for chain in chains) >= watched.plan.n_warmup
    if lines.ends and watched.outlook is not None:
        lines.ends = [_steps_of(watched, chains, n) for n in (watched.outlook.least, watched.outlook.most)]
    lines.tick(_done(watched, chains), None if lines.ends else len(chains) * watched.plan.n_steps, is_warm)


def _steps_of(watched: Watched, chains: Sequence[int], n_draws: int) -> int:
    """Return the steps of all chains for so many draws of each."""
    return len(chains) * (watched.plan.n_warmup + watched.plan.thin * n_draws)


def _done(watched: Watched, chains: Sequence[int]) -> int:
    return sum(watched.steps[chain] for chain in chains)


def _remedy(is_stored: bool) -> str:
    stop = "Ctrl-C stops it, and it can be continued later" if is_stored else (
        "Ctrl-C ends it with the draws so far; with a checkpoint it could be continued later")  # fmt: skip
    return f"{stop}. Fewer draws, another method or another engine may take less time"
