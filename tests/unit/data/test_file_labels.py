"""What files say about their columns: labels, questions, measures, missing values, levels; on files of R and PSPP."""

import base64
import gzip
import lzma
import struct

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from bayesmrf.cli.table_options import read_votes
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.files import read_declared
from bayesmrf.data.formats import Categories
from bayesmrf.errors import DataError

# Written by R 4.2.2 with haven 2.5.1 (compress="xz") and by PSPP 1.6.2. The scripts are next to each.
WRITTEN = {
    # d <- data.frame(mood = factor(c("often", "never", NA, "often"), c("never", "rarely", "often"), ordered = TRUE),
    #   region = factor(c("east", "west", "east", NA), c("west", "north", "east")), sleep = c(1L, NA, 3L, 2L),
    #   tired = c(TRUE, NA, FALSE, TRUE), day = as.Date(c("2020-01-01", NA, "2020-02-01", "1969-12-31")))
    # d$smoke <- labelled_spss(c(1, 2, -9, 97), c(no = 1, yes = 2, often = 3, refused = -9), na_values = -9,
    #   na_range = c(90, Inf), label = "Do you smoke?")
    # d$drink <- labelled(c(1, tagged_na("r"), 2, 1), c(no = 1, yes = 2, refused = tagged_na("r")))
    # d$sex <- labelled_spss(c("m", "x", "f", "m"), c(male = "m", female = "f", other = "x"), na_values = "x")
    # d$text <- structure(c("a", "", NA, "b"), label = "Anything else?")
    # saveRDS(d, "frame.rds")
    "frame.rds": (
        "/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AZRAgldACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0VmroVDg5MKSqp33cS4Ih0WVicGG7HeFwLeLDU"
        "sOaEXIbWMZzhlzYsYboaX/gajUtHwtQih4A51VBrQ0ofR2kDL4Q9HhKsOiOKBddLhwqmfyV3fAbDE2gnxhwIkFdpw1OLSOxPeBmATo8QunkRv6qG"
        "SEwc4ZQwAoI7lWeQwIQZeGxtNn9bYWzAC/vWTi2Y0TgWTJKMjhKmFI2IfvGyhErI1cy646fNgiU7DfyEFMCyfRELBoWnrDeexPlzKrf98Y2knmKi"
        "CcRtTzsSf8aRYjNwPVstRoyd6UEa76+CgJuSiQVhv15QuM1dTYQ2+QrwgDptgNHqqhFCRlJ/ZCnJ5+/4Wy520GDp7sXqlI/G5wDiTad8r7ONAf0B"
        "7IJ8dLHwK0qA7co4R/FupSB3Hls+5lJIoMr45HVaw8RbIvTkFPZcbvt6f3Q+8Z/czRnxxlvx9LTHdstyNxC01XnKOUJ1RTRmOKKbAjaJ7oTO6GAa"
        "u26HdxZ2lTZn+N9gWsTIHwB+1fu2stkXibxds6bEZbi/RM5BlznK/DNTuQuLrCQBoL/BcUS5M9lAKlEC/3q0NapIvM8aLCMirazUPa8twL/szmxa"
        "nLUs0+v1vts0gQzp9/ykfUR2o4JdQOCxdCePqOVLbc1Nml5PG265vPS5sMrnzX5JAAAAAKdmGncAAaEE0gwAACA40mE+MA2LAgAAAAABWVo="
    ),
    # x <- 3; two <- tibble::tibble(b = addNA(factor(c("a", NA, "b"))), c = c(0.1, NA, 3)); save(x, two, ...)
    "one.RData": (
        "/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AGNAMBdACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XAYstpBnJXohCVweaqTedsL"
        "2+Yv40O+nUoKPhhoXtlOaRUj+hqfJqcgZ0QJA92NdN34RTEmFttoLjL6PlUMtzyffaWw/gDA4ybMu+YEXvAmFiFVouPPM1C3bUBiQVggXbuHVogg"
        "uY/byobVetfWuM01rdRXp6d22LJNpwz+dF+FXFbjt/JTfnGAwUf9rhkBfAFopeWq5fioBl7b8wBhAOMbAAHYAY4DAAB+HJgPPjANiwIAAAAAAVla"
    ),
    # one <- d; save(one, two, x, ...)
    "many.RData": (
        "/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AeiAl1dACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XU29SlHIvMRITeC+NHFVng7"
        "Ujug/vfSiLfunfKfHNsez39IYVXKTx3pXh5eux1SeF+hVLEHFbj39s3goUn+YgyTdi8Bgk0OuilT4t5kyeqYnwv1kgzicwuu0H9pIvUM+3OgFiL6"
        "rz0VbkkaoX3QPjnPaaJTA6IPTcv2YS/JBWez85rvf7Q2xcyeAmb55PcwmxgqcXLCEFvWmu4NV+RMYlV9GUKhtIatFve5pIFqxm+qAPza/4rO8kOI"
        "I0YHsWVfo6yQgeHQtj/AZLwIldJ/HVow3Dkcs61c/+hFP5B1V4qNPfBn1FrwfGmcsiaPDEzHj5FoMN3+FEHwSXZzU9KLBeIBz7r7iNc5cQOMNtKg"
        "vtp1BYeeouCHCy5KTQ7IrrOEA7rG/inZOGGyCPHOphUbT1zMReIn12yoTKdK6eBVOPy9kJZe69qiM2/ohPW92E5rb+nLrjLhUV8kU6y0lnwumNNd"
        "uT7lg3nZNUUbCtXykcb83g0gOxbUE+yFOtiXoNInkoUdx2Ej3F8L5ocVzEsrnRv/YUMFxn7zo5XwFrRRFErNeIGgUzqcCwt6IOuV1GAX2wyXE+3s"
        "fxbNkK35S2yGrwn4lwpWrOSmhria6IbkvibR/zVP4okhycHIe2udd5aebTZFsDJRIkqV6AfS6gv6strJb2UHhVB2ZAE3SKjFA15UsJf/HWbSqi7q"
        "i2uXqVk50ByVtKaDAHtR650UzMwNZNBTdM200KbZ1dIecm8oRsnu9i9jmiCTsmWgAAAAAMd/88EAAfUEow8AAGELCCc+MA2LAgAAAAABWVo="
    ),
    # saveRDS(list(d), ...)
    "list.rds": (
        "/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AZZAgtdACwCfBn5r/QdO56YNX7q0PQhTbNFUsTBjHoK039rELJdNke/FlmryLwfrKTd+kE2uozkfSfz"
        "cSuS6N1IfaNkNlD17veskRJF5oqhonpd6UPschAd7A2t+EKdwvzL8Isc9HweTVeMNsEcnrd/zW6IYTElCub53Wx+NAI9ol+dGv2To3WnUkAIEUPE"
        "ekf/2vfOFinL6XZvBbZuq0br3xHcNAPiOjmPi/ytE044g+sZdWHknYhHFigDeKCcjFZmHiW/ETv6KUb3EUXeQ1p9e4shDMuqPdMIbJkMRUcUbM/L"
        "Of9CkChJheA72thvctT3tXklpuef54xy7gDUrv1b933dyDaqtAP+QPCnI1X2H9bhGGcyqk0UG0klh9fmzvPRbCumN/uXSC447t79q/COg9Zdqdml"
        "ow5If+uo5vUTpHuiMgdkwgUWaOnhnFYgnT+DNWRzO32q24RqUEzU18GIx9qXk5DmLUD0nRc+HFHuiZWZ9wDygXKKHB+IRpTIaC94Igo8taAya2xg"
        "lCwMRR2lvjhQlEshwdLyE2H5D3vio7quDXYD+0Lm6xsGDv3bPxqxN3bQlrjkUYJmleFl3bcfxmYtKCeeMmTtk1mdC6vv3Hoqmo9D4+XPI1RVhp1X"
        "Ft++GBQDLVhUE5szKncruOoWs6ccpq0RrIkYw3elBOWFPkqd6Xvl4Fa7P7iv+Z3u+kUAAKE4DFkAAaME2gwAAMSxruk+MA2LAgAAAAABWVo="
    ),
    # e <- data.frame(a = 1:2); e$when <- as.POSIXlt(c("2020-01-01", "2020-01-02"), tz = "UTC")
    "two times.rds": (
        "/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AKNAPFdACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0ULto6v4ncN0fejK0cRisn+w6qGgBjQcxSTJEj"
        "+7ov3TAh/0OSczX6OmJvIP6WhkjLcqOgUyq1M0t8c4gz1E3YrtHltFGrVnx2ExqpOn4biJh+/XATo7ZDS3MpZpQO/a+81KIlaGPGI95Agzy8ItqJ"
        "7MXsBN58KLRScPSYh832Ysk/s5Xr3qpHLl7CusC4PPs0umpvODeXwxMNGhmijLOcKu7DtFMxj7Zs8NGbYjub9fmjd2rxxnfCt6PTrkcWEwnqclUP"
        "iCAUeKRa3WKgza4CQLf4tRrQKgAAAAAAKwoYYwABiQKOBQAATsFniz4wDYsCAAAAAAFZWg=="
    ),
    # e <- data.frame(a = 1:2); e$b <- structure(c(5e-324, 1e-323), class = "integer64")
    "integer64.rds": (
        "/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AFUAJ9dACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0ULto6v4ncN0fejK0cRisn+w6qGgBjQcxSTJEj"
        "+7ov3TAh/0OSczX6OmJvIP6WhkjLcqPAAVYyyLVG/edSiG6YlFLrg7J6QfVSflS1L2jQ8ZyZgqA+PxYaBqG0EZ+RFXXijHaGQ5O3L49hlpjtr00y"
        "WPKyy1vAJnmiymIlwqUQfQgF4VwwAAAAWJQGygABtwHVAgAAZUP06z4wDYsCAAAAAAFZWg=="
    ),
    # e <- data.frame(rank = 5:1, q = c(1, 2, 2, 1, 1)); e$r <- e$rank
    "descending.rds": (
        "/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AGfAKRdACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mn23cJDEtM7x47rbttOMeFHKPxQ7TTGs2a20dhQl"
        "QR1ukpGkrKf1qyYyBLlQNeB0gvQuA5hogYIB66zObzvgMvzvvkeCWZfZVaTWKwi9NfHxjxg/Ib5aMAj82vk1nCq7tSizB274XK1LqNUhP1Cosh9P"
        "eGNBvLYgEZPOS2HBBX6G/tEYkcQOVg078K8gAIoBSpgAAbwBoAMAAD+JENw+MA2LAgAAAAABWVo="
    ),
    # DATA LIST LIST /q1 (F2) q2 (F2) q3 (F2) sex (A3) wt (F3).
    # BEGIN DATA
    # 1 5 1 "m" 2
    # 2 -9 2 "f" 1
    # 97 3 3 "x" 3
    # 98 0 2 "f" 1
    # END DATA.
    # VARIABLE LABELS q1 "How often do you smoke?".
    # VALUE LABELS q1 1 'never' 2 'rarely' 3 'often' 97 'refused'
    #   /q2 -9 'refused' 5 'agree' 3 'disagree' 0 'none' /sex 'm' 'male' 'f' 'female' 'x' 'refused'.
    # MISSING VALUES q1 (90 THRU HI) /q2 (LO THRU -1, 0) /sex ('x').
    # VARIABLE LEVEL q1 (ORDINAL) q2 (SCALE) q3 (NOMINAL).
    # WEIGHT BY wt.
    # SAVE OUTFILE='pspp.sav' /COMPRESSED.
    "pspp.sav": (
        "/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4AQXAcZdABIRhYMhR7ukGwzKuYrudP/i74CQrPCU9WmUahTSSJtRSpLJotlcQaX9keKHVJ6XMwh63XYP"
        "/UCu40rOcT5kw/dXp9gNY9ALJQVd5MptcgxZOHbO7jUa1JC0rwTJ1D3G7yVTBRynXoCGQnT9ht5bJAJqTZ3+2wRYjEcvl3jF0e5dWQrTJEO2mMqU"
        "+ENS6dr2YKA5r+RJOnosK/XspOBUt6JtSieb62a/MnVI2tXieET0eNzGZZToSehcr5Nc1GbpK6ItqQCQlX4cN+md6WHv/ylbRZfF3UryTOiD7r67"
        "lqj7Qfs1lthXF4SV9D1JOVT5p7L7IL0VI4EQvysK0Kro8h9qu+qOt5EdPc26gKSA6lTpzU+7EYqzjKcqSJp2j9kDbcZxSceNMPnattNy2ktWVou6"
        "FTVmM4jHilyBoOwwIX1J3rOG+I1C9qK68SlDolQiVafANqLddaNXkYM3PYJk5c0Wd4hrE/dW93BtKVVxx37HnpGsBibrT+6IOi5EGp9Bvevi7jXv"
        "lg5KH9r7SWB48f9MuMw0NZhv2mN1k19RHNb9ag2N+E3wPcX4niX4ng6z+1BcqVbhB8A4X1OAhKiKjYm+kfgVwHUAAAC44XiZRpNgMgAB4gOYCAAA"
        "d4yeqbHEZ/sCAAAAAARZWg=="
    ),
}


