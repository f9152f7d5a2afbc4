"""The reference suite: its files are valid, its two computations agree, and bayesmrf has the same posteriors.

Draws are compared with exact values at a false-alarm rate of 1e-6 a case, with standard errors from 24
chains; the exact inclusions of another prior must fail in the same comparison.
"""

import ast
import itertools
import json
import subprocess
import sys

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, PanelMRF, SpikeSlabMRF, families, log_evidence
from bayesmrf.priors import (
    Beta,
    Blocks,
    Cauchy,
    DirichletProcess,
    Gamma,
    LogisticBeta,
    Normal,
    SpikeSlab,
    WeightsAndBiases,
)
from reference import load
from tests import ROOT
from tests.oracle.bounds import Comparison
from tests.oracle.spike_slab import taper

NAMES = load.names()
RUN = {"n_draws": 300, "n_chains": 24, "n_warmup": 100, "random_state": 1, "progress": False, "n_jobs": 1}
# Largest stated error: of learnt scales, own intercepts and hidden units 0.01, of others 0.001.
ROUGH = [n for n in NAMES if {"learnt-scale", "own-intercepts", "hidden"} & set(load.read("posteriors", n)["keywords"])]

SPIKE_SLAB = [
    n for n in load.names("spike-slab")
    if not {"groups", "panel", "partition"} & set(load.read("posteriors", n)["keywords"])
]  # fmt: skip


