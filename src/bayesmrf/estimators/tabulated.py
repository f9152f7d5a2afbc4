"""Tables and the report of a fitted estimator."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import WithPosterior

if TYPE_CHECKING:
    import pandas as pd


class Tabulated(WithPosterior):
    """Estimators of posteriors: tables of results, and the report, which are imported on first use."""

    def table(self, name: str, probability: float = 0.9) -> pd.DataFrame:
        """Return a table of results, with the columns that the command line and the report show.

        Parameters
        ----------
        name : str
            "edges", "nodes", "convergence" and "findings"; "missing" if values were missing; of `GroupedMRF` also
            "groups", "node-groups", "partitions" and "potentials"; of `CompareMRF` "differences" and
            "node-differences"; of `BayesianMRF` "parameters" and "strength". An unknown name is answered by those that
            this result has.
        probability : float
            Of the central intervals, ``lower`` and ``upper``.

        Returns
        -------
        DataFrame
            All rows, with unrounded numbers; `DataFrame.to_csv` exports it. What is not known, such as the weight of an
            edge that never exists, is NaN.
        """
        from ..results.tables import table_of

        return table_of(self, name, probability).frame.copy()

    def report(self, path: str | PathLike[str], overwrite: bool = False) -> Path:
        """Write one self-contained HTML file; see `bayesmrf.write_report`."""
        from ..report import write_report

        return write_report(self, path, overwrite)
