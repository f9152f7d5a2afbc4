"""What p(x | theta) is."""
