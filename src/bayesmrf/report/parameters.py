"""Sections of the report on a posterior over parameters."""

from __future__ import annotations

from .. import plots
from ..answers.registry import table_of
from ..results.summary import ParameterSummary
from ..show.page import Section, listed, paragraph, picture
from .order import page
from .shared import log_odds

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
    parts = [("Parameters", _parameters(summary))]
    if summary.n_weights:
        edge = summary.terms.edge
        network = f"Width: size of the mean {edge}; dashed: negative; pale: its 90 % interval contains zero."
        parts.append(("Network", picture(lambda: plots.plot_network(summary), network)))
        parts.append(("Strength of the nodes", _strength(summary)))
        parts += log_odds(summary)
    return page(summary, parts, shown, worst, _SOURCES.get(str(summary.attrs.get("method")), _LANGEVIN))


def _parameters(s: ParameterSummary) -> str:
    drawn = picture(
        lambda: plots.plot_parameters(s), "Posterior mean and 90 % interval; hollow if the interval contains zero."
    )
    text = paragraph(f"{s.terms.meaning}")
    return text + drawn + listed(table_of(s, "parameters"))


def _strength(s: ParameterSummary) -> str:
    text = (
        "The strength of a node is the sum of the absolute parameters of its edges, computed in every draw. As a sum "
        "of absolute values it is above zero even if the intervals of all edges contain zero."
    )
    drawn = picture(lambda: plots.plot_strength(s), "Strength of each node with its 90 % interval.")
    return paragraph(text) + drawn + listed(table_of(s, "strength"))
