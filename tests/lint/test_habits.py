"""Tools that run the same checks agree with each other."""

import ast

import yaml

from tests import ROOT


def test_nox_runs_what_ci_runs():
    names = {}
    for node in ast.parse((ROOT / "noxfile.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names[ast.unparse(node.targets[0])] = node.value.value
    before, install, checks = (ROOT / ".ci" / "run").read_text().partition(names["INSTALL"])
    assert install
    assert "venv" in before
    assert checks.splitlines() == ["pytest", "ruff check", "ruff format --check", "mypy"]


def test_workflows_and_hooks_are_of_known_form():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["lint"]["steps"] if "run" in step]
    assert runs[1:] == ["ruff check", "ruff format --check", "mypy"]
    assert workflow["jobs"]["tests"]["steps"][-1] == {"run": "pytest"}
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"].split()[0] for hook in hooks] == ["ruff", "ruff", "python", "mypy"]
