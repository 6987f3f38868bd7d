"""Rows as values: what comes out of the tables, and the queries that every reader shares."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    select,
    true,
    union_all,
)

from graphmem.errors import StoreCorrupt
from graphmem.facts import Evidence
from graphmem.store.bulk import among, given, ours
from graphmem.store.lookup import Lookup
from graphmem.store.schema import (
    NOWHERE,
    entity,
    evidence,
    fact,
    is_doubted,
    message,
    mine,
    occurrence,
    passage,
)
from graphmem.types import Fact, Message, Passage, Scope

__all__ = [
    "IS_OF_FACTS",
    "IS_SAID",
    "OF_MESSAGE",
    "OF_PASSAGE",
    "QUOTE",
    "STATED",
    "StoredMessage",
    "all_fact_ids",
    "decoded",
    "fact_ids",
    "facts_by_id",
    "of_facts",
    "passage_rows",
    "passages_by_id",
    "said_at",
    "said_columns",
    "said_times",
    "select_evidence",
    "select_passages",
    "stated",
    "to_evidence",
    "to_fact",
    "to_passage",
]

_EPOCH = datetime(1970, 1, 1)
# In a JSON list of ids, in a third of the time of a parser.
_IDS = re.compile(r'[^", \[\]]+')


# A passage belongs to the message at its place.
OF_MESSAGE = and_(
    message.c.user == passage.c.user,
    message.c.agent == passage.c.agent,
    message.c.thread == passage.c.thread,
    message.c.place == passage.c.place,
    message.c.ordinal == passage.c.ordinal,
)

# Evidence belongs to the passage that states it.
OF_PASSAGE = and_(
    passage.c.user == evidence.c.user,
    passage.c.agent == evidence.c.agent,
    passage.c.id == evidence.c.passage_id,
)

# A message occurs whenever it is said again.
IS_SAID = and_(
    occurrence.c.user == message.c.user,
    occurrence.c.agent == message.c.agent,
    occurrence.c.message_id == message.c.id,
)

# Evidence of some facts: in the passages that their rows name, in others where it is doubted, or in
# some that were read since.
_doubted = evidence.alias("doubted")
_named = func.json_each(fact.c.passages).table_valued("value")
_read = func.json_each(bindparam("read")).table_valued("value")
IS_OF_FACTS = and_(
    ours(evidence),
    evidence.c.passage_id.in_(
        union_all(
            select(_named.c.value)
            .select_from(fact.join(_named, true()))
            .where(ours(fact), among(fact.c.id)),
            select(_doubted.c.passage_id).where(
                ours(_doubted), among(_doubted.c.fact_id), is_doubted(_doubted)
            ),
            select(_read.c.value),
        )
    ),
    among(evidence.c.fact_id),
)

# A passage's words.
QUOTE = func.substr(message.c.text, passage.c.start + 1, passage.c.stop - passage.c.start)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is kept.

    Attributes:
        id: content id.
        session: the conversation it belongs to; ``""`` where none was named.
        message: what was said; ``said_at`` is the earliest occurrence.
        ordinal: arrival number within its thread.
        said_at: every known time at which it was said, earliest first.
        passages: ids of its parts, in order.
    """

    id: str
    session: str
    message: Message
    ordinal: int = 0
    said_at: tuple[datetime, ...] = ()
    passages: tuple[str, ...] = ()


def said_columns(value: datetime | None) -> tuple[int | None, int | None]:
    """An aware time as (microseconds since 1970 in UTC, seconds east of UTC)."""
    if value is None:
        return None, None
    offset = value.utcoffset() or timedelta()
    local = value.replace(tzinfo=None) - _EPOCH
    return (local - offset) // timedelta(microseconds=1), offset // timedelta(seconds=1)


