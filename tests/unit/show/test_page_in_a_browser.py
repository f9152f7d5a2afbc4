"""The page in a real browser: network, tables, figures, dark and narrow screens, accessibility, and odd names."""

import csv
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from typer.testing import CliRunner

from bayesmrf import PanelMRF, SpikeSlabMRF, results, write_report
from bayesmrf.cli.app import app
from bayesmrf.errors import DataError, OptionError
from bayesmrf.priors import Blocks, SpikeSlab
from bayesmrf.show.interactive import MOST_EDGES
from tests.helpers.browser import in_a_browser, opened, texts_when, unfold
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree

ODD = ["</script><script>window.broken = 1</script>", '" onmouseover="window.broken = 1', "<img src=x onerror=broken>",
       "\u202egnorw", "x" * 300, "=1+1", "a & b"]  # fmt: skip
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 1))
    x = pd.DataFrame((z + rng.normal(size=(400, len(ODD))) > 0).astype(int), columns=ODD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = SpikeSlabMRF(prior=SpikeSlab(density=Blocks()), n_draws=100, n_warmup=50, n_chains=2, progress=False,
                           random_state=0)  # fmt: skip
        return est.fit(x)


@pytest.fixture(scope="module")
def report(fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    rows = [["node", "<b>region</b>"], *([name, "left" if i % 2 else "right"] for i, name in enumerate(ODD))]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return write_report(fit, folder / "r.html", nodes=folder / "nodes.csv")


@in_a_browser
def test_the_network_can_be_thinned_out_searched_and_coloured(browser, fit, report):
    page, said = opened(browser, report)
    inclusion = fit.table("edges")["inclusion"].to_numpy()
    counted = page.locator(".counted")
    expect(counted).to_have_text(re.compile(f"^{(inclusion >= 0.5).sum()} of 21 edges drawn"))
    page.locator(".least").fill("0")
    expect(counted).to_have_text(re.compile("^21 of 21"))
    page.locator(".least").fill("1")
    expect(counted).to_have_text(re.compile(f"^{(inclusion >= 1).sum()} of 21"))
    page.locator("select.view").select_option("evidence")
    words = fit.evidence_table()["evidence"].value_counts()
    for word, n in words.items():
        expect(page.locator(".legend")).to_contain_text(f"{word} ({n})")
    page.locator(".against").check()
    against = words.get("excluded", 0) + words.get("weakly excluded", 0)
    expect(counted).to_have_text(re.compile(f"^{(inclusion >= 1).sum() + against} of 21"))
    for by, levels in (("<b>region</b>", ["left", "right"]), ("community", ["1"])):
        page.locator("select.colour").select_option(by)
        for level in levels:
            expect(page.locator(".legend")).to_contain_text(level)
    page.locator(".find").fill("a & B")
    expect(page.locator(".said")).to_have_text(re.compile("^a & b.*<b>region</b>: right", re.DOTALL))
    page.locator(".find").fill("zzz")
    expect(page.locator(".said")).to_have_text(re.compile("^0 nodes"))
    assert said == []
    page.close()


@in_a_browser
def test_the_evidence_is_beside_the_network(browser, fit, report):
    """In a wide window; what is searched for or moved is so in both. Control: a narrow window has the switch alone."""
    page, said = opened(browser, report)
    words = fit.evidence_table()["evidence"].value_counts()
    for word, n in words.items():
        expect(page.locator(".key")).to_contain_text(f"{word} ({n})")
    expect(page.locator(".legend")).to_contain_text("positive")
    boxes = [page.locator(".network .canvas").nth(k).bounding_box() for k in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    expect(page.locator(".against")).to_be_visible()
    each = "[...document.querySelectorAll('.network .canvas')].map(box => box._cyreg.cy)"
    assert page.evaluate(f"{each}.map(one => one.$('.found').length)") == [0, 0]
    page.locator(".find").fill("a & B")
    assert page.evaluate(f"{each}.map(one => one.$('.found').length)") == [1, 1]
    assert page.evaluate(f"{each}.map(one => one.nodes('.pale').length < one.nodes().length)") == [True, True]
    page.evaluate(f"{each}[0].$id('n0').position({{ x: 1, y: 2 }}).emit('drag')")
    assert page.evaluate(f"{each}.map(one => one.$id('n0').position())") == 2 * [{"x": 1, "y": 2}]
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator(".beside")).to_be_hidden()
    expect(page.locator(".against")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator(".beside")).to_be_visible()
    assert said == []
    page.close()


@in_a_browser
def test_no_name_becomes_an_element_or_a_script(browser, report):
    page, said = opened(browser, report)
    unfold(page)
    for name in ODD:
        page.locator(".find").fill(name[:40])
        page.locator("select.view").select_option("evidence")
    assert said == []
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    handlers = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/.test(a.name))"
    assert page.evaluate(f"{handlers}.length") == 0
    page.close()


def ends_with(texts, wanted):
    """Whether the first of the texts that are known is a number, whatever its mark."""
    return next(text for text in texts if text != "–").rstrip("†") == wanted


@in_a_browser
def test_tables_are_sorted_searched_and_saved(browser, fit, report):
    page, said = opened(browser, report)
    page.get_by_role("link", name="Edges", exact=True).click()
    part = page.locator("section", has=page.locator("h2", has_text="Edges").first).filter(
        has=page.locator(".dt-search")
    )
    table = part.locator("table").first
    weights = fit.table("edges")["weight"].dropna().to_numpy()
    head = table.locator("th", has_text="weight")
    for find in (np.min, np.max):
        head.click()
        wanted = f"{find(weights):.3f}"
        cells = table.locator("tbody tr td:nth-child(4)")
        texts = texts_when(page, cells, lambda texts, wanted=wanted: ends_with(texts, wanted))
        assert ends_with(texts, wanted), texts
    part.locator(".dt-search input").first.fill("a & b")
    expect(table.locator("tbody tr")).to_have_count(6)
    with page.expect_download() as saved:
        part.get_by_role("button", name="Download CSV").first.click()
    rows = list(csv.reader(saved.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert rows[0][:3] == ["one end", "other end", "inclusion"]
    assert len([row for row in rows if row]) == 7
    assert not any(cell.startswith("=") for row in rows for cell in row)  # which a spreadsheet would compute
    unfold(page)
    with page.expect_download() as saved:
        page.locator("figure button").last.click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg")
    assert said == []
    page.close()


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_and_a_checker_of_accessibility_finds_nothing(browser, report, tmp_path, scheme, width):
    page, said = opened(browser, report, color_scheme=scheme, viewport={"width": width, "height": 800})
    expect(page.locator(".network")).to_be_visible()
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": RULES}).response["violations"]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []
    is_dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert is_dark == (scheme == "dark")
    assert said == []
    control = tmp_path / "control.html"
    control.write_text("<html><body><img src='data:,'><p style='color:#999;background:#aaa'>pale</p></body></html>")
    page.goto(control.as_uri())
    assert len(Axe().run(page, options={"runOnly": RULES}).response["violations"]) >= 2
    page.close()


@in_a_browser
def test_without_scripts_there_are_pictures_and_links_open_what_is_folded(browser, report):
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    expect(page.locator("details.fallback svg").first).to_be_visible()
    expect(page.locator(".network")).to_be_hidden()
    page.close()
    page, _ = opened(browser, report)
    expect(page.locator("details.fallback svg").first).to_be_hidden()
    folded = page.locator("section", has=page.locator("summary h2", has_text="What was run"))
    expect(folded.locator("dl")).to_be_hidden()
    page.get_by_role("link", name="What was run").click()
    expect(folded.locator("dl")).to_be_visible()
    page.close()


@in_a_browser
@pytest.mark.parametrize("make", [posterior_tree, parameter_tree, structure_tree])
def test_pages_of_other_results_say_nothing_on_the_console(browser, tmp_path, make):
    page, said = opened(browser, write_report(make(np.random.default_rng(1)), tmp_path / "r.html"))
    assert said == []
    assert page.locator("h1").count() == 1
    page.close()


@in_a_browser
def test_the_page_of_a_panel_shows_arrows_and_loops(browser, tmp_path):
    """Each direction is an edge of its own; control: the network within a wave would have at most three."""
    rng = np.random.default_rng(2)
    x = np.zeros((40, 10, 3), dtype=int)
    for t in range(1, 10):
        p = 1 / (1 + np.exp(-(2.5 * x[:, t - 1] + 2.5 * x[:, t - 1, [1, 2, 0]] - 2.5)))
        x[:, t] = rng.random((40, 3)) < p
    table = pd.DataFrame(x.reshape(-1, 3), columns=list("abc"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = PanelMRF(n_draws=100, n_warmup=50, n_chains=2, progress=False, random_state=0)
        est.fit(table, person=np.repeat(np.arange(40), 10))
    page, said = opened(browser, est.report(tmp_path / "panel.html"))
    expect(page.locator(".network canvas").first).to_be_visible()
    page.locator(".least").fill("0")
    expect(page.locator(".counted")).to_have_text(re.compile("^9 of 9"))
    page.locator(".find").fill("a")
    expect(page.locator(".said")).to_have_text(re.compile("^a"))
    assert said == []
    page.close()


def test_a_page_is_small_and_has_at_most_so_many_edges(tmp_path):
    from bayesmrf import graphs

    rng = np.random.default_rng(0)
    page = write_report(structure_tree(rng, graphs.complete(18)), tmp_path / "r.html")
    assert page.stat().st_size < 2_000_000
    many = write_report(structure_tree(rng, graphs.complete(70), n_draws=10), tmp_path / "many.html").read_text()
    assert f"the {MOST_EDGES:,} with the best evidence are on this page, of 2,415" in many


def test_tables_of_nodes_that_are_none_are_refused(fit, tmp_path):
    with pytest.raises(OptionError, match="rows about nodes"):
        write_report(fit, tmp_path / "r.html", nodes=pd.DataFrame({"region": ["a"]}, index=["nobody"]))
    with pytest.raises(OptionError, match="a table with the names of nodes"):
        write_report(fit, tmp_path / "r.html", nodes={"a": 1})
    twice = pd.DataFrame({"region": ["l", "r"]}, index=["a & b", "a & b"])
    with pytest.raises(DataError, match="has 2 rows; give each node one row"):
        write_report(fit, tmp_path / "r.html", nodes=twice)
    with pytest.raises(OptionError, match="nodes must be omitted, as text for a paper does not use it"):
        write_report(fit, tmp_path / "r.txt", to="text", nodes=pd.DataFrame({"region": ["a"]}, index=["a & b"]))
    (tmp_path / "n.csv").write_text("node,region\na & b,left,more\n")
    with pytest.raises(DataError, match="has 2 columns, row 1 has 3"):
        write_report(fit, tmp_path / "r.html", nodes=tmp_path / "n.csv")


def test_a_report_has_the_name_of_the_run(fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results.save(fit.posterior_, tmp_path / "first.zarr")
    (tmp_path / "n.csv").write_text("node,region\na & b,left\n")
    done = CliRunner().invoke(app, ["report", "first.zarr", "--nodes", "n.csv"])
    assert done.exit_code == 0, done.output
    assert "The report is first.html" in done.output
    assert '"region"' in (tmp_path / "first.html").read_text()
