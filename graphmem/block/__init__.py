"""The engine as a memory block of a LlamaIndex ``Memory``, and the events that it sends out."""

from graphmem.block.block import GraphMemoryBlock
from graphmem.block.events import FaultEvent, IngestEvent, RecallEvent

__all__ = ["FaultEvent", "GraphMemoryBlock", "IngestEvent", "RecallEvent"]
