"""Write the pages of the reference into docs/reference/, from the docstrings and the options of the package.

docs/conf.py does so at the beginning of each build of the site. Estimators and functions of `bayesmrf` have a page
each; what else users import has a page for each module; parts for extensions are listed by docs/make_api.py. One page
has every option of every command.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from bayesmrf.cli import app
from bayesmrf.declare.registries import Registry
from docs import make_api

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference"
ESTIMATORS = [
    "SpikeSlabMRF", "CompareMRF", "PanelMRF", "GroupedMRF", "BayesianMRF", "LabelFieldMRF", "MaximumLikelihoodMRF",
    "RBM",
]  # fmt: skip
FUNCTIONS = [
    "load", "save", "export", "write_report", "plan", "calibrate", "log_evidence", "compare_evidence", "support",
    "Checkpoint", "Evidence",
]  # fmt: skip
MODULES = {  # what else users import
    "methods": "Methods of edges, groups and parameters",
    "families": "Models",
    "priors": "Priors",
    "slabs": "Slabs of your own",
    "engines": "Engines",
    "data": "Tables and codebooks",
    "datasets": "Data sets",
    "graphs": "Graphs",
    "plots": "Plots",
    "report": "Reports",
    "partitions": "Partitions",
    "metrics": "Metrics",
    "published": "Published samplers",
    "errors": "Errors and warnings",
}
# Methods that scikit-learn adds, and a class that two modules have.
ROUTING = "get_metadata_routing, set_fit_request, set_score_request, set_transform_request, set_output"
MEMBERS = ["   :members:", "   :inherited-members: BaseEstimator, tuple", f"   :exclude-members: {ROUTING}"]
TWICE = {("bayesmrf.priors", "Slab")}
PARTS = [title for title in make_api.SECTIONS if title != "Estimators and their options"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
INTRODUCTION = """\
Every public name with its arguments and options, from the docstrings. Examples are lines of pages that the tests run.

