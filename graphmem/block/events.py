"""What a block tells LlamaIndex's instrumentation: it recalled, stored, or survived a fault."""

from __future__ import annotations

from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation.events import BaseEvent
from llama_index_instrumentation import get_dispatcher

from graphmem.block.batches import Batch
from graphmem.faults import Fault, described
from graphmem.types import Recall, Receipt

__all__ = [
    "FaultEvent",
    "IngestEvent",
    "RecallEvent",
    "announce_fault",
    "announce_recall",
    "announce_write",
]

# Listeners name the package: in which of its modules an event is sent is nobody's concern.
dispatcher = get_dispatcher("graphmem.block")


class RecallEvent(BaseEvent):
    """A block recalled. The host's further calls in the same turn make no event."""

    scope: str = Field(description="Whose memory was asked.")
    session: str = Field(description="The session that asked; empty where none was named.")
    query: str = Field(description="Text of the user message.")
    route: str = Field(description="How passages were found: graph, dense, lexical or empty.")
    passages: list[str] = Field(description="Ids of the recalled passages, best first.")
    milliseconds: float = Field(description="Time of the recall, embedding included.")

    @classmethod
    def class_name(cls) -> str:
        """Name of the event."""
        return "GraphMemoryRecallEvent"


class IngestEvent(BaseEvent):
    """A block stored messages, or let them wait."""

    scope: str = Field(description="Whose memory was written.")
    session: str = Field(description="The session of the messages; empty where none was named.")
    stored: int = Field(description="Passages that are new.")
    merged: int = Field(description="Passages that were known.")
    dropped: int = Field(description="Messages that are no memory.")
    deferred: int = Field(description="Messages that wait in memory because the store refused.")

    @classmethod
    def class_name(cls) -> str:
        """Name of the event."""
        return "GraphMemoryIngestEvent"


class FaultEvent(BaseEvent):
    """Something went wrong and was survived."""

    kind: str = Field(description="The stage: input, recall, storage, extraction or embedding.")
    error: str = Field(description="Type and message of the exception.")
    consequence: str = Field(description="What it means, as a sentence.")

    @classmethod
    def class_name(cls) -> str:
        """Name of the event."""
        return "GraphMemoryFaultEvent"


def announce_recall(found: Recall, session: str) -> None:
    """Send out that something was recalled for a session (``""`` where none was named)."""
    dispatcher.event(
        RecallEvent(
            scope=str(found.scope),
            session=session,
            query=found.query,
            route=found.route,
            passages=[ranked.passage.id for ranked in found],
            milliseconds=found.timings.get("total", 0.0),
        )
    )


def announce_write(batch: Batch, receipt: Receipt) -> None:
    """Send out that a batch was stored, or waits in memory."""
    dispatcher.event(
        IngestEvent(
            scope=str(batch.scope),
            session=batch.session,
            stored=len(receipt.stored),
            merged=len(receipt.merged),
            dropped=len(receipt.dropped),
            deferred=len(batch.messages) if receipt.deferred else 0,
        )
    )


def announce_fault(fault: Fault) -> None:
    """Send out that a fault was survived."""
    error = described(fault.error)
    dispatcher.event(FaultEvent(kind=fault.kind, error=error, consequence=fault.consequence))
