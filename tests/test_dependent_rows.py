"""Rows that depend on those before them: how far, what is said of it where, and which tables are left alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, log_evidence, write_report
from bayesmrf.data.dependent_rows import DependentRows, dependent_rows
from bayesmrf.data.states import States
from bayesmrf.errors import DependentRowsWarning
from bayesmrf.results.convergence import verdict
from tests.bounds import assert_mean, assert_other_mean

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
