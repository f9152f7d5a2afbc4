"""The median probability model is one concept, in one module."""

import ast
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import bayesmrf
from bayesmrf.results.median_model import ABOVE, INCLUSION, certainty, in_median_model, median_network

SOURCE = Path(bayesmrf.__file__).parent
_OF_EDGES = re.compile(r"inclu|exist|share\b")
_WORDS = re.compile(r"(inclusion|probability)( is)? above 0\.5")


def test_edges_of_the_median_model_have_an_inclusion_above_one_half():
    assert in_median_model(np.array([0.0, 0.5, np.nextafter(0.5, 1), 1.0])).tolist() == [False, False, True, True]
    assert ABOVE == "inclusion above 0.5"
    np.testing.assert_array_equal(certainty(np.array([0.5, 0.75, 1.0])), [0, 0.5, 1])


def test_the_median_network_lacks_the_other_edges():
    network = nx.Graph()
    network.add_edge("a", "b", inclusion=0.5)
    network.add_edge("b", "c", inclusion=0.51)
    assert [*median_network(network).edges] == [("b", "c")]
    assert [*network] == ["a", "b", "c"]


def thresholds(text: str) -> list[int]:
    """Return the lines of code that compare an inclusion with 1/2, or say the number in words, docstrings apart."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_half = any(isinstance(side, ast.Constant) and side.value == INCLUSION for side in sides)
            if is_half and _OF_EDGES.search(ast.unparse(node)):
                found.append(node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found += [node.lineno] * bool(_WORDS.search(node.value))
    return found


def test_the_threshold_is_written_in_one_module():
    files = {path: thresholds(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {str(path): lines for path, lines in files.items() if lines} == {}


@pytest.mark.parametrize(
    "text", ["a = inclusion > 0.5", "b = exists[share <= .5]", "c = f'edges with an inclusion above 0.5, {a}'"]
)
def test_a_second_threshold_would_be_seen(text):
    assert thresholds(text) == [1]
