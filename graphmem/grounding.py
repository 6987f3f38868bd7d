"""Whether a triple is grounded: its ends are named in the passage, or in what it points to.

A model that reads triples invents some: people from its prompt's example, a date that nobody named.
What is not grounded is kept and withheld.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property, lru_cache
from math import ceil

from graphmem.identity import normal_form
from graphmem.times import MONTHS, WEEKDAYS
from graphmem.types import Passage, Triple
from graphmem.words import terms, words

__all__ = ["Ground", "ground"]

# A name may lack this share of its words ("the blue bike" of a bike that is blue elsewhere), and
# this share of those with a capital: none of two, one of three.
_MAY_MISS = 1 / 2
_MAY_MISS_PROPER = 1 / 3

# Two words with a common beginning are one, inflected: its least letters, and its share of the
# longer word. 0.7 takes Portuguese for Portugal and does not take Australia for Austria.
_MIN_STEM = 4
_STEM_SHARE = 0.7

# How far "in three weeks" and "the month after next" reach from the time at which it was said.
_NEAR_DAYS = 31
_NEAR_MONTHS = 2


def _stems(names: Iterable[str]) -> list[str]:
    return [next(iter(terms((name,))), name) for name in names]


_MONTHS, _WEEKDAYS = _stems(MONTHS), _stems(WEEKDAYS)
_NUMBERS = {
    stem: str(number)
    for first, step, names in (
        (0, 1, "zero one two three four five six seven eight nine ten eleven twelve thirteen"),
        (14, 1, "fourteen fifteen sixteen seventeen eighteen nineteen twenty"),
        (30, 10, "thirty forty fifty sixty seventy eighty ninety hundred"),
        (1, 1, "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
        (13, 1, "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"),
        (20, 10, "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"),
    )
    for number, stem in zip(range(first, 101, step), _stems(names.split()), strict=False)
}
# Scripts without spaces, whose characters make pairs with those of the next text, and low lines:
# those around a whole text are none of its words.
_TIED = re.compile("[_\u0e00-\u1fff\u2e80-\ufdff\ufe30-\U0001f2ff\U00020000-\U0010ffff]")
_SEPARATOR = re.compile(r"[\s\-\u2010-\u2015/]+")
_ISO_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_ORDINAL = re.compile(r"0*(\d+)(?:st|nd|rd|th)?")
# 12:30, 12.30, 12h30; a version number becomes the same on both sides.
_CLOCK = re.compile(r"^(\d+)[.h](\d+)$")
# fmt: off
_PRONOUNS = frozenset({
    "i", "me", "my", "we", "us", "our", "you", "your", "he", "him", "his", "she", "her", "it",
    "its", "they", "them", "their", "this", "that", "these", "those", "who", "which", "what", "one",
    "someone", "something", "everyone", "everything", "there", "here",
})
# fmt: on


def ground(triple: Triple, passage: Passage) -> bool:
    """Whether both ends of a triple are named in its passage; see ``Ground``.

    For many triples of one passage make a ``Ground`` once.
    """
    return Ground(passage).holds(triple)


@dataclass(frozen=True)
class Ground:
    """The names that a passage gives an extractor to work with.

    They are its own text and title, who speaks, the passages just before it and who spoke them
    (where pronouns point), and the calendar around the time at which it was said. A name is *held*
    when enough of its words are among them: every number and date, at least two in three of those
    written with a capital, and at least half of all; for a paraphrase is no invention but a name
    is. Words count as equal when they differ in case, accents, English inflection, number spelling,
    or (letters only) in an ending. In scripts without spaces pairs of characters stand for words. A
    pronoun alone is no name.

    Predicates need not be literal: "is builder of" may be read out of a single "Builder!".

    Attributes:
        passage: the passage, with the passages just before it.
    """

    passage: Passage

    def holds(self, triple: Triple) -> bool:
        """Whether both ends of the triple are held."""
        return not self.lacks(triple)

    def lacks(self, triple: Triple) -> tuple[str, ...]:
        """The ends of the triple that are not held."""
        return tuple(end for end in (triple.subject, triple.object) if not self.names(end))

    def missing(self, triple: Triple) -> str | None:
        """The one end that is not held, where what is said holds the other; otherwise None.

        Who speaks is known of every message: that alone ties a name to none of them.
        """
        lacking = self.lacks(triple)
        if len(lacking) != 1:
            return None
        held = triple.object if lacking[0] == triple.subject else triple.subject
        return lacking[0] if self._unsigned.names(held) else None

    @cached_property
    def _unsigned(self) -> Ground:
        """The same without who speaks."""
        before = tuple(replace(one, speaker="") for one in self.passage.before)
        return Ground(replace(self.passage, speaker="", before=before))

    def names(self, name: str) -> bool:
        """Whether the name is held."""
        wanted = _wanted(name)
        if not wanted:
            return self._quotes(name)
        missing = [word for word in wanted if not self._has(word)]
        if missing:
            missing = self._undated(name, missing)
        if not missing:
            return True
        if len(missing) > _MAY_MISS * len(wanted) or any(map(_is_exact, missing)):
            return False
        proper = _proper(name)
        return len(proper.intersection(missing)) <= _MAY_MISS_PROPER * len(proper)

    def _quotes(self, name: str) -> bool:
        """Whether a name without a telling word (The Who, US, an emoji) stands there literally."""
        form = normal_form(name)
        if not form or (form in _PRONOUNS and not (name.isupper() and len(name) > 1)):
            return False
        text = "\n".join(map(_said, (*self.passage.before, self.passage)))
        found = words(name)
        if not found:
            return form in normal_form(text)
        return f" {' '.join(found)} " in f" {' '.join(words(text))} "

    def _has(self, word: str) -> bool:
        if word in self._own or word in self._near:
            return True
        if not word.isalpha():
            return False
        return any(_is_inflected(word, other) for near in (self._own, self._near) for other in near)

    def _undated(self, name: str, missing: list[str]) -> list[str]:
        """The missing words less those that name one day or month near the time it was said."""
        if self.passage.said_at is None:
            return missing
        days = _calendar(self.passage.said_at.date())
        dated = max((day.intersection(missing) for day in days), key=len, default=frozenset())
        if not _is_date(name):
            # A bare number is no day of the month; a bare year may be "last year".
            dated = frozenset(word for word in dated if not word.isdigit() or len(word) == 4)
        return [word for word in missing if word not in dated]

    @cached_property
    def _own(self) -> frozenset[str]:
        """The folded words of the passage itself: what most names need."""
        return _vocabulary(_said(self.passage))

    @cached_property
    def _near(self) -> frozenset[str]:
        """The folded words of the passages before it."""
        said = list(map(_said, self.passage.before))
        if all(map(_stands_alone, said)):
            return frozenset().union(*map(_vocabulary, said))
        return _vocabulary("\n".join(said))


def _said(passage: Passage) -> str:
    return f"{passage.speaker}\n{passage.full_text}"


def _stands_alone(said: str) -> bool:
    """Whether its words are the same whatever is said before and after it."""
    return not _TIED.search(said)


# What one passage says, the next eight look back at.
@lru_cache(maxsize=256)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(map(_as_number, terms(words(text))))


@lru_cache(maxsize=1 << 12)
def _wanted(name: str) -> tuple[str, ...]:
    """The words that a passage must have to hold a name: pairs in place of their characters."""
    found = terms(words(name))
    paired = {char for term in found if len(term) == 2 for char in term if char in found}
    return tuple(_as_number(term) for term in found if term not in paired)


def _proper(name: str) -> frozenset[str]:
    """The words of a name that are written as a name: with a capital, or in a script without."""
    marked = " ".join(word for word in _SEPARATOR.split(name) if word and not word.islower())
    return frozenset(_wanted(marked))


def _is_exact(word: str) -> bool:
    """Whether it is a number, a code, a month or a day of the week: nothing to paraphrase."""
    return any(map(str.isdigit, word)) or word in _MONTHS or word in _WEEKDAYS


def _is_date(name: str) -> bool:
    """Whether a month stands in the name, by its name or in three numbers."""
    return bool(_ISO_DATE.search(name)) or any(word in MONTHS for word in words(name))


def _is_inflected(word: str, other: str) -> bool:
    """Whether two words, each of letters only, have a long enough beginning in common."""
    shared = max(_MIN_STEM, ceil(_STEM_SHARE * max(len(word), len(other))))
    if word[:shared] != other[:shared] or min(len(word), len(other)) < shared:
        return False
    return other.isalpha()


def _as_number(term: str) -> str:
    """Digits for number words, ordinals and zero-padded numbers; anything else as it is."""
    if term.isalpha():
        return _NUMBERS.get(term, term)
    ordinal = _ORDINAL.fullmatch(term)
    if ordinal:
        return ordinal[1]
    return _CLOCK.sub(r"\1:\2", term).replace(",", "")


@lru_cache(maxsize=64)
def _calendar(today: date) -> tuple[frozenset[str], ...]:
    """The words that name each day, month and year near a day."""
    if not 2 < today.year < 9_998:
        return ()
    days = [today + timedelta(days=offset) for offset in range(-_NEAR_DAYS, _NEAR_DAYS + 1)]
    middle = today.replace(day=15)
    months = [middle + timedelta(days=30 * n) for n in range(-_NEAR_MONTHS, _NEAR_MONTHS + 1)]
    return tuple(
        [frozenset({str(day.day), *_month(day), _WEEKDAYS[day.weekday()]}) for day in days]
        + [frozenset(_month(month)) for month in months]
        + [frozenset({str(today.year + offset)}) for offset in (-1, 0, 1)]
    )


def _month(day: date) -> tuple[str, str, str]:
    return str(day.year), str(day.month), _MONTHS[day.month - 1]
