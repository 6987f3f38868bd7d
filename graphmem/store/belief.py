"""From evidence rows to fact, entity and alias rows: what the scope believes after a change.

Facts are computed anew from all their evidence whenever a piece of it comes, goes or is dated
otherwise, by the pure rules of ``graphmem.facts``; only rows that differ are written and logged. So
the rows are a function of the evidence, whatever the order in which it came.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import and_, select, update

from graphmem import facts
from graphmem.facts import Evidence
from graphmem.identity import content_id, normal_form
from graphmem.store import queue, vectors
from graphmem.store.records import facts_by_id, stated
from graphmem.store.schema import alias, chunks, entity, evidence, fact, mine
from graphmem.store.transaction import Transaction
from graphmem.types import Fact, Triple

__all__ = [
    "believe",
    "drop_evidence",
    "entity_id",
    "evidence_of",
    "fact_id",
    "facts_of",
    "name_entities",
]

Aliases = Counter[tuple[str, str]]


def entity_id(name: str) -> str:
    """Id of the entity of a name."""
    return content_id("e", normal_form(name))


def named(*names: str) -> list[tuple[str, str]]:
    """(entity id, spelling) of each name."""
    return [(entity_id(name), " ".join(name.split())) for name in names]


def fact_id(triple: Triple) -> str:
    """Id of the fact that a triple states."""
    ends = (triple.subject, triple.predicate, triple.object)
    return content_id("f", *map(normal_form, ends), "+" if triple.polarity else "-")


def facts_of(tx: Transaction, passage_ids: Iterable[str]) -> set[str]:
    """Ids of the facts that any of the passages states."""
    found: set[str] = set()
    for ids in chunks(passage_ids):
        rows = tx.rows(
            select(evidence.c.fact_id)
            .where(mine(evidence, tx.scope), evidence.c.passage_id.in_(ids))
            .distinct()
        )
        found.update(row.fact_id for row in rows)
    return found


def evidence_of(tx: Transaction, passage_ids: Sequence[str]) -> list[Any]:
    """The evidence rows of passages, in order."""
    found: list[Any] = []
    for ids in chunks(passage_ids):
        found += tx.rows(
            select(evidence)
            .where(mine(evidence, tx.scope), evidence.c.passage_id.in_(ids))
            .order_by(evidence.c.passage_id, evidence.c.n)
        )
    return found


def drop_evidence(tx: Transaction, rows: Sequence[Any]) -> Aliases:
    """Delete evidence rows; returns the uses of names that went with them, as negative counts."""
    uses: Aliases = Counter()
    keys: dict[str, list[int]] = {}
    for row in rows:
        uses.subtract(named(row.subject, row.object))
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
    tx.run(fact.insert(), [_row(tx, current[id_]) for id_ in new])
    for id_ in changed:
        here = and_(mine(fact, tx.scope), fact.c.id == id_)
        tx.run(update(fact).where(here).values(**_row(tx, current[id_])))
    reworded = [id_ for id_ in changed if known[id_].text != current[id_].text]
    vectors.drop(tx, "fact", [*gone, *reworded])
    queue.drop(tx, "embed", [("fact", id_) for id_ in gone])
    queue.again(tx, "embed", [("fact", id_) for id_ in [*new, *reworded]])


def _row(tx: Transaction, one: Fact) -> dict[str, Any]:
    return {
        **tx.owner,
        "id": one.id,
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


def name_entities(tx: Transaction, uses: Aliases, *, action: str) -> None:
    """Count names up or down; an entity is called what it is called most, ties the smallest."""
    changes = sorted(item for item in uses.items() if item[1])
    ids = sorted({id_ for (id_, _), _ in changes})
    spellings = _spellings(tx, ids)
    names = _names(tx, ids)
    for (id_, name), change in changes:
        _count(tx, spellings.setdefault(id_, {}), id_, name, change)
    new: list[dict[str, str]] = []
    gone: list[str] = []
    renamed: list[tuple[str, str]] = []
    for id_ in ids:
        best = min(spellings[id_].items(), key=lambda item: (-item[1], item[0]), default=None)
        if best is None:
            gone.append(id_)
        elif id_ not in names:
            new.append({**tx.owner, "id": id_, "name": best[0]})
        elif names[id_] != best[0]:
            renamed.append((id_, best[0]))
    for chunk in chunks(gone):
        tx.run(entity.delete().where(mine(entity, tx.scope), entity.c.id.in_(chunk)))
    tx.run(entity.insert(), new)
    for id_, name in renamed:
        tx.run(update(entity).where(mine(entity, tx.scope), entity.c.id == id_).values(name=name))
    for id_ in gone:
        tx.record(action, "entity", id_)
    stale = [id_ for id_, _ in renamed]
    vectors.drop(tx, "entity", [*gone, *stale])
    queue.drop(tx, "embed", _entities(gone))
    queue.again(tx, "embed", _entities([*(row["id"] for row in new), *stale]))


def _entities(ids: Iterable[str]) -> list[tuple[str, str]]:
    return [("entity", id_) for id_ in ids]


def _count(tx: Transaction, known: dict[str, int], id_: str, name: str, change: int) -> None:
    here = and_(mine(alias, tx.scope), alias.c.entity_id == id_, alias.c.name == name)
    count = known.get(name, 0) + change
    if count <= 0:
        tx.run(alias.delete().where(here))
        known.pop(name, None)
    elif name in known:
        tx.run(update(alias).where(here).values(uses=count))
        known[name] = count
    else:
        tx.run(alias.insert().values(**tx.owner, entity_id=id_, name=name, uses=count))
        known[name] = count


def _spellings(tx: Transaction, ids: Sequence[str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for chunk in chunks(ids):
        for row in tx.rows(
            select(alias.c.entity_id, alias.c.name, alias.c.uses).where(
                mine(alias, tx.scope), alias.c.entity_id.in_(chunk)
            )
        ):
            found.setdefault(row.entity_id, {})[row.name] = row.uses
    return found


def _names(tx: Transaction, ids: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for chunk in chunks(ids):
        rows = tx.rows(
            select(entity.c.id, entity.c.name).where(mine(entity, tx.scope), entity.c.id.in_(chunk))
        )
        found.update((row.id, row.name) for row in rows)
    return found
