"""Samplers of the groups of edges that share a parameter (Liu and Page 2013)."""
