"""R-hat and effective sizes of many scalars at once (Vehtari et al. 2021), and the shape of their largest numbers.

The formulas are those of `arviz_stats`, the reference in the tests, which processes scalars one by one, some
milliseconds each, and takes two seconds to import.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import logsumexp, ndtri

_BLOCK = 2**17  # draws processed together, so that they stay in the cache
_TAILS = (0.05, 0.95)
_STUCK = 1e6  # a larger R-hat is a division by zero, or by rounding errors: no chain moved
_ALL = 225  # numbers up to which a fifth of them are the largest
_SCALE, _SHAPE = 3.0, 10.0  # of the priors of scale, and of a shape of one half, in numbers
_NEGLIGIBLE = 10 * np.finfo(float).eps
_AT_A_TIME = 2**20  # numbers that are an array at a time


class RankDiagnostics(NamedTuple):
    """Diagnostics of scalars; NaN if a scalar is constant, or chains have fewer than four draws."""

    # (n,), the larger of the rank-normalised split R-hat and that of the folded draws; NaN for a single chain, infinite
    # if only the chains differ
    r_hat: np.ndarray
    ess_bulk: np.ndarray  # (n,), effective sample size for the mean
    ess_tail: np.ndarray  # (n,), the smaller of those for the 5 % and the 95 % quantile


def rank_diagnostics(draws: np.ndarray) -> RankDiagnostics:
    """Compute R-hat, bulk and tail effective sample size of each scalar.

    Parameters
    ----------
    draws : (n_chains, n_draws, n) array
        The middle one of an odd number of draws is omitted.
    """
    n_chains, n_draws, n = draws.shape
    diagnostics = RankDiagnostics(*np.full((3, n), np.nan))
    half = n_draws // 2
    if half < 2:
        return diagnostics
    size, width = 2 * n_chains * half, batch(n_chains, n_draws)
    # Scores of all mean ranks, which are halves of integers for ties.
    scores = ndtri((np.arange(2 * size + 1) / 2 - 3 / 8) / (size + 1 / 4))
    for i in range(0, n, width):
        part = np.moveaxis(draws[:, :, i : i + width], 2, 0).astype(np.float64)
        split = np.concatenate([part[:, :, :half], part[:, :, -half:]], axis=1)
        for whole, here in zip(diagnostics, _of_block(split, scores), strict=True):
            whole[i : i + width] = here
    if n_chains == 1:
        diagnostics.r_hat[:] = np.nan
    return diagnostics


def batch(n_chains: int, n_draws: int) -> int:
    """Return the number of scalars that are processed together."""
    return max(1, _BLOCK // max(1, 2 * n_chains * (n_draws // 2)))


def effective_sizes(draws: np.ndarray) -> np.ndarray:
    """Return the effective sample size of each scalar of draws (n_chains, n_draws, n) for its mean, without ranks.

    It is NaN for chains of fewer than four draws.
    """
    half, width = draws.shape[1] // 2, batch(*draws.shape[:2])
    sizes = np.full(draws.shape[2], np.nan)
    for i in range(0, len(sizes) if half > 1 else 0, width):
        part = np.moveaxis(draws[:, :, i : i + width], 2, 0)
        split = np.concatenate([part[:, :, :half], part[:, :, -half:]], axis=1).astype(np.float32)
        sizes[i : i + width] = _ess(split)
    return sizes


def effective_size(draws: np.ndarray) -> float:
    """Return that of draws (n_chains, n_draws) of one scalar."""
    return float(effective_sizes(draws[:, :, None])[0])


def _of_block(x: np.ndarray, scores: np.ndarray) -> RankDiagnostics:
    """Compute the diagnostics of half chains ``x`` (n, 2 n_chains, n_half)."""
    shape, flat = x.shape, x.reshape(len(x), -1)
    order = np.argsort(flat, axis=1)
    ordered = np.take_along_axis(flat, order, axis=1)
    z = _put(order, _mean_scores(ordered, scores)).reshape(shape)
    middle = flat.shape[1] // 2
    median = ordered[:, middle - 1 : middle + 1].mean(axis=1, keepdims=True)
    fold = np.abs(ordered - median)  # decreases, then increases: a stable sort merges the two runs
    refold = np.argsort(fold, axis=1, kind="stable")
    folded_scores = _mean_scores(np.take_along_axis(fold, refold, axis=1), scores)
    folded = _put(np.take_along_axis(order, refold, axis=1), folded_scores).reshape(shape)
    r_hat = np.fmax(_r_hat(z), _r_hat(folded))
    tails = [(flat <= _quantile(ordered, p)).reshape(shape) for p in _TAILS]
    ess = _ess(np.concatenate([z, *tails]).astype(np.float32)).reshape(3, -1)
    constant = ordered[:, 0] == ordered[:, -1]
    diagnostics = RankDiagnostics(r_hat, ess[0], np.minimum(ess[1], ess[2]))
    for values in diagnostics:
        values[constant] = np.nan
    return diagnostics


def _put(order: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Put the values of sorted draws back into the original order."""
    restored = np.empty_like(values)
    np.put_along_axis(restored, order, values, axis=1)
    return restored


