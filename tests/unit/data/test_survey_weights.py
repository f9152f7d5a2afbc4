"""Weights of a survey: posteriors are those of quadrature, equal weights change nothing, and weights are no counts."""

import os
import shlex
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesmrf as package
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF, datasets
from bayesmrf.data.dependent_rows import remark_on_rows
from bayesmrf.data.row_weights import n_rows, remark_on_counts, remark_on_weights, weights_as_counts, with_survey
from bayesmrf.data.states import check_states
from bayesmrf.engines import Brief
from bayesmrf.errors import DataError, OptionError, StoreError, WeightWarning, said
from bayesmrf.estimators.evidence_targets import make_target
from bayesmrf.posterior.groups.dirichlet_process import sums_of_counts
from bayesmrf.priors import Normal, SpikeSlab
from benchmarks import survey_weights as benchmark
from tests.helpers.commands import one_sentence

QUICK = {"n_draws": 30, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 1}
SAID = pytest.mark.filterwarnings("ignore:Survey weights:bayesmrf.errors.WeightWarning")


@pytest.fixture(scope="module")
def tables():
    folder = Path(os.environ.get("BAYESMRF_DATA", "nowhere")).parent / "tables"
    if not folder.is_dir():
        pytest.skip("needs the made-up tables next to BAYESMRF_DATA")
    return folder


@pytest.fixture
def people(rng):
    """Answers of 90 people to two items, and weights that are tied to them."""
    x = rng.random((90, 1)) < 0.5
    X = np.hstack([x, rng.random((90, 1)) < np.where(x, 0.7, 0.4)]).astype(int)
    return X, np.exp(rng.normal(0, 0.7, 90) + 0.8 * X[:, 0])


def scaled(w):
    return w * w.sum() / (w @ w)


def quadrature(X, w, scale, has_edge=True):
    """Log of the integral, and moments of weight and biases, of normal priors times the product of p(x)^w on a grid."""
    axis = np.linspace(-5, 5, 101)
    edge, a, b = np.meshgrid(axis if has_edge else [0.0], axis, axis, indexing="ij")
    log_z = np.log(1 + np.exp(a) + np.exp(b) + np.exp(a + b + edge))
    log_p = (w @ X[:, 0]) * a + (w @ X[:, 1]) * b + (w @ X.prod(axis=1)) * edge - w.sum() * log_z
    log_p -= (a**2 + b**2 + edge**2) / (2 * scale**2)
    p = np.exp(log_p - log_p.max())
    log_integral = log_p.max() + np.log(p.sum()) + (2 + has_edge) * np.log(axis[1] - axis[0])
    log_integral -= (2 + has_edge) * np.log(scale * np.sqrt(2 * np.pi))
    means = [(p * v).sum() / p.sum() for v in (edge, a, b)]
    return log_integral, np.array(means), np.sqrt((p * (edge - means[0]) ** 2).sum() / p.sum())


@SAID
def test_the_posterior_is_that_of_quadrature(people):
    """Gibbs draws of two items are nearly independent: bounds are five standard errors of 2,000 (two tails, 1e-6)."""
    X, w = people
    est = BayesianMRF(prior=Normal(2), kernel="gibbs", **QUICK | {"n_draws": 2000}).fit(X, survey_weight=1000 * w)
    draws = est.posterior_["posterior"]["theta"].values.reshape(-1, 3)
    _, means, sd = quadrature(X, scaled(w), 2.0)
    bound = 5 * draws.std(axis=0) / np.sqrt(2000)
    assert (np.abs(draws.mean(axis=0) - means) < bound).all()
    assert draws[:, 0].std() == pytest.approx(sd, rel=5 / np.sqrt(2 * 2000))
    # Controls: other weights, and another scale of them, are others by more.
    assert (np.abs(quadrature(X, np.ones(len(X)), 2.0)[1] - means) > 2 * bound).any()
    assert quadrature(X, w / w.mean(), 2.0)[2] < sd * (1 - 10 / np.sqrt(2 * 2000))


