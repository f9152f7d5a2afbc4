"""Fields are on by default; off, columns that are far from balanced are warned of."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bayesmrf import GroupedMRF, MaximumLikelihoodMRF
from bayesmrf.errors import FieldsWarning, OptionError

FIVE = {"candidates": "complete", "n_draws": 300, "n_warmup": 100, "n_chains": 2, "progress": False}
TINY = {"n_draws": 4, "n_warmup": 0, "n_chains": 1, "progress": False}


def independent(rng, share, n=1000, p=5):
    return pd.DataFrame((rng.random((n, p)) < share).astype(int), columns=[f"q{i}" for i in range(p)])


def test_independent_columns_have_no_edges(rng):
    """Five columns with 85 % yes; without fields, all ten edges seem certain."""
    x = independent(rng, 0.85)
    est = GroupedMRF(**FIVE).fit(x)
    edges = est.inclusion_[np.triu_indices(5, 1)]
    # An edge of independent columns has an inclusion above 0.9 where a score is above 4 or so: once in 10,000.
    assert np.sort(edges)[:7].max() < 0.9
    assert edges.mean() < 0.5
    with pytest.warns(FieldsWarning):  # control
        blind = GroupedMRF(**FIVE, fields=False).fit(x)
    assert blind.inclusion_[np.triu_indices(5, 1)].min() > 0.9


@pytest.mark.parametrize("estimator", [GroupedMRF(fields=False, **TINY), MaximumLikelihoodMRF(fields=False)])
def test_columns_far_from_balanced_are_named(estimator, rng):
    x = independent(rng, 0.5, p=7)
    estimator.fit(x)  # a warning would be an error
    x["q2"] = rng.random(1000) < 0.85
    x[["q0", "q2"]] = np.column_stack([rng.random(1000) < 0.3, x["q2"]]).astype(int)
    said = r"in 2 of 7 columns some answers dominate \('q0', 'q2'\)\. .*\(fields=False\).* edges; set fields=True\."
    with pytest.warns(FieldsWarning, match=said):
        estimator.fit(x)


def test_the_rule_is_a_test_at_one_in_a_million():
    """Of 1,000 rows, by weights; the p-value of the exact test is near that of the chi-squared one."""
    rows = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})

    def fit(n_yes):
        half = (1000 - n_yes) // 2, n_yes // 2
        GroupedMRF(fields=False, **TINY).fit(rows, sample_weight=[half[0], half[1], half[0], half[1]])

    assert 2 * binom.sf(576 - 1, 1000, 0.5) > 1e-6 > 2 * binom.sf(580 - 1, 1000, 0.5)
    fit(576)
    with pytest.warns(FieldsWarning, match="'a'"):
        fit(580)
    with pytest.warns(FieldsWarning, match="'a'"):
        fit(420)


def test_many_states(rng):
    x = rng.integers(0, 3, (400, 3))
    options = {"model": "potts", "fields": False, "method": "exact", **TINY}
    GroupedMRF(**options).fit(x)
    x[:, 1] = rng.choice(3, 400, p=[0.6, 0.2, 0.2])
    with pytest.warns(FieldsWarning, match="in 1 of 3 columns some answers dominate"):
        GroupedMRF(**options).fit(x)


def test_of_many_columns_some_are_named(rng):
    with pytest.warns(FieldsWarning, match=r"'q4' and 3 more\)"):
        MaximumLikelihoodMRF([(0, 1)], fields=False).fit(independent(rng, 0.9, p=8))


def test_methods_without_fields_say_so(rng):
    path = [(0, 1), (1, 2)]
    with pytest.raises(
        OptionError, match=r"^method must be 'exact', .* for node fields with model='agreement', got 'tree'"
    ):
        GroupedMRF(path, method="tree", **TINY).fit(independent(rng, 0.5, p=3))
    assert GroupedMRF(path, **TINY).fit(independent(rng, 0.5, p=3)).method_ == "exact"
    assert GroupedMRF(path, fields=False, **TINY).fit(independent(rng, 0.5, p=3)).method_ == "tree"


def test_the_command_has_fields_by_default(bayesmrf, votes):
    small = ["--graph", "learn:3", "--n-draws", 10, "--n-warmup", 2, "--n-chains", 2]
    _, out, _ = bayesmrf("groups", "votes.csv", *small)
    assert "with node fields" in out
    _, out, _ = bayesmrf("groups", "votes.csv", *small, "--no-fields", "--out", "b_run")
    assert "without node fields" in out
    code, _, err = bayesmrf("groups", "votes.csv", *small, "--method", "tree", "--out", "c_run")
    assert code == 2
    assert "--method must be 'exact', " in err
    code, _, err = bayesmrf("groups", "votes.csv", *small, "--no-fields", "--field-groups", "--out", "d_run")
    assert code == 2
    assert "--no-fields" in err
    votes.assign(Ann=[1] * 58 + [0] * 2).to_csv("votes.csv", index=False)
    _, _, err = bayesmrf("groups", "votes.csv", *small, "--no-fields", "--out", "e_run")
    assert "warning: in 1 of 5 columns some answers dominate ('Ann')" in err
    assert "(--no-fields) this shows up as spurious edges; set --fields." in err
