"""The tables of a result as files of other programs: CSV, JSON, and networks in GraphML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.registry import every_table, names_of, table_of
from ..data.files import check_path
from ..data.spreadsheets import csv_of
from ..declare.option import named
from ..declare.paths import path_of, refuse_existing
from ..declare.rule import FLAG, choice
from ..errors import OptionError, StoreError, argument
from ..names import file_stem
from ..results.summary import AnySummary, summarise
from ..runs.store import remove
from ..show.page import check_out, check_place
from ..show.tables import Table

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

MANIFEST = "manifest.json"  # of a folder, which tells those of this module from others
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENDS = ["first", "second"]


@named
def export(
    result: Any, out: str | PathLike[str], to: str, overwrite: bool = False, spreadsheet_safe: bool = False
) -> Path:
    """Write every table of a result, or its networks, for other programs.

    Numbers are not rounded, names are those of the data, and tables are those of ``est.table``, a row for each edge,
    node or quantity.

    Parameters
    ----------
    result : estimator, xarray.DataTree or path
        A fitted estimator, its ``posterior_``, or the path of a result.
    out : path
        The file or folder to write.
    to : {"csv", "json", "graphml"}
        * csv: a folder with a file for each table, and ``manifest.json``, which says what each of them and its columns
          are, and what was run. What is not known is an empty cell.
        * json: one file with both: ``run``, and ``tables``, each with a list of its rows. What is not known or infinite
          is null, as JSON has no such numbers.
        * graphml: a network, in one file that networkx, igraph, Gephi and Cytoscape open. Its edges are all candidates,
          with the columns of their tables as attributes: ``weight``, 0 for an edge that exists in no draw; where they
          may be absent, ``inclusion`` and evidence. What is not known is no attribute. Of groups of people, a folder
          with the network of each, and with those of their differences, which are ``weight``; of a panel with edges
          within a wave, a folder with these, and the lagged ones.
    overwrite : bool
        Replace an existing file, or a folder that this function wrote and that has nothing else.
    spreadsheet_safe : bool
        Put an apostrophe before texts in CSV files that spreadsheets run as formulas, such as a column named ``=1+1``.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    OptionError
        If ``to`` is none of these.
    StoreError
        If ``out`` exists already or cannot be written, or ``result`` is a path without a finished result.
    """
    choice(*_FORMS).check("to", to)
    FLAG.check("overwrite", overwrite)
    FLAG.check("spreadsheet_safe", spreadsheet_safe)
    if spreadsheet_safe and to != "csv":
        raise OptionError(option="spreadsheet_safe", got=True, expected=f"omitted with {argument('to', to)}")
    s = summarise(result)
    if not is_folder(s, to):
        out = check_out(out, overwrite)
        ((_, text),) = _FORMS[to](s).items()
        return _written(out, lambda partial: _write(partial, text))
    out = _check_folder(path_of("out", out), overwrite)
    files = _csv(s, spreadsheet_safe) if to == "csv" else _FORMS[to](s)

    def write(partial: Path) -> None:
        partial.mkdir()
        for name, text in files.items():
            _write(partial / name, text)

    return _written(out, write)


def is_folder(result: Any, to: str) -> bool:
    """Return whether `export` writes a folder, not a file."""
    s = summarise(result)
    return to == "csv" or (to == "graphml" and (s.has_populations or s.within))


def _about(s: AnySummary) -> dict[str, Any]:
    """Describe what was run."""
    a = s.attrs
    kept = ("model", "method", "kind", "engine", "seed", "n_warmup", "thin", "created_at", "data_hash", "command")
    run = {"data": s.data_sentence, "draws": s.draws_sentence} | {name: a[name] for name in kept if name in a}
    versions = json.loads(str(a.get("versions", "{}")))
    return {"bayesmrf": versions.get("bayesmrf"), "run": run | {"options": s.options, "versions": versions}}


def _csv(s: AnySummary, is_safe: bool = False) -> dict[str, str]:
    tables = list(every_table(s))
    files = csv_of({f"{table.name}.csv": table.frame for _, table in tables}, is_safe)
    about = {table.name: _described(table, description) for description, table in tables}
    return files | {MANIFEST: _json(_about(s) | {"files": [*files], "tables": about})}


def _as_json(s: AnySummary) -> dict[str, str]:
    tables = {
        table.name: _described(table, description) | {"rows": _rows(table.frame)}
        for description, table in every_table(s)
    }
    return {"": _json(_about(s) | {"tables": tables})}


def _described(table: Table, description: str) -> dict[str, Any]:
    """Describe what a table and its columns are."""
    parts = [part for column in table.columns for part in column.apart()]
    heads = {part.fields[0]: part.head for part in parts if part.fields[0] in table.frame}
    return {"description": description, "note": table.note, "columns": heads}


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert the rows of a table to plain values; what is no number is None."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """Convert a value to one of Python, None for what is missing or infinite."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


def _graphml(s: AnySummary) -> dict[str, str]:
    files = {f"{name}.graphml": _xml(g) for name, g in _networks(s).items()}
    return files | {MANIFEST: _json(_about(s) | {"files": [*files]})} if len(files) > 1 else files


