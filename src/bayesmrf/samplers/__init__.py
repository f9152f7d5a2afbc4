"""Samplers of states x given theta."""
