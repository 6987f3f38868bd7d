"""Rulings: what a person said of a fact itself, that it is so, in doubt, or wrong."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from graphmem.facts import Ruling
from graphmem.store.bulk import among, ours
from graphmem.store.lookup import Lookup
from graphmem.store.schema import ban, verdict
from graphmem.types import Scope

__all__ = ["rulings"]

_VERDICTS = Lookup(
    select(verdict.c.fact_id, verdict.c.ruling, verdict.c.at).where(
        ours(verdict), among(verdict.c.fact_id)
    )
)
_REJECTED = Lookup(select(ban.c.fact_id, ban.c.at).where(ours(ban), among(ban.c.fact_id)))


def rulings(connection: Connection, scope: Scope, fact_ids: Iterable[str]) -> dict[str, Ruling]:
    """The rulings on those of the facts that have one; a rejection outweighs a verdict."""
    ids = list(fact_ids)
    found = {
        row.fact_id: Ruling(row.ruling, row.at) for row in _VERDICTS.rows(connection, scope, ids)
    }
    for row in _REJECTED.rows(connection, scope, ids):
        found[row.fact_id] = Ruling("rejected", row.at)
    return found
