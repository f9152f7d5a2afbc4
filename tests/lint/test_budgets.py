"""Budgets of the sources: numbers that may only fall, so that the package does not become harder to live in."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bayesmrf
from benchmarks import house

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
BUDGETS = tomllib.loads((ROOT / "tests" / "lint" / "budgets.toml").read_text(encoding="utf-8"))
COUNTS = house.counts(ROOT)


def test_each_rule_has_a_budget():
    assert set(COUNTS) == set(BUDGETS["counts"])


@pytest.mark.parametrize("rule", COUNTS)
def test_counts_do_not_rise(rule):
    assert COUNTS[rule] <= BUDGETS["counts"][rule]


@pytest.mark.parametrize("name", BUDGETS["estimators"])
def test_estimators_do_not_gain_ancestors_or_private_names(name):
    kind = getattr(bayesmrf, name)
    ancestors, private = BUDGETS["estimators"][name]
    assert house.ancestors(kind) <= ancestors
    assert house.private_names(kind) <= private


def test_lines_of_code_do_not_rise():
    lines = house.code_lines(ROOT)
    assert lines.total() <= BUDGETS["lines"]["all"], dict(lines)


def test_a_fit_enters_no_more_modules_and_functions():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-W", "ignore", "-c", house.FIT + house.CALLS]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    modules, functions = json.loads(printed)
    assert modules <= BUDGETS["fit"]["modules"]
    assert functions <= BUDGETS["fit"]["functions"]


def test_a_raise_has_a_reason():
    assert all(isinstance(reason, str) and reason.endswith(".") for reason in BUDGETS["reasons"].values())


class TestRulesFindWhatTheyAreAbout:
    def test_classes_of_priors_and_summaries(self, tmp_path):
        rooms = tmp_path / "src" / "bayesmrf"
        (rooms / "shown").mkdir(parents=True)
        (rooms / "priors.py").write_text("class Laplace: ...\nisinstance(1, Laplace)\n")
        (rooms / "shown" / "a.py").write_text(
            "class ASummary: ...\nisinstance(1, ASummary)\nisinstance(1, (int, Laplace))\n"
        )
        (rooms / "shown" / "b.py").write_text("issubclass(int, ASummary | int)\nisinstance(1, int)\n")
        counts = house.counts(tmp_path)
        assert counts["questions after the class of a prior"] == 1
        assert counts["questions after the class of a summary"] == 1
        assert counts["questions after the class of a model"] == 0

    def test_names_of_files(self, tmp_path):
        for name in ("a", "b", "c"):
            (tmp_path / "src" / "bayesmrf" / name).mkdir(parents=True)
            (tmp_path / "src" / "bayesmrf" / name / "panel.py").touch()
            (tmp_path / "src" / "bayesmrf" / name / "shown.py").touch()
        assert set(house.repeated_names(house.sources(tmp_path))) == {"panel"}

    def test_functions(self):
        nine, ten, eleven = (", ".join(f"a{i}" for i in range(n)) for n in (9, 10, 11))
        tree = ast.parse(
            f"def f({nine}): ...\ndef g({ten}): ...\nclass A:\n    def h(self, {nine}): ...\n"
            f"@leaf()\ndef k({ten}): ...\n@strict_leaf\ndef l({eleven}): ...\n"
        )
        assert list(house.crowded(tree, is_leaf=False)) == ["g"]
        assert list(house.crowded(tree, is_leaf=True)) == ["l"]
        assert list(house.long_functions(ast.parse("def f():\n" + "    1\n" * 80))) == ["f"]
        assert not list(house.long_functions(ast.parse("def f():\n" + "    1\n" * 79)))

    def test_names(self):
        tree = ast.parse("found = 1\nfor own in (): pass\ndef f(given, edges): edges = given\n")
        assert sorted(house.empty_names(tree)) == ["found", "given", "own"]

    def test_lines(self, tmp_path):
        (tmp_path / "src" / "bayesmrf" / "posterior" / "edges").mkdir(parents=True)
        path = tmp_path / "src" / "bayesmrf" / "posterior" / "edges" / "a.py"
        path.write_text(
            '"""A file.\n\nOf two paragraphs."""\n# a comment\n\nx = 1\ndef f():\n    """Say."""\n    return x\n'
        )
        assert house.code_lines(tmp_path) == {"posterior/edges": 3}
