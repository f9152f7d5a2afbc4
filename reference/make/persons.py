"""Second computation of panels whose people have intercepts of their own.

The covariance S has the prior of Huang and Wand: an inverse Wishart matrix given two inverse gamma variables, which are
integrated out by quadrature. Slopes are S^(1/2) times standard normal ones. Intercepts are integrated out by a
trapezoid rule.
"""

from __future__ import annotations

import itertools

import numpy as np
import sampling
from scipy import stats
from scipy.special import log_expit, logsumexp, multigammaln

_Z = np.arange(-5.4, 5.5, 0.6)
_LOG_W = stats.norm.logpdf(_Z) + np.log(0.6)
_ALPHA = np.exp(np.linspace(-6.0, 24.0, 121))
_LOG_ALPHA = stats.invgamma.logpdf(_ALPHA, 0.5) + np.log(_ALPHA) + np.log(0.25)


class Persons(sampling.Target):
    """Likelihood times prior of one structure of lagged edges."""

    n_rounds = 2

    def __init__(self, case: dict, data: dict, names: list[str], present: list[str]):
        self.case, self.names, self.present = case, names, present
        self.size = len(present) + 9
        self.sequences: dict[tuple, int] = {}
        rows: dict[int, list[tuple]] = {}
        for person, _, *x in data["rows"]:
            rows.setdefault(person, []).append(tuple(x))
        for x in rows.values():
            self.sequences[tuple(x)] = self.sequences.get(tuple(x), 0) + 1
        self.middle = [sum(x[0][i] for x in rows.values()) / len(rows) for i in (0, 1)]

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return weights, biases, standard deviations of intercepts and slopes by name."""
        t = dict.fromkeys(self.names, np.zeros(len(x)))
        k = len(self.present)
        t |= {name: x[:, i] for i, name in enumerate(self.present)}
        t["A"], t["B"] = x[:, k], x[:, k + 1]
        a, b, c = np.exp(x[:, k + 6]), x[:, k + 7], np.exp(x[:, k + 8])
        t["sd A"], t["sd B"] = a, np.sqrt(b**2 + c**2)
        for j, first in enumerate("AB"):
            g, h = x[:, k + 2 + 2 * j], x[:, k + 3 + 2 * j]
            t[f"slope {first}>A"], t[f"slope {first}>B"] = a * g, b * g + c * h
        return t

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log of likelihood times prior at each row of x."""
        return np.concatenate([self._log_density(part) for part in np.array_split(x, len(x) // 256 + 1)])

    def _log_density(self, x: np.ndarray) -> np.ndarray:
        k, prior = len(self.present), self.case["prior"]
        total = stats.norm.logpdf(x[:, :k], scale=prior["slab"]["scale"]).sum(axis=1)
        total += stats.norm.logpdf(x[:, k : k + 2], scale=prior["bias"]["scale"]).sum(axis=1)
        total += stats.norm.logpdf(x[:, k + 2 : k + 6]).sum(axis=1)
        log_a, b, log_c = x[:, k + 6], x[:, k + 7], x[:, k + 8]
        total += np.log(4) + 3 * log_a + 2 * log_c  # from S to its Cholesky root, with logs of its diagonal
        total += self._log_covariance(np.exp(log_a), b, np.exp(log_c))
        return total + self._likelihood(self.values(x), np.exp(log_a), b, np.exp(log_c))

    @staticmethod
    def _log_covariance(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the log density of S = L L': inverse Wishart with 3 degrees of freedom and scale 4 diag(1 / alpha).

        The variables alpha are inverse gamma (1/2, 1), and are integrated out one by one by a trapezoid rule.
        """
        total = -3.0 * np.log(2) - multigammaln(1.5, 2) - 3 * 2 * np.log(a * c)
        # The diagonal of the inverse: entries of S over its determinant.
        for inverse in ((b**2 + c**2) / (a * c) ** 2, 1 / c**2):
            log_term = 1.5 * np.log(4 / _ALPHA) - 2 * inverse[:, None] / _ALPHA + _LOG_ALPHA
            total = total + logsumexp(log_term, axis=1)
        return total

    def _likelihood(self, t: dict, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        total, cache = 0.0, {}
        for rows, count in self.sequences.items():
            one, two = 0.0, 0.0
            for before, after in itertools.pairwise(rows):
                key = (rows[0], before)
                if key not in cache:
                    cache[key] = self._log_probabilities(t, a, b, c, *key)
                one, two = one + cache[key][after[0]], two + cache[key][2 + after[1]]
            inner = np.log(np.exp(two + _LOG_W).sum(axis=2))
            total = total + count * np.log(np.exp(one + inner + _LOG_W).sum(axis=1))
        return total

    def _log_probabilities(
        self, t: dict, a: np.ndarray, b: np.ndarray, c: np.ndarray, first: tuple, before: tuple
    ) -> tuple:
        """Return log probabilities of no and yes of the first item, and of the second, at the nodes of the rule."""
        means = [
            sum(t[f"slope {j}>{i}"] * (y - m) for j, y, m in zip("AB", first, self.middle, strict=True)) for i in "AB"
        ]
        pushes = [t[i] + sum(t[f"{j}>{i}"] * y for j, y in zip("AB", before, strict=True)) for i in "AB"]
        one = (means[0] + pushes[0])[:, None] + a[:, None] * _Z
        two = (means[1] + pushes[1])[:, None, None] + b[:, None, None] * _Z[:, None] + c[:, None, None] * _Z
        return log_expit(-one), log_expit(one), log_expit(-two), log_expit(two)
