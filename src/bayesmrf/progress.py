"""Progress on standard error: on a terminal a bar or a line for long work; elsewhere a line a minute.

A run of hours says so, and what can be done, as soon as its first steps allow an estimate. A separate thread reads the
progress, so that it does not slow the work.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

from .compiled import compiling

T = TypeVar("T")

SILENT = 2.0  # seconds of work before the first step of chains, after which it is said
FIRST = 10.0  # seconds before the first line: quick runs have none
EVERY = 60.0  # seconds between two lines
LONG = 3600.0  # seconds of a run that is announced
_BASIS, _SURE = 5.0, 15.0  # seconds of work from which the time left is estimated, and a run of hours announced
_STEPS = 10  # at least, from which the time of a step is measured where there are more
TICK = 1.0  # seconds between two looks at the chains


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
    console = terminal()
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


class Work:
    """Work that goes on: its name, the part that is being done, and the seconds of each part that is done."""

    def __init__(self, name: str) -> None:
        self.name, self.part, self.began = name, "", time.monotonic()
        self.seconds: dict[str, float] = {}
        self._part_began = self.began

    def begin(self, part: str) -> None:
        """End the present part, and begin the next."""
        now = time.monotonic()
        if self.part:
            self.seconds[self.part] = self.seconds.get(self.part, 0.0) + now - self._part_began
        self.part, self._part_began = part, now

    def took(self) -> str:
        """Return the seconds of the work, and of its longest parts; "" if it was quick."""
        longest = sorted(self.seconds.items(), key=lambda item: -item[1])[:3]
        parts = ", ".join(f"{part} {span(seconds)}" for part, seconds in longest if seconds >= 1)
        total = time.monotonic() - self.began
        return f"{span(total)}: {parts}" if parts and total >= SILENT else ""

    def __str__(self) -> str:
        part = f" ({self.part})" if self.part else ""
        return f"{self.name}{part}: {compilation() or span(time.monotonic() - self.began) + ' so far'}"


_WORK: ContextVar[Work | None] = ContextVar("bayesmrf_work", default=None)


def begin_part(part: str) -> None:
    """Say which part of the work of `announced` begins, such as a section of a page."""
    if (work := _WORK.get()) is not None:
        work.begin(part)


@contextmanager
def announced(name: str, progress: bool) -> Iterator[Work]:
    """Show what work goes on in a context, and for how long: on a terminal at once, on a line that goes when it ends.

    Elsewhere there is a line if it takes more than `SILENT` seconds, and then one in `EVERY` seconds.
    """
    work = Work(name)
    token = _WORK.set(work)
    try:
        with _shown(work) if progress else nullcontext():
            yield work
        work.begin("")
    finally:
        _WORK.reset(token)


@contextmanager
def _shown(work: Work) -> Iterator[None]:
    """Show work from a thread."""
    console = terminal()
    line = None if console is None or console.is_jupyter else _status(console, work.name)

    def say(ended: threading.Event) -> None:
        wait = TICK if line is not None else SILENT
        while not ended.wait(wait):
            if line is not None:
                line.update(str(work))
            else:
                _print(str(work), None)
                wait = EVERY

    try:
        with meanwhile(say):
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
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
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


def _print(text: str, console: Any) -> None:
    """Print a line, above the bars of a terminal."""
    if console is None:
        print(text, file=sys.stderr, flush=True)
    else:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def terminal() -> Any:
    """Return Rich's console on standard error, None if it is no terminal (for rich, FORCE_COLOR and notebooks are)."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:  # without ipywidgets rich has a warning in place of bars
        return None if find_spec("ipywidgets") is None else console
    return console if console.is_terminal else None
