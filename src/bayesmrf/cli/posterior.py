"""The command ``bayesmrf posterior``: the posterior of the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..declare.option import flags_of
from ..declare.rule import SCALE
from ..errors import OptionError, argument
from ..families import AUTO
from ..inference.registry import ROWS, engine_of, row_of
from ..methods import KERNELS
from ..parameters import BayesianParameters
from . import common
from .field_flags import check_given, flag
from .flags import command, observations
from .records import Run


def engines() -> list[tuple[str, type]]:
    """List the names and the classes of all engines."""
    return [(row.name, row.engine_class) for row in ROWS]


@command
def posterior(
    table: Path = observations("TABLE.csv", "0/1, -1/+1 or True/False, or ordered levels; missing values are empty"),
    *,
    flags: Annotated[dict[str, Any], BayesianParameters],
    hidden_engine: str | None = flag(
        "The same for missing values: exact, mean-field, tree, bethe, persistent, cftp.",
        "NAME",
        shown="exact if cheap, else persistent",
    ),
    prior_scale: float = flag("Standard deviation of the normal prior of an edge.", default=1.0),
    bias_scale: float | None = flag("The same for a node.", shown="--prior-scale"),
    of_kernel: Annotated[dict[str, Any], KERNELS],
    of_engine: Annotated[dict[str, Any], engines],
    run: Run,
) -> None:
    """Sample the posterior of the parameters."""
    from ..engines import Phases
    from ..priors import WeightsAndBiases
    from .table_options import read_labels

    scales = {"prior_scale": prior_scale, "bias_scale": prior_scale if bias_scale is None else bias_scale}
    for which, scale in scales.items():
        SCALE.check(which, scale)
    if hidden_engine is not None:
        row_of(hidden_engine, "hidden_engine")
    check_given(KERNELS, of_kernel)
    check_given(engines, of_engine)
    kernel, engine = common.own_options(KERNELS, flags["kernel"], of_kernel), _engine(flags["engine"], of_engine)
    changed = {"kernel": kernel, "engine": engine if hidden_engine is None else Phases(engine, hidden_engine)}
    options = run.settle(BayesianParameters, flags | changed | {"prior": WeightsAndBiases(*scales.values())})
    data = run.read(flags["model"])
    options["model"] = run.choose(flags["model"], data, "BayesianMRF")
    if flags["ties"] not in (None, "all", "edges"):
        options["ties"] = read_labels(Path(flags["ties"]), [str(c) for c in data[0].columns])
    run.fit("BayesianMRF", options, data, graph=flags["graph"])


def _engine(name: str, options: dict[str, Any]) -> Any:
    """Build the engine with its options; without any, return its name."""
    has = {} if name == AUTO else flags_of(row_of(name, others=(AUTO,)).engine_class)
    for option, value in options.items():
        if option not in has:
            expected = f"omitted with {argument('engine', name)}"
            raise OptionError(option=option, got=value, expected=expected, remedy="name an engine that has it")
    return engine_of(name, **{has[option]: value for option, value in options.items()}) if options else name
