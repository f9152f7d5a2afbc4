"""How every compiled leaf is compiled.

A *leaf* is a plain function over arrays and NamedTuples of arrays; everything above it is ordinary Python.
"""

from numba import njit

# error_model="numpy" drops the ZeroDivisionError branch, without which the lane loops do not vectorise.
leaf = njit(cache=True, nogil=True, fastmath=True, error_model="numpy")

# The same without fastmath: for code that meets infinities (log of zero) or relies on the order of summation.
strict_leaf = njit(cache=True, nogil=True, error_model="numpy")
