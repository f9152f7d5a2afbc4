"""The report: whole, self-contained, escaped, honest about what it leaves out, and readable by a browser."""

import re
import time
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn import config_context

from bayesmrf import SpikeSlabMRF, graphs, plots, results, write_report
from bayesmrf.answers.edges.shown import MOST_EDGES
from bayesmrf.answers.groups.shown import MOST_GROUPS
from bayesmrf.answers.parameters.shown import MOST_PARAMETERS
from bayesmrf.answers.run.shown import MOST_MISSING
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators import LabelFieldMRF
from bayesmrf.results.summary import GroupedSummary, ParameterSummary, summarise
from tests.helpers.browser import in_a_browser, opened, texts_when, unfold
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree

VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Text of the table cells, and every address the page asks for; unbalanced tags are errors."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tables, self.text = [], [], [], []
        self.pictures = re.findall(r"<figure>(<svg.*?</svg>)\s*<figcaption>", text, re.DOTALL)
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href", "action", "data", "srcset")]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def table(self, first):
        """The table whose first column has this head."""
        return next(t for t in self.tables if t[0][0] == first)


def test_page_has_the_numbers_and_needs_nothing_from_outside(rng, tmp_path):
    tree = posterior_tree(rng, fields=True)
    summary = GroupedSummary(tree)
    page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    text = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp", text[: text.index("</main>")])
    assert len(page.pictures) == 7
    assert all(not re.search(r"""(href|src)=["'](?!#|data:)""", p) for p in page.pictures)
    groups = page.table("group")
    assert len(groups) == 1 + len(summary.group_table)
    first = summary.group_table.loc[1]
    interval = f"{first['lower']:.3f} to {first['upper']:.3f}"
    assert groups[1][:4] == ["1", f"{first['size']:.0f}", f"{first['agreement']:.3f}", interval]
    shown = summary.ball_table
    assert [row[:3] for row in page.table("partition")[1:]] == [
        [name, str(shown["groups"][name]), f"{shown['distance'][name]:.3f}"] for name in shown.index
    ]
    assert sum(map(int, page.table("partition")[1][3].split(", "))) == summary.n_edges
    edges = {(row[0], row[1]): row for row in page.table("one end")[1:]}
    assert len(edges) == summary.n_edges
    for e in summary.edge_table.itertuples():
        numbers = [f"{v:.3f}" for v in (e.agreement, e.lower, e.upper, e.mle)]
        assert edges[e.first, e.second][2:] == [str(e.group), *numbers]
    assert [row[0] for row in page.table("node")[1:]] == summary.names
    text = " ".join(page.text)
    for wanted in (
        "stripped-beta",
        "approximate (stripped Beta likelihood)",
        "2 chains of 50 draws",
        "abc",
        "numba",
        "7",
    ):
        assert wanted in text


