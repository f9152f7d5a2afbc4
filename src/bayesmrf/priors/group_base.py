"""The base of distributions of values that groups of edges or nodes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..errors import OptionError


class GroupBase:
    """Base distribution of a Dirichlet process: of an agreement, or normal."""

    is_of_agreement: ClassVar[bool] = False
    # What each class has: how it is stored with a run; draws of values (n,); and two exponents and the precision of the
    # density of a value, of which theta is ``unit`` times it.
    group_record: Any  # a dict
    draw_values: Callable[[int, np.random.Generator], np.ndarray]
    of_value: Callable[[float], tuple[float, float, float]]

    def covariance_of(self, p: int) -> np.ndarray:
        """Return the covariance of p parameters, (p, p).

        Raises
        ------
        OptionError
            If the distribution is not normal, or not of p parameters.
        """
        raise OptionError(option="base", got=self, expected=f"a normal prior of {p} parameters")
