"""Attributes that a fit sets."""

from __future__ import annotations

from typing import Any


class Fitted:
    """Estimators whose fit sets ``theta_``, and other attributes whose names end with an underscore."""

    @property
    def _of_fit(self) -> dict[str, Any]:
        """The attributes that the last fit has set, by name; which these are depends on the options and the data."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has come as far as ``theta_``; attributes of the data are set before."""
        return "theta_" in self._of_fit

    def _forget(self) -> None:
        """Remove the attributes of a former fit: the next one may have others, or be stopped before it has any."""
        for name in self._of_fit:
            delattr(self, name)
