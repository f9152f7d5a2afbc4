"""Tables and the report of a fitted estimator."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..declare.paths import path_of
from ..errors import BayesMRFError, OptionError
from ..results import WithPosterior

if TYPE_CHECKING:
    import pandas as pd


class Tabulated(WithPosterior):
    """Estimators of posteriors: tables of results, and the report, which are imported on first use."""

    def _outcome(self) -> list[str]:
        from ..results.summary import summarise

        with suppress(BayesMRFError):  # draws of a user may be anything, and what shows an object must not fail
            return summarise(self).outcome
        return []

    def table(self, name: str, probability: float = 0.9, edge: Any = None) -> pd.DataFrame:
        """Return a table of results, with the columns that the command line and the report show.

        Parameters
        ----------
        name : str
            "edges", "nodes", "convergence" and "findings"; "statistics" where edges have weights; "structures" and
            "n-edges" if edges may be absent; "columns", what they were read as; "missing" if values were missing; of
            `GroupedMRF` also "groups", "node-groups", "partitions" and "potentials"; of `CompareMRF` "differences" and
            "node-differences"; of `BayesianMRF` "parameters" and
            "strength"; of the model "nominal" "log_odds". An unknown name is answered by those that this result has.
        probability : float
            Of the central intervals, ``lower`` and ``upper``.
        edge : (str, str), optional
            Names of two columns: the rows of this edge alone, of a table with rows of edges.

        Returns
        -------
        DataFrame
            All rows, with unrounded numbers; `DataFrame.to_csv` exports it. What is not known, such as the weight of an
            edge that never exists, is NaN.
        """
        from ..results.tables import table_of

        found = table_of(self, name, probability).frame.copy()
        if edge is None:
            return found
        ends = {str(end) for end in edge} if isinstance(edge, tuple | list) else set()
        has_ends = {"first", "second"} <= set(found.columns)
        mine = [set(pair) == ends for pair in zip(found["first"], found["second"], strict=True)] if has_ends else []
        if not any(mine):
            raise OptionError(
                option="edge", got=edge, expected="None, or the names of the two ends of an edge of the table"
            )
        return found[mine].reset_index(drop=True)

    def export(
        self, out: str | PathLike[str], to: str, overwrite: bool = False, spreadsheet_safe: bool = False
    ) -> Path:
        """Write every table for other programs, as "csv", "json" or "graphml"; see `bayesmrf.export`."""
        from ..report.export import export

        return export(self, out, to, overwrite, spreadsheet_safe)

    def report(self, path: str | PathLike[str], overwrite: bool = False) -> Path:
        """Write one self-contained HTML file; see `bayesmrf.write_report`."""
        from ..report import write_report

        return write_report(self, path_of("path", path), overwrite)
