"""Loopy belief propagation and the Bethe free energy."""
