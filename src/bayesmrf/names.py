"""Names and texts from untrusted files, escaped for terminals, pages, pictures and file names."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Sequence

LONGEST = 60  # letters of a name that are shown
_JOINERS = "\u200c\u200d"  # used in Persian, Hindi and emoji


def shown(text: object, most: int | None = LONGEST, keep: str = "") -> str:
    r"""Make every character of a name visible, and cut long names in their middle.

    Control characters (ANSI escapes, line ends), marks that change the direction of writing, lone surrogates and other
    invisible characters are written as Python escapes, such as ``\x1b``. Letters of all scripts are unchanged.

    Parameters
    ----------
    text : object
        A name, or any other text.
    most : int or None
        Length beyond which it is cut; None never cuts.
    keep : str
        Invisible characters that are kept, such as line ends.
    """
    whole = _cut(str(text), most)
    if whole.isascii() and whole.isprintable():
        return whole
    return "".join(c if _is_seen(c) or c in keep else c.encode("unicode_escape").decode() for c in whole)


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Return labels of names for a figure: long names are cut in their middle, without words with which all begin."""
    if max(map(len, names), default=0) <= most:
        return list(names)
    low, high = min(names), max(names)  # what these two begin with, all do
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    begin = max(low.rfind(" ", 0, same), low.rfind("…", 0, same)) + 1  # whole words, or what is left of cut names
    return [shown(f"…{name[begin:]}" if begin else name, most) for name in names]


def quoted(name: object) -> str:
    """Return a name in quotes for messages, as Python writes it: visible, and cut where it is long."""
    return repr(_cut(str(name), LONGEST))


def digits(value: float) -> str:
    """Return a number with few digits, but with as many as it needs to be read back: neither 1 for 1 - 1e-9, nor 1e+07
    for 9999999.
    """
    short = f"{value:g}"
    if float(short) == value or value != value:
        return short
    return str(int(value)) if value == int(value) else repr(float(value))


def listed(texts: Sequence[str], most: int = 5, total: bool = False) -> str:
    """Return the first of several texts, separated by commas, with an ellipsis for the others, and their number."""
    more = f", ... ({len(texts)} in all)" if total else ", ..."
    return ", ".join(texts[:most]) + (more if len(texts) > most else "")


def one_of(texts: Sequence[str]) -> str:
    """Return alternatives in words: "a, b or c"."""
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def file_stem(name: str) -> str:
    """Make a name usable as the stem of a file's name: visible characters, no separators, not too long in bytes."""
    safe = "".join(c if _is_seen(c) and c not in '/\\:*?"<>|' else "_" for c in name)
    return safe.encode()[:100].decode(errors="ignore").strip(". ") or "run"


def _cut(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def _is_seen(character: str) -> bool:
    return character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"


def in_shell(name: str) -> str:
    """Return the name of a column for a command line."""
    return shlex.quote(shown(name, None))
