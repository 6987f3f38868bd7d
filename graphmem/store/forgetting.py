"""Forgetting: a passage goes with everything that only it carried.

Afterwards the rows are those of a store that never saw it, as far as they can be computed without a
model; passages that an extractor read with a look back at it are queued to be read again, and what
was read of them in its words is dropped at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, literal_column, select, update

from graphmem.errors import NotFound
from graphmem.identity import normal_form
from graphmem.store import queue, vectors
from graphmem.store.belief import (
    believe,
    drop_evidence,
    evidence_of,
)
from graphmem.store.bulk import Bulk, among, delete_row, given, ours
from graphmem.store.naming import name_entities
from graphmem.store.order import followers, positions, rearrange, with_context
from graphmem.store.records import OF_MESSAGE, passages_by_id, select_passages, to_passage
from graphmem.store.schema import (
    TABLES,
    chunks,
    message,
    mine,
    occurrence,
    passage,
    pending,
)
from graphmem.store.sqlite import owe_erasure
from graphmem.store.transaction import Transaction
from graphmem.types import Passage

__all__ = ["Target", "forget", "forget_everything"]

_DELETE_PASSAGE = delete_row(passage)
_DELETE_MESSAGE = delete_row(message)
_DELETE_OCCURRENCES = Bulk(
    occurrence.delete().where(ours(occurrence), occurrence.c.message_id == bindparam("message_id"))
)
_PARTS = (
    select(message.c.id.label("message_id"), passage.c.id, passage.c.start, passage.c.stop)
    .select_from(message.join(passage, OF_MESSAGE))
    .where(ours(message), among(message.c.id))
    .order_by(message.c.id, passage.c.part)
)
_QUOTE_NOTHING = Bulk(
    update(pending).where(ours(pending), pending.c.attempts > literal_column("0")), ("error",)
)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: ids of passages and messages, or a whole session."""

    passages: Collection[str] = ()
    messages: Collection[str] = ()
    session: str | None = None


def forget(tx: Transaction, target: Target, *, reason: str) -> tuple[str, ...]:
    """Erase the target's passages; returns their ids.

    Raises:
        NotFound: the scope has no such passage, message or session.
    """
    gone = _resolve(tx, target)
    ids = sorted(gone)
    behind = followers(tx, ids) - gone.keys()
    stated = evidence_of(tx, ids)
    touched = {row.fact_id for row in stated}
    uses = drop_evidence(tx, stated)
    _erase_passages(tx, gone)
    shaken = rearrange(tx, {one.thread for one in gone.values()}) | behind
    tainted = _tainted(tx, sorted(behind), gone.values())
    touched.update(row.fact_id for row in tainted)
    uses.update(drop_evidence(tx, tainted))
    touched |= name_entities(tx, uses, action="forget")
    believe(tx, touched, action="forget", reason=reason)
    queue.again(tx, "extract", [("passage", id_) for id_ in _in_order(tx, shaken)])
    tx.blank(touched)
    _blank_errors(tx)
    for id_ in ids:
        tx.record("forget", "passage", id_, reason=reason)
    tx.hush(one.full_text for one in gone.values())
    tx.voids()
    owe_erasure(tx.connection)
    return tuple(ids)


def forget_everything(tx: Transaction, *, reason: str) -> tuple[str, ...]:
    """Erase all of a scope's rows; returns the ids of its passages."""
    rows = tx.rows(select(passage.c.id).where(mine(passage, tx.scope)).order_by(passage.c.id))
    said = select(message.c.title, message.c.text).where(mine(message, tx.scope))
    lost = tx.rows(said) if reason else ()
    for table in TABLES:
        tx.run(table.delete().where(mine(table, tx.scope)))
    # Who follows the log starts over at this entry.
    tx.blank_all()
    tx.record("forget", "scope", "", reason=reason)
    tx.hush(text for row in lost for text in row)
    tx.voids()
    owe_erasure(tx.connection)
    return tuple(row.id for row in rows)


