"""Murray and Ghahramani (2004), reproduced."""
