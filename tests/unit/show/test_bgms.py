"""Results of bgms next to ours: files that R wrote, units of weights by version, and what differs."""

import base64
import re

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF, datasets, save
from bayesmrf.bgms import next_to_bgms, read_bgms
from bayesmrf.errors import DataError, OptionError
from bayesmrf.priors import Cauchy, LogisticBeta, SpikeSlab
from bayesmrf.results.summary import summarise
from tests.helpers.commands import one_sentence

# Lists and an object with properties of three nodes, by saveRDS of R 4.2.2: of bgms 0.1.6 with its version, of versions
# before, of a class with slots, and of easybgm.
FILES = {
    "list": (
        "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC2AYsJADgsDAxMfkOZhoDlgYQISjEAbOUEOSsnMBVK8QMwEdh/YKShKOIBK"
        "8hJzU4uBbGGoOgGIX8DynJl5JUWlxZn5eVABtpSi1MTcYiiPNS0nsTgDyPgHwWBvcsIcY39F4+uh/hhN+531SdvW1YbB+HD5lqqH"
        "7utEquHyUD6qdxj/o/mBGSLO9J9CN5PpTzQ/foDS75a/n7tJlw/Gh8vvklnDYaj2Ei4P5Q9yPwpD3cELTisQtgBSumE10DPUMyPP"
        "ApQEyApLfcgG8eaV5saXJRZlJiblpMK0s5elFiGZLZCSWJIYn5yfU5qbBzPjH8Rw5v9Q81igaoUL8otLUosy84vic1MT8+JzEzNh"
        "xoijSRUkZhaVZxanQqUl0KQz81IykxNL8otgXk4sSi/NTc0rKUb3VzLQs8VoocaSlJ4LdicA1ax/CDAEAAA="
    ),
    "mid": (
        "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC2AYsJADhMQ8QFpTgYosP8Apd8tfz93ky4fjA+X3yWzhsNQ7SVcHspHqGAB"
        "msnAyMACNpM5JTMXSPFCrAK6A4xRlHAAleQl5qYWA9lQJzEIQNwMlufMzCspKi3OzM+DCrClFKUm5hZDeaxpOYnFGWTq+Yfh/Ssa"
        "Xw/1x2ja76xP2rauNgzGh8u3VD10XydSDZeH8lG9z/gfu5+Z/g+MH1HCmxUW2AJgh0AEJQryi0tSizLzi+JzUxPz4jPzUjKTE0vy"
        "i6Dy0mjyicXF+cmZiSVA24vRzU8GWgwzHybIkpSeCxL7BwCt6Ls/jwIAAA=="
    ),
    "s4": (
        "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC0YGJklGYCiQAFGBhYGTiAtXpBfXJJalJlfFJ+bmpgXX5CYWVSeWZzKwMDE"
        "B5QGKQED+ysaXw/1x2ja76xP2rauNgzGh8u3VD10XydSDZeH8hngAMVa5pTMXCDFC8RMYKeCMYoSDqCSvMTc1GIgWxiqTgDiLbA8"
        "Z2ZeSVFpcWZ+HlSALaUoNTG3GMpjTctJLM4gU88/NLdIoIVSZl5KZnJiSX4RRjB9gNLvlr+fu0mXD8aHy++SWcNhqPYSLg/lowYT"
        "03/sYcP8fxCEBWdiUXppbmpeCTBimITBEhCDYQpYDfSM9AzQdLHCohJZJXtZahHYAZi2sCYDrQfZgKyeJSkd6D5UhewFicnZiemp"
        "aEZz6bnn5Ccl5rjmlUFMZ/gHAA8ExOAVAwAA"
    ),
    "easy": (
        "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC2AYsJADgsDAxMfkOZkgAL7KxpfD/XHaNrvrE/atq42DMaHy7dUPXRfJ1IN"
        "l4fyGeCAhQlIMAJNBpnJnJKZC6R4gZgJ7A4wRlHCAVSSl5ibWgxkC0PVCUDcDJbnzMwrKSotzszPgwqwpRSlJuYWQ3msaTmJxRlk"
        "6vmH4f0PUPrd8vdzN+nywfhw+V0yazgM1V7C5aF8VO8z/sfuZ6b/g8GP9VA/OZidt/l83uYdjA/3417hLzPOOk6EycP4Q8mP8HhE"
        "o9EBLvHB6UeUfMMKyzQgw1igglwFiUVA4ZLUomKE8cnxBUX5STABNpCAkxtMuhhoeXJJaVEquvHJQHthxjNBBXkKEpOzE9NT45PS"
        "4Q5kT00srgTyQU4EAGzfMABtBAAA"
    ),
}
NODES = ["intrusion", "dreams", "flash"]
INCLUSION = [1.0, 0.958, 0.102]
WEIGHT = np.array([0.315, 0.0996, 0.01])


