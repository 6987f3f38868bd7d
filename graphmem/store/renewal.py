"""Renewal: what was believed by older rules is believed anew when a store is opened.

Which fact replaces another is a rule of ``graphmem.facts``, and rules change with versions. The
rows of evidence stay; facts that were made of them are made again, scope by scope. A store that is
closed half way, or that cannot be written yet, goes on where it is opened next.
"""

from __future__ import annotations

import logging
from datetime import datetime, timezone

from graphmem.errors import StoreReadOnly
from graphmem.store import reading
from graphmem.store.belief import rebelieve
from graphmem.store.migrations import RULES, beliefs, believe_by
from graphmem.store.records import all_fact_ids
from graphmem.store.sqlite import Database
from graphmem.store.transaction import transaction
from graphmem.types import Scope

__all__ = ["renew"]

_logger = logging.getLogger("graphmem")


def renew(database: Database) -> None:
    """Believe the facts of a store anew where that was done by older rules."""
    with database.reading() as connection:
        if beliefs(connection) >= RULES:
            return
        scopes = reading.scopes(connection)
    try:
        for scope in scopes:
            _renew(database, scope)
        with database.writing() as connection:
            believe_by(connection, RULES)
    except StoreReadOnly:
        pass  # it shows what it has; the next who can write does it


def _renew(database: Database, scope: Scope) -> None:
    with transaction(database, scope, now=datetime.now(timezone.utc)) as tx:
        ids = all_fact_ids(tx.connection, scope)
        # A hundred thousand take about half a minute.
        _logger.info("believing %d facts of a scope anew, by newer rules", len(ids))
        with tx.summing_up("migrate", "scope", "", after={"rules": RULES, "facts": len(ids)}):
            rebelieve(tx, ids, action="migrate")
        tx.voids()
