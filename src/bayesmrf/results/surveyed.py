"""Results of rows with weights of a survey: what they are called, and what is not computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import OptionError, argument

if TYPE_CHECKING:
    import xarray as xr

SURVEYED = "n_surveyed_rows"  # attribute of a run whose rows have weights of a survey


def refuse_surveyed(tree: xr.DataTree, function: str, reason: str) -> None:
    """Refuse a function of single rows where the rows of the fit have weights of a survey.

    Raises
    ------
    OptionError
    """
    if SURVEYED in tree.attrs:
        raise OptionError(f"{function} is not defined with weights of a survey, as {reason}; fit without "
                          f"{argument('survey_weight')} to use it.")  # fmt: skip
