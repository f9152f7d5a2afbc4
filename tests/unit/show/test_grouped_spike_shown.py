"""What is said and drawn of groups of edges that may be absent, and of node fields in groups."""

import warnings
from io import BytesIO

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from bayesmrf import graphs, partitions, plots, write_report
from bayesmrf.answers.edges.shown import MOST_EDGES
from bayesmrf.errors import OptionError
from bayesmrf.report import sections
from bayesmrf.results.summary import GroupedSummary, summarise
from bayesmrf.show import style
from tests.helpers.posterior_tree import posterior_tree
from tests.unit.show.test_report import Page

SHARE = np.array([1, 0.1, 0.95, 0.9, 0.0, 0.98, 0.85, 0.2, 1, 0.3, 0.9, 0.8])  # of the edges of a 3 x 3 grid
LIKELY = np.flatnonzero(SHARE > 0.5)


@pytest.fixture
def tree(rng):
    return posterior_tree(rng, inclusion=SHARE, n_draws=300)


def draws_of(tree):
    """Of all chains: agreements and whether edges exist."""
    posterior = tree["posterior"]
    return tuple(posterior[name].values.reshape(-1, 12) for name in ("agreement", "included"))


# ---- numbers and sentences


def test_groups_are_those_of_the_likely_edges(tree):
    s = summarise(tree)
    assert isinstance(s, GroupedSummary)
    np.testing.assert_array_equal(s.shown, LIKELY)
    np.testing.assert_array_equal(np.flatnonzero(s.groups >= 0), LIKELY)
    labels = tree["posterior"]["groups"].values.reshape(-1, 12)[:, LIKELY]
    np.testing.assert_array_equal(partitions.canonical(s.groups[LIKELY]), partitions.point_partition(labels))
    np.testing.assert_array_equal(partitions.canonical(s.groups[LIKELY]), partitions.canonical(LIKELY % 3))
    ball = partitions.credible_ball(labels, s.groups[LIKELY])
    assert s.ball.radius == ball.radius
    assert [sum(sizes) for sizes in s.ball_table["sizes"]] == [len(LIKELY)] * 4
    assert f"at most {np.log(len(LIKELY)):.2f};" in s.ball_sentence
    assert s.ball_sentence.endswith(", the absent edges of a draw counted as one")


def test_table_of_edges_has_inclusion_and_agreement_where_they_exist(tree):
    s = GroupedSummary(tree)
    table, (agreement, included) = s.edge_table, draws_of(tree)
    assert list(table) == ["first", "second", "inclusion", "group", "agreement", "lower", "upper"]
    np.testing.assert_allclose(table["inclusion"], included.mean(axis=0))
    np.testing.assert_array_equal(table["group"], s.groups + 1)
    assert table.loc[4, ["agreement", "lower", "upper"]].isna().all()  # it never exists
    for e in np.flatnonzero(SHARE):
        there = agreement[included[:, e] != 0, e]
        wanted = [there.mean(), *np.quantile(there, [0.05, 0.95])]
        np.testing.assert_allclose(table.loc[e, ["agreement", "lower", "upper"]].astype(float), wanted)
        assert abs(there.mean() - agreement[:, e].mean()) > 1e-4 or SHARE[e] == 1  # absent, it is 0.5
    np.testing.assert_array_equal(np.sort(s.by_group.index), LIKELY)
    assert s.by_group["group"].is_monotonic_increasing
    assert (s.strongest["agreement"] - 0.5).abs().is_monotonic_decreasing


def test_agreement_of_a_group_is_that_of_its_edges_that_exist(tree):
    s = GroupedSummary(tree)
    agreement, included = draws_of(tree)
    assert s.group_table["size"].sum() == len(LIKELY)
    assert s.group_table["agreement"].is_monotonic_decreasing
    for g, row in s.group_table.iterrows():
        own = s.groups == g - 1
        levels = [a[i != 0].mean() for a, i in zip(agreement[:, own], included[:, own], strict=True) if i.any()]
        np.testing.assert_allclose(
            row[["agreement", "lower", "upper"]], [np.mean(levels), *np.quantile(levels, [0.05, 0.95])]
        )
        assert len(s.examples(g, 12)) == row["size"]


def test_sentences_and_options(tree, rng):
    s = GroupedSummary(tree)
    number = draws_of(tree)[1].sum(axis=1)
    assert s.n_edges_sentence.startswith(f"{number.mean():.1f} on average, 90 % interval ")
    assert "of 12 candidates; inclusion is above 0.5 for 8" in s.n_edges_sentence
    density = tree["posterior"]["density"].values
    assert s.density_sentence.startswith(f"Density {density.mean():.3f} (90 % interval ")
    assert s.data_sentence == "100 observations of 9 nodes, 12 candidate edges, without node fields"
    assert s.options["prior of the density"] == "Beta(5, 5)"
    tree["posterior"] = tree["posterior"].dataset.drop_vars("density")
    tree["constant_data"]["density"] = 0.2
    tree.attrs["density"] = 0.2
    assert GroupedSummary(tree).density_sentence == "Density 0.200 (fixed)"
    assert GroupedSummary(tree).options["prior of the density"] == "0.2, fixed"
    for fields, said in (
        (True, "with node fields"),
        ("grouped", "node fields in groups"),
        (False, "without node fields"),
    ):
        other = GroupedSummary(posterior_tree(rng, fields=fields))
        assert other.data_sentence == f"100 observations of 9 nodes, 12 edges, {said}"
        assert "prior of the density" not in other.options


