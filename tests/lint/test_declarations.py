"""An option is declared once: at the field of the class that users give."""

import inspect
import re
import warnings
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
    PanelMRF,
    SpikeSlabMRF,
    methods,
    priors,
)
from bayesmrf.cli.app import whole
from bayesmrf.cli.common import checked, own_options
from bayesmrf.cli.flags import command
from bayesmrf.declare.option import option, options_of
from bayesmrf.declare.registries import Registry
from bayesmrf.declare.rule import number
from bayesmrf.errors import BayesMRFWarning, OptionError
from bayesmrf.evidence.methods import parts
from bayesmrf.inference.registry import ROWS
from bayesmrf.methods import COMPARISONS, EDGES, EVIDENCE, GROUPS
from bayesmrf.parameters import SpikeSlabParameters
from bayesmrf.results.summary import StructureSummary
from docs import make_api
from tests import tables
from tests.helpers.posterior_tree import structure_tree

ESTIMATORS = (GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF, PanelMRF, LabelFieldMRF, MaximumLikelihoodMRF, RBM)
CLASSES = {row.options for rows in (GROUPS, EDGES, COMPARISONS, methods.KERNELS) for row in rows}


OTHERS = {row.engine_class for row in ROWS} | {type(part) for row in EVIDENCE for part in parts(row.method)}
OTHERS |= {getattr(priors, name) for name in priors.__all__ if not name.endswith("Prior")} - {priors.Slab}  # a base
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


READ = {LabelFieldMRF: set(), MaximumLikelihoodMRF: {"graph", "ties"}}  # without a command, checked where they are read


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_of_estimators_are_declared_at_their_fields(kind):
    names, declared = {f.name for f in fields(kind)}, options_of(kind)
    assert names - READ.get(kind, set()) == {*declared}
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
    said = " ".join(said.replace("│", " ").split("Options of damped")[1].split())
    assert "Share of the speed that is lost. [default: 0.1]" in said


# ---- parameters of estimators

COMMANDS = {
    "groups": GroupedMRF,
    "posterior": BayesianMRF,
    "structure": SpikeSlabMRF,
    "compare": CompareMRF,
    "panel": PanelMRF,
}
# Parameters whose flags are not made from their fields, and why.
BY_HAND = {
    "prior": "its fields are the flags: --density, --slab, --bias-scale, --alpha, --base, --prior-scale",
    "fields": "three values of two flags, --fields and --field-groups",
    "random_state": "--seed of all commands, those without a sampler, too",
    "executor": "--cluster connects to it",
    "checkpoint": "the folder --out",
    "progress": "--quiet",
    "columns": "--columns of every command that reads a table",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_of_an_estimator_has_a_flag(name):
    """Made from its field, or by hand for a reason."""
    flags = {option.name: option.help for option in whole(name).params if option.param_type_name == "option"}
    for parameter, declared in options_of(COMMANDS[name]).items():
        if parameter in BY_HAND:
            assert not declared.help
        else:
            assert flags[parameter].startswith(declared.help), parameter


def test_every_flag_made_by_hand_exists():
    every = {flag for name in COMMANDS for option in whole(name).params for flag in option.opts}
    assert set(re.findall("--[a-z-]+", " ".join([*BY_HAND.values(), "--cluster"]))) <= every


@dataclass(eq=False, repr=False)
class LikelyParameters(SpikeSlabParameters):
    likely: float = option(
        0.5, number(0, 1, good=(0.01, 0.99)), "Inclusion above which an edge is drawn.", label="likely edges"
    )


@dataclass(eq=False, repr=False)
class LikelyMRF(LikelyParameters, SpikeSlabMRF):
    """Posterior over edges with a new option.

    Parameters
    ----------
    candidates, prior, method, model
        As in `SpikeSlabMRF`.
    """


def test_a_new_option_of_an_estimator_is_checked_documented_stored_and_shown(rng, monkeypatch):
    X, few = rng.integers(0, 2, (40, 2)), {"n_draws": 4, "n_warmup": 2, "n_chains": 1, "progress": False}
    assert "\nlikely : float\n    Inclusion above which an edge is drawn." in inspect.getdoc(LikelyMRF)
    assert any("likely = 0.5`, a number in (0, 1): Inclusion above" in line for line in make_api.options(LikelyMRF))
    assert "\nn_draws : " not in inspect.getdoc(SpikeSlabMRF)  # which is said in other words
    with pytest.raises(OptionError, match=r"^likely must be a number in \(0, 1\), got 2\.$"):
        LikelyMRF(likely=2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        tree = LikelyMRF(likely=0.75, model="boltzmann", **few).fit(X).posterior_
    monkeypatch.setattr(StructureSummary, "parameters", LikelyParameters)
    assert StructureSummary(tree).options["likely edges"] == "0.75"


def test_a_new_option_of_an_estimator_has_a_flag():
    import typer

    settled = []

    @command
    def structure(*, given: Annotated[dict[str, Any], LikelyParameters]) -> None:
        """Find edges."""
        settled.append(checked(LikelyParameters, **given))

    app = typer.Typer()
    app.command()(structure)
    assert CliRunner().invoke(app, ["--likely", "0.9"]).exit_code == 0
    assert settled == [{"candidates": "complete", "method": "auto", "model": "auto", "likely": 0.9}]
    assert isinstance(CliRunner().invoke(app, ["--likely", "2"]).exception, OptionError)
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}).output
    assert re.search(
        r"--likely +<float> +Inclusion above which an edge is drawn\. +\[default: 0\.5\]",
        " ".join(text.replace("│", " ").split()),
    )
