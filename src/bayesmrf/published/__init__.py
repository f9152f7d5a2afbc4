"""Samplers as they were published: rows that a plug-in registers, with the names that estimators and commands take.

They serve comparisons and reproductions: the other methods of `bayesmrf.methods` mix faster, or have less bias. Each
algorithm has a file, which is imported when its kernel is built.
"""

from __future__ import annotations

from typing import Any

from ..base import SAMPLE
from ..methods import EDGES, EVIDENCE, GROUPS, KERNELS, LABEL_KERNELS
from ..methods.evidence import DRAWS, MODE, EvidenceRow
from ..methods.parameters import KernelRow
from ..methods.rows import MANY_STATES, OF_EDGES, YES_NO, MethodRow, on
from .options import AuxiliaryParticles, AuxiliaryVariable, Exchange, LangevinJumps, StrippedBeta, Tree

__all__ = ["AuxiliaryParticles", "AuxiliaryVariable", "Exchange", "LangevinJumps", "StrippedBeta", "Tree"]

_AGREEMENTS = dict.fromkeys(("groups", "fields"), on("agreement"))
_AUXILIARY = frozenset({SAMPLE})
_EXCHANGE = KernelRow("exchange", Exchange, _AUXILIARY, sums=False, build="bayesmrf.published.exchange:build")
_HARMONIC, _SCORES = "bayesmrf.published.harmonic:HarmonicMean", "bayesmrf.published.criteria"
_ROWS: tuple[tuple[Any, str, Any], ...] = (
    (EDGES, "", MethodRow(
        "langevin", LangevinJumps,
        "Langevin dynamics of the weights, and reversible jumps of weak edges (Algorithm 1 of Chen and Welling)",
        "the published algorithm, in which only weak edges come and go",
        "approximate (moments from persistent chains)", dict.fromkeys(OF_EDGES, YES_NO | MANY_STATES),
        "no step of a weight is accepted or rejected, and moments are estimates by finitely many particles",
        "bayesmrf.published.langevin:build", births="weak")),
    (GROUPS, "exact", MethodRow(
        "tree", Tree, "Gibbs sampling with Beta conditionals, on a forest", "exact, on forests without node fields",
        "exact", {"groups": on("agreement")}, build="bayesmrf.published.tree:build", on_forests=True)),
    (GROUPS, "", MethodRow(
        "auxiliary-variable", AuxiliaryParticles, "Metropolis-Hastings with particles (Algorithm 1 of Liu and Page)",
        "close to the posterior, and slow", "approximate (particles from 50 Gibbs sweeps)", _AGREEMENTS,
        "close to the posterior, but not the posterior itself however long the run",
        "bayesmrf.published.auxiliary_particles:build")),
    (GROUPS, "", MethodRow(
        "stripped-beta", StrippedBeta, "the likelihood of each edge replaced by a Beta density",
        "rough and fast, on any graph", "approximate (stripped Beta likelihood)", _AGREEMENTS,
        "fast on any graph, but it finds more groups than the posterior has",
        "bayesmrf.published.stripped_beta:build")),
    (KERNELS, "langevin", _EXCHANGE),
    (LABEL_KERNELS, "metropolis", _EXCHANGE),
    (KERNELS, "pseudo-posterior", KernelRow(
        "auxiliary-variable", AuxiliaryVariable, _AUXILIARY, sums=False,
        build="bayesmrf.published.auxiliary_variable:build")),
    (EVIDENCE, "bridge-geometric", EvidenceRow(
        "map", f"{_SCORES}:MAP", "score", MODE, "Log posterior density at its mode.", stream=2)),
    (EVIDENCE, "bridge-geometric", EvidenceRow(
        "bic", f"{_SCORES}:BIC", "approximate", "the maximum of the likelihood",
        "Bayesian information criterion, with the prior.", stream=3)),
    (EVIDENCE, "bridge-geometric", EvidenceRow(
        "harmonic-1", _HARMONIC, "consistent", DRAWS,
        "Harmonic mean of the likelihood; its variance may be infinite.", stream=4)),
    (EVIDENCE, "bridge-geometric", EvidenceRow(
        "harmonic-4", _HARMONIC, "approximate", DRAWS, "Harmonic mean, stabilised by a share of the prior.",
        {"variant": 4}, stream=5)),
    (EVIDENCE, "ais", EvidenceRow(
        "dic", "bayesmrf.published.dic:DIC", "score", DRAWS, "Deviance information criterion, as -DIC / 2.",
        stream=8)),
    (EVIDENCE, "conjugate", EvidenceRow(
        "cross-validation", "bayesmrf.published.cross_validation:CrossValidation", "score", "a mode for each fold",
        "Log likelihood of held-out observations.", stream=10)),
)  # fmt: skip
for registry, before, row in _ROWS:
    registry.register(row, before)
