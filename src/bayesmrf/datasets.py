"""Real data sets, of yes/no and of ordered answers.

`coronary` is part of the package. The others are read from the folder that the environment variable BAYESMRF_DATA
names, else from the user's cache (``pooch.os_cache("bayesmrf")``), to which `fetch` downloads `adhd`, `boredom` and
`wenchuan`. Their files are conversions of public data. Every file is checked against its SHA-256 sum; the error for a
missing file names its source.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .data.files import kind_of
from .declare.rule import choice, is_integer
from .errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd

# fmt: off
_CORONARY_COUNTS = [
    44, 40, 112, 67, 129, 145, 12, 23, 35, 12, 80, 33, 109, 67, 7, 9,
    23, 32, 70, 66, 50, 80, 7, 13, 24, 25, 73, 57, 51, 63, 7, 16,
    5, 7, 21, 9, 9, 17, 1, 4, 4, 3, 11, 8, 14, 17, 5, 2,
    7, 3, 14, 14, 9, 16, 2, 3, 4, 0, 13, 11, 5, 14, 4, 4,
]

# File: SHA-256 sum, and the public source it was converted from (repository, path).
FILES = {
    "adhd.csv": (
        "29cc4062b7c09b7a46ea78234a11c1195068c1ea0ad680b3a73e261c02aeaa5f", "cran/bgms, data/ADHD.rda"),
    "boredom.csv": (
        "65a861b4e198e5d22fdff108affeff43468ca1153703fe6e7ec7fe4bdef16924", "cran/bgms, data/Boredom.rda"),
    "mnist.npz": (
        "39b9b1ffaa0ba4d8995a616551f0966941fe02a3fe79ba4a9db7373db16d53ad", "rasbt/mnist-pngs"),
    "news20_w100.npz": (
        "f0885b3f903df8161a45ab15ffb293363e9e1cf93aca49abb6926768b540b3f0",
        "probml/pmtkdata, 20news_w100/20news_w100.mat"),
    "retina50.npz": (
        "f6b0f3f72c9a5e344a6023e35a2a57767e1997ab6a898d8da5188039d1b6b3f9",
        "manuelmolano/Spike-GAN, data/retinal data/original_data_num_neurons_50_1.mat"),
    "senate109_votes.csv.gz": (
        "7042a068dd2a88c6cbbad0048d4a4c71be4b60eab4d0c96b5916d9f02eb3c4a9", "yahoochen97/GPIRT, data/S109_votes.csv"),
    "senate542_votes.csv.gz": (
        "401f1137659f2dce74ad0ab020abaa17c0f57a630ced3edafc274fc2108398d9",
        "probml/pmtkdata, senateVoting/senateVoting.mat"),
    "wenchuan.csv": (
        "299a1579aeb6949f850fb38c5494e74a76bf472b646650de3ee42763b07f98d7", "cran/bgms, data/Wenchuan.rda"),
}
# Tables that can be downloaded: commit of the repository above, and the SHA-256 sum of the file there.
_BGMS = "a3f22691735dd2510bc16cb9f8946fdffc19580a"
SOURCES = {
    "adhd": (_BGMS, "7a8d184e169f317e28f63646cf950e0f84f0f86188543e0d8f85386e2aec9539"),
    "boredom": (_BGMS, "dcc2a089876fc5c5765f2986e5d3ecf6e86657e9c4b256dd0c1a6160cbb54ed1"),
    "wenchuan": (_BGMS, "c22cce4a0ee00462e7ac867716a787240918241e95d75e151397c093b46dc8fe"),
}
# fmt: on
_URL = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def fetch(name: str) -> Path:
    """Download a table of the R package bgms (GPL, version 2 or later), unless it is there, and return its CSV file.

    Parameters
    ----------
    name : {"adhd", "boredom", "wenchuan"}

    Returns
    -------
    Path
        In the folder that BAYESMRF_DATA names, or in the user's cache, where the functions of this module find it.

    Raises
    ------
    OptionError
        If there is no such table, or rdata, which reads files of R, is not installed.
    DataError
        If it cannot be downloaded, or is not what this version of the package expects.
    """
    import pooch

    choice(*SOURCES).check("name", name)
    folder = _folder()
    target = folder / f"{name}.csv"
    if kind_of(target) == "file":
        return data_file(target.name)
    if find_spec("rdata") is None:
        raise OptionError(f"{name} is a file of R, which rdata reads: install bayesmrf[files]")
    commit, sha256 = SOURCES[name]
    repository, _, path = FILES[target.name][1].partition(", ")
    url = _URL.format(repository=repository, commit=commit, path=path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        source = pooch.retrieve(url, f"sha256:{sha256}", fname=Path(path).name, path=folder, progressbar=False)
    except (OSError, ValueError) as e:  # of the network, or of another sum
        raise DataError(f"{name} cannot be downloaded from {url} ({e}); check the connection, or set the environment "
                        f"variable BAYESMRF_DATA to a folder that holds {target.name}.") from e  # fmt: skip
    partial = target.with_name(f"{target.name}.partial")
    _table_of_r(Path(source)).to_csv(partial, index=False, lineterminator="\n")
    partial.replace(target)
    return data_file(target.name)


def _table_of_r(path: Path) -> pd.DataFrame:
    """Return the only table of a file of R; numbers are whole."""
    import pandas as pd
    import rdata

    (found,) = rdata.read_rda(path).values()
    if isinstance(found, pd.DataFrame):
        return found
    return pd.DataFrame(found.values, columns=list(found.coords["dim_1"].values)).astype("Int64")


def coronary() -> pd.DataFrame:
    """Load risk factors for coronary heart disease of 1,841 men in a Czech car factory: a table of 2^6 counts.

    Reinis et al. (1981), as published by Edwards and Havranek (1985), Biometrika 72, 339-351.

    ====== ========================================== ======= =======
    column meaning                                    0       1
    ====== ========================================== ======= =======
    A      smoking                                    no      yes
    B      strenuous mental work                      no      yes
    C      strenuous physical work                    no      yes
    D      systolic blood pressure                    < 140   > 140
    E      ratio of beta to alpha lipoproteins        < 3     > 3
    F      family anamnesis of coronary heart disease no      yes
    count  number of men
    ====== ========================================== ======= =======

    Returns
    -------
    DataFrame (64, 7)
        One row for each cell, A varying fastest, 0 before 1. One cell is empty.
    """
    import pandas as pd

    cells = (np.arange(64)[:, None] >> np.arange(6)) & 1
    return pd.DataFrame(cells.astype(np.int8), columns=list("ABCDEF")).assign(count=_CORONARY_COUNTS)


def senate109(session: int = 1) -> pd.DataFrame:
    """Load the roll calls of the US Senate in 2005 (session 1) or 2006 (session 2), as in Liu and Page (2013).

    The two senators who shared a seat (CORZINE_NJ, MENENDEZ_NJ) are dropped. "Yes" is +1 and all else, absence
    included, is -1. Only votes with 10 to 90 "yes" among the 99 are kept. Source: Voteview (Lewis et al.).

    Returns
    -------
    DataFrame (292 or 222, 99)
        One row for each vote, indexed by its number within the session, one column ``NAME_STATE`` for each senator.
    """
    if not (is_integer(session) and session in (1, 2)):
        raise OptionError(option="session", got=session, expected="1 (2005) or 2 (2006)")
    table = _table("senate109_votes.csv.gz")
    table = table[table["session"] == session].set_index("vote")
    senators = table.drop(columns=["session", "rollnumber", "date", "yea", "nay", "CORZINE_NJ", "MENENDEZ_NJ"])
    votes = senators.eq(1).astype(np.int8) * 2 - 1
    return votes[votes.eq(1).sum(axis=1).between(10, 90)]


def senate542() -> pd.DataFrame:
    """Load 542 key votes of the 100 senators of 2006 (Banerjee, El Ghaoui and d'Aspremont 2008).

    Returns
    -------
    DataFrame (542, 100)
        +1 yea, -1 nay, 0 did not vote or not yet in office (24 %); rows are indexed by the bill.
    """
    return _table("senate542_votes.csv.gz").set_index("bill").drop(columns="missing_votes").astype(np.int8)


def adhd() -> pd.DataFrame:
    """Load 18 symptoms of 355 children aged 6 to 8, and whether they are diagnosed (``group``) (Silk et al. 2019).

    Returns
    -------
    DataFrame (355, 19) in {0, 1}
    """
    return _table("adhd.csv").astype(np.int8)


def boredom() -> pd.DataFrame:
    """Load 8 items of a scale of boredom of 986 people, and the ``language`` of each (Martarelli et al. 2023).

    Returns
    -------
    DataFrame (986, 9)
        "en" (496 people) or "fr" (490), and 1 to 7.
    """
    return _table("boredom.csv")


def wenchuan() -> pd.DataFrame:
    """Load 17 symptoms of post-traumatic stress in 362 parents bereaved by an earthquake (McNally et al. 2015).

    Returns
    -------
    DataFrame (362, 17)
        1 (not at all) to 5 (extremely) as floats, NaN where missing (22 cells in 18 rows).
    """
    return _table("wenchuan.csv").astype(np.float64)


def news20() -> tuple[pd.DataFrame, pd.Series]:
    """Load which of 100 words occur in 16,242 postings to newsgroups (Roweis's selection from 20 Newsgroups).

    Returns
    -------
    words : DataFrame (16242, 100) in {0, 1}
    label : Series (16242,)
        Name of the newsgroups' family: comp.*, rec.*, sci.* or talk.*
    """
    import pandas as pd

    a = _arrays("news20_w100.npz")
    words = pd.DataFrame(a["documents"].astype(np.int8), columns=a["wordlist"].astype(str))
    return words, pd.Series(a["groupnames"].astype(str)[a["labels"].astype(int) - 1], name="label")


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Load handwritten digits (LeCun, Cortes and Burges).

    Returns
    -------
    train_images, train_labels, test_images, test_labels : uint8 arrays
        Images (60000, 28, 28) and (10000, 28, 28) of grey values 0 to 255, labels 0 to 9.
    """
    a = _arrays("mnist.npz")
    return a["train_images"], a["train_labels"], a["test_images"], a["test_labels"]


def retina50() -> np.ndarray:
    """Load the spikes of 50 ganglion cells of a salamander's retina (Marre et al.; Tkacik et al. 2014).

    Returns
    -------
    (283041, 50) int8 array in {0, 1}
        Whether a cell fired in a bin of 20 ms. Rows are repeats of the same film, one after the other:
        ``reshape(297, 953, 50)`` is (repeat, bin, cell); rows are not independent.
    """
    return _arrays("retina50.npz")["spikes"].astype(np.int8)


def data_file(name: str) -> Path:
    """Return the path of a data file after checking its SHA-256 sum.

    Raises
    ------
    DataError
        If the file is in neither folder (the message names the folder and the source), or differs from the file that
        this version of the package expects.
    """
    import pooch

    choice(*FILES).check("name", name)
    sha256, source = FILES[name]
    path = _folder() / name
    if kind_of(path) != "file":
        table = name.removesuffix(".csv")
        fetched = f"download it by bayesmrf.datasets.fetch({table!r}), or " if table in SOURCES else ""
        raise DataError(f"{name} is not in {path.parent}; {fetched}set the environment variable BAYESMRF_DATA to the "
                        f"folder that holds it (it was converted from {source} on GitHub)")  # fmt: skip
    if (digest := pooch.file_hash(str(path))) != sha256:
        raise DataError(f"{path} must have the SHA-256 sum {sha256[:12]}..., got {digest[:12]}...; replace it by the "
                        "file that this version of the package expects.")  # fmt: skip
    return path


def _folder() -> Path:
    import pooch

    return Path(os.environ.get("BAYESMRF_DATA") or pooch.os_cache("bayesmrf"))


def _table(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(data_file(name))


def _arrays(name: str) -> dict[str, Any]:
    with np.load(data_file(name), allow_pickle=False) as archive:
        return dict(archive)
