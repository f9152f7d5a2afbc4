"""Build the documentation site: `python docs/build.py [FOLDER]`, build/site by default.

It needs the packages of `pip install -e ".[docs]"`. A warning is an error, such as a link that leads nowhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def build(out: Path) -> int:
    """Build the site in a folder and return Sphinx's exit code."""
    return build_main(["-q", "-W", "--keep-going", "-c", str(DOCS), "-d", f"{out}.cache", str(ROOT), str(out)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")))
