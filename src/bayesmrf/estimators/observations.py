"""Log likelihoods of single observations under every draw, log priors of draws, and how well nodes are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.check_columns import rows_with_answers
from ..data.states import levels_of
from ..declare.rule import integer, optional
from ..errors import ApproximateScoreWarning, OptionError
from ..findings import tell
from ..priors import DirichletProcess
from ..results.blocks import at_draws, variable
from ..results.log_prior import add_log_prior, spike_slab_terms
from ..results.observations import LOG_LIKELIHOODS, MOST, Observed, add_observations, check_size, spaced_draws
from ..results.surveyed import refuse_surveyed
from .normaliser import normaliser, own_normalisers
from .partly_seen import PartlySeen, log_potential, log_sums
from .predictive import ANNEALING, Predictive

if TYPE_CHECKING:
    import pandas as pd

_DRAWS = optional(integer(1, 10**6))


class Observations(Predictive):
    """Estimators of posteriors whose draws can be given to ArviZ: `loo`, and the sensitivity to powers of the prior."""

    table: Any
    _prior_of_edges: Any
    _object: Any

    def add_log_likelihood(self, X: Any, sample_weight: Any = None, n_draws: int | None = None) -> pd.DataFrame:
        """Add the log likelihood of each observation under each draw to ``posterior_``, as ArviZ's `loo` reads it.

        Group ``log_likelihood`` has log p(x | theta) of each person; values that are missing are summed out. A row of
        weight 3 is three persons: leave-one-out leaves one of them out, and the other two stay. Group ``normaliser``
        has log Z of each draw and its standard error, 0 where it is exact (by elimination), else by annealed importance
        sampling as in `score`. That error is common to all persons, so that it counts n times in their sum. Group
        ``prediction`` has, for each node, the share of persons whose answer is the most probable one given their
        other answers (averaged over 100 draws), and that of the most frequent answer, the base rate.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Mostly the data of the fit, which a stored run does not have. Rows without any answer are left out.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0.
        n_draws : int, optional
            Evenly spaced draws of each chain that are used; None for all, which `arviz_stats.psense` needs.

        Returns
        -------
        DataFrame
            The table "loo".

        Raises
        ------
        OptionError
            If there are more than 2^28 log likelihoods.

        Warns
        -----
        ApproximateScoreWarning
            If the error of log Z may change the sum over persons by more than 1 nat.
        """
        return self._add_log_likelihood(X, sample_weight, n_draws)

    def _add_log_likelihood(self, X: Any, sample_weight: Any, n_draws: Any, groups: Any = None) -> pd.DataFrame:
        check_is_fitted(self)
        _DRAWS.check("n_draws", n_draws)
        refuse_surveyed(self.posterior_, "add_log_likelihood", "leave-one-out leaves out whole rows, and not weights")
        states = self._new(X, sample_weight)
        rows, theta = states.values, variable(self.posterior_, "theta")
        n_chains, n_own = theta.shape[:2]
        kept, numbers = spaced_draws(n_chains, n_own, n_draws)
        weights = np.ones(len(rows), dtype=int) if states.weights is None else np.asarray(states.weights).astype(int)
        check_size(len(numbers) * int(weights.sum()), MOST, LOG_LIKELIHOODS, n_draws)
        persons, log_z, error = rows_with_answers(rows, states.weights), [], []
        parts = [(g, np.intersect1d(mine, persons)) for g, mine in self._codes(groups, X, len(rows))]
        parts = [(g, mine) for g, mine in parts if len(mine)]
        found = np.empty((len(numbers), len(rows)))
        for g, mine in parts:
            thetas = at_draws(theta if g is None else theta[:, :, g], numbers)
            fields = [self._present(t) for t in thetas]
            if self._engine is not None:
                each = own_normalisers(self._engine, fields)
            else:
                each = [normaliser(model, t, *ANNEALING) for model, t in fields]
            log_z.append([z.log_z for z in each])
            error.append([z.error for z in each])
            found[:, mine] = self._sums(rows[mine], thetas, fields, log_z[-1]) - np.array(log_z[-1])[:, None]
        shape = n_chains, len(kept)
        correct, base = self._predicted(states, X, groups, weights)
        several = theta.ndim == 4
        own, its_error = (np.array(v).T.reshape(*shape, -1)[..., slice(None) if several else 0] for v in (log_z, error))
        labels, sizes = [g for g, _ in parts if g is not None], [int(weights[mine].sum()) for _, mine in parts]
        each_person = found[:, persons].reshape(*shape, -1), persons, weights[persons]
        add_observations(self.posterior_, Observed(kept, *each_person, own, its_error, labels, sizes, correct, base))
        table: pd.DataFrame = self.table("loo")
        if (rough := float(table["log_z_error"].iloc[0])) > 1:
            tell(
                f"log Z has an error that changes the sum of the log densities of all persons by {rough:.2g} nats; "
                "comparisons of models by loo are uncertain by as much.",
                ApproximateScoreWarning,
            )
        return table

    def _sums(self, rows: np.ndarray, thetas: np.ndarray, fields: list[Any], log_z: list[float]) -> np.ndarray:
        """Return the log of the sum over the missing values of each row under each draw, (n_draws, n_rows)."""
        return log_sums(
            rows,
            thetas,
            lambda: log_z,
            lambda some: [log_potential(model, theta, some) for model, theta in fields],
            lambda some: PartlySeen(self._model(), some, self._present),
        )

    def _predicted(self, states: Any, X: Any, groups: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of answers of each node that are the most probable, given others, and most frequent."""
        values, correct, base = states.values, [], []
        for node in range(values.shape[1]):
            seen = values[:, node] >= 0
            given, w = values[:, node][seen], weights[seen]
            likely = self._conditional(X, [node], "bayes", False, groups)[seen].argmax(axis=1)
            n = float(w.sum()) or np.nan  # NaN of a node that no person has answered
            correct.append(w[likely == given].sum() / n)
            base.append(np.bincount(given, w, len(levels_of(self._coding, node))).max() / n)
        return np.array(correct), np.array(base)

    def add_log_prior(self) -> None:
        """Add the log prior density of each draw to ``posterior_``, term by term, as `arviz_stats.psense` reads it.

        Group ``log_prior`` has the terms "density" (the probability of the graph, p0 integrated out), "slab" (of the
        weights of the edges that exist) and "biases"; of `CompareMRF` the first two are those of the differences, and
        "baseline" is that of the baselines; of `BayesianMRF` there are "weights" and "biases". A power of a slab is not
        normalised, and would change the prior odds of each edge. The mean of its log under the slab is therefore
        subtracted for each weight that exists: then it is, up to the square of the power less 1.

        Raises
        ------
        OptionError
            If the prior is that of groups of edges.
        """
        check_is_fitted(self)
        add_log_prior(self.posterior_, self._log_prior())

    def _log_prior(self) -> dict[str, np.ndarray]:
        """Return the log prior of each draw, term by term."""
        prior = self._prior_of_edges
        if isinstance(prior, DirichletProcess):
            raise OptionError("The prior of groups of edges has no terms that powers would scale; use `sensitivity`.")
        return spike_slab_terms(self.posterior_, prior)
