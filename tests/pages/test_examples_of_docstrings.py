"""Examples in docstrings print what they say."""

import doctest
import inspect
import warnings

import pytest

import bayesmrf

WITH_EXAMPLES = [name for name in bayesmrf.__all__ if ">>> " in (inspect.getdoc(getattr(bayesmrf, name)) or "")]
FLAGS = doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_an_example_prints_what_it_says(name):
    found = getattr(bayesmrf, name)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(found), {}, name, None, 0)
    printed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        results = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=printed.append)
    assert results.attempted >= 4
    assert results.failed == 0, "".join(printed)


def test_estimators_have_an_example():
    assert {"SpikeSlabMRF", "CompareMRF", "BayesianMRF", "GroupedMRF"} <= set(WITH_EXAMPLES)
