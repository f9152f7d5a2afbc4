"""Plots of a posterior.

Every function draws on the `matplotlib.axes.Axes` given, or on those of a new figure (``ax.figure``), and returns them.
None of them uses pyplot, so that they work in scripts, notebooks and servers. The colours (Okabe and Ito) are
colour-blind safe, and no information is in colour alone.
"""

from __future__ import annotations

from .calibration import plot_calibration
from .checks import plot_checks
from .differences import plot_networks
from .evidence import plot_evidence
from .groups import plot_agreement, plot_estimates, plot_groups, plot_n_groups
from .inclusion import plot_inclusion
from .network import plot_network
from .panel import plot_panel
from .parameters import plot_marginals, plot_parameters, plot_strength
from .partition import plot_co_clustering, plot_credible_ball
from .planning import plot_plan
from .sensitivity import plot_sensitivity
from .statistics import plot_statistics
from .trace import plot_trace

__all__ = [
    "plot_agreement",
    "plot_calibration",
    "plot_checks",
    "plot_co_clustering",
    "plot_credible_ball",
    "plot_estimates",
    "plot_evidence",
    "plot_groups",
    "plot_inclusion",
    "plot_marginals",
    "plot_n_groups",
    "plot_network",
    "plot_networks",
    "plot_panel",
    "plot_parameters",
    "plot_plan",
    "plot_sensitivity",
    "plot_statistics",
    "plot_strength",
    "plot_trace",
]
