"""What `support` says is what the estimators do; the page shows it; constructors stay small."""

import inspect
import re

import numpy as np
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, GroupedMRF, SpikeSlabMRF, methods, priors
from bayesmrf.errors import OptionError
from bayesmrf.plugins import imported
from tests import ROOT

ESTIMATORS = ["RBM", "BayesianMRF", "GroupedMRF", "LabelFieldMRF", "MaximumLikelihoodMRF", "SpikeSlabMRF", "CompareMRF"]
MOST_PARAMETERS = 16  # fourteen, executor and columns
TINY = {"n_draws": 2, "n_warmup": 1, "n_chains": 1, "progress": False, "random_state": 0}
TABLE = bayesmrf.support()
REFUSED = [key for key, cell in TABLE.stack().items() if " must be " in cell]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constructors_have_few_parameters(name):
    assert len(inspect.signature(getattr(bayesmrf, name)).parameters) <= MOST_PARAMETERS


def test_every_row_has_a_builder():
    for row in methods.every_row():
        assert callable(imported(row.build)), row.name


def test_cells_are_exact_approximate_or_a_sentence():
    for cell in TABLE.to_numpy().ravel():
        assert cell in ("", "exact", "approximate") or re.fullmatch(
            r"(method|model|kernel) must be .+, got '.+'\.", cell
        )
    assert len(REFUSED) > 10


@pytest.mark.parametrize(("estimator", "model", "prior", "method"), REFUSED, ids=lambda v: v.replace(" ", "-"))
def test_what_is_refused_is_refused_with_this_sentence(estimator, model, prior, method, rng):
    many = estimator == "BayesianMRF" and model in ("potts", "ordinal", "nominal")
    X = rng.integers(0, 3 if many else 2, size=(20, 3)).astype(float)
    if "missing" in prior:
        X[0, 0] = np.nan
    if estimator == "SpikeSlabMRF":
        est = SpikeSlabMRF(model=model, method=method, **TINY)
    elif estimator == "BayesianMRF":
        est = BayesianMRF(model=model, kernel=method, **TINY)
    else:
        more = {"fields": "grouped"} if "grouped" in prior else {"fields": False}
        more |= {"candidates": "complete"} if "absent" in prior else {}
        base = priors.Normal() if model == "symmetric" else priors.Beta()
        given = priors.DirichletProcess(base=base, density=0.5 if "absent" in prior else None)
        est = GroupedMRF(model=model, method=method, prior=given, **more, **TINY)
    with pytest.raises(OptionError) as e:
        est.fit(X)
    assert str(e.value) == TABLE.loc[(estimator, model, prior), method]


def test_the_page_shows_the_table():
    page = (ROOT / "docs" / "support.md").read_text()
    assert page.split("\n\n", 2)[2] == shown(TABLE)


def shown(table):
    """A Markdown table for each estimator; models with equal cells share a row, and what is refused is a dash."""
    text = ""
    for estimator, part in table.groupby("estimator", sort=False):
        methods = [m for m in part.columns if (part[m] != "").any()]
        text += f"## {estimator}\n\n| model | prior | {' | '.join(methods)} |\n|{' --- |' * (len(methods) + 2)}\n"
        rows = {}
        for (_, model, prior), row in part.iterrows():
            cells = " | ".join("–" if " must be " in row[m] else row[m] for m in methods)
            rows.setdefault((prior, cells), []).append(model)
        for (prior, cells), models in rows.items():
            text += f"| {', '.join(models)} | {prior} | {cells} |\n"
        text += "\n"
    return text.rstrip("\n") + "\n"
