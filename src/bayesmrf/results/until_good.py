"""Are the draws of a run good enough to stop?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceWarning, argument
from ..findings import FAIR, tell
from ..names import LONGEST, shown
from ..runs.run import Draws
from .blocks import divided
from .convergence import diagnostics, disagreement, lacks, never_moved
from .invalid_draws import invalid_values
from .judged_series import indicators
from .rank_diagnostics import batch, effective_sizes

if TYPE_CHECKING:
    import xarray as xr

ERROR = 0.01  # largest Monte Carlo error of the probability that something exists
_FEWEST = 25  # effective draws of an indicator; with fewer, of one that is rare, chains disagree
LIMIT = "Not good after"  # begins the finding


def shortfall(tree: xr.DataTree) -> str:
    """Say what draws are short of; empty if they are good.

    They are good if all that `convergence` judges has R-hat and effective sizes of a good run, no chain stands still
    or disagrees with the others, and inclusions have a Monte Carlo error of at most 0.01.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    """
    if invalid := invalid_values(tree):
        return invalid
    found = [what for what in (never_moved(tree), disagreement(tree)) if what]
    table = diagnostics(tree, None).dropna(subset=["ess_bulk"])
    if table.empty:
        return "; ".join(found) or "all draws are equal"
    found += [f"{what} ({name})" for what, name in lacks(table, tree["posterior"].sizes["chain"])]
    if (worst := _largest_error(tree))[0] > ERROR:
        name = shown(worst[1], 2 * LONGEST)
        found.append(f"Monte Carlo error {worst[0]:.3f}, want {ERROR} ({name})")
    return "; ".join(found)


def tell_if_short(draws: Draws) -> None:
    """Tell what the draws of a run until good are short of at its limit."""
    if draws.complete and draws.short:
        tell(
            f"{LIMIT} {draws.n_draws:,} draws of each chain, the most without {argument('n_draws')}: {draws.short}. "
            f"Use another method, a longer warm-up, or a larger {argument('n_draws')}.",
            ConvergenceWarning,
            FAIR,
        )


def _largest_error(tree: xr.DataTree) -> tuple[float, str]:
    """Return the largest Monte Carlo error of what exists in some draws, and of what."""
    worst = 0.0, ""
    for names, there in indicators(tree):
        share = there.means()
        variance = share * (1 - share)
        far = np.flatnonzero(variance > _FEWEST * ERROR**2)
        for some in divided(len(far), batch(*there.shape[:2])) if len(far) else ():
            errors = np.sqrt(variance[far[some]] / effective_sizes(there[:, :, far[some]]))
            worst = max(worst, (float(errors.max()), names[far[some][errors.argmax()]]))
    return worst
