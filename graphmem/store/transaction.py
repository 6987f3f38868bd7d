"""A write to one scope: its lock, its connection, and the log rows that go with the change."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, and_, select, update

from graphmem.errors import InvalidInput
from graphmem.identity import clean_text
from graphmem.store import chain
from graphmem.store.bulk import Bulk, among, given, ours, put_row, update_row
from graphmem.store.schema import (
    HAS_REASON,
    HAS_WORDS,
    IS_NO_ADDITION,
    ban,
    fact,
    log,
    microseconds,
    mine,
    removed,
    scope_row,
    verdict,
)
from graphmem.store.sqlite import Database, insert_if_absent
from graphmem.types import Actor, Scope
from graphmem.words import STOP_WORDS, words

__all__ = ["NOBODY", "Transaction", "shares_a_word", "transaction"]

NOBODY = Actor(kind="system")
"""Who makes a change that nobody asked for."""

_HEAD = (
    select(scope_row.c.seq, scope_row.c.head, scope_row.c.bans)
    .where(ours(scope_row))
    .with_for_update()
)
_COUNT = Bulk(update(scope_row).where(ours(scope_row)), ("seq", "head"))
_COUNT_VOID = Bulk(update(scope_row).where(ours(scope_row)), ("forget_seq",))
_LOG = put_row(log)
# What is logged under a fact's id: what it says, and why somebody ruled on it.
_OF_FACTS = ("fact", "verdict")
_SAID_OF = select(log.c.seq).where(
    ours(log), among(log.c.id), log.c.kind.in_(_OF_FACTS), IS_NO_ADDITION
)
_ADDED, _ADDED_ONCE = (
    select(log.c.seq)
    .select_from(of.join(log, and_(ours(log), log.c.seq == of.c.entry)))
    .where(ours(of), among(id_), log.c.id == id_, HAS_WORDS)
    for of, id_ in ((fact, fact.c.id), (removed, removed.c.fact_id))
)
_SETTLE = Bulk(removed.delete().where(ours(removed), among(removed.c.fact_id)))
_REASONS = select(log.c.seq, log.c.reason).where(ours(log), HAS_REASON)
# An entry without words that can be erased, and an entry that is stored with words in it.
_NO_WORDS = {"before": None, "after": None}
_ERASED = {"reason": "", **_NO_WORDS, "salt": None}
_ERASE = update_row(log, _ERASED)
# Why something was banned or ruled, beside the log, which says it too.
_GIVEN = [
    (
        select(*table.primary_key.columns, table.c.reason).where(ours(table), table.c.reason != ""),
        update_row(table, ("reason",)),
    )
    for table in (ban, verdict)
]
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
    bans: int = field(init=False)
    _seq: int = field(init=False)
    _head: bytes | None = field(init=False)
    _by: dict[str, Any] = field(init=False)
    _changes: list[dict[str, Any]] = field(default_factory=list)
    _erased: set[int] = field(default_factory=set)
    _is_voiding: bool = False

    def __post_init__(self) -> None:
        self.owner = given(self.scope)
        self.at = microseconds(self.now)
        self._seq, self._head, self.bans = self._lock()
        self._by = {
            **self.owner,
            "at": self.at,
            "actor": clean_text(self.actor.name),
            "actor_kind": self.actor.kind,
        }

    def _lock(self) -> tuple[int, bytes | None, int]:
        """Lock the scope's row, made at its first write; returns what is in it."""
        row = self.connection.execute(_HEAD, self.owner).first()
        if row is None:
            new = insert_if_absent(scope_row).values(**self.owner, seq=0, forget_seq=0)
            self.connection.execute(new)
            row = self.connection.execute(_HEAD, self.owner).one()
        return row.seq, row.head, row.bans

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

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo at its end whatever the block does: to see what it would do."""
        noted, erased = len(self._changes), set(self._erased)
        is_voiding, bans = self._is_voiding, self.bans
        savepoint = self.connection.begin_nested()
        try:
            yield
        finally:
            savepoint.rollback()
            del self._changes[noted:]
            self._erased, self._is_voiding, self.bans = erased, is_voiding, bans

    # -- the log ---------------------------------------------------------------------------------

    def record(
        self,
        action: str,
        kind: str,
        id_: str,
        *,
        reason: str = "",
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> int:
        """Note a change; it is logged when the transaction commits.

        Returns:
            The entry's number.

        Raises:
            InvalidInput: the reason is no text.
        """
        if not isinstance(reason, str):
            raise InvalidInput(f"reason must be a string, not {type(reason).__name__}")
        self._changes.append(
            {
                **self._by,
                "action": action,
                "kind": kind,
                "id": clean_text(id_),
                "reason": clean_text(reason),
                "before": None if before is None else clean_text(_encode(before)),
                "after": None if after is None else clean_text(_encode(after)),
            }
        )
        return self._seq + len(self._changes)

    def record_all(self, action: str, keys: Iterable[tuple[str, str]]) -> range:
        """Note one change of many rows, by kind and id as stored; returns the entries' numbers."""
        start = self._seq + len(self._changes) + 1
        said = {"action": action, "reason": "", **_NO_WORDS}
        by = {**self._by, **said}
        self._changes += [{**by, "kind": kind, "id": id_} for kind, id_ in keys]
        return range(start, self._seq + len(self._changes) + 1)

    @contextmanager
    def summing_up(
        self, action: str, kind: str, id_: str, *, after: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """Log one entry for all that is noted in the block."""
        start = len(self._changes)
        yield
        del self._changes[start:]
        self.record(action, kind, id_, after=after)

    def voids(self) -> None:
        """Make what was derived from the scope so far stale: recalls that are kept, and indexes."""
        self._is_voiding = True

    def blank(self, facts: Iterable[str]) -> None:
        """Erase what the log says of some facts, in this transaction and before it."""
        gone = set(facts)
        for change in self._changes:
            if change["kind"] in _OF_FACTS and change["id"] in gone:
                change.update(_NO_WORDS)
        here = given(self.scope, gone)
        entries = (_SAID_OF, _ADDED, _ADDED_ONCE)
        self._erase(row.seq for found in entries for row in self.rows(found, here))
        self.write(_SETTLE, [here])

    def blank_all(self) -> None:
        """Erase all words of the log, in this transaction and before it, and why things are banned.

        The entries and the bans stay.
        """
        self.run(update(ban).where(mine(ban, self.scope)).values(reason=""))
        for change in self._changes:
            change.update(_NO_WORDS, reason="")
        if not self._seq:
            return
        self.run(update(log).where(mine(log, self.scope), HAS_WORDS).values(_ERASED))
        self._erased.update(range(1, self._seq + 1))

    def hush(self, texts: Iterable[str]) -> None:
        """Erase the reasons that share a word with what was lost, stop words aside.

        Call it last: what is recorded later is not looked at.
        """
        given_now = [change for change in self._changes if change["reason"]]
        given_before = self.rows(_REASONS, self.owner)
        if not (given_now or given_before):
            return  # nothing that has a reason is without an entry of the log
        voice = set(words("\n".join(texts)))
        for change in given_now:
            if shares_a_word(change["reason"], voice):
                change["reason"] = ""
        self._erase(row.seq for row in given_before if shares_a_word(row.reason, voice))
        for reasons, erase in _GIVEN:
            rows = [row._mapping for row in self.rows(reasons, self.owner)]
            telling = [row for row in rows if shares_a_word(row["reason"], voice)]
            self.write(erase, [{**row, "reason": ""} for row in telling])

    def _erase(self, numbers: Iterable[int]) -> None:
        gone = sorted(set(numbers))
        self.write(_ERASE, [{**self.owner, "seq": seq, **_ERASED} for seq in gone])
        self._erased.update(gone)

    def _write_log(self) -> None:
        if self._erased:
            self.record("forget", "log", "", after=chain.erasure(chain.spans(self._erased)))
        if not self._changes:
            return
        lines = self._seal()
        last = self._seq + len(lines)
        head = chain.link(self._head, lines)
        self._changes[-1]["link"] = head
        self.write(_LOG, self._changes)
        self.write(_COUNT, [{**self.owner, "seq": last, "head": head}])
        if self._is_voiding:
            self.write(_COUNT_VOID, [{**self.owner, "forget_seq": last}])

    def _seal(self) -> list[str]:
        """Number the changes and put digests on their words; returns what a link covers of them."""
        salts = os.urandom(chain.SALT_BYTES * len(self._changes))
        actor, actor_kind = self._by["actor"], self._by["actor_kind"]
        lines = []
        for n, change in enumerate(self._changes):
            reason, before, after = change["reason"], change["before"], change["after"]
            salt = digest = None
            if reason or before is not None or after is not None:
                salt = salts[n * chain.SALT_BYTES : (n + 1) * chain.SALT_BYTES]
                digest = chain.digest(salt, reason, before, after)
            seq = self._seq + n + 1
            change.update(seq=seq, salt=salt, digest=digest, link=None)
            named = change["action"], change["kind"], change["id"]
            lines.append(chain.line(seq, self.at, *named, actor, actor_kind, digest))
        return lines


def shares_a_word(reason: str, voice: Collection[str]) -> bool:
    """Whether a reason has one of these words, stop words aside: it would tell what they told."""
    return any(word in voice for word in words(reason) if word not in STOP_WORDS)


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
        yield tx
        tx._write_log()
