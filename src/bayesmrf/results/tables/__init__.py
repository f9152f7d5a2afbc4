"""Tables of results, each defined once: for `est.table`, the terminal, the page and files."""

from __future__ import annotations

# Modules in the order in which their tables are shown.
from . import structure, differences, parameters, grouped, statistics, structures, shared  # isort: skip
from .base import Column, Listing, Table, all_tables, names_of, table_of

__all__ = [
    "Column",
    "Listing",
    "Table",
    "all_tables",
    "differences",
    "grouped",
    "names_of",
    "parameters",
    "shared",
    "statistics",
    "structure",
    "structures",
    "table_of",
]
