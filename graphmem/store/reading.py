"""Readers: rows as values, in a stable order, each call from one state of the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    select,
    type_coerce,
)

from graphmem.errors import NotFound
from graphmem.facts import entity_id
from graphmem.identity import content_id, normal_form
from graphmem.store import chain, vectors
from graphmem.store.bulk import among, given, ours
from graphmem.store.lookup import Lookup
from graphmem.store.records import (
    IS_OF_FACTS,
    IS_SAID,
    OF_MESSAGE,
    OF_PASSAGE,
    QUOTE,
    StoredMessage,
    decoded,
    facts_by_id,
    of_facts,
    passage_rows,
    said_at,
    said_times,
    select_passages,
    to_fact,
    to_passage,
)
from graphmem.store.schema import (
    KINDS,
    chunks,
    entity,
    evidence,
    fact,
    log,
    message,
    mine,
    occurrence,
    passage,
    pending,
    scope_row,
)
from graphmem.types import (
    Changes,
    Entity,
    Fact,
    LogCheck,
    LogEntry,
    Message,
    Passage,
    Scope,
    Source,
    Stats,
    Status,
    VectorKind,
)

__all__ = [
    "Changed",
    "changed",
    "changes",
    "entities",
    "entities_by_id",
    "facts",
    "log_digest",
    "log_entries",
    "messages",
    "passages",
    "pending_count",
    "pending_work",
    "scopes",
    "sequence",
    "sources",
    "stats",
    "verify_log",
]

_CHAINED = chain.Entry._fields
_ROWS_AT_ONCE = 1_000

_ENTITIES = Lookup(select(entity.c.id, entity.c.name).where(ours(entity), among(entity.c.id)))
_LOGGED = select(log.c.kind, log.c.id).where(ours(log), log.c.seq > bindparam("after")).distinct()
_LINKS = (
    select(log.c.link)
    .where(ours(log), log.c.seq <= bindparam("seq"), log.c.link.is_not(None))
    .order_by(log.c.seq.desc())
    .limit(1)
)
_SAID_AGAIN = select(func.json_group_array(occurrence.c.said_us)).where(IS_SAID).scalar_subquery()
_SOURCES = (
    select(
        evidence.c.passage_id,
        evidence.c.speaker.label("claimed_by"),
        evidence.c.grounded,
        evidence.c.extractor,
        evidence.c.recorded_at,
        message.c.id.label("message_id"),
        message.c.session,
        message.c.role,
        message.c.speaker,
        message.c.said_us,
        message.c.said_offset,
        message.c.recorded_us,
        _SAID_AGAIN.label("said_again"),
        QUOTE.label("quote"),
    )
    .select_from(evidence.join(passage, OF_PASSAGE).join(message, OF_MESSAGE))
    .where(IS_OF_FACTS)
    .order_by(
        passage.c.place, passage.c.ordinal, passage.c.part, evidence.c.passage_id, evidence.c.n
    )
)
_LIVE = and_(fact.c.retired_at.is_(None), fact.c.status.in_(("asserted", "verified")))


def sequence(connection: Connection, scope: Scope) -> tuple[int, int]:
    """The numbers of the scope's last log entry and of its last forget; 0 before any."""
    row = connection.execute(
        select(scope_row.c.seq, scope_row.c.forget_seq).where(mine(scope_row, scope))
    ).first()
    return (row.seq, row.forget_seq) if row else (0, 0)


@dataclass(frozen=True, slots=True)
class Changed:
    """Which rows of a scope changed, to be read in portions: all at once may be too many.

    Attributes:
        seq: the scope's log sequence number when this was asked.
        ids: of passages, facts and entities that are new, changed or gone.
        is_whole: these are all rows of the scope; whatever was known before is void.
    """

    seq: int
    ids: Mapping[VectorKind, Sequence[str]]
    is_whole: bool = False

    def portions(self, size: int) -> Iterator[Changed]:
        """At most so many ids at a time, in order; ``seq`` comes with the last, 0 with others."""
        parts: list[Mapping[VectorKind, Sequence[str]]] = [
            {kind: ids[start : start + size]}
            for kind, ids in self.ids.items()
            for start in range(0, len(ids), size)
        ] or [{}]
        for number, part in enumerate(parts, 1):
            seq = self.seq if number == len(parts) else 0
            yield Changed(seq, part, is_whole=self.is_whole and number == 1)


