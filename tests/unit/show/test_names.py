"""Names from strangers' files: nothing that cannot be seen reaches a terminal, a page, a picture or a file's name."""

import re
import unicodedata
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from bayesmrf import graphs, plots, write_report
from bayesmrf.cli.common import new_console, say, stem_of
from bayesmrf.cli.show import show
from bayesmrf.models import Agreement, Boltzmann
from bayesmrf.names import LONGEST, file_stem, short_names, shown
from bayesmrf.results.summary import summarise
from tests.helpers.browser import in_a_browser, opened, unfold
from tests.helpers.commands import one_sentence
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree
from tests.unit.show.test_report import Page

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\u202egnp.exe",
    "two\nlines\r",
    "$x_1$ and $\\frac",
    "x" * 5000,
    "nul\0\x9b1m\uffff",
    "<script>alert(1)</script>]]>&",
)


def test_labels_of_a_figure_differ_where_names_differ_at_either_end():
    asked = "During the last two weeks, how often were you bothered by feeling - "
    assert short_names([asked + end for end in ("sad", "tired", "very sad")], 24) == ["…sad", "…tired", "…very sad"]
    cut = [shown(asked + end) for end in ("sad", "tearful", "fearful")]
    assert len(set(short_names(cut, 24))) == 3
    ends = [f"Q{i}. In the past month, how often did you (item {i})?" for i in range(9)]
    assert len(set(short_names(ends, 16))) == 9
    assert short_names(["short", "names"], 16) == ["short", "names"]
    assert short_names(["x" * 30] * 2, 16) == [shown("x" * 30, 16)] * 2
    assert short_names([], 16) == []
    names = tuple(asked + end for end in ("sad", "mad", "x"))
    summary = structure_tree(np.random.default_rng(0), graphs.complete(3, names))
    labels = [t.get_text() for t in plots.plot_inclusion(summary).get_yticklabels()]
    assert len(set(labels)) == 3
    drawn = [t.get_text() for t in plots.plot_network(summary).texts]
    assert len(set(drawn)) == len(drawn)


def test_nodes_without_edges_are_named_in_lines_that_fit():
    names = tuple(f"Q{i}. In the past month, how often were you upset by something (item {i})?" for i in range(9))
    title = plots.plot_network(structure_tree(np.random.default_rng(0), graphs.Graph(9, [[0, 1]], names))).get_title()
    assert "7 nodes without edges" in title or "9 nodes without edges" in title
    assert max(map(len, title.split("\n"))) <= 110


def invisible(text):
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")]


def trees(rng):
    graph = graphs.Graph(len(HOSTILE), graphs.cycle(len(HOSTILE)).edges, HOSTILE)
    about = {"data_file": "a\x1b[2Jb.csv", "command": "bayesmrf x\x1b[2J\u202e.csv", "kind": "exact\x1b[0m"}
    return [make(rng, graph, n_draws=8, **about) for make in (posterior_tree, parameter_tree, structure_tree)]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("Ann", "Ann"),
        ("naïve é 日本 עברית 🙂", "naïve é 日本 עברית 🙂"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u00a0b", "a\u00a0b"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\u202e\u2066\ufeff\u00ad", r"\u202e\u2066\ufeff\xad"),
        ("\ud800\uffff\u2028", r"\ud800\uffff\u2028"),
        ("$x$<b>", "$x$<b>"),
        (3, "3"),
    ],
)
def test_what_is_shown_of_a_name(name, seen):
    assert shown(name) == seen


def test_long_names_are_cut_in_their_middle():
    name = "start" + "x" * 500 + "end"
    assert len(shown(name)) == LONGEST
    assert re.fullmatch("startx+…x+end", shown(name))
    assert shown(name, None) == name
    assert shown("a\nb", keep="\n") == "a\nb"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("votes", "votes"),
        ("a/b\\c:d", "a_b_c_d"),
        ("\x1b[2J", "_[2J"),
        ("..", "run"),
        ("", "run"),
        ("é" * 200, "é" * 50),
    ],
)
def test_stems_of_files(name, stem):
    assert file_stem(name) == stem


def test_stem_of_a_path(tmp_path):
    assert stem_of(tmp_path / "votes.csv.gz") == "votes"
    assert stem_of(tmp_path / ".csv") == "run"


