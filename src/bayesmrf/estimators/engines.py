"""Engines of estimators, by name or as objects, with the data if an engine needs them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..base import DataEngine, Engine
from ..data.states import States
from ..errors import DataError, OptionError, argument, instead_of_exact
from ..families import AUTO
from ..inference.auto import is_cheap
from ..inference.chains import Brief, Persistent
from ..inference.pseudo_likelihood import PseudoLikelihood
from ..inference.registry import check_model, engine_of, row_of
from ..likelihood import Hidden, Sample
from ..models.categorical import states_of
from ..models.clamped_categorical import clamp

_HIDDEN_CHAINS = 64  # on the missing values of all rows
# Engines for a kernel where exact inference is expensive; other kernels need log Z, whose approximations are off there.
_BY_CHAINS = {
    "auto": "persistent",
    "custom": "persistent",
    "langevin": "persistent",
    "exchange": "gibbs",
    "auxiliary-variable": "gibbs",
}


def suitable_engine(kernel: str, model: Any, adjusted: bool = False) -> str:
    """Return the name of the engine that "auto" stands for: the exact one if it is cheap or no chains would do.

    Parameters
    ----------
    kernel : str
        Its name, or "auto".
    model : Model
    adjusted : bool
        Whether steps of "langevin" are accepted or rejected, which needs log Z.
    """
    if kernel == "pseudo-posterior":
        return "pseudo-likelihood"
    if adjusted or is_cheap(model.graph, states_of(model)):
        return "exact"
    return _BY_CHAINS.get(kernel, "exact")


def instead_of(kernel: str, model: Any, adjusted: bool = False) -> str:
    """Name the options of `BayesianMRF` that do without an exact engine that is too expensive."""
    engine = argument("engine", _BY_CHAINS.get(kernel, _BY_CHAINS["auto"]))
    return engine if kernel in _BY_CHAINS and not adjusted else f"{argument('kernel', 'auto')} with {engine}"


def read_engine(engine: str | Engine, states: States) -> Engine:
    """Return the engine of the model, with the data if it needs them."""
    if isinstance(engine, str):
        row_of(engine, others=(AUTO,))
    resolved = engine_of(engine)
    if isinstance(resolved, PseudoLikelihood) and (states.values < 0).any():
        raise DataError(
            f"{argument('X')}: {(states.values < 0).sum()} value(s) are missing, which the pseudo-likelihood cannot "
            f"take; drop or impute these rows, or use {argument('kernel', AUTO)} with {argument('engine', AUTO)}"
        )
    return resolved.given(states) if isinstance(resolved, DataEngine) else resolved


def read_sample(
    model: Any, states: States, engine: Engine, hidden_engine: Any = None, n_chains: int = _HIDDEN_CHAINS
) -> Sample:
    """Return mean statistics and, if values are missing, the model clamped to the others, and its engine.

    The engine is exact if that is cheap, else persistent chains (``n_chains``), which brief chains always need.
    """
    hidden = _read_hidden(hidden_engine, engine, model, states, n_chains)
    s_bar = model.statistics(states.values, states.weights) if hidden is None else hidden.model.seen_statistics()
    return Sample(s_bar, states.n_samples, hidden)


def _read_hidden(hidden_engine: Any, engine: Engine, model: Any, states: States, n_chains: int) -> Hidden | None:
    if not (states.values < 0).any():
        if hidden_engine is not None:
            expected = "omitted, as no value is missing"
            raise OptionError(option="hidden_engine", got=hidden_engine, expected=expected, remedy="remove it")
        return None
    clamped = clamp(model, states.rows)
    if hidden_engine is None:
        exact = not isinstance(engine, Brief) and is_cheap(clamped.graph, states_of(clamped))
        hidden_engine = "exact" if exact else "persistent"
    resolved: Any = engine_of(hidden_engine, "hidden_engine", n_chains=n_chains, tempered=False)
    if isinstance(engine, Brief) and not isinstance(resolved, Persistent):
        raise OptionError(option="hidden_engine", got=hidden_engine, expected="'persistent' or None with brief chains, "
                          "which start from the states of chains on the missing values")  # fmt: skip
    check_model(resolved, clamped, "hidden_engine")
    with instead_of_exact(argument("Phases.hidden", "persistent")):
        resolved.prepare(clamped)
    # A ladder and weights would not leave the distribution of the hidden entries at theta invariant.
    return Hidden(clamped, replace(resolved, tempered=False) if isinstance(resolved, Persistent) else resolved)


def refuse_unused(engine: str | Engine) -> None:
    """Raise OptionError for an engine with the pseudo-posterior, which has its own; the default is not one given."""
    if isinstance(engine, str) and engine == AUTO:
        return
    resolved = engine_of(engine)
    if not isinstance(resolved, PseudoLikelihood):
        expected = f"omitted with {argument('kernel', 'pseudo-posterior')}, whose engine is 'pseudo-likelihood'"
        raise OptionError(
            option="engine", got=resolved.name, expected=expected, remedy="remove it, or give another kernel"
        )


def particle_sweeps(engine: Engine) -> float:
    """Return the Gibbs sweeps of single chains in a call of an engine; 0 if it has no chains of states."""
    if isinstance(engine, Brief):
        n_chains = engine.n_chains if engine.states is None else engine.n_chains or len(engine.states)
        return engine.n_sweeps * (n_chains or 0)
    return engine.n_sweeps * engine.n_chains if isinstance(engine, Persistent) else 0


def changed_options(engine: Engine) -> dict[str, Any]:
    """Return the options of an engine that differ from the defaults, for summaries and reports."""
    if not is_dataclass(engine):
        return {}
    options = {f.name: (vars(engine)[f.name], f.default) for f in fields(engine)}
    return {k: v for k, (v, default) in options.items() if isinstance(v, int | float | str) and v != default}
