"""The queue: texts to extract from and to embed, leased to whoever works on them.

A lease is void when its time is over, when its process is dead, and when what it was given has
changed meanwhile: then the row has no owner any more, and a result that still comes is thrown away.
That makes the work exactly-once in effect, whoever dies or comes late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    update,
)

from graphmem.store.order import before
from graphmem.store.owner import is_dead
from graphmem.store.records import facts_by_id, select_passages, to_passage
from graphmem.store.schema import Instant, chunks, entity, mine, passage, pending
from graphmem.store.sqlite import Database, insert_if_absent
from graphmem.store.transaction import Transaction
from graphmem.types import Passage, Scope, VectorKind

__all__ = [
    "LEASE",
    "Claim",
    "Work",
    "add",
    "again",
    "backoff",
    "claim",
    "drop",
    "fail",
    "finish",
    "held",
    "make_due",
    "next_due",
    "release",
]

Work = Literal["extract", "embed"]
Key = tuple[str, str]
# What went wrong, when to try again (None: after a back-off), and whether that may help.
Failure = tuple[str, datetime | None, bool]

# Longer than any extraction with its retries: then the work is given to somebody else. A process
# that died on this machine loses its leases at once.
LEASE = timedelta(hours=1)
# The first retry after a failure; each further one waits twice as long.
FIRST_RETRY = timedelta(seconds=2)
LAST_RETRY = timedelta(hours=1)
LONG_AGO = datetime.fromtimestamp(0, timezone.utc)
# What failed for a reason that time alone does not mend (a refused key) is looked at daily.
HOPELESS_RETRY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Claim:
    """Work on some texts of one scope, leased to one owner.

    Attributes:
        scope: whose texts.
        work: ``extract`` or ``embed``.
        owner: to whom, as given to ``claim``.
        lease_until: when the lease ends; with the owner it identifies the claim.
        passages: what to extract from, in order, each with what stands before it.
        texts: what to embed, as (kind, id, text).
    """

    scope: Scope
    work: Work
    owner: str
    lease_until: datetime
    passages: tuple[Passage, ...] = ()
    texts: tuple[tuple[VectorKind, str, str], ...] = ()

    @property
    def keys(self) -> list[Key]:
        """(kind, id) of every item."""
        if self.work == "extract":
            return [("passage", one.id) for one in self.passages]
        return [(kind, id_) for kind, id_, _ in self.texts]


# -- within a write of one scope -----------------------------------------------------------------


def add(tx: Transaction, works: Sequence[Work], keys: Sequence[Key]) -> None:
    """Queue items that are not queued."""
    tx.run(insert_if_absent(pending), [row for work in works for row in _rows(tx, work, keys)])


def again(tx: Transaction, work: Work, keys: Sequence[Key]) -> None:
    """Queue items anew: whoever works on them now does so in vain."""
    drop(tx, work, keys)
    add(tx, (work,), keys)


def drop(tx: Transaction, work: Work, keys: Sequence[Key]) -> None:
    """Take items out of the queue."""
    for kind in sorted({kind for kind, _ in keys}):
        for ids in chunks(id_ for of, id_ in keys if of == kind):
            tx.run(pending.delete().where(_these(tx.scope, work, kind, ids)))


def held(tx: Transaction, claim: Claim) -> set[Key]:
    """The items of a claim that are still its own."""
    rows = tx.rows(
        select(pending.c.kind, pending.c.id).where(
            mine(pending, tx.scope),
            pending.c.work == claim.work,
            pending.c.owner == claim.owner,
            pending.c.lease_until == claim.lease_until,
        )
    )
    return {(row.kind, row.id) for row in rows} & set(claim.keys)


def finish(tx: Transaction, claim: Claim, keys: Sequence[Key]) -> None:
    """Take done items out of the queue."""
    drop(tx, claim.work, keys)


def fail(tx: Transaction, claim: Claim, errors: Mapping[Key, Failure]) -> None:
    """Put items back, to be tried again later."""
    for (kind, id_), (error, retry_at, is_retryable) in sorted(errors.items()):
        here = _these(tx.scope, claim.work, kind, [id_])
        attempts = tx.connection.execute(select(pending.c.attempts).where(here)).scalar() or 0
        due_at = retry_at or tx.now + backoff(attempts + 1, is_retryable=is_retryable)
        tx.run(
            update(pending)
            .where(here)
            .values(attempts=attempts + 1, error=error, due_at=due_at, owner=None, lease_until=None)
        )


def backoff(attempts: int, *, is_retryable: bool = True) -> timedelta:
    """How long to wait after that many failures."""
    if not is_retryable:
        return HOPELESS_RETRY
    return min(LAST_RETRY, FIRST_RETRY * (1 << min(attempts - 1, 20)))


def _rows(tx: Transaction, work: Work, keys: Sequence[Key]) -> list[dict[str, Any]]:
    # Due a microsecond apart, so that due_at alone keeps the order in which they came.
    return [
        {
            **tx.owner,
            "work": work,
            "kind": kind,
            "id": id_,
            "attempts": 0,
            "due_at": tx.now - timedelta(microseconds=len(keys) - number),
            "error": "",
        }
        for number, (kind, id_) in enumerate(keys)
    ]


def _these(scope: Scope, work: Work, kind: str, ids: Sequence[str]) -> ColumnElement[bool]:
    return and_(
        mine(pending, scope),
        pending.c.work == work,
        pending.c.kind == kind,
        pending.c.id.in_(ids),
    )


# -- across scopes -------------------------------------------------------------------------------


def claim(
    database: Database, work: Work, *, owner: str, now: datetime, max_texts: int, max_chars: int
) -> Claim | None:
    """Lease the items of one scope that have been due longest; ``None`` when nothing is due."""
    with database.reading() as connection:
        is_due = connection.execute(_due(work, now, limit=1)).first() is not None
        if not is_due and not _dead_owners(connection):
            return None
    with database.writing() as connection:
        _release_dead(connection)
        due = connection.execute(_due(work, now, limit=4 * max_texts)).all()
        if not due:
            return None
        lease = Claim(Scope(due[0].user, due[0].agent), work, owner, now + LEASE)
        keys = [(row.kind, row.id) for row in due if row[:2] == due[0][:2]]
        choose = _chosen_passages if work == "extract" else _chosen_texts
        keys = choose(connection, lease.scope, keys, max_texts, max_chars)
        for kind in sorted({kind for kind, _ in keys}):
            for ids in chunks(id_ for of, id_ in keys if of == kind):
                connection.execute(
                    update(pending)
                    .where(_these(lease.scope, work, kind, ids))
                    .values(owner=owner, lease_until=lease.lease_until)
                )
    # What is read may be newer than the lease; then the lease is void already.
    with database.reading() as connection:
        if work == "extract":
            lease = replace(lease, passages=_with_context(connection, lease.scope, keys))
        else:
            lease = replace(lease, texts=_texts(connection, lease.scope, keys))
    return lease if lease.keys else None


def release(database: Database, owner: str) -> None:
    """Give back whatever an owner still holds."""
    with database.writing() as connection:
        connection.execute(
            update(pending).where(pending.c.owner == owner).values(owner=None, lease_until=None)
        )


def make_due(database: Database, now: datetime) -> None:
    """Let everything that waits for a later try be due now."""
    late = and_(pending.c.owner.is_(None), pending.c.due_at > now)
    with database.reading() as connection:
        if not connection.execute(select(pending.c.id).where(late).limit(1)).first():
            return
    with database.writing() as connection:
        connection.execute(update(pending).where(late).values(due_at=now))


def next_due(connection: Connection, work: Work | None) -> datetime | None:
    """When there will next be something to claim: now or in the past, later, or never."""
    which = pending.c.work == work if work else pending.c.work.in_(("extract", "embed"))
    at = case((_is_fresh(), literal(LONG_AGO, Instant)), else_=pending.c.due_at)
    free = select(func.min(at)).where(which, pending.c.owner.is_(None))
    leased = select(func.min(pending.c.lease_until)).where(which, pending.c.owner.is_not(None))
    times = [connection.execute(one).scalar() for one in (free, leased)]
    return min((time for time in times if time is not None), default=None)


def _is_fresh() -> ColumnElement[bool]:
    """Never failed: due whatever the clock says, which may have been set back since it came."""
    return pending.c.attempts == 0


def _due(work: Work, now: datetime, *, limit: int) -> Any:
    return (
        select(pending.c.user, pending.c.agent, pending.c.kind, pending.c.id)
        .where(
            pending.c.work == work,
            or_(_is_fresh(), pending.c.due_at <= now),
            or_(pending.c.owner.is_(None), pending.c.lease_until <= now),
        )
        .order_by(pending.c.due_at)
        .limit(limit)
    )


def _chosen_passages(
    connection: Connection, scope: Scope, keys: Sequence[Key], max_texts: int, max_chars: int
) -> list[Key]:
    """Passages of the first one's thread, then of others, as many as may be read at a time."""
    rows = _passage_rows(connection, scope, keys)
    queued = [rows[id_] for _, id_ in keys if id_ in rows]
    if queued:
        thread = queued[0].thread
        queued.sort(key=lambda row: row.thread != thread)
    chosen = _within(queued, [len(row.title) + len(row.text) for row in queued], max_chars)
    chosen = chosen[:max_texts]
    if chosen:
        chosen.sort(
            key=lambda row: (row.thread != thread, row.thread, row.place, row.ordinal, row.part)
        )
    return [("passage", row.id) for row in chosen]


