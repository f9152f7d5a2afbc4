"""Answers: a room for each question that a user asks of a fit."""
