"""Simulation-based calibration as a function: its tests, what it finds, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import binom

import bayesmrf as package
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, PanelMRF, SpikeSlabMRF, calibrate
from bayesmrf.answers.study.calibration import LEVEL, Calibration, smallest_tail, uniform_tails
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators.calibration import position
from bayesmrf.estimators.prior_truths import FromPrior, PanelTruth
from bayesmrf.models.panel import Panel
from bayesmrf.priors import Beta, Cauchy, DirichletProcess, Gamma, Normal, SpikeSlab

RUN = {"n_draws": 150, "n_warmup": 60, "n_chains": 1, "progress": False}
PRIOR = SpikeSlab(0.5, Normal(1.0), bias_scale=0.3)
EST = SpikeSlabMRF(**RUN, prior=PRIOR, method="exact")
HERE = {"n_jobs": 1, "progress": False}


def test_positions_of_the_truth(rng):
    draws = np.array([0.0, 0, 1, 2])
    places = np.array([position(draws, 0.0, rng) for _ in range(3000)])
    assert places.min() > 0
    assert places.max() < 3 / 5
    assert abs(places.mean() - 0.3) < 5 * 0.6 / np.sqrt(12 * 3000)
    assert 4 / 5 < position(draws, 3.0, rng) < 1


def test_smallest_tail_is_that_of_a_loop(rng):
    u = rng.random(30)
    tails = []
    for z in np.arange(1, 50) / 50:
        k = int((u <= z).sum())
        tails += [binom.cdf(k, 30, z), binom.sf(k - 1, 30, z)]
    assert smallest_tail(u) == pytest.approx(min(tails))


def test_false_alarms_of_the_test(rng):
    null = uniform_tails(40)
    low = (smallest_tail(rng.random((2000, 40))) < np.quantile(null, 0.05)).sum()
    # The quantile of 4,000 simulations has an error, too: within 0.067 but for 1e-6.
    assert binom.ppf(1e-6, 2000, 0.03) <= low <= binom.ppf(1 - 1e-6, 2000, 0.067)


def made(rng, power):
    """Replicates of edges that exist with a probability, whose odds are claimed to be another power."""
    rows = []
    for _ in range(150):
        p = rng.random(8)
        odds = (p / (1 - p)) ** power
        pit = {"theta": rng.random()}
        exists = (rng.random(8) < p).astype(int).tolist()
        rows.append({"pit": pit, "inclusion": (odds / (1 + odds)).tolist(), "exists": exists, "verdict": "good"})
    return Calibration(rows, "made up")


def test_inclusion_that_claims_too_much_is_found(rng):
    right, wrong = made(rng, 1.0), made(rng, 3.0)
    p = [one.frame.set_index("quantity").loc["inclusion", "p_value"] for one in (right, wrong)]
    assert p[0] > 1e-6 > p[1]
    assert not wrong.is_calibrated
    table = right.inclusion
    assert (np.abs(table["exists"] - table["inclusion"]) < 6 * table["error"] + 0.05).all()
    assert table["edges"].sum() == 8 * 150


def test_a_calibrated_estimator_passes_and_a_wrong_prior_is_found():
    right = calibrate(EST, 40, nodes=2, replicates=40, **HERE)
    wrong = calibrate(EST, 40, nodes=2, replicates=40, prior=SpikeSlab(0.5, Normal(1.0), bias_scale=6.0), **HERE)
    assert set(right.pit) == {"theta[x1-x2]", "theta[x1]", "theta[x2]", "number of edges"}
    bound = 1e-6 / (2 * 49 * 4)  # each of 49 points has two tails, and there are four quantities
    assert min(smallest_tail(u) for u in right.pit.values()) > bound
    assert min(smallest_tail(u) for u in wrong.pit.values()) < bound
    assert not wrong.is_calibrated
    assert wrong.sentence.startswith("Not calibrated: over 40 tables the positions of ")
    assert wrong.frame["coverage_90"].min() < 0.7
    assert wrong.frame["p_adjusted"].iloc[0] < LEVEL
    lines = package.plots.plot_calibration(wrong).get_lines()
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("est", "given", "n_pit", "n_edges"),
    [
        (SpikeSlabMRF(**RUN, prior=SpikeSlab(Beta(1.0, 1.0), Cauchy(1.0), 1.0)), {"levels": 3}, 3 + 6 + 1, 3),
        (SpikeSlabMRF(**RUN, prior=PRIOR, model="nominal"), {"levels": 3}, 3 * 4 + 6 + 1, 3),
        (CompareMRF(**RUN, prior=PRIOR), {}, 2 * (3 + 3) + 1, 3),
        (CompareMRF(**RUN, prior=PRIOR), {"groups": 3}, 3 * (3 + 3) + 1, 3),
        (BayesianMRF(**RUN), {}, 3 + 3, 0),
        (GroupedMRF(**RUN), {}, 3 + 3 + 1, 0),
        (GroupedMRF(**RUN, candidates="complete"), {"levels": 3}, 3 + 6 + 1 + 1, 3),
        (PanelMRF(**RUN, prior=PRIOR, within=True), {}, 9 + 3 + 3 + 1, 12),
        (PanelMRF(**RUN, prior=PRIOR, intercepts="own"), {"levels": 3, "waves": 3}, 9 + 6 + 3 + 9 + 1, 9),
    ],
)
def test_estimators_of_networks(est, given, n_pit, n_edges, tmp_path):
    given = {"nodes": 3, "folder": tmp_path / "study"} | given | HERE
    found = calibrate(est, 60, replicates=2, **given)
    assert len(found.pit) == n_pit
    assert len(found.replicates[0]["inclusion"]) == n_edges
    more = calibrate(est, 60, replicates=3, **given)
    assert more.replicates[:2] == found.replicates
    with pytest.raises(StoreError, match="contains a study with another setting"):
        calibrate(est, 61, replicates=2, **given)


def test_truths_have_the_prior(rng):
    source = FromPrior(SpikeSlabMRF(prior=SpikeSlab(0.3, Normal(2.0), 0.5)), 4, 2, 2, 2)
    thetas = np.array([source.truth(rng).thetas[0] for _ in range(800)])
    there = thetas[:, :6] != 0
    assert abs(there.mean() - 0.3) < 5 * np.sqrt(0.21 / there.size)
    assert thetas[:, :6][there].std() == pytest.approx(2.0, rel=5 / np.sqrt(2 * there.sum()))
    assert thetas[:, 6:].std() == pytest.approx(0.5, rel=5 / np.sqrt(2 * 3200))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"estimator": MaximumLikelihoodMRF()},
            "must be a SpikeSlabMRF, CompareMRF, BayesianMRF, GroupedMRF or PanelMRF",
        ),
        ({"estimator": GroupedMRF(model="symmetric"), "levels": 3}, "model must be one whose edges share a number"),
        ({"estimator": GroupedMRF(fields="grouped")}, "fields must be True or False"),
        ({"waves": 1}, "waves must be"),
        ({"groups": 1}, "groups must be"),
        ({"estimator": SpikeSlabMRF(candidates=[("a", "b")])}, "candidates must be 'complete' in a calibration"),
        ({"estimator": BayesianMRF(prior=Cauchy(1.0))}, "prior must be a prior that can be sampled"),
        ({"n": 1}, "n must be"),
        ({"nodes": 1}, "nodes must be"),
        ({"replicates": 0}, "replicates must be"),
    ],
)
def test_wrong_options_are_refused(given, message):
    with pytest.raises(OptionError, match=message):
        calibrate(**{"estimator": EST, "n": 30, "replicates": 1} | HERE | given)


def test_groups_of_edges_have_the_prior(rng):
    """Two of the edges share a value with probability 1 / (1 + alpha), whose mean is over a Gamma prior of alpha."""
    prior = DirichletProcess(alpha=Gamma(2.0, 1.0), base=Beta(1.0, 1.0), density=Beta(2.0, 2.0))
    source, n = FromPrior(GroupedMRF(prior=prior, candidates="complete"), 3, 2, 2, 2), 3000
    truths = [source.truth(rng) for _ in range(n)]
    thetas = np.array([one.thetas[0] for one in truths])
    a, b = thetas[:, 0], thetas[:, 1]
    both = (a != 0) & (b != 0)
    assert abs((a != 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(n)
    assert abs(both.mean() - 0.3) < 5 * 0.46 / np.sqrt(n)  # the second moment of Beta(2, 2)
    alpha = np.linspace(0.0005, 40, 40000)
    expected = (alpha * np.exp(-alpha) / (1 + alpha)).sum() * (alpha[1] - alpha[0])
    assert abs((a == b)[both].mean() - expected) < 5 * 0.5 / np.sqrt(both.sum())
    share = 1 / (1 + np.exp(-a[a != 0]))
    assert abs(share.mean() - 0.5) < 5 / np.sqrt(12 * len(share))
    numbers = [len(set(t[:3][t[:3] != 0])) for t in thetas]
    assert numbers == [one.others["n_groups"] for one in truths]
    assert thetas[:, 3:].std() == pytest.approx(10.0, rel=5 / np.sqrt(2 * 3 * n))


@pytest.mark.parametrize("within", [False, True])
def test_waves_are_those_of_the_model(within, rng):
    """Probabilities of the second wave given the first one, by the sum over all states written out."""
    model = Panel(("a", "b"), (2, 3), within)
    theta = np.array([0.5, -1.0, 0.8, 0.4, *[0.9] * within, 0.3, 0.2, -0.7])
    names, levels = ["a", "b"], [(0, 1), (0, 1, 2)]
    truth = PanelTruth(model, theta[None], theta != 0, names, levels, [True, True], {}, 2, np.zeros((2, 2)))
    X, (person, wave) = truth.table(40_000, rng)
    codes = np.stack([X[name].cat.codes for name in names], axis=1)
    assert (person[wave == 0] == person[wave == 1]).all()
    lagged = theta[:4].reshape(2, 2)
    first, second = codes[wave == 0], codes[wave == 1]
    for x in [(0, 0), (1, 1), (0, 2)]:
        mine = second[(first == x).all(axis=1)]
        weights = {}
        for y in [(i, j) for i in range(2) for j in range(3)]:
            h = sum(x[j] * lagged[j, i] * y[i] for i in range(2) for j in range(2))
            h += (theta[4] * y[0] * y[1] if within else 0) + y[0] * theta[-3] + [0, theta[-2], theta[-1]][y[1]]
            weights[y] = np.exp(h)
        for y, w in weights.items():
            p, n = w / sum(weights.values()), len(mine)
            k = (mine == y).all(axis=1).sum()
            assert min(binom.cdf(k, n, p), binom.sf(k - 1, n, p)) > 1e-6 / 36


def test_own_intercepts_depend_on_the_first_wave(rng):
    """Of people who said yes in the first wave all answers of the other item move by the slope."""
    model = Panel(("a", "b"), (2, 2), False)
    slope = np.array([[0.0, 2.0], [0.0, 0.0]])
    truth = PanelTruth(model, np.zeros((1, 6)), np.zeros(4, bool), ["a", "b"], [(0, 1)] * 2, [True] * 2,
                       {"intercept_slope": slope}, 3, np.diag([0.0, 1e-9]))  # fmt: skip
    X, (_, wave) = truth.table(20_000, rng)
    a, b = (X[name].cat.codes.to_numpy() for name in "ab")
    yes = a[wave == 0] == 1
    for said, score in ((yes, 1.0), (~yes, 0.0)):
        p = 1 / (1 + np.exp(-2.0 * (score - yes.mean())))
        later = np.concatenate([b[wave == t][said] for t in (1, 2)])
        assert abs(later.mean() - p) < 5 * np.sqrt(p * (1 - p) / len(later))


def test_the_command_takes_the_options_of_a_run(bayesmrf, folder, rng):
    est = SpikeSlabMRF(**RUN, prior=PRIOR, method="exact", random_state=1).fit(rng.integers(0, 2, (50, 4)))
    package.save(est, folder / "run")
    words = ["calibrate", "run", "--n", "40", "--nodes", "2", "--replicates", "2", "--n-jobs", "1"]
    code, out, _ = bayesmrf(*words, "--out", "study")
    assert code == 0
    assert "adjusted p" in out
    assert "The page is study" in out
    page = (folder / "study" / "calibration.html").read_text()
    assert "Are intervals calibrated?" in page
    assert "Edges by inclusion" in page
    assert (folder / "study" / "calibration.csv").read_text().startswith("quantity,p_value,p_adjusted")
    files = {path: path.stat().st_mtime_ns for path in (folder / "study" / "replicates").iterdir()}
    same = calibrate(folder / "run", 40, nodes=2, replicates=3, folder=folder / "study", **HERE)
    assert len(same.replicates) == 3
    assert all(path.stat().st_mtime_ns == at for path, at in files.items())  # those of the command are kept