def _xml(g: nx.Graph) -> str:
    import networkx as nx

    file = BytesIO()
    nx.write_graphml_xml(g, file)  # the lines of generate_graphml lose the line ends of names
    return file.getvalue().decode()


def _networks(s: AnySummary) -> dict[str, nx.Graph]:
    """Build the networks of a result by name: one, or those of groups of people and of their differences."""
    if s.has_lags:
        ends = {"source": "first", "target": "second"}
        return {
            name: _network(
                s, table_of(s, name).frame.rename(columns=ends), table_of(s, "nodes").frame, name == "lagged"
            )
            for name in ("lagged", *(["within"] if s.within else []))
        }
    edges, nodes = (table_of(s, name).frame if name in names_of(s) else None for name in ("edges", "nodes"))
    if not s.has_populations:
        return {"network": _network(s, _with_evidence(s, edges), nodes)}
    assert edges is not None
    assert nodes is not None
    networks = {
        str(group): _network(s, part.drop(columns="group"), nodes[nodes["group"] == group])
        for group, part in edges.groupby("group", sort=False)
    }
    differences = table_of(s, "differences").frame.rename(columns={"difference": "weight"})
    for pair, part in _with_evidence(s, differences).groupby(["group", "other"], sort=False):
        group, other = pair
        networks[f"{other} minus {group}"] = _network(s, part.drop(columns=["group", "other"]), None)
    names = [file_stem(name) for name in networks]
    same = len({name.lower() for name in names}) < len(names)
    return {
        f"{i} {name}" if same else name: g for i, (name, g) in enumerate(zip(names, networks.values(), strict=True), 1)
    }


def _with_evidence(s: AnySummary, edges: pd.DataFrame | None) -> pd.DataFrame:
    """Add the columns of the table of evidence that it lacks to a table of edges, or their ends."""
    import pandas as pd

    edges = pd.DataFrame(s.named_ends) if edges is None else edges
    if "evidence" not in names_of(s):
        return edges
    more = table_of(s, "evidence").frame
    keys = [c for c in (*_ENDS, "group", "other") if c in edges and c in more]
    return edges.merge(more[[*keys, *(c for c in more if c not in edges)]], "left", keys)


def _network(s: AnySummary, edges: pd.DataFrame, nodes: pd.DataFrame | None, directed: bool = False) -> nx.Graph:
    """Build the network of a table of edges and of one of parameters of nodes."""
    import networkx as nx

    g, ids = nx.DiGraph() if directed else nx.Graph(), {str(name): _in_xml(name) for name in s.nodes}
    g.add_nodes_from((name, {"label": name}) for name in ids.values())
    for row in [] if nodes is None else _rows(nodes):
        node = max((n for n in ids if row["node"] == n or row["node"].startswith((f"{n}=", f"{n}:"))), key=len)
        state = _in_xml(row["node"].removeprefix(node)) + (f"={row['state']}" if "state" in row else "")
        g.nodes[ids[node]][f"{s.terms.node}{state}"] = row["mean" if "mean" in row else "field"]
    for row in _rows(edges):
        first, second = (ids[row.pop(end)] for end in _ENDS)
        if "weight" in row and row["weight"] is None:  # it never exists
            row["weight"] = 0.0
        known = {name: _in_graphml(value) for name, value in row.items() if value is not None}
        g.add_edges_from([(first, second, known)])
    return g


def _in_graphml(value: Any) -> Any:
    """Convert a value to an attribute; 1 and 0 for yes and no, as networkx writes no truth values of XML."""
    return _in_xml(value) if isinstance(value, str) else int(value) if isinstance(value, bool) else value


def _in_xml(text: object) -> str:
    """Replace characters that XML cannot have by escapes of Python."""
    return _NOT_IN_XML.sub(lambda c: c[0].encode("unicode_escape").decode(), str(text))


_FORMS: dict[str, Callable[[AnySummary], dict[str, str]]] = {"csv": _csv, "json": _as_json, "graphml": _graphml}


def _check_folder(out: Path, overwrite: bool) -> Path:
    """Check that a folder may be written, and can be."""
    check_path(out, f"{argument('out')}: ")
    check_place(out)
    if not out.exists():
        return out
    try:
        written = {MANIFEST, *json.loads((out / MANIFEST).read_text(encoding="utf-8"))["files"]}
        ours = {p.name for p in out.iterdir()} <= written
    except (OSError, ValueError, TypeError, KeyError):
        ours = False
    if not (ours and overwrite):
        refuse_existing(out, ours)
    return out


def _written(out: Path, write: Callable[[Path], None]) -> Path:
    """Write a file or folder next to its place, and put it there when it is complete."""
    partial = out.with_name(f"{out.name}.partial")
    try:
        remove(partial)
        write(partial)
        if partial.is_dir():
            remove(out)
        partial.replace(out)
    except OSError as e:
        raise StoreError(f"{argument('out')}: {out} cannot be written ({e}); give another path") from e
    return out


def _write(file: Path, text: str) -> None:
    # Lone surrogates of names become escapes, which JSON reads back.
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
