"""HTML pages and their parts: tables, figures, paragraphs."""

from __future__ import annotations

import base64
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import check_path
from ..declare.paths import path_of
from ..declare.rule import FLAG
from ..errors import StoreError, argument
from ..names import shown
from .tables import Table, TableOf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OVERWRITE = argument("overwrite", True)
_OUT = argument("out")

_GENERATOR = '<meta name="generator" content="bayesmrf">'

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
            replace = "" if replace_own else f" or set {_OVERWRITE}"
            raise StoreError(f"{_OUT}: {out} exists already; give another path{replace}.")
    check_place(out)
    return out


def check_place(out: Path) -> None:
    """Check that something can be written to the folder of a path."""
    folder = out.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        reason = "cannot be written to" if folder.is_dir() else "does not exist"
        raise StoreError(f"{_OUT}: the folder {folder} {reason}; give a path in a folder that can be written to")


def write_page(out: Path, title: str, lead: str, body: Iterable[Section], answer: str = "") -> Path:
    """Write a page of titled sections atomically; ``answer`` is a sentence at its top."""
    body = list(body)
    links = "".join(f'<a href="#s{i}">{escape(name)}</a>' for i, (name, _) in enumerate(body))
    parts = "".join(
        f'<section id="s{i}"><h2>{escape(name)}</h2>{html}</section>' for i, (name, html) in enumerate(body)
    )
    page = _PAGE.format(
        generator=_GENERATOR,
        title=escape(title),
        answer=paragraph(answer, "answer") if answer else "",
        lead=escape(lead),
        style=_STYLE,
        links=links,
        body=parts,
        script=_SORT,
    )
    partial = out.with_name(out.name + ".partial")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(out)
    except OSError as e:
        raise StoreError(f"{_OUT}: {out} cannot be written ({e}); give another path") from e
    return out


def escape(text: str) -> str:
    """Escape text for HTML, without markup and invisible characters."""
    return escape_html(shown(text, None))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], sortable: bool = False) -> str:
    """Return an HTML table: numbers and ranges right-aligned, everything escaped."""
    rows = [list(row) for row in rows]
    numeric = [all(_is_numeric(row[i]) for row in rows) for i in range(len(header))]

    def cell(value: Any, i: int, tag: str = "td") -> str:
        kind = ' class="n"' if numeric[i] else ""
        return f"<{tag}{kind}>{escape(str(value))}</{tag}>"

    head = "".join(cell(h, i, "th") for i, h in enumerate(header))
    body = "".join(f"<tr>{''.join(cell(v, i) for i, v in enumerate(row))}</tr>" for row in rows)
    attribute = ' class="sortable"' if sortable else ""
    return f'<div class="wide"><table{attribute}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def picture(draw: Callable[[], Axes], caption: str) -> str:
    """Return a figure embedded as SVG."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bayesmrf"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts may have it
        draw().figure.savefig(file, format="svg", dpi=150, metadata={"Date": None})  # type: ignore[union-attr]
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def _is_numeric(value: Any) -> bool:
    """Check whether a cell is a number, a bound of one, one with its error or a mark, a range, or a dash."""
    number = r"-?[\d,]+(\.\d+)?†?"
    return re.fullmatch(rf"{number}( (to|±) {number})?|[<>] (10\^-?\d+|{number})|–", str(value)) is not None


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


_STYLE = """
:root { color-scheme: light dark; --ink: #1f2430; --soft: #565e6c; --page: #f4f5f7; --card: #fff; --line: #e3e6ea;
  --link: #0b5c96; --good: #eaf7f3; --note: #f4f5f7; --fair: #fdf5e4; --bad: #fcede3; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #a3acba; --page: #14171c; --card: #1d2128; --line: #343a44;
    --link: #7cc0f0; --good: #12352b; --note: #262b34; --fair: #3d2f10; --bad: #44220f; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--page); overflow-wrap: anywhere; }
header, section { max-width: 56rem; margin: 0 auto; padding: 1.25rem clamp(1rem, 4vw, 2rem); }
header { padding-top: 2.5rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin-bottom: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
p { margin: 0 0 .8rem; max-width: 46rem; }
header p { color: var(--soft); }
header p.answer { color: var(--ink); font-size: 1.15rem; font-weight: 600; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .9rem; }
a { color: var(--link); }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: normal; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
th.n, td.n { text-align: right; white-space: nowrap; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
td:last-child:not(.n) { min-width: 7rem; }
details .wide { max-height: 42rem; overflow: auto; }
details thead th { position: sticky; top: 0; background: var(--card); }
summary { cursor: pointer; margin-bottom: .5rem; }
figure { margin: 0 0 1.2rem; overflow-x: auto; }
img { max-width: 100%; height: auto; display: block; margin: 0 auto; background: #fff; border-radius: 8px; }
figcaption { font-size: .85rem; color: var(--soft); margin-top: .3rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .25rem 1.2rem; margin: 0 0 .8rem;
  font-size: .95rem; }
dt { color: var(--soft); }
dd { margin: 0; }
pre { background: var(--note); padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap; font-size: .85rem; }
.verdict { border-left: 4px solid; padding: .5rem .9rem; border-radius: 4px; max-width: none; }
.good { border-color: #009e73; background: var(--good); }
.note { border-color: #7a8494; background: var(--note); }
.fair { border-color: #e69f00; background: var(--fair); }
.bad { border-color: #d55e00; background: var(--bad); }
@media (max-width: 40rem) {
  th, td { padding: .3rem .4rem; }
  th:not(.n) { white-space: normal; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
}
@media print {
  @page { margin: 15mm; }
  html { font-size: 11px; }
  body { background: #fff; font-size: 1rem; }
  header, section { max-width: none; border: 0; padding: .5rem 0; }
  nav { display: none; }
  h2, summary { break-after: avoid; }
  figure, thead, tr, .verdict, dl > * { break-inside: avoid; }
  img { max-height: 170mm; }
  .wide, details .wide, figure { max-height: none; overflow: visible; }
  details thead th { position: static; }
  th button { display: contents; }
  th, td { padding: .12rem .4rem; white-space: normal; }
  details:not([open])::details-content { content-visibility: visible; block-size: auto; }
}
"""

_SORT = """
for (const t of document.querySelectorAll("table.sortable")) {
  const heads = [...t.tHead.rows[0].cells];
  heads.forEach((th, i) => {
    const b = document.createElement("button");
    b.textContent = th.textContent;
    th.replaceChildren(b);
    b.onclick = () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      heads.forEach(h => h.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = r => r.cells[i].textContent, n = th.classList.contains("n");
      const plain = r => value(r).replaceAll(",", "").replace(/^[<>] /, "").replace("10^", "1e");
      const number = r => parseFloat(plain(r)) || 0;
      const order = (a, b) => n ? number(a) - number(b) : value(a).localeCompare(value(b));
      t.tBodies[0].append(...[...t.tBodies[0].rows].sort((a, b) => up ? order(a, b) : order(b, a)));
    };
  });
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{generator}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1>{answer}<p>{lead}</p><nav aria-label="Contents">{links}</nav></header>
<main>{body}</main>
<script>{script}</script>
</body>
</html>
"""
