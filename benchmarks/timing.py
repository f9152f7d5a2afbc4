"""Arguments, the name of the machine, alternating runs, time by stage, and tables."""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

LEAST = 0.01  # seconds of a turn


class Seconds(NamedTuple):
    """Wall time, and processor time of all threads: equal for one thread on an idle machine."""

    wall: float
    cpu: float


def arguments(text: str, parts: Iterable[str] = (), **options: int | str) -> argparse.Namespace:
    """Read the command line: names of parts (all by default), one part (``one``, for child processes), options."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    if parts := list(parts):
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(parts)}; all by default")
        parser.add_argument("--one", choices=parts, help=argparse.SUPPRESS)
    for name, default in options.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help="(default %(default)s)")
    args = parser.parse_args()
    if parts:
        if unknown := set(args.names) - set(parts):
            parser.error(f"NAME must be one of {', '.join(parts)}, got {', '.join(unknown)}")
        args.names = args.names or parts
    return args


def peak() -> float:
    """Return the peak resident memory of this process, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


@contextmanager
def stages(places: Mapping[str, Iterable[tuple[Any, str]]]) -> Iterator[dict[str, float]]:
    """Measure processor time by stage, while open; a stage is the functions of these names in these modules."""
    spent = dict.fromkeys(places, 0.0)

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[stage] += time.process_time() - begin

        return call

    with ExitStack() as stack:
        for stage, functions in places.items():
            for module, name in functions:
                stack.enter_context(mock.patch.object(module, name, timed(stage, getattr(module, name))))
        yield spent


def machine() -> str:
    """Return the line above every table."""
    names = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "bayesmrf"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} processors ({platform.machine()}){load}, Python {platform.python_version()}, {names}"


def clock(call: Callable[[], object], times: int = 1) -> Seconds:
    begin = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    return Seconds(time.perf_counter() - begin[0], time.process_time() - begin[1])


def median(found: list[Seconds]) -> Seconds:
    return Seconds(*np.median(found, axis=0).tolist())


def turns(calls: Mapping[str, Callable[[], object]], n_turns: int, rng: np.random.Generator) -> dict[str, Seconds]:
    """Return the median times of each call, after a first call that is not counted.

    The calls alternate in random order, so that other work slows all equally; short ones are repeated within a turn.
    """
    found: dict[str, list[Seconds]] = {name: [] for name in calls}
    repeats = {}
    for name, call in calls.items():
        call()
        repeats[name] = max(1, int(LEAST / clock(call).cpu))
    for _ in range(n_turns):
        for name in rng.permutation(list(calls)):
            whole = clock(calls[name], repeats[name])
            found[name].append(Seconds(whole.wall / repeats[name], whole.cpu / repeats[name]))
    return {name: median(times) for name, times in found.items()}


def duration(s: float) -> str:
    """Format a time with three significant digits in a suitable unit."""
    unit, size = next(((unit, size) for unit, size, least in _UNITS if s >= least), ("us", 1e-6))
    return f"{s / size:.3g} {unit}"


_UNITS = [("h", 3600, 7200), ("min", 60, 200), ("s", 1, 0.9995), ("ms", 1e-3, 0.9995e-3)]


def table(*rows: tuple[str, ...]) -> str:
    """Format columns below a head, the first left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells))
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