def test_names_cannot_break_the_page(rng, tmp_path):
    names = ("<b>bold", "<script>alert(1)</script>", 'a"b', "c & d", "日本", "$x^$")
    tree = posterior_tree(
        rng, graphs.Graph(6, graphs.cycle(6).edges, names), data_file="</dd><h1>", command="x <y> & z"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert {row[0] for row in page.table("one end")[1:]} | {row[1] for row in page.table("one end")[1:]} == set(names)
    assert "x <y> & z --seed 7" in page.text


def test_of_many_edges_the_strongest_are_listed(rng, tmp_path):
    tree = posterior_tree(rng, graphs.path(MOST_EDGES + 8), n_draws=8)
    page = Page(write_report(tree, tmp_path / "r.html").read_text())
    rows = page.table("one end")[1:]
    assert len(rows) == MOST_EDGES
    assert any("the other 7" in t for t in page.text)
    away = np.sort(np.abs(tree["posterior"]["agreement"].mean(["chain", "draw"]).values - 0.5))[::-1]
    assert min(abs(float(row[3]) - 0.5) for row in rows) == pytest.approx(away[MOST_EDGES - 1], abs=5e-4)


def test_of_many_groups_the_largest_are_listed(rng, tmp_path):
    tree = posterior_tree(rng, graphs.path(331), n_groups=MOST_GROUPS + 10, n_draws=8)
    page, table = Page(write_report(tree, tmp_path / "r.html").read_text()), GroupedSummary(tree).group_table
    rows = page.table("group")[1:]
    assert len(rows) == MOST_GROUPS < len(table)
    assert any(f"The {MOST_GROUPS} largest of {len(table)} groups" in t for t in page.text)
    assert sum(int(row[1]) for row in rows) == table["size"].nlargest(MOST_GROUPS).sum()
    assert "smaller ones" in page.table("partition")[1][3]


def test_a_run_that_was_stopped_is_reported_as_such(rng, tmp_path):
    whole, cut = (
        write_report(posterior_tree(rng, complete=c), tmp_path / f"{c}.html").read_text() for c in (True, False)
    )
    assert "stopped before its end" not in whole
    assert "stopped before its end" in cut


@pytest.mark.parametrize(
    ("shift", "n_chains", "n_draws", "grade"),
    [(0, 4, 600, "good"), (2, 4, 600, "bad"), (0, 1, 600, "fair"), (0, 2, 3, "bad")],
)
def test_verdict(shift, n_chains, n_draws, grade, rng, tmp_path):
    tree = posterior_tree(rng, n_chains=n_chains, n_draws=n_draws)
    tree["posterior"]["n_groups"][0] += shift
    assert GroupedSummary(tree).verdict[0] == grade
    assert f'class="verdict {grade}"' in write_report(tree, tmp_path / "r.html").read_text()


def test_result_on_disk(rng, tmp_path):
    tree = posterior_tree(rng)
    results.save(tree, tmp_path / "run")
    a = write_report(tmp_path / "run", tmp_path / "a.html").read_text()
    b = write_report(tree, tmp_path / "b.html").read_text()
    assert Page(a).tables == Page(b).tables


def test_what_is_there_is_not_lost(rng, tmp_path):
    tree, out = posterior_tree(rng), tmp_path / "r.html"
    out.write_text("mine")
    with pytest.raises(StoreError, match=r"out: .*r\.html exists already; .*overwrite=True"):
        write_report(tree, out)
    with pytest.raises(StoreError, match=r"out must be a file, got the folder"):
        write_report(tree, tmp_path)
    with pytest.raises(StoreError, match=r"out: the folder .*none does not exist"):
        write_report(tree, tmp_path / "none" / "r.html")
    with pytest.raises(StoreError, match=r"no_run does not exist"):
        write_report(tmp_path / "no_run", out, overwrite=True)
    assert out.read_text() == "mine"
    write_report(tree, out, overwrite=True)
    assert "<!DOCTYPE html>" in out.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html"]


@in_a_browser
def test_browser_shows_the_page_without_complaint(rng, tmp_path, browser):
    tree = posterior_tree(rng, graphs.grid(3, 3))
    page, said = opened(browser, write_report(tree, tmp_path / "r.html"))
    assert said == []
    assert page.locator("table").count() == 6
    assert page.locator("th.dt-orderable-asc").count() == 0  # of folded tables
    unfold(page)
    assert page.locator("th.dt-orderable-asc").count() == 13  # the script made the heads of two tables sort them
    broken = tmp_path / "broken.html"
    broken.write_text("<script>missing()</script><img src='nothing.png'>")
    page.close()
    page, said = opened(browser, broken)
    assert said != []
    page.close()


@in_a_browser
def test_page_and_its_pictures_are_dark_where_the_reader_asks_for_it(rng, tmp_path, browser):
    path, share = write_report(posterior_tree(rng, graphs.grid(3, 3)), tmp_path / "r.html"), {}
    for scheme in ("light", "dark"):
        page, _ = opened(browser, path, color_scheme=scheme, viewport={"width": 800, "height": 800})
        unfold(page)
        page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
        pixels = imread(tmp_path / f"{scheme}.png")[..., :3].mean(axis=2)
        share[scheme] = (pixels > 0.9).mean()
        assert (pixels[5, 5] > 0.9) == (scheme == "light")
        page.close()
    assert share["dark"] < 0.1
    assert share["light"] > 0.8


# ---- posteriors over parameters


def test_page_of_parameters_has_the_numbers_and_needs_nothing_from_outside(rng, tmp_path):
    tree = parameter_tree(rng)
    summary = ParameterSummary(tree)
    text = write_report(tree, tmp_path / "r.html").read_text()
    page = Page(text)
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert len(page.pictures) == 5
    rows = page.table("parameter")[1:]
    assert [row[0] for row in rows] == list(summary.strongest["label"])
    for row, p in zip(rows, summary.strongest.itertuples(), strict=True):
        numbers = [f"{v:.3f}" for v in (p.mean, p.sd, p.lower, p.upper)]
        assert row[1:] == ["weight" if p.is_edge else "bias", "yes" if p.clear else "no", *numbers]
    strength = summary.strength_table
    wanted = [[r.node, f"{r.strength:.3f}", f"{r.lower:.3f}", f"{r.upper:.3f}"] for r in strength.itertuples()]
    assert page.table("node")[1:] == wanted
    said = " ".join(page.text)
    for part in ("Posterior of the parameters", "metropolis, with bethe", "errors of log Z", "abc", "log odds ratio"):
        assert part in said
    assert "Missing values" not in said
    assert "step epsilon" not in said  # an option that metropolis does not look at


def test_page_of_parameters_lists_the_first_missing_values(rng, tmp_path):
    tree = parameter_tree(rng)
    n = MOST_MISSING + 7
    missing = pd.DataFrame({"row": np.arange(n), "node": "a", "probability": rng.random(n)})
    results.add_missing(tree, missing)
    results.save(tree, tmp_path / "run")
    page = Page(write_report(tmp_path / "run", tmp_path / "r.html").read_text())
    rows = page.table("row")[1:]
    assert rows == [[f"{i + 1}", "a", "1", f"{missing['probability'][i]:.3f}"] for i in range(n - 7)]
    assert any("107 values were missing" in t for t in page.text)


def test_pages_of_parameters_without_edges_and_with_many(rng, tmp_path):
    alone = graphs.Graph(3, np.empty((0, 2), dtype=int))
    page = Page(write_report(parameter_tree(rng, alone), tmp_path / "a.html").read_text())
    assert "Network" not in page.text
    many = graphs.path(MOST_PARAMETERS)
    page = Page(write_report(parameter_tree(rng, many, n_draws=8), tmp_path / "b.html").read_text())
    assert len(page.table("parameter")) == 1 + MOST_PARAMETERS
    assert any("the other 499" in t for t in page.text)


def test_names_of_parameters_cannot_break_the_page(rng, tmp_path):
    names = ("<b>bold", "<script>alert(1)</script>", 'a"b', "c & d", "日本", "$x^$")
    tree = parameter_tree(rng, graphs.Graph(6, graphs.cycle(6).edges, names), command="x <y> & z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(write_report(tree, tmp_path / "r.html").read_text())
    assert {row[0] for row in page.table("node")[1:]} == set(names)


@pytest.mark.parametrize(("shift", "grade"), [(0, "good"), (2, "bad")])
def test_verdict_of_parameters(shift, grade, rng):
    tree = parameter_tree(rng, n_chains=4, n_draws=600)
    tree["posterior"]["theta"][0, :, 3] += shift
    summary = ParameterSummary(tree)
    assert summary.verdict[0] == grade
    if shift:
        assert summary.worst_feature == tree["posterior"]["feature"].values[3]


@in_a_browser
def test_browser_sorts_the_parameters(rng, tmp_path, browser):
    page, said = opened(browser, write_report(parameter_tree(rng), tmp_path / "r.html"))
    unfold(page)
    table = page.locator("table.sortable", has=page.locator("th", has_text="parameter")).first
    table.locator("th").nth(3).click()
    cells = table.locator("tbody td:nth-child(4)")
    means = [float(text) for text in texts_when(page, cells, lambda texts: texts == sorted(texts, key=float))]
    assert said == []
    assert means == sorted(means)
    assert len(means) == 10
    page.close()


def test_page_of_a_model_whose_edges_share_their_parameters(rng, tmp_path):
    points, labels = rng.normal(size=(8, 2)), np.array([0, 0, 0, 1, 1, 1, -1, -1])
    est = LabelFieldMRF(n_draws=20, n_warmup=5, n_chains=2, progress=False).fit(points, labels)
    page = Page(write_report(est.posterior_, tmp_path / "r.html").read_text())
    features = est.posterior_["posterior"]["feature"].values
    assert sorted(row[0] for row in page.table("parameter")[1:]) == sorted(features)
    assert "Network" not in page.text
    with pytest.raises(OptionError, match="a model with a parameter for each edge"):
        plots.plot_network(est.posterior_)


def test_a_notebook_shows_the_result(tmp_path):
    """Headline, findings, ten rows and a network, without scripts; names of columns are no markup."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame((rng.random((120, 6)) < 0.5).astype(int), columns=["<b>a</b>", *"bcdef"])
    X["c"] = np.where(rng.random(120) < 0.9, X["b"], 1 - X["b"])
    est = SpikeSlabMRF(method="exact", n_draws=60, n_warmup=20, n_chains=2, random_state=1, progress=False).fit(X)
    text = est._repr_mimebundle_()["text/html"]
    page = tmp_path / "cell.html"
    page.write_text(f"<!DOCTYPE html><html><body>{text}</body></html>")
    found = Page(page.read_text())
    assert len(found.tables[0]) == 11
    assert "of 15 pairs" in text
    assert "data:image/svg" in text
    assert "<script" not in text
    assert "<b>a</b>" not in text
    with config_context(display="text"):
        assert est._repr_mimebundle_().keys() == {"text/plain"}


def test_axes_of_their_own_figure_show_their_picture():
    tree = structure_tree(np.random.default_rng(1))
    assert plots.plot_network(tree)._repr_png_().startswith(b"\x89PNG")
    given = Figure().subplots()
    assert plots.plot_network(tree, ax=given) is given


def test_the_time_of_a_run_has_all_its_parts(rng, tmp_path):
    """Preparation and checks count; a tree of an earlier version has the time of its draws alone."""
    x = (rng.normal(size=(80, 1)) + rng.normal(size=(80, 3)) > 0).astype(int)
    began = time.monotonic()
    est = SpikeSlabMRF(n_draws=20, n_warmup=10, n_chains=2, progress=False, random_state=0, n_jobs=1).fit(x)
    elapsed = time.monotonic() - began
    attrs = est.posterior_.attrs
    parts = [attrs[name] for name in ("time_before_draws", "run_time", "time_after_draws")]
    assert min(parts) > 0
    assert 0.7 * elapsed < sum(parts) <= elapsed + 0.01
    assert f"{sum(parts):,.1f} s (" in summarise(est).time_sentence
    del attrs["time_after_draws"], attrs["time_before_draws"]
    assert summarise(est).time_sentence == f"{parts[1]:,.1f} s"
