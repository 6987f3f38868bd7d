"""Entities: what evidence calls them, and which of them are known names.

An entity is called what evidence calls it most. It is *known* once a grounded triple of a person or
a document names it: then a passage may speak of it by a word ("the flat") without repeating it.
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
_PUT_ENTITY = put_row(entity, instead=("name", "told"))
_DELETE_ENTITY = delete_row(entity)
_SPELLINGS = select(alias.c.entity_id, alias.c.name, alias.c.uses).where(
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
    counts = {key: by for key, by in uses.spellings.items() if by}
    ids = sorted({id_ for id_, _ in counts} | {id_ for id_, by in uses.told.items() if by})
    spellings = _count(tx, ids, counts)
    known = {row.id: row for row in tx.rows(_ENTITIES, given(tx.scope, ids))}
    written: list[dict[str, Any]] = []
    gone: list[str] = []
    renamed: list[str] = []
    turned: list[str] = []
    for id_ in ids:
        called = spellings.get(id_, {})
        name = min(called, key=lambda name: (-called[name], name), default=None)
        before = known[id_].told if id_ in known else 0
        told = before + uses.told[id_]
        if bool(before) != bool(told):
            turned.append(id_)
        if name is None:
            gone.append(id_)
        elif id_ not in known or (known[id_].name, before) != (name, told):
            written.append({**tx.owner, "id": id_, "name": name, "told": told})
            if id_ not in known or known[id_].name != name:
                renamed.append(id_)
    tx.write(_DELETE_ENTITY, [{**tx.owner, "id": id_} for id_ in gone])
    tx.write(_PUT_ENTITY, written)
    for id_ in gone:
        tx.record(actions.gone(action), "entity", id_)
    vectors.drop(tx, [("entity", id_) for id_ in gone])
    vectors.outdate(tx, "entity", [id_ for id_ in renamed if id_ in known])
    queue.drop(tx, "embed", _keys(gone))
    queue.again(tx, "embed", _keys(renamed))
    return fact_ids(tx.connection, tx.scope, evidence.c.lacks, turned)


def _keys(ids: Iterable[str]) -> list[tuple[str, str]]:
    return [("entity", id_) for id_ in ids]


def _count(
    tx: Transaction, ids: Sequence[str], changes: Mapping[tuple[str, str], int]
) -> dict[str, dict[str, int]]:
    """Count spellings up or down; returns all of each entity, with how often each is used."""
    found: dict[str, dict[str, int]] = {}
    for row in tx.rows(_SPELLINGS, given(tx.scope, ids)):
        found.setdefault(row.entity_id, {})[row.name] = row.uses
    put: list[dict[str, Any]] = []
    gone: list[dict[str, Any]] = []
    for (id_, name), change in changes.items():
        called = found.setdefault(id_, {})
        called[name] = called.get(name, 0) + change
        used = {**tx.owner, "entity_id": id_, "name": name, "uses": called[name]}
        if called[name] > 0:
            put.append(used)
        else:
            gone.append(used)
            del called[name]
    tx.write(_DELETE_ALIAS, gone)
    tx.write(_PUT_ALIAS, put)
    return found
