"""The command ``bayesmrf posterior``: the posterior of the parameters by one method, or by several to compare."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .. import rules
from ..errors import ConstantColumnWarning, OptionError
from ..families import families_of
from ..inference.registry import NAMES, engine_of, row_of
from ..kernels import KERNELS, Phases
from . import common
from .common import Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight

if TYPE_CHECKING:
    from rich.console import Console

    from ..graphs import Graph

# The default engine of a kernel where exact inference is too expensive.
_OWN = dict.fromkeys(["auto", "hamiltonian", "metropolis"], "bethe") | {"langevin": "brief"}
_OWN |= dict.fromkeys(["exchange", "auxiliary-variable"], "gibbs")
# Options of engines that the flags set.
_ENGINE_FLAGS = {"--n-sweeps": ("n_sweeps",), "--n-particles": ("n_chains", "n_samples")}


class Choice(NamedTuple):
    """A kernel (or "auto") and its engine, with their name in --compare; without an engine, the kernel's default."""

    name: str
    kernel: str
    engine: str | None

    @property
    def label(self) -> str:
        """Both in words."""
        return f"{'the fastest kernel' if self.kernel == 'auto' else self.kernel} with {self.engine}"


def posterior(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv",
            help="Table with one row per observation and one column per node, named in the first line; 0/1, -1/+1 or "
            "True/False; missing values are empty. May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[str, typer.Option(metavar="EDGES.csv|complete|learn:K", help=common.GRAPH_HELP)] = "complete",
    model: Annotated[
        str,
        typer.Option(
            metavar="|".join(families_of("BayesianMRF").names),
            help="Coding of the parameters: weights and biases over 0/1; couplings and fields over -1/+1; logits of "
            "agreements, and fields; couplings and fields of nodes with more than two states.",
        ),
    ] = "boltzmann",
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="all|edges|LABELS.csv",
            help="Shared parameters: all (one for all edges, one for all nodes); edges (one for all edges); or a file "
            "with a label for each edge (two ends and a label) or node (a name and a label). Equal labels are tied. "
            "[dim]\\[default: none][/dim]",
        ),
    ] = None,
    kernel: Annotated[
        str,
        typer.Option(
            metavar="|".join(["auto", *KERNELS.names]),
            help="Kernel that updates the parameters; auto is the fastest that engine and data allow: gibbs, "
            "hamiltonian, metropolis, exchange or langevin.",
        ),
    ] = "auto",
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"How the normaliser is computed or approximated: {', '.join(NAMES)}. Exchange and auxiliary-variable "
            "take gibbs, tempered, swendsen-wang, cftp and the exact ones. "
            "[dim]\\[default: exact if cheap, else depends on the kernel][/dim]",
        ),
    ] = None,
    hidden_engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The same for missing values: exact, mean-field, tree, bethe, persistent, cftp. "
            "[dim]\\[default: exact if cheap, else persistent][/dim]",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Run several methods and plot their marginals together. A name is an engine (run with the kernel that "
            "suits it), a kernel, or KERNEL+ENGINE.",
        ),
    ] = None,
    prior_scale: Annotated[float, typer.Option(help="Standard deviation of the normal prior of an edge.")] = 1.0,
    bias_scale: Annotated[
        float | None, typer.Option(help="The same for a node. [dim]\\[default: --prior-scale][/dim]")
    ] = None,
    step_size: Annotated[
        float | None, typer.Option(help="Step size of the random walk. [dim]\\[default: adapted during warm-up][/dim]")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Step size of langevin. [dim]\\[default: adapted with --adjusted, else from the mode][/dim]"),
    ] = None,
    momentum: Annotated[
        float | None, typer.Option(help="Share of langevin's momentum that is kept. [dim]\\[default: 0][/dim]")
    ] = None,
    precondition: Annotated[
        bool,
        typer.Option(
            "--precondition",
            help="Scale langevin's steps by the covariance at the mode. [dim]\\[default: without --epsilon][/dim]",
        ),
    ] = False,
    adjusted: Annotated[
        bool, typer.Option("--adjusted", help="Accept or reject langevin's steps; the engine must compute log Z.")
    ] = False,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="Correct pseudo-posterior to the mode and scale of the posterior.")
    ] = False,
    n_sweeps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Gibbs sweeps of the engine. [dim]\\[default: 1; gibbs, swendsen-wang: 100; tempered: 200][/dim]",
        ),
    ] = None,
    n_particles: Annotated[
        int | None,
        typer.Option(
            min=1, help="Chains of brief and persistent. [dim]\\[default: one per observation; persistent: 1024][/dim]"
        ),
    ] = None,
    n_draws: Draws = 1000,
    n_warmup: Warmup = 500,
    n_chains: Chains = 4,
    thin: Thin = 1,
    weight: Weight = None,
    drop: Drop = None,
    missing_code: MissingCode = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the result, written during the run. "
            "[dim]\\[default: TABLE.zarr; TABLE-compare with --compare][/dim]"
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Sample the posterior of the parameters.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..priors import WeightsAndBiases
    from ..tables import read_labels, read_votes

    console = common.new_console(quiet)
    options = common.checked(
        "BayesianMRF",
        model=model,
        n_draws=n_draws,
        n_warmup=n_warmup,
        n_chains=n_chains,
        thin=thin,
        n_jobs=n_jobs,
    )
    common.check({"prior_scale": prior_scale, "bias_scale": prior_scale if bias_scale is None else bias_scale})
    options["prior"] = WeightsAndBiases(prior_scale, prior_scale if bias_scale is None else bias_scale)
    rules.choice("auto", *KERNELS.names).check("kernel", kernel)
    for option, name in (("--engine", engine), ("--hidden-engine", hidden_engine)):
        if name is not None:
            row_of(name, option)
    if compare is not None and (kernel != "auto" or engine):
        raise OptionError(
            "--compare does not support --kernel and --engine; name them in --compare, such as langevin+brief."
        )
    stem = common.stem_of(table)
    if compare is None:
        choices = [Choice("", kernel, engine)]
        out = out or Path(f"{stem}.zarr")
        common.check_out(out, overwrite)
    else:
        choices = [_choice(name.strip()) for name in compare.split(",")]
        twice = next((c.name for i, c in enumerate(choices) if c in choices[:i]), None)
        if twice is not None:
            raise OptionError(option="--compare", got=compare, expected="different names", remedy=f"remove one {twice}")
        out = out or Path(f"{stem}-compare")
    given: dict[str, Any] = {
        "step_size": step_size,
        "epsilon": epsilon,
        "momentum": momentum,
        "precondition": precondition,
    }
    given |= {"adjusted": adjusted, "corrected": corrected}
    given = {k: v for k, v in given.items() if v is not None and v is not False}
    common.check({k: v for k, v in given.items() if v is not None})
    data, weights = read_votes(table, weight, drop or (), missing_code or ())
    labels = ties if ties in (None, "all", "edges") else read_labels(Path(ties), [str(c) for c in data.columns])
    with common.about_file(table):
        edges = _graph(graph, data, weights, console, not quiet)
    levels = _levels(data) if families_of("BayesianMRF").row(model).many_states else None
    choices = [c if c.engine else c._replace(engine=_engine_of(c.kernel, edges, levels)) for c in choices]
    flags = {"--n-sweeps": n_sweeps, "--n-particles": n_particles}
    particular = {flag: value for flag, value in flags.items() if value is not None}
    _check_used(given, particular, choices)

    from ..estimators import BayesianMRF
    from ..store import Checkpoint
    from ..summary import ParameterSummary
    from .compare import Job, run_all
    from .show import show

    def estimator(choice: Choice, path: Path) -> BayesianMRF:
        found = _engine_with(str(choice.engine), particular)
        return BayesianMRF(
            graph=edges,
            ties=labels,
            kernel=_kernel_with(choice, given),
            engine=found if hidden_engine is None else Phases(found, hidden_engine),
            **options,
            random_state=seed,
            progress=not quiet,
            checkpoint=Checkpoint(path, overwrite),
        )

    def write(tree: Any, path: Path, **more: Any) -> None:
        common.finish(tree, path, table, context.obj, graph=graph, **more)

    if compare is not None:
        jobs_to_do = [Job(c.name, c.label, path := out / f"{c.name}.zarr", estimator(c, path)) for c in choices]
        run_all(jobs_to_do, data, weights, table, out, overwrite, console, write)
        return
    tree = common.sample(estimator(choices[0], out), data, weights, table, out, console, instead="--engine bethe")
    write(tree, out)
    show(ParameterSummary(tree), console)
    common.point_to_report(out, console)


