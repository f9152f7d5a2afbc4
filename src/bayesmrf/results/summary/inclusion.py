"""Summary of edges that may be absent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...priors import slab_of_record
from ..bayes_factors import LIMITS
from ..blocks import in_turn, variable
from ..categories import headline, stability_sentence, words_in
from ..communities import blocks_of
from ..edge_evidence import evidence_columns
from ..intervals import intervals_given
from ..marks import edge_errors, few_draws
from ..median_model import INCLUSION, in_median_model
from .common import INTERVAL, Summary, logit_of_beta

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SOURCE = (
    "Y. Chen and M. Welling, Bayesian Structure Learning for Markov Random Fields with a Spike and Slab Prior, "
    "Uncertainty in Artificial Intelligence (2012)"
)


@dataclass(frozen=True, eq=False)
class InclusionSummary(Summary):
    """Inclusion of edges; 1 if no edge may be absent."""

    counted: ClassVar[str] = "pairs"  # what the headline counts
    number: ClassVar[str] = "number of edges"
    traced: ClassVar[str] = "number of edges"  # the same, with less room
    verb: ClassVar[str] = "exist"  # what edges do
    of_what: ClassVar[str] = "the edge"  # whose probability the inclusion is
    weighed: ClassVar[str] = "weight"  # what has a sign
    signed_by: ClassVar[tuple[str, float]] = ("weight", 0.0)  # its column, and the value below which it is negative

    @property
    def spike(self) -> bool:
        """Whether edges may be absent."""
        return "included" in self["posterior"]

    @cached_property
    def inclusion(self) -> np.ndarray:
        """Probability of each candidate edge: (n_edges,)."""
        return self.columns("included").means() if self.spike else np.ones(self.n_edges)

    @property
    def in_median_model(self) -> np.ndarray:
        """Which edges are in the median probability model, (n_edges,)."""
        return in_median_model(self.inclusion)

    @property
    def clear_edges(self) -> np.ndarray:
        """Those of the median probability model, where evidence is not known."""
        return self.in_median_model

    @property
    def forest(self) -> np.ndarray:
        """Mean and ends of the interval of the weight of each edge, given that it exists: (3, 1, n_edges)."""
        return self.edge_table[["weight", "lower", "upper"]].to_numpy().T[:, None]

    @property
    def edge_texts(self) -> list[str]:
        """The two ends of each edge, as in statements."""
        return [f"{a}--{b}" for a, b in zip(*self.named_ends.values(), strict=True)]

    @cached_property
    def edge_table(self) -> pd.DataFrame:
        """Candidates in order: ends, kind if there are several, inclusion, and mean and interval of the weight.

        They are given that the edge exists; the weight of an edge that never existed is NaN.
        """
        import pandas as pd

        mean, low, high = intervals_given(self.edge_columns(), self.columns("included"), self.tails)
        kind = {} if (kinds := self.display.edge_kinds) is None else {"kind": kinds}
        table = kind | {"inclusion": self.inclusion, "weight": mean, "lower": low, "upper": high}
        first = {name: self.evidence[name] for name in ("bayes_factor", "evidence") if name in self.evidence}
        return pd.DataFrame(self.named_ends | table | first | self.marks | self.evidence)  # diagnostics are last

    @cached_property
    def node_table(self) -> pd.DataFrame:
        """Parameters of nodes: name, mean, ends of the interval."""
        return self.interval_table(*self.node_draws)

    @property
    def likely(self) -> pd.DataFrame:
        """The edges of the median probability model, in the order of the candidates."""
        return self.edge_table[self.in_median_model]

    def trace(self) -> tuple[str, xr.DataArray]:
        """Return what the number of edges is called, and its draws."""
        first = self["posterior"]["included"].isel(edge=0, drop=True)
        return self.traced, first.copy(data=self.numbers.reshape(first.shape))

    @property
    def drawn(self) -> np.ndarray:
        """Ends (n, 2) of the edges of the median probability model."""
        return self.ends[self.in_median_model]

    @cached_property
    def marks(self) -> dict[str, np.ndarray]:
        """The error of each inclusion, and whether a weight has too few draws; empty if no edge may be absent."""
        if not self.spike:
            return {}
        few = few_draws(self.of_edges, self.inclusion, self["posterior"].sizes["chain"])
        return {"inclusion_error": edge_errors(self.tree), "few_draws": few}

    @cached_property
    def numbers(self) -> np.ndarray:
        """Number of edges that exist (or differ) in each draw of all chains."""
        return np.concatenate([part.sum(axis=1) for part in in_turn(variable(self.tree, "included"))])

    @property
    def judged(self) -> str:
        """Quantities of the prior that vary, the number of edges, and the worst parameters."""
        known = {"density": "the density", "slab_scale": "the slab scale", "n_edges": f"the {self.number}"}
        varying = [words for name, words in known.items() if name in self.diagnostics.index]
        others = f"{', '.join(varying)}{',' * (len(varying) > 1)} and " if varying else ""
        return f"{others}the parameters with the worst convergence"

    @property
    def trace_title(self) -> str:
        """The number of edges."""
        return self.number.capitalize()

    @property
    def source(self) -> str:
        """The paper that has the method."""
        return SOURCE

    @cached_property
    def evidence(self) -> dict[str, np.ndarray]:
        """Bayes factor, its error and word of each edge, see `bayesmrf.results.edge_evidence`; empty if unknown."""
        return {} if self.found_evidence is None else evidence_columns(self.found_evidence, LIMITS, words_in(self.tree))

    @property
    def headline(self) -> str:
        """The number of edges in each category of evidence."""
        if not self.evidence:
            return ""
        return headline(self.evidence["evidence"], self.counted, words_in(self.tree), self.n_no_candidates)

    @property
    def n_no_candidates(self) -> int:
        """Number of pairs that are counted, but are no candidates."""
        return 0

    @property
    def stability_sentence(self) -> str:
        """How many categories may change with a longer run; nothing if there are none."""
        return stability_sentence(self.evidence, self.counted) if self.evidence else ""

    @property
    def n_edges_sentence(self) -> str:
        """Mean and 90 % interval of the number of edges, and how many are likely."""
        draws = self.numbers
        low, high = np.quantile(draws, INTERVAL, method="inverted_cdf")
        return (
            f"{draws.mean():.1f} on average, 90 % interval {low:,g} to {high:,g}, of {self.n_edges:,} candidates; "
            f"inclusion is above {INCLUSION:g} for {len(self.drawn):,}"
        )

    @property
    def density_sentence(self) -> str:
        """Mean and 90 % interval of p0, the probability that a candidate exists."""
        constant = self["constant_data"].to_dataset()
        if "edge_probability" in constant:
            return f"Prior of each {self.thing}: {of_each(constant['edge_probability'].values)}"
        fixed, name = constant.get("density"), "Density" if blocks_of(self.tree) is None else "Mean density of blocks"
        return (
            f"{name} {mean_and_interval(self.stacked('density')) if fixed is None else f'{fixed.item():.3f} (fixed)'}"
        )

    @property
    def prior_options(self) -> dict[str, str]:
        """The priors of the density, of the slab and of the biases."""
        prior = json.loads(self.attrs.get("prior", "{}"))
        if not prior:
            return {}
        density, slab = prior["density"], prior["slab"]
        if density is None:
            options = {f"prior of each {self.thing}": of_each(self["constant_data"]["edge_probability"].values)}
        elif (blocks := blocks_of(self.tree)) is not None:
            options = {"prior of edges": f"{blocks}"}
        else:
            words = prior_of_density(tuple(density.values()) if isinstance(density, dict) else density)
            options = {"prior of the density": words}
        option, words = slab.get("words") or slab_of_record(slab).words
        options[option] = words
        biases = prior.get("biases")
        if biases:
            return options | {"prior of the biases": logit_of_beta(biases["a"], biases["b"])}
        return options | {"scale of the biases": f"{prior['bias_scale']:g}"}


def of_each(p: np.ndarray) -> str:
    """Return the range of the prior probabilities of edges in words."""
    forced = f", {int((p == 1).sum()):,} forced" if (p == 1).any() else ""
    return f"probabilities from {p.min():.3g} to {p.max():.3g}, {p.mean():.3g} on average{forced}"


def prior_of_density(given: Any) -> str:
    """Return the prior of the density, Beta(a, b) or a fixed value, in words."""
    return f"Beta({given[0]:g}, {given[1]:g})" if np.size(given) == 2 else f"{float(np.squeeze(given)):g}, fixed"


def mean_and_interval(draws: np.ndarray) -> str:
    """Return mean and central 90 % interval in words; constant draws are called fixed."""
    if len(draws) == 1:
        return f"{draws[0]:.3f} (a single draw)"
    if np.ptp(draws) == 0:
        return f"{draws[0]:.3f} (fixed)"
    low, high = np.quantile(draws, INTERVAL)
    return f"{draws.mean():.3f} (90 % interval {low:.3f} to {high:.3f})"
