"""The queue: texts to extract from and to embed, leased to whoever works on them.

A lease is void when its time is over, when its process is dead, and when what it was given has
changed meanwhile: then the row has no owner any more, and a result that still comes is thrown away.
That makes the work exactly-once in effect, whoever dies or comes late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from sqlalchemy import (
    Connection,
    Row,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from graphmem.store.bulk import Bulk, among, delete_row, given, ours, put_row
from graphmem.store.order import positions, with_context
from graphmem.store.owner import is_dead
from graphmem.store.records import passages_by_id
from graphmem.store.schema import KINDS, entity, fact, microseconds, pending
from graphmem.store.sqlite import Database
from graphmem.store.transaction import Transaction
from graphmem.types import Fact, Passage, Scope, VectorKind

__all__ = [
    "LEASE",
    "Claim",
    "Work",
    "add",
    "again",
    "backoff",
    "by_kind",
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

_ADD = put_row(pending, instead=())
_AGAIN = put_row(pending, instead=("attempts", "due_at", "error", "owner", "lease_until"))
_DROP = delete_row(pending)
_LEASE = Bulk(
    update(pending).where(
        ours(pending),
        pending.c.kind == bindparam("kind"),
        among(pending.c.id),
        pending.c.work == bindparam("work"),
    ),
    ("owner", "lease_until"),
)
_IS_LEASED = and_(
    ours(pending),
    pending.c.work == bindparam("work"),
    pending.c.owner == bindparam("owner"),
    pending.c.lease_until == bindparam("lease_until"),
)
_HELD = select(pending.c.kind, pending.c.id).where(_IS_LEASED)
# No two kinds have an id in common.
_FINISH = Bulk(pending.delete().where(_IS_LEASED, among(pending.c.id)))
# What the text of a fact is made of.
_SAYINGS = select(
    fact.c.id, fact.c.subject, fact.c.predicate, fact.c.object, fact.c.polarity
).where(ours(fact), among(fact.c.id))
_NAMES = select(entity.c.id, entity.c.name).where(ours(entity), among(entity.c.id))
_ATTEMPTS = select(pending.c.kind, pending.c.id, pending.c.attempts).where(
    ours(pending),
    pending.c.kind.in_(KINDS),
    among(pending.c.id),
    pending.c.work == bindparam("work"),
)
# Never failed: due whatever the clock says, which may have been set back since it came.
_IS_FRESH = pending.c.attempts == 0
_NOW = bindparam("now", type_=pending.c.due_at.type)
_DUE = (
    select(pending.c.user, pending.c.agent, pending.c.kind, pending.c.id)
    .where(
        pending.c.work == bindparam("work"),
        or_(_IS_FRESH, pending.c.due_at <= _NOW),
        or_(pending.c.owner.is_(None), pending.c.lease_until <= _NOW),
    )
    .order_by(pending.c.due_at)
    .limit(bindparam("most"))
)
_WORKS = pending.c.work.in_(bindparam("works", expanding=True))
_IS_FREE = pending.c.owner.is_(None)
_FRESH = select(pending.c.id).where(_WORKS, _IS_FREE, _IS_FRESH).limit(1)
_LATER = select(func.min(pending.c.due_at)).where(_WORKS, _IS_FREE, pending.c.attempts > 0)
_LEASED = select(func.min(pending.c.lease_until)).where(_WORKS, pending.c.owner.is_not(None))
_OWNERS = select(pending.c.owner).where(pending.c.owner.is_not(None)).distinct()


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


def by_kind(keys: Iterable[Key]) -> defaultdict[str, list[str]]:
    """The ids of each kind, in order."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for kind, id_ in keys:
        ids[kind].append(id_)
    return ids


# -- within a write of one scope -----------------------------------------------------------------


def add(tx: Transaction, works: Sequence[Work], keys: Sequence[Key]) -> None:
    """Queue items that are not queued."""
    tx.write(_ADD, [row for work in works for row in _rows(tx, work, keys)])


def again(tx: Transaction, work: Work, keys: Sequence[Key]) -> None:
    """Queue items anew: whoever works on them now does so in vain."""
    tx.write(_AGAIN, _rows(tx, work, keys))


def drop(tx: Transaction, work: Work, keys: Sequence[Key]) -> None:
    """Take items out of the queue."""
    tx.write(_DROP, _key_rows(tx.scope, work, keys))


def held(tx: Transaction, claim: Claim) -> set[Key]:
    """The items of a claim that are still its own."""
    rows = tx.rows(_HELD, {**_lease(claim), "lease_until": claim.lease_until})
    return set(claim.keys).intersection(map(tuple, rows))


def finish(tx: Transaction, claim: Claim, keys: Sequence[Key]) -> None:
    """Take done items, which the claim still holds, out of the queue."""
    if keys:
        ids = given(tx.scope, (id_ for _, id_ in keys))
        tx.write(_FINISH, [{**_lease(claim), **ids}])


def _lease(claim: Claim) -> dict[str, Any]:
    lease = {"work": claim.work, "owner": claim.owner}
    return {**given(claim.scope), **lease, "lease_until": microseconds(claim.lease_until)}


