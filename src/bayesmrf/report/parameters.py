"""Sections of the report on a posterior over parameters."""

from __future__ import annotations

import numpy as np

from .. import plots
from ..summary import ParameterSummary, rows
from .page import Section, paragraph, picture, table
from .shared import convergence, missing, run_again, what_was_run

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
    named = [
        ("What was run", what_was_run(summary, summary.method_sentence)),
        ("Parameters", _parameters(summary)),
    ]
    if summary.n_weights:
        named += [("Network", _network(summary)), ("Strength of the nodes", _strength(summary))]
    if len(summary.missing_table):
        named.append(("Missing values", missing(summary)))
    return [
        *named,
        ("Have the chains converged?", convergence(summary, shown, worst)),
        ("Reproduce and cite", run_again(summary, _SOURCES.get(str(summary.attrs.get("method")), _LANGEVIN))),
    ]


def _parameters(s: ParameterSummary) -> str:
    found, note = s.table, ""
    if len(found) > MOST_PARAMETERS:
        strong = np.sort(found["mean"].abs().to_numpy().argsort(kind="stable")[-MOST_PARAMETERS:])
        note = paragraph(
            f"The {MOST_PARAMETERS} strongest parameters are listed; the result contains the other "
            f"{len(found) - MOST_PARAMETERS:,}."
        )
        found = found.iloc[strong]
    found = found.iloc[np.lexsort((-found["mean"].abs(), ~found["is_edge"]))]
    cells = [
        (
            p.label,
            s.terms.edge if p.is_edge else s.terms.node,
            "yes" if p.clear else "no",
            f"{p.mean:.3f}",
            f"{p.sd:.3f}",
            f"{p.lower:.3f}",
            f"{p.upper:.3f}",
        )
        for p in rows(found)
    ]
    header = ["parameter", "kind", "excludes zero", "mean", "sd", "from", "to"]
    drawn = picture(
        lambda: plots.plot_parameters(s), "Posterior mean and 90 % interval; hollow if the interval contains zero."
    )
    listed = table(header, cells, sortable=True)
    return (
        paragraph(f"{s.terms.meaning} {s.clear_sentence}.")
        + drawn
        + f"{note}<details open><summary>Values, with the 90 % interval (from, to)</summary>{listed}</details>"
    )


def _network(s: ParameterSummary) -> str:
    return picture(
        lambda: plots.plot_network(s),
        f"Width: size of the mean {s.terms.edge}; dashed: negative; pale: its 90 % interval contains zero.",
    )


def _strength(s: ParameterSummary) -> str:
    text = (
        "The strength of a node is the sum of the absolute parameters of its edges, computed in every draw. As a sum "
        "of absolute values it is above zero even if the intervals of all edges contain zero."
    )
    found, note = s.strength_table, ""
    if len(found) > MOST_NODES:
        note = paragraph(
            f"The {MOST_NODES} strongest nodes are listed; the result contains the other {len(found) - MOST_NODES:,}."
        )
    cells = [(r.node, f"{r.strength:.3f}", f"{r.lower:.3f}", f"{r.upper:.3f}") for r in rows(found.iloc[:MOST_NODES])]
    drawn = picture(lambda: plots.plot_strength(s), "Strength of each node with its 90 % interval.")
    return paragraph(text) + drawn + note + table(["node", "strength", "from", "to"], cells, sortable=True)
