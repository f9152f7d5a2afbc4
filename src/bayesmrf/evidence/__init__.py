"""Evidence of models, p(X) = int p(X | theta) p(theta) dtheta, by every method of Chen and Welling (2012)."""
