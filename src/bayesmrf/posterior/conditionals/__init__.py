"""The full conditional distribution of one coordinate of theta."""
