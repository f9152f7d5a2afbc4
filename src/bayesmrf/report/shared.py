"""Sections of every report: what was run, convergence, how to reproduce the run."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .. import plots
from ..answers.registry import names_of, table_of
from ..data.codebook import Codebook
from ..results.summary import Summary, count
from ..results.until_good import CRITERION
from ..show.page import Section, escape, listed, paragraph, picture

# Options of the command line that estimators do not have.
_ASKED = (("Graph", "graph"), ("Candidate edges", "candidates"), ("Levels that count as yes", "binarize"))


def what_was_run(s: Summary) -> str:
    """Return data, graph, method, exactness, draws and options."""
    a = s.attrs
    facts = [("Data", f"{a['data_file']}: {s.data_sentence}" if "data_file" in a else s.data_sentence)]
    facts += [("Columns", "; ".join(Codebook.of_text(a["columns"]).lines()))] if a.get("columns") else []
    facts += [(name, str(a[key])) for name, key in _ASKED if key in a]
    facts += [("Method", s.method_sentence), ("Exact or approximate", s.kind_sentence)]
    facts += [("Draws", s.draws_sentence)]
    facts += [(label[0].upper() + label[1:], value) for label, value in s.options.items()]
    facts += [("Run time", f"{a['run_time']:,.1f} s"), ("Created", str(a.get("created_at", "unknown")))]
    cut = "" if a.get("complete", True) else paragraph(
        "This run was stopped before its end; the report is on the draws until then.", "verdict fair")  # fmt: skip
    return f"{cut}{_facts(facts)}"


def verdict(s: Summary) -> str:
    """Return the findings of the run, each in a separate paragraph."""
    return "".join(paragraph(sentence, f"verdict {severity}") for severity, sentence in s.verdict.sentences)


def log_odds(s: Summary) -> list[Section]:
    """Return the section on the tables of log odds of the strongest edges, if the model has them."""
    return table_section(s, "log_odds", "Log odds of categories")


def table_section(s: Summary, name: str, title: str) -> list[Section]:
    """Return a section with a table alone and what it means, of a run that has this table."""
    if name not in names_of(s):
        return []
    shown = table_of(s, name)
    return [(title, (paragraph(shown.note) if shown.note else "") + listed(shown))]


def convergence(s: Summary, which: str, traced: str) -> str:
    """Return the verdict, the diagnostics, and the trace of one quantity."""
    text = (
        "R-hat compares the chains (1.00: they agree). The effective sample size (ESS) is the number "
        "of independent draws with the same precision: bulk for means, tail for the ends of intervals. "
        f"{count(len(s.diagnostics), 'quantity', 'quantities')} were checked; shown are {which}."
    )
    if "short" in s.attrs:
        text += f" {CRITERION}"
    trace = picture(
        lambda: plots.plot_trace(s), f"{traced} along each chain: converged chains vary over the same range."
    )
    return paragraph(text) + listed(table_of(s, "convergence"), sortable=False) + trace


def run_again(s: Summary, source: str) -> str:
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
