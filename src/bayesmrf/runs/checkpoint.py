"""A run on disk: a folder that stays valid if the process is killed at any moment.

Layout::

    run/record.json                                 content of the folder: a checkpoint with its settings, or results
    run/checkpoint/chain_0/2-9f3a06c1.claim       of the second process that had the chain
    run/checkpoint/chain_0/2-9f3a06c1.json        its commit record, which names the files of State and draws
    run/checkpoint/chain_0/2-9f3a06c1-draws-3.npz the draws between two commits, never changed again
    run/checkpoint/chain_0/2-9f3a06c1-state-1.npz State and generator, in two places in turn

A commit writes the new draws and then the State next to the previous one; it becomes valid by its record, which is
replaced atomically. Incomplete files are in no record and are written again. Records contain the checksums of files.

Each process that opens a chain claims it with the next generation number, and the newest generation with a record is
the one that is read. A lock can be taken over while its holder is suspended: when the holder wakes up it finds a newer
claim and stops at its next commit. If it was suspended within a commit, that commit is part of its own generation, and
changes no file of the newer one.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..declare.rule import MOST_CHAINS
from ..errors import StoreError, argument
from ..rng import described_sequence, generator_from_array
from .identity import checksum, difference
from .lock import LEASE, hold
from .sealed import as_written, damaged, read_arrays, read_record, write_arrays, write_record
from .state_spec import flatten, unflatten
from .store import CHECKPOINT, OVERWRITE, RESULTS, clear, is_ours, read_kind, read_settings, write_marker

UNTIL_GOOD = "until_good"  # a setting of runs without a number of draws
_MAY_GROW = ("n_draws", UNTIL_GOOD)  # settings that are no part of the identity of a run
_CHECKPOINT = argument("checkpoint")
_GENERATION = re.compile(r"[0-9]{1,9}-[0-9a-f]{8}")
_NAME = re.compile(rf"{_GENERATION.pattern}-(draws|state)-[0-9]+\.npz")


class Position(NamedTuple):
    """State of a chain at its last commit."""

    steps: int
    state: Any
    generator: np.ndarray


class ChainStore:
    """The commits of one chain.

    Parameters
    ----------
    folder : Path
        The folder of this chain alone.
    chain : int
        Index of the chain.
    run : str
        The checksum of its run. Both are part of each commit, so a folder of another chain is refused.
    modules : collection of str
        Names of modules in which the classes of a State may be defined (`bayesmrf.runs.state_spec.flatten`).
    """

    def __init__(self, folder: Path, chain: int, run: str, modules: Collection[str]) -> None:
        self.folder, self.whose, self.modules = folder, {"run": run, "chain": chain}, modules
        self.record: dict[str, Any] = {"steps": 0, "state": ["", ""], "draws": [], "run_time": 0.0}
        self.due = 0.0
        self.generation = ""
        self.n_commits = 0

    def claim(self) -> None:
        """Begin a generation: processes that had the chain before write no more."""
        newest = _newest(self.folder, "claim")
        self.generation = f"{int(newest.partition('-')[0] or 0) + 1}-{secrets.token_hex(4)}"
        (self.folder / f"{self.generation}.claim").touch(exist_ok=False)

    def load(self) -> Position | None:
        """Read the last commit; None before the first."""
        file = committed(self.folder)
        if file is None:
            return None
        with as_written(self.folder):
            record = read_record(file)
            if {name: record[name] for name in self.whose} != self.whose:
                raise damaged(self.folder, "its commits belong to another chain or run; it was copied or renamed")
            if type(record["steps"]) is not int or not 0 <= record["run_time"] < np.inf:
                raise ValueError
            arrays = self._read(*record["state"])
            state, generator = unflatten(record["spec"], arrays, self.modules), arrays["generator"]
            generator_from_array(generator)
            self.record = record
        return Position(record["steps"], state, generator)

    def load_draws(self) -> list[dict[str, np.ndarray]]:
        """Read the draws of all commits, in their order."""
        with as_written(self.folder):
            return [self._read(*piece) for piece in self.record["draws"]]

    def commit(
        self, steps: int, state: Any, generator: np.ndarray, draws: Mapping[str, np.ndarray], run_time: float
    ) -> None:
        """Store the ``draws`` since the last commit, the State after ``steps`` steps, and the generator."""
        began = time.monotonic()
        arrays: dict[str, np.ndarray] = {"generator": generator}
        spec = flatten(state, "state", arrays, self.modules)
        pieces, previous = list(self.record["draws"]), self.record["state"][0]
        try:
            if _newest(self.folder, "claim") != self.generation:
                raise StoreError(f"{_CHECKPOINT}: {self.folder} was taken over by another process, while this one was "
                                 "suspended or could not reach the disk; let the other one finish")  # fmt: skip
            if any(len(a) for a in draws.values()):
                pieces.append(self._write(f"draws-{len(pieces)}", draws))
            record = self.whose | {
                "steps": steps,
                "state": self._write(f"state-{self.n_commits % 2}", arrays),
                "spec": spec,
                "draws": pieces,
                "run_time": run_time,
            }
            write_record(self.folder / f"{self.generation}.json", record)
            if previous and not previous.startswith(self.generation):
                (self.folder / previous).unlink(missing_ok=True)
        except OSError as e:
            raise StoreError(f"{_CHECKPOINT}: cannot write {self.folder} ({e}); make room on the disk and call again: "
                             "the run continues from its last commit") from e  # fmt: skip
        self.record, self.n_commits, now = record, self.n_commits + 1, time.monotonic()
        self.due = now + pause(run_time, now - began)

    def _write(self, what: str, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """Write arrays; return the name and the checksum of the file."""
        name = f"{self.generation}-{what}.npz"
        return [name, write_arrays(self.folder / name, arrays)]

    def _read(self, name: str, digest: str) -> dict[str, np.ndarray]:
        """Invert `_write`."""
        if not _NAME.fullmatch(name):
            raise ValueError
        return read_arrays(self.folder / name, digest)


def _newest(folder: Path, suffix: str) -> str:
    """Return the newest generation that has a file of this kind; "" if there is none."""
    names = [p.stem for p in (folder.iterdir() if folder.is_dir() else ()) if p.suffix == f".{suffix}"]
    return max(filter(_GENERATION.fullmatch, names), key=lambda name: (int(name.partition("-")[0]), name), default="")


def committed(folder: Path) -> Path | None:
    """Return the newest commit record of a chain; None before the first."""
    newest = _newest(folder, "json")
    return folder / f"{newest}.json" if newest else None


def pause(run_time: float, cost: float) -> float:
    """Return the seconds until the next commit: a kill may lose 2 % of a long run, which commits may take."""
    return max(2.0, 0.02 * run_time, 50 * cost)


def open_checkpoint(
    path: Path, settings: dict[str, Any], fresh_seed: dict[str, Any], overwrite: bool, modules: Collection[str] = ()
) -> tuple[dict[str, Any], list[ChainStore]]:
    """Open the checkpoint of a run, or create one.

    Parameters
    ----------
    path : Path
        Folder, created if it does not exist.
    settings : dict
        Plain JSON values that identify the run, in the order of comparison; ``identity`` is that of
        its kernel (`bayesmrf.runs.identity.describe`). A seed of None means the one in the store; ``n_draws`` may be
        larger than in the store. With `UNTIL_GOOD` it is at least that in the store, and may grow (`keep_n_draws`).
    fresh_seed : dict
        Replaces a seed of None if nothing is stored.
    overwrite : bool
        Start again if the folder contains another run, or results.
    modules : collection of str
        See `ChainStore`.

    Returns
    -------
    settings : dict
        Settings with the seed of the run.
    chains : list of ChainStore

    Raises
    ------
    StoreError
        If the folder was not written by this package, contains another run or results, is damaged, or cannot be
        written.
    """
    settings = json.loads(json.dumps(settings))
    stored: dict[str, Any] | None
    if is_ours(path) and not overwrite:
        if read_kind(path) == RESULTS:
            raise StoreError(
                f"{_CHECKPOINT}: {path} contains finished results; load them, give another path, or use {OVERWRITE}"
            )
        with as_written(path):
            stored = read_settings(path)
            described_sequence(stored["seed"])
            settings["seed"] = settings["seed"] or stored["seed"]
            if UNTIL_GOOD in settings:
                settings["n_draws"] = max(settings["n_draws"], stored["n_draws"])
            _compare(path, settings, stored)
        until = {UNTIL_GOOD: True} if UNTIL_GOOD in settings else {}
        settings = {n: v for n, v in stored.items() if n != UNTIL_GOOD} | {"n_draws": settings["n_draws"]} | until
    else:
        stored = None
        settings["seed"] = settings["seed"] or fresh_seed
    folders = [path / CHECKPOINT / f"chain_{i}" for i in range(settings["n_chains"])]
    link = next((p for p in (path / CHECKPOINT, *folders) if p.is_symlink()), None)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if overwrite:
            clear(path)
        elif link:
            raise damaged(link, "it is a link")
        if settings != stored:
            write_marker(path, CHECKPOINT, {"settings": settings})
        (path / CHECKPOINT).mkdir(exist_ok=True)
    except OSError as e:
        raise StoreError(f"{_CHECKPOINT}: {path} cannot be written ({e}); give a folder that can be created") from e
    run = checksum({name: value for name, value in settings.items() if name not in _MAY_GROW})
    return settings, [ChainStore(folder, i, run, modules) for i, folder in enumerate(folders)]


def keep_n_draws(path: Path, settings: dict[str, Any], n_draws: int) -> None:
    """Store how many draws the chains of a run until good make next; a killed run is judged again at all counts."""
    if n_draws > settings["n_draws"]:
        settings["n_draws"] = n_draws
        try:
            write_marker(path, CHECKPOINT, {"settings": settings})
        except OSError as e:
            raise StoreError(f"{_CHECKPOINT}: {path} cannot be written ({e}); make room on the disk and call again: "
                             "the run continues from its last commit") from e  # fmt: skip


@contextmanager
def opened(
    path: Path,
    settings: dict[str, Any],
    fresh_seed: dict[str, Any],
    overwrite: bool,
    modules: Collection[str],
    chain: int | None = None,
) -> Iterator[tuple[dict[str, Any], list[ChainStore]]]:
    """Lock a run, or one of its chains, and open it (see `open_checkpoint`).

    The lock of the folder is held while the run is opened and, for all chains, until the end; that of each chain until
    the end. So tasks of several chains can run at the same time, and no two write into the same folder.
    """
    is_ours(path)  # other folders are not changed
    patience = 0.0 if chain is None else 1.5 * LEASE  # a task that was killed on another machine has a lock for so long
    with ExitStack() as run:
        with ExitStack() as opening:
            opening.enter_context(hold(path, patience, "checkpoint"))
            for folder in (path / CHECKPOINT).glob("chain_*") if overwrite else ():
                with hold(folder, option="checkpoint"):
                    pass
            settings, stores = open_checkpoint(path, settings, fresh_seed, overwrite, modules)
            stores = stores if chain is None else [stores[chain]]
            if chain is None:
                run.push(opening.pop_all())
        for store in stores:
            run.enter_context(hold(store.folder, patience, "checkpoint"))
            store.claim()
        yield settings, stores


def seed_of(path: Path) -> np.random.SeedSequence:
    """Read the seed of a checkpoint."""
    with as_written(path):
        return described_sequence(read_settings(path)["seed"] | {"spawned": 0})


def steps_of(path: Path) -> tuple[list[int], dict[str, Any]]:
    """Return the committed steps of each chain of a checkpoint, and its settings."""
    with as_written(path):
        settings = read_settings(path)
        sizes = [settings[name] for name in ("n_chains", "n_draws", "n_warmup", "thin")]
        if not all(type(n) is int for n in sizes) or not 1 <= sizes[0] <= MOST_CHAINS or sizes[-1] < 1:
            raise ValueError
        folders = [path / CHECKPOINT / f"chain_{i}" for i in range(sizes[0])]
        return [int(read_record(file)["steps"]) if (file := committed(p)) else 0 for p in folders], settings


def _compare(path: Path, settings: dict[str, Any], stored: dict[str, Any]) -> None:
    """Refuse a checkpoint of another run, naming the first setting that differs."""

    def flat(s: dict[str, Any]) -> dict[str, Any]:
        rest = {name: s[name] for name in ("n_chains", "n_warmup", "thin", "seed", "n_draws")}
        return {"version": s["version"], "kernel": s["kernel"], **s["identity"], **rest}

    more = max(settings["n_draws"], stored["n_draws"])  # a run may become longer
    differing = difference(flat(settings), flat(stored | {"n_draws": more}))
    if differing:
        remedy = f"give another path, the settings of that run, or {OVERWRITE}"
        raise StoreError(f"{_CHECKPOINT}: {path} belongs to another run: {differing}", remedy=remedy)