def fail(tx: Transaction, claim: Claim, errors: Mapping[Key, Failure]) -> None:
    """Put items back, to be tried again later."""
    if not errors:
        return
    queued = {**given(tx.scope, (id_ for _, id_ in errors)), "work": claim.work}
    attempts = {(row.kind, row.id): row.attempts for row in tx.rows(_ATTEMPTS, queued)}
    rows = []
    for (kind, id_), (error, retry_at, is_retryable) in sorted(errors.items()):
        tried = attempts.get((kind, id_), 0) + 1
        due_at = retry_at or tx.now + backoff(tried, is_retryable=is_retryable)
        rows.append(
            {**tx.owner, "work": claim.work, "kind": kind, "id": id_, "attempts": tried}
            | {"due_at": microseconds(due_at), "error": error, "owner": None, "lease_until": None}
        )
    tx.write(_AGAIN, [row for row in rows if (row["kind"], row["id"]) in attempts])


def backoff(attempts: int, *, is_retryable: bool = True) -> timedelta:
    """How long to wait after that many failures."""
    if not is_retryable:
        return HOPELESS_RETRY
    return min(LAST_RETRY, FIRST_RETRY * (1 << min(attempts - 1, 20)))


def _rows(tx: Transaction, work: Work, keys: Sequence[Key]) -> list[dict[str, Any]]:
    # Due a microsecond apart, so that due_at alone keeps the order in which they came.
    return [
        {
            **key,
            "attempts": 0,
            "due_at": due_at,
            "error": "",
            "owner": None,
            "lease_until": None,
        }
        for due_at, key in enumerate(_key_rows(tx.scope, work, keys), tx.at - len(keys))
    ]


def _key_rows(scope: Scope, work: Work, keys: Iterable[Key]) -> list[dict[str, Any]]:
    key = {**given(scope), "work": work}
    return [{**key, "kind": kind, "id": id_} for kind, id_ in keys]


# -- across scopes -------------------------------------------------------------------------------


def claim(
    database: Database, work: Work, *, owner: str, now: datetime, max_texts: int, max_chars: int
) -> Claim | None:
    """Lease the items of one scope that have been due longest; ``None`` when nothing is due."""
    with database.reading() as connection:
        is_due = bool(_due(connection, work, now, most=1))
        if not is_due and not _dead_owners(connection):
            return None
    # A lease that is lost with the power has no owner any more: it need not be on disk.
    with database.writing(is_durable=False) as connection:
        _release_dead(connection)
        due = _due(connection, work, now, most=4 * max_texts)
        if not due:
            return None
        first = due[0]
        scope = Scope(first.user, first.agent)
        keys = [
            (kind, id_)
            for user, agent, kind, id_ in due
            if user == first.user and agent == first.agent
        ]
        lease = Claim(scope, work, owner, now + LEASE)
        if work == "extract":
            rows = _chosen_passages(connection, scope, keys, max_texts, max_chars)
            lease = replace(lease, passages=with_context(connection, scope, rows))
        else:
            texts = _texts(connection, scope, keys[:max_texts])
            chosen = _within(texts, [len(text) for _, _, text in texts], max_chars)
            lease = replace(lease, texts=tuple(chosen))
        leased = [
            {**_lease(lease), **given(scope, some), "kind": kind}
            for kind, some in by_kind(lease.keys).items()
        ]
        _LEASE.run(connection, leased)
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
    which = {"works": [work] if work else ["extract", "embed"]}
    if connection.execute(_FRESH, which).first():
        return LONG_AGO
    times = [connection.execute(one, which).scalar() for one in (_LATER, _LEASED)]
    return min((time for time in times if time is not None), default=None)


def _due(connection: Connection, work: Work, now: datetime, *, most: int) -> Sequence[Any]:
    rows: Sequence[Any] = connection.execute(_DUE, {"work": work, "now": now, "most": most}).all()
    return rows


def _chosen_passages(
    connection: Connection, scope: Scope, keys: Sequence[Key], max_texts: int, max_chars: int
) -> list[Row[Any]]:
    """Passages of the first one's thread, then of others, as many as may be read at a time."""
    rows = {row.id: row for row in positions(connection, scope, (id_ for _, id_ in keys))}
    queued = [rows[id_] for _, id_ in keys if id_ in rows]
    if queued:
        thread = queued[0].thread
        queued.sort(key=lambda row: row.thread != thread)
    chosen = _within(queued, [row.chars for row in queued], max_chars)[:max_texts]
    chosen.sort(
        key=lambda row: (row.thread != thread, row.thread, row.place, row.ordinal, row.part)
    )
    return chosen


def _texts(
    connection: Connection, scope: Scope, keys: Sequence[Key]
) -> tuple[tuple[VectorKind, str, str], ...]:
    """What is embedded of each item that exists, in the order of the keys."""
    texts: dict[Key, tuple[VectorKind, str, str]] = {}
    ids = by_kind(keys)
    for id_, said in passages_by_id(connection, scope, ids["passage"]).items():
        texts["passage", id_] = ("passage", id_, said.full_text)
    for row in connection.execute(_SAYINGS, given(scope, ids["fact"])).all():
        told = Fact(row.id, "", "", row.subject, row.predicate, row.object, row.polarity)
        texts["fact", row.id] = ("fact", row.id, told.text)
    for id_, name in connection.execute(_NAMES, given(scope, ids["entity"])).all():
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
    return [owner for owner in connection.execute(_OWNERS).scalars() if is_dead(owner)]


def _release_dead(connection: Connection) -> None:
    for owner in _dead_owners(connection):
        connection.execute(
            update(pending).where(pending.c.owner == owner).values(owner=None, lease_until=None)
        )
