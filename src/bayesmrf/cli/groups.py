"""The command ``bayesmrf groups``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..declare.rule import SCALE
from ..errors import OptionError
from ..families import families_of
from ..methods import GROUPS
from ..parameters import GroupedParameters
from . import common
from .field_flags import field_flag, flag
from .flags import SENSITIVITY, command, observations
from .records import Run

_NORMAL = [row.name for row in families_of("GroupedMRF") if row.shared != "agreement"]  # with a normal prior of edges


@command
def groups(
    table: Path = observations(
        "VOTES.csv", "0/1, -1/+1 or True/False, or ordered levels; any levels with --model potts or symmetric"
    ),
    graph: str | None = field_flag(GroupedParameters, "graph", None),
    *,
    flags: Annotated[dict[str, Any], GroupedParameters],
    prior_scale: float | None = flag(
        "With the models ordinal and symmetric, prior standard deviation of the weights or log potentials.", shown="1.0"
    ),
    fields: bool | None = flag(
        "Whether each node has its own field; without fields, yes and no must be equally frequent.",
        None,
        None,
        "--fields/--no-fields",
        shown="fields",
    ),
    field_groups: bool = flag("Find groups of nodes that share a field, as for edges.", None, False, "--field-groups"),
    density: str | None = flag(
        "Beta prior of the share of candidates that exist, or its fixed value; with --graph, its edges may be absent.",
        "A,B|P0",
        shown="5,5 with --candidates",
    ),
    alpha: str = flag("Concentration of the Dirichlet process, or its Gamma prior.", "ALPHA|SHAPE,RATE", "1.0"),
    base: str | None = flag(
        "Base distribution Beta(A, B) of an agreement, with the models agreement and potts.", "A,B", shown="1,1"
    ),
    sensitivity: bool = SENSITIVITY,
    of_method: Annotated[dict[str, Any], GROUPS],
    run: Run,
) -> None:
    """Find the groups of edges that share a parameter; with --candidates, also which edges exist."""
    from ..priors import Beta, DirichletProcess, Gamma, Normal

    candidates = flags["candidates"]
    spike = candidates is not None or density is not None
    p0 = common.density(density or "5,5", files=False)
    concentration = common.prior_of("--alpha", alpha, (1, 2), Gamma, "a number, or SHAPE,RATE, such as 1.0 or 2,4")
    of_values = common.prior_of("--base", base or "1,1", (2,), Beta, "two numbers A,B, such as 1,1")
    scale = 1.0 if prior_scale is None else prior_scale
    SCALE.check("prior_scale", scale)
    options = (
        flags
        | ({} if graph is None else {"graph": graph})
        | {"method": common.own_options(GROUPS, flags["method"], of_method)}
    )
    if graph is None and candidates is None:
        remedy = "--candidates complete finds which edges exist"
        raise OptionError(option="graph", expected="given unless --candidates is", remedy=remedy)
    if graph is not None and candidates is not None:
        raise OptionError(option="graph", got=graph, expected="omitted with --candidates")
    if field_groups and fields is False:
        raise OptionError(option="--no-fields", got=True, expected="omitted with --field-groups")
    if sensitivity and not spike:
        expected = "omitted with edges that all exist"
        raise OptionError(option="sensitivity", got=True, expected=expected, remedy="give --candidates, or a density")
    options = run.settle(GroupedParameters, options | {"fields": "grouped" if field_groups else fields is not False})
    data = run.read(flags["model"])
    family = run.choose(flags["model"], data, "GroupedMRF", "agreement")
    if family in _NORMAL:
        if base is not None:
            expected = f"omitted with --model {family}"
            raise OptionError(option="base", got=base, expected=expected, remedy="give --prior-scale")
        of_values = Normal(scale)
    elif prior_scale is not None:
        expected = f"omitted without --model {' or '.join(_NORMAL)}"
        raise OptionError(option="prior_scale", got=prior_scale, expected=expected)
    options |= {"model": family, "prior": DirichletProcess(concentration, of_values, p0 if spike else None)}
    run.fit("GroupedMRF", options, data, sensitivity, **{"candidates" if spike else "graph": graph or candidates})
