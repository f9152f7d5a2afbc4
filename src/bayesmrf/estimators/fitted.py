"""Attributes that a fit sets."""

from __future__ import annotations


class Fitted:
    """Estimators whose fit sets ``theta_``, and other attributes whose names end with an underscore."""

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has come as far as ``theta_``; attributes of the data are set before."""
        return "theta_" in vars(self)

    def _forget(self) -> None:
        """Remove the attributes of a former fit: the next one may have others, or be stopped before it has any."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
