"""Pictures show the numbers they stand for, on any axes, without pyplot."""

import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from bayesmrf import graphs, partitions, plots
from bayesmrf.summary import GroupedSummary as Summary

from .posterior_tree import posterior_tree

ALL = [plots.plot_n_groups, plots.plot_agreement, plots.plot_network, plots.plot_co_clustering, plots.plot_trace]
ODD = ("$a^$", "b_{", "<c>", "é & ü", r"\frac", "x" * 50)
SHAPES = {
    "grid": {},
    "one edge": {"graph": graphs.path(2), "n_groups": 1},
    "one chain": {"n_chains": 1, "n_draws": 5},
    "pieces": {"graph": graphs.Graph(6, np.array([[0, 1], [2, 3], [3, 4]]))},
    "odd names": {"graph": graphs.Graph(6, graphs.cycle(6).edges[:4], ODD)},
    "many edges": {"graph": graphs.path(330)},
    "many groups": {"graph": graphs.path(101), "n_groups": 20},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("plot", ALL)
def test_every_picture_of_every_shape_can_be_drawn(plot, shape, rng):
    file = BytesIO()
    plot(posterior_tree(rng, **SHAPES[shape])).figure.savefig(file, format="svg")
    assert file.getvalue().count(b"<path") > 3


@pytest.mark.parametrize("plot", ALL)
def test_pictures_go_where_they_are_asked_to(plot, rng):
    figure = Figure()
    ax = figure.subplots()
    assert plot(posterior_tree(rng), ax) is ax
    assert ax.figure is figure


def test_bars_are_the_posterior_of_the_number_of_groups(rng):
    tree = posterior_tree(rng)
    bars = plots.plot_n_groups(tree).patches
    draws = tree["posterior"]["n_groups"].values
    shown = {round(b.get_x() + b.get_width() / 2): b.get_height() for b in bars}
    assert shown == pytest.approx({int(k): np.mean(draws == k) for k in np.unique(draws)})


@pytest.mark.parametrize("graph", [graphs.grid(3, 3), graphs.grid(8, 8)], ids=["named", "crowded"])
def test_each_edge_is_at_its_agreement_in_the_colour_of_its_group(graph, rng):
    tree = posterior_tree(rng, graph)
    ax = plots.plot_agreement(tree)
    points = [c for c in ax.collections if isinstance(c, PathCollection)][-1]
    named = graph.n_edges <= 60
    shown = points.get_offsets()[:, 0 if named else 1]
    mean = tree["posterior"]["agreement"].mean(["chain", "draw"]).values
    summary = Summary(tree)
    order = np.lexsort((-mean, summary.groups))
    np.testing.assert_allclose(shown, mean[order])
    np.testing.assert_allclose(
        points.get_facecolors(), plots.style.group_colours(summary.groups.max() + 1)[summary.groups[order]]
    )
    if named:
        first = order[0]
        u, v = graph.edges[first]
        assert ax.get_yticklabels()[0].get_text() == f"{u} – {v}"


def test_network_draws_each_edge_once_dashed_where_ends_differ(rng):
    tree = posterior_tree(rng, graphs.Graph(5, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), tuple("abcde")))
    ax = plots.plot_network(tree)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    summary = Summary(tree)
    below = int((summary.edge_table["agreement"] < 0.5).sum())
    assert [len(c.get_segments()) for c in lines] == [4 - below, below]
    colours = {tuple(c) for part in lines for c in part.get_colors()[:, :3].round(3)}
    assert colours == {tuple(np.round(to_rgba(c)[:3], 3)) for c in plots.style.COLOURS[: len(summary.group_table)]}
    assert "'e'" not in ax.get_title()
    assert "1 node without edges (e)" in ax.get_title()
    assert {t.get_text() for t in ax.texts} == set("abcd")


def test_heat_map_is_the_co_clustering_in_the_order_of_the_groups(rng):
    tree = posterior_tree(rng)
    summary = Summary(tree)
    image = plots.plot_co_clustering(tree).images[0].get_array()
    mean = tree["posterior"]["agreement"].mean(["chain", "draw"]).values
    order = np.lexsort((-mean, summary.groups))
    np.testing.assert_allclose(image, partitions.co_clustering(tree["posterior"]["groups"].values, order))
    inside = summary.groups[order][:, None] == summary.groups[order]
    assert image[inside].min() > 0.7 > 0.3 > image[~inside].max()  # the draws keep to their groups in 95 %


def test_trace_has_the_draws_of_each_chain(rng):
    tree = posterior_tree(rng, n_chains=3)
    lines = plots.plot_trace(tree).lines
    for i, chain in enumerate(tree["posterior"]["n_groups"].values):
        np.testing.assert_array_equal(lines[2 * i].get_ydata(), chain)


def test_errors_of_estimates(rng):
    truth, groups = np.array([0.2, 0.8, 0.2]), np.array([0, 1, 0])
    ax = plots.plot_estimates(truth, {"a": truth + 0.1, "b": truth}, groups)
    points = [c for c in ax.collections if isinstance(c, PathCollection)]
    np.testing.assert_allclose(points[0].get_offsets()[:, 1], 0.1)
    np.testing.assert_allclose(points[1].get_offsets()[:, 1], 0)
    assert [t.get_text() for t in ax.texts] == ["truth 0.80", "truth 0.20"]


def test_groups_are_numbered_by_falling_agreement(rng):
    summary = Summary(posterior_tree(rng))
    assert summary.group_table["agreement"].is_monotonic_decreasing
    draws = summary.stacked("agreement")
    for g, row in summary.group_table.iterrows():
        level = draws[:, summary.groups == g - 1].mean(axis=1)
        assert row["size"] == (summary.groups == g - 1).sum()
        np.testing.assert_allclose(
            [row["agreement"], row["low"], row["high"]], [level.mean(), *np.quantile(level, [0.05, 0.95])]
        )


def test_no_pyplot():
    code = "import sys, bayesmrf.plots.style as p; p.axes(None, (2, 2)).figure.canvas.draw()"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'matplotlib.pyplot' not in sys.modules"], check=True)
