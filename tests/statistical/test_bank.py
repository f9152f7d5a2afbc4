"""Edges with log Z from a frozen bank of states, against enumeration and the exact method; with controls that fail."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets, graphs
from bayesmrf.errors import ApproximatePosteriorWarning, OptionError
from bayesmrf.estimators import bank_choice, bank_error, bank_start
from bayesmrf.estimators.bank_start import another_bank
from bayesmrf.learning.pseudo_mode import pseudo_mode
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann, Ising, Nominal, Ordinal, Potts
from bayesmrf.posterior.edges import bank as bank_kernels
from bayesmrf.posterior.edges import bank_moves
from bayesmrf.priors import Blocks, Cauchy, LogisticBeta, Moment, SpikeSlab
from bayesmrf.states.bank import Bank, BankChains, covariance_of, log_z
from tests.oracle.bounds import Comparison
from tests.oracle.potts import all_states

BANK = ReversibleJump(moments="bank")
QUIET = {"progress": False, "n_jobs": 1, "n_chains": 2, "random_state": 0}
COMPLETE = graphs.complete(4)
MODELS = {
    "boltzmann": Boltzmann(COMPLETE),
    "ising": Ising(COMPLETE),
    "ordinal": Ordinal(COMPLETE, 3),
    "potts": Potts(COMPLETE, 3),
    "mixed": Nominal(COMPLETE, 3, sizes=(3, 2, 3, 2), ordered=(True, True, False, False)),
}
by_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# The bank


def law(model, theta):
    """All states that a model has, their probabilities, features, and log Z."""
    states = all_states(4, model.n_states).astype(np.int64)
    states = states[model.used[np.arange(4), states].all(axis=1)]
    f = model.features(states)
    logs = f @ theta
    z = np.logaddexp.reduce(logs)
    return states, np.exp(logs - z), f, z


def exact_bank(model, theta, states, p, f, n=200_000):
    """A bank with the moments of enumeration and every state in proportion to its probability."""
    mean = p @ f
    counts = np.round(n * p).astype(int)
    covariance = (f * p[:, None]).T @ f - np.outer(mean, mean)
    return Bank(theta, mean, np.zeros(len(mean)), covariance, np.repeat(states, counts, axis=0).astype(np.int8))


@by_model
def test_log_z_is_that_of_enumeration(name, rng):
    """Control: without what is beyond second order."""
    model = MODELS[name]
    theta = 0.4 * rng.normal(size=model.n_features)
    bank = exact_bank(model, theta, *law(model, theta)[:3], n=1_000_000)
    near = theta + 0.4 * rng.normal(size=(20, model.n_features))
    truth = np.array([law(model, t)[3] for t in near]) - law(model, theta)[3]
    found, share = log_z(model, bank, near)
    np.testing.assert_allclose(found, truth, atol=2e-3)  # features are float32, and numbers of states are rounded
    delta = near - theta
    second = delta @ bank.mean + 0.5 * np.einsum("ni,ij,nj->n", delta, bank.covariance, delta)
    assert np.abs(second - truth).max() > 0.01
    exact_share = [np.exp(2 * (law(model, t)[3]) - law(model, theta)[3] - law(model, 2 * t - theta)[3]) for t in near]
    np.testing.assert_allclose(share, exact_share, atol=2e-3)


@by_model
def test_states_of_chains_are_those_of_theta(name, rng):
    """Control: the states of another theta."""
    model = MODELS[name]
    theta = 0.5 * rng.normal(size=model.n_features)
    _, p, f, _ = law(model, theta)
    chains = BankChains(model, np.zeros((2048, 4), int), rng)

    def compared(at):
        states = chains.states(at, 3)
        assert states.shape == (3, 2048, 4)
        return Comparison().means(model.features(states[-1].astype(np.int64))[:, None], p @ f, least=1e-3)

    assert compared(theta).holds, str(compared(theta))
    assert not compared(theta + 0.3).holds


def test_the_covariance_is_that_of_the_states(rng):
    model = MODELS["ordinal"]
    states = rng.integers(0, 3, (9000, 4)).astype(np.int8)
    f = model.features(states.astype(np.int64))
    np.testing.assert_allclose(covariance_of(model, states), np.cov(f.T, bias=True), atol=1e-5)


@by_model
def test_the_mode_of_the_pseudo_likelihood_has_no_slope(name, rng):
    """By the sum of conditional log probabilities, from the features of all states of a node."""
    model = MODELS[name]
    states, _, _, _ = law(model, np.zeros(model.n_features))
    x = states[rng.integers(0, len(states), 60)]
    weights = rng.integers(1, 4, 60).astype(float)
    precision = rng.uniform(0.5, 2.0, model.n_features)

    def value(theta):
        total = -0.5 * precision @ theta**2
        for u in range(4):
            logs = []
            for k in np.flatnonzero(model.used[u]):
                other = x.copy()
                other[:, u] = k
                logs.append(model.features(other) @ theta)
            total += weights @ (model.features(x) @ theta - np.logaddexp.reduce(logs, axis=0))
        return total

    mode = pseudo_mode(model, x, weights, precision)
    top = value(mode)
    for k in range(model.n_features):
        for step in (-1e-2, 1e-2):
            assert value(mode + step * np.eye(model.n_features)[k]) < top
    assert value(mode + 0.05) < top - 1e-3


# The sampler


def ordered(rng, n=400, d=5, m=4, share=0.7):
    """Ordered answers of a factor."""
    z = rng.normal(size=(n, 1)) * share + rng.normal(size=(n, d))
    return np.digitize(z, np.linspace(-1, 1.2, m - 1))


def table(rng):
    """Columns of 2 to 6 levels, one of them rare, and one that is never given."""
    z = rng.normal(size=(400, 1)) + rng.normal(size=(400, 4))
    cuts = [[0.0], [-0.5, 0.8], [-1.6, -0.8, 0.0, 0.9, 2.4], [-1.0, 0.2, 1.1]]
    return pd.DataFrame({f"q{i}": np.digitize(z[:, i], cut) for i, cut in enumerate(cuts)})


def nominal(rng):
    x = table(rng)
    return x.assign(q3=pd.Categorical(np.array(["red", "blue", "green", "white"])[x["q3"]]))


def lost(x, rng):
    x = np.asarray(x, dtype=float)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def duplicates(rng):
    x = (ordered(rng) > 1).astype(int)
    return np.column_stack([x, np.where(rng.random(len(x)) < 0.03, 1 - x[:, 0], x[:, 0])])


def pairs(rng):
    """One edge that must exist, and one that cannot."""
    p = np.full((5, 5), 0.3) - 0.3 * np.eye(5)
    p[0, 1] = p[1, 0] = 1
    p[2, 3] = p[3, 2] = 0
    return pd.DataFrame(p)


CASES = {
    "ordered": (lambda r: ordered(r), {}),
    "yes/no": (lambda r: (ordered(r, 300) > 1).astype(int), {}),
    "ising": (lambda r: (ordered(r, 300) > 1).astype(int), {"model": "ising"}),
    "unequal levels": (table, {}),
    "nominal": (nominal, {}),
    "missing": (lambda r: lost(ordered(r), r), {}),
    "near duplicates": (duplicates, {}),
    "moment": (lambda r: ordered(r), {"prior": SpikeSlab(slab=Moment(1.0))}),
    "logistic-beta": (lambda r: ordered(r, 400, 4, 3), {"prior": SpikeSlab(biases=LogisticBeta(2.0, 1.0))}),
    "blocks": (lambda r: (ordered(r, 300) > 1).astype(int), {"prior": SpikeSlab(density=Blocks())}),
    "pairs": (lambda r: (ordered(r, 300) > 1).astype(int), {"prior": "pairs"}),
}


def fits(make, data, options, n_draws):
    """Draws of inclusions by a bank, and by the exact method."""
    both = [
        make(method=method, n_draws=n, n_warmup=500, **QUIET, **options).fit(*data)
        for method, n in ((BANK, n_draws), ("exact", n_draws))
    ]
    return [e.posterior_["posterior"]["included"].values for e in both], both


def agree(one, other, bias):
    """Compare inclusions; the error of the other draws is that of their batches."""
    batches = other.reshape(-1, 50, other.shape[-1]).astype(float).mean(axis=1)
    error = np.maximum(batches.std(axis=0, ddof=1) / np.sqrt(len(batches)), 2e-3)
    return Comparison().shares(one, other.mean(axis=(0, 1)), bias, error)


@pytest.mark.parametrize("name", CASES)
def test_inclusions_are_those_of_the_exact_method(name, rng):
    """A bias of 0.01 is allowed. Control: one edge that the other method does not have."""
    make, options = CASES[name]
    x = make(rng)
    if options.get("prior") == "pairs":
        options = {"prior": SpikeSlab(density=pairs(rng))}
        x = pd.DataFrame(x, columns=range(5))
    (bank, exact), (est, _) = fits(SpikeSlabMRF, (x,), options, 2000)
    found = agree(bank, exact, 0.01)
    assert found.holds, str(found)
    assert est.posterior_["sample_stats"]["walled"].mean() < 1e-3
    other = bank.copy()
    doubtful = np.abs(exact.mean(axis=(0, 1)) - 0.5).argmin()
    other[..., doubtful] = rng.random(other.shape[:2]) < (0.97 if exact[..., doubtful].mean() < 0.6 else 0.03)
    assert not agree(other, exact, 0.01).holds


@pytest.mark.parametrize("options", [{}, {"baseline": "spike-slab"}, {"biases": "slab"}, {"biases": "spike-slab"}],
                         ids=["differences", "baselines", "slab", "spike"])  # fmt: skip
def test_differences_are_those_of_the_exact_method(options, rng):
    x = ordered(rng, 600, 4, 3)
    groups = np.repeat([0, 1], 300)
    x[groups == 1, 0] = np.where(rng.random(300) < 0.5, x[groups == 1, 0], rng.integers(0, 3, 300))
    (bank, exact), _ = fits(CompareMRF, (x, groups), options, 2000)
    found = agree(bank, exact, 0.01)
    assert found.holds, str(found)


def test_differences_that_are_forbidden_or_forced_are_so_in_every_draw(rng):
    """Whatever the start, which has the weights of the mode of the pseudo-likelihood."""
    x, groups = pd.DataFrame(ordered(rng, 500, 5, 3)), np.repeat([0, 1], 250)
    prior = SpikeSlab(density=pairs(rng))
    est = CompareMRF(method=BANK, prior=prior, n_draws=50, n_warmup=5, **QUIET).fit(x, groups)
    posterior = est.posterior_["posterior"]
    apart = posterior["theta"].values[:, :, 1, :10] != posterior["theta"].values[:, :, 0, :10]
    forced, forbidden = (est.edges_.tolist().index(edge) for edge in ([0, 1], [2, 3]))
    for there in (posterior["included"].values, apart):
        assert there[..., forced].all()
        assert not there[..., forbidden].any()


def test_three_groups_have_a_bank_each(rng):
    x = (ordered(rng, 900, 4) > 1).astype(int)
    (bank, exact), (est, _) = fits(CompareMRF, (x, np.repeat([0, 1, 2], 300)), {}, 2000)
    found = agree(bank, exact, 0.01)
    assert found.holds, str(found)
    assert est.posterior_["posterior"]["theta"].shape[2] == 3


def skewed():
    """Few rows of items that are skewed, whose likelihood is not quadratic."""
    return datasets.wenchuan().iloc[:, :5].dropna()[:120]


def apart(monkeypatch=None, place=None, name="", function=None):
    """Largest distance of the mean of a parameter from that of the exact method in posterior standard deviations, and
    the standard deviations over those of the exact method.
    """
    exact = SpikeSlabMRF(method="exact", n_draws=3000, n_warmup=300, **QUIET).fit(skewed())
    if monkeypatch is not None:
        monkeypatch.setattr(place, name, function)
    bank = SpikeSlabMRF(method=BANK, n_draws=3000, n_warmup=300, **QUIET).fit(skewed())
    a, b = (e.posterior_["posterior"]["theta"].values.reshape(6000, -1) for e in (bank, exact))
    return np.abs((a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)).max(), a.std(axis=0) / b.std(axis=0)


def test_parameters_are_those_of_the_exact_method():
    shift, ratio = apart()
    assert shift < 0.15
    assert 0.9 < ratio.min() <= ratio.max() < 1.1


def test_without_what_is_beyond_second_order_draws_are_wrong(monkeypatch):
    """Control: a Taylor polynomial."""
    real = bank_start.tables_of

    def without(*arguments):
        tables = real(*arguments)
        return tables._replace(n=np.zeros_like(tables.n))

    assert apart(monkeypatch, bank_start, "tables_of", without)[0] > 0.3


def test_states_of_another_theta_than_stated_are_wrong(monkeypatch):
    """Control."""
    real = BankChains.states
    shift, ratio = apart(monkeypatch, BankChains, "states", lambda self, theta, n: real(self, 0.7 * theta, n))
    assert shift > 0.3
    assert ratio.min() < 0.8


# A run


def kernel_of(est, x, monkeypatch):
    """The kernel of a fit."""
    kept = []
    real = bank_start.design_of
    monkeypatch.setattr("bayesmrf.estimators.edge_methods.design_of", lambda *a: kept.append(real(*a)) or kept[-1])
    est.fit(x)
    return kept[-1]


def test_two_paths_to_one_theta_have_the_same_log_densities(rng, monkeypatch):
    """What moves with a chain is what is computed anew at its end."""
    x = ordered(rng, 283_041)
    est = SpikeSlabMRF(method=BANK, n_draws=2, n_warmup=2, **QUIET)
    design = kernel_of(est, x, monkeypatch)
    kept = []
    real = bank_kernels.move

    def spied(rng, problem, surrogate, tables, theta, place, *rest):
        found = real(rng, problem, surrogate, tables, theta, place, *rest)
        kept.append((surrogate, tables, place))
        return found

    monkeypatch.setattr(bank_kernels, "move", spied)
    state = bank_kernels.first_state(design, rng)
    for _ in range(5):
        state, *_ = bank_kernels.walk(design, rng, state, design.sums, 0)
    out, none = np.zeros((2, 2)), np.empty(0, np.int64)
    for surrogate, tables, place in kept:
        bank_moves._rests(tables, place.z, none, np.empty(0), out[0])
        t = place.t.copy()
        size = len(place.w) + len(place.xi)
        bank_moves._recompute(surrogate, tables, place, np.empty(size, np.int64), np.empty(size), out[1])
        np.testing.assert_allclose(place.t, t, atol=1e-9)
        assert abs(out[0, 0] - out[1, 0]) < 1e-5
        y = np.concatenate([place.w - surrogate.at, place.xi])
        np.testing.assert_allclose(place.r, surrogate.slope - surrogate.hessian @ y[: len(place.w)], atol=1e-6)
        np.testing.assert_allclose(place.d, surrogate.apart + surrogate.curve @ y, atol=1e-6)


def test_small_tables_have_more_states_than_noise_asks_for(rng, monkeypatch):
    """Control: without room for them the bank is smaller."""
    x, sizes = ordered(rng, 300, 4, 3), []
    for room in (bank_start._ROOM, 1):
        monkeypatch.setattr(bank_start, "_ROOM", room)
        with monkeypatch.context() as own:
            design = kernel_of(SpikeSlabMRF(method=BANK, n_draws=2, n_warmup=2, **QUIET), x, own)
        sizes.append(len(design.banks[0].states))
    assert sizes[1] < sizes[0] == bank_start.MOST


def test_draws_of_warm_up_have_fewer_steps_and_adapt_alone(rng, monkeypatch):
    """Sizes of blocks change in the warm-up, and not after it."""
    design = kernel_of(SpikeSlabMRF(method=BANK, n_draws=2, n_warmup=2, **QUIET), ordered(rng, 300, 4, 3), monkeypatch)
    design = design._replace(n_steps=8, n_warm=2, sizes=np.full(2, 4.0))
    states = [bank_kernels.first_state(design, rng)]
    for _ in range(20):
        states.append(bank_kernels.walk(design, rng, states[-1], design.sums, 15)[0])
    assert [s.age for s in states] == [*range(0, 31, 2), *range(38, 71, 8)]
    assert (states[0].sizes != states[15].sizes).any()
    np.testing.assert_array_equal(states[15].sizes, states[20].sizes)


def test_draws_do_not_depend_on_threads_and_continue_after_an_interruption(rng, tmp_path):
    x = ordered(rng, 300, 4, 3)
    options = {"method": BANK, "n_warmup": 20, "n_chains": 2, "random_state": 3, "progress": False}
    whole = SpikeSlabMRF(n_draws=40, n_jobs=1, **options).fit(x).posterior_["posterior"]["theta"].values
    threads = SpikeSlabMRF(n_draws=40, n_jobs=2, **options).fit(x).posterior_["posterior"]["theta"].values
    np.testing.assert_array_equal(whole, threads)
    SpikeSlabMRF(n_draws=15, checkpoint=tmp_path / "run", **options).fit(x)
    again = SpikeSlabMRF(n_draws=40, checkpoint=tmp_path / "run", **options).fit(x)
    np.testing.assert_array_equal(whole, again.posterior_["posterior"]["theta"].values)
    other = SpikeSlabMRF(n_draws=40, **options | {"random_state": 4}).fit(x).posterior_["posterior"]["theta"].values
    assert (whole != other).any()


def test_warm_up_does_not_change_what_is_frozen(rng, monkeypatch):
    x = ordered(rng, 300, 4, 3)
    designs = [kernel_of(SpikeSlabMRF(method=BANK, n_draws=2, n_warmup=n, **QUIET), x, monkeypatch) for n in (0, 30)]
    np.testing.assert_array_equal(*(d.surrogate.hessian for d in designs))
    assert designs[0].n_steps == designs[1].n_steps


def test_a_fit_says_how_much_another_bank_changes_it(rng):
    x = ordered(rng, 300)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        est = SpikeSlabMRF(method=BANK, n_draws=500, n_warmup=50, **QUIET).fit(x)
    texts = [str(w.message) for w in told if w.category is ApproximatePosteriorWarning]
    assert len(texts) == 1
    assert "with an independent set of states, inclusion probabilities change by" in texts[0]
    attrs = est.posterior_.attrs
    assert attrs["moments"] == "bank"
    assert 0 <= attrs["bank_mean"] <= attrs["bank_largest"] < 0.1
    assert attrs["bank_shape"] < 0.7
    assert not est.table("findings").query("severity == 'bad'").index.size


def test_the_error_of_a_bank_is_that_of_its_weights(rng):
    """A bank whose mean is wrong by as much as the posterior is wide moves inclusions, and is found out."""
    model, n = MODELS["ordinal"], 300.0
    theta = 0.3 * rng.normal(size=model.n_features)
    states, p, f, _ = law(model, theta)
    right = exact_bank(model, theta, states, p, f)
    sd = np.sqrt(np.diag(right.covariance) / n)
    draws = theta + rng.normal(size=(400, 1, model.n_features)) / np.sqrt(n * np.diag(right.covariance))
    included = draws[:, 0, :6] > theta[:6]
    good = bank_error.bank_error(model, [right], np.array([n]), draws, included)
    wrong = right._replace(mean=right.mean + np.where(np.arange(len(sd)) == 0, sd, 0))
    bad = bank_error.bank_error(model, [wrong], np.array([n]), draws, included)
    assert good.largest < 0.05 < 0.2 < bad.largest


def test_a_wall_that_is_met_makes_a_run_bad(rng, monkeypatch):
    x = ordered(rng, 300, 4, 3)
    monkeypatch.setattr(bank_error, "_WALLED", -1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        est = SpikeSlabMRF(method=BANK, n_draws=100, n_warmup=10, **QUIET).fit(x)
    assert any("because less than 10% of these states" in str(w.message) for w in told)
    assert est.table("findings").query("severity == 'bad'").index.size


def test_another_bank_is_independent(rng):
    model = MODELS["ordinal"]
    theta = 0.3 * rng.normal(size=model.n_features)
    states, p, f, _ = law(model, theta)
    bank = exact_bank(model, theta, states, p, f)
    rows = bank.states[rng.permutation(len(bank.states))]
    other = another_bank(model, bank._replace(states=rows), 300, rng)
    assert np.abs((other.mean - bank.mean) / other.error).max() < 6
    assert len(other.states) == 50 * 2048


def test_options_of_dynamics_and_particles_are_refused(rng):
    x = ordered(rng, 100, 3, 3)
    with pytest.raises(OptionError, match="n_particles must be omitted for moments='bank'"):
        ReversibleJump(moments="bank", n_particles=100)
    rare = x.copy()
    rare[rare[:, 0] == 2, 0] = 1
    rare[:3, 0] = 2
    with pytest.raises(OptionError, match="as a level of 0 has fewer than 5 rows of a group"):
        SpikeSlabMRF(method=BANK, **QUIET).fit(rare)
    with pytest.raises(OptionError, match=r"epsilon must be omitted where .* log Z is from a bank"):
        SpikeSlabMRF(method=ReversibleJump(moments="bank", epsilon=0.1), **QUIET).fit(x)


def test_weights_with_long_tails_have_no_bank(monkeypatch):
    """The likelihood of a negative weight of x2 and x3 hardly falls as it grows. Control: without the check it has."""
    table = pd.read_csv(Path(__file__).with_name("separated.csv"))
    prior = SpikeSlab(density=0.5, slab=Cauchy(0.3), bias_scale=1.0)
    options = {"prior": prior, "n_draws": 50, "n_warmup": 20} | QUIET
    with pytest.raises(OptionError, match=r"moments must be 'auto' or 'chains' .* weights have long tails"):
        SpikeSlabMRF(method=BANK, **options).fit(table)
    monkeypatch.setattr(bank_start, "_FARTHEST", np.inf)
    assert "bank_share" in SpikeSlabMRF(method=BANK, **options).fit(table).posterior_["sample_stats"]


def test_auto_takes_a_bank_where_it_is_right(rng):
    """Ordered answers with enough rows and without rare levels; yes/no rows from 1,000 on; no option of chains."""
    auto, x = ReversibleJump(), ordered(rng, 300, 4, 3)
    graph = graphs.complete(4)

    def taken(options, x, model):
        return bank_choice.takes_bank(options, model, [States.of(x)])

    class States:
        """Rows of a group."""

        def __init__(self, values, weights=None):
            self.values, self.weights, self.n_samples = values, weights, float(len(values))

        @classmethod
        def of(cls, values):
            return cls(np.asarray(values))

    rare = np.where(x == 2, 1, x)
    assert taken(auto, x, Ordinal(graph, 3))
    assert not taken(auto, x[:20], Ordinal(graph, 3))
    assert not taken(auto, rare, Ordinal(graph, 3))
    assert not taken(ReversibleJump(n_particles=256), x, Ordinal(graph, 3))
    assert not taken(ReversibleJump(moments="chains"), x, Ordinal(graph, 3))
    assert not taken(auto, x > 0, Boltzmann(graph))
    assert taken(auto, np.tile(x, (4, 1)) > 0, Boltzmann(graph))
    assert not taken(auto, np.tile(x, (20, 1)) > 0, Boltzmann(graph))
    assert taken(ReversibleJump(n_iterations=5), x, Ordinal(graph, 3))
