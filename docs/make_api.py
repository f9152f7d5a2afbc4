"""Make docs/notes/files.md, a line for each file, and entries of public names for the reference of the site.

    python docs/make_api.py

An entry has the arguments of a class or function with their defaults, and the first sentence of its docstring. Options
have their legal values and their description, from the field that declares them or the docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

from sklearn.base import BaseEstimator

from bayesmrf.declare.option import Checked, rule_of
from bayesmrf.declare.registries import Registry
from bayesmrf.errors import said

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bayesmrf"
FILES = ROOT / "docs" / "notes" / "files.md"

BRIEF = ("bayesmrf.results.summary", "bayesmrf.errors")  # whose methods are not listed
# What a user imports, then the parts for programs and kernels of one's own.
SECTIONS = {
    "Estimators and their options": "estimators methods methods.rows methods.parameters methods.evidence "
    "families priors slabs errors declare.registries",
    "Results": "results results.convergence findings answers.registry show.tables results.summary plots "
    "report partitions metrics results.indicator_diagnostics results.rank_diagnostics",
    "Data and graphs": "datasets graphs elimination_order data data.states data.dependent_rows data.text_tables "
    "cli.table_options data.kinds.binarized",
    "Protocols, likelihood and runs": "base likelihood runs.run runs.independent runs.workers runs.store runs.lock "
    "declare.option declare.rule memory rng progress",
    "Evidence": "evidence.methods evidence.method evidence.target evidence.rbm_target evidence.ordinal_target "
    "evidence.pairwise_target evidence.mode evidence.sampled evidence.overlap evidence.laplace evidence.normality "
    "evidence.at_mode evidence.posterior_draws evidence.exact_draws evidence.brief_draws evidence.hamiltonian "
    "evidence.means evidence.bridge evidence.annealed evidence.rbm_exact "
    "evidence.conjugate",
    "Models": "models models.agreement models.ising models.boltzmann models.potts models.ordinal models.symmetric "
    "models.categorical models.two_arrays models.bases models.two_state_tables models.label_field models.clamped "
    "models.clamped_categorical models.rbm models.linear_map models.pairwise",
    "Engines": "engines inference.registry inference.elimination.engine inference.annealed inference.auto",
    "Samplers of states": "samplers.gibbs samplers.cftp samplers.rbm_gibbs samplers.ladder samplers.following "
    "samplers.resampling",
    "Point estimates": "learning.maximum_likelihood learning.persistent learning.sparse_path learning.rbm_persistent "
    "learning.sparse",
    "Kernels": "posterior.parameters.metropolis posterior.parameters.adaptation posterior.parameters.hamiltonian "
    "posterior.parameters.langevin posterior.parameters.coordinate_gibbs "
    "posterior.parameters.pseudo_posterior "
    "posterior.edges.exact posterior.edges.reversible_jump posterior.edges.two_states "
    "posterior.edges.many_states "
    "posterior.edges.group_chains posterior.edges.reference "
    "posterior.groups.kernels posterior.groups.gibbs "
    "posterior.groups.exact posterior.groups.two_states posterior.groups.group_potentials "
    "posterior.groups.dirichlet_process "
    "posterior.conditionals.one_coordinate posterior.conditionals.line posterior.conditionals.log_concave",
    "Plug-ins, and the published samplers": "plugins published published.langevin published.tree "
    "published.stripped_beta published.auxiliary_particles published.exchange published.auxiliary_variable "
    "published.conjugate published.criteria published.harmonic published.dic published.cross_validation",
}


def modules() -> dict[str, ModuleType]:
    """Return the modules of the page by name."""
    names = [f"bayesmrf.{name}" for listed in SECTIONS.values() for name in listed.split()]
    return {name: import_module(name) for name in ("bayesmrf", *names)}


def members(module: ModuleType) -> dict[str, Any]:
    """Return the public names of a module: those that it exports, or else defines."""
    exported = getattr(module, "__all__", None)
    found = {name: getattr(module, name) for name in exported or vars(module) if not name.startswith("_")}
    return {name: value for name, value in found.items() if _is_entry(name, value, None if exported else module)}


def _is_entry(name: str, value: Any, module: ModuleType | None) -> bool:
    """Return whether a value is a registry, or a class or function, defined in ``module`` if there is one."""
    if isinstance(value, Registry):
        return True
    value = getattr(value, "py_func", value)  # of a compiled leaf
    is_code = inspect.isfunction(value) or (isinstance(value, type) and get_origin(value) is None)
    return is_code and (module is None or value.__module__ == module.__name__)


def sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((inspect.cleandoc(text or "")).partition("\n\n")[0].split())


def _default(value: Any) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        try:
            if value == type(value)():
                return f"{type(value).__name__}()"
        except TypeError:
            pass
    return "..." if re.search("[<{]", repr(value)) else repr(value)  # objects, and sets, whose order varies


def signature(found: Any) -> str:
    """Return arguments and their defaults without types; nothing for what is not called."""
    if isinstance(found, type) and (getattr(found, "_is_protocol", False) or issubclass(found, Enum)):
        return ""
    if isinstance(found, type) and issubclass(found, Exception) and not inspect.isfunction(found.__init__):
        return ""
    out: list[str] = []
    for p in inspect.signature(getattr(found, "py_func", found)).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not any(o.startswith("*") for o in out):
            out.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        out.append(f"{stars}{p.name}" + ("" if p.default is p.empty else f"={_default(p.default)}"))
    return f"({', '.join(o for o in out if o not in ('self', 'cls'))})"


def described(text: str | None, section: str) -> dict[str, str]:
    """Return the names and descriptions in a section of a docstring, such as that of the parameters."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(text or ""), re.S | re.M)
    entries = re.findall(r"^(\S[^:\n]*)(?: : .*)?\n((?:(?: +.*)?\n)*)", f"{found[1]}\n" if found else "", re.M)
    return {
        name: textwrap.indent(textwrap.dedent(more).strip(), "    ").strip()
        for names, more in entries
        for name in names.strip().split(", ")
    }


