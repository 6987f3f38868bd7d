"""``Looking``: what a memory shows of its rows, without a question and without an index."""

from __future__ import annotations

from typing import get_args

from graphmem.arguments import fact_id, text
from graphmem.errors import InvalidInput
from graphmem.store import Store
from graphmem.types import Entity, Fact, Passage, Scope, Source, Status

__all__ = ["Looking"]


class Looking:
    """The part of ``GraphMemory`` that reads rows.

    Attributes:
        scope: whose memory is meant where a call names none.
    """

    scope: Scope
    _store: Store
    _is_closed: bool

    def facts(
        self,
        scope: Scope | str | None = None,
        *,
        subject: str | None = None,
        status: Status | None = None,
        passage: str | None = None,
    ) -> list[Fact]:
        """Facts of a scope, by id, of every status unless one is named.

        Raises:
            InvalidInput: a wrong type, or no such status.
        """
        owner = self._scope(scope)
        subject, passage = text("subject", subject), text("passage", passage)
        if status is not None and status not in get_args(Status):
            raise InvalidInput(f"unknown status {status!r}: use {', '.join(get_args(Status))}")
        return self._store.facts(owner, subject=subject, status=status, passage=passage)

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

    def forget_seq(self, scope: Scope | str | None = None) -> int:
        """Grows with every forget in a scope: what was derived under an older one is stale."""
        return self._store.forget_seq(self._scope(scope))

    def _scope(self, scope: Scope | str | None) -> Scope:
        if self._is_closed:
            raise InvalidInput("this memory is closed; open it again with GraphMemory.open(uri)")
        return self.scope if scope is None else Scope.of(scope)
