"""From evidence rows to fact rows: what the scope believes after a change.

Facts are computed anew from all their evidence whenever a piece of it comes, goes or is dated
otherwise, by the pure rules of ``graphmem.facts``; only rows that differ are written and logged. So
the rows are a function of the evidence, whatever the order in which it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, select

from graphmem import facts
from graphmem.facts import Evidence
from graphmem.store import queue, vectors
from graphmem.store.actions import change_of
from graphmem.store.bulk import Bulk, among, delete_row, given, ours, put_row
from graphmem.store.lookup import Lookup
from graphmem.store.naming import Uses
from graphmem.store.records import OF_MESSAGE, OF_PASSAGE, fact_ids, facts_by_id, stated
from graphmem.store.rivals import rivals
from graphmem.store.rulings import rulings
from graphmem.store.schema import chunks, evidence, fact, message, microseconds, passage, removed
from graphmem.store.transaction import Transaction
from graphmem.types import Fact

__all__ = [
    "believe",
    "drop_evidence",
    "evidence_of",
    "facts_of",
    "rebelieve",
]

_EVIDENCE = Lookup(
    select(evidence, message.c.role)
    .select_from(evidence.join(passage.join(message, OF_MESSAGE), OF_PASSAGE))
    .where(ours(evidence), among(evidence.c.passage_id))
    .order_by(evidence.c.passage_id, evidence.c.n)
)
_DELETE_EVIDENCE = delete_row(evidence)
_KEPT = ("entry", "embedded")
_PUT_FACT = put_row(
    fact,
    instead=[one.name for one in fact.columns if not one.primary_key and one.name not in _KEPT],
)
_DELETE_FACT = delete_row(fact)
_ENTRIES = select(fact.c.user, fact.c.agent, fact.c.id, fact.c.entry).where(
    ours(fact), among(fact.c.id), fact.c.entry.is_not(None)
)
_REMOVE = Bulk(removed.insert().from_select(list(removed.columns), _ENTRIES))
_PLACE_FACT = Bulk(
    fact.update()
    .where(*(one == bindparam(f"{one.name}") for one in fact.primary_key.columns))
    .values(slot=bindparam("slot"), value=bindparam("value"))
)
_encode = json.JSONEncoder().encode


def facts_of(tx: Transaction, passage_ids: Iterable[str]) -> set[str]:
    """Ids of the facts that any of the passages states."""
    return fact_ids(tx.connection, tx.scope, evidence.c.passage_id, passage_ids)


def evidence_of(tx: Transaction, passage_ids: Sequence[str]) -> list[Any]:
    """The evidence rows of passages, in order, with the passage's role."""
    return list(_EVIDENCE.rows(tx.connection, tx.scope, passage_ids))


def drop_evidence(tx: Transaction, rows: Sequence[Any]) -> Uses:
    """Delete evidence rows; returns the uses of names that went with them, as negative counts."""
    uses = Uses()
    for row in rows:
        uses.count((row.subject, row.object), grounded=row.grounded, role=row.role, by=-1)
    keys = [{**tx.owner, "passage_id": row.passage_id, "n": row.n} for row in rows]
    tx.write(_DELETE_EVIDENCE, keys)
    return uses


def believe(
    tx: Transaction,
    fact_ids: Iterable[str],
    *,
    action: str,
    reason: str = "",
    read: Iterable[str] = (),
) -> None:
    """Bring facts, and all that they contest with, in line with their evidence and rulings.

    Args:
        tx: the write.
        fact_ids: which.
        action: what led to it.
        reason: why.
        read: ids of the passages whose evidence came or changed.
    """
    read = tuple(read)
    known: dict[str, Fact] = {}
    proof: dict[str, list[Evidence]] = {}
    fresh = set(fact_ids)
    while fresh:
        here = facts_by_id(tx.connection, tx.scope, fresh)
        said = stated(tx.connection, tx.scope, fresh, read=read)
        known.update(here)
        proof.update(said)
        fresh = rivals(
            tx.connection, tx.scope, [*here.values(), *(rows[0] for rows in said.values())]
        )
        fresh -= known.keys() | proof.keys()
    if not known and not proof:
        return
    current = facts.believed(proof, rulings(tx.connection, tx.scope, sorted(proof)))
    _write(tx, known, current, action=action, reason=reason)


