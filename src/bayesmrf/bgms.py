"""Results of the R package bgms, and of easybgm, next to a result of this package."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .answers.registry import names_of, table_of
from .data.files import call
from .data.text_tables import entries_of
from .declare.paths import path_of
from .errors import DataError, OptionError
from .findings import BAD, FAIR
from .names import listed, quoted, shown
from .results.categories import WORDS, categories
from .results.summary import count, summarise

if TYPE_CHECKING:
    import pandas as pd

# Names of the matrices of inclusions and of weights, of bgms 0.2, 0.1.6, before, and of coef; and of easybgm.
_INCLUSION = "posterior_mean_indicator", "indicator", "inc_probs"
_WEIGHT = "posterior_mean_pairwise", "posterior_mean_associations", "pairwise", "interactions", "parameters"
_WEIGHT_BEFORE = "posterior_mean_associations", "interactions"  # of these, before 0.2
_HALVED = (0, 2)  # the version from which weights are w of 2 w x_i x_j
_SAVE = 'saveRDS(coef(fit), "fit.rds")'
_EXPECTED = f"the path of a file that R wrote, such as by {_SAVE}, or a matrix of inclusions as CSV"
MOST = 20  # pairs that are printed
_DIFFERENT = 0.1  # difference of inclusions that is listed


def read_bgms(fit: str | PathLike[str] | pd.DataFrame, version: str | None = None) -> pd.DataFrame:
    """Read inclusion probabilities and weights of a fit of bgms or easybgm.

    Parameters
    ----------
    fit : path or DataFrame
        A file that R wrote: ``saveRDS(coef(fit), "fit.rds")``, or ``write.csv(fit$posterior_mean_indicator,
        "inclusion.csv")``; or a matrix of inclusions with the names of the nodes.
    version : str, optional
        Of bgms, if neither the file nor the names in it say it; "0.2.0" by default. Weights of versions before 0.2
        are twice as large.

    Returns
    -------
    DataFrame
        A row for each pair: first, second, inclusion, and weight, in the units of this package; NaN if the file has no
        weights.

    Raises
    ------
    DataError
        If the file has no matrix of inclusions, or this has no names.
    """
    import pandas as pd

    if isinstance(fit, pd.DataFrame):
        parts: Mapping[str, Any] = {"indicator": fit}
    else:
        path = path_of("fit", fit)
        parts = {"indicator": _matrix_of_csv(path)} if path.suffix.lower() == ".csv" else _parts_of_r(path)
    inclusion, weight = (_square(parts, names) for names in (_INCLUSION, _WEIGHT))
    if inclusion is None:
        has = listed([quoted(str(name)) for name in parts]) or "nothing"
        raise DataError(f"fit must be {_EXPECTED}; this one has {has}")
    names = [str(name) for name in inclusion.index]
    if names != [str(name) for name in inclusion.columns] or len({*names}) != len(names):
        raise DataError("fit must have a matrix whose rows and columns have the same names, each once; in R, set "
                        "colnames of the data before the fit")  # fmt: skip
    shares = _pairs(inclusion, names)
    if not (shares.min() >= 0 and shares.max() <= 1):
        raise DataError("fit must have inclusion probabilities, numbers from 0 to 1")
    factor = 1.0 if _version(parts, version) < _HALVED else 2.0
    weights = np.full(len(shares), np.nan) if weight is None else factor * _pairs(weight, names)
    u, v = np.triu_indices(len(names), 1)
    ends = {"first": [names[i] for i in u], "second": [names[i] for i in v]}
    return pd.DataFrame({**ends, "inclusion": shares, "weight": weights})


def next_to_bgms(
    result: Any, fit: str | PathLike[str] | pd.DataFrame, version: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Put a fit of bgms next to a result, pair by pair, and say what differs and why.

    Parameters
    ----------
    result : SpikeSlabMRF, xarray.DataTree or path
        Of the same data, with the same priors.
    fit, version
        See `read_bgms`.

    Returns
    -------
    table : DataFrame
        A row for each pair, the largest difference of inclusions first: inclusion, weight and category of evidence of
        both. Weights of bgms are posterior means that count absent edges as 0, as are those next to them.
    sentences : list of str
        What differs, and why; and what may be wrong with the result of this package.

    Raises
    ------
    DataError
        If the two have other nodes.
    """
    import pandas as pd

    other = read_bgms(fit, version)
    columns = ["first", "second", "inclusion", "weight", "bayes_factor", "evidence"]
    ours = table_of(result, "edges").frame if "edges" in names_of(result) else pd.DataFrame()
    if not {*columns} <= {*ours.columns}:
        expected = "a result of SpikeSlabMRF, or of bayesmrf structure"
        raise OptionError(option="result", got="one without evidence for edges", expected=expected)
    ours = ours[columns]
    s = summarise(result)
    names, theirs = {*map(str, s.names)}, {*other["first"], *other["second"]}
    if names != theirs:
        only = [f"{shown(name)} ({of})" for of, nodes in (("result", names - theirs), ("fit", theirs - names))
                for name in sorted(nodes)]  # fmt: skip
        raise DataError(f"fit must have the nodes of the result, and these are in one of them only: {listed(only)}")
    pairs = [ours, other.set_axis(["first", "second", "inclusion_bgms", "weight_bgms"], axis=1)]
    for frame in pairs:
        frame.index = [frozenset(ends) for ends in zip(frame["first"], frame["second"], strict=True)]
    table = pairs[0].join(pairs[1].drop(columns=["first", "second"]))
    table["weight"] = (table["weight"] * table["inclusion"]).fillna(0.0)
    odds = table["inclusion_bgms"].clip(1e-6, 1 - 1e-6)
    of_bgms = categories(np.log10((odds / (1 - odds)).to_numpy(dtype=float)))
    table["evidence_bgms"] = [WORDS[i] for i in of_bgms]
    table["difference"] = table["inclusion"] - table["inclusion_bgms"]
    order = table["difference"].abs().sort_values(ascending=False, kind="stable").index
    doubtful = [text for severity, text in s.verdict.sentences if severity in (FAIR, BAD)]
    return table.loc[order].reset_index(drop=True), [*sentences(table), *doubtful]


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what differs between the two results in a table of `next_to_bgms`, and why."""
    size = table["difference"].abs()
    n, far = len(table), int((size > _DIFFERENT).sum())
    changed = int((table["evidence"] != table["evidence_bgms"]).sum())
    texts = [
        f"{count(far, 'pair')} of {n:,} have inclusion probabilities that differ by more than {_DIFFERENT:g}; the mean "
        f"difference is {size.mean():.3f}, the largest {size.max():.3f}. {count(changed, 'pair')} "
        f"{'has' if changed == 1 else 'have'} another category of evidence."
    ]
    surer = (table["inclusion_bgms"] - 0.5).abs() > (table["inclusion"] - 0.5).abs()
    if n_surer := int(surer[size > _DIFFERENT].sum()):
        texts.append(
            f"bgms is surer in {n_surer:,} of these: its pseudo-likelihood counts each "
            "answer once for every column, so that its posterior is too narrow, and edges about which the data are "
            "inconclusive appear nearly certain."
        )
    texts.append(
        "The two can be compared if data and priors are the same: bgms has a Cauchy slab of scale 1 on half the weight "
        "(here Cauchy(2)), and logistic-beta priors of thresholds. The categories of bgms are those of the "
        "odds of inclusion, which are Bayes factors where the prior probability is 1/2."
    )
    return texts


def _parts_of_r(path: Path) -> Mapping[str, Any]:
    """Return the elements of a list, or the properties of an object, that R wrote."""
    try:
        import rdata
    except ImportError:
        raise DataError(f"{call(path)}: is an R file, for which rdata is needed; install bayesmrf[files]") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes that are read as lists
            value = rdata.read_rds(path)
    except (OSError, ValueError, NotImplementedError, KeyError, TypeError, AttributeError, EOFError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else shown(str(e) or type(e).__name__, 100)
        raise DataError(f"{call(path)}: cannot be read as a file of R ({reason}); in R, {_SAVE}") from None
    parts = vars(value) if isinstance(value, SimpleNamespace) else value if isinstance(value, Mapping) else {}
    return {str(name): part for name, part in parts.items()}


def _matrix_of_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    lines = entries_of(path)
    try:
        names = [line[0] for line in lines[1:]]
        return pd.DataFrame([[float(x) for x in line[1:]] for line in lines[1:]], names, lines[0][1:])
    except (ValueError, IndexError):
        raise DataError(f"{call(path)}: must be a square matrix of numbers with names of nodes in the first row and "
                        "column, such as write.csv(fit$posterior_mean_indicator) writes") from None  # fmt: skip


def _square(parts: Mapping[str, Any], names: tuple[str, ...]) -> pd.DataFrame | None:
    """Return the first of some parts that is a square matrix, with the names that the other matrices have."""
    import pandas as pd

    value = next((parts[name] for name in names if name in parts), None)
    if value is None or isinstance(value, pd.DataFrame):
        return value
    shape = np.shape(value)
    if len(shape) != 2 or shape[0] != shape[1]:
        return None
    rows, columns = _dimnames(value) or [_names(parts, shape[0])] * 2
    return pd.DataFrame(np.asarray(value, dtype=float), index=rows, columns=columns)


def _dimnames(value: Any) -> list[list[str]]:
    """Return the names of rows and columns, which rdata keeps as coordinates of xarray; none if one has no names."""
    if isinstance(value, np.ndarray):
        return []
    coords = [[str(name) for name in c.values] for c in value.coords.values()]
    return coords if len(coords) == 2 else []


def _pairs(matrix: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the entries of a symmetric matrix for pairs of nodes, in the order of ``names``."""
    labelled = matrix.set_axis([str(name) for name in matrix.index]).set_axis(
        [str(name) for name in matrix.columns], axis=1
    )
    u, v = np.triu_indices(len(names), 1)
    try:
        values = labelled.reindex(index=names, columns=names).to_numpy(dtype=float)
    except (TypeError, ValueError):
        values = np.full((len(names), len(names)), np.nan)
    if not (len(u) and np.allclose(values[u, v], values[v, u], atol=1e-6)):
        raise DataError("fit must have a symmetric matrix of numbers, with the same nodes in each matrix; in R, take "
                        "the whole matrix and not one triangle of it")  # fmt: skip
    pairs: np.ndarray = values[u, v]
    return pairs


def _names(parts: Mapping[str, Any], n: int) -> list[str]:
    """Return the names of columns that a fit keeps next to its matrices."""
    kept = parts.get("arguments")
    kept = kept.get("data_columnnames") if isinstance(kept, Mapping) else parts.get("colnames")
    names = [] if kept is None else [str(name) for name in np.ravel(kept)]
    if len(names) != n:
        raise DataError("fit must have a matrix with names of the nodes; in R, set colnames of the data before the fit")
    return names


def _version(parts: Mapping[str, Any], version: str | None) -> tuple[int, ...]:
    """Return the version that is stated, that of the file, or else 0.2."""
    kept = parts.get("arguments")
    stored = kept.get("version", []) if isinstance(kept, Mapping) else []
    usual = "0.1" if any(name in parts for name in _WEIGHT_BEFORE) else "0.2"
    text = version if version is not None else ".".join(map(str, np.ravel(stored))) or usual
    try:
        return tuple(int(part) for part in text.split(".")[:2])
    except (ValueError, AttributeError):
        raise OptionError(option="version", got=version, expected='a version of bgms, such as "0.2.0"') from None
