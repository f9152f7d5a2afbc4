"""Is damage on the disk ever taken for a result?

Run ``python benchmarks/damages.py [--n 160] [--seed N] [--store FOLDER]``. Small stores are made by their commands: a
result, a checkpoint, a study of ``plan``, one of ``calibrate``, and evidences. Then one file at a time is damaged: a
bit or a digit is changed, a line takes the place of another, the file is cut, removed, lengthened, or replaced by
another file of its store. Every reader reads the damaged copy: ``load``, ``report``, ``export``, ``collect``, and the
command that made it, given again. What it gives is one of

* refused: exit code 2, and one sentence with the name of the store;
* the same: what the undamaged store gives, bit for bit;
* CHANGED: something else;
* FOREIGN: an exception that is none of this package.

The last two must not occur. Finished damages are kept in the folder, from which a stopped study goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timing import arguments

from bayesmrf import cli, results
from bayesmrf.errors import StoreError

SMALL = "--n-draws 30 --n-warmup 5 --n-chains 2 --seed 1"
STRUCTURE = f"structure votes.csv --method exact {SMALL}"
PLAN = "plan --nodes 3 --density 0.4 --weight 2 --n 60,90 --replicates 2 --n-jobs 1 --seed 1"
CALIBRATE = "calibrate --n 40 --nodes 3 --replicates 3 --n-jobs 1 --seed 1"
EVIDENCE = "evidence votes.csv --hidden 1:2 --method bic,map --seed 3"
MADE_BY = {
    "result": [f"{STRUCTURE} --out result"],
    "checkpoint": [f"{STRUCTURE} --out checkpoint --chain {chain}" for chain in (0, 1)],
    "plan": [f"{PLAN} --out plan"],
    "calibrate": [f"{CALIBRATE} --out calibrate"],
    "evidence": [f"{EVIDENCE} --out evidence"],
}
WRITTEN = re.compile(r"\.(csv|html|png|claim|lock)$")  # files that no command reads
TIMES = re.compile(r"\b\d+(\.\d+)? s\b|data:image[^\"]*")
WORST = ("FOREIGN", "CHANGED", "refused", "the same")


def command(line: str) -> tuple[int, str, str]:
    """Give a command in this process; return its exit code, what it prints, and its errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(line.split())
    return code, out.getvalue(), err.getvalue()


def numbers_of(path: Path) -> str:
    """Return a checksum of all draws and statistics of a result."""
    digest = hashlib.sha256()
    tree = results.load(path)
    for group in ("posterior", "sample_stats", "constant_data", "observed_data"):
        for name, v in sorted(tree[group].dataset.variables.items()):
            digest.update(f"{group}/{name} {v.dtype} {v.shape}".encode())
            digest.update(str(v.values.tolist()).encode() if v.dtype.kind in "OTU" else v.values.tobytes())
    return digest.hexdigest()


def loads(store: str) -> Callable[[], Any]:
    return lambda: numbers_of(Path(store))


def prints(line: str) -> Callable[[], Any]:
    return lambda: command(line)


def writes(line: str, *files: str) -> Callable[[], Any]:
    def read() -> Any:
        code, _, err = command(line)
        return code, err if code else [TIMES.sub("", Path(file).read_text()) for file in files]

    return read


def finishes(line: str, store: str) -> Callable[[], Any]:
    def read() -> Any:
        code, _, err = command(line)
        return code, err if code else numbers_of(Path(store))

    return read


def evidences() -> Any:
    code, _, err = command(f"{MADE_BY['evidence'][0]}")
    if code:
        return code, "", err
    cells = [json.loads(line) for line in Path("evidence/evidence.jsonl").read_text().splitlines()[1:]]
    unlike = ("seconds", "checksum")
    return sorted({json.dumps({k: v for k, v in cell.items() if k not in unlike}) for cell in cells})


READERS: dict[str, dict[str, Callable[[], Any]]] = {
    "result": {
        "load": loads("result"),
        "report": writes("report result --out page.html --overwrite", "page.html"),
        "export": writes("export result --to json --out result.json --overwrite", "result.json"),
        "again": prints(f"{STRUCTURE} --out result"),
        "collect": prints("collect result"),
    },
    "checkpoint": {
        "report": prints("report checkpoint --out page.html --overwrite"),
        "collect": finishes("collect checkpoint", "checkpoint"),
        "again": finishes(f"{STRUCTURE} --out checkpoint", "checkpoint"),
    },
    "plan": {"again": writes(f"{PLAN} --out plan", "plan/plan.csv")},
    "calibrate": {
        "again": writes(f"{CALIBRATE} --out calibrate", "calibrate/calibration.csv", "calibrate/inclusion.csv")
    },
    "evidence": {"again": evidences, "report": prints("report evidence --out page.html --overwrite")},
}