@pytest.fixture
def files(tmp_path):
    for name, text in FILES.items():
        (tmp_path / f"{name}.rds").write_bytes(base64.b64decode(text))
    return tmp_path


@pytest.mark.parametrize(("name", "factor"), [("list", 1), ("mid", 1), ("s4", 2), ("easy", 2)])
def test_files_of_r_are_read(files, name, factor):
    """Weights are those of w x_i x_j; versions from 0.2 have half of them."""
    read = read_bgms(files / f"{name}.rds")
    assert [*zip(read["first"], read["second"], strict=True)] == [
        ("intrusion", "dreams"),
        ("intrusion", "flash"),
        ("dreams", "flash"),
    ]
    np.testing.assert_allclose(read["inclusion"], INCLUSION)
    np.testing.assert_allclose(read["weight"], factor * WEIGHT)
    np.testing.assert_allclose(read_bgms(files / f"{name}.rds", "0.1.6")["weight"], WEIGHT)
    np.testing.assert_allclose(read_bgms(files / f"{name}.rds", "0.3")["weight"], 2 * WEIGHT)


def matrix(values, names):
    square = pd.DataFrame(0.0, names, names)
    for (i, j), value in values.items():
        square.loc[i, j] = square.loc[j, i] = value
    return square


def test_matrices_as_csv_are_read(files):
    square = matrix({("a", "b"): 0.25, ("a", "c"): 0.5, ("b", "c"): 1.0}, ["a", "b", "c"])
    square.to_csv(files / "m.csv")
    read = read_bgms(files / "m.csv")
    assert read["inclusion"].tolist() == [0.25, 0.5, 1.0]
    assert read["weight"].isna().all()
    pd.testing.assert_frame_equal(read, read_bgms(square))


