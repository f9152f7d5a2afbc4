"""What the pages say is run: every Python block, every command, every name, link and file they mention.

A block is left out only if the line before it says why: ``<!-- not run: the reason -->``. Lines of a text block behind
``<!-- output -->`` are what the block of code before it prints, in their order; others may stand between them.
"""

import ast
import contextlib
import inspect
import io
import re
import runpy
import shlex
import sys
import tomllib
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from packaging.requirements import Requirement

import bayesmrf
from bayesmrf import cli
from bayesmrf.errors import ConvergenceWarning
from tests.test_architecture import FILES, LAYERS, ROOT, SOURCE, offenders

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<note><!-- (?:not run: \S.*|output) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")
SHELL = ("console", "sh", "bash", "shell")

# Commands that set up a machine, or run for long and have tests of their own.
SET_UP = {"pip", "pytest", "git", "cd", "export", "source", ".", "python -m"}


class Block(NamedTuple):
    language: str
    text: str
    line: int
    is_run: bool
    is_output: bool


def blocks(text):
    found = []
    for m in FENCE.finditer(text):
        line = text.count("\n", 0, m.start("text")) + 1
        is_output = (m["note"] or "").startswith("<!-- output")
        found.append(Block(m["language"], m["text"], line, m["note"] is None, is_output))
    return found


def commands(text, has_prompt):
    """Commands of a shell block, ``a && b`` apart; where some lines have a prompt, the others are output."""
    lines = text.replace("\\\n", " ").splitlines()
    if has_prompt:
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    parts = [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]
    return [part for part in parts if part]


def run_command(words):
    if words[0] == "bayesmrf":
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = cli.run(words[1:])
        assert code == 0, f"{shlex.join(words)} failed"
        assert "Not converged" not in said.getvalue(), f"{shlex.join(words)}: {said.getvalue()}"
        print(said.getvalue())
    elif words[0] == "python" and words[1].endswith(".py"):
        assert (ROOT / words[1]).is_file(), f"{words[1]} is not there"
    else:
        assert words[0] in SET_UP or " ".join(words[:2]) in SET_UP, (
            f"{shlex.join(words)}: the test knows no such command"
        )


def words_of(line):
    """A line of output without its spaces and numbers, and its numbers, which depend on the processor a little."""
    line = " ".join(line.split())
    return NUMBER.sub("0", line), [float(n.replace(",", "").rstrip(".")) for n in NUMBER.findall(line)]


def is_same_line(a, b):
    (words, numbers), (others, found) = words_of(a), words_of(b)
    return words == others and np.allclose(numbers, found, rtol=0.1, atol=0.05)


def check_output(wanted, printed, name):
    """Every line of ``wanted`` is printed, in that order."""
    rest = iter(printed.splitlines())
    for line in filter(str.strip, wanted.splitlines()):
        assert any(is_same_line(line, found) for found in rest), f"{name}: {line!r} is not printed in\n{printed}"


def run_page(text, name, module):
    """Run the blocks of a page in their order and in one namespace; chains that have not converged are an error."""
    warnings.simplefilter("error", ConvergenceWarning)  # pytest restores the filters after each test
    printed = io.StringIO()
    for block in blocks(text):
        if block.is_output:
            check_output(block.text, printed.getvalue(), f"{name}, line {block.line}")
        if not block.is_run or block.language not in ("python", *SHELL):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.language == "python":
                # Lines are numbered as in the page.
                code = compile("\n" * (block.line - 1) + block.text, name, "exec", dont_inherit=True)
                exec(code, module.__dict__)
            else:
                for words in commands(block.text, "$ " in block.text):
                    run_command(words)


