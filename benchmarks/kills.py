"""Do commands that are killed at random moments, and given again, have the results of commands that are not killed?

Run ``python benchmarks/kills.py [--n 120] [--seed N] [--store FOLDER]``. Each of five commands is given in processes of
its own, forked from this one, which has imported the package. They are killed (SIGKILL) at a random moment of the time
that the whole command takes, up to four times; then the command is given until it ends. What it leaves must be, bit for
bit, what the command leaves that is not killed. Chains commit after every step, so that kills meet commits. Between two
kills the store is read: ``bayesmrf report`` must give a page, or one sentence. Finished rounds are kept in the folder,
from which a stopped study goes on.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from damages import CALIBRATE, EVIDENCE, PLAN, numbers_of
from timing import arguments

import bayesmrf.estimators
import bayesmrf.report  # noqa: F401
from bayesmrf import cli
from bayesmrf.runs import checkpoint

MOST = 4  # kills of one store
LONG = "--n-draws 300 --n-warmup 50 --n-chains 2 --seed 1 --quiet"
COMMANDS = {
    "structure": f"structure votes.csv --method exact {LONG}",
    "groups": f"groups votes.csv --graph complete {LONG}",
    "plan": f"{PLAN} --quiet",
    "calibrate": f"{CALIBRATE} --quiet",
    "evidence": f"{EVIDENCE} --quiet",
}


def started(line: str) -> int:
    """Start a command in a process of its own; its errors are in the file ``errors``."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            checkpoint.pause = lambda *_: 0.0
            with open(os.devnull, "w") as nothing, open("errors", "w") as errors:
                os.dup2(nothing.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                code = cli.run(line.split())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def ended(line: str) -> tuple[int, str]:
    """Give a command; return its exit code, and its errors other than warnings."""
    code = os.waitstatus_to_exitcode(os.waitpid(started(line), 0)[1])
    errors = Path("errors").read_text().splitlines(keepends=True)
    return code, "".join(text for text in errors if not text.startswith("warning: "))


def left(name: str, out: Path) -> Any:
    """Return what a finished command leaves, without times."""
    if name in ("structure", "groups"):
        return numbers_of(out)
    if name == "evidence":
        cells = [json.loads(line) for line in (out / "evidence.jsonl").read_text().splitlines()[1:]]
        unlike = ("seconds", "checksum")
        return sorted(json.dumps({k: v for k, v in cell.items() if k not in unlike}) for cell in cells)
    pieces = sorted(p for p in out.rglob("*") if p.suffix in (".json", ".csv"))
    return [(str(p.relative_to(out)), p.read_text()) for p in pieces]


def killed(line: str, after: float) -> bool:
    """Give a command and kill it after some seconds; return whether it had not ended."""
    child, began = started(line), time.monotonic()
    while time.monotonic() - began < after:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def round_of(name: str, seconds: float, wanted: Any, rng: random.Random) -> dict[str, Any]:
    """Kill a command several times and let it end; return the kills, and what was wrong."""
    out = Path(f"{name}_killed")
    shutil.rmtree(out, ignore_errors=True)
    line, kills, wrong = f"{COMMANDS[name]} --out {out}", 0, ""
    while kills < MOST and killed(line, rng.uniform(0.05, 1.0) * seconds):
        kills += 1
        code, err = ended(f"report {out} --out page.html --overwrite")
        if code != 0 and not re.fullmatch(r"error: .*\n", err):
            wrong = wrong or f"report: {err[-300:]}"
    if kills == MOST:
        code, err = ended(line)
        wrong = wrong or (f"code {code}: {err[-300:]}" if code else "")
    if not wrong and left(name, out) != wanted:
        wrong = "another result"
    return {"command": name, "kills": kills, "wrong": wrong}


def main() -> None:
    args = arguments(str(__doc__), n=120, seed=1, store="kills")
    folder = Path(args.store).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "kills.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    with chdir(folder):
        rng = np.random.default_rng(0)
        table = (rng.normal(size=(80, 1)) + rng.normal(size=(80, 5)) > 0).astype(int)
        pd.DataFrame(table, columns=list("abcde")).to_csv("votes.csv", index=False)
        wanted: dict[str, tuple[float, Any]] = {}
        while sum(found["kills"] for found in done) < args.n:
            name = list(COMMANDS)[len(done) % len(COMMANDS)]
            if name not in wanted:
                for _ in range(2):  # the first one compiles
                    shutil.rmtree(name, ignore_errors=True)
                    began = time.monotonic()
                    code, err = ended(f"{COMMANDS[name]} --out {name}")
                    assert code == 0, err
                wanted[name] = time.monotonic() - began, left(name, Path(name))
            done.append(round_of(name, *wanted[name], random.Random(f"{args.seed} {len(done)}")))
            with log.open("a") as lines:
                lines.write(json.dumps(done[-1]) + "\n")
    kills: Counter[str] = Counter()
    for found in done:
        kills[found["command"]] += found["kills"]
        if found["wrong"]:
            print(found)
    print("; ".join(f"{name}: {n} kills" for name, n in kills.items()))
    print(f"{kills.total()} kills in {len(done)} rounds, {sum(bool(found['wrong']) for found in done)} wrong")
    sys.exit(any(found["wrong"] for found in done))


if __name__ == "__main__":
    main()
