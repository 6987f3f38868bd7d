"""``Curating``: what a memory lets people take out of it or put right."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphmem import memo
from graphmem.arguments import check_target, fact_id, now, text, whole_number
from graphmem.asking import means_everything, the_one, wanted
from graphmem.errors import Ambiguous, InvalidInput, NotFound
from graphmem.faults import Faults
from graphmem.indexes import Indexes
from graphmem.looking import Looking
from graphmem.store import Store
from graphmem.store.location import Location
from graphmem.types import Actor, Ban, Candidate, Entity, Fact, Receipt, Scope

__all__ = ["Curating"]


class Curating(Looking):
    """The part of ``GraphMemory`` that corrects: forgetting, and what people rule on facts.

    Args:
        store: where rows live.
        scope: whose memory is meant where a call names none.
        faults: where what fails in the background is noted.
        indexes: what is derived from the rows.
        is_patient: a forget returns when its words have left the file, however large that is;
            otherwise a large one is left to a thread, which needs the process to go on.

    Attributes:
        faults: faults that were swallowed.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        faults: Faults,
        indexes: Indexes,
        *,
        is_patient: bool = False,
    ) -> None:
        super().__init__(store, scope)
        self.faults = faults
        self._indexes = indexes
        self._is_patient = is_patient

    def forget(
        self,
        scope: Scope | str | None = None,
        *,
        fact: str | Fact | None = None,
        passage: str | None = None,
        message: str | None = None,
        entity: str | Entity | None = None,
        session: str | None = None,
        everything: bool = False,
        query: str | None = None,
        preview: bool | None = None,
        most: int = 10,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Erase what one of the arguments names, and keep it from coming back.

        What only the forgotten words carried (facts, entities, vectors, index entries, the words in
        the file) goes with them; what a live passage states as well stays. The same words are not
        stored again, from whatever session and in whatever look-alike letters they come, until
        ``unforget``; nor is a fact or an entity that was forgotten, in any words. (A paraphrase is
        seen for what it is when it has been read: until then its text is stored.)

        Args:
            scope: whose memory; the memory's own where omitted.
            fact: a fact or its ``id``: whoever states it, in whatever words. Passages lose the
                sentences that do, and go where nothing else is in them.
            passage: a passage's ``id``, as in ``recall`` and ``passages``.
            message: a passage's ``message_id``: all parts of a long message or document.
            entity: an entity, its name or its ``id``: every sentence that names it, all facts about
                it, and what it said itself.
            session: a conversation's name.
            everything: the whole scope.
            query: what a person would say: "forget that I live in Oslo", "everything about Bob".
            preview: only show what is meant and would go; the default with ``query``.
            most: how many passages a ``query`` may change.
            actor: who asks for it: a person's name, or an ``Actor``.
            reason: kept in the store's log, unless it tells what is forgotten.

        Returns:
            What is gone, whether its words have left the file (``state``), and where else they may
            be (``outside``); of a preview the ``candidates``, and why nothing would go by these
            words (``unclear``) where it would not.

        Raises:
            InvalidInput: not exactly one thing was named.
            NotFound: there is no such thing in this scope.
            Ambiguous: a ``query`` means several things, nothing, or more than ``most`` passages.
        """
        owner = self._scope(scope)
        names = {"passage": passage, "message": message, "session": session, "query": query}
        named: dict[str, Any] = {name: text(name, value) for name, value in names.items()}
        named |= {"fact": None if fact is None else fact_id(fact), "entity": _name(entity)}
        check_target(**named, everything=everything)
        most = whole_number("most", most, 1)
        options: dict[str, Any] = {
            "actor": Actor.of(actor),
            "reason": text("reason", reason) or "",
            "is_preview": bool(query is not None if preview is None else preview),
        }
        if query is not None:
            try:
                return self._forget_in_words(owner, named["query"], {**options, "most": most})
            except Ambiguous as error:
                if options["is_preview"]:
                    return Receipt(owner, candidates=error.candidates, unclear=str(error))
                raise
        target = {
            "passages": _one(named["passage"]),
            "messages": _one(named["message"]),
            "session": named["session"],
            "facts": _one(named["fact"]),
            "entity": named["entity"],
            "everything": bool(everything),
        }
        return self._forget(owner, target, options)

    def _forget(self, scope: Scope, target: dict[str, Any], options: dict[str, Any]) -> Receipt:
        receipt = self._store.forget(
            scope, **target, **options, is_patient=self._is_patient, now=now()
        )
        return receipt if options["is_preview"] else self._let_go(receipt)

    def _forget_in_words(self, scope: Scope, query: str, options: dict[str, Any]) -> Receipt:
        if means_everything(query):
            raise Ambiguous(
                "these words may mean all of this memory: look at it first, and say everything "
                "outside of words (everything=True, or --everything) if that is what you mean"
            )
        facts = {one.id: one for one in self._store.facts(scope)}
        found = wanted(
            query,
            me=(scope.user,),
            facts=facts.values(),
            entities=self._store.entities(scope),
            passages=self._store.passages(scope),
        )
        meant = the_one(found, facts)
        receipt = self._forget(scope, _target(meant), options)
        if not options["is_preview"]:
            return receipt
        shown = {one.id for one in meant}
        others = (one for one in receipt.candidates if one.id not in shown)
        return replace(receipt, candidates=(*meant, *others))

    def unforget(
        self,
        scope: Scope | str | None = None,
        *,
        ban: str | Ban | None = None,
        fact: str | Fact | tuple[str, str, str] | None = None,
        text: str | None = None,
        entity: str | None = None,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Let something be stored again that was forgotten, or believed again that was rejected.

        What was erased stays erased: it comes back with the next message that says it. A fact that
        was rejected is believed again at once, from what is still stored.

        Args:
            scope: whose memory; the memory's own where omitted.
            ban: one of ``bans``, or its ``id``.
            fact: a rejected fact or its ``id``; or subject, predicate and object of any.
            text: words that were forgotten, a passage or a sentence.
            entity: a name.
            actor: who lifts it; only a person can.
            reason: kept in the store's log.

        Returns:
            The ``bans`` that were lifted and the ``facts`` that are no longer rejected.

        Raises:
            InvalidInput: not exactly one thing was named.
            NotFound: nothing of that is banned in this scope.
            NotAllowed: the actor is no person.
        """
        owner = self._scope(scope)
        named: dict[str, Any] = {
            "ban": _text("ban", ban.id if isinstance(ban, Ban) else ban),
            "fact": _fact(fact),
            "text": _text("text", text),
            "entity": _text("entity", entity),
        }
        check_target(**named)
        receipt = self._store.unforget(owner, **named, **_signed(actor, reason))
        return self._ruled(receipt)

    def reject(
        self,
        fact: str | Fact,
        *,
        scope: Scope | str | None = None,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Rule that a fact is wrong: it is withheld, in whatever words it is stated.

        The words that state it stay, and ``unforget(fact=…)`` takes this back. What the fact had
        replaced holds again.

        Args:
            fact: a fact or its ``id``.
            scope: whose memory; the memory's own where omitted.
            actor: who found it wrong.
            reason: kept in the store's log.

        Raises:
            NotFound: there is no such fact in this scope.
        """
        owner = self._scope(scope)
        receipt = self._store.reject(owner, fact_id(fact), **_signed(actor, reason))
        return self._ruled(receipt)

    def verify(
        self,
        fact: str | Fact,
        *,
        scope: Scope | str | None = None,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Rule that a fact is so: it is believed, whoever stated it.

        Args:
            fact: a fact or its ``id``.
            scope: whose memory; the memory's own where omitted.
            actor: who says so; only a person can.
            reason: kept in the store's log.

        Raises:
            NotFound: there is no such fact in this scope.
            NotAllowed: the actor is no person.
            InvalidInput: it was rejected; ``unforget`` takes that back.
        """
        return self._rule("verified", fact, scope, actor, reason)

    def dispute(
        self,
        fact: str | Fact,
        *,
        scope: Scope | str | None = None,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Rule that a fact is in doubt: it is withheld until it is verified.

        Args:
            fact: a fact or its ``id``.
            scope: whose memory; the memory's own where omitted.
            actor: who doubts it.
            reason: kept in the store's log.

        Raises:
            NotFound: there is no such fact in this scope.
            InvalidInput: it was rejected; ``unforget`` takes that back.
        """
        return self._rule("disputed", fact, scope, actor, reason)

    def bans(self, scope: Scope | str | None = None) -> list[Ban]:
        """What a scope shall not store again, or not believe: without its words, oldest first."""
        return self._store.bans(self._scope(scope))

    def follow(
        self,
        original: str | Path,
        *,
        scope: Scope | str | None = None,
        actor: str | Actor = "",
    ) -> Receipt:
        """Forget here what was forgotten in the store of which this one's file is a copy.

        Bans are taken over as well, and none is lifted.

        Args:
            original: its address, as in ``open``.
            scope: whose memory; the memory's own where omitted.
            actor: who asks for it.

        Raises:
            InvalidInput: this store is no copy of that one.
            NotFound: there is no store at that address.
            StoreError: it cannot be opened.
        """
        owner = self._scope(scope)
        path = Location.of(original).path
        if path is not None and not path.is_file():
            raise NotFound(f"there is no store at {str(original)!r} to follow")
        with closing(Store.open(original)) as store:
            receipt = self._store.follow(owner, store, actor=Actor.of(actor), now=now())
        return self._let_go(receipt)

    def _rule(
        self,
        ruling: Any,
        fact: str | Fact,
        scope: Scope | str | None,
        actor: str | Actor,
        reason: str,
    ) -> Receipt:
        owner = self._scope(scope)
        receipt = self._store.rule(owner, fact_id(fact), ruling, **_signed(actor, reason))
        return self._ruled(receipt)

    def _queued(self) -> None:
        """There is something to be read or embedded; here nobody does that."""

    def _ruled(self, receipt: Receipt) -> Receipt:
        """Rows were believed anew: let indexes learn it, and have embedded what is new."""
        self._indexes.wrote(receipt.scope)
        self._queued()
        return receipt

    def _let_go(self, receipt: Receipt) -> Receipt:
        """Rows were erased: let go of what was derived from them."""
        self._indexes.wrote(receipt.scope)
        if not self._indexes.forgotten(receipt.scope):
            waits = "the vectors leave the index's folder when its files can be removed"
            receipt = replace(receipt, deferred=(*receipt.deferred, waits))
        self.faults.forget_last()
        memo.let_go()
        self._queued()
        return receipt


_text = text


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _name(entity: str | Entity | None) -> str | None:
    return text("entity", entity.name if isinstance(entity, Entity) else entity)


def _signed(actor: str | Actor, reason: str) -> dict[str, Any]:
    return {"actor": Actor.of(actor), "reason": text("reason", reason) or "", "now": now()}


def _fact(fact: object) -> str | tuple[str, ...] | None:
    """The id of a fact, or its subject, predicate and object; ``None`` for none."""
    if fact is None:
        return None
    if not isinstance(fact, tuple):
        return fact_id(fact)
    if len(fact) != 3 or not all(isinstance(part, str) for part in fact):
        raise InvalidInput("a fact is its id, or (subject, predicate, object) as three strings")
    return tuple(str(text("fact", part)) for part in fact)


def _target(meant: Iterable[Candidate]) -> dict[str, Any]:
    ids: dict[str, list[str]] = {"fact": [], "passage": [], "entity": []}
    for one in meant:
        ids[one.kind].append(one.id)
    entity = ids["entity"][0] if ids["entity"] else None
    return {"facts": ids["fact"], "passages": ids["passage"], "entity": entity}
