"""The seed of the tests."""

import numpy as np

from bayesmrf.rng import as_seed_sequence
from tests.conftest import DEFAULT_SEED, choose_seed, repeat_entropy


def test_seed_is_fixed_unless_another_is_asked_for():
    assert choose_seed(False, {}) == choose_seed(False, {}) == DEFAULT_SEED
    assert choose_seed(True, {}) != choose_seed(True, {})
    assert choose_seed(False, {"BAYESMRF_TEST_SEED": "7"}) == choose_seed(True, {"BAYESMRF_TEST_SEED": "7"}) == 7


def test_generators_without_a_seed_repeat(monkeypatch):
    drawn = []
    for name in ("a", "a", "b"):
        repeat_entropy(monkeypatch, name)
        drawn.append((np.random.default_rng().random(), as_seed_sequence(None).entropy, as_seed_sequence(None).entropy))
    assert drawn[0] == drawn[1]
    assert len({*drawn[0], *drawn[2]}) == 6
