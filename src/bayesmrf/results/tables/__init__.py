"""Tables of results, each defined once: for `est.table`, the terminal, the page and files."""

from __future__ import annotations

# Modules in the order in which their tables are shown.
from . import structure, differences, parameters, grouped  # isort: skip
from . import panel  # isort: skip
from . import sensitivity  # isort: skip
from . import observations  # isort: skip
from . import communities  # isort: skip
from . import statistics  # isort: skip
from . import structures  # isort: skip
from . import checks  # isort: skip
from . import shared  # isort: skip
from .base import Column, Listing, Table, all_tables, every_table, names_of, table_of

__all__ = [
    "Column",
    "Listing",
    "Table",
    "all_tables",
    "checks",
    "communities",
    "differences",
    "every_table",
    "grouped",
    "names_of",
    "observations",
    "panel",
    "parameters",
    "sensitivity",
    "shared",
    "statistics",
    "structure",
    "structures",
    "table_of",
]
