"""What differs between models is asked of the model, never of its class or name."""

import ast
import re
from pathlib import Path

import pytest

import bayesmrf
from bayesmrf.families import FAMILIES

SOURCE = Path(bayesmrf.__file__).parent
DECLARED = ("models", "families.py", "data")  # the kind of a column has the name "nominal", too
_OF_MODEL = re.compile(r"(model_?|name|family|kind|items)\b\W*$")
NAMES = {*FAMILIES.names, "panel"}


def classes() -> set[str]:
    """Return the names of the models, and of their bases, in models/."""
    trees = [ast.parse(path.read_text()) for path in (SOURCE / "models").glob("*.py")]
    bases = {node.name: {ast.unparse(base) for base in node.bases}
             for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}  # fmt: skip
    found = {"ParameterDisplay", "RestrictedBoltzmann"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def branches(text: str, kinds: set[str]) -> list[str]:
    """Return the questions of which class, or of which name, a model is."""
    tree, found = ast.parse(text), []
    original = {alias.asname or alias.name: alias.name
                for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}  # fmt: skip

    def is_kind(node: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and original.get(part.id, part.id) in kinds for part in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass", "hasattr"):
            asked = is_kind(node.args[1])
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = [side.value for side in sides if isinstance(side, ast.Constant)]
            is_type = any(isinstance(side, ast.Call) and ast.unparse(side.func) == "type" for side in sides)
            is_name = any(isinstance(side, ast.Attribute) and side.attr == "name" and is_kind(side) for side in sides)
            is_model = any(_OF_MODEL.search(ast.unparse(side)) for side in sides)
            is_named = is_model and bool(NAMES.intersection(named))
            asked = is_named or is_name or (is_type and any(map(is_kind, node.comparators)))
        else:
            continue
        found += [ast.unparse(node)] * asked
    return found


def test_nobody_asks_for_the_kind_of_a_model():
    kinds, found = classes(), {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE)
        if place.parts[0] not in DECLARED and (asked := branches(path.read_text(), kinds)):
            found[str(place)] = asked
    assert found == {}


def test_models_are_known_by_their_base():
    assert {"Nominal", "Boltzmann", "Potts", "Panel", "TwoArrays"} <= classes()


@pytest.mark.parametrize(
    "text",
    [
        "from ..models.nominal import Nominal as N\nisinstance(model, Ordinal | N)",
        "type(model) is Nominal",
        "model.name == 'nominal'",
        "tree.attrs.get('model') == Panel.name",
    ],
)
def test_a_branch_would_be_seen(text):
    assert len(branches(text, classes())) == 1
