"""Figures for papers of networks: of weights, of the evidence for each edge, and of communities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import OptionError
from ...results.categories import FORCED, words_in
from ...results.summary import Summary, count
from ...show.figures import Figure, by_node, data_names, resized
from ...show.network_style import ALPHAS, Look, by_evidence, look_of, paler, signed
from ...show.one_network import Drawing, draw_one
from .networks import plot_evidence_network, plot_network

_MOST_NODES = 200  # beyond which networks are drawn as `bayesmrf.plots` does
_FEW = 18  # nodes up to which evidence against edges is drawn unless it is asked for


def which(s: Any, shown: Any) -> np.ndarray:
    """Return which edges a figure shows, (n_edges,) bool; see `bayesmrf.show.figures.Figure`.

    Raises
    ------
    OptionError
        If a number is asked for and no edge may be absent.
    """
    if shown == "all":
        return np.ones(s.n_edges, bool)
    if not isinstance(shown, str):
        if not s.spike:
            raise OptionError(option="shown", got=shown, expected="'included' or 'all', as no edge may be absent")
        return np.asarray(s.inclusion > shown)
    if not s.evidence:
        return np.asarray(s.clear_edges)
    words = words_in(s.tree)
    wanted = [*words[: 1 + (shown == "weakly")], FORCED]
    return np.isin(s.evidence["evidence"].astype(str), wanted)


def draw_network(s: Any, options: Figure) -> Any:
    """Draw the edges that are shown, wide if strong; the others are counted."""
    if s.has_lags:
        return _draw_lagged(s, options)
    if len(s.names) > _MOST_NODES:
        return resized(plot_network)(s, options)
    shown = which(s, options.shown)
    if s.styled_by == "inclusion":
        table = s.edge_table[shown]
        unsigned = ~s.display.signed[shown]
        weights = np.nan_to_num(table["weight"].to_numpy())
        alpha = paler(table["inclusion"].to_numpy()).clip(0.2)
        look = signed(weights, alpha, s.weighed, *ALPHAS, unsigned=unsigned)
    else:
        look = look_of(s)
        covered = np.ones(s.n_edges, bool) if len(look.widths) == s.n_edges else s.in_median_model
        look, shown = _part(look, shown[covered]), shown & covered
    return _draw(s, options, s.ends[shown], _without_negative(look), remark(s, shown, options))


def draw_communities(s: Any, options: Figure) -> Any:
    """Draw the network, with nodes coloured by their community."""
    return draw_network(s, options if options.groups is not None else replace(options, groups="communities"))


def draw_evidence(s: Any, options: Figure) -> Any:
    """Draw the category of evidence of each pair; inconclusive ones only if all are asked for."""
    if len(s.names) > _MOST_NODES:
        return resized(plot_evidence_network)(s, options)
    words, names = s.evidence["evidence"].astype(str), words_in(s.tree)
    is_many = len(s.names) > _FEW
    hidden = [] if options.shown == "all" else [names[2], *(names[3:] if is_many or options.shown == "weakly" else [])]
    hidden += [] if options.shown != "weakly" else [names[4]]
    look = by_evidence(words, names)
    drawn = ~np.isin(words, hidden)
    for handle in look.handles:
        if handle.get_label().rpartition(" (")[0] in hidden:
            handle.set_label(f"{handle.get_label()[:-1]}, not drawn)")
    order = look.order[drawn[look.order]]
    return _draw(s, options, s.ends, look._replace(order=order), "")


def remark(s: Any, shown: np.ndarray, options: Figure) -> str:
    """Return how many edges are shown, of how many."""
    if options.shown == "all" or shown.all():
        return ""
    return f"{count(int(shown.sum()), s.thing)} of {len(shown):,} shown"


def _draw(s: Summary, options: Figure, ends: np.ndarray, look: Look, text: str) -> Any:
    drawing = Drawing(s.names, ends, look, s.ends if s.has_populations else s.drawn, remark=text)
    return draw_one(drawing, options, data_names(s), _colours(s, options))


def _draw_lagged(s: Any, options: Figure) -> Any:
    """Draw the lagged edges that are shown as arrows and loops."""
    is_lagged = np.arange(s.n_edges) < s.n_lagged
    shown = which(s, options.shown) & is_lagged
    table = s.edge_table[shown]
    alpha = paler(table["inclusion"].to_numpy()).clip(0.2)
    look = _without_negative(signed(table["weight"].to_numpy(), alpha, "weight", *ALPHAS))
    joined = s.ends[shown & (s.ends[:, 0] != s.ends[:, 1])]
    text = f"{count(int(shown.sum()), 'lagged edge')} of {s.n_lagged:,} shown"
    drawing = Drawing(s.names, s.ends[shown], look, joined, True, text)
    return draw_one(drawing, options, data_names(s), _colours(s, options))


def _without_negative(look: Look) -> Look:
    """Return the style without dashed lines in the legend, if no edge is dashed."""
    if look.dashed.any():
        return look
    return look._replace(handles=[handle for handle in look.handles if not handle.is_dashed()])


def _part(look: Look, chosen: np.ndarray) -> Look:
    """Return the style of some edges."""
    new = np.cumsum(chosen) - 1
    order = new[look.order[chosen[look.order]]]
    return Look(look.colours[chosen], look.widths[chosen], look.dashed[chosen], order, look.handles)


def _colours(s: Summary, options: Figure) -> list[Any] | None:
    """Return the group of each node."""
    if options.groups is None:
        return None
    if isinstance(options.groups, str):
        if s.communities is None:
            raise OptionError(option="groups", got="communities", expected="groups by the names of nodes, as the prior "
                              "of this result has no blocks")  # fmt: skip
        return [f"community {k}" for k in s.communities.allocation]
    groups = by_node("groups", options.groups, data_names(s))
    return [groups.get(name) for name in data_names(s)]
