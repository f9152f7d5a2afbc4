"""``python -m papers.murray_ghahramani_2004 coronary|artificial|labels|coverage|coverage-complete|labels-chains``."""

import sys

from papers.runner import Paper

from . import experiments
from .common import Settings
from .figures import FIGURES
from .tables import tables

PAPER = Paper(
    "Murray and Ghahramani (2004)",
    "chains, systems or data sets",
    Settings,
    experiments,
    tables,
    FIGURES,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
