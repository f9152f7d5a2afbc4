"""The command line: ``bayesmrf demo``, ``groups``, ``posterior``, ``structure``, ``evidence`` and ``report``.

User-fixable errors are one line on standard error, with exit code 2. Slow imports are inside the commands.
"""

from __future__ import annotations

from .app import main, run

__all__ = ["main", "run"]