@pytest.fixture
def written(tmp_path):
    def write(name):
        (tmp_path / name).write_bytes(base64.b64decode(WRITTEN[name]))
        return tmp_path / name

    return write


def test_a_data_frame_of_r(written):
    """With its factors as their levels, and the labels of haven without those of missing values."""
    text, declared = read_declared(written("frame.rds"))
    assert text.splitlines() == [
        "mood,region,sleep,tired,day,smoke,drink,sex,text",
        "often,east,1,True,2020-01-01,1,1,m,a",
        "never,west,,,,2,,,",
        ",east,3,False,2020-02-01,,2,f,",
        "often,,2,True,1969-12-31,,1,m,b",
    ]
    assert declared.categories == {
        "mood": Categories(("never", "rarely", "often"), True),
        "region": Categories(("west", "north", "east"), False),
    }
    assert declared.labels == {
        "smoke": {"1": "no", "2": "yes", "3": "often"},
        "drink": {"1": "no", "2": "yes"},
        "sex": {"m": "male", "f": "female"},
    }
    assert declared.question == {"smoke": "Do you smoke?", "text": "Anything else?"}
    assert declared.measure == {}
    assert declared.weight is None


@pytest.mark.parametrize("packed", [gzip.compress, bytes])
def test_compression_of_r(packed, written):
    """Gzip, which is R's default, and none."""
    path = written("frame.rds")
    found = read_declared(path)
    path.write_bytes(packed(lzma.decompress(path.read_bytes())))
    assert read_declared(path) == found


