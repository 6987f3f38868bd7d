"""Neighbours: what stands before and behind a passage in its thread, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, and_, select, tuple_, update

from graphmem.store.records import OF_MESSAGE, select_passages, to_passage
from graphmem.store.schema import NOWHERE, chunks, message, mine, passage
from graphmem.store.transaction import Transaction
from graphmem.threads import places
from graphmem.types import Passage, Scope

__all__ = ["CONTEXT_PASSAGES", "ORDER", "before", "followers", "passages_of", "place", "rearrange"]

# How far an extractor may look back to resolve "she" or "there".
CONTEXT_PASSAGES = 8

# Where a passage stands in its thread.
ORDER = (passage.c.place, passage.c.ordinal, passage.c.part)


def before(connection: Connection, scope: Scope, row: Row[Any]) -> tuple[Passage, ...]:
    """The passages just before a row of ``select_passages``, oldest first."""
    found = connection.execute(
        select_passages(scope)
        .where(
            passage.c.thread == row.thread,
            tuple_(*ORDER) < tuple_(row.place, row.ordinal, row.part),
        )
        .order_by(*(column.desc() for column in ORDER))
        .limit(CONTEXT_PASSAGES)
    ).all()
    return tuple(to_passage(one) for one in reversed(found))


def followers(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Ids of the passages from which a look back reaches any of these."""
    found: set[str] = set()
    for chunk in chunks(ids):
        for row in tx.rows(
            select(passage.c.thread, *ORDER).where(mine(passage, tx.scope), passage.c.id.in_(chunk))
        ):
            found.update(one.id for one in tx.rows(_behind(tx.scope, row)))
    return found


def _behind(scope: Scope, row: Row[Any]) -> Any:
    return (
        select(passage.c.id)
        .where(
            mine(passage, scope),
            passage.c.thread == row.thread,
            tuple_(*ORDER) > tuple_(row.place, row.ordinal, row.part),
        )
        .order_by(*ORDER)
        .limit(CONTEXT_PASSAGES)
    )


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
    in_thread = (mine(message, tx.scope), message.c.thread == thread)
    unstamped = select(message.c.id).where(*in_thread, message.c.said_us.is_(None))
    if not tx.rows(unstamped.limit(1)):
        return {}
    arrived = tx.rows(
        select(message.c.id, message.c.said_us, message.c.place)
        .where(*in_thread)
        .order_by(message.c.ordinal)
    )
    right = places([row.said_us for row in arrived], NOWHERE)
    return {row.id: where for row, where in zip(arrived, right, strict=True) if row.place != where}


def passages_of(tx: Transaction, message_ids: Iterable[str]) -> list[str]:
    """Ids of the passages of messages, by message and in order."""
    found: list[str] = []
    parts = select(passage.c.id).select_from(message.join(passage, OF_MESSAGE))
    for ids in chunks(message_ids):
        here = parts.where(mine(message, tx.scope), message.c.id.in_(ids))
        found += [row.id for row in tx.rows(here.order_by(message.c.id, passage.c.part))]
    return found
