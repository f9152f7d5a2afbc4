"""The command ``bayesmrf posterior``: one posterior of the parameters, or several beside each other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import ConstantColumnWarning, OptionError
from ..options import OPTIONS
from . import common
from .common import Chains, Draws, Drop, Jobs, MissingCode, Overwrite, Quiet, Seed, Thin, Warmup, Weight

if TYPE_CHECKING:
    from rich.console import Console

    from ..graphs import Graph

# The kernel that suits an engine.
SUITS = {
    **dict.fromkeys(("exact", "elimination", "enumeration", "mean-field", "tree", "bethe"), "metropolis"),
    **dict.fromkeys(("brief", "persistent", "from-exact"), "langevin"),
    **dict.fromkeys(("gibbs", "cftp", "swendsen-wang"), "exchange"),
    "pseudo-likelihood": "pseudo-posterior",
}
# The engine that belongs to a kernel where exact answers are too dear.
_OWN = {"metropolis": "bethe", "langevin": "brief", "exchange": "gibbs", "auxiliary-variable": "gibbs"}
_LONG_RUNS = ("gibbs", "swendsen-wang")  # engines whose samples need many sweeps
_FLAG = {"n_sweeps": "--n-sweeps", "n_particles": "--n-particles"}


class Choice(NamedTuple):
    """A kernel and its engine, by the name they are given; without an engine the kernel's own."""

    name: str
    kernel: str
    engine: str | None


def posterior(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False, "
            "empty where a value is missing. May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[str, typer.Option(metavar="EDGES.csv|complete|learn:K", help=common.GRAPH_HELP)] = "complete",
    model: Annotated[
        str,
        typer.Option(
            metavar="boltzmann|ising|agreement|potts",
            help="Coding of the parameters: weights and biases over 0/1; couplings and fields over -1/+1; logits of "
            "agreements, and fields; couplings and fields of nodes with more than two states.",
        ),
    ] = "boltzmann",
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="metropolis|langevin|exchange|auxiliary-variable|pseudo-posterior",
            help="How the parameters move. [dim]\\[default: metropolis][/dim]",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is said of the normaliser: exact, enumeration, mean-field, tree, bethe, brief, persistent, "
            "pseudo-likelihood; for exchange and auxiliary-variable gibbs, swendsen-wang, cftp and the exact ones. "
            "[dim]\\[default: exact where cheap, else what suits the kernel][/dim]",
        ),
    ] = None,
    hidden_engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The same where values are missing: exact, mean-field, tree, bethe, persistent, cftp. "
            "[dim]\\[default: exact where cheap, else persistent][/dim]",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Run several and lay their marginals over each other. A name is an engine, which is run with the "
            "kernel that suits it, a kernel, or KERNEL+ENGINE.",
        ),
    ] = None,
    prior_scale: Annotated[float, typer.Option(help="Standard deviation of the normal prior of an edge.")] = 1.0,
    bias_scale: Annotated[
        float | None, typer.Option(help="The same of a node. [dim]\\[default: --prior-scale][/dim]")
    ] = None,
    step_size: Annotated[
        float | None, typer.Option(help="Size of random walk steps. [dim]\\[default: adapted during warm-up][/dim]")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Step of langevin. [dim]\\[default: adapted with --adjusted, else short enough][/dim]"),
    ] = None,
    alpha: Annotated[
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
        bool, typer.Option("--adjusted", help="Accept or reject langevin's steps; the engine must answer log Z.")
    ] = False,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="Bring pseudo-posterior to the true mode and scale.")
    ] = False,
    n_sweeps: Annotated[
        int | None,
        typer.Option(min=1, help="Gibbs sweeps of the engine. [dim]\\[default: 1; gibbs, swendsen-wang: 50][/dim]"),
    ] = None,
    n_particles: Annotated[
        int | None,
        typer.Option(
            min=1, help="Chains of brief and persistent. [dim]\\[default: one an observation; persistent: 1024][/dim]"
        ),
    ] = None,
    n_draws: Draws = 3000,
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
            help="Folder for the result, kept as it grows. [dim]\\[default: TABLE.zarr; TABLE-compare with --compare]"
            "[/dim]"
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Sample the posterior of the parameters.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from ..tables import read_votes

    console = common.new_console(quiet)
    options = common.checked(
        "BayesianMRF",
        model=model,
        hidden_engine=hidden_engine,
        prior_scale=prior_scale,
        bias_scale=bias_scale,
        n_draws=n_draws,
        n_warmup=n_warmup,
        n_chains=n_chains,
        thin=thin,
        n_jobs=n_jobs,
    )
    if kernel is not None:
        common.checked("BayesianMRF", kernel=kernel)
    if engine is not None:
        common.checked("BayesianMRF", engine=engine)
    if compare is not None and (kernel or engine):
        raise OptionError("--compare: it names kernels and engines itself; leave out --kernel and --engine")
    stem = common.stem_of(table)
    if compare is None:
        choices = [Choice("", kernel or "metropolis", engine)]
        out = out or Path(f"{stem}.zarr")
        common.check_out(out, overwrite)
    else:
        choices = [_choice(name.strip()) for name in compare.split(",")]
        twice = next((c.name for i, c in enumerate(choices) if c in choices[:i]), None)
        if twice is not None:
            raise OptionError(option="--compare", got=compare, expected="different names", remedy=f"{twice} is twice")
        out = out or Path(f"{stem}-compare")
    given: dict[str, Any] = {"step_size": step_size, "epsilon": epsilon, "alpha": alpha, "precondition": precondition}
    given |= {"adjusted": adjusted, "corrected": corrected, "n_sweeps": n_sweeps, "n_particles": n_particles}
    given = common.checked("BayesianMRF", **{k: v for k, v in given.items() if v is not None and v is not False})
    data, weights = read_votes(table, weight, drop or (), missing_code or ())
    with common.about_file(table):
        edges = _graph(graph, data, weights, console, not quiet)
    levels = _levels(data) if model == "potts" else None
    choices = [c if c.engine else c._replace(engine=_engine_of(c.kernel, edges, levels)) for c in choices]
    _check_used(given, choices)

    from ..estimators import BayesianMRF
    from ..summary import ParameterSummary
    from .compare import Job, run_all
    from .show import show

    def estimator(choice: Choice, path: Path) -> BayesianMRF:
        return BayesianMRF(
            graph=edges,
            kernel=choice.kernel,
            engine=str(choice.engine),
            **_options(choice, given),
            **options,
            random_state=seed,
            progress=not quiet,
            checkpoint=path,
            overwrite=overwrite,
        )

    def write(tree: Any, path: Path, **more: Any) -> None:
        common.finish(tree, path, table, context.obj, graph=graph, **more)

    if compare is not None:
        jobs_to_do = [Job(c.name, path := out / f"{c.name}.zarr", estimator(c, path)) for c in choices]
        run_all(jobs_to_do, data, weights, table, out, overwrite, console, write)
        return
    tree = common.sample(estimator(choices[0], out), data, weights, table, out, console, instead="--engine bethe")
    write(tree, out)
    show(ParameterSummary(tree), console)
    common.point_to_report(out, console)


