"""The seed of the tests."""

import ast

import numpy as np
import pytest

from bayesmrf import demo
from bayesmrf.errors import OptionError
from bayesmrf.estimators import GroupedMRF
from bayesmrf.rng import OTHER, as_seed_sequence, descendant
from tests import ROOT
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


def lists_as_seeds(code):
    """The lists of numbers from which generators are seeded."""
    for node in ast.walk(ast.parse(code)):
        named = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2]
        if named in ("default_rng", "SeedSequence") and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
            yield node.args[0].elts


@pytest.mark.parametrize("folder", ["src", "examples", "benchmarks", "papers"])
def test_no_stream_is_told_apart_by_a_zero_at_the_end(folder):
    """numpy fills entropy up with zeros: SeedSequence([3, 0]) is SeedSequence(3)."""
    assert as_seed_sequence(np.random.SeedSequence([3, 0])).generate_state(4).tolist() == (
        np.random.SeedSequence(3).generate_state(4).tolist()
    )
    for path in (ROOT / folder).rglob("*.py"):
        for elements in lists_as_seeds(path.read_text()):
            assert not (isinstance(elements[-1], ast.Constant) and elements[-1].value == 0), path
            assert folder != "src", f"{path}: use bayesmrf.rng.descendant"
    assert [len(found) for found in lists_as_seeds("np.random.default_rng([seed, 0])")] == [2]  # can be found


def test_descendants_differ_from_each_other_the_root_and_the_chains():
    seeds = np.random.SeedSequence(3)
    keys = [(), (0,), (0, 0), (1,), (1, 0), (OTHER,), (OTHER + 1,), (OTHER + 2,)]
    drawn = {key: tuple(descendant(seeds, *key).integers(2**63, size=2)) for key in keys}
    drawn["chains"] = tuple(np.random.default_rng(seeds.spawn(3)[2]).integers(2**63, size=2))
    assert len(set(drawn.values())) == len(drawn)
    assert descendant(np.random.SeedSequence([3, 0])).random() == descendant(np.random.SeedSequence(3)).random()


def test_data_of_the_demonstration_are_not_of_the_seed_itself(monkeypatch):
    first = {}

    class Told(Exception):
        pass

    def sample(engine, model, theta, prepared, n, rng):
        first["state"] = rng.bit_generator.seed_seq
        raise Told

    monkeypatch.setattr(demo.Elimination, "sample", sample)
    with pytest.raises(Told):
        demo.known_grid(3, 10, 10, 2)
    assert (first["state"].generate_state(4) != np.random.SeedSequence(3).generate_state(4)).any()


def test_a_list_is_no_seed():
    with pytest.raises(OptionError, match=r"random_state must be an integer >= 0, a numpy SeedSequence"):
        GroupedMRF(random_state=[3, 0]).fit(np.eye(4, dtype=int))


def test_no_two_files_of_tests_have_one_name():
    """Random numbers of a test follow from the name of its file without the folder."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert not {name for name in names if names.count(name) > 1}
    assert len(names) > 100
