"""Tables of many columns: what is searched for in them in seconds, and what is said meanwhile."""

import time

import numpy as np
import pandas as pd
import pytest

from bayesmrf import PanelMRF, SpikeSlabMRF, graphs, progress
from bayesmrf.data import derived_columns as made_of_others
from bayesmrf.data import table_forms
from bayesmrf.data.infer_columns import infer_columns
from bayesmrf.data.states import check_states
from bayesmrf.learning import sparse_path
from bayesmrf.models import pairwise
from bayesmrf.progress import announced


def test_relations_of_more_columns_than_rows_are_found_without_a_look_at_those_of_chance(rng, monkeypatch):
    """Behind as many columns as rows each follows from those before it, with weights that are no simple numbers."""
    tried = []

    class Counted(made_of_others.Fraction):
        def limit_denominator(self, most):
            tried.append(self)
            return made_of_others.Fraction(super().limit_denominator(most))

    monkeypatch.setattr(made_of_others, "Fraction", Counted)
    x = rng.integers(0, 2, (100, 400)).astype(float)
    x[:, 7] = x[:, :5].sum(axis=1)
    found = made_of_others.linear_relations(x, [f"c{i}" for i in range(400)])
    assert [r.columns for r in found] == [("c7", "c0", "c1", "c2", "c3", "c4")]
    assert 5 <= len(tried) < 100
    assert made_of_others.linear_relations(np.zeros((100, 2001)), [""] * 2001) == []


def test_columns_that_are_determined_are_those_that_add_no_rank(rng):
    """Columns in their order, in several blocks, against the rank of those up to each, and least squares."""
    x = rng.integers(0, 4, (300, 200)).astype(float)
    x[:, 3] = 1.0
    for j, of in ((20, (0, 7)), (100, (20, 50)), (150, (149, 100, 3)), (199, (70, 198))):
        x[:, j] = x[:, list(of)] @ np.arange(1.0, 1 + len(of)) + 2
    pivots, made, weights = made_of_others._candidates(x)
    ranks = [np.linalg.matrix_rank(x[:, : j + 1] - x[:, : j + 1].mean(axis=0)) for j in range(200)]
    grows = np.diff([0, *ranks]) > 0
    assert pivots.tolist() == np.flatnonzero(grows).tolist()
    assert made.tolist() == [20, 100, 150, 199]
    centred = x - x.mean(axis=0)
    expected = np.linalg.lstsq(centred[:, pivots], centred[:, made], rcond=None)[0]
    np.testing.assert_allclose(weights, expected, atol=1e-8)


def test_rows_of_a_table_are_understood_once(rng, monkeypatch):
    """The searches for totals and counts take seconds in wide tables."""
    found = []
    for name in ("_totals", "forgotten_count", "one_row_per_answer"):
        search = getattr(table_forms, name)
        monkeypatch.setattr(table_forms, name, lambda frame, s=search, n=name: found.append(n) or s(frame))
    infer_columns(pd.DataFrame(rng.integers(1, 6, (50, 4)), columns=list("abcd")))
    assert sorted(found) == ["_totals", "forgotten_count", "one_row_per_answer"]


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("weights", [None, "counts", "fractions"])
def test_agreements_of_all_pairs_are_those_of_each(n_states, weights, rng, monkeypatch):
    """Products of matrices give the same numbers as comparisons, of which those of fractions remain."""
    x = rng.integers(0, n_states, (200, 9)).astype(np.int8)
    w = {None: None, "counts": rng.integers(0, 5, 200), "fractions": rng.random(200)}[weights]
    graph, products = graphs.complete(9), []
    found = pairwise._agreements
    monkeypatch.setattr(pairwise, "_agreements", lambda *given: products.append(given) or found(*given))
    agree, ones = pairwise.edge_statistics(graph, x, w)
    assert bool(products) == (weights != "fractions")
    u, v = graph.edges.T
    w = np.ones(200) if w is None else w
    np.testing.assert_array_equal(agree, ((x[:, u] == x[:, v]).T @ w) / w.sum())
    np.testing.assert_array_equal(ones, (x.T @ w) / w.sum())


def test_the_start_of_a_wide_table_is_near_that_of_a_narrow_one(rng, monkeypatch):
    latent = rng.normal(size=(600, 4))
    x = (latent[:, np.arange(20) % 4] + rng.normal(size=(600, 20)) > 0).astype(np.int8)
    states, graph = check_states(x), graphs.complete(20)
    narrow = sparse_path.sparse_start(graph, states)
    monkeypatch.setattr(sparse_path, "_FEW", 10)
    monkeypatch.setattr(sparse_path, "_CELLS", 20 * 600)
    wide = sparse_path.sparse_start(graph, states)
    assert 0 < np.abs(wide - narrow).max() < 0.1 < np.abs(narrow).max()
    covariance = np.cov(x.T)
    top = np.linalg.eigvalsh(covariance)[-1]
    assert top <= sparse_path._largest(covariance) <= 1.1 * top


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(progress, "SILENT", 0.05)


def test_long_work_is_announced(eager, capfd):
    with announced("reading", True):
        pass
    with announced("waiting", False):
        time.sleep(0.2)
    assert capfd.readouterr().err == ""
    with announced("reading", True):
        time.sleep(0.5)
    assert capfd.readouterr().err == "reading: 0 s so far\n"


@pytest.mark.parametrize("kind", [SpikeSlabMRF, PanelMRF])
def test_estimators_announce_what_they_do_before_the_first_draw(kind, monkeypatch, rng):
    """Each step of it, where it takes long."""
    said, expected = [], {
        SpikeSlabMRF: [
            "understanding the columns of the table",
            "reading and checking the table",
            "choosing how and where the chains start",
        ],
        PanelMRF: ["reading and checking the table"],
    }  # fmt: skip

    def listen(what, is_on):
        said.append(what)
        return announced(what, is_on)

    for module in ("prepared", "panel"):
        monkeypatch.setattr(f"bayesmrf.estimators.{module}.announced", listen)
    kind(n_draws=2).check(rng.integers(0, 2, (60, 3)))
    assert said == expected[kind]
