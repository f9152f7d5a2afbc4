"""The command ``bayesmrf panel``: which items follow which in time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..errors import OptionError
from ..parameters import PanelParameters
from . import common
from .field_flags import flag
from .flags import SLAB, command, observations
from .records import Run


@command
def panel(
    table: Path = observations(
        "LONG.csv",
        "a row for each person and wave; 0/1, -1/+1 or True/False, or ordered levels; empty where a value is missing",
    ),
    *,
    flags: Annotated[dict[str, Any], PanelParameters],
    person: str | None = flag("Column with the person of each row.", "COLUMN", shown="all rows are one series"),
    wave: str | None = flag(
        "Column with the number of the wave, or with a time, such as 2024-03-01 09:00. Lags never go over missing "
        "waves.",
        "COLUMN",
        shown="rows of a person follow each other",
    ),
    day: str | None = flag("Column with the day, or session, of each row. Lags stay within a day.", "COLUMN"),
    wide: bool = flag(
        "Waves are side by side, such as sad_t1 and sad_t2 (or T1_sad, sad_pre and sad_post, sad.1 and sad.2), and a "
        "row is a person.",
        None,
        False,
        "--wide",
    ),
    density: str = flag(
        "Beta prior of the share of edges that exist, of each kind, or its fixed value.", "A,B|P0", "1,1"
    ),
    slab: str = flag(
        "Prior of the weights of edges that exist: Cauchy or normal with a fixed scale, or normal with a Gamma prior "
        "of the precision.",
        SLAB,
        "cauchy:1",
    ),
    bias_scale: float = flag("Standard deviation of the normal prior of an item's parameter.", default=10.0),
    run: Run,
) -> None:
    """Find out which items follow which: lagged edges of waves of the same people, or of one series."""
    from ..priors import SpikeSlab, read_slab

    for option, value in {"weight": run.weight, "survey_weight": run.survey_weight, "neutral": run.neutral}.items():
        if value:
            raise OptionError(option=option, got=value, expected="omitted, as panels do not support it")
    for option, value in {"wave": wave, "day": day}.items():
        if wide and value is not None:
            raise OptionError(option=option, got=value, expected="omitted with --wide")
    prior = replace(SpikeSlab(), density=common.density(density), slab=read_slab(slab), bias_scale=bias_scale)
    options = run.settle(PanelParameters, flags | {"prior": prior})
    of_rows = {"person": person, "wave": wave, "day": day}
    also = {f"--{name}": column for name, column in of_rows.items() if column is not None}
    data, _, order = run.read(flags["model"], also=also, wide=wide)
    run.n_levels = 0  # of other models
    labels = {name.removeprefix("--"): values.to_numpy() for name, values in (order or {}).items()}
    run.fit("PanelMRF", options, (data, None, labels))
