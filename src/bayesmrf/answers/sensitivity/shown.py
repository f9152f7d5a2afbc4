"""Tables, picture and section of the sensitivity to the prior of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import OptionError
from ...results.bayes_factors import BOUND, bounded
from ...results.categories import cut_offs, words_in
from ...results.sensitivity import ENOUGH, table_of_priors
from ...results.summary import Summary, summarise
from ...show.figures import PictureOf, resized
from ...show.network_style import colours_of
from ...show.page import Section, listed, paragraph, picture
from ...show.style import GREY, INK, PALE, axes, plot_of
from ...show.tables import ENDS, FACTOR, Listing, Table, number, table, text
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALONG = {"inclusion": "prior inclusion of each edge", "scale": "scale of the slab, over that of the fit"}
_TICKS = {"inclusion": [0.1, 0.3, 0.5, 0.7, 0.9], "scale": [0.25, 0.5, 1, 2, 4]}
_CAPTION = (
    "Above: shares of edges by their Bayes factor. Below: the Bayes factor of each edge; dotted: 10 and 1/10. Dashed: "
    "the prior of the fit. Triangles: runs, whose draws were joined; hatched: too few draws."
)
_SHOWN = 4  # of how many priors of a path one is listed


def has_sensitivity(s: Summary) -> bool:
    """Return whether `sensitivity` was computed."""
    return "sensitivity" in s.tree.children


@table("sensitivity", Summary, has_sensitivity)
def sensitivity(s: Summary) -> Table:
    """Shares of edges with evidence for and against them, under each prior."""
    frame = pd.DataFrame(table_of_priors(s.tree))
    is_shown = frame.groupby("prior", sort=False).cumcount() % _SHOWN == 0
    whole, share, words = "{:,.0f}", "{:.0%}", words_in(s.tree)
    return Table(
        "sensitivity",
        frame,
        (
            text("prior"),
            number("value", each="{:.3g}"),
            *(number(word.replace(" ", "_"), word, each=share) for word in words),
            number("n_effective", "effective draws", whole),
        ),
        Listing("Sensitivity to the prior", frame[is_shown]),
        Listing("Shares by prior", frame),
        note=(
            "Inclusion: the prior probability of each edge. Scale: that of the slab over the one of the fit, whose "
            f"density it has. Bayes factor {cut_offs(words)} Where there are fewer than {ENOUGH:,} effective draws, "
            "shares are uncertain."
        ),
    )


@table("sensitivity-edges", Summary, has_sensitivity, listed=False)
def sensitivity_of_edges(s: Summary) -> Table:
    """Inclusion and Bayes factor of each edge under each prior."""
    dataset = s.tree["sensitivity"].dataset
    n_priors, n_edges = dataset["inclusion"].shape
    each = {name: np.repeat(values, n_edges) for name, values in table_of_priors(s.tree).items()}
    frame = pd.DataFrame(
        {name: np.tile(ends, n_priors) for name, ends in s.named_ends.items()}
        | {name: each[name] for name in ("prior", "value")}
        | {"inclusion": dataset["inclusion"].values.ravel()}
        | {"bayes_factor": bounded(dataset["log10_bayes_factor"].values.ravel())}
        | {"log10_bf_error": dataset["log10_bf_error"].values.ravel(), "trusted": each["trusted"]}
    )
    columns = (ENDS, text("prior"), number("value"), number("inclusion"), FACTOR)
    return Table("sensitivity-edges", frame, columns)


@plot_of("SpikeSlabMRF or CompareMRF, or GroupedMRF with a spike")
def plot_sensitivity(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot how the evidence for edges depends on their prior, after `sensitivity`: a column for each way to change it.

    Above are the shares of edges by their Bayes factor, below the Bayes factor of each edge, with dotted lines at 10
    and 1/10. Triangles mark the runs, a dashed line the prior of the fit; where the draws do not suffice, panels are
    hatched.
    """
    s = summarise(tree)
    if not has_sensitivity(s):
        raise OptionError("tree must have a sensitivity to the prior; call est.sensitivity(X) first.")
    data = s.tree["sensitivity"].dataset
    table = table_of_priors(s.tree)
    paths = list(dict.fromkeys(table["prior"]))
    ax = axes(ax, (3.9 * len(paths), 5.2))
    ax.axis("off")
    for k, path in enumerate(paths):
        rows = table["prior"] == path
        x = table["value"][rows]
        of_fit = data.attrs.get("density") if path == "inclusion" else 1.0
        left, width = (k + 0.14) / len(paths), 0.82 / len(paths)
        for bottom, height in ((0.55, 0.43), (0.09, 0.4)):
            panel = axes(ax.inset_axes((left, bottom, width, height)), (0, 0))
            panel.set(xlim=(x[0], x[-1]), xscale="linear" if path == "inclusion" else "log")
            panel.set_xticks(_TICKS[path], [f"{v:g}" for v in _TICKS[path]])
            panel.minorticks_off()
            if bottom > 0.5:
                shares = {word: table[word.replace(" ", "_")][rows] for word in words_in(s.tree)}
                _shares(panel, x, shares, data["is_run"].values[rows] == 1)
                panel.set_ylabel("share of edges" if k == 0 else "")
            else:
                logs = data["log10_bayes_factor"].values[rows]
                panel.plot(x, logs, color=INK, linewidth=0.6, alpha=0.5, rasterized=logs.size > 20_000)
                panel.hlines([-1, 1], x[0], x[-1], color=GREY, linestyles="dotted", linewidth=1)
                panel.set(ylim=(-BOUND - 0.1, BOUND + 0.1), xlabel=_ALONG[path])
                panel.set_ylabel("log10 Bayes factor" if k == 0 else "")
            if of_fit is not None:
                panel.axvline(of_fit, color=INK, linestyle="dashed", linewidth=0.9)
            _hatch(panel, x, table["trusted"][rows])
    return ax


