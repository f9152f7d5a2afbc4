"""Figures for papers: texts cover nothing, layouts agree, files are what their names say, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba_array
from matplotlib.text import Text

from bayesmrf import BayesianMRF, CompareMRF, PanelMRF, SpikeSlabMRF, graphs, plots
from bayesmrf.answers.registry import figures_of
from bayesmrf.errors import OptionError
from bayesmrf.plots import figure
from bayesmrf.results import save
from bayesmrf.results.categories import WORDS
from bayesmrf.results.summary import StructureSummary, summarise
from bayesmrf.show import one_network
from bayesmrf.show.layout import spread
from bayesmrf.show.one_network import boxes, overlaps
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree
from tests.unit.show.test_networks import FACTORS, with_evidence

RUN = {"n_draws": 60, "n_warmup": 30, "n_chains": 2, "progress": False, "random_state": 0}


def network(rng, n, words):
    """A result of n nodes with long or short names, of which each has about three edges."""
    names = tuple(" ".join([f"item{i}", *["word"] * words]) for i in range(n))
    graph = graphs.complete(n, names)
    inclusion = np.where(rng.random(graph.n_edges) < 3 / n, 0.97, 0.01)
    return with_evidence(structure_tree(rng, graph, inclusion=inclusion), np.log(inclusion / (1 - inclusion)) * 2)


def nodes_of(ax):
    return next(c for c in ax.collections if isinstance(c, PathCollection)).get_offsets().data


def texts_of(ax):
    """All texts that are drawn: labels, the key, the legend and remarks."""
    fig = ax.figure
    fig.draw_without_rendering()
    return [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]


@pytest.mark.parametrize("words", [0, 1, 3])
@pytest.mark.parametrize("n", [10, 18, 40])
@pytest.mark.parametrize("kind", ["network", "evidence"])
def test_no_text_covers_another_or_leaves_the_figure_of_a_column(kind, n, words, rng):
    ax = figure(network(rng, n, words), kind)
    every = boxes(texts_of(ax))
    assert ax.figure.get_figwidth() == pytest.approx(3.3)
    assert not np.triu(overlaps(every, every), 1).any()
    frame = ax.figure.bbox
    assert every.min() >= -1
    assert (every[:, 2] <= frame.width + 1).all()
    assert (every[:, 3] <= frame.height + 1).all()
    assert len(nodes_of(ax)) == n
    assert min(text.get_fontsize() for text in texts_of(ax)) >= 5


def test_labels_that_are_not_moved_cover_others(rng, monkeypatch):
    """Control of the test above."""
    monkeypatch.setattr("adjustText.adjust_text", lambda *_, **__: None)
    monkeypatch.setattr(one_network, "_overlap", lambda *_: False)
    every = boxes(figure(network(rng, 24, 1)).texts)
    assert np.triu(overlaps(every, every), 1).any()


def test_networks_of_hundreds_of_nodes_are_drawn_at_once(rng):
    graph = graphs.from_edges([(i, (i + 1) % 300) for i in range(300)], tuple(f"n{i}" for i in range(300)))
    tree = with_evidence(structure_tree(rng, graph, inclusion=[0.9] * 300), np.full(300, 3.0))
    for kind in ("network", "evidence"):
        assert figure(tree, kind).figure.get_figwidth() == pytest.approx(3.3)


def test_nodes_do_not_touch(rng):
    place = spread(rng.normal(size=(60, 2)), 1.0)
    distance = np.linalg.norm(place[:, None] - place[None], axis=2) + 9 * np.eye(60)
    assert distance.min() > 0.95
    far = 10.0 * np.arange(8).reshape(4, 2)
    np.testing.assert_allclose(spread(far, 1.0), far, atol=1e-4)


def test_edges_that_are_shown_are_those_of_the_words(rng):
    tree = with_evidence(structure_tree(rng), FACTORS)
    words = StructureSummary(tree).evidence["evidence"]

    def n_lines(kind="network", **options):
        ax = figure(tree, kind, **options)
        return sum(len(c.get_segments()) for c in ax.collections if not isinstance(c, PathCollection))

    n = {word: int((words == word).sum()) for word in WORDS}
    assert n_lines() == n["included"]
    assert n_lines(shown="weakly") == n["included"] + n["weakly included"]
    assert n_lines(shown="all") == 10
    assert n_lines(shown=0.8) == int((StructureSummary(tree).inclusion > 0.8).sum())
    assert n_lines("evidence") == 10 - n["inconclusive"]
    assert n_lines("evidence", shown="all") == 10
    legend = [text.get_text() for text in figure(tree, "evidence").figure.legends[0].get_texts()]
    assert legend[2] == f"inconclusive ({n['inconclusive']}, not drawn)"


def test_layouts(rng):
    tree, other = (with_evidence(structure_tree(rng), FACTORS) for _ in range(2))
    names = list("abcde")
    place = {name: (i, (-1) ** i) for i, name in enumerate(names)}
    by_name = nodes_of(figure(tree, layout=place))
    np.testing.assert_allclose(np.diff(by_name[:, 0]), np.diff(by_name[:, 0])[0])
    frame = pd.DataFrame(place, index=["x", "y"]).T
    for same in (list(place.values()), frame, np.array(list(place.values()))):
        np.testing.assert_allclose(nodes_of(figure(tree, layout=same)), by_name)
    one, two = (nodes_of(figure(t, kind, layout=other)) for t, kind in ((tree, "network"), (other, "evidence")))
    np.testing.assert_allclose(one, two)
    around = nodes_of(figure(tree, layout="circle"))
    centre = around.mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(around - centre, axis=1), np.linalg.norm(around[0] - centre), rtol=1e-3)


def test_labels_and_groups(rng):
    tree = with_evidence(structure_tree(rng), FACTORS)
    ax = figure(tree, labels={"a": "Alpha"}, groups=["x", "x", "y", "y", "y"], layout="circle")
    assert [text.get_text() for text in ax.texts] == ["Alpha", "b", "c", "d", "e"]
    colours = next(c for c in ax.collections if isinstance(c, PathCollection)).get_facecolors()
    assert len(np.unique(colours, axis=0)) == 2
    assert {"x", "y"} <= {text.get_text() for text in ax.figure.legends[0].get_texts()}
    assert any("Alpha" in text.get_text() for text in figure(tree, "edges", labels={"a": "Alpha"}).get_yticklabels())
    s = StructureSummary(tree)
    figure(s, labels={"a": "Alpha"})
    for result in (tree, s):  # which keep their names
        assert not any("Alpha" in text.get_text() for text in figure(result, "edges").get_yticklabels())


def test_intervals_are_those_of_the_table(rng):
    tree = with_evidence(structure_tree(rng), FACTORS)
    table = summarise(tree).edge_table.set_index(["first", "second"])
    ax = figure(tree, "edges", shown="all")
    labels = [tuple(text.get_text().split(" – ")) for text in ax.get_yticklabels()]
    assert table.loc[labels[0], "bayes_factor"] == table["bayes_factor"].max()
    lines = ax.collections[0].get_segments()
    for label, line in zip(labels, lines, strict=True):
        np.testing.assert_allclose(line[:, 0], table.loc[label, ["lower", "upper"]].to_numpy(float))
    right = [text.get_text() for text in ax.child_axes[0].get_yticklabels()]
    assert right[0] == "100"


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(0)
    x = pd.DataFrame((rng.normal(size=(120, 1)) + rng.normal(size=(120, 4)) > 0).astype(int), columns=list("abcd"))
    people = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    return {
        "structure": SpikeSlabMRF(**RUN).fit(x),
        "parameters": BayesianMRF(**RUN).fit(x),
        "groups of people": CompareMRF(**RUN).fit(x, np.repeat(["m", "f"], 60)),
        "panel": PanelMRF(**RUN).fit(x, *people),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("theme", ["light", "dark", "grey"])
@pytest.mark.parametrize("name", ["structure", "parameters", "groups of people", "panel"])
def test_every_figure_of_every_result_can_be_drawn(name, theme, fits, tmp_path):
    kinds = figures_of(summarise(fits[name]))
    expected = {"structure": "evidence", "parameters": "edges", "groups of people": "differences", "panel": "panel"}
    assert {"network", "edges", "trace", expected[name]} <= {*kinds}
    for kind in kinds:
        drawn = fits[name].plot(kind, tmp_path / f"{kind}.png", theme=theme)
        fig = np.ravel(drawn)[0].get_figure(root=True)
        assert fig.get_figwidth() == pytest.approx(3.3)
        assert min((text.get_fontsize() for text in fig.findobj(Text) if text.get_text()), default=5) >= 4.99
        assert (tmp_path / f"{kind}.png").stat().st_size > 3000
        if theme == "grey":
            colours = [text.get_color() for text in fig.findobj(Text)]
            colours += [c for part in fig.findobj(PathCollection) for c in part.get_facecolors()]
            rgb = to_rgba_array(colours)[:, :3]
            assert np.ptp(rgb, axis=1).max() < 1e-6


def test_files_have_fonts_and_texts(rng, tmp_path):
    tree = with_evidence(structure_tree(rng), FACTORS)
    for suffix in ("svg", "pdf", "png"):
        figure(tree, path=tmp_path / f"f.{suffix}", width="page")
    svg = (tmp_path / "f.svg").read_text()
    assert "<text" in svg
    assert ">weight +" in svg
    figure(tree, path=tmp_path / "again.svg", width="page")
    assert (tmp_path / "again.svg").read_text() == svg
    assert b"/FontFile2" in (tmp_path / "f.pdf").read_bytes()  # TrueType, embedded
    from PIL import Image

    with Image.open(tmp_path / "f.png") as image:
        assert image.width == 2070


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "nothing"}, "kind must be a figure of this result: 'network', 'evidence', 'edges', 'inclusion'"),
        ({"path": "figure.jpg"}, "path must be a file named .svg, .pdf or .png, got 'figure.jpg'"),
        ({"labels": {"z": "Z"}}, r"labels must be names of nodes \('a', 'b', 'c', 'd', 'e'\), got 'z'"),
        ({"labels": ["A"]}, "labels must be one for each of 5 nodes, got '1 values'"),
        ({"groups": "communities"}, "groups must be groups by the names of nodes, as the prior .* has no blocks"),
        ({"layout": {"a": (0, 0)}}, "layout must be .*, got \"no position of 'b'\""),
        ({"layout": [(0, 0)] * 4 + [(1, "x")]}, "layout must be 'spring', 'circle', two numbers for each node"),
        ({"shown": 2}, r"shown must be 'included', 'weakly', 'all' or a number in \(0, 1\), got 2"),
        ({"width": "wide"}, "width must be 'column', 'page' or inches from 1 to 40, got 'wide'"),
        ({"theme": "red"}, "theme must be one of 'light', 'dark', 'grey', got 'red'"),
        ({"node_size": -1}, "node_size must be a finite number > 0 or None, got -1"),
        ({"kinds": "network"}, "figure has no argument 'kinds'; did you mean `kind`"),
    ],
)
def test_what_is_refused(options, message, rng):
    with pytest.raises(OptionError, match=message):
        figure(with_evidence(structure_tree(rng), FACTORS), **options)


def test_results_without_a_figure(rng):
    with pytest.raises(OptionError, match="kind must be a figure of this result"):
        figure(parameter_tree(rng), "evidence")
    with pytest.raises(OptionError, match="shown must be 'included' or 'all', as no edge may be absent"):
        figure(parameter_tree(rng), shown=0.5)
    assert figure(parameter_tree(rng)).figure
    assert figure(posterior_tree(rng)).figure
    assert figure(posterior_tree(rng, inclusion=np.linspace(0.1, 0.9, 12))).figure
    assert "figure" in plots.__all__


@pytest.mark.filterwarnings("ignore")
def test_the_command_draws_a_stored_run(fits, bayesmrf, folder):
    save(fits["structure"].posterior_, folder / "run")
    (folder / "labels.csv").write_text("name,label\na,First\n")
    (folder / "place.csv").write_text("a,0,0\nb,1,0\nc,0,1\nd,1,1\n")
    (folder / "groups.csv").write_text("a,x\nb,y\n")
    code, out, _ = bayesmrf("plot", "run", "--labels", "labels.csv", "--groups", "groups.csv", "--out", "f.svg")
    assert (code, "The figure is f.svg" in out) == (0, True)
    assert ">First<" in (folder / "f.svg").read_text()
    assert bayesmrf("plot", "run", "edges", "--shown", "0.2", "--width", "5")[0] == 0
    assert (folder / "run-edges.pdf").exists()
    assert bayesmrf("plot", "run", "--layout", "place.csv", "--out", "g.png")[0] == 0
    for words, message in [
        (["--out", "f.svg"], "f.svg exists already; give another path or set --overwrite"),
        (["nothing"], "KIND must be a figure of this result"),
        (["--layout", "round"], "--layout must be spring, circle, the folder of a result, or a file"),
        (["--layout", "labels.csv"], "--layout must be lines of a name and two numbers, got"),
        (["--groups", "communities"], "--groups must be groups by the names of nodes"),
        (["--out", "f.jpg"], "--out must be a file named .svg, .pdf or .png"),
        (["--width", "wide"], "--width must be 'column', 'page' or inches"),
    ]:
        code, _, err = bayesmrf("plot", "run", *words)
        assert code == 2
        assert message in " ".join(err.split())
