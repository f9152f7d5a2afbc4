"""Posterior of the parameters of a Markov random field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from warnings import warn

import numpy as np

from .. import convergence, results, run
from ..base import LOG_Z, Engine, Kernel, Kind
from ..errors import ApproximatePosteriorWarning
from ..inference.elimination.two_states import Elimination
from ..likelihood import Hidden, Likelihood
from ..models.agreement import Agreement
from ..models.boltzmann import Boltzmann
from ..models.ising import Ising
from ..models.linear_map import LinearMap
from ..models.potts import Potts
from ..options import check_params
from ..posterior.hidden_entries import DrawHiddenEntries
from ..posterior.parameters.adaptation import WALK_FIRST
from ..posterior.parameters.auxiliary_variable import AuxiliaryVariable
from ..posterior.parameters.exchange import Exchange
from ..posterior.parameters.gibbs import CoordinateGibbs
from ..posterior.parameters.langevin import Langevin
from ..posterior.parameters.metropolis import Metropolis
from ..posterior.parameters.pseudo_posterior import correction, posterior_mode
from ..priors import Normal, Prior
from ..states import States
from .base import data_hash, missing_table, options_shown, run_seed, sample_posterior
from .engines import changed_options, read_engine, read_hidden
from .parameter_posterior import ParameterPosterior
from .starts import Start, find_start, uncorrected_epsilon
from .ties import n_edge_parameters, read_ties

MODELS: dict[str, Callable[..., Any]] = {
    "boltzmann": Boltzmann,
    "ising": Ising,
    "agreement": lambda graph: Agreement(graph, fields=True),
    "potts": Potts,
}
_WIDER = 2.0  # spread of the chains' starts, in posterior standard deviations


class BayesianMRF(ParameterPosterior):
    """Posterior of the parameters of a binary pairwise Markov random field (Murray and Ghahramani 2004).

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    model : {"boltzmann", "ising", "agreement", "potts"} or callable
        Coding of theta: weights and biases over {0, 1}; couplings and fields over {-1, +1}; logits of the edges'
        agreements and fields; or, of nodes with many states, rewards of agreement and fields of each state but the
        first. A callable makes a model of your own from the `Graph`, such as a class with the attributes of
        `bayesmrf.base.Model`.
    ties : None, "all", "edges", sequence, or mapping (a Series)
        Which parameters are shared. None (default): each edge and each node has its own. "all": one for all edges and
        one for all nodes, as on a homogeneous lattice. "edges": one for all edges, and one for each node. A sequence
        has a label for each edge of ``edges_``: edges with the same label share a parameter, and nodes are free. A
        mapping or Series has labels by name, ``u-v`` or (u, v) for an edge and ``u`` for a node; what it does not name
        is free. The prior is on the shared parameters.
    n_states : int or "auto"
        Number of states of a node of the Potts model, whose data are 0, ..., n_states - 1; "auto" takes the levels
        that occur, in their order.
    prior_scale : float
        Standard deviation of the normal prior of an edge's parameter.
    bias_scale : float or None
        The same for a node's; None for ``prior_scale``.
    prior : Prior or None
        Any density of `bayesmrf.priors` with a gradient, in the place of the normal ones.
    kernel : {"metropolis", "gibbs", "langevin", "exchange", "auxiliary-variable", "pseudo-posterior"}
        How theta moves. "gibbs" draws one parameter after another from its exact full conditional; it needs an exact
        engine and a normal or Cauchy prior. "pseudo-posterior" is adjusted Langevin on the pseudo-likelihood, which is
        not the likelihood.
    engine : str or Engine
        How log Z or moments are computed, or states are drawn: the name of an engine with its defaults, or an engine,
        such as ``Bethe(damping=0.5)`` or one of your own. Metropolis takes "exact" (elimination), "enumeration",
        "mean-field", "tree", "bethe", "pseudo-likelihood" and "persistent"; langevin "brief" and "from-exact" too;
        exchange and auxiliary-variable "gibbs", "swendsen-wang", "cftp" and the exact ones.
    hidden_engine : str, Engine or None
        The same for the model clamped to the data, where values are missing. None (default) takes the exact engine
        where it is cheap and 64 persistent chains elsewhere, and always for brief chains, which start from their
        states.
    step_size : float or None
        Standard deviation of the proposals of the random walks (metropolis, exchange, auxiliary-variable); 0.1 in the
        paper. None (default) takes multiples of the standard deviations at the mode: of each parameter given the others
        or, where parameters are much correlated (and with exchange and auxiliary-variable always), of combinations of
        up to 200 parameters that are not. The multiple is adapted during warm-up to an acceptance of 0.44; that of
        auxiliary-variable stays 2.4.
    epsilon : float or None
        Step of Langevin. None (default) adapts it during warm-up to an acceptance of 0.574 (more with momentum) where
        steps are accepted or rejected, and in pseudo-posterior always; elsewhere it is so short that, for the curvature
        at the mode, no variance is more than 5 % too large.
    alpha : float
        Share of Langevin's momentum that is kept, in [0, 1).
    precondition : bool or None
        Scale the steps of Langevin by the covariance at the mode (of more than 200 parameters: by each one's standard
        deviation given the others). None (default) does so where ``epsilon`` is None.
    adjusted : bool
        Accept or reject the steps of Langevin; the engine must answer log Z.
    corrected : bool
        Bring the pseudo-posterior to the location and scale of the true posterior at the mode (Bouranis et al. 2017).
    start : {"mode", "zero"}
        Where chains start: around the mode of the posterior (where exact inference is cheap, else of the
        pseudo-posterior), two posterior standard deviations wide so that R-hat can tell whether they have converged; or
        at theta = 0, as in the paper. The chains of auxiliary-variable start around the mode, one standard deviation
        wide, as farther from their reference nothing is accepted.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, progress, checkpoint, overwrite
        As in `GroupedMRF`.

    Attributes
    ----------
    theta_ : (n_features,) array
        Posterior mean of the parameters of all edges and nodes; `score` and `sample` use it.
    phi_ : (n_parameters,) array
        Posterior mean of the parameters that are sampled: ``theta_`` where nothing is tied.
    parameter_names_ : list of str
        Names of the latter: "edges" and "nodes", followed by a label where there is one, or the names of features.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    feature_names_out_ : list of str
        ``u-v`` for an edge, ``u`` for a node.
    missing_ : DataFrame
        Each missing value of X: its row and node, and the posterior probability that it is 1 (True), averaged over at
        most 1,000 draws of theta; in the Potts model, of each state. Empty where nothing is missing.
    edges_, graph_
        The graph used.
    """

    def __init__(
        self,
        graph: Any = "complete",
        model: Any = "boltzmann",
        ties: Any = None,
        n_states: int | str = "auto",
        prior_scale: float = 1.0,
        bias_scale: float | None = None,
        prior: Any = None,
        kernel: str = "metropolis",
        engine: Any = "exact",
        hidden_engine: Any = None,
        step_size: float | None = None,
        epsilon: float | None = None,
        alpha: float = 0.0,
        precondition: bool | None = None,
        adjusted: bool = False,
        corrected: bool = False,
        start: str = "mode",
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
        self.ties = ties
        self.n_states = n_states
        self.prior_scale = prior_scale
        self.bias_scale = bias_scale
        self.prior = prior
        self.kernel = kernel
        self.engine = engine
        self.hidden_engine = hidden_engine
        self.step_size = step_size
        self.epsilon = epsilon
        self.alpha = alpha
        self.precondition = precondition
        self.adjusted = adjusted
        self.corrected = corrected
        self.start = start
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
        if callable(self.model):
            return self.model(self.graph_)
        more = (len(self._coding),) if self.model == "potts" else ()
        return MODELS[self.model](self.graph_, *more)

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> BayesianMRF:
        """Sample the posterior; see `GroupedMRF.fit` for the arguments.

        Values of X that are missing (NaN) are hidden variables: the posterior is that of theta given what was seen.
        """
        states, likelihood, truth, prior, kernel = self._prepare(X, sample_weight)
        model, n, s_bar = likelihood.model, states.n_samples, likelihood.s_bar
        engine, hidden = likelihood.engine, likelihood.hidden
        seeds = run_seed(self)
        draws = sample_posterior(self, model, kernel, seeds)
        is_corrected = False
        if truth is not None and _all_moved(draws):
            is_corrected = True
            draws = _corrected(draws, likelihood, truth, prior)
        phi, curve = draws.values["theta"], likelihood.curve
        parameters: list[str] | None = None
        if isinstance(curve, LinearMap):
            parameters = list(curve.feature_names)
            values = draws.values | {"theta": curve.natural(phi), "phi": phi}
            draws = replace(draws, values=values, dims={**draws.dims, "phi": ("parameter",)})
        attrs = options_shown(self) | {
            "data_hash": data_hash(self.graph_, s_bar, n, None if hidden is None else hidden.model.states),
            "prior": type(prior).__name__,
            "prior_scale": np.atleast_1d(getattr(prior, "scale", np.nan)).tolist(),
            "kind": self._kind(engine, hidden, is_corrected),
            "model": model.name,
            "ties": self.ties if self.ties is None or isinstance(self.ties, str) else "labels",
            "engine": engine.name,
            "engine_options": changed_options(engine),
            "hidden_engine": None if hidden is None else hidden.engine.name,
            "method": self.kernel,
        }
        self.posterior_ = results.to_datatree(
            draws, model, attrs=attrs, observed={"statistics": s_bar, "n_samples": n}, parameters=parameters
        )
        self.theta_, self.phi_ = draws.values["theta"].mean(axis=(0, 1)), phi.mean(axis=(0, 1))
        self.feature_names_out_ = model.feature_names
        self.parameter_names_ = parameters or model.feature_names
        self.missing_ = missing_table(likelihood, phi, states, seeds)
        if hidden is not None:
            results.add_missing(self.posterior_, self.missing_)
        convergence.warn_unless_converged(self.posterior_)
        return self

    def check(self, X: Any, sample_weight: Any = None) -> None:
        """Raise what `fit` would raise before its first draw."""
        self._prepare(X, sample_weight)

    def _prepare(self, X: Any, sample_weight: Any) -> tuple[States, Likelihood, Likelihood | None, Prior, Kernel]:
        """All that comes before the first draw; the second likelihood is the true one, for a correction at the end."""
        check_params(self)
        many = self.n_states if self.model == "potts" or (callable(self.model) and self.n_states != "auto") else None
        states = self._read(X, sample_weight, self.progress, missing=True, n_states=many)
        model, n = self._model(), states.n_samples
        engine = read_engine("pseudo-likelihood" if self._is_pseudo else self.engine, states)
        hidden = read_hidden(self.hidden_engine, engine, model, states)
        s_bar = model.statistics(states.values, states.weights) if hidden is None else hidden.model.seen_statistics()
        curve = read_ties(self.ties, model)
        prior = self._prior(model, curve)
        likelihood = Likelihood(model, s_bar, n, engine, hidden, curve)
        truth = likelihood.replaced(s_bar, Elimination()) if self._is_pseudo and self.corrected else None
        kernel = self._kernel(likelihood, prior, find_start(likelihood, prior, states))
        return states, likelihood, truth, prior, kernel

    @property
    def _is_pseudo(self) -> bool:
        return self.kernel == "pseudo-posterior"

    def _prior(self, model: Any, curve: LinearMap | None) -> Prior:
        if self.prior is not None:
            return self.prior
        n_edges = model.n_parameters * model.n_edges if curve is None else n_edge_parameters(curve, model)
        n_nodes = (model.n_features if curve is None else curve.n_features) - n_edges
        bias = self.prior_scale if self.bias_scale is None else self.bias_scale
        return Normal(np.repeat([self.prior_scale, bias], [n_edges, n_nodes]))

    def _kernel(self, likelihood: Likelihood, prior: Prior, at: Start) -> Kernel:
        """The kernel, with chains that start around the mode and steps that fit the curvature there."""
        zero = self.start == "zero"
        theta, spread = (0 * at.theta, None) if zero else (at.theta, _WIDER * at.root)
        if self.kernel == "gibbs":
            gibbs = CoordinateGibbs(likelihood.replaced(likelihood.s_bar), prior, theta, spread)
            return gibbs if likelihood.hidden is None else DrawHiddenEntries(gibbs, likelihood)
        if self.kernel in ("langevin", "pseudo-posterior"):
            return self._langevin(likelihood, prior, at, theta, spread)
        step, scale, n_adapt = self.step_size, None, 0
        if step is None:
            step, scale, n_adapt = WALK_FIRST, at.root, self.n_warmup
            # Walks along coordinates are compiled, and need no more than moments.
            if self.kernel == "metropolis" and not (at.is_oblique and LOG_Z in likelihood.engine.answers):
                scale = at.scale
        if self.kernel == "auxiliary-variable":
            # The reference must lie where the posterior is, and chains near it, or hardly a proposal is accepted.
            return AuxiliaryVariable(likelihood, prior, at.theta, step, scale, None if zero else at.root)
        kernel = Metropolis if self.kernel == "metropolis" else Exchange
        return kernel(likelihood, prior, theta, step, scale, spread, n_adapt)

    def _langevin(
        self, likelihood: Likelihood, prior: Prior, at: Start, theta: np.ndarray, spread: np.ndarray | None
    ) -> Langevin:
        pseudo = self._is_pseudo
        adjusted, given = self.adjusted or pseudo, None if pseudo else self.epsilon
        precondition = self.epsilon is None if self.precondition is None else self.precondition
        scale = at.root if precondition or pseudo else None
        epsilon, n_adapt = given, 0
        if not adjusted:
            epsilon = uncorrected_epsilon(given, at.stiffness(scale))
        elif epsilon is None:
            epsilon, n_adapt = uncorrected_epsilon(None, at.stiffness(scale)), self.n_warmup
        return Langevin(likelihood, prior, theta, epsilon, self.alpha, scale, adjusted, spread, n_adapt)

    def _kind(self, engine: Engine, hidden: Hidden | None, is_corrected: bool) -> str:
        """Whether the chain's stationary law is the posterior, in words."""
        if self._is_pseudo:
            return "approximate (pseudo-likelihood" + (", corrected at the mode)" if is_corrected else ")")
        if self.kernel == "langevin" and not self.adjusted:
            return f"approximate (uncorrected Langevin, moments from {engine.name}: {engine.kind.value})"
        if engine.kind is not Kind.EXACT:
            return f"approximate ({engine.name}: {engine.kind.value})"
        # Exchange and auxiliary-variable draw the missing values too, for which any chain on them will do.
        if hidden is not None and hidden.engine.kind is not Kind.EXACT and self.kernel in ("metropolis", "langevin"):
            return f"approximate (missing values by {hidden.engine.name}: {hidden.engine.kind.value})"
        return "exact"


def _all_moved(draws: run.Draws) -> bool:
    """Whether every chain moved; warn where one did not, as what it drew is no sample that could be corrected."""
    stuck = [c for c, theta in zip(draws.chains, draws.values["theta"], strict=True) if (theta == theta[0]).all()]
    if stuck and draws.n_draws > 1:
        warn(
            f"corrected=True was ignored: chain(s) {', '.join(map(str, stuck))} of {draws.n_chains} never moved, and "
            "their draws are no sample of the pseudo-posterior; raise n_warmup and n_draws",
            ApproximatePosteriorWarning,
            stacklevel=3,
        )
        return False
    return True


def _corrected(draws: run.Draws, pseudo: Likelihood, likelihood: Likelihood, prior: Prior) -> run.Draws:
    theta = draws.values["theta"]
    start = theta.mean(axis=(0, 1))
    true, approximate = posterior_mode(likelihood, prior, start), posterior_mode(pseudo, prior, start)
    moved = true.theta + (theta - approximate.theta) @ correction(true, approximate).T
    return replace(draws, values=draws.values | {"theta": moved})
