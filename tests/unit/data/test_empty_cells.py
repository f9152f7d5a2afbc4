"""Combinations of two yes/no columns that never occur, and columns that are the "or" or the "and" of others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesmrf.data.empty_cells import empty_cells, rules
from bayesmrf.data.read import read
from bayesmrf.errors import EqualColumnsWarning, PriorWarning
from bayesmrf.families import Boltzmann, Nominal
from tests.oracle.states import all_states


def said(table, weights=None, family=None):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read(table, weights, family or Boltzmann(), True)
    return [str(w.message) for w in found if w.category in (EqualColumnsWarning, PriorWarning)]


def independent(rng, n=400, d=4):
    return pd.DataFrame(rng.integers(0, 2, (n, d)), columns=list("abcdefgh"[:d]))


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_against_loops(weighted, rng):
    n, d = 300, 6
    x = np.where(rng.random((n, d)) < 0.1, -1, rng.integers(0, 2, (n, d)))
    x[:, 1] = np.where((x[:, 0] == 1) & (x[:, 1] >= 0), 0, x[:, 1])
    x[:, 3] = np.where((x[:, 2] == 0) & (x[:, 3] >= 0), 1, x[:, 3])
    x[:, 5] = np.where(x[:, 4] < 0, -1, x[:, 4])  # a copy
    w = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    found = {(c.columns, c.states): c.expected for c in empty_cells(x, w if weighted else None, range(d))}
    right = {}
    for i in range(d):
        for j in range(i + 1, d):
            both = (x[:, i] >= 0) & (x[:, j] >= 0)
            for a, b in np.ndindex(2, 2):
                rows, columns = (w[both & (x[:, k] == v)].sum() for k, v in ((i, a), (j, b)))
                if not w[both & (x[:, i] == a) & (x[:, j] == b)].sum() and (i, j) != (4, 5):
                    right[(i, j), (a, b)] = rows * columns / w[both].sum()
    assert found == pytest.approx(right)
    assert found.keys() == {((0, 1), (1, 1)), ((2, 3), (0, 0))}


def test_independent_columns_have_a_cell_in_one_table_of_a_hundred_at_most(rng):
    """The control takes every empty cell with 5 rows expected, among 91 pairs of columns of which few are yes."""
    n_tables, alarms, naive = 600, 0, 0
    for _ in range(n_tables):
        x = (rng.random((250, 14)) < 0.145).astype(int)
        alarms += bool(empty_cells(x, None, range(14)))
        n, one = x.T @ x, x.sum(axis=0)
        naive += bool(np.triu((n == 0) & (np.outer(one, one) / 250 >= 5), 1).any())
    assert stats.binom.sf(alarms - 1, n_tables, 0.01) > 1e-6
    assert stats.binom.sf(naive - 1, n_tables, 0.01) < 1e-6


def test_the_likelihood_grows_along_a_line_to_infinity(rng):
    """By enumeration, for each of the four cells: the weight grows, and the biases with it."""
    states = all_states(3)
    for a, b in np.ndindex(2, 2):
        x = independent(rng, 300, 3).to_numpy()
        x = x[~((x[:, 0] == a) & (x[:, 1] == b))]
        ((columns, empty, _),) = empty_cells(x, None, range(3))
        assert (columns, empty) == ((0, 1), (a, b))

        def log_likelihood(t, x=x, a=a, b=b):
            def energy(s):
                return -t * ((s[:, 0] == a) & (s[:, 1] == b)) + 0.3 * s[:, 1] * s[:, 2]

            return energy(x).sum() - len(x) * np.log(np.exp(energy(states)).sum())

        assert (np.diff([log_likelihood(t) for t in range(12)]) > 0).all()


def test_or_and_and_are_named(rng):
    table = independent(rng)
    made = table.assign(any=table[["a", "b", "c"]].max(axis=1), both=table["a"] * (1 - table["d"]))
    (text,) = said(made)
    assert "made of others: 'any' is the 'or' of 'a', 'b', 'c'; 'both' is the 'and' of 'a' = 1, 'd' = 0. " in text
    assert "drop the columns that are made of others" in text
    weighted = made.assign(any=np.where(made.index == 0, 1 - made["any"], made["any"]))
    (text,) = said(weighted, np.where(made.index == 0, 0, 1))  # the wrong row was never observed
    assert "'any' is the 'or' of" in text
    broken = said(table.assign(any=np.where(table.index == table["a"].idxmax(), 0, table[["a", "b", "c"]].max(axis=1))))
    assert not any("'or'" in text for text in broken)


def test_what_never_occurs_is_named(rng):
    table = independent(rng)
    table.loc[table["a"] == 1, "b"] = 1
    (text,) = said(table)
    assert text.startswith("combinations that never occur: 'a' = 1 with 'b' = 0 (")
    assert "tails of the prior" in text
    words = table.replace({0: "no", 1: "yes"}).astype("category")
    assert "'a' = yes with 'b' = no" in said(words, family=Nominal())[-1]
    table.loc[table["a"].idxmax(), "b"] = 0  # the control: a single row
    assert not said(table)
    assert not said(independent(rng))
    rare = independent(rng).assign(a=lambda t: (t.index < 9).astype(int))
    rare.loc[rare["a"] == 1, "b"] = 1
    assert not said(rare)  # four or five expected are too few


def test_copies_and_dummies_are_told_once(rng):
    table = independent(rng)
    one = rng.integers(0, 3, len(table))
    dummies = table.assign(**{f"is{k}": (one == k).astype(int) for k in range(3)})
    (text,) = said(dummies)
    assert "add up to 1" in text
    (text,) = said(table.assign(copy=1 - table["a"]))
    assert "determine each other" in text


def test_real_tables(data_folder):
    """Controls, and one combination that has a reason: where the ST segment is not usable, its change is not seen."""
    adhd = pd.read_csv(data_folder / "adhd.csv")
    trauma = pd.read_csv(data_folder / "wenchuan.csv")
    men = pd.read_csv(data_folder / "coronary.csv")
    assert not said(adhd)
    assert not said((trauma >= 4).astype(float).where(trauma.notna()))
    assert not said(men.drop(columns="count"), men["count"])
    heart = pd.read_csv(data_folder / "cad1.csv", keep_default_na=False).astype("category")
    (text,) = said(heart, family=Nominal())
    assert text.startswith(
        "combinations that never occur: 'STcode' = Nonusable with 'STchange' = Yes (34 rows expected)."
    )


@pytest.mark.parametrize("n_alone", [3, 20])
def test_columns_that_nearly_always_agree_follow_no_rule(n_alone):
    """A column is the "and" of two others if these differ often enough; in three rows each they may by chance."""
    mode = np.arange(300) % 2
    one, other = mode.copy(), mode.copy()
    one[mode == 1] = np.arange(150) >= n_alone
    other[mode == 1] = np.arange(150) < 150 - n_alone
    x = np.column_stack([one & other, one, other])
    made = rules(x, empty_cells(x, None, range(3)))
    assert [rule.column for rule in made] == ([0] if n_alone == 20 else [])
