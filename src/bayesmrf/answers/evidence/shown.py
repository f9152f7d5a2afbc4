"""Picture of the evidence of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...evidence.target import Evidence
from ...names import shown
from ...show.style import COLOURS, GREY, PALE, axes, legend_of, set_integer_ticks
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP*X"


def plot_evidence(evidences: Mapping[str, Mapping[Any, Evidence]], ax: Axes | None = None) -> Axes:
    """Plot the log evidence of each model by each method, with bars of two standard errors; rings mark the best models.

    With three or more methods the axis ends at the median of their smallest values, as one may be hundreds of nats
    below the others; the legend marks methods with values below.

    Parameters
    ----------
    evidences : dict of dicts
        For each method, the Evidence of each model: by its number of hidden units, or by its name.
    ax : Axes, optional
        Where to draw.
    """
    tables = list(evidences.values()) if isinstance(evidences, Mapping) else []
    are_tables = all(isinstance(table, Mapping) for table in tables)
    models = list(dict.fromkeys(m for table in tables for m in table)) if are_tables else []
    if not models or not all(isinstance(e, Evidence) for table in tables for e in table.values()):
        raise OptionError(
            option="evidences", got=evidences, expected="a dict with the Evidence of each model by each method"
        )
    counted = all(isinstance(m, int | np.integer) for m in models)
    models = sorted(models) if counted else models
    at = dict(zip(models, models if counted else range(len(models)), strict=True))
    ax = axes(ax, (5.6, 3.4))
    known = {method: {m: table[m] for m in models if m in table and np.isfinite(table[m].log_evidence)}
             for method, table in evidences.items()}  # fmt: skip
    floors = sorted(min(e.log_evidence for e in table.values()) for table in known.values() if table)
    cut = floors[(len(floors) - 1) // 2] if len(floors) > 2 else -np.inf
    top = max((e.log_evidence for here in known.values() for e in here.values()), default=0.0)
    end = cut - 0.1 * (top - cut) - 0.5 if floors and floors[0] < cut else -np.inf
    for i, (method, here) in enumerate(known.items()):
        if not here:
            continue
        place = np.array([at[m] for m in here], dtype=float)
        if not counted:  # side by side
            place += 0.12 * (i - (len(evidences) - 1) / 2)
        value = np.array([e.log_evidence for e in here.values()])
        error = np.nan_to_num([e.standard_error for e in here.values()])
        colour = COLOURS[i % len(COLOURS)]
        ax.errorbar(
            place,
            value,
            2 * error,
            color=colour,
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=4.5,
            linestyle="-" if counted else "none",
            linewidth=1.2,
            capsize=2.5,
            label=method + (" (below)" if value.max() < end else " (some below)" if value.min() < end else ""),
        )
        best = int(np.argmax(value))
        ax.plot(place[best], value[best], "o", markersize=11, markerfacecolor="none", markeredgecolor=colour)
    if counted:
        set_integer_ticks(ax.xaxis)
        ax.set_xlabel("hidden units")
    else:
        ax.set_xticks(range(len(models)), [shown(m) for m in models], parse_math=False)
        ax.set_xlim(-0.6, len(models) - 0.4)
        ax.grid(axis="x", color=PALE, linewidth=0.5)
    if np.isfinite(end):
        ax.set_ylim(end, top + cut - end)
    ax.set_ylabel("log evidence (nats)")
    ax.yaxis.set_major_formatter("{x:,.0f}" if np.ptp(ax.get_ylim()) > 8 else "{x:,.1f}")
    legend_of(ax, 3, labelcolor=GREY)
    return ax


ANSWER = Answer("evidence", pictures=(plot_evidence,))
