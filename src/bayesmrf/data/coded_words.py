"""Codes in front of words, such as "1. Yes" and "-9. Refused", and words that are quantities, such as "2 children"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..names import digits
from .known_words import leading_numbers, says_no_answer, says_no_opinion

_SIGNED = r"[+-]?\d++(?:\.\d++)?"
_MARK = r"[)\]}.:;=|>,→]++(?=\s|\D)|\s*[-–—/_]\s*(?=[^\W\d])"  # neither of a time nor of a range: 12:30, 18-24
_IN_FRONT = re.compile(rf"[#(\[{{]?\s*({_SIGNED})\s*({_MARK})\s*(\S.*)", re.DOTALL)
_BEFORE_A_SPACE = re.compile(rf"({_SIGNED})()\s+([^\W\d_].*|[\"'“(].*)", re.DOTALL)
_BEHIND = re.compile(rf"([^\W\d].*?)\s*(?:[(\[{{]\s*({_SIGNED})\s*[)\]}}]|=\s*({_SIGNED}))", re.DOTALL)
_NUMBER = re.compile(_SIGNED)
_LONGEST = 200  # letters of an answer; longer ones are free texts
_ORDINAL = re.compile(r"^(st|nd|rd|th)\b")
_ROMAN = dict(zip(("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"), range(1, 11), strict=True))
# Of ranges, in several languages: they say nothing of what is counted.
_RANGE_TEXT = """and or to up at from of under below over above less fewer more most least than older younger plus
between inf und oder bis von unter über ab mehr weniger als mindestens höchstens et ou à de du moins plus entre y o a
más menos hasta desde en meer minder dan tot van e più meno mais até"""
_RANGE_WORDS = set(_RANGE_TEXT.split())
_RANGE = re.compile(rf"(?i)\W*((?:{'|'.join(sorted(_RANGE_WORDS))})\W+)*\d")
_CODE_OF_NONE = re.compile(r"([789])\1*|9+[5-9]")  # 8, 99, 97, 998; and all below zero


class Coded(NamedTuple):
    """A text with a code, which is the number that it was in a questionnaire, and the word; "" of a number alone."""

    code: float
    word: str
    is_marked: bool  # more than a space divides the two


def split_code(text: str) -> Coded | None:
    """Return the code and the word of a text such as "1. Yes", "(1) Yes", "1=Yes" or "Yes (1)"; None without a code."""
    text = text.strip().replace("−", "-")
    if len(text) > _LONGEST:
        return None
    if _NUMBER.fullmatch(text):
        return Coded(float(text), "", False)
    if (match := _IN_FRONT.fullmatch(text) or _BEFORE_A_SPACE.fullmatch(text)) is not None:
        return Coded(float(match[1]), match[3], bool(match[2]))
    if (match := _BEHIND.fullmatch(text)) is not None:
        return Coded(float(match[2] or match[3]), match[1], True)
    return None


def is_code_of_none(number: str) -> bool:
    """Return whether a number is a customary code of no answer: below zero, or 7, 8, 9, 77, 88, 97, 98, 99, ..."""
    return float(number) < 0 or bool(_CODE_OF_NONE.fullmatch(digits(float(number))))


def code_for_missing(text: str) -> bool:
    """Return whether a text has a code of missing values in front of words that say that there is no answer.

    Such codes are below zero, or 7, 8, 9, 77, 88, 97, 98, 99 and the like.
    """
    coded = split_code(text)
    if coded is None or not is_code_of_none(digits(coded.code)):
        return False
    return says_no_answer(coded.word) or says_no_opinion(coded.word)


def bare_words(words: Iterable[str]) -> dict[str, str]:
    """Remove the codes of texts; texts are unchanged unless each has a code of its own that is no quantity."""
    texts = list(words)
    coded = {text: part for text in texts if (part := split_code(text)) is not None}
    codes = {part.code for part in coded.values()}
    if len(coded) < len(texts) or len(codes) < len(texts) or not any(part.word for part in coded.values()):
        return {text: text for text in texts}
    return {text: part.word for text, part in coded.items()}


def quantities(words: Collection[str]) -> dict[str, float] | None:
    """Return numbers that order words by themselves; None if they are codes, or if there are none.

    They count the same, as in "1 child", "2 children", or nothing, as in "18-24", "65+"; or numbers are on a scale of
    which only the ends, and perhaps the middle, have words, as in "1 Not at all", "2", "3 Extremely".
    """
    numbers = leading_numbers(words)
    if numbers is None:
        return None
    parts = {text: split_code(text) for text in words}
    if _has_named_ends(numbers, parts):
        return numbers
    counted = {_counted(text, part) for text, part in parts.items()}
    if len(counted) > 1 or None in counted:
        return None
    inside = [
        float(match[0])
        for text in sorted(numbers, key=numbers.__getitem__)
        if (part := parts[text]) is not None and part.is_marked and (match := _NUMBER.search(part.word))
    ]
    if _rise(inside):
        return numbers
    return {text: -number for text, number in numbers.items()} if _rise(inside[::-1]) else None


def _has_named_ends(numbers: dict[str, float], parts: dict[str, Coded | None]) -> bool:
    """Return whether words stand only at the ends of numbers, and perhaps in the middle."""
    named = {numbers[text] for text, part in parts.items() if part is None or part.word}
    low, high = min(numbers.values()), max(numbers.values())
    alone = len(numbers) - len(named)
    is_middle = bool(named - {low, high})
    return bool(named) and alone > is_middle and named <= {low, high, (low + high) / 2}


def _counted(text: str, part: Coded | None) -> frozenset[str] | None:
    """Return the beginnings of the words that say what a number counts; None if it is a code of words."""
    rest = part.word if part is not None and part.is_marked else _NUMBER.split(text, maxsplit=1)[-1]
    rest = _ORDINAL.sub("", rest)
    words = {word.casefold() for word in re.findall(r"[^\W\d_]+", rest)}
    if part is not None and part.is_marked and words <= _RANGE_WORDS and not re.search(r"\d", rest):
        return None
    return frozenset(word[:3] for word in words - _RANGE_WORDS)


def has_order_of_numbers(words: Collection[str]) -> bool:
    """Return whether the numbers in words, such as "(0, 5]" or "Stage II", rise or fall in their order.

    Numbers of ranges may lack at one end, as in "none", "1 to 4". Codes are no such numbers.
    """
    if (known := quantities(words)) is not None:
        return _rise([known[word] for word in words]) or _rise([-known[word] for word in words])
    if any(text != bare for text, bare in bare_words(words).items()):
        return False
    romans = [_ROMAN.get(word.rsplit(maxsplit=1)[-1]) for word in words if word.strip()]
    numbers = [float(match[0]) for word in words if (match := _NUMBER.search(word.replace(" ", "")))]
    for values in (numbers, [float(number) for number in romans if number is not None]):
        enough = len(values) >= len(words) - (values is numbers)
        if enough and len(set(values)) > 1 and (_rise(values) or _rise(values[::-1])):
            return True
    return False


def begin_with_numbers(words: Sequence[str]) -> bool:
    """Return whether ranges of numbers, such as "under 18", "18-24", "25+", are in order; the first may be "none"."""
    begin = [bool(_RANGE.match(word)) for word in words]
    return sum(begin) > 1 and all(begin[1:]) and has_order_of_numbers(words)


def _rise(numbers: list[float]) -> bool:
    return all(a <= b for a, b in pairwise(numbers))
