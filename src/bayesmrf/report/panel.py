"""Sections of the report on a panel."""

from __future__ import annotations

from .. import plots
from ..results.median_model import EDGES
from ..results.summary import PanelSummary
from ..show.page import Section, paragraph, picture
from .order import page
from .shared import table_section
from .structure import nodes_title

_NETWORKS = (
    f"{EDGES.capitalize()}. Arrows: from a wave to the next, loops for autoregression. Width: mean weight "
    "where the edge exists; dashed: negative; pale: less probable."
)
_CITE = (
    "a Markov chain of Markov random fields with spike-and-slab priors as in Y. Chen and M. Welling, Bayesian "
    "Structure Learning for Markov Random Fields with a Spike and Slab Prior, Uncertainty in Artificial Intelligence "
    "(2012)"
)


def sections(summary: PanelSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    shown = "the densities, the slab scale, the number of edges, and the parameters with the worst convergence"
    numbers = paragraph(f"Number of edges: {summary.n_edges_sentence}.") + paragraph(f"{summary.density_sentence}.")
    parts = [
        ("Which edges exist", numbers + picture(lambda: plots.plot_panel(summary), _NETWORKS)),
        *table_section(summary, "lagged", "Lagged edges"),
        *table_section(summary, "within", "Edges within a wave"),
        *table_section(summary, "nodes", nodes_title(summary)),
        *table_section(summary, "intercepts", "How much people differ"),
    ]
    return page(summary, parts, shown, "Number of edges", _CITE)
