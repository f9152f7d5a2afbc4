"""Sections of the report on a posterior over parameters."""

from __future__ import annotations

import numpy as np

from .. import plots
from ..summary import ParameterSummary, rows
from .page import Section, paragraph, picture, table
from .shared import details, page, rest_of

MOST_PARAMETERS = 500  # rows of the table of parameters
MOST_NODES = 200  # rows of the table of strengths

_LANGEVIN = (
    "I. Murray and Z. Ghahramani, Bayesian Learning in Undirected Graphical Models: Approximate MCMC algorithms, "
    "Uncertainty in Artificial Intelligence (2004)"
)
_SOURCES = {
    "metropolis": _LANGEVIN,
    "gibbs": "S. Geman and D. Geman, Stochastic Relaxation, Gibbs Distributions, and the Bayesian Restoration of "
    "Images, IEEE Transactions on Pattern Analysis and Machine Intelligence 6 (1984)",
    "independence": "L. Tierney, Markov Chains for Exploring Posterior Distributions, Annals of Statistics 22 (1994)",
    "hamiltonian": "M. Hoffman and A. Gelman, The No-U-Turn Sampler: Adaptively Setting Path Lengths in Hamiltonian "
    "Monte Carlo, Journal of Machine Learning Research 15 (2014)",
    "langevin": _LANGEVIN,
    "exchange": "I. Murray, Z. Ghahramani and D. MacKay, MCMC for Doubly-intractable Distributions, Uncertainty in "
    "Artificial Intelligence (2006)",
    "auxiliary-variable": "J. Møller, A. Pettitt, R. Reeves and K. Berthelsen, An Efficient Markov Chain Monte Carlo "
    "Method for Distributions with Intractable Normalising Constants, Biometrika 93 (2006)",
    "pseudo-posterior": "L. Bouranis, N. Friel and F. Maire, Efficient Bayesian Inference for Exponential Random Graph "
    "Models by Correcting the Pseudo-posterior Distribution, Social Networks 50 (2017)",
}


def sections(summary: ParameterSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    shown = "the parameters with the worst convergence"
    worst = f"Parameter {summary.worst_feature}, which has the largest R-hat,"
    parts = [("Parameters", _parameters(summary))]
    if summary.n_weights:
        edge = summary.terms.edge
        network = f"Width: size of the mean {edge}; dashed: negative; pale: its 90 % interval contains zero."
        parts.append(("Network", picture(lambda: plots.plot_network(summary), network)))
        parts.append(("Strength of the nodes", _strength(summary)))
    return page(summary, parts, shown, worst, _SOURCES.get(str(summary.attrs.get("method")), _LANGEVIN))


def _parameters(s: ParameterSummary) -> str:
    strong = np.sort(s.table["mean"].abs().to_numpy().argsort(kind="stable")[-MOST_PARAMETERS:])
    note, found = rest_of(s.table, MOST_PARAMETERS, "strongest parameters"), s.table.iloc[strong]
    found = found.iloc[np.lexsort((-found["mean"].abs(), ~found["is_edge"]))]
    cells = [
        (p.label, kind, "yes" if p.clear else "no", *(f"{v:.3f}" for v in (p.mean, p.sd, p.lower, p.upper)))
        for p in rows(found)
        for kind in [s.terms.edge if p.is_edge else s.terms.node]
    ]
    header = ["parameter", "kind", "excludes zero", "mean", "sd", "from", "to"]
    drawn = picture(
        lambda: plots.plot_parameters(s), "Posterior mean and 90 % interval; hollow if the interval contains zero."
    )
    text = paragraph(f"{s.terms.meaning} {s.clear_sentence}.")
    return text + drawn + note + details("Values, with the 90 % interval (from, to)", header, cells)


def _strength(s: ParameterSummary) -> str:
    text = (
        "The strength of a node is the sum of the absolute parameters of its edges, computed in every draw. As a sum "
        "of absolute values it is above zero even if the intervals of all edges contain zero."
    )
    found = s.strength_table
    note = rest_of(found, MOST_NODES, "strongest nodes")
    cells = [(r.node, f"{r.strength:.3f}", f"{r.lower:.3f}", f"{r.upper:.3f}") for r in rows(found.iloc[:MOST_NODES])]
    drawn = picture(lambda: plots.plot_strength(s), "Strength of each node with its 90 % interval.")
    return paragraph(text) + drawn + note + table(["node", "strength", "from", "to"], cells, sortable=True)
