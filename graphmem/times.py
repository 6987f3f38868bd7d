"""Times as texts state them: ISO 8601 of the precision that is known, and no more.

``"2025"``, ``"2025-09"``, ``"2025-09-14"`` or a full time. What is none of these is no time: it is
passed over, never guessed at.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo

__all__ = ["MONTHS", "MONTH_NUMBERS", "WEEKDAYS", "earliest", "latest", "moment", "span"]

MONTHS = tuple(
    "january february march april may june july august september october november december".split()
)
MONTH_NUMBERS = (
    {name: number for number, name in enumerate(MONTHS, 1)}
    | {name[:3]: number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
"""Of each name of a month, in full or short, its number from 1."""
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
"""In the order of ``date.weekday()``."""
"""English names of the months, in lower case."""

_ZULU = re.compile(r"(?<=\d)[Zz]\Z")
_CLOCK = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", re.ASCII)
_CALENDAR = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?", re.ASCII)


def moment(text: str) -> datetime:
    """The moment that an ISO 8601 text states; without a zone where the text has none.

    Raises:
        ValueError: it states none.
    """
    # Python 3.10 does not read the Z.
    return datetime.fromisoformat(_ZULU.sub("+00:00", text))


def span(value: str | None, zone: tzinfo | None = None) -> tuple[datetime, datetime] | None:
    """The first and the last moment of a time; ``None`` for no time.

    Args:
        value: the time.
        zone: where a calendar time, and a clock time that states no zone, counts; UTC by default.
    """
    if not value:
        return None
    try:
        return _span(value, zone or timezone.utc)
    except (ValueError, OverflowError):
        return None


def _span(value: str, zone: tzinfo) -> tuple[datetime, datetime] | None:
    found = _CALENDAR.fullmatch(value)
    if found:
        return _calendar_span(int(found[1]), int(found[2] or 0), int(found[3] or 0), zone)
    # Newer Pythons read more notations than older ones: only what all of them read counts.
    if not _CLOCK.match(value):
        return None
    at = moment(value)
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    return at, at


def earliest(starts: Iterable[str | None]) -> str | None:
    """The earliest time, as precise as stated: ``2025-09`` of ``2025``, ``2025-09``, ``2026``."""
    spans = _spans(starts)
    if not spans:
        return None
    first, last = min(spans.values(), key=lambda ends: (ends[0], -ends[1].timestamp()))
    inside = {value: ends for value, ends in spans.items() if ends[0] >= first and ends[1] <= last}
    return min(inside, key=lambda value: (inside[value][1] - inside[value][0], value))


def latest(ends: Iterable[str | None], *, after: str | None = None) -> str | None:
    """The latest time, the more precise of equals; ``None`` where it lies before ``after``."""
    spans = _spans(ends)
    if not spans:
        return None
    last = max(spans, key=lambda value: (spans[value][1], spans[value][0], value))
    start = span(after)
    return None if start and spans[last][1] < start[0] else last


def _spans(values: Iterable[str | None]) -> dict[str, tuple[datetime, datetime]]:
    return {value: ends for value in values if value and (ends := span(value))}


def _calendar_span(year: int, month: int, day: int, zone: tzinfo) -> tuple[datetime, datetime]:
    first = datetime(year, month or 1, day or 1, tzinfo=zone)
    days = 1 if day else monthrange(year, month)[1] if month else 365 + isleap(year)
    return first, first + (timedelta(days=days) - timedelta(microseconds=1))
