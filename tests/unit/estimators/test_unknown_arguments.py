"""Arguments and flags that do not exist: the one that was meant is named, and classes stay those of scikit-learn."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import bayesmrf
from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, PanelMRF, SpikeSlabMRF
from bayesmrf.declare.option import meant
from bayesmrf.errors import BayesMRFError, OptionError
from tests.helpers.commands import one_sentence

X = np.eye(3)
CLASSES = [getattr(bayesmrf, name) for name in bayesmrf.__all__ if name.endswith("MRF") or name == "RBM"]


@pytest.mark.parametrize(
    ("call", "owner", "name", "own"),
    [
        (lambda: SpikeSlabMRF(weights=[1, 2]), "SpikeSlabMRF", "weights", "`sample_weight` of `fit`"),
        (lambda: SpikeSlabMRF(n_iter=5), "SpikeSlabMRF", "n_iter", "`n_draws`"),
        (lambda: SpikeSlabMRF(iterations=5), "SpikeSlabMRF", "iterations", "`n_draws`"),
        (lambda: BayesianMRF(seed=1), "BayesianMRF", "seed", "`random_state`"),
        (lambda: BayesianMRF(burnin=1), "BayesianMRF", "burnin", "`n_warmup`"),
        (lambda: GroupedMRF(chains=1), "GroupedMRF", "chains", "`n_chains`"),
        (lambda: GroupedMRF(n_cores=1), "GroupedMRF", "n_cores", "`n_jobs`"),
        (lambda: CompareMRF(verbose=1), "CompareMRF", "verbose", "`progress`"),
        (lambda: CompareMRF(methd=1), "CompareMRF", "methd", "`method`"),
        (lambda: RBM(n_iter=1), "RBM", "n_iter", "`n_steps`"),
        (lambda: SpikeSlabMRF().fit(X, weights=1), "SpikeSlabMRF.fit", "weights", "`sample_weight`"),
        (lambda: MaximumLikelihoodMRF().fit(X, freq=1), "MaximumLikelihoodMRF.fit", "freq", "`sample_weight`"),
        (lambda: CompareMRF().fit(X, group=1), "CompareMRF.fit", "group", "`groups`"),
                (lambda: bayesmrf.plan(seed=1), "plan", "seed", "`random_state`"),
    ],
)  # fmt: skip
def test_what_was_meant_is_named(call, owner, name, own):
    with pytest.raises(TypeError) as found:
        call()
    assert isinstance(found.value, OptionError)
    assert isinstance(found.value, BayesMRFError)
    assert str(found.value) == f"{owner} has no argument '{name}'; did you mean {own}?"


def test_what_is_like_no_other_lists_all():
    with pytest.raises(TypeError, match=r"^PanelMRF\.fit has no argument 'zz'; it has X, person, wave, day\.$"):
        PanelMRF().fit(X, zz=1)


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_stay_those_of_scikit_learn(kind):
    est = kind(random_state=3) if "random_state" in inspect.signature(kind).parameters else kind()
    names = [*inspect.signature(kind).parameters]
    assert names == [*inspect.signature(kind.__init__).parameters][1:]
    assert sorted(names) == sorted(est.get_params(deep=False))
    assert [*inspect.signature(kind.fit).parameters][:2] == ["self", "X"]
    for again in (clone(est), copy.copy(est), copy.deepcopy(est), pickle.loads(pickle.dumps(est))):
        assert repr(again.get_params(deep=False)) == repr(est.get_params(deep=False))


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        ("--seed-number", "--seed"),
        ("--random-state", "--seed"),
        ("--weights", "--weight"),
        ("--sample-weight", "--weight"),
        ("--iter", "--n-draws"),
        ("--n_draws", "--n-draws"),
        ("--burnin", "--n-warmup"),
        ("--chains", "--n-chains"),
        ("--cores", "--n-jobs"),
        ("--task", "--chain"),
    ],
)
def test_flags(bayesmrf, given, flag):
    one_sentence(
        bayesmrf("structure", "t.csv", given, "1"),
        rf"^error: No such option: {given} \(did you mean {flag}\?\); see bayesmrf structure --help$",
    )


def test_flags_that_are_like_no_other(bayesmrf):
    one_sentence(bayesmrf("structure", "--magic"), "^error: No such option: --magic; see bayesmrf structure --help$")
    one_sentence(bayesmrf("evidence", "t.csv", "--chain", "1"), r"--chain \(did you mean --task\?\); see bayesmrf evid")
    assert meant("zzz", ["method"]) == ""
