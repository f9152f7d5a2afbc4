"""Printed summaries of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..findings import BAD
from ..summary import (
    AnySummary,
    DifferenceSummary,
    GroupedSummary,
    ParameterSummary,
    StructureSummary,
    Summary,
    compare,
    count,
    rows,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

_MOST_EDGES, _MOST_NODES = 20, 10  # parameters listed
_MOST_GROUPS = 6  # groups whose tables are listed
_MOST_MISSING = 5


def show(summary: AnySummary, console: Console) -> None:
    """Print what was run, the results, and whether the chains have converged."""
    grouped = isinstance(summary, GroupedSummary)
    options = "".join(f"; {label} {value}" for label, value in summary.options.items() if not grouped)
    console.print(f"\n{summary.data_sentence}")
    console.print(f"Method: {summary.method_sentence}{options}. Its draws are {summary.kind_sentence}.")
    console.print(f"{summary.draws_sentence}; {summary.attrs['run_time']:.1f} s.")
    _SHOWN[type(summary)](summary, console)
    _show_missing(summary, console)
    console.print()
    for _, sentence in summary.verdict.sentences:
        console.print(sentence)


def show_comparison(summaries: Mapping[str, ParameterSummary], console: Console) -> None:
    """Print how far each posterior is from the first, and how each was sampled."""
    first = next(iter(summaries))
    title = f"Distance of the means to {first}, in its posterior sds"
    shown = new_table(title, ("method", "largest, and where"), ("median", "sd ratio", "ESS/s", "R-hat"))
    for row in rows(compare(summaries).reset_index()):
        distance = ("–", "–") if row.method == first else (f"{row.largest:.2f} ({row.farthest})", f"{row.median:.2f}")
        shown.add_row(row.method, *distance, f"{row.sd_ratio:.2f}", f"{row.ess_per_second:,.1f}", f"{row.r_hat:.3f}")
    console.print(shown)
    console.print("sd ratio: median over the parameters. ESS/s and R-hat: of the slowest-mixing parameter.\n")
    for name, s in summaries.items():
        console.print(f"{name}: {s.method_sentence}; {s.attrs['run_time']:,.1f} s; {s.kind_sentence}.")
        if s.verdict.grade == BAD:
            console.print(f"  {s.verdict.sentence}")


def new_table(title: str, texts: Iterable[str], numbers: Iterable[str]) -> Table:
    """Return a table with columns of texts, then of numbers."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in texts:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _at_most(most: int, n: int) -> int:
    """Return how many of ``n`` rows are listed: "1 more" would take as much room as the row."""
    return most + (n == most + 1)


def _show_groups(summary: GroupedSummary, console: Console) -> None:
    if summary.spike:
        console.print(f"Number of edges: {summary.n_edges_sentence}.\n{summary.density_sentence}.")
    console.print(f"Number of groups: {summary.n_groups_sentence}\n")
    if len(summary.shown):
        if summary.spike:
            _show_edges(summary.strongest, ("inclusion", "group", "agreement"), console)
            console.print("Inclusion: probability of the edge. Agreement: where the edge exists.\n")
        title = f"Groups (the partition closest to all draws{', of these edges' if summary.spike else ''})"
        _show_table(title, "edges", summary.group_table, summary.examples, console)
        console.print(f"{summary.ball_sentence}.")
        console.print("Agreement: 0.5 if the ends of an edge are unrelated, more if they tend to agree, less if they "
                      "tend to differ.")  # fmt: skip
        if summary.entries:
            _show_potentials(summary, console)
    else:
        console.print("No edge has an inclusion above 0.5.")
    if summary.fields_grouped:
        console.print(f"\nNumber of groups of node fields: {summary.field_groups_sentence}\n")
        title = "Groups of node fields (the partition closest to all draws)"
        _show_table(title, "nodes", summary.field_group_table, summary.field_examples, console)
        meaning = "above 0 a node tends to yes, below 0 to no"
        if summary.levels:
            meaning = f"log odds of a state against {summary.levels[0]}"
        console.print(f"Field: {meaning}, other things equal.")


def _show_potentials(summary: GroupedSummary, console: Console) -> None:
    """Print the table of log potentials of the first groups."""
    found = summary.potential_table(summary.groups)
    shown = new_table("Log potentials of the groups", (), ("group", "states", "log potential", "90 % interval"))
    shown.columns[1].justify = "left"
    for group, part in islice(found.groupby("group"), _MOST_GROUPS):
        for p in rows(part):
            shown.add_row(f"{group}", p.entry, f"{p.potential:.3f}", f"{p.lower:.3f} to {p.upper:.3f}")
        shown.add_section()
    console.print(shown)
    console.print(summary.reference_sentence)
    rest = int(found["group"].max()) - _MOST_GROUPS
    if rest > 0:
        console.print(f"Not listed: {count(rest, 'group')} more.")


def _show_table(
    title: str, noun: str, found: pd.DataFrame, examples: Callable[[int], list[str]], console: Console
) -> None:
    """Print the groups of edges or of nodes: size, value with 90 % interval, examples."""
    table = new_table(title, (), ())
    for name in ("group", noun, *found.columns[4:], found.columns[1]):
        table.add_column(name, justify="right")
    table.add_column("90 % interval", justify="right", no_wrap=True)
    table.add_column("for example")
    for g, (size, value, low, high, *state) in zip(found.index, rows(found), strict=True):
        own = [f"{g}", f"{size}", *state, f"{value:.3f}", f"{low:.3f} to {high:.3f}"]
        table.add_row(*own, "; ".join(examples(g)))
    console.print(table)