def _choice(name: str) -> Choice:
    """A name of --compare."""
    kernel, plus, engine = name.partition("+")
    if plus:
        OPTIONS["BayesianMRF.kernel"].check("--compare", kernel)
        OPTIONS["BayesianMRF.engine"].check("--compare", engine)
        return Choice(name, kernel, engine)
    if name in SUITS:
        return Choice(name, SUITS[name], name)
    if name in (*_OWN, "pseudo-posterior"):
        return Choice(name, name, None)
    raise OptionError(
        f"--compare: {name!r} came; give engines ({', '.join(SUITS)}), kernels, or KERNEL+ENGINE, separated by commas"
    )


def _graph(text: str, data: Any, weights: Any, console: Console, progress: bool) -> Graph:
    """The graph itself, so that several runs learn it once and engines can be chosen by it."""
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
        warnings.simplefilter("ignore", ConstantColumnWarning)  # the fit says it
        states = check_states(data, weights)
    return learn_graph(states, int(found.partition(":")[2]), progress=progress)


def _levels(data: Any) -> int:
    """States of a node of the Potts model; what is wrong with the data, the fit says."""
    import pandas as pd

    top = data.apply(pd.to_numeric, errors="coerce").max().max()
    return max(2, int(top) + 1) if top < 2**7 else 2


def _engine_of(kernel: str, graph: Graph, n_states: int | None = None) -> str:
    """The engine that belongs to a kernel: exact where that is cheap."""
    from ..inference.auto import is_cheap

    if kernel == "pseudo-posterior":
        return "pseudo-likelihood"
    return "exact" if is_cheap(graph, n_states) else _OWN.get(kernel, "exact")


def _used(choice: Choice) -> tuple[str, ...]:
    """Options that a kernel and its engine look at."""
    from ..summary.parameters import ENGINE_OPTIONS, KERNEL_OPTIONS

    engine = () if choice.kernel == "pseudo-posterior" else ENGINE_OPTIONS.get(str(choice.engine), ())
    return (*KERNEL_OPTIONS.get(choice.kernel, ()), *engine)


def _check_used(given: dict[str, Any], choices: Sequence[Choice]) -> None:
    """Refuse options that would do nothing."""
    for name in given:
        if not any(name in _used(c) for c in choices):
            methods = " or ".join(f"{c.kernel} with {c.engine}" for c in choices)
            flag = _FLAG.get(name, "--" + name.replace("_", "-"))
            raise OptionError(f"{flag}: it means nothing to {methods}; leave it out")


def _options(choice: Choice, given: dict[str, Any]) -> dict[str, Any]:
    """The options given that matter to this choice, and defaults that depend on it."""
    found = {name: value for name, value in given.items() if name in _used(choice)}
    if choice.engine in _LONG_RUNS:
        found.setdefault("n_sweeps", 50)
    return found
