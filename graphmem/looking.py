"""``Looking``: what a memory shows of its rows, without a question and without an index."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, get_args

from graphmem.arguments import fact_id, instant, now, text, whole_number
from graphmem.errors import InvalidInput
from graphmem.explore import around, graph_of, of_recall, of_session, without_passages
from graphmem.store import Store
from graphmem.types import (
    Diff,
    Entity,
    Fact,
    LogCheck,
    LogEntry,
    LogKind,
    Passage,
    Recall,
    Scope,
    Source,
    Status,
)

if TYPE_CHECKING:
    from graphmem.explore import Graph

__all__ = ["Looking"]

_EVER = datetime.fromtimestamp(0, timezone.utc)


class Looking:
    """The part of ``GraphMemory`` that reads rows.

    Attributes:
        scope: whose memory is meant where a call names none.
    """

    def __init__(self, store: Store, scope: Scope) -> None:
        self.scope = scope
        self._store = store
        self._is_closed = False

    def facts(
        self,
        scope: Scope | str | None = None,
        *,
        subject: str | None = None,
        status: Status | None = None,
        passage: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> list[Fact]:
        """Facts of a scope, by id, of every status unless one is named.

        Args:
            scope: whose memory; the memory's own where omitted.
            subject: only those about this name.
            status: only those of this status.
            passage: only those that the passage of this id states.
            as_of: a time with its zone: only those that held in the world then.
            known_at: a time with its zone: as this memory believed them then, by what it had been
                told. What was withdrawn or forgotten since is not among them.

        Raises:
            InvalidInput: a wrong type, a time without a zone, or no such status.
        """
        owner = self._scope(scope)
        subject, passage = text("subject", subject), text("passage", passage)
        if status is not None and status not in get_args(Status):
            raise InvalidInput(f"unknown status {status!r}: use {', '.join(get_args(Status))}")
        return self._store.facts(
            owner,
            subject=subject,
            status=status,
            passage=passage,
            as_of=instant("as_of", as_of),
            known_at=instant("known_at", known_at),
        )

    def graph(
        self,
        scope: Scope | str | None = None,
        *,
        passages: bool = True,
        entity: str | None = None,
        recall: Recall | None = None,
        session: str | None = None,
        hops: int = 1,
        every: bool = False,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Graph:
        """The facts that are believed as a graph, whole or in part: see ``explore.graph_of``.

        Args:
            scope: whose memory; the memory's own where omitted, or that of the recall.
            passages: whether passages are vertices, too.
            entity: a name or an id: only what is around it.
            recall: only what this recall touched, of the times it asked for.
            session: only what was said in this conversation.
            hops: with ``entity``: how many facts away; 0 is the entity alone.
            every: facts that are not believed as well: replaced, withheld, in doubt, found wrong.
                Their ``retired_at`` and ``status`` tell. Of another time, those that were believed
                then and did not hold are not among them.
            as_of: a time with its zone: the facts that held in the world then.
            known_at: a time with its zone: what this memory believed then, and had been told.

        Raises:
            InvalidInput: more than one of ``entity``, ``recall`` and ``session``, a wrong type, a
                time without a zone, or a recall of another scope.
            MissingDependency: networkx is not installed.
            NotFound: no believed fact is about the entity (the message tells names that are written
                alike), or the session has no passage.
        """
        session, hops = text("session", session), whole_number("hops", hops, 0)
        if sum(one is not None for one in (entity, recall, session)) > 1:
            raise InvalidInput("name one of entity=, recall= and session=, or none for the whole")
        if hops != 1 and entity is None:
            raise InvalidInput("hops= says how far around an entity to look: name it with entity=")
        if recall is not None:
            scope = _scope_of(recall, scope)
            as_of, known_at = as_of or recall.as_of, known_at or recall.known_at
        found = self._whole_graph(scope, every, as_of, known_at)
        if entity is not None:
            found = around(found, entity, hops)
        elif recall is not None:
            found = of_recall(found, recall)
        elif session is not None:
            found = of_session(found, session)
        return found if passages else without_passages(found)

    def _whole_graph(
        self,
        scope: Scope | str | None,
        every: bool,
        as_of: datetime | None,
        known_at: datetime | None,
    ) -> Graph:
        facts, said = self._store.facts_and_passages(
            self._scope(scope),
            as_of=instant("as_of", as_of),
            known_at=instant("known_at", known_at),
        )
        if not every:
            # Of another time, those are asked for that held, whatever replaced them since.
            facts = [one for one in facts if (one.is_live if as_of is None else one.is_trusted)]
        if as_of is not None:
            # As in a recall: what was said later belongs to then where it tells of then.
            telling = {id_ for one in facts for id_ in one.passages}
            said = [
                one
                for one in said
                if one.said_at is None or one.said_at <= as_of or one.id in telling
            ]
        found = graph_of(facts, said)
        times = {"as_of": as_of, "known_at": known_at}
        found.graph.update((name, at.isoformat()) for name, at in times.items() if at is not None)
        return found

    def sources(self, fact: str | Fact, *, scope: Scope | str | None = None) -> list[Source]:
        """Where a fact comes from: who said it, when, in which words, and what read it there.

        Args:
            fact: a fact of ``recall`` or ``facts``, live or not, or its ``id``.
            scope: whose memory; the memory's own where omitted.

        Returns:
            One source for each passage that it was read from (and for each of several claimants
            that one passage names), at least one. They stand in the order said, then by passage
            id; those of unknown time keep their place in their conversation, or come first.

        Raises:
            InvalidInput: neither a ``Fact`` nor a string.
            NotFound: there is no such fact in this scope, whoever else has it.
        """
        owner = self._scope(scope)
        return self._store.sources(owner, fact_id(fact))

    def entities(self, scope: Scope | str | None = None) -> list[Entity]:
        """Entities of a scope, by name."""
        return self._store.entities(self._scope(scope))

    def passages(
        self, scope: Scope | str | None = None, *, session: str | None = None
    ) -> list[Passage]:
        """Passages of a scope in the order in which they were said."""
        return self._store.passages(self._scope(scope), session=text("session", session))

    def log(
        self,
        scope: Scope | str | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        kind: LogKind | None = None,
        id: str | None = None,
        limit: int | None = None,
    ) -> list[LogEntry]:
        """What was changed, by whom and why, oldest first. What was forgotten is not told.

        Args:
            scope: whose memory; the memory's own where omitted.
            since: a time with its zone: from then on.
            until: a time with its zone: up to then.
            kind: only changes of this kind of row: see ``LogEntry.kind``.
            id: only changes of this row.
            limit: only so many, the newest.

        Raises:
            InvalidInput: a wrong type, no such kind, a time without a zone, or a limit below 0.
        """
        if kind is not None and kind not in get_args(LogKind):
            raise InvalidInput(f"unknown kind {kind!r:.80}: use {', '.join(get_args(LogKind))}")
        return self._store.log(
            self._scope(scope),
            since=instant("since", since),
            until=instant("until", until),
            kind=kind,
            id=text("id", id),
            limit=None if limit is None else whole_number("limit", limit, 0),
        )

    def diff(
        self,
        scope: Scope | str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Diff:
        """What this memory came to believe, and ceased to, after a time and up to another.

        Args:
            scope: whose memory; the memory's own where omitted.
            start: a time with its zone; before all where omitted.
            end: a time with its zone; now where omitted.

        Raises:
            InvalidInput: a wrong type, a time without a zone, or an end before the start.
        """
        first, last = instant("start", start) or _EVER, instant("end", end) or now()
        if last < first:
            raise InvalidInput(f"end ({last.isoformat()}) is before start ({first.isoformat()})")
        return self._store.diff(self._scope(scope), first, last)

    def verify_log(self, scope: Scope | str | None = None, *, noted: str | None = None) -> LogCheck:
        """Whether the log is what was written: no entry changed, removed, inserted or moved.

        Who can write the file can also write another chain of entries. That shows against a
        ``head`` that was noted elsewhere before.

        Args:
            scope: whose memory; the memory's own where omitted.
            noted: a ``LogCheck.head`` of earlier: whether the log still holds it is checked, too.
        """
        return self._store.verify_log(self._scope(scope), noted=text("noted", noted))

    def forget_seq(self, scope: Scope | str | None = None) -> int:
        """Grows with every forget in a scope: what was derived under an older one is stale."""
        return self._store.forget_seq(self._scope(scope))

    def _scope(self, scope: Scope | str | None) -> Scope:
        if self._is_closed:
            raise InvalidInput("this memory is closed; open it again with GraphMemory.open(uri)")
        return self.scope if scope is None else Scope.of(scope)


def _scope_of(recall: Recall, scope: Scope | str | None) -> Scope:
    """Whose memory a recall asked: nothing of it is shown as another's."""
    if not isinstance(recall, Recall):
        raise InvalidInput(f"recall must be a Recall, not {type(recall).__name__}")
    if scope is not None and Scope.of(scope) != recall.scope:
        raise InvalidInput(f"that recall asked {recall.scope}, not {Scope.of(scope)}")
    return recall.scope
