"""What is computed after a fit from rows that belong to groups of people, whose priors have baselines, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.log_prior import spike_slab_terms
from .observations import Observations
from .sensitivity import Sensitive

if TYPE_CHECKING:
    import pandas as pd


class OfGroups(Sensitive, Observations):
    """Estimators of networks of several groups: each row has the label of its group, in ``groups``."""

    def sensitivity(  # type: ignore[override]
        self, X: Any, groups: Any, sample_weight: Any = None, checkpoint: Any = None, survey_weight: Any = None
    ) -> pd.DataFrame:
        """Compute how the evidence for differences depends on their prior; see `Sensitive.sensitivity`."""
        more = {"groups": groups, "sample_weight": sample_weight, "survey_weight": survey_weight}
        return self._sensitivity(X, more, checkpoint)

    def _under(self, prior: Any) -> dict[str, Any]:
        return {"prior": prior, "baseline": self._object("baseline")}  # which may be made of the prior

    def add_log_likelihood(  # type: ignore[override]
        self, X: Any, groups: Any, sample_weight: Any = None, n_draws: int | None = None
    ) -> pd.DataFrame:
        """Add the log likelihood of each person in the network of its group; see `Observations.add_log_likelihood`."""
        return self._add_log_likelihood(X, sample_weight, n_draws, groups)

    def _log_prior(self) -> dict[str, np.ndarray]:
        return spike_slab_terms(self.posterior_, self._prior_of_edges, self._object("baseline"))
