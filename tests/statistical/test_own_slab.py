"""A slab from outside the package, in one file: every place that knows slabs against an oracle; what is refused.

Panels are in tests/statistical/test_panel_kernel.py, and the page in tests/pages/test_docs.py.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesmrf import SpikeSlabMRF, graphs, plan
from bayesmrf.errors import OptionError
from bayesmrf.methods import ReversibleJump
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.priors import Beta, Cauchy, Moment, Normal, SpikeSlab, read_slab
from bayesmrf.results.edge_evidence import evidence
from bayesmrf.slabs import Slab, SlabLeaves, check_slab, register, with_leaves
from tests.helpers.own_slab import FILE, Laplace, LaplaceConstants
from tests.oracle import groups as groups_oracle
from tests.oracle import spike_slab as oracle
from tests.oracle.edge_evidence import log10_factors, of_table
from tests.statistical import test_differences as groups
from tests.statistical.test_spike_slab_exact import draw, problem
from tests.unit.answers.test_edge_evidence import RUN, assert_both_close, yes_no

PRIOR = SpikeSlab(Beta(2.0, 3.0), Laplace(0.7), 2.0)


@pytest.mark.parametrize("method", ["exact", "reversible-jump"])
def test_every_structure(method, rng):
    lik = problem(graphs.complete(3), rng, n := 100)
    exact = oracle.posterior(lik.model.graph, lik.s_bar, n, PRIOR, rng)
    kernel = SpikeSlabExact(lik, PRIOR, n_scans=10)
    if method != "exact":
        options = ReversibleJump(512, epsilon=0.1, n_iterations=10)
        kernel = SpikeSlabTwoStates(lik.model, lik.s_bar, n, PRIOR, options=options)
    values = draw(kernel, rng, 100, 20)
    assert oracle.compared(values, *exact).holds
    for slab in (Laplace(0.2), Normal(0.3), Cauchy(3.0)):  # the controls: other scales and slabs
        other = replace(PRIOR, slab=slab)
        values["slab_scale"][:] = slab.scale
        assert not oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, n, other, rng)).holds


def test_differences_between_groups(rng):
    """Of three groups: a difference has two coordinates."""
    model, prior = groups.Boltzmann(graphs.path(2)), replace(groups.PRIOR, slab=Laplace(0.5))
    data = groups.rows(model, [60, 80, 120], rng)
    draws = groups.draws_of(groups.kernel(model, data, prior), rng)
    assert groups.compared(draws, groups.exact(model, data, rng, prior)).holds
    assert not groups.compared(draws, groups.exact(model, data, rng, replace(prior, slab=Normal(0.2)))).holds


@pytest.fixture(scope="module")
def answers(module_rng):
    return yes_no(module_rng, 150, 3)


@pytest.fixture(scope="module")
def est(answers):
    return SpikeSlabMRF(prior=PRIOR, random_state=1, **RUN).fit(answers)


def test_bayes_factors(est, answers, rng):
    assert est.method_ == "exact"
    truth, error = log10_factors(of_table(answers, 2, graphs.complete(3).edges, PRIOR), PRIOR, rng)
    assert_both_close(est, truth, error)
    wide = replace(PRIOR, slab=Cauchy(3.0))
    other = log10_factors(of_table(answers, 2, graphs.complete(3).edges, wide), wide, rng)
    with pytest.raises(AssertionError):
        assert_both_close(est, *other)


def test_log_priors(est):
    est.add_log_prior()
    theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 6)[:, :3]
    each = [oracle.log_weights_prior(t[t != 0], PRIOR) for t in theta]
    mean = -stats.laplace(scale=0.7).entropy()
    found = est.posterior_["log_prior"]["slab"].values.ravel()
    np.testing.assert_allclose(found, each - mean * (theta != 0).sum(axis=1), atol=1e-7)


def test_prior_of_a_statement(est):
    """P(0-1 > 0.5) in the prior: that of an edge, times the upper tail."""
    found = est.probability("0--1 > 0.5", n_prior=200_000).prior
    truth = 0.4 * stats.laplace(scale=0.7).sf(0.5)
    assert found == pytest.approx(truth, abs=6 * np.sqrt(truth / 200_000))
    assert abs(found - 0.4 * stats.cauchy(scale=0.7).sf(0.5)) > 0.01


def test_draws_of_several_parameters(rng):
    """The length of four of them is a Gamma variable."""
    lengths = np.sqrt((Laplace(0.5).draw((4000, 1, 4), rng) ** 2).sum(axis=(1, 2)))
    assert stats.kstest(lengths, stats.gamma(4, scale=0.5).cdf).pvalue > 1e-6
    assert stats.kstest(lengths, stats.gamma(3, scale=0.5).cdf).pvalue < 1e-6


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_sensitivity(answers, rng):
    """Inclusions under other scales are those of an enumeration."""
    est = SpikeSlabMRF(prior=replace(PRIOR, density=0.4), random_state=2, **RUN).fit(answers)
    est.sensitivity(answers)
    tree = est.posterior_["sensitivity"].dataset
    lik = est.posterior_["posterior"]
    assert lik.sizes["edge"] == 3
    s_bar = oracle._features(graphs.complete(3))
    code = answers @ [4, 2, 1]
    s_bar = s_bar[code].mean(axis=0)
    for factor in (0.5, 2.0):
        prior = replace(PRIOR, density=0.4, slab=Laplace(0.7 * factor))
        means, _ = oracle.posterior(graphs.complete(3), s_bar, len(answers), prior, rng)
        at = (tree["prior"].values == "scale") & np.isclose(tree["value"].values, factor)
        np.testing.assert_allclose(tree["inclusion"].values[at][0], means[:3], atol=0.04)


def test_report(est, tmp_path):
    est.report(tmp_path / "page.html")
    assert "Laplace(0, 0.7)" in (tmp_path / "page.html").read_text()


def test_the_shell(bayesmrf, tmp_path, answers):
    table = tmp_path / "answers.csv"
    pd.DataFrame(answers, columns=list("abc")).to_csv(table, index=False)
    run = "--n-draws", "300", "--n-chains", "2", "--seed", "1"
    code, shown, error = bayesmrf("structure", table, "--slab", f"{FILE}:laplace:0.7", *run)
    assert code == 0, error
    assert "pairs are included" in shown or "pairs is included" in shown
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "Laplace(0, 0.7)" in (tmp_path / "answers_run.html").read_text()
    with pytest.raises(OptionError, match="file that exists"):
        read_slab("nothing.py:laplace:1")


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_plans():
    est = SpikeSlabMRF(prior=PRIOR, n_draws=200, n_chains=2, progress=False)
    study = plan(n=[50], nodes=3, density=0.7, estimator=est, replicates=2, random_state=1, progress=False)
    assert study.frame["replicates"].tolist() == [2]


def test_texts():
    assert read_slab("laplace:0.5") == Laplace(0.5)
    with pytest.raises(OptionError, match='"laplace:SCALE"'):
        read_slab("laplace:1,2")


# What is refused


def parts(name, **changed):
    """A slab that is that of the page but for some parts."""
    methods = {k: v for k, v in vars(Laplace).items() if callable(v) and not k.startswith("__")}
    for key in [k for k, v in changed.items() if v is None]:
        methods.pop(key)
    methods |= {k: v for k, v in changed.items() if v is not None}
    scale = {"scale": Laplace.__dataclass_fields__["scale"], "__annotations__": {"scale": float}}
    return dataclass(frozen=True)(type(name, (Slab,), methods | scale))


def with_leaf(**changed):
    """A slab with other leaves."""

    def compiled(self):
        kind = with_leaves(SlabLeaves(**made._asdict() | changed))(type("Other", (LaplaceConstants,), {}))
        return kind(0.0)

    made = LaplaceConstants.leaves
    return {"compiled": compiled}


def half_normal(slab, precision, size, n_values):
    return -0.5 * precision * size


def always_one(rng, slab, precision, growth, n_values):
    return precision


def steep(slab, precision, size, growth, n_values, step):
    return 2 * np.sqrt(precision / (size + step * step))


def wide_draws(self, n, n_draws, rng):
    return (1.2 * self.scale * rng.standard_gamma(n, n_draws)) ** 2


WRONG = {
    "no draws": ({"draw_squares": None}, "Wrong has no method draw_squares"),
    "no leaves": ({"compiled": None}, "Wrong has no method compiled"),
    "no constant": ({"log_constant": None}, "Wrong has no method log_constant"),
    "constants without leaves": ({"compiled": lambda self: (1.0,)}, "a NamedTuple whose class is decorated"),
    "not normalised": ({"log_constant": lambda self, n: -log(self.scale) * n}, "has the integral"),
    "normalised for one parameter": (
        {"log_constant": lambda self, n: -n * log(2 * self.scale)}, "density of 2 parameters has the integral",
    ),
    "other draws": ({"draw_squares": wide_draws}, "draws of 1 parameters do not have its density"),
    "another shape": (with_leaf(log_shape=half_normal), "has the integral"),
    "another mixture": (with_leaf(draw_mixture=always_one), "draws of its mixture do not have its density"),
    "another slope": (with_leaf(slope=steep), "its slope is"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_slab_is_refused(name):
    changed, message = WRONG[name]
    with pytest.raises(OptionError, match=message):
        register("wrong")(parts("Wrong", **changed))
    with pytest.raises(OptionError, match="wrong"):
        read_slab("wrong:1")


def test_a_slab_that_is_not_registered_is_refused():
    kind = parts("Wrong")
    with pytest.raises(OptionError, match=r"registered, got 'Wrong'; decorate Wrong with bayesmrf\.slabs\.register"):
        SpikeSlab(slab=kind())
    with pytest.raises(OptionError, match="a word that no other slab has"):
        register("cauchy")(kind)
    with pytest.raises(OptionError, match="leaf slope of a slab must be a function"):
        with_leaves(SlabLeaves(half_normal, always_one, 3))


@pytest.mark.parametrize("slab", [Normal(0.7), Cauchy(0.7), Moment(0.7)], ids=str)
def test_slabs_of_the_package_pass_the_check(slab):
    check_slab(slab)


# Machine code on disk

CHANGED = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from laplace import Laplace
from bayesmrf.posterior.conditionals.spike import edge_prior, slab_top
from bayesmrf.priors import SpikeSlab
print(slab_top(edge_prior(SpikeSlab(slab=Laplace(1.0))), 1.0))
"""