def _show_structure(summary: StructureSummary, console: Console) -> None:
    console.print(f"Number of edges: {summary.n_edges_sentence}.")
    console.print(f"{summary.density_sentence}.\n")
    found = summary.strongest
    if len(found):
        _show_edges(found, ("inclusion", "weight"), console)
        console.print(
            f"Inclusion: probability of the edge. Weight: mean of the {summary.terms.edge} where the edge exists. "
            f"{summary.terms.meaning}"
        )
    else:
        console.print("No edge has an inclusion above 0.5.")


def _show_differences(summary: DifferenceSummary, console: Console) -> None:
    console.print(f"Number of edges that differ: {summary.n_edges_sentence}.")
    console.print(f"{summary.density_sentence}.\n")
    found = summary.differences.sort_values("inclusion", ascending=False, kind="stable")
    _list_differences(summary, found, lambda d: f"{d.first} – {d.second}", "edge", _MOST_EDGES, console)
    exists = " Exists: probability that the edge exists, in all groups." if summary.may_be_absent else ""
    console.print(
        f"Inclusion: probability that the groups differ in this edge; Bayes factor: for a difference. Difference: "
        f"{summary.direction}, with its 90 % interval, given that they differ.{exists} {summary.terms.meaning}\n"
    )
    node = summary.terms.node
    _list_differences(summary, summary.bias_differences, lambda d: d.parameter, node, _MOST_NODES, console)
    if "inclusion" not in summary.bias_differences:
        console.print("They always differ, so that there is no inclusion.")


def _list_differences(
    summary: DifferenceSummary,
    found: pd.DataFrame,
    name: Callable[[Any], str],
    noun: str,
    most: int,
    console: Console,
) -> None:
    """Print the first rows of a table of differences."""
    many, uncertain, absent = len(summary.groups) > 2, "inclusion" in found, "edge_inclusion" in found
    texts = (noun, "groups") if many else (noun,)
    numbers = (*(["inclusion"] if uncertain else []), "difference", "90 % interval",
               *(["Bayes factor"] if uncertain else []), *(["exists"] if absent else []))  # fmt: skip
    first = "most probable" if uncertain else "largest"
    table = new_table(f"Differences ({noun}), {first} first", texts, numbers)
    most = _at_most(most, len(found))
    for d in rows(found.iloc[:most]):
        groups = [f"{d.other} − {d.group}"] if many else []
        values = [f"{d.difference:.3f}", f"{d.lower:.3f} to {d.upper:.3f}"]
        if uncertain:
            values = [f"{d.inclusion:.3f}", *(values if d.inclusion else ["–", "–"]), f"{d.bayes_factor:.3g}"]
        table.add_row(name(d), *groups, *values, *([f"{d.edge_inclusion:.3f}"] if absent else []))
    console.print(table)
    if len(found) > most:
        console.print(f"Not listed: {len(found) - most:,} {'less probable' if uncertain else 'smaller'}.")


def _show_edges(found: pd.DataFrame, columns: tuple[str, ...], console: Console) -> None:
    """Print the first edges, with some columns and a 90 % interval of the last of these."""
    table = new_table("Inclusion above 0.5, strongest first", ("edge",), (*columns, "90 % interval"))
    most = _at_most(_MOST_EDGES, len(found))
    for e in rows(found.iloc[:most]):
        low_high = f"{e.lower:.3f} to {e.upper:.3f}"
        values = (getattr(e, name) for name in columns)
        said = [f"{v:.3f}" if isinstance(v, float) else f"{v}" for v in values]
        table.add_row(f"{e.first} – {e.second}", *said, low_high)
    console.print(table)
    if len(found) > most:
        console.print(f"Not listed: {len(found) - most:,} weaker edges with an inclusion above 0.5.")


def _show_parameters(summary: ParameterSummary, console: Console) -> None:
    console.print(f"{summary.clear_sentence}.\n")
    title = "Parameters, strongest first (*: interval excludes zero)"
    table = new_table(title, ("parameter", "kind"), ("mean", "sd", "90 % interval"))
    table.add_column("")
    left_out = []
    for is_edge, most in ((True, _MOST_EDGES), (False, _MOST_NODES)):
        part = summary.strongest[summary.strongest["is_edge"] == is_edge]
        kind = summary.terms.edge if is_edge else summary.terms.node
        most = _at_most(most, len(part))
        for p in rows(part.iloc[:most]):
            low_high = f"{p.lower:.3f} to {p.upper:.3f}"
            table.add_row(p.label, kind, f"{p.mean:.3f}", f"{p.sd:.3f}", low_high, "*" if p.clear else "")
        rest = part.iloc[most:]
        if len(rest):
            left_out.append(f"{len(rest):,} weaker ({kind}), {rest['clear'].sum():,} of them excluding zero")
        table.add_section()
    console.print(table)
    if left_out:
        console.print(f"Not listed: {'; '.join(left_out)}.")
    console.print(summary.terms.meaning)


def _show_missing(summary: Summary, console: Console) -> None:
    missing = summary.missing_table
    if len(missing):
        some = "; ".join(
            f"row {int(m.row) + 1} {m.node}={m.state} {m.probability:.2f}" for m in rows(missing.iloc[:_MOST_MISSING])
        )
        more = "; ..." if len(missing) > _MOST_MISSING else ""
        console.print(f"{count(summary.n_missing, 'missing value')}, with probability: {some}{more}")


_SHOWN: dict[type, Callable[..., None]] = {
    DifferenceSummary: _show_differences,
    GroupedSummary: _show_groups,
    ParameterSummary: _show_parameters,
    StructureSummary: _show_structure,
}
