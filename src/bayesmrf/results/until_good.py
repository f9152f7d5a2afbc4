"""Are the draws of a run good enough to stop?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ConvergenceWarning, argument
from ..findings import FAIR, tell
from ..runs.run import Draws
from ..runs.stopping import Outlook
from .convergence import disagreement, lacks, never_moved, of_edges
from .edge_evidence import Evidence
from .invalid_draws import invalid_values
from .judged_series import evidence_of
from .marks import GOOD_ESS, GOOD_R_HAT, shortfall_of, too_many_marked

if TYPE_CHECKING:
    import xarray as xr

LIMIT = "Not good after"  # begins the finding
CRITERION = (
    "The run was to end when it is good at two looks in a row: chains agree, with R-hat of at most 1.01 and 100 "
    "effective draws a chain for parameters of nodes, uncertain inclusions, and weights of edges with an inclusion of "
    "0.5 or a Bayes factor of 3 within two errors; and at most 5 % of the edges have an inclusion with an error above "
    "0.01, or are in a tenth of the draws or more with a weight of too few draws (both marked †) or a Bayes factor "
    "from 10^-1.5 to 10^1.5 with an error of its log10 above 0.05."
)


def shortfall(tree: xr.DataTree, add_evidence: Callable[[xr.DataTree], None] | None = None) -> str:
    """Say what draws are short of; empty if they are good. See `outlook`."""
    return outlook(tree, add_evidence).short


def outlook(tree: xr.DataTree, add_evidence: Callable[[xr.DataTree], None] | None = None) -> Outlook:
    """Say what draws are short of, what they wait for, and how many times as many draws that takes.

    They are good if

    * no chain stands still or disagrees with the others, and everything by which `convergence` judges a run has the
      R-hat and effective sizes of a good one: parameters of nodes, uncertain inclusions, the number of edges, and the
      weights of edges with an inclusion of 0.5 or more, or a Bayes factor of 3 or more within two errors;
    * tables mark at most 5 % of the edges (`bayesmrf.results.marks.too_many_marked`).

    Marks depend on errors, never on the distance of a value from a limit, so that no result is preferred.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    add_evidence : callable, optional
        Adds the group ``edge_evidence`` to the tree. It is called when draws are short of nothing without it.
    """
    if invalid := invalid_values(tree):
        return Outlook(invalid)
    at_first = _outlook(tree, evidence_of(tree))
    if not at_first.short and add_evidence is not None:
        add_evidence(tree)
        return _outlook(tree, evidence_of(tree))
    return at_first


def _outlook(tree: xr.DataTree, evidence: Evidence | None) -> Outlook:
    said = [what for what in (never_moved(tree), disagreement(tree, evidence)) if what]
    n_chains = int(tree["posterior"].sizes["chain"])
    table = of_edges(tree, evidence)
    judged = table[table["judged"]].dropna(subset=["ess_bulk"])
    if judged.empty:
        return Outlook("; ".join(said) or "all draws are equal")
    said += [f"{what} ({name})" for what, name in lacks(judged, n_chains)]
    marked, of_marks = too_many_marked(tree, table, evidence)
    times = shortfall_of(judged, GOOD_R_HAT, GOOD_ESS * n_chains, ["ess_bulk", "ess_tail"])
    worst = str(judged.index[int(times.argmax())]) if times.max() > of_marks else "Monte Carlo errors of edges"
    short = "; ".join([*said, marked] if marked else said)
    return Outlook(short, float((times <= 1).mean()), worst, max(of_marks, float(times.max())))


def tell_if_short(draws: Draws) -> None:
    """Tell what the draws of a run until good are short of at its limit."""
    if draws.complete and draws.short:
        tell(
            f"{LIMIT} {draws.n_draws:,} draws of each chain, the most without {argument('n_draws')}: {draws.short}. "
            f"Use another method, a longer warm-up, or a larger {argument('n_draws')}.",
            ConvergenceWarning,
            FAIR,
        )