def changed(connection: Connection, scope: Scope, after: int | None) -> Changed:
    """Which rows changed after a log number, or all."""
    seq, _ = sequence(connection, scope)
    if after is None or after > seq:
        return Changed(seq, _all_ids(connection, scope), is_whole=True)
    ids: dict[str, set[str]] = {}
    if after < seq:
        for kind, id_ in connection.execute(_LOGGED, {**given(scope), "after": after}).all():
            ids.setdefault(kind, set()).add(id_)
    if "scope" in ids:
        return Changed(seq, _all_ids(connection, scope), is_whole=True)
    return Changed(seq, {kind: sorted(ids[kind]) for kind in KINDS if kind in ids})


def _all_ids(connection: Connection, scope: Scope) -> dict[VectorKind, list[str]]:
    said = _ordered(select(passage.c.id).where(mine(passage, scope)))
    return {
        "passage": list(connection.execute(said).scalars()),
        "fact": list(
            connection.execute(
                select(fact.c.id).where(mine(fact, scope)).order_by(fact.c.id)
            ).scalars()
        ),
        "entity": list(
            connection.execute(
                select(entity.c.id).where(mine(entity, scope)).order_by(entity.c.id)
            ).scalars()
        ),
    }


def changes(connection: Connection, scope: Scope, of: Changed) -> Changes:
    """The rows as they are now."""
    asked = {kind: of.ids.get(kind, ()) for kind in KINDS}
    passages_now = _passages_by_id(connection, scope, asked["passage"])
    facts_now = facts_by_id(connection, scope, asked["fact"])
    entities_now = entities_by_id(connection, scope, asked["entity"])
    now = passages_now.keys() | facts_now.keys() | entities_now.keys()
    return Changes(
        of.seq,
        passages=tuple(passages_now.values()),
        facts=tuple(facts_now[id_] for id_ in asked["fact"] if id_ in facts_now),
        vectors=vectors.load(connection, scope, asked),
        removed=frozenset(id_ for some in asked.values() for id_ in some) - now,
        is_whole=of.is_whole,
    )


def passages(
    connection: Connection,
    scope: Scope,
    *,
    session: str | None = None,
    ids: Iterable[str] | None = None,
) -> list[Passage]:
    """Passages by thread, in the order in which they were said."""
    if ids is not None:
        found = _passages_by_id(connection, scope, ids).values()
        return [one for one in found if session is None or one.session == session]
    statement = select_passages(scope)
    if session is not None:
        statement = statement.where(message.c.session == session)
    return [to_passage(row) for row in connection.execute(_ordered(statement)).all()]


def entities_by_id(connection: Connection, scope: Scope, ids: Iterable[str]) -> dict[str, Entity]:
    """Those of the entities that exist."""
    return {row.id: Entity(row.id, row.name) for row in _ENTITIES.rows(connection, scope, ids)}


def log_digest(connection: Connection, scope: Scope, seq: int) -> str | None:
    """Of the log up to an entry, by what is never erased of it; None: there is no such entry.

    That is the newest link up to there: whoever read the scope's rows read the end of a
    transaction, and it ends in one.
    """
    if not seq or seq > sequence(connection, scope)[0]:
        return None
    link = connection.execute(_LINKS, {**given(scope), "seq": seq}).scalar()
    return None if link is None else content_id("l", str(seq), link.hex())


def messages(
    connection: Connection, scope: Scope, *, session: str | None = None
) -> list[StoredMessage]:
    """Messages by thread, in the order in which they were said."""
    parts: dict[str, list[str]] = {}
    for one in passages(connection, scope, session=session):
        parts.setdefault(one.message_id, []).append(one.id)
    times: dict[str, list[int]] = {}
    for row in connection.execute(
        select(occurrence.c.message_id, occurrence.c.said_us).where(mine(occurrence, scope))
    ):
        times.setdefault(row.message_id, []).append(row.said_us)
    rows = {}
    for chunk in chunks(parts):
        for row in connection.execute(
            select(message).where(mine(message, scope), message.c.id.in_(chunk))
        ):
            rows[row.id] = row
    return [_to_message(rows[id_], times.get(id_, []), some) for id_, some in parts.items()]


