"""One figure of a result for a paper."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ..answers.registry import figures_of
from ..declare.option import named
from ..errors import OptionError
from ..names import quoted
from ..results.summary import summarise
from ..show.figures import Figure, checked_file, finish, labelled


@named
def figure(
    result: Any,
    kind: str = "network",
    path: str | PathLike[str] | None = None,
    *,
    labels: Any = None,
    groups: Any = None,
    layout: Any = "spring",
    shown: Any = "included",
    node_size: float | None = None,
    width: Any = "column",
    theme: str = "light",
    probability: float = 0.9,
) -> Any:
    """Draw a figure of a result for a paper, and write it to a file.

    Kinds are "network" (edges that are shown, wide if strong, dashed if negative), "networks" of groups of people,
    "evidence" (the category of each pair; inconclusive ones are drawn if ``shown="all"``), "edges" (weights with
    intervals and Bayes factors), "differences" between groups, "inclusion" (a heat map), "communities", "statistics",
    "checks", "sensitivity", "groups", "panel" and "trace": those that a result has. Colours are safe for colour-blind
    readers, and negative edges are dashed. Labels of a network are in nodes if they are short, else next to them where
    no label covers another, else in a key of numbers.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
        Fitted, its ``posterior_``, or the path of a stored run.
    kind : str
    path : path, optional
        File to write, which is replaced: SVG with texts as text, PDF with embedded fonts, or PNG at 300 dots an inch,
        by its suffix.
    labels : mapping or sequence of str, optional
        Labels of nodes by their names, or in the order of the nodes; others keep their names.
    groups : mapping, sequence or "communities", optional
        Groups of nodes, which colour them, by name or in their order; or the communities of a prior with blocks.
    layout : {"spring", "circle"}, mapping, sequence, DataFrame or result
        Positions of nodes: pairs of numbers by the names of nodes, or in their order, are kept as they are. Another
        result gives its positions, so that two networks can be compared.
    shown : {"included", "weakly", "all"} or float
        Edges that are included by their Bayes factors (of results without these: inclusion above 0.5, or a 90 %
        interval that excludes zero); weakly included ones, too; all; or those with an inclusion above a number.
    node_size : float, optional
        Diameter of nodes in points, by default by their number.
    width : {"column", "page"} or float
        3.3 or 6.9 inches, or a number of inches. Heights follow.
    theme : {"light", "dark", "grey"}
    probability : float
        Of the central intervals.

    Returns
    -------
    matplotlib.axes.Axes, or an array of them
        A notebook shows the picture. ``figure`` of the axes is that of matplotlib.

    Raises
    ------
    OptionError
        If the result has no such figure, or an option is not valid.
    StoreError
        If the file cannot be written.
    """
    options = Figure(labels, groups, layout, shown, node_size, width, theme)
    target = None if path is None else checked_file(path)
    s = labelled(summarise(result, probability), labels)
    kinds = figures_of(s)
    if not (isinstance(kind, str) and kind in kinds):
        expected = f"a figure of this result: {', '.join(map(quoted, kinds))}"
        raise OptionError(option="kind", got=kind, expected=expected)
    return finish(kinds[kind].draw(s, options), options, target)
