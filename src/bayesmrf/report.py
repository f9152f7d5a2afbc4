"""One self-contained HTML page about a posterior over groups of edges."""

from __future__ import annotations

import base64
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import plots, results
from .errors import StoreError
from .summary import Summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_EDGES = 500  # rows of the table of edges
MOST_DRAWN = (500, 5000)  # nodes and edges of a network that is drawn
_GENERATOR = '<meta name="generator" content="bayesmrf">'

Section = tuple[str, str]


def write_report(tree: Any, out: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write one HTML file that needs no other: tables, pictures, convergence, and how to make the run again.

    Parameters
    ----------
    tree : xarray.DataTree or path
        ``GroupedMRF.posterior_``, also of a run that was interrupted, or where a finished result is.
    out : path
        The file to write.
    overwrite : bool
        Replace a file that is there.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    StoreError
        If ``tree`` is a path without a finished result, or ``out`` is there already or cannot be written.
    """
    out = check_out(out, overwrite)
    summary = Summary(results.load(tree) if isinstance(tree, str | PathLike) else tree)
    return write_page(out, "Groups of shared parameters", summary.data_sentence, sections(summary))


def check_out(out: str | PathLike[str], overwrite: bool, replace_own: bool = False) -> Path:
    """Refuse a file that must not or cannot be written; ``replace_own`` allows to replace a page of this package."""
    out = Path(out)
    if out.is_dir():
        raise StoreError(f"out: {out} is a folder, a file is wanted; give a path such as {out / 'report.html'}")
    if out.exists() and not overwrite:
        own = replace_own and _GENERATOR.encode() in out.read_bytes()[:1000]
        if not own:
            raise StoreError(f"out: {out} exists already; give another path or set overwrite=True")
    folder = out.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        reason = "cannot be written to" if folder.is_dir() else "does not exist"
        raise StoreError(f"out: the folder {folder} {reason}; give a path in a folder that can be written to")
    return out


def write_page(out: Path, title: str, lead: str, body: Iterable[Section]) -> Path:
    """Write a page of titled sections, whole or not at all."""
    body = list(body)
    links = "".join(f'<a href="#s{i}">{escape(name)}</a>' for i, (name, _) in enumerate(body))
    parts = "".join(
        f'<section id="s{i}"><h2>{escape(name)}</h2>{html}</section>' for i, (name, html) in enumerate(body)
    )
    page = _PAGE.format(
        generator=_GENERATOR,
        title=escape(title),
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
        raise StoreError(f"out: {out} cannot be written ({e}); give another path") from e
    return out


def sections(summary: Summary) -> list[Section]:
    """What the page says about one run."""
    named = [
        ("What was run", _what_was_run(summary)),
        ("Number of groups", _number_of_groups(summary)),
        ("Groups", _groups(summary)),
        ("Network", _network(summary)),
        ("Edges", _edges(summary)),
    ]
    if len(summary.field_table):
        named.append(("Node fields", _fields(summary)))
    return [*named, ("Have the chains converged?", _convergence(summary)), ("Run it again, cite it", _again(summary))]


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], sortable: bool = False) -> str:
    """An HTML table: numbers and ranges of them to the right, everything escaped."""
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
    """A picture inside the page, as SVG."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's own fonts may have it
        draw().figure.savefig(file, format="svg", dpi=150, metadata={"Date": None})  # type: ignore[union-attr]
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def _what_was_run(s: Summary) -> str:
    a = s.attrs
    facts = [("Data", f"{a['data_file']}: {s.data_sentence}" if "data_file" in a else s.data_sentence)]
    facts += [("Graph", str(a["graph"]))] if "graph" in a else []
    facts += [("Method", str(a.get("method", "unknown"))), ("Exact or approximate", s.kind_sentence)]
    facts += [("Draws", s.draws_sentence)]
    facts += [(label[0].upper() + label[1:], value) for label, value in s.options.items()]
    facts += [("Run time", f"{a['run_time']:,.1f} s"), ("Made", str(a.get("created_at", "unknown")))]
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts)
    cut = "" if a.get("complete", True) else paragraph(
        "This run was stopped before its end: the draws it made until then are shown.", "verdict fair")  # fmt: skip
    grade, sentence = s.verdict
    return f"{cut}{paragraph(sentence, f'verdict {grade}')}<dl>{items}</dl>"


