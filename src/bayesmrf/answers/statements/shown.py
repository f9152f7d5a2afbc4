"""Statements, which are shown by a method alone."""

from __future__ import annotations

from ..registry import Answer

ANSWER = Answer("statements", methods=("probability",))
