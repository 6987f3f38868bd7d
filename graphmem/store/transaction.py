"""A write to one scope: its lock, its connection, and the log rows that go with the change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, bindparam, select, update

from graphmem.store.bulk import Bulk, among, given, ours, put_row
from graphmem.store.schema import HAS_WORDS, log, microseconds, mine, scope_row
from graphmem.store.sqlite import Database, insert_if_absent
from graphmem.types import Actor, Scope

__all__ = ["NOBODY", "Transaction", "transaction"]

NOBODY = Actor(kind="system")
"""Who makes a change that nobody asked for."""

_SEQ = select(scope_row.c.seq, scope_row.c.bans).where(ours(scope_row)).with_for_update()
_COUNT = Bulk(update(scope_row).where(ours(scope_row)), ("seq",))
_COUNT_FORGET = Bulk(update(scope_row).where(ours(scope_row)), ("forget_seq",))
_LOG = put_row(log)
# Only facts' entries have words in them.
_LOGGED = select(log.c.seq).where(ours(log), among(log.c.id), HAS_WORDS)
_BLANK = Bulk(
    update(log).where(*(column == bindparam(column.name) for column in log.primary_key)),
    ("before", "after"),
)
_NO_WORDS = {"before": None, "after": None}
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(slots=True)
class Transaction:
    """What the steps of one write share.

    Attributes:
        connection: inside the transaction.
        scope: whose rows it touches.
        now: its time: one instant for all rows.
        actor: who or what makes the change, for the log.
        owner: the scope's columns of a row.
        at: its time as the driver takes it.
        bans: how many keys of bans the scope has: 0 means that nothing has to be looked up.
    """

    connection: Connection
    scope: Scope
    now: datetime
    actor: Actor = NOBODY
    owner: dict[str, str] = field(init=False)
    at: int = field(init=False)
    bans: int = 0
    _changes: list[dict[str, Any]] = field(default_factory=list)
    _voids: bool = False

    def __post_init__(self) -> None:
        self.owner = given(self.scope)
        self.at = microseconds(self.now)

    def rows(
        self, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> Sequence[Row[Any]]:
        """All rows of a query."""
        return self.connection.execute(statement, parameters).all()

    def run(self, statement: Executable) -> None:
        """Execute once."""
        self.connection.execute(statement)

    def write(self, statement: Bulk, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute for each row of the scope; no rows, no statement."""
        statement.run(self.connection, rows)

    def record(
        self,
        action: str,
        kind: str,
        id_: str,
        *,
        reason: str = "",
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        """Note a change; it is logged when the transaction commits."""
        self._changes.append(
            {
                **self.owner,
                "at": self.at,
                "action": action,
                "kind": kind,
                "id": id_,
                "actor": self.actor.name,
                "reason": reason,
                "before": None if before is None else _encode(before),
                "after": None if after is None else _encode(after),
                "actor_kind": self.actor.kind,
                "salt": None,
                "digest": None,
                "link": None,
            }
        )

    def blank(self, facts: Iterable[str]) -> None:
        """Erase what the log keeps of some facts' values, in this transaction and before it."""
        erased = set(facts)
        for change in self._changes:
            if change["kind"] == "fact" and change["id"] in erased:
                change.update(_NO_WORDS)
        logged = self.rows(_LOGGED, given(self.scope, erased))
        self.write(_BLANK, [{**self.owner, "seq": row.seq, **_NO_WORDS} for row in logged])

    def blank_all(self) -> None:
        """Erase what the log keeps of all that was ever said: its entries stay, without words."""
        for change in self._changes:
            change.update(_NO_WORDS)
        self.run(update(log).where(mine(log, self.scope), HAS_WORDS).values(**_NO_WORDS))

    def voids(self) -> None:
        """Make what was derived from the scope so far stale: recalls that are kept, and indexes."""
        self._voids = True

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo at its end whatever the block does: to see what it would do."""
        noted, voids, bans = len(self._changes), self._voids, self.bans
        savepoint = self.connection.begin_nested()
        try:
            yield
        finally:
            savepoint.rollback()
            del self._changes[noted:]
            self._voids, self.bans = voids, bans

    def _write_log(self, seq: int) -> None:
        if not self._changes:
            return
        for number, change in enumerate(self._changes, seq + 1):
            change["seq"] = number
        last = seq + len(self._changes)
        self.write(_LOG, self._changes)
        self.write(_COUNT, [{**self.owner, "seq": last}])
        if self._voids:
            self.write(_COUNT_FORGET, [{**self.owner, "forget_seq": last}])


@contextmanager
def transaction(
    database: Database, scope: Scope, *, now: datetime, actor: Actor = NOBODY
) -> Iterator[Transaction]:
    """Lock the scope, run the block, log what it recorded, commit; or leave all as it was.

    The scope's row is locked before anything is read, and the log's numbers are taken under that
    lock: who follows the log of a scope never sees a number and then one below it.
    """
    with database.writing() as connection:
        tx = Transaction(connection, scope, now, actor)
        seq = _lock(tx)
        yield tx
        tx._write_log(seq)


def _lock(tx: Transaction) -> int:
    """Lock the scope's row, made at its first write; returns its last log number."""
    row = tx.connection.execute(_SEQ, tx.owner).first()
    if row is None:
        tx.run(insert_if_absent(scope_row).values(**tx.owner, seq=0, forget_seq=0))
        row = tx.connection.execute(_SEQ, tx.owner).one()
    tx.bans = row.bans
    seq: int = row.seq
    return seq
