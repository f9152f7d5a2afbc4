"""Progress on standard error: on a terminal a bar for each chain, or for other long work; elsewhere a line a minute.

A run of hours says so, and what can be done, as soon as its first steps allow an estimate. A separate thread reads the
progress, so that it does not slow the chains.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from .compiled import compiling
from .names import shown

T = TypeVar("T")

SILENT = 2.0  # seconds of work before the first step of chains, after which it is said
FIRST = 10.0  # seconds before the first line: quick runs have none
EVERY = 60.0  # seconds between two lines
LONG = 3600.0  # seconds of a run that is announced
_BASIS, _SURE = 5.0, 15.0  # seconds of work from which the time left is estimated, and a run of hours announced
_STEPS = 10  # at least, from which the time of a step is measured where there are more
_TICK = 1.0  # seconds between two looks at the chains
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
    console, plan = _console(), watched.plan
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
    if not progress:
        yield from items
        return
    console = _console()
    if console is None:
        if total is None and isinstance(items, Sized):
            total = len(items)
        lines = Lines(description, total)
        for done, item in enumerate(items):
            lines.tick(done)
            yield item
        return
    from rich.progress import Progress, TimeElapsedColumn

    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console) as bar:
        yield from bar.track(items, total=total, description=description)


class Lines:
    """Lines about long work: how much is done, and how long the rest will take.

    The first comes after `FIRST` seconds, the next as soon as the time left can be estimated, and then one in `EVERY`
    seconds. The estimate begins with the first step that is seen, as compilation comes before it, which is told at
    once; and again with the first draw, as steps of the warm-up may be shorter.

    Parameters
    ----------
    what : str
        The work.
    total, done : int
        Number of steps, if it is known, and of those that an earlier run made.
    remedy : str
        What can be done about a run of hours.
    ends : sequence of int
        Smallest and largest number of steps after which work may end that goes on until its result is good.
    console : rich.console.Console, optional
        Terminal with a bar, on which only a run of hours is told.
    say : callable
        Prints a line.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self,
        what: str,
        total: int | None,
        done: int = 0,
        remedy: str = "",
        ends: Sequence[int] = (),
        *,
        console: Any = None,
        say: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.total, self.remedy, self.has_bar, self.clock = what, total, remedy, console is not None, clock
        self.say = say or partial(_print, console=console)
        self.began, self.ends = clock(), list(ends)
        self.is_moving, self.is_announced, self.is_compiling, self.is_warm, self.is_sure = (False,) * 5
        self.pace: float | None = None  # seconds of a step
        self.marks = [(done, self.began)]  # steps that were done at times, each twice as long after the first
        self.due = self.began + FIRST

    def tick(self, done: int, total: int | None = None, is_warm: bool = False) -> None:
        """Print a line if one is due after ``done`` steps, of so many if there are more than before."""
        now, self.total = self.clock(), total or self.total
        self._time(done, now, is_warm)
        left, longest = self.left(done), self._left(max(self.total or 0, *self.ends, 0) - done) or 0.0
        if not (self.is_moving or self.is_compiling or self.has_bar) and (phase := compilation()):
            self.is_compiling = True
            self.say(f"{self.what}: {phase}")
        elif left and self.is_sure and longest >= LONG and self.remedy and not self.is_announced:
            self.is_announced, self.due = True, now + EVERY
            self.say(f"{self._state(done)}, {left}. {self.remedy}")
        elif now >= self.due and not self.has_bar and done != self.total:
            self.due = now + EVERY
            self.say(f"{self._state(done)}, {left or f'{span(now - self.began)} so far'}")

    def _state(self, done: int) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.what}: {(not self.is_moving and compilation()) or f'{done:,}{of} done'}"

    def left(self, done: int) -> str:
        """Return the time left, from the least to the most if it depends on the draws; empty while it is not known."""
        ends = self.ends or ([] if self.total is None else [self.total])
        left = [self._left(max(end - done, 0)) for end in ends]
        known = list(dict.fromkeys(span(seconds) for seconds in left if seconds is not None))
        if not known:
            return ""
        return f"{known[0]} to {known[-1]} left" if len(known) > 1 else f"about {known[0]} left"

    def _time(self, done: int, now: float, is_warm: bool) -> None:
        """Measure the seconds of a step, over the last third to three quarters of the time: first steps may be slow."""
        if (done > self.marks[0][0] and not self.is_moving) or (is_warm and not self.is_warm):
            self.is_moving = self.is_moving or done > self.marks[0][0]
            self.is_warm, self.marks = is_warm, [(done, now)]
        elapsed = now - self.marks[0][1]
        if now - self.marks[-1][1] >= max(_BASIS, elapsed / 2):
            self.marks.append((done, now))
        recent = (m for m in self.marks[::-1] if now - m[1] >= max(_BASIS, elapsed / 3) and done - m[0] >= _STEPS)
        at, since = next(recent, self.marks[0])
        if done > at and now - since >= _BASIS:
            self.pace = (now - since) / (done - at)
            self.is_sure = self.is_sure or elapsed >= _SURE

    def _left(self, steps: int) -> float | None:
        """Return the seconds of steps; None while they are not known."""
        return None if self.pace is None else steps * self.pace


@contextmanager
def announced(work: str, progress: bool) -> Iterator[None]:
    """Show what work goes on in a context, and for how long: on a terminal at once, on a line that goes when it ends.

    Elsewhere there is a line if it takes more than `SILENT` seconds, and then one in `EVERY` seconds.
    """
    if not progress:
        yield
        return
    began, console = time.monotonic(), _console()
    line = None if console is None or console.is_jupyter else _status(console, work)

    def state() -> str:
        return f"{work}: {compilation() or span(time.monotonic() - began) + ' so far'}"

    def say(ended: threading.Event) -> None:
        wait = _TICK if line is not None else SILENT
        while not ended.wait(wait):
            if line is not None:
                line.update(state())
            else:
                _print(state(), None)
                wait = EVERY

    try:
        with _meanwhile(say):
            yield
    finally:
        if line is not None:
            line.stop()


def _status(console: Any, work: str) -> Any:
    """Return a started line of a terminal; None where another display is live, which old versions of rich refuse."""
    from rich.errors import LiveError

    line = console.status(work)
    try:
        line.start()
    except LiveError:
        return None
    return line


@contextmanager
def _meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Call a function in a thread; its event is set at the end, for which it is waited."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), name="bayesmrf-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def compilation() -> str:
    """Return how far compilation is, empty if nothing is compiled."""
    counts = compiling()
    return f"compiling ({counts[0]} of {counts[1]})" if counts else ""


def span(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 72 * 3600 else f"{seconds / 86400:.0f} days"


@contextmanager
def _ticking(lines: Lines, watched: Watched, chains: Sequence[int]) -> Iterator[None]:
    """Look at the chains from a thread."""

    def look(ended: threading.Event) -> None:
        while not ended.wait(_TICK):
            _tick(lines, watched, chains)

    with _meanwhile(look):
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


def _print(text: str, console: Any) -> None:
    """Print a line, above the bars of a terminal."""
    if console is None:
        print(text, file=sys.stderr, flush=True)
    else:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _console() -> Any:
    """Return Rich's console on standard error, None if it is no terminal (for rich, FORCE_COLOR and notebooks are)."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:  # without ipywidgets rich has a warning in place of bars
        return None if find_spec("ipywidgets") is None else console
    return console if console.is_terminal else None
