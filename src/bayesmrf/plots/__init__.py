"""Plots of a posterior, and figures for papers (`figure`).

Every function draws on the `matplotlib.axes.Axes` given, or on those of a new figure (``ax.figure``), and returns them.
None of them uses pyplot, so that they work in scripts, notebooks and servers. The colours (Okabe and Ito) are
colour-blind safe, and no information is in colour alone.
"""

from __future__ import annotations

from ..answers.checks.shown import plot_checks
from ..answers.edges.networks import plot_evidence_network, plot_network, plot_networks
from ..answers.edges.shown import plot_inclusion
from ..answers.evidence.shown import plot_evidence
from ..answers.groups.pictures import (
    plot_agreement,
    plot_co_clustering,
    plot_credible_ball,
    plot_estimates,
    plot_groups,
    plot_n_groups,
)
from ..answers.lagged.shown import plot_panel
from ..answers.parameters.pictures import plot_marginals, plot_parameters, plot_strength
from ..answers.run.shown import plot_trace
from ..answers.sensitivity.shown import plot_sensitivity
from ..answers.statistics.shown import plot_statistics
from ..answers.study.shown import plot_calibration, plot_plan
from .figure import figure

__all__ = [
    "figure",
    "plot_agreement",
    "plot_calibration",
    "plot_checks",
    "plot_co_clustering",
    "plot_credible_ball",
    "plot_estimates",
    "plot_evidence",
    "plot_evidence_network",
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
