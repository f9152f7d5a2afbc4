"""Compiled code: how leaves are compiled and kept on disk, and the arithmetic that they share."""

from .leaves import copy_to, leaf, strict_leaf

__all__ = ["copy_to", "leaf", "strict_leaf"]
