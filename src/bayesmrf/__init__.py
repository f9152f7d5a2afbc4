"""Bayesian learning in Markov random fields."""

__version__ = "0.1.0"
