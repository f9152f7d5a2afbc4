"""Summary of a posterior over parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import metrics
from ...declare.option import options_of
from ...errors import OptionError
from ...graphs import edge_names
from ...inference.registry import ROWS
from ...methods import KERNELS
from ...names import shown
from ...parameters import BayesianParameters
from ..categories import NOT_IDENTIFIED
from ..edge_evidence import not_identified
from ..intervals import excluding_zero, intervals
from .common import Summary, logit_of_beta, plain

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_STEPS = ("step_size", "epsilon")

# Why draws are approximate, by a part of the attribute ``kind``; else the caveat of the engine.
_REASONS = {
    "missing values by": "the probabilities of missing values are approximate",
    "corrected at the mode": "the pseudo-posterior, shifted and scaled to the mode and the curvature of the posterior; "
    "accurate if both are normal",
    "uncorrected": "there is no accept step, so they are correct in the limit of small steps and exact moments",
}

_LANGEVIN = (
    "I. Murray and Z. Ghahramani, Bayesian Learning in Undirected Graphical Models: Approximate MCMC algorithms, "
    "Uncertainty in Artificial Intelligence (2004)"
)
_SOURCES = {
    "metropolis": _LANGEVIN,
    "gibbs": "S. Geman and D. Geman, Stochastic Relaxation, Gibbs Distributions, and the Bayesian Restoration of "
    "Images, IEEE Transactions on Pattern Analysis and Machine Intelligence 6 (1984)",
    "hamiltonian": "M. Hoffman and A. Gelman, The No-U-Turn Sampler: Adaptively Setting Path Lengths in Hamiltonian "
    "Monte Carlo, Journal of Machine Learning Research 15 (2014)",
    "langevin": _LANGEVIN,
    "exchange": "I. Murray, Z. Ghahramani and D. MacKay, MCMC for Doubly-intractable Distributions, Uncertainty in "
    "Artificial Intelligence (2006)",
    "auxiliary-variable": "J. Møller, A. Pettitt, R. Reeves and K. Berthelsen, An Efficient Markov Chain Monte Carlo "
    "Method for Distributions with Intractable Normalising Constants, Biometrika 93 (2006)",
    "pseudo-posterior": "L. Bouranis, N. Friel and F. Maire, Efficient Bayesian Inference for Exponential Random Graph "
    "Models by Correcting the Pseudo-posterior Distribution, Social Networks 50 (2017)",
}


@dataclass(frozen=True, eq=False)
class ParameterSummary(Summary):
    """Tables and sentences about the posterior of the parameters."""

    estimator, over, title = "BayesianMRF", "parameters", "Posterior of the parameters"
    picture, styled_by = "plot_parameters", "sign"
    parameters = BayesianParameters
    judged = "the parameters with the worst convergence"

    @property
    def drawn_as(self) -> str:
        """The variable that was sampled: ``phi`` if edges or nodes share parameters, else ``theta``."""
        return "phi" if "phi" in self["posterior"] else "theta"

    def draws_of(self, feature: str) -> Any:
        """Return the draws of one parameter."""
        return self._drawn[0][:, self._drawn[1].index(feature)]

    @cached_property
    def _drawn(self) -> tuple[np.ndarray, list[str]]:
        """What is shown of each draw, (n_draws, n), with its names: `ParameterDisplay.shown`, or what is shared."""
        draws = self.stacked(self.drawn_as)
        if self.drawn_as == "phi":
            return draws, [str(name) for name in self["posterior"]["parameter"].values]
        return self.display.shown(draws), self.display.shown_names

    @property
    def n_weights(self) -> int:
        """Number of parameters of single edges: one per edge, or none if edges share parameters."""
        return self.n_edges if self.drawn_as == "theta" and self._has_weights else 0

    @property
    def has_network(self) -> bool:
        """Whether edges have parameters that a network can show."""
        return self.n_weights > 0

    def trace(self) -> tuple[str, xr.DataArray]:
        """Return the parameter with the worst convergence, and its draws."""
        return self.worst_feature, self.trace_of(self.worst_feature)

    @property
    def _has_weights(self) -> bool:
        """Whether each edge has a weight, which edges may share, or a strength."""
        names = edge_names([str(n) for n in self["constant_data"]["node"].values], self.ends)
        return self.display.shown_names[: self.n_edges] == names

    @cached_property
    def table(self) -> pd.DataFrame:
        """Parameters: label, whether of an edge, mean, sd, ends of the interval, whether it excludes zero, in words.

        The intervals of edges that are not identified are those of the prior, and say nothing of zero.
        """
        import pandas as pd

        draws, features = self._drawn
        low, high = intervals(draws, self.tails)
        is_edge = np.arange(len(features)) < self.n_weights
        labels = [f"{a} – {b}" for a, b in self.edge_labels[: self.n_weights]]
        labels += [shown(f) for f in features[self.n_weights :]]
        silent = np.zeros(len(features), dtype=bool)
        silent[: self.n_weights] = not_identified(self.tree)[: self.n_weights]
        clear = self._is_clear(low, high) & ~silent
        return pd.DataFrame(
            {
                "label": labels,
                "is_edge": is_edge,
                "mean": draws.mean(axis=0),
                "sd": draws.std(axis=0),
                "lower": low,
                "upper": high,
                "clear": clear,
                "excludes_zero": np.where(silent, NOT_IDENTIFIED, np.where(clear, "yes", "no")).astype(object),
            },
            index=pd.Index(features, name="feature"),
        )

    @property
    def clear_edges(self) -> np.ndarray:
        """Which intervals of edges exclude zero, (n_edges,)."""
        return self.table["clear"].to_numpy()[: self.n_weights]

    @property
    def forest(self) -> np.ndarray:
        """Mean and ends of the interval of the weight of each edge: (3, 1, n_edges)."""
        return self.table[["mean", "lower", "upper"]].to_numpy()[: self.n_weights].T[:, None]

    def _is_clear(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Whether intervals exclude zero; of a table, whether the ellipsoid around its mean does."""
        clear = (low > 0) | (high < 0)
        if self.n_weights:
            starts, draws = self.display.edge_starts, self.stacked("theta")
            for e in np.flatnonzero(~self.display.signed):
                clear[e] = self.probability < excluding_zero(draws[:, starts[e] : starts[e + 1]])
        return clear

    @cached_property
    def strongest(self) -> pd.DataFrame:
        """The same table, edges first, by decreasing absolute mean."""
        order = np.lexsort((-self.table["mean"].abs(), ~self.table["is_edge"]))
        return self.table.iloc[order]

    @cached_property
    def strength_table(self) -> pd.DataFrame:
        """Strength centrality (the sum of the absolute parameters of its edges) of each node, with its interval."""
        import pandas as pd

        if not self._has_weights:
            got, expected = self.attrs.get("model", "unknown"), "one with a parameter for each edge"
            raise OptionError(option="model", got=got, expected=expected, remedy="take `table` or plot_parameters")
        draws = metrics.strength(self.display.strength(self.stacked("theta")), self.ends, len(self.names))
        low, high = intervals(draws, self.tails)
        table = pd.DataFrame({"node": self.nodes, "strength": draws.mean(axis=0), "lower": low, "upper": high})
        return table.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    @property
    def worst_feature(self) -> str:
        """The parameter with the largest R-hat; the first if none has an R-hat."""
        start = f"{self.drawn_as}["
        r_hat = self.diagnostics["r_hat"].filter(like=start).dropna()
        return str(r_hat.idxmax())[len(start) : -1] if len(r_hat) else str(self.table.index[0])

    @property
    def trace_title(self) -> str:
        """The parameter with the worst convergence."""
        return f"Parameter {self.worst_feature}, which has the largest R-hat,"

    @property
    def source(self) -> str:
        """The paper that has the method."""
        return _SOURCES.get(str(self.attrs.get("method")), _LANGEVIN)

    @property
    def headline(self) -> str:
        """How many edges (or parameters, if edges share them) have an interval that excludes zero."""
        part, noun = (self.table[self.table["is_edge"]], "edges") if self.n_weights else (self.table, "parameters")
        return f"{part['clear'].sum()} of {len(part)} {noun} have a 90 % interval that excludes zero"

    @property
    def reason(self) -> str:
        """Why draws are approximate."""
        caveat = next((row.caveat for row in ROWS if f"({row.name}" in self.kind), "")
        return next((why for part, why in _REASONS.items() if part in self.kind), caveat)

    @property
    def method_sentence(self) -> str:
        """Kernel and engine."""
        return f"{super().method_sentence}, with {self.attrs.get('engine', 'unknown')} for the normaliser"

    @property
    def prior_sentence(self) -> str:
        """Family and scale of the prior."""
        scale = np.array([float(s) for s in plain(self.attrs.get("prior_scale", "[]"))])
        family = str(self.attrs.get("prior", "unknown"))
        if "prior_beta" in self.attrs:
            return logit_of_beta(*plain(self.attrs["prior_beta"]))
        if not np.isfinite(scale).all() or not len(scale):
            return family
        n_edges = int(self.attrs.get("n_edge_parameters", self.n_edges))
        edges, nodes = set(scale[:n_edges]), set(scale[n_edges:])
        if len(set(scale)) == 1:
            return f"{family.lower()}, scale {scale[0]:g}"
        if len(edges) == len(nodes) == 1:
            return f"{family.lower()}, scale {scale[0]:g} ({self.terms.edge}) and {scale[-1]:g} ({self.terms.node})"
        return f"{family.lower()}, scales from {scale.min():g} to {scale.max():g}"

    @property
    def prior_options(self) -> dict[str, str]:
        """The prior."""
        return {"prior": self.prior_sentence}

    @property
    def options(self) -> dict[str, str]:
        """The prior, and the options of the kernel and the engine."""
        a = self.attrs
        row = KERNELS.find(str(a.get("method")))
        types = {f.name: str(f.type) for f in fields(row.options)} if row else {}
        labels = {name: o.label for name, o in options_of(row.options).items() if o.label and name in a} if row else {}
        values = {label: self._step(k) if k in _STEPS else plain(a[k])[0] for k, label in labels.items()}
        # Booleans are stored as numbers.
        values |= {label: bool(values[label]) for k, label in labels.items() if types[k].startswith("bool")}
        engine_options = json.loads(str(a.get("engine_options", "{}")))
        engine = next((row for row in ROWS if engine_options and row.name == a.get("engine")), None)
        declared = options_of(engine.engine_class) if engine else {}
        values |= {(k in declared and declared[k].label) or k.replace("_", " "): v for k, v in engine_options.items()}
        shown = {label: "yes" if v is True else v for label, v in values.items() if v not in (None, False)}
        return self.prior_options | self.parameter_options | {label: f"{v}" for label, v in shown.items()}

    def _step(self, option: str) -> Any:
        """Describe the step size as given and, if it differs (such as after adaptation), as used."""
        requested, stats = plain(self.attrs[option])[0], self["sample_stats"]
        if "step_size" not in stats:  # results of older versions
            return requested
        used = float(stats["step_size"].mean())
        if requested is None:
            return f"automatic ({used:.3g})"
        return requested if np.isclose(used, float(requested)) else f"{used:.3g} (in place of {requested:g})"