@pytest.fixture
def page_module(monkeypatch, tmp_path):
    """A module in which a page runs, in an empty folder."""
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.chdir(tmp_path)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(page, page_module):
    run_page(page.read_text(), str(page), page_module)


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert False\n```",
        "<!-- not run -->\n```python\nassert False\n```",
        "<!-- not run: a reason that stands too far away -->\n\n```python\nassert False\n```",
        "```sh\nbayesmrf groups nothing.csv --graph complete\n```",
        "```console\n$ python examples/nothing.py\n```",
        "```sh\nfrobnicate\n```",
        "```python\nprint('a 1.0')\nprint('b')\n```\n\n<!-- output -->\n```text\na 1.2\n```",
        "```python\nprint('a')\nprint('b')\n```\n\n<!-- output -->\n```text\nb\na\n```",
    ],
)
def test_a_page_that_does_not_run_is_caught(block, page_module):
    with pytest.raises(AssertionError):
        run_page(f"Words.\n\n{block}\n", "page", page_module)


def test_a_page_whose_chains_do_not_converge_is_caught(page_module):
    fit = (
        "BayesianMRF(n_draws=20, n_warmup=0, n_chains=2, progress=False, random_state=0).fit([[0, 1], [1, 0], [1, 1]])"
    )
    with pytest.raises(ConvergenceWarning):
        run_page(f"```python\nfrom bayesmrf import BayesianMRF\n{fit}\n```\n", "page", page_module)


def test_blocks_are_found_and_left_out_for_a_reason(page_module):
    text = "```python\nx = 1\n```\n\n<!-- not run: takes an hour -->\n```python\nx = 2\n```\n```text\nx = 3\n```\n"
    assert [(b.language, b.is_run) for b in blocks(text)] == [("python", True), ("python", False), ("text", True)]
    run_page("```python\nprint('a 0.99')\n```\n\n<!-- output -->\n```text\na  1.0\n```\n", "page", page_module)
    run_page(text, "page", page_module)
    assert page_module.x == 1
    assert commands("$ bayesmrf demo\noutput\n$ pip install . && pytest  # both\n", True) == [
        ["bayesmrf", "demo"],
        ["pip", "install", "."],
        ["pytest"],
    ]


def lost_links(text, folder):
    """Targets of links that are not there."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    return [t for t in targets if not re.match(r"[a-z]+:", t) and not (folder / t).exists()]


def test_links_lead_somewhere():
    assert not offenders(PAGES, lambda page: lost_links(page.read_text(), page.parent))
    control = "[a](README.md) [b](nowhere.md#part) [c](https://example.org/x) `[d](code.md)`\n"
    assert lost_links(control, ROOT) == ["nowhere.md"]


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^cff-version: 1\.2\.0$", text, flags=re.M)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in text
    assert f"\nlicense: {project['license']}\n" in text


def test_oldest_versions_are_those_of_the_project():
    text = (ROOT / "tests" / "oldest_versions.txt").read_text()
    listed = {r.name: r.specifier for r in map(Requirement, re.findall("^[^#].*", text, flags=re.M))}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    more = project["optional-dependencies"]
    for needed in map(Requirement, project["dependencies"] + more["dask"] + more["files"] + more["netcdf"]):
        (oldest,) = (s.version for s in needed.specifier if s.operator == ">=")
        assert listed[needed.name].contains(oldest), f"{needed} in tests/oldest_versions.txt"


def test_every_page_is_in_the_index():
    linked = set(re.findall(r"\]\((\w+\.md)", (ROOT / "docs" / "README.md").read_text()))
    assert linked == {p.name for p in (ROOT / "docs").glob("*.md")} - {"README.md"}


# ---- docs/api.md


def api_entries():
    """(module, code span) of each item ``* `name(arguments)`: what it is`` below a heading with a module's name."""
    for section in re.split(r"^(?=#)", (ROOT / "docs" / "api.md").read_text(), flags=re.M):
        if module := re.match(r"#+ .*`(bayesmrf[\w.]*)`", section):
            for entry in re.findall(r"^\* `([^`]+)`", section, flags=re.M):
                yield module[1], " ".join(entry.split())


API = list(api_entries())


def plain_signature(found):
    """Arguments and their defaults without types."""
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(found).parameters.values()]
    parameters = [p for p in parameters if p.name not in ("self", "cls")]
    return str(inspect.Signature(parameters))


def differs(module, entry):
    """What is wrong with an entry, such as other arguments; None if it is as the code says."""
    found, path = import_module(module), entry.split("(")[0]
    try:
        for part in path.split("."):
            found = inspect.getattr_static(found, part) if inspect.isclass(found) else getattr(found, part)
    except AttributeError:
        return "is not there"
    found = found.__func__ if isinstance(found, classmethod) else found
    if "(" in entry:
        signature = plain_signature(getattr(found, "py_func", found))
        # Through the parser, so that the way of writing does not matter.
        wanted = ast.parse(f"def f{signature}: pass".replace("<", "'").replace(">", "'"))
        if ast.dump(ast.parse(f"def f{entry[entry.index('(') :]}: pass")) != ast.dump(wanted):
            return f"is {path}{signature}"
    return None


def test_api_names_exist():
    assert len(API) > 100
    assert not {f"{m}.{e}": wrong for m, e in API if (wrong := differs(m, e))}


def test_entries_that_are_wrong_are_found():
    assert differs("bayesmrf.graphs", "path( n_nodes )") is None
    assert differs("bayesmrf.graphs", "path(n_nodes=3)") == "is path(n_nodes)"
    assert differs("bayesmrf.graphs", "Graph.nothing") == differs("bayesmrf.graphs", "nothing()") == "is not there"


def test_api_mentions_all_public_names():
    assert set(bayesmrf.__all__) == {entry for module, entry in API if module == "bayesmrf"}


def undocumented(text):
    """Names that a file imports from bayesmrf and docs/api.md does not have."""
    known = {(module, entry.split("(")[0].split(".")[0]) for module, entry in API}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayesmrf":
            for name in (alias.name for alias in node.names):
                is_section = any(module == f"{node.module}.{name}" for module, _ in API)
                if (node.module, name) not in known and not is_section:
                    yield f"{node.module}.{name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bayesmrf")


