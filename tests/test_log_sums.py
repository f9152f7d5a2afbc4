"""Sums on the log scale are those of scipy, digit for digit, also where elements are equal or infinite."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesmrf.log_sums import log_sum_exp


@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), None), ((1000,), None), ((30, 40), None), ((30, 40), 0), ((5, 3, 64), 1), ((3, 1), 1)]
)
def test_sums_are_those_of_scipy(shape, axis, rng):
    a = 30 * rng.standard_normal(shape)
    cases = [a, np.round(a / 10), np.where(rng.random(shape) < 0.5, -np.inf, a), np.full(shape, -np.inf)]
    cases += [np.where(rng.random(shape) < 0.1, extreme, a) for extreme in (np.inf, np.nan, 800.0)]
    for case in cases:
        np.testing.assert_array_equal(log_sum_exp(case, axis), logsumexp(case, axis=axis))
