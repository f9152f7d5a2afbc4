"""Categories of evidence: the words for Bayes factors, their cut-offs, how many edges are in each, and sentences.

The five words are those of easybgm and JASP. Forced and forbidden edges have no Bayes factor, and edges that are not
identified say nothing: they are counted apart, and all counts add up to the number of pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .bayes_factors import BOUND, LIMITS

if TYPE_CHECKING:
    import xarray as xr

WORDS = ("included", "weakly included", "inconclusive", "weakly excluded", "excluded")
DIFFERENCES = ("different", "weakly different", "inconclusive", "weakly equal", "equal")
FORCED, FORBIDDEN = "forced", "forbidden"
NOT_IDENTIFIED = "not identified"  # the rows say nothing of the edge


def words_in(tree: xr.DataTree) -> tuple[str, ...]:
    """Return the words for edges, or for differences between groups of people."""
    return DIFFERENCES if "group" in tree["posterior"].dims else WORDS


def check_limits(limits: Any) -> tuple[float, float]:
    """Return the two cut-offs of the words.

    Raises
    ------
    OptionError
    """
    expected = "two numbers of which 1 <= first < second <= 10,000"
    try:
        weak, strong = map(float, limits)
    except (TypeError, ValueError):
        raise OptionError(option="limits", got=limits, expected=expected) from None
    if not 1 <= weak < strong <= 10**BOUND:
        raise OptionError(option="limits", got=limits, expected=expected)
    return weak, strong


def categories(log10: np.ndarray, limits: tuple[float, float] = LIMITS) -> np.ndarray:
    """Return the category of each log10 Bayes factor, 0 (included) to 4 (excluded), and 5 where it is NaN."""
    weak, strong = np.log10(limits)
    return np.where(np.isnan(log10), 5, np.searchsorted([-strong, -weak, weak, strong], -log10))


def cut_offs(names: tuple[str, ...], limits: tuple[float, float] = LIMITS) -> str:
    """Return the cut-offs of the categories as a sentence."""
    weak, strong = (f"{limit:g}" for limit in limits)
    middle = f"{weak} to {strong}", f"1/{weak} to {weak}", f"1/{strong} to 1/{weak}"
    places = f"above {strong}", *middle, f"below 1/{strong}"
    text = "; ".join(f"{place}: {name}" for place, name in zip(places, names, strict=True))
    return f"{text}."


def headline(words: np.ndarray, noun: str, names: tuple[str, ...] = WORDS, n_others: int = 0) -> str:
    """Return how many edges are in each category.

    Parameters
    ----------
    words : (n_edges,) array of str
    noun : str
        What is counted, in the plural.
    names : tuple of str
        `WORDS` or `DIFFERENCES`.
    n_others : int
        Pairs of nodes that are no candidates.
    """
    first, *others = (f"{int((words == name).sum()):,} {name}" for name in names)
    apart = {name: int((words == name).sum()) for name in (FORCED, FORBIDDEN, NOT_IDENTIFIED)}
    others += [f"{n:,} {name}" for name, n in (apart | {"no candidates": n_others}).items() if n]
    n, name = first.split(" ", 1)
    verb = "is" if n == "1" else "are"
    return f"{n} of {len(words) + n_others:,} {noun} {verb} {name}, {', '.join(others)}"


def stability_sentence(columns: dict[str, np.ndarray], noun: str = "pairs") -> str:
    """Return how many categories may change with a longer run, and why; empty if there are none.

    ``columns`` are those of `bayesmrf.results.edge_evidence.evidence_columns`.
    """
    near = int(columns["near_limit"].sum())
    unknown = int((columns["near_limit"] & np.isnan(columns["log10_bf_error"])).sum())
    if not near:
        return ""
    close = near - unknown
    factors = "Bayes factors are" if close > 1 else "Bayes factor is"
    reasons = [
        f"{close:,} {factors} within two Monte Carlo standard errors of a cut-off",
        f"for {unknown:,} the error could not be estimated",
    ]
    text = " and ".join(reason for reason, n in zip(reasons, (close, unknown), strict=True) if n)
    if near == 1:
        noun = noun.removesuffix("s")
    return f"The evidence category of {near:,} {noun} is not yet stable: {text}."
