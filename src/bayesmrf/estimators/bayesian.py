"""Posterior of the parameters of a Markov random field."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import convergence, results
from ..base import EVERY_FAMILY, Engine, Kernel, Kind
from ..data.dependent_rows import tell_of_rows
from ..data.states import States
from ..declare.option import check_params
from ..errors import ApproximatePosteriorWarning, argument, instead_of_exact
from ..families import AUTO, families_of
from ..findings import BAD, recorded, tell
from ..inference.elimination.two_states import Elimination
from ..inference.registry import engine_of
from ..kernels import KERNELS, Custom, Langevin, Phases, PseudoPosterior, refusal, row_of
from ..likelihood import Hidden, Likelihood
from ..models.linear_map import LinearMap
from ..names import shown
from ..posterior.parameters.pseudo_posterior import correction, posterior_mode
from ..priors import CAUCHY_TAPER, Cauchy, LogisticBeta, Normal, Prior, WeightsAndBiases
from ..runs import run
from .base import data_hash, missing_table, run_seed, sample_posterior
from .engines import (
    changed_options,
    instead_of,
    particle_sweeps,
    read_engine,
    read_sample,
    refuse_unused,
    suitable_engine,
)
from .mode_check import check_modes
from .parameter_kernels import MIRRORED, Problem, automatic_kernel, parameter_kernel
from .parameter_posterior import ParameterPosterior
from .rarely_observed import mirror_of, rarely_observed, tell_of_rare
from .starts import find_start
from .stein_check import tell_of_draws
from .ties import n_edge_parameters, read_ties

_FAR = 0.01  # share of draws beyond half the standard deviation of a taper, from which on it is said


class _Prepared(NamedTuple):
    """All that comes before the first draw.

    ``truth`` is the true likelihood, for a correction at the end; ``options`` are those of the kernel; ``unsure`` are
    the nodes of which the data hardly determine the signs of edges, and the kernel makes no moves between them.
    """

    states: States
    likelihood: Likelihood
    truth: Likelihood | None
    prior: Prior
    options: Any
    kernel: Kernel
    unsure: list[int]


@dataclass(eq=False, repr=False)
class BayesianMRF(ParameterPosterior):
    """Posterior of the parameters of a binary pairwise Markov random field (Murray and Ghahramani 2004).

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    model : {"auto", "boltzmann", "ising", "agreement", "ordinal", "potts"}, object of `bayesmrf.families` or callable
        Coding of theta: weights and biases over {0, 1}; couplings and fields over {-1, +1}; logits of the edges'
        agreements and fields; or, for nodes with many states, weights and thresholds if these are in order
        (`families.Ordinal`), else couplings and a field for each state but the first (`families.Potts`). "auto" is
        "ordinal" if columns have more than two ordered levels, which are pandas' ordered categories, or at most 12
        integers from 0; else "boltzmann". A callable makes your own model from the `Graph` (`families.Custom`).
    ties : None, "all", "edges", sequence, or mapping (a Series)
        Which parameters are shared. None (default): each edge and each node has its own. "all": one for all edges and
        one for all nodes, as on a homogeneous lattice. "edges": one for all edges, and one for each node. A sequence
        has a label for each edge of ``edges_``: edges with the same label share a parameter, and nodes are free. A
        mapping or Series has labels by name, ``u-v`` or (u, v) for an edge and ``u`` for a node; other parameters are
        free. The prior is on the shared parameters.
    prior : "normal", `priors.WeightsAndBiases` or Prior
        Normal with standard deviation 1; with one for edges and one for nodes; or any density of `bayesmrf.priors` with
        a gradient.
    kernel : {"auto", "gibbs", "independence", "hamiltonian", "metropolis", "langevin", "exchange", \
"auxiliary-variable", "pseudo-posterior"} or object
        The Markov chain on theta. The objects of `bayesmrf.kernels` have options, such as ``Langevin(adjusted=True)``.

        * auto: the first of these that the engine, the prior and the data allow, which is the fastest:

          1. gibbs, each parameter from its exact full conditional: exact engine, normal or Cauchy prior, no ties, and
             so few nodes (or so dense a graph) that a table of all states is the fastest sum over them;
          2. independence, proposals around the mode: exact engine, normal prior, complete data, at most three
             parameters, such as those that edges and nodes share;
          3. hamiltonian: log Z and moments, exact or approximate, but not bounds of log Z;
          4. metropolis: log Z;
          5. exchange: samples;
          6. langevin: moments.

          ``kernel_`` says which.

        ``kernels.Custom`` makes your own kernel from the likelihood and the prior.
    engine : str, Engine or `kernels.Phases`
        How log Z or moments are computed, or states are drawn: the name of an engine with its defaults, or an engine,
        such as ``Bethe(damping=0.5)`` or your own. "auto" (default) is the exact engine if that is cheap, about 10
        milliseconds a call; else persistent chains, with which the automatic kernel is langevin (with exchange and
        auxiliary-variable it is "gibbs"; the other kernels need the exact engine). Hamiltonian and metropolis take
        "exact" (elimination), "enumeration", "mean-field", "tree", "bethe" and "pseudo-likelihood"; langevin and
        metropolis also "persistent", "brief" and "from-exact"; exchange and auxiliary-variable "gibbs", "tempered",
        "swendsen-wang", "cftp" and the exact ones. With missing values, ``Phases("brief", hidden="persistent")`` also
        gives the engine of the model clamped to the observed values.
        If draws are approximate, they are checked by Stein's identities (`bayesmrf.estimators.stein_check`).
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint
        As in `GroupedMRF`.

    Attributes
    ----------
    theta_ : (n_features,) array
        Posterior mean of the parameters of all edges and nodes.
    phi_ : (n_parameters,) array
        Posterior mean of the sampled parameters: ``theta_`` if nothing is tied.
    parameter_names_ : list of str
        Names of the sampled parameters: "edges" and "nodes", with a label if there is one, or names of features.
    kernel_, model_ : str
        Names of the kernel and of the model.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    missing_ : DataFrame
        Row and node of each missing value of X, and the posterior probability that it is 1 (True; for Potts models, of
        each state), averaged over at most 1,000 draws of theta. Empty if nothing is missing.
    edges_ : (n_edges, 2) int array
    feature_names_ : (n_features,) array of str
        Names of ``theta_``: ``u-v`` for an edge, ``u`` for a node.
    graph_ : networkx.Graph
        Edges carry ``weight``, nodes ``bias``.
    """

    read = {  # noqa: RUF012
        "model": families_of("BayesianMRF").read,
        "prior": lambda _: Normal(1.0),
        "kernel": KERNELS.read,
        "engine": engine_of,
    }

    graph: Any = "complete"
    model: Any = "auto"
    ties: Any = None
    prior: Any = "normal"
    kernel: Any = "auto"
    engine: Any = "auto"

    @recorded
    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> BayesianMRF:
        """Sample the posterior; see `GroupedMRF.fit` for the arguments.

        Missing values of X (NaN) are hidden variables: the posterior of theta is given the observed values.

        Warns
        -----
        ApproximatePosteriorWarning
            If draws by an approximate engine or kernel are surely far from the posterior, with the distance.
        """
        states, likelihood, truth, prior, options, kernel, unsure = self._prepare(X, sample_weight)
        model, n, s_bar = likelihood.model, states.n_samples, likelihood.s_bar
        engine, hidden = likelihood.engine, likelihood.hidden
        self._engine = None if model.family in EVERY_FAMILY else engine
        seeds = run_seed(self)
        draws = sample_posterior(self, model, kernel, seeds)
        is_corrected = False
        if truth is not None and _all_moved(draws):
            is_corrected = True
            draws = _corrected(draws, likelihood, truth, prior)
        phi, kind = draws.values["theta"], _kind(options, engine, hidden, is_corrected)
        curve: Any = likelihood.curve
        parameters = None if curve is None else list(curve.feature_names)
        named = parameters or list(model.feature_names)
        if curve is not None:
            values = draws.values | {"theta": curve.natural(phi), "phi": phi}
            draws = replace(draws, values=values, dims={**draws.dims, "phi": ("parameter",)})
        is_own = isinstance(options, Custom)
        self.kernel_, self.model_ = kernel.name if is_own else row_of(options).name, model.name
        attrs = ({} if is_own else asdict(options)) | {
            "data_hash": data_hash(self._graph, s_bar, n, hidden),
            "prior": type(prior).__name__,
            "prior_scale": np.atleast_1d(prior.scale if isinstance(prior, Normal | Cauchy) else np.nan).tolist(),
            "n_edge_parameters": n_edge_parameters(model, curve),
            "kind": kind,
            "model": model.name,
            "chosen_model": self._chooses,
            "ties": self.ties if self.ties is None or isinstance(self.ties, str) else "labels",
            "engine": engine.name,
            "engine_options": changed_options(engine),
            "hidden_engine": None if hidden is None else hidden.engine.name,
            "method": self.kernel_,
        }
        if isinstance(prior, LogisticBeta):
            attrs["prior_beta"] = [prior.a, prior.b]
        self.posterior_ = results.to_datatree(
            draws, model, attrs=attrs, observed={"statistics": s_bar, "n_samples": n}, parameters=parameters
        )
        self.theta_, self.phi_ = draws.values["theta"].mean(axis=(0, 1)), phi.mean(axis=(0, 1))
        self.parameter_names_ = named
        self.missing_ = missing_table(likelihood, phi, states, seeds)
        if hidden is not None:
            results.add_missing(self.posterior_, self.missing_)
        if row_of(options).name == "gibbs" and isinstance(prior, Cauchy):
            _warn_of_taper(phi, self.parameter_names_)
        check_modes(self, [states], seeds, particle_sweeps(engine))
        tell_of_rare(states, unsure)
        tell_of_rows([states])
        # Chains that have not converged may be far from the posterior for this reason.
        if convergence.warn_unless_converged(self.posterior_) and kind != "exact":
            tell_of_draws(likelihood, prior, phi, named, seeds)
        return self

    def check(self, X: Any, sample_weight: Any = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight)

    def _prepare(self, X: Any, sample_weight: Any) -> _Prepared:
        check_params(self)
        phases = self.engine if isinstance(self.engine, Phases) else Phases(self.engine)
        options = None if self.kernel == AUTO else self.object("kernel")
        self._choose_model(X, sample_weight)
        states = self._read(X, sample_weight, self.progress, missing=True, tied=self.ties is not None)
        if options is not None:
            if refused := refusal(row_of(options), states.n_states > 2, bool((states.values < 0).any())):
                raise refused
            if isinstance(options, PseudoPosterior):
                refuse_unused(phases.model)
                phases = replace(phases, model="pseudo-likelihood")
        model, n = self._model(), states.n_samples
        name = AUTO if options is None else row_of(options).name
        adjusted = isinstance(options, Langevin) and options.adjusted
        if isinstance(phases.model, str) and phases.model == AUTO:
            phases = replace(phases, model=suitable_engine(name, model, adjusted))
        engine = read_engine(phases.model, states)
        data = read_sample(model, states, engine, phases.hidden)
        curve = read_ties(self.ties, model)
        prior = self._prior(model, curve)
        with instead_of_exact(instead_of(name, model, adjusted)):
            likelihood = Likelihood(model, data.s_bar, n, engine, data.hidden, curve)
        if options is None:
            options = automatic_kernel(likelihood, prior)
        corrected = isinstance(options, PseudoPosterior) and options.corrected
        with instead_of_exact(f"it without {argument('corrected', True)}"):
            truth = likelihood.replaced(data.s_bar, Elimination()) if corrected else None
        at = find_start(likelihood, prior, states)
        rare, is_mirrored = rarely_observed(states, self._graph), row_of(options).name in MIRRORED
        mirror = mirror_of(likelihood, prior, rare) if is_mirrored else None
        kernel = parameter_kernel(options, Problem(likelihood, prior, at, self.n_warmup, mirror))
        return _Prepared(states, likelihood, truth, prior, options, kernel, [] if mirror is not None else rare)

    def _prior(self, model: Any, curve: LinearMap | None) -> Prior:
        prior = self.object("prior")
        if isinstance(prior, WeightsAndBiases):
            return prior.of(n_edge_parameters(model, curve), model.n_features if curve is None else curve.n_features)
        return prior


def _kind(options: Any, engine: Engine, hidden: Hidden | None, is_corrected: bool) -> str:
    """Say in words whether the stationary distribution of the chain is the posterior."""
    if isinstance(options, PseudoPosterior):
        return "approximate (pseudo-likelihood" + (", corrected at the mode)" if is_corrected else ")")
    if isinstance(options, Custom) and options.kind != "exact":
        return options.kind
    if isinstance(options, Langevin) and not options.adjusted:
        return f"approximate (uncorrected Langevin, moments from {engine.name}: {engine.kind.value})"
    if engine.kind is not Kind.EXACT:
        return f"approximate ({engine.name}: {engine.kind.value})"
    # To draw the missing values any chain on them suffices.
    if hidden is not None and hidden.engine.kind is not Kind.EXACT and row_of(options).sums:
        return f"approximate (missing values by {hidden.engine.name}: {hidden.engine.kind.value})"
    return "exact"


def _warn_of_taper(draws: np.ndarray, names: list[str]) -> None:
    """Warn of parameters whose posterior reaches to where gibbs tapers a Cauchy prior."""
    share = (np.abs(draws) > CAUCHY_TAPER / 2).mean(axis=(0, 1))
    far = np.flatnonzero(share > _FAR)
    if len(far):
        more = f", and of {len(far) - 1} more" if len(far) > 1 else ""
        tell(
            f"{argument('kernel', 'gibbs')} multiplies a Cauchy prior by a normal density of standard deviation "
            f"{CAUCHY_TAPER:g}, which shortens the posterior of theta[{shown(names[far[0]])}] "
            f"({100 * share[far[0]]:.0f} % of its draws are beyond {CAUCHY_TAPER / 2:g}){more}, as the data hardly "
            f"bound it. Use a normal prior, or many draws by {argument('kernel', 'metropolis')}.",
            ApproximatePosteriorWarning,
        )


def _all_moved(draws: run.Draws) -> bool:
    """Whether every chain moved; warn where one did not, as what it drew is no sample that could be corrected."""
    stuck = [c for c, theta in zip(draws.chains, draws.values["theta"], strict=True) if (theta == theta[0]).all()]
    if stuck and draws.n_draws > 1:
        tell(
            f"{argument('corrected', True)} was ignored: chain(s) {', '.join(map(str, stuck))} of {draws.n_chains} "
            "never moved, and their draws are no sample of the pseudo-posterior; raise "
            f"{argument('n_warmup')} and {argument('n_draws')}",
            ApproximatePosteriorWarning,
            BAD,
        )
        return False
    return True


def _corrected(draws: run.Draws, pseudo: Likelihood, likelihood: Likelihood, prior: Prior) -> run.Draws:
    theta = draws.values["theta"]
    start = theta.mean(axis=(0, 1))
    true, approximate = posterior_mode(likelihood, prior, start), posterior_mode(pseudo, prior, start)
    moved = true.theta + (theta - approximate.theta) @ correction(true, approximate).T
    return replace(draws, values=draws.values | {"theta": moved})
