"""Objects and files of other programs are refused by a sentence that says how to go on, and what it names is read."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

from bayesmrf import RBM, SpikeSlabMRF
from bayesmrf.cli.table_options import read_edges, read_votes
from bayesmrf.data.states import check_states
from bayesmrf.errors import DataError, GraphError
from bayesmrf.graphs import from_edges

TABLE = pd.DataFrame({"a": [1, 0, 1, 0], "b": [0, 0, 1, 1], "c": [1, 1, 0, 1]})
DATASET = xr.Dataset({name: ("row", column) for name, column in TABLE.items()})


def of_package(module, name, **methods):
    """Make an object of a package that is not installed; it is known by its names."""
    return type(name, (), {"__module__": module, **methods})()


TABLES = {
    "dataset": (DATASET, r"got a Dataset; give X\.to_dataframe\(\)\."),
    "tree": (xr.DataTree(DATASET), r"got a DataTree; give X\.to_dataset\(\)\.to_dataframe\(\)\."),
    "polars": (of_package("polars.lazyframe.frame", "LazyFrame"), r"got a LazyFrame; give X\.collect\(\)\."),
    "spark": (of_package("pyspark.sql.dataframe", "DataFrame"), r"give X\.toPandas\(\)"),
    "dask": (of_package("dask.dataframe.core", "DataFrame"), r"give X\.compute\(\)"),
    "anndata": (of_package("anndata._core.anndata", "AnnData"), r"give X\.to_df\(\)"),
    "dictionary": (TABLE.to_dict("list"), r"give pandas\.DataFrame\(X\)"),
    "records": (TABLE.to_dict("records"), r"give pandas\.DataFrame\(X\)"),
    "structured": (TABLE.to_records(index=False), r"give pandas\.DataFrame\(X\)"),
    "file": ("votes.csv", r"got 'votes\.csv'; read the file into a table, such as by pandas\.read_csv\(X\)"),
    "path": (Path("votes.csv"), r"read the file into a table"),
    "sparse": (sp.csr_array(TABLE), r"use X\.toarray\(\)"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_of_other_packages(case):
    X, match = TABLES[case]
    for read in (check_states, SpikeSlabMRF(progress=False).fit, RBM(n_hidden=2).fit):
        with pytest.raises(DataError, match=match) as e:
            read(X)
        assert str(e.value).startswith("X must be ")


def test_what_the_sentences_name_is_read():
    right = check_states(TABLE)
    records = (TABLE.to_dict("list"), TABLE.to_dict("records"), TABLE.to_records(index=False))
    for X in (DATASET.to_dataframe(), xr.DataTree(DATASET).to_dataset().to_dataframe(), *map(pd.DataFrame, records)):
        found = check_states(X)
        assert found.names == right.names
        assert (found.values == right.values).all()


def refuses(self, *args, **kwargs):
    raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


def test_what_another_package_says_is_passed_on():
    """As of a tensor of PyTorch that has a gradient or is on another device."""
    tensor = of_package("torch", "Tensor", __array__=refuses)
    with pytest.raises(DataError, match=r"a Tensor cannot be read as an array \(.* Use tensor\.detach\(\)\.numpy\(\)"):
        check_states(tensor)
    for option in ("sample_weight", "X"):
        with pytest.raises(DataError, match=r"a Dataset cannot be read as an array|got a Dataset"):
            check_states(**{"X": TABLE, option: DATASET})


MATRIX = nx.to_numpy_array(nx.path_graph(3))
GRAPHS = {
    "igraph": (of_package("igraph", "Graph"), r"got a Graph; give graph\.to_networkx\(vertex_attr_hashable='name'\)"),
    "rustworkx": (of_package("rustworkx", "PyGraph"), r"got a PyGraph; give list\(graph\.edge_list\(\)\)"),
    "directed": (nx.DiGraph([("a", "b")]), r"undirected .* got a DiGraph; give networkx\.Graph\(graph\)"),
    "multiple": (nx.MultiGraph([("a", "b")] * 2), r"at most one edge .* got a MultiGraph; give networkx\.Graph"),
    "matrix": (MATRIX, r"got an array of shape \(3, 3\); of an adjacency matrix A, .* numpy\.argwhere"),
    "integers": (MATRIX.astype(int), r"adjacency matrix"),
    "list": (MATRIX.tolist(), r"row 0 has 3 entries; an edge is a pair"),
    "frame": (pd.DataFrame(MATRIX, list("abc"), list("abc")), r"adjacency matrix"),
    "sparse": (sp.csr_array(MATRIX), r"adjacency matrix"),
    "path": ("edges.csv", r"read the file into a table, such as by pandas\.read_csv\(graph\)"),
    "dataset": (DATASET, r"^graph must be .* got a Dataset; give graph\.to_dataframe"),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs_of_other_packages(case):
    graph, match = GRAPHS[case]
    with pytest.raises((GraphError, DataError), match=match):
        from_edges(graph, TABLE.columns)


def test_what_the_sentences_about_graphs_name_is_read():
    path = [[0, 1], [1, 2]]
    assert from_edges(np.argwhere(np.triu(MATRIX, 1)), "abc").edges.tolist() == path
    assert from_edges(nx.Graph(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])), "abc").edges.tolist() == path
    assert from_edges(nx.path_graph(3).edges, "abc").edges.tolist() == path
    assert from_edges(pd.DataFrame([["a", "b"], ["b", "c"]]), "abc").edges.tolist() == path


def archive(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return out.getvalue()


JAMOVI = "Manifest-Version: 1.0\nData-Archive-Version: 1.0.2\njamovi-Archive-Version: 11.0\nCreated-By: jamovi 2.6\n"
JASP = "Manifest-Version: 1.0\nCreated-By: JASP 0.7.5\nData-Archive-Version: 1.0.2\nJASP-Archive-Version: 2.0\n"
NEW_JASP = json.dumps({"createdAt": "2025", "jaspArchiveVersion": "6.0.0", "jaspVersion": "0.19.3"})
DATA = {"metadata.json": "{}", "data.bin": "\0"}
FILES = {
    "jamovi": (archive(**{"META-INF/MANIFEST.MF": JAMOVI}, **DATA), r"a jamovi file, .*; in jamovi, export the data"),
    "new jamovi": (archive(meta=JAMOVI, **DATA), r"this is a jamovi file, .*; in jamovi, export the data as CSV"),
    "only a manifest": (archive(meta=JAMOVI), r"this is a jamovi file"),
    "jasp": (archive(**{"META-INF/MANIFEST.MF": JASP}, **DATA), r"this is a JASP file, .*; in JASP, export the data"),
    "new jasp": (archive(**{"manifest.json": NEW_JASP, "internal.sqlite": ""}), r"this is a JASP file"),
    "other manifest": (archive(**{"manifest.json": "{}", "a": ""}), r"this archive contains 2 files"),
    "one table": (archive(meta="a,b\n1,0\n0,1\n"), None),
    "rds": (gzip.compress(b"X\n\0\0\0\3\0\4\3\1"), r"this is an R file that cannot be read .*; repair it, or save"),
    "rdata": (gzip.compress(b"RDX3\nX\n\0\0\0\3"), r"this is an R file that cannot be read .*; repair it, or save"),
    "sas": (bytes(12) + b"\xc2\xea\x81\x60\xb3", r"this is a SAS file, .*; in SAS, write the table as CSV"),
    "spss portable": (b"ASCII SPSS PORT FILE    \n", r"a portable file of SPSS, .*; in SPSS, save it as a \.sav file"),
    "jmp": (b"\xff\xff\0\0\7\0\0\0\4\0\0\0", r"this is a JMP file"),
    "matlab 7.3": (b"MATLAB 7.3 MAT-file" + bytes(500) + b"\x89HDF", r"this is a MATLAB file, .*; in MATLAB"),
    "weka": (b"@relation x\n@attribute a {0,1}\n@data\n0,1\n", r"this is a Weka file"),
    "json, lines": (b'[\n  {"a": 0}\n]', r"this is a JSON file"),
    "json, columns": (b'{\n "a": [0, 1]}', r"this is a JSON file"),
    "json, rows": (b"[[0, 1], [1, 0]]", r"this is a JSON file"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_of_other_programs(case, tmp_path):
    """Known by their contents, whatever they are called."""
    data, match = FILES[case]
    path = tmp_path / "votes.csv"
    path.write_bytes(data)
    if match is None:
        assert list(read_votes(path)[0]) == ["a", "b"]
        return
    with pytest.raises(DataError, match=match):
        read_votes(path)
    with pytest.raises(GraphError, match=match):
        read_edges(path, "ab")
