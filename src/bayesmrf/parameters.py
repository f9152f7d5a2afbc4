"""Parameters of the estimators that commands fit, each declared once, at its field.

The estimator inherits the fields. From them follow its check before a fit, the entry in the docstring and in the
reference of the site, the flag of the command with its help text and the passing-on, and the label in reports. An
option with a help text has a flag; `bayesmrf --help` reads this module, which imports neither numpy nor an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .declare.option import option
from .declare.registries import Registry
from .declare.rule import ENGINE, FLAG, PRIOR, SLAB, WITH_DATA, choice, either, instance
from .families import AUTO, families_of, model_rule
from .inference.registry import NAMES
from .methods import COMPARISONS, EDGES, GROUPS, KERNELS

_CANDIDATES = "all pairs, or two columns, the ends of each (column names, or numbers from 0)."
_GRAPH = "A file with the two ends of each edge (column names, or numbers from 0); all pairs; or K learnt edges."
_SPIKE_SLAB = either(choice("spike-slab"), instance("priors", "SpikeSlab"))


def _models(estimator: str, yes_no: str) -> str:
    """Describe the models of an estimator; ``yes_no`` is what "auto" is for yes/no columns."""
    rows = families_of(estimator)
    nominal = "nominal if columns have categories without order, " if "nominal" in rows.names else ""
    chosen = f"auto is {nominal}ordinal if columns have more than two ordered levels, else {yes_no}. "
    return chosen + "; ".join(f"{row.name}: {row.brief}" for row in rows) + "."


def _methods(rows: Registry[Any], auto: str) -> str:
    """Describe the methods of an estimator; ``auto`` says which is chosen."""
    return f"auto is {auto}. {'; '.join(f'{row.name}: {row.brief}' for row in rows)}."


@dataclass(eq=False, repr=False)
class GroupedParameters:
    """Parameters of `bayesmrf.GroupedMRF`."""

    graph: Any = option("complete", WITH_DATA, f"{_GRAPH} Or give --candidates.", metavar="EDGES.csv|complete|learn:K")
    candidates: Any = option(
        None, WITH_DATA, "Instead of --graph: edges that may exist or be absent.", metavar="EDGES.csv|complete"
    )
    model: Any = option(AUTO, model_rule("GroupedMRF"), _models("GroupedMRF", "agreement"))
    fields: bool | str = option(True, choice(False, True, "grouped"))
    prior: Any = option(
        "dirichlet-process", either(choice("dirichlet-process"), instance("priors", "DirichletProcess"))
    )
    method: Any = option(
        AUTO,
        GROUPS.rule_with_own(AUTO),
        _methods(GROUPS, "tree on forests without node fields, else exact if that is cheap, else particle"),
    )


@dataclass(eq=False, repr=False)
class BayesianParameters:
    """Parameters of `bayesmrf.BayesianMRF`."""

    graph: Any = option("complete", WITH_DATA, _GRAPH, metavar="EDGES.csv|complete|learn:K")
    model: Any = option(AUTO, model_rule("BayesianMRF"), _models("BayesianMRF", "boltzmann"))
    ties: Any = option(
        None,
        WITH_DATA,
        "Shared parameters: all (one for all edges, one for all nodes); edges (one for all edges); or a file with a "
        "label for each edge (two ends and a label) or node (a name and a label). Equal labels are tied.",
        metavar="all|edges|LABELS.csv",
        unset="none",
    )
    prior: Any = option("normal", either(choice("normal"), instance("priors", "WeightsAndBiases"), PRIOR))
    kernel: Any = option(
        AUTO,
        KERNELS.rule_with_own(AUTO),
        "Kernel that updates the parameters; auto is the fastest that engine and data allow: gibbs, hamiltonian, "
        "metropolis, exchange or langevin.",
    )
    engine: Any = option(
        AUTO,
        ENGINE,
        f"How the normaliser is computed or approximated: {', '.join(NAMES)}. Exchange and auxiliary-variable take "
        "gibbs, tempered, swendsen-wang, cftp and the exact ones. auto is exact if that is cheap, else persistent, "
        "with kernel langevin (of exchange and auxiliary-variable gibbs; the other kernels need exact).",
        metavar="NAME",
    )


@dataclass(eq=False, repr=False)
class SpikeSlabParameters:
    """Parameters of `bayesmrf.SpikeSlabMRF`."""

    candidates: Any = option(
        "complete", WITH_DATA, f"Edges that may exist: {_CANDIDATES}", metavar="complete|EDGES.csv"
    )
    prior: Any = option("spike-slab", _SPIKE_SLAB)
    method: Any = option(
        AUTO,
        EDGES.rule_with_own(AUTO),
        _methods(EDGES, "exact for up to 16 yes/no columns or eight of five levels, else reversible-jump"),
    )
    model: Any = option(AUTO, model_rule("SpikeSlabMRF"), _models("SpikeSlabMRF", "boltzmann"))


@dataclass(eq=False, repr=False)
class CompareParameters:
    """Parameters of `bayesmrf.CompareMRF`."""

    candidates: Any = option(
        "complete", WITH_DATA, f"Edges that may have a weight: {_CANDIDATES}", metavar="complete|EDGES.csv"
    )
    prior: Any = option("spike-slab", _SPIKE_SLAB)
    baseline: Any = option(
        "slab",
        either(choice("slab", "spike-slab"), SLAB, instance("priors", "SpikeSlab")),
        "Prior of the weight of an edge, averaged over groups: --slab for every edge; or --slab and a spike, so that "
        "edges may be absent, with a share of its own that is uniform.",
        label="baseline",
    )
    biases: str = option(
        "free",
        choice("free", "slab", "spike-slab"),
        "Whether the parameters of nodes are free in each group; or have differences, with the prior --slab; or may "
        "differ or not, as edges.",
        label="biases",
    )
    method: Any = option(
        AUTO, COMPARISONS.rule_with_own(AUTO), _methods(COMPARISONS, "exact if that is cheap, else reversible-jump")
    )
    model: Any = option(AUTO, model_rule("CompareMRF"), _models("CompareMRF", "boltzmann"))


@dataclass(eq=False, repr=False)
class PanelParameters:
    """Parameters of `bayesmrf.PanelMRF`."""

    prior: Any = option("spike-slab", _SPIKE_SLAB)
    within: bool = option(False, FLAG, "Edges within a wave, too.")
    intercepts: str = option(
        "common",
        choice("common", "own"),
        "own: each person has an intercept of each item, given the first wave.",
    )
    model: str = option(
        AUTO,
        choice(AUTO, "boltzmann", "ordinal"),
        "boltzmann: yes/no items; ordinal: ordered levels. auto chooses by the levels.",
    )
    method: str = option(
        AUTO,
        choice(AUTO, "exact", "chains"),
        "How Z is followed with --within. exact: by all states of a row, for about twelve yes/no items; chains: by "
        "persistent chains of each row before. auto: exact where that is fast.",
    )
