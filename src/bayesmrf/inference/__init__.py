"""Engines, which compute or approximate log Z, moments or samples at one theta."""
