"""A command says what it does before the slow imports."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.stderr.isatty = lambda: True
from bayesmrf.cli import common, run
SLOW = "numba", "pandas", "xarray", "sklearn", "matplotlib"
def spy(text, quiet=False):
    print([text, *(name for name in SLOW if name in sys.modules)])
common.say_at_once = spy
import bayesmrf.cli.app
bayesmrf.cli.app.say_at_once = spy
run(sys.argv[1:])
"""


@pytest.mark.parametrize("command", ["structure", "posterior", "groups", "columns", "report", "plot"])
def test_the_first_line_comes_before_slow_imports(command, tmp_path):
    (tmp_path / "a.csv").write_text("A\n")
    words = [sys.executable, "-c", CODE, command, "a.csv"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "['reading a.csv']"


def test_the_line_is_for_terminals(capsys, monkeypatch):
    from bayesmrf.cli.common import say_at_once

    say_at_once("reading a.csv")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say_at_once("reading a.csv")
    assert capsys.readouterr().err == "reading a.csv\n"
    say_at_once("reading a.csv", quiet=True)
    assert capsys.readouterr().err == ""
