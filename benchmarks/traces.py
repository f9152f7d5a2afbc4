"""Traces of what the project computes and prints, to show that a change of its structure changes nothing else.

Run from the root of a repository, for a change against a revision, or in two steps, for several changes after each
other::

    python benchmarks/traces.py --against REVISION
    python benchmarks/traces.py --record FILE
    python benchmarks/traces.py --compare FILE

Five sections are recorded, each in a process of its own: ``draws`` of every kernel in tests/tables.py, ``fits`` of the
estimators, ``texts`` of commands and reports, what is understood of ``tables`` (small ones, and the CSV files of
``BAYESMRF_DATA``), and the ``messages`` of all errors that tests of bad values raise. What
differs is printed, and the exit code is then 1. A trace is a text: an array is a line with its type, shape, mean and
checksum, so that one bit shows. Times, dates, versions and folders are left out. Draws depend on the processor and on
the versions of numpy and numba: both sides must be recorded on one machine.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import dataclasses
import difflib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

N_STEPS = 20
FAILED = "could not be recorded: "
MOST_LINES = 30  # of the differences of one trace
# One thread; sizes of the terminal; the one seed of the tests.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    **{"COLUMNS": "120", "LINES": "50", "TERM": "dumb", "NO_COLOR": "1", "BAYESMRF_TEST_SEED": "1"},
}

# ---- traces are texts


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def array_line(values: Any) -> str:
    """Return type, shape, mean and checksum of an array; not a number is the same whatever its bits."""
    a = np.asarray(values)
    if a.dtype.kind not in "biuf":
        return f"{a.dtype.kind} {a.shape} {checksum(repr(a.tolist()).encode())}"
    with np.errstate(all="ignore"):
        mean = a.astype(float).mean() if a.size else np.nan
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    return f"{a.dtype} {a.shape} mean {mean:.9g} {checksum(np.ascontiguousarray(a).tobytes())}"


def lines_of(name: str, value: Any) -> Iterator[str]:
    """Describe arrays, numbers and texts, and what consists of them, by a line each; of other objects the class."""
    if value is None or isinstance(value, str | bytes | bool | int | float):
        yield f"{name} = {value!r}"
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{name}: {array_line(value)}"
    elif hasattr(value, "to_csv"):  # a table of pandas, of which to_csv writes every digit
        yield from (f"{name}: {row}" for row in value.to_csv().splitlines())
    elif hasattr(value, "_asdict"):
        yield from (line for key, v in value._asdict().items() for line in lines_of(f"{name}.{key}", v))
    elif dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value)]
        yield from (line for key in fields for line in lines_of(f"{name}.{key}", getattr(value, key)))
    elif isinstance(value, Mapping):
        yield from (line for key, v in value.items() for line in lines_of(f"{name}[{key!r}]", v))
    elif isinstance(value, list | tuple):
        yield f"{name}: {len(value)}"
        yield from (line for i, v in enumerate(value) for line in lines_of(f"{name}[{i}]", v))
    else:
        yield f"{name}: {type(value).__name__}"


# Numbers of two runs that differ: dates, versions, durations, and addresses in memory.
_NOISE = [
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z|[+-]\d\d:\d\d)?)?"), "DATE"),
    (re.compile(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.]*\d)"), "VERSION"),
    (re.compile(r"(?<![\w.])\d+(\.\d+)? (ms|s|seconds?|minutes?|min|hours?|h)\b"), "TIME"),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"\btests([./])(\w+[./])+(?=test_)"), r"tests\1"),  # folders of tests
]
_PICTURE = re.compile(r"data:image/[\w+]+;base64,([\w+/=]+)")


def normalised(text: str, *folders: Path) -> str:
    """Return a text without what differs between two runs of the same code, and with pictures as checksums."""
    for i, folder in enumerate(folders):
        text = text.replace(str(folder), f"FOLDER{i}")
    text = _PICTURE.sub(lambda found: f"PICTURE {checksum(base64.b64decode(found[1]))}", text)
    for noise, name in _NOISE:
        text = noise.sub(name, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def recorded(makes: Mapping[str, Callable[[], str]]) -> dict[str, str]:
    """Make each trace; of one that fails the error is the trace."""
    found = {}
    for name, make in makes.items():
        try:
            found[name] = make()
        except Exception as e:
            found[name] = f"{FAILED}{type(e).__name__}: {e}\n"
    return found


# ---- draws


def trace_of_kernel(kernel: Any) -> str:
    """Trace the draws of some steps from one seed, and the State after them; an error ends the steps."""
    rng, found, error = np.random.default_rng(1), {}, []
    state = kernel.init(rng)
    try:
        for _ in range(N_STEPS):
            state, info = kernel.step(rng, state)
            for name, value in info._asdict().items():
                found.setdefault(name, []).append(np.array(value))
    except ArithmeticError as e:
        error = [str(e)]
    lines = [f"{name}: {array_line(np.array(values))}" for name, values in found.items()]
    return "\n".join([*lines, *error, *lines_of("state", state), *lines_of("random", rng.random())])


def trace_of_marginals(marginals: Any, s_bar: np.ndarray, n: float) -> str:
    """Trace what a sampler of groups keeps between steps: at the start, and after chains are mixed."""
    rng, theta = np.random.default_rng(1), np.linspace(-1.0, 1.0, marginals.model.n_features)
    memory = marginals.start(theta, rng)
    lines = [*lines_of("start", memory)]
    walk = marginals.thaw(memory, theta.copy(), s_bar, n)
    walk.mix(rng)
    return "\n".join([*lines, *lines_of("stats", walk.stats()), *lines_of("end", walk.freeze())])


def draws() -> dict[str, str]:
    from tests import tables  # of the revision

    makes = {f"kernel {name}": lambda make=make: trace_of_kernel(make()) for name, make in tables.KERNELS.items()}
    for name, marginals in tables.MARGINALS.items():
        makes[f"marginals {name}"] = lambda m=marginals: trace_of_marginals(m, tables.s_bar(m.model), tables.N)
    return recorded(makes)


# ---- fits


def table(n_levels: int, missing: bool = False) -> Any:
    """Return a table of 60 rows and four columns that go with each other, with some values missing if asked for."""
    import pandas as pd

    rng = np.random.default_rng(n_levels)
    common = rng.normal(size=(60, 1))
    cuts = np.linspace(-1, 1, n_levels + 1)[1:-1]
    x = np.searchsorted(cuts, common + rng.normal(size=(60, 4))).astype(float)
    if missing:
        x[rng.integers(0, 60, 6), rng.integers(0, 4, 6)] = np.nan
    return pd.DataFrame(x, columns=["Ann", "Bob", "Cid", "Dot"])


TREE = [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dot")]
# Estimator, options, levels of the data, whether values are missing.
FITS: dict[str, tuple[str, dict[str, Any], int, bool]] = {
    "parameters": ("BayesianMRF", {}, 2, False),
    "parameters, missing": ("BayesianMRF", {"kernel": "metropolis"}, 2, True),
    "parameters, ising, langevin": (
        "BayesianMRF",
        {"model": "ising", "kernel": "langevin", "engine": "brief"},
        2,
        False,
    ),
    "parameters, agreement, ties": ("BayesianMRF", {"model": "agreement", "ties": "edges"}, 2, False),
    "parameters, hamiltonian": ("BayesianMRF", {"kernel": "hamiltonian"}, 2, False),
    "parameters, exchange": ("BayesianMRF", {"kernel": "exchange", "engine": "gibbs"}, 2, False),
    "parameters, potts": ("BayesianMRF", {"model": "potts"}, 3, False),
    "parameters, ordinal, missing": ("BayesianMRF", {"model": "ordinal"}, 3, True),
    "edges": ("SpikeSlabMRF", {"method": "exact"}, 2, False),
    "edges, missing": ("SpikeSlabMRF", {"method": "exact"}, 2, True),
    "edges, ising, reversible-jump": ("SpikeSlabMRF", {"model": "ising", "method": "reversible-jump"}, 2, False),
    "edges, reversible-jump, missing": ("SpikeSlabMRF", {"method": "reversible-jump"}, 2, True),
    "edges, langevin": ("SpikeSlabMRF", {"method": "langevin"}, 2, False),
    "edges, ordinal, missing": ("SpikeSlabMRF", {"method": "exact"}, 3, True),
    "edges, ordinal, reversible-jump": ("SpikeSlabMRF", {"model": "ordinal", "method": "reversible-jump"}, 3, False),
    "edges, potts, langevin, missing": ("SpikeSlabMRF", {"model": "potts", "method": "langevin"}, 3, True),
    "differences": ("CompareMRF", {"method": "exact"}, 2, False),
    "differences, reversible-jump, missing": ("CompareMRF", {"method": "reversible-jump"}, 2, True),
    "differences, ordinal, missing": ("CompareMRF", {"method": "exact"}, 3, True),
    "differences, ordinal, reversible-jump": ("CompareMRF", {"method": "reversible-jump"}, 3, False),
    "groups": ("GroupedMRF", {"method": "exact"}, 2, False),
    "groups, tree": ("GroupedMRF", {"graph": TREE, "method": "tree", "fields": False}, 2, False),
    "groups, particle, missing": ("GroupedMRF", {"method": "particle"}, 2, True),
    "groups, absent edges": ("GroupedMRF", {"candidates": "complete", "method": "exact"}, 2, False),
    "groups, stripped-beta": ("GroupedMRF", {"method": "stripped-beta"}, 2, False),
    "groups, potts, particle": ("GroupedMRF", {"model": "potts", "method": "particle"}, 3, False),
    "groups, symmetric, missing": ("GroupedMRF", {"model": "symmetric", "method": "exact"}, 3, True),
    "groups, ordinal": ("GroupedMRF", {"model": "ordinal", "method": "exact"}, 3, False),
}
SIZES = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "n_jobs": 1, "random_state": 1, "progress": False}
NOT_OF_DRAWS = {"run_time", "time_before_draws", "time_after_draws", "created_at", "versions"}


def trace_of_fit(estimator: str, options: dict[str, Any], n_levels: int, missing: bool) -> str:
    """Trace the warnings of a fit, its tree, and the attributes and properties whose names end with _."""
    import bayesmrf

    x = table(n_levels, missing)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        data = (x, np.arange(60) % 2) if estimator == "CompareMRF" else (x,)
        est = getattr(bayesmrf, estimator)(**options, **SIZES).fit(*data)
        lines = [f"{w.category.__name__}: {w.message}" for w in given]
        for path, node in est.posterior_.to_dict().items():
            lines += [f"{path} {key} = {v!r}" for key, v in sorted(node.attrs.items()) if key not in NOT_OF_DRAWS]
            lines += [f"{path} {key} {v.dims}: {array_line(v.values)}" for key, v in sorted(node.variables.items())]
        for name in sorted(n for n in dir(est) if n.endswith("_") and not n.startswith("_") and n != "posterior_"):
            if not callable(value := getattr(est, name)):
                lines += lines_of(name, value)
    return "\n".join(lines)


def fits() -> dict[str, str]:
    return recorded({name: lambda row=row: trace_of_fit(*row) for name, row in FITS.items()})


# ---- texts

SMALL = "--seed 1 --n-draws 40 --n-warmup 20 --n-chains 2 --n-jobs 1"
COMMANDS = [
    *(f"{name} --help" for name in ("", "demo", "groups", "posterior", "structure", "compare", "evidence", "collect")),
    *("report --help", f"structure votes.csv {SMALL}", f"structure answers.csv --drop side {SMALL}"),
    *(
        f"groups votes.csv --graph complete {SMALL} --out groups_run",
        f"posterior votes.csv {SMALL} --out posterior_run",
    ),
    f"compare answers.csv --by side {SMALL} --out compare_run",
    *("evidence votes.csv --hidden 1,2 --seed 1", "evidence votes.csv --compare independent,complete --seed 1"),
    *(f"structure votes.csv {SMALL} --out parts_run --chain 0", "collect parts_run"),
    *(f"structure votes.csv {SMALL} --out parts_run --chain 1", "collect parts_run"),
    *(f"structure {name} {SMALL} --out {name}_run -q" for name in ("votes.csv.gz", "answers.xlsx", "answers.parquet")),
    *(
        "structure votes.csv --n-draws 0",
        "structure none.csv",
        "groups votes.csv --graph complete --drop Zoe",
        "posterior text.csv",
    ),
    *(f"structure votes.csv {SMALL}", "structure votes.csv --slab x", "compare votes.csv", "report none_run"),
]
REPORTS = ["votes_run", "groups_run", "posterior_run", "compare_run"]


def make_tables(folder: Path) -> None:
    """Write the tables of the commands."""
    votes, answers = table(2).astype(int), table(4, missing=True)
    answers["side"] = np.where(np.arange(60) % 2, "left", "right")
    for name in ("votes.csv", "votes.csv.gz"):
        votes.to_csv(folder / name, index=False)
    answers.to_csv(folder / "answers.csv", index=False)
    answers = answers.drop(columns="side")
    answers.to_excel(folder / "answers.xlsx", index=False)
    answers.to_parquet(folder / "answers.parquet", index=False)
    (folder / "text.csv").write_text("a,b\n0,1\n1,yes and no\n0,0\n")


def trace_of_command(words: list[str], *folders: Path) -> str:
    """Trace exit code, standard output and standard error of a command in the current folder."""
    from bayesmrf.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["bayesmrf", *words], None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as e:
        code = e.code
    finally:
        sys.argv = before
    return normalised(f"exit code {code}\n{out.getvalue()}\nerrors:\n{err.getvalue()}", *folders)


def trace_of_report(run: str, *folders: Path) -> str:
    page = Path(f"{run}.html")
    said = trace_of_command(["report", run, "--out", str(page)], *folders)
    # A line for each element, so that differences are short.
    return said + normalised(page.read_text().replace("><", ">\n<"), *folders)


def texts() -> dict[str, str]:
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "traces"  # else identifiers in pictures are random
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make_tables(folder)
        os.chdir(folder)
        makes = {f"{i:02d} bayesmrf {line}": (line.split(), trace_of_command) for i, line in enumerate(COMMANDS)}
        makes |= {f"report of {run}": (run, trace_of_report) for run in REPORTS}
        found = recorded({key: lambda given=given, trace=trace: trace(given, folder, Path.cwd())
                          for key, (given, trace) in makes.items()})  # fmt: skip
        os.chdir("/")
    return found


# ---- tables


def odd_tables() -> dict[str, Any]:
    """Return small tables, each of which has a kind of column or of fault that readers know."""
    import pandas as pd

    rng = np.random.default_rng(7)
    n = 60
    one = rng.normal(size=n)

    def item(k: int, low: int = 0) -> np.ndarray:
        return np.searchsorted(np.linspace(-1, 1, k + 1)[1:-1], one + rng.normal(size=n)) + low

    def words(*levels: str) -> np.ndarray:
        return np.array(levels, dtype=object)[item(len(levels))]

    base = {"a": item(2), "b": item(2), "c": item(3, 1)}
    holes = base["c"].astype(float)
    holes[:7] = np.nan
    columns: dict[str, Any] = {
        "yes and no": words("no", "yes"), "booleans": item(2) == 1, "minus": 2 * item(2) - 1,
        "texts of numbers": item(3).astype(str), "known scale": words("Never", "Rarely", "Often", "Always"),
        "agree": words("Disagree", "Neutral", "Agree"), "unknown words": words("red", "green", "blue"),
        "two words": words("left", "right"), "one word": ["same"] * n, "one number": [3] * n,
        "ticks": np.where(item(2) == 1, "x", None), "numbered words": words("1 low", "2 mid", "3 high"),
        "refused": np.where(rng.random(n) < 0.1, "refused", words("no", "yes")),
        "code": np.where(rng.random(n) < 0.1, 99, item(5, 1)),
        "minus nine": np.where(rng.random(n) < 0.1, -9, item(5, 1)), "id": np.arange(n),
        "names": [f"p{i:03d}" for i in range(n)], "age": rng.integers(18, 80, n),
        "fractions": rng.normal(size=n).round(2), "few fractions": item(3) / 2, "steps": 25 * item(3),
        "long scale": rng.integers(0, 11, n), "slider": rng.integers(0, 101, n), "count": rng.integers(1, 9, n),
        "person": np.repeat(np.arange(20), 3), "dates": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        "ordered": pd.Categorical(words("lo", "mid", "hi"), ["lo", "mid", "hi"], ordered=True),
        "two ordered": pd.Categorical(words("lo", "hi"), ["lo", "hi"], ordered=True),
        "unordered": pd.Categorical(words("x", "y", "z")),
        "unused": pd.Categorical(words("x", "y", "z"), ["w", "x", "y", "z"], ordered=True), "missing": holes,
        "empty": [np.nan] * n, "text": [f"free text {i % 31}" for i in range(n)],
        "mixed": np.where(item(2) == 1, "a", "3"), "infinite": np.where(np.arange(n) == 5, np.inf, item(2)),
        "marks": np.where(rng.random(n) < 0.2, "-", words("no", "yes")),
    }  # fmt: skip
    tables = {name: pd.DataFrame({**base, name: column}) for name, column in columns.items()}
    tables["two scales"] = pd.DataFrame({"a": item(5, 1), "b": item(5, 1), "c": item(3) * 40})
    tables["total"] = pd.DataFrame({"a": item(2), "b": item(2)}).assign(total=lambda x: x.a + x.b)
    combinations = pd.DataFrame(np.indices((2, 2, 2)).reshape(3, -1).T, columns=["a", "b", "c"])
    tables["combinations"] = combinations.assign(freq=rng.integers(1, 90, 8))
    tables["long"] = pd.DataFrame(
        {"id": np.repeat(np.arange(30), 3), "item": ["q1", "q2", "q3"] * 30, "answer": rng.integers(1, 5, 90)}
    )
    tables["pixels"] = pd.DataFrame(rng.integers(0, 256, (40, 70)))
    tables["empty table"] = pd.DataFrame({"a": [], "b": []})
    tables["same name"] = pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"])
    return tables


def trace_of_table(frame: Any) -> str:
    """Trace what is understood of a table, and what estimators of each model say before they run."""
    from bayesmrf import SpikeSlabMRF
    from bayesmrf.data import prepare, read_columns

    def attempts() -> Iterator[tuple[str, Callable[[], Any]]]:
        yield "columns", lambda: read_columns(frame)
        yield "prepared", lambda: prepare(frame)
        yield "prepared, none missing", lambda: prepare(frame, missing="none")
        yield "prepared, cut", lambda: prepare(frame, cut={str(frame.columns[-1]): 3})
        yield "prepared, ordered", lambda: prepare(frame, ordered=str(frame.columns[-1]))
        yield "prepared, nominal", lambda: prepare(frame, nominal=str(frame.columns[-1]))
        yield "prepared, reversed", lambda: prepare(frame, reverse=str(frame.columns[-1]))
        for model in ("auto", "boltzmann", "ordinal", "nominal", "potts"):
            for kind, x in (("frame", frame), ("array", frame.to_numpy())):
                yield f"{model}, {kind}", lambda x=x, model=model: str(SpikeSlabMRF(model=model, n_draws=9).check(x))

    lines = []
    for name, attempt in attempts():
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                value = attempt()
                lines += lines_of(name, value)
                lines += [f"{name} types: {[str(kind) for kind in value.dtypes]}"] if hasattr(value, "dtypes") else []
            except Exception as e:
                lines.append(f"{name}: {type(e).__name__}: {e}")
        lines += [f"{name}: {w.category.__name__}: {w.message}" for w in given]
    return "\n".join(lines)


def tables() -> dict[str, str]:
    import pandas as pd

    makes = {name: lambda frame=frame: trace_of_table(frame) for name, frame in odd_tables().items()}
    folder = Path(os.environ.get("BAYESMRF_DATA", "none"))
    files = [
        p for place in (folder, folder.parent / "tables") for p in sorted(place.glob("*.csv")) if p.stat().st_size < 1e6
    ]
    makes |= {p.name: lambda p=p: trace_of_table(pd.read_csv(p)) for p in files}
    makes |= {
        f"bayesmrf columns {p.name}": lambda p=p: trace_of_command(["columns", str(p)])
        for p in [*files, *folder.glob("*.sav")]
    }
    return recorded(makes)


# ---- messages

TESTS = ["tests/lint/test_fuzz.py", "tests/unit/core/test_options.py"]
# Tests that take long, or whose errors are raised in another process.
LEFT_OUT = "not ends_of_ranges and not process_of_its_own and not many_columns"


class Messages:
    """Plugin of pytest that collects the messages of all errors, and which tests failed."""

    def __init__(self) -> None:
        from bayesmrf.errors import BayesMRFError

        self.found: set[str] = set()
        self.outcomes: list[tuple[str, str]] = []
        make = BayesMRFError.__init__

        def note(error: Any, *args: Any, **more: Any) -> None:
            make(error, *args, **more)
            self.found.add(str(error))

        BayesMRFError.__init__ = note

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.failed:
            self.outcomes.append((report.outcome, report.nodeid))


def messages() -> dict[str, str]:
    import pytest

    plugin = Messages()
    time.process_time = lambda: 0.0  # no test fails as this machine is slow: its other messages would be missing
    with tempfile.TemporaryDirectory() as name:
        given = ["-n", "0", "-q", "-p", "no:cacheprovider", "--basetemp", f"{name}/base", "-k", LEFT_OUT, *TESTS]
        pytest.main(given, plugins=[plugin])
        outcomes = sorted(f"{outcome} {test}" for outcome, test in plugin.outcomes)
        found = {"tests": outcomes, "errors": sorted(plugin.found)}
        return {key: normalised("\n".join(lines), Path(name), Path.cwd()) for key, lines in found.items()}


# ---- records

SECTIONS = {"draws": draws, "fits": fits, "texts": texts, "tables": tables, "messages": messages}
Record = dict[str, dict[str, str]]


def machine() -> str:
    """Name what draws depend on."""
    from llvmlite.binding import get_host_cpu_name

    return ", ".join([get_host_cpu_name(), *(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))])


def record(root: Path, sections: list[str]) -> Record:
    """Record the version in a folder, each section in a process."""
    found: Record = {}
    path = os.pathsep.join([str(root / "src"), str(root)])
    with tempfile.TemporaryDirectory() as name:
        for section in sections:
            command = [sys.executable, "-P", str(Path(__file__).resolve()), "--section", section]
            command += ["--into", str(into := Path(name, f"{section}.json"))]
            environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": path}
            done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(
                    f"{section} of {root} cannot be recorded:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
                )
            found[section] = json.loads(into.read_text())
            print(f"recorded {section}: {len(found[section])}", file=sys.stderr, flush=True)
    return found


def record_section(section: str, into: Path) -> None:
    """Record a section of the version in the current folder, in this process."""
    import bayesmrf

    if not Path(bayesmrf.__file__).is_relative_to(Path.cwd() / "src"):
        raise SystemExit(f"{bayesmrf.__file__} is not the version in {Path.cwd()}")
    into.write_text(json.dumps(SECTIONS[section]()))


@contextlib.contextmanager
def exported(revision: str, here: Path) -> Iterator[Path]:
    """Write the files of a revision into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        parts = ["src", "tests", "pyproject.toml"]
        archive = subprocess.run(["git", "archive", revision, *parts], cwd=here, check=True, capture_output=True)
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder).resolve()


