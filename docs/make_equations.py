"""Make docs/notes/equations.md: which equation of the four papers is in which file, from docstrings and options.

    python docs/make_equations.py

A docstring cites an equation as "Liu and Page 2013, eq. 5", "Chen and Welling 2012 structure, eq. 9 and 10", or
"Liu and Page 2013, Algorithm 2". A later "eq. 6" in the same docstring belongs to the paper cited last.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bayesmrf"
PAGE = ROOT / "docs" / "notes" / "equations.md"

LIU_PAGE = "Liu and Page 2013"
MURRAY_GHAHRAMANI = "Murray and Ghahramani 2004"
STRUCTURE = "Chen and Welling 2012 structure"
EVIDENCE = "Chen and Welling 2012 evidence"
# What each equation says, and why where no object of the package implements it.
EQUATIONS: dict[str, dict[str, str]] = {
    LIU_PAGE: {
        "eq. 1": "binary field with one agreement parameter an edge",
        "eq. 2": "Metropolis-Hastings ratio, with its ratio of normalisers",
        "eq. 3": "Dirichlet process prior of the edge parameters",
        "eq. 4": "full conditional of the group of an edge",
        "eq. 5": "likelihood of one edge given the others, as of Bernoulli trials",
        "Algorithm 1": "Metropolis-Hastings with auxiliary variables",
        "Algorithm 2": "Gibbs sampling with stripped Beta approximation",
    },
    MURRAY_GHAHRAMANI: {
        "eq. 1": "model in exponential form",
        "eq. 2": "the normaliser Z, a sum over all states",
        "eq. 3": "Boltzmann machine",
        "eq. 4": "gradient of the log likelihood: clamped less free expectations",
        "eq. 5": "joint model of parameters and data; not implemented: an example of what not to do",
        "eq. 6": "the prior that eq. 5 implies; not implemented: it depends on the number of observations",
        "eq. 7": "Metropolis ratio",
        "eq. 8": "ratio of two normalisers as an expectation",
        "eq. 9": "uncorrected Langevin step",
        "eq. 10": "gradient of the log posterior",
        "eq. 11": "lower bound of log Z by Jensen's inequality",
        "eq. 12": "likelihood with hidden variables: two normalisers",
        "eq. 13": "labels on points",
        "eq. 14": "couplings by distance, with length scales",
    },
    STRUCTURE: {
        "eq. 1": "log-linear model",
        "eq. 2": "spike-and-slab prior of a parameter",
        "eq. 3": "the whole hierarchical model",
        "eq. 4": "leapfrog step with a preconditioner",
        "eq. 5": "gradient of the log posterior",
        "eq. 6": "Hessian for the preconditioner",
        "eq. 7": "partial refreshment of the momentum",
        "eq. 8": "acceptance of the birth and death of an edge",
        "eq. 9": "ratio of normalisers to the second order",
        "eq. 10": "derivatives of log Z are the mean and variance of a feature",
        "eq. 11": "variance of the estimated ratio, which limits the width of a jump",
        "eq. 12": "acceptance as a function of the proposed weight",
        "eq. 13": "optimal proposal: a truncated normal distribution",
        "eq. 14": "full conditionals of the edge probability and the slab's precision",
        "Algorithm 1": "Langevin dynamics and reversible jump with persistent chains",
    },
    EVIDENCE: {
        "eq. 1": "model with visible and hidden variables",
        "eq. 2": "the evidence, an integral over the parameters",
        "eq. 3": "log likelihood around the mode, to the second order",
        "eq. 4": "log prior around the mode, to the second order",
        "eq. 5": "Laplace's approximation of the log evidence",
        "eq. 6": "log posterior by importance sampling from states at one point",
        "eq. 7": "its second derivative",
        "eq. 8": "restricted Boltzmann machine",
        "Algorithm 1": "Laplace's method for models with hidden units",
    },
}
NOT_IMPLEMENTED = "; not implemented: "
_CITED = re.compile(
    rf"(?P<paper>{'|'.join(EQUATIONS)})|(?P<kind>eq\.|Algorithms?) (?P<numbers>\d[\d.]*(?:(?:, | and )\d+)*)"
)


class Citation(NamedTuple):
    """A place in the source that cites an equation."""

    paper: str | None  # None where no paper is cited before it
    equation: str
    file: str
    name: str


def cited(text: str) -> Iterator[tuple[str | None, str]]:
    """Papers and equations that a docstring cites, in their order."""
    paper, end, text = None, 0, " ".join(text.split())
    for found in _CITED.finditer(text):
        if found["paper"]:
            paper, end = found["paper"], found.end()
        elif not re.search(r"\.\d", found["numbers"]) and (paper or found["kind"] == "eq."):
            # Another work may have been cited since, by its year before the number.
            if re.search(r"\d{4}\)?, $", text[end : found.start()]):
                continue
            word = found["kind"].removesuffix("s")
            yield from ((paper, f"{word} {n}") for n in re.findall(r"\d+", found["numbers"]))


def citations() -> list[Citation]:
    """All citations of the package, by file and line."""
    out = []
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for name, text in _docstrings(ast.parse(path.read_text())):
            out += [Citation(paper, equation, file, name) for paper, equation in cited(text)]
    return list(dict.fromkeys(out))


def _docstrings(node: ast.AST, name: str = "") -> Iterator[tuple[str, str]]:
    """Names and docstrings of a module, its classes and functions, by line, and what classes say of their options."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        yield name, ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef):
        options = (n.value for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.value, ast.Call))
        constants = (c for option in options for c in ast.walk(option) if isinstance(c, ast.Constant))
        yield from ((name, c.value) for c in constants if isinstance(c.value, str))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _docstrings(child, f"{name}.{child.name}".lstrip("."))


def page() -> str:
    """The text of docs/notes/equations.md."""
    places = defaultdict(list)
    for paper, equation, file, name in citations():
        shown = f"`{name}` in " if name else ""
        places[paper, equation].append(f"{shown}[{file.removeprefix('src/bayesmrf/')}](../../{file})")
    lines = [
        "# Equations of the four papers",
        "",
        "Made from the docstrings of the package by `docs/make_equations.py`.",
    ]
    for paper, equations in EQUATIONS.items():
        lines += ["", f"## {paper}", "", "| equation | content | place |", "| --- | --- | --- |"]
        for equation, content in equations.items():
            what, _, reason = content.partition(NOT_IMPLEMENTED)
            where = "; ".join(places[paper, equation]) or f"not implemented: {reason}"
            lines.append(f"| {equation} | {what} | {where} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