@SAID
def test_the_inclusion_is_that_of_quadrature(people):
    """The standard error of an inclusion is at most 0.5 / sqrt(effective draws), here at least 500 of 4,000."""
    X, w = people
    prior = SpikeSlab(density=0.5, slab=package.priors.Normal(1.0), bias_scale=1.0)
    est = SpikeSlabMRF(prior=prior, method="exact", **QUICK | {"n_draws": 2000}).fit(X, survey_weight=w)
    with_edge, without = (quadrature(X, scaled(w), 1.0, has_edge)[0] for has_edge in (True, False))
    inclusion = 1 / (1 + np.exp(without - with_edge))
    assert est.inclusion_[0, 1] == pytest.approx(inclusion, abs=5 * 0.5 / np.sqrt(500))
    unweighted = [quadrature(X, 20 * scaled(w), 1.0, has_edge)[0] for has_edge in (True, False)]
    assert abs(1 / (1 + np.exp(unweighted[1] - unweighted[0])) - inclusion) > 0.01  # control: another size


@SAID
def test_groups_of_edges_have_weighted_counts(people):
    """On a forest without fields agreements are Beta(1 + S, 1 + n_eff - S), and S is no whole number."""
    X, w = people
    w = scaled(w)
    successes = w @ (X[:, 0] == X[:, 1])
    est = GroupedMRF(fields=False, method="tree", **QUICK | {"n_draws": 2000}).fit(X, survey_weight=w)
    draws = est.posterior_["posterior"]["agreement"].values.ravel()
    a, b = 1 + successes, 1 + w.sum() - successes
    assert draws.mean() == pytest.approx(a / (a + b), abs=5 * draws.std() / np.sqrt(len(draws)))
    kernel = est._prepare(X, survey_weight=w).kernel
    assert kernel.successes == pytest.approx([successes])
    assert kernel.successes[0] % 1


def test_sums_of_counts_are_whole_and_those_of_weights_are_not():
    n, k = 10**12, 123_456_789_123
    assert sums_of_counts(np.array([k / n, 0.1 + 0.2]), n)[0] == k
    assert sums_of_counts(np.array([0.3337]), 90.5) == pytest.approx([0.3337 * 90.5])


