"""Samplers of which edges exist (Chen and Welling 2012)."""
