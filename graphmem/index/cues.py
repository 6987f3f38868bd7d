"""What a conversation gives away besides its words: who speaks, when, and in what manner.

English only: in another language these cues are silent, and so they are for documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from graphmem.index.lists import Floats
from graphmem.times import MONTH_NUMBERS
from graphmem.words import is_question, words

__all__ = ["Manner", "QuestionCues", "closeness", "manner", "read_question"]

# Months are matched with their capital: "may" and "march" are verbs as well.
_MONTH = rf"({'|'.join(sorted(map(str.capitalize, MONTH_NUMBERS), key=len, reverse=True))})\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\b(?:,? (?P<year>\d{4})\b)?"
_DATES = (
    re.compile(rf"\b(?P<day>{_DAY})(?: of)? (?P<month>{_MONTH}){_YEAR}"),
    re.compile(rf"\b(?P<month>{_MONTH})(?: (?P<day>{_DAY})\b)?{_YEAR}"),
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?\b"),
)
_ASKS_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|week|time|season)\b"
    r"|\bhow (?:long|soon|often)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = frozenset("i me my mine myself we us our ours ourselves".split())
_TIME_WORDS = frozenset(
    """
    today tonight yesterday tomorrow morning afternoon evening night noon midnight week weeks
    weekend month months year years day days ago monday tuesday wednesday thursday friday saturday
    sunday mon tue tues wed thu thur thurs fri sat sun spring summer autumn winter
    """.split()
) | frozenset(MONTH_NUMBERS)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a message is said.

    Attributes:
        is_personal: it has a word of the first person.
        is_question: it ends in a question mark.
        tells_time: it has a word of time, or a number.
    """

    is_personal: bool
    is_question: bool
    tells_time: bool


@dataclass(frozen=True, slots=True)
class QuestionDate:
    """A month, or a day of one, that a question names; the year may be open."""

    month: int
    day: int | None
    year: int | None


@dataclass(frozen=True, slots=True)
class QuestionCues:
    """What a question says besides its words.

    Attributes:
        speakers: the speakers it names.
        dates: the months and days it names.
        asks_when: whether it asks for a time.
    """

    speakers: tuple[str, ...]
    dates: tuple[QuestionDate, ...]
    asks_when: bool


def manner(text: str, text_words: Sequence[str]) -> Manner:
    """How a message is said, from its text and words."""
    return Manner(
        is_personal=_is_personal(text_words),
        is_question=is_question(text),
        tells_time=not _TIME_WORDS.isdisjoint(text_words)
        or any(word[0].isdecimal() for word in text_words),
    )


def _is_personal(text_words: Sequence[str]) -> bool:
    return not _FIRST_PERSON.isdisjoint(text_words) or any(
        word.partition("'")[0] in _FIRST_PERSON for word in text_words if "'" in word
    )


def read_question(question: str, speakers: Collection[str], asker: str | None) -> QuestionCues:
    """The cues of a question.

    Args:
        question: its text.
        speakers: everyone who speaks in this memory.
        asker: who "I" and "my" in the question stand for; None where that is open.
    """
    asked = words(question)
    named = {speaker for speaker in speakers if _is_named(words(speaker), asked)}
    if asker is not None and _is_personal(asked):
        named.add(asker)
    return QuestionCues(tuple(sorted(named)), _dates(question), bool(_ASKS_WHEN.search(question)))


def _is_named(name: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    """By the whole name, or by the first of its words."""
    return bool(name) and len(name[0]) > 1 and name[0] in asked


def _dates(question: str) -> tuple[QuestionDate, ...]:
    found: list[QuestionDate] = []
    for pattern in _DATES:
        for match in pattern.finditer(question):
            date = _date(match)
            if date is not None:
                found.append(date)
        if found:
            break
    return tuple(found)


def _date(match: re.Match[str]) -> QuestionDate | None:
    name, day, year = match["month"], match["day"], match["year"]
    month = int(name) if name.isdecimal() else MONTH_NUMBERS[name.rstrip(".").lower()]
    number = int(day.rstrip("stndrh")) if day else None
    if not 1 <= month <= 12 or (number is not None and not 1 <= number <= 31):
        return None
    return QuestionDate(month, number, int(year) if year else None)


def closeness(dates: Sequence[QuestionDate], days: Floats, scale: float) -> Floats:
    """How near each day is to the nearest of the dates: 1 within, 1/e ``scale`` days away.

    Args:
        dates: as a question names them; an open year fits every year.
        days: shape (n,): days since 1970, UTC; NaN is unknown and gets 0.
        scale: in days, above 0.
    """
    nearest = np.full(days.shape, np.inf)
    known = np.isfinite(days)
    if not dates or not known.any():
        return np.zeros(days.shape)
    first, last = (_year(float(edge)) for edge in (days[known].min(), days[known].max()))
    for date in dates:
        for year in [date.year] if date.year else range(first - 1, last + 2):
            start, stop = _span(date, year)
            distance = np.maximum(0.0, np.maximum(start - days, days - stop))
            np.fmin(nearest, distance, out=nearest)
    return np.where(known, np.exp(-nearest / scale), 0.0)


def _year(day: float) -> int:
    return datetime.fromtimestamp(day * 86400, tz=timezone.utc).year


def _span(date: QuestionDate, year: int) -> tuple[float, float]:
    """First moment and last moment of the date, in days since 1970."""
    month = np.datetime64(f"{year:04d}-{date.month:02d}", "M")
    start = float(month.astype("datetime64[D]").astype(np.int64))
    if date.day is None:
        return start, float((month + 1).astype("datetime64[D]").astype(np.int64)) - 1e-6
    return start + date.day - 1, start + date.day - 1e-6
