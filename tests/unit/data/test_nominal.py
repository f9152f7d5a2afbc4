"""Columns whose levels have other names, other meanings or no order, and models that compare levels."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy

from bayesmrf import BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF, families
from bayesmrf.data.nominal_states import _left, _ratio
from bayesmrf.errors import DataError, LevelsWarning
from tests.helpers.commands import one_sentence

QUICK = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "progress": False, "random_state": 1}
THREE = np.tile(np.arange(3), 20)
OTHER = np.repeat(np.arange(3), 20)


def words(codes, names):
    return np.array(names)[codes]


def categories(codes, names, **options):
    return pd.Categorical.from_codes(codes, names, **options)


REFUSED = {
    "words that share none": {"a": words(THREE, ["x", "y", "z"]), "b": words(OTHER, ["u", "v", "w"])},
    "numbers that share none": {"a": THREE, "b": OTHER + 3},
    "categories": {"a": categories(THREE, list("xyz")), "b": categories(OTHER, list("uvw"))},
    "categories that overlap": {"a": categories(THREE, list("xyz")), "b": categories(OTHER, list("xyzw"))},
    "ordered categories": {"a": categories(THREE, list("xyz"), ordered=True), "b": categories(OTHER, list("xyw"))},
    "categories next to other words": {"a": categories(THREE, list("xyz")), "b": words(OTHER, ["x", "y", "w"])},
}
TAKEN = {
    "the same words": {"a": words(THREE, ["x", "y", "z"]), "b": words(OTHER, ["x", "y", "z"])},
    "a level that does not occur": {"a": words(THREE, ["x", "y", "z"]), "b": words(OTHER, ["x", "y", "x"])},
    "both lack one": {"a": words(THREE, ["x", "y", "z"]), "b": words(OTHER, ["x", "y", "w"])},
    "categories of another order": {"a": categories(THREE, list("xyz")), "b": categories(OTHER, list("zyx"))},
    "an unused category": {"a": categories(THREE, list("xyzw")), "b": categories(OTHER, list("xyzw"))},
    "words among the categories": {"a": categories(THREE, list("xyz")), "b": words(OTHER, ["x", "y", "x"])},
}


@pytest.mark.parametrize("case", REFUSED)
def test_columns_of_different_levels_are_refused(case):
    X = pd.DataFrame(REFUSED[case])
    for est, model in (
        (SpikeSlabMRF, "potts"),
        (BayesianMRF, "potts"),
        (GroupedMRF, "symmetric"),
    ):
        with pytest.raises(DataError, match=f"same levels in all columns with model='{model}'.*'a' has .* and 'b'"):
            est(model=model, **QUICK).fit(X)
    with pytest.raises(DataError, match=r"set model='nominal', which compares no levels .*, or code them"):
        MaximumLikelihoodMRF(model="symmetric").fit(X)


@pytest.mark.filterwarnings("ignore:the maximum likelihood estimate")  # of levels that do not occur
@pytest.mark.parametrize("case", TAKEN)
def test_columns_may_lack_levels(case):
    assert MaximumLikelihoodMRF(model="potts").fit(pd.DataFrame(TAKEN[case])).edges_.tolist() == [[0, 1]]


def test_levels_of_the_model_are_shared_and_a_pair_without_a_level_is_named():
    X = np.column_stack([THREE % 2, OTHER % 2 + 2])
    with pytest.raises(DataError, match="the same levels"):
        BayesianMRF(model="potts", **QUICK).fit(X)
    with pytest.warns(
        LevelsWarning, match=r"1 edge\(s\) join columns of X that share no level in the data, .*'0' and '1'"
    ):
        BayesianMRF(model=families.Potts(n_states=4), **QUICK).fit(X)


@pytest.mark.parametrize("category", [np.eye(3, dtype=int), np.array([[1, 2, 3], [2, 4, 5], [3, 5, 6]])])
def test_what_a_model_leaves_of_a_table(category, rng):
    """Of a table of counts: 2 log-likelihood ratios of the saturated model and the best one, found by another way."""
    n = rng.integers(5, 60, (3, 3)).astype(float)
    k = category.max() + 1

    def loss(theta):
        eta = theta[:3, None] + theta[3:6] + theta[6 + category]
        return np.exp(eta).sum() - (n * eta).sum()

    best = minimize(
        loss, np.append(np.full(6, np.log(n.mean()) / 2), np.zeros(k)), method="BFGS", options={"gtol": 1e-8}
    )
    saturated = n.sum() - xlogy(n, n).sum()
    left, free = _left(n, category)
    assert left == pytest.approx(2 * (best.fun - saturated), abs=1e-4)
    assert free == {2: 3, 7: 1}[k]
    assert _ratio(n, np.outer(n.sum(axis=1), n.sum(axis=0)) / n.sum()) >= left


def associated(rng, n=400):
    """Two columns of which the second is a permutation of the first in 60 % of the rows."""
    a = rng.integers(0, 3, n)
    return a, np.where(rng.random(n) < 0.6, a, rng.integers(0, 3, n))


def test_names_that_mean_different_things_are_named(rng):
    a, b = associated(rng)
    meaning = "columns 'a' and 'b' are associated, but hardly by equal levels: model='potts' leaves"
    table = pd.DataFrame({"a": words(a, ["x", "y", "z"]), "b": words(b, ["y", "z", "x"])})
    with pytest.warns(LevelsWarning, match=meaning):
        MaximumLikelihoodMRF(model="potts").fit(table)
    # Controls: the same words, for which warnings are errors, and no association
    MaximumLikelihoodMRF(model="potts").fit(table.assign(b=words(b, ["x", "y", "z"])))
    MaximumLikelihoodMRF(model="potts").fit(table.assign(b=words(rng.permutation(b), ["y", "z", "x"])))


@pytest.mark.parametrize("command", ["posterior", "structure"])
def test_the_command_refuses_other_words(command, bayesmrf, folder, rng):
    a, b = associated(rng, 60)
    pd.DataFrame({"a": words(a, ["x", "y", "z"]), "b": words(b, ["u", "v", "w"])}).to_csv("w.csv", index=False)
    one_sentence(bayesmrf(command, "w.csv", "--model", "potts"), "w.csv must have the same levels .* --model potts")
    overlapping = {"a": categories(a, list("xyz")), "b": categories(b, list("xyw"))}
    pd.DataFrame(overlapping).to_feather("w.feather")  # the file declares levels
    one_sentence(bayesmrf(command, "w.feather", "--model", "potts"), "'a' has 'x', 'y', 'z' and 'b' 'w', 'x', 'y'")


def test_a_real_table_with_columns_of_words(data_folder):
    """An odds ratio of 7.1 between them, of which the Potts model would see nothing."""
    table = pd.read_csv(Path(data_folder) / "cad1.csv")[["AMI", "QWave"]]
    with pytest.raises(DataError, match="'AMI' has 'Definite', 'NotCertain' and 'QWave' 'No', 'Yes'"):
        SpikeSlabMRF(model="potts", **QUICK).fit(table)


def test_nominal_words_of_the_made_up_tables(data_folder):
    path = Path(os.environ["BAYESMRF_DATA"]).parent / "tables" / "nominal_other_names.csv"
    if not path.exists():
        pytest.skip("the made-up tables are not here")
    with pytest.raises(DataError, match="the same levels"):
        SpikeSlabMRF(model="potts", **QUICK).fit(pd.read_csv(path))


def test_columns_that_spss_calls_nominal(bayesmrf, folder):
    """In the command, and in a table that pandas read; of more than two codes, and where they are taken in order."""
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"area": THREE + 1.0, "mood": OTHER + 1.0, "sex": THREE % 2 * 1.0})
    measure = {"area": "nominal", "mood": "ordinal", "sex": "nominal"}
    pyreadstat.write_sav(table, "t.sav", variable_measure=measure)
    said = r"1 column\(s\) of {} with more than two codes are nominal in SPSS, .*: 'area'; set model='nominal' or drop"
    with pytest.warns(LevelsWarning, match=said.format("X")):
        MaximumLikelihoodMRF().fit(pd.read_spss("t.sav", convert_categoricals=False))
    small = ["--n-draws", 5, "--n-warmup", 5, "--n-chains", 1, "--seed", 1]
    code, _, err = bayesmrf("structure", "t.sav", *small)
    assert code == 0
    assert "nominal in SPSS" in err
    assert "--model ordinal" in err
    code, _, err = bayesmrf("structure", "t.sav", "--drop", "area", *small, "--overwrite")
    assert (code, "nominal" in err) == (0, False)
