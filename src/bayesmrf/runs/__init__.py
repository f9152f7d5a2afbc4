"""Runs: chains in threads or by workers, and folders from which they continue."""
