"""Sections of every report: what was run, convergence, how to reproduce the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence, Sized
from typing import Any

from .. import plots
from ..names import LONGEST, shown
from ..summary import Summary, count, rows
from .page import Section, escape, paragraph, picture, table

MOST_MISSING = 100  # rows of the table of missing values
_MOST_JUDGED = 7  # rows of the table of convergence
# Options of the command line that estimators do not have.
_ASKED = (("Graph", "graph"), ("Candidate edges", "candidates"), ("Levels that count as yes", "binarize"))


def _what_was_run(s: Summary) -> str:
    """Return data, graph, method, exactness, draws and options."""
    a = s.attrs
    facts = [("Data", f"{a['data_file']}: {s.data_sentence}" if "data_file" in a else s.data_sentence)]
    facts += [(name, str(a[key])) for name, key in _ASKED if key in a]
    facts += [("Method", s.method_sentence), ("Exact or approximate", s.kind_sentence)]
    facts += [("Draws", s.draws_sentence)]
    facts += [(label[0].upper() + label[1:], value) for label, value in s.options.items()]
    facts += [("Run time", f"{a['run_time']:,.1f} s"), ("Created", str(a.get("created_at", "unknown")))]
    cut = "" if a.get("complete", True) else paragraph(
        "This run was stopped before its end; the report is on the draws until then.", "verdict fair")  # fmt: skip
    return f"{cut}{_verdict(s)}{_facts(facts)}"


def _verdict(s: Summary) -> str:
    """Return what is to be said of the run, each doubt in a paragraph of its own."""
    return "".join(paragraph(sentence, f"verdict {severity}") for severity, sentence in s.verdict.sentences)


def page(s: Summary, parts: Sequence[Section], judged: str, traced: str, cite: str) -> list[Section]:
    """Return the sections of a report: those of every report around ``parts``.

    Parameters
    ----------
    s : Summary
    parts : sequence of Section
    judged : str
        Quantities whose convergence is shown.
    traced : str
        The quantity whose trace is plotted.
    cite : str
        Source of the method.
    """
    return [
        ("What was run", _what_was_run(s)),
        *parts,
        *([("Missing values", _missing(s))] if len(s.missing_table) else []),
        ("Have the chains converged?", _convergence(s, judged, traced)),
        ("Reproduce and cite", _run_again(s, cite)),
    ]


def rest_of(found: Sized, most: int, which: str) -> str:
    """Return a remark that the first or strongest rows are listed, if there are more."""
    if len(found) <= most:
        return ""
    return paragraph(f"The {most} {which} are listed; the result contains the other {len(found) - most:,}.")


def details(summary: str, header: Sequence[str], cells: Iterable[Sequence[Any]]) -> str:
    """Return a sortable table that can be folded away."""
    return f"<details open><summary>{summary}</summary>{table(header, cells, sortable=True)}</details>"


def _missing(s: Summary) -> str:
    found = s.missing_table
    missing = count(s.n_missing, "value was", "values were")
    text = f"{missing} missing, and summed over or drawn together with the parameters."
    if len(found) > MOST_MISSING:
        text += f" The first {MOST_MISSING} probabilities are listed."
    cells = [(f"{int(m.row) + 1:,}", m.node, m.state, f"{m.probability:.3f}") for m in rows(found.iloc[:MOST_MISSING])]
    return paragraph(text) + details("Probabilities", ["row", "node", "state", "probability"], cells)


def _convergence(s: Summary, which: str, traced: str) -> str:
    """Return the verdict, the diagnostics, and the trace of one quantity."""
    judged = s.diagnostics.iloc[:_MOST_JUDGED]
    cells = [
        (shown(name, 2 * LONGEST), f"{d.mean:.3f}", f"{d.sd:.3f}", r_hat, f"{d.ess_bulk:,.0f}", f"{d.ess_tail:,.0f}")
        for name, d in zip(judged.index, rows(judged), strict=True)
        for r_hat in [f"{d.r_hat:.3f}".replace("nan", "–")]  # of a single chain
    ]
    text = (
        "R-hat compares the chains (1.00: they agree). The effective sample size (ESS) is the number "
        "of independent draws with the same precision: bulk for means, tail for the ends of intervals. "
        f"{count(len(s.diagnostics), 'quantity', 'quantities')} were checked; shown are {which}."
    )
    trace = picture(
        lambda: plots.plot_trace(s), f"{traced} along each chain: converged chains vary over the same range."
    )
    numbers = table(["quantity", "mean", "sd", "R-hat", "bulk ESS", "tail ESS"], cells)
    return _verdict(s) + paragraph(text) + numbers + trace


def _run_again(s: Summary, source: str) -> str:
    """Return the command, seed, versions, and the source of the method."""
    a = s.attrs
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(a.get("versions", "{}")).items())
    seed = str(a.get("seed", "unknown"))
    items = [("Seed", seed), ("Versions", versions), ("Data and graph (SHA-256)", str(a.get("data_hash", "unknown")))]
    command = ""
    if "command" in a:
        line = a["command"] if "--seed" in a["command"] else f"{a['command']} --seed {seed}"
        command = f"<pre>{escape(line)}</pre>"
    same = paragraph("The same seed, data, options and versions give the same draws.")
    cite = paragraph(f"Method: {source}. Software: bayesmrf, in the version above.")
    return f"{same}{command}{_facts(items)}{cite}"


def _facts(items: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in items)}</dl>"
