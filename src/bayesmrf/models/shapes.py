"""The check of the shapes of parameters, of which NumPy would take others: transposed, broadcast or cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError


def require_shape(option: str, value: Any, shape: tuple[int, ...], parts: str = "") -> None:
    """Check that an array of parameters has a shape; ``parts`` says in words what it consists of.

    Raises
    ------
    OptionError
    """
    if np.shape(value) != shape:
        raise OptionError(f"{option} must have shape {shape}{f', {parts}' if parts else ''}, got {np.shape(value)}.")