def differences(before: Record, now: Record) -> tuple[str, bool]:
    """Return a report of what differs, in which traces that differ by the same lines are together, and whether."""
    text, some = [], False
    for section, theirs in before.items():
        ours = now[section]
        names = [*theirs, *(name for name in ours if name not in theirs)]
        changed: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            if theirs.get(name) != ours.get(name):
                sides = [(side[name].splitlines() if name in side else []) for side in (theirs, ours)]
                lines = list(difflib.unified_diff(*sides, lineterm="", n=0))[2:]
                changed.setdefault(tuple(line for line in lines if not line.startswith("@@")), []).append(name)
        for lines, which in changed.items():
            rest = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
            text += ["", f"{section}: {'; '.join(which)}", *("  " + line for line in [*lines[:MOST_LINES], *rest])]
        n_changed, n_failed = sum(map(len, changed.values())), sum(trace.startswith(FAILED) for trace in ours.values())
        failed = f"; {n_failed} could not be recorded" if n_failed else ""
        text += [f"{section}: {len(names) - n_changed} of {len(names)} are identical{failed}"]
        some |= bool(changed)
    return "\n".join(text), some


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--against", metavar="REVISION", help="record this revision and the working tree, and compare")
    how.add_argument("--record", metavar="FILE", type=Path, help="record the working tree")
    how.add_argument("--compare", metavar="FILE", type=Path, help="compare the working tree with a record")
    how.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all by default")
    args = parser.parse_args()
    if unknown := set(args.names) - set(SECTIONS):
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {', '.join(unknown)}")
    if args.section:
        record_section(args.section, args.into)
        return 0
    here, sections = Path(__file__).resolve().parents[1], args.names or list(SECTIONS)
    if args.record:
        args.record.write_text(json.dumps({"machine": machine(), "traces": record(here, sections)}, indent=1))
        return 0
    if args.compare:
        kept = json.loads(args.compare.read_text())
        if kept["machine"] != machine():
            print(f"Draws may differ: the record is of {kept['machine']}; this is {machine()}")
        before = {name: kept["traces"][name] for name in args.names or kept["traces"]}
        now = record(here, list(before))
    else:
        with exported(args.against, here) as there, ThreadPoolExecutor(2) as pool:
            before, now = pool.map(lambda root: record(root, sections), (there, here))
    text, some = differences(before, now)
    print(text)
    return int(some)


if __name__ == "__main__":
    raise SystemExit(main())