def _mean_scores(ordered: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Compute normal scores of sorted draws; ties share the mean of their ranks."""
    n, size = ordered.shape
    rank = np.arange(1, size + 1)
    new = np.ones((n, size + 1), dtype=bool)
    new[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    if new.all():
        return np.broadcast_to(scores[2 * rank], (n, size))
    first = np.maximum.accumulate(np.where(new[:, :-1], rank, 0), axis=1)
    last = np.minimum.accumulate(np.where(new[:, 1:], rank, size)[:, ::-1], axis=1)[:, ::-1]
    return scores[first + last]


def _quantile(ordered: np.ndarray, p: float) -> np.ndarray:
    """Interpolate the quantile (n, 1) of sorted draws linearly."""
    at = p * (ordered.shape[1] - 1)
    low = int(at)
    below, above = ordered[:, [low]], ordered[:, [min(low + 1, ordered.shape[1] - 1)]]
    return below + (at - low) * (above - below)


def _r_hat(z: np.ndarray) -> np.ndarray:
    """Compute R-hat of half chains (n, m, n_half)."""
    n_half = z.shape[2]
    within, between = z.var(axis=2, ddof=1).mean(axis=1), z.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # constant, or only the chains differ
        r_hat = np.sqrt((n_half - 1) / n_half + between / within)
    r_hat[r_hat > _STUCK] = np.inf
    return r_hat


def _ess(x: np.ndarray) -> np.ndarray:
    """Compute the effective sample size of half chains (n, m, n_half), by Geyer's initial monotone sequence."""
    n, m, n_half = x.shape
    size = m * n_half
    mean = x.mean(axis=2, dtype=np.float64)
    length = next_fast_len(2 * n_half, real=True)
    power = np.zeros((n, length // 2 + 1), dtype=np.float32)
    for chain in range(m):
        wave = rfft(x[:, chain] - mean[:, [chain]].astype(np.float32), length)
        power += wave.real**2 + wave.imag**2
    covariance = irfft(power.astype(np.float64), length)[:, :n_half] / size
    within = covariance[:, :1] * n_half / (n_half - 1)
    total = covariance[:, 0] + mean.var(axis=1, ddof=1)
    constant = (x.max(axis=(1, 2)) == x.min(axis=(1, 2))) | ~(total > 0)
    rho = 1 - (within - covariance) / np.where(constant, 1, total)[:, None]
    rho[:, 0] = 1
    # Sums of pairs of lags, up to the first that is not positive, made monotone.
    last = max((n_half - 3) // 2, 0)
    pairs = rho[:, 0 : 2 * last + 2 : 2] + rho[:, 1 : 2 * last + 2 : 2]
    stop = np.where((pairs <= 0).any(axis=1), (pairs <= 0).argmax(axis=1), last)
    kept = np.arange(pairs.shape[1]) < stop[:, None]
    falling = np.minimum.accumulate(pairs, axis=1)
    tail = np.maximum(rho[np.arange(n), 2 * stop], 0)
    tau = np.maximum(-1 + 2 * np.where(kept, falling, 0).sum(axis=1) + tail, 1 / np.log10(size))
    return np.where(constant, size, size / tau)


def pareto_k(logs: np.ndarray) -> np.ndarray:
    """Return the shape of the largest numbers of each column, whose logs are given, (n, n_columns).

    It is NaN of fewer than 25 numbers, and where the largest are equal; infinite where a quarter of them are nothing
    next to the largest.

    The distribution is a generalized Pareto one (Zhang and Stephens 2009). Its shape says whether the mean of the
    numbers has a standard error (Vehtari, Simpson, Gelman, Yao and Gabry 2024).
    """
    n = len(logs)
    n_tail = int(3 * n**0.5 if n > _ALL else n / 5)
    tail_shapes = np.full(logs.shape[1], np.nan)
    if n_tail < 5:
        return tail_shapes
    width = max(1, _AT_A_TIME // (n_tail * (30 + int(n_tail**0.5))))
    for i in range(0, len(tail_shapes), width):
        columns = logs[:, i : i + width]
        largest = np.sort(np.partition(columns - columns.max(axis=0), n - n_tail - 1, axis=0)[n - n_tail - 1 :], axis=0)
        largest = np.exp(largest)
        excess = (largest[1:] - largest[0]).T
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shapes = _shapes(excess)
        tail_shapes[i : i + width] = np.where(np.isnan(shapes) & (excess[:, -1] > excess[:, 0]), np.inf, shapes)
    return tail_shapes


def _shapes(excess: np.ndarray) -> np.ndarray:
    """Estimate the posterior mean shape of each row of excesses over a threshold (n_columns, n), which increase."""
    n = excess.shape[1]
    m = 30 + int(n**0.5)
    b = (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (_SCALE * excess[:, [int(n / 4 + 0.5) - 1]])
    b += 1 / excess[:, [-1]]
    k = np.log1p(-b[:, :, None] * excess[:, None, :]).mean(axis=2)
    log_weight = n * (np.log(-b / k) - k - 1)
    weight = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True))
    weight[weight < _NEGLIGIBLE] = 0.0
    mean = np.where(weight > 0, b * weight, 0.0).sum(axis=1) / weight.sum(axis=1)
    shape: np.ndarray = np.log1p(-mean[:, None] * excess).mean(axis=1)
    return (n * shape + 0.5 * _SHAPE) / (n + _SHAPE)
