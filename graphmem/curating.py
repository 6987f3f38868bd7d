"""``Curating``: what a memory lets people take out of it or put right."""

from __future__ import annotations

from dataclasses import replace

from graphmem.arguments import check_target, now, text
from graphmem.faults import Faults
from graphmem.indexes import Indexes
from graphmem.looking import Looking
from graphmem.types import Receipt, Scope
from graphmem.worker import Worker

__all__ = ["Curating"]


class Curating(Looking):
    """The part of ``GraphMemory`` that corrects: forgetting, and what people rule on facts.

    Attributes:
        faults: faults that were swallowed.
    """

    faults: Faults
    _indexes: Indexes
    _worker: Worker

    def forget(
        self,
        scope: Scope | str | None = None,
        *,
        passage: str | None = None,
        message: str | None = None,
        session: str | None = None,
        everything: bool = False,
        reason: str = "",
    ) -> Receipt:
        """Erase a passage, a message, a session, or everything in a scope.

        What only the forgotten text carried (facts, entities, vectors, index entries, the words in
        the file) goes with it; what a live passage states as well stays.

        Args:
            scope: whose memory; the memory's own where omitted.
            passage: a passage's ``id``, as in ``recall`` and ``passages``.
            message: a passage's ``message_id``: all parts of a long message or document.
            session: a conversation's name.
            everything: the whole scope.
            reason: kept in the store's log.

        Raises:
            InvalidInput: not exactly one of the four was named.
            NotFound: there is no such passage, message or session in this scope.
        """
        check_target(passage, message, session, everything=everything)
        receipt = self._store.forget(
            self._scope(scope),
            passages=(passage,) if passage is not None else (),
            messages=(message,) if message is not None else (),
            session=text("session", session),
            everything=everything,
            reason=text("reason", reason) or "",
            now=now(),
        )
        self._indexes.wrote(receipt.scope)
        if not self._indexes.forgotten(receipt.scope):
            held = "the vectors leave the index's folder when its files can be removed"
            receipt = replace(receipt, deferred=(*receipt.deferred, held))
        self.faults.forget_last()
        self._worker.notify()
        return receipt
