"""Whether a date that an extractor gives a fact was said: models date facts that nobody dated.

A date stays only where the words hold an expression of time that yields it. Absolute ones name its
year, month and day, each in digits or by name; relative ones ("yesterday", "for ten years") reach
it from the time of the message. What is unknown stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache

from graphmem.predicates import DATES, read
from graphmem.times import MONTH_NUMBERS, WEEKDAYS, span
from graphmem.types import Passage, Triple
from graphmem.words import words

__all__ = ["dated"]

# Days that a unit of time may take.
_UNITS = {
    "hour": 1, "day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14, "month": 31,
    "term": 120, "semester": 183, "season": 92, "year": 366, "decade": 3_660, "century": 36_600,
    "spring": 366, "summer": 366, "autumn": 366, "fall": 366, "winter": 366,
    "christmas": 366, "easter": 366,
}  # fmt: skip
_WEEKDAYS = frozenset([*WEEKDAYS, *"mon tue tues wed thu thur thurs fri sat sun".split()])
_NUMBERS = {
    name: count
    for count, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {
    "first": 1,
    "second": 2,
    "third": 3,
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 9,
    "several": 9,
    "half": 1,
    "thirty": 30,
    "forty": 40,
}
# Words that reach so many days from the time at which they were said.
_NEAR = {
    "today": 1, "tonight": 1, "yesterday": 2, "tomorrow": 2, "now": 1, "currently": 1, "just": 7,
    "recently": 120, "lately": 120, "soon": 120, "ago": 31, "already": 31, "morning": 2,
    "afternoon": 2, "evening": 2, "noon": 2, "midnight": 2, "weekend": 9, "anymore": 1,
    "days": 31, "started": 7, "birthday": 366, "christmas": 366, "easter": 366,
}  # fmt: skip
_DIGITS = re.compile(r"\d+")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_DECADE = re.compile(r"(?:1[89]|20)?\d0'?s")


def dated(triple: Triple, passage: Passage) -> Triple:
    """The triple without the dates that neither its passage nor what that answers yields.

    What tells of a date ("the meeting is on 21 May") is so from when it was said: the date is its
    object, and not since when it holds.

    Args:
        triple: what an extractor read.
        passage: where, with the passages just before it: the last of them may be the question.
    """
    if triple.valid_from is None and triple.valid_to is None:
        return triple
    told = read(triple.subject, triple.predicate, triple.object, triple.polarity)
    if not DATES.isdisjoint(told.names):
        return replace(triple, valid_from=None, valid_to=None)
    said = [passage.full_text, *(one.text for one in passage.before[-1:])]
    heard = _Heard("\n".join(said), passage.said_at, passage.role == "document")
    return replace(
        triple,
        valid_from=triple.valid_from if heard.yields(triple.valid_from) else None,
        valid_to=triple.valid_to if heard.yields(triple.valid_to) else None,
    )


class _Heard:
    """The expressions of time in a text.

    Args:
        text: the text.
        said_at: when it was said; ``None`` is unknown: then relative expressions yield nothing.
        is_document: whether its year is enough, for a document dates its facts all over its text.
    """

    def __init__(self, text: str, said_at: datetime | None, is_document: bool) -> None:
        self._said_at = said_at
        self._is_document = is_document
        self._text = text.casefold()
        self._words = _words(text)
        self._numbers = {int(found[:9]) for found in _DIGITS.findall(text)}
        self._numbers |= {_NUMBERS[word] for word in self._words if word in _NUMBERS}
        self._ordinals = {int(found[1]) for found in _ORDINAL.finditer(self._text)}
        self._months = {MONTH_NUMBERS[word] for word in self._words if word in MONTH_NUMBERS}

    def yields(self, value: str | None) -> bool:
        """Whether an expression yields a time."""
        zone = self._said_at.tzinfo if self._said_at else None
        ends = span(value, zone)
        if value is None or ends is None:
            return False
        first, last = ends[0].date(), ends[1].date()
        parts = value.split("T")[0].split(" ")[0].split("-")
        if self._names(first, len(parts)):
            return True
        if self._said_at is None:
            return False
        today = self._said_at.date()
        away = max(first.toordinal() - today.toordinal(), today.toordinal() - last.toordinal())
        return away <= max(self._reaches(), default=-1) or self._is_near(first, len(parts), today)

    def _names(self, day: date, precision: int) -> bool:
        """Whether year, month and day, as far as they are given, are each named."""
        years = {day.year, day.year % 100} & self._numbers
        if not years and not (day.year % 10 == 0 and self._names_decade(day.year)):
            return False
        if precision == 1 or self._is_document:
            return True
        if day.month not in self._months | self._numbers:
            return False
        return precision == 2 or day.day in self._numbers

    def _names_decade(self, year: int) -> bool:
        return any(
            found.rstrip("'s").endswith(str(year)[-2:]) for found in _DECADE.findall(self._text)
        )

    def _is_near(self, day: date, precision: int, today: date) -> bool:
        """Whether the month or the day is named, of a year that goes without saying."""
        away = abs(day.toordinal() - today.toordinal())
        if away > 550 or precision == 1:
            return False
        if precision == 2:
            return day.month in self._months
        if day.day in self._numbers and day.month in self._months | self._numbers:
            return True
        return away <= 31 and day.day in self._ordinals

    def _reaches(self) -> Iterator[int]:
        """How many days back or ahead relative expressions reach."""
        for at, word in enumerate(self._words):
            unit = _unit(word)
            if word in _WEEKDAYS:
                yield 14
            elif unit:
                yield _UNITS[unit] * (_count(self._words[max(0, at - 3) : at]) + 1)
            if word in _NEAR:
                yield _NEAR[word]


def _unit(word: str) -> str:
    return next((form for form in (word, word.removesuffix("s")) if form in _UNITS), "")


def _count(before: tuple[str, ...]) -> int:
    """The number that stands before a unit: of "two", "ten more" or "a couple of"; 1 for none."""
    for word in reversed(before):
        if word.isdecimal():
            return min(int(word[:6]), 1_000)
        if word in _NUMBERS and word not in ("a", "an"):
            return _NUMBERS[word]
    return 1


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    return words(text)
