"""Rivals: facts by what they are about: those that a fact may contest with, or say the same."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from graphmem import facts
from graphmem.store.bulk import among, ours
from graphmem.store.lookup import Lookup
from graphmem.store.schema import fact
from graphmem.types import Scope

__all__ = ["between", "rivals"]

_IN_SLOTS = Lookup(select(fact.c.id).where(ours(fact), among(fact.c.slot)))
_DENIALS = Lookup(select(fact.c.id).where(ours(fact), among(fact.c.value)))
_OBJECTS = func.json_each(bindparam("objects")).table_valued("value")
_BETWEEN = Lookup(
    select(fact.c.id, fact.c.subject_id, fact.c.object_id).where(
        ours(fact), among(fact.c.subject_id), fact.c.object_id.in_(select(_OBJECTS.c.value))
    )
)


def rivals(connection: Connection, scope: Scope, said: Sequence[facts.Stated]) -> set[str]:
    """Ids of the facts that any of these contests with: of their slots, or about their values."""
    slots = {slot for one in said if (slot := facts.slot(one))}
    slots.update(slot for one in said for slot in facts.denied_slots(one))
    values = {value for one in said if (value := facts.value(one))}
    found: set[str] = set()
    for statement, keys in ((_IN_SLOTS, slots), (_DENIALS, values)):
        if keys:
            found.update(row.id for row in statement.rows(connection, scope, sorted(keys)))
    ends = {pair for one in said for pair in facts.denied_ends(one)}
    if ends:
        subjects, objects = map(set, zip(*ends, strict=True))
        rows = between(connection, scope, subjects, objects)
        found.update(row.id for row in rows if (row.subject_id, row.object_id) in ends)
    return found


def between(
    connection: Connection, scope: Scope, subjects: Collection[str], objects: Collection[str]
) -> Sequence[Any]:
    """Facts with one of these entities as subject and one of those as object: ids, and the ends."""
    ends = json.dumps(sorted(objects))
    return _BETWEEN.rows(connection, scope, sorted(subjects), objects=ends)
