"""Tables of results: one object for `est.table`, the terminal, the page and files."""

import ast
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, LabelFieldMRF, SpikeSlabMRF, plots, report, results
from bayesmrf.answers import registry
from bayesmrf.answers.registry import Answer, all_tables, names_of, table_of
from bayesmrf.cli.show import show
from bayesmrf.errors import OptionError
from bayesmrf.results.summary import summarise
from bayesmrf.show import tables as base
from bayesmrf.show.page import listed
from bayesmrf.show.tables import Listing, Table
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree
from tests.unit.show.test_report import Page

QUICK = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 3}
X = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (60, 4)), columns=["Ann", "Bob", "Cat", "a long name " * 8])
WANTED = {
    "parameters": ["parameters", "edges", "nodes", "strength", "statistics", "columns", "convergence", "findings"],
    "edges": [
        "edges",
        "evidence",
        "nodes",
        "statistics",
        "structures",
        "n-edges",
        "columns",
        "convergence",
        "findings",
    ],
    "groups": ["edges", "groups", "partitions", "nodes", "statistics", "columns", "convergence", "findings"],
    "differences": [
        "differences",
        "evidence",
        "node-differences",
        "edges",
        "nodes",
        "statistics",
        "structures",
        "n-edges",
        "columns",
        "convergence",
        "findings",
    ],
}


@pytest.fixture(scope="module")
def fitted():
    groups = np.repeat(["g", "h"], 30)
    return {
        "parameters": BayesianMRF(**QUICK).fit(X),
        "edges": SpikeSlabMRF(**QUICK).fit(X),
        "groups": GroupedMRF(method="exact", **QUICK).fit(X),
        "differences": CompareMRF(**QUICK).fit(X, groups),
    }


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("kind", WANTED)
def test_the_same_face(kind, fitted, tmp_path):
    est = fitted[kind]
    assert sorted(names_of(est)) == sorted(WANTED[kind])
    with pytest.raises(OptionError, match=r"name must be a table of this result: .*'edges'.*, got 'edge'"):
        est.table("edge")
    edges = est.table("edges")
    assert list(edges.columns[:2]) == ["first", "second"]
    assert set(edges["first"]) | set(edges["second"]) == set(X.columns)  # names of the data, not as they are shown
    assert set(est.table("nodes")["node"]) == set(X.columns)
    wide, narrow = est.table("edges", 0.9), est.table("edges", 0.5)
    assert (wide["upper"] - wide["lower"] >= narrow["upper"] - narrow["lower"] - 1e-12).all()
    with pytest.raises(OptionError, match="probability"):
        est.table("edges", 1)
    page = Page(est.report(tmp_path / "r.html").read_text())
    assert page.tables
    results.save(est, tmp_path / "run")
    for given in (est.posterior_, tmp_path / "run"):
        for name in WANTED[kind]:
            pd.testing.assert_frame_equal(table_of(given, name).frame, est.table(name))
    est.table("edges").insert(0, "mine", 1)  # a copy
    pd.testing.assert_frame_equal(est.table("edges"), edges)


def test_tables_of_exports_are_read_back(fitted, tmp_path):
    for est in fitted.values():
        for table in all_tables(est):
            table.frame.to_csv(tmp_path / "t.csv", index=False)
            assert list(pd.read_csv(tmp_path / "t.csv").columns) == list(table.frame.columns)
            for listing in (table.narrow, table.wide):
                assert listing is None or set(table.frame.columns) <= {*listing.rows.columns, "examples", "sizes"}


def test_edges_of_the_groups(fitted):
    est = fitted["differences"]
    table, (u, v) = est.table("edges"), est.edges_.T
    for g, label in enumerate(est.groups_):
        np.testing.assert_allclose(table[table["group"] == label]["weight"], est.weights_[g][u, v])
    nodes = est.table("nodes")
    np.testing.assert_allclose(nodes["mean"].to_numpy().reshape(4, 2).T, est.theta_[:, 6:])


def test_nodes_and_edges_are_those_of_the_estimator(fitted):
    est = fitted["edges"]
    np.testing.assert_allclose(est.table("nodes")["mean"], est.theta_[6:])
    np.testing.assert_allclose(np.sort(est.table("edges")["weight"].fillna(0)), np.sort(est.theta_[:6]))
    est = fitted["parameters"]
    pd.testing.assert_frame_equal(
        est.table("parameters", 0.8).set_index("parameter")[["mean", "lower", "upper"]].rename_axis("feature"),
        est.interval(0.8).loc[est.table("parameters")["parameter"]],
        check_index_type=False,
    )


def test_findings_are_the_verdict(fitted):
    for est in fitted.values():
        found = est.table("findings")
        assert list(map(tuple, found.to_numpy())) == list(summarise(est).verdict.sentences)