def test_edges_in_doubt_are_judged(tree):
    judged = list(GroupedSummary(tree).diagnostics.index)
    assert judged[:3] == ["n_groups", "density", "n_edges"]
    share = tree["posterior"]["included"].values.mean(axis=1)
    edges = tree["posterior"]["edge"].values
    expected = {f"included[{e}]" for e in edges[(share.max(axis=0) >= 0.1) & (share.min(axis=0) <= 0.9)]}
    expected |= {f"agreement[{e}]" for e in edges[share.mean(axis=0) >= 0.1]}
    assert expected <= set(judged[3:])
    assert all(name in expected or name.startswith("theta[") for name in judged[3:])


def test_groups_of_node_fields(rng):
    tree = posterior_tree(rng, fields="grouped", n_draws=200)
    s = GroupedSummary(tree)
    np.testing.assert_array_equal(s.field_table["group"], np.arange(9) % 2 + 1)  # by falling field
    table = s.field_group_table
    assert table["size"].tolist() == [5, 4]
    draws = tree["posterior"]["theta"].values.reshape(-1, 21)[:, 12:]
    for g, own in ((1, slice(0, 9, 2)), (2, slice(1, 9, 2))):
        level = draws[:, own].mean(axis=1)
        np.testing.assert_allclose(table.loc[g].iloc[1:], [level.mean(), *np.quantile(level, [0.05, 0.95])])
    assert s.field_examples(1) == ["0", "2", "4", "6", "8"]
    assert s.field_examples(1, 3) == ["0", "2", "4", "2 more"]
    number = [len(set(g)) for g in tree["posterior"]["field_groups"].values.reshape(-1, 9)]
    assert s.diagnostics.loc["n_field_groups", "mean"] == pytest.approx(np.mean(number))
    assert "n_field_groups" not in GroupedSummary(posterior_tree(rng, fields=True)).diagnostics.index
    assert s.field_groups_sentence.startswith(f"{np.mean(number):.2f} on average; most probable ")
    assert s.field_groups_sentence.endswith("; 2 groups in the partition shown")
    assert "group" not in GroupedSummary(posterior_tree(rng, fields=True)).field_table


# ---- pictures