def make(folder: Path) -> None:
    """Make the stores that are not there yet."""
    rng = np.random.default_rng(0)
    table = (rng.normal(size=(80, 1)) + rng.normal(size=(80, 5)) > 0).astype(int)
    pd.DataFrame(table, columns=list("abcde")).to_csv(folder / "votes.csv", index=False)
    for store, lines in MADE_BY.items():
        if not (folder / store).exists():
            for line in lines:
                code, _, err = command(f"{line} --quiet")
                assert code == 0, err


def damaged(content: bytes, kind: str, others: list[bytes], rng: np.random.Generator) -> bytes | None:
    """Return the content of a damaged file; None of one that is removed."""
    if kind == "removed":
        return None
    if kind == "cut":
        return content[: int(rng.integers(len(content)))]
    if kind == "longer":
        return content + rng.bytes(20)
    if kind == "another file" and others:
        return others[int(rng.integers(len(others)))]
    if kind == "line" and content.count(b"\n") > 1:  # one takes the place of another
        lines = content.splitlines(keepends=True)
        i, j = rng.choice(len(lines), 2, replace=False)
        lines[i] = lines[j]
        return b"".join(lines)
    places = [i for i, c in enumerate(content) if 48 <= c < 58] if kind in ("digit", "line", "another file") else []
    at = int(rng.choice(places)) if places else int(rng.integers(len(content)))
    new = 48 + (content[at] - 47) % 10 if places else content[at] ^ 1 << int(rng.integers(8))
    return content[:at] + bytes([new]) + content[at + 1 :]


def outcome(read: Callable[[], Any], store: str, undamaged: Any) -> tuple[str, str]:
    """Read a damaged store; return what came of it, and its words."""
    try:
        found = read()
    except StoreError as e:
        return ("refused" if store in str(e) else "CHANGED"), str(e)
    except Exception as e:
        return "FOREIGN", f"{type(e).__name__}: {e}"
    if found == undamaged:
        return "the same", ""
    code, err = (found[0], found[-1]) if isinstance(found, tuple) else (0, "")
    named = code == 2 and re.fullmatch(r"(warning: .*\n)*error: .*\n", err) and store in err
    return ("refused" if named else "CHANGED"), str(found)[:300]


def study(folder: Path, n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Make the damages that are not in the folder yet, and return all."""
    log = folder / "damages.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    yield from done[:n]
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)

        def anew(store: str) -> None:
            shutil.rmtree(copy / store, ignore_errors=True)
            shutil.copytree(folder / store, copy / store)

        shutil.copy(folder / "votes.csv", copy)
        with chdir(copy):
            undamaged = {}
            for store, readers in READERS.items() if len(done) < n else ():
                for name, read in readers.items():
                    anew(store)
                    undamaged[store, name] = read()
            for k in range(len(done), n):
                rng = np.random.default_rng([seed, k])
                store = list(MADE_BY)[k % len(MADE_BY)]
                files = sorted(p for p in (folder / store).rglob("*") if p.is_file() and not WRITTEN.search(p.name))
                kinds = ("bit", "digit", "cut", "digit", "removed", "another file", "line", "longer")
                kind, file = kinds[k // len(MADE_BY) % len(kinds)], files[int(rng.integers(len(files)))]
                content = file.read_bytes()
                others = [p.read_bytes() for p in files if p != file and p.suffix == file.suffix]
                new = damaged(content, kind, others, rng)
                found: dict[str, Any] = {"store": store, "kind": kind, "file": str(file.relative_to(folder))}
                for name, read in READERS[store].items():
                    anew(store)
                    (copy / found["file"]).unlink()
                    if new is not None:
                        (copy / found["file"]).write_bytes(new)
                    found[name] = outcome(read, store, undamaged[store, name])
                with log.open("a") as lines:
                    lines.write(json.dumps(found) + "\n")
                yield found


def main() -> None:
    args = arguments(str(__doc__), n=160, seed=1, store="damages")
    folder = Path(args.store).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with chdir(folder):
        make(folder)
    counts: Counter[tuple[str, str]] = Counter()
    for k, found in enumerate(study(folder, args.n, args.seed)):
        outcomes = {name: v for name, v in found.items() if name not in ("store", "kind", "file")}
        worst = min((v[0] for v in outcomes.values()), key=WORST.index)
        counts[found["store"], worst] += 1
        if worst in WORST[:2]:
            print(f"{k}: {found}")
    print(f"{'store':12}" + "".join(f"{word:>10}" for word in WORST))
    for store in (*MADE_BY, ""):
        numbers = [sum(n for key, n in counts.items() if store in ("", key[0]) and key[1] == word) for word in WORST]
        print(f"{store or 'all':12}" + "".join(f"{number:10}" for number in numbers))
    print(f"{sum(counts.values())} damages, {time.monotonic() - began:.0f} s")
    sys.exit(any(word in WORST[:2] for _, word in counts))


if __name__ == "__main__":
    main()
