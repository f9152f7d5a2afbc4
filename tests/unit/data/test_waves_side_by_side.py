"""Waves side by side: which names they have, a row of each wave, what is said of other commands, and no false alarm."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import PanelMRF, SpikeSlabMRF
from bayesmrf.data import stack_waves
from bayesmrf.data.waves_side_by_side import side_by_side
from bayesmrf.errors import DataError, OptionError, SideBySideWarning

ITEMS = ["sad", "tired", "alone"]
SHORT = {"n_draws": 300, "n_warmup": 100, "n_chains": 2, "random_state": 1, "progress": False}


@pytest.fixture(scope="module")
def tables(data_folder):
    folder = data_folder.parent / "tables"
    if not folder.is_dir():
        pytest.skip("the made-up tables are not here")
    return folder


@pytest.fixture(scope="module")
def wide(tables):
    return pd.read_csv(tables / "waves_in_columns.csv")


NAMES = {
    "{}_t{}": (1, 2), "T{1}_{0}": (1, 2, 4), "{}_w{}": (1, 2), "{}.wave{}": (0, 1), "{}T{}": (1, 2), "w{1}_{0}": (1, 2),
    "{} Time {}": (1, 2), "{}_{}": ("pre", "post"), "{1}_{0}": ("Pre", "Post"), "{}.{}": ("before", "after"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "waves"), NAMES.items())
def test_names_of_waves(form, waves):
    names = [form.format(item, wave) for wave in waves for item in ("sad", "q_2")]
    found = side_by_side([*names, "id"])
    assert [*found.columns] == ["sad", "q_2"]
    assert found.waves == ((1, 2) if isinstance(waves[0], str) else waves)
    assert [*found.columns["sad"].values()] == names[::2]
    assert found.rest == ("id",)
    assert side_by_side([*names[::2], "id"]) is None  # one item
    assert side_by_side([*names[:2], "id"]) is None  # one wave


@pytest.mark.parametrize(
    "names",
    [
        [f"q{i}" for i in range(1, 9)],
        [f"{scale}_{i}" for scale in ("item", "phq", "gad") for i in range(1, 5)],
        [f"{scale}.{i}" for scale in ("anx", "dep") for i in range(1, 5)],
        [f"{scale}{i}" for scale in ("diet", "thirst", "T", "w") for i in (1, 2)],  # no mark of its own
        ["sad_t1", "tired_t2", "alone_t3"],  # other stems
        ["sad_t1", "sad_t2", "tired_w1", "tired_w2"],  # other marks
        ["prepared", "postponed", "pre", "post", "pre_sad", "post_tired"],
    ],
)
def test_names_that_are_no_waves(names):
    assert side_by_side(names) is None
    control = [f"{name}_t{wave}" for name in names for wave in (1, 2)]
    assert len(side_by_side(control).columns) == len(names)


def test_no_table_of_others_has_waves_side_by_side(tables, data_folder):
    for path in [*sorted(tables.glob("*.csv")), *sorted(data_folder.glob("*.csv"))]:
        names = pd.read_csv(path, nrows=5).columns
        assert (side_by_side([*map(str, names)]) is not None) == (path.stem == "waves_in_columns"), path


def test_a_row_of_each_wave(wide):
    long = stack_waves(wide, person="id")
    assert [*long.columns] == ["id", "wave", *ITEMS]
    for _, row in long.sample(50, random_state=1).iterrows():
        own = wide[wide["id"] == row["id"]].iloc[0]
        assert [row[item] for item in ITEMS] == [own[f"{item}_t{row['wave']}"] for item in ITEMS]
    assert len(long) == 2 * len(wide)
    plain = wide.drop(columns="id").rename(columns=lambda name: name.replace("_t", ".")).assign(sex=1)
    numbered = stack_waves(plain.drop(columns="alone.2"))
    assert [*numbered.columns] == ["person", "wave", "sad", "tired", "alone.1", "sex"]
    assert numbered["person"].tolist() == [*range(1, 251)] * 2
    three = stack_waves(plain.assign(**{"sad.3": 0, "tired.3": 1}))
    assert three[three["wave"] == 3][["sad", "tired"]].drop_duplicates().to_numpy().tolist() == [[0, 1]]
    assert three[three["wave"] == 3]["alone"].isna().all()


def test_refusals(wide):
    with pytest.raises(DataError, match="two or more items at two or more waves, named such as sad_t1, sad_t2"):
        stack_waves(wide[["sad_t1", "sad_t2", "id"]])
    with pytest.raises(OptionError, match="person must be a column of the table, got 'who'"):
        stack_waves(wide, "who")
    with pytest.raises(DataError, match="must have no column 'wave'"):
        stack_waves(wide.assign(wave=1), "id")
    with pytest.raises(DataError, match="a DataFrame, whose names say the waves"):
        stack_waves(wide.to_numpy())
    with pytest.raises(
        DataError, match=r"got waves side by side \('sad', 'tired', 'alone' at 2 waves.*stack_waves\(X\)"
    ):
        PanelMRF().fit(wide.drop(columns="id"))


def test_the_panel_of_the_command_is_that_of_python(tables, wide, bayesmrf):
    """Against a logistic regression of the second wave on the first, written apart."""
    path = tables / "waves_in_columns.csv"
    given = ["--n-draws", 300, "--n-warmup", 100, "--n-chains", 2, "--seed", 1]
    code, out, _ = bayesmrf("panel", path, "--wide", "--person", "id", *given)
    assert (code, "250 transitions of 250 people" in " ".join(out.split())) == (0, True)
    est = PanelMRF(**SHORT).fit(stack_waves(wide, "id"), "id", "wave")
    first, second = (wide[[f"{item}_t{wave}" for item in ITEMS]].to_numpy(float) for wave in (1, 2))
    design, beta = np.column_stack([first, np.ones(250)]), np.zeros(4)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (second[:, 1] - p))
    assert est.lagged_weights_[:2, 1] == pytest.approx(beta[:2], abs=0.15)
    assert f"{est.lagged_weights_[0, 1]:.2f}"[:3] in out


def test_other_commands_say_so(tables, wide, bayesmrf):
    path = tables / "waves_in_columns.csv"
    code, _, err = bayesmrf("panel", path, "--drop", "id")
    assert (code, "side by side ('sad', 'tired', 'alone' at 2 waves" in err, "give --wide" in err) == (2, True, True)
    code, _, err = bayesmrf("panel", path, "--wide")
    assert (code, "'id'" in err, "belongs to no wave; leave out with --drop id, or give --person id" in err) == (
        2,
        True,
        True,
    )
    code, _, err = bayesmrf("panel", path, "--wide", "--person", "id", "--wave", "sad_t1")
    assert (code, "--wave must be omitted with --wide" in err) == (2, True)
    code, _, err = bayesmrf("panel", tables / "churches.csv", "--wide", "--drop", "church")
    assert (code, "must have two or more items at two or more waves" in err) == (2, True)
    with pytest.warns(SideBySideWarning, match="'sad', 'tired', 'alone' at 2 waves"):
        SpikeSlabMRF().check(wide.drop(columns="id"))
