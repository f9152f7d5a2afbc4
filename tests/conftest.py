"""Fixtures: generators from one seed, which is printed, and the folder of real data.

The seed is the same in every run, so that whoever runs the tests for the first time sees what everyone sees.
``pytest --fresh-seed`` draws another one, ``BAYESMRF_TEST_SEED=... pytest`` sets it.
"""

import math
import os
import random
import re
import secrets
import signal
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import settings
from threadpoolctl import threadpool_limits

from bayesmrf import cli, progress, threads
from bayesmrf.cli.app import app
from tests.helpers.memory_checks import compiled_sums  # noqa: F401  # a fixture
from tests.long import LONG, REPEATS

DEFAULT_SEED = 1


def choose_seed(fresh, environment):
    """The seed of this run; the environment comes first, as it carries the seed to the workers of a run."""
    given = environment.get("BAYESMRF_TEST_SEED")
    if given:
        return int(given)
    return secrets.randbits(32) if fresh else DEFAULT_SEED


def pytest_addoption(parser):
    parser.addoption("--fresh-seed", action="store_true", help="draw a new seed for all tests and print it")


def pytest_configure(config):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background; tests send it
    fresh = config.getoption("fresh_seed")
    config.seed = choose_seed(fresh, os.environ)
    os.environ["BAYESMRF_TEST_SEED"] = str(config.seed)
    settings.register_profile("bayesmrf", derandomize=not fresh)
    settings.load_profile("bayesmrf")


def pytest_collection_modifyitems(items):
    for item in items:
        if name_of(item).removeprefix("tests/") in REPEATS:
            item.add_marker(LONG)


def pytest_report_header(config):
    return f"BAYESMRF_TEST_SEED={config.seed}"


def name_of(node):
    """Name a test or a file without its folder, so that a file that moves keeps its random numbers."""
    path, *test = node.nodeid.split("::", 1)
    return "::".join([f"tests/{path.rpartition('/')[2]}", *test])


def generator(request):
    """A generator for one test or one module, from the seed of the run."""
    return np.random.default_rng([request.config.seed, *map(ord, name_of(request.node))])


def repeat_entropy(monkeypatch, text):
    """Let generators without a seed start from ``text``."""
    monkeypatch.setattr(np.random.bit_generator, "randbits", random.Random(text).getrandbits)


@pytest.fixture
def rng(request):
    """A generator that differs between tests."""
    return generator(request)


@pytest.fixture(scope="module")
def module_rng(request):
    """A generator for the fixtures of a module."""
    return generator(request)


@pytest.fixture(autouse=True)
def entropy(request, monkeypatch):
    """Entropy of the generators to which nobody gave a seed, in pages, examples and the code under test, too."""
    repeat_entropy(monkeypatch, f"{request.config.seed} {name_of(request.node)}")


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """BLAS in one thread: those of several processes wait for each other, half the time of some oracles."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def quiet_progress(monkeypatch):
    """No lines of progress, which slow machines would have, unless a test asks for them."""
    monkeypatch.setattr(progress, "SILENT", threading.TIMEOUT_MAX)
    monkeypatch.setattr(progress, "FIRST", math.inf)
    monkeypatch.setattr(progress, "LONG", math.inf)
    monkeypatch.setattr(progress, "compiling", lambda: None)


@pytest.fixture(autouse=True)
def chains_in_turn(monkeypatch):
    """Chains one after the other, unless a test asks for more: threads of kernels in Python wait for each other, too.

    Draws are the same for any number of threads: tests/unit/runs/test_run.py, and for every kernel
    tests/statistical/test_properties.py.
    """
    monkeypatch.setattr(threads, "cpu_count", lambda: 1)


@pytest.fixture(scope="session")
def data_folder():
    """Folder with the real data sets (environment variable BAYESMRF_DATA); skips where it is not set, fails so in
    CI."""
    folder = os.environ.get("BAYESMRF_DATA")
    if not folder:
        if os.environ.get("CI"):
            pytest.fail("BAYESMRF_DATA is not set: CI must run the tests on real data")
        pytest.skip("BAYESMRF_DATA is not set: the real data sets are not here")
    return Path(folder)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder of the command."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bayesmrf(folder, capsys):
    """Give a command; returns exit code, standard output, standard error, which names options of the command only."""
    commands = typer.main.get_command(app).commands

    def give(*arguments):
        words = [str(a) for a in arguments]
        code = cli.run(words)
        out, err = capsys.readouterr()
        if words and words[0] in commands and words[0] != "collect":  # which speaks of the command of the tasks
            options = [o for p in commands[words[0]].params for o in (*p.opts, *p.secondary_opts)]
            named = re.findall(r"(?<![\w-])--[a-z][a-z-]*", err)
            given = " ".join(words)
            unknown = [flag for flag in named if flag not in (*options, "--help", "--array") and flag not in given]
            assert not unknown, err
        return code, out, err

    return give


@pytest.fixture
def votes(folder, rng):
    """60 observations of five named nodes."""
    table = pd.DataFrame(rng.integers(0, 2, (60, 5)), columns=["Ann", "Bob", "Cid", "Dot", "Eve"])
    table.iloc[0], table.iloc[1] = 0, 1  # no column is constant
    table.to_csv("votes.csv", index=False)
    return table


def is_silent(result):
    """Whether a command ended well and said nothing, but that its few draws have not converged."""
    code, out, err = result
    return (code, out) == (0, "") and (
        not err or (err.startswith(("warning: Not converged: ", "warning: Not judged: ")) and err.count("\n") == 1)
    )
