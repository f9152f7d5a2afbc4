"""Studies of simulated tables, which have pages of their own."""

from __future__ import annotations

from ..registry import Answer

ANSWER = Answer("study")