def _resolve(tx: Transaction, target: Target) -> dict[str, Passage]:
    """The target's passages by id."""
    found = passages_by_id(tx.connection, tx.scope, target.passages)
    for ids in chunks(target.messages):
        found.update(_load(tx, message.c.id.in_(ids)))
    if target.session is not None:
        found.update(_load(tx, message.c.session == target.session))
    if not found:
        raise NotFound(f"nothing to forget: {tx.scope} has no such passage, message or session")
    return found


def _load(tx: Transaction, wanted: ColumnElement[bool]) -> dict[str, Passage]:
    rows = tx.rows(select_passages(tx.scope).where(wanted))
    return {row.id: to_passage(row) for row in rows}


def _erase_passages(tx: Transaction, gone: dict[str, Passage]) -> None:
    keys = [("passage", id_) for id_ in gone]
    queue.drop(tx, "extract", keys)
    queue.drop(tx, "embed", keys)
    vectors.drop(tx, keys)
    by_message: dict[str, list[str]] = {}
    for one in gone.values():
        by_message.setdefault(one.message_id, []).append(one.id)
    parts = _parts(tx, by_message)
    tx.write(_DELETE_PASSAGE, [{**tx.owner, "id": id_} for id_ in gone])
    whole = [id_ for id_, some in by_message.items() if len(some) == len(parts[id_])]
    for id_ in sorted(by_message.keys() - set(whole)):
        _cut(tx, id_, parts[id_], set(by_message[id_]))
    tx.write(_DELETE_OCCURRENCES, [{**tx.owner, "message_id": id_} for id_ in whole])
    tx.write(_DELETE_MESSAGE, [{**tx.owner, "id": id_} for id_ in whole])


def _parts(tx: Transaction, message_ids: Iterable[str]) -> dict[str, list[Any]]:
    """The parts of each message, in order."""
    found: dict[str, list[Any]] = {}
    for row in tx.rows(_PARTS, given(tx.scope, message_ids)):
        found.setdefault(row.message_id, []).append(row)
    return found


def _cut(tx: Transaction, message_id: str, parts: Sequence[Any], gone: set[str]) -> None:
    """Take some parts out of a message's text; the others keep their numbers.

    The message keeps its id, by which it is known when it is delivered again.
    """
    here = and_(mine(message, tx.scope), message.c.id == message_id)
    text: str = tx.connection.execute(select(message.c.text).where(here)).scalar_one()
    kept: list[str] = []
    start = 0
    for row in parts:
        if row.id in gone:
            continue
        piece = text[row.start : row.stop]
        kept.append(piece)
        tx.run(
            update(passage)
            .where(mine(passage, tx.scope), passage.c.id == row.id)
            .values(start=start, stop=start + len(piece))
        )
        start += len(piece)
    tx.run(update(message).where(here).values(text="".join(kept)))


def _tainted(tx: Transaction, behind: Sequence[str], gone: Iterable[Passage]) -> list[Any]:
    """Evidence rows of passages behind that hold a word which only the forgotten text gave."""
    lost = _voice(gone)
    doubts = []
    for row in evidence_of(tx, behind):
        names = map(normal_form, (row.subject, row.predicate, row.object))
        words = _WORD.findall(" ".join(names))
        if shared := [word for word in words if word in lost]:
            doubts.append((row, shared))
    ids = {row.passage_id for row, _ in doubts}
    rows = positions(tx.connection, tx.scope, sorted(ids)) if ids else ()
    near = with_context(tx.connection, tx.scope, rows)
    kept = {one.id: _voice([one, *one.before]) for one in near}
    return [row for row, words in doubts if any(word not in kept[row.passage_id] for word in words)]


def _voice(passages: Iterable[Passage]) -> str:
    """All that passages say and who says it, as one normal form to look for words in."""
    return normal_form("\n".join(f"{one.speaker}\n{one.full_text}" for one in passages))


def _in_order(tx: Transaction, ids: Collection[str]) -> list[str]:
    rows = positions(tx.connection, tx.scope, sorted(ids))
    return [
        row.id
        for row in sorted(rows, key=lambda row: (row.thread, row.place, row.ordinal, row.part))
    ]


def _blank_errors(tx: Transaction) -> None:
    """An error may quote what was sent to the model: keep that there was one, not its words."""
    tx.write(_QUOTE_NOTHING, [{**tx.owner, "error": ""}])
