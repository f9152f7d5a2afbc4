"""Table, picture and section of the posterior predictive checks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError, said, said_in_python
from ...names import shown
from ...results.predictive_checks import FAMILIES, GROUP, LEVEL, OF_PANELS, checks_in, first_row, sentences, things
from ...results.summary import Summary, count, summarise
from ...show.figures import PictureOf, resized
from ...show.page import Section, listed, paragraph, picture
from ...show.style import COLOURS, GREY, PALE, axes, plot_of
from ...show.tables import Column, Table, first_rows, number, table, text
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 3  # checks outside that are named at most, of each family
_SIZE = 7.0  # of their names, in points
_CAPTION = (
    "Each mark is a statistic of the data, less what the posterior expects; the shaded area is its 95 % interval, "
    "which one of twenty leaves by chance. Filled marks are outside after adjustment for the number of all checks."
)
_MOST = 20  # rows of the page


@table("checks", Summary, lambda s: GROUP in s.tree.children)
def checks(s: Summary) -> Table:
    """Posterior predictive checks, the least expected first: statistics of the data, and of predicted tables."""
    frame, about = checks_in(s.tree), s[GROUP].attrs
    assert frame is not None
    n, first = int(frame["outside"].sum()), first_row(s.attrs)

    def say(kind: str, name: str, value: str) -> str:
        return f"row {int(name) + first}" if kind == "row" else said_in_python(kind, name, value)

    note = (
        f"We compared {count(len(frame), 'summary statistic')} of the data ({count(int(about['n_rows']), 'row')}) with "
        f"{int(about['n_replicates']):,} data sets simulated from the posterior. {f'{n:,}' if n else 'None'} "
        f"deviate{'s' if n < 2 else ''} significantly (adjusted p < {LEVEL:g}). Pairs are compared given how often "
        "each answer occurs, triples given their pairs, the sum given its mean and variance; rows by how much lower "
        "their log probability is than that of the mean row of a data set from the model."
    )
    value = "{:,.1f}" if about["counted"] else "{:,.2f}"
    group = [text("group")] if frame["group"].any() else []
    ends = Column("95 % interval", ("lower", "upper"), value, "{} to {}", ("from", "to"))
    numbers = number("observed", each=value), number("expected", each=value), ends, number("p_adjusted", "adjusted p")
    columns = text("family", "check"), *group, text("what", "of"), *numbers
    once = frame.drop_duplicates(["family", "group", "what"])  # a row that was counted several times is one
    once = once.assign(what=things(once, first))
    return Table(
        "checks",
        frame,
        columns,
        wide=first_rows("Least expected", once, _MOST, "least expected"),
        lead="\n".join(said(text, say) for text in sentences(frame, bool(about["counted"]))),
        note=note,
    )


@plot_of("An estimator of posteriors")
def plot_checks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot how far each statistic of the data is from its predictions, in half widths of the 95 % interval, by family.

    Filled marks are outside after adjustment for the number of all checks; some of them are named, where there is room.
    """
    summary = summarise(tree)
    frame = checks_in(summary.tree)
    if frame is None:
        raise OptionError("tree must have predictive checks; this run was too short, or has too many nodes: use "
                          "est.predictive_checks, or run more draws.")  # fmt: skip
    frame = frame.assign(what=things(frame, first_row(summary.attrs)))
    families = [name for name in dict.fromkeys((*FAMILIES, *OF_PANELS)) if (frame["family"] == name).any()]
    ax = axes(ax, (6.4, 0.8 + 0.55 * len(families)))
    ax.axvspan(-1, 1, color=PALE, alpha=0.6, linewidth=0)
    marks = list[tuple[float, float, str, str]]()
    for y, name in enumerate(families):
        rows = frame[frame["family"] == name]
        away = (rows["observed"] - rows["expected"]).to_numpy()
        half = np.where(away < 0, rows["expected"] - rows["lower"], rows["upper"] - rows["expected"]).astype(float)
        away = away / np.where(half > 0, half, np.nan)
        out = rows["outside"].to_numpy()
        level = y + np.linspace(-0.22, 0.22, 5)[np.arange(len(rows)) % 5]  # side by side
        ax.plot(away[~out], level[~out], "o", markersize=2.5, markerfacecolor="none", markeredgecolor=GREY, alpha=0.6)
        ax.plot(away[out], level[out], "D", markersize=4.5, color=COLOURS[1])
        marks += [(away[i], level[i], name, shown(rows["what"].iloc[i])) for i in np.flatnonzero(out)]
    ax.axvline(0, color=GREY, linewidth=0.7)
    ax.set_yticks(range(len(families)), families)
    ax.set_ylim(len(families) - 0.4, -0.6)
    ax.set_xlabel("observed less expected, in half widths of the 95 % interval")
    _name(ax, marks)
    return ax


def _name(ax: Axes, marks: list[tuple[float, float, str, str]]) -> None:
    """Write names to the right of the first marks of each family, without those that would overlap other things."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = 72 * figure.get_size_inches() * ax.get_position().size
    across, down = points / np.abs([np.subtract(*ax.get_xlim()), np.subtract(*ax.get_ylim())])
    taken = [(x * across - 3, x * across + 3, y * down) for x, y, *_ in marks]
    named: dict[str, int] = {}
    for x, y, family, name in marks:
        left, top = x * across + 4, y * down
        right = left + 0.55 * _SIZE * len(name)
        is_free = not any(left < end and start < right and abs(top - at) < _SIZE for start, end, at in taken)
        if is_free and named.setdefault(family, 0) < _NAMED:
            named[family] += 1
            taken.append((left, right, top))
            box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4}
            ax.annotate(name, (x, y), (4, 3), textcoords="offset points", fontsize=_SIZE, color=COLOURS[1],
                        parse_math=False, bbox=box)  # fmt: skip


def section(s: Summary) -> list[Section]:
    """Return the section on whether the model predicts the data, if the run was checked."""
    if GROUP not in s.tree.children:
        return []
    table = checks(s)
    outside = "".join(paragraph(sentence, "verdict fair") for sentence in table.lead.splitlines())
    html = outside or paragraph("No check is outside.", "verdict good")
    html += picture(lambda: plot_checks(s), _CAPTION)
    return [("Does the model fit?", html + paragraph(table.note) + listed(table))]


ANSWER = Answer(
    "checks",
    (checks,),
    (plot_checks,),
    (PictureOf("checks", Summary, resized(plot_checks), checks.is_in),),
    section,
    methods=("predictive_checks",),
)