def test_papers_use_the_documented_api():
    files = sorted((ROOT / "papers").rglob("*.py"))
    assert not offenders(files, lambda path: list(undocumented(path.read_text())))


def test_names_that_are_not_documented_are_found():
    assert list(undocumented("from bayesmrf.samplers.gibbs import Gibbs, _refuse")) == [
        "bayesmrf.samplers.gibbs._refuse"
    ]
    assert list(undocumented("from bayesmrf import blas, graphs")) == ["bayesmrf.blas"]
    assert list(undocumented("import bayesmrf.compiled")) == ["bayesmrf.compiled"]


# ---- docs/architecture.md

ARCHITECTURE = ROOT / "docs" / "architecture.md"


def test_layout_names_every_file():
    """A file that is there is in the layout, or among the parts planned; the layout names no other."""
    page = ARCHITECTURE.read_text()
    layout = next(b.text for b in blocks(page) if b.text.startswith("src/bayesmrf/"))
    named, folder = set(), ""
    for line in layout.splitlines()[1:]:
        indent, name = len(line) - len(line.lstrip()), line.split()[0]
        if indent == 2:
            folder = name if name.endswith("/") else ""
        if name.endswith(".py"):
            named.add(folder + name)
    planned = set(re.findall(r"`(\w+/\w+\.py)`", page.partition("## Where later parts go")[2]))
    there = {str(p.relative_to(SOURCE)) for p in FILES if p.name != "__init__.py" or p.parent == SOURCE}
    assert not named - there, "the layout in docs/architecture.md names files that are not there"
    assert not there - named - planned, "files without a line in the layout in docs/architecture.md"


def test_layers_are_those_that_are_enforced():
    text = next(b.text for b in blocks(ARCHITECTURE.read_text()) if b.text.startswith("layer"))
    assert [set(line.split()[1:]) for line in text.splitlines()[1:]] == LAYERS


# ---- examples


def run_example(name, arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")


EXAMPLES = {"coronary.py": ["30"], "grid.py": ["30"], "many_states.py": ["1", "5", "2"], "restart.py": ["1", "3"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, monkeypatch, tmp_path, capsys):
    run_example(name, EXAMPLES[name], monkeypatch, tmp_path)
    assert capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.DependentRowsWarning")
def test_example_on_votes_runs(data_folder, monkeypatch, tmp_path, capsys):
    run_example("senate.py", ["20"], monkeypatch, tmp_path)
    assert "session" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_example_on_symptoms_runs(data_folder, monkeypatch, tmp_path, capsys):
    run_example("bgms.py", ["3", "20"], monkeypatch, tmp_path)
    assert "intrusion - dreams" in capsys.readouterr().out


def test_all_examples_are_run():
    there = {p.name for p in Path(ROOT / "examples").glob("*.py")}
    assert there == {*EXAMPLES, "senate.py", "bgms.py"}
