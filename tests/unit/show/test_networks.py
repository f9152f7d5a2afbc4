"""Networks next to each other: the pictures have the weights and words of the tables, at the same positions."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from bayesmrf import graphs, plots
from bayesmrf.errors import OptionError
from bayesmrf.results.categories import FORBIDDEN, FORCED, WORDS
from bayesmrf.results.edge_evidence import add_edge_evidence
from bayesmrf.results.summary import StructureSummary
from bayesmrf.show.network_style import colours_of
from tests.helpers.posterior_tree import posterior_tree, structure_tree

FACTORS = np.log([100.0, 20.0, 5.0, 4.0, 2.0, 0.5, 0.2, 0.2, 0.01, 1e-3])


def with_evidence(tree, log_factors, log_odds=0.0):
    """Add Bayes factors that are the same in each draw, so that they are those of the edges."""
    draws = [(chain, draw) for chain in range(2) for draw in range(50)]
    factors = np.tile(log_factors, (100, 1))
    add_edge_evidence(tree, draws, factors, np.broadcast_to(log_odds, factors.shape).copy())
    return tree


def lines_of(panel, place):
    """Ends of each line, from the lowest on, with its colour and whether it is dashed."""
    found = {}
    for lines in panel.collections:
        if isinstance(lines, PathCollection):
            continue
        for segment, colour in zip(lines.get_segments(), lines.get_colors(), strict=True):
            ends = frozenset(int(np.abs(place - end).sum(axis=1).argmin()) for end in segment)
            assert ends not in found
            found[ends] = to_hex(colour), lines.get_linestyles()[0][1] is not None
    return found


CLASSES = colours_of(WORDS)


def place_of(panel):
    return next(c for c in panel.collections if isinstance(c, PathCollection)).get_offsets().data


def test_each_pair_has_the_colour_of_its_word(rng):
    log_odds = np.zeros(10)
    log_odds[[0, 9]] = np.inf, -np.inf
    tree = with_evidence(structure_tree(rng), FACTORS, log_odds)
    words = StructureSummary(tree).evidence["evidence"]
    assert list(words) == [FORCED, *np.repeat(WORDS, [1, 2, 2, 2, 1]), FORBIDDEN]
    (panel,) = plots.plot_evidence_network(tree).child_axes
    found = lines_of(panel, place_of(panel))
    wanted = {
        frozenset(ends): (CLASSES[word].lower(), word not in (FORCED, "included", "excluded"))
        for ends, word in zip(map(tuple, StructureSummary(tree).ends), words, strict=True)
        if word != FORBIDDEN
    }
    assert {e: (to_hex(c), d) for e, (c, d) in found.items()} == wanted
    ranks = [list(CLASSES).index(next(w for w, c in CLASSES.items() if c.lower() == colour)) for colour, _ in
             found.values()]  # fmt: skip
    assert ranks[:-1] == sorted(ranks[:-1], reverse=True)  # what is included lies on top
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert legend == [*(f"{w} ({(words == w).sum()})" for w in WORDS), "forced (1)"]


def test_weights_and_evidence_are_in_one_layout(rng):
    tree = with_evidence(structure_tree(rng, inclusion=[0.9, 0.9, 0.9, *[0.1] * 7]), FACTORS)
    weights, evidence = plots.plot_networks(tree).child_axes
    np.testing.assert_array_equal(place_of(weights), place_of(evidence))
    assert len(place_of(weights)) == 5
    place = place_of(weights)
    assert len(lines_of(evidence, place)) == 10
    drawn = lines_of(weights, place)
    assert set(drawn) == {frozenset(ends) for ends in StructureSummary(tree).drawn.tolist()}
    likely = StructureSummary(tree).likely
    dashed = [drawn[frozenset(ends)][1] for ends in StructureSummary(tree).drawn.tolist()]
    assert dashed == list(likely["weight"] < 0)
    lines = [c for c in weights.collections if not isinstance(c, PathCollection) and len(c.get_segments())]
    seen = {(w, c[3]) for c in lines for w, c in zip(c.get_linewidths(), c.get_colors(), strict=False)}
    strong = [alpha for _, alpha in sorted(seen)]
    assert strong == sorted(strong)  # the wider, the more saturated


@pytest.mark.parametrize("n", [20, 50])
def test_long_names_are_in_a_key_below(n, rng):
    names = tuple(f"a question number {i} with many words" for i in range(n))
    graph = graphs.complete(n, names)
    tree = structure_tree(rng, graph, inclusion=rng.random(graph.n_edges))
    ax = plots.plot_networks(with_evidence(tree, rng.normal(0, 3, graph.n_edges)))
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [int(text.get_text().split()[0]) for text in ax.texts] == list(range(1, n + 1))
    assert len({text.get_text() for text in ax.texts}) == n
    panels = [panel.get_legend().get_window_extent() for panel in ax.child_axes]
    for i, box in enumerate(boxes):
        assert box.y0 >= 0
        assert not any(box.overlaps(other) for other in [*boxes[:i], *panels])
    for panel in ax.child_axes:
        assert [text.get_text() for text in panel.texts] == [str(i) for i in range(1, n + 1)]


def test_short_names_are_next_to_their_nodes(rng):
    ax = plots.plot_networks(with_evidence(structure_tree(rng), FACTORS))
    assert list(ax.texts) == []
    assert [{t.get_text() for t in panel.texts} for panel in ax.child_axes] == [set("abcde")] * 2


def test_no_likely_edge_and_given_axes(rng):
    tree = with_evidence(structure_tree(rng, inclusion=[0.1] * 10), FACTORS)
    ax = Figure().subplots()
    assert plots.plot_networks(tree, ax) is ax
    assert plots.plot_evidence_network(tree, Figure().subplots()).child_axes


def test_runs_without_evidence_are_refused(rng):
    for tree in (structure_tree(rng), posterior_tree(rng), posterior_tree(rng, inclusion=[0.5] * 12)):
        with pytest.raises(OptionError, match="Bayes factors of its edges; use plot_network"):
            plots.plot_evidence_network(tree)
        with pytest.raises(OptionError, match="use plot_network for a single network"):
            plots.plot_networks(tree)


def distance(one, other):
    """Distance of two colours as people without green cones see them (Machado, Oliveira and Fernandes 2009)."""
    without_green = np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    )

    def linear(colour):
        value = np.array(to_rgb(colour))
        return np.where(value > 0.04045, ((value + 0.055) / 1.055) ** 2.4, value / 12.92)

    return float(np.abs(without_green @ (linear(one) - linear(other))).max())


def test_included_and_excluded_differ_for_the_colour_blind():
    assert distance(CLASSES["included"], CLASSES["excluded"]) > 0.3
    assert distance(CLASSES["weakly included"], CLASSES["weakly excluded"]) > 0.2
    assert distance("#990000", "#4f4f00") < 0.1  # the control: red and green of equal lightness
