"""Liu and Page (2013), sections 4 and 5: groups of parameters that are shared, in simulations and in votes."""
