"""Chat messages sorted into what is written together: pure functions, no state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from llama_index.core.llms import ChatMessage

from graphmem.block.chat import as_message
from graphmem.passages import admit
from graphmem.types import Message, Receipt, Role, Scope

__all__ = ["Batch", "Sorting", "by_session", "together"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one session that are written together.

    Attributes:
        scope: whose memory they belong to.
        session: the conversation; ``""`` where none was named.
        messages: in the order in which they were said.
    """

    scope: Scope
    session: str
    messages: tuple[Message, ...]

    @property
    def chars(self) -> int:
        """Length of its texts together."""
        return sum(len(message.text) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Sorting:
    """What became of some chat messages.

    Attributes:
        batches: one for each session, in the order in which they were first named.
        refusals: an error for each message that is none of ours.
        doubts: for each message whose time counts as unknown, why.
    """

    batches: list[Batch]
    refusals: list[Exception]
    doubts: list[str]


def by_session(
    messages: Iterable[ChatMessage],
    scope: Scope,
    session_id: str | None,
    names: Mapping[Role, str | None],
) -> Sorting:
    """The messages by session. The engine refuses a whole call for one bad message, this does not.

    Args:
        messages: in the order in which they were said.
        scope: whose memory they belong to.
        session_id: their session; ``None`` where each names its own, in its keyword arguments.
        names: who speaks, by role, where a message names nobody.
    """
    told: dict[str, list[Message]] = {}
    refusals: list[Exception] = []
    doubts: list[str] = []
    for chat in messages:
        try:
            message, doubt = as_message(chat, names)
            admit(message, scope.user)
        except Exception as error:
            refusals.append(error)
            continue
        session = session_id or (chat.additional_kwargs or {}).get("session_id")
        told.setdefault("" if session is None else str(session), []).append(message)
        if doubt:
            doubts.append(doubt)
    batches = [Batch(scope, session, tuple(these)) for session, these in told.items()]
    return Sorting(batches, refusals, doubts)


def together(scope: Scope, receipts: Sequence[Receipt]) -> Receipt:
    """One receipt for several batches."""
    if len(receipts) == 1:
        return receipts[0]
    return Receipt(
        scope,
        stored=tuple(one for receipt in receipts for one in receipt.stored),
        merged=tuple(one for receipt in receipts for one in receipt.merged),
        dropped=tuple(one for receipt in receipts for one in receipt.dropped),
        deferred=tuple(one for receipt in receipts for one in receipt.deferred),
        refused=tuple(one for receipt in receipts for one in receipt.refused),
    )