ALL = [plots.plot_n_groups, plots.plot_groups, plots.plot_agreement, plots.plot_co_clustering, plots.plot_credible_ball]
ALL += [plots.plot_network, plots.plot_inclusion, plots.plot_trace]
SHAPES = {
    "grid": {"inclusion": SHARE},
    "one likely edge": {"inclusion": np.eye(12)[3]},
    "no likely edge": {"inclusion": np.zeros(12)},
    "rare edges": {"inclusion": np.full(12, 0.2)},
    "one edge": {"graph": graphs.path(2), "inclusion": [0.9]},
    "one chain": {"n_chains": 1, "n_draws": 5, "inclusion": np.full(12, 0.8)},
    "many edges": {"graph": graphs.path(330), "inclusion": np.linspace(1, 0, 329)},
    "all exist": {"inclusion": np.ones(12)},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("plot", ALL)
def test_every_picture_of_every_shape_can_be_drawn(plot, shape, rng):
    file = BytesIO()
    plot(posterior_tree(rng, **SHAPES[shape])).figure.savefig(file, format="svg")
    assert b"</svg>" in file.getvalue()
    ax = Figure().subplots()
    assert plot(posterior_tree(rng, **SHAPES[shape]), ax) is ax


def test_heat_map_has_the_inclusion_and_the_signs(tree):
    s = GroupedSummary(tree)
    ax = plots.plot_inclusion(tree)
    names, image = [t.get_text() for t in ax.get_yticklabels()], ax.images[0].get_array()
    signed = {t.get_position() for t in ax.texts}
    for e in s.edge_table.itertuples():
        i, j = names.index(e.first), names.index(e.second)
        assert image[i, j] == image[j, i] == pytest.approx(e.inclusion)
        assert ((i, j) in signed) == ((j, i) in signed) == (e.inclusion > 0.5 and e.agreement < 0.5)
    assert ax.get_xlabel() == "−: the ends tend to differ; hatched: no candidate"


def test_network_draws_likely_edges_paler_the_less_probable(tree):
    s = GroupedSummary(tree)
    ax = plots.plot_network(tree)
    solid, dashed = (c for c in ax.collections if isinstance(c, LineCollection))
    below = s.likely["agreement"] < 0.5
    assert [len(c.get_segments()) for c in (solid, dashed)] == [(~below).sum(), below.sum()]
    found = np.concatenate([c.get_colors() for c in (solid, dashed)])
    np.testing.assert_allclose(np.sort(found[:, 3]), np.sort(0.2 + 0.7 * (2 * s.likely["inclusion"] - 1)))
    hues = style.group_colours(len(s.group_table))[:, :3]
    times = [(np.abs(found[:, :3] - hue).max(axis=1) < 1e-6).sum() for hue in hues]
    assert times == s.group_table["size"].tolist()
    assert {t.get_text() for t in ax.get_legend().get_texts()} >= {"inclusion 1", "inclusion 0.5"}


def test_agreements_of_likely_edges_without_an_estimate_that_is_not_there(tree):
    ax, s = plots.plot_agreement(tree), GroupedSummary(tree)
    (points,) = (c for c in ax.collections if isinstance(c, PathCollection))
    np.testing.assert_allclose(points.get_offsets()[:, 0], s.by_group["agreement"])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["posterior mean, 90 % interval"]


def test_heat_map_of_groups_is_that_of_likely_edges(tree):
    s = GroupedSummary(tree)
    image = plots.plot_co_clustering(tree).images[0].get_array()
    np.testing.assert_allclose(image, partitions.co_clustering(tree["posterior"]["groups"].values, s.by_group.index))
    strips = [i.get_array()[0] for i in plots.plot_credible_ball(tree).images]
    assert {len(strip) for strip in strips} == {len(LIKELY)}


def test_inclusion_is_refused_where_all_edges_exist(rng):
    with pytest.raises(OptionError, match=r"or of GroupedMRF with candidates; .* use plot_agr"):
        plots.plot_inclusion(posterior_tree(rng))


# ---- the page


def test_page_has_the_numbers(rng, tmp_path):
    tree = posterior_tree(rng, inclusion=SHARE, n_draws=300, fields="grouped", candidates="all", method="exact")
    s = GroupedSummary(tree)
    page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert len(page.pictures) == 8
    table = page.table("one end")
    assert table[0] == ["one end", "other end", "inclusion", "group", "agreement", "from", "to"]
    listed = {(row[0], row[1]): row[2:] for row in table[1:]}
    for e in s.edge_table.itertuples():
        numbers = [f"{v:.3f}" for v in (e.agreement, e.lower, e.upper)] if e.inclusion else ["–"] * 3
        assert listed[e.first, e.second] == [f"{e.inclusion:.3f}", str(e.group or "–"), *numbers]
    group = [row[3] for row in table[1:]]
    assert group == [*sorted(g for g in group if g != "–"), *["–"] * 4]
    rest = [float(row[2]) for row in table[1:] if row[3] == "–"]
    assert rest == sorted(rest, reverse=True)
    assert [row[:2] for row in page.table("node")[1:]] == [
        [r.node, str(r.group)]
        for r in s.field_table.sort_values(["group", "field"], ascending=[True, False]).itertuples()
    ]
    said = " ".join(page.text)
    for part in ("Which edges exist", s.n_edges_sentence, s.density_sentence, s.field_groups_sentence, "Prior of the",
                 "Candidate edges", "edges with an inclusion above 0.5", "Chen and M. Welling", "Liu and D. Page",
                 "the edges and fields with the worst convergence"):  # fmt: skip
        assert part in said
    assert "maximum likelihood" not in said


def test_page_of_a_run_in_which_all_edges_exist_says_nothing_of_inclusion(rng, tmp_path):
    page = Page(write_report(posterior_tree(rng, fields=True), tmp_path / "r.html").read_text())
    said = " ".join(page.text)
    assert "maximum likelihood" in said
    assert "inclusion" not in said
    assert "Nodes of one group" not in said
    assert page.table("node")[0] == ["node", "field h", "from", "to"]


def test_page_of_a_run_without_likely_edges_or_with_many(rng, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(write_report(posterior_tree(rng, inclusion=np.zeros(12)), tmp_path / "a.html").read_text())
        one = Page(write_report(posterior_tree(rng, inclusion=np.eye(12)[3]), tmp_path / "c.html").read_text())
    assert {tuple(row[2:]) for row in page.table("one end")[1:]} == {("0.000", "–", "–", "–", "–")}
    assert "There are no edges with an inclusion above 0.5." in page.text
    assert "Network" not in page.text
    assert [row[3] for row in one.table("one end")[1:]] == ["1", *["–"] * 11]
    many = MOST_EDGES + 8
    tree = posterior_tree(rng, graphs.path(many), n_draws=8, inclusion=np.linspace(1, 0.2, many - 1))
    page = Page(write_report(tree, tmp_path / "b.html").read_text())
    rows = page.table("one end")[1:]
    assert len(rows) == MOST_EDGES
    assert any("the other 7" in t for t in page.text)
    share = np.sort(GroupedSummary(tree).inclusion)[::-1]
    assert min(float(row[2]) for row in rows) == pytest.approx(share[MOST_EDGES - 1], abs=6e-4)


def test_a_page_without_likely_edges_has_no_tables_of_groups(rng):
    tree = posterior_tree(rng, inclusion=np.full(12, 0.1), model="symmetric")
    assert summarise(tree).entries
    titles = [title for title, _ in sections(summarise(tree))]
    assert "Number of groups" in titles
    assert "Tables of the groups" not in titles
