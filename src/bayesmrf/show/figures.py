"""Figures for papers: the pictures that a result has by name, and the labels, width, theme and file of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..data.files import check_path
from ..declare.option import Checked, option
from ..declare.paths import path_of
from ..declare.rule import Rule, choice, is_list, is_number, number, optional
from ..errors import OptionError, StoreError, argument
from ..names import quoted, shown
from ..results.summary import Summary

WIDTHS = {"column": 3.3, "page": 6.9}  # inches
_SMALLEST, _DPI = 5.0, 300  # points of a text; of PNG
_FORMATS = (".svg", ".pdf", ".png")
# SVG with texts as text, and the same bytes each time; PDF with fonts embedded.
_FILES: Any = {"svg.fonttype": "none", "svg.hashsalt": "bayesmrf", "pdf.fonttype": 42}
_PALE_INK, _DARK = "#e8eaed", "#14171c"  # of the dark theme
_NEUTRAL = 0.12  # saturation below which a colour is a grey


def _is(value: Any, *words: str) -> bool:
    return isinstance(value, str) and value in words


_LABELS = optional(Rule("labels by the names of nodes, or a list with one for each node",
                        lambda v: isinstance(v, Mapping) or is_list(v)))  # fmt: skip
_GROUPS = optional(Rule("groups by the names of nodes, a list with one for each node, or 'communities'",
                        lambda v: _is(v, "communities") or isinstance(v, Mapping) or is_list(v)))  # fmt: skip
_SHOWN = Rule("'included', 'weakly', 'all' or a number in (0, 1)",
              lambda v: _is(v, "included", "weakly", "all") or (is_number(v) and 0 < v < 1),
              ("included", 0.9))  # fmt: skip
_WIDTH = Rule("'column', 'page' or inches from 1 to 40", lambda v: _is(v, *WIDTHS) or (is_number(v) and 1 <= v <= 40),
              ("column", 1))  # fmt: skip
_ANY = Rule("'spring', 'circle', positions by the names of nodes, or another result", lambda _: True)


@dataclass(frozen=True, eq=False)
class Figure(Checked):
    """How a figure is made."""

    labels: Any = option(None, _LABELS, "Labels of nodes, by their names or in their order; others keep their names.")
    groups: Any = option(
        None,
        _GROUPS,
        'Groups of nodes, which colour them, by name or in their order; or "communities", if the prior has blocks.',
    )
    layout: Any = option(
        "spring",
        _ANY,
        'Positions of nodes: "spring", "circle", pairs of numbers by the names of nodes or in their order, or another '
        "result, whose positions are taken.",
    )
    shown: Any = option(
        "included",
        _SHOWN,
        'Which edges: "included" by their Bayes factors (of results without these: an inclusion above one half, or a '
        '90 % interval without zero), "weakly" included ones, too, "all", or those with an inclusion above a number.',
    )
    node_size: float | None = option(None, optional(number(0)), "Diameter of nodes in points.")
    width: Any = option("column", _WIDTH, 'Width: "column" (3.3 inches), "page" (6.9 inches), or inches.')
    theme: str = option(
        "light",
        choice("light", "dark", "grey"),
        'Colours: "light", "dark" for dark pages, or "grey" for print without colours.',
    )

    @property
    def inches(self) -> float:
        """The width in inches."""
        return float(WIDTHS.get(self.width, self.width))


@dataclass(frozen=True)
class PictureOf:
    """A picture of the results of a kind, of those ``where`` there is one; called with a summary and `Figure`."""

    name: str  # in `est.plot`
    of: type  # of summaries
    draw: Callable[[Any, Figure], Any]  # returns axes
    where: Callable[[Any], bool] = lambda _: True

    def is_in(self, s: Summary) -> bool:
        """Return whether a result has this picture."""
        return isinstance(s, self.of) and self.where(s)


def resized(plot: Callable[[Any], Any]) -> Callable[[Any, Figure], Any]:
    """Return what draws a picture of `bayesmrf.plots` at the width of a figure, with texts of 5 points at least."""

    def draw(s: Any, options: Figure) -> Any:
        drawn = plot(s)
        figure = np.ravel(drawn)[0].get_figure(root=True)
        width, height = figure.get_size_inches()
        share = min(1.0, options.inches / width)
        shrink(figure, share)
        figure.set_size_inches(options.inches, share * height)
        return drawn

    return draw


def shrink(figure: Any, share: float) -> None:
    """Make texts smaller, those of 5 points apart."""
    for text in figure.findobj(_is_text):
        text.set_fontsize(max(_SMALLEST, share * text.get_fontsize()))


def by_node(option: str, values: Any, names: list[str]) -> dict[str, Any]:
    """Return values by the names of nodes, of a mapping or of a sequence with one for each node.

    Raises
    ------
    OptionError
        If a name is unknown, or values are too few or too many.
    """
    if isinstance(values, Mapping):
        unknown = next((name for name in values if str(name) not in names), None)
        if unknown is not None:
            raise OptionError(option=option, got=unknown, expected=f"names of nodes ({', '.join(map(quoted, names))})")
        return {str(name): value for name, value in values.items()}
    if len(values) != len(names):
        raise OptionError(option=option, got=f"{len(values)} values", expected=f"one for each of {len(names)} nodes")
    return dict(zip(names, values, strict=True))


def data_names(s: Summary) -> list[str]:
    """Return the names of the nodes in the data, whatever their labels."""
    return [str(name) for name in s["constant_data"]["node"].values]


def labelled(s: Summary, labels: Any) -> Summary:
    """Return a summary whose nodes have other labels."""
    if labels is not None:
        s = replace(s)
        new = by_node("labels", labels, data_names(s))
        nodes = [str(new.get(name, name)) for name in data_names(s)]
        s.statistics.__dict__["nodes"] = nodes
        s.__dict__["nodes"] = np.array(nodes, dtype=object)
        s.__dict__["names"] = [shown(name) for name in nodes]
    return s


def finish(drawn: Any, options: Figure, path: str | PathLike[str] | None) -> Any:
    """Give a picture the colours of a theme, and write it to a file."""
    figure = np.ravel(drawn)[0].get_figure(root=True)
    if options.theme != "light":
        recolour(figure, _THEMES[options.theme])
    if options.theme == "dark":
        figure.set_facecolor(_DARK)
    if path is not None:
        save(figure, checked_file(path))
    return drawn


def checked_file(path: str | PathLike[str]) -> Path:
    """Return the path of a figure, whose suffix says its format.

    Raises
    ------
    OptionError
    """
    path = path_of("path", path)
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(option="path", got=str(path), expected="a file named .svg, .pdf or .png")
    check_path(path, f"{argument('path')}: ")
    return path


def save(figure: Any, path: Path) -> None:
    """Write a figure.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    from matplotlib import rc_context

    kind = path.suffix.lower()[1:]
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    try:
        with rc_context(_FILES):
            figure.savefig(path, format=kind, dpi=_DPI, metadata=metadata, facecolor=figure.get_facecolor())
    except OSError as e:
        raise StoreError(f"{argument('path')}: {path} cannot be written ({e.strerror or e}); give another path") from e