def facts(
    connection: Connection,
    scope: Scope,
    *,
    subject: str | None = None,
    status: Status | None = None,
    passage: str | None = None,
) -> list[Fact]:
    """Facts by id; of a subject's name, a status, or stated by a passage."""
    statement = select(fact).where(mine(fact, scope))
    if subject is not None:
        statement = statement.where(fact.c.subject_id == entity_id(normal_form(subject)))
    if status is not None:
        statement = statement.where(fact.c.status == status)
    if passage is not None:
        stated_there = select(evidence.c.fact_id).where(
            mine(evidence, scope), evidence.c.passage_id == passage
        )
        statement = statement.where(fact.c.id.in_(stated_there))
    return [to_fact(row) for row in connection.execute(statement.order_by(fact.c.id)).all()]


def sources(connection: Connection, scope: Scope, fact_id: str) -> list[Source]:
    """Where a fact was read, one for each passage and claimant, in the order said.

    Raises:
        NotFound: the scope has no such fact.
    """
    found: dict[tuple[str, str | None], Source] = {}
    for row in connection.execute(_SOURCES, of_facts(scope, [fact_id])).all():
        one = _to_source(row)
        key = one.passage_id, one.claimed_by
        # Two spellings in one passage are one statement, held if either of them is.
        if one.grounded or key not in found:
            found[key] = one
    if not found:
        raise NotFound(
            f"no fact {fact_id!r} in the scope {scope}: its facts, and what recalls show, have ids"
        )
    return list(found.values())


def entities(connection: Connection, scope: Scope) -> list[Entity]:
    """Entities by name."""
    rows = connection.execute(
        select(entity.c.id, entity.c.name)
        .where(mine(entity, scope))
        .order_by(entity.c.name, entity.c.id)
    )
    return [Entity(row.id, row.name) for row in rows]


def log_entries(
    connection: Connection,
    scope: Scope,
    *,
    after: int = 0,
    since: datetime | None = None,
    until: datetime | None = None,
    kind: str | None = None,
    id_: str | None = None,
    limit: int | None = None,
) -> list[LogEntry]:
    """The newest entries of the scope's log that fit, oldest first."""
    wanted = [mine(log, scope), log.c.seq > after]
    if since is not None:
        wanted.append(log.c.at >= since)
    if until is not None:
        wanted.append(log.c.at <= until)
    if kind is not None:
        wanted.append(log.c.kind == kind)
    if id_ is not None:
        wanted.append(log.c.id == id_)
    statement = select(log).where(*wanted)
    newest = connection.execute(statement.order_by(log.c.seq.desc()).limit(limit)).all()
    return [_to_entry(row) for row in reversed(newest)]


def _to_entry(row: Any) -> LogEntry:
    what = f"entry {row.seq} of the log"
    return LogEntry(
        row.seq,
        row.at,
        row.action,
        row.kind,
        row.id,
        row.actor,
        row.reason,
        decoded(row.before, what),
        decoded(row.after, what),
        row.actor_kind,
    )


def verify_log(connection: Connection, scope: Scope, noted: str | None = None) -> LogCheck:
    """Whether the scope's log is what was written, and still holds a head that was noted."""
    row = connection.execute(
        select(scope_row.c.seq, scope_row.c.head).where(mine(scope_row, scope))
    ).first()
    seq, head = (row.seq, row.head) if row else (0, None)
    return chain.verify(_chained(connection, scope), head=head, seq=seq, noted=noted)


def _chained(connection: Connection, scope: Scope) -> Iterator[chain.Entry]:
    columns = [type_coerce(log.c.at, BigInteger) if n == "at" else log.c[n] for n in _CHAINED]
    rows = connection.execute(select(*columns).where(mine(log, scope)).order_by(log.c.seq))
    for row in rows.yield_per(_ROWS_AT_ONCE):
        yield chain.Entry(*row)


