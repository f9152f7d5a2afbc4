"""Sections of the report on a posterior over which edges exist."""

from __future__ import annotations

from .. import plots
from ..answers.registry import table_of
from ..results.median_model import EDGES
from ..results.summary import InclusionSummary, StructureSummary, Summary
from ..show.page import Section, listed, paragraph, picture
from .order import page
from .shared import log_odds, table_section

_NETWORK = f"{EDGES.capitalize()}. Width: mean weight where the edge exists; dashed: negative; pale: less probable."
_WEIGHTS = (
    f"Left: {EDGES}. Width and saturation: mean weight where the edge exists; dashed: "
    "negative. Right: evidence for each edge, in the same layout."
)
EVIDENCE = (
    "Blue: included, with a Bayes factor above 10; yellow: excluded, below 1/10; dashed: weaker evidence, grey where "
    "it is inconclusive."
)
CITE = (
    "Y. Chen and M. Welling, Bayesian Structure Learning for Markov Random Fields with a Spike and Slab Prior, "
    "Uncertainty in Artificial Intelligence (2012)"
)


def sections(summary: StructureSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    edges = table_of(summary, "edges")
    parts = [
        ("Which edges exist", inclusion(summary, "and the slab scale is the scale of the prior of their weights")),
        _network(summary),
        ("Edges", paragraph(edges.note) + listed(edges)),
        *log_odds(summary),
        *table_section(summary, "nodes", nodes_title(summary)),
    ]
    return page(summary, parts, judged(summary, "the number of edges"), "Number of edges", CITE)


def judged(s: InclusionSummary, number: str) -> str:
    """Return which quantities the table of convergence shows: those that vary, and the worst parameters."""
    known = {"density": "the density", "slab_scale": "the slab scale", "n_edges": number}
    varying = [words for name, words in known.items() if name in s.diagnostics.index]
    others = f"{', '.join(varying)}{',' * (len(varying) > 1)} and " if varying else ""
    return f"{others}the parameters with the worst convergence"


def _network(s: StructureSummary) -> Section:
    """Draw the network of weights and, where it is known, the evidence for each edge next to it."""
    if s.evidence:
        return "Weights and evidence", picture(lambda: plots.plot_networks(s), f"{_WEIGHTS} {EVIDENCE}")
    return "Network", picture(lambda: plots.plot_network(s), _NETWORK)


def nodes_title(s: Summary) -> str:
    """Return what parameters of nodes are called in a title."""
    return f"{s.terms.node.capitalize()}{'es' if s.terms.node.endswith('s') else 's'}"


def inclusion(s: InclusionSummary, also: str = "") -> str:
    """Return the number of edges, density, and inclusion of each edge; ``also`` explains other quantities."""
    text = (
        "The inclusion of an edge is the posterior probability that it exists: near 1 the data support the edge, near "
        "0 its absence, and in between they are inconclusive. The density is the share of the candidates that exist"
        f"{', ' if also else ''}{also}."
    )
    return probable(
        s, "Number of edges", "Inclusion of each edge; nodes that share edges are next to each other.", text
    )


def probable(s: InclusionSummary, number: str, caption: str, text: str) -> str:
    """Return the number of edges, the density, and the plot of inclusions, with an explanation."""
    said = [s.doubt_sentence] if s.doubt_sentence else []
    said += [f"{number}: {s.n_edges_sentence}.", f"{s.density_sentence}."]
    numbers = "".join(map(paragraph, said))
    return numbers + picture(lambda: plots.plot_inclusion(s), caption) + paragraph(text)