def _chosen_texts(
    connection: Connection, scope: Scope, keys: Sequence[Key], max_texts: int, max_chars: int
) -> list[Key]:
    texts = _texts(connection, scope, keys[:max_texts])
    chosen = _within(texts, [len(text) for _, _, text in texts], max_chars)
    return [(kind, id_) for kind, id_, _ in chosen]


def _with_context(connection: Connection, scope: Scope, keys: Sequence[Key]) -> tuple[Passage, ...]:
    """The passages, in the order of the keys, each with what stands before it."""
    rows = _passage_rows(connection, scope, keys)
    return tuple(
        replace(to_passage(rows[id_]), before=before(connection, scope, rows[id_]))
        for _, id_ in keys
        if id_ in rows
    )


def _passage_rows(connection: Connection, scope: Scope, keys: Sequence[Key]) -> dict[str, Row[Any]]:
    rows: dict[str, Row[Any]] = {}
    for ids in chunks(id_ for kind, id_ in keys if kind == "passage"):
        found = connection.execute(select_passages(scope).where(passage.c.id.in_(ids)))
        rows.update((row.id, row) for row in found.all())
    return rows


def _texts(
    connection: Connection, scope: Scope, keys: Sequence[Key]
) -> tuple[tuple[VectorKind, str, str], ...]:
    """What is embedded of each item that exists, in the order of the keys."""
    texts: dict[Key, tuple[VectorKind, str, str]] = {}
    for id_, row in _passage_rows(connection, scope, keys).items():
        texts["passage", id_] = ("passage", id_, to_passage(row).full_text)
    facts = facts_by_id(connection, scope, [id_ for kind, id_ in keys if kind == "fact"])
    for id_, one in facts.items():
        texts["fact", id_] = ("fact", id_, one.text)
    for ids in chunks(id_ for kind, id_ in keys if kind == "entity"):
        named = select(entity.c.id, entity.c.name).where(mine(entity, scope), entity.c.id.in_(ids))
        for id_, name in connection.execute(named).all():
            texts["entity", id_] = ("entity", id_, name)
    return tuple(texts[key] for key in keys if key in texts)


def _within(items: Sequence[Any], sizes: Sequence[int], limit: int) -> list[Any]:
    """The first items whose sizes add up to at most the limit; one at least."""
    chosen: list[Any] = []
    total = 0
    for item, size in zip(items, sizes, strict=True):
        total += size
        if chosen and total > limit:
            break
        chosen.append(item)
    return chosen


# -- owners --------------------------------------------------------------------------------------


def _dead_owners(connection: Connection) -> list[str]:
    owners = connection.execute(
        select(pending.c.owner).where(pending.c.owner.is_not(None)).distinct()
    ).scalars()
    return [owner for owner in owners if is_dead(owner)]


def _release_dead(connection: Connection) -> None:
    for owner in _dead_owners(connection):
        connection.execute(
            update(pending).where(pending.c.owner == owner).values(owner=None, lease_until=None)
        )