def test_diagonals_and_the_order_of_nodes_do_not_matter(files, monkeypatch):
    """Weights may be in another order than inclusions; control: they are not symmetric in the nodes."""
    square = matrix({("a", "b"): 0.25, ("a", "c"): 0.5, ("b", "c"): 1.0}, ["a", "b", "c"])
    weight = matrix({("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 3.0}, ["c", "a", "b"])
    monkeypatch.setattr("bayesmrf.bgms._parts_of_r", lambda _: {"indicator": square, "pairwise": weight})
    square = square.mask(np.eye(3, dtype=bool))
    read = read_bgms(files / "fit.rds", "0.1")
    assert read["inclusion"].tolist() == [0.25, 0.5, 1.0]
    assert read["weight"].tolist() == [1.0, 2.0, 3.0]
    assert weight.to_numpy()[np.triu_indices(3, 1)].tolist() != [1.0, 2.0, 3.0]


def test_what_is_no_fit_is_refused(files):
    (files / "t.csv").write_text("a,b\n1,yes\n")
    with pytest.raises(DataError, match=r"t\.csv.* must be a square matrix of numbers with names"):
        read_bgms(files / "t.csv")
    (files / "t.rds").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"t\.rds.* cannot be read as a file of R .*saveRDS\(coef\(fit\)"):
        read_bgms(files / "t.rds")
    with pytest.raises(DataError, match="inclusion probabilities, numbers from 0 to 1"):
        read_bgms(matrix({("a", "b"): 1.5}, ["a", "b"]))
    for values in (
        [[0, 0.5], [0, 0]],
        [[0, "yes"], ["yes", 0]],
        [[0, np.nan], [np.nan, 0]],
    ):
        with pytest.raises(DataError, match="symmetric matrix of numbers"):
            read_bgms(pd.DataFrame(values, ["a", "b"], ["a", "b"]))
    with pytest.raises(DataError, match="rows and columns have the same names"):
        read_bgms(pd.DataFrame([[0, 1], [1, 0]], ["a", "b"], ["b", "a"]))
    with pytest.raises(OptionError, match=r"version must be a version of bgms, such as \"0.2.0\", got 'new'"):
        read_bgms(files / "mid.rds", "new")


def test_the_example_of_bgms_next_to_ours(bayesmrf, files, monkeypatch):
    """The pseudo-posterior is surer of two edges by more than 0.1; control: ours next to itself differs in nothing."""
    names = ["intrusion", "dreams", "flash", "upset", "physior"]
    bgms = [1.0, 1.0, 0.958, 0.911, 1.0, 0.986, 0.102, 0.084, 1.0, 1.0]
    square = matrix(dict(zip([(a, b) for i, a in enumerate(names) for b in names[i + 1 :]], bgms, strict=True)), names)
    table = datasets.wenchuan()[names].dropna()
    prior = SpikeSlab(density=0.5, slab=Cauchy(2.0), biases=LogisticBeta(0.5, 0.5))
    est = SpikeSlabMRF(
        prior=prior, method="exact", n_draws=1000, n_warmup=200, n_chains=2, random_state=1, progress=False
    )
    est.fit(table)
    both, sentences = next_to_bgms(est, square)
    assert [set(pair) for pair in both[["first", "second"]].to_numpy()[:2]] == [
        {"intrusion", "upset"},
        {"intrusion", "physior"},
    ]
    assert both.loc[0, "evidence"] == "inconclusive"
    assert both.loc[0, "evidence_bgms"] == "included"
    far = (both["difference"].abs() > 0.1).sum()  # a third pair differs by 0.096 in the long run
    assert sentences[0].startswith(f"{far} pairs of 10 have inclusion probabilities that differ by more than 0.1")
    assert f"surer in {far} of these" in sentences[1]
    few = est.posterior_["posterior"].isel(draw=slice(3))
    short = est.posterior_.copy()
    short["posterior"] = few
    for tree in (short, est.posterior_):  # what may be wrong with ours is said, and no more
        texts = {severity: text for severity, text in summarise(tree).verdict.sentences}
        wrong = {text for severity, text in texts.items() if severity in ("fair", "bad")}
        assert {text for text in texts.values() if text in next_to_bgms(tree, square)[1]} == wrong
    assert any("converge" in text for text in next_to_bgms(short, square)[1])
    same, sentences = next_to_bgms(est, est.matrix().fillna(0.0))
    assert same["difference"].abs().max() == 0
    assert sentences[0].startswith("0 pairs of 10")
    assert not any("surer" in text for text in sentences)
    with pytest.raises(DataError, match=r"in one of them only: upset \(result\).*"):
        next_to_bgms(est, square.drop(index="upset", columns="upset"))
    save(est.posterior_, files / "run.zarr")
    square.to_csv(files / "bgms.csv")
    monkeypatch.chdir(files)
    code, out, _ = bayesmrf("bgms", "run.zarr", "bgms.csv", "--out", "both.csv")
    assert (code, "bgms: weight" in out) == (0, False)
    assert f"{far} pairs of 10" in " ".join(out.split())
    assert len(pd.read_csv("both.csv")) == 10
    one_sentence(bayesmrf("bgms", "run.zarr", "bgms.csv", "--out", "both.csv"), "exists already.*--overwrite")
    one_sentence(bayesmrf("bgms", "run.zarr", "list.rds"), "nodes of the result")
    assert re.search(r"--bgms-version", bayesmrf("bgms", "--help")[1])