def test_a_leaf_that_is_changed_is_compiled_again(tmp_path):
    """That of the package which calls it is on disk, and its own code is the same."""
    text, found = FILE.read_text(), []
    leaf = "def log_top(slab, precision, n_values, constant):\n    return constant + {}\n\n\n@with_leaves"
    for added in ("0.0", "0.0", "3.0"):
        changed = text.replace("@with_leaves", leaf.format(added), 1).replace(", slope))", ", slope, log_top=log_top))")
        changed = changed.replace('@register("laplace")\n', "")  # which refuses it
        changed += "\n\nfrom bayesmrf.priors.slab import REGISTERED\n\nREGISTERED.add(Laplace)\n"
        (tmp_path / "laplace.py").write_text(changed)
        env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = subprocess.run(
            [sys.executable, "-c", CHANGED.format(folder=str(tmp_path))], capture_output=True, text=True, env=env
        )
        assert run.returncode == 0, run.stderr
        found.append(float(run.stdout))
    assert found == pytest.approx([-log(2), -log(2), 3 - log(2)])


def test_nothing_is_compiled_where_numba_is_off(tmp_path):
    """For a debugger, and for coverage of leaves: a fit of three columns, of two equal ones too."""
    script = """
import numpy as np
from bayesmrf import SpikeSlabMRF
rng = np.random.default_rng(1)
X = rng.integers(0, 2, (40, 3))
X[:, 1] = np.where(rng.random(40) < 0.95, X[:, 0], X[:, 1])
X[0, 1] = 1 - X[0, 0]
est = SpikeSlabMRF(method="exact", n_draws=8, n_warmup=2, n_chains=1, random_state=1, progress=False).fit(X)
print(est.posterior_["posterior"]["theta"].shape)
"""
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, env=env)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "(1, 8, 6)" in run.stdout


def test_the_oracle_is_normalised():
    one = quad(lambda a: np.exp(oracle.log_weights_prior(np.array([a]), PRIOR)), -40, 40, points=[0])[0]
    two = quad(lambda r: 2 * np.pi * r * np.exp(groups_oracle.log_slab(np.array([[r, 0.0]]), PRIOR.slab)), 0, 60)[0]
    assert (one, two) == pytest.approx((1, 1), abs=1e-6)


def test_evidence_is_finite(est):
    assert np.isfinite(evidence(est.posterior_, "local").log10).all()
