"""Dates in English text, absolute or relative to when something was said.

A date is known to a year, a month or a day, never more. What cannot be told ("recently", "last
week", a bare day of the month in a document) stays unknown: nothing resolves against today.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from graphmem.times import MONTHS, WEEKDAYS

__all__ = ["Day", "Mention", "find"]

_NUMBERS = dict(
    zip(
        "a an one two three four five six seven eight nine ten".split(),
        [1, 1, *range(1, 11)],
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Day:
    """A date of known precision: ``month`` and ``day`` are 0 where unknown."""

    year: int
    month: int = 0
    day: int = 0

    def __str__(self) -> str:
        """As people write it: ``22 April 2025``, ``April 2025``, ``2025``."""
        month = MONTHS[self.month - 1].capitalize() if self.month else ""
        return " ".join(part for part in (str(self.day or ""), month, str(self.year)) if part)

    @property
    def iso(self) -> str:
        """ISO 8601 of the known precision."""
        parts = [f"{self.year:04d}"]
        parts += [f"{part:02d}" for part in (self.month, self.day) if part]
        return "-".join(parts)


_Reader = Callable[["re.Match[str]", date | None, bool], "Day | None"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A date expression at ``start`` to ``end`` of a text, still to be resolved."""

    start: int
    end: int
    _match: re.Match[str]
    _read: _Reader

    def resolve(self, said_at: datetime | None, *, is_past: bool) -> Day | None:
        """The date meant, or ``None`` where it cannot be told.

        Args:
            said_at: when the words were said; without it only absolute dates resolve.
            is_past: whether the clause speaks of the past, for "friday", "in march", "the 12th".
        """
        try:
            return self._read(self._match, said_at.date() if said_at else None, is_past)
        except (ValueError, OverflowError):  # the 31st of February, the year 0
            return None


def find(text: str) -> tuple[Mention, ...]:
    """The date expressions of a text in order, longest first where they overlap."""
    taken: list[Mention] = []
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            if all(match.end() <= known.start or match.start() >= known.end for known in taken):
                taken.append(Mention(match.start(), match.end(), match, read))
    return tuple(sorted(taken, key=lambda mention: mention.start))


def _day(day: date) -> Day:
    return Day(day.year, day.month, day.day)


def _checked(year: int, month: int, day: int) -> Day:
    return _day(date(year, month, day))


