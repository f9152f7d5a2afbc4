"""Folders of machine code in ``NUMBA_CACHE_DIR``, which a checkout in another place finds again."""

from __future__ import annotations

from pathlib import Path

from numba.core import caching

_SOURCE = Path(__file__).resolve().parents[2]


class FolderByName(caching.UserProvidedCacheLocator):
    """A folder of our package has its dotted name, and not a digest of where it is, which numba takes.

    The code in it may come from other sources, numbas and processors: the head of each file says what it was made from,
    and its name for which processor.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the name of the folder in ``NUMBA_CACHE_DIR``."""
        folder = Path(py_file).resolve().parent
        if folder.is_relative_to(_SOURCE / "bayesmrf"):
            return ".".join(folder.relative_to(_SOURCE).parts)
        return super().get_suitable_cache_subpath(py_file)


class Serialisation(caching.CompileResultCacheImpl):
    """Machine code as bytes, and its folder."""

    _locator_classes = [FolderByName, *caching.CompileResultCacheImpl._locator_classes]  # noqa: RUF012
