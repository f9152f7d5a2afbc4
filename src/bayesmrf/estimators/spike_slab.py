"""Which edges exist: posterior of a network's structure and parameters under a spike-and-slab prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers.networks import symmetric
from ..answers.result import Priors
from ..data.states import States
from ..errors import argument, instead_of_exact
from ..families import AUTO, FAMILIES, FamilyRow, families_of
from ..findings import BAD
from ..inference.chains import Persistent
from ..likelihood import Likelihood
from ..methods import EDGES
from ..methods.rows import refusal, row_of, stored_options
from ..models.bases import edge_starts, has_lines
from ..models.node_features import require_invariant_biases
from ..parameters import SpikeSlabParameters
from ..results import add_partition, convergence
from ..results.blocks import Columns, mean_of, variable
from ..results.communities import communities_of
from ..results.display import display_in
from ..results.median_model import in_median_model
from ..runs import run
from .bank_error import judge_bank
from .built_kernels import edge_method
from .edge_evidence import evidence_table, terms_of_edges
from .edge_methods import EdgeProblem
from .edge_prior import (
    as_attribute,
    constants,
    default_prior,
    in_order,
    like,
    possible,
    warn_of_prior,
    warn_of_taper,
    warn_of_wide_slab,
)
from .engines import read_sample
from .fitted_priors import spiked_priors
from .network import Traits
from .pipeline import Setup, completed
from .posterior import Posterior

_EXACT = 2**19  # joint states with which "auto" is "exact": up to 10 ms a scan
_EXACT_BINARY = 2**16  # the same for yes/no nodes: with 16, twice the effective draws a second of reversible-jump


@dataclass(eq=False, repr=False)
class SpikeSlabMRF(SpikeSlabParameters, Posterior):
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
        * reversible-jump (`methods.ReversibleJump`): birth and death of edges at any weight, with log Z from a bank of
          states, or by the full conditional of one edge with moments from persistent chains.
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

    Examples
    --------
    >>> from bayesmrf import SpikeSlabMRF, datasets
    >>> men = datasets.coronary()
    >>> est = SpikeSlabMRF(n_draws=500, random_state=1, progress=False)
    >>> est = est.fit(men.drop(columns="count"), sample_weight=men["count"])
    >>> print(est.table("edges")[["first", "second", "evidence"]].head(3).to_string(index=False))
    first second evidence
        A      C included
        A      E included
        B      C included
    """

    _readers = {"method": EDGES.read, "model": families_of("SpikeSlabMRF").read}  # noqa: RUF012
    _edges_option = "candidates"
    _traits = Traits(priors=("prior",))

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

    evidence_table = evidence_table

    def _priors(self) -> Priors:
        return spiked_priors(self._graph, self._object("prior"))

    def _target(self, parts: list[States], request: None) -> Setup:
        (states,), model, prior = parts, self._model(), in_order(self._object("prior"), self._graph)
        require_invariant_biases(prior, model)
        family = FAMILIES.find(self._family) or like(model)
        row = row_of(_automatic(family, states) if self._settings.method == AUTO else self._settings.method, EDGES)
        features = ["spike", *(["missing"] if (states.values < 0).any() else [])]
        features += [] if prior.biases is None else ["biases"]
        if refused := refusal(row, EDGES, features, model.name, family.name):
            raise refused
        method = row.options() if isinstance(self._settings.method, str) else self._settings.method
        # A chain that leaves the distribution of the hidden entries invariant suffices.
        sample = read_sample(model, states, Persistent(), n_chains=1)
        data = Likelihood(model, sample.s_bar, states.n_samples, Persistent(), sample.hidden)
        with instead_of_exact(argument("method", "reversible-jump")):
            problem = EdgeProblem(data, prior, self._settings.n_warmup, states)
            built, row = edge_method(EDGES, row, method, problem)
        attrs = {"prior": as_attribute(prior), "kind": row.kind, "camp": ""} | stored_options(method) | built.attrs
        constant = constants(prior, self._graph)
        terms = terms_of_edges(model, states.n_samples, prior, row.name == "exact")
        kernel = completed(built.kernel, data)
        return Setup(parts, data, kernel, row.name, attrs, built.sweeps, constant=constant, edges=terms)

    def _summarise(self) -> None:
        super()._summarise()
        share = Columns(variable(self.posterior_, "included")).means()
        self.inclusion_ = symmetric(self._graph, share)
        starts = display_in(self.posterior_).edge_starts
        self.theta_[: starts[-1]] /= np.repeat(np.where(share > 0, share, 1), np.diff(starts))
        self.density_, self.slab_scale_ = mean_of(self.posterior_, "density"), mean_of(self.posterior_, "slab_scale")
        if (communities := communities_of(self.posterior_)) is not None:
            self.communities_ = communities.allocation
            if communities.point is None:
                add_partition(self.posterior_, "blocks", communities.allocation - 1)

    def _doubt(self, setup: Setup, draws: run.Draws, has_converged: bool) -> None:
        if setup.attrs.get("moments") == "bank":
            judge_bank(self.posterior_, setup.likelihood.model, setup.kernel)
        prior, data, scales = self._object("prior"), setup.likelihood, np.asarray(draws.fields["slab_scale"])
        s_bar = data.s_bar if data.hidden is None else None
        row = EDGES.find(self.method_)
        births = "" if row is None else row.births
        # Where only weak edges are born, chains may start without edges, and stay there however little theta varies.
        is_sure = births != "weak" and (
            bool(in_median_model(self.inclusion_).any())
            or all(s != BAD for s, _ in convergence.of_chains(self.posterior_))
        )
        weights = Columns(variable(self.posterior_, "theta"), 0, int(edge_starts(data.model)[-1]))
        if has_lines(data.model):
            warn_of_prior(weights, scales.ravel(), prior, data.model, s_bar, data.n_samples, is_sure)
        if births == "any":
            warn_of_taper(prior.slab)
        if births and self.method_ != "exact":
            warn_of_wide_slab(scales, prior, data.model, data.n_samples)


def _automatic(family: FamilyRow, states: States) -> str:
    """Return the method that "auto" stands for."""
    if states.n_states ** len(states.names) <= (_EXACT if family.many_states else _EXACT_BINARY):
        return "exact"
    return "reversible-jump"
