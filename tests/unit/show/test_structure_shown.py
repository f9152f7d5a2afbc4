"""What is said and drawn of a posterior over which edges exist: summary, pictures, page."""

import warnings
from io import BytesIO, StringIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from rich.console import Console

from bayesmrf import graphs, plots, results, write_report
from bayesmrf.answers.edges.shown import MOST_EDGES
from bayesmrf.cli.show import show_table
from bayesmrf.errors import OptionError
from bayesmrf.methods import EDGES
from bayesmrf.results.summary import StructureSummary, summarise
from bayesmrf.show import page, style
from bayesmrf.show.tables import ENDS, FACTOR, WORD, Column, Listing, Table, number
from tests.helpers.browser import in_a_browser, opened, texts_when, unfold
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree
from tests.unit.show.test_report import Page

NAMES = ("<b>bold", "<script>alert(1)</script>", 'a"b', "c & d", "日本", "$x^$")


def draws_of(tree):
    """Draws of all chains: weights, and whether edges exist."""
    included = tree["posterior"]["included"].values.astype(bool)
    theta = tree["posterior"]["theta"].values[..., : included.shape[2]]
    return theta.reshape(-1, theta.shape[2]), included.reshape(-1, theta.shape[2])


# ---- numbers and sentences


def test_the_summary_is_chosen_by_what_the_tree_holds(rng):
    found = summarise(structure_tree(rng))
    assert isinstance(found, StructureSummary)
    assert summarise(found) is found


def test_table_of_edges(rng):
    # 600 candidates: more than are sorted together; the first never exists, the second once in a chain.
    share = np.r_[0, rng.random(599)]
    tree = structure_tree(rng, graphs.path(601), inclusion=share)
    for name, feature in (("included", 1), ("theta", 0.0)):
        tree["posterior"][name][:, :, 1] = 0
        tree["posterior"][name][0, 7, 1] = feature or -1.5
    table = StructureSummary(tree).edge_table
    theta, included = draws_of(tree)
    np.testing.assert_allclose(table["inclusion"], included.mean(axis=0))
    assert table.loc[0, ["weight", "lower", "upper"]].isna().all()
    assert table.loc[1, ["weight", "lower", "upper"]].tolist() == [-1.5] * 3
    for e in range(2, 600):
        there = theta[included[:, e], e]
        if len(there):
            wanted = [there.mean(), *np.quantile(there, [0.05, 0.95])]
            np.testing.assert_allclose(table.loc[e, ["weight", "lower", "upper"]].astype(float), wanted)
    assert table.loc[3, ["first", "second"]].tolist() == ["3", "4"]


def test_edges_that_are_likely(rng):
    share = [1, 0.95, 0.7, 0.3, 0.15, 0.05, 0, 1, 1, 1]
    tree = structure_tree(rng, inclusion=share, n_draws=5000)
    s = StructureSummary(tree)
    assert list(s.likely.index) == [0, 1, 2, 7, 8, 9]
    assert sorted(s.strongest.index) == list(s.likely.index)
    assert s.strongest["weight"].abs().is_monotonic_decreasing
    np.testing.assert_array_equal(s.drawn, tree["constant_data"]["edges"].values[s.likely.index])
    number = draws_of(tree)[1].sum(axis=1)
    low, high = np.quantile(number, [0.05, 0.95])
    assert s.n_edges_sentence == (
        f"{number.mean():.1f} on average, 90 % interval {low:g} to {high:g}, of 10 candidates; inclusion is above 0.5 "
        "for 6"
    )


