"""Small made-up tables of situations that people meet, which lie next to the folder of real data."""

import os
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(os.environ.get("BAYESMRF_DATA", "no data")).parent / "tables"


def made_up_table(name):
    """The table of a name, as a file is read."""
    if not HERE.exists():
        pytest.skip("the made-up tables are not here")
    return pd.read_csv(HERE / f"{name}.csv", keep_default_na=False, na_values=[""])
