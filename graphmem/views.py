"""What a recall reads of the store: the rows that it shows, and another time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from graphmem.recall import Rows
from graphmem.store import Store
from graphmem.types import Fact, Scope

__all__ = ["AnotherTime", "Shown"]


class Shown:
    """Reads what a recall shows.

    Attributes:
        has_missed: whether a passage that was to be shown was not there any more.
    """

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self.has_missed = False

    def __call__(
        self, passages: Sequence[str], facts: Sequence[str], entities: Sequence[str]
    ) -> Rows:
        """The rows of these ids, but for those that are not there any more."""
        rows = Rows(
            *self._store.by_id(self._scope, passages=passages, facts=facts, entities=entities)
        )
        self.has_missed = len(rows.passages) < len(passages)
        return rows


class AnotherTime:
    """What held, and what was known, at another time than now.

    Attributes:
        as_of: what held in the world then; ``None`` asks what was believed.
    """

    def __init__(
        self, store: Store, scope: Scope, as_of: datetime | None, known_at: datetime | None
    ) -> None:
        self._store = store
        self._scope = scope
        self.as_of = as_of
        self._known_at = known_at
        # One recall asks several times about the same.
        self._facts: dict[str, Fact | None] = {}
        self._passages: dict[str, bool] = {}

    def facts(self, ids: Sequence[str]) -> Mapping[str, Fact]:
        """Those of the facts that held then, as they were believed."""
        new = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._facts]
        if new:
            held = self._store.facts_then(
                self._scope, new, as_of=self.as_of, known_at=self._known_at
            )
            self._facts.update((id_, held.get(id_)) for id_ in new)
        return {id_: one for id_ in ids if (one := self._facts[id_]) is not None}

    def passages(self, ids: Sequence[str]) -> Collection[str]:
        """Those of the passages that were known then."""
        new = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._passages]
        if new:
            known = self._store.known_passages(self._scope, new, known_at=self._known_at)
            self._passages.update((id_, id_ in known) for id_ in new)
        return {id_ for id_ in ids if self._passages[id_]}