def _month(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _shift_months(day: date, months: int) -> tuple[int, int]:
    count = day.year * 12 + day.month - 1 + months
    return count // 12, count % 12 + 1


def _nearest_year(month: int, day: int, said: date, is_past: bool) -> int:
    """The year that puts a month (and day, or 0) last before, or next after, the time of speech."""
    here = (month, day or said.day) if month != said.month or day else (said.month, said.day)
    today = (said.month, said.day)
    if is_past:
        return said.year if here <= today else said.year - 1
    return said.year if here >= today else said.year + 1


def _full(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    month = _month(match["month"])
    day = int(match["day"])
    if match["year"]:
        return _checked(int(match["year"]), month, day)
    if said is None:
        return None
    return _checked(_nearest_year(month, day, said, is_past), month, day)


def _iso(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    return _checked(int(match["year"]), int(match["month"]), int(match["day"]))


def _month_year(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    return Day(int(match["year"]), _month(match["month"]))


def _month_alone(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    month, which = _month(match["month"]), (match["which"] or "").lower()
    if which == "last":
        return Day(said.year if month < said.month else said.year - 1, month)
    if which == "next":
        return Day(said.year if month > said.month else said.year + 1, month)
    return Day(_nearest_year(month, 0, said, is_past), month)


def _year(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    return Day(int(match["year"]))


def _near_day(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    word = " ".join(match[0].lower().split())
    offsets = {
        "the day before yesterday": -2,
        "yesterday": -1,
        "last night": -1,
        "tomorrow": 1,
        "the day after tomorrow": 2,
    }
    offset = next((days for name, days in offsets.items() if word.startswith(name)), 0)
    return _day(said + timedelta(days=offset))


def _weekday(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    which = (match["which"] or "").lower()
    ahead = (WEEKDAYS.index(match["weekday"].lower()) - said.weekday()) % 7
    if which in ("last", "past") or (not which and is_past):
        return _day(said - timedelta(days=(7 - ahead) if ahead or which else 0))
    if which == "next":
        return _day(said + timedelta(days=ahead or 7))
    if which == "this" and is_past:
        return _day(said - timedelta(days=(7 - ahead) % 7))
    return _day(said + timedelta(days=ahead))


def _distance(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    count, unit = _number(match["count"]), match["unit"].lower().rstrip("s")
    sign = -1 if match["ago"] else 1
    if unit in ("day", "week"):
        return _day(said + timedelta(days=sign * count * (7 if unit == "week" else 1)))
    if unit == "month":
        return Day(*_shift_months(said, sign * count))
    return Day(said.year + sign * count)


def _week_from(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    return _day(said + timedelta(days=7 + (match[0].lower().endswith("tomorrow"))))


def _relative_span(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    if match["unit"].lower() == "month":
        return Day(*_shift_months(said, step))
    return Day(said.year + step)


def _day_of_month(match: re.Match[str], said: date | None, is_past: bool) -> Day | None:
    if said is None:
        return None
    day = int(match["day"])
    step = 0 if day == said.day else (-(day > said.day) if is_past else int(day < said.day))
    year, month = _shift_months(said, step)
    return _checked(year, month, day)


_M = r"(?P<month>" + "|".join(f"{name}|{name[:3]}\\b\\.?" for name in MONTHS if name != "may")
_M = _M + r"|sept\.?|may)"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_Y = r"(?P<year>1[0-9]\d\d|20\d\d)"
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(_NUMBERS) + ")"
_ON_DAY = rf"(?:(?:{'|'.join(WEEKDAYS)}),?\s+)?"
_WHICH = r"(?<!every\s)(?<!each\s)(?:(?P<which>last|next|this|past)\s+)?"


def _pattern(source: str, read: _Reader) -> tuple[re.Pattern[str], _Reader]:
    return re.compile(rf"(?<![\w-]){source}(?![\w-])", re.IGNORECASE), read


# In order of precedence: an earlier pattern's match is not read again by a later one.
_PATTERNS = (
    _pattern(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", _iso),
    _pattern(rf"{_ON_DAY}(?:the\s+)?{_D}(?:\s+of)?\s+{_M}(?:,?\s+{_Y})?", _full),
    _pattern(rf"{_M}\s+(?:the\s+)?{_D}(?:,?\s+{_Y})?(?!\s*[:%])", _full),
    _pattern(rf"{_M},?\s+(?:of\s+)?{_Y}", _month_year),
    _pattern(
        r"the\s+day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|today|tonight|tomorrow"
        r"|last\s+night|this\s+(?:morning|afternoon|evening)",
        _near_day,
    ),
    _pattern(rf"{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?P<ago>ago)", _distance),
    _pattern(rf"(?<=in\s){_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)(?P<ago>)", _distance),
    _pattern(r"a\s+week\s+(?:from\s+)?(?:tomorrow|today)", _week_from),
    _pattern(
        rf"(?:{'|'.join(WEEKDAYS)}),?\s+(?:the\s+)?(?P<day>[0-3]?\d)(?:st|nd|rd|th)", _day_of_month
    ),
    _pattern(rf"{_WHICH}(?P<weekday>{'|'.join(WEEKDAYS)})", _weekday),
    _pattern(r"(?P<which>last|next|this)\s+(?P<unit>month|year)", _relative_span),
    _pattern(
        rf"{_WHICH}(?P<month>{'|'.join(name for name in MONTHS if name not in ('may', 'march'))}"
        r"|(?:(?<=in\s)|(?<=since\s)|(?<=until\s)|(?<=till\s)|(?<=by\s)|(?<=of\s)|(?<=last\s)"
        r"|(?<=next\s))(?:may|march))",
        _month_alone,
    ),
    _pattern(r"the\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)", _day_of_month),
    _pattern(_Y, _year),
)
