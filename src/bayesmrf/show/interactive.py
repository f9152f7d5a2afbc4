"""A network on a page that a reader can move, search, and thin out: what a script draws, and its controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.codebook import frame_of_text
from ..names import shown
from ..results.bayes_factors import text_of
from ..results.categories import FORCED, words_in
from ..results.median_model import INCLUSION
from ..results.summary import Summary
from .figures import data_names
from .layout import layout, spread
from .network_style import by_evidence, colours_of
from .page import escape
from .style import COLOURS

if TYPE_CHECKING:
    import pandas as pd

MOST_EDGES = 2000
_MANY = 200  # nodes, above which they are not moved apart, and the network is drawn once
_WIDTH, _APART = 1000.0, 46.0  # of the network, and of two nodes, in pixels before it is fitted
_ROUNDED = 4  # digits
_COMMUNITY = "community"
_BESIDE = (
    '<div class="beside"><div class="canvas" role="img" aria-label="Evidence of edges"></div><p class="key"></p></div>'
)


def can_explore(s: Summary) -> bool:
    """Return whether a result has edges that have weights."""
    return s.has_network and s.styled_by != "group"


def network_view(s: Any, nodes: pd.DataFrame | None = None) -> str:
    """Return the controls and the data of a network to explore, which stays hidden without scripts.

    Parameters
    ----------
    s : Summary
        With a network whose edges have weights.
    nodes : DataFrame, optional
        More of each node, by name: columns by which nodes are coloured.
    """
    kept = _kept(s)
    groups = _groups(s, nodes)
    text = json.dumps(_data(s, kept, groups), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":  # no name ends the script
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    views = [(str(k), name) for k, (name, _) in enumerate(_views(s))]
    views += [("evidence", "evidence")] if _has_evidence(s) else []
    controls = [_select("view", "Colour of edges", views)]
    if groups:
        controls.append(_select("colour", "Colour of nodes", [("", "none"), *((name, name) for name in groups)]))
    measure, start = ("inclusion", INCLUSION) if s.spike else ("size relative to the largest", 0.0)
    controls.append(
        f'<label>Edges with {"an" if s.spike else "a"} {measure} of at least <output class="limit"></output>'
        f'<input class="least" type="range" min="0" max="1" step="0.01" value="{start}"></label>'
    )
    hidden = "" if _has_evidence(s) else " hidden"
    controls.append(
        f'<label hidden{hidden}><input class="against" type="checkbox"> evidence against edges, too</label>'
    )
    controls.append('<label>Search <input class="find" type="search" autocomplete="off"></label>')
    buttons = (("in", "+", "zoom in"), ("out", "−", "zoom out"), ("reset", "Reset", ""), ("png", "Download PNG", ""))
    for name, label, about in buttons:
        title = f' aria-label="{about}"' if about else ""
        controls.append(f'<button type="button" class="{name}"{title}>{label}</button>')
    return (
        f'<div class="network" hidden><div class="controls">{"".join(controls)}</div><div class="pair">'
        f'<div><div class="canvas" role="img" aria-label="{escape(_described(s))}"></div><p class="legend"></p></div>'
        f"{_BESIDE if _has_evidence(s) and len(s.names) <= _MANY else ''}"
        '</div><p class="counted"></p><div class="said" aria-live="polite"></div>'
        f'<script type="application/json">{text}</script></div>'
    )


def _select(name: str, label: str, options: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in options)
    return f'<label>{label} <select class="{name}">{items}</select></label>'


def _described(s: Any) -> str:
    return f"Network of {len(s.names):,} nodes; the same edges are in the tables of this page."


def _has_evidence(s: Any) -> bool:
    return bool(s.evidence) and not s.has_lags


def _views(s: Any) -> list[tuple[str, np.ndarray]]:
    """Return the weights that edges have, (3, n_edges): mean and ends of the interval, each with a name."""
    if not s.has_populations:
        return [(s.terms.edge, s.forest[:, 0])]
    n, table = s.pairs, s.differences
    values = table[["difference", "lower", "upper"]].to_numpy().reshape(-1, n, 3).transpose(1, 2, 0)
    first = table.iloc[:n]
    names = [f"{b} − {a}" for a, b in zip(first["group"], first["other"], strict=True)]
    return [*zip(names, values, strict=True), *((str(g), s.forest[:, k]) for k, g in enumerate(s.groups))]


def _kept(s: Any) -> np.ndarray:
    """Return the edges that are on the page: those with the best evidence, then the strongest."""
    size = np.abs(np.nan_to_num(_views(s)[0][1][0]))
    factor = np.nan_to_num(s.evidence["bayes_factor"]) if s.evidence else np.zeros(s.n_edges)
    inclusion = s.inclusion if s.spike else size
    lagged = np.arange(s.n_edges) >= s.n_lagged if s.has_lags else np.zeros(s.n_edges, bool)
    order = np.lexsort((-size, -inclusion, -factor, lagged))
    return order[: MOST_EDGES if not s.has_lags else min(MOST_EDGES, s.n_lagged)]


def _groups(s: Any, nodes: pd.DataFrame | None) -> dict[str, list[str | None]]:
    """Return the group of each node by each column that has any."""
    names, groups = data_names(s), dict[str, list[str | None]]()
    if s.communities is not None:
        groups[_COMMUNITY] = [str(k) for k in s.communities.allocation]
    for column, values in () if nodes is None else nodes.items():
        of_node = values.dropna().astype(str).to_dict()
        groups[str(column)] = [shown(of_node[name], None) if name in of_node else None for name in names]
    return groups


def _wording(s: Any) -> list[str]:
    """Return the question behind each node, where the codebook has one."""
    text = s.attrs.get("columns")
    if not text:
        return [""] * len(s.names)
    frame = frame_of_text(text)
    questions = dict(zip(frame["name"], frame["question"], strict=True)) if "question" in frame else {}
    return [shown(str(questions.get(name, "")), None) for name in data_names(s)]


def _data(s: Any, kept: np.ndarray, groups: dict[str, list[str | None]]) -> dict[str, Any]:
    """Return what the script draws."""
    n, ends = len(s.names), s.ends if s.has_populations else s.drawn
    place = layout(n, ends)
    extent = float(np.ptp(place, axis=0).max(initial=0)) or 1.0
    place = place * _WIDTH * max(1.0, np.sqrt(n / 30)) / extent
    place = spread(place, _APART) if n <= _MANY else place
    left = s.n_edges - len(kept)
    data: dict[str, Any] = {
        "names": [shown(name, None) for name in s.names],
        "texts": _wording(s),
        "x": np.round(place[:, 0], 1).tolist(),
        "y": np.round(-place[:, 1], 1).tolist(),
        "edges": s.ends[kept].tolist(),
        "views": [
            {"name": name}
            | {key: _numbers(row[kept]) for key, row in zip(("weight", "lower", "upper"), of, strict=True)}
            for name, of in _views(s)
        ],
        "inclusion": _numbers(s.inclusion[kept]) if s.spike else None,
        "interval": f"{100 * s.probability:g} % interval",
        "thing": "edges" if not s.has_populations else "pairs",
        "rest": f"; the {len(kept):,} with the best evidence are on this page, of {s.n_edges:,}" if left > 0 else "",
        "directed": bool(s.has_lags),
        "groups": groups,
        "levels": {name: sorted({v for v in values if v is not None}, key=_natural) for name, values in groups.items()},
        "palette": [*COLOURS, "#8c6d1f", "#7f7f7f", "#bcbd22", "#17becf"],
        "colours": {"positive": COLOURS[0], "negative": COLOURS[1]},
        "size": float(np.clip(70 / np.sqrt(max(n, 1)), 4, 16)),
        "font": 12 if n <= 60 else 9,
        "words": [],
        "evidence": None,
        "isExcluded": [False] * len(kept),
    }
    return data | (_evidence(s, kept) if _has_evidence(s) else {})


def _evidence(s: Any, kept: np.ndarray) -> dict[str, Any]:
    """Return category, colour and Bayes factor of each edge, and the categories."""
    words, names = s.evidence["evidence"].astype(str), words_in(s.tree)
    look, colours = by_evidence(words, names), colours_of(names)
    factors = s.evidence["bayes_factor"]
    each = [
        {
            "text": f"{words[e]}{f', Bayes factor {text_of(factors[e])}' if np.isfinite(factors[e]) else ''}",
            "colour": colours.get(words[e], "transparent"),
            "dashed": bool(look.dashed[e]),
            "width": round(float(look.widths[e]), 2),
        }
        for e in kept
    ]
    counts = {word: int((words == word).sum()) for word in colours}
    legend = [
        {"text": f"{word} ({counts[word]:,})", "colour": colour, "dashed": word in names[1:4]}
        for word, colour in colours.items()
        if word != FORCED or counts[word]
    ]
    return {"evidence": each, "words": legend, "isExcluded": np.isin(words[kept], names[3:]).tolist()}


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(f"{x:.{_ROUNDED}g}") if np.isfinite(x) else None for x in values]


def _natural(text: str) -> tuple[int, float, str]:
    """Sort numbers by value, before texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
