"""The command ``bayesmrf posterior``: the posterior of the parameters by one method, or by several to compare."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ..declare.option import flags_of
from ..declare.rule import SCALE, choice
from ..errors import BayesMRFWarning, OptionError
from ..families import AUTO, FAMILIES, families_of
from ..inference.registry import NAMES, ROWS, engine_of, row_of
from ..methods import KERNELS
from . import common
from .flags import GRAPH_HELP, Run, command, model_flag, observations
from .method_flags import check_given, flag


class Choice(NamedTuple):
    """A kernel and its engine (or "auto"), with their name in --compare."""

    name: str
    kernel: str
    engine: str

    @property
    def label(self) -> str:
        """Both in words."""
        return f"{'the fastest kernel' if self.kernel == 'auto' else self.kernel} with {self.engine}"


def engines() -> list[tuple[str, type]]:
    """List the names and the classes of all engines."""
    return [(row.name, row.engine_class) for row in ROWS]


@command
def posterior(
    table: Path = observations("TABLE.csv", "0/1, -1/+1 or True/False, or ordered levels; missing values are empty"),
    graph: str = flag(GRAPH_HELP, "EDGES.csv|complete|learn:K", "complete"),
    model: str = model_flag("BayesianMRF", "boltzmann"),
    ties: str | None = flag(
        "Shared parameters: all (one for all edges, one for all nodes); edges (one for all edges); or a file with a "
        "label for each edge (two ends and a label) or node (a name and a label). Equal labels are tied.",
        "all|edges|LABELS.csv",
        shown="none",
    ),
    kernel: str = flag(
        "Kernel that updates the parameters; auto is the fastest that engine and data allow: gibbs, independence, "
        "hamiltonian, metropolis, exchange or langevin.",
        "|".join(["auto", *KERNELS.names]),
        "auto",
    ),
    engine: str = flag(
        f"How the normaliser is computed or approximated: {', '.join(NAMES)}. Exchange and auxiliary-variable take "
        "gibbs, tempered, swendsen-wang, cftp and the exact ones. auto is exact if that is cheap, else persistent, "
        "with kernel langevin (of exchange and auxiliary-variable gibbs; the other kernels need exact).",
        "NAME",
        "auto",
    ),
    hidden_engine: str | None = flag(
        "The same for missing values: exact, mean-field, tree, bethe, persistent, cftp.",
        "NAME",
        shown="exact if cheap, else persistent",
    ),
    compare: str | None = flag(
        "Run several methods and plot their marginals together. A name is an engine (run with the kernel that suits "
        "it), a kernel, or KERNEL+ENGINE.",
        "NAME,NAME,...",
    ),
    prior_scale: float = flag("Standard deviation of the normal prior of an edge.", default=1.0),
    bias_scale: float | None = flag("The same for a node.", shown="--prior-scale"),
    out: Path | None = flag(
        "Folder for the result, written during the run.", shown="TABLE.zarr; TABLE-compare with --compare"
    ),
    *,
    of_kernel: Annotated[dict[str, Any], KERNELS],
    of_engine: Annotated[dict[str, Any], engines],
    run: Run,
) -> None:
    """Sample the posterior of the parameters."""
    from ..data.read import read
    from ..engines import Phases
    from ..estimators import BayesianMRF
    from ..estimators.base import read_graph
    from ..estimators.engines import refuse_unused
    from ..priors import WeightsAndBiases
    from .tables import read_labels

    options = common.checked(BayesianMRF, model=model, **run.options)
    scales = {"prior_scale": prior_scale, "bias_scale": prior_scale if bias_scale is None else bias_scale}
    for which, scale in scales.items():
        SCALE.check(which, scale)
    options["prior"] = WeightsAndBiases(*scales.values())
    choice("auto", *KERNELS.names).check("kernel", kernel)
    for option, name in (("--engine", engine), ("--hidden-engine", hidden_engine)):
        if name is not None and (name != AUTO or option == "--hidden-engine"):
            row_of(name, option, (AUTO,) if option == "--engine" else ())
    if compare is not None and (kernel, engine) != (AUTO, AUTO):
        raise OptionError(
            "--compare does not support --kernel and --engine; name them in --compare, such as langevin+brief."
        )
    if compare is not None and run.chain is not None:
        raise OptionError("--compare does not support --chain; run each method in a job of its own.")
    out = run.path(out, ".zarr" if compare is None else "-compare")
    if compare is None:
        choices = [Choice("", kernel, engine)]
        common.check_out(out, run.overwrite)
    else:
        choices = [_choice(name.strip()) for name in compare.split(",")]
        twice = next((c.name for i, c in enumerate(choices) if c in choices[:i]), None)
        if twice is not None:
            raise OptionError(option="--compare", got=compare, expected="different names", remedy=f"remove one {twice}")
    check_given(KERNELS, of_kernel)
    check_given(engines, of_engine)
    data, weights, _ = given = run.read()
    labels = ties if ties in (None, "all", "edges") else read_labels(Path(ties), [str(c) for c in data.columns])
    options["model"] = run.choose(model, given)
    family = families_of("BayesianMRF").row(options["model"])
    with common.about_file(table):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesMRFWarning)  # the fit warns
            states = read(data, weights, FAMILIES.read(run.around(options["model"])), missing=True)
        edges = read_graph(run.edges(data, graph), states, not run.quiet)  # learnt once for all runs
    built = family.options().on(edges, states.sizes, True)
    for c in choices:
        if c.kernel == "pseudo-posterior":
            refuse_unused(c.engine, "--engine" if compare is None else "--compare")
    choices = [c._replace(engine=_engine_for(c, built, of_kernel.get("adjusted", False))) for c in choices]
    _check_used(of_kernel, of_engine, choices)

    from ..results.summary import ParameterSummary
    from .compare import Job, run_all

    def estimator(choice: Choice, path: Path) -> BayesianMRF:
        kernel, found = choice.kernel, _engine_with(choice.engine, of_engine)
        if kernel != "auto":
            kernel = KERNELS.build(kernel, _kernel_options(kernel, of_kernel))
        return run.estimator(
            BayesianMRF,
            path,
            graph=edges,
            ties=labels,
            kernel=kernel,
            engine=found if hidden_engine is None else Phases(found, hidden_engine),
            **options,
        )

    if compare is not None:
        jobs = [Job(c.name, c.label, path := out / f"{c.name}.zarr", estimator(c, path)) for c in choices]
        run_all(jobs, run, data, weights, out, graph)
        return
    tree = run.sample(estimator(choices[0], out), out, given, graph=graph)
    run.show(ParameterSummary(tree), out)


def _choice(name: str) -> Choice:
    """Return the kernel and engine of a name in --compare."""
    kernel, plus, engine = name.partition("+")
    if plus:
        choice(*KERNELS.names).check("--compare", kernel)
        row_of(engine, "--compare")
        return Choice(name, kernel, engine)
    if name in NAMES:
        return Choice(name, "auto", name)
    if name in KERNELS.names:
        return Choice(name, name, AUTO)
    expected = f"engines ({', '.join(NAMES)}), kernels, or KERNEL+ENGINE, separated by commas"
    raise OptionError(option="--compare", got=name, expected=expected)


def _engine_for(choice: Choice, model: Any, adjusted: bool) -> str:
    """Return the name of the engine, chosen as by `BayesianMRF`."""
    from ..estimators.engines import suitable_engine

    if choice.engine != AUTO:
        return choice.engine
    return suitable_engine(choice.kernel, model, adjusted and choice.kernel == "langevin")


def _kernel_options(kernel: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return those of the options that a kernel has; "auto" has none."""
    has = () if kernel == "auto" else [f.name for f in fields(KERNELS.row(kernel).options)]
    return {name: value for name, value in given.items() if name in has}


def _engine_options(engine: str, given: dict[str, int]) -> dict[str, int]:
    """Return the options of an engine that the flags set."""
    has = flags_of(row_of(engine).engine_class)
    return {has[flag]: value for flag, value in given.items() if flag in has}


def _engine_with(engine: str, given: dict[str, int]) -> Any:
    """Return the engine's name, or the engine with the options given."""
    options: dict[str, Any] = _engine_options(engine, given)
    return engine_of(engine, **options) if options else engine


def _check_used(given: dict[str, Any], particular: dict[str, int], choices: Sequence[Choice]) -> None:
    """Raise OptionError for an option that would have no effect."""
    methods = " or ".join(c.label for c in choices)
    unused = [name for name in given if not any(name in _kernel_options(c.kernel, given) for c in choices)]
    unused += [k for k, v in particular.items() if not any(_engine_options(c.engine, {k: v}) for c in choices)]
    remedy = "name a kernel, or remove it" if any(c.kernel == "auto" for c in choices) else "remove it"
    for option in unused:
        raise OptionError(f"{common.flag_of(option)} has no effect on {methods}; {remedy}.")
