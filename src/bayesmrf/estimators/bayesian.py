"""Posterior of the parameters of a Markov random field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.result import Priors
from ..base import EVERY_FAMILY, Engine, Kind
from ..data.states import States
from ..engines import Phases
from ..errors import ApproximatePosteriorWarning, argument, instead_of_exact
from ..families import AUTO, FAMILIES, families_of
from ..findings import BAD, tell
from ..inference.elimination.engine import Elimination
from ..inference.registry import engine_of
from ..likelihood import Hidden, Likelihood
from ..methods import KERNELS, Custom, Langevin, PseudoPosterior
from ..methods.parameters import refusal, row_of
from ..methods.rows import stored_options
from ..names import shown
from ..parameters import BayesianParameters
from ..posterior.parameters.pseudo_posterior import correction, posterior_mode
from ..priors import CAUCHY_TAPER, Normal, Prior, of_parameters
from ..runs import run
from .engines import (
    changed_options,
    instead_of,
    particle_sweeps,
    read_engine,
    read_sample,
    refuse_unused,
    suitable_engine,
)
from .fitted_priors import ParametersPrior, parameters_prior
from .network import Traits
from .parameter_kernels import Problem, automatic_kernel, parameter_kernel
from .pipeline import Setup
from .posterior import Posterior
from .starts import find_start
from .stein_check import warn_of_draws
from .ties import n_edge_parameters, read_ties

_FAR = 0.01  # share of draws beyond half the standard deviation of a taper, from which on it is said


@dataclass(eq=False, repr=False)
class BayesianMRF(BayesianParameters, Posterior):
    """Posterior of the parameters of a pairwise Markov random field (Murray and Ghahramani 2004).

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    model : {"auto", "boltzmann", "ising", "agreement", "ordinal", "nominal", "potts"}, object of `bayesmrf.families` \
or callable
        Coding of theta: weights and biases over {0, 1}; couplings and fields over {-1, +1}; logits of the edges'
        agreements and fields; or, for nodes with many states, weights and thresholds if these are in order
        (`families.Ordinal`), tables of log odds if some are not (`families.Nominal`), or couplings and a field for each
        state but the first (`families.Potts`). "auto" is "nominal" if columns have more than two of pandas' categories
        without order; "ordinal" if columns have more than two ordered levels, which are pandas' ordered categories, or
        at most 12 integers from 0; else "boltzmann". A callable makes your own model from the `Graph`
        (`families.Custom`).
    ties : None, "all", "edges", sequence, or mapping (a Series)
        Which parameters are shared. None (default): each edge and each node has its own. "all": one for all edges and
        one for all nodes, as on a homogeneous lattice. "edges": one for all edges, and one for each node. A sequence
        has a label for each edge of ``edges_``: edges with the same label share a parameter, and nodes are free. A
        mapping or Series has labels by name, ``u-v`` or (u, v) for an edge and ``u`` for a node; other parameters are
        free. The prior is on the shared parameters.
    prior : "normal", `priors.WeightsAndBiases` or Prior
        Normal with standard deviation 1; with one for edges and one for nodes; or any density of `bayesmrf.priors` with
        a gradient. Columns without order have a normal one, as any other depends on the names of their categories.
    kernel : {"auto", "gibbs", "hamiltonian", "metropolis", "langevin", "exchange", \
"auxiliary-variable", "pseudo-posterior"} or object
        The Markov chain on theta. The objects of `bayesmrf.methods` have options, such as ``Langevin(adjusted=True)``.

        * auto: the first of these that the engine, the prior and the data allow, which is the fastest:

          1. gibbs, each parameter from its exact full conditional: exact engine, normal or Cauchy prior, no ties, and
             so few nodes (or so dense a graph) that a table of all states is the fastest sum over them;
          2. hamiltonian: log Z and moments, exact or approximate, but not bounds of log Z;
          3. metropolis: log Z;
          4. exchange: samples;
          5. langevin: moments.

          ``kernel_`` says which.

        ``methods.Custom`` makes your own kernel from the likelihood and the prior.
    engine : str, Engine or `engines.Phases`
        How log Z or moments are computed, or states are drawn: the name of an engine with its defaults, or an engine,
        such as ``Bethe(damping=0.5)`` or your own. "auto" (default) is the exact engine if that is cheap, about 10
        milliseconds a call; else persistent chains, with which the automatic kernel is langevin (with exchange and
        auxiliary-variable it is "gibbs"; the other kernels need the exact engine). Hamiltonian and metropolis take
        "exact" (elimination), "enumeration", "mean-field", "tree", "bethe" and "pseudo-likelihood"; langevin and
        metropolis also "persistent", "brief" and "from-exact"; exchange and auxiliary-variable "gibbs", "tempered",
        "swendsen-wang", "cftp" and the exact ones. With missing values, ``Phases("brief", hidden="persistent")`` also
        gives the engine of the model clamped to the observed values.
        If draws are approximate, they are checked by Stein's identities (`bayesmrf.estimators.stein_check`).
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint, columns
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

    Examples
    --------
    >>> from bayesmrf import BayesianMRF, datasets
    >>> men = datasets.coronary()
    >>> est = BayesianMRF(n_draws=500, random_state=1, progress=False)
    >>> est = est.fit(men.drop(columns="count"), sample_weight=men["count"])
    >>> print(est.table("parameters")[["parameter", "excludes_zero", "mean"]].round(1).head(2).to_string(index=False))
    parameter excludes_zero  mean
          B-C           yes  -2.8
          A-C           yes   0.5
    """

    _readers = {  # noqa: RUF012
        "model": families_of("BayesianMRF").read,
        "prior": lambda _: Normal(1.0),
        "kernel": KERNELS.read,
        "engine": engine_of,
    }
    _traits = Traits(method="kernel", needs_edges=False, silent="Their parameters are")

    def _target(self, parts: list[States], request: None) -> Setup:
        (states,) = parts
        phases = self._settings.engine if isinstance(self._settings.engine, Phases) else Phases(self._settings.engine)
        options = None if self._settings.kernel == AUTO else self._object("kernel")
        if options is not None:
            family = FAMILIES.find(self._family)
            gaps, tables = bool((states.values < 0).any()), family is not None and family.tables
            if refused := refusal(row_of(options), states.n_states > 2, gaps, tables):
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
        curve = read_ties(self._settings.ties, model)
        prior = parameters_prior(self._object("prior"), model, curve)
        with instead_of_exact(instead_of(name, model, adjusted)):
            likelihood = Likelihood(model, data.s_bar, n, engine, data.hidden, curve)
        if options is None:
            options = automatic_kernel(likelihood, prior)
        corrected = isinstance(options, PseudoPosterior) and options.corrected
        with instead_of_exact(f"it without {argument('corrected', True)}"):
            truth = likelihood.replaced(data.s_bar, Elimination()) if corrected else None
        at = find_start(likelihood, prior, states)
        kernel = parameter_kernel(options, Problem(likelihood, prior, at, self._settings.n_warmup))
        known = of_parameters(prior)
        attrs = stored_options(options) | {
            "prior": type(prior).__name__,
            "prior_scale": np.atleast_1d(known.scale_of_record).tolist(),
            "n_edge_parameters": n_edge_parameters(model, curve),
            "kind": _kind(options, engine, data.hidden),
            "engine": engine.name,
            "engine_options": changed_options(engine),
            "hidden_engine": None if data.hidden is None else data.hidden.engine.name,
        }
        attrs |= known.constants_of_record
        self._engine = None if likelihood.model.family in EVERY_FAMILY else likelihood.engine
        return Setup(
            parts,
            likelihood,
            kernel,
            kernel.name if isinstance(options, Custom) else row_of(options).name,
            attrs,
            particle_sweeps(engine),
            parameters=None if curve is None else list(curve.feature_names),
            own=(truth, prior),
            correct=_correct,
            finish=_finish,
        )

    def _priors(self) -> Priors:
        return ParametersPrior(self._object("prior"), self._model(), self._settings.ties)

    def _summarise(self) -> None:
        super()._summarise()
        posterior = self.posterior_["posterior"].dataset
        sampled = posterior["phi" if "phi" in posterior else "theta"]
        self.phi_ = np.asarray(sampled).mean(axis=(0, 1))
        self.parameter_names_ = sampled[sampled.dims[-1]].values.tolist()

    def _doubt(self, setup: Setup, draws: run.Draws, has_converged: bool) -> None:
        prior = setup.own[1]
        sampled = draws.values.get("phi", draws.values["theta"])
        if self.kernel_ == "gibbs" and of_parameters(prior).is_tapered:
            _warn_of_taper(sampled, self.parameter_names_)
        # Chains that have not converged may be far from the posterior for this reason.
        if has_converged and self.posterior_.attrs["kind"] != "exact":
            assert setup.seeds is not None
            warn_of_draws(setup.likelihood, prior, sampled, self.parameter_names_, setup.seeds)


def _kind(options: Any, engine: Engine, hidden: Hidden | None) -> str:
    """Say in words whether the stationary distribution of the chain is the posterior."""
    row = row_of(options)
    if isinstance(options, Langevin):
        if not options.adjusted:
            return f"approximate (uncorrected Langevin, moments from {engine.name}: {engine.kind.value})"
    elif row.kind != "exact":
        return row.kind
    if engine.kind is not Kind.EXACT:
        return f"approximate ({engine.name}: {engine.kind.value})"
    # To draw the missing values any chain on them suffices.
    if hidden is not None and hidden.engine.kind is not Kind.EXACT and row.sums:
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


def _correct(setup: Setup, draws: run.Draws) -> run.Draws:
    """Correct the draws of a pseudo-posterior at the mode, where this is asked for."""
    truth, prior = setup.own
    if truth is None or not _all_moved(draws):
        return draws
    setup.attrs["kind"] = setup.attrs["kind"].replace(")", ", corrected at the mode)")
    return _corrected(draws, setup.likelihood, truth, prior)


def _finish(setup: Setup, draws: run.Draws) -> run.Draws:
    """Add the parameters of the model, where others are sampled, of which these are a map."""
    curve = setup.likelihood.curve
    if curve is None:
        return draws
    phi = draws.values["theta"]
    fields = draws.fields | {"theta": curve.natural(phi), "phi": phi}
    return replace(draws, fields=fields, dims={**draws.dims, "phi": ("parameter",)})


def _all_moved(draws: run.Draws) -> bool:
    """Whether every chain moved; warn where one did not, as its draws cannot be corrected."""
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
    return replace(draws, fields=draws.fields | {"theta": moved})
