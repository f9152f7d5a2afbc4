"""An option is declared once: at the field of the class that users give."""

import inspect
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import pytest
from typer.testing import CliRunner

from bayesmrf import (
    RBM,
    BayesianMRF,
    CompareMRF,
    GroupedMRF,
    LabelFieldMRF,
    MaximumLikelihoodMRF,
    SpikeSlabMRF,
    methods,
    priors,
)
from bayesmrf.cli.common import own_options
from bayesmrf.cli.flags import command
from bayesmrf.declare.option import option, options_of
from bayesmrf.declare.registry import Registry
from bayesmrf.declare.rule import number
from bayesmrf.errors import OptionError
from bayesmrf.evidence.methods import METHODS, parts
from bayesmrf.inference.registry import ROWS
from bayesmrf.methods import COMPARISONS, EDGES, GROUPS
from bayesmrf.results.summary import StructureSummary
from tests import tables
from tests.helpers.posterior_tree import structure_tree

ESTIMATORS = (GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF, LabelFieldMRF, MaximumLikelihoodMRF, RBM)
CLASSES = {row.options for rows in (GROUPS, EDGES, COMPARISONS, methods.KERNELS) for row in rows}


OTHERS = {row.engine_class for row in ROWS} | {type(part) for row in METHODS.values() for part in parts(row.method)}
OTHERS |= {getattr(priors, name) for name in priors.__all__ if not name.endswith("Prior")}
DATA = {"states", "weights", "sampler"}  # of an engine, which are no options


@pytest.mark.parametrize(
    "kind", sorted(CLASSES | OTHERS, key=str), ids=lambda kind: f"{kind.__module__}.{kind.__name__}"
)
def test_every_option_is_declared_at_its_field(kind):
    """With a rule that its default obeys, and a sentence, which the docstring has."""
    declared = options_of(kind)
    assert {f.name for f in fields(kind)} - {*declared} <= DATA
    for name in declared.keys() & inspect.get_annotations(kind).keys():
        found = declared[name]
        assert not hasattr(kind, name) or found.rule.allows(getattr(kind, name))
        assert found.help.endswith(".")
        assert f"\n{name} : " in kind.__doc__
        assert " ".join(found.help.split()) in " ".join(kind.__doc__.split())


READ = {"graph", "candidates", "ties"}  # and checked where they are read


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_of_estimators_are_declared_at_their_fields(kind):
    names, declared = {f.name for f in fields(kind)}, options_of(kind)
    assert names - READ == {*declared}
    assert all(found.rule.allows(getattr(kind, name)) for name, found in declared.items())


@pytest.mark.parametrize("name", tables.KERNELS)
def test_kernels_have_the_object_and_no_copy_of_its_fields(name):
    kernel = tables.KERNELS[name]()
    own = {f.name for f in fields(kernel)}
    if "options" in own:
        # The point at which a kernel starts follows from the curvature at the mode, and from where it is to start.
        assert own & {f.name for f in fields(kernel.options)} <= {"start"}
        assert type(kernel.options) in CLASSES


def test_kernels_with_options_are_found():
    assert sum("options" in {f.name for f in fields(tables.KERNELS[name]())} for name in tables.KERNELS) >= 5


# ---- what a new option takes: a line


@dataclass(frozen=True)
class Damped(methods.ReversibleJump):
    """Single-edge birth and death with a new option."""

    friction: float = option(0.1, number(0, 1, good=(0.01, 0.99)), "Share of the speed that is lost.", label="friction")


DAMPED = replace(EDGES.row("reversible-jump"), name="damped", options=Damped)
ROWS = Registry("method", "methods", [DAMPED, EDGES.row("exact")])


def test_a_new_option_is_checked_documented_and_shown(rng):
    assert [Damped(friction=end).friction for end in options_of(Damped)["friction"].rule.good] == [0.01, 0.99]
    with pytest.raises(OptionError, match=r"^friction must be a number in \(0, 1\), got 2\.$"):
        Damped(friction=2)
    with pytest.raises(OptionError, match=r"^epsilon must be "):
        Damped(epsilon=-1.0)
    assert inspect.getdoc(Damped).endswith("friction : float\n    Share of the speed that is lost.")

    class Shown(StructureSummary):
        row = DAMPED

    tree = structure_tree(rng)
    tree.attrs |= {"friction": 0.25}
    assert Shown(tree).options["friction"] == "0.25"


def test_a_new_option_has_a_flag():
    import typer

    found = []

    @command
    def structure(method: str = "damped", *, own: Annotated[dict[str, Any], ROWS]) -> None:
        """Find edges."""
        found.append(own_options(ROWS, method, own))

    app = typer.Typer()
    app.command()(structure)
    asked = CliRunner().invoke(app, ["--friction", "0.5", "--n-iterations", "3"])
    assert asked.exit_code == 0
    assert found == [Damped(n_iterations=3, friction=0.5)]
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}).output
    assert "damped: Share of the speed that is lost. [default: 0.1]" in " ".join(said.replace("│", " ").split())
