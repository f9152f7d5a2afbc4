"""Pictures show the numbers they stand for, on any axes, without pyplot."""

import re
import subprocess
import sys
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from scipy import stats

from bayesmrf import graphs, partitions, plots
from bayesmrf.errors import OptionError
from bayesmrf.models.label_field import LabelField
from bayesmrf.results.summary import GroupedSummary, ParameterSummary
from bayesmrf.show import style
from bayesmrf.show.layout import layout
from tests.helpers.posterior_tree import parameter_tree, posterior_tree

OF_GROUPS = [
    plots.plot_n_groups,
    plots.plot_groups,
    plots.plot_agreement,
    plots.plot_co_clustering,
    plots.plot_credible_ball,
]
ALL = [*OF_GROUPS, plots.plot_network, plots.plot_trace]
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
    summary = GroupedSummary(tree)
    order = np.lexsort((-mean, summary.groups))
    np.testing.assert_allclose(shown, mean[order])
    np.testing.assert_allclose(
        points.get_facecolors(), style.group_colours(summary.groups.max() + 1)[summary.groups[order]]
    )
    if named:
        first = order[0]
        u, v = graph.edges[first]
        assert ax.get_yticklabels()[0].get_text() == f"{u} – {v}"


def test_network_draws_each_edge_once_dashed_where_ends_differ(rng):
    tree = posterior_tree(rng, graphs.Graph(5, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), tuple("abcde")))
    ax = plots.plot_network(tree)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    summary = GroupedSummary(tree)
    below = int((summary.edge_table["agreement"] < 0.5).sum())
    assert [len(c.get_segments()) for c in lines] == [4 - below, below]
    colours = {tuple(c) for part in lines for c in part.get_colors()[:, :3].round(3)}
    assert colours == {tuple(np.round(to_rgba(c)[:3], 3)) for c in style.COLOURS[: len(summary.group_table)]}
    assert "'e'" not in ax.get_title()
    assert "1 node without edges (e)" in ax.get_title()
    assert {t.get_text() for t in ax.texts} == set("abcd")


@pytest.mark.parametrize("n", [2, 3])
def test_nodes_in_a_row_leave_room_for_their_names(n, rng):
    ax = plots.plot_network(parameter_tree(rng, graphs.path(n)))
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert high - low > (right - left) / 3


def test_heat_map_is_the_co_clustering_in_the_order_of_the_groups(rng):
    tree = posterior_tree(rng)
    summary = GroupedSummary(tree)
    image = plots.plot_co_clustering(tree).images[0].get_array()
    mean = tree["posterior"]["agreement"].mean(["chain", "draw"]).values
    order = np.lexsort((-mean, summary.groups))
    np.testing.assert_allclose(image, partitions.co_clustering(tree["posterior"]["groups"].values, order))
    inside = summary.groups[order][:, None] == summary.groups[order]
    assert image[inside].min() > 0.7 > 0.3 > image[~inside].max()  # the draws keep to their groups in 95 %


def test_table_of_groups_has_sizes_intervals_and_examples(rng):
    tree = posterior_tree(rng)
    summary = GroupedSummary(tree)
    ax, table = plots.plot_groups(tree), summary.group_table
    lines = next(c for c in ax.collections if isinstance(c, LineCollection)).get_segments()
    np.testing.assert_allclose(np.array(lines)[:, :, 0], table[["lower", "upper"]])
    points = next(c for c in ax.collections if isinstance(c, PathCollection)).get_offsets()
    np.testing.assert_allclose(points[:, 0], table["agreement"])
    written = [t.get_text() for t in ax.texts]
    assert written[:2] == ["edges", "for example"]
    for g in table.index:
        assert written[2 * g : 2 * g + 2] == [f"{table['size'][g]:,}", "; ".join(summary.examples(g))]


def test_of_many_groups_the_largest_have_a_row(rng):
    tree = posterior_tree(rng, graphs.path(121), n_groups=47)
    ax, table = plots.plot_groups(tree), GroupedSummary(tree).group_table
    assert len(table) > 40
    shown = [int(t.get_text().split()[1]) for t in ax.get_yticklabels()]
    assert len(shown) == 40
    assert shown == sorted(shown)
    assert table["size"][shown].min() >= table["size"].drop(shown).max()
    assert f"the 40 largest of {len(table)} groups" in ax.get_xlabel()


