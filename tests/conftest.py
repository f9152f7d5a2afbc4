"""Fixtures: a fresh seed in every run (printed, and settable), and the folder of real data."""

import os
import secrets
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import cli

SEED = int(os.environ.get("BAYESMRF_TEST_SEED") or secrets.randbits(32))


def pytest_configure(config):
    # Workers of one run share the seed; it is printed so that a failure can be repeated.
    os.environ["BAYESMRF_TEST_SEED"] = str(SEED)


def pytest_report_header(config):
    return f"BAYESMRF_TEST_SEED={SEED}"


@pytest.fixture
def rng(request):
    """A generator that differs between tests and between runs."""
    name = [ord(c) for c in request.node.nodeid]
    return np.random.default_rng([SEED, *name])


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
    """Give a command; returns exit code, standard output, standard error."""

    def give(*arguments):
        code = cli.run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return give


@pytest.fixture
def votes(folder, rng):
    """60 observations of five named nodes."""
    table = pd.DataFrame(rng.integers(0, 2, (60, 5)), columns=["Ann", "Bob", "Cid", "Dot", "Eve"])
    table.iloc[0], table.iloc[1] = 0, 1  # no column is constant
    table.to_csv("votes.csv", index=False)
    return table
