"""Panels with missing answers, which are drawn in turn with all else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...declare.option import Checked
from ...models.panel import Panel
from ..conditionals.panel_hidden import PanelHidden, completed, neighbours, redraw_missing
from ..conditionals.panel_tables import panel_tables
from .panel import PanelInfo, PanelKernel, PanelState


class PanelMissingState(NamedTuple):
    """The state of the panel, and the missing answers."""

    panel: PanelState
    values: np.ndarray  # (n_missing,) int8


@dataclass(frozen=True, eq=False)
class PanelMissingKernel(Checked):
    """Redraw the missing answers given all else, then make a step of a panel without any.

    Parameters
    ----------
    kernel : PanelKernel
        Of the table with some answers in the place of those that are missing.
    model : Panel
    hidden : PanelHidden
    """

    kernel: PanelKernel
    model: Panel
    hidden: PanelHidden

    name, dims = "panel-missing", PanelKernel.dims

    def init(self, rng: np.random.Generator) -> PanelMissingState:
        """Start as the panel does, with answers by their shares."""
        share = np.exp(self.hidden.log_share[self.hidden.cells[:, 1]]).cumsum(axis=1)
        values = (share < rng.random((len(share), 1)) * share[:, -1:]).sum(axis=1)
        return PanelMissingState(self._of(completed(self.hidden, values)).init(rng), values.astype(np.int8))

    def step(self, rng: np.random.Generator, state: PanelMissingState) -> tuple[PanelMissingState, PanelInfo]:
        """Redraw all missing answers, and all parameters."""
        x, d = completed(self.hidden, state.values), self.model.n_nodes
        own = state.panel.own if len(state.panel.own) else np.zeros((int(self.hidden.person.max()) + 1, d))
        redraw_missing(rng, x, self.hidden, state.panel.theta, own, self.kernel.tables, *neighbours(self.hidden))
        panel, info = self._of(x).step(rng, state.panel)
        return PanelMissingState(panel, x[tuple(self.hidden.cells.T)].astype(np.int8)), info

    def _of(self, x: np.ndarray) -> PanelKernel:
        """Return the kernel of completed rows."""
        hidden, has_own = self.hidden, len(self.kernel.first_wave) > 0
        person = hidden.person[hidden.after] if has_own else None
        return replace(self.kernel, tables=panel_tables(self.model, x[hidden.before], x[hidden.after], person))
