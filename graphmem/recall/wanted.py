"""What a recall is about: the passages and facts of a session, and of another time."""

from __future__ import annotations

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Bools, Ints, among
from graphmem.recall.past import Past, held_then, seen_then

__all__ = ["Wanted"]


class Wanted:
    """Which passages may be shown, and what facts count for, in one recall.

    Args:
        memory: the index.
        session: only passages of this session; None for all.
        past: what held and was known at another time; None for now.
    """

    def __init__(self, memory: Index, session: str | None, past: Past | None) -> None:
        self._memory = memory
        self.session = session
        self._within = None if session is None else memory.passages.session(session)
        self.past = past

    def only(self, passages: Ints) -> Ints:
        """Those of the passages that may be shown."""
        return passages if self._is_all else passages[self.is_wanted(passages)]

    def is_wanted(self, passages: Ints) -> Bools:
        """Whether passages may be shown."""
        wanted = np.ones(len(passages), dtype=np.bool_)
        if self._within is not None:
            wanted &= among(self._within, passages)
        if self.past is not None:
            wanted &= seen_then(self._memory, passages, self.past)
        return wanted

    def is_live(self, facts: Ints) -> Bools:
        """Whether facts may seed, and be shown as what is so."""
        if self.past is not None:
            return held_then(self._memory, facts, self.past)
        return self._memory.facts.is_live(facts)

    def is_outdated(self, facts: Ints) -> Bools:
        """Whether facts are not so, though they were said."""
        is_outdated = self._memory.facts.is_outdated(facts)
        return is_outdated if self.past is None else is_outdated & ~self.is_live(facts)

    def is_over(self, facts: Ints) -> Bools:
        """Whether facts that are believed, or were, are not of that time."""
        known = self._memory.facts.is_outdated(facts) | self._memory.facts.is_live(facts)
        return known & ~self.is_live(facts)

    @property
    def _is_all(self) -> bool:
        return self._within is None and self.past is None
