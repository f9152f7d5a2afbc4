"""The engines by name: one row each, read by estimators, the command line, reports and messages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from ..base import EVERY_FAMILY, LOG_Z, SAMPLE, Engine, Kind, Model
from ..declare.option import options_of
from ..errors import OptionError, TooWideError


class EngineRow(NamedTuple):
    """One engine."""

    name: str  # value of ``engine=``
    home: str  # module within the package, and class
    caveat: str = ""  # why draws that use it are approximate; empty if it is exact

    @property
    def engine_class(self) -> Any:
        """The class, a dataclass of its options."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(f"bayesmrf.{module}"), name)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of its options."""
        return tuple(options_of(self.engine_class))


_TIMES_N = "errors of log Z enter multiplied by the number of observations"
_CHAINS = "moments are estimates by finite chains"
_RUNS = "states come from finite runs of a Markov chain"
ROWS = (
    EngineRow("enumeration", "inference.enumeration:Enumeration"),
    EngineRow("elimination", "inference.elimination.engine:Elimination"),
    EngineRow("mean-field", "inference.mean_field:MeanField", _TIMES_N),
    EngineRow("tree", "inference.tree:Tree", _TIMES_N),
    EngineRow("bethe", "inference.bethe.engine:Bethe", f"{_TIMES_N}; none on graphs without loops"),
    EngineRow("pseudo-likelihood", "inference.pseudo_likelihood:PseudoLikelihood",
              "the posterior of another likelihood, with intervals that are too narrow as a rule"),
    EngineRow("persistent", "inference.chains:Persistent", _CHAINS),
    EngineRow("brief", "inference.chains:Brief", _CHAINS),
    EngineRow("from-exact", "inference.chains:FromExact", _CHAINS),
    EngineRow("gibbs", "samplers.gibbs:Gibbs", _RUNS),
    EngineRow("tempered", "samplers.tempered:Tempered", _RUNS),
    EngineRow("swendsen-wang", "samplers.swendsen_wang:SwendsenWang", _RUNS),
    EngineRow("cftp", "samplers.cftp:CouplingFromThePast"),
)  # fmt: skip
SYNONYMS = {"exact": "elimination"}
NAMES = (*SYNONYMS, *(row.name for row in ROWS))


def row_of(name: str, option: str = "engine", others: tuple[str, ...] = ()) -> EngineRow:
    """Return the row of an engine; ``others`` are further names that the option takes, for the message.

    Raises
    ------
    OptionError
        If there is no engine of this name.
    """
    for row in ROWS:
        if row.name == SYNONYMS.get(name, name):
            return row
    raise OptionError(
        option=option, got=name, expected=f"one of {', '.join(map(repr, (*others, *NAMES)))}, or an engine"
    )


def engine_of(engine: str | Engine, option: str = "engine", **options: Any) -> Engine:
    """Return the engine of a name, with those of ``options`` that it has; an engine is returned unchanged.

    Raises
    ------
    OptionError
        If the name is unknown, or the object is not an engine.
    """
    if isinstance(engine, str):
        row = row_of(engine, option)
        return row.engine_class(**{name: v for name, v in options.items() if name in row.options})
    if isinstance(engine, type) or not isinstance(engine, Engine):
        remedy = f"give {engine.__name__}()" if isinstance(engine, type) else "see docs/add_an_engine.md"
        expected = f"one of {', '.join(map(repr, NAMES))}, or an object with the attributes of base.Engine"
        raise OptionError(option=option, got=engine, expected=expected, remedy=remedy)
    return engine


def engines_that_answer(needs: Iterable[str], model: Model | None = None) -> list[str]:
    """List the engines that answer all of ``needs`` (log Z without noise) and support the model."""
    classes = [row.engine_class for row in ROWS]
    return [c.name for c in classes if set(needs) <= c.answers and (model is None or model.family in c().families)]


def engines_to_propose(needs: Iterable[str], model: Model) -> list[str]:
    """List those of `engines_that_answer` whose answers are right for the model: exact ones that can run, and chains.

    Bounds and approximations of log Z are off by a multiple of the number of observations wherever exact inference is
    not cheap, and the pseudo-likelihood has another posterior.
    """
    names = engines_that_answer(needs, model)
    return [c.name for c in (row_of(name).engine_class for name in names) if _is_right(c, model)]


def _is_right(engine_class: Any, model: Model) -> bool:
    if engine_class.kind is not Kind.EXACT:
        return bool(engine_class.kind is Kind.RANDOM or SAMPLE in engine_class.answers)
    try:
        engine_class().prepare(model)
    except TooWideError:
        return False
    return True


def _proposed(these: str, needs: Iterable[str], model: Model) -> str:
    """Name the engines of `engines_to_propose`, as a remedy, or explain why there is none."""
    if able := engines_to_propose(needs, model):
        return f"{these} {', '.join(able)}"
    if engines_that_answer(needs, model):
        return "which nothing computes exactly on so wide a graph: take another kernel"
    return (
        f"no engine of the package supports its family {model.family!r}: BayesianMRF can draw by an engine of yours, "
        f"and all else needs one of the families {', '.join(map(repr, sorted(EVERY_FAMILY)))}"
    )


def check_model(engine: Engine, model: Any, option: str = "engine") -> None:
    """Check that an engine supports a model, or that of hidden entries.

    Raises
    ------
    OptionError
        With the engines that support it.
    """
    if model.family not in engine.families:
        remedy = _proposed("engines that do:", (), model)
        expected = f"an engine for the model {model.name!r} with {model.n_states} states a node"
        raise OptionError(option=option, got=engine.name, expected=expected, remedy=remedy)


def require_answers(engine: Engine, user: str, needs: Iterable[str], model: Any, option: str = "engine") -> None:
    """Check that an engine computes what a kernel needs, and log Z without noise if needed.

    Raises
    ------
    OptionError
        With the engines that would do for the model.
    """
    if missing := ", ".join(sorted(set(needs) - engine.answers)):
        expected, reason = f"one that computes {missing}", missing
    elif LOG_Z in needs and engine.kind is Kind.RANDOM:
        expected, reason = "one whose log_z is not random", "1 / Z^N, which an unbiased Z does not give"
    else:
        return
    remedy = f"{user!r} needs {reason}, {_proposed('use one of', needs, model)}"
    raise OptionError(option=option, got=engine.name, expected=expected, remedy=remedy)
