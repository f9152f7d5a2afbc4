"""``python -m papers.murray_ghahramani_2004 coronary|artificial|labels|coverage|coverage-complete|labels-chains``."""

import sys
from pathlib import Path

from papers.runner import Paper

from .common import Settings
from .experiments import FULL, MEASURES, QUICK
from .figures import FIGURES
from .tables import tables

PAPER = Paper(
    Path(__file__).parent,
    "Murray and Ghahramani (2004)",
    "chains, systems or data sets",
    Settings,
    FULL,
    QUICK,
    MEASURES,
    tables,
    FIGURES,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
