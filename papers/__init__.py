"""Reproductions of papers, on top of the package's public names."""