# One message's rows have one time.
@lru_cache(maxsize=1 << 12)
def said_at(us: int | None, offset: int | None) -> datetime | None:
    """The inverse of ``said_columns``: the time as it was given, at its own offset."""
    if us is None or us == NOWHERE:
        return None
    east = timedelta(seconds=offset or 0)
    local = _EPOCH + (timedelta(microseconds=us) + east)
    return local.replace(tzinfo=timezone(east) if east else timezone.utc)


def said_times(us: int | None, offset: int | None, again: Iterable[int]) -> tuple[datetime, ...]:
    """Every known time of a message, earliest first: its own and those of its occurrences."""
    known = sorted({*again} if us is None else {*again, us})
    return tuple(stamp for one in known if (stamp := said_at(one, offset)))


_PASSAGES = select(
    passage.c.id,
    message.c.id.label("message_id"),
    QUOTE.label("text"),
    message.c.role,
    message.c.speaker,
    message.c.session,
    passage.c.thread,
    message.c.said_us,
    message.c.said_offset,
    passage.c.ordinal,
    passage.c.part,
    message.c.title,
    message.c.metadata,
    passage.c.place,
).select_from(passage.join(message, OF_MESSAGE))


_PASSAGES_BY_ID = Lookup(_PASSAGES.where(ours(passage), among(passage.c.id)))


def passage_rows(connection: Connection, scope: Scope, ids: Iterable[str]) -> Sequence[Any]:
    """The rows of ``select_passages`` with one of the ids."""
    return _PASSAGES_BY_ID.rows(connection, scope, ids)


def passages_by_id(connection: Connection, scope: Scope, ids: Iterable[str]) -> dict[str, Passage]:
    """Those of the passages that exist, without what stands before them."""
    return {row.id: to_passage(row) for row in passage_rows(connection, scope, ids)}


def select_passages(scope: Scope) -> Select[Any]:
    """Passages of a scope with what they take from their message, in no order."""
    return _PASSAGES.where(mine(passage, scope))


def to_passage(row: Any) -> Passage:
    """A row of ``select_passages`` as a value, without what stands before it."""
    return Passage(
        id=row.id,
        message_id=row.message_id,
        text=row.text,
        role=row.role,
        speaker=row.speaker,
        session=row.session,
        thread=row.thread,
        said_at=said_at(row.said_us, row.said_offset),
        ordinal=row.ordinal,
        part=row.part,
        title=row.title,
        metadata=decoded(row.metadata, "the metadata of a message"),
    )


def decoded(text: str | None, what: str) -> Any:
    """The value of a column that holds JSON; ``None`` where it holds nothing.

    Raises:
        StoreCorrupt: it holds something else.
    """
    if text is None:
        return None
    if text == "{}":
        return {}
    try:
        return json.loads(text)
    except ValueError as error:
        raise StoreCorrupt(
            f"{what} is damaged ({error}): verify_log() tells whether the log was changed; restore "
            "the store from a backup"
        ) from error


def to_fact(row: Sequence[Any]) -> Fact:
    """A row of the fact table as a value: by place, for looking up a name takes as long."""
    _, _, id_, subject_id, object_id, subject, predicate, object_, polarity, *rest = row
    valid_from, valid_to, recorded_at, retired_at, status, replaced_by, passages, *_ = rest
    return Fact(
        id_,
        subject_id,
        object_id,
        subject,
        predicate,
        object_,
        polarity,
        valid_from,
        valid_to,
        recorded_at,
        retired_at,
        status,
        replaced_by,
        tuple(_IDS.findall(passages)),
    )


def stated(
    connection: Connection, scope: Scope, fact_ids: Iterable[str], *, read: Iterable[str] = ()
) -> dict[str, list[Evidence]]:
    """The evidence of each fact, in the order of passage id and number.

    Args:
        connection: to read by.
        scope: whose facts.
        fact_ids: which.
        read: ids of passages whose evidence came or changed since the facts were believed.
    """
    found: dict[str, list[Evidence]] = defaultdict(list)
    for row in connection.execute(_EVIDENCE, of_facts(scope, fact_ids, read)).all():
        found[row[0]].append(to_evidence(row))
    return found


