"""Quick runs of the papers: findings are judged only where so small a run can carry them."""

import json
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from papers.murray_ghahramani_2004.findings import evaluate
from papers.quick import NOT_JUDGED, as_judged

PAPERS = Path(__file__).parents[1] / "papers"
FINDINGS = [
    (path.parent.name, finding)
    for path in sorted(PAPERS.glob("*/expected.json"))
    for found in json.loads(path.read_text()).values()
    for finding in (found["findings"] if isinstance(found, dict) else found)
]


def test_bounds_of_full_runs_judge_full_runs_only():
    table = pd.DataFrame({"coverage": [0.81]}, index=["metropolis, exact"])
    full = {"finding": "Coverage", "source": "ours", "kind": "value", "measure": "coverage", "of": "metropolis, exact"}
    full |= {"above": 0.93, "below": 0.97}
    assert evaluate(full, table).holds is False
    verdict = evaluate(full, table, quick=True)
    assert (verdict.holds, verdict.numbers) == (None, NOT_JUDGED)
    assert str(verdict) == "NOT JUDGED [ours] Coverage: quick run"
    quick = full | {"quick": {"above": 0.5}}
    assert evaluate(quick, table, quick=True).holds is True
    assert evaluate(quick, table).holds is False


@pytest.mark.parametrize("paper", sorted({name for name, _ in FINDINGS}))
def test_every_paper_says_what_its_quick_runs_show(paper):
    own = [finding for name, finding in FINDINGS if name == paper]
    assert any(as_judged(finding, quick=True) is None for finding in own)
    assert all(as_judged(finding, quick=False) is finding for finding in own)
    assert "NOT JUDGED" in (PAPERS / paper / "README.md").read_text()
    assert import_module(f"papers.{paper}.findings").verdicts
