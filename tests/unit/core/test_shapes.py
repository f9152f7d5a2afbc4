"""Functions that join or split parameters refuse arrays of other shapes, which NumPy would broadcast or cut."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.errors import OptionError
from bayesmrf.models import Agreement, Boltzmann, Ising, Ordinal, Potts, RestrictedBoltzmann, Symmetric
from bayesmrf.models.boltzmann import Coding
from bayesmrf.models.label_field import LabelField
from bayesmrf.models.linear_map import LinearMap

PATH = graphs.path(3)
MACHINE = RestrictedBoltzmann(n_visible=3, n_hidden=2)
FIELD = LabelField(np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]), ("x", "y"))
MAP = LinearMap.of(np.ones((4, 2)), ("a", "b"))
MODELS = [
    *(model(PATH, fields=fields) for model in (Boltzmann, Ising, Agreement) for fields in (True, False)),
    *(model(PATH, 3, fields) for model in (Potts, Symmetric, Ordinal) for fields in (True, False)),
]
WEIGHTS = np.arange(6.0).reshape(2, 3)


def test_parts_of_a_machine_are_those_that_were_joined():
    parts = MACHINE.split(MACHINE.join(WEIGHTS, np.array([6.0, 7, 8]), np.array([9.0, 10])))
    for part, expected in zip(parts, (WEIGHTS, [6, 7, 8], [9, 10]), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((WEIGHTS.T, np.zeros(3), np.zeros(2)), r"weights must have shape \(2, 3\), .* got \(3, 2\)"),
        ((WEIGHTS.ravel(), np.zeros(3), np.zeros(2)), r"weights must have shape \(2, 3\), .* got \(6,\)"),
        ((WEIGHTS, np.zeros(2), np.zeros(3)), r"visible must have shape \(3,\), .* got \(2,\)"),
        ((WEIGHTS, np.zeros(3), np.zeros(3)), r"hidden must have shape \(2,\), .* got \(3,\)"),
    ],
)
def test_parts_of_a_machine_with_other_shapes(parts, message):
    with pytest.raises(OptionError, match=message):
        MACHINE.join(*parts)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.fields}")
def test_parameters_of_models(model):
    make = model.pairwise if model.family == "binary" else model.categorical
    make(np.zeros(model.n_features))
    for size in (model.n_edges * model.n_parameters, model.n_edges * model.n_parameters + 1, model.n_features + 1):
        if size != model.n_features:
            with pytest.raises(OptionError, match=rf"theta must have shape .* got \({size},\)"):
                make(np.zeros(size))
    with pytest.raises(OptionError, match=r"theta must have .*, got \(2, "):
        make(np.zeros((2, model.n_features)))


WRONG = {
    "field_table": lambda: Potts(PATH, 3).field_table(np.zeros(2)),
    "field_table of scores": lambda: Ordinal(PATH, 3).field_table(np.zeros(1)),
    "from_field_table": lambda: Potts(PATH, 3).from_field_table(np.zeros((3, 4))),
    "from_field_table of scores": lambda: Ordinal(PATH, 3).from_field_table(np.zeros((4, 3))),
    "weights": lambda: Coding.of(Ising(PATH)).weights(Ising(PATH), np.zeros(3)),
    "theta": lambda: Coding.of(Ising(PATH)).theta(Ising(PATH), np.zeros(3)),
    "natural": lambda: FIELD.natural(np.zeros((2, 3))),
    "map": lambda: MAP.natural(np.zeros((2, 4))),
}


@pytest.mark.parametrize("case", WRONG)
def test_other_parameters(case):
    with pytest.raises(OptionError, match=r"must have shape \(.*, got \("):
        WRONG[case]()
