"""Load cases of the reference suite, and compare results with them.

Needs NumPy only::

    import load
    case = load.case("boltzmann3-normal")
    case.rows()                          # the table, a row for each observation
    case.value("inclusion")              # {"A-B": 0.80, ...}
    case.z("inclusion", {"A-B": 0.79, "A-C": 0.97, "B-C": 0.35}, 0.01)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent


def read(folder: str, name: str) -> dict[str, Any]:
    """Read a JSON file of a folder: "posteriors", "data", "models" or "results"."""
    return json.loads((ROOT / folder / f"{name}.json").read_text(encoding="utf-8"))


def names(keyword: str | None = None) -> list[str]:
    """List the names of all cases, or of those with a keyword."""
    every = sorted(path.stem for path in (ROOT / "posteriors").glob("*.json"))
    return [name for name in every if keyword is None or keyword in read("posteriors", name)["keywords"]]


@dataclass(frozen=True)
class Case:
    """A posterior, its data, its model and its exact results, each as it is stored."""

    posterior: dict[str, Any]
    data: dict[str, Any]
    model: dict[str, Any]
    results: dict[str, Any]

    def rows(self, group: int = 0) -> np.ndarray:
        """Return the data as a table of floats with a row for each observation; NaN where an answer is missing.

        Parameters
        ----------
        group : int
            Number of the group, where rows are of several groups.
        """
        if "rows" in self.data:
            return np.array(self.data["rows"], dtype=float)
        counts = self.data["counts"][group] if "groups" in self.data else self.data["counts"]
        return np.repeat(np.array(self.data["patterns"], dtype=float), counts, axis=0)

    def value(self, quantity: str, column: str = "value") -> dict[str, float]:
        """Return the exact values of a quantity by name, or another column such as "error"; None if not defined."""
        stored = self.results["quantities"][quantity]
        return dict(zip(stored["names"], stored[column], strict=True))

    def z(self, quantity: str, estimates: dict[str, float], standard_errors: dict[str, float] | float) -> dict:
        """Return how far estimates are from exact values, in their standard errors, beyond the error of these.

        Parameters
        ----------
        quantity : str
            Such as "inclusion" or "mean".
        estimates : dict
            By the names of the quantity; not all of them are needed.
        standard_errors : dict or float
            Monte Carlo standard error of each estimate, or of all; above 0.
        """
        exact, error = self.value(quantity), self.value(quantity, "error")
        away = {name: max(0.0, abs(x - exact[name]) - error[name]) for name, x in estimates.items()}
        if not isinstance(standard_errors, dict):
            standard_errors = dict.fromkeys(estimates, standard_errors)
        return {name: value / standard_errors[name] for name, value in away.items()}


def case(name: str) -> Case:
    """Load a case by its name."""
    posterior = read("posteriors", name)
    return Case(
        posterior,
        read("data", posterior["data_name"]),
        read("models", posterior["model_name"]),
        read("results", posterior["results_name"]),
    )


def overview() -> str:
    """Return the table of cases: parameters, structures, and the largest stated error of each kind."""
    lines = ["| case | about | parameters | structures | error: inclusion | mean, sd | log evidence |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name in names():
        of = case(name)
        quantities = of.results["quantities"]

        def largest(*which: str, quantities: dict = quantities) -> str:
            values = [e for q in which if q in quantities for e in quantities[q]["error"] if e is not None]
            return f"{max(values):.0e}" if values else ""

        n = len(quantities["structure_probability"]["names"]) if "structure_probability" in quantities else "by item"
        row = [f"`{name}`", of.posterior["title"], len(of.posterior["parameters"]), n]
        row += [largest("inclusion"), largest("mean", "sd"), largest("log_evidence")]
        lines.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(overview())
