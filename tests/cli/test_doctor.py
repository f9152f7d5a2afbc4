"""The command doctor: facts of the machine, and answers that are known."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bayesmrf import doctor
from bayesmrf.inference.elimination.engine import Elimination


def test_known_answers_are_right_and_the_machine_is_described(bayesmrf):
    code, out, _ = bayesmrf("doctor")
    assert (code, out.count("right: "), out.count("WRONG")) == (0, 4, 0)
    for fact in (f"numpy {np.__version__}", "processors: ", " GiB\n", "machine code: "):
        assert fact in out
    inclusion = float(re.search(r"method exact .*, exact ([\d.]+)", out)[1])
    assert 0.1 < inclusion < 0.9  # else any sampler would be right


def test_a_wrong_answer_is_said_and_changes_the_exit_code(bayesmrf, monkeypatch):
    infer = Elimination.infer

    def wrong(self, *args, **options):
        return replace(infer(self, *args, **options), log_z=np.nan)

    monkeypatch.setattr(Elimination, "infer", wrong)
    monkeypatch.setattr(doctor, "_posterior", lambda method: doctor.Check(method, 0.5, 0.5, 0.01))
    code, out, _ = bayesmrf("doctor")
    assert (code, out.count("WRONG: log of a normalizing constant nan")) == (1, 1)


@pytest.mark.parametrize(("value", "is_right"), [(1.0, True), (1.02, False), (np.nan, False), (np.inf, False)])
def test_answers_are_right_within_their_tolerance_alone(value, is_right):
    assert doctor.Check("x", value, 1.0, 0.01).is_right == is_right


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")
def test_the_inclusion_of_quadrature_is_that_of_a_finer_grid(monkeypatch):
    """Control: three times the standard deviation of the weights."""
    right = doctor._posterior("exact").right
    monkeypatch.setattr(doctor, "_STEPS", 121)
    assert doctor._posterior("exact").right == pytest.approx(right, abs=1e-6)
    monkeypatch.setattr(doctor, "_SCALE", 3.0)
    assert abs(doctor._posterior("exact").right - right) > 0.02