def test_strips_are_the_partitions_of_the_credible_ball(rng):
    """Cells of a strip have equal colours where their edges share a group, and the colours of the groups they match."""
    tree = posterior_tree(rng, graphs.grid(4, 4))
    summary = GroupedSummary(tree)
    ax, ball = plots.plot_credible_ball(tree), summary.ball
    mean = tree["posterior"]["agreement"].mean(["chain", "draw"]).values
    order = np.lexsort((-mean, summary.groups))
    strips = [image.get_array()[0] for image in ax.images]
    for strip, groups in zip(strips, (summary.groups, ball.horizontal[0], ball.upper[0], ball.lower[0]), strict=True):
        same = (strip[:, None] == strip).all(axis=2)
        np.testing.assert_array_equal(same, groups[order][:, None] == groups[order])
    hues = style.group_colours(summary.groups.max() + 1)
    np.testing.assert_allclose(strips[0], hues[summary.groups[order]])
    kept = [(strip == strips[0]).all(axis=1).mean() for strip in strips]
    assert min(kept) > 0.5  # each draw keeps 95 % of the edges where they are
    assert f"radius {ball.radius:.2f} nats" in ax.get_title()
    number = [len(set(g)) for g in (summary.groups, ball.horizontal[0], ball.upper[0], ball.lower[0])]
    assert [t.get_text().split("\n")[1].split(",")[0] for t in ax.get_yticklabels()] == [f"{k} groups" for k in number]


def drawn(ax):
    """Segments of the edges in grey, and of those in colour."""
    *grey, solid, dashed = (c.get_segments() for c in ax.collections if isinstance(c, LineCollection))
    return [s for part in grey for s in part], [*solid, *dashed]


def test_of_many_edges_the_strongest_are_in_colour(rng):
    tree = posterior_tree(rng, graphs.complete(50), n_draws=8)
    ax = plots.plot_network(tree)
    grey, colour = drawn(ax)
    assert (len(grey), len(colour)) == (725, 500)
    assert "the 500 strongest of 1,225 edges; the others: grey" in ax.get_title()
    a = tree["posterior"]["agreement"].mean(["chain", "draw"]).values
    strength = np.sort(np.abs(np.log(a / (1 - a))))
    widths = np.concatenate([c.get_linewidths() for c in ax.collections if isinstance(c, LineCollection)][1:])
    np.testing.assert_allclose(np.sort(widths), 0.5 + strength[-500:] / max(strength.max(), 1))


def test_short_edges_are_all_in_colour_and_a_grid_lies_flat(rng):
    graph = graphs.grid(25, 25)
    grey, colour = drawn(plots.plot_network(posterior_tree(rng, graph, n_draws=8)))
    assert (len(grey), len(colour)) == (0, graph.n_edges)
    place = layout(graph.n_nodes, graph.edges)
    length = np.linalg.norm(np.diff(place[graph.edges], axis=1)[:, 0], axis=1)
    shuffled = rng.permutation(place)
    chance = np.linalg.norm(np.diff(shuffled[graph.edges], axis=1)[:, 0], axis=1)
    assert length.max() < 0.15 * np.ptp(place, axis=0).max() < chance.max()


def test_of_very_many_nodes_the_strongest_edges_alone_are_drawn(rng):
    tree = posterior_tree(rng, graphs.path(3100), n_draws=4)
    ax = plots.plot_network(tree)
    grey, colour = drawn(ax)
    assert len(grey) + len(colour) == 1000
    assert len(colour) >= 500
    assert f"the {len(colour):,} strongest of 3,099 edges; the others: grey or not drawn" in ax.get_title()


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
    assert [t.get_text() for t in ax.texts] == ["0.80", "0.20"]


