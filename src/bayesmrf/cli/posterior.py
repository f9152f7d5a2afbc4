"""The command ``bayesmrf posterior``: the posterior of the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..declare.option import flags_of
from ..declare.rule import SCALE
from ..errors import OptionError, argument
from ..families import AUTO
from ..inference.registry import NAMES, ROWS, engine_of, row_of
from ..methods import KERNELS
from . import common
from .flags import GRAPH_HELP, Run, command, model_flag, observations
from .method_flags import check_given, flag


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
        "Kernel that updates the parameters; auto is the fastest that engine and data allow: gibbs, "
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
    prior_scale: float = flag("Standard deviation of the normal prior of an edge.", default=1.0),
    bias_scale: float | None = flag("The same for a node.", shown="--prior-scale"),
    *,
    of_kernel: Annotated[dict[str, Any], KERNELS],
    of_engine: Annotated[dict[str, Any], engines],
    run: Run,
) -> None:
    """Sample the posterior of the parameters."""
    from ..engines import Phases
    from ..estimators import BayesianMRF
    from ..priors import WeightsAndBiases
    from ..results.summary import ParameterSummary
    from .tables import read_labels

    out = run.path(run.out, "_run")
    options = common.checked(BayesianMRF, model=model, **run.options)
    scales = {"prior_scale": prior_scale, "bias_scale": prior_scale if bias_scale is None else bias_scale}
    for which, scale in scales.items():
        SCALE.check(which, scale)
    options["prior"] = WeightsAndBiases(*scales.values())
    if hidden_engine is not None:
        row_of(hidden_engine, "hidden_engine")
    check_given(KERNELS, of_kernel)
    check_given(engines, of_engine)
    options |= {"kernel": common.own_options(KERNELS, kernel, of_kernel), "engine": _engine(engine, of_engine)}
    if hidden_engine is not None:
        options["engine"] = Phases(options["engine"], hidden_engine)
    common.check_out(out, run.overwrite)
    data, *_ = given = run.read(model)
    options["model"] = run.choose(model, given, "BayesianMRF")
    options["ties"] = (
        ties if ties in (None, "all", "edges") else read_labels(Path(ties), [str(c) for c in data.columns])
    )
    estimator = run.estimator(BayesianMRF, out, graph=run.edges(data, graph), **options)
    run.show(ParameterSummary(run.sample(estimator, out, given, graph=graph)), out)


def _engine(name: str, given: dict[str, Any]) -> Any:
    """Return the engine's name, or the engine with the options given."""
    has = {} if name == AUTO else flags_of(row_of(name, others=(AUTO,)).engine_class)
    for option, value in given.items():
        if option not in has:
            expected = f"omitted with {argument('engine', name)}"
            raise OptionError(option=option, got=value, expected=expected, remedy="name an engine that has it")
    return engine_of(name, **{has[option]: value for option, value in given.items()}) if given else name