def test_factors_of_r_are_categories(written):
    """Ordered ones, with the level that does not occur."""
    table, _, _ = read_votes(written("frame.rds"), asked=ColumnOptions(drop=("day", "text")))
    assert table["mood"].cat.categories.tolist() == ["never", "rarely", "often"]
    assert table["mood"].cat.ordered
    assert not table["region"].cat.ordered
    assert table["smoke"].tolist()[:2] == [1, 2]
    assert table["smoke"].isna().tolist() == [False, False, True, True]


def test_the_only_data_frame_among_objects_of_r(written):
    """A missing value that is a level (addNA) is missing."""
    text, declared = read_declared(written("one.RData"))
    assert text == 'b,c\na,0.1\n"",\nb,3\n'.replace('""', "")
    assert declared.categories == {"b": Categories(("a", "b"), False)}


def test_a_descending_sequence_of_r(written):
    """It is stored as number, first and step; so is one that fits into no memory."""
    path = written("descending.rds")
    assert read_declared(path)[0].splitlines() == ["rank,q,r", "5,1,5", "4,2,4", "3,2,3", "2,1,2", "1,1,1"]
    data = lzma.decompress(path.read_bytes())
    path.write_bytes(data.replace(struct.pack(">3d", 5, 5, -1), struct.pack(">3d", 1e15, 5, -1)))
    with pytest.raises(DataError, match=r"a column of 1e\+15 values; give a smaller table"):
        read_declared(path)


