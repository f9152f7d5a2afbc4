"""A notebook that is executed shows a fit, its tables and its pictures, and nothing twice."""

import base64

import nbclient
import nbformat
import pytest

CELLS = (
    """
from bayesmrf import SpikeSlabMRF, datasets, plots
table = datasets.coronary()
est = SpikeSlabMRF(method="exact", n_draws=500, n_warmup=100, n_chains=2, random_state=0)
est.fit(table.drop(columns="count"), sample_weight=table["count"])
""",
    "plots.plot_network(est)",
    'est.plot("evidence", layout="circle")',
    'est.table("edges").head(3)',
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of each cell."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = str(tmp_path_factory.mktemp("notebook"))
    resources = {"metadata": {"path": folder}}
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    return [cell["outputs"] for cell in book.cells]


def shown(cell):
    """What a cell shows as its value, by type."""
    (value,) = [output["data"] for output in cell if output["output_type"] == "execute_result"]
    return value


def test_a_fit_is_its_headline_its_table_and_its_network(outputs):
    html = shown(outputs[0])["text/html"]
    assert "of 15 pairs are included" in html
    assert html.count("<img") == 1
    assert "<script" not in html


def test_pictures_are_shown(outputs):
    for cell in outputs[1:3]:
        value = shown(cell)
        assert base64.b64decode(value["image/png"]).startswith(b"\x89PNG")
        assert len(cell) == 1


def test_a_table_is_that_of_pandas(outputs):
    assert "bayes_factor" in shown(outputs[3])["text/html"]


def test_progress_leaves_few_lines(outputs):
    lines = [line for output in outputs[0] if output["output_type"] == "stream" for line in output["text"].splitlines()]
    assert len(lines) <= 3
