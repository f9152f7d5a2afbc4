"""Tables of observations: read, checked, and brought to one coding."""