def options(kind: type) -> Iterator[str]:
    """Yield a line for each option of a class: its default, its legal values, and what it is; then what a fit sets."""
    texts = described(kind.__doc__, "Parameters")
    for p in inspect.signature(kind).parameters.values():
        rule, text = rule_of(kind, p.name), texts.get(p.name, "")
        default = "" if p.default is p.empty else f" = {_default(p.default)}"
        legal = f", {said(rule.expected)}" if rule is not None else ""
        if legal or text:
            yield f"  * `{p.name}{default}`{legal}" + (f": {text}" if text else ".")
    for name, text in described(kind.__doc__, "Attributes").items():
        yield f"  * `{name}`" + (f": {text}" if text else ".")


def methods(kind: type, listed: set[Any]) -> Iterator[str]:
    """Yield a line for each public method and property of a class that is not one of a base that is listed.

    What engines, models and kernels answer is described at the protocols.
    """
    known = {name for base in listed if _describes(base, kind) for name in vars(base)}
    for base in kind.__mro__:
        for name, value in vars(base).items():
            what = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
            text = sentence(getattr(what, "__doc__", ""))
            if name.startswith("_") or name in known or not inspect.isfunction(what) or not text:
                continue
            if base.__module__.startswith("bayesmrf"):
                known.add(name)
                is_bound = what is value or isinstance(value, classmethod | staticmethod)
                arguments = signature(what) if is_bound else ""
                yield f"  * `.{name}{arguments}`: {text}"


def _describes(base: type, kind: type) -> bool:
    """Return whether the entry of a class describes methods of another: it is a base, or a protocol of the roles."""
    if not getattr(base, "_is_protocol", False):
        return base is not kind and issubclass(kind, base)
    promised = {name for name in dir(base) if not name.startswith("_")}
    return base is not kind and base.__module__ == "bayesmrf.base" and promised <= set(dir(kind))


def entry(name: str, value: Any, listed: set[Any]) -> Iterator[str]:
    """Yield the lines of one name."""
    if isinstance(value, Registry):
        yield f"* `{name}`: registry of {', '.join(f'`{row}`' for row in value.names)}."
        return
    yield f"* `{name}{signature(value)}`: {sentence(value.__doc__)}"
    if isinstance(value, type):
        if issubclass(value, Checked | BaseEstimator):
            yield from options(value)
        if not value.__module__.startswith(BRIEF):
            yield from methods(value, listed)


def section(module: ModuleType, listed: set[Any]) -> list[str]:
    """Return the lines of one module."""
    entries = [line for name, value in members(module).items() for line in entry(name, value, listed)]
    return ["", f"## `{module.__name__}`", "", sentence(module.__doc__), "", *entries]


def as_page(lines: list[str]) -> str:
    """Return lines as a page, with the formulas of docstrings in Markdown."""
    return re.sub(":math:`([^`]*)`", r"$\1$", "\n".join(lines)) + "\n"


def files() -> str:
    """Return the text of docs/notes/files.md."""
    lines = ["# Files", "", "Made by `docs/make_api.py` from the first sentences of the files in `src/bayesmrf/`."]
    folder = None
    for path in sorted(SOURCE.rglob("*.py"), key=lambda p: (p.parent, p.name != "__init__.py", p.name)):
        text = sentence(ast.get_docstring(ast.parse(path.read_text())))
        inside = path.parent.relative_to(SOURCE).as_posix()
        if inside != folder:
            folder = inside
            title = "The root folder" if inside == "." else f"`{inside}/`"
            lines += ["", f"## {title}", "", text, ""]
        else:
            lines.append(f"* [{path.name}](../../{path.relative_to(ROOT)}): {text}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILES.write_text(files())