def test_nothing_invisible_is_printed(rng):
    for tree in trees(rng):
        console = new_console()
        console.file = StringIO()
        show(summarise(tree), console)
        text = console.file.getvalue()
        assert invisible(text) == []
        assert r"\x1b" in text
        assert "x" * (2 * LONGEST) not in text.replace("\n", "")


def test_the_console_steers_no_terminal():
    console = new_console()
    console.file = StringIO()
    console.print("path \x1b[2J\nnext", "\u202e", soft_wrap=True)
    assert console.file.getvalue() == "path \\x1b[2J\nnext \\u202e\n"


def test_messages_steer_no_terminal(capsys):
    say("error", "\x1b[2Jbad 'x'\r\n\u202e" + "y" * 100_000)
    err = capsys.readouterr().err
    assert err.startswith(r"error: \x1b[2Jbad 'x' \u202eyyy")
    assert len(err) < 5000


def test_errors_and_warnings_quote_data_and_names_safely(bayesmrf, folder):
    table = pd.DataFrame(np.eye(6, 3, dtype=int).astype(object), columns=["a", "b\x1b[31m", "c\u202e"])
    table.assign(**{"c\u202e": 0}).to_csv("t.csv", index=False)
    code, out, err = bayesmrf(
        "structure", "t.csv", "--n-draws", 4, "--n-warmup", 2, "--n-chains", 1, "--out", "\x1b[2J_run"
    )
    assert code == 0
    assert r"c\u202e" in err
    assert invisible(out + err) == []
    table.iloc[2, 1] = "no\x1b]0;evil\x07"
    table.to_csv("t.csv", index=False)
    for given in (["t.csv"], ["t.csv", "--drop", "\x1b[31m"], ["\x1b[2J.csv"], ["t.csv", "--candidates", "\x1b[2J"]):
        answer = bayesmrf("structure", *given)
        one_sentence(answer, r"\\x1b")
        assert invisible(answer[2]) == []


def test_nothing_invisible_reaches_a_page_or_its_pictures(rng, tmp_path):
    for tree in trees(rng):
        page = write_report(tree, tmp_path / "r.html", overwrite=True).read_text()
        body = page[: page.index("</main>")]  # libraries, which follow, have such signs of their own
        assert invisible(body) == []
        assert "<script>alert" not in body
        pictures = Page(page).pictures
        assert len(pictures) > 2
        for picture in pictures:
            assert invisible(picture) == []
            ElementTree.fromstring(picture)  # XML that a browser draws
        assert any("$x_1$" in picture for picture in pictures)


@in_a_browser
def test_a_browser_shows_hostile_names_as_text(rng, tmp_path, browser):
    page, said = opened(browser, write_report(trees(rng)[1], tmp_path / "r.html"))
    unfold(page)
    assert said == []
    text = page.locator("main").inner_text()
    assert r"\x1b[31mred" in text
    assert "<script>alert" in text
    page.close()


def test_hyphens_in_names_make_no_two_parameters_alike(rng):
    names = ("a", "b", "a-b", "b-a", "'")
    for model in (Boltzmann, Agreement):
        found = model(graphs.complete(5, names)).feature_names
        assert len(set(found)) == len(found)
    assert found[:2] == ["'a'-'b'", "'a'-'a-b'"]
    assert graphs.path(3).edge_names == ["0-1", "1-2"]
    assert graphs.Graph(3, [[0, 1]], ("a", "b", "c-d")).edge_names == ["a-b"]
    summary = summarise(parameter_tree(rng, graphs.complete(5, names), n_draws=8))
    assert summary.table.index.is_unique
    assert summary.n_weights == 10
    assert list(summary.table["label"][:3]) == ["a – b", "a – a-b", "a – b-a"]
    assert len(plots.plot_marginals(summary.tree)) == 15


def test_pictures_write_dollars_as_text(rng):
    tree = parameter_tree(rng, n_draws=8)
    figure = plots.plot_marginals({"$x_1$": tree, "$\\frac": tree})[0].get_figure(root=True)
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["$x_1$", "$\\frac"]
    ax = plots.plot_estimates([0.6, 0.7], {"$x_1$ \x1b": [0.5, 0.6], "$\\frac$": [0.6, 0.7]}, [0, 1])
    ax.figure.draw_without_rendering()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [r"$x_1$ \x1b", "$\\frac$"]
    assert not any(t.get_parse_math() for t in ax.get_legend().get_texts())