def _choice(name: str) -> Choice:
    """Return the kernel and engine of a name in --compare."""
    kernel, plus, engine = name.partition("+")
    if plus:
        rules.choice(*KERNELS.names).check("--compare", kernel)
        row_of(engine, "--compare")
        return Choice(name, kernel, engine)
    if name in NAMES:
        return Choice(name, "auto", name)
    if name in KERNELS.names:
        return Choice(name, name, None)
    expected = f"engines ({', '.join(NAMES)}), kernels, or KERNEL+ENGINE, separated by commas"
    raise OptionError(option="--compare", got=name, expected=expected)


def _graph(text: str, data: Any, weights: Any, console: Console, progress: bool) -> Graph:
    """Return the graph, which is learnt once for all runs and decides which engines are exact."""
    from .. import graphs
    from ..learning.sparse import learn_graph
    from ..states import check_states

    names = [str(c) for c in data.columns]
    found = common.edges_of(text, names, console)
    if not isinstance(found, str):
        return graphs.from_edges(found, names)
    if found == "complete":
        return graphs.complete(len(names), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)  # the fit warns
        states = check_states(data, weights)
    return learn_graph(states, int(found.partition(":")[2]), progress=progress)


def _levels(data: Any) -> int:
    """Return a bound of the number of states of a node; the fit checks the data."""
    import pandas as pd

    top = data.apply(pd.to_numeric, errors="coerce").max().max()
    return max(2, int(top) + 1) if top < 2**7 else 2


