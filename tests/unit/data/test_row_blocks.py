"""Rows of one church, rater or person: factors of standard errors, and weights within, against others written apart."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from bayesmrf import CompareMRF, SpikeSlabMRF
from bayesmrf.data import read_columns
from bayesmrf.data.kinds.identifier import without
from bayesmrf.data.repeated_rows import repeated_rows
from bayesmrf.data.states import check_states
from bayesmrf.data.within_blocks import conditional, estimate
from bayesmrf.errors import DependentRowsWarning
from bayesmrf.results.convergence import verdict

SHORT = {"n_draws": 100, "n_warmup": 50, "n_chains": 2, "random_state": 0, "progress": False}
ITEMS = ["q1", "q2", "q3", "q4"]
PAIRS = list(combinations(range(4), 2))


@pytest.fixture(scope="module")
def tables(data_folder):
    """The folder of the made-up tables, which lies next to the real data."""
    folder = data_folder.parent / "tables"
    if not folder.is_dir():
        pytest.skip("the made-up tables are not here")
    return folder


@pytest.fixture(scope="module")
def churches(tables):
    return pd.read_csv(tables / "churches.csv")


@pytest.fixture(scope="module")
def twice(tables):
    """The same people before and after."""
    return pd.read_csv(tables / "before_and_after.csv").set_index("id")


def of_clusters(y, x, codes):
    """Conditional logistic regression of y on x with the sum of y in a cluster given: estimate and standard error."""

    def minus_log_likelihood(beta):
        score, total = x @ beta, 0.0
        for c in np.unique(codes):
            mine = codes == c
            ways = np.zeros(int(y[mine].sum()) + 1)  # log of sums over all choices of that many rows
            ways[1:] = -np.inf
            for s in score[mine]:
                ways[1:] = np.logaddexp(ways[1:], ways[:-1] + s)
            total += score[mine] @ y[mine] - ways[-1]
        return -total

    best, h = minimize(minus_log_likelihood, np.zeros(x.shape[1]), method="BFGS").x, 0.05 * np.eye(x.shape[1])
    hessian = [
        [sum(s * t * minus_log_likelihood(best + s * a + t * b) for s in (-1, 1) for t in (-1, 1)) / 0.01 for b in h]
        for a in h
    ]
    return best[0], np.sqrt(np.linalg.inv(hessian)[0, 0])


def by_label(y, x, labels):
    """Logistic regression of y on x: the error of the first coefficient by label, and its variance."""
    design, beta = np.column_stack([x, np.ones(len(x))]), np.zeros(x.shape[1] + 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        inverse = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
        beta += inverse @ design.T @ (y - p)
    scores = pd.DataFrame(design * (y - p)[:, None]).groupby(np.asarray(labels)).sum()
    return (scores @ inverse)[0], inverse[0, 0]


def given_others(table, u, v):
    x = table[ITEMS].to_numpy(float)
    return x[:, u], x[:, [v, *(w for w in range(4) if w not in (u, v))]]


def test_weights_within_churches_are_those_of_conditional_logistic_regression(churches):
    x, codes = churches[ITEMS].to_numpy(float), pd.factorize(churches["church"])[0]
    found = estimate(x, codes, codes)
    right = np.array([of_clusters(*given_others(churches, u, v), codes) for u, v in PAIRS[::3]])
    np.testing.assert_allclose(found.weights, [-0.02, 0.19, 0.04, -0.30, -0.14, -0.04], atol=0.01)
    np.testing.assert_allclose(found.weights[::3], right[:, 0], atol=0.02)
    np.testing.assert_allclose(np.sqrt(found.by_row), 0.135, atol=0.01)
    np.testing.assert_allclose(np.sqrt(found.by_row[::3]), right[:, 1], rtol=0.05)
    pooled = estimate(x, np.zeros(len(x), int), codes)
    assert (np.abs(pooled.weights[::3] - right[:, 0]) > 0.3).all()  # control


def test_weights_of_ordered_levels_within_blocks(rng):
    """Against a sum over all pairs of rows, written out."""
    codes = np.repeat(np.arange(10), 6)
    x = rng.integers(0, 4, (60, 3)).astype(float)
    x[:, 1] = np.clip(x[:, 1] + (x[:, 0] > 1), 0, 3)

    def minus(w):
        of, total = np.array([[0, w[0], w[1]], [w[0], 0, w[2]], [w[1], w[2], 0]]), -0.005 * w @ w
        for i, j in combinations(range(60), 2):
            if codes[i] == codes[j]:
                total -= np.logaddexp(0, -(x[i] - x[j]) * (of @ (x[i] - x[j]))).sum()
        return -total

    best = minimize(minus, np.zeros(3), method="BFGS").x
    np.testing.assert_allclose(estimate(x, codes, codes).weights, best, atol=1e-3)
    assert np.abs(estimate(x, np.zeros(60, int), codes).weights - best).max() > 0.02  # control: of all rows


def test_factors_of_churches_are_those_of_clustered_errors(churches):
    states = check_states(churches.set_index("church")[ITEMS])
    found = conditional([states], [states.blocks[0].codes]).factors
    right = []
    for u, v in PAIRS:
        each, naive = by_label(*given_others(churches, u, v), churches["church"])
        right.append(np.sqrt((each**2).sum() / naive))
    np.testing.assert_allclose(found, right, rtol=0.05)
    assert (found > 1.1).all()
    assert (found < 1.5).all()


def test_shuffled_churches_are_left_alone(churches, rng):
    """Each of 50 tables is taken as dependent with a probability of 1e-6."""
    for _ in range(50):
        labels = rng.permutation(churches["church"])
        assert repeated_rows([check_states(churches[ITEMS].set_axis(labels, axis=0))]) is None
    assert repeated_rows([check_states(churches.set_index("church"))])  # control


def test_columns_that_are_left_out_become_labels(churches, rng):
    n = len(churches)
    more = {
        "rater": rng.integers(1, 41, n), "height": rng.normal(170, 9, n).round(1), "sex": rng.integers(0, 2, n),
        "row": np.arange(n), "comment": [f"no. {i}" for i in range(n)],
    }  # fmt: skip
    table = without(churches.assign(**more), ["church", *more])
    assert table.index.names == ["church", "rater"]
    states = check_states(table)
    assert [blocks.same for blocks in states.blocks] == [
        "with the same 'church'", "with the same 'rater'", "with the same 'church' and 'rater'"
    ]  # fmt: skip
    found = repeated_rows([states])
    assert found.same == "with the same 'church'"
    assert without(churches, []).index.equals(churches.index)
    assert repeated_rows([check_states(table.droplevel("church"))]) is None  # of raters, who are drawn at random


def test_numbers_are_labels_unless_a_smooth_trend_is_all_there_is(rng):
    """Answers that grow with age are no clusters of people of one age; churches with numbers are clusters."""
    n, flagged = 3000, []
    age = rng.integers(18, 78, n)
    x = (rng.normal(size=(n, 4)) + 0.04 * (age[:, None] - 48) > 0).astype(int)
    for number, answers in ((age, x), (np.random.default_rng(1).permutation(100)[age], x)):
        table = pd.DataFrame(answers, columns=ITEMS, index=pd.Index(number, name="number"))
        flagged.append(repeated_rows([check_states(table)]) is not None)
    assert flagged == [False, True]


def test_churches_are_said_in_the_shell_and_the_report(tables, bayesmrf, folder):
    path = tables / "churches.csv"
    code, out, _ = bayesmrf("structure", path, "--drop", "church", "--n-draws", 5, "--seed", 1)
    assert code == 0
    said = " ".join(out.split())
    assert "rows with the same 'church' are alike" in said
    assert "should be up to 1.4 times as large" in said
    assert "6 log odds ratios have another sign" in said
    assert "q1 – q3 0.18 (standard error 0.13) instead of 0.80" in said
    assert "q2 – q3 -0.30" in said
    assert bayesmrf("report", "churches_run")[0] == 0
    assert "6 log odds ratios have another sign" in " ".join((folder / "churches_run.html").read_text().split())


def test_churches_are_said_of_the_index(churches):
    with pytest.warns(DependentRowsWarning, match="same 'church' are alike.* 6 log odds ratios have another sign"):
        fitted = SpikeSlabMRF(method="exact", **SHORT).fit(churches.set_index("church"))
    assert "q2 – q3 -0.30" in verdict(fitted.posterior_).sentence


def test_columns_that_a_codebook_leaves_out_become_labels(churches, twice):
    """Also next to groups with the index of the table; weights keep theirs."""
    est = SpikeSlabMRF(method="exact", columns=read_columns(churches), **SHORT | {"n_draws": 5})
    with pytest.warns(DependentRowsWarning, match="same 'church' are alike"):
        est.fit(churches)
    est.check(churches, sample_weight=pd.Series(1, churches.index))
    table = twice.reset_index()
    book = read_columns(table[["id", *ITEMS]])
    with pytest.warns(DependentRowsWarning, match="Intervals of differences are too wide"):
        CompareMRF(method="exact", columns=book, **SHORT | {"n_draws": 5}).fit(table, groups=table["wave"])


def parts_of(table):
    states = check_states(table[ITEMS])
    return [states.at(np.flatnonzero(table["wave"].to_numpy() == wave)) for wave in ("pre", "post")]


def test_factors_of_differences_are_those_by_person(twice):
    """Standard errors of the six differences by person are 0.26 to 0.41, of independent groups 0.55 to 0.61."""
    right = []
    for u, v in PAIRS:
        (a, b), naive = zip(*(by_label(*given_others(t, u, v), t.index) for _, t in twice.groupby("wave")), strict=True)
        right.append((np.sqrt(((a - b) ** 2).sum()), np.sqrt(sum(naive))))
    by_person, independent = np.array(right).T
    assert ((by_person > 0.25) & (by_person < 0.42)).all()
    parts = parts_of(twice)
    found = conditional(parts, [part.blocks[0].codes for part in parts])
    np.testing.assert_allclose(found.factors, by_person / independent, atol=0.04)
    assert ((found.factors > 0.44) & (found.factors < 0.71)).all()
    result = repeated_rows(parts)
    assert (result.least, result.least_edge, result.edges) == (found.factors.min(), ("q2", "q4"), 1.0)


def test_other_people_in_two_groups_are_left_alone(twice, rng):
    """Each of 100 tables is taken as dependent with a probability of 1e-6."""
    for _ in range(100):
        labels = np.concatenate([rng.permutation(150), rng.permutation(150)])
        assert repeated_rows(parts_of(twice.set_axis(labels, axis=0))) is None


def test_people_in_two_groups_are_said(tables, twice, bayesmrf):
    message = r"should be smaller, down to 0\.5 times as large \(q2 – q4\)"
    with pytest.warns(DependentRowsWarning, match=f"Intervals of differences are too wide.*{message}"):
        CompareMRF(method="exact", **SHORT).fit(twice[ITEMS], groups=twice["wave"])
    path = tables / "before_and_after.csv"
    code, out, _ = bayesmrf("compare", path, "--by", "wave", "--drop", "id", "--n-draws", 5, "--seed", 1)
    said = " ".join(out.split())
    assert code == 0
    assert "are in several groups, which the likelihood takes as independent" in said
    assert "down to 0.5 times as large (q2 – q4)" in said