def test_labels_of_small_groups_do_not_overlap():
    groups = np.append(np.arange(5), [0] * 19)  # four neighbours with an edge each
    ax = plots.plot_estimates(np.array([0.9, 0.7, 0.5, 0.3, 0.1])[groups], {"a": np.full(24, 0.5)}, groups)
    ax.figure.draw_without_rendering()
    boxes = sorted((t.get_window_extent() for t in ax.texts), key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    ax.texts[-1].set_text("truth 0.10")  # the control: words next to the numbers
    box = ax.texts[-1].get_window_extent()
    assert box.x0 < sorted(t.get_window_extent().x1 for t in ax.texts)[-2]


def test_groups_are_numbered_by_falling_agreement(rng):
    summary = GroupedSummary(posterior_tree(rng))
    assert summary.group_table["agreement"].is_monotonic_decreasing
    draws = summary.stacked("agreement")
    for g, row in summary.group_table.iterrows():
        level = draws[:, summary.groups == g - 1].mean(axis=1)
        assert row["size"] == (summary.groups == g - 1).sum()
        np.testing.assert_allclose(
            [row["agreement"], row["lower"], row["upper"]], [level.mean(), *np.quantile(level, [0.05, 0.95])]
        )


def test_no_pyplot():
    code = "import sys, bayesmrf.show.style as p; p.axes(None, (2, 2)).figure.canvas.draw()"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'matplotlib.pyplot' not in sys.modules"], check=True)


# ---- posteriors over parameters

BY_PARAMETER = [plots.plot_parameters, plots.plot_network, plots.plot_strength, plots.plot_trace]
PARAMETER_SHAPES = {
    "four nodes": {},
    "one edge": {"graph": graphs.path(2)},
    "one chain": {"n_chains": 1, "n_draws": 5},
    "pieces": {"graph": graphs.Graph(6, np.array([[0, 1], [2, 3], [3, 4]]))},
    "no edges": {"graph": graphs.Graph(3, np.empty((0, 2), dtype=int))},
    "odd names": {"graph": graphs.Graph(6, graphs.cycle(6).edges[:4], ODD)},
    "many": {"graph": graphs.path(80)},
}


@pytest.mark.parametrize("shape", PARAMETER_SHAPES)
@pytest.mark.parametrize("plot", [*BY_PARAMETER, lambda t: plots.plot_marginals(t)[0]])
def test_every_picture_of_parameters_can_be_drawn(plot, shape, rng):
    file = BytesIO()
    plot(parameter_tree(rng, **PARAMETER_SHAPES[shape])).get_figure(root=True).savefig(file, format="svg")
    assert b"</svg>" in file.getvalue()


@pytest.mark.parametrize("plot", BY_PARAMETER)
def test_pictures_of_parameters_go_where_they_are_asked_to(plot, rng):
    ax = Figure().subplots()
    assert plot(parameter_tree(rng), ax) is ax


@pytest.mark.parametrize("graph", [None, graphs.path(60)], ids=["named", "crowded"])
def test_each_parameter_is_at_its_mean_and_hollow_where_zero_is_inside(graph, rng):
    tree = parameter_tree(rng, graph)
    ax = plots.plot_parameters(tree)
    table = ParameterSummary(tree).table
    shown = table.iloc[np.lexsort((-table["mean"], ~table["is_edge"]))]
    named = len(table) <= 60
    points = next(c for c in ax.collections if isinstance(c, PathCollection))
    np.testing.assert_allclose(points.get_offsets()[:, 0 if named else 1], shown["mean"])
    hollow = (points.get_facecolors()[:, :3] == 1).all(axis=1)
    np.testing.assert_array_equal(hollow, ~shown["clear"])
    assert 0 < hollow.sum() < len(table)
    lines = next(c for c in ax.collections if isinstance(c, LineCollection)).get_segments()
    np.testing.assert_allclose(np.array(lines)[:, :, 0 if named else 1], shown[["lower", "upper"]])
    if named:
        assert [t.get_text() for t in ax.get_yticklabels()] == list(shown["label"])


def test_network_of_parameters_shows_size_sign_and_doubt(rng):
    tree = parameter_tree(rng)
    table = ParameterSummary(tree).table.query("is_edge")
    ax = plots.plot_network(tree)
    solid, dashed = (c for c in ax.collections if isinstance(c, LineCollection))
    below = (table["mean"] < 0).sum()
    assert [len(solid.get_segments()), len(dashed.get_segments())] == [len(table) - below, below]
    for lines, part, colour in ((solid, table[table["mean"] > 0], 0), (dashed, table[table["mean"] < 0], 1)):
        clear = lines.get_colors()[:, 3] > 0.5
        assert {tuple(c[:3]) for c in lines.get_colors()} == {to_rgba(style.COLOURS[colour])[:3]}
        assert clear.sum() == part["clear"].sum()
        widths = np.sort(lines.get_linewidths())
        size = np.sort(part["mean"].abs())
        np.testing.assert_allclose(widths, 0.6 + 4.4 * size / table["mean"].abs().max())
    half = float(f"{table['mean'].abs().max() / 2:.1g}")
    assert f"weight +{half:g}" in {t.get_text() for t in ax.get_legend().get_texts()}


def test_strength_is_the_sum_of_sizes(rng):
    tree = parameter_tree(rng)
    ax = plots.plot_strength(tree)
    theta, edges = tree["posterior"]["theta"].values, tree["constant_data"]["edges"].values
    found = {
        t.get_text(): x
        for t, (x, _) in zip(ax.get_yticklabels(), next(
            c for c in ax.collections if isinstance(c, PathCollection)).get_offsets(), strict=True)
    }  # fmt: skip
    for i, name in enumerate("abcd"):
        touching = np.flatnonzero((edges == i).any(axis=1))
        assert found[name] == pytest.approx(np.abs(theta[..., touching]).sum(axis=2).mean())


def test_marginals_are_densities_of_the_draws(rng):
    trees = {"one": parameter_tree(rng, n_draws=20_000), "other": parameter_tree(rng, n_draws=20_000)}
    axes = plots.plot_marginals(trees)
    posterior = trees["one"]["posterior"]
    assert len(axes) == posterior.sizes["feature"]
    labels = [*(f"{a} – {b}" for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")), *"abcd"]
    assert [ax.get_title() for ax in axes] == labels
    for ax, feature in zip(axes, posterior["feature"].values, strict=True):
        for line, tree in zip(ax.lines, trees.values(), strict=False):
            x, y = line.get_data()
            draws = tree["posterior"]["theta"].sel(feature=feature).values.ravel()
            # A height of 4 from 40,000 draws by Silverman's kernel: standard error 0.05, bias 0.02.
            np.testing.assert_allclose(y, stats.norm.pdf(x, draws.mean(), draws.std()), atol=0.36)
            assert np.abs(y - stats.norm.pdf(x, draws.mean(), 1.2 * draws.std())).max() > 0.36
            assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)


def test_marginals_can_be_told_apart_in_colour_and_in_grey(rng):
    axes = plots.plot_marginals({str(i): parameter_tree(rng) for i in range(5)})
    lines = [line for line in axes[0].lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in lines] == list("01234")
    assert lines[0].get_linestyle() == "-"
    assert len({str(line._dash_pattern) for line in lines}) == 5
    assert len({line.get_color() for line in lines}) == 5
    assert [t.get_text() for t in axes[0].get_figure(root=True).legends[0].get_texts()] == list("01234")


def test_marginals_of_some_parameters_on_given_axes(rng):
    tree = parameter_tree(rng)
    given = Figure().subplots(1, 3)
    found = plots.plot_marginals(tree, ["c", "a-b"], axes=given)
    assert list(found) == list(given[:2])
    assert [ax.get_title() for ax in given] == ["c", "a – b", ""]
    with pytest.raises(OptionError, match="it has no parameter 'z'"):
        plots.plot_marginals(tree, ["z"])
    with pytest.raises(OptionError, match=r"axes must be at least 10 axes, .* got 3"):
        plots.plot_marginals(tree, axes=given)


def test_of_many_parameters_the_strongest_marginals_are_drawn(rng):
    tree = parameter_tree(rng, graphs.path(60))
    axes = plots.plot_marginals(tree)
    table = ParameterSummary(tree).table
    assert {ax.get_title() for ax in axes} == set(table["label"][table["mean"].abs().nlargest(42).index])
    assert "42 strongest of 119" in axes[0].get_figure(root=True).get_supxlabel()


def test_a_marginal_that_lies_far_away_does_not_squash_the_first(rng):
    near, far = parameter_tree(rng), parameter_tree(rng)
    far["posterior"]["theta"][...] = 100 * far["posterior"]["theta"]
    alone, both = plots.plot_marginals(near, ["a-b"]), plots.plot_marginals({"near": near, "far": far}, ["a-b"])
    assert np.ptp(both[0].get_xlim()) < 5 * np.ptp(alone[0].get_xlim())


def test_trace_of_a_parameter(rng):
    tree = parameter_tree(rng)
    tree["posterior"]["theta"][0, :, 4] += 3  # the chains disagree about it
    worst = str(tree["posterior"]["feature"].values[4])
    assert plots.plot_trace(tree).get_ylabel() == worst
    ax = plots.plot_trace(tree, feature="c")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), tree["posterior"]["theta"].sel(feature="c")[0])
    assert plots.plot_trace(posterior_tree(rng), feature="0-1").get_ylabel() == "0-1"
    for other in (tree, posterior_tree(rng)):
        with pytest.raises(OptionError, match="feature must be a parameter of the posterior; it has no parameter 'z'"):
            plots.plot_trace(other, feature="z")


