"""What is shown of the parameters of a model."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.models import Boltzmann, Nominal, PairwiseModel, Symmetric
from bayesmrf.models.bases import edge_strength
from bayesmrf.models.display import PlainDisplay, display_of
from bayesmrf.models.panel import Panel
from bayesmrf.models.restored import restored

GRAPH = graphs.path(3)
MIXED = Nominal(GRAPH, 3, True, (3, 3, 2), (False, True, True), state_names=(tuple("abc"), tuple("def"), tuple("gh")))


class Own:
    """A model of a user that has the attributes that are needed, and no more."""

    n_edges, n_parameters, feature_names = 2, 1, ("0-1", "1-2", "0")


@pytest.mark.parametrize("model", [Boltzmann(GRAPH), Own()])
def test_a_model_with_one_parameter_an_edge_needs_nothing(model):
    display, theta = display_of(model), np.array([[0.5, -2.0, 1.0]])
    assert display.signed.all()
    assert not display.has_tables
    np.testing.assert_array_equal(display.numbers(theta), theta[:, :2])
    np.testing.assert_array_equal(display.strength(theta), [[0.5, 2.0]])
    assert display.shown_names[:2] == ["0-1", "1-2"]


def test_edges_with_tables_have_a_strength_and_others_a_sign():
    theta = np.arange(1.0, MIXED.n_features + 1) * -1
    assert MIXED.edge_starts.tolist() == [0, 2, 3]
    assert MIXED.signed.tolist() == [False, True]
    np.testing.assert_allclose(MIXED.numbers(theta), [np.sqrt(2.5), -3.0])
    np.testing.assert_allclose(MIXED.shown_edges(theta[2:3], np.array([1])), [-3.0])
    assert MIXED.places(np.array([0, 1])).tolist() == [0, 1, 2]


def test_several_parameters_without_a_number_have_the_root_mean_square_as_strength():
    model = Symmetric(GRAPH, 2, False)
    np.testing.assert_allclose(display_of(model).strength(np.array([3.0, 4.0, 0.0, 1.0])), np.sqrt([12.5, 0.5]))


def test_a_stored_run_knows_what_is_shown():
    names, edges = list(GRAPH.names), GRAPH.edges
    again = restored("nominal", MIXED.as_attributes(), names, edges, MIXED.feature_names, 1)
    assert again.has_tables
    assert again.shown_names == MIXED.shown_names
    np.testing.assert_array_equal(again.signed, MIXED.signed)
    plain = restored("own", {}, names, edges, ["a", "b"], 1)
    assert isinstance(plain, PlainDisplay)
    assert plain.edge_kinds is None
    panel = Panel(("a", "b"), (2, 2), True)
    again = restored("panel", panel.as_attributes(), panel.names, panel.edges, panel.feature_names, 1)
    np.testing.assert_array_equal(again.edge_kinds, panel.edge_kinds)


def test_a_users_model_of_two_arrays_has_a_display():
    class Joint(PairwiseModel):
        name = "joint"
        edge_features, node_features = np.array([[[0.0, 0.0], [0.0, 1.0]]]), np.array([[0.0, 1.0]])

    assert display_of(Joint(GRAPH)).shown_names == ["0-1", "1-2", "0", "1", "2"]


def test_the_former_name_of_the_strength_warns():
    with pytest.warns(FutureWarning, match="display_of"):
        np.testing.assert_array_equal(edge_strength(Boltzmann(GRAPH), np.array([-1.0, 2, 0, 0, 0])), [1.0, 2.0])
