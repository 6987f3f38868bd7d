"""A write to one scope: its lock, its connection, and the log rows that go with the change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, select, update

from graphmem.store.schema import chunks, log, mine, scope_row
from graphmem.store.sqlite import Database, insert_if_absent
from graphmem.types import Scope

__all__ = ["Transaction", "transaction"]


@dataclass(slots=True)
class Transaction:
    """What the steps of one write share.

    Attributes:
        connection: inside the transaction.
        scope: whose rows it touches.
        now: its time: one instant for all rows.
        actor: who or what makes the change, for the log.
    """

    connection: Connection
    scope: Scope
    now: datetime
    actor: str = ""
    _changes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def owner(self) -> dict[str, str]:
        """The scope's columns of a new row."""
        return {"user": self.scope.user, "agent": self.scope.agent}

    def rows(self, statement: Executable) -> Sequence[Row[Any]]:
        """All rows of a query."""
        return self.connection.execute(statement).all()

    def run(self, statement: Executable, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Execute once, or once for each row; no rows, no statement."""
        if rows is None:
            self.connection.execute(statement)
        elif rows:
            self.connection.execute(statement, list(rows))

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
                "at": self.now,
                "action": action,
                "kind": kind,
                "id": id_,
                "actor": self.actor,
                "reason": reason,
                "before": None if before is None else json.dumps(before, ensure_ascii=False),
                "after": None if after is None else json.dumps(after, ensure_ascii=False),
            }
        )

    def blank(self, kind: str, ids: Iterable[str]) -> None:
        """Erase what the log keeps of some rows' values, in this transaction and before it."""
        erased = set(ids)
        for change in self._changes:
            if change["kind"] == kind and change["id"] in erased:
                change["before"] = change["after"] = None
        for chunk in chunks(sorted(erased)):
            self.run(
                update(log)
                .where(mine(log, self.scope), log.c.kind == kind, log.c.id.in_(chunk))
                .values(before=None, after=None)
            )

    def _write_log(self, seq: int) -> None:
        if not self._changes:
            return
        for number, change in enumerate(self._changes, seq + 1):
            change["seq"] = number
        last = seq + len(self._changes)
        values = {"seq": last}
        if any(change["action"] == "forget" for change in self._changes):
            values["forget_seq"] = last
        self.run(log.insert(), self._changes)
        self.run(update(scope_row).where(mine(scope_row, self.scope)).values(**values))


@contextmanager
def transaction(
    database: Database, scope: Scope, *, now: datetime, actor: str = ""
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
    row = select(scope_row.c.seq).where(mine(scope_row, tx.scope)).with_for_update()
    seq: int | None = tx.connection.execute(row).scalar()
    if seq is None:
        tx.run(insert_if_absent(scope_row).values(**tx.owner, seq=0, forget_seq=0))
        seq = tx.connection.execute(row).scalar_one()
    return seq
