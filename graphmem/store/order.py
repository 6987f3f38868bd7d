"""Neighbours: what stands before and behind a passage in its thread, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, select, tuple_, update

from graphmem.store.bulk import among, ours
from graphmem.store.lookup import Lookup
from graphmem.store.records import OF_MESSAGE, passages_by_id
from graphmem.store.schema import NOWHERE, message, mine, passage
from graphmem.store.transaction import Transaction
from graphmem.threads import places
from graphmem.types import Passage, Scope

__all__ = [
    "CONTEXT_PASSAGES",
    "ORDER",
    "behind",
    "followers",
    "passages_of",
    "place",
    "positions",
    "rearrange",
    "with_context",
]

# How far an extractor may look back to resolve "she" or "there".
CONTEXT_PASSAGES = 8

# Where a passage stands in its thread.
ORDER = (passage.c.place, passage.c.ordinal, passage.c.part)


_PLACES = Lookup(
    select(
        passage.c.id,
        passage.c.thread,
        *ORDER,
        (func.length(message.c.title) + passage.c.stop - passage.c.start).label("chars"),
    )
    .select_from(passage.join(message, OF_MESSAGE))
    .where(ours(passage), among(passage.c.id))
)
_IN_THREAD = select(passage.c.id).where(ours(passage), passage.c.thread == bindparam("thread"))
# Bound, not joined: only then SQLite seeks all three in the index.
_HERE = tuple_(*(bindparam(one.name, type_=one.type) for one in ORDER))
_BEFORE = Lookup(
    _IN_THREAD.where(tuple_(*ORDER) < _HERE)
    .order_by(*(one.desc() for one in ORDER))
    .limit(CONTEXT_PASSAGES)
)
_BEHIND = Lookup(_IN_THREAD.where(tuple_(*ORDER) > _HERE).order_by(*ORDER).limit(CONTEXT_PASSAGES))
_OF_THREAD = ours(message) & (message.c.thread == bindparam("thread"))
_UNSTAMPED = Lookup(select(message.c.id).where(_OF_THREAD, message.c.said_us.is_(None)).limit(1))
_ARRIVED = Lookup(
    select(message.c.id, message.c.said_us, message.c.place)
    .where(_OF_THREAD)
    .order_by(message.c.ordinal)
)
_OF_MESSAGES = Lookup(
    select(passage.c.id)
    .select_from(message.join(passage, OF_MESSAGE))
    .where(ours(message), among(message.c.id))
    .order_by(message.c.id, passage.c.part)
)


def positions(connection: Connection, scope: Scope, ids: Iterable[str]) -> Sequence[Any]:
    """Where passages stand: id, thread, ``ORDER``, and how many characters they have."""
    wanted = list(ids)
    return _PLACES.rows(connection, scope, wanted) if wanted else ()


def with_context(connection: Connection, scope: Scope, rows: Sequence[Any]) -> tuple[Passage, ...]:
    """The passages of rows of ``positions``, each with those just before it, oldest first."""
    ahead = {row.id: _seek(connection, scope, _BEFORE, row)[::-1] for row in rows}
    wanted = dict.fromkeys(one for id_, some in ahead.items() for one in (id_, *some))
    known = passages_by_id(connection, scope, wanted)
    return tuple(
        replace(known[id_], before=tuple(known[one] for one in some)) for id_, some in ahead.items()
    )


def behind(tx: Transaction, id_: str) -> list[Passage]:
    """The passages just behind one in its thread, in order."""
    found = [
        one
        for row in positions(tx.connection, tx.scope, [id_])
        for one in _seek(tx.connection, tx.scope, _BEHIND, row)
    ]
    known = passages_by_id(tx.connection, tx.scope, found)
    return [known[one] for one in found]


def followers(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Ids of the passages from which a look back reaches any of these."""
    found: set[str] = set()
    for row in positions(tx.connection, tx.scope, ids):
        found.update(_seek(tx.connection, tx.scope, _BEHIND, row))
    return found


def _seek(connection: Connection, scope: Scope, near: Lookup, row: Any) -> list[str]:
    here = {"thread": row.thread, "place": row.place, "ordinal": row.ordinal, "part": row.part}
    return [id_ for (id_,) in near.rows(connection, scope, **here)]


def place(tx: Transaction, places: Mapping[str, int]) -> None:
    """Let messages stand elsewhere, with their passages."""
    for id_, where in places.items():
        here = and_(mine(message, tx.scope), message.c.id == id_)
        parts = select(passage.c.id).select_from(message.join(passage, OF_MESSAGE)).where(here)
        ids = [row.id for row in tx.rows(parts)]
        tx.run(update(message).where(here).values(place=where))
        tx.run(
            update(passage)
            .where(mine(passage, tx.scope), passage.c.id.in_(ids))
            .values(place=where)
        )


def rearrange(tx: Transaction, threads: Iterable[str]) -> set[str]:
    """Let unstamped messages follow a stamped one that moved or went.

    Returns:
        Ids of the passages that stand elsewhere now, or look back at others than before.
    """
    shaken: set[str] = set()
    for thread in sorted(threads):
        displaced = _displaced(tx, thread)
        if displaced:
            ids = passages_of(tx, displaced)
            shaken |= followers(tx, ids) | set(ids)
            place(tx, displaced)
            shaken |= followers(tx, ids)
    return shaken


def _displaced(tx: Transaction, thread: str) -> dict[str, int]:
    """Messages of a thread that do not stand where they should, and where that is."""
    if not _UNSTAMPED.rows(tx.connection, tx.scope, thread=thread):
        return {}
    arrived = _ARRIVED.rows(tx.connection, tx.scope, thread=thread)
    right = places([row.said_us for row in arrived], NOWHERE)
    return {row.id: where for row, where in zip(arrived, right, strict=True) if row.place != where}


def passages_of(tx: Transaction, message_ids: Iterable[str]) -> list[str]:
    """Ids of the passages of messages, by message and in order."""
    ids = list(message_ids)
    return [row.id for row in _OF_MESSAGES.rows(tx.connection, tx.scope, ids)] if ids else []
