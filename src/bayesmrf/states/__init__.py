"""Particles: states that follow theta, for pair marginals and importance weights."""
