"""docs/notes/equations.md is made from the docstrings, and has a row for every numbered equation of the four papers."""

import ast
import functools
import re

import pytest

from docs import make_equations
from docs.make_equations import (
    EQUATIONS,
    EVIDENCE,
    LIU_PAGE,
    MURRAY_GHAHRAMANI,
    NOT_IMPLEMENTED,
    PAGE,
    STRUCTURE,
    cited,
)

# Numbered equations, and algorithms, that the papers have.
NUMBERS = {LIU_PAGE: (5, 2), MURRAY_GHAHRAMANI: (14, 0), STRUCTURE: (14, 1), EVIDENCE: (8, 1)}
citations = functools.cache(make_equations.citations)  # every test of a run is collected, this file's or not


def test_the_page_is_made_from_the_docstrings():
    assert PAGE.read_text() == make_equations.page(), "run: python docs/make_equations.py"


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_equation_has_a_row(paper):
    n_equations, n_algorithms = NUMBERS[paper]
    numbers = [f"eq. {i}" for i in range(1, n_equations + 1)] + [f"Algorithm {i}" for i in range(1, n_algorithms + 1)]
    assert list(EQUATIONS[paper]) == numbers
    section = PAGE.read_text().partition(f"## {paper}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| ((?:eq\.|Algorithm) \d+) ", section, re.M) == numbers


def test_every_equation_is_cited_or_said_to_be_left_out():
    found = {(c.paper, c.equation) for c in citations()}
    for paper, equations in EQUATIONS.items():
        for equation, content in equations.items():
            assert ((paper, equation) in found) is not (NOT_IMPLEMENTED in content), f"{paper}, {equation}"


def test_citations_name_their_paper_and_an_equation_that_it_has():
    wrong = [c for c in citations() if c.paper is None or c.equation not in EQUATIONS[c.paper]]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(Liu and Page 2013, eq. 3)", [(LIU_PAGE, "eq. 3")]),
        ("Liu and\n  Page 2013, eq.\n 4, and Algorithms 1 and 2", [(LIU_PAGE, e) for e in ("eq. 4", "Algorithm 1",
         "Algorithm 2")]),
        (f"{STRUCTURE}, eq. 8, 9 and 10; see section 4; {EVIDENCE}, eq. 2", [*((STRUCTURE, f"eq. {i}") for i in
         (8, 9, 10)), (EVIDENCE, "eq. 2")]),
        ("The sum of eq. 7.", [(None, "eq. 7")]),
        ("(Neal 2000, Algorithm 2; Liu and Page 2013, section 4.1)", []),
        ("Meng and Wong 1996, eq. 3.2", []),
    ],
)  # fmt: skip
def test_citations_are_read(text, expected):
    assert list(cited(text)) == expected


def test_names_of_methods_are_whole():
    tree = ast.parse('"""A."""\nclass B:\n    """B."""\n    def c(self):\n        """C."""\n')
    assert list(make_equations._docstrings(tree)) == [("", "A."), ("B", "B."), ("B.c", "C.")]