KINDS = {
    "edges": SpikeSlabMRF(method="exact"),
    "parameters": BayesianMRF(graph="learn:1"),
    "groups": GroupedMRF(),
    "differences": CompareMRF(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_change_nothing(kind, people):
    X, _ = people
    more = {"groups": np.arange(90) % 2} if kind == "differences" else {}
    est = KINDS[kind].set_params(**QUICK)
    plain = est.fit(X, **more).posterior_
    weighted = est.fit(X, **more, survey_weight=np.full(90, 2.7)).posterior_  # without a warning
    assert plain["posterior"].dataset.equals(weighted["posterior"].dataset)
    assert plain.attrs["data_hash"] == weighted.attrs["data_hash"]
    assert "n_surveyed_rows" not in weighted.attrs


@SAID
def test_groups_of_people_are_scaled_apart(people):
    X, w = people
    groups = np.repeat(["a", "b"], 45)
    w = np.where(groups == "a", w, 50.0)  # equal within b
    setup = CompareMRF(**QUICK)._prepare(X, None, groups, w)
    sizes = [sample.n_samples for sample in setup.likelihood.samples]
    assert sizes == pytest.approx([scaled(w[:45]).sum(), 45])
    assert setup.likelihood.samples[0].s_bar == pytest.approx(w[:45] @ np.c_[X.prod(axis=1), X][:45] / w[:45].sum())
    with pytest.warns(WeightWarning, match=rf"size is {sizes[0]:.1f} of 45 rows \(a\), 45.0 of 45 rows \(b\)\. Clust"):
        est = CompareMRF(**QUICK).fit(X, groups, survey_weight=w)
    assert est.posterior_.attrs["n_surveyed_rows"] == 90


def test_rows_that_occur_several_times_are_as_many_people(people):
    X, w = people
    counts = np.arange(90) % 3
    states = with_survey(check_states(X, counts), w, X, 90)
    spread = with_survey(check_states(np.repeat(X, counts, axis=0)), np.repeat(w, counts), X, counts.sum())
    assert states.n_samples == pytest.approx(spread.n_samples)
    assert states.weights @ X == pytest.approx(spread.weights @ np.repeat(X, counts, axis=0))
    assert n_rows([states]) == n_rows([spread]) == counts.sum()
    assert (states.counts == counts).all()
    even = with_survey(check_states(X, counts), np.where(counts > 0, 3.0, w), X, 90)
    assert even.survey is None
    assert (even.weights == counts).all()


def test_maximum_likelihood_has_the_moments_of_the_weighted_rows(people):
    X, w = people
    est = MaximumLikelihoodMRF(model="boltzmann").fit(X, survey_weight=w)
    table = np.array([w[(cell == X).all(axis=1)].sum() for cell in product([0, 1], repeat=2)])
    assert est.theta_[0] == pytest.approx(np.log(table[0] * table[3] / (table[1] * table[2])), abs=1e-4)


WRONG = {
    "zero": ([1.0] * 89 + [0.0], r"must contain numbers > 0, how many people .*, got 0 in row 89; leave out rows"),
    "missing": ([1.0] * 88 + [np.nan, -1], "got nan in row 88 and others in 1 more"),
    "too few": ([1.0] * 3, r"survey_weight must have shape \(90,\)"),
    "text": (["a"] * 90, "survey_weight must contain numbers, one for each row of X, got 'a' in row 0"),
    "huge": ([1.0] * 89 + [1e200], "got 1e.200 in row 89"),
    "another index": (pd.Series(np.ones(90), index=range(1, 91)), "survey_weight must have the index of X"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_weights_get_a_sentence(case, people):
    w, message = WRONG[case]
    with pytest.raises(DataError, match=message):
        SpikeSlabMRF(**QUICK).check(pd.DataFrame(people[0], columns=["a", "b"]), survey_weight=w)


@SAID
def test_what_needs_whole_observations_is_refused(people, tmp_path):
    X, w = people
    holes = X.astype(float)
    holes[3, 0] = holes[7, 1] = np.nan
    for est in (SpikeSlabMRF(), BayesianMRF(), GroupedMRF()):
        with pytest.raises(DataError, match="survey_weight must be omitted where answers are missing, as in 2 of 90"):
            est.check(holes, survey_weight=w)
        est.check(holes, survey_weight=np.full(90, 2.0))
    for est in (BayesianMRF(kernel="exchange"), BayesianMRF(kernel="auxiliary-variable"),
                GroupedMRF(method="auxiliary-variable")):  # fmt: skip
        with pytest.raises(OptionError, match="draws a whole number of observations, which survey_weight does not"):
            est.check(X, survey_weight=w)
    with pytest.raises(DataError, match="survey_weight must be omitted with brief chains"):
        BayesianMRF(engine=Brief(), kernel="langevin").check(X, survey_weight=w)
    fitted = SpikeSlabMRF(**QUICK | {"n_draws": 200}).fit(X, survey_weight=w)  # so many as are checked
    assert "predictive_checks" not in fitted.posterior_.children
    package.save(fitted, tmp_path / "run")
    for est in (fitted, package.load(tmp_path / "run")):
        for function in (est.predictive_checks, est.add_log_likelihood):
            with pytest.raises(OptionError, match=rf"{function.__name__} is not defined with weights of a survey"):
                function(X)
        assert np.isfinite(est.score(X))


@SAID
def test_a_run_goes_on_with_the_same_weights_only(people, tmp_path):
    X, w = people
    options = QUICK | {"checkpoint": tmp_path / "run"}
    first = SpikeSlabMRF(**options).fit(X, survey_weight=w)
    with pytest.raises(StoreError, match="data differ"):
        SpikeSlabMRF(**options | {"n_draws": 40}).fit(X, survey_weight=w + 1)
    longer = SpikeSlabMRF(**options | {"n_draws": 40}).fit(X, survey_weight=w)
    draws, more = (est.posterior_["posterior"]["theta"].values for est in (first, longer))
    assert (more[:, :30] == draws).all()
    with pytest.raises(DataError, match="the data of the fit, with the same weights"):
        first.sensitivity(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(first.sensitivity(X, survey_weight=w))


# Weights that were given as counts.


def of_sites(rng, n_sites, shape, size):
    """A table of counts by site and combination of answers, without the column of the site and empty cells.

    Rates of cells are those of a Gamma distribution of this shape, times the size of the site.
    """
    cells = np.array(list(product([0, 1], repeat=int(rng.integers(2, 6)))))
    rates = rng.gamma(shape, size / shape, (n_sites, len(cells))) * rng.lognormal(0, 1.5, (n_sites, 1))
    counts = rng.poisson(rates).ravel()
    return np.tile(cells, (n_sites, 1))[counts > 0], counts[counts > 0]


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConstantColumnWarning")
def test_counts_of_several_tables_are_no_weights(rng):
    """1,500 tables: at the false-alarm rate of 1e-6 there is an alarm in one of 700 runs."""
    sizes = []
    for shape, size, n_sites in product((0.1, 0.3, 1.0, 10.0), (0.5, 3.0, 30.0, 1000.0), (5, 20, 60)):
        for _ in range(30):
            X, counts = of_sites(rng, n_sites, shape, size)
            if len(X):
                sizes.append(len(X))
                assert weights_as_counts(check_states(X, counts)) is None, (shape, size, n_sites)
    assert np.median(sizes) > 80


def test_weights_of_surveys_are_noticed(rng):
    """Of 160 people or more with four answers, in whole numbers, of a population of thousands."""
    for n in (160, 400, 2000):
        X = (rng.random((n, 4)) < [0.3, 0.4, 0.5, 0.4]).astype(int)
        w = np.rint(np.exp(rng.normal(6, 0.5, n)))
        found = weights_as_counts(check_states(X, w))
        assert found is not None
        assert (found.n, found.n_rows) == (w.sum(), n)
        assert f"{w.sum():,.0f} observations for {n:,} rows" in found.sentence
        # Controls: each combination once, as a table of counts has them; one weight for all, as of copied rows.
        cells, place = np.unique(X, axis=0, return_inverse=True)
        assert weights_as_counts(check_states(cells, np.bincount(place.ravel(), w))) is None
        assert weights_as_counts(check_states(X, np.full(n, 700))) is None


def test_data_sets_have_no_such_weights(data_folder):
    """Tables of counts of four columns by the values of another one, which is left out."""
    coronary = datasets.coronary()
    X, n = coronary.drop(columns="count"), coronary["count"]
    assert not remark_on_weights([check_states(X, n)])
    for columns in ("ABCD", "BCDE", "CDEF", "AB"):
        assert not remark_on_weights([check_states(X[list(columns)], n)])
    for name in ("wenchuan.csv", "adhd.csv", "boredom.csv", "senate109_votes.csv.gz", "senate542_votes.csv.gz"):
        table = pd.read_csv(data_folder / name).select_dtypes("number").iloc[:, -8:]
        counts = table.value_counts(dropna=False).reset_index()
        for width in (2, 3, 4):
            states = check_states(counts.iloc[:, :width], counts["count"], missing=True, n_states="keep")
            assert weights_as_counts(states) is None, (name, width)


def test_evidence_says_so_too(tables):
    data = pd.read_csv(tables / "survey_weights.csv")
    _, remark = make_target("independent", data.drop(columns="pw"), sample_weight=data["pw"])
    assert remark.startswith("Weights: up to 34 rows have the same answers")


# Commands.


def test_the_table_of_whole_weights(tables, bayesmrf, folder):
    """A user gives weights as counts, is told, and gives them as weights: from the file to the page."""
    file, options = str(tables / "survey_weights.csv"), ["--n-draws", 500, "--n-chains", 2, "--seed", 1]
    looks = "look like weights of a survey, not like counts"
    code, out, err = bayesmrf("structure", file, "--weight", "pw", *options, "--out", "counts_run", "--quiet")
    assert code == 0
    assert looks in err
    assert "473,219 observations for 160 rows" in err
    assert "give them as --survey-weight in place of --weight" in err
    code, out, err = bayesmrf("structure", file, "--survey-weight", "pw", *options, "--out", "survey_run")
    assert code == 0
    assert "160 rows with survey weights (effective sample size 135.3) of 4 nodes" in " ".join(out.split())
    assert "Clusters and strata of the design are not used" in " ".join(out.split())
    narrow, wide = (package.load(folder / f"{name}_run").table("edges") for name in ("counts", "survey"))
    assert looks in package.load(folder / "counts_run").table("findings").to_string()
    narrow, wide = (t.set_index(["first", "second"]).loc[("q0", "q1"), ["lower", "upper"]] for t in (narrow, wide))
    assert narrow.tolist() == pytest.approx([1.26, 1.28], abs=0.01)
    assert wide.tolist() == pytest.approx([0.63, 1.80], abs=0.25)
    for name, words in (("counts", looks), ("survey", "effective sample size is 135.3 of 160 rows")):
        assert bayesmrf("report", f"{name}_run", "--out", f"{name}.html")[0] == 0
        assert words in (folder / f"{name}.html").read_text()


@SAID
def test_commands_of_groups_and_wrong_options(tables, bayesmrf, folder):
    file, options = str(tables / "survey_weights.csv"), ["--n-draws", 20, "--n-warmup", 20, "--n-chains", 2]
    given = ["compare", file, "--by", "q3", "--survey-weight", "pw", *options, "--out", "compared_run"]
    code, out, _ = bayesmrf(*given)
    assert code == 0
    assert "70 effective rows of 0, 65 effective rows of 1" in " ".join(out.split())
    data = pd.read_csv(file)
    direct = CompareMRF(n_draws=20, n_warmup=20, n_chains=2, progress=False, random_state=1)
    direct.fit(data[["q0", "q1", "q2"]], data["q3"], survey_weight=data["pw"])
    run = package.load(folder / "compared_run").posterior_
    assert run.attrs["data_hash"] == direct.posterior_.attrs["data_hash"]
    assert shlex.split(run.attrs["command"])[5:7] == ["--survey-weight", "pw"]
    same = ["--survey-weight", "pw", "--out", "none_run"]
    wrong = "--weight: column 'pw' is also named by --survey-weight; remove it there"
    one_sentence(bayesmrf("structure", file, "--weight", "pw", *same), wrong)
    one_sentence(bayesmrf("compare", file, "--by", "pw", *same), "--by: column 'pw' is also named by --survey-weight")
    one_sentence(bayesmrf("structure", file, "--drop", "pw", *same), "--survey-weight: column 'pw' is also named by")
    one_sentence(bayesmrf("structure", file, "--survey-weight", "w"), "--survey-weight: there is no column 'w'")
    one_sentence(bayesmrf("structure", file, "--survey-weight", "q0", "--drop", "pw", "--out", "none_run"),
                 r"--survey-weight must contain numbers > 0, .* got 0 in row \d+ below the first line")  # fmt: skip
    for command in ("evidence", "panel"):
        one_sentence(bayesmrf(command, file, "--survey-weight", "pw"), "--survey-weight must be omitted, as")
    data.assign(pw=data["pw"] / 1000).to_csv(folder / "fractions.csv", index=False)
    one_sentence(bayesmrf("structure", "fractions.csv", "--weight", "pw", "--out", "none_run"),
                 "--weight must contain integers >= 0, .*give weights of a survey as --survey-weight")  # fmt: skip


# Counts that were left among the answers.


def crossed(sizes, rng):
    table = pd.DataFrame(list(product(*map(range, sizes))), columns=[f"q{i}" for i in range(len(sizes))])
    return table.assign(count=1 + rng.permutation(len(table)) % 7)


@pytest.mark.parametrize("n_states", ["keep", "nominal"])
@pytest.mark.parametrize("as_array", [False, True])
def test_forgotten_counts_name_sample_weight(n_states, as_array, rng):
    """All values may be answers, as the user has given the model: it is said, and rows are not called dependent."""
    table = crossed((2,) * 7, rng)
    name = "7" if as_array else "count"
    parts = [check_states(table.to_numpy() if as_array else table, n_states=n_states)]
    assert f"column '{name}' looks like the number of times" in said(remark_on_counts(parts))
    assert f"give sample_weight=X['{name}']" in said(remark_on_counts(parts))
    assert remark_on_rows(parts)  # as it was
    assert not remark_on_counts([check_states(table, table["count"], n_states=n_states)])
    answers = rng.integers(0, 3, (128, 8))
    assert not remark_on_counts([check_states(answers, n_states=n_states)])


def test_a_fit_says_that_counts_were_forgotten(rng):
    table = crossed((2, 2, 3), rng)
    with pytest.warns(WeightWarning, match="Counts: each row was taken as one observation, but column 'count'"):
        SpikeSlabMRF(model="ordinal", method="exact", **QUICK).fit(table)


def test_counts_that_no_model_reads_name_sample_weight(rng):
    table = crossed((2,) * 5, rng).assign(count=np.arange(32) * 3)
    for model in ("ordinal", "nominal", "boltzmann"):
        for X in (table, table.to_numpy(), table.rename(columns={"count": "x"})):
            with pytest.raises(DataError, match=r"looks like the number of times .* give sample_weight=X\["):
                SpikeSlabMRF(model=model, **QUICK).check(X)
    with pytest.raises(DataError, match="at most 12 ordered levels"):  # control: as the weights are given
        SpikeSlabMRF(model="ordinal", **QUICK).check(table, sample_weight=np.ones(32))


# Coverage.


@pytest.mark.calibration
@pytest.mark.parametrize("design", benchmark.DESIGNS)
def test_intervals_hold_the_parameters_of_the_population(design, rng):
    """90 % intervals of 40 networks hold 76 to 100 % of 240 weights: those of a network count as two (1e-6).

    Control: the same weights as counts.
    """
    survey, counts, _ = benchmark.study(design, 40, rng, n_draws=300)
    assert survey > 0.76
    assert counts < 0.2
