"""What tables, pictures and pages ask of a result, with the answers of most kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from ..communities import Communities


class Kind(ABC):
    """What differs between kinds of posteriors for those who show them, so that nobody asks for their class."""

    estimator: ClassVar[str]  # its name
    title: ClassVar[str]  # of its page
    over: ClassVar[str]  # what the posterior is over, in messages
    picture: ClassVar[str] = "plot_inclusion"  # the function of `bayesmrf.plots` that shows most of it
    edge_noun: ClassVar[str] = "edge"  # what edges are in sentences
    thing: ClassVar[str] = "edge"  # what may be absent
    styled_by: ClassVar[str] = "inclusion"  # what colours and pales edges in a network: that, sign, or group
    has_populations: ClassVar[bool] = False  # whether edges have a weight in each of several groups of people
    has_lags: ClassVar[bool] = False  # whether there are lagged edges, which have a direction

    @property
    def within(self) -> bool:
        """Whether lagged edges have a network within a wave next to them."""
        return False

    @property
    def spike(self) -> bool:
        """Whether edges may be absent."""
        return False

    @property
    def has_network(self) -> bool:
        """Whether edges have parameters that a network can show."""
        return True

    @property
    def drawn_as(self) -> str:
        """The variable that was sampled."""
        return "theta"

    @property
    def if_negative(self) -> str:
        """What a minus means."""
        return "negative weight"

    @property
    def share_informing(self) -> np.ndarray | float:
        """Share of draws that inform the parameters of each edge."""
        return 1.0

    @property
    def communities(self) -> Communities | None:
        """Communities of nodes; None where the prior has no blocks."""
        return None

    @property
    def evidence(self) -> dict[str, np.ndarray]:
        """Bayes factor, its error and word of each edge, see `bayesmrf.results.edge_evidence`; empty if unknown."""
        return {}

    @property
    @abstractmethod
    def judged(self) -> str:
        """Which quantities the page lists with their convergence."""

    @property
    @abstractmethod
    def trace_title(self) -> str:
        """The quantity whose trace the page has, as the start of a sentence."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The paper that has the method."""

    @abstractmethod
    def trace(self) -> tuple[str, xr.DataArray]:
        """Return what the quantity is called that is traced, and its draws."""
