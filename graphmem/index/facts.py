"""The facts of a scope, but for their words and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import get_args

import numpy as np

from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.ids import Ids
from graphmem.index.keys import Keys, keys_of
from graphmem.index.lists import Bools, Floats, Ints, each_once
from graphmem.index.profiles import Pairs, changed, distinct
from graphmem.index.relations import Relation
from graphmem.types import Fact, Status

__all__ = ["Facts", "Told"]

_STATUS: tuple[Status, ...] = get_args(Status)
_STATUS_BITS, _LIVE, _RETIRED = 15, 16, 32
_REJECTED = _STATUS.index("rejected")
_NOBODY = np.uint64(0)
# How often what replaced a fact may have been replaced in turn.
_MOST_TURNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What telling facts has changed.

    Attributes:
        passages: those whose facts are others than before.
        edges: (facts, change of weight): how much more or fewer passages state a live fact.
        came, went: facts that are stated now and were not, and the other way round.
        every: all facts that were looked at.
    """

    passages: Ints
    edges: tuple[Ints, Floats]
    came: Ints
    went: Ints
    every: Ints


class Facts(Composite):
    """What passages state, by position. A fact is here while a passage states it.

    Attributes:
        ids: of the facts.
        stating, stated: fact → passages, and the inverse.
    """

    parts = ("ids", "stating", "stated", "_ends", "_state", "_winner", "_count", "_edge",
             "_words")  # fmt: skip

    def __init__(self) -> None:
        self.ids = Ids()
        self.stating = Relation(weights=False)
        self.stated = Relation(weights=False)
        self._ends = Column(np.int32, 2)
        self._state = Column(np.uint8)
        self._winner = Column(np.uint64)  # key of the id of what replaced it, or nothing's
        self._count = Column(np.int32)
        self._edge = Column(np.float64)
        self._words = Column(np.uint64)  # key of its text: whether it is worded as before

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.ids)

    def ends(self, facts: Ints) -> Ints:
        """(n, 2) the entities at the ends."""
        return self._ends.values[facts].astype(np.int64)

    def is_live(self, facts: Ints) -> Bools:
        """Whether they may seed: believed now, neither withheld nor superseded."""
        return (self._state.values[facts] & _LIVE) > 0

    def is_outdated(self, facts: Ints) -> Bools:
        """Whether they are not so any more, or never were: replaced, or rejected."""
        states = self._state.values[facts]
        is_outdated: Bools = ((states & _RETIRED) > 0) | ((states & _STATUS_BITS) == _REJECTED)
        return is_outdated

    def winners(self, facts: Ints) -> Ints:
        """What holds in place of each, however often that was replaced in turn; -1 for nothing."""
        found = np.full(len(facts), -1, dtype=np.int64)
        at = facts
        for _ in range(_MOST_TURNS):
            keys = np.where(at >= 0, self._winner.values[at], _NOBODY)
            at = np.where(keys != _NOBODY, self.ids.at(keys), -1)
            if not (at >= 0).any():
                break
            found = np.where(at >= 0, at, found)
        return found

    def why_withheld(self, fact: int) -> str:
        """Why a fact may not seed."""
        state = int(self._state.values[fact])
        return "superseded" if state & _RETIRED else _STATUS[state & _STATUS_BITS]

    def words(self, facts: Ints) -> Keys:
        """Keys of the facts' texts."""
        return self._words.values[facts]

    def add(self, rows: Sequence[Fact], ends: Ints, words: Keys) -> Ints:
        """The next facts, which nothing states yet: entities at their ends, keys of their texts."""
        positions = self.ids.add([one.id for one in rows])
        self._ends.append(ends)
        self._words.append(words)
        for column in (self._state, self._winner, self._count, self._edge):
            column.resize(len(self.ids))
        return positions

    def tell(self, facts: Ints, rows: Sequence[Fact], passages: Ids, gone: Ints) -> Told:
        """Bring facts up to date; those in ``gone`` nothing states any more.

        Args:
            facts: positions of ``rows``.
            rows: as they are now.
            passages: positions of passages.
            gone: positions, none of ``facts``.
        """
        every = np.concatenate([facts, gone])
        state = np.array([_state(one) for one in rows], dtype=np.uint8)
        self._state.values[facts], self._state.values[gone] = state, 0
        self._winner.values[facts], self._winner.values[gone] = _winners(rows), _NOBODY
        after = _pairs(passages, rows)
        places, items, _ = self.stating.gather(every)
        change = changed(Pairs(places, items, np.ones(len(places))), after)
        return self._link(every, every[change.places], change.items, change.values)

    def unlink(self, passages: Ints) -> Told:
        """Passages state nothing any more."""
        places, facts, _ = self.stated.gather(passages)
        return self._link(each_once(facts), facts, passages[places], np.full(len(facts), -1.0))

    def _link(self, every: Ints, facts: Ints, passages: Ints, signs: Floats) -> Told:
        self.stating.add(facts, passages, signs)
        self.stated.add(passages, facts, signs)
        before = self._count.values[every]
        np.add.at(self._count.values, facts, signs.astype(np.int32))
        now = self._count.values[every]
        came, went = every[(before == 0) & (now > 0)], every[(before > 0) & (now == 0)]
        weights = np.where(self.is_live(every), now, 0).astype(np.float64)
        change = weights - self._edge.values[every]
        self._edge.values[every] = weights
        moved = change != 0
        return Told(each_once(passages), (every[moved], change[moved]), came, went, every)

    def silent(self, facts: Ints) -> Ints:
        """Those that nothing states."""
        found = each_once(facts)
        is_silent: Bools = self._count.values[found] == 0
        return found[is_silent]

    def drop(self, facts: Ints) -> None:
        """Forget facts that nothing states."""
        self.ids.drop(self.ids.texts(facts))
        self._state.values[facts] = 0
        self._winner.values[facts] = _NOBODY
        self._words.values[facts] = 0


def _state(fact: Fact) -> int:
    return (
        _STATUS.index(fact.status) | _LIVE * fact.is_live | _RETIRED * (fact.retired_at is not None)
    )


def _winners(facts: Sequence[Fact]) -> Keys:
    keys = keys_of(one.replaced_by or "" for one in facts)
    return np.where([one.replaced_by is not None for one in facts], keys, _NOBODY)


def _pairs(passages: Ids, rows: Sequence[Fact]) -> Pairs:
    stated = [one.passages for one in rows]
    known: dict[str, int] = dict.fromkeys(chain.from_iterable(stated), -1)
    known.update(zip(known, passages.find(list(known)).tolist(), strict=True))
    items = np.array([known[id_] for ids in stated for id_ in ids], dtype=np.int64)
    places = np.repeat(np.arange(len(stated)), np.array([len(ids) for ids in stated], dtype=int))
    return distinct(places[items >= 0], items[items >= 0])
