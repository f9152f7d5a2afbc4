"""Plot of a calibration: where truths lie in their posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.study.calibration import LEVEL, Calibration, uniform_tails
from ..errors import OptionError
from ..names import shown
from ..show.style import COLOURS, GREY, PALE, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 4  # quantities outside that are named


def plot_calibration(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Plot the distribution function of the positions of the truth, less the uniform one, of each quantity.

    The whole curve of a calibrated quantity stays in the shaded band with probability 0.99. Bolder curves leave it
    after adjustment for the number of all.

    Parameters
    ----------
    calibration : answers.study.calibration.Calibration
        From `bayesmrf.calibrate`.
    ax : Axes, optional
        Where to draw.
    """
    from scipy.stats import binom

    if not isinstance(calibration, Calibration):
        raise OptionError(option="calibration", got=calibration, expected="a result of bayesmrf.calibrate")
    n, ax = len(calibration.replicates), axes(ax, (5.6, 3.4))
    grid, level = np.linspace(0, 1, 201), float(np.quantile(uniform_tails(n), LEVEL))
    band = (binom.ppf(level, n, grid) / n - grid, binom.isf(level, n, grid) / n - grid)
    ax.fill_between(grid, *np.where((grid > 0) & (grid < 1), band, 0.0), color=PALE, alpha=0.6, linewidth=0)
    out = calibration.frame.set_index("quantity")["p_adjusted"] < LEVEL
    named = [name for name in out.index[out] if name in calibration.pit][:_NAMED]
    for name, u in calibration.pit.items():
        curve = (u[:, None] <= grid).mean(axis=0) - grid
        if name in named:
            ax.plot(grid, curve, color=COLOURS[named.index(name) % len(COLOURS)], linewidth=1.6, label=shown(name))
        else:
            ax.plot(grid, curve, color=GREY, linewidth=0.6, alpha=0.5)
    ax.axhline(0, color=GREY, linewidth=0.7)
    ax.set_xlabel("position of the truth in the posterior")
    ax.set_ylabel("observed less uniform")
    if named:
        ax.legend(frameon=False, fontsize=8, labelcolor=GREY)
    return ax
