"""Table of the statistics of nodes and networks."""

from __future__ import annotations

from ..statistics import INTERVAL, has_weights
from ..summary import Summary
from .base import Column, Listing, Table, number, rest_of, table, text

MOST_ROWS = 1000  # of the page


@table("statistics", Summary, lambda s: has_weights(s.tree), listed=False)
def statistics(s: Summary) -> Table:
    """Statistics of nodes and networks, by name, with mean and 95 % interval of highest density."""
    frame = s.statistics.table()
    groups = (text("group"),) if "group" in frame else ()
    ends = Column(f"{100 * INTERVAL:g} % HDI", ("lower", "upper"), "{:.3f}", "{} to {}", ("from", "to"))
    columns = (text("statistic"), *groups, text("node"), number("mean"), ends, number("n_draws", "draws", "{:,}"))
    left_out = [name for name in s.statistics.names if name not in s.statistics.shown]
    slow = f" Not computed, as they take long: {', '.join(left_out)}; est.statistics has them." if left_out else ""
    order = frame.assign(rank=frame.groupby("statistic", sort=False).ngroup())
    wide = order.sort_values(["rank", "mean"], ascending=[True, False], kind="stable").drop(columns="rank")
    return Table(
        "statistics",
        frame,
        columns,
        wide=Listing("Statistics of nodes and of the network, largest first", wide.iloc[:MOST_ROWS],
                     rest_of(len(wide), MOST_ROWS, "first rows")),
        note="Each is computed in the network of a draw, in which an absent edge has the weight 0: its mean, and the "
        "interval of highest density (HDI), over the draws in which it is defined. The distance along an edge is "
        "1 / |weight|, so that negative weights count by their size in all but expected influence." + slow,
    )  # fmt: skip