def _shares(panel: Axes, x: np.ndarray, shares: dict[str, np.ndarray], is_run: np.ndarray) -> None:
    """Fill the areas of the shares, which are named where they are widest."""
    below, colours = np.zeros(len(x)), colours_of(tuple(shares))
    for k, (name, share) in enumerate(shares.items()):
        panel.fill_between(x, below, below + share, color=colours[name], linewidth=0)
        widest = int(np.argmax(share[2:-2])) + 2
        if share[widest] > 0.08:
            at = below[widest] + share[widest] / 2
            side = "left" if widest < len(x) / 3 else "right" if widest > 2 * len(x) / 3 else "center"
            colour = "white" if k == 0 else INK
            panel.text(x[widest], at, name, ha=side, va="center", fontsize=8, color=colour)
        below = below + share
    panel.plot(x[is_run], np.full(is_run.sum(), 0.02), "^", color=INK, markersize=4, clip_on=False)
    panel.set_ylim(0, 1)


def _hatch(panel: Axes, x: np.ndarray, trusted: np.ndarray) -> None:
    """Hatch where there are too few draws."""
    if not trusted.all():
        panel.fill_between(
            x, 0, 1, where=~trusted, transform=panel.get_xaxis_transform(), facecolor="none", hatch="////",
            edgecolor=PALE, linewidth=0, step="mid",
        )  # fmt: skip


def section(s: Summary) -> list[Section]:
    """Return the section, if the sensitivity was computed."""
    if not has_sensitivity(s):
        return []
    shown = sensitivity(s)
    drawn = picture(lambda: plot_sensitivity(s), _CAPTION)
    return [("Sensitivity to the prior", drawn + paragraph(shown.note) + listed(shown))]


ANSWER = Answer(
    "sensitivity",
    (sensitivity, sensitivity_of_edges),
    (plot_sensitivity,),
    (PictureOf("sensitivity", Summary, resized(plot_sensitivity), sensitivity.is_in),),
    section,
    methods=("sensitivity",),
)