@pytest.mark.parametrize("plot", [plots.plot_parameters, plots.plot_strength, plots.plot_marginals])
def test_pictures_of_parameters_refuse_groups(plot, rng):
    with pytest.raises(OptionError, match="this one is over groups"):
        plot(posterior_tree(rng))


@pytest.mark.parametrize("plot", OF_GROUPS)
def test_pictures_of_groups_refuse_parameters(plot, rng):
    with pytest.raises(OptionError, match="this one has no groups"):
        plot(parameter_tree(rng))


def test_remedies_for_a_posterior_without_weights(rng):
    """As those of coordinates and of tied edges; the plots that were named refused them, too."""
    points = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]])
    field = parameter_tree(rng, points, lambda points: LabelField(points, ("x", "y")))
    for plot in (plots.plot_networks, plots.plot_network, plots.plot_strength):
        with pytest.raises(OptionError, match=r"plot_parameters\.$"):
            plot(field)
    plots.plot_parameters(field)
    with pytest.raises(OptionError, match="use plot_network for a single network"):
        plots.plot_networks(parameter_tree(rng))


@pytest.mark.parametrize("plot", [plots.plot_parameters, plots.plot_marginals, plots.plot_network, plots.plot_trace])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_draws_that_are_not_finite_are_refused(plot, value, rng):
    tree = parameter_tree(rng)
    tree["posterior"]["theta"][0, 3, 1] = value
    with pytest.raises(
        OptionError, match="tree must have finite draws, but 1 values of 'theta' are infinite or NaN"
    ) as e:
        plot(tree)
    assert re.search(r"Invalid draws: theta\[\S+\] is \S+ and must be finite, in draw 3 of chain 0", str(e.value))


