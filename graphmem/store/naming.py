"""Entities: what evidence calls them, and which of them are known names.

An entity is called what evidence calls it most. It is *known* once a grounded triple of a person or
a document names it: then a passage may speak of it by a word ("the flat") without repeating it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, bindparam, select, update

from graphmem.facts import is_trusted
from graphmem.identity import content_id, normal_form
from graphmem.store import queue, vectors
from graphmem.store.records import fact_ids
from graphmem.store.schema import alias, chunks, entity, evidence, mine
from graphmem.store.transaction import Transaction
from graphmem.types import Role

__all__ = ["Uses", "entity_id", "name_entities"]


def entity_id(name: str) -> str:
    """Id of the entity of a name."""
    return content_id("e", normal_form(name))


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
    changes = sorted(item for item in uses.spellings.items() if item[1])
    ids = sorted({id_ for (id_, _), _ in changes} | {id_ for id_, by in uses.told.items() if by})
    spellings = _spellings(tx, ids)
    rows = _rows(tx, ids)
    for (id_, name), change in changes:
        _count(tx, spellings.setdefault(id_, {}), id_, name, change)
    new: list[dict[str, Any]] = []
    gone: list[str] = []
    changed: list[dict[str, Any]] = []
    renamed: list[str] = []
    turned: list[str] = []
    for id_ in ids:
        called = spellings.get(id_, {})
        best = min(called.items(), key=lambda item: (-item[1], item[0]), default=None)
        before = rows[id_].told if id_ in rows else 0
        told = before + uses.told[id_]
        if bool(before) != bool(told):
            turned.append(id_)
        if best is None:
            gone.append(id_)
        elif id_ not in rows:
            new.append({**tx.owner, "id": id_, "name": best[0], "told": told})
        elif (rows[id_].name, before) != (best[0], told):
            changed.append({"key": id_, "name": best[0], "told": told})
            if rows[id_].name != best[0]:
                renamed.append(id_)
    for chunk in chunks(gone):
        tx.run(entity.delete().where(mine(entity, tx.scope), entity.c.id.in_(chunk)))
    tx.run(entity.insert(), new)
    here = and_(mine(entity, tx.scope), entity.c.id == bindparam("key"))
    tx.run(update(entity).where(here), changed)
    for id_ in gone:
        tx.record(action, "entity", id_)
    vectors.drop(tx, "entity", [*gone, *renamed])
    queue.drop(tx, "embed", _keys(gone))
    queue.again(tx, "embed", _keys([*(row["id"] for row in new), *renamed]))
    return fact_ids(tx.connection, tx.scope, evidence.c.lacks, turned)


def _keys(ids: Iterable[str]) -> list[tuple[str, str]]:
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


def _rows(tx: Transaction, ids: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for chunk in chunks(ids):
        rows = tx.rows(select(entity).where(mine(entity, tx.scope), entity.c.id.in_(chunk)))
        found.update((row.id, row) for row in rows)
    return found