def rebelieve(tx: Transaction, fact_ids: Iterable[str], *, action: str, reason: str = "") -> None:
    """Place facts anew among those that they contest with, and believe them.

    For when the rules have changed by which facts contest: all facts of the scope, at once.
    """
    ids = sorted(fact_ids)
    for some in chunks(ids):
        here = facts_by_id(tx.connection, tx.scope, some)
        rows = [{**tx.owner, "id": id_, **_place(here[id_])} for id_ in sorted(here)]
        tx.write(_PLACE_FACT, rows)
    for some in chunks(ids):
        believe(tx, some, action=action, reason=reason)


def _write(
    tx: Transaction,
    known: Mapping[str, Fact],
    current: Mapping[str, Fact],
    *,
    action: str,
    reason: str,
) -> None:
    gone = sorted(known.keys() - current.keys())
    new = sorted(current.keys() - known.keys())
    changed = [id_ for id_ in sorted(current) if id_ in known and known[id_] != current[id_]]
    reworded = [id_ for id_ in changed if known[id_].text != current[id_].text]
    vectors.drop(tx, [("fact", id_) for id_ in gone])
    vectors.outdate(tx, "fact", reworded)
    if gone:
        tx.write(_REMOVE, [given(tx.scope, gone)])
    tx.write(_DELETE_FACT, [{**tx.owner, "id": id_} for id_ in gone])
    entries = {
        id_: _record(tx, action, reason, known.get(id_), current.get(id_))
        for id_ in sorted((*gone, *new, *changed))
    }
    written = [
        {**tx.owner, "id": id_, **_place(current[id_]), **_values(current[id_])}
        | {"entry": entries[id_], "embedded": None}
        for id_ in (*new, *changed)
    ]
    tx.write(_PUT_FACT, written)
    queue.drop(tx, "embed", [("fact", id_) for id_ in gone])
    queue.again(tx, "embed", [("fact", id_) for id_ in [*new, *reworded]])


def _place(one: Fact) -> dict[str, str | None]:
    """By what others find a fact that they contest with."""
    return {"slot": facts.slot(one), "value": facts.denied_value(one)}


def _values(one: Fact) -> dict[str, Any]:
    return {
        "subject_id": one.subject_id,
        "object_id": one.object_id,
        "subject": one.subject,
        "predicate": one.predicate,
        "object": one.object,
        "polarity": one.polarity,
        "valid_from": one.valid_from,
        "valid_to": one.valid_to,
        "recorded_at": one.recorded_at and microseconds(one.recorded_at),
        "retired_at": one.retired_at and microseconds(one.retired_at),
        "status": one.status,
        "replaced_by": one.replaced_by,
        "passages": _encode(one.passages),
    }


def _record(
    tx: Transaction, action: str, reason: str, before: Fact | None, after: Fact | None
) -> int:
    id_ = (after or before).id  # type: ignore[union-attr]
    what = change_of(before, after, cause=action)
    return tx.record(
        what,
        "fact",
        id_,
        reason=reason,
        before=_payload(before),
        after=_payload(after),
    )


def _payload(one: Fact | None) -> dict[str, Any] | None:
    """What the log keeps of a fact: what it says and whether it is believed."""
    if one is None:
        return None
    return {
        "subject": one.subject,
        "predicate": one.predicate,
        "object": one.object,
        "polarity": one.polarity,
        "valid_from": one.valid_from,
        "valid_to": one.valid_to,
        "status": one.status,
        "replaced_by": one.replaced_by,
        "passages": len(one.passages),
    }
