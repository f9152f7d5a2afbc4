"""Compiled code: how leaves are compiled and kept on disk, and the arithmetic that they share."""

from .leaves import compiling, copy_to, leaf, strict_leaf

__all__ = ["compiling", "copy_to", "leaf", "strict_leaf"]
