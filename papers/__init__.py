"""Reproductions of papers with the public API of the package."""
