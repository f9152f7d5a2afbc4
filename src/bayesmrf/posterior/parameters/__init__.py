"""Samplers of the parameters (Murray and Ghahramani 2004)."""