@pytest.mark.parametrize(
    ("name", "match"),
    {
        "many.RData": r"2 data frames: 'one', 'two'; in R, save one of them: saveRDS",
        "list.rds": r"0 data frames; in R, save one of them: saveRDS\(as\.data\.frame\(x\), 'table\.rds'\)",
        "two times.rds": r"column 'when' of this R file is of class 'POSIXlt'; in R, make it a column of numbers",
        "integer64.rds": r"column 'b' of this R file is of class 'integer64'; in R, make it a column of numbers",
    }.items(),
)
def test_what_is_no_table_of_r_is_refused(name, match, written):
    with pytest.raises(DataError, match=match) as e:
        read_declared(written(name))
    assert str(e.value).startswith(str(written(name)))


def test_a_file_of_pspp(written):
    """Values in ranges that are missing are blank and have no label; a level that does not occur has one."""
    text, declared = read_declared(written("pspp.sav"))
    assert text.splitlines() == ["q1,q2,q3,sex,wt", "1,5,1,m,2", "2,,2,f,1", ",3,3,,3", ",,2,f,1"]
    assert declared.labels == {
        "q1": {"1": "never", "2": "rarely", "3": "often"},
        "q2": {"3": "disagree", "5": "agree"},
        "sex": {"f": "female", "m": "male"},
    }
    assert declared.question == {"q1": "How often do you smoke?"}
    assert [declared.measure[name] for name in ("q1", "q2", "q3")] == ["ordinal", "scale", "nominal"]
    assert declared.weight == "wt"
    assert declared.categories == {}


