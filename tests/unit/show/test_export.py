"""What is exported is what the tables have: no number is rounded, no name changed, and other programs read it."""

import csv
import json
import math
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, families, graphs, save
from bayesmrf.answers.registry import names_of
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.report.export import MANIFEST
from tests.helpers.commands import one_sentence
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
QUICK = {"n_draws": 12, "n_warmup": 5, "n_chains": 2, "random_state": 1, "progress": False}
NAMES = ['a "quoted", one', "línea\nneu", " <b>&amp;", "=2"]
LEVELS = {"edges": 2, "levels": 3, "tables": 3, "groups": 2, "parameters": 2, "differences": 2, "three groups": 3}


@pytest.fixture(scope="module", params=LEVELS)
def fitted(request):
    """An estimator of each kind, of columns with odd names; two are also the beginning of others."""
    rng = np.random.default_rng(3)
    names = [*NAMES, f"{NAMES[0]}=2"]
    table = pd.DataFrame(rng.integers(0, LEVELS[request.param], (90, 5)), columns=names)
    nominal = families.Nominal(numbers="nominal")
    made = {
        "edges": SpikeSlabMRF(graphs.path(5)),
        "levels": SpikeSlabMRF(),
        "tables": SpikeSlabMRF(model=nominal),
        "groups": GroupedMRF(fields=True),
        "parameters": BayesianMRF(),
    }
    if request.param == "edges":
        table = table.mask(rng.random(table.shape) < 0.05)
    if request.param in made:
        return made[request.param].set_params(**QUICK).fit(table)
    groups = np.arange(90) % (3 if request.param == "three groups" else 2)
    return CompareMRF(**QUICK).fit(table, np.array(["Männer/α", "x", "X"])[groups])


def numbers_of(frame):
    """Columns of numbers, and of texts."""
    is_number = [pd.api.types.is_numeric_dtype(frame[c]) and frame[c].dtype != bool for c in frame]
    return frame.columns[is_number], frame.columns[~np.array(is_number)]


def test_csv_has_every_table_unrounded(fitted, tmp_path):
    folder = fitted.export(tmp_path / "out", to="csv")
    names = names_of(fitted)
    assert {p.name for p in folder.iterdir()} == {*(f"{n}.csv" for n in names), MANIFEST}
    about = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for name in names:
        frame = fitted.table(name)
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(frame.columns)
        assert len(rows) == len(frame)
        found = pd.DataFrame(rows, columns=head)
        numbers, texts = numbers_of(frame)
        for column in numbers:
            values = [math.nan if cell == "" else float(cell) for cell in found[column]]
            np.testing.assert_array_equal(values, frame[column])
        for column in texts:
            assert list(found[column]) == ["" if v is None or v != v else str(v) for v in frame[column]]
        assert about["tables"][name]["columns"].keys() <= set(head)
        assert about["tables"][name]["description"]


def test_json_is_one_document_of_all_tables(fitted, tmp_path):
    def no_constant(text):
        raise AssertionError(f"{text} is not JSON")

    file = fitted.export(tmp_path / "out.json", to="json")
    found = json.loads(file.read_text(encoding="utf-8"), parse_constant=no_constant)
    assert list(found["tables"]) == names_of(fitted)
    assert found["run"]["method"] == fitted.posterior_.attrs["method"]
    for name, table in found["tables"].items():
        frame = fitted.table(name)
        rows = [list(row.values()) for row in table["rows"]]
        for row, right in zip(rows, frame.itertuples(index=False), strict=True):
            for value, wanted in zip(row, right, strict=True):
                is_none = wanted is None or (not isinstance(wanted, str) and not np.isfinite(wanted))
                assert value == (None if is_none else wanted)


