"""The command line: ``bayesmrf demo``, ``groups``, ``posterior``, ``structure`` and ``report``.

Whatever a user can mend is one sentence on standard error and exit code 2. Heavy imports wait inside the commands.
"""

from __future__ import annotations

from .app import main, run

__all__ = ["main", "run"]
