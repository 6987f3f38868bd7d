"""Entities: what evidence calls them, and which of them are known names.

An entity is called what evidence calls it most; its other spellings are rows beside it. It is
*known* once a grounded triple of a person or a document names it: then a passage may speak of it by
a word ("the flat") without repeating it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from graphmem.facts import entity_id, is_trusted
from graphmem.store import actions, queue, vectors
from graphmem.store.bulk import among, delete_row, given, ours, put_row
from graphmem.store.records import fact_ids
from graphmem.store.schema import alias, entity, evidence
from graphmem.store.transaction import Transaction
from graphmem.types import Role

__all__ = ["Uses", "name_entities"]

_ENTITIES = select(entity).where(ours(entity), among(entity.c.id))
_PUT_ENTITY = put_row(entity, instead=("name", "told", "uses"))
_DELETE_ENTITY = delete_row(entity)
_ALIASES = select(alias.c.entity_id, alias.c.name, alias.c.uses).where(
    ours(alias), among(alias.c.entity_id)
)
_PUT_ALIAS = put_row(alias, instead=("uses",))
_DELETE_ALIAS = delete_row(alias)


@dataclass(slots=True)
class Uses:
    """Uses of names in evidence, to be counted up or down.

    Attributes:
        spellings: by (entity id, spelling).
        told: by entity id, those in grounded triples of people and documents.
    """

    spellings: Counter[tuple[str, str]] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)

    def count(self, names: Sequence[str], *, grounded: bool, role: Role, by: int = 1) -> None:
        """Count a triple's ends."""
        for name in names:
            id_ = entity_id(name)
            self.spellings[id_, " ".join(name.split())] += by
            self.told[id_] += by * (grounded and is_trusted(role))

    def update(self, other: Uses) -> None:
        """Add another's counts."""
        self.spellings.update(other.spellings)
        self.told.update(other.told)


def name_entities(tx: Transaction, uses: Uses, *, action: str) -> set[str]:
    """Count uses up or down, and name the entities by what they are called most, ties the smallest.

    Returns:
        Ids of the facts that rest on a name which became known, or is no longer: to be believed
        anew.
    """
    changes: dict[str, dict[str, int]] = {id_: {} for id_, by in uses.told.items() if by}
    for (id_, spelling), by in uses.spellings.items():
        if by:
            changes.setdefault(id_, {})[spelling] = by
    ids = sorted(changes)
    known = {row.id: row for row in tx.rows(_ENTITIES, given(tx.scope, ids))}
    aliases = _aliases(tx, known)
    written: list[dict[str, Any]] = []
    others: dict[str, dict[str, int]] = {}
    gone: list[str] = []
    renamed: list[str] = []
    turned: list[str] = []
    for id_ in ids:
        row = known.get(id_)
        was = (row.name, row.told, row.uses) if row else ("", 0, 0)
        called = {**aliases.get(id_, {}), was[0]: was[2]}
        for spelling, by in changes[id_].items():
            called[spelling] = called.get(spelling, 0) + by
        called = {spelling: count for spelling, count in called.items() if count > 0}
        name = min(called, key=lambda one: (-called[one], one)) if called else ""
        told = was[1] + uses.told[id_]
        if bool(was[1]) != bool(told):
            turned.append(id_)
        if not called:
            gone.append(id_)
        elif was != (now := (name, told, called.pop(name))):
            new = dict(zip(("name", "told", "uses"), now, strict=True))
            written.append({**tx.owner, "id": id_, **new, "embedded": None})
            if was[0] != name:
                renamed.append(id_)
        others[id_] = called
    vectors.drop(tx, [("entity", id_) for id_ in gone])
    tx.write(_DELETE_ENTITY, [{**tx.owner, "id": id_} for id_ in gone])
    tx.write(_PUT_ENTITY, written)
    _write_aliases(tx, aliases, others)
    for id_ in gone:
        tx.record(actions.gone(action), "entity", id_)
    vectors.outdate(tx, "entity", [id_ for id_ in renamed if id_ in known])
    queue.drop(tx, "embed", _keys(gone))
    queue.again(tx, "embed", _keys(renamed))
    return fact_ids(tx.connection, tx.scope, evidence.c.lacks, turned)


def _keys(ids: Iterable[str]) -> list[tuple[str, str]]:
    return [("entity", id_) for id_ in ids]


def _aliases(tx: Transaction, ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """By entity its other spellings, with how often each is used."""
    found: dict[str, dict[str, int]] = {}
    for row in tx.rows(_ALIASES, given(tx.scope, ids)):
        found.setdefault(row.entity_id, {})[row.name] = row.uses
    return found


def _write_aliases(
    tx: Transaction, before: Mapping[str, Mapping[str, int]], after: Mapping[str, Mapping[str, int]]
) -> None:
    put: list[dict[str, Any]] = []
    gone: list[dict[str, Any]] = []
    for id_, now in after.items():
        was = before.get(id_, {})
        key = {**tx.owner, "entity_id": id_}
        put += [{**key, "name": one, "uses": n} for one, n in now.items() if was.get(one) != n]
        gone += [{**key, "name": one} for one in was if one not in now]
    tx.write(_DELETE_ALIAS, gone)
    tx.write(_PUT_ALIAS, put)
