"""A kernel for the tests of the loop, in a module of its own: each worker imports it, and little else."""

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesmrf.runs.stopping import Outlook


class Memory(NamedTuple):
    counts: np.ndarray
    last: float


class State(NamedTuple):
    values: np.ndarray  # changes its length
    table: np.ndarray
    memory: Memory | None
    steps: int
    half: np.float32
    label: str


class Info(NamedTuple):
    x: float
    n_groups: int
    groups: np.ndarray
    odd: bool


class Walk:
    """A random walk in as many dimensions as it pleases, which forgets nothing of what it has to remember."""

    name = "walk"
    dims = {"x": (), "n_groups": (), "groups": ("edge",), "odd": ()}  # noqa: RUF012

    sleep = 0.0

    def init(self, rng):
        return State(rng.normal(size=3), np.asfortranarray(rng.normal(size=(9, 8))), None, 0, np.float32(1), "start")

    def step(self, rng, state):
        if self.sleep:
            time.sleep(self.sleep)
        memory, values = state.memory, state.values + rng.normal(size=len(state.values))
        if rng.random() < 0.3:
            values = np.append(values, rng.standard_normal(dtype=np.float32)) if len(values) < 4 else values[:-2]
        if rng.random() < 0.2:
            memory = None if memory else Memory(np.zeros(3, np.uint32), np.nan)
        if memory is not None:
            memory.counts[rng.integers(3, dtype=np.int32)] += 1  # in place, and half a word of the generator
            memory = memory._replace(last=float(rng.random()))
        table = np.asfortranarray(state.table + 0.1 * (state.table @ rng.normal(size=(8, 8))))
        table /= np.abs(state.table).sum()  # added up in the order of memory
        x = values.sum() + table.sum() + float(state.half) + (0 if memory is None else memory.last)
        new = State(values, table, memory, state.steps + 1, np.float32(state.half * 0.999), f"step {state.steps}")
        return new, Info(x, len(values), rng.integers(5, size=4, dtype=np.int32), bool(new.steps % 2))


class Fails(Walk):
    name = "fails"


class Drift(Walk):
    name = "drift"

    def __init__(self, data, alpha):
        self.data, self.alpha = data, alpha


def like(kernel, **changes):
    """A kernel of the same name as another class, so that a checkpoint takes the one for the other."""
    names = {"__module__": kernel.__module__, "__qualname__": kernel.__qualname__}
    return type(kernel.__name__, (kernel,), names | changes)()


def slow(seconds):
    """The walk, with a pause in each step."""
    return like(Walk, sleep=seconds)


def fails(at, error):
    """A walk that fails in one step."""

    def step(self, rng, state):
        if state.steps == at:
            raise error
        return Walk.step(self, rng, state)

    return like(Fails, step=step)


OPTIONS = {"n_draws": 40, "n_warmup": 7, "thin": 3, "n_chains": 3, "progress": False}


def equal(a, b):
    """Whether two runs are the same to the last bit."""
    return a.values.keys() == b.values.keys() and all(
        a.values[k].dtype == b.values[k].dtype and a.values[k].tobytes() == b.values[k].tobytes() for k in a.values
    )


def seed_of(rng):
    return int(rng.integers(2**32))


class Traced(Walk):
    """The walk, which writes down where its steps are made; one chain kills its workers in step 50, some times."""

    def __init__(self, folder, pause=0.0, kills=0):
        self.walk = Walk()  # in whose module the class of the State is
        self.folder, self.pause, self.kills = str(folder), pause, kills

    def step(self, rng, state):
        time.sleep(self.pause)
        if state.steps == 50 and self.kills > killed(self.folder) and self.is_first(state):
            Path(self.folder, f"killed-{time.time_ns()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        Path(self.folder, f"process-{os.getpid()}").touch()
        return super().step(rng, state)

    def is_first(self, state):
        """Whether this chain was the first that came here."""
        first, mine = Path(self.folder, "first"), state.table.tobytes()
        try:
            with first.open("xb") as file:
                file.write(mine)
        except FileExistsError:
            pass
        return first.read_bytes() == mine


def killed(folder):
    return len(list(Path(folder).glob("killed-*")))


class Failing(Traced):
    """The walk, of which the third chain that comes to step 60 fails, until the file "mended" is there."""

    def step(self, rng, state):
        folder = Path(self.folder)
        if state.steps == 60 and not (folder / "mended").exists():
            if len(list(folder.glob("came-*"))) == 2:
                raise FloatingPointError("theta is not finite")
            (folder / f"came-{time.time_ns()}").touch()
        return super().step(rng, state)


class Slow(Traced):
    """The walk, slow until the file "enough" is there."""

    def step(self, rng, state):
        return Walk.step(self, rng, state) if Path(self.folder, "enough").exists() else super().step(rng, state)


class Autoregressive:
    """Ten parameters whose draws have a known autocorrelation."""

    name = "autoregressive"
    dims = {"theta": ("feature",)}  # noqa: RUF012

    def __init__(self, phi):
        self.phi = phi

    def init(self, rng):
        return Theta(rng.standard_normal(10))

    def step(self, rng, state):
        new = Theta(self.phi * state.theta + np.sqrt(1 - self.phi**2) * rng.standard_normal(10))
        return new, new


class Theta(NamedTuple):
    theta: np.ndarray


def error_of_groups(draws):
    """What draws of the walk are short of, whose groups are independent: an error of their mean of 0.03."""
    found = draws.values["groups"].std() / draws.values["groups"].size ** 0.5
    return Outlook("" if found < 0.03 else f"error {found:.3f}")
