"""From evidence rows to fact rows: what the scope believes after a change.

Facts are computed anew from all their evidence whenever a piece of it comes, goes or is dated
otherwise, by the pure rules of ``graphmem.facts``; only rows that differ are written and logged. So
the rows are a function of the evidence, whatever the order in which it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import and_, bindparam, select, update

from graphmem import facts
from graphmem.facts import Evidence
from graphmem.identity import content_id, normal_form
from graphmem.store import queue, vectors
from graphmem.store.naming import Uses
from graphmem.store.records import OF_MESSAGE, fact_ids, facts_by_id, stated
from graphmem.store.schema import chunks, evidence, fact, message, mine, passage
from graphmem.store.transaction import Transaction
from graphmem.types import Fact, Triple

__all__ = [
    "believe",
    "drop_evidence",
    "evidence_of",
    "fact_id",
    "facts_of",
]


def fact_id(triple: Triple) -> str:
    """Id of the fact that a triple states."""
    ends = (triple.subject, triple.predicate, triple.object)
    return content_id("f", *map(normal_form, ends), "+" if triple.polarity else "-")


def facts_of(tx: Transaction, passage_ids: Iterable[str]) -> set[str]:
    """Ids of the facts that any of the passages states."""
    return fact_ids(tx.connection, tx.scope, evidence.c.passage_id, passage_ids)


def evidence_of(tx: Transaction, passage_ids: Sequence[str]) -> list[Any]:
    """The evidence rows of passages, in order, with the passage's role."""
    said = passage.join(message, OF_MESSAGE)
    joined = evidence.join(
        said,
        and_(
            passage.c.user == evidence.c.user,
            passage.c.agent == evidence.c.agent,
            passage.c.id == evidence.c.passage_id,
        ),
    )
    found: list[Any] = []
    for ids in chunks(passage_ids):
        found += tx.rows(
            select(evidence, message.c.role)
            .select_from(joined)
            .where(mine(evidence, tx.scope), evidence.c.passage_id.in_(ids))
            .order_by(evidence.c.passage_id, evidence.c.n)
        )
    return found


def drop_evidence(tx: Transaction, rows: Sequence[Any]) -> Uses:
    """Delete evidence rows; returns the uses of names that went with them, as negative counts."""
    uses = Uses()
    keys: dict[str, list[int]] = {}
    for row in rows:
        uses.count((row.subject, row.object), grounded=row.grounded, role=row.role, by=-1)
        keys.setdefault(row.passage_id, []).append(row.n)
    for passage_id, numbers in keys.items():
        for chunk in chunks(numbers):
            tx.run(
                evidence.delete().where(
                    mine(evidence, tx.scope),
                    evidence.c.passage_id == passage_id,
                    evidence.c.n.in_(chunk),
                )
            )
    return uses


def believe(tx: Transaction, fact_ids: Iterable[str], *, action: str, reason: str = "") -> None:
    """Bring facts, and those they replace or are replaced by, in line with their evidence."""
    touched = set(fact_ids)
    if not touched:
        return
    known = facts_by_id(tx.connection, tx.scope, touched)
    proof = stated(tx.connection, tx.scope, touched)
    merged = {id_: facts.merge(proof[id_]) for id_ in sorted(proof)}
    slots = {facts.slot(one) for one in (*known.values(), *merged.values())}
    _join_rivals(tx, sorted(one for one in slots if one), known, proof, merged)
    current = _retired(merged, proof)
    _write(tx, known, current)
    for id_ in sorted(known.keys() | current.keys()):
        _record(tx, action, reason, known.get(id_), current.get(id_))


def _join_rivals(
    tx: Transaction,
    slots: Sequence[str],
    known: dict[str, Fact],
    proof: dict[str, list[Evidence]],
    merged: dict[str, Fact],
) -> None:
    """Add the facts that are values of the same slots."""
    ids: set[str] = set()
    for chunk in chunks(slots):
        rows = tx.rows(select(fact.c.id).where(mine(fact, tx.scope), fact.c.slot.in_(chunk)))
        ids.update(row.id for row in rows)
    ids -= known.keys() | merged.keys()
    known.update(facts_by_id(tx.connection, tx.scope, ids))
    for id_, said in stated(tx.connection, tx.scope, ids).items():
        proof[id_] = said
        merged[id_] = facts.merge(said)


def _retired(merged: Mapping[str, Fact], proof: Mapping[str, list[Evidence]]) -> dict[str, Fact]:
    """The facts, with those retired that a newer value replaces."""
    current = dict(merged)
    retirements = facts.supersede([(merged[id_], proof[id_]) for id_ in sorted(merged)])
    for id_, retirement in retirements.items():
        one = merged[id_]
        current[id_] = replace(
            one,
            replaced_by=retirement.replaced_by,
            retired_at=retirement.retired_at,
            valid_to=one.valid_to or retirement.valid_to,
        )
    return current


def _write(tx: Transaction, known: Mapping[str, Fact], current: Mapping[str, Fact]) -> None:
    gone = sorted(known.keys() - current.keys())
    new = sorted(current.keys() - known.keys())
    changed = [id_ for id_ in sorted(current) if id_ in known and known[id_] != current[id_]]
    for ids in chunks(gone):
        tx.run(fact.delete().where(mine(fact, tx.scope), fact.c.id.in_(ids)))
    tx.run(fact.insert(), [{**tx.owner, "id": id_, **_values(current[id_])} for id_ in new])
    here = and_(mine(fact, tx.scope), fact.c.id == bindparam("key"))
    tx.run(update(fact).where(here), [{"key": id_, **_values(current[id_])} for id_ in changed])
    reworded = [id_ for id_ in changed if known[id_].text != current[id_].text]
    vectors.drop(tx, "fact", [*gone, *reworded])
    queue.drop(tx, "embed", [("fact", id_) for id_ in gone])
    queue.again(tx, "embed", [("fact", id_) for id_ in [*new, *reworded]])


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
        "recorded_at": one.recorded_at,
        "retired_at": one.retired_at,
        "status": one.status,
        "replaced_by": one.replaced_by,
        "passages": json.dumps(one.passages),
        "slot": facts.slot(one),
    }


def _record(
    tx: Transaction, action: str, reason: str, before: Fact | None, after: Fact | None
) -> None:
    if before == after:
        return
    id_ = (after or before).id  # type: ignore[union-attr]
    tx.record(action, "fact", id_, reason=reason, before=_payload(before), after=_payload(after))


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