def _number_of_groups(s: Summary) -> str:
    return paragraph(f"{s.n_groups_sentence}.") + picture(
        lambda: plots.plot_n_groups(s), "Posterior probability of each number of groups."
    )


def _groups(s: Summary) -> str:
    rows = [
        (g, f"{r.size:,}", f"{r.agreement:.3f}", f"{r.low:.3f} to {r.high:.3f}", "; ".join(s.examples(g, 4)))
        for g, r in zip(s.group_table.index, s.group_table.itertuples(index=False), strict=True)
    ]
    text = (
        "An edge's agreement is its pull on its two ends, all else being equal: 0.5 says nothing, more makes them "
        "alike, less makes them differ. Shown is the one partition of the edges that is closest to all draws (it "
        "minimises the posterior expected variation of information). A group's agreement is the mean over its edges."
    )
    return paragraph(text) + table(["group", "edges", "agreement", "90 % interval", "for example"], rows)


def _network(s: Summary) -> str:
    if len(s.names) > MOST_DRAWN[0] or s.n_edges > MOST_DRAWN[1]:
        drawn = paragraph(
            f"A network of {len(s.names):,} nodes and {s.n_edges:,} edges is too large to be read as a picture."
        )
    else:
        drawn = picture(
            lambda: plots.plot_network(s),
            "Edges coloured by group; wide: strong; dashed: the ends tend to differ (agreement below 0.5).",
        )
    return drawn + picture(
        lambda: plots.plot_co_clustering(s),
        "How sure the groups are: dark blocks share a group in nearly every draw, pale ones in few.",
    )


def _edges(s: Summary) -> str:
    edges, note = s.edge_table, ""
    if len(edges) > MOST_EDGES:
        weakness = -(edges["agreement"] - 0.5).abs()
        edges = edges.loc[weakness.sort_values(kind="stable").index[:MOST_EDGES]]
        note = paragraph(
            f"The {MOST_EDGES} strongest edges (agreement farthest from 0.5) are listed; {s.n_edges - MOST_EDGES:,} "
            "others are left out, and are in the result itself."
        )
    edges = edges.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    rows = [
        (e.first, e.second, e.group, f"{e.agreement:.3f}", f"{e.low:.3f}", f"{e.high:.3f}", f"{e.mle:.3f}")
        for e in edges.itertuples(index=False)
    ]
    header = ["one end", "other end", "group", "agreement", "from", "to", "maximum likelihood"]
    shown = picture(
        lambda: plots.plot_agreement(s),
        "Agreement of each edge with its 90 % interval; grouping draws the estimates of a group together.",
    )
    listed = table(header, rows, sortable=True)
    return f"{shown}{note}<details open><summary>Values, with the 90 % interval (from, to)</summary>{listed}</details>"


def _fields(s: Summary) -> str:
    rows = [(f.node, f"{f.field:.3f}", f"{f.low:.3f} to {f.high:.3f}") for f in s.field_table.itertuples(index=False)]
    text = "A node's field h multiplies its state in {-1, +1}: above 0 it tends to yes, below 0 to no, all else equal."
    fixed = s.attrs.get("method") == "stripped-beta"
    text += " This method keeps fields at their tied maximum likelihood estimate in every step." if fixed else ""
    return paragraph(text) + table(["node", "field h", "90 % interval"], rows, sortable=True)


