"""The documentation site is built without a warning, finds every option and argument, and is accessible."""

import functools
import inspect
import re
import runpy
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from importlib import import_module
from urllib.parse import unquote

import pytest
import typer

from bayesmrf import estimators, methods
from bayesmrf.cli import app
from docs import make_api, make_reference
from tests import ROOT
from tests.helpers.browser import CHROMIUM, in_a_browser

WORDS = 35_000  # of the pages for users and contributors
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site; one of the processes builds it, and the others wait."""
    from filelock import FileLock

    folder = tmp_path_factory.getbasetemp().parent
    out = folder / "site"
    with FileLock(folder / "site.lock"):
        if not (out / "index.html").is_file():
            command = [sys.executable, str(ROOT / "docs" / "build.py"), str(out)]
            ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            assert ran.returncode == 0, ran.stderr
    return out


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        self.links |= {found[name] for name in ("href", "src") if found.get(name)}


def broken(folder):
    """Links of a site that lead nowhere, with their pages."""
    parsed = functools.cache(Page)
    for path in sorted(folder.rglob("*.html")):
        for link in parsed(path).links:
            if re.match(r"[a-z]+:|//", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            is_page = target.suffix == ".html"
            if not target.exists() or (is_page and anchor not in parsed(target).anchors):
                yield f"{path.relative_to(folder)}: {link}"


def test_no_link_of_the_site_is_broken(site, tmp_path):
    assert len(list(site.rglob("*.html"))) > 80
    assert list(broken(site)) == []
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#x">x</a><a href="https://example.org">y</a>')
    assert sorted(broken(tmp_path)) == ["a.html: #x", "a.html: b.html"]


@pytest.fixture(scope="session")
def words(site):
    """Every word of the site that its search can find, and options."""
    text = ""
    for path in site.rglob("*.html"):
        article = path.read_text(encoding="utf-8").partition('<article role="main"')[2].partition("</article>")[0]
        text += " " + unescape(re.sub(r"<[^>]*>", " ", article))
    return {*re.findall(r"--?\w[\w-]*", text), *re.findall(r"\w+", text)}


def options():
    """Every option of every command."""
    group = typer.main.get_command(app.app)
    for name in group.list_commands(None):
        command = app.whole(name) if name in app.COMMANDS else group.commands[name]
        for option in command.params:
            if not getattr(option, "hidden", False):
                yield from (o for o in [*option.opts, *option.secondary_opts] if o.startswith("-"))


def arguments_and_methods():
    """Arguments of what users import, and methods of the estimators."""
    import bayesmrf

    values = [getattr(bayesmrf, name) for name in bayesmrf.__all__]
    for name in make_reference.MODULES:
        module = import_module(f"bayesmrf.{name}")
        values += make_api.members(module).values()
    for value in values:
        if inspect.isfunction(value) or (isinstance(value, type) and not issubclass(value, Exception)):
            yield value.__name__
            yield from re.findall(r"[(,] ?\**(\w+)", make_api.signature(value))
    for kind in vars(estimators).values():
        if isinstance(kind, type) and kind.__module__.startswith("bayesmrf"):
            for name in (n for n in dir(kind) if not n.startswith("_") and n not in make_reference.ROUTING):
                yield name
                if inspect.isfunction(getattr(kind, name)):
                    yield from inspect.signature(getattr(kind, name)).parameters
    yield from methods.EVIDENCE.names


def test_every_option_can_be_found(words):
    assert {o for o in options() if o not in words} == set()
    assert "--no-such-option" not in words


def test_every_argument_and_method_can_be_found(words):
    names = set(arguments_and_methods())
    assert len(names) > 400
    assert {n for n in names if not set(re.findall(r"\w+", n)) <= words} == set()


def test_pages_for_users_are_short():
    pages = [p for folder in ("", "start", "questions") for p in (ROOT / "docs" / folder).glob("*.md")]
    assert sum(len(p.read_text(encoding="utf-8").split()) for p in pages) <= WORDS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_script_of_the_gallery_draws_its_picture(script, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 5000
    assert f"gallery/{script.name}" in (ROOT / "docs" / "gallery.md").read_text()


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_site_is_accessible(site, width, scheme):
    """No violation of WCAG 2 AA by axe, and no page is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    names = ["index", "questions/which_edges", "data", "gallery", "reference/SpikeSlabMRF", "reference/command_line"]
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        for name in names:
            page.goto((site / "docs" / f"{name}.html").as_uri())
            found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags}})
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        browser.close()


@in_a_browser
def test_search_finds_an_option(site):
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{(site / 'search.html').as_uri()}?q=sensitivity")
        expect(page.locator("#search-results li").first).to_be_visible()
        browser.close()
