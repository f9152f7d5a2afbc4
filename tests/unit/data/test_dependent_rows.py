"""Rows that depend on those before them: how far, what is said of it where, and which tables are left alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, log_evidence, write_report
from bayesmrf.data.dependent_rows import DependentRows, dependent_rows, remark_on_rows
from bayesmrf.data.repeated_rows import repeated_rows
from bayesmrf.data.states import States, check_states
from bayesmrf.errors import DependentRowsWarning
from bayesmrf.results.convergence import verdict
from tests.oracle.bounds import assert_mean, assert_other_mean

SHORT = {"n_draws": 200, "n_warmup": 50, "n_chains": 2, "random_state": 0, "progress": False}


def walks(rho: float, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Independent two-state chains with autocorrelations rho^l, those of products of two are rho^2l."""
    renewed = rng.random((n, d)) > rho
    renewed[0] = True
    last = np.maximum.accumulate(np.where(renewed, np.arange(n)[:, None], 0), axis=0)
    return np.take_along_axis(rng.integers(0, 2, (n, d)), last, axis=0)


def states(x: np.ndarray) -> States:
    """States of yes/no items; -1 is missing."""
    return States(np.asarray(x, dtype=np.int8), tuple(map(str, range(np.shape(x)[1]))), None, (0, 1))


def found(*tables: np.ndarray) -> DependentRows | None:
    return dependent_rows([states(x) for x in tables])


def items(n: int, rng: np.random.Generator, d: int = 8, cut: float = 0.0) -> np.ndarray:
    """Independent rows of correlated items; rare ones where ``cut`` is high."""
    return (rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) > rng.normal(cut, 0.5, d)).astype(int)


def test_factors_are_those_of_chains_with_known_autocorrelation(rng):
    rho = 0.5
    factors = np.array([found(walks(rho, 3000, 8, rng))[:2] for _ in range(40)])[:, None]
    truth = [np.sqrt((1 + r) / (1 - r)) for r in (rho**2, rho)]
    assert_mean(factors, truth, bias=0.03)  # the sum ends where autocorrelations are small
    assert_other_mean(factors, [np.sqrt(1 + 2 * r) for r in (rho**2, rho)], bias=0.03)  # of one lag alone