def of_facts(scope: Scope, ids: Iterable[str], read: Iterable[str] = ()) -> dict[str, str]:
    """Parameters of a statement with ``IS_OF_FACTS``."""
    return {**given(scope, ids), "read": json.dumps(list(read))}


def select_evidence(latest: ColumnElement[Any], lacked: ColumnElement[Any]) -> Select[Any]:
    """Evidence of ``of_facts``, in the order of fact, passage and number.

    Args:
        latest: when the passage was said last.
        lacked: whether the end that the evidence lacks is a known name, or what tells that.
    """
    return (
        select(
            evidence.c.fact_id,
            evidence.c.passage_id,
            evidence.c.subject,
            evidence.c.predicate,
            evidence.c.object,
            evidence.c.polarity,
            evidence.c.valid_from,
            evidence.c.valid_to,
            evidence.c.speaker,
            evidence.c.grounded,
            lacked,
            message.c.role,
            latest,
            passage.c.ordinal,
            evidence.c.recorded_at,
            evidence.c.extractor,
            passage.c.thread,
            message.c.recorded_us,
            evidence.c.mood,
            message.c.said_offset,
        )
        .where(IS_OF_FACTS)
        .order_by(evidence.c.fact_id, evidence.c.passage_id, evidence.c.n)
    )


def _select_evidence() -> Select[Any]:
    latest = select(func.max(occurrence.c.said_us)).where(IS_SAID).scalar_subquery()
    lacked = and_(
        entity.c.user == evidence.c.user,
        entity.c.agent == evidence.c.agent,
        entity.c.id == evidence.c.lacks,
    )
    statement = select_evidence(
        func.coalesce(latest, message.c.said_us), func.coalesce(entity.c.told, 0) > 0
    )
    return statement.select_from(STATED.outerjoin(entity, lacked))


STATED = evidence.join(passage, OF_PASSAGE).join(message, OF_MESSAGE)
_EVIDENCE = _select_evidence()
_FACTS = Lookup(select(fact).where(ours(fact), among(fact.c.id)))


def to_evidence(row: Sequence[Any], *, is_known: bool | None = None) -> Evidence:
    """A row of ``select_evidence`` as a value; ``is_known`` where the row does not say it."""
    _, passage_id, subject, predicate, object_, polarity, valid_from, valid_to, *rest = row
    speaker, grounded, lacked, role, latest_us, ordinal, *rest = rest
    recorded_at, extractor, thread, heard_us, mood, offset = rest
    is_known = bool(lacked) if is_known is None else is_known
    return Evidence(
        passage_id,
        subject,
        predicate,
        object_,
        polarity,
        valid_from,
        valid_to,
        speaker,
        grounded or is_known,
        is_known and not grounded,
        role,
        said_at(latest_us, offset),
        ordinal,
        recorded_at,
        extractor,
        thread,
        said_at(heard_us, 0),
        mood,
    )


def fact_ids(
    connection: Connection, scope: Scope, column: Column[Any], values: Iterable[str]
) -> set[str]:
    """Ids of the facts with evidence that has one of the values in a column."""
    some = list(values)
    if not some:
        return set()
    stated_by = select(evidence.c.fact_id).where(ours(evidence), among(column))
    return set(connection.execute(stated_by, given(scope, some)).scalars())


def all_fact_ids(connection: Connection, scope: Scope) -> list[str]:
    """Ids of all facts of a scope, whatever their status, in order."""
    ids = select(fact.c.id).where(mine(fact, scope)).order_by(fact.c.id)
    return list(connection.execute(ids).scalars())


def facts_by_id(connection: Connection, scope: Scope, ids: Iterable[str]) -> dict[str, Fact]:
    """Those of the facts that exist."""
    return {row.id: to_fact(row) for row in _FACTS.rows(connection, scope, ids)}
