"""Chen and Welling (2012), Bayesian structure learning, reproduced."""
