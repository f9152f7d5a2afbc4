"""HTML pages and their parts: tables, figures, paragraphs."""

from __future__ import annotations

import base64
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from importlib.resources import files
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import check_path
from ..declare.paths import path_of, refuse_existing
from ..declare.rule import FLAG
from ..errors import StoreError, argument
from ..names import shown
from .tables import Table, TableOf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OUT = argument("out")

_GENERATOR = '<meta name="generator" content="bayesmrf">'
# A page asks nothing of the network.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_UNUSED = re.compile(r'(<[a-z]+) id="[a-zA-Z.]+_\d+"')  # of parts of a figure, to which nothing refers

Section = tuple[str, str]


def check_out(out: str | PathLike[str], overwrite: bool, replace_own: bool = False) -> Path:
    """Check that a file may be written and can be; ``replace_own`` allows replacing a page of this package."""
    out = path_of("out", out)
    FLAG.check("overwrite", overwrite)
    check_path(out, f"{_OUT}: ")
    if out.is_dir():
        raise StoreError(f"{_OUT} must be a file, got the folder {out}; give a path such as {out / 'report.html'}.")
    if out.exists() and not overwrite:
        is_ours = replace_own and _GENERATOR.encode() in out.read_bytes()[:1000]
        if not is_ours:
            refuse_existing(out, not replace_own)
    check_place(out)
    return out


def check_place(out: Path) -> None:
    """Check that something can be written to the folder of a path."""
    folder = out.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        reason = "cannot be written to" if folder.is_dir() else "does not exist"
        raise StoreError(f"{_OUT}: the folder {folder} {reason}; give a path in a folder that can be written to")


def write_page(
    out: Path, title: str, lead: str, body: Iterable[Section], answer: str = "", n_open: int | None = None
) -> Path:
    """Write a page of titled sections atomically; ``answer`` is a sentence at its top.

    The first ``n_open`` sections are open, by default all; the others are folded.
    """
    body = list(body)
    links = "".join(f'<a href="#s{i}">{escape(name)}</a>' for i, (name, _) in enumerate(body))
    parts = "".join(
        f'<section id="s{i}"><h2>{escape(name)}</h2>{html}</section>'
        if n_open is None or i < n_open
        else f'<section id="s{i}"><details class="part"><summary><h2>{escape(name)}</h2></summary>{html}</details>'
        "</section>"
        for i, (name, html) in enumerate(body)
    )
    page = _PAGE.format(
        generator=_GENERATOR,
        policy=_POLICY,
        title=escape(title),
        answer=paragraph(answer, "answer") if answer else "",
        lead=escape(lead),
        style=_asset("page.css"),
        links=links,
        body=parts,
        scripts="".join(f"<script>{_asset(name)}</script>" for name in _scripts(parts)),
    )
    partial = out.with_name(out.name + ".partial")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(out)
    except OSError as e:
        raise StoreError(f"{_OUT}: {out} cannot be written ({e}); give another path") from e
    return out


def _scripts(parts: str) -> list[str]:
    """Return the scripts that the parts of a page need: libraries first."""
    tables = ["dataTables.min.js", "dataTables.buttons.min.js"] if '<table class="sortable"' in parts else []
    network = ["cytoscape.min.js", "network.js"] if '<div class="network"' in parts else []
    return [*tables, *network, "page.js"]


def _asset(name: str) -> str:
    """Return the text of a style or a script of pages."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def escape(text: str) -> str:
    """Escape text for HTML, without markup and invisible characters."""
    return escape_html(shown(text, None))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], sortable: bool = False) -> str:
    """Return an HTML table: numbers and ranges right-aligned, everything escaped."""
    rows = [list(row) for row in rows]
    numeric = [all(_is_numeric(row[i]) for row in rows) for i in range(len(header))]

    def cell(value: Any, i: int, tag: str = "td") -> str:
        kind = ' class="n"' if numeric[i] else ""
        order = f' data-order="{_value(str(value))}"' if sortable and numeric[i] and tag == "td" else ""
        return f"<{tag}{kind}{order}>{escape(str(value))}</{tag}>"

    head = "".join(cell(h, i, "th") for i, h in enumerate(header))
    body = "".join(f"<tr>{''.join(cell(v, i) for i, v in enumerate(row))}</tr>" for row in rows)
    attribute = ' class="sortable"' if sortable else ""
    whole = f"<table{attribute}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0">{whole}</div>'


def picture(draw: Callable[[], Axes], caption: str) -> str:
    """Return a figure as SVG within the page, whose texts can be searched and which can be saved."""
    text = _drawn(draw)
    svg = _UNUSED.sub(r"\1", text[text.index("<svg") :])
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(caption)}"', 1)
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def as_figure(html: str) -> str:
    """Return a picture that a script folds away where it shows a network to explore."""
    return f'<details class="fallback" open><summary>As a figure</summary>{html}</details>'


def image(draw: Callable[[], Axes], caption: str) -> str:
    """Return a figure as an image, which pages of others show where they allow no SVG within them."""
    data = base64.b64encode(_drawn(draw).encode()).decode()
    return f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}"></figure>'


def _drawn(draw: Callable[[], Axes]) -> str:
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bayesmrf"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts may have it
        draw().figure.savefig(file, format="svg", dpi=150, metadata={"Date": None})  # type: ignore[union-attr]
    return file.getvalue().decode()


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


_NUMBER = r"-?[\d,]+(\.\d+)?†?"


def _is_numeric(value: Any) -> bool:
    """Check whether a cell is a number, a bound of one, one with its error or a mark, a range, or a dash."""
    return re.fullmatch(rf"{_NUMBER}( (to|±) {_NUMBER})?|[<>] (10\^-?\d+|{_NUMBER})|–", str(value)) is not None


def _value(text: str) -> str:
    """Return the number by which a numeric cell is sorted: of a range its start, of a dash one below all others."""
    plain = text.removeprefix("< ").removeprefix("> ").replace(",", "").replace("†", "").replace("10^", "1e")
    return "-1e99" if text == "–" else plain.partition(" ")[0]


def listed(found: Table, sortable: bool = True) -> str:
    """Return a table, after a remark on what it leaves out; one with a title can be folded away.

    Tables that can be sorted have the two ends of an edge or an interval in columns of their own.
    """
    assert found.wide is not None
    columns = [part for column in found.columns for part in (column.apart() if sortable else [column])]
    html = table([column.head for column in columns], found.cells(found.wide, columns), sortable)
    if found.wide.title:
        html = f"<details open><summary>{found.wide.title}</summary>{html}</details>"
    return (paragraph(found.wide.rest) if found.wide.rest else "") + html


def section_of(kind: TableOf, title: str, s: Any) -> list[Section]:
    """Return a section with a table alone and what it means, of a result that has this table."""
    if not kind.is_in(s):
        return []
    made = kind(s)
    return [(title, (paragraph(made.note) if made.note else "") + listed(made))]


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{generator}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1>{answer}<p>{lead}</p><nav aria-label="Contents">{links}</nav></header>
<main>{body}</main>
{scripts}
</body>
</html>
"""
