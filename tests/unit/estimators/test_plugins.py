"""Plug-ins: a package of a user, made from its page, and the published samplers in an installed wheel."""

import ast
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bayesmrf import GroupedMRF, methods, plugins
from bayesmrf.errors import OptionError
from bayesmrf.evidence import methods as evidence_methods
from tests import ROOT
from tests.lint.test_architecture import FILES, SOURCE, modules

PAGE = (ROOT / "docs" / "add_a_kernel.md").read_text()
METADATA = "Metadata-Version: 2.1\nName: birth-and-death\nVersion: 1.0\n"
IMPORTS = """from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from bayesmrf.base import LOG_Z
from bayesmrf.likelihood import Likelihood
"""
CHANGES = {  # of the example of the page
    "class BirthAndDeath": "class Kernel",
    "    prior: SpikeSlab\n": "    prior: SpikeSlab\n    walk: float\n",
    "0.7 * rng": "self.walk * rng",
}
USED = """
import sys
import numpy as np
from bayesmrf import SpikeSlabMRF, cli, methods, priors, support, write_report
assert "birth_and_death.kernel" not in sys.modules
x = np.array({x})
run = dict(prior=priors.SpikeSlab(0.5, priors.Normal(1.0)), n_draws=100, n_chains=2, random_state=1, progress=False)
assert support().loc[("SpikeSlabMRF", "boltzmann", "spike and slab"), "birth-and-death"] == "exact"
assert SpikeSlabMRF(method="birth-and-death", **run).fit(x).posterior_.attrs["walk"] == 0.7
est = SpikeSlabMRF(method=methods.BirthAndDeath(walk=0.5), **run).fit(x)
assert (est.method_, est.posterior_.attrs["kind"], est.posterior_.attrs["walk"]) == ("birth-and-death", "exact", 0.5)
write_report(est, "page.html")
page = open("page.html").read()
assert "Step of the walk" in page and "births from the slab, deaths" in page
assert cli.run(["structure", "--help"]) == 0
"""


def python(code, folder, *places):
    """The output of a program that finds packages in some folders before those of the environment."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places)), "COLUMNS": "200", "NO_COLOR": "1"}
    environment["PYTHONWARNINGS"] = "default"
    command = [sys.executable, "-P", "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert out.returncode == 0, out.stderr
    return out.stdout


def block(start):
    """The code of the page from a line on."""
    return PAGE.partition(f"```python\n{start}")[2].partition("```")[0]


@pytest.fixture
def package(tmp_path):
    """An installed package with the plug-in of the page; its kernel is that of the page, with the step of the walk."""
    home = tmp_path / "site" / "birth_and_death"
    home.mkdir(parents=True)
    (home / "__init__.py").touch()
    (home / "plugin.py").write_text(block("# birth_and_death/plugin.py\n"))
    example = block("from bayesmrf import SpikeSlabMRF, methods\n").partition("\noptions =")[0]
    for old, new in CHANGES.items():
        assert old in example
        example = example.replace(old, new)
    (home / "kernel.py").write_text(IMPORTS + example + block("# birth_and_death/kernel.py\n"))
    about = tmp_path / "site" / "birth_and_death-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA)
    point = PAGE.partition('[project.entry-points."bayesmrf.plugins"]\n')[2].partition("\n")[0]
    (about / "entry_points.txt").write_text("[bayesmrf.plugins]\n" + point.replace('"', "") + "\n")
    return tmp_path / "site"


def test_a_package_of_a_user_adds_a_method(package, tmp_path, rng):
    """Its name, options, flag with help, support, report; without it there is no such method."""
    out = python(USED.format(x=rng.integers(0, 2, (60, 3)).tolist()), tmp_path, package, ROOT / "src")
    words = " ".join(out.replace("│", " ").split())
    assert "--walk" in words
    assert "Standard deviation of the walk of a weight." in words.split("Options of birth-and-death")[1]
    assert "birth-and-death: a small example" in words
    assert "birth-and-death" not in methods.EDGES.names


FAILS = """
import warnings
with warnings.catch_warnings(record=True) as found:
    from bayesmrf import methods
    print(methods.EDGES.names)
