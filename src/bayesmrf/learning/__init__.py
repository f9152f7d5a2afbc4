"""Point estimates of theta, and of the graph."""
