"""The slab of docs/add_a_slab.md, which is outside the package."""

import sys
from pathlib import Path

FILE = Path(__file__).parents[2] / "examples" / "laplace.py"

sys.path.append(str(FILE.parent))
from laplace import Laplace, LaplaceConstants  # noqa: E402

__all__ = ["FILE", "Laplace", "LaplaceConstants"]