An option has its legal values, which are checked before any work, and its description. Booleans are no integers,
numpy's scalars are as good as Python's, and NaN and infinities are never legal. The name of a method, kernel, engine or
model as a text stands for its default options. The options of such an object are parameters of the estimator, too:
`est.set_params(method="particle", method__n_particles=4096)`.
"""


@cache
def blocks() -> list[tuple[Path, str]]:
    """Return the Python blocks of pages, which the tests run."""
    pages = [p for folder in ("start", "questions", "") for p in sorted((DOCS / folder).glob("*.md"))]
    pages.append(DOCS / "notes" / "small_examples.md")
    found = [(page, text) for page in pages for text in BLOCK.findall(page.read_text(encoding="utf-8"))]
    scripts = sorted((DOCS / "gallery").glob("*.py"))
    return found + [(DOCS / "gallery.md", script.read_text(encoding="utf-8")) for script in scripts]


def example(name: str) -> list[str]:
    """Return the lines of the first block that calls ``name``, and a link to its page."""
    call = re.compile(rf"(?<!def )(?<!class )\b{name}\(")
    for page, text in blocks():
        lines = text.splitlines()
        hits = [i for i, line in enumerate(lines) if call.search(line)]
        if hits:
            target = "/" + page.relative_to(DOCS.parent).with_suffix("").as_posix()
            shown = [lines[i] for i in _statement(lines, hits[0])]
            return [
                "", ".. rubric:: Example", "", f"From :doc:`{target}`:", "", ".. code-block:: python", "",
                *(f"   {line}" for line in shown),
            ]  # fmt: skip
    return []


def _statement(lines: list[str], at: int) -> range:
    """Return the numbers of the lines of one call: until its brackets are closed."""
    end, depth = at, lines[at].count("(") - lines[at].count(")")
    while depth > 0 and end + 1 < len(lines):
        end += 1
        depth += lines[end].count("(") - lines[end].count(")")
    return range(at, end + 1)


def title(text: str, line: str = "=") -> list[str]:
    """Return a heading."""
    return [text, line * len(text), ""]


def directive(name: str, value: Any, module: str) -> list[str]:
    """Return the directive that documents one name of a module."""
    if isinstance(value, Registry):
        return [f"Registry ``{module}.{name}``: " + ", ".join(f"``{row}``" for row in value.names) + "."]
    lines = [f".. currentmodule:: {module}", ""]
    if not isinstance(value, type):
        return [*lines, f".. autofunction:: {name}", *example(name)]
    is_error = issubclass(value, Exception)
    more = [] if is_error else MEMBERS
    more += ["   :no-index:"] if (module, name) in TWICE else []
    return [*lines, f".. autoclass:: {name}{make_api.signature(value)}", *more, *example(name)]


def one_name(name: str) -> str:
    """Return the page of an estimator or function of the package."""
    value = getattr(import_module("bayesmrf"), name)
    return "\n".join([*title(name), *directive(name, value, "bayesmrf")]) + "\n"


def one_module(name: str, text: str) -> str:
    """Return the page of a module."""
    module: ModuleType = import_module(f"bayesmrf.{name}")
    lines = [*title(text), f"``bayesmrf.{name}``: {_one_line(module.__doc__)}", ""]
    for member, value in make_api.members(module).items():
        if inspect.isfunction(value) or isinstance(value, type | Registry):
            lines += [*title(member, "-"), *directive(member, value, f"bayesmrf.{name}"), ""]
    return "\n".join(lines) + "\n"


def _one_line(text: str | None) -> str:
    return make_api.sentence(text)


def command_line() -> str:
    """Return the page with every option of every command."""
    lines = ["# Options of every command", "", "`bayesmrf COMMAND --help` prints the same.", ""]
    group = typer.main.get_command(app.app)
    for name in group.list_commands(None):  # type: ignore[attr-defined,arg-type]
        command = app.whole(name) if name in app.COMMANDS else group.commands[name]  # type: ignore[attr-defined]
        lines += [f"## bayesmrf {name}", "", _prose(command.help), ""]
        lines += [line for option in command.params for line in _option(option)]
    return "\n".join(lines) + "\n"


def _option(option: Any) -> Iterator[str]:
    """Yield the lines of one option or argument."""
    if getattr(option, "hidden", False) or option.name == "help":
        return
    is_flag = getattr(option, "is_flag", False)
    names = ", ".join([*option.opts, *option.secondary_opts]) if option.param_type_name == "option" else ""
    value = "" if is_flag else (option.metavar or option.name.upper())
    shown = getattr(option, "show_default", None)
    default = shown if isinstance(shown, str) else option.default
    default = None if callable(default) or is_flag or default in ((), None, "") else default
    tail = "" if default is None else f" Default: `{default}`."
    yield f"`{' '.join(filter(None, [names, value]))}`"
    yield f": {_prose(getattr(option, 'help', None)) or 'No description.'}{tail}"
    yield ""


def _prose(text: str | None) -> str:
    """Return the text of a help message in Markdown."""
    plain = re.sub(r"\[dim\]\\?\[default: (.*?)\]\[/dim\]", r"Default: \1.", " ".join((text or "").split()))
    return re.sub(r"([*<>_\[\]$])", r"\\\1", plain)


def parts() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages that list parts for extensions."""
    found = make_api.modules()
    listed = {v for module in found.values() for v in make_api.members(module).values() if isinstance(v, type)}
    for heading in PARTS:
        lines = [f"# {heading}", ""]
        for name in make_api.SECTIONS[heading].split():
            lines += make_api.section(found[f"bayesmrf.{name}"], listed)
        yield "parts_" + re.sub(r"\W+", "_", heading.lower()), make_api.as_page(lines)


def index() -> str:
    """Return the first page of the reference."""

    def tree(caption: str, names: list[str]) -> str:
        return "\n".join(["", f"## {caption}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])

    return (
        f"# Reference\n\n{INTRODUCTION}"
        + tree("Estimators", ESTIMATORS)
        + tree("Functions", FUNCTIONS)
        + tree("Modules", list(MODULES))
        + tree("Command line", ["command_line"])
        + tree("Parts for extensions", [name for name, _ in parts()])
    )


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    return {
        **{f"{name}.rst": one_name(name) for name in (*ESTIMATORS, *FUNCTIONS)},
        **{f"{name}.rst": one_module(name, text) for name, text in MODULES.items()},
        **{f"{name}.md": text for name, text in parts()},
        "command_line.md": command_line(),
        "index.md": index(),
    }


def write() -> None:
    """Write the pages that have changed, and remove others."""
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for path in FOLDER.iterdir():
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
