"""Methods of `BayesianMRF` and `LabelFieldMRF`: kernels of parameters, and what they support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base import LOG_Z, MOMENTS, SAMPLE, Kind
from ..declare.option import Checked, option
from ..declare.registries import Registry
from ..declare.rule import FLAG, MOMENTUM, PROBABILITY, STEP, choice, integer, optional
from ..errors import OptionError
from ..names import one_of
from ..plugins import OpenRegistry
from .rows import Custom

START = choice("mode", "zero")
AROUND = "Where chains start: around the mode, or at 0."
_KEPT = "Share of the momentum that is kept, in [0, 1)."


@dataclass(frozen=True)
class Metropolis(Checked):
    """Random walk, one coordinate at a time (`bayesmrf.posterior.parameters.metropolis`).

    Parameters
    ----------
    step_size
        0.1 in the paper. None (default) uses multiples of the standard deviations at the mode: of each parameter given
        the others or, if parameters are strongly correlated, of up to 500 uncorrelated combinations. The multiple is
        adapted during warm-up to an acceptance of 0.44.
    start
        With "mode" the mode is that of the posterior (of the pseudo-posterior, if exact inference is expensive), and
        chains start with two posterior standard deviations, so that R-hat can detect a lack of convergence. "zero" is
        theta = 0, as in the paper.
    """

    step_size: float | None = option(
        None, optional(STEP), "Standard deviation of the proposals.", label="step size", unset="adapted during warm-up"
    )
    start: str = option("mode", START, AROUND)


@dataclass(frozen=True)
class Gibbs(Checked):
    """One parameter after another from its exact full conditional (`bayesmrf.posterior.parameters.coordinate_gibbs`).

    It needs an exact engine, and a normal or Cauchy prior.

    Parameters
    ----------
    start
        As in `Metropolis`.
    """

    start: str = option("mode", START, AROUND)


@dataclass(frozen=True)
class Langevin(Checked):
    """Langevin dynamics (`bayesmrf.posterior.parameters.langevin`).

    Parameters
    ----------
    epsilon
        None (default) adapts it during warm-up to an acceptance of 0.574 (more with momentum) if steps are accepted or
        rejected; otherwise it is such that, for the curvature at the mode, no variance is more than 5 % too large.
    precondition
        Of more than 500 parameters: by the standard deviation of each given the others. None (default) does so if
        ``epsilon`` is None.
    start
        As in `Metropolis`.
    """

    epsilon: float | None = option(
        None, optional(STEP), "Step size.", label="step epsilon", unset="adapted if adjusted, else from the mode"
    )
    momentum: float = option(0.0, MOMENTUM, _KEPT, label="share of momentum kept")
    precondition: bool | None = option(
        None,
        choice(None, False, True),
        "Scale the steps by the covariance at the mode.",
        label="preconditioned",
        unset="without epsilon",
    )
    adjusted: bool = option(
        False, FLAG, "Accept or reject the steps; the engine must compute log Z.", label="accept step"
    )
    start: str = option("mode", START, AROUND)


@dataclass(frozen=True)
class Hamiltonian(Checked):
    """Hamiltonian dynamics that stop where they would turn back (`bayesmrf.posterior.parameters.hamiltonian`).

    Step size and mass matrix are adapted during warm-up; the latter starts from the curvature at the mode. The engine
    must answer log Z and moments.

    Parameters
    ----------
    target
        Raise it if trajectories diverge.
    start
        As in `Metropolis`.
    """

    target: float = option(0.8, PROBABILITY, "Mean acceptance to which the step size is adapted.")
    max_depth: int = option(10, integer(1, 20), "A trajectory has at most 2^max_depth points.")
    start: str = option("mode", START, AROUND)


@dataclass(frozen=True)
class PseudoPosterior(Checked):
    """Adjusted Langevin dynamics on the pseudo-likelihood instead of the likelihood.

    Parameters
    ----------
    corrected
        See Bouranis et al. 2017.
    start
        As in `Metropolis`.
    """

    momentum: float = option(0.0, MOMENTUM, _KEPT, label="share of momentum kept")
    corrected: bool = option(
        False,
        FLAG,
        "Transform the draws to the location and scale of the true posterior at the mode.",
        label="corrected at the mode",
    )
    start: str = option("mode", START, AROUND)


ANY_KIND = frozenset(Kind)
WIDEST = 100.0  # scale of a prior under which weights of states are computed; beyond, they overflow


@dataclass(frozen=True)
class KernelRow:
    """A kernel.

    Its builder is called with the options and a `bayesmrf.estimators.parameter_kernels.Problem`, and returns a kernel,
    whose first draw is checked, or a `bayesmrf.methods.rows.Built`.
    """

    name: str
    options: type
    needs: frozenset[str]  # what the engine must compute, with the default options
    engines: frozenset[Kind] = ANY_KIND  # engines for which "auto" may choose it
    # Classes of priors for which "auto" may choose it, with scales up to `WIDEST`; empty for every one with a gradient
    priors: tuple[str, ...] = ()
    missing: bool = True  # whether it supports missing values
    # Whether it sums over missing values, which needs the same answers of their engine; otherwise it draws them
    sums: bool = True
    many_states: bool = True  # whether it supports nodes with more than two states
    tables: bool = True  # whether it supports edges with a table of parameters
    ties: bool = True  # whether it supports tied parameters
    # Whether "auto" chooses it only where a table of all states is the fastest way to sum over them
    by_table: bool = False
    kind: str = "exact"  # "exact" if the engine is, or "approximate (...)"
    build: Any = ""  # the builder, or where it is, such as "walks.kernel:build"


# In the order in which "auto" prefers them: by effective samples a second (benchmarks/README.md), exact ones first.
KERNELS = OpenRegistry(
    "kernel",
    "methods",
    [
        KernelRow(
            "gibbs",
            Gibbs,
            frozenset({MOMENTS}),
            engines=frozenset({Kind.EXACT}),
            priors=("Normal", "Cauchy"),
            sums=False,
            ties=False,
            by_table=True,
            tables=False,
            build="bayesmrf.estimators.parameter_kernels:gibbs",
        ),
        KernelRow(
            "hamiltonian",
            Hamiltonian,
            frozenset({LOG_Z, MOMENTS}),
            # Bounds have kinks and jumps, where trajectories end.
            engines=frozenset({Kind.EXACT, Kind.APPROXIMATE}),
            build="bayesmrf.estimators.parameter_kernels:hamiltonian",
        ),
        KernelRow(
            "metropolis", Metropolis, frozenset({LOG_Z}), build="bayesmrf.estimators.parameter_kernels:metropolis"
        ),
        KernelRow(
            "langevin",
            Langevin,
            frozenset({MOMENTS}),
            kind="approximate (uncorrected Langevin)",
            build="bayesmrf.estimators.parameter_kernels:langevin",
        ),
        KernelRow(
            "pseudo-posterior",
            PseudoPosterior,
            frozenset(),
            missing=False,
            many_states=False,
            kind="approximate (pseudo-likelihood)",
            build="bayesmrf.estimators.parameter_kernels:pseudo_posterior",
        ),
    ],
)
LABEL_KERNELS = OpenRegistry(
    "kernel",
    "methods",
    [
        KERNELS.rows[[row.name for row in KERNELS.rows].index("metropolis")],
        KernelRow("langevin", Langevin, frozenset({MOMENTS}), build="bayesmrf.estimators.label_field:langevin"),
    ],
)


class Setting(NamedTuple):
    """What "auto" must support."""

    answers: frozenset[str]  # what the engine computes; not ``log_z`` if that is random
    kind: Kind  # of the engine
    # What the engine of missing values computes, with ``sample`` for every chain; None if nothing is missing
    hidden: frozenset[str] | None
    prior: Any
    ties: bool  # whether parameters are tied
    by_table: bool  # whether a table of all states is the fastest way to sum over them


def row_of(options: Any, rows: Registry[KernelRow] = KERNELS) -> KernelRow:
    """Return the row of a kernel; of a user-defined one, a row that supports everything, as the kernel itself checks.

    Raises
    ------
    OptionError
    """
    if isinstance(options, Custom):
        return KernelRow("custom", Custom, frozenset(), kind=options.kind)
    return rows.row(options)


def choose_kernel(setting: Setting) -> Any:
    """Return the options of the kernel that "auto" stands for: the first row of `KERNELS` that supports a setting.

    Without any, it is that of "metropolis", which says what it lacks.
    """
    row = next((row for row in KERNELS if _supports(row, setting)), KERNELS.row("metropolis"))
    return row.options()


def takes_prior(row: KernelRow, prior: Any) -> bool:
    """Return whether a kernel supports a prior."""
    import numpy as np

    from .. import priors

    known = tuple(getattr(priors, name) for name in row.priors)
    return not known or (isinstance(prior, known) and bool(np.max(prior.scale) <= WIDEST))


def _supports(row: KernelRow, s: Setting) -> bool:
    of_hidden = row.needs if row.sums else {SAMPLE}
    return (
        bool(row.needs)
        and row.needs <= s.answers
        and (s.hidden is None or of_hidden <= s.hidden)
        and s.kind in row.engines
        and takes_prior(row, s.prior)
        and (row.ties or not s.ties)
        and (s.by_table or not row.by_table)
    )


def refusal(row: KernelRow, many_states: bool, missing: bool, tables: bool = False) -> OptionError | None:
    """Return the error if a kernel does not support many states a node, missing values, or tables of edges, or None."""
    if many_states and not row.many_states:
        able, what = [repr(r.name) for r in KERNELS if r.many_states], "nodes with more than two states"
    elif tables and not row.tables:
        able, what = [repr(r.name) for r in KERNELS if r.tables and r.many_states], "edges with a table of parameters"
    elif missing and not row.missing:
        able, what = [repr(r.name) for r in KERNELS if r.missing], "missing values"
    else:
        return None
    return OptionError(option="kernel", got=row.name, expected=f"{one_of(able)} for {what}")
