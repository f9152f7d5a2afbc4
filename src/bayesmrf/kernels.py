"""Kernels of `BayesianMRF` and `LabelFieldMRF`: their options, and what they support.

BayesianMRF(kernel=kernels.Langevin(adjusted=True))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .options import OPTIONS, Checked
from .registry import Registry


@dataclass(frozen=True)
class Metropolis(Checked):
    """Random walk, one coordinate at a time (`bayesmrf.posterior.parameters.metropolis`).

    Parameters
    ----------
    step_size : float or None
        Standard deviation of the proposals; 0.1 in the paper. None (default) uses multiples of the standard deviations
        at the mode: of each parameter given the others or, if parameters are strongly correlated, of up to 200
        uncorrelated combinations. The multiple is adapted during warm-up to an acceptance of 0.44.
    start : {"mode", "zero"}
        Where chains start: around the mode of the posterior (of the pseudo-posterior, if exact inference is expensive),
        with two posterior standard deviations, so that R-hat can detect a lack of convergence; or at theta = 0, as in
        the paper.
    """

    step_size: float | None = None
    start: str = "mode"


@dataclass(frozen=True)
class Gibbs(Checked):
    """One parameter after another from its exact full conditional (`bayesmrf.posterior.parameters.gibbs`).

    It needs an exact engine, and a normal or Cauchy prior.

    Parameters
    ----------
    start : {"mode", "zero"}
        As in `Metropolis`.
    """

    start: str = "mode"


@dataclass(frozen=True)
class Exchange(Checked):
    """The exchange algorithm (`bayesmrf.posterior.parameters.exchange`).

    Parameters
    ----------
    step_size : float or None
        As in `Metropolis`; None always uses uncorrelated combinations of the parameters.
    start : {"mode", "zero"}
        As in `Metropolis`.
    """

    step_size: float | None = None
    start: str = "mode"


@dataclass(frozen=True)
class AuxiliaryVariable(Checked):
    """The single auxiliary variable method (`bayesmrf.posterior.parameters.auxiliary_variable`).

    Parameters
    ----------
    step_size : float or None
        As in `Exchange`, with the multiple 2.4, which is not adapted.
    start : {"mode", "zero"}
        Chains start around the mode with one standard deviation, as proposals further from the reference are rarely
        accepted.
    """

    step_size: float | None = None
    start: str = "mode"


@dataclass(frozen=True)
class Langevin(Checked):
    """Langevin dynamics (`bayesmrf.posterior.parameters.langevin`).

    Parameters
    ----------
    epsilon : float or None
        Step size. None (default) adapts it during warm-up to an acceptance of 0.574 (more with momentum) if steps are
        accepted or rejected; otherwise it is such that, for the curvature at the mode, no variance is more than 5 % too
        large.
    momentum : float
        Share of the momentum that is kept, in [0, 1).
    precondition : bool or None
        Scale the steps by the covariance at the mode (of more than 200 parameters: by the standard deviation of each
        given the others). None (default) does so if ``epsilon`` is None.
    adjusted : bool
        Accept or reject the steps; the engine must compute log Z.
    start : {"mode", "zero"}
        As in `Metropolis`.
    """

    epsilon: float | None = None
    momentum: float = 0.0
    precondition: bool | None = None
    adjusted: bool = False
    start: str = "mode"


@dataclass(frozen=True)
class Hamiltonian(Checked):
    """Hamiltonian dynamics that stop where they would turn back (`bayesmrf.posterior.parameters.hamiltonian`).

    Step size and mass matrix are adapted during warm-up; the latter starts from the curvature at the mode. The engine
    must answer log Z and moments.

    Parameters
    ----------
    target : float
        Mean acceptance to which the step size is adapted; raise it if trajectories diverge.
    max_depth : int
        A trajectory has at most 2^max_depth points.
    start : {"mode", "zero"}
        As in `Metropolis`.
    """

    target: float = 0.8
    max_depth: int = 10
    start: str = "mode"


@dataclass(frozen=True)
class PseudoPosterior(Checked):
    """Adjusted Langevin dynamics on the pseudo-likelihood instead of the likelihood.

    Parameters
    ----------
    momentum : float
        Share of the momentum that is kept, in [0, 1).
    corrected : bool
        Transform the draws to the location and scale of the true posterior at the mode (Bouranis et al. 2017).
    start : {"mode", "zero"}
        As in `Metropolis`.
    """

    momentum: float = 0.0
    corrected: bool = False
    start: str = "mode"


@dataclass(frozen=True)
class Phases(Checked):
    """Engines of the two phases, if values are missing.

    Parameters
    ----------
    model : str or Engine
        Of the negative phase, the model itself; as ``engine`` of `BayesianMRF`.
    hidden : str, Engine or None
        Of the positive phase, the model clamped to the observed values. None selects the exact engine if it is cheap,
        else (and always with brief chains, which start from their states) 64 persistent chains.
    """

    model: Any = "exact"
    hidden: Any = None


@dataclass(frozen=True)
class KernelRow:
    """A kernel.

    Attributes
    ----------
    name : str
    options : type
    sentence : str
        What it does, for reports.
    missing : bool
        Whether it supports missing values.
    many_states : bool
        Whether it supports nodes with more than two states.
    kind : str
        "exact" if the engine is, or "approximate (...)".
    """

    name: str
    options: type
    sentence: str
    missing: bool = True
    many_states: bool = True
    kind: str = "exact"


KERNELS = Registry(
    "kernel",
    "kernels",
    [
        KernelRow("metropolis", Metropolis, "random walk, one coordinate at a time"),
        KernelRow("gibbs", Gibbs, "one parameter after another from its exact full conditional"),
        KernelRow("hamiltonian", Hamiltonian, "Hamiltonian dynamics (no-U-turn sampler)"),
        KernelRow("langevin", Langevin, "Langevin dynamics", kind="approximate (uncorrected Langevin)"),
        KernelRow("exchange", Exchange, "exchange algorithm"),
        KernelRow("auxiliary-variable", AuxiliaryVariable, "single auxiliary variable method"),
        KernelRow(
            "pseudo-posterior",
            PseudoPosterior,
            "Langevin dynamics on the pseudo-likelihood",
            missing=False,
            many_states=False,
            kind="approximate (pseudo-likelihood)",
        ),
    ],
)
LABEL_KERNELS = Registry(
    "kernel", "kernels", [row for row in KERNELS if row.name in ("exchange", "metropolis", "langevin")]
)

OPTIONS["BayesianMRF.kernel"] = KERNELS.rule()
OPTIONS["LabelFieldMRF.kernel"] = LABEL_KERNELS.rule()


def refusal(row: KernelRow, many_states: bool, missing: bool) -> dict[str, Any]:
    """Return the parts of an `OptionError` if a kernel does not support the data, else nothing.

    Parameters
    ----------
    row : KernelRow
    many_states : bool
        Whether nodes have more than two states.
    missing : bool
        Whether values are missing.
    """
    if many_states and not row.many_states:
        able, what = [repr(r.name) for r in KERNELS if r.many_states], "nodes with more than two states"
    elif missing and not row.missing:
        able, what = [repr(r.name) for r in KERNELS if r.missing], "missing values"
    else:
        return {}
    return {"option": "kernel", "got": row.name, "expected": f"{', '.join(able[:-1])} or {able[-1]} for {what}"}