class TestFiles:
    @pytest.mark.parametrize("kind", ["posterior", "data", "model", "results"])
    def test_files_are_valid(self, kind):
        schema = json.loads((ROOT / "reference" / "schema" / f"{kind}.json").read_text())
        folder = ROOT / "reference" / {"posterior": "posteriors", "model": "models"}.get(kind, kind)
        validator = jsonschema.Draft202012Validator(schema)
        paths = sorted(folder.glob("*.json"))
        assert paths
        for path in paths:
            stored = json.loads(path.read_text())
            assert stored["name"] == path.stem
            validator.validate(stored)
        del stored["name"]
        assert not validator.is_valid(stored)  # negative control

    def test_each_file_is_used(self):
        posteriors = [load.read("posteriors", name) for name in NAMES]
        for folder, key in (("data", "data_name"), ("models", "model_name"), ("results", "results_name")):
            stored = {path.stem for path in (ROOT / "reference" / folder).glob("*.json")}
            assert stored == {p[key] for p in posteriors}

    @pytest.mark.parametrize("name", NAMES)
    def test_entries_have_names(self, name):
        case = load.case(name)
        assert case.value("mean").keys() == set(case.posterior["parameters"])
        for quantity in case.results["quantities"].values():
            assert len({len(column) for column in quantity.values()}) == 1

    def test_the_page_has_the_table_of_cases(self):
        assert load.overview() in (ROOT / "reference" / "README.md").read_text(encoding="utf-8")

    def test_generators_import_no_package(self):
        paths = list((ROOT / "reference" / "make").glob("*.py"))
        allowed = {"numpy", "scipy", *sys.stdlib_module_names, *(path.stem for path in paths)}
        for path in [*paths, ROOT / "reference" / "load.py"]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module] if isinstance(node, ast.ImportFrom) else []
                assert {module.partition(".")[0] for module in modules} <= allowed

    def test_files_are_those_of_the_generators(self):
        """Data of all cases, and the first computation of one."""
        code = (
            "import json, sys; sys.path.insert(0, 'reference/make'); import cases, run; "
            "data = {d['name']: d for d in cases.data_sets()}; case = cases.cases()[0]; "
            "value = run.first(case, data[case['data_name']])[1][1]['inclusion'].tolist(); "
            "print(json.dumps([data, cases.cases(), value]))"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
        data, cases, value = json.loads(done.stdout)
        assert all(load.read("data", name) == stored for name, stored in data.items())
        for case in cases:
            assert case.items() <= load.read("posteriors", case["name"]).items()
        first = load.case(cases[0]["name"]).value("inclusion", "first")
        np.testing.assert_allclose(value, list(first.values()), rtol=1e-6)


class TestComputations:
    @pytest.mark.parametrize("name", NAMES)
    def test_both_agree(self, name):
        """Within six standard errors of both; a difference of 50 is the negative control."""
        for quantity, stored in load.case(name).results["quantities"].items():
            columns = [np.array(stored[k], dtype=float) for k in ("first", "second", "first_error", "second_error")]
            is_defined = ~np.isnan(columns[0])
            first, second, *errors = (c[is_defined] for c in columns)
            scale = np.hypot(*errors)
            assert (np.abs(first - second) <= 6 * scale).all(), quantity
            assert not (np.abs(first + 50 * scale - second) <= 6 * scale).any()

    @pytest.mark.parametrize("name", NAMES)
    def test_errors_are_small(self, name):
        case = load.case(name)
        limit = 0.01 if name in ROUGH else 0.001
        for quantity in {"inclusion", "mean", "sd", "log_evidence"} & case.results["quantities"].keys():
            assert max(case.value(quantity, "error").values()) <= limit, quantity
        if "point" in case.results:
            stored = case.results["point"]["log_likelihood"]
            assert stored["first"] == pytest.approx(stored["second"], abs=1e-7)

    @pytest.mark.parametrize("name", SPIKE_SLAB)
    def test_probabilities_add_up(self, name):
        case = load.case(name)
        assert sum(case.value("structure_probability").values()) == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(reweighted(case, 0.0), column(case, "inclusion"), rtol=0, atol=1e-4)
        assert np.abs(reweighted(case, 1.0) - column(case, "inclusion")).max() > 1e-2  # negative control


def law_of(law):
    """The prior of weights or biases as bayesmrf has it."""
    kind = law["type"]
    if kind == "normal":
        return Normal(law["scale"])
    if kind == "cauchy":
        return Cauchy(law["scale"])
    if kind == "logistic-beta":
        return LogisticBeta(law["a"], law["b"])
    gamma = Gamma(law["shape"], law["rate"])
    return gamma if kind == "normal-gamma" else Cauchy(gamma)


def prior_of(prior):
    density = prior["density"]
    kind = density["type"]
    if kind == "blocks":
        of = {k: Beta(*density[k]) for k in ("within", "between")}
        inclusion = Blocks(density["partition"], density["concentration"], density["rate"], **of)
    elif kind == "pairs":
        inclusion = [(*edge.split("-"), p) for edge, p in density["values"].items()]
    else:
        inclusion = Beta(density["a"], density["b"]) if kind == "beta" else density["value"]
    bias = prior["bias"]
    biases = {"bias_scale": bias["scale"]} if bias["type"] == "normal" else {"biases": law_of(bias)}
    return SpikeSlab(inclusion, law_of(prior["slab"]), **biases)


def table_of(case):
    data, model = case.data, case.posterior["model"]
    table = pd.DataFrame(data["patterns"], columns=data["nodes"])
    for node, is_nominal in zip(data["nodes"], model.get("nominal", []), strict=False):
        if is_nominal:
            table[node] = pd.Categorical(table[node])
    return table


def model_of(case):
    model = case.posterior["model"]
    if model["family"] == "blume-capel":
        return families.Ordinal(neutral=dict(zip(case.data["nodes"], model["neutral"], strict=True)))
    return model["family"]


def draws_of(est):
    posterior = est.posterior_["posterior"]
    return posterior["theta"].to_numpy(), posterior["included"].to_numpy()


def column(case, quantity, name="value"):
    return np.array(list(case.value(quantity, name).values()), dtype=float)


def compared(case, theta, included=None, inclusion=None, **options):
    """Inclusions, means and mean squares of draws against exact ones; None are inclusions of the case itself."""
    comparison = Comparison()
    if included is not None:
        exact = column(case, "inclusion") if inclusion is None else inclusion
        comparison.shares(included, exact, error=column(case, "inclusion", "error"), **options)
    if theta is not None:
        mean, sd = column(case, "mean"), column(case, "sd")
        error, error_of_sd = column(case, "mean", "error"), column(case, "sd", "error")
        comparison.means(theta, mean, error=error, least=1e-9, **options)
        errors = 2 * np.hypot(mean * error, sd * error_of_sd)
        comparison.means(theta**2, mean**2 + sd**2, error=errors, least=1e-9, **options)
    return comparison


def reweighted(case, log_factor):
    """Exact inclusions where the prior odds of each edge are multiplied, from the stored structures."""
    p = case.value("structure_probability")
    present = np.array([[c == "1" for c in label] for label in p])
    w = np.array(list(p.values())) * np.exp(present @ np.broadcast_to(log_factor, present.shape[1]))
    return w @ present / w.sum()


def log_normalizer(n_parameters):
    """Log of the mean of the normal factor of a Cauchy slab of scale 1 or 2: `SpikeSlab` has it, the suite has not."""

    def integrand(t, scale):
        square = t * n_parameters  # t is F distributed with (n, 1) degrees of freedom
        return stats.f.pdf(t, n_parameters, 1) * np.exp(-square * scale**2 / 2 / taper(n_parameters) ** 2)

    return lambda scale: np.log(sum(quad(integrand, *ends, (scale,))[0] for ends in ((0, 1), (1, 100), (100, np.inf))))


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")  # priors are narrow, so that they matter
@pytest.mark.parametrize("name", SPIKE_SLAB)
def test_edges(name):
    """`SpikeSlabMRF` by the exact method.

    Its Cauchy slab has a normal factor, so that the odds of each edge are larger by a known constant (docs/edges.md).
    """
    case = load.case(name)
    run = RUN | ({"n_draws": 120} if "missing" in case.posterior["keywords"] else {})  # a step is slow
    est = SpikeSlabMRF(method="exact", model=model_of(case), prior=prior_of(case.posterior["prior"]), **run)
    est.fit(table_of(case), sample_weight=case.data["counts"])
    theta, included = draws_of(est)
    if included.shape[-1] < len(case.posterior["edges"]):  # pairs with probability 0 are no candidates
        edges = case.posterior["edges"]
        kept = [edges.index(edge) for edge in est.posterior_["posterior"]["edge"].to_numpy()]
        full = np.zeros((*included.shape[:2], len(edges)), included.dtype)
        full[..., kept], included = included, full
        order = [
            list(est.feature_names_).index(p) if p in est.feature_names_ else -1 for p in case.posterior["parameters"]
        ]
        theta = np.where(np.array(order) >= 0, theta[..., order], 0.0)
    slab = case.posterior["prior"]["slab"]
    if slab["type"] == "cauchy":
        n = 4 if name == "nominal2-cauchy" else 1
        factor = -log_normalizer(n)(slab["scale"])
        assert 0.01 < factor < 0.06
        result = compared(case, None, included, reweighted(case, factor))
    elif slab["type"] == "cauchy-gamma":  # the factor is relative to the scale, about that of scale 1
        result = compared(case, None, included, reweighted(case, -log_normalizer(1)(1.0)))
    else:
        result = compared(case, theta, included)
    assert result.holds, str(result)
    wrong = compared(case, None, included, reweighted(case, -np.log(1.6)))
    assert not wrong.holds  # negative control: prior odds that are 1.6 times as small
    if "blocks" in case.posterior["keywords"]:
        check_blocks(case, est)


def check_blocks(case, est):
    labels = est.posterior_["posterior"]["blocks"].to_numpy()
    pairs = list(itertools.combinations(range(labels.shape[-1]), 2))
    same = np.stack([labels[..., u] == labels[..., v] for u, v in pairs], axis=-1)
    number = np.stack([[[len(set(row)) == k for k in range(1, 5)] for row in chain] for chain in labels.tolist()])
    result = Comparison().shares(same, column(case, "same_block")).shares(number, column(case, "number_of_blocks"))
    assert result.holds, str(result)
    other = load.case(
        {"boltzmann4-blocks": "boltzmann4-process", "boltzmann4-process": "boltzmann4-blocks"}[case.posterior["name"]]
    )
    assert not Comparison().shares(same, column(other, "same_block")).holds  # negative control: the other prior


def test_edges_by_reversible_jumps():
    """Approximate: inclusions of yes/no nodes within 0.02, as docs/edges.md says."""
    case = load.case("boltzmann4-pairs")
    est = SpikeSlabMRF(method="reversible-jump", prior=prior_of(case.posterior["prior"]), **RUN)
    est.fit(table_of(case), sample_weight=case.data["counts"])
    edges = est.posterior_["posterior"]["edge"].to_numpy()
    kept = [case.posterior["edges"].index(edge) for edge in edges]
    exact = column(case, "inclusion")[kept]
    result = Comparison().shares(draws_of(est)[1], exact, bias=0.02)
    assert result.holds, str(result)
    assert not Comparison().shares(draws_of(est)[1], reweighted(case, -np.log(3))[kept], bias=0.02).holds


def test_differences_between_groups():
    case = load.case("compare3-normal")
    data = case.data
    table = pd.DataFrame(data["patterns"] * 2, columns=data["nodes"])
    labels = np.repeat(data["groups"], len(data["patterns"]))
    est = CompareMRF(prior=prior_of(case.posterior["prior"]), method="exact", **RUN)
    est.fit(table, groups=labels, sample_weight=np.ravel(data["counts"]))
    theta, included = draws_of(est)
    w, biases = theta[..., :3], theta[..., 3:]
    theta = np.concatenate([w.mean(axis=2), w[:, :, 1] - w[:, :, 0], biases[:, :, 0], biases[:, :, 1]], axis=-1)
    result = compared(case, theta, included)
    assert result.holds, str(result)
    assert not compared(case, None, included, reweighted(case, -np.log(2))).holds


@pytest.mark.parametrize("name", load.names("panel"))
def test_panels(name):
    case = load.case(name)
    rows, model = pd.DataFrame(case.data["rows"], columns=case.data["row_columns"]), case.posterior["model"]
    options = {"within": model["within"], "intercepts": model.get("intercepts", "common")}
    est = PanelMRF(prior=prior_of(case.posterior["prior"]), **options, **RUN)
    theta, included = draws_of(est.fit(rows, person="person", wave="wave"))
    if options["intercepts"] == "own":
        posterior = est.posterior_["posterior"]
        slope = posterior["intercept_slope"].to_numpy()
        slope = slope.reshape(*slope.shape[:2], -1)
        theta = np.concatenate([theta, posterior["intercept_sd"].to_numpy(), slope], axis=-1)
    result = compared(case, theta, included)
    assert result.holds, str(result)
    odds = column(case, "inclusion") / (1 - column(case, "inclusion")) / 2
    assert not compared(case, None, included, odds / (1 + odds)).holds


@pytest.mark.parametrize("name", load.names("partition"))
def test_shared_parameters(name):
    case = load.case(name)
    prior, edges = case.posterior["prior"], [tuple(e.split("-")) for e in case.posterior["edges"]]
    base, is_spiked = Beta(prior["slab"]["a"], prior["slab"]["b"]), prior["density"]["type"] == "beta"
    density = Beta(prior["density"]["a"], prior["density"]["b"]) if is_spiked else None
    process = DirichletProcess(prior["partition"]["alpha"], base, density)
    graph = {"candidates": edges} if is_spiked else {"graph": edges}
    est = GroupedMRF(prior=process, method="exact", model="agreement", **graph, **RUN)
    posterior = est.fit(table_of(case), sample_weight=case.data["counts"]).posterior_["posterior"]
    assert list(posterior["edge"].to_numpy()) == case.posterior["edges"]
    result = compared(case, posterior["theta"].to_numpy())
    groups = posterior["groups"].to_numpy()
    if is_spiked:
        groups = np.where(posterior["included"].to_numpy() > 0, groups, -1)
        result.shares(groups >= 0, column(case, "inclusion"))
    pairs = list(itertools.combinations(range(len(edges)), 2))
    together = np.stack([(groups[..., u] == groups[..., v]) & (groups[..., u] >= 0) for u, v in pairs], axis=-1)
    result.shares(together, column(case, "co_clustering"))
    assert result.holds, str(result)
    assert not Comparison().shares(together, column(case, "co_clustering") * 0.8).holds  # negative control


def test_parameters_and_evidence():
    case = load.case("boltzmann3-all")
    table, counts = table_of(case), case.data["counts"]
    est = BayesianMRF(prior=WeightsAndBiases(1.0, 1.0), model="boltzmann", **RUN).fit(table, sample_weight=counts)
    theta = est.posterior_["posterior"]["theta"].to_numpy()
    result = compared(case, theta)
    assert result.holds, str(result)
    assert not Comparison().means(theta, column(case, "mean") + 0.05).holds  # negative control
    none = load.case("boltzmann3-none")
    for other, model in ((case, BayesianMRF(model="boltzmann")), (none, "independent")):
        check_evidence(other, model, "ais" if other is case else "conjugate")


@pytest.mark.parametrize("n_hidden", [0, 1])
def test_evidence_of_hidden_units(n_hidden):
    model = RBM(n_hidden=1) if n_hidden else "independent"
    check_evidence(load.case(f"rbm3-{n_hidden}"), model, "ais" if n_hidden else "conjugate")


def check_evidence(case, model, method):
    table, counts = table_of(case), case.data["counts"]
    value = log_evidence(model, table, method, prior_scale=1.0, sample_weight=counts, random_state=0, progress=False)
    exact, error = (case.value("log_evidence", c)["log p(data)"] for c in ("value", "error"))
    assert value.standard_error < 0.1
    error = np.hypot(error, value.standard_error)
    result = Comparison().estimates(value.log_evidence, exact, error)
    assert result.holds, str(result)
    assert not Comparison().estimates(value.log_evidence, exact + 0.7, error).holds  # negative control: half of it