def _convergence(s: Summary) -> str:
    grade, sentence = s.verdict
    rows = [
        (name, f"{d.mean:.3f}", f"{d.sd:.3f}", _number(d.r_hat, ".3f"), _number(d.ess_bulk, ",.0f"))
        for name, d in zip(s.diagnostics.index, _named(s.diagnostics), strict=True)
    ]
    text = (
        "R-hat compares the chains with each other (1.00: they agree); the effective sample size is the number of "
        "independent draws worth as much as these. Shown are the number of groups and the edges that mixed worst."
    )
    trace = picture(
        lambda: plots.plot_trace(s), "Number of groups along each chain: they should wander over the same range."
    )
    numbers = table(["quantity", "mean", "sd", "R-hat", "effective sample size"], rows)
    return paragraph(sentence, f"verdict {grade}") + paragraph(text) + numbers + trace


def _again(s: Summary) -> str:
    a = s.attrs
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(a.get("versions", "{}")).items())
    seed = str(a.get("seed", "unknown"))
    items = [("Seed", seed), ("Versions", versions), ("Data and graph (SHA-256)", str(a.get("data_hash", "unknown")))]
    facts = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items)
    command = ""
    if "command" in a:
        line = a["command"] if "--seed" in a["command"] else f"{a['command']} --seed {seed}"
        command = f"<pre>{escape(line)}</pre>"
    cite = (
        "Method: J. Liu and D. Page, Bayesian Estimation of Latently-grouped Parameters in Undirected Graphical "
        "Models, Advances in Neural Information Processing Systems 26 (2013). Software: bayesmrf, in the version above."
    )
    same = paragraph("The same seed, data, options and versions give the same draws.")
    return f"{same}{command}<dl>{facts}</dl>{paragraph(cite)}"


def _named(frame: pd.DataFrame) -> Iterable[Any]:
    return frame.itertuples(index=False)


def _number(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)


def _is_numeric(value: Any) -> bool:
    """Whether a cell holds a number, a range of numbers, or the dash that stands for none."""
    number = r"-?[\d,]+(\.\d+)?"
    return re.fullmatch(rf"{number}( to {number})?|–", str(value)) is not None


_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: #1f2430; background: #f4f5f7; overflow-wrap: anywhere; }
header, section { max-width: 56rem; margin: 0 auto; padding: 1.25rem clamp(1rem, 4vw, 2rem); }
header { padding-top: 2.5rem; }
section { background: #fff; border: 1px solid #e3e6ea; border-radius: 10px; margin-bottom: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
p { margin: 0 0 .8rem; max-width: 46rem; }
header p { color: #565e6c; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .9rem; }
a { color: #0b5c96; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid #e9ebee; vertical-align: top;
  overflow-wrap: normal; }
th { color: #565e6c; font-weight: 600; white-space: nowrap; }
th.n, td.n { text-align: right; white-space: nowrap; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
td:last-child:not(.n) { min-width: 13rem; }
details .wide { max-height: 42rem; overflow: auto; }
details thead th { position: sticky; top: 0; background: #fff; }
summary { cursor: pointer; margin-bottom: .5rem; }
figure { margin: 0 0 1.2rem; overflow-x: auto; }
img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
figcaption { font-size: .85rem; color: #565e6c; margin-top: .3rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .25rem 1.2rem; margin: 0 0 .8rem;
  font-size: .95rem; }
dt { color: #565e6c; }
dd { margin: 0; }
pre { background: #f4f5f7; padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap; font-size: .85rem; }
.verdict { border-left: 4px solid; padding: .5rem .9rem; border-radius: 4px; max-width: none; }
.good { border-color: #009e73; background: #eaf7f3; }
.fair { border-color: #e69f00; background: #fdf5e4; }
.bad { border-color: #d55e00; background: #fcede3; }
@media (max-width: 40rem) {
  th, td { padding: .3rem .4rem; }
  th:not(.n) { white-space: normal; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
}
@media print { body { background: #fff; } section { border: 0; } details .wide { max-height: none; } }
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
      const order = (a, b) => n ? parseFloat(value(a)) - parseFloat(value(b)) : value(a).localeCompare(value(b));
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
<header><h1>{title}</h1><p>{lead}</p><nav>{links}</nav></header>
<main>{body}</main>
<script>{script}</script>
</body>
</html>
"""
