"""BayesianMRF: every legal kernel and engine, summaries, the pseudo-posterior and its correction, bad input."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import datasets, graphs
from bayesmrf.engines import Elimination, Enumeration
from bayesmrf.errors import ApproximatePosteriorWarning, ConstantColumnWarning, OptionError
from bayesmrf.estimators import BayesianMRF
from bayesmrf.estimators.parameter_kernels import automatic_kernel
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import KERNELS
from bayesmrf.models import Boltzmann, Symmetric
from bayesmrf.posterior.parameters.pseudo_posterior import correction, posterior_mode
from bayesmrf.priors import Cauchy, LogisticBeta, Normal
from tests.helpers.flat import bayesian
from tests.long import LONG
from tests.oracle.bounds import assert_estimate, assert_other_estimate

QUICK = {"n_draws": 12, "n_warmup": 2, "n_chains": 2, "progress": False, "random_state": 0}
BY_MOMENTS = ["exact", "enumeration", "mean-field", "tree", "bethe", "pseudo-likelihood", "brief", "persistent"]
BY_MOMENTS += ["from-exact"]
BY_SAMPLES = ["exact", "enumeration", "gibbs", "tempered", "swendsen-wang", "cftp"]
LEGAL = (
    [("metropolis", e) for e in BY_MOMENTS]
    + [("gibbs", e) for e in ("exact", "enumeration")]
    + [("hamiltonian", e) for e in ("exact", "bethe")]
    + [("langevin", e) for e in BY_MOMENTS]
    + [(k, e) for k in ("exchange", "auxiliary-variable") for e in BY_SAMPLES]
    + [("pseudo-posterior", "auto")]
)
ILLEGAL = [("metropolis", "gibbs"), ("langevin", "cftp"), ("exchange", "bethe"), ("auxiliary-variable", "brief")]
ILLEGAL += [("hamiltonian", "persistent")]


@pytest.fixture
def data(rng):
    X = rng.integers(0, 2, size=(40, 4))
    X[:20, 1] = X[:20, 0]
    return X


@pytest.mark.parametrize(("kernel", "engine"), LEGAL)
@pytest.mark.parametrize("model", ["boltzmann", "ising", "agreement"])
def test_every_legal_pair_runs_and_says_what_it_is(kernel, engine, model, data):
    n_draws = 2 if engine == "tempered" else 12  # a ladder is laid for each of its samples
    est = bayesian(model=model, kernel=kernel, engine=engine, **QUICK | {"n_draws": n_draws}).fit(data)
    theta = est.posterior_["posterior"]["theta"]
    assert theta.sizes == {"chain": 2, "draw": n_draws, "feature": 10}
    assert np.isfinite(theta.values).all()
    exact = (kernel in ("metropolis", "gibbs", "hamiltonian") and engine in ("exact", "enumeration")) or (
        kernel in ("exchange", "auxiliary-variable") and engine in ("exact", "enumeration", "cftp")
    )
    assert (est.posterior_.attrs["kind"] == "exact") == exact


GAPS = "with missing values"
AUTO = [
    ("gibbs", {}),
    ("gibbs", {"engine": "enumeration", "model": "ising"}),
    ("gibbs", {"prior": Cauchy(2.0)}),
    ("hamiltonian", {"prior": LogisticBeta()}),
    ("hamiltonian", {"prior_scale": 1e3}),
    ("hamiltonian", {"ties": "edges"}),
    ("hamiltonian", {"ties": "all"}),
    ("hamiltonian", {"ties": "all", "prior": Cauchy(2.0)}),
    ("hamiltonian", {"engine": "bethe"}),
    ("hamiltonian", {"engine": "pseudo-likelihood"}),
    ("metropolis", {"engine": "mean-field"}),
    ("metropolis", {"engine": "tree"}),
    ("langevin", {"engine": "brief"}),
    ("langevin", {"engine": "persistent"}),
    ("langevin", {"engine": "from-exact"}),
    ("exchange", {"engine": "gibbs"}),
    ("exchange", {"engine": "cftp", "model": "agreement"}),
    ("gibbs", {"data": GAPS}),
    ("gibbs", {"data": GAPS, "hidden_engine": "persistent"}),
    ("hamiltonian", {"data": GAPS, "engine": "bethe"}),
    ("langevin", {"data": GAPS, "engine": "bethe", "hidden_engine": "persistent"}),
    ("hamiltonian", {"data": GAPS, "ties": "all"}),
    ("exchange", {"data": GAPS, "ties": "all", "hidden_engine": "persistent"}),
    ("gibbs", {"model": "potts"}),
    ("hamiltonian", {"model": "potts", "engine": "bethe"}),
    ("gibbs", {"model": lambda g: Symmetric(g, 2, True), "n_states": 2}),
    ("hamiltonian", {"model": lambda g: Symmetric(g, 3, True), "n_states": 3}),
]


@pytest.mark.parametrize(("kernel", "options"), AUTO)
def test_what_auto_stands_for(kernel, options, data):
    X, options = data.astype(float), {"model": "ising", "n_draws": 2, **options}
    if options.pop("data", None) is GAPS:
        X[::9, 1] = np.nan
    est = bayesian(**QUICK | options).fit(X)
    assert est.kernel_ == est.posterior_.attrs["method"] == kernel
    exact = options.get("engine", "exact") in ("exact", "enumeration", "cftp")
    assert (est.posterior_.attrs["kind"] == "exact") == exact
    # The named kernel makes the same draws.
    same = bayesian(kernel=kernel, **QUICK | options).fit(X)
    assert est.posterior_["posterior"].equals(same.posterior_["posterior"])


@pytest.mark.parametrize(
    ("graph", "kernel"),
    [
        (graphs.complete(14), "gibbs"),
        (graphs.grid(3, 4), "gibbs"),
        (graphs.grid(4, 4), "hamiltonian"),
        (graphs.complete(20), "gibbs"),
        (graphs.complete(21), "hamiltonian"),
    ],
)
def test_auto_scans_a_table_of_states_where_that_is_fastest(graph, kernel):
    model = Boltzmann(graph)
    likelihood = Likelihood(model, np.full(model.n_features, 0.4), 50, Elimination())
    assert KERNELS.row(automatic_kernel(likelihood, Normal())).name == kernel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "bethe"}, "engine must be an exact engine for 'gibbs', .*, got 'bethe'"),
        (
            {"ties": "edges"},
            "kernel must be one that supports tied parameters .*, got 'gibbs'; use kernel='auto'",
        ),
        ({"prior": LogisticBeta()}, "prior must be priors.Normal or priors.Cauchy with scales <= 100"),
        ({"prior_scale": 1e3}, "prior must be priors.Normal or priors.Cauchy with scales <= 100"),
    ],
)
def test_what_gibbs_does_not_take(options, message, data):
    with pytest.raises(OptionError, match=message):
        bayesian(kernel="gibbs", **QUICK | options).fit(data)


@pytest.mark.parametrize(("kernel", "engine"), ILLEGAL)
def test_illegal_pairs(kernel, engine, data):
    with pytest.raises(OptionError, match=f"'{kernel}' needs .*, use one of enumeration"):
        bayesian(kernel=kernel, engine=engine, **QUICK).fit(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "magic"}, "kernel must be .*, got 'magic'"),
        ({"engine": "magic"}, "engine must be .*, got 'magic'"),
        ({"model": "magic"}, "model must be .*, got 'magic'"),
        ({"prior_scale": 0}, "scale must be .*, got 0"),
        ({"bias_scale": -1.0}, "bias_scale must be .*, got -1.0"),
    ],
)
def test_bad_options(options, message, data):
    with pytest.raises(OptionError, match=message):
        bayesian(**QUICK | options).fit(data)


@LONG  # grids: tests/statistical/test_posterior_kernels.py
def test_exact_kernels_agree_on_real_data():
    """Means of two exact samplers differ by no more than their Monte Carlo errors allow, judged by their chains."""
    table = datasets.coronary()
    X, counts = table.iloc[:, :6], table["count"]
    common = {"n_chains": 8, "n_warmup": 300, "progress": False}
    walk = bayesian(kernel="metropolis", n_draws=800, **common).fit(X, sample_weight=counts)
    options = {"kernel": "langevin", "adjusted": True, "precondition": True, "epsilon": 0.5}
    langevin = bayesian(n_draws=1200, **common, **options).fit(X, sample_weight=counts)
    a, b = (e.posterior_["posterior"]["theta"].mean("draw").values for e in (walk, langevin))
    error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / 8)
    assert_estimate(a.mean(axis=0), b.mean(axis=0), error, df=7)
    # control: a tighter prior is another posterior
    tight = bayesian(n_draws=600, prior_scale=0.1, **common, **options).fit(X, sample_weight=counts)
    c = tight.posterior_["posterior"]["theta"].mean("draw").values
    error = np.sqrt((a.var(axis=0, ddof=1) + c.var(axis=0, ddof=1)) / 8)
    assert_other_estimate(a.mean(axis=0), c.mean(axis=0), error, df=7)


def test_pseudo_posterior_is_too_narrow_and_the_correction_mends_it():
    table = datasets.coronary()
    X, counts = table.iloc[:, :6], table["count"]
    model = Boltzmann(graphs.complete(6))
    s_bar = model.statistics(X.to_numpy(), counts.to_numpy())
    prior = Normal(1.0)
    exact = posterior_mode(Likelihood(model, s_bar, float(counts.sum()), Elimination()), prior, np.zeros(21))
    sd = np.sqrt(np.diag(np.linalg.inv(exact.curvature)))
    spread = {}
    for corrected in (False, True):
        est = bayesian(kernel="pseudo-posterior", corrected=corrected, n_draws=1500, n_chains=4, progress=False)
        too_small = r"standard deviations are too small by a factor of about 1\.[2-6];"
        with nullcontext() if corrected else pytest.warns(ApproximatePosteriorWarning, match=too_small):
            est.fit(X, sample_weight=counts)
        theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 21)
        spread[corrected] = np.median(theta.std(axis=0) / sd)
    assert spread[False] < 0.8
    assert 0.9 < spread[True] < 1.1


def test_correction_carries_one_covariance_to_the_other(rng):
    a, b = (m @ m.T + np.eye(4) for m in rng.normal(size=(2, 4, 4)))
    w = correction(*(type("M", (), {"curvature": c, "theta": np.zeros(4)})() for c in (a, b)))
    np.testing.assert_allclose(w @ np.linalg.inv(b) @ w.T, np.linalg.inv(a), atol=1e-10)


def test_summaries(data):
    est = BayesianMRF(graph=[(0, 1), (1, 2)], **QUICK).fit(data)
    interval = est.interval(0.8)
    assert list(interval.index) == ["0-1", "1-2", "0", "1", "2", "3"]
    assert (interval["lower"] < interval["upper"]).all()
    theta = est.posterior_["posterior"]["theta"].values
    strength = est.strength()
    np.testing.assert_allclose(strength.sel(node="1"), np.abs(theta[:, :, :2]).sum(axis=2))
    np.testing.assert_allclose(strength.sel(node="3"), 0)
    by_graph = est.statistic(lambda g: abs(g.edges["0", "1"]["weight"]) + g.nodes["2"]["bias"], of="graph")
    np.testing.assert_allclose(by_graph, np.abs(theta[:, :, 0]) + theta[:, :, 4])
    assert est.statistic(lambda t: t[:3], name="first").dims == ("chain", "draw", "first_dim_0")
    with pytest.raises(OptionError, match=r"of must be .*, got 'edges'"):
        est.statistic(len, of="edges")
    with pytest.raises(OptionError, match=r"probability must be .*, got 2"):
        est.interval(2)


def test_correlation_against_the_formula(data):
    """On two nodes the correlation is that of a 2 x 2 table."""
    est = bayesian(**QUICK).fit(data[:, :2])
    theta = est.posterior_["posterior"]["theta"].values[1, 7]
    p = np.exp([0, theta[2], theta[1], theta.sum()])  # states 00, 01, 10, 11
    p /= p.sum()
    one, two = p[2] + p[3], p[1] + p[3]
    expected = (p[3] - one * two) / np.sqrt(one * (1 - one) * two * (1 - two))
    assert est.correlation().values[1, 7, 0] == pytest.approx(expected)


def test_prior_of_any_form_and_counts(rng):
    X, counts = rng.integers(0, 2, size=(10, 3)), rng.integers(1, 4, size=10)
    options = QUICK | {"prior": Cauchy(0.3)}
    a = bayesian(**options).fit(X, sample_weight=counts)
    b = bayesian(**options).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(a.theta_, b.theta_)
    assert (bayesian(**QUICK).fit(X, sample_weight=counts).theta_ != a.theta_).any()


def test_a_posterior_that_gibbs_shortens_is_told(rng, recwarn):
    """A column that is always 1 has a bias with the tail of its prior, whose 95 % point is 89."""
    X = rng.integers(0, 2, size=(40, 3))
    options = {"graph": [(0, 1)], "model": "boltzmann", "prior": Cauchy(2.5), "n_draws": 1000, "random_state": 0}
    options |= {"n_chains": 2, "progress": False}
    est = BayesianMRF(**options).fit(X)
    assert est.kernel_ == "gibbs"
    assert not recwarn.list
    x = np.geomspace(1e-4, 1e8, 200_001)
    density = x / (1 + (x / 2.5) ** 2) * expit(x) ** 40  # of log x
    assert x[np.searchsorted(np.cumsum(density), 0.95 * density.sum())] == pytest.approx(89.5, abs=1)
    X[:, 2] = 1
    with (
        pytest.warns(ConstantColumnWarning),
        pytest.warns(ApproximatePosteriorWarning, match=r"shortens the posterior of theta\[2\] \(\d+ % of its draws"),
    ):
        est = BayesianMRF(**options).fit(X)
    assert est.interval()["upper"].iloc[-1] < 60


# Many states

MANY = [
    ("gibbs", "exact"),
    *((k, e) for k in ("metropolis", "langevin") for e in ("exact", "enumeration", "mean-field", "bethe")),
    *((k, e) for k in ("metropolis", "langevin") for e in ("brief", "persistent", "from-exact")),
    ("hamiltonian", "exact"),
    *((k, e) for k in ("exchange", "auxiliary-variable") for e in ("exact", "enumeration", "gibbs")),
]


@pytest.fixture
def levels(rng):
    X = rng.integers(0, 3, size=(40, 3))
    X[:25, 1] = X[:25, 0]
    return X


@pytest.mark.parametrize(("kernel", "engine"), MANY)
@pytest.mark.parametrize("gaps", [False, True])
def test_potts_with_every_engine_that_takes_it(kernel, engine, gaps, levels):
    X = levels.astype(float)
    if gaps:
        X[[0, 7, 7], [1, 0, 2]] = np.nan
    options = QUICK | ({"hidden_engine": "exact"} if gaps and engine != "brief" else {})
    est = bayesian(model="potts", kernel=kernel, engine=engine, **options)
    if gaps and kernel == "metropolis" and engine in ("brief", "persistent", "from-exact"):
        with pytest.raises(OptionError, match="'metropolis' needs log_z"):
            est.fit(X)
        return
    est.fit(X)
    assert list(est.feature_names_) == ["0-1", "0-2", "1-2", "0=1", "0=2", "1=1", "1=2", "2=1", "2=2"]
    assert np.isfinite(est.posterior_["posterior"]["theta"].values).all()
    if gaps:
        assert len(est.missing_) == 9
        np.testing.assert_allclose(est.missing_.groupby(["row", "node"])["probability"].sum(), 1)
        assert set(est.missing_["state"]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"engine": "tree"},
            "engine must be .* with 3 states a node, got 'tree'; engines that do: enumeration",
        ),
        ({"kernel": "exchange", "engine": "cftp"}, "engine must be an engine for the model 'potts' .*, got 'cftp'"),
        ({"kernel": "pseudo-posterior"}, "kernel must be 'gibbs', .* for nodes with more than two states"),
        ({"graph": "learn:2"}, "graph must be edges or 'complete' for data with 3 states, got 'learn:2'"),
    ],
)
def test_potts_refusals(options, message, levels):
    with pytest.raises(OptionError, match=message):
        bayesian(model="potts", **QUICK | options).fit(levels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kernel": "pseudo-posterior", "engine": "bethe"},
            "engine must be omitted with kernel='pseudo-posterior', whose engine is 'pseudo-likelihood', got 'bethe'",
        ),
        (
            {"kernel": "pseudo-posterior", "engine": Enumeration()},
            "engine must be omitted with kernel='pseudo-posterior', .*, got 'enumeration'",
        ),
        ({"hidden_engine": "bethe"}, "hidden_engine must be omitted, as no value is missing, got 'bethe'"),
    ],
)
def test_engines_that_nothing_would_use_are_refused(options, message, data):
    with pytest.raises(OptionError, match=message):
        bayesian(**QUICK | options).fit(data)
    own = bayesian(**QUICK, kernel="pseudo-posterior", engine="pseudo-likelihood").fit(data)
    assert own.posterior_.attrs["engine"] == "pseudo-likelihood"


def test_potts_of_two_states_is_the_agreement_model(data):
    """[x_u = x_v] is the same feature; a field h on {-1, +1} is 2 h on {0, 1}."""
    options = QUICK | {"n_draws": 3000, "n_warmup": 200, "n_chains": 4}
    potts = bayesian(model="potts", bias_scale=2.0, **options).fit(data)
    agreement = bayesian(model="agreement", bias_scale=1.0, **options | {"random_state": 1}).fit(data)
    scale = np.repeat([1.0, 2.0], [6, 4])
    a, b = (e.posterior_["posterior"]["theta"].mean("draw").values for e in (potts, agreement))
    b = b * scale
    error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / 4)
    assert_estimate(a.mean(axis=0), b.mean(axis=0), error, df=3)
    assert np.abs((a.mean(axis=0) - b.mean(axis=0) / scale)[6:]).max() > 0.02  # the scale matters


def test_potts_keeps_levels_and_samples_them(rng):
    X = np.array(["no", "some", "yes"])[rng.integers(0, 3, size=(50, 3))]
    est = bayesian(model="potts", **QUICK).fit(X)
    assert set(np.unique(est.sample(200, random_state=1))) == {"no", "some", "yes"}
    assert np.isfinite(est.score(X))
    assert est.strength().sizes["node"] == 3
    assert est.statistic(lambda g: g.nodes["1"]["bias"].sum(), of="graph").shape == (2, 12)
    with pytest.raises(OptionError, match="correlation"):
        est.correlation()