# The last value of each range is inside, and the first one beside it is not.
RANGES = {
    "a range": ([{"lo": 8, "hi": 9}], [8, 9], [7.5, 9.5]),
    "a range and a value": ([{"lo": -9, "hi": -1}, 99], [-9, -1, 99], [-9.5, -0.5, 98]),
    "three values": ([7, 8, 9], [7, 8, 9], [7.5, 0, 10]),
}


@pytest.mark.parametrize("case", RANGES)
def test_missing_ranges_of_spss(case, tmp_path):
    ranges, inside, outside = RANGES[case]
    values = [*map(float, inside), *map(float, outside)]
    labels = {value: f"it is {value}" for value in values}
    pyreadstat.write_sav(
        pd.DataFrame({"q": values, "r": values}),
        tmp_path / "votes.sav",
        missing_ranges={"q": ranges},
        variable_value_labels={"q": labels, "r": labels},
    )
    text, declared = read_declared(tmp_path / "votes.sav")
    q = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert q == [*[""] * len(inside), *(f"{value:g}" for value in outside)]
    assert declared.labels["q"] == {f"{value:g}": f"it is {value}" for value in map(float, outside)}
    assert declared.labels["r"] == {f"{value:g}": label for value, label in labels.items()}


@pytest.mark.parametrize("written", [pyreadstat.write_sav, pyreadstat.write_xport])
def test_durations_are_seconds(written, tmp_path):
    """As times of a day, which pyreadstat makes of them, all would be two o'clock; a date stays one."""
    hours = [2, 26, np.nan, 50]
    table = pd.DataFrame({"sleep": [h * 3600.0 for h in hours], "day": pd.to_datetime(["2020-02-01"] * 4), "q": hours})
    written(table, tmp_path / "votes.any", variable_format={"sleep": "TIME8"})
    lines = read_declared(tmp_path / "votes.any")[0].splitlines()
    assert [line.split(",")[0] for line in lines] == ["sleep", "7200", "93600", "", "180000"]
    assert all(line.split(",")[1].startswith("2020-02-01") for line in lines[1:])


def test_labels_of_stata(tmp_path):
    """Those of .a are of a missing value; 32-bit floats are the decimals that were written."""
    pyreadstat.write_dta(
        pd.DataFrame({"q": [1, "a", 2], "r": [1, 0, 1]}),
        tmp_path / "votes.dta",
        column_labels={"q": "How often?"},
        variable_value_labels={"q": {1: "no", 2: "yes", 3: "often", "a": "refused"}},
        missing_user_values={"q": ["a"]},
    )
    text, declared = read_declared(tmp_path / "votes.dta")
    assert text.splitlines() == ["q,r", "1,1", ",0", "2,1"]
    assert declared.labels == {"q": {"1": "no", "2": "yes", "3": "often"}}
    assert declared.question == {"q": "How often?"}
    assert declared.measure == {}
    frame = pd.DataFrame({"x": np.array([0.5, 0.7, np.nan], np.float32), "y": pd.Categorical(["lo", "hi", "lo"])})
    frame["y"] = frame["y"].cat.set_categories(["lo", "mid", "hi"], ordered=True)
    frame.to_stata(tmp_path / "votes.dta", write_index=False)
    text, declared = read_declared(tmp_path / "votes.dta")
    assert text.splitlines() == ["x,y", "0.5,0", "0.7,2", ",0"]
    assert declared.labels == {"y": {"0": "lo", "1": "mid", "2": "hi"}}


@pytest.mark.parametrize("version", [5, 8])
def test_sas_transport(version, tmp_path):
    """Zeros are zeros, as they are not in pandas (negative control)."""
    table = pd.DataFrame({"q": [0.0, 1, np.nan, 0.1], "r": [1.0, 0, 0, 1], "sex": ["m", "f", "", "m"]})
    path = tmp_path / "votes.xpt"
    pyreadstat.write_xport(table, path, column_labels=["How often?", "", ""], file_format_version=version)
    text, declared = read_declared(path)
    assert text.splitlines() == ["q,r,sex", "0,1,m", "1,0,f", ",0,", "0.1,1,m"]
    assert declared.question == {"q": "How often?"}
    if version == 5:
        assert (pd.read_sas(path, format="xport", encoding="ascii")["r"] != table["r"]).any()
