"""The data sets: shapes, margins and codings as published, and clear errors where a file is missing or another."""

import itertools

import numpy as np
import pooch
import pytest
import rdata
import xarray as xr

from bayesmrf import datasets
from bayesmrf.errors import DataError, OptionError


def test_coronary_has_the_published_margins():
    table = datasets.coronary()
    assert table.columns.tolist() == [*"ABCDEF", "count"]
    assert table["count"].sum() == 1841
    # A varies fastest.
    assert table[[*"ABCDEF"]].to_numpy().tolist() == [list(c)[::-1] for c in itertools.product([0, 1], repeat=6)]
    men = {c: int(table["count"] @ table[c]) for c in "ABCDEF"}
    assert men == {"A": 880, "B": 778, "C": 914, "D": 787, "E": 780, "F": 260}


def test_coronary_equals_the_published_file(data_folder):
    import pandas as pd

    assert (pd.read_csv(data_folder / "coronary.csv") == datasets.coronary()).all(axis=None)


@pytest.mark.parametrize(("session", "n_votes"), [(1, 292), (2, 222)])
def test_senate109_is_prepared_as_in_the_paper(data_folder, session, n_votes):
    votes = datasets.senate109(session)
    assert votes.shape == (n_votes, 99)
    assert np.unique(votes).tolist() == [-1, 1]
    assert not {"CORZINE_NJ", "MENENDEZ_NJ", "yea", "nay"} & set(votes.columns)
    yes = votes.eq(1).sum(axis=1)
    assert yes.min() >= 10
    assert yes.max() <= 90
    assert votes.index.is_unique


@pytest.mark.parametrize("name", datasets.SOURCES)
def test_a_table_of_r_becomes_the_same_file(data_folder, tmp_path, monkeypatch, name):
    table, asked = getattr(datasets, name)(), []
    if name == "wenchuan":  # which is a matrix of numbers in R
        columns = np.array(table.columns, dtype=object)
        table = xr.DataArray(table.to_numpy(), dims=("dim_0", "dim_1"), coords={"dim_1": columns})
        monkeypatch.setattr(rdata, "read_rda", lambda _: {"Wenchuan": table})
    else:
        table = table.astype({c: "Int32" for c in table.columns if c != "language"})
        monkeypatch.setattr(rdata, "read_rda", lambda _: {"table": table})

    def retrieve(url, known_hash, fname, path, progressbar):
        asked.append((url, known_hash, fname))
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path / "new"))
    with pytest.raises(DataError, match=rf"download it by bayesmrf.datasets.fetch\('{name}'\), or set the environ"):
        getattr(datasets, name)()
    path = datasets.fetch(name)
    assert path.read_bytes() == (data_folder / f"{name}.csv").read_bytes()
    assert datasets.fetch(name) == path
    ((url, sha256, file),) = asked
    assert url.endswith(f"/data/{file}")
    assert (sha256, len(sha256)) == (f"sha256:{datasets.SOURCES[name][1]}", 71)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="must have the SHA-256 sum"):
        datasets.fetch(name)


def test_what_cannot_be_downloaded_is_said(tmp_path, monkeypatch):
    def refused(*args, **more):
        raise OSError("no route")

    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path))
    monkeypatch.setattr(pooch, "retrieve", refused)
    with pytest.raises(DataError, match=r"adhd cannot be downloaded from .* \(no route\); check the connection"):
        datasets.fetch("adhd")
    with pytest.raises(OptionError, match="name must be one of 'adhd', 'boredom', 'wenchuan', got 'mnist'"):
        datasets.fetch("mnist")
    monkeypatch.setattr(datasets, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"install bayesmrf\[files\]"):
        datasets.fetch("adhd")


def test_senate109_refuses_other_sessions():
    with pytest.raises(OptionError, match=r"session must be 1 \(2005\) or 2 \(2006\), got 3"):
        datasets.senate109(3)


def test_other_data_sets_have_the_documented_totals(data_folder):
    adhd = datasets.adhd()
    assert adhd.shape == (355, 19)
    assert adhd["group"].sum() == 146
    boredom = datasets.boredom()
    assert boredom.shape == (986, 9)
    assert boredom["language"].value_counts().to_dict() == {"en": 496, "fr": 490}
    assert set(boredom.drop(columns="language").to_numpy().ravel()) == set(range(1, 8))
    wenchuan = datasets.wenchuan()
    assert wenchuan.shape == (362, 17)
    assert wenchuan.isna().sum().sum() == 22
    assert (wenchuan == 5).sum().sum() == 608
    votes = datasets.senate542()
    assert votes.shape == (542, 100)
    assert [int((votes == v).sum().sum()) for v in (1, -1, 0)] == [28581, 12731, 12888]
    words, label = datasets.news20()
    assert words.shape == (16242, 100)
    assert words.to_numpy().sum() == 65451
    assert label.value_counts(sort=False).sort_index().tolist() == [4605, 3519, 2657, 5461]
    spikes = datasets.retina50()
    assert spikes.shape == (283041, 50)
    assert spikes.sum() == 544080
    train, train_labels, test, test_labels = datasets.mnist()
    assert train.shape == (60000, 28, 28)
    assert test.shape == (10000, 28, 28)
    assert np.bincount(train_labels)[0] == 5923
    assert np.bincount(test_labels)[9] == 1009


@pytest.mark.parametrize(
    "load",
    [
        datasets.adhd,
        datasets.boredom,
        datasets.mnist,
        datasets.news20,
        datasets.retina50,
        datasets.senate109,
        datasets.senate542,
    ],
)
def test_a_missing_file_is_named_with_its_source(load, tmp_path, monkeypatch):
    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"is not in .*BAYESMRF_DATA.*converted from"):
        load()


def test_without_the_variable_the_cache_is_searched(tmp_path, monkeypatch):
    monkeypatch.delenv("BAYESMRF_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / project)
    with pytest.raises(DataError, match=r"wenchuan.csv is not in .*bayesmrf"):
        datasets.wenchuan()


def test_another_file_of_that_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path))
    (tmp_path / "adhd.csv").write_text("group,avoid\n0,1\n")
    with pytest.raises(DataError, match="SHA-256"):
        datasets.adhd()
