"""Pages in a real browser."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here to show the page")


def opened(browser, path, **options):
    """A page, and what its console said, and what it asked of others."""
    page, said = browser.new_page(accept_downloads=True, **options), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: said.append(asked.url) if asked.url.startswith("http") else None)
    page.goto(path.as_uri())
    return page, said


def unfold(page):
    """Open all that is folded; tables in it get their buttons."""
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_timeout(200)


def texts_when(page, cells, is_right):
    """The texts of cells once they are as they should be, or after five seconds."""
    for _ in range(50):
        texts = cells.all_inner_texts()
        if is_right(texts):
            break
        page.wait_for_timeout(100)
    return texts
