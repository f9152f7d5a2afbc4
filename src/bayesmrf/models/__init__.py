"""Models: the distributions p(x | theta)."""