def test_sentences_and_options(rng):
    tree = structure_tree(rng)
    s = StructureSummary(tree)
    density = tree["posterior"]["density"].values
    low, high = np.quantile(density, [0.05, 0.95])
    assert s.density_sentence.startswith(f"Density {density.mean():.3f} (90 % interval {low:.3f} to {high:.3f}), slab ")
    assert s.data_sentence == "100 observations of 5 nodes, 10 candidate edges, model boltzmann"
    assert s.options == {
        "prior of the density": "Beta(5, 5)",
        "prior of the slab's precision": "Gamma(5, 4)",
        "scale of the biases": "10",
        "simulated states": "64",
    }
    fixed = {"density": 0.2, "slab": {"family": "Cauchy", "scale": 2.5}, "bias_scale": 3.0}
    tree = structure_tree(rng, prior=fixed, n_particles=None, binarize=">=4")
    tree["posterior"]["density"][...] = 0.2
    s = StructureSummary(tree)
    assert s.density_sentence.startswith("Density 0.200 (fixed), slab scale ")
    assert s.options["prior of the density"] == "0.2, fixed"
    assert s.options["slab"] == "Cauchy(0, 2.5)"
    for slab, text in (
        ({"family": "Moment", "scale": 0.5}, "Moment(0.5)"),
        ({"family": "Cauchy", "scale": {"shape": 2.0, "rate": 4.0}}, "Cauchy(0, s), s ~ Gamma(2, 4)"),
    ):
        assert StructureSummary(structure_tree(rng, prior=fixed | {"slab": slab})).options["slab"] == text
    assert "simulated states" not in s.options
    assert s.data_sentence.endswith("; levels >=4 count as yes")
    tree = structure_tree(rng, prior=fixed | {"biases": {"a": 0.5, "b": 2.0}})
    assert StructureSummary(tree).options["prior of the biases"] == "logit of Beta(0.5, 2)"
    assert "scale of the biases" not in StructureSummary(tree).options


def test_every_method_has_its_words(rng):
    kinds = {}
    for method in EDGES.names:
        kind = "exact" if method == "exact" else "approximate (moments from persistent chains)"
        s = StructureSummary(structure_tree(rng, method=method, kind=kind))
        assert s.method_sentence.startswith(f"{method}: ")
        assert s.kind_sentence.startswith(f"{kind}: ")
        kinds[method] = s.kind_sentence
    assert len(set(kinds.values())) == len(EDGES.names)
    assert "only Monte Carlo error remains" in kinds["exact"]
    assert "accepted or rejected" in kinds["langevin"]


# ---- convergence


def test_edges_in_doubt_are_judged_and_no_others(rng):
    tree = structure_tree(rng, inclusion=[0.0, 0.02, 0.5, 0.5, 0.98, 1, 1, 1, 0, 0], n_chains=4, n_draws=1500)
    s = StructureSummary(tree)
    weights = {f"theta[{e}]" for e in tree["posterior"]["edge"].values[2:8]}
    biases = {f"theta[{node}]" for node in "abcde"}
    shown = {"density", "slab_scale", "n_edges", "included[a-d]", "included[a-e]"}
    assert set(s.diagnostics.index) == shown | weights | biases
    assert s.verdict.grade == "good"
    often = np.array([0.8, 0.8, 0.2, 0.2])[:, None]
    tree["posterior"]["included"][:, :, 3] = rng.random((4, 1500)) < often  # the chains disagree about one edge
    s = StructureSummary(tree)
    assert s.verdict.grade == "bad"
    assert "included[a-e]" in s.verdict.sentence
    tree["posterior"]["density"][1] += 1
    assert StructureSummary(tree).diagnostics["r_hat"].idxmax() == "density"


