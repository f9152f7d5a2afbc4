"""Moves of groups that need more than one coordinate at a time."""