@pytest.mark.parametrize("group", ["posterior", "constant_data"])
def test_what_is_no_posterior_of_this_package_is_refused(group, rng):
    tree = parameter_tree(rng)
    del tree[group]
    for given in (tree, tree.to_dataset(), None):
        with pytest.raises(OptionError, match="tree must be a fitted estimator of a posterior, its posterior_, or"):
            plots.plot_trace(given)


# ---- what does not fit is cut or written on two lines, never drawn over an edge or another text

LONG = graphs.complete(4, ("Satisfaction with public transport", "$cost$ of <b>all</b> & more", "mood_of^the day", "x"))


def texts_of(ax):
    """The places of the title and the labels, and that of the figure, in pixels."""
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    own = [t for a in figure.axes for t in (a.title, a.xaxis.label, a.yaxis.label)]
    texts = [t for t in [*own, *figure.texts] if t.get_text()]
    return [t.get_window_extent() for t in texts], figure.bbox


@pytest.mark.parametrize(
    "plot",
    [
        lambda rng: plots.plot_marginals(parameter_tree(rng, LONG))[0],
        lambda rng: plots.plot_marginals(parameter_tree(rng, graphs.path(2)), ["0-1"])[0],
        lambda rng: plots.plot_trace(parameter_tree(rng, LONG), feature=f"{LONG.names[0]}-{LONG.names[1]}"),
    ],
    ids=["marginals", "one marginal", "trace"],
)
def test_long_texts_are_not_cut(plot, rng):
    places, figure = texts_of(plot(rng))
    assert all(figure.x0 <= p.x0 and p.x1 <= figure.x1 and figure.y0 <= p.y0 and p.y1 <= figure.y1 for p in places)
    assert not any(p.overlaps(q) for i, p in enumerate(places) for q in places[:i])


def test_long_names_that_begin_alike_are_told_apart(rng):
    names = [f"item number {i} of the scale" for i in range(4)]
    titles = [ax.get_title() for ax in plots.plot_marginals(parameter_tree(rng, graphs.complete(4, names)))]
    assert len(set(titles)) == len(titles) == 10
    assert titles[0] == "…0 of the scale –\n…1 of the scale"


def test_long_names_leave_the_heat_map_its_size(rng):
    """The label of its scale is as high as 2 inches."""
    ax = plots.plot_inclusion(posterior_tree(rng, LONG, inclusion=0.8))
    ax.figure.draw_without_rendering()
    assert ax.get_window_extent().height > 2.2 * ax.figure.dpi


def test_one_draw_is_seen(rng):
    tree = parameter_tree(rng, n_chains=1, n_draws=1)
    assert plots.plot_trace(tree).lines[1].get_marker() == "o"
    low, high = plots.plot_marginals(tree, ["a-b"])[0].get_xlim()
    assert high - low > 1e-3 * abs(low)
