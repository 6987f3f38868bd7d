"""The passages of a scope, but for their words and vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphmem.identity import key64
from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.document import Document
from graphmem.index.ids import Ids
from graphmem.index.keys import KeyTable, keys_of
from graphmem.index.lists import Bools, Floats, Ints
from graphmem.index.relations import Relation
from graphmem.index.speakers import Speakers
from graphmem.index.threads import Threads
from graphmem.index.workspace import Numbering
from graphmem.types import Passage

__all__ = ["Passages"]

_SPOKEN, _PERSON, _USER, _PERSONAL, _QUESTION, _TIMED = (1 << bit for bit in range(6))


class Passages(Composite):
    """Who said what when, by position.

    Args:
        hub_share: see ``Speakers``.

    Attributes:
        ids: of the passages.
        threads, speakers: see there.
        numbering: of passages, for who holds the index's lock.
    """

    parts = ("ids", "threads", "speakers", "_thread", "_session", "_sessions", "_speaker", "_flags",
             "_title", "_titles", "_titled", "_entity", "_numbers")  # fmt: skip

    def __init__(self, hub_share: float) -> None:
        self.ids = Ids()
        self.threads = Threads()
        self.speakers = Speakers(hub_share)
        self.numbering = Numbering()
        self._thread = KeyTable()
        self._session = KeyTable()
        self._numbers = Column(np.int32, values=[0, 0])  # threads and sessions so far
        self._sessions = Column(np.int32)
        self._speaker = Column(np.int32)
        self._flags = Column(np.uint8)
        self._titles = KeyTable()  # key of the entity's id → title
        self._title = Column(np.int32)
        self._titled = Relation(weights=False)  # title → passages
        self._entity = Column(np.int32)  # title → entity, where there is one

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.ids)

    @property
    def here(self) -> int:
        """Number of passages."""
        return self.ids.here

    @property
    def speaker(self) -> Ints:
        """(P,) number of the speaker; -1 for a document's passage and for one that is gone."""
        return self._speaker.values  # type: ignore[return-value]

    @property
    def is_here(self) -> Bools:
        """(P,) whether it was not dropped."""
        return self._sessions.values >= 0

    def days(self, passages: Ints) -> Floats:
        """When they were said, in days since 1970; NaN where unknown."""
        return self.threads.stamps[passages] / 86400

    def flag(self, name: str, passages: Ints) -> Bools:
        """Whether passages are ``spoken``, by a ``person``, a ``question`` and so on, by name."""
        return (self._flags.values.take(passages) & _FLAGS[name]) > 0

    def by_flags(self, passages: Ints, **values: float) -> Floats:
        """For each passage the sum of the values of its flags, by name."""
        sums: Floats = sum(value * _FLAGGED[name] for name, value in values.items())  # type: ignore[assignment]
        return sums.take(self._flags.values.take(passages))

    def session(self, name: str) -> Ints:
        """The passages of a session, ascending."""
        number = self._session.get(key64(name))
        return np.nonzero(self._sessions.values == number)[0] if number >= 0 else _NONE

    def add(self, passages: Sequence[Passage], documents: Sequence[Document]) -> Ints:
        """The next passages; they are members of their threads from ``enter`` on."""
        positions = self.ids.add([one.id for one in passages])
        threads = self._number(self._thread, [one.thread or one.id for one in passages], 0)
        self.threads.add(threads, [_arrival(p) for p in passages], [_stamp(p) for p in passages])
        self._sessions.append(self._number(self._session, [one.session for one in passages], 1))
        self._speaker.append(self.speakers.numbers([one.speaker for one in passages]))
        self._flags.append([_flags(*both) for both in zip(passages, documents, strict=True)])
        self._title.append(self._title_numbers([one.title_id for one in documents]))
        return positions

    def move(self, position: int, passage: Passage) -> None:
        """A passage was said at another time, maybe."""
        self.threads.move(position, _arrival(passage), _stamp(passage))

    def enter(self, passages: Ints) -> None:
        """Let new passages count."""
        if not len(passages):
            return
        self.threads.enter(passages)
        self._count(passages, 1)
        titles = self._title.values[passages]
        titled = titles >= 0
        self._titled.add(titles[titled].astype(np.int64), passages[titled])

    def leave(self, passages: Ints) -> None:
        """Let passages count no more."""
        if not len(passages):
            return
        self.threads.leave(passages)
        self._count(passages, -1)
        titles = self._title.values[passages]
        titled = titles >= 0
        ones = np.full(int(titled.sum()), -1.0)
        self._titled.add(titles[titled].astype(np.int64), passages[titled], ones)
        self.ids.drop(self.ids.texts(passages))
        self._title.values[passages] = self._speaker.values[passages] = -1
        self._sessions.values[passages] = -1
        self._flags.values[passages] = 0

    def sweep(self) -> None:
        """Forget the names of threads, sessions, titles and speakers that are gone."""
        here = np.nonzero(self.is_here)[0]
        threads, sessions = (np.zeros(size, dtype=np.bool_) for size in self._numbers.values)
        titles = np.zeros(len(self._entity), dtype=np.bool_)
        threads[self.threads.of(here)] = True
        sessions[self._sessions.values[here]] = True
        titled = self._title.values[here]
        titles[titled[titled >= 0]] = True
        self._thread.keep(threads)
        self._session.keep(sessions)
        self._titles.keep(titles)
        self.speakers.sweep()

    def titles(self, passages: Ints) -> Ints:
        """The entity that each passage's title names, or -1."""
        titles = self._title.values[passages]
        entities = np.full(len(passages), -1, dtype=np.int64)
        entities[titles >= 0] = self._entity.values[titles[titles >= 0]]
        return entities

    def name_titles(self, entity_ids: Sequence[str], entities: Ints) -> Ints:
        """Entities came (or with -1 went); returns the passages whose titles they are."""
        titles = self._titles.find(keys_of(entity_ids))
        is_title = titles >= 0
        self._entity.values[titles[is_title]] = entities[is_title]
        return self._titled.gather(titles[is_title])[1]

    def _title_numbers(self, entity_ids: Sequence[str]) -> Ints:
        numbers = np.full(len(entity_ids), -1)
        places = [place for place, id_ in enumerate(entity_ids) if id_]
        keys = keys_of(entity_ids[place] for place in places)
        numbers[places], fresh = self._titles.number(keys, len(self._entity))
        self._entity.resize(len(self._entity) + len(fresh), -1)
        return numbers

    def _number(self, table: KeyTable, names: Sequence[str], which: int) -> Ints:
        numbers, fresh = table.number(keys_of(names), int(self._numbers.values[which]))
        self._numbers.values[which] += len(fresh)
        return numbers

    def _count(self, passages: Ints, by: int) -> None:
        self.speakers.count(self._speaker.values[passages], self.flag("user", passages), by)


_FLAGS = {
    "spoken": _SPOKEN,
    "person": _PERSON,
    "user": _USER,
    "personal": _PERSONAL,
    "question": _QUESTION,
    "timed": _TIMED,
}
# Of each combination of flags whether it has a flag, as 0 or 1.
_FLAGGED = {
    name: ((np.arange(1 << len(_FLAGS)) & bit) > 0).astype(np.float64)
    for name, bit in _FLAGS.items()
}
_NONE = np.zeros(0, dtype=np.int64)


def _stamp(passage: Passage) -> float:
    return np.nan if passage.said_at is None else passage.said_at.timestamp()


def _arrival(passage: Passage) -> int:
    return passage.ordinal << 20 | passage.part


def _flags(passage: Passage, document: Document) -> int:
    flags = _PERSON * (passage.role in ("user", "document"))
    if passage.speaker:
        manner = document.manner
        flags |= _SPOKEN | _USER * (passage.role == "user") | _PERSONAL * manner.is_personal
        flags |= _QUESTION * manner.is_question | _TIMED * manner.tells_time
    return flags