def stats(connection: Connection, scope: Scope | None) -> Stats:
    """Counts of a scope, or of the whole store."""

    def count(table: Any, *conditions: Any) -> int:
        statement = select(func.count()).select_from(table).where(*conditions)
        if scope is not None:
            statement = statement.where(mine(table, scope))
        return int(connection.execute(statement).scalar_one())

    live = count(fact, _LIVE)
    return Stats(
        messages=count(message),
        passages=count(passage),
        facts=live,
        entities=count(entity),
        withheld=count(fact) - live,
        pending=count(pending, pending.c.work == "extract"),
        failed=count(pending, pending.c.work == "extract", pending.c.attempts > 0),
        unembedded=count(pending, pending.c.work == "embed"),
        last_error=_last_error(connection, scope),
    )


def pending_count(
    connection: Connection, scope: Scope | None, work: str | None, is_leased: bool | None
) -> int:
    """How many items are queued; leased ones, others, or (None) both."""
    statement = select(func.count()).select_from(pending)
    if scope is not None:
        statement = statement.where(mine(pending, scope))
    if work is not None:
        statement = statement.where(pending.c.work == work)
    if is_leased is not None:
        statement = statement.where(pending.c.owner.is_not(None) == is_leased)
    return int(connection.execute(statement).scalar_one())


def pending_work(connection: Connection, scope: Scope, kind: str, id_: str) -> dict[str, str]:
    """What still is to be done with a row: work → why it failed last, ``""`` where it did not."""
    statement = select(pending.c.work, pending.c.error).where(
        mine(pending, scope), pending.c.kind == kind, pending.c.id == id_
    )
    return {row.work: row.error for row in connection.execute(statement)}


def scopes(connection: Connection) -> list[Scope]:
    """Every scope that was ever written to, sorted."""
    rows = connection.execute(select(scope_row.c.user, scope_row.c.agent))
    return sorted(Scope(row.user, row.agent) for row in rows)


def _last_error(connection: Connection, scope: Scope | None) -> str:
    statement = select(pending.c.error).where(pending.c.attempts > 0, pending.c.error != "")
    if scope is not None:
        statement = statement.where(mine(pending, scope))
    return connection.execute(statement.order_by(pending.c.due_at.desc()).limit(1)).scalar() or ""


def _ordered(statement: Select[Any]) -> Select[Any]:
    return statement.order_by(
        passage.c.thread, passage.c.place, passage.c.ordinal, passage.c.part, passage.c.id
    )


def _passages_by_id(connection: Connection, scope: Scope, ids: Iterable[str]) -> dict[str, Passage]:
    found = passage_rows(connection, scope, ids)
    rows = sorted(found, key=lambda row: (row.thread, row.place, row.ordinal, row.part, row.id))
    return {row.id: to_passage(row) for row in rows}


def _to_message(row: Any, times: Sequence[int], parts: Sequence[str]) -> StoredMessage:
    said = Message(
        text=row.text,
        role=row.role,
        speaker=row.speaker or None,
        said_at=said_at(row.said_us, row.said_offset),
        title=row.title or None,
        metadata=decoded(row.metadata, "the metadata of a message"),
    )
    return StoredMessage(
        row.id,
        row.session,
        said,
        row.ordinal,
        said_times(row.said_us, row.said_offset, times),
        tuple(parts),
    )


def _to_source(row: Any) -> Source:
    is_own = normal_form(row.claimed_by) == normal_form(row.speaker)
    return Source(
        passage_id=row.passage_id,
        message_id=row.message_id,
        session=row.session,
        role=row.role,
        speaker=row.speaker,
        claimed_by=None if is_own else row.claimed_by,
        said_at=said_times(
            row.said_us, row.said_offset, decoded(row.said_again, "a time of a message")
        ),
        recorded_at=row.recorded_at,
        extractor=row.extractor,
        grounded=row.grounded,
        quote=row.quote,
        heard_at=said_at(row.recorded_us, 0),
    )
