"""Printed tables, verdicts and warnings about evidences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .common import say

if TYPE_CHECKING:
    from rich.console import Console

    from ..evidence.target import Evidence

_COLUMNS = 3  # methods side by side
_SURE = 2.0  # standard errors within which a difference is not significant

Results = Mapping[str, Mapping[Any, "Evidence"]]


def show_evidence(results: Results, hidden: bool, console: Console) -> None:
    """Print the results by method and model, in total and per observation, and the verdict of each method."""
    methods = list(results)
    first = next(iter(results[methods[0]].values()))
    n = first.n_samples
    console.print(f"\n{n:,.0f} observations; prior of the parameters: {first.prior}\n")
    parts = [{m: results[m] for m in methods[i : i + _COLUMNS]} for i in range(0, len(methods), _COLUMNS)]
    for part in parts:
        _table("Log evidence in nats", part, hidden, console, _value)
    for part in parts:
        _table("Per observation", part, hidden, console, lambda e: f"{e.log_evidence / n:.4f}", counted=True)
    warned = any(e.status for evidences in results.values() for e in evidences.values())
    console.print(f"* best by this method{'; ! see the warnings' if warned else ''}\n")
    verdicts = [line for method in methods for line in _verdicts(method, results[method], hidden)]
    console.print("\n".join(verdicts))
    if any("(probability" in verdict for verdict in verdicts):
        console.print("Probabilities assume that all these models are equally probable a priori.")
    _warn(results, hidden)


def _table(
    title: str, results: Results, hidden: bool, console: Console, cell: Callable[[Evidence], str], counted: bool = False
) -> None:
    """Print one row per model and one column per method; ``counted`` adds the number of parameters."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("hidden\nunits" if hidden else "model", justify="right" if hidden else "left", no_wrap=True)
    if counted:
        table.add_column("parameters", justify="right")
    for method in results:
        table.add_column(method, justify="right", no_wrap=True)
    best = {method: _best(evidences) for method, evidences in results.items()}
    first = next(iter(results.values()))
    for name, one in first.items():
        row = [f"{one.n_features:,}"] if counted else []
        for method, evidences in results.items():
            e = evidences[name]
            mark = ("*" if name == best[method] else "") + ("!" if e.status else "")
            row.append(f"{'–' if math.isnan(e.log_evidence) else cell(e)} {mark:<2}")
        table.add_row(str(name), *row)
    console.print(table)


def _value(e: Evidence) -> str:
    error = f" ± {e.standard_error:.2f}" if e.standard_error > 0 else ""
    return f"{e.log_evidence:,.2f}{error}"


def _best(evidences: Mapping[Any, Evidence]) -> Any:
    """Find the name of the model with the largest value; None if there is no value."""
    known = {name: e.log_evidence for name, e in evidences.items() if not math.isnan(e.log_evidence)}
    return max(known, key=known.__getitem__) if known else None


def _verdicts(method: str, evidences: Mapping[Any, Evidence], hidden: bool) -> list[str]:
    """Say which model a method favours, and whether this depends on the scale of the prior, if that is known."""
    from ..evidence.target import SCALES

    verdict, best = _verdict(method, evidences, hidden), _best(evidences)
    values = [{name: e.parts.get(part, math.nan) for name, e in evidences.items()} for part in SCALES]
    if best is None or len(evidences) == 1 or any(math.isnan(v) for at_scale in values for v in at_scale.values()):
        return [verdict]
    half, double = (max(at_scale, key=at_scale.__getitem__) for at_scale in values)
    if half == double == best:
        return [verdict, f"  It is also best by {method} at half and at twice the prior scale."]
    where = [named(name) if hidden else name for name in (half, double)]
    return [verdict, f"  The choice depends on the prior scale: {method} favours {where[0]} at half the scale, "
                     f"{where[1]} at twice the scale."]  # fmt: skip


def _verdict(method: str, evidences: Mapping[Any, Evidence], hidden: bool) -> str:
    """Name the best model by a method, with its probability or the models within the error."""
    from ..estimators.evidence import compare_evidence

    best = _best(evidences)
    if best is None:
        return f"{method} has no result."
    table = compare_evidence(evidences)
    said = f"{method} favours {named(best) if hidden else best}"
    probability = table["probability"][best]
    if len(evidences) > 1 and not math.isnan(probability):
        said += f" (probability {probability:.3f})"
    close = []
    for name, e in evidences.items():
        error = math.hypot(*(0.0 if math.isnan(x.standard_error) else x.standard_error for x in (e, evidences[best])))
        if name != best and error > 0 and evidences[best].log_evidence - e.log_evidence < _SURE * error:
            close.append(str(name))
    if close:
        said += f"; not significantly better than {', '.join(close)}"
    if evidences[best].status:
        said += "; see the warnings"
    if hidden and len(evidences) > 1 and best == max(evidences):
        said += ", the largest number tried"
    return said + "."


def _warn(results: Results, hidden: bool) -> None:
    """Print each status once, with all results that have it."""
    about: dict[str, dict[str, list[str]]] = {}
    for method, evidences in results.items():
        for name, e in evidences.items():
            if e.status:
                about.setdefault(e.status, {}).setdefault(method, []).append(str(name))
    for status, where in about.items():
        models = list(dict.fromkeys(name for names in where.values() for name in names))
        what = f"{', '.join(models)} hidden unit{'s' * (models != ['1'])}" if hidden else ", ".join(models)
        say("warning", f"{what} ({', '.join(where)}): {status}")


def named(name: int | str) -> str:
    """Return the number of hidden units in words, or the name of a model."""
    return name if isinstance(name, str) else f"{name} hidden unit{'s' * (name > 1)}"
