"""Engines: log Z, moments and samples at one theta."""
