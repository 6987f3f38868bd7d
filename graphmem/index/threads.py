"""Threads: who stands beside whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.lists import Bools, Floats, Ints, each_once
from graphmem.index.relations import Relation

__all__ = ["Threads"]


class Threads(Composite):
    """The passages of each thread as they were said, each with the one before and after it.

    A message whose time is known stands at that time, another one at the time of the nearest
    earlier arrival that has one (see ``graphmem.threads.places``).
    """

    parts = ("_members", "_thread", "_arrival", "_stamp", "_before", "_after")

    def __init__(self) -> None:
        self._members = Relation(weights=False)
        self._thread = Column(np.int32)
        self._arrival = Column(np.int64)
        self._stamp = Column(np.float64)
        self._before = Column(np.int32)
        self._after = Column(np.int32)

    def add(self, threads: Ints, arrivals: Sequence[int], stamps: Sequence[float]) -> None:
        """The next passages: numbers of their threads, of their arrival, and when they were said.

        They stand beside nobody until ``arrange``.
        """
        self._thread.append(threads)
        self._arrival.append(arrivals)
        self._stamp.append(stamps)
        for column in (self._before, self._after):
            column.resize(len(self._thread), -1)

    def enter(self, passages: Ints) -> None:
        """Let passages that were added be members of their threads."""
        self._members.add(self.of(passages), passages)

    def leave(self, passages: Ints) -> None:
        """Take passages out of their threads."""
        self._members.add(self.of(passages), passages, np.full(len(passages), -1.0))
        self._before.values[passages] = self._after.values[passages] = -1

    def move(self, passage: int, arrival: int, stamp: float) -> None:
        """A passage arrived, or was said, at another time."""
        self._arrival.values[passage] = arrival
        self._stamp.values[passage] = stamp

    def of(self, passages: Ints) -> Ints:
        """Numbers of the passages' threads."""
        return self._thread.values[passages].astype(np.int64)

    @property
    def stamps(self) -> Floats:
        """When each was said, seconds since 1970; NaN where unknown."""
        return self._stamp.values

    def arrange(self, passages: Ints) -> Ints:
        """Put the threads of passages in order; returns those that now stand beside others."""
        places, members, _ = self._members.gather(each_once(self.of(passages)))
        if not len(members):
            return members
        arrived = np.lexsort((members, self._arrival.values[members], places))
        places, members = places[arrived], members[arrived]
        stamps = self._stamp.values[members]
        number = np.arange(len(members))
        latest = np.maximum.accumulate(np.where(np.isfinite(stamps), number, -1))
        first = np.maximum.accumulate(np.where(np.r_[True, places[1:] != places[:-1]], number, 0))
        standing = np.where(latest >= first, stamps[latest], -np.inf)
        order = np.lexsort((number, standing, places))
        places, members = places[order], members[order]
        together = places[1:] == places[:-1]
        before, after = np.full(len(members), -1), np.full(len(members), -1)
        before[1:][together] = members[:-1][together]
        after[:-1][together] = members[1:][together]
        moved: Bools = self._before.values[members] != before
        moved |= self._after.values[members] != after
        self._before.values[members], self._after.values[members] = before, after
        return members[moved]

    def around(self, passages: Ints, offsets: Iterable[int]) -> dict[int, Ints]:
        """For each offset in the thread the passage that stands there, or -1."""
        wanted = sorted(set(offsets))
        found = {0: passages}
        for sign, step in ((-1, self._before.values), (1, self._after.values)):
            here = passages
            for offset in range(1, max((sign * one for one in wanted), default=0) + 1):
                beside = step.take(here, mode="wrap").astype(np.int64)
                beside[here < 0] = -1
                here = found[sign * offset] = beside
        return {offset: found[offset] for offset in wanted}

    def near(self, passages: Ints, offsets: Iterable[int]) -> Ints:
        """The passages and those at the offsets from them, ascending, each once."""
        return _distinct([passages, *self.around(passages, offsets).values()])

    def seen_by(self, passages: Ints, offsets: Iterable[int]) -> Ints:
        """The passages and those that see them at one of the offsets."""
        return self.near(passages, [-offset for offset in offsets])


def _distinct(parts: Iterable[Ints]) -> Ints:
    found = each_once(np.concatenate(list(parts)))
    return found[found >= 0]
