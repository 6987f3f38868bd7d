"""The order of a thread: who stands before whom, when some times are known and some are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from graphmem.types import Passage

__all__ = ["in_order", "places"]

T = TypeVar("T")


def places(stamps: Sequence[T | None], nowhere: T) -> list[T]:
    """Where each message of a thread stands, given its known times in order of arrival.

    A message whose time is known stands at that time. One whose time is not known stands at the
    time of the nearest earlier arrival that has one: it was said after what had come before it.
    Messages of one place follow each other as they arrived.

    Args:
        stamps: the time of each message, or ``None``, by arrival.
        nowhere: the place before all times, for messages with no stamped arrival before them.
    """
    found = []
    last = nowhere
    for stamp in stamps:
        last = last if stamp is None else stamp
        found.append(last)
    return found


def in_order(passages: Iterable[Passage]) -> list[Passage]:
    """Passages by thread, and within each thread as they were said (see ``places``).

    Threads follow each other by name; ties are broken by id.
    """
    arrived = sorted(passages, key=lambda one: (one.thread, one.ordinal, one.part, one.id))
    start = 0
    ordered: list[Passage] = []
    for stop in range(1, len(arrived) + 1):
        if stop == len(arrived) or arrived[stop].thread != arrived[start].thread:
            ordered += _thread_in_order(arrived[start:stop])
            start = stop
    return ordered


def _thread_in_order(arrived: list[Passage]) -> list[Passage]:
    stamps = [None if one.said_at is None else one.said_at.timestamp() for one in arrived]
    placed = zip(places(stamps, float("-inf")), arrived, strict=True)
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]
