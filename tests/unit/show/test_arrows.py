"""Arrows and loops of panels: loops cover no name and stay on the figure, and heads end at the rims of nodes."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Circle, FancyArrowPatch

from bayesmrf import PanelMRF, plots
from bayesmrf.show import drawn_networks


@pytest.fixture(scope="module")
def panel():
    """Four items that follow themselves, and arrows between two of them in both directions."""
    rng = np.random.default_rng(1)
    lagged = np.array([[2, 2, 0, 0], [2, 2, 0, 0], [0, 0, 2, 0], [0, -2, 0, 2.0]])
    x, waves = rng.integers(0, 2, (200, 4)), []
    for wave in range(8):
        waves.append(pd.DataFrame(x, columns=["sleep", "mood", "appetite", "energy"]).assign(id=range(200), wave=wave))
        x = (rng.random(x.shape) < 1 / (1 + np.exp(1.5 - x @ lagged))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = PanelMRF(n_draws=60, n_warmup=40, n_chains=2, random_state=1, progress=False)
        return est.fit(pd.concat(waves), person="id", wave="wave")


def covered(figure):
    """The names whose boxes meet a loop."""
    figure.canvas.draw()
    panels = [*figure.axes, *(child for ax in figure.axes for child in ax.child_axes)]
    loops = [patch.get_window_extent() for ax in panels for patch in ax.patches if isinstance(patch, Circle)]
    texts = [text for ax in panels for text in ax.texts if text.get_text() in ("sleep", "mood", "appetite", "energy")]
    assert len(loops) >= 4
    assert len(texts) == 4
    return [t.get_text() for t in texts if any(t.get_window_extent().overlaps(loop) for loop in loops)]


def test_loops_cover_no_name(panel, monkeypatch):
    """Control: names right above their nodes, where the loops are."""
    figure = plots.plot_panel(panel).get_figure()
    assert covered(figure) == []
    plt.close(figure)
    monkeypatch.setattr("bayesmrf.answers.lagged.shown.beyond_loops", lambda place, _: (place, np.zeros(len(place))))
    figure = plots.plot_panel(panel).get_figure()
    assert "mood" in covered(figure)
    plt.close(figure)


@pytest.mark.parametrize("width", ["column", "page"])
def test_loops_stay_on_the_figure_and_heads_on_the_rims(panel, width):
    ax = panel.plot("network", layout="circle", width=width)
    figure = ax.get_figure()
    figure.canvas.draw()
    for patch in ax.patches:
        if isinstance(patch, Circle):
            box = patch.get_window_extent()
            assert ax.bbox.contains(*box.min)
            assert ax.bbox.contains(*box.max)
    heads = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(heads) >= 3
    (nodes,) = (c for c in ax.collections if len(c.get_offsets()) == 4)
    places, radius = nodes.get_offsets(), np.sqrt(nodes.get_sizes()[0]) / 2
    for head in heads:
        tip = head._posA_posB[1]
        left = np.hypot(*(places - tip).T).min()
        assert left == pytest.approx(radius, abs=1.5)  # points
    plt.close(figure)


def test_a_head_begins_before_the_rim():
    """Of a straight arrow of 100 points to a node with a radius of 10, and a head of 6 points."""
    start, end = np.zeros(2), np.array([100.0, 0.0])
    base, top = drawn_networks._head(start, (start + end) / 2, end, 10.0, 10.0)
    assert (base, top) == (pytest.approx(0.84, abs=0.006), pytest.approx(0.9, abs=0.006))
    assert drawn_networks._head(start, end / 2, end, 200.0, 10.0)[1] == 0.0  # nodes that touch
