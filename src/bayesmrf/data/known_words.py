"""The order of words for answers: yes and no, scales that many questionnaires share, and numbers in front of words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# Pairs of no and yes. A letter alone is one of a pair, never a word.
_PAIRS = (
    ("no|nein|non|nee|não|nej|нет", "yes|ja|oui|si|sí|sim|да"),
    ("n", "y|j"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
    ("negative", "positive"),
    ("unchecked|not checked", "checked"),
    ("unticked|not ticked", "ticked"),
    ("not selected|unselected", "selected"),
    ("not mentioned", "mentioned"),
)
_YES_NO = [tuple(side.split("|") for side in pair) for pair in _PAIRS]
_NOT = ("not", "nicht", "niet", "inte", "ikke", "no", "non", "não", "не")  # in front of a word, its opposite
_HOW_OFTEN = (
    "never|not at all|none of the time",
    "almost never|hardly ever|very rarely|very seldom|nearly never",
    "rarely|seldom|infrequently|a little of the time",
    "occasionally|sometimes|now and then|some of the time",
    "about half the time|about half of the time|half the time|half of the time",
    "often|frequently|a good bit of the time",
    "usually|mostly|very often|very frequently|most of the time",
    "almost always|nearly always",
    "always|all of the time|constantly",
)
_HOW_MUCH = (
    "not at all|not|none|not really",
    "a little|a little bit|slightly|hardly|very slightly|very slightly or not at all",
    "somewhat|moderately|a moderate amount|partly|to some extent",
    "quite a bit|quite|considerably|rather|a lot",
    "very|very much|a great deal|mostly",
    "extremely|completely|totally|entirely|an extreme amount",
)
_SCALES = (
    _HOW_OFTEN,
    _HOW_MUCH,
    ("never", "less than yearly", "yearly", "less than monthly|less than once a month", "monthly|once a month",
     "2-3 times a month", "weekly|once a week", "2-3 times a week|several times a week", "daily or almost daily",
     "daily|every day", "several times a day"),
    ("not at all", "several days", "more than half the days", "nearly every day"),
    ("very poor|very bad|terrible", "poor|bad", "fair|average|ok|okay|neither good nor bad|acceptable", "good",
     "very good", "excellent"),
    ("none|absent|no", "minimal|very mild", "mild", "moderate", "severe", "very severe|extreme"),
    ("very low", "low", "medium|mid|middle|moderate|normal|average", "high|top", "very high"),
    ("very small", "small", "medium", "large", "very large"),
    ("never", "once", "twice", "more than twice|several times|many times"),
    ("not true|not true at all", "hardly true", "somewhat true|sometimes true|moderately true|partly true",
     "mostly true|often true", "certainly true|very true|exactly true|completely true"),
    ("much worse", "worse|somewhat worse", "a little worse|slightly worse",
     "the same|same|about the same|no change|unchanged", "a little better|slightly better",
     "better|somewhat better", "much better"),
)  # fmt: skip
# Of both directions: from the end of one word over the middle to that of the other.
_POLES = (
    ("disagree", "agree"),
    ("dissatisfied", "satisfied"),
    ("unlikely", "likely"),
    ("unimportant", "important"),
    ("unhappy", "happy"),
    ("negative", "positive"),
    ("untrue", "true"),
    ("uncomfortable", "comfortable"),
    ("difficult", "easy"),
    ("oppose", "support"),
    ("unfavorable", "favorable"),
)
_STRONG = ("strongly", "very", "extremely", "completely", "totally", "fully", "definitely", "highly")
_PLAIN = ("", "mostly", "moderately", "quite", "tend to", "generally")
_WEAK = ("somewhat", "slightly", "a little", "rather", "mildly", "partly")
_MIDDLE = "neutral|neither|undecided|neither {0} nor {1}|neither {1} nor {0}|neither nor|no opinion|unsure|not sure"
_NUMBER = re.compile(r"[\[(]?\s*([+-]?\d++(?:\.\d++)?)(?![./:-]\d+[./:-]\d)")  # not of a date
_CODES = ("a", "ao")  # letters before the numbers of answers in LimeSurvey
_MOST_CODES = 12
_LONGEST_END = 3  # words
_NO_ANSWERS = (
    "refus(ed|al)( to answer)?|(i |r |respondent )?(don[’']?t|do not|doesn[’']?t|does not|didn[’']?t) know|dk|na|"
    "no (answer|response|data|reply|(pre-?|post-?)?(election )?interview)|inap(plicable)?|unknown|missing|"
    "declined( to answer)?|not (provided|in universe|in sample)|"
    "not (applicable|asked|answered|ascertained|available|stated|reported|recorded|known)|"
    "(prefer|rather|would rather) not( to)? (say|answer|disclose)|(legitimate |valid )?skip(ped)?|technical error|"
    "(interview )?break-?off|"
    "keine? (angaben?|antwort)|k\\.? ?a\\.?|wei(ß|ss) (ich )?nicht|(antwort )?verweigert|"
    "nicht (erhoben|gefragt|zutreffend)|"
    "ne sa(it|is) pas|nsp|refus|(sans|pas de) réponse|non[- ](réponse|applicable|posée)|sans objet|"
    "no s(abe|é)|ns/?nc|no (contesta|responde|aplica|procede)|se niega|rehúsa|sin respuesta|"
    "não (sabe|respondeu|se aplica)|ns/?nr|recus(a|ou)|non (so|sa|risponde|applicabile)|nessuna risposta|rifiuta(to)?|"
    "weet( ik)? niet|geen (antwoord|opgave)|geweigerd|weigert|niet van toepassing|n\\.?v\\.?t\\.?|"
    "vet (ej|inte|ikke)|ved ikke|ej svar|inget svar|vill (ej|inte) svara|uppgift saknas|ei vastausta|en tiedä|"
    "не знаю|отказ|нет ответа|nie wiem|odmowa|brak (odpowiedzi|danych)"
)
_NO_ANSWER = re.compile(rf"(?i)(\.[a-z]:)?[\W\d]*({_NO_ANSWERS})\W*([/,;&(|].*)?")
_NO_OPINIONS = (
    "(not|un)[ -]?sure|no opinion|undecided|(can[’']?t|can ?not) (say|choose|answer)|hard to say|haven[’']?t thought.*"
)
_NO_OPINION = re.compile(rf"(?i)\W*({_NO_OPINIONS})\W*([/,;&(|].*)?")


class Scale(NamedTuple):
    """Words in order, each with those that mean the same."""

    ranks: tuple[tuple[str, ...], ...]

    def places(self, words: Iterable[str]) -> dict[str, int] | None:
        """Return the rank of each word; None unless all are known, and those of one rank differ in their case only."""
        by_word: dict[str, int] = {}
        known: dict[int, str] = {}
        rank = {word: i for i, same in enumerate(self.ranks) for word in same}
        for word in words:
            plain = plain_word(word)
            place = rank.get(plain)
            if place is None or known.setdefault(place, plain) != plain:
                return None
            by_word[word] = place
        return by_word


def plain_word(word: str) -> str:
    """Return a word in lower case, without spaces and marks around it."""
    return " ".join(word.casefold().replace("’", "'").strip(" .!,;:*\"'()").replace("_", " ").split())


def _scale(ranks: Iterable[str]) -> Scale:
    return Scale(tuple(tuple(rank.split("|")) for rank in ranks))


def _poles(low: str, high: str) -> Scale:
    def side(word: str) -> list[tuple[str, ...]]:
        return [tuple(f"{how} {word}".strip() for how in degree) + tuple(f"{word} {how}" for how in degree if how)
                for degree in (_STRONG, _PLAIN, _WEAK)]  # fmt: skip

    middle = tuple(_MIDDLE.format(low, high).split("|"))
    return Scale((*side(low), middle, *reversed(side(high))))


def _codes(letters: str) -> Scale:
    """Return the scale of codes of answers such as A1, A2, which may have zeros before their numbers."""
    ranks = ([f"{letters}{i:0{n}d}" for n in range(1, 4)] for i in range(_MOST_CODES + 1))
    return Scale(tuple(tuple(dict.fromkeys(rank)) for rank in ranks))


SCALES = (
    *map(_scale, _SCALES),
    *(_poles(*pole) for pole in _POLES),
    *map(_codes, _CODES),
)


def yes_and_no(words: Iterable[str]) -> tuple[list[str], list[str]] | None:
    """Return the words that mean no, and those that mean yes; None unless there are both, and no others."""
    texts = list(words)
    plain = {plain_word(word) for word in texts}
    for pair in (*_YES_NO, *([[f"{no} {word}"], [word]] for word in plain for no in _NOT if f"{no} {word}" in plain)):
        no, yes = ([word for word in texts if plain_word(word) in side] for side in pair)
        if no and yes and len(no) + len(yes) == len(texts):
            return no, yes
    return None


def known_order(words: Iterable[str]) -> tuple[Scale, dict[str, int]] | None:
    """Find the scale that has all the words, and the rank of each; None if there is none, or two that differ."""
    originals = list(words)
    for texts in (originals, _without_common_end(originals)):
        matches = [(s, places) for s in SCALES if (places := s.places(texts)) is not None]
        orders = {tuple(_ranked([places[t] for t in texts])) for _, places in matches}
        if len(orders) == 1:
            scale, places = matches[0]
            return scale, {word: places[text] for word, text in zip(originals, texts, strict=True)}
    return None


def _ranked(ranks: list[int]) -> list[int]:
    """Rank numbers from 0."""
    known = sorted(set(ranks))
    return [known.index(rank) for rank in ranks]


def leading_numbers(words: Iterable[str]) -> dict[str, float] | None:
    """Return the number with which each word begins, such as "1 Never"; None unless all have one of their own."""
    matches = {word: _NUMBER.match(word) for word in words}
    if not matches or not all(matches.values()):
        return None
    numbers = {word: float(match[1]) for word, match in matches.items() if match}
    return numbers if len(set(numbers.values())) == len(numbers) else None


def _without_common_end(words: list[str]) -> list[str]:
    """Return words without the end that all share, as in "very worried", "not worried at all"."""
    split = [re.sub(r"^not (.+) at all$", r"not at all \1", plain_word(word)).split() for word in words]
    for n in range(_LONGEST_END, 0, -1):
        ends = {tuple(parts[-n:]) for parts in split}
        if len(ends) == 1 and all(len(parts) > n for parts in split):
            return [" ".join(parts[:-n]) for parts in split]
    return words


def says_no_answer(text: str) -> bool:
    """Return whether a text means that there is no answer, such as "refused"."""
    return bool(_NO_ANSWER.fullmatch(text.strip()))


def says_no_opinion(text: str) -> bool:
    """Return whether a text, such as "not sure", means that there is no answer where its code says so, too."""
    return bool(_NO_OPINION.fullmatch(text.strip()))