def test_graphml_is_read_by_networkx(fitted, tmp_path):
    out = fitted.export(tmp_path / "net", to="graphml")
    names = [str(n) for n in fitted.posterior_["constant_data"]["node"].values]
    compared = isinstance(fitted, CompareMRF)
    assert out.is_dir() == compared
    if compared:
        n = len(set(fitted.posterior_["posterior"]["group"].values))
        files = json.loads((out / MANIFEST).read_text(encoding="utf-8"))["files"]
        assert len({f.lower() for f in files}) == len(files) == n + n * (n - 1) // 2
    for file in [out] if not compared else [out / f for f in files]:
        g = nx.read_graphml(file)
        assert list(g) == names == [g.nodes[name]["label"] for name in g]
        assert {frozenset(e) for e in g.edges} == {frozenset((names[u], names[v])) for u, v in fitted.edges_}
        check_types(file)
        if " minus " in file.name:
            continue
        parameters = [v for _, data in g.nodes(data=True) for k, v in data.items() if k != "label"]
        nodes = fitted.table("nodes")
        assert len(parameters) == len(nodes) // (n if compared else 1)
        assert set(parameters) <= set(nodes["field" if "field" in nodes else "mean"])
    if not compared:
        for row in fitted.table("edges").to_dict("records"):
            found = g.edges[row.pop("first"), row.pop("second")]
            lost = {k for k, v in row.items() if not isinstance(v, str) and np.isnan(v)}
            assert {k: found[k] for k in row if k not in lost} == {k: v for k, v in row.items() if k not in lost}
            assert all(found[k] == 0 if k == "weight" else k not in found for k in lost)


def check_types(file):
    """Each value is one of the type of its key, as XML schema writes it."""
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ET.parse(file).getroot()
    kinds = {key.get("id"): key.get("attr.type") for key in root.iter(f"{space}key")}
    assert set(kinds.values()) <= {"double", "long", "string"}
    for data in root.iter(f"{space}data"):
        if kinds[data.get("key")] != "string":
            assert math.isfinite(float(data.text))


def test_names_that_files_cannot_have_are_escaped(rng, tmp_path):
    names = ("a\x1b[1m", "b\ufffe", "c\x00", "d")
    tree = parameter_tree(rng, graphs.complete(4, names))
    document = json.loads(bayesmrf.export(tree, tmp_path / "o.json", to="json").read_text(encoding="utf-8"))
    assert {row["first"] for row in document["tables"]["edges"]["rows"]} == set(names[:3])
    g = nx.read_graphml(bayesmrf.export(tree, tmp_path / "o.graphml", to="graphml"))
    assert set(g) == {"a\\x1b[1m", "b\\ufffe", "c\\x00", "d"}
    bayesmrf.export(tree, tmp_path / "o", to="csv")


def test_a_model_whose_edges_have_no_parameter_each_has_a_network(rng, tmp_path):
    tree = posterior_tree(rng, inclusion=[0.9] * 12)
    g = nx.read_graphml(bayesmrf.export(tree, tmp_path / "o.graphml", to="graphml"))
    assert g.number_of_edges() == 12
    assert all({"inclusion", "agreement"} <= data.keys() for _, _, data in g.edges(data=True))


def test_what_is_there_is_not_lost(rng, tmp_path):
    tree, folder, file = structure_tree(rng), tmp_path / "out", tmp_path / "out.json"
    for out, to in ((folder, "csv"), (file, "json")):
        bayesmrf.export(tree, out, to)
        with pytest.raises(StoreError, match="exists already"):
            bayesmrf.export(tree, out, to)
        bayesmrf.export(tree, out, to, overwrite=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists already; give another path"):
        bayesmrf.export(tree, folder, "csv", overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"
    (tmp_path / "other").mkdir()
    for bad in (tmp_path / "other", file, tmp_path / "none" / "out"):
        with pytest.raises(StoreError, match="exist"):
            bayesmrf.export(tree, bad, "csv", overwrite=True)
    with pytest.raises(StoreError, match="must be a file"):
        bayesmrf.export(tree, folder, "json", overwrite=True)
    with pytest.raises(OptionError, match="to must be one of 'csv', 'json', 'graphml', got 'xlsx'"):
        bayesmrf.export(tree, tmp_path / "new", "xlsx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "out", "out.json"]


def test_the_command_exports_a_stored_run(rng, tmp_path, bayesmrf, folder):
    save(structure_tree(rng), folder / "run")
    for to, out in (("csv", "run-csv"), ("json", "run.json"), ("graphml", "run.graphml")):
        code, said, _ = bayesmrf("export", "run", "--to", to)
        assert code == 0
        assert out in said
        assert (folder / out).exists()
        one_sentence(bayesmrf("export", "run", "--to", to), "--out: .* exists already; .* or set --overwrite")
        assert bayesmrf("export", "run", "--to", to, "--overwrite")[0] == 0
    one_sentence(bayesmrf("export", "run", "--to", "xlsx"), "--to must be one of 'csv', 'json', 'graphml'")
    one_sentence(bayesmrf("export", "other_run", "--to", "csv"), "other_run")