def _engine_of(kernel: str, graph: Graph, n_states: int | None = None) -> str:
    """Return the default engine of a kernel: exact if that is cheap."""
    from ..inference.auto import is_cheap

    if kernel == "pseudo-posterior":
        return "pseudo-likelihood"
    return "exact" if is_cheap(graph, n_states) else _OWN.get(kernel, "exact")


def _used(choice: Choice) -> tuple[str, ...]:
    """Return the names of the options of a kernel; "auto" has none."""
    if choice.kernel == "auto":
        return ()
    return tuple(f.name for f in fields(KERNELS.row(choice.kernel).options) if f.name != "start")


def _kernel_with(choice: Choice, given: dict[str, Any]) -> Any:
    """Return the kernel with those of the options that it has, or "auto"."""
    if choice.kernel == "auto":
        return "auto"
    return KERNELS.build(choice.kernel, {name: v for name, v in given.items() if name in _used(choice)})


def _engine_options(engine: str | None, given: dict[str, int]) -> dict[str, int]:
    """Return the options of an engine that the flags set."""
    has = row_of(str(engine)).options
    return {name: value for flag, value in given.items() for name in _ENGINE_FLAGS[flag] if name in has}


def _engine_with(engine: str, given: dict[str, int]) -> Any:
    """Return the engine's name, or the engine with the options given."""
    options: dict[str, Any] = _engine_options(engine, given)
    return engine_of(engine, **options) if options else engine


def _check_used(given: dict[str, Any], particular: dict[str, int], choices: Sequence[Choice]) -> None:
    """Raise OptionError for an option that would have no effect."""
    methods = " or ".join(c.label for c in choices)
    unused = ["--" + name.replace("_", "-") for name in given if not any(name in _used(c) for c in choices)]
    for flag, value in particular.items():
        if not any(_engine_options(c.engine, {flag: value}) for c in choices):
            unused.append(flag)
    remedy = "name a kernel, or remove it" if any(c.kernel == "auto" for c in choices) else "remove it"
    for flag in unused:
        raise OptionError(f"{flag} has no effect on {methods}; {remedy}.")
