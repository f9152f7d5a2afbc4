"""Sections of the report on a panel."""

from __future__ import annotations

from .. import plots
from ..results.summary import PanelSummary
from ..results.tables import table_of
from .page import Section, paragraph, picture
from .shared import listed, page

_NETWORKS = (
    "Edges with an inclusion above 0.5. Arrows: from a wave to the next, loops for autoregression. Width: mean weight "
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
    names = {"lagged": "Lagged edges", "within": "Edges within a wave", "intercepts": "How much people differ"}
    tables = {name: table_of(summary, name) for name in _names(summary)}
    parts = [
        ("Which edges exist", numbers + picture(lambda: plots.plot_panel(summary), _NETWORKS)),
        *((names[name], paragraph(found.note) + listed(found)) for name, found in tables.items()),
    ]
    return page(summary, parts, shown, "Number of edges", _CITE)


def _names(summary: PanelSummary) -> list[str]:
    own = ["intercepts"] if summary.attrs["intercepts"] == "own" else []
    return ["lagged", *(["within"] if summary.within else []), *own]