def test_an_edge_that_is_stuck_in_every_chain_is_not_overlooked(rng):
    """It varies between the chains alone: where its R-hat is taken for unknown, the chains seem to agree."""
    tree = structure_tree(rng, inclusion=[0.5] * 10, n_chains=4, n_draws=1500)
    assert StructureSummary(tree).verdict.grade == "good"
    tree["posterior"]["included"][:, :, 6] = np.array([0, 1, 1, 0])[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = results.diagnostics(tree, n_worst=1)
        assert found.loc["included[b-e]", "r_hat"] == np.inf
        assert StructureSummary(tree).verdict.grade == "bad"


# ---- pictures

ALL = [plots.plot_inclusion, plots.plot_network, plots.plot_trace]
SHAPES = {
    "five nodes": {},
    "one edge": {"graph": graphs.path(2), "inclusion": [0.9]},
    "one chain": {"n_chains": 1, "n_draws": 5},
    "no likely edge": {"inclusion": np.zeros(10)},
    "some candidates": {"graph": graphs.path(8)},
    "odd names": {"graph": graphs.Graph(6, graphs.complete(6).edges, NAMES)},
    "long names": {"graph": graphs.complete(31, tuple(f"a long name of node {i}" for i in range(31)))},
    "many nodes": {"graph": graphs.path(310)},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("plot", ALL)
def test_every_picture_of_every_shape_can_be_drawn(plot, shape, rng):
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        plot(structure_tree(rng, **SHAPES[shape])).figure.savefig(file, format="svg")
    assert b"</svg>" in file.getvalue()


@pytest.mark.parametrize("plot", ALL)
def test_pictures_go_where_they_are_asked_to(plot, rng):
    ax = Figure().subplots()
    assert plot(structure_tree(rng), ax) is ax


def test_heat_map_has_the_inclusion_and_the_signs(rng):
    tree = structure_tree(rng)
    s = StructureSummary(tree)
    ax = plots.plot_inclusion(tree)
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert sorted(names) == list("abcde")
    assert names == [t.get_text() for t in ax.get_xticklabels()]
    image = ax.images[0].get_array()
    signed = {t.get_position() for t in ax.texts}
    for e in s.edge_table.itertuples():
        i, j = names.index(e.first), names.index(e.second)
        assert image[i, j] == image[j, i] == pytest.approx(e.inclusion)
        assert ((i, j) in signed) == ((j, i) in signed) == (e.inclusion > 0.5 and e.weight < 0)
    assert image.mask.sum() == 5  # the diagonal
    assert ax.get_xlabel() == "−: negative weight"


def test_heat_map_puts_nodes_that_share_edges_together(rng):
    """Three groups of four, shuffled; ordering by name would tear them apart."""
    group = np.arange(12) % 3
    edges = graphs.complete(12).edges
    share = np.where(group[edges[:, 0]] == group[edges[:, 1]], 0.95, 0.05)
    ax = plots.plot_inclusion(structure_tree(rng, graphs.complete(12), inclusion=share, n_draws=200))
    order = group[[int(t.get_text()) for t in ax.get_yticklabels()]]
    assert (np.diff(order) != 0).sum() == 2
    assert (np.diff(group) != 0).sum() == 11


def test_heat_map_tells_no_candidate_from_no_edge(rng):
    ax = plots.plot_inclusion(structure_tree(rng, graphs.path(5), inclusion=[0.0, 0.9, 0.0, 0.9]))
    assert "hatched: no candidate" in ax.get_xlabel()
    assert ax.images[0].get_array().mask.sum() == 25 - 8
    assert ax.patch.get_hatch()
    crowded = plots.plot_inclusion(structure_tree(rng, graphs.path(70), n_draws=5))
    assert crowded.get_xlabel() == "70 nodes, ordered by clustering; hatched: no candidate"
    assert len(crowded.get_yticks()) == 0


def test_network_draws_likely_edges_alone(rng):
    share = [1, 1, 0.75, 0.75, 0.3, 0, 0, 0, 0, 0]  # weights +, -, +, -; the last node is left with no edge
    graph = graphs.Graph(5, np.array([[0, 1], [1, 2], [2, 3], [0, 3], *[[i, 4] for i in range(4)], [0, 2], [1, 3]]),
                         tuple("abcde"))  # fmt: skip
    tree = structure_tree(rng, graph, inclusion=share, n_draws=2000)
    likely = StructureSummary(tree).likely
    ax = plots.plot_network(tree)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert [len(part.get_segments()) for part in lines] == [2, 2]  # solid, dashed
    for part, colour, sign in zip(lines, style.COLOURS, (1, -1), strict=False):
        here = likely[np.sign(likely["weight"]) == sign]
        assert {tuple(c[:3]) for c in part.get_colors()} == {to_rgba(colour)[:3]}
        alpha = np.sort(part.get_colors()[:, 3])
        np.testing.assert_allclose(alpha, np.sort(0.2 + 0.7 * (2 * here["inclusion"] - 1)))
        widths = 0.6 + 4.4 * here["weight"].abs() / likely["weight"].abs().max()
        np.testing.assert_allclose(np.sort(part.get_linewidths()), np.sort(widths))
    assert ax.get_title() == "not drawn: 1 node without edges (e)"
    assert {t.get_text() for t in ax.get_legend().get_texts()} >= {"weight +1", "weight −1", "inclusion 0.5"}


def test_trace_is_the_number_of_edges(rng):
    tree = structure_tree(rng, n_chains=3)
    ax = plots.plot_trace(tree)
    assert ax.get_ylabel() == "number of edges"
    for i, chain in enumerate(tree["posterior"]["included"].values):
        np.testing.assert_array_equal(ax.lines[2 * i].get_ydata(), chain.sum(axis=1))
    assert plots.plot_trace(tree, feature="a-b").get_ylabel() == "a-b"


@pytest.mark.parametrize("tree", [parameter_tree, posterior_tree])
def test_heat_map_refuses_other_posteriors(tree, rng):
    with pytest.raises(
        OptionError,
        match=r"posterior of SpikeSlabMRF or CompareMRF, or of GroupedMRF with candidates; .* use plot_(par|agr)",
    ):
        plots.plot_inclusion(tree(rng))


@pytest.mark.parametrize("plot", [plots.plot_parameters, plots.plot_agreement])
def test_other_pictures_refuse_edges_that_come_and_go(plot, rng):
    with pytest.raises(OptionError, match="use plot_inclusion"):
        plot(structure_tree(rng))


# ---- the page


def test_page_has_the_numbers_and_needs_nothing_from_outside(rng, tmp_path):
    tree = structure_tree(rng, inclusion=[0, *np.linspace(0.1, 1, 9)], candidates="complete", binarize=">=4",
                          command="bayesmrf structure a.csv")  # fmt: skip
    s = StructureSummary(tree)
    page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert len(page.pictures) == 4
    table = page.table("one end")
    assert table[0] == ["one end", "other end", "inclusion", "weight", "from", "to"]
    listed = {(row[0], row[1]): row[2:] for row in table[1:]}
    assert len(listed) == 10
    for e in s.edge_table.itertuples():
        numbers = [f"{v:.3f}" for v in (e.weight, e.lower, e.upper)] if e.inclusion else ["–"] * 3
        numbers[0] += "†" if e.few_draws else ""
        inclusion = f"{e.inclusion:.3f}{'†' if e.inclusion_error > 0.01 else ''}"
        assert listed[e.first, e.second] == [inclusion, *numbers]
    marks = [mark.count("†") for row in table[1:] for mark in row]
    assert 0 < sum(marks) < len(marks)
    assert "†: inclusion with an error above 0.01, or too few draws for the weight" in " ".join(page.text)
    inclusion = [float(row[2].strip("†")) for row in table[1:]]
    assert inclusion == sorted(inclusion, reverse=True)
    said = " ".join(page.text)
    for part in ("Which edges exist", s.n_edges_sentence, s.density_sentence,
                 "reversible-jump: single-edge birth and death", "Candidate edges",
                 "Levels that count as yes", "Beta(5, 5)", "Number of edges along each chain",
                 "bayesmrf structure a.csv --seed 7", "Chen and M. Welling", "abc"):  # fmt: skip
        assert part in said
    judged = [row[0] for row in page.table("quantity")[1:]]
    assert judged[:3] == ["density", "slab_scale", "n_edges"]
    assert judged[3:] == list(s.diagnostics.index[3:7])


def test_page_lists_missing_values(rng, tmp_path):
    tree = structure_tree(rng)
    assert "Missing values" not in Page(write_report(tree, tmp_path / "a.html").read_text()).text
    results.add_missing(tree, pd.DataFrame({"row": [4, 1], "node": ["a", "c"], "probability": [0.25, 0.75]}))
    page = Page(write_report(tree, tmp_path / "b.html").read_text())
    assert page.table("row")[1:] == [["5", "a", "1", "0.250"], ["2", "c", "1", "0.750"]]
    assert StructureSummary(tree).data_sentence.endswith("; 2 missing values")


def test_page_of_a_run_without_edges_or_with_many(rng, tmp_path):
    page = Page(write_report(structure_tree(rng, inclusion=np.zeros(10)), tmp_path / "a.html").read_text())
    assert {tuple(row[2:]) for row in page.table("one end")[1:]} == {("0.000", "–", "–", "–")}
    graph = graphs.path(MOST_EDGES + 8)
    tree = structure_tree(rng, graph, n_draws=8, complete=False)
    page = Page(write_report(tree, tmp_path / "b.html").read_text())
    assert len(page.table("one end")) == 1 + MOST_EDGES
    assert any("the other 7" in t for t in page.text)
    assert any("stopped before its end" in t for t in page.text)


def test_names_cannot_break_the_page(rng, tmp_path):
    tree = structure_tree(rng, graphs.Graph(6, graphs.complete(6).edges, NAMES), command="x <y> & z", candidates="<p>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert {name for row in page.table("one end")[1:] for name in row[:2]} == set(NAMES)


@in_a_browser
def test_browser_sorts_the_edges(rng, tmp_path, browser):
    shown, said = opened(browser, write_report(structure_tree(rng), tmp_path / "r.html"))
    unfold(shown)
    table = shown.locator("table.sortable", has=shown.locator("th", has_text="one end")).first
    table.locator("th").nth(3).click()

    def numbers(texts):
        return [float(text.strip("†")) for text in texts if text != "–"]

    cells = table.locator("tbody td:nth-child(4)")
    weights = numbers(texts_when(shown, cells, lambda texts: numbers(texts) == sorted(numbers(texts))))
    assert said == []
    assert weights == sorted(weights)
    assert min(weights) < 0 < max(weights)
    shown.close()


@in_a_browser
def test_browser_sorts_bounds_by_their_size(tmp_path, browser):
    rows = [[text] for text in ("12.0", "> 10^4", "0.13", "< 10^-4", "1,853", "< 0.02")]
    table = page.table(["Bayes factor"], rows, sortable=True)
    shown, said = opened(browser, page.write_page(tmp_path / "t.html", "t", "t", [("t", table)]))
    shown.locator("th").first.click()
    assert said == []
    wanted = ["< 10^-4", "< 0.02", "0.13", "12.0", "1,853", "> 10^4"]
    assert texts_when(shown, shown.locator("tbody td"), lambda texts: texts == wanted) == wanted
    shown.close()


def test_words_of_evidence_stay_whole_on_a_narrow_terminal():
    words = np.array(["inconclusive", "weakly included"])
    frame = pd.DataFrame({"first": "a node with a name", "second": "another one", "inclusion": 0.5, "weight": -1.25,
                          "lower": -2.0, "upper": -1.0, "bayes_factor": [1.5, 4.0], "evidence": words,
                          "near_limit": [True, False]})  # fmt: skip
    ends = Column("90 % interval", ("lower", "upper"), "{:.3f}", "{} to {}")
    columns = (ENDS, number("inclusion"), number("weight"), ends, FACTOR, WORD)
    made = Table("edges", frame, columns, Listing("Edges", frame))
    for width in (80, 140):
        console = Console(width=width, file=StringIO())
        show_table(made, made.narrow, console)
        text = console.file.getvalue()
        assert max(map(len, text.splitlines())) <= width
        assert "inconclusive*" in text
        assert ("Bayes factor" in text) == (width == 140)
        assert ("weakly included" in text) == (width == 140)
