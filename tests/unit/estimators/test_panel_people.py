"""People of a panel: those without any answer change nothing, and own intercepts are those of quadrature."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from bayesmrf import Normal, PanelMRF, SpikeSlab
from bayesmrf.errors import EmptyRowsWarning
from tests.long import few

QUICK = {"n_draws": 110, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 1}
ITEMS = ["a", "b"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::bayesmrf.errors.ModelFitWarning"),
]


def people(rng, n, n_waves, slope, sd):
    """A long table of two items that nothing follows from, but what people are: their first wave, and a chance."""
    first = rng.integers(0, 2, (n, 2))
    own = (first - first.mean(axis=0)) @ slope + sd * rng.standard_normal((n, 2))
    waves = [first, *(rng.random((n_waves - 1, n, 2)) < expit(own - 0.3))]
    rows = [pd.DataFrame(x.astype(float), columns=ITEMS).assign(id=np.arange(n), t=t) for t, x in enumerate(waves)]
    return pd.concat(rows, ignore_index=True)


def with_empty(table, who, t):
    rows = pd.DataFrame({"a": np.nan, "b": np.nan, "id": np.repeat(who, len(t)), "t": np.tile(t, len(who))})
    return pd.concat([table, rows], ignore_index=True)


@pytest.fixture(scope="module")
def late(module_rng):
    """Thirty people with four waves; one joins at the last one, and one has no second wave."""
    table = people(module_rng, 30, 4, np.diag([2.0, -1.0]), 0.5)
    return table[~((table["id"] == 11) & (table["t"] < 3)) & ~((table["id"] == 14) & (table["t"] == 1))]


@pytest.mark.parametrize(
    ("intercepts", "within", "method"),
    few(
        [("own", False, "auto"), ("common", False, "auto"), ("own", True, "auto"), ("own", True, "chains")],
        ("own", True, "auto"),
    ),
)
def test_people_without_any_answer_change_nothing(intercepts, within, method, late):
    """At the start, in the middle, next to the one who joins late, and at the end; one of them has two empty waves."""
    table = with_empty(late, [-3, 3.5, 10.5, 12.5, 99], [0])
    table = with_empty(table, [10.5], [1]).sample(frac=1, random_state=1).reset_index(drop=True)
    given, results = ("id", "t"), []
    for rows in (table, table[table["a"].notna()].reset_index(drop=True)):
        est = PanelMRF(intercepts=intercepts, within=within, method=method, **QUICK)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            est.fit(rows, *given)
            checks = est.predictive_checks(rows, *given, random_state=0)
        assert any(issubclass(w.category, EmptyRowsWarning) for w in caught) == (rows is table)
        results.append((est, checks))
        found, at = est.transitions_, rows.set_index(["id", "t"])
        for before, after, who in zip(found.before, found.after, found.person, strict=True):
            person, t = rows.loc[before, "id"], rows.loc[before, "t"]
            assert (rows.loc[after, "id"], rows.loc[after, "t"]) == (person, t + 1)
            assert at.loc[person].dropna().index.min() == rows.loc[found.first[who], "t"]
            assert rows.loc[found.first[who], "id"] == person
    (est, checks), (other, other_checks) = results
    for name in ("theta", *(["intercept_slope", "intercept_root"] if intercepts == "own" else [])):
        np.testing.assert_array_equal(est.posterior_["posterior"][name], other.posterior_["posterior"][name])
    assert est.posterior_.attrs["data_hash"] == other.posterior_.attrs["data_hash"]
    pd.testing.assert_frame_equal(checks, other_checks)
    pd.testing.assert_frame_equal(est.table("checks"), other.table("checks"))
    pd.testing.assert_frame_equal(est.table("transitions"), other.table("transitions"))
    whole = table[table["a"].notna()].reset_index(drop=True)
    assert est.score(table, *given) == other.score(whole, *given)
    if intercepts == "common":
        pd.testing.assert_frame_equal(est.add_log_likelihood(table, *given), other.add_log_likelihood(whole, *given))


# Own intercepts by quadrature over those of each person, and importance sampling of the rest.

PRIOR = SpikeSlab(1e-9, Normal(1.0), 2.0)  # no edges: items are answered by chance, and by what people are
N_OUTER, N_NODES = 5000, 7


def statistics_of(table, shift=0):
    """First waves less their means, numbers of yes and of later waves of each person; ``shift``: of another one."""
    rows = table.dropna().sort_values(["id", "t"])
    first = rows.groupby("id")[ITEMS].first()
    later = rows[rows["t"] > rows["id"].map(rows.groupby("id")["t"].min())].groupby("id")[ITEMS]
    yes, n = later.sum(), later.count()
    first = first.loc[yes.index].to_numpy()
    return np.roll(first, shift, axis=0) - first.mean(axis=0), yes.to_numpy(), n.to_numpy()


def log_density(x, data):
    """Log prior times likelihood of (bias, G by rows, logs of the diagonal of a Cholesky factor of S, its corner)."""
    first, yes, n = data
    bias, slope, root = x[:, :2], x[:, 2:6].reshape(-1, 2, 2), np.zeros((len(x), 2, 2))
    root[:, 0, 0], root[:, 1, 1], root[:, 1, 0] = np.exp(x[:, 6]), np.exp(x[:, 7]), x[:, 8]
    covariance = root @ root.transpose(0, 2, 1)
    inverse, log_det = np.linalg.inv(covariance), 2 * (x[:, 6] + x[:, 7])
    out = stats.norm.logpdf(bias, scale=2.0).sum(axis=1)
    out += sum(-0.5 * np.einsum("ki,kij,kj->k", slope[:, j], inverse, slope[:, j]) - 0.5 * log_det for j in range(2))
    # Huang and Wand (2013), equation 4 with nu = 2, A = 1; then the Jacobian of the Cholesky factor with logs.
    diagonal = np.stack([inverse[:, 0, 0], inverse[:, 1, 1]])
    out += -0.5 * (2 + 2 * 2) * log_det - 0.5 * (2 + 2) * np.log(2 * diagonal + 1).sum(axis=0)
    out += 3 * x[:, 6] + 2 * x[:, 7]
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    log_w = np.log(weights / weights.sum())
    total = np.full((len(x), len(first)), -np.inf)
    mean = bias[:, None] + np.einsum("pj,kji->kpi", first, slope)
    for u, lu in zip(nodes, log_w, strict=True):
        for v, lv in zip(nodes, log_w, strict=True):
            h = mean + (root @ np.array([u, v]))[:, None]
            total = np.logaddexp(total, lu + lv + (yes * h - n * np.logaddexp(0, h)).sum(axis=2))
    return out + total.sum(axis=1)


def means_by_quadrature(rng, at, data):
    """Posterior means of bias, G and log standard deviations; the proposal is a t around draws of a sampler."""
    q = stats.multivariate_t(at.mean(axis=0), 1.5 * np.cov(at.T), df=5, seed=rng)
    x = q.rvs(N_OUTER)
    log_w = log_density(x, data) - q.logpdf(x)
    w = np.exp(log_w - logsumexp(log_w))
    f = np.column_stack([x[:, :7], 0.5 * np.log(np.exp(2 * x[:, 7]) + x[:, 8] ** 2)])
    mean = w @ f
    return mean, np.sqrt(w @ (f - mean) ** 2), np.sqrt((w**2) @ (f - mean) ** 2), 1 / (w**2).sum()


def test_own_intercepts_are_those_of_quadrature(module_rng):
    """Of a table with empty people and late ones; control: with the first wave of the next person they are not.

    Each of eight means is within six Monte Carlo standard errors, a false alarm in 6e8 each.
    """
    table = people(module_rng, 80, 5, np.diag([2.0, 1.0]), 0.7)
    table = table[~(table["id"].isin([20, 50]) & (table["t"] < 3))]
    table = with_empty(table, [-1, 19.5, 49.5], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyRowsWarning)
        est = PanelMRF(PRIOR, intercepts="own", **QUICK | {"n_draws": 1500, "n_warmup": 200}).fit(table, "id", "t")
    draws = est.posterior_["posterior"]
    theta, slope, root = (
        draws[f"{n}"].values.reshape(3000, -1) for n in ("theta", "intercept_slope", "intercept_root")
    )
    assert not theta[:, :4].any()
    at = np.column_stack([theta[:, 4:], slope, np.log(root[:, [0, 3]]), root[:, 2]])
    found = np.column_stack([at[:, :7], np.log(np.sqrt(root[:, 2] ** 2 + root[:, 3] ** 2))])
    by_batch = found.reshape(2, 15, 100, 8).mean(axis=2).reshape(30, 8)
    error = by_batch.std(axis=0, ddof=1) / np.sqrt(30)
    mean, sd, its_error, n_effective = means_by_quadrature(module_rng, at, statistics_of(table))
    assert n_effective > 300
    z = (found.mean(axis=0) - mean) / np.hypot(error, its_error)
    assert np.abs(z).max() < 6, z
    assert (error / sd).max() < 0.2
    wrong, _, its_error, _ = means_by_quadrature(module_rng, at, statistics_of(table, shift=1))
    assert np.abs((found.mean(axis=0) - wrong) / np.hypot(error, its_error)).max() > 6