print(found[0].message)
"""


def test_a_plugin_that_fails_is_named(package, tmp_path):
    """All else works."""
    (package / "birth_and_death" / "plugin.py").write_text("import no_such_module\n")
    names, problem = python(FAILS, tmp_path, package, ROOT / "src").splitlines()
    assert "langevin" in names
    assert problem.startswith("The plug-in birth_and_death.plugin cannot be imported: No module named 'no_such_module'")


LISTED = """
import sys
from bayesmrf.cli import run
run(["--help"])
print("numpy" in sys.modules, "birth_and_death.plugin" in sys.modules)
"""


def test_commands_are_listed_without_numpy(package, tmp_path):
    assert python(LISTED, tmp_path, package, ROOT / "src").splitlines()[-1] == "False True"


def test_names_are_registered_once():
    with pytest.raises(OptionError, match=r"^method.name must be none of 'tree', .*, got 'tree'\.$"):
        methods.GROUPS.register(methods.GROUPS.row("tree"))
    with pytest.raises(AttributeError, match="NoSuchMethod"):
        methods.NoSuchMethod  # noqa: B018


def test_the_old_name_of_methods_of_evidence():
    with pytest.warns(FutureWarning, match=r"METHODS is now bayesmrf\.methods\.EVIDENCE"):
        known = evidence_methods.METHODS
    assert list(known) == list(methods.EVIDENCE.names)
    assert isinstance(known["harmonic-4"].method, evidence_methods.HarmonicMean)
    with pytest.raises(AttributeError, match="NoSuchMethod"):
        evidence_methods.NoSuchMethod  # noqa: B018


def names_published(path):
    """Whether a module outside of the plug-in imports it, or names one of its modules in code."""
    texts = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
    named = any(str(text).startswith("bayesmrf.published") and " " not in str(text) for text in texts)
    outside = "published" not in path.relative_to(SOURCE).parts
    return outside and (named or any(m[0] == "published" for m in modules(path, typing=True)))


def test_only_the_door_names_the_published_samplers():
    """The control is the door."""
    assert [path for path in FILES if names_published(path)] == [SOURCE / "plugins.py"]
    assert plugins.INCLUDED == ("bayesmrf.published",)


INSTALLED = """
import numpy as np, bayesmrf
from bayesmrf import GroupedMRF, SpikeSlabMRF, cli, log_evidence, methods, support
print(bayesmrf.__file__)
x = np.array({x})
run = dict(n_draws=20, n_warmup=10, n_chains=2, random_state=1, progress=False)
est = GroupedMRF([(0, 1), (1, 2), (2, 0)], method="stripped-beta", **run).fit(x)
print(est.posterior_.attrs["kind"], np.asarray(est.posterior_["posterior"]["theta"]).sum())
assert GroupedMRF([(0, 1), (1, 2)], fields=False, **run).fit(x).method_ == "tree"
assert SpikeSlabMRF(method=methods.LangevinJumps(n_iterations=10), **run).fit(x).method_ == "langevin"
assert support()["stripped-beta"].iloc[0] == "approximate"
assert log_evidence("independent", x, "bic", random_state=1, progress=False).method == "bic"
np.savetxt("x.csv", x, fmt="%d", delimiter=",", header="a,b,c", comments="")
command = "groups x.csv --graph complete --method stripped-beta --n-draws 20 --n-warmup 10 --seed 1 --quiet"
assert cli.run(command.split()) == 0
"""


def test_published_samplers_of_an_installed_wheel(tmp_path, rng):
    """They are in the wheel, and have the draws of the source."""
    pytest.importorskip("setuptools", minversion="77")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src" / "bayesmrf", source / "src" / "bayesmrf")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", source], check=True)
    x = rng.integers(0, 2, (50, 3))
    out = python(INSTALLED.format(x=x.tolist()), tmp_path, tmp_path / "site")
    assert out.startswith(str(tmp_path / "site")), out
    run = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
    est = GroupedMRF([(0, 1), (1, 2), (2, 0)], method="stripped-beta", **run).fit(x)
    assert f"approximate (stripped Beta likelihood) {np.asarray(est.posterior_['posterior']['theta']).sum()}" in out
