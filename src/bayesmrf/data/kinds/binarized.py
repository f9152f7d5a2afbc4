"""Yes/no columns made of ordered levels by a rule, such as ``>=4``."""

from __future__ import annotations

import operator
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DataError, OptionError
from ...names import digits, in_shell, listed, quoted
from ..cells import is_number, remedy_for_text
from ..files import call
from .number import dividing_rule, remedy_for_measurements
from .yes_no import two_levels

if TYPE_CHECKING:
    import pandas as pd

_COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def to_binary(path: Path, table: pd.DataFrame, rule: str | None, keep: str = "") -> pd.DataFrame:
    """Convert ordered levels to yes/no. Columns of two ordered categories are yes/no as they are.

    Parameters
    ----------
    path : Path
        The file of the table, for messages.
    table : DataFrame
        From `read_votes`.
    rule : str or None
        Which levels mean yes: ``>=4``, ``>2``, ``<=1``, ``<3`` or ``==5``. Without it a table of more than two levels
        is refused. Missing values stay missing.
    keep : str
        Options of the command that keep all levels, for messages.

    Raises
    ------
    OptionError
        If the rule cannot be parsed, or does not divide the levels.
    DataError
        If there are more than two levels and no rule, or texts that cannot be compared.
    """
    import numpy as np
    import pandas as pd

    if rule is None and _is_yes_no(table):
        return table
    two = [name for name, column in table.items() if two_levels(column.dtype) is not None]
    if two and (rest := table.drop(columns=two)).shape[1]:
        return table.assign(**{str(name): column for name, column in to_binary(path, rest, rule, keep).items()})
    if two:
        return table
    numbers = table.copy()
    for name in table.columns.difference(table.select_dtypes(["number", "bool"]).columns, sort=False):
        text = next((v for v in table[name].dropna() if not _is_value(v)), None)
        if text is not None:
            values = [0 if isinstance(v, str) and _is_value(v) else v for v in table[name]]  # "true" is a value
            kind, order = table[name].dtype, ""
            if isinstance(kind, pd.CategoricalDtype):
                kept = f"keep its ordered categories with {keep or '--model ordinal'}, "
                order = kept if kind.ordered else "order its categories in the file, "
            otherwise = f"{order}recode it as numbers, or drop it with --drop {in_shell(name)}"
            raise DataError(f"{call(path)}: column {quoted(name)} contains text such as {quoted(text)}; "
                            f"{remedy_for_text(text, values, otherwise)}")  # fmt: skip
        numbers[name] = table[name].map(_number).astype(float)
    levels = np.unique(numbers.to_numpy(dtype=float))
    if np.isinf(levels).any():
        raise DataError(f"{call(path)}: the table has infinite values; give --missing-code inf (or -inf) if they are "
                        "missing, else correct them")  # fmt: skip
    levels = levels[~np.isnan(levels)]
    known = listed(list(map(digits, levels)), 7, total=True)
    if rule is None:
        many = ~(numbers.isna() | numbers.isin([-1, 0, 1])).all()
        if many.any():
            first, observed = str(many.idxmax()), [numbers[name].dropna().to_numpy() for name in numbers]
            cut = remedy_for_measurements(observed, list(map(str, numbers)))
            example = dividing_rule(observed)
            remedies = [f"keep them with {keep}"] if keep and not cut else []
            remedies += [f'state which of them mean yes, for example --binarize "{example}"'] if example else []
            if 2 * many.sum() <= len(many) or not remedies:
                remedies.append(f"drop it with --drop {in_shell(first)}")
            remedy = cut if cut and 2 * many.sum() > len(many) else ", or ".join(remedies)
            raise DataError(f"{call(path)}: the table has the levels {known} (column {quoted(first)} is the first "
                            f"with others than 0/1, -1/+1 or true/false); {remedy}")  # fmt: skip
        return numbers
    parsed = re.fullmatch(rf"\s*(>=|<=|==|>|<)\s*({_NUMBER})\s*", rule)
    if parsed is None:
        raise OptionError(f'--binarize must be a comparison with a number, got {rule!r}; give a rule such as '
                          '">=4", ">2", "<=1" or "==5"')  # fmt: skip
    compare, than = _COMPARISONS[parsed[1]], float(parsed[2])
    if len(set(compare(levels, than))) < 2:
        raise OptionError(f"--binarize must divide the levels ({known}), got {rule!r}, which puts all of them "
                          "on one side; give a rule that divides them")  # fmt: skip
    yes = compare(numbers.astype(float), than)
    return yes.astype(float).where(numbers.notna()) if numbers.isna().any(axis=None) else yes.astype(np.int8)


def _is_yes_no(table: pd.DataFrame) -> bool:
    """Return whether all values are -1, 0, 1, booleans, or missing; checked for all columns at once."""
    import numpy as np

    values = table.to_numpy()
    return values.dtype.kind in "biuf" and bool((np.isin(values, (-1, 0, 1)) | (values != values)).all())


def _is_value(value: Any) -> bool:
    """Return whether a value is a number or a boolean, or the text of one."""
    if not isinstance(value, str):
        return is_number(value)
    return re.fullmatch(rf"(?i)\s*({_NUMBER}|true|false)\s*", value) is not None


def _number(value: Any) -> float:
    """Return the number of a value that is missing, a boolean, or the text of a number or boolean."""
    if isinstance(value, str):
        value = {"true": 1, "false": 0}.get(value.strip().lower(), value)
    return float(value)