def recolour(figure: Any, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change all colours (n, 4) of a figure, those of images apart."""
    from matplotlib.collections import Collection
    from matplotlib.colors import to_rgba_array
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def new(colour: Any) -> Any:
        rgba = to_rgba_array(colour)
        return change(rgba) if len(rgba) else rgba

    def one(colour: Any) -> Any:
        return tuple(new(colour)[0])

    for artist in figure.findobj():
        if _is_text(artist):
            artist.set_color(one(artist.get_color()))
        elif isinstance(artist, Line2D):
            artist.set_color(one(artist.get_color()))
            for part in ("markerfacecolor", "markeredgecolor"):
                colour = getattr(artist, f"get_{part}")()
                if not isinstance(colour, str) or colour != "none":
                    artist.set(**{part: one(colour)})
        elif isinstance(artist, Patch):
            face, edge = one(artist.get_facecolor()), one(artist.get_edgecolor())
            artist.set(facecolor=face, edgecolor=edge)
        elif isinstance(artist, Collection) and artist.get_array() is None:
            face, edge = new(artist.get_facecolor()), new(artist.get_edgecolor())
            artist.set(facecolor=face, edgecolor=edge)


def _is_text(artist: Any) -> bool:
    from matplotlib.text import Text

    return isinstance(artist, Text)


def _grey(rgba: np.ndarray) -> np.ndarray:
    """Return greys of the same luminance."""
    luminance = rgba[:, :3] @ [0.299, 0.587, 0.114]
    return np.column_stack([luminance, luminance, luminance, rgba[:, 3]])


def _dark(rgba: np.ndarray) -> np.ndarray:
    """Return light greys for dark ones and the reverse; colours are lighter."""
    from matplotlib.colors import to_rgb

    top, low = rgba[:, :3].max(axis=1), rgba[:, :3].min(axis=1)
    ground, ink = np.array(to_rgb(_DARK)), np.array(to_rgb(_PALE_INK))
    grey = (ink + (ground - ink) * top[:, None]).clip(0, 1)
    colour = 0.75 * rgba[:, :3] + 0.25
    return np.column_stack([np.where((top - low < _NEUTRAL)[:, None], grey, colour), rgba[:, 3]])


_THEMES = {"grey": _grey, "dark": _dark}
