"""The past: what was known at a time, what held at a time, and what changed between two.

There are no rows of the past. What was known then is computed from those of today by the rules of
today, leaving out what came later: messages, times at which they were said, readings, names that
became known, rulings. What was withdrawn since (read otherwise, ruled otherwise, forgotten) is not
in the rows; the log says that it was, and, unless it was forgotten, what it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, func, or_, select

from graphmem import facts
from graphmem.facts import Evidence, entity_id
from graphmem.store.bulk import among, given, ours
from graphmem.store.records import (
    IS_OF_FACTS,
    IS_SAID,
    OF_MESSAGE,
    STATED,
    all_fact_ids,
    decoded,
    facts_by_id,
    of_facts,
    select_evidence,
    stated,
    to_evidence,
)
from graphmem.store.rivals import rivals
from graphmem.store.rulings import rulings
from graphmem.store.schema import (
    chunks,
    evidence,
    fact,
    log,
    message,
    microseconds,
    mine,
    occurrence,
    passage,
)
from graphmem.types import Diff, Fact, Scope

__all__ = ["difference", "facts_then", "known_passages"]

_KNOWN = bindparam("known_at", type_=evidence.c.recorded_at.type)
_KNOWN_US: ColumnElement[Any] = bindparam("known_us")


def _is_known(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """That the store knew of a row by then; where nobody noted when, it always did."""
    return or_(column.is_(None), column <= _KNOWN_US)


_WAS_READ = and_(evidence.c.recorded_at <= _KNOWN, _is_known(message.c.recorded_us))
# A time of the message that has an occurrence of its own is known when that is.
_TIMES = select(func.max(occurrence.c.said_us)).where(IS_SAID)
_SAID_THEN = _TIMES.where(_is_known(occurrence.c.recorded_us)).scalar_subquery()
_STAMPED_LATER = (
    _TIMES.where(occurrence.c.said_us == message.c.said_us).scalar_subquery().is_not(None)
)
_LATEST = func.coalesce(_SAID_THEN, case((_STAMPED_LATER, None), else_=message.c.said_us))
_EVIDENCE = select_evidence(_LATEST, evidence.c.lacks).select_from(STATED).where(_WAS_READ)
_LACKED = select(evidence.c.lacks).where(ours(evidence), evidence.c.lacks.is_not(None)).distinct()
_BY_PEOPLE = and_(evidence.c.grounded, message.c.role.in_(facts.PEOPLE))
_AT_ENDS = [
    select(fact.c.id, end).where(ours(fact), among(end))
    for end in (fact.c.subject_id, fact.c.object_id)
]
_TOLD = (
    select(evidence.c.fact_id)
    .distinct()
    .select_from(STATED)
    .where(IS_OF_FACTS, _BY_PEOPLE, _WAS_READ)
)
_PASSAGES = (
    select(passage.c.id)
    .select_from(passage.join(message, OF_MESSAGE))
    .where(ours(passage), among(passage.c.id), _is_known(message.c.recorded_us))
)


def facts_then(
    connection: Connection,
    scope: Scope,
    ids: Iterable[str] | None,
    as_of: datetime | None,
    known_at: datetime | None,
) -> dict[str, Fact]:
    """Facts as they were believed, by id.

    Args:
        connection: to read by.
        scope: whose facts.
        ids: which; ``None``: all.
        as_of: only those that held in the world then; ``None``: all, whatever their status.
        known_at: as far as was known then; ``None``: as is known now.
    """
    asked = all_fact_ids(connection, scope) if ids is None else sorted(set(ids))
    names = frozenset[str]()
    if known_at is not None:
        names = _known_names(connection, scope, known_at)
    found: dict[str, Fact] = {}
    for some in chunks(asked):
        found.update(_believed(connection, scope, some, as_of, known_at, names))
    return found


def known_passages(
    connection: Connection, scope: Scope, ids: Iterable[str], known_at: datetime | None
) -> set[str]:
    """Those of the passages that the store had got by then."""
    asked = list(ids)
    if known_at is None:
        return set(asked)
    of = {**given(scope, asked), "known_us": microseconds(known_at)}
    return set(connection.execute(_PASSAGES, of).scalars())


def _believed(
    connection: Connection,
    scope: Scope,
    ids: Collection[str],
    as_of: datetime | None,
    known_at: datetime | None,
    names: Collection[str],
) -> dict[str, Fact]:
    """Some facts, in the light of all that they contest with."""
    proof: dict[str, list[Evidence]] = {}
    fresh = set(ids)
    while fresh:
        said = _stated(connection, scope, fresh, known_at, names)
        proof.update(said)
        near = rivals(connection, scope, [rows[0] for rows in said.values()])
        fresh = near - proof.keys() - fresh
    ruled = rulings(connection, scope, sorted(proof))
    then = facts.believed(proof, ruled, known_at=known_at)
    held = then.keys() if as_of is None else facts.held(then, proof, as_of)
    return {id_: then[id_] for id_ in ids if id_ in held}


def _stated(
    connection: Connection,
    scope: Scope,
    ids: Iterable[str],
    known_at: datetime | None,
    names: Collection[str],
) -> dict[str, list[Evidence]]:
    """The evidence of facts that was there then."""
    if known_at is None:
        return stated(connection, scope, ids)
    found: dict[str, list[Evidence]] = defaultdict(list)
    for row in connection.execute(_EVIDENCE, {**of_facts(scope, ids), **_by(known_at)}).all():
        found[row.fact_id].append(to_evidence(row, is_known=row.lacks in names))
    return found


def _known_names(connection: Connection, scope: Scope, known_at: datetime) -> frozenset[str]:
    """Of the entities that evidence lacks those whose names were known then (see ``naming``)."""
    lacked = connection.execute(_LACKED, given(scope)).scalars().all()
    if not lacked:
        return frozenset()
    named = [
        tuple(row) for one in _AT_ENDS for row in connection.execute(one, given(scope, lacked))
    ]
    asked = {**of_facts(scope, sorted({id_ for id_, _ in named})), **_by(known_at)}
    told = set(connection.execute(_TOLD, asked).scalars())
    return frozenset(end for id_, end in named if id_ in told)


def _by(known_at: datetime) -> dict[str, Any]:
    return {"known_at": known_at, "known_us": microseconds(known_at)}


# -- what changed --------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """An entry of the log about a fact, or about the whole scope."""

    seq: int
    at: datetime
    action: str
    kind: str
    id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Course:
    """What the log says of a fact between two times.

    Attributes:
        before: as it was at the start; ``None``: not there.
        after: as it was left; ``None``: not there.
        is_erased: one of the two is not said any more.
        was_forgotten: it was, in between.
    """

    before: Fact | None = None
    after: Fact | None = None
    is_erased: bool = False
    was_forgotten: bool = False

    @classmethod
    def of(cls, entries: Sequence[_Entry]) -> _Course:
        first, last = entries[0], entries[-1]
        is_new, is_gone = first.action == "add", last.action in ("forget", "remove")
        return cls(
            None if is_new else _as_logged(first.id, first.before, first.at),
            None if is_gone else _as_logged(last.id, last.after, last.at),
            not (is_new or first.before) or not (is_gone or last.after),
            any(one.action == "forget" for one in entries),
        )


def difference(connection: Connection, scope: Scope, start: datetime, end: datetime) -> Diff:
    """What the scope came to believe and ceased to believe after a time, up to another.

    By what the log says of the facts that it names in between. Where that was erased, because
    something was forgotten, by what today's rows say of both times.
    """
    entries: dict[str, list[_Entry]] = defaultdict(list)
    wiped: list[int] = []
    for row in _logged(connection, scope, start, end):
        if row.kind == "fact":
            entries[row.id].append(row)
        elif (row.kind, row.action) == ("scope", "forget"):
            wiped.append(row.seq)
    courses = {id_: _Course.of(rows) for id_, rows in sorted(entries.items())}
    forgotten = {id_ for id_, one in courses.items() if one.was_forgotten}
    for seq in wiped:
        forgotten |= _standing(connection, scope, seq)
    unsaid = [id_ for id_, one in courses.items() if one.is_erased]
    if unsaid:
        before, after = (facts_then(connection, scope, unsaid, None, at) for at in (start, end))
        courses.update((id_, _Course(before.get(id_), after.get(id_))) for id_ in unsaid)
    now = facts_by_id(connection, scope, courses)
    return replace(_compare(courses, now, set(courses)), forgotten=len(forgotten))


def _logged(
    connection: Connection, scope: Scope, start: datetime, end: datetime
) -> Iterator[_Entry]:
    """What the log says of facts, and of the whole scope, after a time and up to another."""
    rows = connection.execute(
        select(log.c.seq, log.c.at, log.c.action, log.c.kind, log.c.id, log.c.before, log.c.after)
        .where(mine(log, scope), log.c.kind.in_(("fact", "scope")))
        .where(log.c.at > start, log.c.at <= end)
        .order_by(log.c.seq)
    )
    for *head, before, after in rows:
        yield _Entry(
            *head, *(decoded(one, f"entry {head[0]} of the log") for one in (before, after))
        )


def _standing(connection: Connection, scope: Scope, seq: int) -> set[str]:
    """Ids of the facts that were there when the whole scope was forgotten by an entry."""
    before = (mine(log, scope), log.c.seq < seq)
    begun = select(func.coalesce(func.max(log.c.seq), 0)).where(
        *before, log.c.kind == "scope", log.c.action == "forget"
    )
    last = (
        select(func.max(log.c.seq))
        .where(*before, log.c.kind == "fact", log.c.seq > begun.scalar_subquery())
        .group_by(log.c.id)
    )
    stood = select(log.c.id).where(
        mine(log, scope), log.c.seq.in_(last), log.c.action.not_in(("forget", "remove"))
    )
    return set(connection.execute(stood).scalars())


def _compare(courses: Mapping[str, _Course], now: Mapping[str, Fact], ids: Collection[str]) -> Diff:
    added: list[Fact] = []
    ended: list[Fact] = []
    changed: list[tuple[Fact, Fact]] = []
    for id_ in sorted(ids):
        before, after = courses[id_].before, courses[id_].after
        was, is_ = (one is not None and one.is_live for one in (before, after))
        if is_ and not was and after:
            added.append(_filled(after, now))
        elif was and not is_ and before and not courses[id_].was_forgotten:
            ended.append(now.get(id_) or after or before)
        elif was and is_ and before and after and _said(before) != _said(after):
            changed.append((_filled(before, now), _filled(after, now)))
    return Diff(tuple(added), tuple(ended), tuple(changed))


def _said(one: Fact) -> tuple[str | None, ...]:
    return one.text, one.valid_from, one.valid_to, one.status


def _filled(one: Fact, now: Mapping[str, Fact]) -> Fact:
    """A fact of the log with what the log does not say, as far as there is a row."""
    row = now.get(one.id)
    return replace(one, recorded_at=row.recorded_at, passages=row.passages) if row else one


def _as_logged(id_: str, said: Mapping[str, Any] | None, at: datetime) -> Fact | None:
    """A fact as the log has it; ``None`` where its words were erased."""
    if said is None:
        return None
    return Fact(
        id_,
        entity_id(said["subject"]),
        entity_id(said["object"]),
        said["subject"],
        said["predicate"],
        said["object"],
        said["polarity"],
        said["valid_from"],
        said["valid_to"],
        retired_at=at if said["replaced_by"] else None,
        status=said["status"],
        replaced_by=said["replaced_by"],
    )
