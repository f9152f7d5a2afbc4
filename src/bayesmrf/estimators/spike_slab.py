"""Which edges exist: posterior of a network's structure and parameters under a spike-and-slab prior."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..base import Kernel
from ..data.states import States
from ..errors import OptionError, argument, instead_of_exact
from ..families import AUTO, FAMILIES, FamilyRow, families_of
from ..findings import BAD
from ..inference.chains import Persistent
from ..inference.elimination.engine import Elimination
from ..learning.sparse_path import sparse_start
from ..likelihood import Likelihood
from ..methods import EDGES, Custom, ReversibleJump
from ..methods.edges import EXTRAPOLATED
from ..methods.rows import refusal, row_of
from ..models.bases import edge_starts, has_lines
from ..models.boltzmann import Coding
from ..models.categorical import is_categorical
from ..models.node_features import require_invariant
from ..names import one_of, shown
from ..parameters import SpikeSlabParameters
from ..posterior.conditionals.pair_tables import pair_tables
from ..posterior.edges.exact import SpikeSlabExact
from ..posterior.edges.exact_tables import SpikeSlabTables
from ..posterior.edges.langevin import SpikeSlabLangevin
from ..posterior.edges.many_states import SpikeSlabManyStates
from ..posterior.edges.reference import SpikeSlabReference
from ..posterior.edges.spike_slab import iterations_of
from ..posterior.edges.two_states import ITERATIONS, SpikeSlabTwoStates
from ..priors import SpikeSlab
from ..results import add_partition, convergence
from ..results.blocks import Columns, variable
from ..results.communities import communities_of
from ..results.display import display_in
from ..results.median_model import in_median_model
from ..results.stored import Kept
from ..runs import run
from .edge_evidence import WithEvidence, terms_of_edges
from .edge_prior import (
    as_attribute,
    constants,
    default_prior,
    in_order,
    like,
    named_pairs,
    possible,
    warn_of_prior,
    warn_of_taper,
    warn_of_wide_slab,
)
from .edge_start import EXTRAPOLATES, default_particles, find_reference
from .engines import particle_sweeps, read_sample
from .own_kernels import engine_used, own_method_of_edges
from .pipeline import Posterior, Setup, completed

_SCANS, _TABLE = 10, 2**15  # scans that make a step with many states, at most, and states that they read
_EXACT = 2**19  # joint states with which "auto" is "exact": up to 10 ms a scan
_EXACT_BINARY = 2**16  # the same for yes/no nodes: with 16, twice the effective draws a second of reversible-jump


@dataclass(eq=False, repr=False)
class SpikeSlabMRF(SpikeSlabParameters, WithEvidence, Posterior):
    r"""Posterior over edges and parameters of a Markov random field (Chen and Welling 2012).

    Each candidate edge is absent with probability 1 - p0 (the spike), and has a normal or Cauchy weight otherwise (the
    slab); see `bayesmrf.priors.SpikeSlab`.

    Parameters
    ----------
    candidates : "complete", edges, DataFrame, networkx graph or `Graph`
        Edges that may exist.
    prior : "spike-slab" or `priors.SpikeSlab`
        Prior of the density (the share of the candidates that exist), of the weights and of the biases, such as
        ``SpikeSlab(density=Beta(5, 5), slab=Cauchy(2.5))``, whose scales are those of the parameters of ``model``.
        Pairs may have probabilities of their own, and are no candidates where these are 0; or nodes may be in blocks,
        which are learnt.
        "spike-slab" is the same prior in all codings: a uniform density, and Cauchy log odds ratios of scale 1.
    method : {"auto", "reversible-jump", "exact", "langevin"} or an object of `bayesmrf.methods`
        * auto: exact for at most 16 yes/no nodes, or nodes of more states with at most 2^19 joint states (eight nodes
          with five), else reversible-jump. ``method_`` says which.
        * reversible-jump (`methods.ReversibleJump`): single-edge birth and death at any weight, by the full conditional
          of one edge with moments from persistent chains.
        * exact (`methods.Exact`): the same with exact moments; for at most about twenty nodes, or a narrow graph.
        * langevin (`methods.LangevinJumps`): Algorithm 1 of the paper: persistent chains, Langevin dynamics, and jumps
          of weak edges. It mixes hundreds of times more slowly (see benchmarks).

        ``methods.Custom`` makes your own kernel from the likelihood and the prior.
    model : {"auto", "boltzmann", "ising", "agreement", "potts", "ordinal"}, object of `bayesmrf.families` or callable
        Coding of the parameters, as in `BayesianMRF`. Nodes with many states are "ordinal" if these are in order (which
        "auto" chooses), else "potts". A callable makes your own model (`families.Custom`), a
        `bayesmrf.models.two_arrays.PairwiseModel` with fields and one parameter for each edge.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint
        As in `GroupedMRF`. A draw takes 8 bytes for each edge that exists, and at most two bits for each candidate.
    columns
        As in `GroupedMRF`.

    Attributes
    ----------
    inclusion_ : (n_nodes, n_nodes) array
        Probability that an edge exists, given the data; symmetric, 0 without a candidate.
    graph_ : networkx.Graph
        The edges with inclusion above 0.5, with attributes ``inclusion`` and ``weight``; nodes have ``bias``.
    theta_ : (n_features,) array
        Posterior mean of each candidate's weight given that the edge exists (0 if it never does), and of each bias.
    density_, slab_scale_ : float
        Posterior means of p0 (where each edge has its own probability, their mean) and of the slab's scale (sigma0, or
        the given one).
    communities_ : (n_nodes,) int array
        Where the prior has blocks of nodes (``SpikeSlab(density=Blocks())``), the community of each, from 1: the
        partition with the least expected variation of information.
    method_, model_ : str
        Names of the method and of the model.
    missing_ : DataFrame
        Row and node of each missing value of X, and the posterior probability that it is 1 (True; for "potts", of each
        state).
    posterior_ : xarray.DataTree
        Draws in ArviZ's form. Those of many candidates become arrays when ``.values`` are first asked for.
    edges_ : (n_edges, 2) int array
        The candidates.
    feature_names_ : (n_features,) array of str
        Names of ``theta_``: ``u-v`` for a candidate edge, ``u`` for a node.
    """

    _readers = {"method": EDGES.read, "model": families_of("SpikeSlabMRF").read}  # noqa: RUF012
    _edges_option = "candidates"
    _of_edges = ("prior",)

    def _object(self, name: str) -> Any:
        """Return the value of a parameter as an object."""
        is_default = name == "prior" and isinstance(self._settings.prior, str)
        return default_prior(self._object("model")) if is_default else super()._object(name)

    def _read(
        self, X: Any, sample_weight: Any, missing: bool = False, progress: bool = False, survey_weight: Any = None
    ) -> States:
        states = super()._read(X, sample_weight, missing, progress, survey_weight)
        self._graph = possible(self._graph, self._object("prior"))
        self.edges_ = self._graph.edges
        return states

    def _asked(self) -> np.ndarray:
        return super()._asked() | named_pairs(self._object("prior"), self._graph)

    def _kept(self) -> Kept:
        kept = super()._kept()
        return kept._replace(parameters=kept.parameters | {"prior": in_order(self._settings.prior, self._graph)})

    def _target(self, parts: list[States], request: None) -> Setup:
        (states,), model, prior = parts, self._model(), in_order(self._object("prior"), self._graph)
        require_invariant(prior, model)
        family = FAMILIES.find(self._family) or like(model)
        row = row_of(_automatic(family, states) if self._settings.method == AUTO else self._settings.method, EDGES)
        features = ["spike", "missing"] if (states.values < 0).any() else ["spike"]
        if refused := refusal(row, EDGES, features, model.name, family.name):
            raise refused
        is_own = row.options is Custom
        tilted = ["exact", "reversible-jump"] if is_categorical(model) else ["exact"]
        if prior.biases is not None and not (is_own or row.name in tilted):
            of = f"a logistic-beta prior of the biases with {argument('model', model.name)}"
            raise OptionError(option="method", got=row.name, expected=f"{one_of([*map(repr, tilted)])} for {of}")
        method = row.options() if isinstance(self._settings.method, str) else self._settings.method
        # A chain that leaves the distribution of the hidden entries invariant suffices.
        sample = read_sample(model, states, Persistent(), n_chains=1)
        s_bar, hidden, n = sample.s_bar, sample.hidden, states.n_samples
        data = Likelihood(model, s_bar, n, Persistent(), hidden)  # only for what is hidden
        kernel: Any
        if is_own:
            kernel, row = own_method_of_edges(EDGES, method, data, prior)
            sweeps = particle_sweeps(engine_used(kernel, model))
        else:
            reference = None
            moments = method.moments if row.options is ReversibleJump else None
            if moments == AUTO and method.n_particles is not None:
                moments = None  # those of so many chains
            if hidden is None and row.name != "exact" and not (moments == "chains" or is_categorical(model)):
                reference = find_reference(model, s_bar, n, prior, moments)
            start = _start(model, states) if reference is None else Coding.of(model).theta(model, reference.theta)
            problem = _Problem(model, s_bar, n, prior, start, reference, self._settings.n_warmup, states)
            with instead_of_exact(argument("method", "reversible-jump")):
                kernel = _KERNELS[row.name](method, problem)
            row = EXTRAPOLATED if isinstance(kernel, SpikeSlabReference) else row
            sweeps = kernel.particle_sweeps
        attrs: dict[str, Any] = {
            "prior": as_attribute(prior),
            "kind": row.kind,
            "camp": "" if is_own else shown(", ".join(kernel.camp)),
        }
        if not is_own:
            options = asdict(method)
            attrs |= dict.fromkeys(options) if row is EXTRAPOLATED else options  # without dynamics
            attrs |= {"moments": "extrapolated" if row is EXTRAPOLATED else "chains"} if "moments" in options else {}
            attrs |= {"n_particles": kernel.n_particles} if "n_particles" in options else {}
        constant = constants(prior, self._graph)
        terms = terms_of_edges(model, n, prior, row.name == "exact")
        return Setup(parts, data, completed(kernel, data), row.name, attrs, sweeps, constant=constant, edges=terms)

    def _summarise(self) -> None:
        super()._summarise()
        share = Columns(variable(self.posterior_, "included")).means()
        self.inclusion_ = self._symmetric(share)
        starts = display_in(self.posterior_).edge_starts
        self.theta_[: starts[-1]] /= np.repeat(np.where(share > 0, share, 1), np.diff(starts))
        self.density_, self.slab_scale_ = self._mean("density"), self._mean("slab_scale")
        if (found := communities_of(self.posterior_)) is not None:
            self.communities_ = found.allocation
            if found.point is None:
                add_partition(self.posterior_, "blocks", found.allocation - 1)

    def _doubt(self, setup: Setup, draws: run.Draws, has_converged: bool) -> None:
        prior, data, scales = self._object("prior"), setup.likelihood, np.asarray(draws.fields["slab_scale"])
        seen = data.s_bar if data.hidden is None else None
        # Langevin dynamics may start without edges, and stay there however little theta varies.
        is_sure = self.method_ != "langevin" and (
            bool(in_median_model(self.inclusion_).any())
            or all(s != BAD for s, _ in convergence.of_chains(self.posterior_))
        )
        weights = Columns(variable(self.posterior_, "theta"), 0, int(edge_starts(data.model)[-1]))
        if has_lines(data.model):
            warn_of_prior(weights, scales.ravel(), prior, data.model, seen, data.n_samples, is_sure)
        is_own = isinstance(self._settings.method, Custom)
        if not is_own and self.method_ != "langevin":
            warn_of_taper(prior.slab)
        if not is_own and self.method_ != "exact":
            warn_of_wide_slab(scales, prior, data.model, data.n_samples)


def _automatic(family: FamilyRow, states: States) -> str:
    """Return the method that "auto" stands for."""
    if states.n_states ** len(states.names) <= (_EXACT if family.many_states else _EXACT_BINARY):
        return "exact"
    return "reversible-jump"


def _start(model: Any, states: States) -> np.ndarray | None:
    """Return the sparse estimate of `sparse_start` in the coding of the model; None where there is none."""
    weights = None if states.n_states > 2 else sparse_start(model.graph, states)
    return None if weights is None else Coding.of(model).theta(model, weights)


class _Problem(NamedTuple):
    """What a kernel is made for."""

    model: Any
    s_bar: np.ndarray
    n: float
    prior: SpikeSlab
    start: np.ndarray | None
    reference: Any
    n_warmup: int
    states: States


def _exact(_: Any, p: _Problem) -> Kernel:
    # Structures of ordered categories exchange slowly, and scans of small tables are fast.
    model = p.model
    n_scans = int(np.clip(_TABLE // model.n_states**model.graph.n_nodes, 1, _SCANS)) if model.n_states > 2 else 1
    if not has_lines(model):
        return SpikeSlabTables(Likelihood(model, p.s_bar, p.n, Elimination()), p.prior, p.start, n_scans)
    return SpikeSlabExact(Likelihood(model, p.s_bar, p.n, Elimination()), p.prior, p.start, n_scans)


def _reversible_jump(options: Any, p: _Problem) -> Kernel:
    if options.moments == "extrapolated" and p.reference is None:
        expected = f"'auto' or 'chains' unless there are {EXTRAPOLATES}"
        raise OptionError(option="moments", got=options.moments, expected=expected)
    if p.reference is not None and options.n_particles is None:
        _refuse_dynamics(options)
        n_scans = max(1, round(iterations_of(options, ITERATIONS, False) * p.model.graph.n_nodes / p.model.n_edges))
        return SpikeSlabReference(p.model, p.s_bar, p.n, p.reference, p.prior, p.start, n_scans)
    if options.n_particles is None:
        options = replace(options, n_particles=default_particles(p.n))
    given = p.model, p.s_bar, p.n, p.prior, p.start, options, p.n_warmup
    if is_categorical(p.model):
        return SpikeSlabManyStates(*given, pair_tables(p.model, p.states.values, p.states.weights))
    return SpikeSlabTwoStates(*given)


def _refuse_dynamics(options: ReversibleJump) -> None:
    """Raise OptionError for options of dynamics where moments are extrapolated; defaults are not given ones."""
    for name in ("epsilon", "momentum"):
        if (got := getattr(options, name)) != getattr(ReversibleJump, name):
            expected = "omitted where moments are extrapolated from one point"
            remedy = f"remove it, or give {argument('moments', 'chains')}"
            raise OptionError(option=name, got=got, expected=expected, remedy=remedy)


def _langevin(options: Any, p: _Problem) -> Kernel:
    return SpikeSlabLangevin(p.model, p.s_bar, p.n, p.prior, p.start, options)


_KERNELS = {"exact": _exact, "reversible-jump": _reversible_jump, "langevin": _langevin}
