"""What the pages say is run: every Python block, every command, every name, link and file they mention.

A block is left out only if the line before it says why: ``<!-- not run: the reason -->``. Lines of a text block behind
``<!-- output -->`` are what the block of code before it prints, in their order; others may stand between them. A block
behind ``<!-- file: NAME -->`` is a file of examples/, which is put into the folder of the page.
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
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from packaging.requirements import Requirement
from sklearn.base import BaseEstimator

from bayesmrf import cli, estimators
from bayesmrf.base import InferenceEngine, Kind
from bayesmrf.engines import Elimination
from bayesmrf.errors import ConvergenceWarning
from bayesmrf.priors.slab import KINDS
from docs import make_api
from tests import ROOT
from tests.lint.test_architecture import offenders

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "reference" not in page.parts]  # these are made from docstrings, for the site
FENCE = re.compile(
    r"^(?P<note><!-- (?:not run: \S[^\n]*|output|file: (?P<file>\S+)) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
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
    file: str | None


def blocks(text):
    found = []
    for m in FENCE.finditer(text):
        line = text.count("\n", 0, m.start("text")) + 1
        is_output = (m["note"] or "").startswith("<!-- output")
        found.append(Block(m["language"], m["text"], line, m["note"] is None, is_output, m["file"]))
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
        if block.file:
            assert block.text == (ROOT / "examples" / block.file).read_text()
            Path(block.file).write_text(block.text)
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
    monkeypatch.syspath_prepend(tmp_path)
    for example in (ROOT / "examples").glob("*.py"):  # a page writes its own copy, which it imports
        monkeypatch.delitem(sys.modules, example.stem, raising=False)
    kinds = dict(KINDS)
    yield module
    KINDS.clear()
    KINDS.update(kinds)


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
    assert len(blocks(text + text)) == 6
    run_page("```python\nprint('a 0.99')\n```\n\n<!-- output -->\n```text\na  1.0\n```\n", "page", page_module)
    run_page(text, "page", page_module)
    assert page_module.x == 1
    assert commands("$ bayesmrf demo\noutput\n$ pip install . && pytest  # both\n", True) == [
        ["bayesmrf", "demo"],
        ["pip", "install", "."],
        ["pytest"],
    ]


def anchors(page):
    """Names of the headings of a page in links, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.*)$", FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def lost_links(text, page):
    """Targets of the links on a page that are not there."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", prose):
        file, _, anchor = target.partition("#")
        found = page.parent / file if file else page
        if not re.match(r"[a-z]+:", target) and not (found.exists() and (not anchor or anchor in anchors(found))):
            yield target


def test_links_lead_somewhere():
    others = [ROOT / name for name in ("CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/README.md")]
    others += sorted((ROOT / "papers").glob("*/README.md"))
    assert not offenders([*PAGES, *others], lambda page: list(lost_links(page.read_text(), page)))
    control = (
        "[a](README.md) [b](nowhere.md#part) [c](https://example.org/x) `[d](code.md)` [e](CONTRIBUTING.md#set-up) "
        "[f](CONTRIBUTING.md#nothing) [g](#what-to-use) [h](#nothing)\n"
    )
    assert list(lost_links(control, ROOT / "README.md")) == ["nowhere.md#part", "CONTRIBUTING.md#nothing", "#nothing"]


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


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


def test_architecture_is_short():
    assert len((ROOT / "docs" / "notes" / "architecture.md").read_text().splitlines()) <= 250


# ---- docs/notes/files.md, and entries of the reference


def test_pages_are_made_from_the_docstrings():
    assert make_api.FILES.read_text() == make_api.files(), "run: python docs/make_api.py"


def test_estimators_describe_their_parameters():
    kinds = [kind for kind in vars(estimators).values() if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    assert len(kinds) == 8
    for kind in kinds:
        described = make_api.described(kind.__doc__, "Parameters")
        assert list(described) == list(inspect.signature(kind).parameters), kind


def test_entries_have_arguments_options_and_methods():
    lines = list(make_api.entry("Elimination", Elimination, set()))
    assert lines[0].startswith("* `Elimination(max_bytes=2147483648)`: ")
    assert lines[1].startswith("  * `max_bytes = 2147483648`, a finite number > 0: ")
    assert any(line.startswith("  * `.infer(model, theta, plan, ") for line in lines)
    listed = {Elimination, InferenceEngine}  # the protocol says what ``infer`` is
    assert not any("`.infer(" in line for line in make_api.entry("Elimination", Elimination, listed))
    assert make_api.signature(Kind) == make_api.signature(InferenceEngine) == ""


def undocumented(text):
    """Names that a file imports from bayesmrf and make_api.SECTIONS does not have."""
    modules = make_api.modules()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayesmrf":
            home = modules.get(node.module)
            known = {} if home is None else {*make_api.members(home), *getattr(home, "__all__", ())}
            for name in (alias.name for alias in node.names):
                if name not in known and f"{node.module}.{name}" not in modules:
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
    assert list(undocumented("from bayesmrf import threads, graphs")) == ["bayesmrf.threads"]
    assert list(undocumented("import bayesmrf.compiled")) == ["bayesmrf.compiled"]


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


@pytest.mark.filterwarnings(
    "ignore::bayesmrf.errors.ConvergenceWarning", "ignore:the normalizing constant is estimated"
)
def test_example_on_symptoms_runs(data_folder, monkeypatch, tmp_path, capsys):
    run_example("bgms.py", ["3", "20"], monkeypatch, tmp_path)
    assert "intrusion - dreams" in capsys.readouterr().out


def test_all_examples_are_run():
    examples = {p.name for p in Path(ROOT / "examples").glob("*.py")}
    assert examples == {*EXAMPLES, "senate.py", "bgms.py", "laplace.py"}  # the last by docs/add_a_slab.md
