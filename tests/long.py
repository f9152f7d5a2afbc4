"""What is long, or repeats what others test: `pytest -m calibration`, before a release."""

import pytest

LONG = pytest.mark.calibration


def few(names, *repeats):
    """Return the names as parameters of a test; ``repeats`` are left to the long run."""
    return [pytest.param(*([*name] if isinstance(name, tuple) else [name]), marks=[LONG]) if name in repeats else name
            for name in names]  # fmt: skip
