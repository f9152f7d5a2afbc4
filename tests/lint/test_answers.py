"""Answers are registered: rooms, methods of estimators, and the former names of tables."""

from pathlib import Path

import pytest

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, PanelMRF, SpikeSlabMRF, plots
from bayesmrf.answers import registry
from bayesmrf.answers.registry import ROOMS, answer, answers

FOLDER = Path(registry.__file__).parent
SHARED = {"__init__", "registry", "result", "networks"}  # what rooms have in common
KINDS = (BayesianMRF, SpikeSlabMRF, GroupedMRF, CompareMRF, PanelMRF, MaximumLikelihoodMRF)
# Methods that answer no question about a fit.
OTHERS = {
    "fit",
    "check",
    "load",
    "table",
    "matrix",
    "plot",
    "report",
    "export",
    "get_params",
    "set_params",
    "get_metadata_routing",
}
ONLY = {  # methods that some estimators alone have
    "co_clustering": {GroupedMRF},
    "compare": {CompareMRF},
    "evidence_table": {SpikeSlabMRF, CompareMRF, PanelMRF},
    "predict_next": {PanelMRF},
}
FEWER = {
    PanelMRF: {
        "score",
        "predict_next",
        "statistics",
        "predictive_checks",
        "add_log_likelihood",
        "evidence_table",
        "methods_text",
    },
    MaximumLikelihoodMRF: {"score", "score_samples", "sample", "predict_conditional", "conditional_log_likelihood"},
}


def unregistered(folder, rooms):
    """Modules and folders that are no room."""
    return {path.stem for path in folder.iterdir() if not path.name.startswith("__pycache")} - SHARED - {*rooms}


def test_every_module_is_registered():
    assert unregistered(FOLDER, ROOMS) == set()
    assert unregistered(FOLDER, ROOMS[1:]) == {ROOMS[0]}  # what is not registered is found
    assert len({*ROOMS}) == len(ROOMS)
    assert [a.name for a in answers()] == [*ROOMS]


def test_every_table_and_picture_of_a_room_is_registered():
    for room in ROOMS:
        module = __import__(f"bayesmrf.answers.{room}.shown", fromlist=["ANSWER"])
        tables = [value for value in vars(module).values() if isinstance(value, registry.TableOf)]
        assert {t for t in tables if t.make.__module__ == module.__name__} == {*answer(room).tables}
        assert {name.__name__ for name in answer(room).pictures} <= {*plots.__all__}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_methods_are_those_of_the_answers(kind):
    registered = {name for a in answers() for name in a.methods}
    public = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    public -= OTHERS | {name for name in public if name.endswith("_request")}
    wanted = FEWER.get(kind, {name for name in registered if kind in ONLY.get(name, {kind})})
    assert public == wanted
    assert public <= registered
    for name in public:
        assert getattr(kind, name).__doc__.strip()


def test_former_names_of_tables_are_found():
    from bayesmrf.results import tables

    with pytest.warns(FutureWarning, match=r"bayesmrf\.answers\.registry\.names_of"):
        assert tables.names_of is registry.names_of
    with pytest.raises(AttributeError, match="nothing"):
        _ = tables.nothing
    assert bayesmrf.answers.registry is registry
