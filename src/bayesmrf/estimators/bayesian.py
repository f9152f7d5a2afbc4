"""Posterior of the parameters of a Markov random field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import results, run
from ..base import Engine, Kernel
from ..errors import OptionError
from ..inference.auto import choose
from ..inference.bethe import Bethe
from ..inference.chains import Brief, Persistent
from ..inference.elimination import Elimination
from ..inference.enumeration import Enumeration
from ..inference.mean_field import MeanField
from ..inference.pseudo_likelihood import PseudoLikelihood
from ..inference.tree import Tree
from ..likelihood import Likelihood
from ..models.agreement import Agreement
from ..models.boltzmann import Boltzmann
from ..models.ising import Ising
from ..posterior.auxiliary_variable import AuxiliaryVariable
from ..posterior.exchange import Exchange
from ..posterior.langevin import Langevin
from ..posterior.metropolis import Metropolis
from ..posterior.pseudo_posterior import correction, posterior_mode
from ..priors import Normal, Prior
from ..samplers.cftp import CouplingFromThePast
from ..samplers.gibbs import Gibbs
from ..samplers.swendsen_wang import SwendsenWang
from ..states import States
from .base import PairwiseMRF, data_hash

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MODELS: dict[str, Callable[..., Any]] = {
    "boltzmann": Boltzmann,
    "ising": Ising,
    "agreement": lambda graph: Agreement(graph, fields=True),
}
KERNELS = ("metropolis", "langevin", "exchange", "auxiliary-variable", "pseudo-posterior")
ENGINES = [
    "exact",
    "enumeration",
    "elimination",
    "mean-field",
    "tree",
    "bethe",
    "brief",
    "persistent",
    "gibbs",
    "swendsen-wang",
    "cftp",
    "pseudo-likelihood",
]
_RECORDED = [
    "model",
    "kernel",
    "engine",
    "step_size",
    "epsilon",
    "alpha",
    "precondition",
    "adjusted",
    "corrected",
    "n_sweeps",
    "n_particles",
]


class BayesianMRF(PairwiseMRF):
    """Posterior of the parameters of a binary pairwise Markov random field (Murray and Ghahramani 2004).

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    model : {"boltzmann", "ising", "agreement"}
        Coding of theta: weights and biases over {0, 1}; couplings and fields over {-1, +1}; or logits of the edges'
        agreements and fields.
    prior_scale : float
        Standard deviation of the normal prior of an edge's parameter.
    bias_scale : float or None
        The same for a node's; None for ``prior_scale``.
    prior : Prior or None
        Any density of `bayesmrf.priors` with a gradient, in the place of the normal ones.
    kernel : {"metropolis", "langevin", "exchange", "auxiliary-variable", "pseudo-posterior"}
        How theta moves. "pseudo-posterior" is adjusted Langevin on the pseudo-likelihood, which is not the likelihood.
    engine : str
        What is said of Z, or how states are drawn: "exact" (elimination), "enumeration", "mean-field", "tree",
        "bethe", "brief", "persistent", "pseudo-likelihood"; for exchange and auxiliary-variable "gibbs",
        "swendsen-wang", "cftp" and the exact ones.
    step_size : float
        Standard deviation of the random walks; 0.1 in the paper.
    epsilon, alpha : float
        Step of Langevin, and the share of its momentum that is kept.
    precondition : bool
        Scale the steps of Langevin by the standard deviation each parameter would have alone; take epsilon near 0.5
        then.
    adjusted : bool
        Accept or reject the steps of Langevin; the engine must answer log Z.
    corrected : bool
        Bring the pseudo-posterior to the location and scale of the true posterior at the mode (Bouranis et al. 2017).
    n_sweeps : int
        Sweeps of brief and persistent chains in a step (1 is usual) and of gibbs and swendsen-wang samples (50, say).
    n_particles : int or None
        Brief and persistent chains; None for one for each observation (brief) or 1,024.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, progress, checkpoint, overwrite
        As in `GroupedMRF`.

    Attributes
    ----------
    theta_ : (n_features,) array
        Posterior mean; `score` and `sample` use it.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    feature_names_out_ : list of str
        ``u-v`` for an edge, ``u`` for a node.
    edges_, graph_
        The graph used.
    """

    def __init__(
        self,
        graph: Any = "complete",
        model: str = "boltzmann",
        prior_scale: float = 1.0,
        bias_scale: float | None = None,
        prior: Any = None,
        kernel: str = "metropolis",
        engine: str = "exact",
        step_size: float = 0.1,
        epsilon: float = 0.01,
        alpha: float = 0.0,
        precondition: bool = False,
        adjusted: bool = False,
        corrected: bool = False,
        n_sweeps: int = 1,
        n_particles: int | None = None,
        n_draws: int = 1000,
        n_warmup: int = 500,
        n_chains: int = 4,
        thin: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = True,
        checkpoint: Any = None,
        overwrite: bool = False,
    ):
        self.graph = graph
        self.model = model
        self.prior_scale = prior_scale
        self.bias_scale = bias_scale
        self.prior = prior
        self.kernel = kernel
        self.engine = engine
        self.step_size = step_size
        self.epsilon = epsilon
        self.alpha = alpha
        self.precondition = precondition
        self.adjusted = adjusted
        self.corrected = corrected
        self.n_sweeps = n_sweeps
        self.n_particles = n_particles
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_chains = n_chains
        self.thin = thin
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.overwrite = overwrite

    def _model(self) -> Any:
        return MODELS[self.model](self.graph_)

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> BayesianMRF:
        """Sample the posterior; see `GroupedMRF.fit` for the arguments."""
        for option, legal in (("model", MODELS), ("kernel", KERNELS), ("engine", ENGINES)):
            if getattr(self, option) not in legal:
                raise OptionError(
                    f"{option}: {getattr(self, option)!r} came, one of {', '.join(map(repr, legal))} is wanted"
                )
        states = self._read(X, sample_weight, self.progress)
        model = self._model()
        s_bar, n = model.statistics(states.values, states.weights), states.n_samples
        prior = self._prior(model)
        engine = PseudoLikelihood(states.values, states.weights) if self._is_pseudo else self._engine(states)
        likelihood = Likelihood(model, s_bar, n, engine)
        kernel = self._kernel(likelihood, prior)
        fingerprint = self._fingerprint(s_bar, n, prior)
        draws = run.sample(
            kernel,
            n_draws=self.n_draws,
            n_warmup=self.n_warmup,
            n_chains=self.n_chains,
            thin=self.thin,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=self.progress,
            checkpoint=self.checkpoint,
            overwrite=self.overwrite,
            fingerprint=fingerprint,
        )
        if self._is_pseudo and self.corrected:
            draws = _corrected(draws, likelihood, Likelihood(model, s_bar, n, Elimination()), prior)
        attrs = fingerprint | {"kind": self._kind(engine), "engine": engine.name, "method": self.kernel}
        self.posterior_ = results.to_datatree(
            draws, model, attrs=attrs, observed={"statistics": s_bar, "n_samples": n}, constant={}
        )
        self.theta_ = draws.values["theta"].mean(axis=(0, 1))
        self.feature_names_out_ = model.feature_names
        return self

    def interval_(self, probability: float = 0.9) -> pd.DataFrame:
        """Central posterior interval of each feature: columns mean, lower, upper."""
        import pandas as pd

        check_is_fitted(self)
        if not 0 < probability < 1:
            raise OptionError(f"probability: {probability!r} came, a number between 0 and 1 is wanted")
        tails = (1 - probability) / 2, (1 + probability) / 2
        draws = np.asarray(self.posterior_["posterior"].dataset["theta"])
        lower, upper = np.quantile(draws.reshape(-1, draws.shape[2]), tails, axis=0)
        index = pd.Index(self.feature_names_out_, name="feature")
        return pd.DataFrame({"mean": self.theta_, "lower": lower, "upper": upper}, index=index)

    def statistic(self, function: Callable[..., Any], of: str = "theta", name: str = "statistic") -> xr.DataArray:
        """Posterior of any function of the network, one value (or array) for each draw, in ArviZ's form.

        Parameters
        ----------
        function : callable
            Of theta (n_features,), or of a networkx graph whose edges carry ``weight`` and whose nodes carry ``bias``.
        of : {"theta", "graph"}
        name : str

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, and those of the value.
        """
        import xarray as xr

        check_is_fitted(self)
        if of not in ("theta", "graph"):
            raise OptionError(f"of: {of!r} came, 'theta' or 'graph' is wanted")
        theta = self.posterior_["posterior"].dataset["theta"]
        draws = np.asarray(theta)
        argument = self._network if of == "graph" else np.asarray
        values = np.array([[function(argument(t)) for t in chain] for chain in draws])
        extra = [f"{name}_dim_{i}" for i in range(values.ndim - 2)]
        coords = {d: theta.coords[d] for d in ("chain", "draw")}
        return xr.DataArray(values, dims=["chain", "draw", *extra], coords=coords, name=name)

    def strength(self) -> xr.DataArray:
        """Posterior of the strength centrality: sum of the absolute weights of the edges of each node."""
        import xarray as xr

        check_is_fitted(self)
        theta = self.posterior_["posterior"].dataset["theta"]
        weights = np.abs(np.asarray(theta)[:, :, : self.graph_.n_edges])
        incidence = np.zeros((self.graph_.n_edges, self.graph_.n_nodes))
        incidence[np.arange(len(incidence))[:, None], self.edges_] = 1
        coords = {d: theta.coords[d] for d in ("chain", "draw")} | {"node": list(self.graph_.names)}
        return xr.DataArray(weights @ incidence, dims=["chain", "draw", "node"], coords=coords, name="strength")

    def correlation(self) -> xr.DataArray:
        """Posterior of the marginal correlation of the two ends of each edge, by exact elimination at each draw."""
        import xarray as xr

        check_is_fitted(self)
        model, engine = Ising(self.graph_), Elimination()
        plan, own = engine.prepare(model), self._model()
        r, u, v = self.graph_.n_edges, *self.edges_.T

        def correlate(theta: np.ndarray) -> np.ndarray:
            form = own.pairwise(theta)
            moments = engine.infer(model, np.concatenate([form.coupling, form.field]), plan).moments
            assert moments is not None
            node = moments[r:]
            return (moments[:r] - node[u] * node[v]) / np.sqrt((1 - node[u] ** 2) * (1 - node[v] ** 2))

        found = self.statistic(correlate, name="correlation")
        return xr.DataArray(
            found.values,
            dims=["chain", "draw", "edge"],
            coords={**{d: found.coords[d] for d in ("chain", "draw")}, "edge": self.graph_.edge_names},
            name="correlation",
        )

    def _network(self, theta: np.ndarray) -> Any:
        network = self.graph_.to_networkx()
        for i, (u, v) in enumerate(self.edges_):
            network.edges[self.graph_.names[u], self.graph_.names[v]]["weight"] = float(theta[i])
        for i, node in enumerate(self.graph_.names):
            network.nodes[node]["bias"] = float(theta[self.graph_.n_edges + i])
        return network

    @property
    def _is_pseudo(self) -> bool:
        return self.kernel == "pseudo-posterior"

    def _prior(self, model: Any) -> Prior:
        if self.prior is not None:
            return self.prior
        bias = self.prior_scale if self.bias_scale is None else self.bias_scale
        for name, value in (("prior_scale", self.prior_scale), ("bias_scale", bias)):
            if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value > 0):
                raise OptionError(f"{name}: {value!r} came, a finite number > 0 is wanted")
        return Normal(np.repeat([self.prior_scale, bias], [model.n_edges, model.n_features - model.n_edges]))

    def _engine(self, states: States) -> Engine:
        if self.engine == "brief":
            weights = None if states.weights is None else states.weights.astype(int)
            rows = states.values if weights is None else np.repeat(states.values, weights, axis=0)
            return Brief(rows, n_chains=self.n_particles, n_sweeps=self.n_sweeps)
        simple: dict[str, Callable[[], Engine]] = {
            "exact": Elimination,
            "elimination": Elimination,
            "enumeration": Enumeration,
            "mean-field": MeanField,
            "tree": Tree,
            "bethe": Bethe,
            "persistent": lambda: Persistent(n_chains=self.n_particles or 1024, n_sweeps=self.n_sweeps),
            "gibbs": lambda: Gibbs(n_sweeps=self.n_sweeps),
            "swendsen-wang": lambda: SwendsenWang(n_sweeps=self.n_sweeps),
            "cftp": CouplingFromThePast,
            "pseudo-likelihood": lambda: PseudoLikelihood(states.values, states.weights),
        }
        return simple[self.engine]()

    def _kernel(self, likelihood: Likelihood, prior: Prior) -> Kernel:
        start = np.zeros(likelihood.model.n_features)
        if self.kernel == "metropolis":
            return Metropolis(likelihood, prior, start, self.step_size)
        if self.kernel == "exchange":
            return Exchange(likelihood, prior, start, self.step_size)
        if self.kernel == "auxiliary-variable":
            # The reference must lie where the posterior is, or hardly a proposal is accepted.
            known = Likelihood(likelihood.model, likelihood.s_bar, likelihood.n_samples, choose(self.graph_))
            reference = posterior_mode(known, prior, start).theta
            return AuxiliaryVariable(likelihood, prior, reference, self.step_size)
        pseudo = self._is_pseudo
        low, s_bar = likelihood.low, likelihood.s_bar
        scale = None
        if self.precondition or pseudo:
            # Curvature of the log posterior along one coordinate: N Var[s], at the data's own mean, and the prior's.
            slope = (prior.gradient(start + 1e-4) - prior.gradient(start - 1e-4)) / 2e-4
            scale = 1 / np.sqrt(likelihood.n_samples * (s_bar - low) * (1 - s_bar) - np.minimum(slope, -1e-6))
        epsilon = 0.4 if pseudo else self.epsilon
        return Langevin(likelihood, prior, start, epsilon, self.alpha, scale, self.adjusted or pseudo)

    def _kind(self, engine: Engine) -> str:
        """Whether the chain's stationary law is the posterior, in words."""
        if self._is_pseudo:
            return "approximate (pseudo-likelihood" + (", corrected at the mode)" if self.corrected else ")")
        if self.kernel == "langevin" and not self.adjusted:
            return f"approximate (uncorrected Langevin, moments from {engine.name}: {engine.kind.value})"
        return "exact" if engine.kind.value == "exact" else f"approximate ({engine.name}: {engine.kind.value})"

    def _fingerprint(self, s_bar: np.ndarray, n: float, prior: Prior) -> dict[str, Any]:
        scale = np.atleast_1d(getattr(prior, "scale", np.nan)).tolist()
        options = {k: getattr(self, k) for k in _RECORDED}
        return {
            "data_hash": data_hash(self.graph_, s_bar, n),
            "prior": type(prior).__name__,
            "prior_scale": scale,
            **options,
        }


def _corrected(draws: run.Draws, pseudo: Likelihood, likelihood: Likelihood, prior: Prior) -> run.Draws:
    theta = draws.values["theta"]
    start = theta.mean(axis=(0, 1))
    true, approximate = posterior_mode(likelihood, prior, start), posterior_mode(pseudo, prior, start)
    moved = true.theta + (theta - approximate.theta) @ correction(true, approximate).T
    return replace(draws, values=draws.values | {"theta": moved})