def test_pictures_and_saving_take_estimators_trees_and_paths(fitted, tmp_path):
    results.save(fitted["edges"].posterior_, tmp_path / "run")
    for given in (fitted["edges"], fitted["edges"].posterior_, tmp_path / "run"):
        assert plots.plot_inclusion(given).figure
        assert bayesmrf.write_report(given, tmp_path / "r.html", overwrite=True).exists()
    for wrong in (None, 3, X):
        with pytest.raises(OptionError, match="tree must be a fitted estimator of a posterior, its posterior_, or"):
            plots.plot_inclusion(wrong)


def test_labels_have_the_tables_of_their_length_scales(rng):
    est = LabelFieldMRF(**QUICK).fit(rng.normal(size=(8, 2)), np.array([0, 0, 0, 1, 1, 1, -1, -1]))
    assert set(names_of(est)) == {"parameters", "missing", "convergence", "findings"}
    assert len(est.table("missing")) == 2


def test_a_table_is_one_function(rng, tmp_path, monkeypatch):
    """A new answer is printed, on the page, and its table found by its name, and no other file knows of it."""

    @base.table("twice", type(summarise(structure_tree(rng))))
    def twice(s):
        frame = pd.DataFrame({"node": s.nodes, "number": 2.0})
        return Table(
            "twice",
            frame,
            (base.text("node"), base.number("number")),
            Listing("Twice", frame),
            Listing("", frame),
            note="Two.",
        )

    def section(s):
        return [("Twice as much", listed(twice(s)))] if twice.is_in(s) else []

    every = [*registry.answers(), Answer("twice", (twice,), section=section)]
    monkeypatch.setattr(registry, "answers", lambda: every)
    tree, file = structure_tree(rng), io.StringIO()
    assert "Twice as much" in [title for title, _ in report.sections(summarise(tree))]
    assert "Twice as much" not in [title for title, _ in report.sections(summarise(parameter_tree(rng)))]
    show(summarise(tree), Console(file=file, width=100))
    assert "Twice" in file.getvalue()
    assert "2.000" in file.getvalue()
    assert "twice" in names_of(tree)
    assert "twice" not in names_of(posterior_tree(rng))
    assert "twice" not in names_of(parameter_tree(rng))


COMPUTING = {"iloc", "loc", "sort_values", "nlargest", "quantile", "mean", "stacked", "assign"}


def attributes(tree):
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}


@pytest.mark.parametrize("path", ["cli/show.py", "show/page.py", "report/__init__.py"])
def test_nothing_is_computed_while_it_is_shown(path):
    """Neither statistics nor tables: no numpy, pandas, intervals, quantiles or sorting."""
    tree = ast.parse((Path(bayesmrf.__file__).parent / path).read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not {"numpy", "pandas", "scipy", "intervals", "differences", "partitions"} & imported
    assert not COMPUTING & attributes(tree)


@pytest.mark.parametrize("room", [a.name for a in registry.answers() if a.section is not None])
def test_sections_compute_nothing(room):
    """Nor do functions that return sections, or parts of them."""
    tree = ast.parse((Path(registry.__file__).parent / room / "shown.py").read_text())
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.returns is not None]
    parts = [f for f in functions if "Section" in ast.unparse(f.returns) or {"paragraph", "picture"} & {
        n.func.id for n in ast.walk(f) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}]  # fmt: skip
    assert "section" in [f.name for f in parts]
    assert {f.name: COMPUTING & attributes(f) for f in parts if COMPUTING & attributes(f)} == {}


def test_check_raises_what_fit_does(fitted):
    for est in (SpikeSlabMRF(**QUICK), GroupedMRF(**QUICK)):
        est.check(X)
        with pytest.raises(bayesmrf.errors.DataError):
            est.check(X.assign(Ann="text"))
        with pytest.raises(OptionError, match="n_draws"):
            type(est)(n_draws=0).check(X)


@pytest.mark.parametrize("kind", WANTED)
def test_the_answer_and_the_findings_come_first(kind, fitted, tmp_path):
    s, file = summarise(fitted[kind]), io.StringIO()
    show(s, Console(file=file, width=2000, markup=False))
    printed = file.getvalue()
    order = [s.headline, s.verdict.sentences[0][1], s.data_sentence, s.draws_sentence]
    places = [printed.index(text) for text in order if text]
    assert places == sorted(places)
    page = " ".join(Page(fitted[kind].report(tmp_path / "r.html").read_text()).text)
    places = [page.index(text) for text in (s.headline, s.data_sentence, s.verdict.sentences[0][1])]
    assert places[0] < places[2]
    assert places[1] < places[2]
    assert page.count(s.verdict.sentences[0][1]) == 2  # of the run, and to report
