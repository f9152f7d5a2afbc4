"""Markov chains on the posterior of theta."""