def test_rows_that_are_kept_apart_are_independent(rng):
    for rho in (0.5, 0.8):
        x = walks(rho, 6000, 10, rng)
        apart = found(x).apart
        assert found(x[::apart]) is None
        assert found(x[:: apart // 2]) is not None


@pytest.mark.parametrize(("n", "d", "cut"), [(100, 3, 0.0), (400, 20, 0.0), (400, 20, 2.5), (3000, 8, 0.0)])
def test_independent_rows_are_left_alone(n, d, cut, rng):
    """Each of 100 tables is taken as dependent with a probability of 2e-6."""
    assert not any(found(items(n, rng, d, cut)) for _ in range(100))
    assert found(walks(0.9, max(n, 400), d, rng))  # control


def test_rows_that_are_missing_in_part_are_compared(rng):
    x = np.where(rng.random((2000, 8)) < 0.2, -1, walks(0.7, 2000, 8, rng))
    assert found(x)
    assert found(rng.permutation(x)) is None


def test_tables_without_an_order_of_their_own_are_left_alone(rng):
    x = items(1000, rng, 4)
    frame = pd.DataFrame(x, columns=list("abcd"))
    assert found(frame.sort_values("c")) is None
    assert found(frame.sort_values("c", ascending=False)) is None
    rows, counts = np.unique(x, axis=0, return_counts=True)
    order = np.argsort(-counts)
    assert found(np.repeat(rows[order], counts[order], axis=0)) is None
    walk = walks(0.8, 1000, 4, rng)
    assert dependent_rows([replace(states(walk), weights=np.full(1000, 2))]) is None
    assert dependent_rows([replace(states(walk), weights=np.ones(1000))])  # control


def test_two_groups_one_after_the_other_are_no_time_series(rng):
    assert found(np.concatenate([items(500, rng, cut=-0.7), items(500, rng, cut=0.7)])) is None


def test_groups_of_people_are_compared_each_by_itself(rng):
    x = walks(0.7, 1500, 6, rng)
    assert found(x[:500], x[500:])
    assert found(*(rng.permutation(part) for part in (x[:500], x[500:]))) is None


@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.parametrize(
    "estimator",
    [
        SpikeSlabMRF(method="exact", **SHORT),
        BayesianMRF(kernel="gibbs", **SHORT),
        GroupedMRF(method="exact", **SHORT),
        CompareMRF(method="exact", **SHORT),
    ],
    ids=lambda e: type(e).__name__,
)
def test_fit_verdict_and_report_say_so(estimator, rng, tmp_path):
    x = walks(0.7, 1000, 4, rng)
    more = {"groups": np.arange(1000) % 10 < 5} if isinstance(estimator, CompareMRF) else {}
    with pytest.warns(DependentRowsWarning, match=r"^Dependent rows: .* keep one row of \d"):
        estimator.fit(x, **more)
    tree = estimator.posterior_
    grade, sentence = verdict(tree).grade, verdict(tree).sentence
    assert grade in ("fair", "bad")
    assert "Dependent rows: rows that follow each other are alike" in sentence
    path = tmp_path / "report.html"
    write_report(tree, path)
    assert "Dependent rows" in path.read_text()
    assert "Dependent" not in verdict(estimator.fit(rng.permutation(x), **more).posterior_).sentence


def test_evidence_says_so(rng):
    x = walks(0.7, 1000, 4, rng)
    for model in ("independent", BayesianMRF("complete"), RBM(1)):
        said = log_evidence(model, x, "bic", random_state=0, progress=False).status
        assert "Differences of log evidence may be too large by a factor of about" in said
        assert (
            "Dependent rows"
            not in log_evidence(model, rng.permutation(x), "bic", random_state=0, progress=False).status
        )


def panel(rng, n_persons=300, n_waves=4, alike=0.6, d=4, cut=0.0):
    """Rows of persons, each with a level of its own; ``alike`` is its standard deviation."""
    own = alike * rng.normal(size=(n_persons, 1, d))
    return (own + rng.normal(size=(n_persons, n_waves, d)) > cut).astype(int).reshape(-1, d)


def labelled(x, n_waves=4, **more):
    frame = pd.DataFrame(x, index=pd.Index(np.arange(len(x)) // n_waves, name="person"))
    return check_states(frame, **more)


def clustered(y, x, group):
    """Standard error of a logistic regression of y on x, by groups, divided by that of independent rows."""
    design = np.column_stack([np.ones(len(x)), x])
    beta = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        information = design.T @ (design * (p * (1 - p))[:, None])
        beta += np.linalg.solve(information, design.T @ (y - p))
    inverse = np.linalg.inv(information)
    scores = pd.DataFrame(design * (y - p)[:, None]).groupby(np.asarray(group)).sum().to_numpy()
    return np.sqrt((inverse @ scores.T @ scores @ inverse)[1, 1] / inverse[1, 1])


def test_factors_of_persons_are_those_of_clustered_standard_errors(rng):
    x = panel(rng, alike=1.5, d=3)
    x[:, 2] = np.repeat(rng.integers(0, 2, 300), 4)  # exposed, or not
    result = repeated_rows([labelled(x)])
    edges = ((0, 1, 2), (0, 2, 1), (1, 2, 0))  # the third column is given
    right = {e[:2]: clustered(x[:, e[0]], x[:, e[1:]], np.arange(1200) // 4) for e in edges}
    assert result.edges == pytest.approx(max(right.values()), rel=0.02)
    assert result.edge == tuple(map(str, max(right, key=right.get)))
    shuffled = rng.permutation(1200)
    frame = pd.DataFrame(x, index=np.arange(1200) // 4).iloc[shuffled]
    assert repeated_rows([check_states(frame)])[:2] == pytest.approx(result[:2])  # in any order
    assert repeated_rows([labelled(x[shuffled])]) is None  # control: labels of others


@pytest.mark.parametrize(("n", "cut"), [(100, 0.0), (300, 2.5)])
def test_independent_rows_of_persons_are_left_alone(n, cut, rng):
    """Each of 100 tables is taken as dependent with a probability of 1e-6."""
    assert not any(repeated_rows([labelled(panel(rng, n, alike=0.0, cut=cut))]) for _ in range(100))
    assert repeated_rows([labelled(panel(rng, n, alike=1.0))])  # control


def test_missing_values_and_rare_columns_of_persons(rng):
    x = panel(rng, alike=2.0).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    assert repeated_rows([labelled(x, missing=True)])
    frame = pd.DataFrame(x, index=pd.Index(np.where(np.arange(1200) % 4 < 2, np.arange(1200) // 4, np.nan)))
    assert repeated_rows([check_states(frame, missing=True)]).same == "with the same label of the index"
    weights = (np.arange(1200) % 4 < 2).astype(float)  # of which only 1 counts
    frame = pd.DataFrame(panel(rng, alike=1.5), index=np.arange(1200) // 4)
    half = repeated_rows([check_states(frame[weights > 0])])
    assert half is not None
    assert repeated_rows([check_states(frame, weights)]) == half
    assert repeated_rows([check_states(frame, 2 * weights)]) is None  # counts of rows
    once = np.zeros((400, 3), int)
    once[[0, 1], [0, 1]] = 1  # two columns that are never 1 at once determine their product
    once[rng.random(400) < 0.5, 2] = 1
    assert repeated_rows([labelled(once)]) is None


def test_a_column_that_counts_up_tells_rows_of_a_person(rng):
    x = np.column_stack([np.tile([1, 2, 3, 4], 300), panel(rng)])
    frame = pd.DataFrame(x, columns=["wave", *"abcd"])
    result = repeated_rows([check_states(frame, n_states="keep")])
    assert result.same == "between which 'wave' counts up"
    assert result[:2] == repeated_rows([check_states(frame.set_index(np.arange(1200) // 4), n_states="keep")])[:2]
    assert repeated_rows([check_states(frame.drop(columns="wave"))]) is None
    alone = np.column_stack([frame["wave"], np.arange(1200) >= 600, rng.integers(0, 2, (1200, 2))])
    assert repeated_rows([check_states(alone, n_states="keep")]) is None  # sorted by the second
    assert repeated_rows([check_states(frame.sample(frac=1, random_state=1), n_states="keep")]) is None


def test_rows_of_one_value_of_a_sorted_column_are_compared(rng):
    """Sorting by a column switched the check off."""
    walk = walks(0.8, 1200, 4, rng)
    walk[:, 0] = np.arange(1200) >= 500
    assert found(walk).edges > 1.1
    walk[:, 1] = np.arange(1200) % 500 > 250  # sorted within
    assert found(walk)
    assert found(np.column_stack([walk[:, 0], rng.permutation(walk[:500]).repeat(3, axis=0)[:1200, 1:]])) is not None
    shuffled = np.concatenate([rng.permutation(walk[:500]), rng.permutation(walk[500:])])
    shuffled[:, 1] = rng.integers(0, 2, 1200)
    assert found(shuffled) is None


def test_rows_of_persons_are_said_of_fits_and_evidence(rng):
    frame = pd.DataFrame(panel(rng, alike=1.0), index=pd.Index(np.arange(1200) // 4, name="person"))
    shuffled = frame.sample(frac=1, random_state=1)
    message = "rows with the same 'person' are alike.* up to .* times as large .* keep one row of each person"
    with pytest.warns(DependentRowsWarning, match=message):
        est = SpikeSlabMRF(method="exact", **SHORT).fit(shuffled)
    assert "Dependent rows: rows with the same 'person'" in verdict(est.posterior_).sentence
    said = log_evidence(BayesianMRF("complete"), shuffled, "bic", random_state=0, progress=False).status
    assert "rows with the same 'person'" in said
    with pytest.warns(DependentRowsWarning, match="same 'person'"):
        CompareMRF(method="exact", **SHORT).fit(shuffled, groups=np.asarray(shuffled.index) % 2)


def test_names_of_levels_without_order_change_nothing(rng):
    """Columns without order are seen by whether they have their most frequent level."""
    codes = np.repeat(rng.integers(0, 3, size=(150, 4)), 3, axis=0)
    codes[codes == 1] = np.where(rng.random((codes == 1).sum()) < 0.5, 0, 1)
    found = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        table = pd.DataFrame(
            {f"q{i}": pd.Categorical(np.array(list("abc"))[np.array(order)][x]) for i, x in enumerate(codes.T)}
        )
        found.append(remark_on_rows([check_states(table, n_states="nominal")]))
    assert found[0]
    assert found[0] == found[1] == found[2]
