"""Predictions, which are shown by methods alone."""

from __future__ import annotations

from ..registry import Answer

ANSWER = Answer(
    "predictions",
    methods=("score", "score_samples", "sample", "predict_conditional", "conditional_log_likelihood", "predict_next"),
)
